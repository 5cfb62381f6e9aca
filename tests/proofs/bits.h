/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bits.h - facts about bits that WP takes as given, because its integers have no
 * bits. Each is proved for bit vectors in bits.smt2, under the same name.
 */
#ifndef PROOFS_BITS_H
#define PROOFS_BITS_H

/*@ axiomatic Bits {
  axiom mask11: \forall integer x; 0 <= x < 0x100000000 ==>
    (x & 0x7ff) == x % 0x800;
  axiom mask12: \forall integer x; 0 <= x < 0x100000000 ==>
    (x & 0xfff) == x % 0x1000;
  axiom mask16: \forall integer x; 0 <= x < 0x100000000 ==>
    (x & 0xffff) == x % 0x10000;
  axiom mask21: \forall integer x; 0 <= x < 0x100000000 ==>
    (x & 0x1fffff) == x % 0x200000;
  axiom mask31: \forall integer x; 0 <= x < 0x100000000 ==>
    (x & 0x7fffffff) == x % 0x80000000;
  axiom high64: \forall integer x; 0 <= x < 0x10000000000000000 ==>
    ((x & 0xffffffff00000000) == 0 <==> x < 0x100000000);
  axiom under32: \forall integer z; -0x100000000 <= z < 0 ==>
    (uint32_t)z == z + 0x100000000;
  axiom over32: \forall integer z; 0x100000000 <= z < 0x200000000 ==>
    (uint32_t)z == z - 0x100000000;
  axiom under64: \forall integer z; -0x10000000000000000 <= z < 0 ==>
    (uint64_t)z == z + 0x10000000000000000;
  axiom top8: \forall uint32_t x; x >> 24 == x / 0x1000000;
  axiom top32: \forall uint64_t x; x >> 32 == x / 0x100000000;
  axiom low32: \forall uint64_t x; (uint32_t)x == x % 0x100000000;
  axiom low64: \forall integer z;
    -0x10000000000000000 <= z < 0x10000000000000000 &&
    (uint64_t)z < 0x100000000 ==> (uint32_t)z == (uint64_t)z;
  axiom top16: \forall uint32_t x; x >> 16 == x / 0x10000;
  axiom relock: \forall uint32_t x, s; s <= 3 ==>
    ((x & 0xffff) | (uint32_t)(s << 16)) == x % 0x10000 + s * 0x10000;
  axiom claim16: \forall integer a; 0 <= a < 0x10000 ==>
    (a | 0x10000) == a + 0x10000;
  axiom joined32: \forall uint32_t a, b;
    ((uint64_t)(a << 32) | b) / 0x100000000 == a &&
    ((uint64_t)(a << 32) | b) % 0x100000000 == b;
  axiom last32: \forall uint32_t e, b, n; 0 < n <= b &&
    (uint32_t)(e - b) + b <= 0x100000000 ==>
    (uint32_t)(e - n) == (uint32_t)(e - b) + b - n;
  axiom before32: \forall uint32_t l, a, p; p <= l &&
    (uint32_t)(l - a) <= p ==> (uint32_t)(l - a) == l - a;
} */

#endif /* PROOFS_BITS_H */

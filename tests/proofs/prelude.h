/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * prelude.h - read before every file that Frama-C analyses: features of the
 * compiler that Frama-C does not know, in terms of those that it knows.
 */
#ifndef PROOFS_PRELUDE_H
#define PROOFS_PRELUDE_H

#include <stddef.h>
#include <stdint.h>

/* Alignment changes the offsets in a struct, not the meaning of its fields. */
#define _Alignas(n)

/* Frama-C's 32-bit machine aligns 64-bit integers to 4, an Arm to 8: sizes that
 * the compilers of the tree check do not hold here. */
#define _Static_assert(cond, why)

/* The core's assembly is empty: it only pins a value to a register. */
#define __asm__(...) ((void)0)

/* One thread: what others write is any value at each read (hostile.h). */
#define __atomic_thread_fence(order) ((void)0)

#define __builtin_expect(x, likely)    (x)
#define __builtin_assume_aligned(p, n) (p)
#define __builtin_bswap16(v)	       ((uint16_t)(((v) >> 8 & 0xffu) | ((v)&0xffu) << 8))
#define __builtin_bswap32(v)                                      \
	(((uint32_t)(v) >> 24) | ((uint32_t)(v) >> 8 & 0xff00u) | \
	 ((uint32_t)(v)&0xff00u) << 8 | (uint32_t)(v) << 24)
#define __builtin_bswap64(v)                                            \
	((uint64_t)__builtin_bswap32((uint32_t)((uint64_t)(v) >> 32)) | \
	 (uint64_t)__builtin_bswap32((uint32_t)(v)) << 32)

/* Vectors are known in name only, and no proof goes through one: frame.h uses
 * them for frames that are sent, and the fast path to check headers. */
#define vector_size(n)			may_alias
#define __builtin_shufflevector(v, ...) (v)

/* Unsigned operands of one width. */
#define __builtin_add_overflow(a, b, sum) (*(sum) = (a) + (b), *(sum) < (b))
#define __builtin_sub_overflow(a, b, left) \
	(*(left) = (a) - (b), *(left) + (b) < (b))

/* An expression, so that it stays a constant where its argument is one. */
#define PROOFS_CTZ4(v) ((v)&1u ? 0u : (v)&2u ? 1u : (v)&4u ? 2u : 3u)
#define PROOFS_CTZ8(v) ((v)&0xfu ? PROOFS_CTZ4(v) : 4u + PROOFS_CTZ4((v) >> 4))
#define PROOFS_CTZ16(v) \
	((v)&0xffu ? PROOFS_CTZ8(v) : 8u + PROOFS_CTZ8((v) >> 8))
#define __builtin_ctz(v)                    \
	((v)&0xffffu ? (int)PROOFS_CTZ16(v) \
		     : (int)(16u + PROOFS_CTZ16((uint32_t)(v) >> 16)))

#endif /* PROOFS_PRELUDE_H */

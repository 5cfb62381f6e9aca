/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_types.h - the integer types and asserts every ABI header is made of.
 *
 * Everything that two parties share (firmware and driver, driver and library,
 * NIC and wire) is written with these types only: fixed width, fixed byte
 * order, checked by sparse when __CHECKER__ is set. See abi/README.md,
 * "Rules for a header".
 */
#ifndef UNIC_TYPES_H
#define UNIC_TYPES_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/build_bug.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif

#ifdef __CHECKER__
#define UNIC_BITWISE __attribute__((bitwise))
#define UNIC_FORCE   __attribute__((force))
#else
#define UNIC_BITWISE
#define UNIC_FORCE
#endif

typedef uint16_t UNIC_BITWISE unic_le16;
typedef uint32_t UNIC_BITWISE unic_le32;
typedef uint64_t UNIC_BITWISE unic_le64;
typedef uint16_t UNIC_BITWISE unic_be16;
typedef uint32_t UNIC_BITWISE unic_be32;
typedef uint64_t UNIC_BITWISE unic_be64;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define UNIC_LE(bits, v) (v)
#define UNIC_BE(bits, v) __builtin_bswap##bits(v)
#else
#define UNIC_LE(bits, v) __builtin_bswap##bits(v)
#define UNIC_BE(bits, v) (v)
#endif

#define UNIC_ABI_CONV(order, ORDER, bits)                                    \
	static inline unic_##order##bits unic_to_##order##bits(              \
		uint##bits##_t v)                                            \
	{                                                                    \
		return (UNIC_FORCE unic_##order##bits)UNIC_##ORDER(bits, v); \
	}                                                                    \
	static inline uint##bits##_t unic_from_##order##bits(                \
		unic_##order##bits v)                                        \
	{                                                                    \
		return UNIC_##ORDER(bits, (UNIC_FORCE uint##bits##_t)v);     \
	}

UNIC_ABI_CONV(le, LE, 16)
UNIC_ABI_CONV(le, LE, 32)
UNIC_ABI_CONV(le, LE, 64)
UNIC_ABI_CONV(be, BE, 16)
UNIC_ABI_CONV(be, BE, 32)
UNIC_ABI_CONV(be, BE, 64)

/* Offset and size asserts: in force for every includer, both sides, in C and C++. */
#ifdef __cplusplus
#define UNIC_ABI_ASSERT(what, text) static_assert(what, text)
#else
#define UNIC_ABI_ASSERT(what, text) _Static_assert(what, text)
#endif
#define UNIC_ABI_AT(type, field, off)                          \
	UNIC_ABI_ASSERT(offsetof(struct type, field) == (off), \
			"ABI: " #type "." #field " is not at " #off)
#define UNIC_ABI_SIZE(type, size)                      \
	UNIC_ABI_ASSERT(sizeof(struct type) == (size), \
			"ABI: struct " #type " is not " #size " bytes")

#endif /* UNIC_TYPES_H */

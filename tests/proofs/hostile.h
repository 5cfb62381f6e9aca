/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * hostile.h - memory that another party writes at any time, for Eva.
 *
 * Such memory is one weak block (-eva-alloc-builtin fresh_weak): a write to it
 * may have been overwritten at once, and no comparison with what was read of it
 * says anything about the next read. So a value checked and then fetched again
 * is any value again, and an unsafe use of it is an alarm: a double fetch is
 * found by the access that it makes unsafe.
 */
#ifndef PROOFS_HOSTILE_H
#define PROOFS_HOSTILE_H

#include <stdint.h>
#include <stdlib.h>

#include "__fc_builtin.h"

static inline void *hostile(size_t bytes)
{
	uint8_t *mem = calloc(1, bytes);

	Frama_C_make_unknown((char *)mem, bytes);
	return mem;
}

static inline uint8_t any8(void)
{
	return (uint8_t)Frama_C_unsigned_int_interval(0, UINT8_MAX);
}

static inline uint16_t any16(void)
{
	return (uint16_t)Frama_C_unsigned_int_interval(0, UINT16_MAX);
}

static inline uint32_t any32(void)
{
	return Frama_C_unsigned_int_interval(0, UINT32_MAX);
}

static inline uint64_t any64(void)
{
	return (uint64_t)any32() << 32 | any32();
}

static inline uint32_t below(uint32_t n)
{
	return Frama_C_unsigned_int_interval(0, n - 1);
}

#endif /* PROOFS_HOSTILE_H */

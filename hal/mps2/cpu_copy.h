/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cpu_copy.h - how a Cortex-M3 copies from and to host memory.
 */
#ifndef MPS2_CPU_COPY_H
#define MPS2_CPU_COPY_H

#include <string.h>

#include "unic_port.h"

/** cpu_copy_in() - @len bytes (not 0) from host memory, in any order. */
static inline void cpu_copy_in(void *local, const void *host, uint32_t len)
{
	memcpy(local, host, len);
}

/** cpu_copy_out() - @len bytes (not 0) to host memory: behind all earlier ones,
 * and a last aligned word behind the rest. memcpy() may store in any order. */
static inline void cpu_copy_out(uint8_t *host, const uint8_t *local,
				uint32_t len)
{
	uint32_t body = len - 4, word;

	unic_wmb();
	if (((uintptr_t)host | len) & 3u) {
		memcpy(host, local, len);
		return;
	}
	if (body)
		memcpy(host, local, body);
	memcpy(&word, local + body, sizeof(word));
	unic_wmb();
	UNIC_WRITE_ONCE(*(uint32_t *)(void *)(host + body), word);
}

#endif /* MPS2_CPU_COPY_H */

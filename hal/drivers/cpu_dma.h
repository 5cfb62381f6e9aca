/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cpu_dma.h - DMA by the CPU: host memory is mapped, so a transfer is a copy, and
 * is over when the call returns. The board's cpu_copy.h has the copy.
 *
 * Inline: every message takes several transfers of 8 to 64 bytes.
 */
#ifndef CPU_DMA_H
#define CPU_DMA_H

#include <string.h>

#include "cpu_copy.h"
#include "dma_window.h"
#include "unic_port.h"

/* cpu_copy_out() of 8 bytes to a word boundary: what most messages need. */
static inline void cpu_copy_out_8(void *host, const void *local)
{
	uint32_t word[2], *to = host;

	memcpy(word, local, sizeof(word));
	unic_wmb();
	UNIC_WRITE_ONCE(to[0], word[0]);
	unic_wmb();
	UNIC_WRITE_ONCE(to[1], word[1]);
}

/** cpu_dma() - unic_port_dma(). */
static inline __attribute__((always_inline)) int
cpu_dma(const struct dma_windows *windows, enum unic_port_dma_dir dir,
	uint64_t bus, void *local, uint32_t len)
{
	uint8_t *host;

	if (__builtin_expect(!dma_window_find(windows, bus, len, &host), 0))
		return UNIC_PORT_EFAULT;
	if (dir == UNIC_DMA_TO_HOST) {
		if (len == 8 && !((uintptr_t)host & 3))
			cpu_copy_out_8(host, local);
		else
			cpu_copy_out(host, local, len);
	} else {
		if (len == 8)
			memcpy(local, host, 8);
		else
			cpu_copy_in(local, host, len);
	}
	return UNIC_PORT_OK;
}

#endif /* CPU_DMA_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dma_window.h - bus address to pointer, for boards on which host memory is
 * mapped: the check that keeps every access inside a DMA window.
 *
 * Inline, because it stands in front of every transfer of 8 bytes. dma_window.c has
 * the functions of unic_port.h for which the windows are enough.
 */
#ifndef DMA_WINDOW_H
#define DMA_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define DMA_WINDOWS_MAX 32u

/* Zeroed, it is no window at all: every address is refused. */
struct dma_windows {
	struct {
		uint8_t *base;
		uint32_t bytes;
	} window[DMA_WINDOWS_MAX];
	uint32_t count;
};

/**
 * dma_window_find() - where @len bytes at bus address @bus are.
 * @bus: top 16 bits window number, low 48 offset (unic_port.h).
 * @at:  set if true.
 * Returns false unless all of them are inside one window.
 */
static inline bool dma_window_find(const struct dma_windows *windows,
				   uint64_t bus, uint32_t len, uint8_t **at)
{
	uint32_t high = (uint32_t)(bus >> 32);
	uint32_t off = (uint32_t)bus;
	/* rotated, it is a window number only if bits 47:32 are 0 */
	uint32_t number = high >> 16 | high << 16;
	uint32_t bytes;

	if (number >= DMA_WINDOWS_MAX)
		return false;
	bytes = windows->window[number].bytes;
	if (len > bytes || off > bytes - len)
		return false;
	*at = windows->window[number].base + off;
	return true;
}

#endif /* DMA_WINDOW_H */

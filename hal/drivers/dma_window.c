/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dma_window.c - the part of unic_port.h for which the windows are enough, on boards
 * whose CPU copies (cpu_dma.h): they list it, and their struct unic_port begins with
 * its struct dma_windows.
 */
#include "dma_window.h"

#include "unic_port.h"

#define PAGE_BYTES	4096u
#define DOORBELLS_BYTES (2 * PAGE_BYTES)

static const struct dma_windows *windows_of(const struct unic_port *port)
{
	return (const void *)port;
}

bool unic_port_dma_poll(struct unic_port *port, uint32_t *tag, int *status)
{
	(void)port;
	(void)tag;
	(void)status;
	return false; /* a copy is over when unic_port_dma() returns */
}

void *unic_port_doorbells(struct unic_port *port, uint64_t bus)
{
	uint8_t *pages;

	if (bus & (PAGE_BYTES - 1) ||
	    !dma_window_find(windows_of(port), bus, DOORBELLS_BYTES, &pages))
		return NULL;
	return pages;
}

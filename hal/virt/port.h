/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * port.h - the port of QEMU's `virt` machine: what hal/virt's own files and
 * its main programs know of it. The core sees unic_port.h only.
 *
 * Devices, as the launcher gives them:
 *   ivshmem-doorbell   mailbox: memory in BAR2; host = peer 0, vector v of the
 *                      NIC = slot v-1 (v = 0: driver)
 *   ivshmem-doorbell   optional: the shared-memory link; its memory starts with
 *                      UNIC_LINK_MAGIC, by which the two are told apart
 *   ivshmem-plain ...  DMA window k is the k-th in PCI order: a process slot, or
 *                      the only one, the RAM of a guest
 *   virtio-net-device  optional: the link, if there is no shared-memory one
 *   virtio-rng-device  optional
 */
#ifndef VIRT_PORT_H
#define VIRT_PORT_H

#include "dma_window.h"
#include "gicv2.h"
#include "link_ring.h"
#include "unic_port.h"
#include "virtio_net.h"
#include "virtio_rng.h"

enum virt_link {
	VIRT_LINK_NONE = 0,
	VIRT_LINK_RING = 1,
	VIRT_LINK_NET = 2,
};

/* Conversions between ticks of the generic timer and ns. */
struct virt_clock {
	uint32_t ns_mult;   /* ns = ticks * ns_mult >> 24 */
	uint32_t tick_mult; /* ticks = ns * tick_mult >> 32 */
};

struct unic_port {
	struct dma_windows dma; /* first: drivers/dma_window.c */
	struct virt_clock clock;
	enum virt_link link;
	uint8_t *bar; /* mailbox memory */
	uintptr_t bar_regs;
	uintptr_t link_regs; /* VIRT_LINK_RING: doorbells of the link */
	struct gicv2 gic;
	uint32_t net_intid; /* VIRT_LINK_NET; level-triggered */
	uint64_t refreshed_ns;
	uint32_t msi_next; /* first interrupt number not given away */
	uint32_t msi_left;
	struct link_ring ring;
	struct virtio_rng rng;
	struct virtio_net net;
};

/**
 * virt_port_init() - find and start everything.
 * @port: zeroed.
 * Returns NULL, or why this machine cannot be a NIC (a sentence for the
 * console).
 */
const char *virt_port_init(struct unic_port *port);

/**
 * virt_port_sleep() - WFI until an interrupt or until NIC time @until_ns, the
 * earlier; may return early. All interrupts pending are acknowledged when it
 * returns: look at everything before sleeping again.
 */
void virt_port_sleep(struct unic_port *port, uint64_t until_ns);

/** virt_port_refresh() - to be called now and then; see mmu_refresh(). */
void virt_port_refresh(struct unic_port *port);

#endif /* VIRT_PORT_H */

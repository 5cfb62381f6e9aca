/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Start-up of the board and the small port functions: time, memory, doorbells
 * to the host, entropy, sleep.
 */
#include "port.h"

#include <stddef.h>

#include "board.h"
#include "clock.h"
#include "cpu_dma.h"
#include "ivshmem_pci.h"
#include "memlayout.h"
#include "mmu.h"
#include "unic_link.h"
#include "unic_mbox.h"

_Static_assert(!offsetof(struct unic_port, dma), "drivers/dma_window.c");

#define HOST_PEER	0u
#define MAILBOX_VECTORS (1u + UNIC_PROCS)
#define LINK_VECTORS	1u
#define REFRESH_NS	20000000u
#define RNG_WAIT_NS	20000000u
#define IRQS_PER_WAKE	128u /* a stuck line must not hold the core up */

/* -------------------------------------------------------------- start-up */

/* Returns the base of the function's memory, mapped. */
static uint8_t *virt_map(const struct pci_function *fn)
{
	const struct pci_bar *bar = &fn->bar[IVSHMEM_MEMORY];

	mmu_map_memory(bar->addr, bar->bytes);
	pci_ecam_enable(fn);
	return (uint8_t *)(uintptr_t)bar->addr;
}

/*
 * Each vector gets an interrupt of its own. Which one it was does not matter, but
 * vectors that shared one would merge while it is pending.
 */
static void virt_vectors(struct unic_port *port, const struct pci_function *fn,
			 uint32_t count)
{
	if (count > port->msi_left)
		count = port->msi_left;
	for (uint32_t v = 0; v < count; v++)
		gicv2_enable(&port->gic, port->msi_next + v, true);
	count = pci_ecam_msix_enable(fn, VIRT_GICV2M + 0x40, port->msi_next,
				     count);
	port->msi_next += count;
	port->msi_left -= count;
}

static void virt_add_window(struct unic_port *port,
			    const struct pci_function *fn)
{
	uint32_t k = port->dma.count;

	if (k == DMA_WINDOWS_MAX)
		return;
	port->dma.window[k].base = virt_map(fn);
	port->dma.window[k].bytes = fn->bar[IVSHMEM_MEMORY].bytes;
	port->dma.count = k + 1;
}

static bool virt_add_link(struct unic_port *port, const struct pci_function *fn,
			  uint8_t *memory)
{
	uintptr_t regs = fn->bar[IVSHMEM_REGS].addr;
	uint32_t self = ivshmem_peer(regs);
	/* locally administered; the port number makes it unique */
	uint8_t mac[6] = { 0x02, 'u', 'n', 'i', 'c', (uint8_t)self };

	if (port->link != VIRT_LINK_NONE ||
	    link_ring_attach(&port->ring, memory, fn->bar[IVSHMEM_MEMORY].bytes,
			     self, mac) != LINK_RING_OK)
		return false;
	port->link = VIRT_LINK_RING;
	port->link_regs = regs;
	virt_vectors(port, fn, LINK_VECTORS);
	return true;
}

static const char *virt_add_doorbell(struct unic_port *port,
				     const struct pci_function *fn)
{
	uint8_t *memory = virt_map(fn);

	if (*(volatile uint32_t *)memory == UNIC_LINK_MAGIC)
		return virt_add_link(port, fn, memory) ? NULL
						       : "the shared-memory "
							 "link cannot be used";
	if (port->bar)
		return "two mailboxes (a link without its header?)";
	if (fn->bar[IVSHMEM_MEMORY].bytes < UNIC_BAR_BYTES)
		return "the mailbox memory is too small";
	port->bar = memory;
	port->bar_regs = fn->bar[IVSHMEM_REGS].addr;
	virt_vectors(port, fn, MAILBOX_VECTORS);
	return NULL;
}

static const char *virt_add_function(struct unic_port *port,
				     const struct pci_function *fn)
{
	if (!ivshmem_is(fn))
		return NULL;
	if (pci_ecam_msix(fn))
		return virt_add_doorbell(port, fn);
	virt_add_window(port, fn);
	return NULL;
}

static __attribute__((noinline, cold)) const char *
virt_start_pci(struct unic_port *port)
{
	struct pci_window memory = { VIRT_PCI_MEM, VIRT_PCI_REGS,
				     VIRT_SECTION };
	struct pci_window regs = { VIRT_PCI_REGS, VIRT_PCI_END, 4096 };
	struct pci_function fns[PCI_SLOTS];
	uint32_t count = pci_ecam_scan(VIRT_ECAM, fns);

	if (!pci_ecam_place(fns, count, &memory, &regs))
		return "the PCI devices do not fit the 32-bit memory window";
	for (uint32_t i = 0; i < count; i++) {
		const char *why = virt_add_function(port, &fns[i]);

		if (why)
			return why;
	}
	return port->bar ? NULL : "there is no mailbox (ivshmem-doorbell)";
}

/* Register block of virtio device @id, or 0. */
static uintptr_t virt_find_virtio(uint32_t id, uint32_t *intid)
{
	uint32_t n = virtio_mmio_find(VIRT_VIRTIO, VIRT_VIRTIO_STRIDE,
				      VIRT_VIRTIO_SLOTS, id);

	*intid = VIRT_VIRTIO_INTID + n;
	return n == VIRT_VIRTIO_SLOTS ? 0
				      : VIRT_VIRTIO + n * VIRT_VIRTIO_STRIDE;
}

static const char *virt_start_net(struct unic_port *port)
{
	uintptr_t regs = virt_find_virtio(VIRTIO_ID_NET, &port->net_intid);
	int status;

	if (!regs || port->link != VIRT_LINK_NONE)
		return NULL;
	status = virtio_net_init(&port->net, regs);
	if (status == VIRTIO_MMIO_EVERSION)
		return "virtio-net is legacy: -global "
		       "virtio-mmio.force-legacy=false";
	if (status != VIRTIO_MMIO_OK)
		return "virtio-net cannot be used";
	port->link = VIRT_LINK_NET;
	gicv2_enable(&port->gic, port->net_intid, false);
	return NULL;
}

/*
 * Without entropy of its own the NIC waits for the driver's, so none is no
 * error; some at once saves that. The only wait in this file, and bounded.
 */
static void virt_start_rng(struct unic_port *port)
{
	uint32_t intid;
	uintptr_t regs = virt_find_virtio(VIRTIO_ID_RNG, &intid);
	uint64_t until = virt_clock_ns(&port->clock) + RNG_WAIT_NS;

	if (!regs || virtio_rng_init(&port->rng, regs) != VIRTIO_MMIO_OK)
		return;
	while (!virtio_rng_ready(&port->rng))
		if (virt_clock_ns(&port->clock) >= until)
			return;
}

__attribute__((cold)) const char *virt_port_init(struct unic_port *port)
{
	struct gicv2_msi msi;
	const char *why;

	virt_clock_init(&port->clock);
	gicv2_init(&port->gic, VIRT_GICD, VIRT_GICC);
	gicv2_enable(&port->gic, VIRT_TIMER_INTID, false);
	gicv2_msi_probe(VIRT_GICV2M, &msi);
	port->msi_next = msi.base;
	port->msi_left = msi.count;
	if (msi.count < MAILBOX_VECTORS + LINK_VECTORS)
		return "there is no GICv2m: use gic-version=2";
	why = virt_start_pci(port);
	if (!why)
		why = virt_start_net(port);
	if (!why)
		virt_start_rng(port);
	return why;
}

/* ----------------------------------------------------------------- sleep */

/* Acknowledge before the caller looks at memory: see gicv2.h. */
static void virt_acknowledge(struct unic_port *port)
{
	for (uint32_t i = 0; i < IRQS_PER_WAKE; i++) {
		uint32_t id = gicv2_take(&port->gic);

		if (id == GICV2_NONE)
			break;
		if (port->link == VIRT_LINK_NET && id == port->net_intid)
			virtio_mmio_quiet(port->net.regs);
	}
	unic_mb();
}

void virt_port_sleep(struct unic_port *port, uint64_t until_ns)
{
	uint64_t now = virt_clock_ns(&port->clock);

	if (until_ns > now) {
		uint64_t ns = until_ns - now;

		virt_timer_start(&port->clock,
				 ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns);
		/* An interrupt pending by now makes this a no-operation. */
		__asm__ volatile("dsb\n\twfi" ::: "memory");
		virt_timer_stop();
	}
	virt_acknowledge(port);
}

void virt_port_refresh(struct unic_port *port)
{
	uint64_t now = virt_clock_ns(&port->clock);

	if (now - port->refreshed_ns < REFRESH_NS)
		return;
	port->refreshed_ns = now;
	mmu_refresh();
}

/* -------------------------------------------------- small port functions */

uint64_t unic_port_now_ns(struct unic_port *port)
{
	return virt_clock_ns(&port->clock);
}

void *unic_port_bar(struct unic_port *port)
{
	return port->bar;
}

void unic_port_ring(struct unic_port *port, uint32_t vector)
{
	if (vector < MAILBOX_VECTORS)
		ivshmem_ring(port->bar_regs, HOST_PEER, vector);
}

uint32_t unic_port_entropy(struct unic_port *port, void *buf, uint32_t len)
{
	return virtio_rng_get(&port->rng, buf, len);
}

inline __attribute__((always_inline)) int
unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir, uint64_t bus,
	      void *local, uint32_t len, uint32_t tag)
{
	(void)tag;
	return cpu_dma(&port->dma, dir, bus, local, len);
}

inline void *unic_port_window(struct unic_port *port, uint64_t bus,
			      uint32_t len)
{
	uint8_t *at;

	return dma_window_find(&port->dma, bus, len, &at) ? at : NULL;
}

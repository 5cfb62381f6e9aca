/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * memory.c - wraps the calls of the NIC to the fake port (the linker's --wrap)
 * and checks them: DMA may touch pages of live regions only (INV-4), and a
 * frame may not be read beyond its end.
 */
#include "world.h"

#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#ifdef WATCHED
#include <sanitizer/asan_interface.h>
#define FENCE(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define OPEN(p, n)  ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define FENCE(p, n) ((void)(p), (void)(n))
#define OPEN(p, n)  ((void)(p), (void)(n))
#endif

int __real_unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir,
			 uint64_t bus, void *local, uint32_t len, uint32_t tag);
int __wrap_unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir,
			 uint64_t bus, void *local, uint32_t len, uint32_t tag);
bool __real_unic_port_dma_poll(struct unic_port *port, uint32_t *tag,
			       int *status);
bool __wrap_unic_port_dma_poll(struct unic_port *port, uint32_t *tag,
			       int *status);
void *__real_unic_port_doorbells(struct unic_port *port, uint64_t bus);
void *__wrap_unic_port_doorbells(struct unic_port *port, uint64_t bus);
bool __real_unic_port_rx_next(struct unic_port *port, struct unic_rx *rx);
bool __wrap_unic_port_rx_next(struct unic_port *port, struct unic_rx *rx);
void __real_unic_port_rx_done(struct unic_port *port);
void __wrap_unic_port_rx_done(struct unic_port *port);
uint32_t __real_unic_port_rx_run(struct unic_port *port,
				 const struct unic_rx *rx, uint32_t max,
				 uint32_t *stride);
uint32_t __wrap_unic_port_rx_run(struct unic_port *port,
				 const struct unic_rx *rx, uint32_t max,
				 uint32_t *stride);
void *__real_unic_port_window(struct unic_port *port, uint64_t bus,
			      uint32_t len);
void *__wrap_unic_port_window(struct unic_port *port, uint64_t bus,
			      uint32_t len);

/* Bytes of [bus, bus + len) in one region of residency PHYSICAL. */
static uint32_t physical(const struct unic_nic *nic, uint64_t bus, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < UNIC_MRS; i++) {
		const struct unic_mr_ctx *mr = &nic->mrs.mr[i];
		uint64_t left = unic_mr_bytes(mr) - (bus - mr->iova);

		if (!unic_mr_physical(mr) || mr->state < UNIC_MR_ACTIVE ||
		    mr->state > UNIC_MR_DRAINING || bus < mr->iova ||
		    bus - mr->iova >= unic_mr_bytes(mr))
			continue;
		return left < len ? (uint32_t)left : len;
	}
	return 0;
}

/* Bytes of [bus, bus + len) in one page of a live region; 0: none. */
static uint32_t reachable(const struct unic_nic *nic, uint64_t bus,
			  uint32_t len)
{
	uint32_t i;

	for (i = 0; i < UNIC_TLB_ENTRIES; i++) {
		const struct unic_tlb_entry *e = &nic->tlb.entry[i];
		const struct unic_mr_ctx *mr;
		uint64_t bytes;

		if (e->tag == UNIC_TLB_NO_TAG)
			continue;
		mr = &nic->mrs.mr[unic_tlb_mr(e->tag)];
		bytes = 1ull << mr->page_shift;
		if (mr->state == UNIC_MR_LOADING || bus < e->bus ||
		    bus - e->bus >= bytes)
			continue;
		bytes -= bus - e->bus;
		return bytes < len ? (uint32_t)bytes : len;
	}
	return physical(nic, bus, len);
}

static void judge_bytes(uint64_t bus, uint32_t len)
{
	must(len);
	while (len) {
		uint32_t n = reachable(&world.rig.nic, bus, len);

		must(n);
		bus += n;
		len -= n;
	}
}

void memory_judge(const struct unic_port *port, uint64_t bus, uint32_t len)
{
	if (port != &world.rig.port)
		return;
	must(len <= UNIC_DMA_MAX);
	judge_bytes(bus, len);
}

int __wrap_unic_port_dma(struct unic_port *port, enum unic_port_dma_dir dir,
			 uint64_t bus, void *local, uint32_t len, uint32_t tag)
{
	memory_judge(port, bus, len);
	if (dir == UNIC_DMA_TO_HOST)
		world_dirty(UNIC_BUS_WINDOW(bus), UNIC_BUS_OFFSET(bus), len);
	return __real_unic_port_dma(port, dir, bus, local, len, tag);
}

bool __wrap_unic_port_dma_poll(struct unic_port *port, uint32_t *tag,
			       int *status)
{
	if (!__real_unic_port_dma_poll(port, tag, status))
		return false;
	if (world_knobs.fail_dma) {
		world_knobs.fail_dma--;
		*status = UNIC_PORT_EFAULT;
	}
	return true;
}

/* The NIC may read and write all of the memory that it maps. */
void *__wrap_unic_port_window(struct unic_port *port, uint64_t bus,
			      uint32_t len)
{
	if (world_knobs.fail_dma)
		return NULL;
	if (port == &world.rig.port) {
		judge_bytes(bus, len);
		world_dirty(UNIC_BUS_WINDOW(bus), UNIC_BUS_OFFSET(bus), len);
	}
	return __real_unic_port_window(port, bus, len);
}

void *__wrap_unic_port_doorbells(struct unic_port *port, uint64_t bus)
{
	void *pages = __real_unic_port_doorbells(port, bus);

	if (pages) /* the NIC writes the second one */
		world_dirty(UNIC_BUS_WINDOW(bus), UNIC_BUS_OFFSET(bus) + 4096,
			    4096);
	return pages;
}

bool __wrap_unic_port_rx_next(struct unic_port *port, struct unic_rx *rx)
{
	if (!__real_unic_port_rx_next(port, rx))
		return false;
	FENCE(rx->frame + rx->len, FAKE_FRAME_BYTES - 10 - rx->len);
	return true;
}

uint32_t __wrap_unic_port_rx_run(struct unic_port *port,
				 const struct unic_rx *rx, uint32_t max,
				 uint32_t *stride)
{
	uint32_t i, n = __real_unic_port_rx_run(port, rx, max, stride);

	for (i = 1; i <= n; i++)
		FENCE(rx->frame + i * *stride + rx->len,
		      FAKE_FRAME_BYTES - 10 - rx->len);
	return n;
}

void __wrap_unic_port_rx_done(struct unic_port *port)
{
	uint32_t i;

	for (i = port->rx_done; i != port->rx_head; i++)
		OPEN(port->rx[i % FAKE_FRAMES].bytes, FAKE_FRAME_BYTES - 10);
	__real_unic_port_rx_done(port);
}

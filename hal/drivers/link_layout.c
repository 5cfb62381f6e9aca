/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * link_layout.c - see link_layout.h.
 */
#include "link_layout.h"

#include <string.h>

#define SLOTS_MAX      65536u
#define SLOT_BYTES_MAX 16384u
#define RING_ALIGN     4096u

static uint64_t ring_stride(uint32_t slots, uint32_t slot_bytes)
{
	uint64_t bytes = UNIC_LINK_SLOT0 + (uint64_t)slots * slot_bytes;

	return (bytes + RING_ALIGN - 1) & ~(uint64_t)(RING_ALIGN - 1);
}

static bool sizes_ok(uint32_t ports, uint32_t slots, uint32_t slot_bytes)
{
	return ports >= 2 && ports <= UNIC_LINK_PORTS_MAX && slots >= 2 &&
	       slots <= SLOTS_MAX && !(slots & (slots - 1)) && slot_bytes &&
	       slot_bytes <= SLOT_BYTES_MAX && slot_bytes % 64 == 0;
}

uint64_t link_layout_bytes(uint32_t ports, uint32_t slots, uint32_t slot_bytes)
{
	return RING_ALIGN +
	       (uint64_t)ports * ports * ring_stride(slots, slot_bytes);
}

int link_layout_format(void *mem, uint64_t size, uint32_t ports, uint32_t slots,
		       uint32_t slot_bytes, uint32_t flags)
{
	struct unic_link_header *h = mem;

	if (!sizes_ok(ports, slots, slot_bytes) ||
	    ring_stride(slots, slot_bytes) > UINT32_MAX ||
	    link_layout_bytes(ports, slots, slot_bytes) > size)
		return LINK_RING_ELAYOUT;
	link_write_le32(&h->version, UNIC_LINK_VERSION);
	link_write_le32(&h->ports, ports);
	link_write_le32(&h->slots, slots);
	link_write_le32(&h->slot_bytes, slot_bytes);
	link_write_le32(&h->flags, flags);
	link_write_le32(&h->port_off, sizeof(*h));
	link_write_le32(&h->ring_off, RING_ALIGN);
	link_write_le32(&h->ring_bytes,
			(uint32_t)ring_stride(slots, slot_bytes));
	unic_wmb();
	link_write_le32(&h->magic, UNIC_LINK_MAGIC);
	return LINK_RING_OK;
}

/* Is [off, off + bytes) inside the memory, behind the header, aligned? */
static bool range_ok(uint64_t size, uint32_t off, uint64_t bytes)
{
	return off >= sizeof(struct unic_link_header) && off % 64 == 0 &&
	       off <= size && bytes <= size - off;
}

int link_layout_read(struct link_ring *lr, uint64_t size, uint32_t *ring_off,
		     uint32_t *ring_bytes)
{
	struct unic_link_header h;
	uint32_t port_off;
	uint64_t rings;

	if (size < sizeof(h))
		return LINK_RING_ELAYOUT;
	if (link_read_le32(&lr->header->magic) != UNIC_LINK_MAGIC)
		return LINK_RING_EMAGIC;
	unic_rmb();
	memcpy(&h, lr->header, sizeof(h));
	if (unic_from_le32(h.version) != UNIC_LINK_VERSION)
		return LINK_RING_EVERSION;
	lr->ports = unic_from_le32(h.ports);
	lr->slots = unic_from_le32(h.slots);
	lr->slot_bytes = unic_from_le32(h.slot_bytes);
	port_off = unic_from_le32(h.port_off);
	*ring_off = unic_from_le32(h.ring_off);
	*ring_bytes = unic_from_le32(h.ring_bytes);
	if (!sizes_ok(lr->ports, lr->slots, lr->slot_bytes) ||
	    *ring_bytes % RING_ALIGN ||
	    *ring_bytes < ring_stride(lr->slots, lr->slot_bytes))
		return LINK_RING_ELAYOUT;
	rings = (uint64_t)lr->ports * lr->ports * *ring_bytes;
	if (!range_ok(size, port_off,
		      lr->ports * sizeof(struct unic_link_port)) ||
	    !range_ok(size, *ring_off, rings))
		return LINK_RING_ELAYOUT;
	lr->port_table = (struct unic_link_port *)(lr->mem + port_off);
	lr->max_frame = lr->slot_bytes - UNIC_LINK_FRAME_OFF;
	return LINK_RING_OK;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * link_layout.h - how the memory of a link is laid out (abi/unic_link.h).
 *
 * Secret: which sizes fit, where the rings lie, and which words of a header are
 * used, as any peer may have written them.
 */
#ifndef LINK_LAYOUT_H
#define LINK_LAYOUT_H

#include "link_ring.h"

/**
 * link_layout_bytes() - memory that a link needs.
 * @slots: per ring, a power of two. @slot_bytes: a multiple of 64.
 */
uint64_t link_layout_bytes(uint32_t ports, uint32_t slots, uint32_t slot_bytes);

/**
 * link_layout_format() - write the header of a new link; the switch does it, once,
 * before any port attaches.
 * @mem:  zeroed, 4096-aligned, shared; @size: its bytes.
 * @flags: UNIC_LINK_*.
 * Returns LINK_RING_OK, or LINK_RING_ELAYOUT with nothing written.
 */
int link_layout_format(void *mem, uint64_t size, uint32_t ports, uint32_t slots,
		       uint32_t slot_bytes, uint32_t flags);

/**
 * link_layout_read() - take the layout of lr->mem, of @size bytes, from its header:
 * numbers, port table and longest frame are set in @lr; *ring_off is where the rings
 * begin, *ring_bytes the distance of two. All of them lie inside the memory.
 * Returns an enum link_ring_status; after an error nothing of it is to be used.
 */
int link_layout_read(struct link_ring *lr, uint64_t size, uint32_t *ring_off,
		     uint32_t *ring_bytes);

/** link_read_le32() - read a word of the link once. */
static inline uint32_t link_read_le32(const unic_le32 *p)
{
	return unic_from_le32(UNIC_READ_ONCE(*p));
}

/** link_write_le32() - write a word of the link once. */
static inline void link_write_le32(unic_le32 *p, uint32_t v)
{
	UNIC_WRITE_ONCE(*p, unic_to_le32(v));
}

#endif /* LINK_LAYOUT_H */

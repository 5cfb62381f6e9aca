/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * near_box.h - inside the NIC's end of the serial host link: the words of the box.
 *
 * Secret: where in the near copy of the mailbox a word or a ring lies (board.h).
 */
#ifndef SERIAL_NEAR_BOX_H
#define SERIAL_NEAR_BOX_H

#include "near.h"

#define NEAR_STATS_CHUNKS 4u /* of UNIC_SERIAL_DATA bytes, before the usage */

/* Offset of a ring, and of its indices. */
struct near_place {
	uint16_t records, bytes, places;
	/* offsets: in the NIC's page, in the driver's page */
	uint16_t tail, head;
};

/* The rings that the core writes, by enum unic_serial_ring. */
extern const struct near_place near_rings[UNIC_SERIAL_RINGS];

/** near_word_at() - the word at @off of the box. */
static inline unic_le32 *near_word_at(struct near *n, uint32_t off)
{
	return (unic_le32 *)(void *)(n->box + off);
}

/** near_nic_word() - of the NIC's page, which the core writes. */
static inline uint32_t near_nic_word(struct near *n, uint32_t off)
{
	return unic_from_le32(*near_word_at(n, UNIC_BOX_NIC + off));
}

/** near_set_driver_word() - of the driver's page, which this end writes. */
static inline void near_set_driver_word(struct near *n, uint32_t off,
					uint32_t v)
{
	*near_word_at(n, UNIC_BOX_DRIVER + off) = unic_to_le32(v);
}

static inline uint32_t near_driver_word(struct near *n, uint32_t off)
{
	return unic_from_le32(*near_word_at(n, UNIC_BOX_DRIVER + off));
}

/** near_info() - the info page, which the core writes. */
static inline const struct unic_info *near_info(struct near *n)
{
	return (const struct unic_info *)(void *)(n->box + UNIC_BOX_INFO);
}

#endif /* SERIAL_NEAR_BOX_H */

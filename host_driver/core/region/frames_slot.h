/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * frames_slot.h - inside frames.c and its checks: the tables of a process whose frames
 * are those of its slot.
 */
#ifndef UNIC_FRAMES_SLOT_H
#define UNIC_FRAMES_SLOT_H

#include "region/frames.h"

/* Frames that lie together, behind consecutive pages of the process. */
struct unic_frame_run {
	uint64_t page;	/* first page number of the process */
	uint32_t frame; /* first frame number in the slot */
	uint32_t n;	/* 1, 16 or 512 */
};

struct unic_frame_tables {
	uint8_t *base;	/* of the slot, as the driver maps it */
	uint32_t first; /* lowest frame that may be handed out */
	uint32_t runs;
	uint8_t *taken;		    /* per frame */
	uint16_t *pins;		    /* per frame */
	struct unic_frame_run *run; /* sorted by page */
	uint64_t *journal;	    /* per frame; NULL: no journal */
};

#endif /* UNIC_FRAMES_SLOT_H */

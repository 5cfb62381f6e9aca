/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * parked.h - frames of UC and UD that are kept until a page is there (MEMORY.md
 * section 1: "one bounce copy").
 *
 * Secret: the buffers, and when a frame is given again. There are UNIC_PARKED_FRAMES of
 * them for all queue pairs, and each queue pair has one at most. A frame that is
 * given again is looked at from its beginning, as if it had come then.
 *
 *   FREE -> WAITS -> READY -> GIVEN -> FREE
 *             ^-----------------+  (another page of it is missing)
 */
#ifndef UNIC_PARKED_H
#define UNIC_PARKED_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "transport/roce.h"

struct unic_transport;
struct unic_qp_ctx;

enum unic_parked_state {
	UNIC_PARKED_FREE = 0,
	UNIC_PARKED_WAITS,
	UNIC_PARKED_READY,
	UNIC_PARKED_GIVEN,
};

struct unic_parked {
	uint64_t until_ns; /* no longer */
	uint32_t flags;	   /* UNIC_FRAME_* */
	uint16_t len;
	uint16_t qp;
	uint8_t state; /* enum unic_parked_state */
	/* 2 bytes, so that what is behind Ethernet is aligned, and the frame */
	uint32_t frame[(2u + UNIC_MTU + UNIC_FRAME_OVERHEAD + 3u) / 4u];
};

struct unic_parked_frames {
	struct unic_parked frame[UNIC_PARKED_FRAMES];
	uint8_t given; /* the one in hand, if there is one: roce.rx_again */
	bool ready;    /* some are READY */
};

/**
 * unic_parked_keep() - keep the frame in hand, of @qp, until the access that just
 * missed may succeed. False: no buffer, @qp has one already, or it has waited
 * long enough.
 */
bool unic_parked_keep(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_parked_filled() - as unic_requester_filled(), for frames kept. */
void unic_parked_filled(struct unic_transport *nic, uint16_t idx);

/** unic_parked_run() - give frames again whose pages may be there. True if there
 * was one. */
bool unic_parked_run(struct unic_transport *nic);

/** unic_parked_forget() - what was kept for @qp is of no use to it; one that was
 * given again ends by itself. */
void unic_parked_forget(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_parked_done() - the frame given again is done with. */
void unic_parked_done(struct unic_transport *nic);

#endif /* UNIC_PARKED_H */

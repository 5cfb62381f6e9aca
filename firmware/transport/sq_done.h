/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sq_done.h - how work requests leave the send window.
 *
 * Secret: in which order they complete, as what, and that a run of them that ended well
 * is written by words.
 */
#ifndef UNIC_SQ_DONE_H
#define UNIC_SQ_DONE_H

#include <stdbool.h>

#include "transport/sq.h"

struct unic_transport;

/** unic_sq_ended() - is the oldest request one that unic_sq_retire() would complete? */
static inline bool unic_sq_ended(struct unic_sq *sq)
{
	const struct unic_wr *wr = unic_sq_wr(sq, sq->una);

	return sq->una != sq->next &&
	       (wr->state == UNIC_WRS_DEAD || unic_sq_acked(sq, wr));
}

/** unic_sq_retire() - complete what is acknowledged, in order. False: no room
 * for a completion, call again. The QP may be in ERR afterwards. */
bool unic_sq_retire(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_sq_flush() - complete up to 16 requests of a QP in ERR. 1: none is
 * left; 0: more; -UNIC_EAGAIN: nothing could be done now. */
int unic_sq_flush(struct unic_transport *nic, struct unic_qp_ctx *qp);

#endif /* UNIC_SQ_DONE_H */

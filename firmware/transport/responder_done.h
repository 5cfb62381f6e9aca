/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * responder_done.h - a packet of a request has been placed, or its QP dies.
 *
 * Secret: what a message holds while it is placed, and what of it is given up when: at
 * its last packet or when the peer knows that it was refused, at a missing page, when a
 * region is taken back, when its token is wanted back, when the QP dies.
 */
#ifndef UNIC_RESPONDER_DONE_H
#define UNIC_RESPONDER_DONE_H

#include <stdbool.h>
#include <stdint.h>

struct unic_cuts;
struct unic_qp_ctx;
struct unic_transport;

/**
 * unic_responder_placed() - the payload of the request in hand is placed (@err
 * 0) or not. False: no room for its completion, call again.
 */
bool unic_responder_placed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   int err);

/** unic_responder_known() - the peer says that it knows that the message in hand, which is
 * TOLD, was refused: it completes. False: no room for that, call again. */
bool unic_responder_known(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_responder_keep() - the message in hand needs its regions beyond this
 * poll. */
void unic_responder_keep(struct unic_transport *nic, struct unic_qp_ctx *qp);

/**
 * unic_responder_part() - the QP dies because a region was taken back, before
 * unic_responder_abort(). If requests of the peer hold what @cuts has, the peer
 * is told at the oldest PSN that was not answered: EVICTED, if it is one of them.
 * If only our own do (then @cuts may be NULL), the peer is told when it asks.
 */
void unic_responder_part(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 const struct unic_cuts *cuts);

/** unic_responder_abort() - the QP dies: holds dropped, token aborted (when
 * the last DMA of the QP has ended); if a receive being filled holds
 * what @cuts has (NULL: nothing), it will complete EVICTED. */
void unic_responder_abort(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  const struct unic_cuts *cuts);

/** unic_responder_stop() - messages whose tokens are overdue (token.h) are refused from
 * where they are, and their tokens end. True if bytes of one are on their way: that one
 * stays overdue. */
bool unic_responder_stop(struct unic_transport *nic);

/** unic_responder_dma_end() - of a dead QP: nothing of it moves any more, so a
 * token that it had claimed ends now. */
void unic_responder_dma_end(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_responder_holds() - the first region of @cuts that anything of this half
 * holds, or UNIC_MR_NIL. */
uint16_t unic_responder_holds(const struct unic_qp_ctx *qp,
			      const struct unic_cuts *cuts);

#endif /* UNIC_RESPONDER_DONE_H */

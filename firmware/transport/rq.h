/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rq.h - which posted receive a message gets.
 *
 * Secret: the choice, and what an eviction does to it (MEMORY.md section 5). A
 * receive whose region was taken back completes EVICTED, once, whether the sweep
 * (rq_sweep.h) or a message meets it first; the message takes the next posted
 * receive that is at least rq_class bytes long, so no message is lost. A
 * substitute is looked for among all posted receives: first in the window at
 * the head, then one by one behind it, and not again before another is posted.
 * A queue pair with a shared receive queue (srq.h) has one receive of it at most,
 * in its window, from the message on that takes it.
 */
#ifndef UNIC_RQ_H
#define UNIC_RQ_H

#include <stdbool.h>
#include <stdint.h>

#include "unic_queue.h"

struct unic_cuts;
struct unic_transport;
struct unic_qp_ctx;
struct unic_sgl;

/**
 * unic_rq_pick() - have a receive in use for the next message of @qp.
 * @data: bytes will be placed: its regions must pass the access check. Without
 *        (WRITE with immediate) any posted receive does.
 *
 * Returns 0: qp->rq.picked. -UNIC_EAGAIN: DMA must end first, or as many
 * receives were passed over as a round allows; ask again in the next one.
 * -UNIC_ENOQP: nothing (suitable) is posted. -UNIC_EMISS: a page of it is not on
 * the NIC, and asked for. Any other error: the receive at
 * the head is bad; it has completed with that error.
 */
int unic_rq_pick(struct unic_transport *nic, struct unic_qp_ctx *qp, bool data);

/**
 * unic_rq_pick_from() - as unic_rq_pick() with data, but not before receive *@s,
 * and what is there in the window is all; *@s is behind the one looked at.
 */
int unic_rq_pick_from(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint32_t *s);

/** unic_rq_span() - describe bytes [@off, @off + @len) of the receive in use as
 * spans of @sgl; the caller checked @off + @len <= rq.room. */
void unic_rq_span(const struct unic_qp_ctx *qp, uint32_t off, uint32_t len,
		  struct unic_sgl *sgl);

/** unic_rq_hold() - the receive in use is needed beyond this poll. */
void unic_rq_hold(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_rq_drop_holds() - of the receive in use, which is not freed. */
void unic_rq_drop_holds(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_rq_holds() - the first region of @cuts that the receive in use holds, or
 * UNIC_MR_NIL. */
uint16_t unic_rq_holds(const struct unic_qp_ctx *qp,
		       const struct unic_cuts *cuts);

/**
 * unic_rq_complete() - complete the receive in use with @cqe (wr_id and qpn are
 * filled in here). False: no room, nothing happened, ask again.
 */
bool unic_rq_complete(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      struct unic_cqe *cqe);

/** unic_rq_flush() - complete up to 16 posted receives of a QP in ERR. True
 * when none is left. */
bool unic_rq_flush(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_rq_ahead_want() - receives of @qp may lie in pages that are not on
 * the NIC: unic_rq_ahead() is to look. */
void unic_rq_ahead_want(struct unic_transport *nic,
			const struct unic_qp_ctx *qp);

/** unic_rq_fetched() - @count slots of QP @idx asked for have arrived (@ok), or cannot be
 * read. */
void unic_rq_fetched(struct unic_transport *nic, uint16_t idx, uint32_t count,
		     bool ok);

/** unic_rq_shared_fetched() - the receive of its shared queue that QP @idx waits for has
 * arrived (@ok), or cannot be read. */
void unic_rq_shared_fetched(struct unic_transport *nic, uint16_t idx, bool ok);

#endif /* UNIC_RQ_H */

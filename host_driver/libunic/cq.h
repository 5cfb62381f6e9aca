/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cq.h - completion queues, as queue pairs and the library itself see them. */
#ifndef UNIC_LIB_CQ_H
#define UNIC_LIB_CQ_H

#include "queue.h"

/** unic_cq_arm_next() - as unic_req_notify(), but a completion that @cq holds already makes
 * no event (IBTA 11.4.2.2): the next one does. 0 or -ENOTCONN. */
int unic_cq_arm_next(struct unic_cq *cq, bool solicited_only);

/** unic_cq_add_qp(), unic_cq_del_qp() - add @qp to the queue pairs whose completions
 * @cq takes, or remove it, with its unread completions. */
void unic_cq_add_qp(struct unic_cq *cq, struct unic_qp *qp);
void unic_cq_del_qp(struct unic_cq *cq, struct unic_qp *qp);

/** unic_cq_reset_qp() - @qp is in RESET, and @cq takes completions of it: its requests
 * and unread completions are dropped, and its rings begin at slot 0 again. */
void unic_cq_reset_qp(struct unic_cq *cq, struct unic_qp *qp);

/** unic_cq_recover() - after a reset of the NIC, which writes nothing to @cq: keep
 * the completions written before, flush all outstanding requests, and count records
 * from 0 again. evt_lock held. 0; -ENOMEM: nothing happened. */
int unic_cq_recover(struct unic_cq *cq);

/** unic_cq_reserve() - @cq can take @room completions out of its ring. 0; -ENOMEM: nothing
 * happened. */
int unic_cq_reserve(struct unic_cq *cq, uint32_t room);

/** unic_cq_harvest() - take the completions out of the ring of @cq, to be polled before
 * later ones. False: there are more than the application left room for. */
bool unic_cq_harvest(struct unic_cq *cq);

/** unic_cq_expect() - the NIC may write records of @cq to @mr from now on, a ring of @mask + 1
 * records in which none is valid; NULL: it does not. */
void unic_cq_expect(struct unic_cq *cq, struct unic_mr *mr, uint32_t mask);

/** unic_cq_switch() - the NIC writes records from number @end on to the ring that was
 * expected: read there, also those before that are unread. False: one of these is not there
 * yet, and nothing happened; not if @wait is false. */
bool unic_cq_switch(struct unic_cq *cq, uint32_t end, bool wait);

/** unic_cq_left() - @wc is to be polled, behind what was harvested; lost, if the
 * application left no room for it. The lock of @cq is held. */
void unic_cq_left(struct unic_cq *cq, const struct unic_wc *wc);

/** unic_ring_complete() - complete the request whose first slot is @pos, and, if
 * @in_order, all before it. *@wr_id is the application's. False: no such request is
 * outstanding, and nothing changed. */
bool unic_ring_complete(struct unic_ring *ring, uint64_t pos, bool in_order,
			uint64_t *wr_id);

#endif /* UNIC_LIB_CQ_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * srq.h - shared receive queues. A handler takes @req over and answers it exactly once, as
 * those of queue.h.
 *
 * They do not outlast a reset of the NIC: nobody would know which receives were taken.
 */
#ifndef UNIC_CORE_SRQ_H
#define UNIC_CORE_SRQ_H

#include "state.h"

/** unic_queue_srq_create() - SRQ_CREATE: answered with its id and its index on the NIC.
 * UNSUPPORTED: the device has none, or the process keeps its objects; NO_MR, QUOTA,
 * NO_MEMORY, and what struct unic_cmd_srq_create is refused for. */
void unic_queue_srq_create(struct unic_req *req);

/** unic_queue_srq_modify() - SRQ_MODIFY: set its limit. NO_SRQ, INVALID. */
void unic_queue_srq_modify(struct unic_req *req);

/** unic_queue_srq_destroy() - SRQ_DESTROY: when it answers OK, the NIC reads nothing of the ring
 * any more. NO_SRQ; BUSY: a queue pair uses it. */
void unic_queue_srq_destroy(struct unic_req *req);

/** unic_srq_share() - @cmd has in rq_iova the id of a queue of process @owner: let it name
 * that as the NIC does. OK, NO_SRQ. */
uint32_t unic_srq_share(struct unic_host *host, uint32_t owner,
			struct unic_cmd_qp_create *cmd);

/** unic_srq_event() - handle @evt of the NIC, SRQ_LIMIT or SRQ_ERROR: the process gets an
 * upcall. */
void unic_srq_event(struct unic_host *host, const struct unic_evt_obj *evt);

/** unic_srq_row() - fill in RESYNC's @row of @obj, a shared receive queue. */
void unic_srq_row(const struct unic_obj *obj, struct unic_ctl_object *row);

#endif /* UNIC_CORE_SRQ_H */

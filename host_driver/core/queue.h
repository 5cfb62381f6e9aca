/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* queue.h - protection domains, completion queues, queue pairs. */
#ifndef UNIC_CORE_QUEUE_H
#define UNIC_CORE_QUEUE_H

#include "state.h"

void unic_queue_pd_alloc(struct unic_req *req);
void unic_queue_pd_free(struct unic_req *req);
void unic_queue_cq_create(struct unic_req *req);
void unic_queue_cq_destroy(struct unic_req *req);
void unic_queue_qp_create(struct unic_req *req);
void unic_queue_qp_modify(struct unic_req *req);
void unic_queue_qp_destroy(struct unic_req *req);
void unic_queue_qp_query(struct unic_req *req);
/** unic_queue_event() - QP_ERROR, QP_GONE, CQ_ERROR, DB_ERROR. */
void unic_queue_event(struct unic_host *host, const struct unic_evt_obj *evt);
/** unic_queue_drop() - forget PDs, CQs, QPs, tokens of @owner. */
void unic_queue_drop(struct unic_host *host, uint32_t owner, uint32_t status);
/** unic_queue_row() - RESYNC's row of @obj, a PD, CQ, QP or token. */
void unic_queue_row(const struct unic_obj *obj, struct unic_ctl_object *row);

/** unic_queue_cq_command(), unic_queue_qp_command() - what makes the CQ or QP of
 * process @owner that was asked for by @made. Its parts may have other numbers
 * now than when it was asked for. Returns OK or what is missing. */
uint32_t unic_queue_cq_command(struct unic_host *host, uint32_t owner,
			       const uint64_t *made,
			       struct unic_cmd_cq_create *cmd);
uint32_t unic_queue_qp_command(struct unic_host *host, uint32_t owner,
			       const uint64_t *made,
			       struct unic_cmd_qp_create *cmd);

/** unic_queue_qp_type() - enum unic_qp_type. */
uint8_t unic_queue_qp_type(const struct unic_hqp *qp);

/** unic_queue_modify() - send one QP_MODIFY for @qp; cmd->state says to what. */
void unic_queue_modify(struct unic_req *req, const struct unic_hqp *qp,
		       struct unic_cmd_qp_modify *cmd,
		       void (*done)(struct unic_call *call));

/** unic_queue_recall() - the PD, CQ, QP or token that @n is about; not on the NIC. False:
 * no memory. */
bool unic_queue_recall(struct unic_host *host, const struct unic_obj_note *n);

#endif /* UNIC_CORE_QUEUE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * queue.h - protection domains, completion queues, queue pairs.
 *
 * A handler takes @req over and answers it exactly once, which frees it. Any status
 * but OK means that nothing changed; statuses of the NIC are passed on. Ids in
 * requests and replies are the host's, unique while the driver lives (S4).
 */
#ifndef UNIC_CORE_QUEUE_H
#define UNIC_CORE_QUEUE_H

#include "state.h"

/** unic_queue_pd_alloc() - PD_ALLOC: a new protection domain of the process, answered
 * with its id. That of a client in the kernel may have PHYSICAL regions. QUOTA: the
 * process has its share; PD_FULL; NO_MEMORY: the driver is out of memory, and the
 * NIC's domain is freed again. */
void unic_queue_pd_alloc(struct unic_req *req);

/** unic_queue_pd_free() - PD_FREE. NO_PD; BUSY: regions or queues use it. */
void unic_queue_pd_free(struct unic_req *req);

/** unic_queue_cq_create() - CQ_CREATE: a completion queue whose ring is a range of a
 * region of class control; answered with its id and its index on the NIC. NO_MR,
 * QUOTA, NO_MEMORY, and what struct unic_cmd_cq_create is refused for. */
void unic_queue_cq_create(struct unic_req *req);

/** unic_queue_cq_destroy() - CQ_DESTROY: when it answers OK, the NIC writes nothing
 * more to the ring. NO_CQ; BUSY: a queue pair uses it. */
void unic_queue_cq_destroy(struct unic_req *req);

/** unic_queue_qp_create() - QP_CREATE: a queue pair in state RESET; answered with its
 * id and its QP number. NO_CQ, NO_MR, NO_PD: not the process's, or not of the
 * region's domain; UNSUPPORTED: the device has no such type; QUOTA, NO_MEMORY. */
void unic_queue_qp_create(struct unic_req *req);

/** unic_queue_qp_modify() - QP_MODIFY: one transition (IBTA 11.2.5.2). A destination
 * MAC of zeros is resolved by ARP first, within a second. NO_QP; STATE: it has a
 * connection, which cm.c moves, or came back from a reset and was not RESET yet;
 * TIMEOUT: no answer to ARP. */
void unic_queue_qp_modify(struct unic_req *req);

/** unic_queue_qp_destroy() - QP_DESTROY of a queue pair without a connection.
 * Answered when its last DMA is done (QP_GONE): no completion of it comes later.
 * NO_QP; BUSY: it is being destroyed. */
void unic_queue_qp_destroy(struct unic_req *req);

/** unic_queue_qp_query() - QP_QUERY: QP number, and the state that the driver last
 * set or got in an event; no command is sent. NO_QP. */
void unic_queue_qp_query(struct unic_req *req);

/** unic_queue_event() - handle @evt of the NIC: QP_ERROR, QP_GONE, CQ_ERROR,
 * LAST_WQE or DB_ERROR. The process gets an upcall, or the answer to its QP_DESTROY. */
void unic_queue_event(struct unic_host *host, const struct unic_evt_obj *evt);

/** unic_queue_drop() - forget the PDs, CQs, SRQs, QPs and tokens of process @owner
 * (UNIC_OBJ_ANYONE: of all); the NIC is not asked. Requests that wait for one of them
 * are answered @status. */
void unic_queue_drop(struct unic_host *host, uint32_t owner, uint32_t status);

/** unic_queue_row() - fill in RESYNC's @row of @obj, a PD, CQ, QP or token; @row->id
 * and @row->type are set already. */
void unic_queue_row(const struct unic_obj *obj, struct unic_ctl_object *row);

/** unic_queue_cq_command(), unic_queue_qp_command() - write to @cmd the command that
 * makes the CQ or QP of process @owner that request @made (64 bytes) asked for. The
 * numbers of its parts are those that the NIC uses when this is called: after a reset
 * they differ from those at the time of @made. Returns OK, or NO_MR, NO_CQ, NO_PD. */
uint32_t unic_queue_cq_command(struct unic_host *host, uint32_t owner,
			       const uint64_t *made,
			       struct unic_cmd_cq_create *cmd);
uint32_t unic_queue_qp_command(struct unic_host *host, uint32_t owner,
			       const uint64_t *made,
			       struct unic_cmd_qp_create *cmd);

/** unic_queue_qp_type() - enum unic_qp_type that @qp was made with. */
uint8_t unic_queue_qp_type(const struct unic_hqp *qp);

/** unic_queue_modify() - send QP_MODIFY @cmd for @qp; its owner and QP number are
 * filled in here. @done: as for unic_req_send(). */
void unic_queue_modify(struct unic_req *req, const struct unic_hqp *qp,
		       struct unic_cmd_qp_modify *cmd,
		       void (*done)(struct unic_call *call));

/** unic_queue_recall() - make the driver's object of the PD, CQ, QP or token that
 * journal note @n is about; restore.c makes it on the NIC. False: out of memory. */
bool unic_queue_recall(struct unic_host *host, const struct unic_obj_note *n);

#endif /* UNIC_CORE_QUEUE_H */

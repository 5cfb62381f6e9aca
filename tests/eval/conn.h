/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * conn.h - a connection: a queue pair at either end, made and, after an error,
 * made again at both.
 *
 * Secret: the way of a queue pair from nothing to RTS and back. Rings lie in one
 * page of class control at each end, which stays.
 */
#ifndef EVAL_CONN_H
#define EVAL_CONN_H

#include "actor.h"

#define CONN_SLOTS 16u /* of each work queue */
#define CONN_CQES  64u
#define CONN_QKEY  0x1234u /* of UD */

struct conn;

struct end {
	struct conn *conn;
	struct actor *a;
	uint32_t row; /* page and doorbell row of the process */
	uint8_t state;
	uint32_t gen; /* of the connection, when its queue pair was made */
	uint32_t region, cq, id, qpn, psn;
	uint32_t sq_tail, rq_tail, cq_ci, sq_open, rq_open;
	void *user;
	/* a work request completed; NULL: nobody wants to know */
	void (*done)(struct end *e, const struct unic_cqe *c);
};

struct conn {
	struct end end[2];
	bool up, remaking;
	uint8_t timeout; /* as in IBTA: 4.096 us * 2^timeout */
	uint8_t mtu_shift;
	uint8_t type;	   /* enum unic_qp_type */
	uint8_t rnr_timer; /* IBTA table 45; 0: 10, 0.32 ms */
	uint32_t remade;   /* so far */
	/* both ends are in RTS (again), with empty queues */
	void (*on_up)(struct conn *c);
	void *user;
};

/** conn_start() - connect row @ra of @a with row @rb of @b. `timeout`,
 * `mtu_shift` and what `end[]` needs of its user are set before. */
void conn_start(struct conn *c, struct actor *a, uint32_t ra, struct actor *b,
		uint32_t rb);

/** conn_remake() - an operation failed for good: flush, destroy and connect
 * again. Flushed work requests complete as usual; nothing may be posted before
 * on_up(). Harmless while it is being done. */
void conn_remake(struct conn *c);

/* One work request of one element. */
struct conn_wr {
	uint8_t opcode; /* enum unic_wr_opcode */
	uint64_t id, iova, remote;
	uint32_t len, lkey, rkey;
};

/** conn_post_slot() - as conn_post(), a work request of any kind. */
void conn_post_slot(struct end *e, const struct unic_sq_slot *s);

/** conn_post() / conn_recv() - the caller keeps at most CONN_SLOTS open.
 * Receives complete in any order: the slot CONN_SLOTS before must be over. */
void conn_post(struct end *e, const struct conn_wr *wr);
void conn_recv(struct end *e, const struct conn_wr *wr);

#endif /* EVAL_CONN_H */

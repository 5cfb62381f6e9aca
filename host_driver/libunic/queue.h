/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * queue.h - insides of completion queues and queue pairs, shared by cq.c, qp.c
 * and cm.c only.
 *
 * The wr_id that the NIC sees is ours: the number of the first slot of the
 * request. The application's wr_id stays in a shadow array, so a completion
 * that names anything but an outstanding request is recognised and dropped.
 */
#ifndef UNIC_LIB_QUEUE_H
#define UNIC_LIB_QUEUE_H

#include <pthread.h>

#include "priv.h"

/* What the library remembers of one posted request, by first slot. */
struct unic_shadow {
	uint64_t wr_id;
	uint8_t slots; /* 0: no request starts here, or it is completed */
};

/* One direction of a queue pair. `posted` and `done` are free-running. */
struct unic_ring {
	void *slot; /* 64-byte slots, shared with the NIC */
	struct unic_shadow *shadow;
	uint32_t mask;
	uint32_t posted;      /* under lock */
	uint32_t done;	      /* under the lock of its CQ; atomic */
	pthread_mutex_t lock; /* of posting */
};

struct unic_cq {
	struct unic_ctx *ctx;
	struct unic_mr *mr; /* control region of the ring */
	struct unic_cqe *ring;
	uint32_t mask;
	uint32_t ci;	    /* records consumed; under lock */
	uint32_t id;	    /* host-wide */
	unsigned int db;    /* row in the doorbell page */
	unsigned int users; /* queue pair directions */
	pthread_mutex_t lock;
	struct unic_qp *qp[UNIC_DB_OBJECTS]; /* users of it, densely */
	unsigned int n_qp;
	/* completions of before a reset, and of what it ended; read first */
	struct unic_wc *left;
	unsigned int n_left, next_left;
};

struct unic_qp {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *send_cq, *recv_cq;
	struct unic_mr *mr; /* control region of both rings */
	struct unic_ring sq, rq;
	uint32_t id; /* host-wide */
	uint32_t qpn;
	unsigned int db;
	uint32_t conn; /* connection, 0: none */
	void *user;
};

/** unic_cq_add_qp() / unic_cq_del_qp() - completions of @qp may arrive here.
 * Deleting also drops its unread completions. */
void unic_cq_add_qp(struct unic_cq *cq, struct unic_qp *qp);
void unic_cq_del_qp(struct unic_cq *cq, struct unic_qp *qp);

/** unic_cq_recover() - the NIC was reset and writes nothing here: what it wrote is
 * kept, all that is outstanding is flushed, and counting begins anew. -ENOMEM:
 * nothing happened. */
int unic_cq_recover(struct unic_cq *cq);
/** unic_qp_recover() - its rings are empty; its owner is told by an event. evt_lock
 * held. */
void unic_qp_recover(struct unic_qp *qp);

/** unic_ring_complete() - the request whose first slot is @pos is done.
 * @in_order: all before it are done too. False: no such request. */
bool unic_ring_complete(struct unic_ring *ring, uint64_t pos, bool in_order,
			uint64_t *wr_id);

#endif /* UNIC_LIB_QUEUE_H */

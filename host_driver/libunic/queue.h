/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * queue.h - insides of completion queues and queue pairs, for the files that create,
 * restore and name them.
 *
 * The wr_id in a request to the NIC is the number of its first slot. The application's
 * wr_id stays in a shadow array, so a completion that does not name an outstanding
 * request is recognised and dropped.
 */
#ifndef UNIC_LIB_QUEUE_H
#define UNIC_LIB_QUEUE_H

#include <pthread.h>

#include "priv.h"

/* What the library remembers of one posted request, by first slot. */
struct unic_shadow {
	uint64_t wr_id;
	uint8_t slots; /* 0: no request that is outstanding starts here */
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
	bool overrun; /* CQ_ERROR was delivered; under evt_lock */
	struct unic_qp *qp[UNIC_DB_OBJECTS]; /* users of it, densely */
	unsigned int n_qp;
	/* completions from before a reset, and of what the reset flushed; read first */
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
	uint8_t told;  /* UNIC_TOLD_*, atomic: events that were delivered */
	void *user;
};

#define UNIC_TOLD_UP	1u /* CONNECTED, or unic_connect() returned */
#define UNIC_TOLD_DOWN	2u /* DISCONNECTED */
#define UNIC_TOLD_ERROR 4u /* QP_ERROR */
/* DISCONNECTED, or unic_disconnect() was called: ERR is the end of the connection. */
#define UNIC_TOLD_END 8u

/** unic_qp_told() - record that events @what of @qp are delivered. True: one of them
 * was before. */
static inline bool unic_qp_told(struct unic_qp *qp, uint8_t what)
{
	return __atomic_fetch_or(&qp->told, what, __ATOMIC_RELAXED) & what;
}

/** unic_qp_knows() - true if one of the events @what of @qp is delivered. */
static inline bool unic_qp_knows(struct unic_qp *qp, uint8_t what)
{
	return __atomic_load_n(&qp->told, __ATOMIC_RELAXED) & what;
}

/** unic_qp_untold() - events @what may be delivered again: @qp has a new connection,
 * or was reset. */
static inline void unic_qp_untold(struct unic_qp *qp, uint8_t what)
{
	__atomic_fetch_and(&qp->told, (uint8_t)~what, __ATOMIC_RELAXED);
}

#endif /* UNIC_LIB_QUEUE_H */

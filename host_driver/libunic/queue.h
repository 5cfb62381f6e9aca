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
	bool overrun; /* CQ_ERROR was told; under evt_lock */
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
	uint8_t told;  /* UNIC_TOLD_*, atomic: events that its owner had */
	void *user;
};

#define UNIC_TOLD_UP	1u /* CONNECTED, or it asked itself */
#define UNIC_TOLD_DOWN	2u /* DISCONNECTED */
#define UNIC_TOLD_ERROR 4u /* QP_ERROR */

/** unic_qp_told() - note it; true if it was told before. */
static inline bool unic_qp_told(struct unic_qp *qp, uint8_t what)
{
	return __atomic_fetch_or(&qp->told, what, __ATOMIC_RELAXED) & what;
}

/** unic_qp_untold() - a new connection, or a new life. */
static inline void unic_qp_untold(struct unic_qp *qp, uint8_t what)
{
	__atomic_fetch_and(&qp->told, (uint8_t)~what, __ATOMIC_RELAXED);
}

/** unic_cq_add_qp() / unic_cq_del_qp() - completions of @qp may arrive here.
 * Deleting also drops its unread completions. */
void unic_cq_add_qp(struct unic_cq *cq, struct unic_qp *qp);
void unic_cq_del_qp(struct unic_cq *cq, struct unic_qp *qp);

/** unic_cq_recover() - the NIC was reset and writes nothing here: what it wrote is
 * kept, all that is outstanding is flushed, and counting begins anew. evt_lock held.
 * -ENOMEM: nothing happened. */
int unic_cq_recover(struct unic_cq *cq);
/** unic_qp_recover() - its rings are empty; its owner is told by an event. evt_lock
 * held. */
void unic_qp_recover(struct unic_qp *qp);

/* Between event.c and resync.c; evt_lock held. */

/** unic_event_put() - queue @ev for the application. A region it names stays
 * until it is acknowledged. */
void unic_event_put(struct unic_ctx *ctx, const struct unic_event *ev);
/** unic_event_next() - @n is the number of the upcall to be read next. */
void unic_event_next(struct unic_ctx *ctx, uint32_t n);
/** unic_event_region(), _qp(), _cq() - what the driver's words name, or NULL. */
struct unic_mem_region *unic_event_region(struct unic_ctx *ctx,
					  uint32_t handle);
struct unic_qp *unic_event_qp(struct unic_ctx *ctx, uint32_t row, uint32_t id);
struct unic_cq *unic_event_cq(struct unic_ctx *ctx, uint32_t row, uint32_t id);
/** unic_event_life() - its state, for all threads. */
void unic_event_life(struct unic_mem_region *r, enum unic_mr_life life);
/** unic_event_request() - make *ev a CONNECT. False: nobody listens, or it was
 * told before. */
bool unic_event_request(struct unic_ctx *ctx, uint32_t listener, uint32_t conn,
			struct unic_event *ev);

/** unic_resync_regions() - after it regions are as the driver has them, and events
 * say what changed. False: no answer, then one upcall is skipped. */
bool unic_resync_regions(struct unic_ctx *ctx);
/** unic_resync_objects() - events for what happened to queues and connections
 * without a word, and RESYNC. */
void unic_resync_objects(struct unic_ctx *ctx);

/** unic_ring_complete() - the request whose first slot is @pos is done.
 * @in_order: all before it are done too. False: no such request. */
bool unic_ring_complete(struct unic_ring *ring, uint64_t pos, bool in_order,
			uint64_t *wr_id);

#endif /* UNIC_LIB_QUEUE_H */

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
	uint32_t nth;	/* messages posted up to this one */
	uint32_t bytes; /* with `as`: of its completion */
	uint8_t slots;	/* 0: no request that is outstanding starts here */
	uint8_t fate;	/* of a request that is held back: replay.c */
	uint8_t as;	/* not 0: opcode of its completion */
	bool gone;	/* with `as`: it completes REM_EVICTED */
};

/* One direction of a queue pair. `posted` and `done` are free-running. */
struct unic_ring {
	void *slot; /* 64-byte slots, shared with the NIC */
	struct unic_shadow *shadow;
	uint32_t mask;
	uint32_t posted;      /* under lock */
	uint32_t done;	      /* under the lock of its CQ; atomic */
	pthread_mutex_t lock; /* of posting */
	uint32_t rung; /* of `posted`, what the NIC was told; under lock */
	bool hold;     /* it is told nothing; under lock */
	bool held;     /* sends: completions are held back; CQ's lock */
	/* sends that take a receive of the peer: posted (under lock); that have
	 * arrived, and that have failed and will never arrive (CQ's lock) */
	uint32_t sends, sent, failed;
	/* room for replay.c; NULL: it is not to be mended */
	void *spare_slot;
	struct unic_shadow *spare;
};

/** unic_ring_free() - slots of @ring into which may be posted. */
static inline unsigned int unic_ring_free(const struct unic_ring *ring)
{
	uint32_t done = __atomic_load_n(&ring->done, __ATOMIC_ACQUIRE);

	return ring->mask + 1 - (ring->posted - done);
}

/* What the library knows of a connection that it is to mend (mend.h). Under the lock of
 * the mender, but for `received`. */
struct unic_mend {
	uint8_t how;   /* enum unic_qp_cut */
	uint8_t state; /* enum unic_mend_state; atomic */
	uint8_t cause; /* enum unic_wc_status that broke it */
	bool passive;  /* the peer connected */
	bool busy;     /* a thread is at work */
	bool again;    /* it broke once more */
	bool final;    /* its owner or the peer ended it */
	bool stop;     /* its owner waits for the thread */
	/* of the thread */
	bool said_again; /* the peer was told that this end comes back */
	bool reported;	 /* receives of this round were */
	struct unic_ctl_connect req; /* the first CONNECT or ACCEPT */
	uint32_t peer_ipv4;
	uint64_t ident;	    /* transaction of the first connection */
	uint32_t received;  /* messages; under the CQ's lock, atomic */
	uint32_t completed; /* sends; likewise */
	uint32_t called;    /* request of the peer that waits; 0: none */
	uint32_t called_received;
	uint32_t fruitless; /* rounds without a completion */
	uint32_t progress;  /* completions when the last round began */
	uint32_t rounds;    /* times that it was mended; atomic */
};

/* The ring that a completion queue is about to have (cq_ring.c). */
struct unic_cq_next {
	struct unic_mr *mr;
	struct unic_cqe *ring; /* NULL: there is none */
	uint32_t mask;
	bool anew; /* numbers of records began at 0 again since */
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
	bool overrun; /* CQ_ERROR was delivered; under evt_lock, atomic */
	struct unic_qp *qp[UNIC_DB_OBJECTS]; /* users of it, densely */
	unsigned int n_qp;
	/* by the low bits of its number, the user that completed last; or NULL */
	struct unic_qp *last[UNIC_DB_OBJECTS];
	/* completions from before a reset, and of what the reset flushed; those of a
	 * queue pair that is mended; read first */
	struct unic_wc *left;
	unsigned int n_left, next_left, left_room;
	struct unic_cq_next next; /* under lock */
	pthread_mutex_t resizing; /* who has it may change the ring */
};

struct unic_srq {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_mr *mr; /* control region of the ring */
	struct unic_rq_slot *slot;
	uint32_t mask;
	uint32_t posted; /* under lock */
	pthread_mutex_t lock;
	uint32_t id; /* host-wide */
	unsigned int db;
	unsigned int users; /* queue pairs; atomic */
};

struct unic_qp {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *send_cq, *recv_cq;
	struct unic_srq
		*srq; /* has the receives; `rq` is empty then; NULL: none */
	struct unic_mr *mr; /* control region of both rings */
	struct unic_ring sq, rq;
	uint32_t id; /* host-wide */
	uint32_t qpn;
	unsigned int db;
	uint32_t conn; /* connection, 0: none */
	uint8_t told;  /* UNIC_TOLD_*, atomic: events that were delivered */
	struct unic_descs *descs; /* desc.c; NULL: none; atomic */
	struct unic_mend mend;
	struct unic_rate rate; /* that it was set to; `rate` 0: none */
	void *user;
};

static inline void unic_put_sge(struct unic_sge *out, const struct unic_sg *sg)
{
	out->iova = unic_to_le64((uintptr_t)sg->addr);
	out->len = unic_to_le32(sg->len);
	out->lkey = unic_to_le32(sg->lkey);
}

/** unic_cq_overran() - CQ_ERROR of @cq is delivered. evt_lock held. */
static inline void unic_cq_overran(struct unic_cq *cq)
{
	__atomic_store_n(&cq->overrun, true, __ATOMIC_RELEASE);
}

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

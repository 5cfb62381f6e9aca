/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * srq.h - shared receive queues (IBTA 10.2.9, 10.8.3.2).
 *
 * Secret: whose receive is next. The ring is read in its order, one slot for each message
 * that needs one, straight to the window of the queue pair that asks (rq.c), whose receive
 * it is from then on. The process sees how many were taken (unic_nic_page.srq_taken) and
 * posts into slots before those. A receive of a region that was taken back completes
 * EVICTED when a message comes to it: the queue has no completion queue of its own, so the
 * sweep (rq_sweep.h) only marks it.
 *
 * A queue whose ring cannot be read, or whose tail is wrong, is in error and gives no
 * receive any more: the queue pairs that ask for one die.
 */
#ifndef UNIC_SRQ_H
#define UNIC_SRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_mbox.h"
#include "unic_queue.h"

struct unic_transport;

#define UNIC_SRQ_TAIL 1u /* detail of SRQ_ERROR */
#define UNIC_SRQ_BUS  2u

struct unic_srq_ctx {
	uint64_t iova;	/* of slot 0 */
	uint32_t mask;	/* slots - 1 */
	uint32_t tail;	/* posted */
	uint32_t head;	/* taken */
	uint32_t limit; /* fewer than this left: SRQ_LIMIT; 0: not armed */
	uint16_t mr;	/* control region of the ring */
	uint16_t proc, pd;
	uint16_t users;	   /* queue pairs */
	uint16_t fetching; /* taken, and not read yet */
	uint8_t db_index;
	uint8_t error; /* UNIC_SRQ_TAIL, UNIC_SRQ_BUS */
	uint8_t evt;   /* UNIC_SRQ_EVT_* not yet on the event ring */
	bool used;
	uint32_t lost[UNIC_QP_SLOTS / 32]; /* marked by the sweep, by slot */
};

#define UNIC_SRQ_EVT_LIMIT (1u << 0)
#define UNIC_SRQ_EVT_ERROR (1u << 1)

struct unic_srqs {
	uint16_t evts_due;
	uint16_t n;	     /* in use */
	uint16_t sweep_left; /* still to be looked through in this lap; the last
			      * of them is the one in hand */
	bool sweep_fetching;
	bool sweep_stale;  /* what is being fetched is not wanted any more */
	uint32_t sweep_at; /* slot of that one */
	struct unic_srq_ctx srq[UNIC_SRQS];
};

/** unic_srq_init() - all shared receive queues are free. */
void unic_srq_init(struct unic_transport *nic);

/** unic_srq_create() - SRQ_CREATE. Returns the index, or an error that changed nothing:
 * -UNIC_ENOPD, -UNIC_EINVAL, -UNIC_ESRQFULL, -UNIC_EBUSY (doorbell row taken), the errors
 * of unic_access(); the region must be class control. */
int unic_srq_create(struct unic_transport *nic,
		    const struct unic_cmd_srq_create *cmd);

/** unic_srq_modify() - SRQ_MODIFY. 0, -UNIC_ENOSRQ, -UNIC_EINVAL. */
int unic_srq_modify(struct unic_transport *nic,
		    const struct unic_cmd_srq_modify *cmd);

/** unic_srq_destroy() - 0, -UNIC_ENOSRQ, or -UNIC_EBUSY while a queue pair uses it.
 * Receives that nobody took are forgotten. */
int unic_srq_destroy(struct unic_transport *nic, uint32_t proc, uint32_t id);

/** unic_srq_proc_gone() - destroy the queues of @proc, whose queue pairs are gone. */
void unic_srq_proc_gone(struct unic_transport *nic, uint32_t proc);

/** unic_srq_check() - may a queue pair of @proc and @pd use the queue that @name names
 * (unic_cmd_qp_create.srq)? 0, -UNIC_ENOSRQ, -UNIC_EPD. */
int unic_srq_check(struct unic_transport *nic, uint32_t proc, uint32_t pd,
		   uint32_t name);

/** unic_srq_get() / _put() - one more queue pair uses it; one less. */
void unic_srq_get(struct unic_transport *nic, uint32_t name);
void unic_srq_put(struct unic_transport *nic, uint32_t name);

/** unic_srq_doorbell() - @tail slots were posted so far to queue @idx. A tail that leaves
 * the ring is counted (db_bad), and the queue is in error. */
void unic_srq_doorbell(struct unic_transport *nic, uint32_t idx, uint32_t tail);

/**
 * unic_srq_take() - read the oldest receive of queue @name to @to, for QP @qp.
 * @lost: a region that it names is known to be gone.
 * Returns 0: it is there. -UNIC_EPENDING: unic_rq_shared_fetched() will be told, and has to
 * call unic_srq_taken(). -UNIC_EAGAIN: no DMA now. -UNIC_ENOQP: none is posted. -UNIC_EBUS:
 * the queue is in error.
 */
int unic_srq_take(struct unic_transport *nic, uint32_t name, uint16_t qp,
		  struct unic_rq_slot *to, bool *lost);

/** unic_srq_taken() - a receive that was being read is there (@ok), or cannot be read. */
void unic_srq_taken(struct unic_transport *nic, uint32_t name, bool ok);

/** unic_srq_events() - publish events that were held back. */
void unic_srq_events(struct unic_transport *nic);

/** unic_srq_sweep_begin() - the sweep is to look through all queues once. */
void unic_srq_sweep_begin(struct unic_transport *nic);

/** unic_srq_sweep_due() - has it not yet? */
#define unic_srq_sweep_due(nic) ((nic)->srqs.sweep_left != 0)

/** unic_srq_sweep() - a bounded step of that. True if there was work. */
bool unic_srq_sweep(struct unic_transport *nic);

/** unic_srq_swept() - @count slots that the sweep asked for have arrived (@ok), or cannot
 * be read. */
void unic_srq_swept(struct unic_transport *nic, uint32_t count, bool ok);

#endif /* UNIC_SRQ_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cq.h - completion queues (VIA 2.4; IBTA 10.8, 11.4.2).
 *
 * Secret: where the next record goes, when a queue is full, and when its
 * process is told. Record n carries seq n + 1, written last, so nothing needs
 * clearing. A full queue is an error of the queue and of every QP that uses it,
 * never a silent loss.
 */
#ifndef UNIC_CQ_H
#define UNIC_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_mbox.h"
#include "unic_queue.h"

struct unic_transport;

#define UNIC_CQ_NIL	 0xffffu
#define UNIC_CQ_OVERFLOW 1u /* detail of CQ_ERROR */
#define UNIC_CQ_BUS	 2u

struct unic_cq_ctx {
	uint64_t iova; /* of record 0 */
	uint64_t
		page_bus; /* of the page in use; its region stays, so is right */
	uint32_t page;	  /* which page that is, from record 0's on */
	uint32_t tail;	  /* records written */
	uint32_t ci;	  /* records consumed, as last seen */
	uint32_t mask;	  /* entries - 1 */
	uint32_t sol;	  /* number + 1 of the last solicited record */
	uint32_t arm;	  /* the arm word in force */
	uint32_t events;  /* notifications so far */
	uint16_t mr;	  /* control region of the ring */
	uint16_t proc;
	uint16_t pd;
	uint16_t users; /* QP directions that complete here */
	uint8_t db_index;
	bool used;
	bool armed;
	uint8_t error; /* UNIC_CQ_OVERFLOW, UNIC_CQ_BUS */
	bool evt_due;  /* CQ_ERROR not yet on the event ring */
};

struct unic_cqs {
	struct unic_cq_ctx cq[UNIC_CQS];
	uint16_t evts_due;
};

/** unic_cq_init() - all completion queues are free. */
void unic_cq_init(struct unic_transport *nic);

/** unic_cq_create() - CQ_CREATE. Returns the index, or an error that changed
 * nothing: -UNIC_ENOPD, -UNIC_EINVAL, -UNIC_ECQFULL, -UNIC_EBUSY (doorbell row
 * taken), the errors of unic_access(); the region must be class control. */
int unic_cq_create(struct unic_transport *nic,
		   const struct unic_cmd_cq_create *cmd);

/** unic_cq_destroy() - 0: no record comes any more; -UNIC_ENOCQ; -UNIC_EBUSY
 * while a QP uses it, which it does until its last record is written. */
int unic_cq_destroy(struct unic_transport *nic, uint32_t proc, uint32_t id);

/** unic_cq_resize() - CQ_RESIZE: record @cpl->records and later ones go to the new ring. 0, or an
 * error that changed nothing: -UNIC_ENOCQ, -UNIC_ESTATE (the queue is in error), -UNIC_EINVAL,
 * -UNIC_EBUSY (more unread records than entries), the errors of unic_access(). */
int unic_cq_resize(struct unic_transport *nic,
		   const struct unic_cmd_cq_resize *cmd,
		   struct unic_cpl_cq_resize *cpl);

/** unic_cq_proc_gone() - destroy the queues of @proc, whose QPs are gone. */
void unic_cq_proc_gone(struct unic_transport *nic, uint32_t proc);

/** unic_cq_arm() - an ARM doorbell of queue @idx (struct unic_db_tail.arm):
 * notify at once if what it asks for was written already, else once later. */
void unic_cq_arm(struct unic_transport *nic, uint32_t idx, uint32_t arm_word);

/**
 * unic_cq_get() - the queue of @pd's process with this index.
 * Returns NULL unless it is live and belongs to @pd's process.
 */
struct unic_cq_ctx *unic_cq_get(struct unic_transport *nic, uint32_t proc,
				uint32_t id);

/**
 * unic_cq_post() - write @cqe (all but seq filled in, of a live QP) and notify
 * if armed.
 *
 * Returns true: it is the process's now - or the queue is in error, which its
 * process knows and every QP that uses it is told. False: the DMA engine has
 * no room, nothing happened, ask again at the next poll.
 */
bool unic_cq_post(struct unic_transport *nic, uint32_t idx,
		  struct unic_cqe *cqe);

/**
 * unic_cq_window() - where the CPU sees the next records of live queue @idx.
 * @n: wanted, at least 1.
 * Returns how many lie there together and may be written, at most @n; 0: go by
 * unic_cq_post() (in error, full, a port without windows). The first record's
 * seq must stay as it is; record i, from 0 on, has unic_cq_seq() + i.
 */
uint32_t unic_cq_window(struct unic_transport *nic, uint32_t idx, uint32_t n,
			struct unic_cqe **at);

/** unic_cq_seq() - seq of the next record of a live queue. */
#define unic_cq_seq(nic, idx) ((nic)->cqs.cq[idx].tail + 1)

/**
 * unic_cq_publish() - @n records (1 or more), successes of requests, were
 * written through that window: the first one's seq makes them the process's, and
 * notify if armed. A process takes records in order, so it does not see the
 * others before the first.
 */
void unic_cq_publish(struct unic_transport *nic, uint32_t idx,
		     struct unic_cqe *at, uint32_t n);

/** unic_cq_written() - a record that was on its way to queue @idx, of QP @qpn,
 * is there (@ok) or was refused by the bus. */
void unic_cq_written(struct unic_transport *nic, uint32_t idx, uint32_t qpn,
		     bool ok);

/** unic_cq_events() - publish CQ_ERROR events that were held back. */
void unic_cq_events(struct unic_transport *nic);

#endif /* UNIC_CQ_H */

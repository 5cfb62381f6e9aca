/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rig.h - a whole NIC core on the fake port, and a driver for it that uses the
 * mailbox and the queues only: the set-up of a scenario test.
 */
#ifndef RIG_H
#define RIG_H

#include <rig_port.h>
#include "nic.h"
#include "unic_queue.h"

struct rig {
	struct unic_port port;
	struct unic_nic nic;
	uint32_t cmd_tail, cpl_head, evt_head, drop_head;
	uint16_t cookie;
	/* per process: pages handed out, and rows of the doorbell page */
	uint32_t next_page[FAKE_WINDOWS];
	uint32_t fifo_seq[FAKE_WINDOWS];
};

/** rig_up() - power on, driver reset, address 10.0.0.@id. */
void rig_up(struct rig *r, uint8_t id);

/** rig_reset() - reset the NIC, as a driver does at its start. */
void rig_reset(struct rig *r);

/** rig_cmd() - run one command, whose header is filled in here, to its
 * completion; NIC time stands still. @cpl: 64 bytes, may be @cmd, may be NULL.
 * Returns the status. */
uint8_t rig_cmd(struct rig *r, uint8_t opcode, void *cmd, void *cpl);

/** rig_poll() - poll until the NIC has no work at this instant. Returns the time
 * of its next poll. */
uint64_t rig_poll(struct rig *r);

/** rig_run() - let @ns pass; polls the NIC at each of its deadlines on the way
 * and at the end. */
void rig_run(struct rig *r, uint64_t ns);

/** rig_run2() - as rig_run(), for two NICs on one wire. */
void rig_run2(struct rig *a, struct rig *b, uint64_t ns);

/** rig_event() - take the next event, 64 bytes; false if there is none. */
bool rig_event(struct rig *r, void *evt);

/** rig_expect() - take the next event, which must be of @type. */
void rig_expect(struct rig *r, uint8_t type, void *evt);

/** rig_attach() - attach process @proc with weight @weight; its window is @proc. */
void rig_attach(struct rig *r, uint32_t proc, uint32_t weight);

/** rig_pd() - allocate a protection domain. */
uint32_t rig_pd(struct rig *r, uint32_t proc);

struct rig_mr {
	uint32_t mr, gen, stag;
	uint64_t iova;
	uint8_t *mem; /* host view, contiguous in the window */
	uint32_t wait;
};

/** rig_reg() - register @pages fresh pages of @proc, with all rights, at an IOVA
 * chosen here. Returns the status; *@out is filled on OK and PENDING. */
uint8_t rig_reg(struct rig *r, uint32_t proc, uint32_t pd, uint32_t pages,
		uint8_t mr_class, uint8_t flags, uint32_t timeout_us,
		struct rig_mr *out);

/** rig_fill() - fill a LOADING region of @pages pages with fresh pages. */
uint8_t rig_fill(struct rig *r, uint32_t proc, uint32_t pages,
		 struct rig_mr *mr);

/** rig_reg_cached() - register @pages pages of residency @residency, with no page
 * on the NIC. @table: TABLE: number of its first word, a multiple of 8. */
uint8_t rig_reg_cached(struct rig *r, uint32_t pd, uint32_t pages,
		       uint8_t residency, uint32_t table, struct rig_mr *out);

/* Bus address of the translation lists: in the last window, behind what tests use. */
#define RIG_LIST \
	UNIC_BUS(FAKE_WINDOWS - 1u, FAKE_WINDOW_BYTES - RIG_LIST_WORDS * 8u)
#define RIG_LIST_WORDS 8192u

/** rig_words() - the words at RIG_LIST. */
unic_le64 *rig_words(struct rig *r);

/** rig_table() - set word @at of the translation lists to page @page of @proc's
 * window. */
void rig_table(struct rig *r, uint32_t at, uint32_t proc, uint32_t page);

/** rig_fault() - MR_FAULT: pages from @first on are those of @proc's window from
 * @page on; with @proc FAKE_WINDOWS: the host has none. */
uint8_t rig_fault(struct rig *r, const struct rig_mr *mr, uint32_t first,
		  uint32_t count, uint32_t seq, uint32_t proc, uint32_t page,
		  uint32_t *done);

/** rig_pages() - MR_INVALIDATE, or MR_ADVISE if @advice. */
uint8_t rig_pages(struct rig *r, const struct rig_mr *mr, uint32_t first,
		  uint32_t count, uint32_t advice, uint32_t *done);

/** rig_dropped() - take the next drop record; false if there is none. */
bool rig_dropped(struct rig *r, struct unic_drop *out);

/** rig_dereg() - deregister @mr. Returns the status. */
uint8_t rig_dereg(struct rig *r, const struct rig_mr *mr);

/** rig_ack(), rig_answer() - send NOTICE_ACK or NOTICE_ANSWER. Return the
 * status. */
uint8_t rig_ack(struct rig *r, const struct unic_evt_mr *notice);
uint8_t rig_answer(struct rig *r, const struct unic_evt_mr *notice,
		   uint32_t answer, const struct rig_mr *offer,
		   uint32_t extend_us, uint32_t *refusal);

/** rig_ring() - store a tail and append a doorbell word; does not poll. */
void rig_ring(struct rig *r, uint32_t proc, enum unic_db_kind kind,
	      uint32_t row, uint32_t index);

/** rig_count() - read a counter. */
#define rig_count(r, name) ((r)->nic.counter[UNIC_C_##name])

/* A queue pair of process @proc with its rings and one CQ, 16 slots each. */
struct rig_qp {
	uint32_t proc, pd, qpn, cq, row;
	struct rig_mr rings; /* class control: SQ, RQ, CQ pages */
	struct unic_sq_slot *sq;
	struct unic_rq_slot *rq;
	const struct unic_cqe *cqe;
	uint32_t sq_tail, rq_tail, cq_ci;
	uint8_t mtu_shift; /* of the path; rig_qp() sets 10 */
	uint32_t psn;	   /* of its first packet; rig_qp() sets 0x1000 */
	uint8_t type;	   /* enum unic_qp_type */
	uint32_t qkey;	   /* UD; rig_qp_of() sets 0x1234 */
};
#define RIG_SLOTS 16u

/** rig_empty_row() - store 0 in the tails of a queue pair, as its process does before the
 * NIC takes any: when it is made, and in RESET. @qp counts from 0 again. */
void rig_empty_row(struct rig *r, struct rig_qp *qp);

/** rig_qp() - create @qp, in state RESET, with doorbell row @row for QP and CQ. */
void rig_qp(struct rig *r, uint32_t proc, uint32_t pd, uint32_t row,
	    struct rig_qp *qp);

/** rig_qp_of() - as rig_qp(), of any type, with a fault policy, and receives of
 * @rq_class bytes. */
void rig_qp_of(struct rig *r, uint32_t proc, uint32_t pd, uint32_t row,
	       uint8_t type, uint8_t miss, uint32_t rq_class,
	       struct rig_qp *qp);

/** rig_qp_shared() - as rig_qp(), of type @type, with the receives of SRQ @srq. */
void rig_qp_shared(struct rig *r, uint32_t proc, uint32_t pd, uint32_t row,
		   uint8_t type, uint32_t srq, struct rig_qp *qp);

/** rig_connect() - move both queue pairs to RTS, connected to each other; one of
 * UD to itself. */
void rig_connect(struct rig *ra, struct rig_qp *a, struct rig *rb,
		 struct rig_qp *b);

/** rig_send(), rig_recv() - post one work request of one SGE and ring. */
void rig_send(struct rig *r, struct rig_qp *qp, uint8_t opcode, uint64_t wr_id,
	      const struct rig_mr *mr, uint32_t off, uint32_t len,
	      uint64_t remote, uint32_t rkey);
void rig_recv(struct rig *r, struct rig_qp *qp, uint64_t wr_id,
	      const struct rig_mr *mr, uint32_t off, uint32_t len);

/** rig_cqe() - take the next completion; false if there is none. */
bool rig_cqe(struct rig *r, struct rig_qp *qp, struct unic_cqe *out);

#endif /* RIG_H */

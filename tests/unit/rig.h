/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rig.h - a whole NIC core on the fake port, and a driver for it that speaks
 * nothing but the mailbox and the queues. What a scenario test needs.
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

/** rig_reset() - what a driver does when it starts. */
void rig_reset(struct rig *r);

/** rig_cmd() - run one command (header filled in here) to its completion; NIC
 * time stands still. @cpl: 64 bytes, may be @cmd, may be NULL. Returns the
 * status. */
uint8_t rig_cmd(struct rig *r, uint8_t opcode, void *cmd, void *cpl);

/** rig_poll() - poll until the NIC has nothing to do at this instant. Returns
 * when it wants to be called again. */
uint64_t rig_poll(struct rig *r);

/** rig_run() - let @ns pass; the NIC is polled at every deadline of its own on
 * the way and at the end. */
void rig_run(struct rig *r, uint64_t ns);

/** rig_run2() - the same for two NICs on one wire. */
void rig_run2(struct rig *a, struct rig *b, uint64_t ns);

/** rig_event() - next event, 64 bytes; false if there is none. */
bool rig_event(struct rig *r, void *evt);

/** rig_expect() - the next event, which must be of @type. */
void rig_expect(struct rig *r, uint8_t type, void *evt);

/** rig_attach() - process @proc with weight @weight; its window is @proc. */
void rig_attach(struct rig *r, uint32_t proc, uint32_t weight);

/** rig_pd() - a protection domain. */
uint32_t rig_pd(struct rig *r, uint32_t proc);

struct rig_mr {
	uint32_t mr, gen, stag;
	uint64_t iova;
	uint8_t *mem; /* host view, contiguous in the window */
	uint32_t wait;
};

/** rig_reg() - register @pages fresh pages of @proc, rights all, IOVA chosen
 * here. Returns the status; *out is filled on OK and PENDING. */
uint8_t rig_reg(struct rig *r, uint32_t proc, uint32_t pd, uint32_t pages,
		uint8_t mr_class, uint8_t flags, uint32_t timeout_us,
		struct rig_mr *out);

/** rig_fill() - fill a LOADING region of @pages pages with fresh pages. */
uint8_t rig_fill(struct rig *r, uint32_t proc, uint32_t pages,
		 struct rig_mr *mr);

/** rig_reg_cached() - register @pages pages of residency @residency; none is on
 * the NIC. @table: TABLE: number of its first word. */
uint8_t rig_reg_cached(struct rig *r, uint32_t pd, uint32_t pages,
		       uint8_t residency, uint32_t table, struct rig_mr *out);

/** rig_table() - word @at of the page tables is page @page of @proc's window. */
void rig_table(struct rig *r, uint32_t at, uint32_t proc, uint32_t page);

/** rig_fault() - MR_FAULT: pages from @first on are those of @proc's window from
 * @page on; with @proc FAKE_WINDOWS: they cannot be had. */
uint8_t rig_fault(struct rig *r, const struct rig_mr *mr, uint32_t first,
		  uint32_t count, uint32_t seq, uint32_t proc, uint32_t page,
		  uint32_t *done);

/** rig_pages() - MR_INVALIDATE, or MR_ADVISE if @advice. */
uint8_t rig_pages(struct rig *r, const struct rig_mr *mr, uint32_t first,
		  uint32_t count, uint32_t advice, uint32_t *done);

/** rig_dropped() - take the next drop record; false if there is none. */
bool rig_dropped(struct rig *r, struct unic_drop *out);

/** rig_dereg() - returns the status. */
uint8_t rig_dereg(struct rig *r, const struct rig_mr *mr);

/** rig_ack() / rig_answer() - NOTICE_ACK and NOTICE_ANSWER. */
uint8_t rig_ack(struct rig *r, const struct unic_evt_mr *notice);
uint8_t rig_answer(struct rig *r, const struct unic_evt_mr *notice,
		   uint32_t answer, const struct rig_mr *offer,
		   uint32_t extend_us, uint32_t *refusal);

/** rig_ring() - store a tail and append a doorbell word; does not poll. */
void rig_ring(struct rig *r, uint32_t proc, enum unic_db_kind kind,
	      uint32_t row, uint32_t index);

/** rig_count() - a counter. */
#define rig_count(r, name) ((r)->nic.counter[UNIC_C_##name])

/* A queue pair of process @proc with its rings and one CQ, 16 slots each. */
struct rig_qp {
	uint32_t proc, pd, qpn, cq, row;
	struct rig_mr rings; /* class control: SQ, RQ, CQ pages */
	struct unic_sq_slot *sq;
	struct unic_rq_slot *rq;
	const struct unic_cqe *cqe;
	uint32_t sq_tail, rq_tail, cq_ci;
	uint8_t mtu_shift; /* of the path; rig_qp() says 10 */
	uint32_t psn;	   /* of its first packet; rig_qp() says 0x1000 */
	uint8_t type;	   /* enum unic_qp_type */
	uint32_t qkey;	   /* UD; rig_qp_of() says 0x1234 */
};
#define RIG_SLOTS 16u

/** rig_qp() - create it, state RESET, doorbell row @row for QP and CQ. */
void rig_qp(struct rig *r, uint32_t proc, uint32_t pd, uint32_t row,
	    struct rig_qp *qp);

/** rig_qp_of() - the same, of any type, with a miss policy, and receives of
 * @rq_class bytes. */
void rig_qp_of(struct rig *r, uint32_t proc, uint32_t pd, uint32_t row,
	       uint8_t type, uint8_t miss, uint32_t rq_class,
	       struct rig_qp *qp);

/** rig_connect() - both to RTS, against each other; one of UD with itself. */
void rig_connect(struct rig *ra, struct rig_qp *a, struct rig *rb,
		 struct rig_qp *b);

/** rig_send() / rig_recv() - post one work request of one SGE and ring. */
void rig_send(struct rig *r, struct rig_qp *qp, uint8_t opcode, uint64_t wr_id,
	      const struct rig_mr *mr, uint32_t off, uint32_t len,
	      uint64_t remote, uint32_t rkey);
void rig_recv(struct rig *r, struct rig_qp *qp, uint64_t wr_id,
	      const struct rig_mr *mr, uint32_t off, uint32_t len);

/** rig_cqe() - take the next completion; false if there is none. */
bool rig_cqe(struct rig *r, struct rig_qp *qp, struct unic_cqe *out);

#endif /* RIG_H */

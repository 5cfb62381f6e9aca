/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_nic.c - the poll loop: reset while everything is under way, time taken
 * from a clock that is not stale, a failed NIC that keeps silent, sleep.
 */
#include "command/proc.h"
#include "pair.h"
#include "revoke/register.h"
#include "unit.h"

#define T_NS 20000000ull
#define H_NS 50000000ull

static struct unic_driver_page *driver_page(struct rig *r)
{
	return (struct unic_driver_page *)(r->port.bar + UNIC_BAR_DRIVER_OFF);
}

static struct unic_info *info(struct rig *r)
{
	return (struct unic_info *)r->port.bar;
}

/* Frames that keep arriving do not delay a reset: the NIC takes none of
 * them. */
static void reset_ends_under_traffic(void **state)
{
	uint32_t req, i, rounds, n = 0;
	struct unic_cqe cqe;
	uint64_t frames;

	(void)state;
	pair_make(false, 2);
	ra.port.late_dma = true;
	for (i = 0; i < 8; i++)
		rig_send(&rb, &qb, UNIC_WR_WRITE, n++, &mb, 0, 4096, ma.iova,
			 ma.stag);
	for (i = 0; i < 10; i++) {
		unic_nic_poll(&rb.nic);
		unic_nic_poll(&ra.nic);
	}
	assert_true(fake_dma_waiting(&ra.port) > 0);
	req = unic_from_le32(info(&ra)->reset_ack) + 1;
	driver_page(&ra)->reset_req = unic_to_le32(req);
	unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.state, UNIC_NIC_RESET);
	frames = rig_count(&ra, rx_frames);
	for (rounds = 0; rounds < 1000; rounds++) {
		if (unic_from_le32(info(&ra)->reset_ack) == req)
			break;
		fake_dma_run(&ra.port, 1);
		while (rig_cqe(&rb, &qb, &cqe))
			;
		unic_nic_poll(&ra.nic);
		unic_nic_poll(&rb.nic);
	}
	assert_true(rounds < 100);
	assert_int_equal(rig_count(&ra, rx_frames), frames);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	/* the buffers of frames held at the reset are back at the link */
	ra.port.late_dma = false;
	rig_poll(&ra);
	assert_int_equal(ra.port.rx_head - ra.port.rx_done, 0);
	assert_int_equal(ra.port.tx_held, 0);
}

/* Doorbells in the round that finds the reset request have no effect. */
static void reset_begins_nothing(void **state)
{
	uint32_t req, waiting;

	(void)state;
	pair_make(false, 2);
	ra.port.late_dma = true;
	rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &mb, 0, 64, ma.iova, ma.stag);
	unic_nic_poll(&rb.nic);
	unic_nic_poll(&ra.nic);
	waiting = fake_dma_waiting(&ra.port);
	assert_true(waiting > 0);
	req = unic_from_le32(info(&ra)->reset_ack) + 1;
	driver_page(&ra)->reset_req = unic_to_le32(req);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 64, 0, 0);
	unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.state, UNIC_NIC_RESET);
	assert_int_equal(fake_dma_waiting(&ra.port), waiting);
	fake_dma_run(&ra.port, waiting);
	rig_poll(&ra);
	assert_int_equal(unic_from_le32(info(&ra)->reset_ack), req);
}

static struct unic_nic_idx *nic_idx(void)
{
	return (struct unic_nic_idx *)(ra.port.bar + UNIC_BAR_NIC_OFF);
}

/* After a fence no doorbell and no frame starts DMA; the fence is answered when
 * the DMA under way has ended. */
static void fence_begins_nothing(void **state)
{
	uint32_t waiting;

	(void)state;
	pair_make(false, 2);
	ra.port.late_dma = true;
	rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &mb, 0, 64, ma.iova, ma.stag);
	unic_nic_poll(&rb.nic);
	unic_nic_poll(&ra.nic);
	waiting = fake_dma_waiting(&ra.port);
	assert_true(waiting > 0);
	driver_page(&ra)->fence = unic_to_le32(7);
	rig_send(&rb, &qb, UNIC_WR_WRITE, 2, &mb, 0, 64, ma.iova, ma.stag);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 64, 0, 0);
	unic_nic_poll(&rb.nic);
	unic_nic_poll(&ra.nic);
	assert_int_equal(fake_dma_waiting(&ra.port), waiting);
	assert_int_equal(unic_from_le32(nic_idx()->fenced), 0);
	fake_dma_run(&ra.port, waiting);
	unic_nic_poll(&ra.nic);
	unic_nic_poll(&ra.nic);
	assert_int_equal(unic_from_le32(nic_idx()->fenced), 7);
}

/* A fence clears the NIC's state: the NIC does nothing until a reset. */
static void fence_forgets(void **state)
{
	uint32_t req, epoch;

	(void)state;
	pair_make(false, 2);
	epoch = unic_from_le32(info(&ra)->boot_epoch);
	driver_page(&ra)->fence = unic_to_le32(9);
	unic_nic_poll(&ra.nic);
	assert_int_equal(unic_from_le32(nic_idx()->fenced), 9);
	assert_int_not_equal(unic_from_le32(info(&ra)->boot_epoch), epoch);
	epoch = unic_from_le32(info(&ra)->boot_epoch);
	rig_poll(&ra); /* the fence is answered once */
	assert_int_equal(ra.nic.epoch, epoch);
	driver_page(&ra)->fence = unic_to_le32(0);
	rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &mb, 0, 64, ma.iova, ma.stag);
	unic_nic_poll(&rb.nic);
	unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.state, UNIC_NIC_RESET);
	req = unic_from_le32(info(&ra)->reset_ack) + 1;
	driver_page(&ra)->reset_req = unic_to_le32(req);
	unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	assert_int_equal(unic_from_le32(nic_idx()->fenced), 0);
}

/* A reset request does not end a fence that was set before it, even while DMA
 * is under way; a new fence word gets its own answer. */
static void fence_outlives_a_reset(void **state)
{
	uint32_t req, waiting, i;

	(void)state;
	pair_make(false, 2);
	ra.port.late_dma = true;
	rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &mb, 0, 64, ma.iova, ma.stag);
	unic_nic_poll(&rb.nic);
	unic_nic_poll(&ra.nic);
	waiting = fake_dma_waiting(&ra.port);
	assert_true(waiting > 0);
	req = unic_from_le32(info(&ra)->reset_ack) + 1;
	driver_page(&ra)->fence = unic_to_le32(7);
	driver_page(&ra)->reset_req = unic_to_le32(req);
	unic_nic_poll(&ra.nic);
	assert_int_not_equal(unic_from_le32(info(&ra)->reset_ack), req);
	driver_page(&ra)->fence = unic_to_le32(8);
	fake_dma_run(&ra.port, waiting);
	for (i = 0; i < 4; i++)
		unic_nic_poll(&ra.nic);
	assert_int_equal(unic_from_le32(info(&ra)->reset_ack), req);
	assert_int_equal(unic_from_le32(nic_idx()->fenced), 8);
	assert_int_equal(unic_from_le32(info(&ra)->state), UNIC_NIC_RESET);
	driver_page(&ra)->fence = unic_to_le32(9);
	unic_nic_poll(&ra.nic);
	assert_int_equal(unic_from_le32(nic_idx()->fenced), 9);
	assert_int_equal(fake_dma_waiting(&ra.port), 0);
}

/* The first reset does not end a fence that was set before the NIC started. */
static void fence_is_there_first(void **state)
{
	(void)state;
	rig_up(&ra, 1);
	driver_page(&ra)->fence = unic_to_le32(5);
	unic_nic_init(&ra.nic, &ra.port);
	/* the same poll finds the request for a reset */
	unic_nic_poll(&ra.nic);
	unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.state, UNIC_NIC_RESET);
	assert_int_equal(unic_from_le32(nic_idx()->fenced), 5);
}

static void ask_back(struct unic_evt_mr *notice)
{
	struct unic_cmd_mr evict;
	struct rig_mr mr;
	uint32_t pd;

	rig_up(&ra, 1);
	rig_attach(&ra, 0, 1);
	pd = rig_pd(&ra, 0);
	assert_int_equal(rig_reg(&ra, 0, pd, 8, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	memset(&evict, 0, sizeof(evict));
	evict.mr = unic_to_le32(mr.mr);
	evict.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_poll(&ra);
	rig_expect(&ra, UNIC_EVT_NOTICE, notice);
}

/* An awake NIC reads its clock only now and then, but a grace starts at the
 * time of the acknowledgement. */
static void grace_starts_at_the_acknowledgement(void **state)
{
	struct unic_cmd_nop nop = { .data = unic_to_le64(0) };
	struct unic_cmd_notice_ack ack;
	struct unic_cpl_notice cpl;
	struct unic_evt_mr notice;

	(void)state;
	ask_back(&notice);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_NOP, &nop, NULL), 0);
	ra.port.now_ns += 300000;
	memset(&ack, 0, sizeof(ack));
	ack.mr = notice.mr;
	ack.gen = notice.gen;
	ack.seq = notice.seq;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_NOTICE_ACK, &ack, &cpl), 0);
	assert_true(unic_from_le64(cpl.deadline_ns) == ra.port.now_ns + T_NS);
}

static void put_command(struct rig *r, const void *rec)
{
	memcpy(r->port.bar + UNIC_BAR_CMD_OFF +
		       r->cmd_tail++ % UNIC_CMD_ENTRIES * 64,
	       rec, 64);
}

/* A NIC that did not run for longer than H finds the acknowledgement behind
 * four other commands: this is no failure of the driver. */
static void acknowledgement_in_the_ring_is_in_time(void **state)
{
	struct unic_cmd_nop nop;
	struct unic_cmd_notice_ack ack;
	struct unic_evt_mr notice;
	uint32_t i;

	(void)state;
	ask_back(&notice);
	memset(&nop, 0, sizeof(nop));
	nop.hdr.opcode = UNIC_CMD_NOP;
	nop.hdr.epoch = unic_to_le32(ra.nic.epoch);
	memset(&ack, 0, sizeof(ack));
	ack.hdr.opcode = UNIC_CMD_NOTICE_ACK;
	ack.hdr.epoch = nop.hdr.epoch;
	ack.mr = notice.mr;
	ack.gen = notice.gen;
	ack.seq = notice.seq;
	for (i = 0; i < 4; i++)
		put_command(&ra, &nop);
	put_command(&ra, &ack);
	driver_page(&ra)->cmd_tail = unic_to_le32(ra.cmd_tail);
	ra.port.now_ns += H_NS + 1000000;
	for (i = 0; i < 5; i++)
		unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	assert_int_equal(rig_count(&ra, notice_acks), 1);
}

static void failed_nic_is_silent_and_says_so(void **state)
{
	struct unic_cqe cqe;
	uint32_t rung;
	uint64_t moved;

	(void)state;
	pair_make(false, 2);
	rig_recv(&rb, &qb, 1, &mb, 0, 64);
	rig_run2(&ra, &rb, 1000);
	rung = rb.port.rung[0];
	unic_nic_quiesce(&rb.nic);
	moved = rig_count(&rb, rx_frames);
	rig_recv(&rb, &qb, 2, &mb, 0, 64);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 64, 0, 0);
	rig_run(&ra, 1000000);
	rig_run(&rb, 1000000);
	assert_false(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(rig_count(&rb, rx_frames), moved);
	assert_true(rb.port.rung[0] > rung);
	assert_int_equal(unic_from_le32(info(&rb)->state), UNIC_NIC_FAILED);
	rig_reset(&rb);
	assert_int_equal(rb.nic.state, UNIC_NIC_READY);
}

/* Doorbells of a detaching process do not keep the NIC awake. */
static void detaching_process_may_ring(void **state)
{
	struct unic_cmd_proc_detach cmd = { .proc = 0 };
	uint32_t i, pd, rest = 0;
	struct unic_evt_obj gone;
	struct rig_mr mr;

	(void)state;
	rig_up(&ra, 1);
	rig_attach(&ra, 0, 1);
	pd = rig_pd(&ra, 0);
	assert_int_equal(rig_reg(&ra, 0, pd, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	unic_mr_dma_get(&ra.nic.memory,
			(uint16_t)mr.mr); /* a piece in flight */
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_PROC_DETACH, &cmd, NULL),
			 UNIC_ST_PENDING);
	rig_ring(&ra, 0, UNIC_DB_SQ, 0, 1);
	for (i = 0; i < 1000; i++) {
		rest += unic_nic_poll(&ra.nic) != 0;
		if (!ra.nic.armed)
			ra.nic.idle_since_ns = 0;
	}
	assert_true(rest > 0);
	unic_mr_dma_put(&ra.nic.memory, (uint16_t)mr.mr);
	rig_run(&ra, 1000000);
	do {
		assert_true(rig_event(&ra, &gone));
	} while (gone.hdr.type != UNIC_EVT_PROC_GONE);
}

/* Registers as many regions for process 1 of NIC A as it can have. Returns
 * their number. */
static uint32_t all_regions(uint32_t pd, struct rig_mr *mr)
{
	uint32_t n = 0;

	while (n < UNIC_MRS && !rig_reg(&ra, 1, pd, 1, UNIC_CLASS_RDMA,
					UNIC_REG_LIST, 0, &mr[n]))
		n++;
	assert_true(n * (UNIC_LEAVE_MR + 1) > UNIC_LEAVE_ROUND);
	return n;
}

/* A process with full tables is detached in several rounds, and each round also
 * serves frames and commands of others. Its objects are refused meanwhile. */
static void detach_lets_others_through(void **state)
{
	struct unic_cmd_proc_attach attach = {
		.proc = unic_to_le32(1),
		.weight = unic_to_le32(1),
		.doorbell = unic_to_le64(UNIC_BUS(1, 0)),
	};
	const struct unic_proc *p = &ra.nic.procs.proc[1];
	struct unic_cmd_nop nop = { .data = 0 };
	struct rig_mr mr[UNIC_MRS] = { 0 };
	struct unic_evt_obj gone;
	uint32_t pd, n;

	(void)state;
	pair_make(false, 2);
	rig_attach(&ra, 1, 1);
	pd = rig_pd(&ra, 1);
	n = all_regions(pd, mr);
	pair_at_once();
	assert_int_equal(unic_proc_detach(&ra.nic.command, 1), -UNIC_EPENDING);
	assert_true(p->mrs && p->mrs < n);
	/* a second detach does nothing in this round */
	assert_int_equal(unic_proc_detach(&ra.nic.command, 1), -UNIC_ENOPROC);
	assert_int_equal(unic_proc_attach(&ra.nic.command, &attach),
			 -UNIC_EBUSY);
	assert_int_equal(unic_pd_alloc(&ra.nic.memory, 1, false),
			 -UNIC_ENOPROC);
	for (n = 0; n < UNIC_MRS; n++)
		assert_int_equal(unic_mr_dereg(&ra.nic.revoke, mr[n].mr,
					       mr[n].gen),
				 -UNIC_ENOMR);
	n = p->mrs;
	assert_int_equal(unic_proc_detaching(&ra.nic.command), ra.nic.now_ns);
	assert_int_equal(p->mrs, n);
	/* other processes are served before the rest is freed */
	rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &mb, 0, 8, ma.iova, ma.stag);
	unic_nic_poll(&rb.nic);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_NOP, &nop, NULL), 0);
	unic_nic_poll(&rb.nic);
	pair_expect(&rb, &qb, 1, UNIC_WC_SUCCESS, 8);
	rig_poll(&ra);
	rig_expect(&ra, UNIC_EVT_PROC_GONE, &gone);
	assert_false(rig_event(&ra, &gone));
	assert_int_equal(p->mrs, 0);
	/* the next process of the slot is detached, too */
	assert_int_equal(unic_proc_attach(&ra.nic.command, &attach), 0);
	assert_int_equal(rig_reg(&ra, 1, rig_pd(&ra, 1), 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mr[0]),
			 0);
	assert_int_equal(unic_proc_detach(&ra.nic.command, 1), 0);
	assert_int_equal(p->mrs, 0);
}

/* A detach frees queue pairs first: regions stay until no queue pair is left
 * that could use them. */
static void queue_pairs_leave_before_regions(void **state)
{
	const struct unic_proc *p = &ra.nic.procs.proc[1];
	struct rig_qp qp[3];
	struct unic_evt_obj gone;
	uint32_t pd, n, mrs;

	(void)state;
	rig_up(&ra, 1);
	rig_attach(&ra, 1, 1);
	pd = rig_pd(&ra, 1);
	for (n = 0; n < 3; n++)
		rig_qp(&ra, 1, pd, n, &qp[n]);
	mrs = p->mrs;
	/* other detaches left room for two queue pairs in this round */
	assert_true(unic_slot_ration_left(&ra.nic.base));
	unic_slot_ration_spend(&ra.nic.base,
			       UNIC_LEAVE_ROUND - 2 * UNIC_LEAVE_QP);
	assert_int_equal(unic_proc_detach(&ra.nic.command, 1), -UNIC_EPENDING);
	assert_int_equal(p->qps, 1);
	assert_int_equal(p->mrs, mrs);
	assert_int_equal(p->cqs, n);
	rig_poll(&ra);
	rig_expect(&ra, UNIC_EVT_PROC_GONE, &gone);
	assert_int_equal(p->qps + p->cqs + p->mrs, 0);
}

/* A process is detached while a notice of its region is not acknowledged and
 * its queue pair is held. The acknowledgement is in time, but the region is no
 * longer valid: this is no failure of the driver. */
static void notice_of_one_who_leaves(void **state)
{
	struct unic_cmd_proc_detach cmd = { .proc = unic_to_le32(1) };
	struct unic_cmd_mr admin;
	struct unic_evt_obj gone;
	struct unic_evt_mr notice;
	struct rig_mr mr;
	struct rig_qp qp;
	uint32_t pd;

	(void)state;
	rig_up(&ra, 1);
	rig_attach(&ra, 1, 1);
	pd = rig_pd(&ra, 1);
	rig_qp(&ra, 1, pd, 0, &qp);
	assert_int_equal(rig_reg(&ra, 1, pd, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	admin = (struct unic_cmd_mr){ .mr = unic_to_le32(mr.mr),
				      .gen = unic_to_le32(mr.gen) };
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &admin, NULL), 0);
	rig_poll(&ra);
	rig_expect(&ra, UNIC_EVT_NOTICE, &notice);
	rig_run(&ra, H_NS - 1000);
	unic_qp_by_number(&ra.nic.transport, qp.qpn)
		->dmas++; /* a piece in flight */
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_PROC_DETACH, &cmd, NULL),
			 UNIC_ST_PENDING);
	assert_int_equal(rig_ack(&ra, &notice), UNIC_ST_NO_MR);
	rig_run(&ra, 2000);
	assert_int_equal(rig_count(&ra, driver_failures), 0);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	unic_qp_dma_end(&ra.nic.transport,
			unic_qp_by_number(&ra.nic.transport, qp.qpn));
	rig_run(&ra, 1000000);
	do {
		assert_true(rig_event(&ra, &gone));
	} while (gone.hdr.type != UNIC_EVT_PROC_GONE);
	assert_int_equal(ra.nic.tlb.free, UNIC_TLB_ENTRIES);
}

/* A reset ends a detach: no event of the detach follows. */
static void reset_ends_a_detach(void **state)
{
	struct rig_mr mr[UNIC_MRS];
	struct unic_evt_obj evt;

	(void)state;
	rig_up(&ra, 1);
	rig_attach(&ra, 1, 1);
	all_regions(rig_pd(&ra, 1), mr);
	assert_int_equal(unic_proc_detach(&ra.nic.command, 1), -UNIC_EPENDING);
	rig_reset(&ra);
	rig_attach(&ra, 1, 1);
	all_regions(rig_pd(&ra, 1), mr);
	rig_run(&ra, 1000000);
	assert_false(rig_event(&ra, &evt));
	assert_true(unic_slot_live(&ra.nic.base, 1));
}

/* A NIC is armed while it sleeps, so that doorbells, commands and frames wake
 * it; the next poll disarms it. */
static void sleeping_nic_is_armed(void **state)
{
	struct unic_nic_idx *idx =
		(struct unic_nic_idx *)(ra.port.bar + UNIC_BAR_NIC_OFF);
	struct unic_nic_page *np;

	(void)state;
	rig_up(&ra, 1);
	rig_attach(&ra, 0, 1);
	np = (struct unic_nic_page *)(ra.port.window[0] + 4096);
	rig_poll(&ra);
	assert_true(unic_from_le32(idx->asleep) && unic_from_le32(np->asleep));
	assert_true(ra.port.armed);
	driver_page(&ra)->reset_req =
		unic_to_le32(unic_from_le32(info(&ra)->reset_ack) + 1);
	assert_int_equal(unic_nic_poll(&ra.nic), 0);
	assert_false(unic_from_le32(idx->asleep) || ra.port.armed);
}

static uint32_t dropped(uint32_t rounds)
{
	uint64_t before = rig_count(&ra, rx_fault_dropped);

	while (rounds--)
		unic_nic_poll(&ra.nic);
	return (uint32_t)(rig_count(&ra, rx_fault_dropped) - before);
}

/* FAULT: one round drops as many frames as it would take, however fast frames
 * arrive; frames after the last one to drop arrive. */
static void frames_are_lost_by_the_burst(void **state)
{
	struct unic_cmd_fault cmd = {
		.fault = unic_to_le32(UNIC_FAULT_DROP_RX),
		.arg = unic_to_le32(UNIC_RX_BATCH + 8),
	};
	uint8_t frame[64] = { 0 };
	uint64_t strange;
	uint32_t i;

	(void)state;
	rig_up(&ra, 1);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_FAULT, &cmd, NULL), UNIC_ST_OK);
	rig_poll(&ra);
	strange = rig_count(&ra, rx_not_ours);
	for (i = 0; i < UNIC_RX_BATCH + 10; i++)
		fake_deliver(&ra.port, frame, sizeof(frame), 0);
	assert_int_equal(dropped(1), UNIC_RX_BATCH);
	assert_int_equal(dropped(1), 8);
	assert_int_equal(dropped(1), 0);
	assert_int_equal(rig_count(&ra, rx_not_ours) - strange, 2);
}

static uint64_t published(enum unic_counter c)
{
	const struct unic_stats_page *s =
		(const void *)(ra.port.bar + UNIC_BAR_STATS_OFF);

	return unic_from_le64(s->counter[c]);
}

/* Posts one WRITE of one frame, and sends it in this round. */
static void send_in_this_round(uint32_t n)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, n, &ma, 0, 64, mb.iova, mb.stag);
	ra.nic.timers_ns = 0;
	unic_nic_poll(&ra.nic);
}

/* The counters of a heartbeat include the frames sent in its round, also on a
 * NIC that has failed. */
static void heartbeat_counts_its_own_round(void **state)
{
	uint64_t frames, bytes, polls;

	(void)state;
	pair_make(false, 2);
	rig_poll(&ra);
	frames = rig_count(&ra, tx_frames) + ra.nic.qps.roce.tx_frames;
	bytes = rig_count(&ra, dma_bytes) + ra.nic.dma.bytes;
	polls = rig_count(&ra, polls) + ra.nic.polls;
	ra.nic.beat_ns = 0;
	send_in_this_round(1);
	assert_int_equal(published(UNIC_C_tx_frames), frames + 1);
	assert_int_equal(published(UNIC_C_dma_bytes) - bytes,
			 rig_count(&ra, dma_bytes) - bytes);
	assert_true(published(UNIC_C_dma_bytes) >= bytes + 64);
	assert_true(published(UNIC_C_polls) >= polls);
	send_in_this_round(2);
	assert_int_equal(published(UNIC_C_tx_frames), frames + 1);
	unic_nic_quiesce(&ra.nic);
	ra.nic.beat_ns = 0;
	unic_nic_poll(&ra.nic);
	assert_int_equal(published(UNIC_C_tx_frames), frames + 2);
}

/* Receive slots of 0 bytes count for the burst and for the counters. */
static void frames_of_no_bytes_count(void **state)
{
	uint64_t frames, bad;
	uint32_t i;

	(void)state;
	rig_up(&ra, 1);
	frames = rig_count(&ra, rx_frames);
	bad = rig_count(&ra, rx_short);
	for (i = 0; i < UNIC_RX_BATCH + 1; i++)
		fake_deliver(&ra.port, (const uint8_t *)"", 0, 0);
	unic_nic_poll(&ra.nic);
	assert_int_equal(ra.port.rx_tail - ra.port.rx_done, 1);
	rig_poll(&ra);
	assert_int_equal(rig_count(&ra, rx_frames) - frames, UNIC_RX_BATCH + 1);
	assert_int_equal(rig_count(&ra, rx_short) - bad, UNIC_RX_BATCH + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reset_ends_under_traffic),
		cmocka_unit_test(reset_begins_nothing),
		cmocka_unit_test(fence_begins_nothing),
		cmocka_unit_test(fence_forgets),
		cmocka_unit_test(fence_outlives_a_reset),
		cmocka_unit_test(fence_is_there_first),
		cmocka_unit_test(grace_starts_at_the_acknowledgement),
		cmocka_unit_test(acknowledgement_in_the_ring_is_in_time),
		cmocka_unit_test(failed_nic_is_silent_and_says_so),
		cmocka_unit_test(detaching_process_may_ring),
		cmocka_unit_test(detach_lets_others_through),
		cmocka_unit_test(queue_pairs_leave_before_regions),
		cmocka_unit_test(notice_of_one_who_leaves),
		cmocka_unit_test(reset_ends_a_detach),
		cmocka_unit_test(sleeping_nic_is_armed),
		cmocka_unit_test(frames_are_lost_by_the_burst),
		cmocka_unit_test(heartbeat_counts_its_own_round),
		cmocka_unit_test(frames_of_no_bytes_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

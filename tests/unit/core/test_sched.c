/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_sched.c - who sends next when not everybody can: destinations without
 * room, queue pairs that wait for something of their own, READs of a peer, and
 * shares of the link and of the processor (INV-21).
 */
#include "unit.h"

#include "command/proc.h"
#include "transport/local_ops.h"
#include "transport/requester.h"
#include "transport/requester_rx.h"
#include "transport/responder.h"
#include "transport/responder_nak.h"
#include "rig.h"

#define US    1000ull
#define MS    1000000ull
#define QPS   6u
#define PROCS 3u
#define LONG  8192u /* a message of eight frames */

/* NIC A sends to B and to C. */
static struct rig ra, rb, rc;
static struct rig_qp qa[QPS], far[QPS];
static struct rig_mr ma[PROCS], mb[PROCS], mc[PROCS];
static uint32_t pa[PROCS], pb[PROCS], pc[PROCS];
static bool to_c[QPS];
static bool deaf; /* B hears nothing */
static uint32_t qps;

/* Whose frames A sent: by process, in order. */
static uint8_t order[16384];
static uint32_t frames, sent[PROCS];

static void on_frame(struct unic_port *port, const uint8_t *f, uint32_t len,
		     uint32_t flags)
{
	uint32_t qpn = (uint32_t)f[47] << 16 | f[48] << 8 | f[49], i;

	(void)port;
	for (i = 0; i < qps; i++)
		if (far[i].qpn == qpn && to_c[i] == (f[5] == 3))
			break;
	assert_true(i < qps && frames < sizeof(order));
	order[frames++] = (uint8_t)qa[i].proc;
	sent[qa[i].proc]++;
	if (f[5] == 3 || !deaf)
		fake_deliver(f[5] == 3 ? &rc.port : &rb.port, f, len, flags);
}

static void nic_up(struct rig *r, uint8_t id, const uint32_t *weight,
		   uint32_t *pd, struct rig_mr *mr)
{
	uint32_t i;

	rig_up(r, id);
	for (i = 0; i < PROCS; i++) {
		rig_attach(r, i, weight[i]);
		pd[i] = rig_pd(r, i);
		assert_int_equal(rig_reg(r, i, pd[i], 2, 0, UNIC_REG_LIST, 0,
					 &mr[i]),
				 0);
	}
}

static void nics_up(uint32_t w0, uint32_t w1, uint32_t w2)
{
	const uint32_t weight[PROCS] = { w0, w1, w2 };

	nic_up(&ra, 1, weight, pa, ma);
	nic_up(&rb, 2, weight, pb, mb);
	nic_up(&rc, 3, weight, pc, mc);
	fake_wire(&rb.port, &ra.port);
	rc.port.peer = &ra.port;
	ra.port.on_frame = on_frame;
	qps = 0;
	frames = 0;
	memset(sent, 0, sizeof(sent));
}

/* Queue pair qa[] of process @proc to NIC C or B. Returns which. */
static uint32_t connect_to(bool c, uint32_t proc)
{
	struct rig *r = c ? &rc : &rb;
	uint32_t i = qps++;

	assert_true(i < QPS);
	to_c[i] = c;
	rig_qp(&ra, proc, pa[proc], i, &qa[i]);
	rig_qp(r, proc, (c ? pc : pb)[proc], i, &far[i]);
	rig_connect(&ra, &qa[i], r, &far[i]);
	return i;
}

static void write_by(uint32_t q, uint32_t len)
{
	uint32_t p = qa[q].proc;
	const struct rig_mr *to = to_c[q] ? &mc[p] : &mb[p];

	rig_send(&ra, &qa[q], UNIC_WR_WRITE, 1, &ma[p], 0, len, to->iova,
		 to->stag);
}

/* B and C take all that A sent. */
static void round_of_all(void)
{
	unic_nic_poll(&ra.nic);
	rig_poll(&rb);
	rig_poll(&rc);
	assert_int_equal(rb.port.rx_overrun + rc.port.rx_overrun, 0);
}

static uint32_t completed(uint32_t q)
{
	struct unic_cqe cqe;
	uint32_t n = 0;

	while (rig_cqe(&ra, &qa[q], &cqe)) {
		assert_int_equal(cqe.status, 0);
		n++;
	}
	return n;
}

/* Does queue pair @q have @most requests under way? */
static bool is_busy(uint32_t q, uint32_t most)
{
	const struct unic_qp_ctx *qp = &ra.nic.qps.qp[qa[q].qpn & 0xff];

	return qa[q].sq_tail - qp->sq.una >= most;
}

/* Poll, and keep @busy queue pairs (a bit each) supplied with WRITEs of @len
 * bytes, until A has sent @n frames more. */
static void stream(uint32_t busy, uint32_t len, uint32_t n)
{
	uint32_t until = frames + n, polls, q;

	for (polls = 0; frames < until && polls < 20 * n; polls++) {
		for (q = 0; q < qps; q++) {
			completed(q);
			while ((busy >> q & 1) &&
			       qa[q].sq_tail - ra.nic.qps.qp[qa[q].qpn & 0xff]
						       .sq.una <
				       14)
				write_by(q, len);
		}
		round_of_all();
		ra.port.now_ns += 100;
	}
	assert_true(frames >= until);
}

/* ----------------------------------------------------- destinations, waiting */

/* C stands still: what goes to B arrives, of whatever process; and what goes to C
 * when it goes on. */
static void a_full_destination_holds_up_nobody(void **state)
{
	uint32_t q[4], i;

	(void)state;
	nics_up(1, 1, 1);
	q[0] = connect_to(true, 0);
	q[1] = connect_to(false, 0);
	q[2] = connect_to(true, 1);
	q[3] = connect_to(false, 1);
	fake_room(&ra.port, fake_path(3), 0);
	for (i = 0; i < 4; i++)
		write_by(q[i], LONG);
	for (i = 0; i < 20; i++)
		round_of_all();
	assert_int_equal(completed(q[1]), 1);
	assert_int_equal(completed(q[3]), 1);
	assert_int_equal(completed(q[0]) + completed(q[2]), 0);
	fake_room(&ra.port, fake_path(3), FAKE_NEVER_FULL);
	for (i = 0; i < 20; i++)
		round_of_all();
	assert_int_equal(completed(q[0]), 1);
	assert_int_equal(completed(q[2]), 1);
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

static void set_error(const struct rig_qp *qp)
{
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qp->proc),
					  .qpn = unic_to_le32(qp->qpn),
					  .state = UNIC_QPS_ERR };

	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
}

/* Queue pair @q, towards C which is full, is told to flush, and does. */
static void flushes(uint32_t q)
{
	struct unic_cqe cqe;
	uint32_t i;

	set_error(&qa[q]);
	for (i = 0; i < 20; i++)
		unic_nic_poll(&ra.nic);
	assert_true(rig_cqe(&ra, &qa[q], &cqe));
	assert_int_equal(cqe.status, UNIC_WC_WR_FLUSH_ERR);
}

/* A process waits for room at C, and is the first there. What another one has
 * to do that needs no room is done. */
static void who_needs_no_room_goes_on(void **state)
{
	uint32_t a, b;

	(void)state;
	nics_up(1, 1, 1);
	a = connect_to(true, 0);
	b = connect_to(true, 1);
	fake_room(&ra.port, fake_path(3), 0);
	write_by(a, LONG);
	round_of_all();
	write_by(b, LONG);
	round_of_all();
	flushes(b);
}

/* The same, while the process owes C an acknowledgement. */
static void a_reply_without_room_holds_up_no_flush(void **state)
{
	uint32_t a, b, i;

	(void)state;
	nics_up(1, 1, 1);
	a = connect_to(true, 0);
	b = connect_to(true, 0);
	fake_room(&ra.port, fake_path(3), 0);
	rig_send(&rc, &far[a], UNIC_WR_WRITE, 1, &mc[0], 0, 8, ma[0].iova,
		 ma[0].stag);
	unic_nic_poll(&rc.nic);
	write_by(b, LONG);
	for (i = 0; i < 5; i++)
		unic_nic_poll(&ra.nic);
	flushes(b);
}

/* What a process waits to send to C takes nothing from what it sends to B. */
static void a_full_destination_costs_nothing(void **state)
{
	uint32_t c, q[2];

	(void)state;
	nics_up(1, 1, 1);
	c = connect_to(true, 0);
	q[0] = connect_to(false, 0);
	q[1] = connect_to(false, 1);
	fake_room(&ra.port, fake_path(3), 0);
	stream(1u << c | 1u << q[0] | 1u << q[1], LONG, 400);
	assert_in_range(sent[0], 180, 220);
}

/* While C takes no frame its processes save nothing up: when it does, the others
 * still have their share. */
static void a_full_destination_is_no_credit(void **state)
{
	uint32_t c, b, before, start;

	(void)state;
	nics_up(1, 1, 1);
	c = connect_to(true, 0);
	b = connect_to(false, 1);
	fake_room(&ra.port, fake_path(3), 0);
	stream(1u << c | 1u << b, LONG, 400);
	assert_int_equal(sent[0], 0);
	fake_room(&ra.port, fake_path(3), FAKE_NEVER_FULL);
	before = sent[1];
	start = frames;
	stream(1u << c | 1u << b, LONG, 90);
	assert_in_range((sent[1] - before) * 100 / (frames - start), 40, 60);
}

/* Two processes wait for the little room that C has, while a third one sends to
 * B as much as it can: they divide it by their weights. */
static void scarce_room_goes_by_weight(void **state)
{
	uint32_t heavy, light, other, i;

	(void)state;
	nics_up(3, 1, 1);
	light = connect_to(true, 1);
	heavy = connect_to(true, 0);
	other = connect_to(false, 2);
	fake_room(&ra.port, fake_path(3), 0);
	for (i = 0; i < 120; i++) {
		stream(1u << heavy | 1u << light | 1u << other, LONG, 8);
		fake_room(&ra.port, fake_path(3), 1);
	}
	assert_in_range(sent[0] + sent[1], 100, 140);
	assert_in_range(sent[0] * 10 / sent[1], 24, 36);
}

/* Two share the little room of C, one of them with one frame at a time. What
 * somebody else sends to B meanwhile, a lot or nothing, is no matter; nor is what
 * the link is short of, for their frames are of one length. */
static void one_at_a_time_gets_its_room_back(void **state)
{
	uint32_t q, with, i, got[4];

	(void)state;
	for (with = 0; with < 4; with++) {
		nics_up(1, 1, 1);
		ra.nic.link.slots = with < 2;
		connect_to(true, 0);
		connect_to(true, 1);
		connect_to(false, 2);
		fake_room(&ra.port, fake_path(3), 0);
		for (i = 0; i < 600; i++) {
			frames = 0;
			for (q = 0; q < qps; q++) {
				completed(q);
				while (!is_busy(q, q == 1 ? 1 : 12) &&
				       (q < 2 || with % 2))
					write_by(q, q == 1 ? 1024 : LONG);
			}
			fake_room(&ra.port, fake_path(3), 1);
			round_of_all();
			ra.port.now_ns += 100;
		}
		got[with] = sent[1];
	}
	for (i = 0; i < 4; i += 2)
		assert_true(got[i] >= 180 && got[i + 1] >= got[i] * 9 / 10);
}

/* Two share the little room of C, one of them with small messages and one with
 * long ones. Returns which part of the frames, in per cent, is the latter's. */
static uint32_t long_beside_small(bool slots)
{
	uint32_t q, i;

	nics_up(1, 1, 1);
	ra.nic.link.slots = slots;
	connect_to(true, 0);
	connect_to(true, 0);
	connect_to(true, 1);
	fake_room(&ra.port, fake_path(3), 0);
	for (i = 0; i < 600; i++) {
		frames = 0;
		for (q = 0; q < qps; q++) {
			completed(q);
			while (!is_busy(q, 14))
				write_by(q, q == 2 ? LONG : 8);
		}
		fake_room(&ra.port, fake_path(3), 1);
		round_of_all();
		ra.port.now_ns += 100;
	}
	assert_in_range(sent[0] + sent[1], 550, 600);
	return sent[1] * 100 / (sent[0] + sent[1]);
}

/* Of slots each gets half; of a wire each gets half of the time, and a small
 * frame takes a tenth of that of a long one. */
static void small_frames_take_no_room(void **state)
{
	(void)state;
	assert_in_range(long_beside_small(true), 48, 52);
	assert_in_range(long_beside_small(false), 7, 12);
}

/* Who had nothing to send while others did gets its share when it has, no more. */
static void idleness_is_no_credit(void **state)
{
	uint32_t q[3], before, start, i;

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = connect_to(false, i);
	stream(1u << q[0] | 1u << q[1] | 1u << q[2], LONG, 60);
	stream(1u << q[0] | 1u << q[1], LONG, 400);
	before = sent[2];
	start = frames;
	stream(1u << q[0] | 1u << q[1] | 1u << q[2], LONG, 90);
	assert_in_range((sent[2] - before) * 100 / (frames - start), 25, 40);
}

/* With two destinations a process gets no more than with one. */
static void destinations_are_no_shares(void **state)
{
	uint32_t q[3];

	(void)state;
	nics_up(1, 1, 1);
	q[0] = connect_to(false, 0);
	q[1] = connect_to(true, 0);
	q[2] = connect_to(false, 1);
	stream(1u << q[0] | 1u << q[1] | 1u << q[2], LONG, 400);
	assert_in_range(sent[0], 180, 220);
}

/* ------------------------------------------------------- shares of the link */

/* A peer that reads over four queue pairs gets what its process is due, not all
 * of the link. */
static void reads_of_a_peer_are_charged(void **state)
{
	uint32_t q[4], w, i, polls;

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 4; i++)
		q[i] = connect_to(false, 0);
	w = connect_to(false, 1);
	for (polls = 0; frames < 400 && polls < 4000; polls++) {
		struct unic_cqe cqe;

		if (frames < 100)
			sent[0] = sent[1] = 0; /* not yet both */

		for (i = 0; i < 4; i++) {
			struct rig_qp *b = &far[q[i]];

			while (rig_cqe(&rb, b, &cqe))
				assert_int_equal(cqe.status, 0);
			while (b->sq_tail -
				       rb.nic.qps.qp[b->qpn & 0xff].sq.una <
			       4)
				rig_send(&rb, b, UNIC_WR_READ, 1, &mb[0], 0,
					 LONG, ma[0].iova, ma[0].stag);
		}
		completed(w);
		while (qa[w].sq_tail - ra.nic.qps.qp[qa[w].qpn & 0xff].sq.una <
		       14)
			write_by(w, LONG);
		round_of_all();
		ra.port.now_ns += 100;
		rb.port.now_ns += 100;
	}
	assert_true(frames >= 400);
	assert_in_range(sent[1] * 100 / (sent[0] + sent[1]), 45, 55);
}

/* A process that is read from also sends, and both go on. */
static void reads_leave_its_own_process_half(void **state)
{
	uint32_t q, w, i, seen[2] = { 0 };
	struct unic_cqe cqe;

	(void)state;
	nics_up(1, 1, 1);
	q = connect_to(false, 0);
	w = connect_to(false, 0);
	for (i = 0; i < 4; i++)
		rig_send(&rb, &far[q], UNIC_WR_READ, 1, &mb[0], 0, LONG,
			 ma[0].iova, ma[0].stag);
	for (i = 0; i < 4; i++)
		write_by(w, LONG);
	unic_nic_poll(&rb.nic);
	for (i = 0; i < 300 && seen[0] + seen[1] < 4; i++) {
		round_of_all();
		while (rig_cqe(&rb, &far[q], &cqe))
			seen[0]++;
		seen[1] += completed(w);
	}
	assert_true(seen[0] && seen[1]);
}

/* The BTH opcode of the first frame that goes out. */
static uint8_t first_opcode;

static void note_first(struct unic_port *port, const uint8_t *f, uint32_t len,
		       uint32_t flags)
{
	first_opcode = first_opcode ? first_opcode : f[42];
	on_frame(port, f, len, flags);
}

/* What is owed to a peer comes before what a process sends, in one turn. */
static void replies_come_first(void **state)
{
	uint32_t q[2];

	(void)state;
	nics_up(1, 1, 1);
	q[0] = connect_to(false, 0);
	q[1] = connect_to(false, 0);
	rig_send(&rb, &far[q[0]], UNIC_WR_WRITE, 1, &mb[0], 0, 8, ma[0].iova,
		 ma[0].stag);
	unic_nic_poll(&rb.nic);
	write_by(q[1], LONG);
	first_opcode = 0;
	ra.port.on_frame = note_first;
	unic_nic_poll(&ra.nic);
	assert_int_equal(first_opcode, UNIC_OP_ACK);
}

static uint8_t opcodes[3];
static uint32_t noted;

static void note_some(struct unic_port *port, const uint8_t *f, uint32_t len,
		      uint32_t flags)
{
	if (noted < sizeof(opcodes))
		opcodes[noted++] = f[42];
	on_frame(port, f, len, flags);
}

/* All of it, though a process has more to send between any two. */
static void all_replies_come_first(void **state)
{
	uint32_t q[3], i;

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = connect_to(false, 0);
	for (i = 0; i < 2; i++)
		rig_send(&rb, &far[q[i]], UNIC_WR_WRITE, 1, &mb[0], 0, 8,
			 ma[0].iova, ma[0].stag);
	unic_nic_poll(&rb.nic);
	write_by(q[2], LONG);
	noted = 0;
	ra.port.on_frame = note_some;
	unic_nic_poll(&ra.nic);
	assert_int_equal(noted, 3);
	assert_int_equal(opcodes[0], UNIC_OP_ACK);
	assert_int_equal(opcodes[1], UNIC_OP_ACK);
	assert_int_equal(opcodes[2], UNIC_OP_WRITE_FIRST);
}

/* ... when nothing is under way. */
static void set_weight(uint32_t proc, uint32_t weight)
{
	struct unic_cmd_proc_set cmd = { .proc = unic_to_le32(proc),
					 .weight = unic_to_le32(weight) };

	while (is_busy(0, 1) || is_busy(1, 1))
		round_of_all();
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_PROC_SET, &cmd, NULL), 0);
}

/* A weight that is changed counts from then on, up and down. */
static void weights_change(void **state)
{
	uint32_t q[2];

	(void)state;
	nics_up(1, 1, 1);
	q[0] = connect_to(false, 0);
	q[1] = connect_to(false, 1);
	stream(1u << q[0] | 1u << q[1], LONG, 440);
	assert_in_range(sent[0] * 10 / sent[1], 8, 12);
	set_weight(0, 4);
	memset(sent, 0, sizeof(sent));
	stream(1u << q[0] | 1u << q[1], LONG, 440);
	assert_in_range(sent[0] * 10 / sent[1], 30, 50);
	set_weight(0, 1);
	set_weight(1, 4);
	memset(sent, 0, sizeof(sent));
	stream(1u << q[0] | 1u << q[1], LONG, 440);
	assert_in_range(sent[1] * 10 / sent[0], 30, 50);
}

/* Weights are what they are, however large. */
static void weights_have_no_bound(void **state)
{
	uint32_t q[2];

	(void)state;
	nics_up(10000, 1000, 1);
	q[0] = connect_to(false, 0);
	q[1] = connect_to(false, 1);
	stream(1u << q[0] | 1u << q[1], LONG, 440);
	assert_in_range(sent[0] / sent[1], 8, 12);
}

/* A flood of small messages, while there is room for all, takes the processor as
 * long as its share, not its bytes, allows. */
static void small_frames_cost_what_they_take(void **state)
{
	uint32_t q[3], i, k, n[2] = { 0 };

	(void)state;
	nics_up(1, 1, 1);
	q[0] = connect_to(false, 0);
	q[1] = connect_to(false, 0);
	q[2] = connect_to(false, 1);
	for (i = 0; i < 12; i++) {
		write_by(q[0], 8);
		write_by(q[1], 8);
		write_by(q[2], LONG);
	}
	ra.port.now_ns += 10 * MS; /* no path was full for long */
	for (i = 0; i < 30; i++)
		round_of_all();
	for (k = 0; n[0] < 20; k++)
		n[order[k]]++;
	assert_true(n[1] >= 5);
}

/* The same beside a destination that is full, and stays so: who sends the small
 * messages may have seen to that. */
static void a_full_destination_makes_nothing_cheap(void **state)
{
	uint32_t c, q[3], i, k, n[2] = { 0 };

	(void)state;
	nics_up(1, 1, 1);
	ra.nic.link.slots = false;
	c = connect_to(true, 0);
	q[0] = connect_to(false, 0);
	q[1] = connect_to(false, 0);
	q[2] = connect_to(false, 1);
	fake_room(&ra.port, fake_path(3), 0);
	write_by(c, LONG);
	stream(1u << q[2], LONG, 64);
	for (i = 0; i < 10; i++) {
		write_by(q[0], 8);
		write_by(q[1], 8);
	}
	k = frames;
	stream(1u << q[2], LONG, 80);
	for (; n[0] < 20; k++)
		n[order[k]]++;
	assert_true(n[1] >= 16);
}

/* A READ is paid for by the process that asks: the bytes come by another way, but
 * it is its processor's time. */
static void reads_cost_what_they_ask_for(void **state)
{
	uint32_t q[3], i, k, reads = 0, others = 0;

	(void)state;
	nics_up(1, 1, 1);
	q[0] = connect_to(false, 0);
	q[1] = connect_to(false, 0);
	q[2] = connect_to(false, 1);
	for (i = 0; i < 4; i++)
		for (k = 0; k < 2; k++)
			rig_send(&ra, &qa[q[k]], UNIC_WR_READ, 1, &ma[0], 0,
				 LONG, mb[0].iova, mb[0].stag);
	for (i = 0; i < 12; i++)
		write_by(q[2], LONG);
	for (i = 0; i < 8; i++)
		unic_nic_poll(&ra.nic);
	for (k = 0; k < frames && reads < 8; k++) {
		reads += order[k] == 0;
		others += order[k] == 1;
	}
	assert_int_equal(reads, 8);
	assert_true(others >= 40);
}

/* A peer answers no READ, which is asked for again and again. Frames of another
 * process before the next one that its requester sends. */
static uint32_t behind_a_read(uint32_t again)
{
	uint32_t w[2], q[2], i, k;
	const struct unic_qp_ctx *qp;
	struct rig_mr big;

	nics_up(1, 1, 1);
	q[0] = connect_to(false, 0);
	q[1] = connect_to(false, 0);
	qp = &ra.nic.qps.qp[qa[q[1]].qpn & 0xff];
	w[0] = connect_to(true, 1);
	w[1] = connect_to(true, 1);
	assert_int_equal(rig_reg(&ra, 0, pa[0], 16, 0, UNIC_REG_LIST, 0, &big),
			 0);
	stream(1u << w[0] | 1u << w[1], LONG, 64);
	rig_send(&ra, &qa[q[0]], UNIC_WR_READ, 1, &big, 0, 16 * 4096,
		 mb[0].iova, mb[0].stag);
	deaf = true;
	for (i = 0; i <= again; i++) {
		stream(1u << w[0] | 1u << w[1], LONG, 8);
		ra.nic.qps.qp[qa[q[0]].qpn & 0xff].sq.timer_ns =
			i < again ? ra.nic.now_ns : UNIC_NEVER;
		ra.nic.qps.timer_ns = 0;
		ra.nic.timers_ns = 0;
	}
	write_by(q[1], LONG);
	k = sent[1];
	while (qp->sq.psn == qa[q[1]].psn)
		stream(1u << w[0] | 1u << w[1], LONG, 1);
	deaf = false;
	return sent[1] - k;
}

static void reads_are_paid_for_once(void **state)
{
	uint32_t once = behind_a_read(0);

	(void)state;
	assert_true(behind_a_read(3) <= once);
}

/* A READ is refused: its key is wrong. Its process had been charged for what it
 * asked for, but has its share of what follows: that it hears of it, first. */
static void a_refused_read_is_not_owed(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr big;

	(void)state;
	nics_up(1, 1, 1);
	connect_to(false, 0);
	connect_to(false, 1);
	connect_to(false, 1);
	assert_int_equal(rig_reg(&ra, 1, pa[1], 48, 0, UNIC_REG_LIST, 0, &big),
			 0);
	stream(1u << 0, LONG, 32);
	rig_send(&ra, &qa[1], UNIC_WR_READ, 1, &big, 0, 48 * 4096, mb[1].iova,
		 mb[1].stag ^ 1);
	sent[0] = 0;
	while (!rig_cqe(&ra, &qa[1], &cqe))
		stream(1u << 0, LONG, 1);
	assert_int_equal(cqe.status, UNIC_WC_REM_ACCESS_ERR);
	assert_in_range(sent[0], 0, 90);
	sent[0] = sent[1] = 0;
	stream(1u << 0 | 1u << 2, LONG, 80);
	assert_in_range(sent[1] * 100 / (sent[0] + sent[1]), 40, 60);
}

/* Process @proc ends, and another one takes its slot. */
static void comes_anew(struct rig *r, uint32_t proc, uint32_t *pd,
		       struct rig_mr *mr)
{
	struct unic_cmd_proc_detach cmd = { .proc = unic_to_le32(proc) };

	assert_int_equal(rig_cmd(r, UNIC_CMD_PROC_DETACH, &cmd, NULL), 0);
	rig_attach(r, proc, 1);
	pd[proc] = rig_pd(r, proc);
	assert_int_equal(rig_reg(r, proc, pd[proc], 2, 0, UNIC_REG_LIST, 0,
				 &mr[proc]),
			 0);
}

static void lose_of_second(struct unic_port *port, const uint8_t *f,
			   uint32_t len, uint32_t flags)
{
	uint32_t qpn = (uint32_t)f[47] << 16 | f[48] << 8 | f[49];

	if (qpn != far[1].qpn)
		on_frame(port, f, len, flags);
}

/* Process 1 owes B's path long READs, which never arrive. */
static void owes_reads(void)
{
	struct rig_mr big;
	uint32_t i;

	nics_up(1, 1, 1);
	connect_to(false, 0);
	connect_to(false, 1);
	assert_int_equal(rig_reg(&ra, 1, pa[1], 16, 0, UNIC_REG_LIST, 0, &big),
			 0);
	ra.port.on_frame = lose_of_second;
	stream(1u << 0, LONG, 32);
	for (i = 0; i < 4; i++)
		rig_send(&ra, &qa[1], UNIC_WR_READ, 1, &big, 0, 16 * 4096,
			 mb[1].iova, mb[1].stag);
	stream(1u << 0, LONG, 32);
	while (is_busy(0, 1))
		round_of_all();
	ra.port.on_frame = on_frame;
}

/* Whose slot it was, and what that process owed, is nothing to the next one. */
static void a_slot_comes_without_debt(void **state)
{
	(void)state;
	owes_reads();
	comes_anew(&ra, 1, pa, ma);
	comes_anew(&rb, 1, pb, mb);
	qps = 1;
	connect_to(false, 1);
	stream(1u << 0, LONG, 8);
	sent[0] = sent[1] = 0;
	stream(1u << 0 | 1u << 1, LONG, 80);
	assert_in_range(sent[1] * 100 / (sent[0] + sent[1]), 40, 60);
}

/* The time at which it comes is that of each path, which may have stood still. */
static void a_slot_comes_at_the_time_of_its_path(void **state)
{
	struct unic_sched_order *s = &ra.nic.order;

	(void)state;
	nics_up(1, 1, 1);
	s->now = 5000;
	s->path[0].offset = 1000;
	unic_sched_proc_new(&ra.nic.transport, 2);
	assert_true(s->path[0].pair[2].tag == 4000);
	s->full = 1;
	s->path[0].stopped = 3000;
	unic_sched_proc_new(&ra.nic.transport, 2);
	assert_true(s->path[0].pair[2].tag == 2000);
}

/* Frames come in without end; while there is something to send they take half of
 * a round's burst. */
static void receiving_leaves_time_to_send(void **state)
{
	static const uint8_t nothing[60] = { 2, 0, 0, 0, 0, 1 };
	uint32_t i, k, taken[2];

	(void)state;
	nics_up(1, 1, 1);
	for (k = 0; k < 2; k++) {
		for (i = 0; i < UNIC_RX_BATCH; i++)
			fake_deliver(&ra.port, nothing, sizeof(nothing), 0);
		taken[k] = ra.port.rx_done;
		unic_nic_poll(&ra.nic);
		taken[k] = ra.port.rx_done - taken[k];
		rig_poll(&ra);
		if (k)
			break;
		fake_room(&ra.port, fake_path(3), 0);
		write_by(connect_to(true, 0), LONG);
		unic_nic_poll(&ra.nic);
	}
	assert_int_equal(taken[0], UNIC_RX_BATCH);
	assert_int_equal(taken[1], UNIC_RX_BATCH / 2);
}

/* ------------------------------------------- queue pairs that wait themselves */

static struct unic_sq_slot local_op(uint8_t opcode, uint32_t stag)
{
	return (struct unic_sq_slot){
		.opcode = opcode,
		.flags = UNIC_WR_SIGNALED,
		.rkey = unic_to_le32(stag),
	};
}

static void post(uint32_t q, struct unic_sq_slot s)
{
	qa[q].sq[qa[q].sq_tail % RIG_SLOTS] = s;
	rig_ring(&ra, qa[q].proc, UNIC_DB_SQ, qa[q].row, ++qa[q].sq_tail);
}

/* A form of process @proc without contents. */
static void form_of(uint32_t proc, struct rig_mr *out)
{
	struct unic_cmd_mr_alloc cmd = { .pd = unic_to_le32(pa[proc]),
					 .kind = UNIC_FORM_INDIRECT,
					 .n = unic_to_le32(1) };
	struct unic_cpl_mr_reg cpl;

	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_ALLOC, &cmd, &cpl), 0);
	memset(out, 0, sizeof(*out));
	out->mr = unic_from_le32(cpl.mr);
	out->gen = unic_from_le32(cpl.gen);
	out->stag = unic_from_le32(cpl.stag);
}

/* REG_INDIRECT of @form, over a list that is in its process's region. */
static void make_of_memory(uint32_t q, const struct rig_mr *form)
{
	struct unic_sq_slot s = local_op(UNIC_WR_REG_INDIRECT, form->stag);
	const struct rig_mr *mr = &ma[qa[q].proc];
	struct unic_sge e = { .iova = unic_to_le64(mr->iova + 512),
			      .len = unic_to_le32(64),
			      .lkey = unic_to_le32(mr->stag) };

	memcpy(mr->mem, &e, sizeof(e));
	s.imm = unic_to_le32(1u | (uint32_t)UNIC_MR_REMOTE_READ << 8);
	s.num_sge = 1;
	s.sge[0] = (struct unic_sge){ .iova = unic_to_le64(mr->iova),
				      .len = unic_to_le32(sizeof(e)),
				      .lkey = unic_to_le32(mr->stag) };
	post(q, s);
}

/* A LOCAL_INV waits for a region that somebody uses; others send meanwhile. */
static void a_waiting_invalidation_holds_up_nobody(void **state)
{
	uint32_t q[4], i, rounds, start, served = 0;
	struct unic_cqe cqe;
	struct rig_mr x;

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = connect_to(false, 0);
	q[3] = connect_to(false, 1);
	form_of(0, &x);
	make_of_memory(q[0], &x);
	rig_poll(&ra);
	assert_int_equal(completed(q[0]), 1);
	x.stag = (x.stag & ~0xffu) | 1;
	unic_mr_hold(&ra.nic.memory,
		     (uint16_t)x.mr); /* as a READ of a peer does */
	for (i = 0; i < 3; i++)
		post(q[i], local_op(UNIC_WR_LOCAL_INV, x.stag));
	for (i = 0; i < 4; i++)
		unic_nic_poll(&ra.nic);
	write_by(q[3], LONG);
	for (rounds = 0; rounds < 20; rounds++)
		round_of_all();
	assert_int_equal(completed(q[3]), 1);
	assert_int_equal(completed(q[0]), 0);
	for (i = 0; i < 12; i++) /* and they take none of its time */
		write_by(q[3], LONG);
	start = frames;
	unic_nic_poll(&ra.nic);
	assert_true(frames - start >= 22);
	unic_mr_unhold(&ra.nic.memory, (uint16_t)x.mr);
	for (rounds = 0; rounds < 20; rounds++)
		round_of_all();
	for (i = 0; i < 3; i++) { /* the first is served, the others are late */
		assert_true(rig_cqe(&ra, &qa[q[i]], &cqe));
		served += !cqe.status;
	}
	assert_int_equal(served, 1);
}

/* A form of process @proc that was made and is in use, by queue pair @q. */
static void form_in_use(uint32_t q, struct rig_mr *form)
{
	form_of(qa[q].proc, form);
	make_of_memory(q, form);
	rig_poll(&ra);
	assert_int_equal(completed(q), 1);
	form->stag = (form->stag & ~0xffu) | 1;
	unic_mr_hold(&ra.nic.memory, (uint16_t)form->mr);
}

/* Five queue pairs wait, and one of another process, for a region of its own. That
 * one looks again as soon as if they did not. */
static void who_waits_does_not_wait_for_others(void **state)
{
	uint32_t i, phase, rounds, worst = 0;
	struct rig_mr x, y;
	struct unic_cqe cqe;

	(void)state;
	for (phase = 0; phase < QPS; phase++) {
		nics_up(1, 1, 1);
		for (i = 0; i < QPS; i++)
			connect_to(false, i == 5);
		form_in_use(0, &x);
		form_in_use(5, &y);
		for (i = 0; i < QPS; i++)
			post(i, local_op(UNIC_WR_LOCAL_INV,
					 i == 5 ? y.stag : x.stag));
		for (i = 0; i < 10 + phase; i++)
			unic_nic_poll(&ra.nic);
		unic_mr_unhold(&ra.nic.memory, (uint16_t)y.mr);
		for (rounds = 1; rounds < 20; rounds++) {
			unic_nic_poll(&ra.nic);
			if (rig_cqe(&ra, &qa[5], &cqe))
				break;
		}
		worst = rounds > worst ? rounds : worst;
	}
	assert_true(worst <= 2);
}

static void reset(const struct rig_qp *qp)
{
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qp->proc),
					  .qpn = unic_to_le32(qp->qpn),
					  .state = UNIC_QPS_RESET };

	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
}

/* A queue pair that waits, and one that has waited, can end; nothing of either
 * is left on any list. */
static void who_waits_can_go(void **state)
{
	uint32_t q[3], i;
	struct rig_mr x;

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = connect_to(false, 0);
	form_in_use(q[0], &x);
	post(q[0], local_op(UNIC_WR_LOCAL_INV, x.stag));
	post(q[1], local_op(UNIC_WR_LOCAL_INV, x.stag));
	for (i = 0; i < 5; i++)
		unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.order.waits, 2);
	reset(&qa[q[1]]); /* it waits */
	for (i = 0; i < 5; i++)
		unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.sched.work, 1);
	fake_room(&ra.port, fake_path(2), 0);
	write_by(q[2], LONG); /* so that nobody is alone */
	unic_nic_poll(&ra.nic);
	unic_mr_unhold(&ra.nic.memory, (uint16_t)x.mr);
	for (i = 0; i < 5; i++)
		unic_nic_poll(&ra.nic);
	assert_int_equal(completed(q[0]), 1);
	reset(&qa[q[0]]); /* it has waited */
	assert_int_equal(ra.nic.sched.work, 1);
	fake_room(&ra.port, fake_path(2), FAKE_NEVER_FULL);
	for (i = 0; i < 5; i++)
		round_of_all();
	assert_int_equal(completed(q[2]), 1);
	assert_int_equal(ra.nic.sched.work, 0);
	assert_int_equal(ra.nic.order.waits, 0);
}

/* Until queue pair @q reads a list, of which nothing comes yet. */
static void until_reading(uint32_t q)
{
	uint32_t i;

	ra.port.late_dma = true;
	for (i = 0; i < 20 && !ra.nic.list_reader.qpn; i++) {
		unic_nic_poll(&ra.nic);
		if (!ra.nic.list_reader.qpn)
			fake_dma_run(&ra.port, 1);
	}
	assert_int_equal(ra.nic.list_reader.qpn, qa[q].qpn);
}

/* What was sent before is lost, and is to be sent again. */
static void time_out(uint32_t q)
{
	ra.nic.qps.qp[qa[q].qpn & 0xff].sq.timer_ns = ra.nic.now_ns;
	ra.nic.qps.timer_ns = 0;
	ra.nic.timers_ns = 0;
	unic_nic_poll(&ra.nic);
	assert_int_equal(rig_count(&ra, timeouts), 1);
}

/* A queue pair that its peer tells to be silent gives the reader of lists up. */
static void a_silent_queue_pair_reads_no_list(void **state)
{
	uint32_t a, b, i;
	struct rig_mr x[2];

	(void)state;
	nics_up(1, 1, 1);
	a = connect_to(false, 0);
	b = connect_to(false, 1);
	form_of(0, &x[0]);
	form_of(1, &x[1]);
	rig_send(&ra, &qa[a], UNIC_WR_SEND, 1, &ma[0], 0, 8, 0, 0);
	make_of_memory(a, &x[0]);
	until_reading(a);
	rig_poll(&rb); /* it has no receive: RNR NAK */
	for (i = 0; i < 20; i++) {
		rig_poll(&ra);
		fake_dma_run(&ra.port, FAKE_PENDING);
	}
	assert_true(ra.nic.qps.qp[qa[a].qpn & 0xff].sq.rnr_wait);
	make_of_memory(b, &x[1]);
	for (i = 0; i < 20; i++) {
		rig_poll(&ra);
		fake_dma_run(&ra.port, FAKE_PENDING);
	}
	assert_int_equal(completed(b), 1);
}

/* So does one that is to send again what C has no room for. */
static void a_blocked_queue_pair_reads_no_list(void **state)
{
	struct rig_mr x[2];
	uint32_t a, b, i;

	(void)state;
	nics_up(1, 1, 1);
	a = connect_to(true, 0);
	b = connect_to(false, 1);
	form_of(0, &x[0]);
	form_of(1, &x[1]);
	rig_send(&ra, &qa[a], UNIC_WR_SEND, 1, &ma[0], 0, 8, 0, 0);
	make_of_memory(a, &x[0]);
	until_reading(a);
	fake_room(&ra.port, fake_path(3), 0);
	time_out(a);
	make_of_memory(b, &x[1]);
	for (i = 0; i < 40; i++) {
		unic_nic_poll(&ra.nic);
		fake_dma_run(&ra.port, FAKE_PENDING);
	}
	assert_int_equal(completed(b), 1);
}

/* The next reader of lists may end before its turn; others read then. */
static void the_next_reader_can_go(void **state)
{
	uint32_t q[3], i;
	struct rig_mr x[3];

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 3; i++) {
		q[i] = connect_to(false, i);
		form_of(i, &x[i]);
	}
	make_of_memory(q[0], &x[0]);
	make_of_memory(q[1], &x[1]);
	until_reading(q[0]);
	fake_dma_run(&ra.port, 1); /* the other's request */
	for (i = 0; i < 4; i++)
		unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.list_reader.next_qpn, qa[q[1]].qpn);
	set_error(&qa[q[1]]);
	make_of_memory(q[2], &x[2]);
	for (i = 0; i < 40; i++) {
		unic_nic_poll(&ra.nic);
		fake_dma_run(&ra.port, FAKE_PENDING);
	}
	assert_int_equal(completed(q[2]), 1);
}

/* The reader of lists goes to another process before it goes to the same. */
static void lists_are_read_for_all_processes(void **state)
{
	uint32_t q[3], i, k, before = 0;
	struct rig_mr x[5];

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = connect_to(false, i == 2);
	for (i = 0; i < 5; i++)
		form_of(i == 4, &x[i]);
	for (i = 0; i < 4; i++)
		make_of_memory(q[i % 2], &x[i]);
	ra.port.late_dma = true;
	for (k = 0; k < 200; k++) {
		if (k == 1)
			make_of_memory(q[2], &x[4]);
		unic_nic_poll(&ra.nic);
		ra.port.now_ns += 1000;
		fake_dma_run(&ra.port, 1);
		before += completed(q[0]) + completed(q[1]);
		if (completed(q[2]))
			break;
	}
	assert_true(k < 200);
	assert_true(before <= 1);
}

/* Three ask for the reader of lists while another has it. The first is of the same
 * process, and gives way to one of another process, who gives way to nobody. */
static void another_process_reads_next(void **state)
{
	static const uint32_t proc[] = { 0, 0, 1, 2 }, next[] = { 0, 1, 2, 2 };
	uint32_t q[4], i, k;
	struct rig_mr x[4];

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 4; i++) {
		q[i] = connect_to(false, proc[i]);
		form_of(proc[i], &x[i]);
	}
	for (i = 0; i < 4; i++)
		make_of_memory(q[i], &x[i]);
	until_reading(q[0]);
	for (i = 1; i < 4; i++) {
		fake_dma_run(&ra.port, 1); /* its request */
		for (k = 0; k < 4; k++)
			unic_nic_poll(&ra.nic);
		assert_int_equal(ra.nic.list_reader.next_qpn,
				 qa[q[next[i]]].qpn);
	}
}

/* ------------------------------------------------------------- what it costs */

static struct unic_qp_ctx *qp_of(uint32_t q)
{
	return &ra.nic.qps.qp[qa[q].qpn & 0xff];
}

/* Process 1 has just sent a READ of 64 packets beside another process, and was
 * charged for them. */
static struct unic_sched_pair *charged_for_a_read(void)
{
	struct rig_mr big;

	nics_up(1, 1, 1);
	connect_to(false, 0);
	connect_to(false, 1);
	assert_int_equal(rig_reg(&ra, 1, pa[1], 16, 0, UNIC_REG_LIST, 0, &big),
			 0);
	ra.port.on_frame = lose_of_second;
	stream(1u << 0, LONG, 32);
	rig_send(&ra, &qa[1], UNIC_WR_READ, 1, &big, 0, 16 * 4096, mb[1].iova,
		 mb[1].stag);
	while (qp_of(1)->sq.psn == qa[1].psn)
		stream(1u << 0, LONG, 1);
	return &ra.nic.order.path[fake_path(2)].pair[1];
}

/* What did not come of a READ is given back, once, and no more than is owed. */
static void what_comes_of_a_read_is_owed(void **state)
{
	uint64_t packet = UNIC_COST_CPU + 1024, scale, tag;
	struct unic_sched_pair *pair = charged_for_a_read();
	struct unic_qp_ctx *qp = qp_of(1);
	struct unic_wr *wr = &qp->sq.wr[qp->sq.una % UNIC_QP_WINDOW];

	(void)state;
	tag = pair->tag;
	scale = ra.nic.order.scale[1];
	assert_true(tag - ra.nic.order.now >= 64 * packet * scale);
	qp->sq.psn_una = unic_psn_add(qp->sq.psn_una, 16);
	unic_sched_unread(&ra.nic.transport, qp, wr);
	assert_true(tag - pair->tag == 48 * packet * scale);
	tag = pair->tag;
	unic_sched_unread(&ra.nic.transport, qp, wr);
	assert_true(tag == pair->tag);
	pair->tag = ra.nic.order.now + 8; /* the rest was paid meanwhile */
	wr->slots |= UNIC_WR_PAID;
	unic_sched_unread(&ra.nic.transport, qp, wr);
	assert_true(pair->tag == ra.nic.order.now);
	pair->tag =
		ra.nic.order.now - 8; /* nothing is owed: nothing is saved */
	wr->slots |= UNIC_WR_PAID;
	unic_sched_unread(&ra.nic.transport, qp, wr);
	assert_true(pair->tag == ra.nic.order.now - 8);
}

/* Who owes no more has its place again, ahead of those who owe less than it did. */
static void who_is_given_back_has_its_turn(void **state)
{
	struct unic_sched_pair *pair = charged_for_a_read();
	struct unic_sched_path *path = &ra.nic.order.path[fake_path(2)];
	uint32_t q[PROCS] = { 0, 1, connect_to(false, 2) }, i;
	const uint16_t *above = &path->first.node[(UNIC_PROCS + 1) / 2];
	struct unic_qp_ctx *qp = qp_of(1);

	(void)state;
	for (i = 0; i < PROCS; i++)
		unic_sched_drop(&ra.nic.transport,
				(uint16_t)(qa[q[i]].qpn & 0xff));
	for (i = 0; i < PROCS; i++)
		path->pair[i].tag = ra.nic.order.now - path->offset +
				    4096ull * ra.nic.order.scale[i];
	pair->tag += 4096ull * ra.nic.order.scale[1];
	for (i = 0; i < PROCS; i++)
		unic_sched_send(&ra.nic.transport,
				(uint16_t)(qa[q[i]].qpn & 0xff));
	assert_int_not_equal(*above, 1);
	unic_sched_unread(&ra.nic.transport, qp,
			  &qp->sq.wr[qp->sq.una % UNIC_QP_WINDOW]);
	assert_int_equal(*above, 1);
}

/* Nor is a READ owed whose region is gone, though its queue pair lives on. */
static void an_evicted_read_is_not_owed(void **state)
{
	struct unic_sched_pair *pair = charged_for_a_read();
	uint64_t tag = pair->tag;

	(void)state;
	unic_requester_vack(&ra.nic.transport, qp_of(1), qp_of(1)->sq.psn_una,
			    UNIC_EV_EVICTED, 0);
	assert_int_equal(qp_of(1)->state, UNIC_QPS_RTS);
	assert_true(tag - pair->tag >= 64ull * 1024 * ra.nic.order.scale[1]);
}

/* What a process owes when it comes back is bounded. */
static void debts_have_a_bound(void **state)
{
	struct unic_sched_path *path = &ra.nic.order.path[fake_path(2)];
	uint32_t q[2], i;
	uint64_t most;

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 2; i++)
		q[i] = connect_to(false, i);
	stream(1u << q[0] | 1u << q[1], LONG, 40);
	while (is_busy(q[0], 1) || is_busy(q[1], 1))
		round_of_all();
	most = (uint64_t)UNIC_SCHED_DEBT * ra.nic.order.scale[1];
	path->pair[1].tag = ra.nic.order.now - path->offset + 5 * most;
	for (i = 0; i < 2; i++)
		unic_sched_send(&ra.nic.transport,
				(uint16_t)(qa[q[i]].qpn & 0xff));
	assert_true(path->pair[1].tag ==
		    ra.nic.order.now - path->offset + most);
}

/* So is what one READ costs, and what is given back of it. */
static void a_read_has_a_bound(void **state)
{
	struct unic_sched_path *path = &ra.nic.order.path[fake_path(2)];
	int32_t left = UNIC_SCHED_TURN;
	uint64_t most, tag;
	struct unic_qp_ctx *qp;
	struct unic_wr *wr;

	(void)state;
	nics_up(1, 1, 1);
	connect_to(false, 0);
	connect_to(false, 1);
	qp = qp_of(0);
	wr = &qp->sq.wr[qp->sq.una % UNIC_QP_WINDOW];
	stream(1u << 1, LONG, 40);
	fake_room(&ra.port, fake_path(2), 0);
	rig_send(&ra, &qa[0], UNIC_WR_READ, 1, &ma[0], 0, LONG, mb[0].iova,
		 mb[0].stag);
	unic_nic_poll(&ra.nic);
	assert_int_equal(wr->npkt, LONG / 1024);
	wr->npkt = 1u << 16; /* as if there were memory for it */
	fake_room(&ra.port, fake_path(2), FAKE_NEVER_FULL);
	ra.nic.sched.cost = UNIC_COST_CPU;
	unic_requester_send(&ra.nic.transport, (uint16_t)(qa[0].qpn & 0xff),
			    &left);
	assert_int_equal(UNIC_SCHED_TURN - left, UNIC_SCHED_DEBT);
	ra.nic.order.scale[0] = 1;
	most = UNIC_SCHED_DEBT;
	tag = ra.nic.order.now - path->offset + 2 * most;
	path->pair[0].tag = tag;
	unic_sched_unread(&ra.nic.transport, qp, wr);
	assert_true(tag - path->pair[0].tag == most);
}

/* That one destination has no room says nothing of another, for which DMA is
 * missing. */
static void want_of_room_is_forgotten(void **state)
{
	uint32_t q[3], i, k;

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = connect_to(i == 0, i);
	fake_room(&ra.port, fake_path(3), 0);
	for (i = 0; i < 3; i++)
		for (k = 0; k < 12; k++)
			write_by(q[i], LONG);
	unic_nic_poll(&ra.nic);
	unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.order.full, 1u << fake_path(3));
	assert_true(is_busy(q[1], 1) && is_busy(q[2], 1));
	ra.port.no_dma = true;
	for (i = 0; i < 8; i++) {
		unic_nic_poll(&ra.nic);
		assert_int_equal(ra.nic.order.full & 1u << fake_path(2), 0);
	}
	assert_true(is_busy(q[1], 1) && is_busy(q[2], 1));
}

/* A batch of completions of a queue pair that died is a turn. */
static void a_flush_costs_a_turn(void **state)
{
	int32_t left = 3 * UNIC_SCHED_TURN;
	uint32_t q;

	(void)state;
	nics_up(1, 1, 1);
	q = connect_to(false, 0);
	write_by(q, 8);
	unic_proc_take(&ra.nic.command, 0);
	unic_qp_error(&ra.nic.transport, qp_of(q), UNIC_WC_LOC_PROT_ERR);
	unic_requester_send(&ra.nic.transport, (uint16_t)(qa[q].qpn & 0xff),
			    &left);
	assert_int_equal(left, 2 * UNIC_SCHED_TURN);
}

static void an_acknowledgement_costs_a_frame(void **state)
{
	int32_t left = UNIC_SCHED_TURN;
	uint32_t q;

	(void)state;
	nics_up(1, 1, 1);
	q = connect_to(false, 0);
	unic_responder_owe_ack(&ra.nic.transport, qp_of(q));
	unic_responder_reply(&ra.nic.transport, (uint16_t)(qa[q].qpn & 0xff),
			     &left);
	assert_int_equal(left, UNIC_SCHED_TURN - (int32_t)ra.nic.sched.cost);
}

/* Queue pairs whose turns come to nothing use up their process's share, too. */
static void turns_for_nothing_are_charged(void **state)
{
	const struct unic_sched_pair *pair;
	uint32_t q[2], i;
	uint64_t before;

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < 2; i++) {
		q[i] = connect_to(false, 0);
		rig_poll(&ra);
	}
	pair = &ra.nic.order.path[fake_path(2)].pair[0];
	for (i = 0; i < 2; i++)
		unic_sched_send(&ra.nic.transport,
				(uint16_t)(qa[q[i]].qpn & 0xff));
	before = pair->tag;
	unic_sched_run(&ra.nic.transport);
	assert_true(pair->tag - before >=
		    2ull * UNIC_COST_IDLE * ra.nic.order.scale[0]);
	assert_int_equal(ra.nic.sched.work, 0);
}

/* A destination is full when it has no room, not when DMA or a transmit job is
 * missing. */
static void shortage_closes_no_destination(void **state)
{
	uint32_t q[QPS], i, seen = 0;

	(void)state;
	nics_up(1, 1, 1);
	for (i = 0; i < QPS; i++)
		q[i] = connect_to(i == 0, i % PROCS);
	fake_room(&ra.port, fake_path(3), 0);
	for (i = 0; i < QPS; i++)
		write_by(q[i], LONG);
	for (i = 0; i < 4; i++) /* work requests are fetched */
		unic_proc_take(&ra.nic.command, i % PROCS);
	ra.port.no_dma = true;
	for (i = 0; i < 8; i++) {
		unic_nic_poll(&ra.nic);
		seen |= ra.nic.order.full;
	}
	ra.port.no_dma = false;
	ra.port.late_dma =
		true; /* more frames are filled than there are jobs */
	for (i = 0; i < 400 && !seen; i++) {
		unic_nic_poll(&ra.nic);
		seen |= ra.nic.order.full;
		if (i % 2)
			fake_dma_run(&ra.port, 1);
	}
	ra.port.no_dma = true; /* what is left of the messages cannot be read */
	for (i = 0; i < 8; i++) {
		unic_nic_poll(&ra.nic);
		seen |= ra.nic.order.full;
	}
	assert_int_equal(seen, 1u << fake_path(3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_of_a_read_is_owed),
		cmocka_unit_test(who_is_given_back_has_its_turn),
		cmocka_unit_test(an_evicted_read_is_not_owed),
		cmocka_unit_test(debts_have_a_bound),
		cmocka_unit_test(a_read_has_a_bound),
		cmocka_unit_test(want_of_room_is_forgotten),
		cmocka_unit_test(a_flush_costs_a_turn),
		cmocka_unit_test(an_acknowledgement_costs_a_frame),
		cmocka_unit_test(turns_for_nothing_are_charged),
		cmocka_unit_test(shortage_closes_no_destination),
		cmocka_unit_test(a_full_destination_holds_up_nobody),
		cmocka_unit_test(who_needs_no_room_goes_on),
		cmocka_unit_test(a_reply_without_room_holds_up_no_flush),
		cmocka_unit_test(a_full_destination_is_no_credit),
		cmocka_unit_test(scarce_room_goes_by_weight),
		cmocka_unit_test(one_at_a_time_gets_its_room_back),
		cmocka_unit_test(small_frames_take_no_room),
		cmocka_unit_test(idleness_is_no_credit),
		cmocka_unit_test(destinations_are_no_shares),
		cmocka_unit_test(reads_of_a_peer_are_charged),
		cmocka_unit_test(reads_leave_its_own_process_half),
		cmocka_unit_test(all_replies_come_first),
		cmocka_unit_test(weights_change),
		cmocka_unit_test(weights_have_no_bound),
		cmocka_unit_test(small_frames_cost_what_they_take),
		cmocka_unit_test(reads_cost_what_they_ask_for),
		cmocka_unit_test(reads_are_paid_for_once),
		cmocka_unit_test(a_refused_read_is_not_owed),
		cmocka_unit_test(a_slot_comes_without_debt),
		cmocka_unit_test(a_slot_comes_at_the_time_of_its_path),
		cmocka_unit_test(receiving_leaves_time_to_send),
		cmocka_unit_test(a_waiting_invalidation_holds_up_nobody),
		cmocka_unit_test(who_waits_does_not_wait_for_others),
		cmocka_unit_test(a_silent_queue_pair_reads_no_list),
		cmocka_unit_test(a_blocked_queue_pair_reads_no_list),
		cmocka_unit_test(lists_are_read_for_all_processes),
		cmocka_unit_test(another_process_reads_next),
		cmocka_unit_test(a_full_destination_costs_nothing),
		cmocka_unit_test(a_full_destination_makes_nothing_cheap),
		cmocka_unit_test(replies_come_first),
		cmocka_unit_test(who_waits_can_go),
		cmocka_unit_test(the_next_reader_can_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_sched_charge.c - what the send scheduler charges a process for: its
 * READs and those of a peer, small frames, flushes, acknowledgements and turns
 * without a frame; credit for failed READs, and the bound of a debt.
 */
#include "unit.h"

#include "sched_rig.h"
#include "transport/requester_rx.h"
#include "transport/responder.h"
#include "transport/responder_nak.h"

#define MS 1000000ull

/* A peer that reads over four queue pairs gets the share of the process that it
 * reads from, not all of the link. */
static void reads_of_a_peer_are_charged(void **state)
{
	uint32_t q[4], w, i, polls;

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 4; i++)
		q[i] = sched_connect(false, 0);
	w = sched_connect(false, 1);
	for (polls = 0; sched_frames < 400 && polls < 4000; polls++) {
		struct unic_cqe cqe;

		if (sched_frames < 100)
			/* before both send */
			sched_sent[0] = sched_sent[1] = 0;

		for (i = 0; i < 4; i++) {
			struct rig_qp *b = &sched_far[q[i]];

			while (rig_cqe(&sched_b, b, &cqe))
				assert_int_equal(cqe.status, 0);
			while (b->sq_tail - sched_b.nic.qps.qp[b->qpn & 0xff]
						    .sq.una <
			       4)
				rig_send(&sched_b, b, UNIC_WR_READ, 1,
					 &sched_mb[0], 0, SCHED_LONG,
					 sched_ma[0].iova, sched_ma[0].stag);
		}
		sched_completed(w);
		while (sched_qa[w].sq_tail -
			       sched_a.nic.qps.qp[sched_qa[w].qpn & 0xff]
				       .sq.una <
		       14)
			sched_write(w, SCHED_LONG);
		sched_round();
		sched_a.port.now_ns += 100;
		sched_b.port.now_ns += 100;
	}
	assert_true(sched_frames >= 400);
	assert_in_range(sched_sent[1] * 100 / (sched_sent[0] + sched_sent[1]),
			45, 55);
}

/* A process whose memory is read by a peer sends both READ responses and its
 * own requests. */
static void reads_leave_its_own_process_half(void **state)
{
	uint32_t q, w, i, seen[2] = { 0 };
	struct unic_cqe cqe;

	(void)state;
	sched_up(1, 1, 1);
	q = sched_connect(false, 0);
	w = sched_connect(false, 0);
	for (i = 0; i < 4; i++)
		rig_send(&sched_b, &sched_far[q], UNIC_WR_READ, 1, &sched_mb[0],
			 0, SCHED_LONG, sched_ma[0].iova, sched_ma[0].stag);
	for (i = 0; i < 4; i++)
		sched_write(w, SCHED_LONG);
	unic_nic_poll(&sched_b.nic);
	for (i = 0; i < 300 && seen[0] + seen[1] < 4; i++) {
		sched_round();
		while (rig_cqe(&sched_b, &sched_far[q], &cqe))
			seen[0]++;
		seen[1] += sched_completed(w);
	}
	assert_true(seen[0] && seen[1]);
}

/* Small messages are charged for the processor time that they take, not for
 * their bytes: a flood of them gets its share only. */
static void small_frames_cost_what_they_take(void **state)
{
	uint32_t q[3], i, k, n[2] = { 0 };

	(void)state;
	sched_up(1, 1, 1);
	q[0] = sched_connect(false, 0);
	q[1] = sched_connect(false, 0);
	q[2] = sched_connect(false, 1);
	for (i = 0; i < 12; i++) {
		sched_write(q[0], 8);
		sched_write(q[1], 8);
		sched_write(q[2], SCHED_LONG);
	}
	sched_a.port.now_ns += 10 * MS; /* no path was full for long */
	for (i = 0; i < 30; i++)
		sched_round();
	for (k = 0; n[0] < 20; k++)
		n[sched_order[k]]++;
	assert_true(n[1] >= 5);
}

/* Small messages cost as much beside a destination that stays full: their
 * sender may have filled it. */
static void a_full_destination_makes_nothing_cheap(void **state)
{
	uint32_t c, q[3], i, k, n[2] = { 0 };

	(void)state;
	sched_up(1, 1, 1);
	sched_a.nic.link.slots = false;
	c = sched_connect(true, 0);
	q[0] = sched_connect(false, 0);
	q[1] = sched_connect(false, 0);
	q[2] = sched_connect(false, 1);
	fake_room(&sched_a.port, fake_path(3), 0);
	sched_write(c, SCHED_LONG);
	sched_stream(1u << q[2], SCHED_LONG, 64);
	for (i = 0; i < 10; i++) {
		sched_write(q[0], 8);
		sched_write(q[1], 8);
	}
	k = sched_frames;
	sched_stream(1u << q[2], SCHED_LONG, 80);
	for (; n[0] < 20; k++)
		n[sched_order[k]]++;
	assert_true(n[1] >= 16);
}

/* A READ is charged to the process that posts it: its payload comes on the
 * other direction of the link, but takes processor time. */
static void reads_cost_what_they_ask_for(void **state)
{
	uint32_t q[3], i, k, reads = 0, others = 0;

	(void)state;
	sched_up(1, 1, 1);
	q[0] = sched_connect(false, 0);
	q[1] = sched_connect(false, 0);
	q[2] = sched_connect(false, 1);
	for (i = 0; i < 4; i++)
		for (k = 0; k < 2; k++)
			rig_send(&sched_a, &sched_qa[q[k]], UNIC_WR_READ, 1,
				 &sched_ma[0], 0, SCHED_LONG, sched_mb[0].iova,
				 sched_mb[0].stag);
	for (i = 0; i < 12; i++)
		sched_write(q[2], SCHED_LONG);
	for (i = 0; i < 8; i++)
		unic_nic_poll(&sched_a.nic);
	for (k = 0; k < sched_frames && reads < 8; k++) {
		reads += sched_order[k] == 0;
		others += sched_order[k] == 1;
	}
	assert_int_equal(reads, 8);
	assert_true(others >= 40);
}

/* Repeats, @again times, a READ that the peer does not answer, alone or behind @writes. Returns how
 * many frames of another process are sent before the next frame of the requester. */
static uint32_t behind_a_read(uint32_t writes, uint32_t again)
{
	uint32_t w[2], q[2], i, k;
	const struct unic_qp_ctx *qp;
	struct rig_mr big;

	sched_up(1, 1, 1);
	q[0] = sched_connect(false, 0);
	q[1] = sched_connect(false, 0);
	qp = &sched_a.nic.qps.qp[sched_qa[q[1]].qpn & 0xff];
	w[0] = sched_connect(true, 1);
	w[1] = sched_connect(true, 1);
	assert_int_equal(rig_reg(&sched_a, 0, sched_pa[0], 16, 0, UNIC_REG_LIST,
				 0, &big),
			 0);
	sched_stream(1u << w[0] | 1u << w[1], SCHED_LONG, 64);
	sched_deaf = true;
	while (writes--)
		sched_write(q[0], 8);
	rig_send(&sched_a, &sched_qa[q[0]], UNIC_WR_READ, 1, &big, 0, 16 * 4096,
		 sched_mb[0].iova, sched_mb[0].stag);
	for (i = 0; i <= again; i++) {
		sched_stream(1u << w[0] | 1u << w[1], SCHED_LONG, 8);
		sched_a.nic.qps.qp[sched_qa[q[0]].qpn & 0xff].sq.timer_ns =
			i < again ? sched_a.nic.now_ns : UNIC_NEVER;
		sched_a.nic.qps.timer_ns = 0;
		sched_a.nic.timers_ns = 0;
	}
	sched_write(q[1], SCHED_LONG);
	k = sched_sent[1];
	while (qp->sq.psn == sched_qa[q[1]].psn)
		sched_stream(1u << w[0] | 1u << w[1], SCHED_LONG, 1);
	sched_deaf = false;
	return sched_sent[1] - k;
}

static void reads_are_paid_for_once(void **state)
{
	uint32_t writes;

	(void)state;
	for (writes = 0; writes < 2; writes++)
		assert_true(behind_a_read(writes, 3) <=
			    behind_a_read(writes, 0));
}

/* A READ with a wrong key is refused. Its process was charged for the whole
 * READ, and gets its share again from the NAK on. */
static void a_refused_read_is_not_owed(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr big;

	(void)state;
	sched_up(1, 1, 1);
	sched_connect(false, 0);
	sched_connect(false, 1);
	sched_connect(false, 1);
	assert_int_equal(rig_reg(&sched_a, 1, sched_pa[1], 48, 0, UNIC_REG_LIST,
				 0, &big),
			 0);
	sched_stream(1u << 0, SCHED_LONG, 32);
	rig_send(&sched_a, &sched_qa[1], UNIC_WR_READ, 1, &big, 0, 48 * 4096,
		 sched_mb[1].iova, sched_mb[1].stag ^ 1);
	sched_sent[0] = 0;
	while (!rig_cqe(&sched_a, &sched_qa[1], &cqe))
		sched_stream(1u << 0, SCHED_LONG, 1);
	assert_int_equal(cqe.status, UNIC_WC_REM_ACCESS_ERR);
	assert_in_range(sched_sent[0], 0, 90);
	sched_sent[0] = sched_sent[1] = 0;
	sched_stream(1u << 0 | 1u << 2, SCHED_LONG, 80);
	assert_in_range(sched_sent[1] * 100 / (sched_sent[0] + sched_sent[1]),
			40, 60);
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

	if (qpn != sched_far[1].qpn)
		sched_on_frame(port, f, len, flags);
}

/* Charges process 1 at the path to B for long READs, whose responses all arrive
 * while it is alone. */
static void owes_reads(void)
{
	struct rig_mr big, far;
	uint32_t i;

	sched_up(1, 1, 1);
	sched_connect(false, 0);
	sched_connect(false, 1);
	assert_int_equal(rig_reg(&sched_a, 1, sched_pa[1], 16, 0, UNIC_REG_LIST,
				 0, &big),
			 0);
	assert_int_equal(rig_reg(&sched_b, 1, sched_pb[1], 16, 0, UNIC_REG_LIST,
				 0, &far),
			 0);
	sched_stream(1u << 0, SCHED_LONG, 32);
	for (i = 0; i < 4; i++)
		rig_send(&sched_a, &sched_qa[1], UNIC_WR_READ, 1, &big, 0,
			 16 * 4096, far.iova, far.stag);
	sched_stream(1u << 0, SCHED_LONG, 32);
	for (i = 0; i < 4; i += sched_completed(1)) {
		sched_round();
		sched_a.port.now_ns += 100;
	}
}

/* The next process in a slot does not inherit the debt. */
static void a_slot_comes_without_debt(void **state)
{
	(void)state;
	owes_reads();
	comes_anew(&sched_a, 1, sched_pa, sched_ma);
	comes_anew(&sched_b, 1, sched_pb, sched_mb);
	sched_qps = 1;
	sched_connect(false, 1);
	sched_stream(1u << 0, SCHED_LONG, 8);
	sched_sent[0] = sched_sent[1] = 0;
	sched_stream(1u << 0 | 1u << 1, SCHED_LONG, 80);
	assert_in_range(sched_sent[1] * 100 / (sched_sent[0] + sched_sent[1]),
			40, 60);
}

static struct unic_qp_ctx *qp_of(uint32_t q)
{
	return &sched_a.nic.qps.qp[sched_qa[q].qpn & 0xff];
}

/* Process 1 sends a READ of 64 packets beside another process, and is charged
 * for it. */
static struct unic_sched_pair *charged_for_a_read(void)
{
	struct rig_mr big;

	sched_up(1, 1, 1);
	sched_connect(false, 0);
	sched_connect(false, 1);
	assert_int_equal(rig_reg(&sched_a, 1, sched_pa[1], 16, 0, UNIC_REG_LIST,
				 0, &big),
			 0);
	sched_a.port.on_frame = lose_of_second;
	sched_stream(1u << 0, SCHED_LONG, 32);
	rig_send(&sched_a, &sched_qa[1], UNIC_WR_READ, 1, &big, 0, 16 * 4096,
		 sched_mb[1].iova, sched_mb[1].stag);
	while (qp_of(1)->sq.psn == sched_qa[1].psn)
		sched_stream(1u << 0, SCHED_LONG, 1);
	return &sched_a.nic.order.path[fake_path(2)].pair[1];
}

/* The charge for packets of a READ that do not come is given back once, and by
 * no more than the debt. */
static void what_comes_of_a_read_is_owed(void **state)
{
	uint64_t packet = UNIC_COST_CPU + 1024, scale, tag;
	struct unic_sched_pair *pair = charged_for_a_read();
	struct unic_qp_ctx *qp = qp_of(1);
	struct unic_wr *wr = &qp->sq.wr[qp->sq.una % UNIC_QP_WINDOW];

	(void)state;
	tag = pair->tag;
	scale = sched_a.nic.order.scale[1];
	assert_true(tag - sched_a.nic.order.now >= 64 * packet * scale);
	qp->sq.psn_una = unic_psn_add(qp->sq.psn_una, 16);
	unic_sched_unread(&sched_a.nic.transport, qp, wr);
	assert_true(tag - pair->tag == 48 * packet * scale);
	tag = pair->tag;
	unic_sched_unread(&sched_a.nic.transport, qp, wr);
	assert_true(tag == pair->tag);
	pair->tag = sched_a.nic.order.now + 8; /* the rest was paid meanwhile */
	wr->slots |= UNIC_WR_PAID;
	unic_sched_unread(&sched_a.nic.transport, qp, wr);
	assert_true(pair->tag == sched_a.nic.order.now);
	pair->tag =
		sched_a.nic.order.now - 8; /* without debt there is no credit */
	wr->slots |= UNIC_WR_PAID;
	unic_sched_unread(&sched_a.nic.transport, qp, wr);
	assert_true(pair->tag == sched_a.nic.order.now - 8);
}

/* A process whose charge is given back moves ahead of a process whose debt was
 * smaller. */
static void who_is_given_back_has_its_turn(void **state)
{
	struct unic_sched_pair *pair = charged_for_a_read();
	struct unic_sched_path *path = &sched_a.nic.order.path[fake_path(2)];
	uint32_t q[SCHED_PROCS] = { 0, 1, sched_connect(false, 2) }, i;
	const uint16_t *above = &path->first.node[(UNIC_PROCS + 1) / 2];
	struct unic_qp_ctx *qp = qp_of(1);

	(void)state;
	for (i = 0; i < SCHED_PROCS; i++)
		unic_sched_drop(&sched_a.nic.transport,
				(uint16_t)(sched_qa[q[i]].qpn & 0xff));
	for (i = 0; i < SCHED_PROCS; i++)
		path->pair[i].tag = sched_a.nic.order.now - path->offset +
				    4096ull * sched_a.nic.order.scale[i];
	pair->tag += 4096ull * sched_a.nic.order.scale[1];
	for (i = 0; i < SCHED_PROCS; i++)
		unic_sched_send(&sched_a.nic.transport,
				(uint16_t)(sched_qa[q[i]].qpn & 0xff));
	assert_int_not_equal(*above, 1);
	unic_sched_unread(&sched_a.nic.transport, qp,
			  &qp->sq.wr[qp->sq.una % UNIC_QP_WINDOW]);
	assert_int_equal(*above, 1);
}

/* The charge for a READ of an evicted region is given back, too, although its
 * queue pair stays in RTS. */
static void an_evicted_read_is_not_owed(void **state)
{
	struct unic_sched_pair *pair = charged_for_a_read();
	uint64_t tag = pair->tag;

	(void)state;
	unic_requester_vack(&sched_a.nic.transport, qp_of(1),
			    qp_of(1)->sq.psn_una, UNIC_EV_EVICTED, 0);
	assert_int_equal(qp_of(1)->state, UNIC_QPS_RTS);
	assert_true(tag - pair->tag >=
		    64ull * 1024 * sched_a.nic.order.scale[1]);
}

/* The debt of a process is bounded. */
static void debts_have_a_bound(void **state)
{
	struct unic_sched_path *path = &sched_a.nic.order.path[fake_path(2)];
	uint32_t q[2], i;
	uint64_t most;

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 2; i++)
		q[i] = sched_connect(false, i);
	sched_stream(1u << q[0] | 1u << q[1], SCHED_LONG, 40);
	while (sched_is_busy(q[0], 1) || sched_is_busy(q[1], 1))
		sched_round();
	most = (uint64_t)UNIC_SCHED_DEBT * sched_a.nic.order.scale[1];
	path->pair[1].tag = sched_a.nic.order.now - path->offset + 5 * most;
	for (i = 0; i < 2; i++)
		unic_sched_send(&sched_a.nic.transport,
				(uint16_t)(sched_qa[q[i]].qpn & 0xff));
	assert_true(path->pair[1].tag ==
		    sched_a.nic.order.now - path->offset + most);
}

/* The charge of one READ is bounded, and so is the part given back. */
static void a_read_has_a_bound(void **state)
{
	struct unic_sched_path *path = &sched_a.nic.order.path[fake_path(2)];
	int32_t left = UNIC_SCHED_TURN;
	uint64_t most, tag;
	struct unic_qp_ctx *qp;
	struct unic_wr *wr;

	(void)state;
	sched_up(1, 1, 1);
	sched_connect(false, 0);
	sched_connect(false, 1);
	qp = qp_of(0);
	wr = &qp->sq.wr[qp->sq.una % UNIC_QP_WINDOW];
	sched_stream(1u << 1, SCHED_LONG, 40);
	fake_room(&sched_a.port, fake_path(2), 0);
	rig_send(&sched_a, &sched_qa[0], UNIC_WR_READ, 1, &sched_ma[0], 0,
		 SCHED_LONG, sched_mb[0].iova, sched_mb[0].stag);
	unic_nic_poll(&sched_a.nic);
	assert_int_equal(wr->npkt, SCHED_LONG / 1024);
	wr->npkt = 1u << 16; /* as if memory had room for that many packets */
	fake_room(&sched_a.port, fake_path(2), FAKE_NEVER_FULL);
	sched_a.nic.sched.cost = UNIC_COST_CPU;
	unic_requester_send(&sched_a.nic.transport,
			    (uint16_t)(sched_qa[0].qpn & 0xff), &left);
	assert_int_equal(UNIC_SCHED_TURN - left, UNIC_SCHED_DEBT);
	sched_a.nic.order.scale[0] = 1;
	most = UNIC_SCHED_DEBT;
	tag = sched_a.nic.order.now - path->offset + 2 * most;
	path->pair[0].tag = tag;
	unic_sched_unread(&sched_a.nic.transport, qp, wr);
	assert_true(tag - path->pair[0].tag == most);
}

/* A batch of flushed completions is charged as one turn. */
static void a_flush_costs_a_turn(void **state)
{
	int32_t left = 3 * UNIC_SCHED_TURN;
	uint32_t q;

	(void)state;
	sched_up(1, 1, 1);
	q = sched_connect(false, 0);
	sched_write(q, 8);
	unic_proc_take(&sched_a.nic.command, 0);
	unic_qp_error(&sched_a.nic.transport, qp_of(q), UNIC_WC_LOC_PROT_ERR);
	unic_requester_send(&sched_a.nic.transport,
			    (uint16_t)(sched_qa[q].qpn & 0xff), &left);
	assert_int_equal(left, 2 * UNIC_SCHED_TURN);
}

static void an_acknowledgement_costs_a_frame(void **state)
{
	int32_t left = UNIC_SCHED_TURN;
	uint32_t q;

	(void)state;
	sched_up(1, 1, 1);
	q = sched_connect(false, 0);
	unic_responder_owe_ack(&sched_a.nic.transport, qp_of(q));
	unic_responder_reply(&sched_a.nic.transport,
			     (uint16_t)(sched_qa[q].qpn & 0xff), &left);
	assert_int_equal(left,
			 UNIC_SCHED_TURN - (int32_t)sched_a.nic.sched.cost);
}

/* Turns without any frame are charged to the process, too. */
static void turns_for_nothing_are_charged(void **state)
{
	const struct unic_sched_pair *pair;
	uint32_t q[2], i;
	uint64_t before;

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 2; i++) {
		q[i] = sched_connect(false, 0);
		rig_poll(&sched_a);
	}
	pair = &sched_a.nic.order.path[fake_path(2)].pair[0];
	for (i = 0; i < 2; i++)
		unic_sched_send(&sched_a.nic.transport,
				(uint16_t)(sched_qa[q[i]].qpn & 0xff));
	before = pair->tag;
	unic_sched_run(&sched_a.nic.transport);
	assert_true(pair->tag - before >=
		    2ull * UNIC_COST_IDLE * sched_a.nic.order.scale[0]);
	assert_int_equal(sched_a.nic.sched.work, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_of_a_read_is_owed),
		cmocka_unit_test(who_is_given_back_has_its_turn),
		cmocka_unit_test(an_evicted_read_is_not_owed),
		cmocka_unit_test(debts_have_a_bound),
		cmocka_unit_test(a_read_has_a_bound),
		cmocka_unit_test(a_flush_costs_a_turn),
		cmocka_unit_test(an_acknowledgement_costs_a_frame),
		cmocka_unit_test(turns_for_nothing_are_charged),
		cmocka_unit_test(reads_of_a_peer_are_charged),
		cmocka_unit_test(reads_leave_its_own_process_half),
		cmocka_unit_test(small_frames_cost_what_they_take),
		cmocka_unit_test(reads_cost_what_they_ask_for),
		cmocka_unit_test(reads_are_paid_for_once),
		cmocka_unit_test(a_refused_read_is_not_owed),
		cmocka_unit_test(a_slot_comes_without_debt),
		cmocka_unit_test(a_full_destination_makes_nothing_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

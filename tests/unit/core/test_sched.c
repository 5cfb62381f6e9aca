/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_sched.c - which queue pair sends next when not all can send:
 * destinations without room, shares of the link and of a round, replies to a
 * peer (INV-21).
 */
#include "unit.h"

#include "sched_rig.h"

#define MS 1000000ull

/* Of @all frames a process with @weight of @weights sent @sent: at least 90 % of
 * its share (INV-21). */
static void assert_share(uint32_t sent, uint32_t all, uint32_t weight,
			 uint32_t weights)
{
	assert_true(sent * weights * 10 >= all * weight * 9);
}

/* The first two processes, with weights @w0 and @w1, sent all there is. */
static void assert_shares(uint32_t w0, uint32_t w1)
{
	uint32_t all = sched_sent[0] + sched_sent[1];

	assert_share(sched_sent[0], all, w0, w0 + w1);
	assert_share(sched_sent[1], all, w1, w0 + w1);
}

/* While C takes no frames, frames of any process to B arrive; frames to C
 * arrive when C takes frames again. */
static void a_full_destination_holds_up_nobody(void **state)
{
	uint32_t q[4], i;

	(void)state;
	sched_up(1, 1, 1);
	q[0] = sched_connect(true, 0);
	q[1] = sched_connect(false, 0);
	q[2] = sched_connect(true, 1);
	q[3] = sched_connect(false, 1);
	fake_room(&sched_a.port, fake_path(3), 0);
	for (i = 0; i < 4; i++)
		sched_write(q[i], SCHED_LONG);
	for (i = 0; i < 20; i++)
		sched_round();
	assert_int_equal(sched_completed(q[1]), 1);
	assert_int_equal(sched_completed(q[3]), 1);
	assert_int_equal(sched_completed(q[0]) + sched_completed(q[2]), 0);
	fake_room(&sched_a.port, fake_path(3), FAKE_NEVER_FULL);
	for (i = 0; i < 20; i++)
		sched_round();
	assert_int_equal(sched_completed(q[0]), 1);
	assert_int_equal(sched_completed(q[2]), 1);
	assert_int_equal(rig_count(&sched_a, retransmits), 0);
}

/* Moves queue pair @q, whose destination C is full, to the error state: it
 * flushes its request. */
static void flushes(uint32_t q)
{
	struct unic_cqe cqe;
	uint32_t i;

	sched_set_error(&sched_qa[q]);
	for (i = 0; i < 20; i++)
		unic_nic_poll(&sched_a.nic);
	assert_true(rig_cqe(&sched_a, &sched_qa[q], &cqe));
	assert_int_equal(cqe.status, UNIC_WC_WR_FLUSH_ERR);
}

/* A process that waits for room at C, and is first in line, does not delay a
 * flush of another process, which needs no room. */
static void who_needs_no_room_goes_on(void **state)
{
	uint32_t a, b;

	(void)state;
	sched_up(1, 1, 1);
	a = sched_connect(true, 0);
	b = sched_connect(true, 1);
	fake_room(&sched_a.port, fake_path(3), 0);
	sched_write(a, SCHED_LONG);
	sched_round();
	sched_write(b, SCHED_LONG);
	sched_round();
	flushes(b);
}

/* A queue pair that owes C an acknowledgement, and has no room for it, does not
 * delay a flush of another queue pair of its process. */
static void a_reply_without_room_holds_up_no_flush(void **state)
{
	uint32_t a, b, i;

	(void)state;
	sched_up(1, 1, 1);
	a = sched_connect(true, 0);
	b = sched_connect(true, 0);
	fake_room(&sched_a.port, fake_path(3), 0);
	rig_send(&sched_c, &sched_far[a], UNIC_WR_WRITE, 1, &sched_mc[0], 0, 8,
		 sched_ma[0].iova, sched_ma[0].stag);
	unic_nic_poll(&sched_c.nic);
	sched_write(b, SCHED_LONG);
	for (i = 0; i < 5; i++)
		unic_nic_poll(&sched_a.nic);
	flushes(b);
}

/* Microseconds until A looks again at what it could not do once @us have passed. */
static uint32_t looks_after_us(uint32_t us)
{
	sched_a.port.now_ns += us * 1000u;
	return (uint32_t)((rig_poll(&sched_a) - sched_a.port.now_ns) / 1000u);
}

/* While C takes no frames, A looks at the full link less and less often, and after
 * 1 ms at the latest; where C takes some, A is back soon. */
static void a_full_link_is_looked_at_ever_less(void **state)
{
	uint64_t before;
	uint32_t i;

	(void)state;
	sched_up(1, 1, 1);
	(void)sched_connect(true, 0);
	rig_run(&sched_a, 10 * MS);
	sched_frames = 0;
	fake_room(&sched_a.port, fake_path(3), 0);
	for (i = 0; i < 8; i++)
		sched_write(0, SCHED_LONG);
	rig_run(&sched_a, 10 * MS);
	before = rig_count(&sched_a, sleeps);
	rig_run(&sched_a, 10 * MS);
	assert_in_range(rig_count(&sched_a, sleeps) - before, 10, 20);
	assert_in_range(looks_after_us(0), 100, 1000);
	fake_room(&sched_a.port, fake_path(3), 1);
	assert_int_equal(looks_after_us(0), 50);
	assert_int_equal(looks_after_us(60), 60);
	assert_int_equal(looks_after_us(140), 200);
	assert_int_equal(sched_frames, 1);
}

/* An event that the driver has no room for is looked at again soon, however long the
 * link to C has been full. */
static void a_full_link_delays_no_event(void **state)
{
	struct unic_evt_obj evt = { .hdr.type = UNIC_EVT_QP_ERROR };
	struct unic_transport *nic = &sched_a.nic.transport;
	uint32_t dies;

	(void)state;
	sched_up(1, 1, 1);
	(void)sched_connect(true, 0);
	dies = sched_connect(false, 0);
	fake_room(&sched_a.port, fake_path(3), 0);
	sched_write(0, SCHED_LONG);
	rig_run(&sched_a, 10 * MS + MS / 2); /* not when a beat is due */
	assert_in_range(looks_after_us(0), 100, 1000);
	while (unic_mbox_event(&sched_a.nic.base, &evt))
		evt.hdr.type = UNIC_EVT_QP_ERROR;
	unic_qp_error(nic, &nic->qps.qp[sched_qa[dies].qpn & 0xff],
		      UNIC_WC_LOC_BUS_ERR);
	assert_in_range(looks_after_us(0), 1, 50);
}

/* Messages that wait for room at C do not reduce what their process sends
 * to B. */
static void a_full_destination_costs_nothing(void **state)
{
	uint32_t c, q[2];

	(void)state;
	sched_up(1, 1, 1);
	c = sched_connect(true, 0);
	q[0] = sched_connect(false, 0);
	q[1] = sched_connect(false, 1);
	fake_room(&sched_a.port, fake_path(3), 0);
	sched_stream(1u << c | 1u << q[0] | 1u << q[1], SCHED_LONG, 400);
	assert_in_range(sched_sent[0], 180, 220);
}

/* Processes that send to C gain no credit while C takes no frames: afterwards
 * the others still have their share. */
static void a_full_destination_is_no_credit(void **state)
{
	uint32_t c, b, before, start;

	(void)state;
	sched_up(1, 1, 1);
	c = sched_connect(true, 0);
	b = sched_connect(false, 1);
	fake_room(&sched_a.port, fake_path(3), 0);
	sched_stream(1u << c | 1u << b, SCHED_LONG, 400);
	assert_int_equal(sched_sent[0], 0);
	fake_room(&sched_a.port, fake_path(3), FAKE_NEVER_FULL);
	before = sched_sent[1];
	start = sched_frames;
	sched_stream(1u << c | 1u << b, SCHED_LONG, 90);
	assert_share(sched_sent[1] - before, sched_frames - start, 1, 2);
	assert_share(sched_sent[0], sched_frames - start, 1, 2);
}

/* Two processes wait for room at C, which has little, while a third one sends
 * as much as it can to B: the two share the room by their weights. */
static void scarce_room_goes_by_weight(void **state)
{
	uint32_t heavy, light, other, i;

	(void)state;
	sched_up(3, 1, 1);
	light = sched_connect(true, 1);
	heavy = sched_connect(true, 0);
	other = sched_connect(false, 2);
	fake_room(&sched_a.port, fake_path(3), 0);
	for (i = 0; i < 120; i++) {
		sched_stream(1u << heavy | 1u << light | 1u << other,
			     SCHED_LONG, 8);
		fake_room(&sched_a.port, fake_path(3), 1);
	}
	assert_in_range(sched_sent[0] + sched_sent[1], 100, 140);
	assert_shares(3, 1);
}

/* Two processes share the little room of C, and one of them posts one frame at
 * a time: of the room there is while it has one, it gets its share. Frames of a
 * third process to B make no difference, nor does it matter whether slots or time
 * are scarce, as all frames have one length. */
static void one_at_a_time_gets_its_room_back(void **state)
{
	uint32_t q, with, i, got[4], room;

	(void)state;
	for (with = 0; with < 4; with++) {
		sched_up(1, 1, 1);
		sched_a.nic.link.slots = with < 2;
		sched_connect(true, 0);
		sched_connect(true, 1);
		sched_connect(false, 2);
		fake_room(&sched_a.port, fake_path(3), 0);
		for (i = room = 0; i < 600; i++) {
			sched_frames = 0;
			for (q = 0; q < sched_qps; q++) {
				sched_completed(q);
				while (!sched_is_busy(q, q == 1 ? 1 : 12) &&
				       (q < 2 || with % 2))
					sched_write(q,
						    q == 1 ? 1024 : SCHED_LONG);
			}
			room += sched_qa[1].sq_tail > sched_sent[1];
			fake_room(&sched_a.port, fake_path(3), 1);
			sched_round();
			sched_a.port.now_ns += 100;
		}
		got[with] = sched_sent[1];
		assert_true(room > 300);
		assert_share(got[with], room, 1, 2);
	}
	for (i = 0; i < 4; i += 2)
		assert_true(got[i + 1] >= got[i] * 9 / 10);
}

/* Two processes share the little room of C, one with small messages and one
 * with long ones. Returns the share of frames of the second, in per cent. */
static uint32_t long_beside_small(bool slots)
{
	uint32_t q, i;

	sched_up(1, 1, 1);
	sched_a.nic.link.slots = slots;
	sched_connect(true, 0);
	sched_connect(true, 0);
	sched_connect(true, 1);
	fake_room(&sched_a.port, fake_path(3), 0);
	for (i = 0; i < 600; i++) {
		sched_frames = 0;
		for (q = 0; q < sched_qps; q++) {
			sched_completed(q);
			while (!sched_is_busy(q, 14))
				sched_write(q, q == 2 ? SCHED_LONG : 8);
		}
		fake_room(&sched_a.port, fake_path(3), 1);
		sched_round();
		sched_a.port.now_ns += 100;
	}
	assert_in_range(sched_sent[0] + sched_sent[1], 550, 600);
	return sched_sent[1] * 100 / (sched_sent[0] + sched_sent[1]);
}

/* Where slots of the link are scarce, each process gets half of them; where
 * time on the wire is, each gets half of it, and a small frame takes a tenth of
 * the time of a long one. */
static void small_frames_take_no_room(void **state)
{
	(void)state;
	assert_in_range(long_beside_small(true), 48, 52);
	assert_in_range(long_beside_small(false), 7, 12);
}

/* A process that had nothing to send gets its share afterwards, and no more. */
static void idleness_is_no_credit(void **state)
{
	uint32_t q[3], before, start, i;

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = sched_connect(false, i);
	sched_stream(1u << q[0] | 1u << q[1] | 1u << q[2], SCHED_LONG, 60);
	sched_stream(1u << q[0] | 1u << q[1], SCHED_LONG, 400);
	before = sched_sent[2];
	start = sched_frames;
	sched_stream(1u << q[0] | 1u << q[1] | 1u << q[2], SCHED_LONG, 90);
	assert_share(sched_sent[2] - before, sched_frames - start, 1, 3);
	assert_true((sched_sent[2] - before) * 10 <=
		    (sched_frames - start) * 4); /* or others have less */
}

/* With two destinations a process gets no more than with one. */
static void destinations_are_no_shares(void **state)
{
	uint32_t q[3];

	(void)state;
	sched_up(1, 1, 1);
	q[0] = sched_connect(false, 0);
	q[1] = sched_connect(true, 0);
	q[2] = sched_connect(false, 1);
	sched_stream(1u << q[0] | 1u << q[1] | 1u << q[2], SCHED_LONG, 400);
	assert_in_range(sched_sent[0], 180, 220);
}

/* The BTH opcode of the first frame that goes out. */
static uint8_t first_opcode;

static void note_first(struct unic_port *port, const uint8_t *f, uint32_t len,
		       uint32_t flags)
{
	first_opcode = first_opcode ? first_opcode : f[42];
	sched_on_frame(port, f, len, flags);
}

/* Replies to a peer are sent before a process's requests, in one turn. */
static void replies_come_first(void **state)
{
	uint32_t q[2];

	(void)state;
	sched_up(1, 1, 1);
	q[0] = sched_connect(false, 0);
	q[1] = sched_connect(false, 0);
	rig_send(&sched_b, &sched_far[q[0]], UNIC_WR_WRITE, 1, &sched_mb[0], 0,
		 8, sched_ma[0].iova, sched_ma[0].stag);
	unic_nic_poll(&sched_b.nic);
	sched_write(q[1], SCHED_LONG);
	first_opcode = 0;
	sched_a.port.on_frame = note_first;
	unic_nic_poll(&sched_a.nic);
	assert_int_equal(first_opcode, UNIC_OP_ACK);
}

static uint8_t opcodes[3];

static uint32_t noted;

static void note_some(struct unic_port *port, const uint8_t *f, uint32_t len,
		      uint32_t flags)
{
	if (noted < sizeof(opcodes))
		opcodes[noted++] = f[42];
	sched_on_frame(port, f, len, flags);
}

/* All replies of a process are sent before its first request. */
static void all_replies_come_first(void **state)
{
	uint32_t q[3], i;

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = sched_connect(false, 0);
	for (i = 0; i < 2; i++)
		rig_send(&sched_b, &sched_far[q[i]], UNIC_WR_WRITE, 1,
			 &sched_mb[0], 0, 8, sched_ma[0].iova,
			 sched_ma[0].stag);
	unic_nic_poll(&sched_b.nic);
	sched_write(q[2], SCHED_LONG);
	noted = 0;
	sched_a.port.on_frame = note_some;
	unic_nic_poll(&sched_a.nic);
	assert_int_equal(noted, 3);
	assert_int_equal(opcodes[0], UNIC_OP_ACK);
	assert_int_equal(opcodes[1], UNIC_OP_ACK);
	assert_int_equal(opcodes[2], UNIC_OP_WRITE_FIRST);
}

/* Sets the weight of a process while nothing is under way. */
static void set_weight(uint32_t proc, uint32_t weight)
{
	struct unic_cmd_proc_set cmd = { .proc = unic_to_le32(proc),
					 .weight = unic_to_le32(weight) };

	while (sched_is_busy(0, 1) || sched_is_busy(1, 1))
		sched_round();
	assert_int_equal(rig_cmd(&sched_a, UNIC_CMD_PROC_SET, &cmd, NULL), 0);
}

/* A changed weight takes effect at once, up and down. */
static void weights_change(void **state)
{
	uint32_t q[2];

	(void)state;
	sched_up(1, 1, 1);
	q[0] = sched_connect(false, 0);
	q[1] = sched_connect(false, 1);
	sched_stream(1u << q[0] | 1u << q[1], SCHED_LONG, 440);
	assert_shares(1, 1);
	set_weight(0, 4);
	memset(sched_sent, 0, sizeof(sched_sent));
	sched_stream(1u << q[0] | 1u << q[1], SCHED_LONG, 440);
	assert_shares(4, 1);
	set_weight(0, 1);
	set_weight(1, 4);
	memset(sched_sent, 0, sizeof(sched_sent));
	sched_stream(1u << q[0] | 1u << q[1], SCHED_LONG, 440);
	assert_shares(1, 4);
}

/* Weights of any size divide the link in proportion. */
static void weights_have_no_bound(void **state)
{
	uint32_t q[2];

	(void)state;
	sched_up(10000, 1000, 1);
	q[0] = sched_connect(false, 0);
	q[1] = sched_connect(false, 1);
	sched_stream(1u << q[0] | 1u << q[1], SCHED_LONG, 440);
	assert_shares(10, 1);
}

/* A process that takes a slot starts at the virtual time of each path, which
 * stands still while the path is full. */
static void a_slot_comes_at_the_time_of_its_path(void **state)
{
	struct unic_sched_order *s = &sched_a.nic.order;

	(void)state;
	sched_up(1, 1, 1);
	s->now = 5000;
	s->path[0].offset = 1000;
	unic_sched_proc_new(&sched_a.nic.transport, 2);
	assert_true(s->path[0].pair[2].tag == 4000);
	s->full = 1;
	s->path[0].stopped = 3000;
	unic_sched_proc_new(&sched_a.nic.transport, 2);
	assert_true(s->path[0].pair[2].tag == 2000);
}

/* While there are requests to send, received frames take half of a round's
 * burst, even if frames arrive without end. */
static void receiving_leaves_time_to_send(void **state)
{
	static const uint8_t nothing[60] = { 2, 0, 0, 0, 0, 1 };
	uint32_t i, k, taken[2];

	(void)state;
	sched_up(1, 1, 1);
	for (k = 0; k < 2; k++) {
		for (i = 0; i < UNIC_RX_BATCH; i++)
			fake_deliver(&sched_a.port, nothing, sizeof(nothing),
				     0);
		taken[k] = sched_a.port.rx_done;
		unic_nic_poll(&sched_a.nic);
		taken[k] = sched_a.port.rx_done - taken[k];
		rig_poll(&sched_a);
		if (k)
			break;
		fake_room(&sched_a.port, fake_path(3), 0);
		sched_write(sched_connect(true, 0), SCHED_LONG);
		unic_nic_poll(&sched_a.nic);
	}
	assert_int_equal(taken[0], UNIC_RX_BATCH);
	assert_int_equal(taken[1], UNIC_RX_BATCH / 2);
}

/* A destination without room does not mark another destination full that waits
 * for DMA only. */
static void want_of_room_is_forgotten(void **state)
{
	uint32_t q[3], i, k;

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < 3; i++)
		q[i] = sched_connect(i == 0, i);
	fake_room(&sched_a.port, fake_path(3), 0);
	for (i = 0; i < 3; i++)
		for (k = 0; k < 12; k++)
			sched_write(q[i], SCHED_LONG);
	unic_nic_poll(&sched_a.nic);
	unic_nic_poll(&sched_a.nic);
	assert_int_equal(sched_a.nic.order.full, 1u << fake_path(3));
	assert_true(sched_is_busy(q[1], 1) && sched_is_busy(q[2], 1));
	sched_a.port.no_dma = true;
	for (i = 0; i < 8; i++) {
		unic_nic_poll(&sched_a.nic);
		assert_int_equal(sched_a.nic.order.full & 1u << fake_path(2),
				 0);
	}
	assert_true(sched_is_busy(q[1], 1) && sched_is_busy(q[2], 1));
}

/* A destination is full when it has no room, not when DMA or a transmit job is
 * missing. */
static void shortage_closes_no_destination(void **state)
{
	uint32_t q[SCHED_QPS], i, seen = 0;

	(void)state;
	sched_up(1, 1, 1);
	for (i = 0; i < SCHED_QPS; i++)
		q[i] = sched_connect(i == 0, i % SCHED_PROCS);
	fake_room(&sched_a.port, fake_path(3), 0);
	for (i = 0; i < SCHED_QPS; i++)
		sched_write(q[i], SCHED_LONG);
	for (i = 0; i < 4; i++) /* work requests are fetched */
		unic_proc_take(&sched_a.nic.command, i % SCHED_PROCS);
	sched_a.port.no_dma = true;
	for (i = 0; i < 8; i++) {
		unic_nic_poll(&sched_a.nic);
		seen |= sched_a.nic.order.full;
	}
	sched_a.port.no_dma = false;
	sched_a.port.late_dma =
		true; /* more frames are filled than there are jobs */
	for (i = 0; i < 400 && !seen; i++) {
		unic_nic_poll(&sched_a.nic);
		seen |= sched_a.nic.order.full;
		if (i % 2)
			fake_dma_run(&sched_a.port, 1);
	}
	sched_a.port.no_dma =
		true; /* the rest of the messages cannot be read */
	for (i = 0; i < 8; i++) {
		unic_nic_poll(&sched_a.nic);
		seen |= sched_a.nic.order.full;
	}
	assert_int_equal(seen, 1u << fake_path(3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(want_of_room_is_forgotten),
		cmocka_unit_test(shortage_closes_no_destination),
		cmocka_unit_test(a_full_destination_holds_up_nobody),
		cmocka_unit_test(who_needs_no_room_goes_on),
		cmocka_unit_test(a_reply_without_room_holds_up_no_flush),
		cmocka_unit_test(a_full_link_is_looked_at_ever_less),
		cmocka_unit_test(a_full_link_delays_no_event),
		cmocka_unit_test(a_full_destination_is_no_credit),
		cmocka_unit_test(scarce_room_goes_by_weight),
		cmocka_unit_test(one_at_a_time_gets_its_room_back),
		cmocka_unit_test(small_frames_take_no_room),
		cmocka_unit_test(idleness_is_no_credit),
		cmocka_unit_test(destinations_are_no_shares),
		cmocka_unit_test(all_replies_come_first),
		cmocka_unit_test(weights_change),
		cmocka_unit_test(weights_have_no_bound),
		cmocka_unit_test(a_slot_comes_at_the_time_of_its_path),
		cmocka_unit_test(receiving_leaves_time_to_send),
		cmocka_unit_test(a_full_destination_costs_nothing),
		cmocka_unit_test(replies_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

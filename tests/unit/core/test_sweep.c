/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_sweep.c - the sweep of receive queues of the largest size for evicted
 * regions: each receive completes once, a round looks at a few receives, and no
 * message is lost.
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "pair.h"
#include "transport/rq_ahead.h"

#define MS     1000000ull
#define SLOTS  UNIC_QP_SLOTS
#define CQES   (2u * UNIC_QP_SLOTS)
#define GONE   20u /* more regions than the sweep has places for */
#define WINDOW UNIC_RQ_WINDOW
/* The rounds that a lap of the sweep takes. */
#define LAP (UNIC_QPS + 2u + SLOTS / WINDOW + SLOTS * 64u / 4096u)

/* A queue pair of NIC B with a receive ring of the largest size. */
static struct rig_qp from, big;
static struct unic_rq_slot *ring;
static const struct unic_cqe *cqes;
static struct rig_mr gone[GONE];
static uint32_t posted, taken;
/* Per receive: how often it completed, with which status, and its STag. */
static struct {
	uint8_t seen, status;
	uint32_t stag;
} recv[5u * SLOTS];

static uint32_t pages(uint32_t bytes)
{
	return (bytes + 4095u) / 4096u;
}

static void big_cq(const struct rig_mr *mr, uint32_t off, uint32_t row)
{
	struct unic_cmd_cq_create cq = {
		.pd = unic_to_le32(qb.pd),
		.entries = unic_to_le32(CQES),
		.db_index = unic_to_le32(row),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova + off),
	};
	struct unic_cpl_obj cpl;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_CQ_CREATE, &cq, &cpl), 0);
	big.cq = unic_from_le32(cpl.id);
	cqes = (const void *)(mr->mem + off);
}

/* Registers @n pages of 4 KiB as few large ones, because entries are few. */
static void reg_rings(uint32_t n, struct rig_mr *out)
{
	uint32_t i, first = (rb.next_page[0] + 15u) & ~15u,
		    large = (n + 15) / 16;
	uint64_t *list =
		(uint64_t *)(rb.port.bar + UNIC_BAR_LIST_OFF +
			     rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	struct unic_cpl_mr_reg cpl;
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(qb.pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_CONTROL,
		.page_shift = 16,
		.iova = unic_to_le64(0x40000000),
		.length = unic_to_le64(large * 65536ull),
		.n_pages = unic_to_le32(large),
		.flags = UNIC_REG_LIST,
	};

	rb.next_page[0] = first + n;
	assert_in_range(first + n, n, FAKE_WINDOW_BYTES / 4096);
	for (i = 0; i < large; i++)
		list[i] = UNIC_BUS(0, (first + 16 * i) * 4096ull);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REG, &cmd, &cpl), 0);
	*out = (struct rig_mr){ .mr = unic_from_le32(cpl.mr),
				.gen = unic_from_le32(cpl.gen),
				.stag = unic_from_le32(cpl.stag),
				.iova = 0x40000000,
				.mem = rb.port.window[0] + first * 4096 };
}

/* Creates @big with the largest rings, connected to @from. */
static void make_big(uint32_t row)
{
	struct unic_cmd_qp_create create = {
		.pd = unic_to_le32(qb.pd),
		.sq_slots = unic_to_le16(2),
		.rq_slots = unic_to_le16(SLOTS),
		.db_index = unic_to_le32(row),
	};
	uint32_t rq = pages(SLOTS * 64u), cq = pages(CQES * 32u);
	struct unic_cpl_obj cpl;
	struct rig_mr rings;

	reg_rings(1 + rq + cq, &rings);
	memset(rings.mem, 0, (1 + rq + cq) * 4096u);
	big = qb;
	big.row = row;
	big_cq(&rings, (1 + rq) * 4096u, row);
	create.stag = unic_to_le32(rings.stag);
	create.sq_iova = unic_to_le64(rings.iova);
	create.rq_iova = unic_to_le64(rings.iova + 4096);
	create.send_cq = create.recv_cq = unic_to_le32(big.cq);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_CREATE, &create, &cpl), 0);
	big.qpn = unic_from_le32(cpl.id);
	ring = (void *)(rings.mem + 4096);
	rig_qp(&ra, 0, qa.pd, row, &from);
	rig_connect(&ra, &from, &rb, &big);
	posted = taken = 0;
	memset(recv, 0, sizeof(recv));
}

static int up(void **state)
{
	(void)state;
	pair_up();
	make_big(7);
	return 0;
}

static void message_regions(uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
					 UNIC_REG_LIST, 0, &gone[i]),
				 0);
}

static void post(const struct rig_mr *mr, uint32_t len)
{
	ring[posted % SLOTS] = (struct unic_rq_slot){
		.num_sge = 1,
		.wr_id = unic_to_le64(posted),
		.sge[0].iova = unic_to_le64(mr->iova),
		.sge[0].len = unic_to_le32(len),
		.sge[0].lkey = unic_to_le32(mr->stag),
	};
	recv[posted++].stag = mr->stag;
}

static void ring_bell(void)
{
	rig_ring(&rb, 0, UNIC_DB_RQ, big.row, posted);
	rig_poll(&rb);
}

static void evict(const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
}

/* Takes the completions since the last call. Returns their number. */
static uint32_t take(void)
{
	struct unic_db_page *db = (void *)rb.port.window[0];
	uint32_t n, i;

	for (n = 0;; n++, taken++) {
		const struct unic_cqe *c = &cqes[taken % CQES];

		if (unic_from_le32(c->seq) != taken + 1)
			break;
		i = (uint32_t)unic_from_le64(c->wr_id);
		recv[i].seen++;
		recv[i].status = c->status;
	}
	db->tail[big.row].cq_ci = unic_to_le32(taken);
	return n;
}

/* Receives @first to @end - 1 must have completed EVICTED, each once, and no
 * other receive. */
static void evicted(uint32_t first, uint32_t end)
{
	uint32_t i;

	for (i = 0; i < posted; i++) {
		bool one = i >= first && i < end;

		assert_int_equal(
			recv[i].seen && recv[i].status == UNIC_WC_EVICTED, one);
		assert_in_range(recv[i].seen, one, 1);
	}
}

/* Returns the rounds until the sweep ends; each completes WINDOW receives at
 * most. */
static uint32_t sweep_by_rounds(void)
{
	uint32_t n;

	for (n = 0; rb.nic.revoked.n && n < 8 * LAP; n++) {
		unic_nic_poll(&rb.nic);
		assert_in_range(take(), 0, WINDOW);
	}
	return n;
}

/* More regions end in one step than the sweep has places for: the step itself
 * looks at no receive, each round looks at a few, and all are found. */
static void a_round_looks_at_a_few(void **state)
{
	uint32_t i;

	(void)state;
	message_regions(GONE);
	for (i = 0; i < SLOTS; i++)
		post(&gone[i % GONE], 64);
	ring_bell();
	rb.port.late_dma = true; /* the ring cannot be read */
	for (i = 0; i < GONE; i++)
		evict(&gone[i]);
	assert_in_range(take(), 0, WINDOW);
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, FAKE_PENDING);
	assert_in_range(sweep_by_rounds(), SLOTS / WINDOW - 1, 2 * LAP);
	rig_poll(&rb);
	take();
	evicted(0, SLOTS);
	assert_false(rb.nic.chores);
}

/* unic_revoked_add() itself completes no receive, even when the whole ring can
 * be read at once. */
static void naming_one_more_sweeps_nothing(void **state)
{
	uint32_t i;

	(void)state;
	message_regions(GONE);
	for (i = 0; i < SLOTS; i++)
		post(&gone[i % GONE], 64);
	ring_bell();
	for (i = 0; i < GONE; i++) {
		unic_revoked_add(&rb.nic.memory, (uint16_t)gone[i].mr);
		assert_int_equal(take(), 0);
	}
	assert_int_equal(rb.nic.qps.qp[big.qpn & 0xff].rq.head, 0);
}

/* Regions that end one after another do not restart the sweep: the receives of
 * the first complete within a lap. */
static void evictions_do_not_start_it_over(void **state)
{
	uint32_t i, done = 0;

	(void)state;
	message_regions(GONE);
	for (i = 0; i < SLOTS; i++)
		post(i < SLOTS / 2 ? &mb : &gone[0], 64);
	ring_bell();
	for (i = 0; i < LAP; i++) {
		if (i % (LAP / 12) == 0)
			evict(&gone[i / (LAP / 12)]);
		unic_nic_poll(&rb.nic);
		done += take();
	}
	assert_int_equal(done, SLOTS / 2);
	evicted(SLOTS / 2, SLOTS);
}

/* The queue moves during the sweep: messages take valid receives, and the
 * process posts more, some of them in a region that ends later. */
static void the_queue_moves_meanwhile(void **state)
{
	uint32_t i, round, good = 0, bad = 0;

	(void)state;
	message_regions(3);
	for (i = 0; i < SLOTS; i++)
		post(i % 4 == 3 ? &gone[i / 4 % 2] : &mb, 64);
	ring_bell();
	evict(&gone[0]);
	for (round = 0; round < 3 * LAP; round++) {
		if (round % 16 == 0)
			rig_send(&ra, &from, UNIC_WR_SEND, round, &ma, 0, 64, 0,
				 0);
		if (round == LAP / 3)
			evict(&gone[1]);
		unic_nic_poll(&ra.nic);
		unic_nic_poll(&rb.nic);
		pair_at_once();
		while (rig_cqe(&ra, &from, &(struct unic_cqe){ 0 }))
			good++;
		if (rb.nic.qps.qp[big.qpn & 0xff].rq.tail -
			    rb.nic.qps.qp[big.qpn & 0xff].rq.head <
		    SLOTS) {
			take();
			post(round & 1 ? &mb : &gone[2], 64);
			ring_bell();
		}
	}
	evict(&gone[2]);
	pair_run(MS);
	take();
	for (i = 0; i < posted; i++) {
		assert_in_range(recv[i].seen, 0, 1);
		if (!recv[i].seen)
			assert_int_equal(recv[i].stag, mb.stag);
		else
			assert_int_equal(recv[i].status,
					 recv[i].stag == mb.stag
						 ? UNIC_WC_SUCCESS
						 : UNIC_WC_EVICTED);
		bad += recv[i].seen && recv[i].stag != mb.stag;
	}
	assert_true(good && bad >= SLOTS / 4);
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 0);
	assert_int_equal(rb.nic.qps.qp[big.qpn & 0xff].state, UNIC_QPS_RTS);
	pair_quiet();
}

/* All receives but the last are in a region that ended before they were posted:
 * the message passes over a few per round, and arrives. */
static void a_message_passes_over_a_few(void **state)
{
	uint32_t i, n = 0;

	(void)state;
	pair_gone_region(&rb, qb.pd, &gone[0]);
	for (i = 0; i < SLOTS - 1; i++)
		post(&gone[0], 64);
	post(&mb, 64);
	ring_bell();
	rig_send(&ra, &from, UNIC_WR_SEND, 1, &ma, 0, 64, 0, 0);
	rig_poll(&ra);
	for (i = 0; n < SLOTS && i < SLOTS; i++) {
		uint32_t some;

		unic_nic_poll(&rb.nic);
		some = take();
		assert_in_range(some, 0, 2 * WINDOW + 1);
		n += some;
	}
	assert_int_equal(n, SLOTS);
	evicted(0, SLOTS - 1);
	assert_int_equal(recv[SLOTS - 1].status, UNIC_WC_SUCCESS);
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 0);
}

/* The substitute of an evicted receive is the last of the ring; the receives in
 * between are too short for the message, and stay posted. */
static void a_substitute_is_far_away(void **state)
{
	struct unic_rq *rq = &rb.nic.qps.qp[big.qpn & 0xff].rq;
	uint32_t i, calls;

	(void)state;
	rq->class_bytes = 1000;
	pair_gone_region(&rb, qb.pd, &gone[0]);
	post(&gone[0], 1000);
	for (i = 1; i < SLOTS - 1; i++)
		post(&mb, 10);
	post(&mb, 1000);
	ring_bell();
	rig_send(&ra, &from, UNIC_WR_SEND, 1, &ma, 0, 1000, 0, 0);
	rig_poll(&ra);
	for (i = 0; i < SLOTS; i++) {
		calls = rb.port.calls;
		unic_nic_poll(&rb.nic);
		assert_in_range(rb.port.calls - calls, 0, 3 * WINDOW);
		if (take() && i)
			break;
	}
	assert_in_range(i, SLOTS / (2 * WINDOW) - 1, SLOTS / WINDOW + 8);
	evicted(0, 1);
	assert_int_equal(recv[SLOTS - 1].seen, 1);
	assert_int_equal(recv[SLOTS - 1].status, UNIC_WC_SUCCESS);
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 0);
	assert_memory_equal(mb.mem, ma.mem, 1000);
}

/* A receive whose region was deregistered completes EVICTED when a message
 * arrives before the sweep does, and the message takes the next receive. */
static void a_name_that_is_gone_is_known_for_a_lap(void **state)
{
	uint32_t i, k;

	for (k = 0; k < 2;
	     k++) { /* one region, or more than the sweep has places for */
		up(state);
		message_regions(GONE);
		for (i = 0; i < SLOTS; i++)
			post(&mb, 64);
		ring_bell(); /* a ring in which the sweep is busy */
		make_big(8);
		post(&gone[0], 64);
		post(&gone[k ? GONE - 1 : 0], 64);
		post(&mb, 64);
		ring_bell();
		for (i = 0; i < (k ? GONE : 1); i++)
			assert_int_equal(rig_dereg(&rb, &gone[i]), 0);
		assert_true(rb.nic.qps.sweep_qp < (big.qpn & 0xff));
		rig_send(&ra, &from, UNIC_WR_SEND, 1, &ma, 0, 64, 0, 0);
		unic_nic_poll(&ra.nic);
		for (i = 0; i < 4; i++)
			unic_nic_poll(&rb.nic);
		assert_true(rb.nic.qps.sweep_qp < (big.qpn & 0xff));
		for (i = 0; i < 3; i++)
			assert_int_equal(cqes[i].status,
					 i < 2 ? UNIC_WC_EVICTED
					       : UNIC_WC_SUCCESS);
		pair_run(MS);
		assert_int_equal(rb.nic.qps.qp[big.qpn & 0xff].state,
				 UNIC_QPS_RTS);
		assert_int_equal(unic_from_le32(cqes[3].seq), 0);
	}
}

/* Receives in another region, or with another key byte, are not swept, even
 * when the sweep has no places left. */
static void others_are_left_alone(void **state)
{
	struct rig_mr later = mb;
	uint32_t i;

	(void)state;
	message_regions(GONE);
	later.stag ^= 0x5a; /* the key of a later fast registration */
	post(&mb, 64);
	post(&later, 64);
	for (i = 0; i < GONE; i++)
		post(&gone[i], 64);
	post(&mb, 64);
	ring_bell();
	for (i = 0; i < GONE; i++)
		unic_revoked_add(&rb.nic.memory, (uint16_t)gone[i].mr);
	assert_true(rb.nic.revoked.lost);
	for (i = 0; i < GONE; i++)
		evict(&gone[i]);
	rig_poll(&rb);
	pair_run(MS);
	assert_int_equal(take(), GONE);
	evicted(2, 2 + GONE);
	assert_false(rb.nic.revoked.lost);
}

/* A queue pair is destroyed while the sweep reads a part of its ring; the part
 * is dropped, and the sweep goes on with other queue pairs. */
static void its_queue_leaves(void **state)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(0) };
	uint32_t i;

	(void)state;
	message_regions(1);
	for (i = 0; i < SLOTS; i++)
		post(&gone[0], 64);
	ring_bell();
	rb.port.late_dma = true;
	evict(&gone[0]);
	for (i = 0; i < LAP && !rb.nic.qps.sweep_fetching; i++)
		unic_nic_poll(&rb.nic);
	assert_true(rb.nic.qps.sweep_fetching);
	cmd.id = unic_to_le32(big.qpn);
	rig_cmd(&rb, UNIC_CMD_QP_DESTROY, &cmd, NULL);
	assert_true(rb.nic.qps.sweep_stale);
	assert_int_not_equal(rb.nic.qps.sweep_qp, big.qpn & 0xff);
	rb.port.late_dma = false;
	fake_dma_run(&rb.port, FAKE_PENDING);
	rig_poll(&rb);
	pair_run(MS);
	assert_int_equal(rb.nic.revoked.n, 0);
	assert_false(rb.nic.qps.sweep_stale);
	assert_false(rb.nic.qps.qp[big.qpn & 0xff].used);
}

/* Each round looks ahead at the receives of a few queue pairs, in turn. */
static void few_are_looked_at_ahead(void **state)
{
	struct unic_qps *qps = &rb.nic.qps;
	uint32_t i, rounds;

	(void)state;
	for (i = 0; i < UNIC_QPS; i++)
		qps->ahead[i / 32] |= 1u << i % 32;
	for (rounds = 0; unic_rq_ahead_due(&rb.nic.transport); rounds++)
		unic_rq_ahead(&rb.nic.transport);
	assert_int_equal(rounds, UNIC_QPS / 4);
	qps->ahead[0] = 1u << 3 | 1u << 5;
	qps->ahead_at = 4; /* begin with the second one */
	unic_rq_ahead(&rb.nic.transport);
	assert_false(unic_rq_ahead_due(&rb.nic.transport));
}

#define TEST(f) cmocka_unit_test_setup(f, up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_round_looks_at_a_few),
		TEST(naming_one_more_sweeps_nothing),
		TEST(evictions_do_not_start_it_over),
		TEST(the_queue_moves_meanwhile),
		TEST(a_message_passes_over_a_few),
		TEST(a_substitute_is_far_away),
		cmocka_unit_test(a_name_that_is_gone_is_known_for_a_lap),
		TEST(others_are_left_alone),
		TEST(its_queue_leaves),
		TEST(few_are_looked_at_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_snapshot.c - a snapshot: while it is read the NIC changes no table, and it ends. */
#include "memory/token.h"
#include "pair.h"
#include "unit.h"

#define MS 1000000ull
#define H  ra.nic.snapshot[0]

static struct unic_driver_page *driver_page(void)
{
	return (struct unic_driver_page *)(ra.port.bar + UNIC_BAR_DRIVER_OFF);
}

static const struct unic_info *info(void)
{
	return (const struct unic_info *)ra.port.bar;
}

static uint8_t dump(uint32_t snapshot, uint32_t table, uint32_t first,
		    const void **rows, struct unic_cpl_dump *cpl)
{
	struct unic_cmd_dump cmd = { .table = unic_to_le32(table),
				     .first = unic_to_le32(first),
				     .snapshot = unic_to_le32(snapshot) };

	*rows = ra.port.bar + UNIC_BAR_LIST_OFF +
		ra.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	return rig_cmd(&ra, UNIC_CMD_DUMP, &cmd, cpl);
}

static uint8_t status_of(uint32_t snapshot, uint32_t table)
{
	struct unic_cpl_dump cpl;
	const void *rows;

	return dump(snapshot, table, 0, &rows, &cpl);
}

/* Takes a snapshot, as soon as the NIC allows. Returns its number. */
static uint32_t take(void)
{
	struct unic_cpl_dump cpl;
	const void *rows;

	if (H.number)
		rig_run(&ra, 2 * UNIC_SNAPSHOT_NS);
	assert_int_equal(
		dump(UNIC_SNAPSHOT_TAKE, UNIC_TABLE_PROC, 0, &rows, &cpl), 0);
	assert_int_equal(ra.nic.state, UNIC_NIC_HELD);
	assert_true(unic_from_le64(cpl.time_ns) == ra.port.now_ns);
	return unic_from_le32(cpl.snapshot);
}

static void nop(void)
{
	struct unic_cmd_nop cmd = { .data = unic_to_le64(1) };

	assert_int_equal(rig_cmd(&ra, UNIC_CMD_NOP, &cmd, NULL), 0);
}

static const uint32_t all[] = { UNIC_TABLE_TLB,	  UNIC_TABLE_MR,
				UNIC_TABLE_TOKEN, UNIC_TABLE_QP,
				UNIC_TABLE_CQ,	  UNIC_TABLE_PROC,
				UNIC_TABLE_WAIT,  UNIC_TABLE_HISTOGRAM };

/* Copies all rows of snapshot @number to @to. Returns their number. */
static uint32_t rows_of(uint32_t number, uint8_t to[][UNIC_ROW_BYTES])
{
	struct unic_cpl_dump cpl;
	uint32_t i, first, n = 0;
	const void *rows;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		first = 0;
		do {
			assert_int_equal(
				dump(number, all[i], first, &rows, &cpl), 0);
			assert_int_equal(unic_from_le32(cpl.snapshot), number);
			assert_true(unic_from_le64(cpl.time_ns) == H.since_ns);
			memcpy(to[n], rows,
			       unic_from_le32(cpl.rows) * UNIC_ROW_BYTES);
			n += unic_from_le32(cpl.rows);
			first = unic_from_le32(cpl.next);
		} while (first);
	}
	return n;
}

#define ROWS_MAX 512u
static uint8_t before[ROWS_MAX][UNIC_ROW_BYTES];
static uint8_t after[ROWS_MAX][UNIC_ROW_BYTES];

static int token(uint64_t *key)
{
	struct unic_token_args a = { .length = 9,
				     .ttl_us = 1000,
				     .pd = (uint16_t)qa.pd,
				     .stag = ma.stag,
				     .iova = ma.iova };
	int t = unic_token_alloc(&ra.nic.memory, &a, key);

	assert_true(t >= 0);
	return t;
}

/* A frame in the link, a doorbell, a finished DMA, a token whose time is over and a
 * request that waits all stay as they were, and go on when the snapshot ends. */
static void nothing_moves(void **state)
{
	uint64_t frames, sent, key;
	struct unic_evt_token evt;
	struct rig_mr wide;
	uint32_t number, n, t;

	(void)state;
	pair_make(false, 2);
	assert_int_equal(rig_reg(&ra, 0, qa.pd, UNIC_TLB_ENTRIES - 4,
				 UNIC_CLASS_RDMA, UNIC_REG_WAIT, 0, &wide),
			 UNIC_ST_PENDING);
	t = (uint32_t)token(&key);
	rig_recv(&ra, &qa, 1, &ma, 0, 64);
	ra.port.late_dma = true;
	rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &mb, 0, 64, ma.iova, ma.stag);
	pair_rounds(&rb, 2);
	pair_rounds(&ra, 2);
	assert_true(fake_dma_waiting(&ra.port) > 0);
	number = take();
	n = rows_of(number, before);
	assert_true(n > 8);
	rig_send(&rb, &qb, UNIC_WR_SEND, 2, &mb, 0, 64, 0, 0);
	pair_rounds(&rb, 2);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 64, mb.iova, mb.stag);
	fake_dma_run(&ra.port, fake_dma_waiting(&ra.port));
	frames = rig_count(&ra, rx_frames);
	sent = rig_count(&ra, tx_frames);
	rig_run(&ra, UNIC_SNAPSHOT_NS - 1);
	assert_int_equal(ra.nic.state, UNIC_NIC_HELD);
	assert_int_equal(rows_of(number, after), n);
	assert_memory_equal(before, after, n * UNIC_ROW_BYTES);
	assert_int_equal(rig_count(&ra, rx_frames), frames);
	assert_int_equal(rig_count(&ra, tx_frames), sent);
	assert_false(rig_event(&ra, &evt));
	ra.port.late_dma = false;
	rig_run(&ra, 1);
	rb.port.now_ns = ra.port.now_ns;
	pair_run(MS);
	pair_expect(&ra, &qa, 1, UNIC_WC_SUCCESS, 64);
	pair_expect(&ra, &qa, 3, UNIC_WC_SUCCESS, 64);
	rig_expect(&ra, UNIC_EVT_NOTICE, &evt); /* the residence is over */
	rig_expect(&ra, UNIC_EVT_TOKEN_END, &evt);
	assert_int_equal(unic_from_le32(evt.index), t);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), UNIC_ST_EVICTED);
}

/* A DUMP with a byte that must be 0 is refused, and ends nothing. */
static void the_rest_is_zero(void **state)
{
	struct unic_cmd_dump cmd = { .table = unic_to_le32(UNIC_TABLE_MR) };
	uint32_t i;

	(void)state;
	pair_make(false, 2);
	cmd.snapshot = unic_to_le32(take());
	for (i = 0; i < sizeof(cmd.rsvd) / sizeof(cmd.rsvd[0]); i++) {
		cmd.rsvd[i] = unic_to_le32(1);
		assert_int_equal(rig_cmd(&ra, UNIC_CMD_DUMP, &cmd, NULL),
				 UNIC_ST_INVALID);
		cmd.rsvd[i] = 0;
		assert_int_equal(ra.nic.state, UNIC_NIC_HELD);
	}
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_DUMP, &cmd, NULL), 0);
}

/* Any command but a DUMP of the snapshot is executed after its end. */
static void another_command_ends_it(void **state)
{
	struct unic_cmd_entropy entropy = { .bytes = { 0 } };
	struct unic_cpl_dump cpl;
	const void *rows;
	uint32_t number;

	(void)state;
	pair_make(false, 2);
	number = take();
	assert_int_equal(status_of(number, 99), UNIC_ST_INVALID);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), 0);
	nop();
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), UNIC_ST_EVICTED);
	number = take();
	assert_int_equal(dump(0, UNIC_TABLE_MR, 0, &rows, &cpl), 0);
	assert_int_equal(unic_from_le32(cpl.snapshot), 0);
	assert_true(unic_from_le64(cpl.time_ns) == 0);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), UNIC_ST_EVICTED);
	number = take();
	assert_int_equal(status_of(number - 1, UNIC_TABLE_MR), UNIC_ST_EVICTED);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), UNIC_ST_EVICTED);
	/* one with the number where a DUMP has it */
	entropy.bytes[8] = (uint8_t)take();
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_ENTROPY, &entropy, NULL), 0);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	take();
	assert_int_equal(rig_dereg(&ra, &ma), 0);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
}

/* What came due while the tables were held runs as soon as they are not. */
static void timers_run_at_the_end(void **state)
{
	struct unic_evt_token evt;
	uint64_t key;

	(void)state;
	pair_make(false, 2);
	token(&key);
	take();
	rig_run(&ra, 2 * MS);
	assert_int_equal(ra.nic.state, UNIC_NIC_HELD);
	nop();
	rig_poll(&ra);
	rig_expect(&ra, UNIC_EVT_TOKEN_END, &evt);
}

/* The driver has stopped: the NIC goes on after UNIC_SNAPSHOT_NS, also if it sleeps. */
static void time_ends_it(void **state)
{
	uint64_t end, sleeps;
	uint32_t number;

	(void)state;
	pair_make(false, 2);
	number = take();
	end = ra.port.now_ns + UNIC_SNAPSHOT_NS;
	sleeps = rig_count(&ra, sleeps);
	ra.nic.beat_ns = end + MS;
	assert_true(rig_poll(&ra) == end);
	assert_true(rig_count(&ra, sleeps) > sleeps);
	ra.port.now_ns = end - 1;
	assert_int_equal(status_of(number, UNIC_TABLE_MR), 0);
	ra.port.now_ns = end;
	rig_poll(&ra);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), UNIC_ST_EVICTED);
}

static void reset_ends_it(void **state)
{
	uint32_t number;

	(void)state;
	pair_make(false, 2);
	number = take();
	rig_reset(&ra);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), UNIC_ST_EVICTED);
	number = take();
	driver_page()->fence = unic_to_le32(9);
	pair_rounds(&ra, 2);
	assert_int_equal(ra.nic.state, UNIC_NIC_RESET);
	driver_page()->fence = unic_to_le32(0);
	rig_reset(&ra);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), UNIC_ST_EVICTED);
}

/* A NIC that has failed takes none, for whose end it would be READY. */
static void failure_ends_it(void **state)
{
	uint32_t number;

	(void)state;
	pair_make(false, 2);
	number = take();
	unic_nic_quiesce(&ra.nic);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), UNIC_ST_EVICTED);
	ra.port.now_ns += 2 * UNIC_SNAPSHOT_NS;
	assert_int_equal(status_of(UNIC_SNAPSHOT_TAKE, UNIC_TABLE_MR),
			 UNIC_ST_FAILED);
	assert_int_equal(ra.nic.state, UNIC_NIC_FAILED);
	assert_int_equal(status_of(0, UNIC_TABLE_MR), 0);
}

/* Snapshots one after the other leave the NIC half of its time. A refusal takes none, and
 * ends the one that is there. */
static void half_of_the_time(void **state)
{
	uint64_t from;
	uint32_t number;

	(void)state;
	pair_make(false, 2);
	assert_int_equal(status_of(1, UNIC_TABLE_MR), UNIC_ST_EVICTED);
	assert_int_equal(status_of(UNIC_SNAPSHOT_TAKE, 99), UNIC_ST_INVALID);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	number = take();
	from = ra.port.now_ns;
	assert_int_equal(status_of(UNIC_SNAPSHOT_TAKE, UNIC_TABLE_MR),
			 UNIC_ST_BUSY);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	assert_int_equal(status_of(number, UNIC_TABLE_MR), UNIC_ST_EVICTED);
	ra.port.now_ns = from + 2 * UNIC_SNAPSHOT_NS - 1;
	assert_int_equal(status_of(UNIC_SNAPSHOT_TAKE, UNIC_TABLE_MR),
			 UNIC_ST_BUSY);
	ra.port.now_ns++;
	assert_int_equal(status_of(UNIC_SNAPSHOT_TAKE, UNIC_TABLE_MR), 0);
	assert_int_equal(H.number, number + 1);
}

static void numbers_begin_anew(void **state)
{
	(void)state;
	pair_make(false, 2);
	assert_true(unic_from_le64(info()->features) & UNIC_FEAT_SNAPSHOT);
	assert_int_equal(take(), 1);
	H.number = UNIC_SNAPSHOT_TAKE - 2;
	assert_int_equal(take(), UNIC_SNAPSHOT_TAKE - 1);
	assert_int_equal(take(), 1);
}

static void put_command(const void *rec)
{
	memcpy(ra.port.bar + UNIC_BAR_CMD_OFF +
		       ra.cmd_tail++ % UNIC_CMD_ENTRIES * 64,
	       rec, 64);
}

static struct unic_cmd_hdr header(uint8_t opcode)
{
	return (struct unic_cmd_hdr){ .opcode = opcode,
				      .epoch = unic_to_le32(ra.nic.epoch) };
}

/* Puts DUMPs of @snapshot, more than a round executes. */
static void put_dumps(uint32_t snapshot, uint32_t n)
{
	struct unic_cmd_dump d = { .hdr = header(UNIC_CMD_DUMP),
				   .table = unic_to_le32(UNIC_TABLE_MR),
				   .snapshot = unic_to_le32(snapshot) };

	while (n--)
		put_command(&d);
}

/* The owner answered while the tables were held, and its time was over before the NIC
 * came to the answer, which stands behind DUMPs: the region is not cut. */
static void answer_is_in_time(void **state)
{
	struct unic_cmd_notice_answer a = { .answer = unic_to_le32(
						    UNIC_ANSWER_RELEASE) };
	struct unic_cmd_mr evict = { .hdr = header(0) };
	struct unic_evt_mr notice;
	uint32_t number, i;

	(void)state;
	pair_make(false, 2);
	evict.mr = unic_to_le32(ma.mr);
	evict.gen = unic_to_le32(ma.gen);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_poll(&ra);
	rig_expect(&ra, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(rig_ack(&ra, &notice), 0);
	rig_run(&ra, 15 * MS);
	number = take();
	put_dumps(number, 9);
	a.hdr = header(UNIC_CMD_NOTICE_ANSWER);
	a.mr = notice.mr;
	a.gen = notice.gen;
	a.seq = notice.seq;
	put_command(&a);
	driver_page()->cmd_tail = unic_to_le32(ra.cmd_tail);
	ra.port.now_ns += UNIC_SNAPSHOT_NS + MS;
	for (i = 0; i < 4; i++)
		unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.state, UNIC_NIC_READY);
	assert_int_equal(rig_count(&ra, released), 1);
	assert_int_equal(rig_count(&ra, deadlines), 0);
}

/* Timers that look into the ring find a snapshot there: they run at its end. */
static void timers_find_one(void **state)
{
	struct unic_cmd_nop n = { .data = unic_to_le64(0) };
	struct unic_evt_token evt;
	uint64_t key;
	uint32_t i;

	(void)state;
	pair_make(false, 2);
	token(&key);
	rig_poll(&ra);
	n.hdr = header(UNIC_CMD_NOP);
	for (i = 0; i < 4; i++)
		put_command(&n);
	put_dumps(UNIC_SNAPSHOT_TAKE, 1);
	driver_page()->cmd_tail = unic_to_le32(ra.cmd_tail);
	ra.port.now_ns += MS;
	unic_nic_poll(&ra.nic);
	assert_int_equal(ra.nic.state, UNIC_NIC_HELD);
	assert_false(rig_event(&ra, &evt));
	rig_run(&ra, UNIC_SNAPSHOT_NS);
	rig_expect(&ra, UNIC_EVT_TOKEN_END, &evt);
}

/* The heart beats on, and the NIC rings for what it wrote. */
static void heart_beats_on(void **state)
{
	uint32_t beats, rung;

	(void)state;
	pair_make(false, 2);
	rig_run(&ra, 45 * MS);
	ra.nic.beat_ns = ra.port.now_ns + 5 * MS;
	driver_page()->want_irq = unic_to_le32(1);
	rung = ra.port.rung[0];
	take();
	assert_true(ra.port.rung[0] > rung);
	beats = unic_from_le32(info()->heartbeat);
	assert_true(rig_poll(&ra) == ra.nic.beat_ns);
	rig_run(&ra, 6 * MS);
	assert_int_equal(ra.nic.state, UNIC_NIC_HELD);
	assert_int_equal(unic_from_le32(info()->heartbeat), beats + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_moves),
		cmocka_unit_test(the_rest_is_zero),
		cmocka_unit_test(another_command_ends_it),
		cmocka_unit_test(timers_run_at_the_end),
		cmocka_unit_test(time_ends_it),
		cmocka_unit_test(reset_ends_it),
		cmocka_unit_test(failure_ends_it),
		cmocka_unit_test(half_of_the_time),
		cmocka_unit_test(numbers_begin_anew),
		cmocka_unit_test(answer_is_in_time),
		cmocka_unit_test(timers_find_one),
		cmocka_unit_test(heart_beats_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

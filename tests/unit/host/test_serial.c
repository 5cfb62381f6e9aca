// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * test_serial.c - the serial host link, both ends, over a line on which the
 * test flips bits, from a seed: hal/serial, host_driver/serial.
 *
 * The test emulates the core at the near end (it answers commands, sends
 * events, moves memory) and the driver at the far end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "far.h"
#include "near.h"

#define WINDOWS	     2u
#define WINDOW_BYTES 0x40000u
#define BAUD	     921600u
#define STEP_NS	     1000000u
#define STEP_BYTES   92u /* that the line carries in a step */
#define PIPE_BYTES   4096u
#define DOORBELLS    UNIC_BUS(1, 0x10000)

/* One direction of the line. */
struct pipe {
	uint8_t bytes[PIPE_BYTES];
	uint32_t head, tail;
};

static struct near near;
static struct far far;
static uint8_t bar[UNIC_BAR_BYTES] __attribute__((aligned(4096)));
static uint8_t slot[WINDOWS][WINDOW_BYTES] __attribute__((aligned(4096)));
static void *windows[WINDOWS] = { slot[0], slot[1] };
static struct pipe up, down; /* to the host, to the NIC */
static uint64_t now_ns;
static uint32_t seed;
static uint32_t noise; /* bits flipped, of 2^32 */
static bool cut;       /* nothing arrives */

/* The core, as far as the link sees it. */
static struct {
	uint32_t cmd_head, cpl_tail, evt_tail, mad_tail;
	uint32_t epoch, beats, reset_ack;
	uint32_t moved, failed;
} core;

/* The driver. */
static struct {
	uint32_t cmd_tail, cpl_head, evt_head, mad_head;
} drv;

static uint32_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

/* ------------------------------------------------------------------ line */

static uint8_t spoil(uint8_t byte)
{
	uint32_t bit;

	for (bit = 0; noise && bit < 8; bit++)
		if (rnd() < noise)
			byte ^= (uint8_t)(1u << bit);
	return byte;
}

static void push(struct pipe *p, const uint8_t *bytes, uint32_t n)
{
	while (n--) {
		assert_true(p->tail - p->head < PIPE_BYTES);
		p->bytes[p->tail++ % PIPE_BYTES] = spoil(*bytes++);
	}
}

static uint32_t pull(struct pipe *p, uint8_t *bytes, uint32_t max)
{
	uint32_t n = 0;

	while (n < max && p->head != p->tail)
		bytes[n++] = p->bytes[p->head++ % PIPE_BYTES];
	return cut ? 0 : n;
}

/* ------------------------------------------------------------------- core */

static struct unic_info *near_info(void)
{
	return (void *)(near.box + UNIC_BOX_INFO);
}

static struct unic_nic_idx *near_idx(void)
{
	return (void *)(near.box + UNIC_BOX_NIC);
}

static struct unic_driver_page *near_drv(void)
{
	return (void *)(near.box + UNIC_BOX_DRIVER);
}

static void core_reset(uint32_t req)
{
	memset(near_idx(), 0, sizeof(struct unic_nic_idx));
	core.cmd_head = core.cpl_tail = core.evt_tail = core.mad_tail = 0;
	core.epoch++;
	core.reset_ack = req;
	near_info()->boot_epoch = unic_to_le32(core.epoch);
	near_info()->state = unic_to_le32(UNIC_NIC_READY);
	near_info()->reset_ack = unic_to_le32(req);
	near_info()->magic = unic_to_le32(UNIC_MAGIC);
}

/* Completes a command: its record comes back with status 1 and, for every third
 * kind, its list with all bits inverted. */
static void core_command(void)
{
	uint32_t at = core.cmd_head % UNIC_BOX_CMDS, i;
	uint8_t *rec =
		near.box + UNIC_BOX_CPL + core.cpl_tail % UNIC_BOX_CPLS * 64;
	uint8_t *list = near.box + UNIC_BOX_LIST + at * UNIC_BOX_LIST_BYTES;

	memcpy(rec, near.box + UNIC_BOX_CMD + at * 64, 64);
	rec[1] = 1;
	for (i = 0; rec[0] % 3 == 0 && i < UNIC_BOX_LIST_BYTES; i++)
		list[i] = (uint8_t)~list[i];
	near_idx()->cpl_tail = unic_to_le32(++core.cpl_tail);
	near_idx()->cmd_head = unic_to_le32(++core.cmd_head);
}

static void core_event(uint8_t what)
{
	uint8_t *rec =
		near.box + UNIC_BOX_EVT + core.evt_tail % UNIC_BOX_EVTS * 64;

	if (core.evt_tail - unic_from_le32(near_drv()->evt_head) ==
	    UNIC_BOX_EVTS)
		return;
	memset(rec, what, 64);
	memcpy(rec, &core.evt_tail, 4);
	near_idx()->evt_tail = unic_to_le32(++core.evt_tail);
}

static void core_turn(void)
{
	uint32_t tail = unic_from_le32(near_drv()->cmd_tail), tag;
	uint32_t req = unic_from_le32(near_drv()->reset_req);
	int status;

	while (near_dma_poll(&near, &tag, &status)) {
		core.moved += status == UNIC_PORT_OK;
		core.failed += status != UNIC_PORT_OK;
	}
	if (req != core.reset_ack) {
		if (near.job_head == near.job_tail)
			core_reset(req); /* as the core: DMA ends first */
		return;
	}
	while (core.cmd_head != tail &&
	       core.cpl_tail - unic_from_le32(near_drv()->cpl_head) <
		       UNIC_BOX_CPLS)
		core_command();
}

/* What a stream says of itself is true: it had bytes if it said so, has none when the line
 * had room for more, and has some when it is due. */
static void check_stream(const struct stream *s, bool wanted, uint32_t bytes)
{
	assert_true(bytes || !wanted);
	if (bytes == STEP_BYTES)
		return;
	assert_false(stream_wants(s, now_ns));
	if (stream_due(s) != UINT64_MAX)
		assert_true(stream_wants(s, stream_due(s)));
}

/* One step of the line; the core runs only if the near end has news for it. */
static void step(void)
{
	uint8_t bytes[STEP_BYTES];
	uint32_t n;
	bool wanted;

	now_ns += STEP_NS;
	if (now_ns % (50 * STEP_NS) == 0)
		near_info()->heartbeat = unic_to_le32(++core.beats);
	if (near.news)
		core_turn();
	near.news = false;
	wanted = stream_wants(&near.stream, now_ns);
	n = near_output(&near, now_ns, bytes, sizeof(bytes));
	check_stream(&near.stream, wanted, n);
	push(&up, bytes, n);
	wanted = stream_wants(&far.stream, now_ns);
	n = far_output(&far, now_ns, bytes, sizeof(bytes));
	check_stream(&far.stream, wanted, n);
	push(&down, bytes, n);
	n = pull(&up, bytes, sizeof(bytes));
	far_input(&far, bytes, n, now_ns);
	n = pull(&down, bytes, sizeof(bytes));
	near_input(&near, bytes, n, now_ns);
}

static void steps(uint32_t n)
{
	while (n--)
		step();
}

/* ----------------------------------------------------------------- driver */

static struct unic_driver_page *drv_page(void)
{
	return (void *)(bar + UNIC_BAR_DRIVER_OFF);
}

static const struct unic_nic_idx *nic_page(void)
{
	return (const void *)(bar + UNIC_BAR_NIC_OFF);
}

static const struct unic_info *info(void)
{
	return (const void *)(bar + UNIC_BAR_INFO_OFF);
}

static bool until(bool (*what)(void), uint32_t most)
{
	while (most--) {
		if (what())
			return true;
		step();
	}
	return what();
}

static bool is_here(void)
{
	return far.here;
}

static bool is_reset(void)
{
	return info()->magic == unic_to_le32(UNIC_MAGIC) &&
	       info()->reset_ack == drv_page()->reset_req &&
	       info()->state == unic_to_le32(UNIC_NIC_READY);
}

static void drv_reset(void)
{
	uint32_t req = unic_from_le32(info()->reset_ack) + 1;

	memset(drv_page(), 0, sizeof(struct unic_driver_page));
	memset(&drv, 0, sizeof(drv));
	drv_page()->reset_req = unic_to_le32(req);
	assert_true(until(is_reset, 3000));
}

static void near_start(uint32_t nonce)
{
	near_init(&near, nonce, BAUD);
	memset(&core, 0, sizeof(core));
	core_reset(0);
}

static void far_start(uint32_t nonce)
{
	const struct far_config config = { .bar = bar,
					   .window = windows,
					   .windows = WINDOWS,
					   .window_bytes = WINDOW_BYTES,
					   .nonce = nonce,
					   .baud = BAUD };

	far_init(&far, &config);
}

static int set_up(void **state)
{
	(void)state;
	memset(bar, 0, sizeof(bar));
	memset(slot, 0, sizeof(slot));
	memset(&up, 0, sizeof(up));
	memset(&down, 0, sizeof(down));
	seed = 12345;
	noise = 0;
	cut = false;
	now_ns = 1000000000;
	near_start(0x1111);
	far_start(0x2222);
	return 0;
}

static void begin(void)
{
	assert_true(until(is_here, 3000));
	drv_reset();
}

/* Posts a command of @kind with a list full of @fill. */
static void drv_command(uint8_t kind, uint8_t fill)
{
	uint32_t at = drv.cmd_tail % UNIC_CMD_ENTRIES;
	uint8_t *rec = bar + UNIC_BAR_CMD_OFF + at * 64;

	memset(rec, 0, 64);
	rec[0] = kind;
	memcpy(rec + 8, &drv.cmd_tail, 4);
	memset(bar + UNIC_BAR_LIST_OFF + at * UNIC_LIST_BYTES, fill,
	       UNIC_BOX_LIST_BYTES);
	drv_page()->cmd_tail = unic_to_le32(++drv.cmd_tail);
}

static bool all_answered(void)
{
	return nic_page()->cpl_tail == drv_page()->cmd_tail;
}

/* Checks the new completions: each comes once, in order, with its list. */
static void check_answers(uint8_t fill)
{
	for (; drv.cpl_head != unic_from_le32(nic_page()->cpl_tail);
	     drv.cpl_head++) {
		uint32_t at = drv.cpl_head % UNIC_CPL_ENTRIES;
		const uint8_t *rec = bar + UNIC_BAR_CPL_OFF + at * 64;
		const uint8_t *list =
			bar + UNIC_BAR_LIST_OFF +
			drv.cpl_head % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;

		assert_int_equal(rec[1], 1);
		assert_memory_equal(rec + 8, &drv.cpl_head, 4);
		assert_int_equal(list[7], rec[0] % 3 ? fill : (uint8_t)~fill);
		assert_int_equal(list[UNIC_BOX_LIST_BYTES - 1], list[7]);
	}
	drv_page()->cpl_head = unic_to_le32(drv.cpl_head);
}

static void commands(uint32_t n)
{
	while (n--) {
		uint8_t fill = (uint8_t)rnd();
		uint32_t k = 1 + rnd() % 8;

		while (k--)
			drv_command((uint8_t)(1 + rnd() % 60), fill);
		assert_true(until(all_answered, 20000));
		check_answers(fill);
	}
}

/* ------------------------------------------------------------------ tests */

static void frames_come_out_as_they_went_in(void **state)
{
	static uint8_t frame[FRAME_ALL], line[FRAME_LINE];
	static struct frame_in in;
	uint32_t len, i, n, got;

	(void)state;
	memset(&in, 0, sizeof(in));
	for (len = 8; len <= FRAME_BYTES; len++) {
		uint8_t want[FRAME_ALL];

		for (i = 0; i < len; i++)
			frame[i] = len % 3 ? (uint8_t)(rnd() & 1) * 7
					   : (uint8_t)(1 + i % 250);
		memcpy(want, frame, len);
		n = frame_encode(frame, len, line);
		assert_true(n <= FRAME_LINE);
		for (i = 1; i < n - 1; i++)
			assert_int_not_equal(line[i], 0);
		for (i = 0, got = 0; i < n; i++)
			if (frame_decode(&in, line[i]))
				got = len;
		assert_int_equal(got, len);
		assert_memory_equal(frame_at(&in), want, len);
	}
	assert_int_equal(in.errors, 0);
}

static void a_damaged_frame_does_not_come_out(void **state)
{
	static uint8_t frame[FRAME_ALL], line[FRAME_LINE], bad[FRAME_LINE];
	static struct frame_in in;
	uint32_t n, k, i;

	(void)state;
	for (i = 0; i < 100; i++)
		frame[i] = (uint8_t)(i / 3);
	n = frame_encode(frame, 100, line);
	for (k = 8; k < 8 * (n - 1); k++) {
		memcpy(bad, line, n);
		bad[k / 8] ^= (uint8_t)(1u << k % 8);
		memset(&in, 0, sizeof(in));
		for (i = 0; i < n; i++)
			assert_int_equal(frame_decode(&in, bad[i]), 0);
	}
	/* longer than any frame, then a good one */
	for (i = 0; i < 2000; i++)
		assert_int_equal(frame_decode(&in, (uint8_t)(1 + rnd() % 255)),
				 0);
	for (i = k = 0; i < n; i++)
		k += frame_decode(&in, line[i]);
	assert_int_equal(k, 100);
}

static void commands_are_answered_once_in_order(void **state)
{
	(void)state;
	begin();
	commands(100);
	assert_int_equal(far.wrong, 0);
	assert_int_equal(near.stream.counts.again, 0);
}

static void events_are_not_lost(void **state)
{
	uint32_t said = 0, seen = 0, i;

	(void)state;
	begin();
	noise = 42950; /* 1 bit in 10^5 */
	for (i = 0; i < 3000; i++) {
		if (said < 500) {
			core_event(3);
			said = core.evt_tail;
		}
		step();
		for (; drv.evt_head != unic_from_le32(nic_page()->evt_tail);
		     drv.evt_head++, seen++)
			assert_memory_equal(
				bar + UNIC_BAR_EVT_OFF +
					drv.evt_head % UNIC_EVT_ENTRIES * 64,
				&drv.evt_head, 4);
		drv_page()->evt_head = unic_to_le32(drv.evt_head);
	}
	assert_int_equal(seen, said);
	assert_true(said >= 500);
}

/* A driver that takes no events fills its own ring, then the near one; the line
 * still works. When it takes events again, none is missing. */
static void events_wait_for_room(void **state)
{
	uint32_t seen = 0;

	(void)state;
	begin();
	while (core.evt_tail < UNIC_EVT_ENTRIES + UNIC_BOX_EVTS) {
		uint32_t was = core.evt_tail;

		core_event(3);
		steps(core.evt_tail == was ? 10 : 1);
		assert_true(now_ns < 60000000000ull);
	}
	core_event(3);
	assert_int_equal(core.evt_tail, UNIC_EVT_ENTRIES + UNIC_BOX_EVTS);
	steps(500);
	assert_int_equal(unic_from_le32(nic_page()->evt_tail),
			 UNIC_EVT_ENTRIES);
	while (seen < core.evt_tail) {
		uint32_t tail = unic_from_le32(nic_page()->evt_tail);

		for (; drv.evt_head != tail; drv.evt_head++, seen++)
			assert_memory_equal(
				bar + UNIC_BAR_EVT_OFF +
					drv.evt_head % UNIC_EVT_ENTRIES * 64,
				&drv.evt_head, 4);
		drv_page()->evt_head = unic_to_le32(drv.evt_head);
		steps(50);
		assert_true(now_ns < 120000000000ull);
	}
	assert_int_equal(far.wrong, 0);
	commands(3);
}

/* A record of 512 bytes is sent in two pieces. */
static void a_datagram_comes_whole(void **state)
{
	uint8_t *mad = near.box + UNIC_BOX_MAD;
	uint32_t i;

	(void)state;
	begin();
	for (i = 0; i < sizeof(struct unic_mad_rx); i++)
		mad[i] = (uint8_t)(i * 7);
	near_idx()->mad_tail = unic_to_le32(++core.mad_tail);
	steps(50);
	assert_int_equal(unic_from_le32(nic_page()->mad_tail), 1);
	assert_memory_equal(bar + UNIC_BAR_MAD_RX_OFF, mad,
			    sizeof(struct unic_mad_rx));
	assert_int_equal(unic_from_le32(near_drv()->mad_head), 1);
}

static bool all_moved(void)
{
	return near.job_head == near.job_tail;
}

/* Moves memory both ways, with random lengths and offsets, in UNIC_DMA_JOBS
 * transfers at a time. */
static void move_memory(uint32_t n)
{
	static uint8_t local[UNIC_DMA_JOBS][8192];
	uint32_t i, k, len[UNIC_DMA_JOBS];
	uint64_t bus[UNIC_DMA_JOBS];

	for (; n--;) {
		for (k = 0; k < UNIC_DMA_JOBS; k++) {
			uint32_t off = k * 16384u + rnd() % 5000;
			bool to_host = k & 1;

			len[k] = 1 + rnd() % (rnd() % 4 ? 1024 : 8192);
			bus[k] = UNIC_BUS(k / 8 % WINDOWS,
					  off % (WINDOW_BYTES - 16384));
			off = (uint32_t)UNIC_BUS_OFFSET(bus[k]);
			for (i = 0; i < len[k]; i++) {
				uint8_t byte = (uint8_t)rnd();

				local[k][i] = to_host ? byte : 0;
				slot[k / 8 % WINDOWS][off + i] = to_host ? 0
									 : byte;
			}
			assert_int_equal(near_dma(&near,
						  to_host ? UNIC_DMA_TO_HOST
							  : UNIC_DMA_FROM_HOST,
						  bus[k], local[k], len[k], k),
					 UNIC_PORT_PENDING);
		}
		assert_int_equal(near_dma(&near, UNIC_DMA_TO_HOST, bus[0],
					  local[0], 1, 0),
				 UNIC_PORT_EAGAIN);
		assert_true(until(all_moved, 60000));
		for (k = 0; k < UNIC_DMA_JOBS; k++)
			assert_memory_equal(
				local[k],
				&slot[k / 8 % WINDOWS][UNIC_BUS_OFFSET(bus[k])],
				len[k]);
	}
}

static void memory_is_moved_both_ways(void **state)
{
	(void)state;
	begin();
	move_memory(4);
	assert_int_equal(core.moved, 4 * UNIC_DMA_JOBS);
	assert_int_equal(core.failed, 0);
}

static void a_wild_address_is_refused(void **state)
{
	uint8_t byte;

	(void)state;
	begin();
	assert_int_equal(near_dma(&near, UNIC_DMA_TO_HOST, UNIC_BUS(WINDOWS, 0),
				  &byte, 1, 0),
			 UNIC_PORT_EFAULT);
	assert_int_equal(near_dma(&near, UNIC_DMA_FROM_HOST,
				  UNIC_BUS(0, WINDOW_BYTES - 7), &byte, 8, 0),
			 UNIC_PORT_EFAULT);
	assert_int_equal(near_dma(&near, UNIC_DMA_FROM_HOST,
				  UNIC_BUS(0, 0xffffffffffffull), &byte, 8, 0),
			 UNIC_PORT_EFAULT);
	assert_null(near_doorbells(&near, UNIC_BUS(0, WINDOW_BYTES - 4096)));
	assert_null(near_doorbells(&near, UNIC_BUS(0, 4095)));
}

/* No transfer fails with one of 10^4 bits flipped, ten times what is asked. */
static void noise_costs_time_only(void **state)
{
	(void)state;
	noise = 429497;
	begin();
	commands(20);
	move_memory(3);
	assert_true(near.stream.in.errors + far.stream.in.errors > 0);
	assert_int_equal(core.failed, 0);
	assert_int_equal(near.stream.counts.restarts, 0);
}

/* ------------------------------------------------------------- doorbells */

static struct unic_db_page *db(void)
{
	return (void *)&slot[1][0x10000];
}

static void post(uint32_t row, uint32_t kind, uint32_t tail)
{
	uint32_t seq = unic_from_le32(db()->fifo_seq);

	if (kind == UNIC_DB_SQ)
		db()->tail[row].sq = unic_to_le32(tail);
	else
		db()->tail[row].arm = unic_to_le32(tail);
	db()->fifo[seq % UNIC_DB_FIFO] =
		unic_to_le32(UNIC_DB_WORD(kind, row, tail));
	db()->fifo_seq = unic_to_le32(seq + 1);
}

static void doorbells_come_through(void **state)
{
	struct near_pages *pages;
	uint32_t i, n;

	(void)state;
	begin();
	pages = near_doorbells(&near, DOORBELLS);
	assert_non_null(pages);
	steps(20);
	assert_int_equal(
		unic_from_le32(((struct unic_nic_page *)(db() + 1))->asleep),
		1);
	post(3, UNIC_DB_SQ, 7);
	post(5, UNIC_DB_ARM, 9);
	db()->tail[3].cq_ci = unic_to_le32(77); /* without a doorbell */
	steps(20);
	assert_int_equal(unic_from_le32(pages->db.fifo_seq), 2);
	assert_int_equal(unic_from_le32(pages->db.tail[3].sq), 7);
	assert_int_equal(unic_from_le32(pages->db.tail[3].cq_ci), 77);
	assert_int_equal(unic_from_le32(pages->db.tail[5].arm), 9);
	assert_int_equal(unic_from_le32(pages->db.fifo[1]) & 0x3ff,
			 5 | UNIC_DB_ARM << 8);
	/* more rows and words than a message, or the near FIFO, has room for */
	for (i = 0; i < 50; i++)
		post(i % UNIC_BOX_DB_ROWS, UNIC_DB_SQ, 100 + i);
	steps(40);
	assert_int_equal(unic_from_le32(pages->db.fifo_seq), 52);
	for (i = 34; i < 50; i++)
		assert_int_equal(
			unic_from_le32(pages->db.tail[i % UNIC_BOX_DB_ROWS].sq),
			100 + i);
	/* as many as the near FIFO has room for, one less, one more */
	for (i = UNIC_BOX_DB_FIFO - 1; i <= UNIC_BOX_DB_FIFO + 1; i++) {
		for (n = 0; n < i; n++)
			post(7, UNIC_DB_SQ, 200 + n);
		steps(20);
		assert_int_equal(unic_from_le32(pages->db.fifo_seq),
				 unic_from_le32(db()->fifo_seq));
	}
	/* the NIC's page goes the other way */
	pages->np.epoch = unic_to_le32(4);
	pages->np.cq_events[5] = unic_to_le32(6);
	near_ring(&near, 2);
	steps(20);
	assert_int_equal(
		unic_from_le32(((struct unic_nic_page *)(db() + 1))->epoch), 4);
	assert_int_equal(
		unic_from_le32(
			((struct unic_nic_page *)(db() + 1))->cq_events[5]),
		6);
	assert_int_equal(far.rung, 1u << 2);
}

/* ----------------------------------------------------- unplug and restart */

static void an_unplugged_line_goes_on(void **state)
{
	static uint8_t local[1024];

	(void)state;
	begin();
	memset(slot[0], 0x5a, 1024);
	drv_command(3, 1);
	assert_int_equal(near_dma(&near, UNIC_DMA_FROM_HOST, UNIC_BUS(0, 0),
				  local, 1024, 0),
			 UNIC_PORT_PENDING);
	steps(4);
	cut = true;
	steps(3000);
	assert_int_equal(core.moved, 0);
	cut = false;
	assert_true(until(all_moved, 5000));
	assert_memory_equal(local, slot[0], 1024);
	assert_true(until(all_answered, 5000));
	check_answers(1);
	assert_int_equal(near.stream.counts.restarts, 0);
	commands(5);
}

/* More completions than the ring has places, then a reset while some are under
 * way: none of these may enter a ring whose heads are 0 again. */
static void a_reset_comes_through(void **state)
{
	uint32_t i, k;

	(void)state;
	begin();
	for (i = 0; i < 20; i++) {
		commands(30);
		for (k = 0; k < 8; k++)
			drv_command(1, 0);
		steps(3 + i);
		drv_reset();
	}
}

/* The core acknowledges a reset only after its DMA has ended. */
static void a_reset_waits_for_memory(void **state)
{
	static uint8_t local[8192];

	(void)state;
	begin();
	assert_int_equal(near_dma(&near, UNIC_DMA_TO_HOST, UNIC_BUS(0, 0),
				  local, 8192, 0),
			 UNIC_PORT_PENDING);
	drv_reset();
	assert_int_equal(core.moved, 1);
	commands(3);
}

/* A new far end fails a transfer under way; its driver resets the NIC. */
static void a_new_driver_begins_anew(void **state)
{
	static uint8_t local[1024];

	(void)state;
	begin();
	commands(3);
	core_event(1);
	assert_int_equal(near_dma(&near, UNIC_DMA_TO_HOST, UNIC_BUS(0, 0),
				  local, 1024, 0),
			 UNIC_PORT_PENDING);
	far_start(0x3333);
	assert_true(until(all_moved, 5000));
	assert_int_equal(core.failed, 1);
	begin();
	commands(5);
	assert_int_equal(near.stream.counts.restarts, 1);
	assert_int_equal(far.wrong, 0);
}

static void a_new_nic_is_told_of(void **state)
{
	(void)state;
	begin();
	commands(3);
	far.joined = false;
	near_start(0x4444);
	assert_true(until(is_here, 10));
	steps(300);
	assert_true(far.left && far.joined);
	begin();
	commands(5);
	move_memory(1);
	assert_int_equal(core.failed, 0);
}

static const struct unic_trace_rec *far_trace(uint32_t n)
{
	return (const struct unic_trace_rec *)(void *)(bar +
						       UNIC_BAR_TRACE_OFF) +
	       n;
}

static uint32_t traced(uint32_t n)
{
	return unic_from_le32(far_trace(n)->seq);
}

static void core_trace(uint32_t n, uint32_t arg)
{
	struct unic_trace_rec *r =
		(struct unic_trace_rec *)(void *)(near.box + UNIC_BOX_TRACE) +
		n % UNIC_BOX_TRACES;

	memset(r, 0, sizeof(*r));
	r->arg[0] = unic_to_le32(arg);
	r->seq = unic_to_le32(n + 1);
}

/* Events of a NIC come in order; the first one of another NIC clears those of the NIC
 * before it, and no other one does. */
static void events_of_a_new_nic_alone(void **state)
{
	uint32_t n;

	(void)state;
	begin();
	for (n = 0; n < 5; n++)
		core_trace(n, 7);
	steps(3000);
	for (n = 0; n < 5; n++)
		assert_int_equal(traced(n), n + 1);
	near_start(0x4444);
	memset(near.box + UNIC_BOX_TRACE, 0,
	       UNIC_BOX_TRACES * sizeof(struct unic_trace_rec));
	assert_true(until(is_here, 10));
	begin();
	core_trace(0, 8);
	steps(3000);
	assert_int_equal(unic_from_le32(far_trace(0)->arg[0]), 8);
	for (n = 1; n < 5; n++)
		assert_int_equal(traced(n), 0);
	core_trace(1, 8);
	steps(3000);
	for (n = 0; n < 5; n++)
		assert_int_equal(traced(n), n < 2 ? n + 1 : 0);
}

/* ------------------------------------------------------------ a line's two ends */

static struct stream left, right;

/* The next frame of @s. Returns its bytes; 0: there is none. */
static uint32_t next_frame_of(struct stream *s, uint8_t *line)
{
	uint32_t n = stream_output(s, 0, line, 1);

	if (n)
		n += stream_output(s, 0, line + 1, s->out_len - s->out_at);
	return n;
}

/* Carries one frame from one end to the other. True if it was a message. */
static bool passes(struct stream *from, struct stream *to)
{
	uint8_t line[FRAME_LINE];
	const uint8_t *at = line;
	struct stream_msg msg;
	uint32_t n = next_frame_of(from, line);

	assert_true(n > 0);
	return stream_input(to, &at, &n, 0, &msg);
}

static void is_lost(struct stream *from)
{
	uint8_t line[FRAME_LINE];

	assert_true(next_frame_of(from, line) > 0);
}

static void two_ends(uint32_t items)
{
	struct stream_item item = { .len = 4, .type = UNIC_SERIAL_FIRST };
	struct unic_serial_syn syn = { 0 };

	stream_init(&left, 1, 115200, &syn);
	stream_init(&right, 2, 115200, &syn);
	passes(&left, &right);
	passes(&right, &left);
	assert_true(left.up);
	if (!right.up)
		passes(&left, &right);
	assert_true(right.up);
	while (items--)
		stream_put(&left, &item);
}

/* An acknowledgement of a message that was not sent is dropped; the messages
 * that were sent stay queued. */
static void more_is_acknowledged_than_there_is(void **state)
{
	struct stream_item item;

	(void)state;
	stream_init(&left, 1, BAUD, &(struct unic_serial_syn){ 0 });
	assert_false(stream_room(&left)); /* it is not up */
	two_ends(1);
	assert_true(passes(&left, &right));
	right.expect += 2;
	passes(&right, &left);
	assert_int_equal(left.counts.dropped, 1);
	assert_false(stream_idle(&left));
	assert_false(stream_done(&left, &item));
	right.expect -= 2;
	right.ack_due = true;
	passes(&right, &left);
	assert_true(stream_idle(&left));
	assert_true(stream_done(&left, &item));
	assert_false(stream_done(&left, &item));
}

/* A gap is counted once: while the same message is missing, a later
 * acknowledgement reports no other gap. */
static void gap_is_said_once(void **state)
{
	(void)state;
	two_ends(3);
	is_lost(&left);
	assert_false(passes(&left, &right));
	passes(&right, &left);
	assert_int_equal(left.counts.gaps, 1);
	is_lost(&left);
	assert_false(passes(&left, &right));
	passes(&right, &left);
	assert_int_equal(left.counts.gaps, 1);
}

/* An ACK has 0 for its words, whatever the last frame carried. */
static void an_ack_carries_nothing(void **state)
{
	static const uint8_t none[sizeof(struct unic_serial_words)];
	struct stream_item item = { .a = 0x11223344,
				    .b = 0x55667788,
				    .type = UNIC_SERIAL_FIRST };
	const struct unic_serial_hdr *hdr = (const void *)(right.frame + 2);
	uint8_t line[FRAME_LINE];

	(void)state;
	two_ends(1);
	stream_put(&right, &item);
	assert_true(passes(&right, &left));
	assert_true(passes(&left, &right));
	assert_true(next_frame_of(&right, line) > 0);
	assert_int_equal(hdr->type, UNIC_SERIAL_ACK);
	assert_memory_equal(hdr + 1, none, sizeof(none));
}

/* ---------------------------------------------------- hostile ends */

/* Queues a random message, of one of the types @first; its frame is valid. */
static void lie(struct stream *s, const uint8_t *first, uint32_t types)
{
	static uint8_t junk[UNIC_SERIAL_DATA];
	struct stream_item item = { .from = junk };
	uint32_t i;

	for (i = 0; i < sizeof(junk); i++)
		junk[i] = rnd() % 3 ? 0 : (uint8_t)rnd();
	item.type = first[rnd() % types];
	item.a = rnd() % 2 ? rnd() % 600 : rnd();
	item.b = rnd() % 2 ? rnd() % 8 : rnd();
	item.len = (uint16_t)(rnd() % (UNIC_SERIAL_DATA + 1));
	if (stream_room(s))
		stream_put(s, &item);
}

static void a_lying_nic_stays_in_its_windows(void **state)
{
	static const uint8_t types[] = { 16, 17, 18, 19, 20, 21, 22,
					 23, 24, 25, 26, 27, 32, 200 };
	uint32_t i;

	(void)state;
	begin();
	for (i = 0; i < 20000; i++) {
		lie(&near.stream, types, sizeof(types));
		drv_command(3, 0);
		step();
	}
	assert_true(far.wrong > 100);
}

static void a_lying_host_stays_in_its_box(void **state)
{
	static const uint8_t types[] = { 32, 33, 34, 35, 36, 16, 99 };
	static uint8_t local[1024];
	uint32_t i;

	(void)state;
	begin();
	assert_non_null(near_doorbells(&near, DOORBELLS));
	for (i = 0; i < 20000; i++) {
		lie(&far.stream, types, sizeof(types));
		if (i % 64 == 0)
			(void)near_dma(&near, UNIC_DMA_FROM_HOST,
				       UNIC_BUS(0, 0), local, 1024, 0);
		step();
	}
	assert_true(near.stream.counts.dropped > 100);
}

/* A command for which the near ring has no place is dropped. */
static void a_command_needs_a_place(void **state)
{
	static const uint8_t record[64];
	static uint8_t line[(UNIC_BOX_CMDS + 1) * FRAME_LINE];
	struct stream_item cmd = { .from = record,
				   .len = sizeof(record),
				   .type = UNIC_SERIAL_CMD };
	uint32_t n;

	(void)state;
	begin();
	steps(50);
	for (; cmd.b <= UNIC_BOX_CMDS; cmd.b++) {
		assert_true(stream_room(&far.stream));
		stream_put(&far.stream, &cmd);
	}
	n = far_output(&far, now_ns, line, sizeof(line));
	near_input(&near, line, n, now_ns);
	assert_int_equal(unic_from_le32(near_drv()->cmd_tail), UNIC_BOX_CMDS);
	assert_int_equal(near.stream.counts.dropped, 1);
}

/* ----------------------------------------------------------------- speed */

static void the_line_is_used(void **state)
{
	static uint8_t local[8][1024];
	uint32_t i, moved, was;

	(void)state;
	begin();
	steps(100);
	was = core.moved;
	for (i = 0; i < 1000; i++) {
		while (near_dma(&near, UNIC_DMA_TO_HOST, UNIC_BUS(0, 0),
				local[0], 1024, 0) == UNIC_PORT_PENDING)
			;
		step();
	}
	moved = (core.moved - was) * 1024;
	assert_true(moved * 100 >= 85 * 1000 * STEP_BYTES);
}

/* A single read takes as long as the line needs, not until a heartbeat. */
static void a_core_that_waits_is_told(void **state)
{
	static uint8_t local[1024];
	const uint32_t line = (4 * FRAME_LINE + 64) / STEP_BYTES + 4;
	uint64_t start;
	uint32_t i;

	(void)state;
	begin();
	steps(100);
	core.moved = 0;
	start = now_ns;
	for (i = 0; i < 50; i++) {
		assert_int_equal(near_dma(&near, UNIC_DMA_FROM_HOST,
					  UNIC_BUS(0, 0), local, 1024, 0),
				 UNIC_PORT_PENDING);
		assert_true(until(all_moved, 60));
	}
	assert_int_equal(core.moved, 50);
	assert_true(now_ns - start <= 50 * line * (uint64_t)STEP_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_come_out_as_they_went_in, set_up),
		cmocka_unit_test_setup(a_damaged_frame_does_not_come_out,
				       set_up),
		cmocka_unit_test_setup(commands_are_answered_once_in_order,
				       set_up),
		cmocka_unit_test_setup(events_are_not_lost, set_up),
		cmocka_unit_test_setup(events_wait_for_room, set_up),
		cmocka_unit_test_setup(a_datagram_comes_whole, set_up),
		cmocka_unit_test(more_is_acknowledged_than_there_is),
		cmocka_unit_test(gap_is_said_once),
		cmocka_unit_test(an_ack_carries_nothing),
		cmocka_unit_test_setup(memory_is_moved_both_ways, set_up),
		cmocka_unit_test_setup(a_wild_address_is_refused, set_up),
		cmocka_unit_test_setup(noise_costs_time_only, set_up),
		cmocka_unit_test_setup(doorbells_come_through, set_up),
		cmocka_unit_test_setup(an_unplugged_line_goes_on, set_up),
		cmocka_unit_test_setup(a_reset_comes_through, set_up),
		cmocka_unit_test_setup(events_of_a_new_nic_alone, set_up),
		cmocka_unit_test_setup(a_reset_waits_for_memory, set_up),
		cmocka_unit_test_setup(a_new_driver_begins_anew, set_up),
		cmocka_unit_test_setup(a_new_nic_is_told_of, set_up),
		cmocka_unit_test_setup(a_lying_nic_stays_in_its_windows,
				       set_up),
		cmocka_unit_test_setup(a_lying_host_stays_in_its_box, set_up),
		cmocka_unit_test_setup(a_command_needs_a_place, set_up),
		cmocka_unit_test_setup(the_line_is_used, set_up),
		cmocka_unit_test_setup(a_core_that_waits_is_told, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

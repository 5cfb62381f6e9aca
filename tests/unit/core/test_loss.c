/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_loss.c - reliable delivery over wires that lose, double and delay frames
 * at random (seeded): streams of WRITEs, READs and SENDs, with every byte
 * compared, one completion each, and no retry counter used up.
 */
#include "unit.h"

#include "pair.h"

#define OPS	    60u
#define OUTSTANDING 6u
#define BYTES	    20000u /* 20 packets of 1 KiB */
#define PATIENCE_NS 20000000000ull

static uint64_t seed;
static uint32_t percent;
static uint8_t kept[FAKE_FRAME_BYTES]; /* a frame that is overtaken */
static uint32_t kept_len, kept_flags;

static uint64_t rnd(void) /* splitmix64 */
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool one_in(uint32_t part)
{
	return rnd() % 100 < percent / part;
}

static void bad_wire(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	if (one_in(1))
		return;
	if (port == &ra.port && !kept_len && one_in(4)) {
		memcpy(kept, frame, len);
		kept_len = len;
		kept_flags = flags;
		return;
	}
	fake_deliver(port->peer, frame, len, flags);
	if (one_in(4))
		fake_deliver(port->peer, frame, len, flags);
	if (port == &ra.port && kept_len) {
		fake_deliver(port->peer, kept, kept_len, kept_flags);
		kept_len = 0;
	}
}

static void up(void)
{
	kept_len = 0;
	pair_make(false, 5);
	ra.nic.qps.qp[0].retry_cnt = ra.nic.qps.qp[0].sq.retries = 7;
	ra.port.on_frame = rb.port.on_frame = bad_wire;
}

static void post(uint8_t opcode, uint32_t n)
{
	if (opcode == UNIC_WR_SEND)
		rig_recv(&rb, &qb, n, &mb, 0, BYTES);
	rig_send(&ra, &qa, opcode, n, &ma, 0, BYTES, mb.iova, mb.stag);
}

/* Takes the completions: at A of all requests, in order and successful; at B
 * one for each SEND. */
static void reap(uint8_t opcode, uint32_t *done, uint32_t *recv)
{
	struct unic_cqe cqe;

	while (rig_cqe(&ra, &qa, &cqe)) {
		assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
		assert_int_equal(unic_from_le64(cqe.wr_id), *done);
		(*done)++;
	}
	while (rig_cqe(&rb, &qb, &cqe)) {
		assert_int_equal(opcode, UNIC_WR_SEND);
		assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
		assert_int_equal(unic_from_le32(cqe.byte_len), BYTES);
		assert_int_equal(unic_from_le64(cqe.wr_id), *recv);
		(*recv)++;
	}
}

static void stream(uint8_t opcode)
{
	uint8_t *from = opcode == UNIC_WR_READ ? mb.mem : ma.mem;
	uint8_t *to = opcode == UNIC_WR_READ ? ma.mem : mb.mem;
	uint32_t posted = 0, done = 0, recv = 0, i;
	uint64_t start = ra.port.now_ns;

	for (i = 0; i < BYTES; i++) {
		from[i] = (uint8_t)rnd();
		to[i] = (uint8_t)~from[i];
	}
	while (done < OPS) {
		while (posted < OPS && posted - done < OUTSTANDING)
			post(opcode, posted++);
		rig_run2(&ra, &rb, 500000);
		reap(opcode, &done, &recv);
		assert_true(ra.port.now_ns - start < PATIENCE_NS);
	}
	assert_memory_equal(from, to, BYTES);
	if (opcode == UNIC_WR_SEND)
		assert_int_equal(recv, OPS);
	assert_int_equal(ra.nic.mrs.mr[ma.mr].holds, 0);
}

static void rounds(uint8_t opcode)
{
	uint32_t round;

	for (round = 0; round < 9; round++) {
		seed = round;
		percent = 4 + round % 3 * 4;
		up();
		stream(opcode);
	}
}

static void writes(void **state)
{
	(void)state;
	rounds(UNIC_WR_WRITE);
}

/* B may get a new READ while it repeats responses to older ones. */
static void reads(void **state)
{
	(void)state;
	rounds(UNIC_WR_READ);
}

static void sends(void **state)
{
	(void)state;
	rounds(UNIC_WR_SEND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes),
		cmocka_unit_test(reads),
		cmocka_unit_test(sends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_loss.c - reliable delivery over wires that lose, double and delay frames
 * at random (seeded): windows of WRITEs, READs and SENDs, many rounds, every
 * byte compared, one completion each, no retry counter ever used up.
 */
#include "rig.h"
#include "unit.h"

#define OPS	    60u
#define OUTSTANDING 6u
#define BYTES	    20000u /* 20 packets of 1 KiB */
#define PATIENCE_NS 20000000000ull

static struct rig a, b;
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
	if (port == &a.port && !kept_len && one_in(4)) {
		memcpy(kept, frame, len);
		kept_len = len;
		kept_flags = flags;
		return;
	}
	fake_deliver(port->peer, frame, len, flags);
	if (one_in(4))
		fake_deliver(port->peer, frame, len, flags);
	if (port == &a.port && kept_len) {
		fake_deliver(port->peer, kept, kept_len, kept_flags);
		kept_len = 0;
	}
}

struct ends {
	struct rig_qp qa, qb;
	struct rig_mr ma, mb; /* 5 pages each */
};

static void up(struct ends *e)
{
	uint32_t pa, pb;

	kept_len = 0;
	rig_up(&a, 1);
	rig_up(&b, 2);
	fake_wire(&a.port, &b.port);
	rig_attach(&a, 0, 1);
	rig_attach(&b, 0, 1);
	pa = rig_pd(&a, 0);
	pb = rig_pd(&b, 0);
	rig_qp(&a, 0, pa, 0, &e->qa);
	rig_qp(&b, 0, pb, 0, &e->qb);
	rig_connect(&a, &e->qa, &b, &e->qb);
	a.nic.qps.qp[0].retry_cnt = a.nic.qps.qp[0].sq.retries = 7;
	assert_int_equal(rig_reg(&a, 0, pa, 5, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &e->ma),
			 0);
	assert_int_equal(rig_reg(&b, 0, pb, 5, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &e->mb),
			 0);
	a.port.on_frame = b.port.on_frame = bad_wire;
}

static void post(struct ends *e, uint8_t opcode, uint32_t n)
{
	if (opcode == UNIC_WR_SEND)
		rig_recv(&b, &e->qb, n, &e->mb, 0, BYTES);
	rig_send(&a, &e->qa, opcode, n, &e->ma, 0, BYTES, e->mb.iova,
		 e->mb.stag);
}

/* All at A, in order, all good; at B one for each SEND. */
static void reap(struct ends *e, uint8_t opcode, uint32_t *done, uint32_t *recv)
{
	struct unic_cqe cqe;

	while (rig_cqe(&a, &e->qa, &cqe)) {
		assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
		assert_int_equal(unic_from_le64(cqe.wr_id), *done);
		(*done)++;
	}
	while (rig_cqe(&b, &e->qb, &cqe)) {
		assert_int_equal(opcode, UNIC_WR_SEND);
		assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
		assert_int_equal(unic_from_le32(cqe.byte_len), BYTES);
		assert_int_equal(unic_from_le64(cqe.wr_id), *recv);
		(*recv)++;
	}
}

static void stream(struct ends *e, uint8_t opcode)
{
	uint8_t *from = opcode == UNIC_WR_READ ? e->mb.mem : e->ma.mem;
	uint8_t *to = opcode == UNIC_WR_READ ? e->ma.mem : e->mb.mem;
	uint32_t posted = 0, done = 0, recv = 0, i;
	uint64_t start = a.port.now_ns;

	for (i = 0; i < BYTES; i++) {
		from[i] = (uint8_t)rnd();
		to[i] = (uint8_t)~from[i];
	}
	while (done < OPS) {
		while (posted < OPS && posted - done < OUTSTANDING)
			post(e, opcode, posted++);
		rig_run2(&a, &b, 500000);
		reap(e, opcode, &done, &recv);
		assert_true(a.port.now_ns - start < PATIENCE_NS);
	}
	assert_memory_equal(from, to, BYTES);
	if (opcode == UNIC_WR_SEND)
		assert_int_equal(recv, OPS);
	assert_int_equal(a.nic.mrs.mr[e->ma.mr].holds, 0);
}

static void rounds(uint8_t opcode)
{
	struct ends e;
	uint32_t round;

	for (round = 0; round < 9; round++) {
		seed = round;
		percent = 4 + round % 3 * 4;
		up(&e);
		stream(&e, opcode);
	}
}

static void writes(void **state)
{
	(void)state;
	rounds(UNIC_WR_WRITE);
}

/* A new READ may come while older ones are answered again. */
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_lane.c - frames that arrive in a row and are placed in one run, of which
 * one is lost, damaged, for another queue pair, or refused.
 */
#include "unit.h"

#include "rig.h"
#include "transport/requester.h"
#include "transport/rx.h"

#define MS    1000000ull
#define PAGES 3u
#define BYTES (PAGES * 4096u)
#define MTU   1024u
#define APSN  50u /* bytes of a frame before the last word of its BTH */

/* What the wire does to one frame, by number from 1 on. */
static struct {
	uint32_t seen, victim;
	/* the byte that is inverted; 0: the frame is lost */
	uint32_t at;
	uint8_t apsn[64][4]; /* of each frame */
	/* the last bytes of each frame, where the ICRC is */
	uint8_t end[64][4];
} wire;

static struct rig ra, rb;
static struct rig_qp qa, qb;
static struct rig_mr ma, mb;

static void on_frame(struct unic_port *port, const uint8_t *frame, uint32_t len,
		     uint32_t flags)
{
	uint8_t copy[FAKE_FRAME_BYTES];

	memcpy(wire.apsn[wire.seen % 64], frame + APSN, 4);
	memcpy(wire.end[wire.seen % 64], frame + len - 4, 4);
	if (++wire.seen != wire.victim) {
		fake_deliver(port->peer, frame, len, flags);
	} else if (wire.at) {
		memcpy(copy, frame, len);
		copy[wire.at < len ? wire.at : len - 6] ^= 0xff;
		fake_deliver(port->peer, copy, len, flags);
	}
}

static void bring_up_at(bool icrc, uint32_t psn)
{
	uint32_t pa, pb, i;

	memset(&wire, 0, sizeof(wire));
	rig_up(&ra, 1);
	rig_up(&rb, 2);
	ra.port.icrc = rb.port.icrc = icrc;
	ra.nic.link.icrc_offload = rb.nic.link.icrc_offload = !icrc;
	fake_wire(&ra.port, &rb.port);
	rig_attach(&ra, 0, 1);
	rig_attach(&rb, 0, 1);
	pa = rig_pd(&ra, 0);
	pb = rig_pd(&rb, 0);
	rig_qp(&ra, 0, pa, 1, &qa);
	rig_qp(&rb, 0, pb, 2, &qb);
	qa.psn = psn;
	rig_connect(&ra, &qa, &rb, &qb);
	assert_int_equal(rig_reg(&ra, 0, pa, PAGES, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &ma),
			 0);
	assert_int_equal(rig_reg(&rb, 0, pb, PAGES, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mb),
			 0);
	for (i = 0; i < BYTES; i++)
		ma.mem[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	memset(mb.mem, 0, BYTES);
	ra.port.on_frame = on_frame;
}

static void bring_up(bool icrc)
{
	bring_up_at(icrc, 0x1000);
}

/* All of A's frames arrive at B before B polls. */
static void at_once(void)
{
	rig_poll(&ra);
	rig_poll(&rb);
}

static void expect(uint64_t wr_id, uint8_t status)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(cqe.status, status);
}

static void write_at(uint64_t id, uint32_t off, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, id, &ma, off, len, mb.iova + off,
		 mb.stag);
}

/*
 * Four WRITEs of @len bytes side by side. The third is lost, or its byte @at is
 * inverted: the first two are placed at once, the others after A has sent them
 * again.
 */
static void third_of_four(uint32_t len, uint32_t at)
{
	static const uint8_t nothing[2 * MTU];
	uint32_t i;

	wire.victim = 3;
	wire.at = at;
	for (i = 0; i < 4; i++)
		write_at(i, i * len, len);
	at_once();
	assert_memory_equal(mb.mem, ma.mem, 2 * len);
	assert_memory_equal(mb.mem + 2 * len, nothing, 2 * len);
	rig_run2(&ra, &rb, 50 * MS);
	for (i = 0; i < 4; i++)
		expect(i, 0);
	assert_memory_equal(mb.mem, ma.mem, 4 * len);
	assert_int_equal(mb.mem[4 * len], 0);
}

static void one_is_lost(void **state)
{
	static const uint32_t len[] = { 8, 24, 300 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		bring_up(false);
		third_of_four(len[i], 0);
		bring_up(true);
		third_of_four(len[i], 0);
	}
}

/* The ICRC finds damage in BTH, in RETH and in the payload. */
static void one_is_damaged(void **state)
{
	static const uint32_t at[] = { 47, 51, 54 + 7, 54 + 16, ~0u };
	uint32_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		bring_up(true);
		third_of_four(i & 1 ? 8 : 40, at[i]);
		assert_int_equal(rig_count(&rb, rx_bad_icrc), 1);
	}
}

/* The last of four WRITEs side by side lies in the next page. */
static void one_is_elsewhere(void **state)
{
	uint32_t i;

	(void)state;
	bring_up(false);
	for (i = 0; i < 4; i++)
		write_at(i, 4096 - 3 * 40 + i * 40, 40);
	at_once();
	rig_run2(&ra, &rb, MS);
	for (i = 0; i < 4; i++)
		expect(i, 0);
	assert_memory_equal(mb.mem + 4096 - 120, ma.mem + 4096 - 120, 160);
	assert_int_equal(mb.mem[4096 + 40], 0);
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

/* Four WRITEs of @len bytes with gaps between them, but WRITE @victim, which has
 * @other bytes: each is placed in its length, and no byte of a gap is written. */
static void one_of_length(uint32_t len, uint32_t other, uint32_t victim)
{
	static uint8_t want[BYTES];
	uint32_t i, n;

	bring_up(false);
	memset(want, 0x77, sizeof(want)); /* not what a frame is padded with */
	memset(mb.mem, 0x77, BYTES);
	for (i = 0; i < 4; i++) {
		n = i == victim ? other : len;
		memcpy(want + i * 64, ma.mem + i * 64, n);
		write_at(i, i * 64, n);
	}
	at_once();
	assert_memory_equal(mb.mem, want, BYTES);
	rig_run2(&ra, &rb, MS);
	for (i = 0; i < 4; i++)
		expect(i, 0);
	assert_memory_equal(mb.mem, want, BYTES);
	assert_int_equal(rb.nic.mrs.mr[mb.mr].bytes, 3 * len + other);
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

/* WRITEs of up to three bytes less have frames of the same length, with more
 * padding. */
static void one_has_another_length(void **state)
{
	static const uint32_t len[][2] = { { 40, 39 }, { 40, 37 }, { 40, 36 },
					   { 40, 44 }, { 8, 7 },   { 8, 12 },
					   { 7, 8 },   { 5, 7 } };
	uint32_t i, k;

	(void)state;
	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++)
		for (k = 0; k < 4; k++)
			one_of_length(len[i][0], len[i][1], k);
}

/* The RETH of the third of four WRITEs names another length than its frame has:
 * it and the WRITE behind it are not placed, and the connection ends. */
static void one_names_another_length(void **state)
{
	static const uint8_t nothing[2 * 40];
	uint32_t i;

	(void)state;
	bring_up(false);
	wire.victim = 3;
	wire.at = 54 + 15;
	for (i = 0; i < 4; i++)
		write_at(i, i * 40, 40);
	at_once();
	rig_run2(&ra, &rb, MS);
	assert_memory_equal(mb.mem, ma.mem, 2 * 40);
	assert_memory_equal(mb.mem + 2 * 40, nothing, 2 * 40);
	expect(0, 0);
	expect(1, 0);
	expect(2, UNIC_WC_REM_INV_REQ_ERR);
	expect(3, UNIC_WC_WR_FLUSH_ERR);
}

/*
 * A long WRITE: byte @at of packet @victim is inverted, or, if 0, the packet is
 * lost. The packets before it are placed, none from it on until A repeats it.
 */
static void of_a_long_one(uint32_t victim, uint32_t at)
{
	static const uint8_t nothing[BYTES];
	uint32_t whole = (victim - 1) * MTU;

	bring_up(false);
	wire.victim = victim;
	wire.at = at;
	write_at(1, 0, BYTES - 100);
	at_once();
	assert_memory_equal(mb.mem, ma.mem, whole);
	assert_memory_equal(mb.mem + whole, nothing, BYTES - whole);
	rig_run2(&ra, &rb, 50 * MS);
	expect(1, 0);
	assert_memory_equal(mb.mem, ma.mem, BYTES - 100);
	assert_memory_equal(mb.mem + BYTES - 100, nothing, 100);
}

/* The packet is lost, or a byte of its EtherType, TTL, source address, UDP port
 * or queue pair number is inverted. */
static void one_packet_is_not_alike(void **state)
{
	static const uint32_t at[] = { 0, 12, 22, 29, 37, 49 };
	static const uint32_t victim[] = { 1, 2, 5, 8, 12 };
	uint32_t i, k;

	(void)state;
	for (i = 0; i < sizeof(victim) / sizeof(*victim); i++)
		for (k = 0; k < sizeof(at) / sizeof(*at); k++)
			of_a_long_one(victim[i], at[k]);
}

/* An acknowledgement from another IP address is dropped; one with another
 * source MAC address is taken. */
static void acknowledgement_of_a_stranger(void **state)
{
	uint32_t k;

	(void)state;
	bring_up(false);
	rb.port.on_frame = on_frame;
	for (k = 0; k < 3; k++) { /* the first ACK fills the header cache */
		wire.seen = 0;
		wire.victim = k ? 2 : 0; /* frame 1 is A's WRITE */
		wire.at = k == 1 ? 29 : 9;
		write_at(k, k * 8, 8);
		rig_run2(&ra, &rb, MS);
		if (k == 1) {
			struct unic_cqe cqe;

			assert_false(rig_cqe(&ra, &qa, &cqe));
		}
		rig_run2(&ra, &rb, 50 * MS);
		expect(k, 0);
	}
	assert_int_equal(rig_count(&ra, retransmits), 1);
}

/* PSNs wrap in the middle of requests that are sent in one run. */
static void numbers_go_round(void **state)
{
	uint32_t i, psn, n = 10;

	(void)state;
	bring_up_at(false, UNIC_PSN_MASK - 1);
	for (i = 0; i < n; i++)
		write_at(i, i * 30, 30);
	at_once();
	assert_memory_equal(mb.mem, ma.mem, 30 * n);
	assert_int_equal(wire.seen, n);
	for (i = 0; i < n; i++) {
		psn = unic_psn_add(UNIC_PSN_MASK - 1, i);
		assert_int_equal(wire.apsn[i][0] & 0x7f, 0); /* reserved */
		assert_int_equal(wire.apsn[i][1], psn >> 16);
		assert_int_equal(wire.apsn[i][2], (uint8_t)(psn >> 8));
		assert_int_equal(wire.apsn[i][3], (uint8_t)psn);
	}
	rig_run2(&ra, &rb, MS);
	for (i = 0; i < n; i++)
		expect(i, 0);
}

/* Three long WRITEs, PSNs 0x1000 to 0x1023: the last packet of each requests an
 * acknowledgement, and the one whose PSN is 31 modulo 32. */
static void asks_now_and_then(void **state)
{
	uint32_t i;

	(void)state;
	bring_up(false);
	for (i = 0; i < 3; i++)
		write_at(i, 0, BYTES);
	rig_run2(&ra, &rb, MS);
	for (i = 0; i < 3; i++)
		expect(i, 0);
	assert_int_equal(wire.seen, 36);
	for (i = 0; i < 36; i++)
		assert_int_equal(wire.apsn[i][0] >> 7,
				 i % 12 == 11 || i == UNIC_ACK_EVERY);
}

/* On a link without ICRC its four bytes are zeros, not the old contents of the
 * buffer. */
static void no_sum_is_zero(void **state)
{
	static const uint8_t zero[4];
	uint32_t i, k;

	(void)state;
	bring_up(false);
	for (i = 0; i < 2 * UNIC_TX_BUFS; i++) {
		write_at(i, 0, 300);
		at_once();
		rig_run2(&ra, &rb, MS);
		expect(i, 0);
	}
	wire.seen = 0;
	for (i = 0; i < 10; i++)
		write_at(i, i * 30, 30);
	rig_run2(&ra, &rb, MS);
	for (i = 0; i < 10; i++) {
		expect(i, 0);
		assert_memory_equal(wire.end[i], zero, 4);
	}
	for (k = 0; k < 4; k++) { /* packets of a long message */
		wire.seen = 0;
		write_at(k, 0, BYTES - 100 * k);
		rig_run2(&ra, &rb, MS);
		expect(k, 0);
		for (i = 0; i < 12; i++)
			assert_memory_equal(wire.end[i], zero, 4);
	}
}

/* An RNR NAK in a frame that is not like the one before it is taken. */
static void refusal_by_another_way(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	bring_up(false);
	rb.port.on_frame = on_frame;
	wire.victim = 2; /* B's answer, through another router */
	wire.at = 9;
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &ma, 0, 100, 0, 0);
	at_once();
	rig_poll(&ra);
	assert_int_equal(wire.seen, 2);
	assert_int_equal(rig_count(&rb, tx_rnr_naks), 1);
	assert_false(rig_cqe(&ra, &qa, &cqe));
	rig_recv(&rb, &qb, 7, &mb, 0, 100);
	rig_run2(&ra, &rb, 50 * MS);
	expect(1, 0);
	assert_memory_equal(mb.mem, ma.mem, 100);
}

/* A region that its own process has just read still refuses a peer's WRITE
 * without the right. */
static void read_only(void **state)
{
	struct unic_cmd_mr_reg cmd = {
		.rights = UNIC_MR_REMOTE_READ,
		.page_shift = 12,
		.iova = unic_to_le64(0x5000),
		.length = unic_to_le64(4096),
		.n_pages = unic_to_le32(1),
		.flags = UNIC_REG_LIST,
	};
	uint8_t *page = rb.port.window[0] + 100 * 4096;
	struct unic_cpl_mr_reg cpl;
	struct rig_mr ro = { .iova = 0x5000 };
	uint32_t i;

	(void)state;
	bring_up(false);
	*(uint64_t *)(void *)(rb.port.bar + UNIC_BAR_LIST_OFF +
			      rb.cmd_tail % UNIC_CMD_ENTRIES *
				      UNIC_LIST_BYTES) =
		UNIC_BUS(0, 100 * 4096ull);
	cmd.pd = unic_to_le32(qb.pd);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REG, &cmd, &cpl), 0);
	ro.stag = unic_from_le32(cpl.stag);
	memset(page, 0x77, 4096);
	for (i = 0; i < 2; i++) { /* B accesses its pages itself */
		struct unic_cqe cqe;

		rig_send(&rb, &qb, UNIC_WR_WRITE, i, &ro, 0, 8, ma.iova,
			 ma.stag);
		rig_run2(&ra, &rb, MS);
		assert_true(rig_cqe(&rb, &qb, &cqe));
		assert_int_equal(cqe.status, 0);
	}
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, ro.iova, ro.stag);
	rig_run2(&ra, &rb, MS);
	expect(1, UNIC_WC_REM_ACCESS_ERR);
	for (i = 0; i < 16; i++)
		assert_int_equal(page[i], 0x77);
}

/* Finds the last @n trace records of received frames, the newest last. */
static void traced(const struct unic_trace_rec *last[], uint32_t n)
{
	const struct unic_trace_rec *ring =
		(const void *)(rb.port.bar + UNIC_BAR_TRACE_OFF);
	uint32_t i, k, found = 0;

	for (i = 0; i < UNIC_TRACE_ENTRIES; i++) {
		if (unic_from_le32(ring[i].seq) != i + 1 ||
		    unic_from_le16(ring[i].code) != UNIC_T_RX)
			continue;
		for (k = 1; k < n; k++)
			last[k - 1] = last[k];
		last[n - 1] = &ring[i];
		found++;
	}
	assert_true(found >= n);
}

/* The trace has a record for each of the frames that are placed in one run. */
static void traced_one_by_one(void **state)
{
	const struct unic_trace_rec *t[4] = { 0 };
	uint32_t i;

	(void)state;
	bring_up(false);
	rb.nic.trace.mask = ~0u;
	for (i = 0; i < 4; i++)
		write_at(i, i * 30, 30);
	at_once();
	assert_memory_equal(mb.mem, ma.mem, 120);
	traced(t, 4);
	for (i = 0; i < 4; i++) {
		assert_int_equal(unic_from_le16(t[i]->proc), 0);
		assert_int_equal(unic_from_le32(t[i]->arg[0]),
				 UNIC_OP_WRITE_ONLY);
		assert_int_equal(unic_from_le32(t[i]->arg[1]), qb.qpn);
		assert_int_equal(unic_from_le32(t[i]->arg[2]), 0x1000 + i);
		assert_int_equal(unic_from_le32(t[i]->arg[3]), 16 + 30);
	}
}

/* A refused frame is in the trace, too. */
static void refusal_is_traced(void **state)
{
	const struct unic_trace_rec *t[2] = { 0 };

	(void)state;
	bring_up(false);
	rb.nic.trace.mask = ~0u;
	write_at(1, 0, 30);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 2, &ma, 0, 30, mb.iova + BYTES,
		 mb.stag);
	at_once();
	traced(t, 2);
	assert_int_equal(unic_from_le32(t[1]->arg[2]), 0x1001);
	rig_run2(&ra, &rb, MS);
	expect(1, 0);
	expect(2, UNIC_WC_REM_ACCESS_ERR);
}

/* unic_rx_poll() takes at most UNIC_RX_BATCH frames, however many there are. */
static void a_turn_has_an_end(void **state)
{
	uint32_t i, before;

	(void)state;
	bring_up(false);
	for (i = 0; i < 3; i++)
		write_at(i, 0, BYTES);
	rig_poll(&ra);
	assert_true(wire.seen > UNIC_RX_BATCH);
	before = rb.port.rx_head;
	unic_rx_poll(&rb.nic.transport);
	assert_in_range(rb.port.rx_head - before, 1, UNIC_RX_BATCH);
	rig_run2(&ra, &rb, MS);
	for (i = 0; i < 3; i++)
		expect(i, 0);
}

/* A slot of zeros, but for a valid key and address, is the first slot of a
 * queue pair: it is malformed, and not taken for a request of no bytes. */
static void zeros_are_like_nothing(void **state)
{
	struct unic_sq_slot *s;
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		bring_up(i);
		s = &qa.sq[0];
		rig_send(&rb, &qb, UNIC_WR_WRITE, 1, &mb, 0, 8, ma.iova,
			 ma.stag); /* the region shows its page now */
		rig_run2(&ra, &rb, MS);
		rig_send(&ra, &qa, 0, 2, &ma, 0, 0, 0, 0);
		s->flags = 0;
		s->num_sge = 0;
		wire.seen = 0;
		rig_run2(&ra, &rb, MS);
		assert_true(rig_cqe(&ra, &qa, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_LOC_QP_OP_ERR);
		assert_int_equal(cqe.detail, UNIC_WD_OPCODE);
		assert_int_equal(wire.seen, 0);
	}
}

/* A region counts one use for a WRITE of one packet, whichever path the WRITE
 * takes: it lies in two pages, the link has no room for frames in a row, or the
 * port has no windows. */
static void each_use_counts_once(void **state)
{
	static const uint32_t from[] = { 0, 4092, 4096, 8188 };
	const struct unic_mr_ctx *sa, *sb;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 3; i++) {
		bring_up(false);
		sa = &ra.nic.mrs.mr[ma.mr];
		sb = &rb.nic.mrs.mr[mb.mr];
		ra.port.tx_held = i == 1;
		ra.port.again_call = rb.port.again_call = i == 2 ? ~0u : 0;
		for (k = 0; k < 4; k++) {
			write_at(k, from[k], 8);
			rig_run2(&ra, &rb, MS);
			expect(k, 0);
			assert_int_equal(sa->uses, k + 1);
			assert_int_equal(sb->uses, k + 1);
			assert_int_equal(sa->bytes, 8 * (k + 1));
			assert_int_equal(sb->bytes, 8 * (k + 1));
		}
		assert_memory_equal(mb.mem + 4092, ma.mem + 4092, 12);
	}
}

/* Messages side by side that are placed in one run count one use each. */
static void a_run_counts_each_use(void **state)
{
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 2; i++) {
		bring_up(false);
		ra.port.again_call = rb.port.again_call = i ? ~0u : 0;
		for (k = 0; k < 6; k++)
			write_at(k, 16 * k, 8);
		rig_run2(&ra, &rb, MS);
		for (k = 0; k < 6; k++)
			expect(k, 0);
		assert_int_equal(ra.nic.mrs.mr[ma.mr].uses, 6);
		assert_int_equal(rb.nic.mrs.mr[mb.mr].uses, 6);
		assert_int_equal(ra.nic.mrs.mr[ma.mr].bytes, 48);
		assert_int_equal(rb.nic.mrs.mr[mb.mr].bytes, 48);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_use_counts_once),
		cmocka_unit_test(a_run_counts_each_use),
		cmocka_unit_test(one_is_lost),
		cmocka_unit_test(one_is_damaged),
		cmocka_unit_test(one_is_elsewhere),
		cmocka_unit_test(one_has_another_length),
		cmocka_unit_test(one_names_another_length),
		cmocka_unit_test(one_packet_is_not_alike),
		cmocka_unit_test(acknowledgement_of_a_stranger),
		cmocka_unit_test(numbers_go_round),
		cmocka_unit_test(asks_now_and_then),
		cmocka_unit_test(no_sum_is_zero),
		cmocka_unit_test(refusal_by_another_way),
		cmocka_unit_test(read_only),
		cmocka_unit_test(traced_one_by_one),
		cmocka_unit_test(refusal_is_traced),
		cmocka_unit_test(a_turn_has_an_end),
		cmocka_unit_test(zeros_are_like_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

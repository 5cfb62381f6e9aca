/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_frames.c - the bytes on the wire: a parser of the protocol that shares
 * no code with the NIC but the ICRC checks every frame, whatever its buffer
 * held before. And the counters of both ends agree with the wire.
 */
#include "unit.h"

#include "base/icrc.h"
#include "pair.h"
#include "transport/mad.h"

#define MS    1000000ull
#define PAGES 3u
#define BTH   42u

static struct seen {
	uint32_t frames, bytes;
	uint32_t of[256]; /* by opcode */
	uint32_t solicited;
	uint32_t vack[2]; /* of the last vendor acknowledgement */
	uint32_t last_len;
	uint8_t last[FAKE_FRAME_BYTES];
} from_a, from_b;

static uint32_t be(const uint8_t *f, uint32_t bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | *f++;
	return v;
}

static void look_at_ip(const uint8_t *f, uint32_t len)
{
	uint32_t sum = 0, i;

	assert_int_equal(be(f + 12, 2), 0x0800);
	assert_int_equal(be(f + 14, 2), 0x4500);
	assert_int_equal(be(f + 16, 2), len - 14);
	assert_int_equal(be(f + 18, 4), 0x4000);
	assert_int_equal(be(f + 22, 2), 64 << 8 | 17);
	for (i = 14; i < 34; i += 2)
		sum += be(f + i, 2);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
	assert_int_equal(be(f + 34, 2) & 0xc000, 0xc000);
	assert_int_equal(be(f + 36, 2), 4791);
	assert_int_equal(be(f + 38, 2), len - 34);
	assert_int_equal(be(f + 40, 2), 0);
}

static void look_at(const struct unic_port *from, const uint8_t *f,
		    uint32_t len, uint32_t flags)
{
	static uint8_t copy[2 + FAKE_FRAME_BYTES] __attribute__((aligned(4)));
	uint32_t pad = f[BTH + 1] >> 4 & 3, i, icrc;

	assert_memory_equal(f, from->peer->mac, 6);
	assert_memory_equal(f + 6, from->mac, 6);
	look_at_ip(f, len);
	assert_int_equal(f[BTH + 1] & 0x4f, 0x00);
	assert_int_equal(be(f + BTH + 2, 2), 0xffff);
	for (i = 0; i < pad; i++)
		assert_int_equal(f[len - 5 - i], 0);
	assert_int_equal(flags & UNIC_FRAME_NO_ICRC,
			 from->icrc ? 0 : UNIC_FRAME_NO_ICRC);
	if (!from->icrc)
		return;
	memcpy(copy + 2, f, len);
	icrc = unic_icrc(copy + 2, len - 4);
	assert_memory_equal(f + len - 4, &icrc, 4);
}

static void inspect(struct unic_port *port, const uint8_t *f, uint32_t len,
		    uint32_t flags)
{
	struct seen *s = port == &ra.port ? &from_a : &from_b;

	s->frames++;
	s->bytes += len;
	s->last_len = len;
	memcpy(s->last, f, len);
	if (be(f + 12, 2) == 0x0800) {
		look_at(port, f, len, flags);
		s->of[f[BTH]]++;
		s->solicited += f[BTH + 1] >> 7;
		if (f[BTH] == UNIC_OP_VACK) {
			s->vack[0] = be(f + 54, 4);
			s->vack[1] = be(f + 58, 4);
		}
	}
	fake_deliver(port->peer, f, len, flags);
}

static void set_up(bool icrc)
{
	memset(&from_a, 0, sizeof(from_a));
	memset(&from_b, 0, sizeof(from_b));
	pair_make(icrc, PAGES);
	ra.port.on_frame = rb.port.on_frame = inspect;
	memset(ra.port.tx, 0xa7, sizeof(ra.port.tx));
	memset(rb.port.tx, 0xa7, sizeof(rb.port.tx));
}

static int up(void **state)
{
	(void)state;
	set_up(false);
	return 0;
}

static int up_icrc(void **state)
{
	(void)state;
	set_up(true);
	return 0;
}

/* Without the fast path: a port whose transfers may fail has no windows. */
static int up_long_way(void **state)
{
	(void)state;
	set_up(false);
	ra.port.fail_call = rb.port.fail_call = UINT32_MAX;
	return 0;
}

static void done(struct rig *r, struct rig_qp *qp, uint64_t wr_id, uint32_t len)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(r, qp, &cqe));
	assert_int_equal(cqe.status, 0);
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(unic_from_le32(cqe.byte_len), len);
}

/* The counters of both ends must equal the frames on the wire. */
static void counters_agree(void)
{
	rig_run2(&ra, &rb, MS);
	assert_int_equal(rig_count(&ra, tx_frames), from_a.frames);
	assert_int_equal(rig_count(&ra, tx_bytes), from_a.bytes);
	assert_int_equal(rig_count(&rb, rx_frames), from_a.frames);
	assert_int_equal(rig_count(&rb, rx_bytes), from_a.bytes);
	assert_int_equal(rig_count(&rb, tx_frames), from_b.frames);
	assert_int_equal(rig_count(&rb, tx_bytes), from_b.bytes);
	assert_int_equal(rig_count(&ra, rx_frames), from_b.frames);
	assert_int_equal(rig_count(&ra, rx_bytes), from_b.bytes);
	assert_int_equal(ra.port.tx_held | rb.port.tx_held, 0);
}

/* Moves one message of @len bytes from @off of A's memory to B's. */
static void move(uint8_t opcode, uint32_t off, uint32_t len)
{
	uint32_t i;

	memset(mb.mem, 0xee, PAGES * 4096);
	if (opcode == UNIC_WR_SEND)
		rig_recv(&rb, &qb, 7, &mb, 0, 4096);
	rig_send(&ra, &qa, opcode, 9, &ma, off, len, mb.iova, mb.stag);
	rig_run2(&ra, &rb, MS / 10);
	done(&ra, &qa, 9, len);
	if (opcode == UNIC_WR_SEND)
		done(&rb, &qb, 7, len);
	assert_memory_equal(mb.mem, ma.mem + off, len);
	for (i = len; i < len + 64; i++)
		assert_int_equal(mb.mem[i], 0xee);
}

static const uint32_t lengths[] = { 1,	  2,	3,    4,    5,	  6,	7,
				    8,	  15,	16,   31,   63,	  64,	65,
				    1000, 1021, 1022, 1023, 1024, 1025, 2045,
				    2047, 2048, 2049, 3071, 3073, 4095, 4096 };

static void of_each_length(uint8_t opcode)
{
	uint32_t i, n = sizeof(lengths) / sizeof(lengths[0]);

	for (i = 0; i < n; i++) { /* one length twice, then another */
		move(opcode, i, lengths[i]);
		move(opcode, 4096 - i, lengths[i]);
		move(opcode, i % 4, lengths[n - 1 - i]);
	}
	counters_agree();
}

static void writes(void **state)
{
	(void)state;
	of_each_length(UNIC_WR_WRITE);
	assert_true(from_a.of[UNIC_OP_WRITE_ONLY] > 0 &&
		    from_a.of[UNIC_OP_WRITE_FIRST] > 0);
	assert_int_equal(from_a.solicited, 0);
}

static void sends(void **state)
{
	(void)state;
	of_each_length(UNIC_WR_SEND);
	assert_int_equal(from_a.solicited, 0);
}

static void reads(void **state)
{
	uint32_t i, n = sizeof(lengths) / sizeof(lengths[0]);

	(void)state;
	for (i = 0; i < 2 * n; i++) {
		uint32_t len = lengths[i % n], off = i % 5;

		memset(mb.mem, 0xee, PAGES * 4096);
		rig_send(&rb, &qb, UNIC_WR_READ, i, &mb, 0, len, ma.iova + off,
			 ma.stag);
		rig_run2(&ra, &rb, MS / 10);
		done(&rb, &qb, i, len);
		assert_memory_equal(mb.mem, ma.mem + off, len);
		assert_int_equal(mb.mem[len], 0xee);
	}
	counters_agree();
}

/* Runs of several lengths: only a message like the one before it takes the fast
 * path. */
static void mixed(void **state)
{
	uint32_t i, k, round;

	(void)state;
	for (round = 0; round < 40; round++) {
		uint32_t at[8], len[8];

		memset(mb.mem, 0xee, PAGES * 4096);
		for (i = 0, k = 0; i < 8; i++, k += 160) {
			at[i] = (round + 3 * i) % 90;
			len[i] = 1 + (round * (i & 3) + i / 4) % 150;
			rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, at[i], len[i],
				 mb.iova + k, mb.stag);
		}
		rig_run2(&ra, &rb, MS / 10);
		for (i = 0, k = 0; i < 8; i++, k += 160) {
			done(&ra, &qa, i, len[i]);
			assert_memory_equal(mb.mem + k, ma.mem + at[i], len[i]);
			assert_int_equal(mb.mem[k + len[i]], 0xee);
		}
	}
	counters_agree();
}

/* The solicited bit is in the last packet, if it was requested, and wakes a
 * process that is armed for solicited completions only. */
static void solicited(void **state)
{
	struct unic_db_page *db = (void *)rb.port.window[0];
	uint32_t before, ask, i;

	(void)state;
	for (i = 0; i < 8; i++) {
		uint32_t len = i & 1 ? 3000 : 30;
		struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];

		before = rb.port.rung[1];
		from_a.solicited = 0;
		ask = 0x80000000u | qb.cq_ci;
		db->tail[qb.row].arm = unic_to_le32(ask);
		rig_ring(&rb, 0, UNIC_DB_ARM, qb.row, ask);
		rig_recv(&rb, &qb, 7, &mb, 0, 4096);
		rig_run2(&ra, &rb, MS / 10);
		rig_send(&ra, &qa, UNIC_WR_SEND, 9, &ma, 0, len, 0, 0);
		if (i & 2)
			s->flags |= UNIC_WR_SOLICITED;
		rig_run2(&ra, &rb, MS / 10);
		done(&ra, &qa, 9, len);
		done(&rb, &qb, 7, len);
		assert_int_equal(from_a.solicited, i >> 1 & 1);
		assert_int_equal(rb.port.rung[1] - before, i >> 1 & 1);
	}
}

/* Each QP waits with a frame for late payload: one QP more than the link has
 * buffers. Each buffer is used and comes back, and each QP is served. */
#define MANY (UNIC_TX_BUFS + 1u)

static void every_buffer(void **state)
{
	struct rig_qp a[MANY], b[MANY];
	uint32_t i, round;

	(void)state;
	a[0] = qa;
	b[0] = qb;
	for (i = 1; i < MANY; i++) {
		rig_qp(&ra, 0, qa.pd, 8 + i, &a[i]);
		rig_qp(&rb, 0, qb.pd, 8 + i, &b[i]);
		rig_connect(&ra, &a[i], &rb, &b[i]);
	}
	for (round = 0; round < 3; round++) {
		memset(mb.mem, 0xee, PAGES * 4096);
		ra.port.late_dma = true;
		for (i = 0; i < MANY; i++)
			rig_send(&ra, &a[i], UNIC_WR_WRITE, i, &ma, i * 1024,
				 1000, mb.iova + i * 1024, mb.stag);
		for (i = 0; i < 4 * MANY; i++) {
			rig_poll(&ra);
			fake_dma_run(&ra.port, 1);
			if (ra.port.tx_held == (1u << UNIC_TX_BUFS) - 1)
				break;
		}
		assert_int_equal(ra.port.tx_held, (1u << UNIC_TX_BUFS) - 1);
		for (i = 0; i < 8 * MANY; i++) {
			fake_dma_run(&ra.port, 1);
			rig_run2(&ra, &rb, 1000);
		}
		for (i = 0; i < MANY; i++) {
			done(&ra, &a[i], i, 1000);
			assert_memory_equal(mb.mem + i * 1024,
					    ma.mem + i * 1024, 1000);
		}
		assert_int_equal(mb.mem[MANY * 1024], 0xee);
	}
	counters_agree();
}

/* ARP frames have the minimum length, padded with zeros, and name both hosts in
 * full. */
static void questions(void **state)
{
	static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 },
			     none[6] = { 0 };
	struct unic_cmd_arp cmd = { .ipv4 = unic_to_le32(0x0a000002) };
	const uint8_t *q = from_a.last, *r = from_b.last;
	struct unic_evt_arp evt;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_ARP_RESOLVE, &cmd, NULL),
			 UNIC_ST_PENDING);
	rig_run2(&ra, &rb, MS);
	assert_int_equal(from_a.last_len, 60);
	assert_int_equal(from_b.last_len, 60);
	assert_memory_equal(q, all, 6);
	assert_memory_equal(q + 6, ra.port.mac, 6);
	assert_memory_equal(q + 32, none, 6);
	assert_int_equal(be(q + 38, 4), 0x0a000002);
	assert_memory_equal(r, ra.port.mac, 6);
	assert_memory_equal(r + 22, rb.port.mac, 6);
	assert_int_equal(be(r + 28, 4), 0x0a000002);
	assert_memory_equal(r + 32, ra.port.mac, 6);
	assert_int_equal(be(r + 38, 4), 0x0a000001);
	for (i = 42; i < 60; i++)
		assert_int_equal(q[i] | r[i], 0);
	rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0xffff);
	counters_agree();
}

static uint32_t sums_seen;

static void sum_only(struct unic_port *port, const uint8_t *f, uint32_t len,
		     uint32_t flags)
{
	(void)port;
	(void)flags;
	look_at_ip(f, len);
	sums_seen++;
}

/* The header checksum is folded until no carry is left, also for addresses that
 * need a second fold. */
static void sums_that_carry(void **state)
{
	struct unic_cmd_mad_send cmd = { .mac = { 2 } };
	const uint32_t rest = 0x4500 + 14 + 20 + 8 + 12 + 256 + 4 - 14 +
			      0x4000 + 0x4011 + 0x0a00 + 1 + 0xdf01;
	static const uint8_t data[256];
	uint32_t low;

	(void)state;
	ra.port.on_frame = sum_only;
	for (low = 0; low < 0x10000; low++) {
		if (((rest + low) & 0xffff) < 0xffc0)
			continue;
		cmd.ipv4 = unic_to_le32(0xdf010000 | low);
		assert_int_equal(unic_mad_send(&ra.nic.transport, &cmd, data),
				 0);
	}
	assert_int_equal(sums_seen, 64);
}

/* A WRITE to an evicted region gets the status EVICTED. */
static void evicted_is_told(void **state)
{
	struct unic_cmd_mr evict = { 0 };
	struct unic_cqe cqe;
	struct rig_mr mr;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	evict.mr = unic_to_le32(mr.mr);
	evict.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	for (i = 0; i < 3; i++) {
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 100, mr.iova,
			 mr.stag);
		rig_run2(&ra, &rb, MS);
		assert_true(rig_cqe(&ra, &qa, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_REM_EVICTED);
		assert_int_equal(from_b.of[UNIC_OP_VACK], i + 1);
	}
	assert_int_equal(rig_count(&rb, tx_vacks), 3);
	assert_int_equal(from_b.vack[0], UNIC_EV_EVICTED);
	assert_int_equal(from_b.vack[1], 0);
	move(UNIC_WR_WRITE, 0, 64);
}

/* With no buffer on the link no message is lost, and the wait is counted. */
static void full_link(void **state)
{
	uint32_t i;

	(void)state;
	ra.port.tx_held = (1u << UNIC_TX_BUFS) - 1;
	for (i = 0; i < 4; i++)
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 100 + i,
			 mb.iova + 200 * i, mb.stag);
	for (i = 0; i < 10; i++)
		unic_nic_poll(&ra.nic);
	assert_in_range(rig_count(&ra, tx_no_room), 1, 10);
	assert_int_equal(from_a.frames, 0);
	ra.port.tx_held = 0;
	rig_run2(&ra, &rb, MS);
	for (i = 0; i < 4; i++) {
		done(&ra, &qa, i, 100 + i);
		assert_memory_equal(mb.mem + 200 * i, ma.mem, 100 + i);
	}
	counters_agree();
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(writes, up),
		cmocka_unit_test_setup(writes, up_icrc),
		cmocka_unit_test_setup(sends, up),
		cmocka_unit_test_setup(sends, up_icrc),
		cmocka_unit_test_setup(reads, up),
		cmocka_unit_test_setup(reads, up_icrc),
		cmocka_unit_test_setup(mixed, up),
		cmocka_unit_test_setup(mixed, up_icrc),
		cmocka_unit_test_setup(solicited, up),
		cmocka_unit_test_setup(solicited, up_long_way),
		cmocka_unit_test_setup(every_buffer, up),
		cmocka_unit_test_setup(questions, up),
		cmocka_unit_test_setup(sums_that_carry, up),
		cmocka_unit_test_setup(evicted_is_told, up),
		cmocka_unit_test_setup(full_link, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

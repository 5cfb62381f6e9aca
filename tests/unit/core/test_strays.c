/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_strays.c - frames that no peer sends, for queue pairs of UC and UD:
 * every length and opcode, from any address. Each is dropped or taken as a
 * message; none is answered, no byte is written outside a receive, and the
 * queue pair stays in RTS.
 */
#include "unit.h"

#include "transport/frame.h"
#include "pair.h"

#define MS	1000000ull
#define MTU	1024u
#define GRH	UNIC_GRH_BYTES
#define OUR_IP	0x0a000002u
#define PEER_IP 0x0a000001u

static struct rig_qp ua, ub, da, db;
static uint32_t answers;

static void count(struct unic_port *port, const uint8_t *frame, uint32_t len,
		  uint32_t flags)
{
	(void)port;
	(void)len;
	(void)flags;
	answers += frame[12] == 0x08 && frame[13] == 0;
}

static int up(void **state)
{
	(void)state;
	pair_up();
	rig_qp_of(&ra, 0, qa.pd, 6, UNIC_QPT_UC, 0, 0, &ua);
	rig_qp_of(&rb, 0, qb.pd, 7, UNIC_QPT_UC, 0, 0, &ub);
	rig_connect(&ra, &ua, &rb, &ub);
	rig_qp_of(&ra, 0, qa.pd, 8, UNIC_QPT_UD, 0, 0, &da);
	rig_qp_of(&rb, 0, qb.pd, 9, UNIC_QPT_UD, 0, 0, &db);
	rig_connect(&rb, &db, &rb, &db);
	rb.port.on_frame = count;
	answers = 0;
	return 0;
}

static int down(void **state)
{
	(void)state;
	pair_run(1 * MS);
	assert_int_equal(answers, 0);
	pair_quiet();
	return 0;
}

/* Fields of a frame. */
struct stray {
	uint32_t src, qpn, psn;
	uint8_t op;
	uint8_t body[2048]; /* the bytes behind BTH */
	uint32_t len;
};

static void deliver(const struct stray *s)
{
	uint8_t frame[2 + FAKE_FRAME_BYTES] __attribute__((aligned(4))) = { 0 };
	uint32_t pad = -s->len & 3, *w = unic_frame_words(frame + 2), ip, sum;

	memcpy(frame + 2, rb.port.mac, 6);
	frame[2 + 12] = 0x08;
	ip = UNIC_EXT_OFF - UNIC_ETH_BYTES + s->len + pad + UNIC_ICRC_BYTES;
	unic_put_word(w, UNIC_W_IP_SRC, s->src);
	unic_put_word(w, UNIC_W_IP_DST, OUR_IP);
	unic_put_word(w, UNIC_W_UDP_PORTS, 0xc0000000u | UNIC_ROCE_PORT);
	sum = 0x4500 + 0x4011 + (s->src >> 16) + (s->src & 0xffff) +
	      (OUR_IP >> 16) + (OUR_IP & 0xffff);
	unic_put_word(w, UNIC_W_IP_LEN, UNIC_IP_VERSION_TOS | ip);
	sum += ip;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	unic_put_word(w, UNIC_W_IP_CSUM,
		      UNIC_IP_TTL_UDP << 16 | (~sum & 0xffff));
	unic_put_word(w, UNIC_W_UDP_LEN, (ip - UNIC_IP_BYTES) << 16);
	unic_put_word(w, UNIC_W_BTH_OP,
		      unic_op_word((uint32_t)s->op << 8 |
				   pad << UNIC_BTH_PAD_SHIFT));
	unic_put_word(w, UNIC_W_BTH_DQPN, s->qpn);
	unic_put_word(w, UNIC_W_BTH_APSN, s->psn | UNIC_BTH_ACKREQ);
	memcpy(frame + 2 + UNIC_EXT_OFF, s->body, s->len);
	fake_deliver(&rb.port, frame + 2, UNIC_ETH_BYTES + ip,
		     UNIC_FRAME_NO_ICRC);
	rig_poll(&rb);
}

static void put32(uint8_t *at, uint32_t v)
{
	unic_be32 be = unic_to_be32(v);

	memcpy(at, &be, sizeof(be));
}

static void put_reth(uint8_t *at, uint64_t va, uint32_t rkey, uint32_t len)
{
	put32(at, (uint32_t)(va >> 32));
	put32(at + 4, (uint32_t)va);
	put32(at + 8, rkey);
	put32(at + 12, len);
}

static uint32_t expected(void)
{
	return unic_qp_by_number(&rb.nic.transport, ub.qpn)->rsp.psn;
}

static struct stray uc(uint8_t op, uint32_t len)
{
	struct stray s = { .src = PEER_IP,
			   .qpn = ub.qpn,
			   .psn = expected(),
			   .op = op,
			   .len = len };

	memset(s.body, 0x77, sizeof(s.body));
	return s;
}

static bool alive(const struct rig_qp *qp)
{
	return unic_qp_receives(unic_qp_by_number(&rb.nic.transport, qp->qpn));
}

/* A UC packet with an RETH for @reth bytes at the start of mb, and @len
 * bytes. */
static struct stray write_of(uint8_t op, uint32_t reth, uint32_t len)
{
	struct stray s = uc(op, 16 + len);

	put_reth(s.body, mb.iova, mb.stag, reth);
	return s;
}

/* Frames of every opcode, with lengths around each limit, write no byte outside
 * a receive. */
static void every_opcode_and_length(void **state)
{
	static const uint32_t lens[] = { 0,	   1,	     3,	       4,
					 7,	   8,	     11,       12,
					 15,	   16,	     19,       20,
					 MTU,	   MTU + 1,  MTU + 4,  MTU + 8,
					 MTU + 12, MTU + 16, MTU + 17, MTU + 20,
					 MTU + 21, 2000 };
	uint32_t op, i, k;
	struct unic_cqe cqe;

	(void)state;
	memset(mb.mem, 0x11, PAIR_BYTES);
	for (op = 0; op < 256; op++) {
		for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
			struct stray s = uc((uint8_t)op, lens[i]);
			struct stray d = s;

			if (ub.rq_tail - ub.cq_ci < 2)
				rig_recv(&rb, &ub, 1, &mb, 4096, 500);
			if (db.rq_tail - db.cq_ci < 2)
				rig_recv(&rb, &db, 2, &mb, 8192, 500);
			deliver(&s);
			d.qpn = db.qpn;
			put32(d.body, 0x1234);
			deliver(&d);
			while (rig_cqe(&rb, &ub, &cqe) ||
			       rig_cqe(&rb, &db, &cqe)) {
				assert_int_equal(cqe.status, 0);
				assert_true(unic_from_le32(cqe.byte_len) <=
					    500);
			}
		}
	}
	assert_true(alive(&ub) && alive(&db));
	for (k = 0; k < PAIR_BYTES; k++)
		if ((k < 4096 || k >= 4596) && (k < 8192 || k >= 8692))
			assert_int_equal(mb.mem[k], 0x11);
	rig_poll(&rb);
}

/* A packet of a wrong length is dropped, with the rest of its message. */
static void uc_sizes_lie(void **state)
{
	const struct {
		uint8_t op;
		uint32_t reth, len;
	} lies[] = {
		{ UNIC_OP_UC_WRITE_ONLY, 100, 99 },
		{ UNIC_OP_UC_WRITE_ONLY, 100, 101 },
		{ UNIC_OP_UC_WRITE_ONLY, MTU + 1, MTU + 1 },
		{ UNIC_OP_UC_WRITE_ONLY, 1u << 31, MTU },
		{ UNIC_OP_UC_WRITE_FIRST, MTU, MTU },
		{ UNIC_OP_UC_WRITE_FIRST, 2 * MTU, MTU - 1 },
		{ UNIC_OP_UC_WRITE_FIRST, MTU - 4, MTU },
		{ UNIC_OP_UC_WRITE_FIRST, UNIC_MSG_MAX + 1, MTU },
	};
	struct stray s;
	uint32_t i;

	(void)state;
	memset(mb.mem, 0x11, PAIR_BYTES);
	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		s = write_of(lies[i].op, lies[i].reth, lies[i].len);
		deliver(&s);
		assert_int_equal(rig_count(&rb, rx_bad_opcode), i + 1);
		assert_int_equal(mb.mem[0], 0x11);
	}
	/* middle and last of a WRITE that has begun */
	s = write_of(UNIC_OP_UC_WRITE_FIRST, 2 * MTU + 8, MTU);
	deliver(&s);
	assert_int_equal(mb.mem[0], 0x77);
	s = uc(UNIC_OP_UC_WRITE_LAST, 8); /* a middle packet is expected */
	deliver(&s);
	assert_int_equal(mb.mem[MTU], 0x11);
	assert_int_equal(rig_count(&rb, rx_bad_opcode), i + 1);
	s = uc(UNIC_OP_UC_WRITE_LAST, 8);
	deliver(&s);
	assert_int_equal(rig_count(&rb, uc_skipped), 1);
	/* the queue pair takes the next message */
	s = write_of(UNIC_OP_UC_WRITE_ONLY, 1, 1);
	deliver(&s);
	assert_int_equal(rig_count(&rb, rx_bad_opcode), i + 1);
}

/* A packet of a WRITE within a SEND is dropped; a first packet ends the message
 * before it. */
static void uc_out_of_place(void **state)
{
	struct stray s;

	(void)state;
	rig_recv(&rb, &ub, 1, &mb, 8192, 4096);
	s = uc(UNIC_OP_UC_SEND_FIRST, MTU);
	deliver(&s);
	s = uc(UNIC_OP_UC_WRITE_LAST, 8);
	deliver(&s);
	assert_int_equal(rig_count(&rb, uc_skipped), 1);
	s = uc(UNIC_OP_UC_SEND_FIRST, MTU);
	deliver(&s);
	s = uc(UNIC_OP_UC_SEND_FIRST, MTU); /* the message before has no end */
	deliver(&s);
	assert_int_equal(rig_count(&rb, uc_broken), 1);
	s = uc(UNIC_OP_UC_SEND_FIRST + 2, 10);
	deliver(&s);
	pair_expect(&rb, &ub, 1, 0, MTU + 10);
	pair_expect_none(&rb, &ub);
}

/* A WRITE is refused from another address than the peer's, and without the
 * right to write. */
static void uc_of_a_stranger(void **state)
{
	struct stray s;

	(void)state;
	memset(mb.mem, 0x11, 16);
	s = write_of(UNIC_OP_UC_WRITE_ONLY, 8, 8);
	s.src++;
	deliver(&s);
	assert_int_equal(rig_count(&rb, rx_no_qp), 1);
	unic_qp_by_number(&rb.nic.transport, ub.qpn)->rights = 0;
	s.src--;
	deliver(&s);
	assert_int_equal(rig_count(&rb, unrel_refused), 1);
	assert_int_equal(mb.mem[0], 0x11);
}

/* Datagrams shorter than their headers or longer than the path MTU, and opcodes
 * of no service, are dropped. */
static void limits_of_datagrams(void **state)
{
	struct stray d = uc(UNIC_OP_UD_SEND_ONLY, 7), s;

	(void)state;
	rig_recv(&rb, &db, 1, &mb, 0, 2000);
	d.qpn = db.qpn;
	put32(d.body, 0x1234);
	deliver(&d);
	assert_int_equal(rig_count(&rb, rx_short), 1);
	d.op = UNIC_OP_UD_SEND_ONLY_IMM;
	d.len = 11;
	deliver(&d);
	assert_int_equal(rig_count(&rb, rx_short), 2);
	d.len = 12 + MTU + 1;
	deliver(&d);
	assert_int_equal(rig_count(&rb, unrel_too_long), 1);
	d.len = 12 + MTU;
	deliver(&d);
	pair_expect(&rb, &db, 1, 0, GRH + MTU);
	s = write_of(UNIC_OP_UC_WRITE_ONLY_IMM + 1, 2 * MTU, MTU);
	deliver(&s);
	s.op = UNIC_OP_UC_SEND_FIRST - 1;
	deliver(&s);
	assert_int_equal(rig_count(&rb, rx_bad_opcode), 2);
}

/* A queue pair in the error state answers nothing. */
static void no_last_word(void **state)
{
	struct stray s = write_of(UNIC_OP_WRITE_ONLY, 8, 8);
	uint32_t i;

	(void)state;
	rb.port.late_dma = true;
	rig_send(&rb, &ub, UNIC_WR_SEND, 1, &mb, 0, 100, 0, 0);
	for (i = 0; i < 8; i++) {
		rig_poll(&rb);
		if (unic_qp_by_number(&rb.nic.transport, ub.qpn)->sq.gathering)
			break;
		fake_dma_run(&rb.port, 1);
	}
	unic_cuts_mark(&rb.nic.memory, (uint16_t)mb.mr);
	unic_cut_run(&rb.nic.transport);
	fake_dma_run(&rb.port, 64);
	rb.port.late_dma = false;
	rig_poll(&rb);
	assert_false(alive(&ub));
	for (i = 0; i < 4; i++) {
		s.psn = i;
		deliver(&s);
	}
	pair_expect(&rb, &ub, 1, UNIC_WC_EVICTED, 0);
}

/* A WRITE to an evicted region is refused and does not count as a guess. */
static void uc_evicted_is_no_guess(void **state)
{
	struct rig_mr gone;
	struct stray s;
	uint32_t i;

	(void)state;
	pair_gone_region(&rb, ub.pd, &gone);
	for (i = 0; i < 20; i++) {
		s = write_of(UNIC_OP_UC_WRITE_ONLY, 8, 8);
		put_reth(s.body, gone.iova, gone.stag, 8);
		deliver(&s);
	}
	assert_int_equal(rig_count(&rb, unrel_refused), 20);
	assert_int_equal(rig_count(&rb, guess_held), 0);
	s = write_of(UNIC_OP_UC_WRITE_ONLY, 8, 8);
	deliver(&s);
	assert_int_equal(mb.mem[0], 0x77);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_opcode_and_length), TEST(uc_sizes_lie),
		TEST(uc_out_of_place),	       TEST(uc_of_a_stranger),
		TEST(limits_of_datagrams),     TEST(no_last_word),
		TEST(uc_evicted_is_no_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

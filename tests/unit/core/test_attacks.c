/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_attacks.c - a third party on the wire that forges frames, ICRC included:
 * what it can do with all fields right but one, and with all fields right.
 * docs/SECURITY.md names most of these tests, and the odds that they compute.
 *
 * A and B have two connections: qa to qb of process 0, oa to ob of process 1.
 * The third party needs no NIC.
 */
#include "unit.h"

#include "transport/frame.h"
#include "base/icrc.h"
#include "pair.h"

#define MS	  1000000ull
#define BYTES	  8u /* bytes that a forged WRITE would place */
#define UNTOUCHED 0x11
#define FORGED	  0x77
#define A_IP	  0x0a000001u
#define B_IP	  0x0a000002u
#define STRANGER  0x0a000003u
#define PSNS	  (UNIC_PSN_MASK + 1u)
#define PLACE	  4096u /* offset of genuine WRITEs in B's region */

static struct rig_qp oa, ob;
static struct rig_mr na, nb; /* regions of process 1 of A and B */

static int up(void **state)
{
	(void)state;
	pair_make(true, PAIR_PAGES);
	rig_attach(&ra, 1, 1);
	rig_attach(&rb, 1, 1);
	rig_qp(&ra, 1, rig_pd(&ra, 1), 3, &oa);
	rig_qp(&rb, 1, rig_pd(&rb, 1), 5, &ob);
	rig_connect(&ra, &oa, &rb, &ob);
	assert_int_equal(rig_reg(&ra, 1, oa.pd, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &na),
			 0);
	assert_int_equal(rig_reg(&rb, 1, ob.pd, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &nb),
			 0);
	memset(mb.mem, UNTOUCHED, PAIR_BYTES);
	return 0;
}

static int down(void **state)
{
	(void)state;
	pair_run(MS);
	pair_quiet();
	return 0;
}

/* ------------------------------------------------------------ the forger */

/* Fields of a forged frame. */
struct forged {
	uint32_t src, qpn, psn;
	uint8_t op;
	uint8_t body[64]; /* the bytes behind BTH */
	uint32_t len;	  /* length of body, a multiple of four */
};

static void put32(uint8_t *at, uint32_t v)
{
	unic_be32 be = unic_to_be32(v);

	memcpy(at, &be, sizeof(be));
}

static struct unic_qp_ctx *at_a(void)
{
	return unic_qp_by_number(&ra.nic.transport, qa.qpn);
}

static struct unic_qp_ctx *at_b(void)
{
	return unic_qp_by_number(&rb.nic.transport, qb.qpn);
}

/* Sets the checksum of an IPv4 header. */
static void put_checksum(uint32_t *w)
{
	const uint8_t *ip = (const uint8_t *)w - 2 + UNIC_ETH_BYTES;
	uint32_t sum = 0, i;

	unic_put_word(w, UNIC_W_IP_CSUM, UNIC_IP_TTL_UDP << 16);
	for (i = 0; i < UNIC_IP_BYTES; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	unic_put_word(w, UNIC_W_IP_CSUM,
		      UNIC_IP_TTL_UDP << 16 | (~sum & 0xffff));
}

/* Sends @f on the wire to @to. The Ethernet header, the UDP port and all fields
 * that are not in @f are those of the peer's frames. */
static void put_on_wire(struct rig *to, const struct forged *f)
{
	const struct unic_headers *true_ones =
		&(to == &ra ? at_a() : at_b())->expect[0].h;
	uint8_t buf[2 + 256] __attribute__((aligned(4))) = { 0 };
	uint32_t *w = unic_frame_words(buf + 2), icrc;
	uint32_t ip = UNIC_EXT_OFF - UNIC_ETH_BYTES + f->len + UNIC_ICRC_BYTES;

	memcpy(buf + 2, &true_ones->dst01, sizeof(true_ones->dst01));
	memcpy(w, true_ones->word, sizeof(true_ones->word));
	unic_put_word(w, UNIC_W_IP_LEN, UNIC_IP_VERSION_TOS | ip);
	unic_put_word(w, UNIC_W_IP_SRC, f->src);
	unic_put_word(w, UNIC_W_UDP_LEN, (ip - UNIC_IP_BYTES) << 16);
	unic_put_word(w, UNIC_W_BTH_OP, unic_op_word((uint32_t)f->op << 8));
	unic_put_word(w, UNIC_W_BTH_DQPN, f->qpn);
	unic_put_word(w, UNIC_W_BTH_APSN, f->psn | UNIC_BTH_ACKREQ);
	put_checksum(w);
	memcpy(buf + 2 + UNIC_EXT_OFF, f->body, f->len);
	icrc = unic_icrc(buf + 2, UNIC_EXT_OFF + f->len);
	memcpy(buf + 2 + UNIC_EXT_OFF + f->len, &icrc, sizeof(icrc));
	fake_deliver(&to->port, buf + 2, UNIC_ETH_BYTES + ip, 0);
}

/* @f arrives at @to. */
static void forge(struct rig *to, const struct forged *f)
{
	put_on_wire(to, f);
	rig_poll(to);
}

/* A request to B in A's name with every field right. Address, key and length
 * are where a WRITE or READ has them, for every opcode. */
static struct forged request(uint8_t op)
{
	struct forged f = { .src = A_IP,
			    .qpn = qb.qpn,
			    .psn = at_b()->rsp.psn,
			    .op = op,
			    .len = sizeof(struct unic_reth) };

	put32(f.body, (uint32_t)(mb.iova >> 32));
	put32(f.body + 4, (uint32_t)mb.iova);
	put32(f.body + 8, mb.stag);
	put32(f.body + 12, BYTES);
	memset(f.body + f.len, FORGED, BYTES);
	if (op != UNIC_OP_READ_REQUEST)
		f.len += BYTES;
	return f;
}

/* An answer to A in B's name. */
static struct forged answer(uint8_t op, uint8_t syndrome, uint32_t psn)
{
	struct forged f = { .src = B_IP,
			    .qpn = qa.qpn,
			    .psn = psn,
			    .op = op,
			    .len = sizeof(struct unic_aeth) };

	put32(f.body, (uint32_t)syndrome << 24);
	memset(f.body + f.len, FORGED, BYTES);
	if (op == UNIC_OP_READ_RESP_ONLY || op == UNIC_OP_VACK)
		f.len += BYTES;
	return f;
}

static uint32_t answers; /* frames that B has sent */

static void count(struct unic_port *port, const uint8_t *frame, uint32_t len,
		  uint32_t flags)
{
	answers++;
	fake_deliver(port->peer, frame, len, flags);
}

static void lose(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	(void)port;
	(void)frame;
	(void)len;
	(void)flags;
}

static void nothing_placed(void)
{
	uint32_t i;

	for (i = 0; i < PAIR_BYTES; i++)
		assert_int_equal(mb.mem[i], UNTOUCHED);
}

/* A WRITE of @len genuine bytes arrives. */
static void write_arrives(uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, len, &ma, 0, len, mb.iova + PLACE,
		 mb.stag);
	pair_run(20 * MS);
	pair_expect(&ra, &qa, len, UNIC_WC_SUCCESS, len);
	assert_memory_equal(mb.mem + PLACE, ma.mem, len);
	memset(mb.mem + PLACE, UNTOUCHED, len);
}

/* The other connection still carries a WRITE. */
static void other_lives(void)
{
	rig_send(&ra, &oa, UNIC_WR_WRITE, 77, &na, 0, 100, nb.iova, nb.stag);
	pair_run(20 * MS);
	pair_expect(&ra, &oa, 77, UNIC_WC_SUCCESS, 100);
}

/* ---------------------------------------------- all fields right but one */

/* A request from an address other than the peer's is dropped, whatever its
 * opcode. */
static void stranger_reaches_nobody(void **state)
{
	uint32_t psn = at_b()->rsp.psn, round, op;
	struct forged f;

	(void)state;
	for (round = 1; round <= 2; round++) {
		for (op = 0; op < 256; op++) {
			f = request((uint8_t)op);
			f.src = STRANGER;
			forge(&rb, &f);
		}
		assert_int_equal(rig_count(&rb, rx_no_qp), round * 256);
		assert_int_equal(at_b()->rsp.psn, psn);
		nothing_placed();
		/* both ends have cached headers from here on */
		write_arrives(3000);
		psn = at_b()->rsp.psn;
	}
	other_lives();
}

/* A request with a wrong queue pair number is dropped: each number that differs
 * in one bit, and a sample of the others. */
static void wrong_number_reaches_nobody(void **state)
{
	uint32_t psn = at_b()->rsp.psn, sent = 0, i, n;
	struct forged f;

	(void)state;
	for (i = 0; i < 24 + 4096; i++) {
		f = request(UNIC_OP_WRITE_ONLY);
		n = i < 24 ? qb.qpn ^ 1u << i : i * 4093u & UNIC_QPN_MASK;
		if (n == qb.qpn || n == ob.qpn || n == 1)
			continue;
		f.qpn = n;
		forge(&rb, &f);
		sent++;
	}
	assert_int_equal(rig_count(&rb, rx_no_qp), sent);
	assert_int_equal(at_b()->rsp.psn, psn);
	nothing_placed();
	write_arrives(100);
	other_lives();
}

/* Requests at @psn change nothing in B's queue pair. B sends at most one frame
 * for each, to A: a forger gets no more frames than it sends. */
static void not_at(uint32_t psn)
{
	static const uint8_t ops[] = { UNIC_OP_WRITE_ONLY, UNIC_OP_SEND_ONLY,
				       UNIC_OP_READ_REQUEST };
	uint32_t want = at_b()->rsp.psn, before = answers, i;
	struct forged f;

	for (i = 0; i < sizeof(ops); i++) {
		f = request(ops[i]);
		f.psn = psn & UNIC_PSN_MASK;
		forge(&rb, &f);
	}
	assert_in_range(answers - before, 0, sizeof(ops));
	assert_int_equal(at_b()->rsp.psn, want);
	assert_int_equal(at_b()->rsp.rd_active, 0);
	rig_poll(&ra);
}

/* A request with a wrong PSN changes nothing: the PSNs around the right one,
 * and a sample of the others. */
static void wrong_psn_changes_nothing(void **state)
{
	uint32_t i, psn;

	(void)state;
	write_arrives(100);
	rig_recv(&rb, &qb, 1, &mb, 8192, 64);
	rb.port.on_frame = count;
	psn = at_b()->rsp.psn;
	for (i = 1; i <= 512; i++) {
		not_at(psn + i);
		not_at(psn - i);
	}
	for (i = 1; i < 2048; i++)
		not_at(psn + i * (PSNS / 2048u));
	nothing_placed();
	assert_int_equal(rig_count(&rb, rx_out_of_seq) +
				 rig_count(&rb, rx_duplicate),
			 3 * (1024 + 2047));
	pair_expect_none(&rb, &qb);
	write_arrives(100);
	other_lives();
}

/* Sends a WRITE of @len bytes whose packets are all lost. Returns the first
 * PSN. */
static uint32_t in_flight(uint32_t len)
{
	ra.port.on_frame = lose;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 0, len, mb.iova + PLACE,
		 mb.stag);
	rig_poll(&ra);
	return at_a()->sq.psn_una;
}

static const uint8_t said[][2] = {
	{ UNIC_OP_ACK, UNIC_AETH_ACK },
	{ UNIC_OP_ACK, UNIC_NAK_PSN_SEQ },
	{ UNIC_OP_ACK, UNIC_NAK_INV_REQ },
	{ UNIC_OP_ACK, UNIC_NAK_REM_ACCESS },
	{ UNIC_OP_ACK, UNIC_NAK_REM_OP },
	{ UNIC_OP_ACK, UNIC_AETH_RNR | 1 },
	{ UNIC_OP_VACK, 0 },
	{ UNIC_OP_READ_RESP_ONLY, 0 },
};

/* @f changes nothing in A's queue pair, whose oldest packet is @psn. */
static void unheard(const struct forged *f, uint32_t psn)
{
	forge(&ra, f);
	assert_int_equal(at_a()->state, UNIC_QPS_RTS);
	assert_int_equal(at_a()->sq.psn_una, psn);
	assert_false(at_a()->sq.rnr_wait);
}

/* Answers from a stranger, and answers to packets that are not under way, are
 * dropped. */
static void wrong_answers_change_nothing(void **state)
{
	uint32_t psn = in_flight(4096), i, k;
	struct forged f;

	(void)state;
	assert_int_equal(at_a()->sq.psn_max - psn, 4);
	for (i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		for (k = 0; k < 4; k++) {
			f = answer(said[i][0], said[i][1], psn + k);
			f.src = STRANGER;
			unheard(&f, psn);
		}
		f = answer(said[i][0], said[i][1], psn - 1);
		unheard(&f, psn);
		for (k = 0; k < 1024; k++) {
			f.psn = (psn + 4 + k * (PSNS / 1024u)) & UNIC_PSN_MASK;
			unheard(&f, psn);
		}
	}
	pair_expect_none(&ra, &qa);
	ra.port.on_frame = NULL;
	pair_run(20 * MS); /* A sends the packets again, and B answers */
	pair_expect(&ra, &qa, 5, UNIC_WC_SUCCESS, 4096);
	assert_memory_equal(mb.mem + PLACE, ma.mem, 4096);
}

/*
 * Requests ahead of the right PSN make B request the missing packets, so A
 * sends them again. That costs time and frames, but no retries of A, because
 * each such NAK proves that B has the packets before.
 */
static void forged_ahead_costs_only_time(void **state)
{
	uint32_t round, i;
	struct forged f;

	(void)state;
	for (round = 0; round < 20; round++) {
		rig_send(&ra, &qa, UNIC_WR_WRITE, round, &ma, 0, 20000,
			 mb.iova + PLACE, mb.stag);
		for (i = 0; i < 40; i++) {
			unic_nic_poll(&ra.nic);
			f = request(UNIC_OP_WRITE_ONLY);
			f.psn = unic_psn_add(f.psn, 30);
			forge(&rb, &f);
		}
		pair_run(20 * MS);
		pair_expect(&ra, &qa, round, UNIC_WC_SUCCESS, 20000);
		assert_memory_equal(mb.mem + PLACE, ma.mem, 20000);
	}
	assert_true(rig_count(&rb, rx_out_of_seq) > 20);
}

/* ------------------------------------------------------------------- odds */

#define RATE 1000000ull /* frames in a second */

/* Mean time in ms until one value of @all is found, each tried once. */
static uint64_t mean_ms(uint64_t all)
{
	return all * 1000 / 2 / RATE;
}

/*
 * The values that a blind forger has to find, if both addresses and the index
 * of the queue pair are known (there are few). The rest of the number is one of
 * 2^16, if no number of this index was seen. The PSN is one of 2^24 for a
 * request, and one of those under way for an answer. UC has no PSN to guess, UD
 * has a Q_Key.
 */
static void odds_of_a_blind_frame(void **state)
{
	const uint64_t numbers = (UNIC_QPN_MASK + 1ull) / 256u;
	/* a process may use the Q_Keys below */
	const uint64_t qkeys = 1ull << 31;
	uint32_t psn, i, hits = 0;
	struct forged f;

	(void)state;
	assert_int_equal(numbers, 1u << 16);
	assert_int_equal(PSNS, 1u << 24);
	assert_int_equal(mean_ms(numbers * PSNS) / 86400000, 6); /* days */
	assert_int_equal(mean_ms(PSNS) / 1000, 8);		 /* s */
	assert_int_equal(PSNS / UNIC_QP_PACKETS, 1u << 16);
	assert_int_equal(mean_ms(PSNS / UNIC_QP_PACKETS), 32);
	assert_int_equal(mean_ms(numbers), 32);
	assert_int_equal((mean_ms(qkeys) + 30000) / 60000, 18); /* minutes */
	/* answers within the window are taken, and no others */
	for (i = 0; i < 12; i++) {
		up(NULL);
		psn = in_flight(4096) - 4 + i;
		f = answer(UNIC_OP_ACK, UNIC_NAK_REM_ACCESS, psn);
		forge(&ra, &f);
		hits += at_a()->state == UNIC_QPS_ERR;
		assert_int_equal(at_a()->state == UNIC_QPS_ERR,
				 i >= 4 && i < 8);
	}
	assert_int_equal(hits, 4);
}

/* ------------------------------------------------------- all fields right */

/* A third party with addresses, number, PSN and key right is taken for the
 * peer: RoCEv2 has nothing to tell them apart. The peer's next packet then
 * counts as executed, and its bytes are lost silently. */
static void one_that_knows_all_can_write(void **state)
{
	struct forged f = request(UNIC_OP_WRITE_ONLY);

	(void)state;
	forge(&rb, &f);
	assert_int_equal(mb.mem[0], FORGED);
	assert_int_equal(mb.mem[BYTES], UNTOUCHED);
	assert_int_equal(at_b()->rsp.psn, unic_psn_add(f.psn, 1));
	rig_send(&ra, &qa, UNIC_WR_WRITE, 4, &ma, 0, BYTES, mb.iova + PLACE,
		 mb.stag);
	pair_run(MS);
	pair_expect(&ra, &qa, 4, UNIC_WC_SUCCESS, BYTES);
	assert_int_equal(mb.mem[PLACE], UNTOUCHED);
}

/* A request with a wrong key in the peer's name ends the connection and has no
 * other effect: no byte is placed, both ends get an error, and it is
 * counted. */
static void one_wrong_key_ends_its_connection(void **state)
{
	struct forged f = request(UNIC_OP_WRITE_ONLY);
	struct unic_evt_obj evt;

	(void)state;
	put32(f.body + 8, mb.stag ^ 0x1000);
	forge(&rb, &f);
	nothing_placed();
	assert_int_equal(at_b()->state, UNIC_QPS_ERR);
	assert_int_equal(rig_count(&rb, access_stag), 1);
	rig_expect(&rb, UNIC_EVT_QP_ERROR, &evt);
	assert_int_equal(unic_from_le32(evt.id), qb.qpn);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 3, &ma, 0, 8, mb.iova, mb.stag);
	pair_run(200 * MS);
	pair_expect(&ra, &qa, 3, UNIC_WC_REM_ACCESS_ERR, 0);
	nothing_placed();
	other_lives();
}

/* One NAK in the peer's name ends the connection, too. */
static void one_refusal_ends_its_connection(void **state)
{
	uint32_t psn = in_flight(100);
	struct forged f = answer(UNIC_OP_ACK, UNIC_NAK_REM_OP, psn);

	(void)state;
	forge(&ra, &f);
	assert_int_equal(at_a()->state, UNIC_QPS_ERR);
	pair_expect(&ra, &qa, 5, UNIC_WC_REM_OP_ERR, 0);
	ra.port.on_frame = NULL;
	other_lives();
}

/* A connection that has ended still answers its peer, a limited number of
 * times. A stranger gets no answer, and its frames do not count towards the
 * limit. */
static void last_words_are_for_the_peer(void **state)
{
	struct forged f = request(UNIC_OP_WRITE_ONLY);
	uint32_t i, op, before, words = 0;

	(void)state;
	put32(f.body + 8, mb.stag ^ 0x1000);
	forge(&rb, &f);
	assert_int_equal(at_b()->state, UNIC_QPS_ERR);
	rb.port.on_frame = count;
	answers = 0;
	before = rig_count(&rb, rx_no_qp);
	f = request(UNIC_OP_WRITE_ONLY);
	f.src = STRANGER;
	for (op = 0; op < 256; op++) {
		f.op = (uint8_t)op;
		forge(&rb, &f);
	}
	f.op = UNIC_OP_WRITE_ONLY;
	for (i = 0; i < 100; i++) {
		forge(&rb, &f);
		f.psn = unic_psn_add(f.psn, -(i & 1));
	}
	assert_int_equal(answers, 0);
	assert_int_equal(rig_count(&rb, rx_no_qp), before + 356);
	f = request(UNIC_OP_WRITE_ONLY);
	rig_poll(&rb);
	for (i = 0; i < 200; i++) {
		before = answers;
		forge(&rb, &f);
		words += answers - before;
	}
	assert_int_equal(words, 63);
	nothing_placed();
	other_lives();
}

/* After the connection has ended B does not answer out-of-order requests of the
 * peer; a NAK that is due already is sent first. */
static uint32_t words[4]; /* syndromes and PSNs of B's answers */
static uint32_t n_words;

static void note_words(struct unic_port *port, const uint8_t *frame,
		       uint32_t len, uint32_t flags)
{
	(void)port;
	(void)len;
	(void)flags;
	assert_true(n_words < 4);
	words[n_words++] = (uint32_t)frame[54] << 24 |
			   (uint32_t)frame[51] << 16 |
			   (uint32_t)frame[52] << 8 | frame[53];
}

static void last_words_are_in_order(void **state)
{
	struct forged read = request(UNIC_OP_READ_REQUEST), f;

	(void)state;
	forge(&rb, &read);
	f = request(UNIC_OP_WRITE_ONLY);
	put32(f.body + 8, mb.stag ^ 0x1000);
	n_words = 0;
	rb.port.on_frame = note_words;
	rb.port.tx_held = (1u << UNIC_TX_BUFS) - 1; /* no buffer to send with */
	forge(&rb, &f);
	assert_int_equal(at_b()->state, UNIC_QPS_ERR);
	forge(&rb, &read); /* older than the NAK that is due: no answer */
	assert_int_equal(n_words, 0);
	rb.port.tx_held = 0;
	rig_poll(&rb);
	assert_int_equal(n_words, 1);
	assert_int_equal(words[0], (uint32_t)UNIC_NAK_REM_ACCESS << 24 | f.psn);
	f.psn = unic_psn_add(f.psn, 1);
	forge(&rb, &f);
	f.psn = unic_psn_add(f.psn, 1000);
	forge(&rb, &f);
	assert_int_equal(n_words, 1);
}

/* A packet behind the first of a message must carry bytes: an empty SEND_LAST
 * ends the connection. */
static void message_ends_with_bytes(void **state)
{
	struct forged f;
	struct unic_cqe cqe;

	(void)state;
	rig_recv(&rb, &qb, 1, &mb, 0, 4096);
	rig_send(&ra, &qa, UNIC_WR_SEND, 2, &ma, 0, 1028, 0, 0);
	ra.port.on_frame = NULL;
	ra.port.peer = &rb.port;
	rig_poll(&ra);
	rb.port.rx_tail--; /* the last packet is lost */
	rb.port.on_frame = lose;
	rig_poll(&rb);
	f = request(UNIC_OP_SEND_LAST);
	f.len = 0;
	forge(&rb, &f);
	assert_int_equal(at_b()->state, UNIC_QPS_ERR);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_not_equal(cqe.status, UNIC_WC_SUCCESS);
	rb.port.on_frame = NULL;
	pair_run(200 * MS);
}

/* Answers that are too short, or that the peer cannot send, are dropped: they
 * acknowledge nothing and have no effect. */
static void answers_that_are_none(void **state)
{
	uint32_t psn = in_flight(100);
	struct forged f = answer(UNIC_OP_ACK, UNIC_AETH_ACK_NOCREDIT, psn);

	(void)state;
	f.len = 0;
	forge(&ra, &f);
	assert_int_equal(rig_count(&ra, rx_short), 1);
	f = answer(UNIC_OP_VACK, 0, psn);
	put32(f.body, UNIC_EV_EVICTED);
	f.len = 4;
	forge(&ra, &f);
	assert_int_equal(rig_count(&ra, rx_short), 2);
	f.len = sizeof(struct unic_evth);
	at_a()->vendor = 0;
	forge(&ra, &f);
	assert_int_equal(rig_count(&ra, rx_bad_opcode), 1);
	assert_int_equal(at_a()->sq.psn_una, psn);
	pair_expect_none(&ra, &qa);
	at_a()->vendor = 1;
	ra.port.on_frame = NULL;
	pair_run(20 * MS);
	pair_expect(&ra, &qa, 5, UNIC_WC_SUCCESS, 100);
}

/* A vendor acknowledgement with an unknown reason acknowledges the packets
 * before its PSN, as all of them do, and has no other effect: the request goes
 * on. */
static void reasons_of_later_versions(void **state)
{
	static const uint32_t reasons[] = { 0, 3, 4, 0x101, UINT32_MAX };
	uint32_t psn = in_flight(100), i;
	struct forged f = answer(UNIC_OP_VACK, 0, psn);
	uint64_t timer_ns = at_a()->sq.timer_ns;

	(void)state;
	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		put32(f.body, reasons[i]);
		forge(&ra, &f);
		assert_int_equal(rig_count(&ra, rx_bad_opcode), i + 1);
		assert_int_equal(at_a()->sq.psn_una, psn);
		assert_int_equal(at_a()->sq.psn, psn + 1);
		assert_int_equal(at_a()->sq.timer_ns, timer_ns);
		assert_int_equal(at_a()->rnr_total, 0);
		pair_expect_none(&ra, &qa);
	}
	rig_send(&ra, &qa, UNIC_WR_WRITE, 6, &ma, 0, 100, mb.iova + PLACE,
		 mb.stag);
	rig_poll(&ra);
	f.psn = unic_psn_add(psn, 1);
	forge(&ra, &f);
	pair_expect(&ra, &qa, 5, UNIC_WC_SUCCESS, 100);
	pair_expect_none(&ra, &qa);
	assert_int_equal(rig_count(&ra, rx_bad_opcode), i + 1);
	ra.port.on_frame = NULL;
	pair_run(40 * MS); /* B never got the first WRITE */
	pair_expect(&ra, &qa, 6, UNIC_WC_RETRY_EXC_ERR, 0);
}

/* Frames recorded on the wire and sent again are not executed twice; a READ is
 * answered once more, to its peer (INV-16). */
static void replayed_frames_do_nothing(void **state)
{
	static const uint8_t ops[] = { UNIC_OP_WRITE_ONLY, UNIC_OP_SEND_ONLY,
				       UNIC_OP_READ_REQUEST };
	struct forged f;
	uint32_t i, k;

	(void)state;
	rig_recv(&rb, &qb, 1, &mb, 8192, 64);
	rig_recv(&rb, &qb, 2, &mb, 8192, 64);
	for (i = 0; i < sizeof(ops); i++) {
		f = request(ops[i]);
		forge(&rb, &f);
		memset(mb.mem, UNTOUCHED, PAIR_BYTES);
		for (k = 0; k < 10; k++)
			forge(&rb, &f);
		nothing_placed();
		assert_int_equal(at_b()->rsp.psn, unic_psn_add(f.psn, 1));
	}
	pair_expect(&rb, &qb, 1, UNIC_WC_SUCCESS,
		    sizeof(struct unic_reth) + BYTES);
	pair_expect_none(&rb, &qb);
	assert_int_equal(rig_count(&rb, rx_duplicate), 30);
}

/* ------------------------------------------------------ unreliable queues */

/* UC and UD check no PSN: for UC the number is enough, for UD number and Q_Key.
 * A WRITE needs its key as on RC. */
static void unreliable_ones_have_no_psn(void **state)
{
	struct rig_qp ua, ub, db;
	struct forged f;

	(void)state;
	rig_qp_of(&ra, 0, qa.pd, 6, UNIC_QPT_UC, 0, 0, &ua);
	rig_qp_of(&rb, 0, qb.pd, 7, UNIC_QPT_UC, 0, 0, &ub);
	rig_connect(&ra, &ua, &rb, &ub);
	rig_qp_of(&rb, 0, qb.pd, 9, UNIC_QPT_UD, 0, 0, &db);
	rig_connect(&rb, &db, &rb, &db);
	rig_recv(&rb, &ub, 1, &mb, 4096, 64);
	rig_recv(&rb, &db, 2, &mb, 8192, 128);
	f = request(UNIC_OP_UC_SEND_ONLY);
	f.qpn = ub.qpn;
	f.psn = 0x654321;
	f.src = STRANGER;
	forge(&rb, &f);
	pair_expect_none(&rb, &ub);
	f.src = A_IP;
	forge(&rb, &f);
	pair_expect(&rb, &ub, 1, UNIC_WC_SUCCESS, f.len);
	f.op = UNIC_OP_UC_WRITE_ONLY;
	put32(f.body + 8, mb.stag ^ 0x1000);
	forge(&rb, &f);
	assert_int_equal(mb.mem[0], UNTOUCHED);
	f.op = UNIC_OP_UD_SEND_ONLY;
	f.qpn = db.qpn;
	f.src = STRANGER;
	put32(f.body, db.qkey ^ 1);
	forge(&rb, &f);
	pair_expect_none(&rb, &db);
	assert_int_equal(rig_count(&rb, ud_bad_qkey), 1);
	put32(f.body, db.qkey);
	forge(&rb, &f);
	pair_expect(&rb, &db, 2, UNIC_WC_SUCCESS,
		    UNIC_GRH_BYTES + f.len -
			    (uint32_t)sizeof(struct unic_deth));
}

/* ------------------------------------------------------- peers, not forgers */

/* A peer reaches regions in the domain of its queue pair, and no others of the
 * same process, even with a right STag. */
static void peer_reaches_its_domain_only(void **state)
{
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, rig_pd(&rb, 0), 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	memset(mr.mem, UNTOUCHED, 8);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 8, mr.iova, mr.stag);
	pair_run(MS);
	pair_expect(&ra, &qa, 1, UNIC_WC_REM_ACCESS_ERR, 0);
	assert_int_equal(rig_count(&rb, access_pd), 1);
	assert_int_equal(mr.mem[0], UNTOUCHED);
	/* nor regions of another process */
	rig_send(&ra, &oa, UNIC_WR_WRITE, 2, &na, 0, 8, mb.iova, mb.stag);
	pair_run(MS);
	pair_expect(&ra, &oa, 2, UNIC_WC_REM_ACCESS_ERR, 0);
	assert_int_equal(
		rig_count(&rb, access_pd) + rig_count(&rb, access_stag), 2);
	nothing_placed();
}

/* Points A's queue pair @qp to B's @to from @psn on: the attributes that a
 * process can set without B. */
static void point_at(const struct rig_qp *qp, const struct rig_qp *to,
		     uint32_t psn)
{
	uint8_t state;

	for (state = UNIC_QPS_INIT; state <= UNIC_QPS_RTS; state++) {
		struct unic_cmd_qp_modify cmd = {
			.proc = unic_to_le32(qp->proc),
			.qpn = unic_to_le32(qp->qpn),
			.state = state,
		};

		if (state == UNIC_QPS_RTR) {
			cmd.mtu_shift = qp->mtu_shift;
			cmd.dest_qpn = unic_to_le32(to->qpn);
			cmd.dest_ipv4 = unic_to_le32(B_IP);
			memcpy(cmd.dest_mac, rb.port.mac, 6);
		}
		if (state == UNIC_QPS_RTS) {
			cmd.timeout = 10;
			cmd.sq_psn = unic_to_le32(psn);
		}
		assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_MODIFY, &cmd, NULL),
				 0);
	}
}

/* A packet does not name the queue pair that sent it. Another process of the
 * peer's host, whose address is right, has to guess number, PSN and key; with
 * all three right it is taken for the peer. */
static void other_process_of_the_host_must_guess(void **state)
{
	struct rig_qp xa[2];
	uint32_t i, psn;

	(void)state;
	for (i = 0; i < 2; i++) {
		rig_qp(&ra, 1, oa.pd, 10 + i, &xa[i]);
		psn = at_b()->rsp.psn;
		point_at(&xa[i], &qb, unic_psn_add(psn, 1 - i));
		rig_send(&ra, &xa[i], UNIC_WR_WRITE, 1, &na, 0, BYTES, mb.iova,
			 mb.stag);
		pair_run(100 * MS);
		if (i == 0)
			nothing_placed();
		pair_expect(&ra, &xa[i], 1, UNIC_WC_RETRY_EXC_ERR, 0);
	}
	assert_memory_equal(mb.mem, na.mem, BYTES);
	assert_int_equal(at_b()->rsp.psn, unic_psn_add(psn, 1));
}

static uint32_t misses(struct rig *r)
{
	uint8_t evt[64]; /* its first byte is the type */
	uint32_t n = 0;

	while (rig_event(r, evt))
		n += evt[0] == UNIC_EVT_MISS;
	return n;
}

/* A peer can make the driver bring pages of a DEMAND region only within the
 * region, whose length is bounded. */
static void pages_on_demand_are_of_one_region(void **state)
{
	struct unic_cmd_mr_reg cmd = { .pd = unic_to_le32(qb.pd),
				       .rights = UNIC_MR_REMOTE_READ,
				       .residency = UNIC_DEMAND,
				       .page_shift = 12 };
	const uint32_t most = UNIC_CACHED_PAGES;
	struct rig_mr mr;

	(void)state;
	cmd.n_pages = unic_to_le32(most + 1);
	cmd.length = unic_to_le64((most + 1ull) * 4096);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REG, &cmd, NULL),
			 UNIC_ST_TOO_LARGE);
	assert_int_equal(most * 4096ull >> 20, 256); /* MiB */
	assert_int_equal(rig_reg_cached(&rb, qb.pd, 4, UNIC_DEMAND, 0, &mr), 0);
	rig_send(&ra, &qa, UNIC_WR_READ, 1, &ma, 0, 8, mr.iova + 4 * 4096 - 4,
		 mr.stag);
	pair_run(MS);
	assert_int_equal(misses(&rb), 0);
	pair_expect(&ra, &qa, 1, UNIC_WC_REM_ACCESS_ERR, 0);
	assert_int_equal(rig_count(&rb, access_bounds), 1);
}

/* ------------------------------------------------------------------ floods */

/* While B answers READs of one process without end, a WRITE of its other
 * process completes within 64 frames of B. */
static void reads_leave_turns(void **state)
{
	uint32_t i, worst = 0;

	(void)state;
	rb.port.on_frame = count;
	for (i = 0; i < 40; i++) {
		uint32_t before, k;
		struct unic_cqe cqe;

		for (k = 0; k < 4; k++)
			rig_send(&ra, &qa, UNIC_WR_READ, k, &ma, 0, 16384,
				 mb.iova, mb.stag);
		rig_poll(&ra);
		unic_nic_poll(&rb.nic);
		rig_send(&rb, &ob, UNIC_WR_WRITE, 8, &nb, 0, 64, na.iova,
			 na.stag);
		before = answers;
		for (k = 0; k < 1000 && !rig_cqe(&rb, &ob, &cqe); k++) {
			unic_nic_poll(&rb.nic);
			unic_nic_poll(&ra.nic);
		}
		assert_in_range(k, 0, 999);
		assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
		if (answers - before > worst)
			worst = answers - before;
		pair_run(20 * MS);
		while (rig_cqe(&ra, &qa, &cqe))
			assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	}
	assert_in_range(worst, 0, 64);
}

/* As many frames from strangers as the link holds, before and behind a genuine
 * one: they are dropped and counted, the genuine one is not. */
static void frames_for_nobody_pass_by(void **state)
{
	uint64_t before = rig_count(&rb, rx_no_qp);
	struct forged f;
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 50; i++) {
		rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 64,
			 mb.iova + PLACE, mb.stag);
		for (k = 0; k < FAKE_FRAMES - 1; k++) {
			f = request(UNIC_OP_WRITE_ONLY);
			f.src = STRANGER + k;
			put_on_wire(&rb, &f);
			if (k == FAKE_FRAMES / 2)
				rig_poll(&ra);
		}
		assert_int_equal(rb.port.rx_tail - rb.port.rx_done,
				 FAKE_FRAMES);
		pair_run(MS);
		pair_expect(&ra, &qa, i, UNIC_WC_SUCCESS, 64);
	}
	assert_int_equal(rig_count(&rb, rx_no_qp) - before,
			 50 * (FAKE_FRAMES - 1));
	assert_int_equal(rig_count(&ra, retransmits), 0);
}

/* ------------------------------------------------------------------- lives */

#define LIVES 64u

/* Queue pair numbers and token keys before a reset do not predict those after
 * it: each bit is drawn again. */
static void lives_have_nothing_in_common(void **state)
{
	uint32_t i, ones = 0, zeros = 0;
	uint64_t key, ones64 = 0, zeros64 = 0;
	struct unic_cmd_token_alloc cmd;
	struct unic_cpl_token cpl;
	struct rig_qp qp;
	struct rig_mr mr;
	uint32_t pd;

	(void)state;
	for (i = 0; i < LIVES; i++) {
		rig_reset(&ra);
		rig_attach(&ra, 0, 1);
		pd = rig_pd(&ra, 0);
		rig_qp(&ra, 0, pd, 0, &qp);
		assert_int_equal(rig_reg(&ra, 0, pd, 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &mr),
				 0);
		cmd = (struct unic_cmd_token_alloc){
			.pd = unic_to_le32(pd),
			.stag = unic_to_le32(mr.stag),
			.iova = unic_to_le64(mr.iova),
			.length = unic_to_le32(64),
		};
		assert_int_equal(rig_cmd(&ra, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl),
				 0);
		key = unic_from_le64(cpl.key);
		ones |= qp.qpn >> 8;
		zeros |= ~qp.qpn >> 8;
		ones64 |= key;
		zeros64 |= ~key;
	}
	assert_int_equal(ones, UNIC_QPN_MASK >> 8);
	assert_int_equal(zeros & UNIC_QPN_MASK >> 8, UNIC_QPN_MASK >> 8);
	assert_true(ones64 == UINT64_MAX && zeros64 == UINT64_MAX);
}

/* Creates and destroys a queue pair. Returns its number. */
static uint32_t number_of_a_life(void)
{
	struct unic_cmd_obj cmd = { 0 };
	struct rig_qp qp;

	rig_qp(&ra, 0, qa.pd, 9, &qp);
	cmd.id = unic_to_le32(qp.qpn);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_QP_DESTROY, &cmd, NULL), 0);
	cmd = (struct unic_cmd_obj){ .id = unic_to_le32(qp.cq) };
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_CQ_DESTROY, &cmd, NULL), 0);
	assert_int_equal(rig_dereg(&ra, &qp.rings), 0);
	ra.next_page[0] = 64; /* its pages are free again */
	return qp.qpn;
}

/* A queue pair's number does not predict the next number of its index. */
static void numbers_do_not_count_up(void **state)
{
	uint32_t i, qpn, last = 0, followed = 0;

	(void)state;
	for (i = 0; i < LIVES; i++) {
		qpn = number_of_a_life();
		followed += qpn >> 8 == (last >> 8) + 1;
		last = qpn;
	}
	assert_in_range(followed, 0, 2);
}

/* After all numbers of an index have been used the next ones come in another
 * order. */
static void numbers_have_no_period(void **state)
{
	uint32_t i, qpn, first[8], again = 0;

	(void)state;
	for (i = 0; i < 65535 + 8; i++) {
		qpn = number_of_a_life();
		assert_true(qpn >> 8); /* 0 and 1 are reserved */
		if (i < 8)
			first[i] = qpn;
		else if (i >= 65535)
			again += qpn == first[i - 65535];
	}
	assert_in_range(again, 0, 1);
}

/* The first number of one index does not predict that of another. */
static void numbers_of_indices_differ(void **state)
{
	uint32_t i, k, alike = 0;
	struct rig_qp qp[4];

	(void)state;
	rig_up(&ra, 1);
	rig_attach(&ra, 0, 1);
	for (i = 0; i < 4; i++) {
		rig_qp(&ra, 0, rig_pd(&ra, 0), i, &qp[i]);
		for (k = 0; k < i; k++)
			alike += qp[i].qpn >> 8 == qp[k].qpn >> 8;
	}
	assert_int_equal(alike, 0);
}

/* On a board without a source of randomness the driver's entropy determines the
 * queue pair numbers. */
static void drivers_entropy_makes_numbers(void **state)
{
	struct unic_cmd_entropy cmd = { 0 };
	uint32_t i, number[2];
	struct rig_qp qp;

	(void)state;
	for (i = 0; i < 2; i++) {
		fake_port_init(&ra.port, 1);
		ra.port.no_entropy = true;
		unic_nic_init(&ra.nic, &ra.port);
		ra.cmd_tail = ra.cpl_head = ra.evt_head = 0;
		rig_reset(&ra);
		cmd = (struct unic_cmd_entropy){ .bytes = { (uint8_t)i } };
		assert_int_equal(rig_cmd(&ra, UNIC_CMD_ENTROPY, &cmd, NULL), 0);
		rig_attach(&ra, 0, 1);
		rig_qp(&ra, 0, rig_pd(&ra, 0), 0, &qp);
		number[i] = qp.qpn;
	}
	assert_int_not_equal(number[0], number[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)
#define LONE(f) cmocka_unit_test_setup(f, up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stranger_reaches_nobody),
		TEST(wrong_number_reaches_nobody),
		TEST(wrong_psn_changes_nothing),
		TEST(wrong_answers_change_nothing),
		TEST(forged_ahead_costs_only_time),
		LONE(odds_of_a_blind_frame),
		TEST(one_that_knows_all_can_write),
		TEST(one_wrong_key_ends_its_connection),
		TEST(one_refusal_ends_its_connection),
		TEST(last_words_are_for_the_peer),
		TEST(last_words_are_in_order),
		TEST(message_ends_with_bytes),
		TEST(answers_that_are_none),
		TEST(reasons_of_later_versions),
		TEST(replayed_frames_do_nothing),
		TEST(unreliable_ones_have_no_psn),
		TEST(peer_reaches_its_domain_only),
		TEST(other_process_of_the_host_must_guess),
		TEST(pages_on_demand_are_of_one_region),
		TEST(reads_leave_turns),
		TEST(frames_for_nobody_pass_by),
		LONE(lives_have_nothing_in_common),
		LONE(numbers_do_not_count_up),
		LONE(numbers_of_indices_differ),
		LONE(numbers_have_no_period),
		LONE(drivers_entropy_makes_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

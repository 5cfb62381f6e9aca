/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_vectors.c - abi/vectors against the firmware and the serial link: the
 * parser takes the bytes of each file and finds the fields that the file names,
 * and the builder makes the same bytes of these fields.
 *
 * The two ends of abi/vectors/README.md are two NICs, A and B, which receive
 * only the frames that the test delivers. Values that a NIC draws at random are
 * set to those of the vectors: QP numbers, an STag, the key of a token.
 */
#include "unit.h"

#include "far.h"
#include "pair.h"
#include "vector.h"

#define QPN_A  0x0a1100u
#define QPN_B  0x0b2200u
#define QPN_UA 0x0a3301u
#define QPN_UB 0x0b4401u
#define PSN_A  0x123456u
#define PSN_B  0x654321u
#define STAG   0x2ac0de42u
#define IOVA   0xabc500000ull
#define KEY    0x0123456789abcdefull
#define TOKEN  5u
#define QKEY   0x11223344u
#define IPV4_A 0x0a000001u
#define IPV4_B 0x0a000002u
#define ROW_B  5u
#define WR_ID  0x1122334455667788ull
#define MAD_AT (UNIC_EXT_OFF + (uint32_t)sizeof(struct unic_deth))
#define FRAMES 8u

/* The frames that a NIC has sent; those before @head are checked. */
struct said {
	uint32_t head, tail;
	uint32_t len[FRAMES];
	uint8_t bytes[FRAMES][VECTOR_BYTES];
};

static struct said by_a, by_b;
static struct rig_qp ua, ub; /* of UD */
static uint8_t vector[VECTOR_BYTES];

/* ---------------------------------------------------------------- two NICs */

static void keep(struct unic_port *port, const uint8_t *frame, uint32_t len,
		 uint32_t flags)
{
	struct said *s = port == &ra.port ? &by_a : &by_b;

	assert_true(s->tail - s->head < FRAMES && len <= VECTOR_BYTES);
	assert_int_equal(flags, 0); /* the frame has its ICRC */
	memcpy(s->bytes[s->tail % FRAMES], frame, len);
	s->len[s->tail++ % FRAMES] = len;
}

static struct said *said_by(struct rig *r)
{
	return r == &ra ? &by_a : &by_b;
}

/* The next frame that @r sends must be vector @name. */
static void says(struct rig *r, const char *name)
{
	uint32_t len = vector_read(name, vector), at;
	struct said *s = said_by(r);

	rig_poll(r);
	assert_true(s->head != s->tail);
	at = s->head++ % FRAMES;
	assert_int_equal(s->len[at], len);
	assert_memory_equal(s->bytes[at], vector, len);
}

static void says_no_more(struct rig *r)
{
	rig_poll(r);
	assert_int_equal(said_by(r)->head, said_by(r)->tail);
}

static void hears(struct rig *r, const char *name)
{
	uint32_t len = vector_read(name, vector);

	fake_deliver(&r->port, vector, len, 0);
	rig_poll(r);
}

static struct unic_qp_ctx *ctx_of(struct rig *r, const struct rig_qp *qp)
{
	return &r->nic.qps.qp[qp->qpn & 0xff];
}

static void set_number(struct rig *r, struct rig_qp *qp, uint32_t qpn)
{
	assert_int_equal(qp->qpn & 0xff, qpn & 0xff);
	ctx_of(r, qp)->qpn = qpn;
	qp->qpn = qpn;
}

/* Gives the next region of @r the index and the address of the vectors;
 * set_stag() sets the rest of the STag. */
static void choose_place(struct rig *r)
{
	struct unic_mrs *m = &r->nic.mrs;
	uint16_t idx = STAG >> UNIC_MR_IDX_SHIFT;
	uint32_t i = 0;

	while (m->order[i] != idx)
		i++;
	assert_true(i < m->free);
	m->order[i] = m->order[m->free - 1u];
	m->order[m->free - 1u] = idx;
	r->cookie = (IOVA - 0x10000000) / 0x100000; /* see rig_reg() */
}

static void set_stag(struct rig *r, struct rig_mr *mr)
{
	struct unic_mr_ctx *ctx = &r->nic.mrs.mr[mr->mr];

	assert_int_equal(mr->mr, STAG >> UNIC_MR_IDX_SHIFT);
	assert_int_equal(mr->iova, IOVA);
	ctx->lock ^= ctx->stag ^ STAG;
	ctx->stag = STAG;
	mr->stag = STAG;
}

static void ends_up(struct rig *r, uint32_t row, struct rig_qp *qp,
		    uint32_t qpn, struct rig_qp *uqp, uint32_t uqpn)
{
	uint32_t pd;

	r->port.icrc = true;
	r->nic.link.icrc_offload = false;
	r->port.on_frame = keep;
	rig_attach(r, 0, 1);
	pd = rig_pd(r, 0);
	rig_qp(r, 0, pd, row, qp);
	set_number(r, qp, qpn);
	rig_qp_of(r, 0, pd, row + 1, UNIC_QPT_UD, 0, 0, uqp);
	set_number(r, uqp, uqpn);
	qp->mtu_shift = 8;
	uqp->qkey = QKEY;
	uqp->psn = 0x0d0d0d;
}

/* Sets up both ends, B without a region; the region of A begins with @text. */
static void without_region(const char *text)
{
	memset(&by_a, 0, sizeof(by_a));
	memset(&by_b, 0, sizeof(by_b));
	rig_up(&ra, 1);
	rig_up(&rb, 2);
	ends_up(&ra, 3, &qa, QPN_A, &ua, QPN_UA);
	ends_up(&rb, ROW_B, &qb, QPN_B, &ub, QPN_UB);
	qa.psn = PSN_A;
	qb.psn = PSN_B;
	rig_connect(&ra, &qa, &rb, &qb);
	rig_connect(&ra, &ua, &ra, &ua);
	rig_connect(&rb, &ub, &rb, &ub);
	assert_int_equal(rig_reg(&ra, 0, qa.pd, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &ma),
			 0);
	memset(ma.mem, 0xee, 4096);
	memcpy(ma.mem, text, strlen(text));
}

static void region_up(uint8_t mr_class)
{
	choose_place(&rb);
	assert_int_equal(
		rig_reg(&rb, 0, qb.pd, 1, mr_class, UNIC_REG_LIST, 0, &mb), 0);
	set_stag(&rb, &mb);
	memset(mb.mem, 0xdd, 4096);
}

static void ends(const char *text)
{
	without_region(text);
	region_up(UNIC_CLASS_RDMA);
}

/* The next completion of @qp. */
static struct unic_cqe completed(struct rig *r, struct rig_qp *qp,
				 uint8_t opcode, uint8_t status)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(r, qp, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), WR_ID);
	assert_int_equal(unic_from_le32(cqe.qpn), qp->qpn);
	assert_int_equal(cqe.opcode, opcode);
	assert_int_equal(cqe.status, status);
	return cqe;
}

static void posts(uint8_t opcode, uint32_t len, uint32_t remote)
{
	rig_send(&ra, &qa, opcode, WR_ID, &ma, 0, len, IOVA + remote, STAG);
}

/* B has received @text by SEND or as a control part, and nothing behind it. */
static void received(uint8_t opcode, const char *text)
{
	struct unic_cqe cqe = completed(&rb, &qb, opcode, UNIC_WC_SUCCESS);

	assert_int_equal(unic_from_le32(cqe.byte_len), strlen(text));
	assert_memory_equal(mb.mem, text, strlen(text));
	assert_int_equal(mb.mem[strlen(text)], 0xdd);
}

static void acknowledged(uint8_t opcode, uint32_t len)
{
	struct unic_cqe cqe;

	says(&rb, "ack");
	says_no_more(&rb);
	hears(&ra, "ack");
	cqe = completed(&ra, &qa, opcode, UNIC_WC_SUCCESS);
	assert_int_equal(unic_from_le32(cqe.byte_len), len);
	says_no_more(&ra);
}

/* --------------------------------------------------------------------- ARP */

/* A asks for the MAC address of B, B answers, and A reports the address. */
static void resolved(void)
{
	struct unic_cmd_arp cmd = { .ipv4 = unic_to_le32(IPV4_B) };
	struct unic_evt_arp evt;

	assert_int_equal(rig_cmd(&ra, UNIC_CMD_ARP_RESOLVE, &cmd, NULL),
			 UNIC_ST_PENDING);
	says(&ra, "arp-request");
	hears(&rb, "arp-request");
	says(&rb, "arp-reply");
	hears(&ra, "arp-reply");
	rig_expect(&ra, UNIC_EVT_ARP_RESULT, &evt);
	assert_int_equal(evt.ok, 1);
	assert_memory_equal(evt.mac, rb.port.mac, 6);
}

static void arp(void **state)
{
	(void)state;
	without_region("");
	resolved();
}

/* ---------------------------------------------------------------- requests */

static void send_only(void **state)
{
	char name[] = "send-only-pad0", text[] = "abcdefgh";
	uint32_t pad;

	(void)state;
	for (pad = 0; pad < 4; pad++) {
		name[sizeof(name) - 2] = (char)('0' + pad);
		text[8 - pad] = 0;
		ends(text);
		posts(UNIC_WR_SEND, 8 - pad, 0);
		says(&ra, name);
		says_no_more(&ra);
		rig_recv(&rb, &qb, WR_ID, &mb, 0, 16);
		hears(&rb, name);
		received(UNIC_WC_RECV, text);
		acknowledged(UNIC_WC_SEND, 8 - pad);
	}
}

static void send_first_and_last(void **state)
{
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	ends("");
	for (i = 0; i < 256; i++)
		ma.mem[i] = (uint8_t)i;
	memcpy(ma.mem + 256, "final", 5);
	posts(UNIC_WR_SEND, 261, 0);
	says(&ra, "send-first");
	says(&ra, "send-last");
	says_no_more(&ra);
	rig_recv(&rb, &qb, WR_ID, &mb, 0, 300);
	hears(&rb, "send-first");
	says_no_more(&rb);
	hears(&rb, "send-last");
	cqe = completed(&rb, &qb, UNIC_WC_RECV, UNIC_WC_SUCCESS);
	assert_int_equal(unic_from_le32(cqe.byte_len), 261);
	assert_memory_equal(mb.mem, ma.mem, 261);
	assert_int_equal(mb.mem[261], 0xdd);
}

static void placed(uint32_t at, const char *text)
{
	assert_int_equal(mb.mem[at - 1], 0xdd);
	assert_memory_equal(mb.mem + at, text, strlen(text));
	assert_int_equal(mb.mem[at + strlen(text)], 0xdd);
}

static void write_only(void **state)
{
	(void)state;
	ends("abcdef");
	posts(UNIC_WR_WRITE, 6, 0x40);
	says(&ra, "write-only");
	hears(&rb, "write-only");
	placed(0x40, "abcdef");
	pair_expect_none(&rb, &qb);
	acknowledged(UNIC_WC_WRITE, 6);
}

/* The completion record of B is the vector "cqe". */
static void write_with_immediate(void **state)
{
	(void)state;
	ends("abcdef");
	posts(UNIC_WR_WRITE_IMM, 6, 0x40);
	qa.sq[0].imm = unic_to_le32(0x01020304);
	says(&ra, "write-only-imm");
	rig_recv(&rb, &qb, WR_ID, &mb, 0, 16);
	hears(&rb, "write-only-imm");
	placed(0x40, "abcdef");
	assert_int_equal(vector_read("cqe", vector), sizeof(*qb.cqe));
	assert_memory_equal(qb.cqe, vector, sizeof(*qb.cqe));
	acknowledged(UNIC_WC_WRITE, 6);
}

static void read_request_and_response(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	ends("");
	memcpy(mb.mem + 0x100, "0123456789", 10);
	posts(UNIC_WR_READ, 10, 0x100);
	says(&ra, "read-request");
	hears(&rb, "read-request");
	says(&rb, "read-response-only");
	says_no_more(&rb);
	hears(&ra, "read-response-only");
	cqe = completed(&ra, &qa, UNIC_WC_READ, UNIC_WC_SUCCESS);
	assert_int_equal(unic_from_le32(cqe.byte_len), 10);
	assert_memory_equal(ma.mem, "0123456789\xee", 11);
}

/* ---------------------------------------------------------- tagged messages */

/* Token 5, whose buffer begins at offset 0x200 of the region. */
static void token_up(void)
{
	struct unic_cpl_token cpl;
	uint32_t i;

	for (i = 0; i <= TOKEN; i++) {
		struct unic_cmd_token_alloc cmd = {
			.pd = unic_to_le32(qb.pd),
			.stag = unic_to_le32(STAG),
			.iova = unic_to_le64(IOVA + 0x200),
			.length = unic_to_le32(512),
		};

		assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl),
				 0);
	}
	assert_int_equal(unic_from_le32(cpl.index), TOKEN);
	rb.nic.tokens.token[TOKEN].key = KEY;
}

static void posts_tagged(uint32_t payload)
{
	rig_send(&ra, &qa, UNIC_WR_TOKEN, WR_ID, &ma, 0, 4 + payload, KEY,
		 TOKEN);
	qa.sq[0].ctrl_len = unic_to_le32(4);
	qa.sq[0].imm = unic_to_le32(16);
}

static void claimed(uint32_t payload)
{
	const struct unic_cqe *cqe = qb.cqe;

	assert_int_equal(unic_from_le32(cqe->imm), payload);
	assert_int_equal(unic_from_le32(cqe->token), TOKEN);
	assert_int_equal(cqe->detail, UNIC_TOKEN_LIVE);
	received(UNIC_WC_RECV_TOKEN, "ctrl");
}

static void token_only(void **state)
{
	(void)state;
	ends("ctrlabcdef");
	token_up();
	posts_tagged(6);
	says(&ra, "token-only");
	rig_recv(&rb, &qb, WR_ID, &mb, 0, 128);
	hears(&rb, "token-only");
	claimed(6);
	placed(0x210, "abcdef");
	acknowledged(UNIC_WC_TOKEN, 10);
}

static void token_first_and_last(void **state)
{
	uint32_t i;

	(void)state;
	ends("ctrl");
	for (i = 0; i < 260; i++)
		ma.mem[4 + i] = (uint8_t)i;
	token_up();
	posts_tagged(260);
	says(&ra, "token-first");
	says(&ra, "token-last");
	says_no_more(&ra);
	rig_recv(&rb, &qb, WR_ID, &mb, 0, 128);
	hears(&rb, "token-first");
	says_no_more(&rb);
	hears(&rb, "token-last");
	claimed(260);
	assert_memory_equal(mb.mem + 0x210, ma.mem + 4, 260);
	assert_int_equal(mb.mem[0x210 + 260], 0xdd);
}

/* ------------------------------------------------------ NAKs, RNR and VACKs */

/* A's request @opcode is refused by @name, and completes with @status. */
static void refused(uint8_t opcode, const char *name, uint8_t status)
{
	says(&rb, name);
	says_no_more(&rb);
	posts(opcode, opcode == UNIC_WR_SEND ? 8 : 6, 0x40);
	rig_poll(&ra);
	hears(&ra, name);
	completed(&ra, &qa,
		  opcode == UNIC_WR_SEND ? UNIC_WC_SEND : UNIC_WC_WRITE,
		  status);
}

/* A's request @request is delayed by @name, and sent again after @ns. */
static void put_off(uint8_t opcode, const char *request, const char *name,
		    uint64_t ns)
{
	says(&rb, name);
	says_no_more(&rb);
	posts(opcode, opcode == UNIC_WR_SEND ? 8 : 6, 0x40);
	says(&ra, request);
	hears(&ra, name);
	if (ns) {
		rig_run(&ra, ns - 1);
		says_no_more(&ra);
		rig_run(&ra, 1);
	}
	says(&ra, request);
	pair_expect_none(&ra, &qa);
}

static void nak_psn_sequence(void **state)
{
	(void)state;
	ends("abcdefgh");
	hears(&rb, "send-last");
	put_off(UNIC_WR_SEND, "send-only-pad0", "nak-psn-sequence", 0);
}

static void nak_invalid_request(void **state)
{
	(void)state;
	ends("abcdefgh");
	rig_recv(&rb, &qb, WR_ID, &mb, 0, 7);
	hears(&rb, "send-only-pad0");
	refused(UNIC_WR_SEND, "nak-invalid-request", UNIC_WC_REM_INV_REQ_ERR);
}

static void nak_remote_access(void **state)
{
	(void)state;
	without_region("abcdef");
	hears(&rb, "write-only");
	refused(UNIC_WR_WRITE, "nak-remote-access", UNIC_WC_REM_ACCESS_ERR);
}

static void nak_remote_operation(void **state)
{
	struct rig_mr wrong;

	(void)state;
	ends("abcdefgh");
	wrong = mb;
	wrong.stag ^= 0x100;
	rig_recv(&rb, &qb, WR_ID, &wrong, 0, 16);
	hears(&rb, "send-only-pad0");
	refused(UNIC_WR_SEND, "nak-remote-operation", UNIC_WC_REM_OP_ERR);
}

static void nak_rnr(void **state)
{
	(void)state;
	ends("abcdefgh");
	hears(&rb, "send-only-pad0");
	put_off(UNIC_WR_SEND, "send-only-pad0", "nak-rnr", 10000);
}

static void vack_evicted(void **state)
{
	struct unic_cmd_mr cmd = { 0 };

	(void)state;
	without_region("abcdef");
	region_up(UNIC_CLASS_MESSAGING);
	cmd.mr = unic_to_le32(mb.mr);
	cmd.gen = unic_to_le32(mb.gen);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	rig_poll(&rb);
	hears(&rb, "write-only");
	says(&rb, "vack-evicted");
	posts(UNIC_WR_WRITE, 6, 0x40);
	says(&ra, "write-only");
	hears(&ra, "vack-evicted");
	says(&ra, "write-nothing");
	pair_expect_none(&ra, &qa);
	hears(&rb, "write-nothing");
	says(&rb, "ack");
	hears(&ra, "ack");
	completed(&ra, &qa, UNIC_WC_WRITE, UNIC_WC_REM_EVICTED);
}

static void vack_retry_after(void **state)
{
	(void)state;
	without_region("abcdef");
	choose_place(&rb);
	assert_int_equal(rig_reg_cached(&rb, qb.pd, 1, UNIC_DEMAND, 0, &mb), 0);
	set_stag(&rb, &mb);
	hears(&rb, "write-only");
	put_off(UNIC_WR_WRITE, "write-only", "vack-retry-after", 50000);
}

static void vack_refused(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	ends("ctrlabcdef");
	unic_qp_by_number(&ra.nic.transport, QPN_A)->vendor = 3;
	unic_qp_by_number(&rb.nic.transport, QPN_B)->vendor = 3;
	token_up();
	rb.nic.tokens.token[TOKEN].key++;
	posts_tagged(6);
	says(&ra, "token-only");
	rig_recv(&rb, &qb, WR_ID, &mb, 0, 128);
	hears(&rb, "token-only");
	says(&rb, "vack-refused");
	pair_expect_none(&rb, &qb);
	hears(&ra, "vack-refused");
	says(&ra, "write-nothing");
	hears(&rb, "write-nothing");
	cqe = completed(&rb, &qb, UNIC_WC_RECV_TOKEN, UNIC_WC_SUCCESS);
	assert_int_equal(cqe.detail, UNIC_TOKEN_BAD_KEY);
	says(&rb, "ack");
	hears(&ra, "ack");
	cqe = completed(&ra, &qa, UNIC_WC_TOKEN, UNIC_WC_SUCCESS);
	assert_int_equal(cqe.detail, UNIC_TOKEN_BAD_KEY);
	assert_int_equal(unic_from_le32(cqe.byte_len), 0);
}

/* --------------------------------------------------------------- datagrams */

static void datagram(void **state)
{
	struct unic_cqe cqe;

	(void)state;
	ends("abcdefg");
	resolved();
	rig_send(&ra, &ua, UNIC_WR_SEND, WR_ID, &ma, 0, 7,
		 UNIC_UD_TO(IPV4_B, QKEY), QPN_UB);
	says(&ra, "ud-send-only");
	rig_recv(&rb, &ub, WR_ID, &mb, 0, 100);
	hears(&rb, "ud-send-only");
	cqe = completed(&rb, &ub, UNIC_WC_RECV, UNIC_WC_SUCCESS);
	assert_int_equal(cqe.flags, UNIC_WC_GRH);
	assert_int_equal(unic_from_le32(cqe.token), QPN_UA);
	assert_int_equal(unic_from_le32(cqe.imm), IPV4_A);
	assert_int_equal(unic_from_le32(cqe.byte_len),
			 vector_read("ud-received", vector));
	assert_memory_equal(mb.mem, vector, UNIC_GRH_BYTES + 7);
	assert_int_equal(mb.mem[UNIC_GRH_BYTES + 7], 0xdd);
	says_no_more(&rb);
}

/* @from sends the management datagram of vector @name, @to receives it.
 * test_driver_vectors.c checks its fields, which only the driver reads. */
static void management(struct rig *from, struct rig *to, const char *name)
{
	const struct unic_nic_idx *idx =
		(const void *)(to->port.bar + UNIC_BAR_NIC_OFF);
	uint32_t tail = unic_from_le32(idx->mad_tail);
	struct unic_cmd_mad_send cmd = { .ipv4 = unic_to_le32(to->nic.ipv4) };
	struct unic_mad_rx mad;

	memcpy(cmd.mac, to->port.mac, sizeof(cmd.mac));
	assert_int_equal(vector_read(name, vector),
			 MAD_AT + UNIC_MAD_BYTES + UNIC_ICRC_BYTES);
	memcpy(from->port.bar + UNIC_BAR_LIST_OFF +
		       from->cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES,
	       vector + MAD_AT, UNIC_MAD_BYTES);
	assert_int_equal(rig_cmd(from, UNIC_CMD_MAD_SEND, &cmd, NULL), 0);
	says(from, name);
	hears(to, name);
	memcpy(&mad,
	       to->port.bar + UNIC_BAR_MAD_RX_OFF +
		       tail % UNIC_MAD_RX_ENTRIES * sizeof(mad),
	       sizeof(mad));
	assert_int_equal(unic_from_le32(mad.ipv4), from->nic.ipv4);
	assert_memory_equal(mad.mac, from->port.mac, sizeof(mad.mac));
	assert_int_equal(unic_from_le32(mad.qpn), 1);
	assert_memory_equal(mad.data, vector + MAD_AT, UNIC_MAD_BYTES);
}

static void management_datagrams(void **state)
{
	(void)state;
	without_region("");
	management(&ra, &rb, "cm-req-unic");
	management(&ra, &rb, "cm-req-plain");
	management(&rb, &ra, "cm-rep-unic");
	management(&rb, &ra, "cm-rep-plain");
	management(&ra, &rb, "cm-rtu");
	management(&ra, &rb, "cm-dreq");
	management(&rb, &ra, "holders-invalidate");
}

/* ------------------------------------------------------------ flipped bytes */

/* True if B takes a SEND with byte @at changed. */
static bool taken_with(uint32_t at)
{
	uint32_t len = vector_read("send-only-pad1", vector);
	struct unic_cqe cqe;

	vector[at] ^= 0x10;
	fake_deliver(&rb.port, vector, len, 0);
	rig_poll(&rb);
	return rig_cqe(&rb, &qb, &cqe);
}

/* B drops a SEND if any byte is changed, except in the sender's MAC address,
 * the UDP checksum and the byte that BTH reserves for routers: IBTA leaves
 * these out of the ICRC, and nothing else checks them. */
static void each_byte_is_checked(void **state)
{
	static const uint32_t unseen[] = { 6, 7, 8, 9, 10, 11, 40, 41, 46 };
	uint32_t len = vector_read("send-only-pad1", vector), at, i = 0;

	(void)state;
	ends("");
	rig_recv(&rb, &qb, WR_ID, &mb, 0, 16);
	for (at = 0; at < len; at++) {
		if (i < 9 && at == unseen[i])
			i++;
		else
			assert_false(taken_with(at));
	}
	says_no_more(&rb);
	for (i = 0; i < 9; i++) {
		ends("");
		rig_recv(&rb, &qb, WR_ID, &mb, 0, 16);
		assert_true(taken_with(unseen[i]));
	}
}

/* ---------------------------------------------------------- driver, process */

static void mailbox_nop(void **state)
{
	struct unic_cmd_nop nop, cpl;
	uint8_t *ring = ra.port.bar + UNIC_BAR_CMD_OFF;

	(void)state;
	without_region("");
	assert_int_equal(vector_read("mbox-nop", vector), sizeof(nop));
	memcpy(&nop, vector, sizeof(nop));
	assert_int_equal(unic_from_le64(nop.data), WR_ID);
	ra.nic.epoch = unic_from_le32(nop.hdr.epoch);
	ra.cookie = unic_from_le16(nop.hdr.cookie) - 1;
	ring += ra.cmd_tail % UNIC_CMD_ENTRIES * sizeof(nop);
	nop.hdr = (struct unic_cmd_hdr){ 0 }; /* rig_cmd() fills it in */
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_NOP, &nop, &cpl), UNIC_ST_OK);
	assert_memory_equal(ring, vector, sizeof(nop));
	assert_int_equal(vector_read("mbox-nop-completion", vector),
			 sizeof(cpl));
	assert_memory_equal(&cpl, vector, sizeof(cpl));
}

/* The doorbell word of B's first receive is the vector; a NIC that finds this
 * word in the FIFO takes the new tail. */
static void doorbell_word(void **state)
{
	struct unic_db_page *db = (void *)rb.port.window[0];

	(void)state;
	ends("");
	rig_recv(&rb, &qb, WR_ID, &mb, 0, 16);
	assert_int_equal(vector_read("doorbell-word", vector), 4);
	assert_memory_equal(&db->fifo[0], vector, 4);
	ends("");
	assert_int_equal(ctx_of(&rb, &qb)->rq.tail, 0);
	assert_int_equal(db->fifo_seq, 0);
	db->tail[ROW_B].rq = unic_to_le32(1);
	memcpy(&db->fifo[0], vector, 4);
	db->fifo_seq = unic_to_le32(1);
	rig_poll(&rb);
	assert_int_equal(ctx_of(&rb, &qb)->rq.tail, 1);
}

/* ------------------------------------------------------------- serial link */

static struct far far;
static struct stream near;

/* Gives the bytes in `vector` to the NIC's end of a link. Returns the nonce of
 * its peer, or 0. */
static uint32_t nonce_heard(uint32_t len)
{
	const struct unic_serial_syn none = { 0 };
	const uint8_t *at = vector;
	struct stream_msg msg;

	stream_init(&near, 1, 921600, &none);
	assert_false(stream_input(&near, &at, &len, 0, &msg));
	return near.peer;
}

static void serial_frame(void **state)
{
	static uint8_t bar[UNIC_BAR_BYTES] __attribute__((aligned(4096)));
	const struct far_config config = { .bar = bar,
					   .windows = 2,
					   .window_bytes = 0x40000,
					   .nonce = 0x13572468,
					   .baud = 921600 };
	uint8_t line[VECTOR_BYTES];
	uint32_t len = vector_read("serial-frame", vector), i;

	(void)state;
	far_init(&far, &config);
	assert_int_equal(far_output(&far, 0, line, sizeof(line)), len);
	assert_memory_equal(line, vector, len);
	assert_int_equal(nonce_heard(len), config.nonce);
	assert_int_equal(unic_from_le32(near.theirs.windows), 2);
	assert_int_equal(unic_from_le32(near.theirs.window_bytes), 0x40000);
	for (i = 0; i < len; i++) {
		vector[i] ^= 0x10;
		assert_int_equal(nonce_heard(len), 0);
		vector[i] ^= 0x10;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arp),
		cmocka_unit_test(send_only),
		cmocka_unit_test(send_first_and_last),
		cmocka_unit_test(write_only),
		cmocka_unit_test(write_with_immediate),
		cmocka_unit_test(read_request_and_response),
		cmocka_unit_test(token_only),
		cmocka_unit_test(token_first_and_last),
		cmocka_unit_test(nak_psn_sequence),
		cmocka_unit_test(nak_invalid_request),
		cmocka_unit_test(nak_remote_access),
		cmocka_unit_test(nak_remote_operation),
		cmocka_unit_test(nak_rnr),
		cmocka_unit_test(vack_evicted),
		cmocka_unit_test(vack_retry_after),
		cmocka_unit_test(vack_refused),
		cmocka_unit_test(datagram),
		cmocka_unit_test(management_datagrams),
		cmocka_unit_test(each_byte_is_checked),
		cmocka_unit_test(mailbox_nop),
		cmocka_unit_test(doorbell_word),
		cmocka_unit_test(serial_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

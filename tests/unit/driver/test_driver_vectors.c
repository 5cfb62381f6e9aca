/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_vectors.c - abi/vectors and the host driver: management datagrams,
 * which its codecs parse into the fields that the file names and build of these
 * fields, and requests of a process, which it answers with the bytes of the file
 * beside.
 */
#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "vector.h"

/* Where the datagram begins in a frame, the data of its attribute, and the
 * private data of REQ and REP. */
#define MAD_AT	 (UNIC_EXT_OFF + (uint32_t)sizeof(struct unic_deth))
#define DATA_AT	 24u
#define REQ_PRIV (DATA_AT + 140u)
#define REP_PRIV (DATA_AT + 36u)
#define MARK	 7u /* looked at */

#define COMM_A 0xa0a1a2a3u
#define COMM_B 0xb0b1b2b3u
#define TID    0x1122334455667788ull
#define QPN_A  0x0a1100u
#define QPN_B  0x0b2200u
#define STAG   0x2ac0de42u
#define IOVA   0xabc500000ull

static uint8_t vector[VECTOR_BYTES];

/* --------------------------------------------------------------- datagrams */

static const struct unic_cm_msg req_of_a = {
	.type = UNIC_CM_REQ,
	.tid = TID,
	.local_comm = COMM_A,
	.service = 4711,
	.guid = 0x5eed0001,
	.qpn = QPN_A,
	.psn = 0x654321,
	.src_ipv4 = 0x0a000001,
	.dst_ipv4 = 0x0a000002,
	.max_dest_rd = 4,
	.max_rd = 4,
	.retry_cnt = 3,
	.rnr_retry = 5,
	.timeout = 17,
	.mtu_shift = 8,
	.qp_type = UNIC_QPT_RC,
	.vendor = 1,
	.priv_bytes = 5,
	.priv = "hello",
};

static const struct unic_cm_msg rep_of_b = {
	.type = UNIC_CM_REP,
	.tid = TID,
	.local_comm = COMM_B,
	.remote_comm = COMM_A,
	.guid = 0x5eed0002,
	.qpn = QPN_B,
	.psn = 0x123456,
	.max_dest_rd = 4,
	.max_rd = 4,
	.rnr_retry = 5,
	.timeout = 17,
	.vendor = 1,
	.caps = UNIC_CM_CAP_REFUSED,
	.priv_bytes = 7,
	.priv = "welcome",
};

/* The datagram in the frame of file @name. */
static uint8_t *datagram(const char *name)
{
	assert_int_equal(vector_read(name, vector),
			 MAD_AT + UNIC_MAD_BYTES + UNIC_ICRC_BYTES);
	return vector + MAD_AT;
}

static bool same_fields(const struct unic_cm_msg *a,
			const struct unic_cm_msg *b)
{
	return a->type == b->type && a->tid == b->tid &&
	       a->local_comm == b->local_comm &&
	       a->remote_comm == b->remote_comm && a->service == b->service &&
	       a->guid == b->guid && a->qpn == b->qpn && a->psn == b->psn &&
	       a->src_ipv4 == b->src_ipv4 && a->dst_ipv4 == b->dst_ipv4 &&
	       a->reason == b->reason && a->rejected == b->rejected &&
	       a->max_dest_rd == b->max_dest_rd && a->max_rd == b->max_rd &&
	       a->retry_cnt == b->retry_cnt && a->rnr_retry == b->rnr_retry &&
	       a->timeout == b->timeout && a->mtu_shift == b->mtu_shift &&
	       a->qp_type == b->qp_type && a->vendor == b->vendor &&
	       a->caps == b->caps && a->priv_bytes == b->priv_bytes &&
	       !memcmp(a->priv, b->priv, a->priv_bytes);
}

/* @mad is parsed into the fields of @msg. */
static bool parses(const uint8_t *mad, const struct unic_cm_msg *msg)
{
	struct unic_cm_msg got;

	return unic_cm_parse(mad, &got) && same_fields(&got, msg);
}

/* The fields of @msg are built into @mad, @unmarked bytes at @mark set to 0. */
static bool builds(const struct unic_cm_msg *msg, const uint8_t *mad,
		   uint32_t mark, uint32_t unmarked)
{
	uint8_t built[UNIC_MAD_BYTES];

	unic_cm_build(msg, built);
	memset(built + mark, 0, unmarked);
	return !memcmp(built, mad, sizeof(built));
}

static void same(const char *name, const struct unic_cm_msg *msg)
{
	const uint8_t *mad = datagram(name);

	assert_true(parses(mad, msg));
	assert_true(builds(msg, mad, 0, 0));
}

static void with_the_mark(void **state)
{
	(void)state;
	same("cm-req-unic", &req_of_a);
	same("cm-rep-unic", &rep_of_b);
}

/* The driver sends the mark always, and understands a peer that does not. */
static void plain(const char *name, const struct unic_cm_msg *marked,
		  const char *text, uint32_t priv)
{
	const uint8_t *mad = datagram(name);
	struct unic_cm_msg msg = *marked;

	msg.vendor = msg.caps = 0;
	msg.priv_bytes = UNIC_CTL_PRIVATE_MAX;
	assert_int_equal(strlen(text), UNIC_CTL_PRIVATE_MAX);
	memcpy(msg.priv, text, UNIC_CTL_PRIVATE_MAX);
	msg.priv_bytes = unic_cm_room(msg.type); /* it says no length */
	assert_true(parses(mad, &msg));
	msg.priv_bytes = UNIC_CTL_PRIVATE_MAX;
	assert_true(builds(&msg, mad, priv + UNIC_CTL_PRIVATE_MAX, MARK));
}

static void without_the_mark(void **state)
{
	(void)state;
	plain("cm-req-plain", &req_of_a,
	      "hello, this is the private data of a conventional peer!!",
	      REQ_PRIV);
	plain("cm-rep-plain", &rep_of_b,
	      "welcome, this is private data of a conventional peer!!!!",
	      REP_PRIV);
}

static void confirmed_and_ended(void **state)
{
	struct unic_cm_msg msg = { .type = UNIC_CM_RTU,
				   .tid = TID,
				   .local_comm = COMM_A,
				   .remote_comm = COMM_B };

	(void)state;
	same("cm-rtu", &msg);
	msg.type = UNIC_CM_DREQ;
	msg.qpn = QPN_B;
	same("cm-dreq", &msg);
}

/* What unic reads of a REQ. */
static const struct {
	uint32_t at, bytes;
} read_of_req[] = {
	{ 0, 4 },	      /* versions, class, method */
	{ 8, 8 },	      /* transaction */
	{ 16, 2 },	      /* attribute */
	{ DATA_AT, 4 },	      /* communication id */
	{ DATA_AT + 8, 16 },  /* service, GUID */
	{ DATA_AT + 32, 4 },  /* QP, responder resources */
	{ DATA_AT + 39, 1 },  /* initiator depth */
	{ DATA_AT + 43, 1 },  /* type of the connection */
	{ DATA_AT + 44, 4 },  /* PSN, retries */
	{ DATA_AT + 50, 1 },  /* MTU, RNR retries */
	{ DATA_AT + 56, 32 }, /* GIDs */
	{ DATA_AT + 95, 1 },  /* ACK time-out */
	{ REQ_PRIV, 5 },
	{ REQ_PRIV + UNIC_CTL_PRIVATE_MAX, MARK },
};

static bool is_read(uint32_t at)
{
	uint32_t i, n = sizeof(read_of_req) / sizeof(read_of_req[0]);

	for (i = 0; i < n; i++)
		if (at - read_of_req[i].at < read_of_req[i].bytes)
			return true;
	return false;
}

/* The parser skips what unic does not use; the builder fills in every byte. */
static void each_byte_of_a_req(void **state)
{
	uint8_t *mad = datagram("cm-req-unic");
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_MAD_BYTES; i++) {
		mad[i] = (uint8_t)~mad[i];
		assert_false(builds(&req_of_a, mad, 0, 0));
		assert_int_equal(parses(mad, &req_of_a), !is_read(i));
		mad[i] = (uint8_t)~mad[i];
	}
}

static bool same_grant(const struct unic_grants_msg *a,
		       const struct unic_grants_msg *b)
{
	return a->type == b->type && a->nonce == b->nonce &&
	       a->local_comm == b->local_comm &&
	       a->remote_comm == b->remote_comm && a->kind == b->kind &&
	       a->number == b->number && a->grace_us == b->grace_us &&
	       a->ipv4 == b->ipv4 && a->qpn == b->qpn && a->status == b->status;
}

static void holders(void **state)
{
	const struct unic_grants_msg msg = {
		.type = UNIC_HOLDER_INVALIDATE,
		.nonce = 0x8877665544332211,
		.local_comm = COMM_B,
		.remote_comm = COMM_A,
		.kind = UNIC_CTL_HELD_STAG,
		.number = STAG,
		.grace_us = 20000,
	};
	uint8_t built[UNIC_MAD_BYTES], *mad = datagram("holders-invalidate");
	struct unic_grants_msg got;
	uint32_t i;

	(void)state;
	unic_grants_build(&msg, built);
	assert_memory_equal(built, mad, sizeof(built));
	assert_true(unic_grants_parse(mad, &got) && same_grant(&got, &msg));
	/* status and modifier of the header are not looked at, nor is what lies
	 * behind the last field */
	for (i = 0; i < DATA_AT + 36; i++) {
		mad[i] = (uint8_t)~mad[i];
		assert_true((i >= 4 && i < 8) || (i >= 18 && i < 24) ||
			    !unic_grants_parse(mad, &got) ||
			    !same_grant(&got, &msg));
		mad[i] = (uint8_t)~mad[i];
	}
}

/* ------------------------------------------------- requests of a process */

/* A driver over a NIC with the sizes and times of the vectors. */
static struct fake *sized(void)
{
	struct fake *f = fake_new();

	info(f)->grace_us = unic_to_le32(20000);
	info(f)->deliver_us = unic_to_le32(50000);
	info(f)->reaper_us = unic_to_le32(1000);
	info(f)->drain_us = unic_to_le32(10000);
	info(f)->tlb_entries = unic_to_le32(1024);
	info(f)->ipv4 = unic_to_le32(0x0a000001);
	f->host->objects.ids->host_id = 0x5eed1234;
	return f;
}

/* The process sends @rec, which is the request in file @name, and gets the reply
 * in file @reply. */
static void answered(struct fake *f, const void *rec, const char *name,
		     const char *reply)
{
	assert_int_equal(vector_read(name, vector), UNIC_CTL_BYTES);
	assert_memory_equal(rec, vector, UNIC_CTL_BYTES);
	f->os.replies = 0;
	assert_true(
		unic_host_request(f->host, &f->client, vector, UNIC_CTL_BYTES));
	settle(f);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(f->os.reply_bytes[0], vector_read(reply, vector));
	assert_memory_equal(f->os.reply[0], vector, UNIC_CTL_BYTES);
}

static void says_hello(struct fake *f)
{
	const struct unic_ctl_hello hello = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_HELLO),
			 .seq = unic_to_le32(7) },
		.version = unic_to_le32(UNIC_CTL_VERSION),
		.weight = unic_to_le32(1),
		.name = "vector",
	};

	answered(f, &hello, "ctl-hello-request", "ctl-hello-reply");
}

static void hello_of_a_process(void **state)
{
	struct fake *f = sized();

	(void)state;
	says_hello(f);
	fake_delete(f);
}

static void registration(void **state)
{
	struct unic_ctl_frames frames = { .va = unic_to_le64(VA),
					  .pages = unic_to_le32(8),
					  .page_shift = 12 };
	const struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
					     .gen = unic_to_le32(9),
					     .stag = unic_to_le32(STAG) };
	struct unic_ctl_mr_reg reg = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_MR_REG),
			 .seq = unic_to_le32(8),
			 .epoch = unic_to_le32(101) },
		.va = unic_to_le64(VA),
		.iova = unic_to_le64(IOVA),
		.length = unic_to_le64(8192),
		.user = unic_to_le32(55),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
			  UNIC_MR_REMOTE_WRITE,
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = 12,
		.key = 0x42,
	};
	struct unic_ctl_plain pd = { 0 };
	struct unic_cmd_mr_reg cmd;
	struct fake *f = sized();

	(void)state;
	says_hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &frames), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, sizeof(cpl));
	answered(f, &reg, "ctl-mr-reg-request", "ctl-mr-reg-reply");
	cmd = last_reg(f);
	assert_int_equal(unic_from_le64(cmd.iova), IOVA);
	assert_int_equal(unic_from_le64(cmd.length), 8192);
	assert_int_equal(unic_from_le32(cmd.n_pages), 2);
	assert_int_equal(cmd.rights, reg.rights);
	assert_int_equal(cmd.mr_class, UNIC_CLASS_RDMA);
	assert_int_equal(cmd.page_shift, 12);
	assert_int_equal(cmd.key, 0x42);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_the_mark),
		cmocka_unit_test(without_the_mark),
		cmocka_unit_test(confirmed_and_ended),
		cmocka_unit_test(each_byte_of_a_req),
		cmocka_unit_test(holders),
		cmocka_unit_test(hello_of_a_process),
		cmocka_unit_test(registration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

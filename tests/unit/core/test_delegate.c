/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_delegate.c - a token that is handed on (S3): host A makes a token of its
 * buffer, and sends it to B, which sends it to C; A need not know C. A message
 * may race with the cancel of its token.
 */
#include "rig.h"
#include "unit.h"

#define HOSTS 3u
#define PAGES 9u /* the first one for control parts */
#define PAGE  4096u
#define BYTES ((PAGES - 1u) * PAGE)
#define MS    1000000ull

enum {
	A,
	B,
	C
};

/* A token as one host sends it to another. */
struct note {
	unic_le64 key;
	unic_le32 index, length;
};

static struct rig rig[HOSTS];
static struct rig_mr mem[HOSTS];
static struct rig_qp qp[HOSTS][HOSTS]; /* of the first, to the second */
static uint32_t pd[HOSTS];

static struct rig *rig_of(const struct unic_port *port)
{
	return (struct rig *)((uintptr_t)port - offsetof(struct rig, port));
}

/* A switch: addresses are 02:..:id, and id is the number of the host + 1. */
static void forward(struct unic_port *port, const uint8_t *frame, uint32_t len,
		    uint32_t flags)
{
	uint32_t i;

	for (i = 0; i < HOSTS; i++)
		if (&rig[i] != rig_of(port) &&
		    !memcmp(frame, rig[i].port.mac, sizeof(rig[i].port.mac)))
			fake_deliver(&rig[i].port, frame, len, flags);
}

static int setup(void **state)
{
	uint32_t i, k;

	(void)state;
	for (i = 0; i < HOSTS; i++) {
		rig_up(&rig[i], (uint8_t)(i + 1));
		rig[i].port.on_frame = forward;
		rig_attach(&rig[i], 0, 1);
		pd[i] = rig_pd(&rig[i], 0);
		assert_int_equal(rig_reg(&rig[i], 0, pd[i], PAGES,
					 UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
					 &mem[i]),
				 0);
		for (k = 0; k < PAGES * PAGE; k++)
			mem[i].mem[k] = (uint8_t)(k * (i + 3) + i);
	}
	for (i = 0; i < HOSTS; i++)
		for (k = 0; k < HOSTS; k++)
			if (i != k)
				rig_qp(&rig[i], 0, pd[i], 3 + k, &qp[i][k]);
	for (i = 0; i < HOSTS; i++)
		for (k = i + 1; k < HOSTS; k++)
			rig_connect(&rig[i], &qp[i][k], &rig[k], &qp[k][i]);
	return 0;
}

static void run(uint64_t ns)
{
	uint64_t end = rig[A].port.now_ns + ns, until, next;
	uint32_t i, polls;

	for (;;) {
		bool quiet = false;

		for (polls = 0; !quiet && polls < 1000; polls++) {
			next = UINT64_MAX;
			quiet = true;
			for (i = 0; i < HOSTS; i++) {
				until = rig_poll(&rig[i]);
				next = until < next ? until : next;
			}
			for (i = 0; i < HOSTS; i++)
				quiet &= rig[i].port.rx_head ==
					 rig[i].port.rx_tail;
		}
		assert_true(quiet);
		if (rig[A].port.now_ns >= end)
			return;
		for (i = 0; i < HOSTS; i++)
			rig[i].port.now_ns = next < end ? next : end;
	}
}

static void expect(uint32_t host, uint32_t peer, uint8_t opcode,
		   struct unic_cqe *cqe)
{
	assert_true(rig_cqe(&rig[host], &qp[host][peer], cqe));
	assert_int_equal(cqe->status, 0);
	assert_int_equal(cqe->opcode, opcode);
}

/* @host sends @note to @to, through both NICs. */
static struct note tell(uint32_t host, uint32_t to, struct note note)
{
	struct unic_cqe cqe;
	struct note heard;

	memcpy(mem[host].mem, &note, sizeof(note));
	rig_recv(&rig[to], &qp[to][host], 1, &mem[to], 0, sizeof(note));
	rig_send(&rig[host], &qp[host][to], UNIC_WR_SEND, 1, &mem[host], 0,
		 sizeof(note), 0, 0);
	run(MS);
	expect(host, to, UNIC_WC_SEND, &cqe);
	expect(to, host, UNIC_WC_RECV, &cqe);
	assert_int_equal(unic_from_le32(cqe.byte_len), sizeof(note));
	memcpy(&heard, mem[to].mem, sizeof(heard));
	return heard;
}

/* Makes a token for messages of one sender, or of any; @qpn 0: any number of
 * that host. */
static struct note token(uint32_t ipv4, uint32_t qpn)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(pd[A]),
		.stag = unic_to_le32(mem[A].stag),
		.iova = unic_to_le64(mem[A].iova + PAGE),
		.length = unic_to_le32(BYTES),
		.sender_ipv4 = unic_to_le32(ipv4),
		.sender_qpn = unic_to_le32(qpn),
	};
	struct unic_cpl_token cpl;

	assert_int_equal(rig_cmd(&rig[A], UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl), 0);
	return (struct note){ cpl.key, cpl.index, unic_to_le32(BYTES) };
}

/* @from sends a tagged message to A, which A refuses for reason @refused, or
 * places if that is 0. */
static void tagged(uint32_t from, struct note n, uint8_t refused)
{
	struct unic_sq_slot *s =
		&qp[from][A].sq[qp[from][A].sq_tail % RIG_SLOTS];
	uint32_t len = unic_from_le32(n.length);
	struct unic_cqe cqe;

	memset(mem[A].mem, 0xee, PAGES * PAGE);
	rig_recv(&rig[A], &qp[A][from], 9, &mem[A], 0, 64);
	rig_send(&rig[from], &qp[from][A], UNIC_WR_TOKEN, 8, &mem[from], 1000,
		 16 + len, unic_from_le64(n.key), unic_from_le32(n.index));
	s->ctrl_len = unic_to_le32(16);
	run(MS);
	expect(from, A, UNIC_WC_TOKEN, &cqe);
	expect(A, from, UNIC_WC_RECV_TOKEN, &cqe);
	assert_int_equal(unic_from_le32(cqe.byte_len), 16);
	assert_memory_equal(mem[A].mem, mem[from].mem + 1000, 16);
	assert_int_equal(cqe.detail, refused);
	assert_int_equal(unic_from_le32(cqe.imm), refused ? 0 : len);
	if (refused)
		assert_int_equal(mem[A].mem[PAGE], 0xee);
	else
		assert_memory_equal(mem[A].mem + PAGE, mem[from].mem + 1016,
				    len);
}

static uint32_t ip(uint32_t host)
{
	return rig[host].nic.ipv4;
}

/* A token that is bound to no sender goes from A to B to C: it is usable once,
 * by B or C. */
static void handed_on(void **state)
{
	struct note n;

	(void)state;
	n = tell(B, C, tell(A, B, token(0, 0)));
	tagged(C, n, 0);
	tagged(B, n, UNIC_TOKEN_USED);
	tagged(C, n, UNIC_TOKEN_USED);
	assert_int_equal(rig_count(&rig[A], tokens_used), 1);
}

/* A binds the token to C; B, which sends it on, cannot use it. */
static void bound_to_the_third(void **state)
{
	struct note n;

	(void)state;
	n = tell(B, C, tell(A, B, token(ip(C), 0)));
	/* B may not use the token */
	tagged(B, n, UNIC_TOKEN_WRONG_SENDER);
	assert_int_equal(rig_count(&rig[A], token_wrong_sender), 1);
	tagged(C, n, 0);
	/* bound to one queue pair of C */
	n = tell(B, C, tell(A, B, token(ip(C), qp[C][A].qpn)));
	tagged(C, n, 0);
	n = tell(B, C, tell(A, B, token(ip(C), qp[C][A].qpn + 1)));
	tagged(C, n, UNIC_TOKEN_WRONG_SENDER);
	assert_int_equal(rig_count(&rig[A], token_wrong_sender), 2);
}

/* A token that is bound to B is refused to C, whose attempts do not use it
 * up. */
static void bound_to_the_second(void **state)
{
	struct note n, at_b;

	(void)state;
	at_b = tell(A, B, token(ip(B), 0));
	n = tell(B, C, at_b);
	tagged(C, n, UNIC_TOKEN_WRONG_SENDER);
	tagged(C, n, UNIC_TOKEN_WRONG_SENDER);
	tagged(B, at_b, 0);
	assert_int_equal(rig_count(&rig[A], token_wrong_sender), 2);
	assert_int_equal(rig_count(&rig[A], tokens_used), 1);
}

/* A cancels the token while C has it. */
static void taken_back_from_the_third(void **state)
{
	struct note n = token(0, 0);
	struct unic_cmd_token_cancel cmd = {
		.index = n.index,
		.key = n.key,
	};
	struct unic_cpl_token cpl;

	(void)state;
	n = tell(B, C, tell(A, B, n));
	assert_int_equal(rig_cmd(&rig[A], UNIC_CMD_TOKEN_CANCEL, &cmd, &cpl),
			 0);
	assert_int_equal(unic_from_le32(cpl.end), UNIC_TOKEN_CANCELLED);
	tagged(C, n, UNIC_TOKEN_CANCELLED);
}

/* --------------------------------------------------------------- the race */

/* Runs @n poll rounds of all NICs, while a message is under way. */
static void rounds(uint32_t n)
{
	uint32_t i;

	while (n--)
		for (i = 0; i < HOSTS; i++)
			unic_nic_poll(&rig[i].nic);
}

/* Sends a message and cancels its token after @n rounds. Returns whether the
 * message had used the token. */
static bool raced(uint32_t n, uint32_t *busy)
{
	struct note t = token(0, 0);
	struct unic_cmd_token_cancel cmd = {
		.index = t.index,
		.key = t.key,
	};
	struct unic_sq_slot *s = &qp[C][A].sq[qp[C][A].sq_tail % RIG_SLOTS];
	struct unic_cpl_token cpl;
	struct unic_cqe cqe;
	uint8_t status, evt[64];
	bool used;

	memset(mem[A].mem, 0xee, PAGES * PAGE);
	rig_recv(&rig[A], &qp[A][C], 9, &mem[A], 0, 64);
	rig_send(&rig[C], &qp[C][A], UNIC_WR_TOKEN, 8, &mem[C], 0, 16 + BYTES,
		 unic_from_le64(t.key), unic_from_le32(t.index));
	s->ctrl_len = unic_to_le32(16);
	rounds(n);
	status = rig_cmd(&rig[A], UNIC_CMD_TOKEN_CANCEL, &cmd, &cpl);
	assert_true(status == UNIC_ST_OK || status == UNIC_ST_BUSY);
	if (!status && unic_from_le32(cpl.end) == UNIC_TOKEN_CANCELLED)
		/* A may write to the buffer again */
		memset(mem[A].mem + PAGE, 0xdd, BYTES);
	run(MS);
	expect(C, A, UNIC_WC_TOKEN, &cqe);
	expect(A, C, UNIC_WC_RECV_TOKEN, &cqe);
	used = unic_from_le32(cqe.imm) != 0;
	if (status == UNIC_ST_BUSY) {
		(*busy)++;
		assert_true(used); /* after BUSY the message goes on */
		assert_int_equal(
			rig_cmd(&rig[A], UNIC_CMD_TOKEN_CANCEL, &cmd, &cpl), 0);
	}
	assert_int_equal(unic_from_le32(cpl.end),
			 used ? UNIC_TOKEN_USED : UNIC_TOKEN_CANCELLED);
	assert_int_equal(cqe.detail, used ? 0 : UNIC_TOKEN_CANCELLED);
	if (used)
		assert_memory_equal(mem[A].mem + PAGE, mem[C].mem + 16, BYTES);
	else
		assert_int_equal(mem[A].mem[PAGE], 0xdd);
	/* no TOKEN_END: the completion and the answer have reported the end */
	assert_false(rig_event(&rig[A], evt));
	return used;
}

static void one_of_both_has_it(void **state)
{
	uint32_t n, used = 0, busy = 0, rest = 40;

	(void)state;
	for (n = 0; n < rest; n++)
		used += raced(n, &busy);
	assert_true(used > 0 && used < rest && busy > 0);
	assert_int_equal(rig_count(&rig[A], tokens_allocated), rest);
	assert_int_equal(rig_count(&rig[A], tokens_used), used);
	assert_int_equal(rig_count(&rig[A], tokens_cancelled), rest - used);
	assert_int_equal(rig[A].nic.tokens.used, 0);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(handed_on),	   TEST(bound_to_the_third),
		TEST(bound_to_the_second), TEST(taken_back_from_the_third),
		TEST(one_of_both_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

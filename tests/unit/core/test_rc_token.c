/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_rc_token.c - payload tokens over a reliable connection: tagged
 * messages, refusals, and their ends (INV-4, INV-9).
 */
#include "unit.h"

#include "rc_rig.h"

static uint64_t token_alloc(const struct rig_mr *mr, uint32_t off, uint32_t len,
			    uint32_t *index)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(qb.pd),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova + off),
		.length = unic_to_le32(len),
	};
	struct unic_cpl_token cpl;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl), 0);
	*index = unic_from_le32(cpl.index);
	return unic_from_le64(cpl.key);
}

static void tagged(uint64_t wr_id, uint32_t ctrl, uint32_t payload,
		   uint32_t index, uint64_t key)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];

	rig_send(&ra, &qa, UNIC_WR_TOKEN, wr_id, &ma, 0, ctrl + payload, key,
		 index);
	s->ctrl_len = unic_to_le32(ctrl);
}

static void expect_tagged(uint64_t wr_id, uint32_t ctrl, uint32_t payload,
			  uint32_t index, uint8_t refused)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.opcode, UNIC_WC_RECV_TOKEN);
	assert_int_equal(cqe.status, 0);
	assert_int_equal(unic_from_le64(cqe.wr_id), wr_id);
	assert_int_equal(unic_from_le32(cqe.byte_len), ctrl);
	assert_int_equal(unic_from_le32(cqe.imm), payload);
	assert_int_equal(unic_from_le32(cqe.token), index);
	assert_int_equal(cqe.detail, refused);
}

static void tokens(void **state)
{
	static const uint32_t len[] = { 0,    1,    896,  897,	1024,
					1025, 1920, 1921, 4000, 9000 };
	uint32_t i, index, ctrl;
	uint64_t key;

	(void)state;
	for (i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		ctrl = i & 1 ? 128 : i & 2 ? 0 : 17;
		memset(mb.mem, 0xee, BYTES);
		key = token_alloc(&mb, 4096, len[i] ? len[i] : 1, &index);
		rig_recv(&rb, &qb, i, &mb, 0, 128);
		tagged(i, ctrl, len[i], index, key);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_TOKEN, i, 0, ctrl + len[i]);
		expect_tagged(i, ctrl, len[i], index, 0);
		assert_memory_equal(mb.mem, ma.mem, ctrl);
		assert_memory_equal(mb.mem + 4096, ma.mem + ctrl, len[i]);
		assert_int_equal(mb.mem[4096 + len[i]], 0xee);
		/* a token has a single use: the same message again places
		 * nothing, and the connection stays up */
		memset(mb.mem, 0xee, BYTES);
		rig_recv(&rb, &qb, i, &mb, 0, 128);
		tagged(i, ctrl, len[i], index, key);
		pair_run(MS);
		rc_expect(&ra, &qa, UNIC_WC_TOKEN, i, 0, ctrl + len[i]);
		expect_tagged(i, ctrl, 0, index, UNIC_TOKEN_USED);
		assert_memory_equal(mb.mem, ma.mem, ctrl);
		assert_int_equal(mb.mem[4096], 0xee);
	}
	rc_quiet();
}

/* The control part of a tagged message, which goes to the receive, is at most
 * as long as the message, and at most UNIC_TOKEN_CTRL_MAX bytes. */
static void control_part_has_bounds(void **state)
{
	static const uint32_t ctrl[] = { 11, UNIC_TOKEN_CTRL_MAX + 1 };
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct unic_cqe cqe;

		rc_up(state);
		rig_recv(&rb, &qb, 9, &mb, 0, 4096);
		rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ma, 0, i ? 2000 : 10, 5,
			 6);
		qa.sq[(qa.sq_tail - 1) % RIG_SLOTS].ctrl_len =
			unic_to_le32(ctrl[i]);
		pair_run(MS);
		assert_true(rig_cqe(&ra, &qa, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_LOC_QP_OP_ERR);
		assert_int_equal(cqe.detail, UNIC_WD_LENGTH);
		pair_expect_none(&rb, &qb);
	}
}

/* INV-4 for tokens: after TOKEN_END the owner may use the buffer again. */
static void token_ends_after_its_last_byte(void **state)
{
	struct unic_cmd_qp_modify dead = { .proc = unic_to_le32(qb.proc),
					   .qpn = unic_to_le32(qb.qpn),
					   .state = UNIC_QPS_ERR };
	uint32_t index, i;
	uint64_t key = token_alloc(&mb, 4096, 500, &index);
	struct unic_evt_token evt;

	(void)state;
	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	rig_recv(&rb, &qb, 2, &mb, 0, 128);
	tagged(1, 0, 500, index, key); /* both receives are fetched for it */
	pair_run(MS);
	expect_tagged(1, 0, 500, index, 0);
	memset(mb.mem, 0xee, BYTES);
	key = token_alloc(&mb, 4096, 500, &index);
	rb.port.late_dma = true;
	tagged(2, 0, 500, index, key);
	pair_run(MS / 10);
	assert_int_equal(fake_dma_waiting(&rb.port), 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &dead, NULL), 0);
	rig_poll(&rb);
	assert_int_equal(mb.mem[4096], 0xee);
	assert_false(rig_event(&rb, &evt));
	for (i = 0; i < 8; i++) {
		fake_dma_run(&rb.port, 64);
		rig_poll(&rb);
	}
	assert_memory_equal(mb.mem + 4096, ma.mem, 500);
	rig_expect(&rb, UNIC_EVT_TOKEN_END, &evt);
	assert_int_equal(unic_from_le32(evt.end), UNIC_TOKEN_ABORTED);
}

static void token_refusals(void **state)
{
	uint32_t index;
	uint64_t key = token_alloc(&mb, 4096, 3000, &index);

	(void)state;
	memset(mb.mem, 0xee, BYTES);
	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	rig_recv(&rb, &qb, 2, &mb, 0, 128);
	rig_recv(&rb, &qb, 3, &mb, 0, 128);
	rig_recv(&rb, &qb, 4, &mb, 0, 128);
	tagged(1, 8, 3000, index, key ^ 1);
	tagged(2, 8, 3001, index, key);
	tagged(3, 8, 10, UNIC_TOKENS, key);
	pair_run(MS);
	assert_int_equal(mb.mem[4096], 0xee);
	tagged(4, 8, 3000, index, key); /* the token is unchanged */
	pair_run(MS);
	expect_tagged(1, 8, 0, index, UNIC_TOKEN_BAD_KEY);
	expect_tagged(2, 8, 0, index, UNIC_TOKEN_TOO_LONG);
	expect_tagged(3, 8, 0, UNIC_TOKENS, UNIC_TOKEN_BAD_KEY);
	expect_tagged(4, 8, 3000, index, 0);
	rc_quiet();
}

/* INV-9: whichever frame is lost or doubled, the token ends once, USED. */
static void tokens_on_a_bad_wire(void **state)
{
	uint32_t k, index;
	uint64_t key;

	(void)state;
	for (k = 1; k < 16; k++) {
		rc_bring_up(false);
		key = token_alloc(&mb, 4096, 3000, &index);
		if (k & 1)
			rc_wire.lose = k / 2 + 1;
		else
			rc_wire.twice = k / 2;
		if (k % 3)
			rig_recv(&rb, &qb, 1, &mb, 0, 128);
		tagged(1, 100, 3000, index, key);
		pair_run(5000);
		if (!(k % 3)) /* no receive is posted at first */
			rig_recv(&rb, &qb, 1, &mb, 0, 128);
		pair_run(50 * MS);
		rc_expect(&ra, &qa, UNIC_WC_TOKEN, 1, 0, 3100);
		expect_tagged(1, 100, 3000, index, 0);
		pair_expect_none(&rb, &qb);
		assert_int_equal(rig_count(&rb, tokens_used), 1);
		assert_memory_equal(mb.mem + 4096, ma.mem + 100, 3000);
		rc_quiet();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tokens, rc_up),
		cmocka_unit_test(control_part_has_bounds),
		cmocka_unit_test_setup(token_refusals, rc_up),
		cmocka_unit_test_setup(token_ends_after_its_last_byte, rc_up),
		cmocka_unit_test(tokens_on_a_bad_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

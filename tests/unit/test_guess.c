/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_guess.c - peers that guess STags and token keys are held off, each for
 * itself, and only for a while.
 */
#include "unit.h"

#include "rig.h"

#define MS    1000000ull
#define OTHER 0x0a000063u /* a peer that guesses nothing */

static struct rig ra, rb;
static struct rig_qp qa, qb;
static struct rig_mr ma, mb;
static uint32_t pa, pb;

static int up(void **state)
{
	(void)state;
	rig_up(&ra, 1);
	rig_up(&rb, 2);
	fake_wire(&ra.port, &rb.port);
	rig_attach(&ra, 0, 1);
	rig_attach(&rb, 0, 1);
	pa = rig_pd(&ra, 0);
	pb = rig_pd(&rb, 0);
	rig_qp(&ra, 0, pa, 1, &qa);
	rig_qp(&rb, 0, pb, 1, &qb);
	assert_int_equal(rig_reg(&ra, 0, pa, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &ma),
			 0);
	assert_int_equal(rig_reg(&rb, 0, pb, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mb),
			 0);
	return 0;
}

static void run(uint64_t ns)
{
	rig_run2(&ra, &rb, ns);
}

static void reset(struct rig *r, struct rig_qp *qp)
{
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qp->proc),
					  .qpn = unic_to_le32(qp->qpn),
					  .state = UNIC_QPS_RESET };

	assert_int_equal(rig_cmd(r, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
	qp->sq_tail = qp->rq_tail = 0;
}

/* As rig_connect() does for @qp, to RTR only; returns the answer. */
static uint8_t to_rtr(struct rig *r, struct rig_qp *qp, uint32_t ipv4)
{
	struct unic_cmd_qp_modify init = { .proc = unic_to_le32(qp->proc),
					   .qpn = unic_to_le32(qp->qpn),
					   .state = UNIC_QPS_INIT };
	struct unic_cmd_qp_modify rtr = { .proc = unic_to_le32(qp->proc),
					  .qpn = unic_to_le32(qp->qpn),
					  .state = UNIC_QPS_RTR,
					  .mtu_shift = qp->mtu_shift,
					  .dest_qpn = unic_to_le32(77),
					  .dest_ipv4 = unic_to_le32(ipv4) };

	reset(r, qp);
	assert_int_equal(rig_cmd(r, UNIC_CMD_QP_MODIFY, &init, NULL), 0);
	return rig_cmd(r, UNIC_CMD_QP_MODIFY, &rtr, NULL);
}

/* One connection, one WRITE with a wrong rkey, and it is over. */
static void guess_stag(uint32_t i, uint32_t rkey)
{
	struct unic_cqe cqe;

	reset(&ra, &qa);
	reset(&rb, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
	rig_send(&ra, &qa, UNIC_WR_WRITE, i, &ma, 0, 8, mb.iova, rkey);
	run(MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_REM_ACCESS_ERR);
}

static void stags(void **state)
{
	uint32_t i, ip = ra.nic.ipv4;

	(void)state;
	for (i = 0; i < UNIC_GUESS_FREE; i++)
		guess_stag(i, mb.stag ^ (i + 1) << 12);
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_BUSY);
	assert_int_equal(rig_count(&rb, guess_held), 1);
	assert_int_equal(to_rtr(&rb, &qb, OTHER), UNIC_ST_OK);
	run(UNIC_GUESS_NS - (UNIC_GUESS_FREE + 1) * MS);
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_BUSY);
	run(2 * MS);
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_OK);
}

/* Wrong ones that do not come at once hold nobody off. */
static void now_and_then(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_GUESS_FREE + 4; i++) {
		guess_stag(i, mb.stag ^ (i + 1) << 12);
		run(UNIC_GUESS_NS / 8);
	}
	assert_int_equal(rig_count(&rb, guess_held), 0);
}

static uint64_t token_alloc(uint32_t *index)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(pb),
		.stag = unic_to_le32(mb.stag),
		.iova = unic_to_le64(mb.iova),
		.length = unic_to_le32(64),
	};
	struct unic_cpl_token cpl;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl), 0);
	*index = unic_from_le32(cpl.index);
	return unic_from_le64(cpl.key);
}

/* Sends one tagged message; returns whether it was answered within @ns. */
static bool tagged(uint32_t index, uint64_t key, uint64_t ns)
{
	struct unic_cqe cqe;

	rig_recv(&rb, &qb, 1, &mb, 0, 128);
	rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ma, 0, 64, key, index);
	run(ns);
	if (!rig_cqe(&ra, &qa, &cqe))
		return false;
	assert_int_equal(cqe.status, 0);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	return true;
}

/* The right key behind too many wrong ones waits, and the connection lives. */
static void keys(void **state)
{
	struct unic_cqe cqe;
	uint32_t i, index;
	uint64_t key = token_alloc(&index);

	(void)state;
	rig_connect(&ra, &qa, &rb, &qb);
	for (i = 0; i < UNIC_GUESS_FREE; i++)
		assert_true(tagged(index, key + 1 + i, MS));
	assert_false(tagged(index, key, 50 * MS));
	assert_int_equal(rig_count(&rb, tokens_used), 0);
	assert_true(rig_count(&rb, guess_held) > 0);
	run(100 * MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, 0);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.detail, 0);
	assert_int_equal(rig_count(&rb, tokens_used), 1);
	/* what is free is free again */
	assert_true(tagged(index, key, MS));
}

/* Many queue pairs, connected while none is held off, and all used up at once:
 * on an average no more than the others get. */
static void hoarded(void **state)
{
	uint32_t i, ms, total = 0;

	(void)state;
	for (ms = 0; ms < 2000; ms++) {
		run(MS);
		if (unic_guess_held(&ra.nic, OTHER))
			continue;
		for (i = 0; i < 64; i++)
			unic_guess_wrong(&ra.nic, OTHER);
		total += 64;
	}
	assert_in_range(total, 160, 2 * 160 + 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(stags, up),
		cmocka_unit_test_setup(now_and_then, up),
		cmocka_unit_test_setup(keys, up),
		cmocka_unit_test_setup(hoarded, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

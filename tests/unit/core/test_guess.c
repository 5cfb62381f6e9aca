/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_guess.c - peers and processes that guess STags and token keys are held
 * off, each separately, and for a limited time.
 */
#include "revoke/register.h"
#include "unit.h"

#include "memory/derived.h"
#include "rig.h"
#include "memory/access.h"

#define MS    1000000ull
#define OTHER 0x0a000063u /* a peer that sends no wrong keys */

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
	rig_empty_row(r, qp);
}

/* Moves @qp to RTR as rig_connect() does. Returns the status. */
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

/* One connection, whose only WRITE has a wrong rkey and ends it. */
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
	for (i = 0; i < UNIC_KEY_GUARD_FREE; i++)
		guess_stag(i, mb.stag ^ (i + 1) << 12);
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_BUSY);
	assert_int_equal(rig_count(&rb, guess_held), 1);
	assert_int_equal(to_rtr(&rb, &qb, OTHER), UNIC_ST_OK);
	run(UNIC_KEY_GUARD_NS - (UNIC_KEY_GUARD_FREE + 1) * MS);
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_BUSY);
	run(2 * MS);
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_OK);
}

/* As guess_stag(), with a READ or WRITE of @len bytes that names the key of
 * @mr; @vendor: the peer has the vendor opcodes. */
static void name(const struct rig_mr *mr, uint32_t len, uint8_t opcode,
		 bool vendor)
{
	struct unic_cqe cqe;

	reset(&ra, &qa);
	reset(&rb, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
	unic_qp_by_number(&rb.nic.transport, qb.qpn)->vendor = vendor;
	rig_send(&ra, &qa, opcode, 1, &ma, 0, len, mr->iova, mr->stag);
	run(MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status,
			 vendor ? UNIC_WC_REM_EVICTED : UNIC_WC_REM_ACCESS_ERR);
}

/* Each key that gives this queue pair no access counts as wrong, for whatever
 * reason: any of the reasons would tell a guesser something. */
static void each_wrong_key_is_a_guess(void **state)
{
	uint32_t kind, i, ip = ra.nic.ipv4, pd;
	struct rig_mr m[4];

	(void)state;
	pd = rig_pd(&rb, 0);
	rig_attach(&rb, 1, 1);
	for (kind = 0; kind < 4; kind++)
		assert_int_equal(rig_reg(&rb, kind == 3,
					 kind == 0   ? pd
					 : kind == 3 ? rig_pd(&rb, 1)
						     : pb,
					 1, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
					 &m[kind]),
				 0);
	m[1].iova += 4096 - 7;		   /* out of bounds by one */
	rb.nic.mrs.mr[m[2].mr].rights = 0; /* not for peers */
	for (kind = 0; kind < 4; kind++) {
		for (i = 0; i < UNIC_KEY_GUARD_FREE; i++) {
			assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_OK);
			name(&m[kind], 8, i % 2 ? UNIC_WR_READ : UNIC_WR_WRITE,
			     false);
		}
		assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_BUSY);
		assert_int_equal(rb.nic.key_guards.of[0].peer[0].wrong,
				 UNIC_KEY_GUARD_FREE);
		run(UNIC_KEY_GUARD_NS);
	}
}

/* A key of an evicted region does not count as wrong, whether the peer has the
 * vendor opcodes or not. */
static void key_of_what_was_taken_back(void **state)
{
	struct rig_mr m;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, pb, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &m),
			 0);
	assert_int_equal(unic_evict_admin(&rb.nic.revoke, m.mr, m.gen), 0);
	run(MS);
	for (i = 0; i < 2 * UNIC_KEY_GUARD_FREE; i++)
		name(&m, 8, UNIC_WR_WRITE, i % 2);
	assert_int_equal(rb.nic.key_guards.of[0].peer[0].wrong, 0);
	assert_int_equal(to_rtr(&rb, &qb, ra.nic.ipv4), UNIC_ST_OK);
}

/* Makes and releases a region of process @proc whose index will not be used
 * soon: no STag is drawn yet for the index's next region. */
static void release_one(uint32_t proc, uint32_t pd, struct rig_mr *m)
{
	do {
		assert_int_equal(rig_reg(&rb, proc, pd, 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, m),
				 0);
		assert_int_equal(rig_dereg(&rb, m), 0);
		run(MS);
	} while (rb.nic.mrs.mr[m->mr].drawn);
}

static uint32_t counted(void)
{
	return rb.nic.key_guards.of[0].peer[0].wrong;
}

/* A key that was valid until its region was released gets the answer of a wrong
 * key, but does not count as one: the peer may not know of the release. */
static void key_of_what_was_released(void **state)
{
	struct rig_mr m;
	uint32_t i;

	(void)state;
	release_one(0, pb, &m);
	for (i = 0; i < 2 * UNIC_KEY_GUARD_FREE; i++)
		name(&m, 8, i % 2 ? UNIC_WR_READ : UNIC_WR_WRITE, false);
	assert_int_equal(rig_count(&rb, access_stag), 2 * UNIC_KEY_GUARD_FREE);
	assert_int_equal(counted(), 0);
	assert_int_equal(to_rtr(&rb, &qb, ra.nic.ipv4), UNIC_ST_OK);
}

/* The key of a released region does not count as wrong while operations use the
 * region, or while its index rests. */
static void key_of_what_ends_and_rests(void **state)
{
	struct rig_mr m;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, pb, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &m),
			 0);
	unic_mr_hold(&rb.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&rb, &m), UNIC_ST_PENDING);
	assert_int_equal(rb.nic.mrs.mr[m.mr].state, UNIC_MR_DRAINING);
	name(&m, 8, UNIC_WR_WRITE, false);
	rb.nic.stags.of[m.mr].step = UNIC_STAG_STEPS - 1; /* its last */
	unic_mr_unhold(&rb.nic.memory, (uint16_t)m.mr);
	run(MS);
	assert_int_equal(rb.nic.mrs.mr[m.mr].state, UNIC_MR_FREE);
	assert_int_equal(rb.nic.stags.resting, 1);
	name(&m, 8, UNIC_WR_WRITE, false);
	assert_int_equal(counted(), 0);
}

/* A SEND_INV of the STag of a released form does not count as a wrong key. */
static void key_of_a_form_that_was_released(void **state)
{
	struct unic_derived_alloc alloc = { .pd = (uint16_t)pb,
					    .kind = UNIC_FORM_INDIRECT,
					    .n = 1 };
	struct unic_mr_result form;
	struct unic_cqe cqe;

	(void)state;
	do {
		assert_int_equal(
			unic_derived_alloc(&rb.nic.revoke, &alloc, &form), 0);
		assert_int_equal(
			unic_mr_dereg(&rb.nic.revoke, form.mr, form.gen), 0);
		run(MS);
	} while (rb.nic.mrs.mr[form.mr].drawn);
	rig_connect(&ra, &qa, &rb, &qb);
	rig_recv(&rb, &qb, 1, &mb, 0, 64);
	rig_send(&ra, &qa, UNIC_WR_SEND_INV, 1, &ma, 0, 8, 0, form.stag);
	run(MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(rig_count(&rb, forms_refused), 1);
	assert_int_equal(counted(), 0);
}

/* The STag of a released region counts unless it is right in all bits and of
 * this process. The STag drawn for the next region of an index counts, too: it
 * is still a secret. */
static void key_like_what_was_released(void **state)
{
	struct rig_mr m, other;
	uint32_t i;

	(void)state;
	release_one(0, pb, &m);
	for (i = 0; i < UNIC_MR_IDX_SHIFT; i++) {
		other = m;
		other.stag ^= 1u << i;
		name(&other, 8, UNIC_WR_WRITE, false);
		assert_int_equal(counted(), 1);
		run(UNIC_KEY_GUARD_NS);
	}
	rig_attach(&rb, 1, 1);
	release_one(1, rig_pd(&rb, 1), &other);
	name(&other, 8, UNIC_WR_WRITE, false);
	assert_int_equal(counted(), 1);
	other.mr = rb.nic.mrs.order[rb.nic.mrs.free - 1u];
	assert_true(rb.nic.mrs.mr[other.mr].drawn);
	other.stag = rb.nic.mrs.mr[other.mr].stag;
	rb.nic.mrs.mr[other.mr].proc = 0;
	name(&other, 8, UNIC_WR_WRITE, false);
	assert_int_equal(counted(), 2);
}

/* Wrong keys at long intervals hold no peer off. */
static void now_and_then(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_KEY_GUARD_FREE + 4; i++) {
		guess_stag(i, mb.stag ^ (i + 1) << 12);
		run(UNIC_KEY_GUARD_NS / 8);
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

/* The right key waits behind too many wrong ones, and the connection lives. */
static void keys(void **state)
{
	struct unic_cqe cqe;
	uint32_t i, index;
	uint64_t key = token_alloc(&index);

	(void)state;
	rig_connect(&ra, &qa, &rb, &qb);
	for (i = 0; i < UNIC_KEY_GUARD_FREE; i++)
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
	/* after the window wrong keys are free again */
	assert_true(tagged(index, key, MS));
}

/* 64 wrong keys at once, as from many queue pairs that were connected before
 * the peer was held off: on average they get no more guesses than others. */
static void hoarded(void **state)
{
	uint32_t i, ms, total = 0;

	(void)state;
	for (ms = 0; ms < 2000; ms++) {
		run(MS);
		if (unic_key_guard_held(&ra.nic.memory, OTHER, 0))
			continue;
		for (i = 0; i < 64; i++)
			unic_key_guard_wrong(&ra.nic.memory, OTHER, 0);
		total += 64;
	}
	assert_in_range(total, 160, 2 * 160 + 64);
}

/* A peer, or a process in its name, is held off from one process only. */
static void of_one_process(void **state)
{
	uint32_t i, ip = ra.nic.ipv4, pb1;
	struct rig_qp qb1;

	(void)state;
	rig_attach(&rb, 1, 1);
	pb1 = rig_pd(&rb, 1);
	rig_qp(&rb, 1, pb1, 1, &qb1);
	for (i = 0; i < UNIC_KEY_GUARD_FREE; i++)
		guess_stag(i, mb.stag ^ (i + 1) << 12);
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_BUSY);
	assert_int_equal(to_rtr(&rb, &qb1, ip), UNIC_ST_OK);
	/* process 0 still holds the peer off */
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_BUSY);
}

/* Counts wrong keys from address @ipv4 until it is held off. Returns their
 * number. */
static uint32_t guess_all(uint32_t ipv4, uint32_t proc)
{
	uint32_t n = 0;

	for (; n < 1000 && !unic_key_guard_held(&ra.nic.memory, ipv4, proc);
	     n++)
		unic_key_guard_wrong(&ra.nic.memory, ipv4, proc);
	return n;
}

/* Addresses without a place of their own share the free guesses of one. They
 * take no place from an address that is held off, and delay no other
 * process. */
static void many_addresses(void **state)
{
	const uint32_t each = UNIC_KEY_GUARD_FREE;
	uint32_t i, ms, total = 0;

	(void)state;
	assert_int_equal(guess_all(OTHER, 0), each);
	for (i = 1; i < UNIC_KEY_GUARD_PEERS; i++)
		assert_int_equal(guess_all(OTHER + i, 0), each);
	assert_int_equal(guess_all(OTHER + 100, 0), each);
	for (i = 101; i < 300; i++)
		assert_int_equal(guess_all(OTHER + i, 0), 0);
	assert_true(unic_key_guard_held(&ra.nic.memory, OTHER, 0));
	assert_false(unic_key_guard_held(&ra.nic.memory, OTHER + 7, 1));
	assert_false(
		unic_key_guard_held(&ra.nic.memory, UNIC_KEY_GUARD_LOCAL, 0));
	run(UNIC_KEY_GUARD_NS);
	assert_false(unic_key_guard_held(&ra.nic.memory, OTHER, 0));
	for (ms = 0; ms < 2000; ms++) {
		for (i = 0; i < 40; i++)
			total += guess_all(OTHER + i, 0);
		run(MS);
	}
	assert_in_range(total, 20 * each,
			21 * each * (UNIC_KEY_GUARD_PEERS + 1));
}

/* ------------------------------------------------- a process of its own NIC */

/* Makes an indirect region of one element, of key @lkey, by command. Returns
 * the status. */
static uint8_t make_of(uint32_t pd, uint32_t lkey)
{
	static struct unic_mr_result form;
	struct unic_derived_alloc alloc = { .pd = (uint16_t)pd,
					    .kind = UNIC_FORM_INDIRECT,
					    .n = 1 };
	struct unic_sge sge = { .iova = unic_to_le64(mb.iova),
				.len = unic_to_le32(8),
				.lkey = unic_to_le32(lkey) };
	struct unic_cmd_mr_make make = { .n = unic_to_le32(1) };
	uint8_t status;

	assert_int_equal(unic_derived_alloc(&rb.nic.revoke, &alloc, &form), 0);
	make.mr = unic_to_le32(form.mr);
	make.gen = unic_to_le32(form.gen);
	memcpy(rb.port.bar + UNIC_BAR_LIST_OFF +
		       rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES,
	       &sge, sizeof(sge));
	status = rig_cmd(&rb, UNIC_CMD_MR_MAKE, &make, NULL);
	assert_int_equal(unic_mr_dereg(&rb.nic.revoke, form.mr, form.gen), 0);
	return status;
}

/* STags of process 0: of an active region, an evicted one and a released
 * one. */
static void others(uint32_t stag[3])
{
	struct rig_mr m;
	uint32_t i;

	stag[0] = mb.stag;
	for (i = 1; i < 3; i++) {
		assert_int_equal(rig_reg(&rb, 0, pb, 1, UNIC_CLASS_MESSAGING,
					 UNIC_REG_LIST, 0, &m),
				 0);
		stag[i] = m.stag;
		if (i == 1)
			assert_int_equal(unic_evict_admin(&rb.nic.revoke, m.mr,
							  m.gen),
					 0);
		else
			assert_int_equal(rig_dereg(&rb, &m), 0);
	}
	run(MS);
	assert_int_equal(rb.nic.mrs.mr[stag[1] >> UNIC_MR_IDX_SHIFT].state,
			 UNIC_MR_EVICTED);
}

/* A process gets the same status for STags of other processes: of an active, an
 * evicted and a released region. */
static void one_answer_for_what_others_have(void **state)
{
	const uint8_t none = UNIC_ST_NO_MR;
	struct unic_xlate p;
	uint32_t stag[3], pb1, pb2, i;

	(void)state;
	rig_attach(&rb, 1, 1);
	pb1 = rig_pd(&rb, 1);
	pb2 = rig_pd(&rb, 0);
	others(stag);
	for (i = 0; i < 3; i++) {
		assert_int_equal(make_of(pb1, stag[i]), none);
		assert_int_equal(unic_access(&rb.nic.memory, stag[i],
					     (uint16_t)pb1, 0, mb.iova, 1, &p),
				 -UNIC_ESTAG);
		assert_int_equal(unic_derived_close(&rb.nic.memory, stag[i],
						    (uint16_t)pb1, false),
				 -UNIC_ESTAG);
	}
	assert_int_equal(make_of(pb1, stag[0] ^ 0x100), none);
	assert_int_equal(rig_count(&rb, access_pd), 0);
	assert_int_equal(rig_count(&rb, access_evicted), 0);
	/* of its own regions a process gets the exact status */
	assert_int_equal(make_of(pb2, stag[0]), UNIC_ST_NO_PD);
	assert_int_equal(make_of(pb2, stag[1]), UNIC_ST_EVICTED);
	assert_int_equal(make_of(pb2, stag[2]), none);
}

/* A process that guesses STags of its own NIC is held off as a peer is. */
static void guesser_of_its_own_nic(void **state)
{
	uint32_t i, pb1, ip = ra.nic.ipv4;
	struct rig_mr m1;
	struct rig_qp qb1;

	(void)state;
	rig_attach(&rb, 1, 1);
	pb1 = rig_pd(&rb, 1);
	rig_qp(&rb, 1, pb1, 1, &qb1);
	assert_int_equal(rig_reg(&rb, 1, pb1, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &m1),
			 0);
	for (i = 0; i < UNIC_KEY_GUARD_FREE; i++)
		assert_int_equal(make_of(pb1, mb.stag + (i << 8)),
				 UNIC_ST_NO_MR);
	/* while it is held off a right key is refused, too */
	assert_int_equal(make_of(pb1, m1.stag), UNIC_ST_BUSY);
	assert_int_equal(to_rtr(&rb, &qb1, OTHER), UNIC_ST_BUSY);
	assert_int_equal(make_of(pb, mb.stag + 0x100), UNIC_ST_NO_MR);
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_OK);
	run(UNIC_KEY_GUARD_NS);
	assert_int_equal(make_of(pb1, m1.stag), UNIC_ST_BOUNDS);
	assert_int_equal(to_rtr(&rb, &qb1, OTHER), UNIC_ST_OK);
}

/* Work requests with wrong keys count, too; each of them ends a queue pair. */
static void guesser_that_posts(void **state)
{
	struct rig_mr bad = mb;
	struct unic_cqe cqe;
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_KEY_GUARD_FREE; i++) {
		reset(&ra, &qa);
		reset(&rb, &qb);
		rig_connect(&ra, &qa, &rb, &qb);
		bad.stag = mb.stag ^ (i + 1) << 12;
		if (i % 2) {
			rig_send(&rb, &qb, UNIC_WR_WRITE, i, &bad, 0, 8,
				 ma.iova, ma.stag);
		} else {
			rig_recv(&rb, &qb, i, &bad, 0, 8);
			rig_send(&ra, &qa, UNIC_WR_SEND, i, &ma, 0, 8, 0, 0);
		}
		run(MS);
		assert_true(rig_cqe(&rb, &qb, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
		assert_int_equal(cqe.detail, UNIC_WD_STAG);
	}
	assert_int_equal(to_rtr(&rb, &qb, OTHER), UNIC_ST_BUSY);
	assert_int_equal(make_of(pb, mb.stag), UNIC_ST_BUSY);
	run(UNIC_KEY_GUARD_NS);
	assert_int_equal(to_rtr(&rb, &qb, OTHER), UNIC_ST_OK);
}

/* Process 0 of B ends, and another one begins in its slot. */
static void next_process(void)
{
	struct unic_cmd_proc_detach cmd = { .proc = unic_to_le32(0) };
	struct unic_evt_obj evt;

	if (rig_cmd(&rb, UNIC_CMD_PROC_DETACH, &cmd, NULL)) {
		rig_poll(&rb);
		rig_expect(&rb, UNIC_EVT_PROC_GONE, &evt);
	}
	rig_attach(&rb, 0, 1);
	pb = rig_pd(&rb, 0);
	rig_qp(&rb, 0, pb, 1, &qb);
}

/* The next process of a slot inherits the guards. So a peer does not get more
 * wrong keys, nor a process, by an end and a beginning of the process. */
static void next_process_inherits(void **state)
{
	uint32_t i, ip = ra.nic.ipv4;

	(void)state;
	for (i = 0; i < UNIC_KEY_GUARD_FREE; i++)
		guess_stag(i, mb.stag ^ (i + 1) << 12);
	next_process();
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_BUSY);
	assert_int_equal(to_rtr(&rb, &qb, OTHER), UNIC_ST_OK);
	run(UNIC_KEY_GUARD_NS);
	assert_int_equal(to_rtr(&rb, &qb, ip), UNIC_ST_OK);
	for (i = 0; i < UNIC_KEY_GUARD_FREE; i++)
		assert_int_equal(make_of(pb, mb.stag + (i << 8)),
				 UNIC_ST_NO_MR);
	next_process();
	assert_int_equal(make_of(pb, mb.stag), UNIC_ST_BUSY);
	assert_int_equal(to_rtr(&rb, &qb, OTHER), UNIC_ST_BUSY);
	run(UNIC_KEY_GUARD_NS);
	assert_int_equal(make_of(pb, mb.stag), UNIC_ST_NO_MR);
	assert_int_equal(to_rtr(&rb, &qb, OTHER), UNIC_ST_OK);
}

/* ----------------------------------------------------------------- the odds */

/* Mean time in seconds until one of @good of 2^@bits values is found, at
 * @places that are counted separately. */
static uint64_t seconds(uint32_t bits, uint64_t good, uint32_t places)
{
	const uint64_t a_second = UNIC_KEY_GUARD_FREE * 1000000000ull /
				  UNIC_KEY_GUARD_NS * places;

	return (1ull << (bits - 1)) / good / a_second;
}

/* The figures of key_guard.h and docs/SECURITY.md. */
static void odds(void **state)
{
	const uint32_t stag = 24, all = UNIC_KEY_GUARD_PEERS + 1;
	const uint64_t hour = 3600, year = 31557600;

	(void)state;
	assert_int_equal(seconds(stag, 1, 1) * 10 / hour, 145);	 /* 14.6 h */
	assert_int_equal(seconds(stag, 256, 1), 204);		 /* 3.4 min */
	assert_int_equal(seconds(stag, 1, all) * 10 / hour, 20); /* 2.1 h */
	assert_int_equal(seconds(stag, 256, all), 29);
	/* 42 bits of a base are random: 22 here, 20 by the shift below */
	assert_in_range((seconds(stag + 22, 1, 1) << 20) / year / 1000000, 7000,
			7500);
	/* the 8 bits of the consumer do not count */
	assert_int_equal(32 - 8, stag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(stags, up),
		cmocka_unit_test_setup(each_wrong_key_is_a_guess, up),
		cmocka_unit_test_setup(key_of_what_was_taken_back, up),
		cmocka_unit_test_setup(key_of_what_was_released, up),
		cmocka_unit_test_setup(key_of_what_ends_and_rests, up),
		cmocka_unit_test_setup(key_of_a_form_that_was_released, up),
		cmocka_unit_test_setup(key_like_what_was_released, up),
		cmocka_unit_test_setup(now_and_then, up),
		cmocka_unit_test_setup(keys, up),
		cmocka_unit_test_setup(hoarded, up),
		cmocka_unit_test_setup(of_one_process, up),
		cmocka_unit_test_setup(many_addresses, up),
		cmocka_unit_test_setup(one_answer_for_what_others_have, up),
		cmocka_unit_test_setup(guesser_of_its_own_nic, up),
		cmocka_unit_test_setup(guesser_that_posts, up),
		cmocka_unit_test_setup(next_process_inherits, up),
		cmocka_unit_test_setup(odds, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

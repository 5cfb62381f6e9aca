/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_account.c - slots that are accounts of another: what the region of one process
 * costs is charged to another slot, which has a share of its own, and has no objects.
 */
#include <stdlib.h>

#include "pair.h"
#include "revoke/register.h"
#include "unit.h"

#define OWNER	0u /* of the queue pair, the PD and all regions */
#define ACCOUNT 1u /* of OWNER */
#define OTHER	2u /* a process */
#define MS	1000000ull
#define GRACE	(rb.nic.notices.grace_us * 1000ull)

static struct unic_share_owner *share_of(uint32_t proc)
{
	return &rb.nic.share.owner[proc];
}

static uint8_t attach(uint32_t proc, uint32_t keeper)
{
	struct unic_cmd_proc_attach cmd = {
		.proc = unic_to_le32(proc),
		.weight = unic_to_le32(1),
		.doorbell = unic_to_le64(UNIC_BUS(proc, 0)),
		.keeper = unic_to_le32(keeper),
	};

	rb.next_page[proc] = 8;
	return rig_cmd(&rb, UNIC_CMD_PROC_ATTACH, &cmd, NULL);
}

static uint8_t detach(uint32_t proc)
{
	struct unic_cmd_proc_detach cmd = { .proc = unic_to_le32(proc) };

	return rig_cmd(&rb, UNIC_CMD_PROC_DETACH, &cmd, NULL);
}

static int up(void **state)
{
	(void)state;
	pair_up();
	assert_int_equal(attach(ACCOUNT, 1 + OWNER), 0);
	rig_attach(&rb, OTHER, 1);
	rb.nic.mrs.low = rb.nic.reclaim.high = 0;
	return 0;
}

/* The MR_REG of @pages pages of OWNER, for @account, for a test to change. */
static struct unic_cmd_mr_reg reg_cmd(uint32_t pages, uint8_t account)
{
	static uint64_t iova = 0x40000000;

	iova += 0x100000;
	return (struct unic_cmd_mr_reg){
		.pd = unic_to_le32(qb.pd),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
		.page_shift = 12,
		.iova = unic_to_le64(iova),
		.length = unic_to_le64(pages * 4096ull),
		.n_pages = unic_to_le32(pages),
		.flags = UNIC_REG_LIST,
		.account = account,
	};
}

static uint8_t reg(struct unic_cmd_mr_reg cmd, struct rig_mr *out)
{
	uint32_t pages = unic_from_le32(cmd.n_pages), i;
	uint64_t *list =
		(uint64_t *)(rb.port.bar + UNIC_BAR_LIST_OFF +
			     rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	struct unic_cpl_mr_reg cpl;
	uint8_t status;

	for (i = 0; i < pages; i++)
		list[i] = UNIC_BUS(OWNER, (40 + i) * 4096ull);
	status = rig_cmd(&rb, UNIC_CMD_MR_REG, &cmd, &cpl);
	*out = (struct rig_mr){ .mr = unic_from_le32(cpl.mr),
				.gen = unic_from_le32(cpl.gen),
				.stag = unic_from_le32(cpl.stag),
				.iova = unic_from_le64(cmd.iova),
				.mem = rb.port.window[OWNER] + 40 * 4096,
				.wait = unic_from_le32(cpl.wait) };
	return status;
}

static uint8_t charge(uint32_t pages, struct rig_mr *out)
{
	return reg(reg_cmd(pages, 1 + ACCOUNT), out);
}

/* WRITE to @mr over the connection of OWNER. */
static uint8_t write_status(const struct rig_mr *mr)
{
	struct unic_cqe cqe;

	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 100, mr->iova, mr->stag);
	pair_run(MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	return cqe.status;
}

/* ------------------------------------------------------------------ charges */

static void the_account_pays(void **state)
{
	uint32_t before = share_of(OWNER)->held;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(charge(3, &mr), 0);
	assert_int_equal(share_of(ACCOUNT)->held, 3);
	assert_int_equal(share_of(OWNER)->held, before);
	assert_int_equal(write_status(&mr), UNIC_WC_SUCCESS);
	assert_memory_equal(mr.mem, ma.mem, 100);
	assert_int_equal(rig_dereg(&rb, &mr), 0);
	assert_int_equal(share_of(ACCOUNT)->held, 0);
	assert_int_equal(share_of(OWNER)->held, before);
	pair_quiet();
}

/* OTHER is no account, OWNER not one of its own, and nothing is in slot 9. */
static void of_its_keeper_only(void **state)
{
	struct unic_cmd_mr_reg cmd;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(reg(reg_cmd(1, 1 + OTHER), &mr), UNIC_ST_NO_PROC);
	assert_int_equal(reg(reg_cmd(1, 1 + OWNER), &mr), UNIC_ST_NO_PROC);
	assert_int_equal(reg(reg_cmd(1, 10), &mr), UNIC_ST_NO_PROC);
	assert_int_equal(reg(reg_cmd(1, 255), &mr), UNIC_ST_NO_PROC);
	cmd = reg_cmd(1, 1 + ACCOUNT);
	cmd.pd = unic_to_le32(rig_pd(&rb, OTHER));
	assert_int_equal(reg(cmd, &mr), UNIC_ST_NO_PROC);
	assert_int_equal(detach(ACCOUNT), 0);
	assert_int_equal(charge(1, &mr), UNIC_ST_NO_PROC);
	assert_int_equal(attach(ACCOUNT, 0), 0); /* a process now */
	assert_int_equal(charge(1, &mr), UNIC_ST_NO_PROC);
	assert_int_equal(share_of(ACCOUNT)->held, 0);
}

static void of_plain_regions_only(void **state)
{
	struct unic_cmd_mr_reg cmd = reg_cmd(1, 1 + ACCOUNT);
	struct rig_mr mr;

	(void)state;
	cmd.mr_class = UNIC_CLASS_CONTROL;
	assert_int_equal(reg(cmd, &mr), UNIC_ST_INVALID);
	cmd = reg_cmd(1, 1 + ACCOUNT);
	cmd.flags |= UNIC_REG_RESTORE;
	cmd.stag = unic_to_le32(0x12345600);
	assert_int_equal(reg(cmd, &mr), UNIC_ST_INVALID);
	cmd = reg_cmd(1, 1 + ACCOUNT);
	cmd.flags = 0;
	cmd.residency = UNIC_DEMAND;
	assert_int_equal(reg(cmd, &mr), UNIC_ST_INVALID);
	cmd.residency = UNIC_PHYSICAL;
	assert_int_equal(reg(cmd, &mr), UNIC_ST_INVALID);
	assert_int_equal(share_of(ACCOUNT)->held, 0);
}

static void an_account_has_no_objects(void **state)
{
	struct unic_cmd_pd pd = { .proc = unic_to_le32(ACCOUNT) };
	struct unic_cpl_pd cpl;

	(void)state;
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_PD_ALLOC, &pd, &cpl),
			 UNIC_ST_INVALID);
	assert_int_equal(detach(ACCOUNT), 0);
	assert_int_equal(attach(ACCOUNT, 1 + UNIC_PROCS), UNIC_ST_INVALID);
	assert_int_equal(attach(ACCOUNT, UINT32_MAX), UNIC_ST_INVALID);
	assert_int_equal(detach(OTHER), 0);
	assert_int_equal(attach(OTHER, 1 + ACCOUNT), 0); /* which comes later */
	assert_int_equal(attach(ACCOUNT, 0), 0);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_PD_ALLOC, &pd, &cpl), 0);
}

/* A token of a region that the account pays for is OWNER's. */
static void tokens_are_the_owners(void **state)
{
	struct rig_mr mr;
	struct unic_cmd_token_alloc cmd = { .length = unic_to_le32(100) };
	struct unic_cpl_token cpl;
	struct unic_evt_token evt;

	(void)state;
	assert_int_equal(charge(1, &mr), 0);
	cmd.pd = unic_to_le32(qb.pd);
	cmd.stag = unic_to_le32(mr.stag);
	cmd.iova = unic_to_le64(mr.iova);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl), 0);
	assert_int_equal(rb.nic.tokens.held[OWNER], 1);
	assert_int_equal(rig_dereg(&rb, &mr), 0);
	rig_run(&rb, MS);
	rig_expect(&rb, UNIC_EVT_TOKEN_END, &evt);
	assert_int_equal(rb.nic.tokens.held[OWNER], 0);
	assert_int_equal(rb.nic.tokens.held[ACCOUNT], 0);
}

/* ------------------------------------------------------------------- shares */

/* The account has more than its share, and OWNER has not: a newcomer gets what he is
 * entitled to from the account. The peer of a region that was taken back is told so, and
 * the connection stays. */
static void the_account_gives(void **state)
{
	uint32_t own = share_of(OWNER)->held, i;
	struct unic_evt_mr evt;
	struct rig_mr mr[8], mine;
	uint32_t n = (rb.nic.tlb.free - 1) / 8;

	(void)state;
	for (i = 0; i < 8; i++)
		assert_int_equal(charge(n, &mr[i]), 0);
	assert_int_equal(rig_reg(&rb, OTHER, rig_pd(&rb, OTHER), 8, 0,
				 UNIC_REG_LIST | UNIC_REG_WAIT, 0, &mine),
			 UNIC_ST_PENDING);
	rig_run(&rb, MS);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), ACCOUNT);
	rig_ack(&rb, &evt);
	pair_run(2 * GRACE);
	assert_int_equal(share_of(OWNER)->held, own);
	assert_true(share_of(ACCOUNT)->held < 8 * n);
	for (i = 0; i < 8 && mr[i].mr != unic_from_le32(evt.mr); i++)
		;
	assert_true(i < 8);
	assert_int_equal(write_status(&mr[i]), UNIC_WC_REM_EVICTED);
	assert_int_equal(write_status(&mb), UNIC_WC_SUCCESS);
}

static uint8_t claim(uint32_t proc, uint32_t keep, uint32_t entries)
{
	struct unic_cmd_proc_set cmd = {
		.proc = unic_to_le32(proc),
		.keep = unic_to_le32(UNIC_PROC_KEEP_WEIGHT |
				     UNIC_PROC_KEEP_QUOTA |
				     UNIC_PROC_KEEP_POLICY | keep),
		.claim = unic_to_le32(entries),
	};

	return rig_cmd(&rb, UNIC_CMD_PROC_SET, &cmd, NULL);
}

static uint32_t fair_of(uint32_t proc)
{
	rig_poll(&rb);
	return unic_share_fair(&rb.nic.share, proc);
}

static void a_claim_counts(void **state)
{
	uint32_t all = UNIC_TLB_ENTRIES;

	(void)state;
	assert_int_equal(fair_of(OWNER), all);
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, 20), 0);
	assert_int_equal(fair_of(OWNER), all / 2);
	assert_int_equal(claim(ACCOUNT, 0, 0), 0); /* says nothing of it */
	assert_int_equal(fair_of(OWNER), all / 2);
	assert_int_equal(claim(ACCOUNT, 0, 1), UNIC_ST_INVALID);
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, all + 1),
			 UNIC_ST_INVALID);
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, all), 0);
	assert_int_equal(fair_of(OWNER), all / 2);
	rig_run(&rb, 1000 * MS); /* it is renewed */
	assert_int_equal(fair_of(OWNER), all / 2);
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, 0), 0);
	assert_int_equal(fair_of(OWNER), all);
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, 5), 0);
	rig_poll(&rb);
	assert_int_equal(detach(ACCOUNT), 0);
	assert_int_equal(fair_of(OWNER), all);
	assert_int_equal(share_of(ACCOUNT)->wanted, 0);
	assert_int_equal(rb.nic.admission.claims.count, 0);
}

/* What is claimed is there when it is asked for, and between two requests: nobody else
 * gets it. */
static void a_claim_is_kept(void **state)
{
	uint32_t pd = rig_pd(&rb, OTHER), free = rb.nic.tlb.free, i;
	struct rig_mr mine, mr;

	(void)state;
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, 10), 0);
	rig_poll(&rb);
	assert_int_equal(rig_reg(&rb, OTHER, pd, free - 9, 0, UNIC_REG_LIST, 0,
				 &mine),
			 UNIC_ST_TLB_FULL);
	assert_int_equal(rig_reg(&rb, OTHER, pd, free - 10, 0, UNIC_REG_LIST, 0,
				 &mine),
			 0);
	for (i = 0; i < 5; i++) {
		assert_int_equal(charge(10, &mr), 0);
		rig_poll(&rb);
		assert_int_equal(rig_dereg(&rb, &mr), 0);
		rig_poll(&rb);
		assert_int_equal(rig_reg(&rb, OTHER, pd, 1, 0, UNIC_REG_LIST, 0,
					 &mine),
				 UNIC_ST_TLB_FULL);
	}
	/* in parts, too: less is lacking then */
	assert_int_equal(charge(6, &mr), 0);
	rig_poll(&rb);
	assert_int_equal(rb.nic.admission.denials.of[ACCOUNT].n, 4);
	assert_int_equal(charge(4, &mr), 0);
	rig_poll(&rb);
	assert_int_equal(rb.nic.admission.denials.of[ACCOUNT].n, 0);
}

/* It is asked back from who is above his share, though nobody asks for it, and no more of
 * it than the fair share. */
static void a_claim_is_asked_back(void **state)
{
	uint32_t pd = rig_pd(&rb, OTHER), n = rb.nic.tlb.free / 4, i, back = 0;
	struct rig_mr mine[4], mr;
	struct unic_evt_mr evt;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(rig_reg(&rb, OTHER, pd, n, 0, UNIC_REG_LIST, 0,
					 &mine[i]),
				 0);
	rig_run(&rb, 100 * MS); /* no region is young any more */
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, UNIC_TLB_ENTRIES), 0);
	rig_run(&rb, 10 * MS);
	while (rig_event(&rb, &evt)) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_NOTICE);
		assert_int_equal(unic_from_le16(evt.hdr.proc), OTHER);
		rig_ack(&rb, &evt);
		back += n;
	}
	assert_in_range(back, 1, UNIC_TLB_ENTRIES / 3 + n);
	rig_run(&rb, 2 * GRACE);
	assert_int_equal(charge(n, &mr), 0);
	assert_int_equal(share_of(ACCOUNT)->held, n);
}

static uint32_t lacks(uint32_t proc)
{
	return rb.nic.admission.denials.of[proc].n;
}

/* Not even in the moment in which entries come back. */
static void a_claim_is_kept_at_once(void **state)
{
	static const uint64_t pages[4] = { UNIC_BUS(OTHER, 0) };
	uint32_t pd = rig_pd(&rb, OTHER);
	struct unic_mr_args args = {
		.pd = (uint16_t)pd,
		.proc = OTHER,
		.rights = UNIC_MR_LOCAL_WRITE,
		.page_shift = 12,
		.iova = 0x1000,
		.length = 4096,
		.n_pages = 1,
		.flags = UNIC_REG_LIST,
	};
	struct unic_mr_result out;
	struct rig_mr mine, mr;

	(void)state;
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, 10), 0);
	rig_poll(&rb);
	assert_int_equal(rig_reg(&rb, OTHER, pd, rb.nic.tlb.free - 10, 0,
				 UNIC_REG_LIST, 0, &mine),
			 0);
	assert_int_equal(charge(10, &mr), 0);
	rig_poll(&rb);
	assert_int_equal(unic_mr_dereg(&rb.nic.revoke, mr.mr, mr.gen), 0);
	assert_int_equal(unic_mr_reg(&rb.nic.revoke, &args, pages, &out),
			 -UNIC_ETLBFULL);
	assert_int_equal(charge(10, &mr), 0);
}

/* What was refused beyond the claim counts like the denial of anybody else. */
static void a_claim_hides_no_denial(void **state)
{
	uint32_t pd = rig_pd(&rb, OTHER), i;
	struct rig_mr mine[4], mr;
	struct unic_evt_mr evt;

	(void)state;
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, 2), 0);
	rig_poll(&rb);
	for (i = 0; i < 4; i++)
		assert_int_equal(rig_reg(&rb, OTHER, pd,
					 (rb.nic.tlb.free - 2) / (4 - i), 0,
					 UNIC_REG_LIST, 0, &mine[i]),
				 0);
	assert_int_equal(lacks(ACCOUNT), 2);
	assert_int_equal(charge(12, &mr), UNIC_ST_TLB_FULL);
	rig_poll(&rb);
	assert_int_equal(lacks(ACCOUNT), 12);
	assert_int_equal(charge(2, &mr), 0); /* it is still short of 12 */
	rig_poll(&rb);
	assert_int_equal(lacks(ACCOUNT), 12);
	for (i = 0; i < 100; i++) { /* and is, until that is old */
		rig_run(&rb, 10 * MS);
		while (rig_event(&rb, &evt))
			if (evt.hdr.type == UNIC_EVT_NOTICE)
				rig_ack(&rb, &evt);
	}
	assert_int_equal(lacks(ACCOUNT), 0);
	assert_int_equal(rig_dereg(&rb, &mr), 0);
	rig_poll(&rb);
	assert_int_equal(lacks(ACCOUNT), 2);
}

/* It is kept again when a request that was in its place has ended. */
static void a_claim_comes_back_after_a_wait(void **state)
{
	struct unic_cmd_proc_set quota = {
		.proc = unic_to_le32(ACCOUNT),
		.keep = unic_to_le32(UNIC_PROC_KEEP_WEIGHT |
				     UNIC_PROC_KEEP_POLICY),
		.quota = unic_to_le32(20),
	};
	struct unic_cmd_mr_reg cmd = reg_cmd(10, 1 + ACCOUNT);
	struct rig_mr mr, wait;

	(void)state;
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_PROC_SET, &quota, NULL), 0);
	assert_int_equal(claim(ACCOUNT, UNIC_PROC_CLAIM, 30), 0);
	rig_poll(&rb);
	assert_int_equal(lacks(ACCOUNT), 20); /* the quota counts */
	assert_int_equal(charge(15, &mr), 0);
	rig_poll(&rb);
	assert_int_equal(lacks(ACCOUNT), 5);
	cmd.flags |= UNIC_REG_WAIT;
	cmd.timeout_us = unic_to_le32(1000);
	assert_int_equal(reg(cmd, &wait), UNIC_ST_PENDING);
	assert_int_equal(lacks(ACCOUNT), 0);
	rig_run(&rb, 2 * MS);
	assert_int_equal(rb.nic.admission.waiting, 0);
	assert_int_equal(lacks(ACCOUNT), 5);
}

/* --------------------------------------------------------------------- ends */

static void expect_gone(void)
{
	struct unic_evt_obj gone;

	do
		assert_true(rig_event(&rb, &gone));
	while (gone.hdr.type != UNIC_EVT_PROC_GONE);
	assert_int_equal(unic_from_le32(gone.id), ACCOUNT);
	assert_false(rb.nic.procs.proc[ACCOUNT].db);
}

/* Only its owner knows that no peer uses a region any more: the account pays until then,
 * and for nothing new. */
static void an_account_waits_for_its_regions(void **state)
{
	uint32_t own = share_of(OWNER)->held;
	struct unic_evt_mr evt;
	struct rig_mr mr, more;

	(void)state;
	assert_int_equal(charge(2, &mr), 0);
	assert_int_equal(detach(ACCOUNT), UNIC_ST_PENDING);
	assert_int_equal(charge(1, &more), UNIC_ST_NO_PROC);
	rig_run(&rb, 2 * GRACE);
	assert_false(rig_event(&rb, &evt));
	assert_int_equal(write_status(&mr), UNIC_WC_SUCCESS);
	assert_int_equal(rig_dereg(&rb, &mr), 0);
	rig_run(&rb, 10 * MS);
	expect_gone();
	assert_int_equal(share_of(ACCOUNT)->held, 0);
	assert_int_equal(share_of(OWNER)->held, own);
	assert_int_equal(attach(ACCOUNT, 1 + OWNER), 0);
	assert_int_equal(charge(1, &more), 0);
}

/* A notice of the account is acknowledged by its owner, also while it detaches. */
static void an_account_leaves_no_tombstone(void **state)
{
	struct unic_cmd_mr evict = { 0 };
	struct unic_evt_mr evt;
	struct rig_mr mr, more;

	(void)state;
	assert_int_equal(charge(2, &mr), 0);
	assert_int_equal(charge(1, &more), 0);
	assert_int_equal(detach(ACCOUNT), UNIC_ST_PENDING);
	evict.mr = unic_to_le32(mr.mr);
	evict.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_run(&rb, MS);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&rb, &evt), 0);
	rig_run(&rb, 2 * GRACE);
	rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(rb.nic.mrs.mr[mr.mr].state, UNIC_MR_EVICTED);
	assert_int_equal(rig_dereg(&rb, &more), 0);
	rig_run(&rb, 10 * MS);
	expect_gone();
	assert_int_equal(rb.nic.mrs.mr[mr.mr].state, UNIC_MR_FREE);
	assert_int_equal(rig_dereg(&rb, &mr), UNIC_ST_NO_MR);
}

/* ------------------------------------------------------ what the owner may do */

static void the_owner_changes_the_pd(void **state)
{
	struct unic_cmd_mr_rereg cmd = { .what = UNIC_REREG_PD };
	struct rig_mr mr;

	(void)state;
	assert_int_equal(charge(1, &mr), 0);
	cmd.mr = unic_to_le32(mr.mr);
	cmd.gen = unic_to_le32(mr.gen);
	cmd.pd = unic_to_le32(rig_pd(&rb, OTHER));
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &cmd, NULL),
			 UNIC_ST_NO_PD);
	cmd.pd = unic_to_le32(rig_pd(&rb, OWNER));
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &cmd, NULL), 0);
}

/* A peer that wants it closed is told that it was taken back, not that there is none. */
static void peers_are_told_of_an_eviction(void **state)
{
	struct unic_cmd_mr evict = { 0 };
	struct unic_evt_mr evt;
	struct unic_cqe cqe;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(charge(1, &mr), 0);
	evict.mr = unic_to_le32(mr.mr);
	evict.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_run(&rb, MS);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&rb, &evt), 0);
	rig_run(&rb, 2 * GRACE);
	rig_recv(&rb, &qb, 1, &mb, 0, 64);
	rig_send(&ra, &qa, UNIC_WR_SEND_INV, 1, &ma, 0, 8, 0, mr.stag);
	pair_run(MS);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_REM_EVICTED);
}

static void the_owner_reports_uses(void **state)
{
	struct unic_db_page *db = (void *)rb.port.window[OWNER];
	struct rig_mr mr;

	(void)state;
	assert_int_equal(charge(1, &mr), 0);
	rb.nic.usages.off = true;
	rig_run(&rb, 10 * MS);
	db->used[mr.mr] = unic_to_le32(3);
	rig_run(&rb, 100 * MS);
	assert_int_equal(rb.nic.usages.reported[mr.mr].uses, 3);
}

/* Else its PD would go to another process with the region in it. */
static void regions_end_with_their_owner(void **state)
{
	struct unic_evt_obj evt;
	struct rig_mr mr, wait;
	uint8_t status;

	(void)state;
	assert_int_equal(charge(2, &mr), 0);
	assert_int_equal(charge(UNIC_TLB_ENTRIES / 2, &wait), 0);
	status = reg(reg_cmd(UNIC_TLB_ENTRIES / 2, 1 + ACCOUNT), &wait);
	assert_int_equal(status, UNIC_ST_TLB_FULL);
	{
		struct unic_cmd_mr_reg cmd =
			reg_cmd(UNIC_TLB_ENTRIES / 2, 1 + ACCOUNT);

		cmd.flags |= UNIC_REG_WAIT;
		assert_int_equal(reg(cmd, &wait), UNIC_ST_PENDING);
	}
	assert_int_equal(rb.nic.admission.waiting, 1);
	status = detach(OWNER);
	assert_true(status == 0 || status == UNIC_ST_PENDING);
	assert_int_equal(rb.nic.admission.waiting, 0);
	if (status) {
		rig_run(&rb, 3 * GRACE);
		do
			assert_true(rig_event(&rb, &evt));
		while (evt.hdr.type != UNIC_EVT_PROC_GONE);
	}
	assert_int_equal(share_of(ACCOUNT)->held, 0);
	assert_int_equal(share_of(ACCOUNT)->wanted, 0);
	assert_int_equal(rb.nic.procs.proc[ACCOUNT].mrs, 0);
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(charge(1, &mr), UNIC_ST_NO_PD);
	assert_int_equal(detach(ACCOUNT), 0);
}

/* A notice of the account that nobody acknowledges, because its owner leaves, is no
 * failure of the driver. */
static void notices_end_with_their_owner(void **state)
{
	struct unic_cmd_mr evict = { 0 };
	struct unic_evt_mr evt;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(charge(2, &mr), 0);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &ma, 0, 100, mr.iova, mr.stag);
	evict.mr = unic_to_le32(mr.mr);
	evict.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_run(&rb, MS);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	(void)detach(OWNER);
	rig_run(&rb, 2000ull * rb.nic.notices.deliver_us + 2 * GRACE);
	assert_int_equal(rig_count(&rb, driver_failures), 0);
	assert_int_equal(rb.nic.state, UNIC_NIC_READY);
	assert_int_equal(share_of(ACCOUNT)->held, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_account_pays, up),
		cmocka_unit_test_setup(of_its_keeper_only, up),
		cmocka_unit_test_setup(of_plain_regions_only, up),
		cmocka_unit_test_setup(an_account_has_no_objects, up),
		cmocka_unit_test_setup(tokens_are_the_owners, up),
		cmocka_unit_test_setup(the_account_gives, up),
		cmocka_unit_test_setup(a_claim_counts, up),
		cmocka_unit_test_setup(a_claim_is_kept, up),
		cmocka_unit_test_setup(a_claim_is_asked_back, up),
		cmocka_unit_test_setup(a_claim_is_kept_at_once, up),
		cmocka_unit_test_setup(a_claim_hides_no_denial, up),
		cmocka_unit_test_setup(a_claim_comes_back_after_a_wait, up),
		cmocka_unit_test_setup(an_account_waits_for_its_regions, up),
		cmocka_unit_test_setup(an_account_leaves_no_tombstone, up),
		cmocka_unit_test_setup(the_owner_changes_the_pd, up),
		cmocka_unit_test_setup(peers_are_told_of_an_eviction, up),
		cmocka_unit_test_setup(the_owner_reports_uses, up),
		cmocka_unit_test_setup(regions_end_with_their_owner, up),
		cmocka_unit_test_setup(notices_end_with_their_owner, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

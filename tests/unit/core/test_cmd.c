/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_cmd.c - the effects and the answers of commands: bounds of every
 * parameter, fields of the info page, rows of tables. */
#include "unit.h"

#include "command/dump.h"
#include "rig.h"

static struct rig r;

static int up(void **state)
{
	(void)state;
	rig_up(&r, 1);
	rig_attach(&r, 0, 3);
	rig_attach(&r, 1, 1);
	return 0;
}

static const struct unic_info *info(void)
{
	return (const struct unic_info *)(r.port.bar + UNIC_BAR_INFO_OFF);
}

/* -------------------------------------------------------------- the mailbox */

/* An impossible tail of the command ring is counted once, not at each poll. */
static void wild_tail_is_counted_once(void **state)
{
	struct unic_driver_page *d =
		(struct unic_driver_page *)(r.port.bar + UNIC_BAR_DRIVER_OFF);
	uint32_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		d->cmd_tail = unic_to_le32(r.cmd_tail + UNIC_CMD_ENTRIES + 1);
		unic_nic_poll(&r.nic);
	}
	assert_int_equal(rig_count(&r, mbox_bad_index), 1);
	d->cmd_tail = unic_to_le32(r.cmd_tail + UNIC_CMD_ENTRIES + 2);
	unic_nic_poll(&r.nic);
	assert_int_equal(rig_count(&r, mbox_bad_index), 2);
	d->cmd_tail = unic_to_le32(r.cmd_tail);
}

/* FAULT DROP_EVENTS: the next @arg interrupts are lost, and no more. */
static void lost_interrupts(void **state)
{
	struct unic_driver_page *d =
		(struct unic_driver_page *)(r.port.bar + UNIC_BAR_DRIVER_OFF);
	struct unic_cmd_fault cmd = {
		.fault = unic_to_le32(UNIC_FAULT_DROP_EVENTS),
		.arg = unic_to_le32(3),
	};
	uint64_t nop[8];
	uint32_t i, before;

	(void)state;
	d->want_irq = unic_to_le32(1);
	rig_run(&r, 1000);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_FAULT, &cmd, NULL), UNIC_ST_OK);
	rig_run(&r, 1000); /* the interrupt of this completion is lost first */
	before = r.port.rung[0];
	for (i = 0; i < 4; i++) {
		memset(nop, 0, sizeof(nop));
		rig_cmd(&r, UNIC_CMD_NOP, nop, NULL);
		rig_run(&r, 1000);
		assert_int_equal(r.port.rung[0] - before, i < 2 ? 0 : i - 1);
	}
}

/* --------------------------------------------------------------- parameters */

static uint8_t params(uint32_t grace, uint32_t deliver, uint32_t reaper)
{
	struct unic_cmd_set_params cmd = {
		.grace_us = unic_to_le32(grace),
		.deliver_us = unic_to_le32(deliver),
		.reaper_us = unic_to_le32(reaper),
	};

	return rig_cmd(&r, UNIC_CMD_SET_PARAMS, &cmd, NULL);
}

static void times_have_bounds(void **state)
{
	(void)state;
	assert_int_equal(params(1, 1, 100), UNIC_ST_OK);
	assert_int_equal(unic_from_le32(info()->grace_us), 1);
	assert_int_equal(unic_from_le32(info()->deliver_us), 1);
	assert_int_equal(unic_from_le32(info()->reaper_us), 100);
	assert_int_equal(params(10000000, 10000000, 1000000), UNIC_ST_OK);
	assert_int_equal(params(10000001, 0, 0), UNIC_ST_INVALID);
	assert_int_equal(params(0, 10000001, 0), UNIC_ST_INVALID);
	assert_int_equal(params(0, 0, 1000001), UNIC_ST_INVALID);
	assert_int_equal(params(0, 0, 99), UNIC_ST_INVALID);
	/* 0 leaves the value; an error changes nothing */
	assert_int_equal(params(0, 0, 0), UNIC_ST_OK);
	assert_int_equal(unic_from_le32(info()->grace_us), 10000000);
	assert_int_equal(unic_from_le32(info()->deliver_us), 10000000);
	assert_int_equal(unic_from_le32(info()->reaper_us), 1000000);
}

/* With UNIC_PARAM_GRACE 0 is a grace, too; the flag is about nothing else. */
static void grace_of_nothing(void **state)
{
	struct unic_cmd_set_params cmd = {
		.flags = unic_to_le32(UNIC_PARAM_USES_REPORTED),
	};

	(void)state;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &cmd, NULL), 0);
	cmd.flags = unic_to_le32(UNIC_PARAM_GRACE);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &cmd, NULL), 0);
	assert_int_equal(unic_from_le32(info()->grace_us), 0);
	assert_int_equal(unic_from_le32(info()->deliver_us), 50000);
	assert_true(r.nic.usages.off);
	assert_int_equal(params(0, 7, 0), UNIC_ST_OK);
	assert_int_equal(unic_from_le32(info()->grace_us), 0);
	cmd.grace_us = unic_to_le32(5);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &cmd, NULL), 0);
	assert_int_equal(unic_from_le32(info()->grace_us), 5);
}

static uint8_t idle(uint32_t flags, uint32_t us)
{
	struct unic_cmd_set_params cmd = {
		.flags = unic_to_le32(flags),
		.idle_us = unic_to_le32(us),
	};

	return rig_cmd(&r, UNIC_CMD_SET_PARAMS, &cmd, NULL);
}

/* 0 leaves it, with UNIC_PARAM_IDLE it switches the questions off. */
static void idle_time_has_bounds(void **state)
{
	(void)state;
	assert_true(r.nic.asks.idle_ns == 0);
	assert_int_equal(idle(0, 999), UNIC_ST_INVALID);
	assert_int_equal(idle(UNIC_PARAM_IDLE, 1), UNIC_ST_INVALID);
	assert_int_equal(idle(0, 1000000001), UNIC_ST_INVALID);
	assert_true(r.nic.asks.idle_ns == 0);
	assert_int_equal(idle(0, 1000), UNIC_ST_OK);
	assert_true(r.nic.asks.idle_ns == 1000000);
	assert_int_equal(idle(UNIC_PARAM_IDLE, 1000000000), UNIC_ST_OK);
	assert_true(r.nic.asks.idle_ns == 1000000000000);
	assert_int_equal(idle(0, 0), UNIC_ST_OK);
	assert_true(r.nic.asks.idle_ns == 1000000000000);
	assert_int_equal(idle(UNIC_PARAM_IDLE, 0), UNIC_ST_OK);
	assert_true(r.nic.asks.idle_ns == 0);
}

static uint8_t pain(uint32_t flags, uint32_t pct)
{
	struct unic_cmd_set_params cmd = {
		.flags = unic_to_le32(flags),
		.pain_pct = unic_to_le32(pct),
	};

	return rig_cmd(&r, UNIC_CMD_SET_PARAMS, &cmd, NULL);
}

/* 0 leaves it, with UNIC_PARAM_PAIN pain counts nothing. */
static void weight_of_pain_has_bounds(void **state)
{
	(void)state;
	assert_int_equal(r.nic.pains.state.weight, 64);
	assert_int_equal(pain(0, 401), UNIC_ST_INVALID);
	assert_int_equal(pain(UNIC_PARAM_PAIN, UINT32_MAX), UNIC_ST_INVALID);
	assert_int_equal(r.nic.pains.state.weight, 64);
	assert_int_equal(pain(0, 400), UNIC_ST_OK);
	assert_int_equal(r.nic.pains.state.weight, 256);
	assert_int_equal(pain(0, 0), UNIC_ST_OK);
	assert_int_equal(r.nic.pains.state.weight, 256);
	assert_int_equal(pain(UNIC_PARAM_PAIN, 0), UNIC_ST_OK);
	assert_int_equal(r.nic.pains.state.weight, 0);
}

static uint8_t marks(uint32_t flags, uint32_t low, uint32_t high)
{
	struct unic_cmd_set_params cmd = {
		.flags = unic_to_le32(flags),
		.low_entries = unic_to_le32(low),
		.high_entries = unic_to_le32(high),
	};

	return rig_cmd(&r, UNIC_CMD_SET_PARAMS, &cmd, NULL);
}

static void watermarks_have_bounds(void **state)
{
	(void)state;
	assert_int_equal(marks(UNIC_PARAM_WATERMARKS, 5, 5), UNIC_ST_OK);
	assert_int_equal(r.nic.mrs.low, 5);
	assert_int_equal(r.nic.reclaim.high, 5);
	assert_int_equal(marks(UNIC_PARAM_WATERMARKS, 6, 5), UNIC_ST_INVALID);
	assert_int_equal(marks(UNIC_PARAM_WATERMARKS, 0, UNIC_TLB_ENTRIES),
			 UNIC_ST_OK);
	assert_int_equal(marks(UNIC_PARAM_WATERMARKS, 0, UNIC_TLB_ENTRIES + 1),
			 UNIC_ST_INVALID);
	assert_int_equal(marks(0, 1, 0), UNIC_ST_INVALID);
	assert_int_equal(marks(0, 0, 1), UNIC_ST_INVALID);
	assert_int_equal(marks(UNIC_PARAM_PAIN << 1, 0, 0), UNIC_ST_INVALID);
	assert_int_equal(r.nic.reclaim.high, UNIC_TLB_ENTRIES);
}

static uint8_t address(uint32_t ipv4)
{
	struct unic_cmd_set_addr cmd = { .ipv4 = unic_to_le32(ipv4) };

	return rig_cmd(&r, UNIC_CMD_SET_ADDR, &cmd, NULL);
}

static void addresses_of_hosts_only(void **state)
{
	(void)state;
	assert_int_equal(address(0), UNIC_ST_INVALID);
	assert_int_equal(address(0x7f000001), UNIC_ST_INVALID);
	assert_int_equal(address(0xe0000000), UNIC_ST_INVALID);
	assert_int_equal(address(0xffffffff), UNIC_ST_INVALID);
	assert_int_equal(unic_from_le32(info()->ipv4), 0x0a000001);
	assert_int_equal(address(0xdfffffff), UNIC_ST_OK);
	assert_int_equal(address(0x80000001), UNIC_ST_OK);
	assert_int_equal(address(0x7effffff), UNIC_ST_OK);
	assert_int_equal(unic_from_le32(info()->ipv4), 0x7effffff);
}

/* A command may end in the middle of a word: the bytes behind it must be zero,
 * and no others. */
static void only_the_rest_is_zero(void **state)
{
	const struct unic_cmd_mad_send good = {
		.ipv4 = unic_to_le32(0x0a000002),
		.mac = { 2, 0xff, 0xff, 0xff, 0xff, 0xff },
	};
	struct unic_cmd_mad_send c = good;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MAD_SEND, &c, NULL), UNIC_ST_OK);
	for (i = 0; i < sizeof(c.rsvd0); i++) {
		c = good;
		c.rsvd0[i] = 1;
		assert_int_equal(rig_cmd(&r, UNIC_CMD_MAD_SEND, &c, NULL),
				 UNIC_ST_INVALID);
	}
	for (i = 0; i < sizeof(c.rsvd) / sizeof(*c.rsvd); i++) {
		c = good;
		c.rsvd[i] = unic_to_le32(1u << 31);
		assert_int_equal(rig_cmd(&r, UNIC_CMD_MAD_SEND, &c, NULL),
				 UNIC_ST_INVALID);
	}
}

/* A list may have as many pages as a list page holds, even more than the NIC
 * has entries. */
static void longest_list(void **state)
{
	struct unic_cmd_mr_reg good = {
		.pd = unic_to_le32(rig_pd(&r, 0)),
		.page_shift = 12,
		.flags = UNIC_REG_LIST,
		.iova = unic_to_le64(1u << 24),
		.length = unic_to_le64(UNIC_LIST_MAX * 4096ull),
		.n_pages = unic_to_le32(UNIC_LIST_MAX),
	};
	struct unic_cmd_mr_reg c = good;

	(void)state;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_REG, &c, NULL),
			 UNIC_ST_TOO_LARGE);
	c = good;
	c.length = unic_to_le64((UNIC_LIST_MAX + 1) * 4096ull);
	c.n_pages = unic_to_le32(UNIC_LIST_MAX + 1);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_REG, &c, NULL),
			 UNIC_ST_INVALID);
}

/* -------------------------------------------------------------------- facts */

static void facts(void **state)
{
	const struct unic_info *i = info();
	struct unic_cmd_host_time cmd = { .host_ns = unic_to_le64(1234567) };

	(void)state;
	assert_int_equal(unic_from_le32(i->magic), UNIC_MAGIC);
	assert_int_equal(unic_from_le16(i->abi_major), UNIC_ABI_MAJOR);
	assert_int_equal(unic_from_le32(i->tlb_entries), UNIC_TLB_ENTRIES);
	assert_int_equal(unic_from_le32(i->mrs), UNIC_MRS);
	assert_int_equal(unic_from_le32(i->qps), UNIC_QPS);
	assert_int_equal(unic_from_le32(i->cqs), UNIC_CQS);
	assert_int_equal(unic_from_le32(i->tokens), UNIC_TOKENS);
	assert_int_equal(unic_from_le32(i->procs), UNIC_PROCS);
	assert_int_equal(unic_from_le32(i->pds), UNIC_PDS);
	assert_int_equal(unic_from_le32(i->waits), UNIC_WAITS);
	assert_int_equal(unic_from_le32(i->state), UNIC_NIC_READY);
	assert_int_equal(unic_from_le32(i->boot_epoch), r.nic.epoch);
	/* T, H and the reaper's period, before SET_PARAMS */
	assert_int_equal(unic_from_le32(i->grace_us), 20000);
	assert_int_equal(unic_from_le32(i->deliver_us), 50000);
	assert_int_equal(unic_from_le32(i->reaper_us), 1000);
	r.port.now_ns += 777;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_HOST_TIME, &cmd, NULL), 0);
	assert_int_equal(unic_from_le64(i->pair_host_ns), 1234567);
	assert_int_equal(unic_from_le64(i->pair_nic_ns), r.port.now_ns);
}

/* The heartbeat advances with time. */
static void heartbeat(void **state)
{
	uint32_t before;

	(void)state;
	rig_run(&r, 2000000000ull);
	before = unic_from_le32(info()->heartbeat);
	rig_run(&r, 2000000000ull);
	assert_true(unic_from_le32(info()->heartbeat) > before);
	assert_true(unic_from_le64(info()->clock_ns) + 2000000000ull >
		    r.port.now_ns);
	assert_true(unic_from_le64(info()->clock_ns) <= r.port.now_ns);
}

/* --------------------------------------------------------------------- rows */

/* Dumps rows of @table from @first on. Returns their number; *@next is where to
 * go on. */
static uint32_t dump(uint32_t table, uint32_t first, const void **rows,
		     uint32_t *next)
{
	struct unic_cmd_dump cmd = { .table = unic_to_le32(table),
				     .first = unic_to_le32(first) };
	struct unic_cpl_dump cpl;

	*rows = r.port.bar + UNIC_BAR_LIST_OFF +
		r.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &cmd, &cpl), 0);
	*next = unic_from_le32(cpl.next);
	return unic_from_le32(cpl.rows);
}

static void row_of_a_region(void **state)
{
	const struct unic_row_mr *row;
	const struct unic_row_tlb *tlb;
	struct rig_mr mr;
	uint32_t pd = rig_pd(&r, 1), next, i;
	const struct unic_mr_ctx *m;

	(void)state;
	assert_int_equal(rig_reg(&r, 1, pd, 3, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	m = &r.nic.mrs.mr[mr.mr];
	assert_int_equal(dump(UNIC_TABLE_MR, 0, (const void **)&row, &next), 1);
	assert_int_equal(next, 0);
	assert_int_equal(unic_from_le32(row->index), mr.mr);
	assert_int_equal(unic_from_le32(row->gen), mr.gen);
	assert_int_equal(unic_from_le32(row->stag), mr.stag);
	assert_int_equal(unic_from_le16(row->proc), 1);
	assert_int_equal(unic_from_le16(row->pd), pd);
	assert_int_equal(row->state, UNIC_MR_ACTIVE);
	assert_int_equal(row->rights, m->rights);
	assert_int_equal(row->mr_class, UNIC_CLASS_RDMA);
	assert_int_equal(row->page_shift, 12);
	assert_int_equal(unic_from_le64(row->iova), mr.iova);
	assert_int_equal(unic_from_le64(row->length), 3 * 4096);
	assert_int_equal(unic_from_le32(row->entries), 3);
	assert_int_equal(unic_from_le16(row->holds), 0);
	assert_int_equal(dump(UNIC_TABLE_TLB, 0, (const void **)&tlb, &next),
			 3);
	for (i = 0; i < 3; i++) {
		const struct unic_tlb_entry *e;

		e = &r.nic.tlb.entry[unic_from_le32(tlb[i].index)];
		assert_int_equal(unic_from_le32(tlb[i].mr), mr.mr);
		assert_int_equal(unic_from_le32(tlb[i].page),
				 e->tag - m->tlb_base);
		assert_int_equal(unic_from_le32(tlb[i].page_shift), 12);
		assert_int_equal(unic_from_le64(tlb[i].bus), e->bus);
	}
}

static void row_of_a_token(void **state)
{
	struct unic_token_args a = { .length = 99, .user = 5, .ttl_us = 1000 };
	struct unic_token_sender from = { .dest_ipv4 = 0x0a000002,
					  .dest_qpn = 77 };
	const struct unic_row_token *row;
	struct rig_mr mr;
	uint64_t key;
	uint32_t next, end, placed;
	int t;

	(void)state;
	a.pd = from.pd = (uint16_t)rig_pd(&r, 0);
	assert_int_equal(rig_reg(&r, 0, a.pd, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	a.stag = mr.stag;
	a.iova = mr.iova + 8;
	a.sender_ipv4 = 0x0a000002;
	a.sender_qpn = 77;
	t = unic_token_alloc(&r.nic.memory, &a, &key);
	assert_true(t >= 0);
	assert_int_equal(dump(UNIC_TABLE_TOKEN, 0, (const void **)&row, &next),
			 1);
	assert_int_equal(unic_from_le32(row->index), t);
	assert_int_equal(unic_from_le32(row->proc), 0);
	assert_int_equal(unic_from_le32(row->mr), mr.mr);
	assert_int_equal(unic_from_le32(row->length), 99);
	assert_int_equal(unic_from_le64(row->iova), mr.iova + 8);
	assert_int_equal(unic_from_le64(row->expires_ns),
			 r.nic.now_ns + 1000000);
	assert_int_equal(unic_from_le32(row->state), 0);
	assert_int_equal(unic_from_le32(row->sender_ipv4), 0x0a000002);
	assert_int_equal(unic_from_le32(row->sender_qpn), 77);
	assert_int_equal(unic_from_le32(row->placed), 0);
	assert_int_equal(
		unic_token_claim(&r.nic.memory,
				 &(struct unic_tag){ .key = key,
						     .index = (uint32_t)t,
						     .payload = 50 },
				 &from),
		UNIC_TOKEN_LIVE);
	dump(UNIC_TABLE_TOKEN, 0, (const void **)&row, &next);
	assert_int_equal(unic_from_le32(row->state), 1);
	unic_token_finish(&r.nic.memory, (uint16_t)t, 50);
	assert_int_equal(unic_token_cancel(&r.nic.memory, 0, (uint32_t)t, key,
					   false, &end, &placed),
			 0);
	assert_int_equal(end, UNIC_TOKEN_USED);
	assert_int_equal(placed, 50);
}

static void rows_of_processes(void **state)
{
	const struct unic_row_proc *row;
	struct rig_mr mr;
	struct rig_qp qp;
	uint32_t pd = rig_pd(&r, 0), next;

	(void)state;
	rig_reg(&r, 0, pd, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mr);
	rig_qp(&r, 0, pd, 2, &qp);
	assert_int_equal(dump(UNIC_TABLE_PROC, 0, (const void **)&row, &next),
			 2);
	assert_int_equal(next, 0);
	assert_int_equal(unic_from_le32(row[0].proc), 0);
	assert_int_equal(unic_from_le32(row[1].proc), 1);
	assert_int_equal(unic_from_le32(row[0].weight), 3);
	assert_int_equal(unic_from_le32(row[1].weight), 1);
	assert_int_equal(unic_from_le32(row[0].mrs), 2);
	assert_int_equal(unic_from_le32(row[0].qps), 1);
	assert_int_equal(unic_from_le32(row[0].tokens), 0);
	assert_int_equal(unic_from_le32(row[0].notices), 0);
	assert_int_equal(unic_from_le32(row[0].held),
			 r.nic.share.owner[0].held);
	assert_true(unic_from_le32(row[0].control) > 0);
	assert_int_equal(unic_from_le32(row[0].control) + 4,
			 unic_from_le32(row[0].held));
	assert_int_equal(unic_from_le32(row[1].held), 0);
	assert_int_equal(unic_from_le32(row[0].fair_share),
			 unic_share_fair(&r.nic.share, 0));
	/* from process 1 on */
	assert_int_equal(dump(UNIC_TABLE_PROC, 1, (const void **)&row, &next),
			 1);
	assert_int_equal(unic_from_le32(row[0].proc), 1);
	assert_int_equal(unic_from_le32(row[0].wanted), 0);
	assert_int_equal(rig_reg(&r, 1, rig_pd(&r, 1), UNIC_TLB_ENTRIES - 6,
				 UNIC_CLASS_RDMA, UNIC_REG_WAIT, 0, &mr),
			 UNIC_ST_PENDING);
	dump(UNIC_TABLE_PROC, 1, (const void **)&row, &next);
	assert_int_equal(unic_from_le32(row[0].wanted), UNIC_TLB_ENTRIES - 6);
}

/* A table with more rows than fit a page: each dump goes on at @next of the one
 * before. */
static void pages_of_rows(void **state)
{
	const struct unic_row_tlb *row;
	const uint32_t room = UNIC_LIST_BYTES / UNIC_ROW_BYTES;
	uint32_t pd = rig_pd(&r, 0), seen = 0, first = 0, n, want = 0;
	struct rig_mr mr;

	(void)state;
	while (want < 2 * room &&
	       !rig_reg(&r, 0, pd, 16, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mr))
		want += 16;
	do {
		n = dump(UNIC_TABLE_TLB, first, (const void **)&row, &first);
		assert_true(n <= room && (n == room || !first));
		seen += n;
	} while (first);
	assert_int_equal(seen, want);
}

static void no_such_table(void **state)
{
	struct unic_cmd_dump cmd = { .table = unic_to_le32(99) };

	(void)state;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &cmd, NULL),
			 UNIC_ST_INVALID);
	cmd = (struct unic_cmd_dump){ .table = unic_to_le32(UNIC_TABLE_MR),
				      .first = unic_to_le32(UNIC_MRS) };
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &cmd, NULL),
			 UNIC_ST_INVALID);
	cmd = (struct unic_cmd_dump){ .table = unic_to_le32(UNIC_TABLE_MR),
				      .first = unic_to_le32(UNIC_MRS - 1) };
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &cmd, NULL), UNIC_ST_OK);
}

/* Notices that are open count for the process that has them. */
static void notices_of_processes(void **state)
{
	const struct unic_row_proc *row;
	uint32_t next, i;

	(void)state;
	for (i = 0; i < 3; i++) {
		r.nic.notices.notice[i].state = UNIC_NOTICE_SENT;
		r.nic.notices.notice[i].owner = i == 2;
	}
	dump(UNIC_TABLE_PROC, 0, (const void **)&row, &next);
	assert_int_equal(unic_from_le32(row[0].notices), 2);
	assert_int_equal(unic_from_le32(row[1].notices), 1);
	for (i = 0; i < 3; i++)
		r.nic.notices.notice[i].state = UNIC_NOTICE_FREE;
}

static uint32_t crc32(const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint32_t crc = ~0u, bit;

	for (; n; n--, p++)
		for (crc ^= *p, bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	return ~crc;
}

/* What a NIC that crashes says of its tables: of these, at this moment. */
static void sums_of_a_crash(void **state)
{
	struct unic_crash before = { 0 }, after = { 0 };
	uint32_t i, same = 0;

	(void)state;
	assert_int_equal(crc32("123456789", 9), 0xcbf43926u);
	unic_dump_crash(&r.nic.command, &before);
	assert_int_equal(unic_from_le32(before.epoch), r.nic.epoch);
	assert_int_equal(unic_from_le32(before.trace_seq), r.nic.trace.seq);
	assert_int_equal(unic_from_le32(before.table_sum[0]),
			 crc32(&r.nic.tlb, sizeof(r.nic.tlb)));
	assert_int_equal(unic_from_le32(before.table_sum[6]),
			 crc32(&r.nic.evict, sizeof(r.nic.evict)));
	assert_int_equal(unic_from_le32(before.table_sum[7]), 0);
	r.nic.mrs.mr[0].gen++;
	unic_dump_crash(&r.nic.command, &after);
	r.nic.mrs.mr[0].gen--;
	for (i = 0; i < 8; i++)
		same += before.table_sum[i] == after.table_sum[i];
	assert_int_equal(same, 7);
	assert_true(before.table_sum[1] != after.table_sum[1]);
}

/* A number of an error that there is none of. */
static void errors_without_a_status(void **state)
{
	(void)state;
	assert_int_equal(unic_err_status(-UNIC_EPD), UNIC_ST_NO_PD);
	assert_int_equal(unic_err_status(-(int)UNIC_ERR_COUNT), UNIC_ST_FAILED);
	assert_int_equal(unic_err_status(1), UNIC_ST_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(wild_tail_is_counted_once, up),
		cmocka_unit_test_setup(lost_interrupts, up),
		cmocka_unit_test_setup(times_have_bounds, up),
		cmocka_unit_test_setup(grace_of_nothing, up),
		cmocka_unit_test_setup(idle_time_has_bounds, up),
		cmocka_unit_test_setup(weight_of_pain_has_bounds, up),
		cmocka_unit_test_setup(watermarks_have_bounds, up),
		cmocka_unit_test_setup(addresses_of_hosts_only, up),
		cmocka_unit_test_setup(only_the_rest_is_zero, up),
		cmocka_unit_test_setup(longest_list, up),
		cmocka_unit_test_setup(facts, up),
		cmocka_unit_test_setup(heartbeat, up),
		cmocka_unit_test_setup(row_of_a_region, up),
		cmocka_unit_test_setup(row_of_a_token, up),
		cmocka_unit_test_setup(rows_of_processes, up),
		cmocka_unit_test_setup(notices_of_processes, up),
		cmocka_unit_test_setup(sums_of_a_crash, up),
		cmocka_unit_test_setup(errors_without_a_status, up),
		cmocka_unit_test_setup(pages_of_rows, up),
		cmocka_unit_test_setup(no_such_table, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

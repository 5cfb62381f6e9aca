/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_limits.c - the last value that is allowed and the first that is not;
 * times to the nanosecond; numbers that wrap; a reset leaves nothing behind.
 */
#include "unit.h"

#include "memory/access.h"
#include "rig.h"
#include "unic_stats.h"

#define US 1000ull
#define MS 1000000ull

static struct rig r, peer;
static uint32_t pd;

static int up(void **state)
{
	(void)state;
	rig_up(&r, 1);
	rig_up(&peer, 2);
	fake_wire(&r.port, &peer.port);
	rig_attach(&r, 0, 1);
	rig_attach(&r, 1, 1);
	pd = rig_pd(&r, 0);
	return 0;
}

static const struct unic_info *info(void)
{
	return (const struct unic_info *)(r.port.bar + UNIC_BAR_INFO_OFF);
}

/* ------------------------------------------------------------- registration */

static uint8_t reg(uint64_t iova, uint64_t length, uint8_t residency,
		   uint8_t rsvd)
{
	uint64_t *list =
		(uint64_t *)(r.port.bar + UNIC_BAR_LIST_OFF +
			     r.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_RDMA,
		.residency = residency,
		.page_shift = 12,
		.iova = unic_to_le64(iova),
		.length = unic_to_le64(length),
		.n_pages = unic_to_le32(1),
		.flags = UNIC_REG_LIST,
		.rsvd = unic_to_le32(rsvd),
	};

	list[0] = UNIC_BUS(0, 4 * 4096);
	return rig_cmd(&r, UNIC_CMD_MR_REG, &cmd, NULL);
}

static void regions(void **state)
{
	(void)state;
	assert_int_equal(reg(0x1000, 1, 0, 0), UNIC_ST_OK);
	assert_int_equal(reg(0x1fff, 1, 0, 0), UNIC_ST_OK);
	assert_int_equal(reg(0x1000, 4096, 0, 0), UNIC_ST_OK);
	assert_int_equal(reg(0x1001, 4096, 0, 0), UNIC_ST_INVALID);
	assert_int_equal(reg(0x1000, 0, 0, 0), UNIC_ST_INVALID);
	assert_int_equal(reg(UINT64_MAX - 4095, 4096, 0, 0), UNIC_ST_OK);
	assert_int_equal(reg(UINT64_MAX, 1, 0, 0), UNIC_ST_OK);
	assert_int_equal(reg(UINT64_MAX, 2, 0, 0), UNIC_ST_INVALID);
	assert_int_equal(reg(0x1000, 1, 1, 0), UNIC_ST_INVALID);
	assert_int_equal(reg(0x1000, 1, 0, 1), UNIC_ST_INVALID);
}

static uint8_t pd_cmd(uint8_t opcode, uint32_t proc, uint32_t which)
{
	struct unic_cmd_pd cmd = { .proc = unic_to_le32(proc),
				   .pd = unic_to_le32(which) };

	return rig_cmd(&r, opcode, &cmd, NULL);
}

static void domains(void **state)
{
	(void)state;
	assert_int_equal(pd_cmd(UNIC_CMD_PD_ALLOC, UNIC_PROCS, 0),
			 UNIC_ST_NO_PROC);
	assert_int_equal(pd_cmd(UNIC_CMD_PD_ALLOC, 2, 0), UNIC_ST_NO_PROC);
	assert_int_equal(pd_cmd(UNIC_CMD_PD_FREE, UNIC_PROCS, pd),
			 UNIC_ST_NO_PD);
	assert_int_equal(pd_cmd(UNIC_CMD_PD_FREE, UINT32_MAX, pd + 1),
			 UNIC_ST_NO_PD);
	/* the number that marks a free domain is no process */
	assert_int_equal(pd_cmd(UNIC_CMD_PD_FREE, 0xffff, pd + 1),
			 UNIC_ST_NO_PD);
	assert_int_equal(pd_cmd(UNIC_CMD_PD_FREE, 0, UNIC_PDS), UNIC_ST_NO_PD);
	assert_int_equal(pd_cmd(UNIC_CMD_PD_FREE, 1, pd), UNIC_ST_NO_PD);
	assert_int_equal(pd_cmd(UNIC_CMD_PD_FREE, 0, pd), UNIC_ST_OK);
	assert_int_equal(pd_cmd(UNIC_CMD_PD_FREE, 0, pd), UNIC_ST_NO_PD);
}

/* -------------------------------------------------------------------- rings */

static uint8_t make_cq(const struct rig_mr *mr, uint32_t row, uint32_t entries,
		       uint32_t *id)
{
	struct unic_cmd_cq_create cmd = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova),
		.entries = unic_to_le32(entries),
		.db_index = unic_to_le32(row),
	};
	struct unic_cpl_obj cpl;
	uint8_t status = rig_cmd(&r, UNIC_CMD_CQ_CREATE, &cmd, &cpl);

	*id = unic_from_le32(cpl.id);
	return status;
}

static uint8_t make_qp(const struct rig_mr *mr, uint32_t cq, uint32_t row,
		       uint32_t sq_slots, uint32_t rq_slots)
{
	struct unic_cmd_qp_create cmd = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(mr->stag),
		.sq_slots = unic_to_le16((uint16_t)sq_slots),
		.rq_slots = unic_to_le16((uint16_t)rq_slots),
		.send_cq = unic_to_le32(cq),
		.recv_cq = unic_to_le32(cq),
		.db_index = unic_to_le32(row),
		.sq_iova = unic_to_le64(mr->iova),
		.rq_iova = unic_to_le64(mr->iova + 4096),
	};

	return rig_cmd(&r, UNIC_CMD_QP_CREATE, &cmd, NULL);
}

static void rings(void **state)
{
	static const uint32_t bad[] = { 0, 1, 3, 5, 6, 7, 12, 48, 0xffff };
	struct rig_mr mr, small;
	uint32_t i, cq, id;

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd, 3, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	assert_int_equal(rig_reg(&r, 0, pd, 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &small),
			 0);
	assert_int_equal(make_cq(&mr, 0, 2, &cq), UNIC_ST_OK);
	assert_int_equal(make_cq(&mr, 1, 4, &id), UNIC_ST_OK);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(make_cq(&mr, 2, bad[i], &id), UNIC_ST_INVALID);
		assert_int_equal(make_qp(&mr, cq, 2, bad[i], 16),
				 UNIC_ST_INVALID);
		assert_int_equal(make_qp(&mr, cq, 2, 16, bad[i]),
				 UNIC_ST_INVALID);
	}
	/* the receive ring would begin where the region ends */
	assert_int_equal(make_qp(&small, cq, 2, 16, 16), UNIC_ST_BOUNDS);
	assert_int_equal(make_qp(&mr, cq, 0, 2, 2), UNIC_ST_OK);
	assert_int_equal(make_qp(&mr, cq, 1, 4, 2), UNIC_ST_OK);
}

/* ----------------------------------------------------------- doorbell pages */

static uint8_t attach_at(uint32_t proc, uint64_t bus)
{
	struct unic_cmd_proc_attach cmd = {
		.proc = unic_to_le32(proc),
		.weight = unic_to_le32(1),
		.policy = unic_to_le32(UNIC_POLICY_LRU),
		.host_pid = unic_to_le32(4711),
		.doorbell = unic_to_le64(bus),
	};

	return rig_cmd(&r, UNIC_CMD_PROC_ATTACH, &cmd, NULL);
}

static void doorbell_pages(void **state)
{
	struct unic_cmd_dump cmd = { .table = unic_to_le32(UNIC_TABLE_PROC),
				     .first = unic_to_le32(2) };
	const struct unic_row_proc *row;

	(void)state;
	assert_int_equal(attach_at(2, UNIC_BUS(1, 0)), UNIC_ST_BUSY);
	assert_int_equal(attach_at(2, UNIC_BUS(1, 4096)), UNIC_ST_BUSY);
	/* the page before the window of process 1 is in that of process 0 */
	assert_int_equal(attach_at(2, UNIC_BUS(0, FAKE_WINDOW_BYTES - 4096)),
			 UNIC_ST_BUS);
	assert_int_equal(attach_at(2, UNIC_BUS(1, 2048)), UNIC_ST_INVALID);
	assert_int_equal(attach_at(2, UNIC_BUS(1, 8193)), UNIC_ST_INVALID);
	assert_int_equal(attach_at(UNIC_PROCS, UNIC_BUS(1, 8192)),
			 UNIC_ST_INVALID);
	assert_int_equal(attach_at(2, UNIC_BUS(1, 8192)), UNIC_ST_OK);
	row = (const void *)(r.port.bar + UNIC_BAR_LIST_OFF +
			     r.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &cmd, NULL), 0);
	assert_int_equal(unic_from_le32(row->proc), 2);
	assert_int_equal(unic_from_le32(row->host_pid), 4711);
	assert_int_equal(unic_from_le32(row->policy), UNIC_POLICY_LRU);
}

/* PROC_SET changes what it does not keep, and a field that is kept has no value. */
static void kept_fields_stay(void **state)
{
	static const struct {
		uint32_t weight, quota, policy, keep;
		uint8_t status;
		uint32_t is[3]; /* weight, quota, policy afterwards */
	} steps[] = {
		{ 5, 20, UNIC_POLICY_LRU, 0, UNIC_ST_OK, { 5, 20, 2 } },
		{ 0,
		  0,
		  UNIC_POLICY_APP,
		  UNIC_PROC_KEEP_WEIGHT | UNIC_PROC_KEEP_QUOTA,
		  UNIC_ST_OK,
		  { 5, 20, 4 } },
		{ 7,
		  0,
		  0,
		  UNIC_PROC_KEEP_QUOTA | UNIC_PROC_KEEP_POLICY,
		  UNIC_ST_OK,
		  { 7, 20, 4 } },
		{ 0,
		  0,
		  0,
		  UNIC_PROC_KEEP_WEIGHT | UNIC_PROC_KEEP_POLICY,
		  UNIC_ST_OK,
		  { 7, 0, 4 } },
		{ 0, 0, 0, UNIC_PROC_KEEP_ALL, UNIC_ST_OK, { 7, 0, 4 } },
		{ 0,
		  0,
		  0,
		  UNIC_PROC_KEEP_ALL + 1,
		  UNIC_ST_INVALID,
		  { 7, 0, 4 } },
		{ 1, 0, 0, UNIC_PROC_KEEP_ALL, UNIC_ST_INVALID, { 7, 0, 4 } },
		{ 0, 1, 0, UNIC_PROC_KEEP_ALL, UNIC_ST_INVALID, { 7, 0, 4 } },
		{ 0, 0, 1, UNIC_PROC_KEEP_ALL, UNIC_ST_INVALID, { 7, 0, 4 } },
		{ 0,
		  0,
		  UNIC_POLICIES,
		  UNIC_PROC_KEEP_WEIGHT | UNIC_PROC_KEEP_QUOTA,
		  UNIC_ST_INVALID,
		  { 7, 0, 4 } },
		{ 0, 0, 0, 0, UNIC_ST_INVALID, { 7, 0, 4 } },
	};
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct unic_cmd_proc_set c = {
			.proc = unic_to_le32(0),
			.weight = unic_to_le32(steps[i].weight),
			.quota = unic_to_le32(steps[i].quota),
			.policy = unic_to_le32(steps[i].policy),
			.keep = unic_to_le32(steps[i].keep),
		};

		assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_SET, &c, NULL),
				 steps[i].status);
		assert_int_equal(r.nic.share.owner[0].weight, steps[i].is[0]);
		assert_int_equal(r.nic.share.owner[0].quota, steps[i].is[1]);
		assert_int_equal(r.nic.procs.proc[0].policy, steps[i].is[2]);
	}
}

static void doorbell_pages_before_others(void **state)
{
	(void)state;
	rig_up(&r, 1);
	assert_int_equal(attach_at(0, UNIC_BUS(0, 8192)), UNIC_ST_OK);
	assert_int_equal(attach_at(1, UNIC_BUS(0, 4096)), UNIC_ST_BUSY);
	assert_int_equal(attach_at(1, UNIC_BUS(0, 0)), UNIC_ST_OK);
	assert_int_equal(attach_at(2, UNIC_BUS(0, 16384)), UNIC_ST_OK);
}

/* -------------------------------------------------------------------- facts */

static uint32_t path_mtu(uint32_t max_frame)
{
	fake_port_init(&r.port, 1);
	r.port.max_frame = max_frame;
	unic_nic_init(&r.nic, &r.port);
	assert_int_equal(unic_from_le32(info()->max_frame), max_frame);
	return unic_from_le32(info()->path_mtu);
}

/* The longest headers and the ICRC take 82 bytes of a frame. */
static void mtu_of_a_link(void **state)
{
	uint32_t mtu;

	(void)state;
	for (mtu = 256; mtu < 4096; mtu *= 2) {
		assert_int_equal(path_mtu(mtu + 82), mtu);
		assert_int_equal(path_mtu(mtu + 81), mtu > 256 ? mtu / 2 : 0);
		assert_int_equal(path_mtu(2 * mtu + 81), mtu);
	}
	assert_int_equal(path_mtu(4096 + 82), 4096);
	assert_int_equal(path_mtu(9000), 4096);
}

/* Without a link, or with one too short for 256 bytes, there is no path MTU. */
static void no_mtu_without_a_link(void **state)
{
	static const uint32_t too_short[] = { 1, 81, 82, 128 + 82, 255 + 82 };
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(too_short) / sizeof(too_short[0]); i++)
		assert_int_equal(path_mtu(too_short[i]), 0);
	fake_port_init(&r.port, 1);
	r.port.no_link = true;
	unic_nic_init(&r.nic, &r.port);
	assert_int_equal(unic_from_le32(info()->max_frame), 0);
	assert_int_equal(unic_from_le32(info()->path_mtu), 0);
}

static void usage(void **state)
{
	const struct unic_info *info = (const void *)r.port.bar;
	struct unic_cmd_obj cmd = { .id = unic_to_le32(1) };
	struct unic_cmd_set_params times = {
		.grace_us = unic_to_le32(30000),
		.deliver_us = unic_to_le32(5000),
		.reaper_us = unic_to_le32(700),
	};
	struct unic_cpl_usage u;
	struct rig_mr mr;
	uint32_t before;

	(void)state;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_QUERY_USAGE, &cmd, &u), 0);
	assert_int_equal(unic_from_le16(u.top_proc[0]), 0xffff);
	before = unic_from_le32(u.bound_us);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &times, NULL), 0);
	rig_reg(&r, 0, pd, 3, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mr);
	rig_reg(&r, 1, rig_pd(&r, 1), 5, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
		&mr);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_QUERY_USAGE, &cmd, &u), 0);
	assert_int_equal(unic_from_le32(u.used), 8);
	assert_int_equal(unic_from_le32(u.limit), UNIC_TLB_ENTRIES);
	assert_int_equal(unic_from_le32(u.holding), 5);
	assert_int_equal(unic_from_le32(u.fair_share), UNIC_TLB_ENTRIES / 2);
	assert_int_equal(unic_from_le32(u.borrowed), 0);
	assert_int_equal(unic_from_le16(u.top_proc[0]), 1);
	assert_int_equal(unic_from_le16(u.top_proc[1]), 0);
	assert_int_equal(unic_from_le16(u.top_proc[2]), 0xffff);
	assert_int_equal(unic_from_le32(u.top_held[0]), 5);
	assert_int_equal(unic_from_le32(u.top_held[1]), 3);
	assert_int_equal(unic_from_le32(u.top_held[2]), 0);
	/* B = H + T + reaper period + drain bound; readable by every process */
	assert_int_equal(unic_from_le32(u.bound_us),
			 35700 + unic_from_le32(info->drain_us));
	assert_int_equal(before, 71000 + unic_from_le32(info->drain_us));
	assert_int_equal(unic_from_le32(info->grace_us), 30000);
	assert_int_equal(unic_from_le32(info->deliver_us), 5000);
	assert_int_equal(unic_from_le32(info->reaper_us), 700);
	cmd.id = unic_to_le32(UNIC_PROCS);
	assert_int_not_equal(rig_cmd(&r, UNIC_CMD_QUERY_USAGE, &cmd, &u), 0);
	/* of two that hold as many the lower process number is first */
	rig_reg(&r, 0, pd, 2, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mr);
	cmd.id = unic_to_le32(0);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_QUERY_USAGE, &cmd, &u), 0);
	assert_int_equal(unic_from_le16(u.top_proc[0]), 0);
	assert_int_equal(unic_from_le16(u.top_proc[1]), 1);
}

static uint32_t evictable(uint32_t proc)
{
	struct unic_cmd_obj cmd = { .id = unic_to_le32(proc) };
	struct unic_cpl_usage u;

	assert_int_equal(rig_cmd(&r, UNIC_CMD_QUERY_USAGE, &cmd, &u), 0);
	return unic_from_le16(u.evictable);
}

/* What could be had back from a process now: neither its queues, nor what is on its way
 * back already; pages that are only cached, too. */
static void usage_says_what_can_be_taken(void **state)
{
	struct rig_mr mr, taken, cached;
	struct unic_xlate piece;
	struct unic_cmd_mr evict;

	(void)state;
	assert_true(unic_from_le64(info()->features) & UNIC_FEAT_EVICTABLE);
	assert_int_equal(evictable(0), 0);
	rig_reg(&r, 0, pd, 3, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mr);
	rig_reg(&r, 0, pd, 5, UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0, &mr);
	rig_reg(&r, 0, pd, 2, UNIC_CLASS_CONTROL, UNIC_REG_LIST, 0, &mr);
	rig_reg(&r, 1, rig_pd(&r, 1), 7, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
		&mr);
	assert_int_equal(evictable(0), 8);
	rig_reg(&r, 0, pd, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &taken);
	assert_int_equal(evictable(0), 12);
	evict = (struct unic_cmd_mr){ .mr = unic_to_le32(taken.mr),
				      .gen = unic_to_le32(taken.gen) };
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	assert_int_equal(evictable(0), 8);
	rig_table(&r, 0, 0, 8);
	assert_int_equal(rig_reg_cached(&r, pd, 1, UNIC_TABLE, 0, &cached), 0);
	assert_int_equal(evictable(0), 8);
	assert_int_equal(unic_access(&r.nic.memory, cached.stag, (uint16_t)pd,
				     0, cached.iova, 8, &piece),
			 0);
	assert_int_equal(evictable(0), 9);
	assert_int_equal(evictable(1), 7);
}

/* A refused registration answers with the usage: the table that is full, its
 * contents, its owners, the waits. */
static void refusal_says_why(void **state)
{
	const uint32_t n = UNIC_TLB_ENTRIES;
	struct unic_cmd_proc_set quota = { .proc = unic_to_le32(1),
					   .weight = unic_to_le32(1),
					   .quota = unic_to_le32(n - 3) };
	struct unic_cmd_mr_reg cmd = { .page_shift = 12,
				       .length = unic_to_le64(4 * 4096),
				       .n_pages = unic_to_le32(4) };
	struct unic_cpl_usage u;
	struct rig_mr mr;
	uint32_t pd1 = rig_pd(&r, 1);

	(void)state;
	cmd.pd = unic_to_le32(pd1);
	rig_reg(&r, 1, pd1, n - 4, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mr);
	rig_reg(&r, 0, pd, 3, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mr);
	assert_int_equal(rig_reg(&r, 0, pd, 8, UNIC_CLASS_RDMA, UNIC_REG_WAIT,
				 0, &mr),
			 UNIC_ST_PENDING);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_REG, &cmd, &u),
			 UNIC_ST_TLB_FULL);
	assert_int_equal(unic_from_le32(u.table), UNIC_TABLE_TLB);
	assert_int_equal(unic_from_le32(u.used), n - 1);
	assert_int_equal(unic_from_le32(u.limit), n);
	assert_int_equal(unic_from_le32(u.holding), n - 4);
	assert_int_equal(unic_from_le32(u.fair_share), n / 2);
	assert_int_equal(unic_from_le32(u.borrowed), n - 4 - n / 2);
	assert_int_equal(unic_from_le32(u.waiters), 1);
	assert_int_equal(unic_from_le32(u.quota), 0);
	assert_int_equal(unic_from_le16(u.top_proc[0]), 1);
	assert_int_equal(unic_from_le32(u.top_held[0]), n - 4);
	assert_int_equal(unic_from_le16(u.top_proc[1]), 0);
	assert_int_equal(unic_from_le32(u.top_held[1]), 3);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_SET, &quota, NULL), 0);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_REG, &cmd, &u), UNIC_ST_QUOTA);
	assert_int_equal(unic_from_le32(u.quota), n - 3);
	assert_int_equal(unic_from_le32(u.holding), n - 4);
}

/* The last trace record of @code. */
static const struct unic_trace_rec *traced(uint32_t code)
{
	const struct unic_trace_rec *ring =
		(const void *)(r.port.bar + UNIC_BAR_TRACE_OFF);
	const struct unic_trace_rec *last = NULL;
	uint32_t i;

	for (i = 0; i < UNIC_TRACE_ENTRIES; i++)
		if (unic_from_le32(ring[i].seq) == i + 1 &&
		    unic_from_le16(ring[i].code) == code)
			last = &ring[i];
	assert_non_null(last);
	return last;
}

/* A NIC that starts leaves no event of the one that was on the bus before. */
static void trace_starts_empty(void **state)
{
	struct unic_trace_rec *ring = (void *)(r.port.bar + UNIC_BAR_TRACE_OFF);
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_TRACE_ENTRIES; i++)
		ring[i].seq = unic_to_le32(i + 1);
	unic_nic_init(&r.nic, &r.port);
	for (i = 0; i < UNIC_TRACE_ENTRIES; i++)
		assert_int_equal(unic_from_le32(ring[i].seq), 0);
}

static void trace_records(void **state)
{
	const struct unic_trace_rec *t;
	struct rig_mr mr;

	(void)state;
	r.port.now_ns += 12345;
	assert_int_equal(rig_reg(&r, 0, pd, 3, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	t = traced(UNIC_T_MR_REG);
	assert_int_equal(unic_from_le64(t->time_ns), r.port.now_ns);
	assert_int_equal(unic_from_le16(t->proc), 0);
	assert_int_equal(unic_from_le32(t->arg[0]), mr.mr);
	assert_int_equal(unic_from_le32(t->arg[1]), mr.gen);
	assert_int_equal(unic_from_le32(t->arg[2]), mr.stag);
	assert_int_equal(unic_from_le32(t->arg[3]), 3);
	t = traced(UNIC_T_CMD);
	assert_int_equal(unic_from_le16(t->proc), 0xffff);
	assert_int_equal(unic_from_le32(t->arg[0]), UNIC_CMD_MR_REG);
	assert_int_equal(unic_from_le32(t->arg[1]), r.cookie);
	assert_int_equal(unic_from_le32(t->arg[2]), UNIC_ST_OK);
	t = traced(UNIC_T_PROC_ATTACH);
	assert_int_equal(unic_from_le16(t->proc), 1);
	assert_int_equal(unic_from_le32(t->arg[1]), 1);
}

/* The trace of a release has the rest of the grace, in microseconds. */
static void trace_of_a_release(void **state)
{
	struct unic_cmd_mr evict = { 0 };
	const struct unic_trace_rec *t;
	struct unic_evt_mr notice;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd, 3, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	evict.mr = unic_to_le32(mr.mr);
	evict.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(rig_ack(&r, &notice), 0);
	rig_run(&r, 5 * MS);
	rig_answer(&r, &notice, UNIC_ANSWER_RELEASE, NULL, 0, NULL);
	t = traced(UNIC_T_RELEASE);
	assert_int_equal(unic_from_le32(t->arg[1]), mr.mr);
	assert_int_equal(unic_from_le32(t->arg[2]),
			 unic_from_le32(notice.grace_us) - 5000);
}

/* A failed NIC answers queries and dumps its tables; it refuses all other
 * commands. */
static void failed_nic_answers(void **state)
{
	struct unic_cmd_dump dump = { .table = unic_to_le32(UNIC_TABLE_MR) };
	struct unic_cmd_nop nop = { .data = unic_to_le64(7) };

	(void)state;
	unic_nic_quiesce(&r.nic);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_NOP, &nop, NULL), UNIC_ST_OK);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DUMP, &dump, NULL), UNIC_ST_OK);
	assert_int_equal(pd_cmd(UNIC_CMD_PD_ALLOC, 0, 0), UNIC_ST_FAILED);
	assert_int_equal(reg(0x1000, 1, 0, 0), UNIC_ST_FAILED);
}

/* --------------------------------------------------------------------- time */

static uint64_t asked_at[16];
static uint32_t asked;

static void note_time(struct unic_port *port, const uint8_t *f, uint32_t len,
		      uint32_t flags)
{
	(void)f;
	(void)len;
	(void)flags;
	if (asked < 16)
		asked_at[asked++] = port->now_ns;
}

static uint8_t resolve(void)
{
	struct unic_cmd_arp cmd = { .ipv4 = unic_to_le32(0x0a000002) };

	return rig_cmd(&r, UNIC_CMD_ARP_RESOLVE, &cmd, NULL);
}

/* ARP requests are repeated to the nanosecond: rig_poll() returns when the NIC
 * has to be polled for the next. */
static void questions_are_regular(void **state)
{
	uint64_t start;
	uint32_t i;

	(void)state;
	asked = 0;
	r.port.on_frame = note_time;
	r.port.now_ns += 1234567;
	start = r.port.now_ns;
	assert_int_equal(resolve(), UNIC_ST_PENDING);
	assert_in_range(rig_poll(&r), start, start + UNIC_ARP_RETRY_NS);
	rig_run(&r, 2 * UNIC_ARP_GIVE_UP_NS);
	assert_int_equal(asked, 10);
	for (i = 0; i < asked; i++)
		assert_int_equal(asked_at[i], start + i * UNIC_ARP_RETRY_NS);
}

/* An ARP result that finds the event ring full is sent soon after there is
 * room. */
static void answer_waits_for_room(void **state)
{
	struct unic_evt_obj fill = { .hdr.type = UNIC_EVT_QP_ERROR };
	uint8_t evt[64];
	uint32_t told = 0;

	(void)state;
	while (unic_mbox_event(&r.nic.base, &fill))
		fill.hdr.type = UNIC_EVT_QP_ERROR;
	assert_int_equal(resolve(), UNIC_ST_PENDING);
	rig_run2(&r, &peer, 50 * US);
	while (rig_event(&r, evt))
		assert_int_equal(((struct unic_evt_hdr *)evt)->type,
				 UNIC_EVT_QP_ERROR);
	rig_run2(&r, &peer, UNIC_ARP_RETRY_NS / 100);
	while (rig_event(&r, evt))
		told += ((struct unic_evt_hdr *)evt)->type ==
			UNIC_EVT_ARP_RESULT;
	assert_int_equal(told, 1);
	assert_int_equal(resolve(), UNIC_ST_OK);
}

static void token_for_us(const struct rig_mr *mr, uint32_t ttl_us)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova),
		.length = unic_to_le32(64),
		.ttl_us = unic_to_le32(ttl_us),
	};

	assert_int_equal(rig_cmd(&r, UNIC_CMD_TOKEN_ALLOC, &cmd, NULL), 0);
}

static uint32_t tokens_ended(void)
{
	struct unic_evt_hdr hdr[64 / sizeof(struct unic_evt_hdr)];
	uint32_t n = 0;

	while (rig_event(&r, hdr))
		n += hdr->type == UNIC_EVT_TOKEN_END;
	return n;
}

/* Each token ends at its own time, in whatever order they were made. */
static void tokens_end_in_time(void **state)
{
	static const uint32_t ttl_us[] = { 3000, 900, 5000, 7000, 4000 };
	static const uint32_t ends_us[] = { 900, 3000, 4000, 5000, 7000 };
	struct rig_mr mr;
	uint64_t start;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	for (i = 0; i < 5; i++)
		token_for_us(&mr, ttl_us[i]);
	start = r.port.now_ns;
	for (i = 0; i < 5; i++) {
		rig_run(&r, start + ends_us[i] * US - 1 - r.port.now_ns);
		assert_int_equal(tokens_ended(), 0);
		rig_run(&r, 1);
		assert_int_equal(tokens_ended(), 1);
	}
}

/* The event of a second bad doorbell comes a second after the first, not
 * sooner. */
static void bad_doorbells_are_told_in_time(void **state)
{
	struct unic_cmd_db_ack ack = { .proc = 0 };
	struct unic_evt_obj evt;

	(void)state;
	rig_ring(&r, 0, UNIC_DB_RQ, 9, 1);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_DB_ERROR, &evt);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_DB_ACK, &ack, NULL), 0);
	rig_ring(&r, 0, UNIC_DB_SQ, 8, 1);
	rig_run(&r, UNIC_DB_ERROR_US * US - 1);
	assert_false(rig_event(&r, &evt));
	rig_run(&r, 1);
	rig_expect(&r, UNIC_EVT_DB_ERROR, &evt);
	assert_int_equal(unic_from_le32(evt.id),
			 UNIC_DB_WORD(UNIC_DB_SQ, 8, 0));
}

/* ------------------------------------------------------------- numbers wrap */

/* 0 is no sequence number of a notice, and no number of a wait. */
static void numbers_skip_zero(void **state)
{
	struct unic_cmd_mr evict = { 0 };
	struct unic_evt_mr notice;
	struct rig_mr mr, all;

	(void)state;
	r.nic.notices.next_seq = UINT32_MAX;
	r.nic.admission.wait_seq = UINT32_MAX;
	assert_int_equal(rig_reg(&r, 0, pd, 60, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &all),
			 0);
	assert_int_equal(rig_reg(&r, 0, pd, 8, UNIC_CLASS_RDMA, UNIC_REG_WAIT,
				 0, &mr),
			 UNIC_ST_PENDING);
	assert_int_equal(mr.wait, 1);
	evict.mr = unic_to_le32(all.mr);
	evict.gen = unic_to_le32(all.gen);
	rig_cmd(&r, UNIC_CMD_MR_EVICT, &evict, NULL);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(unic_from_le32(notice.seq), 1);
}

static void epochs(void **state)
{
	uint32_t epoch = r.nic.epoch;

	(void)state;
	rig_reset(&r);
	assert_int_equal(r.nic.epoch, epoch + 1);
	r.nic.epoch = UINT32_MAX - 1;
	rig_reset(&r);
	assert_int_equal(r.nic.epoch, UINT32_MAX);
	rig_reset(&r);
	assert_int_equal(r.nic.epoch, 1);
	rig_reset(&r);
	assert_int_equal(r.nic.epoch, 2);
}

/* Weights are relative: with large ones the NIC finds the hoarder, too. */
static void weights_above_all_entries(void **state)
{
	static const uint32_t weight[] = { 1, 64, 1000, 65535 };
	struct unic_evt_mr notice;
	struct rig_mr all, mr;
	uint32_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		rig_up(&r, 1);
		rig_attach(&r, 0, weight[i]);
		rig_attach(&r, 1, weight[i]);
		assert_int_equal(rig_reg(&r, 0, rig_pd(&r, 0), 60,
					 UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
					 &all),
				 0);
		assert_int_equal(rig_reg(&r, 1, rig_pd(&r, 1), 8,
					 UNIC_CLASS_RDMA, UNIC_REG_WAIT, 0,
					 &mr),
				 UNIC_ST_PENDING);
		rig_run(&r, 20 * MS);
		rig_expect(&r, UNIC_EVT_NOTICE, &notice);
		assert_int_equal(unic_from_le32(notice.mr), all.mr);
	}
}

/* An answer to a notice that does not exist fails, without a deadline. */
static void no_deadline_of_no_notice(void **state)
{
	struct unic_cmd_notice_answer cmd = {
		.answer = unic_to_le32(UNIC_ANSWER_RELEASE),
		.seq = unic_to_le32(1),
	};
	struct unic_cpl_notice cpl;

	(void)state;
	assert_int_not_equal(rig_cmd(&r, UNIC_CMD_NOTICE_ANSWER, &cmd, &cpl),
			     0);
	assert_true(unic_from_le64(cpl.deadline_ns) == 0);
	assert_int_equal(unic_from_le32(cpl.detail), 0);
}

/* -------------------------------------------------------------------- reset */

/* A reset clears the NIC's address and its ARP table. */
static void reset_forgets_addresses(void **state)
{
	struct unic_cmd_set_addr addr = { .ipv4 = unic_to_le32(0x0a000001) };

	(void)state;
	assert_int_equal(resolve(), UNIC_ST_PENDING);
	rig_run2(&r, &peer, MS);
	assert_int_equal(resolve(), UNIC_ST_OK);
	rig_reset(&r);
	assert_int_equal(resolve(), UNIC_ST_NO_ROUTE);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_ADDR, &addr, NULL), 0);
	assert_int_equal(resolve(), UNIC_ST_PENDING);
}

static void enter(const struct rig_qp *q, uint8_t state)
{
	struct unic_cmd_qp_modify cmd = { .qpn = unic_to_le32(q->qpn),
					  .state = state };

	assert_int_equal(rig_cmd(&r, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
}

static void take_down(const struct rig_qp *q)
{
	struct unic_db_page *db = (void *)r.port.window[0];
	struct unic_cmd_obj cmd = { .id = unic_to_le32(q->qpn) };

	rig_cmd(&r, UNIC_CMD_QP_DESTROY, &cmd, NULL);
	rig_run(&r, MS);
	cmd.id = unic_to_le32(q->cq);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_DESTROY, &cmd, NULL), 0);
	assert_int_equal(rig_dereg(&r, &q->rings), 0);
	memset(&db->tail[q->row], 0, sizeof(db->tail[0]));
}

/* New queues in the rows of former ones begin at the first record, unarmed. */
static void queues_are_new(void **state)
{
	struct unic_cqe cqe;
	struct rig_qp q;
	struct rig_mr mr;
	uint32_t i, life, rung;

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd, 1, 0, UNIC_REG_LIST, 0, &mr), 0);
	for (life = 0; life < 4; life++) {
		rig_qp(&r, 0, pd, 3, &q);
		rung = r.port.rung[1];
		for (i = 0; i < 5 + life; i++)
			rig_recv(&r, &q, i, &mr, 0, 64);
		enter(&q, UNIC_QPS_INIT);
		rig_run(&r, MS);
		assert_false(rig_cqe(&r, &q, &cqe));
		enter(&q, UNIC_QPS_ERR);
		rig_run(&r, MS);
		for (i = 0; i < 5 + life; i++) {
			assert_true(rig_cqe(&r, &q, &cqe));
			assert_int_equal(cqe.status, UNIC_WC_WR_FLUSH_ERR);
			assert_int_equal(unic_from_le64(cqe.wr_id), i);
		}
		assert_int_equal(r.port.rung[1], rung);
		rig_ring(&r, 0, UNIC_DB_ARM, 3, q.cq_ci);
		rig_poll(&r);
		take_down(&q);
	}
}

/* One life of two NICs: queues carry messages; at the end a queue is armed. */
static void live_once(struct rig *a, struct rig *b)
{
	struct unic_cqe cqe;
	struct rig_qp qa, qb;
	struct rig_mr ma, mb;
	uint32_t pa, pb, i, rung;

	rig_attach(a, 0, 1);
	rig_attach(b, 0, 1);
	pa = rig_pd(a, 0);
	pb = rig_pd(b, 0);
	rig_qp(a, 0, pa, 0, &qa);
	rig_qp(b, 0, pb, 0, &qb);
	assert_false(rig_cqe(a, &qa, &cqe));
	rig_connect(a, &qa, b, &qb);
	assert_int_equal(rig_reg(a, 0, pa, 1, 0, UNIC_REG_LIST, 0, &ma), 0);
	assert_int_equal(rig_reg(b, 0, pb, 1, 0, UNIC_REG_LIST, 0, &mb), 0);
	rung = a->port.rung[1];
	for (i = 0; i < 21; i++) {
		rig_recv(b, &qb, i, &mb, 0, 64);
		rig_send(a, &qa, UNIC_WR_SEND, i, &ma, 0, 64, 0, 0);
		rig_run2(a, b, 20 * US);
		assert_true(rig_cqe(a, &qa, &cqe) && !cqe.status);
		assert_true(rig_cqe(b, &qb, &cqe) && !cqe.status);
		assert_int_equal(unic_from_le64(cqe.wr_id), i);
	}
	assert_int_equal(a->port.rung[1], rung); /* not armed in this life */
	rig_ring(a, 0, UNIC_DB_ARM, 0, qa.cq_ci);
	rig_poll(a);
}

static void lives_are_alike(void **state)
{
	uint32_t life;

	(void)state;
	rig_up(&r, 1);
	rig_up(&peer, 2);
	fake_wire(&r.port, &peer.port);
	for (life = 0; life < 3; life++) {
		struct unic_cmd_set_addr a = { .ipv4 = unic_to_le32(
						       0x0a000001) },
					 b = { .ipv4 = unic_to_le32(
						       0x0a000002) };

		live_once(&r, &peer);
		rig_reset(&r);
		rig_reset(&peer);
		assert_int_equal(r.nic.tlb.free, UNIC_TLB_ENTRIES);
		assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_ADDR, &a, NULL), 0);
		assert_int_equal(rig_cmd(&peer, UNIC_CMD_SET_ADDR, &b, NULL),
				 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(regions, up),
		cmocka_unit_test_setup(domains, up),
		cmocka_unit_test_setup(rings, up),
		cmocka_unit_test_setup(doorbell_pages, up),
		cmocka_unit_test_setup(kept_fields_stay, up),
		cmocka_unit_test(doorbell_pages_before_others),
		cmocka_unit_test(mtu_of_a_link),
		cmocka_unit_test(no_mtu_without_a_link),
		cmocka_unit_test_setup(usage, up),
		cmocka_unit_test_setup(usage_says_what_can_be_taken, up),
		cmocka_unit_test_setup(refusal_says_why, up),
		cmocka_unit_test_setup(trace_records, up),
		cmocka_unit_test_setup(trace_starts_empty, up),
		cmocka_unit_test_setup(trace_of_a_release, up),
		cmocka_unit_test_setup(failed_nic_answers, up),
		cmocka_unit_test_setup(questions_are_regular, up),
		cmocka_unit_test_setup(answer_waits_for_room, up),
		cmocka_unit_test_setup(tokens_end_in_time, up),
		cmocka_unit_test_setup(bad_doorbells_are_told_in_time, up),
		cmocka_unit_test_setup(numbers_skip_zero, up),
		cmocka_unit_test_setup(epochs, up),
		cmocka_unit_test(weights_above_all_entries),
		cmocka_unit_test_setup(no_deadline_of_no_notice, up),
		cmocka_unit_test_setup(reset_forgets_addresses, up),
		cmocka_unit_test_setup(queues_are_new, up),
		cmocka_unit_test(lives_are_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_cache.c - regions of residency TABLE and DEMAND in the pool: the entries
 * they hold, which entries are replaced, and the events for it. Accesses are
 * made as the transport makes them, by unic_access() and unic_xlate().
 */
#include "memory/cache.h"
#include "rig.h"
#include "unit.h"
#include "memory/access.h"

#define H_NS	  50000000ull
#define SPARED_NS 2000000ull
#define FIRST	  8u /* page of the window */

static struct rig a;
static uint32_t pd0, pd1;

static int up(void **state)
{
	struct unic_cmd_set_params params = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
	};

	(void)state;
	rig_up(&a, 1);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_SET_PARAMS, &params, NULL), 0);
	rig_attach(&a, 0, 1);
	rig_attach(&a, 1, 1);
	pd0 = rig_pd(&a, 0);
	pd1 = rig_pd(&a, 1);
	return 0;
}

/* Every entry has one owner, and is counted in one account. */
static void check_books(void)
{
	const struct unic_nic *nic = &a.nic;
	uint32_t i, held = 0, cached = 0, used = 0, demand = 0;

	for (i = 0; i < UNIC_PROCS; i++) {
		held += nic->share.owner[i].held;
		cached += nic->cache.entries[i];
	}
	for (i = 0; i < UNIC_MRS; i++) {
		const struct unic_mr_ctx *mr = &nic->mrs.mr[i];

		if (mr->state == UNIC_MR_FREE || mr->state == UNIC_MR_EVICTED ||
		    !unic_mr_cached(mr))
			continue;
		assert_int_equal(mr->n_pages, mr->filled);
		used += mr->n_pages;
		if (nic->cache.of[i].demand)
			demand += mr->n_pages;
	}
	assert_int_equal(used, cached);
	assert_int_equal(cached, nic->cache.all_entries);
	assert_int_equal(demand, nic->cache.demand);
	assert_int_equal(held + nic->tlb.free, UNIC_TLB_ENTRIES);
}

static int down(void **state)
{
	(void)state;
	check_books();
	return 0;
}

static void table(uint32_t proc, uint32_t pages)
{
	uint32_t i;

	for (i = 0; i < pages; i++)
		rig_table(&a, i, proc, FIRST + i % 64);
}

static int touch(const struct rig_mr *mr, uint32_t pd, uint32_t page,
		 uint32_t len, struct unic_xlate *out)
{
	return unic_access(&a.nic.memory, mr->stag, (uint16_t)pd, 0,
			   mr->iova + page * 4096ull, len, out);
}

static void is_page(const struct unic_xlate *p, uint32_t page)
{
	assert_int_equal(p->bus, UNIC_BUS(0, (FIRST + page % 64) * 4096ull));
}

static void table_miss_is_served_at_once(void **state)
{
	struct unic_xlate p;
	struct rig_mr mr;

	(void)state;
	table(0, 16);
	assert_int_equal(rig_reg_cached(&a, pd0, 16, UNIC_TABLE, 0, &mr), 0);
	assert_int_equal(a.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(touch(&mr, pd0, 3, 8, &p), 0);
	is_page(&p, 3);
	assert_int_equal(a.nic.share.owner[0].held, 1);
	assert_int_equal(touch(&mr, pd0, 3, 4096, &p), 0);
	assert_int_equal(p.len, 4096);
	assert_int_equal(touch(&mr, pd0, 4, 8192, &p), 0);
	assert_int_equal(p.len, 4096);
	assert_int_equal(unic_xlate(&a.nic.memory, p.mr, mr.iova + 5 * 4096,
				    4096, &p),
			 0);
	is_page(&p, 5);
	/* the operation on pages 4 and 5 has brought both */
	assert_int_equal(rig_count(&a, misses), 2);
	assert_int_equal(rig_count(&a, table_filled), 3);
	assert_int_equal(a.nic.share.owner[0].held, 3);
	assert_int_equal(touch(&mr, pd0, 16, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(touch(&mr, pd1, 3, 1, &p), -UNIC_ESTAG);
	assert_int_equal(rig_dereg(&a, &mr), 0);
	assert_int_equal(a.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(touch(&mr, pd0, 3, 8, &p), -UNIC_ERELEASED);
}

/* Rights and domain of a region whose pages come as they are used; its pages stay. */
static void rights_change_and_pages_stay(void **state)
{
	struct unic_cmd_mr_rereg c = { .what = UNIC_REREG_RIGHTS,
				       .rights = UNIC_MR_REMOTE_READ };
	uint32_t other = rig_pd(&a, 0);
	struct unic_xlate p;
	struct rig_mr mr;

	(void)state;
	table(0, 16);
	assert_int_equal(rig_reg_cached(&a, pd0, 16, UNIC_TABLE, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 3, 8, &p), 0);
	c.mr = unic_to_le32(mr.mr);
	c.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_REREG, &c, NULL), UNIC_ST_OK);
	assert_int_equal(unic_access(&a.nic.memory, mr.stag, (uint16_t)pd0,
				     UNIC_MR_REMOTE_WRITE, mr.iova, 8, &p),
			 -UNIC_ERIGHTS);
	assert_int_equal(unic_access(&a.nic.memory, mr.stag, (uint16_t)pd0,
				     UNIC_MR_REMOTE_READ, mr.iova + 3 * 4096, 8,
				     &p),
			 0);
	is_page(&p, 3);
	assert_int_equal(rig_count(&a, misses), 1);
	c.what = UNIC_REREG_PD;
	c.rights = 0;
	c.pd = unic_to_le32(other);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_REREG, &c, NULL), UNIC_ST_OK);
	assert_int_equal(touch(&mr, pd0, 3, 8, &p), -UNIC_EPD);
	assert_int_equal(touch(&mr, other, 3, 8, &p), 0);
	/* another range would have another table */
	c.what = UNIC_REREG_RANGE;
	c.pd = 0;
	c.iova = unic_to_le64(mr.iova);
	c.length = unic_to_le64(4096);
	c.n_pages = unic_to_le32(1);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_REREG, &c, NULL),
			 UNIC_ST_STATE);
	assert_int_equal(rig_dereg(&a, &mr), 0);
	assert_int_equal(a.nic.tlb.free, UNIC_TLB_ENTRIES);
}

static void table_larger_than_the_pool(void **state)
{
	struct unic_xlate p;
	struct rig_mr mr;
	uint32_t i, round;

	(void)state;
	table(0, 3 * UNIC_TLB_ENTRIES);
	assert_int_equal(rig_reg_cached(&a, pd0, 3 * UNIC_TLB_ENTRIES,
					UNIC_TABLE, 0, &mr),
			 0);
	for (round = 0; round < 3; round++)
		for (i = 0; i < 3 * UNIC_TLB_ENTRIES; i++) {
			assert_int_equal(touch(&mr, pd0, i, 4096, &p), 0);
			is_page(&p, i);
		}
	assert_int_equal(a.nic.tlb.free, 0);
	assert_int_equal(a.nic.cache.entries[0], UNIC_TLB_ENTRIES);
	check_books();
}

/* A page that is used between any two misses is not replaced. */
static void used_entries_get_a_second_chance(void **state)
{
	struct unic_xlate p;
	struct rig_mr mr;
	uint64_t before;
	uint32_t i;

	(void)state;
	table(0, 4 * UNIC_TLB_ENTRIES);
	assert_int_equal(rig_reg_cached(&a, pd0, 4 * UNIC_TLB_ENTRIES,
					UNIC_TABLE, 0, &mr),
			 0);
	for (i = 0; i < UNIC_TLB_ENTRIES; i++)
		assert_int_equal(touch(&mr, pd0, i, 8, &p), 0);
	for (; i < 2 * UNIC_TLB_ENTRIES; i++) { /* one lap of the hand */
		assert_int_equal(touch(&mr, pd0, i, 8, &p), 0);
		assert_int_equal(touch(&mr, pd0, 1, 8, &p), 0);
	}
	before = rig_count(&a, misses);
	for (; i < 4 * UNIC_TLB_ENTRIES; i++) {
		assert_int_equal(touch(&mr, pd0, i, 8, &p), 0);
		assert_int_equal(touch(&mr, pd0, 1, 8, &p), 0);
	}
	assert_int_equal(rig_count(&a, misses) - before, 2 * UNIC_TLB_ENTRIES);
}

static void bad_table_words(void **state)
{
	unic_le64 *words = rig_words(&a);
	struct unic_xlate p;
	struct rig_mr mr;

	(void)state;
	words[0] = unic_to_le64(0);
	/* without the VALID bit */
	words[1] = unic_to_le64(UNIC_BUS(0, 0x8000));
	words[2] = unic_to_le64(UNIC_BUS(0, 0x8008) | UNIC_TABLE_VALID);
	words[3] = unic_to_le64(UNIC_BUS(0, 0x8000) | UNIC_TABLE_VALID);
	assert_int_equal(rig_reg_cached(&a, pd0, 4, UNIC_TABLE, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 0, 1, &p), -UNIC_ENOPAGE);
	assert_int_equal(touch(&mr, pd0, 1, 1, &p), -UNIC_ENOPAGE);
	assert_int_equal(touch(&mr, pd0, 2, 1, &p), -UNIC_ENOPAGE);
	assert_int_equal(touch(&mr, pd0, 3, 1, &p), 0);
	/* a word that is set later takes effect: no entry was kept */
	words[0] = words[3];
	assert_int_equal(touch(&mr, pd0, 0, 1, &p), 0);
}

static void bad_registrations(void **state)
{
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(pd0),
		.rights = UNIC_MR_LOCAL_WRITE,
		.residency = UNIC_TABLE,
		.flags = UNIC_REG_HOST_TABLE,
		.list = unic_to_le64(RIG_LIST),
		.page_shift = 12,
		.iova = unic_to_le64(0x10000000),
		.length = unic_to_le64(0x4000),
		.n_pages = unic_to_le32(4),
	};
	struct unic_cmd_mr_reg c;

	(void)state;
#define TRY(field, v, status)                                            \
	do {                                                             \
		c = cmd;                                                 \
		c.field = v;                                             \
		assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_REG, &c, NULL), \
				 status);                                \
	} while (0)
	TRY(residency, UNIC_PHYSICAL + 1, UNIC_ST_INVALID);
	TRY(residency, UNIC_PHYSICAL, UNIC_ST_INVALID);
	TRY(mr_class, UNIC_CLASS_CONTROL, UNIC_ST_INVALID);
	TRY(flags, UNIC_REG_HOST_TABLE | UNIC_REG_LIST, UNIC_ST_INVALID);
	TRY(flags, UNIC_REG_HOST_TABLE | UNIC_REG_WAIT, UNIC_ST_INVALID);
	TRY(flags, 0, UNIC_ST_INVALID);
	TRY(rsvd, unic_to_le32(8), UNIC_ST_INVALID);
	TRY(list, unic_to_le64(RIG_LIST + 8), UNIC_ST_INVALID);
	TRY(list, unic_to_le64(RIG_LIST + 32), UNIC_ST_INVALID);
	TRY(list, unic_to_le64(RIG_LIST + 64), UNIC_ST_OK);
	/* where there is no memory, a miss says so; but not beyond the window */
	TRY(list, unic_to_le64(UNIC_BUS(1, 0xffffffffffc0ull)), UNIC_ST_OK);
	TRY(n_pages, unic_to_le32(5), UNIC_ST_INVALID);
	cmd.length = unic_to_le64(0x9000);
	cmd.n_pages = unic_to_le32(9);
	TRY(list, unic_to_le64(UNIC_BUS(1, 0xffffffffffc0ull)),
	    UNIC_ST_INVALID);
	cmd.length = unic_to_le64(0x4000);
	cmd.n_pages = unic_to_le32(4);
	cmd.residency = UNIC_RESIDENT;
	TRY(flags, UNIC_REG_HOST_TABLE, UNIC_ST_INVALID);
	cmd.flags = 0;
	TRY(list, unic_to_le64(RIG_LIST), UNIC_ST_INVALID);
	cmd.residency = UNIC_DEMAND;
	TRY(flags, UNIC_REG_HOST_TABLE, UNIC_ST_INVALID);
	TRY(list, unic_to_le64(RIG_LIST), UNIC_ST_INVALID);
	cmd.list = unic_to_le64(0);
	TRY(residency, UNIC_PHYSICAL, UNIC_ST_NO_PD);
	cmd.length = unic_to_le64(UNIC_CACHED_PAGES * 4096ull);
	TRY(n_pages, unic_to_le32(UNIC_CACHED_PAGES), UNIC_ST_OK);
	cmd.length = unic_to_le64(UNIC_CACHED_PAGES * 4096ull + 1);
	TRY(n_pages, unic_to_le32(UNIC_CACHED_PAGES + 1), UNIC_ST_TOO_LARGE);
	cmd.page_shift = 16;
	cmd.length = unic_to_le64(UNIC_CACHED_PAGES * 65536ull);
	TRY(n_pages, unic_to_le32(UNIC_CACHED_PAGES), UNIC_ST_TOO_LARGE);
#undef TRY
}

static void regions_are_capped(void **state)
{
	struct rig_mr mr;
	uint32_t n = 0;

	(void)state;
	while (!rig_reg_cached(&a, pd0, 1, UNIC_DEMAND, 0, &mr))
		n++;
	/* no other process has regions: half of the table */
	assert_int_equal(n, UNIC_MRS / 2);
	assert_int_equal(rig_reg_cached(&a, pd0, 1, UNIC_DEMAND, 0, &mr),
			 UNIC_ST_MR_FULL);
	assert_int_equal(rig_reg(&a, 0, pd0, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
}

/* A registration displaces cached entries, at once and silently. */
static void registration_displaces_cached(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr cached, mr;
	struct unic_xlate p;
	uint32_t i;

	(void)state;
	table(0, UNIC_TLB_ENTRIES);
	assert_int_equal(rig_reg_cached(&a, pd0, UNIC_TLB_ENTRIES, UNIC_TABLE,
					0, &cached),
			 0);
	for (i = 0; i < UNIC_TLB_ENTRIES; i++)
		assert_int_equal(touch(&cached, pd0, i, 8, &p), 0);
	assert_int_equal(rig_reg(&a, 1, pd1, 24, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	assert_int_equal(a.nic.cache.entries[0], UNIC_TLB_ENTRIES - 24);
	assert_false(rig_event(&a, &evt));
	/* misses of process 0 take no registered entry; a registration of
	 * process 0 displaces its own cached entries */
	for (i = 0; i < UNIC_TLB_ENTRIES; i++)
		assert_int_equal(touch(&cached, pd0, i, 8, &p), 0);
	assert_int_equal(a.nic.share.owner[1].held, 24);
	assert_int_equal(rig_reg(&a, 0, pd0, 8, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	check_books();
}

/* Two processes miss: each ends with its share of the entries. */
static void misses_keep_to_shares(void **state)
{
	struct rig_mr mr[2];
	struct unic_xlate p;
	uint32_t i;

	(void)state;
	table(0, 2 * UNIC_TLB_ENTRIES);
	for (i = 0; i < 2 * UNIC_TLB_ENTRIES; i++)
		rig_table(&a, 2 * UNIC_TLB_ENTRIES + i, 1, FIRST + i % 64);
	assert_int_equal(rig_reg_cached(&a, pd0, 2 * UNIC_TLB_ENTRIES,
					UNIC_TABLE, 0, &mr[0]),
			 0);
	assert_int_equal(rig_reg_cached(&a, pd1, 2 * UNIC_TLB_ENTRIES,
					UNIC_TABLE, 2 * UNIC_TLB_ENTRIES,
					&mr[1]),
			 0);
	for (i = 0; i < 2 * UNIC_TLB_ENTRIES; i++)
		assert_int_equal(touch(&mr[0], pd0, i, 8, &p), 0);
	assert_int_equal(a.nic.cache.entries[0], UNIC_TLB_ENTRIES);
	for (i = 0; i < 2 * UNIC_TLB_ENTRIES; i++)
		assert_int_equal(touch(&mr[1], pd1, i, 8, &p), 0);
	assert_in_range(a.nic.cache.entries[1], UNIC_TLB_ENTRIES / 2 - 1,
			UNIC_TLB_ENTRIES / 2 + 1);
	for (i = 0; i < 2 * UNIC_TLB_ENTRIES; i++)
		assert_int_equal(touch(&mr[0], pd0, i, 8, &p), 0);
	assert_in_range(a.nic.cache.entries[1], UNIC_TLB_ENTRIES / 2 - 1,
			UNIC_TLB_ENTRIES / 2 + 1);
}

static void quota_holds_for_cached(void **state)
{
	struct unic_cmd_proc_set set = {
		.proc = unic_to_le32(0),
		.weight = unic_to_le32(1),
		.quota = unic_to_le32(5),
	};
	struct unic_xlate p;
	struct rig_mr mr;
	uint32_t i;

	(void)state;
	table(0, 32);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_SET, &set, NULL), 0);
	assert_int_equal(rig_reg_cached(&a, pd0, 32, UNIC_TABLE, 0, &mr), 0);
	for (i = 0; i < 32; i++) {
		assert_int_equal(touch(&mr, pd0, i, 8, &p), 0);
		assert_int_equal(a.nic.share.owner[0].held, i < 5 ? i + 1 : 5);
	}
}

/* A process that keeps registering at its quota does not take the entry for a
 * page that it misses; once the page is there it may register again. */
static void missing_page_goes_before_a_registration(void **state)
{
	struct unic_cmd_proc_set set = {
		.proc = unic_to_le32(0),
		.weight = unic_to_le32(1),
		.quota = unic_to_le32(3),
	};
	struct rig_mr mr, more, own[3];
	struct unic_xlate p;
	uint32_t i;

	(void)state;
	table(0, 4);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_SET, &set, NULL), 0);
	assert_int_equal(rig_reg_cached(&a, pd0, 4, UNIC_TABLE, 0, &mr), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(rig_reg(&a, 0, pd0, 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &own[i]),
				 0);
	assert_int_equal(touch(&mr, pd0, 0, 8, &p), -UNIC_EMISS);
	assert_int_equal(rig_dereg(&a, &own[0]), 0);
	assert_int_equal(rig_reg(&a, 0, pd0, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &own[0]),
			 UNIC_ST_QUOTA);
	/* a region without entries, and a process without a quota, need no
	 * entry of the quota */
	assert_int_equal(rig_reg_cached(&a, pd0, 4, UNIC_TABLE, 0, &more), 0);
	assert_int_equal(rig_reg(&a, 1, pd1, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &own[0]),
			 0);
	assert_int_equal(touch(&mr, pd0, 0, 8, &p), 0);
	assert_int_equal(rig_dereg(&a, &own[1]), 0);
	assert_int_equal(rig_reg(&a, 0, pd0, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &own[1]),
			 0);
	assert_int_equal(a.nic.share.owner[0].held, 3);
}

/* Registered regions of another process hold all entries: a miss finds no room
 * until one of them ends. */
static void no_room_is_a_miss(void **state)
{
	struct rig_mr hog, mr;
	struct unic_xlate p;

	(void)state;
	table(0, 4);
	assert_int_equal(rig_reg_cached(&a, pd0, 4, UNIC_TABLE, 0, &mr), 0);
	assert_int_equal(rig_reg(&a, 1, pd1, UNIC_TLB_ENTRIES, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &hog),
			 0);
	assert_int_equal(touch(&mr, pd0, 0, 8, &p), -UNIC_EMISS);
	assert_int_equal(rig_count(&a, cache_no_room), 1);
	assert_int_equal(rig_dereg(&a, &hog), 0);
	assert_int_equal(touch(&mr, pd0, 0, 8, &p), 0);
}

/* A missing page is served after the waiting requests: as many regions are
 * asked for as both need together. */
static void a_miss_beside_a_waiter(void **state)
{
	const uint32_t part = UNIC_TLB_ENTRIES / 4;
	struct rig_mr mr, hog[4], mine;
	struct unic_evt_mr evt;
	struct unic_xlate p;
	uint32_t i;

	(void)state;
	table(0, 4);
	assert_int_equal(rig_reg_cached(&a, pd0, 4, UNIC_TABLE, 0, &mr), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(rig_reg(&a, 1, pd1, part, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &hog[i]),
				 0);
	rig_run(&a, 10000000); /* old enough */
	assert_int_equal(rig_reg(&a, 0, pd0, part, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &mine),
			 UNIC_ST_PENDING);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_NOTICE, &evt);
	assert_false(rig_event(&a, &evt)); /* enough for the waiter */
	assert_int_equal(touch(&mr, pd0, 0, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 1);
	assert_false(rig_event(&a, &evt));
}

/* Each missing page has its own time-out: after H the page that the driver has
 * not answered fails, the one for which there was no room still waits. */
static void room_is_waited_for_page_by_page(void **state)
{
	struct unic_evt_miss evt[2];
	struct rig_mr hog, mr;
	struct unic_xlate p;
	uint32_t i, done;

	(void)state;
	assert_int_equal(rig_reg(&a, 1, pd1, UNIC_TLB_ENTRIES, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &hog),
			 0);
	assert_int_equal(rig_reg_cached(&a, pd0, 4, UNIC_DEMAND, 0, &mr), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(touch(&mr, pd0, i, 8, &p), -UNIC_EMISS);
		rig_poll(&a);
		rig_expect(&a, UNIC_EVT_MISS, &evt[i]);
	}
	assert_int_equal(rig_fault(&a, &mr, 0, 1, unic_from_le32(evt[0].seq), 0,
				   FIRST, &done),
			 UNIC_ST_BUSY);
	rig_run(&a, 51000000); /* H */
	assert_int_equal(rig_count(&a, miss_timeouts), 1);
	assert_int_equal(touch(&mr, pd0, 0, 8, &p), -UNIC_EMISS);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_ENOPAGE);
}

/* Process @victim holds all entries. A miss of process @proc, which may be the
 * victim itself, asks it for a region. */
static void a_miss_is_asked_for(uint32_t victim, uint32_t proc, uint32_t pd)
{
	struct rig_mr mr, all[8];
	struct unic_evt_mr evt;
	struct unic_xlate p;
	uint32_t i;

	table(proc, 4);
	assert_int_equal(rig_reg_cached(&a, pd, 4, UNIC_TABLE, 0, &mr), 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(rig_reg(&a, victim, victim ? pd1 : pd0,
					 UNIC_TLB_ENTRIES / 8, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &all[i]),
				 0);
	rig_run(&a, 10000000); /* their minimum residence is over */
	assert_false(rig_event(&a, &evt));
	assert_int_equal(touch(&mr, pd, 0, 8, &p), -UNIC_EMISS);
	rig_run(&a, 1000000);
	rig_expect(&a, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), victim);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_WAITER);
	for (i = 0; i < 8 && all[i].mr != unic_from_le32(evt.mr); i++)
		;
	assert_int_equal(rig_dereg(&a, &all[i]), 0);
	assert_int_equal(touch(&mr, pd, 0, 8, &p), 0);
}

static void a_miss_takes_from_itself(void **state)
{
	(void)state;
	a_miss_is_asked_for(0, 0, pd0);
}

static void a_miss_of_a_newcomer_takes_from_another(void **state)
{
	(void)state;
	a_miss_is_asked_for(1, 0, pd0);
}

static void invalidated_pages_are_read_again(void **state)
{
	struct unic_xlate p;
	struct rig_mr mr;
	uint32_t done;

	(void)state;
	table(0, 8);
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_TABLE, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 2, 8, &p), 0);
	rig_table(&a, 2, 0, FIRST + 40);
	assert_int_equal(touch(&mr, pd0, 2, 8, &p), 0);
	is_page(&p, 2); /* the old page, until MR_INVALIDATE */
	assert_int_equal(rig_pages(&a, &mr, 0, 8, 0, &done), 0);
	assert_int_equal(done, 1);
	assert_int_equal(touch(&mr, pd0, 2, 8, &p), 0);
	is_page(&p, 40);
	assert_int_equal(rig_pages(&a, &mr, 8, 1, 0, &done), UNIC_ST_INVALID);
	assert_int_equal(rig_pages(&a, &mr, 7, 2, 0, &done), UNIC_ST_INVALID);
	assert_int_equal(rig_pages(&a, &mr, 0, 0, 0, &done), UNIC_ST_INVALID);
	assert_int_equal(rig_pages(&a, &mr, 1, 0xffffffffu, 0, &done),
			 UNIC_ST_INVALID);
	mr.gen++;
	assert_int_equal(rig_pages(&a, &mr, 0, 1, 0, &done), UNIC_ST_NO_MR);
}

static void advice(void **state)
{
	struct unic_xlate p;
	struct rig_mr mr;
	uint32_t done;

	(void)state;
	table(0, 8);
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_TABLE, 0, &mr), 0);
	assert_int_equal(rig_pages(&a, &mr, 0, 8, UNIC_ADVISE_WILL_NEED, &done),
			 0);
	assert_int_equal(done, 8);
	assert_int_equal(touch(&mr, pd0, 7, 8, &p), 0);
	assert_int_equal(rig_count(&a, misses), 0);
	assert_int_equal(rig_pages(&a, &mr, 4, 4, UNIC_ADVISE_DONT_NEED, &done),
			 0);
	assert_int_equal(done, 4);
	assert_int_equal(touch(&mr, pd0, 7, 8, &p), 0);
	assert_int_equal(rig_count(&a, misses), 1);
	assert_int_equal(rig_pages(&a, &mr, 0, 1, 3, &done), UNIC_ST_INVALID);
}

/* ---------------------------------------------------------------- DEMAND */

static void demand_miss_is_told_and_filled(void **state)
{
	struct unic_evt_miss evt;
	struct unic_xlate p;
	struct rig_mr mr;
	uint32_t done;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 64, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 3, 3 * 4096, &p), -UNIC_EMISS);
	assert_int_equal(p.mr, mr.mr);
	assert_int_equal(touch(&mr, pd0, 3, 8, &p), -UNIC_EMISS);
	assert_int_equal(touch(&mr, pd0, 4, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	assert_int_equal(unic_from_le32(evt.mr), mr.mr);
	assert_int_equal(unic_from_le32(evt.gen), mr.gen);
	assert_int_equal(unic_from_le32(evt.first), 3);
	assert_int_equal(unic_from_le32(evt.count), 3);
	assert_int_equal(unic_from_le32(evt.seq), 0);
	assert_int_equal(unic_from_le32(evt.user), 0x77);
	assert_false(rig_event(&a, &evt)); /* the others joined it */
	assert_int_equal(rig_fault(&a, &mr, 3, 3, 0, 0, FIRST + 3, &done), 0);
	assert_int_equal(done, 3);
	assert_int_equal(touch(&mr, pd0, 4, 8, &p), 0);
	is_page(&p, 4);
	assert_int_equal(a.nic.cache.demand, 3);
	assert_int_equal(touch(&mr, pd0, 40, 64 * 4096, &p), -UNIC_EBOUNDS);
	assert_int_equal(touch(&mr, pd0, 30, 34 * 4096, &p), -UNIC_EMISS);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	assert_int_equal(unic_from_le32(evt.count), UNIC_FAULT_AHEAD);
	/* present pages stay as they are */
	assert_int_equal(rig_fault(&a, &mr, 2, 4, 0, 0, FIRST + 50, &done), 0);
	assert_int_equal(done, 4);
	assert_int_equal(touch(&mr, pd0, 3, 8, &p), 0);
	is_page(&p, 3);
	assert_int_equal(rig_dereg(&a, &mr), 0);
	assert_int_equal(a.nic.cache.demand, 0);
	assert_int_equal(a.nic.faults.fault[0].state, UNIC_FAULT_FREE);
}

static void dropped_pages_are_recorded(void **state)
{
	uint32_t i, done, n = 0;
	struct unic_drop d;
	struct rig_mr mr, other;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 64, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(rig_fault(&a, &mr, 0, 64, 0, 0, FIRST, &done), 0);
	assert_int_equal(done, 64);
	assert_false(rig_dropped(&a, &d));
	assert_int_equal(rig_reg(&a, 1, pd1, 20, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &other),
			 0);
	for (i = 0; rig_dropped(&a, &d); i++) {
		assert_int_equal(unic_from_le32(d.mr), mr.mr);
		assert_int_equal(unic_from_le32(d.gen), mr.gen);
		assert_false(unic_cache_has(&a.nic.memory, (uint16_t)mr.mr,
					    unic_from_le32(d.page)));
	}
	assert_int_equal(i, 20);
	assert_int_equal(rig_pages(&a, &mr, 0, 64, UNIC_ADVISE_DONT_NEED, &n),
			 0);
	for (i = 0; rig_dropped(&a, &d); i++)
		;
	assert_int_equal(i, n);
	/* an invalidation records no drops: the driver knows the pages */
	assert_int_equal(rig_fault(&a, &mr, 0, 8, 0, 0, FIRST, &done), 0);
	assert_int_equal(rig_pages(&a, &mr, 0, 64, 0, &n), 0);
	assert_int_equal(n, 8);
	assert_false(rig_dropped(&a, &d));
}

/* INV-17: the drop ring has room for each DEMAND entry on the NIC. */
static void no_fill_without_a_place_to_drop(void **state)
{
	uint32_t done, i, filled = 0;
	struct unic_drop d;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 32, UNIC_DEMAND, 0, &mr), 0);
	for (i = 0; i < UNIC_DROP_ENTRIES; i++) {
		if (rig_fault(&a, &mr, 0, 32, 0, 0, FIRST, &done))
			break;
		filled += done;
		assert_int_equal(rig_pages(&a, &mr, 0, 32,
					   UNIC_ADVISE_DONT_NEED, NULL),
				 0);
	}
	assert_int_equal(i, UNIC_DROP_ENTRIES / 32);
	assert_int_equal(filled + done, UNIC_DROP_ENTRIES);
	assert_int_equal(rig_fault(&a, &mr, 0, 32, 0, 0, FIRST, &done),
			 UNIC_ST_BUSY);
	assert_int_equal(done, 0);
	for (i = 0; i < 10; i++)
		assert_true(rig_dropped(&a, &d));
	assert_int_equal(rig_fault(&a, &mr, 0, 32, 0, 0, FIRST, &done),
			 UNIC_ST_BUSY);
	assert_int_equal(done, 10);
	while (rig_dropped(&a, &d))
		;
	assert_int_equal(rig_fault(&a, &mr, 0, 32, 0, 0, FIRST, &done), 0);
}

static void answers_older_than_an_invalidation_are_stale(void **state)
{
	struct unic_evt_miss evt;
	struct unic_xlate p;
	struct rig_mr mr;
	uint32_t done;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	assert_int_equal(rig_pages(&a, &mr, 0, 8, 0, NULL), 0);
	assert_int_equal(rig_fault(&a, &mr, 1, 1, 0, 0, FIRST, &done),
			 UNIC_ST_STALE);
	assert_int_equal(done, 0);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_MISS, &evt); /* asked for again */
	assert_int_equal(unic_from_le32(evt.seq), 1);
	assert_int_equal(rig_fault(&a, &mr, 1, 1, 2, 0, FIRST, &done),
			 UNIC_ST_STALE);
	assert_int_equal(rig_fault(&a, &mr, 1, 1, 1, 0, FIRST + 1, &done), 0);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), 0);
}

static void bad_answers(void **state)
{
	struct rig_mr mr, resident, tab;
	struct unic_cmd_mr_fault odd = { .count = unic_to_le32(1) };
	struct unic_cpl_mr_pages cpl;
	uint32_t done;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_TABLE, 0, &tab), 0);
	assert_int_equal(rig_reg(&a, 0, pd0, 8, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &resident),
			 0);
	assert_int_equal(rig_fault(&a, &mr, 0, 0, 0, 0, FIRST, &done),
			 UNIC_ST_INVALID);
	assert_int_equal(rig_fault(&a, &mr, 0, 9, 0, 0, FIRST, &done),
			 UNIC_ST_INVALID);
	assert_int_equal(rig_fault(&a, &mr, 8, 1, 0, 0, FIRST, &done),
			 UNIC_ST_INVALID);
	assert_int_equal(rig_fault(&a, &mr, 0xffffffff, 2, 0, 0, FIRST, &done),
			 UNIC_ST_INVALID);
	assert_int_equal(rig_fault(&a, &mr, 0, 513, 0, 0, FIRST, &done),
			 UNIC_ST_INVALID);
	assert_int_equal(rig_fault(&a, &tab, 0, 1, 0, 0, FIRST, &done),
			 UNIC_ST_STATE);
	assert_int_equal(rig_fault(&a, &resident, 0, 1, 0, 0, FIRST, &done),
			 UNIC_ST_STATE);
	assert_int_equal(rig_pages(&a, &resident, 0, 1, 0, &done),
			 UNIC_ST_STATE);
	mr.gen++;
	assert_int_equal(rig_fault(&a, &mr, 0, 1, 0, 0, FIRST, &done),
			 UNIC_ST_NO_MR);
	mr.gen--;
	mr.mr += UNIC_MRS;
	assert_int_equal(rig_fault(&a, &mr, 0, 1, 0, 0, FIRST, &done),
			 UNIC_ST_NO_MR);
	mr.mr -= UNIC_MRS;
	assert_int_equal(rig_fault(&a, &mr, 0, 2, 0, 0, FIRST, &done), 0);
	odd.mr = unic_to_le32(mr.mr);
	odd.gen = unic_to_le32(mr.gen);
	odd.first = unic_to_le32(3);
	*(uint64_t *)(a.port.bar + UNIC_BAR_LIST_OFF +
		      a.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES) = 0x8010;
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_FAULT, &odd, &cpl),
			 UNIC_ST_BUS);
	assert_int_equal(unic_from_le32(cpl.done), 0);
	odd.cannot = unic_to_le32(2);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_FAULT, &odd, &cpl),
			 UNIC_ST_INVALID);
	assert_int_equal(rig_pages(&a, &mr, 0, 2, 0, &done), 0);
	assert_int_equal(done, 2);
}

static void pages_that_cannot_be_had(void **state)
{
	struct unic_evt_miss evt;
	struct unic_xlate p;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	assert_int_equal(rig_fault(&a, &mr, 1, 1, 0, FAKE_WINDOWS, 0, NULL), 0);
	assert_int_equal(rig_count(&a, miss_refused), 1);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_ENOPAGE);
	assert_int_equal(touch(&mr, pd0, 2, 8, &p), -UNIC_EMISS);
	/* a refusal is kept for H, and a page that comes after one is taken */
	rig_run(&a, H_NS + 1000000);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_EMISS);
	assert_int_equal(rig_fault(&a, &mr, 1, 1, 0, FAKE_WINDOWS, 0, NULL), 0);
	assert_int_equal(rig_fault(&a, &mr, 1, 1, 0, 0, FIRST, NULL), 0);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), 0);
}

/* MR_INVALIDATE ends no refusal of a DEMAND page: the driver has just said that there is
 * none. */
static void a_refusal_outlasts_an_invalidation(void **state)
{
	struct unic_evt_miss evt;
	struct unic_xlate p;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	assert_int_equal(rig_fault(&a, &mr, 1, 1, 0, FAKE_WINDOWS, 0, NULL), 0);
	assert_int_equal(rig_pages(&a, &mr, 0, 8, 0, NULL), 0);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_ENOPAGE);
	rig_poll(&a);
	assert_false(rig_event(&a, &evt));
}

static void silent_driver_is_not_waited_for(void **state)
{
	struct unic_xlate p;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_EMISS);
	rig_run(&a, H_NS - 1000);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_EMISS);
	rig_run(&a, 2000);
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_ENOPAGE);
	assert_int_equal(rig_count(&a, miss_timeouts), 1);
}

/* All fault slots are taken: a new fault waits, and gets the next free slot. */
static void more_misses_than_slots(void **state)
{
	struct unic_evt_miss evt;
	struct unic_xlate p;
	struct rig_mr mr;
	uint32_t i;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 64, UNIC_DEMAND, 0, &mr), 0);
	for (i = 0; i < UNIC_FAULTS + 3; i++)
		assert_int_equal(touch(&mr, pd0, 2 * i, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	for (i = 0; i < UNIC_FAULTS; i++)
		rig_expect(&a, UNIC_EVT_MISS, &evt);
	assert_false(rig_event(&a, &evt));
	assert_int_equal(rig_fault(&a, &mr, 0, 1, 0, 0, FIRST, NULL), 0);
	assert_int_equal(touch(&mr, pd0, 2 * UNIC_FAULTS, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	assert_int_equal(unic_from_le32(evt.first), 2 * UNIC_FAULTS);
}

/* INV-11: the event is due until the event ring has room. */
static void full_event_ring_delays_a_miss(void **state)
{
	struct unic_evt_miss evt;
	struct unic_xlate p;
	struct rig_mr mr;
	uint32_t tail;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_DEMAND, 0, &mr), 0);
	tail = a.nic.mbox.evt_tail;
	a.nic.mbox.evt_tail = tail + UNIC_EVT_ENTRIES;
	assert_int_equal(touch(&mr, pd0, 1, 8, &p), -UNIC_EMISS);
	rig_run(&a, 1000000);
	assert_int_equal(a.nic.faults.fault[0].state, UNIC_FAULT_DUE);
	a.nic.mbox.evt_tail = tail;
	rig_run(&a, 1000000);
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	assert_int_equal(a.nic.faults.fault[0].state, UNIC_FAULT_SENT);
}

/* Entries that an operation waits for are spared until their first use, or for
 * SPARED_NS, so that the operation makes progress when all entries are in
 * demand. */
static void wanted_entries_are_spared(void **state)
{
	uint32_t done, n;
	struct unic_xlate p;
	struct rig_mr mr, other;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 64, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 0, 16 * 4096, &p), -UNIC_EMISS);
	assert_int_equal(rig_fault(&a, &mr, 0, 16, 0, 0, FIRST, &done), 0);
	assert_int_equal(done, 16);
	assert_int_equal(unic_cache_take(&a.nic.memory, 0, 64), 0);
	/* first use of the entry */
	assert_int_equal(touch(&mr, pd0, 0, 8, &p), 0);
	n = unic_cache_take(&a.nic.memory, 0, 64);
	assert_int_equal(n, 1);
	rig_run(&a, SPARED_NS);
	n = unic_cache_take(&a.nic.memory, 0, 64);
	assert_int_equal(n, 15);
	assert_int_equal(rig_reg(&a, 0, pd0, 8, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &other),
			 0);
}

/* The reaper takes cached entries before it asks for a region. */
static void reaper_takes_cached_first(void **state)
{
	struct unic_cmd_set_params params = {
		.low_entries = unic_to_le32(8),
		.high_entries = unic_to_le32(16),
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
	};
	struct rig_mr mr, resident, other;
	struct unic_evt_mr evt;
	struct unic_xlate p;
	uint32_t i;

	(void)state;
	table(0, 64);
	assert_int_equal(rig_reg_cached(&a, pd0, 64, UNIC_TABLE, 0, &mr), 0);
	assert_int_equal(rig_reg(&a, 0, pd0, 16, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &resident),
			 0);
	assert_int_equal(rig_reg(&a, 1, pd1, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &other),
			 0); /* the share of each is a half */
	for (i = 0; i < 47; i++)
		assert_int_equal(touch(&mr, pd0, i, 8, &p), 0);
	rig_run(&a, SPARED_NS); /* no entry is spared any more */
	assert_int_equal(rig_cmd(&a, UNIC_CMD_SET_PARAMS, &params, NULL), 0);
	rig_run(&a, 10000000);
	assert_false(rig_event(&a, &evt));
	assert_true(a.nic.tlb.free >= 16);
	assert_int_equal(a.nic.mrs.mr[resident.mr].state, UNIC_MR_ACTIVE);
}

/* Registers @bytes bytes from @iova on, in @pages pages. */
static void reg_bytes(uint8_t residency, uint64_t iova, uint32_t bytes,
		      uint32_t pages, struct rig_mr *mr)
{
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(pd0),
		.rights = UNIC_MR_LOCAL_WRITE,
		.residency = residency,
		.page_shift = 12,
		.iova = unic_to_le64(iova),
		.length = unic_to_le64(bytes),
		.n_pages = unic_to_le32(pages),
	};
	struct unic_cpl_mr_reg cpl;

	if (residency == UNIC_TABLE) {
		cmd.flags = UNIC_REG_HOST_TABLE;
		cmd.list = unic_to_le64(RIG_LIST);
	}
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_REG, &cmd, &cpl), 0);
	*mr = (struct rig_mr){ .mr = unic_from_le32(cpl.mr),
			       .gen = unic_from_le32(cpl.gen),
			       .stag = unic_from_le32(cpl.stag),
			       .iova = iova };
}

/* A region of two pages that begins at an odd page has two pages, not three. */
static void pages_end_with_the_region(void **state)
{
	struct rig_mr mr;
	uint32_t done;

	(void)state;
	reg_bytes(UNIC_DEMAND, 0x10001000, 0x2000, 2, &mr);
	assert_int_equal(rig_fault(&a, &mr, 2, 1, 0, 0, FIRST, &done),
			 UNIC_ST_INVALID);
	assert_int_equal(rig_pages(&a, &mr, 0, 3, 0, &done), UNIC_ST_INVALID);
	assert_int_equal(rig_fault(&a, &mr, 0, 2, 0, 0, FIRST, &done), 0);
	assert_int_equal(done, 2);
}

/* An answer ends the fault of its own pages only: the next page is still due
 * from the driver, without a second event. */
static void answer_ends_where_it_ends(void **state)
{
	struct unic_evt_miss evt;
	struct unic_xlate p;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 3, 8, &p), -UNIC_EMISS);
	assert_int_equal(touch(&mr, pd0, 2, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	assert_int_equal(rig_fault(&a, &mr, 2, 1, 0, 0, FIRST, NULL), 0);
	assert_int_equal(touch(&mr, pd0, 2, 8, &p), 0);
	assert_int_equal(touch(&mr, pd0, 3, 8, &p), -UNIC_EMISS);
	rig_poll(&a);
	assert_false(rig_event(&a, &evt));
}

/* A frame that waits for the DMA engine keeps the regions of its own spans
 * busy, and no others. */
static void places_of_a_waiting_frame(void **state)
{
	struct rig_mr in, other;
	struct unic_mr_span spans[2];

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 4, UNIC_TABLE, 0, &in), 0);
	assert_int_equal(rig_reg_cached(&a, pd0, 4, UNIC_TABLE, 8, &other), 0);
	spans[0].mr = (uint16_t)in.mr;
	spans[1].mr = (uint16_t)other.mr; /* left by an earlier frame */
	assert_false(unic_cache_busy(&a.nic.memory, (uint16_t)in.mr));
	unic_cache_hold(&a.nic.memory, spans, 1);
	assert_true(unic_cache_busy(&a.nic.memory, (uint16_t)in.mr));
	assert_false(unic_cache_busy(&a.nic.memory, (uint16_t)other.mr));
	unic_cache_hold(&a.nic.memory, NULL, 0);
	assert_false(unic_cache_busy(&a.nic.memory, (uint16_t)in.mr));
}

/* A window shows one page of the region, and ends with the entry of that
 * page. */
static void window_ends_with_its_entry(void **state)
{
	struct unic_xlate p;
	struct rig_mr mr;

	(void)state;
	table(0, 8);
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_TABLE, 0, &mr), 0);
	assert_int_equal(touch(&mr, pd0, 3, 8, &p), 0);
	assert_int_equal(touch(&mr, pd0, 2, 8, &p), 0);
	assert_true(a.nic.mrs.mr[mr.mr].win_bytes != 0);
	assert_int_equal(rig_pages(&a, &mr, 3, 5, 0, NULL), 0);
	assert_true(a.nic.mrs.mr[mr.mr].win_bytes != 0);
	assert_int_equal(rig_pages(&a, &mr, 2, 1, 0, NULL), 0);
	assert_int_equal(a.nic.mrs.mr[mr.mr].win_bytes, 0);
}

/* A window of one byte ends with its entry, too. */
static void window_of_a_byte(void **state)
{
	struct unic_xlate p;
	struct rig_mr mr;

	(void)state;
	table(0, 2);
	reg_bytes(UNIC_TABLE, 0x10000000, 4097, 2, &mr);
	assert_int_equal(touch(&mr, pd0, 1, 1, &p), 0);
	assert_int_equal(a.nic.mrs.mr[mr.mr].win_bytes, 1);
	assert_int_equal(rig_pages(&a, &mr, 1, 1, 0, NULL), 0);
	assert_int_equal(a.nic.mrs.mr[mr.mr].win_bytes, 0);
}

static void reset_forgets_them(void **state)
{
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg_cached(&a, pd0, 8, UNIC_DEMAND, 0, &mr), 0);
	assert_int_equal(rig_fault(&a, &mr, 0, 8, 0, 0, FIRST, NULL), 0);
	assert_int_equal(rig_reg(&a, 0, pd0, 8, UNIC_CLASS_RDMA, 0, 0, &mr), 0);
	assert_true(a.nic.tlb.reserved > 0); /* the region is being filled */
	rig_reset(&a);
	assert_int_equal(a.nic.cache.demand, 0);
	assert_int_equal(unic_mbox_drop_room(&a.nic.base), UNIC_DROP_ENTRIES);
	assert_int_equal(a.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(a.nic.tlb.reserved, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(table_miss_is_served_at_once),
		TEST(rights_change_and_pages_stay),
		TEST(table_larger_than_the_pool),
		TEST(used_entries_get_a_second_chance),
		TEST(bad_table_words),
		TEST(bad_registrations),
		TEST(regions_are_capped),
		TEST(registration_displaces_cached),
		TEST(misses_keep_to_shares),
		TEST(quota_holds_for_cached),
		TEST(missing_page_goes_before_a_registration),
		TEST(no_room_is_a_miss),
		TEST(a_miss_beside_a_waiter),
		TEST(room_is_waited_for_page_by_page),
		TEST(a_miss_takes_from_itself),
		TEST(a_miss_of_a_newcomer_takes_from_another),
		TEST(invalidated_pages_are_read_again),
		TEST(advice),
		TEST(demand_miss_is_told_and_filled),
		TEST(dropped_pages_are_recorded),
		TEST(no_fill_without_a_place_to_drop),
		TEST(answers_older_than_an_invalidation_are_stale),
		TEST(bad_answers),
		TEST(pages_that_cannot_be_had),
		TEST(a_refusal_outlasts_an_invalidation),
		TEST(silent_driver_is_not_waited_for),
		TEST(more_misses_than_slots),
		TEST(full_event_ring_delays_a_miss),
		TEST(wanted_entries_are_spared),
		TEST(reaper_takes_cached_first),
		TEST(pages_end_with_the_region),
		TEST(answer_ends_where_it_ends),
		TEST(places_of_a_waiting_frame),
		TEST(window_ends_with_its_entry),
		TEST(window_of_a_byte),
		TEST(reset_forgets_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

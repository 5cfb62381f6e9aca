/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * steps.c - the longest rounds of work: each table as full as it gets, each step
 * with as much to do as a driver, a process or a peer can give it, and then
 * unic_nic_poll(), round by round. Prints "INSN name count" for the longest round
 * of each; tests/bench/steps.py compares with the bounds that are stated.
 *
 * The clock stands still but where time is the point.
 */
#include "transport/rq.h"

#include "steps.h"

#define SLOTS UNIC_QP_SLOTS
#define CQES  (2u * SLOTS)
/* Pages of its rings: one of send slots, those of receive slots, of records. */
#define RQ_PAGES   (SLOTS * 64u / 4096u)
#define RING_PAGES (1u + RQ_PAGES + CQES * 32u / 4096u)

static void no_events(void)
{
	uint64_t evt[8];

	while (rig_event(&a, evt))
		;
}

/* ---------------------------------------------------------------- frames */

/* A burst of slots whose length is impossible. */
static void bad_lengths(void)
{
	uint32_t i;
	uint8_t *f;

	fresh();
	for (i = 0; i < 2 * UNIC_RX_BATCH; i++) {
		f = unic_port_tx_get(&a.port, 2);
		assert_non_null(f);
		unic_port_tx_put(&a.port, f, 0xffff, 0);
	}
	report("burst_of_bad_lengths", longest(&b, 8));
}

/* --------------------------------------------------------------- receives */

static struct rig_qp big;
static struct unic_rq_slot *ring;
static uint32_t posted;

/* The receive ring of NIC B is as long as can be. */
static void long_ring(void)
{
	struct unic_cmd_cq_create cq = { .pd = unic_to_le32(pdb),
					 .entries = unic_to_le32(CQES),
					 .db_index = unic_to_le32(7) };
	struct unic_cmd_qp_create create = {
		.pd = unic_to_le32(pdb),
		.sq_slots = unic_to_le16(2),
		.rq_slots = unic_to_le16(SLOTS),
		.db_index = unic_to_le32(7),
	};
	struct rig_mr rings;
	struct unic_cpl_obj cpl;
	struct rig_qp from;

	assert_int_equal(rig_reg(&b, 0, pdb, RING_PAGES, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &rings),
			 0);
	memset(rings.mem, 0, RING_PAGES * 4096);
	cq.stag = create.stag = unic_to_le32(rings.stag);
	cq.iova = unic_to_le64(rings.iova + (1 + RQ_PAGES) * 4096);
	assert_int_equal(rig_cmd(&b, UNIC_CMD_CQ_CREATE, &cq, &cpl), 0);
	create.send_cq = create.recv_cq = cpl.id;
	create.sq_iova = unic_to_le64(rings.iova);
	create.rq_iova = unic_to_le64(rings.iova + 4096);
	assert_int_equal(rig_cmd(&b, UNIC_CMD_QP_CREATE, &create, &cpl), 0);
	big = qb;
	big.row = 7;
	big.qpn = unic_from_le32(cpl.id);
	ring = (void *)(rings.mem + 4096);
	posted = 0;
	rig_qp(&a, 0, pda, 8, &from);
	rig_connect(&a, &from, &b, &big);
	qa = from;
}

static void post(const struct rig_mr *mr, uint32_t len)
{
	ring[posted++ % SLOTS] = (struct unic_rq_slot){
		.num_sge = 1,
		.sge[0].iova = unic_to_le64(mr->iova),
		.sge[0].len = unic_to_le32(len),
		.sge[0].lkey = unic_to_le32(mr->stag),
	};
}

static uint32_t send_to_b(void)
{
	rig_send(&a, &qa, UNIC_WR_SEND, 1, &ma, 0, 64, 0, 0);
	longest(&a, 2);
	return longest(&b, SLOTS);
}

#define REGIONS 20u

/* The receives of a ring name more regions than the sweep has places for. */
static void sweep(void)
{
	struct rig_mr gone[REGIONS];
	uint32_t i, n, most = 0;

	fresh();
	long_ring();
	for (i = 0; i < REGIONS; i++)
		assert_int_equal(rig_reg(&b, 0, pdb, 1, UNIC_CLASS_MESSAGING,
					 UNIC_REG_LIST, 0, &gone[i]),
				 0);
	for (i = 0; i < SLOTS; i++)
		post(&gone[i % REGIONS], 64);
	rig_ring(&b, 0, UNIC_DB_RQ, big.row, posted);
	longest(&b, 4);
	for (i = 0; i < REGIONS; i++) {
		MEASURE(n,
			unic_revoked_add(&b.nic.memory, (uint16_t)gone[i].mr));
		most = n > most ? n : most;
	}
	report("receives_name_a_region", most);
	report("receives_sweep", longest(&b, 2 * UNIC_QPS + SLOTS));
}

/* The message passes over a ring of receives of a region that is gone; if
 * @far, behind one of these, over receives that are too short. */
static void passed_over(const char *name, bool far)
{
	struct unic_cmd_mr cmd = { 0 };
	struct rig_mr gone;
	uint32_t i;

	fresh();
	long_ring();
	assert_int_equal(rig_reg(&b, 0, pdb, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &gone),
			 0);
	cmd.mr = unic_to_le32(gone.mr);
	cmd.gen = unic_to_le32(gone.gen);
	assert_int_equal(rig_cmd(&b, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	longest(&b, 2 * UNIC_QPS);
	b.nic.qps.qp[big.qpn & 0xff].rq.class_bytes = 1000;
	post(&gone, 1000);
	for (i = 2; i < SLOTS; i++)
		post(far ? &mb : &gone, 100);
	post(&mb, 1000);
	rig_ring(&b, 0, UNIC_DB_RQ, big.row, posted);
	longest(&b, 4);
	report(name, send_to_b());
}

/* ---------------------------------------------------------------- regions */

/* The end of a region with all entries that are left, or with all tokens. */
static void largest_region(void)
{
	uint32_t pages = a.nic.tlb.free < 250 ? a.nic.tlb.free : 250, i;
	struct unic_cmd_mr dereg = { .hdr = { .opcode = UNIC_CMD_MR_DEREG } };
	struct unic_token_args args = { .length = 64, .ttl_us = 1000000 };
	struct rig_mr mr;
	uint64_t key;

	fresh();
	assert_int_equal(rig_reg(&a, 0, pda, pages, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	dereg.mr = unic_to_le32(mr.mr);
	dereg.gen = unic_to_le32(mr.gen);
	report("dereg_250_entries", commands(&dereg, 1));
	fresh();
	assert_int_equal(rig_reg(&a, 0, pda, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	args.pd = a.nic.mrs.mr[mr.mr].pd;
	args.stag = mr.stag;
	args.iova = mr.iova;
	for (i = 0; i < UNIC_TOKENS; i++)
		if (unic_token_alloc(&a.nic.memory, &args, &key) < 0)
			break;
	assert_true(i > UNIC_TOKENS / 2);
	dereg.mr = unic_to_le32(mr.mr);
	dereg.gen = unic_to_le32(mr.gen);
	report("dereg_all_tokens", commands(&dereg, 1));
	no_events();
	assert_int_equal(rig_reg(&a, 0, pda, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	args.stag = mr.stag;
	args.iova = mr.iova;
	for (i = 0; i < UNIC_TOKENS; i++)
		if (unic_token_alloc(&a.nic.memory, &args, &key) < 0)
			break;
	a.port.now_ns += 2000000000ull;
	report("all_tokens_expire", longest(&a, 64));
}

/* All regions that there are: a heartbeat looks at their use; then their
 * owner is detached. */
static void all_regions(void)
{
	struct unic_cmd_obj detach = {
		.hdr = { .opcode = UNIC_CMD_PROC_DETACH },
	};
	struct rig_mr mr;
	uint32_t n = 0;

	fresh();
	while (!rig_reg(&a, 0, pda, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mr))
		n++;
	assert_true(n > UNIC_TLB_ENTRIES / 2 || n > UNIC_MRS / 2);
	a.port.now_ns += 200000000ull;
	report("heartbeat_all_regions", longest(&a, 16));
	no_events();
	report("detach_all_regions", commands(&detach, 1));
}

/* @n registrations of @pages pages, all asked for at once. */
static uint32_t registrations(uint32_t n, uint32_t pages)
{
	struct unic_cmd_mr_reg cmd[8];
	uint32_t i, k;

	fresh();
	for (i = 0; i < n; i++) {
		uint64_t *list = (void *)(a.port.bar + UNIC_BAR_LIST_OFF +
					  (a.cmd_tail + i) % UNIC_CMD_ENTRIES *
						  UNIC_LIST_BYTES);

		for (k = 0; k < pages; k++)
			list[k] = UNIC_BUS(0, (16 + k % 200) * 4096ull);
		cmd[i] = (struct unic_cmd_mr_reg){
			.hdr = { .opcode = UNIC_CMD_MR_REG },
			.pd = unic_to_le32(pda),
			.rights = UNIC_MR_LOCAL_WRITE,
			.page_shift = 12,
			.iova = unic_to_le64(0x80000000ull + i * 0x1000000),
			.length = unic_to_le64(pages * 4096ull),
			.n_pages = unic_to_le32(pages),
			.flags = UNIC_REG_LIST,
		};
	}
	k = commands(cmd, n);
	assert_int_equal(a.nic.counter[UNIC_C_mr_registered], n + 2);
	return k;
}

/* ------------------------------------------------------------- long commands */

#define BATCH UNIC_BATCH_MAX

/* The list page of the next command but @n. */
static uint8_t *list_of(uint32_t n)
{
	return a.port.bar + UNIC_BAR_LIST_OFF +
	       (a.cmd_tail + n) % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
}

/* @n commands, each of which asks for as many tokens of @mr as it can. */
static uint32_t token_batches(uint32_t n, uint32_t pd, const struct rig_mr *mr)
{
	struct unic_cmd_token_alloc alloc = {
		.hdr = { .opcode = UNIC_CMD_TOKEN_ALLOC },
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova),
		.length = unic_to_le32(64),
	};
	struct unic_cmd_batch cmd[UNIC_CMD_ENTRIES];
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		cmd[i] = (struct unic_cmd_batch){
			.hdr = { .opcode = UNIC_CMD_TOKEN_BATCH },
			.count = unic_to_le32(BATCH),
		};
		for (k = 0; k < BATCH; k++)
			memcpy(list_of(i) + 64 * k, &alloc, 64);
	}
	return commands(cmd, n);
}

/* Recalls tokens of a full table, of which only the last can be recalled. */
static uint32_t recalls(void)
{
	struct rig_mr other;
	uint32_t pd, i;

	fresh();
	rig_attach(&a, 1, 1);
	pd = rig_pd(&a, 1);
	assert_int_equal(rig_reg(&a, 1, pd, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &other),
			 0);
	for (i = 0; i < UNIC_TOKENS / 2 / BATCH - 1; i++)
		token_batches(1, pda, &ma);
	for (i = 0; i < UNIC_TOKENS / 2 / BATCH + 1; i++)
		token_batches(1, pd, &other);
	assert_int_equal(a.nic.tokens.used, UNIC_TOKENS);
	return token_batches(1, pda, &ma);
}

static uint32_t batch_of_deregs(void)
{
	struct unic_cmd_batch cmd = { .hdr = { .opcode = UNIC_CMD_MR_BATCH },
				      .count = unic_to_le32(BATCH) };
	struct unic_cmd_mr dereg = { .hdr = { .opcode = UNIC_CMD_MR_DEREG } };
	struct rig_mr mr;
	uint32_t i, gone[BATCH], gen[BATCH];

	fresh();
	for (i = 0; i < BATCH; i++) {
		assert_int_equal(rig_reg(&a, 0, pda, 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &mr),
				 0);
		gone[i] = mr.mr;
		gen[i] = mr.gen;
	}
	for (i = 0; i < BATCH; i++) {
		dereg.mr = unic_to_le32(gone[i]);
		dereg.gen = unic_to_le32(gen[i]);
		memcpy(list_of(0) + 64 * i, &dereg, 64);
	}
	return commands(&cmd, 1);
}

static void batches(void)
{
	fresh();
	report("batch_of_64_tokens", token_batches(1, pda, &ma));
	fresh();
	report("four_batches_of_64_tokens", token_batches(4, pda, &ma));
	report("batch_of_64_recalls", recalls());
	/* H has passed, but answers in the ring are in time: all is taken */
	fresh();
	a.port.now_ns += 60000000;
	report("commands_at_the_clock",
	       token_batches(UNIC_CMD_ENTRIES, pda, &ma));
	report("batch_of_64_deregs", batch_of_deregs());
}

/* The pages of one command: as many as are there, or as a list has. */
#define PAGES (UNIC_TLB_ENTRIES / 2u)

static void missing_pages(void)
{
	struct unic_cmd_mr_fault fault = {
		.hdr = { .opcode = UNIC_CMD_MR_FAULT },
		.count = unic_to_le32(PAGES),
	};
	struct unic_cmd_mr_pages drop = {
		.hdr = { .opcode = UNIC_CMD_MR_INVALIDATE },
		.count = unic_to_le32(PAGES),
	};
	struct rig_mr mr;
	uint64_t *list;
	uint32_t i;

	fresh();
	assert_int_equal(rig_reg_cached(&a, pda, PAGES, UNIC_DEMAND, 0, &mr),
			 0);
	list = (void *)list_of(0);
	for (i = 0; i < PAGES; i++)
		list[i] = UNIC_BUS(0, (16 + i % 200) * 4096ull);
	fault.mr = drop.mr = unic_to_le32(mr.mr);
	fault.gen = drop.gen = unic_to_le32(mr.gen);
	report("pages_brought", commands(&fault, 1));
	assert_true(a.nic.mrs.mr[mr.mr].filled == PAGES ||
		    a.nic.counter[UNIC_C_miss_filled] == PAGES);
	report("pages_dropped", commands(&drop, 1));
}

/* --------------------------------------------------------- the rest of it */

/* All regions end while the driver reads no events; then all come at once. */
static void held_back(void)
{
	struct unic_cmd_proc_detach detach = {
		.hdr = { .opcode = UNIC_CMD_PROC_DETACH },
	};
	struct unic_driver_page *page =
		(void *)(a.port.bar + UNIC_BAR_DRIVER_OFF);
	struct unic_cmd_mr cmd;
	struct rig_mr mr[UNIC_MRS];
	uint32_t n = 0, i;

	fresh();
	while (!rig_reg(&a, 0, pda, 1, UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0,
			&mr[n]))
		n++;
	/* the ring looks full */
	a.nic.mbox.evt_tail = a.nic.mbox.evt_head + UNIC_EVT_ENTRIES;
	page->evt_head = unic_to_le32(a.nic.mbox.evt_head);
	for (i = 0; i < n; i++) {
		cmd = (struct unic_cmd_mr){ .mr = unic_to_le32(mr[i].mr),
					    .gen = unic_to_le32(mr[i].gen) };
		assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	}
	longest(&a, 400);
	assert_true(a.nic.evict.evts_due > n / 2);
	page->evt_head = unic_to_le32(a.nic.mbox.evt_tail);
	a.port.now_ns += 1000000;
	report("events_held_back", longest(&a, 16));
	report("detach_all_tombstones", commands(&detach, 1));
}

static void tables(void)
{
	struct unic_cmd_dump dump = { .hdr = { .opcode = UNIC_CMD_DUMP } };
	struct unic_driver_page *page;
	uint32_t i, n, most = 0;

	fresh();
	for (i = 0; i < 8; i++) {
		dump.table = unic_to_le32(i);
		n = commands(&dump, 1);
		most = n > most ? n : most;
	}
	report("dump", most);
	for (i = 0; i < UNIC_ARP_ENTRIES; i++) {
		uint8_t mac[6];

		unic_arp_resolve(&a.nic.transport, 0x0a000100 + i, i, mac);
	}
	a.port.now_ns += 10000000000ull;
	report("arp_all_questions", longest(&a, 8));
	page = (void *)(a.port.bar + UNIC_BAR_DRIVER_OFF);
	page->reset_req = unic_to_le32(7777);
	report("reset", longest(&a, 8));
}

static void all(void **state)
{
	(void)state;
	count_init();
	MEASURE(empty, );
	bad_lengths();
	sweep();
	passed_over("message_over_gone_receives", false);
	passed_over("message_to_a_far_receive", true);
	largest_region();
	all_regions();
	report("registration_of_half_the_entries",
	       registrations(1, UNIC_TLB_ENTRIES / 2));
	report("eight_registrations", registrations(8, UNIC_TLB_ENTRIES / 16));
	batches();
	missing_pages();
	held_back();
	tables();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

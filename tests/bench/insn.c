/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * insn.c - exact instruction counts of the hot paths, under QEMU -icount: two
 * whole NICs in one image, over the board's own DMA and the link of `virt`.
 * Prints "INSN name count" lines; tests/bench/insn.py compares with budgets.
 */
#include "memory/access.h"
#include "count.h"
#include "memory/derived.h"
#include "memory/fault_answer.h"
#include "base/icrc.h"
#include "revoke/reclaim.h"
#include "revoke/register.h"
#include "rig_kernel.h"
#include "unit.h"

#include "two_nics.h"

/* ----------------------------------------------------------- single steps */

static __attribute__((noipa)) const struct unic_tlb_entry *
tlb_called(const struct unic_tlb *tlb, uint32_t base, uint32_t page)
{
	return unic_tlb_hit(tlb, base, page);
}

/*
 * The access check as the lanes have it: inlined, for a queue pair and a work
 * request at hand, of which STag, PD, address and length are loaded here.
 */
static inline __attribute__((always_inline)) int
check(struct unic_nic *nic, const struct unic_qp_ctx *qp,
      const struct unic_sq_slot *slot, struct unic_xlate *piece)
{
	return unic_access_inline(&nic->memory,
				  unic_from_le32(slot->sge[0].lkey), qp->pd,
				  UNIC_MR_REMOTE_WRITE,
				  unic_from_le64(slot->sge[0].iova),
				  unic_from_le32(slot->sge[0].len), piece);
}

/* A lane hands the answer on in registers. */
static inline void used(const struct unic_xlate *piece, int err)
{
	__asm__ volatile("" ::"r"(piece->bus), "r"(piece->len), "r"(err));
}

static __attribute__((noipa)) uint32_t
check_inline(struct unic_nic *nic, const struct unic_qp_ctx *qp,
	     const struct unic_sq_slot *slot)
{
	struct unic_xlate piece;
	uint32_t n;
	int err;

	MEASURE(n, err = check(nic, qp, slot, &piece); used(&piece, err));
	assert_int_equal(err, 0);
	return n;
}

/* A function of its own, so that the code around does not change its cost. */
static __attribute__((noipa)) uint32_t
check_called(struct unic_nic *nic, uint32_t stag, uint16_t pd, uint64_t iova)
{
	struct unic_xlate piece;
	uint32_t n;
	int err;

	MEASURE(n, err = unic_access(&nic->memory, stag, pd,
				     UNIC_MR_REMOTE_WRITE, iova, 64, &piece));
	assert_int_equal(err, 0);
	return n;
}

static void lookups(struct rig_mr *mr)
{
	const struct unic_mr_ctx *m = &a.nic.mrs.mr[mr->mr];
	uint16_t pd = m->pd;
	struct unic_qp_ctx *qp = &a.nic.qps.qp[UNIC_QPS - 1];
	struct unic_sq_slot slot = {
		.sge = { { .iova = unic_to_le64(mr->iova),
			   .len = unic_to_le32(64),
			   .lkey = unic_to_le32(mr->stag) } },
	};
	const struct unic_tlb_entry *e;
	uint32_t n;

	MEASURE(n, e = tlb_called(&a.nic.tlb, m->tlb_base, 0));
	assert_non_null(e);
	report("tlb_hit", n);
	check_called(&a.nic, mr->stag, pd, mr->iova);
	report("access_check_called",
	       check_called(&a.nic, mr->stag, pd, mr->iova));
	qp->pd = pd;
	report("access_check", check_inline(&a.nic, qp, &slot));
	/* a page other than the one used last: through the hash */
	slot.sge[0].iova = unic_to_le64(mr->iova + 4096);
	report("access_check_other_page", check_inline(&a.nic, qp, &slot));
}

struct wrong {
	uint32_t stag, pd, need;
	uint64_t iova;
	int err;
};

static __attribute__((noipa)) uint32_t refused(struct unic_nic *nic,
					       const struct wrong *w)
{
	struct unic_xlate piece;
	uint32_t n;
	int err;

	MEASURE(n,
		err = unic_access_inline(&nic->memory, w->stag, (uint16_t)w->pd,
					 w->need, w->iova, 64, &piece));
	assert_int_equal(err, w->err);
	return n;
}

/* Each step of the check refuses once: the clock must not tell which did. */
static __attribute__((noinline)) void refusals(const struct rig_mr *mr)
{
	const struct unic_mr_ctx *m = &a.nic.mrs.mr[mr->mr];
	static const char *const name[] = { "refused_stag", "refused_pd",
					    "refused_rights",
					    "refused_bounds" };
	uint32_t other = rig_pd(&a, 0);
	const struct wrong wrong[] = {
		{ mr->stag ^ 1u, m->pd, 0, mr->iova, -UNIC_ESTAG },
		{ mr->stag, other, 0, mr->iova, -UNIC_EPD },
		{ mr->stag, m->pd, UNIC_MR_MW_BIND, mr->iova, -UNIC_ERIGHTS },
		{ mr->stag, m->pd, 0, mr->iova + m->length, -UNIC_EBOUNDS },
	};
	uint32_t i, n, most = 0, least = UINT32_MAX;

	for (i = 0; i < 4; i++) {
		n = refused(&a.nic, &wrong[i]);
		report(name[i], n);
		most = n > most ? n : most;
		least = n < least ? n : least;
	}
	report("refused_apart", most - least);
}

static void tokens(struct rig_mr *mr)
{
	struct unic_token_args args = {
		.pd = a.nic.mrs.mr[mr->mr].pd,
		.stag = mr->stag,
		.length = 64,
		.iova = mr->iova,
		.ttl_us = 1000000,
		.sender_ipv4 = 0x0a000002,
		.sender_qpn = 5,
	};
	struct unic_qp_ctx *qp = &a.nic.qps.qp[UNIC_QPS - 1];
	struct unic_tag tag = { .payload = 64 };
	uint8_t end;
	int index = unic_token_alloc(&a.nic.memory, &args, &tag.key);
	uint32_t n;

	assert_true(index >= 0);
	qp->pd = args.pd;
	qp->dest_ipv4 = args.sender_ipv4;
	qp->dest_qpn = args.sender_qpn;
	tag.index = (uint32_t)index;
	MEASURE(n, end = unic_token_claim(&a.nic.memory, &tag, &qp->sender));
	assert_int_equal(end, 0);
	report("token_check", n);
	unic_token_finish(&a.nic.memory, (uint16_t)index, 64);
}

/* A ring is looked at closely once a lap, and a burst begins with a look at the
 * rings of others: link_rx_first. */
static void rings(void)
{
	uint8_t *frame;
	struct unic_rx rx;
	uint32_t get, put, n;

	unic_port_tx_put(&a.port, unic_port_tx_get(&a.port, 2), 60, 0);
	MEASURE(get, frame = unic_port_tx_get(&a.port, 2));
	MEASURE(put, unic_port_tx_put(&a.port, frame, 60, 0));
	report("link_tx_get", get);
	report("link_tx_put", put);
	MEASURE(n, unic_port_rx_next(&b.port, &rx));
	report("link_rx_first", n);
	MEASURE(n, unic_port_rx_next(&b.port, &rx));
	report("link_rx_next", n);
	MEASURE(n, unic_port_rx_done(&b.port));
	report("link_rx_done", n);
}

static uint32_t copies(void)
{
	static uint8_t buf[4096];
	uint32_t n;

	MEASURE(n, unic_port_dma(&a.port, UNIC_DMA_TO_HOST, UNIC_BUS(0, 65536),
				 buf, 8, 0));
	report("dma_8", n);
	MEASURE(n, unic_port_dma(&a.port, UNIC_DMA_TO_HOST, UNIC_BUS(0, 65536),
				 buf, 32, 0));
	report("dma_32", n);
	MEASURE(n, unic_port_dma(&a.port, UNIC_DMA_TO_HOST, UNIC_BUS(0, 65536),
				 buf, 4096, 0));
	report("dma_4096", n);
	return n;
}

/* ------------------------------------------------------------ whole paths */

static __attribute__((noinline)) void pump(void)
{
	unic_nic_poll(&a.nic);
	unic_nic_poll(&b.nic);
	unic_nic_poll(&a.nic);
}

static void take(uint32_t batch)
{
	struct unic_cqe cqe;
	uint32_t i;

	for (i = 0; i < batch; i++) {
		assert_true(rig_cqe(&a, &qa, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	}
}

/* One request of @opcode, the second of its form, from its doorbell to its completion. */
static uint32_t second_alone(uint8_t opcode, uint32_t len)
{
	bool send = opcode == UNIC_WR_SEND;
	uint32_t i, n = 0;

	for (i = 0; i < 2; i++) {
		rig_send(&a, &qa, opcode, i, &ma, 0, len, send ? 0 : mb.iova,
			 send ? 0 : mb.stag);
		MEASURE(n, pump());
		take(1);
	}
	return n;
}

/* A SEND, and the receive that it completes. */
static uint32_t send_alone(uint32_t len)
{
	struct unic_cqe cqe;
	uint32_t i, n;

	for (i = 0; i < 2; i++)
		rig_recv(&b, &qb, i, &mb, 0, len);
	unic_nic_poll(&b.nic);
	n = second_alone(UNIC_WR_SEND, len);
	for (i = 0; i < 2; i++) {
		assert_true(rig_cqe(&b, &qb, &cqe));
		assert_int_equal(unic_from_le32(cqe.byte_len), len);
	}
	return n;
}

static uint32_t writes(uint32_t batch, uint32_t len)
{
	uint32_t i, n;

	for (i = 0; i < batch; i++)
		rig_send(&a, &qa, UNIC_WR_WRITE, i, &ma, i * 8, len,
			 mb.iova + i * 8, mb.stag);
	MEASURE(n, pump());
	take(batch);
	return n;
}

/* Polls until the link has noticed that the other port sends. */
static void warm(void)
{
	uint32_t i;

	rig_send(&a, &qa, UNIC_WR_WRITE, 0, &ma, 0, 8, mb.iova, mb.stag);
	for (i = 0; i < 100; i++)
		pump();
	take(1);
}

/* A message has a cost of its own, and one for its start. The cost of each
 * packet behind the first is the difference of two long messages. */
static void paths(uint32_t copy_4096)
{
	/* one copy out of the host's memory, one into it */
	uint32_t copies = 2 * copy_4096, kib4, kib8, kib16, kib32;

	warm();
	report("write8_batch8_each", (writes(8, 8) + 7) / 8);
	report("write8_alone", writes(1, 8));
	kib4 = writes(1, 4096);
	kib8 = writes(1, 8192);
	kib16 = writes(1, 16384);
	kib32 = writes(1, 32768);
	report("second_4096", kib8 - kib4 - copies);
	report("further_4096", (kib32 - kib16 + 3) / 4 - copies);
	report("write8192_alone", kib8 - 2 * copies);
	report("send64_alone", send_alone(64));
	report("read8_alone", second_alone(UNIC_WR_READ, 8));
	report("atomic8_alone", second_alone(UNIC_WR_FETCH_ADD, 8));
}

/* The round that finds the command at @cmd, executes it and answers. */
static __attribute__((noinline)) uint32_t command_round(void *cmd)
{
	struct unic_driver_page *page =
		(void *)(a.port.bar + UNIC_BAR_DRIVER_OFF);
	struct unic_cmd_hdr *hdr = cmd;
	uint32_t n;

	hdr->epoch = unic_to_le32(a.nic.epoch);
	memcpy(a.port.bar + UNIC_BAR_CMD_OFF +
		       a.cmd_tail % UNIC_CMD_ENTRIES * 64,
	       cmd, 64);
	page->cmd_tail = unic_to_le32(++a.cmd_tail);
	a.nic.stale = 0;
	MEASURE(n, unic_nic_poll(&a.nic));
	page->cpl_head = unic_to_le32(++a.cpl_head);
	assert_int_equal(a.nic.mbox.cpl_tail, a.cpl_head);
	return n;
}

/* The command that `make bench` measures. */
static void command(void)
{
	struct unic_cmd_nop cmd = { .hdr = { .opcode = UNIC_CMD_NOP } };

	report("command_nop", command_round(&cmd));
}

/* A look around of an awake NIC that finds nothing: the mean over some polls,
 * each of which looks once, reads the clock, and looks again and again. */
#define IDLE_POLLS 16u
#define IDLE_LOOKS (IDLE_POLLS * (1 + UNIC_SPIN_LOOKS))

static __attribute__((noinline)) void idle_polls(void)
{
	uint32_t i;

	for (i = 0; i < IDLE_POLLS; i++)
		unic_nic_poll(&a.nic);
}

static uint32_t idle_poll(void)
{
	uint32_t n;

	rig_poll(&a);
	a.nic.armed = false;
	a.nic.idle_since_ns = a.port.now_ns;
	MEASURE(n, idle_polls());
	return (n + IDLE_LOOKS - 1) / IDLE_LOOKS;
}

static void idle(void)
{
	uint32_t one = idle_poll();

	report("idle_poll_1_process", one);
	rig_attach(&a, 1, 1);
	report("idle_poll_per_process", idle_poll() - one);
}

/* -------------------------------------------------- forms, tokens together */

static void form_alloc(uint32_t pd, uint8_t kind, uint32_t n,
		       struct unic_mr_result *out)
{
	struct unic_derived_alloc f = {
		.pd = (uint16_t)pd,
		.kind = kind,
		.page_shift = kind == UNIC_FORM_FAST ? 12 : 0,
		.n = n,
	};

	assert_int_equal(unic_derived_alloc(&a.nic.revoke, &f, out), 0);
}

/* The part of BIND_MW, REG_MR or a list behind the fetch of the work
 * request: makes a form of @n runs of @bytes, each the beginning of region @mr.
 */
static uint32_t make(uint32_t pd, const struct rig_mr *mr, uint32_t n,
		     uint32_t bytes, struct unic_mr_result *form)
{
	struct unic_sge list[4];
	struct unic_derived_plan plan = {
		.stag = form->stag,
		.pd = (uint16_t)pd,
		.kinds = 0xff,
		.rights = UNIC_MR_REMOTE_READ,
		.n = n,
		.list = list,
	};
	uint32_t i, insns;
	int err;

	for (i = 0; i < n; i++)
		list[i] = (struct unic_sge){
			.iova = unic_to_le64(mr->iova),
			.len = unic_to_le32(bytes),
			.lkey = unic_to_le32(mr->stag),
		};
	MEASURE(insns, err = unic_derived_make(&a.nic.memory, &plan));
	assert_int_equal(err, 0);
	form->stag &= ~0xffu;
	return insns;
}

static uint32_t form_access(const struct unic_mr_result *form, uint32_t pd,
			    uint64_t iova)
{
	struct unic_xlate piece;
	uint32_t insns;
	int err;

	MEASURE(insns,
		err = unic_access(&a.nic.memory, form->stag, (uint16_t)pd,
				  UNIC_MR_REMOTE_READ, iova, 8, &piece));
	assert_int_equal(err, 0);
	return insns;
}

/* A command with @n allocations of tokens. */
static uint32_t token_batch(uint32_t pd, const struct rig_mr *mr, uint32_t n)
{
	struct unic_cmd_token_alloc alloc = {
		.hdr = { .opcode = UNIC_CMD_TOKEN_ALLOC },
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(mr->stag),
		.iova = unic_to_le64(mr->iova),
		.length = unic_to_le32(64),
	};
	struct unic_cmd_batch cmd = {
		.hdr = { .opcode = UNIC_CMD_TOKEN_BATCH,
			 .epoch = unic_to_le32(a.nic.epoch) },
		.count = unic_to_le32(n),
	};
	uint32_t slot = a.cmd_tail % UNIC_CMD_ENTRIES, i, insns;
	uint8_t *list = a.port.bar + UNIC_BAR_LIST_OFF + slot * UNIC_LIST_BYTES;
	struct unic_driver_page *page =
		(void *)(a.port.bar + UNIC_BAR_DRIVER_OFF);

	while (a.nic.mrs.draw_in) /* what registrations left to do */
		unic_nic_poll(&a.nic);
	for (i = 0; i < n; i++)
		memcpy(list + 64 * i, &alloc, 64);
	memcpy(a.port.bar + UNIC_BAR_CMD_OFF + slot * 64, &cmd, 64);
	page->cmd_tail = unic_to_le32(++a.cmd_tail);
	a.nic.stale = 0;
	MEASURE(insns, unic_nic_poll(&a.nic));
	page->cpl_head = unic_to_le32(++a.cpl_head);
	assert_int_equal(a.nic.mbox.cpl_tail, a.cpl_head);
	for (i = 0; i < n; i++)
		assert_int_equal(list[64 * i + 1], UNIC_ST_OK);
	return insns;
}

static void forms_and_tokens(void)
{
	struct unic_cmd_mr_rereg rights = { .what = UNIC_REREG_RIGHTS,
					    .rights = UNIC_MR_RIGHTS_ALL };
	struct unic_mr_result window, fast, list;
	struct rig_mr mr;
	uint32_t one, pd;

	rig_reset(&a); /* an empty table */
	a.next_page[0] = 2;
	rig_attach(&a, 0, 1);
	pd = rig_pd(&a, 0);
	a.nic.trace.mask = 0;
	assert_int_equal(rig_reg(&a, 0, pd, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	rights.mr = unic_to_le32(mr.mr);
	rights.gen = unic_to_le32(mr.gen);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_REREG, &rights, NULL), 0);
	form_alloc(pd, UNIC_FORM_WINDOW2, 0, &window);
	report("bind_mw", make(pd, &mr, 1, 4096, &window));
	form_alloc(pd, UNIC_FORM_FAST, 4, &fast);
	report("reg_mr_4_pages", make(pd, &mr, 1, 4 * 4096, &fast));
	form_alloc(pd, UNIC_FORM_INDIRECT, 4, &list);
	report("indirect_make_4", make(pd, &mr, 4, 1000, &list));
	report("indirect_first", form_access(&list, pd, 0));
	report("indirect_same", form_access(&list, pd, 100));
	report("indirect_next_element", form_access(&list, pd, 3000));
	one = token_batch(pd, &mr, 1);
	report("token_batch_1", one);
	report("token_batch_each", (token_batch(pd, &mr, 33) - one + 31) / 32);
}

/* -------------------------------------------------------------- registering */

static uint32_t registration(uint32_t pd, uint32_t pages)
{
	struct unic_mr_result res;
	struct unic_mr_args args = {
		.pd = (uint16_t)pd,
		.rights = UNIC_MR_LOCAL_WRITE,
		.page_shift = 12,
		.flags = UNIC_REG_LIST,
		.iova = 0x40000000,
		.length = pages * 4096ull,
		.n_pages = pages,
	};
	uint32_t i, n;
	int err;

	for (i = 0; i < pages; i++)
		a.nic.list[i] = UNIC_BUS(0, (16 + i) * 4096ull);
	while (a.nic.mrs.draw_in) /* as the rounds before do */
		unic_mr_draw(&a.nic.memory);
	MEASURE(n, err = unic_mr_reg(&a.nic.revoke, &args, a.nic.list, &res));
	assert_int_equal(err, 0);
	assert_int_equal(unic_mr_dereg(&a.nic.revoke, res.mr, res.gen), 0);
	return n;
}

static void registering(uint32_t pd)
{
	uint32_t one = registration(pd, 1), many = registration(pd, 257);

	report("register_1_page", one);
	report("register_per_page", (many - one + 255) / 256);
}

/* The victim: the process that holds most for its share, then its region. */
static __attribute__((noipa)) uint16_t decide(struct unic_nic *nic,
					      uint32_t proc, uint32_t n)
{
	uint32_t from = unic_share_victim(&nic->share, proc, n);

	return unic_reclaim_pick(&nic->revoke, from, n, true);
}

/* As in nic.c, with nothing to cut. */
static __attribute__((noipa)) void evict_step(struct unic_nic *nic)
{
	if (unic_evict_deadlines(&nic->revoke))
		unic_evict_poll(&nic->revoke);
}

/* A waiter is queued: the decision, and the step that acts on it four times. */
static void decision(uint32_t pd)
{
	struct rig_mr mr;
	uint32_t pd1 = rig_pd(&a, 1), n, victim;

	while (rig_reg(&a, 0, pd, 8, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mr) ==
	       UNIC_ST_OK)
		;
	assert_int_equal(rig_reg(&a, 1, pd1, 8, UNIC_CLASS_RDMA, UNIC_REG_WAIT,
				 0, &mr),
			 UNIC_ST_PENDING);
	a.nic.now_ns += 10000000;
	MEASURE(n, victim = decide(&a.nic, 1, 8));
	assert_int_equal(a.nic.mrs.mr[victim].proc, 0);
	report("eviction_decision", n);
	MEASURE(n, evict_step(&a.nic));
	assert_int_equal(a.nic.notices.open, 4);
	report("reaper_step_4_notices", n);
	report("notice_each", n / 4);
	a.nic.evict_due = false;
	MEASURE(n, unic_evict_deadlines(&a.nic.revoke));
	report("reaper_idle", n);
}

/* Counts an access to @page. */
static uint32_t touch(const struct rig_mr *mr, uint32_t pd, uint32_t page,
		      int want)
{
	struct unic_xlate piece;
	uint32_t n;
	int err;

	MEASURE(n, err = unic_access(&a.nic.memory, mr->stag, (uint16_t)pd, 0,
				     mr->iova + page * 4096ull, 64, &piece));
	assert_int_equal(err, want);
	return n;
}

/* Entries that come and go: in the page used last, in another one, missing; and
 * what the driver's answer costs for each page. */
static void cached(uint32_t pd)
{
	uint64_t pages[17];
	struct unic_cmd_mr_fault cmd = { .count = unic_to_le32(1) };
	struct rig_mr demand, table;
	uint32_t i, n, more, done;

	for (i = 0; i < 32; i++)
		rig_table(&a, i, 0, 16 + i);
	for (i = 0; i < 17; i++)
		pages[i] = UNIC_BUS(0, (16 + i) * 4096ull);
	assert_int_equal(rig_reg_cached(&a, pd, 32, UNIC_TABLE, 0, &table), 0);
	assert_int_equal(rig_reg_cached(&a, pd, 32, UNIC_DEMAND, 0, &demand),
			 0);
	report("table_miss", touch(&table, pd, 1, 0));
	report("cached_hit", touch(&table, pd, 1, 0));
	touch(&table, pd, 2, 0);
	report("cached_hit_other_page", touch(&table, pd, 1, 0));
	report("demand_miss", touch(&demand, pd, 1, -UNIC_EMISS));
	rig_poll(&a);
	cmd.mr = unic_to_le32(demand.mr);
	cmd.gen = unic_to_le32(demand.gen);
	cmd.first = unic_to_le32(1);
	MEASURE(n, unic_fault_refused(&a.nic.memory, &cmd, pages, &done));
	assert_int_equal(done, 1);
	report("demand_fill_1_page", n);
	cmd.first = unic_to_le32(2);
	cmd.count = unic_to_le32(17);
	MEASURE(more, unic_fault_refused(&a.nic.memory, &cmd, pages, &done));
	assert_int_equal(done, 17);
	report("demand_fill_per_page", (more - n + 15) / 16);
	MEASURE(n, done = unic_cache_take(&a.nic.memory, 0, 8));
	assert_int_equal(done, 8);
	report("cache_drop_each", (n + 7) / 8);
	assert_int_equal(rig_dereg(&a, &demand), 0);
	assert_int_equal(rig_dereg(&a, &table), 0);
}

/* The rounds of a WRITE whose page is not on the NIC (`make bench
 * PART=miss`): until the page is asked for, and from the answer until the
 * packet is out. */
static __attribute__((noinline)) void missing_round(void)
{
	unic_nic_poll(&a.nic);
}

static void missing(uint32_t pd)
{
	struct unic_cmd_mr_fault cmd = {
		.hdr = { .opcode = UNIC_CMD_MR_FAULT },
		.count = unic_to_le32(1),
	};
	struct rig_mr demand;
	struct unic_evt_miss evt;
	uint64_t bus = UNIC_BUS(0, 16 * 4096ull);
	uint32_t n;

	assert_int_equal(rig_reg_cached(&a, pd, 1, UNIC_DEMAND, 0, &demand), 0);
	rig_poll(&a);
	while (rig_event(&a, &evt))
		; /* events of earlier regions */
	rig_send(&a, &qa, UNIC_WR_WRITE, 0, &demand, 0, 8, mb.iova, mb.stag);
	a.nic.stale = 0;
	MEASURE(n, missing_round());
	rig_expect(&a, UNIC_EVT_MISS, &evt);
	report("demand_miss_round", n);
	cmd.mr = evt.mr;
	cmd.gen = evt.gen;
	memcpy(rig_list(&a), &bus, sizeof(bus));
	report("demand_answer_round", command_round(&cmd));
	pump();
	take(1);
	assert_int_equal(rig_dereg(&a, &demand), 0);
}

static void crc(void)
{
	static uint32_t frame[256];
	volatile uint32_t sink;
	uint32_t n;

	MEASURE(n,
		sink = unic_crc32(~0u, (const uint8_t *)frame, sizeof(frame)));
	(void)sink;
	report("icrc_per_100_bytes", n * 100 / sizeof(frame));
}

static void all(void **state)
{
	uint32_t copy_4096;

	(void)state;
	count_init();
	MEASURE(empty, );
	two_nics_up(8);
	lookups(&ma);
	refusals(&ma);
	tokens(&ma);
	rings();
	copy_4096 = copies();
	paths(copy_4096);
	command();
	idle();
	registering(pda);
	cached(pda);
	missing(pda);
	crc();
	decision(pda);
	forms_and_tokens();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_hostile.c - a hostile host: every command with every field wrong, wild
 * ring indices and doorbells, a process that writes random bytes over its
 * queues, a driver that never reads. The NIC answers with the exact status and
 * counts the error; other processes are not affected.
 */
#include "command/cmd.h"
#include "command/proc.h"
#include "rig.h"
#include "unit.h"

static struct rig a, b;
static uint64_t seed;

static uint64_t rnd(void) /* splitmix64 */
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* The sums of the pool agree: free + reserved + used = all entries. */
static void check_books(const struct rig *r)
{
	uint32_t i, used = 0, held = 0, owned = 0;

	for (i = 0; i < UNIC_TLB_ENTRIES; i++)
		used += r->nic.tlb.entry[i].tag != UNIC_TLB_NO_TAG;
	assert_int_equal(used + r->nic.tlb.free + r->nic.tlb.reserved,
			 UNIC_TLB_ENTRIES);
	for (i = 0; i < UNIC_MRS; i++) {
		const struct unic_mr_ctx *m = &r->nic.mrs.mr[i];

		if (m->state != UNIC_MR_FREE && m->state != UNIC_MR_EVICTED)
			held += m->n_pages;
	}
	for (i = 0; i < UNIC_PROCS; i++)
		owned += r->nic.share.owner[i].held;
	assert_int_equal(held, used + r->nic.tlb.reserved);
	assert_int_equal(owned, held);
}

static void still_alive(struct rig *r)
{
	struct unic_cmd_nop nop = { .data = unic_to_le64(rnd()) }, cpl;

	assert_int_equal(rig_cmd(r, UNIC_CMD_NOP, &nop, &cpl), UNIC_ST_OK);
	assert_true(cpl.data == nop.data);
}

static const uint8_t opcodes[] = {
	UNIC_CMD_NOP,	      UNIC_CMD_SET_PARAMS,    UNIC_CMD_HOST_TIME,
	UNIC_CMD_SET_ADDR,    UNIC_CMD_ENTROPY,	      UNIC_CMD_PROC_ATTACH,
	UNIC_CMD_PROC_DETACH, UNIC_CMD_PROC_SET,      UNIC_CMD_RATE,
	UNIC_CMD_PD_ALLOC,    UNIC_CMD_PD_FREE,	      UNIC_CMD_MR_REG,
	UNIC_CMD_MR_FILL,     UNIC_CMD_MR_DEREG,      UNIC_CMD_WAIT_CANCEL,
	UNIC_CMD_NOTICE_ACK,  UNIC_CMD_NOTICE_ANSWER, UNIC_CMD_MR_EVICT,
	UNIC_CMD_TOKEN_ALLOC, UNIC_CMD_TOKEN_CANCEL,  UNIC_CMD_CQ_CREATE,
	UNIC_CMD_CQ_DESTROY,  UNIC_CMD_QP_CREATE,     UNIC_CMD_QP_MODIFY,
	UNIC_CMD_QP_DESTROY,  UNIC_CMD_ARP_RESOLVE,   UNIC_CMD_MAD_SEND,
	UNIC_CMD_QUERY_USAGE, UNIC_CMD_DUMP,	      UNIC_CMD_TRACE_CTL,
	UNIC_CMD_DB_ACK,      UNIC_CMD_MR_FAULT,      UNIC_CMD_MR_INVALIDATE,
	UNIC_CMD_MR_ADVISE,   UNIC_CMD_MR_ALLOC,      UNIC_CMD_MR_MAKE,
	UNIC_CMD_MR_INVAL,    UNIC_CMD_MR_REREG,      UNIC_CMD_MR_BATCH,
	UNIC_CMD_TOKEN_BATCH, UNIC_CMD_MR_FORMS,      UNIC_CMD_SRQ_CREATE,
	UNIC_CMD_SRQ_MODIFY,  UNIC_CMD_SRQ_DESTROY,   UNIC_CMD_CQ_RESIZE,
};
#define OPCODES (sizeof(opcodes) / sizeof(opcodes[0]))

static void unknown_opcodes_are_refused(void **state)
{
	uint32_t op, i;
	uint8_t rec[64];

	(void)state;
	rig_up(&a, 1);
	for (op = 0; op < 256; op++) {
		bool known = op == UNIC_CMD_FAULT;

		for (i = 0; i < OPCODES; i++)
			known |= opcodes[i] == op;
		memset(rec, 0, sizeof(rec));
		if (!known)
			assert_int_equal(rig_cmd(&a, (uint8_t)op, rec, NULL),
					 UNIC_ST_BAD_OPCODE);
	}
	still_alive(&a);
}

/* The last byte of every command is reserved, and must be zero. */
static void reserved_bytes_must_be_zero(void **state)
{
	uint8_t rec[64];
	uint32_t i;

	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	for (i = 0; i < OPCODES; i++) {
		memset(rec, 0, sizeof(rec));
		rec[63] = 1;
		assert_int_equal(rig_cmd(&a, opcodes[i], rec, NULL),
				 UNIC_ST_INVALID);
	}
	assert_int_equal(rig_count(&a, commands_failed), OPCODES);
	check_books(&a);
}

/* Executes each command of epoch @epoch, whose bytes behind the header are all
 * @fill: the status is STALE_EPOCH, and nothing is answered beside the header. */
static void refused_of_epoch(uint32_t epoch, uint8_t fill)
{
	static const uint8_t nothing[64 - sizeof(struct unic_cmd_hdr)];
	union {
		struct unic_cmd_hdr hdr;
		uint64_t word[8]; /* it is aligned as a record is */
	} rec, cpl;
	uint32_t i;

	for (i = 0; i < OPCODES; i++) {
		memset(&rec, fill, sizeof(rec));
		rec.hdr = (struct unic_cmd_hdr){ .opcode = opcodes[i],
						 .epoch = unic_to_le32(epoch) };
		unic_cmd_execute(&a.nic.command, &rec, &cpl,
				 a.port.bar + UNIC_BAR_LIST_OFF);
		assert_int_equal(cpl.hdr.status, UNIC_ST_STALE_EPOCH);
		assert_int_equal(unic_from_le32(cpl.hdr.epoch), a.nic.epoch);
		assert_memory_equal((uint8_t *)&cpl + sizeof(cpl.hdr), nothing,
				    sizeof(nothing));
	}
}

/* The NIC refuses commands of the epoch before, of the next one, of epochs that
 * differ in one bit, and of epoch 0. It compares the epoch before it looks at
 * the fields, so a command that is wrong in another way gets the same status. */
static void other_epochs_are_refused(void **state)
{
	uint32_t epoch, i;

	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	epoch = a.nic.epoch;
	for (i = 0; i < 2; i++) {
		refused_of_epoch(epoch - 1, i ? 0xff : 0);
		refused_of_epoch(epoch + 1, i ? 0xff : 0);
		refused_of_epoch(epoch ^ 0x80000000, i ? 0xff : 0);
		refused_of_epoch(epoch ^ 0x10000, i ? 0xff : 0);
		refused_of_epoch(0, i ? 0xff : 0);
	}
	assert_int_equal(rig_count(&a, commands_failed), 10 * OPCODES);
	assert_int_equal(a.nic.epoch, epoch);
	check_books(&a);
	still_alive(&a);
}

/* A process with a queue pair and a region, so that commands find objects. */
static void world_up(struct rig_qp *qp, struct rig_mr *mr, uint32_t *pd)
{
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	*pd = rig_pd(&a, 0);
	rig_qp(&a, 0, *pd, 0, qp);
	assert_int_equal(rig_reg(&a, 0, *pd, 2, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, mr),
			 0);
}

static const uint32_t wrong[] = { 1,	      2,	 0x7f,	     0x80,
				  0xff,	      0x100,	 0x7fff,     0x8000,
				  0xffff,     0x10000,	 0x7fffffff, 0x80000000,
				  0xfffffffe, 0xffffffff };

/* Every command with one wrong value, at each even offset: the NIC answers, its
 * accounts agree, and it goes on. */
static void every_field_wrong(void **state)
{
	struct unic_info *info = (struct unic_info *)a.port.bar;
	struct rig_qp qp;
	struct rig_mr mr;
	uint32_t pd, i, at, w;
	uint8_t rec[64], status;

	(void)state;
	for (i = 0; i < OPCODES; i++) {
		world_up(&qp, &mr, &pd);
		for (at = 8; at < 64; at += 2)
			for (w = 0; w < sizeof(wrong) / sizeof(wrong[0]); w++) {
				memset(rec, 0, sizeof(rec));
				memcpy(rec + at, &wrong[w], at < 61 ? 4 : 2);
				status = rig_cmd(&a, opcodes[i], rec, NULL);
				assert_true(status <= UNIC_ST_STALE);
			}
		check_books(&a);
		still_alive(&a);
		assert_int_equal(unic_from_le32(info->state), UNIC_NIC_READY);
	}
}

/* Random commands with plausible values: the NIC answers each, its accounts
 * agree, and it goes on. */
static void random_commands(void **state)
{
	struct rig_qp qp;
	struct rig_mr mr;
	uint32_t pd, i, k, n;
	uint8_t rec[64], evt[64];

	(void)state;
	seed = 1;
	world_up(&qp, &mr, &pd);
	for (i = 0; i < 20000; i++) {
		memset(rec, 0, sizeof(rec));
		n = (uint32_t)(rnd() % 12);
		for (k = 0; k < n; k++)
			rec[8 + rnd() % 56] =
				(uint8_t)(rnd() % 5 ? rnd() % 4 : rnd());
		rig_cmd(&a, opcodes[rnd() % OPCODES], rec, NULL);
		while (rig_event(&a, evt))
			;
		if (a.nic.state != UNIC_NIC_READY || i % 1000 == 999) {
			check_books(&a);
			rig_reset(&a);
		}
	}
	still_alive(&a);
}

static void wild_ring_indices(void **state)
{
	struct unic_driver_page *d =
		(struct unic_driver_page *)(a.port.bar + UNIC_BAR_DRIVER_OFF);
	static const uint32_t bad[] = { 0x80000000, 65, 1000, 0xffffffff };
	uint32_t i, before;

	(void)state;
	rig_up(&a, 1);
	for (i = 0; i < 4; i++) {
		before = (uint32_t)rig_count(&a, commands);
		d->cmd_tail = unic_to_le32(a.cmd_tail + bad[i]);
		rig_run(&a, 1000000);
		assert_int_equal(rig_count(&a, commands), before);
		d->cmd_tail = unic_to_le32(a.cmd_tail);
		rig_run(&a, 1000000);
	}
	assert_true(rig_count(&a, mbox_bad_index) >= 4);
	d->cpl_head = unic_to_le32(a.cpl_head + 77);
	d->evt_head = unic_to_le32(a.evt_head + 77);
	still_alive(&a);
	d->cpl_head = unic_to_le32(a.cpl_head);
	d->evt_head = unic_to_le32(a.evt_head);
	still_alive(&a);
}

/* A driver that reads no completion stops commands and nothing else. */
static void completions_never_read(void **state)
{
	struct unic_driver_page *d =
		(struct unic_driver_page *)(a.port.bar + UNIC_BAR_DRIVER_OFF);
	struct unic_cmd_hdr *slot;
	uint32_t i;

	(void)state;
	rig_up(&a, 1);
	for (i = 0; i < UNIC_CMD_ENTRIES; i++) {
		slot = (struct unic_cmd_hdr *)(a.port.bar + UNIC_BAR_CMD_OFF +
					       (a.cmd_tail + i) %
						       UNIC_CMD_ENTRIES * 64);
		memset(slot, 0, 64);
		slot->opcode = UNIC_CMD_NOP;
		slot->epoch = unic_to_le32(a.nic.epoch);
	}
	d->cmd_tail = unic_to_le32(a.cmd_tail + UNIC_CMD_ENTRIES);
	rig_run(&a, 1000000);
	assert_int_equal(a.nic.mbox.cpl_tail - a.nic.mbox.cpl_head,
			 UNIC_CPL_ENTRIES);
	a.cmd_tail += UNIC_CMD_ENTRIES;
	a.cpl_head += UNIC_CPL_ENTRIES;
	d->cpl_head = unic_to_le32(a.cpl_head);
	still_alive(&a);
}

/*
 * A process writes random bytes over its doorbell page and its rings while
 * another one moves data: the data and queues of the other one stay correct,
 * and the NIC accesses nothing outside a window.
 */
static void scribbling_process_hurts_only_itself(void **state)
{
	struct rig_qp bad_a, bad_b, good_a, good_b;
	struct rig_mr bad, ma, mb;
	struct unic_cqe cqe;
	uint32_t pa, pb, qa, qb, i, k, done = 0;
	uint8_t evt[64];

	(void)state;
	seed = 7;
	rig_up(&a, 1);
	rig_up(&b, 2);
	fake_wire(&a.port, &b.port);
	for (i = 0; i < 2; i++) {
		rig_attach(&a, i, 1);
		rig_attach(&b, i, 1);
	}
	pa = rig_pd(&a, 0);
	pb = rig_pd(&b, 0);
	qa = rig_pd(&a, 1);
	qb = rig_pd(&b, 1);
	rig_qp(&a, 0, pa, 0, &bad_a);
	rig_qp(&b, 0, pb, 0, &bad_b);
	rig_connect(&a, &bad_a, &b, &bad_b);
	rig_qp(&a, 1, qa, 0, &good_a);
	rig_qp(&b, 1, qb, 0, &good_b);
	rig_connect(&a, &good_a, &b, &good_b);
	rig_reg(&a, 0, pa, 2, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &bad);
	rig_reg(&a, 1, qa, 2, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &ma);
	rig_reg(&b, 1, qb, 2, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0, &mb);
	for (i = 0; i < 300; i++) {
		/* random pages of the window */
		for (k = 0; k < 200; k++)
			a.port.window[0][rnd() % (16 * 4096)] = (uint8_t)rnd();
		for (k = 0; k < 8192; k++)
			ma.mem[k] = (uint8_t)(i + k);
		rig_send(&a, &good_a, UNIC_WR_WRITE, i, &ma, 0, 8192, mb.iova,
			 mb.stag);
		rig_run2(&a, &b, 30000000);
		while (rig_cqe(&a, &good_a, &cqe)) {
			assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
			assert_int_equal(unic_from_le64(cqe.wr_id), done);
			done++;
		}
		assert_memory_equal(ma.mem, mb.mem, 8192);
		while (rig_event(&a, evt) || rig_event(&b, evt))
			;
	}
	assert_int_equal(done, 300);
	assert_int_equal(a.port.dma_refused, 0);
	check_books(&a);
	still_alive(&a);
}

/* Events are not lost when the driver reads late (INV-11). */
static void events_never_read_do_not_stop_evictions(void **state)
{
	struct unic_cmd_set_params params = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
	};
	struct unic_cmd_mr evict = { .hdr = { 0 } };
	struct rig_mr mr;
	uint32_t pd, i, evicted = 0;
	uint8_t rec[64];

	(void)state;
	rig_up(&a, 1);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_SET_PARAMS, &params, NULL), 0);
	rig_attach(&a, 0, 1);
	pd = rig_pd(&a, 0);
	/* messaging regions end without a notice: twice as many as the ring
	 * holds */
	for (i = 0; i < 2 * UNIC_EVT_ENTRIES; i++) {
		uint32_t room =
			UNIC_EVT_ENTRIES + UNIC_MRS - a.nic.stags.resting;

		assert_int_equal(rig_reg(&a, 0, pd, 1, UNIC_CLASS_MESSAGING,
					 UNIC_REG_LIST, 0, &mr),
				 i < room ? UNIC_ST_OK : UNIC_ST_MR_FULL);
		if (i >= room - 1)
			break;
		memset(&evict, 0, sizeof(evict));
		evict.mr = unic_to_le32(mr.mr);
		evict.gen = unic_to_le32(mr.gen);
		assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_EVICT, &evict, NULL),
				 UNIC_ST_OK);
		assert_int_equal(a.nic.tlb.free, UNIC_TLB_ENTRIES);
	}
	for (i = 0; i < 10; i++) {
		while (rig_event(&a, rec))
			evicted += ((struct unic_evt_hdr *)rec)->type ==
				   UNIC_EVT_EVICTED;
		rig_run(&a, 1000000);
	}
	assert_int_equal(evicted,
			 UNIC_EVT_ENTRIES + UNIC_MRS - a.nic.stags.resting - 1);
	check_books(&a);
}

/* Other events leave room in the event ring for those of evictions, which the
 * NIC can send though the driver reads nothing. */
static void news_leave_room_for_evictions(void **state)
{
	struct unic_evt_obj news = { .hdr.type = UNIC_EVT_DB_ERROR };
	struct unic_cmd_mr evict = { .hdr = { 0 } };
	struct rig_mr mr[8];
	uint8_t rec[64];
	uint32_t pd, i, n, told = 0;

	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	pd = rig_pd(&a, 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(rig_reg(&a, 0, pd, 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &mr[i]),
				 UNIC_ST_OK);
	for (n = 0; unic_mbox_event(&a.nic.base, &news); n++)
		;
	assert_int_equal(n, UNIC_EVT_ENTRIES - UNIC_EVT_RESERVED);
	for (i = 0; i < 8; i++) {
		evict.mr = unic_to_le32(mr[i].mr);
		evict.gen = unic_to_le32(mr[i].gen);
		assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_EVICT, &evict, NULL),
				 UNIC_ST_OK);
	}
	rig_poll(&a);
	assert_int_equal(a.nic.evict.evts_due, 0);
	while (rig_event(&a, rec))
		told += rec[0] == UNIC_EVT_NOTICE;
	assert_int_equal(told, 8);
}

/*
 * A driver that never reads its completion ring, so that no further command is
 * executed, does not stop an eviction by the reaper.
 */
static void completions_never_read_do_not_stop_evictions(void **state)
{
	struct unic_driver_page *d =
		(struct unic_driver_page *)(a.port.bar + UNIC_BAR_DRIVER_OFF);
	struct unic_cmd_set_params params = {
		.low_entries = unic_to_le32(4),
		.high_entries = unic_to_le32(8),
		.residence_us = unic_to_le32(1),
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
	};
	struct unic_cmd_hdr *slot;
	struct unic_evt_mr evt;
	struct rig_mr mr;
	uint32_t pd, i;

	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	rig_attach(&a, 1, 1);
	pd = rig_pd(&a, 0);
	assert_int_equal(rig_reg(&a, 1, rig_pd(&a, 1), 4, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mr),
			 UNIC_ST_OK); /* the share of process 0 is a half */
	while (rig_reg(&a, 0, pd, 4, UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0,
		       &mr) == UNIC_ST_OK)
		;
	assert_int_equal(a.nic.tlb.free, 0);
	for (i = 0; i < UNIC_CMD_ENTRIES; i++) {
		slot = (struct unic_cmd_hdr *)(a.port.bar + UNIC_BAR_CMD_OFF +
					       (a.cmd_tail + i) %
						       UNIC_CMD_ENTRIES * 64);
		memset(slot, 0, 64);
		slot->opcode = UNIC_CMD_NOP;
		slot->epoch = unic_to_le32(a.nic.epoch);
		if (i == 0) {
			params.hdr = (struct unic_cmd_hdr){
				.opcode = UNIC_CMD_SET_PARAMS,
				.epoch = unic_to_le32(a.nic.epoch),
			};
			memcpy(slot, &params, sizeof(params));
		}
	}
	d->cmd_tail = unic_to_le32(a.cmd_tail + UNIC_CMD_ENTRIES);
	rig_run(&a, 20000000);
	assert_int_equal(a.nic.mbox.cpl_tail - a.nic.mbox.cpl_head,
			 UNIC_CPL_ENTRIES);
	assert_true(a.nic.tlb.free >= 8);
	assert_true(rig_event(&a, &evt));
	assert_int_equal(evt.hdr.type, UNIC_EVT_EVICTED);
	a.cmd_tail += UNIC_CMD_ENTRIES;
	a.cpl_head += UNIC_CPL_ENTRIES;
	d->cpl_head = unic_to_le32(a.cpl_head);
	still_alive(&a);
}

#define MS 1000000ull

static uint8_t db_ack(uint32_t proc)
{
	struct unic_cmd_db_ack ack = { .proc = unic_to_le32(proc) };

	return rig_cmd(&a, UNIC_CMD_DB_ACK, &ack, NULL);
}

/* Rings for a row that no queue has. Returns the number of events for it. */
static uint32_t ring_nothing(uint32_t proc, uint32_t row, uint64_t ns)
{
	struct unic_evt_obj evt;
	uint32_t n = 0;

	rig_ring(&a, proc, UNIC_DB_RQ, row, 1);
	rig_run(&a, ns);
	while (rig_event(&a, &evt)) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_DB_ERROR);
		assert_int_equal(unic_from_le16(evt.hdr.proc), proc);
		assert_int_equal(unic_from_le32(evt.id),
				 UNIC_DB_WORD(UNIC_DB_RQ, row, 0));
		n++;
	}
	return n;
}

static void bad_doorbells_are_told_once(void **state)
{
	uint32_t i;

	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	rig_attach(&a, 1, 1);
	assert_int_equal(ring_nothing(0, 9, MS), 1);
	for (i = 0; i < 2000; i++)
		assert_int_equal(ring_nothing(0, 10, MS), 0);
	assert_int_equal(ring_nothing(1, 11, MS), 1); /* another process */
	assert_int_equal(rig_count(&a, db_bad), 2002);
	assert_int_equal(db_ack(2), UNIC_ST_NO_PROC);
	assert_int_equal(db_ack(0), UNIC_ST_OK);
	assert_int_equal(ring_nothing(0, 12, MS), 1);
	/* too soon after the last: no event yet */
	assert_int_equal(db_ack(0), UNIC_ST_OK);
	assert_int_equal(ring_nothing(0, 13, 990 * MS), 0);
	assert_int_equal(ring_nothing(0, 13, 20 * MS), 1);
}

/* fifo_seq was ahead when the NIC looked, and is back when the NIC reads: the
 * NIC takes no word, instead of 2^32 of them. */
static void doorbell_count_that_goes_back(void **state)
{
	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	assert_int_equal(ring_nothing(0, 9, MS), 1);
	unic_proc_take(&a.nic.command, 0);
	assert_int_equal(rig_count(&a, db_bad), 1);
	still_alive(&a);
}

/* --------------------------- a process that rings faster than the NIC reads */

static struct rig_qp bells;
/* words that the process appends while the NIC takes others */
static uint32_t to_append;
static bool half_way; /* and one more, not published */

static struct unic_db_page *bell_page(void)
{
	return (void *)a.port.window[0];
}

/* The first half of a ring: stores the word, without publishing its number. */
static void store_word(enum unic_db_kind kind)
{
	bell_page()->fifo[a.fifo_seq[0] % UNIC_DB_FIFO] =
		unic_to_le32(UNIC_DB_WORD(kind, bells.row, 0));
}

static void publish_word(void)
{
	bell_page()->fifo_seq = unic_to_le32(++a.fifo_seq[0]);
}

static void append_words(uint32_t n)
{
	for (; n; n--) {
		store_word(UNIC_DB_RQ);
		publish_word();
	}
	if (half_way)
		store_word(UNIC_DB_RQ);
}

static void append_meanwhile(struct unic_port *port, uint32_t vector)
{
	uint32_t n = to_append;

	(void)vector;
	port->on_ring = NULL;
	append_words(n);
}

static uint32_t sends_seen(void)
{
	return a.nic.qps.qp[bells.qpn & 0xff].sq.tail;
}

static void take_all(void)
{
	while (unic_watch_moved(&a.nic.procs.watch[0]))
		unic_proc_take(&a.nic.command, 0);
}

static void bells_up(void)
{
	struct unic_cmd_qp_modify init = { .state = UNIC_QPS_INIT };

	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	rig_qp(&a, 0, rig_pd(&a, 0), 3, &bells);
	/* every arming is due at once */
	bell_page()->tail[bells.row].arm = unic_to_le32(0x7fffffff);
	init.qpn = unic_to_le32(bells.qpn); /* in RESET no doorbell counts */
	assert_int_equal(rig_cmd(&a, UNIC_CMD_QP_MODIFY, &init, NULL),
			 UNIC_ST_OK);
}

/* The NIC looks while a process has stored the next word over the oldest one
 * that the NIC has not taken, and has not published it: no doorbell is lost. */
static void a_doorbell_under_the_next_word(void **state)
{
	uint32_t behind, at;

	(void)state;
	bells_up();
	for (behind = 1; behind <= 2 * UNIC_DB_FIFO; behind++) {
		if (behind == 10)
			behind = UNIC_DB_FIFO - 3;
		if (behind == UNIC_DB_FIFO + 3)
			behind = 2 * UNIC_DB_FIFO;
		at = sends_seen() + 1;
		bell_page()->tail[bells.row].sq = unic_to_le32(at);
		store_word(UNIC_DB_SQ);
		publish_word();
		half_way = true;
		append_words(behind - 1);
		take_all();
		assert_int_equal(sends_seen(), at);
	}
	assert_int_equal(rig_count(&a, db_bad), 0);
}

/* The process rings while the NIC takes words, any number of words and half of
 * one more: no doorbell is lost. */
static void a_doorbell_while_words_are_taken(void **state)
{
	uint32_t n;

	(void)state;
	for (n = 0; n < 4 * UNIC_DB_FIFO; n++) {
		bells_up();
		store_word(UNIC_DB_ARM); /* the NIC answers with an interrupt */
		publish_word();
		append_words(1);
		bell_page()->tail[bells.row].sq = unic_to_le32(1);
		store_word(UNIC_DB_SQ);
		publish_word();
		to_append = n / 2;
		half_way = n & 1;
		a.port.on_ring = append_meanwhile;
		take_all();
		assert_null(a.port.on_ring);
		assert_int_equal(sends_seen(), 1);
		if (n == 20)
			n = 2 * UNIC_DB_FIFO - 20;
		if (n == 2 * UNIC_DB_FIFO + 20)
			n = 4 * UNIC_DB_FIFO - 4;
	}
}

static void bad_doorbell_waits_for_a_full_ring(void **state)
{
	struct unic_evt_obj evt = { .hdr.type = UNIC_EVT_QP_ERROR };
	uint32_t i, told = 0;

	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	for (i = 0; unic_mbox_event(&a.nic.base, &evt); i++)
		evt.hdr.type = UNIC_EVT_QP_ERROR;
	rig_ring(&a, 0, UNIC_DB_SQ, 50, 1);
	rig_run(&a, 5 * MS);
	while (rig_event(&a, &evt))
		assert_int_equal(evt.hdr.type, UNIC_EVT_QP_ERROR);
	rig_run(&a, 5 * MS);
	while (rig_event(&a, &evt))
		told += evt.hdr.type == UNIC_EVT_DB_ERROR;
	assert_int_equal(told, 1);
	/* a DB_ERROR that is due when its process ends is dropped */
	assert_int_equal(db_ack(0), UNIC_ST_OK);
	rig_ring(&a, 0, UNIC_DB_SQ, 50, 1);
	rig_run(&a, MS);
	assert_int_equal(a.nic.db_errors.due, 1);
	unic_proc_detach(&a.nic.command, 0);
	assert_int_equal(a.nic.db_errors.due, 0);
	rig_run(&a, 2000 * MS);
	assert_false(rig_event(&a, &evt));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_opcodes_are_refused),
		cmocka_unit_test(reserved_bytes_must_be_zero),
		cmocka_unit_test(other_epochs_are_refused),
		cmocka_unit_test(every_field_wrong),
		cmocka_unit_test(random_commands),
		cmocka_unit_test(wild_ring_indices),
		cmocka_unit_test(completions_never_read),
		cmocka_unit_test(scribbling_process_hurts_only_itself),
		cmocka_unit_test(events_never_read_do_not_stop_evictions),
		cmocka_unit_test(news_leave_room_for_evictions),
		cmocka_unit_test(completions_never_read_do_not_stop_evictions),
		cmocka_unit_test(bad_doorbells_are_told_once),
		cmocka_unit_test(doorbell_count_that_goes_back),
		cmocka_unit_test(a_doorbell_under_the_next_word),
		cmocka_unit_test(a_doorbell_while_words_are_taken),
		cmocka_unit_test(bad_doorbell_waits_for_a_full_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

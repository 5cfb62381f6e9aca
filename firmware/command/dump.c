/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* dump.c - rows of the tables, for unicctl. Changes no table; off the hot path. */
#include <string.h>

#include "command/dump.h"
#include "command/command.h"
#include "memory/cached_window.h"

#define ROWS (UNIC_BOX_LIST_BYTES / UNIC_ROW_BYTES)

#define UNIC_HIST_ROWS (UNIC_HIST_COUNT * UNIC_HIST_BUCKETS / UNIC_HIST_ROW)

/* Writes row @i and returns true; returns false if the row is free. */
typedef bool unic_row_fn(struct unic_command *nic, uint32_t i, void *row);

static bool tlb_row(struct unic_command *nic, uint32_t i, void *row)
{
	const struct unic_tlb_entry *e = &nic->tlb.entry[i];
	struct unic_row_tlb *r = row;
	const struct unic_mr_ctx *mr;

	if (e->tag == UNIC_TLB_NO_TAG)
		return false;
	mr = &nic->mrs.mr[unic_tlb_mr(e->tag)];
	r->index = unic_to_le32(i);
	r->mr = unic_to_le32(unic_tlb_mr(e->tag));
	r->page = unic_to_le32(
		e->tag - (unic_mr_cached(mr)
				  ? nic->cache.of[unic_tlb_mr(e->tag)].base
				  : mr->tlb_base));
	r->page_shift = unic_to_le32(mr->page_shift);
	r->bus = unic_to_le64(e->bus);
	return true;
}

static bool mr_row(struct unic_command *nic, uint32_t i, void *row)
{
	const struct unic_mr_ctx *m = &nic->mrs.mr[i];
	struct unic_row_mr *r = row;

	if (m->state == UNIC_MR_FREE)
		return false;
	r->index = unic_to_le32(i);
	r->gen = unic_to_le32(m->gen);
	r->stag = unic_to_le32(m->stag);
	r->proc = unic_to_le16(m->proc);
	r->dependents = unic_to_le16(
		(uint16_t)(m->n_tokens +
			   unic_dependents_count(&nic->memory, (uint16_t)i)));
	r->pd = unic_to_le16(m->pd);
	r->kind = nic->derived.form[i].kind;
	r->state = m->state;
	r->rights = m->rights;
	r->mr_class = m->mr_class;
	if (m->flags & UNIC_MR_F_PHYSICAL)
		r->mr_class |= UNIC_PHYSICAL << 4;
	if (unic_mr_cached(m)) {
		r->mr_class |=
			(nic->cache.of[i].demand ? UNIC_DEMAND : UNIC_TABLE)
			<< 4;
		r->misses = unic_to_le32(nic->cache.of[i].misses);
	}
	r->page_shift = unic_mr_over_cached(m) ? UNIC_MR_NO_PAGES
					       : m->page_shift;
	r->iova = unic_to_le64(m->iova);
	r->length = unic_to_le64(m->length);
	r->entries = unic_to_le32(m->state == UNIC_MR_EVICTED ? 0 : m->n_pages);
	r->holds = unic_to_le16(m->holds);
	r->dmas = unic_to_le16(m->dmas);
	r->uses = unic_to_le32(m->uses);
	r->bytes = unic_to_le64(unic_mr_bytes(m));
	return true;
}

static bool token_row(struct unic_command *nic, uint32_t i, void *row)
{
	const struct unic_token *t = &nic->tokens.token[i];
	struct unic_row_token *r = row;

	if (unic_token_state(t) == UNIC_TOKEN_S_FREE)
		return false;
	r->index = unic_to_le32(i);
	r->proc = unic_to_le32(t->proc);
	r->mr = unic_to_le32(t->mr);
	r->length = unic_to_le32(t->length);
	r->iova = unic_to_le64(t->iova);
	r->expires_ns = unic_to_le64(t->expires_ns);
	r->state = unic_to_le32(unic_token_state(t));
	r->end = unic_to_le32(t->end);
	r->sender_ipv4 = unic_to_le32((uint32_t)(t->sender >> 32));
	r->sender_qpn = unic_to_le32((uint32_t)t->sender);
	r->placed = unic_to_le32(t->placed);
	return true;
}

static uint32_t open_notices(const struct unic_command *nic, uint32_t proc)
{
	const struct unic_notices *n = &nic->notices;
	uint32_t i, open = 0;

	for (i = 0; i < UNIC_NOTICES; i++)
		open += n->notice[i].state != UNIC_NOTICE_FREE &&
			n->notice[i].owner == proc;
	return open;
}

static bool proc_row(struct unic_command *nic, uint32_t i, void *row)
{
	const struct unic_proc *p = &nic->procs.proc[i];
	const struct unic_share_owner *o = &nic->share.owner[i];
	struct unic_row_proc *r = row;

	if (!p->db)
		return false;
	r->proc = unic_to_le32(i);
	r->host_pid = unic_to_le32(p->host_pid);
	r->weight = unic_to_le32(o->weight);
	r->quota = unic_to_le32(o->quota);
	r->held = unic_to_le32(o->held);
	r->fair_share = unic_to_le32(unic_share_fair(&nic->share, i));
	r->wanted = unic_to_le32(o->wanted);
	r->control = unic_to_le32(nic->mrs.control[i].entries);
	r->mrs = unic_to_le32(p->mrs);
	r->qps = unic_to_le32(p->qps);
	r->tokens = unic_to_le32(nic->tokens.held[i]);
	r->notices = unic_to_le32(open_notices(nic, i));
	r->evictions = unic_to_le32(nic->evict.evictions[i]);
	r->policy = unic_to_le32(p->policy);
	r->longest_wait_us = unic_to_le32(nic->admission.longest_us[i]);
	r->late = unic_to_le32(nic->evict.late[i]);
	return true;
}

/* The instant that rows are of. */
static uint64_t rows_ns(const struct unic_command *nic)
{
	return UNIC_SNAPSHOT && nic->state == UNIC_NIC_HELD
		       ? nic->snapshot->since_ns
		       : nic->now_ns;
}

static bool wait_row(struct unic_command *nic, uint32_t i, void *row)
{
	const struct unic_wait *w = &nic->admission.wait[i];
	struct unic_row_wait *r = row;

	if (!w->id)
		return false;
	r->wait = unic_to_le32(w->id);
	r->proc = unic_to_le32(w->proc);
	r->entries = unic_to_le32(w->args.n_pages);
	r->age_us =
		unic_to_le32((uint32_t)((rows_ns(nic) - w->since_ns) / 1000));
	return true;
}

static bool qp_row(struct unic_command *nic, uint32_t i, void *row)
{
	if (!nic->qps.qp[i].used)
		return false;
	unic_qp_row(&nic->transport, i, row);
	return true;
}

static bool cq_row(struct unic_command *nic, uint32_t i, void *row)
{
	const struct unic_cq_ctx *cq = &nic->cqs.cq[i];
	struct unic_row_cq *r = row;

	if (!cq->used)
		return false;
	r->index = unic_to_le32(i);
	r->proc = unic_to_le32(cq->proc);
	r->pd = unic_to_le32(cq->pd);
	r->mr = unic_to_le32(cq->mr);
	r->iova = unic_to_le64(cq->iova);
	r->entries = unic_to_le32(cq->mask + 1);
	r->written = unic_to_le32(cq->tail);
	r->read = unic_to_le32(cq->ci);
	r->events = unic_to_le32(cq->events);
	r->arm = unic_to_le32(cq->arm);
	r->users = unic_to_le32(cq->users);
	r->armed = cq->armed;
	r->error = cq->error;
	r->db_index = cq->db_index;
	return true;
}

static bool histogram_row(struct unic_command *nic, uint32_t i, void *row)
{
	uint32_t which = i * UNIC_HIST_ROW / UNIC_HIST_BUCKETS, b;
	uint32_t first = i * UNIC_HIST_ROW % UNIC_HIST_BUCKETS;
	struct unic_row_histogram *r = row;

	_Static_assert(UNIC_HIST_BUCKETS % UNIC_HIST_ROW == 0, "whole rows");
	_Static_assert(UNIC_HIST_ROWS <= ROWS, "one command reads all");
	r->which = unic_to_le32(which);
	r->first = unic_to_le32(first);
	for (b = 0; b < UNIC_HIST_ROW; b++)
		r->count[b] =
			unic_to_le32(nic->histograms.count[which][first + b]);
	return true;
}

static const struct {
	unic_row_fn *write;
	uint32_t rows;
} tables[] = {
	[UNIC_TABLE_TLB] = { tlb_row, UNIC_TLB_ENTRIES },
	[UNIC_TABLE_MR] = { mr_row, UNIC_MRS },
	[UNIC_TABLE_TOKEN] = { token_row, UNIC_TOKENS },
	[UNIC_TABLE_QP] = { qp_row, UNIC_QPS },
	[UNIC_TABLE_CQ] = { cq_row, UNIC_CQS },
	[UNIC_TABLE_PROC] = { proc_row, UNIC_PROCS },
	[UNIC_TABLE_WAIT] = { wait_row, UNIC_WAITS },
	[UNIC_TABLE_HISTOGRAM] = { UNIC_HISTOGRAMS ? histogram_row : NULL,
				   UNIC_HIST_ROWS },
};

/* --------------------------------------------------------------- snapshots */

bool unic_dump_holds(const struct unic_command *nic,
		     const struct unic_cmd_dump *cmd)
{
	return unic_from_le32(cmd->snapshot) == nic->snapshot->number;
}

uint64_t unic_dump_until(const struct unic_command *nic)
{
	return nic->snapshot->since_ns + UNIC_SNAPSHOT_NS;
}

void unic_dump_resume(struct unic_command *nic)
{
	nic->state = UNIC_NIC_READY;
	nic->timers_ns = 0;
}

/* The number of a snapshot is never 0 or UNIC_SNAPSHOT_TAKE. */
static int take_snapshot(struct unic_command *nic)
{
	struct unic_snapshot *h = nic->snapshot;
	uint64_t now = unic_port_now_ns(nic->port);

	if (nic->state != UNIC_NIC_READY)
		return -UNIC_EFAILED;
	if (h->number && now - h->since_ns < 2ull * UNIC_SNAPSHOT_NS)
		return -UNIC_EBUSY;
	h->number = h->number + 1 < UNIC_SNAPSHOT_TAKE ? h->number + 1 : 1;
	h->since_ns = now;
	nic->now_ns = now;
	nic->state = UNIC_NIC_HELD;
	return 0;
}

/* Fills in what @cpl says of snapshot @number, or of the one that this takes. */
static int find_snapshot(struct unic_command *nic, uint32_t number,
			 struct unic_cpl_dump *cpl)
{
	const struct unic_snapshot *h = nic->snapshot;
	int err = 0;

	if (number == UNIC_SNAPSHOT_TAKE)
		err = take_snapshot(nic);
	else if (nic->state != UNIC_NIC_HELD)
		err = -UNIC_EEVICTED;
	if (err)
		return err;
	cpl->snapshot = unic_to_le32(h->number);
	cpl->time_ns = unic_to_le64(h->since_ns);
	return 0;
}

int unic_dump(struct unic_command *nic, const struct unic_cmd_dump *cmd,
	      uint8_t *list, struct unic_cpl_dump *cpl)
{
	uint32_t table = unic_from_le32(cmd->table);
	uint64_t row[UNIC_ROW_BYTES / 8];
	uint32_t n = 0, i;
	int err;

	i = unic_from_le32(cmd->first);
	if (table >= sizeof(tables) / sizeof(tables[0]) ||
	    !tables[table].write || i >= tables[table].rows)
		return -UNIC_EINVAL;
	if (UNIC_SNAPSHOT && cmd->snapshot) {
		err = find_snapshot(nic, unic_from_le32(cmd->snapshot), cpl);
		if (err)
			return err;
	}
	for (; i < tables[table].rows && n < ROWS; i++) {
		memset(row, 0, sizeof(row));
		if (!tables[table].write(nic, i, row))
			continue;
		memcpy(list + n * UNIC_ROW_BYTES, row, sizeof(row));
		n++;
	}
	cpl->rows = unic_to_le32(n);
	cpl->next = unic_to_le32(i < tables[table].rows ? i : 0);
	return 0;
}

/* CRC-32 (IEEE) without a table, since tables may be what is damaged. */
static unic_le32 table_sum(const void *table, size_t bytes)
{
	const uint8_t *p = table;
	uint32_t crc = ~0u, bit;

	while (bytes--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return unic_to_le32(~crc);
}

void unic_dump_crash(const struct unic_command *nic, struct unic_crash *out)
{
	out->epoch = unic_to_le32(nic->epoch);
	out->trace_seq = unic_to_le32(nic->trace.seq);
	out->table_sum[0] = table_sum(&nic->tlb, sizeof(nic->tlb));
	out->table_sum[1] = table_sum(&nic->mrs, sizeof(nic->mrs));
	out->table_sum[2] = table_sum(&nic->tokens, sizeof(nic->tokens));
	out->table_sum[3] = table_sum(&nic->qps, sizeof(nic->qps));
	out->table_sum[4] = table_sum(&nic->cqs, sizeof(nic->cqs));
	out->table_sum[5] = table_sum(&nic->procs, sizeof(nic->procs));
	out->table_sum[6] = table_sum(&nic->evict, sizeof(nic->evict));
}

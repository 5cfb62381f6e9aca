/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* srq.c - see srq.h. */
#include "transport/srq.h"

#include <string.h>

#include "memory/access.h"
#include "transport/rq_ring.h"
#include "transport/rq_sweep.h"
#include "transport/transport.h"

#define PAGE_BYTES 4096u /* no region has smaller pages */

/* A call: on a board without any, no comparison is always true. */
static uint32_t count_srqs(void)
{
	return UNIC_SRQS;
}

void unic_srq_init(struct unic_transport *nic)
{
	memset(&nic->srqs, 0, sizeof(nic->srqs));
}

/* The queue that a queue pair knows as @name, which is 1 + its index. */
static struct unic_srq_ctx *srq_of(struct unic_transport *nic, uint32_t name)
{
	return nic->srqs.srq + (name - 1);
}

static uint32_t index_of(const struct unic_transport *nic,
			 const struct unic_srq_ctx *srq)
{
	return (uint32_t)(srq - nic->srqs.srq);
}

/* The live queue @id of @proc, or NULL. */
static struct unic_srq_ctx *srq_find(struct unic_transport *nic, uint32_t proc,
				     uint32_t id)
{
	struct unic_srq_ctx *srq;

	if (id >= count_srqs())
		return NULL;
	srq = nic->srqs.srq + id;
	return srq->used && srq->proc == proc ? srq : NULL;
}

/* ------------------------------------------------------------------ events */

static bool publish_srq_event(struct unic_transport *nic,
			      const struct unic_srq_ctx *srq,
			      enum unic_evt_type type)
{
	struct unic_evt_obj evt = {
		.hdr = { .type = (uint8_t)type,
			 .proc = unic_to_le16(srq->proc) },
		.id = unic_to_le32(index_of(nic, srq)),
		.detail = unic_to_le32(type == UNIC_EVT_SRQ_ERROR ? srq->error
								  : 0u),
	};

	return unic_mbox_event(&nic->base, &evt);
}

static void queue_srq_event(struct unic_transport *nic,
			    struct unic_srq_ctx *srq, uint8_t evt)
{
	if (!srq->evt)
		nic->srqs.evts_due++;
	srq->evt |= evt;
	nic->chores = true;
}

/* False: the ring has no room. */
static bool publish_srq(struct unic_transport *nic, struct unic_srq_ctx *srq,
			uint8_t evt, enum unic_evt_type type)
{
	if (!(srq->evt & evt))
		return true;
	if (!publish_srq_event(nic, srq, type))
		return false;
	srq->evt &= (uint8_t)~evt;
	if (!srq->evt)
		nic->srqs.evts_due--;
	return true;
}

__attribute__((noinline, cold)) void unic_srq_events(struct unic_transport *nic)
{
	uint32_t i;

	for (i = 0; i < count_srqs(); i++) {
		struct unic_srq_ctx *srq = nic->srqs.srq + i;

		if (!publish_srq(nic, srq, UNIC_SRQ_EVT_ERROR,
				 UNIC_EVT_SRQ_ERROR) ||
		    !publish_srq(nic, srq, UNIC_SRQ_EVT_LIMIT,
				 UNIC_EVT_SRQ_LIMIT))
			return;
	}
}

static void fail_srq(struct unic_transport *nic, struct unic_srq_ctx *srq,
		     uint8_t error)
{
	if (srq->error)
		return;
	srq->error = error;
	queue_srq_event(nic, srq, UNIC_SRQ_EVT_ERROR);
}

/* Once for each arming. */
static void check_limit(struct unic_transport *nic, struct unic_srq_ctx *srq)
{
	if (srq->tail - srq->head >= srq->limit)
		return;
	srq->limit = 0;
	queue_srq_event(nic, srq, UNIC_SRQ_EVT_LIMIT);
}

/* ---------------------------------------------------------------- commands */

static int find_free_srq(const struct unic_transport *nic)
{
	uint32_t i;

	for (i = 0; i < count_srqs(); i++)
		if (!(nic->srqs.srq + i)->used)
			return (int)i;
	return -UNIC_ESRQFULL;
}

/* The ring must lie in a region that cannot be taken back while it is used. */
static int check_srq_ring(struct unic_transport *nic,
			  const struct unic_cmd_srq_create *cmd,
			  struct unic_xlate *piece)
{
	uint32_t pd = unic_from_le32(cmd->pd);
	uint32_t slots = unic_from_le32(cmd->slots);
	int r;

	if (pd >= UNIC_PDS || !unic_slot_live(&nic->base, nic->mrs.pd[pd].proc))
		return -UNIC_ENOPD;
	if (slots < 2 || slots > UNIC_QP_SLOTS || (slots & (slots - 1)) ||
	    (unic_from_le64(cmd->iova) & 63) ||
	    unic_from_le32(cmd->db_index) >= UNIC_BOX_DB_ROWS)
		return -UNIC_EINVAL;
	r = unic_access(&nic->memory, unic_from_le32(cmd->stag), (uint16_t)pd,
			0, unic_from_le64(cmd->iova), slots * UNIC_SLOT_BYTES,
			piece);
	if (r)
		return r;
	if (nic->mrs.mr[piece->mr].mr_class != UNIC_CLASS_CONTROL)
		return -UNIC_EINVAL;
	return 0;
}

/* The process sees how many of its receives were taken. */
static void publish_taken(struct unic_transport *nic,
			  const struct unic_srq_ctx *srq)
{
	UNIC_BOX_NIC_PAGE *np = nic->procs.proc[srq->proc].np;

	UNIC_WRITE_ONCE(*(np->srq_taken + srq->db_index),
			unic_to_le32(srq->head));
}

int unic_srq_create(struct unic_transport *nic,
		    const struct unic_cmd_srq_create *cmd)
{
	uint32_t pd = unic_from_le32(cmd->pd);
	uint32_t row = unic_from_le32(cmd->db_index);
	struct unic_xlate piece;
	struct unic_srq_ctx *srq;
	uint16_t proc;
	int idx, r;

	r = check_srq_ring(nic, cmd, &piece);
	if (r)
		return r;
	idx = find_free_srq(nic);
	if (idx < 0)
		return idx;
	proc = nic->mrs.pd[pd].proc;
	r = unic_slot_bind(&nic->base, proc, UNIC_DB_SQ, row,
			   (uint16_t)(UNIC_QPS + (uint32_t)idx));
	if (r)
		return r;
	srq = nic->srqs.srq + idx;
	memset(srq, 0, sizeof(*srq));
	srq->used = true;
	srq->iova = unic_from_le64(cmd->iova);
	srq->mask = unic_from_le32(cmd->slots) - 1;
	srq->mr = piece.mr;
	srq->proc = proc;
	srq->pd = (uint16_t)pd;
	srq->db_index = (uint8_t)row;
	unic_mr_queue_get(&nic->memory, srq->mr);
	nic->mrs.pd[pd].users++;
	nic->srqs.n++;
	publish_taken(nic, srq);
	return idx;
}

int unic_srq_modify(struct unic_transport *nic,
		    const struct unic_cmd_srq_modify *cmd)
{
	struct unic_srq_ctx *srq = srq_find(nic, unic_from_le32(cmd->proc),
					    unic_from_le32(cmd->id));
	uint32_t limit = unic_from_le32(cmd->limit);

	if (!srq)
		return -UNIC_ENOSRQ;
	if (limit > srq->mask + 1)
		return -UNIC_EINVAL;
	srq->limit = limit;
	check_limit(nic, srq);
	return 0;
}

/* The sweep may be at it, or have DMA of it in flight, which holds its region. */
static void sweep_forget(struct unic_transport *nic, uint32_t idx)
{
	struct unic_srqs *s = &nic->srqs;

	if (s->sweep_left == idx + 1)
		s->sweep_stale |= s->sweep_fetching;
}

static void destroy_srq(struct unic_transport *nic, struct unic_srq_ctx *srq)
{
	if (srq->evt)
		nic->srqs.evts_due--;
	srq->evt = 0;
	sweep_forget(nic, index_of(nic, srq));
	unic_slot_bind(&nic->base, srq->proc, UNIC_DB_SQ, srq->db_index,
		       UNIC_DB_NONE);
	unic_mr_queue_put(&nic->memory, srq->mr);
	nic->mrs.pd[srq->pd].users--;
	nic->srqs.n--;
	srq->used = false;
}

int unic_srq_destroy(struct unic_transport *nic, uint32_t proc, uint32_t id)
{
	struct unic_srq_ctx *srq = srq_find(nic, proc, id);

	if (!srq)
		return -UNIC_ENOSRQ;
	if (srq->users)
		return -UNIC_EBUSY;
	destroy_srq(nic, srq);
	return 0;
}

void unic_srq_proc_gone(struct unic_transport *nic, uint32_t proc)
{
	uint32_t i;

	for (i = 0; i < count_srqs() && nic->srqs.n; i++) {
		struct unic_srq_ctx *srq = nic->srqs.srq + i;

		if (!srq->used || srq->proc != proc)
			continue;
		UNIC_ASSERT(nic, !srq->users);
		destroy_srq(nic, srq);
	}
}

/* ------------------------------------------------------ queue pairs that use it */

int unic_srq_check(struct unic_transport *nic, uint32_t proc, uint32_t pd,
		   uint32_t name)
{
	const struct unic_srq_ctx *srq = srq_find(nic, proc, name - 1);

	if (!srq)
		return -UNIC_ENOSRQ;
	return srq->pd == pd ? 0 : -UNIC_EPD;
}

void unic_srq_get(struct unic_transport *nic, uint32_t name)
{
	srq_of(nic, name)->users++;
}

void unic_srq_put(struct unic_transport *nic, uint32_t name)
{
	srq_of(nic, name)->users--;
}

/* ---------------------------------------------------------------- receives */

__attribute__((noinline, cold)) void
unic_srq_doorbell(struct unic_transport *nic, uint32_t idx, uint32_t tail)
{
	struct unic_srq_ctx *srq = nic->srqs.srq + idx;

	if (srq->error)
		return;
	/* tails only grow, and stay within the ring (INV-1: the newest one counts) */
	if (tail - srq->tail > srq->mask + 1 - (srq->tail - srq->head)) {
		unic_slot_bad_doorbell(&nic->base, srq->proc,
				       UNIC_DB_WORD(UNIC_DB_SRQ, srq->db_index,
						    tail & 0xffff));
		fail_srq(nic, srq, UNIC_SRQ_TAIL);
		return;
	}
	srq->tail = tail;
}

static int fetch_slots(struct unic_transport *nic,
		       const struct unic_srq_ctx *srq, uint32_t s, uint32_t n,
		       enum unic_dma_owner owner, uint16_t who, void *to)
{
	uint32_t bytes = n * UNIC_SLOT_BYTES;
	struct unic_xlate piece;
	int r;

	r = unic_xlate(&nic->memory, srq->mr,
		       srq->iova + (uint64_t)(s & srq->mask) * UNIC_SLOT_BYTES,
		       bytes, &piece);
	if (r || piece.len < bytes) /* sweep_run() keeps within a page */
		return -UNIC_EBUS;
	return unic_dma_fetch_shared(nic, owner, who, srq->mr, piece.bus, to,
				     n);
}

/* True if it was marked, which it is no more. */
static bool unmark(struct unic_srq_ctx *srq, uint32_t s)
{
	uint32_t *word = &srq->lost[(s & srq->mask) / 32];
	uint32_t bit = 1u << (s & srq->mask) % 32;
	bool was = *word & bit;

	*word &= ~bit;
	return was;
}

/* A receive that was taken is read, or cannot be. */
static void end_fetch(struct unic_transport *nic, struct unic_srq_ctx *srq)
{
	if (!--srq->fetching)
		publish_taken(nic, srq);
}

int unic_srq_take(struct unic_transport *nic, uint32_t name, uint16_t qp,
		  struct unic_rq_slot *to, bool *lost)
{
	struct unic_srq_ctx *srq = srq_of(nic, name);
	int r;

	if (srq->error)
		return -UNIC_EBUS;
	if (srq->head == srq->tail)
		return -UNIC_ENOQP;
	r = fetch_slots(nic, srq, srq->head, 1, UNIC_DMA_SRQ, qp, to);
	if (r == -UNIC_EAGAIN)
		return r;
	if (r && r != -UNIC_EPENDING) {
		fail_srq(nic, srq, UNIC_SRQ_BUS);
		return -UNIC_EBUS;
	}
	*lost = unmark(srq, srq->head);
	srq->head++;
	srq->fetching++;
	if (!r)
		end_fetch(nic, srq);
	check_limit(nic, srq);
	return r;
}

__attribute__((noinline, cold)) void unic_srq_taken(struct unic_transport *nic,
						    uint32_t name, bool ok)
{
	struct unic_srq_ctx *srq = srq_of(nic, name);

	end_fetch(nic, srq);
	if (!ok)
		fail_srq(nic, srq, UNIC_SRQ_BUS);
}

/* ------------------------------------------------------------------- sweep */

/* The queue in hand, from its oldest receive on. */
static void sweep_begin_srq(struct unic_srqs *s)
{
	if (s->sweep_left)
		s->sweep_at = (s->srq + (s->sweep_left - 1))->head;
	s->sweep_stale |= s->sweep_fetching;
}

static void sweep_next_srq(struct unic_srqs *s)
{
	s->sweep_left--;
	sweep_begin_srq(s);
}

__attribute__((noinline, cold)) void
unic_srq_sweep_begin(struct unic_transport *nic)
{
	struct unic_srqs *s = &nic->srqs;

	s->sweep_left = s->n ? UNIC_SRQS : 0;
	sweep_begin_srq(s);
}

/* Slots from @at on that lie together in the ring, and the page, and fit the buffer. */
static uint32_t sweep_run(const struct unic_srq_ctx *srq, uint32_t at)
{
	uint32_t slot = at & srq->mask;
	uint64_t iova = srq->iova + (uint64_t)slot * UNIC_SLOT_BYTES;
	uint32_t page = (uint32_t)(iova & (PAGE_BYTES - 1));
	uint32_t n = unic_rq_ring_min(srq->tail - at, srq->mask + 1 - slot);

	n = unic_rq_ring_min(n, (PAGE_BYTES - page) / UNIC_SLOT_BYTES);
	return unic_rq_ring_min(n, UNIC_RQ_WINDOW);
}

/* @n slots from sweep_at on were read. */
static void mark_slots(struct unic_transport *nic, uint32_t n)
{
	struct unic_srqs *s = &nic->srqs;
	struct unic_srq_ctx *srq = s->srq + (s->sweep_left - 1);
	uint32_t i, at;

	for (i = 0; i < n; i++) {
		at = s->sweep_at++;
		if ((int32_t)(at - srq->head) < 0 || /* taken meanwhile */
		    !unic_rq_sweep_finds(nic, &nic->qps.sweep_slot[i]))
			continue;
		at &= srq->mask;
		srq->lost[at / 32] |= 1u << at % 32;
	}
}

__attribute__((noinline, cold)) void unic_srq_swept(struct unic_transport *nic,
						    uint32_t count, bool ok)
{
	struct unic_srqs *s = &nic->srqs;

	s->sweep_fetching = false;
	if (s->sweep_stale) /* the sweep went on meanwhile */
		s->sweep_stale = false;
	else if (ok)
		mark_slots(nic, count);
	else
		sweep_next_srq(s); /* a message will find out */
}

__attribute__((noinline, cold)) bool unic_srq_sweep(struct unic_transport *nic)
{
	struct unic_srqs *s = &nic->srqs;
	struct unic_srq_ctx *srq = s->srq + (s->sweep_left - 1);
	uint32_t n;
	int r;

	if (s->sweep_fetching)
		return false;
	if ((int32_t)(s->sweep_at - srq->head) < 0)
		s->sweep_at = srq->head; /* passed meanwhile */
	if (!srq->used || srq->error ||
	    (int32_t)(srq->tail - s->sweep_at) <= 0) {
		sweep_next_srq(s);
		return true;
	}
	n = sweep_run(srq, s->sweep_at);
	r = fetch_slots(nic, srq, s->sweep_at, n, UNIC_DMA_SRQ_SWEEP, 0,
			nic->qps.sweep_slot);
	s->sweep_fetching = r == -UNIC_EPENDING;
	if (!r)
		mark_slots(nic, n);
	else if (r != -UNIC_EPENDING && r != -UNIC_EAGAIN)
		sweep_next_srq(s);
	return r != -UNIC_EAGAIN;
}

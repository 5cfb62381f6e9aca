/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cq.c - see cq.h. */
#include <string.h>

#include "transport/cq_place.h"
#include "transport/transport.h"
#include "memory/access.h"

#define CQE_BYTES     UNIC_CQE_BYTES
#define PAGE_SHIFT    UNIC_CQ_PAGE_SHIFT
#define PAGE_BYTES    (1u << PAGE_SHIFT)
#define PAGE_MASK     (PAGE_BYTES - 1u)
#define ARM_NUMBER    0x7fffffffu
#define ARM_SOLICITED 0x80000000u

void unic_cq_init(struct unic_transport *nic)
{
	memset(&nic->cqs, 0, sizeof(nic->cqs));
}

static int find_free_cq(const struct unic_transport *nic)
{
	uint16_t i;

	for (i = 0; i < UNIC_CQS; i++)
		if (!nic->cqs.cq[i].used)
			return i;
	return -UNIC_ECQFULL;
}

/* The ring must lie in a region that cannot be taken back while it is used. */
static int check_ring(struct unic_transport *nic,
		      const struct unic_cmd_cq_create *cmd, uint32_t entries,
		      struct unic_xlate *piece)
{
	uint32_t pd = unic_from_le32(cmd->pd);
	int r;

	if (pd >= UNIC_PDS || !unic_slot_live(&nic->base, nic->mrs.pd[pd].proc))
		return -UNIC_ENOPD;
	if (entries < 2 || entries > UNIC_CQ_ENTRIES ||
	    (entries & (entries - 1)) || (unic_from_le64(cmd->iova) & 63) ||
	    unic_from_le32(cmd->db_index) >= UNIC_BOX_DB_ROWS)
		return -UNIC_EINVAL;
	r = unic_access(&nic->memory, unic_from_le32(cmd->stag), (uint16_t)pd,
			UNIC_MR_LOCAL_WRITE, unic_from_le64(cmd->iova),
			entries * CQE_BYTES, piece);
	if (r)
		return r;
	if (nic->mrs.mr[piece->mr].mr_class != UNIC_CLASS_CONTROL)
		return -UNIC_EINVAL;
	return 0;
}

int unic_cq_create(struct unic_transport *nic,
		   const struct unic_cmd_cq_create *cmd)
{
	uint32_t entries = unic_from_le32(cmd->entries);
	uint32_t pd = unic_from_le32(cmd->pd);
	uint32_t row = unic_from_le32(cmd->db_index);
	struct unic_xlate piece;
	struct unic_cq_ctx *cq;
	uint16_t proc;
	int idx, r;

	r = check_ring(nic, cmd, entries, &piece);
	if (r)
		return r;
	idx = find_free_cq(nic);
	if (idx < 0)
		return idx;
	proc = nic->mrs.pd[pd].proc;
	r = unic_slot_bind(&nic->base, proc, UNIC_DB_ARM, row, (uint16_t)idx);
	if (r)
		return r;
	cq = &nic->cqs.cq[idx];
	memset(cq, 0, sizeof(*cq));
	cq->used = true;
	cq->iova = unic_from_le64(cmd->iova);
	cq->page = UINT32_MAX; /* none yet */
	cq->mask = entries - 1;
	cq->mr = piece.mr;
	cq->proc = proc;
	cq->pd = (uint16_t)pd;
	cq->db_index = (uint8_t)row;
	unic_mr_queue_get(&nic->memory, cq->mr);
	nic->mrs.pd[pd].users++;
	nic->procs.proc[proc].cqs++;
	return idx;
}

static void destroy_cq(struct unic_transport *nic, struct unic_cq_ctx *cq)
{
	if (cq->evt_due)
		nic->cqs.evts_due--;
	unic_slot_bind(&nic->base, cq->proc, UNIC_DB_ARM, cq->db_index,
		       UNIC_DB_NONE);
	unic_mr_queue_put(&nic->memory, cq->mr);
	nic->mrs.pd[cq->pd].users--;
	nic->procs.proc[cq->proc].cqs--;
	memset(cq, 0, sizeof(*cq));
}

struct unic_cq_ctx *unic_cq_get(struct unic_transport *nic, uint32_t proc,
				uint32_t id)
{
	struct unic_cq_ctx *cq;

	if (id >= UNIC_CQS)
		return NULL;
	cq = &nic->cqs.cq[id];
	return cq->used && cq->proc == proc ? cq : NULL;
}

int unic_cq_destroy(struct unic_transport *nic, uint32_t proc, uint32_t id)
{
	struct unic_cq_ctx *cq = unic_cq_get(nic, proc, id);

	if (!cq)
		return -UNIC_ENOCQ;
	if (cq->users)
		return -UNIC_EBUSY;
	destroy_cq(nic, cq);
	return 0;
}

void unic_cq_proc_gone(struct unic_transport *nic, uint32_t proc)
{
	uint32_t i;

	for (i = 0; i < UNIC_CQS; i++) {
		struct unic_cq_ctx *cq = &nic->cqs.cq[i];

		if (!cq->used || cq->proc != proc)
			continue;
		UNIC_ASSERT(nic, !cq->users);
		destroy_cq(nic, cq);
	}
}

/* At most once per arming: the process arms again when it has looked. The row's count goes on
 * from queue to queue: whoever saw it before this one was made sees each change. */
static void raise_cq_event(struct unic_transport *nic, struct unic_cq_ctx *cq)
{
	UNIC_BOX_NIC_PAGE *np = nic->procs.proc[cq->proc].np;
	unic_le32 *count = &np->cq_events[cq->db_index];

	cq->armed = false;
	cq->events++;
	UNIC_COUNT(nic, cq_events);
	unic_wmb(); /* records before the count that announces them */
	UNIC_WRITE_ONCE(*count, unic_to_le32(unic_from_le32(*count) + 1));
	unic_port_ring(nic->port, 1u + cq->proc);
}

/* Were more than n records (of those that count) written? Modulo 2^31. */
static bool is_cq_event_due(const struct unic_cq_ctx *cq)
{
	uint32_t have = cq->arm & ARM_SOLICITED ? cq->sol : cq->tail;
	uint32_t ahead = (have - cq->arm) & ARM_NUMBER;

	return ahead - 1 < ARM_NUMBER / 2;
}

void unic_cq_arm(struct unic_transport *nic, uint32_t idx, uint32_t arm_word)
{
	struct unic_cq_ctx *cq = &nic->cqs.cq[idx];

	if (idx >= UNIC_CQS || !cq->used)
		return;
	cq->arm = arm_word;
	cq->armed = true;
	if (is_cq_event_due(cq) || cq->error)
		raise_cq_event(nic, cq);
}

static bool publish_error(struct unic_transport *nic, struct unic_cq_ctx *cq)
{
	struct unic_evt_obj evt = {
		.hdr = { .type = UNIC_EVT_CQ_ERROR,
			 .proc = unic_to_le16(cq->proc) },
		.id = unic_to_le32((uint32_t)(cq - nic->cqs.cq)),
		.detail = unic_to_le32(cq->error),
	};

	return unic_mbox_event(&nic->base, &evt);
}

static void fail_cq(struct unic_transport *nic, struct unic_cq_ctx *cq,
		    uint8_t error)
{
	cq->error = error;
	if (error == UNIC_CQ_OVERFLOW)
		UNIC_COUNT(nic, cq_overflows);
	if (!publish_error(nic, cq)) {
		cq->evt_due = true;
		nic->cqs.evts_due++;
		nic->chores = true;
	}
	if (cq->armed)
		raise_cq_event(nic, cq); /* a sleeper must learn of it */
	unic_qp_cq_failed(nic, (uint16_t)(cq - nic->cqs.cq));
}

void unic_cq_events(struct unic_transport *nic)
{
	uint32_t i;

	for (i = 0; i < UNIC_CQS && nic->cqs.evts_due; i++) {
		struct unic_cq_ctx *cq = &nic->cqs.cq[i];

		if (!cq->evt_due)
			continue;
		if (!publish_error(nic, cq))
			return;
		cq->evt_due = false;
		nic->cqs.evts_due--;
	}
}

/*
 * The consumer's index is read only when the ring looks full, because it is in
 * a cache line that the process writes. A wild one is as if it had not moved.
 */
static inline void read_consumed(struct unic_transport *nic,
				 struct unic_cq_ctx *cq)
{
	const UNIC_BOX_DB_PAGE *db = nic->procs.proc[cq->proc].db;
	uint32_t ci =
		unic_from_le32(UNIC_READ_ONCE(db->tail[cq->db_index].cq_ci));

	if (cq->tail - ci <= cq->mask + 1)
		cq->ci = ci;
}

static bool is_cq_full(struct unic_transport *nic, struct unic_cq_ctx *cq)
{
	read_consumed(nic, cq);
	return cq->tail - cq->ci > cq->mask;
}

int unic_cq_resize(struct unic_transport *nic,
		   const struct unic_cmd_cq_resize *cmd,
		   struct unic_cpl_cq_resize *cpl)
{
	struct unic_cq_ctx *cq = unic_cq_get(nic, unic_from_le32(cmd->proc),
					     unic_from_le32(cmd->id));
	uint32_t entries = unic_from_le32(cmd->entries);
	struct unic_cmd_cq_create ring = { .stag = cmd->stag,
					   .iova = cmd->iova };
	struct unic_xlate piece;
	int r;

	if (!UNIC_CQ_RESIZE)
		return -UNIC_EOPCODE;
	if (!cq)
		return -UNIC_ENOCQ;
	if (cq->error)
		return -UNIC_ESTATE;
	ring.pd = unic_to_le32(cq->pd);
	r = check_ring(nic, &ring, entries, &piece);
	if (r)
		return r;
	read_consumed(nic, cq);
	if (cq->tail - cq->ci > entries)
		return -UNIC_EBUSY;
	unic_mr_queue_get(&nic->memory, piece.mr);
	unic_mr_queue_put(&nic->memory, cq->mr);
	cq->iova = unic_from_le64(cmd->iova);
	cq->page = UINT32_MAX; /* none yet */
	cq->mask = entries - 1;
	cq->mr = piece.mr;
	cpl->records = unic_to_le32(cq->tail);
	return 0;
}

/* The region cannot be taken back while the queue exists: a page is translated
 * once, when the queue comes to it. */
static __attribute__((noinline)) int
xlate_cq_page(struct unic_transport *nic, struct unic_cq_ctx *cq, uint32_t page)
{
	uint64_t iova = (cq->iova & ~(uint64_t)PAGE_MASK) +
			((uint64_t)page << PAGE_SHIFT);
	struct unic_xlate piece;
	int r = unic_xlate(&nic->memory, cq->mr, iova, PAGE_BYTES, &piece);

	if (r)
		return r;
	cq->page = page;
	cq->page_bus = piece.bus;
	return 0;
}

/* Where record `tail` goes. */
static inline int locate_cqe(struct unic_transport *nic, struct unic_cq_ctx *cq,
			     uint64_t *bus)
{
	uint32_t at = unic_cqe_offset(cq, cq->tail);
	int r;

	if (unlikely(at >> PAGE_SHIFT != cq->page)) {
		r = xlate_cq_page(nic, cq, at >> PAGE_SHIFT);
		if (r)
			return r;
	}
	*bus = cq->page_bus + (at & PAGE_MASK);
	return 0;
}

bool unic_cq_post(struct unic_transport *nic, uint32_t idx,
		  struct unic_cqe *cqe)
{
	struct unic_cq_ctx *cq = &nic->cqs.cq[idx];
	uint64_t bus;
	int r;

	if (unlikely(cq->error))
		return true;
	if (cq->tail - cq->ci > cq->mask && is_cq_full(nic, cq)) {
		fail_cq(nic, cq, UNIC_CQ_OVERFLOW);
		return true;
	}
	cqe->seq = unic_to_le32(cq->tail + 1);
	r = locate_cqe(nic, cq, &bus);
	if (likely(!r))
		r = unic_dma_cqe(nic, (uint16_t)idx, cq->mr, bus, cqe);
	if (unlikely(r == -UNIC_EPENDING)) {
		unic_qp_cqe_begin(nic, unic_from_le32(cqe->qpn));
	} else if (unlikely(r)) {
		if (r == -UNIC_EAGAIN)
			return false;
		fail_cq(nic, cq, UNIC_CQ_BUS);
		return true;
	}
	cq->tail++;
	if (cqe->status || (cqe->flags & UNIC_WC_SOLICITED))
		cq->sol = cq->tail;
	if (!r && cq->armed && is_cq_event_due(cq))
		raise_cq_event(nic, cq);
	return true;
}

void unic_cq_written(struct unic_transport *nic, uint32_t idx, uint32_t qpn,
		     bool ok)
{
	struct unic_cq_ctx *cq = &nic->cqs.cq[idx];

	if (!ok && !cq->error)
		fail_cq(nic, cq, UNIC_CQ_BUS);
	if (cq->armed && is_cq_event_due(cq))
		raise_cq_event(nic, cq);
	unic_qp_cqe_end(nic, qpn); /* last: it holds the queue */
}

/* --------------------------------------------------------- several at once */

/* How many of @n records can be written from the tail on in one piece. */
static inline uint32_t contiguous_cqes(struct unic_transport *nic,
				       struct unic_cq_ctx *cq, uint32_t n)
{
	uint32_t in_page = unic_cqe_offset(cq, cq->tail) & PAGE_MASK;
	uint32_t end = cq->mask + 1 - (cq->tail & cq->mask);

	if (unlikely(cq->tail - cq->ci + n > cq->mask + 1) &&
	    (is_cq_full(nic, cq) || cq->tail - cq->ci + n > cq->mask + 1))
		return 0;
	if (n > end)
		n = end;
	end = (PAGE_BYTES - in_page) / CQE_BYTES;
	return n < end ? n : end;
}

uint32_t unic_cq_window(struct unic_transport *nic, uint32_t idx, uint32_t n,
			struct unic_cqe **at)
{
	struct unic_cq_ctx *cq = &nic->cqs.cq[idx];
	uint64_t bus;

	UNIC_IN_REGISTER(cq);
	if (unlikely(cq->error))
		return 0;
	n = contiguous_cqes(nic, cq, n);
	if (unlikely(!n || locate_cqe(nic, cq, &bus)))
		return 0;
	*at = unic_port_window(nic->port, bus, n * CQE_BYTES);
	return *at ? n : 0;
}

void unic_cq_publish(struct unic_transport *nic, uint32_t idx,
		     struct unic_cqe *at, uint32_t n)
{
	struct unic_cq_ctx *cq = &nic->cqs.cq[idx];

	UNIC_IN_REGISTER(cq);
	unic_wmb(); /* all else before what makes it valid */
	UNIC_WRITE_ONCE(at->seq, unic_to_le32(cq->tail + 1));
	cq->tail += n;
	if (cq->armed && is_cq_event_due(cq))
		raise_cq_event(nic, cq);
}

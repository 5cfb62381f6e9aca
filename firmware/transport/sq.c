/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* sq.c - see sq.h. */
#include "transport/sq.h"

#include <string.h>

#include "memory/access.h"
#include "transport/local_ops.h"
#include "transport/transport.h"
#include "transport/requester.h"

#define FETCH_MAX   8u	  /* slots of one DMA */
#define FETCH_ALIGN 4096u /* no region has smaller pages */

#define CALLED __attribute__((noinline))

static uint32_t sq_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static struct unic_sge *sge_of(struct unic_sq *sq, uint32_t s, uint32_t i)
{
	struct unic_sq_ext *ext;

	if (i < UNIC_SQ_SGE_BASE)
		return &unic_sq_slot(sq, s)->sge[i];
	ext = (void *)unic_sq_slot(sq, s + 1);
	return &ext->sge[i - UNIC_SQ_SGE_BASE];
}

static uint32_t slots_of(const struct unic_sq_slot *slot)
{
	return slot->num_sge > UNIC_SQ_SGE_BASE ||
			       slot->inline_len > UNIC_SQ_INLINE_BASE
		       ? 2
		       : 1;
}

/* ---------------------------------------------------------------- fetch */

/* The ring's region cannot be taken back: a page is translated once, when the
 * fetches come to it. */
static __attribute__((noinline)) int
xlate_sq_page(struct unic_transport *nic, struct unic_qp_ctx *qp, uint32_t page)
{
	uint64_t iova = (qp->sq.iova & ~(uint64_t)(FETCH_ALIGN - 1)) +
			(uint64_t)page * FETCH_ALIGN;
	struct unic_xlate piece;
	int r = unic_xlate(&nic->memory, qp->mr, iova, FETCH_ALIGN, &piece);

	if (r)
		return r;
	qp->sq.page = page + 1;
	qp->sq.page_bus = piece.bus;
	return 0;
}

/* How many slots can be fetched at once. @place: bytes of the first, from the
 * start of slot 0's page on. */
static inline uint32_t fetchable_slots(const struct unic_sq *sq, uint32_t place)
{
	uint32_t n = sq_min(sq->tail - sq->fetched,
			    UNIC_QP_WINDOW - (sq->fetched - sq->una));

	n = sq_min(sq_min(n, FETCH_MAX),
		   sq->mask + 1 - (sq->fetched & sq->mask));
	n = sq_min(n, (FETCH_ALIGN - place % FETCH_ALIGN) / UNIC_SLOT_BYTES);
	return sq_min(n, UNIC_QP_WINDOW - sq->fetched % UNIC_QP_WINDOW);
}

int unic_sq_fetch(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t place = (uint32_t)sq->iova % FETCH_ALIGN +
			 (sq->fetched & sq->mask) * UNIC_SLOT_BYTES;
	uint32_t n = fetchable_slots(sq, place);
	int r = 0;

	if (!n || sq->fetching)
		return -UNIC_ENOQP;
	if (unlikely(sq->page != place / FETCH_ALIGN + 1))
		r = xlate_sq_page(nic, qp, place / FETCH_ALIGN);
	if (!r)
		r = unic_dma_fetch(nic, UNIC_DMA_SQ, unic_qp_index(nic, qp),
				   qp->mr, sq->page_bus + place % FETCH_ALIGN,
				   unic_sq_slot(sq, sq->fetched), n);
	if (r == -UNIC_EPENDING) {
		sq->fetching = true;
		qp->dmas++;
		return -UNIC_ENOQP;
	}
	if (!r)
		sq->fetched += n;
	return r;
}

void unic_sq_fetched(struct unic_transport *nic, uint16_t idx, uint32_t count,
		     bool ok)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	qp->sq.fetching = false;
	if (ok)
		qp->sq.fetched += count;
	else
		unic_qp_error(nic, qp, UNIC_WC_LOC_BUS_ERR);
	unic_qp_dma_end(nic, qp);
}

/* -------------------------------------------------------------- checking */

static uint8_t fail_wqe(struct unic_transport *nic, struct unic_wr *wr,
			uint8_t detail)
{
	UNIC_COUNT(nic, wqe_bad);
	wr->detail = detail;
	return UNIC_WC_LOC_QP_OP_ERR;
}

static uint8_t fail_access(struct unic_transport *nic,
			   const struct unic_qp_ctx *qp, struct unic_wr *wr,
			   int err)
{
	wr->detail = unic_qp_refused(nic, qp, err);
	return err == -UNIC_EEVICTED ? UNIC_WC_EVICTED : UNIC_WC_LOC_PROT_ERR;
}

/* The request itself; its length is known afterwards. */
static uint8_t check_request(struct unic_transport *nic, struct unic_qp_ctx *qp,
			     uint32_t s, struct unic_wr *wr)
{
	struct unic_sq_slot *slot = unic_sq_slot(&qp->sq, s);
	uint32_t ctrl = unic_from_le32(slot->ctrl_len);
	bool inlined = slot->flags & UNIC_WR_INLINE;
	bool atomic = unic_sq_is_atomic(slot->opcode);
	uint64_t len = slot->inline_len;
	uint32_t i;

	if (slot->opcode < UNIC_WR_SEND ||
	    (slot->opcode > UNIC_WR_TOKEN && slot->opcode != UNIC_WR_SEND_INV &&
	     !atomic) ||
	    (slot->opcode == UNIC_WR_TOKEN && !qp->vendor) ||
	    (unic_sq_reads(slot->opcode) && !qp->max_rd))
		return fail_wqe(nic, wr, UNIC_WD_OPCODE);
	if ((slot->flags & ~UNIC_WR_FLAGS_ALL) ||
	    (inlined && unic_sq_reads(slot->opcode)))
		return fail_wqe(nic, wr, UNIC_WD_FLAGS);
	if (atomic && slot->num_sge != 1) /* the operands are behind it */
		return fail_wqe(nic, wr, UNIC_WD_SGE);
	if (inlined ? slot->num_sge || slot->inline_len > UNIC_SQ_INLINE_MAX
		    : slot->inline_len || slot->num_sge > UNIC_SQ_SGE_MAX)
		return fail_wqe(nic, wr, UNIC_WD_SGE);
	if (wr->slots != slots_of(slot))
		return fail_wqe(nic, wr,
				UNIC_WD_SGE); /* second slot not posted */
	for (i = 0; i < slot->num_sge; i++)
		len += unic_from_le32(sge_of(&qp->sq, s, i)->len);
	if (len > UNIC_MSG_MAX || (atomic && len != UNIC_ATOMIC_BYTES))
		return fail_wqe(nic, wr, UNIC_WD_LENGTH);
	if (ctrl && (slot->opcode != UNIC_WR_TOKEN ||
		     ctrl > UNIC_TOKEN_CTRL_MAX || ctrl > len))
		return fail_wqe(nic, wr, UNIC_WD_LENGTH);
	wr->len = (uint32_t)len;
	return UNIC_WC_SUCCESS;
}

/* Its buffers. All must pass before any is held. */
static uint8_t check_buffers(struct unic_transport *nic, struct unic_qp_ctx *qp,
			     uint32_t s, struct unic_wr *wr)
{
	struct unic_sq_slot *slot = unic_sq_slot(&qp->sq, s);
	uint32_t need = unic_sq_reads(slot->opcode) ? UNIC_MR_LOCAL_WRITE : 0;
	struct unic_xlate piece;
	uint32_t i;
	int r;

	for (i = 0; i < slot->num_sge; i++) {
		struct unic_sge *sge = sge_of(&qp->sq, s, i);

		if (!sge->len)
			continue;
		r = unic_access(&nic->memory, unic_from_le32(sge->lkey), qp->pd,
				need, unic_from_le64(sge->iova),
				unic_from_le32(sge->len), &piece);
		if (unlikely(r) && r != -UNIC_EMISS)
			return fail_access(nic, qp, wr, r);
	}
	return UNIC_WC_SUCCESS;
}

static void hold_regions(struct unic_transport *nic, struct unic_sq *sq,
			 uint32_t s)
{
	uint32_t i, n = unic_sq_slot(sq, s)->num_sge;

	for (i = 0; i < n; i++) {
		struct unic_sge *sge = sge_of(sq, s, i);

		if (sge->len)
			unic_mr_hold(&nic->memory, unic_stag_index(sge->lkey));
	}
}

void unic_sq_release(struct unic_transport *nic, struct unic_sq *sq, uint32_t s)
{
	uint32_t i, n = unic_sq_slot(sq, s)->num_sge;

	for (i = 0; i < n; i++) {
		struct unic_sge *sge = sge_of(sq, s, i);

		if (sge->len)
			unic_mr_unhold(&nic->memory,
				       unic_stag_index(sge->lkey));
	}
}

/* Does it name a region whose time is over? */
static bool has_cut_sge(struct unic_sq *sq, uint32_t s,
			const struct unic_cuts *c)
{
	uint32_t i;

	for (i = 0; i < unic_sq_slot(sq, s)->num_sge; i++)
		if (sge_of(sq, s, i)->len &&
		    unic_cuts_has(c, unic_stag_index(sge_of(sq, s, i)->lkey)))
			return true;
	return false;
}

bool unic_sq_holds(struct unic_qp_ctx *qp, const struct unic_cuts *cuts)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t s;

	for (s = sq->una; s != sq->next; s += unic_sq_slots(sq, s)) {
		struct unic_wr *wr = unic_sq_wr(sq, s);

		if (wr->state == UNIC_WRS_SENT && !unic_sq_acked(sq, wr) &&
		    has_cut_sge(sq, s, cuts))
			return true;
	}
	return false;
}

/* Request @s is not acknowledged, and what it names is gone. */
static __attribute__((noinline, cold)) void
cut_request(struct unic_sq *sq, uint32_t s, const struct unic_cuts *cuts)
{
	struct unic_wr *wr = unic_sq_wr(sq, s);

	if (wr->status || unic_sq_acked(sq, wr) || !has_cut_sge(sq, s, cuts))
		return;
	wr->status = UNIC_WC_EVICTED;
	wr->detail = UNIC_WD_BUSY;
}

void unic_sq_drop_holds(struct unic_transport *nic, struct unic_qp_ctx *qp,
			const struct unic_cuts *cuts)
{
	struct unic_sq *sq = &qp->sq;
	uint32_t s;

	for (s = sq->una; s != sq->next; s += unic_sq_slots(sq, s)) {
		struct unic_wr *wr = unic_sq_wr(sq, s);

		if (wr->state != UNIC_WRS_SENT)
			continue;
		if (cuts)
			cut_request(sq, s, cuts);
		if (wr->slots & UNIC_WR_PAID)
			unic_sched_unread(nic, qp, wr);
		wr->state = UNIC_WRS_DEAD; /* before: unholding may come back */
		unic_sq_release(nic, sq, s);
	}
}

/* Must it wait for an earlier request? */
static bool must_wait(const struct unic_qp_ctx *qp,
		      const struct unic_sq_slot *slot)
{
	if ((slot->flags & UNIC_WR_FENCE) && qp->sq.reads)
		return true;
	if (slot->opcode == UNIC_WR_LOCAL_INV)
		return qp->sq.psn_una != qp->sq.psn_max ||
		       qp->sq.psn != qp->sq.psn_max;
	return unic_sq_reads(slot->opcode) && qp->max_rd &&
	       qp->sq.reads >= qp->max_rd;
}

int unic_sq_have_slots(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t *slots)
{
	struct unic_sq *sq = &qp->sq;
	int r = 0;

	if (sq->next == sq->fetched)
		r = unic_sq_fetch(nic, qp);
	if (r)
		return r;
	*slots = slots_of(unic_sq_slot(sq, sq->next));
	if (*slots > sq->tail - sq->next)
		*slots = 1; /* malformed, check_request() will say */
	if (*slots > sq->fetched - sq->next)
		r = unic_sq_fetch(nic, qp);
	return r;
}

#define PLAIN_FLAGS (UNIC_WR_SIGNALED | UNIC_WR_SOLICITED | UNIC_WR_FENCE)

/* By far the commonest form: data in one piece. */
static bool is_plain(const struct unic_sq_slot *slot)
{
	return slot->num_sge == 1 && !slot->inline_len && !slot->ctrl_len &&
	       slot->sge[0].len && !(slot->flags & ~PLAIN_FLAGS) &&
	       slot->opcode >= UNIC_WR_SEND && slot->opcode <= UNIC_WR_READ &&
	       unic_from_le32(slot->sge[0].len) <= UNIC_MSG_MAX;
}

/* As check_request(), check_buffers() and hold_regions() for that form. */
static uint8_t check_plain(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   struct unic_sq_slot *slot, struct unic_wr *wr)
{
	bool is_read = slot->opcode == UNIC_WR_READ;
	struct unic_xlate piece;
	int r;

	if (is_read && !qp->max_rd)
		return fail_wqe(nic, wr, UNIC_WD_OPCODE);
	wr->len = unic_from_le32(slot->sge[0].len);
	r = unic_access(&nic->memory, unic_from_le32(slot->sge[0].lkey), qp->pd,
			is_read ? UNIC_MR_LOCAL_WRITE : 0,
			unic_from_le64(slot->sge[0].iova), wr->len, &piece);
	if (unlikely(r)) {
		if (r != -UNIC_EMISS)
			return fail_access(nic, qp, wr, r);
		piece.len = 0; /* it is waited for when its turn comes */
	}
	unic_mr_hold(&nic->memory, piece.mr);
	wr->slots |= UNIC_WR_ONE_SGE;
	if (piece.len == wr->len &&
	    !unic_mr_cached_at(&nic->memory, piece.mr)) {
		slot->sge[0].iova = unic_to_le64(piece.bus);
		wr->slots |= UNIC_WR_DIRECT;
	}
	return UNIC_WC_SUCCESS;
}

static uint8_t check_any(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 uint32_t s, struct unic_wr *wr)
{
	uint8_t status = check_request(nic, qp, s, wr);

	if (!status)
		status = check_buffers(nic, qp, s, wr);
	if (!status)
		hold_regions(nic, &qp->sq, s);
	return status;
}

/* It will complete with its error, in its turn. */
static void mark_wr_dead(struct unic_sq *sq, struct unic_wr *wr)
{
	wr->state = UNIC_WRS_DEAD;
	sq->stopped = wr->status != UNIC_WC_EVICTED;
}

void unic_sq_refused(struct unic_transport *nic, struct unic_qp_ctx *qp,
		     int err)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr = unic_sq_wr(sq, sq->next);

	*wr = (struct unic_wr){ .psn = sq->psn, .slots = 1 };
	wr->status = fail_access(nic, qp, wr, err);
	sq->next++;
	mark_wr_dead(sq, wr);
}

void unic_sq_withdraw(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint8_t detail)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr = unic_sq_wr(sq, sq->cur);

	wr->status = fail_wqe(nic, wr, detail);
	mark_wr_dead(sq, wr); /* before: unholding may come back */
	unic_sq_release(nic, sq, sq->cur);
}

static void start_request(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  uint32_t slots)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_sq_slot *slot = unic_sq_slot(sq, sq->next);
	struct unic_wr *wr = unic_sq_wr(sq, sq->next);

	*wr = (struct unic_wr){ .psn = sq->psn, .slots = (uint8_t)slots };
	if (likely(is_plain(slot)))
		wr->status = check_plain(nic, qp, slot, wr);
	else
		wr->status = check_any(nic, qp, sq->next, wr);
	sq->next += slots;
	if (unlikely(wr->status)) {
		mark_wr_dead(sq, wr);
		return;
	}
	wr->npkt = unic_packets(wr->len, qp->mtu_shift);
	wr->state = UNIC_WRS_SENT;
	if (unic_sq_reads(slot->opcode))
		sq->reads++;
}

/* One that sends nothing: carried out now, completed in its turn. */
static CALLED int start_local_op(struct unic_transport *nic,
				 struct unic_qp_ctx *qp, uint32_t slots)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr = unic_sq_wr(sq, sq->next);
	int r;

	*wr = (struct unic_wr){ .psn = sq->psn, .slots = (uint8_t)slots };
	r = unic_local_op_run(nic, qp, wr);
	if (r)
		return r;
	sq->next += slots;
	wr->state = UNIC_WRS_DEAD;
	sq->stopped = wr->status && wr->status != UNIC_WC_EVICTED;
	return 1;
}

int unic_sq_start(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	const struct unic_sq_slot *slot;
	struct unic_sq *sq = &qp->sq;
	uint32_t slots;
	int r;

	if (sq->stopped || sq->next == sq->tail)
		return 0;
	r = unic_sq_have_slots(nic, qp, &slots);
	if (r == -UNIC_EAGAIN)
		return r;
	if (r == -UNIC_ENOQP)
		return 0;
	if (r) {
		unic_qp_error(nic, qp, UNIC_WC_LOC_BUS_ERR);
		return 0;
	}
	slot = unic_sq_slot(sq, sq->next);
	if ((slot->flags & UNIC_WR_FENCE) || slot->opcode >= UNIC_WR_READ) {
		if (must_wait(qp, slot))
			return 0;
		if (unic_local_op_is(slot->opcode))
			return start_local_op(nic, qp, slots);
	}
	start_request(nic, qp, slots);
	return 1;
}

/* ------------------------------------------------------------------ data */

void unic_sq_span(struct unic_sq *sq, uint32_t s, uint32_t off, uint32_t len,
		  struct unic_sgl *sgl)
{
	uint32_t i, n, have, count = unic_sq_slot(sq, s)->num_sge;
	const struct unic_sq_slot *slot = unic_sq_slot(sq, s);

	if (likely(unic_sq_wr(sq, s)->slots & UNIC_WR_DIRECT)) {
		sgl->n = 1;
		sgl->span[0].bus = unic_from_le64(slot->sge[0].iova) + off;
		sgl->span[0].len = len;
		sgl->span[0].mr = unic_stag_index(slot->sge[0].lkey);
		sgl->span[0].direct = true;
		return;
	}
	sgl->n = 0;
	for (i = 0; i < count && len; i++) {
		struct unic_sge *sge = sge_of(sq, s, i);

		have = unic_from_le32(sge->len);
		if (off >= have) {
			off -= have;
			continue;
		}
		n = sq_min(len, have - off);
		sgl->span[sgl->n++] = (struct unic_mr_span){
			.iova = unic_from_le64(sge->iova) + off,
			.len = n,
			.mr = unic_stag_index(sge->lkey),
		};
		len -= n;
		off = 0;
	}
}

void unic_sq_inline(struct unic_sq *sq, uint32_t s, uint8_t *to, uint32_t len)
{
	uint32_t n = sq_min(len, UNIC_SQ_INLINE_BASE);

	memcpy(to, unic_sq_slot(sq, s)->sge, n);
	if (len > n)
		memcpy(to + n, unic_sq_slot(sq, s + 1), len - n);
}

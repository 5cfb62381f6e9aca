/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* local_ops.c - see local_ops.h. */
#include "transport/local_ops.h"

#include <string.h>

#include "memory/derived.h"
#include "transport/transport.h"
#include "transport/sq.h"
#include "memory/access.h"

#define SGE_BYTES    16u
#define STRIDE_BYTES 4u
#define NS_PER_US    1000ull

/* The private copy of a list of one of the requests that are inline. */
struct inlined {
	uint64_t words[UNIC_SQ_INLINE_MAX / 8];
};

static const uint8_t kinds_of[] = {
	[UNIC_WR_BIND_MW] = UNIC_DERIVED_BIT(UNIC_FORM_WINDOW2),
	[UNIC_WR_REG_MR] = UNIC_DERIVED_BIT(UNIC_FORM_FAST),
	[UNIC_WR_REG_INDIRECT] = UNIC_DERIVED_BIT(UNIC_FORM_INDIRECT),
};

static uint8_t local_op_detail(int err)
{
	switch (-err) {
	case UNIC_EBUSY:
		return UNIC_WD_BUSY;
	case UNIC_ESTATE:
		return UNIC_WD_STATE;
	case UNIC_EALIGN:
		return UNIC_WD_ALIGN;
	case UNIC_ETOOLARGE:
		return UNIC_WD_LENGTH;
	case UNIC_EINVAL:
		return UNIC_WD_SGE;
	default:
		return unic_qp_detail(err);
	}
}

static int finish_local_op(struct unic_transport *nic,
			   const struct unic_sq_slot *slot, struct unic_wr *wr,
			   int err, uint32_t element)
{
	if (!err)
		return 0;
	UNIC_COUNT(nic, wqe_bad);
	wr->detail = local_op_detail(err);
	wr->len = element;
	wr->status = slot->opcode == UNIC_WR_BIND_MW ? UNIC_WC_MW_BIND_ERR
						     : UNIC_WC_MEM_OP_ERR;
	if (err == -UNIC_EEVICTED)
		wr->status = UNIC_WC_EVICTED;
	return 0;
}

/* -------------------------------------------------------------- invalidate */

/* What uses the region may go on for T; then it is cut, and only pieces of DMA
 * are left to wait for. A region that is not closed may be used again meanwhile:
 * after the drain bound it is cut once more. */
static int wait_idle(struct unic_transport *nic, struct unic_qp_ctx *qp,
		     uint32_t stag)
{
	uint64_t *until = &qp->sq.inval_ns;

	if (!*until)
		*until = nic->now_ns + nic->notices.grace_us * NS_PER_US;
	if (nic->now_ns >= *until) {
		*until = nic->now_ns + UNIC_DRAIN_BOUND_US * NS_PER_US;
		unic_cuts_mark(&nic->memory,
			       (uint16_t)(stag >> UNIC_MR_IDX_SHIFT));
		unic_cut_run(nic);
	}
	return -UNIC_EPENDING;
}

static int run_local_inv(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 const struct unic_sq_slot *slot, struct unic_wr *wr)
{
	uint32_t stag = unic_from_le32(slot->rkey);
	int err;

	if (slot->num_sge || slot->inline_len || slot->imm || slot->remote ||
	    slot->ctrl_len || (slot->flags & UNIC_WR_INLINE))
		return finish_local_op(nic, slot, wr, -UNIC_EINVAL, 0);
	err = unic_derived_close(&nic->memory, stag, qp->pd, false);
	if (err == -UNIC_EAGAIN)
		return wait_idle(nic, qp, stag);
	qp->sq.inval_ns = 0;
	if (!err)
		unic_derived_unmake(&nic->memory, stag);
	return finish_local_op(nic, slot, wr, err, 0);
}

/* -------------------------------------------------------------------- make */

/* @bytes of list: how many elements, and where the strides begin. */
static int parse_list(const void *list, uint32_t bytes, bool strided,
		      struct unic_derived_plan *plan)
{
	uint32_t each = SGE_BYTES + (strided ? STRIDE_BYTES : 0);

	if (bytes % each)
		return -UNIC_EINVAL;
	plan->n = bytes / each;
	plan->list = list;
	plan->strides = strided ? (const void *)(plan->list + plan->n) : NULL;
	return 0;
}

static int make_derived(struct unic_transport *nic, struct unic_qp_ctx *qp,
			const struct unic_sq_slot *slot, struct unic_wr *wr,
			const void *list, uint32_t bytes)
{
	uint32_t imm = unic_from_le32(slot->imm);
	struct unic_derived_plan plan = {
		.stag = unic_from_le32(slot->rkey),
		.pd = qp->pd,
		.kinds = kinds_of[slot->opcode],
		.key = (uint8_t)UNIC_WR_IMM_KEY(imm),
		.rights = (uint8_t)UNIC_WR_IMM_RIGHTS(imm),
		.iova = unic_from_le64(slot->remote),
		.repeat = unic_from_le32(slot->ctrl_len),
	};
	int err = imm >> 17 ? -UNIC_EINVAL : 0;

	if (!err)
		err = parse_list(list, bytes, imm & UNIC_WR_IMM_STRIDED, &plan);
	if (!err)
		err = unic_derived_make(&nic->memory, &plan);
	if (UNIC_TABLE_READS && err == -UNIC_EPENDING) /* a list is read */
		return err;
	if (err == -UNIC_EAGAIN)
		return wait_idle(nic, qp, plan.stag);
	qp->sq.inval_ns = 0;
	return finish_local_op(nic, slot, wr, err, plan.wrong);
}

/* ---------------------------------------------------------- lists in memory */

/* The first that finds the reader taken is the next to have it; one of another
 * process than the one that has it now comes before one of the same. */
static void reserve_reader(struct unic_list_reader *l,
			   const struct unic_qp_ctx *qp)
{
	if (l->next_qpn && (l->next_proc != l->proc || qp->proc == l->proc))
		return;
	l->next_qpn = qp->qpn;
	l->next_proc = qp->proc;
}

/* One list is read at a time. */
static bool take_reader(struct unic_transport *nic,
			const struct unic_qp_ctx *qp)
{
	struct unic_list_reader *l = &nic->list_reader;

	if (l->qpn == qp->qpn)
		return true;
	if (l->qpn || l->sgl.pending ||
	    (l->next_qpn && l->next_qpn != qp->qpn)) {
		reserve_reader(l, qp);
		return false;
	}
	l->qpn = qp->qpn;
	l->proc = qp->proc;
	l->next_qpn = 0;
	l->started = false;
	return true;
}

static int start_reading(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 const struct unic_sge *sge)
{
	struct unic_list_reader *l = &nic->list_reader;
	uint32_t bytes = unic_from_le32(sge->len);
	struct unic_xlate piece;
	int err;

	if (!bytes || bytes > sizeof(l->list))
		return bytes ? -UNIC_ETOOLARGE : -UNIC_EINVAL;
	err = unic_access(&nic->memory, unic_from_le32(sge->lkey), qp->pd, 0,
			  unic_from_le64(sge->iova), bytes, &piece);
	if (err == -UNIC_ESTAG)
		unic_key_guard_wrong(&nic->memory, UNIC_KEY_GUARD_LOCAL,
				     qp->proc);
	if (err)
		return err;
	l->started = true;
	l->sgl = (struct unic_sgl){
		.local = (uint8_t *)l->list,
		.n = 1,
		.owner = UNIC_DMA_LIST,
	};
	l->sgl.span[0] = (struct unic_mr_span){
		.iova = unic_from_le64(sge->iova),
		.len = bytes,
		.mr = piece.mr,
	};
	return 0;
}

/* Nothing holds the region while the port moves none of it: it may have ended, and
 * its index be another's, or be registered for others. So all of the access check
 * again (INV-19). */
static int recheck_list_access(struct unic_transport *nic,
			       const struct unic_qp_ctx *qp,
			       const struct unic_sge *sge)
{
	int r = unic_mr_check(&nic->memory, unic_from_le32(sge->lkey), qp->pd,
			      0, unic_from_le64(sge->iova),
			      unic_from_le32(sge->len));

	return r < 0 ? r : 0;
}

/* 0: the list is in nic->list_reader.list. If its region ends meanwhile, so does the
 * reading. */
static int read_list(struct unic_transport *nic, struct unic_qp_ctx *qp,
		     const struct unic_sge *sge)
{
	struct unic_list_reader *l = &nic->list_reader;
	int err;

	if (!take_reader(nic, qp))
		return -UNIC_EPENDING;
	err = l->started ? recheck_list_access(nic, qp, sge)
			 : start_reading(nic, qp, sge);
	if (!err)
		err = unic_dma_run(nic, &l->sgl);
	if (l->sgl.pending || err == -UNIC_EAGAIN)
		return -UNIC_EPENDING;
	return l->sgl.failed ? -UNIC_EBUS : err;
}

void unic_local_op_fetched(struct unic_transport *nic, bool ok)
{
	struct unic_sgl *sgl = &nic->list_reader.sgl;

	sgl->pending--;
	sgl->failed |= !ok;
}

void unic_local_op_drop(struct unic_transport *nic,
			const struct unic_qp_ctx *qp)
{
	if (nic->list_reader.qpn == qp->qpn)
		nic->list_reader.qpn = 0;
	if (nic->list_reader.next_qpn == qp->qpn)
		nic->list_reader.next_qpn = 0;
}

/* --------------------------------------------------------------- a request */

static int make_derived_from_mem(struct unic_transport *nic,
				 struct unic_qp_ctx *qp,
				 const struct unic_sq_slot *slot,
				 struct unic_wr *wr)
{
	int err = read_list(nic, qp, &slot->sge[0]);

	if (err == -UNIC_EPENDING)
		return err;
	if (err)
		finish_local_op(nic, slot, wr, err, 0);
	else
		err = make_derived(nic, qp, slot, wr, nic->list_reader.list,
				   unic_from_le32(slot->sge[0].len));
	unic_local_op_drop(nic, qp);
	return err == -UNIC_EPENDING ? err : 0;
}

int unic_local_op_run(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      struct unic_wr *wr)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_sq_slot *slot = unic_sq_slot(sq, sq->next);
	struct inlined list;

	if ((slot->flags & ~UNIC_WR_FLAGS_ALL) ||
	    (slot->flags & UNIC_WR_SOLICITED))
		return finish_local_op(nic, slot, wr, -UNIC_EINVAL, 0);
	if (slot->opcode == UNIC_WR_LOCAL_INV)
		return run_local_inv(nic, qp, slot, wr);
	if (slot->opcode == UNIC_WR_REG_INDIRECT &&
	    !(slot->flags & UNIC_WR_INLINE) && slot->num_sge == 1 &&
	    !slot->inline_len)
		return make_derived_from_mem(nic, qp, slot, wr);
	if (slot->num_sge || slot->inline_len > UNIC_SQ_INLINE_MAX ||
	    !(slot->flags & UNIC_WR_INLINE) ||
	    (slot->inline_len > UNIC_SQ_INLINE_BASE && wr->slots == 1))
		return finish_local_op(nic, slot, wr, -UNIC_EINVAL, 0);
	unic_sq_inline(sq, sq->next, (uint8_t *)list.words, slot->inline_len);
	return make_derived(nic, qp, slot, wr, list.words, slot->inline_len);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * post.c - work requests of verbs, as those of libunic.
 *
 * A list is translated and posted a few requests at a time. A request that is refused is
 * *bad, and those before it are posted.
 */
#include <endian.h>
#include <errno.h>

#include "attach.h"
#include "build.h"
#include "errnos.h"
#include "events.h"
#include "mw.h"
#include "post.h"
#include "queue.h"

#define BATCH 8

static int state_of(const struct unic_ibv_qp *qp)
{
	return (int)__atomic_load_n(&qp->vqp.qp.state, __ATOMIC_ACQUIRE);
}

static bool is_lost(const struct unic_ibv_qp *qp)
{
	return unic_events_lost(unic_ibv_context(qp->vqp.qp.context)->at);
}

static void put_sges(const struct ibv_sge *from, int n, struct unic_sg *to)
{
	int i;

	for (i = 0; i < n; i++)
		to[i] = (struct unic_sg){
			.addr = (void *)(uintptr_t)from[i].addr,
			.len = from[i].length,
			.lkey = from[i].lkey,
		};
}

/* The opcode of libunic for @wr; 0: there is none. */
static uint8_t wr_opcode_of(const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
		return UNIC_WR_SEND;
	case IBV_WR_SEND_WITH_IMM:
		return UNIC_WR_SEND_IMM;
	case IBV_WR_RDMA_WRITE:
		return UNIC_WR_WRITE;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return UNIC_WR_WRITE_IMM;
	case IBV_WR_RDMA_READ:
		return UNIC_WR_READ;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return UNIC_WR_COMPARE_SWAP;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return UNIC_WR_FETCH_ADD;
	case IBV_WR_SEND_WITH_INV:
		return UNIC_WR_SEND_INV;
	case IBV_WR_BIND_MW:
		return UNIC_WR_BIND_MW;
	case IBV_WR_LOCAL_INV:
		return UNIC_WR_LOCAL_INV;
	default:
		return 0;
	}
}

static bool is_atomic(uint8_t opcode)
{
	return opcode == UNIC_WR_COMPARE_SWAP || opcode == UNIC_WR_FETCH_ADD;
}

/* A request that changes a region, and takes no packet. */
static bool is_local(uint8_t opcode)
{
	return opcode == UNIC_WR_BIND_MW || opcode == UNIC_WR_LOCAL_INV;
}

#define SEND_FLAGS                                                 \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | \
	 IBV_SEND_INLINE)

static uint8_t flags_of(const struct unic_ibv_qp *qp,
			const struct ibv_send_wr *wr)
{
	unsigned int f = wr->send_flags;

	return (uint8_t)((f & IBV_SEND_FENCE ? UNIC_WR_FENCE : 0) |
			 (f & IBV_SEND_SIGNALED || qp->signal_all
				  ? UNIC_WR_SIGNALED
				  : 0) |
			 (f & IBV_SEND_SOLICITED ? UNIC_WR_SOLICITED : 0) |
			 (f & IBV_SEND_INLINE ? UNIC_WR_INLINE : 0));
}

/* True if queue pairs of the type of @qp have @opcode. */
static bool has_opcode(const struct unic_ibv_qp *qp, uint8_t opcode)
{
	switch (qp->vqp.qp.qp_type) {
	case IBV_QPT_RC:
		return true;
	case IBV_QPT_UC:
		return opcode != UNIC_WR_READ && !is_atomic(opcode) &&
		       opcode != UNIC_WR_SEND_INV;
	default:
		return opcode == UNIC_WR_SEND || opcode == UNIC_WR_SEND_IMM;
	}
}

/* True if the adapter has @opcode. */
static bool is_there(const struct unic_ibv_qp *qp, uint8_t opcode)
{
	struct ibv_context *ctx = qp->vqp.qp.context;

	if (is_atomic(opcode))
		return unic_ibv_has_atomics(ctx);
	return opcode && (!is_local(opcode) || unic_ibv_has_windows(ctx));
}

static int check_local(const struct ibv_send_wr *wr)
{
	if (wr->num_sge ||
	    wr->send_flags & (IBV_SEND_INLINE | IBV_SEND_SOLICITED))
		return EINVAL;
	if (wr->opcode == IBV_WR_LOCAL_INV)
		return 0;
	return unic_ibv_check_bind(wr->bind_mw.mw, wr->bind_mw.rkey,
				   &wr->bind_mw.bind_info);
}

static int check_send(const struct unic_ibv_qp *qp,
		      const struct ibv_send_wr *wr)
{
	uint8_t opcode = wr_opcode_of(wr);
	uint64_t bytes = 0;
	int i;

	if (!is_there(qp, opcode))
		return EOPNOTSUPP;
	if (!has_opcode(qp, opcode) || wr->num_sge < 0 ||
	    wr->num_sge > (int)qp->cap.max_send_sge ||
	    wr->send_flags & ~(unsigned int)SEND_FLAGS)
		return EINVAL;
	if (qp->vqp.qp.qp_type == IBV_QPT_UD && !wr->wr.ud.ah)
		return EINVAL;
	if (is_local(opcode))
		return check_local(wr);
	if (is_atomic(opcode))
		return wr->num_sge != 1 ||
				       wr->sg_list[0].length !=
					       UNIC_ATOMIC_BYTES ||
				       wr->send_flags & IBV_SEND_INLINE
			       ? EINVAL
			       : 0;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return 0;
	for (i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes > qp->cap.max_inline_data || opcode == UNIC_WR_READ
		       ? EINVAL
		       : 0;
}

/* Where @wr goes. */
static void put_target(const struct unic_ibv_qp *qp,
		       const struct ibv_send_wr *wr, struct unic_send_wr *to)
{
	const struct unic_ibv_ah *ah;

	if (qp->vqp.qp.qp_type == IBV_QPT_UD) {
		ah = (const struct unic_ibv_ah *)wr->wr.ud.ah;
		to->remote = UNIC_UD_TO(ah->ipv4, wr->wr.ud.remote_qkey);
		to->rkey = wr->wr.ud.remote_qpn;
	} else if (to->opcode == UNIC_WR_SEND_INV ||
		   to->opcode == UNIC_WR_LOCAL_INV) {
		to->rkey = wr->invalidate_rkey;
	} else if (is_atomic(to->opcode)) {
		to->remote = wr->wr.atomic.remote_addr;
		to->rkey = wr->wr.atomic.rkey;
	} else if (to->opcode != UNIC_WR_SEND &&
		   to->opcode != UNIC_WR_SEND_IMM) {
		to->remote = wr->wr.rdma.remote_addr;
		to->rkey = wr->wr.rdma.rkey;
	}
}

/* What a request has besides itself until it is posted. */
union operands {
	struct unic_sg sg[UNIC_SQ_SGE_MAX];
	struct unic_atomic atomic;
	struct {
		struct unic_sg sg;
		struct unic_sge range;
	} bind;
};

static void put_send(const struct unic_ibv_qp *qp, const struct ibv_send_wr *wr,
		     union operands *has, struct unic_send_wr *to)
{
	*to = (struct unic_send_wr){
		.wr_id = wr->wr_id,
		.opcode = wr_opcode_of(wr),
		.flags = flags_of(qp, wr),
		.num_sge = (uint8_t)wr->num_sge,
		.sg = has->sg,
	};
	if (to->opcode == UNIC_WR_SEND_IMM || to->opcode == UNIC_WR_WRITE_IMM)
		to->imm = be32toh(wr->imm_data);
	put_sges(wr->sg_list, wr->num_sge, has->sg);
	if (to->opcode == UNIC_WR_BIND_MW) {
		unic_ibv_put_bind(wr->bind_mw.mw, wr->bind_mw.rkey,
				  &wr->bind_mw.bind_info, &has->bind.sg,
				  &has->bind.range, to);
		return;
	}
	if (is_atomic(to->opcode)) {
		has->atomic.operand = wr->wr.atomic.compare_add;
		has->atomic.swap = wr->wr.atomic.swap;
	}
	put_target(qp, wr, to);
}

/* @wr was posted. A request that binds a window changes its name. */
static void was_posted(const struct ibv_send_wr *wr)
{
	if (wr->opcode == IBV_WR_BIND_MW)
		unic_ibv_bind_posted(wr->bind_mw.mw, wr->bind_mw.rkey);
}

/* True if @wr must be posted before what is behind it is translated: that may name the
 * same window. */
static bool ends_batch(const struct ibv_send_wr *wr)
{
	return wr->opcode == IBV_WR_BIND_MW;
}

/* Steps of @wr that were posted: *@wr is the first that was not. */
static int post_sends(struct unic_ibv_qp *qp, struct ibv_send_wr **wr)
{
	union operands has[BATCH];
	struct unic_send_wr lib[BATCH];
	struct ibv_send_wr *at = *wr;
	unsigned int n = 0, room = BATCH;
	int err = 0;
	int done;

	for (; at && n < room; at = at->next, n++) {
		err = check_send(qp, at);
		if (err)
			break;
		put_send(qp, at, &has[n], &lib[n]);
		room = ends_batch(at) ? n + 1 : room;
	}
	done = n ? unic_post_send(qp->lib, lib, n) : 0;
	for (; done > 0; done--, n--) {
		was_posted(*wr);
		*wr = (*wr)->next;
	}
	if (!n)
		return err;
	return done < 0 ? unic_ibv_errno(done) : ENOMEM;
}

int unic_ibv_post_state(const struct unic_ibv_qp *qp)
{
	if (state_of(qp) < IBV_QPS_RTS)
		return EINVAL;
	return is_lost(qp) ? EIO : 0;
}

/* Posts *@wr and those behind it: *@wr is the first that was not. */
static int post_list(struct unic_ibv_qp *qp, struct ibv_send_wr **wr)
{
	int err = unic_ibv_post_state(qp);

	while (!err && *wr)
		err = post_sends(qp, wr);
	return err;
}

int unic_ibv_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		       struct ibv_send_wr **bad)
{
	struct unic_ibv_qp *qp = unic_ibv_qp(ibqp);
	int err;

	if (qp->build)
		unic_ibv_build_lock(qp->build);
	err = post_list(qp, &wr);
	if (qp->build)
		unic_ibv_build_unlock(qp->build);
	if (err)
		*bad = wr;
	return err;
}

unsigned int unic_ibv_post_room(const struct unic_ibv_qp *qp)
{
	const struct unic_ring *sq = &qp->lib->sq;

	return unic_ring_free(sq) / ((sq->mask + 1) / qp->cap.max_send_wr);
}

int unic_ibv_post_together(struct unic_ibv_qp *qp, struct ibv_send_wr *wr,
			   unsigned int n)
{
	const struct ibv_send_wr *at;
	int err;

	for (at = wr; at; at = at->next) {
		err = check_send(qp, at);
		if (err)
			return err;
	}
	return n > unic_ibv_post_room(qp) ? ENOMEM : post_list(qp, &wr);
}

/* Receives go to a queue pair, or to a shared receive queue: the other one is NULL. */
struct receiver {
	struct unic_qp *qp;
	struct unic_srq *srq;
	int max_sge;
};

static int post_lib_recvs(const struct receiver *to,
			  const struct unic_recv_wr *lib, unsigned int n)
{
	return to->qp ? unic_post_recv(to->qp, lib, n)
		      : unic_post_srq_recv(to->srq, lib, n);
}

static int post_recvs(const struct receiver *to, struct ibv_recv_wr **wr)
{
	struct unic_sg sg[BATCH][UNIC_RQ_SGE_MAX];
	struct unic_recv_wr lib[BATCH];
	struct ibv_recv_wr *at = *wr;
	unsigned int n = 0;
	int err = 0;
	int done;

	for (; at && n < BATCH; at = at->next, n++) {
		if (at->num_sge < 0 || at->num_sge > to->max_sge) {
			err = EINVAL;
			break;
		}
		put_sges(at->sg_list, at->num_sge, sg[n]);
		lib[n] = (struct unic_recv_wr){
			.wr_id = at->wr_id,
			.num_sge = (uint8_t)at->num_sge,
			.sg = sg[n],
		};
	}
	done = n ? post_lib_recvs(to, lib, n) : 0;
	for (; done > 0; done--, n--)
		*wr = (*wr)->next;
	if (!n)
		return err;
	return done < 0 ? unic_ibv_errno(done) : ENOMEM;
}

int unic_ibv_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad)
{
	struct unic_ibv_qp *qp = unic_ibv_qp(ibqp);
	const struct receiver to = { .qp = qp->lib,
				     .max_sge = (int)qp->cap.max_recv_sge };
	int err = 0;

	if (state_of(qp) == IBV_QPS_RESET || ibqp->srq)
		err = EINVAL;
	else if (is_lost(qp))
		err = EIO;
	while (!err && wr)
		err = post_recvs(&to, &wr);
	if (err)
		*bad = wr;
	return err;
}

int unic_ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			   struct ibv_recv_wr **bad)
{
	const struct receiver to = { .srq = unic_ibv_srq(srq)->lib,
				     .max_sge = UNIC_IBV_SGE };
	int err = 0;

	if (unic_events_lost(unic_ibv_context(srq->context)->at))
		err = EIO;
	while (!err && wr)
		err = post_recvs(&to, &wr);
	if (err)
		*bad = wr;
	return err;
}

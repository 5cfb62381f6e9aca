/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * post.c - work requests of verbs, as those of libunic.
 *
 * Requests of a list are translated and posted one by one; receives, a few at a time. One that
 * is refused is *bad, and those before it are posted.
 */
#include <endian.h>
#include <errno.h>

#include "attach.h"
#include "build.h"
#include "errnos.h"
#include "events.h"
#include "mw.h"
#include "post.h"
#include "wr.h"

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

#define SEND_FLAGS                                                 \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | \
	 IBV_SEND_INLINE)

/* Types of queue pairs, and what a request has besides its list of memory. */
#define ON_RC	  (1u << IBV_QPT_RC)
#define ON_UC	  (1u << IBV_QPT_UC)
#define ON_UD	  (1u << IBV_QPT_UD)
#define HAS_RDMA  1u /* memory of the peer */
#define HAS_IMM	  2u
#define HAS_KEY	  4u /* that is invalidated */
#define IS_ATOMIC 8u
#define IS_LOCAL  16u /* changes a region, and takes no packet */

struct kind {
	uint8_t opcode; /* of libunic; 0: there is none */
	uint8_t on;	/* the types of queue pairs that have it */
	uint8_t has;
};

/* By the opcode of a request. */
static const struct kind kinds[] = {
	[IBV_WR_SEND] = { UNIC_WR_SEND, ON_RC | ON_UC | ON_UD, 0 },
	[IBV_WR_SEND_WITH_IMM] = { UNIC_WR_SEND_IMM, ON_RC | ON_UC | ON_UD,
				   HAS_IMM },
	[IBV_WR_SEND_WITH_INV] = { UNIC_WR_SEND_INV, ON_RC, HAS_KEY },
	[IBV_WR_RDMA_WRITE] = { UNIC_WR_WRITE, ON_RC | ON_UC, HAS_RDMA },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { UNIC_WR_WRITE_IMM, ON_RC | ON_UC,
					 HAS_RDMA | HAS_IMM },
	[IBV_WR_RDMA_READ] = { UNIC_WR_READ, ON_RC, HAS_RDMA },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { UNIC_WR_COMPARE_SWAP, ON_RC,
					IS_ATOMIC },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { UNIC_WR_FETCH_ADD, ON_RC, IS_ATOMIC },
	[IBV_WR_BIND_MW] = { UNIC_WR_BIND_MW, ON_RC | ON_UC, IS_LOCAL },
	[IBV_WR_LOCAL_INV] = { UNIC_WR_LOCAL_INV, ON_RC | ON_UC,
			       IS_LOCAL | HAS_KEY },
};

static const struct kind *kind_of(const struct ibv_send_wr *wr)
{
	static const struct kind none;

	return (unsigned int)wr->opcode < sizeof(kinds) / sizeof(kinds[0])
		       ? &kinds[wr->opcode]
		       : &none;
}

static uint8_t flags_of(const struct unic_ibv_qp *qp,
			const struct ibv_send_wr *wr)
{
	unsigned int f = wr->send_flags;

	return (uint8_t)((f & IBV_SEND_FENCE ? UNIC_WR_FENCE : 0) |
			 (f & IBV_SEND_SIGNALED ? UNIC_WR_SIGNALED : 0) |
			 (qp->signal_all ? UNIC_WR_SIGNALED : 0) |
			 (f & IBV_SEND_SOLICITED ? UNIC_WR_SOLICITED : 0) |
			 (f & IBV_SEND_INLINE ? UNIC_WR_INLINE : 0));
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

static int check_atomic(const struct ibv_send_wr *wr)
{
	return wr->num_sge != 1 || wr->sg_list[0].length != UNIC_ATOMIC_BYTES ||
			       wr->send_flags & IBV_SEND_INLINE
		       ? EINVAL
		       : 0;
}

static int check_inline(const struct unic_ibv_qp *qp,
			const struct ibv_send_wr *wr)
{
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes > qp->cap.max_inline_data || wr->opcode == IBV_WR_RDMA_READ
		       ? EINVAL
		       : 0;
}

/* True if @qp has requests of @kind, with a list and with flags as those of @wr. */
static bool has_form(const struct unic_ibv_qp *qp, const struct ibv_send_wr *wr,
		     const struct kind *kind)
{
	return kind->on & 1u << qp->vqp.qp.qp_type &&
	       (unsigned int)wr->num_sge <= qp->cap.max_send_sge &&
	       !(wr->send_flags & ~(unsigned int)SEND_FLAGS);
}

/* Of requests that not each adapter has. */
static int check_special(const struct unic_ibv_qp *qp,
			 const struct ibv_send_wr *wr, const struct kind *kind)
{
	struct ibv_context *ctx = qp->vqp.qp.context;
	bool local = kind->has & IS_LOCAL;

	if (!(local ? unic_ibv_has_windows(ctx) : unic_ibv_has_atomics(ctx)))
		return EOPNOTSUPP;
	if (!has_form(qp, wr, kind))
		return EINVAL;
	return local ? check_local(wr) : check_atomic(wr);
}

static int check_send(const struct unic_ibv_qp *qp,
		      const struct ibv_send_wr *wr, const struct kind *kind)
{
	if (kind->has & (IS_ATOMIC | IS_LOCAL))
		return check_special(qp, wr, kind);
	if (!kind->opcode)
		return EOPNOTSUPP;
	if (!has_form(qp, wr, kind) ||
	    (qp->vqp.qp.qp_type == IBV_QPT_UD && !wr->wr.ud.ah))
		return EINVAL;
	return wr->send_flags & IBV_SEND_INLINE ? check_inline(qp, wr) : 0;
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

/* Where a datagram goes. */
static void put_address(const struct ibv_send_wr *wr, struct unic_send_wr *to)
{
	const struct unic_ibv_ah *ah = (const struct unic_ibv_ah *)wr->wr.ud.ah;

	to->remote = UNIC_UD_TO(ah->ipv4, wr->wr.ud.remote_qkey);
	to->rkey = wr->wr.ud.remote_qpn;
}

static void put_atomic(const struct ibv_send_wr *wr, struct unic_atomic *atomic,
		       struct unic_send_wr *to)
{
	atomic->operand = wr->wr.atomic.compare_add;
	atomic->swap = wr->wr.atomic.swap;
	to->remote = wr->wr.atomic.remote_addr;
	to->rkey = wr->wr.atomic.rkey;
}

/* What @wr is about, of which some is in @has. */
static void put_target(const struct unic_ibv_qp *qp,
		       const struct ibv_send_wr *wr, const struct kind *kind,
		       union operands *has, struct unic_send_wr *to)
{
	if (kind->has & HAS_RDMA) {
		to->remote = wr->wr.rdma.remote_addr;
		to->rkey = wr->wr.rdma.rkey;
	} else if (kind->has & HAS_KEY) {
		to->rkey = wr->invalidate_rkey;
	} else if (kind->has & IS_ATOMIC) {
		put_atomic(wr, &has->atomic, to);
	} else if (kind->has & IS_LOCAL) {
		unic_ibv_put_bind(wr->bind_mw.mw, wr->bind_mw.rkey,
				  &wr->bind_mw.bind_info, &has->bind.sg,
				  &has->bind.range, to);
	} else if (qp->vqp.qp.qp_type == IBV_QPT_UD) {
		put_address(wr, to);
	}
}

static void put_send(const struct unic_ibv_qp *qp, const struct ibv_send_wr *wr,
		     const struct kind *kind, union operands *has,
		     struct unic_send_wr *to)
{
	*to = (struct unic_send_wr){
		.wr_id = wr->wr_id,
		.opcode = kind->opcode,
		.flags = flags_of(qp, wr),
		.num_sge = (uint8_t)wr->num_sge,
		.imm = kind->has & HAS_IMM ? be32toh(wr->imm_data) : 0,
		.sg = has->sg,
	};
	put_sges(wr->sg_list, wr->num_sge, has->sg);
	put_target(qp, wr, kind, has, to);
}

/* Between unic_sq_begin() and unic_sq_end(). */
static int post_one(struct unic_ibv_qp *qp, const struct ibv_send_wr *wr)
{
	const struct kind *kind = kind_of(wr);
	struct unic_send_wr lib;
	union operands has;
	int err = check_send(qp, wr, kind);

	if (err)
		return err;
	put_send(qp, wr, kind, &has, &lib);
	err = unic_sq_put(qp->lib, &lib);
	if (err)
		return unic_ibv_errno(err);
	/* a request behind it may name the window */
	if (wr->opcode == IBV_WR_BIND_MW)
		unic_ibv_bind_posted(wr->bind_mw.mw, wr->bind_mw.rkey);
	return 0;
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
	struct ibv_send_wr *at;
	int err = unic_ibv_post_state(qp);

	if (err)
		return err;
	err = unic_sq_begin(qp->lib);
	if (err)
		return unic_ibv_errno(err);
	for (at = *wr; at; at = at->next) {
		err = post_one(qp, at);
		if (err)
			break;
	}
	unic_sq_end(qp->lib);
	*wr = at;
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
		err = check_send(qp, at, kind_of(at));
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

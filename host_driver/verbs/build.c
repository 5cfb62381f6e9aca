/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * build.c - see build.h.
 *
 * A thread has the lock from ibv_wr_start() to ibv_wr_complete() or ibv_wr_abort(). The first
 * call that cannot be carried out is remembered: those behind it do nothing, and
 * ibv_wr_complete() answers its error and posts none.
 */
#include "build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "post.h"

#define FIRST_ROOM 16u /* requests */

struct built {
	struct ibv_send_wr wr;
	struct ibv_sge sge[UNIC_SQ_SGE_MAX];
	uint8_t bytes[UNIC_SQ_INLINE_MAX]; /* of ibv_wr_set_inline_data() */
};

struct unic_ibv_build {
	pthread_mutex_t lock;
	uint64_t ops;	  /* IBV_QP_EX_WITH_* */
	struct built *of; /* `room` of them, of which `n` are begun */
	unsigned int room, n;
	int err;
};

static struct unic_ibv_build *build_of(struct ibv_qp_ex *ex)
{
	return unic_ibv_qp(&ex->qp_base)->build;
}

/* ------------------------------------------------------------- beginning */

void unic_ibv_build_lock(struct unic_ibv_build *build)
{
	pthread_mutex_lock(&build->lock);
}

void unic_ibv_build_unlock(struct unic_ibv_build *build)
{
	pthread_mutex_unlock(&build->lock);
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct unic_ibv_build *build = build_of(ex);

	unic_ibv_build_lock(build);
	build->n = 0;
	build->err = 0;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	unic_ibv_build_unlock(build_of(ex));
}

/* The request that is built; NULL: there is none. */
static struct built *last(struct unic_ibv_build *build)
{
	if (!build->n)
		build->err = EINVAL;
	return build->err ? NULL : &build->of[build->n - 1];
}

/* More room, for as many as the queue pair can have at most. */
static int grow(struct unic_ibv_build *build, unsigned int max)
{
	unsigned int room = build->room ? 2 * build->room : FIRST_ROOM;
	struct built *of;

	if (build->room >= max)
		return ENOMEM;
	if (room > max)
		room = max;
	of = realloc(build->of, room * sizeof(*of));
	if (!of)
		return ENOMEM;
	build->of = of;
	build->room = room;
	return 0;
}

/* Begins a request; NULL: there is no room, or a call before could not be carried out. */
static struct ibv_send_wr *begin(struct ibv_qp_ex *ex,
				 enum ibv_wr_opcode opcode)
{
	struct unic_ibv_build *build = build_of(ex);
	struct built *b;

	if (!build->err && build->n == build->room)
		build->err =
			grow(build, unic_ibv_qp(&ex->qp_base)->cap.max_send_wr);
	if (build->err)
		return NULL;
	b = &build->of[build->n++];
	b->wr = (struct ibv_send_wr){
		.wr_id = ex->wr_id,
		.opcode = opcode,
		.send_flags = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE,
	};
	return &b->wr;
}

static struct ibv_send_wr *begin_rdma(struct ibv_qp_ex *ex,
				      enum ibv_wr_opcode opcode, uint32_t rkey,
				      uint64_t remote_addr)
{
	struct ibv_send_wr *wr = begin(ex, opcode);

	if (wr) {
		wr->wr.rdma.remote_addr = remote_addr;
		wr->wr.rdma.rkey = rkey;
	}
	return wr;
}

static void begin_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode,
			 uint32_t rkey, uint64_t remote_addr,
			 uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr *wr = begin(ex, opcode);

	if (!wr)
		return;
	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin(ex, IBV_WR_SEND);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct ibv_send_wr *wr = begin(ex, IBV_WR_SEND_WITH_INV);

	if (wr)
		wr->invalidate_rkey = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	struct ibv_send_wr *wr = begin(ex, IBV_WR_LOCAL_INV);

	if (wr)
		wr->invalidate_rkey = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct ibv_send_wr *wr = begin(ex, IBV_WR_BIND_MW);

	if (!wr)
		return;
	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *bind_info;
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct ibv_send_wr *wr = begin(ex, IBV_WR_SEND_WITH_IMM);

	if (wr)
		wr->imm_data = imm_data;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey,
			  uint64_t remote_addr)
{
	begin_rdma(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	struct ibv_send_wr *wr =
		begin_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);

	if (wr)
		wr->imm_data = imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey,
			 uint64_t remote_addr)
{
	begin_rdma(ex, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	begin_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare,
		     swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	begin_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add,
		     0);
}

/* ------------------------------------------------------- what it has */

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct built *b = last(build_of(ex));

	if (!b)
		return;
	b->wr.wr.ud.ah = ah;
	b->wr.wr.ud.remote_qpn = remote_qpn;
	b->wr.wr.ud.remote_qkey = remote_qkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct built *b = last(build_of(ex));

	if (!b)
		return;
	if (num_sge > UNIC_SQ_SGE_MAX) {
		build_of(ex)->err = EINVAL;
		return;
	}
	memcpy(b->sge, sg_list, num_sge * sizeof(*sg_list));
	b->wr.num_sge = (int)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct built *b = last(build_of(ex));
	size_t i, n = 0;

	if (!b)
		return;
	for (i = 0; i < num_buf; n += buf_list[i++].length) {
		if (buf_list[i].length > sizeof(b->bytes) - n) {
			build_of(ex)->err = EINVAL;
			return;
		}
		if (buf_list[i].length)
			memcpy(b->bytes + n, buf_list[i].addr,
			       buf_list[i].length);
	}
	b->sge[0] = (struct ibv_sge){ .length = (uint32_t)n };
	b->wr.num_sge = 1;
	b->wr.send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/* --------------------------------------------------------------- posting */

/* Requests stay where they are now: a list of them, with what they name. */
static void link_all(struct unic_ibv_build *build)
{
	struct built *b;
	unsigned int i;

	for (i = 0; i < build->n; i++) {
		b = &build->of[i];
		b->wr.next = i + 1 < build->n ? &b[1].wr : NULL;
		b->wr.sg_list = b->sge;
		if (b->wr.send_flags & IBV_SEND_INLINE)
			b->sge[0].addr = (uintptr_t)b->bytes;
	}
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct unic_ibv_build *build = build_of(ex);
	int err = build->err;

	link_all(build);
	if (!err && build->n)
		err = unic_ibv_post_together(unic_ibv_qp(&ex->qp_base),
					     &build->of[0].wr, build->n);
	unic_ibv_build_unlock(build);
	return err;
}

/* ---------------------------------------------------------------- making */

#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_UC                                \
	(OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | \
	 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define OPS_ATOMIC                           \
	(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define OPS_WINDOW (IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)

static uint64_t ops_of(struct ibv_context *ctx, enum ibv_qp_type type)
{
	uint64_t windows = unic_ibv_has_windows(ctx) ? OPS_WINDOW : 0;

	switch (type) {
	case IBV_QPT_RC:
		return OPS_UC | windows | IBV_QP_EX_WITH_RDMA_READ |
		       IBV_QP_EX_WITH_SEND_WITH_INV |
		       (unic_ibv_has_atomics(ctx) ? OPS_ATOMIC : 0);
	case IBV_QPT_UC:
		return OPS_UC | windows;
	default:
		return OPS_UD;
	}
}

int unic_ibv_make_build(struct ibv_context *ctx,
			const struct ibv_qp_init_attr_ex *attr,
			struct unic_ibv_build **out)
{
	struct unic_ibv_build *build;

	if (attr->send_ops_flags & ~ops_of(ctx, attr->qp_type))
		return -EOPNOTSUPP;
	build = calloc(1, sizeof(*build));
	if (!build)
		return -ENOMEM;
	pthread_mutex_init(&build->lock, NULL);
	build->ops = attr->send_ops_flags;
	*out = build;
	return 0;
}

void unic_ibv_free_build(struct unic_ibv_build *build)
{
	if (!build)
		return;
	pthread_mutex_destroy(&build->lock);
	free(build->of);
	free(build);
}

/* Only the calls that were asked for are there. */
static void put_ops(struct ibv_qp_ex *ex, uint64_t ops)
{
	if (ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = wr_send_imm;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = wr_send_inv;
	if (ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = wr_bind_mw;
	if (ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = wr_local_inv;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
}

void unic_ibv_build_of(struct unic_ibv_qp *qp, struct unic_ibv_build *build)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	qp->build = build;
	qp->vqp.comp_mask |= VERBS_QP_EX;
	put_ops(ex, build->ops);
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}

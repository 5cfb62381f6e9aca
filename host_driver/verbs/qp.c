/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * qp.c - queue pairs: making, changing, querying and ending them.
 *
 * Secret: which attribute the NIC takes in which of its three steps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ah.h"
#include "attach.h"
#include "build.h"
#include "errnos.h"
#include "events.h"
#include "pd.h"
#include "qp.h"
#include "qp_attr.h"
#include "queue.h"

/* 2.4 hours, also for the 0 of verbs: never. */
#define TIMEOUT_MAX 31
/* A requester may wait for four times the time that it is given (IBTA 9.7.6.1.3). A NIC that
 * is a process takes them: it waits for a processor, too. */
#define TIMEOUT_MORE 2
#define RESET_TRIES  1000 /* of a millisecond */

/* ----------------------------------------------------------------- making */

static int lib_type(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return UNIC_QPT_RC;
	case IBV_QPT_UC:
		return UNIC_QPT_UC;
	case IBV_QPT_UD:
		return UNIC_QPT_UD;
	default:
		return -EOPNOTSUPP;
	}
}

/* Slots that each send request of @cap may take. */
static unsigned int slots_each(const struct ibv_qp_cap *cap)
{
	return cap->max_send_sge > UNIC_SQ_SGE_BASE ||
			       cap->max_inline_data > UNIC_SQ_INLINE_BASE
		       ? 2
		       : 1;
}

static int check_cap(const struct ibv_qp_cap *cap, unsigned int slots)
{
	if (cap->max_send_sge > UNIC_SQ_SGE_MAX ||
	    cap->max_recv_sge > UNIC_IBV_SGE ||
	    cap->max_inline_data > UNIC_SQ_INLINE_MAX ||
	    cap->max_send_wr > slots / slots_each(cap) ||
	    cap->max_recv_wr > slots)
		return -EINVAL;
	return 0;
}

static unsigned int at_least_2(unsigned int n)
{
	return n < 2 ? 2 : n;
}

/* What a queue pair that was asked for with @cap really has. */
static void grow_cap(struct ibv_qp_cap *cap, const struct unic_qp *lib)
{
	unsigned int each = slots_each(cap);

	cap->max_send_wr = (lib->sq.mask + 1) / each;
	cap->max_recv_wr = lib->rq.mask + 1;
	if (each == 1) {
		cap->max_send_sge = UNIC_SQ_SGE_BASE;
		cap->max_inline_data = UNIC_SQ_INLINE_BASE;
	} else {
		cap->max_send_sge = UNIC_SQ_SGE_MAX;
		cap->max_inline_data = UNIC_SQ_INLINE_MAX;
	}
	cap->max_recv_sge = UNIC_IBV_SGE;
	if (lib->srq) /* it has none of its own */
		cap->max_recv_wr = cap->max_recv_sge = 0;
}

static int create_lib_qp(struct ibv_pd *pd, const struct ibv_qp_init_attr *init,
			 struct unic_qp **out)
{
	int type = lib_type(init->qp_type);
	struct unic_qp_attr attr = {
		.sq_slots = at_least_2(init->cap.max_send_wr *
				       slots_each(&init->cap)),
		.rq_slots = at_least_2(init->cap.max_recv_wr),
		.type = (uint8_t)type,
		/* of what meets a page that is not on the NIC, keep what there is
		 * room for */
		.miss = type == UNIC_QPT_RC ? 0 : UNIC_QPM_BOUNCE,
	};

	if (type < 0)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq ||
	    check_cap(&init->cap, unic_ibv_ring_slots(pd->context)))
		return -EINVAL;
	attr.send_cq = unic_ibv_cq(init->send_cq)->lib;
	attr.recv_cq = unic_ibv_cq(init->recv_cq)->lib;
	if (attr.send_cq->ctx != unic_ibv_pd(pd)->lib->ctx ||
	    attr.recv_cq->ctx != attr.send_cq->ctx)
		return -EINVAL;
	attr.srq = init->srq ? unic_ibv_srq(init->srq)->lib : NULL;
	if (attr.srq && attr.srq->ctx != attr.send_cq->ctx)
		return -EINVAL;
	return unic_create_qp(unic_ibv_pd(pd)->lib, &attr, out);
}

static void init_ibv_qp(struct ibv_qp *qp, struct ibv_pd *pd,
			const struct ibv_qp_init_attr *init, uint32_t qp_num)
{
	*qp = (struct ibv_qp){
		.context = pd->context,
		.qp_context = init->qp_context,
		.pd = pd,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.qp_num = qp_num,
		.state = IBV_QPS_RESET,
		.qp_type = init->qp_type,
	};
	pthread_mutex_init(&qp->mutex, NULL);
	pthread_cond_init(&qp->cond, NULL);
}

/* A queue pair whose requests are built by calls, too, if @build is one: @build is the queue
 * pair's then. */
static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init,
			      struct unic_ibv_build *build)
{
	struct unic_ibv_qp *qp = calloc(1, sizeof(*qp));
	int err;

	if (!qp)
		return unic_ibv_null(-ENOMEM);
	err = create_lib_qp(pd, init, &qp->lib);
	if (err) {
		free(qp);
		return unic_ibv_null(err);
	}
	grow_cap(&init->cap, qp->lib);
	qp->cap = init->cap;
	qp->signal_all = init->sq_sig_all;
	init_ibv_qp(&qp->vqp.qp, pd, init, unic_qp_num(qp->lib));
	unic_qp_set_user(qp->lib, &qp->vqp.qp);
	unic_ibv_use_pd(pd);
	if (build)
		unic_ibv_build_of(qp, build);
	unic_events_add_qp(qp);
	return &qp->vqp.qp;
}

struct ibv_qp *unic_ibv_create_qp(struct ibv_pd *pd,
				  struct ibv_qp_init_attr *init)
{
	return make_qp(pd, init, NULL);
}

#define INIT_KNOWN                                             \
	(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | \
	 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

static int check_init_ex(const struct ibv_context *ctx,
			 const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->comp_mask & ~(uint32_t)INIT_KNOWN ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	     attr->create_flags))
		return -EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd ||
	    attr->pd->context != ctx)
		return -EINVAL;
	return lib_type(attr->qp_type) < 0 ? -EOPNOTSUPP : 0;
}

struct ibv_qp *unic_ibv_create_qp_ex(struct ibv_context *ctx,
				     struct ibv_qp_init_attr_ex *attr)
{
	struct unic_ibv_build *build = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;
	int err = check_init_ex(ctx, attr);

	if (!err && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		err = unic_ibv_make_build(ctx, attr, &build);
	if (err)
		return unic_ibv_null(err);
	/* the members of ibv_qp_init_attr are the first of ibv_qp_init_attr_ex */
	memcpy(&init, attr, sizeof(init));
	qp = make_qp(attr->pd, &init, build);
	if (qp)
		attr->cap = init.cap;
	else
		unic_ibv_free_build(build);
	return qp;
}

int unic_ibv_destroy_qp(struct ibv_qp *ibqp)
{
	struct unic_ibv_qp *qp = unic_ibv_qp(ibqp);
	int err = unic_destroy_qp(qp->lib);

	if (err)
		return unic_ibv_errno(err);
	unic_events_del_qp(qp);
	unic_events_forget_qp(qp);
	unic_ibv_free_build(qp->build);
	unic_ibv_unuse_pd(ibqp->pd);
	pthread_mutex_destroy(&ibqp->mutex);
	pthread_cond_destroy(&ibqp->cond);
	free(qp);
	return 0;
}

/* --------------------------------------------------------------- changing */

/* What a peer may do through @qp; on an adapter without atomic operations REMOTE_ATOMIC
 * grants what no operation needs. */
static uint8_t peer_rights_of(const struct unic_ibv_qp *qp, unsigned int access)
{
	uint8_t rights = 0;

	if (access & IBV_ACCESS_REMOTE_WRITE)
		rights |= UNIC_MR_REMOTE_WRITE;
	if (access & IBV_ACCESS_REMOTE_READ && qp->vqp.qp.qp_type == IBV_QPT_RC)
		rights |= UNIC_MR_REMOTE_READ;
	if (access & IBV_ACCESS_REMOTE_ATOMIC &&
	    qp->vqp.qp.qp_type == IBV_QPT_RC &&
	    unic_ibv_has_atomics(qp->vqp.qp.context))
		rights |= UNIC_MR_REMOTE_ATOMIC;
	return qp->vqp.qp.qp_type == IBV_QPT_UD ? 0 : rights;
}

static int to_init(const struct unic_ibv_qp *qp, const struct ibv_qp_attr *a,
		   struct unic_qp_mod *mod)
{
	mod->rights = peer_rights_of(qp, a->qp_access_flags);
	if (qp->vqp.qp.qp_type != IBV_QPT_UD)
		return 0;
	mod->rights = 0;
	mod->qkey = a->qkey;
	return a->qkey >> 31 ? EINVAL : 0;
}

static int to_rtr(const struct unic_ibv_qp *qp, const struct ibv_qp_attr *a,
		  struct unic_qp_mod *mod)
{
	const struct unic_attr *nic =
		&unic_ibv_context(qp->vqp.qp.context)->at->attr;

	if (qp->vqp.qp.qp_type == IBV_QPT_UD) {
		mod->mtu_shift = (uint8_t)(31 - __builtin_clz(nic->path_mtu));
		return 0;
	}
	mod->mtu_shift = (uint8_t)(7 + a->path_mtu);
	mod->dest_qpn = a->dest_qp_num;
	mod->rq_psn = a->rq_psn & 0xffffff;
	if (qp->vqp.qp.qp_type == IBV_QPT_RC) {
		mod->rnr_timer = a->min_rnr_timer;
		mod->max_dest_rd = a->max_dest_rd_atomic;
	}
	return unic_ibv_peer(&a->ah_attr, &mod->dest_ipv4);
}

static int to_rts(const struct unic_ibv_qp *qp, const struct ibv_qp_attr *a,
		  struct unic_qp_mod *mod)
{
	mod->sq_psn = a->sq_psn & 0xffffff;
	if (qp->vqp.qp.qp_type != IBV_QPT_RC)
		return 0;
	mod->max_rd = a->max_rd_atomic;
	mod->timeout = a->timeout && a->timeout + TIMEOUT_MORE < TIMEOUT_MAX
			       ? a->timeout + TIMEOUT_MORE
			       : TIMEOUT_MAX;
	mod->retry_cnt = a->retry_cnt;
	mod->rnr_retry = a->rnr_retry;
	return 0;
}

static int lib_state(enum ibv_qp_state state)
{
	static const uint8_t map[] = {
		[IBV_QPS_RESET] = UNIC_QPS_RESET,
		[IBV_QPS_INIT] = UNIC_QPS_INIT,
		[IBV_QPS_RTR] = UNIC_QPS_RTR,
		[IBV_QPS_RTS] = UNIC_QPS_RTS,
		[IBV_QPS_ERR] = UNIC_QPS_ERR,
	};

	return map[state];
}

/* DMA of a queue pair that goes to RESET ends soon. */
static int modify_lib(struct unic_qp *qp, const struct unic_qp_mod *mod)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	int tries = mod->state == UNIC_QPS_RESET ? RESET_TRIES : 1;
	int err;

	while ((err = unic_modify_qp(qp, mod)) == -EBUSY && --tries)
		nanosleep(&nap, NULL);
	return err;
}

int unic_ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct unic_ibv_qp *qp = unic_ibv_qp(ibqp);
	struct unic_qp_mod mod = { 0 };
	enum ibv_qp_state to;
	int err = unic_ibv_check_transition(qp, attr, mask, &to);

	if (err)
		return err;
	if (to == ibqp->state && to != IBV_QPS_RESET)
		return 0;
	mod.state = (uint8_t)lib_state(to);
	if (to == IBV_QPS_INIT)
		err = to_init(qp, attr, &mod);
	else if (to == IBV_QPS_RTR)
		err = to_rtr(qp, attr, &mod);
	else if (to == IBV_QPS_RTS)
		err = to_rts(qp, attr, &mod);
	if (!err)
		err = unic_ibv_errno(modify_lib(qp->lib, &mod));
	if (err)
		return err;
	unic_ibv_keep_attr(qp, attr, mask);
	return 0;
}

int unic_ibv_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		      struct ibv_qp_init_attr *init)
{
	struct unic_ibv_qp *qp = unic_ibv_qp(ibqp);

	(void)mask;
	*attr = qp->attr;
	attr->qp_state = __atomic_load_n(&ibqp->state, __ATOMIC_ACQUIRE);
	attr->cur_qp_state = attr->qp_state;
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->cap = qp->cap;
	*init = (struct ibv_qp_init_attr){
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.srq = ibqp->srq,
		.cap = qp->cap,
		.qp_type = ibqp->qp_type,
		.sq_sig_all = qp->signal_all,
	};
	return 0;
}

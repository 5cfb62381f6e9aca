/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_verbs_queue.c - making, changing and ending objects of verbs: what the driver is
 * asked, and what is left when it refuses.
 */
#include <errno.h>

#include "unit.h"

#include "cq.h"
#include "mr.h"
#include "pd.h"
#include "qp.h"
#include "verbs_rig.h"

static struct ibv_context *context(void)
{
	return &v.ctx.vctx.context;
}

static void no_cq(int cqe, int vector, int err)
{
	errno = 0;
	assert_null(unic_ibv_create_cq(context(), cqe, NULL, vector));
	assert_int_equal(errno, err);
}

static void has_entries(int cqe, int entries)
{
	struct ibv_cq *cq = unic_ibv_create_cq(context(), cqe, NULL, 0);

	assert_non_null(cq);
	assert_int_equal(cq->cqe, entries);
	assert_ptr_equal(cq->context, context());
	assert_int_equal(unic_ibv_destroy_cq(cq), 0);
}

static void completion_queues_are_resized(void **state)
{
	struct unic_attach *at = v.ctx.at;

	(void)state;
	assert_int_equal(unic_ibv_resize_cq(v.cq, 128), EOPNOTSUPP);
	at->ctx->attr.features |= UNIC_FEAT_CQ_RESIZE;
	assert_int_equal(unic_ibv_resize_cq(v.cq, 0), EINVAL);
	assert_int_equal(unic_ibv_resize_cq(v.cq, -1), EINVAL);
	assert_int_equal(unic_ibv_resize_cq(v.cq, 4097), EINVAL);
	assert_int_equal(asked.count[UNIC_CTL_CQ_RESIZE], 0);
	refuse(UNIC_CTL_CQ_RESIZE, UNIC_ST_BUSY, 1);
	assert_int_equal(unic_ibv_resize_cq(v.cq, 1), EINVAL);
	assert_int_equal(v.cq->cqe, 64);
	assert_int_equal(unic_ibv_resize_cq(v.cq, 100), 0);
	assert_int_equal(v.cq->cqe, 128);
	assert_int_equal(unic_ibv_resize_cq(v.cq, 1), 0);
	assert_int_equal(v.cq->cqe, 2);
}

static void completion_queues_have_bounds(void **state)
{
	unsigned int before;

	(void)state;
	before = asked.count[UNIC_CTL_CQ_CREATE];
	no_cq(0, 0, EINVAL);
	no_cq(-1, 0, EINVAL);
	no_cq(4097, 0, EINVAL);
	no_cq(1, 1, EINVAL);
	no_cq(1, -1, EINVAL);
	assert_int_equal(asked.count[UNIC_CTL_CQ_CREATE], before);
	has_entries(1, 2);
	has_entries(2, 2);
	has_entries(3, 4);
	has_entries(4096, 4096);
	assert_int_equal(asked.count[UNIC_CTL_CQ_CREATE], before + 4);
	refuse(UNIC_CTL_CQ_CREATE, UNIC_ST_CQ_FULL, 1);
	no_cq(1, 0, ENOMEM);
	refuse(UNIC_CTL_CQ_CREATE, UNIC_CTL_ST_NO_NIC, 1);
	no_cq(1, 0, EIO);
}

/* A queue that is in use stays, in the list of those that are rung for, too. */
static void a_queue_in_use_stays(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_cq *cq;

	(void)state;
	assert_int_equal(unic_ibv_destroy_cq(v.cq), EBUSY);
	assert_ptr_equal(v.at->cqs, unic_ibv_cq(v.cq));
	assert_null(v.at->cqs->next);
	assert_int_equal(asked.count[UNIC_CTL_CQ_DESTROY], 0);
	cq = unic_ibv_create_cq(context(), 8, NULL, 0);
	assert_non_null(cq);
	refuse(UNIC_CTL_CQ_DESTROY, UNIC_CTL_ST_TOO_MANY, 1);
	assert_int_equal(unic_ibv_destroy_cq(cq), ENOMEM);
	assert_ptr_equal(v.at->cqs, unic_ibv_cq(cq));
	assert_int_equal(unic_ibv_destroy_cq(cq), 0);
	assert_ptr_equal(v.at->cqs, unic_ibv_cq(v.cq));
	end_qp(qp);
}

static void domains_begin_and_end(void **state)
{
	struct ibv_pd *pd;

	(void)state;
	refuse(UNIC_CTL_PD_ALLOC, UNIC_ST_PD_FULL, 1);
	errno = 0;
	assert_null(unic_ibv_alloc_pd(context()));
	assert_int_equal(errno, ENOMEM);
	pd = unic_ibv_alloc_pd(context());
	assert_non_null(pd);
	assert_ptr_equal(pd->context, context());
	refuse(UNIC_CTL_PD_FREE, UNIC_ST_BUSY, 1);
	assert_int_equal(unic_ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(unic_ibv_dealloc_pd(pd), 0);
}

/* ------------------------------------------------------------- queue pairs */

static struct ibv_qp_init_attr init_of(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){
		.qp_context = &asked,
		.send_cq = v.cq,
		.recv_cq = v.cq,
		.cap = { .max_send_wr = 5,
			 .max_recv_wr = 3,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = type,
	};
}

static void no_qp(struct ibv_qp_init_attr init, int err)
{
	struct ibv_qp_init_attr was = init;

	errno = 0;
	assert_null(unic_ibv_create_qp(v.pd, &init));
	assert_int_equal(errno, err);
	assert_memory_equal(&init, &was, sizeof(was));
	assert_null(v.at->qps);
}

static void types_are_the_nics(void **state)
{
	static const struct {
		enum ibv_qp_type verbs;
		uint8_t lib, miss;
	} all[] = {
		{ IBV_QPT_RC, UNIC_QPT_RC, 0 },
		{ IBV_QPT_UC, UNIC_QPT_UC, UNIC_QPM_BOUNCE },
		{ IBV_QPT_UD, UNIC_QPT_UD, UNIC_QPM_BOUNCE },
	};
	struct ibv_cq *other = unic_ibv_create_cq(context(), 8, NULL, 0);
	struct ibv_qp_init_attr init;
	struct ibv_qp *qp;
	unsigned int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		init = init_of(all[i].verbs);
		init.recv_cq = other;
		qp = unic_ibv_create_qp(v.pd, &init);
		assert_non_null(qp);
		assert_int_equal(asked.create.type, all[i].lib);
		assert_int_equal(asked.create.miss, all[i].miss);
		assert_int_equal(unic_from_le32(asked.create.send_cq),
				 unic_ibv_cq(v.cq)->lib->id);
		assert_int_equal(unic_from_le32(asked.create.recv_cq),
				 unic_ibv_cq(other)->lib->id);
		assert_int_equal(qp->qp_num, 77 + i);
		assert_int_equal(qp->state, IBV_QPS_RESET);
		assert_int_equal(qp->qp_type, all[i].verbs);
		assert_ptr_equal(qp->context, context());
		assert_ptr_equal(qp->qp_context, &asked);
		assert_ptr_equal(qp->pd, v.pd);
		assert_ptr_equal(qp->send_cq, v.cq);
		assert_ptr_equal(qp->recv_cq, other);
		assert_ptr_equal(unic_qp_user(unic_ibv_qp(qp)->lib), qp);
		assert_ptr_equal(v.at->qps, unic_ibv_qp(qp));
		end_qp(qp);
	}
	assert_int_equal(unic_ibv_destroy_cq(other), 0);
}

/* Both rings as they were asked for, and all that fits into them is told. */
static void sizes_are_told(unsigned int sges, unsigned int bytes,
			   unsigned int each)
{
	struct ibv_qp_init_attr init = init_of(IBV_QPT_RC);
	struct ibv_qp *qp;

	init.cap.max_send_sge = sges;
	init.cap.max_inline_data = bytes;
	qp = unic_ibv_create_qp(v.pd, &init);
	assert_non_null(qp);
	assert_int_equal(unic_from_le16(asked.create.sq_slots),
			 each == 1 ? 8 : 16);
	assert_int_equal(unic_from_le16(asked.create.rq_slots), 4);
	assert_int_equal(init.cap.max_send_wr, 8);
	assert_int_equal(init.cap.max_recv_wr, 4);
	assert_int_equal(init.cap.max_send_sge, each == 1 ? 2 : 6);
	assert_int_equal(init.cap.max_recv_sge, 3);
	assert_int_equal(init.cap.max_inline_data, each == 1 ? 32 : 96);
	assert_memory_equal(&unic_ibv_qp(qp)->cap, &init.cap, sizeof(init.cap));
	end_qp(qp);
}

static void a_queue_pair_has_what_it_says(void **state)
{
	struct ibv_qp_init_attr init = init_of(IBV_QPT_RC);
	struct ibv_qp *qp;

	(void)state;
	sizes_are_told(0, 0, 1);
	sizes_are_told(2, 32, 1);
	sizes_are_told(3, 0, 2);
	sizes_are_told(6, 0, 2);
	sizes_are_told(1, 33, 2);
	init.cap = (struct ibv_qp_cap){ 0 };
	qp = unic_ibv_create_qp(v.pd, &init);
	assert_non_null(qp);
	assert_int_equal(unic_from_le16(asked.create.sq_slots), 2);
	assert_int_equal(unic_from_le16(asked.create.rq_slots), 2);
	end_qp(qp);
	init.cap = (struct ibv_qp_cap){ 512, 1024, 3, 3, 96 };
	qp = unic_ibv_create_qp(v.pd, &init);
	assert_non_null(qp);
	end_qp(qp);
	init.cap = (struct ibv_qp_cap){ 1024, 1024, 2, 3, 32 };
	qp = unic_ibv_create_qp(v.pd, &init);
	assert_non_null(qp);
	end_qp(qp);
}

static void what_cannot_be_made_is_refused(void **state)
{
	struct ibv_qp_init_attr init = init_of(IBV_QPT_RC);
	(void)state;
#define WITH(field, value, err)             \
	do {                                \
		init = init_of(IBV_QPT_RC); \
		init.field = value;         \
		no_qp(init, err);           \
	} while (0)
	WITH(qp_type, IBV_QPT_RAW_PACKET, EOPNOTSUPP);
	WITH(send_cq, NULL, EINVAL);
	WITH(recv_cq, NULL, EINVAL);
	WITH(cap.max_send_sge, 7, EINVAL);
	WITH(cap.max_recv_sge, 4, EINVAL);
	WITH(cap.max_inline_data, 97, EINVAL);
	WITH(cap.max_send_wr, 1025, EINVAL);
	WITH(cap.max_send_wr, 1u << 31 | 1, EINVAL);
	WITH(cap.max_recv_wr, 1025, EINVAL);
	init = init_of(IBV_QPT_RC);
	init.cap.max_send_sge = 3;
	init.cap.max_send_wr = 513; /* of two slots each */
	no_qp(init, EINVAL);
	assert_int_equal(asked.count[UNIC_CTL_QP_CREATE], 0);
	refuse(UNIC_CTL_QP_CREATE, UNIC_ST_QP_FULL, 1);
	no_qp(init_of(IBV_QPT_RC), ENOMEM);
}

static void a_queue_pair_ends_once(void **state)
{
	struct ibv_qp *first = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);

	(void)state;
	refuse(UNIC_CTL_QP_DESTROY, UNIC_CTL_ST_TOO_MANY, 1);
	assert_int_equal(unic_ibv_destroy_qp(first), ENOMEM);
	assert_true(v.at->qps && v.at->qps->next && !v.at->qps->next->next);
	end_qp(first);
	assert_ptr_equal(v.at->qps, unic_ibv_qp(qp));
	assert_null(v.at->qps->next);
	end_qp(qp);
	assert_null(v.at->qps);
}

/* ------------------------------------------------------------ transitions */

#define INIT (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define RTR                                                             \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | \
	 IBV_QP_RQ_PSN)
#define RTR_RC (RTR | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS    (IBV_QP_STATE | IBV_QP_SQ_PSN)
#define RTS_RC                                                        \
	(RTS | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_MAX_QP_RD_ATOMIC)

static struct ibv_qp_attr attr_to(enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {
		.qp_state = to,
		.path_mtu = IBV_MTU_1024,
		.qkey = 0x1234,
		.rq_psn = 0x1abcdef,
		.sq_psn = 0x1fedcba,
		.dest_qp_num = 0x55,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
		.ah_attr = { .is_global = 1, .port_num = 1 },
		.max_rd_atomic = 3,
		.max_dest_rd_atomic = 2,
		.min_rnr_timer = 9,
		.port_num = 1,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 5,
	};

	memcpy(attr.ah_attr.grh.dgid.raw + 10, "\xff\xff\x0a\x01\x02\x03", 6);
	return attr;
}

/* As ibv_modify_qp(). */
static int modify(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	int err = unic_ibv_modify_qp(qp, &attr, mask);

	if (!err && mask & IBV_QP_STATE)
		qp->state = attr.qp_state;
	return err;
}

static void goes_to(struct ibv_qp *qp, enum ibv_qp_state to, int mask)
{
	assert_int_equal(modify(qp, attr_to(to), mask), 0);
	assert_int_equal(unic_from_le32(asked.modify.id),
			 unic_ibv_qp(qp)->lib->id);
}

static struct ibv_qp *fresh(enum ibv_qp_type type)
{
	struct ibv_qp *qp = make_qp(type, 1, 0, false);

	qp->state = IBV_QPS_RESET;
	return qp;
}

static void rc_takes_each_attribute(void **state)
{
	struct ibv_qp *qp = fresh(IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_to(IBV_QPS_RTR);
	const struct unic_ctl_qp_modify *m = &asked.modify;

	(void)state;
	goes_to(qp, IBV_QPS_INIT, INIT | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(m->state, UNIC_QPS_INIT);
	assert_int_equal(m->rights, UNIC_MR_REMOTE_WRITE | UNIC_MR_REMOTE_READ);
	assert_int_equal(unic_from_le32(m->qkey), 0);
	goes_to(qp, IBV_QPS_RTR, RTR_RC);
	assert_int_equal(m->state, UNIC_QPS_RTR);
	assert_int_equal(m->mtu_shift, 10);
	assert_int_equal(unic_from_le32(m->dest_qpn), 0x55);
	assert_int_equal(unic_from_le32(m->rq_psn), 0xabcdef);
	assert_int_equal(unic_from_le32(m->dest_ipv4), 0x0a010203);
	assert_int_equal(m->rnr_timer, 9);
	assert_int_equal(m->max_dest_rd, 2);
	goes_to(qp, IBV_QPS_RTS, RTS_RC);
	assert_int_equal(m->state, UNIC_QPS_RTS);
	assert_int_equal(unic_from_le32(m->sq_psn), 0xfedcba);
	assert_int_equal(m->max_rd, 3);
	assert_int_equal(m->timeout, 16); /* four times as long */
	assert_int_equal(m->retry_cnt, 6);
	assert_int_equal(m->rnr_retry, 5);
	goes_to(qp, IBV_QPS_ERR, IBV_QP_STATE);
	assert_int_equal(m->state, UNIC_QPS_ERR);
	goes_to(qp, IBV_QPS_RESET, IBV_QP_STATE);
	assert_int_equal(m->state, UNIC_QPS_RESET);
	/* another MTU */
	goes_to(qp, IBV_QPS_INIT, INIT | IBV_QP_ACCESS_FLAGS);
	attr.path_mtu = IBV_MTU_4096;
	assert_int_equal(modify(qp, attr, RTR_RC), 0);
	assert_int_equal(m->mtu_shift, 12);
	end_qp(qp);
}

static void uc_and_ud_take_theirs(void **state)
{
	struct ibv_qp *uc = fresh(IBV_QPT_UC), *ud = fresh(IBV_QPT_UD);
	const struct unic_ctl_qp_modify *m = &asked.modify;
	struct ibv_qp_attr attr;

	(void)state;
	goes_to(uc, IBV_QPS_INIT, INIT | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(m->rights, UNIC_MR_REMOTE_WRITE);
	goes_to(uc, IBV_QPS_RTR, RTR);
	assert_int_equal(m->rnr_timer, 0);
	assert_int_equal(m->max_dest_rd, 0);
	assert_int_equal(unic_from_le32(m->dest_qpn), 0x55);
	goes_to(uc, IBV_QPS_RTS, RTS);
	assert_int_equal(unic_from_le32(m->sq_psn), 0xfedcba);
	assert_int_equal(m->timeout, 0);
	assert_int_equal(m->retry_cnt, 0);
	attr = attr_to(IBV_QPS_INIT);
	attr.qkey = 1u << 31;
	assert_int_equal(modify(ud, attr, INIT | IBV_QP_QKEY), EINVAL);
	goes_to(ud, IBV_QPS_INIT, INIT | IBV_QP_QKEY);
	assert_int_equal(m->rights, 0);
	assert_int_equal(unic_from_le32(m->qkey), 0x1234);
	v.at->attr.path_mtu = 2048;
	goes_to(ud, IBV_QPS_RTR, IBV_QP_STATE);
	assert_int_equal(m->mtu_shift, 11);
	assert_int_equal(unic_from_le32(m->dest_qpn), 0);
	assert_int_equal(unic_from_le32(m->dest_ipv4), 0);
	goes_to(ud, IBV_QPS_RTS, RTS);
	assert_int_equal(unic_from_le32(m->sq_psn), 0xfedcba);
	end_qp(uc);
	end_qp(ud);
}

/* The time that a requester waits is raised, and never is for the 0 of verbs. */
static void timeouts_are_raised(void **state)
{
	static const uint8_t is[][2] = { { 0, 31 },  { 1, 3 },	 { 28, 30 },
					 { 29, 31 }, { 30, 31 }, { 31, 31 } };
	struct ibv_qp *qp = fresh(IBV_QPT_RC);
	struct ibv_qp_attr attr = attr_to(IBV_QPS_RTS);
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(is) / sizeof(is[0]); i++) {
		qp->state = IBV_QPS_RTR;
		attr.timeout = is[i][0];
		assert_int_equal(modify(qp, attr, RTS_RC), 0);
		assert_int_equal(asked.modify.timeout, is[i][1]);
	}
	end_qp(qp);
}

static void what_is_refused_changes_nothing(void **state)
{
	struct ibv_qp *qp = fresh(IBV_QPT_RC);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	unsigned int before;

	(void)state;
	/* not asked: it is wrong here already */
	assert_int_equal(modify(qp, attr_to(IBV_QPS_RTR), RTR_RC), EINVAL);
	assert_int_equal(asked.count[UNIC_CTL_QP_MODIFY], 0);
	refuse(UNIC_CTL_QP_MODIFY, UNIC_ST_BUSY, 1);
	assert_int_equal(modify(qp, attr_to(IBV_QPS_INIT),
				INIT | IBV_QP_ACCESS_FLAGS),
			 EBUSY);
	assert_int_equal(asked.count[UNIC_CTL_QP_MODIFY], 1);
	assert_int_equal(qp->state, IBV_QPS_RESET);
	unic_ibv_query_qp(qp, &attr, 0, &init);
	assert_int_equal(attr.qp_access_flags, 0);
	goes_to(qp, IBV_QPS_INIT, INIT | IBV_QP_ACCESS_FLAGS);
	refuse(UNIC_CTL_QP_MODIFY, UNIC_CTL_ST_UNREACHABLE, 1);
	assert_int_equal(modify(qp, attr_to(IBV_QPS_RTR), RTR_RC),
			 EHOSTUNREACH);
	/* DMA of a queue pair that goes to RESET ends soon */
	refuse(UNIC_CTL_QP_MODIFY, UNIC_ST_BUSY, 3);
	before = asked.count[UNIC_CTL_QP_MODIFY];
	goes_to(qp, IBV_QPS_RESET, IBV_QP_STATE);
	assert_int_equal(asked.count[UNIC_CTL_QP_MODIFY], before + 4);
	refuse(UNIC_CTL_QP_MODIFY, UNIC_ST_INVALID, 3);
	assert_int_equal(modify(qp, attr_to(IBV_QPS_RESET), IBV_QP_STATE),
			 EINVAL);
	assert_int_equal(asked.count[UNIC_CTL_QP_MODIFY], before + 5);
	refuse(0, 0, 0);
	end_qp(qp);
}

/* A state that it has needs no NIC, but for RESET. */
static void a_state_again_is_nothing(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);

	(void)state;
	assert_int_equal(modify(qp, attr_to(IBV_QPS_RTS), IBV_QP_STATE), 0);
	qp->state = IBV_QPS_ERR;
	assert_int_equal(modify(qp, attr_to(IBV_QPS_ERR), IBV_QP_STATE), 0);
	assert_int_equal(asked.count[UNIC_CTL_QP_MODIFY], 0);
	qp->state = IBV_QPS_RESET;
	assert_int_equal(modify(qp, attr_to(IBV_QPS_RESET), IBV_QP_STATE), 0);
	assert_int_equal(asked.count[UNIC_CTL_QP_MODIFY], 1);
	end_qp(qp);
}

static void what_was_set_is_told(void **state)
{
	struct ibv_qp_init_attr init = init_of(IBV_QPT_RC), got;
	struct ibv_qp_attr attr, set = attr_to(IBV_QPS_RTS);
	struct ibv_qp *qp;

	(void)state;
	init.sq_sig_all = 1;
	qp = unic_ibv_create_qp(v.pd, &init);
	assert_non_null(qp);
	goes_to(qp, IBV_QPS_INIT, INIT | IBV_QP_ACCESS_FLAGS);
	goes_to(qp, IBV_QPS_RTR, RTR_RC);
	goes_to(qp, IBV_QPS_RTS, RTS_RC);
	assert_int_equal(unic_ibv_query_qp(qp, &attr, 0, &got), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.path_mig_state, IBV_MIG_MIGRATED);
	assert_int_equal(attr.qp_access_flags, set.qp_access_flags);
	assert_int_equal(attr.port_num, 1);
	assert_int_equal(attr.path_mtu, set.path_mtu);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.retry_cnt, 6);
	assert_int_equal(attr.rnr_retry, 5);
	assert_int_equal(attr.min_rnr_timer, 9);
	assert_int_equal(attr.rq_psn, set.rq_psn);
	assert_int_equal(attr.sq_psn, set.sq_psn);
	assert_int_equal(attr.max_rd_atomic, 3);
	assert_int_equal(attr.max_dest_rd_atomic, 2);
	assert_int_equal(attr.dest_qp_num, 0x55);
	assert_memory_equal(&attr.ah_attr.grh.dgid, &set.ah_attr.grh.dgid, 16);
	assert_memory_equal(&attr.cap, &init.cap, sizeof(init.cap));
	assert_memory_equal(&got.cap, &init.cap, sizeof(init.cap));
	assert_ptr_equal(got.qp_context, &asked);
	assert_ptr_equal(got.send_cq, v.cq);
	assert_ptr_equal(got.recv_cq, v.cq);
	assert_int_equal(got.qp_type, IBV_QPT_RC);
	assert_int_equal(got.sq_sig_all, 1);
	qp->state = IBV_QPS_ERR; /* as an event says */
	assert_int_equal(unic_ibv_query_qp(qp, &attr, 0, &got), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(attr.cur_qp_state, IBV_QPS_ERR);
	end_qp(qp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_VERBS(completion_queues_have_bounds),
		WITH_VERBS(completion_queues_are_resized),
		WITH_VERBS(a_queue_in_use_stays),
		WITH_VERBS(domains_begin_and_end),
		WITH_VERBS(types_are_the_nics),
		WITH_VERBS(a_queue_pair_has_what_it_says),
		WITH_VERBS(what_cannot_be_made_is_refused),
		WITH_VERBS(a_queue_pair_ends_once),
		WITH_VERBS(rc_takes_each_attribute),
		WITH_VERBS(uc_and_ud_take_theirs),
		WITH_VERBS(timeouts_are_raised),
		WITH_VERBS(what_is_refused_changes_nothing),
		WITH_VERBS(a_state_again_is_nothing),
		WITH_VERBS(what_was_set_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

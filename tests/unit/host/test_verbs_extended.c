/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_verbs_extended.c - completion queues that are read a member at a time, domains that
 * are made of others, and regions that change.
 */
#include <endian.h>
#include <errno.h>

#include "unit.h"

#include "completion.h"
#include "cq.h"
#include "cq_ex.h"
#include "mr.h"
#include "pd.h"
#include "post.h"
#include "qp.h"
#include "verbs_rig.h"

static struct ibv_context *context(void)
{
	return &v.ctx.vctx.context;
}

/* ------------------------------------------------------ completion queues */

static struct ibv_cq_ex *make_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 5,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_cq_ex *cq = unic_ibv_create_cq_ex(context(), &attr);

	assert_non_null(cq);
	assert_int_equal(cq->cqe, 8);
	return cq;
}

static void members_are_read_one_by_one(void **state)
{
	struct ibv_cq_ex *ex = make_cq_ex();
	struct ibv_cq *own = v.cq, *cq = (struct ibv_cq *)ex;
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_recv_wr wr = { .wr_id = 0x1234567812345678 }, *bad;
	struct unic_cqe cqe = { .opcode = UNIC_WC_RECV,
				.flags = UNIC_WC_GRH | UNIC_WC_WITH_IMM,
				.byte_len = unic_to_le32(99),
				.imm = unic_to_le32(7),
				.token = unic_to_le32(0x55) };
	struct ibv_qp *qp;
	struct ibv_wc wc;

	(void)state;
	v.cq = cq;
	qp = make_qp(IBV_QPT_UD, 1, 0, true);
	v.cq = own;
	assert_int_equal(ex->start_poll(ex, &attr), ENOENT);
	assert_int_equal(unic_ibv_post_recv(qp, &wr, &bad), 0);
	assert_int_equal(unic_ibv_post_recv(qp, &wr, &bad), 0);
	assert_int_equal(unic_ibv_post_recv(qp, &wr, &bad), 0);
	cqe.qpn = unic_to_le32(qp->qp_num);
	nic_writes(cq, cqe);
	cqe.wr_id = unic_to_le64(1);
	cqe.status = UNIC_WC_LOC_LEN_ERR;
	cqe.detail = 3;
	nic_writes(cq, cqe);
	attr.comp_mask = 1;
	assert_int_equal(ex->start_poll(ex, &attr), EINVAL);
	attr.comp_mask = 0;
	assert_int_equal(ex->start_poll(ex, &attr), 0);
	assert_int_equal(ex->wr_id, 0x1234567812345678);
	assert_int_equal(ex->status, IBV_WC_SUCCESS);
	assert_int_equal(ex->read_opcode(ex), IBV_WC_RECV);
	assert_int_equal(ex->read_vendor_err(ex), 0);
	assert_int_equal(ex->read_byte_len(ex), 99);
	assert_int_equal(be32toh(ex->read_imm_data(ex)), 7);
	assert_int_equal(ex->read_qp_num(ex), qp->qp_num);
	assert_int_equal(ex->read_src_qp(ex), 0x55);
	assert_int_equal(ex->read_wc_flags(ex), IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(ex->read_slid(ex), 0);
	assert_int_equal(ex->read_sl(ex), 10); /* UDP over IPv4 */
	assert_int_equal(ex->read_dlid_path_bits(ex), 0);
	/* the lock is one of ibv_start_poll() alone */
	assert_int_equal(pthread_mutex_trylock(&unic_ibv_cq(cq)->polling),
			 EBUSY);
	assert_int_equal(ex->next_poll(ex), 0);
	assert_int_equal(ex->status, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(ex->read_vendor_err(ex), UNIC_WC_LOC_LEN_ERR << 8 | 3);
	assert_int_equal(ex->next_poll(ex), ENOENT);
	assert_int_equal(ex->status, IBV_WC_LOC_LEN_ERR);
	ex->end_poll(ex);
	assert_int_equal(ex->start_poll(ex, &attr), ENOENT);
	/* the other way is open, too */
	cqe.wr_id = unic_to_le64(2);
	nic_writes(cq, cqe);
	assert_int_equal(unic_ibv_poll_cq(cq, 1, &wc), 1);
	end_qp(qp);
	assert_int_equal(unic_ibv_destroy_cq(cq), 0);
}

static void no_cq_ex(struct ibv_cq_init_attr_ex attr, int err)
{
	errno = 0;
	assert_null(unic_ibv_create_cq_ex(context(), &attr));
	assert_int_equal(errno, err);
}

static void other_members_are_absent(void **state)
{
	const struct ibv_cq_init_attr_ex plain = { .cqe = 4 };
	struct ibv_cq_init_attr_ex attr;

	(void)state;
#define WITH(field, value, err)      \
	do {                         \
		attr = plain;        \
		attr.field = value;  \
		no_cq_ex(attr, err); \
	} while (0)
	WITH(cqe, 0, EINVAL);
	WITH(cqe, 4097, EINVAL);
	WITH(comp_vector, 1, EINVAL);
	WITH(comp_mask, 1u << 2, EINVAL);
	WITH(wc_flags, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, EOPNOTSUPP);
	WITH(wc_flags, IBV_WC_EX_WITH_CVLAN, EOPNOTSUPP);
	WITH(wc_flags, 1ull << 40, EOPNOTSUPP);
	attr = plain;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	no_cq_ex(attr, EOPNOTSUPP);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	no_cq_ex(attr, EINVAL);
	attr.parent_domain = v.pd; /* which is no parent domain */
	no_cq_ex(attr, EINVAL);
}

/* ----------------------------------------------------------------- domains */

static void *no_alloc(struct ibv_pd *pd, void *pd_context, size_t size,
		      size_t alignment, uint64_t type)
{
	(void)pd;
	(void)pd_context;
	(void)size;
	(void)alignment;
	(void)type;
	fail();
	return NULL;
}

static void no_free(struct ibv_pd *pd, void *pd_context, void *ptr,
		    uint64_t type)
{
	(void)pd;
	(void)pd_context;
	(void)ptr;
	(void)type;
	fail();
}

/* A domain stays while others are made of it, and a parent domain while a queue pair is of
 * it. */
static void parents_hold_their_domains(void **state)
{
	struct ibv_td_init_attr none = { 0 };
	struct ibv_td *td = unic_ibv_alloc_td(context(), &none);
	struct ibv_parent_domain_init_attr attr = {
		.pd = v.pd,
		.td = td,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = no_alloc,
		.free = no_free,
	};
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD
	};
	struct ibv_pd *own = v.pd, *parent;
	struct ibv_cq_ex *cq;
	struct ibv_qp *qp;

	(void)state;
	assert_non_null(td);
	assert_ptr_equal(td->context, context());
	parent = unic_ibv_alloc_parent_domain(context(), &attr);
	assert_non_null(parent);
	assert_ptr_equal(parent->context, context());
	assert_int_equal(unic_ibv_dealloc_pd(v.pd), EBUSY);
	assert_int_equal(unic_ibv_dealloc_td(td), EBUSY);
	cq_attr.parent_domain = parent;
	cq = unic_ibv_create_cq_ex(context(), &cq_attr);
	assert_non_null(cq);
	v.pd = parent;
	qp = make_qp(IBV_QPT_RC, 1, 0, false);
	v.pd = own;
	assert_ptr_equal(qp->pd, parent);
	assert_int_equal(unic_ibv_dealloc_pd(parent), EBUSY);
	end_qp(qp);
	assert_int_equal(unic_ibv_destroy_cq((struct ibv_cq *)cq), 0);
	assert_int_equal(unic_ibv_dealloc_pd(parent), 0);
	assert_int_equal(unic_ibv_dealloc_td(td), 0);
	assert_int_equal(asked.count[UNIC_CTL_PD_FREE], 0);
	/* a queue pair of a plain domain is known to the library */
	qp = make_qp(IBV_QPT_RC, 1, 0, false);
	assert_int_equal(unic_ibv_dealloc_pd(v.pd), EBUSY);
	end_qp(qp);
}

static void no_parent(struct ibv_parent_domain_init_attr attr)
{
	errno = 0;
	assert_null(unic_ibv_alloc_parent_domain(context(), &attr));
	assert_int_equal(errno, EINVAL);
}

static void wrong_parents_are_refused(void **state)
{
	const struct ibv_parent_domain_init_attr plain = { .pd = v.pd };
	struct ibv_parent_domain_init_attr attr = plain;
	struct ibv_td_init_attr none = { .comp_mask = 1 };
	struct ibv_context other = { 0 };
	struct unic_ibv_pd pd = { .pd.context = &other };
	struct ibv_td td = { .context = &other };
	struct ibv_pd *parent = unic_ibv_alloc_parent_domain(context(), &attr);

	(void)state;
	assert_non_null(parent);
	attr.pd = NULL;
	no_parent(attr);
	attr.pd = parent;
	no_parent(attr);
	attr.pd = &pd.pd;
	no_parent(attr);
	attr = plain;
	attr.td = &td;
	no_parent(attr);
	attr = plain;
	attr.comp_mask = 1u << 2;
	no_parent(attr);
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	attr.alloc = no_alloc;
	no_parent(attr);
	attr.alloc = NULL;
	attr.free = no_free;
	no_parent(attr);
	assert_int_equal(unic_ibv_dealloc_pd(parent), 0);
	errno = 0;
	assert_null(unic_ibv_alloc_td(context(), &none));
	assert_int_equal(errno, EINVAL);
}

/* ----------------------------------------------------------------- regions */

static struct ibv_mr *make_mr(void *mem, size_t bytes, int access)
{
	struct ibv_mr *mr =
		unic_ibv_reg_mr(v.pd, mem, bytes, (uintptr_t)mem, access);

	assert_non_null(mr);
	mr->context = context(); /* as libibverbs does */
	mr->pd = v.pd;
	mr->addr = mem;
	mr->length = bytes;
	return mr;
}

static int dereg(struct ibv_mr *mr)
{
	return unic_ibv_dereg_mr((struct verbs_mr *)mr);
}

static int rereg(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
		 size_t length, int access)
{
	errno = 0;
	return unic_ibv_rereg_mr((struct verbs_mr *)mr, flags, pd, addr, length,
				 access);
}

static void memory_on_demand_is_so(void **state)
{
	uint8_t *mem = unic_alloc(v.at->ctx, PAGE, PAGE);
	struct ibv_mr *mr;

	(void)state;
	v.at->attr.features |= UNIC_FEAT_HOST_TABLE;
	mr = make_mr(mem, 8, IBV_ACCESS_LOCAL_WRITE);
	assert_int_equal(drv.reg.residency, UNIC_TABLE);
	assert_int_equal(dereg(mr), 0);
	mr = make_mr(mem, 8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	assert_int_equal(drv.reg.residency, UNIC_DEMAND);
	assert_int_equal(dereg(mr), 0);
	assert_int_equal(unic_free(v.at->ctx, mem), 0);
}

static void rights_and_domain_are_exchanged(void **state)
{
	uint8_t *mem = unic_alloc(v.at->ctx, PAGE, PAGE);
	struct ibv_mr *mr = make_mr(mem, 8, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_pd *pd = unic_ibv_alloc_pd(context());
	uint32_t key = mr->rkey, regs = drv.regs;

	(void)state;
	assert_int_equal(rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
			 0);
	assert_int_equal(drv.rereg.what, UNIC_REREG_RIGHTS | UNIC_REREG_PD);
	assert_int_equal(drv.rereg.rights,
			 UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ);
	assert_int_equal(unic_from_le32(drv.rereg.pd),
			 unic_ibv_pd(v.pd)->lib->id);
	assert_int_equal(rereg(mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0), 0);
	assert_int_equal(drv.rereg.rights, /* those of before */
			 UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ);
	assert_int_equal(unic_from_le32(drv.rereg.pd),
			 unic_ibv_pd(pd)->lib->id);
	assert_int_equal(mr->rkey, key);
	assert_int_equal(drv.regs, regs);
	assert_int_equal(dereg(mr), 0);
	assert_int_equal(unic_ibv_dealloc_pd(pd), 0);
	assert_int_equal(unic_free(v.at->ctx, mem), 0);
}

/* Another range, and what the NIC cannot change: registered before the old one ends. */
static void a_region_is_made_anew(void **state)
{
	uint8_t *mem = unic_alloc(v.at->ctx, 2 * PAGE, PAGE);
	struct ibv_mr *mr = make_mr(mem, 8, IBV_ACCESS_LOCAL_WRITE);
	uint32_t regs = drv.regs, deregs = drv.deregs;

	(void)state;
	assert_int_equal(rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			       mem + PAGE, 16, 0),
			 0);
	assert_int_equal(unic_from_le64(drv.reg.va), (uintptr_t)mem + PAGE);
	assert_int_equal(unic_from_le64(drv.reg.length), 16);
	assert_int_equal(drv.reg.rights, UNIC_MR_LOCAL_WRITE);
	assert_int_equal(drv.regs, regs + 1);
	assert_int_equal(drv.deregs, deregs + 1);
	assert_int_equal(mr->lkey, ((struct unic_ibv_mr *)mr)->lib->stag);
	refuse(UNIC_CTL_MR_REREG, UNIC_ST_STATE, 1);
	assert_int_equal(
		rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), 0);
	assert_int_equal(drv.reg.rights, 0);
	assert_int_equal(drv.regs, regs + 2);
	assert_int_equal(drv.deregs, deregs + 2);
	assert_int_equal(dereg(mr), 0);
	assert_int_equal(unic_free(v.at->ctx, mem), 0);
}

/* After an error a region is as it was. */
static void a_change_is_refused(void **state)
{
	uint8_t *mem = unic_alloc(v.at->ctx, 2 * PAGE, PAGE);
	struct ibv_mr *mr = make_mr(mem, 8, IBV_ACCESS_LOCAL_WRITE);
	struct unic_mr *lib = ((struct unic_ibv_mr *)mr)->lib;
	struct ibv_context other = { 0 };
	struct unic_ibv_pd pd = { .pd.context = &other };
	uint32_t deregs = drv.deregs;

	(void)state;
	assert_int_equal(rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			       IBV_ACCESS_REMOTE_WRITE),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rereg(mr, IBV_REREG_MR_CHANGE_PD, &pd.pd, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rereg(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EINVAL);
	refuse(UNIC_CTL_MR_REREG, UNIC_ST_BUSY, 1);
	assert_int_equal(rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			       0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, EBUSY);
	refuse(UNIC_CTL_MR_REG, UNIC_ST_MR_FULL, 1);
	assert_int_equal(rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			       mem + PAGE, 16, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(drv.deregs, deregs);
	refuse(UNIC_CTL_MR_DEREG, UNIC_CTL_ST_TOO_MANY, 1);
	assert_int_equal(rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
			       mem + PAGE, 16, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, ENOMEM);
	assert_ptr_equal(((struct unic_ibv_mr *)mr)->lib, lib);
	assert_int_equal(drv.deregs, deregs + 1); /* of the new one */
	refuse(UNIC_CTL_MR_DEREG, UNIC_CTL_ST_TOO_MANY, 1);
	assert_int_equal(dereg(mr), ENOMEM);
	assert_int_equal(dereg(mr), 0);
	assert_null(v.at->mrs);
	assert_int_equal(unic_free(v.at->ctx, mem), 0);
}

static int advise(const struct ibv_mr *mr, enum ibv_advise_mr_advice advice,
		  size_t off, uint32_t length)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)mr->addr, 1, mr->lkey },
		{ (uintptr_t)mr->addr + off, length, mr->lkey },
	};

	return unic_ibv_advise_mr(v.pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, sge,
				  2);
}

static void pages_are_asked_for(void **state)
{
	uint8_t *mem = unic_alloc(v.at->ctx, 2 * PAGE, PAGE);
	struct ibv_mr *mr = make_mr(
		mem, 2 * PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	struct ibv_mr *fixed = make_mr(mem, PAGE, IBV_ACCESS_ON_DEMAND);
	struct ibv_pd *pd = unic_ibv_alloc_pd(context());
	struct ibv_sge sge = { (uintptr_t)mem, 8, mr->lkey };
	unsigned int before = asked.count[UNIC_CTL_MR_ADVISE];

	(void)state;
	assert_int_equal(advise(mr, IBV_ADVISE_MR_ADVICE_PREFETCH, PAGE, PAGE),
			 0);
	assert_int_equal(asked.count[UNIC_CTL_MR_ADVISE], before + 2);
	assert_int_equal(advise(mr, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, 1),
			 0);
	assert_int_equal(
		advise(fixed, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, 1), 0);
	before = asked.count[UNIC_CTL_MR_ADVISE];
	assert_int_equal(advise(fixed, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0,
				1),
			 EPERM);
	assert_int_equal(advise(fixed, 3, 0, 1), EINVAL);
	assert_int_equal(unic_ibv_advise_mr(v.pd, 0, 2, &sge, 1), EINVAL);
	assert_int_equal(unic_ibv_advise_mr(v.pd, 0, 0, &sge, 0), EINVAL);
	assert_int_equal(unic_ibv_advise_mr(pd, 0, 0, &sge, 1), EPERM);
	sge.addr--;
	assert_int_equal(unic_ibv_advise_mr(v.pd, 0, 0, &sge, 1), EFAULT);
	sge.addr = (uintptr_t)mem + 2 * PAGE - 7;
	assert_int_equal(unic_ibv_advise_mr(v.pd, 0, 0, &sge, 1), EFAULT);
	sge.lkey ^= 0x1000;
	assert_int_equal(unic_ibv_advise_mr(v.pd, 0, 0, &sge, 1), ENOENT);
	assert_int_equal(asked.count[UNIC_CTL_MR_ADVISE], before);
	assert_int_equal(dereg(mr), 0);
	assert_ptr_equal(v.at->mrs, fixed);
	assert_int_equal(dereg(fixed), 0);
	assert_int_equal(unic_ibv_dealloc_pd(pd), 0);
	assert_int_equal(unic_free(v.at->ctx, mem), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_VERBS(members_are_read_one_by_one),
		WITH_VERBS(other_members_are_absent),
		WITH_VERBS(parents_hold_their_domains),
		WITH_VERBS(wrong_parents_are_refused),
		WITH_VERBS(memory_on_demand_is_so),
		WITH_VERBS(rights_and_domain_are_exchanged),
		WITH_VERBS(a_region_is_made_anew),
		WITH_VERBS(a_change_is_refused),
		WITH_VERBS(pages_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_verbs_window.c - memory windows of verbs: what the driver is asked, and what lies in
 * the rings of the NIC.
 */
#include <errno.h>
#include <sys/mman.h>

#include "unit.h"

#include "mr.h"
#include "mw.h"
#include "post.h"
#include "qp.h"
#include "verbs_rig.h"

#define BIND_OPS                                             \
	(IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV | \
	 IBV_QP_EX_WITH_SEND_WITH_INV)

/* The last MR_MAKE, with its element, and how many there were; forms that there are. */
static struct {
	struct unic_ctl_mr_make make;
	struct unic_sge sge;
	unsigned int makes, allocs, kinds[8];
} asked_forms;
/* What another thread posts to while a window is bound; or NULL. */
static struct ibv_qp *filled_meanwhile;
static int (*others)(uint16_t op, const uint8_t *in, size_t len, uint8_t *out);

static void fill_queue(struct ibv_qp *qp)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad;

	while (!unic_ibv_post_send(qp, &send, &bad))
		;
}

static int answer_forms(uint16_t op, const uint8_t *in, size_t len,
			uint8_t *out)
{
	struct unic_ctl_mr_reg_reply *r = (void *)out;
	struct unic_ctl_mr_alloc a;

	if (op == asked.refuse && asked.times)
		return others(op, in, len, out);
	if (op == UNIC_CTL_MR_ALLOC) {
		memcpy(&a, in, sizeof(a));
		asked_forms.allocs++;
		asked_forms.kinds[a.kind]++;
		r->id = unic_to_le32(++drv.next_id);
		r->stag = unic_to_le32(0x700000u + (drv.next_id << 8));
		return 0;
	}
	if (op == UNIC_CTL_MR_MAKE) {
		memcpy(&asked_forms.make, in, sizeof(asked_forms.make));
		memset(&asked_forms.sge, 0, sizeof(asked_forms.sge));
		if (len >= UNIC_CTL_BYTES + sizeof(asked_forms.sge))
			memcpy(&asked_forms.sge, in + UNIC_CTL_BYTES,
			       sizeof(asked_forms.sge));
		asked_forms.makes++;
		if (filled_meanwhile)
			fill_queue(filled_meanwhile);
		r->stag = unic_to_le32(0x550000u + asked_forms.make.key);
		return 0;
	}
	return others(op, in, len, out);
}

static int up(void **state)
{
	int err = verbs_up(state);

	memset(&asked_forms, 0, sizeof(asked_forms));
	filled_meanwhile = NULL;
	others = drv.first;
	drv.first = answer_forms;
	v.at->attr.features |= UNIC_FEAT_WINDOWS | UNIC_FEAT_CACHED_WINDOWS |
			       UNIC_FEAT_ATOMICS;
	return err;
}

static struct ibv_mr *reg_window(void)
{
	void *mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr =
		unic_ibv_reg_mr(v.pd, mem, PAGE, (uintptr_t)mem,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);

	assert_non_null(mr);
	/* as libibverbs */
	mr->context = &v.ctx.vctx.context;
	mr->pd = v.pd;
	mr->addr = mem;
	mr->length = PAGE;
	return mr;
}

static void end_mr(struct ibv_mr *mr)
{
	void *mem = mr->addr;

	assert_int_equal(unic_ibv_dereg_mr((struct verbs_mr *)mr), 0);
	munmap(mem, PAGE);
}

static struct ibv_mw *alloc(enum ibv_mw_type type)
{
	struct ibv_mw *mw = unic_ibv_alloc_mw(v.pd, type);

	assert_non_null(mw);
	assert_int_equal(mw->type, type);
	assert_ptr_equal(mw->pd, v.pd);
	return mw;
}

static void no_window(enum ibv_mw_type type, int err)
{
	errno = 0;
	assert_null(unic_ibv_alloc_mw(v.pd, type));
	assert_int_equal(errno, err);
}

static const struct unic_sq_slot *slot_of(struct ibv_qp *qp, unsigned int n)
{
	return (const struct unic_sq_slot *)unic_ibv_qp(qp)->lib->sq.slot + n;
}

static uint32_t posted(struct ibv_qp *qp)
{
	return unic_ibv_qp(qp)->lib->sq.posted;
}

static void windows_are_allocated(void **state)
{
	struct ibv_mw *one, *two;

	(void)state;
	no_window((enum ibv_mw_type)3, EINVAL);
	no_window((enum ibv_mw_type)0, EINVAL);
	two = alloc(IBV_MW_TYPE_2);
	assert_int_equal(asked_forms.kinds[UNIC_FORM_WINDOW2], 1);
	assert_int_equal(two->rkey & 0xff0000, 0x700000);
	one = alloc(IBV_MW_TYPE_1);
	assert_int_equal(asked_forms.kinds[UNIC_FORM_WINDOW1], 1);
	assert_int_equal(asked_forms.allocs, 3);
	assert_int_equal(unic_ibv_dealloc_mw(one), 0);
	assert_int_equal(unic_ibv_dealloc_mw(two), 0);
	assert_int_equal(drv.deregs, 3);
	refuse(UNIC_CTL_MR_ALLOC, UNIC_ST_MR_FULL, 1);
	no_window(IBV_MW_TYPE_1, ENOMEM);
	assert_int_equal(drv.deregs, 3);
	v.at->attr.features &= ~(uint64_t)UNIC_FEAT_CACHED_WINDOWS;
	no_window(IBV_MW_TYPE_2, EOPNOTSUPP);
}

/* By command, and a request that completes in its place. */
static void type_1_is_bound_at_once(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_mw *mw = alloc(IBV_MW_TYPE_1);
	struct ibv_mr *mr = reg_window();
	struct ibv_mw_bind bind = {
		.wr_id = 44,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
		.bind_info = { .mr = mr,
			       .addr = (uintptr_t)mr->addr + 16,
			       .length = 100,
			       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE |
						  IBV_ACCESS_LOCAL_WRITE },
	};
	const struct unic_sq_slot *slot = slot_of(qp, 0);

	(void)state;
	assert_int_equal(unic_ibv_bind_mw(qp, mw, &bind), 0);
	assert_int_equal(asked_forms.makes, 1);
	assert_int_equal(asked_forms.make.rights, UNIC_MR_REMOTE_WRITE);
	assert_int_equal(unic_from_le32(asked_forms.make.n), 1);
	assert_true(unic_from_le64(asked_forms.sge.iova) ==
		    (uintptr_t)mr->addr + 16);
	assert_int_equal(unic_from_le32(asked_forms.sge.len), 100);
	assert_int_equal(unic_from_le32(asked_forms.sge.lkey), mr->lkey);
	assert_int_equal(mw->rkey, 0x550000u + asked_forms.make.key);
	assert_int_equal(posted(qp), 1);
	assert_int_equal(slot->opcode, UNIC_WR_BIND_MW);
	assert_int_equal(slot->flags,
			 UNIC_WR_SIGNALED | UNIC_WR_FENCE | UNIC_WR_INLINE);
	assert_int_equal(slot->inline_len, 0); /* of nothing */
	assert_int_equal(unic_ibv_qp(qp)->lib->sq.shadow[0].wr_id, 44);
	/* unbound, and nobody wants to know */
	bind.bind_info = (struct ibv_mw_bind_info){ 0 };
	bind.send_flags = 0;
	assert_int_equal(unic_ibv_bind_mw(qp, mw, &bind), 0);
	assert_int_equal(unic_from_le32(asked_forms.make.n), 0);
	assert_int_equal(posted(qp), 1);
	end_mr(mr);
	assert_int_equal(unic_ibv_dealloc_mw(mw), 0);
	end_qp(qp);
}

/* Nothing is bound then, nor posted. */
static void wrong_binds_are_refused(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, true);
	struct ibv_qp *ud = make_qp(IBV_QPT_UD, 1, 0, true);
	struct ibv_mw *mw = alloc(IBV_MW_TYPE_1);
	struct ibv_mr *mr = reg_window();
	const struct ibv_mw_bind good = {
		.bind_info = { .mr = mr,
			       .addr = (uintptr_t)mr->addr,
			       .length = 100,
			       .mw_access_flags = IBV_ACCESS_REMOTE_READ },
	};
	struct ibv_mw_bind bind = good;

	(void)state;
#define WITH(member, value, err)                                        \
	do {                                                            \
		bind.member = (value);                                  \
		assert_int_equal(unic_ibv_bind_mw(qp, mw, &bind), err); \
		bind = good;                                            \
	} while (0)
	WITH(bind_info.mw_access_flags, IBV_ACCESS_ZERO_BASED, EOPNOTSUPP);
	WITH(bind_info.mw_access_flags, IBV_ACCESS_MW_BIND, EINVAL);
	WITH(bind_info.mr, NULL, EINVAL);
	WITH(bind_info.length, 1ull << 32, EINVAL);
	WITH(send_flags, IBV_SEND_INLINE, EINVAL);
	WITH(bind_info.length, PAGE + 1, EINVAL);
#undef WITH
	assert_int_equal(unic_ibv_bind_mw(ud, mw, &bind), EINVAL);
	qp->state = IBV_QPS_RTR;
	assert_int_equal(unic_ibv_bind_mw(qp, mw, &bind), EINVAL);
	qp->state = IBV_QPS_RTS;
	assert_int_equal(asked_forms.makes, 0);
	refuse(UNIC_CTL_MR_MAKE, UNIC_ST_BUSY, 1);
	assert_int_equal(unic_ibv_bind_mw(qp, mw, &bind), EBUSY);
	assert_int_equal(posted(qp), 0);
	fill_queue(qp);
	assert_int_equal(unic_ibv_bind_mw(qp, mw, &bind), ENOMEM);
	assert_int_equal(asked_forms.makes, 0);
	end_mr(mr);
	assert_int_equal(unic_ibv_dealloc_mw(mw), 0);
	end_qp(ud);
	end_qp(qp);
}

/* The last room of the send queue goes to another thread: the window is not left bound. */
static void a_bind_that_cannot_complete_is_undone(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, true);
	struct ibv_mw *mw = alloc(IBV_MW_TYPE_1);
	struct ibv_mr *mr = reg_window();
	struct ibv_mw_bind bind = {
		.bind_info = { .mr = mr,
			       .addr = (uintptr_t)mr->addr,
			       .length = 100,
			       .mw_access_flags = IBV_ACCESS_REMOTE_READ },
	};

	(void)state;
	filled_meanwhile = qp;
	assert_int_equal(unic_ibv_bind_mw(qp, mw, &bind), ENOMEM);
	assert_int_equal(asked_forms.makes, 2);
	assert_int_equal(unic_from_le32(asked_forms.make.n), 0);
	assert_int_equal(mw->rkey, 0x550000u + asked_forms.make.key);
	end_mr(mr);
	assert_int_equal(unic_ibv_dealloc_mw(mw), 0);
	end_qp(qp);
}

/* Requests that follow each other name the window as the one before left it. */
static void type_2_is_bound_in_its_turn(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_mw *mw = alloc(IBV_MW_TYPE_2);
	struct ibv_mr *mr = reg_window();
	struct ibv_send_wr wr[3] = {
		{ .wr_id = 1,
		  .next = &wr[1],
		  .opcode = IBV_WR_BIND_MW,
		  .send_flags = IBV_SEND_SIGNALED,
		  .bind_mw = { .mw = mw,
			       .rkey = mw->rkey + 5,
			       .bind_info = { .mr = mr,
					      .addr = (uintptr_t)mr->addr + 8,
					      .length = 64,
					      .mw_access_flags =
						      IBV_ACCESS_REMOTE_READ |
						      IBV_ACCESS_REMOTE_ATOMIC } } },
		{ .wr_id = 2,
		  .next = &wr[2],
		  .opcode = IBV_WR_LOCAL_INV,
		  .invalidate_rkey = mw->rkey + 5 },
		{ .wr_id = 3,
		  .opcode = IBV_WR_BIND_MW,
		  .bind_mw = { .mw = mw, .rkey = mw->rkey + 9 } },
	};
	struct ibv_send_wr *bad = NULL, send = { .opcode = IBV_WR_SEND_WITH_INV,
						 .invalidate_rkey = 0x1234 };
	const struct unic_sq_slot *slot = slot_of(qp, 0);
	struct unic_sge range;
	uint32_t key = mw->rkey;

	(void)state;
	assert_int_equal(unic_ibv_post_send(qp, wr, &bad), 0);
	assert_int_equal(posted(qp), 3);
	assert_int_equal(slot[0].opcode, UNIC_WR_BIND_MW);
	assert_int_equal(slot[0].flags, UNIC_WR_SIGNALED | UNIC_WR_INLINE);
	assert_int_equal(slot[0].inline_len, 16);
	assert_int_equal(unic_from_le32(slot[0].rkey), key);
	assert_int_equal(unic_from_le32(slot[0].imm),
			 (key + 5) % 256 |
				 (UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_ATOMIC)
					 << 8);
	assert_true(unic_from_le64(slot[0].remote) == (uintptr_t)mr->addr + 8);
	memcpy(&range, slot[0].sge, sizeof(range));
	assert_true(unic_from_le64(range.iova) == (uintptr_t)mr->addr + 8);
	assert_int_equal(unic_from_le32(range.len), 64);
	assert_int_equal(unic_from_le32(range.lkey), mr->lkey);
	assert_int_equal(slot[1].opcode, UNIC_WR_LOCAL_INV);
	assert_int_equal(unic_from_le32(slot[1].rkey), key + 5);
	assert_int_equal(slot[2].opcode, UNIC_WR_BIND_MW);
	assert_int_equal(unic_from_le32(slot[2].rkey), key + 5);
	assert_int_equal(slot[2].inline_len, 0);
	assert_int_equal(unic_from_le32(slot[2].imm) & 0xff, (key + 9) % 256);
	assert_int_equal(unic_ibv_post_send(qp, &send, &bad), 0);
	assert_int_equal(slot[3].opcode, UNIC_WR_SEND_INV);
	assert_int_equal(unic_from_le32(slot[3].rkey), 0x1234);
	assert_int_equal(unic_from_le32(slot[3].imm), 0);
	assert_int_equal(mw->rkey, key); /* the program knows the others */
	end_mr(mr);
	assert_int_equal(unic_ibv_dealloc_mw(mw), 0);
	end_qp(qp);
}

static void is_refused(struct ibv_qp *qp, struct ibv_send_wr wr, int err)
{
	struct ibv_send_wr *bad = NULL;
	uint32_t before = posted(qp);

	assert_int_equal(unic_ibv_post_send(qp, &wr, &bad), err);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(posted(qp), before);
}

static void wrong_requests_are_refused(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_qp *uc = make_qp(IBV_QPT_UC, 1, 0, false);
	struct ibv_mw *one = alloc(IBV_MW_TYPE_1), *two = alloc(IBV_MW_TYPE_2);
	struct ibv_sge sge = { 0 };
	const struct ibv_send_wr good = {
		.opcode = IBV_WR_BIND_MW,
		.sg_list = &sge,
		.bind_mw = { .mw = two, .rkey = two->rkey + 1 },
	};
	const struct ibv_send_wr inval = { .opcode = IBV_WR_LOCAL_INV };
	struct ibv_send_wr wr = good;

	(void)state;
#define WITH(member, value)                 \
	do {                                \
		wr.member = (value);        \
		is_refused(qp, wr, EINVAL); \
		wr = good;                  \
	} while (0)
	WITH(bind_mw.mw, one);
	WITH(bind_mw.mw, NULL);
	WITH(bind_mw.rkey, two->rkey + 256);
	WITH(bind_mw.bind_info.length, 4);
	WITH(bind_mw.bind_info.mw_access_flags, 1 << 20);
	WITH(num_sge, 1);
	WITH(send_flags, IBV_SEND_INLINE);
	WITH(send_flags, IBV_SEND_SOLICITED);
#undef WITH
	wr.opcode = IBV_WR_SEND_WITH_INV;
	is_refused(uc, wr, EINVAL);
	v.at->attr.features &= ~(uint64_t)UNIC_FEAT_CACHED_WINDOWS;
	is_refused(qp, good, EOPNOTSUPP);
	is_refused(qp, inval, EOPNOTSUPP);
	assert_int_equal(unic_ibv_dealloc_mw(one), 0);
	assert_int_equal(unic_ibv_dealloc_mw(two), 0);
	end_qp(uc);
	end_qp(qp);
}

/* The same requests, built by calls. */
static void windows_are_bound_by_calls(void **state)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = v.cq,
		.recv_cq = v.cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 4 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = v.pd,
		.send_ops_flags = BIND_OPS,
	};
	struct ibv_qp *qp = unic_ibv_create_qp_ex(&v.ctx.vctx.context, &init);
	struct ibv_qp_ex *ex = (struct ibv_qp_ex *)qp;
	struct ibv_mw *mw = alloc(IBV_MW_TYPE_2);
	struct ibv_mw_bind_info none = { 0 };
	const struct unic_sq_slot *slot;

	(void)state;
	assert_non_null(qp);
	qp->state = IBV_QPS_RTS;
	slot = slot_of(qp, 0);
	ex->wr_start(ex);
	ex->wr_bind_mw(ex, mw, mw->rkey + 1, &none);
	ex->wr_local_inv(ex, mw->rkey + 1);
	ex->wr_send_inv(ex, 0x777);
	assert_int_equal(posted(qp), 0);
	assert_int_equal(ex->wr_complete(ex), 0);
	assert_int_equal(posted(qp), 3);
	assert_int_equal(slot[0].opcode, UNIC_WR_BIND_MW);
	assert_int_equal(slot[1].opcode, UNIC_WR_LOCAL_INV);
	assert_int_equal(unic_from_le32(slot[1].rkey), mw->rkey + 1);
	assert_int_equal(slot[2].opcode, UNIC_WR_SEND_INV);
	assert_int_equal(unic_from_le32(slot[2].rkey), 0x777);
	assert_int_equal(unic_ibv_dealloc_mw(mw), 0);
	end_qp(qp);
	init.qp_type = IBV_QPT_UC;
	errno = 0;
	assert_null(unic_ibv_create_qp_ex(&v.ctx.vctx.context, &init));
	assert_int_equal(errno, EOPNOTSUPP);
	v.at->attr.features &= ~(uint64_t)UNIC_FEAT_CACHED_WINDOWS;
	init.qp_type = IBV_QPT_RC;
	errno = 0;
	assert_null(unic_ibv_create_qp_ex(&v.ctx.vctx.context, &init));
	assert_int_equal(errno, EOPNOTSUPP);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, up, verbs_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(windows_are_allocated),
		TEST(type_1_is_bound_at_once),
		TEST(wrong_binds_are_refused),
		TEST(a_bind_that_cannot_complete_is_undone),
		TEST(type_2_is_bound_in_its_turn),
		TEST(wrong_requests_are_refused),
		TEST(windows_are_bound_by_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_region.c - regions of the library: refusals, bases, bounds and
 * uses.
 */
#include <errno.h>

#include "unit.h"

#include "libunic_rig.h"

static void a_region_that_does_not_end_stays(void **state)
{
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	drv.dereg_status = UNIC_CTL_ST_TOO_MANY;
	assert_int_equal(unic_dereg_mr(mr), -EAGAIN);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_LIVE);
	assert_int_equal(unic_release(mr), -EAGAIN);
	drv.dereg_status = UNIC_ST_NO_MR;
	assert_int_equal(unic_release(mr), 0);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_GONE);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

static uint32_t too_fast; /* answers of that kind to come */

static int answer_too_fast(uint16_t op, const uint8_t *in, size_t len,
			   uint8_t *out)
{
	struct unic_ctl_too_fast_reply r;

	(void)in;
	(void)len;
	if (op != UNIC_CTL_MR_REG || !too_fast)
		return -1;
	too_fast--;
	memcpy(&r, out, sizeof(r));
	r.hdr.status = unic_to_le16(UNIC_CTL_ST_TOO_FAST);
	r.retry_us = unic_to_le32(too_fast == 9 ? 20000000 : 2000);
	memcpy(out, &r, sizeof(r));
	return 0;
}

/* The library waits as long as the driver says, and asks again with the same request;
 * not longer than ten seconds. */
static void a_limit_is_waited_for(void **state)
{
	struct unic_mr_attr attr = { .length = PAGE };
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	drv.first = answer_too_fast;
	too_fast = 3;
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	assert_int_equal(too_fast, 0);
	assert_int_equal(unic_from_le64(drv.reg.length), PAGE);
	assert_int_equal(unic_dereg_mr(mr), 0);
	too_fast = 10;
	attr.addr = unic_alloc(r.ctx, PAGE, PAGE);
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EAGAIN);
	assert_int_equal(too_fast, 9);
	drv.first = NULL;
	rig_down(&r);
}

static void a_refused_registration_says_why(void **state)
{
	struct unic_mr_attr attr = { .length = PAGE };
	struct unic_usage usage;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	attr.addr = unic_alloc(r.ctx, PAGE, PAGE);
	drv.reg_status = UNIC_ST_TLB_FULL;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -ENOMEM);
	assert_true(unic_last_usage(&usage));
	assert_int_equal(usage.used, 1000);
	assert_non_null(strstr(unic_last_error(), "1000 of 1024"));
	drv.reg_status = UNIC_ST_OK;
	rig_down(&r);
}

static struct unic_mr *reg_based(struct rig *r, void *mem, unsigned int flags)
{
	struct unic_mr_attr attr = { .addr = mem,
				     .length = 2 * PAGE,
				     .rights = UNIC_MR_LOCAL_WRITE,
				     .flags = flags };
	struct unic_mr *mr;

	assert_int_equal(unic_reg_mr(r->pd, &attr, &mr), 0);
	return mr;
}

/* By default the driver draws the base of each region, also of the rings. */
static void bases_are_drawn(void **state)
{
	static const unsigned int flags[] = { 0, 0, UNIC_MR_RANDOM_BASE,
					      UNIC_MR_WAIT,
					      UNIC_MR_WAIT | UNIC_MR_ASYNC };
	uint8_t *mem;
	uint64_t last = 0;
	struct rig r;
	size_t i;

	(void)state;
	rig_up(&r);
	assert_int_equal(drv.regs, 2);
	assert_int_equal(drv.drawn, 2);
	mem = unic_alloc(r.ctx, 2 * PAGE, PAGE);
	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct unic_mr *mr;

		if (flags[i] & UNIC_MR_ASYNC)
			drv.reg_status = UNIC_ST_PENDING;
		mr = reg_based(&r, mem, flags[i]);
		drv.reg_status = UNIC_ST_OK;
		assert_true(drv.reg.flags & UNIC_CTL_REG_RANDOM);
		assert_true(!unic_from_le64(drv.reg.iova));
		assert_true(mr->iova == drv.base);
		assert_true(mr->iova != (uintptr_t)mem && mr->iova != last);
		last = mr->iova;
		assert_int_equal(unic_dereg_mr(mr), 0);
	}
	rig_down(&r);
}

static void bases_can_be_had_otherwise(void **state)
{
	static const unsigned int wrong[] = {
		UNIC_MR_VA_BASE | UNIC_MR_RANDOM_BASE,
		UNIC_MR_VA_BASE | UNIC_MR_ZERO_BASED,
		UNIC_MR_ZERO_BASED | UNIC_MR_RANDOM_BASE,
		1u << 5, /* no flag */
		UNIC_MR_WAIT | 1u << 31,
	};
	struct unic_mr_attr attr = { .length = PAGE };
	struct unic_mr *mr;
	uint8_t *mem;
	struct rig r;
	size_t i;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 4 * PAGE, PAGE);
	mr = reg_based(&r, mem + 100, UNIC_MR_VA_BASE);
	assert_false(drv.reg.flags & UNIC_CTL_REG_RANDOM);
	assert_true(unic_from_le64(drv.reg.iova) == (uintptr_t)mem + 100);
	assert_true(mr->iova == (uintptr_t)mem + 100);
	assert_int_equal(unic_dereg_mr(mr), 0);
	mr = reg_based(&r, mem + 100, UNIC_MR_ZERO_BASED);
	assert_false(drv.reg.flags & UNIC_CTL_REG_RANDOM);
	assert_int_equal(unic_from_le64(drv.reg.iova), 100);
	assert_int_equal(mr->iova, 100);
	assert_int_equal(unic_dereg_mr(mr), 0);
	attr.addr = mem;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		attr.flags = wrong[i];
		assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), -EINVAL);
	}
	rig_down(&r);
}

/* Moves @mr to @to: the base must be @iova, in the request and in @mr. */
static void move(struct unic_mr *mr, uint8_t *to, uint64_t iova)
{
	struct unic_rereg_attr attr = { .what = UNIC_REREG_RANGE,
					.addr = to,
					.length = 2 * PAGE };

	assert_int_equal(unic_rereg_mr(mr, &attr, NULL), 0);
	assert_true(unic_from_le64(drv.rereg.va) == (uintptr_t)to);
	assert_true(unic_from_le64(drv.rereg.iova) == iova);
	assert_true(mr->iova == iova);
}

static void bases_stay_what_they_were(void **state)
{
	struct unic_mr *mr;
	uint64_t base;
	uint8_t *mem;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 8 * PAGE, PAGE);
	mr = reg_based(&r, mem + 2 * PAGE, 0);
	base = mr->iova;
	move(mr, mem + 5 * PAGE + 8, base + 3 * PAGE + 8);
	move(mr, mem, base - 2 * PAGE);
	move(mr, mem + 2 * PAGE, base);
	assert_int_equal(unic_dereg_mr(mr), 0);
	mr = reg_based(&r, mem, UNIC_MR_VA_BASE);
	move(mr, mem + 3 * PAGE, (uintptr_t)mem + 3 * PAGE);
	assert_int_equal(unic_dereg_mr(mr), 0);
	mr = reg_based(&r, mem, UNIC_MR_ZERO_BASED);
	move(mr, mem + 3 * PAGE + 7, 7);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* unic_sg_of() gives the I/O address of bytes in a region; others fail. */
static void bytes_have_an_address(void **state)
{
	const struct unic_sg none = { (void *)1, 2, 3 };
	struct unic_sg sg = none;
	struct unic_mr *mr, *mw, big;
	uint8_t *mem;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 4 * PAGE, PAGE);
	mr = reg_based(&r, mem + PAGE, 0);
	assert_int_equal(unic_alloc_mw(r.pd, 1, &mw), 0);
	assert_int_equal(unic_sg_of(mr, mem, 1, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem, 2 * PAGE, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem + PAGE, 2 * PAGE + 1, &sg),
			 -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem + 3 * PAGE - 1, 2, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem + 3 * PAGE + 1, 0, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, mem + PAGE + 1, SIZE_MAX, &sg),
			 -ERANGE);
	assert_int_equal(unic_sg_of(mr, NULL, 1, &sg), -ERANGE);
	assert_int_equal(unic_sg_of(mr, (void *)(uintptr_t)mr->iova, 1, &sg),
			 -ERANGE);
	assert_int_equal(unic_sg_of(mw, mem, 1, &sg), -ERANGE);
	big = *mr;
	big.length = 1ull << 33;
	assert_int_equal(unic_sg_of(&big, mem + PAGE, 1ull << 32, &sg),
			 -ERANGE); /* longer than an SGE can be */
	assert_non_null(strstr(unic_last_error(), "not in the region"));
	assert_memory_equal(&sg, &none, sizeof(sg));
	assert_int_equal(unic_sg_of(mr, mem + PAGE, 2 * PAGE, &sg), 0);
	assert_true((uintptr_t)sg.addr == mr->iova);
	assert_int_equal(sg.len, 2 * PAGE);
	assert_int_equal(sg.lkey, mr->stag);
	assert_int_equal(unic_sg_of(mr, mem + 3 * PAGE - 1, 1, &sg), 0);
	assert_true((uintptr_t)sg.addr == mr->iova + 2 * PAGE - 1);
	assert_int_equal(unic_sg_of(mr, mem + 3 * PAGE, 0, &sg), 0);
	assert_int_equal(unic_dereg_mr(mw), 0);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* A derived region takes only bytes of its region, by their I/O addresses. */
static void forms_stay_inside(void **state)
{
	struct unic_sg sg[20];
	const struct unic_list list = { .sg = sg, .n = 20 };
	struct unic_mr *mr, *mw, *x;
	uint8_t *mem;
	struct unic_mw_bind outside;
	struct rig r;
	int i;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 2 * PAGE, PAGE);
	mr = reg_based(&r, mem, 0);
	assert_int_equal(unic_reg_sub(mr, mem + PAGE, PAGE + 1, 0, &x),
			 -ERANGE);
	assert_int_equal(unic_reg_sub(mr, mem + PAGE, PAGE, 0, &x), 0);
	assert_true(x->iova == mr->iova + PAGE);
	assert_int_equal(unic_sg_of(x, mem, 1, sg), -ERANGE);
	assert_int_equal(unic_sg_of(x, mem + PAGE, 1, sg), 0);
	assert_int_equal(unic_dereg_mr(x), 0);
	assert_int_equal(unic_alloc_mw(r.pd, 1, &mw), 0);
	assert_int_equal(unic_bind_mw(mw, mr, mem - 1, 2, 0), -ERANGE);
	outside =
		(struct unic_mw_bind){ .mr = mr, .addr = mem - 1, .length = 2 };
	assert_int_equal(unic_post_bind_mw(r.qp, 1, 0, mw, &outside), -ERANGE);
	assert_int_equal(unic_bind_mw(mw, mr, mem + 8, 2, 0), 0);
	assert_true(mw->iova == mr->iova + 8);
	assert_int_equal(unic_dereg_mr(mw), 0);
	for (i = 0; i < 20; i++)
		assert_int_equal(unic_sg_of(mr, mem + i, 1, &sg[i]), 0);
	assert_int_equal(unic_alloc_indirect(r.pd, 20, &x), 0);
	assert_int_equal(unic_post_reg_indirect(r.qp, 1, 0, x, &list, mr, NULL),
			 -EINVAL);
	assert_int_equal(unic_post_reg_indirect(r.qp, 1, 0, x, &list, mr,
						mem + 2 * PAGE - 319),
			 -ERANGE);
	assert_int_equal(mem[2 * PAGE - 319], 0);
	assert_int_equal(unic_post_reg_indirect(r.qp, 1, 0, x, &list, mr,
						mem + 2 * PAGE - 320),
			 0);
	assert_true(unic_from_le64(sq_ring()[0].sge[0].iova) ==
		    mr->iova + 2 * PAGE - 320);
	assert_memory_equal(mem + 2 * PAGE - 320, &sg[0].addr, 8);
	assert_int_equal(unic_dereg_mr(x), 0);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* A row of the usage table counts only if it has the STag of the region. */
static void uses_are_those_of_the_region(void **state)
{
	struct unic_use use;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	mr->stag = 0x00c01234;
	assert_int_equal(unic_query_use(mr, &use), -EOPNOTSUPP);
	r.ctx->attr.mrs = 1024;
	drv.uses = (struct unic_use_row){
		.last_use_ns = unic_to_le64(400),
		.bytes = unic_to_le64(70000),
		.uses = unic_to_le32(5),
		.reported = unic_to_le32(2),
		.rate = unic_to_le32(9),
		.stag = unic_to_le32(0x00c01234),
	};
	assert_int_equal(unic_query_use(mr, &use), -EAGAIN); /* no row */
	drv.uses_rows = 1;
	assert_int_equal(unic_query_use(mr, &use), 0);
	assert_int_equal(drv.uses_asked, 3);
	assert_int_equal(use.uses, 5);
	assert_int_equal(use.reported, 2);
	assert_int_equal(use.bytes, 70000);
	assert_int_equal(use.rate, 9);
	assert_int_equal(use.idle_ns, 600);
	drv.uses.stag = unic_to_le32(0x00c01134); /* an earlier one */
	assert_int_equal(unic_query_use(mr, &use), -EAGAIN);
	unic_report_use(mr);
	unic_report_use(mr);
	assert_int_equal(unic_from_le32(db()->used[3]), 2);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* A cancel names the request that waits, and one that has ended is none. */
static void registrations_are_cancelled_by_their_request(void **state)
{
	const struct unic_ctl_wait_cancel *rec = (void *)drv.last;
	struct unic_mr *a, *b;
	uint32_t seq;
	uint8_t *mem;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, 2 * PAGE, PAGE);
	drv.full = true;
	a = reg_based(&r, mem, UNIC_MR_WAIT | UNIC_MR_ASYNC);
	seq = unic_from_le32(rec->hdr.seq);
	b = reg_based(&r, mem, UNIC_MR_WAIT | UNIC_MR_ASYNC);
	assert_int_equal(unic_mr_life(a), UNIC_MR_WAITING);
	assert_int_equal(unic_cancel_reg(a), 0);
	assert_int_equal(unic_from_le16(rec->hdr.op), UNIC_CTL_WAIT_CANCEL);
	assert_int_equal(unic_from_le32(rec->wait_seq), seq);
	drv.status = UNIC_ST_NO_WAIT;
	assert_int_equal(unic_cancel_reg(b), -ENOENT);
	assert_int_not_equal(unic_from_le32(rec->wait_seq), seq);
	drv.status = UNIC_ST_OK;
	assert_int_equal(unic_dereg_mr(a), 0);
	assert_int_equal(unic_dereg_mr(b), 0);
	rig_down(&r);
}

static void advice_names_bytes_of_the_region(void **state)
{
	const struct unic_ctl_mr_advise *rec = (void *)drv.last;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, 2 * PAGE, PAGE), 2 * PAGE);
	assert_int_equal(unic_advise_mr(mr, 5, (1ull << 40) + 6,
					UNIC_ADVISE_DONT_NEED),
			 0);
	assert_int_equal(unic_from_le16(rec->hdr.op), UNIC_CTL_MR_ADVISE);
	assert_int_equal(unic_from_le32(rec->id), mr->id);
	assert_int_equal(unic_from_le64(rec->offset), 5);
	assert_true(unic_from_le64(rec->length) == (1ull << 40) + 6);
	assert_int_equal(unic_from_le32(rec->advice), UNIC_ADVISE_DONT_NEED);
	drv.status = UNIC_ST_BUSY;
	assert_int_equal(unic_advise_mr(mr, 0, 1, UNIC_ADVISE_WILL_NEED),
			 -EBUSY);
	drv.status = UNIC_ST_OK;
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

static void importance_and_policy_are_asked_for(void **state)
{
	const struct unic_ctl_mr_rereg *hint = (void *)drv.last;
	const struct unic_ctl_own_policy *policy = (void *)drv.last;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	assert_int_equal(unic_set_importance(mr, 255), 0);
	assert_int_equal(unic_from_le16(hint->hdr.op), UNIC_CTL_MR_REREG);
	assert_int_equal(unic_from_le32(hint->id), mr->id);
	assert_int_equal(hint->what, UNIC_REREG_HINT);
	assert_int_equal(hint->importance, 255);
	assert_int_equal(unic_set_policy(r.ctx, UNIC_POLICY_APP), 0);
	assert_int_equal(unic_from_le16(policy->hdr.op), UNIC_CTL_OWN_POLICY);
	assert_int_equal(unic_from_le32(policy->policy), UNIC_POLICY_APP);
	assert_int_equal(unic_set_importance(mr, 256), -EINVAL);
	assert_int_equal(unic_from_le16(hint->hdr.op), UNIC_CTL_OWN_POLICY);
	drv.status = UNIC_CTL_ST_UNSUPPORTED;
	assert_int_equal(unic_set_policy(r.ctx, UNIC_POLICY_APP), -EOPNOTSUPP);
	drv.status = UNIC_ST_OK;
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(a_region_that_does_not_end_stays),
		WITH_DRIVER(a_limit_is_waited_for),
		WITH_DRIVER(a_refused_registration_says_why),
		WITH_DRIVER(bases_are_drawn),
		WITH_DRIVER(bases_can_be_had_otherwise),
		WITH_DRIVER(bases_stay_what_they_were),
		WITH_DRIVER(bytes_have_an_address),
		WITH_DRIVER(forms_stay_inside),
		WITH_DRIVER(uses_are_those_of_the_region),
		WITH_DRIVER(registrations_are_cancelled_by_their_request),
		WITH_DRIVER(advice_names_bytes_of_the_region),
		WITH_DRIVER(importance_and_policy_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_window.c - memory windows, and invalidation by the owner and by a peer.
 */
#include "unit.h"

#include "derived_rig.h"
#include "memory/access.h"
#include "revoke/register.h"

/* ------------------------------------------------------------------ windows */

static void posted_bind_and_unbind(void **state)
{
	struct unic_sge e = form_piece(&form_mb[1], 100, 5000);
	struct unic_xlate p;
	struct unic_cqe cqe;
	struct rig_mr w;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	cqe = form_post_make(UNIC_WR_BIND_MW, &w, 9, UNIC_MR_REMOTE_WRITE,
			     form_mb[1].iova + 100, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_int_equal(cqe.opcode, UNIC_WC_BIND_MW);
	assert_int_equal(w.stag & 0xff, 9);
	assert_int_equal(form_write_to(&w, 17, 4983), UNIC_WC_SUCCESS);
	assert_memory_equal(form_mb[1].mem + 117, ma.mem, 4983);
	assert_int_equal(form_access_b(&w, UNIC_MR_REMOTE_READ, 0, 1, &p),
			 -UNIC_ERIGHTS);
	/* an STag with another key is refused */
	w.stag ^= 1;
	assert_int_equal(form_access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
	w.stag ^= 1;
	/* a window of type 2 is bound once, until it is invalidated */
	cqe = form_post_make(UNIC_WR_BIND_MW, &w, 10, UNIC_MR_REMOTE_WRITE,
			     form_mb[1].iova + 100, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_MW_BIND_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_STATE);
	form_again();
	cqe = form_local_inv(w.stag);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_int_equal(cqe.opcode, UNIC_WC_LOCAL_INV);
	assert_int_equal(form_access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
	assert_int_equal(rb.nic.mrs.mr[form_mb[1].mr].deps, 0);
	cqe = form_post_make(UNIC_WR_BIND_MW, &w, 10, UNIC_MR_REMOTE_READ,
			     form_mb[1].iova + 100, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_int_equal(form_write_to(&w, 0, 1), UNIC_WC_REM_ACCESS_ERR);
}

static void each_wrong_bind(void **state)
{
	struct unic_sge good = form_piece(&form_mb[1], 0, PAGE), e;
	struct rig_mr w, x;
	struct unic_cqe cqe;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, &x);
#define BAD(rights, at, code)                                                \
	do {                                                                 \
		cqe = form_post_make(UNIC_WR_BIND_MW, &w, 1, rights, at, &e, \
				     1);                                     \
		assert_int_equal(cqe.status, UNIC_WC_MW_BIND_ERR);           \
		assert_int_equal(cqe.detail, UNIC_WD_##code);                \
		form_again();                                                \
		e = good;                                                    \
	} while (0)
	e = good;
	BAD(UNIC_MR_LOCAL_WRITE, form_mb[1].iova, RIGHTS);
	BAD(UNIC_MR_REMOTE_READ, form_mb[1].iova + 1, ALIGN);
	e.len = unic_to_le32(3 * PAGE + 1);
	BAD(UNIC_MR_REMOTE_READ, form_mb[1].iova, BOUNDS);
	e.len = unic_to_le32(0);
	BAD(UNIC_MR_REMOTE_READ, form_mb[1].iova, SGE);
	e.lkey = unic_to_le32(form_mb[1].stag ^ 0x100);
	BAD(UNIC_MR_REMOTE_READ, form_mb[1].iova, STAG);
	assert_int_equal(form_rights_of(&rb, &form_mb[1], RW), 0);
	BAD(UNIC_MR_REMOTE_READ, form_mb[1].iova, RIGHTS); /* no MW_BIND */
#undef BAD
	assert_int_equal(form_rights_of(&rb, &form_mb[1],
					UNIC_MR_REMOTE_READ | UNIC_MR_MW_BIND),
			 0);
	cqe = form_post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
			     form_mb[1].iova, &good, 1);
	assert_int_equal(cqe.detail, UNIC_WD_RIGHTS); /* no LOCAL_WRITE */
	form_again();
	cqe = form_post_make(UNIC_WR_BIND_MW, &x, 1, 0, 0, &good, 1);
	assert_int_equal(cqe.detail, UNIC_WD_STATE); /* no window */
}

/* A queue pair can neither make nor close a derived region of another domain,
 * though both are of one process. */
static void forms_of_another_domain(void **state)
{
	uint32_t other = rig_pd(&rb, 0);
	struct unic_xlate p;
	struct rig_mr m, w, open;
	struct unic_sge e;
	struct unic_cqe cqe;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, other, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &m),
			 0);
	assert_int_equal(form_rights_of(&rb, &m, RWB), 0);
	assert_int_equal(form_alloc_in(other, UNIC_FORM_WINDOW2, 0, &w), 0);
	e = form_piece(&form_mb[1], 0,
		       PAGE); /* a region that this queue pair may use */
	cqe = form_post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
			     form_mb[1].iova, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_MW_BIND_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PD);
	assert_int_equal(rb.nic.mrs.mr[form_mb[1].mr].deps, 0);
	form_again();
	assert_int_equal(form_alloc_in(other, UNIC_FORM_WINDOW2, 0, &open), 0);
	assert_int_equal(
		form_make_one(&open, &m, 0, PAGE, UNIC_MR_REMOTE_WRITE, 1), 0);
	cqe = form_local_inv(open.stag);
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PD);
	form_again();
	rig_recv(&rb, &qb, 8, &form_mb[0], 0, PAGE);
	rig_send(&ra, &qa, UNIC_WR_SEND_INV, 6, &ma, 0, 10, 0, open.stag);
	assert_int_equal(form_done(&ra, &qa).status, UNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(unic_access(&rb.nic.memory, open.stag, (uint16_t)other,
				     UNIC_MR_REMOTE_WRITE, open.iova, PAGE, &p),
			 0);
	assert_int_equal(rig_count(&rb, forms_invalidated), 0);
}

static void type_1_is_bound_by_command(void **state)
{
	struct unic_xlate p;
	struct rig_mr w;
	struct form_plan none = { 0 };
	uint32_t old;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	assert_int_equal(form_make_one(&w, &form_mb[0], 0, PAGE,
				       UNIC_MR_REMOTE_READ, 1),
			 0);
	old = w.stag;
	assert_int_equal(form_make_one(&w, &form_mb[1], 0, PAGE,
				       UNIC_MR_REMOTE_READ, 2),
			 0);
	assert_int_equal(rb.nic.mrs.mr[form_mb[0].mr].deps, 0);
	assert_int_equal(form_access_b(&w, UNIC_MR_REMOTE_READ, 0, PAGE, &p),
			 0);
	assert_int_not_equal(old, w.stag);
	/* in use: BUSY for the present */
	unic_mr_hold(&rb.nic.memory, (uint16_t)w.mr);
	assert_int_equal(form_make(&w, &none), UNIC_ST_BUSY);
	unic_mr_unhold(&rb.nic.memory, (uint16_t)w.mr);
	assert_int_equal(form_inval(&w), UNIC_ST_STATE);
	assert_int_equal(form_make(&w, &none), 0);
	assert_int_equal(rb.nic.mrs.mr[form_mb[1].mr].deps, 0);
	w.iova = form_mb[1].iova;
	assert_int_equal(form_access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
}

static void send_inv(uint32_t stag, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_SEND_INV, 6, &ma, 0, len, 0, stag);
}

static void peer_invalidates(void **state)
{
	struct unic_sge e = form_piece(&form_mb[1], 0, PAGE);
	struct unic_xlate p;
	struct unic_cqe cqe;
	struct rig_mr w;
	uint32_t len;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	for (len = 100; len < 4000; len += 3000) {
		cqe = form_post_make(UNIC_WR_BIND_MW, &w, (uint8_t)len,
				     UNIC_MR_REMOTE_WRITE, form_mb[1].iova, &e,
				     1);
		assert_int_equal(cqe.status, 0);
		rig_recv(&rb, &qb, 8, &form_mb[0], 0, PAGE);
		send_inv(w.stag, len);
		assert_int_equal(form_done(&ra, &qa).status, UNIC_WC_SUCCESS);
		assert_true(rig_cqe(&rb, &qb, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
		assert_int_equal(cqe.opcode, UNIC_WC_RECV);
		assert_int_equal(cqe.flags, UNIC_WC_WITH_INV);
		assert_int_equal(unic_from_le32(cqe.imm), w.stag);
		assert_int_equal(unic_from_le32(cqe.byte_len), len);
		assert_memory_equal(form_mb[0].mem, ma.mem, len);
		assert_int_equal(form_access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
	}
	assert_int_equal(rig_count(&rb, forms_inv_remote), 2);
}

static void peer_invalidates_what_is_used(void **state)
{
	struct unic_sge e = form_piece(&form_mb[1], 0, PAGE);
	struct unic_xlate p;
	struct unic_cqe cqe;
	struct rig_mr w;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	cqe = form_post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
			     form_mb[1].iova, &e, 1);
	rig_recv(&rb, &qb, 8, &form_mb[0], 0, PAGE);
	unic_mr_hold(&rb.nic.memory, (uint16_t)w.mr);
	send_inv(w.stag, 10);
	rig_run2(&ra, &rb, 10000);
	/* the peer gets RNR NAK */
	assert_false(rig_cqe(&rb, &qb, &cqe));
	assert_true(rig_count(&rb, tx_rnr_naks) > 0);
	assert_int_equal(form_access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
	/* closing an STag of another generation does not close the window */
	assert_false(unic_derived_unmake(&rb.nic.memory,
					 rb.nic.mrs.mr[w.mr].stag ^ 0x100));
	unic_mr_unhold(&rb.nic.memory, (uint16_t)w.mr);
	assert_int_equal(form_done(&ra, &qa).status, UNIC_WC_SUCCESS);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.flags, UNIC_WC_WITH_INV);
}

static void peer_may_not_invalidate(void **state)
{
	struct unic_sge e = form_piece(&form_mb[1], 0, PAGE);
	struct unic_cqe cqe;
	struct rig_mr w[4];
	uint32_t i;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW1, 0, &w[0]);
	assert_int_equal(form_make_one(&w[0], &form_mb[1], 0, PAGE,
				       UNIC_MR_REMOTE_READ, 1),
			 0);
	form_alloc_ok(UNIC_FORM_SUB, 0, &w[1]);
	assert_int_equal(form_make_one(&w[1], &form_mb[1], 0, PAGE, RW, 1), 0);
	w[2] = form_mb[0];
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, &w[3]); /* no remote right */
	cqe = form_post_make(UNIC_WR_REG_INDIRECT, &w[3], 1,
			     UNIC_MR_LOCAL_WRITE, 0, &e, 1);
	assert_int_equal(cqe.status, 0);
	for (i = 0; i < 4; i++) {
		rig_recv(&rb, &qb, 8, &form_mb[0], 0, PAGE);
		send_inv(w[i].stag, 10);
		assert_int_equal(form_done(&ra, &qa).status,
				 UNIC_WC_REM_ACCESS_ERR);
		form_again();
		assert_int_equal(rb.nic.mrs.mr[w[i].mr].flags &
					 (UNIC_MR_F_SHUT | UNIC_MR_F_INVAL),
				 0);
	}
	/* a wrong STag is a guess of the peer, not of the process */
	send_inv(form_mb[1].stag ^ 0x100, 10);
	assert_int_equal(form_done(&ra, &qa).status, UNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(rb.nic.key_guards.of[0].peer[0].wrong, 1);
	assert_int_equal(rb.nic.key_guards.of[0].local.wrong, 0);
}

/* A derived region with a token can be invalidated, which ends the token. */
static void invalidation_ends_tokens(void **state)
{
	struct unic_cmd_token_alloc token = {
		.length = unic_to_le32(100),
	};
	struct rig_mr x;

	(void)state;
	form_alloc_ok(UNIC_FORM_INDIRECT, 1, &x);
	assert_int_equal(form_make_one(&x, &form_mb[1], 0, PAGE, RW, 1), 0);
	token.pd = unic_to_le32(qb.pd);
	token.stag = unic_to_le32(rb.nic.mrs.mr[x.mr].stag);
	token.iova = unic_to_le64(rb.nic.mrs.mr[x.mr].iova);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &token, NULL), 0);
	assert_int_equal(rb.nic.mrs.mr[x.mr].n_tokens, 1);
	assert_int_equal(form_inval(&x), 0);
	assert_int_equal(rb.nic.mrs.mr[x.mr].n_tokens, 0);
}

static void local_inv_waits_and_cuts(void **state)
{
	struct unic_sge e = form_piece(&form_mb[1], 0, PAGE);
	struct unic_cqe cqe;
	struct rig_mr w;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	form_post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
		       form_mb[1].iova, &e, 1);
	unic_mr_hold(&rb.nic.memory, (uint16_t)w.mr);
	qb.sq[qb.sq_tail % RIG_SLOTS] =
		form_memop(UNIC_WR_LOCAL_INV, w.stag, 0, 0, 0, 0);
	qb.sq[qb.sq_tail % RIG_SLOTS].flags = UNIC_WR_SIGNALED;
	rig_ring(&rb, 0, UNIC_DB_SQ, qb.row, ++qb.sq_tail);
	rig_run2(&ra, &rb, 5 * MS);
	assert_false(rig_cqe(&rb, &qb, &cqe));
	unic_mr_unhold(&rb.nic.memory, (uint16_t)w.mr);
	cqe = form_done(&rb, &qb);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	/* the next LOCAL_INV has the whole T again */
	assert_true(!rb.nic.qps.qp[qb.qpn & 0xff].sq.inval_ns);
	/* refused: a region already invalid, or one that cannot be
	 * invalidated */
	cqe = form_local_inv(w.stag);
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_STATE);
	assert_int_equal(unic_from_le32(cqe.byte_len), 0);
	form_again();
	cqe = form_local_inv(form_mb[1].stag);
	assert_int_equal(cqe.detail, UNIC_WD_STATE);
	form_again();
	cqe = form_local_inv(form_mb[1].stag ^ 0x100);
	assert_int_equal(cqe.detail, UNIC_WD_STAG);
}

/* After T the operations that use the region are searched for once, not at each
 * turn of the queue pair. */
static void local_inv_cuts_once(void **state)
{
	struct unic_cut_lap *lap = &rb.nic.cut_lap;
	struct unic_sge e = form_piece(&form_mb[1], 0, PAGE);
	struct rig_mr w;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	form_post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
		       form_mb[1].iova, &e, 1);
	unic_mr_hold(&rb.nic.memory, (uint16_t)w.mr);
	qb.sq[qb.sq_tail % RIG_SLOTS] =
		form_memop(UNIC_WR_LOCAL_INV, w.stag, 0, 0, 0, 0);
	rig_ring(&rb, 0, UNIC_DB_SQ, qb.row, ++qb.sq_tail);
	rig_run2(&ra, &rb, 5 * MS);
	assert_int_equal(lap->ration.round, 0);
	rig_run2(&ra, &rb, 16 * MS);
	assert_int_not_equal(lap->ration.round, 0);
	assert_false(unic_cut_due(&rb.nic.transport));
	lap->ration = (struct unic_ration){ 0 };
	rb.nic.stale = UINT8_MAX;
	unic_nic_poll(&rb.nic);
	rig_ring(&rb, 0, UNIC_DB_SQ, qb.row, qb.sq_tail);
	unic_nic_poll(&rb.nic);
	assert_int_equal(lap->ration.round, 0);
	rig_run2(&ra, &rb, 2 * MS); /* the region is still held */
	assert_int_not_equal(lap->ration.round, 0);
	unic_mr_unhold(&rb.nic.memory, (uint16_t)w.mr);
}

/* A derived region that is closed leaves the search for operations to cut: it
 * may be made anew. */
static void made_anew_is_not_cut(void **state)
{
	struct unic_sge e = form_piece(&form_mb[1], 0, PAGE);
	struct rig_mr w;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	form_post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
		       form_mb[1].iova, &e, 1);
	w.stag = rb.nic.mrs.mr[w.mr].stag;
	unic_cuts_mark(&rb.nic.memory, (uint16_t)form_mb[2].mr);
	unic_cuts_mark(&rb.nic.memory, (uint16_t)w.mr);
	assert_int_equal(unic_derived_close(&rb.nic.memory, w.stag,
					    (uint16_t)qb.pd, false),
			 0);
	assert_true(unic_derived_unmake(&rb.nic.memory, w.stag));
	assert_true(unic_cuts_has(&rb.nic.cuts, form_mb[2].mr));
	assert_false(unic_cuts_has(&rb.nic.cuts, w.mr));
}

/* ------------------------------------------- work requests, field by field */

/* LOCAL_INV with any other field than its rkey set is refused. */
static void local_inv_has_no_other_field(void **state)
{
	struct unic_sq_slot s, good;
	struct rig_mr w;

	(void)state;
	form_alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	assert_int_equal(form_make_one(&w, &form_mb[1], 0, PAGE,
				       UNIC_MR_REMOTE_READ, 1),
			 0);
	good = form_memop(UNIC_WR_LOCAL_INV, w.stag, 0, 0, 0, 0);
	s = good;
	s.num_sge = 1;
	form_refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.inline_len = 16;
	form_refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.imm = unic_to_le32(1);
	form_refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.remote = unic_to_le64(1);
	form_refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.ctrl_len = unic_to_le32(1);
	form_refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.flags = UNIC_WR_INLINE;
	form_refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.flags = UNIC_WR_SOLICITED;
	form_refused(s, NULL, UNIC_WD_SGE);
	assert_int_equal(form_post(&rb, &qb, good, NULL).status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(posted_bind_and_unbind),
		TEST(each_wrong_bind),
		TEST(forms_of_another_domain),
		TEST(type_1_is_bound_by_command),
		TEST(peer_invalidates),
		TEST(peer_invalidates_what_is_used),
		TEST(peer_may_not_invalidate),
		TEST(invalidation_ends_tokens),
		TEST(local_inv_waits_and_cuts),
		TEST(local_inv_cuts_once),
		TEST(made_anew_is_not_cut),
		TEST(local_inv_has_no_other_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_revoke.c - the eviction scenarios of S0 on a whole NIC, or on two where
 * frames are needed, seen from the mailbox and the queues, in virtual time.
 */
#include "rig.h"
#include "unit.h"

#define T_NS	  20000000ull
#define H_NS	  50000000ull
#define REAPER_NS 1000000ull

static struct rig a, b;

/* Process 0 fills the TLB with regions of @pages pages; returns how many. */
static uint32_t hoard(struct rig *r, uint32_t pd, uint32_t pages,
		      struct rig_mr *mrs)
{
	uint32_t n = 0;

	while (rig_reg(r, 0, pd, pages, UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
		       &mrs[n]) == UNIC_ST_OK)
		n++;
	return n;
}

struct scene {
	uint32_t pd0, pd1, n;
	struct rig_mr hog[64], meek;
	struct unic_evt_mr notice;
};

/* Process 0 holds all entries, process 1 waits for 8. */
static void scene_up(struct scene *s)
{
	struct unic_cmd_set_params params = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
		.extend_us = unic_to_le32(5000),
	};

	rig_up(&a, 1);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_SET_PARAMS, &params, NULL), 0);
	rig_attach(&a, 0, 1);
	rig_attach(&a, 1, 1);
	s->pd0 = rig_pd(&a, 0);
	s->pd1 = rig_pd(&a, 1);
	s->n = hoard(&a, s->pd0, 8, s->hog);
	assert_int_equal(s->n, UNIC_TLB_ENTRIES / 8);
	assert_int_equal(rig_reg(&a, 1, s->pd1, 8, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &s->meek),
			 UNIC_ST_TLB_FULL);
	assert_int_equal(rig_reg(&a, 1, s->pd1, 8, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &s->meek),
			 UNIC_ST_PENDING);
	rig_run(&a, REAPER_NS);
	rig_expect(&a, UNIC_EVT_NOTICE, &s->notice);
	assert_int_equal(unic_from_le16(s->notice.hdr.proc), 0);
	assert_int_equal(unic_from_le32(s->notice.entries), 8);
}

static const struct rig_mr *victim(const struct scene *s)
{
	uint32_t i, mr = unic_from_le32(s->notice.mr);

	for (i = 0; i < s->n; i++)
		if (s->hog[i].mr == mr)
			return &s->hog[i];
	fail_msg("the notice names no region of the hog");
	return NULL;
}

/* The waiter gets its region, and no other event comes. */
static void expect_grant(struct scene *s)
{
	struct unic_evt_wait grant;

	rig_expect(&a, UNIC_EVT_GRANTED, &grant);
	assert_int_equal(unic_from_le32(grant.wait), s->meek.wait);
	s->meek.mr = unic_from_le32(grant.mr);
	s->meek.gen = unic_from_le32(grant.gen);
	s->meek.stag = unic_from_le32(grant.stag);
	assert_int_equal(rig_fill(&a, 1, 8, &s->meek), UNIC_ST_OK);
	assert_false(rig_event(&a, &grant));
}

static void expect_evicted(const struct scene *s, uint32_t flags)
{
	struct unic_evt_mr evt;

	rig_expect(&a, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), unic_from_le32(s->notice.mr));
	assert_int_equal(unic_from_le32(evt.gen),
			 unic_from_le32(s->notice.gen));
	assert_int_equal(unic_from_le32(evt.flags) & (UNIC_EVICTED_WAS_BUSY |
						      UNIC_EVICTED_DEADLINE),
			 flags);
}

static void silent_process_loses_at_deadline_not_before(void **state)
{
	struct unic_evt_mr evt;
	struct scene s;

	(void)state;
	scene_up(&s);
	rig_run(&a, 3 * REAPER_NS); /* the driver acknowledges late, within H */
	assert_int_equal(rig_ack(&a, &s.notice), UNIC_ST_OK);
	rig_run(&a, T_NS - 1);
	assert_false(rig_event(&a, &evt));
	rig_run(&a, 1);
	expect_evicted(&s, UNIC_EVICTED_DEADLINE);
	expect_grant(&s);
	assert_int_equal(rig_count(&a, deadlines), 1);
	assert_int_equal(rig_count(&a, evicted_entries), 8);
}

static void release_ends_the_grace_at_once(void **state)
{
	struct scene s;

	(void)state;
	scene_up(&s);
	assert_int_equal(rig_ack(&a, &s.notice), UNIC_ST_OK);
	rig_run(&a, T_NS / 4);
	assert_int_equal(rig_dereg(&a, victim(&s)), UNIC_ST_OK);
	rig_run(&a, 1);
	expect_grant(&s);
	assert_int_equal(rig_count(&a, released), 1);
	assert_int_equal(rig_count(&a, deadlines), 0);
	rig_run(&a, 2 * T_NS);
	assert_int_equal(rig_count(&a, notices), 1);
}

static void release_by_answer(void **state)
{
	struct scene s;

	(void)state;
	scene_up(&s);
	assert_int_equal(rig_ack(&a, &s.notice), UNIC_ST_OK);
	assert_int_equal(rig_answer(&a, &s.notice, UNIC_ANSWER_RELEASE, NULL, 0,
				    NULL),
			 UNIC_ST_OK);
	rig_run(&a, 1);
	expect_grant(&s);
}

static void offer_is_taken_with_the_same_deadline(void **state)
{
	struct unic_evt_mr evt;
	const struct rig_mr *other;
	struct scene s;

	(void)state;
	scene_up(&s);
	assert_int_equal(rig_ack(&a, &s.notice), UNIC_ST_OK);
	rig_run(&a, T_NS / 2);
	other = victim(&s) == &s.hog[0] ? &s.hog[1] : &s.hog[0];
	assert_int_equal(rig_answer(&a, &s.notice, UNIC_ANSWER_OFFER, other, 0,
				    NULL),
			 UNIC_ST_OK);
	rig_run(&a, T_NS / 2 - 1);
	assert_false(rig_event(&a, &evt));
	rig_run(&a, 1);
	rig_expect(&a, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), other->mr);
	expect_grant(&s);
	/* the region that was asked for stays */
	assert_int_equal(a.nic.mrs.mr[victim(&s)->mr].state, UNIC_MR_ACTIVE);
}

static void offer_is_refused_with_a_reason(void **state)
{
	uint32_t why = 0;
	struct rig_mr small;
	struct scene s;

	(void)state;
	scene_up(&s);
	assert_int_equal(rig_ack(&a, &s.notice), UNIC_ST_OK);
	assert_int_equal(rig_answer(&a, &s.notice, UNIC_ANSWER_OFFER,
				    victim(&s), 0, &why),
			 UNIC_ST_REFUSED);
	assert_int_equal(why, UNIC_REFUSED_SAME);
	/* an offer of the registration that process 1 waits for */
	assert_int_equal(rig_dereg(&a, victim(&s) == &s.hog[0] ? &s.hog[1]
							       : &s.hog[0]),
			 UNIC_ST_OK);
	small = s.meek;
	assert_int_equal(rig_answer(&a, &s.notice, UNIC_ANSWER_OFFER, &small, 0,
				    &why),
			 UNIC_ST_REFUSED);
	assert_int_equal(why, UNIC_REFUSED_NOT_ACTIVE);
	assert_int_equal(rig_count(&a, offers_refused), 2);
}

static void extend_is_refused_while_an_entitled_waiter_waits(void **state)
{
	uint32_t why = 0;
	struct scene s;

	(void)state;
	scene_up(&s);
	assert_int_equal(rig_ack(&a, &s.notice), UNIC_ST_OK);
	assert_int_equal(rig_answer(&a, &s.notice, UNIC_ANSWER_EXTEND, NULL,
				    1000, &why),
			 UNIC_ST_REFUSED);
	assert_int_equal(why, UNIC_REFUSED_WAITER);
}

/* An administrator asks for a region, and its owner extends by 4 ms. */
static void scene_extended(struct scene *s)
{
	struct unic_cmd_wait_cancel cancel;
	struct unic_cmd_mr evict;
	uint32_t why = 0;

	scene_up(s);
	/* without the waiter */
	memset(&cancel, 0, sizeof(cancel));
	cancel.wait = unic_to_le32(s->meek.wait);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_WAIT_CANCEL, &cancel, NULL), 0);
	assert_int_equal(rig_dereg(&a, victim(s)), UNIC_ST_OK);
	memset(&evict, 0, sizeof(evict));
	evict.mr = unic_to_le32(s->hog[s->n - 1].mr);
	evict.gen = unic_to_le32(s->hog[s->n - 1].gen);
	if (victim(s) == &s->hog[s->n - 1]) {
		evict.mr = unic_to_le32(s->hog[0].mr);
		evict.gen = unic_to_le32(s->hog[0].gen);
	}
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_run(&a, 1);
	rig_expect(&a, UNIC_EVT_NOTICE, &s->notice);
	assert_int_equal(s->notice.hdr.reason, UNIC_WHY_ADMIN);
	assert_int_equal(rig_ack(&a, &s->notice), UNIC_ST_OK);
	assert_int_equal(rig_answer(&a, &s->notice, UNIC_ANSWER_EXTEND, NULL,
				    4000, &why),
			 UNIC_ST_OK);
}

static void extend_is_bounded(void **state)
{
	struct unic_evt_mr evt;
	uint32_t why = 0;
	struct scene s;

	(void)state;
	scene_extended(&s);
	assert_int_equal(rig_answer(&a, &s.notice, UNIC_ANSWER_EXTEND, NULL,
				    4000, &why),
			 UNIC_ST_REFUSED);
	assert_int_equal(why, UNIC_REFUSED_BUDGET);
	rig_run(&a, T_NS + 4000000 - 1);
	assert_false(rig_event(&a, &evt));
	rig_run(&a, 1);
	expect_evicted(&s, UNIC_EVICTED_DEADLINE);
}

static void reset_forgets_what_was_put_off(void **state)
{
	struct scene s;

	(void)state;
	scene_extended(&s);
	assert_int_not_equal(a.nic.evict.put_off.all, 0);
	rig_reset(&a);
	assert_int_equal(a.nic.evict.put_off.all, 0);
	assert_int_equal(a.nic.evict.put_off.of[0], 0);
}

static void killed_process_leaves_nothing(void **state)
{
	struct unic_cmd_proc_detach cmd = { .proc = 0 };
	struct scene s;

	(void)state;
	scene_up(&s);
	assert_int_equal(rig_ack(&a, &s.notice), UNIC_ST_OK);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_PROC_DETACH, &cmd, NULL),
			 UNIC_ST_OK);
	rig_run(&a, REAPER_NS);
	{
		uint8_t rec[64];
		struct unic_evt_hdr *hdr = (struct unic_evt_hdr *)rec;
		bool granted = false;

		while (rig_event(&a, rec))
			granted |= hdr->type == UNIC_EVT_GRANTED;
		assert_true(granted);
	}
	assert_int_equal(a.nic.share.owner[0].held, 0);
	assert_int_equal(a.nic.tlb.free + a.nic.tlb.reserved, UNIC_TLB_ENTRIES);
}

static void driver_that_never_delivers_is_a_failure(void **state)
{
	struct scene s;

	(void)state;
	scene_up(&s);
	rig_run(&a, H_NS - REAPER_NS - 1);
	assert_int_equal(a.nic.state, UNIC_NIC_READY);
	rig_run(&a, REAPER_NS + 1);
	assert_int_equal(a.nic.state, UNIC_NIC_FAILED);
	assert_int_equal(rig_count(&a, driver_failures), 1);
	rig_reset(&a);
	assert_int_equal(a.nic.state, UNIC_NIC_READY);
	assert_int_equal(a.nic.tlb.free, UNIC_TLB_ENTRIES);
}

static void stale_answers_are_refused(void **state)
{
	struct unic_evt_mr stale;
	struct scene s;

	(void)state;
	scene_up(&s);
	stale = s.notice;
	stale.gen = unic_to_le32(unic_from_le32(stale.gen) + 1);
	assert_int_equal(rig_ack(&a, &stale), UNIC_ST_NO_MR);
	stale = s.notice;
	stale.seq = unic_to_le32(unic_from_le32(stale.seq) + 1);
	assert_int_equal(rig_ack(&a, &stale), UNIC_ST_INVALID);
	assert_int_equal(rig_ack(&a, &s.notice), UNIC_ST_OK);
	assert_int_equal(rig_ack(&a, &s.notice), UNIC_ST_STATE);
}

/* --------------------------------------------------- with frames, two NICs */

/* Reads all events. Returns how many were EVICTED. */
static uint32_t evicted_events(struct rig *r)
{
	uint32_t n = 0;
	uint8_t rec[64];

	while (rig_event(r, rec))
		n += ((struct unic_evt_hdr *)rec)->type == UNIC_EVT_EVICTED;
	return n;
}

struct pair {
	uint32_t pda, pdb;
	struct rig_qp qa, qb;
	struct rig_mr ma, mb; /* 4 pages each */
};

static void pair_up(struct pair *p, uint8_t class_b)
{
	rig_up(&a, 1);
	rig_up(&b, 2);
	fake_wire(&a.port, &b.port);
	rig_attach(&a, 0, 1);
	rig_attach(&b, 0, 1);
	p->pda = rig_pd(&a, 0);
	p->pdb = rig_pd(&b, 0);
	rig_qp(&a, 0, p->pda, 0, &p->qa);
	rig_qp(&b, 0, p->pdb, 0, &p->qb);
	rig_connect(&a, &p->qa, &b, &p->qb);
	assert_int_equal(rig_reg(&a, 0, p->pda, 4, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &p->ma),
			 0);
	assert_int_equal(rig_reg(&b, 0, p->pdb, 4, class_b, UNIC_REG_LIST, 0,
				 &p->mb),
			 0);
	memset(p->ma.mem, 0x5a, 4 * 4096);
	memset(p->mb.mem, 0, 4 * 4096);
}

static void evict(struct rig *r, const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };

	assert_int_equal(rig_cmd(r, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
}

static uint8_t run_one(struct pair *p, uint64_t ns, struct unic_cqe *cqe)
{
	rig_run2(&a, &b, ns);
	assert_true(rig_cqe(&a, &p->qa, cqe));
	return cqe->status;
}

static void one_write_arrives(void **state)
{
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_RDMA);
	rig_send(&a, &p.qa, UNIC_WR_WRITE, 7, &p.ma, 100, 8000, p.mb.iova + 33,
		 p.mb.stag);
	assert_int_equal(run_one(&p, 1000, &cqe), UNIC_WC_SUCCESS);
	assert_int_equal(unic_from_le64(cqe.wr_id), 7);
	assert_memory_equal(p.mb.mem + 33, p.ma.mem + 100, 8000);
	assert_int_equal(p.mb.mem[32], 0);
	assert_int_equal(p.mb.mem[8033], 0);
	assert_int_equal(a.nic.mrs.mr[p.ma.mr].holds, 0);
}

/* No byte is written after EVICTED, and the peer gets the reason. */
static void nothing_is_written_after_evicted(void **state)
{
	struct unic_evt_mr evt;
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_RDMA);
	evict(&b, &p.mb);
	rig_run2(&a, &b, 1);
	rig_expect(&b, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&b, &evt), UNIC_ST_OK);
	/* within the grace requests succeed */
	rig_send(&a, &p.qa, UNIC_WR_WRITE, 1, &p.ma, 0, 64, p.mb.iova,
		 p.mb.stag);
	assert_int_equal(run_one(&p, T_NS / 2, &cqe), UNIC_WC_SUCCESS);
	rig_run2(&a, &b, T_NS / 2);
	rig_expect(&b, UNIC_EVT_EVICTED, &evt);
	memset(p.mb.mem, 0, 4 * 4096);
	rig_send(&a, &p.qa, UNIC_WR_WRITE, 2, &p.ma, 0, 64, p.mb.iova,
		 p.mb.stag);
	assert_int_equal(run_one(&p, 1000, &cqe), UNIC_WC_REM_EVICTED);
	assert_int_equal(p.mb.mem[0], 0);
	/* the connection stays up */
	rig_recv(&b, &p.qb, 9, &p.mb, 0, 0);
	rig_send(&a, &p.qa, UNIC_WR_SEND, 3, &p.ma, 0, 0, 0, 0);
	assert_int_equal(run_one(&p, 1000, &cqe), UNIC_WC_SUCCESS);
	assert_int_equal(unic_from_le64(cqe.wr_id), 3);
}

static void unsent_request_of_an_evicted_region_completes_evicted(void **state)
{
	struct unic_evt_mr evt;
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_RDMA);
	evict(&a, &p.ma);
	rig_run2(&a, &b, 1);
	rig_expect(&a, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&a, &evt), UNIC_ST_OK);
	rig_run2(&a, &b, T_NS);
	rig_expect(&a, UNIC_EVT_EVICTED, &evt);
	rig_send(&a, &p.qa, UNIC_WR_WRITE, 1, &p.ma, 0, 64, p.mb.iova,
		 p.mb.stag);
	assert_int_equal(run_one(&p, 1000, &cqe), UNIC_WC_EVICTED);
	assert_int_equal(p.mb.mem[0], 0);
	assert_int_equal(a.nic.qps.qp[0].state, UNIC_QPS_RTS);
}

/* Loses all frames: the request stays unacknowledged and holds its region. */
static void vanish(struct unic_port *port, const uint8_t *frame, uint32_t len,
		   uint32_t flags)
{
	(void)port;
	(void)frame;
	(void)len;
	(void)flags;
}

static void send_side_holds_until_acknowledged(void **state)
{
	struct unic_evt_mr evt;
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_RDMA);
	a.port.on_frame = vanish;
	rig_send(&a, &p.qa, UNIC_WR_WRITE, 1, &p.ma, 0, 64, p.mb.iova,
		 p.mb.stag);
	rig_run2(&a, &b, 1000);
	assert_int_equal(a.nic.mrs.mr[p.ma.mr].holds, 1);
	evict(&a, &p.ma);
	rig_run2(&a, &b, 1);
	rig_expect(&a, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&a, &evt), UNIC_ST_OK);
	/* within the grace frames arrive again: a retransmission succeeds */
	rig_run2(&a, &b, T_NS / 4);
	a.port.on_frame = NULL;
	assert_int_equal(run_one(&p, T_NS / 2, &cqe), UNIC_WC_SUCCESS);
	assert_int_equal(p.mb.mem[0], 0x5a);
	assert_int_equal(a.nic.mrs.mr[p.ma.mr].holds, 0);
	rig_run2(&a, &b, T_NS / 4);
	rig_expect(&a, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags) & UNIC_EVICTED_WAS_BUSY, 0);
}

static void unacknowledged_at_t_completes_evicted_once(void **state)
{
	struct unic_evt_mr evt;
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_RDMA);
	a.port.on_frame = vanish;
	/* sent just before T, or the retry counter (3 times 4.2 ms) would run
	 * out first */
	evict(&a, &p.ma);
	rig_run2(&a, &b, 1);
	rig_expect(&a, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&a, &evt), UNIC_ST_OK);
	rig_run2(&a, &b, T_NS - 2000000);
	rig_send(&a, &p.qa, UNIC_WR_WRITE, 1, &p.ma, 0, 64, p.mb.iova,
		 p.mb.stag);
	rig_send(&a, &p.qa, UNIC_WR_WRITE, 2, &p.ma, 0, 64, p.mb.iova,
		 p.mb.stag);
	assert_int_equal(run_one(&p, 2000000, &cqe), UNIC_WC_EVICTED);
	assert_int_equal(unic_from_le64(cqe.wr_id), 1);
	assert_true(rig_cqe(&a, &p.qa, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 2);
	assert_true(cqe.status == UNIC_WC_EVICTED ||
		    cqe.status == UNIC_WC_WR_FLUSH_ERR);
	assert_false(rig_cqe(&a, &p.qa, &cqe));
	{
		uint8_t rec[64];
		struct unic_evt_mr *e = (struct unic_evt_mr *)rec;
		uint32_t evicted = 0;

		while (rig_event(&a, rec))
			if (e->hdr.type == UNIC_EVT_EVICTED) {
				evicted++;
				assert_true(unic_from_le32(e->flags) &
					    UNIC_EVICTED_WAS_BUSY);
			}
		assert_int_equal(evicted, 1);
	}
}

/* ------------------------------------------------------------- messaging */

static void posted_receive_is_substituted_without_loss(void **state)
{
	struct rig_mr second;
	struct unic_evt_mr evt;
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_MESSAGING);
	assert_int_equal(rig_reg(&b, 0, p.pdb, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &second),
			 0);
	rig_recv(&b, &p.qb, 1, &p.mb, 0, 4096);
	rig_recv(&b, &p.qb, 2, &second, 0, 4096);
	rig_run2(&a, &b, 1000);
	evict(&b, &p.mb);
	rig_run2(&a, &b, 1000);
	/* evicted at once, without grace and without a notice */
	rig_expect(&b, UNIC_EVT_EVICTED, &evt);
	assert_true(rig_cqe(&b, &p.qb, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 1);
	assert_int_equal(cqe.status, UNIC_WC_EVICTED);
	rig_send(&a, &p.qa, UNIC_WR_SEND, 3, &p.ma, 0, 3000, 0, 0);
	assert_int_equal(run_one(&p, 1000, &cqe), UNIC_WC_SUCCESS);
	assert_true(rig_cqe(&b, &p.qb, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 2);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_memory_equal(second.mem, p.ma.mem, 3000);
	assert_false(rig_cqe(&b, &p.qb, &cqe));
	assert_int_equal(rig_count(&b, tx_rnr_naks), 0);
}

/* All sixteen posted receives are in the evicted region; sixteen posted
 * afterwards work as in a new queue. */
static void whole_receive_queue_is_swept(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr fresh;
	struct pair p;
	uint32_t i;

	(void)state;
	pair_up(&p, UNIC_CLASS_MESSAGING);
	for (i = 0; i < RIG_SLOTS; i++)
		rig_recv(&b, &p.qb, i, &p.mb, i * 64, 64);
	rig_run2(&a, &b, 1000);
	evict(&b, &p.mb);
	rig_run2(&a, &b, 100000);
	for (i = 0; i < RIG_SLOTS; i++) {
		assert_true(rig_cqe(&b, &p.qb, &cqe));
		assert_int_equal(unic_from_le64(cqe.wr_id), i);
		assert_int_equal(cqe.status, UNIC_WC_EVICTED);
	}
	assert_int_equal(rig_reg(&b, 0, p.pdb, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &fresh),
			 0);
	for (i = 0; i < RIG_SLOTS; i++)
		rig_recv(&b, &p.qb, 100 + i, &fresh, i * 64, 64);
	rig_send(&a, &p.qa, UNIC_WR_SEND, 1, &p.ma, 0, 64, 0, 0);
	assert_int_equal(run_one(&p, 1000000, &cqe), UNIC_WC_SUCCESS);
	assert_true(rig_cqe(&b, &p.qb, &cqe));
	assert_int_equal(unic_from_le64(cqe.wr_id), 100);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_int_equal(b.nic.qps.qp[0].state, UNIC_QPS_RTS);
}

/* A second region is evicted while the receives are searched for the first: all
 * receives in the second complete, and no others. */
static void sweep_that_starts_over_takes_the_right_ones(void **state)
{
	struct rig_mr keep, gone, other;
	uint32_t seen[RIG_SLOTS] = { 0 }, i;
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_RDMA);
	assert_int_equal(rig_reg(&b, 0, p.pdb, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &keep),
			 0);
	assert_int_equal(rig_reg(&b, 0, p.pdb, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &gone),
			 0);
	assert_int_equal(rig_reg(&b, 0, p.pdb, 1, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &other),
			 0);
	for (i = 0; i < RIG_SLOTS; i++)
		rig_recv(&b, &p.qb, i, i < 8 ? &keep : &gone, 0, 64);
	rig_poll(&b);
	b.port.late_dma = true;
	evict(&b, &other);
	for (i = 0; i < 20; i++)
		unic_nic_poll(&b.nic);
	fake_dma_run(&b.port, 1);
	for (i = 0; i < 20; i++)
		unic_nic_poll(&b.nic);
	evict(&b, &gone);
	for (i = 0; i < 200; i++) {
		unic_nic_poll(&b.nic);
		fake_dma_run(&b.port, 8);
	}
	b.port.late_dma = false;
	rig_run(&b, 1000000);
	while (rig_cqe(&b, &p.qb, &cqe))
		seen[unic_from_le64(cqe.wr_id) % RIG_SLOTS]++;
	for (i = 0; i < RIG_SLOTS; i++)
		assert_int_equal(seen[i], i >= 8);
}

/* A receive completes at B, and the DMA of its completion is under way. */
static void record_on_its_way(struct pair *p)
{
	struct unic_cqe cqe;
	uint32_t i;

	pair_up(p, UNIC_CLASS_RDMA);
	rig_recv(&b, &p->qb, 1, &p->mb, 0, 64);
	rig_send(&a, &p->qa, UNIC_WR_SEND, 1, &p->ma, 0, 0, 0, 0);
	rig_poll(&a);
	b.port.late_dma = true;
	rig_poll(&b);
	for (i = 0;
	     i < 8 && unic_qp_by_number(&b.nic.transport, p->qb.qpn)->dmas;
	     i++) {
		fake_dma_run(&b.port, 1); /* the receive is fetched */
		rig_poll(&b);
	}
	assert_int_equal(fake_dma_waiting(&b.port), 1);
	assert_false(rig_cqe(&b, &p->qb, &cqe));
}

/* A queue pair is gone when its last completion is written; until then it
 * cannot be reset, nor its CQ be destroyed. */
static void gone_when_its_last_record_is_written(void **state)
{
	struct unic_cmd_qp_modify reset = { .state = UNIC_QPS_RESET };
	struct unic_cmd_obj qp = { 0 }, cq = { 0 };
	struct unic_evt_obj evt;
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	record_on_its_way(&p);
	reset.qpn = qp.id = unic_to_le32(p.qb.qpn);
	cq.id = unic_to_le32(p.qb.cq);
	assert_int_equal(rig_cmd(&b, UNIC_CMD_QP_MODIFY, &reset, NULL),
			 UNIC_ST_BUSY);
	assert_int_equal(rig_cmd(&b, UNIC_CMD_QP_DESTROY, &qp, NULL),
			 UNIC_ST_PENDING);
	assert_int_equal(rig_cmd(&b, UNIC_CMD_CQ_DESTROY, &cq, NULL),
			 UNIC_ST_BUSY);
	assert_false(rig_event(&b, &evt));
	assert_false(rig_cqe(&b, &p.qb, &cqe));
	fake_dma_run(&b.port, 1);
	rig_poll(&b);
	assert_true(rig_cqe(&b, &p.qb, &cqe));
	rig_expect(&b, UNIC_EVT_QP_GONE, &evt);
	assert_int_equal(unic_from_le32(evt.id), p.qb.qpn);
	assert_int_equal(rig_cmd(&b, UNIC_CMD_CQ_DESTROY, &cq, NULL), 0);
}

/* A process, too, is gone when its last completion is written. */
static void left_when_the_last_record_is_written(void **state)
{
	struct unic_cmd_proc_detach cmd = { 0 };
	struct unic_evt_obj evt;
	struct pair p;

	(void)state;
	record_on_its_way(&p);
	assert_int_equal(rig_cmd(&b, UNIC_CMD_PROC_DETACH, &cmd, NULL),
			 UNIC_ST_PENDING);
	rig_run(&b, 1000000);
	assert_false(rig_event(&b, &evt));
	assert_int_equal(b.nic.procs.proc[0].cqs, 1);
	fake_dma_run(&b.port, 1);
	rig_run(&b, 1000000);
	rig_expect(&b, UNIC_EVT_PROC_GONE, &evt);
}

static uint32_t frames_to_pass;

static void pass_some(struct unic_port *port, const uint8_t *frame,
		      uint32_t len, uint32_t flags)
{
	if (frames_to_pass) {
		frames_to_pass--;
		fake_deliver(port->peer, frame, len, flags);
	}
}

/* A receive that is being filled keeps its entries until its last packet. */
static void receive_in_progress_is_finished(void **state)
{
	struct unic_evt_mr evt;
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_MESSAGING);
	rig_recv(&b, &p.qb, 1, &p.mb, 0, 8192);
	a.port.on_frame = pass_some;
	frames_to_pass = 3;
	rig_send(&a, &p.qa, UNIC_WR_SEND, 3, &p.ma, 0, 8192, 0, 0);
	rig_run2(&a, &b, 1000);
	evict(&b, &p.mb);
	rig_run2(&a, &b, 1000);
	assert_false(rig_event(&b, &evt));
	assert_false(rig_cqe(&b, &p.qb, &cqe));
	a.port.on_frame = NULL;
	assert_int_equal(run_one(&p, T_NS / 2, &cqe), UNIC_WC_SUCCESS);
	assert_true(rig_cqe(&b, &p.qb, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_memory_equal(p.mb.mem, p.ma.mem, 8192);
	rig_expect(&b, UNIC_EVT_EVICTED, &evt);
}

static void receive_in_progress_is_cut_at_t(void **state)
{
	struct unic_cqe cqe;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_MESSAGING);
	rig_recv(&b, &p.qb, 1, &p.mb, 0, 8192);
	a.port.on_frame = pass_some;
	frames_to_pass = 3;
	rig_send(&a, &p.qa, UNIC_WR_SEND, 3, &p.ma, 0, 8192, 0, 0);
	rig_run2(&a, &b, 1000);
	evict(&b, &p.mb);
	rig_run2(&a, &b, T_NS - 1);
	assert_int_equal(evicted_events(&b), 0);
	rig_run2(&a, &b, 1);
	assert_int_equal(evicted_events(&b), 1);
	assert_true(rig_cqe(&b, &p.qb, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_EVICTED);
	assert_false(rig_cqe(&b, &p.qb, &cqe));
	assert_int_equal(b.nic.qps.qp[0].state, UNIC_QPS_ERR);
}

/* DMA in flight delays the end of its region, exactly until it ends (INV-3). */
static void drain_waits_for_the_dma_in_flight(void **state)
{
	struct unic_evt_mr evt;
	struct pair p;

	(void)state;
	pair_up(&p, UNIC_CLASS_RDMA);
	evict(&b, &p.mb);
	rig_run2(&a, &b, 1);
	rig_expect(&b, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&b, &evt), UNIC_ST_OK);
	rig_run2(&a, &b, T_NS - 1000);
	b.port.late_dma = true;
	a.port.on_frame = pass_some; /* no frame behind the one that waits */
	frames_to_pass = 1;
	rig_send(&a, &p.qa, UNIC_WR_WRITE, 1, &p.ma, 0, 512, p.mb.iova,
		 p.mb.stag);
	rig_run2(&a, &b, 10000); /* the deadline is over */
	assert_int_equal(fake_dma_waiting(&b.port), 1);
	assert_int_equal(b.nic.mrs.mr[p.mb.mr].state, UNIC_MR_DRAINING);
	assert_int_equal(evicted_events(&b), 0);
	fake_dma_run(&b.port, 1);
	assert_int_equal(p.mb.mem[0], 0x5a);
	b.port.late_dma = false;
	rig_run2(&a, &b, 1000);
	assert_int_equal(evicted_events(&b), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silent_process_loses_at_deadline_not_before),
		cmocka_unit_test(release_ends_the_grace_at_once),
		cmocka_unit_test(release_by_answer),
		cmocka_unit_test(offer_is_taken_with_the_same_deadline),
		cmocka_unit_test(offer_is_refused_with_a_reason),
		cmocka_unit_test(
			extend_is_refused_while_an_entitled_waiter_waits),
		cmocka_unit_test(extend_is_bounded),
		cmocka_unit_test(reset_forgets_what_was_put_off),
		cmocka_unit_test(killed_process_leaves_nothing),
		cmocka_unit_test(driver_that_never_delivers_is_a_failure),
		cmocka_unit_test(stale_answers_are_refused),
		cmocka_unit_test(one_write_arrives),
		cmocka_unit_test(nothing_is_written_after_evicted),
		cmocka_unit_test(
			unsent_request_of_an_evicted_region_completes_evicted),
		cmocka_unit_test(send_side_holds_until_acknowledged),
		cmocka_unit_test(unacknowledged_at_t_completes_evicted_once),
		cmocka_unit_test(posted_receive_is_substituted_without_loss),
		cmocka_unit_test(whole_receive_queue_is_swept),
		cmocka_unit_test(sweep_that_starts_over_takes_the_right_ones),
		cmocka_unit_test(gone_when_its_last_record_is_written),
		cmocka_unit_test(left_when_the_last_record_is_written),
		cmocka_unit_test(receive_in_progress_is_finished),
		cmocka_unit_test(receive_in_progress_is_cut_at_t),
		cmocka_unit_test(drain_waits_for_the_dma_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

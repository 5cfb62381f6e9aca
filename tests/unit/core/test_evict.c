/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_evict.c - how a region ends. The notice, answers and deadlines of one
 * region are in test_revoke.c.
 */
#include "unit.h"

#include "evict_rig.h"
#include "memory/access.h"
#include "revoke/evict_answer.h"

#define ACTIVE(m) (er.nic.mrs.mr[(m)->mr].state == UNIC_MR_ACTIVE)

/* ------------------------------------------------------------- ending */

static void admin(const struct rig_mr *m)
{
	struct unic_cmd_mr c = { .mr = unic_to_le32(m->mr),
				 .gen = unic_to_le32(m->gen) };

	assert_int_equal(rig_cmd(&er, UNIC_CMD_MR_EVICT, &c, NULL), 0);
}

static void evict_now(const struct rig_mr *m, uint32_t flags)
{
	struct unic_evt_mr evt;

	admin(m);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&er, &evt), 0);
	rig_run(&er, T_NS);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m->mr);
	assert_int_equal(unic_from_le32(evt.flags), flags);
}

static int look(const struct rig_mr *m)
{
	struct unic_xlate p;

	return unic_access(&er.nic.memory, m->stag, (uint16_t)er_pd[0], 0,
			   m->iova, 1, &p);
}

static void tombstone_answers_evicted(void **state)
{
	struct rig_mr m[UNIC_MRS], x;
	uint32_t i;

	(void)state;
	evict_hoard(0, 3, 1, m);
	for (i = 0; i < 2; i++)
		evict_now(&m[i],
			  UNIC_EVICTED_DEADLINE | UNIC_EVICTED_TOMBSTONE);
	assert_int_equal(look(&m[0]), -UNIC_EEVICTED);
	m[0].stag ^= 1; /* only the whole STag */
	assert_int_equal(look(&m[0]), -UNIC_ESTAG);
	m[0].stag ^= 1;
	/* tombstones are reused oldest first, and only when no index is free */
	evict_hoard(0, UNIC_MRS - 3, 1, m + 3);
	assert_int_equal(look(&m[0]), -UNIC_EEVICTED);
	evict_reg_ok(0, 1, &x);
	assert_int_equal(look(&m[0]), -UNIC_ESTAG);
	assert_int_equal(look(&m[1]), -UNIC_EEVICTED);
	assert_int_equal(rig_dereg(&er, &m[1]), UNIC_ST_OK);
	assert_int_equal(look(&m[1]), -UNIC_ERELEASED);
	assert_int_equal(rig_dereg(&er, &m[1]), UNIC_ST_NO_MR);
	evict_reg_ok(0, 1, &x);
	assert_int_equal(evict_reg(0, 1, &x), UNIC_ST_MR_FULL);
}

/* INV-3, INV-4: entries come free after the last reference, and only then. */
static void busy_region_is_drained(void **state)
{
	struct unic_evt_mr evt;
	struct unic_xlate p;
	struct rig_mr m;
	uint16_t i;

	(void)state;
	evict_reg_ok(0, 4, &m);
	i = (uint16_t)m.mr;
	unic_mr_dma_get(&er.nic.memory, i);
	unic_mr_hold(&er.nic.memory, i);
	admin(&m);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&er, &evt), 0);
	assert_int_equal(look(&m), 0);
	rig_run(&er, T_NS - 1);
	unic_evict_kick(&er.nic.revoke);
	rig_poll(&er);
	assert_int_equal(look(&m), 0);
	rig_run(&er, 1);
	assert_int_equal(er.nic.mrs.mr[i].state, UNIC_MR_DRAINING);
	assert_int_equal(look(&m), -UNIC_EEVICTED);
	/* an operation that holds the region can still translate */
	assert_int_equal(unic_xlate(&er.nic.memory, i, m.iova, 1, &p), 0);
	evict_none();
	unic_mr_unhold(&er.nic.memory, i);
	evict_none();
	assert_int_equal(er.nic.tlb.free, N - 4);
	unic_mr_dma_put(&er.nic.memory, i);
	rig_poll(&er);
	assert_int_equal(er.nic.tlb.free, N);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags),
			 UNIC_EVICTED_WAS_BUSY | UNIC_EVICTED_DEADLINE |
				 UNIC_EVICTED_TOMBSTONE);
	assert_int_equal(unic_xlate(&er.nic.memory, i, m.iova, 1, &p),
			 -UNIC_EEVICTED);
	rig_run(&er, T_NS);
	evict_none();
	assert_int_equal(rig_count(&er, evicted_busy), 1);
}

static void dereg_of_a_held_region_is_pending(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	evict_reg_ok(0, 4, &m);
	unic_mr_hold(&er.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_PENDING);
	assert_int_equal(look(&m), -UNIC_ERELEASED);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_NO_MR);
	rig_run(&er, T_NS / 2);
	evict_none();
	unic_mr_unhold(&er.nic.memory, (uint16_t)m.mr);
	rig_poll(&er);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_DEREG);
	assert_int_equal(unic_from_le32(evt.flags), 0);
	assert_int_equal(er.nic.mrs.free, UNIC_MRS);
	assert_int_equal(rig_count(&er, evicted_regions), 0);
	/* a region still held at T is cut */
	evict_reg_ok(0, 4, &m);
	unic_mr_hold(&er.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_PENDING);
	rig_run(&er, T_NS);
	unic_mr_unhold(&er.nic.memory, (uint16_t)m.mr);
	rig_poll(&er);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags), UNIC_EVICTED_WAS_BUSY);
}

/* The entries of a region that was released are free for the next command of
 * the same round. */
static void next_command_finds_the_entries(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, all;

	(void)state;
	evict_reg_ok(0, 4, &m);
	unic_mr_hold(&er.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_PENDING);
	assert_int_equal(evict_reg(0, N, &all), UNIC_ST_TLB_FULL);
	unic_mr_unhold(&er.nic.memory, (uint16_t)m.mr);
	evict_reg_ok(0, N, &all);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
}

/* A region whose last operation ends before its deadline is handled was not
 * busy at the deadline. */
static void idle_at_its_deadline_is_not_cut(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	evict_reg_ok(0, 4, &m);
	unic_mr_hold(&er.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_PENDING);
	rig_run(&er, T_NS - 1);
	evict_none();
	unic_mr_unhold(&er.nic.memory, (uint16_t)m.mr);
	er.port.now_ns++;
	rig_poll(&er);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags), 0);
}

/* In the round in which the NIC finds that its driver has failed it sends no
 * other event, not even for a wait that ends at this instant. */
static void failing_says_nothing_else(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr asked;

	(void)state;
	evict_reg_ok(0, N, &asked);
	admin(&asked);
	evict_wait_for(1, 4, 50000);
	rig_poll(&er);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	rig_run(&er, 50000000);
	assert_int_equal(er.nic.state, UNIC_NIC_FAILED);
	evict_none();
}

/* A region that is noted as idle several times ends once, as do the regions
 * noted in between. */
static void idle_is_noted_once(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m[2];
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		evict_reg_ok(0, 4, &m[i]);
		unic_mr_hold(&er.nic.memory, (uint16_t)m[i].mr);
		assert_int_equal(rig_dereg(&er, &m[i]), UNIC_ST_PENDING);
	}
	for (i = 0; i < 2; i++)
		unic_mr_unhold(&er.nic.memory, (uint16_t)m[i].mr);
	unic_idle_note(&er.nic.memory, (uint16_t)m[0].mr);
	rig_poll(&er);
	for (i = 0; i < 2; i++) {
		rig_expect(&er, UNIC_EVT_EVICTED, &evt);
		assert_int_equal(unic_from_le32(evt.mr), m[i].mr);
	}
	evict_none();
	assert_int_equal(er.nic.tlb.free, N);
}

/* A reset drops the idle marks of all indices. */
static void reset_forgets_what_was_noted(void **state)
{
	uint16_t i;
	struct rig_mr m;

	(void)state;
	evict_reg_ok(0, 4, &m);
	i = (uint16_t)m.mr;
	unic_mr_hold(&er.nic.memory, i);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_PENDING);
	unic_mr_unhold(&er.nic.memory, i);
	rig_reset(&er);
	evict_none();
	assert_int_equal(er.nic.idle.next[i], 0);
	assert_int_equal(er.nic.mrs.free, UNIC_MRS);
	assert_int_equal(er.nic.tlb.free, N);
}

/* A NIC whose driver has failed still reports regions that have ended. */
static void region_ends_on_a_failed_nic(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, asked;

	(void)state;
	evict_reg_ok(0, 4, &m);
	evict_reg_ok(0, 4, &asked);
	unic_mr_dma_get(&er.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_PENDING);
	admin(&asked);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	rig_run(&er, 50000000);
	assert_int_equal(er.nic.state, UNIC_NIC_FAILED);
	evict_none();
	unic_mr_dma_put(&er.nic.memory, (uint16_t)m.mr);
	rig_poll(&er);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m.mr);
}

/* A region that is released while in use keeps its deadline, and gets no new
 * T. */
static void release_keeps_the_deadline(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	evict_reg_ok(0, 4, &m);
	unic_mr_hold(&er.nic.memory, (uint16_t)m.mr);
	admin(&m);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&er, &evt), 0);
	rig_run(&er, T_NS / 2);
	assert_int_equal(rig_answer(&er, &evt, UNIC_ANSWER_RELEASE, NULL, 0,
				    NULL),
			 UNIC_ST_PENDING);
	assert_int_equal(look(&m), -UNIC_EEVICTED);
	rig_run(&er, T_NS / 2 - 1);
	assert_int_equal(er.nic.mrs.mr[m.mr].evt_flags, 0);
	rig_run(&er, 1);
	assert_int_equal(er.nic.mrs.mr[m.mr].evt_flags, UNIC_EVICTED_WAS_BUSY);
	unic_mr_unhold(&er.nic.memory, (uint16_t)m.mr);
	rig_poll(&er);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_ADMIN);
}

static void messaging_goes_without_notice(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;

	(void)state;
	assert_int_equal(rig_reg(&er, 0, er_pd[0], 4, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &m),
			 0);
	admin(&m);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.seq), 0);
	assert_int_equal(look(&m), -UNIC_EEVICTED);
	assert_int_equal(rig_count(&er, msg_evicted), 1);
	assert_int_equal(rig_count(&er, notices), 0);
	/* a receive that is being filled may go on until T */
	assert_int_equal(rig_reg(&er, 0, er_pd[0], 4, UNIC_CLASS_MESSAGING,
				 UNIC_REG_LIST, 0, &m),
			 0);
	unic_mr_hold(&er.nic.memory, (uint16_t)m.mr);
	admin(&m);
	assert_int_equal(look(&m), -UNIC_EEVICTED);
	rig_run(&er, T_NS - 1);
	assert_int_equal(er.nic.mrs.mr[m.mr].evt_flags, 0);
	evict_none();
	rig_run(&er, 1);
	assert_int_equal(er.nic.mrs.mr[m.mr].evt_flags, UNIC_EVICTED_WAS_BUSY);
	unic_mr_unhold(&er.nic.memory, (uint16_t)m.mr);
	rig_poll(&er);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags),
			 UNIC_EVICTED_WAS_BUSY | UNIC_EVICTED_TOMBSTONE);
}

static void wrong_subjects_are_refused(void **state)
{
	struct rig_mr m, loading;
	uint64_t deadline;

	(void)state;
	assert_int_equal(rig_reg(&er, 0, er_pd[0], 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &m),
			 0);
	assert_int_equal(rig_reg(&er, 0, er_pd[0], 1, UNIC_CLASS_RDMA, 0, 0,
				 &loading),
			 0);
	assert_int_equal(unic_evict_admin(&er.nic.revoke, m.mr, m.gen),
			 -UNIC_EINVAL);
	assert_int_equal(unic_evict_admin(&er.nic.revoke, m.mr, m.gen + 1),
			 -UNIC_ENOMR);
	assert_int_equal(unic_evict_admin(&er.nic.revoke, loading.mr,
					  loading.gen),
			 -UNIC_ESTATE);
	assert_int_equal(unic_evict_ack(&er.nic.revoke, m.mr, m.gen, 1,
					&deadline),
			 -UNIC_ESTATE);
}

static void each_refusal_of_an_offer(void **state)
{
	struct rig_mr m, small, other, control, loading;
	struct unic_evt_mr evt;
	uint32_t why;

	(void)state;
	evict_reg_ok(0, 4, &m);
	evict_reg_ok(0, 3, &small);
	evict_reg_ok(1, 4, &other);
	rig_reg(&er, 0, er_pd[0], 4, UNIC_CLASS_CONTROL, UNIC_REG_LIST, 0,
		&control);
	rig_reg(&er, 0, er_pd[0], 4, UNIC_CLASS_RDMA, 0, 0, &loading);
	admin(&m);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
#define REFUSED(region, reason)                                           \
	do {                                                              \
		why = 0;                                                  \
		assert_int_equal(rig_answer(&er, &evt, UNIC_ANSWER_OFFER, \
					    &(region), 0, &why),          \
				 UNIC_ST_REFUSED);                        \
		assert_int_equal(why, reason);                            \
		assert_true(ACTIVE(&small));                              \
	} while (0)
	REFUSED(small, UNIC_REFUSED_SMALLER);
	REFUSED(other, UNIC_REFUSED_NOT_YOURS);
	REFUSED(loading, UNIC_REFUSED_NOT_ACTIVE);
	REFUSED(m, UNIC_REFUSED_SAME);
	REFUSED(control, UNIC_REFUSED_CLASS);
	small.gen++;
	REFUSED(small, UNIC_REFUSED_NOT_ACTIVE);
#undef REFUSED
	assert_int_equal(rig_count(&er, offers_refused), 6);
}

static void offered_region_can_be_asked_for_again(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, other;

	(void)state;
	evict_reg_ok(0, 4, &m);
	evict_reg_ok(0, 6, &other);
	admin(&m);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(
		rig_answer(&er, &evt, UNIC_ANSWER_OFFER, &other, 0, NULL), 0);
	assert_true(ACTIVE(&m));
	assert_int_equal(er.nic.share.coming, 6);
	admin(&m);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&er, &evt), 0);
	rig_run(&er, T_NS);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	evict_none();
	assert_int_equal(er.nic.share.coming, 0);
	assert_int_equal(er.nic.evict.open[0], 0);
	assert_int_equal(er.nic.tlb.free, N);
}

/* A region that was spared by an offer is the next victim. */
static void spared_region_is_next(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, other, all;

	(void)state;
	evict_reg_ok(0, N / 2, &m);
	evict_reg_ok(0, N / 2, &other);
	admin(&m);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&er, &evt), 0);
	assert_int_equal(
		rig_answer(&er, &evt, UNIC_ANSWER_OFFER, &other, 0, NULL), 0);
	rig_run(&er, 2 * T_NS);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), other.mr);
	evict_reg_ok(1, N / 2, &all);
	evict_set_proc(1, 7, 0, UNIC_POLICY_LRU);
	rig_run(&er, 10 * RESIDENCE_NS);
	evict_wait_for(1, N / 4, 0);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m.mr);
}

/* EXTEND is refused while an entitled request waits, even for a notice that is
 * older than the request. */
static void nobody_extends_while_the_entitled_wait(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m[8];
	uint32_t why, w;

	(void)state;
	evict_hoard(0, 8, N / 8, m);
	admin(&m[0]);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&er, &evt), 0);
	w = evict_wait_for(1, N / 8, 0);
	evict_none(); /* the entries of m[0] are enough */
	assert_int_equal(rig_answer(&er, &evt, UNIC_ANSWER_EXTEND, NULL, 1000,
				    &why),
			 UNIC_ST_REFUSED);
	assert_int_equal(why, UNIC_REFUSED_WAITER);
	assert_int_equal(evict_cancel(w), UNIC_ST_OK);
	assert_int_equal(rig_answer(&er, &evt, UNIC_ANSWER_EXTEND, NULL, 1000,
				    &why),
			 UNIC_ST_OK);
}

static void extend(const struct unic_evt_mr *evt, uint32_t us)
{
	assert_int_equal(
		rig_answer(&er, evt, UNIC_ANSWER_EXTEND, NULL, us, NULL), 0);
}

/* An extended region is no supply until its deadline, but its entries will
 * come: the owner is not brought below its share for a watermark, nor for a
 * borrower (INV-5). */
static void extended_is_as_good_as_gone(void **state)
{
	struct unic_evt_mr evt, second;
	struct rig_mr m[3], other;

	(void)state;
	evict_hoard(0, 3, N / 4, m);
	evict_reg_ok(1, N / 4, &other);
	rig_run(&er, RESIDENCE_NS);
	evict_params(2, 4);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_REAPER);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
	assert_int_equal(rig_ack(&er, &evt), 0);
	extend(&evt, 10000);
	assert_int_equal(er.nic.evict.put_off.all, N / 4);
	rig_run(&er, T_NS);
	evict_none();
	evict_wait_for(1, N / 4 + 1, 0);
	rig_expect(&er, UNIC_EVT_NOTICE, &second);
	assert_int_equal(unic_from_le16(second.hdr.proc), 1);
	evict_none();
	evict_wait_for(2, N / 8, 0); /* narrows the shares */
	rig_expect(&er, UNIC_EVT_NOTICE, &second);
	assert_int_equal(unic_from_le16(second.hdr.proc), 0);
}

/* An offered region gets the extended grace, and counts as extended. */
static void offer_after_extend(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m, other;

	(void)state;
	evict_reg_ok(0, 4, &m);
	evict_reg_ok(0, 6, &other);
	admin(&m);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	extend(&evt, 1000);
	assert_int_equal(er.nic.evict.put_off.of[0], 4);
	extend(&evt, 1000);
	assert_int_equal(er.nic.evict.put_off.of[0], 4);
	assert_int_equal(
		rig_answer(&er, &evt, UNIC_ANSWER_OFFER, &other, 0, NULL), 0);
	assert_int_equal(er.nic.evict.put_off.of[0], 6);
	assert_int_equal(er.nic.share.coming, 0);
	assert_int_equal(rig_dereg(&er, &other), UNIC_ST_OK);
	assert_int_equal(er.nic.evict.put_off.all, 0);
	assert_int_equal(er.nic.share.coming, 0);
	assert_int_equal(er.nic.tlb.free, N - 4);
}

/* INV-8: an entitled waiter does not wait for an extended grace. */
static void extended_grace_does_not_delay_the_entitled(void **state)
{
	struct unic_evt_mr evt, second;
	struct rig_mr m[8];
	uint32_t w;

	(void)state;
	evict_hoard(0, 8, N / 8, m);
	admin(&m[0]);
	rig_expect(&er, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&er, &evt), 0);
	assert_int_equal(rig_answer(&er, &evt, UNIC_ANSWER_EXTEND, NULL, 40000,
				    NULL),
			 0);
	w = evict_wait_for(1, N / 8, 0);
	rig_expect(&er, UNIC_EVT_NOTICE, &second);
	assert_int_not_equal(unic_from_le32(second.mr), unic_from_le32(evt.mr));
	assert_int_equal(rig_ack(&er, &second), 0);
	rig_run(&er, T_NS);
	rig_expect(&er, UNIC_EVT_EVICTED, &second);
	evict_granted(w);
	rig_run(&er, 40000000 - 1);
	evict_none();
	rig_run(&er, 1);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
}

/* --------------------------------------------------- full event ring */

static uint32_t fill_ring(void)
{
	struct unic_evt_mr fill = { .hdr.type = UNIC_EVT_EVICTED,
				    .hdr.reason = 99 };
	uint32_t n = 0;

	while (unic_mbox_event(&er.nic.base, &fill))
		n++;
	return n;
}

static void empty_ring(uint32_t n)
{
	struct unic_evt_mr evt;

	while (n--) {
		rig_expect(&er, UNIC_EVT_EVICTED, &evt);
		assert_int_equal(evt.hdr.reason, 99);
	}
	rig_run(&er, 1000000);
}

static void events_are_held_back_not_lost(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m[2];
	uint32_t n, w;

	(void)state;
	evict_set_proc(0, 1, 0, UNIC_POLICY_LRU);
	evict_reg_ok(0, N - 4, &m[0]);
	rig_reg(&er, 0, er_pd[0], 4, UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0,
		&m[1]);
	n = fill_ring();
	w = evict_wait_for(1, 4, 0);
	rig_poll(&er);
	assert_int_equal(er.nic.mrs.mr[m[0].mr].state, UNIC_MR_NOTIFIED);
	assert_int_equal(unic_evict_admin(&er.nic.revoke, m[1].mr, m[1].gen),
			 0);
	rig_run(&er, 1000000);
	assert_int_equal(look(&m[1]), -UNIC_EEVICTED);
	assert_int_equal(er.nic.evict.evts_due, 2);
	/* entries are freed before the host reads the event (INV-11) */
	assert_int_equal(er.nic.admission.waiting, 0);
	assert_int_equal(er.nic.tlb.reserved, 4);
	empty_ring(n);
	assert_int_equal(er.nic.evict.evts_due, 0);
	n = 0;
	while (rig_event(&er, &evt))
		n |= 1u << evt.hdr.type;
	assert_int_equal(n, 1u << UNIC_EVT_NOTICE | 1u << UNIC_EVT_EVICTED |
				    1u << UNIC_EVT_GRANTED);
	assert_int_equal(evict_cancel(w), UNIC_ST_NO_WAIT);
}

static void dereg_before_its_evicted_is_told(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;
	uint32_t n;

	(void)state;
	rig_reg(&er, 0, er_pd[0], 4, UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0,
		&m);
	n = fill_ring();
	assert_int_equal(unic_evict_admin(&er.nic.revoke, m.mr, m.gen), 0);
	assert_int_equal(rig_dereg(&er, &m), UNIC_ST_OK);
	empty_ring(n);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.flags), 0);
	assert_int_equal(er.nic.mrs.free, UNIC_MRS);
	assert_int_equal(er.nic.mrs.tombstones, 0);
}

/* PROC_GONE comes after the EVICTED of the process's region. */
static void exit_before_its_evicted_is_told(void **state)
{
	struct unic_cmd_proc_detach c = { .proc = 0 };
	struct unic_evt_mr evt;
	struct rig_mr m;
	uint32_t n;

	(void)state;
	rig_reg(&er, 0, er_pd[0], 4, UNIC_CLASS_MESSAGING, UNIC_REG_LIST, 0,
		&m);
	n = fill_ring();
	assert_int_equal(unic_evict_admin(&er.nic.revoke, m.mr, m.gen), 0);
	assert_int_equal(rig_cmd(&er, UNIC_CMD_PROC_DETACH, &c, NULL),
			 UNIC_ST_PENDING);
	assert_int_equal(er.nic.evict.evts_due, 1);
	assert_int_equal(er.nic.procs.proc[0].mrs, 1);
	empty_ring(n);
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m.mr);
	assert_int_equal(unic_from_le32(evt.flags), 0);
	rig_expect(&er, UNIC_EVT_PROC_GONE, &evt);
	assert_int_equal(er.nic.mrs.free, UNIC_MRS);
	assert_int_equal(er.nic.mrs.tombstones, 0);
}

/* ------------------------------------------------------------- exit */

static void exit_drains_and_forgets(void **state)
{
	struct unic_cmd_proc_detach c = { .proc = 0 };
	struct unic_evt_mr evt;
	struct rig_mr m[4];

	(void)state;
	evict_hoard(0, 4, N / 4, m);
	evict_now(&m[0], UNIC_EVICTED_DEADLINE | UNIC_EVICTED_TOMBSTONE);
	evict_wait_for(0, N, 0);
	evict_drop_events(UNIC_EVT_NOTICE);
	unic_mr_dma_get(&er.nic.memory, (uint16_t)m[1].mr);
	assert_int_equal(rig_cmd(&er, UNIC_CMD_PROC_DETACH, &c, NULL),
			 UNIC_ST_PENDING);
	rig_run(&er, T_NS);
	assert_int_equal(look(&m[1]), -UNIC_ERELEASED);
	evict_none();
	unic_mr_dma_put(&er.nic.memory, (uint16_t)m[1].mr);
	unic_nic_poll(&er.nic); /* in one round */
	rig_expect(&er, UNIC_EVT_EVICTED, &evt);
	rig_expect(&er, UNIC_EVT_PROC_GONE, &evt);
	evict_none();
	assert_int_equal(er.nic.tlb.free, N);
	assert_int_equal(er.nic.mrs.free, UNIC_MRS);
	assert_int_equal(er.nic.admission.waiting, 0);
	assert_int_equal(er.nic.notices.open, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tombstone_answers_evicted),
		TEST(busy_region_is_drained),
		TEST(dereg_of_a_held_region_is_pending),
		TEST(next_command_finds_the_entries),
		TEST(idle_at_its_deadline_is_not_cut),
		TEST(region_ends_on_a_failed_nic),
		TEST(release_keeps_the_deadline),
		TEST(messaging_goes_without_notice),
		TEST(wrong_subjects_are_refused),
		TEST(each_refusal_of_an_offer),
		TEST(offered_region_can_be_asked_for_again),
		TEST(spared_region_is_next),
		TEST(nobody_extends_while_the_entitled_wait),
		TEST(extended_is_as_good_as_gone),
		TEST(offer_after_extend),
		TEST(extended_grace_does_not_delay_the_entitled),
		TEST(events_are_held_back_not_lost),
		TEST(dereg_before_its_evicted_is_told),
		TEST(exit_before_its_evicted_is_told),
		TEST(exit_drains_and_forgets),
		TEST(idle_is_noted_once),
		TEST(failing_says_nothing_else),
		TEST(reset_forgets_what_was_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

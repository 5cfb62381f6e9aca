/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_found.c - defects of waits, victims and process slots that were found by
 * reading the code, each in its shortest form.
 */
#include "revoke/register.h"
#include "rig.h"
#include "unit.h"
#include "revoke/admission.h"

#define N    UNIC_TLB_ENTRIES
#define MS   1000000ull
#define T_NS (20 * MS)

static struct rig r;
static uint32_t pd[3];

static void params(uint32_t deliver_us, uint32_t extend_us)
{
	struct unic_cmd_set_params p = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS), /* watermarks 0 */
		.deliver_us = unic_to_le32(deliver_us),
		.extend_us = unic_to_le32(extend_us),
	};

	assert_int_equal(rig_cmd(&r, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
}

static int setup(void **state)
{
	uint32_t i;

	(void)state;
	rig_up(&r, 1);
	params(0, 0);
	for (i = 0; i < 3; i++) {
		rig_attach(&r, i, 1);
		pd[i] = rig_pd(&r, i);
	}
	rig_run(&r, 50 * MS); /* older than the minimum residence */
	return 0;
}

static uint8_t reg(uint32_t proc, uint32_t pages, struct rig_mr *mr)
{
	return rig_reg(&r, proc, pd[proc], pages, UNIC_CLASS_RDMA,
		       UNIC_REG_LIST, 0, mr);
}

static void reg_ok(uint32_t proc, uint32_t pages, struct rig_mr *mr)
{
	assert_int_equal(reg(proc, pages, mr), UNIC_ST_OK);
}

static uint32_t wait_for(uint32_t proc, uint32_t pages)
{
	struct rig_mr mr;

	assert_int_equal(rig_reg(&r, proc, pd[proc], pages, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &mr),
			 UNIC_ST_PENDING);
	return mr.wait;
}

static void set_quota(uint32_t proc, uint32_t quota)
{
	struct unic_cmd_proc_set c = {
		.proc = unic_to_le32(proc),
		.weight = unic_to_le32(1),
		.quota = unic_to_le32(quota),
	};

	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_SET, &c, NULL), UNIC_ST_OK);
}

static void evict(const struct rig_mr *mr)
{
	struct unic_cmd_mr c = { .mr = unic_to_le32(mr->mr),
				 .gen = unic_to_le32(mr->gen) };

	assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_EVICT, &c, NULL), UNIC_ST_OK);
	rig_poll(&r);
}

static uint8_t detach(uint32_t proc)
{
	struct unic_cmd_proc_detach c = { .proc = unic_to_le32(proc) };

	return rig_cmd(&r, UNIC_CMD_PROC_DETACH, &c, NULL);
}

/* Acknowledges all notices. Returns whether request @wait has ended with
 * @status. */
static bool ended(uint32_t wait, uint8_t status)
{
	union {
		struct unic_evt_hdr hdr;
		struct unic_evt_mr mr;
		struct unic_evt_wait wait;
	} e;
	bool is = false;

	while (rig_event(&r, &e)) {
		if (e.hdr.type == UNIC_EVT_NOTICE)
			rig_ack(&r, &e.mr);
		if (e.hdr.type == UNIC_EVT_GRANTED ||
		    e.hdr.type == UNIC_EVT_WAIT_ENDED)
			is |= unic_from_le32(e.wait.wait) == wait &&
			      unic_from_le32(e.wait.status) == status;
	}
	return is;
}

static bool granted_within(uint32_t wait, uint32_t ms)
{
	bool is = ended(wait, UNIC_ST_OK);

	for (; ms && !is; ms--) {
		rig_run(&r, MS);
		is = ended(wait, UNIC_ST_OK);
	}
	return is;
}

static uint32_t bound_ms(void)
{
	struct unic_cmd_obj c = { .id = unic_to_le32(1) };
	struct unic_cpl_usage u;

	assert_int_equal(rig_cmd(&r, UNIC_CMD_QUERY_USAGE, &c, &u), 0);
	return unic_from_le32(u.bound_us) / 1000;
}

static uint32_t fill_ring(void)
{
	struct unic_evt_mr fill = { .hdr.type = UNIC_EVT_EVICTED,
				    .hdr.reason = 99 };
	uint32_t n = 0;

	while (unic_mbox_event(&r.nic.base, &fill))
		n++;
	return n;
}

static void empty_ring(uint32_t n)
{
	struct unic_evt_mr evt;

	while (n--)
		rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	rig_run(&r, MS);
}

static uint32_t held(uint32_t proc)
{
	return r.nic.share.owner[proc].held;
}

/* ----------------------------------------------- indices and wait slots */

static void hoard_indices(struct rig_mr m[UNIC_MRS])
{
	uint32_t i;

	for (i = 0; i < UNIC_MRS; i++)
		reg_ok(0, 1, &m[i]);
	assert_true(r.nic.tlb.free);
}

/* INV-8 holds for indices of regions: a waiter within its share gets one. */
static void indices_are_recalled(void **state)
{
	struct rig_mr m[UNIC_MRS];
	uint32_t w;

	(void)state;
	hoard_indices(m);
	wait_for(1, 1);
	w = wait_for(1, 1);
	assert_true(granted_within(w, bound_ms()));
	assert_int_equal(held(0), UNIC_MRS - 2); /* no more than needed */
	assert_int_equal(held(1), 2);
}

/* Indices are recalled down to the share and no further: the last request is
 * that of a borrower. */
static void indices_are_recalled_to_the_share(void **state)
{
	struct rig_mr m[UNIC_MRS];
	uint32_t i, k;

	(void)state;
	hoard_indices(m);
	for (i = 0; i <= UNIC_MRS / 2; i++) {
		wait_for(1, 1);
		for (k = 0; k < 60; k++) {
			rig_run(&r, MS);
			ended(0, 0);
		}
	}
	assert_int_equal(held(0), UNIC_MRS / 2);
	assert_int_equal(held(1), UNIC_MRS / 2);
}

/* Many entries are free, but no index: a process with more indices than its
 * share is a borrower, and asked for its own region. */
static void beyond_the_share_of_indices_is_borrowing(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_MRS; i++)
		reg_ok(i < 12, 1, &m); /* 12 of process 1, 20 of 0 */
	rig_run(&r, 50 * MS);
	wait_for(0, 1);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 0);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_WAITER);
}

/* Of two requests the first stays within the share of indices. */
static void demand_counts_indices(void **state)
{
	static const struct unic_bitset nobody;
	struct unic_demand d;
	struct rig_mr m;
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_MRS; i++)
		reg_ok(i < UNIC_MRS / 2 - 1, 1, &m);
	wait_for(1, 1);
	wait_for(1, 1);
	unic_demand_now(&r.nic.revoke, &nobody, &d);
	assert_int_equal(d.urgent, 1);
	assert_int_equal(d.indices, 1);
	assert_int_equal(d.entitled, 1);
}

/* An index freed for a waiter is not given to another request. */
static void freed_index_is_for_the_waiter(void **state)
{
	struct rig_mr m[UNIC_MRS], x;
	uint32_t w;

	(void)state;
	hoard_indices(m);
	w = wait_for(1, 1);
	assert_int_equal(reg(0, 1, &x), UNIC_ST_MR_FULL);
	rig_run(&r, MS);
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, m[0].mr, m[0].gen), 0);
	assert_int_equal(unic_mr_indices(&r.nic.mrs), 1);
	assert_int_equal(reg(0, 1, &x), UNIC_ST_MR_FULL);
	assert_true(granted_within(w, 1));
}

static void slots_are_left_for_others(void **state)
{
	struct rig_mr m;

	(void)state;
	reg_ok(0, N, &m);
	while (rig_reg(&r, 0, pd[0], 1, UNIC_CLASS_RDMA, UNIC_REG_WAIT, 0,
		       &m) == UNIC_ST_PENDING)
		;
	wait_for(1, 1);
	wait_for(2, 1);
}

/* ---------------------------------------------------------------- quotas */

/*
 * A process that waits for its own quota, and has no region to give for it,
 * holds up no other process.
 */
static void capped_process_stops_nobody(void **state)
{
	struct rig_mr m;
	uint32_t i, w;

	(void)state;
	set_quota(2, 16);
	assert_int_equal(rig_reg(&r, 2, pd[2], 12, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &m),
			 UNIC_ST_OK);
	for (i = 0; i < 5; i++)
		reg_ok(0, 8, &m);
	reg_ok(0, 12, &m);
	wait_for(2, 8);
	rig_run(&r, 10 * MS);
	w = wait_for(1, 24); /* a borrower with fewer entries than process 0 */
	assert_true(granted_within(w, 200));
}

static void lowered_quota_ends_requests(void **state)
{
	struct rig_mr m;
	uint32_t i, w;

	(void)state;
	set_quota(0, 32);
	for (i = 0; i < 3; i++)
		reg_ok(0, 4, &m);
	rig_run(&r, 10 * MS);
	w = wait_for(0, 24); /* one of its own regions must go */
	/* at the smaller quota even all of its regions are too few */
	set_quota(0, 16);
	rig_poll(&r);
	assert_true(ended(w, UNIC_ST_TOO_LARGE));
	assert_int_equal(r.nic.admission.waiting, 0);
	rig_run(&r, 100 * MS);
	assert_in_range(held(0), 8, 12);
}

/* ---------------------------------------------------------------- grace */

/* An EXTEND is granted before a request comes that cannot wait until the
 * extended deadline. */
static void extended_then_wanted(uint32_t deliver_us, uint32_t extend_us,
				 struct unic_evt_mr *evt)
{
	uint32_t why, w;
	struct rig_mr m;

	params(deliver_us, extend_us);
	reg_ok(0, N, &m);
	evict(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, evt);
	assert_int_equal(rig_ack(&r, evt), 0);
	assert_int_equal(rig_answer(&r, evt, UNIC_ANSWER_EXTEND, NULL,
				    extend_us, &why),
			 UNIC_ST_OK);
	w = wait_for(1, 8);
	assert_true(granted_within(w, bound_ms()));
}

static void long_extension_keeps_the_bound(void **state)
{
	struct unic_evt_mr evt;

	(void)state;
	extended_then_wanted(0, 1000000, &evt);
}

static void extension_keeps_a_short_bound(void **state)
{
	struct unic_evt_mr evt;

	(void)state;
	extended_then_wanted(10000, 40000, &evt);
}

/* Each notice can be extended for the full time, however long others were. */
static void extension_is_each_notices_own(void **state)
{
	struct unic_evt_mr evt;
	uint32_t i, why;
	struct rig_mr m;

	(void)state;
	params(0, 20000);
	for (i = 0; i < 3; i++) {
		reg_ok(0, 4, &m);
		evict(&m);
		rig_expect(&r, UNIC_EVT_NOTICE, &evt);
		assert_int_equal(rig_ack(&r, &evt), 0);
		assert_int_equal(rig_answer(&r, &evt, UNIC_ANSWER_EXTEND, NULL,
					    20000, &why),
				 UNIC_ST_OK);
		assert_int_equal(rig_dereg(&r, &m), UNIC_ST_OK);
	}
}

/* An extension that ends at the bound is soon enough: no other region is asked
 * for. */
static void extension_that_is_short_enough(void **state)
{
	struct unic_notices *ns = &r.nic.notices;
	struct unic_evt_mr evt;
	struct rig_mr m;
	uint64_t deadline;
	uint32_t why;

	(void)state;
	params(0, 1000000);
	reg_ok(0, N, &m);
	evict(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&r, &evt), 0);
	assert_int_equal(rig_answer(&r, &evt, UNIC_ANSWER_EXTEND, NULL, 500000,
				    &why),
			 UNIC_ST_OK);
	deadline = ns->notice[r.nic.mrs.mr[m.mr].notice].deadline_ns;
	rig_run(&r, deadline - r.port.now_ns -
			    1000ull * (ns->deliver_us + ns->grace_us));
	wait_for(1, 8);
	assert_false(rig_event(&r, &evt));
	rig_run(&r, deadline - r.port.now_ns - 1);
	assert_false(rig_event(&r, &evt));
	rig_run(&r, 1);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
}

/* A waiter shortens an extended grace: the owner gets a new notice, has T from
 * then on, and cannot extend it again. */
static void shortened_grace_is_announced(void **state)
{
	struct unic_evt_mr first, again;
	struct rig_mr m;
	uint32_t why;

	(void)state;
	params(0, 1000000);
	reg_ok(0, N, &m);
	evict(&m);
	rig_expect(&r, UNIC_EVT_NOTICE, &first);
	assert_int_equal(rig_ack(&r, &first), 0);
	assert_int_equal(rig_answer(&r, &first, UNIC_ANSWER_EXTEND, NULL,
				    500000, &why),
			 UNIC_ST_OK);
	wait_for(1, 8);
	rig_expect(&r, UNIC_EVT_NOTICE, &again);
	assert_int_equal(unic_from_le32(again.mr), m.mr);
	assert_int_equal(r.nic.mrs.mr[m.mr].for_proc, 1);
	assert_int_not_equal(unic_from_le32(again.seq),
			     unic_from_le32(first.seq));
	assert_int_equal(rig_ack(&r, &first), UNIC_ST_INVALID);
	rig_run(&r, 30 * MS);
	assert_int_equal(rig_ack(&r, &again), 0);
	assert_int_equal(rig_answer(&r, &again, UNIC_ANSWER_EXTEND, NULL, 1000,
				    &why),
			 UNIC_ST_REFUSED);
	rig_run(&r, T_NS - 1);
	assert_int_equal(r.nic.mrs.mr[m.mr].state, UNIC_MR_NOTIFIED);
	rig_run(&r, 1);
	rig_expect(&r, UNIC_EVT_EVICTED, &again);
}

/* ------------------------------------------------------ full event ring */

/* A notice cannot be answered before it is published. */
static void unpublished_notice_has_no_answer(void **state)
{
	struct unic_evt_mr evt = { 0 };
	struct rig_mr m[2];
	uint32_t n, why;

	(void)state;
	reg_ok(0, 4, &m[0]);
	reg_ok(0, 4, &m[1]);
	n = fill_ring();
	evict(&m[0]);
	evt.mr = unic_to_le32(m[0].mr);
	evt.gen = unic_to_le32(m[0].gen);
	evt.seq = unic_to_le32(r.nic.mrs.mr[m[0].mr].seq);
	assert_int_equal(rig_ack(&r, &evt), UNIC_ST_STATE);
	assert_int_equal(rig_answer(&r, &evt, UNIC_ANSWER_OFFER, &m[1], 0,
				    &why),
			 UNIC_ST_STATE);
	empty_ring(n);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le32(evt.mr), m[0].mr);
	assert_int_equal(rig_ack(&r, &evt), UNIC_ST_OK);
	assert_int_equal(r.nic.evict.evts_due, 0);
}

/* A released region gets no notice. */
static void no_notice_after_release(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr m;
	uint32_t n;

	(void)state;
	reg_ok(0, 8, &m);
	n = fill_ring();
	evict(&m);
	unic_mr_hold(&r.nic.memory, (uint16_t)m.mr);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_PENDING);
	empty_ring(n);
	assert_false(rig_event(&r, &evt));
	unic_mr_unhold(&r.nic.memory, (uint16_t)m.mr);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(r.nic.evict.evts_due, 0);
}

static int token(uint32_t proc, const struct rig_mr *mr, uint32_t ttl_us)
{
	struct unic_token_args t = {
		.pd = (uint16_t)pd[proc],
		.stag = mr->stag,
		.iova = mr->iova,
		.length = 10,
		.ttl_us = ttl_us,
	};
	uint64_t key;

	return unic_token_alloc(&r.nic.memory, &t, &key);
}

/* A process loses a token only if another one gets it: with a full event ring
 * neither happens. */
static void refused_recall_costs_nothing(void **state)
{
	struct rig_mr m[2];
	uint32_t i, n;

	(void)state;
	reg_ok(0, 1, &m[0]);
	reg_ok(1, 1, &m[1]);
	for (i = 0; i < UNIC_TOKENS; i++)
		assert_true(token(0, &m[0], 0) >= 0);
	n = fill_ring();
	for (i = 0; i < 4; i++)
		assert_int_equal(token(1, &m[1], 0), -UNIC_ETOKENFULL);
	assert_int_equal(r.nic.tokens.held[0], UNIC_TOKENS);
	empty_ring(n);
	assert_true(token(1, &m[1], 0) >= 0);
	assert_int_equal(r.nic.tokens.held[0], UNIC_TOKENS - 1);
}

/* ------------------------------------------- the next process of a slot */

static void next_process_hears_no_token_end(void **state)
{
	struct unic_evt_hdr evt[8];
	struct rig_mr m;
	uint32_t n;

	(void)state;
	reg_ok(1, 1, &m);
	assert_true(token(1, &m, 1000) >= 0);
	n = fill_ring();
	rig_run(&r, 2 * MS); /* the token expires, and the event ring is full */
	assert_int_equal(r.nic.tokens.evts_due, 1);
	assert_int_equal(detach(1), UNIC_ST_OK);
	rig_attach(&r, 1, 1);
	empty_ring(n);
	assert_false(rig_event(&r, evt));
	assert_int_equal(r.nic.tokens.evts_due, 0);
	pd[1] = rig_pd(&r, 1);
	reg_ok(1, 1, &m);
	for (n = 0; n < UNIC_TOKENS; n++) /* no token index is lost */
		assert_true(token(1, &m, 0) >= 0);
}

static void next_process_has_clean_accounts(void **state)
{
	struct rig_mr m;
	uint32_t w;

	(void)state;
	reg_ok(0, N, &m);
	w = wait_for(1, 8);
	assert_true(granted_within(w, 100));
	assert_int_equal(r.nic.evict.evictions[0], 1);
	assert_int_equal(r.nic.evict.late[0], 1);
	assert_true(r.nic.admission.longest_us[1]);
	assert_int_equal(detach(0), UNIC_ST_OK);
	assert_int_equal(detach(1), UNIC_ST_OK);
	assert_int_equal(r.nic.evict.evictions[0], 0);
	assert_int_equal(r.nic.evict.late[0], 0);
	assert_int_equal(r.nic.admission.longest_us[1], 0);
}

/* Entries freed for a process that has left are not reserved for the next one
 * of its slot. */
static void next_process_inherits_no_promise(void **state)
{
	struct rig_mr m;

	(void)state;
	reg_ok(0, N, &m);
	wait_for(1, 8);
	assert_int_equal(r.nic.mrs.mr[m.mr].for_proc, 1);
	assert_int_equal(detach(1), UNIC_ST_OK);
	assert_int_equal(r.nic.mrs.mr[m.mr].for_proc, UNIC_OWNER_NIL);
	rig_attach(&r, 1, 1);
	pd[1] = rig_pd(&r, 1);
	wait_for(1, N); /* a borrower */
	ended(0, 0);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_OK);
	assert_int_equal(r.nic.promises.to[1], 0);
}

/* ------------------------------------------------------------- entropy */

/* The first STag of a NIC without an entropy source, to which the host gave
 * bytes @gift. */
static uint32_t stag_after(uint8_t gift)
{
	struct unic_cmd_entropy e;
	struct rig_mr m;

	rig_up(&r, 1);
	r.port.no_entropy = true;
	r.port.now_ns = 5 * MS;
	rig_reset(&r);
	r.port.now_ns = 6 * MS;
	memset(&e, 0, sizeof(e));
	memset(e.bytes, gift, sizeof(e.bytes));
	assert_int_equal(rig_cmd(&r, UNIC_CMD_ENTROPY, &e, NULL), UNIC_ST_OK);
	rig_attach(&r, 0, 1);
	pd[0] = rig_pd(&r, 0);
	reg_ok(0, 1, &m);
	return m.stag;
}

static void entropy_of_the_host_reaches_stags(void **state)
{
	(void)state;
	assert_int_not_equal(stag_after(1), stag_after(2));
}

/* New entropy does not change the key of STags once a region was made: its STag
 * could come again. */
static void no_new_key_while_stags_are_out(void **state)
{
	struct rig_mr m;
	uint64_t key;

	(void)state;
	reg_ok(0, 1, &m);
	assert_int_equal(rig_dereg(&r, &m), UNIC_ST_OK);
	key = r.nic.stags.key[0];
	unic_mr_rekey(&r.nic.memory);
	assert_true(r.nic.stags.key[0] == key);
}

/* Without entropy the NIC makes STags, but no tokens. */
static void no_secret_without_entropy(void **state)
{
	struct rig_mr m;

	(void)state;
	r.nic.random.seeded = false;
	r.port.no_entropy = true;
	rig_reset(&r);
	rig_attach(&r, 0, 1);
	pd[0] = rig_pd(&r, 0);
	reg_ok(0, 1, &m);
	assert_int_equal(token(0, &m, 0), -UNIC_EENTROPY);
}

static void reset_keeps_entropy(void **state)
{
	struct rig_mr m;

	(void)state;
	assert_true(r.nic.random.seeded);
	r.port.no_entropy = true;
	rig_reset(&r);
	assert_true(r.nic.random.seeded);
	rig_attach(&r, 0, 1);
	pd[0] = rig_pd(&r, 0);
	reg_ok(0, 1, &m);
	assert_true(token(0, &m, 0) >= 0); /* tokens can be made */
}

/* -------------------------------------------------------------- tokens */

static void nobody_cancels_what_never_was(void **state)
{
	uint32_t end, placed;

	(void)state;
	assert_int_equal(unic_token_cancel(&r.nic.memory, 0xffff, 0, 0, false,
					   &end, &placed),
			 -UNIC_ENOTOKEN);
	assert_int_equal(unic_token_cancel(&r.nic.memory, 0, 0, 0, false, &end,
					   &placed),
			 -UNIC_ENOTOKEN);
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(indices_are_recalled),
		T(indices_are_recalled_to_the_share),
		T(beyond_the_share_of_indices_is_borrowing),
		T(demand_counts_indices),
		T(freed_index_is_for_the_waiter),
		T(slots_are_left_for_others),
		T(capped_process_stops_nobody),
		T(lowered_quota_ends_requests),
		T(long_extension_keeps_the_bound),
		T(extension_keeps_a_short_bound),
		T(extension_is_each_notices_own),
		T(extension_that_is_short_enough),
		T(shortened_grace_is_announced),
		T(unpublished_notice_has_no_answer),
		T(no_notice_after_release),
		T(refused_recall_costs_nothing),
		T(next_process_hears_no_token_end),
		T(next_process_has_clean_accounts),
		T(next_process_inherits_no_promise),
		T(entropy_of_the_host_reaches_stags),
		T(no_new_key_while_stags_are_out),
		T(no_secret_without_entropy),
		T(reset_keeps_entropy),
		T(nobody_cancels_what_never_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

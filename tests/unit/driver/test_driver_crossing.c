/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_crossing.c - events of the NIC that cross the answers to what
 * the host driver asked: evictions, grants, ends of processes. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"

/* An event that comes before the completions of what was asked. */
static void event_first(struct fake *f, void *evt)
{
	struct unic_evt_hdr *hdr = evt;

	hdr->epoch = unic_to_le32(f->epoch);
	memcpy(f->bar + UNIC_BAR_EVT_OFF + f->evt_tail % 512 * 64, evt, 64);
	idx(f)->evt_tail = unic_to_le32(++f->evt_tail);
	unic_host_poll(f->host);
}

static void eviction_before_the_completion(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	ask(f, UNIC_CTL_MR_DEREG, &r);
	evt.hdr.reason = UNIC_WHY_DEREG;
	event_first(f, &evt);
	assert_int_equal(f->os.replies, 0); /* the client has no reply yet */
	settle(f);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(f->host->objects.live, 1); /* the PD */
	fake_delete(f);
}

static void qp_gone_before_the_completion(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_obj gone = { .hdr = { .type = UNIC_EVT_QP_GONE },
				     .id = unic_to_le32(5) };
	struct unic_hqp *qp;
	struct unic_ctl_obj r = { 0 };

	(void)state;
	hello(f);
	qp = unic_obj_alloc(&f->host->objects, UNIC_OBJ_QP, f->client.slot,
			    sizeof(*qp));
	qp->qpn = 5;
	r.id = unic_to_le32(qp->obj.id);
	f->answer[UNIC_CMD_QP_DESTROY] = UNIC_ST_PENDING;
	ask(f, UNIC_CTL_QP_DESTROY, &r);
	event_first(f, &gone);
	assert_int_equal(f->os.replies, 0);
	settle(f);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(f->host->objects.live, 0);
	fake_delete(f);
}

/*
 * A process that connects a queue pair which is being destroyed got a connection
 * whose request was freed (found by fuzz_driver).
 */
static void connect_of_a_dying_qp_is_refused(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_ctl_connect c = { .ipv4 = unic_to_le32(0x0a000002) };
	struct unic_hqp *qp;

	(void)state;
	hello(f);
	qp = unic_obj_alloc(&f->host->objects, UNIC_OBJ_QP, f->client.slot,
			    sizeof(*qp));
	r.id = unic_to_le32(qp->obj.id);
	c.qp = r.id;
	ask(f, UNIC_CTL_QP_DESTROY, &r);
	ask(f, UNIC_CTL_CONNECT, &c);
	assert_int_equal(reply_status(f), UNIC_ST_STATE);
	settle(f);
	assert_int_equal(f->host->objects.live, 0);
	unic_host_plug(f->host, false);
	fake_delete(f);
}

static void proc_gone_before_the_completion(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_obj gone = { .hdr = { .type = UNIC_EVT_PROC_GONE } };
	uint32_t audits = f->host->audits;

	(void)state;
	hello(f);
	unic_host_client_gone(f->host, &f->client);
	event_first(f, &gone);
	assert_int_equal(f->os.quiet, 0);
	assert_int_equal(f->host->audits, audits + 1);
	settle(f);
	assert_int_equal(f->os.quiet, 1);
	fake_delete(f);
}

/* The NIC granted it already, so WAIT_CANCEL comes too late; the MR_DEREG that
 * follows waits for the region and takes it. */
static void dereg_crosses_the_grant(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_ctl_wait_cancel c = { 0 };
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };
	struct unic_evt_wait evt = granted(id);

	(void)state;
	f->answer[UNIC_CMD_WAIT_CANCEL] = UNIC_ST_NO_WAIT;
	assert_int_equal(request(f, UNIC_CTL_WAIT_CANCEL, &c), UNIC_ST_NO_WAIT);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), -1);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), UNIC_ST_BUSY);
	f->os.replies = 0;
	event(f, &evt);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(f->host->proc[0].regions, 0);
	assert_int_equal(pinned(f), 0);
	assert_int_equal(f->host->objects.live, 1); /* the PD */
	fake_delete(f);
}

/* The NIC grants the wait in the round in which the process leaves: the driver
 * reads completions before events, so the region is gone. That is no fault of the
 * NIC. */
static void grant_is_heard_after_the_end(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_wait evt = granted(waiting(f));
	uint32_t audits = f->host->audits;

	(void)state;
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->host->objects.live, 0);
	event(f, &evt);
	assert_int_equal(f->host->audits, audits);
	fake_delete(f);
}

/* The pages were contiguous at the request, and are not at the grant: the NIC
 * would write to the pages between. */
static void frames_are_exchanged_under_a_wait(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_frames large = { .va = unic_to_le64(VA),
					 .pages = unic_to_le32(16),
					 .page_shift = 16 },
			       small = large;
	struct unic_cpl_mr_reg cpl = { .wait = unic_to_le32(4) };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(65536),
				       .flags = UNIC_CTL_REG_WAIT |
						UNIC_CTL_REG_ASYNC };
	struct unic_ctl_plain pd = { 0 };
	struct unic_upcall_wait up;
	struct unic_evt_wait evt;

	(void)state;
	info(f)->waits = unic_to_le32(8);
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &large), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_PENDING);
	evt = granted(reply_u32(f, 16));
	small.page_shift = 0;
	assert_int_equal(request(f, UNIC_CTL_FRAMES_FREE, &small), 0);
	small.page_shift = 12;
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &small), 0);
	event(f, &evt);
	assert_int_equal(f->given[UNIC_CMD_MR_FILL], 0);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 1);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_WAIT_ENDED);
	assert_int_equal(unic_from_le32(up.status), UNIC_CTL_ST_NOT_MAPPED);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

static void dereg_of_a_waiting_region_cancels(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { .id = unic_to_le32(waiting(f)) };

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(f->host->proc[0].waits, 0);
	assert_int_equal(f->host->proc[0].regions, 0);
	fake_delete(f);
}

/* A NIC that grants what it cancels: the grant counts, nothing is freed while
 * the NIC still has it. */
static void cancelled_and_granted(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f), audits;
	struct unic_ctl_wait_cancel c = { 0 };
	struct unic_evt_wait evt = granted(id);

	(void)state;
	audits = f->host->audits;
	ask(f, UNIC_CTL_WAIT_CANCEL, &c);
	event_first(f, &evt);
	settle(f);
	assert_int_equal(f->host->audits, audits + 1);
	assert_int_equal(f->host->proc[0].regions, 1);
	assert_int_equal(f->host->proc[0].waits, 0);
	fake_delete(f);
}

/* MR_ALLOC never waits: a cancel of it is refused. */
static void cancel_of_what_cannot_wait(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_alloc a = { .kind = UNIC_FORM_WINDOW2 };
	struct unic_ctl_wait_cancel c = { 0 };
	uint32_t at = 0;
	const struct unic_obj *pd;

	(void)state;
	region(f, 4);
	pd = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_PD,
			   UNIC_OBJ_ANYONE);
	a.pd = unic_to_le32(pd->id);
	ask(f, UNIC_CTL_MR_ALLOC, &a);
	ask(f, UNIC_CTL_WAIT_CANCEL, &c);
	settle(f);
	assert_int_equal(f->os.replies, 2);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eviction_before_the_completion),
		cmocka_unit_test(qp_gone_before_the_completion),
		cmocka_unit_test(connect_of_a_dying_qp_is_refused),
		cmocka_unit_test(proc_gone_before_the_completion),
		cmocka_unit_test(dereg_crosses_the_grant),
		cmocka_unit_test(grant_is_heard_after_the_end),
		cmocka_unit_test(frames_are_exchanged_under_a_wait),
		cmocka_unit_test(dereg_of_a_waiting_region_cancels),
		cmocka_unit_test(cancelled_and_granted),
		cmocka_unit_test(cancel_of_what_cannot_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

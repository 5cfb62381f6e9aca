/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_event.c - upcalls that the library reads, and its resync after
 * some were lost.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "unit.h"

#include "libunic_rig.h"

static void upcalls_change_regions(void **state)
{
	struct unic_event ev;
	struct unic_mr *mr;
	struct rig r;
	struct pollfd pfd = { .events = POLLIN };

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN);
	pfd.fd = unic_event_fd(r.ctx);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_true(unic_mr_usable(mr, 1000));
	assert_int_equal(unic_mr_life(mr), UNIC_MR_ASKED);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_NOTICE);
	assert_ptr_equal(ev.mr, mr);
	unic_ack_event(&ev);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	upcall_mr(UNIC_UP_EVICTED, drv.last_user + (1u << 16), 0);
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN); /* stale */
	upcall_mr(UNIC_UP_EVICTED, drv.last_user, 0);
	assert_false(unic_mr_usable(mr, 0));
	/* unic_dereg_mr() drops the queued event. */
	assert_int_equal(unic_dereg_mr(mr), 0);
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN);
	rig_down(&r);
}

/* The question for an idle region changes nothing of it. */
static void idle_region_stays_live(void **state)
{
	struct unic_event ev;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	upcall_mr(UNIC_UP_IDLE, drv.last_user + (1u << 16), 0); /* stale */
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN);
	upcall_mr(UNIC_UP_IDLE, drv.last_user, 0);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_IDLE);
	assert_ptr_equal(ev.mr, mr);
	unic_ack_event(&ev);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_LIVE);
	assert_true(unic_mr_usable(mr, UINT32_MAX));
	upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
	upcall_mr(UNIC_UP_IDLE, drv.last_user, 0); /* of before the notice */
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_NOTICE);
	unic_ack_event(&ev);
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_ASKED);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* An upcall of a later driver: the library reads and ignores it. */
#define UP_UNKNOWN 200

static void bad_doorbell_is_told(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0x10203) };
	struct unic_event ev;
	struct rig r;

	(void)state;
	rig_up(&r);
	upcall(&up, UNIC_UP_DB_ERROR);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_DB_ERROR);
	assert_int_equal(ev.status, 0x10203);
	unic_ack_event(&ev);
	rig_down(&r);
}

/* Without the ids of its tokens, a batch that failed cancels none: an id could
 * be that of another token. */
static void tokens_that_are_not_known(void **state)
{
	struct unic_pay_attr attr[2];
	struct unic_pay_token token[2];
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	attr[0] = attr[1] = (struct unic_pay_attr){ .mr = mr,
						    .addr = mr->addr,
						    .length = 64 };
	assert_int_equal(unic_alloc_tokens(r.pd, attr, 2, token), -EPROTO);
	assert_int_equal(drv.batches, 1);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* If one allocation of a batch is refused, all its tokens are cancelled, also
 * those allocated after the refusal. */
static void tokens_of_a_batch_go_together(void **state)
{
	struct unic_pay_attr attr[4];
	struct unic_pay_token token[4];
	struct unic_mr *mr;
	struct rig r;
	uint32_t i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	for (i = 0; i < 4; i++)
		attr[i] = (struct unic_pay_attr){ .mr = mr,
						  .addr = mr->addr,
						  .length = 64 };
	drv.in_batches = true;
	assert_int_equal(unic_alloc_tokens(r.pd, attr, 2, token), 0);
	assert_int_equal(token[0].id, 1);
	assert_int_equal(token[1].id, 2);
	assert_int_equal(drv.cancelled, 0);
	drv.tokens = 0;
	assert_int_not_equal(unic_alloc_tokens(r.pd, attr, 4, token), 0);
	assert_int_equal(drv.cancelled, 0x124);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* The event descriptor is readable as long as there is an event. */
static void queued_events_keep_it_readable(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	struct pollfd pfd = { .events = POLLIN };
	struct unic_event ev;
	unsigned int i;
	struct rig r;

	(void)state;
	rig_up(&r);
	pfd.fd = unic_event_fd(r.ctx);
	for (i = 0; i < 3; i++)
		upcall(&up, UNIC_UP_DB_ERROR);
	for (i = 0; i < 3; i++) {
		assert_int_equal(poll(&pfd, 1, 0), 1);
		assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	}
	assert_int_equal(poll(&pfd, 1, 0), 0);
	rig_down(&r);
}

/* Records that are torn, as many as there is time for: on a machine that has other work,
 * each takes two changes of threads. */
#define TEARS	  80000u
#define TEARING_S 5
#define TEAR_STEP (2 * UNIC_UPCALLS) /* the same place of the ring */

static struct {
	uint32_t n; /* the record that is written now, atomic */
	bool over;
} tearing;

static void tear(uint32_t seq, uint32_t mark)
{
	struct unic_upcall_ring *ring = (void *)(drv.slot + 2 * PAGE);
	uint8_t *at = ring->record[(seq - 1) % UNIC_UPCALLS];
	struct unic_upcall_mr up = { .hdr = { .type = UNIC_UP_NOTICE },
				     .user = unic_to_le32(drv.last_user),
				     .notice_seq = unic_to_le32(mark),
				     .entries = unic_to_le32(mark),
				     .rank = unic_to_le32(mark),
				     .pain = unic_to_le32(mark),
				     .deadline_ns = unic_to_le64(mark) };

	__atomic_store_n((uint32_t *)at, 0, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(at + 4, (uint8_t *)&up + 4, 60);
	__atomic_store_n((uint32_t *)at, unic_to_le32(seq), __ATOMIC_RELEASE);
}

/* A driver that overwrites the record at which the reader is, after a varying
 * delay. As with a real driver, no sequence number is used twice: a record that
 * is read between two laps is whole. */
static void *write_over(void *arg)
{
	uint32_t n, last = 0, wait;

	(void)arg;
	while (!__atomic_load_n(&tearing.over, __ATOMIC_ACQUIRE)) {
		n = __atomic_load_n(&tearing.n, __ATOMIC_ACQUIRE);
		if (n == last) {
			sched_yield();
			continue;
		}
		last = n;
		tear(n, 1);
		for (wait = n / TEAR_STEP % 256; wait; wait--)
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
		tear(n + UNIC_UPCALLS, 2);
	}
	return NULL;
}

/* Takes events until record @n is read, or found to be overwritten. Returns
 * whether that came, within TEARING_S. */
static bool read_one(struct rig *r, uint32_t n)
{
	time_t until = time(NULL) + TEARING_S;
	struct unic_event ev;
	uint32_t tries = 0;

	while (r->ctx->upcall_next == n) {
		if (++tries % 64 == 0 && time(NULL) > until)
			return false;
		if (tries % 64 == 0)
			sched_yield();
		if (unic_get_event(r->ctx, &ev))
			continue;
		if (ev.type == UNIC_EV_NOTICE && ev.seq) {
			assert_int_equal(ev.seq, 1);
			assert_int_equal(ev.entries, 1);
			assert_int_equal(ev.rank, 1);
			assert_int_equal(ev.pain, 1);
			assert_int_equal(ev.deadline_ns, 1);
		}
		unic_ack_event(&ev);
	}
	return true;
}

static void torn_upcalls_are_not_believed(void **state)
{
	struct unic_event ev;
	struct unic_mr *mr;
	pthread_t thread;
	bool moved = true;
	struct rig r;
	time_t until;
	uint32_t i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	drv.region_state = UNIC_CTL_R_ACTIVE;
	while (!unic_get_event(r.ctx, &ev))
		unic_ack_event(&ev);
	tearing.over = false;
	tearing.n = 0;
	pthread_create(&thread, NULL, write_over, NULL);
	until = time(NULL) + TEARING_S;
	for (i = 1; moved && i <= TEARS && time(NULL) < until; i++) {
		uint32_t n = i * TEAR_STEP;

		r.ctx->upcall_next = n;
		drv.upcalls = n + 1;
		__atomic_store_n(&tearing.n, n + 1, __ATOMIC_RELEASE);
		moved = read_one(&r, n);
	}
	__atomic_store_n(&tearing.over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	assert_true(moved);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

static void lost_upcalls_are_made_good(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	struct unic_event ev;
	struct unic_mr *mr;
	struct rig r;
	unsigned int i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	for (i = 0; i < 2 * UNIC_UPCALLS; i++)
		upcall(&up, UP_UNKNOWN);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_EVICTED);
	assert_int_equal(drv.resyncs, 1);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_GONE);
	unic_ack_event(&ev);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

static void has_object(uint32_t type, uint32_t id, uint32_t user,
		       uint32_t state, uint32_t of)
{
	drv.object[drv.objects++] = (struct unic_ctl_object){
		.id = unic_to_le32(id),
		.type = unic_to_le32(type),
		.user = unic_to_le32(user),
		.state = unic_to_le32(state),
		.of = unic_to_le32(of),
	};
}

/* How many events of each type there are now. */
static unsigned int events(struct rig *r, unsigned int *of_type)
{
	struct unic_event ev;
	unsigned int n = 0;

	memset(of_type, 0, 16 * sizeof(*of_type));
	while (!unic_get_event(r->ctx, &ev)) {
		of_type[ev.type]++;
		n++;
		unic_ack_event(&ev);
	}
	return n;
}

/*
 * A thousand notices overrun the upcall ring. The resync then reports a notice,
 * the errors of a queue pair and a completion queue, and two connections, once
 * each.
 */
static void a_storm_is_survived(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	unsigned int i, of_type[16];
	struct unic_object list[8];
	struct unic_listener *l;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	assert_int_equal(unic_listen(r.ctx, 5, &l), 0);
	for (i = 0; i < 1000; i++)
		upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
	drv.region_state = UNIC_CTL_R_NOTIFIED;
	has_object(UNIC_CTL_O_QP, r.qp->id, r.qp->db, UNIC_QPS_ERR, 0);
	has_object(UNIC_CTL_O_CQ, r.cq->id, r.cq->db, 1, 0);
	has_object(UNIC_CTL_O_CONN, 900, 0, UNIC_CTL_CONN_REQUESTED, l->id);
	has_object(UNIC_CTL_O_CONN, 901, r.qp->db, UNIC_CTL_CONN_CLOSED,
		   r.qp->id);
	events(&r, of_type);
	assert_int_equal(drv.resyncs, 1); /* the gap was seen, once */
	assert_int_equal(of_type[UNIC_EV_NOTICE], 1);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_ASKED);
	assert_int_equal(of_type[UNIC_EV_QP_ERROR], 1);
	assert_int_equal(of_type[UNIC_EV_CQ_ERROR], 1);
	assert_int_equal(of_type[UNIC_EV_CONNECT], 1);
	assert_int_equal(of_type[UNIC_EV_DISCONNECTED], 1);
	assert_int_equal(of_type[UNIC_EV_RESYNC], 1);
	assert_int_equal(unic_list_objects(r.ctx, list, 8), 4);
	assert_int_equal(list[2].id, 900);
	assert_int_equal(list[3].of, r.qp->id);
	/* a second overrun: no state is reported again */
	for (i = 0; i < 1000; i++)
		upcall(&up, UP_UNKNOWN);
	assert_int_equal(events(&r, of_type), 1);
	assert_int_equal(of_type[UNIC_EV_RESYNC], 1);
	assert_int_equal(drv.resyncs, 2);
	assert_int_equal(unic_unlisten(l), 0);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* Loses upcalls, so that the library asks for all objects: @of_type as events(). */
static void lose_upcalls(struct rig *r, unsigned int *of_type)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	unsigned int i;

	for (i = 0; i < 2 * UNIC_UPCALLS; i++)
		upcall(&up, UP_UNKNOWN);
	events(r, of_type);
	assert_int_equal(of_type[UNIC_EV_RESYNC], 1);
}

/* A queue pair that is in ERR because its connection ended gives no QP_ERROR;
 * one that is in ERR after a RESET does. */
static void end_of_a_connection_is_no_error(void **state)
{
	struct unic_upcall_conn up = { .hdr.id = unic_to_le32(901) };
	struct unic_qp_mod to_reset = { .state = UNIC_QPS_RESET };
	unsigned int of_type[16], i;
	struct rig r;

	(void)state;
	rig_up(&r);
	up.user = unic_to_le32(r.qp->db);
	up.qp = unic_to_le32(r.qp->id);
	has_object(UNIC_CTL_O_QP, r.qp->id, r.qp->db, UNIC_QPS_ERR, 0);
	for (i = 0; i < 2; i++) {
		if (i) {
			r.qp->conn = 901;
			assert_int_equal(unic_disconnect(r.qp), 0);
		} else {
			upcall(&up, UNIC_UP_DISCONNECTED);
			events(&r, of_type);
			assert_int_equal(of_type[UNIC_EV_DISCONNECTED], 1);
		}
		lose_upcalls(&r, of_type);
		assert_int_equal(of_type[UNIC_EV_QP_ERROR], 0);
		assert_int_equal(unic_modify_qp(r.qp, &to_reset), 0);
		lose_upcalls(&r, of_type);
		assert_int_equal(of_type[UNIC_EV_QP_ERROR], 1);
		assert_int_equal(unic_modify_qp(r.qp, &to_reset), 0);
	}
	rig_down(&r);
}

/* A connection request that ended before the process read it gives no event: a
 * peer cannot fill the list of events. */
static void requests_that_ended_are_not_told(void **state)
{
	struct unic_upcall_conn up = { 0 };
	struct unic_listener *l;
	struct unic_event ev;
	unsigned int i;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_listen(r.ctx, 5, &l), 0);
	up.listener = unic_to_le32(l->id);
	for (i = 0; i < 4; i++) {
		up.hdr.id = unic_to_le32(900 + i);
		upcall(&up, UNIC_UP_CONN_REQUEST);
	}
	up.listener = unic_to_le32(0);
	up.hdr.id = unic_to_le32(901);
	upcall(&up, UNIC_UP_DISCONNECTED);
	up.hdr.id = unic_to_le32(903);
	upcall(&up, UNIC_UP_DISCONNECTED);
	for (i = 0; i < 4; i += 2) {
		assert_int_equal(unic_get_event(r.ctx, &ev), 0);
		assert_int_equal(ev.type, UNIC_EV_CONNECT);
		assert_int_equal(ev.conn, 900 + i);
		unic_ack_event(&ev);
	}
	assert_int_equal(unic_get_event(r.ctx, &ev), -EAGAIN);
	assert_int_equal(unic_unlisten(l), 0);
	rig_down(&r);
}

static void the_upcall_after_a_resync_is_read(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	struct unic_event ev;
	struct unic_mr *mr;
	struct rig r;
	unsigned int i;

	(void)state;
	rig_up(&r);
	mr = reg(&r, unic_alloc(r.ctx, PAGE, PAGE), PAGE);
	drv.region_state = UNIC_CTL_R_ACTIVE;
	for (i = 0; i < UNIC_UPCALLS + 7; i++)
		upcall(&up, UP_UNKNOWN);
	/* The fake driver reports this region only, not those of the queues. */
	while (!unic_get_event(r.ctx, &ev)) {
		assert_ptr_not_equal(ev.mr, mr);
		unic_ack_event(&ev);
	}
	assert_int_equal(drv.resyncs, 1);
	upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_NOTICE);
	assert_int_equal(drv.resyncs, 1);
	unic_ack_event(&ev);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* A resync that reports no region ends each waiting registration. */
static void lost_ends_are_told(void **state)
{
	struct unic_upcall_obj up = { .detail = unic_to_le32(0) };
	struct unic_mr_attr attr = { .length = PAGE,
				     .flags = UNIC_MR_WAIT | UNIC_MR_ASYNC };
	struct unic_event ev;
	struct unic_mr *live;
	struct unic_mr *mr;
	struct rig r;
	unsigned int i;

	(void)state;
	rig_up(&r);
	attr.addr = unic_alloc(r.ctx, PAGE, PAGE);
	live = reg(&r, attr.addr, PAGE);
	drv.reg_status = UNIC_ST_PENDING;
	assert_int_equal(unic_reg_mr(r.pd, &attr, &mr), 0);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_WAITING);
	drv.region_state = 0;
	for (i = 0; i < UNIC_UPCALLS + 7; i++)
		upcall(&up, UP_UNKNOWN);
	/* The regions of both queues are evicted, too. */
	for (i = 0; !unic_get_event(r.ctx, &ev); i++) {
		if (ev.type == UNIC_EV_RESYNC)
			break; /* the last one */
		assert_int_equal(ev.type == UNIC_EV_WAIT_ENDED, ev.mr == mr);
		if (ev.mr == mr)
			assert_int_equal(ev.status, UNIC_ST_NO_WAIT);
		else
			assert_int_equal(ev.type, UNIC_EV_EVICTED);
		unic_ack_event(&ev);
	}
	assert_int_equal(i, 4);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_GONE);
	assert_int_equal(unic_mr_life(live), UNIC_MR_GONE);
	assert_int_equal(unic_dereg_mr(mr), 0);
	assert_int_equal(unic_dereg_mr(live), 0);
	drv.reg_status = UNIC_ST_OK;
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(upcalls_change_regions),
		WITH_DRIVER(idle_region_stays_live),
		WITH_DRIVER(bad_doorbell_is_told),
		WITH_DRIVER(tokens_that_are_not_known),
		WITH_DRIVER(queued_events_keep_it_readable),
		WITH_DRIVER(tokens_of_a_batch_go_together),
		WITH_DRIVER(torn_upcalls_are_not_believed),
		WITH_DRIVER(lost_upcalls_are_made_good),
		WITH_DRIVER(a_storm_is_survived),
		WITH_DRIVER(end_of_a_connection_is_no_error),
		WITH_DRIVER(requests_that_ended_are_not_told),
		WITH_DRIVER(the_upcall_after_a_resync_is_read),
		WITH_DRIVER(lost_ends_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_pool.c - pools of fast registrations: how many they keep, and what they
 * give back.
 */
#include <unistd.h>

#include "unit.h"

#include "libunic_rig.h"
#include "fastpool.h"

#define MAX 64u

/* The driver's fast registrations; under drv.lock. */
static struct {
	uint32_t allocs, tries;
	bool full;
	uint32_t user[MAX]; /* by number of the registration */
} fast;

static int play(uint16_t op, const uint8_t *in, size_t len, uint8_t *out)
{
	const struct unic_ctl_mr_alloc *req = (const void *)in;
	struct unic_ctl_mr_reg_reply *reply = (void *)out;

	(void)len;
	if (op != UNIC_CTL_MR_ALLOC)
		return -1;
	fast.tries++;
	if (fast.full) {
		reply->hdr.status = unic_to_le16(UNIC_ST_TLB_FULL);
		return 0;
	}
	assert_int_equal(req->kind, UNIC_FORM_FAST);
	fast.user[fast.allocs % MAX] = unic_from_le32(req->user);
	reply->id = unic_to_le32(1000 + fast.allocs++);
	reply->stag = unic_to_le32(0x5500 + fast.allocs * 0x100);
	return 0;
}

static void pool_up(struct rig *r, struct unic_fast_pool **pool)
{
	memset(&fast, 0, sizeof(fast));
	drv.first = play;
	rig_up(r);
	if (pool)
		assert_int_equal(unic_fast_pool_create(r->pd, 4, PAGE, pool),
				 0);
}

/* Uses @n registrations of @pool at once. */
static void use(struct unic_fast_pool *pool, uint32_t n)
{
	struct unic_mr *mr[MAX];
	uint32_t i;

	for (i = 0; i < n; i++)
		assert_int_equal(unic_fast_pool_get(pool, 0, &mr[i]), 0);
	for (i = 0; i < n; i++)
		unic_fast_pool_put(pool, mr[i]);
}

/* What the driver does not end, because its NIC is away, is nobody's: the domain of the
 * pool can end. */
static void nothing_is_left_beside_an_absent_nic(void **state)
{
	struct unic_fast_pool *pool;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	pool_up(&r, &pool);
	use(pool, 3);
	assert_int_equal(unic_fast_pool_get(pool, 0, &mr), 0);
	drv.dereg_status = UNIC_CTL_ST_NO_NIC;
	assert_int_equal(unic_fast_pool_trim(pool), 2);
	unic_fast_pool_put(pool, mr);
	unic_fast_pool_destroy(pool);
	assert_int_equal(drv.deregs, 3);
	drv.dereg_status = 0;
	rig_down(&r);
}

/* The NIC asks for registration @n, from 0, with @us left. */
static void ask_for(struct rig *r, uint32_t n, uint64_t us)
{
	struct unic_event ev;

	upcall_mr(UNIC_UP_NOTICE, fast.user[n], unic_now_ns() + us * 1000);
	while (!unic_get_event(r->ctx, &ev))
		unic_ack_event(&ev);
}

static uint64_t after(uint32_t periods)
{
	return (1 + periods) * UNIC_POOL_PERIOD_NS;
}

/* As many as were used at once, a quarter of that, and one more; what is not used goes,
 * down to none. */
static void size_follows_load(void **state)
{
	struct unic_bm_stats s = { 0 };
	struct unic_fast_pool *pool;
	struct rig r;
	uint32_t i;

	(void)state;
	pool_up(&r, &pool);
	unic_fast_pool_run(pool, after(0), &s);
	assert_int_equal(fast.allocs, 0);
	use(pool, 8);
	assert_int_equal(fast.allocs, 8);
	unic_fast_pool_run(pool, after(0), &s); /* the period is not over */
	assert_int_equal(fast.allocs, 8);
	unic_fast_pool_run(pool, after(1), &s);
	assert_int_equal(fast.allocs, 11);
	assert_int_equal(s.fast_made, 3);
	use(pool, 11); /* more than ever, and all are there */
	assert_int_equal(fast.allocs, 11);
	assert_int_equal(s.fast_hits, 11);
	assert_int_equal(s.fast_misses, 8);
	unic_fast_pool_run(pool, after(2), &s);
	assert_int_equal(fast.allocs, 14);
	for (i = 3; i < 6; i++)
		unic_fast_pool_run(pool, after(i), &s);
	assert_in_range(drv.deregs, 1, 9); /* one period is not the end */
	for (; i < 60; i++)
		unic_fast_pool_run(pool, after(i), &s);
	assert_int_equal(drv.deregs, 14);
	assert_int_equal(s.fast_trimmed, 14);
	assert_int_equal(fast.allocs, 14);
	unic_fast_pool_destroy(pool);
	rig_down(&r);
}

/* What is idle and asked for goes at once, and another one is made when the NIC has had
 * a period for the room. */
static void wanted_ones_are_made_anew(void **state)
{
	struct unic_bm_stats s = { 0 };
	struct unic_fast_pool *pool;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	pool_up(&r, &pool);
	use(pool, 2);
	unic_fast_pool_run(pool, after(0), &s);
	assert_int_equal(fast.allocs, 3);
	assert_int_equal(unic_fast_pool_get(pool, 0, &mr), 0);
	assert_true(unic_fast_pool_heard(pool, mr));
	use(pool, 1); /* two at once, as before */
	ask_for(&r, 0, 1000000);
	unic_fast_pool_run(pool, after(1), &s);
	assert_int_equal(drv.deregs, 1);
	assert_int_equal(s.fast_given, 1);
	assert_int_equal(fast.allocs, 3);
	use(pool, 1);
	unic_fast_pool_run(pool, after(2), &s);
	assert_int_equal(fast.allocs, 4);
	/* one in use goes when it is put back */
	ask_for(&r, 2, 1000000);
	unic_fast_pool_run(pool, after(2), &s);
	assert_int_equal(drv.deregs, 1);
	unic_fast_pool_put(pool, mr);
	assert_int_equal(drv.deregs, 2);
	assert_int_equal(unic_fast_pool_trim(pool), 2);
	unic_fast_pool_destroy(pool);
	rig_down(&r);
}

/* A registration that is asked for is not handed out for longer than it stays. */
static void registrations_are_checked_before_use(void **state)
{
	struct unic_fast_pool *pool;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	pool_up(&r, &pool);
	use(pool, 2);
	ask_for(&r, 0, 60000000);
	ask_for(&r, 1, 60000000);
	assert_int_equal(unic_fast_pool_get(pool, 1000, &mr), 0);
	assert_int_equal(fast.allocs, 2); /* it stays long enough */
	unic_fast_pool_put(pool, mr);
	assert_int_equal(drv.deregs, 1);
	assert_int_equal(unic_fast_pool_get(pool, 120000000, &mr), 0);
	assert_int_equal(drv.deregs, 2);
	assert_int_equal(fast.allocs, 3);
	unic_fast_pool_put(pool, mr);
	unic_fast_pool_destroy(pool);
	rig_down(&r);
}

/* A NIC without room is asked less and less often. */
static void full_nics_are_left_alone(void **state)
{
	struct unic_bm_stats s = { 0 };
	struct unic_fast_pool *pool;
	struct unic_mr *mr;
	struct rig r;
	uint32_t i;

	(void)state;
	pool_up(&r, &pool);
	assert_int_equal(unic_fast_pool_get(pool, 0, &mr), 0);
	fast.full = true;
	fast.tries = 0;
	for (i = 0; i < 32; i++)
		unic_fast_pool_run(pool, after(i), &s);
	assert_in_range(fast.tries, 4, 6); /* 0, 0.1, 0.3, 0.7, 1.5, 3.1 s */
	fast.full = false;
	for (; i < 60; i++)
		unic_fast_pool_run(pool, after(i), &s);
	assert_int_equal(fast.allocs, 2);
	unic_fast_pool_put(pool, mr);
	unic_fast_pool_destroy(pool);
	rig_down(&r);
}

static void count_event(void *arg, const struct unic_event *ev)
{
	(void)ev;
	__atomic_add_fetch((uint32_t *)arg, 1, __ATOMIC_RELAXED);
}

static void wait_for(const uint32_t *what, uint32_t value)
{
	int i;

	for (i = 0;
	     i < 20000 && __atomic_load_n(what, __ATOMIC_ACQUIRE) < value; i++)
		usleep(1000);
	assert_true(__atomic_load_n(what, __ATOMIC_ACQUIRE) >= value);
}

/* The manager runs its pools by itself, and the application hears nothing of it. */
static void manager_runs_the_pool(void **state)
{
	uint32_t events = 0;
	struct unic_bm_attr attr = { .on_event = count_event, .arg = &events };
	struct unic_fast_pool *pool;
	struct unic_bm_stats s;
	struct unic_mr *mr;
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	pool_up(&r, NULL);
	assert_int_equal(unic_bm_open(r.pd, &attr, &bm), 0);
	assert_int_equal(unic_bm_fast_pool(bm, 4, PAGE, &pool), 0);
	assert_int_equal(unic_fast_pool_get(pool, 0, &mr), 0);
	wait_for(&fast.allocs, 2); /* ahead of need */
	upcall_mr(UNIC_UP_NOTICE, fast.user[1], UINT64_MAX / 2);
	wait_for(&drv.deregs, 1);
	wait_for(&fast.allocs, 3);
	unic_fast_pool_put(pool, mr);
	wait_for(&drv.deregs, 3); /* nobody uses it */
	unic_bm_query(bm, &s);
	assert_int_equal(s.fast_given, 1);
	assert_int_equal(events, 0);
	unic_bm_close(bm);
	rig_down(&r);
}

/* The NIC may ask for what was not used for long, without a notice: the manager gives it
 * if nobody has it. */
static void manager_gives_what_is_idle(void **state)
{
	uint32_t events = 0;
	struct unic_bm_attr attr = { .on_event = count_event, .arg = &events };
	struct unic_fast_pool *pool;
	struct unic_bm_stats s;
	struct unic_mr *mr;
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	pool_up(&r, NULL);
	assert_int_equal(unic_bm_open(r.pd, &attr, &bm), 0);
	assert_int_equal(unic_bm_fast_pool(bm, 4, PAGE, &pool), 0);
	assert_int_equal(unic_fast_pool_get(pool, 0, &mr), 0);
	wait_for(&fast.allocs, 2);
	upcall_mr(UNIC_UP_IDLE, fast.user[0], 0); /* in use */
	upcall_mr(UNIC_UP_IDLE, fast.user[1], 0);
	wait_for(&drv.deregs, 1);
	wait_for(&fast.allocs, 3); /* the NIC had a period for the room */
	assert_int_equal(drv.deregs, 1);
	assert_int_equal(unic_mr_life(mr), UNIC_MR_LIVE);
	unic_bm_query(bm, &s);
	assert_int_equal(s.fast_given, 1);
	assert_int_equal(events, 0);
	unic_fast_pool_put(pool, mr);
	unic_bm_close(bm);
	assert_int_equal(drv.deregs, 3);
	rig_down(&r);
}

/* What was asked for and is not given yet is handed out no more, and ends with the
 * pool. */
static void asked_ones_end_with_the_pool(void **state)
{
	struct unic_fast_pool *pool;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	pool_up(&r, &pool);
	assert_int_equal(unic_fast_pool_get(pool, 0, &mr), 0);
	unic_fast_pool_asked(pool, mr); /* in use */
	unic_fast_pool_put(pool, mr);
	unic_fast_pool_asked(pool, mr);
	assert_int_equal(drv.deregs, 0);
	assert_int_equal(unic_fast_pool_get(pool, 0, &mr), 0);
	assert_int_equal(fast.allocs, 2);
	unic_fast_pool_put(pool, mr);
	unic_fast_pool_destroy(pool);
	assert_int_equal(drv.deregs, 2);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(nothing_is_left_beside_an_absent_nic),
		WITH_DRIVER(size_follows_load),
		WITH_DRIVER(wanted_ones_are_made_anew),
		WITH_DRIVER(registrations_are_checked_before_use),
		WITH_DRIVER(full_nics_are_left_alone),
		WITH_DRIVER(manager_runs_the_pool),
		WITH_DRIVER(manager_gives_what_is_idle),
		WITH_DRIVER(asked_ones_end_with_the_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

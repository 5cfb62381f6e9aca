/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_manager.c - the buffer manager of the library.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "unit.h"

#include "libunic_rig.h"
#include "bufman.h"
#include "move.h"
#include "park.h"
#include "wait.h"

static struct unic_rq_slot *rq_ring(void)
{
	return (void *)(sq_ring() + 4);
}

static void wait_until(const uint32_t *what, uint32_t value)
{
	int i;

	for (i = 0;
	     i < 10000 && __atomic_load_n(what, __ATOMIC_ACQUIRE) != value; i++)
		usleep(1000);
	assert_int_equal(*what, value);
}

static void manager_up(struct rig *r, struct unic_bm **bm)
{
	struct unic_bm_attr attr = { .rights = UNIC_MR_LOCAL_WRITE };

	rig_up(r);
	assert_int_equal(unic_bm_open(r->pd, &attr, bm), 0);
}

/* The signals that the newest thread blocks. */
static uint64_t blocked_by_newest(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *d;
	unsigned long long set;
	char path[64], line[256];
	int tid, newest = 0;
	FILE *f;

	assert_non_null(tasks);
	while ((d = readdir(tasks))) {
		tid = atoi(d->d_name);
		newest = tid > newest ? tid : newest;
	}
	closedir(tasks);
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", newest);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "SigBlk: %llx", &set) == 1)
			break;
	fclose(f);
	return set;
}

/* A program may block a signal after it has opened a manager: the manager's thread takes no
 * signal of the program. Its own faults, and the signal that stops threads while memory
 * moves, reach it. */
static void signals_are_for_the_program(void **state)
{
	sigset_t after;
	struct unic_bm *bm;
	struct rig r;
	uint64_t set;
	int i;

	(void)state;
	manager_up(&r, &bm);
	set = blocked_by_newest();
	/* a thread that starts blocks all */
	for (i = 0; i < 1000 && set >> (SIGSEGV - 1) & 1; i++) {
		usleep(1000);
		set = blocked_by_newest();
	}
	assert_true(set >> (SIGTERM - 1) & 1);
	assert_false(set >> (SIGSEGV - 1) & 1);
	assert_false(set >> (UNIC_PARK_SIGNAL - 1) & 1);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_int_equal(sigismember(&after, SIGTERM), 0);
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_releases_what_is_idle(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	uint32_t user;
	void *mem;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, 3 * PAGE);
	assert_int_equal(unic_bm_hold(bm, mem, 100, 0, false, &h), 0);
	user = drv.last_user;
	unic_bm_drop(bm, &h);
	assert_int_equal(unic_bm_hold(bm, mem, 100, 0, false, &h), 0);
	assert_int_equal(drv.last_user, user); /* the cache had it */
	unic_bm_drop(bm, &h);
	upcall_mr(UNIC_UP_NOTICE, user, UINT64_MAX / 2);
	wait_until(&drv.deregs, 1);
	assert_int_equal(unic_bm_hold(bm, mem, 100, 0, false, &h), 0);
	assert_int_not_equal(drv.last_user, user);
	unic_bm_drop(bm, &h);
	unic_bm_query(bm, &s);
	assert_int_equal(s.released, 1);
	assert_int_equal(s.misses, 2);
	assert_int_equal(s.hits, 3);
	unic_bm_count(bm, hits, 2); /* of one that posts by itself */
	assert_int_equal(unic_bm_counters(bm)->hits, 5);
	unic_bm_close(bm);
	rig_down(&r);
}

/* Asked for a chunk, the manager gives it up if it is idle, and keeps what it uses. */
static void manager_gives_what_is_idle(void **state)
{
	struct unic_bm_stats s = { 0 };
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	uint32_t user;
	void *mem;
	int i;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, PAGE);
	assert_int_equal(unic_bm_hold(bm, mem, 100, 0, false, &h), 0);
	user = drv.last_user;
	upcall_mr(UNIC_UP_IDLE, user, 0);
	for (i = 0; i < 10000 && !s.declined; i++) {
		usleep(1000);
		unic_bm_query(bm, &s);
	}
	assert_int_equal(s.declined, 1);
	unic_bm_drop(bm, &h);
	assert_int_equal(unic_bm_hold(bm, mem, 100, 0, true, &h), 0);
	assert_int_equal(drv.last_user, user); /* the cache has it */
	unic_bm_drop(bm, &h);
	assert_int_equal(drv.deregs, 0);
	upcall_mr(UNIC_UP_IDLE, user, 0);
	wait_until(&drv.deregs, 1);
	assert_int_equal(unic_bm_hold(bm, mem, 100, 0, false, &h), 0);
	assert_int_not_equal(drv.last_user, user);
	unic_bm_drop(bm, &h);
	unic_bm_query(bm, &s);
	assert_int_equal(s.given, 1);
	assert_int_equal(s.declined, 1);
	assert_int_equal(s.notices, 0);
	assert_int_equal(s.released, 0);
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_offers_for_what_is_busy(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold busy;
	struct unic_bm_hold idle;
	struct unic_bm *bm;
	struct rig r;
	uint32_t user;
	void *a;
	void *b;

	(void)state;
	manager_up(&r, &bm);
	a = unic_bm_get(bm, PAGE);
	b = unic_bm_get(bm, PAGE);
	assert_int_equal(unic_bm_hold(bm, a, PAGE, 0, false, &busy), 0);
	user = drv.last_user;
	assert_int_equal(unic_bm_hold(bm, b, PAGE, 0, false, &idle), 0);
	unic_bm_drop(bm, &idle);
	upcall_mr(UNIC_UP_NOTICE, user, UINT64_MAX / 2);
	wait_until(&drv.deregs, 1);
	assert_int_equal(drv.offers, 1);
	/* A second notice with nothing to offer: extend, release when done. */
	upcall_mr(UNIC_UP_NOTICE, user, UINT64_MAX / 2);
	wait_until(&drv.extends, 1);
	assert_int_equal(unic_bm_hold(bm, a, PAGE, 0, true, &idle), -EBUSY);
	usleep(20000);
	unic_bm_drop(bm, &busy);
	wait_until(&drv.deregs, 2);
	unic_bm_query(bm, &s);
	assert_int_equal(s.offers, 1);
	assert_int_equal(s.extends, 1);
	assert_int_equal(s.released_late, 1);
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_reaps_before_it_waits(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	void *mem;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, PAGE);
	drv.reg_status = UNIC_ST_TLB_FULL;
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, true, &h), -EBUSY);
	unic_bm_query(bm, &s);
	assert_int_equal(s.waits, 0);
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), -ENOMEM);
	unic_bm_query(bm, &s);
	assert_int_equal(s.waits, 1);
	drv.reg_status = UNIC_ST_OK;
	unic_bm_close(bm);
	rig_down(&r);
}

/* Makes two idle chunks of one page; then the TLB is full. */
static void two_idle(struct unic_bm *bm)
{
	struct unic_bm_hold h[2];
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(unic_bm_hold(bm, unic_bm_get(bm, PAGE), PAGE,
					      0, false, &h[i]),
				 0);
	unic_bm_drop(bm, &h[0]);
	unic_bm_drop(bm, &h[1]);
	drv.full = true;
}

/* The manager gives up an idle chunk after it has asked, and only one. */
/* The driver takes a registration again when one has ended. */
static int limit_ends(uint16_t op, const uint8_t *in, size_t len, uint8_t *out)
{
	(void)in;
	(void)len;
	(void)out;
	if (op == UNIC_CTL_MR_DEREG)
		drv.reg_status = UNIC_ST_OK;
	return -1;
}

/* At a limit of its process, the manager registers in place of what is idle. */
static void check_limit(unsigned int residency, uint16_t status, int err)
{
	struct unic_bm_attr attr = { .rights = UNIC_MR_LOCAL_WRITE,
				     .residency = residency };
	struct unic_bm_hold h[3];
	struct unic_bm_stats s;
	struct unic_bm *bm;
	struct rig r;
	uint8_t *mem[3];
	int i;

	rig_up(&r);
	assert_int_equal(unic_bm_open(r.pd, &attr, &bm), 0);
	for (i = 0; i < 3; i++)
		mem[i] = unic_bm_get(bm, PAGE);
	assert_int_equal(unic_bm_hold(bm, mem[0], PAGE, 0, false, &h[0]), 0);
	assert_int_equal(unic_bm_hold(bm, mem[1], PAGE, 0, false, &h[1]), 0);
	drv.reg_status = status;
	assert_int_equal(unic_bm_hold(bm, mem[2], PAGE, 0, true, &h[2]),
			 -EBUSY);
	assert_int_equal(unic_bm_hold(bm, mem[2], PAGE, 0, false, &h[2]), err);
	assert_int_equal(drv.deregs, 0); /* none was idle */
	unic_bm_drop(bm, &h[1]);
	drv.first = limit_ends;
	assert_int_equal(unic_bm_hold(bm, mem[2], PAGE, 0, true, &h[2]), 0);
	assert_int_equal(drv.deregs, 1);
	unic_bm_query(bm, &s);
	assert_int_equal(s.trimmed, 1);
	assert_int_equal(s.waits, err == -ENOMEM);
	unic_bm_drop(bm, &h[0]);
	unic_bm_drop(bm, &h[2]);
	unic_bm_close(bm);
	rig_down(&r);
	drv.first = NULL;
}

static void manager_stays_within_its_limit(void **state)
{
	(void)state;
	check_limit(UNIC_RESIDENT, UNIC_ST_QUOTA, -EDQUOT);
}

/* Regions that have no entries do not wait for an index. */
static void manager_makes_room_for_what_does_not_wait(void **state)
{
	(void)state;
	check_limit(UNIC_DEMAND, UNIC_ST_MR_FULL, -ENOMEM);
}

static void manager_asks_before_it_gives(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	two_idle(bm);
	assert_int_equal(
		unic_bm_hold(bm, unic_bm_get(bm, PAGE), PAGE, 0, false, &h), 0);
	assert_int_equal(drv.deregs, 1);
	assert_int_equal(unic_mr_life(h.mr), UNIC_MR_LIVE);
	assert_int_equal(h.mr->id, drv.last_mr);
	unic_bm_query(bm, &s);
	assert_int_equal(s.waits, 1);
	assert_int_equal(s.trimmed, 1);
	unic_bm_drop(bm, &h);
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_tells_why_a_wait_ended(void **state)
{
	struct unic_bm_stats s;
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	void *mem;

	(void)state;
	manager_up(&r, &bm);
	two_idle(bm);
	mem = unic_bm_get(bm, PAGE);
	drv.wait_end = UNIC_ST_TIMEOUT;
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), -ETIME);
	unic_bm_query(bm, &s);
	assert_int_equal(s.reg_failed, 1);
	drv.wait_end = UNIC_ST_OK;
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), 0);
	unic_bm_drop(bm, &h);
	unic_bm_close(bm);
	rig_down(&r);
}

/* A child has no thread of the manager, and no thread that holds its locks:
 * calls on the manager fail. */
static void a_child_has_no_part_in_a_manager(void **state)
{
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	uint32_t i;
	pid_t child;
	void *mem;
	int status;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, PAGE);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		bool ok = is_parents(unic_bm_hold(bm, mem, PAGE, 0, false, &h));

		ok &= !unic_bm_get(bm, PAGE) && is_parents(-errno);
		ok &= is_parents(unic_bm_recover(bm, 1000));
		unic_bm_put(bm, mem, PAGE);
		unic_bm_close(bm);
		unic_close(r.ctx);
		_exit(ok ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* the manager's thread in the parent still answers notices */
	for (i = 1; i < 3; i++) {
		assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), 0);
		unic_bm_drop(bm, &h);
		upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
		wait_until(&drv.deregs, i);
	}
	unic_bm_close(bm);
	rig_down(&r);
}

static void manager_keeps_what_does_not_end(void **state)
{
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	uint32_t user, tries = 5000;
	void *mem;
	int err;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, PAGE);
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), 0);
	user = drv.last_user;
	unic_bm_drop(bm, &h);
	drv.dereg_status = UNIC_CTL_ST_TOO_MANY;
	upcall_mr(UNIC_UP_NOTICE, user, UINT64_MAX / 2);
	wait_until(&drv.deregs, 1);
	/* -EBUSY: the manager has not read the reply to DEREG yet */
	do {
		err = unic_bm_hold(bm, mem, PAGE, 0, true, &h);
	} while (err == -EBUSY && --tries && !usleep(1000));
	assert_int_equal(err, -EAGAIN);
	drv.dereg_status = 0;
	assert_int_equal(unic_bm_hold(bm, mem, PAGE, 0, false, &h), 0);
	assert_int_not_equal(drv.last_user, user);
	unic_bm_drop(bm, &h);
	unic_bm_close(bm);
	rig_down(&r);
}

/* Chunks that the driver does not end at the close are nobody's: their domain can end. */
static void manager_leaves_nothing_beside_an_absent_nic(void **state)
{
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	assert_int_equal(
		unic_bm_hold(bm, unic_bm_get(bm, PAGE), PAGE, 0, false, &h), 0);
	unic_bm_drop(bm, &h);
	drv.dereg_status = UNIC_CTL_ST_NO_NIC;
	unic_bm_close(bm);
	assert_int_equal(drv.deregs, 1);
	drv.dereg_status = 0;
	rig_down(&r);
}

static void manager_respects_deadlines(void **state)
{
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	/* T is 20 ms: at 1 byte per microsecond, two pages take T/2. */
	unic_pace_measured(unic_bm_pace(bm), 1000, 1000000);
	assert_int_equal(unic_pace_piece(unic_bm_pace(bm), 1), 2 * PAGE);
	assert_int_equal(unic_pace_piece(unic_bm_pace(bm), 2), PAGE);
	assert_int_equal(unic_pace_expect(unic_bm_pace(bm), 5000), 5000);
	assert_int_equal(unic_bm_hold(bm, unic_bm_get(bm, 65 * PAGE), 65 * PAGE,
				      0, false, &h),
			 0);
	assert_int_equal(h.len, 64 * PAGE); /* chunks of 64 entries */
	unic_bm_drop(bm, &h);
	unic_bm_close(bm);
	rig_down(&r);
}

/* Bytes that cannot be split must be sent within T, and lie in one region. */
static void manager_refuses_what_cannot_be_split(void **state)
{
	struct unic_bm_hold h;
	struct unic_bm *bm;
	struct rig r;
	uint32_t deregs, i;
	void *mem;

	(void)state;
	manager_up(&r, &bm);
	mem = unic_bm_get(bm, 65 * PAGE);
	unic_pace_measured(unic_bm_pace(bm), 1000,
			   1000000); /* 20,000 bytes in T */
	assert_int_equal(unic_bm_hold_whole(bm, mem, 20000, &h), 0);
	assert_int_equal(h.len, 20000);
	unic_bm_drop(bm, &h);
	assert_int_equal(unic_bm_hold_whole(bm, mem, 20001, &h), -EMSGSIZE);
	assert_non_null(strstr(unic_last_error(), "20001 us"));
	for (i = 0; i < 50; i++)
		unic_pace_measured(unic_bm_pace(bm), 1 << 20, 1000000);
	assert_int_equal(unic_bm_hold_whole(bm, mem, 64 * PAGE, &h), 0);
	unic_bm_drop(bm, &h);
	assert_int_equal(unic_bm_hold_whole(bm, mem, 64 * PAGE + 1, &h),
			 -EMSGSIZE);
	assert_non_null(strstr(unic_last_error(), "64 entries"));
	/* the refused hold keeps nothing: a notice releases the chunk */
	deregs = drv.deregs;
	upcall_mr(UNIC_UP_NOTICE, drv.last_user, UINT64_MAX / 2);
	wait_until(&drv.deregs, deregs + 1);
	unic_bm_close(bm);
	rig_down(&r);
}

static void on_credit(void *arg, unsigned int credits)
{
	__atomic_store_n((uint32_t *)arg, credits, __ATOMIC_RELEASE);
}

/* Half of the receives are evicted: the credits drop at once, and rise again
 * when the last of these receives has completed. */
static void receives_come_back(void **state)
{
	uint32_t credits = 0, user;
	struct unic_bm_recv_attr attr = { .count = 4,
					  .bytes = 100,
					  .on_credit = on_credit,
					  .arg = &credits };
	struct unic_bm_stats s;
	struct unic_bm_recv *rx;
	struct unic_wc wc[2];
	struct unic_bm *bm;
	struct rig r;
	uint32_t i;

	(void)state;
	manager_up(&r, &bm);
	attr.count = 3;
	assert_int_equal(unic_bm_recv_open(bm, &attr, &rx), -EINVAL);
	attr.count = 4;
	assert_int_equal(unic_bm_recv_open(bm, &attr, &rx), 0);
	assert_int_equal(unic_bm_recv_credits(rx), 0);
	assert_int_equal(unic_bm_recv_start(rx, r.qp), 0);
	assert_int_equal(credits, 4);
	assert_true(unic_from_le64(rq_ring()[3].sge[0].iova) == drv.base + 100);
	user = drv.last_user;
	upcall_mr(UNIC_UP_EVICTED, user - 1, 0); /* the first half */
	wait_until(&credits, 2);
	for (i = 0; i < 2; i++) {
		cq_ring()[i].status = UNIC_WC_EVICTED;
		complete(i, 77, UNIC_WC_RECV, i);
	}
	assert_int_equal(unic_poll_cq(r.cq, 2, wc), 2);
	assert_int_equal(unic_bm_recv_done(rx, wc[0].wr_id), 0);
	assert_int_equal(drv.last_user, user);
	assert_int_equal(unic_bm_recv_credits(rx), 2);
	assert_int_equal(unic_bm_recv_done(rx, wc[1].wr_id), 0);
	assert_int_not_equal(drv.last_user, user); /* registered again */
	assert_int_equal(credits, 4);
	assert_int_equal(unic_bm_recv_done(rx, 4), -EINVAL);
	assert_true((uint8_t *)unic_bm_recv_buf(rx, 1) ==
		    (uint8_t *)unic_bm_recv_buf(rx, 0) + 100);
	unic_bm_query(bm, &s);
	assert_int_equal(s.recv_evicted, 1);
	assert_int_equal(s.recv_renewed, 1);
	unic_bm_recv_close(rx);
	unic_bm_close(bm);
	rig_down(&r);
}

/* A NIC that completes work requests with the statuses in @say. */
#define NIC_MAX 32u

static struct {
	pthread_t thread;
	const uint8_t *say; /* statuses, success behind the last one */
	uint32_t says, done, stop;
	uint32_t nap_us; /* after each completion */
	uint8_t detail;	 /* of what fails */
	struct unic_sq_slot seen[NIC_MAX];
} nic;

static void *play(void *arg)
{
	struct unic_cqe *cqe;
	uint64_t one = 1;

	while (!__atomic_load_n(&nic.stop, __ATOMIC_ACQUIRE)) {
		uint32_t tail = unic_from_le32(
			__atomic_load_n(&db()->tail[1].sq, __ATOMIC_ACQUIRE));

		for (; nic.done != tail && nic.done < NIC_MAX; nic.done++) {
			nic.seen[nic.done] = sq_ring()[nic.done % 4];
			cqe = &cq_ring()[nic.done % 8];
			cqe->status = nic.done < nic.says ? nic.say[nic.done]
							  : 0;
			cqe->detail = cqe->status ? nic.detail : 0;
			complete(nic.done, 77, UNIC_WC_WRITE,
				 unic_from_le64(nic.seen[nic.done].wr_id));
			if (write(drv.evt_efd, &one, 8) != 8)
				return arg;
			usleep(nic.nap_us);
		}
		usleep(200);
	}
	return NULL;
}

static void nic_up(const uint8_t *say, uint32_t says)
{
	memset(&nic, 0, sizeof(nic));
	nic.say = say;
	nic.says = says;
	assert_int_equal(pthread_create(&nic.thread, NULL, play, NULL), 0);
}

static void nic_down(void)
{
	void *failed;

	__atomic_store_n(&nic.stop, 1, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(nic.thread, &failed), 0);
	assert_null(failed);
}

#define OLD_KEY 0x1100u
#define NEW_KEY 0x2200u
#define OLD_AT	0x100000u
#define NEW_AT	0x900000u

static int new_key(void *arg, uint64_t *remote, uint32_t *rkey)
{
	++*(uint32_t *)arg;
	*remote = NEW_AT;
	*rkey = NEW_KEY;
	return 0;
}

/* The requests that succeeded must cover each page of the transfer once. */
static void check_parts(uint32_t pages)
{
	uint32_t i, at, n, taken[8] = { 0 };

	for (i = 0; i < nic.done; i++) {
		const struct unic_sq_slot *s = &nic.seen[i];
		bool old = unic_from_le32(s->rkey) == OLD_KEY;

		if (i < nic.says && nic.say[i])
			continue;
		assert_true(old || unic_from_le32(s->rkey) == NEW_KEY);
		at = (uint32_t)unic_from_le64(s->remote) -
		     (old ? OLD_AT : NEW_AT);
		for (n = unic_from_le32(s->sge[0].len); n;
		     n -= PAGE, at += PAGE)
			taken[at / PAGE]++;
	}
	for (i = 0; i < pages; i++)
		assert_int_equal(taken[i], 1);
}

/* A part is repeated after a local eviction, and with a new key after a remote
 * one; completed parts are not repeated. */
static void manager_repeats_what_was_evicted(void **state)
{
	static const uint8_t say[] = { UNIC_WC_EVICTED, 0, UNIC_WC_REM_EVICTED,
				       UNIC_WC_EVICTED };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE,
				  .remote = OLD_AT,
				  .rkey = OLD_KEY,
				  .len = 6 * PAGE,
				  .window = 1,
				  .refresh = new_key };
	struct unic_bm_stats s;
	struct unic_bm *bm;
	uint32_t asked = 0;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	unic_pace_measured(unic_bm_pace(bm), 1000,
			   1000000); /* pieces of two pages */
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, 6 * PAGE);
	x.arg = &asked;
	nic_up(say, sizeof(say));
	assert_int_equal(unic_bm_transfer(bm, &x), 0);
	nic_down();
	assert_int_equal(nic.done, 3 + 3);
	check_parts(6);
	assert_int_equal(asked, 1);
	assert_int_equal(unic_from_le32(nic.seen[3].rkey), NEW_KEY);
	unic_bm_query(bm, &s);
	assert_int_equal(s.retries_local, 2);
	assert_int_equal(s.retries_remote, 1);
	assert_int_equal(s.ops, 3);
	assert_int_equal(s.bytes, 6 * PAGE);
	assert_int_equal(s.splits, 2);
	unic_bm_close(bm);
	rig_down(&r);
}

/* Nothing completes: the manager waits as long as the caller wants, and drops its
 * holds, so that the regions can go. */
static void manager_waits_as_long_as_told(void **state)
{
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE,
				  .len = PAGE,
				  .timeout_ms = 50 };
	struct unic_bm *bm;
	uint64_t began;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, PAGE);
	began = unic_now_ns();
	assert_int_equal(unic_bm_transfer(bm, &x), -ETIME);
	assert_in_range(unic_now_ns() - began, 50000000, 9000000000);
	unic_bm_close(bm);
	rig_down(&r);
}

/* Asks for a new key over the same connection: no part of the transfer may
 * complete meanwhile, or its completion would be taken for the answer. */
static int key_over_the_same_queue(void *arg, uint64_t *remote, uint32_t *rkey)
{
	struct unic_bm_xfer *x = arg;
	struct unic_wc wc;

	usleep(20 * nic.nap_us);
	assert_int_equal(unic_poll_cq(x->cq, 1, &wc), 0);
	*remote = NEW_AT;
	*rkey = NEW_KEY;
	return 0;
}

static void manager_asks_when_nothing_flies(void **state)
{
	static const uint8_t say[] = { UNIC_WC_REM_EVICTED, 0,
				       UNIC_WC_REM_EVICTED };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE,
				  .remote = OLD_AT,
				  .rkey = OLD_KEY,
				  .len = 8 * PAGE,
				  .window = 3,
				  .refresh = key_over_the_same_queue };
	struct unic_bm_stats s;
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	unic_pace_measured(unic_bm_pace(bm), 3000,
			   1000000); /* pieces of two pages */
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, 8 * PAGE);
	x.arg = &x;
	nic_up(say, sizeof(say));
	nic.nap_us = 2000;
	assert_int_equal(unic_bm_transfer(bm, &x), 0);
	nic_down();
	assert_int_equal(nic.done, 4 + 2);
	check_parts(8);
	unic_bm_query(bm, &s);
	assert_int_equal(s.retries_remote, 2);
	unic_bm_close(bm);
	rig_down(&r);
}

/* The manager keeps as many bytes under way as it expects to end within T/2;
 * after its connection was cut, fewer. */
static void manager_takes_less_after_a_cut(void **state)
{
	static const uint8_t say[] = { 0, UNIC_WC_WR_FLUSH_ERR };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE,
				  .len = 4 * PAGE,
				  .window = 4 };
	struct unic_bm *bm;
	struct rig r;
	uint32_t i;

	(void)state;
	manager_up(&r, &bm);
	unic_pace_measured(unic_bm_pace(bm), 1000, 1000000);
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, 4 * PAGE);
	nic_up(say, sizeof(say));
	nic.nap_us = 20000;
	assert_int_equal(unic_bm_transfer(bm, &x), -EIO);
	nic_down();
	assert_int_equal(nic.done, 3); /* two at once, one after the first */
	for (i = 0; i < 3; i++)
		assert_true(unic_from_le64(nic.seen[i].sge[0].iova) ==
			    drv.base + unic_from_le64(nic.seen[i].remote));
	assert_int_equal(unic_pace_expect(unic_bm_pace(bm), 1000), 2000);
	for (i = 0; i < 20; i++)
		unic_pace_cut(unic_bm_pace(bm));
	assert_in_range(unic_pace_expect(unic_bm_pace(bm), PAGE), 19000, 20000);
	assert_int_equal(unic_pace_piece(unic_bm_pace(bm), 4), PAGE);
	unic_bm_close(bm);
	rig_down(&r);
}

/* So it does when a piece was cut that had begun: the pieces were too long for T. One
 * that had not is only repeated. */
static void manager_takes_less_after_a_piece_was_cut(void **state)
{
	static const uint8_t say[] = { UNIC_WC_EVICTED, 0, UNIC_WC_EVICTED };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE, .len = PAGE };
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	unic_pace_measured(unic_bm_pace(bm), 1000, 1000000);
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, PAGE);
	nic_up(say, sizeof(say));
	assert_int_equal(unic_bm_transfer(bm, &x), 0);
	assert_int_equal(unic_pace_expect(unic_bm_pace(bm), 1000), 1000);
	nic.detail = UNIC_WD_BUSY;
	assert_int_equal(unic_bm_transfer(bm, &x), 0);
	nic_down();
	assert_int_equal(nic.done, 4);
	assert_int_equal(unic_pace_expect(unic_bm_pace(bm), 1000), 2000);
	unic_bm_close(bm);
	rig_down(&r);
}

/* Without @refresh, a remote eviction ends the transfer with an error. */
static void manager_has_nobody_to_ask(void **state)
{
	static const uint8_t say[] = { UNIC_WC_REM_EVICTED };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE, .len = PAGE };
	struct unic_bm *bm;
	struct rig r;

	(void)state;
	manager_up(&r, &bm);
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, PAGE);
	nic_up(say, sizeof(say));
	assert_int_equal(unic_bm_transfer(bm, &x), -EOWNERDEAD);
	nic_down();
	assert_int_equal(nic.done, 1);
	assert_non_null(strstr(unic_last_error(), "evicted"));
	unic_bm_close(bm);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(a_child_has_no_part_in_a_manager),
		WITH_DRIVER(signals_are_for_the_program),
		WITH_DRIVER(manager_releases_what_is_idle),
		WITH_DRIVER(manager_gives_what_is_idle),
		WITH_DRIVER(manager_offers_for_what_is_busy),
		WITH_DRIVER(manager_reaps_before_it_waits),
		WITH_DRIVER(manager_stays_within_its_limit),
		WITH_DRIVER(manager_makes_room_for_what_does_not_wait),
		WITH_DRIVER(manager_asks_before_it_gives),
		WITH_DRIVER(manager_tells_why_a_wait_ended),
		WITH_DRIVER(manager_keeps_what_does_not_end),
		WITH_DRIVER(manager_leaves_nothing_beside_an_absent_nic),
		WITH_DRIVER(manager_respects_deadlines),
		WITH_DRIVER(manager_refuses_what_cannot_be_split),
		WITH_DRIVER(receives_come_back),
		WITH_DRIVER(manager_repeats_what_was_evicted),
		WITH_DRIVER(manager_waits_as_long_as_told),
		WITH_DRIVER(manager_asks_when_nothing_flies),
		WITH_DRIVER(manager_takes_less_after_a_cut),
		WITH_DRIVER(manager_takes_less_after_a_piece_was_cut),
		WITH_DRIVER(manager_has_nobody_to_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_context.c - contexts of the library: drivers that are missing,
 * stopped or end, and processes that fork.
 */
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "unit.h"

#include "libunic_rig.h"

static void no_driver_is_said(void **state)
{
	struct unic_ctx *ctx;

	(void)state;
	assert_int_equal(unic_open("/nonexistent/sock", &ctx), -ENOENT);
	assert_non_null(strstr(unic_last_error(), "start unicd"));
}

static void every_status_has_words(void **state)
{
	int s;

	(void)state;
	for (s = UNIC_ST_BAD_OPCODE; s <= UNIC_ST_NO_ROUTE; s++) {
		assert_true(unic_fail_status("x", s) < 0);
		assert_string_not_equal(unic_status_str((unsigned int)s), "unkn"
									  "own "
									  "stat"
									  "us");
	}
	for (s = UNIC_CTL_ST_NO_HELLO; s <= UNIC_CTL_ST_TOO_FAST; s++)
		assert_string_not_equal(unic_status_str((unsigned int)s), "unkn"
									  "own "
									  "stat"
									  "us");
	assert_int_equal(unic_fail_status("x", 4711), -EPROTO);
}

/* With a driver of another version, the error names both and a remedy. */
static void another_version_is_said(void **state)
{
	struct unic_ctx *ctx;

	(void)state;
	drv.version = 7;
	assert_int_equal(unic_open(drv.path, &ctx), -EPROTO);
	assert_non_null(strstr(unic_last_error(), "driver speaks version 7"));
	assert_non_null(strstr(unic_last_error(), "this program version 1"));
	assert_non_null(strstr(unic_last_error(), "take both of one release"));
}

/* In a child, the calls on its parent's objects fail, and @mem is a copy. */
static bool child_is_alone(struct rig *r, uint8_t *mem)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	struct unic_recv_wr rwr = { .num_sge = 0 };
	struct unic_mr_attr attr = { .addr = mem, .length = PAGE };
	struct unic_event ev;
	struct unic_wc wc;
	struct unic_mr *mr;
	bool ok = unic_ctx_lost(r->ctx) && mem[0] == 5;

	mem[0] = 6;
	ok &= !unic_alloc(r->ctx, 1, PAGE) && is_parents(-errno);
	ok &= unic_cq_fd(r->ctx) < 0 && unic_event_fd(r->ctx) < 0;
	ok &= is_parents(unic_reg_mr(r->pd, &attr, &mr));
	ok &= is_parents(unic_post_send(r->qp, &wr, 1));
	ok &= is_parents(unic_post_recv(r->qp, &rwr, 1));
	ok &= is_parents(unic_poll_cq(r->cq, 1, &wc));
	ok &= is_parents(unic_req_notify(r->cq, false));
	ok &= is_parents(unic_wait_cq(r->cq, 1000));
	ok &= is_parents(unic_get_event(r->ctx, &ev));
	ok &= is_parents(unic_recover(r->ctx, 1000));
	return ok;
}

static void *hang_up(void *listener)
{
	close(accept(*(int *)listener, NULL, NULL));
	return NULL;
}

/* unic_open() in a child is not -EBUSY: it reaches a driver, which hangs up. */
static bool child_may_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct unic_ctx *own;
	pthread_t t;
	int err;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/libunic_rig.%d.s",
		 (int)getpid());
	if (bind(listener, (void *)&addr, sizeof(addr)) ||
	    listen(listener, 1) || pthread_create(&t, NULL, hang_up, &listener))
		return false;
	err = unic_open(addr.sun_path, &own);
	pthread_join(t, NULL);
	unlink(addr.sun_path);
	return err == -ENOTCONN;
}

static void a_child_has_no_part_in_it(void **state)
{
	uint8_t *mem;
	struct rig r;
	pid_t child;
	int status;

	(void)state;
	rig_up(&r);
	mem = unic_alloc(r.ctx, PAGE, PAGE);
	mem[0] = 5;
	assert_int_equal(madvise(mem, PAGE, MADV_DOFORK), 0);
	pthread_mutex_lock(&r.cq->lock); /* as another thread might */
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		bool ok;

		alarm(20);
		ok = child_is_alone(&r, mem) && child_may_open();
		ok &= !unic_destroy_qp(r.qp) && !unic_free(r.ctx, mem) &&
		      madvise(mem, PAGE, MADV_NORMAL) && errno == ENOMEM;
		unic_close(r.ctx);
		_exit(ok ? 0 : 1);
	}
	pthread_mutex_unlock(&r.cq->lock);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_false(unic_ctx_lost(r.ctx));
	assert_int_equal(mem[0], 5);
	assert_int_equal(unic_free(r.ctx, mem), 0);
	rig_down(&r);
}

/* A driver that accepts no connection, and whose backlog is full. */
static void a_stopped_driver_is_not_waited_for(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	struct unic_ctx *ctx;
	int sock[8];
	int n = 0;

	(void)state;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/libunic_rig.%d.s",
		 (int)getpid());
	assert_int_equal(bind(listener, (void *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 1), 0);
	do {
		sock[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	} while (!connect(sock[n++], (void *)&addr, sizeof(addr)) && n < 8);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(unic_open(addr.sun_path, &ctx), -ENOTCONN);
	assert_non_null(strstr(unic_last_error(), "stopped"));
	while (n)
		close(sock[--n]);
	close(listener);
	unlink(addr.sun_path);
}

static void leftovers_are_not_given_to_a_new_driver(void **state)
{
	uint8_t *mem = own_pages(NULL, 1);
	struct unic_ctx *again;
	struct rig r;

	(void)state;
	rig_up(&r);
	mem[0] = 6;
	move_in(&r, mem, 1);
	shutdown(drv.sock, SHUT_RDWR);
	/* No call has seen the end yet; the listener is as after a restart. */
	assert_int_equal(unic_open(drv.path, &again), -EBUSY);
	assert_non_null(strstr(unic_last_error(), "close that context"));
	assert_int_equal(mem[0], 6);
	rig_down(&r);
	assert_int_equal(mem[0], 6);
	munmap(mem, PAGE);
}

static void a_dead_driver_is_seen(void **state)
{
	struct unic_event ev;
	struct rig r;
	struct pollfd pfd = { .events = POLLIN };

	(void)state;
	rig_up(&r);
	shutdown(drv.sock, SHUT_RDWR);
	pfd.fd = unic_event_fd(r.ctx);
	assert_int_equal(poll(&pfd, 1, 10000), 1);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_RESET);
	assert_int_equal(poll(&pfd, 1, 0), 0); /* reported once */
	assert_true(unic_ctx_lost(r.ctx));
	assert_int_equal(unic_wait_cq(r.cq, 1000), -ENOTCONN);
	assert_int_equal(unic_wait_cq(r.cq, 0), -ENOTCONN);
	rig_down(&r);
}

static void errors_have_words(void **state)
{
	(void)state;
	assert_string_equal(unic_strerror(-ENOTCONN), unic_strerror(ENOTCONN));
	assert_non_null(strstr(unic_strerror(-ENOTCONN), "driver is gone"));
	assert_non_null(strstr(unic_strerror(-ENOMEM), "full"));
	assert_string_equal(unic_strerror(-EINTR), strerror(EINTR));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_words),
		cmocka_unit_test(no_driver_is_said),
		cmocka_unit_test(every_status_has_words),
		WITH_DRIVER(another_version_is_said),
		WITH_DRIVER(a_child_has_no_part_in_it),
		cmocka_unit_test(a_stopped_driver_is_not_waited_for),
		WITH_DRIVER(leftovers_are_not_given_to_a_new_driver),
		WITH_DRIVER(a_dead_driver_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

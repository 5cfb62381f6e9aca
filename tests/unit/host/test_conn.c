/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_conn.c - requests and replies of many threads, against a fake driver
 * that, like unicd, reads no request before its last reply is taken, and
 * against a fake device whose ioctl() fails for a moment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"

#include "conn.h"
#include "unic_ioctl.h"
#include "wait.h"

#define CROWD  400u
#define CALLS  20u
#define ROUNDS 10u
#define OP     UNIC_CTL_PD_ALLOC
#define PLACES (UNIC_CTL_OPEN_MAX / 4) /* of short calls */

/* ---------------------------------------------------- calls that the test fails */

/* The errno of each of the next calls; 0: the call goes through. */
struct fails {
	int err[8];
	unsigned int n, next;
};

static struct fails sending, reading, asking;

static int next_of(struct fails *f)
{
	unsigned int i = __atomic_fetch_add(&f->next, 1, __ATOMIC_RELAXED);

	return i < f->n ? f->err[i] : 0;
}

static void fail_with(struct fails *f, unsigned int n, const int *err)
{
	memcpy(f->err, err, n * sizeof(*err));
	f->n = n;
	f->next = 0;
}

#define FAIL(f, ...)                                                  \
	fail_with(&(f), sizeof((int[]){ __VA_ARGS__ }) / sizeof(int), \
		  (int[]){ __VA_ARGS__ })

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t (*next)(int, const struct msghdr *, int);

	errno = next_of(&sending);
	if (errno)
		return -1;
	*(void **)&next = dlsym(RTLD_NEXT, "sendmsg");
	return next(fd, m, flags);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t (*next)(int, struct msghdr *, int);

	errno = next_of(&reading);
	if (errno)
		return -1;
	*(void **)&next = dlsym(RTLD_NEXT, "recvmsg");
	return next(fd, m, flags);
}

/* The ioctl() of the device: UNIC_IOC_CALL succeeds, the record unchanged. */
int ioctl(int fd, unsigned long what, ...)
{
	struct unic_ioc_call *call;
	va_list ap;

	(void)fd;
	va_start(ap, what);
	call = va_arg(ap, struct unic_ioc_call *);
	va_end(ap);
	if (what != UNIC_IOC_CALL) {
		errno = ENOTTY;
		return -1;
	}
	errno = next_of(&asking);
	if (errno)
		return -1;
	call->got = unic_to_le32(UNIC_CTL_BYTES);
	return 0;
}

/* ------------------------------------------------------------ the driver */

struct driver {
	struct sockaddr_un addr;
	int listener, sock;
	pthread_t thread;
	bool holds; /* MR_REG is never answered */
	/* up to `places` MR_REG wait; the oldest is answered after 10 ms */
	unsigned int places, waiting, refused;
	uint64_t kept[PLACES][UNIC_CTL_BYTES / 8];
};

/* Sends a reply; reads no request until the socket takes it. */
static void say(const struct driver *d, const void *msg)
{
	struct pollfd pfd = { .fd = d->sock, .events = POLLOUT };

	while (send(d->sock, msg, UNIC_CTL_BYTES, MSG_DONTWAIT | MSG_NOSIGNAL) <
		       0 &&
	       errno == EAGAIN)
		poll(&pfd, 1, -1);
}

static void serve_one(struct driver *d)
{
	uint64_t msg[UNIC_CTL_MSG_MAX / 8];
	struct unic_ctl_hdr hdr;

	if (recv(d->sock, msg, sizeof(msg), 0) < UNIC_CTL_BYTES)
		return;
	memcpy(&hdr, msg, sizeof(hdr));
	hdr.tail_bytes = unic_to_le32(0);
	memcpy(msg, &hdr, sizeof(hdr));
	if (d->holds && unic_from_le16(hdr.op) == UNIC_CTL_MR_REG)
		return;
	if (d->places && unic_from_le16(hdr.op) == UNIC_CTL_MR_REG &&
	    d->waiting < d->places) {
		memcpy(d->kept[d->waiting++], msg, UNIC_CTL_BYTES);
		return;
	}
	if (d->places && unic_from_le16(hdr.op) == UNIC_CTL_MR_REG) {
		d->refused++;
		hdr.status = unic_to_le16(UNIC_ST_WAIT_FULL);
		memset(msg, 0, sizeof(msg));
		memcpy(msg, &hdr, sizeof(hdr));
	}
	say(d, msg);
}

static void *serve(void *arg)
{
	struct driver *d = arg;
	struct pollfd pfd = { .events = POLLIN | POLLRDHUP };

	d->sock = accept(d->listener, NULL, NULL);
	pfd.fd = d->sock;
	for (;;) {
		if (poll(&pfd, 1, d->waiting ? 10 : -1)) {
			if (pfd.revents & (POLLRDHUP | POLLHUP))
				break;
			serve_one(d);
		} else {
			say(d, d->kept[0]);
			memmove(d->kept[0], d->kept[1],
				--d->waiting * sizeof(d->kept[0]));
		}
	}
	close(d->sock);
	return NULL;
}

static struct unic_conn *open_socket(struct driver *d)
{
	struct unic_conn *conn;

	memset(d, 0, sizeof(*d));
	memset(&sending, 0, sizeof(sending));
	memset(&reading, 0, sizeof(reading));
	d->addr.sun_family = AF_UNIX;
	snprintf(d->addr.sun_path, sizeof(d->addr.sun_path),
		 "/tmp/test_conn.%d.s", (int)getpid());
	d->listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(d->listener, (void *)&d->addr, sizeof(d->addr)),
			 0);
	assert_int_equal(listen(d->listener, 1), 0);
	assert_int_equal(pthread_create(&d->thread, NULL, serve, d), 0);
	assert_int_equal(unic_conn_open(d->addr.sun_path, &conn), 0);
	return conn;
}

static void close_socket(struct driver *d, struct unic_conn *conn)
{
	unic_conn_close(conn);
	pthread_join(d->thread, NULL);
	close(d->listener);
	unlink(d->addr.sun_path);
}

static struct unic_conn *open_device(void)
{
	struct unic_conn *conn;

	memset(&asking, 0, sizeof(asking));
	assert_int_equal(unic_conn_open("/dev/null", &conn), 0);
	assert_true(unic_conn_kernel(conn));
	return conn;
}

static int call_for(struct unic_conn *conn, unsigned int op, int ms)
{
	uint64_t rec[UNIC_CTL_BYTES / 8] = { 0, 0, 0xa5c };
	struct unic_conn_call call = { .rec = rec, .timeout_ms = ms };
	int ret = unic_conn_call(conn, op, &call);

	/* the reply is to this request, also after a retry */
	if (!ret && !unic_conn_kernel(conn))
		assert_int_equal(rec[2], 0xa5c);
	return ret;
}

/* ------------------------------------------------------------------- tests */

struct member {
	pthread_t thread;
	struct unic_conn *conn;
	unsigned int op;
	int ms, ret;
};

static void *calls(void *arg)
{
	struct member *m = arg;
	unsigned int i;

	for (i = 0; i < CALLS && !m->ret; i++)
		m->ret = call_for(m->conn, m->op, m->ms);
	return NULL;
}

static void *one_call(void *arg)
{
	struct member *m = arg;

	m->ret = call_for(m->conn, m->op, m->ms);
	return NULL;
}

static void start(struct member *m, struct unic_conn *conn, unsigned int op,
		  int ms, void *(*what)(void *))
{
	*m = (struct member){ .conn = conn, .op = op, .ms = ms };
	assert_int_equal(pthread_create(&m->thread, NULL, what, m), 0);
}

/* Each of the @n calls at @m returns @want. */
static void join_all(const struct member *m, unsigned int n, int want)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		pthread_join(m[i].thread, NULL);
		assert_int_equal(m[i].ret, want);
	}
}

static void a_crowd_is_answered(void **state)
{
	static struct member m[CROWD];
	struct driver d;
	struct unic_conn *conn = open_socket(&d);
	unsigned int i;

	(void)state;
	for (i = 0; i < CROWD; i++)
		start(&m[i], conn, i % 2 ? OP : UNIC_CTL_MR_DEREG, 0, calls);
	join_all(m, CROWD, 0);
	assert_false(unic_conn_dead(conn));
	close_socket(&d, conn);
}

static void *large_calls(void *arg)
{
	static const uint8_t tail[UNIC_CTL_MSG_MAX - UNIC_CTL_BYTES];
	struct member *m = arg;
	unsigned int i;

	for (i = 0; i < CALLS && !m->ret; i++) {
		uint64_t rec[UNIC_CTL_BYTES / 8] = { 0 };
		struct unic_conn_call call = { .rec = rec,
					       .tail = tail,
					       .tail_bytes = sizeof(tail) };

		m->ret = unic_conn_call(m->conn, m->op, &call);
	}
	return NULL;
}

/* The sockets hold two requests and six replies. A thread that waits to send
 * does not keep the others from reading replies. */
static void who_sends_keeps_nobody_from_reading(void **state)
{
	static struct member m[UNIC_CTL_OPEN_MAX];
	struct driver d;
	struct unic_conn *conn = open_socket(&d);
	int little = 1, some = 2 * UNIC_CTL_MSG_MAX;
	unsigned int i;

	(void)state;
	assert_int_equal(call_for(conn, OP, 0), 0); /* d.sock is set */
	setsockopt(d.sock, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little));
	setsockopt(unic_conn_fd(conn), SOL_SOCKET, SO_SNDBUF, &some,
		   sizeof(some));
	for (i = 0; i < UNIC_CTL_OPEN_MAX; i++)
		start(&m[i], conn, i % 2 ? OP : UNIC_CTL_MR_DEREG, 0,
		      large_calls);
	join_all(m, UNIC_CTL_OPEN_MAX, 0);
	close_socket(&d, conn);
}

/* The thread that reads the socket gets its own reply, 10 ms before the next
 * one is sent: another thread takes over reading at once. */
static void another_reads_at_once(void **state)
{
	static struct member m[3];
	struct driver d;
	struct unic_conn *conn = open_socket(&d);
	uint64_t from = unic_now_ns();
	unsigned int i, k;

	(void)state;
	d.places = 3;
	for (k = 0; k < 2 * ROUNDS; k++) {
		for (i = 0; i < 3; i++)
			start(&m[i], conn, UNIC_CTL_MR_REG, UNIC_CALL_FOREVER,
			      one_call);
		for (i = 0; i < 3; i++)
			pthread_join(m[i].thread, NULL);
	}
	/* a thread that only polled would lose half a second each time */
	assert_in_range(unic_now_ns() - from, 0, ROUNDS * 500000000ull);
	close_socket(&d, conn);
}

static void what_passes_is_waited_for(void **state)
{
	struct driver d;
	struct unic_conn *conn = open_socket(&d);

	(void)state;
	FAIL(sending, EAGAIN, ENOBUFS, EINTR, ENOMEM);
	FAIL(reading, EAGAIN, ENOMEM, EINTR, ENOBUFS);
	assert_int_equal(call_for(conn, OP, 0), 0);
	assert_int_equal(sending.next, 5);
	assert_int_equal(reading.next, 5);
	FAIL(sending, EPIPE);
	assert_int_equal(call_for(conn, OP, 0), -ENOTCONN);
	assert_true(unic_conn_dead(conn));
	close_socket(&d, conn);
}

/* Calls without a time-out, however many, do not delay short calls. */
static void long_calls_stand_in_nobodys_way(void **state)
{
	static struct member m[2 * UNIC_CTL_OPEN_MAX];
	struct driver d;
	struct unic_conn *conn = open_socket(&d);
	unsigned int i;

	(void)state;
	d.holds = true;
	for (i = 0; i < 2 * UNIC_CTL_OPEN_MAX; i++)
		start(&m[i], conn, UNIC_CTL_MR_REG, UNIC_CALL_FOREVER,
		      one_call);
	usleep(100000);
	assert_int_equal(call_for(conn, OP, 0), 0);
	assert_int_equal(call_for(conn, UNIC_CTL_MR_DEREG, 0), 0);
	shutdown(d.sock, SHUT_RDWR);
	join_all(m, 2 * UNIC_CTL_OPEN_MAX, -ENOTCONN);
	close_socket(&d, conn);
}

#define QUEUE 100u /* calls; the driver answers one in 10 ms */

/* The turn of the last calls comes after their time-out, which is for the reply: calls
 * before them end, so they wait on. */
static void a_long_queue_is_no_error(void **state)
{
	static struct member m[QUEUE];
	struct driver d;
	struct unic_conn *conn = open_socket(&d);
	unsigned int i;

	(void)state;
	d.places = PLACES;
	for (i = 0; i < QUEUE; i++)
		start(&m[i], conn, UNIC_CTL_MR_REG, (int)QUEUE * 10 / 2,
		      one_call);
	join_all(m, QUEUE, 0);
	close_socket(&d, conn);
}

/* A call that does not get its turn within its patience returns TOO_MANY;
 * nothing was sent. */
static void a_turn_is_not_waited_for_longer_than_told(void **state)
{
	static struct member m[UNIC_CTL_OPEN_MAX / 2];
	uint64_t rec[UNIC_CTL_BYTES / 8] = { 0 };
	struct unic_conn_call late = { .rec = rec,
				       .timeout_ms = UNIC_CALL_FOREVER,
				       .patience_ms = 50 };
	struct driver d;
	struct unic_conn *conn = open_socket(&d);
	unsigned int i;

	(void)state;
	d.holds = true;
	for (i = 0; i < UNIC_CTL_OPEN_MAX / 2; i++)
		start(&m[i], conn, UNIC_CTL_MR_REG, UNIC_CALL_FOREVER,
		      one_call);
	usleep(100000);
	assert_int_equal(unic_conn_call(conn, UNIC_CTL_MR_REG, &late),
			 UNIC_CTL_ST_TOO_MANY);
	assert_false(unic_conn_dead(conn));
	assert_int_equal(call_for(conn, OP, 0), 0);
	shutdown(d.sock, SHUT_RDWR);
	for (i = 0; i < UNIC_CTL_OPEN_MAX / 2; i++)
		pthread_join(m[i].thread, NULL);
	close_socket(&d, conn);
}

/* The connection learns how many calls may wait in the driver; a call that was
 * refused for want of a place is sent again, unchanged. */
static void places_to_wait_are_found_out(void **state)
{
	static struct member m[UNIC_CTL_OPEN_MAX];
	struct driver d;
	struct unic_conn *conn = open_socket(&d);
	unsigned int i;

	(void)state;
	d.places = 3;
	for (i = 0; i < UNIC_CTL_OPEN_MAX; i++)
		start(&m[i], conn, UNIC_CTL_MR_REG, UNIC_CALL_FOREVER,
		      one_call);
	join_all(m, UNIC_CTL_OPEN_MAX, 0);
	assert_true(d.refused > 0);
	assert_true(d.refused < 2 * UNIC_CTL_OPEN_MAX);
	close_socket(&d, conn);
}

/* WAIT_FULL is returned if no other call of this process holds a place: none of
 * them would free one. */
static void without_a_place_is_told(void **state)
{
	struct driver d;
	struct unic_conn *conn = open_socket(&d);

	(void)state;
	d.places = 1;
	d.waiting = 1;
	memset(d.kept, 0xff, sizeof(d.kept));
	assert_int_equal(call_for(conn, UNIC_CTL_MR_REG, UNIC_CALL_FOREVER),
			 UNIC_ST_WAIT_FULL);
	close_socket(&d, conn);
}

static void a_device_without_room_is_asked_again(void **state)
{
	struct unic_conn *conn = open_device();

	(void)state;
	FAIL(asking, EAGAIN, EINTR, EAGAIN);
	assert_int_equal(call_for(conn, OP, 0), 0);
	assert_int_equal(asking.next, 4);
	FAIL(asking, ENOMEM);
	assert_int_equal(call_for(conn, OP, 0), UNIC_CTL_ST_NO_MEMORY);
	assert_int_equal(call_for(conn, OP, 0), 0);
	FAIL(asking, EAGAIN, EAGAIN, EAGAIN, EAGAIN, EAGAIN, EAGAIN, EAGAIN,
	     EAGAIN);
	assert_int_equal(call_for(conn, OP, 4), UNIC_CTL_ST_TOO_MANY);
	assert_false(unic_conn_dead(conn));
	FAIL(asking, ENODEV);
	assert_int_equal(call_for(conn, OP, 0), -ENOTCONN);
	assert_true(unic_conn_dead(conn));
	unic_conn_close(conn);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crowd_is_answered),
		cmocka_unit_test(who_sends_keeps_nobody_from_reading),
		cmocka_unit_test(another_reads_at_once),
		cmocka_unit_test(what_passes_is_waited_for),
		cmocka_unit_test(long_calls_stand_in_nobodys_way),
		cmocka_unit_test(a_long_queue_is_no_error),
		cmocka_unit_test(a_turn_is_not_waited_for_longer_than_told),
		cmocka_unit_test(places_to_wait_are_found_out),
		cmocka_unit_test(without_a_place_is_told),
		cmocka_unit_test(a_device_without_room_is_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

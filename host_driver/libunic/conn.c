/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#define _GNU_SOURCE
#include "conn.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "conn_dev.h"
#include "conn_turn.h"
#include "error.h"
#include "wait.h"

#define SLICE_MS  500
#define CONNECT_S 2 /* until a driver with a full backlog counts as stopped */
#define NAP_MS	  1 /* between tries, when the kernel has no memory */

struct unic_conn {
	int sock;
	bool device;	      /* `sock` is the character device */
	pthread_mutex_t lock; /* released to send, read and sleep */
	struct unic_turns lane[LANES];
	struct unic_waiter *waiters; /* whose turn has come */
	uint32_t seq;		     /* atomic */
	bool reading;		     /* a thread is in read_one() */
	bool dead;		     /* atomic */
	bool forked;		     /* of the parent of this process */
};

static void set_send_timeout(int sock, time_t seconds)
{
	struct timeval tv = { .tv_sec = seconds };

	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static bool is_device(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISCHR(st.st_mode);
}

static int fail_unreachable(const char *path, int err)
{
	bool device = !strncmp(path, "/dev/", 5);

	if (err == -EACCES || err == -EPERM)
		return unic_fail(err, "no right to use the driver at %s", path);
	return unic_fail(err,
			 "no driver at %s: %s; %s, or name its socket "
			 "(UNIC_SOCKET)",
			 path, strerror(-err),
			 device ? "load unic.ko"
				: "start unicd (unic-run does that for one "
				  "program)");
}

/* connect() succeeds for a stopped driver until its backlog is full; then it waits for
 * the send time-out of the socket. */
static int connect_socket(int sock, const struct sockaddr_un *addr)
{
	uint64_t until = unic_now_ns() + CONNECT_S * 1000000000ull;
	int err;

	set_send_timeout(sock, CONNECT_S);
	do {
		err = connect(sock, (const struct sockaddr *)addr,
			      sizeof(*addr)) < 0
			      ? -errno
			      : 0;
	} while (err == -EINTR && unic_now_ns() < until);
	if (err == -EAGAIN || err == -EINTR)
		return unic_fail(-ENOTCONN,
				 "the driver at %s does not answer; is it "
				 "stopped?",
				 addr->sun_path);
	return err ? fail_unreachable(addr->sun_path, err) : 0;
}

const char *unic_conn_default(void)
{
	const char *path = getenv("UNIC_SOCKET");

	if (path && *path)
		return path;
	return is_device(UNIC_DEVICE) ? UNIC_DEVICE : UNIC_CTL_SOCKET;
}

/* Connect to the driver at @path. Returns the descriptor, or -errno with words. */
static int open_socket(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock;
	int err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return unic_fail(-ENAMETOOLONG, "socket path %s is too long",
				 path);
	strcpy(addr.sun_path, path);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return unic_fail(-errno, "no socket: %s", strerror(errno));
	err = connect_socket(sock, &addr);
	if (err) {
		close(sock);
		return err;
	}
	return sock;
}

/* Initialize @conn, without calls. */
static void init_conn(struct unic_conn *conn)
{
	unsigned int i;

	pthread_mutex_init(&conn->lock, NULL);
	conn->waiters = NULL;
	conn->reading = false;
	for (i = 0; i < LANES; i++)
		unic_turn_init(&conn->lane[i], i);
}

int unic_conn_open(const char *path, struct unic_conn **out)
{
	bool device = is_device(path);
	int sock = device ? unic_dev_open(path) : open_socket(path);
	struct unic_conn *conn;

	if (sock < 0)
		return sock;
	conn = calloc(1, sizeof(*conn));
	if (!conn) {
		close(sock);
		return unic_fail(-ENOMEM, "out of memory");
	}
	conn->sock = sock;
	conn->device = device;
	init_conn(conn);
	*out = conn;
	return 0;
}

void unic_conn_close(struct unic_conn *conn)
{
	if (!conn)
		return;
	if (conn->sock >= 0)
		close(conn->sock);
	pthread_mutex_destroy(&conn->lock);
	free(conn);
}

void unic_conn_forked(struct unic_conn *conn)
{
	if (conn->sock >= 0)
		close(conn->sock);
	conn->sock = -1;
	conn->dead = true;
	conn->forked = true;
	init_conn(conn);
}

bool unic_conn_hung_up(const struct unic_conn *conn)
{
	struct pollfd pfd = { .fd = conn->sock, .events = POLLRDHUP };

	return unic_conn_dead(conn) || poll(&pfd, 1, 0) > 0;
}

int unic_conn_fd(const struct unic_conn *conn)
{
	return conn->sock;
}

bool unic_conn_kernel(const struct unic_conn *conn)
{
	return conn->device;
}

bool unic_conn_dead(const struct unic_conn *conn)
{
	return __atomic_load_n(&conn->dead, __ATOMIC_ACQUIRE);
}

void unic_conn_kill(struct unic_conn *conn)
{
	__atomic_store_n(&conn->dead, true, __ATOMIC_RELEASE);
}

void unic_conn_hang_up(struct unic_conn *conn)
{
	unic_conn_kill(conn);
	if (!conn->device)
		shutdown(conn->sock, SHUT_RDWR);
}

static void close_msg_fds(const int *fds, int n)
{
	while (n > 0)
		close(fds[--n]);
}

/* Pass descriptors of a reply to @call, and close those that it has no room for. */
static void deliver_fds(struct unic_conn_call *call, const int *fds, int n)
{
	int take = n < call->n_fds ? n : call->n_fds;

	if (take)
		memcpy(call->fds, fds, (size_t)take * sizeof(*fds));
	call->n_fds = take;
	close_msg_fds(fds + take, n - take);
}

static void deliver_reply(struct unic_waiter *w, const uint8_t *msg, size_t len,
			  const int *fds, int n_fds)
{
	const struct unic_ctl_hdr *hdr = (const void *)msg;
	struct unic_conn_call *call = w->call;
	size_t tail = len - UNIC_CTL_BYTES;

	memcpy(call->rec, msg, UNIC_CTL_BYTES);
	call->reply_bytes = tail < call->reply_room ? tail : call->reply_room;
	if (call->reply_bytes)
		memcpy(call->reply_tail, msg + UNIC_CTL_BYTES,
		       call->reply_bytes);
	deliver_fds(call, fds, n_fds);
	w->status = unic_from_le16(hdr->status);
	w->done = true;
	pthread_cond_signal(&w->cond);
}

/* Pass a reply to the waiter with its number. A malformed one ends the connection. */
static void dispatch_reply(struct unic_conn *conn, const uint8_t *msg,
			   size_t len, const int *fds, int n_fds)
{
	const struct unic_ctl_hdr *hdr = (const void *)msg;
	struct unic_waiter *w;

	if (len < UNIC_CTL_BYTES ||
	    unic_from_le32(hdr->tail_bytes) != len - UNIC_CTL_BYTES) {
		unic_conn_kill(conn);
		close_msg_fds(fds, n_fds);
		return;
	}
	for (w = conn->waiters; w; w = w->next) {
		if (!w->done && w->call->seq == unic_from_le32(hdr->seq)) {
			deliver_reply(w, msg, len, fds, n_fds);
			return;
		}
	}
	close_msg_fds(fds, n_fds); /* no waiter: the call was given up */
}

static int read_fds(struct msghdr *mh, int *fds)
{
	struct cmsghdr *c;
	int n = 0;

	for (c = CMSG_FIRSTHDR(mh); c; c = CMSG_NXTHDR(mh, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		n = n > UNIC_CONN_FDS ? UNIC_CONN_FDS : n;
		memcpy(fds, CMSG_DATA(c), (size_t)n * sizeof(int));
	}
	return n;
}

/* True if a system call that failed with @err may succeed when repeated. */
static bool is_transient(int err)
{
	return err == EAGAIN || err == EINTR || err == ENOBUFS || err == ENOMEM;
}

static void sleep_backoff(void)
{
	poll(NULL, 0, NAP_MS);
}

/* The time left until @until_ns, at most a slice, in ms; 0: none is left. */
static int slice_ms(int64_t until_ns)
{
	int64_t left = until_ns < 0 ? INT64_MAX
				    : until_ns - (int64_t)unic_now_ns();

	if (left <= 0)
		return 0;
	return left > SLICE_MS * 1000000ll ? SLICE_MS
					   : (int)(left / 1000000) + 1;
}

static int64_t deadline_after_ms(int ms)
{
	return ms < 0 ? -1 : (int64_t)unic_now_ns() + ms * 1000000ll;
}

/* ------------------------------------------------------------------ replies */

/*
 * A thread that waits for a reply while no other one reads, reads for all threads until
 * its own reply is there. Each request sent has its thread in await_reply(), so while a
 * reply is outstanding, one thread reads, whether or not others block in sending.
 */

static void wake_all(struct unic_conn *conn)
{
	struct unic_waiter *w;

	for (w = conn->waiters; w; w = w->next)
		pthread_cond_signal(&w->cond);
}

/* Read one reply, for @ms at most. Called and returns with the lock held, which is
 * released during the wait. */
static void read_one(struct unic_conn *conn, int ms)
{
	_Alignas(8) uint8_t msg[UNIC_CTL_MSG_MAX];
	_Alignas(8) char ctrl[CMSG_SPACE(UNIC_CONN_FDS * sizeof(int))];
	struct iovec iov = { .iov_base = msg, .iov_len = sizeof(msg) };
	struct msghdr mh = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = ctrl,
		.msg_controllen = sizeof(ctrl),
	};
	struct pollfd pfd = { .fd = conn->sock, .events = POLLIN };
	int fds[UNIC_CONN_FDS];
	ssize_t len;
	int err = 0;

	conn->reading = true;
	pthread_mutex_unlock(&conn->lock);
	len = poll(&pfd, 1, ms);
	if (len > 0)
		len = recvmsg(conn->sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	else if (!len)
		err = EAGAIN;
	if (len < 0)
		err = errno;
	if (!len && !err)
		err = ENOTCONN;
	if (err && !is_transient(err))
		unic_conn_kill(conn);
	if (err == ENOMEM || err == ENOBUFS)
		sleep_backoff();
	pthread_mutex_lock(&conn->lock);
	conn->reading = false;
	if (len > 0)
		dispatch_reply(conn, msg, (size_t)len, fds, read_fds(&mh, fds));
	if (unic_conn_dead(conn))
		wake_all(conn);
}

/* Wake a waiter to read, because the reader has its own reply. */
static void wake_next_reader(struct unic_conn *conn)
{
	struct unic_waiter *w = conn->waiters;

	if (conn->reading)
		return;
	while (w && (!w->asleep || w->done))
		w = w->next;
	if (w)
		pthread_cond_signal(&w->cond);
}

static int await_reply(struct unic_conn *conn, struct unic_waiter *w,
		       int64_t until_ns)
{
	int ms;

	while (!w->done) {
		if (unic_conn_dead(conn))
			return -ENOTCONN;
		ms = slice_ms(until_ns);
		if (!ms) {
			unic_conn_kill(conn);
			wake_all(conn);
			return -ETIMEDOUT;
		}
		if (!conn->reading) {
			read_one(conn, ms);
			continue;
		}
		w->asleep = true;
		unic_cond_wait_ms(&w->cond, &conn->lock, ms);
		w->asleep = false;
	}
	wake_next_reader(conn);
	return w->status;
}

/* --------------------------------------------------------------- submission */

/* Send the request of @call. The socket may be full for a while: the driver is busy, or
 * replies are unread. 0, -ETIMEDOUT, -ENOTCONN, or UNIC_CTL_ST_NO_MEMORY: the kernel had
 * no memory until the time-out, and nothing was sent. */
static int transmit_call(struct unic_conn *conn,
			 const struct unic_conn_call *call)
{
	struct iovec iov[2] = {
		{ .iov_base = call->rec, .iov_len = UNIC_CTL_BYTES },
		{ .iov_base = (void *)call->tail, .iov_len = call->tail_bytes },
	};
	struct msghdr mh = {
		.msg_iov = iov,
		.msg_iovlen = call->tail_bytes ? 2 : 1,
	};
	struct pollfd pfd = { .fd = conn->sock, .events = POLLOUT };
	int64_t until = deadline_after_ms(UNIC_CALL_MS);
	int ms, err;

	while (sendmsg(conn->sock, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		err = errno;
		if (!is_transient(err) || unic_conn_dead(conn))
			return -ENOTCONN;
		ms = slice_ms(until);
		if (!ms)
			return err == EAGAIN ? -ETIMEDOUT
					     : UNIC_CTL_ST_NO_MEMORY;
		if (err != EAGAIN)
			sleep_backoff();
		else
			poll(&pfd, 1, ms);
	}
	return 0;
}

static void remove_waiter(struct unic_conn *conn, struct unic_waiter *w)
{
	struct unic_waiter **p = &conn->waiters;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
}

/* Send the call of @w and wait for its reply. Called and returns with the lock held, as
 * all functions below. */
static int call_socket(struct unic_conn *conn, struct unic_waiter *w,
		       int64_t until_ns)
{
	int ret;

	w->done = false;
	w->next = conn->waiters;
	/* @w leaves the list before its caller returns. */
	/* cppcheck-suppress autoVariables */
	conn->waiters = w;
	pthread_mutex_unlock(&conn->lock);
	ret = transmit_call(conn, w->call);
	pthread_mutex_lock(&conn->lock);
	if (ret < 0) {
		unic_conn_kill(conn);
		wake_all(conn);
	}
	if (!ret)
		ret = await_reply(conn, w, until_ns);
	remove_waiter(conn, w);
	return ret;
}

/* As call_socket(), by the device: each call is one ioctl(). */
static int call_device(struct unic_conn *conn, struct unic_waiter *w,
		       int64_t until_ns)
{
	int ret;

	pthread_mutex_unlock(&conn->lock);
	ret = unic_dev_call(conn->sock, w->call, until_ns);
	if (ret < 0)
		unic_conn_kill(conn);
	pthread_mutex_lock(&conn->lock);
	return ret;
}

/* -------------------------------------------------------------------- turns */

/* How long @w waits for its turn: until @until_ns if it has patience_ms, else until no
 * call has ended for the @ms of a reply. So a long queue is no error. */
static int turn_slice_ms(const struct unic_turns *q,
			 const struct unic_waiter *w, int64_t until_ns, int ms)
{
	int64_t moved = (int64_t)q->ended_ns + ms * 1000000ll;

	if (!w->call->patience_ms && until_ns >= 0 && moved > until_ns)
		until_ns = moved;
	return slice_ms(until_ns);
}

/* Wait for the turn of @w, which is in its queue. 0; -ENOTCONN; UNIC_CTL_ST_TOO_MANY:
 * the turn did not come in time. @until_ns, @ms: as for turn_slice_ms(). */
static int wait_turn(struct unic_conn *conn, struct unic_waiter *w,
		     int64_t until_ns, int ms)
{
	struct unic_turns *q = &conn->lane[w->lane];
	int left = 1;

	unic_turn_grant(q);
	while (!w->has_turn && !unic_conn_dead(conn)) {
		left = turn_slice_ms(q, w, until_ns, ms);
		if (!left)
			break;
		unic_cond_wait_ms(&w->cond, &conn->lock, left);
	}
	if (w->has_turn)
		return 0;
	unic_turn_leave(q, w);
	return left ? -ENOTCONN : UNIC_CTL_ST_TOO_MANY;
}

static int call_once(struct unic_conn *conn, struct unic_waiter *w, int ms)
{
	if (unic_conn_dead(conn))
		return -ENOTCONN;
	return conn->device ? call_device(conn, w, deadline_after_ms(ms))
			    : call_socket(conn, w, deadline_after_ms(ms));
}

/* Wait for the turn of @w, then call. The time-out @ms of the reply begins with the
 * turn. */
static int call_in_turn(struct unic_conn *conn, struct unic_waiter *w, int ms)
{
	struct unic_turns *q = &conn->lane[w->lane];
	int64_t until = deadline_after_ms(
		w->call->patience_ms ? w->call->patience_ms : ms);
	uint64_t request[UNIC_CTL_BYTES / 8];
	int ret;

	memcpy(request, w->call->rec, sizeof(request));
	unic_turn_enter(q, w);
	while (!(ret = wait_turn(conn, w, until, ms))) {
		ret = call_once(conn, w, ms);
		if (!unic_turn_again(q, w, ret)) {
			unic_turn_end(q, w->lane);
			break;
		}
		memcpy(w->call->rec, request, sizeof(request));
	}
	return ret;
}

static uint32_t next_seq(struct unic_conn *conn)
{
	uint32_t seq;

	do
		seq = __atomic_add_fetch(&conn->seq, 1, __ATOMIC_RELAXED);
	while (!seq);
	return seq;
}

int unic_conn_call(struct unic_conn *conn, unsigned int op,
		   struct unic_conn_call *call)
{
	struct unic_ctl_hdr *hdr = call->rec;
	struct unic_waiter w = { .call = call,
				 .lane = unic_turn_lane(op, call) };
	int ret;

	call->reply_bytes = 0;
	if (conn->forked)
		return -EOWNERDEAD;
	hdr->op = unic_to_le16((uint16_t)op);
	hdr->status = unic_to_le16(0);
	hdr->tail_bytes = unic_to_le32((uint32_t)call->tail_bytes);
	__atomic_store_n(&call->seq, next_seq(conn), __ATOMIC_RELEASE);
	hdr->seq = unic_to_le32(call->seq);
	unic_cond_init(&w.cond);
	pthread_mutex_lock(&conn->lock);
	ret = call_in_turn(conn, &w,
			   call->timeout_ms ? call->timeout_ms : UNIC_CALL_MS);
	pthread_mutex_unlock(&conn->lock);
	pthread_cond_destroy(&w.cond);
	return ret;
}

int unic_conn_simple(struct unic_conn *conn, unsigned int op, void *rec,
		     const char *what)
{
	struct unic_conn_call call = { .rec = rec };

	return unic_fail_status(what, unic_conn_call(conn, op, &call));
}

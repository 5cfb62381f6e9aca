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
#include "error.h"
#include "wait.h"

#define SLICE_MS  500
#define CONNECT_S 2 /* a full backlog for so long: the driver is stopped */

struct waiter {
	struct unic_call *call;
	struct waiter *next;
	bool done;
	int status;
};

struct unic_conn {
	int sock;
	bool device; /* and no socket */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct waiter *waiters;
	uint32_t seq; /* atomic */
	bool reading; /* some thread is at the socket */
	bool dead;
};

static void limit(int sock, time_t seconds)
{
	struct timeval tv = { .tv_sec = seconds };

	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

static bool is_device(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISCHR(st.st_mode);
}

static int unreachable(const char *path, int err)
{
	bool device = !strncmp(path, "/dev/", 5);

	if (err == -EACCES || err == -EPERM)
		return unic_fail(err, "no right to use the driver at %s", path);
	return unic_fail(err,
			 "no driver at %s: %s; %s, or name its socket "
			 "(UNIC_SOCKET)",
			 path, strerror(-err),
			 device ? "load unic.ko" : "start unicd");
}

/* The kernel accepts for a driver that is stopped until its backlog is full;
 * then connect() waits as long as it may send. */
static int reach(int sock, const struct sockaddr_un *addr)
{
	uint64_t until = unic_now_ns() + CONNECT_S * 1000000000ull;
	int err;

	limit(sock, CONNECT_S);
	do {
		err = connect(sock, (const struct sockaddr *)addr,
			      sizeof(*addr)) < 0
			      ? -errno
			      : 0;
	} while (err == -EINTR && unic_now_ns() < until);
	limit(sock, UNIC_CALL_MS / 1000);
	if (err == -EAGAIN || err == -EINTR)
		return unic_fail(-ENOTCONN,
				 "the driver at %s does not answer; is it "
				 "stopped?",
				 addr->sun_path);
	return err ? unreachable(addr->sun_path, err) : 0;
}

const char *unic_conn_default(void)
{
	const char *path = getenv("UNIC_SOCKET");

	if (path && *path)
		return path;
	return is_device(UNIC_DEVICE) ? UNIC_DEVICE : UNIC_CTL_SOCKET;
}

/* The socket, or -errno with words. */
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
	err = reach(sock, &addr);
	if (err) {
		close(sock);
		return err;
	}
	return sock;
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
	pthread_mutex_init(&conn->lock, NULL);
	unic_cond_init(&conn->cond);
	*out = conn;
	return 0;
}

void unic_conn_close(struct unic_conn *conn)
{
	if (!conn)
		return;
	if (conn->sock >= 0)
		close(conn->sock);
	pthread_cond_destroy(&conn->cond);
	pthread_mutex_destroy(&conn->lock);
	free(conn);
}

void unic_conn_forked(struct unic_conn *conn)
{
	close(conn->sock);
	conn->sock = -1;
	conn->dead = true;
	conn->waiters = NULL;
	pthread_mutex_init(&conn->lock, NULL);
	unic_cond_init(&conn->cond);
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

static void close_fds(const int *fds, int n)
{
	while (n > 0)
		close(fds[--n]);
}

/* Descriptors nobody asked for must not leak. */
static void give_fds(struct unic_call *call, const int *fds, int n)
{
	int take = n < call->n_fds ? n : call->n_fds;

	if (take)
		memcpy(call->fds, fds, (size_t)take * sizeof(*fds));
	call->n_fds = take;
	close_fds(fds + take, n - take);
}

static void give(struct waiter *w, const uint8_t *msg, size_t len,
		 const int *fds, int n_fds)
{
	const struct unic_ctl_hdr *hdr = (const void *)msg;
	struct unic_call *call = w->call;
	size_t tail = len - UNIC_CTL_BYTES;

	memcpy(call->rec, msg, UNIC_CTL_BYTES);
	call->reply_bytes = tail < call->reply_room ? tail : call->reply_room;
	if (call->reply_bytes)
		memcpy(call->reply_tail, msg + UNIC_CTL_BYTES,
		       call->reply_bytes);
	give_fds(call, fds, n_fds);
	w->status = unic_from_le16(hdr->status);
	w->done = true;
}

/* A reply for somebody, or nonsense, which ends the connection. */
static void dispatch(struct unic_conn *conn, const uint8_t *msg, size_t len,
		     const int *fds, int n_fds)
{
	const struct unic_ctl_hdr *hdr = (const void *)msg;
	struct waiter *w;

	if (len < UNIC_CTL_BYTES ||
	    unic_from_le32(hdr->tail_bytes) != len - UNIC_CTL_BYTES) {
		unic_conn_kill(conn);
		close_fds(fds, n_fds);
		return;
	}
	for (w = conn->waiters; w; w = w->next) {
		if (!w->done && w->call->seq == unic_from_le32(hdr->seq)) {
			give(w, msg, len, fds, n_fds);
			return;
		}
	}
	close_fds(fds, n_fds); /* of a call that was given up */
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

/* Called and returns with the lock held; it is not held while waiting. */
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
	ssize_t len = -1;

	conn->reading = true;
	pthread_mutex_unlock(&conn->lock);
	errno = EAGAIN;
	if (poll(&pfd, 1, ms) > 0)
		len = recvmsg(conn->sock, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (!len || (len < 0 && errno != EAGAIN && errno != EINTR))
		unic_conn_kill(conn);
	pthread_mutex_lock(&conn->lock);
	conn->reading = false;
	if (len > 0)
		dispatch(conn, msg, (size_t)len, fds, read_fds(&mh, fds));
	pthread_cond_broadcast(&conn->cond);
}

static int transmit(struct unic_conn *conn, const struct unic_call *call)
{
	struct iovec iov[2] = {
		{ .iov_base = call->rec, .iov_len = UNIC_CTL_BYTES },
		{ .iov_base = (void *)call->tail, .iov_len = call->tail_bytes },
	};
	struct msghdr mh = {
		.msg_iov = iov,
		.msg_iovlen = call->tail_bytes ? 2 : 1,
	};
	ssize_t n;

	/* With a time limit the kernel does not go on after a signal. */
	do {
		n = sendmsg(conn->sock, &mh, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -ENOTCONN : 0;
}

static int await(struct unic_conn *conn, struct waiter *w, int64_t until_ns)
{
	int64_t left;
	int ms;

	while (!w->done) {
		if (conn->dead)
			return -ENOTCONN;
		left = until_ns < 0 ? INT64_MAX
				    : until_ns - (int64_t)unic_now_ns();
		if (left <= 0) {
			unic_conn_kill(conn);
			return -ETIMEDOUT;
		}
		ms = left > SLICE_MS * 1000000ll ? SLICE_MS
						 : (int)(left / 1000000) + 1;
		if (conn->reading)
			unic_cond_wait_ms(&conn->cond, &conn->lock, ms);
		else
			read_one(conn, ms);
	}
	return w->status;
}

/* Each thread waits in a system call of its own. */
static int call_device(struct unic_conn *conn, struct unic_call *call,
		       int64_t until_ns)
{
	int ret;

	if (unic_conn_dead(conn))
		return -ENOTCONN;
	ret = unic_dev_call(conn->sock, call, until_ns);
	if (ret < 0)
		unic_conn_kill(conn);
	return ret;
}

static void forget(struct unic_conn *conn, struct waiter *w)
{
	struct waiter **p = &conn->waiters;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
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
		   struct unic_call *call)
{
	struct unic_ctl_hdr *hdr = call->rec;
	struct waiter w = { .call = call };
	int64_t until = -1;
	int ret;

	if (call->timeout_ms >= 0)
		until = (int64_t)unic_now_ns() +
			(call->timeout_ms ? call->timeout_ms : UNIC_CALL_MS) *
				1000000ll;
	call->reply_bytes = 0;
	hdr->op = unic_to_le16((uint16_t)op);
	hdr->status = unic_to_le16(0);
	hdr->tail_bytes = unic_to_le32((uint32_t)call->tail_bytes);
	__atomic_store_n(&call->seq, next_seq(conn), __ATOMIC_RELEASE);
	hdr->seq = unic_to_le32(call->seq);
	if (conn->device)
		return call_device(conn, call, until);
	pthread_mutex_lock(&conn->lock);
	w.next = conn->waiters;
	/* It leaves the list before this function returns. */
	/* cppcheck-suppress autoVariables */
	conn->waiters = &w;
	ret = conn->dead ? -ENOTCONN : transmit(conn, call);
	if (ret)
		unic_conn_kill(conn);
	else
		ret = await(conn, &w, until);
	forget(conn, &w);
	pthread_mutex_unlock(&conn->lock);
	return ret;
}

int unic_conn_simple(struct unic_conn *conn, unsigned int op, void *rec,
		     const char *what)
{
	struct unic_call call = { .rec = rec };

	return unic_fail_status(what, unic_conn_call(conn, op, &call));
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "ivshmem_client.h"
#include "unic_bus.h"

#define IVSHMEM_SHM (-1)
#define NAP_NS	    20000000l /* between two attempts to connect */

struct news {
	int64_t value;
	int fd; /* -1: none; the caller closes it */
};

/* -------------------------------------------------------------- messages */

/* The server gives memory to write to, so it must be root's or this user's. */
static int check_server(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	return cred.uid && cred.uid != geteuid() ? -EPERM : 0;
}

static int open_socket(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		err = check_server(fd);
	else
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int take_fd(struct msghdr *msg)
{
	struct cmsghdr *ctl = CMSG_FIRSTHDR(msg);
	int fd;

	if (!ctl || ctl->cmsg_level != SOL_SOCKET ||
	    ctl->cmsg_type != SCM_RIGHTS ||
	    ctl->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(ctl), sizeof(fd));
	return fd;
}

/* Returns 1 with a message, 0 if none is complete yet, -errno at the end. */
static int receive_message(struct ivshmem_client *c, struct news *news)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct iovec iov = { .iov_base = (char *)&c->part + c->have,
			     .iov_len = sizeof(c->part) - (size_t)c->have };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = ctl.buf,
			      .msg_controllen = sizeof(ctl.buf) };
	ssize_t n = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	/* without its descriptor it would mean that a peer left */
	if (msg.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	news->fd = take_fd(&msg);
	c->have += (int)n;
	if (c->have < (int)sizeof(c->part)) {
		if (news->fd >= 0)
			close(news->fd);
		return news->fd >= 0 ? -EPROTO : 0;
	}
	c->have = 0;
	news->value = (int64_t)le64toh((uint64_t)c->part);
	return 1;
}

static int remaining_ms(const struct timespec *end)
{
	struct timespec now;
	long long ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (end->tv_sec - now.tv_sec) * 1000ll +
	     (end->tv_nsec - now.tv_nsec) / 1000000;
	return ms > 0 ? (int)ms : 0;
}

static int await_message(struct ivshmem_client *c, struct news *news,
			 const struct timespec *end)
{
	struct pollfd pfd = { .fd = c->fd, .events = POLLIN };
	int got, ms;

	for (;;) {
		got = receive_message(c, news);
		if (got)
			return got;
		ms = remaining_ms(end);
		if (!ms)
			return -ETIMEDOUT;
		if (poll(&pfd, 1, ms) < 0 && errno != EINTR)
			return -errno;
	}
}

/* ----------------------------------------------------------------- peers */

static void close_peer(struct ivshmem_client *c, int peer)
{
	while (c->count[peer])
		close(c->event[peer][--c->count[peer]]);
}

static void window_news(struct ivshmem_client *c, const struct news *news)
{
	uint64_t w = (uint64_t)(UNIC_BUS_WINDOW - news->value);

	if (w >= IVSHMEM_CLIENT_WINDOWS || news->fd < 0) {
		if (news->fd >= 0)
			close(news->fd);
		return;
	}
	if (c->fresh >> w & 1)
		close(c->window_fd[w]);
	c->window_fd[w] = news->fd;
	c->fresh |= 1u << w;
	c->due[w]++;
}

/* A peer with a descriptor: its next doorbell. Without: it left. */
static void peer_news(struct ivshmem_client *c, const struct news *news)
{
	int peer = (int)news->value;

	if (news->value <= UNIC_BUS_WINDOW) {
		window_news(c, news);
		return;
	}
	if (news->value < 0 || news->value >= IVSHMEM_CLIENT_PEERS) {
		if (news->fd >= 0)
			close(news->fd);
		return;
	}
	if (news->fd < 0)
		close_peer(c, peer);
	else if (c->count[peer] < c->vectors)
		c->event[peer][c->count[peer]++] = news->fd;
	else
		close(news->fd);
}

static int read_greeting(struct ivshmem_client *c, const struct timespec *end)
{
	struct news version, id, shm;
	struct stat st;
	int got;

	got = await_message(c, &version, end);
	if (got < 0)
		return got;
	c->version = version.value;
	if (c->version != IVSHMEM_CLIENT_VERSION)
		return -EPROTONOSUPPORT;
	got = await_message(c, &id, end);
	if (got < 0)
		return got;
	got = await_message(c, &shm, end);
	if (got < 0)
		return got;
	c->shm_fd = shm.fd;
	if (id.value < 0 || id.value >= IVSHMEM_CLIENT_PEERS ||
	    shm.value != IVSHMEM_SHM || shm.fd < 0 || fstat(shm.fd, &st))
		return -EPROTO;
	c->id = (int)id.value;
	c->shm_bytes = (uint64_t)st.st_size;
	return 0;
}

static int await_doorbells(struct ivshmem_client *c, const struct timespec *end)
{
	struct news news;
	int got;

	while (c->count[c->id] < c->vectors) {
		got = await_message(c, &news, end);
		if (got < 0)
			return got == -ETIMEDOUT ? -EPROTO : got;
		peer_news(c, &news);
	}
	return 0;
}

static struct timespec moment_in(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000l;
	return t;
}

/* open_socket() of a server that may come within @wait_ms. */
static int await_socket(const char *path, int wait_ms)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct timespec end = moment_in(wait_ms);
	int fd;

	for (;;) {
		fd = open_socket(path);
		if ((fd != -ENOENT && fd != -ECONNREFUSED) ||
		    !remaining_ms(&end))
			return fd;
		nanosleep(&nap, NULL);
	}
}

int ivshmem_client_connect(struct ivshmem_client *c, const char *path,
			   int vectors, int wait_ms, int timeout_ms)
{
	struct timespec end;
	int err;

	memset(c, 0, sizeof(*c));
	c->shm_fd = -1;
	c->vectors = vectors;
	c->fd = await_socket(path, wait_ms);
	if (c->fd < 0)
		return c->fd;
	end = moment_in(timeout_ms);
	err = vectors < 1 || vectors > IVSHMEM_CLIENT_VECTORS ? -EINVAL : 0;
	if (!err)
		err = read_greeting(c, &end);
	if (!err)
		err = await_doorbells(c, &end);
	if (err)
		ivshmem_client_close(c);
	return err;
}

int ivshmem_client_news(struct ivshmem_client *c)
{
	struct news news;
	int got;

	if (c->fd < 0)
		return -ENOTCONN;
	while ((got = receive_message(c, &news)) > 0)
		peer_news(c, &news);
	return got;
}

int ivshmem_client_window(struct ivshmem_client *c, int *fd)
{
	int w = c->fresh ? __builtin_ctz(c->fresh) : -1;

	if (w < 0)
		return -1;
	*fd = c->window_fd[w];
	c->fresh &= ~(1u << w);
	return w;
}

static bool send_mapped(struct ivshmem_client *c, int w)
{
	int64_t le = (int64_t)htole64((uint64_t)(int64_t)(UNIC_BUS_WINDOW - w));

	return send(c->fd, &le, sizeof(le), MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)sizeof(le);
}

void ivshmem_client_mapped(struct ivshmem_client *c)
{
	int w;

	for (w = 0; w < IVSHMEM_CLIENT_WINDOWS; w++)
		while (c->due[w] && !(c->fresh >> w & 1) && send_mapped(c, w))
			c->due[w]--;
}

void ivshmem_client_ring(const struct ivshmem_client *c, uint32_t peer,
			 uint32_t vector)
{
	if (peer < IVSHMEM_CLIENT_PEERS && (int)vector < c->count[peer])
		(void)eventfd_write(c->event[peer][vector], 1);
}

int ivshmem_client_event(const struct ivshmem_client *c, int vector)
{
	return vector >= 0 && vector < c->count[c->id] ? c->event[c->id][vector]
						       : -1;
}

void ivshmem_client_close(struct ivshmem_client *c)
{
	int peer;

	int fd;

	for (peer = 0; peer < IVSHMEM_CLIENT_PEERS; peer++)
		close_peer(c, peer);
	while (ivshmem_client_window(c, &fd) >= 0)
		close(fd);
	if (c->shm_fd >= 0)
		close(c->shm_fd);
	if (c->fd >= 0)
		close(c->fd);
	c->shm_fd = -1;
	c->fd = -1;
}

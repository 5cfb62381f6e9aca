// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ivshmem_server.h"
#include "peer_pidfd.h"
#include "run_dir.h"
#include "send_fds.h"
#include "unic_bus.h"

#define IVSHMEM_PROTOCOL 0
#define IVSHMEM_SHM	 (-1)

_Static_assert(IVSHMEM_WINDOWS_MAX == UNIC_BUS_SLOTS_MAX, "a window for each");

/* One message: a little-endian number, with or without a descriptor. */
static bool send_one(int to, int64_t value, int fd)
{
	int64_t le = (int64_t)htole64((uint64_t)value);

	return send_fds(to, &le, sizeof(le), &fd, fd >= 0);
}

/* Sends peer @to the doorbells of peer @about, unless @to has them. */
static bool send_doorbells(struct ivshmem_server *srv, int to, int about)
{
	int v;

	if (srv->peer[to].told >> about & 1)
		return true;
	srv->peer[to].told |= 1u << about;
	for (v = 0; v < srv->vectors; v++)
		if (!send_one(srv->peer[to].fd, about,
			      srv->peer[about].event[v]))
			return false;
	return true;
}

static void close_doorbells(struct ivshmem_peer *peer)
{
	int v;

	for (v = 0; v < IVSHMEM_VECTORS_MAX; v++) {
		if (peer->event[v] >= 0)
			close(peer->event[v]);
		peer->event[v] = -1;
	}
}

/* Never waits, by RWF_NOWAIT: the holders of the doorbell share O_NONBLOCK, and
 * may clear it. */
static void drain_eventfd(int fd)
{
	eventfd_t junk;
	struct iovec iov = { .iov_base = &junk, .iov_len = sizeof(junk) };

	if (preadv2(fd, &iov, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP)
		(void)eventfd_read(fd, &junk); /* Linux before 5.8 */
}

/* Drains doorbells that a former holder of the number did not read. */
static void quiet_doorbells(const struct ivshmem_server *srv, int p)
{
	int v;

	for (v = 0; v < srv->vectors; v++)
		drain_eventfd(srv->peer[p].event[v]);
}

static int make_doorbells(struct ivshmem_server *srv, int p)
{
	struct ivshmem_peer *peer = &srv->peer[p];
	int v, err;

	if (peer->event[0] >= 0) {
		quiet_doorbells(srv, p);
		return 0;
	}
	for (v = 0; v < srv->vectors; v++) {
		peer->event[v] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (peer->event[v] >= 0)
			continue;
		err = -errno;
		close_doorbells(peer);
		return err;
	}
	return 0;
}

/* What epoll watches. A client that left is searched for, so its number is not
 * needed. */
enum watched {
	WATCHED_LISTEN,
	WATCHED_HOST, /* listener of peer 0 */
	WATCHED_MAPPING,
	WATCHED_CLIENT,
};

static bool watch_server_fd(struct ivshmem_server *srv, int fd,
			    enum watched what)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = what };

	return !epoll_ctl(srv->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

int ivshmem_server_init(struct ivshmem_server *srv, int listen_fd, int shm_fd,
			int vectors, int peers)
{
	int p, err = -EINVAL;

	memset(srv, 0, sizeof(*srv));
	srv->listen_fd = listen_fd;
	srv->host_fd = -1;
	srv->map_fd = -1;
	srv->shm_fd = shm_fd;
	srv->vectors = vectors;
	srv->peers = peers;
	srv->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (p = 0; p < IVSHMEM_PEERS_MAX; p++) {
		srv->peer[p].fd = -1;
		srv->peer[p].process = -1;
		memset(srv->peer[p].event, 0xff, sizeof(srv->peer[p].event));
	}
	if (vectors < 1 || vectors > IVSHMEM_VECTORS_MAX || peers < 2 ||
	    peers > IVSHMEM_PEERS_MAX)
		goto fail;
	err = make_doorbells(srv, 0);
	if (err)
		goto fail;
	if (watch_server_fd(srv, listen_fd, WATCHED_LISTEN))
		return 0;
	err = -errno;
fail:
	ivshmem_server_fini(srv);
	return err;
}

int ivshmem_server_admit_host(struct ivshmem_server *srv, int listen_fd)
{
	srv->host_fd = listen_fd;
	return watch_server_fd(srv, listen_fd, WATCHED_HOST) ? 0 : -errno;
}

int ivshmem_server_admit_mapping(struct ivshmem_server *srv, int listen_fd,
				 const int *window_fd, int windows)
{
	srv->map_fd = listen_fd;
	srv->window_fd = window_fd;
	srv->windows = windows;
	return watch_server_fd(srv, listen_fd, WATCHED_MAPPING) ? 0 : -errno;
}

int ivshmem_server_add_number(struct ivshmem_server *srv, int p)
{
	int err = p >= srv->peers && p < IVSHMEM_PEERS_MAX
			  ? make_doorbells(srv, p)
			  : -EINVAL;

	if (err)
		return err;
	srv->extra = p;
	return srv->peer[p].event[0];
}

int ivshmem_server_end(struct ivshmem_server *srv)
{
	int p, failed = 0;

	for (p = 1; p < srv->peers; p++)
		if (srv->peer[p].fd >= 0)
			failed += syscall(SYS_pidfd_send_signal,
					  srv->peer[p].process, SIGKILL, NULL,
					  0) != 0;
	return failed;
}

int ivshmem_server_fd(const struct ivshmem_server *srv)
{
	return srv->epoll_fd;
}

static void drop_peer(struct ivshmem_server *srv, int p)
{
	close(srv->peer[p].fd);
	if (srv->peer[p].process >= 0)
		close(srv->peer[p].process);
	srv->peer[p].fd = -1;
	srv->peer[p].process = -1;
	srv->peer[p].told = 0;
	srv->peer[p].maps = false;
	memset(srv->peer[p].owes, 0, sizeof(srv->peer[p].owes));
}

static bool send_window(struct ivshmem_server *srv, int p, int w)
{
	if (srv->peer[p].owes[w] == UINT8_MAX ||
	    !send_one(srv->peer[p].fd, UNIC_BUS_WINDOW - w, srv->window_fd[w]))
		return false;
	srv->peer[p].owes[w]++;
	return true;
}

static bool send_windows(struct ivshmem_server *srv, int p)
{
	int w;

	for (w = 0; srv->peer[p].maps && w < srv->windows; w++)
		if (!send_window(srv, p, w))
			return false;
	return true;
}

/* Sends a new peer its number, the memory, the windows, all peers there are, and
 * last its own doorbells. */
static bool send_initial_state(struct ivshmem_server *srv, int p)
{
	int to = srv->peer[p].fd, q;

	if (!send_one(to, IVSHMEM_PROTOCOL, -1) || !send_one(to, p, -1) ||
	    !send_one(to, IVSHMEM_SHM, srv->shm_fd) || !send_windows(srv, p))
		return false;
	for (q = 0; q < srv->peers; q++)
		if (q != p && (q == 0 || srv->peer[q].fd >= 0) &&
		    !send_doorbells(srv, p, q))
			return false;
	if (!p && srv->extra && !send_doorbells(srv, p, srv->extra))
		return false;
	return send_doorbells(srv, p, p);
}

/* A free number for a client that connects at @door, or -EUSERS. */
static int find_free_number(const struct ivshmem_server *srv, enum watched door)
{
	int p;

	if (door == WATCHED_HOST)
		return srv->peer[0].fd < 0 ? 0 : -EUSERS;
	for (p = 1; p < srv->peers; p++)
		if (srv->peer[p].fd < 0)
			return p;
	return -EUSERS;
}

static int count_refused(struct ivshmem_server *srv, int err)
{
	if (err != EAGAIN && err != EINTR && err != ECONNABORTED) {
		srv->refused++;
		srv->refused_errno = err;
	}
	return -1;
}

static int listen_fd_of(const struct ivshmem_server *srv, enum watched door)
{
	return door == WATCHED_HOST	 ? srv->host_fd
	       : door == WATCHED_MAPPING ? srv->map_fd
					 : srv->listen_fd;
}

/*
 * Returns the new peer's number, or -1. Shuts down another peer whose socket has
 * no room for the announcement; epoll reports its end.
 */
static int accept_peer(struct ivshmem_server *srv, enum watched door)
{
	int fd = accept4(listen_fd_of(srv, door), NULL, NULL, SOCK_CLOEXEC);
	int p, q, err;

	if (fd < 0)
		return count_refused(srv, errno);
	p = run_dir_peer(fd);
	if (!p)
		p = find_free_number(srv, door);
	err = p < 0 ? p : make_doorbells(srv, p);
	if (err) {
		close(fd);
		return count_refused(srv, -err);
	}
	srv->peer[p].fd = fd;
	srv->peer[p].maps = door == WATCHED_MAPPING;
	srv->peer[p].process = peer_pidfd(fd);
	if (!send_initial_state(srv, p) ||
	    !watch_server_fd(srv, fd, WATCHED_CLIENT)) {
		err = errno;
		drop_peer(srv, p);
		return count_refused(srv, err);
	}
	for (q = 0; q < srv->peers; q++)
		if (q != p && srv->peer[q].fd >= 0 &&
		    !send_doorbells(srv, q, p))
			shutdown(srv->peer[q].fd, SHUT_RDWR);
	return p;
}

/* Records that the peer has mapped a window. */
static void handle_mapped(struct ivshmem_server *srv, int p, int64_t le)
{
	int64_t w = UNIC_BUS_WINDOW - (int64_t)le64toh((uint64_t)le);

	if (w < 0 || w >= srv->windows || !srv->peer[p].owes[w])
		return;
	srv->peer[p].owes[w]--;
	srv->mapped = true;
}

/* Only mapping clients send messages: bytes of others are thrown away, and a
 * message that is cut ends the connection of its sender. */
static bool has_peer_left(struct ivshmem_server *srv, int p)
{
	int64_t said[32];
	ssize_t n = recv(srv->peer[p].fd, said, sizeof(said), MSG_DONTWAIT), i;

	if (n < 0)
		return errno != EAGAIN && !socket_error_passes(errno);
	if (!srv->peer[p].maps)
		return !n;
	for (i = 0; i < n / (ssize_t)sizeof(said[0]); i++)
		handle_mapped(srv, p, said[i]);
	return !n || n % (ssize_t)sizeof(said[0]);
}

/* The number of a client that left, whether or not epoll has reported its end;
 * -1: none. */
static int find_left_peer(struct ivshmem_server *srv)
{
	int p;

	for (p = 0; p < srv->peers; p++)
		if (srv->peer[p].fd >= 0 && has_peer_left(srv, p))
			return p;
	return -1;
}

/*
 * Clients that left come first: a NIC that was restarted finds its number free,
 * in whatever order the kernel reports its old and its new connection.
 */
bool ivshmem_server_next(struct ivshmem_server *srv, struct ivshmem_event *evt)
{
	struct epoll_event ev;
	int p;

	if (epoll_wait(srv->epoll_fd, &ev, 1, 0) != 1)
		return false;
	p = find_left_peer(srv);
	if (p >= 0) {
		drop_peer(srv, p);
		evt->type = IVSHMEM_LEFT;
		evt->peer = p;
		return true;
	}
	if (srv->mapped) {
		srv->mapped = false;
		evt->type = IVSHMEM_MAPPED;
		return true;
	}
	/* A client that sent nothing useful, or cannot be read or admitted
	 * without memory, does not hold the caller up: its event stays
	 * pending. */
	if (ev.data.u32 == WATCHED_CLIENT)
		return false;
	p = accept_peer(srv, ev.data.u32);
	evt->type = IVSHMEM_JOINED;
	evt->peer = p;
	return p >= 0;
}

bool ivshmem_server_all_map(const struct ivshmem_server *srv)
{
	int p;

	for (p = 1; p < srv->peers; p++)
		if (srv->peer[p].fd >= 0 && !srv->peer[p].maps)
			return false;
	return true;
}

void ivshmem_server_expel(struct ivshmem_server *srv)
{
	int p;

	for (p = 1; p < srv->peers; p++)
		if (srv->peer[p].fd >= 0 && !srv->peer[p].maps)
			shutdown(srv->peer[p].fd, SHUT_RDWR);
}

void ivshmem_server_window(struct ivshmem_server *srv, int w)
{
	int p;

	for (p = 1; p < srv->peers; p++)
		if (srv->peer[p].fd >= 0 && srv->peer[p].maps &&
		    !send_window(srv, p, w))
			shutdown(srv->peer[p].fd, SHUT_RDWR);
}

bool ivshmem_server_owed(const struct ivshmem_server *srv, int w)
{
	int p;

	for (p = 1; p < srv->peers; p++)
		if (srv->peer[p].fd >= 0 && srv->peer[p].owes[w])
			return true;
	return false;
}

int ivshmem_server_doorbell(const struct ivshmem_server *srv, int peer,
			    int vector)
{
	if (peer < 0 || peer >= srv->peers || vector < 0 ||
	    vector >= srv->vectors || (peer && srv->peer[peer].fd < 0))
		return -1;
	return srv->peer[peer].event[vector];
}

void ivshmem_server_ring(const struct ivshmem_server *srv, uint32_t mask)
{
	int fd;

	for (; mask; mask &= mask - 1) {
		fd = ivshmem_server_doorbell(srv, __builtin_ctz(mask), 0);
		if (fd >= 0)
			(void)eventfd_write(fd, 1);
	}
}

void ivshmem_server_fini(struct ivshmem_server *srv)
{
	int p;

	for (p = 0; p < IVSHMEM_PEERS_MAX; p++) {
		if (srv->peer[p].fd >= 0)
			drop_peer(srv, p);
		close_doorbells(&srv->peer[p]);
	}
	if (srv->epoll_fd >= 0)
		close(srv->epoll_fd);
	if (srv->listen_fd >= 0)
		close(srv->listen_fd);
	if (srv->host_fd >= 0)
		close(srv->host_fd);
	if (srv->map_fd >= 0)
		close(srv->map_fd);
	srv->epoll_fd = -1;
	srv->listen_fd = -1;
	srv->host_fd = -1;
	srv->map_fd = -1;
}

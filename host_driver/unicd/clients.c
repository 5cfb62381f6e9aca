/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * clients.c - the socket of the processes. No request is read of a process that does
 * not take its replies, so it can fill nothing but its own queue.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clients.h"
#include "kio.h"
#include "nic.h"
#include "nics.h"
#include "peer_pidfd.h"
#include "run_dir.h"
#include "send_fds.h"
#include "slots.h"
#include "unicd_os.h"

static uint32_t index_of(const struct unicd *d, const struct unicd_client *c)
{
	return (uint32_t)(c - d->client);
}

/* ------------------------------------------------------------------ listen */

/* A process accepts connections at this socket. */
static bool is_socket_served(int dir, const char *name)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	int err = fd < 0 ? 0 : run_dir_connect(fd, dir, name);

	if (fd < 0)
		return false;
	close(fd);
	/* EAGAIN: that process is stopped or very busy; EPERM: it is another
	 * user's */
	return !err || err == -EAGAIN || err == -EPERM;
}

/* Opens the folder of @path; *@name: the name of the socket there. Or -errno. */
static int folder_of(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	int fd;

	*name = slash ? slash + 1 : path;
	if (slash)
		snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int take_name(struct unicd *d, const char *name)
{
	const char *path = d->socket;
	int err;

	if (is_socket_served(d->socket_dir, name)) {
		unicd_say("another unicd serves %s: end it first, or give "
			  "another --socket",
			  path);
		return -EADDRINUSE;
	}
	err = run_dir_unlink(d->socket_dir, name);
	if (err == -EEXIST)
		unicd_say("%s is there and is no socket: give another --socket",
			  path);
	else if (err)
		unicd_say("%s: %s", path, strerror(-err));
	return err;
}

static bool has_joint_memory(const struct unicd *d)
{
	uint32_t i;

	for (i = 0; i < d->nics; i++)
		if (d->nic[i].slots_at)
			return true;
	return false;
}

static int listen_at(struct unicd *d, const char *name)
{
	/* joint memory: a process with one slot can map all of it, so only the
	 * driver's own user may connect */
	mode_t mode = has_joint_memory(d) ? 0600 : 0666;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);
	int err;

	if (fd < 0)
		return -errno;
	err = run_dir_offer(fd, d->socket_dir, name, mode, 64);
	if (err) {
		close(fd);
		return err;
	}
	d->listen_fd = fd;
	return 0;
}

int unicd_clients_listen(struct unicd *d)
{
	const char *path = d->socket, *name;
	int err;

	if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path)) {
		unicd_say("%s: path too long for a socket", path);
		return -ENAMETOOLONG;
	}
	d->socket_dir = folder_of(path, &name);
	if (d->socket_dir < 0) {
		unicd_say("%s: %s; make the folder, or give another --socket",
			  path, strerror(-d->socket_dir));
		return d->socket_dir;
	}
	err = take_name(d, name);
	if (err)
		return err;
	err = listen_at(d, name);
	if (err) {
		unicd_say("%s: %s", path, strerror(-err));
		return err;
	}
	unicd_refuse_fds(d->listen_fd);
	d->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return unicd_watch_any(d, d->listen_fd, UNICD_EV_LISTEN, 0, EPOLLIN);
}

static struct unicd_client *find_free_client(struct unicd *d)
{
	uint32_t i;

	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		if (d->client[i].fd < 0)
			return &d->client[i];
	return NULL;
}

/* At most one line in 10 seconds: rejected processes do not fill the log. */
static void log_rejected(struct unicd *d, const char *why)
{
	uint64_t now = unic_os_now_ns(&d->nic[0]);

	d->turned++;
	if (d->turned_ns && now - d->turned_ns < 10000000000ull)
		return;
	unicd_say("%s: %u turned away", why, d->turned);
	d->turned_ns = now;
	d->turned = 0;
}

/* A system call failed for this client: logged, unless the process itself has ended. */
static void mark_client_dead(struct unicd *d, struct unicd_client *c,
			     const char *what, int err)
{
	char why[128];

	c->dead = true;
	if (err == EPIPE || err == ECONNRESET || err == ESRCH)
		return;
	snprintf(why, sizeof(why), "process %u: %s: %s", c->core.pid, what,
		 strerror(err));
	log_rejected(d, why);
}

/* Out of descriptors: the spare one takes the connection, to close it. Else epoll
 * reports it again and again. */
static void reject_caller(struct unicd *d)
{
	int fd;

	log_rejected(d, "out of file descriptors (ulimit -n)");
	close(d->spare_fd);
	fd = accept(d->listen_fd, NULL, NULL);
	if (fd >= 0)
		close(fd);
	d->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* 0, or -errno; -ESRCH: the process is gone already; -ENXIO: it is in another PID
 * namespace, whose processes all have number 0 here. */
static int read_peer_cred(struct unicd_client *c)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	c->core.pid = (uint32_t)cred.pid;
	c->core.uid = cred.uid;
	c->core.privileged = !cred.uid || cred.uid == geteuid();
	if (!cred.pid)
		return -ENXIO;
	c->pidfd = peer_pidfd(c->fd);
	return c->pidfd < 0 ? c->pidfd : 0;
}

/* There is room for one more connection of this user: the last ones are for the
 * privileged, and one other user has UNICD_CLIENTS_USER at most. */
static bool has_client_room(const struct unicd *d, const struct unicd_client *c)
{
	uint32_t i, others = 0, same = 0;

	for (i = 0; i < UNICD_CLIENTS_MAX; i++) {
		const struct unicd_client *o = &d->client[i];

		if (o->fd < 0 || o == c)
			continue;
		others++;
		same += o->core.uid == c->core.uid;
	}
	return c->core.privileged ||
	       (others < UNICD_CLIENTS_MAX - UNICD_CLIENTS_ROOT &&
		same < UNICD_CLIENTS_USER);
}

/*
 * There are as many clients as one user may have, or more, and some of them have closed
 * their end: their events may come after that of a process which connects, though they
 * were closed before it did.
 */
static bool is_full_of_closed(const struct unicd *d)
{
	struct pollfd p[UNICD_CLIENTS_MAX];
	uint32_t i, n = 0;

	for (i = 0; i < UNICD_CLIENTS_MAX; i++) {
		p[i] = (struct pollfd){ .fd = d->client[i].fd };
		n += p[i].fd >= 0;
	}
	if (n < UNICD_CLIENTS_USER || poll(p, UNICD_CLIENTS_MAX, 0) <= 0)
		return false;
	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		if (p[i].revents & POLLHUP)
			return true;
	return false;
}

void unicd_clients_accept(struct unicd *d)
{
	struct unicd_client *c;
	int fd, err;

	if (is_full_of_closed(d))
		return; /* epoll reports it again, when they are gone */
	fd = accept4(d->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	c = find_free_client(d);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE)
			reject_caller(d);
		return;
	}
	if (!c) {
		log_rejected(d, "too many connections");
		close(fd);
		return;
	}
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->pidfd = -1;
	c->core.slot = UNIC_OS_NO_SLOT;
	err = read_peer_cred(c);
	if (err == -ENXIO) {
		log_rejected(d, "a process that has no number here");
		c->dead = true;
		return;
	}
	if (!err && !has_client_room(d, c)) {
		log_rejected(d, "too many connections of one user");
		c->dead = true;
		return;
	}
	if (!err)
		err = unicd_watch_any(d, fd, UNICD_EV_CLIENT, index_of(d, c),
				      EPOLLIN);
	if (!err)
		err = unicd_watch_any(d, c->pidfd, UNICD_EV_ENDED,
				      index_of(d, c), EPOLLIN);
	if (err)
		mark_client_dead(d, c, "connect", -err);
}

/* ------------------------------------------------------------------ replies */

/* Descriptors of a slot, in the order HELLO promises. */
static int hello_fds(const struct unic_os *os, uint32_t slot, int fd[4])
{
	fd[0] = os->slot_fd[slot];
	fd[1] = os->doorbell[slot].theirs;
	fd[2] = os->cq_wake[slot].theirs;
	fd[3] = os->upcall_wake[slot].theirs;
	return 4;
}

static ssize_t send_reply(const struct unic_os *os, int to, const void *msg,
			  uint32_t bytes, uint32_t slot)
{
	int fd[4], fds = 0;

	if (slot != UNIC_OS_NO_SLOT) {
		hello_fds(os, slot, fd);
		fds = 4;
	}
	return send_fds_once(to, msg, bytes, fd, fds);
}

static void watch_client(struct unicd *d, struct unicd_client *c)
{
	struct epoll_event ev = {
		.events = c->head ? EPOLLOUT : EPOLLIN,
		.data.u32 = UNICD_EV_CLIENT << 24 | index_of(d, c),
	};

	c->waits = c->head;
	if (epoll_ctl(d->epoll_fd, EPOLL_CTL_MOD, c->fd, &ev))
		mark_client_dead(d, c, "epoll", errno);
}

static void enqueue_reply(struct unicd *d, struct unicd_client *c,
			  const void *msg, uint32_t bytes, uint32_t slot)
{
	struct unicd_reply *r = malloc(sizeof(*r) + bytes);

	if (!r) {
		unicd_say("out of memory: process %u is cut off", c->core.pid);
		c->dead = true;
		return;
	}
	r->next = NULL;
	r->bytes = bytes;
	r->slot = slot;
	memcpy(r->msg, msg, bytes);
	if (c->head)
		c->tail->next = r;
	else
		c->head = r;
	c->tail = r;
	watch_client(d, c);
}

/* A slot has a new owner, which is written down before it gets the descriptors. */
static void prepare_slot(struct unic_os *os, struct unicd_client *c,
			 uint32_t slot)
{
	bool owned = os->slot_state[slot] == UNICD_SLOT_OWNED &&
		     os->slot_pidfd[slot] >= 0;
	int err;

	if (os->upcall_wake[slot].ours >= 0 && owned)
		return; /* HELLO again */
	err = unicd_wake_new(&os->upcall_wake[slot]);
	if (!err)
		err = unicd_wake_new(&os->cq_wake[slot]);
	if (!err)
		err = unicd_doorbell_new(os, slot);
	if (err) {
		unicd_say("no descriptors to wake process %u with: %s",
			  c->core.pid, strerror(-err));
		c->dead = true;
		return;
	}
	if (owned) /* back again: there may be upcalls of meanwhile */
		unicd_wake(&os->upcall_wake[slot]);
	unicd_slots_own(os, slot, c);
}

/* The socket is full or empty, or the kernel is short of memory: try again later. */
static bool is_retryable_error(int err)
{
	return err == EAGAIN || socket_error_passes(err);
}

void unic_os_reply(struct unic_os *os, struct unic_client *client,
		   const void *msg, uint32_t bytes, uint32_t hello_slot)
{
	struct unicd_client *c = (struct unicd_client *)client;

	if (client->kernel) { /* the page service of this process */
		unicd_kio_reply(os, msg, bytes);
		return;
	}
	if (hello_slot != UNIC_OS_NO_SLOT)
		prepare_slot(os, c, hello_slot);
	if (c->dead)
		return;
	if (c->head) {
		enqueue_reply(os->d, c, msg, bytes, hello_slot);
		return;
	}
	if (send_reply(os, c->fd, msg, bytes, hello_slot) >= 0)
		return;
	if (is_retryable_error(errno))
		enqueue_reply(os->d, c, msg, bytes, hello_slot);
	else
		mark_client_dead(os->d, c, "reply", errno);
}

static void flush_replies(struct unicd *d, struct unicd_client *c)
{
	struct unicd_reply *r;

	while ((r = c->head)) {
		if (send_reply(c->os, c->fd, r->msg, r->bytes, r->slot) < 0) {
			if (!is_retryable_error(errno))
				mark_client_dead(d, c, "reply", errno);
			return;
		}
		c->head = r->next;
		free(r);
	}
	watch_client(d, c);
}

/* ------------------------------------------------------------------- events */

/* The NIC whose core answers request @msg of @c; the first one decides with which NIC @c
 * is from then on (unic_nics_choose()). NULL: there is none left. */
static struct unic_os *nic_of(struct unicd *d, struct unicd_client *c,
			      const void *msg, size_t bytes)
{
	struct unic_ctl_nic_row row[UNIC_CTL_NICS_MAX];
	uint32_t n;
	int i;

	if (c->os)
		return c->os;
	n = unicd_nic_rows(d, row);
	i = unic_nics_choose(row, n, msg, bytes);
	if (i >= 0)
		c->os = &d->nic[unic_from_le32(row[i].number)];
	else if (n)
		return &d->nic[unic_from_le32(row[0].number)];
	return c->os;
}

static bool handle_request(struct unicd *d, struct unicd_client *c,
			   const void *msg, size_t bytes)
{
	struct unic_ctl_hdr hdr;
	struct unic_os *os;

	if (bytes < sizeof(hdr))
		return false;
	os = nic_of(d, c, msg, bytes);
	if (!os)
		return false;
	memcpy(&hdr, msg, sizeof(hdr));
	if (unic_from_le16(hdr.op) == UNIC_CTL_KIO) {
		unicd_kio_request(os, c, msg, bytes);
		return true;
	}
	return unic_host_request(os->host, &c->core, msg, bytes);
}

static void receive_request(struct unicd *d, struct unicd_client *c)
{
	/* static: only the event loop's thread reads requests */
	static uint64_t msg[UNIC_CTL_KIO_MSG_MAX / 8];
	/* descriptors sent along are not received: see unicd_refuse_fds() */
	ssize_t n = recv(c->fd, msg, sizeof(msg), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && is_retryable_error(errno))
		return; /* epoll reports it again */
	if (n < 0)
		mark_client_dead(d, c, "request", errno);
	else if (!n || !handle_request(d, c, msg, (size_t)n))
		c->dead = true;
}

void unicd_clients_event(struct unicd *d, uint32_t i, uint32_t events)
{
	struct unicd_client *c = &d->client[i];

	if (c->fd < 0 || c->dead)
		return;
	if (events & EPOLLOUT)
		flush_replies(d, c);
	if (events & EPOLLIN && !c->waits && !c->dead) {
		receive_request(d, c);
	} else if (events & (EPOLLHUP | EPOLLERR))
		c->dead = true;
}

void unicd_clients_ended(struct unicd *d, uint32_t i)
{
	if (d->client[i].fd >= 0)
		d->client[i].dead = true;
}

static void end_client(struct unicd_client *c)
{
	struct unicd_reply *r;

	if (c->os) {
		unic_host_client_gone(c->os->host, &c->core);
		unicd_kio_gone(c->os, c);
	}
	while ((r = c->head)) {
		c->head = r->next;
		free(r);
	}
	close(c->fd);
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->fd = -1;
}

void unicd_clients_lose(struct unicd *d, const struct unic_os *os)
{
	uint32_t i;

	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		if (d->client[i].fd >= 0 && d->client[i].os == os)
			d->client[i].dead = true;
	unicd_clients_reap(d);
}

void unicd_clients_reap(struct unicd *d)
{
	uint32_t i;

	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		if (d->client[i].fd >= 0 && d->client[i].dead)
			end_client(&d->client[i]);
}

void unicd_clients_fini(struct unicd *d)
{
	const char *name;
	uint32_t i;

	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		if (d->client[i].fd >= 0)
			end_client(&d->client[i]);
	if (d->listen_fd >= 0) {
		close(d->listen_fd);
		name = strrchr(d->socket, '/');
		(void)run_dir_unlink(d->socket_dir,
				     name ? name + 1 : d->socket);
	}
}

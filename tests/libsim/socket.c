/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* socket.c - see socket.h: socket(), sendmsg() and the like, as libunic calls them. */
#define _GNU_SOURCE
#include "socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "fiber.h"
#include "files.h"
#include "unic_ctl.h"
#include "world.h"

#define SOCKETS	 4u  /* of a process */
#define FDS	 4u  /* with the answer to HELLO */
#define FULL	 40u /* one message in so many finds the socket full */
#define FULL_NS	 (300 * US)
#define FULL_MAX (UNIC_CTL_BYTES + 64u * 128u)

struct message {
	struct message *next;
	uint32_t bytes;
	uint64_t data[];
};

struct socket {
	struct world_client c; /* first */
	struct process *proc;
	bool used, connected, hung_up;
	struct message *first, **end;
	uint64_t full_until_ns;
	struct file *events, *upcalls; /* that the NIC and the driver signal */
};

static int fail(int err)
{
	errno = err;
	return -1;
}

/* -------------------------------------------------------- what the world tells */

static void on_reply(struct world_client *c, const void *msg, uint32_t bytes)
{
	struct socket *s = (struct socket *)c;
	struct message *m = sim_alloc(sizeof(*m) + bytes);

	m->bytes = bytes;
	memcpy(m->data, msg, bytes);
	*s->end = m;
	s->end = &m->next;
	files_changed(s->proc);
}

static void on_upcall(struct world_client *c)
{
	files_signal(((struct socket *)c)->upcalls);
}

static void on_completion(struct world_client *c)
{
	files_signal(((struct socket *)c)->events);
}

static void on_hangup(struct world_client *c)
{
	struct socket *s = (struct socket *)c;

	s->hung_up = true;
	files_changed(s->proc);
}

/* --------------------------------------------------------------------- life */

void socket_init(struct process *p)
{
	uint32_t i;

	p->sockets = sim_alloc(SOCKETS * sizeof(*p->sockets));
	for (i = 0; i < SOCKETS; i++) {
		struct socket *s = &p->sockets[i];

		s->proc = p;
		s->c.reply = on_reply;
		s->c.upcall = on_upcall;
		s->c.cq = on_completion;
		s->c.hangup = on_hangup;
	}
}

int sys_socket(int domain, int type, int protocol)
{
	struct process *p = fiber_process();
	struct socket *s = p->sockets;
	struct file *f;

	(void)domain;
	(void)type;
	(void)protocol;
	while (s < p->sockets + SOCKETS && s->used)
		s++;
	if (s == p->sockets + SOCKETS)
		sim_fail("left", "%s has too many sockets", process_name(p));
	s->used = true;
	s->connected = s->hung_up = false;
	s->full_until_ns = 0;
	s->end = &s->first;
	s->events = files_new(p, FILE_EVENT);
	s->upcalls = files_new(p, FILE_EVENT);
	f = files_new(p, FILE_SOCKET);
	f->socket = s;
	return files_install(p, f);
}

static void hang_up(struct socket *s)
{
	if (s->connected)
		world_hang_up(&s->c);
	s->connected = false;
	s->hung_up = true;
}

void socket_closed(struct socket *s)
{
	struct message *m;

	hang_up(s);
	while ((m = s->first)) {
		s->first = m->next;
		sim_free(m);
	}
	files_put(s->events);
	files_put(s->upcalls);
	s->used = false;
}

static struct socket *socket_of(int fd)
{
	struct file *f = files_get(fiber_process(), fd);

	if (f->kind != FILE_SOCKET)
		sim_fail("files", "descriptor %d is no socket", fd);
	return f->socket;
}

int sys_connect(int fd, const struct sockaddr *addr, socklen_t bytes)
{
	const struct sockaddr_un *un = (const void *)addr;
	struct process *p = fiber_process();
	struct socket *s = socket_of(fd);

	(void)bytes;
	fiber_pause(process_range(p, US, 20 * US));
	if (strncmp(un->sun_path, "sim:", 4))
		return fail(ENOENT);
	if (!world_connect(&s->c, (uint32_t)atoi(un->sun_path + 4), p->pid))
		return fail(ECONNREFUSED);
	s->c.core.privileged = false;
	s->c.send_ns = s->c.reply_ns = 0;
	s->connected = true;
	return 0;
}

int sys_shutdown(int fd, int how)
{
	struct socket *s = socket_of(fd);

	(void)how;
	fiber_step();
	hang_up(s);
	files_changed(s->proc);
	return 0;
}

int sys_setsockopt(int fd, int level, int name, const void *value,
		   socklen_t bytes)
{
	(void)level;
	(void)name;
	(void)value;
	(void)bytes;
	socket_of(fd);
	return 0;
}

short socket_ready(const struct socket *s)
{
	short events = 0;

	if (s->first || s->hung_up)
		events |= POLLIN;
	if (s->hung_up)
		events |= POLLRDHUP | POLLHUP;
	if (sim_now() >= s->full_until_ns)
		events |= POLLOUT;
	return events;
}

/* ----------------------------------------------------------------- messages */

static void room(void *ctx, uint64_t arg)
{
	(void)arg;
	files_changed(ctx);
}

static bool is_full(struct socket *s)
{
	if (sim_now() < s->full_until_ns)
		return true;
	if (process_below(s->proc, FULL))
		return false;
	s->full_until_ns = sim_now() + process_range(s->proc, US, FULL_NS);
	sim_at(s->full_until_ns, room, s->proc, 0);
	return true;
}

ssize_t sys_sendmsg(int fd, const struct msghdr *mh, int flags)
{
	struct socket *s;
	uint64_t msg[FULL_MAX / 8];
	size_t n = 0, i;

	(void)flags;
	fiber_step();
	s = socket_of(fd);
	if (s->hung_up || !s->connected)
		return fail(EPIPE);
	if (is_full(s))
		return fail(EAGAIN);
	for (i = 0; i < mh->msg_iovlen; i++) {
		if (n + mh->msg_iov[i].iov_len > sizeof(msg))
			return fail(EMSGSIZE);
		memcpy((uint8_t *)msg + n, mh->msg_iov[i].iov_base,
		       mh->msg_iov[i].iov_len);
		n += mh->msg_iov[i].iov_len;
	}
	world_send(&s->c, msg, (uint32_t)n);
	return (ssize_t)n;
}

/* The memory of the slot, the doorbell, completions, upcalls. */
static void give_files(struct socket *s, uint32_t slot, int fd[FDS])
{
	struct process *p = s->proc;
	struct file *f = files_new(p, FILE_SLOT);

	f->node = s->c.node->id;
	f->slot = slot;
	fd[0] = files_install(p, f);
	f = files_new(p, FILE_EVENT);
	f->bell = &s->c;
	fd[1] = files_install(p, f);
	s->events->refs++;
	fd[2] = files_install(p, s->events);
	s->upcalls->refs++;
	fd[3] = files_install(p, s->upcalls);
}

static bool is_attached(const struct message *m, uint32_t *slot)
{
	struct unic_ctl_hello_reply r;

	memcpy(&r, m->data, sizeof(r));
	*slot = unic_from_le32(r.proc);
	return unic_from_le16(r.hdr.op) == UNIC_CTL_HELLO && !r.hdr.status;
}

static void deliver(struct socket *s, const struct message *m,
		    struct msghdr *mh)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(mh);
	int fd[FDS];
	uint32_t slot;

	memcpy(mh->msg_iov->iov_base, m->data, m->bytes);
	if (!is_attached(m, &slot)) {
		mh->msg_controllen = 0;
		return;
	}
	give_files(s, slot, fd);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), fd, sizeof(fd));
	mh->msg_controllen = CMSG_SPACE(sizeof(fd));
}

ssize_t sys_recvmsg(int fd, struct msghdr *mh, int flags)
{
	struct socket *s;
	struct message *m;
	ssize_t n;

	(void)flags;
	fiber_step();
	s = socket_of(fd);
	m = s->first;
	if (!m)
		return s->hung_up ? 0 : fail(EAGAIN);
	s->first = m->next;
	if (!s->first)
		s->end = &s->first;
	deliver(s, m, mh);
	n = (ssize_t)m->bytes;
	sim_free(m);
	return n;
}

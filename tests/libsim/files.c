/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* files.c - see files.h: poll(), read() and the like, as libunic calls them. */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "fiber.h"
#include "memory.h"
#include "socket.h"
#include "world.h"

#define INTERRUPTS 300u /* one poll in so many is interrupted by a signal */

static int fail(int err)
{
	errno = err;
	return -1;
}

struct file *files_new(struct process *p, enum file_kind kind)
{
	struct file *f = sim_alloc(sizeof(*f));
	uint32_t i;

	f->kind = kind;
	f->refs = 1;
	f->proc = p;
	for (i = 0; i < FILES_SET; i++)
		f->member[i] = -1;
	return f;
}

void files_put(struct file *f)
{
	if (--f->refs)
		return;
	if (f->kind == FILE_SOCKET)
		socket_closed(f->socket);
	sim_free(f->text);
	sim_free(f);
}

int files_install(struct process *p, struct file *f)
{
	int fd;

	for (fd = 3; fd < (int)PROCESS_FDS; fd++)
		if (!p->fd[fd]) {
			p->fd[fd] = f;
			return fd;
		}
	sim_fail("left", "%s has too many descriptors", process_name(p));
}

static struct file *find(struct process *p, int fd)
{
	return fd >= 0 && fd < (int)PROCESS_FDS ? p->fd[fd] : NULL;
}

struct file *files_get(struct process *p, int fd)
{
	struct file *f = find(p, fd);

	if (!f)
		sim_fail("files", "%s uses descriptor %d, which is closed",
			 process_name(p), fd);
	return f;
}

void files_slot(struct process *p, int fd, uint32_t *node, uint32_t *slot)
{
	const struct file *f = files_get(p, fd);

	if (f->kind != FILE_SLOT)
		sim_fail("files", "%s maps what is no memory", process_name(p));
	*node = f->node;
	*slot = f->slot;
}

void files_changed(struct process *p)
{
	fiber_wake(p, p->fd, true);
}

void files_signal(struct file *f)
{
	f->count++;
	files_changed(f->proc);
}

/* ------------------------------------------------------------------ closing */

/* A closed descriptor leaves the sets. */
static void leave_sets(struct process *p, int fd)
{
	uint32_t i, k;

	for (i = 0; i < PROCESS_FDS; i++)
		for (k = 0; p->fd[i] && k < FILES_SET; k++)
			if (p->fd[i]->member[k] == fd)
				p->fd[i]->member[k] = -1;
}

static void close_one(struct process *p, int fd)
{
	struct file *f = p->fd[fd];

	leave_sets(p, fd);
	p->fd[fd] = NULL;
	files_put(f);
}

int sys_close(int fd)
{
	struct process *p = fiber_process();

	fiber_step();
	files_get(p, fd);
	close_one(p, fd);
	return 0;
}

void files_must_be_closed(const struct process *p)
{
	uint32_t i;

	for (i = 0; i < PROCESS_FDS; i++)
		if (p->fd[i])
			sim_fail("left", "%s: descriptor %u, kind %u, is open",
				 process_name(p), i, p->fd[i]->kind);
}

void files_close_all(struct process *p)
{
	int i;

	for (i = 0; i < (int)PROCESS_FDS; i++)
		if (p->fd[i])
			close_one(p, i);
}

/* -------------------------------------------------------------------- ready */

static short ready(struct process *p, const struct file *f)
{
	uint32_t i;

	switch (f->kind) {
	case FILE_EVENT:
		return f->count ? POLLIN | POLLOUT : POLLOUT;
	case FILE_SOCKET:
		return socket_ready(f->socket);
	case FILE_EPOLL:
		for (i = 0; i < FILES_SET; i++)
			if (f->member[i] >= 0 &&
			    ready(p, p->fd[f->member[i]]) &
				    ((short)f->set[i].events | POLLHUP))
				return POLLIN;
		return 0;
	default:
		return POLLIN;
	}
}

static int look(struct process *p, struct pollfd *fds, nfds_t n)
{
	int found = 0;
	nfds_t i;

	for (i = 0; i < n; i++) {
		struct file *f = find(p, fds[i].fd);
		short wanted = fds[i].events | POLLHUP | POLLERR;

		fds[i].revents = 0;
		if (fds[i].fd >= 0)
			fds[i].revents = f ? ready(p, f) & wanted : POLLNVAL;
		if (fds[i].revents & POLLNVAL)
			sim_fail("files",
				 "%s polls descriptor %d, which is "
				 "closed",
				 process_name(p), fds[i].fd);
		found += fds[i].revents != 0;
	}
	return found;
}

int sys_poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct process *p = fiber_process();
	uint64_t until = ms < 0 ? FIBER_ALWAYS : sim_now() + (uint64_t)ms * MS;
	int found;

	fiber_step();
	while (!(found = look(p, fds, n)) && ms && sim_now() < until) {
		if (!process_below(p, INTERRUPTS))
			return fail(EINTR);
		fiber_block(p->fd, until);
	}
	return found;
}

/* ----------------------------------------------------------- read and write */

static ssize_t read_event(struct file *f, void *buf)
{
	while (!f->count) {
		if (f->nonblock)
			return fail(EAGAIN);
		fiber_block(f->proc->fd, FIBER_ALWAYS);
	}
	memcpy(buf, &f->count, sizeof(f->count));
	f->count = 0;
	return sizeof(f->count);
}

static ssize_t read_text(struct file *f, void *buf, size_t bytes)
{
	size_t n = f->bytes - f->at < bytes ? f->bytes - f->at : bytes;

	memcpy(buf, f->text + f->at, n);
	f->at += n;
	return (ssize_t)n;
}

ssize_t sys_read(int fd, void *buf, size_t bytes)
{
	struct file *f = files_get(fiber_process(), fd);

	fiber_step();
	f = files_get(fiber_process(), fd);
	return f->kind == FILE_EVENT ? read_event(f, buf)
				     : read_text(f, buf, bytes);
}

ssize_t sys_write(int fd, const void *buf, size_t bytes)
{
	struct file *f;
	uint64_t n;

	fiber_step();
	f = files_get(fiber_process(), fd);
	if (f->kind != FILE_EVENT || bytes != sizeof(n))
		sim_fail("files", "%s writes %zu bytes to descriptor %d",
			 process_name(f->proc), bytes, fd);
	memcpy(&n, buf, sizeof(n));
	if (f->bell)
		world_ring(f->bell);
	f->count += n;
	files_changed(f->proc);
	return sizeof(n);
}

ssize_t sys_pread(int fd, void *buf, size_t bytes, off_t off)
{
	uint32_t node, slot;

	fiber_step();
	files_slot(fiber_process(), fd, &node, &slot);
	memcpy(buf, world->node[node]->slot[slot] + off, bytes);
	return (ssize_t)bytes;
}

ssize_t sys_pwrite(int fd, const void *buf, size_t bytes, off_t off)
{
	uint32_t node, slot;

	fiber_step();
	files_slot(fiber_process(), fd, &node, &slot);
	memcpy(world->node[node]->slot[slot] + off, buf, bytes);
	return (ssize_t)bytes;
}

/* --------------------------------------------------------------------- kinds */

int sys_eventfd(unsigned int count, int flags)
{
	struct process *p = fiber_process();
	struct file *f = files_new(p, FILE_EVENT);

	f->count = count;
	f->nonblock = flags & EFD_NONBLOCK;
	return files_install(p, f);
}

int sys_epoll_create1(int flags)
{
	struct process *p = fiber_process();

	(void)flags;
	return files_install(p, files_new(p, FILE_EPOLL));
}

int sys_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	struct process *p = fiber_process();
	struct file *f = files_get(p, epfd);
	uint32_t i;

	fiber_step();
	if (!find(p, fd))
		return fail(EBADF);
	for (i = 0; i < FILES_SET && f->member[i] != fd; i++)
		;
	if (op == EPOLL_CTL_DEL) {
		if (i == FILES_SET)
			return fail(ENOENT);
		f->member[i] = -1;
		return 0;
	}
	if (i < FILES_SET)
		return fail(EEXIST);
	for (i = 0; i < FILES_SET && f->member[i] >= 0; i++)
		;
	if (i == FILES_SET)
		return fail(ENOSPC);
	f->member[i] = fd;
	f->set[i] = *ev;
	files_changed(p);
	return 0;
}

/* Without a wait, as libunic calls it. */
int sys_epoll_wait(int epfd, struct epoll_event *ev, int max, int ms)
{
	struct process *p = fiber_process();
	struct file *f = files_get(p, epfd);
	uint32_t i;
	int n = 0;

	fiber_step();
	if (ms)
		sim_fail("files", "%s waits in a set", process_name(p));
	for (i = 0; i < FILES_SET && n < max; i++) {
		short got = f->member[i] < 0 ? 0
					     : ready(p, p->fd[f->member[i]]);

		got &= (short)f->set[i].events | POLLHUP;
		if (!got)
			continue;
		ev[n] = f->set[i];
		ev[n++].events = (uint32_t)got;
	}
	return n;
}

int sys_open(const char *path, int flags, ...)
{
	struct process *p = fiber_process();
	struct file *f;

	(void)flags;
	fiber_step();
	if (strcmp(path, "/proc/self/maps"))
		return fail(ENOENT);
	f = files_new(p, FILE_TEXT);
	f->text = memory_text(p, &f->bytes);
	return files_install(p, f);
}

int sys_fcntl(int fd, int op, ...)
{
	struct file *f = files_get(fiber_process(), fd);
	va_list ap;

	if (op == F_GETFL)
		return f->nonblock ? O_NONBLOCK : 0;
	if (op != F_SETFL)
		sim_fail("files", "fcntl(%d)", op);
	va_start(ap, op);
	f->nonblock = va_arg(ap, int) & O_NONBLOCK;
	va_end(ap);
	return 0;
}

int sys_fstat(int fd, struct stat *out)
{
	uint32_t node, slot;

	files_slot(fiber_process(), fd, &node, &slot);
	memset(out, 0, sizeof(*out));
	out->st_dev = 1;
	out->st_ino = FILES_INODE(node, slot);
	return 0;
}

/* There is no driver in the kernel here. */
int sys_stat(const char *path, struct stat *out)
{
	(void)path;
	(void)out;
	return fail(ENOENT);
}

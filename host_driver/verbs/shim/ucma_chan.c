/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_chan.c - see ucma_chan.h. */
#define _GNU_SOURCE
#include "ucma_chan.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FDS 65536 /* one beyond the highest descriptor of a channel */

/* By descriptor. Read without the lock: write() may be called in a signal handler. */
static struct unic_ucma_chan *by_fd[FDS];
static int top; /* one beyond the highest that was ever one */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int
	owner; /* the process whose memory this is: not so of a child of vfork() */

void unic_ucma_lock(void)
{
	pthread_mutex_lock(&lock);
}

void unic_ucma_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void be_child(void)
{
	owner = getpid();
	unic_ucma_unlock();
}

/* A fork() while another thread has the lock must not leave it taken in the child. */
__attribute__((constructor)) static void watch_forks(void)
{
	owner = getpid();
	pthread_atfork(unic_ucma_lock, unic_ucma_unlock, be_child);
}

/* By system calls: the C library's functions of these names are the ones that this
 * library stands for. */
static void close_fd(int fd)
{
	syscall(SYS_close, fd);
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return syscall(SYS_fstat, fd, &st) ? 0 : st.st_ino;
}

/* Close the other end of @c, unless the program did by a call that this library does not
 * see: then its number may be another's. */
static void close_other(const struct unic_ucma_chan *c)
{
	if (inode_of(c->wfd) == c->winode)
		close_fd(c->wfd);
}

static void set_slot(int fd, struct unic_ucma_chan *c)
{
	__atomic_store_n(&by_fd[fd], c, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------- opening */

static int make_pair(int flags, int fd[2])
{
	int type = SOCK_SEQPACKET | SOCK_CLOEXEC |
		   (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0);

	if (socketpair(AF_UNIX, type, 0, fd))
		return -errno;
	if (fd[0] >= FDS) {
		close_fd(fd[0]);
		close_fd(fd[1]);
		return -EMFILE;
	}
	if (!(flags & O_CLOEXEC))
		fcntl(fd[0], F_SETFD, 0);
	shutdown(fd[0], SHUT_WR);
	return 0;
}

int unic_ucma_chan_open(int flags)
{
	struct unic_ucma_chan *c = calloc(1, sizeof(*c));
	int fd[2];
	int err = c ? make_pair(flags, fd) : -ENOMEM;

	if (err) {
		free(c);
		return err;
	}
	*c = (struct unic_ucma_chan){ .rfd = fd[0],
				      .wfd = fd[1],
				      .pid = getpid(),
				      .inode = inode_of(fd[0]),
				      .winode = inode_of(fd[1]),
				      .users = 1 };
	c->last = &c->first;
	unic_ucma_lock();
	set_slot(c->rfd, c);
	if (top <= c->rfd)
		top = c->rfd + 1;
	unic_ucma_unlock();
	return c->rfd;
}

bool unic_ucma_chan_owns(int fd)
{
	return fd >= 0 && fd < FDS &&
	       __atomic_load_n(&by_fd[fd], __ATOMIC_ACQUIRE);
}

/* The channel of @fd with one more reference. With the lock. */
static struct unic_ucma_chan *get_locked(int fd)
{
	struct unic_ucma_chan *c = unic_ucma_chan_owns(fd) ? by_fd[fd] : NULL;

	if (!c || c->pid != getpid() || inode_of(fd) != c->inode)
		return NULL;
	c->users++;
	return c;
}

struct unic_ucma_chan *unic_ucma_chan_get(int fd)
{
	struct unic_ucma_chan *c;

	unic_ucma_lock();
	c = get_locked(fd);
	unic_ucma_unlock();
	return c;
}

static void free_chan(struct unic_ucma_chan *c)
{
	struct unic_ucma_event *ev;

	while ((ev = c->first)) {
		c->first = ev->next;
		free(ev);
	}
	close_other(c);
	free(c);
}

void unic_ucma_chan_put(struct unic_ucma_chan *c)
{
	bool last;

	unic_ucma_lock();
	last = !--c->users;
	unic_ucma_unlock();
	if (last)
		free_chan(c);
}

struct unic_ucma_chan *unic_ucma_chan_leave(int fd)
{
	struct unic_ucma_chan *c;

	if (!unic_ucma_chan_owns(fd))
		return NULL; /* nearly always */
	unic_ucma_lock();
	c = by_fd[fd];
	if (c && c->pid == owner && owner != getpid())
		c = NULL; /* vfork() */
	else
		set_slot(fd, NULL);
	unic_ucma_unlock();
	if (!c || c->pid == getpid())
		return c;
	close_other(c); /* the rest is the parent's, and a copy */
	return NULL;
}

int unic_ucma_chan_stale(void)
{
	int fd;

	unic_ucma_lock();
	for (fd = top - 1; fd >= 0; fd--)
		if (by_fd[fd] && by_fd[fd]->pid == getpid() &&
		    inode_of(fd) != by_fd[fd]->inode)
			break;
	unic_ucma_unlock();
	return fd;
}

int unic_ucma_chan_in(unsigned int first, unsigned int last)
{
	unsigned int fd;

	for (fd = first; fd <= last && fd < FDS; fd++)
		if (unic_ucma_chan_owns((int)fd))
			return (int)fd;
	return -1;
}

int unic_ucma_chan_other(unsigned int first, unsigned int last)
{
	int fd, found = -1;

	unic_ucma_lock();
	for (fd = 0; fd < top; fd++) {
		const struct unic_ucma_chan *c = by_fd[fd];

		if (c && c->pid == getpid() && (unsigned int)c->wfd >= first &&
		    (unsigned int)c->wfd <= last &&
		    (found < 0 || c->wfd < found) &&
		    inode_of(c->wfd) == c->winode)
			found = c->wfd;
	}
	unic_ucma_unlock();
	return found;
}

/* -------------------------------------------------------------------- events */

int unic_ucma_chan_wait(struct unic_ucma_chan *c)
{
	char byte;
	ssize_t got = recv(c->rfd, &byte, 1, MSG_PEEK);

	return got > 0 ? 0 : got < 0 ? -errno : -EBADF;
}

static void show_event(struct unic_ucma_chan *c)
{
	char byte = 0;

	if (inode_of(c->wfd) != c->winode)
		return;
	/* The socket is empty, so there is room. */
	send(c->wfd, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void unic_ucma_chan_add(struct unic_ucma_chan *c, struct unic_ucma_event *ev)
{
	bool was_empty = !c->first;

	ev->next = NULL;
	*c->last = ev;
	c->last = &ev->next;
	if (was_empty)
		show_event(c);
}

/* Take the byte back, if the program has not closed the descriptor behind our back. */
static void hide_event(const struct unic_ucma_chan *c)
{
	char byte;

	if (inode_of(c->rfd) == c->inode &&
	    recv(c->rfd, &byte, 1, MSG_DONTWAIT) < 0)
		errno = 0; /* it read the byte itself */
}

/* Take the event that *@p points to. */
static struct unic_ucma_event *take(struct unic_ucma_chan *c,
				    struct unic_ucma_event **p)
{
	struct unic_ucma_event *ev = *p;

	*p = ev->next;
	if (c->last == &ev->next)
		c->last = p;
	if (!c->first)
		hide_event(c);
	return ev;
}

struct unic_ucma_event *unic_ucma_chan_take(struct unic_ucma_chan *c)
{
	return c->first ? take(c, &c->first) : NULL;
}

struct unic_ucma_event *unic_ucma_chan_take_of(struct unic_ucma_chan *c,
					       const struct unic_ucma_id *id)
{
	struct unic_ucma_event **p = &c->first;

	while (*p && (*p)->of != id)
		p = &(*p)->next;
	return *p ? take(c, p) : NULL;
}

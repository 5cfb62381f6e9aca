/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * inject.c - a preloaded library that makes chosen calls of the C library fail.
 *
 * INJECT=CALL:K:HOW[:TIMES] - the K-th call of CALL (from 1), and TIMES - 1
 *	after it, fail. HOW: the number of an errno; "short" for half of what was
 *	asked (read, write, pread, pwrite); "ctrunc" for a message whose
 *	descriptors did not fit (recvmsg).
 * INJECT_COUNTS=FILE - how often each call was made and failed, and how many
 *	allocations live: struct counts, kept up to date while the program runs.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* clang-format off */
#define CALLS(X)                                                  \
	X(malloc) X(calloc) X(realloc) X(read) X(write) X(pread)  \
	X(pwrite) X(recv) X(recvmsg) X(send) X(sendmsg) X(accept) \
	X(accept4) X(socket) X(socketpair) X(connect) X(bind)     \
	X(listen) X(getsockopt) X(mmap) X(memfd_create)           \
	X(ftruncate) X(fallocate) X(eventfd) X(eventfd_write)     \
	X(epoll_create1) X(epoll_ctl) X(epoll_wait) X(poll)       \
	X(ppoll) X(signalfd) X(open) X(openat) X(opendir)         \
	X(fdopendir) X(fopen) X(fdopen) X(pidfd_open) X(preadv2)  \
	X(pthread_create) X(readlinkat) X(fstatat) X(rename)
/* clang-format on */

#define NAME(call) CALL_##call,
enum call {
	CALLS(NAME) CALL_COUNT
};

#define ROW(call) { .name = #call },
struct row {
	char name[16];
	uint64_t calls, failed;
};

struct counts {
	int64_t live; /* allocations */
	struct row row[CALL_COUNT];
};

enum {
	HOW_NOT = 0,
	HOW_SHORT = -1,
	HOW_CTRUNC = -2
};

static struct counts own = { .row = { CALLS(ROW) } };
static struct counts *counts = &own;
static int chosen = -1, how;
static uint64_t first, times = 1;

/* glibc's own, which need no dlsym() to be found. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void __libc_free(void *p);

static void parse(char *text)
{
	char *call = strtok(text, ":"), *k = strtok(NULL, ":");
	char *mode = strtok(NULL, ":"), *n = strtok(NULL, ":");
	int i;

	for (i = 0; i < CALL_COUNT; i++)
		if (call && !strcmp(own.row[i].name, call))
			chosen = i;
	if (chosen < 0 || !k || !mode) {
		fprintf(stderr, "inject: what is '%s'?\n", call ? call : "");
		_exit(2);
	}
	first = strtoull(k, NULL, 10);
	times = n ? strtoull(n, NULL, 10) : 1;
	how = !strcmp(mode, "short")	? HOW_SHORT
	      : !strcmp(mode, "ctrunc") ? HOW_CTRUNC
					: atoi(mode);
}

static void share(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path,
			      O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	long p;

	if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof(own)))
		_exit(2);
	p = syscall(SYS_mmap, NULL, sizeof(own), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (p == -1)
		_exit(2);
	memcpy((void *)p, &own, sizeof(own));
	counts = (void *)p;
	close(fd);
}

static bool ready;

__attribute__((constructor)) static void begin(void)
{
	static char text[128];
	const char *inject = getenv("INJECT"), *path = getenv("INJECT_COUNTS");

	if (path)
		share(path);
	if (inject) {
		strncpy(text, inject, sizeof(text) - 1);
		parse(text);
	}
	/* programs that this one starts run without faults */
	unsetenv("LD_PRELOAD");
	unsetenv("INJECT");
	unsetenv("INJECT_COUNTS");
	ready = true;
}

/* How this call shall fail; HOW_NOT: it shall not. */
static int fault(enum call call)
{
	struct row *row = &counts->row[call];
	uint64_t n;

	if (!ready)
		return HOW_NOT;
	n = __atomic_add_fetch(&row->calls, 1, __ATOMIC_RELAXED);
	if ((int)call != chosen || n < first || n - first >= times)
		return HOW_NOT;
	__atomic_add_fetch(&row->failed, 1, __ATOMIC_RELAXED);
	return how;
}

/* Does this call fail? For calls that cannot be cut short. */
static bool fails(enum call call)
{
	int h = fault(call);

	if (h == HOW_NOT)
		return false;
	errno = h > 0 ? h : EIO;
	return true;
}

/* ------------------------------------------------------------- allocation */

static void *born(void *p)
{
	if (p && ready)
		__atomic_add_fetch(&counts->live, 1, __ATOMIC_RELAXED);
	return p;
}

void *malloc(size_t bytes)
{
	return fails(CALL_malloc) ? NULL : born(__libc_malloc(bytes));
}

void *calloc(size_t n, size_t bytes)
{
	return fails(CALL_calloc) ? NULL : born(__libc_calloc(n, bytes));
}

void *realloc(void *p, size_t bytes)
{
	void *q;

	if (fails(CALL_realloc))
		return NULL;
	q = __libc_realloc(p, bytes);
	return p ? q : born(q);
}

void free(void *p)
{
	if (p && ready)
		__atomic_sub_fetch(&counts->live, 1, __ATOMIC_RELAXED);
	__libc_free(p);
}

/* ------------------------------------------------------ calls of one shape */

static void *real(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	if (!p)
		_exit(2);
	return p;
}

#define WRAP(type, failed, call, params, args)         \
	type call params                               \
	{                                              \
		static type(*next) params;             \
                                                       \
		if (fails(CALL_##call))                \
			return failed;                 \
		if (!next)                             \
			*(void **)&next = real(#call); \
		return next args;                      \
	}

WRAP(ssize_t, -1, recv, (int fd, void *p, size_t n, int flags),
     (fd, p, n, flags))
WRAP(ssize_t, -1, send, (int fd, const void *p, size_t n, int flags),
     (fd, p, n, flags))
WRAP(ssize_t, -1, sendmsg, (int fd, const struct msghdr *m, int flags),
     (fd, m, flags))
WRAP(int, -1, accept, (int fd, struct sockaddr *a, socklen_t *n), (fd, a, n))
WRAP(int, -1, accept4, (int fd, struct sockaddr *a, socklen_t *n, int flags),
     (fd, a, n, flags))
WRAP(int, -1, socket, (int family, int type, int proto), (family, type, proto))
WRAP(int, -1, socketpair, (int family, int type, int proto, int fd[2]),
     (family, type, proto, fd))
WRAP(int, -1, connect, (int fd, const struct sockaddr *a, socklen_t n),
     (fd, a, n))
WRAP(int, -1, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
WRAP(int, -1, listen, (int fd, int n), (fd, n))
WRAP(int, -1, getsockopt, (int fd, int level, int name, void *p, socklen_t *n),
     (fd, level, name, p, n))
WRAP(void *, MAP_FAILED, mmap,
     (void *at, size_t n, int prot, int flags, int fd, off_t off),
     (at, n, prot, flags, fd, off))
WRAP(int, -1, memfd_create, (const char *name, unsigned int flags),
     (name, flags))
WRAP(int, -1, ftruncate, (int fd, off_t n), (fd, n))
WRAP(int, -1, fallocate, (int fd, int mode, off_t off, off_t n),
     (fd, mode, off, n))
WRAP(int, -1, eventfd, (unsigned int n, int flags), (n, flags))
WRAP(int, -1, eventfd_write, (int fd, eventfd_t n), (fd, n))
WRAP(int, -1, epoll_create1, (int flags), (flags))
WRAP(int, -1, epoll_ctl, (int ep, int op, int fd, struct epoll_event *e),
     (ep, op, fd, e))
WRAP(int, -1, epoll_wait, (int ep, struct epoll_event *e, int n, int ms),
     (ep, e, n, ms))
WRAP(int, -1, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms))
WRAP(int, -1, ppoll,
     (struct pollfd * p, nfds_t n, const struct timespec *ts,
      const sigset_t *s),
     (p, n, ts, s))
WRAP(int, -1, signalfd, (int fd, const sigset_t *set, int flags),
     (fd, set, flags))
WRAP(DIR *, NULL, opendir, (const char *path), (path))
WRAP(DIR *, NULL, fdopendir, (int fd), (fd))
WRAP(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
WRAP(FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode))
WRAP(ssize_t, -1, preadv2,
     (int fd, const struct iovec *v, int n, off_t off, int flags),
     (fd, v, n, off, flags))
WRAP(ssize_t, -1, readlinkat, (int at, const char *path, char *p, size_t n),
     (at, path, p, n))
WRAP(int, -1, fstatat, (int at, const char *path, struct stat *st, int flags),
     (at, path, st, flags))
WRAP(int, -1, rename, (const char *from, const char *to), (from, to))

/* pthread_create() returns its error. */
int pthread_create(pthread_t *t, const pthread_attr_t *attr,
		   void *(*fn)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *,
			   void *(*)(void *), void *);

	if (fails(CALL_pthread_create))
		return errno;
	if (!next)
		*(void **)&next = real("pthread_create");
	return next(t, attr, fn, arg);
}

/* ---------------------------------------------------------- short ones */

#define WRAP_RW(call, params, args)                    \
	ssize_t call params                            \
	{                                              \
		static ssize_t(*next) params;          \
		int h = fault(CALL_##call);            \
                                                       \
		if (h > 0) {                           \
			errno = h;                     \
			return -1;                     \
		}                                      \
		if (h == HOW_SHORT)                    \
			n = (n + 1) / 2;               \
		if (!next)                             \
			*(void **)&next = real(#call); \
		return next args;                      \
	}

WRAP_RW(read, (int fd, void *p, size_t n), (fd, p, n))
WRAP_RW(write, (int fd, const void *p, size_t n), (fd, p, n))
WRAP_RW(pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
WRAP_RW(pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))

/* Closes descriptors that do not fit, as the kernel does. */
static void drop_descriptors(struct msghdr *m)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	size_t i, n;
	int fd;

	if (!c || c->cmsg_type != SCM_RIGHTS)
		return;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	for (i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		close(fd);
	}
	m->msg_controllen = 0;
	m->msg_flags |= MSG_CTRUNC;
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	static ssize_t (*next)(int, struct msghdr *, int);
	int h = fault(CALL_recvmsg);
	ssize_t n;

	if (h > 0) {
		errno = h;
		return -1;
	}
	if (!next)
		*(void **)&next = real("recvmsg");
	n = next(fd, m, flags);
	if (h == HOW_CTRUNC && n >= 0)
		drop_descriptors(m);
	return n;
}

/* ------------------------------------------------------------- variadic */

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return fails(CALL_open)
		       ? -1
		       : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & (O_CREAT | O_TMPFILE))
		mode = va_arg(ap, mode_t);
	va_end(ap);
	return fails(CALL_openat)
		       ? -1
		       : (int)syscall(SYS_openat, at, path, flags, mode);
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long a[6];
	va_list ap;
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if ((number == SYS_pidfd_open && fails(CALL_pidfd_open)) ||
	    (number == SYS_write && fails(CALL_write)))
		return -1;
	if (!next)
		*(void **)&next = real("syscall");
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

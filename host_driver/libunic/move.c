/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * move.c - moving private anonymous pages into the slot and back, at the same
 * addresses, while no other thread of the process runs.
 *
 * Secret: how threads are parked. A real-time signal makes each of them wait in
 * its handler; a thread that blocks the signal makes the move fail. Between
 * park() and unpark() nothing may allocate: a parked thread may hold malloc's
 * lock.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "priv.h"

#define PARK_SIGNAL (SIGRTMAX - 2)
#define PARK_MAX    256
#define PARK_MS	    1000

/* Signal handlers have no context but globals. */
static struct {
	pthread_mutex_t lock;
	uint32_t round;	    /* odd: park */
	uint32_t parked;    /* threads in the handler */
	uintptr_t from, to; /* the range being moved */
	uint32_t stack_hit; /* a parked thread's stack is inside of it */
} park;			    /* lock: all zeroes is its initial value */

static long futex(uint32_t *addr, int op, uint32_t val)
{
	return syscall(SYS_futex, addr, op | FUTEX_PRIVATE_FLAG, val, NULL,
		       NULL, 0);
}

static void on_park(int sig)
{
	uint32_t round = __atomic_load_n(&park.round, __ATOMIC_ACQUIRE);
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	int saved = errno;

	(void)sig;
	if (round & 1) {
		if (sp >= park.from && sp < park.to)
			__atomic_store_n(&park.stack_hit, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&park.parked, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&park.round, __ATOMIC_ACQUIRE) == round)
			futex(&park.round, FUTEX_WAIT, round);
		__atomic_sub_fetch(&park.parked, 1, __ATOMIC_RELEASE);
	}
	errno = saved;
}

struct dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

static int parse_tid(const char *s)
{
	int n = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		n = n * 10 + (*s - '0');
	return *s ? 0 : n;
}

/* Thread ids of this process, without allocation. Returns how many. */
static int list_threads(int *tid, int max)
{
	_Alignas(8) char buf[4096];
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int n = 0;
	long got;

	if (fd < 0)
		return -errno;
	while ((got = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0) {
		long at = 0;

		while (at < got && n < max) {
			struct dirent64 *d = (void *)(buf + at);

			tid[n] = parse_tid(d->name);
			n += tid[n] > 0;
			at += d->reclen;
		}
	}
	close(fd);
	return n;
}

static bool known(const int *tid, int n, int t)
{
	while (n > 0) {
		if (tid[--n] == t)
			return true;
	}
	return false;
}

/* Signal the threads that were not yet; returns how many others live. */
static int signal_new(int *told, int *n_told)
{
	int self = (int)syscall(SYS_gettid);
	int tid[PARK_MAX];
	int others = 0;
	int n = list_threads(tid, PARK_MAX);
	int i;

	if (n < 0 || n == PARK_MAX)
		return -EAGAIN;
	for (i = 0; i < n; i++) {
		if (tid[i] == self)
			continue;
		others++;
		if (known(told, *n_told, tid[i]) || *n_told == PARK_MAX)
			continue;
		if (!syscall(SYS_tgkill, getpid(), tid[i], PARK_SIGNAL))
			told[(*n_told)++] = tid[i];
	}
	return others;
}

/* Every other thread is in the handler, or -EBUSY. Repeated, because threads
 * start and end meanwhile. */
static int stop_others(void)
{
	uint64_t until = unic_now_ns() + PARK_MS * 1000000ull;
	struct timespec nap = { .tv_nsec = 100000 };
	int told[PARK_MAX];
	int n_told = 0;
	int others;

	for (;;) {
		others = signal_new(told, &n_told);
		if (others < 0)
			return others;
		if ((uint32_t)others ==
		    __atomic_load_n(&park.parked, __ATOMIC_ACQUIRE))
			return 0;
		if (unic_now_ns() > until)
			return -EBUSY;
		nanosleep(&nap, NULL);
	}
}

static void go_on(void)
{
	struct timespec nap = { .tv_nsec = 20000 };

	__atomic_add_fetch(&park.round, 1, __ATOMIC_RELEASE);
	futex(&park.round, FUTEX_WAKE, INT32_MAX);
	/* The next round must not count those of this one. */
	while (__atomic_load_n(&park.parked, __ATOMIC_ACQUIRE))
		nanosleep(&nap, NULL);
}

/* Runs @fn(@arg) while no other thread runs, if the range [va, va + bytes) holds
 * no stack. Returns its answer. */
static int alone(uint8_t *va, size_t bytes, int (*fn)(void *), void *arg)
{
	struct sigaction sa = { .sa_handler = on_park, .sa_flags = SA_RESTART };
	struct sigaction old;
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	int err;

	pthread_mutex_lock(&park.lock);
	sigfillset(&sa.sa_mask);
	sigaction(PARK_SIGNAL, &sa, &old);
	park.from = (uintptr_t)va;
	park.to = park.from + bytes;
	park.stack_hit = sp >= park.from && sp < park.to;
	__atomic_add_fetch(&park.round, 1, __ATOMIC_RELEASE);
	err = stop_others();
	if (!err && park.stack_hit)
		err = -EACCES;
	if (!err)
		err = fn(arg);
	go_on();
	pthread_mutex_unlock(&park.lock);
	return err;
}

/* ------------------------------------------------------- what may be moved */

struct map_line {
	uintptr_t from, to;
	char perms[5];
	bool inode;
	char path[16];
};

static const char *parse_hex(const char *s, uintptr_t *out)
{
	uintptr_t v = 0;

	for (;; s++) {
		if (*s >= '0' && *s <= '9')
			v = v << 4 | (uintptr_t)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			v = v << 4 | (uintptr_t)(*s - 'a' + 10);
		else
			break;
	}
	*out = v;
	return s;
}

static const char *skip_field(const char *s)
{
	while (*s && *s != ' ')
		s++;
	while (*s == ' ')
		s++;
	return s;
}

/* "from-to perms offset dev inode   path" */
static void parse_map(const char *s, struct map_line *m)
{
	s = parse_hex(s, &m->from);
	s = parse_hex(s + (*s == '-'), &m->to);
	s = skip_field(s);
	memcpy(m->perms, s, 4);
	m->perms[4] = '\0';
	s = skip_field(skip_field(skip_field(s)));
	m->inode = *s != '0';
	s = skip_field(s);
	strncpy(m->path, s, sizeof(m->path) - 1);
	m->path[sizeof(m->path) - 1] = '\0';
}

/* The words for why it cannot be moved, or NULL. */
static const char *objection(const struct map_line *m)
{
	if (m->perms[3] != 'p')
		return "a shared mapping";
	if (m->inode)
		return "a mapping of a file";
	if (!strncmp(m->path, "[stack", 6))
		return "a stack";
	if (m->path[0] == '[' && strncmp(m->path, "[heap]", 6) &&
	    strncmp(m->path, "[anon", 5))
		return "a mapping of the kernel";
	if (m->perms[0] != 'r' || m->perms[1] != 'w' || m->perms[2] == 'x')
		return "not readable and writable data";
	return NULL;
}

struct map_scan {
	uintptr_t at, end;
	const char *why;
};

static void scan_line(struct map_scan *s, const char *line)
{
	struct map_line m;

	parse_map(line, &m);
	if (s->why || s->at >= s->end || m.to <= s->at)
		return;
	if (m.from > s->at)
		s->why = "not mapped";
	else
		s->why = objection(&m);
	s->at = m.to;
}

/* Without allocation: a line at a time out of a small buffer. */
static const char *scan_maps(uintptr_t from, uintptr_t to)
{
	struct map_scan s = { .at = from, .end = to };
	char buf[1024];
	char line[256];
	size_t len = 0;
	ssize_t n;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return "of unknown kind: /proc/self/maps cannot be read";
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		ssize_t i;

		for (i = 0; i < n; i++) {
			if (buf[i] != '\n') {
				if (len < sizeof(line) - 1)
					line[len++] = buf[i];
				continue;
			}
			line[len] = '\0';
			scan_line(&s, line);
			len = 0;
		}
	}
	close(fd);
	if (!s.why && s.at < s.end)
		s.why = "not mapped";
	return s.why;
}

/* ------------------------------------------------------------- the moving */

struct move {
	int slot_fd;
	uint8_t *va;
	size_t bytes;
	const struct unic_run *runs;
	size_t n_runs;
	uint8_t *copy; /* of the contents, private */
	const char *why;
};

/* Undo: whatever was replaced becomes private memory again. */
static void put_back(struct move *m)
{
	if (mmap(m->va, m->bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		memcpy(m->va, m->copy, m->bytes);
}

static int replace(void *arg)
{
	struct move *m = arg;
	uint8_t *va = m->va;
	size_t i;

	m->why = scan_maps((uintptr_t)m->va, (uintptr_t)m->va + m->bytes);
	if (m->why)
		return -EACCES;
	memcpy(m->copy, m->va, m->bytes);
	for (i = 0; i < m->n_runs; i++) {
		size_t bytes = (size_t)m->runs[i].pages * UNIC_PAGE;

		if (mmap(va, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, m->slot_fd,
			 (off_t)m->runs[i].page * UNIC_PAGE) == MAP_FAILED) {
			put_back(m);
			return -ENOMEM;
		}
		va += bytes;
	}
	memcpy(m->va, m->copy, m->bytes);
	return 0;
}

static int restore(void *arg)
{
	struct move *m = arg;

	memcpy(m->copy, m->va, m->bytes);
	put_back(m);
	return 0;
}

static int run_move(struct move *m, int (*fn)(void *))
{
	int err;

	m->copy = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->copy == MAP_FAILED)
		return -ENOMEM;
	err = alone(m->va, m->bytes, fn, m);
	munmap(m->copy, m->bytes);
	return err;
}

int unic_move_in(int slot_fd, uint8_t *va, size_t bytes,
		 const struct unic_run *runs, size_t n_runs)
{
	struct move m = { .slot_fd = slot_fd,
			  .va = va,
			  .bytes = bytes,
			  .runs = runs,
			  .n_runs = n_runs };
	int err = run_move(&m, replace);

	if (err == -EACCES)
		return unic_fail(err,
				 "memory at %p cannot be moved into the slot: "
				 "it is %s; use unic_alloc()",
				 (void *)va, m.why ? m.why : "a stack");
	if (err)
		return unic_fail(err,
				 "memory at %p was not moved into the slot: %s",
				 (void *)va,
				 err == -EBUSY ? "a thread does not stop (does "
						 "it block signals?)"
					       : "out of memory");
	return 0;
}

int unic_move_out(uint8_t *va, size_t bytes)
{
	struct move m = { .va = va, .bytes = bytes };
	int err = run_move(&m, restore);

	return err ? unic_fail(err, "memory at %p stays in the slot",
			       (void *)va)
		   : 0;
}

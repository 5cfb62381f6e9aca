/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * park.c - see park.h. A thread that blocks UNIC_PARK_SIGNAL gets a signal that the C library
 * keeps for itself, and which pthread_sigmask() and sigfillset() leave out; what it uses that
 * one for, setuid() and the like of a process with threads, goes on as before.
 */
#define _GNU_SOURCE
#include "park.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fork.h"
#include "own_data.h"
#include "priv.h"

#define PARK_MAX     256
#define PARK_MS	     1000
#define HOLD_MS	     100 /* as PARK_MS, for who can do without */
#define GONE_ON	     1	 /* in park.until_ns */
#define INNER_SIGNAL 33	 /* SIGSETXID of the C library */
#define MASK_BYTES   8	 /* of the kernel's set of signals */

/* Signal handlers have no context but globals. */
UNIC_OWN_VARIABLE static struct {
	pthread_mutex_t lock;
	uint32_t round;	 /* odd: park */
	uint32_t parked; /* threads in the handler */
	/* when they go on by themselves; 0: never; GONE_ON: one has */
	uint64_t until_ns;
	uint32_t places;
	struct unic_park_at place[PARK_MAX]; /* the moving thread first */
	/* what the C library does at INNER_SIGNAL; NULL: nothing */
	void (*inner)(int sig, siginfo_t *info, void *context);
} park; /* lock: all zeroes is its initial value */

static long sys_futex(uint32_t *addr, int op, uint32_t val)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	bool ends = op == FUTEX_WAIT &&
		    __atomic_load_n(&park.until_ns, __ATOMIC_RELAXED);

	return syscall(SYS_futex, addr, op | FUTEX_PRIVATE_FLAG, val,
		       ends ? &nap : NULL, NULL, 0);
}

/* True if a parked thread has waited long enough. */
static bool goes_on(void)
{
	uint64_t until = __atomic_load_n(&park.until_ns, __ATOMIC_ACQUIRE);

	return until == GONE_ON ||
	       (until && unic_now_ns() > until &&
		__atomic_compare_exchange_n(&park.until_ns, &until, GONE_ON,
					    false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE));
}

uint32_t unic_park_places(const struct unic_park_at **out)
{
	*out = park.place;
	return park.places < PARK_MAX ? park.places : PARK_MAX;
}

static void note_place(void)
{
	uint32_t i = __atomic_fetch_add(&park.places, 1, __ATOMIC_RELAXED);

	if (i < PARK_MAX)
		park.place[i] = (struct unic_park_at){
			.sp = (uintptr_t)__builtin_frame_address(0),
			.self = (uintptr_t)pthread_self(),
		};
}

static void on_park(int sig, siginfo_t *info, void *context)
{
	uint32_t round = __atomic_load_n(&park.round, __ATOMIC_ACQUIRE);
	int saved = errno;

	if (sig == INNER_SIGNAL && info->si_code != SI_QUEUE) {
		if (park.inner)
			park.inner(sig, info, context);
		return;
	}
	if (round & 1) {
		note_place();
		__atomic_add_fetch(&park.parked, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&park.round, __ATOMIC_ACQUIRE) ==
			       round &&
		       !goes_on())
			sys_futex(&park.round, FUTEX_WAIT, round);
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

/* Store the thread ids of this process to @tid, without allocation. Returns how many. */
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

static bool is_known_tid(const int *tid, int n, int t)
{
	while (n > 0) {
		if (tid[--n] == t)
			return true;
	}
	return false;
}

/* The kernel's struct, of which the C library's functions do not set that of
 * INNER_SIGNAL. */
struct kernel_action {
	void (*handler)(int sig, siginfo_t *info, void *context);
	unsigned long rest[7];
};

/* Handle INNER_SIGNAL as UNIC_PARK_SIGNAL is handled. There is a thread that blocks that one, so
 * the C library has its handler in place. */
static void take_inner_signal(void)
{
	struct kernel_action ours = { NULL }, before = { NULL };

	if (syscall(SYS_rt_sigaction, UNIC_PARK_SIGNAL, NULL, &ours,
		    MASK_BYTES) ||
	    syscall(SYS_rt_sigaction, INNER_SIGNAL, NULL, &before,
		    MASK_BYTES) ||
	    before.handler == on_park)
		return;
	park.inner = before.handler;
	syscall(SYS_rt_sigaction, INNER_SIGNAL, &ours, NULL, MASK_BYTES);
}

/* True if thread @tid of this process blocks UNIC_PARK_SIGNAL. Without allocation. */
static bool blocks_signal(int tid)
{
	char path[48], text[4096];
	const char *mask;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	mask = strstr(text, "\nSigBlk:\t");
	return mask &&
	       strtoull(mask + 9, NULL, 16) >> (UNIC_PARK_SIGNAL - 1) & 1;
}

/* Have thread @tid enter the handler. 0, or not. */
static long signal_thread(int tid)
{
	siginfo_t info = { .si_signo = INNER_SIGNAL, .si_code = SI_QUEUE };

	if (!blocks_signal(tid))
		return syscall(SYS_tgkill, getpid(), tid, UNIC_PARK_SIGNAL);
	take_inner_signal();
	info.si_pid = getpid();
	return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, INNER_SIGNAL,
		       &info);
}

/* Signal the threads that are not in @told. Returns how many other threads live. */
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
		if (is_known_tid(told, *n_told, tid[i]) || *n_told == PARK_MAX)
			continue;
		if (!signal_thread(tid[i]))
			told[(*n_told)++] = tid[i];
	}
	return others;
}

/* Have every other thread enter the handler. The list of threads is read until no new one
 * appears. Returns how many there are; -EBUSY: one did not come within @ms. */
static int stop_others(uint32_t ms)
{
	uint64_t until = unic_now_ns() + ms * 1000000ull;
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
			return others;
		if (unic_now_ns() > until)
			return -EBUSY;
		nanosleep(&nap, NULL);
	}
}

static void unpark_threads(void)
{
	struct timespec nap = { .tv_nsec = 20000 };

	__atomic_add_fetch(&park.round, 1, __ATOMIC_RELEASE);
	sys_futex(&park.round, FUTEX_WAKE, INT32_MAX);
	/* The next round must not count threads of this one. */
	while (__atomic_load_n(&park.parked, __ATOMIC_ACQUIRE))
		nanosleep(&nap, NULL);
}

/* Stop the others within @ms, until @until_ns. As stop_others(). */
static int begin_round(uint32_t ms, uint64_t until_ns)
{
	struct sigaction sa = { .sa_sigaction = on_park,
				.sa_flags = SA_RESTART | SA_SIGINFO };

	pthread_mutex_lock(&park.lock);
	sigfillset(&sa.sa_mask);
	sigaction(UNIC_PARK_SIGNAL, &sa, NULL);
	park.places = 0;
	park.until_ns = until_ns;
	note_place();
	__atomic_add_fetch(&park.round, 1, __ATOMIC_RELEASE);
	return stop_others(ms);
}

void unic_park_release(void)
{
	unpark_threads();
	pthread_mutex_unlock(&park.lock);
}

void unic_park_mask(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	sigdelset(&all, UNIC_PARK_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

int unic_park_run(int (*fn)(void *), void *arg)
{
	sigset_t old;
	int err;

	unic_park_mask(&old);
	/* a child gets the mappings of before the move, or those of after */
	unic_forks_off();
	err = begin_round(PARK_MS, 0);
	if (err >= 0)
		err = fn(arg);
	unic_park_release();
	unic_forks_on();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

int unic_park_hold(uint32_t ms)
{
	int others = begin_round(HOLD_MS, UINT64_MAX);

	if (others > 0)
		__atomic_store_n(&park.until_ns,
				 unic_now_ns() + ms * 1000000ull,
				 __ATOMIC_RELEASE);
	else
		unic_park_release();
	return others;
}

bool unic_park_longer(uint32_t ms)
{
	uint64_t until = __atomic_load_n(&park.until_ns, __ATOMIC_ACQUIRE);

	return until != GONE_ON &&
	       __atomic_compare_exchange_n(&park.until_ns, &until,
					   unic_now_ns() + ms * 1000000ull,
					   false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

void unic_park_forked(void)
{
	void (*inner)(int, siginfo_t *, void *) = park.inner;

	memset(&park, 0, sizeof(park));
	park.inner = inner;
}

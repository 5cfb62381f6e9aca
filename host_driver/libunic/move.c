/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * move.c - moving private anonymous pages into the slot and back, at the same
 * addresses, while no other thread of the process runs.
 *
 * Secret: how threads are parked. A real-time signal makes each of them wait in
 * its handler; a thread that blocks the signal makes the move fail. While threads are
 * parked, no code may allocate: a parked thread may hold the lock of malloc().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fork.h"
#include "move.h"

#define PARK_MAX 256
#define PARK_MS	 1000
/* Size, about, of the thread descriptor that the C library keeps on top of a stack; above
 * may be other memory. */
#define DESCRIPTOR_BYTES 0x900
#define RESTORE_MAPS	 2048
#define RED_BYTES	 65536 /* below a stack pointer, for calls of the mover */

/* The stack pointer of a thread, and the address of its descriptor. */
struct place {
	uintptr_t sp, self;
};

/* Signal handlers have no context but globals. */
static struct {
	pthread_mutex_t lock;
	uint32_t round;	 /* odd: park */
	uint32_t parked; /* threads in the handler */
	uint32_t places;
	struct place place[PARK_MAX]; /* the moving thread first */
} park; /* lock: all zeroes is its initial value */

static long sys_futex(uint32_t *addr, int op, uint32_t val)
{
	return syscall(SYS_futex, addr, op | FUTEX_PRIVATE_FLAG, val, NULL,
		       NULL, 0);
}

static void note_place(void)
{
	uint32_t i = __atomic_fetch_add(&park.places, 1, __ATOMIC_RELAXED);

	if (i < PARK_MAX)
		park.place[i] = (struct place){
			.sp = (uintptr_t)__builtin_frame_address(0),
			.self = (uintptr_t)pthread_self(),
		};
}

static void on_park(int sig)
{
	uint32_t round = __atomic_load_n(&park.round, __ATOMIC_ACQUIRE);
	int saved = errno;

	(void)sig;
	if (round & 1) {
		note_place();
		__atomic_add_fetch(&park.parked, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&park.round, __ATOMIC_ACQUIRE) == round)
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
		if (!syscall(SYS_tgkill, getpid(), tid[i], UNIC_PARK_SIGNAL))
			told[(*n_told)++] = tid[i];
	}
	return others;
}

/* Have every other thread enter the handler. The list of threads is read until no new one
 * appears. -EBUSY: a thread did not come within PARK_MS. */
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

static void unpark_threads(void)
{
	struct timespec nap = { .tv_nsec = 20000 };

	__atomic_add_fetch(&park.round, 1, __ATOMIC_RELEASE);
	sys_futex(&park.round, FUTEX_WAKE, INT32_MAX);
	/* The next round must not count threads of this one. */
	while (__atomic_load_n(&park.parked, __ATOMIC_ACQUIRE))
		nanosleep(&nap, NULL);
}

/* Run @fn(@arg) while no other thread runs. Returns its result, or -EBUSY. */
static int run_exclusive(int (*fn)(void *), void *arg)
{
	struct sigaction sa = { .sa_handler = on_park, .sa_flags = SA_RESTART };
	struct sigaction old;
	int err;

	/* a child gets the mappings of before the move, or those of after */
	unic_forks_off();
	pthread_mutex_lock(&park.lock);
	sigfillset(&sa.sa_mask);
	sigaction(UNIC_PARK_SIGNAL, &sa, &old);
	park.places = 0;
	note_place();
	__atomic_add_fetch(&park.round, 1, __ATOMIC_RELEASE);
	err = stop_others();
	if (!err)
		err = fn(arg);
	unpark_threads();
	pthread_mutex_unlock(&park.lock);
	unic_forks_on();
	return err;
}

/* ------------------------------------------------------------- mappings */

struct map_line {
	uintptr_t from, to;
	uintptr_t offset;
	char perms[5];
	uintptr_t major, minor;
	uint64_t inode;
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

static const char *parse_dec(const char *s, uint64_t *out)
{
	for (*out = 0; *s >= '0' && *s <= '9'; s++)
		*out = *out * 10 + (uint64_t)(*s - '0');
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

/* Parse a line of /proc/self/maps: "from-to perms offset dev inode   path" */
static void parse_map(const char *s, struct map_line *m)
{
	s = parse_hex(s, &m->from);
	s = parse_hex(s + (*s == '-'), &m->to);
	s = skip_field(s);
	memcpy(m->perms, s, 4);
	m->perms[4] = '\0';
	s = skip_field(parse_hex(skip_field(s), &m->offset));
	s = parse_hex(s, &m->major);
	s = skip_field(parse_hex(s + (*s == ':'), &m->minor));
	s = skip_field(parse_dec(s, &m->inode));
	strncpy(m->path, s, sizeof(m->path) - 1);
	m->path[sizeof(m->path) - 1] = '\0';
}

static ssize_t read_some(int fd, void *buf, size_t bytes)
{
	ssize_t n;

	do {
		n = read(fd, buf, bytes);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* Call @fn for each mapping of the process, lowest first, until @fn returns false. Does
 * not allocate: lines come out of a small buffer, one at a time. */
static int each_map(bool (*fn)(void *arg, const struct map_line *m), void *arg)
{
	struct map_line m;
	char buf[4096];
	char line[256];
	size_t len = 0;
	bool on = true;
	ssize_t n = 0;
	ssize_t i;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (on && (n = read_some(fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < n && on; i++) {
			if (buf[i] != '\n') {
				if (len < sizeof(line) - 1)
					line[len++] = buf[i];
				continue;
			}
			line[len] = '\0';
			parse_map(line, &m);
			on = fn(arg, &m);
			len = 0;
		}
	}
	close(fd);
	return n < 0 ? -EIO : 0;
}

/* ---------------------------------------------------------- movable memory */

/* True if a byte from @at on, in mapping @m, is of the stack of a thread. */
static bool is_on_stack(const struct map_line *m, uintptr_t at)
{
	uint32_t n = park.places < PARK_MAX ? park.places : PARK_MAX;
	uint32_t i;

	for (i = 0; i < n; i++) {
		uintptr_t sp = park.place[i].sp;
		uintptr_t end = park.place[i].self + DESCRIPTOR_BYTES;

		if (sp < m->from || sp >= m->to)
			continue;
		end = (end + UNIC_PAGE - 1) & ~(uintptr_t)(UNIC_PAGE - 1);
		if (end < sp || end > m->to)
			end = m->to; /* no descriptor: the whole mapping */
		if (at < end)
			return true;
	}
	return false;
}

/* Why @m cannot be moved, in words; NULL: @m can be moved. */
static const char *immovable_reason(const struct map_line *m)
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

#define NOT_MAPPED "not mapped"

struct map_scan {
	uintptr_t at, end;
	const char *why;
};

static bool scan_map(void *arg, const struct map_line *m)
{
	struct map_scan *s = arg;

	if (m->to <= s->at)
		return true;
	if (m->from > s->at)
		s->why = NOT_MAPPED;
	else if (is_on_stack(m, s->at))
		s->why = "a stack";
	else
		s->why = immovable_reason(m);
	s->at = m->to;
	return !s->why && s->at < s->end;
}

static const char *scan_maps(uintptr_t from, uintptr_t to)
{
	struct map_scan s = { .at = from, .end = to };

	if (each_map(scan_map, &s))
		return "of unknown kind: /proc/self/maps cannot be read";
	if (!s.why && s.at < s.end)
		s.why = NOT_MAPPED;
	return s.why;
}

/* -------------------------------------------------- mappings of the slot */

struct slot_scan {
	uintptr_t at, end;
	const struct unic_slot *slot;
	struct stat file;
	struct unic_slot_map *out;
	int n, max;
};

static bool slot_map(void *arg, const struct map_line *m)
{
	struct slot_scan *s = arg;
	uint64_t page = m->offset / UNIC_PAGE - s->slot->first;

	if (m->to <= s->at || m->inode != s->file.st_ino ||
	    m->major != major(s->file.st_dev) ||
	    m->minor != minor(s->file.st_dev))
		return true;
	if (m->from >= s->end)
		return false;
	if (page < UNIC_SLOT_FRAMES || page >= s->slot->pages)
		return true; /* not a frame: pages of the library */
	s->out[s->n] = (struct unic_slot_map){
		.va = (uint8_t *)m->from,
		.bytes = m->to - m->from,
		.page = (uint32_t)page,
		.prot = (m->perms[0] == 'r' ? PROT_READ : 0) |
			(m->perms[1] == 'w' ? PROT_WRITE : 0) |
			(m->perms[2] == 'x' ? PROT_EXEC : 0),
	};
	return ++s->n < s->max;
}

int unic_slot_maps(const struct unic_slot *slot, const uint8_t *from,
		   const uint8_t *to, struct unic_slot_map *out, int max)
{
	struct slot_scan s = { .at = (uintptr_t)from,
			       .end = (uintptr_t)to,
			       .slot = slot,
			       .out = out,
			       .max = max };
	int err = fstat(slot->fd, &s.file) ? -errno : each_map(slot_map, &s);

	return err ? err : s.n;
}

/* ------------------------------------------------------------- the moving */

struct move {
	struct unic_slot slot; /* a copy: the context may be in what is moved */
	uint8_t *va;
	size_t bytes;
	const struct unic_run *runs;
	size_t n_runs;
	uint8_t *copy; /* of the contents, private */
	const char *why;
};

/* Undo a replacement: the pages become private memory with the copied contents again. */
static void undo_replace_pages(struct move *m)
{
	if (mmap(m->va, m->bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		memcpy(m->va, m->copy, m->bytes);
}

static int replace_pages(void *arg)
{
	struct move *m = arg;
	uint8_t *va = m->va;
	size_t i;

	m->why = scan_maps((uintptr_t)m->va, (uintptr_t)m->va + m->bytes);
	if (m->why)
		return strcmp(m->why, NOT_MAPPED) ? -EACCES : -EFAULT;
	memcpy(m->copy, m->va, m->bytes);
	for (i = 0; i < m->n_runs; i++) {
		size_t bytes = (size_t)m->runs[i].pages * UNIC_PAGE;

		if (mmap(va, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, m->slot.fd,
			 unic_slot_at(&m->slot, m->runs[i].page)) ==
		    MAP_FAILED) {
			undo_replace_pages(m);
			return -ENOMEM;
		}
		va += bytes;
	}
	memcpy(m->va, m->copy, m->bytes);
	madvise(m->va, m->bytes, MADV_DONTFORK);
	return 0;
}

/* Replace mapping @m of the slot by private memory with the same contents, read from the
 * file: the mapping may forbid reading. */
static int privatize_map(const struct unic_slot *slot, struct unic_slot_map m)
{
	struct map_line line = { .from = (uintptr_t)m.va,
				 .to = (uintptr_t)m.va + m.bytes };
	uint32_t i;

	for (i = 0; i < park.places && i < PARK_MAX; i++) {
		if (park.place[i].sp >= line.from &&
		    park.place[i].sp - RED_BYTES < line.to)
			return -EACCES;
	}
	if (mmap(m.va, m.bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -ENOMEM;
	if (pread(slot->fd, m.va, m.bytes, unic_slot_at(slot, m.page)) !=
	    (ssize_t)m.bytes)
		return -EIO;
	return m.prot == (PROT_READ | PROT_WRITE)
		       ? 0
		       : mprotect(m.va, m.bytes, m.prot);
}

struct restore {
	struct unic_slot slot; /* a copy, as above */
	const uint8_t *from, *to;
	struct unic_slot_map *map; /* room for RESTORE_MAPS */
};

static int restore_maps(void *arg)
{
	struct restore *r = arg;
	struct unic_slot_map *map = r->map;
	const uint8_t *at = r->from;
	int err = 0;
	int n;
	int i;

	do {
		n = unic_slot_maps(&r->slot, at, r->to, map, RESTORE_MAPS);
		for (i = 0; i < n; i++) {
			at = map[i].va + map[i].bytes;
			if (privatize_map(&r->slot, map[i]))
				err = -EACCES;
		}
	} while (n == RESTORE_MAPS);
	return n < 0 ? n : err;
}

/* Allocate memory outside of any heap: the heap may be the memory that is moved. */
static void *alloc_scratch(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void unic_move_forked(void)
{
	memset(&park, 0, sizeof(park));
}

int unic_move_in(const struct unic_slot *slot, uint8_t *va, size_t bytes,
		 const struct unic_run *runs, size_t n_runs)
{
	size_t runs_bytes = n_runs * sizeof(*runs);
	uint8_t *copy = alloc_scratch(bytes + runs_bytes);
	struct move m = { .slot = *slot,
			  .va = va,
			  .bytes = bytes,
			  .n_runs = n_runs,
			  .copy = copy };
	int err = -ENOMEM;

	if (copy) {
		memcpy(copy + bytes, runs, runs_bytes);
		m.runs = (void *)(copy + bytes);
		err = run_exclusive(replace_pages, &m);
		munmap(copy, bytes + runs_bytes);
	}
	if (err == -EACCES || err == -EFAULT)
		return unic_fail(err,
				 "memory at %p cannot be moved into the slot: "
				 "it is %s; use unic_alloc()",
				 (void *)va, m.why);
	if (err)
		return unic_fail(err,
				 "memory at %p was not moved into the slot: %s",
				 (void *)va,
				 err == -EBUSY ? "a thread does not stop (does "
						 "it block signals?)"
					       : "out of memory");
	return 0;
}

int unic_move_out(const struct unic_slot *slot, const uint8_t *from,
		  const uint8_t *to)
{
	struct restore r = {
		.slot = *slot,
		.from = from,
		.to = to,
		.map = alloc_scratch(RESTORE_MAPS * sizeof(*r.map)),
	};
	int err = r.map ? run_exclusive(restore_maps, &r) : -ENOMEM;

	if (r.map)
		munmap(r.map, RESTORE_MAPS * sizeof(*r.map));
	return err ? unic_fail(err,
			       "memory from %p to %p stays in the slot: "
			       "%s",
			       (const void *)from, (const void *)to,
			       strerror(-err))
		   : 0;
}

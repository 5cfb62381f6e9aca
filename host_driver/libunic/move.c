/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * move.c - moving private pages, anonymous or of a file (.data), into the slot and back, at
 * the same addresses, while no other thread of the process runs (park.h).
 *
 * A mapping is replaced in one system call by one that has its contents already: at no
 * moment is there another value at an address that is read meanwhile, by this code or by
 * the C library.
 *
 * Secret: which memory can be moved. While threads are parked, no code may allocate.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "move.h"
#include "own_data.h"
#include "park.h"

/* Size, about, of the thread descriptor that the C library keeps on top of a stack; above
 * may be other memory. */
#define DESCRIPTOR_BYTES 0x900
#define RESTORE_MAPS	 2048
#define RED_BYTES	 65536 /* below a stack pointer, for calls of the mover */

/* ------------------------------------------------------------- mappings */

struct map_line {
	uintptr_t from, to;
	uintptr_t offset;
	char perms[5];
	uintptr_t major, minor;
	uint64_t inode;
	char path[160];
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
	const struct unic_park_at *place;
	uint32_t n = unic_park_places(&place);
	uint32_t i;

	for (i = 0; i < n; i++) {
		uintptr_t sp = place[i].sp;
		uintptr_t end = place[i].self + DESCRIPTOR_BYTES;

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

/* Why @m cannot be moved, in words; NULL: @m can be moved. Pages of hugetlbfs are not replaced
 * one by one. */
static const char *immovable_reason(const struct map_line *m)
{
	if (m->perms[3] != 'p')
		return "a shared mapping";
	if (!strncmp(m->path, "/anon_hugepage", 14))
		return "huge pages of hugetlbfs";
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
	uintptr_t at, end; /* @at: what @why is about */
	struct unic_own_data own;
	const char *why;
	struct map_line map; /* that it is in, unless @why is NOT_MAPPED */
};

static uintptr_t min_at(uintptr_t a, uintptr_t b)
{
	return a < b ? a : b;
}

static bool is_own(const struct map_scan *s, const struct map_line *m)
{
	return unic_own_data_meets(&s->own, s->at, min_at(m->to, s->end));
}

/* True if something of @s in @m is of a thread: its descriptor, or variables of its own. Those of
 * a thread that was made are in its stack, those of the first one anywhere. A child uses them before it
 * can have copies. */
static bool meets_thread(const struct map_scan *s, const struct map_line *m)
{
	const uintptr_t mask = UNIC_PAGE - 1;
	const struct unic_park_at *place;
	uint32_t n = unic_park_places(&place);
	uint32_t i;

	for (i = 0; i < n; i++) {
		uintptr_t from = place[i].self;
		uintptr_t to = from + DESCRIPTOR_BYTES;

#ifdef __x86_64__
		from -= s->own.tls_bytes;
#else
		to += s->own.tls_bytes;
#endif
		if (s->at < ((to + mask) & ~mask) &&
		    (from & ~mask) < min_at(m->to, s->end))
			return true;
	}
	return false;
}

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
	if (!s->why && is_own(s, m))
		s->why = "data of a library that moves it";
	if (!s->why && meets_thread(s, m))
		s->why = "variables of a thread";
	if (s->why) {
		s->map = *m;
		return false;
	}
	s->at = m->to;
	return s->at < s->end;
}

/* Find in @s the reason why a page of [@s->at, @s->end) cannot be moved, if there is one. */
static void scan_maps(struct map_scan *s)
{
	if (each_map(scan_map, s))
		s->why = "of unknown kind: /proc/self/maps cannot be read";
	else if (!s->why && s->at < s->end)
		s->why = NOT_MAPPED;
}

/* Report what scan_maps() found. */
static int fail_scan(const struct map_scan *s)
{
	const struct map_line *m = &s->map;

	if (!strcmp(s->why, NOT_MAPPED))
		return unic_fail(-EFAULT,
				 "memory at %p cannot be moved into the slot: "
				 "it is " NOT_MAPPED,
				 (void *)s->at);
	return unic_fail(-EACCES,
			 "memory at %p cannot be moved into the slot: it is "
			 "%s (%lx-%lx %s %s); use unic_alloc()",
			 (void *)s->at, s->why, (unsigned long)m->from,
			 (unsigned long)m->to, m->perms,
			 *m->path ? m->path : "anonymous");
}

/* -------------------------------------------------- mappings of the slot */

struct slot_scan {
	uintptr_t at, end;
	const struct unic_slot *slot;
	struct stat file;
	bool (*fn)(void *arg, const struct unic_slot_map *m);
	void *arg;
};

/* A mapping may go on beyond what is looked at: the kernel makes one of two that meet, in memory
 * and in the slot. */
static bool slot_map(void *arg, const struct map_line *m)
{
	struct slot_scan *s = arg;
	uintptr_t from = m->from < s->at ? s->at : m->from;
	uint64_t page =
		(m->offset + (from - m->from)) / UNIC_PAGE - s->slot->first;

	if (m->to <= s->at || m->inode != s->file.st_ino ||
	    m->major != major(s->file.st_dev) ||
	    m->minor != minor(s->file.st_dev))
		return true;
	if (m->from >= s->end)
		return false;
	if (page < UNIC_SLOT_FRAMES || page >= s->slot->pages)
		return true; /* not a frame: pages of the library */
	return s->fn(s->arg,
		     &(struct unic_slot_map){
			     .va = (uint8_t *)from,
			     .bytes = min_at(m->to, s->end) - from,
			     .page = (uint32_t)page,
			     .prot = (m->perms[0] == 'r' ? PROT_READ : 0) |
				     (m->perms[1] == 'w' ? PROT_WRITE : 0) |
				     (m->perms[2] == 'x' ? PROT_EXEC : 0),
		     });
}

int unic_slot_each(const struct unic_slot *slot, const uint8_t *from,
		   const uint8_t *to,
		   bool (*fn)(void *arg, const struct unic_slot_map *m),
		   void *arg)
{
	struct slot_scan s = { .at = (uintptr_t)from,
			       .end = (uintptr_t)to,
			       .slot = slot,
			       .fn = fn,
			       .arg = arg };

	return fstat(slot->fd, &s.file) ? -errno : each_map(slot_map, &s);
}

struct listed {
	struct unic_slot_map *out;
	int n, max;
};

static bool list_map(void *arg, const struct unic_slot_map *m)
{
	struct listed *l = arg;

	l->out[l->n] = *m;
	return ++l->n < l->max;
}

int unic_slot_maps(const struct unic_slot *slot, const uint8_t *from,
		   const uint8_t *to, struct unic_slot_map *out, int max)
{
	struct listed l = { .out = out, .max = max };
	int err = unic_slot_each(slot, from, to, list_map, &l);

	return err ? err : l.n;
}

/* ------------------------------------------------------------- the moving */

void *unic_map_apart(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct move {
	const struct unic_slot *slot; /* of a context, which may be moved */
	uint8_t *va;
	size_t bytes;
	const struct unic_run *runs;
	size_t n_runs;
	uint8_t *spare; /* @bytes of private memory, for an undo */
	bool half;	/* some pages are frames, for good */
	struct map_scan scan;
};

/* Copy the contents of the pages to their frames. */
static int fill_runs(const struct move *m)
{
	const uint8_t *at = m->va;
	size_t i;

	for (i = 0; i < m->n_runs; i++) {
		size_t bytes = (size_t)m->runs[i].pages * UNIC_PAGE;

		if (pwrite(m->slot->fd, at, bytes,
			   unic_slot_at(m->slot, m->runs[i].page)) !=
		    (ssize_t)bytes)
			return -EFAULT; /* beyond the end of its file */
		at += bytes;
	}
	return 0;
}

/* Make all of the pages private memory again, after some were replaced. False: it cannot be
 * done, as near the limit of mappings of a process. */
static bool undo_replace_pages(struct move *m)
{
	uint8_t *at = m->spare;
	size_t i;

	for (i = 0; i < m->n_runs; i++) {
		size_t bytes = (size_t)m->runs[i].pages * UNIC_PAGE;

		if (pread(m->slot->fd, at, bytes,
			  unic_slot_at(m->slot, m->runs[i].page)) !=
		    (ssize_t)bytes)
			return false;
		at += bytes;
	}
	return mremap(m->spare, m->bytes, m->bytes,
		      MREMAP_MAYMOVE | MREMAP_FIXED, m->va) == m->va;
}

static int map_frames(struct move *m)
{
	uint8_t *va = m->va;
	size_t i;

	for (i = 0; i < m->n_runs; i++) {
		size_t bytes = (size_t)m->runs[i].pages * UNIC_PAGE;

		if (mmap(va, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, m->slot->fd,
			 unic_slot_at(m->slot, m->runs[i].page)) ==
		    MAP_FAILED) {
			m->half = !undo_replace_pages(m) && va > m->va;
			return -ENOMEM;
		}
		va += bytes;
	}
	madvise(m->va, m->bytes, MADV_DONTFORK);
	return 0;
}

/* The contents are copied once no other thread runs, and this one writes to none of the pages
 * from then until they are replaced. */
static int replace_pages(void *arg)
{
	struct move *m = arg;
	int err;

	scan_maps(&m->scan);
	if (m->scan.why)
		return -EACCES;
	/* not before, or it might be where nothing was mapped */
	m->spare = unic_map_apart(m->bytes);
	if (!m->spare)
		return -ENOMEM;
	err = fill_runs(m);
	if (!err)
		err = map_frames(m);
	munmap(m->spare, m->bytes);
	return err;
}

/* Replace mapping @m of the slot by private memory with the same contents, read from the
 * file: the mapping may forbid reading. */
static int privatize_map(const struct unic_slot *slot, struct unic_slot_map m)
{
	struct map_line line = { .from = (uintptr_t)m.va,
				 .to = (uintptr_t)m.va + m.bytes };
	const struct unic_park_at *place;
	uint32_t n = unic_park_places(&place);
	uint8_t *copy;
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (place[i].sp >= line.from &&
		    place[i].sp - RED_BYTES < line.to)
			return -EACCES;
	}
	copy = unic_map_apart(m.bytes);
	if (!copy)
		return -ENOMEM;
	if (pread(slot->fd, copy, m.bytes, unic_slot_at(slot, m.page)) ==
		    (ssize_t)m.bytes &&
	    !mprotect(copy, m.bytes, m.prot) &&
	    mremap(copy, m.bytes, m.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
		   m.va) == m.va)
		return 0;
	munmap(copy, m.bytes);
	return -ENOMEM;
}

struct restore {
	const struct unic_slot *slot; /* as above */
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
		n = unic_slot_maps(r->slot, at, r->to, map, RESTORE_MAPS);
		for (i = 0; i < n; i++) {
			at = map[i].va + map[i].bytes;
			if (privatize_map(r->slot, map[i]))
				err = -EACCES;
		}
	} while (n == RESTORE_MAPS);
	return n < 0 ? n : err;
}

static int fail_move(const struct move *m, int err)
{
	if (m->scan.why)
		return fail_scan(&m->scan);
	return unic_fail(err, "memory at %p was not moved into the slot: %s",
			 (void *)m->va,
			 err == -EBUSY	  ? "a thread does not stop"
			 : err == -EFAULT ? "it is beyond the end of its file"
					  : "out of memory");
}

int unic_move_in(const struct unic_slot *slot, uint8_t *va, size_t bytes,
		 const struct unic_run *runs, size_t n_runs, bool *half)
{
	struct move m = { .slot = slot,
			  .va = va,
			  .bytes = bytes,
			  .runs = runs,
			  .n_runs = n_runs,
			  .scan = { .at = (uintptr_t)va,
				    .end = (uintptr_t)va + bytes } };
	int err;

	unic_own_data_find(&m.scan.own);
	err = unic_park_run(replace_pages, &m);
	*half = m.half;
	return err ? fail_move(&m, err) : 0;
}

int unic_move_out(const struct unic_slot *slot, const uint8_t *from,
		  const uint8_t *to)
{
	struct restore r = {
		.slot = slot,
		.from = from,
		.to = to,
		.map = unic_map_apart(RESTORE_MAPS * sizeof(*r.map)),
	};
	int err = r.map ? unic_park_run(restore_maps, &r) : -ENOMEM;

	if (r.map)
		munmap(r.map, RESTORE_MAPS * sizeof(*r.map));
	return err ? unic_fail(err,
			       "memory from %p to %p stays in the slot: "
			       "%s",
			       (const void *)from, (const void *)to,
			       strerror(-err))
		   : 0;
}

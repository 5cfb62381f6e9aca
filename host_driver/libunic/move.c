/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * move.c - moving private anonymous pages into the slot and back, at the same
 * addresses, while no other thread of the process runs (park.h).
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
	const struct unic_park_at *place;
	uint32_t n = unic_park_places(&place);
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (place[i].sp >= line.from &&
		    place[i].sp - RED_BYTES < line.to)
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
		err = unic_park_run(replace_pages, &m);
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
				 err == -EBUSY ? "a thread does not stop"
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

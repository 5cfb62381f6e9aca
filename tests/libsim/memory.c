/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* memory.c - see memory.h: mmap() and the like, as libunic calls them. */
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "fiber.h"
#include "files.h"
#include "world.h"

#define BASE	  0x6a0000000000ull
#define PROCESSES 16u
#define PAGES	  16384u /* of a process */
#define PAGE	  4096u
#define LINE	  96u /* of /proc/self/maps, at most */

enum kind {
	FREE = 0,
	OWN,
	SLOT,
};

struct page {
	uint8_t kind, prot;
	uint16_t slot;
	uint32_t at; /* page of the file */
};

static bool reserved;

static uint8_t *base_of(const struct process *p)
{
	return (uint8_t *)(BASE + (uint64_t)p->index * PAGES * PAGE);
}

static void map_real(void *at, size_t bytes, int prot, int flags, int fd,
		     uint64_t off)
{
	if (mmap(at, bytes, prot, flags | MAP_FIXED | MAP_NORESERVE, fd,
		 (off_t)off) != at)
		sim_fail("sim", "the real kernel maps nothing at %p", at);
}

static void forbid(void *at, size_t bytes)
{
	map_real(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void memory_reset(void)
{
	size_t bytes = (size_t)PROCESSES * PAGES * PAGE;

	if (!reserved && mmap((void *)BASE, bytes, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				      MAP_FIXED_NOREPLACE,
			      -1, 0) != (void *)BASE)
		sim_fail("sim", "there is no room at %llx", BASE);
	if (reserved)
		forbid((void *)BASE, bytes);
	reserved = true;
}

/* The pages of @p from @at on. */
static struct page *pages_at(struct process *p, const void *at, size_t bytes)
{
	size_t off = (size_t)((const uint8_t *)at - base_of(p));

	if (!p->page)
		p->page = sim_alloc(PAGES * sizeof(*p->page));
	if (off % PAGE || bytes % PAGE || off + bytes > (size_t)PAGES * PAGE)
		sim_fail("memory", "%s names %zu bytes at %p", process_name(p),
			 bytes, at);
	return p->page + off / PAGE;
}

/* The first range of @n pages that is free. */
static uint8_t *find_room(struct process *p, size_t n)
{
	struct page *page = pages_at(p, base_of(p), 0);
	size_t i, run = 0;

	for (i = 0; i < PAGES; i++) {
		run = page[i].kind == FREE ? run + 1 : 0;
		if (run == n)
			return base_of(p) + (i + 1 - n) * PAGE;
	}
	return NULL;
}

static void set(struct page *page, size_t n, struct page as)
{
	for (; n--; page++, as.at++)
		*page = as;
}

void *sys_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t off)
{
	struct process *p = fiber_process();
	struct page as = { .kind = OWN, .prot = (uint8_t)prot };
	uint32_t node, slot;

	fiber_step();
	bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (!(flags & MAP_FIXED))
		addr = find_room(p, bytes / PAGE);
	if (!addr) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (flags & MAP_ANONYMOUS) {
		map_real(addr, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	} else {
		files_slot(p, fd, &node, &slot);
		as.kind = SLOT;
		as.slot = (uint16_t)slot;
		as.at = (uint32_t)(off / PAGE);
		map_real(addr, bytes, prot, MAP_SHARED, world->node[node]->file,
			 (uint64_t)slot * PORT_SLOT_BYTES + (uint64_t)off);
	}
	set(pages_at(p, addr, bytes), bytes / PAGE, as);
	return addr;
}

int sys_munmap(void *addr, size_t bytes)
{
	struct process *p = fiber_process();
	struct page *page;
	size_t i;

	fiber_step();
	if (!bytes)
		return errno = EINVAL, -1;
	bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
	page = pages_at(p, addr, bytes);
	for (i = 0; i < bytes / PAGE; i++)
		if (page[i].kind == FREE)
			sim_fail("memory", "%s unmaps what is not mapped",
				 process_name(p));
	forbid(addr, bytes);
	set(page, bytes / PAGE, (struct page){ .kind = FREE });
	return 0;
}

int sys_mprotect(void *addr, size_t bytes, int prot)
{
	struct page *page = pages_at(fiber_process(), addr, bytes);
	size_t i;

	for (i = 0; i < bytes / PAGE; i++)
		page[i].prot = (uint8_t)prot;
	return mprotect(addr, bytes, prot);
}

/* Of a fork(), which nobody does here, and of huge pages. */
int sys_madvise(void *addr, size_t bytes, int advice)
{
	(void)advice;
	pages_at(fiber_process(), addr, bytes);
	return 0;
}

void memory_must_be_unmapped(const struct process *p)
{
	size_t i;

	for (i = 0; p->page && i < PAGES; i++)
		if (p->page[i].kind != FREE)
			sim_fail("left", "%s: page %zu is mapped still",
				 process_name(p), i);
}

void memory_unmap_all(struct process *p)
{
	size_t i;

	for (i = 0; p->page && i < PAGES; i++)
		if (p->page[i].kind != FREE)
			forbid(base_of(p) + i * PAGE, PAGE);
	sim_free(p->page);
	p->page = NULL;
}

static bool follows(const struct page *a, const struct page *b)
{
	return a->kind == b->kind && a->prot == b->prot &&
	       (a->kind == OWN || (a->slot == b->slot && a->at + 1 == b->at));
}

static int line(char *text, const struct process *p, size_t from, size_t to)
{
	const struct page *page = &p->page[from];
	bool own = page->kind == OWN;

	return snprintf(
		text, LINE, "%llx-%llx %c%c%c%c %08llx 00:01 %u%s\n",
		(unsigned long long)(uintptr_t)(base_of(p) + from * PAGE),
		(unsigned long long)(uintptr_t)(base_of(p) + to * PAGE),
		page->prot & PROT_READ ? 'r' : '-',
		page->prot & PROT_WRITE ? 'w' : '-',
		page->prot & PROT_EXEC ? 'x' : '-', own ? 'p' : 's',
		own ? 0ull : (unsigned long long)page->at * PAGE,
		own ? 0 : FILES_INODE(p->node, page->slot),
		own ? "" : "   /memfd:slot");
}

char *memory_text(const struct process *p, size_t *bytes)
{
	size_t i, from, lines = 1;
	char *text;

	for (i = 0; p->page && i + 1 < PAGES; i++)
		lines += !follows(&p->page[i], &p->page[i + 1]);
	text = sim_alloc(lines * LINE);
	*bytes = 0;
	for (i = 0; p->page && i < PAGES; i++) {
		from = i;
		while (i + 1 < PAGES && follows(&p->page[i], &p->page[i + 1]))
			i++;
		if (p->page[from].kind != FREE)
			*bytes += (size_t)line(text + *bytes, p, from, i + 1);
	}
	return text;
}

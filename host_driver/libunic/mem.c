/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mem.c - memory of the slot at contiguous virtual addresses (docs/MEMORY.md section 9).
 *
 * Secret: the list of areas that are made of frames. The driver chooses the frames, and
 * records the address of each.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "context.h"
#include "fork.h"
#include "mem.h"
#include "mem_area.h"
#include "mem_frames.h"
#include "mem_sweep.h"
#include "move.h"
#include "mr.h"
#include "own_data.h"

int unic_mem_init(struct unic_ctx *ctx)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutex_init(&ctx->mem_lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return 0;
}

static uint8_t *reserve_va(size_t bytes, size_t align)
{
	uint8_t *p = mmap(NULL, bytes + align, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *va;

	if (p == MAP_FAILED)
		return NULL;
	va = (uint8_t *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
	if (va > p)
		munmap(p, (size_t)(va - p));
	munmap(va + bytes, (size_t)(p + align - va));
	return va;
}

/* A new area. @runs: runs of one page each, for memory that is moved in, else NULL. */
static struct unic_area *area_new(uint8_t *va, size_t bytes,
				  const struct unic_run *runs)
{
	size_t n = runs ? bytes / UNIC_PAGE : 0;
	struct unic_area *a = calloc(1, sizeof(*a) + n * sizeof(a->page[0]));

	if (!a) {
		unic_fail(-ENOMEM, "out of memory");
		return NULL;
	}
	a->va = va;
	a->bytes = bytes;
	a->moved = runs;
	while (n--)
		a->page[n] = runs[n].page;
	return a;
}

static void add_area(struct unic_ctx *ctx, struct unic_area *a)
{
	unic_forks_off();
	if (a->moved)
		__atomic_store_n(&ctx->moved, true, __ATOMIC_RELAXED);
	a->next = ctx->areas;
	__atomic_store_n(&ctx->areas, a, __ATOMIC_RELAXED);
	unic_forks_on();
}

/* Unmap @a. During a fork() it waits: the child would get a copy at addresses where the
 * parent maps other memory next. */
static void unmap_area(struct unic_area *a)
{
	unic_forks_off();
	munmap(a->va, a->bytes);
	unic_forks_on();
}

/* With the kernel module, which takes any memory: map private memory at @va. */
static int map_private(uint8_t *va, size_t bytes, unsigned int shift)
{
	if (mprotect(va, bytes, PROT_READ | PROT_WRITE))
		return unic_fail(-ENOMEM, "no memory: %s", strerror(errno));
	if (shift == 21)
		madvise(va, bytes, MADV_HUGEPAGE);
	return 0;
}

static int alloc_private(struct unic_ctx *ctx, uint8_t *va, size_t bytes,
			 unsigned int shift)
{
	struct unic_area *a = area_new(va, bytes, NULL);
	int err = a ? map_private(va, bytes, shift) : -ENOMEM;

	if (err)
		free(a);
	else
		add_area(ctx, a);
	return err;
}

static bool meets(const struct unic_area *a, const uint8_t *from,
		  const uint8_t *to)
{
	return a->va < to && a->va + a->bytes > from;
}

/* True if nothing of @a, which was moved in, is registered. */
static bool is_idle(struct unic_ctx *ctx, const struct unic_area *a)
{
	return a->moved && !a->stale && !meets(a, ctx->cover, ctx->cover_end) &&
	       !unic_mem_region_at(ctx, a->va, a->bytes, false);
}

/* The area that was moved in longest ago and is idle, where the list has it; NULL: there is
 * none. */
static struct unic_area **idle_area(struct unic_ctx *ctx)
{
	struct unic_area **found = NULL, **p;

	for (p = &ctx->areas; *p; p = &(*p)->next)
		if (is_idle(ctx, *p))
			found = p;
	return found;
}

/* Make idle area *@p private memory again, which gives its frames back. */
static bool end_area(struct unic_ctx *ctx, struct unic_area **p)
{
	struct unic_area *a = *p;

	if (unic_move_out(&ctx->slot, a->va, a->va + a->bytes))
		return false;
	a->stale = true; /* should the driver refuse */
	if (unic_frames_put(ctx, a->va, a->bytes))
		return false;
	*p = a->next;
	free(a);
	return true;
}

static bool make_room(struct unic_ctx *ctx)
{
	struct unic_area **p = idle_area(ctx);

	return p && end_area(ctx, p);
}

/* Memory was moved. */
static bool is_heap_elsewhere(struct unic_ctx *ctx)
{
	if (ctx->heap == UNIC_HEAP_UNKNOWN)
		ctx->heap = unic_own_data_has_heap() ? UNIC_HEAP_OF_C
						     : UNIC_HEAP_ELSEWHERE;
	return ctx->heap == UNIC_HEAP_ELSEWHERE;
}

static void end_idle_areas(struct unic_ctx *ctx, const uint8_t *from,
			   const uint8_t *to)
{
	struct unic_area **p = &ctx->areas;

	while (*p)
		if (!meets(*p, from, to) || !is_idle(ctx, *p) ||
		    !end_area(ctx, p))
			p = &(*p)->next;
}

void unic_mem_make_private(struct unic_ctx *ctx, const void *addr, size_t len)
{
	const uint8_t *va = addr;

	/* most processes move nothing, and need not wait here for those that do */
	if (!va || ctx->forked ||
	    !__atomic_load_n(&ctx->moved, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&ctx->mem_lock);
	if (is_heap_elsewhere(ctx))
		end_idle_areas(ctx, va, va + len);
	pthread_mutex_unlock(&ctx->mem_lock);
}

/* As unic_frames_fill(). What was deregistered may be in the slot, for the next time, until
 * the slot has no room: unic_mem_make_private(). */
static int fill_frames(struct unic_ctx *ctx, uint8_t *va, size_t bytes,
		       unsigned int shift, struct unic_run *runs, bool map)
{
	int err;

	do {
		err = unic_frames_fill(ctx, va, bytes, shift, runs, map);
	} while (err == -ENOMEM && make_room(ctx));
	return err;
}

static int alloc_locked(struct unic_ctx *ctx, uint8_t *va, size_t bytes,
			unsigned int shift)
{
	struct unic_run *runs = calloc(bytes >> shift, sizeof(*runs));
	struct unic_area *a = area_new(va, bytes, NULL);
	int err = -ENOMEM;

	if (!runs)
		unic_fail(err, "out of memory");
	if (runs && a)
		err = fill_frames(ctx, va, bytes, shift, runs, true);
	free(runs);
	if (err)
		free(a);
	else
		add_area(ctx, a);
	return err;
}

/* Allocate frames for [@va, @va + @bytes). -EADDRINUSE: memory was moved in at these
 * addresses, and the application has unmapped or moved it since: sweep, and try again. */
static int alloc_frames(struct unic_ctx *ctx, uint8_t *va, size_t bytes,
			unsigned int shift)
{
	int err = alloc_locked(ctx, va, bytes, shift);
	bool strays;

	if (err != -EADDRINUSE || unic_mem_sweep(ctx, &strays))
		return err;
	return alloc_locked(ctx, va, bytes, shift);
}

void *unic_alloc(struct unic_ctx *ctx, size_t bytes, size_t page_bytes)
{
	unsigned int shift =
		(unsigned int)__builtin_ctzll(page_bytes | 1ull << 40);
	uint8_t *va = NULL;
	int err = -EINVAL;

	if (ctx->forked) {
		err = unic_fail_forked();
		goto fail;
	}
	if ((shift != 12 && shift != 16 && shift != 21) ||
	    page_bytes & (page_bytes - 1) || !bytes) {
		unic_fail(err, "unic_alloc: pages are 4096, 65536 or 2097152 "
			       "bytes, and memory is not empty");
		goto fail;
	}
	if (bytes > ctx->attr.slot_bytes) {
		err = unic_fail(-ENOMEM,
				"%zu bytes are more than the slot has "
				"(%llu)",
				bytes,
				(unsigned long long)ctx->attr.slot_bytes);
		goto fail;
	}
	bytes = (bytes + page_bytes - 1) & ~(page_bytes - 1);
	va = reserve_va(bytes, page_bytes);
	if (!va) {
		err = unic_fail(-ENOMEM, "no address space");
		goto fail;
	}
	pthread_mutex_lock(&ctx->mem_lock);
	err = unic_conn_kernel(ctx->conn) ? alloc_private(ctx, va, bytes, shift)
					  : alloc_frames(ctx, va, bytes, shift);
	pthread_mutex_unlock(&ctx->mem_lock);
	if (!err)
		return va;
	munmap(va, bytes);
fail:
	errno = -err;
	return NULL;
}

static struct unic_area **find_area(struct unic_ctx *ctx, const void *mem)
{
	struct unic_area **p = &ctx->areas;

	while (*p && (*p)->va != mem)
		p = &(*p)->next;
	return p;
}

static void remove_area(struct unic_area **p)
{
	struct unic_area *a = *p;

	*p = a->next;
	unmap_area(a);
	free(a);
}

void unic_mem_abandon(struct unic_ctx *ctx, void *mem)
{
	struct unic_area **p;

	pthread_mutex_lock(&ctx->mem_lock);
	p = find_area(ctx, mem);
	if (*p) {
		unic_frames_owe(ctx, (*p)->va, (*p)->bytes);
		remove_area(p);
	}
	pthread_mutex_unlock(&ctx->mem_lock);
}

int unic_free(struct unic_ctx *ctx, void *mem)
{
	struct unic_area **p;
	struct unic_area *a;
	int err = 0;

	if (!mem)
		return 0;
	pthread_mutex_lock(&ctx->mem_lock);
	p = find_area(ctx, mem);
	a = *p;
	if (!a || a->moved)
		err = unic_fail(-EINVAL,
				"unic_free: %p is not from "
				"unic_alloc()",
				mem);
	else if (!unic_conn_kernel(ctx->conn))
		err = unic_frames_put(ctx, a->va, a->bytes);
	else if (unic_mem_region_at(ctx, a->va, a->bytes, true))
		err = unic_fail(-EBUSY, "a region is registered on it");
	/* After a reset the driver may have no frames there; unmap anyway. */
	if (!err || err == -ENOTCONN) {
		if (a) {
			remove_area(p);
			err = 0;
		}
	}
	pthread_mutex_unlock(&ctx->mem_lock);
	return err;
}

/* The first address of an area behind @va; @end, if that comes first. */
static uint8_t *next_area(struct unic_ctx *ctx, uint8_t *va, uint8_t *end)
{
	struct unic_area *a;

	for (a = ctx->areas; a; a = a->next) {
		if (a->va > va && a->va < end)
			end = a->va;
	}
	return end;
}

/* True if [@va, @end) is all memory of unic_alloc(), which need not be moved. */
static bool is_range_allocated(struct unic_ctx *ctx, const uint8_t *va,
			       const uint8_t *end)
{
	struct unic_area *a;

	while (va < end) {
		a = unic_area_at(ctx, va);
		if (!a || a->moved)
			return false;
		va = a->va + a->bytes;
	}
	return true;
}

/* ------------------------------------------------------------------ moving */

/* Of half a move the frames are kept; those that memory does not lie in go at the next sweep. */
static int move_range(struct unic_ctx *ctx, uint8_t *va, size_t bytes)
{
	size_t n = bytes / UNIC_PAGE;
	struct unic_run *runs = calloc(n, sizeof(*runs));
	struct unic_area *a = NULL;
	bool half = false;
	int err;

	if (!runs)
		return unic_fail(-ENOMEM, "out of memory");
	err = fill_frames(ctx, va, bytes, 12, runs, false);
	if (!err) {
		a = area_new(va, bytes, runs);
		err = a ? unic_move_in(&ctx->slot, va, bytes, runs, n, &half)
			: -ENOMEM;
		if (err && !half)
			unic_frames_put(ctx, va, bytes);
	}
	if (!err || half)
		add_area(ctx, a);
	else
		free(a);
	free(runs);
	return err;
}

static int cover_next(struct unic_ctx *ctx, uint8_t **va, uint8_t *end)
{
	struct unic_area *a = unic_area_at(ctx, *va);
	uint8_t *at = *va;
	int err = 0;

	if (a && a->stale)
		return unic_fail(-EBUSY,
				 "the memory that was registered at %p before "
				 "is still in use: deregister it, and free it "
				 "if realloc() moved it",
				 (void *)at);
	*va = a ? a->va + a->bytes : next_area(ctx, at, end);
	if (!a)
		err = move_range(ctx, at, (size_t)(*va - at));
	return err;
}

/* Frames that realloc() or mremap() moved to [@va, @end) become private memory again, to
 * be moved in at their new addresses. */
static int move_out_strays(struct unic_ctx *ctx, const uint8_t *va,
			   const uint8_t *end)
{
	struct unic_slot_map map;
	bool strays = false;
	int err;

	if (is_range_allocated(ctx, va, end))
		return 0;
	err = unic_mem_sweep(ctx, &strays);
	while (!err && strays && va < end) {
		const struct unic_area *a = unic_area_at(ctx, va);
		const uint8_t *to =
			a ? a->va + a->bytes
			  : next_area(ctx, (uint8_t *)va, (uint8_t *)end);

		if (!a && unic_slot_maps(&ctx->slot, va, to, &map, 1) > 0)
			err = unic_move_out(&ctx->slot, va, to);
		va = to;
	}
	return !err && strays ? unic_mem_sweep(ctx, &strays) : err;
}

int unic_mem_cover(struct unic_ctx *ctx, const void *addr, size_t len)
{
	uintptr_t first = (uintptr_t)addr & ~(uintptr_t)(UNIC_PAGE - 1);
	uintptr_t past = ((uintptr_t)addr + len + UNIC_PAGE - 1) &
			 ~(uintptr_t)(UNIC_PAGE - 1);
	uint8_t *va = (uint8_t *)first;
	uint8_t *end = (uint8_t *)past;
	int err;

	if ((uintptr_t)addr + len < (uintptr_t)addr || past < first)
		return unic_fail(-EINVAL, "the range wraps around");
	if (unic_conn_kernel(ctx->conn))
		return 0;
	pthread_mutex_lock(&ctx->mem_lock);
	ctx->cover = va;
	ctx->cover_end = end;
	err = move_out_strays(ctx, va, end);
	while (va < end && !err)
		err = cover_next(ctx, &va, end);
	ctx->cover = ctx->cover_end = NULL;
	pthread_mutex_unlock(&ctx->mem_lock);
	return err;
}

/* Unmap what unic_alloc() gave: unic_move_out() makes private what is mapped. */
static void drop_allocated(struct unic_ctx *ctx)
{
	struct unic_area **p = &ctx->areas;

	while (*p) {
		if ((*p)->moved)
			p = &(*p)->next;
		else
			remove_area(p);
	}
}

bool unic_mem_fini(struct unic_ctx *ctx)
{
	struct unic_area *a;

	drop_allocated(ctx);
	if (ctx->areas && !ctx->forked &&
	    unic_move_out(&ctx->slot, NULL, (void *)UINTPTR_MAX))
		return false;
	while ((a = ctx->areas)) {
		__atomic_store_n(&ctx->areas, a->next, __ATOMIC_RELAXED);
		free(a);
	}
	pthread_mutex_destroy(&ctx->mem_lock);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mem.c - memory of the slot at contiguous virtual addresses (architecture.md
 * section 5).
 *
 * Secret: the list of areas that are made of frames. The driver decides which
 * frames; it remembers which lies behind which address.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "priv.h"

struct unic_area {
	struct unic_area *next;
	uint8_t *va;
	size_t bytes;
	bool moved; /* it was the application's own memory before */
};

int unic_mem_init(struct unic_ctx *ctx)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutex_init(&ctx->mem_lock, &attr);
	pthread_mutexattr_destroy(&attr);
	return 0;
}

/* The tail of FRAMES_ALLOC: one page number per run, to be distrusted. */
static int take_runs(struct unic_ctx *ctx, const unic_le32 *tail, size_t n,
		     uint32_t pages, struct unic_run *runs)
{
	uint64_t slot_pages = ctx->attr.slot_bytes / UNIC_PAGE;
	size_t i;

	for (i = 0; i < n; i++) {
		runs[i].page = unic_from_le32(tail[i]);
		runs[i].pages = pages;
		if (runs[i].page < UNIC_SLOT_FRAMES ||
		    runs[i].page + (uint64_t)pages > slot_pages)
			return unic_fail(-EPROTO,
					 "the driver gave page %u of a slot of "
					 "%llu pages",
					 runs[i].page,
					 (unsigned long long)slot_pages);
	}
	return 0;
}

/* At most UNIC_CTL_FRAMES_MAX runs. */
static int get_frames(struct unic_ctx *ctx, uint8_t *va, size_t n_runs,
		      unsigned int shift, struct unic_run *runs)
{
	uint32_t run_pages = 1u << (shift - 12);
	struct unic_ctl_frames rec = {
		.va = unic_to_le64((uintptr_t)va),
		.pages = unic_to_le32((uint32_t)n_runs * run_pages),
		.page_shift = (uint8_t)shift,
	};
	unic_le32 tail[UNIC_CTL_FRAMES_MAX];
	struct unic_call call = { .rec = &rec,
				  .reply_tail = tail,
				  .reply_room = sizeof(tail) };
	int err = unic_fail_status("allocate memory",
				   unic_ctl(ctx, UNIC_CTL_FRAMES_ALLOC, &call));

	if (err)
		return err;
	if (call.reply_bytes != n_runs * sizeof(tail[0]))
		return unic_fail(-EPROTO,
				 "the driver gave %zu frame runs, not "
				 "%zu",
				 call.reply_bytes / sizeof(tail[0]), n_runs);
	return take_runs(ctx, tail, n_runs, run_pages, runs);
}

static int put_frames(struct unic_ctx *ctx, uint8_t *va, size_t bytes)
{
	struct unic_ctl_frames rec = {
		.va = unic_to_le64((uintptr_t)va),
		.pages = unic_to_le32((uint32_t)(bytes / UNIC_PAGE)),
	};

	return unic_ctl_simple(ctx, UNIC_CTL_FRAMES_FREE, &rec, "free memory");
}

static int map_runs(struct unic_ctx *ctx, uint8_t *va,
		    const struct unic_run *runs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		size_t bytes = (size_t)runs[i].pages * UNIC_PAGE;

		if (mmap(va, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, ctx->slot_fd,
			 (off_t)runs[i].page * UNIC_PAGE) == MAP_FAILED)
			return unic_fail(-ENOMEM, "cannot map frames: %s",
					 strerror(errno));
		va += bytes;
	}
	return 0;
}

/* Frames for the whole range and, if @map, their mapping. All or nothing. */
static int fill(struct unic_ctx *ctx, uint8_t *va, size_t bytes,
		unsigned int shift, struct unic_run *runs, bool map)
{
	size_t n_runs = bytes >> shift;
	size_t done = 0;
	int err = 0;

	while (done < n_runs && !err) {
		size_t n = n_runs - done;
		uint8_t *at = va + (done << shift);

		n = n > UNIC_CTL_FRAMES_MAX ? UNIC_CTL_FRAMES_MAX : n;
		err = get_frames(ctx, at, n, shift, runs + done);
		if (err)
			break;
		done += n;
		if (map)
			err = map_runs(ctx, at, runs + done - n, n);
	}
	if (err && done) {
		char words[512];

		strncpy(words, unic_last_error(), sizeof(words) - 1);
		words[sizeof(words) - 1] = '\0';
		put_frames(ctx, va, done << shift);
		unic_fail(err, "%s", words);
	}
	return err;
}

static uint8_t *reserve(size_t bytes, size_t align)
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

static int add_area(struct unic_ctx *ctx, uint8_t *va, size_t bytes, bool moved)
{
	struct unic_area *a = calloc(1, sizeof(*a));

	if (!a)
		return unic_fail(-ENOMEM, "out of memory");
	*a = (struct unic_area){ ctx->areas, va, bytes, moved };
	ctx->areas = a;
	madvise(va, bytes, MADV_DONTFORK);
	return 0;
}

static int alloc_locked(struct unic_ctx *ctx, uint8_t *va, size_t bytes,
			unsigned int shift)
{
	struct unic_run *runs = calloc(bytes >> shift, sizeof(*runs));
	int err;

	if (!runs)
		return unic_fail(-ENOMEM, "out of memory");
	err = fill(ctx, va, bytes, shift, runs, true);
	free(runs);
	if (err)
		return err;
	err = add_area(ctx, va, bytes, false);
	if (err)
		put_frames(ctx, va, bytes);
	return err;
}

void *unic_alloc(struct unic_ctx *ctx, size_t bytes, size_t page_bytes)
{
	unsigned int shift =
		(unsigned int)__builtin_ctzll(page_bytes | 1ull << 40);
	uint8_t *va = NULL;
	int err = -EINVAL;

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
	va = reserve(bytes, page_bytes);
	if (!va) {
		err = unic_fail(-ENOMEM, "no address space");
		goto fail;
	}
	pthread_mutex_lock(&ctx->mem_lock);
	err = alloc_locked(ctx, va, bytes, shift);
	pthread_mutex_unlock(&ctx->mem_lock);
	if (!err)
		return va;
	munmap(va, bytes);
fail:
	errno = -err;
	return NULL;
}

int unic_free(struct unic_ctx *ctx, void *mem)
{
	struct unic_area **p;
	struct unic_area *a;
	int err = 0;

	if (!mem)
		return 0;
	pthread_mutex_lock(&ctx->mem_lock);
	for (p = &ctx->areas; *p && (*p)->va != mem; p = &(*p)->next)
		;
	a = *p;
	if (!a || a->moved)
		err = unic_fail(-EINVAL,
				"unic_free: %p is not from "
				"unic_alloc()",
				mem);
	else
		err = put_frames(ctx, a->va, a->bytes);
	/* After a reset the driver may have forgotten; the mapping is ours. */
	if (!err || err == -ENOTCONN) {
		if (a) {
			*p = a->next;
			munmap(a->va, a->bytes);
			free(a);
			err = 0;
		}
	}
	pthread_mutex_unlock(&ctx->mem_lock);
	return err;
}

/* The end of the area that holds @va, or NULL. */
static uint8_t *covered_to(struct unic_ctx *ctx, const uint8_t *va)
{
	struct unic_area *a;

	for (a = ctx->areas; a; a = a->next) {
		if (va >= a->va && va < a->va + a->bytes)
			return a->va + a->bytes;
	}
	return NULL;
}

/* The first address behind @va, at most @end, that an area holds. */
static uint8_t *next_area(struct unic_ctx *ctx, uint8_t *va, uint8_t *end)
{
	struct unic_area *a;

	for (a = ctx->areas; a; a = a->next) {
		if (a->va > va && a->va < end)
			end = a->va;
	}
	return end;
}

static int move_range(struct unic_ctx *ctx, uint8_t *va, size_t bytes)
{
	size_t n = bytes / UNIC_PAGE;
	struct unic_run *runs = calloc(n, sizeof(*runs));
	int err;

	if (!runs)
		return unic_fail(-ENOMEM, "out of memory");
	err = fill(ctx, va, bytes, 12, runs, false);
	if (!err) {
		err = unic_move_in(ctx->slot_fd, va, bytes, runs, n);
		if (!err)
			err = add_area(ctx, va, bytes, true);
		else
			put_frames(ctx, va, bytes);
	}
	free(runs);
	return err;
}

int unic_mem_cover(struct unic_ctx *ctx, const void *addr, size_t len)
{
	uintptr_t first = (uintptr_t)addr & ~(uintptr_t)(UNIC_PAGE - 1);
	uintptr_t past = ((uintptr_t)addr + len + UNIC_PAGE - 1) &
			 ~(uintptr_t)(UNIC_PAGE - 1);
	uint8_t *va = (uint8_t *)first;
	uint8_t *end = (uint8_t *)past;
	int err = 0;

	if ((uintptr_t)addr + len < (uintptr_t)addr || past < first)
		return unic_fail(-EINVAL, "the range wraps around");
	pthread_mutex_lock(&ctx->mem_lock);
	while (va < end && !err) {
		uint8_t *to = covered_to(ctx, va);

		if (!to) {
			to = next_area(ctx, va, end);
			err = move_range(ctx, va, (size_t)(to - va));
		}
		va = to;
	}
	pthread_mutex_unlock(&ctx->mem_lock);
	return err;
}

void unic_mem_fini(struct unic_ctx *ctx)
{
	struct unic_area *a;

	while ((a = ctx->areas)) {
		ctx->areas = a->next;
		if (a->moved)
			unic_move_out(a->va, a->bytes);
		else
			munmap(a->va, a->bytes);
		free(a);
	}
	pthread_mutex_destroy(&ctx->mem_lock);
}

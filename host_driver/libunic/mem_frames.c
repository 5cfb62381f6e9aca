/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mem_frames.c - see mem_frames.h.
 */
#include "mem_frames.h"

#include <errno.h>
#include <sys/mman.h>

#include "context.h"
#include "fork.h"
#include "owed.h"

/* Check and parse the tail of FRAMES_ALLOC: one page number per run. */
static int parse_runs(struct unic_ctx *ctx, const unic_le32 *tail, size_t n,
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

/* Request @n_runs runs of frames, at most UNIC_CTL_FRAMES_MAX. */
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
	struct unic_conn_call call = { .rec = &rec,
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
	return parse_runs(ctx, tail, n_runs, run_pages, runs);
}

static struct unic_ctl_frames frames_at(const uint8_t *va, size_t bytes)
{
	return (struct unic_ctl_frames){
		.va = unic_to_le64((uintptr_t)va),
		.pages = unic_to_le32((uint32_t)(bytes / UNIC_PAGE)),
	};
}

void unic_frames_owe(struct unic_ctx *ctx, const uint8_t *va, size_t bytes)
{
	struct unic_ctl_frames rec = frames_at(va, bytes);

	unic_owed_put(ctx, UNIC_CTL_FRAMES_FREE, &rec);
}

int unic_frames_put(struct unic_ctx *ctx, uint8_t *va, size_t bytes)
{
	struct unic_ctl_frames rec = frames_at(va, bytes);

	return unic_ctl_simple(ctx, UNIC_CTL_FRAMES_FREE, &rec, "free memory");
}

static int map_runs(struct unic_ctx *ctx, uint8_t *va,
		    const struct unic_run *runs, size_t n)
{
	uint8_t *at = va;
	int err = 0;
	size_t i;

	unic_forks_off();
	for (i = 0; i < n && !err; i++) {
		size_t bytes = (size_t)runs[i].pages * UNIC_PAGE;

		if (mmap(at, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, ctx->slot.fd,
			 unic_slot_at(&ctx->slot, runs[i].page)) == MAP_FAILED)
			err = unic_fail(-ENOMEM, "cannot map frames: %s",
					strerror(errno));
		at += bytes;
	}
	if (!err)
		madvise(va, (size_t)(at - va), MADV_DONTFORK);
	unic_forks_on();
	return err;
}

int unic_frames_fill(struct unic_ctx *ctx, uint8_t *va, size_t bytes,
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
		if (err == -ENOTCONN) /* there may be frames, and no answer */
			unic_frames_owe(ctx, at, n << shift);
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
		unic_frames_put(ctx, va, done << shift);
		unic_fail(err, "%s", words);
	}
	return err;
}

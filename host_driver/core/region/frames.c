/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "region/frames.h"

#include "region/frames_slot.h"

#define BLOCK_FRAMES 512u /* 2 MiB: the largest run */

/* Translation lists are runs of the slot, too, at addresses that no process has. */
#define LIST_PAGES   (1ull << 51)			 /* from 2^63 on */
#define LIST_OF(key) (LIST_PAGES | (uint64_t)(key) << 9) /* 2 MiB each */
#define LISTS_END    LIST_OF(1ull << 32)

int unic_frames_init(struct unic_frames *f, struct unic_os *os, void *base,
		     uint64_t bytes, uint64_t bus, uint32_t first)
{
	struct unic_frame_tables *t = unic_os_alloc(os, sizeof(*t));

	memset(f, 0, sizeof(*f));
	if (!t)
		return -ENOMEM;
	f->os = os;
	f->bus = bus;
	f->frames = (uint32_t)(bytes >> UNIC_FRAME_SHIFT);
	f->t = t;
	t->base = base;
	t->first = first;
	t->taken = unic_os_alloc(os, f->frames);
	t->pins = unic_os_alloc(os, f->frames * sizeof(*t->pins));
	t->run = unic_os_alloc(os, f->frames * sizeof(*t->run));
	if (t->taken && t->pins && t->run)
		return 0;
	unic_frames_fini(f);
	return -ENOMEM;
}

void unic_frames_fini(struct unic_frames *f)
{
	struct unic_frame_tables *t = f->t;

	if (!t)
		return;
	unic_os_free(f->os, t->taken);
	unic_os_free(f->os, t->pins);
	unic_os_free(f->os, t->run);
	unic_os_free(f->os, t);
	f->t = NULL;
	f->frames = 0;
}

/* ------------------------------------------------------------- the journal */

/* Journal @run at its first frame: page << 8 | log2 of its frames << 1 | 1; 0: no run
 * begins there. */
static void note_run(struct unic_frames *f, const struct unic_frame_run *run,
		     bool there)
{
	uint32_t log = (uint32_t)__builtin_ctz(run->n);

	if (f->t->journal)
		UNIC_STORE(f->t->journal[run->frame],
			   there ? run->page << 8 | log << 1 | 1 : 0);
}

void unic_frames_journal(struct unic_frames *f, uint64_t *journal)
{
	f->t->journal = journal;
}

void unic_frames_clear(struct unic_frames *f)
{
	if (f->t->journal)
		memset(f->t->journal, 0, f->frames * sizeof(*f->t->journal));
	memset(f->t->taken, 0, f->frames);
	f->t->runs = 0;
	f->used = 0;
	unic_frames_unpin_all(f);
}

/* Index of the first run that ends after @page. */
static uint32_t find_run(const struct unic_frames *f, uint64_t page)
{
	uint32_t lo = 0, hi = f->t->runs;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->t->run[mid].page + f->t->run[mid].n <= page)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool range_ok(uint64_t va, uint64_t length, uint64_t *page,
		     uint64_t *pages)
{
	if (!length || va + length - 1 < va)
		return false;
	*page = va >> UNIC_FRAME_SHIFT;
	*pages = ((va + length - 1) >> UNIC_FRAME_SHIFT) - *page + 1;
	return *page >= LISTS_END || *page + *pages <= LIST_PAGES;
}

/* ------------------------------------------------------------- allocation */

static void zero_frames(struct unic_frames *f, uint32_t frame, uint32_t n)
{
	memset(f->t->base + ((size_t)frame << UNIC_FRAME_SHIFT), 0,
	       (size_t)n << UNIC_FRAME_SHIFT);
}

static bool is_run_free(const struct unic_frames *f, uint32_t frame, uint32_t n)
{
	uint32_t i;

	if (frame < f->t->first || frame + n > f->frames)
		return false;
	for (i = 0; i < n; i++)
		if (f->t->taken[frame + i])
			return false;
	return true;
}

/*
 * A free run of @n frames inside the 2 MiB block @block, or 0. No two neighbours follow
 * each other in the order of candidates (the step is odd, hence coprime to the power of
 * two).
 */
static uint32_t take_in_block(struct unic_frames *f, uint32_t block, uint32_t n,
			      uint32_t *turn)
{
	uint32_t slots = BLOCK_FRAMES / n;
	uint32_t step = slots >= 512 ? 205 : slots >= 32 ? 13 : 1;
	uint32_t k;

	for (k = *turn; k < slots; k++) {
		uint32_t frame =
			block * BLOCK_FRAMES + (k * step + 7) % slots * n;

		if (!is_run_free(f, frame, n))
			continue;
		memset(f->t->taken + frame, 1, n);
		*turn = k + 1;
		return frame;
	}
	return 0;
}

static bool block_touched(const struct unic_frames *f, uint32_t block)
{
	uint32_t from = block * BLOCK_FRAMES, i;

	for (i = from; i < from + BLOCK_FRAMES && i < f->frames; i++)
		if (f->t->taken[i])
			return true;
	return !block; /* block 0 is never whole */
}

/* Take @want runs of @n frames: first from blocks that are in use, so that whole blocks
 * remain for large runs. */
static uint32_t take_runs(struct unic_frames *f, uint32_t n, uint32_t want,
			  uint32_t *list)
{
	uint32_t blocks = (f->frames + BLOCK_FRAMES - 1) / BLOCK_FRAMES;
	uint32_t got = 0, pass, block;

	for (pass = 0; pass < 2 && got < want; pass++)
		for (block = 0; block < blocks && got < want; block++) {
			uint32_t turn = 0;

			if (!pass && !block_touched(f, block))
				continue;
			while (got < want) {
				uint32_t frame =
					take_in_block(f, block, n, &turn);

				if (!frame)
					break;
				list[got++] = frame;
			}
		}
	return got;
}

static void release_runs(struct unic_frames *f, const uint32_t *list,
			 uint32_t got, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < got; i++)
		memset(f->t->taken + list[i], 0, n);
}

/* Hand out runs of @n frames for @pages pages from @page on. As unic_frames_alloc(). */
static int hand_out(struct unic_frames *f, uint64_t page, uint32_t pages,
		    uint32_t n, uint32_t *list)
{
	uint32_t want = pages / n, at = find_run(f, page), i;

	if (at < f->t->runs && f->t->run[at].page < page + pages)
		return -EEXIST;
	if (pages > f->frames - f->used)
		return -ENOSPC;
	i = take_runs(f, n, want, list);
	if (i < want) {
		release_runs(f, list, i, n);
		return -ENOSPC;
	}
	memmove(&f->t->run[at + want], &f->t->run[at],
		(f->t->runs - at) * sizeof(*f->t->run));
	for (i = 0; i < want; i++) {
		f->t->run[at + i].page = page + (uint64_t)i * n;
		f->t->run[at + i].frame = list[i];
		f->t->run[at + i].n = n;
		zero_frames(f, list[i], n);
		note_run(f, &f->t->run[at + i], true);
	}
	f->t->runs += want;
	f->used += pages;
	return 0;
}

int unic_frames_alloc(struct unic_frames *f, uint64_t va, uint32_t pages,
		      uint32_t shift, uint32_t *list)
{
	uint64_t page, count;
	uint32_t n;

	if (shift != 12 && shift != 16 && shift != 21)
		return -EINVAL;
	n = 1u << (shift - UNIC_FRAME_SHIFT);
	if (va & ((1ull << shift) - 1) || pages % n ||
	    !range_ok(va, (uint64_t)pages << UNIC_FRAME_SHIFT, &page, &count))
		return -EINVAL;
	return hand_out(f, page, pages, n, list);
}

static bool run_pinned(const struct unic_frames *f,
		       const struct unic_frame_run *run)
{
	uint32_t i;

	for (i = 0; i < run->n; i++)
		if (f->t->pins[run->frame + i])
			return true;
	return false;
}

/* Take back runs [@from, @to). */
static void take_back(struct unic_frames *f, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = from; i < to; i++) {
		note_run(f, &f->t->run[i], false);
		memset(f->t->taken + f->t->run[i].frame, 0, f->t->run[i].n);
		f->used -= f->t->run[i].n;
	}
	memmove(&f->t->run[from], &f->t->run[to],
		(f->t->runs - to) * sizeof(*f->t->run));
	f->t->runs -= to - from;
}

int unic_frames_free(struct unic_frames *f, uint64_t va, uint32_t pages)
{
	uint64_t page, count, next;
	uint32_t from, to;

	if (va & (UNIC_FRAME_BYTES - 1) ||
	    !range_ok(va, (uint64_t)pages << UNIC_FRAME_SHIFT, &page, &count))
		return -EINVAL;
	from = find_run(f, page);
	next = page;
	for (to = from; next < page + count; to++) {
		if (to == f->t->runs || f->t->run[to].page != next)
			return -ENOENT;
		if (run_pinned(f, &f->t->run[to]))
			return -EBUSY;
		next += f->t->run[to].n;
	}
	if (next != page + count)
		return -ENOENT;
	take_back(f, from, to);
	return 0;
}

static int recall_run(struct unic_frames *f, uint32_t frame, uint64_t word)
{
	uint32_t n = 1u << (word >> 1 & 0x7f) % 32, at;
	uint64_t page = word >> 8;

	if ((n != 1 && n != 16 && n != BLOCK_FRAMES) || page % n || frame % n ||
	    !is_run_free(f, frame, n))
		return -EINVAL;
	at = find_run(f, page);
	if (at < f->t->runs && f->t->run[at].page < page + n)
		return -EINVAL;
	memmove(&f->t->run[at + 1], &f->t->run[at],
		(f->t->runs - at) * sizeof(*f->t->run));
	f->t->run[at] = (struct unic_frame_run){ page, frame, n };
	memset(f->t->taken + frame, 1, n);
	f->t->runs++;
	f->used += n;
	return 0;
}

int unic_frames_recall(struct unic_frames *f)
{
	uint32_t i;
	int err = 0;

	for (i = f->t->first; i < f->frames && !err; i++)
		if (f->t->journal[i])
			err = recall_run(f, i, f->t->journal[i]);
	if (err)
		unic_frames_clear(f);
	return err;
}

/* ------------------------------------------------------------ translation */

/* The run of @page, and its frame in *@frame; NULL: @page has none. */
static const struct unic_frame_run *run_of(const struct unic_frames *f,
					   uint64_t page, uint32_t *frame)
{
	uint32_t i = find_run(f, page);

	if (i == f->t->runs || f->t->run[i].page > page)
		return NULL;
	*frame = f->t->run[i].frame + (uint32_t)(page - f->t->run[i].page);
	return &f->t->run[i];
}

static bool is_range_mapped(const struct unic_frames *f, uint64_t page,
			    uint64_t pages)
{
	uint64_t end = page + pages;
	uint32_t i = find_run(f, page);

	for (; page < end; i++) {
		if (i == f->t->runs || f->t->run[i].page > page)
			return false;
		page = f->t->run[i].page + f->t->run[i].n;
	}
	return true;
}

/* True if the frames of the @n pages from @page on are contiguous and aligned. */
static bool can_coalesce(const struct unic_frames *f, uint64_t page, uint32_t n)
{
	uint64_t end = page + n;
	uint32_t first, frame;
	const struct unic_frame_run *run = run_of(f, page, &first);

	if (!run || first % n)
		return false;
	for (frame = first; page < end; page = run->page + run->n) {
		uint32_t got;

		run = run_of(f, page, &got);
		if (!run || got != frame)
			return false;
		frame = run->frame + run->n;
	}
	return true;
}

static bool shift_fits(const struct unic_frames *f, uint64_t va, uint64_t iova,
		       uint64_t length, uint32_t shift)
{
	uint64_t size = 1ull << shift;
	uint64_t page = va & ~(size - 1), last = va + length - 1;

	if ((va ^ iova) & (size - 1))
		return false;
	for (; page <= last; page += size) {
		if (!can_coalesce(f, page >> UNIC_FRAME_SHIFT,
				  1u << (shift - UNIC_FRAME_SHIFT)))
			return false;
		if (page + size < page)
			break;
	}
	return true;
}

uint32_t unic_frames_shift(const struct unic_frames *f, uint64_t va,
			   uint64_t iova, uint64_t length, uint32_t max)
{
	uint64_t page, pages;

	if (!range_ok(va, length, &page, &pages) || pages > f->frames ||
	    !is_range_mapped(f, page, pages) ||
	    (va ^ iova) & (UNIC_FRAME_BYTES - 1))
		return 0;
	if (max >= 21 && shift_fits(f, va, iova, length, 21))
		return 21;
	if (max >= 16 && shift_fits(f, va, iova, length, 16))
		return 16;
	return 12;
}

int unic_frames_list(const struct unic_frames *f, uint64_t va, uint32_t shift,
		     uint32_t first, uint32_t count, uint64_t *bus)
{
	uint64_t page = (va >> shift) + first;
	uint32_t n = shift - UNIC_FRAME_SHIFT, i, frame = 0;

	for (i = 0; i < count; i++, page++) {
		if (!run_of(f, page << n, &frame))
			return -ENOENT;
		bus[i] = f->bus + ((uint64_t)frame << UNIC_FRAME_SHIFT);
	}
	return 0;
}

/* ------------------------------------------------------------------ pins */

int unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
		    bool write)
{
	uint64_t page, pages, i;
	uint32_t frame = 0;

	(void)write; /* frames of a slot are all alike */
	if (!range_ok(va, length, &page, &pages) ||
	    !is_range_mapped(f, page, pages))
		return -ENOENT;
	for (i = 0; i < pages; i++) {
		run_of(f, page + i, &frame);
		if (f->t->pins[frame] == 0xffff) {
			while (i--) {
				run_of(f, page + i, &frame);
				f->pinned -= !--f->t->pins[frame];
			}
			return -EOVERFLOW;
		}
		f->pinned += !f->t->pins[frame]++;
	}
	return 0;
}

void unic_frames_unpin(struct unic_frames *f, uint64_t va, uint64_t length)
{
	uint64_t page, pages, i;
	uint32_t frame = 0;

	if (!range_ok(va, length, &page, &pages))
		return;
	for (i = 0; i < pages; i++)
		if (run_of(f, page + i, &frame) && f->t->pins[frame])
			f->pinned -= !--f->t->pins[frame];
}

/* ----------------------------------------------------- translation lists */

/* Frames of the run that has room for @words words: a page, or a larger run. */
static uint32_t list_frames(uint32_t words)
{
	uint32_t frames =
		(words * 8u + UNIC_FRAME_BYTES - 1) / UNIC_FRAME_BYTES;

	return frames <= 1 ? 1 : frames <= 16 ? 16 : BLOCK_FRAMES;
}

unic_le64 *unic_frames_words(struct unic_frames *f, uint32_t key,
			     uint32_t words, uint64_t *bus)
{
	uint32_t n = list_frames(words), at = find_run(f, LIST_OF(key)), frame;

	if (words > BLOCK_FRAMES * UNIC_FRAME_BYTES / 8u)
		return NULL;
	if (at < f->t->runs && f->t->run[at].page == LIST_OF(key) &&
	    f->t->run[at].n == n)
		frame = f->t->run[at].frame;
	else if (hand_out(f, LIST_OF(key), n, n, &frame))
		return NULL;
	*bus = f->bus + ((uint64_t)frame << UNIC_FRAME_SHIFT);
	return (void *)(f->t->base + ((size_t)frame << UNIC_FRAME_SHIFT));
}

void unic_frames_words_free(struct unic_frames *f, uint32_t key)
{
	uint32_t at = find_run(f, LIST_OF(key));

	if (at < f->t->runs && f->t->run[at].page == LIST_OF(key))
		take_back(f, at, at + 1);
}

void unic_frames_unpin_all(struct unic_frames *f)
{
	take_back(f, find_run(f, LIST_PAGES), find_run(f, LISTS_END));
	memset(f->t->pins, 0, f->frames * sizeof(*f->t->pins));
	f->pinned = 0;
}

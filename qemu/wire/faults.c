// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "icrc.h"

#define ETH_BYTES 14u

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t draw_random(struct faults *f)
{
	uint64_t z = f->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static bool draw_fault(struct faults *f, uint32_t rate)
{
	return (uint32_t)(draw_random(f) >> 32) < rate;
}

void faults_init(struct faults *f, uint64_t seed, int port)
{
	memset(f, 0, sizeof(*f));
	f->random = seed;
	f->random = draw_random(f) ^ (uint64_t)port << 56;
	f->last = &f->first;
}

bool faults_active(const struct faults *f)
{
	const struct faults_rates *r = &f->rates;

	return r->loss || r->dup || r->reorder || r->corrupt || r->delay_us;
}

static struct waiting *copy_frame(const struct frame *frame, uint64_t due_ns)
{
	size_t bytes = offsetof(struct frame, data) + frame->len;
	struct waiting *w = malloc(offsetof(struct waiting, frame) + bytes);

	if (!w)
		return NULL;
	w->next = NULL;
	w->due_ns = due_ns;
	memcpy(&w->frame, frame, bytes);
	return w;
}

static void enqueue_frame(struct faults *f, struct waiting *w, uint64_t now_ns)
{
	if (!w || f->queued == FAULTS_QUEUE) {
		f->count.overflowed++;
		free(w);
		return;
	}
	w->due_ns = now_ns + f->rates.delay_us * 1000ull;
	*f->last = w;
	f->last = &w->next;
	f->queued++;
}

/* Puts a frame that was held back behind the frame that overtook it. */
static void release_held(struct faults *f, uint64_t now_ns)
{
	if (f->held)
		enqueue_frame(f, f->held, now_ns);
	f->held = NULL;
}

/* Flips a bit. Returns false if the frame must be dropped instead. */
static bool corrupt_frame(struct faults *f, struct frame *frame, uint64_t where)
{
	uint32_t bit;

	f->count.corrupted++;
	icrc_finish(frame);
	if (!icrc_covers(frame->data, frame->len))
		return false;
	bit = (uint32_t)(where % ((frame->len - ETH_BYTES) * 8));
	frame->data[ETH_BYTES + bit / 8] ^= (uint8_t)(1u << bit % 8);
	return true;
}

/* Draws five numbers for each frame, whatever happens to it. */
void faults_push(struct faults *f, struct frame *frame, uint64_t now_ns)
{
	bool lose = draw_fault(f, f->rates.loss);
	bool twice = draw_fault(f, f->rates.dup);
	bool hold = draw_fault(f, f->rates.reorder);
	bool spoil = draw_fault(f, f->rates.corrupt);
	uint64_t where = draw_random(f);

	if (lose) {
		f->count.lost++;
		return;
	}
	if (spoil && !corrupt_frame(f, frame, where))
		return;
	if (hold && !f->held) {
		f->held = copy_frame(frame, now_ns + FAULTS_HOLD_NS);
		f->count.reordered++;
		return;
	}
	enqueue_frame(f, copy_frame(frame, 0), now_ns);
	if (twice) {
		f->count.duplicated++;
		enqueue_frame(f, copy_frame(frame, 0), now_ns);
	}
	release_held(f, now_ns);
}

bool faults_pop(struct faults *f, uint64_t now_ns, struct frame *out)
{
	struct waiting *w;

	if (f->held && f->held->due_ns <= now_ns)
		release_held(f, now_ns);
	w = f->first;
	if (!w || w->due_ns > now_ns)
		return false;
	f->first = w->next;
	if (!f->first)
		f->last = &f->first;
	f->queued--;
	memcpy(out, &w->frame, offsetof(struct frame, data) + w->frame.len);
	free(w);
	return true;
}

uint64_t faults_due(const struct faults *f)
{
	uint64_t due = f->first ? f->first->due_ns : UINT64_MAX;

	if (f->held && f->held->due_ns < due)
		due = f->held->due_ns;
	return due;
}

void faults_fini(struct faults *f)
{
	struct waiting *w;

	while ((w = f->first)) {
		f->first = w->next;
		free(w);
	}
	free(f->held);
	f->held = NULL;
	f->last = &f->first;
	f->queued = 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* stag.c - see stag.h. */
#include "memory/stag.h"

#include <string.h>

#include "memory/memory.h"

#define PART_BITS UNIC_STAG_PART_BITS
#define HALF_BITS ((PART_BITS + 1u) / 2u)
#define HALF_MASK ((1u << HALF_BITS) - 1u)
#define PART_MASK ((1u << PART_BITS) - 1u)

/* Resting indices allowed to each process in any case: an eighth of the table for
 * all slots. */
#define LEAST (UNIC_MRS / 8u / UNIC_PROCS ? UNIC_MRS / 8u / UNIC_PROCS : 1u)

_Static_assert(PART_BITS >= 12u && PART_BITS <= 20u, "a walk has 2^11 steps or "
						     "more, a half no more "
						     "than 10 bits");
_Static_assert((UNIC_STAG_MEAN & (UNIC_STAG_MEAN - 1u)) == 0, "a lot is some "
							      "bits of a "
							      "random word");

/* -------------------------------------------------------------- the function */

/*
 * Step @x of walk @walk. An odd width is one bit wider here; a step that leaves
 * the range is repeated until it is back. The message of 7 bytes: walk, half
 * (from bit 32), round (from bit 48). *@random: unused bits of the last round.
 */
static uint32_t permute_step(const uint64_t key[2], uint32_t walk, uint32_t x,
			     uint32_t *random)
{
	uint64_t f = 0;
	uint32_t l, r, t, i;

	do {
		l = x >> HALF_BITS;
		r = x & HALF_MASK;
		for (i = 0; i < UNIC_STAG_ROUNDS; i++) {
			f = unic_siphash(key, walk | (uint64_t)r << 32 |
						      (uint64_t)i << 48);
			t = l ^ ((uint32_t)f & HALF_MASK);
			l = r;
			r = t;
		}
		x = l << HALF_BITS | r;
	} while (x >> PART_BITS);
	*random = (uint32_t)(f >> 32);
	return x;
}

uint32_t unic_stag_next(const struct unic_memory *nic, uint16_t idx,
			uint32_t *random)
{
	const struct unic_stags *s = &nic->stags;
	uint32_t part =
		permute_step(s->key, s->of[idx].walk, s->of[idx].step, random) ^
		s->of[idx].twist;

	return (uint32_t)idx << UNIC_MR_IDX_SHIFT | part << UNIC_STAG_KEY_BITS;
}

/* ------------------------------------------------------------------ the walks */

static void begin_walk(struct unic_stags *s, uint16_t idx)
{
	s->of[idx].walk = s->walks++;
	s->of[idx].twist = 0;
	s->of[idx].step = 0;
}

void unic_stag_draw(struct unic_memory *nic)
{
	struct unic_stags *s = &nic->stags;
	uint16_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < 2; i++)
		s->key[i] = (uint64_t)unic_random_u32(&nic->base) << 32 |
			    unic_random_u32(&nic->base);
	s->head = s->tail = UNIC_MR_NIL;
	for (i = 0; i < UNIC_MRS; i++)
		begin_walk(s, i);
}

void unic_stag_begin(struct unic_memory *nic, uint16_t idx, uint32_t stag)
{
	uint32_t random;

	nic->stags.of[idx].twist = (unic_stag_next(nic, idx, &random) ^ stag) >>
					   UNIC_STAG_KEY_BITS &
				   PART_MASK;
}

/* unic_demand_settle() recomputes the shares before anything is decided by them. */
static void note_charge(struct unic_memory *nic, uint32_t proc)
{
	unic_bitset_add(&nic->stags.changed, proc);
	unic_mr_set_not_open(&nic->mrs, UNIC_NOT_OPEN_CROWDED,
			     unic_stag_crowded(&nic->stags));
	unic_mr_evict_due(nic);
}

static void rest_index(struct unic_memory *nic, uint16_t idx, uint32_t proc)
{
	struct unic_stags *s = &nic->stags;
	struct unic_mr_ctx *mr = &nic->mrs.mr[idx];

	mr->since_ns = nic->now_ns + UNIC_STAG_REST_NS;
	mr->next = UNIC_MR_NIL;
	if (s->head == UNIC_MR_NIL)
		s->head = idx;
	else
		nic->mrs.mr[s->tail].next = idx;
	s->tail = idx;
	s->of[idx].by = (uint16_t)proc;
	s->charged[proc]++;
	s->resting++;
	UNIC_COUNT(nic, stag_rests);
	note_charge(nic, proc);
}

bool unic_stag_used(struct unic_memory *nic, uint16_t idx, uint32_t proc,
		    uint32_t lot)
{
	struct unic_stags *s = &nic->stags;

	s->of[idx].step++;
	if ((lot & (UNIC_STAG_MEAN - 1u)) && s->of[idx].step < UNIC_STAG_STEPS)
		return false;
	rest_index(nic, idx, proc);
	return true;
}

uint16_t unic_stag_rested(struct unic_memory *nic, uint64_t *next_ns)
{
	struct unic_stags *s = &nic->stags;
	uint16_t idx = s->head;
	uint32_t proc;

	if (idx == UNIC_MR_NIL)
		return UNIC_MR_NIL;
	if (nic->now_ns < nic->mrs.mr[idx].since_ns) {
		if (nic->mrs.mr[idx].since_ns < *next_ns)
			*next_ns = nic->mrs.mr[idx].since_ns;
		return UNIC_MR_NIL;
	}
	s->head = nic->mrs.mr[idx].next;
	proc = s->of[idx].by;
	UNIC_ASSERT(nic, s->charged[proc] && s->resting);
	s->charged[proc]--;
	s->resting--;
	begin_walk(s, idx);
	note_charge(nic, proc);
	return idx;
}

/* ----------------------------------------------------------------- the charges */

uint32_t unic_stag_left(const struct unic_memory *nic)
{
	uint32_t i, n = 0;

	if (!nic->stags.resting)
		return 0;
	for (i = 0; i < UNIC_PROCS; i++)
		if (!nic->share.owner[i].weight)
			n += nic->stags.charged[i];
	return n;
}

bool unic_stag_shut(const struct unic_memory *nic, uint32_t proc)
{
	const struct unic_stags *s = &nic->stags;
	const struct unic_share *share = &nic->share;
	uint32_t left, part;

	if (!unic_stag_crowded(s))
		return false;
	left = unic_stag_left(nic);
	part = left < UNIC_MRS / 2u ? UNIC_MRS / 2u - left : 0;
	part = (uint32_t)((uint64_t)part * share->owner[proc].weight /
			  share->all_weights);
	return s->charged[proc] >= (part > LEAST ? part : LEAST);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* replay.c - what would have been hit. */
#include <stdlib.h>
#include <string.h>

#include "arbiter/policy.h"
#include "replay.h"
#include "arbiter/share.h"

#define NOT_THERE 0xffffu
#define STRANGERS 2u /* as in reclaim.c */
#define FIRST	  16u

_Static_assert(REFS_PROCESSES <= UNIC_PROCS, "shares for every process");

/* What the owner of a table knows of an item; policies read it. */
struct slot {
	uint64_t last_use_ns;
	uint32_t uses;
	uint16_t entries;
	uint8_t importance, process;
	uint64_t since_ns;
	uint32_t thing;
};

struct replay {
	const struct refs *r;
	struct slot *slot;
	uint16_t *where; /* by thing */
	uint16_t *spare; /* slots not in use */
	uint32_t n_spare, free;
	uint64_t now_ns;
	struct unic_policy_state state;
	struct unic_policy_table table;
	struct unic_chooser chooser[REFS_PROCESSES];
	struct unic_share share;
	bool shares;
};

static void count(struct replay_result *out, const struct thing *t, bool hit)
{
	out->refs++;
	out->bytes += t->bytes;
	out->process_refs[t->process]++;
	if (!hit)
		return;
	out->hits++;
	out->byte_hits += t->bytes;
	out->process_hits[t->process]++;
}

/* Not in order, so that ways of the table of ghosts are used evenly. */
static uint32_t identity(uint32_t thing)
{
	uint64_t h = (thing + 1ull) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 32);
}

static struct unic_chooser *chooser_of(struct replay *p, uint32_t process)
{
	return &p->chooser[p->shares ? process : 0];
}

/* ------------------------------------------------------------- a victim */

static void prepare(struct replay *p, struct unic_chooser *c, uint32_t n)
{
	uint16_t i;

	while (n-- && (i = unic_policy_stranger(c)) != UNIC_ITEM_NIL)
		unic_policy_meet(c, identity(p->slot[i].thing));
	unic_policy_look(c, p->now_ns);
}

static bool take_from(struct replay *p, uint32_t process, uint32_t entries)
{
	struct unic_chooser *c = chooser_of(p, process);
	struct slot *s;
	uint16_t i;

	if (unic_policy_blind(c))
		prepare(p, c, FIRST);
	i = unic_policy_victim(c, UINT64_MAX, entries);
	if (i == UNIC_ITEM_NIL)
		return false;
	s = &p->slot[i];
	unic_policy_evicted(c, i, identity(s->thing), p->now_ns);
	unic_policy_remove(c, i);
	prepare(p, c, STRANGERS);
	p->where[s->thing] = NOT_THERE;
	p->spare[p->n_spare++] = i;
	p->free += s->entries;
	unic_share_hold(&p->share, s->process, -(int32_t)s->entries);
	return true;
}

/* Entries for one of @process: from whom, as unic_reclaim_poll() decides. */
static bool take(struct replay *p, uint32_t process, uint32_t entries)
{
	uint32_t from;
	bool taken = false;

	if (!p->shares)
		return take_from(p, 0, entries);
	while (!taken &&
	       (from = unic_share_victim(&p->share, process, entries)) !=
		       UNIC_OWNER_NIL) {
		taken = take_from(p, from, entries);
		if (!taken)
			unic_share_skip(&p->share, from);
	}
	unic_share_unskip(&p->share);
	return taken || take_from(p, process, entries);
}

static bool refer(struct replay *p, uint32_t thing)
{
	const struct thing *t = &p->r->thing[thing];
	uint16_t i = p->where[thing];
	bool room = true;

	if (i != NOT_THERE) {
		p->slot[i].last_use_ns = p->now_ns;
		p->slot[i].uses++;
		return true;
	}
	if (t->entries > p->share.capacity)
		return false;
	unic_share_want(&p->share, t->process, (int32_t)t->entries);
	while (room && p->free < t->entries)
		room = take(p, t->process, t->entries - p->free);
	unic_share_want(&p->share, t->process, -(int32_t)t->entries);
	if (!room)
		return false;
	i = p->spare[--p->n_spare];
	p->slot[i] = (struct slot){ .last_use_ns = p->now_ns,
				    .entries = (uint16_t)t->entries,
				    .importance = t->importance,
				    .process = t->process,
				    .since_ns = p->now_ns,
				    .thing = thing };
	p->where[thing] = i;
	p->free -= t->entries;
	unic_share_hold(&p->share, t->process, (int32_t)t->entries);
	unic_policy_add(chooser_of(p, t->process), i);
	return false;
}

/* ------------------------------------------------------------ beginning */

#define FROM_USE(field)                           \
	((int16_t)(offsetof(struct slot, field) - \
		   offsetof(struct slot, last_use_ns)))

static bool begin(struct replay *p, const struct refs *r,
		  const struct replay_table *t, uint32_t kind)
{
	uint32_t entries = t->entries, i, ghosts = 1;

	while (ghosts * 4 < entries)
		ghosts *= 2;
	ghosts *= t->remember;
	p->r = r;
	p->state.moved = calloc(entries, sizeof(struct unic_moved));
	p->state.ghost_loss = calloc(ghosts * 4, sizeof(uint16_t));
	p->state.weight = 1u << UNIC_PAIN_WEIGHT_LOG2;
	p->slot = calloc(entries, sizeof(*p->slot));
	p->where = malloc(r->n_things * sizeof(*p->where));
	p->spare = malloc(entries * sizeof(*p->spare));
	p->table = (struct unic_policy_table){
		.item = calloc(entries, sizeof(struct unic_item)),
		.stride = sizeof(*p->slot),
		.since = FROM_USE(since_ns),
		.size = FROM_USE(entries),
		.hint = FROM_USE(importance),
		.ghost = calloc(ghosts * 4, sizeof(struct unic_ghost)),
		.ghost_mask = ghosts - 1,
		.state = &p->state,
	};
	if (!p->state.moved || !p->state.ghost_loss || !p->slot || !p->where ||
	    !p->spare || !p->table.item || !p->table.ghost)
		return false;
	p->table.last_use_ns = &p->slot[0].last_use_ns;
	p->state.rng = 88172645463325252ull;
	memset(p->where, 0xff, r->n_things * sizeof(*p->where));
	for (i = 0; i < entries; i++)
		p->spare[i] = (uint16_t)(entries - 1 - i);
	p->n_spare = p->free = entries;
	unic_share_init(&p->share, entries);
	for (i = 0; i < REFS_PROCESSES; i++) {
		unic_share_weigh(&p->share, i, 1);
		unic_policy_init(&p->chooser[i], &p->table);
		unic_policy_set(&p->chooser[i], kind);
	}
	return true;
}

int replay_policy(const struct refs *r, const struct replay_table *t,
		  uint32_t kind, struct replay_result *out)
{
	struct replay *p = calloc(1, sizeof(*p));
	int err = -1;
	size_t i;

	if (!p)
		return -1;
	p->shares = t->shares;
	memset(out, 0, sizeof(*out));
	if (begin(p, r, t, kind)) {
		for (i = 0; i < r->n; i++) {
			uint32_t thing = r->ref[i].thing;

			p->now_ns += 1u << 10;
			count(out, &r->thing[thing], refer(p, thing));
		}
		err = 0;
	}
	free(p->table.item);
	free(p->table.ghost);
	free(p->state.moved);
	free(p->state.ghost_loss);
	free(p->spare);
	free(p->where);
	free(p->slot);
	free(p);
	return err;
}

/* --------------------------------------------------------------- Belady */

/*
 * A heap of (next use, thing), the farthest first. A thing that is used again
 * is pushed again; what the heap says of it from before is not true any more
 * and skipped.
 */
struct later {
	uint32_t next, thing;
};

struct future {
	struct later *heap;
	size_t n;
	uint32_t *next; /* by thing, while it is there */
	bool *there;
};

static void push(struct future *f, uint32_t next, uint32_t thing)
{
	size_t i = f->n++;

	for (; i && f->heap[(i - 1) / 2].next < next; i = (i - 1) / 2)
		f->heap[i] = f->heap[(i - 1) / 2];
	f->heap[i] = (struct later){ next, thing };
}

static struct later pop(struct future *f)
{
	struct later top = f->heap[0], last = f->heap[--f->n];
	size_t i = 0, k;

	while ((k = 2 * i + 1) < f->n) {
		if (k + 1 < f->n && f->heap[k + 1].next > f->heap[k].next)
			k++;
		if (f->heap[k].next <= last.next)
			break;
		f->heap[i] = f->heap[k];
		i = k;
	}
	f->heap[i] = last;
	return top;
}

static void foresee(struct future *f, const struct refs *r, uint32_t entries,
		    struct replay_result *out)
{
	uint32_t left = entries;
	size_t i;

	for (i = 0; i < r->n; i++) {
		uint32_t thing = r->ref[i].thing;
		const struct thing *t = &r->thing[thing];

		count(out, t, f->there[thing]);
		if (t->entries > entries)
			continue;
		while (!f->there[thing] && left < t->entries) {
			struct later l = pop(f);

			if (!f->there[l.thing] || f->next[l.thing] != l.next)
				continue;
			f->there[l.thing] = false;
			left += r->thing[l.thing].entries;
		}
		if (!f->there[thing])
			left -= t->entries;
		f->there[thing] = true;
		f->next[thing] = r->ref[i].next;
		push(f, r->ref[i].next, thing);
	}
}

int replay_belady(const struct refs *r, uint32_t entries,
		  struct replay_result *out)
{
	struct future f = {
		.heap = malloc(r->n * sizeof(*f.heap)),
		.next = malloc(r->n_things * sizeof(*f.next)),
		.there = calloc(r->n_things, sizeof(*f.there)),
	};
	int err = f.heap && f.next && f.there ? 0 : -1;

	memset(out, 0, sizeof(*out));
	if (!err)
		foresee(&f, r, entries, out);
	free(f.heap);
	free(f.next);
	free(f.there);
	return err;
}

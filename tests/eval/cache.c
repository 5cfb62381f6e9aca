/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cache.c - see cache.h. */
#include "cache.h"

#include "inside.h"

#define RETRY_NS (500 * US) /* of a library that cannot wait */
#define OPEN_MAX 4u /* requests at a time to register, or to end, many */

/* A request is about a chunk; the process finds its cache by `user`. */
static struct cache *cache_of(const struct actor *a)
{
	return a->user;
}

static struct chunk *chunk_of(struct actor *a, void *ctx)
{
	return &cache_of(a)->chunk[(uintptr_t)ctx];
}

static void ask(struct cache *c, uint32_t i, uint16_t op, void *rec,
		actor_reply done)
{
	actor_ask(c->a, op, rec, (void *)(uintptr_t)i, done);
}

uint64_t cache_iova(const struct cache *c, uint32_t chunk)
{
	return ACTOR_VA + (c->first_page + chunk * c->pages) * 4096ull;
}

uint32_t cache_live(const struct cache *c)
{
	uint32_t i, n = 0;

	for (i = 0; i < c->chunks; i++)
		n += c->chunk[i].state == CHUNK_LIVE;
	return n;
}

/* The least recently used chunk that nobody uses, or `chunks`. */
static uint32_t idle(const struct cache *c)
{
	uint32_t i, best = c->chunks;

	for (i = 0; i < c->chunks; i++) {
		const struct chunk *k = &c->chunk[i];

		if (k->state == CHUNK_LIVE && !k->holds &&
		    (best == c->chunks || k->used_ns < c->chunk[best].used_ns))
			best = i;
	}
	return best;
}

/* -------------------------------------------------------------------- ending */

static void pump(struct cache *c);

/* MR_DEREG of chunk @ctx is answered. */
static void note_end(struct actor *a, void *ctx, uint32_t status)
{
	if (status && status != UNIC_ST_NO_MR)
		sim_fail("eval", "MR_DEREG answers %u", status);
	cache_of(a)->ending--;
	chunk_of(a, ctx)->state = CHUNK_NONE;
}

static void dereg_done(struct actor *a, void *ctx, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	(void)rec;
	(void)bytes;
	note_end(a, ctx, status);
	pump(cache_of(a));
}

static void end(struct cache *c, uint32_t i, actor_reply done)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(c->chunk[i].id) };

	c->ending++;
	c->chunk[i].state = CHUNK_ENDING;
	ask(c, i, UNIC_CTL_MR_DEREG, &r, done);
}

static void leave(struct cache *c, uint32_t i)
{
	c->chunk[i].state = CHUNK_LEAVING;
	if (!c->chunk[i].holds)
		end(c, i, dereg_done);
}

/* --------------------------------------------------------------- registering */

static void try_reg(struct cache *c, uint32_t i, uint8_t flags, uint32_t less);

static void again(void *ctx, uint64_t arg)
{
	try_reg(ctx, (uint32_t)arg, 0, 0);
}

/* The idle chunk @ctx made room; who wanted it asks again. */
static void made_room(struct actor *a, void *ctx, uint32_t status,
		      const void *rec, uint32_t bytes)
{
	struct cache *c = cache_of(a);

	(void)rec;
	(void)bytes;
	note_end(a, ctx, status);
	try_reg(c, c->want, 0, 0);
}

static bool make_room(struct cache *c)
{
	uint32_t v = idle(c);

	if (v == c->chunks)
		return false;
	c->trimmed++;
	end(c, v, made_room);
	return true;
}

/* Entries that a region takes. */
static uint32_t entries_of(const struct cache *c)
{
	return c->page_shift ? 1 : c->pages;
}

/* As bufman_chunk.c: wait within the share only, so give up what lies idle, but ask
 * before: then it comes to us. */
static void refused_unic(struct cache *c, uint32_t i,
			 const struct unic_cpl_usage *u)
{
	uint32_t would = unic_from_le32(u->holding) + entries_of(c),
		 v = c->chunks;

	if (!c->hoard && !c->trusts && would > unic_from_le32(u->fair_share)) {
		if (c->how == CACHE_GIVES && make_room(c))
			return;
		v = idle(c);
	}
	try_reg(c, i, UNIC_CTL_REG_WAIT, v < c->chunks ? entries_of(c) : 0);
	if (v < c->chunks) {
		c->trimmed++;
		end(c, v, dereg_done);
	}
}

static void refused_today(struct cache *c, uint32_t i)
{
	if (c->hoard || !make_room(c))
		sim_at(sim_now() + RETRY_NS, again, c, i);
}

static void on_notice(struct cache *c, uint32_t i, uint32_t seq);

static void registered(struct cache *c, uint32_t i,
		       const struct unic_ctl_mr_reg_reply *r)
{
	struct chunk *k = &c->chunk[i];
	uint64_t now = sim_now();

	k->id = unic_from_le32(r->id);
	k->stag = unic_from_le32(r->stag);
	k->state = CHUNK_LIVE;
	c->asking--;
	if (k->waits && c->on_wait)
		c->on_wait(c, now - k->asked_ns,
			   k->wait_ns ? now - k->wait_ns : 0, k->entitled);
	if (c->away || k->early_evicted == k->id)
		leave(c, i);
	else if (k->early_id == k->id)
		on_notice(c, i, k->early_notice);
	else if (c->on_live)
		c->on_live(c, i);
	pump(c);
}

/* As many of its requests wait as may: again when one of those is through. */
static void full(struct cache *c, struct chunk *k)
{
	k->state = CHUNK_NONE;
	c->asking--;
	if (!c->away)
		c->fills = c->chunks;
}

static void reg_done(struct actor *a, void *ctx, uint32_t status,
		     const void *rec, uint32_t bytes)
{
	struct cache *c = cache_of(a);
	struct chunk *k = chunk_of(a, ctx);
	struct unic_ctl_mr_reg_reply r;
	struct unic_cpl_usage u;

	if (!status) {
		memcpy(&r, rec, sizeof(r));
		registered(c, (uint32_t)(uintptr_t)ctx, &r);
		return;
	}
	if (status == UNIC_ST_WAIT_FULL) {
		full(c, k);
		return;
	}
	if (bytes < UNIC_CTL_BYTES + sizeof(u))
		sim_fail("eval", "MR_REG answers %u", status);
	memcpy(&u, (const uint8_t *)rec + UNIC_CTL_BYTES, sizeof(u));
	k->waits = true;
	if (c->how != CACHE_TODAY)
		refused_unic(c, (uint32_t)(uintptr_t)ctx, &u);
	else
		refused_today(c, (uint32_t)(uintptr_t)ctx);
}

/* @less: entries given up right after. */
static void try_reg(struct cache *c, uint32_t i, uint8_t flags, uint32_t less)
{
	const struct node *n = world->node[c->a->node];
	struct chunk *k = &c->chunk[i];
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(cache_iova(c, i)),
		.iova = unic_to_le64(cache_iova(c, i)),
		.length = unic_to_le64(c->pages * 4096ull),
		.pd = unic_to_le32(c->a->pd),
		.user = unic_to_le32(i),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
			  UNIC_MR_REMOTE_WRITE,
		.mr_class = c->mr_class,
		.page_shift = c->page_shift ? c->page_shift : 12,
		.flags = flags,
	};

	if (flags) {
		k->wait_ns = sim_now();
		k->entitled = inside_entitled(n->nic, c->a->slot,
					      entries_of(c) - less);
	}
	ask(c, i, UNIC_CTL_MR_REG, &r, reg_done);
}

static void reg(struct cache *c, uint32_t i)
{
	struct chunk *k = &c->chunk[i];

	memset(k, 0, sizeof(*k));
	k->state = CHUNK_ASKED;
	k->asked_ns = sim_now();
	c->asking++;
	try_reg(c, i, 0, 0);
}

/* ---------------------------------------------------------------- its user's */

void cache_hold(struct cache *c, uint32_t chunk)
{
	c->chunk[chunk].holds++;
	c->chunk[chunk].used_ns = sim_now();
}

/* A chunk that its user waits for, and those that a hoarder wants. */
static void pump(struct cache *c)
{
	struct chunk *k = &c->chunk[c->want];
	cache_got got = c->got;
	uint32_t n;

	if (got && k->state == CHUNK_LIVE) {
		c->got = NULL;
		cache_hold(c, c->want);
		got(c, c->want);
	} else if (got && k->state == CHUNK_NONE) {
		reg(c, c->want);
	}
	for (n = 0; c->away && n < c->chunks && c->ending < OPEN_MAX; n++)
		if (c->chunk[n].state == CHUNK_LIVE)
			leave(c, n);
	for (; c->fills && c->asking < OPEN_MAX; c->fills--)
		if (c->chunk[c->fills - 1].state == CHUNK_NONE)
			reg(c, c->fills - 1);
	for (n = 0; c->hoard && n < c->chunks && c->asking < OPEN_MAX; n++) {
		if (c->chunk[c->next].state == CHUNK_NONE)
			reg(c, c->next);
		c->next = (c->next + 1) % c->chunks;
	}
}

void cache_get(struct cache *c, uint32_t chunk, cache_got got)
{
	c->got = got;
	c->want = chunk;
	pump(c);
}

void cache_put(struct cache *c, uint32_t chunk)
{
	struct chunk *k = &c->chunk[chunk];

	k->holds--;
	k->used_ns = sim_now();
	if (k->state == CHUNK_LEAVING && !k->holds) {
		c->late += !c->away;
		end(c, chunk, dereg_done);
	}
}

void cache_come(struct cache *c)
{
	c->away = false;
	c->fills = c->chunks;
	pump(c);
}

void cache_go(struct cache *c)
{
	c->away = true;
	c->fills = 0;
	pump(c);
}

void cache_hoard(struct cache *c)
{
	c->hoard = true;
	pump(c);
}

/* ------------------------------------------------------------------- notices */

static void answer(struct cache *c, uint32_t i, uint32_t seq, uint32_t what,
		   uint32_t arg, actor_reply done)
{
	struct unic_ctl_notice_answer r = {
		.id = unic_to_le32(c->chunk[i].id),
		.notice_seq = unic_to_le32(seq),
		.answer = unic_to_le32(what),
	};

	if (what == UNIC_ANSWER_OFFER)
		r.offer_id = unic_to_le32(arg);
	else
		r.extend_us = unic_to_le32(arg);
	ask(c, i, UNIC_CTL_NOTICE_ANSWER, &r, done);
}

/* Somebody uses it, and there is nothing to offer. */
static void extend(struct cache *c, uint32_t i, uint32_t seq)
{
	uint32_t half = c->grace_us / 2;

	c->extends++;
	c->chunk[i].state = CHUNK_LEAVING;
	answer(c, i, seq, UNIC_ANSWER_EXTEND, half ? half : 1, NULL);
}

static void offered(struct actor *a, void *ctx, uint32_t status,
		    const void *rec, uint32_t bytes)
{
	struct chunk *k = chunk_of(a, ctx);

	(void)rec;
	(void)bytes;
	/* refused, or too late: then it goes when its last user is through */
	if (status && k->state == CHUNK_LIVE)
		leave(cache_of(a), (uint32_t)(uintptr_t)ctx);
}

static void on_notice(struct cache *c, uint32_t i, uint32_t seq)
{
	uint32_t v;

	c->notices++;
	if (c->deaf || c->how == CACHE_TODAY)
		return;
	if (!c->chunk[i].holds) {
		c->released++;
		leave(c, i);
		return;
	}
	v = idle(c);
	if (v == c->chunks) {
		extend(c, i, seq);
		return;
	}
	c->offers++;
	answer(c, i, seq, UNIC_ANSWER_OFFER, c->chunk[v].id, offered);
	end(c, v, dereg_done); /* taken or not: it is idle */
}

static void on_upcall(struct actor *a, const uint64_t *rec, uint8_t type)
{
	struct cache *c = cache_of(a);
	struct unic_upcall_mr up;
	struct chunk *k;
	uint32_t i, id;

	if (type != UNIC_UP_NOTICE && type != UNIC_UP_EVICTED)
		return;
	memcpy(&up, rec, sizeof(up));
	i = unic_from_le32(up.user);
	id = unic_from_le32(up.hdr.id);
	k = &c->chunk[i];
	if (i >= c->chunks)
		return;
	c->evicted += type == UNIC_UP_EVICTED;
	if (type == UNIC_UP_NOTICE)
		c->deadline_ns = unic_from_le64(up.deadline_ns) -
				 world->node[a->node]->os->offset_ns;
	if (k->state == CHUNK_ASKED && type == UNIC_UP_NOTICE) {
		k->early_notice = unic_from_le32(up.notice_seq);
		k->early_id = id;
	} else if (k->state == CHUNK_ASKED) {
		k->early_evicted = id;
	} else if (k->state == CHUNK_LIVE && k->id == id) {
		if (type == UNIC_UP_NOTICE)
			on_notice(c, i, unic_from_le32(up.notice_seq));
		else
			leave(c, i);
	}
}

void cache_init(struct cache *c, struct actor *a, uint32_t first,
		uint32_t chunks, uint32_t pages)
{
	c->a = a;
	c->first_page = first;
	c->chunks = chunks;
	c->pages = pages;
	c->chunk = sim_alloc(chunks * sizeof(*c->chunk));
	a->user = c;
	a->on_upcall = on_upcall;
}

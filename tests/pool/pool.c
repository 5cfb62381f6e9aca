/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* pool.c - see pool.h. */
#include <string.h>

#include "base/err.h"
#include "pool.h"

#define NIL UNIC_NOTICE_NIL

void pool_init(struct pool *p, const struct pool_ops *ops, void *ctx)
{
	uint32_t i;

	memset(p, 0, sizeof(*p));
	p->ops = ops;
	p->ctx = ctx;
	p->free = POOL_SIZE;
	unic_share_init(&p->share, POOL_SIZE);
	unic_notice_init(&p->notices);
	for (i = 0; i < POOL_TENANTS; i++)
		unic_share_weigh(&p->share, i, 1);
	for (i = 0; i < POOL_SIZE; i++)
		p->connection[i] = (struct pool_connection){
			.tenant = POOL_FREE,
			.notice = NIL,
		};
}

uint64_t pool_bound_ns(const struct pool *p, uint64_t period_ns)
{
	return (p->notices.deliver_us + p->notices.grace_us) * 1000ull +
	       period_ns;
}

/* ------------------------------------------------------------- requests */

bool pool_ask(struct pool *p, uint32_t tenant)
{
	struct pool_tenant *t = &p->tenant[tenant];
	uint32_t at = (t->first + t->waiting) % POOL_WAITS;

	if (t->waiting == POOL_WAITS)
		return false;
	t->waiting++;
	t->asked_ns[at] = p->now_ns;
	t->entitled_ns[at] = 0;
	unic_share_want(&p->share, tenant, 1);
	return true;
}

void pool_forgo(struct pool *p, uint32_t tenant)
{
	p->tenant[tenant].waiting--;
	unic_share_want(&p->share, tenant, -1);
}

/* Requests of @tenant that keep it within its share. */
static uint32_t entitled(struct pool *p, uint32_t tenant)
{
	uint32_t waiting = p->tenant[tenant].waiting;
	uint32_t held = p->share.owner[tenant].held;
	uint32_t fair = unic_share_fair(&p->share, tenant);
	uint32_t room = held < fair ? fair - held : 0;

	return waiting < room ? waiting : room;
}

/* Shares move with who is there, and with them what a request may rely on. */
static void note_entitled(struct pool *p)
{
	uint32_t i, k, n;

	for (i = 0; i < POOL_TENANTS; i++) {
		struct pool_tenant *t = &p->tenant[i];

		n = entitled(p, i);
		for (k = 0; k < t->waiting; k++) {
			uint64_t *at =
				&t->entitled_ns[(t->first + k) % POOL_WAITS];

			if (k >= n)
				*at = 0;
			else if (!*at)
				*at = p->now_ns;
		}
	}
}

/*
 * Who has least for its weight with one more; @of: bit per tenant that may be it.
 */
static uint32_t poorest(const struct pool *p, uint32_t of)
{
	const struct unic_share_owner *o = p->share.owner, *b = NULL;
	uint32_t i;

	for (i = 0; i < POOL_TENANTS; i++) {
		if (!(of >> i & 1) || !p->tenant[i].waiting)
			continue;
		if (!b ||
		    (o[i].held + 1) * b->weight < (b->held + 1) * o[i].weight)
			b = &o[i];
	}
	return b ? (uint32_t)(b - o) : UNIC_OWNER_NIL;
}

static void grant(struct pool *p, uint32_t tenant)
{
	struct pool_tenant *t = &p->tenant[tenant];
	uint32_t i, at = t->first;

	for (i = 0; p->connection[i].tenant != POOL_FREE; i++)
		;
	p->connection[i].tenant = (uint16_t)tenant;
	p->connection[i].used_ns = p->now_ns;
	p->free--;
	t->first = (at + 1) % POOL_WAITS;
	t->waiting--;
	unic_share_want(&p->share, tenant, -1);
	unic_share_hold(&p->share, tenant, 1);
	p->ops->granted(p->ctx, tenant, i, t->asked_ns[at], t->entitled_ns[at]);
}

/* Whose first request has been within its share for longest. */
static uint32_t longest_due(const struct pool *p)
{
	uint32_t i, best = UNIC_OWNER_NIL;
	uint64_t since = UINT64_MAX;

	for (i = 0; i < POOL_TENANTS; i++) {
		const struct pool_tenant *t = &p->tenant[i];
		uint64_t at = t->entitled_ns[t->first];

		if (!t->waiting || !at || at >= since)
			continue;
		best = i;
		since = at;
	}
	return best;
}

/*
 * Who waits within its share comes before those who borrow, in the order in which
 * connections were asked back for them: a later one cannot take what an earlier
 * one waited for, or B would begin again.
 */
static void serve(struct pool *p)
{
	uint32_t tenant;

	while (p->free) {
		tenant = longest_due(p);
		if (tenant == UNIC_OWNER_NIL)
			tenant = poorest(p, ~0u);
		if (tenant == UNIC_OWNER_NIL)
			return;
		grant(p, tenant);
	}
}

/* ---------------------------------------------------------- connections */

static void not_asked(struct pool *p, uint32_t i)
{
	struct pool_connection *c = &p->connection[i];

	if (c->notice == NIL)
		return;
	unic_notice_close(&p->notices, c->notice);
	unic_share_not_coming(&p->share, c->tenant, 1);
	c->notice = NIL;
}

void pool_give(struct pool *p, uint32_t i)
{
	struct pool_connection *c = &p->connection[i];

	not_asked(p, i);
	unic_share_hold(&p->share, c->tenant, -1);
	c->tenant = POOL_FREE;
	c->busy = false;
	p->free++;
}

void pool_use(struct pool *p, uint32_t i, bool busy)
{
	p->connection[i].busy = busy;
	p->connection[i].used_ns = p->now_ns;
}

void pool_offer(struct pool *p, uint32_t i, uint32_t other)
{
	struct pool_connection *c = &p->connection[i];

	unic_notice_replace(&p->notices, c->notice, (uint16_t)other, 1);
	p->connection[other].notice = c->notice;
	p->connection[other].told_ns = c->told_ns;
	c->notice = NIL;
}

bool pool_extend(struct pool *p, uint32_t i, uint32_t us)
{
	uint8_t why;

	return !unic_notice_extend(&p->notices, p->connection[i].notice, us,
				   &why);
}

/* --------------------------------------------------------------- recall */

/* Idle ones before busy ones, and of these the one used longest ago. */
static uint32_t candidate(const struct pool *p, uint32_t tenant)
{
	uint32_t i, best = POOL_FREE;

	for (i = 0; i < POOL_SIZE; i++) {
		const struct pool_connection *c = &p->connection[i], *b;

		if (c->tenant != tenant || c->notice != NIL)
			continue;
		b = &p->connection[best == POOL_FREE ? i : best];
		if (best == POOL_FREE || c->busy < b->busy ||
		    (c->busy == b->busy && c->used_ns < b->used_ns))
			best = i;
	}
	return best;
}

static void tell(struct pool *p, uint32_t i)
{
	p->connection[i].told_ns = 0;
	p->ops->notice(p->ctx, p->connection[i].tenant, i);
}

void pool_told(struct pool *p, uint32_t i)
{
	struct pool_connection *c = &p->connection[i];
	uint32_t seq = p->notices.notice[c->notice].seq;

	if (!unic_notice_delivered(&p->notices, c->notice, seq, p->now_ns))
		c->told_ns = p->now_ns;
}

static void ask_back(struct pool *p, uint32_t wanter, bool urgent,
		     uint32_t victim, uint32_t i)
{
	p->ops->recalled(p->ctx, wanter, victim);
	p->connection[i].notice =
		unic_notice_open(&p->notices, p->now_ns, (uint16_t)i,
				 (uint16_t)victim, 1, 0, urgent);
	unic_share_coming(&p->share, victim, 1);
	tell(p, i);
}

/* Would @wanter with @n more have as much for its weight as @victim now? Then
 * the next recall would go the other way, and so on for ever. */
static bool in_vain(const struct pool *p, uint32_t wanter, uint32_t n,
		    uint32_t victim)
{
	const struct unic_share_owner *w = &p->share.owner[wanter];
	const struct unic_share_owner *v = &p->share.owner[victim];

	return (w->held + n) * v->weight >=
	       unic_share_net(&p->share, victim) * w->weight;
}

/*
 * The @n-th connection more for @wanter, from whoever has most beyond its share.
 * That may be the wanter itself, and then it has to do with what it has.
 */
static bool recall(struct pool *p, uint32_t wanter, uint32_t n)
{
	uint32_t victim = unic_share_victim(&p->share, wanter, n);
	bool urgent = unic_share_entitled(&p->share, wanter, n);

	if (victim == UNIC_OWNER_NIL || victim == wanter ||
	    (!urgent && in_vain(p, wanter, n, victim)))
		return false;
	ask_back(p, wanter, urgent, victim, candidate(p, victim));
	return true;
}

/*
 * Each tenant in turn, for all that it waits for and that is not coming yet: what
 * is within shares first, for the order in which it is served is the same.
 */
static void recall_all(struct pool *p, bool within)
{
	uint32_t left = (1u << POOL_TENANTS) - 1u, coming = p->share.coming;
	uint32_t tenant, n, most;

	while ((tenant = poorest(p, left)) != UNIC_OWNER_NIL) {
		left &= ~(1u << tenant);
		most = within ? entitled(p, tenant) : p->tenant[tenant].waiting;
		for (n = 1; n <= most; n++) {
			if (coming)
				coming--;
			else if (!recall(p, tenant, n))
				break;
		}
	}
}

/* Extensions were granted while nobody within its share waited: who does now
 * cannot wait for their end. */
static void hurry(struct pool *p)
{
	uint32_t i, need = 0;

	for (i = 0; i < POOL_TENANTS; i++)
		need += entitled(p, i);
	for (i = 0; i < POOL_SIZE; i++) {
		uint16_t n = p->connection[i].notice;

		if (n != NIL && p->notices.notice[n].urgent && need)
			need--;
	}
	for (i = 0; i < POOL_SIZE && need; i++) {
		uint16_t n = p->connection[i].notice;

		if (n == NIL || p->notices.notice[n].urgent)
			continue;
		unic_notice_renew(&p->notices, n, p->now_ns);
		tell(p, i);
		need--;
	}
}

static void carry_out(struct pool *p)
{
	uint16_t n;

	while ((n = unic_notice_due(&p->notices, p->now_ns)) != NIL) {
		uint32_t i = p->notices.notice[n].subject;

		p->ops->cut(p->ctx, p->connection[i].tenant, i);
		pool_give(p, i);
	}
}

void pool_poll(struct pool *p, uint64_t now_ns)
{
	p->now_ns = now_ns;
	carry_out(p);
	note_entitled(p);
	serve(p);
	recall_all(p, true);
	recall_all(p, false);
	hurry(p);
	serve(p); /* with what was given back in answer */
}

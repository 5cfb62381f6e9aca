/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* tenants.c - see tenants.h. */
#include <stdio.h>
#include <string.h>

#include "tenants.h"

#define NS(us)	   ((us)*1000ull)
#define DELIVER_US 6000u

void tenants_expect(struct tenants *t, bool ok, const char *what, uint32_t who)
{
	if (ok)
		return;
	t->violations++;
	printf("%.1f ms: tenant %u: %s\n", (double)t->pool.now_ns / 1e6, who,
	       what);
}

uint32_t tenants_held(const struct tenants *t, uint32_t who)
{
	return t->pool.share.owner[who].held;
}

/* ------------------------------------------------- what the pool tells them */

static void on_notice(void *ctx, uint32_t who, uint32_t i)
{
	struct tenants *t = ctx;

	t->tenant[who].recalled++;
	t->arrive_ns[i] =
		t->tenant[who].manner == CUT_OFF
			? 0
			: t->pool.now_ns + NS(t->tenant[who].tell_us) + 1;
}

static void on_granted(void *ctx, uint32_t who, uint32_t i, uint64_t asked_ns,
		       uint64_t entitled_ns)
{
	struct tenants *t = ctx;
	uint64_t now = t->pool.now_ns, waited = now - entitled_ns;

	(void)asked_ns;
	t->tenant[who].granted++;
	t->change_ns[i] = now;
	t->arrive_ns[i] = 0;
	if (!entitled_ns)
		return; /* it borrows */
	if (waited > t->tenant[who].longest_ns)
		t->tenant[who].longest_ns = waited;
	tenants_expect(t, waited <= pool_bound_ns(&t->pool, PERIOD_NS),
		       "waited longer than B within its share", who);
}

static void on_cut(void *ctx, uint32_t who, uint32_t i)
{
	struct tenants *t = ctx;
	const struct pool_connection *c = &t->pool.connection[i];
	const struct unic_notices *n = &t->pool.notices;

	t->tenant[who].cut++;
	/* INV-6 */
	tenants_expect(t,
		       !c->told_ns ||
			       t->pool.now_ns >= c->told_ns + NS(n->grace_us),
		       "cut before T was over", who);
}

static void on_recalled(void *ctx, uint32_t wanter, uint32_t victim)
{
	struct tenants *t = ctx;

	/* INV-5 */
	tenants_expect(t, unic_share_excess(&t->pool.share, victim) > 0,
		       "asked to give though not above its share", victim);
	tenants_expect(t, wanter != victim, "takes from itself", wanter);
}

static const struct pool_ops ops = {
	.notice = on_notice,
	.granted = on_granted,
	.cut = on_cut,
	.recalled = on_recalled,
};

/* -------------------------------------------------------- what they do */

void tenants_init(struct tenants *t)
{
	memset(t, 0, sizeof(*t));
	pool_init(&t->pool, &ops, t);
	/* short beside an extension, so that one too many breaks B */
	t->pool.notices.deliver_us = DELIVER_US;
}

void tenants_leave(struct tenants *t, uint32_t who)
{
	uint32_t i;

	t->tenant[who] = (struct tenant){ 0 };
	while (t->pool.tenant[who].waiting)
		pool_forgo(&t->pool, who);
	for (i = 0; i < POOL_SIZE; i++)
		if (t->pool.connection[i].tenant == who)
			pool_give(&t->pool, i);
}

/* As many requests as it has connections too few. */
static void demand(struct tenants *t, uint32_t who)
{
	const struct pool_tenant *q = &t->pool.tenant[who];
	uint32_t wants = t->tenant[who].wants;

	while (tenants_held(t, who) + q->waiting < wants &&
	       pool_ask(&t->pool, who))
		;
	while (q->waiting && tenants_held(t, who) + q->waiting > wants)
		pool_forgo(&t->pool, who);
}

/* Asked for a busy connection, a tenant gives an idle one of its own. */
static uint32_t idle_one(const struct tenants *t, uint32_t who)
{
	uint32_t i;

	for (i = 0; i < POOL_SIZE; i++) {
		const struct pool_connection *c = &t->pool.connection[i];

		if (c->tenant == who && !c->busy &&
		    c->notice == UNIC_NOTICE_NIL)
			return i;
	}
	return POOL_FREE;
}

static void answer(struct tenants *t, uint32_t who, uint32_t i)
{
	struct tenant *x = &t->tenant[who];
	uint32_t other;

	while (x->manner == CLINGS && pool_extend(&t->pool, i, 5000))
		;
	if (x->manner != GIVES)
		return;
	if (!t->pool.connection[i].busy) {
		pool_give(&t->pool, i);
		return;
	}
	other = idle_one(t, who);
	if (other == POOL_FREE)
		return; /* when its transaction ends */
	pool_offer(&t->pool, i, other);
	pool_give(&t->pool, other);
}

static void work(struct tenants *t, uint32_t who, uint32_t i)
{
	const struct pool_connection *c = &t->pool.connection[i];
	struct tenant *x = &t->tenant[who];
	uint64_t now = t->pool.now_ns;
	bool begins = !c->busy;

	if (!x->work_us || now < t->change_ns[i])
		return;
	if (c->notice != UNIC_NOTICE_NIL && c->told_ns && x->manner == GIVES) {
		pool_give(&t->pool, i);
		return;
	}
	pool_use(&t->pool, i, begins);
	t->change_ns[i] = now + NS(begins ? x->work_us : x->pause_us);
}

static void act(struct tenants *t)
{
	uint32_t i;

	for (i = 0; i < POOL_TENANTS; i++)
		demand(t, i);
	for (i = 0; i < POOL_SIZE; i++) {
		const struct pool_connection *c = &t->pool.connection[i];

		if (c->tenant == POOL_FREE)
			continue;
		if (c->notice != UNIC_NOTICE_NIL && t->arrive_ns[i] &&
		    t->pool.now_ns >= t->arrive_ns[i]) {
			t->arrive_ns[i] = 0;
			pool_told(&t->pool, i);
			answer(t, c->tenant, i);
		}
		if (c->tenant != POOL_FREE)
			work(t, c->tenant, i);
	}
}

/* What is there is somebody's or free, and the books say the same. */
static void audit(struct tenants *t)
{
	uint32_t held[POOL_TENANTS] = { 0 }, coming = 0, free = 0, i;

	for (i = 0; i < POOL_SIZE; i++) {
		const struct pool_connection *c = &t->pool.connection[i];

		coming += c->notice != UNIC_NOTICE_NIL;
		if (c->tenant == POOL_FREE)
			free++;
		else
			held[c->tenant]++;
	}
	tenants_expect(t, free == t->pool.free, "free connections miscounted",
		       0);
	tenants_expect(t,
		       coming == t->pool.share.coming &&
			       coming == t->pool.notices.open,
		       "notices miscounted", 0);
	for (i = 0; i < POOL_TENANTS; i++) {
		tenants_expect(t, held[i] == tenants_held(t, i),
			       "holding miscounted", i);
		tenants_expect(t, !free || !t->pool.tenant[i].waiting,
			       "waits though a connection is free", i);
	}
}

void tenants_run(struct tenants *t, uint64_t end_ns)
{
	uint64_t now = t->pool.now_ns;

	while (now < end_ns) {
		now += PERIOD_NS;
		t->pool.now_ns = now;
		act(t);
		pool_poll(&t->pool, now);
		audit(t);
	}
}

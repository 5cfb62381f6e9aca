/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pool.h - a pool of database connections, shared by tenants (S0 section 4: the
 * protocol that takes translation entries back arbitrates other scarce things as
 * well). Fair shares are firmware/arbiter/share.c, the conversation about a connection
 * that is asked back is firmware/arbiter/notice.c; both are compiled as they are.
 *
 * Secret: whose request is served next, which connection of a victim is asked
 * for, and when.
 */
#ifndef POOL_H
#define POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "arbiter/notice.h"
#include "arbiter/share.h"

#define POOL_SIZE    UNIC_NOTICES
#define POOL_TENANTS UNIC_PROCS
#define POOL_FREE    0xffffu
#define POOL_WAITS   128u /* requests of a tenant in the queue */

struct pool_connection {
	uint16_t tenant; /* POOL_FREE */
	uint16_t notice; /* UNIC_NOTICE_NIL: not asked back */
	bool busy;	 /* in a transaction, as its tenant says */
	uint64_t used_ns;
	uint64_t told_ns; /* T began; 0: it has not */
};

struct pool_tenant {
	uint64_t asked_ns[POOL_WAITS];	  /* a ring */
	uint64_t entitled_ns[POOL_WAITS]; /* within the share since; 0: not */
	uint32_t first, waiting;
};

/* What the tenants see of it. Called within pool_poll(). */
struct pool_ops {
	/* Asked back: on its way to the tenant. pool_told() when it is there;
	 * then the tenant answers, or not. Again when it became urgent. */
	void (*notice)(void *ctx, uint32_t tenant, uint32_t connection);
	void (*granted)(void *ctx, uint32_t tenant, uint32_t connection,
			uint64_t asked_ns, uint64_t entitled_ns);
	/* Its time is over. What ran in it is rolled back. */
	void (*cut)(void *ctx, uint32_t tenant, uint32_t connection);
	void (*recalled)(void *ctx, uint32_t wanter, uint32_t victim);
};

struct pool {
	struct unic_share share;
	struct unic_notices notices;
	struct pool_connection connection[POOL_SIZE];
	struct pool_tenant tenant[POOL_TENANTS];
	uint32_t free;
	uint64_t now_ns;
	const struct pool_ops *ops;
	void *ctx;
};

/** pool_init() - all connections are free, all tenants have weight 1. */
void pool_init(struct pool *p, const struct pool_ops *ops, void *ctx);

/** pool_ask() - @tenant waits for one connection more, in the order of asking.
 * False: it waits for POOL_WAITS already. */
bool pool_ask(struct pool *p, uint32_t tenant);

/** pool_forgo() - it waits for one less, the last one asked for. */
void pool_forgo(struct pool *p, uint32_t tenant);

/** pool_give() - it gives back a connection of its own, asked for or not. */
void pool_give(struct pool *p, uint32_t connection);

/** pool_use() - a transaction begins or ends in it. */
void pool_use(struct pool *p, uint32_t connection, bool busy);

/** pool_told() - the tenant knows that @connection is asked back: T begins. */
void pool_told(struct pool *p, uint32_t connection);

/** pool_offer() - @other, of the same tenant and not asked for, goes in its
 * place, at the same deadline. */
void pool_offer(struct pool *p, uint32_t connection, uint32_t other);

/** pool_extend() - @us more for a transaction that ends soon. False: refused. */
bool pool_extend(struct pool *p, uint32_t connection, uint32_t us);

/** pool_poll() - carry out what is due at @now_ns, serve who can be served, ask
 * back what else is needed. */
void pool_poll(struct pool *p, uint64_t now_ns);

/** pool_bound_ns() - what a request waits at most while it keeps its tenant
 * within its share, if pool_poll() comes every @period_ns (INV-8). */
uint64_t pool_bound_ns(const struct pool *p, uint64_t period_ns);

#endif /* POOL_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tenants.h - who uses the pool of connections: tenants in virtual time, each
 * with a demand and a manner of answering; and what must hold meanwhile.
 */
#ifndef TENANTS_H
#define TENANTS_H

#include "pool.h"

#define PERIOD_NS 100000ull /* between polls of the pool */

enum manner {
	GIVES,	 /* an idle connection at once, a busy one after its work */
	CLINGS,	 /* extends as often as it may, gives nothing */
	DEAF,	 /* is told, and does nothing */
	CUT_OFF, /* is not even told: the notice never arrives */
};

struct tenant {
	enum manner manner;
	uint32_t wants;	   /* connections it would like to have */
	uint32_t work_us;  /* of a transaction */
	uint32_t pause_us; /* between two on a connection */
	uint32_t tell_us;  /* how long a notice takes */
	/* what came of it */
	uint32_t granted, cut, recalled;
	uint64_t longest_ns; /* wait of a request within its share */
};

struct tenants {
	struct pool pool;
	struct tenant tenant[POOL_TENANTS];
	uint64_t change_ns[POOL_SIZE]; /* transaction begins or ends */
	uint64_t arrive_ns[POOL_SIZE]; /* notice on its way; 0: none */
	uint32_t violations;
};

void tenants_init(struct tenants *t);

/** tenants_run() - until virtual time @end_ns, all checks at each step. */
void tenants_run(struct tenants *t, uint64_t end_ns);

/** tenants_leave() - @who ends: its connections and requests with it. */
void tenants_leave(struct tenants *t, uint32_t who);

/** tenants_held() - connections of @who. */
uint32_t tenants_held(const struct tenants *t, uint32_t who);

/** tenants_expect() - count and print a violation unless @ok. */
void tenants_expect(struct tenants *t, bool ok, const char *what, uint32_t who);

#endif /* TENANTS_H */

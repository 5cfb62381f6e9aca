/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * demand.h - what those who wait for entries want, and who of them is first
 * (MEMORY.md section 3).
 *
 * Secret: the order. Requests that stay within the fair share come first, the
 * oldest of them first, so each is served within B (INV-8); then borrowers, the
 * one that would have least for its weight first. And how it is kept: what each
 * process adds is remembered, and up to which sum of all weights it is right; so
 * only those that have changed are looked at again, and when shares change, which
 * they do for all, those of whom more or fewer requests fit then. Cost: O(log
 * processes) for each of these.
 */
#ifndef UNIC_DEMAND_H
#define UNIC_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/tournament.h"

struct unic_revoke;

/* What requests need: each needs an index of the region table, too. */
struct unic_need {
	uint32_t entries, indices;
};

/* One process in the order. */
struct unic_place {
	uint32_t n, seq; /* its first request */
	uint32_t net;	 /* what it would have then, less what comes back */
	struct unic_need need; /* of all its requests within its fair share */
	struct unic_need kept; /* from who is entitled and does not wait */
	uint32_t above, most;  /* right while the weights of all are between */
	bool there;	       /* it is one of those who wait */
	enum unic_place_kind {
		UNIC_PLACE_NONE,
		UNIC_PLACE_ENTITLED,
		UNIC_PLACE_BORROWER,
	} kind;
};

struct unic_demands {
	struct unic_place of[UNIC_PROCS]; /* as last settled, and sums of it: */
	struct unic_need entitled, kept;
	struct unic_need borrowed; /* kept from others beside */
	struct unic_tournament urgent, borrowers;
	struct unic_tournament growing,
		shrinking;	   /* shares: whom that moves first */
	struct unic_bitset capped; /* whom only its quota stops, for long */
	struct unic_bitset away;   /* see unic_demand_away() */
	uint32_t indices;	   /* how many, while they are scarce */
	uint32_t lacking;	   /* a page; or UNIC_OWNER_NIL */
	struct unic_bitset owed;   /* who has a promise */
};

/** unic_demand_init() - nobody waits, nothing is promised. */
void unic_demand_init(struct unic_revoke *nic);

/** unic_demand_settle() - look at the processes that have changed; all questions
 * here do it themselves. Who they were is added to nic->reclaim.stale. */
void unic_demand_settle(struct unic_revoke *nic);

/* What those who wait ask of the reaper. */
struct unic_demand {
	uint32_t entitled; /* entries of all requests within their shares */
	uint32_t indices;  /* how many requests these are */
	uint32_t urgent;   /* process of the first of them, or OWNER_NIL */
	uint32_t urgent_n; /* entries it asks for */
	uint32_t borrower; /* process of the first other request, or NIL */
	uint32_t borrower_n;
	uint32_t capped; /* a process stopped by its own quota, or NIL */
};

/** unic_demand_now() - @tried: processes that are not reported as capped again,
 * since nothing can be taken from them now. */
void unic_demand_now(struct unic_revoke *nic, const struct unic_bitset *tried,
		     struct unic_demand *out);

/** unic_demand_urgent() - is there a request within a fair share? */
bool unic_demand_urgent(struct unic_revoke *nic);

/** unic_demand_first() - the process to serve first, or UNIC_OWNER_NIL. */
uint32_t unic_demand_first(struct unic_revoke *nic);

/** unic_demand_away() - @proc was denied and is not there to be served: until
 * unic_demand_back() others are first. */
void unic_demand_away(struct unic_revoke *nic, uint32_t proc);
void unic_demand_back(struct unic_revoke *nic);

/**
 * unic_demand_kept() - what a registration of @n by @proc must leave to other
 * processes: all that those before it need, and what was taken back for the
 * rest.
 */
struct unic_need unic_demand_kept(struct unic_revoke *nic, uint32_t proc,
				  uint32_t n);

/** unic_demand_over_quota() - would only its own quota stop @proc from having @n
 * beside @held, what it has or will have? Such a request neither reserves nor
 * blocks. A page that it misses goes before what it registers. */
bool unic_demand_over_quota(const struct unic_revoke *nic, uint32_t proc,
			    uint32_t held, uint32_t n);

/** unic_demand_promise() - @n entries are promised to @proc, no more than it
 * wants. */
void unic_demand_promise(struct unic_revoke *nic, uint32_t proc, uint32_t n);

/** unic_demand_trim() - promises never exceed what is free, @left: the one
 * served first may use all. */
void unic_demand_trim(struct unic_revoke *nic, uint32_t left);

#endif /* UNIC_DEMAND_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * demand.h - what the waiting processes need, and which of them is first
 * (MEMORY.md section 3).
 *
 * Secret: the order. Requests within the fair share come first, the oldest of
 * them first, so each is served within B (INV-8); then borrowers, the one that
 * would have least for its weight first. Each process's part is kept together
 * with the range of the sum of all weights for which it is valid. So only changed
 * processes are recomputed and, when a process comes or goes and all shares
 * change, those for which another number of requests fits. Cost: O(log processes)
 * for each.
 */
#ifndef UNIC_DEMAND_H
#define UNIC_DEMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/tournament.h"

struct unic_revoke;

/* What requests need; each needs one index of the region table. */
struct unic_need {
	uint32_t entries, indices;
};

/* The place of one process in the order. */
struct unic_place {
	uint32_t n, seq; /* entries and number of its first request */
	uint32_t net;	 /* borrower: its net with the first request granted */
	struct unic_need need; /* of all its requests within its fair share */
	/* kept from entitled processes that do not wait */
	struct unic_need kept;
	uint32_t above, most; /* valid while above < sum of weights <= most */
	bool there;	      /* the process waits or has a denial */
	enum unic_place_kind {
		UNIC_PLACE_NONE,
		UNIC_PLACE_ENTITLED,
		UNIC_PLACE_BORROWER,
	} kind;
};

struct unic_demands {
	/* as last settled; the next three fields are sums */
	struct unic_place of[UNIC_PROCS];
	struct unic_need entitled, kept;
	struct unic_need borrowed; /* kept, in addition, from borrowers */
	struct unic_tournament urgent, borrowers;
	struct unic_tournament growing,
		shrinking;	   /* whose place changes first */
	struct unic_bitset capped; /* stopped only by their quota */
	struct unic_bitset away;   /* see unic_demand_away() */
	uint32_t indices;	   /* to share while scarce, else UINT32_MAX */
	/* process that lacks a page, or UNIC_OWNER_NIL */
	uint32_t lacking;
};

/** unic_demand_init() - no process waits, nothing is promised. */
void unic_demand_init(struct unic_revoke *nic);

/** unic_demand_settle() - recomputes the places of changed processes and adds
 * these to nic->reclaim.stale. Every query here calls it. */
void unic_demand_settle(struct unic_revoke *nic);

/* The demand that reclaim.c compares with the supply. */
struct unic_demand {
	uint32_t entitled; /* entries of all requests within their shares */
	uint32_t indices;  /* number of these requests */
	uint32_t urgent;   /* process of the first of them, or UNIC_OWNER_NIL */
	uint32_t urgent_n; /* entries of that request */
	/* process of the first other request, or UNIC_OWNER_NIL */
	uint32_t borrower;
	uint32_t borrower_n;
	uint32_t capped; /* process stopped by its quota, or UNIC_OWNER_NIL */
};

/** unic_demand_now() - writes the demand to *@out. @tried: processes that are not
 * reported as capped, because nothing can be taken from them at present. */
void unic_demand_now(struct unic_revoke *nic, const struct unic_bitset *tried,
		     struct unic_demand *out);

/** unic_demand_urgent() - true if a request is within a fair share. */
bool unic_demand_urgent(struct unic_revoke *nic);

/** unic_demand_first() - returns the process to serve first, or UNIC_OWNER_NIL. */
uint32_t unic_demand_first(struct unic_revoke *nic);

/** unic_demand_away() - takes the denied process @proc out of the order, since it
 * cannot be served; unic_demand_back() puts all of them back. */
void unic_demand_away(struct unic_revoke *nic, uint32_t proc);
void unic_demand_back(struct unic_revoke *nic);

/**
 * unic_demand_kept() - returns what a registration of @n by @proc must leave to
 * other processes: the needs of those before it, and what was taken back for the
 * rest.
 */
struct unic_need unic_demand_kept(struct unic_revoke *nic, uint32_t proc,
				  uint32_t n);

/** unic_demand_over_quota() - true if its own quota stops @proc from having @n
 * beside @held. Such a request neither reserves nor blocks. A page that @proc
 * lacks counts before its registrations. */
bool unic_demand_over_quota(const struct unic_revoke *nic, uint32_t proc,
			    uint32_t held, uint32_t n);

/** unic_demand_promise() - promises @n entries to @proc, at most what it wants. */
void unic_demand_promise(struct unic_revoke *nic, uint32_t proc, uint32_t n);

/** unic_demand_trim() - reduces the promises to @left entries, those that stay
 * free: what is taken away is first that of processes without a place in the order
 * (their quota stops them), then that of the last in the order. */
void unic_demand_trim(struct unic_revoke *nic, uint32_t left);

#endif /* UNIC_DEMAND_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cache.h - a process's registrations: libunic's buffer manager
 * (host_driver/libunic/bufman.c, which blocks and so cannot run here) as a
 * machine of states in virtual time, and what other libraries do instead.
 *
 * Secret: what is done about a refusal and about a notice.
 */
#ifndef EVAL_CACHE_H
#define EVAL_CACHE_H

#include "actor.h"

enum cache_how {
	/* as libunic: REGISTER_WAIT, then gives up what lies idle for it; answers
	 * notices */
	CACHE_UNIC,
	/* the same, but gives up what lies idle before it asks */
	CACHE_GIVES,
	/* as libraries of today: registers again and again until it succeeds,
	 * has never heard of notices; gives up an idle region only to make room
	 * for another one of its own */
	CACHE_TODAY,
};

enum chunk_state {
	CHUNK_NONE,
	CHUNK_ASKED,
	CHUNK_LIVE,
	CHUNK_LEAVING, /* ends with the last hold */
	CHUNK_ENDING,
};

struct chunk {
	uint8_t state;
	bool waits;    /* REGISTER_WAIT was said */
	bool entitled; /* ... within the fair share */
	uint32_t id, stag, holds;
	uint32_t early_notice; /* told before the reply: its seq, and of whom */
	uint32_t early_id, early_evicted;
	uint64_t used_ns, asked_ns, wait_ns;
};

struct cache;
typedef void (*cache_got)(struct cache *c, uint32_t chunk);

struct cache {
	struct actor *a;
	enum cache_how how;
	bool deaf;   /* does not answer notices */
	bool hoard;  /* keeps all it has, wants all it has not */
	bool trusts; /* leaves it to its NIC what goes for what it wants */
	bool away;   /* what is granted now is given back */
	uint32_t
		fills; /* chunks, from the first on, that are still to register */
	uint32_t first_page, chunks, pages;
	uint32_t grace_us; /* T */
	uint8_t mr_class;  /* enum unic_mr_class */
	/* 16: a region lies in one page of 64 KiB, and takes one entry; 0: pages of
	 * 4 KiB */
	uint8_t page_shift;
	struct chunk *chunk;
	/* the one request of its user that is open */
	cache_got got;
	uint32_t want;
	uint32_t asking; /* registrations under way */
	uint32_t ending; /* deregistrations under way */
	uint32_t next;	 /* hoard: looked at next */
	void *user;
	/* hoard: a chunk can be used (again) */
	void (*on_live)(struct cache *c, uint32_t chunk);
	/* a registration that was not granted at once: ns from the first try,
	 * and ns of REGISTER_WAIT alone (0: none) */
	void (*on_wait)(struct cache *c, uint64_t all_ns, uint64_t wait_ns,
			bool entitled);
	uint64_t deadline_ns; /* of the last notice, virtual time */
	/* accounts */
	uint64_t notices, evicted, released, late, offers, extends, trimmed;
};

/** cache_init() - @chunks regions of @pages pages each, from page @first of @a
 * on. `how`, `deaf`, ... are set before. Takes the upcalls of @a. */
void cache_init(struct cache *c, struct actor *a, uint32_t first,
		uint32_t chunks, uint32_t pages);

/** cache_get() - calls @got when @chunk is registered, and held for the caller;
 * perhaps at once. One at a time. */
void cache_get(struct cache *c, uint32_t chunk, cache_got got);

/** cache_hold() - as cache_get() of a live chunk, any number of times. */
void cache_hold(struct cache *c, uint32_t chunk);

/** cache_put() - the caller is through with it. */
void cache_put(struct cache *c, uint32_t chunk);

/** cache_hoard() - register all there is, and again what is taken. */
void cache_hoard(struct cache *c);

/** cache_come() - register all there is at once, as a process that starts. */
void cache_come(struct cache *c);

/** cache_go() - give all back that nobody uses; the rest follows. */
void cache_go(struct cache *c);

/** cache_iova() - of the first byte of @chunk. */
uint64_t cache_iova(const struct cache *c, uint32_t chunk);

/** cache_live() - how many chunks may be used now. */
uint32_t cache_live(const struct cache *c);

#endif /* EVAL_CACHE_H */

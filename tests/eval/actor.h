/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * actor.h - a process of an experiment: its connection to the driver, its
 * memory, its protection domain and its upcalls.
 *
 * Secret: the conversation with the driver. What a process wants is its user's:
 * cache.h (registrations), conn.h (queue pairs).
 */
#ifndef EVAL_ACTOR_H
#define EVAL_ACTOR_H

#include "unic_ctl.h"
#include "unic_queue.h"
#include "world.h"

#define ACTOR_VA   0x10000000ull
#define ACTOR_ASKS 32u
#define ACTOR_ENDS 16u /* pages in front: rings of its queue pairs */

struct actor;
struct end;
/* The reply to a request: @rec is its record, and a tail. */
typedef void (*actor_reply)(struct actor *a, void *ctx, uint32_t status,
			    const void *rec, uint32_t bytes);

struct actor {
	struct world_client c; /* first */
	uint32_t node, slot, pd, pages, seq, upcall_next, fifo;
	uint32_t *frame;    /* of each page */
	bool up;	    /* it has all of the above */
	uint8_t page_shift; /* of runs of its pages on the bus; 0: 12 */
	uint32_t weight;    /* 0: 1 */
	bool has_policy;    /* else it is `lru` */
	uint8_t policy;	    /* enum unic_policy */
	struct sim_rng rng;
	struct end *end[ACTOR_ENDS]; /* conn.h */
	struct {
		uint32_t seq;
		actor_reply done;
		void *ctx;
	} ask[ACTOR_ASKS];
	/* its user's, set before actor_start() or when it is up; may be NULL */
	void *user;
	void (*on_upcall)(struct actor *a, const uint64_t *rec, uint8_t type);
	void (*on_cq)(struct actor *a);
	void (*on_qp_error)(struct actor *a, uint32_t id);
};

/**
 * actor_start() - a process with @pages pages, ACTOR_ENDS for rings among them,
 * on @node. Returns at once; `up` is set when it has everything.
 * @pid: different for each process of the node.
 */
void actor_start(struct actor *a, uint32_t node, uint32_t pid, uint32_t pages);

/** actor_ask() - send request @rec of 64 bytes, header filled in here; @done
 * (may be NULL) gets the reply. Returns the seq. Fails the run if too many are
 * open. */
uint32_t actor_ask(struct actor *a, uint16_t op, void *rec, void *ctx,
		   actor_reply done);

/** actor_ask_list() - the same with @tail bytes behind the 64. */
uint32_t actor_ask_list(struct actor *a, uint16_t op, void *rec, uint32_t tail,
			void *ctx, actor_reply done);

/** actor_mem() - byte @at of its memory; pages do not lie together. */
uint8_t *actor_mem(struct actor *a, uint32_t at);

/** actor_db() - its doorbell page; the NIC's page follows. */
struct unic_db_page *actor_db(struct actor *a);

/** actor_ring() - store a tail and tell the NIC. */
void actor_ring(struct actor *a, enum unic_db_kind kind, uint32_t row,
		uint32_t index);

#endif /* EVAL_ACTOR_H */

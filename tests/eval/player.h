/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * player.h - a process of NIC 0 that does one thing as fast as it can, and its
 * peer on another NIC: as attacker or as victim of the fairness matrix (fair.c).
 *
 * Secret: how a verb is kept going. Work requests are posted again as they
 * complete, requests to the driver as they are answered; queue pairs that die of
 * what was done are made again.
 */
#ifndef EVAL_PLAYER_H
#define EVAL_PLAYER_H

#include "conn.h"

#define PLAYER_QPS   16u
#define PLAYER_BYTES (1u << 20) /* of memory, at either end */
#define PLAYER_LOOPS 24u	/* requests to the driver at a time */

struct player;

/* What a player does. */
struct verb {
	const char *name;
	uint8_t opcode; /* enum unic_wr_opcode */
	uint8_t type;	/* enum unic_qp_type */
	uint8_t qps, depth;
	bool by_peer;  /* the peer posts, and the process of NIC 0 answers */
	bool inward;   /* what is asked for comes in, it does not go out */
	bool no_recv;  /* nothing is ever posted for messages */
	bool bad_lkey; /* of our own work requests */
	bool bad_rkey; /* the peer is told a wrong key */
	bool latency;  /* one at a time: the longest wait counts, no share */
	uint32_t len;
	uint8_t timeout, rnr_timer; /* 0: 0.27 s, 0.32 ms */
	uint8_t far; /* enum world_far: of the peer's NIC, from the start on */
	uint32_t lose; /* every so manieth frame to it */
	bool late_dma; /* transfers of NIC 0 answer later */
	/* before it starts, with all queue pairs up; NULL: nothing */
	void (*prepare)(struct player *p);
	/* post the next work request; NULL: one of `opcode` */
	void (*post)(struct player *p, struct end *e);
	/* in place of posting */
	void (*start)(struct player *p);
	void (*done)(struct player *p, struct end *e, const struct unic_cqe *c);
};

/* A loop of requests to the driver. */
struct loop {
	struct player *p;
	uint32_t step, id[64];
};

struct player {
	const struct verb *verb;
	struct actor a, peer;
	struct conn conn[PLAYER_QPS];
	struct loop loop[PLAYER_LOOPS];
	uint32_t id, stag, far_id, far_stag;
	uint32_t form[PLAYER_QPS], step[PLAYER_QPS];
	bool started;
	/* accounts */
	uint64_t ops, failed, longest_ns, last_ns; /* that one completed */
};

/** player_open() - the processes; on NIC 0 and @node. */
void player_open(struct player *p, const struct verb *v, uint32_t node,
		 uint32_t pid, uint32_t weight);
/** player_connect() - regions and queue pairs, when all processes are up; waits
 * for them. */
void player_connect(struct player *p);
/** player_start() - from now on. */
void player_start(struct player *p);
/** player_end() - the end of @c that posts. */
struct end *player_end(struct player *p, struct conn *c);
/** player_ask() - a request of @a to the driver; waits for the answer. */
const void *player_ask(struct actor *a, uint16_t op, void *rec);

/** player_iova() - byte @at of its memory, by its region. */
static inline uint64_t player_iova(uint32_t at)
{
	return ACTOR_VA + ACTOR_ENDS * 4096ull + at;
}

/* ------------------------------------------------------------------ churn.c */

/* Work requests that change regions. */
void churn_windows(struct player *p);
void churn_fast(struct player *p);
void churn_indirect(struct player *p);
void churn_post_window(struct player *p, struct end *e);
void churn_post_fast(struct player *p, struct end *e);
void churn_post_indirect(struct player *p, struct end *e);
/* A LOCAL_INV that waits for READs of the peer. */
void churn_start_stuck(struct player *p);
void churn_done_stuck(struct player *p, struct end *e,
		      const struct unic_cqe *c);
/* Requests to the driver. */
void churn_start_regions(struct player *p);
void churn_start_queues(struct player *p);
void churn_start_tokens(struct player *p);
void churn_start_batches(struct player *p);
void churn_start_dumps(struct player *p);
/* Doorbells that say nothing new. */
void churn_start_bells(struct player *p);

#endif /* EVAL_PLAYER_H */

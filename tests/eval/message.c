/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * message.c - messages into buffers of class messaging, whose regions are taken
 * back all the time and registered again.
 *
 * The receiver's library grants credit so that for every message under way, and
 * for those that an eviction may take out next, another buffer is posted
 * (MEMORY.md section 5 asks for one). Nothing may be lost, sent twice, or
 * refused with RNR.
 */
#include "eval.h"

#include "cache.h"
#include "conn.h"
#include "inside.h"

#define REGIONS	  12u
#define PER	  1u /* buffers posted in each */
#define BUFFER	  256u
#define LENGTH	  64u
#define WINDOW	  3u
#define EVICT_PPM 500000u /* at each message received */
#define NOBODY	  UINT32_MAX

struct buffer {
	bool posted;
	uint32_t serial; /* in the receive queue */
};

static struct {
	const struct options *o;
	struct actor from, to;
	struct cache source, sink;
	struct conn conn;
	struct sim_rng rng;
	struct buffer buffer[REGIONS * PER];
	uint32_t sent, received, acked;
	uint32_t leaving; /* buffers in regions asked for and not gone yet */
	bool asked[REGIONS];
	/* what may not be */
	uint32_t out_of_order, damaged, failed;
	/* accounts */
	uint32_t evictions, hit;
} run;

/* Buffers that no message under way or eviction under way will need. */
static int32_t slack(void)
{
	return (int32_t)(run.conn.end[1].rq_open - (run.sent - run.received) -
			 run.leaving);
}

static uint32_t posted_in(uint32_t region)
{
	uint32_t i, n = 0;

	for (i = 0; i < PER; i++)
		n += run.buffer[region * PER + i].posted;
	return n;
}

/* ------------------------------------------------------------------ the sender */

static uint8_t pattern(uint32_t message, uint32_t at)
{
	return (uint8_t)((message * 2654435761u >> 13) + at);
}

static void send(void)
{
	struct end *e = &run.conn.end[0];
	uint32_t at = run.sent % CONN_SLOTS * LENGTH, i;
	struct conn_wr wr = {
		.opcode = UNIC_WR_SEND,
		.id = run.sent,
		.iova = cache_iova(&run.source, 0) + at,
		.lkey = run.source.chunk[0].stag,
		.len = LENGTH,
	};
	uint8_t *m = actor_mem(&run.from, ACTOR_ENDS * 4096 + at);

	memcpy(m, &run.sent, 4);
	for (i = 4; i < LENGTH; i++)
		m[i] = pattern(run.sent, i);
	run.sent++;
	conn_post(e, &wr);
}

static void send_all(void)
{
	while (run.sent < run.o->rounds && slack() > 0 &&
	       run.sent - run.acked < WINDOW)
		send();
}

static void on_sent(struct end *e, const struct unic_cqe *c)
{
	(void)e;
	run.acked++;
	run.failed += c->status != 0;
	send_all();
}

/* ---------------------------------------------------------------- the receiver */

/* Receives complete in any order: is the ring's next slot free? */
static bool slot_free(const struct end *e)
{
	uint32_t i;

	for (i = 0; i < REGIONS * PER; i++)
		if (run.buffer[i].posted &&
		    e->rq_tail - run.buffer[i].serial >= CONN_SLOTS)
			return false;
	return true;
}

static void post(uint32_t i)
{
	struct end *e = &run.conn.end[1];
	uint32_t region = i / PER;
	struct conn_wr wr = {
		.id = i,
		.iova = cache_iova(&run.sink, region) + i % PER * BUFFER,
		.lkey = run.sink.chunk[region].stag,
		.len = BUFFER,
	};

	run.buffer[i] = (struct buffer){ true, e->rq_tail };
	cache_hold(&run.sink, region);
	conn_recv(e, &wr);
}

static void post_all(void)
{
	uint32_t i;

	for (i = 0; i < REGIONS * PER; i++)
		if (!run.buffer[i].posted && !run.asked[i / PER] &&
		    run.sink.chunk[i / PER].state == CHUNK_LIVE &&
		    slot_free(&run.conn.end[1]))
			post(i);
	send_all();
}

static void on_live(struct cache *c, uint32_t region)
{
	(void)c;
	run.asked[region] = false;
	post_all();
}

static void evict_one(void)
{
	uint32_t r = sim_below(&run.rng, REGIONS), n = posted_in(r);
	struct unic_ctl_obj req = { .id = unic_to_le32(run.sink.chunk[r].id) };

	if (run.asked[r] || !n || slack() < (int32_t)n)
		return;
	run.asked[r] = true;
	run.leaving += n;
	run.evictions++;
	actor_ask(&run.to, UNIC_CTL_EVICT, &req, NULL, NULL);
}

static void check(uint32_t buffer)
{
	const uint8_t *m =
		actor_mem(&run.to, (ACTOR_ENDS + buffer / PER) * 4096 +
					   buffer % PER * BUFFER);
	uint32_t message, i;

	memcpy(&message, m, 4);
	run.out_of_order += message != run.received;
	for (i = 4; i < LENGTH; i++)
		if (m[i] != pattern(message, i))
			break;
	run.damaged += i < LENGTH;
}

static void on_received(struct end *e, const struct unic_cqe *c)
{
	uint32_t i = (uint32_t)unic_from_le64(c->wr_id);

	(void)e;
	run.buffer[i].posted = false;
	run.leaving -= run.asked[i / PER];
	if (!c->status) {
		check(i);
		run.received++;
	} else if (c->status == UNIC_WC_EVICTED) {
		run.hit++;
	} else {
		run.failed++;
	}
	cache_put(&run.sink, i / PER);
	post_all();
	if (!c->status && sim_chance(&run.rng, EVICT_PPM))
		evict_one();
}

/* -------------------------------------------------------------------- set up */

static bool all_up(void *ctx)
{
	(void)ctx;
	return run.from.up && run.to.up;
}

static bool ready(void *ctx)
{
	(void)ctx;
	return run.conn.up && cache_live(&run.source) == 1 &&
	       cache_live(&run.sink) == REGIONS;
}

static bool over(void *ctx)
{
	(void)ctx;
	return (run.acked == run.o->rounds && run.received >= run.acked) ||
	       run.failed;
}

static void set_up(void)
{
	struct unic_cmd_set_params params = {
		.grace_us = unic_to_le32(run.o->grace_us),
	};

	stage_new(2, &params, run.o->loss, 0);
	actor_start(&run.from, 0, 100, ACTOR_ENDS + 1);
	actor_start(&run.to, 1, 100, ACTOR_ENDS + REGIONS);
	run.source.mr_class = UNIC_CLASS_RDMA;
	run.sink.mr_class = UNIC_CLASS_MESSAGING;
	cache_init(&run.source, &run.from, ACTOR_ENDS, 1, 1);
	cache_init(&run.sink, &run.to, ACTOR_ENDS, REGIONS, 1);
	stage_wait(all_up, NULL, 500 * MS, "are both processes up");
	run.conn.timeout = 8; /* 1 ms */
	run.conn.mtu_shift = 10;
	run.conn.end[0].done = on_sent;
	run.conn.end[1].done = on_received;
	conn_start(&run.conn, &run.from, 0, &run.to, 0);
	cache_hoard(&run.source);
	cache_hoard(&run.sink);
	stage_wait(ready, NULL, 500 * MS, "is everything registered");
}

static void report(void)
{
	const struct node *n = world->node[1];

	printf("kind=messages sent=%u received=%u lost=%u out_of_order=%u "
	       "damaged=%u failed=%u evictions=%u evicted_msg=%llu hit=%u ",
	       run.sent, run.received, run.sent - run.received,
	       run.out_of_order, run.damaged, run.failed, run.evictions,
	       (unsigned long long)inside_count(n->nic, UNIC_C_msg_evicted),
	       run.hit);
	printf("rnr_naks=%llu naks=%llu vacks=%llu substituted=%llu "
	       "frames_lost=%llu retransmits=%llu us=%llu\n",
	       (unsigned long long)inside_count(n->nic, UNIC_C_tx_rnr_naks),
	       (unsigned long long)inside_count(n->nic, UNIC_C_tx_naks),
	       (unsigned long long)inside_count(n->nic, UNIC_C_tx_vacks),
	       (unsigned long long)inside_count(n->nic, UNIC_C_rq_substituted),
	       (unsigned long long)world->frames_lost,
	       (unsigned long long)inside_count(world->node[0]->nic,
						UNIC_C_retransmits),
	       (unsigned long long)(sim_now() / US));
}

void message(const struct options *o)
{
	memset(&run, 0, sizeof(run));
	run.o = o;
	sim_rng_init(&run.rng, o->seed, 0x3000);
	set_up();
	run.sink.on_live = on_live;
	post_all();
	if (!sim_until(sim_now() + o->rounds * 100 * US + 1000 * MS, over,
		       NULL))
		run.failed++;
	report();
}

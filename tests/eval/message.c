/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * message.c - messages into buffers of class messaging, whose regions are taken
 * back all the time and registered again.
 *
 * The receiver has two buffers posted, never more (--posted 3: three), and posts
 * another as soon as one of them was filled or taken out (MEMORY.md section 5). The
 * sender knows nothing of that: no credit; it sends when the message before was
 * acknowledged. Half of the times one of the buffers is asked back while the message
 * is on its way: the NIC substitutes the next. Nothing may be lost or sent
 * twice. A message that finds no buffer posted is refused with RNR, and counted.
 */
#include "eval.h"

#include "cache.h"
#include "conn.h"
#include "inside.h"

#define REGIONS	  6u /* a buffer in each; the others are registered again */
#define MOST	  3u /* posted at a time, at most */
#define BUFFER	  256u
#define LENGTH	  64u
#define EVICT_PPM 500000u /* at each message sent */

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
	struct buffer buffer[REGIONS];
	uint32_t sent, received, acked;
	uint32_t most; /* buffers posted at a time */
	bool asked[REGIONS];
	/* what may not be */
	uint32_t out_of_order, damaged, failed;
	/* accounts */
	uint32_t evictions, hit;
} run;

static uint32_t posted(void)
{
	return run.conn.end[1].rq_open;
}

/* Asks one of the buffers back, if all are posted and none is asked back. */
static void evict_one(void)
{
	uint32_t of[MOST], n = 0, r;
	struct unic_ctl_obj req = { 0 };

	for (r = 0; r < REGIONS; r++) {
		if (!run.buffer[r].posted)
			continue;
		if (run.asked[r])
			return;
		of[n++] = r;
	}
	if (n < run.o->posted)
		return;
	r = of[sim_below(&run.rng, n)];
	run.asked[r] = true;
	run.evictions++;
	req.id = unic_to_le32(run.sink.chunk[r].id);
	actor_ask(&run.to, UNIC_CTL_EVICT, &req, NULL, NULL);
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
	if (sim_chance(&run.rng, EVICT_PPM))
		evict_one();
}

static void send_next(void)
{
	if (run.sent < run.o->rounds && run.sent == run.acked)
		send();
}

static void on_sent(struct end *e, const struct unic_cqe *c)
{
	(void)e;
	run.acked++;
	run.failed += c->status != 0;
	send_next();
}

/* ---------------------------------------------------------------- the receiver */

/* Receives complete in any order: is the ring's next slot free? */
static bool slot_free(const struct end *e)
{
	uint32_t i;

	for (i = 0; i < REGIONS; i++)
		if (run.buffer[i].posted &&
		    e->rq_tail - run.buffer[i].serial >= CONN_SLOTS)
			return false;
	return true;
}

static void post(uint32_t i)
{
	struct end *e = &run.conn.end[1];
	struct conn_wr wr = {
		.id = i,
		.iova = cache_iova(&run.sink, i),
		.lkey = run.sink.chunk[i].stag,
		.len = BUFFER,
	};

	run.buffer[i] = (struct buffer){ true, e->rq_tail };
	cache_hold(&run.sink, i);
	conn_recv(e, &wr);
	if (posted() > run.most)
		run.most = posted();
}

static void post_two(void)
{
	uint32_t i;

	for (i = 0; i < REGIONS && posted() < run.o->posted; i++)
		if (!run.buffer[i].posted && !run.asked[i] &&
		    run.sink.chunk[i].state == CHUNK_LIVE &&
		    slot_free(&run.conn.end[1]))
			post(i);
}

static void on_live(struct cache *c, uint32_t region)
{
	(void)c;
	run.asked[region] = false;
	post_two();
}

static void check(uint32_t buffer)
{
	const uint8_t *m = actor_mem(&run.to, (ACTOR_ENDS + buffer) * 4096);
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
	if (!c->status) {
		check(i);
		run.received++;
	} else if (c->status == UNIC_WC_EVICTED) {
		run.hit++;
	} else {
		run.failed++;
	}
	cache_put(&run.sink, i);
	post_two();
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
	       "damaged=%u failed=%u posted=%u evictions=%u evicted_msg=%llu "
	       "hit=%u ",
	       run.sent, run.received, run.sent - run.received,
	       run.out_of_order, run.damaged, run.failed, run.most,
	       run.evictions,
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
	if (o->posted > MOST)
		sim_fail("eval", "--posted is %u at most", MOST);
	sim_rng_init(&run.rng, o->seed, 0x3000);
	set_up();
	run.sink.on_live = on_live;
	post_two();
	send_next();
	if (!sim_until(sim_now() + o->rounds * 100 * US + 1000 * MS, over,
		       NULL))
		run.failed++;
	report();
}

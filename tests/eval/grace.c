/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * grace.c - RDMA WRITEs of many lengths over a slow wire, and an administrator
 * who asks for one of the two regions back in the middle of each.
 *
 * Without the buffer manager a transfer is one operation, notices are not
 * heard, and an operation that fails has failed. With it both sides answer
 * notices, a transfer goes in pieces of at most T/2, and a piece that was cut
 * is posted again (bufman_xfer.c); so is the connection, if the cut was its end.
 */
#include "eval.h"

#include "cache.h"
#include "conn.h"

#define PAGES_MAX 256u
#define WINDOW	  4u
#define BYTE_NS	  100u /* 10 MB/s: 1 MiB takes 105 ms */
#define MTU_SHIFT 12u
#define STALL_NS  (10000 * MS)
#define EDGE_NS	  (100 * US) /* how well the end of an operation is known */

enum piece_state {
	PIECE_WANTED,
	PIECE_FLYING,
	PIECE_DONE,
};

static struct {
	const struct options *o;
	struct actor local, remote, admin;
	struct cache source, sink;
	struct conn conn;
	struct sim_rng rng;
	/* the transfer */
	uint32_t bytes, piece_bytes, pieces, flying, done;
	uint8_t piece[PAGES_MAX];
	uint32_t rkey; /* 0: not there */
	bool getting, failed, busy;
	uint64_t end_ns;
	/* accounts */
	uint32_t retries, refreshed;
} run;

/* ---------------------------------------------------------------- transfer */

static void fill(void);

static void post(uint32_t i)
{
	uint32_t off = i * run.piece_bytes, len = run.bytes - off;
	struct conn_wr wr = {
		.opcode = UNIC_WR_WRITE,
		.id = (uint64_t)run.rkey << 32 | i,
		.iova = cache_iova(&run.source, 0) + off,
		.remote = cache_iova(&run.sink, 0) + off,
		.len = len < run.piece_bytes ? len : run.piece_bytes,
		.lkey = run.source.chunk[0].stag,
		.rkey = run.rkey,
	};

	run.piece[i] = PIECE_FLYING;
	run.flying++;
	conn_post(&run.conn.end[0], &wr);
}

static uint32_t wanted(void)
{
	uint32_t i;

	for (i = 0; i < run.pieces && run.piece[i] != PIECE_WANTED; i++)
		;
	return i;
}

static void got_source(struct cache *c, uint32_t chunk)
{
	uint32_t i = wanted();

	run.getting = false;
	if (!run.rkey || !run.conn.up || !run.busy || i == run.pieces) {
		cache_put(c, chunk); /* not now */
		return;
	}
	post(i);
	fill();
}

static void fill(void)
{
	if (run.getting || !run.busy || !run.rkey || !run.conn.up ||
	    run.flying == WINDOW || wanted() == run.pieces)
		return;
	run.getting = true;
	cache_get(&run.source, 0, got_source);
}

static void got_sink(struct cache *c, uint32_t chunk)
{
	run.rkey = c->chunk[chunk].stag;
	fill();
}

/* The far side registers its buffer again and tells the new key. */
static void refresh(uint32_t old)
{
	if (old != run.rkey)
		return;
	run.rkey = 0;
	run.refreshed++;
	cache_put(&run.sink, 0);
	cache_get(&run.sink, 0, got_sink);
}

static void over(bool failed)
{
	run.busy = false;
	run.failed = failed;
	run.end_ns = sim_now();
}

static void again(uint32_t i, uint8_t status, uint32_t rkey)
{
	run.piece[i] = PIECE_WANTED;
	run.retries++;
	if (status == UNIC_WC_REM_EVICTED)
		refresh(rkey);
	else if (status != UNIC_WC_EVICTED)
		conn_remake(&run.conn);
}

static void on_done(struct end *e, const struct unic_cqe *c)
{
	uint64_t id = unic_from_le64(c->wr_id);
	uint32_t i = (uint32_t)id;

	(void)e;
	run.flying--;
	cache_put(&run.source, 0);
	if (!c->status) {
		run.piece[i] = PIECE_DONE;
		if (++run.done == run.pieces)
			over(false);
	} else if (run.o->manager) {
		again(i, c->status, (uint32_t)(id >> 32));
	} else {
		over(true);
	}
	fill();
}

static void on_up(struct conn *c)
{
	(void)c;
	fill();
}

static bool is_over(void *ctx)
{
	(void)ctx;
	return !run.busy;
}

static bool has_sink(void *ctx)
{
	(void)ctx;
	return run.rkey;
}

static uint32_t piece_bytes(void)
{
	uint32_t half = run.o->grace_us / 2 * 1000 / BYTE_NS / 4096 * 4096;

	if (!run.o->manager)
		return run.bytes;
	return half < 4096 ? 4096 : half;
}

static void start(uint32_t bytes)
{
	cache_get(&run.sink, 0, got_sink);
	stage_wait(has_sink, NULL, 1000 * MS, "is there a far region");
	run.bytes = bytes;
	run.piece_bytes = piece_bytes();
	run.pieces = (bytes + run.piece_bytes - 1) / run.piece_bytes;
	memset(run.piece, PIECE_WANTED, sizeof(run.piece));
	run.done = 0;
	run.failed = false;
	run.busy = true;
	fill();
}

static bool has_nothing(void *ctx)
{
	(void)ctx;
	return run.conn.up && !run.flying && !run.getting &&
	       run.source.chunk[0].state <= CHUNK_LIVE &&
	       run.sink.chunk[0].state <= CHUNK_LIVE;
}

static void finish(void)
{
	if (!sim_until(sim_now() + STALL_NS, is_over, NULL))
		over(true);
	run.rkey = 0;
	cache_put(&run.sink, 0);
	if (run.failed)
		conn_remake(&run.conn);
	sim_until(sim_now() + 2 * run.o->grace_us * US + 5 * MS, NULL, NULL);
	stage_wait(has_nothing, NULL, 2000 * MS, "comes to rest");
}

/* ------------------------------------------------------------------- trials */

static void evict(void *ctx, uint64_t arg)
{
	const struct cache *c = run.o->remote ? &run.sink : &run.source;
	struct unic_ctl_obj r = { .id = unic_to_le32(c->chunk[0].id) };

	(void)ctx;
	(void)arg;
	if (c->chunk[0].state == CHUNK_LIVE)
		actor_ask(run.o->remote ? &run.remote : &run.local,
			  UNIC_CTL_EVICT, &r, NULL, NULL);
}

/* Log-uniform, so that every order of magnitude is met as often. */
static uint32_t some_bytes(void)
{
	uint32_t low = 4096u << sim_below(&run.rng, 8);

	return (uint32_t)sim_range(&run.rng, low, 2 * low) & ~7u;
}

/* The same transfer twice, first left in peace: so its end is known. */
static void trial(uint32_t nth)
{
	struct cache *c = run.o->remote ? &run.sink : &run.source;
	uint32_t bytes = some_bytes();
	uint64_t begin = sim_now(), lone, phase;
	int64_t beyond;

	start(bytes);
	begin = sim_now();
	finish();
	if (run.failed)
		sim_fail("eval", "a transfer fails without an eviction");
	lone = run.end_ns - begin;
	start(bytes);
	begin = sim_now();
	phase = sim_range(&run.rng, 0, lone);
	run.retries = run.refreshed = 0;
	c->deadline_ns = UINT64_MAX;
	sim_at(begin + phase, evict, NULL, 0);
	finish();
	beyond = (int64_t)(begin + lone - c->deadline_ns);
	printf("kind=trial n=%u bytes=%u lone_us=%llu phase_us=%llu "
	       "noticed=%u beyond_us=%lld failed=%u took_us=%llu retries=%u "
	       "refreshed=%u edge=%u\n",
	       nth, bytes, (unsigned long long)(lone / US),
	       (unsigned long long)(phase / US), c->deadline_ns != UINT64_MAX,
	       (long long)(c->deadline_ns == UINT64_MAX ? 0
							: beyond / (int64_t)US),
	       run.failed, (unsigned long long)((run.end_ns - begin) / US),
	       run.retries, run.refreshed,
	       beyond > -(int64_t)EDGE_NS && beyond < (int64_t)EDGE_NS);
}

static bool all_up(void *ctx)
{
	(void)ctx;
	return run.local.up && run.remote.up;
}

static bool connected(void *ctx)
{
	(void)ctx;
	return run.conn.up;
}

static void new_side(struct actor *a, struct cache *c, uint32_t node)
{
	c->how = run.o->manager ? CACHE_UNIC : CACHE_TODAY;
	c->grace_us = run.o->grace_us;
	c->mr_class = UNIC_CLASS_RDMA;
	actor_start(a, node, 100, ACTOR_ENDS + PAGES_MAX);
	cache_init(c, a, ACTOR_ENDS, 1, PAGES_MAX);
}

void grace(const struct options *o)
{
	struct unic_cmd_set_params params = {
		.grace_us = unic_to_le32(o->grace_us),
		.flags = unic_to_le32(UNIC_PARAM_GRACE),
	};
	uint32_t i;

	memset(&run, 0, sizeof(run));
	run.o = o;
	sim_rng_init(&run.rng, o->seed, 0x2000);
	stage_new(2, &params, 0, BYTE_NS);
	new_side(&run.local, &run.source, 0);
	new_side(&run.remote, &run.sink, 1);
	stage_wait(all_up, NULL, 500 * MS, "are both processes up");
	run.conn.timeout = 18; /* 1 s: longer than any operation */
	run.conn.mtu_shift = MTU_SHIFT;
	run.conn.on_up = on_up;
	run.conn.end[0].done = on_done;
	conn_start(&run.conn, &run.local, 0, &run.remote, 0);
	stage_wait(connected, NULL, 500 * MS, "are they connected");
	for (i = 0; i < o->rounds; i++)
		trial(i);
}

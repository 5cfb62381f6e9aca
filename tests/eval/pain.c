/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * pain.c - what applications lose when their NIC takes regions back, with and without
 * pain (MEMORY.md section 6). They leave the choice to the NIC: none gives up a region
 * of its own accord.
 *
 * choice: eight processes whose working sets are twice their shares. Half of the regions
 * of each are written from 4 KiB at a time, half 8 bytes; the odds of all are equal.
 * reaper: one process uses all regions of a set beyond its share, another holds what is
 * left and rests, and a third comes for a few regions now and then. Watermarks are those
 * of the NIC.
 */
#include "eval.h"

#include "cache.h"
#include "conn.h"
#include "inside.h"

#define WORKERS	  8u
#define BULK	  4096u
#define SMALL	  8u
#define OP_BYTES  512u /* as pain.h: what an operation counts as */
#define WARM_MS	  200u
#define MTU_SHIFT 12u

struct worker {
	struct actor a;
	struct cache c;
	struct conn conn;
	uint32_t chunk, set, think_ns;
	bool rests, idle;
	uint64_t asked_ns;
};

/* What was lost on the way to a region. */
struct loss {
	uint64_t ops, stalled, ns;
	double byte_ns;
};

static struct {
	const struct options *o;
	struct worker *w[WORKERS];
	uint32_t n, export_stag;
	struct actor target;
	uint64_t measure_ns, evictions;
	bool exported;
	struct loss bulk, small;
	double all_byte_ns;
} run;

static bool reaper(void)
{
	return !strcmp(run.o->how, "reaper");
}

/* --------------------------------------------------------------- one worker */

static uint32_t len_of(uint32_t chunk)
{
	return reaper() || chunk % 2 ? BULK : SMALL;
}

static void count(struct worker *w, uint32_t len)
{
	struct loss *l = len == BULK ? &run.bulk : &run.small;
	uint64_t ns = sim_now() - w->asked_ns;

	if (sim_now() < run.measure_ns)
		return;
	l->ops++;
	l->ns += ns;
	l->stalled += ns != 0;
	l->byte_ns += (double)ns * len;
	run.all_byte_ns += (double)ns * (len + OP_BYTES);
}

static void write_chunk(struct cache *c, uint32_t chunk)
{
	struct worker *w = c->user;
	struct conn_wr wr = {
		.opcode = UNIC_WR_WRITE,
		.iova = cache_iova(c, chunk),
		.lkey = c->chunk[chunk].stag,
		.len = len_of(chunk),
		.remote =
			ACTOR_VA + (ACTOR_ENDS + w->conn.end[1].row) * 4096ull,
		.rkey = run.export_stag,
	};

	w->chunk = chunk;
	count(w, wr.len);
	if (w->conn.up)
		conn_post(&w->conn.end[0], &wr);
}

static void work(void *ctx, uint64_t arg)
{
	struct worker *w = ctx;

	(void)arg;
	if (w->idle)
		return;
	w->asked_ns = sim_now();
	cache_get(&w->c, sim_below(&w->a.rng, w->set), write_chunk);
}

static void think(struct worker *w)
{
	sim_at(sim_now() + sim_range(&w->a.rng, 0, 2 * w->think_ns), work, w,
	       0);
}

static void on_done(struct end *e, const struct unic_cqe *c)
{
	struct worker *w = e->user;

	if (c->status)
		sim_fail("eval", "a WRITE ends with %u", c->status);
	cache_put(&w->c, w->chunk);
	think(w);
}

static void evicted(void)
{
	run.evictions =
		inside_count(world->node[0]->nic, UNIC_C_evicted_regions);
}

/* The newcomer: there for a fifth of the time. */
static void turn(void *ctx, uint64_t arg)
{
	struct worker *w = ctx;

	(void)arg;
	w->idle = !w->idle;
	if (w->idle)
		cache_go(&w->c);
	else
		think(w);
	if (!w->idle)
		w->c.away = false;
	sim_at(sim_now() +
		       sim_range(&w->a.rng, 10, 30) * (w->idle ? 4 * MS : MS),
	       turn, w, 0);
}

/* ------------------------------------------------------------------- set up */

static bool all_up(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < run.n; i++)
		if (!run.w[i]->a.up)
			return false;
	return run.target.up;
}

static bool all_connected(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < run.n; i++)
		if (!run.w[i]->conn.up)
			return false;
	return run.exported;
}

static void exported(struct actor *a, void *ctx, uint32_t status,
		     const void *rec, uint32_t bytes)
{
	struct unic_ctl_mr_reg_reply r;

	(void)a;
	(void)ctx;
	(void)bytes;
	memcpy(&r, rec, sizeof(r));
	run.exported = !status;
	run.export_stag = unic_from_le32(r.stag);
}

/* What all of them write to: a page each. */
static void export(struct actor *a)
{
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(ACTOR_VA + ACTOR_ENDS * 4096),
		.iova = unic_to_le64(ACTOR_VA + ACTOR_ENDS * 4096),
		.length = unic_to_le64(WORKERS * 4096),
		.pd = unic_to_le32(a->pd),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = 12,
	};

	actor_ask(a, UNIC_CTL_MR_REG, &r, NULL, exported);
}

static void new_worker(uint32_t i, uint32_t set, uint32_t think_ns)
{
	struct worker *w = sim_alloc(sizeof(*w));

	run.w[i] = w;
	w->set = set;
	w->think_ns = think_ns;
	w->a.policy = UNIC_POLICY_DEFAULT;
	w->a.has_policy = true;
	w->c.how = CACHE_UNIC;
	w->c.trusts = true;
	w->c.mr_class = UNIC_CLASS_RDMA;
	w->c.grace_us = run.o->grace_us;
	w->c.user = w;
	w->conn.timeout = 12; /* 17 ms */
	w->conn.mtu_shift = MTU_SHIFT;
	w->conn.user = w;
	w->conn.end[0].user = w;
	w->conn.end[0].done = on_done;
	actor_start(&w->a, 0, 100 + i, ACTOR_ENDS + set * run.o->chunk);
	cache_init(&w->c, &w->a, ACTOR_ENDS, set, run.o->chunk);
}

/* Each process has an entry for its rings, too. */
static void set_up(void)
{
	struct unic_cmd_set_params params = {
		.grace_us = unic_to_le32(run.o->grace_us),
		.flags = unic_to_le32(UNIC_PARAM_PAIN |
				      (reaper() ? 0 : UNIC_PARAM_WATERMARKS)),
		.pain_pct = unic_to_le32(run.o->weight),
	};
	uint32_t entries = inside_entries() / run.o->chunk, i;

	stage_new(2, &params, 0, 0);
	if (reaper()) {
		run.n = 3;
		new_worker(0, entries * 7 / 8, 5 * US);
		new_worker(1, entries / 8, 0);
		run.w[1]->rests = true;
		new_worker(2, 4, 100 * US);
	} else {
		run.n = WORKERS;
		for (i = 0; i < run.n; i++)
			new_worker(i, entries * run.o->load / 100 / run.n,
				   20 * US);
	}
	actor_start(&run.target, 1, 900, ACTOR_ENDS + WORKERS);
	stage_wait(all_up, NULL, 500 * MS, "are all processes up");
	export(&run.target);
	for (i = 0; i < run.n; i++)
		conn_start(&run.w[i]->conn, &run.w[i]->a, 0, &run.target, i);
	stage_wait(all_connected, NULL, 500 * MS, "are all connected");
}

/* ------------------------------------------------------------------- measure */

static void print_loss(const char *name, const struct loss *l)
{
	printf("%s_ops=%llu %s_stalled=%llu %s_stall_ns=%llu ", name,
	       (unsigned long long)l->ops, name, (unsigned long long)l->stalled,
	       name, (unsigned long long)(l->ops ? l->ns / l->ops : 0));
}

static void report(void)
{
	uint64_t ops = run.bulk.ops + run.small.ops,
		 ns = run.bulk.ns + run.small.ns;
	double bytes =
		(double)BULK * run.bulk.ops + (double)SMALL * run.small.ops;

	printf("kind=pain ");
	print_loss("bulk", &run.bulk);
	print_loss("small", &run.small);
	printf("stall_ns=%llu byte_stall_ns=%.0f loss=%.0f evictions=%llu\n",
	       (unsigned long long)(ops ? ns / ops : 0),
	       bytes > 0 ? (run.bulk.byte_ns + run.small.byte_ns) / bytes : 0,
	       run.all_byte_ns / 1e6 / (run.o->ms / 1000.0),
	       (unsigned long long)(inside_count(world->node[0]->nic,
						 UNIC_C_evicted_regions) -
				    run.evictions));
}

void pain(const struct options *o)
{
	uint32_t i;

	memset(&run, 0, sizeof(run));
	run.o = o;
	set_up();
	run.measure_ns = sim_now() + WARM_MS * MS;
	for (i = 0; i < run.n; i++)
		if (reaper() && i)
			cache_come(&run.w[i]->c);
		else
			think(run.w[i]);
	if (reaper()) {
		run.w[2]->idle = true;
		cache_go(&run.w[2]->c);
		sim_at(run.measure_ns, turn, run.w[2], 0);
	}
	sim_until(run.measure_ns, NULL, NULL);
	evicted();
	sim_until(run.measure_ns + o->ms * MS, NULL, NULL);
	report();
}

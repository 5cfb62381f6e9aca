/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * hoard.c - one greedy process wants the whole TLB and never gives anything
 * back; the others work through a set of buffers each, and register them as
 * they need them.
 *
 * Load: the working set of a meek process, in per cent of an equal part of the
 * TLB. So all that is wanted exceeds the TLB at any load.
 */
#include "eval.h"

#include "cache.h"
#include "conn.h"
#include "inside.h"

#define WORKERS	   16u
#define START_NS   (20 * MS) /* the greedy one is first by so much */
#define THINK_NS   (500 * US)
#define SAMPLE_NS  (100 * US)
#define SERIES_NS  (20 * MS)
#define BUSY_MS	   100u /* churn: mean length of a busy or idle time */
#define MORE_TIMES 20u	/* its length, for as many waits as are wanted */
#define WRITE_LEN  4096u
#define MTU_SHIFT  12u /* a page is a packet */

struct worker {
	struct actor a;
	struct cache c;
	struct conn conn;
	bool idle, asleep;
	uint32_t chunk, set;	    /* in use; chunks of its working set */
	uint64_t ops, failed, held; /* `held`: summed over samples */
	struct sample wait_us, reg_us;
};

static struct {
	const struct options *o;
	struct worker *w[WORKERS];
	uint32_t n, export_stag, samples;
	struct actor target;
	uint64_t used, measure_ns, end_ns, entitled, entitled_late;
	bool exported;
	struct sample wait_us, reg_us;
} run;

/* --------------------------------------------------------------- one worker */

static void think(struct worker *w);

static void write_chunk(struct cache *c, uint32_t chunk)
{
	struct worker *w = c->user;
	struct conn_wr wr = {
		.opcode = UNIC_WR_WRITE,
		.iova = cache_iova(c, chunk),
		.lkey = c->chunk[chunk].stag,
		.len = WRITE_LEN,
		.remote =
			ACTOR_VA + (ACTOR_ENDS + w->conn.end[1].row) * 4096ull,
		.rkey = run.export_stag,
	};

	w->chunk = chunk;
	if (w->conn.up)
		conn_post(&w->conn.end[0], &wr);
}

static void on_done(struct end *e, const struct unic_cqe *c)
{
	struct worker *w = e->user;

	cache_put(&w->c, w->chunk);
	if (c->status) {
		w->failed++;
		if (c->status != UNIC_WC_EVICTED)
			conn_remake(&w->conn);
	} else if (sim_now() >= run.measure_ns) {
		w->ops++;
	}
	if (w->conn.up)
		think(w);
}

static void conn_again(struct conn *c)
{
	if (c->remade)
		think(c->user);
}

static void work(void *ctx, uint64_t arg)
{
	struct worker *w = ctx;
	uint32_t i = sim_below(&w->a.rng, w->set);

	(void)arg;
	if (w->idle) {
		w->asleep = true;
		return;
	}
	if (w->c.hoard && w->c.chunk[i].state != CHUNK_LIVE)
		think(w); /* it does not wait: it has enough others */
	else
		cache_get(&w->c, i, write_chunk);
}

static void think(struct worker *w)
{
	sim_at(sim_now() + sim_range(&w->a.rng, 0, 2 * THINK_NS), work, w, 0);
}

static void on_wait(struct cache *c, uint64_t all_ns, uint64_t wait_ns,
		    bool entitled)
{
	const struct node *n = world->node[c->a->node];

	if (c->hoard || sim_now() < run.measure_ns)
		return;
	sample_add(&run.reg_us, all_ns / 1000);
	if (!wait_ns)
		return;
	sample_add(&run.wait_us, wait_ns / 1000);
	if (entitled) {
		run.entitled++;
		run.entitled_late += wait_ns > inside_bound_ns(n->nic);
	}
}

/* Churn: it comes with all its regions, works for a while, and goes. */
static void turn(void *ctx, uint64_t arg)
{
	struct worker *w = ctx;

	(void)arg;
	w->idle = !w->idle;
	if (w->idle)
		cache_go(&w->c);
	else
		cache_come(&w->c);
	if (!w->idle && w->asleep) {
		w->asleep = false;
		think(w);
	}
	sim_at(sim_now() +
		       sim_range(&w->a.rng, BUSY_MS / 2, BUSY_MS * 3 / 2) * MS,
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

static void set_quota(struct worker *w)
{
	struct unic_ctl_policy r = {
		.proc = unic_to_le32(w->a.slot),
		.quota = unic_to_le32(inside_entries() / run.n),
		.flags = unic_to_le32(UNIC_CTL_POLICY_QUOTA),
	};

	if (!strcmp(run.o->how, "quota"))
		actor_ask(&w->a, UNIC_CTL_POLICY, &r, NULL, NULL);
}

/* Chunks for @load per cent of an equal part; a ring takes an entry, too. */
static uint32_t working_set(uint32_t load)
{
	uint32_t part = inside_entries() / run.n;

	return (part * load / 100 - 1) / run.o->chunk;
}

static void new_worker(uint32_t i)
{
	struct worker *w = sim_alloc(sizeof(*w));
	bool greedy = i == 0;

	run.w[i] = w;
	w->set = working_set(greedy ? 100 * run.n : run.o->load);
	w->c.how = !strcmp(run.o->how, "unic")	  ? CACHE_UNIC
		   : !strcmp(run.o->how, "gives") ? CACHE_GIVES
						  : CACHE_TODAY;
	w->c.deaf = greedy;
	w->c.mr_class = UNIC_CLASS_RDMA;
	w->c.grace_us = run.o->grace_us;
	w->c.user = w;
	w->c.on_wait = on_wait;
	w->conn.timeout = 12; /* 17 ms */
	w->conn.mtu_shift = MTU_SHIFT;
	w->conn.user = w;
	w->conn.on_up = conn_again;
	w->conn.end[0].user = w;
	w->conn.end[0].done = on_done;
	actor_start(&w->a, 0, 100 + i, ACTOR_ENDS + w->set * run.o->chunk);
	cache_init(&w->c, &w->a, ACTOR_ENDS, w->set, run.o->chunk);
}

/* A NIC of today takes nothing back: nobody answers, and the grace, which a
 * refused REGISTER begins, outlasts the run. */
#define NEVER_US 10000000u

static void set_up(void)
{
	bool today = !strcmp(run.o->how, "today");
	bool asks = !strcmp(run.o->how, "unic") || !strcmp(run.o->how, "gives");
	bool reaper = asks && run.o->watermarks;
	struct unic_cmd_set_params params = {
		.grace_us = unic_to_le32(today ? NEVER_US : run.o->grace_us),
		.flags = unic_to_le32(reaper ? 0 : UNIC_PARAM_WATERMARKS),
	};
	uint32_t i;

	stage_new(2, &params, 0, 0);
	run.n = run.o->meek + 1;
	for (i = 0; i < run.n; i++)
		new_worker(i);
	actor_start(&run.target, 1, 900, ACTOR_ENDS + WORKERS);
	stage_wait(all_up, NULL, 500 * MS, "are all processes up");
	export(&run.target);
	for (i = 0; i < run.n; i++) {
		set_quota(run.w[i]);
		conn_start(&run.w[i]->conn, &run.w[i]->a, 0, &run.target, i);
	}
	stage_wait(all_connected, NULL, 500 * MS, "are all connected");
}

/* ------------------------------------------------------------------- measure */

static void print_series(uint64_t start_ns)
{
	const struct node *n = world->node[0];
	uint32_t i;

	printf("kind=series us=%llu held=",
	       (unsigned long long)((sim_now() - start_ns) / 1000));
	for (i = 0; i < run.n; i++)
		printf("%s%u", i ? ";" : "",
		       inside_held(n->nic, run.w[i]->a.slot));
	printf("\n");
}

static void measure(void *ctx, uint64_t start_ns)
{
	const struct node *n = world->node[0];
	uint32_t i;

	if (run.o->series && (sim_now() - start_ns) % SERIES_NS < SAMPLE_NS)
		print_series(start_ns);
	if (sim_now() >= run.measure_ns) {
		run.samples++;
		run.used += inside_used(n->nic);
		for (i = 0; i < run.n; i++)
			run.w[i]->held += inside_held(n->nic, run.w[i]->a.slot);
	}
	sim_at(sim_now() + SAMPLE_NS, measure, ctx, start_ns);
}

/* What each would have if the TLB were divided by max-min fairness among all
 * who want; all meek ones want the same. */
static uint64_t fair_part(uint32_t i)
{
	uint64_t all = inside_entries(), part = all / run.n, want;

	want = run.w[run.n - 1]->set * run.o->chunk + 1;
	if (want > part || run.n == 1)
		want = part;
	return i ? want : all - want * (run.n - 1);
}

static uint32_t jain(bool all)
{
	uint64_t x[WORKERS];
	uint32_t i, n = 0;

	for (i = all ? 0 : 1; i < run.n; i++)
		x[n++] = run.w[i]->held * 1000000 / fair_part(i);
	return stage_jain(x, n);
}

static uint64_t mean(uint64_t sum)
{
	return run.samples ? sum * 1000 / run.samples : 0;
}

static void report(void)
{
	const struct node *n = world->node[0];
	uint32_t i;

	for (i = 0; i < run.n; i++)
		printf("kind=process index=%u greedy=%u set=%u fair=%llu "
		       "held_milli=%llu ops=%llu failed=%llu\n",
		       i, i == 0, run.w[i]->set * run.o->chunk,
		       (unsigned long long)fair_part(i),
		       (unsigned long long)mean(run.w[i]->held),
		       (unsigned long long)run.w[i]->ops,
		       (unsigned long long)run.w[i]->failed);
	printf("kind=run jain_meek_ppm=%u jain_all_ppm=%u used_milli=%llu "
	       "entries=%u ",
	       run.n > 1 ? jain(false) : 0, jain(true),
	       (unsigned long long)mean(run.used), inside_entries());
	printf("waits=%u wait_p50_us=%u wait_p99_us=%u wait_max_us=%u ",
	       run.wait_us.n, sample_at(&run.wait_us, 500000),
	       sample_at(&run.wait_us, 990000),
	       sample_at(&run.wait_us, 1000000));
	printf("refused=%u reg_p50_us=%u reg_p99_us=%u reg_max_us=%u ",
	       run.reg_us.n, sample_at(&run.reg_us, 500000),
	       sample_at(&run.reg_us, 990000), sample_at(&run.reg_us, 1000000));
	printf("entitled=%llu entitled_late=%llu bound_us=%llu notices=%llu "
	       "deadlines=%llu\n",
	       (unsigned long long)run.entitled,
	       (unsigned long long)run.entitled_late,
	       (unsigned long long)(inside_bound_ns(n->nic) / 1000),
	       (unsigned long long)inside_count(n->nic, UNIC_C_notices),
	       (unsigned long long)inside_count(n->nic, UNIC_C_deadlines));
}

void hoard(const struct options *o)
{
	uint64_t start;
	uint32_t i;

	memset(&run, 0, sizeof(run));
	run.o = o;
	set_up();
	start = sim_now();
	run.end_ns = start + o->ms * MS;
	run.measure_ns = start + o->ms * MS * 2 / 3;
	measure(NULL, start);
	cache_hoard(&run.w[0]->c);
	think(run.w[0]);
	sim_until(start + START_NS, NULL, NULL);
	for (i = 1; i < run.n; i++) {
		think(run.w[i]);
		if (o->churn)
			turn(run.w[i], 0);
	}
	sim_until(run.end_ns, NULL, NULL);
	/* where nobody has waited so far, nobody will */
	for (i = 1; i < MORE_TIMES && run.wait_us.n && run.wait_us.n < o->waits;
	     i++)
		sim_until(run.end_ns + i * o->ms * MS, NULL, NULL);
	report();
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fair.c - one cell of the fairness matrix: what a process gets of its NIC
 * beside others that do one thing as fast as they can.
 *
 * All of them are processes of NIC 0. The peers of the attackers are on NIC 1,
 * the victim's is on NIC 2, so that what leaves NIC 0 for NIC 2 is the victim's.
 * NIC 0 has a link of some rate and a processor that takes its time; the peers
 * have such links, and processors that keep up.
 */
#include "eval.h"

#include "inside.h"
#include "player.h"
#include "unic_stats.h"

#define ATTACKERS 3u
#define WARM_MS	  3u
#define BUCKETS	  64u /* milliseconds */
#define WINDOW	  10u

static const struct verb verbs[] = {
	{ "write-1M", UNIC_WR_WRITE, .qps = 4, .depth = 4, .len = 1u << 20 },
	{ "write-64K", UNIC_WR_WRITE, .qps = 4, .depth = 2, .len = 65536 },
	{ "write-8", UNIC_WR_WRITE, .qps = 16, .depth = 16, .len = 8 },
	{ "ping", UNIC_WR_WRITE, .qps = 1, .depth = 1, .len = 8,
	  .latency = true },
	{ "send-4K", UNIC_WR_SEND, .qps = 4, .depth = 8, .len = 4096 },
	{ "read", UNIC_WR_READ, .qps = 4, .depth = 4, .len = 65536,
	  .inward = true },
	{ "read-8", UNIC_WR_READ, .qps = 16, .depth = 16, .len = 8,
	  .inward = true },
	{ "read-by-peer", UNIC_WR_READ, .qps = 4, .depth = 4, .len = 1u << 20,
	  .by_peer = true },
	{ "read-by-peer-16", UNIC_WR_READ, .qps = 16, .depth = 4,
	  .len = 1u << 20, .by_peer = true },
	{ "read-8-by-peer", UNIC_WR_READ, .qps = 16, .depth = 16, .len = 8,
	  .by_peer = true },
	{ "write-8-by-peer", UNIC_WR_WRITE, .qps = 16, .depth = 16, .len = 8,
	  .by_peer = true },
	{ "uc-8", UNIC_WR_WRITE, UNIC_QPT_UC, .qps = 16, .depth = 16,
	  .len = 8 },
	{ "uc-64K", UNIC_WR_WRITE, UNIC_QPT_UC, .qps = 4, .depth = 8,
	  .len = 65536 },
	{ "ud-8", UNIC_WR_SEND, UNIC_QPT_UD, .qps = 16, .depth = 16, .len = 8,
	  .no_recv = true },
	{ "ud-4K", UNIC_WR_SEND, UNIC_QPT_UD, .qps = 4, .depth = 16,
	  .len = 4096, .no_recv = true },
	{ "paused", UNIC_WR_WRITE, .qps = 4, .depth = 4, .len = 65536,
	  .far = WORLD_FAR_STANDS },
	{ "paused-read-by-peer", UNIC_WR_READ, .qps = 4, .depth = 4,
	  .len = 1u << 20, .by_peer = true, .far = WORLD_FAR_STANDS },
	{ "silent", UNIC_WR_WRITE, .qps = 16, .depth = 4, .len = 65536,
	  .timeout = 4, .far = WORLD_FAR_SILENT },
	{ "not-ready", UNIC_WR_SEND, .qps = 16, .depth = 8, .len = 4096,
	  .rnr_timer = 1, .no_recv = true },
	{ "lossy", UNIC_WR_WRITE, .qps = 16, .depth = 4, .len = 65536,
	  .timeout = 8, .lose = 5 },
	{ "wrong-rkey", UNIC_WR_WRITE, .qps = 16, .depth = 8, .len = 8,
	  .by_peer = true, .bad_rkey = true },
	{ "wrong-token", UNIC_WR_TOKEN, .qps = 16, .depth = 8, .len = 8,
	  .by_peer = true, .bad_rkey = true },
	{ "wrong-lkey", UNIC_WR_WRITE, .qps = 16, .depth = 8, .len = 8,
	  .bad_lkey = true },
	{ "bind", .qps = 8, .depth = 8, .prepare = churn_windows,
	  .post = churn_post_window },
	{ "reg-mr", .qps = 8, .depth = 8, .prepare = churn_fast,
	  .post = churn_post_fast },
	{ "reg-indirect", .qps = 4, .depth = 8, .prepare = churn_indirect,
	  .post = churn_post_indirect },
	{ "reg-indirect-late", .qps = 4, .depth = 8, .prepare = churn_indirect,
	  .post = churn_post_indirect, .late_dma = true },
	{ "inv-waits", .qps = 4, .prepare = churn_fast,
	  .start = churn_start_stuck, .done = churn_done_stuck },
	{ "inv-waits-paused", .qps = 4, .prepare = churn_fast,
	  .start = churn_start_stuck, .done = churn_done_stuck,
	  .far = WORLD_FAR_STANDS },
	{ "regions", .qps = 1, .start = churn_start_regions },
	{ "queues", .qps = 1, .start = churn_start_queues },
	{ "tokens", .qps = 1, .start = churn_start_tokens },
	{ "batches", .qps = 1, .start = churn_start_batches },
	{ "dumps", .qps = 1, .start = churn_start_dumps },
	{ "doorbells", .qps = 1, .start = churn_start_bells },
};

/* ------------------------------------------------------------------ machines */

/*
 * The processor: a nanosecond for each instruction of docs/RESULTS.md. Of a WRITE
 * of 8 bytes it counts 65 to fill a frame and 21 to put it, 29 to take one and 54
 * to check and place it, 9 for its doorbell word; 17 for a transfer of 8 bytes
 * and 415 for one of 4 KiB; 389 for a command, and 12 for each page of a
 * registration; 1,976 for three rounds of two NICs; 32 for a look around and 7
 * for each further process. A work request is fetched and retired by a transfer
 * each: that of the seam has the 16 of its TLB hit and its share of the 33 of
 * retiring.
 */
static const struct port_cost processor = {
	.idle = 200,
	.round = 330,
	.rx = 83,
	.tx = 86,
	.full = 20,
	.dma = 50,
	.byte_ps = 98,
	.bell = 9,
	.command = 389,
	.page = 12,
};

/* A peer never is what others wait for: it takes frames as they come. */
static const struct port_cost quick = { .idle = 200, .round = 200 };

static const struct {
	const char *name;
	struct port_link link;
} regimes[] = {
	/* 1 Gbit/s for all: 34 us for a full frame, more than its processor
	 * needs for any */
	{ "link", { 8000, 24, 8400, 120, 1000, true, false } },
	/* the same to each destination */
	{ "paths", { 8000, 24, 8400, 120, 1000, false, false } },
	/* 100 Gbit/s: always faster than the processor */
	{ "cpu", { 80, 24, 8400, 120, 1000, false, false } },
};

static struct {
	const struct verb *attacker, *victim;
	uint32_t regime, n, weight, victim_weight;
	struct player player[ATTACKERS + 1];
	uint64_t start_ns;
	uint64_t out[BUCKETS], in[BUCKETS], all[BUCKETS]; /* bytes */
} run;

static void left(uint32_t from, uint32_t to, uint32_t bytes, uint64_t at_ns)
{
	uint64_t ms = (at_ns - run.start_ns) / MS;

	if (!run.start_ns || at_ns < run.start_ns || ms >= BUCKETS)
		return;
	if (!from)
		run.all[ms] += bytes;
	if (!from && to == 2)
		run.out[ms] += bytes;
	if (from == 2 && !to)
		run.in[ms] += bytes;
}

static void machines(void)
{
	struct unic_cmd_set_params params = { 0 };
	struct port_link link = regimes[run.regime].link;
	uint32_t i;

	stage_new(3, &params, 0, 0);
	for (i = 0; i < 3; i++) {
		link.prompt = !i;
		world_machine(i, i ? &quick : &processor, &link);
	}
	world->left = left;
}

/* --------------------------------------------------------------------- cells */

static bool all_up(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i <= run.n; i++)
		if (!run.player[i].a.up || !run.player[i].peer.up)
			return false;
	return true;
}

/* The last player is the victim. */
static void set_up(void)
{
	uint32_t i;

	machines();
	for (i = 0; i < run.n; i++)
		player_open(&run.player[i], run.attacker, 1, 100 + i,
			    run.weight);
	player_open(&run.player[run.n], run.victim, 2, 100 + run.n,
		    run.victim_weight);
	stage_wait(all_up, NULL, 500 * MS, "are all processes up");
	for (i = 0; i <= run.n; i++)
		player_connect(&run.player[i]);
}

static void let_go(uint64_t ms)
{
	sim_until(sim_now() + ms * MS, NULL, NULL);
}

static void attack(void)
{
	struct world_odds odds = { .port = { .late_ppm = 1000000,
					     .late_ns = 1000 } };
	uint32_t i;

	if (run.attacker->late_dma)
		world->node[0]->port.odds = odds.port;
	for (i = 0; i < run.n; i++)
		player_start(&run.player[i]);
	let_go(1);
	if (!run.n)
		return;
	world->far[1] = run.attacker->far;
	world->lose[1] = run.attacker->lose;
}

static uint64_t sum(const uint64_t *bucket, uint32_t n)
{
	uint64_t bytes = 0;

	while (n--)
		bytes += *bucket++;
	return bytes;
}

static uint64_t least(const uint64_t *bucket, uint32_t ms)
{
	uint64_t worst = UINT64_MAX, bytes;
	uint32_t i;

	for (i = 0; i + WINDOW <= ms; i++) {
		bytes = sum(bucket + i, WINDOW);
		worst = bytes < worst ? bytes : worst;
	}
	return worst;
}

static const struct verb *find(const char *name)
{
	uint32_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	sim_fail("eval", "there is no verb '%s'", name);
}

/* "attacker:count:weight/victim:weight/regime" */
static void parse(const char *how)
{
	char attacker[40], victim[40], regime[40];

	if (sscanf(how, "%39[^:]:%u:%u/%39[^:]:%u/%39s", attacker, &run.n,
		   &run.weight, victim, &run.victim_weight, regime) != 6 ||
	    run.n > ATTACKERS)
		sim_fail("eval", "what is '%s'?", how);
	run.attacker = find(attacker);
	run.victim = find(victim);
	for (run.regime = 0; strcmp(regimes[run.regime].name, regime);)
		if (++run.regime == sizeof(regimes) / sizeof(regimes[0]))
			sim_fail("eval", "there is no regime '%s'", regime);
}

static void report(uint64_t worked_ns, uint32_t ms)
{
	const struct player *v = &run.player[run.n];
	const uint64_t *mine = run.victim->inward ? run.in : run.out;
	uint64_t ops = 0, failed = 0;
	uint64_t link = ms * MS * 1000 / regimes[run.regime].link.byte_ps;
	uint32_t i;

	for (i = 0; i < run.n; i++) {
		ops += run.player[i].ops;
		failed += run.player[i].failed;
	}
	printf("kind=fair least=%llu mean=%llu longest_ns=%llu "
	       "waiting_ns=%llu ops=%llu failed=%llu ",
	       (unsigned long long)least(mine, ms),
	       (unsigned long long)(sum(mine, ms) * WINDOW / ms),
	       (unsigned long long)v->longest_ns,
	       (unsigned long long)(sim_now() - v->last_ns),
	       (unsigned long long)v->ops, (unsigned long long)v->failed);
	printf("own_link_ppm=%llu link_ppm=%llu cpu_ppm=%llu "
	       "attacker_ops=%llu attacker_failed=%llu no_room=%llu "
	       "retransmits=%llu\n",
	       (unsigned long long)(sum(run.out, ms) * 1000000 / link),
	       (unsigned long long)(sum(run.all, ms) * 1000000 / link),
	       (unsigned long long)(worked_ns * 1000000 / (ms * MS)),
	       (unsigned long long)ops, (unsigned long long)failed,
	       (unsigned long long)inside_count(world->node[0]->nic,
						UNIC_C_tx_no_room),
	       (unsigned long long)inside_count(world->node[0]->nic,
						UNIC_C_retransmits));
}

void fair(const struct options *o)
{
	uint64_t worked_ns;

	memset(&run, 0, sizeof(run));
	parse(o->how);
	set_up();
	attack();
	player_start(&run.player[run.n]);
	let_go(WARM_MS);
	run.start_ns = sim_now();
	worked_ns = world->node[0]->port.worked_ns;
	let_go(o->ms);
	report(world->node[0]->port.worked_ns - worked_ns, o->ms);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* run.c - see run.h. */
#include "run.h"

#include <stdio.h>
#include <string.h>

#include "app.h"
#include "check.h"
#include "core.h"
#include "fiber.h"
#include "lives.h"
#include "oracle.h"
#include "probe.h"
#include "program.h"
#include "stags.h"

#define ACTORS	  8u
#define FAULTS	  4u
#define FINISH_NS (20000 * MS) /* a call to a driver may take 10 s */
#define LEAVE_NS  (15000 * MS)

enum fault_kind {
	FAULT_KILL_PROCESS,
	FAULT_KILL_DRIVER,
	FAULT_POWER_CUT,
	FAULT_RESET,
	FAULT_SLEEP, /* of the driver */
	FAULT_KINDS,
};

struct fault {
	uint8_t kind, target;
	uint64_t at_ns, for_ns;
};

struct plan {
	struct scenario s; /* its params, odds and ports */
	uint32_t actors, faults;
	bool calm, plain;
	struct {
		uint8_t role, node, peer, cut;
		bool kept;
		uint32_t goal;
	} actor[ACTORS];
	struct fault fault[FAULTS];
};

static struct plan plan;
static struct actor *actors;
static struct sim_rng r_kept;

static void (*const mains[ROLES])(struct process *p) = {
	[ROLE_SERVER] = program_server,
	[ROLE_CLIENT] = program_client,
	[ROLE_MOVER] = program_mover,
	[ROLE_HOG] = program_hog,
};

/* ---------------------------------------------------------------------- plan */

static void add_actor(enum role role, uint32_t node, uint32_t peer, uint8_t cut,
		      uint32_t goal)
{
	uint32_t i = plan.actors++;

	plan.actor[i].role = (uint8_t)role;
	plan.actor[i].node = (uint8_t)node;
	plan.actor[i].peer = (uint8_t)peer;
	plan.actor[i].cut = cut;
	plan.actor[i].goal = goal;
	plan.actor[i].kept = role != ROLE_HOG && sim_below(&r_kept, 2);
}

static void make_faults(struct sim_rng *r)
{
	uint32_t i;

	plan.faults = sim_below(r, 2) ? 0 : (uint32_t)sim_range(r, 1, FAULTS);
	for (i = 0; i < plan.faults; i++) {
		struct fault *f = &plan.fault[i];

		f->kind = (uint8_t)sim_below(r, FAULT_KINDS);
		f->target = (uint8_t)sim_below(
			r, f->kind == FAULT_KILL_PROCESS ? plan.actors : 2);
		f->at_ns = sim_range(r, 200 * US, 20 * MS);
		f->for_ns = sim_range(r, 10 * US, 5 * MS);
	}
}

static void make_plan(uint64_t seed)
{
	struct sim_rng r;
	uint8_t cut;

	memset(&plan, 0, sizeof(plan));
	scenario_make(&plan.s, seed);
	plan.s.nodes = 2;
	plan.s.wild = false;
	sim_rng_init(&r, seed, 20);
	sim_rng_init(&r_kept, seed, 21);
	cut = (uint8_t)sim_below(&r, 3); /* enum unic_qp_cut */
	add_actor(ROLE_SERVER, 0, 0, cut, 0);
	add_actor(sim_below(&r, 2) ? ROLE_CLIENT : ROLE_MOVER, 1, 0, cut,
		  (uint32_t)sim_range(&r, 1, 6));
	if (sim_below(&r, 3))
		add_actor(ROLE_HOG, 0, 0, 0, 0);
	if (sim_below(&r, 3))
		add_actor(ROLE_HOG, 1, 0, 0, 0);
	make_faults(&r);
	plan.plain = !sim_below(&r_kept, 4);
	if (sim_below(&r, 2)) {
		memset(&plan.s.odds, 0, sizeof(plan.s.odds));
		plan.calm = !plan.faults;
	}
}

void run_print(uint64_t seed)
{
	static const char *const role[] = { "server", "client", "mover",
					    "hog" };
	static const char *const kind[] = {
		"end of process", "end of driver of node", "power cut of node",
		"reset of node", "driver that does not run, of node"
	};
	uint32_t i;

	make_plan(seed);
	printf("  seed %llu%s: T %u us, H %u us\n", (unsigned long long)seed,
	       plan.calm ? ", calm" : "",
	       unic_from_le32(plan.s.params.grace_us),
	       unic_from_le32(plan.s.params.deliver_us));
	for (i = 0; i < plan.actors; i++)
		printf("  process %u: %s on node %u, cut %u\n", i,
		       role[plan.actor[i].role], plan.actor[i].node,
		       plan.actor[i].cut);
	for (i = 0; i < plan.faults; i++)
		printf("  at %llu us: %s %u, for %llu us\n",
		       (unsigned long long)(plan.fault[i].at_ns / US),
		       kind[plan.fault[i].kind], plan.fault[i].target,
		       (unsigned long long)(plan.fault[i].for_ns / US));
}

/* -------------------------------------------------------------------- faults */

static void start(struct actor *a)
{
	process_start(&a->p, mains[a->role]);
}

static void start_again(void *ctx, uint64_t arg)
{
	const struct fault *f = ctx;

	(void)arg;
	if (f->kind == FAULT_KILL_PROCESS)
		start(&actors[f->target]);
	else
		world_start_driver(f->target);
}

static void strike(void *ctx, uint64_t arg)
{
	struct fault *f = ctx;

	(void)arg;
	switch (f->kind) {
	case FAULT_KILL_PROCESS:
		process_kill(&actors[f->target].p);
		break;
	case FAULT_KILL_DRIVER:
		world_kill_driver(f->target);
		break;
	case FAULT_POWER_CUT:
		world_power_cut(f->target);
		return;
	case FAULT_RESET:
		world_reset(f->target);
		return;
	default:
		world_sleep(f->target, f->for_ns);
		return;
	}
	sim_at(sim_now() + f->for_ns, start_again, f, 0);
}

static void calm_down(void *ctx, uint64_t arg)
{
	struct world_odds odds = { 0 };

	(void)ctx;
	(void)arg;
	sim_log("the faults are over");
	odds.port.late_ppm = plan.s.odds.port.late_ppm;
	odds.port.late_ns = plan.s.odds.port.late_ns;
	world_odds(&odds);
}

static uint64_t plan_faults(void)
{
	uint64_t end = plan.s.odds_until_ns;
	uint32_t i;

	for (i = 0; i < plan.faults; i++) {
		struct fault *f = &plan.fault[i];

		sim_at(f->at_ns, strike, f, 0);
		if (f->at_ns + f->for_ns > end)
			end = f->at_ns + f->for_ns;
	}
	sim_at(plan.s.odds_until_ns, calm_down, NULL, 0);
	return end + MS;
}

/* ------------------------------------------------------------------ liveness */

static bool is_finished(const struct actor *a)
{
	return !a->goal || a->done >= a->goal;
}

static bool all_finished(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < plan.actors; i++)
		if (!is_finished(&actors[i]))
			return false;
	return true;
}

static bool all_left(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < plan.actors; i++)
		if (actors[i].p.there)
			return false;
	return true;
}

static void stuck(const struct actor *a, const char *what)
{
	fiber_say(&a->p);
	sim_fail("live", "%s does not %s: %u rounds of %u", process_name(&a->p),
		 what, a->done, a->goal);
}

/* Others can finish when nobody takes from them what they have. */
static void send_hogs_away(void)
{
	uint32_t i;

	for (i = 0; i < plan.actors; i++)
		if (actors[i].role == ROLE_HOG)
			actors[i].stop = true;
}

static void must_finish(void)
{
	uint32_t i;

	if (sim_until(sim_now() + FINISH_NS, all_finished, NULL))
		return;
	for (i = 0; i < plan.actors; i++)
		if (!is_finished(&actors[i]))
			stuck(&actors[i], "finish");
}

static void must_leave(void)
{
	uint32_t i;

	for (i = 0; i < plan.actors; i++)
		actors[i].stop = true;
	if (sim_until(sim_now() + LEAVE_NS, all_left, NULL))
		return;
	for (i = 0; i < plan.actors; i++)
		if (actors[i].p.there)
			stuck(&actors[i], "leave");
}

static uint64_t frames_sent(void)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < plan.s.nodes; i++)
		n += world->node[i]->port.tx_frames;
	return n;
}

static void nothing_is_left(void)
{
	uint64_t before;
	uint32_t i;

	conserve_rest();
	for (i = 0; i < plan.s.nodes; i++)
		probe(i);
	do {
		before = frames_sent();
		sim_until(sim_now() + 120 * MS, NULL, NULL);
	} while (frames_sent() != before);
	for (i = 0; i < plan.s.nodes; i++) {
		pins_settled(world->node[i], check_model(world->node[i]));
		conserve_end(world->node[i], check_model(world->node[i]));
	}
	conserve_wire();
}

/* ------------------------------------------------------------------------ run */

static void set_up(void)
{
	uint32_t i;

	oracle_reset();
	once_reset();
	lives_reset();
	stags_reset();
	identity_reset();
	turns_reset();
	wakes_reset();
	conserve_reset();
	pins_reset();
	apps_count = links_count = 0;
	process_reset();
	world_share();
	world_new(plan.s.nodes, plan.s.icrc, plan.s.port, &plan.s.params);
	world_odds(&plan.s.odds);
	actors = sim_alloc(ACTORS * sizeof(*actors));
	for (i = 0; i < plan.actors; i++) {
		struct actor *a = &actors[i];

		process_init(&a->p, i, plan.actor[i].node);
		a->p.user = a;
		a->p.bells = !plan.s.odds.bell_lost && !plan.s.odds.bell_late;
		a->role = plan.actor[i].role;
		a->peer = plan.actor[i].peer;
		a->cut = plan.actor[i].cut;
		a->kept = plan.actor[i].kept;
		a->goal = plan.actor[i].goal;
		a->calm = plan.calm;
		a->plain = plan.plain;
		start(a);
	}
}

static void everything(void *arg)
{
	uint64_t over;

	(void)arg;
	set_up();
	over = plan_faults();
	sim_until(over, NULL, NULL);
	send_hogs_away();
	must_finish();
	must_leave();
	nothing_is_left();
}

void run_seed(uint64_t seed, bool trace, struct sim_verdict *out)
{
	make_plan(seed);
	sim_run(seed, trace, everything, NULL, out);
}

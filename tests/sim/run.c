/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * run.c - one scenario from power-on to the end, and the liveness checker: after
 * the faults every operation finishes, every process leaves, and nothing is left.
 */
#include "app.h"
#include "check.h"
#include "core.h"
#include "forger.h"
#include "lives.h"
#include "oracle.h"
#include "probe.h"
#include "rogue.h"
#include "stags.h"
#include "unic_wire.h"
#include "wild.h"

#define ATTACK_NS     (20 * MS)	  /* attackers are there no longer */
#define FINISH_NS     (3000 * MS) /* after the last fault */
#define LEAVE_NS      (1500 * MS)
#define BESIDE_NS     (500 * MS) /* a lost doorbell costs 100 ms */
#define PATIENCE      (400 * US) /* a fault waits so long for its moment */
#define FEW_OPS	      3u
#define DROP_NS	      (30 * US) /* time in which a driver passes advice on */
#define CORE_BUSY_NS  (40 * US) /* time of four requests */
#define LONG_PATIENCE (4 * MS)	/* the same for a rare moment */

static struct scenario scn;
/* A list of each application that the NIC is to read (SCN_LIST), and the
 * region that replaces the list's own. */
static struct list {
	struct region *region, *other;
	uint32_t life;
	bool busy; /* one list at a time */
} list_of[SCN_APPS];

static void set_up(void)
{
	uint32_t i, e;

	oracle_reset();
	once_reset();
	lives_reset();
	stags_reset();
	identity_reset();
	turns_reset();
	wakes_reset();
	conserve_reset();
	pins_reset();
	world_new(scn.nodes + scn.wild, scn.icrc, scn.port, &scn.params);
	if (!scn.odds_off)
		world_odds(&scn.odds);
	memset(list_of, 0, sizeof(list_of));
	apps_calm = scenario_calm(&scn);
	apps_count = scn.apps;
	links_count = scn.links;
	links = sim_alloc(SCN_LINKS * sizeof(*links));
	for (i = 0; i < scn.apps; i++) {
		apps[i] = sim_alloc(sizeof(*apps[i]));
		app_init(apps[i], &scn, i);
	}
	for (i = 0; i < scn.links; i++)
		for (e = 0; e < 2; e++) {
			struct app *a = apps[scn.link[i].app[e]];
			struct qp *q = &a->qp[a->qp[0].link ? 1 : 0];

			q->link = &links[i];
			q->end = e;
			links[i].qp[e] = q;
			links[i].gen = 1;
			links[i].type = scn.link[i].type;
			links[i].miss = scn.link[i].miss;
		}
	for (i = 0; i < scn.apps; i++)
		if (!scn.app[i].off)
			app_start(apps[i]);
	forger_start(&scn);
	rogue_start(&scn);
	wild_start(&scn);
}

/* ------------------------------------------------------------------- faults */

static void start_again(void *ctx, uint64_t arg)
{
	const struct scn_fault *f = ctx;

	(void)arg;
	if (f->kind == SCN_KILL_APP)
		app_start(apps[f->target]);
	else
		world_start_driver(f->target);
}

static bool moving(uint32_t node)
{
	const struct unic_port *p = &world->node[node]->port;

	return p->kind == PORT_COPYING || p->xfers;
}

/* An application to whose single-use token bytes may be under way, or NULL. */
static struct app *being_filled(void)
{
	uint32_t i, k;

	for (i = 0; i < scn.apps; i++)
		for (k = 0; !scn.app[i].off && k < APP_TOKENS; k++) {
			const struct token *t = &apps[i]->token[k];

			if (t->there && t->claimed_by && !t->multi &&
			    moving(scn.app[i].node))
				return apps[i];
		}
	return NULL;
}

/* The queue pair whose message the NIC handles, or NULL. */
static struct qp *in_hand(uint32_t node)
{
	const struct unic_port *p = &world->node[node]->port;
	const uint8_t *f = p->rx[p->rx_done % PORT_RX].bytes;
	const uint8_t *qpn = f + UNIC_BTH_OFF + 5;
	uint32_t i, k;

	if (p->rx_done == p->rx_head || f[UNIC_BTH_OFF] > UNIC_OP_SEND_ONLY_IMM)
		return NULL;
	for (i = 0; i < scn.apps; i++)
		for (k = 0; k < APP_QPS; k++) {
			struct qp *q = &apps[i]->qp[k];

			if (q->link && scn.app[i].node == node &&
			    q->qpn == ((uint32_t)qpn[0] << 16 | qpn[1] << 8 |
				       qpn[2]))
				return q;
		}
	return NULL;
}

/* Are operations under way at two applications of @node at least? */
static bool busy(uint32_t node)
{
	uint32_t i, n = 0;

	for (i = 0; i < scn.apps; i++)
		n += !scn.app[i].off && scn.app[i].node == node &&
		     app_op_open(apps[i]) >= FEW_OPS;
	return n >= 2;
}

/* Should the fault wait? The worst moment is one at which DMA is under way;
 * for SCN_BREAK, DMA into the buffer of a token. */
static bool too_early(const struct scn_fault *f)
{
	bool app = f->kind == SCN_KILL_APP || f->kind == SCN_BREAK ||
		   f->kind == SCN_LIST;
	uint32_t node = app ? scn.app[f->target].node : f->target;

	if (!f->waits || f->kind == SCN_LIST)
		return false;
	if (f->kind == SCN_SLEEP)
		return !busy(f->target) && sim_now() < f->at_ns + LONG_PATIENCE;
	if (f->kind == SCN_STALL)
		return !(in_hand(node) && moving(node)) &&
		       sim_now() < f->at_ns + LONG_PATIENCE;
	if (f->kind == SCN_BREAK)
		return !being_filled() && sim_now() < f->at_ns + LONG_PATIENCE;
	return !moving(node) && sim_now() < f->at_ns + PATIENCE;
}

static void fall_asleep(void *ctx, uint64_t arg)
{
	const struct scn_fault *f = ctx;

	(void)arg;
	world_sleep(f->target, f->for_ns);
}

static void break_one(const struct scn_fault *f)
{
	struct app *a = f->waits ? being_filled() : NULL;

	app_break(a ? a : apps[f->target]);
}

static void go_on(void *ctx, uint64_t arg)
{
	(void)ctx;
	world_go((uint32_t)arg);
}

/*
 * Connects the queue pair of the message in hand anew, once its payload is
 * written and while the bus refuses its completion.
 */
static void connect_anew(void *ctx, uint64_t arg)
{
	const struct scn_fault *f = ctx;
	struct unic_port *p = &world->node[f->target]->port;
	struct qp *q = in_hand(f->target);

	(void)arg;
	if (!q || sim_now() >= p->stall_ns)
		return;
	if (p->xfers) {
		sim_at(sim_now() + US, connect_anew, ctx, 0);
	} else if (app_qp_anew(q)) {
		world_stand(f->target, PORT_ENDLESS);
		sim_at(sim_now() + CORE_BUSY_NS, go_on, NULL, f->target);
	}
}

/* Does the application run, and has it seen the last reset? */
static bool is_there(const struct app *a)
{
	return a->state == APP_RUNS && !a->reset && !a->stopping;
}

/* The NIC has read the work request and not its list: the core stands still
 * until the region of the list has been exchanged. */
static void exchange(void *ctx, uint64_t arg)
{
	const struct scn_fault *f = ctx;
	struct app *a = apps[f->target];
	struct list l = list_of[f->target];

	(void)arg;
	memset(&list_of[f->target], 0, sizeof(l));
	if (l.region->life != l.life || !is_there(a)) {
		l.other->held_back = false;
		return;
	}
	world_stand(a->node, PORT_ENDLESS);
	sim_at(sim_now() + CORE_BUSY_NS, go_on, NULL, a->node);
	app_exchange(a, l.region, l.other);
}

static void take_list(void *ctx, uint64_t end_ns)
{
	const struct scn_fault *f = ctx;
	const struct unic_port *p = &world->node[apps[f->target]->node]->port;

	if (p->stall_at && sim_now() < end_ns)
		sim_at(sim_now() + US, take_list, ctx, end_ns);
	else
		sim_at(sim_now() + f->for_ns / 2, exchange, ctx, 0);
}

/* Holds back a region, then posts a list. False: try again later. */
static bool read_list(struct scn_fault *f)
{
	struct list *l = &list_of[f->target];
	struct app *a = apps[f->target];
	const void *slot;

	if (l->busy)
		return true;
	if (is_there(a) && !l->other) {
		l->other = app_hold_back(a);
		return false;
	}
	if (is_there(a) && l->other && l->other->state == REGION_NONE)
		l->region = app_form_list(a, &slot);
	if (!l->region && sim_now() < f->at_ns + LONG_PATIENCE)
		return false;
	if (!l->region && l->other)
		l->other->held_back = false;
	if (!l->region) {
		l->other = NULL;
		return true;
	}
	l->busy = true;
	l->life = l->region->life;
	port_stall_at(&world->node[a->node]->port, slot, f->for_ns);
	take_list(f, sim_now() + PATIENCE);
	return true;
}

static void strike(void *ctx, uint64_t arg)
{
	struct scn_fault *f = ctx;

	(void)arg;
	if (too_early(f)) {
		sim_at(sim_now() + US, strike, f, 0);
		return;
	}
	switch (f->kind) {
	case SCN_KILL_APP:
		if (scn.app[f->target].off)
			return;
		app_kill(apps[f->target]);
		sim_at(sim_now() + f->for_ns, start_again, f, 0);
		return;
	case SCN_KILL_DRIVER:
		world_kill_driver(f->target);
		sim_at(sim_now() + f->for_ns, start_again, f, 0);
		return;
	case SCN_POWER_CUT:
		world_power_cut(f->target);
		return;
	case SCN_RESET:
		world_reset(f->target);
		return;
	case SCN_BREAK:
		break_one(f);
		return;
	case SCN_STALL:
		port_stall(&world->node[f->target]->port,
			   sim_now() + f->for_ns);
		connect_anew(f, 0);
		return;
	case SCN_LIST:
		if (!scn.app[f->target].off && !read_list(f))
			sim_at(sim_now() + 20 * US, strike, f, 0);
		return;
	case SCN_SLEEP:
		app_drop_pages(f->target);
		sim_at(sim_now() + DROP_NS, fall_asleep, f, 0);
		return;
	case SCN_STAND:
		world_stand(f->target, f->room);
		return;
	default:
		app_evict_storm(f->target);
	}
}

static void calm_down(void *ctx, uint64_t arg)
{
	struct world_odds odds = { 0 };

	(void)ctx;
	(void)arg;
	sim_log("the faults are over");
	odds.port.late_ppm = scn.odds.port.late_ppm;
	odds.port.late_ns = scn.odds.port.late_ns;
	world_odds(&odds);
}

static uint64_t plan_faults(void)
{
	uint64_t end = scn.odds_until_ns;
	uint32_t i;

	for (i = 0; i < scn.faults; i++) {
		struct scn_fault *f = &scn.fault[i];

		if (f->off)
			continue;
		sim_at(f->at_ns, strike, f, 0);
		if (f->at_ns + LONG_PATIENCE + f->for_ns > end)
			end = f->at_ns + LONG_PATIENCE + f->for_ns;
	}
	if ((scn.forges || scn.rogues || scn.wild) && end < ATTACK_NS)
		end = ATTACK_NS;
	if (!scn.odds_off)
		sim_at(scn.odds_until_ns, calm_down, NULL, 0);
	return end;
}

/* ----------------------------------------------------------------- liveness */

static bool all_finished(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < scn.apps; i++)
		if (!scn.app[i].off && !app_finished(apps[i]))
			return false;
	return true;
}

static bool all_left(void *ctx)
{
	uint32_t i;

	(void)ctx;
	for (i = 0; i < scn.apps; i++)
		if (!scn.app[i].off && apps[i]->state != APP_LEFT &&
		    apps[i]->state != APP_DOWN)
			return false;
	return true;
}

static void must_leave(void)
{
	uint32_t i;

	for (i = 0; i < scn.apps; i++)
		app_stop(apps[i]);
	if (sim_until(sim_now() + LEAVE_NS, all_left, NULL))
		return;
	for (i = 0; i < scn.apps; i++)
		if (!scn.app[i].off && apps[i]->state != APP_LEFT)
			app_say_stuck(apps[i], "leave");
}

static void must_finish(uint64_t until_ns, const char *what)
{
	uint32_t i;

	if (sim_until(until_ns, all_finished, NULL))
		return;
	for (i = 0; i < scn.apps; i++)
		if (!scn.app[i].off && !app_finished(apps[i]))
			app_say_stuck(apps[i], what);
}

static bool all_apart_finished(void *ctx)
{
	const struct scn_fault *f = ctx;
	uint32_t i;

	for (i = 0; i < scn.apps; i++)
		if (!scn.app[i].off && scenario_apart(&scn, i, f->target) &&
		    !app_finished(apps[i]))
			return false;
	return true;
}

/* While a NIC stands still, applications that are not connected to it must
 * finish. */
static void must_finish_beside(void)
{
	const struct scn_fault *f = &scn.fault[0];
	uint32_t i;

	if (!scn.beside || f->off)
		return;
	if (!sim_until(sim_now() + BESIDE_NS, all_apart_finished, (void *)f))
		for (i = 0; i < scn.apps; i++)
			if (!scn.app[i].off && !app_finished(apps[i]) &&
			    scenario_apart(&scn, i, f->target))
				app_say_stuck(apps[i], "finish beside a NIC "
						       "that stands still");
	world_go(f->target);
}

static uint64_t frames_sent(void)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < scn.nodes; i++)
		n += world->node[i]->port.tx_frames;
	return n;
}

/* Counters are published at intervals, and a NIC may still send ARP requests that
 * are not needed. */
static void be_published(void)
{
	uint64_t before;

	do {
		before = frames_sent();
		sim_until(sim_now() + 120 * MS, NULL, NULL);
	} while (frames_sent() != before);
}

static void everything(void *arg)
{
	uint64_t over;
	uint32_t i;

	(void)arg;
	set_up();
	over = plan_faults();
	sim_until(over, NULL, NULL);
	forger_stop();
	rogue_stop();
	wild_stop();
	must_finish_beside();
	must_finish(sim_now() + FINISH_NS, "finish");
	must_leave();
	conserve_rest();
	for (i = 0; i < scn.nodes; i++)
		probe(i);
	be_published();
	for (i = 0; i < scn.nodes; i++) {
		pins_settled(world->node[i], check_model(world->node[i]));
		conserve_end(world->node[i], check_model(world->node[i]));
	}
	conserve_wire();
}

void scenario_run(const struct scenario *s, bool trace, struct sim_verdict *out)
{
	scn = *s;
	sim_run(s->seed, trace, everything, NULL, out);
}

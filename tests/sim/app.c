/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* app.c - the life of an application, see app.h. */
#include "app.h"

#include "oracle.h"

#define CQ_BUS 2u /* detail of CQ_ERROR */

const struct behaviour behaviours[] = {
	/*  name	win reg min max  rel off ext sil non  late	 lies	waits */
	{ "calm", 4, 3, 1, 3, 10, 2, 1, 0, 0, 100, false, true },
	{ "busy", 12, 4, 2, 4, 6, 4, 4, 1, 0, 500, false, true },
	{ "greedy", 8, 8, 4, 6, 0, 2, 8, 3, 0, 2000, false, true },
	{ "silent", 4, 4, 2, 6, 0, 0, 0, 1, 0, 0, false, true },
	{ "lying", 6, 3, 1, 4, 3, 3, 3, 3, 8, 1000, true, true },
	{ "impatient", 6, 5, 1, 5, 5, 5, 5, 2, 0, 200, false, false },
};
const uint32_t behaviours_count = sizeof(behaviours) / sizeof(behaviours[0]);

struct app *apps[SCN_APPS];
uint32_t apps_count;
bool apps_calm;

uint8_t *app_mem(struct app *a, uint32_t at)
{
	return world->node[a->node]->slot[a->slot] +
	       (size_t)a->frame[at / 4096] * 4096 + at % 4096;
}

/*
 * With frames of 4 KiB (area 12) regions follow each other. Otherwise a
 * boundary of 64 KiB is in the middle of each region; with area 21 one of these
 * is a boundary of 2 MiB, too.
 */
#define APART (64u * 1024u)

static uint64_t middle_of(const struct app *a, uint32_t region)
{
	uint32_t meets = a->area == 16 ? 1 : (1u << a->area) / APART - 1;

	return APP_BIG_VA + (uint64_t)(meets + region) * APART;
}

uint64_t app_va(const struct app *a, uint32_t at)
{
	uint32_t home = APP_REG_PAGES * 4096, in = at - APP_QPS * 4096;

	if (a->area == 12 || at < APP_QPS * 4096)
		return APP_VA + at;
	return middle_of(a, in / home) - home / 2 + in % home;
}

struct unic_db_page *app_db(struct app *a)
{
	return (void *)world->node[a->node]->slot[a->slot];
}

static const struct unic_upcall_ring *upcalls(struct app *a)
{
	return (const void *)(world->node[a->node]->slot[a->slot] +
			      UNIC_SLOT_UPCALL_PAGE * 4096);
}

/* --------------------------------------------------------------------- life */

/*
 * Drops what the application has on the NIC. @safe: the NIC has dropped it,
 * too; otherwise the NIC may write the process's memory until the driver has
 * finished with the slot.
 */
static void forget(struct app *a, bool safe)
{
	uint32_t i;

	for (i = 0; i < APP_ASKS; i++)
		a->ask[i].done = NULL; /* their objects are gone */
	app_op_forget(a, safe);
	app_qp_forget(a, safe);
	app_mem_forget(a);
	app_form_forget(a);
	memset(a->token, 0, sizeof(a->token));
	a->epoch_life++;
}

static void start_over(struct app *a)
{
	forget(a, false);
	a->fresh = true;
	a->large_only = false;
	a->resume = false;
}

static void on_upcall(struct world_client *c)
{
	app_kick((struct app *)c, sim_now() + US);
}

static void on_hangup(struct world_client *c)
{
	struct app *a = (struct app *)c;

	if (a->state == APP_DOWN || a->state == APP_LEFT)
		return;
	sim_log("app %u: the driver hung up", a->index);
	/* whether a request without a reply had an effect is unknown, and this
	 * application does not find out */
	if (a->keep && a->state >= APP_RUNS && !app_uncertain(a)) {
		a->was = a->state;
		a->resume = a->reset = true;
		a->back = false;
	} else if (!a->resume) {
		start_over(a);
	}
	memset(a->ask, 0, sizeof(a->ask));
	a->state = APP_KNOCK;
	a->knock_ns = sim_now() + 100 * US;
	app_kick(a, a->knock_ns);
}

void app_init(struct app *a, const struct scenario *s, uint32_t index)
{
	static const uint8_t areas[] = { 12, 16, 21 };
	struct sim_rng rng;
	uint32_t i;

	a->index = index;
	a->scn = s;
	a->node = s->app[index].node;
	a->how = &behaviours[s->app[index].behaviour];
	a->due = UINT64_MAX;
	a->c.reply = app_reply;
	a->c.upcall = on_upcall;
	a->c.cq = on_upcall;
	a->c.hangup = on_hangup;
	sim_rng_init(&a->rng, sim_seed(), 0x500u + index);
	for (i = 0; i < APP_QPS; i++) {
		a->qp[i].app = a;
		a->qp[i].index = i;
	}
	sim_rng_init(&rng, sim_seed(), 0x700u + index);
	a->keep = sim_below(&rng, 4);
	/* only sizes for which a slot has room */
	a->area = areas[sim_below(&rng, PORT_SLOT_BYTES < 4u << 21 ? 2 : 3)];
	a->wants_second = !sim_below(&rng, 3) && a->how->regions < APP_REGIONS;
}

void app_start(struct app *a)
{
	if (a->state != APP_DOWN)
		return;
	a->life++;
	a->pid = 2000 + a->index * 100 + a->life;
	a->fresh = true;
	a->large_only = false;
	a->resume = a->resumed = a->reset = a->back = false;
	a->giving_up = false;
	a->state = APP_KNOCK;
	a->knock_ns = 0;
	app_kick(a, sim_now() + sim_range(&a->rng, US, 200 * US));
}

void app_kill(struct app *a)
{
	if (a->state == APP_DOWN || a->state == APP_LEFT)
		return;
	sim_log("app %u is killed", a->index);
	forget(a, false);
	memset(a->ask, 0, sizeof(a->ask));
	a->state = APP_DOWN;
	a->due = UINT64_MAX;
	if (a->c.node)
		world_kill(&a->c);
}

void app_stop(struct app *a)
{
	a->stopping = true;
	app_kick(a, sim_now() + US);
}

bool app_finished(const struct app *a)
{
	if (a->state == APP_LEFT || (a->state == APP_DOWN && a->stopping))
		return true;
	return a->state == APP_RUNS && !a->reset && a->next_op >= a->scn->ops &&
	       app_op_idle(a) && !app_owed_reply(a);
}

void app_say_stuck(const struct app *a, const char *what)
{
	const struct scenario *s = a->scn;
	uint32_t i, open = 0, asks = 0;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED &&
		    a->op[i].kind != SCN_OP_KINDS)
			sim_log("app %u: %llx, kind %u, is open", a->index,
				(unsigned long long)a->op[i].id, a->op[i].kind);
	for (i = 0; i < APP_ASKS; i++)
		if (a->ask[i].seq)
			sim_log("app %u: request %u is open", a->index,
				a->ask[i].op);
	for (i = 0; i < APP_OPEN; i++)
		open += a->op[i].state == OP_POSTED &&
			a->op[i].kind != SCN_OP_KINDS;
	for (i = 0; i < APP_ASKS; i++)
		asks += a->ask[i].seq != 0;
	sim_fail("live",
		 "app %u (%s) does not %s: state %u%s, step %u of %u, %u "
		 "operations and %u requests open, queues in state %u and %u",
		 a->index, a->how->name, what, a->state,
		 a->reset ? " (reset)" : "", a->next_op, s->ops, open, asks,
		 a->qp[0].state, a->qp[1].state);
}

void app_evict_storm(uint32_t node)
{
	uint32_t i, k;

	sim_log("host %u: an admin asks for all regions", node);
	for (i = 0; i < apps_count; i++) {
		struct app *a = apps[i];

		for (k = 0;
		     k < APP_REGIONS && a->node == node && a->state == APP_RUNS;
		     k++) {
			struct unic_ctl_obj r = { .id = unic_to_le32(
							  a->region[k].id) };

			if (a->region[k].state == REGION_ACTIVE)
				app_ask(a, UNIC_CTL_EVICT, &r, 0, NULL);
		}
	}
}

/* ------------------------------------------------------------------ knocking */

/* Without a second domain it goes on, too: there may be none left. */
static void second_pd_done(struct app *a, uint32_t arg, uint32_t status,
			   const void *rec, uint32_t bytes)
{
	struct unic_ctl_id_reply r;

	(void)arg;
	(void)bytes;
	memcpy(&r, rec, sizeof(r));
	a->second_pd = unic_from_le32(r.id);
	a->has_second = !status;
	a->state = APP_RUNS;
}

static void pd_done(struct app *a, uint32_t arg, uint32_t status,
		    const void *rec, uint32_t bytes)
{
	struct unic_ctl_plain plain = { 0 };
	struct unic_ctl_id_reply r;

	(void)arg;
	(void)bytes;
	memcpy(&r, rec, sizeof(r));
	a->pd = unic_from_le32(r.id);
	a->state = status ? APP_KNOCK : APP_RUNS;
	a->knock_ns = sim_now() + 200 * US;
	if (status || !a->wants_second)
		return;
	a->state = APP_PD;
	app_ask(a, UNIC_CTL_PD_ALLOC, &plain, 0, second_pd_done);
}

static void ask_pd(struct app *a)
{
	struct unic_ctl_plain r = { 0 };

	a->has_second = false;
	a->state = APP_PD;
	app_ask(a, UNIC_CTL_PD_ALLOC, &r, 0, pd_done);
}

static void ask_frames(struct app *a, bool large);

/* @list: the first frame of each run of 1 << @shift bytes, from @base on. */
static void map(struct app *a, const unic_le32 *list, uint64_t base,
		uint32_t shift, uint32_t from, uint32_t to)
{
	for (; from < to; from++) {
		uint64_t off = app_va(a, from * 4096) - base;

		a->frame[from] = unic_from_le32(list[off >> shift]) +
				 (uint32_t)(off % (1ull << shift) / 4096);
		oracle_map(a->node, a->slot, from, a->frame[from]);
	}
}

static void frames_done(struct app *a, uint32_t large, uint32_t status,
			const void *rec, uint32_t bytes)
{
	const unic_le32 *list = (const void *)((const uint8_t *)rec + 64);
	bool more = !large && a->area > 12;

	(void)bytes;
	a->knock_ns = sim_now() + 200 * US;
	if (status) {
		a->state = APP_KNOCK;
		return;
	}
	if (large)
		map(a, list, APP_BIG_VA, a->area, APP_QPS, APP_PAGES);
	else
		map(a, list, APP_VA, 12, 0, more ? APP_QPS : APP_PAGES);
	a->large_only = more;
	if (more) {
		ask_frames(a, true);
		return;
	}
	a->fresh = false;
	ask_pd(a);
}

/*
 * Asks for the frames of queues, and of regions in small pages; @large: for
 * those of regions in large pages.
 */
static void ask_frames(struct app *a, bool large)
{
	uint32_t runs = a->area == 16 ? APP_REGIONS + 1 : 2;
	struct unic_ctl_frames fr = {
		.va = unic_to_le64(APP_VA),
		.pages = unic_to_le32(a->area == 12 ? APP_PAGES : APP_QPS),
		.page_shift = 12
	};

	if (large) {
		fr.va = unic_to_le64(APP_BIG_VA);
		fr.pages = unic_to_le32((runs << a->area) / 4096);
		fr.page_shift = a->area;
	}
	a->state = APP_FRAMES;
	app_ask(a, UNIC_CTL_FRAMES_ALLOC, &fr, large, frames_done);
}

static void hello_done(struct app *a, uint32_t arg, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	struct unic_ctl_hello_reply r;

	(void)arg;
	(void)bytes;
	a->state = APP_KNOCK;
	a->knock_ns = sim_now() + 200 * US;
	if (status)
		return;
	memcpy(&r, rec, sizeof(r));
	if (a->resume && r.resumed) {
		if (a->slot != unic_from_le32(r.proc))
			sim_fail("replay", "app %u: resumed in another slot",
				 a->index);
		sim_log("app %u: its new driver knows it", a->index);
		a->resume = false;
		a->resumed = true;
		a->state = a->was; /* the RESET upcall is there, or comes */
		return;
	}
	if (a->resume)
		start_over(a);
	a->slot = unic_from_le32(r.proc);
	a->reset = a->back = false;
	a->fifo = 0;
	if (!a->fresh) {
		forget(a, true);
		/* skip the records of the time before this HELLO */
		a->upcall_next = unic_from_le32(upcalls(a)->next);
		a->fifo = unic_from_le32(app_db(a)->fifo_seq);
		ask_pd(a);
		return;
	}
	if (!a->large_only)
		oracle_unmap(a->node, a->slot);
	a->upcall_next = 0;
	ask_frames(a, a->large_only);
}

static void knock(struct app *a)
{
	struct unic_ctl_hello r = {
		.version = unic_to_le32(UNIC_CTL_VERSION),
		.weight = unic_to_le32(a->scn->app[a->index].weight),
		.policy = unic_to_le32(a->index % UNIC_POLICY_LFU),
		.name = "sim",
		.flags = unic_to_le32((a->keep ? UNIC_CTL_HELLO_KEEP : 0) |
				      (a->resume ? UNIC_CTL_HELLO_RESUME : 0)),
		.slot = unic_to_le32(a->resume ? a->slot : 0),
	};

	if (sim_now() < a->knock_ns) {
		app_kick(a, a->knock_ns);
		return;
	}
	if (!a->c.open && !world_connect(&a->c, a->node, a->pid)) {
		a->knock_ns = sim_now() + 300 * US;
		app_kick(a, a->knock_ns);
		return;
	}
	a->state = APP_HELLO;
	app_ask(a, UNIC_CTL_HELLO, &r, 0, hello_done);
}

/* ------------------------------------------------------------------ upcalls */

static void was_reset(struct app *a, uint32_t detail)
{
	a->back = detail == 2;
	if (a->back && !a->keep)
		sim_fail("replay", "app %u keeps nothing, and is told that",
			 a->index);
	if (a->reset)
		return;
	sim_log("app %u: its NIC was reset", a->index);
	/* step() sends HELLO again, or waits until all is restored */
	a->reset = true;
}

/* The driver restored all but the operations and tokens, which end now. */
static void go_on(struct app *a)
{
	sim_log("app %u: all is restored", a->index);
	while (app_op_reap(a))
		; /* operations that completed before */
	app_op_forget(a, true);
	app_token_restore(a);
	app_qp_restore(a);
	app_mem_restore(a, a->resumed);
	if (a->resumed)
		app_form_forget(a);
	else
		app_form_restore(a);
	a->resumed = false;
	a->epoch_life++;
	a->reset = a->back = false;
}

static void upcall(struct app *a, const uint64_t *rec)
{
	bool bus_faults = a->scn->odds.port.bus_ppm;
	struct unic_upcall_obj o;
	uint32_t i;

	memcpy(&o, rec, sizeof(o));
	switch (o.hdr.type) {
	case UNIC_UP_RESET:
		was_reset(a, unic_from_le32(o.detail));
		return;
	case UNIC_UP_QP_ERROR:
		for (i = 0; i < APP_QPS; i++)
			if (a->qp[i].id == unic_from_le32(o.hdr.id) &&
			    a->qp[i].link) {
				a->qp[i].failed = true;
				a->qp[i].unexplained = false;
				app_link_fail(a->qp[i].link,
					      unic_from_le32(o.detail) ==
						      UNIC_WC_EVICTED);
			}
		return;
	case UNIC_UP_TOKEN_END:
		app_token_upcall(a, rec);
		return;
	case UNIC_UP_CQ_ERROR:
		if (!bus_faults || unic_from_le32(o.detail) != CQ_BUS)
			sim_fail("once",
				 "app %u: a completion queue failed: %u",
				 a->index, unic_from_le32(o.detail));
		a->giving_up = true; /* completions are lost: start again */
		return;
	default:
		app_mem_upcall(a, rec, o.hdr.type);
	}
}

/* A process that lost upcalls would RESYNC; this one starts again. */
void app_read_upcalls(struct app *a)
{
	const struct unic_upcall_ring *ring = upcalls(a);
	uint64_t rec[8];

	for (;;) {
		uint32_t seq;

		memcpy(rec, ring->record[a->upcall_next % UNIC_UPCALLS], 64);
		seq = (uint32_t)rec[0];
		if (seq != a->upcall_next + 1) {
			if ((int32_t)(seq - (a->upcall_next + 1)) <= 0)
				return;
			a->upcall_next = seq - 1;
			a->giving_up = true; /* upcalls were lost */
			continue;
		}
		a->upcall_next++;
		upcall(a, rec);
	}
}

/* --------------------------------------------------------------------- steps */

static void left(struct app *a)
{
	sim_log("app %u leaves", a->index);
	a->state = APP_LEFT;
	world_kill(&a->c);
}

static void pd_freed(struct app *a, uint32_t last, uint32_t status,
		     const void *rec, uint32_t bytes)
{
	(void)rec;
	(void)bytes;
	if (status && status != UNIC_CTL_ST_RESET &&
	    status != UNIC_CTL_ST_NO_NIC)
		sim_fail("conserve", "app %u: PD_FREE answers %u at the end",
			 a->index, status);
	if (last)
		left(a);
}

/* Processes of even index release everything; the others just exit. */
static void leave(struct app *a)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(a->pd) };
	struct unic_ctl_obj second = { .id = unic_to_le32(a->second_pd) };

	if (a->index & 1) {
		forget(a, false);
		left(a);
		return;
	}
	app_qp_step(a);
	app_form_step(a);
	app_mem_step(a);
	if (!app_qp_none(a) || !app_mem_none(a) || !app_form_none(a) ||
	    app_asking(a))
		return;
	if (a->has_second)
		app_ask(a, UNIC_CTL_PD_FREE, &second, false, pd_freed);
	app_ask(a, UNIC_CTL_PD_FREE, &r, true, pd_freed);
}

static void run(struct app *a)
{
	if (a->stopping && app_finished(a)) {
		a->state = APP_LEAVES;
		leave(a);
		return;
	}
	if (!sim_below(&a->rng, 4))
		app_gather(a);
	app_qp_step(a);
	app_mem_step(a);
	app_form_step(a);
	app_op_step(a);
	app_gathered(a);
}

static void step(void *ctx, uint64_t due)
{
	struct app *a = ctx;
	uint32_t i;

	if (a->due != due)
		return;
	a->due = UINT64_MAX;
	if (a->state >= APP_RUNS && a->state != APP_LEFT) {
		app_read_upcalls(a);
		if (a->giving_up) {
			app_kill(a);
			app_start(a);
			return;
		}
		while (!a->reset && app_op_reap(a))
			;
		if (a->back && !app_owed_reply(a)) {
			go_on(a);
		} else if (a->reset && !a->keep && !app_asking(a)) {
			a->state = APP_KNOCK;
			a->knock_ns = 0;
		} else if (a->reset) {
			app_kick(a, sim_now() + 500 * US);
			return;
		}
	}
	if (a->state == APP_KNOCK)
		knock(a);
	else if (a->state == APP_RUNS)
		run(a);
	else if (a->state == APP_LEAVES)
		leave(a);
	if (a->state != APP_RUNS && a->state != APP_LEAVES)
		return;
	for (i = 0; i < APP_QPS; i++)
		app_qp_arm(&a->qp[i]);
	app_kick(a, sim_now() + 2 * MS);
}

void app_kick(struct app *a, uint64_t at_ns)
{
	if (at_ns <= sim_now())
		at_ns = sim_now() + 1;
	if (at_ns >= a->due)
		return;
	a->due = at_ns;
	sim_at(at_ns, step, a, at_ns);
}

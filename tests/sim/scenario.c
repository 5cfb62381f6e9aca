/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* scenario.c - see scenario.h. */
#include "scenario.h"

#include "app.h"

static void make_params(struct scenario *s, struct sim_rng *r)
{
	static const uint32_t deliver_us[] = { 2000, 10000, 50000 };

	s->params.grace_us = unic_to_le32((uint32_t)sim_range(r, 100, 4000));
	s->params.deliver_us = unic_to_le32(deliver_us[sim_below(r, 3)]);
	s->params.reaper_us = unic_to_le32((uint32_t)sim_range(r, 100, 1000));
	s->params.residence_us = unic_to_le32((uint32_t)sim_range(r, 1, 3000));
	s->params.extend_us = unic_to_le32((uint32_t)sim_range(r, 1, 10000));
}

/* Half of the wires are perfect, the others bad in one or more ways. */
static void make_odds(struct scenario *s, struct sim_rng *r)
{
	struct world_odds *o = &s->odds;

	o->port.late_ns =
		(uint32_t)sim_range(r, 200, sim_below(r, 4) ? 20000 : 100000);
	o->port.late_ppm = sim_below(r, 4) ? sim_below(r, 1000000) : 0;
	o->port.again_ppm = sim_below(r, 4) ? 0 : sim_below(r, 100000);
	o->port.full_ppm = sim_below(r, 4) ? 0 : sim_below(r, 100000);
	s->odds_until_ns = sim_range(r, 2, 30) * MS;
	if (sim_below(r, 2))
		return;
	o->loss = sim_below(r, 2) ? sim_below(r, 50000) : 0;
	o->dup = sim_below(r, 2) ? sim_below(r, 50000) : 0;
	o->reorder = sim_below(r, 2) ? sim_below(r, 50000) : 0;
	o->delay_ns = (uint32_t)sim_range(r, US, 400 * US);
	o->corrupt = s->icrc && sim_below(r, 2) ? sim_below(r, 50000) : 0;
	o->bell_lost = sim_below(r, 3) ? 0 : sim_below(r, 100000);
	o->bell_dup = sim_below(r, 2) ? 0 : sim_below(r, 300000);
	o->bell_late = sim_below(r, 2) ? 0 : sim_below(r, 300000);
	o->port.bus_ppm = sim_below(r, 8) ? 0 : sim_below(r, 2000);
}

/* One of three ports copies; half are late, so that every end has to wait; the
 * others change between both. A separate stream of random numbers: other choices
 * do not depend on it. */
static void make_ports(struct scenario *s)
{
	static const uint8_t kinds[] = {
		PORT_COPYING, PORT_COPYING, PORT_LATE,
		PORT_LATE,    PORT_LATE,    PORT_MOODY
	};
	struct sim_rng r;
	uint32_t i;

	sim_rng_init(&r, s->seed, 2);
	for (i = 0; i < WORLD_NODES; i++)
		s->port[i] = kinds[sim_below(&r, sizeof(kinds))];
	/* one of three has RESIDENT regions alone, and few free entries */
	s->residency = sim_below(&r, 3) ? 0 : UNIC_RESIDENT + 1;
}

/* Half of the scenarios have watermarks, and questions for idle regions. A separate
 * stream, as below. */
static void make_idle(struct scenario *s)
{
	struct sim_rng r;
	uint32_t low;

	sim_rng_init(&r, s->seed, 7);
	if (sim_below(&r, 2))
		return;
	low = (uint32_t)sim_range(&r, 1, 24);
	s->params.flags = unic_to_le32(UNIC_PARAM_WATERMARKS);
	s->params.low_entries = unic_to_le32(low);
	s->params.high_entries = unic_to_le32((uint32_t)sim_range(&r, low, 40));
	s->params.idle_us = unic_to_le32((uint32_t)sim_range(&r, 1000, 3000));
}

static uint32_t most(uint32_t n, uint32_t at_most)
{
	return n < at_most ? n : at_most;
}

static void make_apps(struct scenario *s, struct sim_rng *r)
{
	uint32_t i, node = 0;
	uint32_t used[WORLD_NODES] = { 0 };

	s->apps =
		(uint32_t)sim_range(r, 2, s->nodes * 2 < 6 ? s->nodes * 2 : 6);
	if (s->sleeps)
		s->apps = s->nodes * most(WORLD_SLOTS, SCN_APPS / 2);
	if (s->apps < s->nodes)
		s->apps = s->nodes;
	for (i = 0; i < s->apps; i++) {
		while (used[node] == WORLD_SLOTS ||
		       (i >= s->nodes && sim_below(r, 2)))
			node = (node + 1) % s->nodes;
		s->app[i].node = (uint8_t)node;
		s->app[i].weight =
			sim_below(r, 4) ? 1 : (uint16_t)sim_range(r, 1, 5);
		s->app[i].behaviour = (uint8_t)sim_below(r, behaviours_count);
		used[node]++;
		node = (node + 1) % s->nodes;
	}
}

/* Each application gets one or two connections, any with any. */
static void make_links(struct scenario *s, struct sim_rng *r)
{
	uint32_t ends[SCN_APPS] = { 0 }, i, other, tries;

	for (i = 0; i < s->apps; i++)
		for (tries = 0; tries < 8 && ends[i] < APP_QPS; tries++) {
			other = sim_below(r, s->apps);
			if (other == i || ends[other] == APP_QPS ||
			    s->links == SCN_LINKS ||
			    (ends[i] && !s->sleeps && sim_below(r, 2)))
				continue;
			s->link[s->links].app[0] = (uint8_t)i;
			s->link[s->links++].app[1] = (uint8_t)other;
			ends[i]++;
			ends[other]++;
		}
}

/* One of eight connections is unreliable, and one is for datagrams. A separate
 * stream, as above. */
static void make_types(struct scenario *s)
{
	static const uint8_t types[] = { UNIC_QPT_UC, UNIC_QPT_UD };
	struct sim_rng r;
	uint32_t i;

	sim_rng_init(&r, s->seed, 3);
	for (i = 0; i < s->links; i++) {
		if (sim_below(&r, 4)) /* 0: RC */
			continue;
		s->link[i].type = types[sim_below(&r, sizeof(types))];
		s->link[i].miss = (uint8_t)sim_below(&r, 3);
	}
}

static void make_ops(struct scenario *s, struct sim_rng *r)
{
	static const uint8_t kinds[] = {
		SCN_WRITE,    SCN_WRITE,  SCN_WRITE, SCN_WRITE_IMM,
		SCN_READ,     SCN_READ,	  SCN_SEND,  SCN_SEND,
		SCN_SEND_IMM, SCN_TOKEN,  SCN_TOKEN, SCN_REREG,
		SCN_PAUSE,    SCN_CANCEL, SCN_LIE,   SCN_POLICY,
	};
	uint32_t i;

	s->ops = s->apps * (uint32_t)sim_range(r, 4, 24);
	for (i = 0; i < s->ops; i++) {
		s->op[i].app = (uint8_t)sim_below(r, s->apps);
		s->op[i].kind = kinds[sim_below(r, sizeof(kinds))];
		s->op[i].r = sim_u64(r);
	}
}

static void make_faults(struct scenario *s, struct sim_rng *r)
{
	uint32_t i;

	if (sim_below(r, 2))
		return;
	s->faults = (uint32_t)sim_range(r, 1, 4);
	for (i = 0; i < s->faults; i++) {
		struct scn_fault *f = &s->fault[i];

		f->kind = (uint8_t)sim_below(r, SCN_DRAWN);
		f->target = (uint8_t)sim_below(
			r, f->kind == SCN_KILL_APP || f->kind == SCN_BREAK
				   ? s->apps
				   : s->nodes);
		f->waits = sim_below(r, 2);
		f->at_ns = sim_range(r, 200 * US, 15 * MS);
		f->for_ns = sim_range(r, 10 * US, 2 * MS);
	}
}

/* One of three scenarios has faults SCN_STALL, half have SCN_LIST. A
 * separate stream, as above. */
static void make_stalls(struct scenario *s)
{
	struct sim_rng r;
	uint32_t i, n;

	sim_rng_init(&r, s->seed, 4);
	n = sim_below(&r, 3) ? 0 : (uint32_t)sim_range(&r, 1, 3);
	for (i = 0; i < n; i++)
		s->fault[s->faults++] = (struct scn_fault){
			.kind = SCN_STALL,
			.target = (uint8_t)sim_below(&r, s->nodes),
			.waits = true,
			.at_ns = sim_range(&r, 200 * US, 10 * MS),
			.for_ns = sim_range(&r, 50 * US, 500 * US),
		};
	n = sim_below(&r, 2) ? 0 : (uint32_t)sim_range(&r, 1, 3);
	for (i = 0; i < n; i++)
		s->fault[s->faults++] = (struct scn_fault){
			.kind = SCN_LIST,
			.target = (uint8_t)sim_below(&r, s->apps),
			.waits = true,
			.at_ns = sim_range(&r, 500 * US, 10 * MS),
			.for_ns = sim_range(&r, 100 * US, 500 * US),
		};
}

/* A driver pauses at times, in the middle of operations whose pages are missing;
 * all processes have the same share of the slots. A separate stream, as above. */
static void make_sleeps(struct scenario *s)
{
	struct sim_rng r;
	uint32_t i, n;

	for (i = 0; i < s->apps; i++)
		s->app[i].weight = 1;
	for (i = 0; i < s->ops; i++)
		if (s->op[i].kind == SCN_POLICY)
			s->op[i].kind = SCN_WRITE;
	sim_rng_init(&r, s->seed, 6);
	if (sim_below(&r, 4))
		s->residency = UNIC_DEMAND + 1;
	n = (uint32_t)sim_range(&r, 3, 8);
	for (i = 0; i < n; i++)
		s->fault[s->faults++] = (struct scn_fault){
			.kind = SCN_SLEEP,
			.target = (uint8_t)sim_below(&r, s->nodes),
			.waits = true,
			.at_ns = sim_range(&r, 500 * US, 6 * MS),
			.for_ns = sim_range(&r, 400 * US, MS),
		};
}

#define BLIND_KINDS 6u /* the first ones, which hardly a peer could have sent */

/* One of four scenarios has an attacker on the wire, and half of these one who is no
 * peer. A separate stream, as above. */
static void make_forges(struct scenario *s, bool always)
{
	static const uint8_t kinds[] = {
		FORGE_STRANGER, FORGE_STRANGER, FORGE_REPLAY, FORGE_ARP,
		FORGE_MAD,	FORGE_NOISE,	FORGE_FRAME,  FORGE_FRAME,
		FORGE_FRAME,	FORGE_FRAME,
	};
	struct sim_rng r;
	bool blind;
	uint32_t i;

	sim_rng_init(&r, s->seed, 8);
	if (sim_below(&r, 4) && !always)
		return;
	blind = sim_below(&r, 2);
	s->forges = (uint32_t)sim_range(&r, 2, SCN_FORGES);
	for (i = 0; i < s->forges; i++)
		s->forge[i] = (struct scn_forge){
			.kind = kinds[sim_below(&r, blind ? BLIND_KINDS
							  : sizeof(kinds))],
			.shots = (uint8_t)sim_range(&r, 1, 60),
			.at_ns = sim_range(&r, 200 * US, 5 * MS),
			.r = sim_u64(&r),
		};
}

static uint32_t apps_on(const struct scenario *s, uint32_t node)
{
	uint32_t i, n = 0;

	for (i = 0; i < s->apps; i++)
		n += s->app[i].node == node;
	return n;
}

/* One of four scenarios has rogues, where there is a slot for them. A separate stream,
 * as above. */
static void make_rogues(struct scenario *s, bool always)
{
	static const uint8_t types[] = { UNIC_QPT_RC, UNIC_QPT_RC, UNIC_QPT_UC,
					 UNIC_QPT_UD };
	struct sim_rng r;
	uint32_t i;

	sim_rng_init(&r, s->seed, 9);
	if (sim_below(&r, 4) && !always)
		return;
	for (i = 0; i < s->nodes && s->rogues < SCN_ROGUES - 1; i++)
		if (apps_on(s, i) < WORLD_SLOTS)
			s->rogue[s->rogues++] = (struct scn_rogue){
				.node = (uint8_t)i,
				.type = types[sim_below(&r, sizeof(types))],
				.at_ns = sim_range(&r, 100 * US, 2 * MS),
				.r = sim_u64(&r),
			};
}

/* One of eight scenarios has a wild host. A separate stream, as above. */
static void make_wild(struct scenario *s, bool always)
{
	struct sim_rng r;

	sim_rng_init(&r, s->seed, 10);
	s->wild = (always || !sim_below(&r, 8)) && s->nodes < WORLD_NODES;
	s->wild_r = sim_u64(&r);
	if (s->wild)
		s->rogue[s->rogues++] = (struct scn_rogue){
			.node = (uint8_t)s->nodes,
			.at_ns = sim_range(&r, 20 * US, 500 * US),
			.r = sim_u64(&r),
		};
}

/* One of six scenarios has drivers that pause at times: then many processes share
 * the fault slots of few NICs. */
static uint32_t some_nodes(struct scenario *s, struct sim_rng *r)
{
	uint32_t n = sim_below(r, 8) ? 2 : (uint32_t)sim_range(r, 2, 8);
	struct sim_rng own;

	sim_rng_init(&own, s->seed, 5);
	s->sleeps = !sim_below(&own, 6);
	return s->sleeps ? 2 : n;
}

static void make(struct scenario *s, uint64_t seed, bool attacked)
{
	struct sim_rng r;

	memset(s, 0, sizeof(*s));
	s->seed = seed;
	sim_rng_init(&r, seed, 1);
	s->nodes = some_nodes(s, &r);
	s->icrc = sim_below(&r, 4) == 0;
	make_params(s, &r);
	make_odds(s, &r);
	make_ports(s);
	make_apps(s, &r);
	make_links(s, &r);
	make_types(s);
	make_ops(s, &r);
	make_faults(s, &r);
	make_stalls(s);
	make_idle(s);
	make_forges(s, attacked);
	make_rogues(s, attacked);
	make_wild(s, attacked);
	if (s->sleeps)
		make_sleeps(s);
}

void scenario_make(struct scenario *s, uint64_t seed)
{
	make(s, seed, false);
}

void scenario_attack(struct scenario *s, uint64_t seed)
{
	make(s, seed, true);
}

bool scenario_calm(const struct scenario *s)
{
	const struct world_odds *o = &s->odds;
	uint32_t i;

	/* an eviction by an administrator has a status of its own */
	for (i = 0; i < s->faults; i++)
		if (!s->fault[i].off && s->fault[i].kind != SCN_EVICT_STORM)
			return false;
	for (i = 0; i < s->apps; i++) /* the victims of lies may fail */
		if (!s->app[i].off && behaviours[s->app[i].behaviour].lies)
			return false;
	return s->odds_off ||
	       !(o->loss || o->dup || o->reorder || o->corrupt ||
		 o->bell_lost || o->bell_late || o->port.bus_ppm);
}

/* -------------------------------------------------------------------- print */

static const char *const op_name[SCN_OP_KINDS] = {
	[SCN_WRITE] = "WRITE",	     [SCN_WRITE_IMM] = "WRITE_IMM",
	[SCN_READ] = "READ",	     [SCN_SEND] = "SEND",
	[SCN_SEND_IMM] = "SEND_IMM", [SCN_TOKEN] = "TOKEN",
	[SCN_REREG] = "rereg",	     [SCN_PAUSE] = "pause",
	[SCN_POLICY] = "policy",     [SCN_CANCEL] = "cancel",
	[SCN_LIE] = "lie",
};

static const char *const fault_name[SCN_FAULT_KINDS] = {
	[SCN_KILL_APP] = "kill application",
	[SCN_KILL_DRIVER] = "kill driver",
	[SCN_POWER_CUT] = "power cut of NIC",
	[SCN_RESET] = "reset of NIC",
	[SCN_EVICT_STORM] = "eviction of every region of NIC",
	[SCN_BREAK] = "end of the connections of application",
	[SCN_STAND] = "standstill of NIC",
	[SCN_LIST] = "bus busy, and end of a list that is read for application",
	[SCN_SLEEP] = "driver that does not run, of NIC",
	[SCN_STALL] = "bus and core busy, connection made anew on NIC",
};

static const char *const forge_name[FORGE_KINDS] = {
	[FORGE_FRAME] = "frames in the peer's name",
	[FORGE_STRANGER] = "frames that cannot be the peer's",
	[FORGE_REPLAY] = "frames of before",
	[FORGE_ARP] = "frames of ARP",
	[FORGE_MAD] = "management datagrams",
	[FORGE_NOISE] = "pieces of frames",
};

static const char *const type_name[] = {
	[UNIC_QPT_RC] = "RC",
	[UNIC_QPT_UC] = "UC",
	[UNIC_QPT_UD] = "UD",
};

static const char *const port_name[PORT_KINDS] = {
	[PORT_LATE] = "late",
	[PORT_COPYING] = "copying",
	[PORT_MOODY] = "moody",
};

static const char *const residency_name[] = {
	[UNIC_RESIDENT] = "RESIDENT",
	[UNIC_DEMAND] = "DEMAND",
};

static void print_odds(const struct world_odds *o, FILE *f)
{
	fprintf(f,
		"  wire (ppm): loss %u dup %u reorder %u (by %u ns) corrupt "
		"%u\n"
		"  doorbells (ppm): lost %u twice %u late %u\n"
		"  bus (ppm): late %u (by %u ns) again %u fault %u no buffer "
		"%u\n",
		o->loss, o->dup, o->reorder, o->delay_ns, o->corrupt,
		o->bell_lost, o->bell_dup, o->bell_late, o->port.late_ppm,
		o->port.late_ns, o->port.again_ppm, o->port.bus_ppm,
		o->port.full_ppm);
}

void scenario_print(const struct scenario *s, FILE *f)
{
	uint32_t i;

	fprintf(f, "  seed %llu: %u nodes, %s; T %u us H %u us reaper %u us\n",
		(unsigned long long)s->seed, s->nodes,
		s->icrc ? "ICRC" : "no ICRC",
		unic_from_le32(s->params.grace_us),
		unic_from_le32(s->params.deliver_us),
		unic_from_le32(s->params.reaper_us));
	if (s->params.idle_us)
		fprintf(f, "  watermarks %u to %u, idle after %u us\n",
			unic_from_le32(s->params.low_entries),
			unic_from_le32(s->params.high_entries),
			unic_from_le32(s->params.idle_us));
	for (i = 0; i < s->nodes; i++)
		fprintf(f, "  port of nic %u: %s\n", i, port_name[s->port[i]]);
	if (s->residency)
		fprintf(f, "  all regions are %s\n",
			residency_name[s->residency - 1]);
	if (!s->odds_off)
		print_odds(&s->odds, f);
	for (i = 0; i < s->apps; i++)
		if (!s->app[i].off)
			fprintf(f, "  app %u: %s on node %u, weight %u\n", i,
				behaviours[s->app[i].behaviour].name,
				s->app[i].node, s->app[i].weight);
	for (i = 0; i < s->links; i++)
		fprintf(f, "  link: app %u - app %u, %s\n", s->link[i].app[0],
			s->link[i].app[1], type_name[s->link[i].type]);
	for (i = 0; i < s->faults; i++)
		if (!s->fault[i].off)
			fprintf(f, "  at %llu us%s: %s %u, for %llu us\n",
				(unsigned long long)(s->fault[i].at_ns / US),
				s->fault[i].waits ? ", when DMA runs" : "",
				fault_name[s->fault[i].kind],
				s->fault[i].target,
				(unsigned long long)(s->fault[i].for_ns / US));
	if (s->wild && !s->wild_off)
		fprintf(f, "  a wild host\n");
	for (i = 0; i < s->rogues; i++)
		if (!s->rogue[i].off)
			fprintf(f, "  at %llu us: a rogue on node %u, %s\n",
				(unsigned long long)(s->rogue[i].at_ns / US),
				s->rogue[i].node, type_name[s->rogue[i].type]);
	for (i = 0; i < s->forges; i++)
		if (!s->forge[i].off)
			fprintf(f, "  from %llu us on: %u %s, forged\n",
				(unsigned long long)(s->forge[i].at_ns / US),
				s->forge[i].shots,
				forge_name[s->forge[i].kind]);
	for (i = 0; i < s->ops; i++)
		if (!s->op[i].off && !s->app[s->op[i].app].off)
			fprintf(f, "  op %u: app %u %s %llx\n", i, s->op[i].app,
				op_name[s->op[i].kind],
				(unsigned long long)s->op[i].r);
}

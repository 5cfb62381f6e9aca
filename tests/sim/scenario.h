/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * scenario.h - what a seed says will be done: a list that can be printed, and
 * of which parts can be left out while the rest stays as it is (shrink.c).
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdio.h>

#include "world.h"

#define SCN_APPS   12u
#define SCN_LINKS  12u
#define SCN_OPS	   400u
#define SCN_FAULTS 24u

enum scn_op_kind {
	SCN_WRITE,
	SCN_WRITE_IMM,
	SCN_READ,
	SCN_SEND,
	SCN_SEND_IMM,
	SCN_TOKEN,
	SCN_REREG, /* give a region back and register another */
	SCN_PAUSE,
	SCN_CANCEL, /* a token */
	SCN_LIE,    /* something forbidden */
	SCN_POLICY, /* an admin changes its weight and quota */
	SCN_OP_KINDS,
};

enum scn_fault_kind {
	SCN_KILL_APP,	 /* and start it anew */
	SCN_KILL_DRIVER, /* and start the next one */
	SCN_POWER_CUT,
	SCN_RESET,
	SCN_EVICT_STORM, /* an admin asks for every region back */
	SCN_BREAK, /* an application ends its connections, makes new ones */
	SCN_DRAWN, /* the others are not drawn for every scenario */
	SCN_STAND =
		SCN_DRAWN, /* a NIC stands still until it is told to go on */
	SCN_STALL, /* the bus takes no transfer while a message is in hand, and its
		    * queue pair is connected anew before the NIC next looks */
	SCN_LIST, /* the bus is busy while a list is to be read, and an application
		   * gives back the region that it is in */
	SCN_SLEEP, /* a driver does not run for a while, less than H */
	SCN_FAULT_KINDS,
};

struct scn_app {
	uint8_t node, behaviour;
	uint16_t weight;
	bool off;
};

struct scn_link {
	uint8_t app[2];
	uint8_t type, miss; /* enum unic_qp_type, enum unic_qp_miss */
};

struct scn_op {
	uint8_t app, kind;
	bool off;
	uint64_t r;
};

struct scn_fault {
	uint8_t kind, target;
	bool off;
	bool waits; /* for a moment at which bytes are on their way, a while */
	uint64_t at_ns, for_ns;
	uint32_t
		room; /* STAND: frames that it still takes, of each other NIC */
};

struct scenario {
	uint64_t seed;
	uint32_t nodes, apps, links, ops, faults;
	bool icrc;
	bool sleeps;	   /* drivers do not run now and then */
	uint8_t residency; /* of all regions, + 1; 0: mixed */
	bool odds_off;	   /* the shrinker took the wire's faults away */
	bool beside; /* of scenario_stand(): some must finish while a NIC stands */
	struct unic_cmd_set_params params;
	struct world_odds odds;
	uint64_t odds_until_ns;
	uint8_t port[WORLD_NODES]; /* enum port_kind */
	struct scn_app app[SCN_APPS];
	struct scn_link link[SCN_LINKS];
	struct scn_op op[SCN_OPS];
	struct scn_fault fault[SCN_FAULTS];
};

/** scenario_make() - from a seed. */
void scenario_make(struct scenario *s, uint64_t seed);
/**
 * scenario_stand() - another, of three nodes: applications of the first have to do
 * with the second, or with the third, whose NIC stands still in the middle, and
 * stays so until those have finished who have nothing to do with it.
 */
void scenario_stand(struct scenario *s, uint64_t seed);
/** scenario_print() - for a human; what is off is left out. */
void scenario_print(const struct scenario *s, FILE *f);
/** scenario_calm() - nothing goes wrong by itself in it: no fault, but for an
 * admin who asks regions back, and the wire is perfect. */
bool scenario_calm(const struct scenario *s);
/** scenario_apart() - has application @app, and all it is connected with, directly
 * or not, no connection to @node? */
bool scenario_apart(const struct scenario *s, uint32_t app, uint32_t node);
/** scenario_run() - from power-on to the last checker (run.c). */
void scenario_run(const struct scenario *s, bool trace,
		  struct sim_verdict *out);

#endif /* SIM_SCENARIO_H */

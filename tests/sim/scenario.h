/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * scenario.h - the script of a seed: a list that can be printed, and of which
 * parts can be left out while the rest stays as it is (shrink.c).
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdio.h>

#include "world.h"

#define SCN_APPS   12u
#define SCN_LINKS  12u
#define SCN_OPS	   400u
#define SCN_FAULTS 24u
#define SCN_FORGES 16u
#define SCN_ROGUES 3u

enum scn_op_kind {
	SCN_WRITE,
	SCN_WRITE_IMM,
	SCN_READ,
	SCN_SEND,
	SCN_SEND_IMM,
	SCN_TOKEN,
	SCN_REREG, /* release a region and register another */
	SCN_PAUSE,
	SCN_CANCEL, /* cancel a token */
	SCN_LIE,    /* a forbidden operation */
	SCN_POLICY, /* an administrator changes weight and quota of a process, or
		     * it changes its policy and what matters to it */
	SCN_OP_KINDS,
};

enum scn_fault_kind {
	SCN_KILL_APP,	 /* kill one, and start it again */
	SCN_KILL_DRIVER, /* kill one, and start the next */
	SCN_POWER_CUT,
	SCN_RESET,
	SCN_EVICT_STORM, /* an administrator evicts every region */
	SCN_BREAK, /* an application ends its connections and makes new ones */
	SCN_DRAWN, /* the kinds below are not drawn for every scenario */
	SCN_STAND = SCN_DRAWN, /* a NIC stands still until world_go() */
	/* the bus takes no transfer while a message is in hand, and its queue
	 * pair is connected again before the next poll of the NIC */
	SCN_STALL,
	/* the bus is busy while a list is to be read, and an application
	 * releases the region of the list */
	SCN_LIST,
	SCN_SLEEP, /* a driver does not run for a while, less than H */
	SCN_FAULT_KINDS,
};

/* What the attacker on the wire sends; see forger.c. */
enum scn_forge_kind {
	FORGE_FRAME,	/* in the peer's name, with any field wrong */
	FORGE_STRANGER, /* that cannot be the peer's */
	FORGE_REPLAY,	/* as it was sent before */
	FORGE_ARP,
	FORGE_MAD,   /* of the connection manager, or of holders */
	FORGE_NOISE, /* no frame, or a part of one */
	FORGE_KINDS,
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
	/* waits a while, for a moment at which bytes are under way */
	bool waits;
	uint64_t at_ns, for_ns;
	/* STAND: frames that the NIC still takes, of each other NIC */
	uint32_t room;
};

/* When he hears a frame he may send one. */
struct scn_forge {
	uint8_t kind, shots;
	bool off;
	uint64_t at_ns, r;
};

/* A process that keeps no rule (rogue.c). */
struct scn_rogue {
	uint8_t node, type; /* enum unic_qp_type */
	bool off;
	uint64_t at_ns, r;
};

struct scenario {
	uint64_t seed;
	uint32_t nodes, apps, links, ops, faults, forges, rogues;
	bool icrc;
	bool sleeps; /* drivers pause at times */
	/* one more node, of a host that keeps no rule (wild.c) */
	bool wild, wild_off;
	uint64_t wild_r;
	uint8_t residency; /* residency of all regions, + 1; 0: mixed */
	bool odds_off;	   /* the shrinker removed the wire's faults */
	/* of scenario_stand(): some applications must finish while a NIC
	 * stands */
	bool beside;
	struct unic_cmd_set_params params;
	struct world_odds odds;
	uint64_t odds_until_ns;
	uint8_t port[WORLD_NODES]; /* enum port_kind */
	struct scn_app app[SCN_APPS];
	struct scn_link link[SCN_LINKS];
	struct scn_op op[SCN_OPS];
	struct scn_fault fault[SCN_FAULTS];
	struct scn_forge forge[SCN_FORGES];
	struct scn_rogue rogue[SCN_ROGUES];
};

/** scenario_make() - make the scenario of a seed. scenario_attack() - the same, with
 * attackers in any case. */
void scenario_make(struct scenario *s, uint64_t seed);
void scenario_attack(struct scenario *s, uint64_t seed);
/**
 * scenario_stand() - make a scenario of three nodes: applications of the first
 * are connected to the second or to the third. The NIC of the third stands
 * still in the middle, until the applications that are not connected to it have
 * finished.
 */
void scenario_stand(struct scenario *s, uint64_t seed);
/** scenario_print() - print it, without the parts that are off. */
void scenario_print(const struct scenario *s, FILE *f);
/** scenario_calm() - has it no faults: a perfect wire, and nothing but evictions
 * by an administrator? */
bool scenario_calm(const struct scenario *s);
/** scenario_apart() - has application @app, and all it is connected with, directly
 * or not, no connection to @node? */
bool scenario_apart(const struct scenario *s, uint32_t app, uint32_t node);
/** scenario_run() - run it from power-on to the last checker (run.c). */
void scenario_run(const struct scenario *s, bool trace,
		  struct sim_verdict *out);

#endif /* SIM_SCENARIO_H */

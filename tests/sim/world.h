/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * world.h - the hardware and the operating systems: nodes of one NIC and one
 * host each, the wire between them, interrupts, power and the death of
 * processes.
 *
 * Secret: who runs when. A NIC is polled while it has work and woken by what
 * would interrupt it; a driver the same; both a little late, as the seed says.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "host.h"
#include "port.h"
#include "sim.h"
#include "unic_queue.h"

#define WORLD_NODES   8u
#define WORLD_SLOTS   PORT_SLOTS
#define WORLD_CLIENTS 32u /* ever, of one node */
#define WORLD_PAGES   (PORT_SLOT_BYTES / 4096u)

/* Odds of the wire and the doorbells, in parts per million. */
struct world_odds {
	uint32_t loss, dup, reorder, corrupt;
	uint32_t delay_ns; /* of a reordered frame, at most */
	uint32_t byte_ns;  /* a byte takes on the wire; 0: no time */
	uint32_t bell_lost, bell_dup, bell_late;
	struct port_odds port;
};

/* What the wire does to frames for a NIC that it does not deliver. */
enum world_far {
	WORLD_FAR_TAKES = 0,
	WORLD_FAR_SILENT, /* they vanish */
	WORLD_FAR_STANDS, /* they stay where they are, with links: in the ring */
};

struct node;
struct flying;

/* One connection of a process to its driver; the user embeds it. */
struct world_client {
	struct unic_client core;
	struct node *node;
	void (*reply)(struct world_client *c, const void *msg, uint32_t bytes);
	void (*upcall)(struct world_client *c); /* its upcall fd */
	void (*cq)(struct world_client *c);	/* its completion fd */
	void (*hangup)(struct world_client *c); /* end of file */
	uint64_t send_ns, reply_ns;		/* sockets keep the order */
	uint32_t life; /* messages of an earlier one are void */
	bool open;
};

struct unic_os {
	struct node *node;
	struct sim_rng rng;
	uint64_t offset_ns; /* CLOCK_MONOTONIC less virtual time */
	long live;	    /* allocations */
	uint32_t life;
};

struct node {
	uint32_t id;
	struct unic_port port;
	struct unic_nic *nic;
	struct unic_host *host; /* NULL: the driver is dead */
	struct unic_os *os;
	void *journal; /* outlives drivers */
	uint8_t *bar;
	uint8_t *slot[WORLD_SLOTS];
	struct world_client *owner[WORLD_SLOTS]; /* who has the descriptors */
	uint32_t owner_pid[WORLD_SLOTS];	 /* ... or had */
	bool quiet[WORLD_SLOTS]; /* the driver is through with it */
	bool ended[WORLD_SLOTS]; /* and so is its process */
	struct world_client *client[WORLD_CLIENTS];
	uint32_t clients;
	struct unic_cmd_set_params params;
	uint32_t round_ns; /* a poll round of this NIC takes about this */
	struct sim_rng rng;
	uint64_t nic_due, host_due; /* next poll; UINT64_MAX: none */
	uint64_t
		host_far; /* an event for the driver a while from now; as above */
	uint32_t bells[WORLD_SLOTS]; /* doorbell words, as counted */
	bool zeroed[WORLD_SLOTS];    /* its memory was, once */
	uint32_t turn;		     /* whose ring its NIC took last */
	uint64_t nic_free;	     /* until then its processor is busy */
	bool stands;		     /* the NIC is not polled */
	uint64_t host_off_ns;	     /* until then the driver does not run */
	bool slept;		     /* that was so, once */
	uint32_t resets, power_cuts, driver_deaths;
};

struct world {
	uint32_t nodes;
	struct node *node[WORLD_NODES];
	struct world_odds odds;		   /* now */
	uint64_t frames_lost, frames_made; /* by the wire */
	struct sim_rng wire_rng;
	uint64_t wire_ns[WORLD_NODES][WORLD_NODES]; /* keeps the order */
	uint8_t far[WORLD_NODES];		    /* enum world_far */
	uint32_t lose[WORLD_NODES]; /* every so manieth frame to it */
	uint32_t frames[WORLD_NODES];
	struct {
		struct flying *first, *last;
	} ring[WORLD_NODES][WORLD_NODES]; /* to, from: arrived, with links */
	/* with links: @bytes of @from to @to have left at @at_ns */
	void (*left)(uint32_t from, uint32_t to, uint32_t bytes,
		     uint64_t at_ns);
};

extern struct world *world;

/** world_new() - @n nodes, powered on, drivers started. @kind: of each port. */
void world_new(uint32_t n, bool icrc, const uint8_t *kind,
	       const struct unic_cmd_set_params *params);
/** world_odds() - from now on. */
void world_odds(const struct world_odds *odds);

/** world_machine() - the processor and the link of @node, from now on. */
void world_machine(uint32_t node, const struct port_cost *cost,
		   const struct port_link *link);

/** world_connect() - a process opens the driver's socket. False: nobody there. */
bool world_connect(struct world_client *c, uint32_t node, uint32_t pid);
/** world_send() - a request; it arrives a little later. */
void world_send(struct world_client *c, const void *msg, uint32_t bytes);
/** world_doorbell() - process @c, whose doorbell page is @db, says that row @row
 * has got to @index, in word *@fifo of its FIFO, and wakes the NIC if it must. */
void world_doorbell(struct world_client *c, struct unic_db_page *db,
		    uint32_t *fifo, enum unic_db_kind kind, uint32_t row,
		    uint32_t index);
/** world_kill() - the process of @c is no more. */
void world_kill(struct world_client *c);

/** world_reap() - whoever had @slot of @n is no more. */
void world_reap(struct node *n, uint32_t slot);

/** world_kill_driver() / world_start_driver() - SIGKILL, and the next one. */
void world_kill_driver(uint32_t node);
void world_start_driver(uint32_t node);
/** world_power_cut() - the NIC loses power for a moment, DMA under way too. */
void world_power_cut(uint32_t node);
/** world_sleep() - the driver gets no processor for @ns. */
void world_sleep(uint32_t node, uint64_t ns);
/** world_reset() - the driver resets the NIC. */
void world_reset(uint32_t node);

/**
 * world_stand() - the NIC of @node stands still, with all that it has, and no
 * power is lost: of each other one it takes @room more frames at most.
 * world_go() - it goes on.
 */
void world_stand(uint32_t node, uint32_t room);
void world_go(uint32_t node);

/** world_wire() - wire.c: @from sends a frame. */
void world_wire(uint32_t from, const uint8_t *frame, uint32_t len,
		uint32_t flags);
/** world_fetch() - wire.c: the NIC takes what is in the next ring. */
void world_fetch(struct node *n);
/** world_bell() - has a doorbell of @rng's owner been lost? else *at: when it
 * arrives; *again: and once more. */
bool world_bell(struct sim_rng *rng, uint64_t *at, bool *again);
/** world_kick_nic() / world_kick_host() - poll it at @at_ns, or before. */
void world_kick_nic(struct node *n, uint64_t at_ns);
void world_kick_host(struct node *n, uint64_t at_ns);
/** world_slots_free() - no process has or had a slot that is not free again. */
bool world_slots_free(const struct node *n);

#endif /* SIM_WORLD_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * world.h - the hardware and the operating systems: nodes of one NIC and one host
 * each, the wire between them, interrupts, power and the end of processes.
 *
 * Secret: the order of polls. A NIC is polled while it has work and woken by its
 * interrupts; so is a driver; both a little late, by the seed.
 */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "host.h"
#include "port.h"
#include "sim.h"
#include "unic_queue.h"

#define WORLD_NODES   8u
#define WORLD_SLOTS   PORT_SLOTS
#define WORLD_CLIENTS 32u /* of one node, in all */
#define WORLD_PAGES   (PORT_SLOT_BYTES / 4096u)

/* Odds of the wire and the doorbells, in parts per million. */
struct world_odds {
	uint32_t loss, dup, reorder, corrupt;
	uint32_t delay_ns; /* delay of a reordered frame, at most */
	uint32_t byte_ns;  /* time of a byte on the wire; 0: none */
	uint32_t bell_lost, bell_dup, bell_late;
	struct port_odds port;
};

/* What the wire does with frames for a NIC. */
enum world_far {
	WORLD_FAR_TAKES = 0,
	WORLD_FAR_SILENT, /* frames vanish */
	/* frames stay where they are; with links: in the ring */
	WORLD_FAR_STANDS,
};

struct node;
struct flying;

/* One connection of a process to its driver; the user embeds it. */
struct world_client {
	struct unic_client core;
	struct node *node;
	void (*reply)(struct world_client *c, const void *msg, uint32_t bytes);
	/* its upcall descriptor is readable */
	void (*upcall)(struct world_client *c);
	/* its completion descriptor is readable */
	void (*cq)(struct world_client *c);
	void (*hangup)(struct world_client *c); /* end of file */
	uint64_t send_ns, reply_ns;		/* sockets keep the order */
	uint32_t life; /* messages of an earlier life are void */
	bool open;
	bool wild; /* it writes anything anywhere in its slot */
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
	struct unic_host *host; /* NULL: the driver has ended */
	struct unic_os *os;
	void *journal; /* outlives drivers */
	uint8_t *bar;
	uint8_t *slot[WORLD_SLOTS];
	int file; /* with the memory of all slots; -1: none (world_share()) */
	/* the client with the descriptors */
	struct world_client *owner[WORLD_SLOTS];
	/* the process that has or had them */
	uint32_t owner_pid[WORLD_SLOTS];
	bool quiet[WORLD_SLOTS]; /* the driver has finished with the slot */
	bool ended[WORLD_SLOTS]; /* the process of the slot has ended */
	struct world_client *client[WORLD_CLIENTS];
	uint32_t clients;
	struct unic_cmd_set_params params;
	uint32_t round_ns; /* time of a poll round of this NIC, roughly */
	struct sim_rng rng;
	uint64_t nic_due, host_due; /* next poll; UINT64_MAX: none */
	uint64_t host_far; /* delayed event for the driver; UINT64_MAX: none */
	uint32_t bells[WORLD_SLOTS]; /* doorbell words that were counted */
	bool zeroed[WORLD_SLOTS];    /* memory of the slot was zeroed once */
	uint32_t turn;		     /* ring that the NIC took last */
	uint64_t nic_free;	     /* its processor is busy until then */
	bool stands;		     /* the NIC is not polled */
	bool wild;	      /* no checker believes its mailbox (wild.c) */
	uint64_t host_off_ns; /* until then the driver does not run */
	bool slept;	      /* the driver has paused once */
	uint32_t resets, power_cuts, driver_deaths;
};

struct world {
	uint32_t nodes;
	struct node *node[WORLD_NODES];
	struct world_odds odds;		   /* odds at present */
	uint64_t frames_lost, frames_made; /* lost and duplicated by the wire */
	struct sim_rng wire_rng;
	uint64_t wire_ns[WORLD_NODES][WORLD_NODES]; /* keeps the order */
	uint8_t far[WORLD_NODES];		    /* enum world_far */
	uint32_t lose[WORLD_NODES]; /* every n-th frame to the NIC is lost */
	uint32_t frames[WORLD_NODES];
	struct {
		struct flying *first, *last;
	} ring[WORLD_NODES][WORLD_NODES]; /* [to][from]: arrived, with links */
	/* with links: @bytes of @from to @to have left at @at_ns */
	void (*left)(uint32_t from, uint32_t to, uint32_t bytes,
		     uint64_t at_ns);
	/* NULL, or: @from sends a frame */
	void (*heard)(uint32_t from, const uint8_t *frame, uint32_t len);
};

extern struct world *world;

/** world_new() - make @n nodes, with power on and drivers started. @kind: of each
 * port. */
void world_new(uint32_t n, bool icrc, const uint8_t *kind,
	       const struct unic_cmd_set_params *params);
/** world_share() - from the next world_new() on, the memory of slots is in files, which
 * processes map, and bytes that a NIC moves to or from it are judged by their programs. */
void world_share(void);
/** world_odds() - set the odds. */
void world_odds(const struct world_odds *odds);

/** world_machine() - set the processor and the link of @node. */
void world_machine(uint32_t node, const struct port_cost *cost,
		   const struct port_link *link);

/** world_connect() - connect a process to the driver's socket. False: there is no
 * driver. */
bool world_connect(struct world_client *c, uint32_t node, uint32_t pid);
/** world_send() - send a request, which arrives a little later. */
void world_send(struct world_client *c, const void *msg, uint32_t bytes);
/** world_doorbell() - ring as process @c, whose doorbell page is @db: row @row
 * has @index, in word *@fifo of its FIFO. Wakes the NIC if it sleeps. */
void world_doorbell(struct world_client *c, struct unic_db_page *db,
		    uint32_t *fifo, enum unic_db_kind kind, uint32_t row,
		    uint32_t index);
/** world_ring() - ring the NIC as process @c, by its descriptor. */
void world_ring(struct world_client *c);
/** world_hang_up() - close the connection @c; its process lives. */
void world_hang_up(struct world_client *c);
/** world_kill() - end the process of @c. */
void world_kill(struct world_client *c);
/** world_process_ended() - process @pid of @node has ended, with its connections. */
void world_process_ended(uint32_t node, uint32_t pid);

/** world_reap() - the process that had @slot of @n has ended. */
void world_reap(struct node *n, uint32_t slot);

/** world_kill_driver(), world_start_driver() - SIGKILL, and start of the next
 * driver. */
void world_kill_driver(uint32_t node);
void world_start_driver(uint32_t node);
/** world_power_cut() - cut the NIC's power for a moment, with DMA under way. */
void world_power_cut(uint32_t node);
/** world_sleep() - pause the driver for @ns. */
void world_sleep(uint32_t node, uint64_t ns);
/** world_reset() - have the driver reset the NIC. */
void world_reset(uint32_t node);

/**
 * world_stand() - stop polling the NIC of @node, which keeps its state: of each
 * other NIC it takes @room more frames at most. world_go() - poll it again.
 */
void world_stand(uint32_t node, uint32_t room);
void world_go(uint32_t node);

/** world_wire() - wire.c: @from sends a frame. */
void world_wire(uint32_t from, const uint8_t *frame, uint32_t len,
		uint32_t flags);
/** world_forge() - wire.c: NIC @to gets a frame that no NIC sent. @flags: of the
 * frame, and of port_deliver(); WORLD_REPLAYED: one did send it, earlier. */
#define WORLD_REPLAYED (1u << 29)
void world_forge(uint32_t to, const uint8_t *frame, uint32_t len,
		 uint64_t at_ns, uint32_t flags);
/** world_fetch() - wire.c: deliver the frames of the next ring. */
void world_fetch(struct node *n);
/** world_bell() - is a doorbell of @rng's owner lost? If not, *at: when it
 * arrives; *again: it arrives twice. */
bool world_bell(struct sim_rng *rng, uint64_t *at, bool *again);
/** world_kick_nic(), world_kick_host() - poll at @at_ns or before. */
void world_kick_nic(struct node *n, uint64_t at_ns);
void world_kick_host(struct node *n, uint64_t at_ns);
/** world_slots_free() - is every slot that a process had free again? */
bool world_slots_free(const struct node *n);

#endif /* SIM_WORLD_H */

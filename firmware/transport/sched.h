/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sched.h - which queue pair sends next.
 *
 * Secret: the order. A turn belongs to a process and a destination (a path of
 * the port). The scheduler charges a turn what it sent, acknowledgements and
 * READ responses included, divided by the weight of its process, and gives the
 * next turn to the pair that was charged least: start-time fair queueing (Goyal,
 * Vin, Cheng, SIGCOMM 1996). A process that sends to n destinations at a time is
 * charged n times as fast for each of them, so it gets no more than one that
 * sends to one. Within a turn, queue pairs that owe their peers something come
 * first, then those with work requests, each list in the order of arrival; while
 * READ responses are left, or one has no room, both lists alternate.
 *
 *   - A destination without room takes no part, and its clock stands still, so
 *     that it neither saves up turns nor changes the order of those who wait for
 *     it. Each round tries it again: the one who is due, and one other process,
 *     whose queue pair may need no room (it flushes, or has a local operation next).
 *   - A queue pair that waits for something of its own (a region that is in use,
 *     a list that is being read) leaves the order; each round brings one of each
 *     process back.
 *   - A turn that does nothing is charged all the same, unless the destination had
 *     no room. A queue pair that is alone on the NIC is charged nothing.
 *
 * INV-21 of DESIGN.md follows: nobody's turn waits for somebody else's queue
 * pair or destination. Cost: a turn O(log processes + paths), a queue pair that
 * joins O(log processes) at the most.
 */
#ifndef UNIC_SCHED_H
#define UNIC_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "base/tournament.h"
#include "unic_port.h"

struct unic_transport;
struct unic_qp_ctx;
struct unic_wr;

/* What a turn may be charged, in bytes; its last frame may exceed it. */
#define UNIC_SCHED_TURN 8192

/*
 * What a frame costs besides its payload, in bytes, and what the last frame of a
 * request does (its work request, acknowledgement and completion included).
 *
 * If in the round before all that was left to send was towards full paths, the
 * link is the bottleneck, and a frame costs what Ethernet makes of it: preamble,
 * headers up to RETH, checks and gap. Otherwise the processor is, and handling a
 * frame costs what it could have copied meanwhile: tests/bench/insn.c counts
 * about 10 bytes for each instruction, 130 instructions for a further frame of a
 * long message and 300 for a small one from its doorbell to its completion.
 *
 * A link that is short of slots (unic_link.slots) is a bottleneck of another kind:
 * there a frame costs a slot, so many bytes as the longest frame has, whatever is
 * in it. So that the functions that send need not know that, charges of such a
 * round are in 1 / 2^UNIC_SLOT_FINE of a byte, in which payload hardly counts.
 */
#define UNIC_COST_LINK	   98u
#define UNIC_COST_CPU	   1280u
#define UNIC_COST_CPU_LAST 3072u
#define UNIC_SLOT_FINE	   6u

/* What a process can owe for a destination, in bytes: a long READ. */
#define UNIC_SCHED_DEBT (64 << 20)

/* What a queue pair is charged for a turn that cost nothing else, in bytes. */
#define UNIC_COST_IDLE 512u

/* unic_qp.on: the lists it is on, or would be on if it were not alone; also indices of unic_qp.next[] */
#define UNIC_LIST_SEND	0u
#define UNIC_LIST_REPLY 1u
#define UNIC_LISTS	2u
#define UNIC_ON_SEND	(1u << UNIC_LIST_SEND)
#define UNIC_ON_REPLY	(1u << UNIC_LIST_REPLY)
#define UNIC_ON_WAIT	(1u << UNIC_LISTS) /* ON_SEND, and on the list `wait` */
/* Of a queue pair with a transmit limit (meter.h): parked until its time, and what it
 * wants to do then. Constants of 0 where there are no limits. */
#define UNIC_HELD_SEND	(UNIC_METERS ? 1u << 3 : 0u)
#define UNIC_HELD_REPLY (UNIC_METERS ? 1u << 4 : 0u)
#define UNIC_ON_PARKED	(UNIC_METERS ? 1u << 5 : 0u)
#define UNIC_ON_METERED (UNIC_METERS ? 1u << 7 : 0u)

struct unic_sched_list {
	uint16_t head, tail; /* through unic_qp.next[] */
};

/* A process and a destination. */
struct unic_sched_pair {
	uint64_t tag; /* virtual time at which its next turn starts */
	struct unic_sched_list list[UNIC_LISTS];
	bool send_next; /* the reply list had its turn */
};

/* A destination. Its clock: virtual time less `offset`. */
struct unic_sched_path {
	uint64_t offset;
	uint64_t stopped; /* virtual time when it was found full */
	struct unic_tournament
		first;	/* of the processes that have work for it */
	uint16_t asked; /* last, of those who are not the first */
	struct unic_sched_pair pair[UNIC_PROCS];
};

struct unic_sched {
	uint32_t work; /* queue pairs on any list: 0 = nothing to do */
	/*
	 * Mostly there is just one thing to do. It is then on no list: UNIC_ON_*
	 * in sole_on, and its queue pair; 0: what there is, is on the lists.
	 */
	uint8_t sole_on;
	uint16_t sole;
	/* of a frame in this turn, of the last one of a request: UNIC_COST_*,
	 * or a slot */
	uint32_t cost, cost_last;
};

/* The order of those who are not alone. */
struct unic_sched_order {
	uint16_t busy; /* bit x: somebody has work for path x */
	uint16_t full; /* bit x: path x had no room in this round */
	bool stuck; /* the last round ended because all that was busy was full */
	uint8_t fine; /* charges of this round are in 2^-fine bytes */
	uint64_t now; /* virtual time: the tag of the turn that began last */
	uint16_t has[UNIC_PROCS];    /* bit x: this process has, for path x */
	uint32_t weight[UNIC_PROCS]; /* that `scale` was computed from */
	uint32_t scale[UNIC_PROCS];  /* virtual time of a byte */
	uint32_t waits;		     /* queue pairs on `wait` */
	struct unic_sched_list wait[UNIC_PROCS];
	struct unic_sched_path path[UNIC_PATHS];
};

/** unic_sched_init() - nothing waits to be sent, no process owes anything. */
void unic_sched_init(struct unic_transport *nic);

/** unic_sched_unit() - @bytes in the unit of what is charged in this round. */
int32_t unic_sched_unit(const struct unic_transport *nic, int32_t bytes);

/** unic_sched_proc_new() - slot @p, which has no queue pair, is another process's,
 * which owes nothing. */
void unic_sched_proc_new(struct unic_transport *nic, uint32_t p);

/** unic_sched_send() - QP @idx has something to send, fetch or flush. */
void unic_sched_send(struct unic_transport *nic, uint16_t idx);

/** unic_sched_reply() - QP @idx owes its peer something. */
void unic_sched_reply(struct unic_transport *nic, uint16_t idx);

/** unic_sched_read_cost() - of @psns packets that a READ asks for, while the
 * processor is the bottleneck. A READ is charged UNIC_SCHED_DEBT at the most. */
static inline uint64_t unic_sched_read_cost(uint32_t mtu_shift, uint32_t psns)
{
	return (uint64_t)psns * (UNIC_COST_CPU + (1u << mtu_shift));
}

/** unic_sched_unread() - request @wr of @qp ends, or is refused. What it was charged
 * (UNIC_WR_PAID) for packets from sq.psn_una on, which do not come, is given back,
 * as far as it is still owed: to a process with more than one open destination the
 * price of one. */
void unic_sched_unread(struct unic_transport *nic, const struct unic_qp_ctx *qp,
		       struct unic_wr *wr);

/** unic_sched_mark() - a queue pair with a limit (@metered) is never alone, and its
 * turns are meter.h's. */
void unic_sched_mark(struct unic_transport *nic, uint16_t idx, bool metered);

/** unic_sched_join() - QP @idx, which is not on list @which, has something to do there,
 * and is not alone. */
void unic_sched_join(struct unic_transport *nic, uint16_t idx, uint32_t which);

/** unic_sched_turn() - a turn of QP @idx, which was taken off list @which. Takes what it
 * costs off *@left; returns an enum unic_turn. */
int unic_sched_turn(struct unic_transport *nic, uint16_t idx, uint32_t which,
		    int32_t *left);

/** unic_sched_drop() - take QP @idx off all lists. */
void unic_sched_drop(struct unic_transport *nic, uint16_t idx);

/** unic_sched_drop_sole() - the only thing there was to do, of @qp, which is on no list, is
 * done. */
void unic_sched_drop_sole(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_sched_run() - one bounded round: at most 64 KiB and one turn, as they
 * are charged (a READ request: with the bytes it asks for), and 32 queue pairs. True if anything was done. */
bool unic_sched_run(struct unic_transport *nic);

#endif /* UNIC_SCHED_H */

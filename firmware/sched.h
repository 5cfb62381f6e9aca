/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sched.h - who may send next.
 *
 * Secret: the order. Replies (acknowledgements, READ responses) come first;
 * then deficit round robin over the processes, in bytes, with the weights of
 * their fair shares; then round robin over a process's queue pairs. A process
 * with ten queue pairs gets no more than one with one.
 */
#ifndef UNIC_SCHED_H
#define UNIC_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "set.h"

struct unic_nic;

#define UNIC_SCHED_QUANTUM 4352u /* bytes per round and unit of weight */
#define UNIC_SCHED_WEIGHT  64u	 /* weights above count as this */

/* unic_qp.on: the lists it is on, or would be on if it were not alone; also indices of unic_qp.next[] */
#define UNIC_LIST_SEND	0u
#define UNIC_LIST_REPLY 1u
#define UNIC_ON_SEND	(1u << UNIC_LIST_SEND)
#define UNIC_ON_REPLY	(1u << UNIC_LIST_REPLY)

struct unic_sched_list {
	uint16_t head, tail; /* through unic_qp.next[] */
};

struct unic_sched {
	uint32_t work; /* queue pairs on any list: 0 = nothing to do */
	/*
	 * Mostly there is just one thing to do. It is then on no list: UNIC_ON_*
	 * in sole_on, and its queue pair; 0: what there is, is on the lists.
	 */
	uint8_t sole_on;
	uint16_t sole;
	struct unic_sched_list reply;
	struct unic_sched_list send[UNIC_PROCS];
	int32_t deficit[UNIC_PROCS]; /* bytes; never above one round's */
	uint16_t turn;		     /* the process whose turn it is */
	struct unic_set ready; /* processes with a queue pair on their list */
};

void unic_sched_init(struct unic_nic *nic);

/** unic_sched_send() - QP @idx has something to send, fetch or flush. */
void unic_sched_send(struct unic_nic *nic, uint16_t idx);

/** unic_sched_reply() - QP @idx owes its peer something. */
void unic_sched_reply(struct unic_nic *nic, uint16_t idx);

/** unic_sched_drop() - take QP @idx off all lists. */
void unic_sched_drop(struct unic_nic *nic, uint16_t idx);

/** unic_sched_run() - one bounded round. True if anything was done. */
bool unic_sched_run(struct unic_nic *nic);

#endif /* UNIC_SCHED_H */

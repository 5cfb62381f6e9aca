/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * slots.h - the table of process slots: who is attached, which doorbell row is
 * whose, and what the processes that detach may cost in a round.
 *
 * Secret: how a doorbell is noticed. Idle cost: one load and one compare per
 * attached process. A slot is filled, emptied and rung by command/proc.c.
 */
#ifndef UNIC_SLOTS_H
#define UNIC_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ration.h"
#include "board.h"
#include "unic_mbox.h"
#include "unic_queue.h"

struct unic_base;

#define UNIC_DB_NONE 0xffffu

struct unic_proc {
	const UNIC_BOX_DB_PAGE *db; /* NULL: slot not attached */
	UNIC_BOX_NIC_PAGE *np;
	uint32_t host_pid;
	uint32_t policy; /* enum unic_policy */
	bool detaching;
	uint16_t mr_head; /* its regions */
	uint16_t mrs, qps, cqs;
	uint16_t qp_of[UNIC_BOX_DB_ROWS]; /* db_index -> QP index or DB_NONE */
	uint16_t cq_of[UNIC_BOX_DB_ROWS];
};

/* What an idle round looks at, one per attached slot, densely; the first one is
 * always there. */
struct unic_watch {
	const unic_le32 *seq; /* its doorbell page's fifo_seq */
	uint32_t seen;	      /* words taken so far */
	uint32_t slot;
	unic_le32 still; /* 0: what is watched while there is no process */
};

/** unic_watch_moved() - are there doorbell words not yet taken? */
static inline bool unic_watch_moved(const struct unic_watch *w)
{
	return unic_from_le32(*(const volatile unic_le32 *)w->seq) != w->seen;
}

struct unic_procs {
	uint32_t n_active;
	uint32_t n_detaching;
	struct unic_ration
		leaving; /* what processes that detach end in a round */
	struct unic_watch watch[UNIC_PROCS];
	struct unic_proc proc[UNIC_PROCS];
};

/* What a process is told of its bad doorbells. */
struct unic_db_error {
	uint64_t ns;   /* not before */
	uint32_t word; /* the first bad one */
	bool due;      /* DB_ERROR not yet on the event ring */
	bool told;     /* ... or there and not acknowledged */
};

/* Apart from struct unic_procs, which every round reads. */
struct unic_db_errors {
	uint32_t due;
	struct unic_db_error of[UNIC_PROCS];
};

/** unic_slot_init() - no process is attached. */
void unic_slot_init(struct unic_base *nic);

/** unic_slot_live() - @proc (any number) is attached and does not detach. */
bool unic_slot_live(const struct unic_base *nic, uint32_t proc);

/** unic_slot_watch() - slot @slot has its pages: its doorbells are looked for, from
 * the next word on. */
void unic_slot_watch(struct unic_base *nic, uint32_t slot);

/** unic_slot_unwatch() - the opposite; another slot may take its place in watch[]. */
void unic_slot_unwatch(struct unic_base *nic, uint32_t slot);

/** unic_slot_bind() - the object (QP: kind UNIC_DB_SQ, CQ: UNIC_DB_ARM) with
 * index @idx gets row @db_index of slot @proc. 0, -UNIC_EINVAL, -UNIC_EBUSY (row
 * taken). @idx UNIC_DB_NONE unbinds. */
int unic_slot_bind(struct unic_base *nic, uint32_t proc, enum unic_db_kind kind,
		   uint32_t db_index, uint16_t idx);

/** unic_slot_bad_doorbell() - @word of process @proc names nothing: count it, and
 * note that DB_ERROR is due (command/proc.c sends it) unless one is on its way or
 * not acknowledged. */
void unic_slot_bad_doorbell(struct unic_base *nic, uint32_t proc,
			    uint32_t word);

/* What processes that detach may cost in a round, all together, in units of some 40
 * instructions; what each thing costs (tests/bench/steps.json). The first that is
 * too much is the last of the round. */
#define UNIC_LEAVE_ROUND 512u
#define UNIC_LEAVE_QP	 80u /* with a full window */
#define UNIC_LEAVE_MR	 24u /* and 1 for each entry */
#define UNIC_LEAVE_TOMB	 15u /* of a region that was taken before */

/** unic_slot_ration_left() - what is left of UNIC_LEAVE_ROUND in this round; 0: no
 * more of a process that detaches ends in it. */
uint32_t unic_slot_ration_left(struct unic_base *nic);

/** unic_slot_ration_spend() - something ends that costs so much. */
void unic_slot_ration_spend(struct unic_base *nic, uint32_t cost);

#endif /* UNIC_SLOTS_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * slots.h - the table of process slots: attached processes, the queues of their
 * doorbell rows, and the work per round for processes that detach.
 *
 * Secret: how new doorbell words are detected. Idle cost: one load and one
 * compare per attached process. command/proc.c fills and empties slots and
 * handles doorbells.
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
	uint16_t keeper;  /* see unic_slot_keeper() */
	uint16_t mr_head; /* first of its regions */
	uint16_t mrs, qps, cqs;
	/* db_index -> QP index, UNIC_QPS + SRQ index, or UNIC_DB_NONE */
	uint16_t qp_of[UNIC_BOX_DB_ROWS];
	uint16_t cq_of[UNIC_BOX_DB_ROWS];
};

/* What an idle round reads: one per attached slot, without gaps; watch[0] is
 * always valid. */
struct unic_watch {
	const unic_le32 *seq; /* fifo_seq of the slot's doorbell page */
	uint32_t seen;	      /* words taken so far */
	uint32_t slot;
	unic_le32 still; /* 0: *seq while no process is attached */
};

/** unic_watch_moved() - true if the doorbell page has words that were not taken. */
static inline bool unic_watch_moved(const struct unic_watch *w)
{
	return unic_from_le32(*(const volatile unic_le32 *)w->seq) != w->seen;
}

struct unic_procs {
	uint32_t n_active;
	uint32_t n_detaching;
	struct unic_ration
		leaving; /* work per round for processes that detach */
	struct unic_watch watch[UNIC_PROCS];
	struct unic_proc proc[UNIC_PROCS];
};

/* The DB_ERROR event of a process. */
struct unic_db_error {
	uint64_t ns;   /* the event is not sent before this time */
	uint32_t word; /* the first bad word */
	bool due;      /* the event is not yet on the event ring */
	bool told;     /* the event was sent and is not acknowledged */
};

/* Separate from struct unic_procs, which every round reads. */
struct unic_db_errors {
	uint32_t due;
	struct unic_db_error of[UNIC_PROCS];
};

/** unic_slot_init() - no process is attached. */
void unic_slot_init(struct unic_base *nic);

/** unic_slot_live() - true if @proc (any number) is attached and does not
 * detach. */
bool unic_slot_live(const struct unic_base *nic, uint32_t proc);

/** unic_slot_keeper() - the slot that the regions belong to which @proc is charged for:
 * its own, or, of an account (PROC_ATTACH), the one that it is an account of. */
static inline uint32_t unic_slot_keeper(const struct unic_procs *ps,
					uint32_t proc)
{
	return UNIC_ACCOUNTS ? ps->proc[proc].keeper : proc;
}

/** unic_slot_is_account() - true if @proc has no objects of its own. */
static inline bool unic_slot_is_account(const struct unic_procs *ps,
					uint32_t proc)
{
	return UNIC_ACCOUNTS && ps->proc[proc].keeper != proc;
}

/** unic_slot_leaves() - true if the regions that @proc is charged for are ending,
 * because their owner detaches. An account that detaches waits for their ends. */
static inline bool unic_slot_leaves(const struct unic_procs *ps, uint32_t proc)
{
	return ps->proc[unic_slot_keeper(ps, proc)].detaching;
}

/** unic_slot_watch() - adds slot @slot, which has its pages, to watch[]; doorbell
 * words from the next one on are noticed. */
void unic_slot_watch(struct unic_base *nic, uint32_t slot);

/** unic_slot_unwatch() - removes @slot from watch[]; the last slot of watch[]
 * takes its place. */
void unic_slot_unwatch(struct unic_base *nic, uint32_t slot);

/** unic_slot_bind() - binds row @db_index of slot @proc to the object with index
 * @idx (UNIC_DB_SQ: a QP, or UNIC_QPS + an SRQ, UNIC_DB_ARM: a CQ). Returns 0, -UNIC_EINVAL, or
 * -UNIC_EBUSY if the row is taken. @idx UNIC_DB_NONE unbinds. */
int unic_slot_bind(struct unic_base *nic, uint32_t proc, enum unic_db_kind kind,
		   uint32_t db_index, uint16_t idx);

/** unic_slot_bad_doorbell() - counts @word of process @proc, which names no
 * object, and makes DB_ERROR due (command/proc.c sends it), unless one is due or
 * not acknowledged. */
void unic_slot_bad_doorbell(struct unic_base *nic, uint32_t proc,
			    uint32_t word);

/* Work per round for all processes that detach together, and the cost of each
 * step, in units of some 40 instructions (tests/bench/steps.json). The first step
 * that exceeds the rest is the last of the round. */
#define UNIC_LEAVE_ROUND 512u
#define UNIC_LEAVE_QP	 80u /* with a full window */
#define UNIC_LEAVE_MR	 24u /* plus 1 for each entry */
#define UNIC_LEAVE_TOMB	 15u /* of a region that was revoked before */

/** unic_slot_ration_left() - returns what is left of UNIC_LEAVE_ROUND in this
 * round; at 0 no further step is allowed. */
uint32_t unic_slot_ration_left(struct unic_base *nic);

/** unic_slot_ration_spend() - a step of a detaching process costs @cost. */
void unic_slot_ration_spend(struct unic_base *nic, uint32_t cost);

#endif /* UNIC_SLOTS_H */

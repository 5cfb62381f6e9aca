/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * proc.h - process slots: attach, detach, and their doorbell pages.
 *
 * Secret: how a doorbell reaches its queue (abi/unic_queue.h). Idle cost: one
 * load and one compare per attached process.
 */
#ifndef UNIC_PROC_H
#define UNIC_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_mbox.h"
#include "unic_queue.h"

struct unic_nic;

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

void unic_proc_init(struct unic_nic *nic);

/** unic_proc_attach() - PROC_ATTACH. 0; -UNIC_EINVAL; -UNIC_EBUSY (slot in use, or
 * pages of another slot);
 * -UNIC_EBUS (doorbell pages not in a window). */
int unic_proc_attach(struct unic_nic *nic,
		     const struct unic_cmd_proc_attach *cmd);

/** unic_proc_detach() - PROC_DETACH. 0: nothing of it is left. -UNIC_EPENDING:
 * PROC_GONE follows. -UNIC_ENOPROC. */
int unic_proc_detach(struct unic_nic *nic, uint32_t proc);

/** unic_proc_set() - PROC_SET. 0, -UNIC_ENOPROC, -UNIC_EINVAL. */
int unic_proc_set(struct unic_nic *nic, const struct unic_cmd_proc_set *cmd);

/** unic_proc_live() - attached and not detaching. */
bool unic_proc_live(const struct unic_nic *nic, uint32_t proc);

/** unic_proc_take() - the doorbells of watch[@i]: fewer than UNIC_BOX_DB_FIFO words,
 * or the tails of all its queues. */
void unic_proc_take(struct unic_nic *nic, uint32_t i);

/** unic_proc_detaching() - go on with slots that detach, as far as a round goes.
 * Returns when to call again, UINT64_MAX: none does. */
uint64_t unic_proc_detaching(struct unic_nic *nic);

/* What processes that detach may cost in a round, all together, in units of some 40
 * instructions; what each thing costs (tests/bench/steps.json). The first that is
 * too much is the last of the round. */
#define UNIC_LEAVE_ROUND 512u
#define UNIC_LEAVE_QP	 80u /* with a full window */
#define UNIC_LEAVE_MR	 24u /* and 1 for each entry */
#define UNIC_LEAVE_TOMB	 15u /* of a region that was taken before */

/** unic_proc_may_leave() - may one more thing of a process that detaches end in this
 * round? */
bool unic_proc_may_leave(struct unic_nic *nic);

/** unic_proc_leaves() - one that costs so much does. */
void unic_proc_leaves(struct unic_nic *nic, uint32_t cost);

/** unic_proc_bad_doorbell() - @word of process @proc names nothing: count it,
 * and have DB_ERROR sent unless one is on its way or not acknowledged. */
void unic_proc_bad_doorbell(struct unic_nic *nic, uint32_t proc, uint32_t word);

/** unic_proc_db_ack() - DB_ACK. 0, -UNIC_ENOPROC; nothing if none was sent. */
int unic_proc_db_ack(struct unic_nic *nic, uint32_t proc);

/** unic_proc_db_events() - send the DB_ERROR events that are due. Returns when
 * to be called again, UINT64_MAX: none is left. */
uint64_t unic_proc_db_events(struct unic_nic *nic);

/** unic_proc_sleep() - set or clear every `asleep` word. */
void unic_proc_sleep(struct unic_nic *nic, bool asleep);

/** unic_proc_bind() - the object (QP: kind UNIC_DB_SQ, CQ: UNIC_DB_ARM) with
 * index @idx gets row @db_index. 0, -UNIC_EINVAL, -UNIC_EBUSY (row taken).
 * @idx UNIC_DB_NONE unbinds. */
int unic_proc_bind(struct unic_nic *nic, uint32_t proc, enum unic_db_kind kind,
		   uint32_t db_index, uint16_t idx);

#endif /* UNIC_PROC_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * nic.h - one NIC: all of its state, and the poll loop.
 *
 * Secret: the order of work in a poll round and when the NIC may sleep. Nothing
 * of the core lives outside struct unic_nic; its size is a constant of the
 * board.
 */
#ifndef UNIC_NIC_H
#define UNIC_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/arp.h"
#include "board.h"
#include "transport/parked.h"
#include "memory/cache.h"
#include "memory/cuts.h"
#include "memory/candidates.h"
#include "transport/cq.h"
#include "transport/cut.h"
#include "memory/dependents.h"
#include "transport/dma.h"
#include "base/compiler.h"
#include "base/err.h"
#include "arbiter/notice.h"
#include "arbiter/share.h"
#include "revoke/admission.h"
#include "revoke/demand.h"
#include "revoke/evict.h"
#include "memory/key_guard.h"
#include "revoke/reclaim.h"
#include "base/mailbox.h"
#include "transport/local_ops.h"
#include "memory/fault.h"
#include "memory/idle.h"
#include "memory/mr.h"
#include "memory/revoked.h"
#include "memory/dma_mr.h"
#include "base/slots.h"
#include "memory/pd.h"
#include "command/proc.h"
#include "transport/qp.h"
#include "base/random.h"
#include "memory/stag.h"
#include "memory/tlb.h"
#include "memory/token.h"
#include "base/trace.h"
#include "memory/usage.h"
#include "unic_port.h"

/* What idle rounds and hot paths touch comes first, large tables last: on Arm
 * an offset below 4096 is part of the instruction. */
struct unic_nic {
	struct unic_port *port;
	uint64_t now_ns;	/* NIC time, at most a few rounds old */
	uint64_t timers_ns;	/* next time the timed modules want a look */
	uint64_t idle_since_ns; /* last time a round found work */
	uint32_t spin_ns; /* it sleeps so long after; hal/ may change it */
	uint32_t epoch;
	uint8_t state;	/* enum unic_nic_state */
	bool armed;	/* asleep flags are set */
	uint8_t stale;	/* rounds with work since the clock was read */
	bool chores;	/* qp.c: events or sweeps are due */
	bool evict_due; /* unic_evict_poll() looks whatever the time is */
	uint32_t polls; /* not yet in the counter: unic_roce_count() */
	struct unic_mbox mbox;
	struct unic_sched sched;
	uint32_t ipv4;	   /* ours, host order; 0: none */
	uint32_t rx_fault; /* frames still to drop (FAULT) */
	uint64_t beat_ns;  /* next heartbeat */
	struct unic_link link;
	/* what the last frame was like, see fastpath_rx.c */
	const struct unic_expect *like;
	struct unic_trace trace;
	struct unic_procs procs;
	struct unic_dma dma;
	uint64_t counter[UNIC_C_COUNT];
	_Alignas(64) struct unic_mrs mrs; /* offsets of few bits: one add */
	_Alignas(256) struct unic_tlb tlb;
	struct unic_cqs cqs;
	struct unic_qps qps;
	struct unic_revoked revoked;
	_Alignas(64) struct unic_tokens tokens; /* the same; 64 bytes each */
	struct unic_share share;		/* of TLB entries */
	struct unic_notices notices;
	struct unic_evict evict;
	struct unic_reclaim reclaim;
	struct unic_admission admission;
	struct unic_demands demands;
	struct unic_candidates candidates;
	struct unic_idle idle;
	struct unic_random random;
	struct unic_arps arps;
	struct unic_db_errors db_errors;
	struct unic_derived_regions forms;
	struct unic_list_reader memop;
	struct unic_cache cache;
	struct unic_promises promises;
	struct unic_faults misses;
	uint64_t list[UNIC_BOX_LIST_BYTES /
		      8u]; /* a command's list page, fetched once */
	struct unic_dma_mrs physical;
	struct unic_usages uses;
	struct unic_parked_frames bounces;
	struct unic_sched_order order;
	struct unic_key_guards guesses;
	struct unic_stags stags;
	struct unic_cuts cuts;
	struct unic_cut_lap cut_lap;
};

/* Count something (abi/unic_stats.h). */
#define UNIC_COUNT(nic, name) UNIC_COUNT_ADD(nic, name, 1u)
#define UNIC_COUNT_ADD(nic, name, n) \
	unic_count(&(nic)->counter[UNIC_C_##name], n)

/* A promise of ours; cites an invariant of docs/DESIGN.md where there is one. */
#define UNIC_ASSERT(nic, cond)                                            \
	do {                                                              \
		if (unlikely(!(cond)))                                    \
			unic_port_panic((nic)->port, __FILE__, __LINE__); \
	} while (0)

/**
 * unic_nic_init() - power-on: everything empty, info page published, state
 * READY, epoch random. @port must live as long as @nic.
 */
void unic_nic_init(struct unic_nic *nic, struct unic_port *port);

/* Looks around of an idle unic_nic_poll(), beside the first one; even. A board
 * on which nobody writes while the NIC polls needs no more than two. */
#ifndef UNIC_SPIN_LOOKS
#define UNIC_SPIN_LOOKS 128u
#endif

/**
 * unic_nic_poll() - one round of bounded work; if there is none, some more
 * looks for it.
 *
 * How long a round can be, in instructions and by step, is stated in
 * docs/DESIGN.md, section 16; `make bench-insn` measures the worst case of each.
 * What grows with a table there is one round's work for all of it.
 *
 * Returns 0: there may be more, poll again at once. Otherwise the NIC time in
 * ns until which the caller may sleep: all asleep flags are set, the link is
 * armed and a further look found nothing, so whatever happens from now on
 * interrupts (INV-1). UINT64_MAX never comes: the heartbeat bounds it.
 */
uint64_t unic_nic_poll(struct unic_nic *nic);

/**
 * unic_nic_quiesce() - stop all operations: QPs to error, nothing is received,
 * sent or moved any more, state FAILED, the driver interrupted. For a driver that does not answer (H). Objects stay
 * until the driver asks for a reset.
 */
void unic_nic_quiesce(struct unic_nic *nic);

#endif /* UNIC_NIC_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * base.h - what every room of the core sees of the NIC.
 *
 * Each room has a struct of this kind, which contains that of the room before it:
 * unic_base, unic_memory, unic_revoke, unic_transport, unic_command, unic_nic. A
 * function takes the one of its own room, so it can touch no state of a room behind,
 * and gives `&nic->memory` to a function of memory/. Fields of all rooms before are
 * named as if they were its own: `nic->now_ns`.
 */
#ifndef UNIC_BASE_H
#define UNIC_BASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/mailbox.h"
#include "base/random.h"
#include "base/slots.h"
#include "base/trace.h"
#include "board.h"
#include "unic_port.h"

/* What idle rounds and hot paths touch comes first, large tables last: on Arm
 * an offset below 4096 is part of the instruction. */
struct unic_base {
	struct unic_port *port;
	uint64_t now_ns;	/* NIC time, at most a few rounds old */
	uint64_t timers_ns;	/* next time the timed modules want a look */
	uint64_t idle_since_ns; /* last time a round found work */
	uint32_t spin_ns; /* it sleeps so long after; hal/ may change it */
	uint32_t epoch;
	uint8_t state;	/* enum unic_nic_state */
	bool armed;	/* asleep flags are set */
	uint8_t stale;	/* rounds with work since the clock was read */
	uint32_t polls; /* not yet in the counter: unic_roce_count() */
	struct unic_mbox mbox;
	uint32_t ipv4;	  /* ours, host order; 0: none */
	uint64_t beat_ns; /* next heartbeat */
	struct unic_link link;
	struct unic_trace trace;
	struct unic_procs procs;
	uint64_t counter[UNIC_C_COUNT];
	struct unic_random random;
	struct unic_db_errors db_errors;
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

#endif /* UNIC_BASE_H */

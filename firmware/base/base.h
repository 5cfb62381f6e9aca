/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * base.h - what every room of the core sees of the NIC.
 *
 * Each room has a struct of this kind, which contains that of the room before it:
 * unic_base, unic_memory, unic_revoke, unic_transport, unic_command, unic_nic. A
 * function takes the struct of its own room, so it can touch no state of a later
 * room, and gives `&nic->memory` to a function of memory/. The fields of all
 * earlier rooms are named as if they were its own: `nic->now_ns`.
 */
#ifndef UNIC_BASE_H
#define UNIC_BASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/histogram.h"
#include "base/mailbox.h"
#include "base/random.h"
#include "base/slots.h"
#include "base/trace.h"
#include "board.h"
#include "unic_port.h"

/*
 * Reading the clock costs more than a look for input on an emulated board (it leaves
 * translated code), so an awake NIC reads it once in so many rounds with work, or after
 * UNIC_SPIN_LOOKS looks that found nothing. A stale clock is late, never early (INV-6). In
 * the same rounds it looks at the words of the driver.
 */
#define UNIC_CLOCK_ROUNDS 4u

/* Fields that idle rounds and hot paths touch come first, large tables last: on
 * Arm an offset below 4096 is part of the instruction. */
struct unic_base {
	struct unic_port *port;
	/* facts that one room finds and a later one reads in the same poll round */
	bool chores;	    /* the queue pairs have events or sweeps due */
	bool evict_due;	    /* unic_evict_deadlines() runs before its time */
	bool token_overdue; /* unic_token_overdue(): a message is to be stopped */
	uint64_t now_ns;    /* NIC time, at most a few rounds old */
	/* earliest time at which run_timers() has work */
	uint64_t timers_ns;
	uint64_t idle_since_ns; /* now_ns of the last round with work */
	/* idle time before the NIC sleeps; hal/ may change it */
	uint32_t spin_ns;
	uint32_t epoch;
	uint8_t state;	/* enum unic_nic_state */
	bool armed;	/* asleep flags are set */
	uint8_t stale;	/* rounds with work since the clock was read */
	uint8_t pieces; /* of DMA in flight: transport/dma.h, memory/table.h */
	/* rounds with work not yet in the counter: unic_roce_count() */
	uint32_t polls;
	struct unic_mbox mbox;
	uint32_t ipv4;	  /* of this NIC, host order; 0: none */
	uint64_t beat_ns; /* time of the next heartbeat */
	struct unic_link link;
	struct unic_trace trace;
	struct unic_procs procs;
	struct unic_random random; /* here it leaves no holes */
	uint64_t counter[UNIC_C_COUNT];
	struct unic_db_errors db_errors;
	struct unic_histograms histograms;
};

/* Adds to a counter of abi/unic_stats.h. */
#define UNIC_COUNT(nic, name) UNIC_COUNT_ADD(nic, name, 1u)
#define UNIC_COUNT_ADD(nic, name, n) \
	unic_count(&(nic)->counter[UNIC_C_##name], n)

/* A condition that the core guarantees; cites its invariant of docs/DESIGN.md
 * where there is one. */
#define UNIC_ASSERT(nic, cond)                                            \
	do {                                                              \
		if (unlikely(!(cond)))                                    \
			unic_port_panic((nic)->port, __FILE__, __LINE__); \
	} while (0)

#endif /* UNIC_BASE_H */

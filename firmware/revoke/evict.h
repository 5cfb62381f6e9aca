/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * evict.h - taking entries back: the way of a region from the decision to ask for it
 * to free entries (MEMORY.md sections 5 and 6). What asks is reclaim.h; whose requests
 * drive that, admission.h.
 */
#ifndef UNIC_EVICT_H
#define UNIC_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_mbox.h"

struct unic_revoke;

/* Units of regions whose grace was extended: on their way back, but nobody
 * counts on them. */
struct unic_put_off {
	uint32_t all, of[UNIC_PROCS];
};

struct unic_evict {
	uint64_t next_ns;   /* nothing to do before, unless nic->evict_due */
	uint16_t evts_due;  /* regions with an event held back */
	bool driver_failed; /* a notice was not delivered within H */
	/* accounts */
	uint16_t open[UNIC_PROCS];	     /* notices open */
	uint16_t indices_coming[UNIC_PROCS]; /* of regions that end */
	uint32_t evictions[UNIC_PROCS], late[UNIC_PROCS];
	uint16_t leave_at
		[UNIC_PROCS]; /* of a process that detaches: its next region */
	struct unic_put_off put_off;
};

/** unic_evict_init() - default parameters (T 20 ms, H 50 ms, reaper 1 ms). */
void unic_evict_init(struct unic_revoke *nic);

/**
 * unic_evict_deadlines() - the first half of the step of a round, bounded: regions
 * whose grace is over drain, and those that are still used are marked
 * (memory/cuts.h). The caller has their operations end, and then, in the same round,
 * stops the NIC if evict.driver_failed says so, or goes on with unic_evict_poll().
 * Returns false if nothing is due before evict.next_ns: then nothing was done, and
 * there is no other half.
 */
bool unic_evict_deadlines(struct unic_revoke *nic);

/**
 * unic_evict_poll() - the other half, bounded: events held back, grants to waiters,
 * one reaper step when its period is over.
 * Returns the NIC time at which it next has something to do (UINT64_MAX:
 * nothing until something happens).
 */
uint64_t unic_evict_poll(struct unic_revoke *nic);

/** unic_evict_kick() - as unic_mr_evict_due(), for the rooms behind. */
void unic_evict_kick(struct unic_revoke *nic);

/** unic_evict_admin() - MR_EVICT: ask this region back. -UNIC_ENOMR,
 * -UNIC_ESTATE (not ACTIVE), -UNIC_EINVAL (class control, or it holds no
 * entries: it ends with the region it is made of). */
int unic_evict_admin(struct unic_revoke *nic, uint32_t mr, uint32_t gen);

/**
 * unic_evict_proc_gone() - the process is detaching, and its queues are gone: drain
 * its regions, as many as a round does (slots.h); call again. True when none is left,
 * and no tombstone.
 */
bool unic_evict_proc_gone(struct unic_revoke *nic, uint32_t proc);

/* Accounts, see reclaim.c. */

/* For mr.c and reclaim.c. */

/**
 * unic_evict_revoke() - ask region @mr (ACTIVE) back: a notice, or removal at
 * once for class messaging.
 * @why: enum unic_reason; @for_proc: whose request needs it, or UNIC_OWNER_NIL;
 * @urgent: that request is within its fair share.
 */
void unic_evict_revoke(struct unic_revoke *nic, uint16_t mr, uint8_t why,
		       uint32_t for_proc, bool urgent);

/**
 * unic_evict_hasten() - request of @for_proc, within its fair share, cannot
 * wait for the end of an extended grace: one such region of @owner counts as on
 * its way back again, within H + T. False if it has none.
 */
bool unic_evict_hasten(struct unic_revoke *nic, uint32_t owner,
		       uint32_t for_proc);

/** unic_evict_release() - the owner of region @mr (NOTIFIED) ends its grace: counted,
 * and as unic_evict_give_up(), but a tombstone stays. */
int unic_evict_release(struct unic_revoke *nic, uint16_t mr);

/** unic_evict_give_up() - MR_DEREG of a region not yet evicted: 0 (free) or
 * -UNIC_EPENDING (EVICTED follows). */
int unic_evict_give_up(struct unic_revoke *nic, uint16_t mr);

/**
 * unic_evict_settle() - end the DRAINING regions that became idle (idle.h), and those
 * that become so by that: their entries are free, EVICTED is published. Called around
 * the deadlines of a round, when a process leaves, before each command, which finds
 * nothing half done, and last in a round that may have made others idle since.
 */
void unic_evict_settle(struct unic_revoke *nic);

#endif /* UNIC_EVICT_H */

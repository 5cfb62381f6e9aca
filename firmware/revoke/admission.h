/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * admission.h - REGISTER and REGISTER_WAIT: who gets free entries, and in which
 * order (MEMORY.md section 3).
 *
 * Inside a process FIFO, between processes the order of demand.h. A request is
 * granted whole (INV-7).
 *
 * Each request needs an index of the region table, too. While there are too few
 * of these, they are shared like entries, and a request is within the fair
 * share only if it is in both.
 *
 * A queued request reserves what it needs against everybody who comes after it
 * in this order, and entries that were taken back for it against every
 * registration that did not wait.
 *
 * Who has used up too many indices (stag.h) is served when its rests end: it
 * reserves nothing, and nobody waits for it.
 *
 * A REGISTER that is refused asks, too, if it is within its process's fair
 * share: for B + T the process counts as one that wants that many entries, so
 * they are asked back, and kept for it to come again. It is one request a
 * process, its last, and none beside queued ones.
 */
#ifndef UNIC_ADMISSION_H
#define UNIC_ADMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "memory/mr.h"

struct unic_revoke;

#define UNIC_ADMISSION_NIL 0xffffu

/*
 * One REGISTER_WAIT. Queued it holds no entry: granted whole or not at all.
 * Ended (granted, timed out) it is kept until its event is on the ring.
 */
struct unic_wait {
	struct unic_mr_args args;
	uint64_t since_ns;
	uint64_t give_up_ns; /* 0: never */
	uint32_t id;	     /* given to the driver; 0: this slot is free */
	uint32_t waited_us;  /* ended: how long */
	uint16_t proc;
	uint16_t next;	/* FIFO of the process, list of the ended, or free */
	uint16_t mr;	/* granted: the region, or UNIC_MR_NIL */
	uint8_t status; /* ended: enum unic_status */
	bool ended;
};

/*
 * A REGISTER that was refused for want of room: its process is one that wants
 * entries, although it does not wait, until then.
 */
struct unic_denials {
	struct {
		uint64_t until_ns;
		uint32_t n; /* entries; 0: none, or it has come for them */
		uint32_t seq;
	} of[UNIC_PROCS]; /* none has requests queued as well */
	uint32_t count;
};

struct unic_admission {
	struct unic_wait wait[UNIC_WAITS];
	uint16_t wait_free;
	uint16_t wait_head[UNIC_PROCS], wait_tail[UNIC_PROCS];
	uint16_t ended_head, ended_tail;
	uint16_t waiting;		 /* requests queued */
	uint16_t wait_slots[UNIC_PROCS]; /* taken by each, ended ones too */
	uint16_t wait_used;		 /* ... by all */
	uint16_t wait_without;		 /* processes that have none */
	uint32_t wait_seq;
	uint64_t wait_ns;		 /* no request or denial ends before */
	uint32_t longest_us[UNIC_PROCS]; /* that one waited */
	struct unic_denials denials;
};

/** unic_admission_init() - nobody waits. */
void unic_admission_init(struct unic_revoke *nic);

/**
 * unic_admission_admit() - may @proc register @args now?
 * Returns 0, -UNIC_ETOOLARGE (it never can), -UNIC_ECTRLCAP, -UNIC_EQUOTA,
 * -UNIC_EMRFULL (no index is free; or it has too many at rest, stag.h),
 * -UNIC_ETLBFULL. Makes room only: tombstones may be recycled,
 * and promises end that the registration would break, or that it was promised.
 */
int unic_admission_admit(struct unic_revoke *nic, uint32_t proc,
			 const struct unic_mr_args *args);

/** unic_admission_denied() - @proc was refused @n entries because they, or an index,
 * were not free, and does not wait for them. Beyond its fair share it does not
 * count. */
void unic_admission_denied(struct unic_revoke *nic, uint32_t proc, uint32_t n);

/** unic_admission_queue() - queue a checked request. -UNIC_EPENDING with *id, or
 * -UNIC_EWAITFULL: the process has its weighted part of the slots (one at
 * least, which nobody else can take). Holds a use of the PD. */
int unic_admission_queue(struct unic_revoke *nic,
			 const struct unic_mr_args *args, uint32_t *id);

/** unic_admission_poll() - grant what fits, end what gives up, publish. Returns when
 * to call again (NIC time, UINT64_MAX: no need). */
uint64_t unic_admission_poll(struct unic_revoke *nic);

/** unic_admission_freed() - @n entries taken back for @proc are free: they are
 * promised to its requests. */
void unic_admission_freed(struct unic_revoke *nic, uint32_t proc, uint32_t n);

/** unic_admission_cancel() - WAIT_CANCEL. 0 or -UNIC_ENOWAIT. */
int unic_admission_cancel(struct unic_revoke *nic, uint32_t id);

/**
 * unic_admission_quota_changed() - @proc has another quota: its requests that can
 * never fit under it end with UNIC_ST_TOO_LARGE.
 */
void unic_admission_quota_changed(struct unic_revoke *nic, uint32_t proc);

/** unic_admission_proc_gone() - forget @proc's requests; no events. */
void unic_admission_proc_gone(struct unic_revoke *nic, uint32_t proc);

_Static_assert(UNIC_WAITS >= UNIC_PROCS, "a slot for everybody");

#endif /* UNIC_ADMISSION_H */

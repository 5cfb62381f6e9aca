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

#include "memory/mr.h"
#include "nic.h"

void unic_admission_init(struct unic_nic *nic);

/**
 * unic_admission_admit() - may @proc register @args now?
 * Returns 0, -UNIC_ETOOLARGE (it never can), -UNIC_ECTRLCAP, -UNIC_EQUOTA,
 * -UNIC_EMRFULL (no index is free; or it has too many at rest, stag.h),
 * -UNIC_ETLBFULL. Makes room only: tombstones may be recycled,
 * and promises end that the registration would break, or that it was promised.
 */
int unic_admission_admit(struct unic_nic *nic, uint32_t proc,
			 const struct unic_mr_args *args);

/**
 * unic_admission_open() - true if unic_admission_admit() would return 0 for the simplest of
 * reasons: nobody waits, few indices rest, there is room, and no quota or cap to
 * look at.
 */
static inline bool unic_admission_open(const struct unic_nic *nic,
				       uint32_t proc,
				       const struct unic_mr_args *args)
{
	const struct unic_evict *e = &nic->evict;

	UNIC_IN_REGISTER(e);
	return !nic->mrs.not_open && !e->share.owner[proc].quota &&
	       args->mr_class != UNIC_CLASS_CONTROL && nic->mrs.free &&
	       args->n_pages <= nic->tlb.free;
}

/** unic_admission_denied() - @proc was refused @n entries because they, or an index,
 * were not free, and does not wait for them. Beyond its fair share it does not
 * count. */
void unic_admission_denied(struct unic_nic *nic, uint32_t proc, uint32_t n);

/** unic_admission_queue() - queue a checked request. -UNIC_EPENDING with *id, or
 * -UNIC_EWAITFULL: the process has its weighted part of the slots (one at
 * least, which nobody else can take). Holds a use of the PD. */
int unic_admission_queue(struct unic_nic *nic, const struct unic_mr_args *args,
			 uint32_t *id);

/** unic_admission_poll() - grant what fits, end what gives up, publish. Returns when
 * to call again (NIC time, UINT64_MAX: no need). */
uint64_t unic_admission_poll(struct unic_nic *nic);

/** unic_admission_freed() - @n entries taken back for @proc are free: they are
 * promised to its requests. */
void unic_admission_freed(struct unic_nic *nic, uint32_t proc, uint32_t n);

/** unic_admission_proc_gone() - forget @proc's requests; no events. */
void unic_admission_proc_gone(struct unic_nic *nic, uint32_t proc);

_Static_assert(UNIC_WAITS >= UNIC_PROCS, "a slot for everybody");

#endif /* UNIC_ADMISSION_H */

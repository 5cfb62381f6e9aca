/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * admission.h - REGISTER and REGISTER_WAIT: which request gets free entries, and
 * in which order (MEMORY.md section 3).
 *
 * Requests of a process are a FIFO; between processes the order is that of
 * demand.h. A request is granted whole (INV-7).
 *
 * Each request needs an index of the region table, too. While indices are scarce,
 * they are shared like entries, and a request is within the fair share only if it
 * is within both shares.
 *
 * A queued request reserves what it needs against every request after it in the
 * order, and the entries that were taken back for it against every registration
 * that did not wait.
 *
 * A process that has used up too many indices (stag.h) is served when its rests
 * end: it reserves nothing, and no other request waits for it.
 *
 * A REGISTER that is refused although it is within the fair share of its process
 * is a denial: for B + T it counts as a demand for that many entries, so they are
 * asked back, and kept until the process asks again. A process has one denial,
 * its last, and none while it has queued requests.
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
 * One REGISTER_WAIT. While queued it holds no entry: it is granted whole or not
 * at all. An ended one (granted, timed out) keeps its slot until its event is on
 * the ring.
 */
struct unic_wait {
	struct unic_mr_args args;
	uint64_t since_ns;
	uint64_t give_up_ns; /* 0: never */
	uint32_t id;	     /* the driver's name for it; 0: the slot is free */
	uint32_t waited_us;  /* time waited, once ended */
	uint16_t proc;
	/* in the queue of the process, the ended list or the free list */
	uint16_t next;
	uint16_t mr;	/* granted: the region, or UNIC_MR_NIL */
	uint8_t status; /* ended: enum unic_status */
	bool ended;
};

/*
 * Denials: REGISTERs that were refused for want of room. Until until_ns the
 * process counts as one that wants n entries, although it does not wait.
 */
struct unic_denials {
	struct {
		uint64_t until_ns;
		uint32_t n; /* entries; 0: no denial */
		uint32_t seq;
	} of[UNIC_PROCS]; /* no denial while requests are queued */
	uint32_t count;
};

/* Entries that processes can use at a time (PROC_SET), whether they ask for them or not:
 * what one lacks of them, within its fair share, is a denial that is renewed. */
struct unic_claims {
	uint32_t of[UNIC_PROCS];     /* 0: none */
	uint32_t lacked[UNIC_PROCS]; /* the denial that was made of it last */
	uint32_t count;		     /* of those that are not 0 */
};

struct unic_admission {
	struct unic_wait wait[UNIC_WAITS];
	uint16_t wait_free;
	uint16_t wait_head[UNIC_PROCS], wait_tail[UNIC_PROCS];
	uint16_t ended_head, ended_tail;
	uint16_t waiting; /* requests queued */
	/* slots in use by each process, ended ones too */
	uint16_t wait_slots[UNIC_PROCS];
	uint16_t wait_used;    /* slots in use */
	uint16_t wait_without; /* processes without a slot */
	uint32_t wait_seq;
	uint64_t wait_ns;		 /* no request or denial ends earlier */
	uint32_t longest_us[UNIC_PROCS]; /* longest wait of each process */
	struct unic_denials denials;
	struct unic_claims claims;
};

/** unic_admission_init() - no request waits. */
void unic_admission_init(struct unic_revoke *nic);

/**
 * unic_admission_admit() - may @proc register @args now? Returns 0,
 * -UNIC_ETOOLARGE (never possible), -UNIC_ECTRLCAP, -UNIC_EQUOTA, -UNIC_EMRFULL
 * (no index is free, or @proc has too many at rest, stag.h), -UNIC_ETLBFULL. Side
 * effects: tombstones may be recycled; promises that the registration would break
 * are reduced; a denial that it satisfies ends.
 */
int unic_admission_admit(struct unic_revoke *nic, uint32_t proc,
			 const struct unic_mr_args *args);

/** unic_admission_denied() - records a denial: @proc was refused @n entries
 * because they, or an index, were not free, and does not wait for them. No effect
 * beyond the fair share. */
void unic_admission_denied(struct unic_revoke *nic, uint32_t proc, uint32_t n);

/** unic_admission_claim() - @proc can use @n entries at a time; 0: it claims none. What it
 * lacks of them within its fair share is asked back and kept for it. */
void unic_admission_claim(struct unic_revoke *nic, uint32_t proc, uint32_t n);

/** unic_admission_renew() - entries came back: what is claimed of them is kept. */
void unic_admission_renew(struct unic_revoke *nic);

/** unic_admission_queue() - queues a checked request. Returns -UNIC_EPENDING with
 * *id, or -UNIC_EWAITFULL: the process has its weighted part of the slots (at
 * least one, which no other process can take). A queued request counts as a user
 * of the PD. */
int unic_admission_queue(struct unic_revoke *nic,
			 const struct unic_mr_args *args, uint32_t *id);

/** unic_admission_poll() - grants what fits, ends what timed out, publishes ended
 * requests. Returns when to call again (NIC time, UINT64_MAX: no need). */
uint64_t unic_admission_poll(struct unic_revoke *nic);

/** unic_admission_freed() - promises @n entries, taken back for @proc and free,
 * to its requests. */
void unic_admission_freed(struct unic_revoke *nic, uint32_t proc, uint32_t n);

/** unic_admission_cancel() - WAIT_CANCEL. Returns 0 or -UNIC_ENOWAIT. */
int unic_admission_cancel(struct unic_revoke *nic, uint32_t id);

/**
 * unic_admission_quota_changed() - the quota of @proc changed: requests that can
 * never fit under it end with UNIC_ST_TOO_LARGE.
 */
void unic_admission_quota_changed(struct unic_revoke *nic, uint32_t proc);

/** unic_admission_proc_gone() - drops the requests of @proc, without events. */
void unic_admission_proc_gone(struct unic_revoke *nic, uint32_t proc);

_Static_assert(UNIC_WAITS >= UNIC_PROCS, "a slot for everybody");

#endif /* UNIC_ADMISSION_H */

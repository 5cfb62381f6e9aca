/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mailbox.h - the firmware's side of the mailbox (abi/unic_mbox.h).
 *
 * Secret: the rings - index validation, fetch-once, suppression, and the credit
 * of the event ring that is kept for eviction records.
 */
#ifndef UNIC_MAILBOX_H
#define UNIC_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_mbox.h"
#include "unic_port.h"

/* Bus addresses of one list page. */
#define UNIC_BOX_LIST_MAX (UNIC_BOX_LIST_BYTES / 8u)

/*
 * The word of an `asleep` flag. UNIC_ALWAYS_RING 1 is a board on which no barrier
 * orders our store before our later load, as the host sees them. Neither side may
 * then conclude from a flag of the other that it looks by itself: we say `asleep`
 * always, and ring for every record.
 */
#define UNIC_ASLEEP(asleep) unic_to_le32(UNIC_ALWAYS_RING || (asleep))

struct unic_base;

struct unic_mbox {
	/* an idle round looks at these */
	const unic_le32 *cmd_tail_at, *reset_req_at, *fence_at; /* theirs */
	uint32_t cmd_head;
	uint32_t reset_ack;
	bool irq_due;  /* records were written since the last interrupt */
	uint32_t wild; /* last cmd_tail that was out of range */
	/* the rest */
	uint8_t *bar;
	uint32_t cpl_tail, evt_tail, mad_tail; /* ours */
	uint32_t cpl_head, evt_head, mad_head; /* theirs, as last seen */
	uint32_t drop_tail, drop_head;
	uint32_t beats;
	uint32_t fenced;    /* the fence that was answered; 0: none */
	uint32_t irq_fault; /* interrupts still to skip (FAULT) */
};

/* A command, or its completion. */
struct unic_mbox_record {
	uint64_t word[8];
};

/* Event records that may not be used by anything but NOTICE and EVICTED. */
#define UNIC_EVT_RESERVED (UNIC_BOX_EVTS / 4u)

/**
 * unic_mbox_power_on() - write what never changes to the info page, without its
 * magic number, which unic_mbox_open() writes. No command is taken before the
 * first reset, which comes at the next poll if a driver has asked for one.
 * @nic_bytes: size of the core's state.
 */
void unic_mbox_power_on(struct unic_base *nic, uint32_t nic_bytes);

/** unic_mbox_open() - the info page is complete: a driver may find the NIC. */
void unic_mbox_open(struct unic_base *nic);

/** unic_mbox_reset() - all indices 0; @req becomes reset_ack at the next
 * unic_mbox_publish(). */
void unic_mbox_reset(struct unic_base *nic, uint32_t req);

/** unic_mbox_called() - has the driver moved cmd_tail? For a NIC that spins. */
static inline bool unic_mbox_called(const struct unic_mbox *m)
{
	return unic_from_le32(*(const volatile unic_le32 *)m->cmd_tail_at) !=
	       m->cmd_head;
}

/** unic_mbox_due() - is there a command or a reset request? */
static inline bool unic_mbox_due(const struct unic_mbox *m)
{
	uint32_t tail =
		unic_from_le32(*(const volatile unic_le32 *)m->cmd_tail_at);
	uint32_t req =
		unic_from_le32(*(const volatile unic_le32 *)m->reset_req_at);

	return tail != m->cmd_head || req != m->reset_ack;
}

/** unic_mbox_fence() - not 0: no DMA is to be started. */
static inline uint32_t unic_mbox_fence(const struct unic_mbox *m)
{
	return unic_from_le32(*(const volatile unic_le32 *)m->fence_at);
}

/** unic_mbox_fenced() - no DMA is under way, nor will be before a reset: say so of
 * @fence. */
void unic_mbox_fenced(struct unic_base *nic, uint32_t fence);

/** unic_mbox_said() - was that said of @fence? */
bool unic_mbox_said(struct unic_base *nic, uint32_t fence);

/** unic_mbox_reset_due() - does the driver ask for a reset? With *@req, which goes
 * to unic_mbox_reset(). */
static inline bool unic_mbox_reset_due(const struct unic_mbox *m, uint32_t *req)
{
	*req = unic_from_le32(UNIC_READ_ONCE(*m->reset_req_at));
	return *req != m->reset_ack;
}

/**
 * unic_mbox_ready() - commands that may be taken now: a bounded number; 0 before
 * the first reset, and if cmd_tail is out of range (counted once for a value).
 */
uint32_t unic_mbox_ready(struct unic_base *nic);

/**
 * unic_mbox_take() - the next of them, fetched once to @rec, which is all of it
 * that is ever looked at. unic_mbox_complete() is next.
 * Returns its list page, 4096 bytes of shared memory; NULL while the completion
 * ring is full, and nothing was taken.
 */
void *unic_mbox_take(struct unic_base *nic, struct unic_mbox_record *rec);

/** unic_mbox_complete() - publish @cpl, the completion of the command that was
 * taken, and that its slot is free. */
void unic_mbox_complete(struct unic_base *nic,
			const struct unic_mbox_record *cpl);

/**
 * unic_mbox_event() - publish one 64-byte event (a struct unic_evt_*; type,
 * reason and proc set by the caller, epoch filled in here).
 * Returns false if the ring has no room for this type (counted once per
 * refusal); the caller keeps what it wanted to say as state and tries again.
 */
bool unic_mbox_event(struct unic_base *nic, void *evt);

/** unic_mbox_drop() - write a drop record; there is room (INV-17). */
void unic_mbox_drop(struct unic_base *nic, uint32_t mr, uint32_t gen,
		    uint32_t page, uint32_t user);

/** unic_mbox_drop_room() - drop records that can be written now. */
uint32_t unic_mbox_drop_room(struct unic_base *nic);

/** unic_mbox_mad() - pass a management datagram up. False: dropped, counted. */
bool unic_mbox_mad(struct unic_base *nic, const struct unic_mad_rx *mad);

/** unic_mbox_flush() - interrupt the driver if it wants to know of records
 * written since the last flush. Once per poll round. */
void unic_mbox_flush(struct unic_base *nic);

/** unic_mbox_sleep() - set or clear the mailbox's `asleep` word. */
void unic_mbox_sleep(struct unic_base *nic, bool asleep);

/** unic_mbox_beat() - heartbeat: clock, counters, parameters to the info and
 * statistics pages. The caller has put into nic->counter what modules count in
 * words of their own. */
void unic_mbox_beat(struct unic_base *nic);

/* Times of the eviction protocol, in us (MEMORY.md section 4). */
struct unic_mbox_times {
	uint32_t grace_us, deliver_us, reaper_us, drain_us;
};

/** unic_mbox_publish() - rewrite the changing part of the info page. */
void unic_mbox_publish(struct unic_base *nic, const struct unic_mbox_times *t);

#endif /* UNIC_MAILBOX_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mailbox.h - the firmware's side of the mailbox (abi/unic_mbox.h).
 *
 * Secret: the rings - validation of indices, one fetch of each record,
 * suppression of interrupts, and the event records that are reserved for
 * evictions.
 */
#ifndef UNIC_MAILBOX_H
#define UNIC_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_mbox.h"
#include "unic_port.h"

/* Number of bus addresses in one list page. */
#define UNIC_BOX_LIST_MAX (UNIC_BOX_LIST_BYTES / 8u)

/*
 * The value of an `asleep` word. UNIC_ALWAYS_RING is 1 on a board where no
 * barrier orders a store of the NIC before its later load, as the host sees them.
 * On such a board a flag does not show whether the other side polls: `asleep` is
 * always set, and every record raises an interrupt.
 */
#define UNIC_ASLEEP(asleep) unic_to_le32(UNIC_ALWAYS_RING || (asleep))

struct unic_base;

struct unic_mbox {
	/* read by each idle round */
	/* words of the driver */
	const unic_le32 *cmd_tail_at, *reset_req_at, *fence_at;
	uint32_t cmd_head;
	uint32_t reset_ack;
	bool irq_due;  /* records were written since the last interrupt */
	uint32_t wild; /* last cmd_tail that was out of range */
	/* not read by idle rounds */
	uint8_t *bar;
	uint32_t cpl_tail, evt_tail, mad_tail; /* written by the NIC */
	/* written by the driver, last values adopted */
	uint32_t cpl_head, evt_head, mad_head;
	uint32_t drop_tail, drop_head;
	uint32_t beats;
	uint32_t fenced;    /* the last fence answered; 0: none */
	uint32_t irq_fault; /* interrupts still to skip (FAULT) */
};

/* A command, or its completion. */
struct unic_mbox_record {
	uint64_t word[8];
};

/* Event records reserved for NOTICE and EVICTED. */
#define UNIC_EVT_RESERVED (UNIC_BOX_EVTS / 4u)

/**
 * unic_mbox_power_on() - writes the constants of the info page, but not the magic
 * number (unic_mbox_open() does). No command is taken before the first reset,
 * which the next poll executes if a driver has asked for one. @nic_bytes: size of
 * the core's state.
 */
void unic_mbox_power_on(struct unic_base *nic, uint32_t nic_bytes);

/** unic_mbox_open() - writes the magic number of the complete info page, by which
 * a driver finds the NIC. */
void unic_mbox_open(struct unic_base *nic);

/** unic_mbox_reset() - sets all indices to 0; the next unic_mbox_publish() writes
 * @req to reset_ack. */
void unic_mbox_reset(struct unic_base *nic, uint32_t req);

/** unic_mbox_called() - true if the driver has moved cmd_tail. For a NIC that
 * spins. */
static inline bool unic_mbox_called(const struct unic_mbox *m)
{
	return unic_from_le32(*(const volatile unic_le32 *)m->cmd_tail_at) !=
	       m->cmd_head;
}

/** unic_mbox_due() - true if a command or a reset request waits. */
static inline bool unic_mbox_due(const struct unic_mbox *m)
{
	uint32_t tail =
		unic_from_le32(*(const volatile unic_le32 *)m->cmd_tail_at);
	uint32_t req =
		unic_from_le32(*(const volatile unic_le32 *)m->reset_req_at);

	return tail != m->cmd_head || req != m->reset_ack;
}

/** unic_mbox_fence() - returns the driver's fence word. Not 0: the NIC must start
 * no DMA. */
static inline uint32_t unic_mbox_fence(const struct unic_mbox *m)
{
	return unic_from_le32(*(const volatile unic_le32 *)m->fence_at);
}

/** unic_mbox_fenced() - answers @fence: no DMA is in flight, and none starts
 * before a reset. */
void unic_mbox_fenced(struct unic_base *nic, uint32_t fence);

/** unic_mbox_said() - true if the last fence answered is @fence. */
bool unic_mbox_said(struct unic_base *nic, uint32_t fence);

/** unic_mbox_reset_due() - true if the driver asks for a reset; *@req is the
 * value for unic_mbox_reset(). */
static inline bool unic_mbox_reset_due(const struct unic_mbox *m, uint32_t *req)
{
	*req = unic_from_le32(UNIC_READ_ONCE(*m->reset_req_at));
	return *req != m->reset_ack;
}

/**
 * unic_mbox_ready() - returns how many commands may be taken in this round, at
 * most a constant. 0 during a reset, and while cmd_tail is out of range (each
 * such value is counted once).
 */
uint32_t unic_mbox_ready(struct unic_base *nic);

/**
 * unic_mbox_take() - copies the next command to @rec; the shared record is read
 * only once. The caller must call unic_mbox_complete() next. Returns the
 * command's list page, 4096 bytes of shared memory, or NULL while the completion
 * ring is full; then no command was taken.
 */
void *unic_mbox_take(struct unic_base *nic, struct unic_mbox_record *rec);

/** unic_mbox_complete() - publishes @cpl, the completion of the command taken,
 * and frees the command's slot. */
void unic_mbox_complete(struct unic_base *nic,
			const struct unic_mbox_record *cpl);

/**
 * unic_mbox_event() - publish one 64-byte event (a struct unic_evt_*; type,
 * reason and proc set by the caller, epoch filled in here). Returns false if the
 * ring has no room for this type (counted once per refusal); the caller keeps the
 * event as state and tries again.
 */
bool unic_mbox_event(struct unic_base *nic, void *evt);

/** unic_mbox_drop() - writes a drop record. The ring must have room (INV-17). */
void unic_mbox_drop(struct unic_base *nic, uint32_t mr, uint32_t gen,
		    uint32_t page, uint32_t user);

/** unic_mbox_drop_room() - returns the number of free drop records. */
uint32_t unic_mbox_drop_room(struct unic_base *nic);

/** unic_mbox_mad() - passes a management datagram to the driver. Returns false if
 * the ring is full; the datagram is dropped and counted. */
bool unic_mbox_mad(struct unic_base *nic, const struct unic_mad_rx *mad);

/** unic_mbox_flush() - records were written (irq_due): interrupts the driver if want_irq is
 * set. Called once per poll round at most. */
void unic_mbox_flush(struct unic_base *nic);

/** unic_mbox_sleep() - sets or clears the mailbox's `asleep` word. */
void unic_mbox_sleep(struct unic_base *nic, bool asleep);

/** unic_mbox_beat() - heartbeat: writes clock and counters to the info and
 * statistics pages. The caller has added the modules' own counts to
 * nic->counter. */
void unic_mbox_beat(struct unic_base *nic);

/* Times of the eviction protocol, in us (MEMORY.md section 4). */
struct unic_mbox_times {
	uint32_t grace_us, deliver_us, reaper_us, drain_us;
};

/** unic_mbox_publish() - rewrites the variable part of the info page. */
void unic_mbox_publish(struct unic_base *nic, const struct unic_mbox_times *t);

#endif /* UNIC_MAILBOX_H */

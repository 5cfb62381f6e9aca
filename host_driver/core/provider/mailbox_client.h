/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mailbox_client.h - the driver's side of the mailbox rings (abi/unic_mbox.h).
 *
 * Secret: the rings. Trusts no byte of the device: an index counts only while
 * it is ahead by at most the ring's size, each record is copied out once, and
 * a completion must name a command that is really under way, in this epoch,
 * with its cookie and opcode. Whatever does not fit is counted in *bad and
 * ignored; after UNIC_MBOX_BAD_MAX of them in one epoch the device is to be
 * treated as broken.
 */
#ifndef UNIC_MAILBOX_CLIENT_H
#define UNIC_MAILBOX_CLIENT_H

#include "provider.h"

#define UNIC_MBOX_BAD_MAX 1000u

struct unic_mbox_client {
	struct unic_os *os;
	uint8_t *bar;
	uint32_t epoch;
	uint32_t cmd_tail, cpl_head, evt_head, drop_head, mad_head;
	uint32_t evt_seen;  /* events that may be handled this round */
	uint32_t open;	    /* commands without completion: */
	uint32_t oldest;    /* the first of them */
	uint32_t fence;	    /* that was raised last */
	uint32_t turn;	    /* makes cookies differ between laps */
	uint32_t *bad;	    /* counts what is refused, ever */
	uint32_t bad_epoch; /* in this epoch */
	struct unic_call *slot[UNIC_CMD_ENTRIES]; /* by ring position */
	uint16_t cookie[UNIC_CMD_ENTRIES];
	struct unic_call *wait_head, *wait_tail; /* no room yet */
};

/** unic_mbox_client_init() - no device yet. @bar: UNIC_BAR_BYTES. @refused: counts what is
 * refused. */
void unic_mbox_client_init(struct unic_mbox_client *m, struct unic_os *os,
			   void *bar, uint32_t *refused);

/** unic_mbox_client_reset() - zero the driver page and all indices, as must be
 * before reset_req is written. Commands under way are lost: fail them first. */
void unic_mbox_client_reset(struct unic_mbox_client *m);

/** unic_mbox_client_fence() - tell the NIC to keep off all memory. */
void unic_mbox_client_fence(struct unic_mbox_client *m);

/** unic_mbox_client_fenced() - it has answered that it does. */
bool unic_mbox_client_fenced(const struct unic_mbox_client *m);

/** unic_mbox_client_epoch() - the reset is complete, commands may go. */
void unic_mbox_client_epoch(struct unic_mbox_client *m, uint32_t epoch);

/** unic_mbox_client_submit() - send @call, or queue it until there is room. */
void unic_mbox_client_submit(struct unic_mbox_client *m,
			     struct unic_call *call);

/** unic_mbox_client_reap() - the next completed call with its cpl, or NULL.
 * Before the first of a round it notes how many events may be handled, so that
 * no event overtakes a completion. */
struct unic_call *unic_mbox_client_reap(struct unic_mbox_client *m);

/** unic_mbox_client_event() - copy the next event. False: none. */
bool unic_mbox_client_event(struct unic_mbox_client *m, uint64_t *evt);

/** unic_mbox_client_dropped() - copy the next drop record. False: none. */
bool unic_mbox_client_dropped(struct unic_mbox_client *m,
			      struct unic_drop *drop);

/** unic_mbox_client_mad() - copy the next management datagram. */
bool unic_mbox_client_mad(struct unic_mbox_client *m, struct unic_mad_rx *mad);

/** unic_mbox_client_drop() - the oldest call under way or waiting, taken out
 * without completion (the device is gone), or NULL. */
struct unic_call *unic_mbox_client_drop(struct unic_mbox_client *m);

/** unic_mbox_client_soon() - wait for the answer to a command, if a NIC that is
 * awake owes one, for no longer than going to sleep and being woken would take.
 * Returns true if one came: poll again. */
bool unic_mbox_client_soon(struct unic_mbox_client *m);

/** unic_mbox_client_irq() - ask for interrupts or not. With @on: returns true
 * if something came meanwhile: poll again. */
bool unic_mbox_client_irq(struct unic_mbox_client *m, bool on);

/** unic_mbox_client_oldest() - when the oldest unanswered command was sent;
 * UINT64_MAX: none. */
uint64_t unic_mbox_client_oldest(const struct unic_mbox_client *m);

#endif /* UNIC_MAILBOX_CLIENT_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mailbox_client.h - the driver's side of the mailbox rings (abi/unic_mbox.h).
 *
 * Secret: the rings. No byte of the device is trusted: an index is valid only while it
 * is ahead by at most the ring's size, each record is copied out once, and a completion
 * must name a command under way in this epoch, with its cookie and opcode. Indices and
 * records that do not fit are counted in *bad and ignored; after UNIC_MBOX_BAD_MAX in
 * one epoch the caller treats the device as broken.
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
	uint32_t evt_seen;  /* end of the events of this round */
	uint32_t open;	    /* commands without completion */
	uint32_t oldest;    /* position of the first of them */
	uint32_t fence;	    /* number of the last fence */
	uint32_t turn;	    /* makes cookies differ between laps */
	uint32_t *bad;	    /* counts what is refused */
	uint32_t bad_epoch; /* refused in this epoch */
	struct unic_call *slot[UNIC_CMD_ENTRIES]; /* by ring position */
	uint16_t cookie[UNIC_CMD_ENTRIES];
	/* for room in the ring, or until `alone` is over */
	struct unic_call *wait_head, *wait_tail;
	bool alone; /* only NEXT and LAST are sent */
};

/** unic_mbox_client_init() - set @m up, without a device. @bar: UNIC_BAR_BYTES, mapped
 * for the life of @m. @refused: the counter of refused records and indices. */
void unic_mbox_client_init(struct unic_mbox_client *m, struct unic_os *os,
			   void *bar, uint32_t *refused);

/** unic_mbox_client_reset() - zero the own copies of all indices; the device's memory is
 * not written. Commands under way are left for unic_mbox_client_drop(). */
void unic_mbox_client_reset(struct unic_mbox_client *m);

/** unic_mbox_client_zero() - zero the driver page; call this before writing reset_req. */
void unic_mbox_client_zero(struct unic_mbox_client *m);

/** unic_mbox_client_fence() - have the NIC stop all access to memory. */
void unic_mbox_client_fence(struct unic_mbox_client *m);

/** unic_mbox_client_fenced() - true if the NIC has answered the last fence. */
bool unic_mbox_client_fenced(const struct unic_mbox_client *m);

/** unic_mbox_client_epoch() - the reset is complete: accept commands in @epoch. */
void unic_mbox_client_epoch(struct unic_mbox_client *m, uint32_t epoch);

/** unic_mbox_client_submit() - write the command of @call to the ring, or queue @call
 * until the ring has room and call->order allows it. */
void unic_mbox_client_submit(struct unic_mbox_client *m,
			     struct unic_call *call);

/** unic_mbox_client_reap() - return the next completed call, call->cpl filled in, or
 * NULL. The first call of a round sets the end of its events, so that no event overtakes
 * a completion. */
struct unic_call *unic_mbox_client_reap(struct unic_mbox_client *m);

/** unic_mbox_client_event() - copy the next event. False: none. */
bool unic_mbox_client_event(struct unic_mbox_client *m, uint64_t *evt);

/** unic_mbox_client_dropped() - copy the next drop record. False: none. */
bool unic_mbox_client_dropped(struct unic_mbox_client *m,
			      struct unic_drop *drop);

/** unic_mbox_client_mad() - copy the next management datagram. False: none. */
bool unic_mbox_client_mad(struct unic_mbox_client *m, struct unic_mad_rx *mad);

/** unic_mbox_client_drop() - take out the oldest call under way, else the first one
 * waiting, without a completion (the device is gone). NULL: none. */
struct unic_call *unic_mbox_client_drop(struct unic_mbox_client *m);

/** unic_mbox_client_soon() - spin for the answer to a command, if a NIC that is awake
 * owes one, for no longer than a sleep and a wake-up would take. Returns true if one
 * came: poll again. */
bool unic_mbox_client_soon(struct unic_mbox_client *m);

/** unic_mbox_client_irq() - switch interrupts of the NIC @on or off. With @on, returns
 * true if a record came before the switch: poll again. */
bool unic_mbox_client_irq(struct unic_mbox_client *m, bool on);

/** unic_mbox_client_oldest() - when the oldest unanswered command was submitted
 * (CLOCK_MONOTONIC, ns); UINT64_MAX: none. */
uint64_t unic_mbox_client_oldest(const struct unic_mbox_client *m);

#endif /* UNIC_MAILBOX_CLIENT_H */

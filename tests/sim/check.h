/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * check.h - what the world tells the checkers, and the list of them. Each
 * checker is a file of its own and reports a violation by sim_fail().
 *
 *   oracle.c    every byte moved was permitted at that instant, and right
 *   pins.c      no DMA to a frame that is not pinned; nothing pinned too long
 *   lives.c     nothing of one connection takes effect in another
 *   once.c      one completion per operation, one end per token, one reply
 *   bounds.c    no grace ends early; REGISTER_WAIT in time; fair shares
 *   slots.c     a process with few fault slots gets one
 *   stags.c     a former STag, or one of another process, gives no access
 *   wakes.c     nobody sleeps with something to do
 *   turns.c     nobody waits 10 ms for his turn
 *   live.c      after the faults everything finishes
 *   identity.c  frames go to whom they are for; those of others change nothing
 *   conserve.c  counters add up; nothing is left at the end
 */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "model.h"
#include "world.h"

/* ------------------------------------------------------ from the world */

/** check_node() - a NIC was added. */
void check_node(struct node *n);
/** check_before_poll(), check_after_poll() - around a poll of a NIC. */
void check_before_poll(struct node *n);
void check_after_poll(struct node *n, bool asleep);
/** check_after_host() - after a poll of a driver; @rests: until it is rung. */
void check_after_host(struct node *n, bool rests);
/** check_moved() - DMA has moved bytes; @host: the memory. */
void check_moved(struct node *n, enum unic_port_dma_dir dir, uint64_t bus,
		 const void *host, uint32_t len);
/** check_shown() - a window opens: its bytes may be read from then on. */
void check_shown(struct node *n, uint64_t bus, const void *host, uint32_t len);
/**
 * check_window_written() - bytes that the NIC wrote through a window before the
 * call. Its mailbox may be newer, so the bytes are checked against the mailbox as
 * it was when the window was opened. Bytes that were overwritten with the same
 * value are missing.
 */
void check_window_written(struct node *n, uint64_t bus, const void *host,
			  uint32_t len);
/** check_took() - the core reads a frame, perhaps again; @forged: of the attacker.
 * check_sent() - the core sends a frame. */
void check_took(struct node *n, const uint8_t *frame, uint32_t len,
		bool forged);
void check_sent(struct node *n, const uint8_t *frame, uint32_t len);
/** check_driver_gone(), check_power_cut() - before the driver is killed, before
 * the power is cut. */
void check_driver_gone(struct node *n);
void check_power_cut(struct node *n);
/** check_went_on() - NIC @n is polled again after a standstill. */
void check_went_on(struct node *n);
/** check_model() - the model of a node. */
struct model *check_model(const struct node *n);

/* ------------------------------------------------------- to the checkers */

void oracle_moved(struct node *n, const struct model *m,
		  enum unic_port_dma_dir dir, uint64_t bus, const void *host,
		  uint32_t len);

void oracle_shown(struct node *n, const struct model *m, uint64_t bus,
		  const void *host, uint32_t len);

void oracle_written(struct node *n, const struct model *m, uint64_t bus,
		    const void *host, uint32_t len);

/* A list is read: it must be the NIC's still. */
void pins_listed(struct node *n, uint64_t bus);
void pins_moved(struct node *n, uint64_t bus, uint32_t len);
/** pins_epoch() - the NIC was reset: the driver that requested it keeps the
 * ledger. */
void pins_epoch(struct node *n);
/** pins_settled() - nothing is under way: only pages of regions may be pinned. */
void pins_settled(struct node *n, const struct model *m);
void pins_driver_gone(struct node *n);
void pins_reset(void);

void bounds_done(struct node *n, struct model *m, const struct tap_cmd *c,
		 const void *cpl);
void bounds_event(struct node *n, struct model *m, const void *evt);
/** bounds_too_early() - would EVICTED be too early for an operation that
 * names @stag of @n: is the region active or in its grace? */
bool bounds_too_early(const struct node *n, uint32_t stag);
void bounds_tick(struct node *n, struct model *m);

/** slots_tick() - check that a process with less than its share of fault slots
 * gets one for each page that an operation of it waits for (INV-20). */
void slots_tick(struct node *n, const struct model *m);
/** slots_read() - a transfer read these bytes. */
void slots_read(const struct node *n, const void *host, uint32_t len);

void wakes_reset(void);
/** wakes_begin(), wakes_over() - around a poll of a NIC. wakes_rest() - the driver
 * has found nothing to do. */
void wakes_begin(const struct node *n);
void wakes_over(const struct node *n, const struct model *m, bool asleep);
void wakes_rest(const struct node *n);
/** wakes_unread() - does NIC @n say that it sleeps, and has slot @slot doorbell words
 * that came since its last poll? */
bool wakes_unread(const struct node *n, uint32_t slot);

void turns_reset(void);
void turns_sent(const struct node *n, const uint8_t *frame, uint32_t len);
void turns_took(const struct node *n, const uint8_t *frame, uint32_t len);
void turns_tick(const struct node *n);
/** turns_go() - NIC @n goes on after a standstill, in which nobody had a turn. */
void turns_go(const struct node *n);

void identity_reset(void);
/** identity_took() - the NIC reads a frame. False: it must change nothing. */
bool identity_took(const struct node *n, const uint8_t *frame, uint32_t len,
		   bool forged);
void identity_sent(const struct node *n, const uint8_t *frame, uint32_t len);

void conserve_reset(void);
void conserve_command(struct node *n, const void *cpl);
void conserve_done(struct node *n, const void *cpl);
void conserve_event(struct node *n, const void *evt);
/** conserve_rest() - wait until all drivers are at rest: no request is open, no slot is used,
 * and no refusal can be said again. A wild host is not waited for. */
void conserve_rest(void);
/** conserve_end() - check the counters: all processes have left and nothing
 * moves. */
void conserve_end(struct node *n, const struct model *m);
/** conserve_wire() - check the wire: no frame is under way. */
void conserve_wire(void);

#endif /* SIM_CHECK_H */

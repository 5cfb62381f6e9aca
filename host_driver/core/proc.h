/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* proc.h - life of a process: attach, upcalls, detach. */
#ifndef UNIC_PROC_H
#define UNIC_PROC_H

#include "state.h"

/** unic_proc_hello() - HELLO, the handler: give the process a slot and attach it to
 * the NIC; answered with four descriptors. INVALID, PERMISSION, NO_SLOT, and what the
 * NIC refuses PROC_ATTACH for: the process has no slot. BUSY: an earlier HELLO is
 * under way. @req is answered exactly once, which frees it. */
void unic_proc_hello(struct unic_req *req);
/**
 * unic_proc_reattach() - after a reset: send PROC_ATTACH for the process in @slot.
 *
 * Returns false when out of memory: nothing was sent.
 */
bool unic_proc_reattach(struct unic_host *host, uint32_t slot);
/** unic_proc_reset() - the device was reset. @safe: it does not touch memory any
 * more, so slots that are being detached are detached, and no frame is pinned until
 * unic_restore_pins(). */
void unic_proc_reset(struct unic_host *host, bool safe);
/** unic_proc_leave() - the connection of the process in @slot has ended: begin to
 * detach it. */
void unic_proc_leave(struct unic_host *host, uint32_t slot);
/** unic_proc_gone() - handle PROC_GONE: the NIC has let go of the process in @slot. */
void unic_proc_gone(struct unic_host *host, uint32_t slot);

/** unic_proc_hold() - hold @slot, whose memory process @pid of user @uid may still
 * have mapped, and of which the journal has no record. @pid 0: that process has
 * ended. */
void unic_proc_hold(struct unic_host *host, uint32_t slot, uint32_t pid,
		    uint32_t uid);

/** unic_proc_ended() - as unic_host_slot_ended(). */
void unic_proc_ended(struct unic_host *host, uint32_t slot);

/** unic_proc_slot_free() - as unic_host_slot_free(). */
void unic_proc_slot_free(struct unic_host *host, uint32_t slot);

/** unic_proc_quiet() - as unic_host_quiet(). */
bool unic_proc_quiet(const struct unic_host *host);

/** unic_proc_slot_leaves() - as unic_host_slot_leaves(). */
bool unic_proc_slot_leaves(const struct unic_host *host, uint32_t slot);

#endif /* UNIC_PROC_H */

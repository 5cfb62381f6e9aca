/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* proc.h - life of a process: attach, upcalls, detach. */
#ifndef UNIC_PROC_H
#define UNIC_PROC_H

#include "state.h"

/** unic_proc_hello() - HELLO. */
void unic_proc_hello(struct unic_req *req);
/**
 * unic_proc_reattach() - after a reset: attach the process in @slot again.
 *
 * Returns false when out of memory: nothing was sent.
 */
bool unic_proc_reattach(struct unic_host *host, uint32_t slot);
/** unic_proc_reset() - the device forgot everything. @safe: and it cannot touch
 * memory any more, so leaving processes are gone, and nothing is pinned until
 * unic_restore_pins(). */
void unic_proc_reset(struct unic_host *host, bool safe);
/** unic_proc_leave() - its connection ended. */
void unic_proc_leave(struct unic_host *host, uint32_t slot);
/** unic_proc_gone() - PROC_GONE. */
void unic_proc_gone(struct unic_host *host, uint32_t slot);

/** unic_proc_hold() - the memory of @slot may still be mapped by process @pid of user
 * @uid, of which nothing is known; 0: that one ended. */
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

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
 * memory any more, so leaving processes are gone. */
void unic_proc_reset(struct unic_host *host, bool safe);
/** unic_proc_leave() - its connection ended. */
void unic_proc_leave(struct unic_host *host, uint32_t slot);
/** unic_proc_gone() - PROC_GONE. */
void unic_proc_gone(struct unic_host *host, uint32_t slot);

#endif /* UNIC_PROC_H */

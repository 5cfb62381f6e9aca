/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* upcall.h - writing to the upcall ring of a process (abi/unic_upcall.h). */
#ifndef UNIC_UPCALL_H
#define UNIC_UPCALL_H

#include "state.h"

/** unic_upcall_send() - write one upcall on the ring of the process in @slot and wake
 * it; later, if it is woken more often than its limit, but at once where the upcall has a
 * deadline. A process that is not LIVE gets none. @rec: 64 bytes beginning with a struct
 * unic_upcall_hdr, of which type, reason and id are set. */
void unic_upcall_send(struct unic_host *host, uint32_t slot, void *rec);

/** unic_upcall_send_obj() - unic_upcall_send() of a struct unic_upcall_obj. */
void unic_upcall_send_obj(struct unic_host *host, uint32_t slot, uint8_t type,
			  uint32_t id, uint32_t user, uint32_t detail);

/** unic_upcall_enough() - true if this unic_host_poll() has sent so many upcalls that
 * further ones are left for the next, where that is possible. */
bool unic_upcall_enough(const struct unic_host *host);

/** unic_upcall_poll() - wake processes whose limit put that off. Returns when to call
 * again, or @next if that is earlier. */
uint64_t unic_upcall_poll(struct unic_host *host, uint64_t now, uint64_t next);

#endif /* UNIC_UPCALL_H */

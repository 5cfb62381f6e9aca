/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * nic.h - one NIC of the daemon: its memory, its driver core and its page service, from
 * the start to the end. Nothing here is about another NIC.
 */
#ifndef UNICD_NIC_H
#define UNICD_NIC_H

#include "unicd.h"

/** unicd_nic_init() - NIC @number of @d has nothing yet; its options are set. */
void unicd_nic_init(struct unicd *d, uint32_t number);

/** unicd_nic_start() - attach to its bus, or make memory for the loop-back, and make its
 * core and its page service. 0 or -errno, which is logged; then the process should end. */
int unicd_nic_start(struct unic_os *os);

/** unicd_nic_event() - the event loop got @kind and @number of @os. */
void unicd_nic_event(struct unic_os *os, enum unicd_event kind,
		     uint32_t number);

/** unicd_nic_poll() - do bounded work of @os; a NIC whose bus is gone is ended. Returns
 * when to call it again, in nanoseconds of unic_os_now_ns(). */
uint64_t unicd_nic_poll(struct unic_os *os);

/** unicd_nic_fini() - end what there is of @os. Its clients have ended. */
void unicd_nic_fini(struct unic_os *os);

/** unicd_nic_rows() - for config.list_nics of the core: a row of each NIC that is not
 * gone. Returns how many. */
uint32_t unicd_nic_rows(struct unicd *d, struct unic_ctl_nic_row *row);

#endif /* UNICD_NIC_H */

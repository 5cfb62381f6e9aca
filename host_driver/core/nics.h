/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * nics.h - the NICs of a host, to a process: which there are, and which one a connection
 * is with (NICS, SELECT of abi/unic_ctl_admin.h).
 *
 * Secret: how a process names a NIC. A driver core is that of one NIC, and knows the
 * others from config.list_nics() only. The user of the cores gives each request of a
 * connection to the core that the first one chose.
 */
#ifndef UNIC_NICS_H
#define UNIC_NICS_H

#include "host_config.h"

struct unic_req;

/**
 * unic_nics_choose() - which of the NICs in @row a connection is with, after its first
 * request @msg of @bytes.
 * Returns the index in @row; -ENOENT: not decided. Then any core answers @msg, at once,
 * and the next request decides.
 */
int unic_nics_choose(const struct unic_ctl_nic_row *row, uint32_t n,
		     const void *msg, size_t bytes);

/** unic_nics_name_ok() - @name can be the name of a NIC: 1 to 15 letters, digits, - and
 * _, and the first is no digit. */
bool unic_nics_name_ok(const char *name);

/** unic_nics_row() - fill in @row with the NIC of @host, which nobody changes meanwhile. */
void unic_nics_row(const struct unic_host *host, struct unic_ctl_nic_row *row);

/** unic_nics_list() - handle NICS. */
void unic_nics_list(struct unic_req *req);

/** unic_nics_select() - handle SELECT, of a connection that is with the NIC of this core,
 * or not with any. */
void unic_nics_select(struct unic_req *req);

#endif /* UNIC_NICS_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Not a NIC: tenants of a database and their connections (tests/pool). It names
 * no translation entry and no region, so that share.c and notice.c do not compile
 * for it once they know of any.
 */
#ifndef UNIC_BOARD_H
#define UNIC_BOARD_H

#define UNIC_PROCS   8	/* tenants */
#define UNIC_NOTICES 60 /* connections, each of which can be asked back */

#endif /* UNIC_BOARD_H */

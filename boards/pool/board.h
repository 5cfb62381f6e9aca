/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Not a NIC: tenants of a database and their connections (tests/pool). Defines no
 * size of the TLB or of the region table, so share.c and notice.c would not
 * compile for it if they used one.
 */
#ifndef UNIC_BOARD_H
#define UNIC_BOARD_H

#define UNIC_PROCS   8	/* tenants */
#define UNIC_NOTICES 60 /* connections, each of which can be asked back */
#define UNIC_HISTOGRAMS 0

#endif /* UNIC_BOARD_H */

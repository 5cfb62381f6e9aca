/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_debugfs.h - the tables of a NIC and its driver as text in debugfs.
 */
#ifndef UNIC_DEBUGFS_H
#define UNIC_DEBUGFS_H

struct unic_os;

/** unic_debugfs_init() - create the folder of all NICs, once at load. Without debugfs
 * nothing is shown. */
void unic_debugfs_init(void);

/** unic_debugfs_exit() - remove that folder. */
void unic_debugfs_exit(void);

/** unic_debugfs_add() - create the folder of @os with a file per table. */
void unic_debugfs_add(struct unic_os *os);

/** unic_debugfs_del() - remove the folder of @os. Waits for readers, as long as
 * unic_self_client_ask() may take; the caller holds no lock. */
void unic_debugfs_del(struct unic_os *os);

#endif /* UNIC_DEBUGFS_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_sysfs.h - what sysfs shows of a NIC.
 */
#ifndef UNIC_SYSFS_H
#define UNIC_SYSFS_H

struct attribute_group;

/** unic_sysfs_groups - the attributes of unic_os.dev. */
extern const struct attribute_group *unic_sysfs_groups[];

#endif /* UNIC_SYSFS_H */

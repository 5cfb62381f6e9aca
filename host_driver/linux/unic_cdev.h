/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_cdev.h - /dev/unicN as a device: its number, its class, and how long it lasts.
 */
#ifndef UNIC_CDEV_H
#define UNIC_CDEV_H

#include <linux/types.h>

struct device;
struct unic_ctl_nic_row;
struct unic_ids;
struct unic_os;

/** unic_cdev_init() - reserve the device numbers and register the class, once at load.
 * Returns 0 or -errno; on error nothing is left. */
int unic_cdev_init(void);

/** unic_cdev_exit() - undo unic_cdev_init(); no device is left. */
void unic_cdev_exit(void);

/** unic_cdev_prepare() - initialise os->dev with one reference and a number; from then
 * on put_device() frees @os. Returns 0 or -errno: then @os is still the caller's to
 * free. */
int unic_cdev_prepare(struct unic_os *os, struct device *parent);

/** unic_cdev_add() - make /dev/unicN appear. Returns 0 or -errno. */
int unic_cdev_add(struct unic_os *os);

/** unic_cdev_cut() - end every client of @os and refuse new ones. Takes unic_os.lock,
 * which the caller does not hold. */
void unic_cdev_cut(struct unic_os *os);

/** unic_cdev_del() - remove /dev/unicN, then unic_cdev_cut(). */
void unic_cdev_del(struct unic_os *os);

/** unic_dev_get() - find unic@number and take a reference to its device. Returns NULL if
 * there is none. May sleep. */
struct unic_os *unic_dev_get(unsigned int number);

/** unic_dev_rows() - store a row for each NIC, by number, UNIC_CTL_NICS_MAX at most.
 * Returns how many. May sleep; with or without unic_os.lock. */
u32 unic_dev_rows(struct unic_ctl_nic_row *row);

/** unic_dev_ids() - where ids of objects come from, for all NICs, until the module is
 * unloaded. */
struct unic_ids *unic_dev_ids(void);

/** unic_dev_put() - drop the reference of unic_dev_get(). */
void unic_dev_put(struct unic_os *os);

#endif /* UNIC_CDEV_H */

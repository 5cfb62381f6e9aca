/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_cdev.h - /dev/unicN: the devices, and their open files as clients of the core.
 */
#ifndef UNIC_CDEV_H
#define UNIC_CDEV_H

#include <linux/types.h>

struct device;
struct unic_client;
struct unic_file;
struct unic_mem;
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

/** unic_dev_put() - drop the reference of unic_dev_get(). */
void unic_dev_put(struct unic_os *os);

/** unic_file_reply() - put @msg into the place that its request brought, and wake who
 * waits for it. @msg is copied. The caller holds unic_os.lock. */
void unic_file_reply(struct unic_file *f, const void *msg, u32 bytes);

/** unic_file_has_slot() - record that @f has @slot, until its last reference goes. */
void unic_file_has_slot(struct unic_file *f, u32 slot);

/** unic_file_upcall() - make the file readable and wake who waits for upcalls. Any
 * context. */
void unic_file_upcall(struct unic_file *f);

/** unic_file_cq() - make the completion descriptor readable and wake who waits for it.
 * Any context. */
void unic_file_cq(struct unic_file *f);

/** unic_file_of() - the file of @client, which is a process. */
struct unic_file *unic_file_of(struct unic_client *client);

/** unic_file_mem() - the memory of the process of @f; no reference is taken. */
struct unic_mem *unic_file_mem(struct unic_file *f);

#endif /* UNIC_CDEV_H */

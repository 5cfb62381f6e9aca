/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic_wake.h - what wakes the process of an open file: upcalls and completions. */
#ifndef UNIC_WAKE_H
#define UNIC_WAKE_H

#include <linux/fs.h>
#include <linux/poll.h>

struct unic_file;

/** unic_wake_init() - @f has nothing to read; its fields are zero. */
void unic_wake_init(struct unic_file *f);

/** unic_wake_upcall() - make the file readable and wake the callers that wait for
 * upcalls. Any context. */
void unic_wake_upcall(struct unic_file *f);

/** unic_wake_cq() - make the completion descriptors readable and wake the callers
 * that wait for them. Any context. */
void unic_wake_cq(struct unic_file *f);

/** unic_wake_all() - wake every waiter, after f->ended was set. */
void unic_wake_all(struct unic_file *f);

/** unic_wake_read() - file_operations.read: wait for upcalls, and read the word 1.
 * Returns 8, -EINVAL (@bytes < 8), -ENODEV (the client has ended), -EAGAIN, -EFAULT or
 * -ERESTARTSYS. */
ssize_t unic_wake_read(struct file *file, char __user *buf, size_t bytes,
		       loff_t *at);

/** unic_wake_poll() - file_operations.poll: readable with upcalls, hung up when the
 * client has ended. */
__poll_t unic_wake_poll(struct file *file, poll_table *table);

/** unic_wake_fasync() - file_operations.fasync: SIGIO with each upcall. */
int unic_wake_fasync(int fd, struct file *file, int on);

/** unic_wake_cq_fd() - install a descriptor that is readable when completions are
 * there; it holds a reference to @file. Returns it, or -errno. */
int unic_wake_cq_fd(struct file *file);

#endif /* UNIC_WAKE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic_call.h - a request of a process and its reply: UNIC_IOC_CALL. */
#ifndef UNIC_CALL_H
#define UNIC_CALL_H

#include <linux/compiler.h>
#include <linux/types.h>

struct unic_file;
struct unic_ioc_call;

/** unic_call_init() - @f has no requests under way; its fields are zero. */
void unic_call_init(struct unic_file *f);

/** unic_call_free() - free the replies of @f that nobody fetched. The client has ended,
 * and no call is under way. */
void unic_call_free(struct unic_file *f);

/**
 * unic_call() - put a request to the core, wait for a reply, or both, as abi/unic_ioctl.h
 * says. Sleeps; the caller holds no lock.
 * Returns 0, or: -EINVAL, -EMSGSIZE, -EFAULT, -ENOMEM; -EAGAIN, no place was free in
 * time; -ENODEV, the client has ended; -ETIMEDOUT; -ERESTARTSYS. A request that was
 * issued keeps its reply for a later call.
 */
long unic_call(struct unic_file *f, struct unic_ioc_call __user *arg);

/** unic_call_grow() - @f got its slot, and with it more places: give them to the calls
 * that wait. In process context, with or without unic_os.lock. */
void unic_call_grow(struct unic_file *f);

/** unic_call_reply() - copy @msg into the memory that its request brought, and
 * wake the callers that wait for it. The caller holds unic_os.lock. */
void unic_call_reply(struct unic_file *f, const void *msg, u32 bytes);

/** unic_call_wake() - wake every waiter, after f->ended was set. */
void unic_call_wake(struct unic_file *f);

#endif /* UNIC_CALL_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_kmem_call.h - inside unic_kmem*.c: requests of a handle to the core.
 *
 * Secret: how a reply finds who waits for it.
 */
#ifndef UNIC_KMEM_CALL_H
#define UNIC_KMEM_CALL_H

#include "unic_kmem_priv.h"

/** unic_kmem_send() - send @op: @rec of UNIC_CTL_BYTES, and @tail bytes behind it. 0, and
 * @ask->done follows; -ENODEV. Takes unic_os.lock. */
int unic_kmem_send(struct unic_kmem *k, struct unic_kmem_ask *ask, u32 op,
		   void *rec, u32 tail);
/** unic_kmem_quiet_ms() - within so many ms a NIC that works has answered: an access that
 * has begun may take its bound. Takes unic_os.lock. */
u32 unic_kmem_quiet_ms(struct unic_kmem *k);
/** unic_kmem_wait() - wait for @ask. Returns its status; -ENODEV; -ETIMEDOUT: no answer
 * came within unic_kmem_quiet_ms(), and the slot is given up. */
int unic_kmem_wait(struct unic_kmem *k, struct unic_kmem_ask *ask);
/** unic_kmem_call() - both. */
int unic_kmem_call(struct unic_kmem *k, struct unic_kmem_ask *ask, u32 op,
		   void *rec, u32 tail);
/** unic_kmem_end_asks() - end all requests with @status; the caller holds unic_os.lock. */
void unic_kmem_end_asks(struct unic_kmem *k, int status);
/** unic_kmem_reply() - as reply() of struct unic_kclient. */
void unic_kmem_reply(struct unic_kclient *kc, const void *msg, u32 bytes);
/** unic_kmem_errno() - what a module is told of @status. */
int unic_kmem_errno(int status);

#endif /* UNIC_KMEM_CALL_H */

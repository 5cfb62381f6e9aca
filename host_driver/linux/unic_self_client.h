/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_self_client.h - the driver as a client of its own core: sysfs and debugfs show
 * what any process may ask through /dev/unicN.
 *
 * Secret: that replies come later, from the engine's thread.
 */
#ifndef UNIC_SELF_CLIENT_H
#define UNIC_SELF_CLIENT_H

#include <linux/completion.h>
#include <linux/mutex.h>

#include "host.h"

struct unic_os;

struct unic_self_client {
	struct mutex turn; /* one request at a time */
	struct unic_client client;
	/* under unic_os.lock */
	u32 seq;
	void *reply; /* NULL: no request waits */
	u32 room, got;
	struct completion answered;
};

/** unic_self_client_init() - prepare @ask, which is zero, for
 * unic_self_client_ask(). */
void unic_self_client_init(struct unic_self_client *ask);

/**
 * unic_self_client_ask() - put request @op to the core of @os and wait for the reply, a few
 * seconds at most; with the rights of root. unic_os.lock is not held.
 * @rec: a record of UNIC_CTL_BYTES; its header is filled in. @reply: gets the
 * reply and what fits of its tail.
 * Returns the bytes of @reply that are valid, or: -ENODEV, no NIC; -ENODATA,
 * nothing to tell; -EIO, refused; -EINTR, a signal; -ETIMEDOUT.
 */
int unic_self_client_ask(struct unic_os *os, u32 op, void *rec, void *reply,
			 u32 room);

/** unic_self_client_reply() - pass @msg to the waiting unic_self_client_ask(), if
 * there is one; @msg is copied. The caller holds unic_os.lock. */
void unic_self_client_reply(struct unic_self_client *ask, const void *msg,
			    u32 bytes);

#endif /* UNIC_SELF_CLIENT_H */

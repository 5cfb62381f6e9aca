/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_user.h - I/Os of users of the page service, with a buffer for each.
 *
 * Secret: the owners of places and buffers, and the counters of ended I/Os.
 */
#ifndef UNIC_KIO_USER_H
#define UNIC_KIO_USER_H

#include "kio_node.h"

/** unic_kio_user_get() - take a place for an I/O with a buffer, the caller's until
 * unic_kio_user_put(). NULL: none is free. */
struct unic_kio_user *unic_kio_user_get(struct unic_kio_node *n);
/** unic_kio_user_put() - give place and buffer back, after the I/O, or without one. */
void unic_kio_user_put(struct unic_kio_user *user);

/**
 * unic_kio_user_start() - begin the I/O at the service of host @ipv4: op, name, len,
 * offset, deadline_ns and the bytes in `buf` are filled in. done() follows.
 * -EINVAL; -EBUSY: connected to too many others that are in use.
 */
int unic_kio_user_start(struct unic_kio_user *user, uint32_t ipv4);

#endif /* UNIC_KIO_USER_H */

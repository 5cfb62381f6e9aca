/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * socket.h - connections of processes to drivers, as the world has them (world.h).
 * A path "sim:N" is the driver of node N.
 *
 * Secret: when a socket is full for a while, which descriptors come with the answer to
 * HELLO, and that they count from the beginning.
 */
#ifndef LIBSIM_SOCKET_H
#define LIBSIM_SOCKET_H

#include "process.h"

struct socket;

/** socket_init() - give @p room for its sockets. */
void socket_init(struct process *p);
/** socket_ready() - POLLIN, POLLOUT and so on. */
short socket_ready(const struct socket *s);
/** socket_closed() - its last descriptor was closed. */
void socket_closed(struct socket *s);

#endif /* LIBSIM_SOCKET_H */

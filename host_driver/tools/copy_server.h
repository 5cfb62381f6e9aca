/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* copy_server.h - the server end of a transfer. */
#ifndef UNIC_COPY_SERVER_H
#define UNIC_COPY_SERVER_H

#include "copy_peer.h"

/**
 * copy_server() - serve files of folder @dir to one client after another, until *@stop
 * is not 0, which is checked twice a second while no client is connected. A transfer
 * that breaks is kept for its client, until another one comes. Failed transfers are
 * reported on stderr and end nothing.
 * @p: opened by copy_peer_open(), not connected; stays the caller's to close.
 * @stop: may be set by a signal handler.
 * Returns 0, or -errno (unic_last_error()): it cannot listen, or the NIC was reset or
 * the driver is another one, and @p is not kept or did not recover.
 */
int copy_server(struct copy_peer *p, const char *dir, const volatile int *stop);

#endif /* UNIC_COPY_SERVER_H */

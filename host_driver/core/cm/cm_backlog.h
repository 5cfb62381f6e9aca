/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_backlog.h - the places of a process for connections that begin.
 *
 * Secret: how many places there are, which connections hold them, and which of them
 * ends first: requests that are neither accepted nor refused, and connections that
 * are accepted and not confirmed (cm_conn.h has the rules).
 */
#ifndef UNIC_CM_BACKLOG_H
#define UNIC_CM_BACKLOG_H

#include "cm/cm_conn.h"

/** unic_backlog_make_room() - a request of @ipv4 has come for @owner: if no place is
 * free, end another request. */
void unic_backlog_make_room(struct unic_host *host, uint32_t owner,
			    uint32_t ipv4);

/** unic_backlog_limit() - @owner accepts a connection: if BACKLOG_MAX are unconfirmed
 * and the oldest is older than CONFIRM_NS, end that one. */
void unic_backlog_limit(struct unic_host *host, uint32_t owner);

/** unic_backlog_close() - no RTU came for @c: move its queue pair to ERR and send its
 * process an upcall. */
void unic_backlog_close(struct unic_host *host, struct conn *c);

#endif /* UNIC_CM_BACKLOG_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_backlog.h - the places of a process for connections that begin.
 *
 * Secret: who holds a place, how many there are, and who gives way: requests that
 * are neither accepted nor refused, and those that are accepted and not confirmed
 * (cm_conn.h has the rules).
 */
#ifndef UNIC_CM_BACKLOG_H
#define UNIC_CM_BACKLOG_H

#include "cm/cm_conn.h"

/** unic_backlog_make_room() - one more request of @ipv4 comes to @owner: if no place
 * is left for it, another one ends. */
void unic_backlog_make_room(struct unic_host *host, uint32_t owner,
			    uint32_t ipv4);

/** unic_backlog_limit() - @owner accepts one more: if BACKLOG_MAX are unconfirmed
 * and the oldest had CONFIRM_NS, that one ends. */
void unic_backlog_limit(struct unic_host *host, uint32_t owner);

/** unic_backlog_close() - no RTU came for @c: its queue pair is in error, and its
 * process is told. */
void unic_backlog_close(struct unic_host *host, struct conn *c);

#endif /* UNIC_CM_BACKLOG_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_link.h - inside the page service: connections to other hosts.
 *
 * Secret: the states of a connection. A connection has ended when its queue pair is
 * destroyed: only then has the NIC stopped reading and completing its requests.
 *
 *   outgoing  FREE -> WAIT -> CREATE -> CONNECT -> UP -> DOWN -> WAIT ...
 *   incoming  FREE ---------> CREATE -> CONNECT -> UP -> DOWN -> DRAIN -> FREE
 */
#ifndef UNIC_KIO_LINK_H
#define UNIC_KIO_LINK_H

#include "kio_node.h"

/** unic_kio_link_of() - the number of the connection to @ipv4, which is made if there
 * is none; -EBUSY: no place is free. */
int unic_kio_link_of(struct unic_kio_node *n, uint32_t ipv4);

/** unic_kio_link_reply() - handle the driver's answer to @ask, a request about
 * @ask->link. */
void unic_kio_link_reply(struct unic_kio_node *n,
			 const struct unic_kio_ask *ask, uint32_t status,
			 const uint64_t *rec);

/** unic_kio_link_request() - handle the connection request @up of another host. */
void unic_kio_link_request(struct unic_kio_node *n,
			   const struct unic_upcall_conn *up);

/** unic_kio_link_ended() - connection @conn, or queue pair @qp (ids; 0: none), has
 * ended: take it down. */
void unic_kio_link_ended(struct unic_kio_node *n, uint32_t conn, uint32_t qp);

/** unic_kio_link_done() - handle a completion. */
void unic_kio_link_done(struct unic_kio_node *n,
			const struct unic_kio_done *done);

/** unic_kio_link_lost() - the NIC was reset, or is gone: all connections end, as
 * unic_kio_lost() does with @status. */
void unic_kio_link_lost(struct unic_kio_node *n, int status);

/** unic_kio_link_poll() - run timers, and send requests that had no room before.
 * Returns when to call again (ns); UINT64_MAX: no timer runs. */
uint64_t unic_kio_link_poll(struct unic_kio_node *n);

#endif /* UNIC_KIO_LINK_H */

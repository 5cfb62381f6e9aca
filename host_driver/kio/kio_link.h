/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_link.h - inside the page service: connections to other hosts.
 *
 * Secret: the life of a connection. What ends it ends with its queue pair
 * destroyed: only then the NIC is known not to read or complete anything of it.
 *
 *   ours     FREE -> WAIT -> CREATE -> CONNECT -> UP -> DOWN -> WAIT ...
 *   theirs   FREE ---------> CREATE -> CONNECT -> UP -> DOWN -> DRAIN -> FREE
 */
#ifndef UNIC_KIO_LINK_H
#define UNIC_KIO_LINK_H

#include "kio_node.h"

/** unic_kio_link_of() - the connection to @ipv4, a new one if need be; or -EBUSY. */
int unic_kio_link_of(struct unic_kio_node *n, uint32_t ipv4);

/** unic_kio_link_reply() - answer to a request about @ask->link. */
void unic_kio_link_reply(struct unic_kio_node *n,
			 const struct unic_kio_ask *ask, uint32_t status,
			 const uint64_t *rec);

/** unic_kio_link_request() - somebody connects to us. */
void unic_kio_link_request(struct unic_kio_node *n,
			   const struct unic_upcall_conn *up);

/** unic_kio_link_ended() - connection @conn, or queue pair @qp, broke. */
void unic_kio_link_ended(struct unic_kio_node *n, uint32_t conn, uint32_t qp);

/** unic_kio_link_done() - a completion. */
void unic_kio_link_done(struct unic_kio_node *n,
			const struct unic_kio_done *done);

/** unic_kio_link_lost() - the NIC was reset, or is gone: all of them are, too; see
 * unic_kio_lost(). */
void unic_kio_link_lost(struct unic_kio_node *n, int status);

/** unic_kio_link_poll() - timers, and what could not be asked before. */
uint64_t unic_kio_link_poll(struct unic_kio_node *n);

#endif /* UNIC_KIO_LINK_H */

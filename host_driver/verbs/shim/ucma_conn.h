/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ucma_conn.h - what an id may do, and what follows.
 *
 * Secret: the states of an id, and which change of its connection is which event. A
 * function that gets an id is called with its turn (unic_ucma_id_get()). All return 0 or
 * -errno, as rdma_cm of Linux has it: -EINVAL in a state where it cannot be.
 */
#ifndef UNIC_UCMA_CONN_H
#define UNIC_UCMA_CONN_H

#include "ucma_id.h"

/** unic_ucma_bind() - give @id a source address, whose port 0 is any that is free.
 * The loopback is the first device, here and below. -EADDRNOTAVAIL: no device has it;
 * -EADDRINUSE. */
int unic_ucma_bind(struct unic_ucma_id *id, const struct unic_ucma_addr *to);
/** unic_ucma_resolve() - @src may be unset. ADDR_RESOLVED follows, or ADDR_ERROR. */
int unic_ucma_resolve(struct unic_ucma_id *id, const struct unic_ucma_addr *src,
		      const struct unic_ucma_addr *to);
/** unic_ucma_resolve_route() - ROUTE_RESOLVED follows. */
int unic_ucma_resolve_route(struct unic_ucma_id *id);
/** unic_ucma_listen() - @backlog requests may wait to be read, 0: 1,024. -EADDRINUSE. */
int unic_ucma_listen(struct unic_ucma_id *id, uint32_t backlog);
/** unic_ucma_connect() - CONNECT_RESPONSE follows, REJECTED or UNREACHABLE; UD:
 * ESTABLISHED. */
int unic_ucma_connect(struct unic_ucma_id *id,
		      const struct rdma_ucm_conn_param *param);
/** unic_ucma_accept() - a request, with events for @uid from then on; or, without @param,
 * the answer of who was asked. */
int unic_ucma_accept(struct unic_ucma_id *id, uint64_t uid,
		     const struct rdma_ucm_conn_param *param);
/** unic_ucma_reject() - refuse a request, or the answer to one, for @reason of a REJ. */
int unic_ucma_reject(struct unic_ucma_id *id, uint8_t reason, const void *data,
		     uint8_t bytes);
/** unic_ucma_disconnect() - DISCONNECTED follows, if it has not been. */
int unic_ucma_disconnect(struct unic_ucma_id *id);
/** unic_ucma_notify() - the program has had event @event of its queue pair. */
int unic_ucma_notify(struct unic_ucma_id *id, uint32_t event);
/** unic_ucma_release() - @id, which unic_ucma_id_end() has ended, gives up its connection,
 * listeners and device, and its events and unread requests go. */
void unic_ucma_release(struct unic_ucma_id *id);

#endif /* UNIC_UCMA_CONN_H */

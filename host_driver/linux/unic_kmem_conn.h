/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_kmem_conn.h - inside unic_kmem*.c: connections of a handle.
 *
 * Secret: their queues, which stay empty.
 */
#ifndef UNIC_KMEM_CONN_H
#define UNIC_KMEM_CONN_H

#include "unic_kmem_priv.h"

/** unic_kmem_begin_listen() - after set-up: queues, unless they are there from an attempt
 * that failed, and the listener. Status. */
int unic_kmem_begin_listen(struct unic_kmem *k);
/** unic_kmem_conns() - handle a request or the end of a connection. False: there was
 * none. */
bool unic_kmem_conns(struct unic_kmem *k);
/** unic_kmem_requested(), unic_kmem_ended() - note what an upcall says; unic_os.lock is
 * held. */
void unic_kmem_requested(struct unic_kmem *k,
			 const struct unic_upcall_conn *up);
void unic_kmem_ended(struct unic_kmem *k, u32 conn, u32 qp);

#endif /* UNIC_KMEM_CONN_H */

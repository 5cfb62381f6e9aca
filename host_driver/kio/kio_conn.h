/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_conn.h - inside the page service: what a client or server has its connection
 * do.
 *
 * Secret: which end of an I/O a connection is, and how what that end sends becomes
 * work requests of its queues. Tokens are noted, for kio_link.c to ask for.
 */
#ifndef UNIC_KIO_CONN_H
#define UNIC_KIO_CONN_H

#include "kio_node.h"

/** unic_kio_conn_link() - the number of @c, and of its queues in the ring. */
static inline uint32_t unic_kio_conn_link(const struct unic_kio_conn *c)
{
	return (uint32_t)(c - c->node->conn);
}

/** unic_kio_conn_outgoing() - of @c this host is the client. */
static inline bool unic_kio_conn_outgoing(const struct unic_kio_conn *c)
{
	return unic_kio_conn_link(c) < UNIC_KIO_OUT;
}

/** unic_kio_conn_client() - the client of an outgoing one. */
static inline struct unic_kio_client *
unic_kio_conn_client(struct unic_kio_conn *c)
{
	return &c->node->client[unic_kio_conn_link(c)];
}

/** unic_kio_conn_server() - the server of one of theirs. */
static inline struct unic_kio_server *
unic_kio_conn_server(struct unic_kio_conn *c)
{
	return &c->node->server[unic_kio_conn_link(c) - UNIC_KIO_OUT];
}

/** unic_kio_conn_init() - all are free, and each has its client or server. */
void unic_kio_conn_init(struct unic_kio_node *n);

#endif /* UNIC_KIO_CONN_H */

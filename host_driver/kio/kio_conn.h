/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_conn.h - inside the page service: the link functions of clients and servers.
 *
 * Secret: which connections have a client and which a server, and the work requests for
 * their messages. Requests for tokens are recorded; kio_link.c sends them.
 */
#ifndef UNIC_KIO_CONN_H
#define UNIC_KIO_CONN_H

#include "kio_node.h"

#define UNIC_KIO_PING_NS \
	1000000000ull /* of silence until a ping, and until the next */

/** unic_kio_conn_link() - the number of @c, and of its queues in the ring. */
static inline uint32_t unic_kio_conn_link(const struct unic_kio_conn *c)
{
	return (uint32_t)(c - c->node->conn);
}

/** unic_kio_conn_outgoing() - true if this host is the client of @c. */
static inline bool unic_kio_conn_outgoing(const struct unic_kio_conn *c)
{
	return unic_kio_conn_link(c) < UNIC_KIO_OUT;
}

/** unic_kio_conn_client() - the client of outgoing @c. */
static inline struct unic_kio_client *
unic_kio_conn_client(struct unic_kio_conn *c)
{
	return &c->node->client[unic_kio_conn_link(c)];
}

/** unic_kio_conn_server() - the server of @c, which is not outgoing. */
static inline struct unic_kio_server *
unic_kio_conn_server(struct unic_kio_conn *c)
{
	return &c->node->server[unic_kio_conn_link(c) - UNIC_KIO_OUT];
}

/** unic_kio_conn_heard() - the peer of @c has shown at @now_ns that it is there, or is asked
 * something after a time in which no answer was due. */
static inline void unic_kio_conn_heard(struct unic_kio_conn *c, uint64_t now_ns)
{
	c->heard_ns = now_ns;
	c->ping_ns = now_ns + UNIC_KIO_PING_NS;
	c->pings = 0;
}

/** unic_kio_conn_init() - make all connections of @n free, each with its client or
 * server. */
void unic_kio_conn_init(struct unic_kio_node *n);

#endif /* UNIC_KIO_CONN_H */

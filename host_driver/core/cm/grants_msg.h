/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * grants_msg.h - the datagrams of grants.h. Secret: their layout, struct unic_holder_mad.
 */
#ifndef UNIC_GRANTS_MSG_H
#define UNIC_GRANTS_MSG_H

#include "cm/cm_conn.h"
#include "unic_wire.h"

#define UNIC_ASK_AGAIN_NS 4000000ull /* a datagram may be lost */

/* The fields of struct unic_holder_mad, in the byte order of this machine. */
struct unic_grants_msg {
	uint16_t type;	     /* enum unic_holder_type */
	uint64_t nonce;	     /* of a request, repeated by the answer */
	uint32_t local_comm; /* the sender's id of the connection */
	uint32_t remote_comm;
	uint32_t kind; /* enum unic_ctl_held */
	uint32_t number;
	uint32_t grace_us;  /* INVALIDATE: what is left */
	uint32_t ipv4, qpn; /* DELEGATE: the new holder and its QP */
	uint32_t status;    /* DELEGATED: enum unic_ctl_status */
};

/** unic_grants_build() - write @msg as @mad, a struct unic_holder_mad at any
 * address. */
void unic_grants_build(const struct unic_grants_msg *msg,
		       uint8_t mad[UNIC_MAD_BYTES]);

/** unic_grants_parse() - read @mad into @msg. False: it is another datagram, and @msg
 * means nothing. */
bool unic_grants_parse(const uint8_t mad[UNIC_MAD_BYTES],
		       struct unic_grants_msg *msg);

/** unic_grants_send() - send @msg to the peer of @c once. A lost datagram is made up
 * for: INVALIDATE and DELEGATE are repeated, and answered again each time. */
void unic_grants_send(struct unic_host *host, const struct conn *c,
		      struct unic_grants_msg *msg);

/** unic_grants_nonce() - 64 random bits that are not 0. */
uint64_t unic_grants_nonce(struct unic_host *host);

/** unic_grants_peer_up() - true if @c (or NULL) is up, and its peer has the protocol (the
 * CM mark of unic). */
static inline bool unic_grants_peer_up(const struct conn *c)
{
	return c && c->vendor &&
	       (c->state == C_ESTABLISHED || c->state == C_REP_SENT);
}

/* Have unic_grants_poll() called at @ns. */
static inline void unic_grants_wake_at(struct unic_host *host, uint64_t ns)
{
	if (ns < host->held.next_ns)
		host->held.next_ns = ns;
}

#endif /* UNIC_GRANTS_MSG_H */

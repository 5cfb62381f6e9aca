/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * grants.h - who was given an STag or a token, and may end a grace early by
 * saying that he does not use it any more (S0 section 3, "invalidate holders";
 * MEMORY.md section 5, remote side).
 *
 *  exporter: GRANT (or a holder's DELEGATE) -> held
 *            notice on the region: INVALIDATE to every holder, again and again
 *            INVALIDATED, or its connection ends -> not a holder any more
 *            the last one: the region is released, before T
 *  holder:   INVALIDATE -> upcall to its process -> INVALIDATED
 *
 * The drivers talk, by datagrams of a vendor class between the two ends of a
 * connection, not the libraries: no process of the exporter has to run for it,
 * and a process cannot answer for another. A holder is a connection; its
 * answer must come from that connection's address, name both its ids, and
 * repeat a number that only that holder was told for this notice. So a lie ends
 * what the liar holds and nothing else, and silence costs T.
 */
#ifndef UNIC_GRANTS_H
#define UNIC_GRANTS_H

#include "region/region.h"
#include "unic_wire.h"

enum unic_grants_type { /* attribute ids of the class */
	UNIC_HOLDER_INVALIDATE = 1,
	UNIC_HOLDER_INVALIDATED = 2,
	UNIC_HOLDER_DELEGATE = 3,
	UNIC_HOLDER_DELEGATED = 4,
};

struct unic_grants_msg {
	uint16_t type;	     /* enum unic_grants_type */
	uint64_t nonce;	     /* of the question, repeated by the answer */
	uint32_t local_comm; /* the sender's id of the connection */
	uint32_t remote_comm;
	uint32_t kind; /* enum unic_ctl_held */
	uint32_t number;
	uint32_t grace_us;  /* INVALIDATE: what is left */
	uint32_t ipv4, qpn; /* DELEGATE: the peer and its QP towards us */
	uint32_t status;    /* DELEGATED: enum unic_ctl_status */
};

/** unic_grants_build() - UNIC_MAD_BYTES for the wire. */
void unic_grants_build(const struct unic_grants_msg *msg,
		       uint8_t mad[UNIC_MAD_BYTES]);
/** unic_grants_parse() - false if it is something else. */
bool unic_grants_parse(const uint8_t mad[UNIC_MAD_BYTES],
		       struct unic_grants_msg *msg);

void unic_grants_grant(struct unic_req *req);
void unic_grants_delegate(struct unic_req *req);
void unic_grants_answer(struct unic_req *req);
/** unic_grants_receive() - a datagram of a peer that is not of the CM. */
void unic_grants_receive(struct unic_host *host, const struct unic_mad_rx *mad);
/** unic_grants_step() - what happened since the last call: regions that were asked back
 * (their holders are asked), connections and tokens that ended (so is who held by
 * them). */
void unic_grants_step(struct unic_host *host);
/** unic_grants_poll() - questions are repeated. Returns when to call again. */
uint64_t unic_grants_poll(struct unic_host *host, uint64_t now);

#endif /* UNIC_GRANTS_H */

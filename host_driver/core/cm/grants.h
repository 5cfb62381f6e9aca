/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * grants.h - grants: the peers that were given an STag or a token, each of which can end
 * its part of a grace early by INVALIDATED (S0 section 3, "invalidate holders";
 * docs/MEMORY.md section 5, remote side).
 *
 *  exporter: GRANT (or a holder's DELEGATE) -> held
 *            notice on the region: INVALIDATE to every holder, again and again
 *            INVALIDATED, or its connection ends -> not a holder any more
 *            the last one: the region is released, before T
 *  holder:   INVALIDATE -> upcall to its process -> INVALIDATED
 *
 * The two drivers exchange datagrams of a vendor class between the ends of a connection;
 * the libraries take no part. So no process of the exporter has to run, and no process
 * can answer for another. A holder is a connection: its answer must come from the
 * address of that connection, name both its ids, and repeat the nonce, which the
 * exporter sent to that holder alone for this notice. So a false answer ends the grants
 * of its sender and no others, and a missing answer costs T.
 */
#ifndef UNIC_GRANTS_H
#define UNIC_GRANTS_H

#include "region/region.h"
#include "unic_wire.h"

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

/*
 * The three handlers take @req over and answer it exactly once, which frees it. Any
 * status but OK means that nothing is recorded or sent.
 */

/** unic_grants_grant() - GRANT: record that the peer of a connection of the process
 * is given the STag of a region, or the index of one of its tokens. Recording it
 * twice is OK. NO_MR, NO_CONN, NO_TOKEN; STATE: the region is asked back, or the
 * connection is not up; UNSUPPORTED: the peer is not unic; QUOTA: the process has its
 * part of the table. */
void unic_grants_grant(struct unic_req *req);

/** unic_grants_delegate() - DELEGATE: have the exporter at the other end of `conn`
 * record a second holder, its peer at `ipv4` with queue pair `qpn`. Answered with the
 * exporter's status; the question is repeated until then. NO_CONN; STATE: the
 * connection is not up; UNSUPPORTED: the peer is not unic; TOO_MANY: all
 * UNIC_HANDINGS are under way; UNREACHABLE: no answer to any of the repetitions. */
void unic_grants_delegate(struct unic_req *req);

/** unic_grants_answer() - INVALIDATED: the process does not use `number` any more,
 * which its peer on `conn` asked for by INVALIDATE; the peer is sent INVALIDATED, and
 * again for each repetition of its question. NO_CONN; STATE: nothing of the kind is
 * asked. */
void unic_grants_answer(struct unic_req *req);

/** unic_grants_receive() - handle @mad, a datagram of a peer that is not of the CM.
 * One that is not from the peer of the connection it names is counted
 * (host->held.refused) and dropped. */
void unic_grants_receive(struct unic_host *host, const struct unic_mad_rx *mad);

/** unic_grants_step() - act on what happened since the last call: the holders of
 * regions that were asked back are asked; holds by connections and tokens that ended
 * end. */
void unic_grants_step(struct unic_host *host);

/** unic_grants_poll() - repeat the questions that are due at @now, in ns of
 * CLOCK_MONOTONIC. Returns when to call again; UINT64_MAX: no question is open. */
uint64_t unic_grants_poll(struct unic_host *host, uint64_t now);

#endif /* UNIC_GRANTS_H */

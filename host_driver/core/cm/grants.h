/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * grants.h - grants: the peers that were given an STag or a token, each of which can end
 * its part of a grace early by INVALIDATED (S0 section 3, "invalidate holders";
 * docs/MEMORY.md section 5, remote side).
 *
 *  exporter: GRANT (or a holder's DELEGATE) -> held
 *            notice on the region: INVALIDATE to every holder, again and again
 *            the region ends otherwise: INVALIDATE without a grace, for a second
 *            INVALIDATED, or its connection ends -> not a holder any more
 *            the last one: the region is released, before T
 *  forms:    a form ends with the regions that it is made of, which work requests
 *            choose, so the NIC is asked at the notice, at a GRANT of a form in the
 *            grace, and before a release. A form that is made later than that, and was
 *            granted before, may end without a word to its holder
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

#include "cm/grants_msg.h"
#include "region/region.h"

/*
 * The three handlers take @req over and answer it exactly once, which frees it. Any
 * status but OK means that nothing is recorded or sent.
 */

/** unic_grants_grant() - GRANT: record that the peer of a connection of the process
 * is given the STag of a region, or the index of one of its tokens. Recording it
 * twice is OK. Or, with `ended`: tell the peer that an STag is no more which it was
 * given over an earlier connection. NO_MR, NO_CONN, NO_TOKEN; INVALID: the STag is not of the region;
 * STATE: the region is asked back, or the connection is not up; UNSUPPORTED: the peer is not unic; QUOTA: the process has its
 * part of the table. */
void unic_grants_grant(struct unic_req *req);

/** unic_grants_receive() - handle @mad, a datagram of a peer that is not of the CM.
 * One that is not from the peer of the connection it names is counted
 * (host->held.refused) and dropped. */
void unic_grants_receive(struct unic_host *host, const struct unic_mad_rx *mad);

/** unic_grants_step() - act on what happened since the last call: the holders of
 * regions that were asked back are asked, and those of regions that ended are told;
 * holds by connections and tokens that ended end. */
void unic_grants_step(struct unic_host *host);

/** unic_grants_poll() - repeat the questions that are due at @now, in ns of
 * CLOCK_MONOTONIC. Returns when to call again; UINT64_MAX: no question is open. */
uint64_t unic_grants_poll(struct unic_host *host, uint64_t now);

#endif /* UNIC_GRANTS_H */

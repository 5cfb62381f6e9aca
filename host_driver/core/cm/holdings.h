/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * holdings.h - holders: the other end of grants.h. What the processes of this host were
 * given and are asked to use no more, and what they hand on.
 */
#ifndef UNIC_HOLDINGS_H
#define UNIC_HOLDINGS_H

#include "cm/grants_msg.h"

/*
 * The two handlers take @req over and answer it exactly once, which frees it. Any status
 * but OK means that nothing is recorded or sent.
 */

/** unic_holdings_delegate() - DELEGATE: have the exporter at the other end of `conn`
 * record a second holder, its peer at `ipv4` with queue pair `qpn`. Answered with the
 * exporter's status; the question is repeated until then. NO_CONN; STATE: the
 * connection is not up; UNSUPPORTED: the peer is not unic; TOO_MANY: all
 * UNIC_HANDINGS are under way; UNREACHABLE: no answer to any of the repetitions. */
void unic_holdings_delegate(struct unic_req *req);

/** unic_holdings_answer() - INVALIDATED: the process does not use `number` any more,
 * which its peer on `conn` asked for by INVALIDATE; the peer is sent INVALIDATED, and
 * again for each repetition of its question. NO_CONN; STATE: nothing of the kind is
 * asked. */
void unic_holdings_answer(struct unic_req *req);

/** unic_holdings_invalidate() - the peer of @c asks by @msg: tell the process, or, if the
 * process has answered, the peer. */
void unic_holdings_invalidate(struct unic_host *host, const struct conn *c,
			      const struct unic_grants_msg *msg);

/** unic_holdings_delegated() - the peer of @c answers a DELEGATE by @msg. */
void unic_holdings_delegated(struct unic_host *host, const struct conn *c,
			     const struct unic_grants_msg *msg);

/** unic_holdings_end() - end the INVALIDATEs and DELEGATEs of connections that have
 * ended. */
void unic_holdings_end(struct unic_host *host);

/** unic_holdings_poll() - repeat or give up the DELEGATEs that are due at @now, in ns of
 * CLOCK_MONOTONIC; unic_grants_wake_at() for the others. */
void unic_holdings_poll(struct unic_host *host, uint64_t now);

#endif /* UNIC_HOLDINGS_H */

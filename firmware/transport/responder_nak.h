/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * responder_nak.h - what the peer of a request is owed.
 *
 * Secret: how each refusal is said, and what of it is said again.
 *
 * A request for a region taken back is answered by a vendor acknowledgement if
 * the peer speaks it: the expected PSN stays, and what the peer had sent behind
 * it is ignored until the PSN comes again.
 *
 * A QP that dies of what its peer asked for, or because a region that a request
 * of the peer used was taken back, says so, once (IBTA 9.9.3). IBTA 10.3.1
 * wants a QP in ERR to drop what comes; but the last word may be lost, and a
 * peer that hears nothing waits for all its retries. So it is said again when
 * the peer asks again, a bounded number of times, and nothing else happens.
 */
#ifndef UNIC_RESPONDER_NAK_H
#define UNIC_RESPONDER_NAK_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/qp.h"

struct unic_pkt;
struct unic_transport;

/** unic_responder_owe_ack() - an acknowledgement is due. */
void unic_responder_owe_ack(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_responder_owe_nak() - @syndrome is due for @psn: a NAK or an RNR NAK, or
 * UNIC_RSP_VACK, UNIC_RSP_AFTER or UNIC_RSP_REFUSED. */
void unic_responder_owe_nak(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t psn, uint8_t syndrome);

/** unic_responder_owe_retry() - a page that the request with @psn needs is missing and
 * asked for: the peer is to come again. No PSN is used up, so that nothing of the
 * message is lost. */
void unic_responder_owe_retry(struct unic_transport *nic,
			      struct unic_qp_ctx *qp, uint32_t psn);

/** unic_responder_refused() - the rkey of the request with @psn did not pass its
 * access check, which said @err: the peer is told. */
void unic_responder_refused(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t psn, int err);

/** unic_responder_refused_again() - the same of a READ that was answered before. The peer
 * may have had that answer, and this be a copy that the wire held back, so the QP lives: a
 * peer that still waits is told, and dies of it; any other ignores the PSN. */
void unic_responder_refused_again(struct unic_transport *nic,
				  struct unic_qp_ctx *qp, uint32_t psn,
				  int err);

/** unic_responder_fail() - the request with @psn is fatal to both sides (IBTA 9.9.3:
 * responder class C): the QP dies of @status, @syndrome is its last word. Returns 0. */
int unic_responder_fail(struct unic_transport *nic, struct unic_qp_ctx *qp,
			uint32_t psn, uint8_t syndrome,
			enum unic_wc_status status);

/** unic_responder_fail_receive() - the same, after the receive in use, if there is one,
 * has completed with @status. -UNIC_EAGAIN: no room for that, nothing happened. */
int unic_responder_fail_receive(struct unic_transport *nic,
				struct unic_qp_ctx *qp, uint32_t psn,
				enum unic_wc_status status, uint8_t syndrome);

/** unic_responder_save_last() - what a QP in ERR answers when its peer asks again for
 * @psn. */
void unic_responder_save_last(struct unic_qp_ctx *qp, uint32_t psn,
			      uint8_t syndrome);

/** unic_responder_last_word() - the QP is in ERR, because of the request with
 * @psn: @syndrome (NAK, or UNIC_RSP_VACK) is owed, now and when the peer asks
 * again. */
void unic_responder_last_word(struct unic_transport *nic,
			      struct unic_qp_ctx *qp, uint32_t psn,
			      uint8_t syndrome);

/**
 * unic_responder_cut_syndrome() - how the peer is told that a region was taken
 * back under a request that had begun. A conventional one gets "remote
 * operational error" (IBTA 9.7.5.2.8): we cannot complete the request for a
 * reason of our own. "Remote access error" (9.7.5.2.7) would blame its R_Key,
 * which was good when the request began; and a SEND has none.
 */
static inline uint8_t unic_responder_cut_syndrome(const struct unic_qp_ctx *qp)
{
	return qp->vendor ? UNIC_RSP_VACK : UNIC_NAK_REM_OP;
}

/** unic_responder_asked_again() - a request for a QP in ERR. True if its peer is
 * owed an answer for it: the last word, or that it was executed. */
bool unic_responder_asked_again(struct unic_transport *nic,
				struct unic_qp_ctx *qp,
				const struct unic_pkt *pkt);

#endif /* UNIC_RESPONDER_NAK_H */

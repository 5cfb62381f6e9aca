/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * responder.h - the receiving half of a reliable connection (IBTA 9.7.4,
 * 9.7.5).
 *
 * Secret: what is expected next, and what is owed to the peer. Replies are
 * noted and sent by the scheduler, so a batch of requests is answered by one
 * acknowledgement; READ responses keep their place before it.
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
#ifndef UNIC_RESPONDER_H
#define UNIC_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/qp.h"
#include "transport/requester.h"

struct unic_cuts;

/**
 * unic_responder_request() - one request packet for @qp.
 * Returns 0: through with it. -UNIC_EAGAIN: nothing happened, give the packet
 * again later. -UNIC_EPENDING: roce.rx_sgl is filled in, place it and call
 * unic_responder_placed().
 */
int unic_responder_request(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   const struct unic_pkt *pkt);

/**
 * unic_responder_placed() - the payload of the request in hand is placed (@err
 * 0) or not. False: no room for its completion, call again.
 */
bool unic_responder_placed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   int err);

/** unic_responder_refused() - the rkey of the request with @psn did not pass its
 * access check, which said @err: the peer is told. */
void unic_responder_refused(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t psn, int err);

/** unic_responder_owe_ack() - an acknowledgement is due. */
void unic_responder_owe_ack(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_responder_reply() - send what QP @idx owes; READ responses while *@left
 * is positive. Takes off it what that costs, as unic_requester_send() does. */
enum unic_turn unic_responder_reply(struct unic_transport *nic, uint16_t idx,
				    int32_t *left);

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

/** unic_responder_keep() - the message in hand needs its regions beyond this
 * poll. */
void unic_responder_keep(struct unic_transport *nic, struct unic_qp_ctx *qp);

/**
 * unic_responder_part() - the QP dies because a region was taken back, before
 * unic_responder_abort(). If requests of the peer hold what @cuts has, the peer
 * is told at the oldest PSN that was not answered: EVICTED, if it is one of them.
 * If only our own do (then @cuts may be NULL), the peer is told when it asks.
 */
void unic_responder_part(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 const struct unic_cuts *cuts);

/** unic_responder_abort() - the QP dies: holds dropped, token aborted (when
 * the last DMA of the QP has ended); if a receive being filled holds
 * what @cuts has (NULL: nothing), it will complete EVICTED. */
void unic_responder_abort(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  const struct unic_cuts *cuts);

/** unic_responder_dma_end() - of a dead QP: nothing of it moves any more, so a
 * token that it had claimed ends now. */
void unic_responder_dma_end(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_responder_filled() - as unic_requester_filled(), for a READ of the peer
 * that is being answered. */
void unic_responder_filled(struct unic_transport *nic, uint16_t idx);

/** unic_responder_holds() - the first region of @cuts that anything of this half
 * holds, or UNIC_MR_NIL. */
uint16_t unic_responder_holds(const struct unic_qp_ctx *qp,
			      const struct unic_cuts *cuts);

/** unic_responder_gathered() - a READ response that waited for its payload is
 * sent (@err 0) or was given back. */
void unic_responder_gathered(struct unic_transport *nic, uint16_t idx, int err);

#endif /* UNIC_RESPONDER_H */

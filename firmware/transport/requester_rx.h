/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * requester_rx.h - what the peer answers to requests (IBTA 9.7.5.1, 9.7.6, 9.9).
 *
 * Secret: what an acknowledgement proves, and what follows from one that says no, comes
 * too late, or does not come.
 */
#ifndef UNIC_REQUESTER_RX_H
#define UNIC_REQUESTER_RX_H

#include <stdint.h>

struct unic_pkt;
struct unic_qp_ctx;
struct unic_transport;

/** unic_requester_ack() - ACK, NAK, RNR NAK of the peer, syndrome @syn. */
void unic_requester_ack(struct unic_transport *nic, struct unic_qp_ctx *qp,
			uint32_t psn, uint8_t syn);

/** unic_requester_vack() - a vendor acknowledgement: @reason, @delay_us. A reason
 * that is not known acknowledges what is before @psn, and nothing follows from it:
 * the timer goes on. */
void unic_requester_vack(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 uint32_t psn, uint32_t reason, uint32_t delay_us);

/**
 * unic_requester_response() - a READ response. Returns 0: through with it;
 * -UNIC_EPENDING: roce.rx_sgl is filled in, place it and call
 * unic_requester_placed().
 */
int unic_requester_response(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    const struct unic_pkt *pkt);

/** unic_requester_placed() - the payload of the response in hand is placed
 * (@err 0) or not. */
void unic_requester_placed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   int err);

/** unic_requester_timeout() - sq.timer_ns is over. */
void unic_requester_timeout(struct unic_transport *nic, struct unic_qp_ctx *qp);

#endif /* UNIC_REQUESTER_RX_H */

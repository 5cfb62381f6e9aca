/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * responder.h - the receiving half of a reliable connection (IBTA 9.7.4,
 * 9.7.5).
 *
 * Secret: what is expected next, and what a request asks for. Replies are
 * noted and sent by the scheduler, so a batch of requests is answered by one
 * acknowledgement; READ responses keep their place before it.
 */
#ifndef UNIC_RESPONDER_H
#define UNIC_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/qp.h"
#include "transport/requester.h"

struct unic_pkt;
struct unic_transport;

/**
 * unic_responder_request() - one request packet for @qp.
 * Returns 0: through with it. -UNIC_EAGAIN: nothing happened, give the packet
 * again later. -UNIC_EPENDING: roce.rx_sgl is filled in, place it and call
 * unic_responder_placed().
 */
int unic_responder_request(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   const struct unic_pkt *pkt);

/**
 * unic_responder_unsupported() - a packet for @qp whose opcode asks for something
 * that no responder here does. When its PSN is the expected one, it is NAKed
 * "invalid request" and @qp is in error (IBTA 9.7.4.1, 9.9.3: responder class C); when
 * packets before it are missing, they are asked for. False: its PSN is of an earlier
 * request, which it cannot repeat; nothing happened.
 */
bool unic_responder_unsupported(struct unic_transport *nic,
				struct unic_qp_ctx *qp,
				const struct unic_pkt *pkt);

/** unic_responder_reply() - send what QP @idx owes; READ responses while *@left
 * is positive. Takes off it what that costs, as unic_requester_send() does. */
enum unic_turn unic_responder_reply(struct unic_transport *nic, uint16_t idx,
				    int32_t *left);

/** unic_responder_ack_now() - @qp owes its peer an acknowledgement and nothing else: sent
 * at once, if nobody waits to send, else in its turn. */
void unic_responder_ack_now(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_responder_sole_ack() - the only thing to send is what QP sched.sole owes its peer. If
 * that is an acknowledgement and nothing else, it is sent now and not in its turn. */
void unic_responder_sole_ack(struct unic_transport *nic);

/** unic_responder_filled() - as unic_requester_filled(), for a READ of the peer
 * that is being answered. */
void unic_responder_filled(struct unic_transport *nic, uint16_t idx);

/** unic_responder_gathered() - a READ response that waited for its payload is
 * sent (@err 0) or was given back. */
void unic_responder_gathered(struct unic_transport *nic, uint16_t idx, int err);

#endif /* UNIC_RESPONDER_H */

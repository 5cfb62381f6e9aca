/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ud_uc.h - unreliable connections and datagrams, UC and UD (VIA 2.2
 * "unreliable delivery"; IBTA 9.8, for RoCEv2 annex A17).
 *
 * Secret: what "unreliable" means. A request has ended when its last packet is on
 * its way; nothing is kept for a second one, and no timer runs. What arrives and
 * cannot be used is dropped and counted, and nobody is told: a message of UC with
 * one packet of it missing to its end (IBTA 9.8.3), a datagram by itself. The
 * receive that such a message was to have stays posted.
 *
 * These queue pairs use the rings, windows and completions of the others (sq.h,
 * rq.h). They are never in RTR or RTS, but in these with UNIC_QPS_UD_UC added:
 * what looks for RC finds RC, and pays nothing for them.
 *
 * An incoming packet that meets a missing page is dropped, gets another receive,
 * or is kept until the page is there (parked.h), as its queue pair says (MEMORY.md
 * section 1). The page is asked for in each case.
 */
#ifndef UNIC_UD_UC_H
#define UNIC_UD_UC_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/requester.h"

struct unic_transport;
struct unic_pkt;
struct unic_qp_ctx;

/* ud_uc_tx.c */

/** unic_ud_uc_send() - as unic_requester_send(), for a queue pair in RTS. */
enum unic_turn unic_ud_uc_send(struct unic_transport *nic,
			       struct unic_qp_ctx *qp, int32_t *left);

/** unic_ud_uc_gathered() - the packet that waited for its payload is sent (@err
 * 0), or not. */
void unic_ud_uc_gathered(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 int err);

/* ud_uc_rx.c */

/**
 * unic_ud_uc_packet() - one packet for @qp, which receives. @frame: all of it,
 * lengths and checksums checked.
 * Returns 0: through with it. -UNIC_EAGAIN: nothing happened, give it again
 * later. -UNIC_EPENDING: roce.rx_sgl is filled in, place it and call
 * unic_ud_uc_placed().
 */
int unic_ud_uc_packet(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      const struct unic_pkt *pkt, const uint8_t *frame);

/** unic_ud_uc_placed() - the payload of the packet in hand is placed (@err 0) or
 * not. False: no room for its completion, call again. */
bool unic_ud_uc_placed(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       int err);

/** unic_ud_uc_cut() - the time of regions is over (cut.h): the message being
 * received, if it uses one, is given up. The queue pair goes on. */
void unic_ud_uc_cut(struct unic_transport *nic, struct unic_qp_ctx *qp);

#endif /* UNIC_UD_UC_H */

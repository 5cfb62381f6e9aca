/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * requester.h - the sending half of a reliable connection (IBTA 9.7.2, 9.7.3,
 * 9.9).
 *
 * Secret: the window of work requests, and when one is sent again. A work
 * request is copied into the window by DMA, checked there and kept until it is
 * acknowledged, so its process may overwrite its ring at any time. From its
 * first packet on it holds its regions (MEMORY.md section 5).
 */
#ifndef UNIC_REQUESTER_H
#define UNIC_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/qp.h"

struct unic_transport;

/* How a turn of the scheduler ended. */
enum unic_turn {
	UNIC_TURN_DONE = 0, /* nothing to do until something happens */
	UNIC_TURN_MORE,	    /* there is more, did something */
	UNIC_TURN_BLOCKED,  /* there is more, could do nothing just now */
	UNIC_TURN_WAIT,	    /* there is more, but something of its own is to
			     * happen first of which nobody will tell */
	UNIC_TURN_AGAIN,    /* requester.c: nothing was sent, look again */
};

/**
 * unic_requester_send() - fetch, start and send work requests of QP @idx, or
 * flush them, while *@left is positive. Takes off it what that costs: payload,
 * sched.cost for each frame, and sched.cost_last for the last one of a request,
 * for a local operation, and for a request that ended unsent.
 */
enum unic_turn unic_requester_send(struct unic_transport *nic, uint16_t idx,
				   int32_t *left);

/* A long message asks for acknowledgement when these bits of the PSN are set. */
#define UNIC_ACK_EVERY 31u

/** unic_requester_is_local() - what @qp does next needs no room on the link: it
 * flushes, or a memory operation is due. */
bool unic_requester_is_local(struct unic_qp_ctx *qp);

/** unic_requester_advance() - the packet with sq.psn, of one PSN, was sent;
 * @last: of its request. */
void unic_requester_advance(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    bool last);

/** unic_requester_timer() - the acknowledgement timer begins anew. */
void unic_requester_timer(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_requester_sent() - packets of @qp were sent: the acknowledgement timer runs. */
static inline void unic_requester_sent(struct unic_transport *nic,
				       struct unic_qp_ctx *qp)
{
	if (UNIC_LONE && qp->sq.lazy)
		qp->sq.lazy = false;
	else if (qp->sq.timer_ns != UNIC_NEVER)
		return;
	unic_requester_timer(nic, qp);
}

/** unic_requester_has_outstanding() - is anything sent that is not acknowledged? */
static inline bool unic_requester_has_outstanding(const struct unic_sq *sq)
{
	return sq->psn_una != sq->psn_max;
}

/** unic_requester_seek() - send on from @psn: sq.cur is the request it belongs to, or
 * sq.next. */
void unic_requester_seek(struct unic_sq *sq, uint32_t psn);

/** unic_requester_go_back() - what was sent from @psn on is sent again; @reason: of the
 * trace. */
void unic_requester_go_back(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t psn, uint32_t reason);

/** unic_requester_fail() - the request that @psn belongs to ends the QP: with @status and
 * @detail, unless it had its own. */
void unic_requester_fail(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 uint32_t psn, enum unic_wc_status status,
			 uint8_t detail);

/** unic_requester_filled() - a page that QP @idx waits for may be there now, or
 * cannot be had: go on and see. Nothing if it does not wait. */
void unic_requester_filled(struct unic_transport *nic, uint16_t idx);

/** unic_requester_not_read() - the payload of the packet with @psn, which is not
 * sent, could not be read: with -UNIC_EMISS the QP falls silent until the page is
 * there, else the request fails, and the QP. */
void unic_requester_not_read(struct unic_transport *nic, struct unic_qp_ctx *qp,
			     uint32_t psn, int err);

/** unic_requester_gathered() - a frame that waited for its payload ended. */
void unic_requester_gathered(struct unic_transport *nic, uint16_t idx, int err);

#endif /* UNIC_REQUESTER_H */

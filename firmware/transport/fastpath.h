/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fastpath.h - the short way of the commonest messages.
 *
 * Secret: nothing that the long way (requester.c, responder.c) does not know.
 * A WRITE or SEND of one buffer, on a queue pair where nothing is amiss, is
 * checked, sent, received and placed by straight-line code over the same state
 * and with the same checks: access, bounds, PSN, integrity.
 * Whatever is different in any way is left to the long way, untouched.
 *
 * The fast path is for ports on which DMA is a copy by the CPU (unic_port_window()):
 * it copies itself, so nothing of it is ever in flight. On others the long way
 * does it all.
 */
#ifndef UNIC_FASTPATH_H
#define UNIC_FASTPATH_H

#include <stdint.h>

struct unic_transport;
struct unic_qp_ctx;
struct unic_rx;

enum unic_fastpath {
	UNIC_FASTPATH_DONE = 0, /* all done */
	UNIC_FASTPATH_NOT,	/* nothing happened: it is for the long way */
	UNIC_FASTPATH_DEAD,	/* a request did not pass its checks */
	UNIC_FASTPATH_WAITS,	/* a page of the next request is missing */
};

/**
 * unic_fastpath_send() - send posted requests of @qp, which is in RTS, from the
 * next one on, while they fit the fast path and *@left is positive; takes the
 * bytes sent off it.
 * Returns DONE: *@left or the ring is used up. NOT: the next request, or
 * the state of the queue pair, is for the long way, or there is no frame buffer
 * now. DEAD: a request is to be completed with its error. WAITS: the queue pair is
 * silent until the page is there.
 */
enum unic_fastpath unic_fastpath_send(struct unic_transport *nic,
				      struct unic_qp_ctx *qp, int32_t *left);

/**
 * unic_fastpath_message() - send packets of request sq.cur, which is ready, from
 * sq.psn on, while *@left is positive; takes the bytes sent off it.
 * Returns DONE: some are sent, perhaps all. NOT: the next is for the long way,
 * or there is no frame buffer now.
 */
enum unic_fastpath unic_fastpath_message(struct unic_transport *nic,
					 struct unic_qp_ctx *qp, int32_t *left);

/**
 * unic_fastpath_rx() - one received frame, and those like it behind it.
 * @n: how many may be taken at most; afterwards how many were, all of them
 * of rx->len bytes.
 * Returns DONE: through with them. NOT: @rx is for the long way.
 */
enum unic_fastpath unic_fastpath_rx(struct unic_transport *nic,
				    const struct unic_rx *rx, uint32_t *n);

#endif /* UNIC_FASTPATH_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fastpath_lone.h - a message that is alone: the one request of a queue pair, and the one
 * frame that came.
 *
 * Secret: nothing that the fast path does not know. What fastpath_tx.c and fastpath_rx.c
 * do for a run of messages is done here for one, without loops and limits, with the same
 * inline functions for what is checked, built and compared. Each function does all or
 * nothing: what is different in any way is left to the way for runs, untouched, but for
 * a slot that was fetched.
 *
 * For ports on which DMA is a copy by the CPU, and links that leave the ICRC out. While
 * frames or completions are traced there are no lone messages. A board without room has
 * none (UNIC_LONE 0).
 */
#ifndef UNIC_FASTPATH_LONE_H
#define UNIC_FASTPATH_LONE_H

#include <stdbool.h>

struct unic_qp_ctx;
struct unic_rx;
struct unic_transport;

/**
 * unic_fastpath_lone_send() - the process posted one request to @qp, of which nothing is
 * under way, and nobody else waits to send. True if the request, one packet like the last
 * one, is sent. False: it is for the scheduler; its slot may be in the window.
 */
bool unic_fastpath_lone_send(struct unic_transport *nic,
			     struct unic_qp_ctx *qp);

enum unic_lone {
	UNIC_LONE_DONE = 0,
	UNIC_LONE_NOT,	   /* nothing happened: it is for unic_fastpath_rx() */
	UNIC_LONE_STRANGE, /* ... which has no use for it either */
};

/**
 * unic_fastpath_lone_rx() - a frame that was received. DONE: a whole WRITE, which is
 * placed, or the acknowledgement of the one request that was under way, which is
 * completed. *@acks: whose peer wants the WRITE acknowledged, or NULL.
 */
enum unic_lone unic_fastpath_lone_rx(struct unic_transport *nic,
				     const struct unic_rx *rx,
				     struct unic_qp_ctx **acks);

#endif /* UNIC_FASTPATH_LONE_H */

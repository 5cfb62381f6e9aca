/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lane.h - the short way of the commonest messages.
 *
 * Secret: nothing that the long way (requester.c, responder.c) does not know.
 * A WRITE or SEND of one buffer, on a queue pair where nothing is amiss, is
 * checked, sent, received and placed by straight-line code over the same state
 * and with the same checks: access, bounds, PSN, integrity.
 * Whatever is different in any way is left to the long way, untouched.
 *
 * Ports whose DMA is not over at once take the lane, too: the piece in flight
 * is handed to the long way, which waits for it.
 */
#ifndef UNIC_LANE_H
#define UNIC_LANE_H

#include <stdint.h>

struct unic_nic;
struct unic_qp;
struct unic_rx;

enum unic_lane {
	UNIC_LANE_DONE = 0, /* all done */
	UNIC_LANE_NOT,	    /* nothing happened: it is for the long way */
	UNIC_LANE_LATE,	    /* begun; the long way goes on with it */
	UNIC_LANE_BLOCKED,  /* no room now, nothing happened */
	UNIC_LANE_DEAD,	    /* a request did not pass its checks */
};

/**
 * unic_lane_send() - send posted requests of @qp, which is in RTS, from the
 * next one on, while they fit the lane and *@deficit is positive; takes the
 * bytes sent off it.
 * Returns DONE: the deficit or the ring is used up. NOT: the next request, or
 * the state of the queue pair, is for the long way. BLOCKED: no frame buffer or
 * DMA now. DEAD: a request is to be completed with its error. LATE: a frame
 * waits for its payload (sq.gathering).
 */
enum unic_lane unic_lane_send(struct unic_nic *nic, struct unic_qp *qp,
			      int32_t *deficit);

/**
 * unic_lane_packet() - send the next packet of request sq.cur, which is ready.
 * @bytes: its payload, if it is sent.
 * Returns DONE, BLOCKED, LATE as above; NOT: for the long way.
 */
enum unic_lane unic_lane_packet(struct unic_nic *nic, struct unic_qp *qp,
				uint32_t *bytes);

/**
 * unic_lane_rx() - one received frame.
 * Returns DONE: through with it. NOT: for the long way. LATE: its payload is
 * on its way as roce.rx_qp and rx_sgl say, the frame must be kept.
 */
enum unic_lane unic_lane_rx(struct unic_nic *nic, const struct unic_rx *rx);

#endif /* UNIC_LANE_H */

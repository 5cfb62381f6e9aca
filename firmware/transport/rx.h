/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rx.h - a received frame: which protocol it is of, whose queue pair it is for.
 *
 * Secret: the stages of a frame that waits for DMA, and when it goes back to the port.
 */
#ifndef UNIC_RX_H
#define UNIC_RX_H

#include <stdbool.h>
#include <stdint.h>

struct unic_transport;
struct unic_rx;

/**
 * unic_rx_poll() - take at most UNIC_RX_BATCH frames from the port, none while
 * the payload of an earlier one is on its way: ARP, RoCEv2 to a QP, UD to QP 1;
 * all else is counted and dropped. A frame goes back to the port when it is done
 * with, at once unless DMA is pending. Returns 0 if there was no work, 1, or
 * UNIC_RX_LONE: it was one frame, handled by fastpath_lone.h.
 */
uint32_t unic_rx_poll(struct unic_transport *nic);

#define UNIC_RX_LONE 2u

/** unic_rx_again() - a frame kept by unic_parked_keep(), while rx_stage is IDLE:
 * as if it came now. unic_parked_done() is called when it is done with. */
void unic_rx_again(struct unic_transport *nic, const struct unic_rx *rx);

#endif /* UNIC_RX_H */

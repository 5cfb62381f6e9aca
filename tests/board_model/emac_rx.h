/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * emac_rx.h - the receiving half of the Ethernet controller's DMA (data sheet 20.3.2,
 * "RX DMA operation"). Frames wait in a FIFO of 2 KiB. The DMA reads the next descriptor
 * in advance; without one it is suspended, and frames are flushed and counted as missed,
 * until a poll demand, or a frame, makes it look again.
 *
 * From the moment a descriptor is read its buffer is overwritten: here at once, with
 * nonsense, as a frame that is dropped in the end would do.
 *
 * Rules: buffers have a length that is a multiple of 4; the whole frame is stored before
 * it is forwarded (RSF).
 */
#ifndef BOARD_MODEL_EMAC_RX_H
#define BOARD_MODEL_EMAC_RX_H

#include "emac.h"

/** emac_rx_reset() - nothing is in the FIFO, the DMA is stopped. */
void emac_rx_reset(struct emac *emac);

/** emac_rx_start(), emac_rx_stop() - SR. */
void emac_rx_start(struct emac *emac);
void emac_rx_stop(struct emac *emac);

/** emac_rx_poll() - a poll demand. */
void emac_rx_poll(struct emac *emac);

/** emac_rx_arrive() - a frame with its FCS is at the end of the wire. */
void emac_rx_arrive(void *arg, const uint8_t *frame, uint32_t bytes);

/** emac_rx_lost() - MFBOC, which is cleared. */
uint32_t emac_rx_lost(struct emac *emac);

#endif /* BOARD_MODEL_EMAC_RX_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * emac_tx.h - the sending half of the Ethernet controller's DMA (data sheet 20.3.2,
 * "TX DMA operation"): a frame is read from its buffers, takes its time on the wire, and
 * then its last descriptor comes back. With OSF the next one is read meanwhile. Without
 * a descriptor the DMA is suspended until a poll demand.
 *
 * Rules: a frame has a first and a last descriptor, all of them given away; no frame is
 * longer than 1,514 bytes; the whole frame is stored before it is sent (TSF); padding
 * and FCS are the controller's.
 */
#ifndef BOARD_MODEL_EMAC_TX_H
#define BOARD_MODEL_EMAC_TX_H

#include "emac.h"

/** emac_tx_reset() - nothing is sent, the DMA is stopped. */
void emac_tx_reset(struct emac *emac);

/** emac_tx_start(), emac_tx_stop() - ST. */
void emac_tx_start(struct emac *emac);
void emac_tx_stop(struct emac *emac);

/** emac_tx_poll() - a poll demand. */
void emac_tx_poll(struct emac *emac);

/** emac_tx_enable() - TE was set: frames that wait go out. */
void emac_tx_enable(struct emac *emac);

#endif /* BOARD_MODEL_EMAC_TX_H */

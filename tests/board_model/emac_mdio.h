/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * emac_mdio.h - the management interface of the Ethernet controller, EMACMIIADDR and
 * EMACMIIDATA: the transceiver is number 0, an access takes 64 ticks of a clock that is
 * the system's, divided.
 *
 * Rules: one access at a time; the clock is 2.5 MHz at most.
 *
 * Secret: dividers and time.
 */
#ifndef BOARD_MODEL_EMAC_MDIO_H
#define BOARD_MODEL_EMAC_MDIO_H

#include "emac.h"

/** emac_mdio_write() - @value for EMACMIIADDR: an access, if its busy bit is set. */
void emac_mdio_write(struct emac *emac, uint32_t value);

/** emac_mdio_busy() - an access goes on, and an access to register @off is a fault. */
bool emac_mdio_busy(struct emac *emac, uint32_t off);

#endif /* BOARD_MODEL_EMAC_MDIO_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ephy.h - the transceiver inside the TM4C1294NCPDT (data sheet chapter 20, EPHY
 * registers): what it has beside the registers of every transceiver.
 *
 * It runs when it has a clock of its device, no reset, and the crystal. PHYHOLD of
 * EMACPC, latched when its reset ends, keeps it from negotiating until DONE is written
 * to EPHYCFG1.
 *
 * Secret: registers from 9 on, and its interrupt.
 */
#ifndef BOARD_MODEL_EPHY_H
#define BOARD_MODEL_EPHY_H

#include "board.h"
#include "phy.h"

#define EPHY_REGS 32u

struct ephy {
	struct phy phy;
	bool on, held; /* held: PHYHOLD */
	uint16_t reg[EPHY_REGS];
	uint16_t events; /* of EPHYMISR1 */
	void (*changed)(void *arg);
	void *arg;
};

/** ephy_init() - @changed(@arg): link or interrupt. */
void ephy_init(struct ephy *ephy, struct board *board, bool plugged,
	       void (*changed)(void *), void *arg);

/** ephy_switch() - it runs, or not; @config: EMACPC of then. */
void ephy_switch(struct ephy *ephy, bool on, uint32_t config);

/** ephy_interrupts() - it asks for an interrupt. */
bool ephy_interrupts(const struct ephy *ephy);

/** ephy_read(), ephy_write() - by the management interface. */
uint16_t ephy_read(struct ephy *ephy, uint32_t reg);
void ephy_write(struct ephy *ephy, uint32_t reg, uint16_t value);

#endif /* BOARD_MODEL_EPHY_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * phy.h - a transceiver at its management registers (IEEE 802.3 clause 22): some time
 * after it is powered the link is up, as auto-negotiation agreed with the partner.
 *
 * Secret: the time that negotiating takes, and the latched link bit. What a vendor has
 * from register 16 on is the chip's.
 */
#ifndef BOARD_MODEL_PHY_H
#define BOARD_MODEL_PHY_H

#include "board.h"

struct phy {
	struct board *board;
	bool plugged, up;
	bool on;	  /* it has power */
	uint16_t partner; /* what it advertises */
	bool was_down;	  /* since the status was read: the bit is latched */
	bool negotiated;
	uint16_t control, advertised;
	void (*changed)(void *arg); /* the link went up or down */
	void *arg;
};

/** phy_init() - @plugged: there is a partner: with 100BASE-TX, full duplex if
 * --break does not say "half"; with 10BASE-T, half duplex if it says "ten". */
void phy_init(struct phy *phy, struct board *board, bool plugged,
	      void (*changed)(void *), void *arg);

/** phy_start() - power on, or reset: negotiation begins. */
void phy_start(struct phy *phy);

/** phy_stop() - power off. */
void phy_stop(struct phy *phy);

/** phy_plug() - the cable is pulled: the link is down at once; or plugged in:
 * negotiation begins. */
void phy_plug(struct phy *phy, bool plugged);

/** phy_full_duplex() - what was agreed on. */
bool phy_full_duplex(const struct phy *phy);

/** phy_is_100() - 100 Mbit/s were agreed on, not 10. */
bool phy_is_100(const struct phy *phy);

/** phy_read(), phy_write() - registers 0 to 6. */
uint16_t phy_read(struct phy *phy, uint32_t reg);
void phy_write(struct phy *phy, uint32_t reg, uint16_t value);

#endif /* BOARD_MODEL_PHY_H */

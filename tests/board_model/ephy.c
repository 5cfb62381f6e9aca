// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* ephy.c - see ephy.h. */
#include "ephy.h"

#include <string.h>

#define BMCR   0u
#define ID1    2u
#define ID2    3u
#define COMMON 7u /* registers below are those of every transceiver */
#define CFG1   9u
#define STS    16u
#define SCR    17u
#define MISR1  18u
#define RCR    31u

#define BMCR_RESET  0x8000u
#define CFG1_DONE   0x8000u
#define STS_LINK    0x0001u
#define STS_10	    0x0002u
#define STS_FULL    0x0004u
#define STS_DONE    0x0010u
#define STS_INT	    0x0080u
#define SCR_INTEN   0x0002u
#define SCR_RESET   0x0103u /* not verified against the data sheet */
#define EVENT_LINK  0x2000u /* enabled eight bits lower */
#define EVENT_SPEED 0x1000u
#define EVENT_FULL  0x0800u
#define EVENT_DONE  0x0400u
#define EVENTS	    0x3f00u

#define PC_HOLD 1u
#define PC_ANEN 8u

static void hear_of_link(void *arg)
{
	struct ephy *ephy = arg;

	ephy->events |= EVENT_LINK;
	if (ephy->phy.up)
		ephy->events |= EVENT_SPEED | EVENT_FULL | EVENT_DONE;
	ephy->changed(ephy->arg);
}

static void reset_registers(struct ephy *ephy)
{
	memset(ephy->reg, 0, sizeof(ephy->reg));
	ephy->reg[SCR] = SCR_RESET & ~SCR_INTEN;
	ephy->events = 0;
}

void ephy_switch(struct ephy *ephy, bool on, uint32_t config)
{
	if (on == ephy->on)
		return;
	ephy->on = on;
	ephy->held = on && config & PC_HOLD;
	reset_registers(ephy);
	if (!on)
		phy_stop(&ephy->phy);
	else if (!ephy->held)
		phy_start(&ephy->phy);
	if (on && !(config & PC_ANEN))
		board_fault(ephy->phy.board,
			    "EMACPC=%08x: a link without negotiation is not "
			    "modelled",
			    config);
	ephy->changed(ephy->arg);
}

bool ephy_interrupts(const struct ephy *ephy)
{
	return ephy->reg[SCR] & SCR_INTEN &&
	       ephy->events >> 8 & ephy->reg[MISR1];
}

static uint16_t read_status(const struct ephy *ephy)
{
	const struct phy *phy = &ephy->phy;

	return (uint16_t)((phy->up ? STS_LINK : 0) |
			  (phy->up && phy_is_100(phy) ? 0 : STS_10) |
			  (phy_full_duplex(phy) ? STS_FULL : 0) |
			  (phy->negotiated ? STS_DONE : 0) |
			  (ephy->events ? STS_INT : 0));
}

static uint16_t read_events(struct ephy *ephy)
{
	uint16_t v = (uint16_t)(ephy->events | (ephy->reg[MISR1] & 0xff));

	ephy->events = 0;
	ephy->changed(ephy->arg);
	return v;
}

uint16_t ephy_read(struct ephy *ephy, uint32_t reg)
{
	if (!ephy->on)
		return 0xffff;
	switch (reg) {
	case ID1:
		return 0x2000;
	case ID2:
		return 0xa221;
	case STS:
		return read_status(ephy);
	case MISR1:
		return read_events(ephy);
	default:
		return reg < COMMON ? phy_read(&ephy->phy, reg)
				    : ephy->reg[reg];
	}
}

void ephy_write(struct ephy *ephy, uint32_t reg, uint16_t value)
{
	if (!ephy->on) {
		board_fault(ephy->phy.board,
			    "transceiver register %u is written while it does "
			    "not run",
			    reg);
		return;
	}
	if (reg == BMCR && value & BMCR_RESET)
		reset_registers(ephy);
	if (reg == CFG1 && value & CFG1_DONE && ephy->held) {
		ephy->held = false;
		phy_start(&ephy->phy);
	}
	if (reg < COMMON && !(ephy->held && reg == BMCR))
		phy_write(&ephy->phy, reg, value);
	else
		ephy->reg[reg] = value;
	ephy->changed(ephy->arg);
}

void ephy_init(struct ephy *ephy, struct board *board, bool plugged,
	       void (*changed)(void *), void *arg)
{
	ephy->changed = changed;
	ephy->arg = arg;
	phy_init(&ephy->phy, board, plugged, hear_of_link, ephy);
}

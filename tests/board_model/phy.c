// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* phy.c - see phy.h. */
#include "phy.h"

#define BMCR   0u
#define BMSR   1u
#define ANAR   4u
#define ANLPAR 5u
#define ANER   6u

#define BMCR_RESET   0x8000u
#define BMCR_ANEG    0x1000u
#define BMCR_DOWN    0x0800u
#define BMCR_RESTART 0x0200u
#define BMCR_START   0x3100u
#define BMSR_CAN     0x7849u
#define BMSR_DONE    0x0020u
#define BMSR_LINK    0x0004u
#define AN_100_FULL  0x0100u
#define AN_100_HALF  0x0080u
#define AN_10_FULL   0x0040u
#define AN_10_HALF   0x0020u
#define AN_ALL	     0x01e1u
#define AN_ACK	     0x4000u
#define ANER_PARTNER 0x0001u

#define NEGOTIATE_NS 1500000000ull

static void set_link(struct phy *phy, bool up)
{
	if (phy->up == up)
		return;
	phy->up = up;
	phy->was_down |= !up;
	phy->changed(phy->arg);
}

static void end_negotiation(void *arg)
{
	struct phy *phy = arg;

	phy->negotiated = true;
	set_link(phy, true);
}

static void lose_link(struct phy *phy)
{
	clock_cancel(&phy->board->clock, end_negotiation, phy);
	phy->negotiated = false;
	set_link(phy, false);
}

void phy_stop(struct phy *phy)
{
	phy->on = false;
	lose_link(phy);
}

static void negotiate(struct phy *phy)
{
	struct clock *clock = &phy->board->clock;

	lose_link(phy);
	if (phy->on && phy->plugged && !(phy->control & BMCR_DOWN) &&
	    phy->control & BMCR_ANEG)
		clock_at(clock, clock_now_ns(clock) + NEGOTIATE_NS,
			 end_negotiation, phy);
}

void phy_start(struct phy *phy)
{
	phy->on = true;
	phy->control = BMCR_START;
	phy->advertised = AN_ALL;
	phy->was_down = true;
	negotiate(phy);
}

void phy_plug(struct phy *phy, bool plugged)
{
	phy->plugged = plugged;
	negotiate(phy);
}

bool phy_full_duplex(const struct phy *phy)
{
	uint32_t both = phy->advertised & phy->partner;

	if (both & (AN_100_FULL | AN_100_HALF))
		return phy->negotiated && both & AN_100_FULL;
	return phy->negotiated && both & AN_10_FULL;
}

bool phy_is_100(const struct phy *phy)
{
	return phy->negotiated &&
	       phy->advertised & phy->partner & (AN_100_FULL | AN_100_HALF);
}

uint16_t phy_read(struct phy *phy, uint32_t reg)
{
	uint16_t v;

	switch (reg) {
	case BMCR:
		return phy->control;
	case BMSR:
		v = BMSR_CAN | (phy->negotiated ? BMSR_DONE : 0) |
		    (phy->up && !phy->was_down ? BMSR_LINK : 0);
		phy->was_down = !phy->up;
		return v;
	case ANAR:
		return phy->advertised;
	case ANLPAR:
		return phy->negotiated ? AN_ACK | phy->partner : 0;
	case ANER:
		return phy->negotiated ? ANER_PARTNER : 0;
	default:
		return 0;
	}
}

void phy_write(struct phy *phy, uint32_t reg, uint16_t value)
{
	if (reg == ANAR)
		phy->advertised = value;
	if (reg != BMCR)
		return;
	if (value & BMCR_RESET) {
		phy_start(phy);
		return;
	}
	phy->control = value & (uint16_t)~BMCR_RESTART;
	if (value & (BMCR_RESTART | BMCR_DOWN))
		negotiate(phy);
}

void phy_init(struct phy *phy, struct board *board, bool plugged,
	      void (*changed)(void *), void *arg)
{
	phy->board = board;
	phy->plugged = plugged && !board_breaks(board, "link");
	phy->partner = board_breaks(board, "half")  ? AN_100_HALF | 1
		       : board_breaks(board, "ten") ? AN_10_HALF | 1
						    : AN_ALL;
	phy->changed = changed;
	phy->arg = arg;
}

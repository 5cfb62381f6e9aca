// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* emac_mdio.c - see emac_mdio.h. */
#include "emac_mdio.h"

#define MII_BUSY  1u
#define MII_WRITE 2u
#define MDC_MOST  2500000u
#define MDC_TICKS 64u

static void end_management(void *arg)
{
	struct emac *emac = arg;
	uint32_t reg = emac->mii_addr >> 6 & 31, phy = emac->mii_addr >> 11;

	emac->mii_addr &= ~MII_BUSY;
	if (phy) /* nobody has that number */
		emac->mii_data = 0xffff;
	else if (emac->mii_addr & MII_WRITE)
		ephy_write(&emac->ephy, reg, (uint16_t)emac->mii_data);
	else
		emac->mii_data = ephy_read(&emac->ephy, reg);
}

void emac_mdio_write(struct emac *emac, uint32_t value)
{
	static const uint32_t divider[16] = { 42, 62, 16, 26 };
	struct clock *clock = &emac->board->clock;
	uint32_t by = divider[value >> 2 & 15], mdc;

	emac->mii_addr = value & 0xffff;
	if (!(value & MII_BUSY))
		return;
	if (!by)
		board_fault(emac->board,
			    "MIIADDR=%04x: a divider that is "
			    "reserved",
			    value);
	mdc = clock->hz / (by ? by : 16);
	if (mdc > MDC_MOST)
		board_fault(emac->board, "MDC has %u Hz", mdc);
	clock_at(clock, clock_now_ns(clock) + MDC_TICKS * 1000000000ull / mdc,
		 end_management, emac);
}

bool emac_mdio_busy(struct emac *emac, uint32_t off)
{
	bool busy = emac->mii_addr & MII_BUSY;

	if (busy)
		board_fault(emac->board,
			    "Ethernet register %03x is accessed while the "
			    "management interface is busy",
			    off);
	return busy;
}

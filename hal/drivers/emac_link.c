/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "emac_link.h"

#define MIIADDR 0x010u
#define MIIDATA 0x014u

#define MII_BUSY (1u << 0)
#define MII_REG_SHIFT \
	6 /* the PHY's number, bits 15:11, is 0: the internal one */
#define MII_20_35   (2u << 2) /* MHz of the processor */
#define MII_35_60   (3u << 2)
#define MII_60_100  (0u << 2)
#define MII_100_150 (1u << 2)

#define PHY_BMSR 1u
#define PHY_STS	 16u

#define BMSR_LINK      (1u << 2)
#define STS_LINK       (1u << 0)
#define STS_10	       (1u << 1)
#define STS_FULL       (1u << 2)
#define STS_NEGOTIATED (1u << 4)

#define LOOK_NS	    100000000u
#define PATIENCE_NS 10000000u

enum emac_phy_step {
	EMAC_PHY_IDLE = 0,
	EMAC_PHY_BMSR = 1,
	EMAC_PHY_STS = 2,
};

static volatile uint32_t *mii_reg(const struct emac_link *link, uint32_t off)
{
	return (volatile uint32_t *)(link->regs + off);
}

static uint32_t mii_clock(uint32_t hz)
{
	if (hz < 35000000u)
		return MII_20_35;
	if (hz < 60000000u)
		return MII_35_60;
	return hz < 100000000u ? MII_60_100 : MII_100_150;
}

void emac_link_init(struct emac_link *link, uintptr_t regs, uint32_t hz)
{
	link->regs = regs;
	link->clock = mii_clock(hz);
	link->reads = EMAC_PHY_IDLE;
	link->due_ns = 0;
	link->state = 0;
}

static void start_read(struct emac_link *link, enum emac_phy_step step,
		       uint32_t reg, uint64_t now_ns)
{
	*mii_reg(link, MIIADDR) = reg << MII_REG_SHIFT | link->clock | MII_BUSY;
	link->reads = (uint8_t)step;
	link->due_ns = now_ns + PATIENCE_NS;
}

static bool set_state(struct emac_link *link, uint32_t state, uint64_t now_ns)
{
	bool other = state != link->state;

	link->state = (uint8_t)state;
	link->reads = EMAC_PHY_IDLE;
	link->due_ns = now_ns + LOOK_NS;
	return other;
}

static uint32_t state_of(uint32_t sts)
{
	if ((sts & (STS_LINK | STS_NEGOTIATED)) != (STS_LINK | STS_NEGOTIATED))
		return 0;
	return EMAC_LINK_UP | (sts & STS_10 ? 0 : EMAC_LINK_100) |
	       (sts & STS_FULL ? EMAC_LINK_FULL : 0);
}

bool emac_link_turn(struct emac_link *link, uint64_t now_ns)
{
	uint32_t said;

	if (link->reads == EMAC_PHY_IDLE) {
		if (now_ns >= link->due_ns &&
		    !(*mii_reg(link, MIIADDR) & MII_BUSY))
			start_read(link, EMAC_PHY_BMSR, PHY_BMSR, now_ns);
		return false;
	}
	if (*mii_reg(link, MIIADDR) & MII_BUSY)
		return now_ns >= link->due_ns && set_state(link, 0, now_ns);
	said = *mii_reg(link, MIIDATA) & 0xffff;
	if (link->reads == EMAC_PHY_BMSR) {
		link->lost = !(said & BMSR_LINK);
		start_read(link, EMAC_PHY_STS, PHY_STS, now_ns);
		return false;
	}
	/* lost and found again meanwhile: told as lost, and found at the next look */
	return set_state(link, link->lost ? 0 : state_of(said), now_ns);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * emac_link.h - the link of an EMAC (emac.h) and its internal PHY: is there one, how
 * fast, and both ways at once? (TM4C1294NCPDT data sheet, chapter 20: EMACMIIADDR,
 * EMACMIIDATA, EPHYBMSR, EPHYSTS.)
 *
 * Secret: a PHY register takes some 30 us to read, and nobody waits for it: one call
 * starts a read, a later one has the answer. EPHYBMSR comes first: its link bit stays
 * low from a loss of the link until it is read, so that a loss between two looks is
 * seen.
 */
#ifndef EMAC_LINK_H
#define EMAC_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* What the two ends of the cable agreed on; 0: no link. */
#define EMAC_LINK_UP   1u
#define EMAC_LINK_100  2u /* Mbit/s; else 10 */
#define EMAC_LINK_FULL 4u /* duplex */

struct emac_link {
	uintptr_t regs;
	uint32_t clock;	 /* of EMACMIIADDR: divides the processor's */
	uint8_t reads;	 /* the register under way, enum emac_phy_step */
	bool lost;	 /* since the last look */
	uint8_t state;	 /* EMAC_LINK_* */
	uint64_t due_ns; /* the next look, or the end of patience */
};

/** emac_link_init() - no link yet. @link: zeroed. @regs: of the EMAC, whose PHY is
 * on. @hz: clock of the processor, 20 to 150 MHz. */
void emac_link_init(struct emac_link *link, uintptr_t regs, uint32_t hz);

/**
 * emac_link_turn() - go on with a look at the PHY, which begins every 100 ms. Never
 * waits; called between two rounds.
 * Returns true if @link->state is another one now. A PHY that does not answer has
 * no link.
 */
bool emac_link_turn(struct emac_link *link, uint64_t now_ns);

#endif /* EMAC_LINK_H */

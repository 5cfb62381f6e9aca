/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * gicv2.h - Arm GICv2 and its MSI frame, for one CPU that polls.
 *
 * Nothing here takes an interrupt. An enabled interrupt that becomes pending
 * ends WFI even while CPSR.I masks it; gicv2_take() then acknowledges it.
 *
 * No doorbell is lost: an MSI is an edge, which the distributor latches until
 * it is acknowledged. So a main loop that sleeps must acknowledge first, and read
 * the memory that the doorbell is about afterwards. An edge that arrives after
 * the acknowledgement is latched again and ends the next WFI at once; one that
 * arrives between that read and WFI has not been acknowledged and does the same.
 */
#ifndef GICV2_H
#define GICV2_H

#include <stdbool.h>
#include <stdint.h>

#define GICV2_NONE 1023u /* no interrupt */

struct gicv2 {
	uintptr_t dist;
	uintptr_t cpu;
};

struct gicv2_msi {
	uint32_t addr; /* what a device writes to */
	uint32_t base; /* first interrupt number, also the data to write */
	uint32_t count;
};

/**
 * gicv2_init() - all interrupts off, then the CPU interface on.
 * @dist, @cpu: register blocks.
 */
void gicv2_init(struct gicv2 *gic, uintptr_t dist, uintptr_t cpu);

/** gicv2_enable() - let interrupt @id reach this CPU; @edge or level. */
void gicv2_enable(struct gicv2 *gic, uint32_t id, bool edge);

/**
 * gicv2_take() - acknowledge and end one pending interrupt.
 * Returns its number, or GICV2_NONE. A level interrupt whose device has not
 * been quieted before comes again.
 */
uint32_t gicv2_take(struct gicv2 *gic);

/** gicv2_msi_probe() - what the GICv2m frame at @frame offers. */
void gicv2_msi_probe(uintptr_t frame, struct gicv2_msi *msi);

#endif /* GICV2_H */

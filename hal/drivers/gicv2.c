/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "gicv2.h"

/* Distributor, ARM IHI 0048B section 4.3 */
#define GICD_CTLR      0x000u
#define GICD_TYPER     0x004u
#define GICD_ISENABLER 0x100u
#define GICD_ICENABLER 0x180u
#define GICD_ICPENDR   0x280u
#define GICD_ITARGETSR 0x800u
#define GICD_ICFGR     0xc00u
/* CPU interface, section 4.4 */
#define GICC_CTLR 0x00u
#define GICC_PMR  0x04u
#define GICC_IAR  0x0cu
#define GICC_EOIR 0x10u
/* GICv2m, ARM DEN 0029 (SBSA) appendix E */
#define GICM_TYPER  0x08u
#define GICM_SETSPI 0x40u

#define GIC_SPI0 32u /* below: private to the CPU, no target */

static volatile uint32_t *gic_reg32(uintptr_t base, uint32_t off)
{
	return (volatile uint32_t *)(base + off);
}

static volatile uint8_t *gic_reg8(uintptr_t base, uint32_t off)
{
	return (volatile uint8_t *)(base + off);
}

void gicv2_init(struct gicv2 *gic, uintptr_t dist, uintptr_t cpu)
{
	uint32_t words;

	gic->dist = dist;
	gic->cpu = cpu;
	*gic_reg32(dist, GICD_CTLR) = 0;
	words = (*gic_reg32(dist, GICD_TYPER) & 31) + 1;
	for (uint32_t i = 0; i < words; i++) {
		*gic_reg32(dist, GICD_ICENABLER + 4 * i) = ~0u;
		*gic_reg32(dist, GICD_ICPENDR + 4 * i) = ~0u;
	}
	*gic_reg32(dist, GICD_CTLR) = 1;
	*gic_reg32(cpu, GICC_PMR) = 0xff;
	*gic_reg32(cpu, GICC_CTLR) = 1;
}

void gicv2_enable(struct gicv2 *gic, uint32_t id, bool edge)
{
	volatile uint32_t *cfg = gic_reg32(gic->dist, GICD_ICFGR + id / 16 * 4);
	uint32_t bit = 2u << id % 16 * 2;

	if (id >= GIC_SPI0) {
		*cfg = edge ? *cfg | bit : *cfg & ~bit;
		*gic_reg8(gic->dist, GICD_ITARGETSR + id) = 1;
	}
	*gic_reg32(gic->dist, GICD_ISENABLER + id / 32 * 4) = 1u << id % 32;
}

uint32_t gicv2_take(struct gicv2 *gic)
{
	uint32_t iar = *gic_reg32(gic->cpu, GICC_IAR);
	uint32_t id = iar & 0x3ff;

	if (id >= 1020)
		return GICV2_NONE;
	*gic_reg32(gic->cpu, GICC_EOIR) = iar;
	return id;
}

void gicv2_msi_probe(uintptr_t frame, struct gicv2_msi *msi)
{
	uint32_t typer = *gic_reg32(frame, GICM_TYPER);

	msi->addr = (uint32_t)(frame + GICM_SETSPI);
	msi->base = typer >> 16 & 0x3ff;
	msi->count = typer & 0x3ff;
}

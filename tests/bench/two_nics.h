/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * two_nics.h - two NICs on one link, each with a process, a protection domain, a
 * region, and a queue pair that is connected with the other's: the start of all
 * instruction counts.
 */
#ifndef TWO_NICS_H
#define TWO_NICS_H

#include "rig.h"

static struct rig a, b;
static struct rig_qp qa, qb;
static struct rig_mr ma, mb;
static uint32_t pda, pdb;

/* Makes both anew, with regions of @pages pages, and without a trace. */
static void two_nics_up(uint32_t pages)
{
	rig_up(&a, 1);
	rig_up(&b, 2);
	rig_attach(&a, 0, 1);
	rig_attach(&b, 0, 1);
	pda = rig_pd(&a, 0);
	pdb = rig_pd(&b, 0);
	rig_qp(&a, 0, pda, 0, &qa);
	rig_qp(&b, 0, pdb, 0, &qb);
	qa.mtu_shift = qb.mtu_shift = 12;
	rig_connect(&a, &qa, &b, &qb);
	assert_int_equal(rig_reg(&a, 0, pda, pages, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &ma),
			 0);
	assert_int_equal(rig_reg(&b, 0, pdb, pages, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mb),
			 0);
	a.nic.trace.mask = b.nic.trace.mask = 0;
}

static void report(const char *name, uint32_t n)
{
	printf("INSN %s %u\n", name, (unsigned int)n);
}

#endif /* TWO_NICS_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * steps.h - rounds of two NICs (two_nics.h), counted one by one: what steps.c and
 * steps_qp.c share.
 */
#ifndef STEPS_H
#define STEPS_H

#include "count.h"
#include "unit.h"

#include "two_nics.h"

static __attribute__((noinline)) uint32_t one_round(struct rig *r)
{
	uint32_t n;

	MEASURE(n, unic_nic_poll(&r->nic));
	return n;
}

/* The longest of @n rounds, without a round of the other NIC. */
static uint32_t longest(struct rig *r, uint32_t n)
{
	uint32_t most = 0, is;

	while (n--) {
		r->nic.stale = UINT8_MAX; /* and a round that reads the clock */
		r->nic.armed = true; /* no looks beside those of the round */
		is = one_round(r);
		most = is > most ? is : most;
	}
	return most;
}

static void fresh(void)
{
	two_nics_up(1);
	longest(&a, 4);
	longest(&b, 4);
}

/* The commands at @cmd are there at once; the longest round from now on. */
static uint32_t commands(void *cmds, uint32_t n)
{
	struct unic_driver_page *page =
		(void *)(a.port.bar + UNIC_BAR_DRIVER_OFF);
	struct unic_cmd_hdr *hdr;
	uint32_t i, most;

	for (i = 0; i < n; i++, a.cmd_tail++) {
		hdr = (void *)((uint8_t *)cmds + 64 * i);
		hdr->epoch = unic_to_le32(a.nic.epoch);
		memcpy(a.port.bar + UNIC_BAR_CMD_OFF +
			       a.cmd_tail % UNIC_CMD_ENTRIES * 64,
		       hdr, 64);
	}
	page->cmd_tail = unic_to_le32(a.cmd_tail);
	most = longest(&a, 64);
	a.cpl_head = a.nic.mbox.cpl_tail;
	page->cpl_head = unic_to_le32(a.cpl_head);
	return most;
}

#endif /* STEPS_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cut.c - see cut.h. */
#include "transport/cut.h"

#include <string.h>

#include "nic.h"

void unic_cut(struct unic_nic *nic, uint16_t mr)
{
	struct unic_cuts *c = &nic->cuts;

	if (c->left && unic_cuts_has(c, mr))
		return;
	c->mr[mr / 32] |= 1u << mr % 32;
	c->left = UNIC_QPS;
	nic->chores = true;
}

bool unic_cut_run(struct unic_nic *nic)
{
	struct unic_cuts *c = &nic->cuts;
	bool worked = false;
	uint16_t at;

	while (c->left &&
	       unic_ration_left(&c->ration, nic->polls, UNIC_CUT_ROUND)) {
		at = c->at;
		c->at = (uint16_t)((at + 1u) % UNIC_QPS);
		c->left--;
		unic_ration_spend(&c->ration, unic_qp_cut(nic, at));
		worked = true;
	}
	if (!c->left)
		memset(c->mr, 0, sizeof(c->mr));
	return worked;
}

void unic_cut_forget(struct unic_nic *nic, uint16_t mr)
{
	nic->cuts.mr[mr / 32] &= ~(1u << mr % 32);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cut.c - see cut.h. */
#include "transport/cut.h"

#include <string.h>

#include "transport/transport.h"

void unic_cut_init(struct unic_transport *nic)
{
	memset(&nic->cut_lap, 0, sizeof(nic->cut_lap));
}

bool unic_cut_due(const struct unic_transport *nic)
{
	return nic->cuts.fresh || nic->cut_lap.left;
}

bool unic_cut_run(struct unic_transport *nic)
{
	struct unic_cut_lap *lap = &nic->cut_lap;
	bool worked = false;
	uint16_t at;

	if (nic->cuts.fresh)
		lap->left = UNIC_QPS;
	nic->cuts.fresh = false;
	while (lap->left &&
	       unic_ration_left(&lap->ration, nic->polls, UNIC_CUT_ROUND)) {
		at = lap->at;
		lap->at = (uint16_t)((at + 1u) % UNIC_QPS);
		lap->left--;
		unic_ration_spend(&lap->ration, unic_qp_cut(nic, at));
		worked = true;
	}
	if (!lap->left)
		unic_cuts_clear(&nic->memory);
	return worked;
}

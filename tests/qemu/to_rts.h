/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* to_rts.h - connect one end of a queue pair by hand, as tests want it. */
#ifndef TO_RTS_H
#define TO_RTS_H

#include "unic.h"

/** to_rts() - bring @q to RTS, its peer being queue pair @dest at @ip. 0, or what
 * unic_modify_qp() said. */
static inline int to_rts(struct unic_qp *q, uint32_t dest, uint32_t ip)
{
	const struct unic_qp_mod steps[] = {
		{ .state = UNIC_QPS_INIT,
		  .rights = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE },
		{ .state = UNIC_QPS_RTR,
		  .mtu_shift = 10,
		  .rnr_timer = 12,
		  .max_dest_rd = 4,
		  .vendor = 1,
		  .dest_qpn = dest,
		  .dest_ipv4 = ip },
		{ .state = UNIC_QPS_RTS,
		  .max_rd = 4,
		  .timeout = 14,
		  .retry_cnt = 7,
		  .rnr_retry = 7 },
	};
	unsigned int i;
	int err = 0;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]) && !err; i++)
		err = unic_modify_qp(q, &steps[i]);
	return err;
}

#endif /* TO_RTS_H */

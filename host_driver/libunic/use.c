/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* use.c - uses of regions that the process reports to the NIC. */
#include "priv.h"

/* Of the region in the NIC's table, which has a power of two; UINT32_MAX: there
 * is no such table. */
static uint32_t index_of(const struct unic_mr *mr)
{
	uint32_t mrs = mr->ctx->attr.mrs;

	if (mrs < 2 || mrs & (mrs - 1))
		return UINT32_MAX;
	return mr->stag >> (32u - (unsigned int)__builtin_ctz(mrs));
}

void unic_report_use(struct unic_mr *mr)
{
	uint32_t at = index_of(mr);
	unic_le32 *word;

	if (at >= UNIC_DB_USED)
		return;
	word = &mr->ctx->db->used[at];
	__atomic_fetch_add((uint32_t *)word, 1u, __ATOMIC_RELAXED);
}

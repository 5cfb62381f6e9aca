/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* usage.c - see usage.h. */
#include "usage.h"

void unic_usage_parse(const struct unic_cpl_usage *in, struct unic_usage *out)
{
	int i;

	out->table = unic_from_le32(in->table);
	out->used = unic_from_le32(in->used);
	out->limit = unic_from_le32(in->limit);
	out->holding = unic_from_le32(in->holding);
	out->fair_share = unic_from_le32(in->fair_share);
	out->borrowed = unic_from_le32(in->borrowed);
	out->quota = unic_from_le32(in->quota);
	out->evictable = unic_from_le16(in->evictable);
	out->waiters = unic_from_le32(in->waiters);
	out->bound_us = unic_from_le32(in->bound_us);
	for (i = 0; i < 3; i++) {
		out->top[i].proc = unic_from_le16(in->top_proc[i]);
		out->top[i].held = unic_from_le32(in->top_held[i]);
	}
}

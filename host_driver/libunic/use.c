/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* use.c - the usage of regions: as the NIC counts it, and as the process reports it. */
#include <errno.h>

#include "context.h"
#include "unic_stats.h"

/* Index of the region in the NIC's table, whose size must be a power of two; UINT32_MAX:
 * it is not. */
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

int unic_query_use(struct unic_mr *mr, struct unic_use *out)
{
	struct unic_use_row row;
	union {
		struct unic_ctl_uses req;
		struct unic_ctl_uses_reply reply;
	} rec = { .req = { .first = unic_to_le32(index_of(mr)),
			   .count = unic_to_le32(1) } };
	struct unic_conn_call call = {
		.rec = &rec,
		.reply_tail = &row,
		.reply_room = sizeof(row),
	};
	int err;

	if (index_of(mr) == UINT32_MAX)
		return unic_fail(-EOPNOTSUPP, "this device keeps no account of "
					      "uses");
	err = unic_fail_status("query use",
			       unic_ctl(mr->ctx, UNIC_CTL_USES, &call));
	if (err)
		return err;
	if (call.reply_bytes != sizeof(row) ||
	    unic_from_le32(row.stag) != mr->stag)
		return unic_fail(-EAGAIN, "nothing is shown of this region "
					  "yet");
	*out = (struct unic_use){
		.uses = unic_from_le32(row.uses),
		.reported = unic_from_le32(row.reported),
		.bytes = unic_from_le64(row.bytes),
		.rate = unic_from_le32(row.rate),
		.idle_ns = unic_from_le64(rec.reply.time_ns) -
			   unic_from_le64(row.last_use_ns),
	};
	return 0;
}

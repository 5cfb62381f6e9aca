/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_limit.c - see ctl_limit.h. */
#include "ctl_limit.h"

#include <errno.h>

#include "ctl_json.h"
#include "error.h"

struct json_object *ctl_rate(struct unic_conn *conn, uint32_t proc,
			     int64_t rate, int64_t burst)
{
	union {
		struct unic_ctl_rate req;
		struct unic_ctl_rate_reply reply;
	} rec = { .req = { .id = unic_to_le32(proc) } };
	struct json_object *obj;

	if (rate < 0 && burst >= 0) {
		unic_fail(-EINVAL, "rate: --burst goes with --rate");
		return NULL;
	}
	if (burst > UINT32_MAX) {
		unic_fail(-EINVAL, "rate: no such burst");
		return NULL;
	}
	if (rate >= 0) {
		rec.req.rate = unic_to_le64((uint64_t)rate);
		rec.req.burst = unic_to_le32(burst > 0 ? (uint32_t)burst : 0);
		rec.req.flags = unic_to_le32(UNIC_RATE_SET);
	}
	if (unic_conn_simple(conn, UNIC_CTL_RATE, &rec, "rate"))
		return NULL;
	obj = json_object_new_object();
	ctl_add_u64(obj, "proc", proc);
	ctl_add_u64(obj, "rate", unic_from_le64(rec.reply.rate));
	ctl_add_u64(obj, "burst", unic_from_le32(rec.reply.burst));
	ctl_add_u64(obj, "held", unic_from_le32(rec.reply.held));
	return obj;
}

struct json_object *ctl_limits(struct unic_conn *conn, uint32_t proc,
			       const int limit[UNIC_CTL_LIMITS])
{
	static const char *const names[UNIC_CTL_LIMITS][2] = {
		[UNIC_CTL_LIMIT_FAULTS] = { "faults", "faults_over" },
		[UNIC_CTL_LIMIT_REGISTRATIONS] = { "registrations", "registrati"
								    "ons_"
								    "over" },
		[UNIC_CTL_LIMIT_UPCALLS] = { "upcalls", "upcalls_over" },
	};
	union {
		struct unic_ctl_limits req;
		struct unic_ctl_limits_reply reply;
	} rec = { .req = { .proc = unic_to_le32(proc) } };
	struct json_object *obj;
	uint32_t flags = 0, i;

	for (i = 0; i < UNIC_CTL_LIMITS; i++) {
		if (limit[i] < 0)
			continue;
		flags |= 1u << i;
		rec.req.limit[i] = unic_to_le32((uint32_t)limit[i]);
	}
	rec.req.flags = unic_to_le32(flags);
	if (unic_conn_simple(conn, UNIC_CTL_LIMITS_OF, &rec, "limits"))
		return NULL;
	obj = json_object_new_object();
	for (i = 0; i < UNIC_CTL_LIMITS; i++) {
		ctl_add_u64(obj, names[i][0],
			    unic_from_le32(rec.reply.limit[i]));
		if (proc != UNIC_CTL_LIMITS_ALL)
			ctl_add_u64(obj, names[i][1],
				    unic_from_le32(rec.reply.over[i]));
	}
	return obj;
}

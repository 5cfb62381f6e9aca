/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_nics.c - see ctl_nics.h. */
#include "ctl_nics.h"

#include <string.h>

#include "ctl_json.h"
#include "error.h"

static const char *const states[] = { "absent", "starting", "ready", "dead" };

static struct json_object *row_nic(const struct unic_ctl_nic_row *r,
				   unic_le32 mine)
{
	struct json_object *o = json_object_new_object();

	ctl_add_u64(o, "number", unic_from_le32(r->number));
	ctl_add_text(o, "name", r->name, sizeof(r->name));
	ctl_add_ipv4(o, "ipv4", unic_from_le32(r->ipv4));
	ctl_add_name(o, "state", states, sizeof(states) / sizeof(states[0]),
		     unic_from_le32(r->state));
	ctl_add_u64(o, "mine", r->number == mine);
	return o;
}

struct json_object *ctl_nics(struct unic_conn *conn)
{
	union {
		struct unic_ctl_plain req;
		struct unic_ctl_nics_reply reply;
	} rec;
	struct unic_ctl_nic_row row[UNIC_CTL_NICS_MAX];
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = row,
				       .reply_room = sizeof(row) };
	struct json_object *list;
	size_t i;

	memset(&rec, 0, sizeof(rec));
	if (unic_fail_status("nics",
			     unic_conn_call(conn, UNIC_CTL_NICS, &call)))
		return NULL;
	list = json_object_new_array();
	for (i = 0; i < call.reply_bytes / sizeof(row[0]); i++)
		json_object_array_add(list, row_nic(&row[i], rec.reply.mine));
	return list;
}

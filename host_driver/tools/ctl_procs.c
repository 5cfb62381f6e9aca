/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_procs.c - see ctl_procs.h. */
#include "ctl_procs.h"

#include <stdio.h>

#include "ctl_fetch.h"
#include "ctl_json.h"

static void set_proc(struct json_object *procs, uint32_t slot,
		     struct json_object *p)
{
	char key[12];

	snprintf(key, sizeof(key), "%u", slot);
	json_object_object_add(procs, key, p);
}

int ctl_procs_learn(struct unic_conn *conn, struct json_object *procs)
{
	struct json_object *ps = ctl_ps(conn), *list, *p;
	size_t i;

	if (!ps)
		return -1;
	json_object_object_get_ex(ps, "procs", &list);
	for (i = 0; i < json_object_array_length(list); i++) {
		p = json_object_array_get_idx(list, i);
		if (ctl_u64_of(p, "pid")) /* 0: it has ended */
			set_proc(procs, (uint32_t)ctl_u64_of(p, "proc"),
				 json_object_get(p));
	}
	json_object_put(ps);
	return 0;
}

int ctl_procs_meet(struct unic_conn *conn, struct json_object *procs,
		   uint32_t slot, uint32_t pid)
{
	int err = ctl_procs_learn(conn, procs);
	struct json_object *p = ctl_procs_find(procs, slot);

	if (err || (p && ctl_u64_of(p, "pid") == pid))
		return err;
	p = json_object_new_object();
	ctl_add_u64(p, "pid", pid);
	set_proc(procs, slot, p);
	return 0;
}

struct json_object *ctl_procs_find(struct json_object *procs, uint32_t slot)
{
	struct json_object *p = NULL;
	char key[12];

	snprintf(key, sizeof(key), "%u", slot);
	json_object_object_get_ex(procs, key, &p);
	return p;
}

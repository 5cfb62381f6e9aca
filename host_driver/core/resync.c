/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* resync.c - RESYNC: the state of each object, for a process that lost upcalls. */
#include "resync.h"

#include "cm/cm.h"
#include "queue.h"
#include "region/region_notice.h"
#include "srq.h"

static void object_row(struct unic_host *host, const struct unic_obj *obj,
		       struct unic_ctl_object *row)
{
	const struct unic_region *mr = (const void *)obj;

	/* enum unic_obj_type and enum unic_ctl_object_type have the same numbers */
	*row = (struct unic_ctl_object){ .id = unic_to_le32(obj->id),
					 .type = unic_to_le32(obj->type) };
	if (obj->type == UNIC_OBJ_LISTENER || obj->type == UNIC_OBJ_CONN) {
		unic_cm_row(host, obj, row);
		return;
	}
	if (obj->type == UNIC_OBJ_SRQ) {
		unic_srq_row(obj, row);
		return;
	}
	if (obj->type != UNIC_OBJ_MR) {
		unic_queue_row(obj, row);
		return;
	}
	unic_region_object_row(mr, row);
}

_Static_assert((uint32_t)UNIC_OBJ_PD == UNIC_CTL_O_PD &&
		       (uint32_t)UNIC_OBJ_MR == UNIC_CTL_O_MR &&
		       (uint32_t)UNIC_OBJ_CQ == UNIC_CTL_O_CQ &&
		       (uint32_t)UNIC_OBJ_QP == UNIC_CTL_O_QP &&
		       (uint32_t)UNIC_OBJ_TOKEN == UNIC_CTL_O_TOKEN &&
		       (uint32_t)UNIC_OBJ_LISTENER == UNIC_CTL_O_LISTENER &&
		       (uint32_t)UNIC_OBJ_CONN == UNIC_CTL_O_CONN &&
		       (uint32_t)UNIC_OBJ_SRQ == UNIC_CTL_O_SRQ,
	       "types of objects");

void unic_resync(struct unic_req *req)
{
	enum {
		BYTES = sizeof(struct unic_ctl_object),
		ROWS = UNIC_TAIL_MAX / BYTES
	};
	uint8_t *row = unic_req_tail(req);
	struct unic_ctl_resync_reply rep = { 0 };
	struct unic_ctl_resync r;
	uint32_t at = 0, n = 0, type;
	struct unic_obj *obj;

	_Static_assert(BYTES == sizeof(struct unic_ctl_region), "one size");
	memcpy(&r, req->rec, sizeof(r));
	if (unic_from_le32(r.what) > UNIC_CTL_RESYNC_OBJECTS) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	type = r.what ? 0 : UNIC_OBJ_MR;
	if (r.after)
		at = unic_obj_index(unic_from_le32(r.after)) + 1;
	while ((obj = unic_obj_next(&req->host->objects, &at, type,
				    unic_req_owner(req)))) {
		if (n == ROWS) {
			rep.more = unic_to_le32(1);
			break;
		}
		if (type)
			unic_region_row((void *)obj,
					(void *)(row + n++ * BYTES));
		else
			object_row(req->host, obj, (void *)(row + n++ * BYTES));
	}
	rep.regions = unic_to_le32(n);
	rep.next_seq = unic_to_le32(unic_req_proc(req)->upcall_next + 1);
	unic_req_answer(req, UNIC_ST_OK, &rep, row, n * BYTES);
}

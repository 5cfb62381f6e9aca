/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_listen.c - see cm_listen.h.
 */
#include "cm/cm_listen.h"

#include "request.h"

/* Only privileged processes may listen on the services of drivers. */
bool unic_listen_allowed(const struct unic_req *req, unic_le64 service)
{
	return unic_from_le64(service) >> 8 != UNIC_CTL_SERVICE_OWN ||
	       req->client->privileged;
}

struct listener *unic_listen_find(struct unic_host *host, uint64_t service)
{
	struct listener *l;
	uint32_t at = 0;

	while ((l = unic_obj_next(&host->objects, &at, UNIC_OBJ_LISTENER,
				  UNIC_OBJ_ANYONE)))
		if (l->service == service)
			return l;
	return NULL;
}

static void take_listener(struct listener *l, const struct unic_ctl_listen *r)
{
	l->service = unic_from_le64(r->service);
	l->user = unic_from_le32(r->user);
	l->raw = unic_from_le32(r->flags) & UNIC_CTL_LISTEN_RAW;
}

void unic_cm_listen(struct unic_req *req)
{
	struct unic_ctl_id_reply rep = { 0 };
	struct unic_ctl_listen r;
	uint32_t status = unic_req_room(req, UNIC_OBJ_LISTENER);
	struct listener *l;

	memcpy(&r, req->rec, sizeof(r));
	if (!status && unic_from_le32(r.flags) & ~UNIC_CTL_LISTEN_RAW)
		status = UNIC_ST_INVALID;
	if (status) {
		unic_req_status(req, status);
		return;
	}
	if (!unic_listen_allowed(req, r.service)) {
		unic_req_status(req, UNIC_CTL_ST_PERMISSION);
		return;
	}
	if (unic_listen_find(req->host, unic_from_le64(r.service))) {
		unic_req_status(req, UNIC_CTL_ST_IN_USE);
		return;
	}
	l = unic_obj_alloc(&req->host->objects, UNIC_OBJ_LISTENER, req->slot,
			   sizeof(*l));
	if (!l) {
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	take_listener(l, &r);
	unic_journal_put(req->host, &l->obj, &r, 0, 0);
	rep.id = unic_to_le32(l->obj.id);
	unic_req_answer(req, UNIC_ST_OK, &rep, NULL, 0);
}

bool unic_cm_recall(struct unic_host *host, const struct unic_obj_note *note)
{
	struct listener *l = unic_obj_recall(&host->objects, note, sizeof(*l));
	struct unic_ctl_listen r;

	if (!l)
		return false;
	memcpy(&r, note->made, sizeof(r));
	take_listener(l, &r);
	return true;
}

void unic_cm_unlisten(struct unic_req *req)
{
	struct listener *l;

	req->id = unic_req_obj_id(req);
	l = unic_obj_get(&req->host->objects, req->id, UNIC_OBJ_LISTENER,
			 req->slot);
	if (l)
		unic_obj_free(&req->host->objects, &l->obj);
	unic_req_status(req, l ? UNIC_ST_OK : UNIC_CTL_ST_NO_CONN);
}

void unic_listen_drop(struct unic_host *host, uint32_t owner, bool all)
{
	struct listener *l;
	uint32_t at = 0;

	while ((l = unic_obj_next(&host->objects, &at, UNIC_OBJ_LISTENER,
				  owner)))
		if (all || !unic_journal_keeps(host, l->obj.owner))
			unic_obj_free(&host->objects, &l->obj);
}

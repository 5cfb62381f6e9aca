/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cm_raw.c - see cm_raw.h. */
#include "cm_raw.h"

#include "context.h"

int unic_lib_raw_listen(struct unic_ctx *ctx, uint64_t service, uint32_t user,
			uint32_t *id)
{
	union {
		struct unic_ctl_listen req;
		struct unic_ctl_id_reply reply;
	} rec = { .req = { .service = unic_to_le64(service),
			   .user = unic_to_le32(user),
			   .flags = unic_to_le32(UNIC_CTL_LISTEN_RAW) } };
	int err = unic_ctl_simple(ctx, UNIC_CTL_LISTEN, &rec, "listen");

	if (!err)
		*id = unic_from_le32(rec.reply.id);
	return err;
}

int unic_lib_raw_unlisten(struct unic_ctx *ctx, uint32_t id)
{
	return unic_ctl_obj(ctx, UNIC_CTL_UNLISTEN, id, "stop listening");
}

int unic_lib_raw_connect(struct unic_ctx *ctx, const struct unic_ctl_cm *req,
			 const void *data, size_t bytes, uint32_t *conn)
{
	union {
		struct unic_ctl_cm req;
		struct unic_ctl_id_reply reply;
	} rec = { .req = *req };
	struct unic_conn_call call = { .rec = &rec,
				       .tail = data,
				       .tail_bytes = bytes };
	int err = unic_fail_status("connect",
				   unic_ctl(ctx, UNIC_CTL_CM_CONNECT, &call));

	if (!err)
		*conn = unic_from_le32(rec.reply.id);
	return err;
}

int unic_lib_raw_accept(struct unic_ctx *ctx, const struct unic_ctl_cm *req,
			const void *data, size_t bytes)
{
	struct unic_ctl_cm rec = *req;
	struct unic_conn_call call = { .rec = &rec,
				       .tail = data,
				       .tail_bytes = bytes };

	return unic_fail_status("accept",
				unic_ctl(ctx, UNIC_CTL_CM_ACCEPT, &call));
}

int unic_lib_raw_reject(struct unic_ctx *ctx, uint32_t conn, uint32_t reason,
			const void *data, size_t bytes)
{
	struct unic_ctl_reject rec = { .conn = unic_to_le32(conn),
				       .reason = unic_to_le32(reason) };
	struct unic_conn_call call = { .rec = &rec,
				       .tail = data,
				       .tail_bytes = bytes };

	return unic_fail_status("reject",
				unic_ctl(ctx, UNIC_CTL_CM_REJECT, &call));
}

int unic_lib_raw_disconnect(struct unic_ctx *ctx, uint32_t conn)
{
	return unic_ctl_obj(ctx, UNIC_CTL_CM_DISCONNECT, conn, "disconnect");
}

int unic_lib_raw_query(struct unic_ctx *ctx, uint32_t conn,
		       struct unic_ctl_cm_reply *out, void *data, size_t *bytes)
{
	union {
		struct unic_ctl_obj req;
		struct unic_ctl_cm_reply reply;
	} rec = { .req = { .id = unic_to_le32(conn) } };
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = data,
				       .reply_room = UNIC_CTL_CM_PRIVATE_MAX };
	int err = unic_fail_status("query a connection",
				   unic_ctl(ctx, UNIC_CTL_CM_QUERY, &call));

	*out = rec.reply;
	*bytes = call.reply_bytes;
	return err;
}

int unic_lib_raw_free(struct unic_ctx *ctx, uint32_t conn)
{
	return unic_ctl_obj(ctx, UNIC_CTL_CM_FREE, conn, "end a connection");
}

bool unic_lib_raw_event(struct unic_ctx *ctx, const void *rec,
			struct unic_event *ev)
{
	const struct unic_upcall_conn *up = rec;

	(void)ctx;
	ev->type = UNIC_EV_CM;
	ev->conn = unic_from_le32(up->hdr.id);
	ev->peer_ipv4 = unic_from_le32(up->peer_ipv4);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm.c - connections: requests to the driver, and their errors in words.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "desc.h"
#include "event.h"
#include "mend.h"
#include "queue.h"

int unic_parse_ipv4(const char *text, uint32_t *ipv4)
{
	struct in_addr addr;

	if (inet_pton(AF_INET, text, &addr) != 1)
		return unic_fail(-EINVAL, "%s is no IPv4 address", text);
	*ipv4 = ntohl(addr.s_addr);
	return 0;
}

int unic_listen(struct unic_ctx *ctx, uint64_t service,
		struct unic_listener **out)
{
	union {
		struct unic_ctl_listen req;
		struct unic_ctl_id_reply reply;
	} rec = { .req = { .service = unic_to_le64(service) } };
	struct unic_listener *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return unic_fail(-ENOMEM, "out of memory");
	/* Under the lock: a CONNECT upcall may be read before the reply. */
	pthread_mutex_lock(&ctx->evt_lock);
	err = unic_ctl_simple(ctx, UNIC_CTL_LISTEN, &rec, "listen");
	if (!err) {
		l->ctx = ctx;
		l->id = unic_from_le32(rec.reply.id);
		l->next = ctx->listeners;
		ctx->listeners = l;
		*out = l;
	}
	pthread_mutex_unlock(&ctx->evt_lock);
	if (err)
		free(l);
	return err;
}

int unic_unlisten(struct unic_listener *l)
{
	struct unic_ctx *ctx = l->ctx;
	struct unic_listener **p;
	int err = unic_ctl_obj(ctx, UNIC_CTL_UNLISTEN, l->id, "stop listening");

	if (err && err != -ENOTCONN)
		return err;
	pthread_mutex_lock(&ctx->evt_lock);
	for (p = &ctx->listeners; *p != l; p = &(*p)->next)
		;
	*p = l->next;
	unic_event_purge(ctx, l);
	pthread_mutex_unlock(&ctx->evt_lock);
	free(l);
	return 0;
}

static int attach_private(struct unic_conn_call *call, const void *data,
			  unsigned int len)
{
	if (len > UNIC_PRIVATE_MAX)
		return unic_fail(-EINVAL, "private data: %u bytes, %u at most",
				 len, UNIC_PRIVATE_MAX);
	if (len && !data)
		return unic_fail(-EINVAL, "private data: %u bytes at NULL",
				 len);
	call->tail = data;
	call->tail_bytes = len;
	return 0;
}

static int build_connect(const struct unic_qp *qp,
			 const struct unic_conn_param *param,
			 struct unic_ctl_connect *req,
			 struct unic_conn_call *call)
{
	int err;

	if (!param)
		return unic_fail(-EINVAL, "connection parameters are NULL");
	err = attach_private(call, param->private_data, param->private_len);
	if (err)
		return err;
	req->qp = unic_to_le32(qp->id);
	req->rights = param->rights
			      ? param->rights
			      : UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE;
	req->max_rd = param->max_rd ? param->max_rd : 4;
	req->max_dest_rd = req->max_rd;
	req->timeout = param->timeout;
	req->retry_cnt = param->retry_cnt;
	req->rnr_retry = param->rnr_retry;
	return 0;
}

int unic_connect(struct unic_qp *qp, uint32_t ipv4, uint64_t service,
		 const struct unic_conn_param *param, int timeout_ms,
		 void *reply, unsigned int *reply_len)
{
	union {
		struct unic_ctl_connect req;
		struct unic_ctl_conn_reply reply;
	} rec = { .req = {
			  .service = unic_to_le64(service),
			  .ipv4 = unic_to_le32(ipv4),
			  .timeout_us =
				  unic_to_le32((uint32_t)timeout_ms * 1000u),
		  } };
	struct unic_conn_call call = {
		.rec = &rec,
		.reply_tail = reply,
		.reply_room = reply && reply_len ? *reply_len : 0,
		.timeout_ms = timeout_ms + UNIC_CALL_MS,
	};
	int err = build_connect(qp, param, &rec.req, &call);
	int status;

	if (err)
		return err;
	unic_qp_untold(qp, UNIC_TOLD_DOWN | UNIC_TOLD_ERROR | UNIC_TOLD_END);
	unic_qp_told(qp, UNIC_TOLD_UP);
	unic_desc_forget(qp);
	unic_mend_connecting(qp, &rec.req);
	status = unic_ctl(qp->ctx, UNIC_CTL_CONNECT, &call);
	if (reply_len)
		*reply_len = (unsigned int)call.reply_bytes;
	if (status == UNIC_ST_OK)
		qp->conn = unic_from_le32(rec.reply.id);
	unic_mend_connected(qp, status == UNIC_ST_OK ? &rec.reply : NULL);
	return unic_fail_status("connect", status);
}

int unic_accept(struct unic_ctx *ctx, uint32_t conn, struct unic_qp *qp,
		const struct unic_conn_param *param)
{
	union {
		struct unic_ctl_connect req;
		struct unic_ctl_conn_reply reply;
	} rec = { .req = { .conn = unic_to_le32(conn) } };
	struct unic_conn_call call = { .rec = &rec };
	int err = build_connect(qp, param, &rec.req, &call);

	if (err)
		return err;
	unic_qp_untold(qp, UNIC_TOLD_UP | UNIC_TOLD_DOWN | UNIC_TOLD_ERROR |
				   UNIC_TOLD_END);
	unic_desc_forget(qp);
	unic_mend_connecting(qp, &rec.req);
	err = unic_fail_status("accept", unic_ctl(ctx, UNIC_CTL_ACCEPT, &call));
	if (!err)
		qp->conn = conn;
	unic_mend_connected(qp, err ? NULL : &rec.reply);
	return err;
}

int unic_reject(struct unic_ctx *ctx, uint32_t conn, const void *private_data,
		unsigned int private_len)
{
	struct unic_ctl_reject rec = { .conn = unic_to_le32(conn) };
	struct unic_conn_call call = { .rec = &rec };
	int err = attach_private(&call, private_data, private_len);

	if (err)
		return err;
	return unic_fail_status("reject",
				unic_ctl(ctx, UNIC_CTL_REJECT, &call));
}

int unic_disconnect(struct unic_qp *qp)
{
	uint32_t conn;

	unic_mend_stop(qp);
	conn = qp->conn;
	if (!conn)
		return unic_fail(-ENOENT, "not connected");
	qp->conn = 0;
	unic_qp_told(qp, UNIC_TOLD_END);
	return unic_ctl_obj(qp->ctx, UNIC_CTL_DISCONNECT, conn, "disconnect");
}

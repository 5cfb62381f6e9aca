/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* wire.c - see wire.h. A struct unic_wire is a struct unic_attach. */
#define _GNU_SOURCE
#include "wire.h"

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "cm_raw.h"
#include "errnos.h"
#include "shim/wire.h"

static const struct unic_wire_up *up; /* NULL: nobody listens */

static struct unic_attach *attach_of(struct unic_wire *w)
{
	return (struct unic_attach *)(void *)w;
}

static struct unic_wire *wire_of(struct unic_attach *at)
{
	return (struct unic_wire *)(void *)at;
}

/* The errno that rdma_cm has for @err of libunic. */
static int wire_errno(int err)
{
	switch (err) {
	case -EADDRINUSE:
	case -ENOENT:
		return err;
	case -EBUSY:
	case -ESTALE:
		return -EINVAL;
	default:
		return -unic_ibv_errno(err);
	}
}

/* -------------------------------------------------------------------- calls */

static int wire_open(const char *where, struct unic_wire **out)
{
	struct unic_attach *at;
	int err = unic_attach_get(where, &at);

	if (!err)
		*out = wire_of(at);
	return err ? -ENODEV : 0;
}

static int wire_listen(struct unic_wire *w, uint64_t service, uint32_t user,
		       uint32_t *id)
{
	return wire_errno(
		unic_lib_raw_listen(attach_of(w)->ctx, service, user, id));
}

static void wire_unlisten(struct unic_wire *w, uint32_t id)
{
	unic_lib_raw_unlisten(attach_of(w)->ctx, id);
}

static uint8_t ctl_type(uint8_t qp_type)
{
	return qp_type == IBV_QPT_UD   ? UNIC_QPT_UD
	       : qp_type == IBV_QPT_UC ? UNIC_QPT_UC
				       : UNIC_QPT_RC;
}

static struct unic_ctl_cm request_of(const struct unic_wire_param *p)
{
	return (struct unic_ctl_cm){
		.service = unic_to_le64(p->service),
		.ipv4 = unic_to_le32(p->ipv4),
		.conn = unic_to_le32(p->conn),
		.user = unic_to_le32(p->user),
		.qpn = unic_to_le32(p->qpn),
		.qkey = unic_to_le32(p->qkey),
		.timeout_us = unic_to_le32(p->timeout_ms * 1000u),
		.max_dest_rd = p->max_dest_rd,
		.max_rd = p->max_rd,
		.timeout = p->timeout,
		.retry_cnt = p->retry_cnt,
		.rnr_retry = p->rnr_retry,
	};
}

static int wire_connect(struct unic_wire *w, const struct unic_wire_param *p,
			uint32_t *conn)
{
	struct unic_ctl_cm req = request_of(p);

	req.qp_type = ctl_type(p->qp_type);
	return wire_errno(unic_lib_raw_connect(attach_of(w)->ctx, &req, p->data,
					       p->bytes, conn));
}

static int wire_accept(struct unic_wire *w, const struct unic_wire_param *p)
{
	struct unic_ctl_cm req = request_of(p);

	return wire_errno(unic_lib_raw_accept(attach_of(w)->ctx, &req, p->data,
					      p->bytes));
}

static int wire_reject(struct unic_wire *w, uint32_t conn, uint8_t reason,
		       const void *data, uint8_t bytes)
{
	return wire_errno(unic_lib_raw_reject(attach_of(w)->ctx, conn, reason,
					      data, bytes));
}

static int wire_disconnect(struct unic_wire *w, uint32_t conn)
{
	return wire_errno(unic_lib_raw_disconnect(attach_of(w)->ctx, conn));
}

static void wire_free(struct unic_wire *w, uint32_t conn)
{
	unic_lib_raw_free(attach_of(w)->ctx, conn);
}

static const struct unic_wire_ops ops = {
	.open = wire_open,
	.listen = wire_listen,
	.unlisten = wire_unlisten,
	.connect = wire_connect,
	.accept = wire_accept,
	.reject = wire_reject,
	.disconnect = wire_disconnect,
	.free = wire_free,
};

/* ------------------------------------------------------------------- events */

static enum unic_wire_state wire_state(uint32_t state)
{
	switch (state) {
	case UNIC_CTL_CONN_REQUESTED:
		return UNIC_WIRE_REQUESTED;
	case UNIC_CTL_CONN_REPLIED:
		return UNIC_WIRE_REPLIED;
	case UNIC_CTL_CONN_ESTABLISHED:
		return UNIC_WIRE_ESTABLISHED;
	case UNIC_CTL_CONN_CLOSED:
		return UNIC_WIRE_CLOSED;
	case UNIC_CTL_CONN_REJECTED:
		return UNIC_WIRE_REJECTED;
	case UNIC_CTL_CONN_UNREACHABLE:
		return UNIC_WIRE_UNREACHABLE;
	default:
		return UNIC_WIRE_OTHER;
	}
}

static uint8_t verbs_type(uint8_t qp_type)
{
	return qp_type == UNIC_QPT_UD	? IBV_QPT_UD
	       : qp_type == UNIC_QPT_UC ? IBV_QPT_UC
					: IBV_QPT_RC;
}

static void take_reply(struct unic_wire_event *ev,
		       const struct unic_ctl_cm_reply *r)
{
	ev->user = unic_from_le32(r->user);
	ev->state = wire_state(unic_from_le32(r->state));
	ev->was_up = r->was_up;
	ev->service = unic_from_le64(r->service);
	ev->ipv4 = unic_from_le32(r->peer_ipv4);
	ev->qpn = unic_from_le32(r->peer_qpn);
	ev->qkey = unic_from_le32(r->qkey);
	ev->reason = unic_from_le32(r->reason);
	ev->sq_psn = unic_from_le32(r->sq_psn);
	ev->rq_psn = unic_from_le32(r->rq_psn);
	ev->qp_type = verbs_type(r->qp_type);
	ev->mtu = (uint8_t)(r->mtu_shift - 7);
	ev->max_rd = r->max_rd;
	ev->max_dest_rd = r->max_dest_rd;
	ev->timeout = r->timeout;
	ev->retry_cnt = r->retry_cnt;
	ev->rnr_retry = r->rnr_retry;
}

void unic_ibv_wire_changed(struct unic_attach *at, uint32_t conn)
{
	struct unic_wire_event ev = { .conn = conn };
	struct unic_ctl_cm_reply reply;
	size_t bytes;
	int err = unic_lib_raw_query(at->ctx, conn, &reply, ev.data, &bytes);

	if (!err) {
		take_reply(&ev, &reply);
		ev.bytes = (uint8_t)bytes;
	} else if (err != -ENOENT) {
		return; /* of another kind; or the driver is gone */
	}
	if (!up || !up->event(wire_of(at), &ev))
		unic_lib_raw_free(at->ctx, conn);
}

void unic_ibv_wire_resync(struct unic_attach *at)
{
	int i, all, n = unic_list_objects(at->ctx, NULL, 0);
	struct unic_object *list = n > 0 ? calloc((size_t)n, sizeof(*list))
					 : NULL;

	if (!list)
		return;
	all = unic_list_objects(at->ctx, list, n);
	/* there may be more by now: each of those has an event of its own */
	for (i = 0; i < all && i < n; i++)
		if (list[i].type == UNIC_CTL_O_CONN)
			unic_ibv_wire_changed(at, list[i].id);
	free(list);
}

void unic_ibv_wire_lost(struct unic_attach *at)
{
	if (up)
		up->lost(wire_of(at));
}

__attribute__((constructor)) static void meet_shim(void)
{
	const struct unic_wire_up *(*meet)(const struct unic_wire_ops *) =
		(const struct unic_wire_up *(*)(const struct unic_wire_ops *))
			dlsym(RTLD_DEFAULT, UNIC_SHIM_WIRE);

	if (meet)
		up = meet(&ops);
}

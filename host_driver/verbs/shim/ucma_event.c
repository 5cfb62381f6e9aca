/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_event.c - see ucma_event.h. All functions but those of unic_ucma_up are called with
 * the lock of all. */
#include "ucma_event.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "ucma_a11.h"
#include "ucma_attr.h"
#include "ucma_wire.h"

/* --------------------------------------------------------------------- making */

/* The peer's private data in an event of @type: @at, of *@bytes. */
static const uint8_t *private_of(const struct unic_ucma_id *id, uint32_t type,
				 uint8_t *bytes)
{
	const struct unic_wire_event *at = &id->at;

	*bytes = at->bytes;
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		*bytes = (uint8_t)(at->bytes - UNIC_A11_BYTES);
		return at->data + UNIC_A11_BYTES;
	}
	if (type != RDMA_CM_EVENT_CONNECT_RESPONSE &&
	    type != RDMA_CM_EVENT_REJECTED &&
	    !(unic_ucma_is_ud(id) && type == RDMA_CM_EVENT_ESTABLISHED))
		*bytes = 0;
	return at->data;
}

static void fill_conn(const struct unic_ucma_id *id, uint32_t type,
		      struct rdma_ucm_conn_param *p)
{
	const uint8_t *data = private_of(id, type, &p->private_data_len);

	memcpy(p->private_data, data, p->private_data_len);
	if (type != RDMA_CM_EVENT_CONNECT_REQUEST &&
	    type != RDMA_CM_EVENT_CONNECT_RESPONSE)
		return;
	p->qp_num = id->at.qpn;
	p->responder_resources = id->at.max_dest_rd;
	p->initiator_depth = id->at.max_rd;
	p->retry_count = id->at.retry_cnt;
	p->rnr_retry_count = id->at.rnr_retry;
}

static void fill_ud(const struct unic_ucma_id *id, uint32_t type,
		    struct rdma_ucm_ud_param *p)
{
	const uint8_t *data = private_of(id, type, &p->private_data_len);

	memcpy(p->private_data, data, p->private_data_len);
	if (type != RDMA_CM_EVENT_ESTABLISHED)
		return;
	p->qp_num = id->at.qpn;
	p->qkey = id->at.qkey;
	unic_ucma_ah_attr(id, &p->ah_attr);
}

static struct unic_ucma_event *new_event(struct unic_ucma_id *id,
					 const struct unic_ucma_id *about,
					 uint32_t type, int status)
{
	struct unic_ucma_event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return NULL;
	ev->of = id;
	ev->resp.uid = id->uid;
	ev->resp.id = about->handle;
	ev->resp.event = type;
	ev->resp.status = (uint32_t)status;
	if (unic_ucma_is_ud(about))
		fill_ud(about, type, &ev->resp.param.ud);
	else
		fill_conn(about, type, &ev->resp.param.conn);
	return ev;
}

int unic_ucma_event_put(struct unic_ucma_id *id, uint32_t type, int status)
{
	struct unic_ucma_event *ev;

	if (!id->uid)
		return 0; /* a request that is not accepted yet, or its end */
	ev = new_event(id, id, type, status);
	if (!ev)
		return -ENOMEM;
	unic_ucma_chan_add(id->chan, ev);
	return 0;
}

/* ------------------------------------------------------------------- requests */

/* What @id has on @w; NULL: it does not listen there. */
static const struct unic_ucma_listen *listen_of(const struct unic_ucma_id *id,
						const struct unic_wire *w)
{
	int i;

	for (i = 0; i < id->n_on; i++)
		if (id->on[i].wire == w)
			return &id->on[i];
	return NULL;
}

static struct unic_ucma_id *listener_of(uint32_t handle)
{
	struct unic_ucma_id *l =
		handle - 1 < UNIC_UCMA_IDS ? unic_ucma_id_at(handle - 1) : NULL;

	return l && l->state == UCMA_LISTEN && !l->ending ? l : NULL;
}

/* Make @id of the request @ev, for what @l has @on. */
static void init_request(struct unic_ucma_id *id, const struct unic_ucma_id *l,
			 const struct unic_ucma_listen *on,
			 const struct unic_wire_event *ev)
{
	id->state = UCMA_REQUESTED;
	id->ps = l->ps;
	id->qp_type = ev->qp_type;
	id->wire = on->wire;
	id->conn = ev->conn;
	id->at = *ev;
	id->ack_timeout = l->ack_timeout;
	id->src.ipv4 = on->ipv4;
	id->src.port = unic_a11_port(ev->service);
	id->dst.ipv4 = ev->ipv4;
	id->src.set = id->dst.set = true;
	memcpy(id->guid, on->guid, sizeof(id->guid));
}

static bool on_request(struct unic_wire *w, const struct unic_wire_event *ev)
{
	struct unic_ucma_id *l = listener_of(ev->user);
	const struct unic_ucma_listen *on = l ? listen_of(l, w) : NULL;
	struct unic_ucma_event *event;
	struct unic_ucma_id *id;
	struct unic_a11 head;

	if (!on || l->waiting >= l->backlog || ev->qp_type != l->qp_type ||
	    ev->bytes < UNIC_A11_BYTES || !unic_a11_get(ev->data, &head))
		return false;
	id = unic_ucma_id_new(l->chan);
	if (!id)
		return false;
	init_request(id, l, on, ev);
	id->dst.port = head.port;
	event = new_event(l, id, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	if (!event) {
		unic_ucma_id_undo(id);
		return false;
	}
	event->request = id;
	id->unread = true;
	l->waiting++;
	unic_ucma_chan_add(l->chan, event);
	return true;
}

/* -------------------------------------------------------------------- changes */

static bool is_open(const struct unic_ucma_id *id)
{
	return id->state == UCMA_CONNECT || id->state == UCMA_ACCEPTED ||
	       id->state == UCMA_ESTABLISHED;
}

static void put_up(struct unic_ucma_id *id)
{
	id->state = UCMA_ESTABLISHED;
	unic_ucma_event_put(id, RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void put_end(struct unic_ucma_id *id, uint32_t type, int status)
{
	if (id->state == UCMA_REQUESTED)
		id->state = UCMA_ENDED;
	if (!is_open(id))
		return;
	if (id->state == UCMA_ACCEPTED && id->at.was_up)
		put_up(id);
	if (id->state == UCMA_ESTABLISHED) {
		type = RDMA_CM_EVENT_DISCONNECTED;
		status = 0;
	}
	id->state = UCMA_ENDED;
	unic_ucma_event_put(id, type, status);
}

/* The connection of @id has changed from @before to what id->at says. */
static void tell(struct unic_ucma_id *id, enum unic_wire_state before)
{
	switch (id->at.state) {
	case UNIC_WIRE_REPLIED:
		if (before != UNIC_WIRE_REPLIED && id->state == UCMA_CONNECT)
			unic_ucma_event_put(id, RDMA_CM_EVENT_CONNECT_RESPONSE,
					    0);
		break;
	case UNIC_WIRE_ESTABLISHED:
		if (id->state == UCMA_ACCEPTED ||
		    (unic_ucma_is_ud(id) && id->state == UCMA_CONNECT))
			put_up(id);
		break;
	case UNIC_WIRE_CLOSED:
		put_end(id, RDMA_CM_EVENT_DISCONNECTED, 0);
		break;
	case UNIC_WIRE_REJECTED:
		put_end(id,
			unic_ucma_is_ud(id) ? RDMA_CM_EVENT_UNREACHABLE
					    : RDMA_CM_EVENT_REJECTED,
			(int)id->at.reason);
		break;
	case UNIC_WIRE_UNREACHABLE:
		put_end(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case UNIC_WIRE_GONE:
		put_end(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		id->conn = 0;
		break;
	default:
		break;
	}
}

/* The id whose connection @ev is about. */
static struct unic_ucma_id *id_of(const struct unic_wire *w,
				  const struct unic_wire_event *ev)
{
	struct unic_ucma_id *id;
	unsigned int i;

	for (i = 0; i < UNIC_UCMA_IDS; i++) {
		id = unic_ucma_id_at(i);
		if (id && id->conn == ev->conn && id->wire == w)
			return id;
	}
	/* connect() has not returned yet */
	id = ev->user - 1 < UNIC_UCMA_IDS ? unic_ucma_id_at(ev->user - 1)
					  : NULL;
	if (!id || id->wire != w || id->conn || !id->active ||
	    id->state != UCMA_CONNECT)
		return NULL;
	id->conn = ev->conn;
	return id;
}

static void take_change(struct unic_ucma_id *id,
			const struct unic_wire_event *ev)
{
	enum unic_wire_state before = id->at.state;

	if (ev->state == UNIC_WIRE_GONE)
		id->at.state = UNIC_WIRE_GONE;
	else
		id->at = *ev;
	tell(id, before);
}

static bool on_event(struct unic_wire *w, const struct unic_wire_event *ev)
{
	struct unic_ucma_id *id;
	bool taken = true;

	unic_ucma_lock();
	id = id_of(w, ev);
	if (id && ev->state != UNIC_WIRE_REQUESTED)
		take_change(id, ev);
	else if (!id && ev->state == UNIC_WIRE_REQUESTED)
		taken = on_request(w, ev);
	else
		taken = id;
	unic_ucma_unlock();
	return taken;
}

/* @w is lost, and what @id had there. Who listens at others goes on there. */
static void lose(struct unic_ucma_id *id, const struct unic_wire *w)
{
	bool had = id->wire == w;
	int i, n = 0;

	for (i = 0; i < id->n_on; i++) {
		if (id->on[i].wire == w)
			had = true;
		else
			id->on[n++] = id->on[i];
	}
	id->n_on = n;
	if (!had || n)
		return;
	id->conn = 0;
	id->state = UCMA_ENDED;
	unic_ucma_event_put(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
}

static void on_lost(struct unic_wire *w)
{
	struct unic_ucma_id *id;
	unsigned int i;

	unic_ucma_wire_drop(w);
	unic_ucma_lock();
	for (i = 0; i < UNIC_UCMA_IDS; i++) {
		id = unic_ucma_id_at(i);
		if (id)
			lose(id, w);
	}
	unic_ucma_unlock();
}

const struct unic_wire_up unic_ucma_up = { .event = on_event, .lost = on_lost };

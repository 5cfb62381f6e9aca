/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_conn.c - see ucma_conn.h. */
#include "ucma_conn.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "paths.h"
#include "ucma_a11.h"
#include "ucma_attr.h"
#include "ucma_event.h"
#include "ucma_wire.h"

#define PORT_FIRST  32768u /* of those that nobody chose */
#define PORTS	    28232u
#define TIMEOUT_MS  64000 /* of a request: as Linux, 15 repetitions of 4.3 s */
#define ACK_TIMEOUT 14	  /* 67 ms; RDMA_OPTION_ID_ACK_TIMEOUT changes it */
#define BACKLOG_MAX 1024u

static void set_state(struct unic_ucma_id *id, enum unic_ucma_state state)
{
	unic_ucma_lock();
	id->state = state;
	unic_ucma_unlock();
}

static enum unic_ucma_state state_of(const struct unic_ucma_id *id)
{
	enum unic_ucma_state state;

	unic_ucma_lock();
	state = id->state;
	unic_ucma_unlock();
	return state;
}

/* -------------------------------------------------------------------- devices */

/* Give @id device @dev. */
static int take_dev(struct unic_ucma_id *id, const struct unic_ucma_dev *dev)
{
	struct unic_wire *wire;
	int err = unic_ucma_wire_get(dev->where, &wire);

	if (err)
		return err;
	unic_ucma_lock();
	id->wire = wire;
	memcpy(id->guid, dev->guid, sizeof(id->guid));
	id->src.ipv4 = dev->ipv4;
	id->src.set = true;
	unic_ucma_unlock();
	return 0;
}

/* The device with address @ipv4; 0: the first one. NULL: there is none. */
static const struct unic_ucma_dev *find_dev(const struct unic_ucma_dev *dev,
					    int n, uint32_t ipv4)
{
	int i;

	for (i = 0; i < n; i++)
		if (!ipv4 || dev[i].ipv4 == ipv4)
			return &dev[i];
	return NULL;
}

/* ------------------------------------------------------------------ addresses */

/* The loopback is the first device, as in Linux. The id has the address of that device from then on:
 * a program on another net that is told it finds this one. */
static struct unic_ucma_addr without_loopback(const struct unic_ucma_addr *addr,
					      const struct unic_ucma_dev *dev,
					      int n)
{
	struct unic_ucma_addr out = *addr;

	if (n && out.ipv4 >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET)
		out.ipv4 = dev[0].ipv4;
	return out;
}

static bool is_port_taken(const struct unic_ucma_id *id, uint16_t port)
{
	const struct unic_ucma_id *other;
	unsigned int i;

	for (i = 0; i < UNIC_UCMA_IDS; i++) {
		other = unic_ucma_id_at(i);
		if (other && other != id && other->ps == id->ps &&
		    other->src.port == port && !other->ending &&
		    other->state <= UCMA_LISTEN)
			return true;
	}
	return false;
}

/* A port that no other id of this process has. */
static uint16_t any_port(const struct unic_ucma_id *id)
{
	uint16_t draw = 0;
	unsigned int i;

	if (getrandom(&draw, sizeof(draw), GRND_NONBLOCK) < 0)
		draw = (uint16_t)id->handle;
	for (i = 0; i < PORTS; i++)
		if (!is_port_taken(id,
				   (uint16_t)(PORT_FIRST + (draw + i) % PORTS)))
			break;
	return (uint16_t)(PORT_FIRST + (draw + i) % PORTS);
}

int unic_ucma_bind(struct unic_ucma_id *id, const struct unic_ucma_addr *to)
{
	struct unic_ucma_dev dev[UNIC_UCMA_DEVICES];
	int n = unic_ucma_devs(unic_shim_tree(), dev);
	struct unic_ucma_addr addr = without_loopback(to, dev, n);
	const struct unic_ucma_dev *on = addr.ipv4 ? find_dev(dev, n, addr.ipv4)
						   : NULL;
	int err = 0;

	if (state_of(id) != UCMA_IDLE)
		return -EINVAL;
	if (addr.ipv4 && !on)
		return -EADDRNOTAVAIL;
	unic_ucma_lock();
	if (addr.port && is_port_taken(id, addr.port))
		err = -EADDRINUSE;
	if (!err) {
		id->src = addr;
		id->src.set = true;
		if (!addr.port)
			id->src.port = any_port(id);
	}
	unic_ucma_unlock();
	if (!err && on)
		err = take_dev(id, on);
	if (err)
		id->src = (struct unic_ucma_addr){ .set = false };
	else
		set_state(id, UCMA_BOUND);
	return err;
}

int unic_ucma_resolve(struct unic_ucma_id *id, const struct unic_ucma_addr *src,
		      const struct unic_ucma_addr *to)
{
	struct unic_ucma_dev dev[UNIC_UCMA_DEVICES];
	int n = unic_ucma_devs(unic_shim_tree(), dev);
	struct unic_ucma_addr dst = without_loopback(to, dev, n);
	const struct unic_ucma_dev *on;
	int err = state_of(id) == UCMA_IDLE ? unic_ucma_bind(id, src) : 0;

	if (err)
		return err;
	if (state_of(id) != UCMA_BOUND)
		return -EINVAL;
	on = find_dev(dev, n, dst.ipv4); /* its own, if it is one */
	if (!on || id->wire)
		on = find_dev(dev, n, id->src.ipv4);
	if (!id->wire)
		err = on ? take_dev(id, on) : -ENODEV;
	unic_ucma_lock();
	id->dst = dst;
	if (!dst.ipv4) /* this host, as Linux has it */
		id->dst.ipv4 = id->src.ipv4;
	if (!err)
		id->state = UCMA_ADDR_RESOLVED;
	err = unic_ucma_event_put(id,
				  err ? RDMA_CM_EVENT_ADDR_ERROR
				      : RDMA_CM_EVENT_ADDR_RESOLVED,
				  err);
	unic_ucma_unlock();
	return err;
}

/* All are on one wire. */
int unic_ucma_resolve_route(struct unic_ucma_id *id)
{
	int err = -EINVAL;

	unic_ucma_lock();
	if (id->wire && id->state == UCMA_ADDR_RESOLVED) {
		id->state = UCMA_ROUTE_RESOLVED;
		err = unic_ucma_event_put(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	}
	unic_ucma_unlock();
	return err;
}

/* --------------------------------------------------------------------- listen */

/* Take the last listener out of @id. False: there is none. */
static bool take_listener(struct unic_ucma_id *id, struct unic_ucma_listen *out)
{
	bool had;

	unic_ucma_lock();
	had = id->n_on;
	if (had)
		*out = id->on[--id->n_on];
	unic_ucma_unlock();
	return had;
}

static void unlisten(struct unic_ucma_id *id)
{
	struct unic_ucma_listen on;

	while (take_listener(id, &on))
		unic_ucma_wire_ops()->unlisten(on.wire, on.id);
}

/* The listener of @id on @wire has number @number, or, with @err, is none. Unless it was
 * lost meanwhile. With the lock. */
static void set_listener(struct unic_ucma_id *id, const struct unic_wire *wire,
			 uint32_t number, int err)
{
	int i;

	for (i = 0; i < id->n_on && id->on[i].wire != wire; i++)
		;
	if (i == id->n_on)
		return;
	id->on[i].id = number;
	if (err)
		id->on[i] = id->on[--id->n_on];
}

/* The listener is there before its first request can be. */
static int listen_on(struct unic_ucma_id *id, const struct unic_ucma_dev *dev)
{
	struct unic_ucma_listen on = { .ipv4 = dev->ipv4 };
	int err = unic_ucma_wire_get(dev->where, &on.wire);

	if (err)
		return err;
	memcpy(on.guid, dev->guid, sizeof(on.guid));
	unic_ucma_lock();
	id->on[id->n_on++] = on;
	unic_ucma_unlock();
	err = unic_ucma_wire_ops()->listen(
		on.wire, unic_a11_service(id->ps, id->src.port), id->handle,
		&on.id);
	unic_ucma_lock();
	set_listener(id, on.wire, on.id, err);
	unic_ucma_unlock();
	return err;
}

int unic_ucma_listen(struct unic_ucma_id *id, uint32_t backlog)
{
	const struct unic_ucma_addr any = { .set = false };
	struct unic_ucma_dev dev[UNIC_UCMA_DEVICES];
	int i, n = unic_ucma_devs(unic_shim_tree(), dev);
	int err = state_of(id) == UCMA_IDLE ? unic_ucma_bind(id, &any) : 0;

	if (err)
		return err;
	if (state_of(id) != UCMA_BOUND)
		return -EINVAL;
	unic_ucma_lock();
	id->backlog = !backlog || backlog > BACKLOG_MAX ? BACKLOG_MAX : backlog;
	id->state = UCMA_LISTEN;
	unic_ucma_unlock();
	for (i = 0; i < n && !err; i++)
		if (!id->src.ipv4 || id->src.ipv4 == dev[i].ipv4)
			err = listen_on(id, &dev[i]);
	if (!err && !id->n_on)
		err = -ENODEV;
	if (err) {
		unlisten(id);
		set_state(id, UCMA_BOUND);
	}
	return err;
}

/* -------------------------------------------------------------------- connect */

static struct unic_wire_param param_of(const struct unic_ucma_id *id,
				       const struct rdma_ucm_conn_param *from)
{
	return (struct unic_wire_param){
		.user = id->handle,
		.max_dest_rd = from->responder_resources,
		.max_rd = from->initiator_depth,
		.timeout = id->ack_timeout ? id->ack_timeout : ACK_TIMEOUT,
		.retry_cnt = from->retry_count > 7 ? 7 : from->retry_count,
		.rnr_retry = from->rnr_retry_count > 7 ? 7
						       : from->rnr_retry_count,
		.data = from->private_data,
		.bytes = from->private_data_len,
	};
}

/* Write the header of annex A11 and the private data of @from to @to. -EINVAL: they have no
 * room. */
static int wrap_private(const struct unic_ucma_id *id,
			const struct rdma_ucm_conn_param *from, uint8_t *to,
			uint8_t *bytes)
{
	const struct unic_a11 head = { .port = id->src.port,
				       .src = id->src.ipv4,
				       .dst = id->dst.ipv4 };
	size_t all = UNIC_A11_BYTES + from->private_data_len;

	if (all > UNIC_WIRE_PRIVATE)
		return -EINVAL;
	unic_a11_put(to, &head);
	memcpy(to + UNIC_A11_BYTES, from->private_data, from->private_data_len);
	*bytes = (uint8_t)all;
	return 0;
}

int unic_ucma_connect(struct unic_ucma_id *id,
		      const struct rdma_ucm_conn_param *from)
{
	struct unic_wire_param p = param_of(id, from);
	uint8_t data[UNIC_WIRE_PRIVATE];
	uint32_t conn;
	int err;

	if (state_of(id) != UCMA_ROUTE_RESOLVED)
		return -EINVAL;
	err = wrap_private(id, from, data, &p.bytes);
	if (err)
		return err;
	p.data = data;
	p.service = unic_a11_service(id->ps, id->dst.port);
	p.ipv4 = id->dst.ipv4;
	p.qp_type = id->qp_type;
	p.qpn = unic_ucma_is_ud(id) ? 0 : from->qp_num & 0xffffff;
	p.timeout_ms = TIMEOUT_MS;
	unic_ucma_lock();
	id->active = true;
	id->state = UCMA_CONNECT; /* its event may be there before the answer */
	unic_ucma_unlock();
	err = unic_ucma_wire_ops()->connect(id->wire, &p, &conn);
	unic_ucma_lock();
	if (err)
		id->state = UCMA_ROUTE_RESOLVED;
	else
		id->conn = conn;
	unic_ucma_unlock();
	return err;
}

/* Who was asked says that it has the answer: RTU. */
static int confirm(struct unic_ucma_id *id)
{
	const struct unic_wire_param p = { .conn = id->conn,
					   .user = id->handle };
	int err;

	if (!id->active || state_of(id) != UCMA_CONNECT || unic_ucma_is_ud(id))
		return -EINVAL;
	err = unic_ucma_wire_ops()->accept(id->wire, &p);
	unic_ucma_lock();
	if (!err && id->state == UCMA_CONNECT)
		id->state = UCMA_ESTABLISHED;
	unic_ucma_unlock();
	return err;
}

int unic_ucma_accept(struct unic_ucma_id *id, uint64_t uid,
		     const struct rdma_ucm_conn_param *from)
{
	struct unic_wire_param p;
	int err;

	if (!from)
		return confirm(id);
	if (state_of(id) != UCMA_REQUESTED)
		return -EINVAL;
	p = param_of(id, from);
	p.conn = id->conn;
	p.qpn = from->qp_num & 0xffffff;
	p.qkey = unic_ucma_is_ud(id) ? UNIC_UCMA_QKEY : 0;
	unic_ucma_lock();
	id->uid = uid; /* an event may be there before the answer */
	id->state = unic_ucma_is_ud(id) ? UCMA_ESTABLISHED : UCMA_ACCEPTED;
	unic_ucma_unlock();
	err = unic_ucma_wire_ops()->accept(id->wire, &p);
	if (err) {
		unic_ucma_lock();
		id->uid = 0;
		id->state = UCMA_REQUESTED;
		unic_ucma_unlock();
	}
	return err;
}

int unic_ucma_reject(struct unic_ucma_id *id, uint8_t reason, const void *data,
		     uint8_t bytes)
{
	enum unic_ucma_state state = state_of(id);
	int err;

	if (state != UCMA_REQUESTED && state != UCMA_CONNECT)
		return -EINVAL;
	err = unic_ucma_wire_ops()->reject(id->wire, id->conn, reason, data,
					   bytes);
	if (!err)
		set_state(id, UCMA_ENDED);
	return err;
}

int unic_ucma_disconnect(struct unic_ucma_id *id)
{
	int err;

	if (!id->conn)
		return -EINVAL;
	if (state_of(id) == UCMA_ENDED)
		return 0; /* the peer was first */
	err = unic_ucma_wire_ops()->disconnect(id->wire, id->conn);
	/* or just now */
	return err && state_of(id) == UCMA_ENDED ? 0 : err;
}

int unic_ucma_notify(struct unic_ucma_id *id, uint32_t event)
{
	if (!id->wire || event != IBV_EVENT_COMM_EST)
		return -EINVAL;
	return 0; /* the RTU, which is repeated, says the same */
}

/* ------------------------------------------------------------------------ end */

/* Free the id of a request that nobody has read: no command can have it. */
static void drop_request(struct unic_ucma_id *request)
{
	pthread_mutex_lock(&request->turn);
	unic_ucma_release(request);
	unic_ucma_id_free(request);
}

static void drop_events(struct unic_ucma_id *id)
{
	struct unic_ucma_event *ev;

	for (;;) {
		unic_ucma_lock();
		ev = unic_ucma_chan_take_of(id->chan, id);
		unic_ucma_unlock();
		if (!ev)
			return;
		if (ev->request)
			drop_request(ev->request);
		free(ev);
	}
}

void unic_ucma_release(struct unic_ucma_id *id)
{
	struct unic_wire *wire;
	uint32_t conn;

	unlisten(id);
	unic_ucma_lock();
	wire = id->wire;
	conn = id->conn;
	id->wire = NULL;
	id->conn = 0;
	id->uid = 0; /* no more events */
	id->state = UCMA_ENDED;
	unic_ucma_unlock();
	if (conn)
		unic_ucma_wire_ops()->free(wire, conn);
	drop_events(id);
}

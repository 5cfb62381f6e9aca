/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma.c - see ucma.h. */
#include "ucma.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ucma_attr.h"
#include "ucma_close.h"
#include "ucma_conn.h"
#include "ucma_copy.h"

#define OPTION_BYTES 16u

/* A command that is being carried out. */
struct cmd {
	struct unic_ucma_chan *chan;
	const void *body; /* in this library's memory */
	size_t in;	  /* bytes of it */
	size_t out;	  /* bytes that the program has room for */
	int cancel;	  /* whether the thread can be cancelled */
};

/* The longest, RESOLVE_ADDR, CONNECT or ACCEPT. */
union body {
	struct rdma_ucm_resolve_addr resolve;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_reject reject;
	uint8_t bytes[512];
};

static int answer(const struct cmd *c, uint64_t to, const void *from,
		  size_t bytes)
{
	size_t n = c->out < bytes ? c->out : bytes;

	return unic_ucma_copy_out((void *)(uintptr_t)to, from, n);
}

/* ------------------------------------------------------------------------ ids */

/* The type of queue pair that ids of @r have. 0: there is no such port space. */
static uint8_t type_of(const struct rdma_ucm_create_id *r)
{
	switch (r->ps) {
	case RDMA_PS_TCP:
		return IBV_QPT_RC;
	case RDMA_PS_UDP:
		return IBV_QPT_UD;
	case RDMA_PS_IB:
		return r->qp_type == IBV_QPT_UC || r->qp_type == IBV_QPT_UD
			       ? r->qp_type
			       : IBV_QPT_RC;
	default:
		return 0;
	}
}

static int create_id(const struct cmd *c)
{
	const struct rdma_ucm_create_id *r = c->body;
	struct rdma_ucm_create_id_resp resp;
	uint8_t type = type_of(r);
	struct unic_ucma_id *id;
	int err = 0;

	if (!type)
		return -EINVAL;
	unic_ucma_lock();
	id = unic_ucma_id_new(c->chan);
	if (id) {
		id->uid = r->uid;
		id->ps = r->ps;
		id->qp_type = type;
		resp.id = id->handle;
		err = answer(c, r->response, &resp, sizeof(resp));
	}
	if (id && err)
		unic_ucma_id_undo(id);
	unic_ucma_unlock();
	return id ? err : -ENOMEM;
}

static int destroy_id(const struct cmd *c)
{
	const struct rdma_ucm_destroy_id *r = c->body;
	struct rdma_ucm_destroy_id_resp resp;
	struct unic_ucma_id *id;
	int err = unic_ucma_id_get(c->chan, r->id, &id);

	if (err)
		return err;
	if (!unic_ucma_id_end(id)) {
		unic_ucma_id_put(id);
		return -ENOENT;
	}
	resp.events_reported = unic_ucma_end_id(id);
	return answer(c, r->response, &resp, sizeof(resp));
}

static int migrate_id(const struct cmd *c)
{
	const struct rdma_ucm_migrate_id *r = c->body;
	struct unic_ucma_chan *from = unic_ucma_chan_get((int)r->fd);
	struct rdma_ucm_migrate_resp resp;
	struct unic_ucma_event *ev;
	struct unic_ucma_id *id;
	int err;

	if (!from)
		return -EINVAL;
	err = unic_ucma_id_get(from, r->id, &id);
	if (!err) {
		unic_ucma_lock();
		id->chan = c->chan;
		while (from != c->chan &&
		       (ev = unic_ucma_chan_take_of(from, id))) {
			if (ev->request)
				ev->request->chan = c->chan;
			unic_ucma_chan_add(c->chan, ev);
		}
		resp.events_reported = id->reported;
		unic_ucma_unlock();
		unic_ucma_id_put(id);
		err = answer(c, r->response, &resp, sizeof(resp));
	}
	unic_ucma_chan_put(from);
	return err;
}

/* ------------------------------------------------------------------ addresses */

static int bind_to(const struct cmd *c, uint32_t handle, const void *addr,
		   size_t bytes)
{
	struct unic_ucma_addr to;
	struct unic_ucma_id *id;
	int err = unic_ucma_parse_addr(addr, bytes, &to);

	if (!err)
		err = unic_ucma_id_get(c->chan, handle, &id);
	if (err)
		return err;
	err = unic_ucma_bind(id, &to);
	unic_ucma_id_put(id);
	return err;
}

static int bind_ip(const struct cmd *c)
{
	const struct rdma_ucm_bind_ip *r = c->body;

	return bind_to(c, r->id, &r->addr, sizeof(r->addr));
}

static int bind_addr(const struct cmd *c)
{
	const struct rdma_ucm_bind *r = c->body;

	if (r->reserved || r->addr_size > sizeof(r->addr))
		return -EINVAL;
	return bind_to(c, r->id, &r->addr, r->addr_size);
}

/* @src_bytes 0: no source was given. */
static int resolve_to(const struct cmd *c, uint32_t handle, const void *src,
		      size_t src_bytes, const void *dst, size_t dst_bytes)
{
	struct unic_ucma_addr from = { .set = false }, to;
	struct unic_ucma_id *id;
	int err = unic_ucma_parse_addr(dst, dst_bytes, &to);

	if (!err && src_bytes)
		err = unic_ucma_parse_addr(src, src_bytes, &from);
	if (!err)
		err = unic_ucma_id_get(c->chan, handle, &id);
	if (err)
		return err;
	err = unic_ucma_resolve(id, &from, &to);
	unic_ucma_id_put(id);
	return err;
}

static int resolve_ip(const struct cmd *c)
{
	const struct rdma_ucm_resolve_ip *r = c->body;

	return resolve_to(c, r->id, &r->src_addr,
			  r->src_addr.sin6_family ? sizeof(r->src_addr) : 0,
			  &r->dst_addr, sizeof(r->dst_addr));
}

static int resolve_addr(const struct cmd *c)
{
	const struct rdma_ucm_resolve_addr *r = c->body;

	if (r->reserved || r->src_size > sizeof(r->src_addr) ||
	    r->dst_size > sizeof(r->dst_addr))
		return -EINVAL;
	return resolve_to(c, r->id, &r->src_addr, r->src_size, &r->dst_addr,
			  r->dst_size);
}

/* ---------------------------------------------------- commands of an id alone */

static int resolve_route(struct unic_ucma_id *id, const struct cmd *c)
{
	(void)c;
	return unic_ucma_resolve_route(id);
}

static int listen_for(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_listen *r = c->body;

	return unic_ucma_listen(id, r->backlog);
}

static int connect_to(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_connect *r = c->body;

	return r->conn_param.valid ? unic_ucma_connect(id, &r->conn_param)
				   : -EINVAL;
}

static int accept_it(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_accept *r = c->body;

	return unic_ucma_accept(id, r->uid,
				r->conn_param.valid ? &r->conn_param : NULL);
}

static int reject_it(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_reject *r = c->body;

	if (r->reason && r->reason != 28 && r->reason != 35)
		return -EINVAL; /* of the consumer; vendor option not supported */
	return unic_ucma_reject(id, r->reason == 28 ? 0 : r->reason,
				r->private_data, r->private_data_len);
}

static int disconnect_it(struct unic_ucma_id *id, const struct cmd *c)
{
	(void)c;
	return unic_ucma_disconnect(id);
}

static int notify_it(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_notify *r = c->body;

	return unic_ucma_notify(id, r->event);
}

static int query_route(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_query *r = c->body;
	struct rdma_ucm_query_route_resp resp;

	unic_ucma_lock();
	unic_ucma_route(id, &resp);
	unic_ucma_unlock();
	return answer(c, r->response, &resp, sizeof(resp));
}

static int query_path(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_query *r = c->body;
	struct {
		struct rdma_ucm_query_path_resp head;
		struct ib_path_rec_data path;
	} resp = { .head = { .num_paths = 0 } };

	unic_ucma_lock();
	resp.head.num_paths = unic_ucma_path(id, &resp.path);
	unic_ucma_unlock();
	return answer(c, r->response, &resp,
		      resp.head.num_paths ? sizeof(resp) : sizeof(resp.head));
}

static int query(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_query *r = c->body;
	struct rdma_ucm_query_addr_resp resp;

	if (r->option == RDMA_USER_CM_QUERY_PATH)
		return query_path(id, c);
	if (c->out < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return -ENOSPC;
	if (r->option != RDMA_USER_CM_QUERY_ADDR &&
	    r->option != RDMA_USER_CM_QUERY_GID)
		return -ENOSYS;
	unic_ucma_lock();
	if (r->option == RDMA_USER_CM_QUERY_ADDR)
		unic_ucma_query_addr(id, &resp);
	else
		unic_ucma_query_gid(id, &resp);
	unic_ucma_unlock();
	return answer(c, r->response, &resp, sizeof(resp));
}

static int init_qp_attr(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_init_qp_attr *r = c->body;
	struct ib_uverbs_qp_attr resp;
	int err;

	unic_ucma_lock();
	err = unic_ucma_qp_attr(id, r->qp_state, &resp);
	unic_ucma_unlock();
	return err ? err : answer(c, r->response, &resp, sizeof(resp));
}

static int set_option(struct unic_ucma_id *id, const struct cmd *c)
{
	const struct rdma_ucm_set_option *r = c->body;
	bool is_byte = r->optname == RDMA_OPTION_ID_TOS ||
		       r->optname == RDMA_OPTION_ID_ACK_TIMEOUT;
	uint8_t value[OPTION_BYTES];

	if (r->level != RDMA_OPTION_ID ||
	    r->optname > RDMA_OPTION_ID_ACK_TIMEOUT)
		return -ENOSYS;
	if (r->optlen != (is_byte ? sizeof(uint8_t) : sizeof(int)))
		return -EINVAL;
	if (unic_ucma_copy_in(value, (const void *)(uintptr_t)r->optval,
			      r->optlen))
		return -EFAULT;
	if (r->optname != RDMA_OPTION_ID_ACK_TIMEOUT)
		return 0; /* nothing of the wire knows a type of service */
	if (value[0] > 31)
		return -EINVAL;
	id->ack_timeout = value[0];
	return 0;
}

/* ---------------------------------------------------------------------- events */

static void put_chan(void *chan)
{
	unic_ucma_chan_put(chan);
}

/* Copy the first event of the channel, and take it out. 1: there is none any more. */
static int take_event(const struct cmd *c, uint64_t response)
{
	struct unic_ucma_event *ev;
	int err = 1;

	unic_ucma_lock();
	ev = c->chan->first;
	if (ev)
		err = answer(c, response, &ev->resp, sizeof(ev->resp));
	if (!err) {
		unic_ucma_chan_take(c->chan);
		ev->of->reported++;
		ev->of->waiting -= ev->request != NULL;
		if (ev->request)
			ev->request->unread = false;
		free(ev);
	}
	unic_ucma_unlock();
	return err;
}

static int get_event(const struct cmd *c)
{
	const struct rdma_ucm_get_event *r = c->body;
	int err;

	do {
		pthread_cleanup_push(put_chan, c->chan);
		pthread_setcancelstate(c->cancel, NULL);
		err = unic_ucma_chan_wait(c->chan);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		pthread_cleanup_pop(0);
		if (!err)
			err = take_event(c, r->response);
	} while (err == 1);
	return err;
}

/* ------------------------------------------------------------------- the table */

#define ID_AT(type) offsetof(struct type, id)
/* Bytes up to and with @field. */
#define UP_TO(type, field) \
	(offsetof(struct type, field) + sizeof(((struct type *)NULL)->field))

static const struct {
	/* one of the two: */
	int (*run)(const struct cmd *c);
	int (*run_id)(struct unic_ucma_id *id, const struct cmd *c);
	uint16_t in;	/* bytes that must be there */
	uint16_t out;	/* room that must be there */
	uint16_t id_at; /* run_id: where the id is */
} table[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = { create_id, NULL,
					 sizeof(struct rdma_ucm_create_id),
					 sizeof(struct rdma_ucm_create_id_resp),
					 0 },
	[RDMA_USER_CM_CMD_DESTROY_ID] = { destroy_id, NULL,
					  sizeof(struct rdma_ucm_destroy_id),
					  sizeof(struct
						 rdma_ucm_destroy_id_resp),
					  0 },
	[RDMA_USER_CM_CMD_BIND_IP] = { bind_ip, NULL,
				       UP_TO(rdma_ucm_bind_ip, id), 0, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_IP] = { resolve_ip, NULL,
					  sizeof(struct rdma_ucm_resolve_ip), 0,
					  0 },
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = { NULL, resolve_route,
					     sizeof(struct
						    rdma_ucm_resolve_route),
					     0, ID_AT(rdma_ucm_resolve_route) },
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = { NULL, query_route,
					   UP_TO(rdma_ucm_query, id),
					   offsetof(struct
						    rdma_ucm_query_route_resp,
						    ibdev_index),
					   ID_AT(rdma_ucm_query) },
	[RDMA_USER_CM_CMD_CONNECT] = { NULL, connect_to,
				       UP_TO(rdma_ucm_connect, reserved), 0,
				       ID_AT(rdma_ucm_connect) },
	[RDMA_USER_CM_CMD_LISTEN] = { NULL, listen_for,
				      sizeof(struct rdma_ucm_listen), 0,
				      ID_AT(rdma_ucm_listen) },
	[RDMA_USER_CM_CMD_ACCEPT] = { NULL, accept_it,
				      UP_TO(rdma_ucm_accept, reserved), 0,
				      ID_AT(rdma_ucm_accept) },
	[RDMA_USER_CM_CMD_REJECT] = { NULL, reject_it,
				      sizeof(struct rdma_ucm_reject), 0,
				      ID_AT(rdma_ucm_reject) },
	[RDMA_USER_CM_CMD_DISCONNECT] = { NULL, disconnect_it,
					  sizeof(struct rdma_ucm_disconnect), 0,
					  ID_AT(rdma_ucm_disconnect) },
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = { NULL, init_qp_attr,
					    sizeof(struct
						   rdma_ucm_init_qp_attr),
					    sizeof(struct ib_uverbs_qp_attr),
					    ID_AT(rdma_ucm_init_qp_attr) },
	[RDMA_USER_CM_CMD_GET_EVENT] = { get_event, NULL,
					 sizeof(struct rdma_ucm_get_event),
					 offsetof(struct rdma_ucm_event_resp,
						  reserved),
					 0 },
	[RDMA_USER_CM_CMD_SET_OPTION] = { NULL, set_option,
					  sizeof(struct rdma_ucm_set_option), 0,
					  ID_AT(rdma_ucm_set_option) },
	[RDMA_USER_CM_CMD_NOTIFY] = { NULL, notify_it,
				      sizeof(struct rdma_ucm_notify), 0,
				      ID_AT(rdma_ucm_notify) },
	[RDMA_USER_CM_CMD_MIGRATE_ID] = { migrate_id, NULL,
					  sizeof(struct rdma_ucm_migrate_id),
					  sizeof(struct rdma_ucm_migrate_resp),
					  0 },
	[RDMA_USER_CM_CMD_QUERY] = { NULL, query, sizeof(struct rdma_ucm_query),
				     sizeof(struct rdma_ucm_query_path_resp),
				     ID_AT(rdma_ucm_query) },
	[RDMA_USER_CM_CMD_BIND] = { bind_addr, NULL,
				    sizeof(struct rdma_ucm_bind), 0, 0 },
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = { resolve_addr, NULL,
					    sizeof(struct
						   rdma_ucm_resolve_addr),
					    0, 0 },
};

#define COMMANDS (sizeof(table) / sizeof(table[0]))

/* Carry out command @number on the id that it names. */
static int run_on_id(uint32_t number, const struct cmd *c)
{
	struct unic_ucma_id *id;
	uint32_t handle;
	int err;

	memcpy(&handle, (const uint8_t *)c->body + table[number].id_at,
	       sizeof(handle));
	err = unic_ucma_id_get(c->chan, handle, &id);
	if (err)
		return err;
	err = table[number].run_id(id, c);
	unic_ucma_id_put(id);
	return err;
}

static int run(struct unic_ucma_chan *chan, int cancel, const uint8_t *buf,
	       size_t bytes)
{
	struct rdma_ucm_cmd_hdr hdr;
	union body body = { .bytes = { 0 } };
	struct cmd c = { .chan = chan, .cancel = cancel, .body = &body };

	if (bytes < sizeof(hdr))
		return -EINVAL;
	if (unic_ucma_copy_in(&hdr, buf, sizeof(hdr)))
		return -EFAULT;
	if (hdr.in + sizeof(hdr) > bytes)
		return -EINVAL;
	if (hdr.cmd >= COMMANDS ||
	    (!table[hdr.cmd].run && !table[hdr.cmd].run_id))
		return -ENOSYS;
	if (hdr.in < table[hdr.cmd].in)
		return -EINVAL;
	if (hdr.out < table[hdr.cmd].out)
		return -ENOSPC;
	c.in = hdr.in < sizeof(body) ? hdr.in : sizeof(body);
	c.out = hdr.out;
	if (unic_ucma_copy_in(&body, buf + sizeof(hdr), c.in))
		return -EFAULT;
	return table[hdr.cmd].run ? table[hdr.cmd].run(&c)
				  : run_on_id(hdr.cmd, &c);
}

/* ------------------------------------------------------------------ the device */

static ssize_t finish(int err, size_t bytes)
{
	if (!err)
		return (ssize_t)bytes;
	errno = -err;
	return -1;
}

bool unic_ucma_owns(int fd)
{
	struct unic_ucma_chan *c;

	if (!unic_ucma_chan_owns(fd))
		return false;
	c = unic_ucma_chan_get(fd);
	if (c)
		unic_ucma_chan_put(c);
	return c;
}

ssize_t unic_ucma_request(int fd, const void *buf, size_t bytes)
{
	struct unic_ucma_chan *c;
	int err, cancel;

	/* but in get_event(): a command has locks, and calls what can be cancelled */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	c = unic_ucma_chan_get(fd);
	err = c ? run(c, cancel, buf, bytes) : -EBADF;
	if (c)
		unic_ucma_chan_put(c);
	pthread_setcancelstate(cancel, NULL);
	return finish(err, bytes);
}

int unic_ucma_open(int flags)
{
	int fd;

	while ((fd = unic_ucma_chan_stale()) >= 0)
		unic_ucma_closing(fd);
	fd = unic_ucma_chan_open(flags);
	return fd < 0 ? (int)finish(fd, 0) : fd;
}

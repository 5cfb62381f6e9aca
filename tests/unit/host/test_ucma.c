/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_ucma.c - the connection manager that librdmacm talks to, over a wire that the test
 * plays: commands, good and bad, ids, channels, and which event follows what.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "shim/ifaddrs.h"
#include "shim/paths.h"
#include "shim/ucma.h"
#include "shim/ucma_a11.h"
#include "shim/ucma_attr.h"
#include "shim/ucma_chan.h"
#include "shim/ucma_close.h"
#include "shim/ucma_event.h"
#include "shim/ucma_wire.h"

#define OURS  0x0a000001u
#define OTHER 0x0a000002u
#define PEER  0x0a000009u
#define PORT  7471
#define UID   0x5550ull

/* ------------------------------------------------------------------ the wire */

static struct {
	char here;
	int err; /* of the next call */
	unsigned int opened, listened, unlistened, connected, accepted;
	unsigned int unlistened_b;
	unsigned int rejected, disconnected, freed;
	struct unic_wire_param last;
	uint8_t data[256];
	uint64_t service;
	uint32_t user, conn, next_conn;
	uint8_t reason; /* of reject() */
	/* runs amid connect(), as the provider's thread does */
	void (*amid_connect)(uint32_t conn);
} wire;

static struct unic_wire *const nic = (struct unic_wire *)&wire;
static struct unic_wire *const nic_b = (struct unic_wire *)&wire.err;
static const struct unic_wire_up *up;

static int wire_open(const char *where, struct unic_wire **out)
{
	wire.opened++;
	*out = strcmp(where, "/run/b.sock") ? nic : nic_b;
	return wire.err;
}

static int wire_listen(struct unic_wire *w, uint64_t service, uint32_t user,
		       uint32_t *id)
{
	assert_true(w == nic || w == nic_b);
	wire.listened++;
	wire.service = service;
	wire.user = user;
	*id = 50;
	return wire.err;
}

static void wire_unlisten(struct unic_wire *w, uint32_t id)
{
	wire.unlistened++;
	wire.unlistened_b += w == nic_b;
	assert_int_equal(id, 50);
}

static void keep(const struct unic_wire_param *p)
{
	wire.last = *p;
	if (p->bytes)
		memcpy(wire.data, p->data, p->bytes);
}

static int wire_connect(struct unic_wire *w, const struct unic_wire_param *p,
			uint32_t *conn)
{
	(void)w;
	keep(p);
	wire.connected++;
	*conn = ++wire.next_conn;
	if (!wire.err && wire.amid_connect)
		wire.amid_connect(*conn);
	return wire.err;
}

static int wire_accept(struct unic_wire *w, const struct unic_wire_param *p)
{
	(void)w;
	keep(p);
	wire.accepted++;
	return wire.err;
}

static int wire_reject(struct unic_wire *w, uint32_t conn, uint8_t reason,
		       const void *data, uint8_t bytes)
{
	(void)w;
	wire.conn = conn;
	wire.reason = reason;
	memcpy(wire.data, data, bytes);
	wire.rejected++;
	return wire.err;
}

static int wire_disconnect(struct unic_wire *w, uint32_t conn)
{
	(void)w;
	wire.conn = conn;
	wire.disconnected++;
	return wire.err;
}

static void wire_free(struct unic_wire *w, uint32_t conn)
{
	(void)w;
	wire.conn = conn;
	wire.freed++;
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

/* The connection @conn stands at @state. */
static bool says(uint32_t conn, uint32_t user, enum unic_wire_state state)
{
	struct unic_wire_event ev = { .conn = conn,
				      .user = user,
				      .state = state,
				      .ipv4 = PEER,
				      .qpn = 0x4321,
				      .qkey = 0x77,
				      .sq_psn = 11,
				      .rq_psn = 22,
				      .qp_type = IBV_QPT_RC,
				      .mtu = IBV_MTU_2048,
				      .max_rd = 3,
				      .max_dest_rd = 2,
				      .timeout = 15,
				      .retry_cnt = 6,
				      .rnr_retry = 5,
				      .reason = 28,
				      .bytes = 7,
				      .data = "answer" };

	ev.was_up = state == UNIC_WIRE_ESTABLISHED;
	return up->event(nic, &ev);
}

/* A request of PEER for the listener @user. */
static bool asks(uint32_t conn, uint32_t user, uint8_t qp_type)
{
	const struct unic_a11 head = { .port = 999, .src = PEER, .dst = OURS };
	struct unic_wire_event ev = { .conn = conn,
				      .user = user,
				      .state = UNIC_WIRE_REQUESTED,
				      .service = unic_a11_service(RDMA_PS_TCP,
								  PORT),
				      .ipv4 = PEER,
				      .qpn = 0x99,
				      .qp_type = qp_type,
				      .mtu = IBV_MTU_1024,
				      .max_rd = 4,
				      .max_dest_rd = 1,
				      .bytes = 92 };

	unic_a11_put(ev.data, &head);
	memset(ev.data + UNIC_A11_BYTES, 'p', 56);
	return up->event(nic, &ev);
}

/* ------------------------------------------------------------------- commands */

static int chan;

/* Write command @number with @bytes at @body, and room for @out. 0 or errno. */
static int command(int fd, uint32_t number, const void *body, size_t bytes,
		   size_t out)
{
	uint8_t msg[1024];
	struct rdma_ucm_cmd_hdr hdr = { .cmd = number,
					.in = (uint16_t)bytes,
					.out = (uint16_t)out };
	ssize_t n;

	memcpy(msg, &hdr, sizeof(hdr));
	memcpy(msg + sizeof(hdr), body, bytes);
	n = unic_ucma_request(fd, msg, sizeof(hdr) + bytes);
	assert_true(n == -1 || n == (ssize_t)(sizeof(hdr) + bytes));
	return n < 0 ? errno : 0;
}
#define DO(name, body) \
	command(chan, RDMA_USER_CM_CMD_##name, &(body), sizeof(body), 0)
#define ASK(name, body, resp)                                          \
	((body).response = (uintptr_t) & (resp),                       \
	 command(chan, RDMA_USER_CM_CMD_##name, &(body), sizeof(body), \
		 sizeof(resp)))

static uint32_t create(uint16_t ps)
{
	struct rdma_ucm_create_id r = { .uid = UID, .ps = ps };
	struct rdma_ucm_create_id_resp resp = { 0 };

	assert_int_equal(ASK(CREATE_ID, r, resp), 0);
	assert_true(resp.id > 0 && resp.id < 65536);
	return resp.id;
}

/* Returns how many events of it were read. */
static uint32_t destroy(uint32_t id)
{
	struct rdma_ucm_destroy_id r = { .id = id };
	struct rdma_ucm_destroy_id_resp resp = { 0 };

	assert_int_equal(ASK(DESTROY_ID, r, resp), 0);
	return resp.events_reported;
}

static struct sockaddr_in in_addr_of(uint32_t ipv4, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr = { htonl(ipv4) } };
}

static int bind_id(uint32_t id, uint32_t ipv4, uint16_t port)
{
	struct sockaddr_in in = in_addr_of(ipv4, port);
	struct rdma_ucm_bind_ip r = { .id = id };

	memcpy(&r.addr, &in, sizeof(in));
	return DO(BIND_IP, r);
}

static int resolve(uint32_t id, uint32_t ipv4, uint16_t port)
{
	struct sockaddr_in in = in_addr_of(ipv4, port);
	struct rdma_ucm_resolve_ip r = { .id = id };

	memcpy(&r.dst_addr, &in, sizeof(in));
	return DO(RESOLVE_IP, r);
}

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static struct rdma_ucm_event_resp event(uint32_t type)
{
	struct rdma_ucm_get_event r = { 0 };
	struct rdma_ucm_event_resp resp;

	assert_true(is_readable(chan));
	assert_int_equal(ASK(GET_EVENT, r, resp), 0);
	assert_int_equal(resp.event, type);
	return resp;
}

static void no_event(void)
{
	struct rdma_ucm_get_event r = { 0 };
	struct rdma_ucm_event_resp resp;

	assert_false(is_readable(chan));
	assert_int_equal(ASK(GET_EVENT, r, resp), EAGAIN);
}

static int set_up(void **state)
{
	(void)state;
	memset(&wire, 0, sizeof(wire));
	chan = unic_ucma_open(O_RDWR | O_CLOEXEC | O_NONBLOCK);
	assert_true(unic_ucma_owns(chan));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unic_ucma_closing(chan);
	assert_false(unic_ucma_owns(chan));
	close(chan);
	return 0;
}

static struct ib_uverbs_qp_attr attr_of(uint32_t id, uint32_t state, int err)
{
	struct rdma_ucm_init_qp_attr r = { .id = id, .qp_state = state };
	struct ib_uverbs_qp_attr resp = { 0 };

	assert_int_equal(ASK(INIT_QP_ATTR, r, resp), err);
	return resp;
}

static int accept_id(uint32_t id, bool with_param)
{
	struct rdma_ucm_accept r = { .uid = UID + 1,
				     .id = id,
				     .conn_param = { .qp_num = 0xff000abc,
						     .private_data = "yes",
						     .private_data_len = 4,
						     .responder_resources = 2,
						     .initiator_depth = 1,
						     .retry_count = 9,
						     .valid = with_param } };

	return DO(ACCEPT, r);
}

static int disconnect(uint32_t id)
{
	struct rdma_ucm_disconnect r = { .id = id };

	return DO(DISCONNECT, r);
}

/* ------------------------------------------------------------------- connecting */

static uint32_t resolved(uint16_t ps)
{
	uint32_t id = create(ps);
	struct rdma_ucm_resolve_route r = { .id = id };

	assert_int_equal(DO(RESOLVE_ROUTE, r), EINVAL);
	assert_int_equal(resolve(id, PEER, PORT), 0);
	assert_int_equal(event(RDMA_CM_EVENT_ADDR_RESOLVED).uid, UID);
	assert_int_equal(DO(RESOLVE_ROUTE, r), 0);
	assert_int_equal(event(RDMA_CM_EVENT_ROUTE_RESOLVED).id, id);
	return id;
}

static int connect_id(uint32_t id, uint8_t bytes)
{
	struct rdma_ucm_connect r = { .id = id,
				      .conn_param = { .qp_num = 0x123,
						      .responder_resources = 2,
						      .initiator_depth = 3,
						      .retry_count = 7,
						      .rnr_retry_count = 6,
						      .private_data_len = bytes,
						      .valid = 1 } };

	memset(r.conn_param.private_data, 'q',
	       sizeof(r.conn_param.private_data));
	return DO(CONNECT, r);
}

static void a_client_connects(void **state)
{
	uint32_t id = resolved(RDMA_PS_TCP);
	struct rdma_ucm_query q = { .id = id };
	struct rdma_ucm_query_route_resp route;
	struct ib_uverbs_qp_attr a;
	struct rdma_ucm_event_resp ev;
	struct unic_a11 head;

	(void)state;
	assert_int_equal(ASK(QUERY_ROUTE, q, route), 0);
	assert_int_equal(route.num_paths, 1);
	assert_int_equal(route.port_num, 1);
	assert_memory_equal(&route.node_guid,
			    "\x02\x75\x6e\xff\xfe\x00\x00\x01", 8);
	assert_int_equal(route.ib_route[0].dgid[15], 9);
	assert_int_equal(route.ib_route[0].sgid[15], 1);
	a = attr_of(id, IBV_QPS_INIT, 0);
	assert_int_equal(a.qp_attr_mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
						 IBV_QP_PORT |
						 IBV_QP_ACCESS_FLAGS);
	attr_of(id, IBV_QPS_RTR, EINVAL);
	attr_of(id, IBV_QPS_SQD, EINVAL);
	assert_int_equal(accept_id(id, true), EINVAL);
	assert_int_equal(accept_id(id, false), EINVAL);
	assert_int_equal(disconnect(id), EINVAL);
	assert_int_equal(connect_id(id, 56), 0);
	assert_int_equal(wire.last.ipv4, PEER);
	assert_true(wire.last.service == 0x01060000 + PORT);
	assert_int_equal(wire.last.qpn, 0x123);
	assert_int_equal(wire.last.max_dest_rd, 2);
	assert_int_equal(wire.last.max_rd, 3);
	assert_int_equal(wire.last.bytes, 92);
	assert_true(unic_a11_get(wire.data, &head));
	assert_int_equal(head.src, OURS);
	assert_int_equal(head.dst, PEER);
	assert_int_equal(wire.data[91], 'q');
	assert_int_equal(connect_id(id, 0), EINVAL);
	assert_true(says(wire.next_conn, id, UNIC_WIRE_REPLIED));
	assert_true(says(wire.next_conn, id, UNIC_WIRE_REPLIED));
	ev = event(RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(ev.param.conn.private_data_len, 7);
	assert_string_equal((char *)ev.param.conn.private_data, "answer");
	assert_int_equal(ev.param.conn.qp_num, 0x4321);
	assert_int_equal(ev.param.conn.responder_resources, 2);
	assert_int_equal(ev.param.conn.initiator_depth, 3);
	no_event();
	a = attr_of(id, IBV_QPS_RTR, 0);
	assert_int_equal(a.dest_qp_num, 0x4321);
	assert_int_equal(a.rq_psn, 22);
	assert_int_equal(a.path_mtu, IBV_MTU_2048);
	assert_int_equal(a.max_dest_rd_atomic, 2);
	assert_int_equal(a.ah_attr.is_global, 1);
	assert_int_equal(a.ah_attr.grh.dgid[11], 0xff);
	assert_int_equal(a.ah_attr.grh.dgid[15], 9);
	a = attr_of(id, IBV_QPS_RTS, 0);
	assert_int_equal(a.sq_psn, 11);
	assert_int_equal(a.timeout, 15);
	assert_int_equal(a.retry_cnt, 6);
	assert_int_equal(a.rnr_retry, 5);
	assert_int_equal(a.max_rd_atomic, 3);
	assert_int_equal(accept_id(id, false), 0);
	assert_int_equal(wire.last.conn, wire.next_conn);
	assert_int_equal(wire.last.bytes, 0);
	assert_true(says(wire.next_conn, id, UNIC_WIRE_ESTABLISHED));
	no_event(); /* librdmacm makes it itself */
	assert_int_equal(disconnect(id), 0);
	assert_int_equal(wire.disconnected, 1);
	assert_true(says(wire.next_conn, id, UNIC_WIRE_CLOSED));
	assert_true(says(wire.next_conn, id, UNIC_WIRE_CLOSED));
	event(RDMA_CM_EVENT_DISCONNECTED);
	no_event();
	assert_int_equal(disconnect(id), 0); /* of whoever was told */
	assert_int_equal(wire.disconnected, 1);
	assert_int_equal(destroy(id), 4);
	assert_int_equal(wire.freed, 1);
}

static void answered_before_connect_returns(uint32_t conn)
{
	assert_true(says(conn, wire.last.user, UNIC_WIRE_REPLIED));
}

static void an_answer_may_be_quick(void **state)
{
	uint32_t id = resolved(RDMA_PS_TCP);

	(void)state;
	wire.amid_connect = answered_before_connect_returns;
	assert_int_equal(connect_id(id, 0), 0);
	event(RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(accept_id(id, false), 0);
	destroy(id);
}

static void a_client_is_refused(void **state)
{
	static const struct {
		enum unic_wire_state state;
		uint32_t type;
		int status;
		uint8_t bytes;
	} ends[] = {
		{ UNIC_WIRE_REJECTED, RDMA_CM_EVENT_REJECTED, 28, 7 },
		{ UNIC_WIRE_UNREACHABLE, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT,
		  0 },
	};
	struct rdma_ucm_event_resp ev;
	uint32_t id, i;

	(void)state;
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		id = resolved(RDMA_PS_TCP);
		assert_int_equal(connect_id(id, 57), 0);
		assert_true(says(wire.next_conn, id, ends[i].state));
		ev = event(ends[i].type);
		assert_int_equal((int)ev.status, ends[i].status);
		assert_int_equal(ev.param.conn.private_data_len, ends[i].bytes);
		assert_int_equal(accept_id(id, false), EINVAL);
		destroy(id);
	}
	/* the driver says no */
	id = resolved(RDMA_PS_TCP);
	wire.err = -EINVAL;
	assert_int_equal(connect_id(id, 200), EINVAL);
	assert_int_equal(connect_id(id, 0), EINVAL);
	wire.err = 0;
	assert_int_equal(connect_id(id, 0), 0);
	destroy(id);
	assert_int_equal(wire.freed, 3);
}

/* -------------------------------------------------------------------- listening */

static uint32_t listening(uint32_t ipv4, uint32_t backlog)
{
	uint32_t id = create(RDMA_PS_TCP);
	struct rdma_ucm_listen r = { .id = id, .backlog = backlog };

	assert_int_equal(bind_id(id, ipv4, PORT), 0);
	assert_int_equal(DO(LISTEN, r), 0);
	assert_int_equal(DO(LISTEN, r), EINVAL);
	assert_int_equal(wire.user, id);
	assert_true(wire.service == 0x01060000 + PORT);
	return id;
}

static void a_server_accepts(void **state)
{
	uint32_t l = listening(0, 0), id;
	struct rdma_ucm_query_route_resp route;
	struct rdma_ucm_event_resp ev;
	struct rdma_ucm_query q;
	struct sockaddr_in in;

	(void)state;
	assert_true(asks(70, l, IBV_QPT_RC));
	assert_true(asks(70, l, IBV_QPT_RC)); /* after lost words */
	assert_false(asks(71, l, IBV_QPT_UD));
	assert_false(asks(72, l + 1, IBV_QPT_RC));
	ev = event(RDMA_CM_EVENT_CONNECT_REQUEST);
	no_event();
	id = ev.id;
	assert_int_not_equal(id, l);
	assert_true(ev.uid == UID);
	assert_int_equal(ev.param.conn.private_data_len, 56);
	assert_int_equal(ev.param.conn.private_data[55], 'p');
	assert_int_equal(ev.param.conn.responder_resources, 1);
	assert_int_equal(ev.param.conn.initiator_depth, 4);
	q = (struct rdma_ucm_query){ .id = id };
	assert_int_equal(ASK(QUERY_ROUTE, q, route), 0);
	memcpy(&in, &route.src_addr, sizeof(in));
	assert_int_equal(in.sin_port, htons(PORT));
	assert_int_equal(in.sin_addr.s_addr, htonl(OURS));
	memcpy(&in, &route.dst_addr, sizeof(in));
	assert_int_equal(in.sin_port, htons(999));
	assert_int_equal(in.sin_addr.s_addr, htonl(PEER));
	assert_int_equal(attr_of(id, IBV_QPS_RTR, 0).dest_qp_num, 0x99);
	assert_int_equal(accept_id(id, false), EINVAL);
	assert_int_equal(accept_id(id, true), 0);
	assert_int_equal(wire.last.conn, 70);
	assert_int_equal(wire.last.user, id);
	assert_int_equal(wire.last.qpn, 0xabc);
	assert_int_equal(wire.last.retry_cnt, 7);
	assert_int_equal(wire.last.bytes, 4);
	assert_int_equal(accept_id(id, true), EINVAL);
	assert_true(says(70, id, UNIC_WIRE_ESTABLISHED));
	assert_true(event(RDMA_CM_EVENT_ESTABLISHED).uid == UID + 1);
	assert_true(says(70, id, UNIC_WIRE_CLOSED));
	event(RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(destroy(id), 2);
	assert_int_equal(destroy(l), 1);
	assert_int_equal(wire.unlistened, 1);
	assert_int_equal(wire.freed, 1);
}

/* The peer was there and has gone before anybody looked. */
static void a_short_visit_is_both_events(void **state)
{
	struct unic_wire_event ev = { .conn = 70,
				      .state = UNIC_WIRE_CLOSED,
				      .was_up = true };
	uint32_t l = listening(OURS, 4);
	uint32_t id;

	(void)state;
	assert_true(asks(70, l, IBV_QPT_RC));
	id = event(RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_int_equal(accept_id(id, true), 0);
	assert_true(up->event(nic, &ev));
	event(RDMA_CM_EVENT_ESTABLISHED);
	event(RDMA_CM_EVENT_DISCONNECTED);
	no_event();
	destroy(id);
	destroy(l);
}

static void requests_wait_in_line(void **state)
{
	uint32_t l = listening(OURS, 2);
	struct rdma_ucm_reject r = { .private_data = "no",
				     .private_data_len = 2 };

	(void)state;
	assert_true(asks(1, l, IBV_QPT_RC));
	assert_true(asks(2, l, IBV_QPT_RC));
	assert_false(asks(3, l, IBV_QPT_RC));
	r.id = event(RDMA_CM_EVENT_CONNECT_REQUEST).id;
	assert_true(asks(4, l, IBV_QPT_RC));
	r.reason = 5;
	assert_int_equal(DO(REJECT, r), EINVAL);
	r.reason = 35;
	assert_int_equal(DO(REJECT, r), 0);
	assert_int_equal(wire.conn, 1);
	assert_int_equal(wire.reason, 35);
	assert_memory_equal(wire.data, "no", 2);
	assert_int_equal(DO(REJECT, r), EINVAL);
	assert_int_equal(accept_id(r.id, true), EINVAL);
	/* one that goes before it is accepted has no event */
	assert_true(says(2, 0, UNIC_WIRE_GONE));
	destroy(l); /* with what nobody has read */
	assert_int_equal(wire.freed, 1);
	destroy(r.id);
	assert_int_equal(wire.freed, 2);
	no_event();
}

static void headers_are_looked_at(void **state)
{
	struct unic_wire_event ev = { .conn = 1,
				      .state = UNIC_WIRE_REQUESTED,
				      .qp_type = IBV_QPT_RC,
				      .bytes = 92 };
	const struct unic_a11 head = { .port = 1 };
	uint32_t l = listening(OURS, 0);

	(void)state;
	ev.user = l;
	unic_a11_put(ev.data, &head);
	ev.data[0] = 1; /* another version */
	assert_false(up->event(nic, &ev));
	ev.data[0] = 0;
	ev.data[1] = 0x60; /* IPv6 */
	assert_false(up->event(nic, &ev));
	ev.data[1] = 0x4f; /* the lower half is reserved */
	ev.bytes = 35;
	assert_false(up->event(nic, &ev));
	ev.bytes = 36;
	assert_true(up->event(nic, &ev));
	assert_int_equal(event(RDMA_CM_EVENT_CONNECT_REQUEST)
				 .param.conn.private_data_len,
			 0);
	destroy(l);
}

/* -------------------------------------------------------------------------- UD */

static void datagrams_find_each_other(void **state)
{
	uint32_t id = resolved(RDMA_PS_UDP);
	struct rdma_ucm_event_resp ev;

	(void)state;
	assert_int_equal(attr_of(id, IBV_QPS_INIT, 0).qkey, UNIC_UCMA_QKEY);
	assert_int_equal(attr_of(id, IBV_QPS_RTR, 0).qp_attr_mask,
			 IBV_QP_STATE);
	assert_int_equal(connect_id(id, 180), 0);
	assert_true(wire.last.service == 0x01110000 + PORT);
	assert_int_equal(wire.last.qpn, 0);
	assert_int_equal(wire.last.bytes, 216);
	assert_true(says(wire.next_conn, id, UNIC_WIRE_ESTABLISHED));
	ev = event(RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(ev.param.ud.qp_num, 0x4321);
	assert_int_equal(ev.param.ud.qkey, 0x77);
	assert_int_equal(ev.param.ud.ah_attr.grh.dgid[15], 9);
	assert_int_equal(ev.param.ud.private_data_len, 7);
	destroy(id);
	id = resolved(RDMA_PS_UDP);
	assert_int_equal(connect_id(id, 181), EINVAL);
	assert_int_equal(connect_id(id, 0), 0);
	assert_true(says(wire.next_conn, id, UNIC_WIRE_REJECTED));
	assert_int_equal(event(RDMA_CM_EVENT_UNREACHABLE).status, 28);
	destroy(id);
}

/* ------------------------------------------------------------------- addresses */

static void addresses_are_devices(void **state)
{
	uint32_t a = create(RDMA_PS_TCP), b = create(RDMA_PS_TCP);
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_port = htons(PORT) };
	struct rdma_ucm_bind r = { .id = a, .addr_size = sizeof(in6) };
	struct rdma_ucm_query q = { .id = a };
	struct rdma_ucm_query_addr_resp resp;
	struct sockaddr_in in;

	(void)state;
	assert_int_equal(bind_id(a, PEER, PORT), EADDRNOTAVAIL);
	in6.sin6_addr.s6_addr[0] = 0xfe;
	memcpy(&r.addr, &in6, sizeof(in6));
	assert_int_equal(DO(BIND, r), EADDRNOTAVAIL);
	r.addr_size = sizeof(in) - 1;
	assert_int_equal(DO(BIND, r), EINVAL);
	r.addr_size = sizeof(in6);
	in6.sin6_family = 27; /* AF_IB */
	memcpy(&r.addr, &in6, sizeof(in6));
	assert_int_equal(DO(BIND, r), EAFNOSUPPORT);
	in6.sin6_family = AF_INET6;
	memset(&in6.sin6_addr, 0, sizeof(in6.sin6_addr));
	memset(&in6.sin6_addr.s6_addr[10], 0xff, 2);
	in6.sin6_addr.s6_addr[12] = 10;
	in6.sin6_addr.s6_addr[15] = 1;
	memcpy(&r.addr, &in6, sizeof(in6));
	assert_int_equal(DO(BIND, r), 0);
	assert_int_equal(DO(BIND, r), EINVAL);
	q.option = RDMA_USER_CM_QUERY_ADDR;
	assert_int_equal(ASK(QUERY, q, resp), 0);
	assert_int_equal(resp.src_size, sizeof(in));
	assert_int_equal(resp.dst_size, 0);
	assert_int_equal(resp.port_num, 1);
	assert_int_equal(resp.pkey, 0xffff);
	q.option = RDMA_USER_CM_QUERY_GID;
	assert_int_equal(ASK(QUERY, q, resp), 0);
	assert_int_equal(resp.src_size, 48);
	q.option = 9;
	assert_int_equal(ASK(QUERY, q, resp), ENOSYS);
	assert_int_equal(bind_id(b, OURS, PORT), EADDRINUSE);
	assert_int_equal(bind_id(b, 0, 0), 0); /* a port that is free */
	q.id = b;
	q.option = RDMA_USER_CM_QUERY_ADDR;
	assert_int_equal(ASK(QUERY, q, resp), 0);
	memcpy(&in, &resp.src_addr, sizeof(in));
	assert_true(ntohs(in.sin_port) >= 32768);
	assert_true(resp.node_guid == 0);
	destroy(a);
	destroy(b);
}

/* The address that @id says it has, or its peer. */
static struct sockaddr_in told(uint32_t id, bool peer)
{
	struct rdma_ucm_query q = { .id = id,
				    .option = RDMA_USER_CM_QUERY_ADDR };
	struct rdma_ucm_query_addr_resp resp;
	struct sockaddr_in in;

	assert_int_equal(ASK(QUERY, q, resp), 0);
	memcpy(&in, peer ? &resp.dst_addr : &resp.src_addr, sizeof(in));
	return in;
}

/* Programs that tell each other where they are by a socket of this machine say 127.0.0.1. */
static void the_loopback_is_the_first_device(void **state)
{
	uint32_t a = create(RDMA_PS_TCP), b = create(RDMA_PS_TCP);
	uint32_t c = create(RDMA_PS_TCP);

	(void)state;
	assert_int_equal(bind_id(a, INADDR_LOOPBACK, PORT), 0);
	assert_int_equal(ntohl(told(a, false).sin_addr.s_addr), OURS);
	assert_int_equal(bind_id(b, INADDR_LOOPBACK, PORT), EADDRINUSE);
	assert_int_equal(bind_id(b, 0x7f000102, PORT + 1), 0);
	assert_int_equal(resolve(b, INADDR_LOOPBACK, PORT), 0);
	assert_int_equal(event(RDMA_CM_EVENT_ADDR_RESOLVED).uid, UID);
	assert_int_equal(ntohl(told(b, true).sin_addr.s_addr), OURS);
	assert_int_equal(bind_id(c, 0x80000001, PORT), EADDRNOTAVAIL);
	destroy(a);
	destroy(b);
	destroy(c);
}

/* --------------------------------------------------------------------- options */

static void options_are_checked(void **state)
{
	uint32_t id = resolved(RDMA_PS_TCP);
	uint8_t value = 20;
	struct rdma_ucm_set_option r = { .optval = (uintptr_t)&value,
					 .id = id,
					 .level = RDMA_OPTION_ID,
					 .optname = RDMA_OPTION_ID_ACK_TIMEOUT,
					 .optlen = 1 };

	(void)state;
	assert_int_equal(DO(SET_OPTION, r), 0);
	r.optlen = 2;
	assert_int_equal(DO(SET_OPTION, r), EINVAL);
	r.optlen = 1;
	value = 32;
	assert_int_equal(DO(SET_OPTION, r), EINVAL);
	r.optval = 8;
	assert_int_equal(DO(SET_OPTION, r), EFAULT);
	r.optname = 9;
	assert_int_equal(DO(SET_OPTION, r), ENOSYS);
	r.optname = RDMA_OPTION_IB_PATH;
	r.level = RDMA_OPTION_IB;
	assert_int_equal(DO(SET_OPTION, r), ENOSYS);
	assert_int_equal(connect_id(id, 0), 0);
	assert_int_equal(wire.last.timeout, 20);
	destroy(id);
}

/* ------------------------------------------------------------------ bad commands */

static void bad_commands_say_why(void **state)
{
	struct rdma_ucm_create_id c = { .ps = RDMA_PS_TCP };
	struct rdma_ucm_destroy_id d = { .id = 4711 };
	struct rdma_ucm_create_id_resp resp;
	uint64_t garbage[64] = { 0 };
	uint32_t id = create(RDMA_PS_TCP);
	int other;

	(void)state;
	errno = 0;
	assert_int_equal(unic_ucma_request(chan, garbage, 7), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(unic_ucma_request(chan, (void *)8, 64), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(command(chan, 99, garbage, 64, 64), ENOSYS);
	assert_int_equal(command(chan, RDMA_USER_CM_CMD_GET_OPTION, garbage, 64,
				 64),
			 ENOSYS);
	assert_int_equal(command(chan, RDMA_USER_CM_CMD_JOIN_MCAST, garbage,
				 200, 64),
			 ENOSYS);
	((struct rdma_ucm_cmd_hdr *)(void *)garbage)->in = 400; /* not there */
	assert_int_equal(unic_ucma_request(chan, garbage, 64), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(command(chan, RDMA_USER_CM_CMD_CREATE_ID, &c,
				 sizeof(c) - 1, 64),
			 EINVAL);
	assert_int_equal(command(chan, RDMA_USER_CM_CMD_CREATE_ID, &c,
				 sizeof(c), 3),
			 ENOSPC);
	c.response = 8;
	assert_int_equal(command(chan, RDMA_USER_CM_CMD_CREATE_ID, &c,
				 sizeof(c), 64),
			 EFAULT);
	c.ps = 7;
	assert_int_equal(ASK(CREATE_ID, c, resp), EINVAL);
	assert_int_equal(ASK(DESTROY_ID, d, resp), ENOENT);
	d.id = 0;
	assert_int_equal(ASK(DESTROY_ID, d, resp), ENOENT);
	d.id = UINT32_MAX;
	assert_int_equal(ASK(DESTROY_ID, d, resp), ENOENT);
	other = unic_ucma_open(O_RDWR);
	d.id = id; /* of another channel */
	assert_int_equal(command(other, RDMA_USER_CM_CMD_DESTROY_ID, &d,
				 sizeof(d), 64),
			 EINVAL);
	unic_ucma_closing(other);
	close(other);
	destroy(id);
}

/* Room that an answer does not need is left alone. */
static void answers_are_as_long_as_they_are(void **state)
{
	uint8_t room[300], same[300];
	struct rdma_ucm_create_id r = { .uid = UID,
					.response = (uintptr_t)room,
					.ps = RDMA_PS_TCP };
	struct rdma_ucm_create_id_resp resp;

	(void)state;
	memset(room, 0xee, sizeof(room));
	memset(same, 0xee, sizeof(same));
	assert_int_equal(command(chan, RDMA_USER_CM_CMD_CREATE_ID, &r,
				 sizeof(r), sizeof(room)),
			 0);
	memcpy(&resp, room, sizeof(resp));
	assert_memory_equal(room + sizeof(resp), same,
			    sizeof(room) - sizeof(resp));
	destroy(resp.id);
}

/* Nothing that a program writes hurts more than itself. */
static void garbage_is_refused(void **state)
{
	uint64_t msg[80], answer[80];
	struct rdma_ucm_cmd_hdr *hdr = (void *)msg;
	uint32_t id = create(RDMA_PS_TCP), seed = 1, i, k;

	(void)state;
	for (i = 0; i < 20000; i++) {
		for (k = 0; k < 80; k++) {
			seed = seed * 1664525 + 1013904223;
			msg[k] = (uint64_t)seed << 32 | seed;
			msg[k] = seed >> 28 ? msg[k] : seed % 5000;
		}
		hdr->cmd = seed % 26;
		hdr->in = (uint16_t)(seed >> 8) % 620;
		hdr->out = (uint16_t)(seed >> 4) % 600;
		if (seed >> 30)
			msg[1] = (uintptr_t)answer;
		unic_ucma_request(chan, msg, 8 + (seed >> 9) % 632);
		if (seed >> 31)
			says(wire.next_conn, seed % 64, seed % 8);
	}
	unic_ucma_closing(chan);
	close(chan);
	chan = unic_ucma_open(O_RDWR | O_NONBLOCK);
	(void)id;
	id = resolved(RDMA_PS_TCP);
	destroy(id);
}

/* -------------------------------------------------------------------- channels */

static void a_number_may_be_reused(void **state)
{
	int fd = unic_ucma_open(O_RDWR);
	int other = open("/dev/null", O_RDWR);
	uint64_t garbage[8] = { 0 };

	(void)state;
	assert_true(unic_ucma_owns(fd));
	dup2(other, fd); /* closed behind our back */
	assert_false(unic_ucma_owns(fd));
	assert_int_equal(unic_ucma_request(fd, garbage, 64), -1);
	assert_int_equal(errno, EBADF);
	unic_ucma_closing(fd);
	close(fd);
	fd = unic_ucma_open(O_RDWR);
	dup2(other, fd);
	unic_ucma_closing(unic_ucma_open(O_RDWR)); /* sees it */
	assert_false(unic_ucma_owns(fd));
	close(fd);
	close(other);
}

static void flags_are_the_programs(void **state)
{
	int fd = unic_ucma_open(O_RDWR);

	(void)state;
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	unic_ucma_closing(fd);
	close(fd);
	assert_int_equal(fcntl(chan, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(chan, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
}

static void ids_move_with_their_events(void **state)
{
	int from = chan, to = unic_ucma_open(O_RDWR | O_NONBLOCK);
	uint32_t id = create(RDMA_PS_TCP);
	struct rdma_ucm_migrate_id r = { .id = id, .fd = (uint32_t)from };
	struct rdma_ucm_migrate_resp resp;

	(void)state;
	assert_int_equal(resolve(id, PEER, PORT), 0);
	chan = to;
	assert_int_equal(ASK(MIGRATE_ID, r, resp), 0);
	assert_int_equal(resp.events_reported, 0);
	assert_false(is_readable(from));
	event(RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(ASK(MIGRATE_ID, r, resp), EINVAL);
	destroy(id);
	r.fd = 4000;
	assert_int_equal(ASK(MIGRATE_ID, r, resp), EINVAL);
	/* to where it is */
	r.fd = (uint32_t)to;
	r.id = create(RDMA_PS_TCP);
	assert_int_equal(resolve(r.id, PEER, PORT), 0);
	assert_int_equal(ASK(MIGRATE_ID, r, resp), 0);
	event(RDMA_CM_EVENT_ADDR_RESOLVED);
	destroy(r.id);
	unic_ucma_closing(to);
	close(to);
	chan = from;
}

/* All that a channel has goes with it. */
static void a_close_ends_ids(void **state)
{
	uint32_t l = listening(OURS, 0), id = resolved(RDMA_PS_TCP);

	(void)state;
	assert_int_equal(connect_id(id, 0), 0);
	assert_true(asks(90, l, IBV_QPT_RC));
	unic_ucma_closing(chan);
	close(chan);
	assert_int_equal(wire.freed, 2);
	assert_int_equal(wire.unlistened, 1);
	assert_false(asks(91, l, IBV_QPT_RC));
	chan = unic_ucma_open(O_RDWR | O_NONBLOCK);
}

static void a_lost_driver_is_an_event(void **state)
{
	uint32_t id = resolved(RDMA_PS_TCP), l = listening(0, 0);
	unsigned int opened = wire.opened;

	(void)state;
	assert_int_equal(connect_id(id, 0), 0);
	up->lost(nic);
	event(RDMA_CM_EVENT_DEVICE_REMOVAL);
	event(RDMA_CM_EVENT_DEVICE_REMOVAL);
	destroy(id);
	destroy(l);
	assert_int_equal(wire.freed, 0);
	assert_int_equal(wire.unlistened, 0);
	id = resolved(RDMA_PS_TCP); /* it is there again */
	assert_int_equal(wire.opened, opened + 1);
	destroy(id);
}

/* ----------------------------------------------------------------- the process */

static void cancel_me(uint32_t conn)
{
	(void)conn;
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

static void *connect_it(void *id)
{
	connect_id(*(uint32_t *)id, 0);
	pthread_testcancel();
	return NULL;
}

static void *end_of(pthread_t t)
{
	void *end = NULL;

	assert_int_equal(pthread_join(t, &end), 0);
	return end;
}

/* A command is carried out to its end: the locks are free after it. Who waits for an event is
 * cancelled (tests/qemu/verbs_calls.c). */
static void commands_are_not_cancelled(void **state)
{
	uint32_t id = resolved(RDMA_PS_TCP);
	pthread_t t;

	(void)state;
	alarm(20); /* for who waits for a lock */
	wire.amid_connect = cancel_me;
	assert_int_equal(pthread_create(&t, NULL, connect_it, &id), 0);
	assert_ptr_equal(end_of(t), PTHREAD_CANCELED);
	wire.amid_connect = NULL;
	destroy(id);
	assert_int_equal(wire.freed, 1);
	alarm(0);
}

/* The child has its own descriptors, and its parent's memory. */
static void children_close_what_is_theirs(void **state)
{
	uint32_t id = resolved(RDMA_PS_TCP);
	int status;
	pid_t pid;

	(void)state;
	pid = vfork();
	if (!pid) {
		unic_ucma_closing(chan);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(unic_ucma_owns(chan));
	assert_int_equal(connect_id(id, 0), 0);
	pid = fork();
	if (!pid) {
		/* not the ids of the parent, of which there are copies */
		unic_ucma_closing(chan);
		_exit(wire.freed || unic_ucma_chan_owns(chan));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	destroy(id);
	assert_int_equal(wire.freed, 1);
}

static int ranges;
static unsigned int range[8][2];

static int note_range(unsigned int first, unsigned int last, int flags)
{
	(void)flags;
	range[ranges][0] = first;
	range[ranges][1] = last;
	ranges++;
	return close_range(first, last, 0);
}

/* close_range() ends the ids of the channels that it closes, and leaves the other end of
 * those that it does not. */
static void ranges_are_channels(void **state)
{
	int other = unic_ucma_open(O_RDWR | O_NONBLOCK);
	uint32_t id = resolved(RDMA_PS_TCP);
	unsigned int wfd;
	int end;

	(void)state;
	assert_int_equal(connect_id(id, 0), 0);
	ranges = 0;
	assert_int_equal(unic_ucma_close_range((unsigned int)chan,
					       (unsigned int)chan, 4,
					       note_range),
			 0);
	assert_int_equal(ranges, 1); /* 4: CLOEXEC, this one closes */
	assert_int_equal(wire.freed, 0);
	assert_int_equal(unic_ucma_close_range((unsigned int)chan,
					       (unsigned int)chan, 0,
					       note_range),
			 0);
	assert_int_equal(wire.freed, 1);
	chan = other;
	wfd = (unsigned int)unic_ucma_chan_other(0, ~0u);
	end = fcntl(chan, F_DUPFD, (int)wfd + 1);
	assert_true(end > 0);
	ranges = 0;
	assert_int_equal(unic_ucma_close_range(wfd, (unsigned int)end, 0,
					       note_range),
			 0);
	assert_int_equal(ranges, 1);
	assert_int_equal(range[0][0], wfd + 1);
	assert_int_equal(fcntl(end, F_GETFD), -1);
	destroy(resolved(RDMA_PS_TCP)); /* its events come */
	end = fcntl(chan, F_DUPFD, (int)wfd + 1);
	assert_int_equal(dup2(chan, end + 1), end + 1);
	ranges = 0;
	assert_int_equal(unic_ucma_close_range((unsigned int)end + 1, wfd, 0,
					       note_range),
			 -1);
	/* from below the other end to above it */
	assert_int_equal(unic_ucma_chan_other(wfd + 1, ~0u), -1);
	unic_ucma_closing(chan);
	close(chan);
	close(end);
	end = unic_ucma_open(O_RDWR | O_NONBLOCK); /* far from its other end */
	chan = unic_ucma_open(O_RDWR | O_NONBLOCK);
	wfd = (unsigned int)unic_ucma_chan_other((unsigned int)chan, ~0u);
	unic_ucma_closing(end);
	close(end);
	assert_int_equal(dup2(0, (int)wfd + 1), (int)wfd + 1);
	ranges = 0;
	assert_int_equal(unic_ucma_close_range((unsigned int)chan + 1, wfd + 1,
					       0, note_range),
			 0);
	assert_int_equal(fcntl((int)wfd + 1, F_GETFD), -1);
	assert_int_not_equal(fcntl((int)wfd, F_GETFD), -1);
	destroy(resolved(RDMA_PS_TCP));
}

/* The other end was closed by a call that this library does not see, and another file has
 * its number. */
static void strangers_are_left_alone(void **state)
{
	int wfd = unic_ucma_chan_other(0, ~0u), fds[2];
	uint32_t id = create(RDMA_PS_TCP);

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds), 0);
	assert_int_equal(dup2(fds[0], wfd), wfd);
	assert_int_equal(unic_ucma_chan_other(0, ~0u), -1);
	assert_int_equal(resolve(id, PEER, PORT), 0);
	assert_false(is_readable(fds[1]));
	unic_ucma_closing(chan);
	close(chan);
	assert_int_not_equal(fcntl(wfd, F_GETFD), -1);
	close(wfd);
	close(fds[0]);
	close(fds[1]);
	chan = unic_ucma_open(O_RDWR | O_NONBLOCK);
}

/* A number that the program has not read is none. */
static void unread_requests_have_no_number(void **state)
{
	uint32_t l = listening(OURS, 4);
	struct rdma_ucm_destroy_id r = { .id = l % UNIC_UCMA_IDS + 1 };
	struct rdma_ucm_destroy_id_resp resp;

	(void)state;
	assert_true(asks(70, l, IBV_QPT_RC));
	assert_int_equal(ASK(DESTROY_ID, r, resp), ENOENT);
	assert_int_equal(event(RDMA_CM_EVENT_CONNECT_REQUEST).id, r.id);
	destroy(r.id);
	assert_true(asks(71, l, IBV_QPT_RC));
	destroy(l);
	assert_int_equal(wire.freed, 2);
}

/* ------------------------------------------------------------------------ tree */

static void put(const char *top, const char *name, const char *line)
{
	char path[256];
	char *slash;
	FILE *f;

	snprintf(path, sizeof(path), "%s/class/%s", top, name);
	for (slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", line);
	fclose(f);
}

static char tree[] = "/tmp/test-ucma-XXXXXX";

static int make_tree(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(tree));
	put(tree, "infiniband_verbs/uverbs0/ibdev", "unic0");
	put(tree, "infiniband/unic0/unic_where", "/run/a.sock");
	put(tree, "infiniband/unic0/node_guid", "0275:6eff:fe00:0001");
	put(tree, "infiniband/unic0/ports/1/gids/0",
	    "0000:0000:0000:0000:0000:ffff:0a00:0001");
	put(tree, "infiniband_verbs/uverbs1/ibdev", "broken");
	setenv(UNIC_SHIM_TREE, tree, 1);
	up = unic_shim_wire(&ops);
	return 0;
}

static int remove_tree(void **state)
{
	char line[64];

	(void)state;
	snprintf(line, sizeof(line), "rm -r %s", tree);
	return system(line);
}

/* ------------------------------------------------------------------ interfaces */

/* How many of @list are this tree's, which is the last one then. */
static unsigned int interfaces(const struct ifaddrs *list)
{
	const struct sockaddr_in *in;
	unsigned int n = 0;

	for (; list; list = list->ifa_next) {
		if (strcmp(list->ifa_name, "unic0"))
			continue;
		in = (const struct sockaddr_in *)(void *)list->ifa_addr;
		assert_int_equal(in->sin_family, AF_INET);
		assert_int_equal(ntohl(in->sin_addr.s_addr), OURS);
		in = (const struct sockaddr_in *)(void *)list->ifa_netmask;
		assert_int_equal(ntohl(in->sin_addr.s_addr), 0xffffff00);
		assert_int_equal(list->ifa_flags, IFF_UP | IFF_RUNNING);
		assert_null(list->ifa_next);
		n++;
	}
	return n;
}

static void devices_are_interfaces(void **state)
{
	struct ifaddrs lo = { .ifa_name = (char[]){ "lo" } };
	struct ifaddrs eth = { .ifa_name = (char[]){ "eth0" } };
	struct ifaddrs *a = &lo, *b = NULL;

	(void)state;
	lo.ifa_next = &eth;
	assert_int_equal(unic_shim_add_ifaddrs(&a), 0);
	assert_int_equal(unic_shim_add_ifaddrs(&b), 0);
	assert_ptr_equal(a, &lo);
	assert_ptr_equal(lo.ifa_next, &eth);
	assert_int_equal(interfaces(a), 1);
	assert_int_equal(interfaces(b), 1);
	assert_ptr_equal(unic_shim_del_ifaddrs(a), &lo);
	assert_null(eth.ifa_next);
	assert_int_equal(interfaces(b), 1);
	assert_null(unic_shim_del_ifaddrs(b));
	/* a list of another library, or of before */
	assert_ptr_equal(unic_shim_del_ifaddrs(a), &lo);
	assert_ptr_equal(lo.ifa_next, &eth);
	assert_null(unic_shim_del_ifaddrs(NULL));
	unsetenv(UNIC_SHIM_TREE);
	assert_int_equal(unic_shim_add_ifaddrs(&a), 0);
	assert_null(eth.ifa_next);
	setenv(UNIC_SHIM_TREE, tree, 1);
}

/* Of two NICs one is lost: who listens at both goes on at the other. */
static void a_listener_loses_one_of_two(void **state)
{
	uint32_t l, id;

	(void)state;
	put(tree, "infiniband_verbs/uverbs1/ibdev", "unic1");
	put(tree, "infiniband/unic1/unic_where", "/run/b.sock");
	put(tree, "infiniband/unic1/node_guid", "0275:6eff:fe00:0002");
	put(tree, "infiniband/unic1/ports/1/gids/0",
	    "0000:0000:0000:0000:0000:ffff:0a00:0002");
	l = listening(0, 4);
	assert_int_equal(wire.listened, 2);
	up->lost(nic_b);
	no_event();
	assert_true(asks(70, l, IBV_QPT_RC));
	id = event(RDMA_CM_EVENT_CONNECT_REQUEST).id;
	up->lost(nic);
	event(RDMA_CM_EVENT_DEVICE_REMOVAL);
	destroy(id);
	destroy(l);
	assert_int_equal(wire.unlistened, 0);
	l = listening(0, 4);
	assert_int_equal(wire.listened, 4);
	up->lost(nic);
	destroy(l);
	assert_int_equal(wire.unlistened, 1);
	assert_int_equal(wire.unlistened_b, 1);
	put(tree, "infiniband_verbs/uverbs1/ibdev", "broken");
	up->lost(nic_b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_client_connects),
		TEST(an_answer_may_be_quick),
		TEST(a_client_is_refused),
		TEST(a_server_accepts),
		TEST(a_short_visit_is_both_events),
		TEST(requests_wait_in_line),
		TEST(headers_are_looked_at),
		TEST(datagrams_find_each_other),
		TEST(addresses_are_devices),
		TEST(the_loopback_is_the_first_device),
		TEST(devices_are_interfaces),
		TEST(options_are_checked),
		TEST(bad_commands_say_why),
		TEST(answers_are_as_long_as_they_are),
		TEST(garbage_is_refused),
		TEST(a_number_may_be_reused),
		TEST(flags_are_the_programs),
		TEST(ids_move_with_their_events),
		TEST(a_close_ends_ids),
		TEST(a_lost_driver_is_an_event),
		TEST(a_listener_loses_one_of_two),
		TEST(commands_are_not_cancelled),
		TEST(children_close_what_is_theirs),
		TEST(ranges_are_channels),
		TEST(strangers_are_left_alone),
		TEST(unread_requests_have_no_number),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_link.c - see kio_link.h. */
#include "kio_link.h"

#include "kio_conn.h"
#include "kio_lend.h"

#define PINGS_MAX   10u /* in a row without any message: the peer is gone */
#define CONNECT_US  2000000u
#define BACK_NS	    20000000ull /* until the next attempt; doubles each time */
#define BACK_MAX    6u		/* doublings: 1.3 s */
#define REFUSED_MAX 5u /* failed connections until waiting I/Os are refused */
#define AGAIN_NS    5000000ull /* until a refused request is sent again */

/* ----------------------------------------------------------- up and down */

static void enter_state(struct unic_kio_conn *c, enum unic_kio_conn_state state)
{
	c->state = (uint8_t)state;
	c->asked = false;
	unic_kio_conn_heard(c, c->node->now_ns);
}

static void back_off(struct unic_kio_conn *c)
{
	uint32_t n = c->fails < BACK_MAX ? c->fails : BACK_MAX;

	c->fails++;
	c->retry_ns = c->node->now_ns + (BACK_NS << n);
	enter_state(c, unic_kio_conn_outgoing(c) ? UNIC_KIO_C_WAIT
						 : UNIC_KIO_C_DRAIN);
	if (unic_kio_conn_outgoing(c) && c->fails >= REFUSED_MAX &&
	    c->refused != UNIC_CTL_ST_UNREACHABLE)
		unic_kio_refuse(unic_kio_conn_client(c), -ECONNREFUSED);
}

/* Take @c down, for any reason. */
static void begin_teardown(struct unic_kio_conn *c)
{
	if (c->state == UNIC_KIO_C_DOWN)
		return;
	if (c->asked) { /* wait for the id of its queue pair or connection */
		c->gone = true;
		return;
	}
	c->gone = false;
	c->retry_ns = 0;
	enter_state(c, UNIC_KIO_C_DOWN);
	if (unic_kio_conn_outgoing(c))
		unic_kio_up(unic_kio_conn_client(c), false);
	else
		unic_kio_server_stop(unic_kio_conn_server(c));
}

/* The queue pair of @c is destroyed: no completion comes from here on. */
static void destroy_done(struct unic_kio_conn *c)
{
	uint32_t at;

	unic_kio_ring_down(&c->node->ring, unic_kio_conn_link(c));
	c->qp = c->id = 0;
	if (unic_kio_conn_outgoing(c))
		for (at = 0; at < UNIC_KIO_WINDOW; at++)
			unic_kio_sent(unic_kio_conn_client(c), at);
	else
		unic_kio_server_down(unic_kio_conn_server(c), false);
	back_off(c);
}

static void set_conn_up(struct unic_kio_conn *c)
{
	c->fails = 0;
	c->refused = 0;
	enter_state(c, UNIC_KIO_C_UP);
	if (unic_kio_conn_outgoing(c))
		unic_kio_up(unic_kio_conn_client(c), true);
}

/* --------------------------------------------------------------- requests */

static bool send_qp_create(struct unic_kio_conn *c)
{
	struct unic_kio_node *n = c->node;
	struct unic_ctl_qp_create r = {
		.mr = unic_to_le32(n->mr),
		.send_cq = unic_to_le32(n->cq),
		.recv_cq = unic_to_le32(n->cq),
		.pd = unic_to_le32(n->pd),
	};

	unic_kio_ring_qp(&n->ring, unic_kio_conn_link(c), &r);
	return unic_kio_ask(n, UNIC_CTL_QP_CREATE, &r, 0, unic_kio_conn_link(c),
			    0);
}

static bool send_connect(struct unic_kio_conn *c)
{
	struct unic_ctl_connect r = { .qp = unic_to_le32(c->qp) };

	if (unic_kio_conn_outgoing(c)) {
		r.service = unic_to_le64(UNIC_KIO_SERVICE);
		r.ipv4 = unic_to_le32(c->ipv4);
		r.timeout_us = unic_to_le32(CONNECT_US);
		if (c->node->rdma)
			r.rights = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE;
	} else {
		r.conn = unic_to_le32(c->id);
	}
	return unic_kio_ask(c->node,
			    unic_kio_conn_outgoing(c) ? UNIC_CTL_CONNECT
						      : UNIC_CTL_ACCEPT,
			    &r, 0, unic_kio_conn_link(c), 0);
}

static bool send_qp_destroy(struct unic_kio_conn *c)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(c->qp) };

	return unic_kio_ask(c->node, UNIC_CTL_QP_DESTROY, &r, 0,
			    unic_kio_conn_link(c), 0);
}

/* ----------------------------------------------------------------- answers */

static void create_done(struct unic_kio_conn *c, uint32_t status,
			const uint64_t *rec)
{
	struct unic_ctl_queue_reply r;

	memcpy(&r, rec, sizeof(r));
	c->asked = false;
	if (status) {
		c->refused = status;
		c->gone = false;
		back_off(c);
		return;
	}
	c->qp = unic_from_le32(r.id);
	unic_kio_ring_up(&c->node->ring, unic_kio_conn_link(c),
			 unic_from_le32(r.number));
	enter_state(c, UNIC_KIO_C_CONNECT);
	if (c->gone)
		begin_teardown(c);
}

static void connect_done(struct unic_kio_conn *c, uint32_t status,
			 const uint64_t *rec)
{
	struct unic_ctl_conn_reply r;

	memcpy(&r, rec, sizeof(r));
	c->asked = false;
	if (!status && !r.vendor)
		status = UNIC_CTL_ST_UNSUPPORTED; /* the peer is not unic */
	c->refused = status;
	if (unic_kio_conn_outgoing(c) && !status)
		c->id = unic_from_le32(r.id);
	if (status || c->gone)
		begin_teardown(c);
	else
		set_conn_up(c);
}

/* QP_DESTROY was refused (no memory, or the NIC is being reset): the queue pair is
 * there still, and the NIC may use its buffers. Send the request again later. */
static void destroy_failed(struct unic_kio_conn *c)
{
	c->asked = false;
	c->retry_ns = c->node->now_ns + AGAIN_NS;
}

void unic_kio_link_reply(struct unic_kio_node *n,
			 const struct unic_kio_ask *ask, uint32_t status,
			 const uint64_t *rec)
{
	struct unic_kio_conn *c = &n->conn[ask->link];

	switch (ask->op) {
	case UNIC_CTL_QP_CREATE:
		create_done(c, status, rec);
		break;
	case UNIC_CTL_CONNECT:
	case UNIC_CTL_ACCEPT:
		connect_done(c, status, rec);
		break;
	case UNIC_CTL_QP_DESTROY:
		if (!status || status == UNIC_ST_NO_QP)
			destroy_done(c);
		else
			destroy_failed(c);
		break;
	default: /* REJECT, or about a token or region */
		unic_kio_lend_reply(c, ask, status, rec);
		break;
	}
}

/* ----------------------------------------------------------- other hosts */

static bool is_idle(struct unic_kio_conn *c)
{
	return !unic_kio_conn_client(c)->busy && !unic_kio_conn_client(c)->head;
}

int unic_kio_link_of(struct unic_kio_node *n, uint32_t ipv4)
{
	struct unic_kio_conn *c, *spare = NULL;

	for (c = n->conn; c < n->conn + UNIC_KIO_OUT; c++) {
		if (c->state != UNIC_KIO_C_FREE && c->ipv4 == ipv4)
			return (int)unic_kio_conn_link(c);
		if (c->state == UNIC_KIO_C_FREE ||
		    (!spare && c->state == UNIC_KIO_C_WAIT && is_idle(c)))
			spare = c;
	}
	if (spare) {
		spare->ipv4 = ipv4;
		spare->fails = spare->refused = 0;
		spare->retry_ns = 0;
		enter_state(spare, UNIC_KIO_C_WAIT);
		return (int)unic_kio_conn_link(spare);
	}
	/* take an idle connection down, for the next call */
	for (c = n->conn; c < n->conn + UNIC_KIO_OUT; c++)
		if (c->state == UNIC_KIO_C_UP && is_idle(c)) {
			begin_teardown(c);
			break;
		}
	return -EBUSY;
}

static void reject_conn(struct unic_kio_node *n, uint32_t id)
{
	struct unic_ctl_reject r = { .conn = unic_to_le32(id) };

	unic_kio_ask(n, UNIC_CTL_REJECT, &r, 0, 0, 0); /* or it times out */
}

/* The incoming connection without a message for the longest time; NULL: none. */
static struct unic_kio_conn *find_silent_conn(struct unic_kio_node *n)
{
	struct unic_kio_conn *c, *found = NULL;

	for (c = n->conn + UNIC_KIO_OUT; c < n->conn + UNIC_KIO_LINKS; c++)
		if (c->state == UNIC_KIO_C_UP &&
		    (!found || c->heard_ns < found->heard_ns))
			found = c;
	return found;
}

static bool may_connect(const struct unic_kio_node *n, uint32_t ipv4)
{
	uint32_t i;

	for (i = 0; i < n->config.allows; i++) {
		const struct unic_kio_net *net = &n->config.allow[i];

		if (!net->bits || !((ipv4 ^ net->ipv4) >> (32 - net->bits)))
			return true;
	}
	return !n->config.allows;
}

/*
 * A host has one incoming connection. A new request means that the host has given up
 * the old one, with or without a DREQ: requests of the old connection must not be
 * executed after those of the new one. If all places are taken, one is freed for a
 * later request.
 */
void unic_kio_link_request(struct unic_kio_node *n,
			   const struct unic_upcall_conn *up)
{
	uint32_t ipv4 = unic_from_le32(up->peer_ipv4);
	struct unic_kio_conn *c, *found = NULL;

	if (!may_connect(n, ipv4)) {
		reject_conn(n, unic_from_le32(up->hdr.id));
		return;
	}
	for (c = n->conn + UNIC_KIO_OUT; c < n->conn + UNIC_KIO_LINKS; c++) {
		if (c->state == UNIC_KIO_C_FREE)
			found = found ? found : c;
		else if (c->ipv4 == ipv4)
			begin_teardown(c);
	}
	if (!found) {
		c = find_silent_conn(n);
		if (c)
			begin_teardown(c);
		reject_conn(n, unic_from_le32(up->hdr.id));
		return;
	}
	found->ipv4 = ipv4;
	found->id = unic_from_le32(up->hdr.id);
	found->gone = false;
	enter_state(found, UNIC_KIO_C_CREATE);
}

void unic_kio_link_ended(struct unic_kio_node *n, uint32_t conn, uint32_t qp)
{
	struct unic_kio_conn *c;

	for (c = n->conn; c < n->conn + UNIC_KIO_LINKS; c++)
		if (c->state != UNIC_KIO_C_FREE &&
		    ((conn && c->id == conn) || (qp && c->qp == qp)))
			begin_teardown(c);
}

/* ------------------------------------------------------------- completions */

static void handle_message(struct unic_kio_conn *c,
			   const struct unic_kio_done *d)
{
	uint64_t
		copy[(sizeof(struct unic_kio_msg) + UNIC_KIO_NAME_MAX) / 8 + 1];
	uint32_t bytes = d->bytes;
	struct unic_kio_msg msg;

	if (bytes > sizeof(copy))
		bytes = 0;	     /* longer than any message */
	memcpy(copy, d->msg, bytes); /* once: INV-12 */
	unic_kio_ring_repost(&c->node->ring, unic_kio_conn_link(c));
	unic_kio_conn_heard(c, c->node->now_ns);
	if (c->state != UNIC_KIO_C_UP)
		return;
	if (!unic_kio_conn_outgoing(c)) {
		if (!unic_kio_server_message(unic_kio_conn_server(c), copy,
					     bytes, d->token, d->payload))
			begin_teardown(c);
		return;
	}
	if (bytes != sizeof(msg)) {
		begin_teardown(c);
		return;
	}
	memcpy(&msg, copy, sizeof(msg));
	unic_kio_message(unic_kio_conn_client(c), &msg, d->token, d->payload);
}

void unic_kio_link_done(struct unic_kio_node *n, const struct unic_kio_done *d)
{
	struct unic_kio_conn *c = &n->conn[d->link];

	if (d->tag == UNIC_KIO_TAG_RECV && d->ok)
		handle_message(c, d);
	else if (d->tag == UNIC_KIO_TAG_CLIENT && unic_kio_conn_outgoing(c))
		unic_kio_sent(unic_kio_conn_client(c), d->at % UNIC_KIO_WINDOW);
	else if (d->tag == UNIC_KIO_TAG_SERVER && !unic_kio_conn_outgoing(c))
		unic_kio_server_sent(unic_kio_conn_server(c),
				     d->at % UNIC_KIO_JOBS);
	else if (d->tag == UNIC_KIO_TAG_RDMA && d->ok &&
		 !unic_kio_conn_outgoing(c))
		unic_kio_server_moved(unic_kio_conn_server(c),
				      d->at % UNIC_KIO_JOBS, !d->stale);
	if (!d->ok)
		begin_teardown(c);
}

/* --------------------------------------------------------------------- ends */

void unic_kio_link_lost(struct unic_kio_node *n, int status)
{
	struct unic_kio_conn *c;

	for (c = n->conn; c < n->conn + UNIC_KIO_LINKS; c++) {
		unic_kio_ring_down(&n->ring, unic_kio_conn_link(c));
		unic_kio_lend_forget(c);
		c->qp = c->id = 0;
		c->gone = false;
		c->asked = false;
		if (!unic_kio_conn_outgoing(c)) {
			unic_kio_server_down(unic_kio_conn_server(c), true);
			c->state = UNIC_KIO_C_FREE;
		} else if (c->state != UNIC_KIO_C_FREE) {
			enter_state(c, UNIC_KIO_C_WAIT);
			unic_kio_lost(unic_kio_conn_client(c), status);
		}
	}
}

/* ---------------------------------------------------------------------- poll */

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When outgoing @c, which is UP, is to be looked at. */
static uint64_t client_deadline_ns(struct unic_kio_conn *c)
{
	struct unic_kio_client *k = unic_kio_conn_client(c);
	uint64_t ping_ns = unic_kio_asked(k) ? c->ping_ns : UINT64_MAX;

	return min_ns(ping_ns, unic_kio_stuck_ns(k));
}

/*
 * A peer that is silent while I/Os wait for it is asked for a sign of life. It may not get
 * to run, and its NIC acknowledges all the same: so I/Os are put off as long as it may come
 * back. If the NIC has forgotten the connection, the ping ends it.
 */
static void step_client(struct unic_kio_conn *c)
{
	struct unic_kio_client *k = unic_kio_conn_client(c);
	uint64_t now = c->node->now_ns;

	if (!unic_kio_asked(k))
		unic_kio_conn_heard(c, now);
	if (now >= unic_kio_stuck_ns(k) ||
	    (now >= c->ping_ns && c->pings == PINGS_MAX)) {
		begin_teardown(c);
	} else if (now >= c->ping_ns) {
		c->ping_ns = now + UNIC_KIO_PING_NS;
		c->pings++;
		unic_kio_ping(k);
	}
}

/* A client that holds its data up keeps the buffer, and loses the connection only if
 * somebody else needs one. */
static bool is_in_the_way(const struct unic_kio_conn *c)
{
	return c->node->buf_short & ~(1u << unic_kio_conn_link(c));
}

/* Send the request of the state of @c. */
static void step_conn(struct unic_kio_conn *c)
{
	switch (c->state) {
	case UNIC_KIO_C_WAIT:
		if (!is_idle(c) && c->node->now_ns >= c->retry_ns)
			enter_state(c, UNIC_KIO_C_CREATE);
		break;
	case UNIC_KIO_C_CREATE:
		c->asked = send_qp_create(c);
		break;
	case UNIC_KIO_C_CONNECT:
		c->asked = send_connect(c);
		break;
	case UNIC_KIO_C_UP:
		if (unic_kio_conn_outgoing(c))
			step_client(c);
		else if (unic_kio_server_stuck(unic_kio_conn_server(c)) &&
			 is_in_the_way(c))
			begin_teardown(c);
		break;
	case UNIC_KIO_C_DOWN:
		if (c->node->now_ns >= c->retry_ns)
			c->asked = send_qp_destroy(c);
		break;
	case UNIC_KIO_C_DRAIN:
		if (unic_kio_server_idle(unic_kio_conn_server(c)))
			enter_state(c, UNIC_KIO_C_FREE);
		break;
	default:
		break;
	}
}

/* When @c is to be polled next. @ends: the next deadline of its I/Os. */
static uint64_t next_deadline_ns(struct unic_kio_conn *c, uint64_t ends)
{
	uint64_t now = c->node->now_ns;

	if (unic_kio_lend_waits(c) || c->state == UNIC_KIO_C_DRAIN)
		ends = min_ns(ends, now + AGAIN_NS);
	if (c->state == UNIC_KIO_C_WAIT && !is_idle(c))
		ends = min_ns(ends, c->retry_ns > now ? c->retry_ns : now);
	if (c->state == UNIC_KIO_C_UP && unic_kio_conn_outgoing(c))
		ends = min_ns(ends, client_deadline_ns(c));
	if (!c->asked && c->state == UNIC_KIO_C_DOWN)
		ends = min_ns(ends, c->retry_ns > now ? c->retry_ns : now);
	if (!c->asked &&
	    (c->state == UNIC_KIO_C_CREATE || c->state == UNIC_KIO_C_CONNECT))
		ends = min_ns(ends, now);
	return ends;
}

uint64_t unic_kio_link_poll(struct unic_kio_node *n)
{
	uint64_t next = UINT64_MAX, ends;
	struct unic_kio_conn *c;

	n->buf_short = n->buf_wanted;
	n->buf_wanted = 0;
	for (c = n->conn; c < n->conn + UNIC_KIO_LINKS; c++) {
		if (c->state == UNIC_KIO_C_FREE)
			continue;
		if (!c->asked)
			step_conn(c);
		ends = unic_kio_conn_outgoing(c)
			       ? unic_kio_client_poll(unic_kio_conn_client(c),
						      n->now_ns)
			       : unic_kio_server_poll(unic_kio_conn_server(c),
						      n->now_ns);
		unic_kio_lend_poll(c);
		next = min_ns(next, next_deadline_ns(c, ends));
	}
	return next;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm.c - connections: requests of processes, datagrams of peers, timers. The states are
 * in cm_conn.h.
 *
 * Datagrams may be lost, doubled, late and forged: a repeated REQ, REP or DREQ gets the
 * same answer again. A datagram that names no connection of this host with its sender is
 * dropped; a DREQ or REP of that kind is answered, so that the peer can end. A datagram
 * that names a connection and does not fit it is dropped without an answer.
 */
#include "cm/cm.h"

#include "cm/cm_backlog.h"
#include "cm/cm_conn.h"
#include "cm/cm_end.h"
#include "cm/cm_listen.h"
#include "cm/cm_raw.h"
#include "cm/grants.h"
#include "queue.h"
#include "upcall.h"

#define ACCEPT_NS  30000000000ull /* for a process to accept or reject */
#define DREQ_TRIES 6u

/* READs and atomic operations of a connection that are outstanding at a time: by default,
 * and at most where the NIC has UNIC_FEAT_ATOMICS, which is the default elsewhere. */
#define READS	  4u
#define READS_MAX 16u

/* ------------------------------------------------------------------- active */

static uint8_t or_default(uint8_t v, uint8_t def, uint8_t max)
{
	return v == 0 ? def : v > max ? max : v;
}

/* Set the parameters of @c from @r. Defaults: ack timeout 16.8 ms, or that of the
 * host's configuration, RNR NAK delay 0.64 ms (IBTA table 45). False: invalid. */
static bool take_params(struct unic_host *host, struct conn *c,
			const struct unic_ctl_connect *r)
{
	bool atomics = host->features & UNIC_FEAT_ATOMICS;
	uint8_t reads = atomics ? READS_MAX : READS;
	uint8_t shift = unic_conn_mtu_shift(host);

	c->par = *r;
	c->par.max_dest_rd = or_default(r->max_dest_rd, READS, reads);
	c->par.max_rd = or_default(r->max_rd, READS, reads);
	c->par.timeout = or_default(
		r->timeout,
		host->config.ack_timeout ? host->config.ack_timeout : 12, 31);
	c->par.retry_cnt = or_default(r->retry_cnt, 7, 7);
	c->par.rnr_retry = or_default(r->rnr_retry, 7, 7);
	c->par.rnr_timer = or_default(r->rnr_timer, 12, 31);
	c->mtu_shift = shift;
	if (r->mtu_shift && r->mtu_shift < 8)
		return false;
	if (r->mtu_shift && r->mtu_shift < shift)
		c->mtu_shift = r->mtu_shift;
	return !(r->rights & ~(UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE |
			       (atomics ? UNIC_MR_REMOTE_ATOMIC : 0)));
}

static void resolve_done(struct unic_req *req, uint32_t status)
{
	struct unic_host *host = req->host;
	struct conn *c = conn_get(host, req->id2, req->slot);
	struct unic_hqp *qp = c ? qp_get(host, c) : NULL;

	if (!c || c->req != req) {
		unic_req_status(req, UNIC_CTL_ST_NO_CONN);
		return;
	}
	if (status == UNIC_ST_TIMEOUT)
		status = UNIC_CTL_ST_UNREACHABLE;
	if (status == UNIC_CTL_ST_UNREACHABLE && ++c->tries < ARP_TRIES) {
		unic_req_arp(req, c->ipv4, resolve_done);
		return;
	}
	if (status || !qp) {
		unic_conn_failed(host, c, status ? status : UNIC_ST_NO_QP, 0);
		return;
	}
	memcpy(c->mac, req->mac, sizeof(c->mac));
	c->qpn = qp->qpn;
	unic_conn_ask(host, c);
	add_private(c, req);
	c->state = C_REQ_SENT;
	unic_conn_send_until(host, c, c->give_up_ns);
}

/* True if @qp cannot be connected: it is not in RESET, has a connection, is being
 * destroyed, or is of type UD. */
static bool is_qp_taken(const struct unic_hqp *qp)
{
	return qp->state != UNIC_QPS_RESET || qp->conn || qp->waiter ||
	       unic_queue_qp_type(qp) == UNIC_QPT_UD;
}

void unic_cm_connect(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_connect r;
	uint32_t wait_us;
	struct unic_hqp *qp;
	struct conn *c;

	memcpy(&r, req->rec, sizeof(r));
	qp = unic_obj_get(&host->objects, unic_from_le32(r.qp), UNIC_OBJ_QP,
			  req->slot);
	if (!qp || is_qp_taken(qp) || unic_from_le32(r.conn)) {
		unic_req_status(req, !qp	       ? UNIC_ST_NO_QP
				     : is_qp_taken(qp) ? UNIC_ST_STATE
						       : UNIC_ST_INVALID);
		return;
	}
	if (!unic_listen_allowed(req, r.service)) {
		unic_req_status(req, UNIC_CTL_ST_PERMISSION);
		return;
	}
	c = unic_conn_new(host, req->slot);
	if (!c) {
		unic_req_status(req, UNIC_CTL_ST_NO_MEMORY);
		return;
	}
	c->active = true;
	c->ipv4 = unic_from_le32(r.ipv4);
	c->service = unic_from_le64(r.service);
	c->user = qp->user;
	c->qp = qp->obj.id;
	c->qp_type = (uint8_t)unic_queue_qp_type(qp);
	c->req = req;
	req->id2 = c->obj.id;
	if (!take_params(host, c, &r) || !c->ipv4) {
		unic_conn_failed(host, c, UNIC_ST_INVALID, 0);
		return;
	}
	qp->conn = c->obj.id;
	wait_us = unic_from_le32(r.timeout_us);
	unic_conn_timers(host, c, UINT64_MAX,
			 unic_os_now_ns(host->os) +
				 1000ull * (wait_us ? wait_us : CONNECT_US));
	c->state = C_RESOLVE;
	unic_req_arp(req, c->ipv4, resolve_done);
}

static void take_peer(struct conn *c, const struct unic_cm_msg *msg)
{
	c->remote_comm = msg->local_comm;
	c->peer_qpn = msg->qpn;
	c->peer_psn = msg->psn;
	c->vendor = c->raw ? 0 : msg->vendor;
	c->caps = msg->caps;
	unic_conn_take_private(c, msg);
}

static uint8_t min_u8(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void on_rep(struct unic_host *host, struct conn *c,
		   const struct unic_cm_msg *msg)
{
	if (c->state == C_ESTABLISHED && c->active) {
		unic_conn_resend(host, c); /* the RTU was lost */
		return;
	}
	if (c->state == C_REFUSED)
		unic_end_refuse_again(host, c);
	if (c->state != C_REQ_SENT || c->qp_type == UNIC_QPT_UD)
		return;
	take_peer(c, msg);
	c->par.max_rd = min_u8(c->par.max_rd, msg->max_dest_rd);
	c->par.max_dest_rd = min_u8(c->par.max_dest_rd, msg->max_rd);
	if (msg->timeout > c->par.timeout)
		c->par.timeout = msg->timeout;
	if (c->raw) /* IBTA 12.7, RNR Retry Count: the peer's wish */
		c->par.rnr_retry = msg->rnr_retry;
	unic_conn_timers(host, c, UINT64_MAX, UINT64_MAX);
	if (c->raw)
		unic_raw_replied(host, c);
	else
		unic_conn_step(c->req, c, UNIC_QPS_INIT);
}

/* True if the REJ @msg says that the peer got no RTU of @c, which is up on this side
 * only. */
static bool is_unconfirmed(const struct conn *c, const struct unic_cm_msg *msg)
{
	return c->state == C_ESTABLISHED && c->active &&
	       msg->reason == UNIC_CM_TIMEOUT;
}

static void on_rej(struct unic_host *host, struct conn *c,
		   const struct unic_cm_msg *msg)
{
	if (c->raw && c->state != C_REQUESTED) {
		if (!unic_raw_can_end(c))
			return;
		unic_conn_take_private(c, msg);
		unic_raw_end(host, c, C_REJECTED, msg->reason);
	} else if (c->state == C_REQ_SENT) {
		unic_conn_take_private(c, msg);
		unic_conn_failed(host, c, UNIC_CTL_ST_REJECTED, msg->reason);
	} else if (c->state == C_REP_SENT || is_unconfirmed(c, msg)) {
		unic_conn_timers(host, c, UINT64_MAX, UINT64_MAX);
		c->state = C_CLOSED;
		unic_conn_qp_err(host, c);
		unic_conn_upcall(host, c, UNIC_UP_DISCONNECTED, 0, 0);
	} else if (c->state == C_REQUESTED) {
		unic_conn_upcall(host, c, UNIC_UP_DISCONNECTED, 0, 0);
		unic_conn_free(host, c);
	}
}

/* ------------------------------------------------------------------ passive */

/* The connection that a REQ made: @msg is the same REQ again, or refers to it. NULL:
 * none. */
static struct conn *conn_of_req(struct unic_host *host,
				const struct unic_mad_rx *mad,
				const struct unic_cm_msg *msg)
{
	struct conn *c;
	uint32_t at = 0;

	while ((c = unic_obj_next(&host->objects, &at, UNIC_OBJ_CONN,
				  UNIC_OBJ_ANYONE)))
		if (!c->active && unic_conn_is_peer(c, mad) &&
		    c->tid == msg->tid && c->remote_comm == msg->local_comm)
			return c;
	return NULL;
}

static void send_rej(struct unic_host *host, const struct unic_mad_rx *mad,
		     const struct unic_cm_msg *msg, uint16_t reason)
{
	struct unic_cm_msg sidr = {
		.type = UNIC_CM_SIDR_REP,
		.tid = msg->tid,
		.remote_comm = msg->local_comm,
		.service = msg->service,
		.reason = UNIC_SIDR_NO_SERVICE,
	};
	struct unic_cm_msg rej = {
		.type = UNIC_CM_REJ,
		.tid = msg->tid,
		.local_comm = msg->remote_comm,
		.remote_comm = msg->local_comm,
		.rejected = msg->type == UNIC_CM_REP ? UNIC_CM_OF_REP
						     : UNIC_CM_OF_REQ,
		.reason = reason,
	};

	unic_conn_send_cm(host, unic_from_le32(mad->ipv4), mad->mac,
			  msg->type == UNIC_CM_SIDR_REQ ? &sidr : &rej);
}

/* Set the deadline of a request that awaits ACCEPT. A unic peer repeats its REQ while it
 * wants the connection, so without REQs the deadline is QUIET_NS away. */
static void wait_accept(struct unic_host *host, struct conn *c)
{
	uint64_t quiet = unic_os_now_ns(host->os) + QUIET_NS;

	unic_conn_timers(host, c, UINT64_MAX,
			 c->vendor && quiet < c->accept_ns ? quiet
							   : c->accept_ns);
}

static void on_req(struct unic_host *host, const struct unic_mad_rx *mad,
		   const struct unic_cm_msg *msg)
{
	struct listener *l = unic_listen_find(host, msg->service);
	struct conn *c = conn_of_req(host, mad, msg);
	uint32_t ipv4 = unic_from_le32(mad->ipv4);

	if (c) {
		if (c->state == C_REP_SENT || unic_raw_answered(c))
			unic_conn_resend(host, c);
		else if (c->state == C_REFUSED)
			unic_end_refuse_again(host, c);
		else if (c->state == C_REQUESTED)
			wait_accept(host, c);
		return;
	}
	if (l && msg->type == UNIC_CM_SIDR_REQ && !l->raw)
		l = NULL;
	if (l)
		unic_backlog_make_room(host, l->obj.owner, ipv4);
	if (l && (!l->raw || unic_raw_has_room(host, l->obj.owner, 1)))
		c = unic_conn_new(host, l->obj.owner);
	if (!c) {
		send_rej(host, mad, msg,
			 l ? UNIC_CM_NO_RESOURCES : UNIC_CM_NO_SERVICE);
		return;
	}
	c->raw = l->raw;
	take_peer(c, msg);
	c->state = C_REQUESTED;
	c->ipv4 = ipv4;
	memcpy(c->mac, mad->mac, sizeof(c->mac));
	c->service = msg->service;
	c->tid = msg->tid;
	c->user = l->user;
	c->par.timeout = msg->timeout;	   /* ack timeout of the peer */
	c->par.retry_cnt = msg->retry_cnt; /* CM_QUERY of a raw one */
	c->par.rnr_retry = msg->rnr_retry;
	c->par.max_rd = msg->max_dest_rd; /* the reads that the peer takes */
	c->par.max_dest_rd = msg->max_rd;
	c->mtu_shift = msg->mtu_shift;
	c->qp_type = msg->qp_type;
	c->accept_ns = unic_os_now_ns(host->os) + ACCEPT_NS;
	wait_accept(host, c);
	unic_conn_upcall(host, c, UNIC_UP_CONN_REQUEST, l->obj.id, 0);
}

static void on_rtu(struct unic_host *host, struct conn *c)
{
	if (c->state != C_REP_SENT)
		return;
	c->state = C_ESTABLISHED;
	c->was_up = true;
	unic_conn_timers(host, c, UINT64_MAX, UINT64_MAX);
	unic_conn_upcall(host, c, UNIC_UP_ESTABLISHED, 0, 0);
}

/* Reject @c with @reason and free it: the QP of ACCEPT @req does not fit. */
static void refuse_accept(struct unic_req *req, struct conn *c, uint16_t reason)
{
	unic_conn_reject(req->host, c, reason);
	unic_end_refused(req->host, c);
	unic_req_status(req, UNIC_CTL_ST_REJECTED);
}

void unic_cm_accept(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_connect r, offer;
	struct unic_hqp *qp;
	uint8_t mtu;
	struct conn *c;

	memcpy(&r, req->rec, sizeof(r));
	req->id = unic_from_le32(r.conn);
	c = conn_get(host, req->id, req->slot);
	qp = unic_obj_get(&host->objects, unic_from_le32(r.qp), UNIC_OBJ_QP,
			  req->slot);
	if (!c || !qp) {
		unic_req_status(req, c ? UNIC_ST_NO_QP : UNIC_CTL_ST_NO_CONN);
		return;
	}
	if (c->raw || c->state != C_REQUESTED || is_qp_taken(qp)) {
		unic_req_status(req, UNIC_ST_STATE);
		return;
	}
	if (unic_queue_qp_type(qp) != c->qp_type) {
		refuse_accept(req, c, UNIC_CM_BAD_TYPE);
		return;
	}
	offer = c->par;
	mtu = c->mtu_shift;
	if (!take_params(host, c, &r) || r.service || r.ipv4) {
		c->par = offer;
		c->mtu_shift = mtu;
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	if (mtu > c->mtu_shift) { /* IBTA has no way to answer a smaller one */
		refuse_accept(req, c, UNIC_CM_BAD_MTU);
		return;
	}
	c->mtu_shift = mtu;
	c->par.max_rd = min_u8(c->par.max_rd, offer.max_rd);
	c->par.max_dest_rd = min_u8(c->par.max_dest_rd, offer.max_dest_rd);
	if (offer.timeout > c->par.timeout)
		c->par.timeout = offer.timeout;
	c->qp = qp->obj.id;
	c->qpn = qp->qpn;
	c->user = qp->user;
	qp->conn = c->obj.id;
	unic_conn_timers(host, c, UINT64_MAX, UINT64_MAX);
	unic_backlog_limit(host, req->slot);
	unic_backlog_limit(host, req->slot); /* twice, so that fewer remain */
	unic_conn_step(req, c, UNIC_QPS_INIT);
}

void unic_cm_reject(struct unic_req *req)
{
	struct unic_ctl_reject r;
	struct conn *c;

	memcpy(&r, req->rec, sizeof(r));
	req->id = unic_from_le32(r.conn);
	c = conn_get(req->host, req->id, req->slot);
	if (!c || c->raw || c->state != C_REQUESTED) {
		unic_req_status(req, c ? UNIC_ST_STATE : UNIC_CTL_ST_NO_CONN);
		return;
	}
	unic_conn_message(c, UNIC_CM_REJ);
	c->sent.reason = UNIC_CM_CONSUMER;
	add_private(c, req);
	unic_conn_resend(req->host, c);
	unic_end_refused(req->host, c);
	unic_req_status(req, UNIC_ST_OK);
}

/* -------------------------------------------------------------------- ends */

void unic_cm_query(struct unic_req *req)
{
	struct conn *c;

	req->id = unic_req_obj_id(req);
	c = conn_get(req->host, req->id, req->slot);
	if (c && !c->raw)
		unic_conn_answer(req, c, UNIC_ST_OK, 0);
	else
		unic_req_status(req, c ? UNIC_ST_STATE : UNIC_CTL_ST_NO_CONN);
}

void unic_cm_row(struct unic_host *host, const struct unic_obj *obj,
		 struct unic_ctl_object *row)
{
	const struct listener *l = (const void *)obj;
	const struct conn *c = (const void *)obj;

	if (obj->type == UNIC_OBJ_LISTENER) {
		row->user = unic_to_le32(l->user);
		row->detail = unic_to_le32((uint32_t)l->service);
		return;
	}
	l = c->state == C_REQUESTED ? unic_listen_find(host, c->service) : NULL;
	row->user = unic_to_le32(c->user);
	row->state = unic_to_le32(unic_conn_state(c));
	row->number = unic_to_le32(c->peer_qpn);
	row->of = unic_to_le32(l ? l->obj.id : c->qp);
	row->detail = unic_to_le32(c->ipv4);
}

/* ----------------------------------------------------------------- receive */

/* The connection that @msg names by both communication ids and its sender; NULL: none.
 * A REJ of a peer that has received no message of this side has no id of this side. The
 * answer to a REQ brings the id of the peer. */
static struct conn *conn_of(struct unic_host *host,
			    const struct unic_mad_rx *mad,
			    const struct unic_cm_msg *msg)
{
	bool first = msg->type == UNIC_CM_REP || msg->type == UNIC_CM_REJ ||
		     msg->type == UNIC_CM_SIDR_REP;
	struct conn *c;

	if (msg->type == UNIC_CM_REJ && !msg->remote_comm)
		return conn_of_req(host, mad, msg);
	c = unic_conn_find(host, msg->remote_comm);
	if (!c || !unic_conn_is_peer(c, mad))
		return NULL;
	if (first && c->state == C_REQ_SENT)
		return c;
	return c->remote_comm == msg->local_comm ? c : NULL;
}

void unic_cm_receive(struct unic_host *host, const struct unic_mad_rx *mad)
{
	struct unic_cm_msg msg;
	struct conn *c;

	if (!unic_cm_parse(mad->data, &msg)) {
		unic_grants_receive(host, mad);
		return;
	}
	if (msg.type == UNIC_CM_REQ && msg.reason) {
		host->cm.impossible++;
		send_rej(host, mad, &msg, msg.reason);
		return;
	}
	if (msg.type == UNIC_CM_REQ || msg.type == UNIC_CM_SIDR_REQ) {
		on_req(host, mad, &msg);
		return;
	}
	c = conn_of(host, mad, &msg);
	host->cm.strays += !c || !unic_conn_fits(c, &msg);
	if (c && !unic_conn_fits(c, &msg))
		return;
	if (msg.type == UNIC_CM_DREQ)
		unic_end_dreq(host, mad, c, &msg);
	else if (!c && msg.type == UNIC_CM_REP)
		send_rej(host, mad, &msg, UNIC_CM_NO_COMM); /* given up */
	else if (!c)
		return;
	else if (msg.type == UNIC_CM_REP)
		on_rep(host, c, &msg);
	else if (msg.type == UNIC_CM_REJ)
		on_rej(host, c, &msg);
	else if (msg.type == UNIC_CM_SIDR_REP)
		unic_raw_resolved(host, c, &msg);
	else if (msg.type == UNIC_CM_RTU)
		on_rtu(host, c);
	else if (msg.type == UNIC_CM_DREP && c->state == C_DREQ_SENT)
		unic_end_finish(host, c);
}

/* ------------------------------------------------------------------- timers */

static void conn_expired(struct unic_host *host, struct conn *c, uint64_t now)
{
	if (c->state == C_REFUSED) {
		unic_conn_free(host, c);
		return;
	}
	if (c->raw && c->state != C_REQUESTED && c->state != C_REP_SENT) {
		unic_raw_expired(host, c);
		return;
	}
	switch (c->state) {
	case C_RESOLVE:
		if (c->req->call.state != UNIC_CALL_IDLE) {
			unic_conn_timers(host, c, UINT64_MAX, now + AGAIN_NS);
			break; /* the provider has the call */
		}
		c->req->arp_user = 0; /* ignore a late ARP_RESULT */
		unic_conn_failed(host, c, UNIC_CTL_ST_UNREACHABLE, 0);
		break;
	case C_REQ_SENT:
		unic_conn_reject(host, c, UNIC_CM_TIMEOUT);
		unic_conn_failed(host, c, UNIC_CTL_ST_UNREACHABLE, 0);
		break;
	case C_REQUESTED:
		if (c->qp_type != UNIC_QPT_UD)
			unic_conn_reject(host, c, UNIC_CM_TIMEOUT);
		unic_conn_upcall(host, c, UNIC_UP_DISCONNECTED, 0, 1);
		unic_conn_free(host, c);
		break;
	case C_REP_SENT:
		unic_backlog_close(host, c);
		break;
	default:
		unic_conn_timers(host, c, UINT64_MAX, UINT64_MAX);
		break;
	}
}

static void retry_conn(struct unic_host *host, struct conn *c, uint64_t now)
{
	uint64_t wait = AGAIN_NS << (c->tries < 4 ? c->tries : 4);

	if (c->state == C_DREQ_SENT && c->tries + 1 >= DREQ_TRIES) {
		unic_end_finish(host, c);
		return;
	}
	if (c->state == C_RESOLVE) { /* a raw one */
		unic_raw_resolve(host, c);
		return;
	}
	c->tries++;
	unic_conn_resend(host, c);
	unic_conn_timers(host, c, now + (wait < AGAIN_MAX ? wait : AGAIN_MAX),
			 c->give_up_ns);
}

uint64_t unic_cm_poll(struct unic_host *host, uint64_t now)
{
	struct conn *c;
	uint32_t at = 0;

	if (now < host->cm.next_ns)
		return host->cm.next_ns;
	host->cm.next_ns = UINT64_MAX;
	while ((c = unic_obj_next(&host->objects, &at, UNIC_OBJ_CONN,
				  UNIC_OBJ_ANYONE))) {
		if (now >= c->give_up_ns && !unic_upcall_enough(host))
			conn_expired(host, c, now);
		else if (now >= c->again_ns)
			retry_conn(host, c, now);
		else
			unic_conn_timers(host, c, c->again_ns, c->give_up_ns);
	}
	return host->cm.next_ns;
}

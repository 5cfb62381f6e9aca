/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cm_raw.c - see cm_raw.h. */
#include "cm/cm_raw.h"

#include "cm/cm_backlog.h"
#include "cm/cm_end.h"
#include "cm/cm_listen.h"
#include "queue.h"

#define READS_MAX     16u
#define RAW_CONNS_MAX 1024u
#define CONFIRM_US    30000000u /* for a process, after REP */
#define QUESTIONS_MAX 8u	/* of a process, at a NIC that has 16 */

static struct conn *raw_get(struct unic_req *req, uint32_t id)
{
	struct conn *c;

	req->id = id;
	c = conn_get(req->host, id, req->slot);
	return c && c->raw ? c : NULL;
}

/* What to answer to a request that names a connection for which there is no raw_get(). */
static uint32_t no_raw(const struct unic_req *req)
{
	return conn_get(req->host, req->id, req->slot) ? UNIC_ST_STATE
						       : UNIC_CTL_ST_NO_CONN;
}

static void tell(struct unic_host *host, const struct conn *c)
{
	unic_conn_upcall(host, c, UNIC_UP_CM, 0, 0);
}

void unic_raw_end(struct unic_host *host, struct conn *c, uint8_t state,
		  uint16_t reason)
{
	unic_conn_timers(host, c, UINT64_MAX, UINT64_MAX);
	c->state = state;
	c->reason = reason;
	tell(host, c);
}

bool unic_raw_can_end(const struct conn *c)
{
	switch (c->state) {
	case C_REQ_SENT:
	case C_REPLIED:
	case C_REP_SENT:
		return true;
	case C_ESTABLISHED: /* the RTU was lost, and the peer gave up */
		return c->active && c->qp_type != UNIC_QPT_UD;
	default:
		return false;
	}
}

void unic_raw_expired(struct unic_host *host, struct conn *c)
{
	if (c->qp_type != UNIC_QPT_UD && c->state != C_RESOLVE)
		unic_conn_reject(host, c, UNIC_CM_TIMEOUT);
	unic_raw_end(host, c, C_UNREACHABLE, 0);
}

/* ----------------------------------------------------------------- requests */

/* True if the process of @req has a queue pair with number @qpn. */
static bool has_qpn(const struct unic_req *req, uint32_t qpn)
{
	struct unic_hqp *qp;
	uint32_t at = 0;

	while ((qp = unic_obj_next(&req->host->objects, &at, UNIC_OBJ_QP,
				   req->slot)))
		if (qp->qpn == qpn)
			return true;
	return false;
}

bool unic_raw_has_room(const struct unic_host *host, uint32_t owner,
		       uint32_t more)
{
	return unic_obj_count(&host->objects, UNIC_OBJ_CONN, owner) + more <=
	       RAW_CONNS_MAX;
}

/* OK, or QUOTA: the process has its share, @more than it has now. */
static uint32_t check_share(const struct unic_req *req, uint32_t more)
{
	return unic_raw_has_room(req->host, req->slot, more) ? UNIC_ST_OK
							     : UNIC_ST_QUOTA;
}

/* Take over what CM_CONNECT and CM_ACCEPT both have. False: out of range. */
static bool take_raw_params(struct conn *c, const struct unic_ctl_cm *r)
{
	if (r->max_dest_rd > READS_MAX || r->max_rd > READS_MAX ||
	    r->timeout > 31 || r->retry_cnt > 7 || r->rnr_retry > 7)
		return false;
	c->par.max_dest_rd = r->max_dest_rd;
	c->par.max_rd = r->max_rd;
	if (r->timeout > c->par.timeout)
		c->par.timeout = r->timeout;
	return true;
}

static void add_data(struct conn *c, const struct unic_req *req)
{
	c->sent.priv_bytes = (uint8_t)req->tail_bytes;
	memcpy(c->sent.priv, req->tail, req->tail_bytes);
}

/* Let @c, which has no question under way, ask in a moment. */
static void ask_later(struct unic_host *host, struct conn *c)
{
	unic_conn_timers(host, c, unic_os_now_ns(host->os) + AGAIN_NS,
			 c->give_up_ns);
}

static void arp_answered(struct unic_req *req, uint32_t status)
{
	struct unic_host *host = req->host;
	struct conn *c = conn_get(host, req->id2, req->slot);
	bool full = status == UNIC_ST_BUSY; /* the NIC: that was no try */

	if (!c || c->state != C_RESOLVE) {
		unic_req_free(req);
		return;
	}
	if (status && !full && status != UNIC_CTL_ST_RESET &&
	    ++c->tries < ARP_TRIES) {
		unic_req_arp(req, c->ipv4, arp_answered);
		return;
	}
	memcpy(c->mac, req->mac, sizeof(c->mac));
	unic_req_free(req);
	if (full) {
		ask_later(host, c);
	} else if (status) {
		unic_raw_end(host, c, C_UNREACHABLE, 0);
	} else {
		c->state = C_REQ_SENT;
		unic_conn_send_until(host, c, c->give_up_ns);
	}
}

/* Questions that the NIC has of process @owner, also those of connections that were freed
 * meanwhile. */
static uint32_t count_questions(const struct unic_host *host, uint32_t owner)
{
	const struct unic_req *req;
	uint32_t n = 0;

	for (req = host->reqs; req; req = req->next)
		n += req->slot == owner && req->then == arp_answered;
	return n;
}

void unic_raw_resolve(struct unic_host *host, struct conn *c)
{
	struct unic_req *req = NULL;

	if (count_questions(host, c->obj.owner) < QUESTIONS_MAX)
		req = unic_req_new(host, c->obj.owner);
	if (!req) {
		ask_later(host, c);
		return;
	}
	unic_conn_timers(host, c, UINT64_MAX, c->give_up_ns);
	req->id2 = c->obj.id;
	unic_req_arp(req, c->ipv4, arp_answered);
}

/* OK, or why CM_CONNECT @r is refused. */
static uint32_t check_connect(const struct unic_req *req,
			      const struct unic_ctl_cm *r)
{
	bool ud = r->qp_type == UNIC_QPT_UD;
	uint32_t qpn = unic_from_le32(r->qpn);

	if ((r->qp_type != UNIC_QPT_RC && r->qp_type != UNIC_QPT_UC && !ud) ||
	    !unic_from_le32(r->ipv4) || unic_from_le32(r->conn) ||
	    unic_from_le32(r->qkey) || (ud && qpn) ||
	    (r->mtu_shift && (r->mtu_shift < 8 || r->mtu_shift > 12)) ||
	    req->tail_bytes > unic_cm_room(ud ? UNIC_CM_SIDR_REQ : UNIC_CM_REQ))
		return UNIC_ST_INVALID;
	if (!ud && !has_qpn(req, qpn))
		return UNIC_ST_NO_QP;
	if (!unic_listen_allowed(req, r->service))
		return UNIC_CTL_ST_PERMISSION;
	return check_share(req, 1);
}

static void take_target(struct unic_host *host, struct conn *c,
			const struct unic_ctl_cm *r)
{
	uint32_t wait_us = unic_from_le32(r->timeout_us);

	c->raw = c->active = true;
	c->service = unic_from_le64(r->service);
	c->ipv4 = unic_from_le32(r->ipv4);
	c->user = unic_from_le32(r->user);
	c->qpn = unic_from_le32(r->qpn);
	c->qp_type = r->qp_type;
	c->mtu_shift = unic_conn_mtu_shift(host);
	if (r->mtu_shift && r->mtu_shift < c->mtu_shift)
		c->mtu_shift = r->mtu_shift;
	c->state = C_RESOLVE;
	unic_conn_timers(host, c, UINT64_MAX,
			 unic_os_now_ns(host->os) +
				 1000ull * (wait_us ? wait_us : CONNECT_US));
}

void unic_raw_connect(struct unic_req *req)
{
	struct unic_ctl_id_reply rep = { 0 };
	struct unic_host *host = req->host;
	struct conn *c = NULL;
	struct unic_ctl_cm r;
	uint32_t status;

	memcpy(&r, req->rec, sizeof(r));
	status = check_connect(req, &r);
	if (!status) {
		c = unic_conn_new(host, req->slot);
		status = c ? UNIC_ST_OK : UNIC_CTL_ST_NO_MEMORY;
	}
	if (!status && !take_raw_params(c, &r))
		status = UNIC_ST_INVALID;
	if (status) {
		if (c)
			unic_conn_free(host, c);
		unic_req_status(req, status);
		return;
	}
	c->par.retry_cnt = r.retry_cnt;
	c->par.rnr_retry = r.rnr_retry;
	take_target(host, c, &r);
	unic_conn_ask(host, c);
	add_data(c, req);
	rep.id = unic_to_le32(c->obj.id);
	unic_req_answer(req, UNIC_ST_OK, &rep, NULL, 0);
	unic_raw_resolve(host, c);
}

/* ------------------------------------------------------------------ answers */

static uint16_t answer_type(const struct conn *c)
{
	if (c->active)
		return UNIC_CM_RTU;
	return c->qp_type == UNIC_QPT_UD ? UNIC_CM_SIDR_REP : UNIC_CM_REP;
}

/* OK, or why CM_ACCEPT @r of @c is refused. */
static uint32_t check_accept(const struct unic_req *req, const struct conn *c,
			     const struct unic_ctl_cm *r)
{
	uint32_t qpn = unic_from_le32(r->qpn);

	if (c->state != C_REQUESTED && c->state != C_REPLIED)
		return UNIC_ST_STATE;
	if (unic_from_le64(r->service) || unic_from_le32(r->ipv4) ||
	    unic_from_le32(r->timeout_us) || r->qp_type || r->mtu_shift ||
	    req->tail_bytes > unic_cm_room(answer_type(c)) ||
	    (c->qp_type != UNIC_QPT_UD && unic_from_le32(r->qkey)) ||
	    (c->active && qpn))
		return UNIC_ST_INVALID;
	if (!c->active && !has_qpn(req, qpn))
		return UNIC_ST_NO_QP;
	return c->active ? UNIC_ST_OK : check_share(req, 0);
}

/* What the REQ asked for, c->par.rnr_retry, is for this side; what @r says, for the peer. */
static void send_rep(struct unic_host *host, struct conn *c,
		     const struct unic_ctl_cm *r)
{
	c->sent.psn = c->my_psn;
	c->sent.max_dest_rd = c->par.max_dest_rd;
	c->sent.max_rd = c->par.max_rd;
	c->sent.rnr_retry = r->rnr_retry;
	c->sent.timeout = r->timeout;
	c->sent.guid = host->objects.ids->host_id;
	c->state = C_REP_SENT;
	unic_conn_send_until(host, c,
			     unic_os_now_ns(host->os) + CONNECT_US * 1000ull);
}

/* Send the answer for which @c waits. */
static void send_answer(struct unic_req *req, struct conn *c,
			const struct unic_ctl_cm *r)
{
	struct unic_host *host = req->host;

	unic_conn_timers(host, c, UINT64_MAX, UINT64_MAX);
	unic_conn_message(c, answer_type(c));
	add_data(c, req);
	if (!c->active) {
		c->user = unic_from_le32(r->user);
		c->qpn = unic_from_le32(r->qpn);
		c->sent.qpn = c->qpn;
		c->sent.service = c->service;
		c->sent.qkey = unic_from_le32(r->qkey);
	}
	if (!c->active && c->qp_type != UNIC_QPT_UD) {
		unic_backlog_limit(host, req->slot);
		unic_backlog_limit(host, req->slot);
		send_rep(host, c, r);
		return;
	}
	unic_conn_resend(host, c);
	c->state = C_ESTABLISHED;
	c->was_up = true;
}

void unic_raw_accept(struct unic_req *req)
{
	struct unic_ctl_cm r;
	struct conn *c;
	uint32_t status;

	memcpy(&r, req->rec, sizeof(r));
	c = raw_get(req, unic_from_le32(r.conn));
	status = c ? check_accept(req, c, &r) : no_raw(req);
	if (!status && !c->active && !take_raw_params(c, &r))
		status = UNIC_ST_INVALID;
	if (!status)
		send_answer(req, c, &r);
	unic_req_status(req, status);
}

bool unic_raw_answered(const struct conn *c)
{
	return c->qp_type == UNIC_QPT_UD && !c->active &&
	       c->state == C_ESTABLISHED;
}

void unic_raw_refuse_sidr(struct unic_host *host, struct conn *c,
			  uint16_t status)
{
	if (c->state != C_REQUESTED)
		return;
	unic_conn_message(c, UNIC_CM_SIDR_REP);
	c->sent.service = c->service;
	c->sent.reason = status;
	unic_conn_resend(host, c);
}

/* Send the REJ, for @reason, or SIDR_REP that refuses @c, with the private data of @req. */
static void send_refusal(const struct unic_req *req, struct conn *c,
			 uint32_t reason)
{
	bool ud = c->qp_type == UNIC_QPT_UD;

	unic_conn_message(c, ud ? UNIC_CM_SIDR_REP : UNIC_CM_REJ);
	c->sent.service = c->service;
	c->sent.reason = ud ? UNIC_SIDR_REJECTED : (uint16_t)reason;
	c->sent.rejected = c->active ? UNIC_CM_OF_REP : UNIC_CM_OF_REQ;
	add_data(c, req);
	unic_conn_resend(req->host, c);
}

/* OK, or why CM_REJECT of @c for @reason is refused. */
static uint32_t check_reject(const struct unic_req *req, const struct conn *c,
			     uint32_t reason)
{
	bool ud = c->qp_type == UNIC_QPT_UD;

	if (c->state != C_REQUESTED && c->state != C_REPLIED)
		return UNIC_ST_STATE;
	if (req->tail_bytes > unic_cm_room(ud ? UNIC_CM_SIDR_REP : UNIC_CM_REJ))
		return UNIC_ST_INVALID;
	return ud || reason == UNIC_CM_CONSUMER ||
			       reason == UNIC_CM_VENDOR_OPTION
		       ? UNIC_ST_OK
		       : UNIC_ST_INVALID;
}

void unic_raw_reject(struct unic_req *req)
{
	struct unic_ctl_reject r;
	uint32_t status, reason;
	struct conn *c;

	memcpy(&r, req->rec, sizeof(r));
	reason = unic_from_le32(r.reason);
	if (!reason)
		reason = UNIC_CM_CONSUMER;
	c = raw_get(req, unic_from_le32(r.conn));
	status = c ? check_reject(req, c, reason) : no_raw(req);
	if (!status) {
		send_refusal(req, c, reason);
		unic_conn_timers(req->host, c, UINT64_MAX, UINT64_MAX);
		c->state = C_REFUSED;
	}
	unic_req_status(req, status);
}

void unic_raw_disconnect(struct unic_req *req)
{
	struct conn *c = raw_get(req, unic_req_obj_id(req));
	bool up = c && c->qp_type != UNIC_QPT_UD &&
		  (c->state == C_ESTABLISHED || c->state == C_REP_SENT);

	if (up)
		unic_end_start(req->host, c, NULL);
	unic_req_status(req, up ? UNIC_ST_OK : c ? UNIC_ST_STATE : no_raw(req));
}

void unic_raw_query(struct unic_req *req)
{
	const struct conn *c = raw_get(req, unic_req_obj_id(req));
	struct unic_ctl_cm_reply r = { 0 };

	if (!c) {
		unic_req_status(req, no_raw(req));
		return;
	}
	r.user = unic_to_le32(c->user);
	r.state = unic_to_le32(unic_conn_state(c));
	r.peer_ipv4 = unic_to_le32(c->ipv4);
	r.peer_qpn = unic_to_le32(c->peer_qpn);
	r.qkey = unic_to_le32(c->qkey);
	r.reason = unic_to_le32(c->reason);
	r.sq_psn = unic_to_le32(c->peer_psn);
	r.rq_psn = unic_to_le32(c->my_psn);
	r.service = unic_to_le64(c->service);
	r.qp_type = c->qp_type;
	r.mtu_shift = c->mtu_shift;
	r.max_rd = c->par.max_rd;
	r.max_dest_rd = c->par.max_dest_rd;
	r.timeout = c->par.timeout;
	r.retry_cnt = c->par.retry_cnt;
	r.rnr_retry = c->par.rnr_retry;
	r.was_up = c->was_up;
	unic_req_answer(req, UNIC_ST_OK, &r, c->priv, c->priv_bytes);
}

void unic_raw_free(struct unic_req *req)
{
	struct conn *c = raw_get(req, unic_req_obj_id(req));
	uint32_t status = c ? UNIC_ST_OK : no_raw(req);

	if (c)
		unic_end_orphan(req->host, c);
	unic_req_status(req, status);
}

/* ------------------------------------------------------------------ the peer */

void unic_raw_replied(struct unic_host *host, struct conn *c)
{
	c->state = C_REPLIED;
	unic_conn_timers(host, c, UINT64_MAX,
			 unic_os_now_ns(host->os) + CONFIRM_US * 1000ull);
	tell(host, c);
}

void unic_raw_resolved(struct unic_host *host, struct conn *c,
		       const struct unic_cm_msg *msg)
{
	if (c->qp_type != UNIC_QPT_UD || c->state != C_REQ_SENT)
		return;
	c->peer_qpn = msg->qpn;
	c->qkey = msg->qkey;
	c->priv_bytes = msg->priv_bytes;
	memcpy(c->priv, msg->priv, msg->priv_bytes);
	c->was_up = !msg->reason;
	unic_raw_end(host, c, msg->reason ? C_REJECTED : C_ESTABLISHED,
		     msg->reason);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_end.c - see cm_end.h.
 */
#include "cm/cm_end.h"

#include "cm/cm_listen.h"
#include "cm/cm_raw.h"
#include "queue.h"

#define ORPHANS_MAX 256u /* the most QPs of a NIC */
#define REFUSED_MAX 64u	 /* refusals that can be said again */

void unic_end_start(struct unic_host *host, struct conn *c,
		    const struct unic_req *req)
{
	unic_conn_message(c, UNIC_CM_DREQ);
	c->sent.qpn = c->peer_qpn;
	if (req && c->vendor)
		add_private(c, req);
	c->state = C_DREQ_SENT;
	unic_conn_send_until(host, c, UINT64_MAX);
}

/* A DREQ tells the peer when @c ends: the connection is up at one end at least. */
static bool is_up(const struct conn *c)
{
	return c->qp_type != UNIC_QPT_UD &&
	       (c->state == C_ESTABLISHED || c->state == C_REP_SENT ||
		c->state == C_REPLIED);
}

void unic_cm_disconnect(struct unic_req *req)
{
	struct conn *c;

	req->id = unic_req_obj_id(req);
	c = conn_get(req->host, req->id, req->slot);
	if (!c) {
		unic_req_status(req, UNIC_CTL_ST_NO_CONN);
	} else if (c->raw) {
		unic_req_status(req, UNIC_ST_STATE);
	} else if (is_up(c)) {
		c->req = req;
		unic_conn_qp_err(req->host, c);
		unic_end_start(req->host, c, req);
	} else if (c->state == C_CLOSED) {
		unic_conn_free(req->host, c);
		unic_req_status(req, UNIC_ST_OK);
	} else {
		unic_req_status(req, UNIC_ST_STATE);
	}
}

void unic_end_finish(struct unic_host *host, struct conn *c)
{
	struct unic_req *req = c->req;

	if (c->raw && c->obj.owner != UNIC_NOBODY) {
		unic_raw_end(host, c, C_CLOSED, 0);
		return;
	}
	unic_conn_free(host, c);
	if (req)
		unic_req_status(req, UNIC_ST_OK);
}

void unic_end_dreq(struct unic_host *host, const struct unic_mad_rx *mad,
		   struct conn *c, const struct unic_cm_msg *msg)
{
	struct unic_cm_msg drep = {
		.type = UNIC_CM_DREP,
		.tid = msg->tid,
		.local_comm = msg->remote_comm,
		.remote_comm = msg->local_comm,
	};

	if (c && c->state == C_MODIFY)
		return; /* the peer repeats it */
	unic_conn_send_cm(host, unic_from_le32(mad->ipv4), mad->mac, &drep);
	if (c && c->state == C_DREQ_SENT) {
		unic_end_finish(host, c);
	} else if (c && is_up(c)) {
		c->state = C_CLOSED;
		unic_conn_take_private(c, msg);
		unic_conn_timers(host, c, UINT64_MAX, UINT64_MAX);
		unic_conn_qp_err(host, c);
		unic_conn_upcall(host, c, UNIC_UP_DISCONNECTED, 0, 0);
	}
}

/* Refusals without an owner, and the one in *@oldest that was said longest ago. */
static uint32_t count_refused(struct unic_host *host, struct conn **oldest)
{
	struct conn *c;
	uint32_t at = 0, n = 0;

	*oldest = NULL;
	while ((c = unic_obj_next(&host->objects, &at, UNIC_OBJ_CONN,
				  UNIC_NOBODY))) {
		if (c->state != C_REFUSED)
			continue;
		n++;
		if (!*oldest || c->give_up_ns < (*oldest)->give_up_ns)
			*oldest = c;
	}
	return n;
}

static void stay_refused(struct unic_host *host, struct conn *c)
{
	unic_conn_timers(host, c, UINT64_MAX,
			 unic_os_now_ns(host->os) + QUIET_NS);
}

void unic_end_refused(struct unic_host *host, struct conn *c)
{
	struct conn *oldest;

	if (count_refused(host, &oldest) >= REFUSED_MAX)
		unic_conn_free(host, oldest);
	unic_obj_disown(&host->objects, &c->obj);
	c->state = C_REFUSED;
	stay_refused(host, c);
}

void unic_end_refuse_again(struct unic_host *host, struct conn *c)
{
	unic_conn_resend(host, c);
	if (c->obj.owner == UNIC_NOBODY)
		stay_refused(host, c);
}

void unic_end_orphan(struct unic_host *host, struct conn *c)
{
	bool up = is_up(c);
	bool refused = c->state == C_REQUESTED || c->state == C_REFUSED;
	struct conn *oldest;

	if (c->qp_type == UNIC_QPT_UD)
		unic_raw_refuse_sidr(host, c, UNIC_SIDR_REJECTED);
	else if (c->state == C_REQ_SENT || c->state == C_REQUESTED ||
		 c->state == C_MODIFY)
		unic_conn_reject(host, c, UNIC_CM_CONSUMER);
	if (refused) {
		unic_end_refused(host, c);
		return;
	}
	if (!up && c->state != C_DREQ_SENT) {
		unic_conn_free(host, c);
		return;
	}
	unic_obj_disown(&host->objects, &c->obj);
	c->qp = 0;
	if (up)
		unic_end_start(host, c, NULL);
	/* beyond ORPHANS_MAX, one DREQ: others need the places */
	if (unic_obj_count(&host->objects, UNIC_OBJ_CONN, UNIC_NOBODY) -
		    count_refused(host, &oldest) >
	    ORPHANS_MAX)
		unic_conn_free(host, c);
}

/* The QP of connection @conn is being destroyed. */
static void end_conn_of_qp(struct unic_host *host, uint32_t conn)
{
	struct conn *c = conn_get(host, conn, UNIC_OBJ_ANYONE);
	struct unic_req *req = c ? c->req : NULL;

	if (!c)
		return;
	c->req = NULL;
	unic_end_orphan(host, c);
	/* a request with a call under way is answered by its call->done */
	if (req && req->call.state == UNIC_CALL_IDLE && !req->arp_user)
		unic_req_status(req, UNIC_ST_NO_QP);
}

void unic_cm_qp_destroy(struct unic_req *req)
{
	struct unic_hqp *qp = unic_obj_get(&req->host->objects,
					   unic_req_obj_id(req), UNIC_OBJ_QP,
					   req->slot);

	if (qp && !qp->waiter && qp->conn)
		end_conn_of_qp(req->host, qp->conn);
	unic_queue_qp_destroy(req);
}

static void drop_conns(struct unic_host *host, uint32_t owner, uint32_t status,
		       bool tell)
{
	struct conn *c;
	uint32_t at = 0;

	while ((c = unic_obj_next(&host->objects, &at, UNIC_OBJ_CONN, owner))) {
		struct unic_req *req = c->req;

		c->req = NULL;
		if (tell)
			unic_end_orphan(host, c);
		else
			unic_conn_free(host, c);
		if (req && req->call.state == UNIC_CALL_IDLE && !req->arp_user)
			unic_req_status(req, status);
	}
}

void unic_cm_drop(struct unic_host *host, uint32_t owner, uint32_t status,
		  bool tell)
{
	unic_listen_drop(host, owner, true);
	drop_conns(host, owner, status, tell);
}

void unic_cm_lost(struct unic_host *host)
{
	unic_listen_drop(host, UNIC_OBJ_ANYONE, false);
	drop_conns(host, UNIC_OBJ_ANYONE, UNIC_CTL_ST_RESET, false);
}

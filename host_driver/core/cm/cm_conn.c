/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cm_conn.c - see cm_conn.h. */
#include "cm/cm_conn.h"

#include "device.h"
#include "queue.h"
#include "upcall.h"

#define ACK_DELAY 5u /* 131 us: time of a NIC to acknowledge */

uint8_t unic_conn_mtu_shift(struct unic_host *host)
{
	struct unic_info info;
	uint32_t mtu, shift = 8;

	unic_device_info(host, &info);
	mtu = unic_from_le32(info.path_mtu);
	while (shift < 12 && (2u << shift) <= mtu)
		shift++;
	return (uint8_t)shift;
}

void unic_conn_timers(struct unic_host *host, struct conn *c, uint64_t again,
		      uint64_t give_up)
{
	c->again_ns = again;
	c->give_up_ns = give_up;
	if (again < host->cm.next_ns)
		host->cm.next_ns = again;
	if (give_up < host->cm.next_ns)
		host->cm.next_ns = give_up;
}

/* --------------------------------------------------------------- identity */

static struct conn **comm_bucket(struct unic_host *host, uint32_t comm)
{
	return &host->cm.by_comm[comm % UNIC_COMM_BUCKETS];
}

struct conn *unic_conn_find(struct unic_host *host, uint32_t comm)
{
	struct conn *c = *comm_bucket(host, comm);

	while (c && c->comm != comm)
		c = c->next;
	return c;
}

/* Draw a communication id: not 0, which means none, and not in use. A drawn id that is in
 * use is counted up: a source of randomness that repeats does not stop the driver. */
static uint32_t new_comm(struct unic_host *host)
{
	uint32_t comm;

	unic_os_random(host->os, &comm, sizeof(comm));
	while (!comm || unic_conn_find(host, comm))
		comm++;
	return comm;
}

struct conn *unic_conn_new(struct unic_host *host, uint32_t owner)
{
	struct conn *c = unic_obj_alloc(&host->objects, UNIC_OBJ_CONN, owner,
					sizeof(*c));

	if (!c)
		return NULL;
	c->again_ns = UINT64_MAX;
	c->give_up_ns = UINT64_MAX;
	c->comm = new_comm(host);
	unic_os_random(host->os, &c->tid, sizeof(c->tid));
	unic_os_random(host->os, &c->my_psn, sizeof(c->my_psn));
	c->my_psn &= 0xffffff;
	c->next = *comm_bucket(host, c->comm);
	*comm_bucket(host, c->comm) = c;
	return c;
}

void unic_conn_take_private(struct conn *c, const struct unic_cm_msg *msg)
{
	c->priv_bytes = c->raw ? unic_cm_room(msg->type) : msg->priv_bytes;
	if (!c->raw && c->priv_bytes > UNIC_CTL_PRIVATE_MAX)
		c->priv_bytes = UNIC_CTL_PRIVATE_MAX;
	memcpy(c->priv, msg->priv, c->priv_bytes);
}

bool unic_conn_is_peer(const struct conn *c, const struct unic_mad_rx *mad)
{
	return c->ipv4 == unic_from_le32(mad->ipv4) &&
	       !memcmp(c->mac, mad->mac, sizeof(c->mac));
}

bool unic_conn_fits(const struct conn *c, const struct unic_cm_msg *msg)
{
	if (msg->type != UNIC_CM_DREQ)
		return msg->tid == c->tid;
	return c->qpn && msg->qpn == c->qpn &&
	       (!c->vendor || msg->tid == c->tid);
}

void unic_conn_free(struct unic_host *host, struct conn *c)
{
	struct unic_hqp *qp = qp_get(host, c);
	struct conn **p = comm_bucket(host, c->comm);

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	if (qp && qp->conn == c->obj.id)
		qp->conn = 0;
	unic_obj_free(&host->objects, &c->obj);
}

/* -------------------------------------------------------------------- send */

struct unic_req *unic_conn_mad_new(struct unic_host *host)
{
	struct unic_req *req = unic_req_new(host, UNIC_OS_NO_SLOT);

	if (req && !unic_req_list(req, UNIC_MAD_BYTES)) {
		unic_req_free(req);
		return NULL;
	}
	return req;
}

void unic_conn_mad_send(struct unic_req *req, uint32_t ipv4,
			const uint8_t mac[6])
{
	struct unic_cmd_mad_send cmd = { .ipv4 = unic_to_le32(ipv4) };

	memcpy(cmd.mac, mac, sizeof(cmd.mac));
	req->call.list_bytes = UNIC_MAD_BYTES;
	unic_req_send(req, UNIC_CMD_MAD_SEND, &cmd, unic_req_done_free);
}

void unic_conn_send_cm(struct unic_host *host, uint32_t ipv4,
		       const uint8_t mac[6], const struct unic_cm_msg *msg)
{
	struct unic_req *req = unic_conn_mad_new(host);

	if (!req)
		return;
	unic_cm_build(msg, req->call.list);
	unic_conn_mad_send(req, ipv4, mac);
}

void unic_conn_resend(struct unic_host *host, struct conn *c)
{
	unic_conn_send_cm(host, c->ipv4, c->mac, &c->sent);
}

/* Begin a message of connection @c. */
void unic_conn_message(struct conn *c, uint16_t type)
{
	memset(&c->sent, 0, sizeof(c->sent));
	c->sent.type = type;
	c->sent.tid = c->tid;
	c->sent.raw = c->raw;
	c->sent.local_comm = c->comm;
	c->sent.remote_comm = c->remote_comm;
}

void unic_conn_ask(struct unic_host *host, struct conn *c)
{
	unic_conn_message(c, c->qp_type == UNIC_QPT_UD ? UNIC_CM_SIDR_REQ
						       : UNIC_CM_REQ);
	c->sent.service = c->service;
	c->sent.guid = host->objects.ids->host_id;
	c->sent.qpn = c->qpn;
	c->sent.psn = c->my_psn;
	c->sent.src_ipv4 = host->config.ipv4;
	c->sent.dst_ipv4 = c->ipv4;
	c->sent.max_dest_rd = c->par.max_dest_rd;
	c->sent.max_rd = c->par.max_rd;
	c->sent.retry_cnt = c->par.retry_cnt;
	c->sent.rnr_retry = c->par.rnr_retry;
	c->sent.timeout = c->par.timeout;
	c->sent.mtu_shift = c->mtu_shift;
	c->sent.qp_type = c->qp_type;
}

/* Send c->sent now and again until answered or @give_up. */
void unic_conn_send_until(struct unic_host *host, struct conn *c,
			  uint64_t give_up)
{
	c->tries = 0;
	unic_conn_resend(host, c);
	unic_conn_timers(host, c, unic_os_now_ns(host->os) + AGAIN_NS, give_up);
}

/* The message that a REJ of @c answers: the last one that came. NONE: the one that was
 * waited for did not come. */
static uint8_t rej_message_type(const struct conn *c)
{
	if (!c->active)
		return c->state == C_REP_SENT ? UNIC_CM_OF_NONE
					      : UNIC_CM_OF_REQ;
	return c->state == C_MODIFY || c->state == C_REPLIED ? UNIC_CM_OF_REP
							     : UNIC_CM_OF_NONE;
}

void unic_conn_reject(struct unic_host *host, struct conn *c, uint16_t reason)
{
	unic_conn_message(c, UNIC_CM_REJ);
	c->sent.reason = reason;
	c->sent.rejected = rej_message_type(c);
	c->sent.guid = host->objects.ids->host_id;
	unic_conn_resend(host, c);
}

/* ----------------------------------------------------------------- answers */

uint32_t unic_conn_state(const struct conn *c)
{
	static const uint8_t state[] = {
		[C_RESOLVE] = UNIC_CTL_CONN_CONNECTING,
		[C_REQ_SENT] = UNIC_CTL_CONN_CONNECTING,
		[C_REQUESTED] = UNIC_CTL_CONN_REQUESTED,
		[C_MODIFY] = UNIC_CTL_CONN_CONNECTING,
		[C_REP_SENT] = UNIC_CTL_CONN_ACCEPTED,
		[C_ESTABLISHED] = UNIC_CTL_CONN_ESTABLISHED,
		[C_DREQ_SENT] = UNIC_CTL_CONN_CLOSING,
		[C_CLOSED] = UNIC_CTL_CONN_CLOSED,
		[C_REPLIED] = UNIC_CTL_CONN_REPLIED,
		[C_REJECTED] = UNIC_CTL_CONN_REJECTED,
		[C_UNREACHABLE] = UNIC_CTL_CONN_UNREACHABLE,
		[C_REFUSED] = UNIC_CTL_CONN_CLOSED,
	};

	return state[c->state];
}

void unic_conn_answer(struct unic_req *req, const struct conn *c,
		      uint32_t status, uint32_t reason)
{
	struct unic_ctl_conn_reply r = {
		.id = unic_to_le32(c->obj.id),
		.state = unic_to_le32(status == UNIC_CTL_ST_REJECTED
					      ? UNIC_CTL_CONN_REJECTED
					      : unic_conn_state(c)),
		.peer_ipv4 = unic_to_le32(c->ipv4),
		.peer_qpn = unic_to_le32(c->peer_qpn),
		.service = unic_to_le64(c->service),
		.reason = unic_to_le32(reason),
		.vendor = c->vendor,
		.max_rd = c->par.max_rd,
		.max_dest_rd = c->par.max_dest_rd,
		.mtu_shift = c->mtu_shift,
		.qp = unic_to_le32(c->qp),
		.qp_type = c->qp_type,
		.transaction = unic_to_le64(c->vendor ? c->tid : 0),
	};

	unic_req_answer(req, status, &r, c->priv, c->priv_bytes);
}

void unic_conn_upcall(struct unic_host *host, const struct conn *c,
		      uint8_t type, uint32_t listener, uint32_t reason)
{
	struct unic_upcall_conn up = {
		.hdr = { .type = c->raw ? UNIC_UP_CM : type,
			 .id = unic_to_le32(c->obj.id) },
		.user = unic_to_le32(c->user),
		.listener = unic_to_le32(listener),
		.peer_ipv4 = unic_to_le32(c->ipv4),
		.peer_qpn = unic_to_le32(c->peer_qpn),
		.qp = unic_to_le32(c->qp),
		.reason = unic_to_le32(reason),
		.private_bytes = unic_to_le32(c->priv_bytes),
	};

	if (c->obj.owner != UNIC_NOBODY)
		unic_upcall_send(host, c->obj.owner, &up);
}

/* Connection @c failed before it was up: answer its request and free @c. */
void unic_conn_failed(struct unic_host *host, struct conn *c, uint32_t status,
		      uint32_t reason)
{
	struct unic_req *req = c->req;

	c->req = NULL;
	if (req)
		unic_conn_answer(req, c, status, reason);
	unic_conn_free(host, c);
}

/* -------------------------------------------------------- QP transitions */

/* @c has ended: set its QP to ERR, which flushes the requests posted. The NIC refuses ERR
 * only from RESET, so it is noted before the NIC answers. */
void unic_conn_qp_err(struct unic_host *host, const struct conn *c)
{
	struct unic_cmd_qp_modify cmd = { .state = UNIC_QPS_ERR };
	struct unic_hqp *qp = qp_get(host, c);
	struct unic_req *req = qp ? unic_req_new(host, c->obj.owner) : NULL;

	if (!req)
		return;
	qp->state = UNIC_QPS_ERR;
	unic_queue_modify(req, qp, &cmd, unic_req_done_free);
}

static void qp_established(struct unic_req *req, struct conn *c);

static void step_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	struct conn *c = conn_get(host, req->id2, req->slot);
	uint32_t status = unic_call_status(call);
	struct unic_cmd_qp_modify cmd;
	struct unic_hqp *qp;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	if (!c || c->req != req) {
		unic_req_status(req, UNIC_CTL_ST_NO_CONN);
		return;
	}
	qp = qp_get(host, c);
	if (status || !qp) {
		unic_conn_reject(host, c, UNIC_CM_NO_RESOURCES);
		unic_conn_failed(host, c, status ? status : UNIC_ST_NO_QP, 0);
		return;
	}
	qp->state = cmd.state;
	if (cmd.state == UNIC_QPS_RTS)
		qp_established(req, c);
	else
		unic_conn_step(req, c, cmd.state + 1);
}

/* Clear the parameters that only RC has: UC has no retries and no reads. */
static void strip_rc_params(struct unic_cmd_qp_modify *cmd)
{
	cmd->rights &= UNIC_MR_REMOTE_WRITE;
	cmd->rnr_timer = cmd->max_dest_rd = cmd->vendor = 0;
	cmd->max_rd = cmd->timeout = 0;
	cmd->retry_cnt = cmd->rnr_retry = 0;
}

/* UNIC_PEER_*, of what both NICs know. */
static uint8_t peer_kind(const struct unic_host *host, const struct conn *c)
{
	if (!c->vendor)
		return 0;
	if (!(c->caps & UNIC_CM_CAP_REFUSED) ||
	    !(host->features & UNIC_FEAT_TELL_REFUSED))
		return UNIC_PEER_UNIC;
	return UNIC_PEER_UNIC | UNIC_PEER_REFUSED;
}

/* One transition of INIT -> RTR -> RTS with what the two sides agreed on. */
void unic_conn_step(struct unic_req *req, struct conn *c, uint8_t state)
{
	struct unic_cmd_qp_modify cmd = { .state = state };
	struct unic_hqp *qp = qp_get(req->host, c);

	req->id2 = c->obj.id;
	c->req = req;
	c->state = C_MODIFY;
	if (state == UNIC_QPS_INIT) {
		cmd.rights = c->par.rights;
	} else if (state == UNIC_QPS_RTR) {
		cmd.mtu_shift = c->mtu_shift;
		cmd.rnr_timer = c->par.rnr_timer;
		cmd.max_dest_rd = c->par.max_dest_rd;
		cmd.dest_qpn = unic_to_le32(c->peer_qpn);
		cmd.rq_psn = unic_to_le32(c->my_psn);
		cmd.dest_ipv4 = unic_to_le32(c->ipv4);
		memcpy(cmd.dest_mac, c->mac, sizeof(cmd.dest_mac));
		cmd.vendor = peer_kind(req->host, c);
	} else {
		cmd.max_rd = c->par.max_rd;
		cmd.timeout = c->par.timeout;
		cmd.retry_cnt = c->par.retry_cnt;
		cmd.rnr_retry = c->par.rnr_retry;
		cmd.sq_psn = unic_to_le32(c->peer_psn);
	}
	if (c->qp_type == UNIC_QPT_UC)
		strip_rc_params(&cmd);
	if (qp)
		unic_queue_modify(req, qp, &cmd, step_done);
	else
		unic_conn_failed(req->host, c, UNIC_ST_NO_QP, 0);
}

/* The QP of @c is in RTS: send REP on the passive side, RTU on the active one. */
static void qp_established(struct unic_req *req, struct conn *c)
{
	struct unic_host *host = req->host;

	c->req = NULL;
	if (c->active) {
		unic_conn_message(c, UNIC_CM_RTU);
		unic_conn_resend(host, c);
		c->state = C_ESTABLISHED;
	} else {
		unic_conn_message(c, UNIC_CM_REP);
		c->sent.qpn = c->qpn;
		c->sent.psn = c->my_psn;
		c->sent.max_dest_rd = c->par.max_dest_rd;
		c->sent.max_rd = c->par.max_rd;
		c->sent.rnr_retry = c->par.rnr_retry;
		c->sent.timeout = host->config.ack_timeout
					  ? host->config.ack_timeout
					  : ACK_DELAY;
		c->sent.guid = host->objects.ids->host_id;
		add_private(c, req);
		c->state = C_REP_SENT;
		unic_conn_send_until(host, c,
				     unic_os_now_ns(host->os) +
					     CONNECT_US * 1000ull);
	}
	unic_conn_answer(req, c, UNIC_ST_OK, 0);
}

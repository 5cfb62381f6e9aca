/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* grants.c - see grants.h. */
#include "cm/grants.h"

#include "cm/cm_conn.h"
#include "region/region_notice.h"
#include "upcall.h"

#define ASK_AGAIN_NS 4000000ull /* a datagram may be lost */
#define HAND_TRIES   8u

/* ---------------------------------------------------------------- datagrams */

static const uint8_t mark[4] = { 'U', 'N', 'I', 'C' };

void unic_grants_build(const struct unic_grants_msg *msg,
		       uint8_t mad[UNIC_MAD_BYTES])
{
	struct unic_holder_mad m = {
		.hdr = { .base_version = 1,
			 .mgmt_class = UNIC_MAD_CLASS_HOLDER,
			 .class_version = 1,
			 .method = UNIC_MAD_SEND,
			 .tid = unic_to_be64(msg->nonce),
			 .attribute = unic_to_be16(msg->type) },
		.local_comm = unic_to_be32(msg->local_comm),
		.remote_comm = unic_to_be32(msg->remote_comm),
		.kind = unic_to_be32(msg->kind),
		.number = unic_to_be32(msg->number),
		.grace_us = unic_to_be32(msg->grace_us),
		.ipv4 = unic_to_be32(msg->ipv4),
		.qpn = unic_to_be32(msg->qpn),
		.status = unic_to_be32(msg->status),
	};

	memcpy(m.mark, mark, sizeof(mark));
	memcpy(mad, &m, sizeof(m));
}

bool unic_grants_parse(const uint8_t mad[UNIC_MAD_BYTES],
		       struct unic_grants_msg *msg)
{
	struct unic_holder_mad m;

	memcpy(&m, mad, sizeof(m));
	if (m.hdr.base_version != 1 ||
	    m.hdr.mgmt_class != UNIC_MAD_CLASS_HOLDER ||
	    m.hdr.class_version != 1 || m.hdr.method != UNIC_MAD_SEND ||
	    memcmp(m.mark, mark, sizeof(mark)))
		return false;
	*msg = (struct unic_grants_msg){
		.type = unic_from_be16(m.hdr.attribute),
		.nonce = unic_from_be64(m.hdr.tid),
		.local_comm = unic_from_be32(m.local_comm),
		.remote_comm = unic_from_be32(m.remote_comm),
		.kind = unic_from_be32(m.kind),
		.number = unic_from_be32(m.number),
		.grace_us = unic_from_be32(m.grace_us),
		.ipv4 = unic_from_be32(m.ipv4),
		.qpn = unic_from_be32(m.qpn),
		.status = unic_from_be32(m.status),
	};
	return msg->type >= UNIC_HOLDER_INVALIDATE &&
	       msg->type <= UNIC_HOLDER_DELEGATED;
}

/* Send @msg once. A lost datagram is made up for: INVALIDATE and DELEGATE are repeated,
 * and answered again each time. */
static void send_grants_msg(struct unic_host *host, const struct conn *c,
			    struct unic_grants_msg *msg)
{
	struct unic_req *req = unic_conn_mad_new(host);

	if (!req)
		return;
	msg->local_comm = c->comm;
	msg->remote_comm = c->remote_comm;
	unic_grants_build(msg, req->call.list);
	unic_conn_mad_send(req, c->ipv4, c->mac);
}

/* True if @c is up, and its peer has the protocol (the CM mark of unic). */
static bool is_unic_peer_up(const struct conn *c)
{
	return c && c->vendor &&
	       (c->state == C_ESTABLISHED || c->state == C_REP_SENT);
}

static uint64_t new_nonce(struct unic_host *host)
{
	uint64_t nonce;

	do
		unic_os_random(host->os, &nonce, sizeof(nonce));
	while (!nonce);
	return nonce;
}

static void wake_at(struct unic_host *host, uint64_t ns)
{
	if (ns < host->held.next_ns)
		host->held.next_ns = ns;
}

/* ------------------------------------------------------------------ exporter */

static struct unic_region *region_of(struct unic_host *host,
				     const struct unic_hold *h)
{
	return unic_obj_get(&host->objects, h->mr, UNIC_OBJ_MR,
			    UNIC_OBJ_ANYONE);
}

static struct unic_hold *find_hold(struct unic_host *host, uint32_t conn,
				   uint32_t kind, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++) {
		struct unic_hold *h = &host->held.hold[i];

		if (h->mr && h->conn == conn && h->kind == kind &&
		    h->number == number)
			return h;
	}
	return NULL;
}

/* Enter grant @hold of process @owner, if it is new. QUOTA: no place is left, or @owner
 * has its share of them. */
static uint32_t hold_new(struct unic_host *host, uint32_t owner,
			 const struct unic_hold *hold)
{
	uint32_t i, used = 0, most = UNIC_HOLDS / host->slots;
	struct unic_hold *room = NULL;

	if (find_hold(host, hold->conn, hold->kind, hold->number))
		return UNIC_ST_OK;
	for (i = 0; i < UNIC_HOLDS; i++) {
		struct unic_hold *h = &host->held.hold[i];

		used += h->mr && h->owner == owner;
		if (!h->mr)
			room = h;
	}
	if (!room || used >= (most ? most : 1))
		return UNIC_ST_QUOTA;
	*room = *hold;
	room->owner = owner;
	return UNIC_ST_OK;
}

/* End grant @h. If it was the last one of a region under notice, no peer uses the region:
 * release it, unless its owner answered EXTEND. */
static void end_hold(struct unic_host *host, struct unic_hold *h)
{
	struct unic_region *mr = region_of(host, h);
	uint32_t i, id = h->mr;
	bool asked = h->nonce != 0;

	h->mr = 0;
	for (i = 0; i < UNIC_HOLDS; i++)
		if (host->held.hold[i].mr == id)
			return;
	if (asked && mr && mr->state == R_NOTIFIED && !mr->extends &&
	    host->ready) {
		host->held.early++;
		unic_region_release(host, mr);
	}
}

static void send_invalidate(struct unic_host *host, struct unic_hold *h,
			    const struct unic_region *mr, uint64_t now)
{
	const struct conn *c = conn_get(host, h->conn, UNIC_OBJ_ANYONE);
	uint64_t left = mr->deadline_ns > now ? mr->deadline_ns - now : 0;
	struct unic_grants_msg msg = {
		.type = UNIC_HOLDER_INVALIDATE,
		.nonce = h->nonce,
		.kind = h->kind,
		.number = h->number,
		.grace_us = left > UINT32_MAX ? UINT32_MAX
					      : (uint32_t)(left / 1000),
	};

	if (!is_unic_peer_up(c)) { /* without it the grant is useless */
		end_hold(host, h);
		return;
	}
	h->again_ns = now + ASK_AGAIN_NS;
	wake_at(host, h->again_ns);
	send_grants_msg(host, c, &msg);
}

static void on_invalidated(struct unic_host *host, const struct conn *c,
			   const struct unic_grants_msg *msg)
{
	struct unic_hold *h =
		find_hold(host, c->obj.id, msg->kind, msg->number);

	if (h && h->nonce && h->nonce == msg->nonce)
		end_hold(host, h);
	else
		host->held.refused++;
}

static struct conn *conn_to(struct unic_host *host, uint32_t owner,
			    uint32_t ipv4, uint32_t qpn)
{
	struct conn *c;
	uint32_t at = 0;

	while ((c = unic_obj_next(&host->objects, &at, UNIC_OBJ_CONN, owner)))
		if (is_unic_peer_up(c) && c->ipv4 == ipv4 && c->peer_qpn == qpn)
			return c;
	return NULL;
}

/* The peer of @c hands its grant on to the peer of another connection of the exporter:
 * the STag or token is of use only to peers connected to the exporter. */
static uint32_t delegate_hold(struct unic_host *host, const struct conn *c,
			      const struct unic_grants_msg *msg)
{
	struct unic_hold *h =
		find_hold(host, c->obj.id, msg->kind, msg->number);
	struct conn *to = conn_to(host, c->obj.owner, msg->ipv4, msg->qpn);
	struct unic_region *mr = h ? region_of(host, h) : NULL;
	struct unic_hold next;

	if (!mr)
		return UNIC_ST_NO_MR;
	if (!to)
		return UNIC_CTL_ST_NO_CONN;
	if (mr->state != R_ACTIVE)
		return UNIC_ST_STATE;
	next = *h;
	next.conn = to->obj.id;
	next.nonce = 0;
	return hold_new(host, c->obj.owner, &next);
}

static void on_delegate(struct unic_host *host, const struct conn *c,
			const struct unic_grants_msg *msg)
{
	struct unic_grants_msg answer = {
		.type = UNIC_HOLDER_DELEGATED,
		.nonce = msg->nonce,
		.kind = msg->kind,
		.number = msg->number,
		.status = delegate_hold(host, c, msg),
	};

	send_grants_msg(host, c, &answer);
}

void unic_grants_grant(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_grant r;
	struct unic_hold hold = { 0 };
	struct unic_htoken *t;
	struct unic_region *mr;
	struct conn *c;
	uint32_t token;

	memcpy(&r, req->rec, sizeof(r));
	token = unic_from_le32(r.token);
	mr = mr_get(req, unic_from_le32(r.mr));
	c = conn_get(host, unic_from_le32(r.conn), unic_req_owner(req));
	t = unic_obj_get(&host->objects, token, UNIC_OBJ_TOKEN,
			 unic_req_owner(req));
	if (!mr || !c || (token && !t)) {
		unic_req_status(req, !mr  ? UNIC_ST_NO_MR
				     : !c ? UNIC_CTL_ST_NO_CONN
					  : UNIC_ST_NO_TOKEN);
		return;
	}
	if (mr->state != R_ACTIVE || !is_unic_peer_up(c)) {
		unic_req_status(req, mr->state == R_ACTIVE && !c->vendor
					     ? UNIC_CTL_ST_UNSUPPORTED
					     : UNIC_ST_STATE);
		return;
	}
	hold.mr = mr->obj.id;
	hold.conn = c->obj.id;
	hold.kind = t ? UNIC_CTL_HELD_TOKEN : UNIC_CTL_HELD_STAG;
	hold.number = t ? t->index : mr->stag;
	hold.token = token;
	unic_req_status(req, hold_new(host, unic_req_owner(req), &hold));
}

/* -------------------------------------------------------------------- holder */

static void send_invalidated(struct unic_host *host, const struct conn *c,
			     const struct unic_asked *a)
{
	struct unic_grants_msg msg = {
		.type = UNIC_HOLDER_INVALIDATED,
		.nonce = a->nonce,
		.kind = a->kind,
		.number = a->number,
	};

	send_grants_msg(host, c, &msg);
}

/* The place of the INVALIDATE @msg if it came before on @conn, else a new place. */
static struct unic_asked *find_peer_request(struct unic_host *host,
					    uint32_t conn,
					    const struct unic_grants_msg *msg)
{
	struct unic_asked *a;
	uint32_t i;

	for (i = 0; i < UNIC_ASKED; i++) {
		a = &host->held.asked[i];
		if (a->conn == conn && a->nonce == msg->nonce)
			return a;
	}
	a = &host->held.asked[host->held.asks++ % UNIC_ASKED];
	*a = (struct unic_asked){ .conn = conn,
				  .kind = msg->kind,
				  .number = msg->number,
				  .nonce = msg->nonce };
	return a;
}

static void on_invalidate(struct unic_host *host, const struct conn *c,
			  const struct unic_grants_msg *msg)
{
	const struct unic_asked *a = find_peer_request(host, c->obj.id, msg);
	struct unic_upcall_held up = {
		.hdr = { .type = UNIC_UP_INVALIDATE,
			 .id = unic_to_le32(c->obj.id) },
		.user = unic_to_le32(c->user),
		.qp = unic_to_le32(c->qp),
		.kind = unic_to_le32(msg->kind),
		.number = unic_to_le32(msg->number),
		.grace_us = unic_to_le32(msg->grace_us),
		.deadline_ns = unic_to_le64(unic_os_now_ns(host->os) +
					    1000ull * msg->grace_us),
	};

	if (a->done)
		send_invalidated(host, c, a);
	else /* for each repetition: the process may lose upcalls */
		unic_upcall_send(host, c->obj.owner, &up);
}

void unic_grants_answer(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_held_by r;
	struct conn *c;
	uint32_t i, n = 0;

	memcpy(&r, req->rec, sizeof(r));
	c = conn_get(host, unic_from_le32(r.conn), unic_req_owner(req));
	for (i = 0; c && i < UNIC_ASKED; i++) {
		struct unic_asked *a = &host->held.asked[i];

		if (a->conn != c->obj.id || a->done ||
		    a->kind != unic_from_le32(r.kind) ||
		    a->number != unic_from_le32(r.number))
			continue;
		a->done = true;
		send_invalidated(host, c, a);
		n++;
	}
	unic_req_status(req, !c	 ? UNIC_CTL_ST_NO_CONN
			     : n ? UNIC_ST_OK
				 : UNIC_ST_STATE);
}

/* --- delegation */

static void send_delegate(struct unic_host *host, struct unic_handing *d,
			  uint64_t now)
{
	const struct conn *c = conn_get(host, d->conn, UNIC_OBJ_ANYONE);
	struct unic_ctl_held_by r;
	struct unic_grants_msg msg = { .type = UNIC_HOLDER_DELEGATE,
				       .nonce = d->nonce };

	memcpy(&r, d->req->rec, sizeof(r));
	msg.kind = unic_from_le32(r.kind);
	msg.number = unic_from_le32(r.number);
	msg.ipv4 = unic_from_le32(r.ipv4);
	msg.qpn = unic_from_le32(r.qpn);
	d->tries++;
	d->again_ns = now + (ASK_AGAIN_NS << d->tries);
	wake_at(host, d->again_ns);
	if (is_unic_peer_up(c))
		send_grants_msg(host, c, &msg);
}

static void end_handing(struct unic_handing *d, uint32_t status)
{
	struct unic_req *req = d->req;

	d->req = NULL;
	unic_req_status(req, status);
}

void unic_grants_delegate(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_handing *d = NULL;
	struct unic_ctl_held_by r;
	struct conn *c;
	uint32_t i;

	memcpy(&r, req->rec, sizeof(r));
	c = conn_get(host, unic_from_le32(r.conn), unic_req_owner(req));
	for (i = 0; i < UNIC_HANDINGS && !d; i++)
		if (!host->held.handing[i].req)
			d = &host->held.handing[i];
	if (!c || !is_unic_peer_up(c) || !d) {
		unic_req_status(req, !c			  ? UNIC_CTL_ST_NO_CONN
				     : is_unic_peer_up(c) ? UNIC_CTL_ST_TOO_MANY
				     : c->vendor	  ? UNIC_ST_STATE
						 : UNIC_CTL_ST_UNSUPPORTED);
		return;
	}
	*d = (struct unic_handing){ .req = req,
				    .conn = c->obj.id,
				    .nonce = new_nonce(host) };
	send_delegate(host, d, unic_os_now_ns(host->os));
}

static void on_delegated(struct unic_host *host, const struct conn *c,
			 const struct unic_grants_msg *msg)
{
	uint32_t i;

	for (i = 0; i < UNIC_HANDINGS; i++) {
		struct unic_handing *d = &host->held.handing[i];

		if (d->req && d->conn == c->obj.id && d->nonce == msg->nonce)
			end_handing(d, msg->status);
	}
}

/* ---------------------------------------------------------------------- both */

void unic_grants_receive(struct unic_host *host, const struct unic_mad_rx *mad)
{
	static void (*const on[])(struct unic_host *, const struct conn *,
				  const struct unic_grants_msg *) = {
		[UNIC_HOLDER_INVALIDATE] = on_invalidate,
		[UNIC_HOLDER_INVALIDATED] = on_invalidated,
		[UNIC_HOLDER_DELEGATE] = on_delegate,
		[UNIC_HOLDER_DELEGATED] = on_delegated,
	};
	struct unic_grants_msg msg;
	const struct conn *c;

	if (!unic_grants_parse(mad->data, &msg))
		return;
	c = unic_conn_find(host, msg.remote_comm);
	if (!is_unic_peer_up(c) || c->obj.owner == UNIC_NOBODY ||
	    !unic_conn_is_peer(c, mad) || c->remote_comm != msg.local_comm) {
		host->held.refused++;
		return;
	}
	on[msg.type](host, c, &msg);
}

/* Send INVALIDATE for all grants of regions that got a notice since the last call. */
static void ask_holders(struct unic_host *host)
{
	uint64_t now = unic_os_now_ns(host->os);
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++) {
		struct unic_hold *h = &host->held.hold[i];
		struct unic_region *mr = h->mr ? region_of(host, h) : NULL;

		if (!mr || mr->state != R_NOTIFIED ||
		    mr->asked_back == h->asked_back)
			continue;
		h->asked_back = mr->asked_back;
		h->nonce = new_nonce(host);
		send_invalidate(host, h, mr, now);
	}
}

static bool is_conn(struct unic_host *host, uint32_t id)
{
	return conn_get(host, id, UNIC_OBJ_ANYONE);
}

/* End the grants, INVALIDATEs and DELEGATEs of connections that have ended. */
static void end_conns(struct unic_host *host)
{
	struct unic_held *held = &host->held;
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++)
		if (held->hold[i].mr && !is_conn(host, held->hold[i].conn))
			end_hold(host, &held->hold[i]);
	for (i = 0; i < UNIC_ASKED; i++)
		if (!is_conn(host, held->asked[i].conn))
			held->asked[i] = (struct unic_asked){ 0 };
	for (i = 0; i < UNIC_HANDINGS; i++)
		if (held->handing[i].req &&
		    !is_conn(host, held->handing[i].conn))
			end_handing(&held->handing[i], UNIC_CTL_ST_NO_CONN);
}

/* End the grants of tokens that have ended. */
static void end_tokens(struct unic_host *host)
{
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++) {
		struct unic_hold *h = &host->held.hold[i];

		if (h->mr && h->token &&
		    !unic_obj_get(&host->objects, h->token, UNIC_OBJ_TOKEN,
				  UNIC_OBJ_ANYONE))
			end_hold(host, h);
	}
}

void unic_grants_step(struct unic_host *host)
{
	const uint32_t *freed = host->objects.freed;
	struct unic_held *held = &host->held;

	if (held->asked_back != host->asked_back) {
		held->asked_back = host->asked_back;
		ask_holders(host);
	}
	if (held->tokens_freed != freed[UNIC_OBJ_TOKEN]) {
		held->tokens_freed = freed[UNIC_OBJ_TOKEN];
		end_tokens(host);
	}
	if (held->conns_freed != freed[UNIC_OBJ_CONN]) {
		held->conns_freed = freed[UNIC_OBJ_CONN];
		end_conns(host);
	}
}

/* Repeat the INVALIDATE of @h while the notice of its region is open. The end of the
 * region, or an OFFER that was accepted, ends it. */
static void poll_hold(struct unic_host *host, struct unic_hold *h, uint64_t now)
{
	struct unic_region *mr = region_of(host, h);

	if (!mr || mr->state == R_EVICTED)
		h->mr = 0;
	else if (mr->state != R_NOTIFIED)
		h->nonce = 0;
	else if (now >= h->again_ns)
		send_invalidate(host, h, mr, now);
	else
		wake_at(host, h->again_ns);
}

uint64_t unic_grants_poll(struct unic_host *host, uint64_t now)
{
	uint32_t i;

	if (now < host->held.next_ns)
		return host->held.next_ns;
	host->held.next_ns = UINT64_MAX;
	for (i = 0; i < UNIC_HOLDS; i++)
		if (host->held.hold[i].mr && host->held.hold[i].nonce)
			poll_hold(host, &host->held.hold[i], now);
	for (i = 0; i < UNIC_HANDINGS; i++) {
		struct unic_handing *d = &host->held.handing[i];

		if (!d->req)
			continue;
		if (now < d->again_ns)
			wake_at(host, d->again_ns);
		else if (d->tries < HAND_TRIES)
			send_delegate(host, d, now);
		else
			end_handing(d, UNIC_CTL_ST_UNREACHABLE);
	}
	return host->held.next_ns;
}

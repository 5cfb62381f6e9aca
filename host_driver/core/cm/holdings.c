/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* holdings.c - see holdings.h. */
#include "cm/holdings.h"

#include "upcall.h"

#define HAND_TRIES 8u

static void send_invalidated(struct unic_host *host, const struct conn *c,
			     const struct unic_asked *a)
{
	struct unic_grants_msg msg = {
		.type = UNIC_HOLDER_INVALIDATED,
		.nonce = a->nonce,
		.kind = a->kind,
		.number = a->number,
	};

	unic_grants_send(host, c, &msg);
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

void unic_holdings_invalidate(struct unic_host *host, const struct conn *c,
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

void unic_holdings_answer(struct unic_req *req)
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

/* -------------------------------------------------------------- delegation */

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
	d->again_ns = now + (UNIC_ASK_AGAIN_NS << d->tries);
	unic_grants_wake_at(host, d->again_ns);
	if (unic_grants_peer_up(c))
		unic_grants_send(host, c, &msg);
}

static void end_handing(struct unic_handing *d, uint32_t status)
{
	struct unic_req *req = d->req;

	d->req = NULL;
	unic_req_status(req, status);
}

void unic_holdings_delegate(struct unic_req *req)
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
	if (!c || !unic_grants_peer_up(c) || !d) {
		unic_req_status(req, !c ? UNIC_CTL_ST_NO_CONN
				     : unic_grants_peer_up(c)
					     ? UNIC_CTL_ST_TOO_MANY
				     : c->vendor ? UNIC_ST_STATE
						 : UNIC_CTL_ST_UNSUPPORTED);
		return;
	}
	*d = (struct unic_handing){ .req = req,
				    .conn = c->obj.id,
				    .nonce = unic_grants_nonce(host) };
	send_delegate(host, d, unic_os_now_ns(host->os));
}

void unic_holdings_delegated(struct unic_host *host, const struct conn *c,
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

static bool is_conn(struct unic_host *host, uint32_t id)
{
	return conn_get(host, id, UNIC_OBJ_ANYONE);
}

void unic_holdings_end(struct unic_host *host)
{
	struct unic_held *held = &host->held;
	uint32_t i;

	for (i = 0; i < UNIC_ASKED; i++)
		if (!is_conn(host, held->asked[i].conn))
			held->asked[i] = (struct unic_asked){ 0 };
	for (i = 0; i < UNIC_HANDINGS; i++)
		if (held->handing[i].req &&
		    !is_conn(host, held->handing[i].conn))
			end_handing(&held->handing[i], UNIC_CTL_ST_NO_CONN);
}

void unic_holdings_poll(struct unic_host *host, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < UNIC_HANDINGS; i++) {
		struct unic_handing *d = &host->held.handing[i];

		if (!d->req)
			continue;
		if (now < d->again_ns)
			unic_grants_wake_at(host, d->again_ns);
		else if (d->tries < HAND_TRIES)
			send_delegate(host, d, now);
		else
			end_handing(d, UNIC_CTL_ST_UNREACHABLE);
	}
}

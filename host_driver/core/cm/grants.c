/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* grants.c - see grants.h. */
#include "cm/grants.h"

#include "cm/holdings.h"
#include "region/region_notice.h"

#define TELL_TRIES 8u /* that a region has ended: for a second */

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

/* Enter grant @hold of process @owner, if it is new; the word that a region has ended
 * gives way. QUOTA: no place is left, or @owner has its share of them. */
static uint32_t hold_new(struct unic_host *host, uint32_t owner,
			 const struct unic_hold *hold)
{
	uint32_t i, used = 0, most = UNIC_HOLDS / host->slots;
	struct unic_hold *room = NULL, *ended = NULL;
	struct unic_hold *old =
		find_hold(host, hold->conn, hold->kind, hold->number);

	if (old && !old->ended)
		return UNIC_ST_OK;
	if (old)
		old->mr = 0;
	for (i = 0; i < UNIC_HOLDS; i++) {
		struct unic_hold *h = &host->held.hold[i];

		used += h->mr && h->owner == owner;
		if (!h->mr)
			room = h;
		else if (h->ended && h->owner == owner)
			ended = h;
	}
	if (!room || used >= (most ? most : 1))
		room = ended;
	if (!room)
		return UNIC_ST_QUOTA;
	*room = *hold;
	room->owner = owner;
	return UNIC_ST_OK;
}

/* True if @h is a grant of a form that is on the NIC, and ends with regions that only the
 * NIC knows. */
static bool is_of_form(struct unic_host *host, const struct unic_hold *h)
{
	const struct unic_region *mr = h->mr && !h->ended ? region_of(host, h)
							  : NULL;

	return mr && mr->kind != UNIC_FORM_PLAIN && mr->state != R_EVICTED;
}

static bool has_forms(struct unic_host *host, uint32_t owner)
{
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++)
		if (host->held.hold[i].owner == owner &&
		    is_of_form(host, &host->held.hold[i]))
			return true;
	return false;
}

/* No peer has a form of @mr, which is under notice. If none has @mr itself, and one was
 * told, release it, unless its owner answered EXTEND. */
static void end_grace(struct unic_host *host, struct unic_region *mr)
{
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++)
		if (host->held.hold[i].mr == mr->obj.id)
			return;
	if (mr->told != mr->asked_back || mr->extends)
		return;
	mr->told = 0;
	host->held.early++;
	unic_region_release(host, mr);
}

static void forms_done(struct unic_call *call);

/* Ask the NIC which forms end with @mr: forms_done(). One question at a time: an answer
 * that is under way may be of before what the caller has changed. */
static void ask_nic(struct unic_host *host, struct unic_region *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_req *req;

	mr->looked = mr->asked_back;
	mr->unsure = mr->asking == mr->asked_back;
	if (!(host->features & UNIC_FEAT_MR_FORMS) || mr->unsure)
		return;
	req = unic_req_new(host, mr->obj.owner);
	if (!req)
		return; /* the grace ends at its deadline */
	req->id = mr->obj.id;
	req->id2 = mr->asked_back;
	if (!unic_req_list(req, UNIC_LIST_BYTES)) {
		unic_req_free(req);
		return;
	}
	mr->asking = mr->asked_back;
	unic_req_send(req, UNIC_CMD_MR_FORMS, &cmd, forms_done);
}

/* What the holders of @owner are has changed: end the graces that only they kept, and
 * look which forms are of the regions under notice; @again: of those that were looked at
 * before, too. */
static void look_at_notices(struct unic_host *host, uint32_t owner, bool again)
{
	bool forms = has_forms(host, owner);
	struct unic_region *mr;
	uint32_t at = 0;

	while ((mr = unic_obj_next(&host->objects, &at, UNIC_OBJ_MR, owner))) {
		if (mr->state != R_NOTIFIED)
			continue;
		if (!forms)
			end_grace(host, mr);
		else if (again || mr->looked != mr->asked_back)
			ask_nic(host, mr);
	}
}

/* The region for whose notice @h is asked; NULL: no question is open. */
static struct unic_region *cause_of(struct unic_host *host,
				    const struct unic_hold *h)
{
	struct unic_region *mr = h->nonce ? unic_obj_get(&host->objects,
							 h->cause, UNIC_OBJ_MR,
							 UNIC_OBJ_ANYONE)
					  : NULL;

	return mr && mr->state == R_NOTIFIED ? mr : NULL;
}

/* End grant @h. */
static void end_hold(struct unic_host *host, struct unic_hold *h)
{
	bool asked = h->nonce && !h->ended;

	h->mr = 0;
	if (asked)
		look_at_notices(host, h->owner, true);
}

/* Returns the microseconds of a grace until @until_ns, at least 1: 0 says that the region
 * has ended, and a NIC may end it later than at its deadline. */
static uint32_t left_us(uint64_t until_ns, uint64_t now)
{
	uint64_t left = until_ns > now ? (until_ns - now) / 1000 : 0;

	return left > UINT32_MAX ? UINT32_MAX : left ? (uint32_t)left : 1;
}

/* Ask the holder @h, whose region may be used for @grace_us more. 0: it has ended. */
static void send_invalidate(struct unic_host *host, struct unic_hold *h,
			    uint32_t grace_us, uint64_t now)
{
	const struct conn *c = conn_get(host, h->conn, UNIC_OBJ_ANYONE);
	struct unic_grants_msg msg = {
		.type = UNIC_HOLDER_INVALIDATE,
		.nonce = h->nonce,
		.kind = h->kind,
		.number = h->number,
		.grace_us = grace_us,
	};

	if (!unic_grants_peer_up(c)) { /* without it the grant is useless */
		end_hold(host, h);
		return;
	}
	h->again_ns = now + (UNIC_ASK_AGAIN_NS << h->tries);
	unic_grants_wake_at(host, h->again_ns);
	unic_grants_send(host, c, &msg);
}

/* Tell @h that its region has ended, or say so again. */
static void tell_end(struct unic_host *host, struct unic_hold *h, uint64_t now)
{
	if (!h->ended) {
		h->ended = true;
		h->tries = 0;
		host->held.told++;
		if (!h->nonce)
			h->nonce = unic_grants_nonce(host);
	}
	if (h->tries == TELL_TRIES) {
		host->held.unheard++;
		h->mr = 0;
		return;
	}
	send_invalidate(host, h, 0, now);
	h->tries++;
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
		if (unic_grants_peer_up(c) && c->ipv4 == ipv4 &&
		    c->peer_qpn == qpn)
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
	if (mr->state != R_ACTIVE || cause_of(host, h))
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

	unic_grants_send(host, c, &answer);
}

/* True if @stag is that of @mr, or, of a form, may have become so by a work request. */
static bool is_stag_of(const struct unic_region *mr, uint32_t stag)
{
	uint32_t key = mr->kind == UNIC_FORM_PLAIN ? 0 : 0xff;

	return !((stag ^ mr->stag) & ~key);
}

/* GRANT of a region that has ended: the peer of @c was given it over an earlier
 * connection, and is told now. */
static void grant_of_the_past(struct unic_req *req, const struct conn *c,
			      const struct unic_ctl_grant *r)
{
	struct unic_host *host = req->host;
	struct unic_hold hold = {
		.kind = UNIC_CTL_HELD_STAG,
		.number = unic_from_le32(r->stag),
	};
	struct unic_hold *h;
	uint32_t status;

	if (r->mr || r->token || !r->stag || unic_from_le32(r->ended) > 1) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	if (!unic_grants_peer_up(c)) {
		unic_req_status(req, c ? UNIC_ST_STATE : UNIC_CTL_ST_NO_CONN);
		return;
	}
	hold.mr = hold.conn = c->obj.id; /* no region has that id */
	status = hold_new(host, unic_req_owner(req), &hold);
	h = find_hold(host, hold.conn, hold.kind, hold.number);
	if (!status && h && !h->ended && h->mr == hold.mr)
		tell_end(host, h, unic_os_now_ns(host->os));
	unic_req_status(req, status);
}

void unic_grants_grant(struct unic_req *req)
{
	struct unic_host *host = req->host;
	struct unic_ctl_grant r;
	struct unic_hold hold = { 0 };
	struct unic_htoken *t;
	struct unic_region *mr;
	struct conn *c;
	uint32_t token, stag, status;

	memcpy(&r, req->rec, sizeof(r));
	token = unic_from_le32(r.token);
	stag = unic_from_le32(r.stag);
	mr = mr_get(req, unic_from_le32(r.mr));
	c = conn_get(host, unic_from_le32(r.conn), unic_req_owner(req));
	if (r.ended) {
		grant_of_the_past(req, c, &r);
		return;
	}
	t = unic_obj_get(&host->objects, token, UNIC_OBJ_TOKEN,
			 unic_req_owner(req));
	if (!mr || !c || (token && !t)) {
		unic_req_status(req, !mr  ? UNIC_ST_NO_MR
				     : !c ? UNIC_CTL_ST_NO_CONN
					  : UNIC_ST_NO_TOKEN);
		return;
	}
	if (stag && (token || !is_stag_of(mr, stag))) {
		unic_req_status(req, UNIC_ST_INVALID);
		return;
	}
	if (mr->state != R_ACTIVE || !unic_grants_peer_up(c)) {
		unic_req_status(req, mr->state == R_ACTIVE && !c->vendor
					     ? UNIC_CTL_ST_UNSUPPORTED
					     : UNIC_ST_STATE);
		return;
	}
	hold.mr = mr->obj.id;
	hold.conn = c->obj.id;
	hold.kind = t ? UNIC_CTL_HELD_TOKEN : UNIC_CTL_HELD_STAG;
	hold.number = t ? t->index : stag ? stag : mr->stag;
	hold.token = token;
	status = hold_new(host, unic_req_owner(req), &hold);
	if (!status && mr->kind != UNIC_FORM_PLAIN)
		look_at_notices(host, unic_req_owner(req), true);
	unic_req_status(req, status);
}

/* ---------------------------------------------------------------------- both */

void unic_grants_receive(struct unic_host *host, const struct unic_mad_rx *mad)
{
	static void (*const on[])(struct unic_host *, const struct conn *,
				  const struct unic_grants_msg *) = {
		[UNIC_HOLDER_INVALIDATE] = unic_holdings_invalidate,
		[UNIC_HOLDER_INVALIDATED] = on_invalidated,
		[UNIC_HOLDER_DELEGATE] = on_delegate,
		[UNIC_HOLDER_DELEGATED] = unic_holdings_delegated,
	};
	struct unic_grants_msg msg;
	const struct conn *c;

	if (!unic_grants_parse(mad->data, &msg))
		return;
	c = unic_conn_find(host, msg.remote_comm);
	if (!unic_grants_peer_up(c) || c->obj.owner == UNIC_NOBODY ||
	    !unic_conn_is_peer(c, mad) || c->remote_comm != msg.local_comm) {
		host->held.refused++;
		return;
	}
	on[msg.type](host, c, &msg);
}

/* Ask @h for the notice of @mr, if it is not asked for that, or for one that ends
 * sooner. */
static void ask_holder(struct unic_host *host, struct unic_hold *h,
		       struct unic_region *mr, uint64_t now)
{
	const struct unic_region *cause = cause_of(host, h);

	mr->told = mr->asked_back;
	if (cause && (cause == mr ? h->asked_back == mr->asked_back
				  : cause->deadline_ns <= mr->deadline_ns))
		return;
	h->cause = mr->obj.id;
	h->asked_back = mr->asked_back;
	h->nonce = unic_grants_nonce(host);
	send_invalidate(host, h, left_us(mr->deadline_ns, now), now);
}

/* Ask those who have a form of @mr, of which the NIC has said @forms. Returns their
 * number. */
static uint32_t ask_of_forms(struct unic_host *host, struct unic_region *mr,
			     const uint8_t *forms)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_HOLDS; i++) {
		struct unic_hold *h = &host->held.hold[i];
		const struct unic_region *form;

		if (h->owner != mr->obj.owner || !is_of_form(host, h))
			continue;
		form = region_of(host, h);
		if (form->mr >= UNIC_LIST_BYTES * 8 ||
		    !(forms[form->mr / 8] & 1u << form->mr % 8))
			continue;
		n++;
		ask_holder(host, h, mr, unic_os_now_ns(host->os));
	}
	return n;
}

/* The NIC has said which forms end with a region under notice: ask those who have one of
 * them. Nobody has, and nothing has changed since the question: the grace may end. */
static void forms_done(struct unic_call *call)
{
	struct unic_req *req = unic_req_of(call);
	struct unic_host *host = req->host;
	struct unic_region *mr = mr_get(req, req->id);

	if (!mr || mr->state != R_NOTIFIED || mr->asked_back != req->id2) {
		unic_req_free(req);
		return;
	}
	mr->asking = 0;
	if (!unic_call_status(call) &&
	    !ask_of_forms(host, mr, (const uint8_t *)call->list) && !mr->unsure)
		end_grace(host, mr);
	unic_req_free(req);
	if (mr->unsure)
		ask_nic(host, mr);
}

/* Send INVALIDATE for all grants of regions that got a notice since the last call, and
 * have the NIC say which forms these have. */
static void ask_holders(struct unic_host *host)
{
	uint64_t now = unic_os_now_ns(host->os);
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++) {
		struct unic_hold *h = &host->held.hold[i];
		struct unic_region *mr = h->mr ? region_of(host, h) : NULL;

		if (mr && mr->state == R_NOTIFIED)
			ask_holder(host, h, mr, now);
	}
	for (i = 0; i < host->slots; i++)
		if (has_forms(host, i))
			look_at_notices(host, i, false);
}

/* Tell the holders of regions that ended since the last call. */
static void tell_ends(struct unic_host *host)
{
	uint64_t now = unic_os_now_ns(host->os);
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++) {
		struct unic_hold *h = &host->held.hold[i];
		const struct unic_region *mr = h->mr ? region_of(host, h)
						     : NULL;

		if (h->mr && !h->ended && (!mr || mr->state == R_EVICTED))
			tell_end(host, h, now);
	}
}

/* End the grants, INVALIDATEs and DELEGATEs of connections that have ended. */
static void end_conns(struct unic_host *host)
{
	struct unic_held *held = &host->held;
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++)
		if (held->hold[i].mr &&
		    !conn_get(host, held->hold[i].conn, UNIC_OBJ_ANYONE))
			end_hold(host, &held->hold[i]);
	unic_holdings_end(host);
}

/* End the grants of tokens that have ended. */
static void end_tokens(struct unic_host *host)
{
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++) {
		struct unic_hold *h = &host->held.hold[i];

		if (h->mr && h->token && !h->ended &&
		    !unic_obj_get(&host->objects, h->token, UNIC_OBJ_TOKEN,
				  UNIC_OBJ_ANYONE))
			end_hold(host, h);
	}
}

void unic_grants_step(struct unic_host *host)
{
	const uint32_t *freed = host->objects.freed;
	struct unic_held *held = &host->held;

	/* first: the tokens of a region end with it */
	if (held->mrs_freed != freed[UNIC_OBJ_MR] ||
	    held->evicted != host->evicted) {
		held->mrs_freed = freed[UNIC_OBJ_MR];
		held->evicted = host->evicted;
		tell_ends(host);
	}
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

/* Repeat the INVALIDATE of @h while the notice is open, or a second long after the end of
 * its region. An OFFER that was accepted ends it; another region of a form's may be under
 * notice, too. */
static void poll_hold(struct unic_host *host, struct unic_hold *h, uint64_t now)
{
	const struct unic_region *cause = cause_of(host, h);

	if (!h->ended && !cause) {
		h->nonce = 0;
		if (is_of_form(host, h))
			look_at_notices(host, h->owner, true);
	} else if (now < h->again_ns) {
		unic_grants_wake_at(host, h->again_ns);
	} else if (h->ended) {
		tell_end(host, h, now);
	} else {
		send_invalidate(host, h, left_us(cause->deadline_ns, now), now);
	}
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
	unic_holdings_poll(host, now);
	return host->held.next_ns;
}

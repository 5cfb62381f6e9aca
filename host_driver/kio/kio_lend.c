/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_lend.c - see kio_lend.h.
 */
#include "kio_lend.h"

#include "kio_conn.h"
#include "kio_pages.h"

#define AGAIN_NS 5000000ull /* until a refused request is sent again */

/* --------------------------------------------------------------- requests */

/* Fill in the pieces of a TOKEN_ALLOC: one contiguous range goes into the request, more
 * pieces follow behind it. */
static void token_request(struct unic_kio_conn *c, uint32_t at,
			  struct unic_ctl_token_alloc *r,
			  struct unic_token_piece *tail, uint32_t *pieces)
{
	struct unic_kio_node *n = c->node;

	*pieces = 0;
	r->mr = unic_to_le32(n->mr);
	if (unic_kio_conn_outgoing(c)) {
		const struct unic_kio *io = unic_kio_conn_client(c)->slot[at];

		r->length = unic_to_le32(io->len);
		r->iova = io->piece[0].bus;
		if (io->pieces == 1)
			return;
		r->iova = unic_to_le64(0);
		r->flags = unic_to_le32(UNIC_TOKEN_F_PIECES);
		*pieces = io->pieces;
		memcpy(tail, io->piece, io->pieces * sizeof(*tail));
	} else {
		const struct unic_kio_job *job =
			&unic_kio_conn_server(c)->job[at];

		r->iova = unic_to_le64(unic_kio_ring_at(&n->ring, job->buf));
		r->length = job->ask.len;
	}
}

static bool send_token_alloc(struct unic_kio_conn *c, uint32_t at)
{
	struct {
		struct unic_ctl_token_alloc r;
		struct unic_token_piece tail[UNIC_TOKEN_PIECES];
	} msg = { 0 };
	uint32_t pieces;

	token_request(c, at, &msg.r, msg.tail, &pieces);
	return unic_kio_ask(c->node, UNIC_CTL_TOKEN_ALLOC, &msg,
			    pieces * (uint32_t)sizeof(*msg.tail),
			    unic_kio_conn_link(c), at);
}

/* True if what place @at of @c has, or wants, is a region. */
static bool is_region(struct unic_kio_conn *c, uint32_t at)
{
	return unic_kio_conn_outgoing(c) &&
	       unic_kio_conn_client(c)->slot[at]->how == UNIC_KIO_BY_RDMA;
}

/* Register exactly the bytes of the I/O of place @at, for the peer to read if it is a
 * WRITE, else to write. The driver chooses an address by chance. */
static bool send_lend(struct unic_kio_conn *c, uint32_t at)
{
	const struct unic_kio *io = unic_kio_conn_client(c)->slot[at];
	struct {
		struct unic_ctl_mr_reg r;
		unic_le64 page[UNIC_KIO_PAGES];
	} msg = { 0 };
	uint32_t n = unic_kio_pages(io, &msg.r.page_shift, msg.page), tag;

	msg.r.account = unic_kio_account_charge(c->node, io, n, &tag);
	msg.r.user = unic_to_le32(tag);
	msg.r.va = io->piece[0].bus;
	msg.r.length = unic_to_le64(io->len);
	msg.r.pd = unic_to_le32(c->node->pd);
	msg.r.mr_class = UNIC_CLASS_RDMA;
	msg.r.key = (uint8_t)(io->id / UNIC_KIO_WINDOW);
	msg.r.flags = UNIC_CTL_REG_RANDOM;
	msg.r.rights = io->op == UNIC_KIO_WRITE
			       ? UNIC_MR_REMOTE_READ
			       : UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE;
	return unic_kio_ask(c->node, UNIC_CTL_MR_REG, &msg,
			    n * (uint32_t)sizeof(*msg.page),
			    unic_kio_conn_link(c), at);
}

/* End the token or the region of place @at. */
static bool send_end(struct unic_kio_conn *c, uint32_t at)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(c->token_id[at]) };

	return unic_kio_ask(c->node,
			    is_region(c, at) ? UNIC_CTL_MR_DEREG
					     : UNIC_CTL_TOKEN_CANCEL,
			    &r, 0, unic_kio_conn_link(c), at);
}

/* ----------------------------------------------------------------- answers */

static void token_done(struct unic_kio_conn *c, uint32_t at, uint32_t status,
		       const uint64_t *rec)
{
	struct unic_ctl_token_reply r;

	memcpy(&r, rec, sizeof(r));
	c->token_id[at] = unic_from_le32(r.id);
	if (unic_kio_conn_outgoing(c))
		unic_kio_token(unic_kio_conn_client(c), at, !status,
			       unic_from_le32(r.index), unic_from_le64(r.key));
	else
		unic_kio_server_token(unic_kio_conn_server(c), at, !status,
				      unic_from_le32(r.index),
				      unic_from_le64(r.key));
}

static void region_done(struct unic_kio_conn *c, uint32_t at, uint32_t status,
			const uint64_t *rec)
{
	struct unic_ctl_mr_reg_reply r;

	if (status == UNIC_CTL_ST_RESET) {
		c->node->unsure = true; /* the pages stay the NIC's */
		return;
	}
	memcpy(&r, rec, sizeof(r));
	c->token_id[at] = unic_from_le32(r.id);
	unic_kio_token(unic_kio_conn_client(c), at, !status,
		       unic_from_le32(r.stag), unic_from_le64(r.iova));
}

/* @none: the status that says that the token or region is not there. */
static void end_done(struct unic_kio_conn *c, uint32_t at, uint32_t status,
		     uint32_t none)
{
	/* BUSY: a message is arriving, and the NIC is of an earlier version;
	 * others: out of memory, or a reset */
	if (status && status != none) {
		c->want_cancel |= 1u << at;
		c->cancel_ns = c->node->now_ns + AGAIN_NS;
	} else if (unic_kio_conn_outgoing(c)) {
		unic_kio_ended(unic_kio_conn_client(c), at);
	} else {
		unic_kio_server_ended(unic_kio_conn_server(c), at);
	}
}

void unic_kio_lend_reply(struct unic_kio_conn *c,
			 const struct unic_kio_ask *ask, uint32_t status,
			 const uint64_t *rec)
{
	switch (ask->op) {
	case UNIC_CTL_TOKEN_ALLOC:
		token_done(c, ask->at, status, rec);
		break;
	case UNIC_CTL_MR_REG:
		region_done(c, ask->at, status, rec);
		break;
	case UNIC_CTL_TOKEN_CANCEL:
		end_done(c, ask->at, status, UNIC_ST_NO_TOKEN);
		break;
	case UNIC_CTL_MR_DEREG:
		end_done(c, ask->at, status, UNIC_ST_NO_MR);
		break;
	default: /* REJECT */
		break;
	}
}

/* -------------------------------------------------------------------- poll */

void unic_kio_lend_poll(struct unic_kio_conn *c)
{
	uint32_t at, want;

	for (want = c->want_token; want; want &= want - 1) {
		at = (uint32_t)__builtin_ctz(want);
		if (!(is_region(c, at) ? send_lend(c, at)
				       : send_token_alloc(c, at)))
			return;
		c->want_token &= ~(1u << at);
	}
	if (c->node->now_ns < c->cancel_ns)
		return;
	for (want = c->want_cancel; want; want &= want - 1) {
		at = (uint32_t)__builtin_ctz(want);
		if (!send_end(c, at))
			return;
		c->want_cancel &= ~(1u << at);
	}
}

bool unic_kio_lend_waits(const struct unic_kio_conn *c)
{
	return c->want_token || c->want_cancel;
}

void unic_kio_lend_forget(struct unic_kio_conn *c)
{
	c->want_token = c->want_cancel = 0;
}

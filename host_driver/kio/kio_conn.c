/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_conn.c - see kio_conn.h.
 */
#include "kio_conn.h"

/* ------------------------------------------------------- for the client */

/* True if @io sends more pieces than a work request has. */
static bool needs_form(const struct unic_kio *io)
{
	return io->op == UNIC_KIO_WRITE && io->how == UNIC_KIO_BY_TOKEN &&
	       io->pieces > UNIC_KIO_GATHER;
}

static void put_form(struct unic_kio_node *n, struct unic_kio *io)
{
	if (io->form)
		unic_kio_ring_form_put(&n->ring, io->form);
	io->form = 0;
}

/* Take a form, if @io needs one, and a place in the window of its user: the form first,
 * since it can be put back and nobody knows. */
static enum unic_kio_ready client_prepare(struct unic_kio_client *k,
					  struct unic_kio *io)
{
	const struct unic_kio_conn *c = k->of;

	io->form = needs_form(io) ? unic_kio_ring_form(&c->node->ring) : 0;
	if (needs_form(io) && !io->form)
		return UNIC_KIO_FULL;
	if (unic_kio_account_begin(c->node, io))
		return UNIC_KIO_READY;
	put_form(c->node, io);
	return UNIC_KIO_LATER;
}

static void client_release(struct unic_kio_client *k, struct unic_kio *io)
{
	const struct unic_kio_conn *c = k->of;

	unic_kio_account_end(c->node, io);
	/* a WRITE to another host, which was polled before, may wait for it */
	c->node->window_opens |= io->form != 0;
	put_form(c->node, io);
}

static bool client_send(struct unic_kio_client *k,
			const struct unic_kio_msg *msg,
			const struct unic_kio *io)
{
	struct unic_kio_conn *c = k->of;

	if (c->state != UNIC_KIO_C_UP)
		return false;
	if (io && unic_kio_asked(k) == 1) /* only now is an answer due */
		unic_kio_conn_heard(c, unic_os_now_ns(c->node->config.os));
	return unic_kio_ring_send(&c->node->ring, unic_kio_conn_link(c), msg,
				  io ? io->name : NULL,
				  io ? io->name_bytes : 0);
}

static bool client_data(struct unic_kio_client *k, uint32_t at,
			const struct unic_kio_msg *msg,
			const struct unic_kio *io)
{
	struct unic_kio_conn *c = k->of;
	struct unic_kio_data data = {
		.piece = io->piece,
		.pieces = io->pieces,
		.form = io->form,
		.token = io->token,
		.key = io->key,
	};

	return c->state == UNIC_KIO_C_UP &&
	       unic_kio_ring_data(&c->node->ring, unic_kio_conn_link(c), msg,
				  &data, UNIC_KIO_TAG_CLIENT, at);
}

static void client_token(struct unic_kio_client *k, uint32_t at,
			 const struct unic_kio *io)
{
	struct unic_kio_conn *c = k->of;

	(void)io;
	c->want_token |= 1u << at;
}

static void client_cancel(struct unic_kio_client *k, uint32_t at,
			  const struct unic_kio *io)
{
	struct unic_kio_conn *c = k->of;

	(void)io;
	c->want_cancel |= 1u << at;
}

static const struct unic_kio_link client_link = {
	.prepare = client_prepare,
	.release = client_release,
	.send = client_send,
	.data = client_data,
	.token = client_token,
	.cancel = client_cancel,
};

/* ------------------------------------------------------- for the server */

static struct unic_token_piece piece_of(const struct unic_kio_node *n,
					const void *buf, uint32_t bytes)
{
	return (struct unic_token_piece){
		.bus = unic_to_le64(unic_kio_ring_at(&n->ring, buf)),
		.len = unic_to_le32(bytes),
	};
}

static bool server_send(struct unic_kio_server *s,
			const struct unic_kio_msg *msg)
{
	struct unic_kio_conn *c = s->of;

	c->node->served += msg->op == UNIC_KIO_ANSWER;
	return c->state == UNIC_KIO_C_UP &&
	       unic_kio_ring_send(&c->node->ring, unic_kio_conn_link(c), msg,
				  NULL, 0);
}

static bool server_data(struct unic_kio_server *s, uint32_t at,
			const struct unic_kio_msg *msg, uint32_t bytes)
{
	const struct unic_kio_job *job = &s->job[at];
	struct unic_kio_conn *c = s->of;
	struct unic_token_piece piece = piece_of(c->node, job->buf, bytes);
	struct unic_kio_data data = {
		.piece = &piece,
		.pieces = 1,
		.token = unic_from_le32(job->ask.token),
		.key = unic_from_le64(job->ask.key),
	};

	c->node->served++;
	return c->state == UNIC_KIO_C_UP &&
	       unic_kio_ring_data(&c->node->ring, unic_kio_conn_link(c), msg,
				  &data, UNIC_KIO_TAG_SERVER, at);
}

static bool server_move(struct unic_kio_server *s, uint32_t at, uint32_t bytes)
{
	const struct unic_kio_job *job = &s->job[at];
	struct unic_kio_conn *c = s->of;
	struct unic_kio_rdma rdma = {
		.piece = piece_of(c->node, job->buf, bytes),
		.read = job->ask.op == UNIC_KIO_WRITE,
		.stag = unic_from_le32(job->ask.token),
		.iova = unic_from_le64(job->ask.key),
	};

	return c->state == UNIC_KIO_C_UP &&
	       unic_kio_ring_rdma(&c->node->ring, unic_kio_conn_link(c), &rdma,
				  at);
}

static void server_token(struct unic_kio_server *s, uint32_t at)
{
	struct unic_kio_conn *c = s->of;

	c->want_token |= 1u << at;
}

static void server_cancel(struct unic_kio_server *s, uint32_t at)
{
	struct unic_kio_conn *c = s->of;

	c->want_cancel |= 1u << at;
}

/* Take a buffer for a job, unless the users of this host need those that are left. */
static void *server_buf_get(struct unic_kio_server *s)
{
	const struct unic_kio_conn *c = s->of;
	struct unic_kio_node *n = c->node;
	uint32_t i, kept = 0, left = 0;

	for (i = 0; i < UNIC_KIO_USERS; i++)
		kept += !n->user[i].used;
	for (i = 0; i < UNIC_KIO_BUFFERS; i++)
		left += n->ring.free >> i & 1;
	if (left > kept)
		return unic_kio_ring_get(&n->ring);
	n->buf_wanted |= 1u << unic_kio_conn_link(c);
	return NULL;
}

static void server_buf_put(struct unic_kio_server *s, void *buf)
{
	const struct unic_kio_conn *c = s->of;

	unic_kio_ring_put(&c->node->ring, buf);
}

static const struct unic_kio_server_link server_link = {
	.send = server_send,
	.data = server_data,
	.move = server_move,
	.token = server_token,
	.cancel = server_cancel,
	.buf_get = server_buf_get,
	.buf_put = server_buf_put,
};

void unic_kio_conn_init(struct unic_kio_node *n)
{
	uint32_t i;

	for (i = 0; i < UNIC_KIO_LINKS; i++) {
		struct unic_kio_conn *c = &n->conn[i];

		c->node = n;
		if (unic_kio_conn_outgoing(c)) {
			unic_kio_client_init(unic_kio_conn_client(c),
					     &client_link);
			unic_kio_conn_client(c)->of = c;
			unic_kio_conn_client(c)->rdma = n->rdma;
		} else {
			unic_kio_server_init(unic_kio_conn_server(c),
					     &server_link, n->config.store);
			unic_kio_conn_server(c)->of = c;
		}
	}
}

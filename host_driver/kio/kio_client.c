/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_client.c - see kio_client.h. */
#include "kio_client.h"

/* An id is the slot and which of its I/Os: an answer to an earlier one that was
 * given up fits nothing. */
#define SLOT_OF(id) ((id) % UNIC_KIO_WINDOW)

void unic_kio_client_init(struct unic_kio_client *c,
			  const struct unic_kio_link *link)
{
	memset(c, 0, sizeof(*c));
	c->link = link;
	c->window = UNIC_KIO_WINDOW;
}

/* ------------------------------------------------------------- the window */

static void begin(struct unic_kio_client *c, uint32_t at)
{
	struct unic_kio *io = c->head;

	c->head = io->next;
	c->slot[at] = io;
	c->busy++;
	io->id = c->turn++ * UNIC_KIO_WINDOW + at;
	io->state = UNIC_KIO_TOKEN;
	c->link->token(c, at, io);
}

static void fill_window(struct unic_kio_client *c)
{
	uint32_t at;

	for (at = 0; at < UNIC_KIO_WINDOW; at++) {
		if (!c->up || !c->head || c->busy >= c->window)
			return;
		if (!c->slot[at])
			begin(c, at);
	}
}

static void end(struct unic_kio_client *c, uint32_t at, int status,
		uint32_t bytes)
{
	struct unic_kio *io = c->slot[at];

	c->slot[at] = NULL;
	c->busy--;
	io->state = UNIC_KIO_DONE;
	io->done(io, status, bytes);
	fill_window(c);
}

/* Its pages may still be written to: not before the token has ended. */
static void give_up(struct unic_kio_client *c, uint32_t at, int why)
{
	struct unic_kio *io = c->slot[at];
	bool has = io->state == UNIC_KIO_ASKED;

	if (io->state == UNIC_KIO_CANCEL)
		return;
	io->state = UNIC_KIO_CANCEL;
	io->why = why;
	if (has) /* else it is on its way, and cancelled when it comes */
		c->link->cancel(c, at, io);
}

void unic_kio_window(struct unic_kio_client *c, uint32_t n)
{
	c->window = n < 1 ? 1 : n > UNIC_KIO_WINDOW ? UNIC_KIO_WINDOW : n;
	fill_window(c);
}

uint64_t unic_kio_demand(const struct unic_kio_client *c)
{
	return (uint64_t)c->window * c->mean_bytes;
}

/* ------------------------------------------------------------------- I/Os */

int unic_kio_read(struct unic_kio_client *c, struct unic_kio *io)
{
	uint64_t sum = 0;
	uint32_t i;

	if (!io->pieces || io->pieces > UNIC_TOKEN_PIECES)
		return -EINVAL;
	for (i = 0; i < io->pieces; i++)
		sum += unic_from_le32(io->piece[i].len);
	if (!io->len || io->len > UNIC_KIO_MAX || sum != io->len)
		return -EINVAL;
	c->mean_bytes =
		c->mean_bytes ? c->mean_bytes - c->mean_bytes / 8 + io->len / 8
			      : io->len;
	io->state = UNIC_KIO_QUEUED;
	io->next = NULL;
	if (c->head)
		c->tail->next = io;
	else
		c->head = io;
	c->tail = io;
	fill_window(c);
	return 0;
}

static bool ask(struct unic_kio_client *c, const struct unic_kio *io)
{
	struct unic_kio_msg msg = {
		.op = UNIC_KIO_READ,
		.id = unic_to_le32(io->id),
		.object = unic_to_le32(io->object),
		.offset = unic_to_le64(io->offset),
		.len = unic_to_le32(io->len),
		.token = unic_to_le32(io->token),
		.key = unic_to_le64(io->key),
	};

	return c->link->send(c, &msg);
}

void unic_kio_token(struct unic_kio_client *c, uint32_t at, bool ok,
		    uint32_t token, uint64_t key)
{
	struct unic_kio *io = c->slot[at];
	bool late = io->state == UNIC_KIO_CANCEL;

	if (!ok) {
		end(c, at, late ? io->why : -ENOBUFS, 0);
		return;
	}
	io->token = token;
	io->key = key;
	if (late) {
		c->link->cancel(c, at, io);
		return;
	}
	io->state = UNIC_KIO_ASKED;
	if (!ask(c, io))
		give_up(c, at, -EIO);
}

void unic_kio_ended(struct unic_kio_client *c, uint32_t at)
{
	struct unic_kio *io = c->slot[at];

	if (io && io->state == UNIC_KIO_CANCEL)
		end(c, at, io->why, 0);
	else if (io && io->state == UNIC_KIO_ASKED)
		end(c, at, -EIO, 0); /* evicted, aborted: nobody answers it */
}

void unic_kio_message(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		      uint32_t payload)
{
	uint32_t id = unic_from_le32(msg->id), at = SLOT_OF(id);
	struct unic_kio *io = c->slot[at];

	if (msg->op != UNIC_KIO_ANSWER || !io || io->id != id ||
	    io->state != UNIC_KIO_ASKED)
		return;
	/* bytes placed are the NIC's word, and mean that the token is used up */
	if (payload)
		end(c, at, msg->status ? -EIO : 0, payload);
	else /* an error, a payload refused, or the end of the file */
		give_up(c, at, msg->status || msg->len ? -EIO : 0);
}

/* ------------------------------------------------------ link and deadlines */

void unic_kio_up(struct unic_kio_client *c, bool up)
{
	uint32_t at;

	c->up = up;
	for (at = 0; !up && at < UNIC_KIO_WINDOW; at++)
		if (c->slot[at])
			give_up(c, at, -EIO);
	fill_window(c);
}

/* Those that wait for a slot, or for a link, have deadlines, too. */
static uint64_t expire_queued(struct unic_kio_client *c, uint64_t now_ns)
{
	struct unic_kio **at = &c->head, *io, *late = NULL;
	uint64_t next = UINT64_MAX;

	c->tail = NULL;
	while ((io = *at)) {
		if (io->deadline_ns <= now_ns) {
			*at = io->next;
			io->next = late;
			late = io;
			continue;
		}
		if (io->deadline_ns < next)
			next = io->deadline_ns;
		c->tail = io;
		at = &io->next;
	}
	while ((io = late)) { /* done() may queue again */
		late = io->next;
		io->state = UNIC_KIO_DONE;
		io->done(io, -ETIMEDOUT, 0);
	}
	return next;
}

uint64_t unic_kio_client_poll(struct unic_kio_client *c, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	uint32_t at;

	for (at = 0; at < UNIC_KIO_WINDOW; at++) {
		struct unic_kio *io = c->slot[at];

		if (!io || io->state == UNIC_KIO_CANCEL)
			continue;
		if (io->deadline_ns <= now_ns)
			give_up(c, at, -ETIMEDOUT);
		else if (io->deadline_ns < next)
			next = io->deadline_ns;
	}
	now_ns = expire_queued(c, now_ns);
	return now_ns < next ? now_ns : next;
}

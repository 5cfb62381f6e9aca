/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* kio_client.c - see kio_client.h. */
#include "kio_client.h"

#include "kio_pages.h"

/* An id has the slot in its low part and a turn above: an answer to an earlier I/O of
 * the slot fits no I/O. */
#define SLOT_OF(id) ((id) % UNIC_KIO_WINDOW)

void unic_kio_client_init(struct unic_kio_client *c,
			  const struct unic_kio_link *link)
{
	memset(c, 0, sizeof(*c));
	c->link = link;
	c->window = UNIC_KIO_WINDOW;
}

/* True if the answer to @io brings bytes. */
static bool brings_bytes(const struct unic_kio *io)
{
	return io->op == UNIC_KIO_READ || io->op == UNIC_KIO_LIST;
}

static bool is_rdma(const struct unic_kio *io)
{
	return io->how == UNIC_KIO_BY_RDMA;
}

/* True if @io has a token or a region while it is under way. */
static bool needs_token(const struct unic_kio *io)
{
	return brings_bytes(io) || is_rdma(io);
}

static void send_request(struct unic_kio_client *c, uint32_t at);

static bool has_region(const struct unic_kio *io)
{
	unic_le64 page[UNIC_KIO_PAGES];
	uint8_t shift;

	return unic_kio_pages(io, &shift, page);
}

/* ------------------------------------------------------------- the window */

/* Does @io never go by RDMA? Then the window counts it; those that may have an account
 * with a window (kio_account.h). */
static bool in_window(const struct unic_kio_client *c,
		      const struct unic_kio *io)
{
	return !c->rdma || io->token_only;
}

static uint8_t choose_how(const struct unic_kio_client *c,
			  const struct unic_kio *io)
{
	if (!c->rdma || c->old || io->no_room || io->tries >= UNIC_KIO_AGAIN ||
	    (brings_bytes(io) && !io->clean) || !io->whole)
		return UNIC_KIO_BY_TOKEN;
	return UNIC_KIO_BY_RDMA;
}

/* Begin the I/O of slot @at, or begin it again. */
static void begin_try(struct unic_kio_client *c, uint32_t at)
{
	struct unic_kio *io = c->slot[at];

	io->id = c->turn++ * UNIC_KIO_WINDOW + at;
	io->moved = 0;
	io->given = io->redo = false;
	c->by_token += !in_window(c, io) && io->len && !is_rdma(io);
	if (!needs_token(io)) {
		send_request(c, at);
		return;
	}
	io->state = UNIC_KIO_TOKEN;
	c->link->token(c, at, io);
}

static void begin_io(struct unic_kio_client *c, uint32_t at,
		     struct unic_kio *io)
{
	c->slot[at] = io;
	c->busy++;
	c->in_window += in_window(c, io);
	begin_try(c, at);
}

/* Take the first I/O that may begin out of the queue; NULL: there is none. */
static struct unic_kio *next_ready(struct unic_kio_client *c)
{
	struct unic_kio *io, *before = NULL;

	for (io = c->head; io; before = io, io = io->next) {
		enum unic_kio_ready ready;

		if (in_window(c, io) && c->in_window >= c->window) {
			if (!c->rdma)
				return NULL; /* nor may those behind it */
			continue;
		}
		io->how = choose_how(c, io);
		ready = c->link->prepare(c, io);
		if (ready == UNIC_KIO_FULL)
			return NULL;
		if (ready == UNIC_KIO_LATER)
			continue;
		if (before)
			before->next = io->next;
		else
			c->head = io->next;
		if (c->tail == io)
			c->tail = before;
		return io;
	}
	return NULL;
}

static void fill_window(struct unic_kio_client *c)
{
	struct unic_kio *io;
	uint32_t at;

	for (at = 0; at < UNIC_KIO_WINDOW; at++) {
		if (!c->up)
			return;
		if (c->slot[at])
			continue;
		io = next_ready(c);
		if (!io)
			return;
		begin_io(c, at, io);
	}
}

/* Take the I/O of slot @at out of it. The next fill_window() uses the slot again. */
static struct unic_kio *leave_slot(struct unic_kio_client *c, uint32_t at)
{
	struct unic_kio *io = c->slot[at];

	c->slot[at] = NULL;
	c->busy--;
	c->in_window -= in_window(c, io);
	c->link->release(c, io);
	return io;
}

static void end_io(struct unic_kio_client *c, uint32_t at, int status,
		   uint32_t bytes)
{
	struct unic_kio *io = leave_slot(c, at);

	io->state = UNIC_KIO_DONE;
	io->done(io, status, bytes);
}

/* Try the I/O by RDMA of slot @at again: by RDMA at once, and by token when the link has
 * what it needs for that, before all others that wait. */
static void try_again(struct unic_kio_client *c, uint32_t at)
{
	struct unic_kio *io = c->slot[at];

	if (choose_how(c, io) == UNIC_KIO_BY_RDMA) {
		begin_try(c, at);
		return;
	}
	leave_slot(c, at);
	io->state = UNIC_KIO_QUEUED;
	io->next = c->head;
	c->head = io;
	if (!io->next)
		c->tail = io;
}

/* Tell the server to do nothing more for @io, by RDMA, which is late. What it does for it
 * after the end of the region would end the connection, with the I/Os of others. */
static void give_up_late(struct unic_kio_client *c, const struct unic_kio *io)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_DATA,
				    .id = unic_to_le32(io->id) };

	c->link->send(c, &msg,
		      NULL); /* false: there is no connection to lose */
}

/* Give up the I/O of slot @at with status @why. It ends when the NIC has stopped using
 * its pages. */
static void cancel_io(struct unic_kio_client *c, uint32_t at, int why)
{
	struct unic_kio *io = c->slot[at];
	uint8_t state = io->state;

	if (state == UNIC_KIO_CANCEL)
		return;
	io->why = why;
	io->state = UNIC_KIO_CANCEL;
	if (state == UNIC_KIO_ASKED && is_rdma(io) && why == -ETIMEDOUT)
		give_up_late(c, io);
	if (state == UNIC_KIO_ASKED && needs_token(io))
		c->link->cancel(c, at, io);
	else if (state == UNIC_KIO_ASKED)
		end_io(c, at, why, io->moved);
	/* TOKEN: unic_kio_token() cancels; FLYING: unic_kio_sent() ends the I/O */
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

static bool is_valid_io(const struct unic_kio *io)
{
	bool bytes = brings_bytes(io) || io->op == UNIC_KIO_WRITE;
	uint64_t sum = 0;
	uint32_t i;

	if (!io->op || io->op >= UNIC_KIO_OPS ||
	    io->pieces > UNIC_TOKEN_PIECES || io->len > UNIC_KIO_MAX ||
	    bytes != !!io->len)
		return false;
	for (i = 0; i < io->pieces; i++)
		sum += unic_from_le32(io->piece[i].len);
	return sum == io->len;
}

static void update_mean(struct unic_kio_client *c, uint32_t len)
{
	if (c->mean_bytes)
		c->mean_bytes += len / 8 - c->mean_bytes / 8;
	else
		c->mean_bytes = len;
}

int unic_kio_start(struct unic_kio_client *c, struct unic_kio *io)
{
	if (!is_valid_io(io))
		return -EINVAL;
	if (io->len)
		update_mean(c, io->len);
	io->state = UNIC_KIO_QUEUED;
	io->tries = 0;
	io->no_room = false;
	io->whole = !in_window(c, io) && has_region(io);
	io->next = NULL;
	if (c->head)
		c->tail->next = io;
	else
		c->head = io;
	c->tail = io;
	fill_window(c);
	return 0;
}

static void send_request(struct unic_kio_client *c, uint32_t at)
{
	struct unic_kio *io = c->slot[at];
	struct unic_kio_msg msg = {
		.op = io->op,
		.how = io->how,
		.name_bytes = io->name_bytes,
		.id = unic_to_le32(io->id),
		.offset = unic_to_le64(io->offset),
		.len = unic_to_le32(io->len),
	};

	if (needs_token(io)) {
		msg.token = unic_to_le32(io->token);
		msg.key = unic_to_le64(io->key);
	}
	if (io->file)
		io->wrote = io->file->wrote;
	c->by_rdma += is_rdma(io);
	io->state = UNIC_KIO_ASKED;
	if (!c->link->send(c, &msg, io))
		cancel_io(c, at, -ENOLINK);
}

void unic_kio_token(struct unic_kio_client *c, uint32_t at, bool ok,
		    uint32_t token, uint64_t key)
{
	struct unic_kio *io = c->slot[at];
	bool late = io && io->state == UNIC_KIO_CANCEL;

	if (!io || (!late && io->state != UNIC_KIO_TOKEN))
		return;
	io->token = token;
	io->key = key;
	if (ok && late) {
		c->link->cancel(c, at, io);
	} else if (ok) {
		send_request(c, at);
	} else if (is_rdma(io) && !late) {
		io->no_room = true; /* by token, then */
		try_again(c, at);
	} else {
		end_io(c, at, late ? io->why : -ENOBUFS, 0);
	}
	fill_window(c);
}

void unic_kio_ended(struct unic_kio_client *c, uint32_t at)
{
	struct unic_kio *io = c->slot[at];

	if (!io || !needs_token(io))
		return;
	if (io->state == UNIC_KIO_CANCEL && io->redo && c->up)
		try_again(c, at);
	else if (io->state == UNIC_KIO_CANCEL)
		end_io(c, at, io->why, io->why ? 0 : io->moved);
	else if (io->state == UNIC_KIO_ASKED)
		end_io(c, at, -EIO,
		       0); /* evicted or aborted: no answer comes */
	fill_window(c);
}

void unic_kio_sent(struct unic_kio_client *c, uint32_t at)
{
	struct unic_kio *io = c->slot[at];

	if (!io || io->op != UNIC_KIO_WRITE || is_rdma(io))
		return;
	if (io->state == UNIC_KIO_CANCEL)
		end_io(c, at, io->why, io->moved);
	else if (io->state == UNIC_KIO_FLYING)
		io->state = UNIC_KIO_ASKED;
	fill_window(c);
}

/* Server @boot has executed @io: update the record of its file. Returns 0, or EIO:
 * writes before this SYNC were lost with an earlier server. */
static uint32_t update_file_state(const struct unic_kio *io, uint64_t boot)
{
	struct unic_kio_file *f = io->file;
	bool lost;

	if (!f)
		return 0;
	if (f->wrote != f->synced && f->boot != boot)
		f->lost = true;
	f->boot = boot;
	if (io->op == UNIC_KIO_WRITE || io->op == UNIC_KIO_CUT)
		f->wrote++;
	if (io->op != UNIC_KIO_SYNC)
		return 0;
	lost = f->lost;
	f->lost = false;
	f->synced = io->wrote; /* later ones are for the next SYNC */
	return lost ? EIO : 0;
}

/* True if the server's token ended before the data of WRITE @io arrived: the server has
 * not executed the WRITE. */
static bool is_token_timeout(const struct unic_kio *io, uint32_t status)
{
	return io->op == UNIC_KIO_WRITE && status == ETIMEDOUT;
}

/* Try the I/O of slot @at again, as soon as its region has ended; @why: its status if
 * there is no connection then. */
static void redo_io(struct unic_kio_client *c, uint32_t at, int why)
{
	c->slot[at]->redo = true;
	cancel_io(c, at, why);
}

/* The answer to an I/O by RDMA. What it says was moved is believed, as the bytes are: the
 * pages had been zeroed. They are the NIC's still. */
static void handle_rdma_answer(struct unic_kio_client *c, uint32_t at,
			       const struct unic_kio_msg *msg)
{
	struct unic_kio *io = c->slot[at];
	uint32_t status = unic_from_le32(msg->status);
	uint32_t len = unic_from_le32(msg->len);
	bool knows = msg->how == UNIC_KIO_BY_RDMA;

	if (knows && status == ESTALE) {
		c->again++;
		io->tries++;
		redo_io(c, at, -ENOLINK);
		return;
	}
	if (!knows && status == EINVAL) {
		c->old = true;
		redo_io(c, at, -ENOLINK);
		return;
	}
	if (!status && (!knows || len > io->len))
		status = io->remote = EIO;
	if (!status)
		status = io->remote =
			update_file_state(io, unic_from_le64(msg->key));
	if (!status)
		io->moved = len;
	cancel_io(c, at, status ? -EREMOTEIO : 0);
}

static void handle_answer(struct unic_kio_client *c, uint32_t at,
			  const struct unic_kio_msg *msg, uint32_t token,
			  uint32_t payload)
{
	struct unic_kio *io = c->slot[at];
	uint32_t status = unic_from_le32(msg->status);
	uint32_t len = unic_from_le32(msg->len);

	io->size = unic_from_le64(msg->size);
	io->remote = status < 4096 ? status : EIO;
	if (is_rdma(io)) {
		handle_rdma_answer(c, at, msg);
		return;
	}
	if (needs_token(io) && payload && token == io->token) {
		/* the NIC reports payload placed, so the token is used up */
		end_io(c, at, status ? -EIO : 0, payload);
		return;
	}
	if (is_token_timeout(io, status)) {
		cancel_io(c, at, -ENOBUFS);
		return;
	}
	if (!status && io->given && len <= io->len)
		io->moved = len;
	else if (!status && (len || io->op == UNIC_KIO_WRITE))
		status = io->remote = EIO; /* no payload was placed */
	if (!status)
		status = io->remote =
			update_file_state(io, unic_from_le64(msg->key));
	cancel_io(c, at, status ? -EREMOTEIO : 0);
}

static void handle_grant(struct unic_kio_client *c, uint32_t at,
			 const struct unic_kio_msg *msg)
{
	struct unic_kio *io = c->slot[at];
	struct unic_kio_msg data = {
		.op = UNIC_KIO_DATA,
		.id = msg->id,
		.len = unic_to_le32(io->len),
	};

	if (io->op != UNIC_KIO_WRITE || io->state != UNIC_KIO_ASKED ||
	    is_rdma(io))
		return;
	io->token = unic_from_le32(msg->token);
	io->key = unic_from_le64(msg->key);
	io->state = UNIC_KIO_FLYING;
	io->given = c->link->data(c, at, &data, io);
	if (!io->given) {
		io->state = UNIC_KIO_ASKED;
		cancel_io(c, at, -ENOLINK);
	}
}

void unic_kio_message(struct unic_kio_client *c, const struct unic_kio_msg *msg,
		      uint32_t token, uint32_t payload)
{
	uint32_t id = unic_from_le32(msg->id), at = SLOT_OF(id);
	struct unic_kio *io = c->slot[at];

	if (!io || io->id != id ||
	    (io->state != UNIC_KIO_ASKED && io->state != UNIC_KIO_FLYING))
		return;
	if (msg->op == UNIC_KIO_ANSWER)
		handle_answer(c, at, msg, token, payload);
	else if (msg->op == UNIC_KIO_GRANT)
		handle_grant(c, at, msg);
	fill_window(c);
}

/* ------------------------------------------------------ link and deadlines */

void unic_kio_up(struct unic_kio_client *c, bool up)
{
	uint32_t at;

	c->up = up;
	c->old = false; /* another one may be there */
	for (at = 0; !up && at < UNIC_KIO_WINDOW; at++)
		if (c->slot[at])
			cancel_io(c, at, -ENOLINK);
	fill_window(c);
}

void unic_kio_lost(struct unic_kio_client *c, int status)
{
	uint32_t at;

	c->up = false;
	for (at = 0; at < UNIC_KIO_WINDOW; at++)
		if (c->slot[at])
			end_io(c, at, status, 0);
}

/* End late I/Os that wait for a slot or for the link. Returns the next deadline. */
static uint64_t expire_queued(struct unic_kio_client *c, uint64_t now_ns,
			      int status)
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
	while ((io = late)) { /* done() may start @io again */
		late = io->next;
		io->state = UNIC_KIO_DONE;
		io->done(io, status, 0);
	}
	return next;
}

void unic_kio_refuse(struct unic_kio_client *c, int status)
{
	expire_queued(c, UINT64_MAX, status);
}

uint32_t unic_kio_asked(const struct unic_kio_client *c)
{
	uint32_t at, n = 0;

	for (at = 0; at < UNIC_KIO_WINDOW; at++)
		n += c->slot[at] && (c->slot[at]->state == UNIC_KIO_ASKED ||
				     c->slot[at]->state == UNIC_KIO_FLYING);
	return n;
}

void unic_kio_ping(struct unic_kio_client *c)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_READ,
				    .id = unic_to_le32(c->turn++ *
						       UNIC_KIO_WINDOW) };

	c->link->send(c, &msg,
		      NULL); /* false: no room, the next one may have */
}

uint64_t unic_kio_stuck_ns(const struct unic_kio_client *c)
{
	uint64_t at_ns = UINT64_MAX;
	uint32_t at;

	for (at = 0; at < UNIC_KIO_WINDOW; at++) {
		const struct unic_kio *io = c->slot[at];

		if (io && io->state == UNIC_KIO_CANCEL && !is_rdma(io) &&
		    io->deadline_ns + UNIC_KIO_LATE_NS < at_ns)
			at_ns = io->deadline_ns + UNIC_KIO_LATE_NS;
	}
	return at_ns;
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
			cancel_io(c, at, -ETIMEDOUT);
		else if (io->deadline_ns < next)
			next = io->deadline_ns;
	}
	now_ns = expire_queued(c, now_ns, -ETIMEDOUT);
	fill_window(c);
	return now_ns < next ? now_ns : next;
}

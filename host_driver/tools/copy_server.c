/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * copy_server.c - the server end: one connection at a time, files of one folder.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy_server.h"
#include "error.h"

/* One connection. */
struct session {
	struct copy_peer *p;
	struct copy_hello hello;
	struct copy_file file;
	void *buf;
	struct unic_bm_hold hold; /* of the block that the client moves */
	bool held;
	struct unic_pay_token token;
	bool token_out;
	bool loaded; /* get: buf holds block seq */
	uint64_t seq;
	uint64_t stored; /* put: blocks in the file */
	bool met;	 /* the connection was accepted */
	bool over;
	bool unheard; /* FIN was answered, but the client may not know */
};

#define PENDING 8u

struct server {
	struct copy_peer *p;
	const char *dir;
	struct session now;  /* being served */
	struct session kept; /* its connection broke; ticket 0: none */
	struct unic_event pending[PENDING]; /* came during a session */
	unsigned int n_pending;
};

static uint32_t ticket_of(const struct session *s)
{
	return unic_from_le32(s->hello.ticket);
}

static bool same_ticket(const struct session *s, const struct copy_hello *h)
{
	return ticket_of(s) && h->again &&
	       ticket_of(s) == unic_from_le32(h->ticket);
}

/* True if the client of the session, which waits, connects again. Requests of other
 * clients stay in v->pending. */
static bool is_client_reconnecting(void *arg)
{
	struct server *v = arg;
	struct unic_event *ev;
	struct copy_hello h;

	while (v->n_pending < PENDING) {
		ev = &v->pending[v->n_pending];
		if (read(v->p->event_pipe[0], ev, sizeof(*ev)) != sizeof(*ev))
			return false;
		v->n_pending++;
		memcpy(&h, ev->private_data, sizeof(h));
		if (ev->type == UNIC_EV_CONNECT &&
		    ev->private_len >= sizeof(h) && same_ticket(&v->now, &h))
			return true;
	}
	return false;
}

static void release_block(struct session *s)
{
	if (s->token_out)
		unic_cancel_token(s->p->ctx, &s->token, NULL, NULL);
	s->token_out = false;
	if (s->held)
		unic_bm_drop(s->p->bm, &s->hold);
	s->held = false;
}

static int send_reply(struct session *s, enum copy_type type,
		      struct copy_msg *msg)
{
	msg->type = unic_to_le32(type);
	msg->seq = unic_to_le64(s->seq);
	return copy_send(s->p, msg);
}

static int hold_block(struct session *s, uint32_t len)
{
	int err;

	release_block(s);
	err = unic_bm_hold(s->p->bm, s->buf, len,
			   unic_pace_expect(unic_bm_pace(s->p->bm), len), false,
			   &s->hold);
	if (err)
		return err;
	s->held = true;
	return s->hold.len < len ? copy_fail(-EIO, "a block is in two regions")
				 : 0;
}

/* Read the next block of the file, unless buf holds it: the client may request it more
 * than once. */
static int load_block(struct session *s, uint32_t len)
{
	int err;

	if (s->loaded)
		return 0;
	if (len > s->file.size - s->file.done)
		return copy_fail(-EPROTO, "the client asks beyond the file");
	err = copy_file_get(&s->file, s->buf, len);
	s->loaded = !err;
	return err;
}

static int serve_rdma(struct session *s, uint32_t len)
{
	struct copy_msg msg = { .len = unic_to_le32(len) };
	int err = 0;

	if (s->hello.what == COPY_GET)
		err = load_block(s, len);
	if (!err)
		err = hold_block(s, len);
	if (err)
		return err;
	msg.iova = unic_to_le64(s->hold.iova);
	msg.rkey = unic_to_le32(s->hold.mr->stag);
	return send_reply(s, COPY_REGION, &msg);
}

/* Send a token for the next block, which only this client may use. */
static int serve_rpc_put(struct session *s, uint32_t len)
{
	struct copy_msg msg = { .len = unic_to_le32(len) };
	struct unic_pay_attr attr = {
		.addr = s->buf,
		.length = len,
		.ttl_us = copy_patience_ms(s->p) * 1000u,
	};
	int tries = 0;
	int err;

	do {
		err = hold_block(s, len);
		if (err)
			return err;
		attr.mr = s->hold.mr;
		err = unic_alloc_token(s->p->pd, &attr, &s->token);
	} while ((err == -EOWNERDEAD || err == -ENOENT) && ++tries < 100);
	if (err)
		return err;
	s->token_out = true;
	msg.index = unic_to_le32(s->token.index);
	msg.key = unic_to_le64(s->token.key);
	return send_reply(s, COPY_TOKEN, &msg);
}

/* Reply with a tagged message to the client's token. */
static int serve_rpc_get(struct session *s, const struct copy_msg *ask,
			 uint32_t len)
{
	struct copy_msg msg = {
		.type = unic_to_le32(COPY_DATA),
		.seq = unic_to_le64(s->seq),
		.len = unic_to_le32(len),
	};
	int err = load_block(s, len);

	if (err)
		return err;
	return copy_send_tagged(s->p, &msg, unic_from_le32(ask->index),
				unic_from_le64(ask->key), s->buf, len);
}

static int on_block_request(struct session *s, const struct copy_msg *ask)
{
	uint32_t len = unic_from_le32(ask->len);
	uint64_t seq = unic_from_le64(ask->seq);

	if (!len || len > s->p->block)
		return copy_fail(-EPROTO, "the client asks for a wrong length");
	if (seq != s->seq)
		s->loaded = false;
	s->seq = seq;
	if (s->hello.mode == COPY_RDMA)
		return serve_rdma(s, len);
	return s->hello.what == COPY_PUT ? serve_rpc_put(s, len)
					 : serve_rpc_get(s, ask, len);
}

/* Write block @seq to the file, unless that was done: the client repeats a block whose
 * confirmation was lost. */
static int store_block(struct session *s, uint64_t seq, uint32_t len)
{
	int err;

	if (seq != s->stored)
		return seq < s->stored ? 0
				       : copy_fail(-EPROTO, "a block is "
							    "missing");
	err = copy_file_put(&s->file, s->buf, len);
	s->stored += !err;
	return err;
}

/* RDMA put: the client has written the block. */
static int on_done(struct session *s, const struct copy_msg *done)
{
	struct copy_msg msg = { .status = unic_to_le32(0) };
	uint32_t len = unic_from_le32(done->len);
	int err;

	if (!s->held || len > s->p->block || s->hello.what != COPY_PUT)
		return copy_fail(-EPROTO, "a block nobody asked for");
	release_block(s);
	err = store_block(s, unic_from_le64(done->seq), len);
	return err ? err : send_reply(s, COPY_DONE, &msg);
}

/* RPC put: handle a tagged message; without payload, its token had ended. */
static int on_data(struct session *s, const struct copy_msg *data,
		   const struct copy_got *got)
{
	uint32_t len = unic_from_le32(data->len);
	bool good = got->tagged && got->payload == len;
	struct copy_msg msg = {
		.status = unic_to_le32(good ? 0 : EAGAIN),
		.index = unic_to_le32(got->reason),
	};
	int err = 0;

	if (!s->held || s->hello.what != COPY_PUT || len > s->p->block)
		return copy_fail(-EPROTO, "a block nobody asked for");
	s->token_out = s->token_out && !good;
	release_block(s);
	if (good)
		err = store_block(s, unic_from_le64(data->seq), len);
	return err ? err : send_reply(s, COPY_DONE, &msg);
}

static int on_fin(struct session *s, const struct copy_msg *fin)
{
	struct copy_msg msg = { .status = unic_to_le32(0) };
	int err = 0;

	release_block(s);
	s->seq = unic_from_le64(fin->seq);
	copy_file_digest(&s->file, msg.digest);
	s->over = true;
	if (s->hello.what == COPY_PUT &&
	    !memcmp(fin->digest, msg.digest, COPY_DIGEST))
		err = copy_file_keep(&s->file);
	if (!err)
		err = send_reply(s, COPY_FIN, &msg);
	/* The client disconnects after FIN, perhaps before its NIC acknowledges; or its
	 * connection broke, and it comes again. */
	s->unheard = err == -ECONNRESET;
	return s->unheard ? 0 : err;
}

static int handle_msg(struct session *s)
{
	struct copy_msg msg;
	struct copy_got got;
	int err = copy_recv(s->p, &msg, &got);

	if (err)
		return err;
	switch (unic_from_le32(msg.type)) {
	case COPY_ASK:
		return on_block_request(s, &msg);
	case COPY_DONE:
		return on_done(s, &msg);
	case COPY_DATA:
		return on_data(s, &msg, &got);
	case COPY_FIN:
		return on_fin(s, &msg);
	default:
		return copy_fail(-EPROTO, "an unknown message");
	}
}

/* ------------------------------------------------------------- connections */

/* Open the file of the session. A name is one component, so it cannot leave the
 * folder. */
static int open_file(struct session *s, const char *dir)
{
	char path[200];
	const char *name = s->hello.name;

	if (!memchr(name, '\0', sizeof(s->hello.name)) || !*name ||
	    *name == '.' || strchr(name, '/') ||
	    snprintf(path, sizeof(path), "%s/%s", dir, name) >=
		    (int)sizeof(path))
		return copy_fail(-EINVAL, "the client names no file");
	if (s->hello.what == COPY_GET)
		return copy_file_read(&s->file, path);
	return copy_file_write(&s->file, path, NULL,
			       unic_from_le64(s->hello.size));
}

static int accept_client(struct session *s, const struct unic_event *ev)
{
	struct copy_hello answer = s->hello;
	struct unic_conn_param param = { .private_data = &answer,
					 .private_len = sizeof(answer) };
	int err = copy_peer_qp(s->p);

	answer.size = unic_to_le64(s->file.size);
	if (!err)
		err = unic_accept(s->p->ctx, ev->conn, s->p->qp, &param);
	s->met = !err;
	return err;
}

/* End the connection, after the client has read the last message and disconnected. */
static void end_connection(struct session *s, int err)
{
	struct copy_msg msg = { .status = unic_to_le32((uint32_t)-err) };
	struct copy_got got;

	/* not to a client that has gone: no request would complete */
	if (err && err != -ECONNRESET && s->met)
		send_reply(s, COPY_ERROR, &msg);
	if (!err)
		copy_recv(s->p, &msg, &got);
	copy_peer_hangup(s->p);
}

static void end_session(struct session *s)
{
	copy_file_close(&s->file);
	unic_bm_put(s->p->bm, s->buf, s->p->block);
	*s = (struct session){ .p = s->p, .file = { .fd = -1 } };
}

static int open_session(struct session *s, const char *dir)
{
	int err = open_file(s, dir);

	if (err)
		fprintf(stderr, "unic-copy: %s\n", unic_last_error());
	return err;
}

/* Begin the session of @ev: a new one, or the kept one. */
static int begin_session(struct server *v, const struct unic_event *ev)
{
	struct session *s = &v->now;
	struct copy_hello hello;

	if (ev->private_len < sizeof(hello))
		return -EPROTO;
	memcpy(&hello, ev->private_data, sizeof(hello));
	if (same_ticket(&v->kept, &hello)) {
		*s = v->kept;
		v->kept = (struct session){ .file = { .fd = -1 } };
		s->met = s->over = s->unheard = false;
		return 0;
	}
	if (ticket_of(&v->kept))
		end_session(&v->kept);
	if (hello.again)
		return copy_fail(-ENOENT, "nothing is known of it");
	*s = (struct session){ .p = v->p,
			       .hello = hello,
			       .file = { .fd = -1 } };
	return open_session(s, v->dir);
}

static void run_session(struct server *v, const struct unic_event *ev)
{
	struct session *s = &v->now;
	int err;

	if (!s->buf)
		s->buf = unic_bm_get(s->p->bm, s->p->block);
	err = s->buf ? accept_client(s, ev) : -ENOMEM;
	while (!err && !s->over)
		err = handle_msg(s);
	if (err)
		fprintf(stderr, "unic-copy: %s: %s\n", s->hello.name,
			unic_last_error());
	release_block(s);
	if (err && s->p->keep)
		copy_peer_recover(s->p);
	else if (err == -EINTR) /* the client connects again */
		copy_peer_hangup(s->p);
	if (s->p->qp)
		end_connection(s, err);
	if (!err)
		printf("unic-copy: served %s, %llu bytes\n", s->hello.name,
		       (unsigned long long)s->file.done);
	fflush(stdout);
	if ((err || s->unheard) && ticket_of(s))
		v->kept = *s;
	else
		end_session(s);
}

static void handle_connect(struct server *v, const struct unic_event *ev)
{
	if (begin_session(v, ev))
		unic_reject(v->p->ctx, ev->conn, NULL, 0);
	else
		run_session(v, ev);
	v->now = (struct session){ .file = { .fd = -1 } };
}

/* Get the next event: a pending one, or one that comes within 0.5 s. False: none. */
static bool next_event(struct server *v, struct unic_event *ev)
{
	struct pollfd pfd = { .fd = v->p->event_pipe[0], .events = POLLIN };

	if (v->n_pending) {
		*ev = v->pending[0];
		memmove(v->pending, v->pending + 1,
			--v->n_pending * sizeof(*ev));
		return true;
	}
	return poll(&pfd, 1, 500) > 0 &&
	       read(pfd.fd, ev, sizeof(*ev)) == sizeof(*ev);
}

static int on_reset(struct copy_peer *p)
{
	if (p->keep)
		return copy_peer_recover(p);
	return copy_fail(-ENOTCONN, "the NIC was reset or the driver is gone");
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int copy_server(struct copy_peer *p, const char *dir, const volatile int *stop)
{
	struct server v = { .p = p,
			    .dir = dir,
			    .now = { .file = { .fd = -1 } },
			    .kept = { .p = p, .file = { .fd = -1 } } };
	struct unic_listener *l;
	struct unic_event ev;
	int err;

	if (access(dir, R_OK | X_OK) || !is_folder(dir))
		return copy_fail(-ENOTDIR, "there is no such folder to serve, "
					   "or it cannot be read: --dir");
	err = unic_listen(p->ctx, COPY_SERVICE, &l);
	if (err)
		return err;
	p->disturbed = is_client_reconnecting;
	/* set to NULL below */
	/* cppcheck-suppress autoVariables */
	p->disturbed_arg = &v;
	printf("unic-copy: ready, serving %s\n", dir);
	fflush(stdout);
	while (!*stop && !err) {
		if (!next_event(&v, &ev))
			continue;
		if (ev.type == UNIC_EV_CONNECT)
			handle_connect(&v, &ev);
		else if (ev.type == UNIC_EV_RESET)
			err = on_reset(p);
	}
	p->disturbed = NULL;
	p->disturbed_arg = NULL;
	if (ticket_of(&v.kept))
		end_session(&v.kept);
	unic_unlisten(l);
	return err;
}

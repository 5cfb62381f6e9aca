/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* server.c - a server: it answers each message with its like, in its turn. */
#include <errno.h>
#include <string.h>

#include "program.h"
#include "unic.h"

struct server {
	struct end e;
	uint32_t session, next; /* number of the next message */
	uint32_t owed, sent;	/* answers: to be sent, and sent */
	uint32_t busy;		/* bit per place of a send */
	struct message_head answer[MESSAGES];
	struct unic_pay_token token;
	bool has_token;
};

static bool is_bad(const struct server *s, const struct message_head *h)
{
	return h->check &&
	       !program_match(s->e.mem + WINDOW_AT, WINDOW_BYTES, h->check);
}

/* ------------------------------------------------------------------- tokens */

/* Right to place one payload, in answer @h. */
static void give_token(struct server *s, struct message_head *h)
{
	struct unic_pay_attr attr = { .mr = s->e.mr,
				      .addr = s->e.mem + TOKEN_AT,
				      .length = TOKEN_BYTES };
	int err;

	h->token = 0;
	if (s->has_token || program_below(s->e.a, 3))
		return;
	err = unic_alloc_token(s->e.pd, &attr, &s->token);
	program_may(s->e.a, err, "unic_alloc_token");
	if (err)
		return;
	s->has_token = true;
	h->token = s->token.index + 1;
	h->key = s->token.key;
}

/* @used: a message was placed by it. */
static void end_token(struct server *s, bool used)
{
	unsigned int end;
	uint32_t placed;
	int err;

	if (!s->has_token)
		return;
	s->has_token = false;
	err = unic_cancel_token(s->e.ctx, &s->token, &end, &placed);
	program_may(s->e.a, err, "unic_cancel_token");
	if (used && !err && (end != UNIC_TOKEN_USED || placed != TOKEN_BYTES))
		sim_fail("once",
			 "%s: a token was used, and ended %u with %u "
			 "bytes",
			 process_name(&s->e.a->p), end, placed);
}

/* Message @number came with payload, or with why there is none. */
static void take_payload(struct server *s, const struct unic_wc *wc,
			 uint32_t number)
{
	if (wc->opcode != UNIC_WC_RECV_TOKEN)
		sim_fail("bytes", "%s: message %u has no token",
			 process_name(&s->e.a->p), number);
	if (!wc->detail &&
	    (wc->imm != TOKEN_BYTES ||
	     !program_match(s->e.mem + TOKEN_AT, TOKEN_BYTES, number)))
		sim_fail("bytes", "%s: the payload of message %u is wrong",
			 process_name(&s->e.a->p), number);
	end_token(s, !wc->detail);
}

/* ----------------------------------------------------------------- messages */

/* A message of its session comes once, after the one before it. */
static void take(struct server *s, const struct unic_wc *wc)
{
	uint32_t i = (uint32_t)wc->wr_id - END_WR, bytes = wc->byte_len;
	const uint8_t *at = end_place(&s->e, false, i);
	struct message_head h;

	memcpy(&h, at, sizeof(h));
	if (h.bytes != bytes ||
	    !program_match(at + sizeof(h), bytes - sizeof(h), h.number))
		sim_fail("bytes", "%s: message %u of %u bytes is wrong",
			 process_name(&s->e.a->p), h.number, bytes);
	if (!s->next)
		s->session = h.session;
	if (h.session != s->session || h.number != s->next + 1)
		sim_fail("once",
			 "%s: message %u of session %x comes after %u "
			 "of %x",
			 process_name(&s->e.a->p), h.number, h.session, s->next,
			 s->session);
	s->next = h.number;
	h.bad = is_bad(s, &h);
	if (h.tagged)
		take_payload(s, wc, h.number);
	s->answer[s->owed++ % MESSAGES] = h;
}

static void answer(struct server *s)
{
	while (s->sent != s->owed && !s->e.gone && s->e.qp &&
	       !(s->busy & 1u << s->sent % MESSAGES)) {
		struct message_head h = s->answer[s->sent % MESSAGES];
		uint8_t *at = end_place(&s->e, true, s->sent);

		h.remote = s->e.mr->iova + WINDOW_AT;
		h.rkey = s->e.mr->stag;
		give_token(s, &h);
		memcpy(at, &h, sizeof(h));
		program_fill(at + sizeof(h), h.bytes - (uint32_t)sizeof(h),
			     h.number);
		end_send(&s->e, s->sent, h.bytes);
		s->busy |= 1u << s->sent++ % MESSAGES;
	}
}

static void drop(struct server *s)
{
	end_unqueue(&s->e);
	end_token(s, false);
	s->next = s->owed = s->sent = s->busy = 0;
}

/* An answer that was refused here goes again, with those behind it. */
static void sent(struct server *s, const struct unic_wc *wc)
{
	uint32_t i = (uint32_t)wc->wr_id - END_WR - MESSAGES, n;

	s->busy &= ~(1u << i);
	if (wc->status != UNIC_WC_EVICTED)
		return;
	for (n = s->owed; n != s->owed - MESSAGES; n--)
		if ((n - 1) % MESSAGES == i && n - 1 < s->sent)
			s->sent = n - 1;
}

/* False: the queue pair has ended. */
static bool completed(struct server *s, const struct unic_wc *wc)
{
	bool recv = wc->wr_id < END_WR + MESSAGES;

	s->e.open--;
	if (wc->status == UNIC_WC_EVICTED) {
		s->e.gone = true;
		if (!recv)
			sent(s, wc);
		return true;
	}
	if (wc->status) {
		/* flushed: the client may have gone, which is told later */
		if (wc->status != UNIC_WC_WR_FLUSH_ERR)
			program_broken(s->e.a, "the server's queue pair breaks",
				       wc->status);
		drop(s);
		return false;
	}
	if (!recv) {
		sent(s, wc);
		return true;
	}
	take(s, wc);
	end_receive(&s->e, (uint32_t)wc->wr_id - END_WR);
	return true;
}

static int poll_queue(struct server *s)
{
	struct unic_wc wc[4];
	int n = unic_poll_cq(s->e.cq, 4, wc), i;

	program_found(&s->e, n);
	if (n < 0)
		program_must(s->e.a, n, "unic_poll_cq");
	for (i = 0; i < n; i++)
		if (wc[i].qp == s->e.qp && !completed(s, &wc[i]))
			break;
	return n;
}

static void accept_one(struct server *s, const struct unic_event *ev)
{
	struct unic_conn_param param = { .timeout = 8 };
	int err;

	drop(s);
	err = s->e.gone ? end_renew(&s->e) : 0;
	if (!err)
		err = end_queue(&s->e);
	if (err) {
		unic_reject(s->e.ctx, ev->conn, NULL, 0);
		return;
	}
	err = unic_accept(s->e.ctx, ev->conn, s->e.qp, &param);
	program_may(s->e.a, err, "unic_accept");
	if (err)
		drop(s);
}

static void asked_back(struct server *s, const struct unic_event *ev)
{
	struct actor *a = s->e.a;

	switch (program_below(a, 3)) {
	case 0:
		program_may(a, unic_extend(ev->mr, 200, NULL, NULL),
			    "unic_extend");
		return;
	case 1:
		program_may(a, unic_release(ev->mr), "unic_release");
		s->e.gone = true;
		return;
	default:
		return;
	}
}

static void hear(struct server *s, struct unic_event *ev)
{
	switch (ev->type) {
	case UNIC_EV_CONNECT:
		accept_one(s, ev);
		break;
	case UNIC_EV_NOTICE:
		if (ev->mr == s->e.mr)
			asked_back(s, ev);
		break;
	case UNIC_EV_EVICTED:
		s->e.gone |= ev->mr == s->e.mr;
		break;
	case UNIC_EV_CQ_ERROR:
		program_broken(s->e.a, "the server's CQ fails", ev->status);
		s->e.failed = true;
		break;
	case UNIC_EV_DISCONNECTED:
	case UNIC_EV_QP_ERROR:
		if (ev->qp == s->e.qp)
			drop(s);
		break;
	default:
		break;
	}
	unic_ack_event(ev);
}

static void serve(struct server *s)
{
	struct unic_event ev;
	bool idle;

	while (!s->e.a->stop && !s->e.failed && !unic_ctx_lost(s->e.ctx)) {
		idle = !poll_queue(s);
		while (!unic_get_event(s->e.ctx, &ev)) {
			hear(s, &ev);
			idle = false;
		}
		if (s->e.gone)
			end_token(s, false);
		if (end_renew(&s->e) && !unic_ctx_lost(s->e.ctx))
			program_sleep(s->e.a, MS);
		answer(s);
		end_resize(&s->e);
		if (idle)
			program_wait(&s->e, s->e.cq, 20);
	}
}

void program_server(struct process *p)
{
	struct actor *a = p->user;
	struct server s = { 0 };
	int err;

	while (!a->stop) {
		err = end_open(&s.e, a);
		if (!err)
			err = unic_listen(s.e.ctx, SERVICE, &s.e.listener);
		while (!err) {
			serve(&s);
			if (s.e.failed ||
			    !end_recover(&s.e, end_recover_ctx, s.e.ctx))
				break;
			drop(&s);
		}
		if (s.e.ctx) {
			drop(&s);
			end_close(&s.e);
		}
		if (!a->stop)
			program_sleep(a, 200 * US);
	}
}

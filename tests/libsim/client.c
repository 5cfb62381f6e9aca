/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * client.c - a client: in each round it connects, and sends messages, whose answers come
 * in their turn; and it writes to the server's window, asks whether all of that is
 * there, and reads it.
 */
#include <errno.h>
#include <string.h>

#include "program.h"
#include "unic.h"

#define IPV4(node) (0x0a000001u + (node))
#define AHEAD	   4u /* messages without an answer, at most */
#define WR_WRITE   (END_WR + 100u)
#define WR_READ	   (END_WR + 101u)

/* Steps of a look at the window. */
enum look {
	LOOK_NONE,
	LOOK_WRITES, /* the WRITE is posted, and the question behind it */
	LOOK_READS,
};

struct client {
	struct end e;
	uint32_t session, quota;
	uint32_t sent, heard; /* messages, and their answers */
	uint32_t busy;	      /* bit per place of a send */
	uint64_t remote;      /* the window; rkey 0: not known */
	uint32_t rkey;
	uint64_t key; /* of the server's token; token 0: none is known */
	uint32_t token, tagged; /* message with payload; 0: none is open */
	enum look look;
	uint32_t pattern, asked; /* of the window; message that asks for it */
	bool wrote, wrote_well, answered, bad;
	bool broken;
};

static uint8_t *window(const struct client *c)
{
	return c->e.mem + WINDOW_AT;
}

/* ------------------------------------------------------------------ requests */

static bool may_post(const struct client *c)
{
	return !c->e.gone && !c->broken;
}

static void send_tagged(struct client *c, uint32_t n, uint32_t bytes)
{
	program_fill(c->e.mem + TOKEN_AT, TOKEN_BYTES, n);
	end_send_tagged(&c->e, n, bytes, c->token - 1, c->key);
	c->token = 0;
	c->tagged = n;
}

static void send_next(struct client *c, uint32_t check)
{
	uint32_t n = c->sent + 1;
	uint8_t *at = end_place(&c->e, true, n);
	struct message_head h = {
		.session = c->session,
		.number = n,
		.check = check,
		.bytes = (uint32_t)sizeof(h) +
			 program_below(c->e.a, MESSAGE - (uint32_t)sizeof(h)),
	};

	h.tagged = c->token && !check && !c->tagged;
	if (h.tagged)
		h.bytes = UNIC_TOKEN_CTRL_MAX;
	memcpy(at, &h, sizeof(h));
	program_fill(at + sizeof(h), h.bytes - (uint32_t)sizeof(h), n);
	if (h.tagged)
		send_tagged(c, n, h.bytes);
	else
		end_send(&c->e, n, h.bytes);
	c->busy |= 1u << n % MESSAGES;
	c->sent = n;
}

static int post_window(struct client *c, uint8_t opcode)
{
	struct unic_sg sg;
	struct unic_send_wr wr = {
		.wr_id = opcode == UNIC_WR_READ ? WR_READ : WR_WRITE,
		.opcode = opcode,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 1,
		.remote = c->remote,
		.rkey = c->rkey,
		.sg = &sg,
	};
	int n;

	program_must(c->e.a, unic_sg_of(c->e.mr, window(c), WINDOW_BYTES, &sg),
		     "unic_sg_of");
	n = unic_post_send(c->e.qp, &wr, 1);
	if (n != 1)
		sim_fail("program", "%s: unic_post_send answers %d",
			 process_name(&c->e.a->p), n);
	c->e.open++;
	return n;
}

/* A place is free when its send has completed, and its answer was heard. */
static bool may_send(const struct client *c)
{
	return may_post(c) && c->sent - c->heard < AHEAD &&
	       !(c->busy & 1u << (c->sent + 1) % MESSAGES);
}

static void begin_look(struct client *c)
{
	c->pattern = 1 + c->session % 1000u * 1000u + c->sent;
	program_fill(window(c), WINDOW_BYTES, c->pattern);
	c->wrote = c->answered = c->bad = false;
	c->wrote_well = false;
	post_window(c, UNIC_WR_WRITE);
	c->asked = c->sent + 1;
	c->look = LOOK_WRITES;
	send_next(c, c->pattern);
}

static void go_on(struct client *c)
{
	while (may_send(c) && c->sent < c->quota) {
		if (c->look == LOOK_NONE && c->rkey &&
		    !program_below(c->e.a, 4))
			begin_look(c);
		else
			send_next(c, 0);
	}
}

/* The WRITE has completed, and the question behind it is answered. */
static void judge_write(struct client *c)
{
	if (!c->wrote || !c->answered || c->look != LOOK_WRITES)
		return;
	if (c->wrote_well && c->bad)
		sim_fail("bytes",
			 "%s: a WRITE that completed was not there "
			 "for the message behind it",
			 process_name(&c->e.a->p));
	c->look = LOOK_NONE;
	if (!c->wrote_well || !may_post(c) || !c->rkey)
		return;
	memset(window(c), 0, WINDOW_BYTES);
	post_window(c, UNIC_WR_READ);
	c->look = LOOK_READS;
}

/* --------------------------------------------------------------- completions */

static void heard(struct client *c, uint32_t i, uint32_t bytes)
{
	const uint8_t *at = end_place(&c->e, false, i);
	struct message_head h;

	memcpy(&h, at, sizeof(h));
	if (h.bytes != bytes ||
	    !program_match(at + sizeof(h), bytes - (uint32_t)sizeof(h),
			   h.number))
		sim_fail("bytes", "%s: answer %u of %u bytes is wrong",
			 process_name(&c->e.a->p), h.number, bytes);
	if (h.session != c->session || h.number != c->heard + 1)
		sim_fail("once",
			 "%s: answer %u of session %x comes after %u of %x",
			 process_name(&c->e.a->p), h.number, h.session,
			 c->heard, c->session);
	c->heard = h.number;
	c->remote = h.remote;
	c->rkey = h.rkey;
	if (h.token) {
		c->token = h.token;
		c->key = h.key;
	}
	if (c->look == LOOK_WRITES && h.number == c->asked) {
		c->answered = true;
		c->bad = h.bad;
		judge_write(c);
	}
}

static void read_done(struct client *c, const struct unic_wc *wc)
{
	c->look = LOOK_NONE;
	if (wc->status == UNIC_WC_SUCCESS &&
	    !program_match(window(c), WINDOW_BYTES, c->pattern))
		sim_fail("bytes",
			 "%s: a READ brings other bytes than were "
			 "written",
			 process_name(&c->e.a->p));
}

static void window_done(struct client *c, const struct unic_wc *wc)
{
	if (wc->status == UNIC_WC_REM_EVICTED)
		c->rkey = 0; /* until the next answer */
	if (wc->wr_id == WR_READ) {
		read_done(c, wc);
		return;
	}
	c->wrote = true;
	c->wrote_well = !wc->status;
	judge_write(c);
}

/* A message that was refused here goes again, with those behind it. */
static void send_done(struct client *c, const struct unic_wc *wc)
{
	uint32_t i = (uint32_t)wc->wr_id - END_WR - MESSAGES, n;

	c->busy &= ~(1u << i);
	if (c->tagged % MESSAGES == i)
		c->tagged = 0;
	if (wc->status != UNIC_WC_EVICTED)
		return;
	for (n = c->heard + 1; n <= c->sent; n++)
		if (n % MESSAGES == i)
			c->sent = n - 1;
	if (c->look == LOOK_WRITES && c->asked > c->sent)
		c->asked = 0;
}

static void completed(struct client *c, const struct unic_wc *wc)
{
	c->e.open--;
	if (wc->status == UNIC_WC_EVICTED)
		c->e.gone = true;
	if (wc->status && wc->status != UNIC_WC_EVICTED &&
	    wc->status != UNIC_WC_REM_EVICTED) {
		program_broken(c->e.a, "the client's queue pair breaks",
			       wc->status);
		c->broken = true;
	}
	if (wc->wr_id >= WR_WRITE) {
		window_done(c, wc);
	} else if (wc->wr_id >= END_WR + MESSAGES) {
		send_done(c, wc);
	} else if (!wc->status) {
		heard(c, (uint32_t)wc->wr_id - END_WR, wc->byte_len);
		if (!c->broken)
			end_receive(&c->e, (uint32_t)wc->wr_id - END_WR);
	}
}

static int poll_queue(struct client *c)
{
	struct unic_wc wc[4];
	int n = unic_poll_cq(c->e.cq, 4, wc), i;

	program_found(&c->e, n);
	if (n < 0)
		program_must(c->e.a, n, "unic_poll_cq");
	for (i = 0; i < n; i++)
		completed(c, &wc[i]);
	return n;
}

/* -------------------------------------------------------------------- events */

static void asked_back(struct client *c, const struct unic_event *ev)
{
	struct actor *a = c->e.a;

	if (program_below(a, 2))
		return;
	program_may(a, unic_release(ev->mr), "unic_release");
	c->e.gone = true;
}

static bool hear(struct client *c)
{
	struct unic_event ev;
	bool any = false;

	while (!unic_get_event(c->e.ctx, &ev)) {
		any = true;
		if (ev.type == UNIC_EV_NOTICE && ev.mr == c->e.mr)
			asked_back(c, &ev);
		if (ev.type == UNIC_EV_EVICTED && ev.mr == c->e.mr)
			c->e.gone = true;
		c->e.failed |= ev.type == UNIC_EV_CQ_ERROR;
		if (ev.type == UNIC_EV_CQ_ERROR ||
		    ev.type == UNIC_EV_QP_ERROR ||
		    ev.type == UNIC_EV_DISCONNECTED) {
			program_broken(c->e.a, "the client is told of an end",
				       ev.status);
			c->broken = true;
		}
		unic_ack_event(&ev);
	}
	return any;
}

/* -------------------------------------------------------------------- rounds */

static bool is_finished(const struct client *c)
{
	return c->heard >= c->quota && c->look == LOOK_NONE;
}

/* Requests that the end of a question took away have no answer. */
static void ask_again(struct client *c)
{
	if (c->look == LOOK_WRITES && !c->asked && c->wrote)
		c->look = LOOK_NONE;
}

static bool talk(struct client *c)
{
	uint64_t heard_ns = sim_now();

	while (!is_finished(c) && !c->broken && !unic_ctx_lost(c->e.ctx)) {
		bool idle = !poll_queue(c);

		idle &= !hear(c);
		if (!idle)
			heard_ns = sim_now();
		c->broken |= program_silent(c->e.a, heard_ns);
		ask_again(c);
		if (c->broken)
			break;
		if (end_renew(&c->e) && !unic_ctx_lost(c->e.ctx))
			program_sleep(c->e.a, MS);
		go_on(c);
		end_resize(&c->e);
		if (idle)
			program_wait(&c->e, c->e.cq, 20);
	}
	return is_finished(c);
}

static bool connect_once(struct client *c)
{
	struct unic_conn_param param = { .timeout = 8 };
	struct actor *a = c->e.a;
	int err = c->e.gone ? end_renew(&c->e) : 0;

	if (!err)
		err = end_queue(&c->e);
	if (err)
		return false;
	err = unic_connect(c->e.qp, IPV4(a->peer), SERVICE, &param, 100, NULL,
			   NULL);
	program_may(a, err, "unic_connect");
	return !err;
}

static void round_of(struct client *c)
{
	struct actor *a = c->e.a;
	bool well;

	c->session = program_below(a, 0x7fffffff) + 1;
	c->quota = 4 + program_below(a, 30);
	c->sent = c->heard = c->busy = 0;
	c->rkey = c->token = c->tagged = 0;
	c->look = LOOK_NONE;
	c->broken = false;
	well = connect_once(c) && talk(c);
	if (well && program_below(a, 2))
		program_may(a, unic_disconnect(c->e.qp), "unic_disconnect");
	if (!a->kept || !unic_ctx_lost(c->e.ctx))
		end_unqueue(&c->e);
	hear(c);
	sim_log("%s: a round %s, %u messages", process_name(&a->p),
		well ? "is done" : "broke", c->heard);
	a->done += well;
	if (!well)
		program_sleep(a, MS);
}

void program_client(struct process *p)
{
	struct actor *a = p->user;
	struct client c = { 0 };

	while (!a->stop && a->done < a->goal) {
		if (end_open(&c.e, a)) {
			program_sleep(a, 300 * US);
			continue;
		}
		do {
			while (!a->stop && a->done < a->goal && !c.e.failed &&
			       !unic_ctx_lost(c.e.ctx))
				round_of(&c);
		} while (a->done < a->goal && !c.e.failed &&
			 end_recover(&c.e, end_recover_ctx, c.e.ctx));
		end_close(&c.e);
	}
}

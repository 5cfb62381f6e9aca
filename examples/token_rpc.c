/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * token_rpc.c - a call with a payload token: the client says where the answer is to go by
 * giving a token with its question. The answer comes in one message, its payload straight
 * to that place; no receive buffer of that size is kept ready.
 *
 *   token_rpc serve          on one host: answers one question
 *   token_rpc ADDRESS TEXT   on the other: has TEXT repeated in capitals
 */
#include <ctype.h>
#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unic/unic.h>

#define SERVICE 0x63616c6cull
#define TEXT	256u

struct call {
	uint64_t key, index; /* of the token for the answer */
	char text[TEXT];
};

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_qp *qp;
static struct unic_mr *mr;
static struct unic_conn_param param; /* the usual ones */
static struct {
	struct call out, in;
	char answer[TEXT];
} * mem;

static void must(int err, const char *what)
{
	if (err < 0)
		errx(1, "%s: %s", what, unic_last_error());
}

static void set_up(void)
{
	struct unic_mr_attr attr = { .length = sizeof(*mem),
				     .rights = UNIC_MR_LOCAL_WRITE,
				     .flags = UNIC_MR_WAIT };
	struct unic_qp_attr queues = { .sq_slots = 4, .rq_slots = 4 };
	struct unic_sg in;
	struct unic_recv_wr receive = { .num_sge = 1, .sg = &in };

	must(unic_open(NULL, &ctx), "open");
	must(unic_alloc_pd(ctx, &pd), "protection domain");
	must(unic_create_cq(pd, 16, &cq), "completion queue");
	queues.send_cq = queues.recv_cq = cq;
	must(unic_create_qp(pd, &queues, &qp), "queue pair");
	attr.addr = mem = unic_alloc(ctx, attr.length, 4096);
	must(mem ? 0 : -1, "memory");
	must(unic_reg_mr(pd, &attr, &mr), "register");
	must(unic_sg_of(mr, &mem->in, sizeof(mem->in), &in), "address");
	must(unic_post_recv(qp, &receive, 1), "receive");
}

/* The next completion of this kind. */
static struct unic_wc wait_for(unsigned int opcode)
{
	struct unic_wc wc;

	do {
		must(unic_wait_cq(cq, 5000), "wait");
		must(unic_poll_cq(cq, 1, &wc), "poll");
		if (wc.status)
			errx(1, "%s", unic_wc_status_str(wc.status));
	} while (wc.opcode != opcode);
	return wc;
}

static void send_out(struct unic_send_wr wr)
{
	struct unic_sg out;

	must(unic_sg_of(mr, &mem->out, sizeof(mem->out), &out), "address");
	wr.sg = &out;
	wr.num_sge = 1;
	wr.flags = UNIC_WR_SIGNALED;
	must(unic_post_send(qp, &wr, 1), "post");
}

static void call(const char *address, const char *text)
{
	struct unic_pay_attr place = { .mr = mr, .addr = mem->answer };
	struct unic_pay_token token;

	place.length = TEXT;
	must(unic_parse_ipv4(address, &place.sender_ipv4), "address");
	must(unic_connect(qp, place.sender_ipv4, SERVICE, &param, 5000, NULL,
			  NULL),
	     "connect");
	must(unic_alloc_token(pd, &place, &token), "token");
	mem->out = (struct call){ .key = token.key, .index = token.index };
	snprintf(mem->out.text, TEXT, "%s", text);
	send_out((struct unic_send_wr){ .opcode = UNIC_WR_SEND });
	printf("answer of %u bytes: ", wait_for(UNIC_WC_RECV_TOKEN).imm);
	puts(mem->answer);
}

/* What is sent is the control part, and behind it the payload. */
static void answer(void)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_TOKEN,
				   .ctrl_len = offsetof(struct call, text) };
	unsigned int i;

	wait_for(UNIC_WC_RECV);
	for (i = 0; i < TEXT; i++)
		mem->out.text[i] = (char)toupper(mem->in.text[i]);
	wr.remote = mem->in.key;
	wr.rkey = (uint32_t)mem->in.index;
	send_out(wr);
	wait_for(UNIC_WC_TOKEN);
	puts("answered");
}

static void serve(void)
{
	struct pollfd fd = { unic_event_fd(ctx), POLLIN, 0 };
	struct unic_listener *listener;
	struct unic_event ev;

	must(unic_listen(ctx, SERVICE, &listener), "listen");
	puts("ready");
	do
		poll(&fd, 1, -1);
	while (unic_get_event(ctx, &ev) || ev.type != UNIC_EV_CONNECT);
	must(unic_accept(ctx, ev.conn, qp, &param), "accept");
	answer();
}

int main(int argc, char **argv)
{
	if (argc != 3 && (argc != 2 || strcmp(argv[1], "serve")))
		errx(2, "usage: token_rpc serve | ADDRESS TEXT");
	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up();
	argc == 2 ? serve() : call(argv[1], argv[2]);
	unic_close(ctx);
	return 0;
}

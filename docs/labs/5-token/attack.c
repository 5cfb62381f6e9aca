/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * attack.c - a receiver with two peers: a friend, to whom it gives tokens, and a thief
 * who hears each of them. What the receiver does is in receive.c.
 *
 *   attack DRIVER
 */
#include "kit.h"
#include "receive.h"

#define CTRL  16u
#define BYTES 64u

static struct pair friend, thief;
static char *buffer, *message;
static struct unic_mr *buffer_mr, *message_mr;
static unsigned int wins;

static struct unic_mr *enter(void *mem)
{
	struct unic_mr_attr attr = { .addr = mem,
				     .length = PAGE,
				     .rights = UNIC_MR_LOCAL_WRITE };
	struct unic_mr *mr;

	must(unic_reg_mr(pd, &attr, &mr), "register");
	return mr;
}

/* A message for @token over @p. Both ends hear of it. */
static void send_over(struct pair *p, const struct unic_pay_token *token,
		      const char *text)
{
	struct unic_sg from, to;
	struct unic_recv_wr receive = { .num_sge = 1, .sg = &to };
	struct unic_send_wr wr = { .opcode = UNIC_WR_TOKEN,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &from,
				   .remote = token->key,
				   .rkey = token->index,
				   .ctrl_len = CTRL };

	memset(message, 0, CTRL + BYTES);
	strcpy(message + CTRL, text);
	must(unic_sg_of(message_mr, message, CTRL + BYTES, &from), "address");
	must(unic_sg_of(buffer_mr, buffer + BYTES, CTRL, &to), "address");
	must(unic_post_recv(p->to, &receive, 1), "post");
	must(unic_post_send(p->from, &wr, 1), "post");
	kit_next();
	kit_next();
}

static void expect(const char *what, const char *text)
{
	bool same = !strcmp(buffer, text);

	wins += !same;
	printf("%s: the buffer says \"%s\"%s\n", what, buffer,
	       same ? "" : ", and that is wrong");
}

static struct unic_pay_token offer_to_friend(void)
{
	struct unic_pay_token token;
	struct unic_attr nic;

	unic_query(ctx, &nic);
	strcpy(buffer, "nothing");
	offer(pd, buffer_mr, buffer, BYTES, nic.ipv4, unic_qp_num(friend.from),
	      &token);
	return token;
}

int main(int argc, char **argv)
{
	struct unic_pay_token token;

	(void)argc;
	kit_open(argv);
	kit_pair(&friend);
	kit_pair(&thief);
	buffer_mr = enter(buffer = kit_alloc(PAGE));
	message_mr = enter(message = kit_alloc(PAGE));

	token = offer_to_friend();
	send_over(&friend, &token, "pay 5");
	take_back(ctx, &token);
	send_over(&friend, &token, "pay 5000");
	expect("replayed", "pay 5");

	token = offer_to_friend();
	send_over(&thief, &token, "pay the thief");
	send_over(&friend, &token, "pay 7");
	take_back(ctx, &token);
	send_over(&thief, &token, "pay the thief");
	expect("overheard", "pay 7");

	token = offer_to_friend();
	take_back(ctx, &token);
	strcpy(buffer, "of another");
	send_over(&friend, &token, "pay 9");
	expect("late", "of another");

	printf("the thief won %u times\n", wins);
	unic_close(ctx);
	return wins != 0;
}

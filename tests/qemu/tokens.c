/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tokens SOCKET - what a process hears of payload tokens, through libunic, with a NIC
 * that talks to itself: the sender of a message, why it was refused; who cancels a
 * token while a message comes, how that ended. Says how often a message was first.
 */
#define PROGRAM "tokens"
#define PEER	(UNIC_PEER_UNIC | UNIC_PEER_REFUSED)

#include "own_pair.h"

#include <string.h>
#include <time.h>

#define CTRL   16u
#define BYTES  (32u * PAGE)
#define ROUNDS 200u

static uint8_t *src, *dst;
static struct unic_mr *src_mr, *dst_mr;

static struct unic_pay_token token_of(uint32_t length)
{
	struct unic_pay_attr a = { .mr = dst_mr,
				   .addr = dst + PAGE,
				   .length = length };
	struct unic_pay_token t;

	OK(unic_alloc_token(pd, &a, &t));
	return t;
}

/* A message of @len bytes of payload sets out for @t. */
static void send_to(const struct unic_pay_token *t, uint32_t len)
{
	struct unic_sg to = sg_of(dst_mr, dst, CTRL);
	struct unic_sg from = sg_of(src_mr, src, CTRL + len);
	struct unic_recv_wr rr = { .wr_id = 2, .num_sge = 1, .sg = &to };
	struct unic_send_wr wr = { .wr_id = 1,
				   .opcode = UNIC_WR_TOKEN,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &from,
				   .remote = t->key,
				   .rkey = t->index,
				   .ctrl_len = CTRL };

	memset(dst, 0xee, CTRL);
	IS(unic_post_recv(qp[1], &rr, 1) == 1);
	IS(unic_post_send(qp[0], &wr, 1) == 1);
}

/* Both sides have heard of a message of @len bytes; why it was refused, 0: it was
 * not. */
static unsigned int heard(uint32_t len)
{
	struct unic_wc wc[2]; /* of the sender, of the receiver */
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct unic_wc one = next();

		IS(one.status == UNIC_WC_SUCCESS);
		wc[one.opcode == UNIC_WC_RECV_TOKEN] = one;
	}
	IS(wc[0].opcode == UNIC_WC_TOKEN && wc[0].wr_id == 1);
	IS(wc[1].opcode == UNIC_WC_RECV_TOKEN && wc[1].wr_id == 2);
	IS(wc[0].detail == wc[1].detail);
	IS(wc[0].byte_len == (wc[0].detail ? 0 : CTRL + len));
	IS(wc[1].imm == (wc[1].detail ? 0 : len));
	IS(wc[1].byte_len == CTRL && !memcmp(dst, src, CTRL));
	return wc[0].detail;
}

static void each_reason(void)
{
	struct unic_pay_token t = token_of(100), wrong = t;
	unsigned int end;
	uint32_t placed;

	wrong.key ^= 1;
	send_to(&wrong, 100);
	IS(heard(100) == UNIC_TOKEN_BAD_KEY);
	send_to(&t, 101);
	IS(heard(101) == UNIC_TOKEN_TOO_LONG);
	send_to(&t, 100);
	IS(heard(100) == 0);
	send_to(&t, 100);
	IS(heard(100) == UNIC_TOKEN_USED);
	t = token_of(5 * PAGE);
	OK(unic_cancel_token(ctx, &t, &end, &placed));
	IS(end == UNIC_TOKEN_CANCELLED && !placed);
	send_to(&t, 5 * PAGE);
	IS(heard(5 * PAGE) == UNIC_TOKEN_CANCELLED);
}

/* A token is cancelled @us after its message set out: that is never refused, and all
 * agree on how it ended. True: the message was first. */
static bool raced(long us)
{
	struct timespec nap = { 0, us * 1000 };
	struct unic_pay_token t = token_of(BYTES);
	unsigned int end, why;
	uint32_t placed;

	memset(dst + PAGE, 0xee, BYTES);
	send_to(&t, BYTES);
	if (us)
		nanosleep(&nap, NULL);
	OK(unic_cancel_token(ctx, &t, &end, &placed));
	IS(end == UNIC_TOKEN_USED || end == UNIC_TOKEN_CANCELLED);
	if (end == UNIC_TOKEN_CANCELLED)
		memset(dst + PAGE, 0xdd, BYTES); /* it is ours again */
	why = heard(BYTES);
	if (end == UNIC_TOKEN_USED) {
		IS(!why && placed == BYTES);
		IS(!memcmp(dst + PAGE, src + CTRL, BYTES));
		return true;
	}
	IS(why == UNIC_TOKEN_CANCELLED && placed < BYTES);
	for (placed = 0; placed < BYTES; placed++)
		IS(dst[PAGE + placed] == 0xdd);
	return false;
}

int main(int argc, char **argv)
{
	struct unic_mr_attr a = { .length = BYTES + PAGE, .rights = RW };
	uint32_t i, first = 0;

	if (argc != 2)
		return 2;
	open_pair(argv[1]);
	a.addr = src = numbered(BYTES + PAGE);
	OK(unic_reg_mr(pd, &a, &src_mr));
	a.addr = dst = numbered(BYTES + PAGE);
	OK(unic_reg_mr(pd, &a, &dst_mr));
	each_reason();
	for (i = 0; i < ROUNDS; i++)
		first += raced((long)i % 40 * 20);
	printf("first %u of %u\n", first, ROUNDS);
	unic_close(ctx);
	puts("ok");
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * lending lend SOCKET ROUNDS [told] - lends a page to a peer, and another one when it asks,
 *	ROUNDS times. "told": by descriptors that the libraries know; otherwise in messages
 *	of its own, of which nobody is recorded.
 * lending use SOCKET IPV4 ROUNDS [told] - the peer. It writes to the page without a pause,
 *	asks for another one when it is gone, and says what that cost.
 *
 * The connection is made again after each cut. test_lending.py has the pages taken back,
 * and reads what both print.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <errno.h>

#include "unic.h"

#define SERVICE 0x6c656e64ull
#define PAGE	4096u
#define WINDOW	8u
#define STALL_S 60u

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *send_cq, *recv_cq;
static struct unic_qp *qp;
static struct unic_mr *own; /* receives, and what is written */
static bool told;
static int line;

static void fail_if(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, "lending: line %d: %s: %s\n", line, what,
		unic_last_error());
	exit(1);
}

#define OK(x) (line = __LINE__, fail_if((x) != 0, #x))
#define IS(x) (line = __LINE__, fail_if(!(x), #x))

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

static struct unic_mr *page_of_own(void)
{
	struct unic_mr_attr a = { .length = PAGE,
				  .rights = UNIC_MR_LOCAL_WRITE |
					    UNIC_MR_REMOTE_WRITE };
	struct unic_mr *mr;

	a.addr = unic_alloc(ctx, PAGE, PAGE);
	IS(a.addr);
	OK(unic_reg_mr(pd, &a, &mr));
	return mr;
}

static void set_up(const char *socket)
{
	struct unic_qp_attr a = { .sq_slots = 64,
				  .rq_slots = 8,
				  .cut = UNIC_QP_CUT_REPLAY };

	setvbuf(stdout, NULL, _IOLBF, 0);
	OK(unic_open(socket, &ctx));
	OK(unic_alloc_pd(ctx, &pd));
	OK(unic_create_cq(pd, 128, &send_cq));
	OK(unic_create_cq(pd, 32, &recv_cq));
	a.send_cq = send_cq;
	a.recv_cq = recv_cq;
	OK(unic_create_qp(pd, &a, &qp));
	own = page_of_own();
}

/* ------------------------------------------------------------------ messages */

static void receive_one(void)
{
	struct unic_sg sg;
	struct unic_recv_wr wr = { .num_sge = 1, .sg = &sg };

	OK(unic_sg_of(own, own->addr, UNIC_DESC_BYTES, &sg));
	IS(unic_post_recv(qp, &wr, 1) == 1);
}

/* Waits for a message, which is in the first bytes of `own`. */
static void hear(void)
{
	uint64_t until = now_us() + STALL_S * 1000000ull;
	struct unic_wc wc;

	while (unic_poll_cq(recv_cq, 1, &wc) != 1) {
		IS(now_us() < until);
		unic_wait_cq(recv_cq, 10);
	}
	IS(wc.status == UNIC_WC_SUCCESS);
}

static void say(const void *data, uint32_t bytes)
{
	struct unic_sg sg = { .addr = (void *)data, .len = bytes };
	struct unic_send_wr wr = { .wr_id = UINT64_MAX,
				   .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_INLINE | UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg };

	IS(unic_post_send(qp, &wr, 1) == 1);
}

/* ------------------------------------------------------------------ who lends */

/* What is sent to a peer that is not told. */
struct plain {
	uint64_t remote;
	uint32_t rkey;
	uint8_t rsvd[UNIC_DESC_BYTES - 12];
};

static void lend(struct unic_mr *mr)
{
	struct plain p = { .remote = mr->iova, .rkey = mr->stag };

	if (told)
		OK(unic_post_desc(qp, UINT64_MAX, UNIC_WR_SIGNALED, mr,
				  mr->addr, PAGE));
	else
		say(&p, sizeof(p));
	printf("lends %u\n", mr->id);
}

static void accept_peer(void)
{
	struct unic_conn_param p = { .private_len = 0 };
	struct unic_listener *l;
	struct unic_event ev;

	OK(unic_listen(ctx, SERVICE, &l));
	printf("listens\n");
	while (unic_get_event(ctx, &ev) || ev.type != UNIC_EV_CONNECT)
		unic_wait_cq(recv_cq, 10);
	receive_one();
	OK(unic_accept(ctx, ev.conn, qp, &p));
}

/* The peer ends first: else its last message would have no acknowledgement. */
static void wait_for_end(void)
{
	uint64_t until = now_us() + STALL_S * 1000000ull;
	struct unic_event ev;

	while (unic_get_event(ctx, &ev) || ev.type != UNIC_EV_DISCONNECTED) {
		IS(now_us() < until);
		unic_wait_cq(recv_cq, 10);
	}
}

static void lend_pages(unsigned int rounds)
{
	struct unic_mr *mr = NULL;
	struct unic_wc wc;

	accept_peer();
	for (; rounds--; receive_one()) {
		if (mr) /* it was evicted: the peer has asked for another */
			OK(unic_dereg_mr(mr));
		mr = page_of_own();
		lend(mr);
		hear();
		while (unic_poll_cq(send_cq, 1, &wc) == 1)
			IS(wc.status == UNIC_WC_SUCCESS);
	}
	printf("cut %u times\n", unic_qp_cuts(qp));
	wait_for_end();
}

/* ------------------------------------------------------------------- who uses */

static struct {
	unsigned int lost, refused, under_way;
	unsigned int asked; /* messages not yet acknowledged */
	uint64_t last_us;   /* of the last success */
} use;

static void take(struct unic_desc *d)
{
	const struct plain *p = own->addr;

	hear();
	if (told)
		OK(unic_take_desc(qp, own->addr, UNIC_DESC_BYTES, d));
	else
		*d = (struct unic_desc){ .remote = p->remote, .rkey = p->rkey };
	receive_one();
}

/* Takes completions. True: one says that the page is gone. */
static bool reap(void)
{
	struct unic_wc wc[16];
	bool gone = false;
	int i, n;

	n = unic_poll_cq(send_cq, 16, wc);
	IS(n >= 0);
	for (i = 0; i < n; i++) {
		if (wc[i].wr_id == UINT64_MAX) {
			IS(wc[i].status == UNIC_WC_SUCCESS);
			use.asked--;
			continue;
		}
		use.under_way--;
		if (wc[i].status == UNIC_WC_SUCCESS) {
			use.last_us = now_us();
			continue;
		}
		IS(wc[i].status == UNIC_WC_REM_EVICTED);
		use.lost++;
		gone = true;
	}
	if (!n && use.under_way == WINDOW)
		unic_wait_cq(send_cq, 1);
	return gone;
}

/* Posts a request to @d. False: the page is gone. */
static bool post(const struct unic_desc *d)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = d->remote + 1024,
				   .rkey = d->rkey };
	int n;

	OK(unic_sg_of(own, (char *)own->addr + 1024, 64, &sg));
	n = unic_post_send(qp, &wr, 1);
	IS(n == 1 || n == -EOWNERDEAD);
	use.refused += n != 1;
	use.under_way += n == 1;
	return n == 1;
}

/* Writes to @d until it is gone. Returns the time of the first success. */
static uint64_t write_until_gone(const struct unic_desc *d)
{
	uint64_t until = now_us() + STALL_S * 1000000ull, first = 0;
	bool there = true;

	use.last_us = 0;
	while (there) {
		if (use.under_way < WINDOW)
			there = post(d);
		there &= !reap();
		if (!first)
			first = use.last_us;
		IS(now_us() < until);
	}
	while (use.under_way) {
		reap();
		IS(now_us() < until);
	}
	return first;
}

static void use_pages(const char *peer, unsigned int rounds)
{
	struct unic_conn_param p = { .private_len = 0 };
	struct unic_desc d;
	uint64_t first, last = 0;
	uint32_t ipv4;

	OK(unic_parse_ipv4(peer, &ipv4));
	receive_one();
	OK(unic_connect(qp, ipv4, SERVICE, &p, 60000, NULL, NULL));
	while (rounds--) {
		take(&d);
		first = write_until_gone(&d);
		IS(first); /* the page was there */
		if (last)
			printf("gap %llu us\n",
			       (unsigned long long)(first - last));
		last = use.last_us;
		say("more", 4);
		use.asked++;
	}
	while (use.asked) /* else the lender would never hear of it */
		reap();
	printf("lost %u refused %u cut %u times\n", use.lost, use.refused,
	       unic_qp_cuts(qp));
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	told = !strcmp(argv[argc - 1], "told");
	set_up(argv[2]);
	if (!strcmp(argv[1], "lend"))
		lend_pages((unsigned int)atoi(argv[3]));
	else
		use_pages(argv[3], (unsigned int)atoi(argv[4]));
	return 0;
}

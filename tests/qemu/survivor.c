/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * survivor - a process that goes on after its NIC was reset or its driver killed.
 *
 *	survivor SOCKET move|still   says "ready", then for each line it reads:
 *	                             recovers, checks all it has, says "ok"
 *
 * move: it talks to itself, two queue pairs of one NIC: a WRITE by the STag that
 * the region had from the start, and a SEND. still: the NIC has no link.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unic.h"

#define SERVICE 0x73757276ull /* "surv" */
#define BYTES	65536u
#define POSTED	5u

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	printf("%s: %s\n", what, unic_last_error());
	exit(1);
}

static void expect(int cond, const char *what)
{
	if (cond)
		return;
	printf("%s\n", what);
	exit(1);
}

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_qp *qp[2];
static struct unic_mr *mr;
static struct unic_listener *listener;
static uint8_t *mem;

static struct unic_event wait_event(enum unic_ev_type type)
{
	struct timespec nap = { 0, 1000000 };
	struct unic_event ev = { .type = 0 };
	int i;

	for (i = 0; i < 30000; i++) {
		while (!unic_get_event(ctx, &ev)) {
			unic_ack_event(&ev);
			if (ev.type == type)
				return ev;
		}
		nanosleep(&nap, NULL);
	}
	expect(0, "an event did not come");
	return ev;
}

static struct unic_wc completion(void)
{
	struct unic_wc wc;
	int n;

	while (!(n = unic_poll_cq(cq, 1, &wc)))
		check(unic_wait_cq(cq, 60000), "wait");
	check(n, "poll");
	return wc;
}

/* The passive side answers in the same thread: so by hand, not by CONNECT. */
static void to_rts(struct unic_qp *from, struct unic_qp *to, bool move)
{
	struct unic_attr a;
	struct unic_qp_mod mod = { .state = UNIC_QPS_INIT,
				   .rights = UNIC_MR_REMOTE_WRITE };

	unic_query(ctx, &a);
	check(unic_modify_qp(from, &mod), "INIT");
	if (!move)
		return;
	mod = (struct unic_qp_mod){ .state = UNIC_QPS_RTR,
				    .mtu_shift = 8,
				    .rnr_timer = 12,
				    .dest_qpn = unic_qp_num(to),
				    .dest_ipv4 = a.ipv4,
				    .vendor = 1 };
	check(unic_modify_qp(from, &mod), "RTR");
	mod = (struct unic_qp_mod){ .state = UNIC_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7 };
	check(unic_modify_qp(from, &mod), "RTS");
}

static void set_up(const char *socket)
{
	struct unic_qp_attr qa = { .sq_slots = 16, .rq_slots = 16 };
	struct unic_mr_attr ma = { .length = BYTES,
				   .rights = UNIC_MR_LOCAL_WRITE |
					     UNIC_MR_REMOTE_WRITE };
	int i;

	check(unic_open_kept(socket, &ctx), "open");
	check(unic_alloc_pd(ctx, &pd), "pd");
	check(unic_create_cq(pd, 64, &cq), "cq");
	qa.send_cq = qa.recv_cq = cq;
	for (i = 0; i < 2; i++)
		check(unic_create_qp(pd, &qa, &qp[i]), "qp");
	mem = unic_alloc(ctx, BYTES, 4096);
	expect(mem != NULL, "no memory");
	ma.addr = mem;
	check(unic_reg_mr(pd, &ma, &mr), "register");
	check(unic_listen(ctx, SERVICE, &listener), "listen");
}

static void post(struct unic_qp *q, uint8_t opcode, uint64_t id, uint32_t from,
		 uint32_t to)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .wr_id = id,
				   .sg = &sg,
				   .num_sge = 1,
				   .opcode = opcode,
				   .flags = UNIC_WR_SIGNALED,
				   .remote = mr->iova + to,
				   .rkey = mr->stag };

	check(unic_sg_of(mr, mem + from, 64, &sg), "address");
	if (opcode == UNIC_WR_SEND)
		wr.remote = wr.rkey = 0;
	expect(unic_post_send(q, &wr, 1) == 1, "post");
}

static void post_recv(struct unic_qp *q, uint64_t id, uint32_t at)
{
	struct unic_sg sg;
	struct unic_recv_wr wr = { .wr_id = id, .sg = &sg, .num_sge = 1 };

	check(unic_sg_of(mr, mem + at, 64, &sg), "address");
	expect(unic_post_recv(q, &wr, 1) == 1, "post a receive");
}

static void move_bytes(void)
{
	struct unic_wc wc;
	uint32_t i;

	post(qp[0], UNIC_WR_WRITE, 1, 0, 4096);
	wc = completion();
	expect(!wc.status && wc.wr_id == 1 && wc.qp == qp[0], "WRITE");
	expect(!memcmp(mem, mem + 4096, 64), "WRITE did not arrive");
	post_recv(qp[1], 2, 8192);
	post(qp[0], UNIC_WR_SEND, 3, 0, 0);
	for (i = 0; i < 2; i++) {
		wc = completion();
		expect(!wc.status && (wc.wr_id == 2 || wc.wr_id == 3), "SEND");
	}
	expect(!memcmp(mem, mem + 8192, 64), "SEND did not arrive");
}

/* Connects the pair, moves bytes if @move is set, and posts receives that no message
 * takes. */
static void use(uint32_t round, bool move)
{
	uint32_t i;

	to_rts(qp[0], qp[1], move);
	to_rts(qp[1], qp[0], move);
	memset(mem, (int)round, 64);
	if (move)
		move_bytes();
	for (i = 0; i < POSTED; i++)
		post_recv(qp[i & 1], 100 + i, 16384 + 64 * i);
}

/* Posted requests complete once, with an error, in the order of their queue. */
static void collect(void)
{
	uint32_t seen = 0;
	struct unic_wc wc;
	int i;

	for (i = 0; i < (int)POSTED; i++) {
		expect(unic_poll_cq(cq, 1, &wc) == 1, "a completion is "
						      "missing");
		expect(wc.status == UNIC_WC_WR_FLUSH_ERR && wc.wr_id >= 100 &&
			       wc.wr_id < 100 + POSTED &&
			       !(seen >> (wc.wr_id - 100) & 1),
		       "a wrong completion");
		seen |= 1u << (wc.wr_id - 100);
	}
	expect(!unic_poll_cq(cq, 1, &wc), "one completion too many");
}

int main(int argc, char **argv)
{
	uint32_t round = 1, stag;
	char line[16];
	bool move;

	expect(argc == 3, "usage: survivor SOCKET move|still");
	move = !strcmp(argv[2], "move");
	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up(argv[1]);
	stag = mr->stag;
	use(round, move);
	printf("ready\n");
	while (fgets(line, sizeof(line), stdin)) {
		wait_event(UNIC_EV_RESET);
		check(unic_recover(ctx, 60000), "recover");
		wait_event(UNIC_EV_QP_ERROR);
		wait_event(UNIC_EV_QP_ERROR);
		expect(mr->stag == stag && unic_mr_life(mr) == UNIC_MR_LIVE,
		       "the region is not what it was");
		expect(mem[0] == (uint8_t)round, "memory has changed");
		collect();
		use(++round, move);
		printf("ok\n");
	}
	check(unic_unlisten(listener), "unlisten");
	check(unic_dereg_mr(mr), "deregister");
	check(unic_destroy_qp(qp[0]), "destroy");
	check(unic_destroy_qp(qp[1]), "destroy");
	check(unic_destroy_cq(cq), "destroy CQ");
	check(unic_free_pd(pd), "free PD");
	unic_close(ctx);
	printf("bye\n");
	return 0;
}

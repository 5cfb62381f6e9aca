/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio_liar - a peer of the page service that keeps to none of its rules.
 *
 *	kio_liar SOCKET client IP SEED COUNT   connects to the service at IP and
 *	                                       sends it COUNT messages
 *	kio_liar SOCKET server SEED COUNT      is such a service, and answers
 *	                                       COUNT messages
 *
 * Says "ready", and "ok" at the end, which it comes to unless its own NIC or driver
 * fails: that the other side ends the connection is expected.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unic.h"
#include "unic_queue.h"

#define SERVICE	 0x756e69636b696f02ull /* as in abi/unic_kio.h */
#define RECVS	 32u
#define MSG	 512u
#define MSG_SIZE 48u
#define BYTES	 (RECVS * MSG + 65536u)

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_qp *qp;
static struct unic_mr *mr;
static uint8_t *mem;
static const struct unic_conn_param plain; /* with all rights */
static uint64_t seed;
static uint8_t last[MSG_SIZE]; /* the last message that arrived */

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	printf("%s: %s\n", what, unic_last_error());
	exit(1);
}

static void open_all(const char *socket)
{
	struct unic_mr_attr ma = { .length = BYTES,
				   .rights = UNIC_MR_LOCAL_WRITE |
					     UNIC_MR_REMOTE_READ |
					     UNIC_MR_REMOTE_WRITE };

	check(unic_open(socket, &ctx), "open");
	check(unic_alloc_pd(ctx, &pd), "pd");
	check(unic_create_cq(pd, 256, &cq), "cq");
	mem = unic_alloc(ctx, BYTES, 4096);
	if (!mem)
		exit(1);
	ma.addr = mem;
	check(unic_reg_mr(pd, &ma, &mr), "register");
}

static void post_recv(uint32_t at)
{
	struct unic_sg sg;
	struct unic_recv_wr wr = { .wr_id = at, .sg = &sg, .num_sge = 1 };

	check(unic_sg_of(mr, mem + at * MSG, MSG, &sg), "address");
	(void)unic_post_recv(qp, &wr, 1); /* the connection may have ended */
}

static void new_qp(void)
{
	struct unic_qp_attr qa = {
		.sq_slots = 64, .rq_slots = 64, .send_cq = cq, .recv_cq = cq
	};
	uint32_t i;

	if (qp)
		check(unic_destroy_qp(qp), "destroy");
	check(unic_create_qp(pd, &qa, &qp), "qp");
	for (i = 0; i < RECVS; i++)
		post_recv(i);
}

/* Keeps the messages that arrive, for lies that are partly true. False: the
 * connection has ended. */
static bool reap(int *got)
{
	struct unic_wc wc;

	while (unic_poll_cq(cq, 1, &wc) == 1) {
		if (wc.status != UNIC_WC_SUCCESS)
			return false;
		if (wc.opcode < UNIC_WC_RECV)
			continue;
		if (wc.byte_len >= MSG_SIZE)
			memcpy(last, mem + wc.wr_id * MSG, MSG_SIZE);
		post_recv((uint32_t)wc.wr_id);
		++*got;
	}
	return true;
}

static void put32(uint8_t *msg, uint32_t at, uint32_t v)
{
	memcpy(msg + at, &v, sizeof(v));
}

/* Makes @msg one that speaks of RDMA, more or less: to the region of the last message,
 * or to memory that is there, but of another length. */
static void speak_of_rdma(uint8_t *msg)
{
	struct unic_sg sg;

	msg[2] = (uint8_t)rnd(3);
	if (rnd(2))
		return;
	check(unic_sg_of(mr, mem + BYTES - 1 - rnd(70000), 1, &sg), "address");
	memcpy(msg + 32, &sg.addr, 8);
	put32(msg, 40, rnd(4) ? sg.lkey : rnd(~0u));
}

/* Fields of struct unic_kio_msg: op, name_bytes, how, id, status, len, offset, ... */
static uint32_t make_lie(uint8_t *msg)
{
	static const uint8_t ops[] = { 1, 2, 3, 4, 5, 16, 17, 18, 0, 200 };
	static const uint32_t lens[] = { 0, 1, 10, 4096, 65536, 65537, ~0u };

	memset(msg, 0, MSG);
	memcpy(msg, last, MSG_SIZE);
	msg[0] = ops[rnd(sizeof(ops))];
	msg[1] = rnd(3) ? 1 : (uint8_t)rnd(256);
	if (msg[0] > 5)
		msg[1] = rnd(8) ? 0 : 1;
	put32(msg, 4, rnd(4) ? rnd(40) : rnd(~0u));
	if (!rnd(3))
		memcpy(msg + 4, last + 4, 4); /* the id that was asked with */
	put32(msg, 8, rnd(3) ? 0 : rnd(200));
	put32(msg, 12, lens[rnd(7)]);
	put32(msg, 16, rnd(5) ? rnd(9) : ~0u);
	put32(msg, 20, rnd(5) ? 0 : rnd(~0u));
	if (!rnd(3))
		put32(msg, 40, rnd(64)); /* another token, by the same key */
	if (!rnd(3))
		speak_of_rdma(msg);
	msg[MSG_SIZE] = "f/.."[rnd(4)];
	return rnd(6) ? MSG_SIZE + msg[1] : rnd(MSG - 1) + 1;
}

static void lie(void)
{
	uint8_t *msg = mem + RECVS * MSG + rnd(16) * MSG;
	uint32_t bytes = make_lie(msg), token;
	struct unic_sg sg[2];
	struct unic_send_wr wr = { .sg = sg,
				   .num_sge = 1,
				   .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_SIGNALED };

	check(unic_sg_of(mr, msg, bytes, &sg[0]), "address");
	check(unic_sg_of(mr, mem, 1 + rnd(5000), &sg[1]), "address");
	if (!rnd(3)) {
		memcpy(&wr.remote, last + 32, 8);
		memcpy(&token, last + 40, 4);
		sg[0].len = MSG_SIZE;
		wr.opcode = UNIC_WR_TOKEN;
		wr.num_sge = 2;
		wr.ctrl_len = MSG_SIZE;
		wr.rkey = rnd(4) ? token : rnd(64);
	}
	if (!rnd(4)) { /* to the pages of an I/O, perhaps */
		memcpy(&wr.remote, last + 32, 8);
		memcpy(&token, last + 40, 4);
		wr.remote += rnd(2) ? 0 : rnd(70000);
		wr.opcode = rnd(2) ? UNIC_WR_WRITE : UNIC_WR_READ;
		wr.num_sge = 1;
		wr.ctrl_len = 0;
		wr.rkey = rnd(8) ? token : rnd(~0u);
		sg[0] = sg[1];
	}
	(void)unic_post_send(qp, &wr, 1);
}

static void nap(void)
{
	struct timespec t = { 0, 300000 };

	nanosleep(&t, NULL);
}

static void be_client(const char *ip, uint32_t count)
{
	uint32_t ipv4, i;
	int got = 0;
	bool up = false;

	check(unic_parse_ipv4(ip, &ipv4), "address");
	for (i = 0; i < count; i++) {
		if (!up) {
			new_qp();
			up = !unic_connect(qp, ipv4, SERVICE, &plain, 3000,
					   NULL, NULL);
		}
		if (up)
			lie();
		nap();
		up = up && reap(&got);
	}
}

static bool accepted(void)
{
	struct unic_event ev;
	bool yes = false;

	while (!unic_get_event(ctx, &ev)) {
		if (ev.type == UNIC_EV_CONNECT) {
			new_qp();
			yes = !unic_accept(ctx, ev.conn, qp, &plain);
		}
		unic_ack_event(&ev);
	}
	return yes;
}

static void be_server(uint32_t count)
{
	struct unic_listener *l;
	bool up = false;
	int got, answered = 0;

	check(unic_listen(ctx, SERVICE, &l), "listen");
	while (answered < (int)count) {
		nap();
		if (accepted())
			up = true;
		if (!up)
			continue;
		got = 0;
		up = reap(&got);
		answered += got;
		while (up && got--) {
			lie();
			if (!rnd(3))
				lie();
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 6 && argc != 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_all(argv[1]);
	puts("ready");
	seed = strtoull(argv[argc - 2], NULL, 0);
	if (!strcmp(argv[2], "client"))
		be_client(argv[3], (uint32_t)atoi(argv[5]));
	else
		be_server((uint32_t)atoi(argv[4]));
	puts("ok");
	return 0;
}

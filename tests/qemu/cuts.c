/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cuts serve SOCKET - one peer writes blocks to it, and tells it of each by a message.
 *	It checks that each message comes once and in order, and that what was written
 *	before it is there, and stays.
 * cuts call SOCKET IPV4 COUNT - the peer. It reads every third block back.
 *
 * Both use the buffer manager and queue pairs that are posted again. Regions of both
 * are taken back all the time by test_cuts.py, which reads what they print. Whatever
 * they see of that, but for what the buffer manager repeats, is a failure.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bufman.h"

#define SERVICE	 0x63757473ull
#define PAGE	 4096u
#define BLOCK	 (8 * PAGE)
#define BLOCKS	 4u /* of the server: one is written while others are checked */
#define AHEAD	 2u /* blocks that the server need not have heard of */
#define RECEIVES 16u
#define STALL_MS 60000

enum type {
	ASK = 1, /* for the place of the blocks */
	PLACE,
	BLOCK_IS_THERE,
	CHECKED,
};

struct msg {
	uint64_t iova;
	uint32_t type, number, rkey, rsvd;
};

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_bm *bm;
static struct unic_cq *send_cq, *recv_cq;
static struct unic_qp *qp;
static struct unic_bm_recv *recvs;
static uint8_t *mem;	   /* server: BLOCKS, client: one for each way */
static uint32_t requested; /* connection, atomic */
static uint32_t failures;  /* events that nobody should see, atomic */
static uint32_t ended;	   /* the peer has disconnected; atomic */
static int line;

static void fail_if(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, "cuts: line %d: %s: %s\n", line, what,
		unic_last_error());
	exit(1);
}

#define OK(x) (line = __LINE__, fail_if((x) != 0, #x))
#define IS(x) (line = __LINE__, fail_if(!(x), #x))

static void on_event(void *arg, const struct unic_event *ev)
{
	(void)arg;
	if (ev->type == UNIC_EV_CONNECT)
		__atomic_store_n(&requested, ev->conn, __ATOMIC_RELEASE);
	else if (ev->type == UNIC_EV_DISCONNECTED)
		__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	else if (ev->type == UNIC_EV_QP_ERROR || ev->type == UNIC_EV_CQ_ERROR)
		__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
}

static void set_up(const char *socket)
{
	struct unic_bm_attr a = { .rights = UNIC_MR_LOCAL_WRITE |
					    UNIC_MR_REMOTE_READ |
					    UNIC_MR_REMOTE_WRITE,
				  .on_event = on_event };
	struct unic_bm_recv_attr ra = { .count = RECEIVES,
					.bytes = sizeof(struct msg) };
	struct unic_qp_attr qa = { .sq_slots = 64,
				   .rq_slots = RECEIVES,
				   .rq_class = sizeof(struct msg),
				   .cut = UNIC_QP_CUT_REPLAY };

	setvbuf(stdout, NULL, _IOLBF, 0);
	OK(unic_open(socket, &ctx));
	OK(unic_alloc_pd(ctx, &pd));
	OK(unic_bm_open(pd, &a, &bm));
	OK(unic_create_cq(pd, 128, &send_cq));
	OK(unic_create_cq(pd, 64, &recv_cq));
	qa.send_cq = send_cq;
	qa.recv_cq = recv_cq;
	OK(unic_bm_recv_open(bm, &ra, &recvs));
	OK(unic_create_qp(pd, &qa, &qp));
	OK(unic_bm_recv_start(recvs, qp));
	mem = unic_bm_get(bm, BLOCKS * BLOCK);
	IS(mem);
}

/* ----------------------------------------------------------------- messages */

/* Completions of messages. Those of blocks are the buffer manager's. */
static void drop_sent(void)
{
	struct unic_wc wc[8];
	int i, n;

	while ((n = unic_poll_cq(send_cq, 8, wc)) > 0)
		for (i = 0; i < n; i++)
			IS(wc[i].status == UNIC_WC_SUCCESS);
}

static void say(const struct msg *m)
{
	struct unic_sg sg = { .addr = (void *)m, .len = sizeof(*m) };
	struct unic_send_wr wr = { .wr_id = UINT64_MAX,
				   .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_INLINE | UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg };
	int n;

	while ((n = unic_post_send(qp, &wr, 1)) == -EAGAIN) {
		drop_sent();
		unic_wait_cq(send_cq, 10);
	}
	IS(n == 1);
}

/* A receive was flushed: by the peer's end only, of which an event says soon. */
static bool has_ended(void)
{
	int i;

	for (i = 0; i < 10000 && !__atomic_load_n(&ended, __ATOMIC_ACQUIRE);
	     i++)
		usleep(1000);
	return __atomic_load_n(&ended, __ATOMIC_ACQUIRE);
}

/* The next message. False: the peer has disconnected. */
static bool hear(struct msg *m)
{
	struct unic_wc wc;
	int n, err;

	for (;;) {
		n = unic_poll_cq(recv_cq, 1, &wc);
		IS(n >= 0);
		if (!n && __atomic_load_n(&ended, __ATOMIC_ACQUIRE))
			return false;
		if (!n) {
			err = unic_wait_cq(recv_cq, STALL_MS);
			IS(!err);
			continue;
		}
		if (wc.status == UNIC_WC_WR_FLUSH_ERR && has_ended())
			return false;
		if (!wc.status)
			memcpy(m, unic_bm_recv_buf(recvs, wc.wr_id),
			       sizeof(*m));
		else if (wc.status != UNIC_WC_EVICTED)
			fprintf(stderr, "cuts: a receive: %s\n",
				unic_wc_status_str(wc.status));
		IS(!wc.status || wc.status == UNIC_WC_EVICTED);
		OK(unic_bm_recv_done(recvs, wc.wr_id));
		if (!wc.status)
			return true;
	}
}

static uint8_t byte_of(uint32_t number, uint32_t at)
{
	return (uint8_t)(number * 7 + at / 16 + at);
}

static void fill(uint8_t *block, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < BLOCK; i++)
		block[i] = byte_of(number, i);
}

static bool is_filled(const uint8_t *block, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < BLOCK && block[i] == byte_of(number, i); i++)
		;
	if (i < BLOCK)
		fprintf(stderr, "cuts: byte %u of block %u is of another\n", i,
			number);
	return i == BLOCK;
}

/* ------------------------------------------------------------------- server */

static uint8_t *block_at(uint32_t number)
{
	return mem + (size_t)(number % BLOCKS) * BLOCK;
}

static void give_place(struct unic_bm_hold *hold)
{
	struct msg m = { .type = PLACE };

	if (hold->chunk)
		unic_bm_drop(bm, hold);
	OK(unic_bm_hold(bm, mem, BLOCKS * BLOCK, 0, false, hold));
	IS(hold->len == BLOCKS * BLOCK);
	m.iova = hold->iova;
	m.rkey = hold->mr->stag;
	say(&m);
}

static void serve(void)
{
	struct unic_conn_param param = { .max_rd = 4 };
	struct unic_bm_hold hold = { .chunk = NULL };
	struct unic_listener *l;
	uint32_t conn, last = 0;
	struct msg m;

	OK(unic_listen(ctx, SERVICE, &l));
	printf("listens\n");
	while (!(conn = __atomic_load_n(&requested, __ATOMIC_ACQUIRE)))
		unic_wait_cq(recv_cq, 10);
	OK(unic_accept(ctx, conn, qp, &param));
	while (hear(&m)) {
		drop_sent();
		if (m.type == ASK) {
			give_place(&hold);
			continue;
		}
		IS(m.type == BLOCK_IS_THERE);
		if (m.number != last + 1)
			fprintf(stderr, "cuts: %u after %u\n", m.number, last);
		IS(m.number == last + 1);
		last = m.number;
		IS(is_filled(block_at(last), last));
		/* nothing of before is written again */
		IS(last < 2 || is_filled(block_at(last - 1), last - 1));
		m.type = CHECKED;
		say(&m);
	}
	IS(!failures);
	printf("heard %u messages, cut %u times\n", last, unic_qp_cuts(qp));
	if (hold.chunk)
		unic_bm_drop(bm, &hold);
	unic_unlisten(l);
}

/* ------------------------------------------------------------------- client */

static uint32_t checked; /* blocks that the server has checked */

static int ask_place(void *arg, uint64_t *remote, uint32_t *rkey)
{
	const uint32_t *number = arg;
	struct msg m = { .type = ASK };

	say(&m);
	do {
		IS(hear(&m));
		if (m.type == CHECKED)
			checked = m.number;
	} while (m.type != PLACE);
	*remote = m.iova + (uint64_t)(*number % BLOCKS) * BLOCK;
	*rkey = m.rkey;
	return 0;
}

/* Where the blocks are, as the server said last. */
static uint64_t place;
static uint32_t place_key;

static void move(uint8_t opcode, uint8_t *local, uint32_t number)
{
	struct unic_bm_xfer x = { .qp = qp,
				  .cq = send_cq,
				  .opcode = opcode,
				  .local = local,
				  .len = BLOCK,
				  .remote = place +
					    (uint64_t)(number % BLOCKS) * BLOCK,
				  .rkey = place_key,
				  .window = 4,
				  .refresh = ask_place,
				  .arg = &number };

	OK(unic_bm_transfer(bm, &x));
	place = x.remote - (uint64_t)(number % BLOCKS) * BLOCK;
	place_key = x.rkey;
}

static void call(const char *ip, uint32_t count)
{
	struct unic_conn_param param = { .max_rd = 4 };
	uint8_t *back = mem + BLOCK;
	struct unic_bm_stats s;
	uint32_t ipv4, n = 0;
	struct msg m;

	OK(unic_parse_ipv4(ip, &ipv4));
	OK(unic_connect(qp, ipv4, SERVICE, &param, 10000, NULL, NULL));
	OK(ask_place(&n, &place, &place_key));
	for (n = 1; n <= count; n++) {
		fill(mem, n);
		move(UNIC_WR_WRITE, mem, n);
		if (n % 3 == 0) {
			move(UNIC_WR_READ, back, n);
			IS(is_filled(back, n));
		}
		m = (struct msg){ .type = BLOCK_IS_THERE, .number = n };
		say(&m);
		while (checked + AHEAD < n + (n == count) * AHEAD) {
			IS(hear(&m));
			if (m.type == CHECKED)
				checked = m.number;
		}
	}
	IS(!failures && !ended);
	unic_bm_query(bm, &s);
	printf("sent %u messages, cut %u times, repeated %llu pieces, 0 "
	       "failures\n",
	       count, unic_qp_cuts(qp),
	       (unsigned long long)(s.retries_local + s.retries_remote));
	unic_disconnect(qp);
}

int main(int argc, char **argv)
{
	bool caller = argc == 5 && !strcmp(argv[1], "call");

	if (!caller && !(argc == 3 && !strcmp(argv[1], "serve")))
		return 2;
	set_up(argv[2]);
	if (caller)
		call(argv[3], (uint32_t)atoi(argv[4]));
	else
		serve();
	OK(unic_destroy_qp(qp));
	unic_bm_recv_close(recvs);
	OK(unic_destroy_cq(send_cq));
	OK(unic_destroy_cq(recv_cq));
	unic_bm_close(bm);
	unic_close(ctx);
	return 0;
}

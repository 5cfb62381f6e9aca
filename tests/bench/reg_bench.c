/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * reg-bench - what it costs a process to register memory and to deregister it
 * (P10): through libunic and unicd, one at a time and in batches, and by work
 * requests (fast registration); beside what the kernel takes to pin the same pages
 * and let them go (fixed buffers of io_uring).
 *
 *	reg-bench SOCKET      (of unicd) prints one JSON object
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "unic.h"
#include "yard.h"

#define BYTES  (1u << 20)
#define ROUNDS 9
#define TIMES  64u /* of a round, timed one by one */
#define BURST  8u  /* fast registrations posted together, at most */

static const uint32_t sizes[] = { 4096, 65536, BYTES };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))
/* Regions of a batch: all of them fit into 1,024 entries. */
static const uint32_t batches[SIZES] = { 64, 32, 2 };
static const uint32_t bursts[SIZES] = { BURST, BURST, 2 };

struct bench {
	struct unic_ctx *ctx;
	struct unic_pd *pd;
	struct unic_cq *cq;
	struct unic_qp *qp;
	uint8_t *mem;
	struct unic_mr *whole; /* what fast registrations are made of */
	int ring;	       /* of io_uring, or -1 */
	struct unic_mr *fast[SIZES][BURST];
};

static void check(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "reg-bench: %s: %s\n", what, unic_last_error());
	exit(1);
}

/* ------------------------------------------------------------------ set-up */

static void connect_to_itself(struct bench *b)
{
	struct unic_attr attr;
	struct unic_qp_mod m = { .state = UNIC_QPS_INIT };

	unic_query(b->ctx, &attr);
	check(unic_modify_qp(b->qp, &m), "init");
	m = (struct unic_qp_mod){ .state = UNIC_QPS_RTR,
				  .mtu_shift = 10,
				  .rnr_timer = 12,
				  .vendor = 1,
				  .dest_qpn = unic_qp_num(b->qp),
				  .dest_ipv4 = attr.ipv4 };
	check(unic_modify_qp(b->qp, &m), "ready to receive");
	m = (struct unic_qp_mod){ .state = UNIC_QPS_RTS,
				  .timeout = 14,
				  .retry_cnt = 7,
				  .rnr_retry = 7 };
	check(unic_modify_qp(b->qp, &m), "ready to send");
}

/* -1: this kernel has no io_uring, or refuses it. */
static int open_ring(void)
{
	struct io_uring_params p = { 0 };

	return (int)syscall(SYS_io_uring_setup, 2, &p);
}

static struct unic_mr_attr attr_of(const struct bench *b, size_t s)
{
	return (struct unic_mr_attr){
		.addr = b->mem,
		.length = sizes[s],
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
	};
}

static void set_up(struct bench *b, const char *socket)
{
	struct unic_mr_attr whole;
	struct unic_qp_attr qa = { .sq_slots = 64, .rq_slots = 2 };

	check(unic_open(socket, &b->ctx), "open");
	check(unic_alloc_pd(b->ctx, &b->pd), "pd");
	check(unic_create_cq(b->pd, 128, &b->cq), "cq");
	qa.send_cq = qa.recv_cq = b->cq;
	check(unic_create_qp(b->pd, &qa, &b->qp), "qp");
	connect_to_itself(b);
	b->mem = unic_alloc(b->ctx, BYTES, 4096);
	check(b->mem ? 0 : -1, "alloc");
	whole = attr_of(b, SIZES - 1);
	check(unic_reg_mr(b->pd, &whole, &b->whole), "register");
	b->ring = open_ring();
}

/* ---------------------------------------------------------------- measures */

/* Each registers and deregisters sizes[@s] bytes once, in its own way; ns. */
static double pinned_ns(struct bench *b, size_t s)
{
	struct iovec iov = { b->mem, sizes[s] };
	uint64_t start = yard_now_ns();

	if (syscall(SYS_io_uring_register, b->ring, IORING_REGISTER_BUFFERS,
		    &iov, 1) ||
	    syscall(SYS_io_uring_register, b->ring, IORING_UNREGISTER_BUFFERS,
		    NULL, 0)) {
		fprintf(stderr, "reg-bench: io_uring: %s\n", strerror(errno));
		exit(1);
	}
	return (double)(yard_now_ns() - start);
}

static double alone_ns(struct bench *b, size_t s)
{
	struct unic_mr_attr attr = attr_of(b, s);
	uint64_t start = yard_now_ns();
	struct unic_mr *mr;

	check(unic_reg_mr(b->pd, &attr, &mr), "register");
	check(unic_dereg_mr(mr), "deregister");
	return (double)(yard_now_ns() - start);
}

static double batch_ns(struct bench *b, size_t s)
{
	struct unic_mr_attr attr[64];
	struct unic_mr *mr[64];
	uint32_t i, n = batches[s];
	uint64_t start;

	for (i = 0; i < n; i++)
		attr[i] = attr_of(b, s);
	start = yard_now_ns();
	check(unic_reg_mr_batch(b->pd, attr, n, mr), "register a batch");
	check(unic_dereg_mr_batch(b->ctx, mr, n), "deregister a batch");
	return (double)(yard_now_ns() - start) / n;
}

static void post_pair(struct bench *b, size_t s, struct unic_mr *form)
{
	struct unic_sg sg;
	struct unic_list list = { .sg = &sg,
				  .n = 1,
				  .rights = UNIC_MR_LOCAL_WRITE |
					    UNIC_MR_REMOTE_WRITE,
				  .iova = b->whole->iova };

	check(unic_sg_of(b->whole, b->mem, sizes[s], &sg), "address");
	check(unic_post_reg_mr(b->qp, 0, 0, form, &list), "post");
	check(unic_post_local_inv(b->qp, 0, UNIC_WR_SIGNALED, form), "post");
}

static void await(struct bench *b, uint32_t n)
{
	struct unic_wc wc[BURST];
	uint32_t i;
	int got;

	while (n) {
		got = unic_poll_cq(b->cq, BURST, wc);
		check(!got && unic_ctx_lost(b->ctx) ? unic_wait_cq(b->cq, 0)
						    : got,
		      "poll");
		for (i = 0; i < (uint32_t)got; i++)
			if (wc[i].status) {
				fprintf(stderr, "reg-bench: completion: %s\n",
					unic_wc_status_str(wc[i].status));
				exit(1);
			}
		n -= (uint32_t)got;
	}
}

static double posted_ns(struct bench *b, size_t s, uint32_t n)
{
	uint64_t start = yard_now_ns();
	uint32_t i;

	for (i = 0; i < n; i++)
		post_pair(b, s, b->fast[s][i]);
	await(b, n);
	return (double)(yard_now_ns() - start) / n;
}

static double posted_alone_ns(struct bench *b, size_t s)
{
	return posted_ns(b, s, 1);
}

static double posted_burst_ns(struct bench *b, size_t s)
{
	return posted_ns(b, s, bursts[s]);
}

/* A call that unicd answers itself, and one that asks the NIC, as both calls
 * of a registration do. */
static double driver_call_ns(struct bench *b, size_t s)
{
	uint64_t start = yard_now_ns();
	struct unic_listener *l;

	(void)s;
	check(unic_listen(b->ctx, 1, &l), "listen");
	check(unic_unlisten(l), "unlisten");
	return (double)(yard_now_ns() - start) / 2;
}

static double nic_call_ns(struct bench *b, size_t s)
{
	struct unic_usage usage;
	uint64_t start = yard_now_ns();

	(void)s;
	check(unic_query_usage(b->ctx, &usage), "usage");
	return (double)(yard_now_ns() - start);
}

static const struct {
	const char *name;
	double (*once)(struct bench *b, size_t s);
} ways[] = {
	{ "pin", pinned_ns },	      { "alone", alone_ns },
	{ "batch", batch_ns },	      { "posted", posted_alone_ns },
	{ "burst", posted_burst_ns }, { "driver_call", driver_call_ns },
	{ "nic_call", nic_call_ns },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static double figure[SIZES][WAYS][ROUNDS];

/* Fast registrations hold their entries, so they exist only while measured. */
static void fast(struct bench *b, size_t s, int on)
{
	uint32_t i;

	for (i = 0; i < bursts[s]; i++)
		check(on ? unic_alloc_fast_mr(b->pd, sizes[s] / 4096, 4096,
					      &b->fast[s][i])
			 : unic_dereg_mr(b->fast[s][i]),
		      "fast registration");
}

static void one_round(struct bench *b, int round)
{
	double v[TIMES];
	size_t s, w;
	uint32_t i;

	for (s = 0; s < SIZES; s++)
		for (w = 0; w < WAYS; w++) {
			int posted = ways[w].once == posted_alone_ns ||
				     ways[w].once == posted_burst_ns;

			if (ways[w].once == pinned_ns && b->ring < 0)
				continue;
			if (posted)
				fast(b, s, 1);
			for (i = 0; i < TIMES; i++)
				v[i] = ways[w].once(b, s);
			if (posted)
				fast(b, s, 0);
			figure[s][w][round] = yard_median(v, TIMES);
		}
}

static void print(void)
{
	size_t s, w;

	printf("{");
	for (s = 0; s < SIZES; s++)
		for (w = 0; w < WAYS; w++)
			printf("%s\"%s_%u_ns\": %.0f", s + w ? ", " : "",
			       ways[w].name, sizes[s],
			       yard_median(figure[s][w], ROUNDS));
	printf("}\n");
}

int main(int argc, char **argv)
{
	struct bench b;
	int round;

	if (argc != 2) {
		fprintf(stderr, "usage: reg-bench SOCKET (of unicd)\n");
		return 2;
	}
	set_up(&b, argv[1]);
	for (round = -1; round < ROUNDS; round++)
		one_round(&b, round < 0 ? 0 : round);
	print();
	unic_close(b.ctx);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rates SOCKET - transmit limits through libunic, a driver and a NIC that talks to
 * itself, in real time, to 2 %. For the limits of an administrator it says "own" when
 * its own are tested, and for each line on stdin, a rate, tests that: "rate". Ends with
 * stdin: "rates: ok", or says what went wrong. Run by test_rates.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRAM "rates"
#include "own_pair.h"

#define MB    1000000ull
#define BYTES 16384u
#define DEPTH 12u /* requests under way */
#define MTU   1024u
/* What each frame has around its payload, and the first one of a WRITE besides. */
#define AROUND 58u
#define RETH   16u

static uint8_t *mem;
static struct unic_mr *mr;
static unsigned int under_way;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Writes until @until_ns. Returns the bytes on the wire of what completed. */
static uint64_t write_until(uint64_t until_ns)
{
	const uint64_t each = BYTES + BYTES / MTU * AROUND + RETH;
	struct unic_sg sg = sg_of(mr, mem, BYTES);
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = mr->iova + BYTES,
				   .rkey = mr->stag };
	uint64_t n = 0;

	while (now_ns() < until_ns) {
		for (; under_way < DEPTH; under_way++)
			IS(unic_post_send(qp[0], &wr, 1) == 1);
		IS(next().status == UNIC_WC_SUCCESS);
		under_way--;
		n++;
	}
	return n * each;
}

/* What is sent is @rate to 2 %; 0: anything, as much as the machine does. Where the machine stopped
 * this process or the NIC for longer than the burst, three further times. */
static void is_rate(uint64_t rate, uint64_t ns)
{
	uint64_t from, sent = 0, want = 0;
	int tries;

	write_until(now_ns() + 200000000); /* nothing is saved up now */
	for (tries = 0; tries < 4; tries++) {
		from = now_ns();
		sent = write_until(from + ns);
		want = rate * ((now_ns() - from) / 1000) / 1000000;
		if (!rate)
			return;
		if (sent >= want * 98 / 100 && sent <= want * 102 / 100)
			return;
	}
	fprintf(stderr,
		PROGRAM ": %" PRIu64 " bytes sent, %" PRIu64 " expected\n",
		sent, want);
	exit(1);
}

static void own_limits(void)
{
	struct unic_rate r = { .rate = 20 * MB, .burst = 4 * MB };
	struct unic_rate got;

	OK(unic_qp_set_rate(qp[0], &r));
	is_rate(20 * MB, 2000000000);
	OK(unic_qp_query_rate(qp[0], &got));
	IS(got.rate == r.rate && got.burst == r.burst && got.held > 100);
	r = (struct unic_rate){ .rate = 8 * MB, .burst = 2 * MB };
	OK(unic_set_rate(ctx, &r));
	is_rate(8 * MB, 2000000000);
	r.rate++;
	IS(unic_set_rate(ctx, &r) == -EDQUOT);
	r = (struct unic_rate){ 0 };
	IS(unic_set_rate(ctx, &r) == -EDQUOT);
	OK(unic_qp_set_rate(qp[0], &r));
	OK(unic_query_rate(ctx, &got));
	IS(got.rate == 8 * MB && got.held);
	is_rate(8 * MB, 1000000000);
}

int main(int argc, char **argv)
{
	struct unic_mr_attr a = { .length = 2 * BYTES, .rights = RW };
	char text[32];

	if (argc != 2)
		return 2;
	open_pair(argv[1]);
	a.addr = mem = unic_alloc(ctx, 2 * BYTES, PAGE);
	IS(mem);
	OK(unic_reg_mr(pd, &a, &mr));
	own_limits();
	printf("own\n");
	fflush(stdout);
	while (fgets(text, sizeof(text), stdin)) {
		is_rate(strtoull(text, NULL, 10), 1500000000);
		printf("rate\n");
		fflush(stdout);
	}
	while (under_way--)
		IS(next().status == UNIC_WC_SUCCESS);
	unic_close(ctx);
	printf("rates: ok\n");
	return 0;
}

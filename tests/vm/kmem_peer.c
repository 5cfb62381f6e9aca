/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kmem_peer SOCKET IPV4 once	WRITEs the memory of kmem_sample.ko, READs it and compares
 * kmem_peer SOCKET IPV4 stay	does so until the other side ends the connection, or its
 *				region does
 *
 * Prints "kmem_peer: ok", "ready" after the first round of `stay`, and how that ended.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unic.h"

#define SERVICE 4713u
#define BYTES	(64u * 4096u)
#define WAIT_NS 20000000000ull

struct place {
	uint64_t address;
	uint32_t stag;
};

static struct unic_ctx *ctx;
static struct unic_cq *cq;
static struct unic_mr *mr;
static struct unic_qp *qp;

static void check(int good, int line, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "kmem_peer: line %d: %s: %s\n", line, what,
		unic_last_error());
	exit(1);
}

#define OK(x) check(x, __LINE__, #x)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void set_up(const char *socket)
{
	struct unic_mr_attr a = { .length = BYTES,
				  .rights = UNIC_MR_LOCAL_WRITE };
	struct unic_qp_attr q = { .sq_slots = 8, .rq_slots = 8 };
	struct unic_pd *pd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	OK(!unic_open(socket, &ctx) && !unic_alloc_pd(ctx, &pd));
	a.addr = unic_alloc(ctx, BYTES, 4096);
	OK(a.addr && !unic_reg_mr(pd, &a, &mr) && !unic_create_cq(pd, 64, &cq));
	q.send_cq = cq;
	q.recv_cq = cq;
	OK(!unic_create_qp(pd, &q, &qp));
}

/* Returns the status of a request that moves all bytes. */
static unsigned int move(const struct place *there, uint8_t opcode)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = opcode,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = there->address,
				   .rkey = there->stag };
	uint64_t until = now_ns() + WAIT_NS;
	struct unic_wc wc;

	OK(!unic_sg_of(mr, mr->addr, BYTES, &sg));
	OK(unic_post_send(qp, &wr, 1) == 1);
	while (unic_poll_cq(cq, 1, &wc) != 1)
		OK(now_ns() < until);
	return wc.status;
}

/* WRITE, READ, compare. Returns a status. */
static unsigned int one_round(const struct place *there, uint8_t turn)
{
	uint8_t *at = mr->addr;
	unsigned int status;
	uint32_t i;

	for (i = 0; i < BYTES; i++)
		at[i] = (uint8_t)(i * 7u + i / 4096u + turn);
	at[0] = 0xa5;
	status = move(there, UNIC_WR_WRITE);
	if (status)
		return status;
	memset(at, 0, BYTES);
	status = move(there, UNIC_WR_READ);
	for (i = 1; i < BYTES && !status; i++)
		OK(at[i] == (uint8_t)(i * 7u + i / 4096u + turn));
	return status;
}

int main(int argc, char **argv)
{
	struct unic_conn_param patient = { .timeout = 16 };
	unsigned int bytes = sizeof(struct place), status;
	struct place there;
	uint8_t turn = 0;

	if (argc != 4)
		return 2;
	set_up(argv[1]);
	OK(!unic_connect(qp, ntohl(inet_addr(argv[2])), SERVICE, &patient,
			 30000, &there, &bytes) &&
	   bytes >= sizeof(there));
	status = one_round(&there, turn++);
	OK(!status);
	if (!strcmp(argv[3], "stay")) {
		puts("ready");
		while (!(status = one_round(&there, turn++)))
			;
		printf("ended: %s\n", unic_wc_status_str(status));
	}
	puts("kmem_peer: ok");
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * crowd SOCKET THREADS ROUNDS - threads that share one context. Over and over, a quarter
 * of them register a page, waiting for its entries, and deregister it, some have the
 * NIC copy its bytes meanwhile; the others get memory, give it back and ask for
 * figures. No call may fail. Run by test_process.py, and in a guest by vm_check.py.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "crowd"
#include "own_pair.h"

#define COPIERS 4u /* threads with queues of their own */
#define WAIT_US 60000000u
#define HALF	(PAGE / 2)

struct member {
	pthread_t thread;
	unsigned int nr;
	uint8_t *page;
	struct unic_cq *cq;
	struct unic_qp *qp[2];
};

static unsigned int rounds;
static pthread_barrier_t start;

/* For threads: the first that fails prints where. */
static void must(const struct member *m, int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, PROGRAM ": thread %u: %s: %d, %s\n", m->nr, what, err,
		unic_last_error());
	exit(1);
}

static void copy(const struct member *m, const struct unic_mr *mr)
{
	struct unic_sg from;
	struct unic_send_wr wr = {
		.opcode = UNIC_WR_WRITE,
		.flags = UNIC_WR_SIGNALED,
		.sg = &from,
		.num_sge = 1,
		.remote = mr->iova + HALF,
		.rkey = mr->stag,
	};
	struct unic_wc wc;
	int n;

	must(m, unic_sg_of(mr, m->page, HALF, &from), "name its bytes");
	must(m, unic_post_send(m->qp[0], &wr, 1) != 1, "post");
	while (!(n = unic_poll_cq(m->cq, 1, &wc)))
		must(m, unic_wait_cq(m->cq, WAIT_US / 1000), "wait");
	must(m, n != 1 || wc.status, "complete");
	must(m, memcmp(m->page, m->page + HALF, HALF), "copied");
}

static void *ask(void *arg)
{
	const struct member *m = arg;
	struct unic_usage usage;
	unsigned int i;

	pthread_barrier_wait(&start);
	for (i = 0; i < rounds; i++) {
		void *mem = unic_alloc(ctx, PAGE, PAGE);

		must(m, !mem, "get memory");
		must(m, unic_query_usage(ctx, &usage), "ask");
		must(m, unic_free(ctx, mem), "give back");
	}
	return NULL;
}

static void *hold(void *arg)
{
	const struct member *m = arg;
	struct unic_mr_attr attr = {
		.addr = m->page,
		.length = PAGE,
		.rights = RW,
		.flags = UNIC_MR_WAIT,
		.timeout_us = WAIT_US,
	};
	unsigned int i;

	pthread_barrier_wait(&start);
	for (i = 0; i < rounds; i++) {
		struct unic_mr *mr;

		memset(m->page, (int)(m->nr + i), HALF);
		must(m, unic_reg_mr(pd, &attr, &mr), "register");
		if (m->nr < COPIERS)
			copy(m, mr);
		must(m, unic_dereg_mr(mr), "deregister");
	}
	return NULL;
}

/* Queues that talk to themselves. */
static void give_queues(struct member *m)
{
	OK(unic_create_cq(pd, 16, &cq));
	connect_pair();
	m->cq = cq;
	m->qp[0] = qp[0];
	m->qp[1] = qp[1];
}

int main(int argc, char **argv)
{
	unsigned int n = argc == 4 ? (unsigned int)atoi(argv[2]) : 0, i;
	struct member *all = calloc(n + 1, sizeof(*all));
	uint8_t *mem;

	IS(n && all);
	rounds = (unsigned int)atoi(argv[3]);
	OK(unic_open(argv[1], &ctx));
	OK(unic_alloc_pd(ctx, &pd));
	mem = unic_alloc(ctx, (size_t)n * PAGE, PAGE);
	IS(mem);
	OK(pthread_barrier_init(&start, NULL, n));
	for (i = 0; i < n; i++) {
		all[i].nr = i;
		all[i].page = mem + (size_t)i * PAGE;
		if (i < COPIERS)
			give_queues(&all[i]);
	}
	for (i = 0; i < n; i++)
		OK(pthread_create(&all[i].thread, NULL,
				  i < COPIERS || i % 4 == 1 ? hold : ask,
				  &all[i]));
	for (i = 0; i < n; i++)
		OK(pthread_join(all[i].thread, NULL));
	for (i = 0; i < n && i < COPIERS; i++) {
		OK(unic_destroy_qp(all[i].qp[0]));
		OK(unic_destroy_qp(all[i].qp[1]));
		OK(unic_destroy_cq(all[i].cq));
	}
	free(all);
	unic_close(ctx);
	puts("ok");
	return 0;
}

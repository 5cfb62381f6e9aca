/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rxe - register and deregister with the first verbs device there is, Linux's
 * RDMA in software: lines "reg-PAGES nanoseconds", medians. Run by bench_vm.py.
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE   4096u
#define ROUNDS 301

#define OK(x)                                                                \
	do {                                                                 \
		if (!(x)) {                                                  \
			fprintf(stderr, "rxe: line %d: %s\n", __LINE__, #x); \
			exit(1);                                             \
		}                                                            \
	} while (0)

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void registering(struct ibv_pd *pd, unsigned int pages)
{
	static uint64_t ns[ROUNDS];
	void *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	OK(at != MAP_FAILED);
	memset(at, 1, pages * PAGE);
	for (i = 0; i < ROUNDS; i++) {
		uint64_t start = now_ns();
		struct ibv_mr *mr = ibv_reg_mr(pd, at, pages * PAGE,
					       IBV_ACCESS_LOCAL_WRITE |
						       IBV_ACCESS_REMOTE_WRITE |
						       IBV_ACCESS_REMOTE_READ);

		OK(mr && !ibv_dereg_mr(mr));
		ns[i] = now_ns() - start;
	}
	qsort(ns, ROUNDS, sizeof(*ns), by_size);
	printf("reg-%u %llu\n", pages, (unsigned long long)ns[ROUNDS / 2]);
	munmap(at, pages * PAGE);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	struct ibv_pd *pd;

	OK(list && list[0]);
	ctx = ibv_open_device(list[0]);
	OK(ctx);
	pd = ibv_alloc_pd(ctx);
	OK(pd);
	registering(pd, 1);
	registering(pd, 16);
	registering(pd, 256);
	return 0;
}

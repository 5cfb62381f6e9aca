/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * verbs_data [adjacent | heap] - registers data and .bss of the program and of a library, by a program
 * of libibverbs that knows nothing of unic; adjacent: the heap begins where .bss ends, too; heap: that
 * alone, of a thread, which is given back and comes again as zeroes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  4096u
#define PAGES 3u
#define RW    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

#define IS(what)                                                               \
	do {                                                                   \
		if (!(what)) {                                                 \
			printf("%s:%d: not so: %s (errno %d, %s)\n", __func__, \
			       __LINE__, #what, errno, strerror(errno));       \
			exit(1);                                               \
		}                                                              \
	} while (0)

static uint8_t data[PAGES * PAGE] = { 1 };
static uint8_t bss[PAGES * PAGE];
static const uint8_t constant[PAGE] = { 1 };
/* Counted by a thread, one in data and one in .bss. */
static volatile uint64_t in_data = 1, in_bss;
static int stop;

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp; /* connected with itself */

static struct ibv_mr *reg(void *at, size_t bytes)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, at, bytes, RW);

	IS(mr && mr->addr == at && mr->length == bytes);
	return mr;
}

static void open_qp(void)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 4,
			 .max_recv_wr = 4,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				    .path_mtu = IBV_MTU_1024,
				    .timeout = 18,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .ah_attr = { .is_global = 1,
						 .port_num = 1 } };

	cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	qp = cq ? ibv_create_qp(pd, &init) : NULL;
	IS(qp && !ibv_query_gid(ctx, 1, 0, &attr.ah_attr.grh.dgid));
	attr.dest_qp_num = qp->qp_num;
	IS(!ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	IS(!ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	IS(!ibv_modify_qp(qp, &attr,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC));
}

/* The adapter writes @bytes from @from, in @source, to @to, in @sink. */
static void copy(const struct ibv_mr *source, const void *from,
		 const struct ibv_mr *sink, const void *to, uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)from, bytes, source->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)to;
	wr.wr.rdma.rkey = sink->rkey;
	IS(!ibv_post_send(qp, &wr, &bad));
	while (!ibv_poll_cq(cq, 1, &wc))
		usleep(100);
	IS(wc.status == IBV_WC_SUCCESS);
}

static void moves_bytes(void)
{
	struct ibv_mr *source = reg(data + 8, 2 * PAGE);
	struct ibv_mr *sink = reg(bss + 100, 2 * PAGE);

	IS(data[0] == 1);
	strcpy((char *)data + 20, "of the program");
	copy(source, data + 20, sink, bss + PAGE, 15);
	IS(!strcmp((char *)bss + PAGE, "of the program"));
	IS(!ibv_dereg_mr(source) && !ibv_dereg_mr(sink));
	IS(!strcmp((char *)bss + PAGE, "of the program") && data[0] == 1);
}

/* Register from the lower to the higher one of two addresses, and what is there. */
static struct ibv_mr *reg_span(void *one, size_t bytes, void *other,
			       size_t more)
{
	uint8_t *a = one, *b = other;

	return a < b ? reg(a, (size_t)(b - a) + more)
		     : reg(b, (size_t)(a - b) + bytes);
}

static void spans_data_and_bss(void)
{
	struct ibv_mr *mr = reg_span(data, sizeof(data), bss, sizeof(bss));

	data[sizeof(data) - 1] = 17;
	copy(mr, data + sizeof(data) - 1, mr, bss + sizeof(bss) - 1, 1);
	IS(bss[sizeof(bss) - 1] == 17);
	IS(!ibv_dereg_mr(mr));
}

/* The variable of a library that the program has no copy of. */
static void takes_data_of_a_library(void)
{
	void *lib = dlopen("libm.so.6", RTLD_NOW);
	int *sign = lib ? dlsym(lib, "signgam") : NULL;
	double (*gamma)(double) = NULL;
	struct ibv_mr *mr, *from;

	IS(sign);
	*(void **)(void *)&gamma = dlsym(lib, "lgamma");
	IS(gamma && gamma(-0.5) > 1 && *sign == -1);
	mr = reg(sign, sizeof(*sign));
	from = reg(bss, sizeof(*sign));
	IS(*sign == -1);
	IS(gamma(0.5) > 0 && *sign == 1);
	memset(bss, 3, sizeof(*sign));
	copy(from, bss, mr, sign, sizeof(*sign));
	IS(*sign == 0x03030303);
	IS(!ibv_dereg_mr(mr) && !ibv_dereg_mr(from));
	IS(*sign == 0x03030303 && gamma(-0.5) > 1 && *sign == -1);
}

static void *counts(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		in_data++;
		in_bss++;
	}
	return arg;
}

/* Children while a thread writes to all of it: each has what was there, and writes its own. */
static void forks(void)
{
	struct ibv_mr *mr = reg_span(data, sizeof(data), bss, sizeof(bss));
	pid_t child;
	int i, status;

	for (i = 0; i < 20; i++) {
		data[5] = (uint8_t)i;
		bss[5] = (uint8_t)(i + 1);
		child = fork();
		if (!child) {
			int well = data[5]++ == i && bss[5]++ == i + 1;

			printf("verbs-data: child %d\n", i);
			fflush(stdout); /* .bss has a copy of the pointer */
			exit(!well);
		}
		IS(waitpid(child, &status, 0) == child && !status);
		IS(data[5] == i && bss[5] == i + 1);
		copy(mr, data + 5, mr, bss + 6, 1);
		IS(bss[6] == i);
	}
	IS(!ibv_dereg_mr(mr));
	IS(!system("true"));
}

static void registers_adjacent_heap(void)
{
	uint8_t *heap = sbrk(0), *end = heap + PAGE;
	uint8_t *one = data, *from = bss > one ? bss : one;
	struct ibv_mr *mr;

	IS(sbrk(PAGE) == heap);
	heap[8] = 'h';
	from[8] = 'b';
	mr = reg(from, (size_t)(end - from));
	IS(heap[8] == 'h' && from[8] == 'b');
	copy(mr, from + 8, mr, heap + 8, 1);
	IS(heap[8] == 'b');
	IS(!ibv_dereg_mr(mr));
}

/* Where the data of library @name begins that can be written. */
static const void *data_of(const char *name)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uintptr_t found = 0, from;
	char line[512], perms[5];

	IS(f);
	while (!found && fgets(line, sizeof(line), f))
		if (strstr(line, name) &&
		    sscanf(line, "%lx-%*x %4s", &from, perms) == 2 &&
		    !strcmp(perms, "rw-p"))
			found = from;
	IS(found && !fclose(f));
	return (void *)found;
}

static void is_refused(const char *name, const void *at, int access)
{
	fprintf(stderr, "verbs-data: %s\n", name);
	errno = 0;
	IS(!ibv_reg_mr(pd, (void *)(uintptr_t)at, 16, access) &&
	   errno == EOPNOTSUPP);
}

static void refuses(void)
{
	uint8_t on_stack[16];
	void *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	is_refused("text", (void *)(uintptr_t)refuses, 0);
	is_refused("constant", constant, 0);
	is_refused("libc", stdout, RW);
	is_refused("loader", dlsym(RTLD_DEFAULT, "_r_debug"), RW);
	is_refused("shim", data_of("/libunic-shim.so"), RW);
	is_refused("provider", data_of("/libunic-rdmav34.so"), RW);
	is_refused("stack", on_stack, RW);
	is_refused("shared", shared, RW);
	munmap(shared, PAGE);
}

#define BLOCKS 40u
#define BLOCK  100000u

/* An allocator may give the kernel memory back that was registered, and take it for zeroes when
 * it uses it again. */
static void *fills_a_heap(void *arg)
{
	static struct ibv_mr *mr[BLOCKS];
	static uint8_t *block[BLOCKS];
	unsigned int i, k;

	for (i = 0; i < BLOCKS; i++) {
		block[i] = malloc(BLOCK);
		IS(block[i]);
		memset(block[i], 0x5a, BLOCK);
		mr[i] = ibv_reg_mr(pd, block[i], BLOCK, RW);
		IS(mr[i]);
	}
	for (i = 0; i < BLOCKS; i++)
		IS(!ibv_dereg_mr(mr[i]));
	while (i--)
		free(block[i]);
	for (i = 0; i < BLOCKS; i++) {
		block[i] = calloc(1, BLOCK);
		IS(block[i]);
		for (k = 0; k < BLOCK; k++)
			IS(!block[i][k]);
	}
	while (i--)
		free(block[i]);
	return arg;
}

static void uses_heaps(void)
{
	pthread_t thread;

	fills_a_heap(NULL);
	IS(!pthread_create(&thread, NULL, fills_a_heap, NULL));
	IS(!pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ctx = list && *list ? ibv_open_device(*list) : NULL;
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	IS(pd);
	if (argc > 1 && !strcmp(argv[1], "heap")) {
		uses_heaps();
		puts("verbs-data: heaps ok");
		return 0;
	}
	open_qp();
	IS(!pthread_create(&thread, NULL, counts, NULL));
	moves_bytes();
	spans_data_and_bss();
	takes_data_of_a_library();
	forks();
	if (argc > 1 && !strcmp(argv[1], "adjacent"))
		registers_adjacent_heap();
	refuses();
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	IS(!pthread_join(thread, NULL) && in_data == in_bss + 1);
	IS(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq));
	IS(!ibv_dealloc_pd(pd) && !ibv_close_device(ctx));
	IS(data[5] == 19 && bss[5] == 20); /* private memory again */
	ibv_free_device_list(list);
	puts("verbs-data: ok");
	return 0;
}

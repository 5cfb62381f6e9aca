/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * forks SOCKET [moved] - a process with registered memory that has children: what is
 * theirs, and what stays its own; moved: of memory that it moved elsewhere, and of its .bss,
 * too. Run by test_process.py, and in a guest by vm_check.py.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "forks"
#include "own_pair.h"

#define PAGES 8u
#define BYTES (PAGES * PAGE)

extern char **environ;

/* Registered memory of both kinds: allocated by the library, and moved in. */
static struct held {
	uint8_t *at;
	struct unic_mr *mr;
} held[2];

static struct unic_mr *reg(void *at)
{
	struct unic_mr_attr attr = { .addr = at,
				     .length = BYTES,
				     .rights = RW };
	struct unic_mr *mr;

	OK(unic_reg_mr(pd, &attr, &mr));
	return mr;
}

static void fill(uint8_t *at, unsigned int with)
{
	unsigned int i;

	for (i = 0; i < BYTES; i++)
		at[i] = (uint8_t)(with + i / PAGE);
}

static int is_full_of(const uint8_t *at, unsigned int with)
{
	unsigned int i;

	for (i = 0; i < BYTES; i++)
		if (at[i] != (uint8_t)(with + i / PAGE))
			return 0;
	return 1;
}

/* The NIC moves all of one to the other. */
static void copy(const struct held *from, const struct held *to)
{
	struct unic_sg sg = sg_of(from->mr, from->at, BYTES);
	struct unic_send_wr wr = {
		.opcode = UNIC_WR_WRITE,
		.flags = UNIC_WR_SIGNALED,
		.sg = &sg,
		.num_sge = 1,
		.remote = to->mr->iova,
		.rkey = to->mr->stag,
	};

	IS(unic_post_send(qp[0], &wr, 1) == 1);
	IS(!next().status);
}

static void set_up(const char *path)
{
	open_pair(path);
	held[0].at = unic_alloc(ctx, BYTES, PAGE);
	IS(held[0].at);
	held[1].at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	IS(held[1].at != MAP_FAILED);
	held[0].mr = reg(held[0].at);
	held[1].mr = reg(held[1].at);
}

static void is_well(pid_t child)
{
	int status;

	IS(waitpid(child, &status, 0) == child);
	if (WIFSIGNALED(status))
		fprintf(stderr, PROGRAM ": a child died of signal %d\n",
			WTERMSIG(status));
	IS(!status);
}

static void refused(int err)
{
	IS(err == -ENOTCONN && strstr(unic_last_error(), "forked"));
}

static void calls_are_refused(void)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	struct unic_qp_mod mod = { .state = UNIC_QPS_RESET };
	struct unic_mr_attr attr = { .addr = held[0].at, .length = PAGE };
	struct unic_usage usage;
	struct unic_event ev;
	struct unic_wc wc;
	struct unic_mr *mr;
	struct unic_pd *other;

	IS(unic_ctx_lost(ctx));
	refused(unic_post_send(qp[0], &wr, 1));
	refused(unic_poll_cq(cq, 1, &wc));
	refused(unic_wait_cq(cq, 1000));
	refused(unic_get_event(ctx, &ev));
	refused(unic_modify_qp(qp[0], &mod));
	refused(unic_query_usage(ctx, &usage));
	refused(unic_reg_mr(pd, &attr, &mr));
	refused(unic_alloc_pd(ctx, &other));
	IS(!unic_alloc(ctx, PAGE, PAGE) && errno == ENOTCONN);
}

/* ------------------------------------------------------------------- children */

/* Reads what was there, writes, has a child of its own, gives everything back. */
static void plain_child(int go)
{
	pid_t child;
	char c;

	/* the parent and its NIC have written by then */
	IS(read(go, &c, 1) == 1);
	IS(is_full_of(held[0].at, 10) && is_full_of(held[1].at, 30));
	fill(held[0].at, 50);
	fill(held[1].at, 70);
	calls_are_refused();
	child = fork();
	if (!child) {
		IS(is_full_of(held[0].at, 50) && is_full_of(held[1].at, 70));
		fill(held[0].at, 90);
		calls_are_refused();
		_exit(0);
	}
	is_well(child);
	IS(is_full_of(held[0].at, 50));
	OK(unic_dereg_mr(held[0].mr));
	OK(unic_free(ctx, held[0].at));
	OK(unic_destroy_qp(qp[0]));
	unic_close(ctx);
	IS(is_full_of(held[1].at, 70));
	_exit(0);
}

static void writes_stay_apart(int inherited)
{
	struct held all[2] = { held[0], held[1] };
	int go[2];
	pid_t child;

	fill(held[0].at, 10);
	fill(held[1].at, 30);
	if (inherited) { /* somebody else's good idea */
		OK(madvise(held[0].at, BYTES, MADV_DOFORK));
		OK(madvise(held[1].at, BYTES, MADV_DOFORK));
	}
	OK(pipe(go));
	child = fork();
	IS(child >= 0);
	if (!child)
		plain_child(go[0]);
	fill(held[0].at, 11);
	copy(&all[0], &all[1]);
	IS(write(go[1], "x", 1) == 1);
	is_well(child);
	IS(is_full_of(held[0].at, 11) && is_full_of(held[1].at, 11));
	fill(held[1].at, 12);
	copy(&all[1], &all[0]);
	IS(is_full_of(held[0].at, 12));
	close(go[0]);
	close(go[1]);
}

/* Memory that was moved in, and then moved elsewhere by its owner, is found
 * there. */
static void moved_elsewhere(void)
{
	uint8_t *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		*to;
	struct unic_mr *mr;
	pid_t child;

	IS(p != MAP_FAILED);
	mr = reg(p);
	fill(p, 5);
	to = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	IS(mremap(p, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	OK(mprotect(to, PAGE, PROT_READ));
	child = fork();
	if (!child) {
		IS(is_full_of(to, 5));
		to[PAGE] = 1;
		IS(madvise(p, PAGE, MADV_NORMAL) && errno == ENOMEM);
		_exit(0);
	}
	is_well(child);
	IS(is_full_of(to, 5));
	OK(unic_dereg_mr(mr));
	OK(munmap(to, BYTES));
}

/* Where the .bss of this program lies, as the linker has it. */
extern uint8_t __bss_start[], _end[];

/* Libunic is a part of this program, and a child runs it before it has what was in .bss. */
static void own_bss(void)
{
	_Alignas(PAGE) static uint8_t mine[BYTES];
	uintptr_t mask = PAGE - 1;
	uint8_t *from = (void *)(((uintptr_t)__bss_start + mask) & ~mask);
	struct unic_mr_attr attr = { .addr = from,
				     .length = (size_t)(_end - from),
				     .rights = RW };
	struct unic_mr *mr;
	pid_t child;

	fill(mine, 8);
	OK(unic_reg_mr(pd, &attr, &mr));
	child = fork();
	if (!child) {
		IS(is_full_of(mine, 8));
		fill(mine, 9);
		_exit(0);
	}
	is_well(child);
	IS(is_full_of(mine, 8));
	OK(unic_dereg_mr(mr));
}

/* ThreadSanitizer gives a child a thread that blocks signals, and nothing can be
 * moved in. */
static uint8_t *movable(uint8_t *at)
{
#ifdef __SANITIZE_THREAD__
	return memcpy(unic_alloc(ctx, BYTES, PAGE), at, BYTES);
#else
	return at;
#endif
}

static const void *volatile parents[4];

/* A context of the child's own, on memory that was the parent's. */
static void own_context(const char *path)
{
	pid_t child;

	fill(held[0].at, 10);
	fill(held[1].at, 30);
	child = fork();
	if (!child) {
		struct unic_ctx *old = ctx;
		struct held mine;

		/* not given back, not lost */
		parents[0] = held[0].mr;
		parents[1] = cq;
		parents[2] = qp[0];
		parents[3] = qp[1];
		open_pair(path);
		mine.at = movable(held[1].at);
		mine.mr = reg(mine.at);
		held[0].at = unic_alloc(ctx, BYTES, PAGE);
		IS(held[0].at);
		held[0].mr = reg(held[0].at);
		copy(&mine, &held[0]);
		IS(is_full_of(held[0].at, 30));
		unic_close(old);
		copy(&mine, &held[0]);
		unic_close(ctx);
		_exit(0);
	}
	is_well(child);
	IS(is_full_of(held[0].at, 10) && is_full_of(held[1].at, 30));
}

/* --------------------------------------------------------------------- threads */

static pthread_mutex_t pair_lock = PTHREAD_MUTEX_INITIALIZER;
static int stop;

static void lock_pair(void)
{
	pthread_mutex_lock(&pair_lock);
}

static void unlock_pair(void)
{
	pthread_mutex_unlock(&pair_lock);
}

/* The first and the last word are equal whenever no thread has the lock. */
static void *count(void *arg)
{
	uint32_t *first = arg, *last = first + BYTES / sizeof(*last) - 1;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		lock_pair();
		++*first;
		*last = *first;
		unlock_pair();
	}
	return NULL;
}

/* Others come and go, and register. */
static void *churn(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		void *mem = unic_alloc(ctx, BYTES, PAGE);

		IS(mem);
		OK(unic_dereg_mr(reg(mem)));
		OK(unic_free(ctx, mem));
	}
	return NULL;
}

static void beside_threads(void)
{
	uint32_t *first = (void *)held[1].at;
	uint32_t *last = first + BYTES / sizeof(*last) - 1;
	pthread_t t[2];
	unsigned int i;
	pid_t child;

	*first = *last = 0;
	OK(pthread_atfork(lock_pair, unlock_pair, unlock_pair));
	OK(pthread_create(&t[0], NULL, count, first));
	OK(pthread_create(&t[1], NULL, churn, NULL));
	for (i = 0; i < 50; i++) {
		child = fork();
		IS(child >= 0);
		if (!child) {
			/* work of other threads is lost in the child */
			const char *how = *first == *last ? "true" : "false";

			execlp(how, how, NULL);
			_exit(1);
		}
		is_well(child);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	OK(pthread_join(t[0], NULL));
	OK(pthread_join(t[1], NULL));
	IS(*first == *last && *first);
}

/* A heap in use: blocks of many sizes come and go. */
static void use_heap(unsigned int rounds)
{
	void *kept[64] = { NULL };
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		free(kept[i * 7 % 64]);
		kept[i * 7 % 64] = malloc(1 + i * 37 % 3000);
		IS(kept[i * 7 % 64]);
	}
	for (i = 0; i < 64; i++)
		free(kept[i]);
}

static uint8_t *blocks[2]; /* of each thread's heap */
static int taken;

static void *heap_user(void *block)
{
	*(uint8_t **)block = malloc(BYTES);
	IS(*(uint8_t **)block);
	__atomic_add_fetch(&taken, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		use_heap(100);
	free(*(uint8_t **)block);
	return NULL;
}

/* Pages of the heaps of threads that go on using them, with the locks in the first page, are moved
 * while a child is made, which uses its own. */
static void heaps_of_threads(void)
{
	struct unic_mr *mr[2];
	pthread_t t[2];
	unsigned int i;
	pid_t child;

	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		OK(pthread_create(&t[i], NULL, heap_user, &blocks[i]));
	while (__atomic_load_n(&taken, __ATOMIC_ACQUIRE) < 2)
		usleep(100);
	for (i = 0; i < 2; i++)
		mr[i] = reg(blocks[i]);
	for (i = 0; i < 50; i++) {
		child = fork();
		IS(child >= 0);
		if (!child) {
			use_heap(1000);
			_exit(0);
		}
		is_well(child);
	}
	for (i = 0; i < 2; i++)
		OK(unic_dereg_mr(mr[i]));
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 2; i++)
		OK(pthread_join(t[i], NULL));
}

static void other_programs(void)
{
	char *argv[] = { "true", NULL };
	pid_t child;

	fill(held[0].at, 3);
	OK(posix_spawnp(&child, "true", NULL, NULL, argv, environ));
	is_well(child);
	child = vfork();
	if (!child)
		_exit(execvp("true", argv));
	is_well(child);
	IS(is_full_of(held[0].at, 3));
	copy(&held[0], &held[1]);
	IS(is_full_of(held[1].at, 3));
}

int main(int argc, char **argv)
{
	IS(argc == 2 || argc == 3);
	set_up(argv[1]);
	writes_stay_apart(0);
	writes_stay_apart(1);
	if (argc == 3)
		moved_elsewhere();
	own_context(argv[1]);
	if (argc == 3) /* valgrind has no vfork(): a child would lack .bss */
		own_bss();
	other_programs();
	beside_threads();
	if (argc == 3)
		heaps_of_threads();
	unic_close(ctx);
	puts("ok");
	return 0;
}

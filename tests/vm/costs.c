/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * costs NODE PART... - what the Linux module costs, each thing in turns with its
 * yardstick: lines "what ours yardstick", nanoseconds, medians. Run by bench_vm.py.
 *
 *	reg	register and deregister 1, 16 and 256 pages, beside io_uring's fixed
 *		buffers. Beside that of one page also: after a pause, in which the
 *		NIC falls asleep; two requests that the driver refuses; and how much
 *		longer two commands to the NIC take
 *	call	a command to the NIC and back, beside a cache line to a thread that
 *		spins and back (two processors)
 *	upcall	a region is asked back and the process, blocked in poll(), knows it,
 *		beside an eventfd that another thread writes to
 */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "conn.h"
#include "unic.h"

#define PAGE   4096u
#define ROUNDS 301
#define RW     (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_conn *conn; /* a second one, of a client without a slot */

#define OK(x)                                                                 \
	do {                                                                  \
		if (!(x)) {                                                   \
			fprintf(stderr, "costs: line %d: %s: %s\n", __LINE__, \
				#x, unic_last_error());                       \
			exit(1);                                              \
		}                                                             \
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

static uint64_t median(uint64_t *ns)
{
	qsort(ns, ROUNDS, sizeof(*ns), by_size);
	return ns[ROUNDS / 2];
}

static void say(const char *what, uint64_t ours, uint64_t yardstick)
{
	printf("%s %llu %llu\n", what, (unsigned long long)ours,
	       (unsigned long long)yardstick);
	fflush(stdout);
}

static void report(const char *what, uint64_t *ours, uint64_t *yardstick)
{
	say(what, median(ours), median(yardstick));
}

/* ---------------------------------------------------------------- registering */

static int ring;

/* A table with room for one buffer, which is empty. */
static void sparse_table(void)
{
	struct io_uring_params params = { .flags = 0 };
	struct io_uring_rsrc_register r = {
		.nr = 1, .flags = IORING_RSRC_REGISTER_SPARSE
	};

	ring = (int)syscall(SYS_io_uring_setup, 1, &params);
	OK(ring >= 0);
	OK(!syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS2, &r,
		    sizeof(r)));
}

/* Puts @iov into the table; an empty one takes the buffer out of it. */
static void put(struct iovec *iov)
{
	struct io_uring_rsrc_update2 u = { .data = (uintptr_t)iov, .nr = 1 };

	OK(syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS_UPDATE,
		   &u, sizeof(u)) == 1);
}

/* Not IORING_UNREGISTER_BUFFERS, which waits for all processors. */
static uint64_t fixed_buffers(struct iovec *iov)
{
	struct iovec none = { NULL, 0 };
	uint64_t start = now_ns();

	put(iov);
	put(&none);
	return now_ns() - start;
}

static uint64_t region(void *at, size_t bytes)
{
	struct unic_mr_attr a = { .addr = at, .length = bytes, .rights = RW };
	struct unic_mr *mr;
	uint64_t start = now_ns();

	OK(!unic_reg_mr(pd, &a, &mr));
	OK(!unic_dereg_mr(mr));
	return now_ns() - start;
}

static struct iovec memory(unsigned int pages)
{
	struct iovec iov = { .iov_len = pages * PAGE };

	iov.iov_base = mmap(NULL, iov.iov_len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(iov.iov_base != MAP_FAILED);
	memset(iov.iov_base, 1, iov.iov_len);
	return iov;
}

static void registering(const char *what, unsigned int pages,
			unsigned int pause_us)
{
	static uint64_t ours[ROUNDS], theirs[ROUNDS];
	struct iovec iov = memory(pages);
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (pause_us)
			usleep(pause_us);
		ours[i] = region(iov.iov_base, iov.iov_len);
		if (pause_us)
			usleep(pause_us);
		theirs[i] = fixed_buffers(&iov);
	}
	report(what, ours, theirs);
}

/*
 * A request that the driver refuses itself: a client without a slot has no
 * region.
 */
static void refused(void)
{
	struct unic_ctl_obj rec = { .id = unic_to_le32(0) };
	struct unic_conn_call call = { .rec = &rec };

	OK(unic_conn_call(conn, UNIC_CTL_MR_DEREG, &call) ==
	   UNIC_CTL_ST_NO_HELLO);
}

static void asked(void)
{
	struct unic_usage usage;

	OK(!unic_query_usage(ctx, &usage));
}

static uint64_t twice(void (*request)(void))
{
	uint64_t start = now_ns();

	request();
	request();
	return now_ns() - start;
}

/* The least that such a driver can cost: the ways into the kernel and back,
 * and to the NIC and back. */
static void floors(void)
{
	static uint64_t kernel[ROUNDS], nic[ROUNDS], theirs[ROUNDS];
	struct iovec iov = memory(1);
	uint64_t in, yardstick;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		kernel[i] = twice(refused);
		nic[i] = twice(asked);
		theirs[i] = fixed_buffers(&iov);
	}
	in = median(kernel);
	yardstick = median(theirs);
	say("reg-kernel", in, yardstick);
	say("reg-nic", median(nic) > in ? median(nic) - in : 0, yardstick);
}

static void registers(void)
{
	sparse_table();
	registering("reg-1", 1, 0);
	registering("reg-16", 16, 0);
	registering("reg-256", 256, 0);
	registering("reg-asleep", 1, 2000);
	floors();
}

/* -------------------------------------------------------------------- a command */

static struct {
	_Alignas(64) uint32_t ping;
	_Alignas(64) uint32_t pong;
} line;

static void *echo(void *arg)
{
	uint32_t n;

	(void)arg;
	for (n = 1; n <= ROUNDS; n++) {
		while (__atomic_load_n(&line.ping, __ATOMIC_ACQUIRE) != n)
			;
		__atomic_store_n(&line.pong, n, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void calls(void)
{
	static uint64_t ours[ROUNDS], theirs[ROUNDS];
	pthread_t thread;
	uint32_t n;

	for (n = 0; n < ROUNDS; n++) {
		uint64_t start = now_ns();

		asked();
		ours[n] = now_ns() - start;
	}
	OK(!pthread_create(&thread, NULL, echo, NULL));
	for (n = 1; n <= ROUNDS; n++) {
		uint64_t start = now_ns();

		__atomic_store_n(&line.ping, n, __ATOMIC_RELEASE);
		while (__atomic_load_n(&line.pong, __ATOMIC_ACQUIRE) != n)
			;
		theirs[n - 1] = now_ns() - start;
	}
	pthread_join(thread, NULL);
	report("call", ours, theirs);
}

/* --------------------------------------------------------------------- an upcall */

static uint64_t told_ns; /* atomic; 0: not yet */
static int event, answer;

/* Says when the eventfd, or the upcall, was seen. */
static void *waiter(void *arg)
{
	struct pollfd pfd = { .fd = *(int *)arg, .events = POLLIN };
	uint64_t n;

	for (;;) {
		OK(poll(&pfd, 1, -1) == 1);
		__atomic_store_n(&told_ns, now_ns(), __ATOMIC_RELEASE);
		if (pfd.fd == event)
			OK(read(event, &n, 8) == 8);
		else
			while (poll(&pfd, 1, 0)) {
				struct unic_event ev;

				if (!unic_get_event(ctx, &ev))
					unic_ack_event(&ev);
			}
		n = 1;
		OK(write(answer, &n, 8) == 8);
	}
	return NULL;
}

static uint64_t wait_told(uint64_t start)
{
	uint64_t n;

	OK(read(answer, &n, 8) == 8);
	return __atomic_load_n(&told_ns, __ATOMIC_ACQUIRE) - start;
}

/* The second connection of this process evicts a region, as root may. */
static uint64_t evict(void *at)
{
	struct unic_mr_attr a = { .addr = at, .length = PAGE, .rights = RW };
	struct unic_ctl_obj rec = { .id = unic_to_le32(0) };
	struct unic_conn_call call = { .rec = &rec };
	struct unic_mr *mr;
	uint64_t start, took;

	OK(!unic_reg_mr(pd, &a, &mr));
	rec.id = unic_to_le32(mr->id);
	start = now_ns();
	OK(!unic_conn_call(conn, UNIC_CTL_EVICT, &call));
	took = wait_told(start);
	OK(!unic_dereg_mr(mr));
	return took;
}

static void upcalls(void)
{
	static uint64_t ours[ROUNDS], theirs[ROUNDS];
	void *at = unic_alloc(ctx, PAGE, PAGE);
	int fd = unic_event_fd(ctx), i;
	pthread_t thread;
	uint64_t one = 1;

	event = eventfd(0, 0);
	answer = eventfd(0, 0);
	OK(at && event >= 0 && answer >= 0);
	OK(!pthread_create(&thread, NULL, waiter, &event));
	usleep(10000);
	for (i = 0; i < ROUNDS; i++) {
		uint64_t start = now_ns();

		OK(write(event, &one, 8) == 8);
		theirs[i] = wait_told(start);
		usleep(1000); /* the waiter is blocked again */
	}
	OK(!pthread_create(&thread, NULL, waiter, &fd));
	usleep(10000);
	for (i = 0; i < ROUNDS; i++) {
		ours[i] = evict(at);
		usleep(1000);
	}
	report("upcall", ours, theirs);
}

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "reg", registers },
	{ "call", calls },
	{ "upcall", upcalls },
};

int main(int argc, char **argv)
{
	unsigned int i;
	int arg;

	if (argc < 3)
		return 2;
	OK(!unic_open(argv[1], &ctx) && !unic_alloc_pd(ctx, &pd) &&
	   !unic_conn_open(argv[1], &conn));
	for (arg = 2; arg < argc; arg++)
		for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			if (!strcmp(argv[arg], parts[i].name))
				parts[i].run();
	puts("costs: ok");
	fflush(stdout);
	_exit(0); /* with the waiters */
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * calls target SOCKET	says "ready", and is written to until it is killed
 * calls NODE IPV4	writes there, and counts its own system calls
 *
 * Data moves without the kernel: posting and polling make no system call, but
 * for a write that wakes a NIC that sleeps. Tracepoints of the kernel count the
 * calls. Prints "WHAT: N messages, ..." and "calls: ok". Run by vm_check.py and
 * bench_vm.py.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unic.h"

#define PAGE	4096u
#define BYTES	64u /* of a message */
#define SERVICE 4712u
#define WINDOW	8u
#define BATCH	16u
#define BATCHES 800u
#define LONG	(256 * PAGE)   /* bytes of a message that keeps the NIC awake */
#define WAIT_NS 20000000000ull /* for messages that take microseconds */
#define NAPS	50u
#define TRIES	100u
#define EVENTS	"/sys/kernel/tracing/events/"

static struct unic_ctx *ctx;
static struct unic_cq *cq;
static struct unic_mr *mr;
static struct unic_qp *qp;

static void check(int good, int line, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "calls: line %d: %s: %s\n", line, what,
		unic_last_error());
	exit(1);
}

#define OK(x) check(x, __LINE__, #x)

/* Where the target may be written to. */
struct place {
	uint64_t iova;
	uint32_t stag;
};

static void set_up(const char *node)
{
	struct unic_mr_attr a = { .length = LONG,
				  .rights = UNIC_MR_LOCAL_WRITE |
					    UNIC_MR_REMOTE_WRITE };
	struct unic_qp_attr q = { .sq_slots = 2 * WINDOW, .rq_slots = 8 };
	struct unic_pd *pd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	OK(!unic_open(node, &ctx) && !unic_alloc_pd(ctx, &pd));
	a.addr = unic_alloc(ctx, LONG, PAGE);
	OK(a.addr && !unic_reg_mr(pd, &a, &mr) && !unic_create_cq(pd, 64, &cq));
	q.send_cq = cq;
	q.recv_cq = cq;
	OK(!unic_create_qp(pd, &q, &qp));
}

static void target(void)
{
	struct place here = { mr->iova, mr->stag };
	struct unic_conn_param p = { .private_data = &here,
				     .private_len = sizeof(here) };
	struct pollfd pfd = { .fd = unic_event_fd(ctx), .events = POLLIN };
	struct unic_listener *l;
	struct unic_event ev;

	OK(!unic_listen(ctx, SERVICE, &l));
	puts("ready");
	while (unic_get_event(ctx, &ev) == -EAGAIN)
		OK(poll(&pfd, 1, -1) == 1);
	OK(ev.type == UNIC_EV_CONNECT && !unic_accept(ctx, ev.conn, qp, &p));
	pause();
}

/* ---------------------------------------------------------------- the counters */

static int all_calls, writes;

/* A counter of how often this thread passes a tracepoint. */
static int counter(const char *event)
{
	struct perf_event_attr a = { .type = PERF_TYPE_TRACEPOINT,
				     .size = sizeof(a) };
	char id[16] = "";
	int fd = open(event, O_RDONLY);

	OK(fd >= 0 && read(fd, id, sizeof(id) - 1) > 0);
	close(fd);
	a.config = strtoull(id, NULL, 10);
	fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
	OK(fd >= 0);
	return fd;
}

static void count_calls(void)
{
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	all_calls = counter(EVENTS "raw_syscalls/sys_enter/id");
	writes = counter(EVENTS "syscalls/sys_enter_write/id");
}

static uint64_t value(int fd)
{
	uint64_t n;

	OK(read(fd, &n, sizeof(n)) == sizeof(n));
	return n;
}

/* ----------------------------------------------------------------- the messages */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Posts long messages at once, which the NIC works at for milliseconds, and waits until
 * it is awake and through with the first. */
static void post_long(const struct place *there)
{
	struct unic_send_wr wr[WINDOW - 1];
	uint64_t until = now_ns() + WAIT_NS;
	struct unic_sg sg;
	struct unic_wc wc;
	uint32_t i;

	OK(!unic_sg_of(mr, mr->addr, LONG, &sg));
	for (i = 0; i < WINDOW - 1; i++)
		wr[i] = (struct unic_send_wr){ .opcode = UNIC_WR_WRITE,
					       .num_sge = 1,
					       .sg = &sg,
					       .remote = there->iova,
					       .rkey = there->stag };
	wr[0].flags = UNIC_WR_SIGNALED;
	OK(unic_post_send(qp, wr, WINDOW - 1) == (int)WINDOW - 1);
	while (unic_poll_cq(cq, 1, &wc) != 1)
		OK(now_ns() < until);
	OK(wc.status == UNIC_WC_SUCCESS);
}

/* @n messages, WINDOW of them under way. */
static void messages(const struct place *there, uint32_t n)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = there->iova,
				   .rkey = there->stag };
	uint64_t until = now_ns() + WAIT_NS;
	uint32_t sent = 0, done = 0;
	struct unic_wc wc;

	OK(!unic_sg_of(mr, mr->addr, BYTES, &sg));
	while (done < n) {
		if (sent < n && sent - done < WINDOW)
			sent += unic_post_send(qp, &wr, 1) == 1;
		if (unic_poll_cq(cq, 1, &wc) != 1) {
			OK(now_ns() < until); /* no call: from the vDSO */
			continue;
		}
		OK(wc.status == UNIC_WC_SUCCESS);
		done++;
	}
}

struct tally {
	uint64_t calls, kicks, least, most;
};

/* Sends @n messages and adds the system calls that they cost to @t. */
static void tally(struct tally *t, const struct place *there, uint32_t n)
{
	uint64_t calls, kicks = value(writes);

	calls = value(all_calls);
	messages(there, n);
	calls = value(all_calls) - calls - 1; /* the read() is one, too */
	kicks = value(writes) - kicks;
	OK(calls == kicks);
	t->calls += calls;
	t->kicks += kicks;
	t->least = calls < t->least ? calls : t->least;
	t->most = calls > t->most ? calls : t->most;
}

static void say(const char *what, uint32_t n, const struct tally *t)
{
	printf("%s: %u messages, %llu calls, all to wake the NIC; %llu to %llu "
	       "at a time\n",
	       what, n, (unsigned long long)t->calls,
	       (unsigned long long)t->least, (unsigned long long)t->most);
}

/* Messages one after the other: a NIC that has nothing to do for some microseconds
 * sleeps, so some of them wake it. */
static void stream(const struct place *there)
{
	struct tally t = { .least = UINT64_MAX };
	uint32_t i;

	for (i = 0; i < BATCHES; i++)
		tally(&t, there, BATCH);
	say("stream", BATCHES * BATCH, &t);
}

/* Messages to a NIC that is at work take no call. A processor that is taken away for
 * longer than the NIC works may cost some tries. */
static void at_work(const struct place *there)
{
	struct tally t = { .least = UINT64_MAX };
	uint32_t i;

	for (i = 0; i < TRIES && t.least; i++) {
		post_long(there);
		tally(&t, there, WINDOW);
	}
	say("behind long messages", i * WINDOW, &t);
	OK(!t.least);
}

static void after_a_pause(const struct place *there)
{
	struct tally t = { .least = UINT64_MAX };
	uint32_t i;

	for (i = 0; i < NAPS; i++) {
		usleep(5000);
		tally(&t, there, 1);
	}
	say("after a pause", NAPS, &t);
	OK(t.most == 1);
}

int main(int argc, char **argv)
{
	struct unic_conn_param patient = { .timeout = 18 }; /* 1 s */
	unsigned int bytes = sizeof(struct place);
	struct place there;

	if (argc != 3)
		return 2;
	if (!strcmp(argv[1], "target")) {
		set_up(argv[2]);
		target();
	}
	set_up(argv[1]);
	OK(!unic_connect(qp, ntohl(inet_addr(argv[2])), SERVICE, &patient,
			 30000, &there, &bytes) &&
	   bytes >= sizeof(there));
	count_calls();
	messages(&there, BATCH);
	stream(&there);
	at_work(&there);
	after_a_pause(&there);
	puts("calls: ok");
	return 0;
}

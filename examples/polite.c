/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * polite.c - a whole program on libunic: a buffer waits for its place in the
 * NIC's table, is written by RDMA ten times a second, is given back when the NIC
 * asks for it, and queues up again.
 *
 *   polite DRIVER [PAGES]   (16) until interrupted; DRIVER: unicd.sock, /dev/unic0
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "unic.h"

#define PAGE 4096u

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_qp *qp[2]; /* connected to each other */
static struct unic_mr *mr;
static unsigned char *mem;
static size_t bytes;
static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

static void must(int err, const char *what)
{
	if (err >= 0)
		return;
	fprintf(stderr, "polite: %s: %s\n", what, unic_last_error());
	exit(1);
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* REGISTER_WAIT: a full table is no error, the NIC asks others to give. */
static void enter(void)
{
	struct unic_mr_attr attr = { .addr = mem,
				     .length = bytes,
				     .rights = UNIC_MR_LOCAL_WRITE |
					       UNIC_MR_REMOTE_WRITE,
				     .flags = UNIC_MR_WAIT };
	double from = now_ms();

	must(unic_reg_mr(pd, &attr, &mr), "register");
	printf("holds %u entries after %.1f ms\n", mr->entries,
	       now_ms() - from);
}

/* An RC queue pair from RESET to RTS. Between two hosts unic_connect() and
 * unic_accept() do this; here both ends are ours. */
static void connect_to(struct unic_qp *from, const struct unic_qp *to)
{
	struct unic_attr nic;
	struct unic_qp_mod init = { .state = UNIC_QPS_INIT,
				    .rights = UNIC_MR_REMOTE_WRITE };
	struct unic_qp_mod rtr = { .state = UNIC_QPS_RTR,
				   .mtu_shift = 8,
				   .rnr_timer = 12,
				   .dest_qpn = unic_qp_num(to) };
	struct unic_qp_mod rts = { .state = UNIC_QPS_RTS,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7 };

	unic_query(ctx, &nic);
	rtr.dest_ipv4 = nic.ipv4;
	must(unic_modify_qp(from, &init), "INIT");
	must(unic_modify_qp(from, &rtr), "RTR");
	must(unic_modify_qp(from, &rts), "RTS");
}

static void set_up(const char *driver)
{
	struct unic_qp_attr attr = { .sq_slots = 16, .rq_slots = 16 };
	int i;

	must(unic_open(driver, &ctx), "open");
	must(unic_alloc_pd(ctx, &pd), "protection domain");
	must(unic_create_cq(pd, 64, &cq), "completion queue");
	attr.send_cq = cq;
	attr.recv_cq = cq;
	for (i = 0; i < 2; i++)
		must(unic_create_qp(pd, &attr, &qp[i]), "queue pair");
	for (i = 0; i < 2; i++)
		connect_to(qp[i], qp[!i]);
	mem = unic_alloc(ctx, bytes, PAGE);
	must(mem ? 0 : -1, "memory");
}

/* The first 64 bytes to the last 64. Post and poll make no system call. The NIC
 * knows the region by a base that is drawn anew at each registration. */
static void write_once(unsigned char value)
{
	unsigned char *to = mem + bytes - 64;
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .sg = &sg,
				   .num_sge = 1,
				   .remote = mr->iova + bytes - 64,
				   .rkey = mr->stag };
	struct unic_wc wc;

	memset(mem, value, 64);
	must(unic_sg_of(mr, mem, 64, &sg), "address");
	must(unic_post_send(qp[0], &wr, 1), "post");
	must(unic_wait_cq(cq, 5000), "wait");
	must(unic_poll_cq(cq, 1, &wc), "poll");
	if (wc.status == UNIC_WC_SUCCESS && !memcmp(mem, to, 64))
		return;
	fprintf(stderr, "polite: WRITE: %s\n", unic_wc_status_str(wc.status));
	exit(1);
}

/* The region ends; so does the NIC's use of its memory. */
static void give(const char *what, const struct unic_event *ev)
{
	printf("%s %u entries", what, mr->entries);
	if (ev->type == UNIC_EV_NOTICE)
		printf(", %.1f ms left",
		       (double)ev->deadline_ns / 1e6 - now_ms());
	putchar('\n');
	must(unic_dereg_mr(mr), "deregister");
	mr = NULL;
}

/* A notice is answered by giving the region back; else it is taken after T. */
static void listen_to_nic(void)
{
	struct pollfd fd = { unic_event_fd(ctx), POLLIN, 0 };
	struct unic_event ev;

	if (poll(&fd, 1, 100) <= 0)
		return;
	while (!unic_get_event(ctx, &ev)) {
		if (ev.type == UNIC_EV_RESET)
			stop = 1;
		if (mr && ev.mr == mr && ev.type == UNIC_EV_NOTICE)
			give("asked for", &ev);
		else if (mr && ev.mr == mr && ev.type == UNIC_EV_EVICTED)
			give("lost", &ev);
		unic_ack_event(&ev);
	}
}

int main(int argc, char **argv)
{
	unsigned int times = 0;

	if (argc < 2) {
		fputs("usage: polite DRIVER [PAGES]\n", stderr);
		return 1;
	}
	bytes = (argc > 2 ? strtoul(argv[2], NULL, 10) : 16) * PAGE;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up(argv[1]);
	while (!stop) {
		if (!mr)
			enter();
		if (unic_mr_usable(mr, 1000)) /* for a millisecond? */
			write_once((unsigned char)++times);
		listen_to_nic();
	}
	printf("wrote %u times\n", times);
	unic_close(ctx);
	return 0;
}

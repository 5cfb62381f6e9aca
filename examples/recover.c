/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * recover.c - a program that outlives a reset of its NIC, and a restart of the driver: it
 * writes ten times a second from one region to another, both of a NIC that talks to
 * itself. After a reset the regions are as they were, with their STags; queue pairs are
 * connected again, and what was under way is repeated.
 *
 *   recover   until interrupted; try `unicctl reset`, or end unicd and start it again
 */
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <unic/unic.h>

#define PAGE	  4096u
#define SECOND_NS 1000000000l

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_qp *qp[2];
static struct unic_mr *mr;
static char *mem;
static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	stop = sig;
}

static void must(int err, const char *what)
{
	if (err < 0)
		errx(1, "%s: %s", what, unic_last_error());
}

/* Between two hosts unic_connect() and unic_accept() do this. */
static int connect_to(struct unic_qp *from, const struct unic_qp *to)
{
	struct unic_attr nic;
	struct unic_qp_mod init = { .state = UNIC_QPS_INIT,
				    .rights = UNIC_MR_REMOTE_WRITE };
	struct unic_qp_mod rtr = { .state = UNIC_QPS_RTR,
				   .mtu_shift = 10,
				   .rnr_timer = 12,
				   .dest_qpn = unic_qp_num(to) };
	struct unic_qp_mod rts = { .state = UNIC_QPS_RTS,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7 };
	int err;

	unic_query(ctx, &nic);
	rtr.dest_ipv4 = nic.ipv4;
	err = unic_modify_qp(from, &init);
	if (!err)
		err = unic_modify_qp(from, &rtr);
	return err ? err : unic_modify_qp(from, &rts);
}

static void set_up(void)
{
	struct unic_qp_attr queues = { .sq_slots = 16, .rq_slots = 16 };
	struct unic_mr_attr attr = { .length = 2 * PAGE,
				     .rights = UNIC_MR_LOCAL_WRITE |
					       UNIC_MR_REMOTE_WRITE,
				     .flags = UNIC_MR_WAIT };

	must(unic_open_kept(NULL, &ctx), "open");
	must(unic_alloc_pd(ctx, &pd), "protection domain");
	must(unic_create_cq(pd, 64, &cq), "completion queue");
	queues.send_cq = queues.recv_cq = cq;
	must(unic_create_qp(pd, &queues, &qp[0]), "queue pair");
	must(unic_create_qp(pd, &queues, &qp[1]), "queue pair");
	attr.addr = mem = unic_alloc(ctx, attr.length, PAGE);
	must(mem ? 0 : -1, "memory");
	must(unic_reg_mr(pd, &attr, &mr), "register");
	must(connect_to(qp[0], qp[1]), "connect");
	must(connect_to(qp[1], qp[0]), "connect");
}

/* All events are read: the last ones are of regions that could not be restored. */
static void recover(void)
{
	uint32_t stag = mr->stag;
	struct unic_event ev;
	struct unic_wc wc;

	printf("the NIC or the driver is gone\n");
	must(unic_recover(ctx, 20000), "recover");
	while (!unic_get_event(ctx, &ev)) {
		if (ev.type == UNIC_EV_EVICTED)
			exit(1);
		unic_ack_event(&ev);
	}
	while (unic_poll_cq(cq, 1, &wc) > 0)
		; /* what was under way, once each: done or not, nobody knows */
	must(connect_to(qp[0], qp[1]), "connect");
	must(connect_to(qp[1], qp[0]), "connect");
	printf("goes on, %s\n",
	       stag == mr->stag ? "with the same STag" : "with another STag");
}

/* True if the second page has what the first has. */
static bool write_once(unsigned int n)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .sg = &sg,
				   .num_sge = 1,
				   .remote = mr->iova + PAGE,
				   .rkey = mr->stag };
	struct unic_wc wc;

	memset(mem, (int)n, PAGE);
	must(unic_sg_of(mr, mem, PAGE, &sg), "address");
	return unic_post_send(qp[0], &wr, 1) == 1 && !unic_wait_cq(cq, 5000) &&
	       unic_poll_cq(cq, 1, &wc) == 1 && wc.status == UNIC_WC_SUCCESS &&
	       !memcmp(mem, mem + PAGE, PAGE);
}

int main(void)
{
	const struct timespec nap = { 0, SECOND_NS / 10 };
	unsigned int n;

	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	setvbuf(stdout, NULL, _IOLBF, 0);
	set_up();
	printf("writes\n");
	for (n = 1; !stop; n++) {
		while (!write_once(n) && !stop)
			recover();
		nanosleep(&nap, NULL);
	}
	printf("wrote %u times\n", n - 1);
	unic_close(ctx);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kit.h - what the programs of the labs share: one process with a NIC that talks to
 * itself, over pairs of queue pairs of which one is connected to the other.
 */
#ifndef LABS_KIT_H
#define LABS_KIT_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unic.h"

#define PAGE	     4096u
#define KIT_PATIENCE 10000 /* ms */

struct pair {
	struct unic_qp *from, *to;
};

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static volatile sig_atomic_t stop;

/* Ends the program if @err is an error. */
static inline void must(int err, const char *what)
{
	if (err >= 0)
		return;
	printf("%s: %s\n", what, unic_last_error());
	exit(1);
}

static inline void kit_on_signal(int sig)
{
	stop = sig;
}

/* Attaches to the driver at @argv[1], or at $UNIC_SOCKET. SIGTERM and SIGINT set `stop`. */
static inline void kit_open(char **argv)
{
	signal(SIGTERM, kit_on_signal);
	signal(SIGINT, kit_on_signal);
	setvbuf(stdout, NULL, _IOLBF, 0);
	must(unic_open(argv[1], &ctx), "open");
	must(unic_alloc_pd(ctx, &pd), "protection domain");
	must(unic_create_cq(pd, 64, &cq), "completion queue");
}

static inline void *kit_alloc(size_t bytes)
{
	void *mem = unic_alloc(ctx, bytes, PAGE);

	must(mem ? 0 : -1, "memory");
	return mem;
}

static inline void kit_connect_to(struct unic_qp *qp, const struct unic_qp *to)
{
	struct unic_attr nic;
	struct unic_qp_mod init = { .state = UNIC_QPS_INIT,
				    .rights = UNIC_MR_REMOTE_WRITE };
	struct unic_qp_mod rtr = { .state = UNIC_QPS_RTR,
				   .mtu_shift = 10,
				   .rnr_timer = 12,
				   .vendor = UNIC_PEER_UNIC | UNIC_PEER_REFUSED,
				   .dest_qpn = unic_qp_num(to) };
	struct unic_qp_mod rts = { .state = UNIC_QPS_RTS,
				   .timeout = 14,
				   .retry_cnt = 7,
				   .rnr_retry = 7 };

	unic_query(ctx, &nic);
	rtr.dest_ipv4 = nic.ipv4;
	must(unic_modify_qp(qp, &init), "INIT");
	must(unic_modify_qp(qp, &rtr), "RTR");
	must(unic_modify_qp(qp, &rts), "RTS");
}

/* Creates and connects @p. For a pair that was used before: ends it first. */
static inline void kit_pair(struct pair *p)
{
	struct unic_qp_attr attr = {
		.send_cq = cq, .recv_cq = cq, .sq_slots = 16, .rq_slots = 16
	};

	if (p->from) {
		must(unic_destroy_qp(p->from), "end of a queue pair");
		must(unic_destroy_qp(p->to), "end of a queue pair");
	}
	must(unic_create_qp(pd, &attr, &p->from), "queue pair");
	must(unic_create_qp(pd, &attr, &p->to), "queue pair");
	kit_connect_to(p->from, p->to);
	kit_connect_to(p->to, p->from);
}

/* The next completion. */
static inline struct unic_wc kit_next(void)
{
	struct unic_wc wc;

	must(unic_wait_cq(cq, KIT_PATIENCE), "no completion");
	must(unic_poll_cq(cq, 1, &wc), "poll");
	return wc;
}

/* One RDMA WRITE of @bytes at @from, in @source, to @to, in @sink. Returns how it
 * completed, enum unic_wc_status; after anything but UNIC_WC_SUCCESS the pair is in
 * error, and kit_pair() makes a new one. */
static inline unsigned int kit_write(struct pair *p, struct unic_mr *source,
				     const void *from, struct unic_mr *sink,
				     const void *to, size_t bytes)
{
	size_t off = (size_t)((const char *)to - (const char *)sink->addr);
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .sg = &sg,
				   .num_sge = 1,
				   .remote = sink->iova + off,
				   .rkey = sink->stag };

	must(unic_sg_of(source, from, bytes, &sg), "address");
	must(unic_post_send(p->from, &wr, 1), "post");
	return kit_next().status;
}

#endif /* LABS_KIT_H */

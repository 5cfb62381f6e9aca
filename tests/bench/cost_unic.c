/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cost-unic SOCKET [QUEUE-PAIRS] - what calls of libunic cost, where the completion queue has
 * so many users (1); see cost.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"
#include "unic.h"

#define BYTES 4096u

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_qp *qp;
static struct unic_mr *mr;
static int qps = 1;
static struct unic_mr_attr buffer = {
	.length = BYTES,
	.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
};

static void check(int err, const char *what)
{
	if (err < 0)
		cost_check(0, what, unic_last_error());
}

static void connect_to_itself(void)
{
	struct unic_qp_mod m = { .state = UNIC_QPS_INIT,
				 .rights = UNIC_MR_REMOTE_WRITE };
	struct unic_attr attr;

	unic_query(ctx, &attr);
	check(unic_modify_qp(qp, &m), "init");
	m = (struct unic_qp_mod){ .state = UNIC_QPS_RTR,
				  .mtu_shift = 10,
				  .rnr_timer = 12,
				  .dest_qpn = unic_qp_num(qp),
				  .dest_ipv4 = attr.ipv4 };
	check(unic_modify_qp(qp, &m), "ready to receive");
	m = (struct unic_qp_mod){ .state = UNIC_QPS_RTS,
				  .timeout = 14,
				  .retry_cnt = 7,
				  .rnr_retry = 7 };
	check(unic_modify_qp(qp, &m), "ready to send");
}

static void open_unic(const char *socket)
{
	struct unic_qp_attr qa = { .sq_slots = 64, .rq_slots = 2 };
	int i;

	check(unic_open(socket, &ctx), "open");
	check(unic_alloc_pd(ctx, &pd), "pd");
	check(unic_create_cq(pd, 64, &cq), "cq");
	qa.send_cq = qa.recv_cq = cq;
	for (i = 0; i < qps; i++) {
		check(unic_create_qp(pd, &qa, &qp), "qp");
		connect_to_itself();
	}
	buffer.addr = unic_alloc(ctx, BYTES, 4096);
	check(buffer.addr ? 0 : -1, "alloc");
	check(unic_reg_mr(pd, &buffer, &mr), "register");
}

static void post(void)
{
	struct unic_sg sg;
	struct unic_send_wr wr = { .opcode = UNIC_WR_WRITE,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .sg = &sg,
				   .remote = mr->iova,
				   .rkey = mr->stag };

	check(unic_sg_of(mr, buffer.addr, 8, &sg), "address");
	check(unic_post_send(qp, &wr, 1) - 1, "post");
}

static void poll(void)
{
	struct unic_wc wc;

	cost_check(unic_poll_cq(cq, 1, &wc) == 1 && !wc.status, "poll",
		   "no good completion");
}

static void reg(void)
{
	struct unic_mr *other;

	check(unic_reg_mr(pd, &buffer, &other), "register");
	check(unic_dereg_mr(other), "deregister");
}

int main(int argc, char **argv)
{
	static const struct cost_calls calls = { open_unic, post, poll, reg };

	if (argc == 3)
		qps = atoi(argv[2]);
	cost_check((argc == 2 || argc == 3) && qps > 0, "usage",
		   "cost-unic SOCKET [QUEUE-PAIRS]");
	return cost_main(&calls, argv[1]);
}

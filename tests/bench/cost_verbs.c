/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic-run --device unic0=SOCKET cost-verbs - what calls of libibverbs cost; see cost.h. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cost.h"

#define BYTES 4096u

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t *mem;

static void check(int good, const char *what)
{
	if (!good) /* the text alone takes more than what is counted */
		cost_check(0, what, strerror(errno));
}

static void modify(enum ibv_qp_state state, struct ibv_qp_attr *attr, int mask)
{
	attr->qp_state = state;
	errno = ibv_modify_qp(qp, attr, IBV_QP_STATE | mask);
	check(!errno, "modify");
}

static void connect_to_itself(void)
{
	struct ibv_qp_attr attr = { .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				    .path_mtu = IBV_MTU_1024,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .min_rnr_timer = 12,
				    .dest_qp_num = qp->qp_num,
				    .ah_attr = { .is_global = 1,
						 .port_num = 1 } };

	check(!ibv_query_gid(ctx, 1, 0, &attr.ah_attr.grh.dgid), "gid");
	modify(IBV_QPS_INIT, &attr,
	       IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(IBV_QPS_RTR, &attr,
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify(IBV_QPS_RTS, &attr,
	       IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static struct ibv_mr *registered(void)
{
	return ibv_reg_mr(pd, mem, BYTES,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

static void open_verbs(const char *socket)
{
	struct ibv_qp_init_attr init = { .cap = { .max_send_wr = 64,
						  .max_recv_wr = 2,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_device **list = ibv_get_device_list(NULL);

	(void)socket; /* unic-run has named it */
	check(list && *list, "device");
	ctx = ibv_open_device(*list);
	check(ctx != NULL, "open");
	ibv_free_device_list(list);
	pd = ibv_alloc_pd(ctx);
	check(pd != NULL, "pd");
	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	check(cq != NULL, "cq");
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	check(qp != NULL, "qp");
	connect_to_itself();
	mem = aligned_alloc(BYTES, BYTES);
	check(mem != NULL, "memory");
	mr = registered(); /* it stays: the memory is in the slot from now on */
	check(mr != NULL, "register");
}

static void post(void)
{
	struct ibv_sge sge = { (uintptr_t)mem, 8, mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_RDMA_WRITE,
					.send_flags = IBV_SEND_SIGNALED };

	wr.wr.rdma.remote_addr = (uintptr_t)mem;
	wr.wr.rdma.rkey = mr->rkey;
	check(!ibv_post_send(qp, &wr, &bad), "post");
}

static void poll(void)
{
	struct ibv_wc wc;

	cost_check(ibv_poll_cq(cq, 1, &wc) == 1 && wc.status == IBV_WC_SUCCESS,
		   "poll", "no good completion");
}

static void reg(void)
{
	struct ibv_mr *other = registered();

	check(other && !ibv_dereg_mr(other), "register, deregister");
}

int main(void)
{
	static const struct cost_calls calls = { open_verbs, post, poll, reg };

	return cost_main(&calls, NULL);
}

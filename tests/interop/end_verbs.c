/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* end_verbs.c - an end that is any device of libibverbs, such as rdma_rxe. */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "end.h"

#define PORT   1
#define SIDES  (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
#define NAP_US 200
/* rxe says the number that the kernel has for it, which is that of IBV_WC_IP_CSUM_OK. */
#define RXE_WITH_INV (1u << 2)

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static struct ibv_ah *ah;
static struct ibv_device_attr dev;
static enum end_type type;
static uint8_t *mem, gid_index;

const char *end_last_error(void)
{
	return strerror(errno);
}

/* ---------------------------------------------------------------- objects */

static int atomic_access(void)
{
	return dev.atomic_cap == IBV_ATOMIC_NONE ? 0 : IBV_ACCESS_REMOTE_ATOMIC;
}

static void set_mapped(uint32_t ipv4, union ibv_gid *out)
{
	uint32_t be = htonl(ipv4);

	memset(out, 0, 10);
	memset(out->raw + 10, 0xff, 2);
	memcpy(out->raw + 12, &be, 4);
}

/* The first GID that is an IPv4 address of RoCE v2. */
static void find_gid(void)
{
	struct ibv_gid_entry entry;
	union ibv_gid any;
	uint8_t i;

	set_mapped(0, &any);
	for (i = 0; i < 16; i++) {
		if (ibv_query_gid_ex(ctx, PORT, i, &entry, 0) ||
		    entry.gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    memcmp(entry.gid.raw, any.raw, 12))
			continue;
		gid_index = i;
		return;
	}
	OK(!"a GID that is an IPv4 address");
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	OK(list);
	for (i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	OK(ctx);
	ibv_free_device_list(list);
	OK(!ibv_query_device(ctx, &dev));
	find_gid();
}

void end_open(const char *where, size_t bytes, struct end_arena *out)
{
	open_device(where);
	pd = ibv_alloc_pd(ctx);
	OK(pd);
	cq = ibv_create_cq(ctx, END_CQES, NULL, NULL, 0);
	OK(cq);
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(mem != MAP_FAILED);
	mr = ibv_reg_mr(pd, mem, bytes,
			IBV_ACCESS_LOCAL_WRITE | SIDES | IBV_ACCESS_MW_BIND |
				atomic_access());
	OK(mr);
	*out = (struct end_arena){ .mem = mem,
				   .bytes = bytes,
				   .remote = (uintptr_t)mem,
				   .rkey = mr->rkey,
				   .atomics = !!atomic_access() };
}

static void to_init(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	if (type == END_UD) {
		a.qkey = END_QKEY;
		mask |= IBV_QP_QKEY;
	} else {
		a.qp_access_flags =
			type == END_RC ? (unsigned int)(SIDES | atomic_access())
				       : IBV_ACCESS_REMOTE_WRITE;
		mask |= IBV_QP_ACCESS_FLAGS;
	}
	OK(!ibv_modify_qp(qp, &a, mask));
}

uint32_t end_create_qp(enum end_type t)
{
	static const enum ibv_qp_type types[] = { [END_RC] = IBV_QPT_RC,
						  [END_UC] = IBV_QPT_UC,
						  [END_UD] = IBV_QPT_UD };
	struct ibv_qp_init_attr a = { .send_cq = cq,
				      .recv_cq = cq,
				      .cap = { .max_send_wr = END_WRS,
					       .max_recv_wr = END_WRS,
					       .max_send_sge = 1,
					       .max_recv_sge = 1 },
				      .qp_type = types[t],
				      .sq_sig_all = 1 };

	OK(!qp);
	type = t;
	qp = ibv_create_qp(pd, &a);
	OK(qp);
	to_init();
	return qp->qp_num;
}

static struct ibv_ah_attr way_to(uint32_t ipv4)
{
	struct ibv_ah_attr a = { .is_global = 1,
				 .port_num = PORT,
				 .grh = { .sgid_index = gid_index,
					  .hop_limit = 64 } };

	set_mapped(ipv4, &a.grh.dgid);
	return a;
}

static void to_rtr(const struct end_conn *c)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR,
				 .path_mtu = (enum ibv_mtu)(
					 24 - __builtin_clz(c->mtu)),
				 .dest_qp_num = c->qpn,
				 .rq_psn = c->rq_psn,
				 .max_dest_rd_atomic = (uint8_t)c->reads,
				 .min_rnr_timer = (uint8_t)c->rnr_timer,
				 .ah_attr = way_to(c->ipv4) };
	int mask = IBV_QP_STATE;

	if (type != END_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			IBV_QP_RQ_PSN;
	if (type == END_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	OK(!ibv_modify_qp(qp, &a, mask));
}

void end_connect(const struct end_conn *c)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS,
				 .sq_psn = c->sq_psn,
				 .timeout = (uint8_t)c->timeout,
				 .retry_cnt = (uint8_t)c->retry,
				 .rnr_retry = (uint8_t)c->rnr_retry,
				 .max_rd_atomic = (uint8_t)c->reads };
	struct ibv_ah_attr way = way_to(c->ipv4);
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	to_rtr(c);
	if (type == END_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	OK(!ibv_modify_qp(qp, &a, mask));
	if (type == END_UD) {
		ah = ibv_create_ah(pd, &way);
		OK(ah);
	}
}

void end_destroy_qp(void)
{
	struct ibv_wc wc;

	OK(!ibv_destroy_qp(qp));
	qp = NULL;
	if (ah)
		OK(!ibv_destroy_ah(ah));
	ah = NULL;
	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
}

uint32_t end_bind_window(uint64_t id, uint64_t off, uint32_t len)
{
	struct ibv_send_wr *bad, wr = { .wr_id = id,
					.opcode = IBV_WR_BIND_MW,
					.send_flags = IBV_SEND_SIGNALED };

	OK(!mw);
	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	OK(mw);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = (uintptr_t)mem + off,
		.length = len,
		.mw_access_flags = SIDES,
	};
	OK(!ibv_post_send(qp, &wr, &bad));
	return wr.bind_mw.rkey;
}

void end_free_window(void)
{
	OK(!ibv_dealloc_mw(mw));
	mw = NULL;
}

/* --------------------------------------------------------------- requests */

static void put_target(const struct end_wr *wr, struct ibv_send_wr *to)
{
	if (type == END_UD) {
		to->wr.ud.ah = ah;
		to->wr.ud.remote_qpn = wr->rkey;
		to->wr.ud.remote_qkey = END_QKEY;
	} else if (wr->op == END_CAS || wr->op == END_FAA) {
		to->wr.atomic.remote_addr = wr->remote;
		to->wr.atomic.rkey = wr->rkey;
		to->wr.atomic.compare_add = wr->operand;
		to->wr.atomic.swap = wr->swap;
	} else {
		to->wr.rdma.remote_addr = wr->remote;
		to->wr.rdma.rkey = wr->rkey;
	}
	if (wr->op == END_SEND_INV)
		to->invalidate_rkey = wr->rkey;
	else
		to->imm_data = htonl(wr->imm);
}

int end_post_send(const struct end_wr *wr)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[END_SEND] = IBV_WR_SEND,
		[END_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
		[END_SEND_INV] = IBV_WR_SEND_WITH_INV,
		[END_WRITE] = IBV_WR_RDMA_WRITE,
		[END_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
		[END_READ] = IBV_WR_RDMA_READ,
		[END_CAS] = IBV_WR_ATOMIC_CMP_AND_SWP,
		[END_FAA] = IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_sge sge = { .addr = (uintptr_t)mem + wr->off,
			       .length = wr->len,
			       .lkey = mr->lkey };
	struct ibv_send_wr *bad, lib = { .wr_id = wr->id,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = opcodes[wr->op],
					 .send_flags = IBV_SEND_SIGNALED };

	put_target(wr, &lib);
	return -ibv_post_send(qp, &lib, &bad);
}

int end_post_recv(uint64_t id, uint64_t off, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mem + off,
			       .length = len,
			       .lkey = mr->lkey };
	struct ibv_recv_wr *bad,
		wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	return -ibv_post_recv(qp, &wr, &bad);
}

/* ------------------------------------------------------------ completions */

static const char *status_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return "ok";
	case IBV_WC_LOC_LEN_ERR:
		return "length";
	case IBV_WC_LOC_QP_OP_ERR:
		return "operation";
	case IBV_WC_LOC_PROT_ERR:
		return "protection";
	case IBV_WC_WR_FLUSH_ERR:
		return "flushed";
	case IBV_WC_REM_INV_REQ_ERR:
		return "invalid-request";
	case IBV_WC_REM_ACCESS_ERR:
		return "remote-access";
	case IBV_WC_REM_OP_ERR:
		return "remote-operation";
	case IBV_WC_RETRY_EXC_ERR:
		return "retries";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "rnr-retries";
	default:
		return "other";
	}
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A machine with one processor has other work while this end waits. */
static int next(int ms, struct ibv_wc *wc)
{
	const struct timespec nap = { .tv_nsec = NAP_US * 1000 };
	int64_t until = now_ms() + ms;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc)) && now_ms() < until)
		nanosleep(&nap, NULL);
	return n;
}

int end_poll(int ms, struct end_wc *out)
{
	struct ibv_wc wc;
	int n = next(ms, &wc);
	int with_imm, with_inv;

	OK(n >= 0);
	if (!n)
		return 0;
	with_imm = !wc.status && wc.wc_flags & IBV_WC_WITH_IMM;
	with_inv = !wc.status && wc.wc_flags & (IBV_WC_WITH_INV | RXE_WITH_INV);
	*out = (struct end_wc){ .id = wc.wr_id,
				.status = status_of(wc.status),
				.bytes = wc.byte_len,
				.imm = with_inv ? wc.invalidated_rkey
						: ntohl(wc.imm_data),
				.src_qp = wc.src_qp,
				.with_imm = with_imm,
				.with_inv = with_inv,
				.grh = !wc.status && wc.wc_flags & IBV_WC_GRH };
	return 1;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* end_unic.c - an end that is unic, over libunic. */
#include <errno.h>
#include <string.h>

#include "end.h"
#include "unic.h"

#define PAGE   (1u << 16)
#define SLOTS  (2u * END_WRS)
#define RIGHTS (UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)

static struct unic_ctx *ctx;
static struct unic_pd *pd;
static struct unic_cq *cq;
static struct unic_qp *qp;
static struct unic_mr *mr, *mw;
static struct unic_attr nic;
static enum end_type type;
static uint8_t *mem;

#ifdef UNIC_FEAT_ATOMICS
#define HAS_ATOMICS ((nic.features & UNIC_FEAT_ATOMICS) != 0)
#define ATOMIC	    (HAS_ATOMICS ? UNIC_MR_REMOTE_ATOMIC : 0)
#else
#define HAS_ATOMICS 0
#define ATOMIC	    0
#endif

const char *end_last_error(void)
{
	return unic_last_error();
}

/* ---------------------------------------------------------------- objects */

void end_open(const char *where, size_t bytes, struct end_arena *out)
{
	struct unic_mr_attr a = { .length = bytes, .page_bytes = PAGE };

	OK(!unic_open(where, &ctx));
	unic_query(ctx, &nic);
	OK(!unic_alloc_pd(ctx, &pd));
	OK(!unic_create_cq(pd, END_CQES, &cq));
	mem = unic_alloc(ctx, bytes, PAGE);
	OK(mem);
	a.addr = mem;
	a.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_MW_BIND | RIGHTS | ATOMIC;
	OK(!unic_reg_mr(pd, &a, &mr));
	*out = (struct end_arena){ .mem = mem,
				   .bytes = bytes,
				   .remote = mr->iova,
				   .rkey = mr->stag,
				   .atomics = HAS_ATOMICS };
}

static void modify(const struct unic_qp_mod *mod)
{
	OK(!unic_modify_qp(qp, mod));
}

uint32_t end_create_qp(enum end_type t)
{
	static const uint8_t types[] = { [END_RC] = UNIC_QPT_RC,
					 [END_UC] = UNIC_QPT_UC,
					 [END_UD] = UNIC_QPT_UD };
	struct unic_qp_attr a = { .sq_slots = SLOTS,
				  .rq_slots = SLOTS,
				  .send_cq = cq,
				  .recv_cq = cq,
				  .type = types[t],
				  .miss = t == END_RC ? 0 : UNIC_QPM_BOUNCE };
	struct unic_qp_mod mod = { .state = UNIC_QPS_INIT };

	OK(!qp);
	type = t;
	OK(!unic_create_qp(pd, &a, &qp));
	if (t == END_RC)
		mod.rights = RIGHTS | ATOMIC;
	else if (t == END_UC)
		mod.rights = UNIC_MR_REMOTE_WRITE;
	else
		mod.qkey = END_QKEY;
	modify(&mod);
	return unic_qp_num(qp);
}

static void to_rtr(const struct end_conn *c)
{
	struct unic_qp_mod mod = { .state = UNIC_QPS_RTR };

	mod.mtu_shift = (uint8_t)(31 - __builtin_clz(c->mtu));
	if (type != END_UD) {
		mod.dest_qpn = c->qpn;
		mod.dest_ipv4 = c->ipv4;
		mod.rq_psn = c->rq_psn;
	}
	if (type == END_RC) {
		mod.rnr_timer = (uint8_t)c->rnr_timer;
		mod.max_dest_rd = (uint8_t)c->reads;
	}
	modify(&mod);
}

void end_connect(const struct end_conn *c)
{
	struct unic_qp_mod mod = { .state = UNIC_QPS_RTS };

	to_rtr(c);
	mod.sq_psn = c->sq_psn;
	if (type == END_RC) {
		mod.max_rd = (uint8_t)c->reads;
		mod.timeout = (uint8_t)c->timeout;
		mod.retry_cnt = (uint8_t)c->retry;
		mod.rnr_retry = (uint8_t)c->rnr_retry;
	}
	modify(&mod);
}

void end_destroy_qp(void)
{
	OK(!unic_destroy_qp(qp));
	qp = NULL;
}

uint32_t end_bind_window(uint64_t id, uint64_t off, uint32_t len)
{
	struct unic_mw_bind bind = {
		.mr = mr, .addr = mem + off, .length = len, .rights = RIGHTS
	};

	OK(!mw);
	OK(!unic_alloc_mw(pd, 2, &mw));
	OK(!unic_post_bind_mw(qp, id, UNIC_WR_SIGNALED, mw, &bind));
	return mw->stag;
}

void end_free_window(void)
{
	OK(!unic_dereg_mr(mw));
	mw = NULL;
}

/* --------------------------------------------------------------- requests */

#ifdef UNIC_FEAT_ATOMICS
static int post_atomic(const struct end_wr *wr)
{
	struct unic_atomic atomic = { .operand = wr->operand,
				      .swap = wr->swap };
	struct unic_remote at = { .iova = wr->remote, .rkey = wr->rkey };

	OK(!unic_sg_of(mr, mem + wr->off, wr->len, &atomic.result));
	return (wr->op == END_CAS ? unic_post_compare_swap
				  : unic_post_fetch_add)(
		qp, wr->id, UNIC_WR_SIGNALED, &atomic, &at);
}
#else
static int post_atomic(const struct end_wr *wr)
{
	(void)wr;
	return -EOPNOTSUPP;
}
#endif

int end_post_send(const struct end_wr *wr)
{
	static const uint8_t opcodes[] = {
		[END_SEND] = UNIC_WR_SEND,
		[END_SEND_IMM] = UNIC_WR_SEND_IMM,
		[END_SEND_INV] = UNIC_WR_SEND_INV,
		[END_WRITE] = UNIC_WR_WRITE,
		[END_WRITE_IMM] = UNIC_WR_WRITE_IMM,
		[END_READ] = UNIC_WR_READ,
	};
	struct unic_sg sg;
	struct unic_send_wr lib = { .wr_id = wr->id,
				    .flags = UNIC_WR_SIGNALED,
				    .num_sge = 1,
				    .sg = &sg,
				    .imm = wr->imm,
				    .remote = wr->remote,
				    .rkey = wr->rkey };
	int n;

	if (wr->op == END_CAS || wr->op == END_FAA)
		return post_atomic(wr);
	lib.opcode = opcodes[wr->op];
	if (type == END_UD)
		lib.remote = UNIC_UD_TO(wr->ipv4, END_QKEY);
	OK(!unic_sg_of(mr, mem + wr->off, wr->len, &sg));
	n = unic_post_send(qp, &lib, 1);
	return n == 1 ? 0 : n;
}

int end_post_recv(uint64_t id, uint64_t off, uint32_t len)
{
	struct unic_sg sg;
	struct unic_recv_wr wr = { .wr_id = id, .num_sge = 1, .sg = &sg };
	int n;

	OK(!unic_sg_of(mr, mem + off, len, &sg));
	n = unic_post_recv(qp, &wr, 1);
	return n == 1 ? 0 : n;
}

/* ------------------------------------------------------------ completions */

static const char *status_of(uint8_t status)
{
	static const char *const names[] = {
		[UNIC_WC_SUCCESS] = "ok",
		[UNIC_WC_LOC_LEN_ERR] = "length",
		[UNIC_WC_LOC_QP_OP_ERR] = "operation",
		[UNIC_WC_LOC_PROT_ERR] = "protection",
		[UNIC_WC_WR_FLUSH_ERR] = "flushed",
		[UNIC_WC_REM_INV_REQ_ERR] = "invalid-request",
		[UNIC_WC_REM_ACCESS_ERR] = "remote-access",
		[UNIC_WC_REM_OP_ERR] = "remote-operation",
		[UNIC_WC_RETRY_EXC_ERR] = "retries",
		[UNIC_WC_RNR_RETRY_EXC_ERR] = "rnr-retries",
	};

	return status < sizeof(names) / sizeof(*names) && names[status]
		       ? names[status]
		       : unic_wc_status_str(status);
}

/* The next completion, waiting for @ms at most. */
static int next(int ms, struct unic_wc *wc)
{
	int n = unic_poll_cq(cq, 1, wc);

	if (!n && !unic_req_notify(cq, false))
		unic_wait_cq(cq, ms);
	return n ? n : unic_poll_cq(cq, 1, wc);
}

int end_poll(int ms, struct end_wc *out)
{
	struct unic_wc wc;
	int n = next(ms, &wc);

	OK(n >= 0);
	if (!n)
		return 0;
	*out = (struct end_wc){ .id = wc.wr_id,
				.status = status_of(wc.status),
				.bytes = wc.byte_len,
				.imm = wc.imm,
				.src_qp = wc.token,
				.with_imm = !!(wc.flags & UNIC_WC_WITH_IMM),
				.with_inv = !!(wc.flags & UNIC_WC_WITH_INV),
				.grh = !!(wc.flags & UNIC_WC_GRH) };
	return 1;
}

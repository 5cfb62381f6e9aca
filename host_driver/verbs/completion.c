/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* completion.c - completions, in the words of verbs. */
#include <endian.h>
#include <errno.h>
#include <sched.h>

#include "errnos.h"
#include "completion.h"
#include "queue.h"

#define BATCH 16
#define YIELD 16 /* a power of two */

static enum ibv_wc_opcode wc_opcode_of(const struct unic_wc *wc)
{
	switch (wc->opcode) {
	case UNIC_WC_WRITE:
		return IBV_WC_RDMA_WRITE;
	case UNIC_WC_READ:
		return IBV_WC_RDMA_READ;
	case UNIC_WC_COMPARE_SWAP:
		return IBV_WC_COMP_SWAP;
	case UNIC_WC_FETCH_ADD:
		return IBV_WC_FETCH_ADD;
	case UNIC_WC_BIND_MW:
		return IBV_WC_BIND_MW;
	case UNIC_WC_LOCAL_INV:
		return IBV_WC_LOCAL_INV;
	case UNIC_WC_RECV:
		return IBV_WC_RECV;
	case UNIC_WC_RECV_WRITE_IMM:
		return IBV_WC_RECV_RDMA_WITH_IMM;
	default:
		return IBV_WC_SEND;
	}
}

/* What is in a frame with a datagram, in the bits that adapters of NVIDIA have in `sl`, where RoCE has
 * no service level: IBTA A17.4.5.1 wants it told, struct ibv_wc has no member for it, and UCX compares
 * addresses by it. */
#define SL_UDP	(1u << 3)
#define SL_IPV4 2u

/* What only receives of UD say. */
static void put_sender(const struct unic_wc *from, struct ibv_wc *to)
{
	to->src_qp = from->token;
	to->wc_flags |= IBV_WC_GRH;
	to->sl = SL_UDP | SL_IPV4;
}

/* A queue pair that completes a request with an error is in ERR, also before its event is
 * read. */
static void note_error(const struct unic_wc *wc)
{
	struct ibv_qp *qp = unic_qp_user(wc->qp);

	if (wc->status != UNIC_WC_EVICTED)
		__atomic_store_n(&qp->state, IBV_QPS_ERR, __ATOMIC_RELEASE);
}

static void put_wc(const struct unic_wc *from, struct ibv_wc *to)
{
	*to = (struct ibv_wc){
		.wr_id = from->wr_id,
		.status = unic_ibv_wc_status(from->status),
		.opcode = wc_opcode_of(from),
		.qp_num = unic_qp_num(from->qp),
	};
	if (from->status) {
		note_error(from);
		to->vendor_err = (uint32_t)from->status << 8 | from->detail;
		return;
	}
	to->byte_len = from->byte_len;
	if (from->flags & UNIC_WC_WITH_IMM) {
		to->wc_flags = IBV_WC_WITH_IMM;
		to->imm_data = htobe32(from->imm);
	} else if (from->flags & UNIC_WC_WITH_INV) {
		to->wc_flags = IBV_WC_WITH_INV;
		to->invalidated_rkey = from->imm;
	}
	if (from->flags & UNIC_WC_GRH)
		put_sender(from, to);
}

/* A program that polls without pause needs a processor, and so do the adapters, which are
 * processes: from a while on it lets them run first. */
static void let_others_run(void)
{
	static __thread unsigned int polls;

	if (++polls % YIELD == 0)
		sched_yield();
}

int unic_ibv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct unic_wc lib[BATCH];
	int done = 0;
	int want, got, i;

	do {
		want = n - done < BATCH ? n - done : BATCH;
		got = unic_poll_cq(unic_ibv_cq(cq)->lib, (unsigned int)want,
				   lib);
		if (got < 0)
			return done ? done : -unic_ibv_errno(got);
		for (i = 0; i < got; i++)
			put_wc(&lib[i], &wc[done++]);
	} while (got == want && done < n);
	if (!done)
		let_others_run();
	return done;
}

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
	static const uint8_t map[] = {
		[UNIC_WC_SEND] = IBV_WC_SEND,
		[UNIC_WC_WRITE] = IBV_WC_RDMA_WRITE,
		[UNIC_WC_READ] = IBV_WC_RDMA_READ,
		[UNIC_WC_COMPARE_SWAP] = IBV_WC_COMP_SWAP,
		[UNIC_WC_FETCH_ADD] = IBV_WC_FETCH_ADD,
		[UNIC_WC_BIND_MW] = IBV_WC_BIND_MW,
		[UNIC_WC_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[UNIC_WC_RECV] = IBV_WC_RECV,
		[UNIC_WC_RECV_WRITE_IMM] = IBV_WC_RECV_RDMA_WITH_IMM,
	};

	return wc->opcode < sizeof(map) ? (enum ibv_wc_opcode)map[wc->opcode]
					: IBV_WC_SEND;
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

/* What only some completions say. */
static __attribute__((noinline)) void put_rest(const struct unic_wc *from,
					       struct ibv_wc *to)
{
	if (from->status) {
		note_error(from);
		to->status = unic_ibv_wc_status(from->status);
		to->vendor_err = (uint32_t)from->status << 8 | from->detail;
		to->byte_len = 0;
		return;
	}
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

static void put_wcs(const struct unic_wc *from, int n, struct ibv_wc *to)
{
	const struct unic_wc *end = from + n;

	for (; from < end; from++, to++) {
		*to = (struct ibv_wc){
			.wr_id = from->wr_id,
			.opcode = wc_opcode_of(from),
			.byte_len = from->byte_len,
			.qp_num = from->qp->qpn,
		};
		if (from->status | from->flags)
			put_rest(from, to);
	}
}

/* A program that polls without pause needs a processor, and so do the adapters, which are
 * processes: from a while on it lets them run first. */
static __attribute__((noinline)) void let_others_run(void)
{
	static __thread unsigned int polls;

	if (++polls % YIELD == 0)
		sched_yield();
}

int unic_ibv_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct unic_cq *from = unic_ibv_cq(cq)->lib;
	struct unic_wc lib[BATCH];
	int done = 0;
	int want, got;

	do {
		want = n - done < BATCH ? n - done : BATCH;
		got = unic_poll_cq(from, (unsigned int)want, lib);
		if (got < 0)
			return done ? done : -unic_ibv_errno(got);
		put_wcs(lib, got, wc + done);
		done += got;
	} while (got == want && done < n);
	if (!done)
		let_others_run();
	return done;
}

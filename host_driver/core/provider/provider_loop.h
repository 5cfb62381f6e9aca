/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * provider_loop.h - inside the loop-back provider: its tables. provider_loop.c is the
 * device, provider_loop_cmd.c executes commands, provider_loop_data.c moves data.
 *
 * The loop-back has one page table per region like the NIC. Its tables are not shared
 * by priority: it never evicts, and it has no tokens.
 *
 * STag = index | part | 8 bits of the consumer, as on the NIC. unic_os_random() draws
 * index and part: STags seen so far predict none, and no index gets the same part twice
 * in succession. A freed STag may be drawn again at once, since no old request can be on
 * a wire. Wrong STags are not rate-limited; each ends its connection.
 */
#ifndef UNIC_PROVIDER_LOOP_H
#define UNIC_PROVIDER_LOOP_H

#include "host.h"
#include "unic_queue.h"

#define LOOP_MRS	1024u
#define LOOP_QPS	64u
#define LOOP_CQS	64u
#define LOOP_PDS	64u
#define LOOP_QP_SLOTS	4096u
#define LOOP_CQ_ENTRIES 16384u
#define LOOP_PROCS	24u
#define LOOP_MADS	16u
#define LOOP_NONE	0xffffu

#define LOOP_IDX_SHIFT 22u /* in an STag; the part lies below */
#define LOOP_PART_MASK ((1u << LOOP_IDX_SHIFT) - 0x100u)
_Static_assert(LOOP_MRS == 1u << (32u - LOOP_IDX_SHIFT), "any STag has a row");

struct loop_mr {
	uint64_t *page; /* bus addresses; NULL: free */
	uint64_t iova, length;
	uint32_t stag; /* while the region is free: its last one */
	uint32_t gen, pd, n_pages, filled, user, queues;
	uint8_t rights, shift;
};

struct loop_cq {
	bool used, armed;
	uint32_t proc, mr, entries, db, written, arm_at;
	uint64_t iova;
};

struct loop_qp {
	bool used;
	uint8_t state; /* enum unic_qp_state */
	uint8_t rights;
	uint32_t proc, pd, mr, db, send_cq, recv_cq;
	uint32_t sq_slots, rq_slots, sq_head, rq_head;
	uint32_t dest;
	uint64_t sq_iova, rq_iova;
};

struct loop_proc {
	struct unic_db_page *db; /* NULL: not attached */
	struct unic_nic_page *np;
	uint32_t db_seen;
};

struct loop {
	struct unic_provider p;
	uint32_t slots, epoch, ipv4;
	uint64_t slot_bytes;
	uint8_t *slot_mem[LOOP_PROCS];
	uint32_t state;
	struct unic_call *head, *tail; /* taken, not executed */
	struct unic_info info;
	struct loop_proc proc[LOOP_PROCS];
	uint16_t pd[LOOP_PDS]; /* owner; LOOP_NONE: free */
	struct loop_mr mr[LOOP_MRS];
	struct loop_cq cq[LOOP_CQS];
	struct loop_qp qp[LOOP_QPS];
	struct unic_mad_rx mad[LOOP_MADS];
	uint32_t mad_head, mad_tail;
};

/** loop_mr_of() - the region with STag @stag whose pages are all filled in; NULL:
 * none. */
static inline struct loop_mr *loop_mr_of(struct loop *l, uint32_t stag)
{
	struct loop_mr *mr = &l->mr[stag >> LOOP_IDX_SHIFT];

	return mr->page && mr->stag == stag && mr->filled == mr->n_pages ? mr
									 : NULL;
}

/** loop_execute() - execute the command of @call, and complete it. */
void loop_execute(struct loop *l, struct unic_call *call);

/** loop_mr_end() - free @mr; mr->stag stays, for the next choice. */
void loop_mr_end(struct loop *l, struct loop_mr *mr);

/** loop_data_poll() - execute a bounded number of work requests. True: there was one. */
bool loop_data_poll(struct loop *l);

/** loop_data_flush() - complete all requests posted on @qp, in state ERR, as flushed. */
void loop_data_flush(struct loop *l, struct loop_qp *qp);

/**
 * unic_loop_provider() - create a device in software that receives what it sends.
 * @slot_mem: mapping of each process slot, of @slot_bytes, for the life of the provider.
 * Returns NULL when out of memory. Free with unic_os_free().
 */
struct unic_provider *unic_loop_provider(struct unic_os *os, uint32_t slots,
					 void *const *slot_mem,
					 uint64_t slot_bytes);

#endif /* UNIC_PROVIDER_LOOP_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * local_ops.h - work requests that change a region instead of sending something:
 * BIND_MW, LOCAL_INV, REG_MR, REG_INDIRECT (IBTA 10.6.5 to 10.6.7; S2).
 *
 * Secret: how they are decoded, and what they wait for. They take no PSN; one
 * that was carried out waits in the window, as a request that failed its checks
 * does, to be completed in its turn.
 */
#ifndef UNIC_LOCAL_OPS_H
#define UNIC_LOCAL_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/dma.h"
#include "unic_queue.h"

struct unic_transport;
struct unic_qp_ctx;
struct unic_wr;

static inline bool unic_local_op_is(uint8_t opcode)
{
	return opcode >= UNIC_WR_BIND_MW && opcode <= UNIC_WR_REG_INDIRECT;
}

/**
 * unic_local_op_run() - carry out request sq.next of @qp, all slots of which are in
 * the window; @wr: for its outcome. Returns 0: it was, well or not.
 * -UNIC_EPENDING: it waits until its region is idle, or for its list; nothing
 * changed that matters, and nobody will tell: call again.
 */
int unic_local_op_run(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      struct unic_wr *wr);

/* A list that lies in host memory, on its way to private memory. */
struct unic_list_reader {
	struct unic_sgl sgl;
	uint32_t qpn;		  /* whose; 0: nobody's */
	uint32_t next_qpn;	  /* who is to have it next; 0: whoever asks */
	uint16_t proc, next_proc; /* theirs */
	bool started;
	uint64_t list[UNIC_LIST_ELEMENTS * 20u / 8u];
};

/**
 * unic_local_op_drop() - @qp does not go on with its list now: the next may read
 * one. Three find that out: ready() of its type, when it falls silent; sched.c,
 * after a turn beside others that does not end in waiting (who is alone is in
 * nobody's way); and qp.c, when it stops. One place for the first two would be in
 * every turn of a queue pair that is alone.
 */
void unic_local_op_drop(struct unic_transport *nic,
			const struct unic_qp_ctx *qp);

/** unic_local_op_fetched() - the list that was being read is here, or not. */
void unic_local_op_fetched(struct unic_transport *nic, bool ok);

#endif /* UNIC_LOCAL_OPS_H */

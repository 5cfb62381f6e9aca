/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* atomics.c - see atomics.h. */
#include "transport/atomics.h"

#include <string.h>

#include "memory/window.h"
#include "transport/transport.h"

/* Stages of an operation by DMA: odd while a piece is in flight. */
#define READ_STAGE    2u
#define WRITTEN_STAGE 4u

void unic_atomics_init(struct unic_transport *nic)
{
	memset(nic->atomics, 0, sizeof(nic->atomics));
}

static uint64_t value_after(const struct unic_atomic_ask *ask, uint64_t was)
{
	if (!ask->swaps)
		return was + ask->value;
	return was == ask->compare ? ask->value : was;
}

/* At an address that is aligned in the memory of the host, too: one access each way, so a
 * program sees the old number or the new one. */
static uint64_t run_aligned(unic_le64 *host, const struct unic_atomic_ask *ask)
{
	uint64_t was = unic_from_le64(UNIC_READ_ONCE(*host));
	uint64_t after = value_after(ask, was);

	unic_wmb();
	if (after != was)
		UNIC_WRITE_ONCE(*host, unic_to_le64(after));
	return was;
}

/* In an indirect region 8 bytes may begin anywhere. */
static __attribute__((noinline, cold)) uint64_t
run_odd(uint8_t *host, const struct unic_atomic_ask *ask)
{
	unic_le64 word;
	uint64_t was, after;

	unic_window_read(&word, host, sizeof(word));
	was = unic_from_le64(word);
	after = value_after(ask, was);
	word = unic_to_le64(after);
	if (after != was)
		unic_window_write(host, (const void *)&word, sizeof(word));
	return was;
}

/* Moves the word at @local. Returns 0: done; -UNIC_EAGAIN: later. */
static int move_word(struct unic_transport *nic, struct unic_qp_ctx *qp,
		     const struct unic_xlate *at, bool to_host,
		     unic_le64 *local)
{
	struct unic_atomics *op = nic->atomics;
	int r = unic_dma_word(nic, to_host, unic_qp_index(nic, qp), at->mr,
			      at->bus, local);

	if (r == -UNIC_EPENDING) {
		op->stage++;
		qp->dmas++;
		return -UNIC_EAGAIN;
	}
	if (!r)
		op->stage += 2;
	return r;
}

/* Goes on with the operation, whose bytes are at @at. */
static int run_by_dma(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      const struct unic_xlate *at)
{
	struct unic_atomics *op = nic->atomics;
	int r = 0;

	if (!op->stage)
		r = move_word(nic, qp, at, false, &op->was);
	if (r)
		return r;
	op->next = unic_to_le64(value_after(&op->ask, unic_from_le64(op->was)));
	if (op->next == op->was) {
		op->stage = WRITTEN_STAGE;
		return 0;
	}
	return move_word(nic, qp, at, true, &op->next);
}

void unic_atomics_moved(struct unic_transport *nic, uint16_t idx, bool ok)
{
	struct unic_atomics *op = nic->atomics;

	op->stage++;
	op->failed |= !ok;
	unic_qp_dma_end(nic, &nic->qps.qp[idx]);
}

/* The access check: 8 bytes in one piece, at *@at. */
static int find_place(struct unic_transport *nic, const struct unic_qp_ctx *qp,
		      const struct unic_atomic_ask *ask, struct unic_xlate *at)
{
	int r = unic_access(&nic->memory, ask->rkey, qp->pd,
			    UNIC_MR_REMOTE_ATOMIC, ask->iova, UNIC_ATOMIC_BYTES,
			    at);

	if (likely(r || at->len == UNIC_ATOMIC_BYTES))
		return r;
	unic_mr_not_used(&nic->mrs.mr[at->mr], UNIC_ATOMIC_BYTES);
	UNIC_COUNT(nic, access_bounds);
	return -UNIC_EBOUNDS;
}

/* The operation in the books, on a port that shows no host memory. */
static __attribute__((noinline, cold)) int
run_in_steps(struct unic_transport *nic, struct unic_qp_ctx *qp,
	     const struct unic_atomic_ask *ask, uint64_t *was)
{
	struct unic_atomics *op = nic->atomics;
	struct unic_xlate at;
	int r = 0;

	if (op->stage & 1)
		return -UNIC_EAGAIN; /* also if its connection is over */
	if (!op->stage || op->conn != qp->conn || op->ask.psn != ask->psn)
		*op = (struct unic_atomics){ .ask = *ask, .conn = qp->conn };
	if (op->failed)
		r = -UNIC_EBUS;
	if (!r && op->stage != WRITTEN_STAGE) {
		/* again each time: nothing holds the region in between */
		r = find_place(nic, qp, &op->ask, &at);
		if (!r)
			r = run_by_dma(nic, qp, &at);
	}
	if (r == -UNIC_EAGAIN)
		return r;
	*was = unic_from_le64(op->was);
	op->stage = 0;
	return r;
}

int unic_atomics_run(struct unic_transport *nic, struct unic_qp_ctx *qp,
		     const struct unic_atomic_ask *ask, uint64_t *was)
{
	struct unic_xlate at;
	uint8_t *host;
	int r;

	if (unlikely(UNIC_ATOMICS && nic->atomics->stage))
		return run_in_steps(nic, qp, ask, was);
	r = find_place(nic, qp, ask, &at);
	if (unlikely(r))
		return r;
	host = unic_port_window(nic->port, at.bus, UNIC_ATOMIC_BYTES);
	if (unlikely(!host))
		return run_in_steps(nic, qp, ask, was);
	*was = likely(!((uintptr_t)host & 7)) ? run_aligned((void *)host, ask)
					      : run_odd(host, ask);
	nic->dma.bytes += 2 * UNIC_ATOMIC_BYTES;
	return 0;
}

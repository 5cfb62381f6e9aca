/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sq_done.h - how work requests leave the send window.
 *
 * Secret: in which order they complete, as what, and that a run of them that ended well
 * is written by words.
 */
#ifndef UNIC_SQ_DONE_H
#define UNIC_SQ_DONE_H

#include <stdbool.h>

#include "memory/refs.h"
#include "transport/sq.h"
#include "transport/transport.h"

/* state, status, detail, slots of a request that is well and holds one region: they are
 * one word, least significant byte first. */
#define UNIC_SQ_WELL   (UNIC_WRS_SENT | (1u | UNIC_WR_ONE_SGE) << 24)
#define UNIC_SQ_EITHER ((UNIC_WR_DIRECT | UNIC_WR_PAID) << 24)

/** unic_sq_is_well() - did nothing go wrong with @wr, and does it hold one region? */
static inline bool unic_sq_is_well(const struct unic_wr *wr)
{
	uint32_t word = (uint32_t)wr->state | (uint32_t)wr->status << 8 |
			(uint32_t)wr->detail << 16 | (uint32_t)wr->slots << 24;

	return (word & ~UNIC_SQ_EITHER) == UNIC_SQ_WELL;
}

/** unic_sq_write_success() - all but the seq of the record of a success of @wr_id, by words:
 * gathered in a vector register it would go by way of the stack. */
static inline void unic_sq_write_success(struct unic_cqe *cqe,
					 const unic_le64 *wr_id, uint32_t len,
					 uint32_t qpn, uint32_t opcode)
{
	const uint32_t *id = (const void *)wr_id;
	uint32_t *to = (void *)cqe;

	UNIC_WRITE_ONCE(to[0], id[0]);
	UNIC_WRITE_ONCE(to[1], id[1]);
	UNIC_WRITE_ONCE(cqe->byte_len, unic_to_le32(len));
	UNIC_WRITE_ONCE(cqe->imm, unic_to_le32(0));
	UNIC_WRITE_ONCE(cqe->qpn, unic_to_le32(qpn));
	UNIC_WRITE_ONCE(to[5], (UNIC_FORCE uint32_t)unic_to_le32(opcode));
	UNIC_WRITE_ONCE(cqe->token, unic_to_le32(0));
}

/** unic_sq_unhold() - @n requests do not hold @mr any more. */
static inline void unic_sq_unhold(struct unic_transport *nic, uint16_t mr,
				  uint32_t n)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	UNIC_IN_REGISTER(m);
	UNIC_ASSERT(nic, m->holds >= n);
	m->holds = (uint16_t)(m->holds - (n - 1));
	unic_mr_unhold(&nic->memory, mr);
}

/** unic_sq_ended() - is the oldest request one that unic_sq_retire() would complete? */
static inline bool unic_sq_ended(struct unic_sq *sq)
{
	const struct unic_wr *wr = unic_sq_wr(sq, sq->una);

	return sq->una != sq->next &&
	       (wr->state == UNIC_WRS_DEAD || unic_sq_acked(sq, wr));
}

/** unic_sq_retire() - complete what is acknowledged, in order. False: no room
 * for a completion, call again. The QP may be in ERR afterwards. */
bool unic_sq_retire(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_sq_flush() - complete up to 16 requests of a QP in ERR. 1: none is
 * left; 0: more; -UNIC_EAGAIN: nothing could be done now. */
int unic_sq_flush(struct unic_transport *nic, struct unic_qp_ctx *qp);

#endif /* UNIC_SQ_DONE_H */

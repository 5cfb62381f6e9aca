/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* read_parts.c - see read_parts.h. */
#include "transport/read_parts.h"

#include "transport/sq.h"
#include "transport/transport.h"
#include "transport/tx.h"

/* Is sq.cur a READ that was asked for before? */
static bool is_repeated_read(struct unic_sq *sq)
{
	return sq->cur != sq->next && sq->psn != sq->psn_max &&
	       unic_sq_slot(sq, sq->cur)->opcode == UNIC_WR_READ &&
	       unic_sq_wr(sq, sq->cur)->state == UNIC_WRS_SENT;
}

void unic_read_parts_begin(struct unic_sq *sq)
{
	if ((sq->gathering && !sq->in_parts) || !is_repeated_read(sq))
		return;
	sq->gathering = true;
	sq->in_parts = true;
	sq->gather_psn = unic_psn_add(sq->psn, -1u); /* none is waited for */
}

bool unic_read_parts_is_end(const struct unic_sq *sq, uint32_t psn)
{
	return sq->in_parts && unic_psn_add(psn, 1) == sq->gather_psn;
}

/*
 * The next part ends at a multiple of UNIC_READ_PART: so one that the peer took for a READ
 * of its own, because it never saw the whole, has all that it is asked for of it again.
 */
static uint32_t part_packets(const struct unic_wr *wr, uint32_t k)
{
	uint32_t n = UNIC_READ_PART - (k & (UNIC_READ_PART - 1));

	return n < wr->npkt - k ? n : wr->npkt - k;
}

static void describe(const struct unic_qp_ctx *qp,
		     const struct unic_sq_slot *slot, const struct unic_wr *wr,
		     uint32_t k, uint32_t n, uint8_t *at)
{
	uint32_t off = k << qp->mtu_shift, len = n << qp->mtu_shift;
	uint64_t va = unic_from_le64(slot->remote) + off;
	struct unic_reth h = {
		.va_hi = unic_to_be32((uint32_t)(va >> 32)),
		.va_lo = unic_to_be32((uint32_t)va),
		.rkey = unic_to_be32(unic_from_le32(slot->rkey)),
	};

	h.len = unic_to_be32(len < wr->len - off ? len : wr->len - off);
	memcpy(at, &h, sizeof(h));
}

static enum unic_turn ask(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_wr *wr = unic_sq_wr(sq, sq->cur);
	uint32_t k = unic_psn_add(sq->psn, -wr->psn), n = part_packets(wr, k);
	struct unic_tx *tx = unic_tx_get(nic, unic_qp_index(nic, qp), false);

	if (!tx)
		return UNIC_TURN_BLOCKED;
	describe(qp, unic_sq_slot(sq, sq->cur), wr, k, n,
		 tx->frame + UNIC_EXT_OFF);
	/* it gathers nothing, so it cannot fail */
	(void)unic_tx_put(nic, tx, UNIC_OP_READ_REQUEST << 8,
			  sq->psn | UNIC_BTH_ACKREQ, sizeof(struct unic_reth));
	if (sq->psn == sq->gather_psn && sq->psn == sq->psn_una) {
		/* nothing of this part is missing yet, whatever else comes */
		sq->back_valid = true;
		sq->heard_psn = sq->psn;
	}
	sq->psn = unic_psn_add(sq->psn, n);
	sq->gather_psn = sq->psn;
	if (k + n == wr->npkt)
		sq->cur += unic_sq_slots(sq, sq->cur);
	unic_requester_sent(nic, qp);
	return UNIC_TURN_AGAIN;
}

enum unic_turn unic_read_parts_send(struct unic_transport *nic,
				    struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;

	if (!sq->in_parts || sq->rnr_wait || qp->state != UNIC_QPS_RTS)
		return UNIC_TURN_DONE;
	if (!unic_sq_skip_ended(sq) || !is_repeated_read(sq)) {
		sq->gathering = false;
		sq->in_parts = false;
		return UNIC_TURN_AGAIN;
	}
	if (sq->psn == sq->gather_psn && sq->psn != sq->psn_una &&
	    sq->psn != unic_sq_wr(sq, sq->cur)->psn)
		return UNIC_TURN_DONE; /* the one before it is not here */
	return ask(nic, qp);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* responder_done.c - see responder_done.h. */
#include "transport/responder_done.h"

#include "memory/derived.h"
#include "transport/rd_resources.h"
#include "transport/responder_nak.h"
#include "transport/rq.h"
#include "transport/transport.h"

void unic_responder_keep(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_msg *m = &qp->rsp.msg;

	unic_rq_hold(nic, qp);
	if (!m->held && m->kind == UNIC_MSG_WRITE && m->mr != UNIC_MR_NIL) {
		m->held = true;
		unic_mr_hold(&nic->memory, m->mr);
	}
}

static void drop_target(struct unic_transport *nic, struct unic_msg *m)
{
	if (m->held) {
		m->held = false;
		unic_mr_unhold(&nic->memory, m->mr);
	}
}

/* What becomes of a message whose last packet is placed. */
enum receipt {
	RECEIPT_DONE = 0, /* it is complete */
	RECEIPT_AGAIN,	  /* no room for its completion */
	RECEIPT_LATER,	  /* not complete: nothing more to do here */
};

/* Message @m was refused: if its peer understands that, it is told first. */
static __attribute__((noinline, cold)) bool
tell_refused(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_msg *m = &qp->rsp.msg;

	if (m->kind == UNIC_MSG_TOLD || !(qp->vendor & UNIC_PEER_REFUSED))
		return false;
	m->kind = UNIC_MSG_TOLD;
	unic_responder_owe_nak(nic, qp, qp->rsp.psn, UNIC_RSP_REFUSED);
	unic_responder_keep(nic, qp);
	return true;
}

/* The completion of a message that takes a receive. */
static enum receipt complete_rc_receive(struct unic_transport *nic,
					struct unic_qp_ctx *qp,
					const struct unic_msg *m,
					uint32_t placed)
{
	struct unic_cqe cqe = { .opcode = UNIC_WC_RECV };

	if (m->with) {
		cqe.imm = unic_to_le32(m->imm);
		cqe.flags = m->with & UNIC_MSG_IMM ? UNIC_WC_WITH_IMM
						   : UNIC_WC_WITH_INV;
		if ((m->with & UNIC_MSG_INV) &&
		    unic_derived_unmake(&nic->memory, m->imm))
			UNIC_COUNT(nic, forms_inv_remote);
	}
	if (m->solicited)
		cqe.flags |= UNIC_WC_SOLICITED;
	cqe.byte_len = unic_to_le32(placed);
	if (m->kind == UNIC_MSG_WRITE) {
		cqe.opcode = UNIC_WC_RECV_WRITE_IMM;
	} else if (m->kind >= UNIC_MSG_TOKEN) {
		if (UNIC_TELL_REFUSED && unlikely(m->refused) &&
		    tell_refused(nic, qp))
			return RECEIPT_LATER;
		cqe.opcode = UNIC_WC_RECV_TOKEN;
		cqe.byte_len = unic_to_le32(m->ctrl_len);
		cqe.imm = unic_to_le32(m->refused ? 0 : placed);
		cqe.token = unic_to_le32(m->token);
		cqe.detail = m->refused;
	}
	if (!unic_rq_complete(nic, qp, &cqe))
		return RECEIPT_AGAIN;
	/* its completion queue has failed */
	return unlikely(qp->state == UNIC_QPS_ERR) ? RECEIPT_LATER
						   : RECEIPT_DONE;
}

/* The payload of the packet in hand met a missing page. A message that it was
 * to begin has not begun. */
static void place_missed(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_msg *m = &qp->rsp.msg;

	if (m->kind != UNIC_MSG_SEND)
		unic_fault_more(&nic->memory, m->mr, m->iova + m->left);
	if (!m->placed) {
		drop_target(nic, m);
		unic_rq_drop_holds(nic, qp);
		if (m->kind == UNIC_MSG_TOKEN && !m->refused && !m->multi)
			unic_token_unclaim(&nic->memory, (uint16_t)m->token);
		m->kind = UNIC_MSG_NONE;
	}
	unic_responder_owe_retry(nic, qp, qp->rsp.psn);
}

static bool place_failed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 int err)
{
	uint32_t psn = qp->rsp.psn;

	if (err == -UNIC_EMISS) {
		place_missed(nic, qp);
		return true;
	}
	if (err == -UNIC_ENOPAGE && qp->rsp.msg.kind != UNIC_MSG_SEND) {
		unic_responder_fail(nic, qp, psn, UNIC_NAK_REM_ACCESS,
				    UNIC_WC_REM_ACCESS_ERR);
		return true;
	}
	if (err == -UNIC_ENOPAGE)
		return unic_responder_fail_receive(nic, qp, psn,
						   UNIC_WC_LOC_PROT_ERR,
						   UNIC_NAK_REM_OP) !=
		       -UNIC_EAGAIN;
	if (err == -UNIC_EEVICTED) {
		qp->rq.cut = qp->rq.picked;
		unic_responder_fail(nic, qp, psn,
				    unic_responder_cut_syndrome(qp),
				    UNIC_WC_EVICTED);
		return true;
	}
	return unic_responder_fail_receive(nic, qp, psn, UNIC_WC_LOC_BUS_ERR,
					   UNIC_NAK_REM_OP) != -UNIC_EAGAIN;
}

/* The message is whole; its state is given up. */
static void end_message(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_msg *m = &qp->rsp.msg;

	qp->rsp.msn = unic_psn_add(qp->rsp.msn, 1);
	drop_target(nic, m);
	if (m->kind == UNIC_MSG_TOKEN && !m->refused && !m->multi)
		unic_token_finish(&nic->memory, (uint16_t)m->token, m->placed);
	m->kind = UNIC_MSG_NONE;
}

bool unic_responder_placed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   int err)
{
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_msg *m = &rsp->msg;

	if (unlikely(err))
		return place_failed(nic, qp, err);
	if (m->last && (m->kind != UNIC_MSG_WRITE || m->with)) {
		enum receipt r =
			complete_rc_receive(nic, qp, m, m->placed + m->bytes);

		if (unlikely(r != RECEIPT_DONE))
			return r == RECEIPT_LATER;
	}
	m->placed += m->bytes;
	m->iova += m->bytes;
	m->bus += m->bytes;
	m->left -= m->bytes;
	rsp->psn = unic_psn_add(rsp->psn, 1);
	rsp->nak_sent = false;
	if (m->last)
		end_message(nic, qp);
	else
		unic_responder_keep(nic, qp);
	if (m->ackreq)
		unic_responder_owe_ack(nic, qp);
	return true;
}

bool unic_responder_known(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_msg *m = &qp->rsp.msg;

	m->bytes = 0; /* of the packet in hand */
	m->last = m->ackreq = true;
	if (!unic_responder_placed(nic, qp, 0))
		return false;
	if (qp->rsp.nak == UNIC_RSP_REFUSED) /* it need not be said again */
		qp->rsp.nak = 0;
	return true;
}

/* ------------------------------------------------------- a token wanted back */

_Static_assert(UNIC_RX_FINISH > UNIC_RX_PLACE && UNIC_RX_PLACE > UNIC_RX_REDO,
	       "is_placing()");

/* Is the frame in hand one of QP @idx, with bytes still on their way, or placed and not
 * yet counted in rsp.msg.placed? */
static bool is_placing(const struct unic_transport *nic, uint32_t idx)
{
	return nic->qps.roce.rx_stage >= UNIC_RX_PLACE &&
	       nic->qps.roce.rx_qp == idx;
}

/* Does the message that @qp receives go by a token that is overdue? */
static bool is_overdue(const struct unic_transport *nic,
		       const struct unic_qp_ctx *qp)
{
	const struct unic_msg *m = &qp->rsp.msg;

	return m->kind == UNIC_MSG_TOKEN && !m->refused && !m->multi &&
	       unic_token_overdue(&nic->tokens, m->token);
}

bool unic_responder_stop(struct unic_transport *nic)
{
	uint32_t i;

	nic->token_overdue = false;
	for (i = 0; i < UNIC_QPS; i++) {
		struct unic_qp_ctx *qp = &nic->qps.qp[i];
		struct unic_msg *m = &qp->rsp.msg;

		if (!is_overdue(nic, qp))
			continue;
		if (is_placing(nic, i)) {
			nic->token_overdue = true;
			continue;
		}
		m->refused = UNIC_TOKEN_CANCELLED; /* what is left of it */
		unic_token_stop(&nic->memory, (uint16_t)m->token, m->placed);
	}
	return nic->token_overdue;
}

/* ------------------------------------------------------------------ death */

static uint16_t message_holds(const struct unic_qp_ctx *qp,
			      const struct unic_cuts *cuts)
{
	const struct unic_msg *m = &qp->rsp.msg;
	bool by_token = m->kind == UNIC_MSG_TOKEN && !m->refused && !m->multi;

	if ((m->held || by_token) && unic_cuts_has(cuts, m->mr))
		return m->mr;
	return unic_rq_holds(qp, cuts);
}

uint16_t unic_responder_holds(const struct unic_qp_ctx *qp,
			      const struct unic_cuts *cuts)
{
	uint16_t mr = unic_rd_resources_hold(qp, cuts);

	return mr != UNIC_MR_NIL ? mr : message_holds(qp, cuts);
}

void unic_responder_part(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 const struct unic_cuts *cuts)
{
	const struct unic_rsp *rsp = &qp->rsp;
	uint32_t psn = unic_rd_resources_oldest(qp);
	uint8_t word = UNIC_NAK_REM_OP;

	if (unic_responder_holds(qp, cuts) == UNIC_MR_NIL) {
		unic_responder_save_last(qp, psn, word);
		return;
	}
	if (rsp->rd_active ? unic_cuts_has(cuts, qp->read[rsp->rd_head].mr)
			   : message_holds(qp, cuts) != UNIC_MR_NIL)
		word = unic_responder_cut_syndrome(qp);
	unic_responder_last_word(nic, qp, psn, word);
}

/* A token has not ended while bytes are on their way to its buffer. */
void unic_responder_dma_end(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_msg *m = &qp->rsp.msg;

	if (m->kind == UNIC_MSG_TOKEN && !m->refused && !m->multi) {
		if (qp->dmas)
			return; /* called again */
		unic_token_abort(&nic->memory, (uint16_t)m->token, m->placed);
	}
	m->kind = UNIC_MSG_NONE;
}

void unic_responder_abort(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  const struct unic_cuts *cuts)
{
	qp->rq.cut |= unic_rq_holds(qp, cuts) != UNIC_MR_NIL;
	unic_rq_drop_holds(nic, qp);
	drop_target(nic, &qp->rsp.msg);
	unic_responder_dma_end(nic, qp);
	unic_rd_resources_drop(nic, qp);
	qp->rsp.ack = false;
}

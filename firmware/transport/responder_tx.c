/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * responder_tx.c - what a QP owes its peer: READ responses, then a negative, then a
 * positive acknowledgement, because each of them acknowledges all before it
 * (IBTA 9.7.5.1.1, coalescing and ordering).
 */
#include "transport/frame.h"
#include "transport/transport.h"
#include "transport/rd_resources.h"
#include "transport/responder.h"
#include "transport/responder_nak.h"
#include "transport/tx.h"

#define READ_BURST 8u  /* responses of one turn */
#define AFTER_US   50u /* about what the driver needs for a page */

static uint32_t aeth_word(const struct unic_rsp *rsp, uint8_t syndrome)
{
	return (uint32_t)syndrome << 24 | rsp->msn;
}

static bool send_vack(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint32_t reason, uint32_t delay_us)
{
	uint8_t *frame = unic_frame_get(nic, qp);

	if (!frame)
		return false;
	unic_put_word(unic_frame_words(frame), UNIC_W_EXT, reason);
	unic_put_word(unic_frame_words(frame), UNIC_W_EXT + 1, delay_us);
	unic_frame_count(nic, 1,
			 unic_frame_send(nic, frame, qp, UNIC_OP_VACK << 8,
					 qp->rsp.nak_psn,
					 sizeof(struct unic_evth)));
	UNIC_COUNT(nic, tx_vacks);
	return true;
}

static bool send_aeth(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint8_t syndrome, uint32_t psn)
{
	uint8_t *frame = unic_frame_get(nic, qp);

	if (unlikely(!frame))
		return false;
	unic_put_word(unic_frame_words(frame), UNIC_W_EXT,
		      aeth_word(&qp->rsp, syndrome));
	unic_frame_count(nic, 1,
			 unic_frame_send(nic, frame, qp, UNIC_OP_ACK << 8, psn,
					 sizeof(struct unic_aeth)));
	return true;
}

static bool send_nak(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_rsp *rsp = &qp->rsp;

	if (rsp->nak == UNIC_RSP_VACK) {
		if (!send_vack(nic, qp, UNIC_EV_EVICTED, 0))
			return false;
	} else if (rsp->nak == UNIC_RSP_AFTER) {
		if (!send_vack(nic, qp, UNIC_EV_RETRY_AFTER, AFTER_US))
			return false;
	} else if (UNIC_TELL_REFUSED && rsp->nak == UNIC_RSP_REFUSED) {
		if (!send_vack(nic, qp, UNIC_EV_REFUSED, rsp->msg.refused))
			return false;
	} else {
		if (!send_aeth(nic, qp, rsp->nak, rsp->nak_psn))
			return false;
		if ((rsp->nak & UNIC_AETH_TYPE_MASK) == UNIC_AETH_RNR)
			UNIC_COUNT(nic, tx_rnr_naks);
		else
			UNIC_COUNT(nic, tx_naks);
	}
	rsp->nak = 0;
	rsp->ack = false;
	return true;
}

static bool send_ack(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	if (!send_aeth(nic, qp, UNIC_AETH_ACK_NOCREDIT,
		       unic_psn_add(qp->rsp.psn, -1u)))
		return false;
	UNIC_COUNT(nic, tx_acks);
	qp->rsp.ack = false;
	return true;
}

/* The acknowledgement of all that was executed; on a link without ICRC. Returns its bytes. */
static inline uint32_t put_ack(struct unic_qp_ctx *qp, uint8_t *frame)
{
	const uint32_t len = sizeof(struct unic_aeth);

	unic_put_word(unic_frame_words(frame), UNIC_W_EXT,
		      aeth_word(&qp->rsp, UNIC_AETH_ACK_NOCREDIT));
	unic_frame_write(frame, qp, UNIC_OP_ACK << 8,
			 unic_psn_add(qp->rsp.psn, -1u), len);
	unic_put_word(unic_frame_words(frame), UNIC_W_EXT + 1, 0); /* ICRC */
	return UNIC_EXT_OFF + len + UNIC_ICRC_BYTES;
}

/* send_ack() of a frame that nobody waits for, without a way to wait for room. */
static inline bool send_lone_ack(struct unic_transport *nic,
				 struct unic_qp_ctx *qp)
{
	struct unic_tx_run run;
	uint32_t bytes;

	if (unlikely(!unic_port_tx_run(nic->port, qp->tmpl.path, &run)))
		return false;
	bytes = put_ack(qp, run.frame);
	unic_port_tx_run_put(nic->port, &run, 1, bytes, UNIC_FRAME_NO_ICRC);
	unic_frame_count(nic, 1, bytes);
	UNIC_COUNT(nic, tx_acks);
	return true;
}

void unic_responder_ack_now(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	if (unlikely(nic->sched.work || !nic->link.icrc_offload ||
		     !send_lone_ack(nic, qp)))
		unic_responder_owe_ack(nic, qp);
}

/* Is an acknowledgement owed and nothing else? */
static inline bool owes_ack_only(const struct unic_rsp *rsp)
{
	const union unic_owed ack = { .ack = true };

	return rsp->owes == ack.owes && !rsp->rd_active;
}

void unic_responder_sole_ack(struct unic_transport *nic)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[nic->sched.sole];

	UNIC_IN_REGISTER(qp);
	if ((nic->trace.mask & UNIC_TG_OF_TX) || !nic->link.icrc_offload ||
	    !owes_ack_only(&qp->rsp) || !send_lone_ack(nic, qp))
		return;
	qp->rsp.ack = false;
	unic_sched_drop_sole(nic, qp);
}

static uint32_t response_opcode(bool first, bool last)
{
	if (first)
		return last ? UNIC_OP_READ_RESP_ONLY : UNIC_OP_READ_RESP_FIRST;
	return last ? UNIC_OP_READ_RESP_LAST : UNIC_OP_READ_RESP_MIDDLE;
}

/* One packet of the READ at the head; @first of this execution. */
static int send_response(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 bool first, int32_t *left)
{
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_read *rd = &qp->read[rsp->rd_head];
	struct unic_tx *tx = unic_tx_get(nic, unic_qp_index(nic, qp), true);
	uint32_t off = rd->off << qp->mtu_shift, mtu = 1u << qp->mtu_shift;
	uint32_t len = rd->len - off < mtu ? rd->len - off : mtu;
	bool last = rd->off + 1 == rd->end;
	uint32_t ext = 0;
	int r;

	if (!tx)
		return -UNIC_EAGAIN;
	if (first || last) {
		unic_put_word(unic_frame_words(tx->frame), UNIC_W_EXT,
			      aeth_word(rsp, UNIC_AETH_ACK_NOCREDIT));
		ext = sizeof(struct unic_aeth);
	}
	if (len) {
		tx->sgl.n = 1;
		tx->sgl.span[0] = (struct unic_mr_span){
			.iova = rd->iova + off,
			.len = len,
			.mr = rd->mr,
		};
		tx->sgl.local = tx->frame + UNIC_EXT_OFF + ext;
	}
	r = unic_tx_put(nic, tx, response_opcode(first, last) << 8,
			unic_psn_add(rd->psn, rd->off), ext + len);
	if (unlikely(r && r != -UNIC_EPENDING))
		return r; /* not sent */
	*left -= (int32_t)len;
	*left -= last ? nic->sched.cost_last : nic->sched.cost;
	return r;
}

/* A page of it is missing: no more of it until it is there. */
static void read_missed(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_read *rd = &qp->read[qp->rsp.rd_head];
	uint16_t idx = unic_qp_index(nic, qp);

	unic_fault_more(&nic->memory, rd->mr, rd->iova + rd->len);
	qp->rsp.miss_wait = true;
	if (!unic_fault_waits(&nic->memory, idx))
		unic_responder_filled(nic, idx);
}

void unic_responder_filled(struct unic_transport *nic, uint16_t idx)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	if (!qp->rsp.miss_wait)
		return;
	qp->rsp.miss_wait = false;
	if (qp->state == UNIC_QPS_RTR || qp->state == UNIC_QPS_RTS)
		unic_sched_reply(nic, idx);
}

static void read_failed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			int err)
{
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_read *rd = &qp->read[rsp->rd_head];
	uint32_t psn = unic_psn_add(rd->psn, rd->off);

	unic_qp_error(nic, qp,
		      err == -UNIC_EBUS	     ? UNIC_WC_LOC_BUS_ERR
		      : err == -UNIC_ENOPAGE ? UNIC_WC_LOC_PROT_ERR
					     : UNIC_WC_EVICTED);
	unic_responder_last_word(nic, qp, psn,
				 err == -UNIC_EEVICTED
					 ? unic_responder_cut_syndrome(qp)
					 : UNIC_NAK_REM_OP);
}

/* The answer to the atomic operation at the head. */
static __attribute__((noinline)) enum unic_turn
send_atomic_ack(struct unic_transport *nic, struct unic_qp_ctx *qp,
		int32_t *left)
{
	const struct unic_read *rd = &qp->read[qp->rsp.rd_head];
	uint8_t *frame = unic_frame_get(nic, qp);
	uint32_t *w;

	if (!frame)
		return UNIC_TURN_BLOCKED;
	w = unic_frame_words(frame);
	unic_put_word(w, UNIC_W_EXT,
		      aeth_word(&qp->rsp, UNIC_AETH_ACK_NOCREDIT));
	unic_put_word(w, UNIC_W_EXT + 1, (uint32_t)(rd->was >> 32));
	unic_put_word(w, UNIC_W_EXT + 2, (uint32_t)rd->was);
	unic_frame_count(
		nic, 1,
		unic_frame_send(nic, frame, qp, UNIC_OP_ATOMIC_ACK << 8,
				rd->psn,
				sizeof(struct unic_aeth) +
					sizeof(struct unic_atomic_ack_eth)));
	unic_rd_resources_done(nic, qp);
	*left -= (int32_t)nic->sched.cost_last;
	return UNIC_TURN_MORE;
}

/* Responses of the READ at the head, as many as one turn may send. */
static __attribute__((noinline)) enum unic_turn
run_read(struct unic_transport *nic, struct unic_qp_ctx *qp, int32_t *left)
{
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_read *rd = &qp->read[rsp->rd_head];
	uint32_t n;
	int r;

	if (UNIC_ATOMICS && rd->atomic)
		return send_atomic_ack(nic, qp, left);
	for (n = 0; *left > 0 && n < READ_BURST; n++) {
		r = send_response(nic, qp, rd->off == rd->start, left);
		if (r == -UNIC_EAGAIN)
			return n ? UNIC_TURN_MORE : UNIC_TURN_BLOCKED;
		if (r == -UNIC_EMISS) {
			read_missed(nic, qp);
			return UNIC_TURN_DONE;
		}
		if (r && r != -UNIC_EPENDING) {
			read_failed(nic, qp, r);
			return UNIC_TURN_MORE;
		}
		rd->off++;
		if (r) {
			rsp->gathering = true;
			return UNIC_TURN_DONE; /* until it is gathered */
		}
		if (rd->off == rd->end) {
			unic_rd_resources_done(nic, qp);
			break;
		}
	}
	return UNIC_TURN_MORE;
}

void unic_responder_gathered(struct unic_transport *nic, uint16_t idx, int err)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_read *rd = &qp->read[rsp->rd_head];

	rsp->gathering = false;
	if (!rsp->rd_active)
		return;
	if (err) {
		rd->off--; /* that one was not sent */
		if (err == -UNIC_EMISS) {
			read_missed(nic, qp);
			return;
		}
		if (err != -UNIC_EAGAIN)
			read_failed(nic, qp, err);
	} else if (rd->off == rd->end) {
		unic_rd_resources_done(nic, qp);
	}
	unic_sched_reply(nic, idx);
}

enum unic_turn unic_responder_reply(struct unic_transport *nic, uint16_t idx,
				    int32_t *left)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	struct unic_rsp *rsp = &qp->rsp;

	UNIC_IN_REGISTER(qp);
	UNIC_IN_REGISTER(rsp);
	if (rsp->gathering | rsp->miss_wait)
		return UNIC_TURN_DONE;
	if (rsp->rd_active) {
		enum unic_turn turn = run_read(nic, qp, left);

		if (turn != UNIC_TURN_MORE || rsp->rd_active)
			return turn;
	}
	if (rsp->nak && !send_nak(nic, qp))
		return UNIC_TURN_BLOCKED;
	if (rsp->ack && !send_ack(nic, qp))
		return UNIC_TURN_BLOCKED;
	*left -= (int32_t)nic->sched.cost;
	return UNIC_TURN_DONE;
}

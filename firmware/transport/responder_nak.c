/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* responder_nak.c - see responder_nak.h. */
#include "transport/responder_nak.h"

#include "transport/rq.h"
#include "transport/transport.h"

/* A peer that hears nothing sends again at most 7 times (IBTA 9.7.6.1.3), and
 * what it sends is sometimes doubled on the way. */
#define LASTS	     63u
#define LAST_EVICTED 0u

void unic_responder_owe_nak(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t psn, uint8_t syndrome)
{
	qp->rsp.nak = syndrome;
	qp->rsp.nak_psn = psn;
	qp->rsp.nak_sent = true;
	unic_sched_reply(nic, unic_qp_index(nic, qp));
}

void unic_responder_owe_ack(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	qp->rsp.ack = true;
	unic_sched_reply(nic, unic_qp_index(nic, qp));
}

void unic_responder_save_last(struct unic_qp_ctx *qp, uint32_t psn,
			      uint8_t syndrome)
{
	qp->rsp.nak_psn = psn;
	qp->rsp.last = syndrome == UNIC_RSP_VACK ? LAST_EVICTED : syndrome & 3;
	qp->rsp.lasts = LASTS;
}

void unic_responder_last_word(struct unic_transport *nic,
			      struct unic_qp_ctx *qp, uint32_t psn,
			      uint8_t syndrome)
{
	unic_responder_save_last(qp, psn, syndrome);
	unic_responder_owe_nak(nic, qp, psn, syndrome);
}

int unic_responder_fail(struct unic_transport *nic, struct unic_qp_ctx *qp,
			uint32_t psn, uint8_t syndrome,
			enum unic_wc_status status)
{
	unic_qp_error(nic, qp, status);
	unic_responder_last_word(nic, qp, psn, syndrome);
	return 0;
}

void unic_responder_owe_retry(struct unic_transport *nic,
			      struct unic_qp_ctx *qp, uint32_t psn)
{
	UNIC_COUNT(nic, miss_put_off);
	unic_responder_owe_nak(nic, qp, psn,
			       qp->vendor ? UNIC_RSP_AFTER
					  : (uint8_t)(UNIC_AETH_RNR |
						      qp->rsp.rnr_code));
}

/* An rkey that did not pass. The peer learns nothing but that (MEMORY.md 2) -
 * unless all of it names a region taken back, and the peer understands. */
void unic_responder_refused(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t psn, int err)
{
	if (err == -UNIC_EEVICTED && qp->vendor) {
		unic_responder_owe_nak(nic, qp, psn, UNIC_RSP_VACK);
		return;
	}
	if (err == -UNIC_EMISS) {
		unic_responder_owe_retry(nic, qp, psn);
		return;
	}
	if (unic_key_guard_counts(err))
		unic_key_guard_wrong(&nic->memory, qp->dest_ipv4, qp->proc);
	unic_responder_fail(nic, qp, psn, UNIC_NAK_REM_ACCESS,
			    UNIC_WC_REM_ACCESS_ERR);
}

void unic_responder_refused_again(struct unic_transport *nic,
				  struct unic_qp_ctx *qp, uint32_t psn, int err)
{
	bool sent = qp->rsp.nak_sent;

	if (!UNIC_FORGIVE_READS || err == -UNIC_EEVICTED ||
	    err == -UNIC_EMISS) {
		unic_responder_refused(nic, qp, psn, err);
		return;
	}
	if (qp->rsp.nak)
		return; /* what is owed comes first; the peer asks again */
	unic_responder_owe_nak(nic, qp, psn, UNIC_NAK_REM_ACCESS);
	qp->rsp.nak_sent = sent;
}

int unic_responder_fail_receive(struct unic_transport *nic,
				struct unic_qp_ctx *qp, uint32_t psn,
				enum unic_wc_status status, uint8_t syndrome)
{
	struct unic_cqe cqe = {
		.opcode = UNIC_WC_RECV,
		.status = (uint8_t)status,
	};

	if (qp->rq.picked && !unic_rq_complete(nic, qp, &cqe))
		return -UNIC_EAGAIN;
	return unic_responder_fail(nic, qp, psn, syndrome, status);
}

/* Is what the peer asks for more than an acknowledgement? */
static bool wants_answer(const struct unic_pkt *pkt)
{
	return pkt->opcode == UNIC_OP_READ_REQUEST ||
	       (UNIC_ATOMICS && (pkt->opcode == UNIC_OP_COMPARE_SWAP ||
				 pkt->opcode == UNIC_OP_FETCH_ADD));
}

/* What stands for a request that is evicted: it writes nothing. */
static bool is_null_write(const struct unic_pkt *pkt)
{
	return pkt->opcode == UNIC_OP_WRITE_ONLY &&
	       pkt->len == sizeof(struct unic_reth);
}

bool unic_responder_asked_again(struct unic_transport *nic,
				struct unic_qp_ctx *qp,
				const struct unic_pkt *pkt)
{
	struct unic_rsp *rsp = &qp->rsp;
	int32_t ahead = unic_psn_diff(pkt->psn, rsp->psn);

	/* what is owed already is older */
	if (!rsp->lasts || rsp->nak || ahead > 0)
		return false;
	rsp->lasts--;
	if (ahead < 0 && !wants_answer(pkt)) {
		unic_responder_owe_ack(nic, qp); /* it was executed */
		return true;
	}
	if (pkt->psn != rsp->nak_psn || is_null_write(pkt))
		rsp->last = UNIC_NAK_REM_OP & 3;
	unic_responder_owe_nak(nic, qp, pkt->psn,
			       rsp->last == LAST_EVICTED
				       ? UNIC_RSP_VACK
				       : (uint8_t)(UNIC_AETH_NAK | rsp->last));
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* responder.c - requests as they come in, see responder.h. */
#include "transport/responder.h"

#include "memory/access.h"
#include "memory/derived.h"
#include "transport/transport.h"
#include "transport/rd_resources.h"
#include "transport/responder_done.h"
#include "transport/responder_nak.h"
#include "transport/rq.h"

#define FIRST (1u << 0)
#define LAST  (1u << 1)
#define IMM   UNIC_MSG_IMM
#define INV   UNIC_MSG_INV
#define SWAP  (1u << 4) /* of an atomic operation: COMPARE_SWAP */

/* What a request opcode says about its packet. */
static const struct {
	uint8_t kind; /* enum unic_msg_kind */
	uint8_t flags;
} ops[] = {
	[UNIC_OP_SEND_FIRST] = { UNIC_MSG_SEND, FIRST },
	[UNIC_OP_SEND_MIDDLE] = { UNIC_MSG_SEND, 0 },
	[UNIC_OP_SEND_LAST] = { UNIC_MSG_SEND, LAST },
	[UNIC_OP_SEND_LAST_IMM] = { UNIC_MSG_SEND, LAST | IMM },
	[UNIC_OP_SEND_ONLY] = { UNIC_MSG_SEND, FIRST | LAST },
	[UNIC_OP_SEND_ONLY_IMM] = { UNIC_MSG_SEND, FIRST | LAST | IMM },
	[UNIC_OP_WRITE_FIRST] = { UNIC_MSG_WRITE, FIRST },
	[UNIC_OP_WRITE_MIDDLE] = { UNIC_MSG_WRITE, 0 },
	[UNIC_OP_WRITE_LAST] = { UNIC_MSG_WRITE, LAST },
	[UNIC_OP_WRITE_LAST_IMM] = { UNIC_MSG_WRITE, LAST | IMM },
	[UNIC_OP_WRITE_ONLY] = { UNIC_MSG_WRITE, FIRST | LAST },
	[UNIC_OP_WRITE_ONLY_IMM] = { UNIC_MSG_WRITE, FIRST | LAST | IMM },
	[UNIC_OP_READ_REQUEST] = { UNIC_MSG_NONE, FIRST | LAST },
	[UNIC_OP_COMPARE_SWAP] = { UNIC_MSG_ATOMIC, FIRST | LAST | SWAP },
	[UNIC_OP_FETCH_ADD] = { UNIC_MSG_ATOMIC, FIRST | LAST },
	[UNIC_OP_SEND_LAST_INV] = { UNIC_MSG_SEND, LAST | INV },
	[UNIC_OP_SEND_ONLY_INV] = { UNIC_MSG_SEND, FIRST | LAST | INV },
};
/* is_request() of rx.c lets none beyond through; tokens have the next table. */
_Static_assert(sizeof(ops) / sizeof(ops[0]) == UNIC_OP_SEND_ONLY_INV + 1u,
	       "a row for each request");

static const uint8_t token_flags[] = { FIRST, 0, LAST, FIRST | LAST };

/* The packet in hand, its headers being eaten from the front. */
struct request {
	const uint8_t *at; /* next byte */
	uint32_t len;	   /* left */
	uint8_t kind, flags;
	uint32_t psn;
};

static uint32_t rc_pull_be32(struct request *q)
{
	const unic_be32 *p = (const void *)q->at;

	q->at += 4;
	q->len -= 4;
	return unic_from_be32(UNIC_READ_ONCE(*p));
}

static uint64_t rc_pull_be64(struct request *q)
{
	uint64_t hi = rc_pull_be32(q);

	return hi << 32 | rc_pull_be32(q);
}

/* --------------------------------------------------------------- refusals */

static int bad_request(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       uint32_t psn)
{
	UNIC_COUNT(nic, rx_bad_opcode);
	return unic_responder_fail(nic, qp, psn, UNIC_NAK_INV_REQ,
				   UNIC_WC_REM_INV_REQ_ERR);
}

static int bad_access(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint32_t psn, int err)
{
	unic_responder_refused(nic, qp, psn, err);
	return 0;
}

/* What unic_rq_pick() answered, if not 0. */
static int no_receive(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint32_t psn, int err)
{
	if (err == -UNIC_EAGAIN)
		return err;
	if (err == -UNIC_EMISS) {
		unic_responder_owe_retry(nic, qp, psn);
		return 0;
	}
	if (err == -UNIC_ENOQP) {
		unic_responder_owe_nak(nic, qp, psn,
				       UNIC_AETH_RNR | qp->rsp.rnr_code);
		return 0;
	}
	return unic_responder_fail(nic, qp, psn, UNIC_NAK_REM_OP,
				   err == -UNIC_EINVAL ? UNIC_WC_LOC_QP_OP_ERR
				   : err == -UNIC_EBUS ? UNIC_WC_LOC_BUS_ERR
						       : UNIC_WC_LOC_PROT_ERR);
}

static int too_long(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    uint32_t psn)
{
	return unic_responder_fail_receive(nic, qp, psn, UNIC_WC_LOC_LEN_ERR,
					   UNIC_NAK_INV_REQ);
}

/* ------------------------------------------------------------ SEND, WRITE */

/*
 * The peer wants an STag of ours closed (IBTA 9.4.1.1.3), which it is from now
 * on: nobody gets in between this and the completion that says so. In use: not
 * ready, so the peer comes again.
 */
static int close_for_peer(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  struct request *q)
{
	struct unic_msg *m = &qp->rsp.msg;
	int r;

	m->imm = rc_pull_be32(q);
	r = unic_derived_close(&nic->memory, m->imm, qp->pd, true);
	if (r == -UNIC_EAGAIN)
		unic_responder_owe_nak(nic, qp, q->psn,
				       UNIC_AETH_RNR | qp->rsp.rnr_code);
	else if (r)
		bad_access(nic, qp, q->psn, r);
	return r;
}

static int on_send(struct unic_transport *nic, struct unic_qp_ctx *qp,
		   struct request *q)
{
	struct unic_msg *m = &qp->rsp.msg;
	uint32_t placed = q->flags & FIRST ? 0 : m->placed;
	int r;

	if (q->flags & FIRST) {
		r = unic_rq_pick(nic, qp, true);
		if (r)
			return no_receive(nic, qp, q->psn, r);
	}
	if (q->len > qp->rq.room - placed)
		return too_long(nic, qp, q->psn);
	m->placed = placed;
	unic_rq_span(qp, placed, q->len, &nic->qps.roce.rx_sgl);
	return -UNIC_EPENDING;
}

/* The RETH of a WRITE, and the one access check for all of it. */
static int begin_rc_write(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  struct request *q, struct unic_msg *m)
{
	struct unic_xlate piece = { .mr = UNIC_MR_NIL };
	uint64_t va = rc_pull_be64(q);
	uint32_t rkey = rc_pull_be32(q), len = rc_pull_be32(q);
	int r;

	m->iova = va;
	m->left = len;
	m->placed = 0;
	m->mr = UNIC_MR_NIL;
	m->direct = false;
	if (len > UNIC_MSG_MAX)
		return -UNIC_EINVAL;
	if (!len) /* no memory is named, so no key is looked at */
		return 0;
	if (!(qp->rights & UNIC_MR_REMOTE_WRITE))
		return -UNIC_ERIGHTS;
	r = unic_access(&nic->memory, rkey, qp->pd, UNIC_MR_REMOTE_WRITE, va,
			len, &piece);
	m->mr = piece.mr;
	m->bus = piece.bus;
	m->direct = piece.len == len &&
		    !unic_mr_cached_at(&nic->memory, piece.mr);
	return r;
}

/* Where the next @len bytes of a WRITE or payload go, behind n spans. */
static void target_span(struct unic_sgl *sgl, const struct unic_msg *m,
			uint32_t len)
{
	if (len)
		sgl->span[sgl->n++] = (struct unic_mr_span){
			.iova = m->iova,
			.bus = m->bus,
			.len = len,
			.mr = m->mr,
			.direct = m->direct,
		};
}

static int on_write(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    struct request *q)
{
	struct unic_sgl *sgl = &nic->qps.roce.rx_sgl;
	struct unic_msg *m = &qp->rsp.msg;
	int r;

	if (q->flags & FIRST) {
		if (q->len < sizeof(struct unic_reth))
			return bad_request(nic, qp, q->psn);
		r = begin_rc_write(nic, qp, q, m);
		if (r == -UNIC_EINVAL)
			return bad_request(nic, qp, q->psn);
		if (r)
			return bad_access(nic, qp, q->psn, r);
	}
	if (q->flags & IMM) {
		if (q->len < 4)
			return bad_request(nic, qp, q->psn);
		m->imm = rc_pull_be32(q);
		r = unic_rq_pick(nic, qp, false);
		if (r)
			return no_receive(nic, qp, q->psn, r);
	}
	if (q->len > m->left || (!!(q->flags & LAST) != (q->len == m->left)))
		return bad_request(nic, qp, q->psn);
	sgl->n = 0;
	target_span(sgl, m, q->len);
	return -UNIC_EPENDING;
}

/* --------------------------------------------------------- tagged message */

static bool parse_tketh(struct request *q, struct unic_tag *t, uint32_t mtu)
{
	uint32_t total;

	if (q->len < sizeof(struct unic_tketh))
		return false;
	t->index = rc_pull_be32(q);
	t->key = rc_pull_be64(q);
	t->payload = rc_pull_be32(q);
	t->ctrl = rc_pull_be32(q);
	t->offset = rc_pull_be32(q);
	if (t->offset > UNIC_MSG_MAX || t->ctrl > UNIC_TOKEN_CTRL_MAX ||
	    t->payload > UNIC_MSG_MAX || t->ctrl > q->len)
		return false;
	total = t->ctrl + t->payload;
	return q->flags & LAST ? q->len == total : q->len == mtu && total > mtu;
}

/* The peer has named too many wrong keys: not even a right one is looked at. */
static bool is_rc_peer_held(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    uint32_t psn)
{
	qp->rsp.guessed =
		unic_key_guard_held(&nic->memory, qp->dest_ipv4, qp->proc);
	if (qp->rsp.guessed)
		unic_responder_owe_nak(nic, qp, psn,
				       UNIC_AETH_RNR | UNIC_KEY_GUARD_RNR);
	return qp->rsp.guessed;
}

/* Apart: a call with seven arguments would cost its caller registers. */
static void __attribute__((noinline, cold))
trace_claim(struct unic_transport *nic, const struct unic_qp_ctx *qp,
	    uint32_t token)
{
	UNIC_TRACE(nic, TOKEN_CLAIM, nic->tokens.token[token].proc, token,
		   unic_qp_index(nic, qp), qp->rsp.psn, 0);
}

/*
 * First packet. The receive comes before the claim: a claim cannot be taken
 * back, and a message told "not ready" comes again (INV-9).
 */
static int begin_token(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       struct request *q)
{
	struct unic_sgl *sgl = &nic->qps.roce.rx_sgl;
	struct unic_msg *m = &qp->rsp.msg;
	struct unic_tag t;
	int r;

	if (!parse_tketh(q, &t, 1u << qp->mtu_shift))
		return bad_request(nic, qp, q->psn);
	if (unlikely(qp->rsp.guessed) && is_rc_peer_held(nic, qp, q->psn))
		return 0;
	r = unic_rq_pick(nic, qp, t.ctrl != 0);
	if (r)
		return no_receive(nic, qp, q->psn, r);
	if (t.ctrl && t.ctrl > qp->rq.room)
		return too_long(nic, qp, q->psn);
	m->token = t.index;
	m->left = t.payload;
	m->placed = 0;
	m->ctrl_len = (uint8_t)t.ctrl;
	m->mr = UNIC_MR_NIL;
	m->direct = false;
	m->multi = false;
	m->refused = unic_token_claim(&nic->memory, &t, &qp->sender);
	if (unlikely(m->refused == UNIC_TOKEN_BAD_KEY)) {
		unic_key_guard_wrong(&nic->memory, qp->dest_ipv4, qp->proc);
		qp->rsp.guessed = true;
	}
	sgl->n = 0;
	if (t.ctrl)
		unic_rq_span(qp, 0, t.ctrl, sgl);
	q->len -= t.ctrl;
	if (!m->refused) {
		m->mr = nic->tokens.token[t.index].mr;
		m->iova = nic->tokens.token[t.index].iova + t.offset;
		if (unic_token_multi(&nic->tokens, t.index)) {
			m->multi = m->held = true;
			unic_mr_hold(&nic->memory, m->mr);
		} else if (unlikely(nic->trace.mask & UNIC_TG_OF_TOKEN_CLAIM)) {
			trace_claim(nic, qp, t.index);
		}
		target_span(sgl, m, q->len);
	}
	return -UNIC_EPENDING;
}

static int on_token(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    struct request *q)
{
	struct unic_sgl *sgl = &nic->qps.roce.rx_sgl;
	struct unic_msg *m = &qp->rsp.msg;

	if (!qp->vendor)
		return bad_request(nic, qp, q->psn);
	if (q->flags & FIRST)
		return begin_token(nic, qp, q);
	if (q->len > m->left || (!!(q->flags & LAST) != (q->len == m->left)))
		return bad_request(nic, qp, q->psn);
	sgl->n = 0;
	if (!m->refused) /* else it is discarded to its last packet */
		target_span(sgl, m, q->len);
	return -UNIC_EPENDING;
}

/* ------------------------------------------------------------------- READ */

static void parse_read(struct request *q, struct unic_rd_resources_ask *ask)
{
	ask->psn = q->psn;
	ask->iova = rc_pull_be64(q);
	ask->rkey = rc_pull_be32(q);
	ask->len = rc_pull_be32(q);
}

static int on_read(struct unic_transport *nic, struct unic_qp_ctx *qp,
		   struct request *q)
{
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_rd_resources_ask ask;
	int r;

	if (q->len != sizeof(struct unic_reth))
		return bad_request(nic, qp, q->psn);
	parse_read(q, &ask);
	r = unic_rd_resources_take(nic, qp, &ask);
	if (r == -UNIC_EAGAIN)
		return 0; /* as if the wire had lost it */
	if (r == -UNIC_EINVAL)
		return bad_request(nic, qp, q->psn);
	if (r)
		return bad_access(nic, qp, q->psn, r);
	rsp->psn = unic_psn_add(rsp->psn, unic_packets(ask.len, qp->mtu_shift));
	rsp->msn = unic_psn_add(rsp->msn, 1);
	rsp->nak_sent = false;
	return 0;
}

static int duplicate_read(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  struct request *q)
{
	struct unic_rd_resources_ask ask;
	int r;

	if (q->len != sizeof(struct unic_reth))
		return 0;
	parse_read(q, &ask);
	r = unic_rd_resources_again(nic, qp, &ask);
	if (r)
		unic_responder_refused_again(nic, qp, q->psn, r);
	return 0;
}

/* ------------------------------------------------------ atomic operations */

/* Executed at once, in the order of SENDs and WRITEs, before READs that are owed (IBTA
 * 9.5); the answer waits for theirs. */
static __attribute__((noinline)) int
on_atomic(struct unic_transport *nic, struct unic_qp_ctx *qp, struct request *q)
{
	struct unic_atomic_ask ask = { .psn = q->psn,
				       .swaps = q->flags & SWAP };
	struct unic_rsp *rsp = &qp->rsp;
	uint64_t was;
	int r;

	if (q->len != sizeof(struct unic_atomic_eth))
		return bad_request(nic, qp, q->psn);
	ask.iova = rc_pull_be64(q);
	ask.rkey = rc_pull_be32(q);
	ask.value = rc_pull_be64(q);
	ask.compare = rc_pull_be64(q);
	r = unic_rd_resources_room(nic, qp);
	if (r == -UNIC_EAGAIN)
		return 0; /* as if the wire had lost it */
	if (r || ask.iova % UNIC_ATOMIC_BYTES)
		return bad_request(nic, qp, q->psn);
	if (!(qp->rights & UNIC_MR_REMOTE_ATOMIC))
		return bad_access(nic, qp, q->psn, -UNIC_ERIGHTS);
	r = unic_atomics_run(nic, qp, &ask, &was);
	if (r == -UNIC_EAGAIN)
		return r;
	if (r == -UNIC_EBUS)
		return unic_responder_fail(nic, qp, q->psn, UNIC_NAK_REM_OP,
					   UNIC_WC_LOC_BUS_ERR);
	if (r)
		return bad_access(nic, qp, q->psn, r);
	unic_rd_resources_atomic(nic, qp, q->psn, was);
	rsp->psn = unic_psn_add(rsp->psn, 1);
	rsp->msn = unic_psn_add(rsp->msn, 1);
	rsp->nak_sent = false;
	return 0;
}

/* ------------------------------------------------------------- one packet */

/* Packets are missing before the one in hand. */
static int ask_for_missing(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	UNIC_COUNT(nic, rx_out_of_seq);
	if (!qp->rsp.nak_sent)
		unic_responder_owe_nak(nic, qp, qp->rsp.psn, UNIC_NAK_PSN_SEQ);
	return 0;
}

static int out_of_order(struct unic_transport *nic, struct unic_qp_ctx *qp,
			struct request *q)
{
	if (unic_psn_diff(q->psn, qp->rsp.psn) > 0)
		return ask_for_missing(nic, qp);
	UNIC_COUNT(nic, rx_duplicate);
	if (q->kind == UNIC_MSG_NONE)
		return duplicate_read(nic, qp, q);
	if (UNIC_ATOMICS && q->kind == UNIC_MSG_ATOMIC) {
		unic_rd_resources_atomic_again(nic, qp, q->psn);
		return 0;
	}
	unic_responder_owe_ack(nic, qp);
	return 0;
}

/* First goes with no message in progress, all else with one of its kind; all
 * but the last packet are full. */
static bool in_order(const struct unic_qp_ctx *qp, const struct request *q)
{
	uint8_t now = qp->rsp.msg.kind;

	if (q->flags & FIRST)
		return now == UNIC_MSG_NONE;
	return now == q->kind;
}

static bool is_rc_size_ok(const struct unic_qp_ctx *qp, const struct request *q,
			  uint32_t len)
{
	uint32_t mtu = 1u << qp->mtu_shift;

	if (!(q->flags & LAST))
		return len == mtu;
	return len <= mtu && (len || (q->flags & FIRST));
}

static int dispatch_request(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    struct request *q)
{
	struct unic_msg *m = &qp->rsp.msg;

	switch (q->kind) {
	case UNIC_MSG_SEND:
		if (q->flags & IMM) {
			if (q->len < 4)
				return bad_request(nic, qp, q->psn);
			m->imm = rc_pull_be32(q);
		} else if (unlikely(q->flags & INV)) {
			if (q->len < 4)
				return bad_request(nic, qp, q->psn);
			if (close_for_peer(nic, qp, q))
				return 0;
		}
		return on_send(nic, qp, q);
	case UNIC_MSG_WRITE:
		return on_write(nic, qp, q);
	case UNIC_MSG_TOKEN:
		return on_token(nic, qp, q);
	default:
		if (UNIC_ATOMICS && q->kind == UNIC_MSG_ATOMIC)
			return on_atomic(nic, qp, q);
		return on_read(nic, qp, q);
	}
}

/* A refused message has no packets left. A peer that does not know yet that it was
 * refused sends the last packet again; one that knows says so by a WRITE of nothing in
 * the place of that packet. */
static int on_told(struct unic_transport *nic, struct unic_qp_ctx *qp,
		   const struct request *q)
{
	if (q->kind == UNIC_MSG_TOKEN && (q->flags & LAST)) {
		unic_responder_owe_nak(nic, qp, q->psn, UNIC_RSP_REFUSED);
		return 0;
	}
	if (q->kind != UNIC_MSG_WRITE || q->flags != (FIRST | LAST) ||
	    q->len != sizeof(struct unic_reth))
		return bad_request(nic, qp, q->psn);
	return unic_responder_known(nic, qp) ? 0 : -UNIC_EAGAIN;
}

/* A packet that does not fit the message in progress, or none. */
static __attribute__((noinline, cold)) int
out_of_place(struct unic_transport *nic, struct unic_qp_ctx *qp,
	     const struct request *q)
{
	if (UNIC_TELL_REFUSED && qp->rsp.msg.kind == UNIC_MSG_TOLD)
		return on_told(nic, qp, q);
	return bad_request(nic, qp, q->psn);
}

/* Bytes that are not payload. */
static uint32_t header_bytes(const struct request *q)
{
	uint32_t n = q->flags & (IMM | INV) ? 4 : 0;

	if (!(q->flags & FIRST))
		return n;
	if (q->kind == UNIC_MSG_WRITE || q->kind == UNIC_MSG_NONE)
		return n + (uint32_t)sizeof(struct unic_reth);
	if (q->kind == UNIC_MSG_TOKEN)
		return n + (uint32_t)sizeof(struct unic_tketh);
	if (UNIC_ATOMICS && q->kind == UNIC_MSG_ATOMIC)
		return (uint32_t)sizeof(struct unic_atomic_eth);
	return n;
}

bool unic_responder_unsupported(struct unic_transport *nic,
				struct unic_qp_ctx *qp,
				const struct unic_pkt *pkt)
{
	int32_t ahead = unic_psn_diff(pkt->psn, qp->rsp.psn);

	if (ahead < 0)
		return false;
	if (ahead)
		ask_for_missing(nic, qp);
	else
		bad_request(nic, qp, pkt->psn);
	return true;
}

int unic_responder_request(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   const struct unic_pkt *pkt)
{
	struct request q = { .at = pkt->ext, .len = pkt->len, .psn = pkt->psn };
	struct unic_msg *m = &qp->rsp.msg;
	uint32_t headers;
	int r;

	if (pkt->opcode >= UNIC_OP_TOKEN_FIRST) {
		q.kind = UNIC_MSG_TOKEN;
		q.flags = token_flags[pkt->opcode & 3];
	} else {
		q.kind = ops[pkt->opcode].kind;
		q.flags = ops[pkt->opcode].flags;
	}
	if (unlikely(pkt->psn != qp->rsp.psn))
		return out_of_order(nic, qp, &q);
	headers = header_bytes(&q);
	if (!in_order(qp, &q) || q.len < headers ||
	    !is_rc_size_ok(qp, &q, q.len - headers))
		return out_of_place(nic, qp, &q);
	r = dispatch_request(nic, qp, &q);
	if (r != -UNIC_EPENDING)
		return r;
	m->kind = q.kind;
	m->bytes = q.len;
	m->last = q.flags & LAST;
	m->with = q.flags & (IMM | INV);
	m->solicited = pkt->solicited;
	m->ackreq = pkt->ackreq;
	nic->qps.roce.rx_sgl.local =
		(uint8_t *)pkt->ext + headers; /* read only, in fact */
	return -UNIC_EPENDING;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ud_uc_rx.c - what arrives on UC and UD, see ud_uc.h. */
#include "transport/ud_uc.h"

#include <string.h>

#include "memory/access.h"
#include "transport/transport.h"
#include "transport/responder_done.h"
#include "transport/rq.h"

#define FIRST (1u << 0)
#define LAST  (1u << 1)
#define IMM   (1u << 2)

/* UC: opcodes of SEND, and as many of WRITE behind them. */
static const uint8_t op_flags[] = {
	FIRST, 0, LAST, LAST | IMM, FIRST | LAST, FIRST | LAST | IMM,
};
#define OPS ((uint32_t)sizeof(op_flags))

/* The packet in hand, its headers being eaten from the front. */
struct ud_uc_packet {
	const uint8_t *at; /* next byte */
	uint32_t len;	   /* left */
	uint32_t psn, ipv4;
	uint8_t kind, flags;
};

static uint32_t ud_uc_pull_be32(struct ud_uc_packet *p)
{
	const unic_be32 *w = (const void *)p->at;

	p->at += 4;
	p->len -= 4;
	return unic_from_be32(UNIC_READ_ONCE(*w));
}

static uint64_t ud_uc_pull_be64(struct ud_uc_packet *p)
{
	uint64_t hi = ud_uc_pull_be32(p);

	return hi << 32 | ud_uc_pull_be32(p);
}

/* ------------------------------------------------------------------ drops */

static int drop_packet(struct unic_transport *nic, enum unic_counter why)
{
	nic->counter[why]++;
	UNIC_TRACE(nic, RX_DROP, 0xffff, why, 0, 0, 0);
	return 0;
}

/* The message in hand comes to nothing; its receive stays posted. */
static void abort_message(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_msg *m = &qp->rsp.msg;
	bool held = m->held;

	m->kind = UNIC_MSG_NONE;
	m->held = false;
	unic_rq_drop_holds(nic, qp);
	qp->rq.picked = false;
	if (held)
		unic_mr_unhold(&nic->memory, m->mr);
}

/* The packet in hand comes to nothing, and its message with it. */
static int drop_message(struct unic_transport *nic, struct unic_qp_ctx *qp,
			enum unic_counter why)
{
	abort_message(nic, qp);
	qp->rsp.psn = unic_psn_add(qp->rsp.psn, 1);
	return drop_packet(nic, why);
}

/* A page is missing, and asked for. */
static int handle_page_miss(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	if (qp->miss == UNIC_QPM_BOUNCE && unic_parked_keep(nic, qp))
		return 0;
	return drop_message(nic, qp, UNIC_C_miss_dropped);
}

/* There is something wrong with the receives of our own process. */
static void receives_failed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    int err)
{
	unic_qp_error(nic, qp,
		      err == -UNIC_EINVAL ? UNIC_WC_LOC_QP_OP_ERR
		      : err == -UNIC_EBUS ? UNIC_WC_LOC_BUS_ERR
					  : UNIC_WC_LOC_PROT_ERR);
}

/* ----------------------------------------------------- which receive it gets */

/* Is each page there that @sgl names? */
static int check_pages_present(struct unic_transport *nic,
			       const struct unic_sgl *sgl)
{
	struct unic_xlate piece;
	struct unic_mr_span s;
	uint32_t i;
	int r;

	for (i = 0; i < sgl->n; i++) {
		s = sgl->span[i];
		while (s.len && unic_mr_cached_at(&nic->memory, s.mr)) {
			r = unic_xlate(&nic->memory, s.mr, s.iova, s.len,
				       &piece);
			if (r)
				return r;
			s.iova += piece.len;
			s.len -= piece.len;
		}
	}
	return 0;
}

/* Describe where @len bytes go in the receive in use. */
static int place_in(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    uint32_t off, uint32_t len)
{
	struct unic_sgl *sgl = &nic->qps.roce.rx_sgl;

	if (off > qp->rq.room || len > qp->rq.room - off)
		return -UNIC_ETOOLARGE;
	unic_rq_span(qp, off, len, sgl);
	return check_pages_present(nic, sgl);
}

/* The receive in turn misses a page: the next one of the window that does not,
 * and is long enough. */
static int pick_substitute(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   uint32_t len)
{
	uint32_t s = qp->rq.head, n;
	int r = -UNIC_EMISS;

	for (n = 0; n < UNIC_RQ_WINDOW; n++) {
		r = unic_rq_pick_from(nic, qp, &s);
		if (!r && qp->rq.room >= qp->rq.class_bytes)
			r = place_in(nic, qp, 0, len);
		else if (!r)
			r = -UNIC_ETOOLARGE;
		if (!r)
			UNIC_COUNT(nic, miss_substituted);
		if (r != -UNIC_EMISS && r != -UNIC_ETOOLARGE)
			break;
	}
	if (r != -UNIC_ENOQP && r != -UNIC_ETOOLARGE)
		return r;
	qp->rq.picked = false;
	return -UNIC_EMISS;
}

/*
 * A receive for a message that begins with @len bytes: it is in use and rx_sgl
 * describes it. 0, -UNIC_EAGAIN; else *@end: what to return, the packet is done
 * with.
 */
static int choose_receive(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  uint32_t len, int *end)
{
	int r = unic_rq_pick(nic, qp, true);
	bool in_use = !r;

	*end = 0;
	if (!r)
		r = place_in(nic, qp, 0, len);
	if (r == -UNIC_EMISS && qp->miss == UNIC_QPM_SUBSTITUTE) {
		r = pick_substitute(nic, qp, len);
		in_use = false;
	}
	switch (-r) {
	case 0:
	case UNIC_EAGAIN:
		break;
	case UNIC_EMISS:
		*end = handle_page_miss(nic, qp);
		break;
	case UNIC_ENOQP:
		*end = drop_message(nic, qp, UNIC_C_unrel_no_receive);
		break;
	case UNIC_ETOOLARGE:
		*end = drop_message(nic, qp, UNIC_C_unrel_too_long);
		break;
	default:
		if (!in_use) /* it has completed with that */
			receives_failed(nic, qp, r);
		else if (!unic_ud_uc_placed(nic, qp, r))
			return -UNIC_EAGAIN;
		break;
	}
	return r;
}

/* --------------------------------------------------------------------- UC */

/*
 * Another PSN than the next: packets were lost, and with them the message that
 * they were of (IBTA 9.8.3.1). The next one that begins is as good as any.
 */
static bool in_message(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       const struct ud_uc_packet *p)
{
	struct unic_rsp *rsp = &qp->rsp;

	if (p->psn != rsp->psn)
		UNIC_COUNT(nic, rx_out_of_seq);
	if (rsp->msg.kind && (p->psn != rsp->psn || (p->flags & FIRST))) {
		UNIC_COUNT(nic, uc_broken);
		abort_message(nic, qp);
	}
	rsp->psn = p->psn;
	return (p->flags & FIRST) || rsp->msg.kind == p->kind;
}

/* All but the last packet are full, only an only one may be empty. */
static bool is_uc_size_ok(const struct unic_qp_ctx *qp,
			  const struct ud_uc_packet *p)
{
	uint32_t mtu = 1u << qp->mtu_shift;

	if (!(p->flags & LAST))
		return p->len == mtu;
	return p->len <= mtu && (p->len || (p->flags & FIRST));
}

static int uc_send(struct unic_transport *nic, struct unic_qp_ctx *qp,
		   const struct ud_uc_packet *p)
{
	struct unic_msg *m = &qp->rsp.msg;
	int r, end;

	if (p->flags & FIRST) {
		r = choose_receive(nic, qp, p->len, &end);
		m->placed = 0;
		if (r)
			return r == -UNIC_EAGAIN ? r : end;
		return -UNIC_EPENDING;
	}
	r = place_in(nic, qp, m->placed, p->len);
	if (r == -UNIC_EMISS)
		return handle_page_miss(nic, qp);
	if (r == -UNIC_ETOOLARGE)
		return drop_message(nic, qp, UNIC_C_unrel_too_long);
	if (r)
		return unic_ud_uc_placed(nic, qp, r) ? 0 : -UNIC_EAGAIN;
	return -UNIC_EPENDING;
}

/* The RETH of a WRITE, and the one access check for all of it. */
static int begin_uc_write(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  struct ud_uc_packet *p)
{
	struct unic_xlate piece = { .mr = UNIC_MR_NIL };
	struct unic_msg *m = &qp->rsp.msg;
	uint64_t va = ud_uc_pull_be64(p);
	uint32_t rkey = ud_uc_pull_be32(p), len = ud_uc_pull_be32(p);
	int r = 0;

	if (len > UNIC_MSG_MAX)
		return -UNIC_EINVAL;
	if (len && !(qp->rights & UNIC_MR_REMOTE_WRITE))
		return -UNIC_ERIGHTS;
	if (len)
		r = unic_access(&nic->memory, rkey, qp->pd,
				UNIC_MR_REMOTE_WRITE, va, len, &piece);
	if (r)
		return r;
	m->iova = va;
	m->left = len;
	m->placed = 0;
	m->mr = piece.mr;
	return 0;
}

/* As RC holds off who guesses keys (key_guard.h); there is no word for it here. */
static int write_refused(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 const struct ud_uc_packet *p, int err)
{
	if (err == -UNIC_EMISS)
		return handle_page_miss(nic, qp);
	if (err == -UNIC_EINVAL)
		return drop_message(nic, qp, UNIC_C_rx_bad_opcode);
	if (unic_key_guard_counts(err)) {
		unic_key_guard_wrong(&nic->memory, p->ipv4, qp->proc);
		qp->rsp.guessed = true;
	}
	return drop_message(nic, qp, UNIC_C_unrel_refused);
}

static bool is_uc_peer_held(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    const struct ud_uc_packet *p)
{
	if (qp->rsp.guessed)
		qp->rsp.guessed =
			unic_key_guard_held(&nic->memory, p->ipv4, qp->proc);
	return qp->rsp.guessed;
}

static int uc_write(struct unic_transport *nic, struct unic_qp_ctx *qp,
		    struct ud_uc_packet *p)
{
	struct unic_sgl *sgl = &nic->qps.roce.rx_sgl;
	struct unic_msg *m = &qp->rsp.msg;
	int r;

	if (p->flags & FIRST) {
		if (is_uc_peer_held(nic, qp, p))
			return drop_message(nic, qp, UNIC_C_unrel_refused);
		r = begin_uc_write(nic, qp, p);
		if (r)
			return write_refused(nic, qp, p, r);
	}
	if (p->flags & IMM) {
		m->imm = ud_uc_pull_be32(p);
		r = unic_rq_pick(nic, qp, false);
		if (r == -UNIC_EAGAIN)
			return r;
		if (r == -UNIC_ENOQP)
			return drop_message(nic, qp, UNIC_C_unrel_no_receive);
		if (r) {
			receives_failed(nic, qp, r);
			return 0;
		}
	}
	if (p->len > m->left || (!!(p->flags & LAST) != (p->len == m->left)))
		return drop_message(nic, qp, UNIC_C_rx_bad_opcode);
	sgl->n = !!p->len;
	sgl->span[0] = (struct unic_mr_span){
		.iova = m->iova,
		.len = p->len,
		.mr = m->mr,
	};
	r = check_pages_present(nic, sgl);
	return r ? write_refused(nic, qp, p, r) : -UNIC_EPENDING;
}

static int receive_uc(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint32_t opcode, struct ud_uc_packet *p)
{
	uint32_t op = opcode - UNIC_OP_UC_SEND_FIRST, headers = 0;

	if (op >= 2 * OPS)
		return drop_packet(nic, UNIC_C_rx_bad_opcode);
	if (qp->bounced && !nic->qps.roce.rx_again)
		return drop_packet(nic,
				   UNIC_C_miss_dropped); /* in order or never */
	p->kind = op < OPS ? UNIC_MSG_SEND : UNIC_MSG_WRITE;
	p->flags = op_flags[op % OPS];
	if (!in_message(nic, qp, p))
		return drop_message(nic, qp, UNIC_C_uc_skipped);
	if (p->kind == UNIC_MSG_WRITE && (p->flags & FIRST))
		headers = sizeof(struct unic_reth);
	if (p->flags & IMM)
		headers += 4;
	if (p->len < headers)
		return drop_message(nic, qp, UNIC_C_rx_short);
	p->len -= headers;
	if (!is_uc_size_ok(qp, p))
		return drop_message(nic, qp, UNIC_C_rx_bad_opcode);
	p->len += headers;
	if (p->kind == UNIC_MSG_WRITE)
		return uc_write(nic, qp, p);
	if (p->flags & IMM)
		qp->rsp.msg.imm = ud_uc_pull_be32(p);
	return uc_send(nic, qp, p);
}

/* --------------------------------------------------------------------- UD */

/*
 * In the receive a datagram begins with 40 bytes, the place of the Global Route
 * Header: 20 bytes of 0 and the IPv4 header (annex A17.4.5.2). They are joined
 * with the payload here, because a transfer has one source.
 */
static uint8_t *join_grh(struct unic_transport *nic,
			 const struct ud_uc_packet *p, const uint8_t *frame)
{
	uint8_t *at = (uint8_t *)nic->qps.datagram;

	memset(at, 0, UNIC_GRH_BYTES - UNIC_IP_BYTES);
	memcpy(at + UNIC_GRH_BYTES - UNIC_IP_BYTES, frame + UNIC_ETH_BYTES,
	       UNIC_IP_BYTES);
	memcpy(at + UNIC_GRH_BYTES, p->at, p->len);
	return at;
}

static int receive_ud(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      uint32_t opcode, struct ud_uc_packet *p)
{
	uint32_t headers = sizeof(struct unic_deth), source;
	struct unic_msg *m = &qp->rsp.msg;
	int r, end;

	if ((opcode | 1) != UNIC_OP_UD_SEND_ONLY_IMM)
		return drop_packet(nic, UNIC_C_rx_bad_opcode);
	p->kind = UNIC_MSG_SEND;
	p->flags = FIRST | LAST | (opcode & 1 ? IMM : 0);
	headers += opcode & 1 ? 4 : 0;
	if (p->len < headers)
		return drop_packet(nic, UNIC_C_rx_short);
	if (ud_uc_pull_be32(p) != qp->qkey)
		return drop_packet(nic, UNIC_C_ud_bad_qkey);
	source = ud_uc_pull_be32(p) & UNIC_QPN_MASK;
	m->imm = p->flags & IMM ? ud_uc_pull_be32(p) : p->ipv4;
	if (p->len > 1u << qp->mtu_shift)
		return drop_packet(nic, UNIC_C_unrel_too_long);
	m->token = source;
	m->placed = 0;
	r = choose_receive(nic, qp, UNIC_GRH_BYTES + p->len, &end);
	if (r)
		return r == -UNIC_EAGAIN ? r : end;
	return -UNIC_EPENDING;
}

/* ------------------------------------------------------------- one packet */

int unic_ud_uc_packet(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      const struct unic_pkt *pkt, const uint8_t *frame)
{
	struct ud_uc_packet p = {
		.at = pkt->ext,
		.len = pkt->len,
		.psn = pkt->psn,
		.ipv4 = pkt->ipv4,
	};
	struct unic_msg *m = &qp->rsp.msg;
	bool is_ud = qp->type == UNIC_QPT_UD;
	int r = is_ud ? receive_ud(nic, qp, pkt->opcode, &p)
		      : receive_uc(nic, qp, pkt->opcode, &p);

	if (r != -UNIC_EPENDING)
		return r;
	m->kind = p.kind;
	m->last = p.flags & LAST;
	m->with = p.flags & IMM;
	m->solicited = pkt->solicited;
	m->bytes = is_ud ? UNIC_GRH_BYTES + p.len : p.len;
	nic->qps.roce.rx_sgl.local = is_ud ? join_grh(nic, &p, frame)
					   : (uint8_t *)p.at;
	return r;
}

/* The completion of a message that takes a receive. */
static bool complete_ud_uc_receive(struct unic_transport *nic,
				   struct unic_qp_ctx *qp,
				   const struct unic_msg *m)
{
	struct unic_cqe cqe = {
		.opcode = m->kind == UNIC_MSG_WRITE ? UNIC_WC_RECV_WRITE_IMM
						    : UNIC_WC_RECV,
		.byte_len = unic_to_le32(m->placed + m->bytes),
	};

	if (m->with)
		cqe.flags |= UNIC_WC_WITH_IMM;
	if (m->solicited)
		cqe.flags |= UNIC_WC_SOLICITED;
	if (qp->type == UNIC_QPT_UD) {
		cqe.flags |= UNIC_WC_GRH;
		cqe.token = unic_to_le32(m->token);
	}
	if (m->with || qp->type == UNIC_QPT_UD)
		cqe.imm = unic_to_le32(m->imm);
	return unic_rq_complete(nic, qp, &cqe);
}

/*
 * The bytes did not arrive where they were to go. What is wrong with the process's
 * own receive ends that, and the queue pair.
 */
static bool ud_uc_place_failed(struct unic_transport *nic,
			       struct unic_qp_ctx *qp, int err)
{
	struct unic_cqe cqe = {
		.opcode = UNIC_WC_RECV,
		.status = err == -UNIC_EBUS ? UNIC_WC_LOC_BUS_ERR
					    : UNIC_WC_LOC_PROT_ERR,
		.detail = unic_qp_detail(err),
	};

	if (err == -UNIC_EMISS) {
		drop_message(nic, qp, UNIC_C_miss_dropped);
	} else if (!qp->rq.picked || err == -UNIC_EEVICTED) {
		drop_message(nic, qp, UNIC_C_unrel_refused);
	} else {
		if (!unic_rq_complete(nic, qp, &cqe))
			return false;
		receives_failed(nic, qp, err);
	}
	return true;
}

bool unic_ud_uc_placed(struct unic_transport *nic, struct unic_qp_ctx *qp,
		       int err)
{
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_msg *m = &rsp->msg;

	if (err)
		return ud_uc_place_failed(nic, qp, err);
	if (m->last && (m->kind == UNIC_MSG_SEND || m->with) &&
	    !complete_ud_uc_receive(nic, qp, m))
		return false;
	if (qp->state == UNIC_QPS_ERR)
		return true; /* its completion queue has failed */
	m->placed += m->bytes;
	m->iova += m->bytes;
	m->left -= m->bytes;
	rsp->psn = unic_psn_add(rsp->psn, 1);
	if (!m->last) {
		unic_responder_keep(nic, qp);
		return true;
	}
	rsp->msn = unic_psn_add(rsp->msn, 1);
	abort_message(nic, qp); /* it has ended; nothing is left but a hold */
	return true;
}

void unic_ud_uc_cut(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_roce *roce = &nic->qps.roce;
	uint16_t mr = unic_responder_holds(qp, &nic->cuts);

	if (mr == UNIC_MR_NIL)
		return;
	if (roce->rx_stage != UNIC_RX_IDLE &&
	    roce->rx_qp == unic_qp_index(nic, qp))
		roce->rx_err = -UNIC_EEVICTED; /* its packet: no piece more */
	UNIC_COUNT(nic, uc_broken);
	abort_message(nic, qp);
	unic_revoked_add(&nic->memory, mr);
}

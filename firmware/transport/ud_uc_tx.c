/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ud_uc_tx.c - sending on UC and UD, see ud_uc.h. */
#include "transport/ud_uc.h"

#include <string.h>

#include "transport/frame.h"
#include "transport/local_ops.h"
#include "transport/transport.h"
#include "transport/sq.h"
#include "transport/sq_done.h"
#include "transport/tx.h"

#define ROUTE_LOOK_NS 100000u /* between looks for an address asked for */
#define QKEY_OWN      0x80000000u

/* ------------------------------------------------------- what may be sent */

static bool is_ud(const struct unic_qp_ctx *qp)
{
	return qp->type == UNIC_QPT_UD;
}

/* Datagram: Q_Key and address are in the place of the address of a WRITE. */
static uint32_t dest_ipv4(const struct unic_sq_slot *slot)
{
	return (uint32_t)unic_from_le64(slot->remote);
}

static uint32_t dest_qkey(const struct unic_qp_ctx *qp,
			  const struct unic_sq_slot *slot)
{
	uint32_t qkey = (uint32_t)(unic_from_le64(slot->remote) >> 32);

	return qkey & QKEY_OWN ? qp->qkey : qkey; /* IBTA 10.2.5 */
}

/* enum unic_wc_detail: what is wrong with a request that is well for RC. QP 0
 * and 1 are for drivers. */
static uint8_t check_ud_uc_request(const struct unic_qp_ctx *qp,
				   const struct unic_sq_slot *slot,
				   const struct unic_wr *wr)
{
	uint32_t qpn = unic_from_le32(slot->rkey), ipv4 = dest_ipv4(slot);
	bool send = slot->opcode == UNIC_WR_SEND ||
		    slot->opcode == UNIC_WR_SEND_IMM;

	if (!send && (is_ud(qp) || (slot->opcode != UNIC_WR_WRITE &&
				    slot->opcode != UNIC_WR_WRITE_IMM)))
		return UNIC_WD_OPCODE;
	if (!is_ud(qp))
		return UNIC_WD_NONE;
	if (wr->npkt != 1)
		return UNIC_WD_LENGTH;
	if (qpn < 2 || qpn > UNIC_QPN_MASK || !unic_arp_unicast(ipv4))
		return UNIC_WD_ADDRESS;
	return UNIC_WD_NONE;
}

/* Make the next request ready. As unic_requester.c does it for RC. */
static enum unic_turn prepare_ud_uc_request(struct unic_transport *nic,
					    struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_wr *wr;
	uint8_t detail;
	int r;

	if (sq->gathering || sq->rnr_wait) {
		unic_local_op_drop(nic, qp); /* others may read their lists */
		return UNIC_TURN_DONE;
	}
	if (unic_sq_skip_ended(sq))
		return UNIC_TURN_MORE;
	r = unic_sq_start(nic, qp);
	if (r == -UNIC_EPENDING)
		return UNIC_TURN_WAIT;
	if (r <= 0)
		return r ? UNIC_TURN_BLOCKED : UNIC_TURN_DONE;
	wr = unic_sq_wr(sq, sq->cur);
	if (wr->state == UNIC_WRS_SENT) {
		detail = check_ud_uc_request(qp, unic_sq_slot(sq, sq->cur), wr);
		if (!detail)
			return UNIC_TURN_MORE;
		unic_sq_withdraw(nic, qp, detail);
	}
	return unic_sq_retire(nic, qp) ? UNIC_TURN_AGAIN : UNIC_TURN_BLOCKED;
}

/* ------------------------------------------------------------- one packet */

/* The packet with sq.psn is on its way, or nothing is to be expected of it. */
static enum unic_turn complete_packet(struct unic_transport *nic,
				      struct unic_qp_ctx *qp)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_wr *wr = unic_sq_wr(sq, sq->cur);

	sq->psn = unic_psn_add(sq->psn, 1);
	sq->psn_max = sq->psn;
	sq->psn_una = sq->psn; /* that is all that will ever be heard of it */
	if (sq->psn == unic_psn_add(wr->psn, wr->npkt))
		sq->cur += unic_sq_slots(sq, sq->cur);
	return unic_sq_retire(nic, qp) ? UNIC_TURN_MORE : UNIC_TURN_BLOCKED;
}

/* What one packet says. */
struct ud_uc_tx_packet {
	uint32_t op_flags; /* opcode << 8 | flags */
	uint32_t ext;	   /* bytes of extension headers */
	uint32_t off, bytes;
};

static void describe_ud_uc_packet(struct unic_qp_ctx *qp, uint8_t *frame,
				  struct ud_uc_tx_packet *p)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_sq_slot *slot = unic_sq_slot(sq, sq->cur);
	const struct unic_wr *wr = unic_sq_wr(sq, sq->cur);
	uint32_t k = unic_psn_add(sq->psn, -wr->psn), op, n = 0;
	uint32_t *w = unic_frame_words(frame) + UNIC_W_EXT;
	bool last = k + 1 == wr->npkt;
	bool write = slot->opcode == UNIC_WR_WRITE ||
		     slot->opcode == UNIC_WR_WRITE_IMM;

	p->off = k << qp->mtu_shift;
	p->bytes = last ? wr->len - p->off : 1u << qp->mtu_shift;
	op = write ? UNIC_OP_UC_WRITE_FIRST : UNIC_OP_UC_SEND_FIRST;
	op += k ? (last ? 2 : 1) : (last ? 4 : 0);
	if (is_ud(qp)) {
		op = UNIC_OP_UD_SEND_ONLY;
		unic_put_word(w, n++, dest_qkey(qp, slot));
		unic_put_word(w, n++, qp->qpn);
	} else if (write && !k) {
		unic_put_reth(w, 0, unic_from_le64(slot->remote),
			      unic_from_le32(slot->rkey), wr->len);
		n = sizeof(struct unic_reth) / 4;
	}
	if (last && (slot->opcode == UNIC_WR_SEND_IMM ||
		     slot->opcode == UNIC_WR_WRITE_IMM)) {
		unic_put_word(w, n++, unic_from_le32(slot->imm));
		op++;
	}
	p->ext = 4 * n;
	p->op_flags = op << 8;
	if (last && (slot->flags & UNIC_WR_SOLICITED))
		p->op_flags |= UNIC_BTH_SOLICITED;
}

static int put_packet(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      struct unic_tx *tx, const struct ud_uc_tx_packet *p)
{
	uint8_t *at = tx->frame + UNIC_EXT_OFF + p->ext;
	struct unic_sq *sq = &qp->sq;

	if (unic_sq_slot(sq, sq->cur)->flags & UNIC_WR_INLINE) {
		unic_sq_inline(sq, sq->cur, at, p->bytes);
	} else {
		tx->sgl.local = at;
		unic_sq_span(sq, sq->cur, p->off, p->bytes, &tx->sgl);
	}
	return unic_tx_put(nic, tx, p->op_flags, sq->psn, p->ext + p->bytes);
}

/* -------------------------------------------------------------- datagrams */

/* The headers of @qp are those of datagrams to where this request goes.
 * -UNIC_EPENDING: its link address is being asked for. */
static int set_destination(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	const struct unic_sq_slot *slot = unic_sq_slot(&qp->sq, qp->sq.cur);
	uint32_t ipv4 = dest_ipv4(slot), qpn = unic_from_le32(slot->rkey);
	uint8_t mac[6];
	int r = unic_arp_find(nic, ipv4, mac);

	if (r)
		return r;
	qp->route_ns = 0;
	if (qp->dest_ipv4 == ipv4 && qp->dest_qpn == qpn &&
	    !memcmp(qp->dest_mac, mac, sizeof(mac)))
		return 0;
	qp->dest_ipv4 = ipv4;
	qp->dest_qpn = qpn;
	memcpy(qp->dest_mac, mac, sizeof(mac));
	unic_roce_template(nic, qp);
	return 0;
}

/* Nobody has said yet where it goes; after a while nobody will. */
static enum unic_turn no_route(struct unic_transport *nic,
			       struct unic_qp_ctx *qp)
{
	if (!qp->route_ns)
		qp->route_ns = nic->now_ns;
	if (nic->now_ns - qp->route_ns >= UNIC_ARP_GIVE_UP_NS) {
		UNIC_COUNT(nic, ud_no_route);
		qp->route_ns = 0;
		return complete_packet(nic, qp);
	}
	qp->sq.rnr_wait = true;
	unic_qp_timer(nic, qp, nic->now_ns + ROUTE_LOOK_NS);
	return UNIC_TURN_DONE;
}

/* ----------------------------------------------------------------- turns */

static enum unic_turn send_ud_uc_packet(struct unic_transport *nic,
					struct unic_qp_ctx *qp, int32_t *left)
{
	struct unic_tx *tx;
	struct ud_uc_tx_packet p;
	int r;

	if (is_ud(qp) && set_destination(nic, qp))
		return no_route(nic, qp);
	tx = unic_tx_get(nic, unic_qp_index(nic, qp), false);
	if (!tx)
		return UNIC_TURN_BLOCKED;
	describe_ud_uc_packet(qp, tx->frame, &p);
	r = put_packet(nic, qp, tx, &p);
	if (r == -UNIC_EAGAIN)
		return UNIC_TURN_BLOCKED;
	if (r && r != -UNIC_EPENDING) {
		unic_requester_not_read(nic, qp, qp->sq.psn, r);
		return r == -UNIC_EMISS ? UNIC_TURN_DONE : UNIC_TURN_MORE;
	}
	*left -= (int32_t)p.bytes;
	*left -= p.bytes == 1u << qp->mtu_shift ? nic->sched.cost
						: nic->sched.cost_last;
	qp->sq.gathering = r; /* sent when that ends */
	return r ? UNIC_TURN_DONE : complete_packet(nic, qp);
}

static enum unic_turn send_next_ud_uc(struct unic_transport *nic,
				      struct unic_qp_ctx *qp, int32_t *left)
{
	enum unic_turn turn = prepare_ud_uc_request(nic, qp);

	if (turn == UNIC_TURN_AGAIN) {
		*left -= (int32_t)nic->sched.cost_last;
		return UNIC_TURN_MORE;
	}
	return turn == UNIC_TURN_MORE ? send_ud_uc_packet(nic, qp, left) : turn;
}

enum unic_turn unic_ud_uc_send(struct unic_transport *nic,
			       struct unic_qp_ctx *qp, int32_t *left)
{
	enum unic_turn turn = UNIC_TURN_MORE;

	/* what could not complete when it was sent */
	if (unic_sq_ended(&qp->sq) && !unic_sq_retire(nic, qp))
		return UNIC_TURN_BLOCKED;
	while (*left > 0 && turn == UNIC_TURN_MORE && unic_qp_sends(qp))
		turn = send_next_ud_uc(nic, qp, left);
	return qp->state == UNIC_QPS_ERR ? UNIC_TURN_MORE : turn;
}

void unic_ud_uc_gathered(struct unic_transport *nic, struct unic_qp_ctx *qp,
			 int err)
{
	if (!err)
		complete_packet(nic, qp);
	else if (err != -UNIC_EAGAIN) /* else it is the next again */
		unic_requester_not_read(nic, qp, qp->sq.psn, err);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fastpath_expect.c - see fastpath_expect.h. */
#include "transport/fastpath_expect.h"

#include "transport/tx.h"

#define RETH_BYTES ((uint32_t)sizeof(struct unic_reth))
#define AETH_BYTES ((uint32_t)sizeof(struct unic_aeth))
#define MIN_BYTES  (UNIC_EXT_OFF + AETH_BYTES + UNIC_ICRC_BYTES)

#define OP_MASK	   0xff4fffffu /* solicited and pad may be anything */
#define OP_WORD(o) ((uint32_t)(o) << 24 | UNIC_PKEY_DEFAULT)

/* As classify_packet(), of what is for fastpath_lone.c if it is alone. */
static bool classify_lone(const struct unic_qp_ctx *qp, uint32_t op,
			  uint32_t body, struct unic_expect *e)
{
	uint32_t mtu = 1u << qp->mtu_shift, ext = 0;
	uint32_t pad = op >> (16 + UNIC_BTH_PAD_SHIFT) & 3;

	switch (op & OP_MASK) {
	case OP_WORD(UNIC_OP_READ_REQUEST):
		e->kind = UNIC_EXPECT_READ;
		e->len = 0;
		return body == RETH_BYTES && !pad &&
		       (qp->rights & UNIC_MR_REMOTE_READ);
	case OP_WORD(UNIC_OP_READ_RESP_ONLY):
		e->kind = UNIC_EXPECT_RESPONSE;
		ext = AETH_BYTES;
		break;
	case OP_WORD(UNIC_OP_SEND_ONLY):
		e->kind = UNIC_EXPECT_SEND;
		if (op >> 16 & UNIC_BTH_SOLICITED)
			return false;
		break;
	default:
		return false;
	}
	e->len = (uint16_t)(body - ext - pad);
	return body > ext + pad && body - ext - pad <= mtu;
}

/*
 * What a packet with this opcode is, and how long its payload, if it has @body
 * bytes behind BTH. False: not for the fast path.
 */
static bool classify_packet(const struct unic_qp_ctx *qp, uint32_t op,
			    uint32_t body, struct unic_expect *e)
{
	uint32_t mtu = 1u << qp->mtu_shift;
	uint32_t pad = op >> (16 + UNIC_BTH_PAD_SHIFT) & 3;
	uint32_t ext = 0;

	switch (op & OP_MASK) {
	case OP_WORD(UNIC_OP_ACK):
		e->kind = UNIC_EXPECT_ACK;
		e->len = 0;
		return body == AETH_BYTES && !pad;
	case OP_WORD(UNIC_OP_WRITE_ONLY):
		e->kind = UNIC_EXPECT_ONLY;
		ext = RETH_BYTES;
		break;
	case OP_WORD(UNIC_OP_WRITE_FIRST):
		e->kind = UNIC_EXPECT_FIRST;
		ext = RETH_BYTES;
		break;
	case OP_WORD(UNIC_OP_WRITE_MIDDLE):
		e->kind = UNIC_EXPECT_MIDDLE;
		break;
	case OP_WORD(UNIC_OP_WRITE_LAST):
		e->kind = UNIC_EXPECT_LAST;
		break;
	default:
		return UNIC_LONE && classify_lone(qp, op, body, e);
	}
	if (body <= ext + pad || body - ext - pad > mtu ||
	    !(qp->rights & UNIC_MR_REMOTE_WRITE))
		return false;
	e->len = (uint16_t)(body - ext - pad);
	return e->len == mtu || e->kind == UNIC_EXPECT_ONLY ||
	       e->kind == UNIC_EXPECT_LAST;
}

/* One that is not like the last of its sort. Is it one of the fast path's, of the
 * peer of @qp, which may receive? Then others like it are expected now. */
static bool update_expect(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  struct unic_expect *e, const struct unic_rx *rx)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t op = unic_get_word(w, UNIC_W_BTH_OP);
	uint32_t ip = rx->len - UNIC_ETH_BYTES;

	e->bytes = UNIC_EXPECT_NOTHING;
	if (qp->state != UNIC_QPS_RTS || (ip & 3) ||
	    !classify_packet(qp, op, rx->len - UNIC_EXT_OFF - UNIC_ICRC_BYTES,
			     e))
		return false;
	e->qp = unic_qp_index(nic, qp);
	unic_roce_length(&qp->tmpl, &e->h, ip);
	unic_put_word(e->h.word, UNIC_W_BTH_OP, op);
	e->bytes = rx->len;
	return unic_headers_same(rx->frame, &e->h);
}

/* Which of unic_qp.expect[]: one for each part of a long message, and one for
 * acknowledgements, so that no stream in either direction learns anew. */
static inline uint32_t expect_index(uint32_t opcode)
{
	switch (opcode) {
	case UNIC_OP_ACK:
	case UNIC_OP_READ_RESP_ONLY:
		return 1;
	case UNIC_OP_WRITE_MIDDLE:
		return 2;
	case UNIC_OP_WRITE_LAST:
		return 3;
	default:
		return 0;
	}
}

__attribute__((noinline)) bool
unic_fastpath_expect_find(struct unic_transport *nic, const struct unic_rx *rx)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	struct unic_expect *e;
	struct unic_qp_ctx *qp;
	uint32_t idx;

	if (rx->len < MIN_BYTES)
		return false;
	idx = unic_get_word(w, UNIC_W_BTH_DQPN) & 0xff;
	if (idx >= UNIC_QPS)
		return false;
	qp = &nic->qps.qp[idx];
	UNIC_IN_REGISTER(qp);
	e = &qp->expect[expect_index(unic_get_word(w, UNIC_W_BTH_OP) >> 24)];
	UNIC_IN_REGISTER(e);
	if (!unic_fastpath_expect_headers(rx, e) &&
	    !update_expect(nic, qp, e, rx))
		return false;
	nic->expected = e;
	return true;
}

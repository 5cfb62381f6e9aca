/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rd_resources.c - READs and atomic operations of a peer, see rd_resources.h. */
#include "transport/rd_resources.h"

#include "memory/access.h"
#include "transport/transport.h"

static int check_read(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      const struct unic_rd_resources_ask *ask, uint16_t *mr)
{
	struct unic_xlate piece = { .mr = UNIC_MR_NIL };
	int r = 0;

	if (ask->len && !(qp->rights & UNIC_MR_REMOTE_READ))
		return -UNIC_ERIGHTS;
	if (ask->len)
		r = unic_access(&nic->memory, ask->rkey, qp->pd,
				UNIC_MR_REMOTE_READ, ask->iova, ask->len,
				&piece);
	*mr = piece.mr;
	return r;
}

static void activate_read(struct unic_transport *nic, struct unic_read *rd,
			  uint16_t mr, uint32_t off)
{
	rd->mr = mr;
	rd->off = off;
	rd->start = off;
	rd->active = true;
	if (mr != UNIC_MR_NIL)
		unic_mr_hold(&nic->memory, mr);
}

static void deactivate_read(struct unic_transport *nic, struct unic_read *rd)
{
	rd->active = false;
	if (rd->mr != UNIC_MR_NIL)
		unic_mr_unhold(&nic->memory, rd->mr);
	rd->mr = UNIC_MR_NIL;
}

/* They are answered oldest first; read[] is in order from rd_next on. None that is
 * active is older than the head, and one is active. */
static __attribute__((noinline)) void find_head(struct unic_qp_ctx *qp)
{
	uint32_t at = qp->rsp.rd_head;

	while (!qp->read[at].active)
		at = (at + 1) % UNIC_QP_READS;
	qp->rsp.rd_head = (uint8_t)at;
}

/*
 * A new one says that the peer has all answers but those of the max_rd - 1
 * before it: what is being answered again for nothing makes room. -UNIC_EAGAIN:
 * a frame of the one to go is being filled.
 */
static int make_room(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_rsp *rsp = &qp->rsp;

	if (!rsp->max_rd)
		return -UNIC_EINVAL;
	while (rsp->rd_active >= rsp->max_rd || qp->read[rsp->rd_next].active) {
		if (!qp->read[rsp->rd_head].again)
			return -UNIC_EINVAL;
		if (rsp->gathering)
			return -UNIC_EAGAIN;
		unic_rd_resources_done(nic, qp);
	}
	return 0;
}

int unic_rd_resources_room(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	return UNIC_ATOMICS ? make_room(nic, qp) : -UNIC_EINVAL;
}

/* The place for a new one, which is to be active when this returns. */
static struct unic_read *take_place(struct unic_transport *nic,
				    struct unic_qp_ctx *qp)
{
	struct unic_rsp *rsp = &qp->rsp;
	uint8_t at = rsp->rd_next;

	rsp->rd_next = (uint8_t)((at + 1) % UNIC_QP_READS);
	if (!rsp->rd_active++)
		rsp->rd_head = at;
	unic_sched_reply(nic, unic_qp_index(nic, qp));
	return &qp->read[at];
}

int unic_rd_resources_take(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   const struct unic_rd_resources_ask *ask)
{
	struct unic_read *rd;
	uint16_t mr;
	int r = make_room(nic, qp);

	if (r)
		return r;
	if (ask->len > UNIC_MSG_MAX)
		return -UNIC_EINVAL;
	r = check_read(nic, qp, ask, &mr);
	if (r)
		return r;
	rd = take_place(nic, qp);
	*rd = (struct unic_read){
		.iova = ask->iova,
		.rkey = ask->rkey,
		.len = ask->len,
		.psn = ask->psn,
		.npkt = unic_packets(ask->len, qp->mtu_shift),
	};
	rd->end = rd->npkt;
	activate_read(nic, rd, mr, 0);
	return 0;
}

void unic_rd_resources_answered(struct unic_qp_ctx *qp,
				const struct unic_rd_resources_ask *ask)
{
	struct unic_rsp *rsp = &qp->rsp;
	struct unic_read *rd = &qp->read[rsp->rd_next];

	rsp->rd_next = (uint8_t)((rsp->rd_next + 1u) % UNIC_QP_READS);
	rd->iova = ask->iova;
	rd->rkey = ask->rkey;
	rd->len = ask->len;
	rd->psn = ask->psn;
	rd->npkt = 1;
	rd->atomic = false;
	/* the rest is of those that are owed */
}

void unic_rd_resources_atomic(struct unic_transport *nic,
			      struct unic_qp_ctx *qp, uint32_t psn,
			      uint64_t was)
{
	struct unic_read *rd;

	if (!UNIC_ATOMICS)
		return;
	rd = take_place(nic, qp);
	*rd = (struct unic_read){
		.atomic = true,
		.was = was,
		.psn = psn,
		.npkt = 1,
	};
	activate_read(nic, rd, UNIC_MR_NIL, 0);
}

/* The newest record that has @psn: of older ones the PSNs may have gone round. */
static struct unic_read *find_read(struct unic_qp_ctx *qp, uint32_t psn)
{
	uint32_t i;

	for (i = 1; i <= UNIC_QP_READS; i++) {
		struct unic_read *rd =
			&qp->read[(qp->rsp.rd_next + UNIC_QP_READS - i) %
				  UNIC_QP_READS];

		if (unic_psn_diff(psn, rd->psn) >= 0 &&
		    unic_psn_diff(psn, rd->psn + rd->npkt) < 0)
			return rd;
	}
	return NULL;
}

/* Answer packets @off to @end of @rd once more. */
static void rewind_to(struct unic_transport *nic, struct unic_qp_ctx *qp,
		      struct unic_read *rd, uint16_t mr, uint32_t off,
		      uint32_t end)
{
	struct unic_rsp *rsp = &qp->rsp;

	if (rd->active)
		deactivate_read(nic, rd);
	else
		rsp->rd_active++;
	activate_read(nic, rd, mr, off);
	rd->end = end;
	rd->again = true;
	rsp->rd_head = rsp->rd_next;
	find_head(qp);
	unic_sched_reply(nic, unic_qp_index(nic, qp));
}

/* Are these bytes of @rd, from @skip on, to its end or to that of a packet? */
static bool is_part(const struct unic_qp_ctx *qp, const struct unic_read *rd,
		    const struct unic_rd_resources_ask *ask, uint32_t skip)
{
	uint32_t left = rd->len - skip;

	if (ask->rkey != rd->rkey || ask->iova != rd->iova + skip)
		return false;
	return ask->len == left || (ask->len - 1 < left &&
				    !(ask->len & ((1u << qp->mtu_shift) - 1)));
}

int unic_rd_resources_again(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    const struct unic_rd_resources_ask *ask)
{
	struct unic_read *rd = find_read(qp, ask->psn);
	uint32_t k, skip;
	uint16_t mr;
	int r;

	if (!rd || rd->atomic)
		return 0;
	k = unic_psn_add(ask->psn, -rd->psn);
	skip = k << qp->mtu_shift;
	if (!is_part(qp, rd, ask, skip) || qp->rsp.gathering)
		return 0;
	r = check_read(nic, qp, ask, &mr);
	if (!r)
		rewind_to(nic, qp, rd, mr, k,
			  k + unic_packets(ask->len, qp->mtu_shift));
	return r;
}

void unic_rd_resources_atomic_again(struct unic_transport *nic,
				    struct unic_qp_ctx *qp, uint32_t psn)
{
	struct unic_read *rd = UNIC_ATOMICS ? find_read(qp, psn) : NULL;

	if (rd && rd->atomic && !qp->rsp.gathering)
		rewind_to(nic, qp, rd, UNIC_MR_NIL, 0, 1);
}

void unic_rd_resources_done(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_rsp *rsp = &qp->rsp;

	deactivate_read(nic, &qp->read[rsp->rd_head]);
	if (--rsp->rd_active)
		find_head(qp);
}

void unic_rd_resources_drop(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	while (qp->rsp.rd_active)
		unic_rd_resources_done(nic, qp);
}

uint16_t unic_rd_resources_hold(const struct unic_qp_ctx *qp,
				const struct unic_cuts *cuts)
{
	uint32_t at = qp->rsp.rd_head, left = qp->rsp.rd_active;

	for (; left; at = (at + 1) % UNIC_QP_READS) {
		if (!qp->read[at].active)
			continue;
		if (unic_cuts_has(cuts, qp->read[at].mr))
			return qp->read[at].mr;
		left--;
	}
	return UNIC_MR_NIL;
}

uint32_t unic_rd_resources_oldest(const struct unic_qp_ctx *qp)
{
	const struct unic_rsp *rsp = &qp->rsp;
	const struct unic_read *rd = &qp->read[rsp->rd_head];

	if (!rsp->rd_active)
		return rsp->psn;
	/* a response being gathered is not sent */
	return unic_psn_add(rd->psn, rd->off - rsp->gathering);
}

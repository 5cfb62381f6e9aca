/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* replay.c - see replay.h. */
#include "replay.h"

#include "cq.h"
#include "desc.h"
#include "doorbell.h"

#define FATE_NONE    0	   /* the NIC has not completed it */
#define FATE_DONE    0xffu /* the peer has had it, or it was carried out here */
#define FATE_REFUSED 0xfeu /* EVICTED before it began: it never arrives */

bool unic_replay_counts(uint8_t opcode)
{
	return opcode == UNIC_WR_SEND || opcode == UNIC_WR_SEND_IMM ||
	       opcode == UNIC_WR_SEND_INV || opcode == UNIC_WR_WRITE_IMM ||
	       opcode == UNIC_WR_TOKEN;
}

/* True if @opcode does its work at this end: that the peer has had what is behind it
 * does not say that it is done. */
static bool is_local(uint8_t opcode)
{
	return opcode == UNIC_WR_READ || opcode == UNIC_WR_BIND_MW ||
	       opcode == UNIC_WR_LOCAL_INV || opcode == UNIC_WR_REG_MR ||
	       opcode == UNIC_WR_REG_INDIRECT ||
	       opcode == UNIC_WR_COMPARE_SWAP || opcode == UNIC_WR_FETCH_ADD;
}

static struct unic_shadow *outstanding(struct unic_ring *ring, uint64_t pos)
{
	struct unic_shadow *s = &ring->shadow[pos & ring->mask];
	uint32_t posted = __atomic_load_n(&ring->posted, __ATOMIC_ACQUIRE);

	if (pos > UINT32_MAX ||
	    (uint32_t)pos - ring->done >= posted - ring->done || !s->slots)
		return NULL;
	return s;
}

static uint8_t opcode_at(const struct unic_ring *sq, uint32_t pos)
{
	const struct unic_sq_slot *slot = sq->slot;

	return slot[pos & sq->mask].opcode;
}

static uint8_t fate_of(const struct unic_cqe *cqe)
{
	if (!cqe->status)
		return FATE_DONE;
	if (cqe->status == UNIC_WC_EVICTED && cqe->detail != UNIC_WD_BUSY)
		return FATE_REFUSED;
	return cqe->status;
}

bool unic_replay_hold_send(struct unic_ring *sq, const struct unic_cqe *cqe)
{
	uint64_t pos = unic_from_le64(cqe->wr_id);
	struct unic_shadow *s = outstanding(sq, pos);

	if (!s)
		return false;
	s->fate = fate_of(cqe);
	if (sq->held)
		return true;
	sq->held = true;
	sq->sent = s->nth - unic_replay_counts(opcode_at(sq, (uint32_t)pos)) -
		   sq->failed;
	__atomic_store_n(&sq->done, (uint32_t)pos, __ATOMIC_RELEASE);
	return true;
}

bool unic_replay_hold_recv(struct unic_ring *rq, uint64_t pos)
{
	struct unic_shadow *s = outstanding(rq, pos);

	if (!s)
		return false;
	s->fate = UNIC_WC_WR_FLUSH_ERR;
	return true;
}

bool unic_replay_holds(const struct unic_ring *ring)
{
	const struct unic_shadow *s = &ring->shadow[ring->done & ring->mask];
	uint32_t posted = __atomic_load_n(&ring->posted, __ATOMIC_ACQUIRE);

	return ring->done != posted && s->slots && s->fate != FATE_NONE;
}

/* --------------------------------------------------------------------- steps */

static void set_hold(struct unic_ring *ring, bool hold)
{
	pthread_mutex_lock(&ring->lock);
	ring->hold = hold;
	pthread_mutex_unlock(&ring->lock);
}

void unic_replay_hold(struct unic_qp *qp)
{
	set_hold(&qp->sq, true);
	set_hold(&qp->rq, true);
}

void unic_replay_forget(struct unic_qp *qp)
{
	set_hold(&qp->sq, false);
	set_hold(&qp->rq, false);
}

/* The lock of the CQ of @ring, with that of @ring inside. */
static void lock_ring(struct unic_cq *cq, struct unic_ring *ring)
{
	pthread_mutex_lock(&cq->lock);
	pthread_mutex_lock(&ring->lock);
}

static void unlock_ring(struct unic_cq *cq, struct unic_ring *ring)
{
	pthread_mutex_unlock(&ring->lock);
	pthread_mutex_unlock(&cq->lock);
}

static bool is_settled(struct unic_cq *cq, struct unic_ring *ring)
{
	bool settled = true;
	uint32_t pos;

	lock_ring(cq, ring);
	for (pos = ring->done; (int32_t)(ring->rung - pos) > 0; pos++) {
		const struct unic_shadow *s = &ring->shadow[pos & ring->mask];

		settled &= !s->slots || s->fate != FATE_NONE;
	}
	unlock_ring(cq, ring);
	return settled;
}

bool unic_replay_settled(struct unic_qp *qp)
{
	return is_settled(qp->send_cq, &qp->sq) &&
	       is_settled(qp->recv_cq, &qp->rq);
}

/* The number of messages among what is held back, each with its own. */
static void count_sends(struct unic_ring *sq)
{
	uint32_t pos;

	sq->sends = sq->sent;
	sq->failed = 0;
	for (pos = sq->done; pos != sq->posted; pos++) {
		struct unic_shadow *s = &sq->shadow[pos & sq->mask];

		if (!s->slots)
			continue;
		sq->sends += unic_replay_counts(opcode_at(sq, pos));
		s->nth = sq->sends;
	}
}

/* wr_id of a slot of either ring is its own number. */
static void number_slot(struct unic_ring *ring, bool recv, uint32_t pos)
{
	struct unic_sq_slot *sq = ring->slot;
	struct unic_rq_slot *rq = ring->slot;

	if (recv)
		rq[pos].wr_id = unic_to_le64(pos);
	else
		sq[pos].wr_id = unic_to_le64(pos);
}

/* Move what is held back to the beginning of @ring. What it covers is in the spare
 * copy. */
static uint32_t compact(struct unic_ring *ring, bool recv)
{
	uint8_t *slot = ring->slot, *spare = ring->spare_slot;
	uint32_t pos, n = 0, i;

	for (pos = ring->done; pos != ring->posted; pos++) {
		struct unic_shadow *s = &ring->shadow[pos & ring->mask];

		if (!s->slots)
			continue;
		if ((int32_t)(ring->rung - pos) > 0 && s->fate == FATE_NONE)
			s->fate = UNIC_WC_WR_FLUSH_ERR; /* without a word */
		ring->spare[n] = *s;
		for (i = 0; i < s->slots; i++, n++)
			memcpy(spare + n * UNIC_SLOT_BYTES,
			       slot + (size_t)((pos + i) & ring->mask) *
					       UNIC_SLOT_BYTES,
			       UNIC_SLOT_BYTES);
		if (s->slots > 1)
			ring->spare[n - 1].slots = 0;
	}
	memset(ring->shadow, 0, (ring->mask + 1) * sizeof(*ring->shadow));
	memcpy(ring->shadow, ring->spare, n * sizeof(*ring->shadow));
	memcpy(slot, spare, (size_t)n * UNIC_SLOT_BYTES);
	for (i = 0; i < n; i++)
		if (ring->shadow[i].slots)
			number_slot(ring, recv, i);
	return n;
}

/* The ring begins with what is held back; its locks are held. */
static void rewind_ring(struct unic_qp *qp, bool recv)
{
	struct unic_ring *ring = recv ? &qp->rq : &qp->sq;
	struct unic_db_tail *tail = &qp->ctx->db->tail[qp->db];
	uint32_t n = compact(ring, recv), i;

	__atomic_store_n(&ring->done, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&ring->posted, n, __ATOMIC_RELEASE);
	if (!recv)
		count_sends(ring);
	/* receives are posted at once: their old fate is over */
	for (i = 0; recv && i < n; i++)
		ring->shadow[i].fate = FATE_NONE;
	ring->held = false;
	ring->rung = recv ? n : 0;
	/* The NIC takes the counts when it leaves RESET. */
	unic_store_release(recv ? &tail->rq : &tail->sq, ring->rung);
}

static void rewind_one(struct unic_qp *qp, bool recv)
{
	struct unic_cq *cq = recv ? qp->recv_cq : qp->send_cq;
	struct unic_ring *ring = recv ? &qp->rq : &qp->sq;

	lock_ring(cq, ring);
	rewind_ring(qp, recv);
	unlock_ring(cq, ring);
}

void unic_replay_rewind(struct unic_qp *qp)
{
	rewind_one(qp, false);
	rewind_one(qp, true);
}

/* --------------------------------------------------------------- what arrived */

static uint32_t bytes_of(const struct unic_sq_slot *base,
			 const struct unic_sq_ext *ext)
{
	uint32_t n = base->inline_len;
	unsigned int i;

	if (base->opcode != UNIC_WR_READ && is_local(base->opcode))
		return 0; /* what it has is a list */
	for (i = 0; i < base->num_sge; i++)
		n += unic_from_le32(
			i < UNIC_SQ_SGE_BASE
				? base->sge[i].len
				: ext->sge[i - UNIC_SQ_SGE_BASE].len);
	return n;
}

/* The request at @pos becomes a WRITE of nothing, in one slot, which completes in its
 * place and under its name. */
static void make_empty(struct unic_ring *sq, uint32_t pos)
{
	struct unic_sq_slot *slot = sq->slot, *base = &slot[pos & sq->mask];
	const struct unic_sq_ext *ext = (void *)&slot[(pos + 1) & sq->mask];
	struct unic_shadow *s = &sq->shadow[pos & sq->mask];

	if (!s->as) {
		s->as = (uint8_t)unic_wc_of_wr(base->opcode);
		s->bytes = bytes_of(base, ext);
	}
	s->slots = 1;
	base->opcode = UNIC_WR_WRITE;
	base->flags &= (uint8_t)~UNIC_WR_INLINE;
	base->num_sge = 0;
	base->inline_len = 0;
	base->imm = unic_to_le32(0);
	base->remote = unic_to_le64(0);
	base->rkey = unic_to_le32(0);
	base->ctrl_len = unic_to_le32(0);
}

/* All up to the message that is number @last has arrived, but for what was refused: the
 * NIC sent what is behind that, and refuses it again. */
static void mark_arrived(struct unic_ring *sq, uint32_t last)
{
	uint32_t pos;

	for (pos = 0; pos != sq->posted && sq->sent != last; pos++) {
		struct unic_shadow *s = &sq->shadow[pos & sq->mask];
		uint8_t opcode = opcode_at(sq, pos);

		if (!s->slots || s->fate == FATE_REFUSED)
			continue;
		sq->sent += unic_replay_counts(opcode);
		if (is_local(opcode))
			continue;
		s->fate = FATE_DONE;
	}
}

static void empty_done(struct unic_ring *sq)
{
	uint32_t pos;

	for (pos = 0; pos != sq->posted; pos++) {
		const struct unic_shadow *s = &sq->shadow[pos & sq->mask];

		if (s->slots && s->fate == FATE_DONE)
			make_empty(sq, pos);
	}
}

/* A WRITE or READ whose STag the peer has taken back would only be cut again: it
 * completes in its place, and is not sent. */
static void empty_ended(struct unic_qp *qp)
{
	struct unic_ring *sq = &qp->sq;
	struct unic_sq_slot *slot = sq->slot;
	uint32_t pos;

	for (pos = 0; pos != sq->posted; pos++) {
		struct unic_shadow *s = &sq->shadow[pos & sq->mask];
		struct unic_sq_slot *base = &slot[pos & sq->mask];

		if (!s->slots || s->as || unic_replay_counts(base->opcode) ||
		    !unic_desc_names(base->opcode) ||
		    !unic_desc_ended(qp, unic_from_le32(base->rkey)))
			continue;
		make_empty(sq, pos);
		s->gone = true;
		base->flags |= UNIC_WR_SIGNALED;
	}
}

bool unic_replay_resolve(struct unic_qp *qp, uint32_t received)
{
	struct unic_ring *sq = &qp->sq;
	bool can_be;

	lock_ring(qp->send_cq, sq);
	can_be = received - sq->sent <= sq->sends - sq->sent;
	if (can_be) {
		mark_arrived(sq, received);
		if (qp->mend.how == UNIC_QP_CUT_REPLAY) {
			empty_done(sq);
			empty_ended(qp);
		}
		rewind_ring(qp, false);
	}
	unlock_ring(qp->send_cq, sq);
	return can_be;
}

/* ------------------------------------------------------------------ reporting */

static uint8_t status_of(uint8_t fate)
{
	switch (fate) {
	case FATE_NONE:
		return UNIC_WC_WR_FLUSH_ERR;
	case FATE_REFUSED:
		return UNIC_WC_EVICTED;
	default:
		return fate;
	}
}

/* The completion of the request at @pos. False: it has none. */
static bool build_wc(struct unic_qp *qp, bool recv, uint32_t pos,
		     struct unic_wc *wc)
{
	const struct unic_ring *ring = recv ? &qp->rq : &qp->sq;
	const struct unic_shadow *s = &ring->shadow[pos & ring->mask];
	const struct unic_sq_slot *slot = ring->slot;
	const struct unic_sq_slot *base = &slot[pos & ring->mask];
	bool done = s->fate == FATE_DONE || s->as;

	*wc = (struct unic_wc){
		.wr_id = s->wr_id,
		.qp = qp,
		.opcode = recv	  ? UNIC_WC_RECV
			  : s->as ? s->as
				  : unic_wc_of_wr(base->opcode),
		.status = s->gone ? UNIC_WC_REM_EVICTED
			  : done  ? UNIC_WC_SUCCESS
				  : status_of(s->fate),
	};
	if (done && !recv && !s->gone)
		wc->byte_len = s->as ? s->bytes
				     : bytes_of(base, (const void *)(base + 1));
	return recv || !done || base->flags & UNIC_WR_SIGNALED;
}

/* True if the NIC was told of the request at @pos. */
static bool was_told(const struct unic_ring *ring, bool recv, uint32_t pos)
{
	if (recv)
		return (int32_t)(ring->rung - pos) > 0;
	return ring->shadow[pos & ring->mask].fate != FATE_NONE;
}

static void report_ring(struct unic_qp *qp, bool recv, bool all)
{
	struct unic_cq *cq = recv ? qp->recv_cq : qp->send_cq;
	struct unic_ring *ring = recv ? &qp->rq : &qp->sq;
	struct unic_wc wc;
	uint32_t pos;

	lock_ring(cq, ring);
	for (pos = ring->done; pos != ring->posted; pos++) {
		struct unic_shadow *s = &ring->shadow[pos & ring->mask];

		if (!s->slots || (!all && !was_told(ring, recv, pos)))
			continue;
		if (build_wc(qp, recv, pos, &wc))
			unic_cq_left(cq, &wc);
		s->slots = 0;
	}
	rewind_ring(qp, recv);
	unlock_ring(cq, ring);
	unic_wake(qp->ctx);
}

void unic_replay_report_sends(struct unic_qp *qp, bool all)
{
	report_ring(qp, false, all);
}

void unic_replay_report_recvs(struct unic_qp *qp, bool all)
{
	report_ring(qp, true, all);
}

/* ------------------------------------------------------------------- going on */

static void go_on(struct unic_qp *qp, bool recv)
{
	struct unic_cq *cq = recv ? qp->recv_cq : qp->send_cq;
	struct unic_ring *ring = recv ? &qp->rq : &qp->sq;
	uint32_t pos;

	lock_ring(cq, ring);
	for (pos = 0; !recv && pos != ring->posted; pos++)
		ring->shadow[pos].fate = FATE_NONE;
	ring->hold = false;
	if (ring->rung != ring->posted) {
		ring->rung = ring->posted;
		unic_db_ring(qp->ctx, recv ? UNIC_DB_RQ : UNIC_DB_SQ, qp->db,
			     ring->posted);
	}
	unlock_ring(cq, ring);
}

void unic_replay_go(struct unic_qp *qp)
{
	go_on(qp, true);
	go_on(qp, false);
}

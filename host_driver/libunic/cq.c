/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cq.c - completion queues: reading the records of the NIC, and sleeping for them.
 *
 * Secret: the record protocol (record n is valid when seq == n + 1), and the checks of
 * each field of a record against the requests posted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "cq.h"
#include "desc.h"
#include "doorbell.h"
#include "event.h"
#include "fork.h"
#include "mend.h"
#include "mr.h"
#include "replay.h"

/* Queue pair number of a record whose queue pair is destroyed or was reset. The NIC gives
 * none to it. */
#define QPN_DROPPED UINT32_MAX

static uint32_t seq_of(const struct unic_cqe *cqe)
{
	return unic_load_acquire(&cqe->seq);
}

static struct unic_cqe *valid_cqe(struct unic_cqe *ring, uint32_t mask,
				  uint32_t n)
{
	return seq_of(&ring[n & mask]) == n + 1 ? &ring[n & mask] : NULL;
}

/* Record @n, in the ring of @cq or in the one that it is about to have. NULL: it is not
 * written yet. */
static struct unic_cqe *find_cqe(const struct unic_cq *cq, uint32_t n)
{
	struct unic_cqe *at = valid_cqe(cq->ring, cq->mask, n);

	return at || !cq->next.ring
		       ? at
		       : valid_cqe(cq->next.ring, cq->next.mask, n);
}

/* Copy the next record, which is at @at, to @out, and give its place back to the NIC. */
static void consume_cqe(struct unic_cq *cq, const struct unic_cqe *at,
			struct unic_cqe *out)
{
	memcpy(out, at, sizeof(*out));
	cq->ci++;
	unic_store_release(&cq->ctx->db->tail[cq->db].cq_ci, cq->ci);
}

bool unic_ring_complete(struct unic_ring *ring, uint64_t pos, bool in_order,
			uint64_t *wr_id)
{
	uint32_t posted = __atomic_load_n(&ring->posted, __ATOMIC_ACQUIRE);
	uint32_t done = ring->done;
	struct unic_shadow *s = &ring->shadow[pos & ring->mask];

	if (pos > UINT32_MAX || (uint32_t)pos - done >= posted - done ||
	    !s->slots)
		return false;
	*wr_id = s->wr_id;
	if (in_order)
		done = (uint32_t)pos + s->slots;
	s->slots = 0;
	/* Receives may complete out of order: slots are free up to the oldest
	 * receive that has not completed. */
	while (!in_order && done != posted &&
	       !ring->shadow[done & ring->mask].slots)
		done++;
	__atomic_store_n(&ring->done, done, __ATOMIC_RELEASE);
	return true;
}

static struct unic_qp *search_qp(const struct unic_cq *cq, uint32_t qpn)
{
	unsigned int i;

	for (i = 0; i < cq->n_qp; i++) {
		if (cq->qp[i]->qpn == qpn)
			return cq->qp[i];
	}
	return NULL;
}

/* The low bits of numbers are places in the NIC's table, so those of its queue pairs differ. */
static struct unic_qp *find_qp(struct unic_cq *cq, uint32_t qpn)
{
	struct unic_qp **last = &cq->last[qpn % UNIC_DB_OBJECTS];

	if (!*last || (*last)->qpn != qpn)
		*last = search_qp(cq, qpn);
	return *last;
}

/* Of a queue pair that is to be mended: note what arrived, and let a request that was
 * made empty complete as what it was. @s: of the request. */
static void note_message(struct unic_qp *qp, bool recv,
			 const struct unic_cqe *cqe,
			 const struct unic_shadow *s, struct unic_wc *wc)
{
	const struct unic_sq_slot *slot = qp->sq.slot;
	uint64_t pos = unic_from_le64(cqe->wr_id);
	bool lost;

	if (recv) {
		if (!cqe->status)
			__atomic_add_fetch(&qp->mend.received, 1,
					   __ATOMIC_RELAXED);
		return;
	}
	if (!cqe->status)
		__atomic_add_fetch(&qp->mend.completed, 1, __ATOMIC_RELAXED);
	lost = cqe->status &&
	       unic_replay_counts(slot[pos & qp->sq.mask].opcode);
	qp->sq.failed += lost;
	qp->sq.sent = s->nth - qp->sq.failed;
	if (s->as) {
		wc->opcode = s->as;
		wc->byte_len = cqe->status || s->gone ? 0 : s->bytes;
		if (!cqe->status && s->gone)
			wc->status = UNIC_WC_REM_EVICTED;
	}
}

/* The request at @pos completes REM_EVICTED. */
static void note_evicted(struct unic_qp *qp, uint32_t pos)
{
	const struct unic_sq_slot *ring = qp->sq.slot;
	const struct unic_sq_slot *slot = &ring[pos & qp->sq.mask];

	if (unic_desc_names(slot->opcode))
		unic_desc_evicted(qp, unic_from_le32(slot->rkey));
}

/* Parse @cqe into @wc. 1; 0: it is held back; -1: the record is invalid. */
static int parse_cqe(struct unic_cq *cq, const struct unic_cqe *cqe,
		     struct unic_wc *wc)
{
	bool recv = cqe->opcode >= UNIC_WC_RECV;
	struct unic_qp *qp = find_qp(cq, unic_from_le32(cqe->qpn) & 0xffffff);
	uint64_t pos = unic_from_le64(cqe->wr_id);
	struct unic_shadow s = { 0 };
	struct unic_ring *ring;
	int held;

	if (!qp || (recv ? qp->recv_cq : qp->send_cq) != cq)
		return -1;
	ring = recv ? &qp->rq : &qp->sq;
	if (qp->mend.how) {
		s = ring->shadow[pos & ring->mask];
		held = unic_mend_takes(qp, recv, cqe);
		if (held)
			return held < 0 ? -1 : 0;
	}
	if (!unic_ring_complete(ring, pos, !recv, &wc->wr_id)) {
		if (!recv || !qp->srq)
			return -1;
		wc->wr_id = pos; /* as it was posted */
	}
	if (!recv && cqe->status == UNIC_WC_REM_EVICTED)
		note_evicted(qp, (uint32_t)pos);
	wc->qp = qp;
	wc->byte_len = unic_from_le32(cqe->byte_len);
	wc->imm = unic_from_le32(cqe->imm);
	wc->token = unic_from_le32(cqe->token);
	wc->opcode = cqe->opcode;
	wc->status = cqe->status;
	wc->flags = cqe->flags;
	wc->detail = cqe->detail;
	if (qp->mend.how)
		note_message(qp, recv, cqe, &s, wc);
	return 1;
}

int unic_poll_cq(struct unic_cq *cq, unsigned int n, struct unic_wc *wc)
{
	unsigned int got = 0;
	unsigned int bad = 0;
	const struct unic_cqe *at;
	struct unic_cqe cqe;
	bool waits = false;
	int good;

	if (cq->ctx->forked)
		return unic_fail_forked();
	pthread_mutex_lock(&cq->lock);
	while (got < n && cq->next_left < cq->n_left)
		wc[got++] = cq->left[cq->next_left++];
	while (got < n && bad <= cq->mask && (at = find_cqe(cq, cq->ci))) {
		consume_cqe(cq, at, &cqe);
		good = parse_cqe(cq, &cqe, &wc[got]);
		if (good > 0)
			waits |= unic_desc_waits(wc[got++].qp);
		bad += good < 0 && unic_from_le32(cqe.qpn) != QPN_DROPPED;
	}
	pthread_mutex_unlock(&cq->lock);
	if (bad)
		__atomic_add_fetch(&cq->ctx->count.cqe_bad, bad,
				   __ATOMIC_RELAXED);
	if (waits)
		unic_desc_completed(cq->ctx);
	if (bad && !got)
		return unic_fail(-EPROTO,
				 "the NIC wrote %u completions for nothing "
				 "that was posted; they were skipped",
				 bad);
	return (int)got;
}

/* Arm @cq for record @number, and later ones. */
static void arm_cq(struct unic_cq *cq, uint32_t number, bool solicited_only)
{
	uint32_t arm = (number & 0x7fffffff) | (solicited_only ? 1u << 31 : 0);

	unic_db_ring(cq->ctx, UNIC_DB_ARM, cq->db, arm);
}

/* The number of the next record that the NIC writes to @cq. */
static uint32_t next_written(const struct unic_cq *cq)
{
	uint32_t n = cq->ci;

	while (find_cqe(cq, n))
		n++;
	return n;
}

int unic_cq_arm_next(struct unic_cq *cq, bool solicited_only)
{
	if (cq->ctx->forked)
		return unic_fail_forked();
	pthread_mutex_lock(&cq->lock);
	arm_cq(cq, next_written(cq), solicited_only);
	pthread_mutex_unlock(&cq->lock);
	return 0;
}

int unic_req_notify(struct unic_cq *cq, bool solicited_only)
{
	int there;

	if (cq->ctx->forked)
		return unic_fail_forked();
	pthread_mutex_lock(&cq->lock);
	arm_cq(cq, cq->ci, solicited_only);
	/* Arm before reading: a record written before the arming is seen here,
	 * a later one rings. */
	there = cq->next_left < cq->n_left || find_cqe(cq, cq->ci);
	pthread_mutex_unlock(&cq->lock);
	return there;
}

/* True if the NIC writes nothing to @cq any more. It answers each arming of such a queue,
 * so whoever waits is awake. */
static bool has_failed(struct unic_cq *cq)
{
	unic_event_pump(cq->ctx);
	return __atomic_load_n(&cq->overrun, __ATOMIC_ACQUIRE);
}

int unic_wait_cq(struct unic_cq *cq, int timeout_ms)
{
	int64_t until = timeout_ms < 0 ? -1
				       : (int64_t)unic_now_ns() +
						 timeout_ms * 1000000ll;
	uint32_t seq;
	int err;

	for (;;) {
		seq = unic_wake_seq(cq->ctx);
		err = unic_req_notify(cq, false);
		if (err)
			return err < 0 ? err : 0;
		if (has_failed(cq))
			return unic_fail(-EIO, "the completion queue has "
					       "failed (UNIC_EV_CQ_ERROR)");
		err = unic_wake_wait(cq->ctx, seq, until);
		if (err == -ETIME)
			return unic_fail(err, "no completion within %d ms",
					 timeout_ms);
		if (err)
			return unic_fail_dead(cq->ctx);
	}
}

int unic_cq_fd(struct unic_ctx *ctx)
{
	return ctx->evt_efd;
}

void unic_cq_add_qp(struct unic_cq *cq, struct unic_qp *qp)
{
	pthread_mutex_lock(&cq->lock);
	cq->users++;
	if (!find_qp(cq, qp->qpn))
		cq->qp[cq->n_qp++] = qp;
	pthread_mutex_unlock(&cq->lock);
}

/* Unread completions of @qp, for which the NIC writes no more, are skipped. */
static void drop_completions(struct unic_cq *cq, const struct unic_qp *qp)
{
	uint32_t pos = cq->ci;
	unsigned int i, kept;

	for (i = kept = cq->next_left; i < cq->n_left; i++)
		if (cq->left[i].qp != qp)
			cq->left[kept++] = cq->left[i];
	cq->n_left = kept;
	for (; pos - cq->ci <= (cq->mask | cq->next.mask); pos++) {
		struct unic_cqe *cqe = find_cqe(cq, pos);

		if (!cqe)
			return;
		if ((unic_from_le32(cqe->qpn) & 0xffffff) == qp->qpn)
			cqe->qpn = unic_to_le32(QPN_DROPPED);
	}
}

void unic_cq_del_qp(struct unic_cq *cq, struct unic_qp *qp)
{
	unsigned int i;

	pthread_mutex_lock(&cq->lock);
	cq->users--;
	for (i = 0; i < cq->n_qp; i++) {
		if (cq->qp[i] == qp)
			cq->qp[i--] = cq->qp[--cq->n_qp];
	}
	for (i = 0; i < UNIC_DB_OBJECTS; i++) {
		if (cq->last[i] == qp)
			cq->last[i] = NULL;
	}
	drop_completions(cq, qp);
	pthread_mutex_unlock(&cq->lock);
}

/* The counts of @ring, whose tail is @tail, begin anew; its lock is held. */
static void zero_ring(struct unic_ring *ring, unic_le32 *tail)
{
	ring->posted = ring->rung = 0;
	ring->sends = ring->sent = ring->failed = 0;
	ring->hold = ring->held = false;
	__atomic_store_n(&ring->done, 0, __ATOMIC_RELEASE);
	unic_store_release(tail, 0);
}

/* No request is on @ring, whose tail is @tail. */
static void empty_ring(struct unic_ring *ring, unic_le32 *tail)
{
	pthread_mutex_lock(&ring->lock);
	memset(ring->shadow, 0, (ring->mask + 1) * sizeof(*ring->shadow));
	zero_ring(ring, tail);
	pthread_mutex_unlock(&ring->lock);
}

void unic_cq_reset_qp(struct unic_cq *cq, struct unic_qp *qp)
{
	struct unic_db_tail *tail = &qp->ctx->db->tail[qp->db];

	pthread_mutex_lock(&cq->lock);
	drop_completions(cq, qp);
	if (qp->send_cq == cq)
		empty_ring(&qp->sq, &tail->sq);
	if (qp->recv_cq == cq) {
		empty_ring(&qp->rq, &tail->rq);
		qp->mend.received = 0;
	}
	pthread_mutex_unlock(&cq->lock);
}

/* ------------------------------------------------------- after a reset */

static uint8_t wc_opcode(const struct unic_ring *ring, uint32_t pos, bool recv)
{
	const struct unic_sq_slot *slot = ring->slot;

	if (recv)
		return UNIC_WC_RECV;
	return unic_wc_of_wr(slot[pos & ring->mask].opcode);
}

/* Complete all open requests of @ring as flushed, in order. The ring is empty then. */
static void flush_ring(struct unic_cq *cq, struct unic_qp *qp, bool recv)
{
	struct unic_ring *ring = recv ? &qp->rq : &qp->sq;
	struct unic_db_tail *tail = &qp->ctx->db->tail[qp->db];
	uint32_t pos;

	pthread_mutex_lock(&ring->lock);
	for (pos = ring->done; pos != ring->posted; pos++) {
		struct unic_shadow *s = &ring->shadow[pos & ring->mask];

		if (!s->slots)
			continue;
		s->slots = 0;
		cq->left[cq->n_left++] = (struct unic_wc){
			.wr_id = s->wr_id,
			.qp = qp,
			.opcode = s->as ? s->as : wc_opcode(ring, pos, recv),
			.status = UNIC_WC_WR_FLUSH_ERR,
		};
		s->fate = s->as = 0;
	}
	zero_ring(ring, recv ? &tail->rq : &tail->sq);
	if (recv)
		qp->mend.received = 0;
	pthread_mutex_unlock(&ring->lock);
}

static uint32_t count_outstanding(const struct unic_cq *cq)
{
	uint32_t n = cq->mask + 1, i; /* the most records */

	if (cq->next.ring)
		n += cq->next.mask + 1;
	for (i = 0; i < cq->n_qp; i++) {
		const struct unic_qp *qp = cq->qp[i];

		n += qp->sq.posted - qp->sq.done + qp->rq.posted - qp->rq.done;
	}
	return n;
}

/* No record is valid in the rings of @cq, and the numbers begin anew. */
static void zero_records(struct unic_cq *cq)
{
	memset(cq->ring, 0, (cq->mask + 1) * sizeof(*cq->ring));
	if (cq->next.ring) {
		memset(cq->next.ring, 0,
		       (cq->next.mask + 1) * sizeof(*cq->ring));
		cq->next.anew = true;
	}
	cq->ci = 0;
}

static void flush_all(struct unic_cq *cq)
{
	const struct unic_cqe *at;
	struct unic_cqe cqe;
	unsigned int i;

	while ((at = find_cqe(cq, cq->ci))) {
		consume_cqe(cq, at, &cqe);
		cq->n_left += parse_cqe(cq, &cqe, &cq->left[cq->n_left]) > 0;
	}
	for (i = 0; i < cq->n_qp; i++) {
		if (cq->qp[i]->send_cq == cq)
			flush_ring(cq, cq->qp[i], false);
		if (cq->qp[i]->recv_cq == cq)
			flush_ring(cq, cq->qp[i], true);
	}
	zero_records(cq);
	__atomic_store_n(&cq->overrun, false, __ATOMIC_RELEASE);
	unic_store_release(&cq->ctx->db->tail[cq->db].arm, 0);
	unic_store_release(&cq->ctx->db->tail[cq->db].cq_ci, 0);
}

int unic_cq_recover(struct unic_cq *cq)
{
	unsigned int old = cq->n_left - cq->next_left;
	struct unic_wc *left;

	pthread_mutex_lock(&cq->lock);
	left = calloc(old + count_outstanding(cq), sizeof(*left));
	if (left) {
		if (old)
			memcpy(left, &cq->left[cq->next_left],
			       old * sizeof(*left));
		free(cq->left);
		cq->left = left;
		cq->left_room = old + count_outstanding(cq);
		cq->n_left = old;
		cq->next_left = 0;
		flush_all(cq);
	}
	pthread_mutex_unlock(&cq->lock);
	return left ? 0 : unic_fail(-ENOMEM, "out of memory");
}

/* -------------------------------------------------------------- harvesting */

int unic_cq_reserve(struct unic_cq *cq, uint32_t room)
{
	struct unic_wc *left = NULL;

	pthread_mutex_lock(&cq->lock);
	if (cq->left_room < room)
		left = calloc(room, sizeof(*left));
	if (left) {
		if (cq->n_left)
			memcpy(left, cq->left, cq->n_left * sizeof(*left));
		free(cq->left);
		cq->left = left;
		cq->left_room = room;
	}
	pthread_mutex_unlock(&cq->lock);
	return cq->left_room >= room ? 0 : unic_fail(-ENOMEM, "out of memory");
}

static bool has_room_left(struct unic_cq *cq)
{
	if (cq->next_left) {
		cq->n_left -= cq->next_left;
		memmove(cq->left, cq->left + cq->next_left,
			cq->n_left * sizeof(*cq->left));
		cq->next_left = 0;
	}
	return cq->n_left < cq->left_room;
}

bool unic_cq_harvest(struct unic_cq *cq)
{
	uint32_t budget = cq->mask + 1;
	const struct unic_cqe *at;
	struct unic_cqe cqe;
	bool all;

	pthread_mutex_lock(&cq->lock);
	while (budget-- && (at = find_cqe(cq, cq->ci)) && has_room_left(cq)) {
		consume_cqe(cq, at, &cqe);
		cq->n_left += parse_cqe(cq, &cqe, &cq->left[cq->n_left]) > 0;
	}
	all = !find_cqe(cq, cq->ci);
	pthread_mutex_unlock(&cq->lock);
	return all;
}

void unic_cq_left(struct unic_cq *cq, const struct unic_wc *wc)
{
	if (has_room_left(cq))
		cq->left[cq->n_left++] = *wc;
	else
		__atomic_add_fetch(&cq->ctx->count.cqe_bad, 1,
				   __ATOMIC_RELAXED);
}

/* ----------------------------------------------------------- another ring */

void unic_cq_expect(struct unic_cq *cq, struct unic_mr *mr, uint32_t mask)
{
	pthread_mutex_lock(&cq->lock);
	cq->next = (struct unic_cq_next){ .mr = mr,
					  .ring = mr ? mr->addr : NULL,
					  .mask = mask };
	pthread_mutex_unlock(&cq->lock);
}

/* Are all records from the next one to number @end in the ring? */
static bool has_all(const struct unic_cq *cq, uint32_t end)
{
	uint32_t n;

	for (n = cq->ci; n != end; n++)
		if (!valid_cqe(cq->ring, cq->mask, n))
			return false;
	return true;
}

/* The NIC writes from record @end on to the other ring, and leaves those places in it alone
 * that unread records before that have there. */
static void enter_next(struct unic_cq *cq, uint32_t end)
{
	uint32_t n;

	for (n = cq->ci; n != end; n++)
		memcpy(&cq->next.ring[n & cq->next.mask],
		       &cq->ring[n & cq->mask], sizeof(*cq->ring));
	cq->mr = cq->next.mr;
	cq->ring = cq->next.ring;
	cq->mask = cq->next.mask;
	cq->next = (struct unic_cq_next){ 0 };
}

bool unic_cq_switch(struct unic_cq *cq, uint32_t end, bool wait)
{
	bool all;

	pthread_mutex_lock(&cq->lock);
	/* all are read; the NIC was reset since; or it never had so many */
	if (cq->next.anew || end - cq->ci > cq->mask + 1)
		end = cq->ci;
	all = has_all(cq, end);
	if (all || !wait)
		enter_next(cq, end);
	pthread_mutex_unlock(&cq->lock);
	return all || !wait;
}

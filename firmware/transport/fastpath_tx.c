/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fastpath_tx.c - the fast path out, see fastpath.h. */
#include "transport/fastpath.h"

#include "transport/fastpath_form.h"
#include "transport/frame.h"
#include "transport/transport.h"
#include "transport/requester.h"
#include "transport/sq.h"
#include "memory/window.h"
#include "transport/tx.h"
#include "memory/access.h"

#define COLD	      __attribute__((noinline, cold))
#define CALLED	      __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* ----------------------------------------------- requests of one packet */

/* Nothing wrong, nothing waiting, nothing sent again. */
static inline bool may_send(const struct unic_sq *sq)
{
	return sq->cur == sq->next && sq->psn == sq->psn_max &&
	       !(sq->gathering | sq->rnr_wait | sq->stopped) &&
	       unic_psn_diff(sq->psn, sq->psn_una) <
		       (int32_t)(UNIC_QP_PACKETS - UNIC_QP_WINDOW);
}

/* Make sq.ready for requests like this one. False: it is not for the fast path. */
static CALLED bool update_ready(struct unic_qp_ctx *qp,
				const struct unic_sq_slot *slot)
{
	struct unic_ready *y = &qp->sq.ready;
	uint32_t form = unic_form_word(slot),
		 len = unic_from_le32(slot->sge[0].len);
	uint32_t op = UNIC_OP_WRITE_ONLY << 8, ext = UNIC_FORM_RETH;
	uint32_t pad = -len & 3;

	if ((form & ~UNIC_FORM_ANY) != UNIC_FORM_ONE_SGE(UNIC_WR_WRITE)) {
		if ((form & ~UNIC_FORM_ANY) != UNIC_FORM_ONE_SGE(UNIC_WR_SEND))
			return false;
		op = UNIC_OP_SEND_ONLY << 8;
		ext = 0;
	}
	if (slot->ctrl_len || (len - 1) >> qp->mtu_shift)
		return false;
	if (form & UNIC_FORM_FLAG(UNIC_WR_SOLICITED))
		op |= UNIC_BTH_SOLICITED;
	y->form = form & ~UNIC_FORM_FLAG(UNIC_WR_SIGNALED);
	y->ext = ext;
	y->bytes = UNIC_EXT_OFF + ext + len + pad + UNIC_ICRC_BYTES;
	y->wr = (struct unic_wr){
		.len = len,
		.npkt = 1,
		.state = UNIC_WRS_SENT,
		.slots = 1 | UNIC_WR_ONE_SGE,
	};
	y->h = qp->tmpl.h;
	unic_roce_length(&qp->tmpl, &y->h, y->bytes - UNIC_ETH_BYTES);
	unic_put_word(y->h.word, UNIC_W_BTH_OP,
		      unic_op_word(op | pad << UNIC_BTH_PAD_SHIFT));
	return true;
}

static inline bool prepare_ready(struct unic_qp_ctx *qp,
				 const struct unic_sq_slot *slot)
{
	return likely(unic_form_matches(&qp->sq.ready, slot)) ||
	       update_ready(qp, slot);
}

/*
 * Successive requests of the window, all as sq.ready says, whose data one window
 * of a region shows. What is done for each is done here; what happens to all
 * alike is done once, in send_run().
 */
struct run {
	struct unic_tx_run tx;
	struct unic_window win;
	uint32_t n;   /* requests, at most */
	uint32_t psn; /* of the first */
};

/* The frame of one request like @y, of @len bytes behind @ext, but for its
 * headers. False: it is not like that, or its data lies elsewhere. */
static ALWAYS_INLINE bool put_body(uint8_t *frame, const struct unic_ready *y,
				   const struct unic_sq_slot *slot,
				   const struct unic_window *win, uint32_t len,
				   uint32_t ext)
{
	uint64_t iova = unic_from_le64(slot->sge[0].iova);

	if (unlikely(!unic_form_matches(y, slot) ||
		     unic_from_le32(slot->sge[0].lkey) != win->stag ||
		     (uint32_t)(iova >> 32) != win->hi ||
		     !unic_window_has(win, (uint32_t)iova)))
		return false;
	unic_form_put_body(frame, slot, unic_window_at(win, (uint32_t)iova),
			   len, ext);
	return true;
}

static ALWAYS_INLINE uint32_t fill_run_of_len(const struct run *run,
					      const struct unic_ready *y,
					      const struct unic_sq_slot *slot,
					      struct unic_wr *wr, uint32_t len,
					      uint32_t ext)
{
	const unic_vector *h = (const void *)y->h.word;
	const unic_vector h0 = h[0], h1 = h[1], h2 = h[2];
	uint32_t psn = run->psn, n = run->n, dst01 = y->h.dst01;
	uint8_t *frame = run->tx.frame;

	do {
		unic_vector *to;

		if (unlikely(!put_body(frame, y, slot, &run->win, len, ext)))
			break;
		UNIC_IN_REGISTER(frame); /* none to spare for sums of it */
		to = (void *)(frame + 2);
		*(uint16_t *)(void *)frame = (uint16_t)dst01;
		to[0] = h0;
		to[1] = h1;
		to[2] = h2;
		unic_put_word(unic_frame_words(frame), UNIC_W_BTH_APSN,
			      psn | UNIC_BTH_ACKREQ);
		UNIC_IN_REGISTER(wr);
		*wr = y->wr;
		wr->psn = psn;
		psn++;
		frame += run->tx.stride;
		slot++;
		wr++;
	} while (--n);
	return run->n - n;
}

/* Fill the frames of @run with requests from @slot and @wr on, each of which is
 * kept until it is acknowledged. Returns how many. The commonest form is
 * compiled by itself: half of a small message is arithmetic of lengths. */
static CALLED uint32_t fill_run(const struct run *run,
				const struct unic_ready *y,
				const struct unic_sq_slot *slot,
				struct unic_wr *wr)
{
	if (y->wr.len == 8 && y->ext == UNIC_FORM_RETH)
		return fill_run_of_len(run, y, slot, wr, 8, UNIC_FORM_RETH);
	return fill_run_of_len(run, y, slot, wr, y->wr.len, y->ext);
}

static COLD void put_icrc(const struct unic_tx_run *tx, uint32_t n,
			  uint32_t bytes)
{
	uint32_t body = bytes - UNIC_ICRC_BYTES;
	uint8_t *frame = tx->frame;

	for (; n; n--, frame += tx->stride)
		*(uint32_t *)(void *)(frame + body) =
			(UNIC_FORCE uint32_t)unic_to_le32(
				unic_icrc(frame, body));
}

/* The first @n frames, of @bytes, to the link. */
static inline void publish_run(struct unic_transport *nic,
			       const struct unic_tx_run *tx, uint32_t n,
			       uint32_t bytes)
{
	uint32_t flags = UNIC_FRAME_NO_ICRC;

	if (unlikely(!nic->link.icrc_offload)) {
		put_icrc(tx, n, bytes);
		flags = 0;
	}
	unic_port_tx_run_put(nic->port, tx, n, bytes, flags);
	unic_frame_count(nic, n, n * bytes);
}

/* The requests sent since @first; in the run itself there is no time for it. */
static COLD void trace_run(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   uint32_t first)
{
	const struct unic_ready *y = &qp->sq.ready;

	for (; first != qp->sq.next; first++)
		UNIC_TRACE(nic, TX, qp->proc,
			   y->ext ? UNIC_OP_WRITE_ONLY : UNIC_OP_SEND_ONLY,
			   qp->qpn, unic_sq_wr(&qp->sq, first)->psn,
			   y->ext + y->wr.len);
}

/* @n requests more are sent and hold the region of @win. */
static inline void commit_run(struct unic_transport *nic,
			      struct unic_qp_ctx *qp,
			      const struct unic_window *win, uint32_t n)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_mr_ctx *mr = win->mr;
	uint32_t first = sq->next;

	mr->holds = (uint16_t)(mr->holds + n);
	UNIC_ASSERT(nic, mr->holds >= n); /* no wrap */
	unic_window_used(&nic->memory, win, n, sq->ready.wr.len);
	sq->next = sq->cur = first + n;
	sq->psn = sq->psn_max = unic_psn_add(sq->psn, n);
	unic_requester_sent(nic, qp);
	if (unlikely(nic->trace.mask & UNIC_TG_OF_TX))
		trace_run(nic, qp, first);
}

/* A page of the next request, which is like sq.ready, is missing, and asked for: the
 * request is started, holds its region @mr, and waits. */
static COLD enum unic_fastpath await_page(struct unic_transport *nic,
					  struct unic_qp_ctx *qp,
					  struct unic_mr_ctx *mr)
{
	struct unic_sq *sq = &qp->sq;
	struct unic_wr *wr = unic_sq_wr(sq, sq->next);

	*wr = sq->ready.wr;
	wr->psn = sq->psn;
	unic_mr_hold(&nic->memory, (uint16_t)(mr - nic->mrs.mr));
	sq->next++;
	unic_fault_wait(&nic->memory, unic_qp_index(nic, qp));
	unic_requester_not_read(nic, qp, sq->psn, -UNIC_EMISS);
	return UNIC_FASTPATH_WAITS;
}

static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Requests like sq.ready, the next one is: some of them, while *@left is
 * positive. */
static enum unic_fastpath send_run(struct unic_transport *nic,
				   struct unic_qp_ctx *qp, int32_t *left)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_ready *y = &sq->ready;
	uint32_t at = sq->next % UNIC_QP_WINDOW, stag, cost, n;
	const struct unic_sq_slot *slot = &sq->win[at];
	struct unic_range bytes;
	struct run run;
	int r;

	stag = unic_from_le32(slot->sge[0].lkey);
	bytes.iova = unic_from_le64(slot->sge[0].iova);
	bytes.len = y->wr.len;
	r = unic_window_open(&nic->memory, unic_window_mr(&nic->memory, stag),
			     stag, qp->pd, 0, bytes, &run.win);
	if (unlikely(r)) {
		if (r == -UNIC_EAGAIN || (!UNIC_LONE && r == -UNIC_EMISS))
			return UNIC_FASTPATH_NOT;
		if (UNIC_LONE && r == -UNIC_EMISS)
			return await_page(nic, qp,
					  unic_window_mr(&nic->memory, stag));
		unic_sq_refused(nic, qp, r);
		return UNIC_FASTPATH_DEAD;
	}
	if (unlikely(!unic_port_tx_run(nic->port, qp->tmpl.path, &run.tx)))
		return UNIC_FASTPATH_NOT;
	cost = y->wr.len + nic->sched.cost_last;
	n = min_u32(sq->fetched - sq->next, UNIC_QP_WINDOW - at);
	n = min_u32(n, run.tx.n);
	n = min_u32(n, UNIC_PSN_MASK + 1 - sq->psn); /* until they wrap */
	if (unlikely(n * cost > (uint32_t)*left))
		n = min_u32(n, ((uint32_t)*left + cost - 1) / cost);
	run.n = n;
	run.psn = sq->psn;
	n = fill_run(&run, y, slot, &sq->wr[at]);
	UNIC_ASSERT(nic, n); /* the first one is like itself */
	publish_run(nic, &run.tx, n, y->bytes);
	*left -= (int32_t)(n * cost);
	commit_run(nic, qp, &run.win, n);
	return UNIC_FASTPATH_DONE;
}

/* A call: within its caller it would have too few registers. */
CALLED enum unic_fastpath unic_fastpath_send(struct unic_transport *nic,
					     struct unic_qp_ctx *qp,
					     int32_t *left)
{
	struct unic_sq *sq = &qp->sq;
	enum unic_fastpath r;
	int err;

	UNIC_IN_REGISTER(sq);
	if (unlikely(!may_send(sq)))
		return UNIC_FASTPATH_NOT;
	do {
		if (sq->next == sq->tail)
			return UNIC_FASTPATH_DONE;
		err = sq->next == sq->fetched ? unic_sq_fetch(nic, qp) : 0;
		if (unlikely(err))
			return err == -UNIC_ENOQP ? UNIC_FASTPATH_DONE
						  : UNIC_FASTPATH_NOT;
		if (unlikely(!prepare_ready(qp, unic_sq_slot(sq, sq->next))))
			return UNIC_FASTPATH_NOT;
		r = send_run(nic, qp, left);
	} while (!r && *left > 0);
	return r;
}

/* ------------------------------------------------- packets of a long message */

/* Successive packets of a request, alike but for PSN and place. */
struct part {
	struct unic_tx_run tx;
	const struct unic_sq_slot *slot;
	uint32_t off, len; /* of the first, in the message; of each */
	uint32_t ext;
	uint32_t op_flags;
	uint32_t psn, n;
	uint16_t mr;
	bool direct; /* see UNIC_WR_DIRECT */
	bool last;
};

/* Opcodes of an operation: first, middle, last, its immediate, only. */
static inline uint32_t op_of(const struct unic_sq_slot *slot, bool first,
			     bool last)
{
	uint32_t op = slot->opcode == UNIC_WR_WRITE ? UNIC_OP_WRITE_FIRST
						    : UNIC_OP_SEND_FIRST;

	if (first)
		op += last ? 4 : 0;
	else
		op += last ? 2 : 1;
	op <<= 8;
	if (last && (slot->flags & UNIC_WR_SOLICITED))
		op |= UNIC_BTH_SOLICITED;
	return op;
}

/* The packets of request sq.cur from sq.psn on that are of one kind. */
static inline void next_part(const struct unic_qp_ctx *qp,
			     const struct unic_sq_slot *slot,
			     const struct unic_wr *wr, struct part *p)
{
	uint32_t k = unic_psn_add(qp->sq.psn, -wr->psn);
	bool first = k == 0;

	p->slot = slot;
	p->psn = qp->sq.psn;
	p->off = k << qp->mtu_shift;
	p->last = k + 1 == wr->npkt;
	p->len = p->last ? wr->len - p->off : 1u << qp->mtu_shift;
	p->n = first || p->last ? 1 : wr->npkt - 1 - k;
	p->ext = first && slot->opcode == UNIC_WR_WRITE ? UNIC_FORM_RETH : 0;
	p->op_flags = op_of(slot, first, p->last);
	p->mr = unic_stag_index(slot->sge[0].lkey);
	p->direct = wr->slots & UNIC_WR_DIRECT;
}

/* Where the CPU sees @len bytes at @off of the request; NULL: not in one piece. @cached: the
 * entries of the region come and go. */
static inline const uint8_t *map_source(struct unic_transport *nic,
					const struct part *p, uint32_t off,
					uint32_t len, bool cached)
{
	uint64_t at = unic_from_le64(p->slot->sge[0].iova) + off;
	struct unic_xlate piece;

	if (cached) {
		if (!unic_xlate_cached(&nic->memory, p->mr, at, len, &piece))
			return NULL;
	} else if (p->direct) {
		return unic_port_window(nic->port, at, len);
	} else if (!unic_xlate_near(&nic->memory, p->mr, at, len, &piece) ||
		   piece.len != len) {
		return NULL;
	}
	return unic_port_window(nic->port, piece.bus, len);
}

/* The headers of all packets of @p, but for the PSN. */
static inline void part_headers(struct unic_qp_ctx *qp, const struct part *p,
				union unic_words h[3])
{
	uint32_t pad = -p->len & 3;

	unic_frame_length(&qp->tmpl, p->ext + p->len + pad);
	memcpy(h, qp->tmpl.h.word, sizeof(qp->tmpl.h.word));
	unic_put_word(h[2].word, UNIC_W_BTH_OP - 8,
		      unic_op_word(p->op_flags | pad << UNIC_BTH_PAD_SHIFT));
}

/* As fill_part(). @cached: as of map_source(). */
static ALWAYS_INLINE uint32_t fill_part_of(struct unic_transport *nic,
					   struct unic_qp_ctx *qp,
					   const struct part *p, uint32_t total,
					   bool cached)
{
	uint32_t psn = p->psn, off = p->off, len = p->len, n = p->n, apsn;
	uint32_t body = UNIC_EXT_OFF + p->ext, padded = (len + 3) & ~3u;
	uint32_t dst01 = qp->tmpl.h.dst01;
	uint8_t *frame = p->tx.frame;
	union unic_words h[3];

	part_headers(qp, p, h);
	for (; n; n--, frame += p->tx.stride) {
		const uint8_t *from = map_source(nic, p, off, len, cached);
		unic_vector *to = (void *)(frame + 2);

		if (unlikely(!from))
			break;
		*(uint16_t *)(void *)frame = (uint16_t)dst01;
		to[0] = h[0].v;
		to[1] = h[1].v;
		to[2] = h[2].v;
		apsn = psn;
		if (p->last || (psn & UNIC_ACK_EVERY) == UNIC_ACK_EVERY)
			apsn |= UNIC_BTH_ACKREQ;
		unic_put_word(unic_frame_words(frame), UNIC_W_BTH_APSN, apsn);
		if (p->ext)
			unic_form_put_remote(frame, p->slot, total);
		if (unlikely(len != padded))
			unic_form_put_pad(frame + body, padded);
		unic_window_read(frame + body, from, len);
		*(uint32_t *)(void *)(frame + body + padded) = 0;
		psn = unic_psn_add(psn, 1);
		off += len;
	}
	return p->n - n;
}

static COLD uint32_t fill_cached_part(struct unic_transport *nic,
				      struct unic_qp_ctx *qp,
				      const struct part *p, uint32_t total)
{
	return fill_part_of(nic, qp, p, total, true);
}

/* Fill the frames of @p->tx, of a message of @total bytes. Returns how many. */
static CALLED uint32_t fill_part(struct unic_transport *nic,
				 struct unic_qp_ctx *qp, const struct part *p,
				 uint32_t total)
{
	return fill_part_of(nic, qp, p, total, false);
}

static COLD void trace_part(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    const struct part *p, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		UNIC_TRACE(nic, TX, qp->proc, p->op_flags >> 8, qp->qpn,
			   unic_psn_add(p->psn, i), p->ext + p->len);
}

/* @n packets of @p are sent. */
static inline void advance_part(struct unic_transport *nic,
				struct unic_qp_ctx *qp, const struct part *p,
				uint32_t n)
{
	struct unic_sq *sq = &qp->sq;

	if (unlikely(nic->trace.mask & UNIC_TG_OF_TX))
		trace_part(nic, qp, p, n);
	sq->psn = unic_psn_add(p->psn, n);
	if (unic_psn_diff(sq->psn, sq->psn_max) > 0)
		sq->psn_max = sq->psn;
	if (p->last)
		sq->cur += unic_sq_slots(sq, sq->cur);
	unic_requester_sent(nic, qp);
}

/* Of packets not yet acknowledged, how many more may be sent? */
static inline uint32_t psn_window_room(const struct unic_sq *sq)
{
	int32_t out = unic_psn_diff(sq->psn, sq->psn_una);

	return out < (int32_t)UNIC_QP_PACKETS ? UNIC_QP_PACKETS - (uint32_t)out
					      : 0;
}

enum unic_fastpath unic_fastpath_message(struct unic_transport *nic,
					 struct unic_qp_ctx *qp, int32_t *left)
{
	struct unic_sq *sq = &qp->sq;
	const struct unic_sq_slot *slot = unic_sq_slot(sq, sq->cur);
	const struct unic_wr *wr = unic_sq_wr(sq, sq->cur);
	uint32_t n, cost, sent = 0;
	struct part p;

	if ((slot->opcode != UNIC_WR_WRITE && slot->opcode != UNIC_WR_SEND) ||
	    slot->num_sge != 1 || wr->state != UNIC_WRS_SENT || !wr->len)
		return UNIC_FASTPATH_NOT;
	do {
		next_part(qp, slot, wr, &p);
		if (!unic_port_tx_run(nic->port, qp->tmpl.path, &p.tx))
			break;
		cost = p.len +
		       (p.last ? nic->sched.cost_last : nic->sched.cost);
		n = min_u32(min_u32(p.n, p.tx.n), psn_window_room(sq));
		p.n = min_u32(n, ((uint32_t)*left + cost - 1) / cost);
		n = fill_part(nic, qp, &p, wr->len);
		if (unlikely(!n) && UNIC_TABLE_READS)
			n = fill_cached_part(nic, qp, &p, wr->len);
		publish_run(nic, &p.tx, n,
			    UNIC_EXT_OFF + p.ext + ((p.len + 3) & ~3u) +
				    UNIC_ICRC_BYTES);
		if (!n)
			break;
		*left -= (int32_t)(n * cost);
		sent += n;
		advance_part(nic, qp, &p, n);
	} while (!p.last && *left > 0 && psn_window_room(sq));
	return sent ? UNIC_FASTPATH_DONE : UNIC_FASTPATH_NOT;
}

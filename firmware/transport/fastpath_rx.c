/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fastpath_rx.c - the fast path in, see fastpath.h. */
#include "transport/frame.h"
#include "transport/fastpath.h"
#include "transport/fastpath_expect.h"
#include "transport/fastpath_receive.h"
#include "transport/transport.h"
#include "transport/requester_rx.h"
#include "transport/responder_done.h"
#include "transport/responder_nak.h"
#include "memory/window.h"
#include "transport/tx.h"
#include "memory/access.h"

#define COLD	      __attribute__((noinline, cold))
#define CALLED	      __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))

#define RETH_BYTES ((uint32_t)sizeof(struct unic_reth))

/* ---------------------------------------------------------------- frames */

static inline bool has_valid_icrc(const struct unic_rx *rx)
{
	return rx->flags & UNIC_FRAME_NO_ICRC ||
	       unic_icrc_ok(rx->frame, rx->len);
}

/* The trace of a frame that is like @e. */
static COLD void trace_rx(struct unic_transport *nic,
			  const struct unic_qp_ctx *qp,
			  const struct unic_expect *e, const uint8_t *frame)
{
	const uint32_t *w = (const void *)(frame + 2);
	uint32_t op = unic_get_word(w, UNIC_W_BTH_OP);

	UNIC_TRACE(nic, RX, qp->proc, op >> 24, qp->qpn,
		   unic_get_word(w, UNIC_W_BTH_APSN) & UNIC_PSN_MASK,
		   e->bytes - UNIC_EXT_OFF - UNIC_ICRC_BYTES -
			   (op >> (16 + UNIC_BTH_PAD_SHIFT) & 3));
}

static inline void maybe_trace_rx(struct unic_transport *nic,
				  const struct unic_qp_ctx *qp,
				  const struct unic_expect *e,
				  const uint8_t *frame)
{
	if (unlikely(nic->trace.mask & UNIC_TG_OF_RX))
		trace_rx(nic, qp, e, frame);
}

static COLD enum unic_fastpath refuse_write(struct unic_transport *nic,
					    struct unic_qp_ctx *qp,
					    const struct unic_expect *e,
					    const uint8_t *frame, int err)
{
	maybe_trace_rx(nic, qp, e, frame);
	unic_responder_refused(nic, qp, qp->rsp.psn, err);
	return UNIC_FASTPATH_DONE;
}

/* Frames one behind another, all of one length, none of them looked at. */
struct burst {
	const uint8_t *frame;
	uint32_t stride, n;
	uint32_t
		sound; /* of them, from the first on: their integrity is certain */
};

static COLD void trace_burst(struct unic_transport *nic,
			     const struct unic_qp_ctx *qp,
			     const struct unic_expect *e, const struct burst *b,
			     uint32_t n)
{
	const uint8_t *frame = b->frame;

	for (; n; n--, frame += b->stride)
		trace_rx(nic, qp, e, frame);
}

/* How many are sound, one behind another; the first one is. */
static COLD uint32_t count_valid_icrc(const struct burst *b, uint32_t bytes)
{
	const uint8_t *frame = b->frame;
	uint32_t n = 1;

	for (; n < b->n; n++) {
		frame += b->stride;
		if (!unic_icrc_ok(frame, bytes))
			break;
	}
	return n;
}

/* As many as there are behind @rx, which is sound, at most @max with it. */
static inline void burst_take(struct unic_transport *nic,
			      const struct unic_rx *rx, uint32_t max,
			      struct burst *b)
{
	b->frame = rx->frame;
	b->n = 1 + unic_port_rx_run(nic->port, rx, max - 1, &b->stride);
	b->sound = b->n;
	if (unlikely(!(rx->flags & UNIC_FRAME_NO_ICRC)))
		b->sound = count_valid_icrc(b, rx->len);
}

/* The first @done, like @e, are placed; @apsn: their acknowledge requests, ored.
 * The others are not taken, but for the very first. */
static inline enum unic_fastpath
burst_done(struct unic_transport *nic, struct unic_qp_ctx *qp,
	   const struct unic_expect *e, const struct burst *b, uint32_t done,
	   uint32_t apsn, uint32_t *n)
{
	struct unic_rsp *rsp = &qp->rsp;

	*n = done ? done : 1;
	if (unlikely(b->n != done))
		unic_port_rx_back(nic->port, b->n - *n);
	if (unlikely(!done))
		return UNIC_FASTPATH_NOT;
	nic->dma.bytes += done * e->len;
	rsp->psn = unic_psn_add(rsp->psn, done);
	rsp->nak_sent = false;
	if (apsn >> 31 && !rsp->ack)
		unic_responder_owe_ack(nic, qp);
	if (unlikely(nic->trace.mask & UNIC_TG_OF_RX))
		trace_burst(nic, qp, e, b, done);
	return UNIC_FASTPATH_DONE;
}

/* -------------------------------------------------- WRITEs of one packet */

/* What a frame of a burst must start with, in vectors: the headers, and an RETH
 * for the window, but for the lower half of the address. */
struct want {
	unic_vector h0, h1, h2, reth;
	uint32_t dst01;
};

static inline struct want build_want(const struct unic_expect *e,
				     const struct unic_window *win)
{
	const unic_vector *h = (const void *)e->h.word;
	struct want want = { .h0 = h[0], .h1 = h[1], .h2 = h[2] };
	union unic_words reth;

	want.dst01 = e->h.dst01;
	reth.word[0] = (UNIC_FORCE uint32_t)unic_to_be32(win->hi);
	reth.word[1] = 0; /* see matches_want() */
	reth.word[2] = (UNIC_FORCE uint32_t)unic_to_be32(win->stag);
	reth.word[3] = (UNIC_FORCE uint32_t)unic_to_be32(e->len);
	want.reth = reth.v;
	return want;
}

static inline bool matches_want(const uint8_t *frame, const struct want *want)
{
	const union unic_words but_low = { .word = { ~0u, 0, ~0u, ~0u } };
	const unic_vector *is = (const void *)(frame + 2);
	const unic_vector *reth = (const void *)(frame + UNIC_EXT_OFF);
	uint32_t dst01 = UNIC_READ_ONCE(*(const uint16_t *)(const void *)frame);

	return !(unic_vector_any((is[0] ^ want->h0) | (is[1] ^ want->h1) |
				 (is[2] ^ want->h2) |
				 ((*reth & but_low.v) ^ want->reth)) |
		 (dst01 ^ want->dst01));
}

/* As place_writes(), for WRITEs of @len bytes. */
static ALWAYS_INLINE uint32_t place_writes_of_len(const struct burst *b,
						  const struct unic_expect *e,
						  const struct unic_window *win,
						  uint32_t *apsn, uint32_t len)
{
	const struct want want = build_want(e, win);
	uint32_t n = b->sound, psn = *apsn, acks = 0;
	const uint8_t *frame = b->frame;

	do {
		const uint32_t *w = (const void *)(frame + 2);
		uint32_t is = unic_get_word(w, UNIC_W_BTH_APSN);
		uint32_t iova = unic_get_word(w, UNIC_W_EXT + 1);

		if (unlikely((is ^ psn) << 8 || !matches_want(frame, &want) ||
			     !unic_window_has(win, iova)))
			break;
		unic_window_write(unic_window_at(win, iova),
				  frame + UNIC_EXT_OFF + RETH_BYTES, len);
		acks |= is;
		psn++;
		frame += b->stride;
	} while (--n);
	*apsn = acks;
	return b->sound - n;
}

/* Place the frames of @b while they are like @e, in sequence, and for @win.
 * @apsn: the PSN expected; afterwards their acknowledge requests, ored.
 * Returns how many. */
static CALLED uint32_t place_writes(const struct burst *b,
				    const struct unic_expect *e,
				    const struct unic_window *win,
				    uint32_t *apsn)
{
	if (e->len == 8)
		return place_writes_of_len(b, e, win, apsn, 8);
	return place_writes_of_len(b, e, win, apsn, e->len);
}

/* Whole WRITEs of one packet: @rx, and those behind it, @max in all at most.
 * *@n: how many, if done. */
static enum unic_fastpath write_only(struct unic_transport *nic,
				     struct unic_qp_ctx *qp,
				     const struct unic_rx *rx,
				     const struct unic_expect *e, uint32_t max,
				     uint32_t *n)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t stag = unic_get_word(w, UNIC_W_EXT + 2);
	struct unic_mr_ctx *mr = unic_window_mr(&nic->memory, stag);
	struct unic_rsp *rsp = &qp->rsp;
	uint32_t apsn = rsp->psn, done;
	uint64_t va = unic_fastpath_expect_va(w);
	struct unic_range bytes;
	struct unic_window win;
	struct burst b;
	int r;

	if (unlikely(!unic_fastpath_in_sequence(
			     rsp, unic_get_word(w, UNIC_W_BTH_APSN)) ||
		     rsp->msg.kind ||
		     unic_get_word(w, UNIC_W_EXT + 3) != e->len))
		return UNIC_FASTPATH_NOT;
	/* the headers are compared by place_writes(), before anything comes of them */
	if (unlikely(!unic_window_near(mr, stag, qp->pd, UNIC_MR_REMOTE_WRITE,
				       va, e->len) &&
		     !unic_fastpath_expect_headers(rx, e)))
		return UNIC_FASTPATH_NOT;
	bytes = (struct unic_range){ .iova = va, .len = e->len };
	r = unic_window_open(&nic->memory, mr, stag, qp->pd,
			     UNIC_MR_REMOTE_WRITE, bytes, &win);
	if (unlikely(r))
		return r == -UNIC_EAGAIN
			       ? UNIC_FASTPATH_NOT
			       : refuse_write(nic, qp, e, rx->frame, r);
	burst_take(nic, rx, max, &b);
	done = place_writes(&b, e, &win, &apsn);
	unic_window_used(&nic->memory, &win, done, e->len);
	rsp->msn = unic_psn_add(rsp->msn, done);
	return burst_done(nic, qp, e, &b, done, apsn, n);
}

/* ---------------------------------------------- WRITEs of several packets */

/* Begin one at its RETH. 0, or the access error. */
static int begin_fast_write(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    const uint32_t *w, uint32_t len)
{
	struct unic_xlate piece = { .mr = UNIC_MR_NIL };
	struct unic_msg *m = &qp->rsp.msg;
	uint64_t va = unic_fastpath_expect_va(w);
	int r;

	r = unic_access(&nic->memory, unic_get_word(w, UNIC_W_EXT + 2), qp->pd,
			UNIC_MR_REMOTE_WRITE, va, len, &piece);
	m->iova = va;
	m->bus = piece.bus;
	m->left = len;
	m->placed = 0;
	m->mr = piece.mr;
	m->direct = piece.len == len &&
		    !unic_mr_cached_at(&nic->memory, piece.mr);
	return r;
}

/* Where @len bytes go that lie @off behind the next one; NULL: not for the fast path.
 * @cached: the entries of the region come and go. */
static inline uint8_t *map_target(struct unic_transport *nic,
				  const struct unic_msg *m, uint32_t off,
				  uint32_t len, bool cached)
{
	struct unic_xlate piece;
	uint64_t at = m->iova + off;

	if (cached) {
		if (!unic_xlate_cached(&nic->memory, m->mr, at, len, &piece))
			return NULL;
	} else if (m->direct) {
		return unic_port_window(nic->port, m->bus + off, len);
	} else if (!unic_xlate_near(&nic->memory, m->mr, at, len, &piece) ||
		   piece.len != len) {
		return NULL;
	}
	return unic_port_window(nic->port, piece.bus, len);
}

static COLD uint8_t *map_cached_target(struct unic_transport *nic,
				       const struct unic_msg *m, uint32_t len)
{
	return map_target(nic, m, 0, len, true);
}

/* Place the payload of @frame, @ext bytes behind BTH: the first or the last
 * packet of the WRITE that rsp.msg is. */
static enum unic_fastpath place_end(struct unic_transport *nic,
				    struct unic_qp_ctx *qp,
				    const struct unic_expect *e,
				    const uint8_t *frame, uint32_t ext,
				    bool last)
{
	const uint32_t *w = (const void *)(frame + 2);
	struct unic_msg *m = &qp->rsp.msg;
	uint8_t *to = map_target(nic, m, 0, e->len, false);

	if (unlikely(!to) && UNIC_TABLE_READS)
		to = map_cached_target(nic, m, e->len);
	if (unlikely(!to))
		return UNIC_FASTPATH_NOT;
	maybe_trace_rx(nic, qp, e, frame);
	unic_window_write(to, frame + UNIC_EXT_OFF + ext, e->len);
	m->kind = UNIC_MSG_WRITE;
	m->bytes = e->len;
	m->with = 0;
	m->solicited = false;
	m->last = last;
	m->ackreq = unic_get_word(w, UNIC_W_BTH_APSN) >> 31;
	nic->dma.bytes += e->len;
	unic_responder_placed(nic, qp, 0);
	return UNIC_FASTPATH_DONE;
}

static enum unic_fastpath write_first(struct unic_transport *nic,
				      struct unic_qp_ctx *qp,
				      const struct unic_rx *rx,
				      const struct unic_expect *e)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t len = unic_get_word(w, UNIC_W_EXT + 3);
	struct unic_rsp *rsp = &qp->rsp;
	int r;

	if (unlikely(!unic_fastpath_in_sequence(
			     rsp, unic_get_word(w, UNIC_W_BTH_APSN)) ||
		     rsp->msg.kind || len <= e->len || len > UNIC_MSG_MAX))
		return UNIC_FASTPATH_NOT;
	r = begin_fast_write(nic, qp, w, len);
	if (unlikely(r))
		return refuse_write(nic, qp, e, rx->frame, r);
	return place_end(nic, qp, e, rx->frame, RETH_BYTES, false);
}

static enum unic_fastpath write_last(struct unic_transport *nic,
				     struct unic_qp_ctx *qp,
				     const struct unic_rx *rx,
				     const struct unic_expect *e)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	struct unic_rsp *rsp = &qp->rsp;

	if (unlikely(!unic_fastpath_in_sequence(
			     rsp, unic_get_word(w, UNIC_W_BTH_APSN)) ||
		     rsp->msg.kind != UNIC_MSG_WRITE ||
		     rsp->msg.left != e->len))
		return UNIC_FASTPATH_NOT;
	return place_end(nic, qp, e, rx->frame, 0, true);
}

/* @bytes of the message are placed. */
static inline void advance_msg(struct unic_msg *m, uint32_t bytes)
{
	m->iova += bytes;
	m->bus += bytes;
	m->left -= bytes;
	m->placed += bytes;
}

/* As place_middles(). @cached: as of map_target(). */
static ALWAYS_INLINE uint32_t place_middles_of(struct unic_transport *nic,
					       const struct burst *b,
					       const struct unic_expect *e,
					       struct unic_msg *m,
					       uint32_t *apsn, bool cached)
{
	uint32_t n = b->sound, psn = *apsn, acks = 0, len = e->len, off = 0;
	const uint8_t *frame = b->frame;

	do {
		const uint32_t *w = (const void *)(frame + 2);
		uint32_t is = unic_get_word(w, UNIC_W_BTH_APSN);
		uint8_t *to;

		if (unlikely((is ^ psn) << 8 || len >= m->left - off ||
			     !unic_headers_same(frame, &e->h)))
			break;
		to = map_target(nic, m, off, len, cached);
		if (unlikely(!to))
			break;
		unic_window_write(to, frame + UNIC_EXT_OFF, len);
		off += len;
		acks |= is;
		psn++;
		frame += b->stride;
	} while (--n);
	advance_msg(m, off);
	if (b->sound != n)
		*apsn = acks;
	return b->sound - n;
}

static COLD uint32_t place_cached_middles(struct unic_transport *nic,
					  const struct burst *b,
					  const struct unic_expect *e,
					  struct unic_msg *m, uint32_t *apsn)
{
	return place_middles_of(nic, b, e, m, apsn, true);
}

/* As place_writes(), for middle packets of the WRITE @m. */
static CALLED uint32_t place_middles(struct unic_transport *nic,
				     const struct burst *b,
				     const struct unic_expect *e,
				     struct unic_msg *m, uint32_t *apsn)
{
	uint32_t done = place_middles_of(nic, b, e, m, apsn, false);

	if (unlikely(!done) && UNIC_TABLE_READS)
		done = place_cached_middles(nic, b, e, m, apsn);
	return done;
}

static enum unic_fastpath write_middles(struct unic_transport *nic,
					struct unic_qp_ctx *qp,
					const struct unic_rx *rx,
					const struct unic_expect *e,
					uint32_t max, uint32_t *n)
{
	uint32_t apsn = qp->rsp.psn, done;
	struct burst b;

	if (unlikely(qp->rsp.msg.kind != UNIC_MSG_WRITE))
		return UNIC_FASTPATH_NOT;
	burst_take(nic, rx, max, &b);
	done = place_middles(nic, &b, e, &qp->rsp.msg, &apsn);
	return burst_done(nic, qp, e, &b, done, apsn, n);
}

/* ------------------------------------------------------ SENDs of one packet */

static CALLED enum unic_fastpath receive_send(struct unic_transport *nic,
					      struct unic_qp_ctx *qp,
					      const struct unic_rx *rx,
					      const struct unic_expect *e)
{
	const uint32_t *w = (const void *)(rx->frame + 2);
	uint32_t apsn = unic_get_word(w, UNIC_W_BTH_APSN);
	struct unic_rsp *rsp = &qp->rsp;

	if (unlikely(!unic_fastpath_in_sequence(rsp, apsn) || rsp->msg.kind ||
		     (nic->trace.mask & (UNIC_TG_OF_RX | UNIC_TG_OF_WC)) ||
		     !unic_fastpath_expect_headers(rx, e) ||
		     !unic_fastpath_receive(nic, qp, rx->frame, e)))
		return UNIC_FASTPATH_NOT;
	rsp->nak_sent = false;
	if (apsn >> 31 && !rsp->ack)
		unic_responder_owe_ack(nic, qp);
	return UNIC_FASTPATH_DONE;
}

/* ---------------------------------------------------------------- any frame */

static enum unic_fastpath handle_ack(struct unic_transport *nic,
				     struct unic_qp_ctx *qp,
				     const struct unic_rx *rx,
				     const struct unic_expect *e)
{
	const uint32_t *w = (const void *)(rx->frame + 2);

	maybe_trace_rx(nic, qp, e, rx->frame);
	unic_requester_ack(nic, qp,
			   unic_get_word(w, UNIC_W_BTH_APSN) & UNIC_PSN_MASK,
			   (uint8_t)(unic_get_word(w, UNIC_W_EXT) >> 24));
	return UNIC_FASTPATH_DONE;
}

/* One frame of a kind that comes less often. */
static CALLED enum unic_fastpath handle_rare_frame(struct unic_transport *nic,
						   struct unic_qp_ctx *qp,
						   const struct unic_rx *rx,
						   const struct unic_expect *e)
{
	if (unlikely(!unic_fastpath_expect_headers(rx, e)))
		return UNIC_FASTPATH_NOT;
	switch (e->kind) {
	case UNIC_EXPECT_FIRST:
		return write_first(nic, qp, rx, e);
	case UNIC_EXPECT_LAST:
		return write_last(nic, qp, rx, e);
	default:
		break;
	}
	if (UNIC_LONE && e->kind != UNIC_EXPECT_ACK)
		return UNIC_FASTPATH_NOT; /* it is not alone */
	return handle_ack(nic, qp, rx, e);
}

enum unic_fastpath unic_fastpath_rx(struct unic_transport *nic,
				    const struct unic_rx *rx, uint32_t *n)
{
	const struct unic_expect *e = nic->expected;
	uint32_t max = *n;
	struct unic_qp_ctx *qp;

	*n = 1;
	if (unlikely(!unic_fastpath_expect_kind(rx, e))) {
		if (!unic_fastpath_expect_find(nic, rx))
			return UNIC_FASTPATH_NOT;
		e = nic->expected;
	}
	if (unlikely(!has_valid_icrc(rx)))
		return UNIC_FASTPATH_NOT;
	qp = &nic->qps.qp[e->qp];
	UNIC_IN_REGISTER(qp);
	if (e->kind == UNIC_EXPECT_ONLY)
		return write_only(nic, qp, rx, e, max, n);
	if (e->kind == UNIC_EXPECT_MIDDLE)
		return write_middles(nic, qp, rx, e, max, n);
	if (UNIC_LONE && e->kind == UNIC_EXPECT_SEND)
		return receive_send(nic, qp, rx, e);
	return handle_rare_frame(nic, qp, rx, e);
}

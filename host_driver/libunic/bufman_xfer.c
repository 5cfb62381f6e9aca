/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman_xfer.c - RDMA transfers of any length, whose regions may be evicted.
 *
 * Secret: the window of pieces. By the measured rate, the pieces in flight complete
 * within T/2. A piece that an eviction cut is posted again with a new registration. What
 * becomes of a queue pair that dies of it is the queue pair's own (unic_qp_cut).
 */
#include <errno.h>
#include <string.h>

#include "bufman.h"
#include "error.h"
#include "mend.h"
#include "wait.h"

#define STALL_MS    10000  /* unless the caller has another */
#define RETRIES_MAX 10000u /* of one transfer */
#define BATCH	    16
/* Room for pieces in flight, and for rests of pieces that were cut in two. */
#define PIECES (4u * UNIC_BM_WINDOW_MAX)

enum piece_state {
	PIECE_FREE,
	PIECE_WANTED, /* to be posted (again) */
	PIECE_FLYING,
};

struct piece {
	uint64_t off;
	uint32_t len;
	enum piece_state state;
	struct unic_bm_hold hold;
};

struct window {
	struct unic_bm *bm;
	struct unic_pace *pace;
	struct unic_bm_xfer *x;
	struct piece piece[PIECES];
	unsigned int size; /* most in flight */
	unsigned int flying;
	bool stale; /* the remote region was evicted: get another key */
	uint64_t flying_bytes;
	uint64_t next; /* first byte not in a piece */
	unsigned int retries;
	uint64_t mark_ns; /* start of the interval being measured */
	uint64_t mark_bytes;
	int err; /* not 0: post no more */
};

static struct piece *find_piece(struct window *w, enum piece_state state)
{
	unsigned int i;

	for (i = 0; i < PIECES; i++) {
		if (w->piece[i].state == state)
			return &w->piece[i];
	}
	return NULL;
}

/* The next piece to post: one to be repeated, else the next bytes. NULL: none. */
static struct piece *next_piece(struct window *w)
{
	uint64_t left = w->x->len - w->next;
	uint32_t most = unic_pace_piece(w->pace, w->size);
	struct piece *p = find_piece(w, PIECE_WANTED);

	if (p)
		return p;
	p = find_piece(w, PIECE_FREE);
	if (!p || !left)
		return NULL;
	if (left > most)
		unic_bm_count(w->bm, splits, 1);
	p->off = w->next;
	p->len = left > most ? most : (uint32_t)left;
	p->state = PIECE_WANTED;
	w->next += p->len;
	return p;
}

/*
 * Cut @p to @len bytes, at the end of its region. The rest becomes a piece of its own;
 * the newest piece gives it back to w->next. False: there is no place for the rest.
 */
static bool shorten_piece(struct window *w, struct piece *p, uint32_t len)
{
	struct piece *rest;

	if (p->off + p->len == w->next) {
		w->next = p->off + len;
	} else {
		rest = find_piece(w, PIECE_FREE);
		if (!rest)
			return false;
		rest->off = p->off + len;
		rest->len = p->len - len;
		rest->state = PIECE_WANTED;
	}
	p->len = len;
	return true;
}

static void drop_piece_hold(struct window *w, struct piece *p)
{
	unic_bm_drop(w->bm, &p->hold);
}

/* Post @p. 0; -EBUSY: a piece must complete first; else the transfer fails. */
static int post_piece(struct window *w, struct piece *p)
{
	struct unic_bm_xfer *x = w->x;
	uint8_t *local = (uint8_t *)x->local + p->off;
	struct unic_sg sg;
	struct unic_send_wr wr = {
		.wr_id = (uint64_t)(p - w->piece),
		.opcode = x->opcode,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 1,
		.remote = x->remote + p->off,
		.rkey = x->rkey,
		.sg = &sg,
	};
	uint32_t us = unic_pace_expect(w->pace, w->flying_bytes + p->len);
	int ret;

	if (w->flying && w->flying_bytes + p->len > unic_pace_piece(w->pace, 1))
		return -EBUSY; /* it would take longer than T/2 */
	ret = unic_bm_hold(w->bm, local, p->len, us, w->flying > 0, &p->hold);
	if (ret)
		return ret;
	if (p->hold.len < p->len &&
	    !shorten_piece(w, p, (uint32_t)p->hold.len)) {
		drop_piece_hold(w, p);
		return -EBUSY;
	}
	sg = (struct unic_sg){ .addr = (void *)(uintptr_t)p->hold.iova,
			       .len = p->len,
			       .lkey = p->hold.mr->stag };
	ret = unic_post_send(x->qp, &wr, 1);
	if (ret != 1) {
		drop_piece_hold(w, p);
		return ret == -EAGAIN && w->flying ? -EBUSY : ret;
	}
	p->state = PIECE_FLYING;
	w->flying++;
	w->flying_bytes += p->len;
	return 0;
}

/* Get another remote key. Called without pieces in flight, because the callback may use
 * the same connection. */
static void refresh_rkey(struct window *w)
{
	struct unic_bm_xfer *x = w->x;

	w->stale = false;
	if (!x->refresh)
		w->err = unic_fail(-EOWNERDEAD, "the remote region was "
						"evicted");
	else
		w->err = x->refresh(x->arg, &x->remote, &x->rkey);
}

static void fill_window(struct window *w)
{
	struct piece *p;
	int err;

	if (w->stale && w->flying)
		return;
	if (w->stale && !w->err)
		refresh_rkey(w);
	while (!w->err && w->flying < w->size && (p = next_piece(w))) {
		err = post_piece(w, p);
		if (err == -EBUSY && w->flying)
			return;
		if (err) {
			w->err = err;
			return;
		}
	}
}

/* Post @p again. If it had begun, the pieces were too long for T: later ones are shorter. */
static void requeue_piece(struct window *w, struct piece *p,
			  const struct unic_wc *wc)
{
	if (wc->detail == UNIC_WD_BUSY)
		unic_pace_cut(w->pace);
	if (++w->retries > RETRIES_MAX)
		w->err = unic_fail(-EIO, "the transfer was evicted %u times",
				   w->retries);
	p->state = PIECE_WANTED;
}

static void finish_piece(struct window *w, struct piece *p,
			 const struct unic_wc *wc)
{
	switch (wc->status) {
	case UNIC_WC_SUCCESS:
		p->state = PIECE_FREE;
		w->mark_bytes += p->len;
		unic_bm_count(w->bm, ops, 1);
		unic_bm_count(w->bm, bytes, p->len);
		return;
	case UNIC_WC_EVICTED:
		unic_bm_count(w->bm, retries_local, 1);
		requeue_piece(w, p, wc);
		return;
	case UNIC_WC_REM_EVICTED:
		unic_bm_count(w->bm, retries_remote, 1);
		requeue_piece(w, p, wc);
		w->stale = true;
		return;
	default:
		break;
	}
	p->state = PIECE_FREE;
	if (w->err)
		return; /* the first error is reported */
	w->x->status = wc->status;
	unic_pace_cut(w->pace); /* later pieces are shorter */
	w->err = unic_fail(-EIO, "the transfer failed at byte %llu: %s%s%s",
			   (unsigned long long)p->off,
			   unic_wc_status_str(wc->status),
			   wc->detail ? ", " : "",
			   unic_wc_detail_str(wc->detail));
}

static void handle_piece_wc(struct window *w, const struct unic_wc *wc)
{
	struct piece *p;

	if (wc->wr_id >= PIECES || w->piece[wc->wr_id].state != PIECE_FLYING)
		return; /* of no piece */
	p = &w->piece[wc->wr_id];
	drop_piece_hold(w, p);
	w->flying--;
	w->flying_bytes -= p->len;
	finish_piece(w, p, wc);
}

static void measure_rate(struct window *w)
{
	uint64_t now = unic_now_ns();

	if (w->mark_bytes >= 256 * 1024 && now > w->mark_ns) {
		unic_pace_measured(w->pace, w->mark_bytes, now - w->mark_ns);
		w->mark_ns = now;
		w->mark_bytes = 0;
	}
}

/* Handle what completes next. An error: none comes any more. */
static int wait_completions(struct window *w)
{
	struct unic_wc wc[BATCH];
	int n = unic_poll_cq(w->x->cq, BATCH, wc);
	int err;
	int i;

	if (!n) {
		err = unic_wait_cq(w->x->cq, w->x->timeout_ms
						     ? (int)w->x->timeout_ms
						     : STALL_MS);
		/* a queue pair that is being mended has bounds of its own */
		if (err && (err != -ETIME || !unic_mend_at_work(w->x->qp)))
			return err;
		n = unic_poll_cq(w->x->cq, BATCH, wc);
	}
	for (i = 0; i < n; i++)
		handle_piece_wc(w, &wc[i]);
	measure_rate(w);
	return 0;
}

/* The NIC has stopped answering: drop all holds. The QP is unusable. */
static void abort_window(struct window *w, int err)
{
	struct piece *p;

	w->err = err;
	while ((p = find_piece(w, PIECE_FLYING))) {
		p->state = PIECE_FREE;
		drop_piece_hold(w, p);
	}
	w->flying = 0;
}

int unic_bm_transfer(struct unic_bm *bm, struct unic_bm_xfer *x)
{
	struct window w = {
		.bm = bm,
		.pace = unic_bm_pace(bm),
		.x = x,
		.size = x->window ? x->window : 8,
		.mark_ns = unic_now_ns(),
	};
	int err;

	if (w.size > UNIC_BM_WINDOW_MAX ||
	    (x->opcode != UNIC_WR_WRITE && x->opcode != UNIC_WR_READ))
		return unic_fail(-EINVAL,
				 "transfers are WRITEs or READs in a "
				 "window of at most %u",
				 UNIC_BM_WINDOW_MAX);
	x->status = UNIC_WC_SUCCESS;
	fill_window(&w);
	while (w.flying) {
		err = wait_completions(&w);
		if (err)
			abort_window(&w, err);
		fill_window(&w);
	}
	return w.err;
}

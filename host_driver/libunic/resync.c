/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * resync.c - after lost upcalls: make the missing events from the states that the driver
 * lists. All functions but unic_list_objects() run under evt_lock.
 */
#include "context.h"
#include "event.h"
#include "mend.h"
#include "resync.h"

/* ------------------------------------------------------------------ regions */

/* Bring a region to the state in @row, and queue the event that the change had. */
static void reconcile_region(struct unic_ctx *ctx,
			     const struct unic_ctl_region *row)
{
	struct unic_mem_region *r =
		unic_event_region(ctx, unic_from_le32(row->user));
	struct unic_event ev = { .entries = unic_from_le32(row->entries) };
	uint32_t state = unic_from_le32(row->state);

	if (!r)
		return;
	r->resync = (uint32_t)ctx->count.resyncs;
	ev.mr = &r->mr;
	if (r->life == UNIC_MR_WAITING && state != UNIC_CTL_R_WAITING &&
	    r->known) {
		r->mr.stag = unic_from_le32(row->stag);
		r->mr.entries = ev.entries;
		unic_event_life(r, UNIC_MR_LIVE);
		ev.type = UNIC_EV_GRANTED;
		unic_event_put(ctx, &ev);
	}
	if (state == UNIC_CTL_R_ACTIVE && r->life == UNIC_MR_ASKED)
		unic_event_life(r,
				UNIC_MR_LIVE); /* a reset voided the notice */
	if (state == UNIC_CTL_R_NOTIFIED && r->life == UNIC_MR_LIVE) {
		r->notice_seq = unic_from_le32(row->notice_seq);
		ev.seq = r->notice_seq;
		ev.deadline_ns = unic_from_le64(row->deadline_ns);
		__atomic_store_n(&r->deadline_ns, ev.deadline_ns,
				 __ATOMIC_RELAXED);
		unic_event_life(r, UNIC_MR_ASKED);
		ev.type = UNIC_EV_NOTICE;
		unic_event_put(ctx, &ev);
	} else if (state == UNIC_CTL_R_EVICTED && r->life != UNIC_MR_GONE) {
		unic_event_life(r, UNIC_MR_GONE);
		ev.type = UNIC_EV_EVICTED;
		unic_event_put(ctx, &ev);
	}
}

#define ROWS ((UNIC_CTL_MSG_MAX - UNIC_CTL_BYTES) / 32u)

/* Handle one page of the driver's list. @after: in, the id to go on from; out, that of
 * the next page, or 0: no more. False: the driver did not answer. */
static bool resync_page(struct unic_ctx *ctx, uint32_t *after)
{
	union {
		struct unic_ctl_resync req;
		struct unic_ctl_resync_reply reply;
	} rec = { .req = { .after = unic_to_le32(*after) } };
	struct unic_ctl_region row[ROWS];
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = row,
				       .reply_room = sizeof(row) };
	size_t n;
	size_t i;

	if (unic_ctl(ctx, UNIC_CTL_RESYNC, &call) != UNIC_ST_OK)
		return false;
	n = call.reply_bytes / sizeof(row[0]);
	/* The first upcall, number 0, has seq 1. */
	if (!*after)
		unic_event_next(ctx, unic_from_le32(rec.reply.next_seq) - 1);
	for (i = 0; i < n; i++)
		reconcile_region(ctx, &row[i]);
	*after = n && rec.reply.more ? unic_from_le32(row[n - 1].id) : 0;
	return true;
}

/* @r is not in the driver's list: a lost upcall reported the end of its wait, or its
 * eviction. */
static void end_lost_region(struct unic_ctx *ctx, struct unic_mem_region *r)
{
	bool waited = r->life == UNIC_MR_WAITING;
	struct unic_event ev = {
		.type = waited ? UNIC_EV_WAIT_ENDED : UNIC_EV_EVICTED,
		.mr = &r->mr,
		.status = waited ? UNIC_ST_NO_WAIT : 0,
		.entries = r->mr.entries,
	};

	r->known = false;
	r->wait_status = ev.status;
	unic_event_life(r, UNIC_MR_GONE);
	unic_event_put(ctx, &ev);
}

static void end_unlisted_regions(struct unic_ctx *ctx)
{
	struct unic_mem_region *r;
	uint32_t i;

	for (i = 0; i < UNIC_MR_HANDLES; i++) {
		r = ctx->region[i];
		if (r && r->known &&
		    !__atomic_load_n(&r->leaving, __ATOMIC_ACQUIRE) &&
		    r->life != UNIC_MR_GONE &&
		    r->resync != (uint32_t)ctx->count.resyncs)
			end_lost_region(ctx, r);
	}
}

/* ------------------------------------------------------------- other objects */

/* The missing event of a connection that is established, closed or requested. False: the
 * application has had the event, or there is none. */
static bool build_missed_conn(struct unic_ctx *ctx,
			      const struct unic_ctl_object *row,
			      struct unic_event *ev)
{
	uint32_t state = unic_from_le32(row->state);
	uint32_t of = unic_from_le32(row->of);
	bool is_up = state == UNIC_CTL_CONN_ESTABLISHED;

	ev->conn = unic_from_le32(row->id);
	ev->peer_ipv4 = unic_from_le32(row->detail);
	if (state == UNIC_CTL_CONN_REQUESTED)
		return unic_event_request(ctx, of, ev->conn, ev);
	if (!is_up && state != UNIC_CTL_CONN_CLOSED)
		return false;
	ev->qp = unic_event_qp(ctx, unic_from_le32(row->user), of);
	ev->type = is_up ? UNIC_EV_CONNECTED : UNIC_EV_DISCONNECTED;
	return unic_event_conn(ev);
}

static bool build_missed_event(struct unic_ctx *ctx,
			       const struct unic_ctl_object *row,
			       struct unic_event *ev)
{
	uint32_t id = unic_from_le32(row->id), user = unic_from_le32(row->user);
	uint32_t state = unic_from_le32(row->state);

	switch (unic_from_le32(row->type)) {
	case UNIC_CTL_O_CQ:
		ev->type = UNIC_EV_CQ_ERROR;
		ev->cq = state ? unic_event_cq(ctx, user, id) : NULL;
		if (!ev->cq || ev->cq->overrun)
			return false;
		unic_cq_overran(ev->cq);
		return true;
	case UNIC_CTL_O_QP:
		ev->type = UNIC_EV_QP_ERROR;
		ev->status = UNIC_WC_WR_FLUSH_ERR; /* the cause is lost */
		ev->qp = unic_event_qp(ctx, user, id);
		if (ev->qp && state != UNIC_QPS_ERR)
			unic_qp_untold(ev->qp, UNIC_TOLD_ERROR);
		return ev->qp && state == UNIC_QPS_ERR &&
		       !unic_qp_knows(ev->qp, UNIC_TOLD_END) &&
		       !unic_mend_error(ev->qp, ev->status) &&
		       !unic_qp_told(ev->qp, UNIC_TOLD_ERROR);
	case UNIC_CTL_O_CONN:
		return build_missed_conn(ctx, row, ev);
	default: /* regions: reconcile_region(); tokens: no event */
		return false;
	}
}

/* Get one page of the list of all objects; @after as in resync_page(). Returns how many
 * rows, or -errno. */
static int objects_page(struct unic_ctx *ctx, uint32_t *after,
			struct unic_ctl_object *row, size_t bytes)
{
	union {
		struct unic_ctl_resync req;
		struct unic_ctl_resync_reply reply;
	} rec = { .req = { .after = unic_to_le32(*after),
			   .what = unic_to_le32(UNIC_CTL_RESYNC_OBJECTS) } };
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = row,
				       .reply_room = bytes };
	int n, status = unic_ctl(ctx, UNIC_CTL_RESYNC, &call);

	if (status)
		return unic_fail_status("list objects", status);
	n = (int)(call.reply_bytes / sizeof(*row));
	*after = n && rec.reply.more ? unic_from_le32(row[n - 1].id) : 0;
	return n;
}

void unic_resync_objects(struct unic_ctx *ctx)
{
	struct unic_ctl_object row[ROWS];
	struct unic_event resynced = { .type = UNIC_EV_RESYNC };
	uint32_t after = 0;
	int i, n;

	do {
		n = objects_page(ctx, &after, row, sizeof(row));
		for (i = 0; i < n; i++) {
			struct unic_event ev = { .type = 0 };

			if (build_missed_event(ctx, &row[i], &ev))
				unic_event_put(ctx, &ev);
		}
	} while (n > 0 && after);
	unic_event_put(ctx, &resynced);
}

int unic_list_objects(struct unic_ctx *ctx, struct unic_object *out, int max)
{
	struct unic_ctl_object row[ROWS];
	uint32_t after = 0;
	int i, n, all = 0;

	do {
		n = objects_page(ctx, &after, row, sizeof(row));
		for (i = 0; i < n; i++, all++)
			if (all < max)
				out[all] = (struct unic_object){
					.id = unic_from_le32(row[i].id),
					.type = unic_from_le32(row[i].type),
					.state = unic_from_le32(row[i].state),
					.number = unic_from_le32(row[i].number),
					.of = unic_from_le32(row[i].of),
					.detail = unic_from_le32(row[i].detail),
				};
	} while (n > 0 && after);
	return n < 0 ? n : all;
}

bool unic_resync_regions(struct unic_ctx *ctx)
{
	uint32_t next = ctx->upcall_next;
	uint32_t after = 0;
	bool answered;

	ctx->count.resyncs++;
	do {
		answered = resync_page(ctx, &after);
	} while (answered && after);
	if (answered)
		end_unlisted_regions(ctx);
	/* Without an answer, skip one upcall, so that the caller makes progress. */
	if (ctx->upcall_next == next)
		unic_event_next(ctx, next + 1);
	return answered;
}

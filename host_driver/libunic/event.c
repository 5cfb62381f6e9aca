/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * event.c - upcalls: from the ring that the driver writes to events of the
 * application, and the state of regions on the way.
 *
 * Secret: the ring protocol (abi/unic_ctl.h) with its resync when upcalls were
 * lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "queue.h"

struct unic_note {
	struct unic_note *next;
	struct unic_event ev;
};

static int watch(struct unic_ctx *ctx, int fd, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.fd = fd };

	return epoll_ctl(ctx->event_fd, EPOLL_CTL_ADD, fd, &e);
}

static void init_lock(struct unic_ctx *ctx)
{
	pthread_mutexattr_t attr;

	/* Recursive: answers to upcalls are made under it, too. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&ctx->evt_lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int unic_event_watch(struct unic_ctx *ctx)
{
	if (watch(ctx, ctx->upcall_efd, EPOLLIN) ||
	    watch(ctx, unic_conn_fd(ctx->conn), EPOLLRDHUP))
		return -errno;
	return 0;
}

void unic_event_unwatch(struct unic_ctx *ctx)
{
	epoll_ctl(ctx->event_fd, EPOLL_CTL_DEL, ctx->upcall_efd, NULL);
	epoll_ctl(ctx->event_fd, EPOLL_CTL_DEL, unic_conn_fd(ctx->conn), NULL);
}

int unic_event_init(struct unic_ctx *ctx)
{
	init_lock(ctx);
	ctx->notes_end = &ctx->notes;
	ctx->note_efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ctx->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ctx->note_efd < 0 || ctx->event_fd < 0 ||
	    watch(ctx, ctx->note_efd, EPOLLIN) || unic_event_watch(ctx)) {
		int err = -errno;

		unic_event_fini(ctx);
		return unic_fail(err, "no descriptors for events: %s",
				 strerror(-err));
	}
	return 0;
}

void unic_event_fini(struct unic_ctx *ctx)
{
	struct unic_note *n;

	while ((n = ctx->notes)) {
		ctx->notes = n->next;
		free(n);
	}
	if (ctx->note_efd >= 0)
		close(ctx->note_efd);
	if (ctx->event_fd >= 0)
		close(ctx->event_fd);
	ctx->note_efd = ctx->event_fd = -1;
	pthread_mutex_destroy(&ctx->evt_lock);
}

void unic_event_forked(struct unic_ctx *ctx)
{
	if (ctx->note_efd >= 0)
		close(ctx->note_efd);
	if (ctx->event_fd >= 0)
		close(ctx->event_fd);
	ctx->note_efd = ctx->event_fd = -1;
	init_lock(ctx);
}

/* A region that an event names stays until the event is acknowledged. */
static void enqueue(struct unic_ctx *ctx, const struct unic_event *ev)
{
	struct unic_note *n = calloc(1, sizeof(*n));
	uint64_t one = 1;

	if (!n)
		return; /* the state of the region tells it still */
	n->ev = *ev;
	if (ev->mr)
		unic_region(ev->mr)->refs++;
	*ctx->notes_end = n;
	ctx->notes_end = &n->next;
	if (write(ctx->note_efd, &one, sizeof(one)) < 0)
		ctx->count.ring_failed++;
}

void unic_event_purge(struct unic_ctx *ctx, const void *obj)
{
	struct unic_note **p = &ctx->notes;
	struct unic_note *n;

	while ((n = *p)) {
		if (n->ev.mr != obj && (void *)n->ev.qp != obj &&
		    (void *)n->ev.cq != obj && (void *)n->ev.listener != obj) {
			p = &n->next;
			continue;
		}
		*p = n->next;
		if (n->ev.mr)
			unic_region_put(ctx, unic_region(n->ev.mr));
		free(n);
	}
	ctx->notes_end = p;
}

/* ----------------------------------------------- one upcall, one event */

static struct unic_region *region_of(struct unic_ctx *ctx, uint32_t handle)
{
	struct unic_region *r;

	if ((handle & 0xffff) >= UNIC_MR_HANDLES)
		return NULL;
	r = ctx->region[handle & 0xffff];
	return r && r->handle == handle ? r : NULL;
}

static void set_life(struct unic_region *r, enum unic_mr_life life)
{
	__atomic_store_n(&r->life, (uint32_t)life, __ATOMIC_RELEASE);
}

static bool on_notice(struct unic_ctx *ctx, const void *rec,
		      struct unic_event *ev)
{
	const struct unic_upcall_mr *up = rec;
	struct unic_region *r = region_of(ctx, unic_from_le32(up->user));

	if (!r || r->life == UNIC_MR_GONE)
		return false;
	ev->type = UNIC_EV_NOTICE;
	ev->mr = &r->mr;
	ev->seq = unic_from_le32(up->notice_seq);
	ev->reason = up->hdr.reason;
	ev->entries = unic_from_le32(up->entries);
	ev->dependents = unic_from_le32(up->dependents);
	ev->rank = unic_from_le32(up->rank);
	ev->pain = unic_from_le32(up->pain);
	ev->deadline_ns = unic_from_le64(up->deadline_ns);
	r->notice_seq = ev->seq;
	__atomic_store_n(&r->deadline_ns, ev->deadline_ns, __ATOMIC_RELAXED);
	set_life(r, UNIC_MR_ASKED);
	return true;
}

static bool on_evicted(struct unic_ctx *ctx, const void *rec,
		       struct unic_event *ev)
{
	const struct unic_upcall_mr *up = rec;
	struct unic_region *r = region_of(ctx, unic_from_le32(up->user));

	if (!r)
		return false;
	ev->type = UNIC_EV_EVICTED;
	ev->mr = &r->mr;
	ev->seq = unic_from_le32(up->notice_seq);
	ev->reason = up->hdr.reason;
	ev->entries = unic_from_le32(up->entries);
	ev->flags = unic_from_le32(up->flags);
	set_life(r, UNIC_MR_GONE);
	return true;
}

static bool on_wait(struct unic_ctx *ctx, const void *rec,
		    struct unic_event *ev)
{
	const struct unic_upcall_wait *up = rec;
	struct unic_region *r = region_of(ctx, unic_from_le32(up->user));
	bool granted = up->hdr.type == UNIC_UP_GRANTED;

	if (!r || r->life != UNIC_MR_WAITING)
		return false;
	ev->type = granted ? UNIC_EV_GRANTED : UNIC_EV_WAIT_ENDED;
	ev->mr = &r->mr;
	ev->status = unic_from_le32(up->status);
	ev->waited_us = unic_from_le32(up->waited_us);
	ev->entries = unic_from_le32(up->entries);
	if (granted) {
		r->mr.id = unic_from_le32(up->hdr.id);
		r->mr.stag = unic_from_le32(up->stag);
		r->mr.entries = ev->entries;
	}
	r->known = granted;
	r->wait_status = ev->status;
	set_life(r, granted ? UNIC_MR_LIVE : UNIC_MR_GONE);
	return true;
}

static bool on_obj(struct unic_ctx *ctx, const void *rec, struct unic_event *ev)
{
	const struct unic_upcall_obj *up = rec;
	uint32_t row = unic_from_le32(up->user);
	uint32_t id = unic_from_le32(up->hdr.id);

	ev->status = unic_from_le32(up->detail);
	switch (up->hdr.type) {
	case UNIC_UP_QP_ERROR:
		ev->type = UNIC_EV_QP_ERROR;
		ev->qp = row < UNIC_DB_OBJECTS ? ctx->qp[row] : NULL;
		return ev->qp && ev->qp->id == id;
	case UNIC_UP_CQ_ERROR:
		ev->type = UNIC_EV_CQ_ERROR;
		ev->cq = row < UNIC_DB_OBJECTS ? ctx->cq[row] : NULL;
		return ev->cq && ev->cq->id == id;
	case UNIC_UP_DB_ERROR:
		ev->type = UNIC_EV_DB_ERROR;
		return true;
	case UNIC_UP_RESET:
		unic_ctx_dead(ctx);
		return false; /* told by tell_reset(), once */
	default:
		return false;
	}
}

static bool on_token(struct unic_ctx *ctx, const void *rec,
		     struct unic_event *ev)
{
	const struct unic_upcall_token *up = rec;

	(void)ctx;
	ev->type = UNIC_EV_TOKEN_END;
	ev->token = unic_from_le32(up->index);
	ev->status = unic_from_le32(up->end);
	return true;
}

static bool on_conn(struct unic_ctx *ctx, const void *rec,
		    struct unic_event *ev)
{
	const struct unic_upcall_conn *up = rec;
	uint32_t row = unic_from_le32(up->user);
	struct unic_listener *l;

	ev->conn = unic_from_le32(up->hdr.id);
	ev->peer_ipv4 = unic_from_le32(up->peer_ipv4);
	if (up->hdr.type == UNIC_UP_CONN_REQUEST) {
		uint32_t id = unic_from_le32(up->listener);

		for (l = ctx->listeners; l && l->id != id; l = l->next)
			;
		ev->type = UNIC_EV_CONNECT;
		ev->listener = l;
		return l != NULL;
	}
	ev->type = up->hdr.type == UNIC_UP_ESTABLISHED ? UNIC_EV_CONNECTED
						       : UNIC_EV_DISCONNECTED;
	ev->qp = row < UNIC_DB_OBJECTS ? ctx->qp[row] : NULL;
	return ev->qp && ev->qp->id == unic_from_le32(up->qp);
}

static bool (*const handlers[])(struct unic_ctx *, const void *,
				struct unic_event *) = {
	[UNIC_UP_NOTICE] = on_notice,	 [UNIC_UP_EVICTED] = on_evicted,
	[UNIC_UP_GRANTED] = on_wait,	 [UNIC_UP_WAIT_ENDED] = on_wait,
	[UNIC_UP_QP_ERROR] = on_obj,	 [UNIC_UP_CQ_ERROR] = on_obj,
	[UNIC_UP_TOKEN_END] = on_token,	 [UNIC_UP_CONN_REQUEST] = on_conn,
	[UNIC_UP_ESTABLISHED] = on_conn, [UNIC_UP_DISCONNECTED] = on_conn,
	[UNIC_UP_RESET] = on_obj,	 [UNIC_UP_DB_ERROR] = on_obj,
};

static void deliver(struct unic_ctx *ctx, const void *rec)
{
	const struct unic_upcall_hdr *hdr = rec;
	struct unic_event ev = { .type = 0 };

	ctx->count.upcalls++;
	if (hdr->type < sizeof(handlers) / sizeof(handlers[0]) &&
	    handlers[hdr->type] && handlers[hdr->type](ctx, rec, &ev))
		enqueue(ctx, &ev);
}

/* ------------------------------------------------------------ the ring */

static uint32_t record_seq(const struct unic_ctx *ctx, uint32_t n)
{
	const struct unic_upcall_hdr *hdr =
		(const void *)ctx->upcalls->record[n % UNIC_UPCALLS];

	return unic_load_acquire(&hdr->seq);
}

/* Others look at it without the lock: unic_event_pump(). */
static void set_next(struct unic_ctx *ctx, uint32_t n)
{
	__atomic_store_n(&ctx->upcall_next, n, __ATOMIC_RELAXED);
}

/* 1: copied; 0: none there; -1: overrun. */
static int fetch(const struct unic_ctx *ctx, void *out)
{
	uint32_t n = ctx->upcall_next;
	uint32_t seq = record_seq(ctx, n);

	if (seq != n + 1)
		return (int32_t)(seq - (n + 1)) > 0 ? -1 : 0;
	memcpy(out, ctx->upcalls->record[n % UNIC_UPCALLS], 64);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return record_seq(ctx, n) == n + 1 ? 1 : -1;
}

/* What an upcall would have said, from what is true now. */
static void reconcile(struct unic_ctx *ctx, const struct unic_ctl_region *row)
{
	struct unic_region *r = region_of(ctx, unic_from_le32(row->user));
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
		set_life(r, UNIC_MR_LIVE);
		ev.type = UNIC_EV_GRANTED;
		enqueue(ctx, &ev);
	}
	if (state == UNIC_CTL_R_ACTIVE && r->life == UNIC_MR_ASKED)
		set_life(r, UNIC_MR_LIVE); /* a reset voided the notice */
	if (state == UNIC_CTL_R_NOTIFIED && r->life == UNIC_MR_LIVE) {
		r->notice_seq = unic_from_le32(row->notice_seq);
		ev.seq = r->notice_seq;
		ev.deadline_ns = unic_from_le64(row->deadline_ns);
		__atomic_store_n(&r->deadline_ns, ev.deadline_ns,
				 __ATOMIC_RELAXED);
		set_life(r, UNIC_MR_ASKED);
		ev.type = UNIC_EV_NOTICE;
		enqueue(ctx, &ev);
	} else if (state == UNIC_CTL_R_EVICTED && r->life != UNIC_MR_GONE) {
		set_life(r, UNIC_MR_GONE);
		ev.type = UNIC_EV_EVICTED;
		enqueue(ctx, &ev);
	}
}

#define ROWS ((UNIC_CTL_MSG_MAX - UNIC_CTL_BYTES) / 32u)

/* One page of the answer. @after: the id to go on from, 0: no more. False: the
 * driver did not answer. */
static bool resync_page(struct unic_ctx *ctx, uint32_t *after)
{
	union {
		struct unic_ctl_resync req;
		struct unic_ctl_resync_reply reply;
	} rec = { .req = { .after = unic_to_le32(*after) } };
	struct unic_ctl_region row[ROWS];
	struct unic_call call = { .rec = &rec,
				  .reply_tail = row,
				  .reply_room = sizeof(row) };
	size_t n;
	size_t i;

	if (unic_ctl(ctx, UNIC_CTL_RESYNC, &call) != UNIC_ST_OK)
		return false;
	n = call.reply_bytes / sizeof(row[0]);
	/* The first upcall, number 0, has seq 1. */
	if (!*after)
		set_next(ctx, unic_from_le32(rec.reply.next_seq) - 1);
	for (i = 0; i < n; i++)
		reconcile(ctx, &row[i]);
	*after = n && rec.reply.more ? unic_from_le32(row[n - 1].id) : 0;
	return true;
}

/* The driver told of every region that it knows, and this is none of them: its
 * wait, or its life, ended in an upcall that was lost. */
static void lose(struct unic_ctx *ctx, struct unic_region *r)
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
	set_life(r, UNIC_MR_GONE);
	enqueue(ctx, &ev);
}

static void lose_the_rest(struct unic_ctx *ctx)
{
	struct unic_region *r;
	uint32_t i;

	for (i = 0; i < UNIC_MR_HANDLES; i++) {
		r = ctx->region[i];
		if (r && r->known && !r->leaving && r->life != UNIC_MR_GONE &&
		    r->resync != (uint32_t)ctx->count.resyncs)
			lose(ctx, r);
	}
}

static void resync(struct unic_ctx *ctx)
{
	uint32_t next = ctx->upcall_next;
	uint32_t after = 0;
	bool answered;

	ctx->count.resyncs++;
	do {
		answered = resync_page(ctx, &after);
	} while (answered && after);
	if (answered)
		lose_the_rest(ctx);
	/* No answer: skip the lost one, or this would never end. */
	if (ctx->upcall_next == next)
		set_next(ctx, next + 1);
}

static void tell_reset(struct unic_ctx *ctx)
{
	struct unic_event ev = { .type = UNIC_EV_RESET };

	if (ctx->reset_told || !unic_nic_reset(ctx))
		return;
	ctx->reset_told = true;
	/* Its end of file would make the event fd readable for ever. */
	epoll_ctl(ctx->event_fd, EPOLL_CTL_DEL, unic_conn_fd(ctx->conn), NULL);
	enqueue(ctx, &ev);
}

static void pump_locked(struct unic_ctx *ctx)
{
	_Alignas(8) uint8_t rec[64];
	unsigned int budget = 4 * UNIC_UPCALLS;
	int got;

	while (budget-- && (got = fetch(ctx, rec))) {
		if (got < 0) {
			resync(ctx);
			continue;
		}
		set_next(ctx, ctx->upcall_next + 1);
		deliver(ctx, rec);
	}
	tell_reset(ctx);
}

void unic_event_revive(struct unic_ctx *ctx)
{
	ctx->reset_told = true; /* by these upcalls, nothing new */
	pump_locked(ctx);
	__atomic_store_n(&ctx->dead, 0, __ATOMIC_RELEASE);
	ctx->reset_told = false;
	resync(ctx);
	/* tell_reset() took it off */
	watch(ctx, unic_conn_fd(ctx->conn), EPOLLRDHUP);
}

void unic_qp_recover(struct unic_qp *qp)
{
	struct unic_event ev = {
		.type = UNIC_EV_QP_ERROR,
		.qp = qp,
		.status = UNIC_WC_WR_FLUSH_ERR,
	};

	enqueue(qp->ctx, &ev);
}

void unic_event_pump(struct unic_ctx *ctx)
{
	uint32_t next = __atomic_load_n(&ctx->upcall_next, __ATOMIC_RELAXED);

	if ((int32_t)(record_seq(ctx, next) - (next + 1)) < 0)
		return;
	pthread_mutex_lock(&ctx->evt_lock);
	pump_locked(ctx);
	pthread_mutex_unlock(&ctx->evt_lock);
}

int unic_event_fd(struct unic_ctx *ctx)
{
	return ctx->event_fd;
}

static void see_driver(struct unic_ctx *ctx)
{
	struct epoll_event e[4];
	int n = epoll_wait(ctx->event_fd, e, 4, 0);

	while (n > 0) {
		if (e[--n].data.fd == unic_conn_fd(ctx->conn))
			unic_ctx_dead(ctx);
	}
}

/* Private data did not fit the upcall. */
static void fetch_private(struct unic_ctx *ctx, struct unic_event *ev)
{
	struct unic_ctl_obj rec = { .id = unic_to_le32(ev->conn) };
	struct unic_call call = { .rec = &rec,
				  .reply_tail = ev->private_data,
				  .reply_room = sizeof(ev->private_data) };

	if (unic_ctl(ctx, UNIC_CTL_CONN_QUERY, &call) == UNIC_ST_OK)
		ev->private_len = (unsigned int)call.reply_bytes;
}

int unic_get_event(struct unic_ctx *ctx, struct unic_event *ev)
{
	struct unic_note *n;
	uint64_t count;

	pthread_mutex_lock(&ctx->evt_lock);
	/* Drained first, looked second: what comes later rings again. */
	if (!unic_drain(ctx->upcall_efd))
		unic_ctx_dead(ctx);
	else if (!ctx->notes)
		see_driver(ctx);
	pump_locked(ctx);
	n = ctx->notes;
	if (n) {
		ctx->notes = n->next;
		if (!n->next)
			ctx->notes_end = &ctx->notes;
	}
	if (!ctx->notes && read(ctx->note_efd, &count, sizeof(count)) < 0)
		count = 0; /* it was not signalled */
	pthread_mutex_unlock(&ctx->evt_lock);
	if (!n)
		return -EAGAIN;
	*ev = n->ev;
	free(n);
	if (ev->type == UNIC_EV_CONNECT)
		fetch_private(ctx, ev);
	return 0;
}

void unic_ack_event(struct unic_event *ev)
{
	struct unic_ctx *ctx;

	if (!ev->mr)
		return;
	ctx = ev->mr->ctx;
	pthread_mutex_lock(&ctx->evt_lock);
	unic_region_put(ctx, unic_region(ev->mr));
	pthread_mutex_unlock(&ctx->evt_lock);
	ev->mr = NULL;
}

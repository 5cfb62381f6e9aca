/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * event.c - upcalls: read from the ring that the driver writes, applied to the state of
 * regions, and queued as events of the application.
 *
 * Secret: the ring protocol (abi/unic_ctl.h). resync.c handles lost upcalls.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cm_raw.h"
#include "context.h"
#include "desc.h"
#include "doorbell.h"
#include "event.h"
#include "fork.h"
#include "mend.h"
#include "mr.h"
#include "resync.h"
#include "srq.h"

struct unic_note {
	struct unic_note *next;
	struct unic_event ev;
};

static int epoll_add_fd(struct unic_ctx *ctx, int fd, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.fd = fd };

	return epoll_ctl(ctx->event_fd, EPOLL_CTL_ADD, fd, &e);
}

static void init_lock(struct unic_ctx *ctx)
{
	pthread_mutexattr_t attr;

	/* Recursive: answers to upcalls take the lock, too. */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&ctx->evt_lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int unic_event_watch(struct unic_ctx *ctx)
{
	if (epoll_add_fd(ctx, ctx->upcall_efd, EPOLLIN) ||
	    epoll_add_fd(ctx, unic_conn_fd(ctx->conn), EPOLLRDHUP))
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
	    epoll_add_fd(ctx, ctx->note_efd, EPOLLIN) ||
	    unic_event_watch(ctx)) {
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
	ctx->notes = NULL; /* a thread may have been changing the list */
	ctx->notes_end = &ctx->notes;
	init_lock(ctx);
}

/* A region that an event names stays until the event is acknowledged. */
void unic_event_put(struct unic_ctx *ctx, const struct unic_event *ev)
{
	struct unic_note *n = calloc(1, sizeof(*n));
	uint64_t one = 1;

	if (!n)
		return; /* unic_mr_life() shows the change */
	n->ev = *ev;
	if (ev->mr)
		unic_mem_region(ev->mr)->refs++;
	*ctx->notes_end = n;
	ctx->notes_end = &n->next;
	if (write(ctx->note_efd, &one, sizeof(one)) < 0)
		ctx->count.ring_failed++;
}

static bool is_event_of(const struct unic_event *ev, const void *obj)
{
	return ev->mr == obj || (const void *)ev->qp == obj ||
	       (const void *)ev->cq == obj || (const void *)ev->srq == obj ||
	       (const void *)ev->listener == obj;
}

/* Drop the events of @obj, and the CONNECT of connection @conn (0: none). */
static void purge_notes(struct unic_ctx *ctx, const void *obj, uint32_t conn)
{
	struct unic_note **p = &ctx->notes;
	struct unic_note *n;

	while ((n = *p)) {
		if (!(obj && is_event_of(&n->ev, obj)) &&
		    !(conn && n->ev.type == UNIC_EV_CONNECT &&
		      n->ev.conn == conn)) {
			p = &n->next;
			continue;
		}
		*p = n->next;
		if (n->ev.mr)
			unic_mem_region_put(ctx, unic_mem_region(n->ev.mr));
		free(n);
	}
	ctx->notes_end = p;
}

void unic_event_purge(struct unic_ctx *ctx, const void *obj)
{
	purge_notes(ctx, obj, 0);
}

/* ----------------------------------------------- one upcall, one event */

struct unic_mem_region *unic_event_region(struct unic_ctx *ctx, uint32_t handle)
{
	struct unic_mem_region *r;

	if ((handle & 0xffff) >= UNIC_MR_HANDLES)
		return NULL;
	r = ctx->region[handle & 0xffff];
	return r && r->handle == handle ? r : NULL;
}

void unic_event_life(struct unic_mem_region *r, enum unic_mr_life life)
{
	__atomic_store_n(&r->life, (uint32_t)life, __ATOMIC_RELEASE);
}

/* What NOTICE and IDLE both say of @r. */
static void copy_wish(struct unic_event *ev, struct unic_mem_region *r,
		      const struct unic_upcall_mr *up)
{
	ev->mr = &r->mr;
	ev->reason = up->hdr.reason;
	ev->entries = unic_from_le32(up->entries);
	ev->dependents = unic_from_le32(up->dependents);
	ev->pain = unic_from_le32(up->pain);
}

static bool on_up_idle(struct unic_ctx *ctx, const void *rec,
		       struct unic_event *ev)
{
	const struct unic_upcall_mr *up = rec;
	struct unic_mem_region *r =
		unic_event_region(ctx, unic_from_le32(up->user));

	if (!r || r->life != UNIC_MR_LIVE)
		return false;
	ev->type = UNIC_EV_IDLE;
	copy_wish(ev, r, up);
	return true;
}

static bool on_up_notice(struct unic_ctx *ctx, const void *rec,
			 struct unic_event *ev)
{
	const struct unic_upcall_mr *up = rec;
	struct unic_mem_region *r =
		unic_event_region(ctx, unic_from_le32(up->user));

	if (!r || r->life == UNIC_MR_GONE)
		return false;
	ev->type = UNIC_EV_NOTICE;
	copy_wish(ev, r, up);
	ev->seq = unic_from_le32(up->notice_seq);
	ev->rank = unic_from_le32(up->rank);
	ev->deadline_ns = unic_from_le64(up->deadline_ns);
	r->notice_seq = ev->seq;
	__atomic_store_n(&r->deadline_ns, ev->deadline_ns, __ATOMIC_RELAXED);
	unic_event_life(r, UNIC_MR_ASKED);
	return true;
}

static bool on_up_evicted(struct unic_ctx *ctx, const void *rec,
			  struct unic_event *ev)
{
	const struct unic_upcall_mr *up = rec;
	struct unic_mem_region *r =
		unic_event_region(ctx, unic_from_le32(up->user));

	if (!r)
		return false;
	ev->type = UNIC_EV_EVICTED;
	ev->mr = &r->mr;
	ev->seq = unic_from_le32(up->notice_seq);
	ev->reason = up->hdr.reason;
	ev->entries = unic_from_le32(up->entries);
	ev->flags = unic_from_le32(up->flags);
	unic_event_life(r, UNIC_MR_GONE);
	return true;
}

static bool on_wait(struct unic_ctx *ctx, const void *rec,
		    struct unic_event *ev)
{
	const struct unic_upcall_wait *up = rec;
	struct unic_mem_region *r =
		unic_event_region(ctx, unic_from_le32(up->user));
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
	unic_event_life(r, granted ? UNIC_MR_LIVE : UNIC_MR_GONE);
	return true;
}

struct unic_qp *unic_event_qp(struct unic_ctx *ctx, uint32_t row, uint32_t id)
{
	struct unic_qp *qp = row < UNIC_DB_OBJECTS ? ctx->qp[row] : NULL;

	return qp && qp->id == id ? qp : NULL;
}

struct unic_cq *unic_event_cq(struct unic_ctx *ctx, uint32_t row, uint32_t id)
{
	struct unic_cq *cq = row < UNIC_DB_OBJECTS ? ctx->cq[row] : NULL;

	return cq && cq->id == id ? cq : NULL;
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
		ev->qp = unic_event_qp(ctx, row, id);
		return ev->qp && !unic_mend_error(ev->qp, ev->status) &&
		       !unic_qp_told(ev->qp, UNIC_TOLD_ERROR);
	case UNIC_UP_CQ_ERROR:
		ev->type = UNIC_EV_CQ_ERROR;
		ev->cq = unic_event_cq(ctx, row, id);
		if (ev->cq)
			unic_cq_overran(ev->cq);
		return ev->cq;
	case UNIC_UP_DB_ERROR:
		ev->type = UNIC_EV_DB_ERROR;
		return true;
	case UNIC_UP_RESET:
		unic_ctx_dead(ctx);
		return false; /* put_reset_event() makes the event */
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

/* True if @l had an event of request @conn before; else remember @conn. */
static bool test_and_set_request(struct unic_listener *l, uint32_t conn)
{
	uint32_t i;

	for (i = 0; i < UNIC_BACKLOG; i++)
		if (l->told[i] == conn)
			return true;
	l->told[l->n_told++ % UNIC_BACKLOG] = conn;
	return false;
}

bool unic_event_request(struct unic_ctx *ctx, uint32_t listener, uint32_t conn,
			struct unic_event *ev)
{
	struct unic_listener *l = ctx->listeners;

	while (l && l->id != listener)
		l = l->next;
	ev->type = UNIC_EV_CONNECT;
	ev->listener = l;
	return l && !test_and_set_request(l, conn);
}

bool unic_event_conn(const struct unic_event *ev)
{
	bool is_up = ev->type == UNIC_EV_CONNECTED;

	if (!ev->qp || (!is_up && unic_mend_closed(ev->qp, ev->conn)))
		return false;
	if (!is_up)
		unic_qp_told(ev->qp, UNIC_TOLD_END);
	return !unic_qp_told(ev->qp, is_up ? UNIC_TOLD_UP : UNIC_TOLD_DOWN);
}

static bool on_conn(struct unic_ctx *ctx, const void *rec,
		    struct unic_event *ev)
{
	const struct unic_upcall_conn *up = rec;
	bool is_up = up->hdr.type == UNIC_UP_ESTABLISHED;

	ev->conn = unic_from_le32(up->hdr.id);
	ev->peer_ipv4 = unic_from_le32(up->peer_ipv4);
	if (up->hdr.type == UNIC_UP_CONN_REQUEST) {
		uint32_t bytes = unic_from_le32(up->private_bytes);

		return (bytes != sizeof(struct unic_mend_hello) ||
			!unic_mend_query(ctx, ev->conn)) &&
		       unic_event_request(ctx, unic_from_le32(up->listener),
					  ev->conn, ev);
	}
	ev->type = is_up ? UNIC_EV_CONNECTED : UNIC_EV_DISCONNECTED;
	ev->qp = unic_event_qp(ctx, unic_from_le32(up->user),
			       unic_from_le32(up->qp));
	if (!ev->qp && !is_up)
		purge_notes(ctx, NULL, ev->conn); /* a request that has ended */
	return unic_event_conn(ev);
}

static bool on_invalidate(struct unic_ctx *ctx, const void *rec,
			  struct unic_event *ev)
{
	const struct unic_upcall_held *up = rec;

	ev->type = UNIC_EV_INVALIDATE;
	ev->conn = unic_from_le32(up->hdr.id);
	ev->kind = unic_from_le32(up->kind);
	ev->number = unic_from_le32(up->number);
	ev->deadline_ns = unic_from_le64(up->deadline_ns);
	ev->qp = unic_event_qp(ctx, unic_from_le32(up->user),
			       unic_from_le32(up->qp));
	return ev->qp && unic_desc_asked(ev);
}

static bool (*const handlers[])(struct unic_ctx *, const void *,
				struct unic_event *) = {
	[UNIC_UP_NOTICE] = on_up_notice,
	[UNIC_UP_EVICTED] = on_up_evicted,
	[UNIC_UP_GRANTED] = on_wait,
	[UNIC_UP_WAIT_ENDED] = on_wait,
	[UNIC_UP_QP_ERROR] = on_obj,
	[UNIC_UP_CQ_ERROR] = on_obj,
	[UNIC_UP_TOKEN_END] = on_token,
	[UNIC_UP_CONN_REQUEST] = on_conn,
	[UNIC_UP_ESTABLISHED] = on_conn,
	[UNIC_UP_DISCONNECTED] = on_conn,
	[UNIC_UP_RESET] = on_obj,
	[UNIC_UP_DB_ERROR] = on_obj,
	[UNIC_UP_INVALIDATE] = on_invalidate,
	[UNIC_UP_IDLE] = on_up_idle,
	[UNIC_UP_CM] = unic_lib_raw_event,
	[UNIC_UP_SRQ_LIMIT... UNIC_UP_LAST_WQE] = unic_srq_upcall,
};

static void deliver_upcall(struct unic_ctx *ctx, const void *rec)
{
	const struct unic_upcall_hdr *hdr = rec;
	struct unic_event ev = { .type = 0 };

	ctx->count.upcalls++;
	if (hdr->type < sizeof(handlers) / sizeof(handlers[0]) &&
	    handlers[hdr->type] && handlers[hdr->type](ctx, rec, &ev))
		unic_event_put(ctx, &ev);
}

/* ------------------------------------------------------------ the ring */

static uint32_t record_seq(const struct unic_ctx *ctx, uint32_t n)
{
	const struct unic_upcall_hdr *hdr =
		(const void *)ctx->upcalls->record[n % UNIC_UPCALLS];

	return unic_load_acquire(&hdr->seq);
}

/* Set upcall_next, which unic_event_pump() reads without the lock. */
void unic_event_next(struct unic_ctx *ctx, uint32_t n)
{
	__atomic_store_n(&ctx->upcall_next, n, __ATOMIC_RELAXED);
}

/* Copy the next upcall to @out. 1: copied; 0: there is none; -1: upcalls were lost. */
static int fetch_upcall(const struct unic_ctx *ctx, void *out)
{
	uint32_t n = ctx->upcall_next;
	uint32_t seq = record_seq(ctx, n);

	if (seq != n + 1)
		return (int32_t)(seq - (n + 1)) > 0 ? -1 : 0;
	memcpy(out, ctx->upcalls->record[n % UNIC_UPCALLS], 64);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return record_seq(ctx, n) == n + 1 ? 1 : -1;
}

static void put_reset_event(struct unic_ctx *ctx)
{
	struct unic_event ev = { .type = UNIC_EV_RESET };

	if (ctx->reset_told || !unic_ctx_lost(ctx))
		return;
	ctx->reset_told = true;
	/* The end of file of the socket would keep the event fd readable. */
	epoll_ctl(ctx->event_fd, EPOLL_CTL_DEL, unic_conn_fd(ctx->conn), NULL);
	unic_event_put(ctx, &ev);
}

static void pump_locked(struct unic_ctx *ctx)
{
	_Alignas(8) uint8_t rec[64];
	unsigned int budget = 4 * UNIC_UPCALLS;
	int got;

	while (budget-- && (got = fetch_upcall(ctx, rec))) {
		if (got < 0) {
			if (unic_resync_regions(ctx))
				unic_resync_objects(ctx);
			continue;
		}
		unic_event_next(ctx, ctx->upcall_next + 1);
		deliver_upcall(ctx, rec);
	}
	unic_desc_settle(ctx);
	put_reset_event(ctx);
}

void unic_event_revive(struct unic_ctx *ctx)
{
	ctx->reset_told = true; /* a RESET among these upcalls is old */
	pump_locked(ctx);
	__atomic_store_n(&ctx->dead, 0, __ATOMIC_RELEASE);
	ctx->reset_told = false;
	unic_resync_regions(ctx);
	/* put_reset_event() removed the socket */
	epoll_add_fd(ctx, unic_conn_fd(ctx->conn), EPOLLRDHUP);
}

void unic_qp_recover(struct unic_qp *qp)
{
	struct unic_event ev = {
		.type = UNIC_EV_QP_ERROR,
		.qp = qp,
		.status = UNIC_WC_WR_FLUSH_ERR,
	};

	unic_event_put(qp->ctx, &ev);
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

static void check_driver_hangup(struct unic_ctx *ctx)
{
	struct epoll_event e[4];
	int n = epoll_wait(ctx->event_fd, e, 4, 0);

	while (n > 0) {
		if (e[--n].data.fd == unic_conn_fd(ctx->conn))
			unic_ctx_dead(ctx);
	}
}

/* Query the fields of CONNECT that the upcall has no room for. False: it is a peer that
 * comes back, whose upcall was lost. */
static bool fetch_request(struct unic_ctx *ctx, struct unic_event *ev)
{
	union {
		struct unic_ctl_obj req;
		struct unic_ctl_conn_reply reply;
	} rec = { .req = { .id = unic_to_le32(ev->conn) } };
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = ev->private_data,
				       .reply_room = sizeof(ev->private_data) };

	if (unic_ctl(ctx, UNIC_CTL_CONN_QUERY, &call) != UNIC_ST_OK)
		return true;
	ev->private_len = (unsigned int)call.reply_bytes;
	ev->qp_type = rec.reply.qp_type;
	return !unic_mend_asked(ctx, ev->conn, ev->peer_ipv4, ev->private_data,
				ev->private_len);
}

void unic_event_listen(struct unic_ctx *ctx)
{
	pthread_mutex_lock(&ctx->evt_lock);
	/* Drain before reading the ring: a later upcall signals again. */
	if (!unic_drain(ctx->upcall_efd))
		unic_ctx_dead(ctx);
	else if (!ctx->notes)
		check_driver_hangup(ctx);
	pump_locked(ctx);
	pthread_mutex_unlock(&ctx->evt_lock);
}

int unic_get_event(struct unic_ctx *ctx, struct unic_event *ev)
{
	struct unic_note *n;
	uint64_t count;

	if (ctx->forked)
		return unic_fail_forked();
	pthread_mutex_lock(&ctx->evt_lock);
	unic_event_listen(ctx);
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
	if (ev->type == UNIC_EV_CONNECT && !fetch_request(ctx, ev))
		return unic_get_event(ctx, ev);
	return 0;
}

void unic_ack_event(struct unic_event *ev)
{
	struct unic_ctx *ctx;

	if (!ev->mr)
		return;
	ctx = ev->mr->ctx;
	pthread_mutex_lock(&ctx->evt_lock);
	unic_mem_region_put(ctx, unic_mem_region(ev->mr));
	pthread_mutex_unlock(&ctx->evt_lock);
	ev->mr = NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* events.c - see events.h. */
#define _GNU_SOURCE
#include "events.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../libunic/cq.h"
#include "errnos.h"
#include "park.h"
#include "shim/channel.h"
#include "wire.h"

#define CHECK_MS 500 /* the longest time without a look at the NIC's epoch */
#define READ_MAX 512 /* unread events that are read at once */

/* What the program reads: as struct ib_uverbs_async_event_desc of the kernel. */
struct async_record {
	uint64_t element;
	uint32_t type, rsvd;
};

/* A completion channel: @rfd is the program's, who closes it. */
struct unic_ibv_channel {
	struct unic_ibv_channel *next;
	int rfd, wfd;
	unsigned int cqs;
};

static struct {
	pthread_mutex_t lock; /* may be taken under that of an attachment */
	struct unic_ibv_channel *first;
} channels = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* -------------------------------------------------------------- descriptors */

/* The end @fd[0] is the program's, which only reads it. */
static int make_pipe(int fd[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return -errno;
	shutdown(fd[0], SHUT_WR);
	return 0;
}

static bool send_record(int wfd, const void *rec, size_t bytes)
{
	return send(wfd, rec, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (ssize_t)bytes;
}

/* Take the unread records of @bytes whose first word is @cookie out of the descriptor that
 * is read at @rfd and written at @wfd. Returns how many. */
static uint32_t drop_records(int rfd, int wfd, size_t bytes, uint64_t cookie)
{
	uint8_t *all = malloc(READ_MAX * bytes);
	size_t n = 0, i;
	uint32_t dropped = 0;

	while (all && n < READ_MAX &&
	       recv(rfd, all + n * bytes, bytes, MSG_DONTWAIT) ==
		       (ssize_t)bytes)
		n++;
	for (i = 0; i < n; i++) {
		if (!memcmp(all + i * bytes, &cookie, sizeof(cookie)))
			dropped++;
		else
			send_record(wfd, all + i * bytes, bytes);
	}
	free(all);
	return dropped;
}

/* ----------------------------------------------------------------- channels */

static bool is_closed(const struct unic_ibv_channel *c)
{
	struct pollfd pfd = { .fd = c->wfd };

	return !c->cqs && poll(&pfd, 1, 0) > 0 &&
	       pfd.revents & (POLLHUP | POLLERR);
}

/* Forget the channels that the program has closed. */
static void sweep_channels(void)
{
	struct unic_ibv_channel **p = &channels.first;
	struct unic_ibv_channel *c;

	while ((c = *p)) {
		if (!is_closed(c)) {
			p = &c->next;
			continue;
		}
		*p = c->next;
		close(c->wfd);
		free(c);
	}
}

/* A new completion channel, for the preloaded library: the end that is read, or
 * -errno. */
static int open_channel(void)
{
	struct unic_ibv_channel *c = calloc(1, sizeof(*c));
	int fd[2];
	int err = c ? make_pipe(fd) : -ENOMEM;

	if (err) {
		free(c);
		return err;
	}
	c->rfd = fd[0];
	c->wfd = fd[1];
	pthread_mutex_lock(&channels.lock);
	sweep_channels();
	c->next = channels.first;
	channels.first = c;
	pthread_mutex_unlock(&channels.lock);
	return c->rfd;
}

static struct unic_ibv_channel *get_channel(int rfd)
{
	struct unic_ibv_channel *c;

	pthread_mutex_lock(&channels.lock);
	sweep_channels(); /* one before may have had this number */
	for (c = channels.first; c && c->rfd != rfd; c = c->next)
		;
	if (c)
		c->cqs++;
	pthread_mutex_unlock(&channels.lock);
	return c;
}

static void put_channel(struct unic_ibv_channel *c)
{
	pthread_mutex_lock(&channels.lock);
	c->cqs--;
	pthread_mutex_unlock(&channels.lock);
}

/* --------------------------------------------------- completion events */

static void send_cq_event(struct unic_ibv_cq *cq)
{
	uint64_t cookie = (uintptr_t)&cq->cq;

	cq->owed = !send_record(cq->channel->wfd, &cookie, sizeof(cookie));
	cq->sent += !cq->owed;
}

/* @channel has room: send what is owed to it, of all queues that share it. */
static void send_owed(struct unic_attach *at,
		      const struct unic_ibv_channel *channel)
{
	struct unic_ibv_cq *cq;

	for (cq = at->cqs; cq; cq = cq->next)
		if (cq->owed && cq->channel == channel)
			send_cq_event(cq);
}

static uint32_t count_rings(const struct unic_cq *cq)
{
	return unic_load_acquire(&cq->ctx->np->cq_events[cq->db]);
}

/* Pass on what the NIC rang for. */
static void pass_rings(struct unic_attach *at)
{
	struct unic_ibv_cq *cq;
	uint32_t n;

	pthread_mutex_lock(&at->lock);
	for (cq = at->cqs; cq; cq = cq->next) {
		n = count_rings(cq->lib);
		if (n == cq->notified)
			continue;
		cq->notified = n;
		if (cq->channel)
			send_cq_event(cq);
	}
	pthread_mutex_unlock(&at->lock);
}

void unic_events_add_cq(struct unic_ibv_cq *cq,
			struct ibv_comp_channel *channel)
{
	struct unic_attach *at = unic_ibv_context(cq->cq.context)->at;

	pthread_mutex_lock(&at->lock);
	if (channel)
		cq->channel = get_channel(channel->fd);
	cq->notified = count_rings(cq->lib);
	cq->next = at->cqs;
	at->cqs = cq;
	pthread_mutex_unlock(&at->lock);
}

static void remove_cq(struct unic_attach *at, struct unic_ibv_cq *cq)
{
	struct unic_ibv_cq **p = &at->cqs;

	while (*p != cq)
		p = &(*p)->next;
	*p = cq->next;
	if (cq->channel)
		put_channel(cq->channel);
}

int unic_events_end_cq(struct unic_ibv_cq *cq)
{
	struct unic_attach *at = unic_ibv_context(cq->cq.context)->at;
	int err;

	/* Under the lock: the thread reads what ends here. */
	pthread_mutex_lock(&at->lock);
	err = unic_destroy_cq(cq->lib);
	if (!err)
		remove_cq(at, cq);
	pthread_mutex_unlock(&at->lock);
	return err;
}

void unic_events_forget_cq(struct unic_ibv_cq *cq)
{
	struct unic_ibv_context *ctx = unic_ibv_context(cq->cq.context);
	uint64_t cookie = (uintptr_t)&cq->cq;

	pthread_mutex_lock(&ctx->at->lock);
	if (cq->channel) {
		cq->sent -= drop_records(cq->channel->rfd, cq->channel->wfd,
					 sizeof(cookie), cookie);
		send_owed(ctx->at, cq->channel);
	}
	cq->async_sent -= drop_records(ctx->vctx.context.async_fd,
				       ctx->async_wfd,
				       sizeof(struct async_record), cookie);
	pthread_mutex_unlock(&ctx->at->lock);
	pthread_mutex_lock(&cq->cq.mutex);
	while (cq->cq.comp_events_completed != cq->sent ||
	       cq->cq.async_events_completed != cq->async_sent)
		pthread_cond_wait(&cq->cq.cond, &cq->cq.mutex);
	pthread_mutex_unlock(&cq->cq.mutex);
}

void unic_events_cq_read(struct ibv_cq *ibcq)
{
	struct unic_ibv_cq *cq = unic_ibv_cq(ibcq);
	struct unic_attach *at = unic_ibv_context(ibcq->context)->at;

	pthread_mutex_lock(&at->lock);
	send_owed(at, cq->channel);
	pthread_mutex_unlock(&at->lock);
}

/* ------------------------------------------------- asynchronous events */

/* False: the program reads none, and the descriptor is full. The event is lost then. */
static bool send_async(const struct unic_ibv_context *ctx, uint64_t element,
		       enum ibv_event_type type)
{
	struct async_record rec = { .element = element, .type = type };

	return send_record(ctx->async_wfd, &rec, sizeof(rec));
}

static void on_qp_error(struct unic_attach *at, const struct unic_event *ev)
{
	struct unic_ibv_qp *qp = at->qps;

	while (qp && qp->lib != ev->qp)
		qp = qp->next;
	if (!qp)
		return;
	__atomic_store_n(&qp->vqp.qp.state, IBV_QPS_ERR, __ATOMIC_RELEASE);
	qp->async_sent += send_async(unic_ibv_context(qp->vqp.qp.context),
				     (uintptr_t)&qp->vqp.qp,
				     unic_ibv_qp_event(ev->status));
}

static void on_last_wqe(struct unic_attach *at, const struct unic_event *ev)
{
	struct unic_ibv_qp *qp = at->qps;

	while (qp && qp->lib != ev->qp)
		qp = qp->next;
	if (qp)
		qp->async_sent += send_async(
			unic_ibv_context(qp->vqp.qp.context),
			(uintptr_t)&qp->vqp.qp, IBV_EVENT_QP_LAST_WQE_REACHED);
}

static void on_srq(struct unic_attach *at, const struct unic_event *ev,
		   enum ibv_event_type type)
{
	struct unic_ibv_srq *srq = at->srqs;

	while (srq && srq->lib != ev->srq)
		srq = srq->next;
	if (!srq)
		return;
	if (type == IBV_EVENT_SRQ_LIMIT_REACHED)
		__atomic_store_n(&srq->limit, 0, __ATOMIC_RELAXED);
	srq->async_sent += send_async(unic_ibv_context(srq->srq.context),
				      (uintptr_t)&srq->srq, type);
}

static void on_cq_error(struct unic_attach *at, const struct unic_event *ev)
{
	struct unic_ibv_cq *cq = at->cqs;

	while (cq && cq->lib != ev->cq)
		cq = cq->next;
	if (cq)
		cq->async_sent += send_async(unic_ibv_context(cq->cq.context),
					     (uintptr_t)&cq->cq,
					     IBV_EVENT_CQ_ERR);
}

/* The driver or the NIC is gone: what was posted completes as flushed, and whoever waits
 * for a completion wakes. */
static void on_lost(struct unic_attach *at)
{
	struct unic_ibv_context *ctx;
	struct unic_ibv_cq *cq;

	if (__atomic_exchange_n(&at->lost, true, __ATOMIC_ACQ_REL))
		return;
	for (cq = at->cqs; cq; cq = cq->next) {
		pthread_mutex_lock(&at->ctx->evt_lock);
		unic_cq_recover(cq->lib);
		pthread_mutex_unlock(&at->ctx->evt_lock);
		if (cq->channel)
			send_cq_event(cq);
	}
	for (ctx = at->contexts; ctx; ctx = ctx->next)
		send_async(ctx, 0, IBV_EVENT_DEVICE_FATAL);
	unic_ibv_wire_lost(at);
}

static void take_events(struct unic_attach *at)
{
	struct unic_event ev;

	/* Under the lock: no queue of an event can end, and another take its place. */
	pthread_mutex_lock(&at->lock);
	while (!unic_get_event(at->ctx, &ev)) {
		switch (ev.type) {
		case UNIC_EV_QP_ERROR:
			on_qp_error(at, &ev);
			break;
		case UNIC_EV_CQ_ERROR:
			on_cq_error(at, &ev);
			break;
		case UNIC_EV_LAST_WQE:
			on_last_wqe(at, &ev);
			break;
		case UNIC_EV_SRQ_LIMIT:
			on_srq(at, &ev, IBV_EVENT_SRQ_LIMIT_REACHED);
			break;
		case UNIC_EV_SRQ_ERROR:
			on_srq(at, &ev, IBV_EVENT_SRQ_ERR);
			break;
		case UNIC_EV_RESET:
			on_lost(at);
			break;
		case UNIC_EV_CM:
			unic_ibv_wire_changed(at, ev.conn);
			break;
		case UNIC_EV_RESYNC:
			unic_ibv_wire_resync(at);
			break;
		default:
			break;
		}
		unic_ack_event(&ev);
	}
	pthread_mutex_unlock(&at->lock);
}

void unic_events_add_qp(struct unic_ibv_qp *qp)
{
	struct unic_attach *at = unic_ibv_context(qp->vqp.qp.context)->at;

	pthread_mutex_lock(&at->lock);
	qp->next = at->qps;
	at->qps = qp;
	pthread_mutex_unlock(&at->lock);
}

void unic_events_del_qp(struct unic_ibv_qp *qp)
{
	struct unic_attach *at = unic_ibv_context(qp->vqp.qp.context)->at;
	struct unic_ibv_qp **p = &at->qps;

	pthread_mutex_lock(&at->lock);
	while (*p != qp)
		p = &(*p)->next;
	*p = qp->next;
	pthread_mutex_unlock(&at->lock);
}

void unic_events_forget_qp(struct unic_ibv_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;
	struct unic_ibv_context *ctx = unic_ibv_context(ibqp->context);

	pthread_mutex_lock(&ctx->at->lock);
	qp->async_sent -=
		drop_records(ctx->vctx.context.async_fd, ctx->async_wfd,
			     sizeof(struct async_record), (uintptr_t)ibqp);
	pthread_mutex_unlock(&ctx->at->lock);
	pthread_mutex_lock(&ibqp->mutex);
	while (ibqp->events_completed != qp->async_sent)
		pthread_cond_wait(&ibqp->cond, &ibqp->mutex);
	pthread_mutex_unlock(&ibqp->mutex);
}

void unic_events_add_srq(struct unic_ibv_srq *srq)
{
	struct unic_attach *at = unic_ibv_context(srq->srq.context)->at;

	pthread_mutex_lock(&at->lock);
	srq->next = at->srqs;
	at->srqs = srq;
	pthread_mutex_unlock(&at->lock);
}

int unic_events_end_srq(struct unic_ibv_srq *srq)
{
	struct unic_ibv_context *ctx = unic_ibv_context(srq->srq.context);
	struct unic_ibv_srq **p = &ctx->at->srqs;
	int err;

	/* Under the lock: the thread reads what ends here. */
	pthread_mutex_lock(&ctx->at->lock);
	err = unic_destroy_srq(srq->lib);
	if (!err) {
		while (*p != srq)
			p = &(*p)->next;
		*p = srq->next;
		srq->async_sent -= drop_records(ctx->vctx.context.async_fd,
						ctx->async_wfd,
						sizeof(struct async_record),
						(uintptr_t)&srq->srq);
	}
	pthread_mutex_unlock(&ctx->at->lock);
	if (err)
		return err;
	pthread_mutex_lock(&srq->srq.mutex);
	while (srq->srq.events_completed != srq->async_sent)
		pthread_cond_wait(&srq->srq.cond, &srq->srq.mutex);
	pthread_mutex_unlock(&srq->srq.mutex);
	return 0;
}

/* ----------------------------------------------------------- contexts */

static int tell_shim(int cmd_fd, int (*channel)(void))
{
	int (*tell)(int, int (*)(void)) = (int (*)(int, int (*)(void)))dlsym(
		RTLD_DEFAULT, UNIC_SHIM_DEVICE);

	if (!tell)
		fprintf(stderr, "libunic: start the program by unic-run\n");
	return tell ? tell(cmd_fd, channel) : -ENODEV;
}

int unic_events_open_context(struct unic_ibv_context *ctx)
{
	struct ibv_context *ibctx = &ctx->vctx.context;
	int fd[2];
	int err = make_pipe(fd);

	if (err)
		return err;
	err = tell_shim(ibctx->cmd_fd, open_channel);
	if (err) {
		close(fd[0]);
		close(fd[1]);
		return err;
	}
	ibctx->async_fd = fd[0];
	ctx->async_wfd = fd[1];
	pthread_mutex_lock(&ctx->at->lock);
	ctx->next = ctx->at->contexts;
	ctx->at->contexts = ctx;
	pthread_mutex_unlock(&ctx->at->lock);
	return 0;
}

void unic_events_close_context(struct unic_ibv_context *ctx)
{
	struct unic_ibv_context **p = &ctx->at->contexts;

	tell_shim(ctx->vctx.context.cmd_fd, NULL);
	pthread_mutex_lock(&ctx->at->lock);
	while (*p != ctx)
		p = &(*p)->next;
	*p = ctx->next;
	pthread_mutex_unlock(&ctx->at->lock);
	close(ctx->async_wfd);
}

/* ------------------------------------------------------------ the thread */

bool unic_events_lost(const struct unic_attach *at)
{
	return __atomic_load_n(&at->lost, __ATOMIC_ACQUIRE) ||
	       unic_ctx_lost(at->ctx);
}

static void drain(int fd)
{
	uint64_t n;

	while (read(fd, &n, sizeof(n)) > 0)
		;
}

static void *run(void *arg)
{
	struct unic_attach *at = arg;
	struct pollfd pfd[3] = {
		{ .fd = at->stop_efd, .events = POLLIN },
		{ .fd = unic_cq_fd(at->ctx), .events = POLLIN },
		{ .fd = unic_event_fd(at->ctx), .events = POLLIN },
	};

	for (;;) {
		/* what is left of the other two is readable for ever */
		poll(pfd, at->lost ? 1 : 3, at->lost ? -1 : CHECK_MS);
		if (pfd[0].revents)
			return NULL;
		if (pfd[1].revents) {
			drain(pfd[1].fd);
			pass_rings(at);
		}
		if (pfd[2].revents || unic_ctx_lost(at->ctx))
			take_events(at);
	}
}

int unic_events_start(struct unic_attach *at)
{
	sigset_t mask, old;
	int err;

	at->stop_efd = eventfd(0, EFD_CLOEXEC);
	if (at->stop_efd < 0)
		return -errno;
	/* Signals are the program's; but all threads stop while pages are moved. */
	sigfillset(&mask);
	sigdelset(&mask, UNIC_PARK_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &mask, &old);
	err = pthread_create(&at->thread, NULL, run, at);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		close(at->stop_efd);
	return -err;
}

void unic_events_stop(struct unic_attach *at)
{
	uint64_t one = 1;

	if (at->pid == getpid() &&
	    write(at->stop_efd, &one, sizeof(one)) == sizeof(one))
		pthread_join(at->thread, NULL);
	close(at->stop_efd);
}

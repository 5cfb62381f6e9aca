/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mend_thread.c - see mend_thread.h. */
#define _GNU_SOURCE
#include "mend_thread.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "context.h"
#include "cq.h"
#include "desc.h"
#include "doorbell.h"
#include "event.h"
#include "mend.h"
#include "replay.h"
#include "thread.h"

#define MEND_NS	      10000000000ull /* all tries to connect */
#define SETTLE_NS     2000000000ull
#define CALL_US	      1000000u /* one try */
#define GOODBYE_US    200000u  /* the last one */
#define PAUSE_MS      10       /* after the first try, doubling ... */
#define PAUSE_MAX_MS  500
#define FRUITLESS_MAX 100u
#define NO_SERVICE    8u /* reason of REJ, IBTA table 108 */
#define RESETTLE_MS   1
#define PUMP_MS	      50
#define WATCH_MS      1000

/* What a step ends with, besides 0 and -EAGAIN: another try. */
#define NO_WAY_BACK (-ECONNREFUSED)

/* ------------------------------------------------------------------- waiting */

static void nap_ms(int ms)
{
	poll(NULL, 0, ms);
}

/* 0: go on; NO_WAY_BACK; -ENOTCONN: the context is void. */
static int look_again(struct unic_qp *qp)
{
	struct unic_mender *m = &qp->ctx->mender;
	bool end, final;

	pthread_mutex_lock(&m->lock);
	end = m->stop;
	final = qp->mend.final || !qp->mend.ident; /* there is no peer */
	pthread_mutex_unlock(&m->lock);
	if (end || unic_ctx_lost(qp->ctx))
		return -ENOTCONN;
	return final ? NO_WAY_BACK : 0;
}

/* Sleep for @ms, or until something about a queue pair changes. */
static void sleep_on(struct unic_mender *m, int ms)
{
	pthread_mutex_lock(&m->lock);
	unic_cond_wait_ms(&m->cond, &m->lock, ms);
	pthread_mutex_unlock(&m->lock);
}

/* --------------------------------------------------------------------- steps */

/* End what is left of the connection: this moves @qp to ERR, and tells the peer whether
 * this end comes back. */
static void part(struct unic_qp *qp, bool again)
{
	struct unic_mend_hello h = unic_mend_hello(qp, MEND_AGAIN);
	struct unic_ctl_obj rec = { .id = unic_to_le32(qp->conn) };
	struct unic_conn_call call = { .rec = &rec,
				       .tail = &h,
				       .tail_bytes = again ? sizeof(h) : 0 };

	if (!qp->conn)
		return;
	qp->conn = 0;
	qp->mend.said_again = again;
	unic_ctl(qp->ctx, UNIC_CTL_DISCONNECT, &call);
}

static bool harvest(struct unic_qp *qp)
{
	bool all = unic_cq_harvest(qp->send_cq);

	if (qp->recv_cq != qp->send_cq)
		all &= unic_cq_harvest(qp->recv_cq);
	return all;
}

/* Wait until each request that the NIC knows has completed. */
static void settle(struct unic_qp *qp)
{
	uint64_t until = unic_now_ns() + SETTLE_NS;

	do {
		harvest(qp);
		if (unic_replay_settled(qp))
			return;
		nap_ms(RESETTLE_MS);
	} while (unic_now_ns() < until && look_again(qp) != -ENOTCONN);
}

/* True if a call that was answered with @status met the end of the epoch. */
static bool is_lost(int status)
{
	return status < 0 || status == UNIC_CTL_ST_RESET ||
	       status == UNIC_CTL_ST_NO_NIC;
}

static int move_to(struct unic_qp *qp, enum unic_qp_state state)
{
	struct unic_ctl_qp_modify rec = { .id = unic_to_le32(qp->id),
					  .state = (uint8_t)state };
	struct unic_conn_call call = { .rec = &rec };

	return unic_ctl(qp->ctx, UNIC_CTL_QP_MODIFY, &call);
}

/* Take @qp to RESET, and its rings to their beginning. Nothing of before comes then. */
static int begin_anew(struct unic_qp *qp)
{
	int status = move_to(qp, UNIC_QPS_RESET);

	if (is_lost(status))
		return -ENOTCONN;
	if (status == UNIC_ST_BUSY)
		return -EAGAIN; /* DMA is under way */
	if (status)
		return NO_WAY_BACK;
	if (!harvest(qp))
		return NO_WAY_BACK; /* its owner made the queue too short */
	unic_event_pump(qp->ctx);
	if (qp->mend.how == UNIC_QP_CUT_REPORT && !qp->mend.reported)
		unic_replay_report_recvs(qp, false);
	qp->mend.reported = true;
	unic_replay_rewind(qp);
	pthread_mutex_lock(&qp->ctx->mender.lock);
	qp->mend.again = false; /* what comes now is of the next connection */
	pthread_mutex_unlock(&qp->ctx->mender.lock);
	return 0;
}

/* The peer answers with @reply, and has received *@received messages. */
static int check_reply(struct unic_qp *qp, int status,
		       const struct unic_ctl_conn_reply *reply,
		       const struct unic_conn_call *call, uint32_t *received)
{
	const struct unic_mend_hello *h = call->reply_tail;

	if (is_lost(status))
		return -ENOTCONN;
	if (status == UNIC_CTL_ST_REJECTED)
		return unic_from_le32(reply->reason) == NO_SERVICE ||
				       unic_mend_is_hello(h, call->reply_bytes,
							  MEND_GONE)
			       ? NO_WAY_BACK
			       : -EAGAIN;
	if (status)
		return -EAGAIN;
	qp->conn = unic_from_le32(reply->id);
	if (!unic_mend_is_hello(h, call->reply_bytes, MEND_AGAIN) ||
	    unic_from_le64(h->ident) != qp->mend.ident)
		return NO_WAY_BACK; /* it is somebody else */
	*received = unic_from_le32(h->received);
	return 0;
}

static int call_peer(struct unic_qp *qp, enum unic_mend_what what,
		     uint32_t *received)
{
	struct unic_mend_hello h = unic_mend_hello(qp, what), answer;
	union {
		struct unic_ctl_connect req;
		struct unic_ctl_conn_reply reply;
	} rec = { .req = qp->mend.req };
	struct unic_conn_call call = {
		.rec = &rec,
		.tail = &h,
		.tail_bytes = sizeof(h),
		.reply_tail = &answer,
		.reply_room = sizeof(answer),
		.timeout_ms = UNIC_CALL_MS + 1000, /* it may last */
	};
	int status;

	rec.req.timeout_us =
		unic_to_le32(what == MEND_GONE ? GOODBYE_US : CALL_US);
	status = unic_ctl(qp->ctx, UNIC_CTL_CONNECT, &call);
	return check_reply(qp, status, &rec.reply, &call, received);
}

/* Wait for the request of the peer. 0, with it in *@conn. */
static int await_call(struct unic_qp *qp, uint64_t until, uint32_t *conn,
		      uint32_t *received)
{
	struct unic_mender *m = &qp->ctx->mender;
	int err = 0;

	do {
		pthread_mutex_lock(&m->lock);
		*conn = qp->mend.called;
		*received = qp->mend.called_received;
		qp->mend.called = 0;
		if (!*conn)
			unic_cond_wait_ms(&m->cond, &m->lock, PUMP_MS);
		pthread_mutex_unlock(&m->lock);
		/* the watcher may be this thread */
		unic_event_pump(qp->ctx);
		err = look_again(qp);
	} while (!err && !*conn && unic_now_ns() < until);
	return err ? err : *conn ? 0 : -EAGAIN;
}

static int accept_peer(struct unic_qp *qp, uint64_t until, uint32_t *received)
{
	struct unic_mend_hello h = unic_mend_hello(qp, MEND_AGAIN);
	union {
		struct unic_ctl_connect req;
		struct unic_ctl_conn_reply reply;
	} rec = { .req = qp->mend.req };
	struct unic_conn_call call = { .rec = &rec,
				       .tail = &h,
				       .tail_bytes = sizeof(h) };
	uint32_t conn;
	int err = await_call(qp, until, &conn, received);
	int status;

	if (err)
		return err;
	rec.req.conn = unic_to_le32(conn);
	status = unic_ctl(qp->ctx, UNIC_CTL_ACCEPT, &call);
	if (is_lost(status))
		return -ENOTCONN;
	if (status)
		return -EAGAIN; /* the peer gave it up, and asks again */
	qp->conn = conn;
	return 0;
}

/* One try. 0: connected, and what the peer has had is done with. */
static int try_once(struct unic_qp *qp, uint64_t until)
{
	uint32_t received = 0;
	int err = look_again(qp);

	if (!err)
		err = begin_anew(qp);
	if (err)
		return err;
	err = qp->mend.passive ? accept_peer(qp, until, &received)
			       : call_peer(qp, MEND_AGAIN, &received);
	if (!err && !unic_replay_resolve(qp, received))
		err = NO_WAY_BACK; /* it has more than it was sent */
	if (!err && qp->mend.how == UNIC_QP_CUT_REPORT)
		unic_replay_report_sends(qp, false);
	return err;
}

static int reconnect(struct unic_qp *qp)
{
	uint64_t until = unic_now_ns() + MEND_NS;
	int ms = PAUSE_MS;
	int err;

	while ((err = try_once(qp, until)) == -EAGAIN &&
	       unic_now_ns() < until) {
		sleep_on(&qp->ctx->mender, ms);
		ms = 2 * ms < PAUSE_MAX_MS ? 2 * ms : PAUSE_MAX_MS;
	}
	return err;
}

/* -------------------------------------------------------------- how it ends */

static void put_event(struct unic_qp *qp, enum unic_ev_type type,
		      unsigned int status)
{
	struct unic_event ev = { .type = type, .qp = qp, .status = status };

	pthread_mutex_lock(&qp->ctx->evt_lock);
	unic_event_put(qp->ctx, &ev);
	pthread_mutex_unlock(&qp->ctx->evt_lock);
}

/* The peer waits for this end to come back, and it does not: say so. */
static void say_goodbye(struct unic_qp *qp)
{
	struct unic_mend_hello h = unic_mend_hello(qp, MEND_GONE);
	uint32_t received, called;

	pthread_mutex_lock(&qp->ctx->mender.lock);
	called = qp->mend.called;
	qp->mend.called = 0;
	pthread_mutex_unlock(&qp->ctx->mender.lock);
	if (called)
		unic_reject(qp->ctx, called, &h, sizeof(h));
	if (qp->mend.said_again && !qp->mend.passive)
		call_peer(qp, MEND_GONE, &received);
	part(qp, false);
}

/* Nothing of @qp is held back from now on. True: its owner or the peer ended it. */
static bool bury(struct unic_qp *qp)
{
	struct unic_mender *m = &qp->ctx->mender;
	bool final;

	pthread_mutex_lock(&m->lock);
	__atomic_store_n(&qp->mend.state, MEND_DEAD, __ATOMIC_RELEASE);
	final = qp->mend.final;
	pthread_mutex_unlock(&m->lock);
	return final;
}

/* There is no way back: complete what is held back, and leave @qp in ERR. */
static void give_up(struct unic_qp *qp)
{
	uint64_t until = unic_now_ns() + SETTLE_NS;
	bool final;

	if (qp->conn) {
		part(qp, false);
		settle(qp);
	}
	while (begin_anew(qp) == -EAGAIN && unic_now_ns() < until)
		nap_ms(RESETTLE_MS);
	say_goodbye(qp);
	unic_replay_report_sends(qp, true);
	unic_replay_report_recvs(qp, true);
	move_to(qp, UNIC_QPS_INIT);
	move_to(qp, UNIC_QPS_ERR);
	final = bury(qp);
	unic_replay_go(qp); /* what was posted meanwhile is flushed */
	if (!final && !unic_qp_told(qp, UNIC_TOLD_ERROR))
		put_event(qp, UNIC_EV_QP_ERROR, qp->mend.cause);
}

static uint32_t count_progress(const struct unic_qp *qp)
{
	return __atomic_load_n(&qp->mend.received, __ATOMIC_RELAXED) +
	       __atomic_load_n(&qp->mend.completed, __ATOMIC_RELAXED);
}

/* A round in which nothing completed makes the next one wait. */
static bool may_try(struct unic_qp *qp)
{
	struct unic_mend *m = &qp->mend;
	uint32_t now = count_progress(qp);

	m->fruitless = now == m->progress ? m->fruitless + 1 : 0;
	m->progress = now;
	if (m->fruitless)
		sleep_on(&qp->ctx->mender, (int)m->fruitless);
	return m->fruitless <= FRUITLESS_MAX;
}

static int mend(struct unic_qp *qp)
{
	unic_replay_hold(qp);
	if (!may_try(qp))
		return NO_WAY_BACK;
	unic_event_pump(qp->ctx);
	qp->mend.said_again = qp->mend.reported = false;
	part(qp, !look_again(qp));
	settle(qp);
	return reconnect(qp);
}

/* @qp is connected: let it go on. False: it broke meanwhile. */
static bool resume(struct unic_qp *qp)
{
	struct unic_mender *m = &qp->ctx->mender;
	bool well;

	unic_desc_again(qp);
	unic_replay_go(qp);
	__atomic_add_fetch(&qp->mend.rounds, 1, __ATOMIC_RELAXED);
	if (qp->mend.how == UNIC_QP_CUT_REPORT)
		put_event(qp, UNIC_EV_CONNECTED, 0);
	pthread_mutex_lock(&m->lock);
	well = !qp->mend.again && !qp->mend.final && !qp->mend.called;
	qp->mend.cause = UNIC_WC_WR_FLUSH_ERR;
	if (well)
		__atomic_store_n(&qp->mend.state, MEND_UP, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&m->lock);
	return well;
}

void unic_mender_run(struct unic_qp *qp)
{
	struct unic_mender *m = &qp->ctx->mender;
	int err;

	do {
		err = mend(qp);
	} while (!err && !resume(qp));
	if (err == -ENOTCONN)
		unic_replay_forget(qp);
	else if (err)
		give_up(qp);
	pthread_mutex_lock(&m->lock);
	if (err == -ENOTCONN)
		__atomic_store_n(&qp->mend.state, MEND_OFF, __ATOMIC_RELEASE);
	qp->mend.busy = false;
	m->busy--;
	pthread_cond_broadcast(&m->cond);
	pthread_mutex_unlock(&m->lock);
}

bool unic_mender_claim(struct unic_qp *qp)
{
	if (qp->mend.state != MEND_BROKEN || qp->mend.busy)
		return false;
	qp->mend.busy = true; /* it stays until unic_mender_run() ends */
	qp->ctx->mender.busy++;
	return true;
}

/* ------------------------------------------------------------------ the watcher */

static void *mend_in_thread(void *qp)
{
	unic_mender_run(qp);
	return NULL;
}

/* Start a thread for @qp. False: there is no memory for one. */
static bool start_thread(struct unic_qp *qp)
{
	pthread_attr_t attr;
	pthread_t thread;
	bool started;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	started = !unic_thread_start(&thread, &attr, mend_in_thread, qp);
	pthread_attr_destroy(&attr);
	return started;
}

/* Start threads for what is broken. Returns a queue pair for which none could be started,
 * or NULL. */
static struct unic_qp *start_threads(struct unic_ctx *ctx)
{
	struct unic_mender *m = &ctx->mender;
	struct unic_qp *alone = NULL;
	unsigned int i;

	pthread_mutex_lock(&ctx->evt_lock);
	pthread_mutex_lock(&m->lock);
	for (i = 0; i < UNIC_DB_OBJECTS && !m->stop && !alone; i++) {
		struct unic_qp *qp = ctx->qp[i];

		if (qp && unic_mender_claim(qp) && !start_thread(qp))
			alone = qp;
	}
	pthread_mutex_unlock(&m->lock);
	pthread_mutex_unlock(&ctx->evt_lock);
	return alone;
}

static bool must_stop(struct unic_mender *m)
{
	bool stop;

	pthread_mutex_lock(&m->lock);
	stop = m->stop;
	pthread_mutex_unlock(&m->lock);
	return stop;
}

static void *watch(void *arg)
{
	struct unic_ctx *ctx = arg;
	struct pollfd pfd[2] = {
		{ .fd = ctx->mender.kick_efd, .events = POLLIN },
		{ .fd = ctx->upcall_efd, .events = POLLIN },
	};
	struct unic_qp *alone = NULL;

	while (!must_stop(&ctx->mender)) {
		/* after one that this thread mended, there may be more */
		poll(pfd, unic_ctx_lost(ctx) ? 1 : 2, alone ? 0 : WATCH_MS);
		alone = NULL;
		unic_drain(ctx->mender.kick_efd);
		if (unic_ctx_lost(ctx))
			continue;
		unic_event_listen(ctx);
		alone = start_threads(ctx);
		if (alone)
			unic_mender_run(alone);
	}
	return NULL;
}

void unic_mender_kick(struct unic_ctx *ctx)
{
	uint64_t one = 1;

	if (write(ctx->mender.kick_efd, &one, sizeof(one)) < 0)
		ctx->count.ring_failed++;
}

/* --------------------------------------------------------------------- life */

void unic_mender_init(struct unic_mender *m)
{
	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	unic_cond_init(&m->cond);
	m->kick_efd = -1;
}

int unic_mender_start(struct unic_ctx *ctx)
{
	struct unic_mender *m = &ctx->mender;
	int err = 0;

	pthread_mutex_lock(&m->lock);
	if (m->kick_efd < 0)
		m->kick_efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->kick_efd < 0)
		err = errno;
	else if (!m->runs)
		err = unic_thread_start(&m->watcher, NULL, watch, ctx);
	m->runs |= !err;
	pthread_mutex_unlock(&m->lock);
	return err ? unic_fail(-err, "no thread: %s", strerror(err)) : 0;
}

bool unic_mender_pause(struct unic_ctx *ctx)
{
	struct unic_mender *m = &ctx->mender;
	unsigned int i;
	bool ran;

	pthread_mutex_lock(&m->lock);
	ran = m->runs;
	m->runs = false;
	m->stop = true;
	pthread_cond_broadcast(&m->cond);
	if (ran)
		unic_mender_kick(ctx);
	pthread_mutex_unlock(&m->lock);
	if (ran)
		pthread_join(m->watcher, NULL);
	pthread_mutex_lock(&m->lock);
	while (m->busy)
		pthread_cond_wait(&m->cond, &m->lock);
	m->stop = false;
	for (i = 0; i < UNIC_DB_OBJECTS; i++)
		if (ctx->qp[i])
			__atomic_store_n(&ctx->qp[i]->mend.state, MEND_OFF,
					 __ATOMIC_RELEASE);
	pthread_mutex_unlock(&m->lock);
	return ran;
}

void unic_mender_fini(struct unic_ctx *ctx)
{
	struct unic_mender *m = &ctx->mender;

	unic_mender_pause(ctx);
	if (m->kick_efd >= 0)
		close(m->kick_efd);
	m->kick_efd = -1;
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->cond);
}

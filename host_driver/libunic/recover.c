/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * recover.c - recovery of a context after a reset of the NIC or a restart of the driver.
 *
 * Secret: which of the two happened, and the order of recovery: the connection, the
 * upcalls written since, the regions, the queues.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "context.h"
#include "cq.h"
#include "event.h"
#include "fork.h"
#include "mend_thread.h"
#include "nics.h"
#include "owed.h"
#include "queue.h"
#include "rate.h"
#include "stray.h"

#define NAP_NS	2000000l
#define CALL_MS 200 /* at least */

static bool sleep_unless_expired(uint64_t until_ns)
{
	struct timespec ts = { 0, NAP_NS };

	if (unic_now_ns() >= until_ns)
		return false;
	nanosleep(&ts, NULL);
	return true;
}

/* ------------------------------------------------------------ the connection */

static bool same_file(int a, int b)
{
	struct stat x, y;

	return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Time-out of a call, in ms: the time until @until_ns, but CALL_MS at least, so that a
 * running driver can answer. */
static int ms_left(uint64_t until_ns)
{
	uint64_t now = unic_now_ns();
	uint64_t ms = now < until_ns ? (until_ns - now) / 1000000 : 0;

	return ms < CALL_MS	   ? CALL_MS
	       : ms > UNIC_CALL_MS ? UNIC_CALL_MS
				   : (int)ms;
}

/* Connect anew, and resume the slot. 0; -EAGAIN: the driver is not ready; -ESTALE: the
 * driver gave another slot. */
static int try_resume(struct unic_ctx *ctx, uint64_t until_ns)
{
	struct unic_ctx fresh = { .slot.fd = -1,
				  .nic_efd = -1,
				  .evt_efd = -1,
				  .upcall_efd = -1,
				  .kept = true,
				  .attr.proc = ctx->attr.proc };
	int err;

	/* a driver that was only slow serves the old connection still: end it */
	unic_conn_hang_up(ctx->conn);
	err = unic_nics_open(ctx->socket, &fresh.conn, NULL);
	if (err)
		return -EAGAIN;
	err = unic_hello(&fresh, true, ms_left(until_ns));
	if (!err && (!same_file(fresh.slot.fd, ctx->slot.fd) ||
		     fresh.slot.first != ctx->slot.first))
		err = -ESTALE;
	if (err) {
		unic_ctx_close_fds(&fresh);
		unic_conn_close(fresh.conn);
		return err == -ESTALE ? err : -EAGAIN;
	}
	unic_forks_off();
	unic_event_unwatch(ctx);
	unic_ctx_close_fds(ctx);
	unic_conn_close(ctx->conn);
	ctx->conn = fresh.conn;
	ctx->sock = unic_conn_fd(ctx->conn);
	ctx->slot = fresh.slot;
	ctx->nic_efd = fresh.nic_efd;
	ctx->evt_efd = fresh.evt_efd;
	ctx->upcall_efd = fresh.upcall_efd;
	unic_forks_on();
	return unic_event_watch(ctx);
}

/* -------------------------------------------------------------- catching up */

/* 0: the driver answers RESYNC, so it has restored all objects. -EAGAIN: it has not, or
 * it has ended again. */
static int check_restored(struct unic_ctx *ctx, uint64_t until_ns)
{
	struct unic_ctl_resync rec = { .after = unic_to_le32(0) };
	struct unic_ctl_region rows[240];
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = rows,
				       .reply_room = sizeof(rows),
				       .timeout_ms = ms_left(until_ns) };
	uint32_t epoch;

	if (unic_conn_call(ctx->conn, UNIC_CTL_RESYNC, &call) != UNIC_ST_OK)
		return -EAGAIN;
	epoch = unic_from_le32(rec.hdr.epoch);
	if (epoch == ctx->attr.epoch)
		return -EAGAIN;
	ctx->attr.epoch = epoch;
	return 0;
}

static int wait_restored(struct unic_ctx *ctx, uint64_t until_ns)
{
	bool here;
	int err;

	do {
		here = !unic_conn_hung_up(ctx->conn);
		err = here ? 0 : try_resume(ctx, until_ns);
		if (!err)
			err = check_restored(ctx, until_ns);
	} while (err == -EAGAIN && sleep_unless_expired(until_ns));
	if (err == -ESTALE)
		return unic_fail(-ENOTCONN, "the driver does not know this "
					    "process any "
					    "more; close the context");
	return err == -EAGAIN ? unic_fail(-ETIME, here ? "the NIC did not come "
							 "back"
						       : "no driver came back")
			      : err;
}

static int query_qpn(struct unic_qp *qp)
{
	union {
		struct unic_ctl_obj req;
		struct unic_ctl_queue_reply reply;
	} rec = { .req = { .id = unic_to_le32(qp->id) } };
	int err = unic_ctl_simple(qp->ctx, UNIC_CTL_QP_QUERY, &rec,
				  "ask for a queue pair");

	if (!err)
		qp->qpn = unic_from_le32(rec.reply.number) & 0xffffff;
	return err;
}

/* Move @qp to RESET. Other than by unic_modify_qp(), its flushed requests stay to be
 * polled: its rings are empty already. */
static int reset_qp(struct unic_qp *qp)
{
	struct unic_ctl_qp_modify rec = { .id = unic_to_le32(qp->id),
					  .state = UNIC_QPS_RESET };

	unic_qp_untold(qp, UNIC_TOLD_ERROR | UNIC_TOLD_END);
	return unic_ctl_simple(qp->ctx, UNIC_CTL_QP_MODIFY, &rec,
			       "reset a queue pair");
}

static int recover_queues(struct unic_ctx *ctx)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < UNIC_DB_OBJECTS && !err; i++)
		if (ctx->cq[i])
			err = unic_cq_recover(ctx->cq[i]);
	for (i = 0; i < UNIC_DB_OBJECTS && !err; i++) {
		struct unic_qp *qp = ctx->qp[i];

		if (!qp)
			continue;
		unic_qp_recover(qp);
		err = query_qpn(qp);
		if (!err)
			err = reset_qp(qp);
		if (!err)
			err = unic_qp_rate_again(qp);
	}
	return err;
}

/* Recover @ctx. A further reset or restart may happen at each step: begin again. */
static int recover_ctx(struct unic_ctx *ctx, uint64_t until_ns)
{
	int err;

	do {
		err = wait_restored(ctx, until_ns);
		if (err)
			return err;
		err = unic_stray_end(ctx) && unic_owed_send(ctx) ? 0
								 : -ENOTCONN;
		if (err)
			continue;
		unic_event_revive(ctx);
		err = recover_queues(ctx);
	} while (err == -ENOTCONN && sleep_unless_expired(until_ns));
	return err == -ENOTCONN ? unic_fail(-ETIME, "it went away again") : err;
}

int unic_recover(struct unic_ctx *ctx, int timeout_ms)
{
	uint64_t until = unic_now_ns() + (uint64_t)timeout_ms * 1000000u;
	int err = 0, no_thread;
	bool mends = false;

	if (ctx->forked)
		return unic_fail_forked();
	if (!ctx->kept)
		return unic_fail(-EINVAL, "unic_recover: not unic_open_kept()");
	if (unic_conn_hung_up(ctx->conn) || unic_ctx_lost(ctx)) {
		mends = unic_mender_pause(ctx);
		pthread_mutex_lock(&ctx->evt_lock);
		err = recover_ctx(ctx, until);
		if (err)
			unic_ctx_dead(ctx);
		pthread_mutex_unlock(&ctx->evt_lock);
	}
	no_thread = mends ? unic_mender_start(ctx) : 0;
	return err ? err : no_thread;
}

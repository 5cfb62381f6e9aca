/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mend.c - see mend.h. */
#include "mend.h"

#include "context.h"
#include "event.h"
#include "mend_thread.h"
#include "replay.h"

static const uint8_t magic[8] = "unicmend";

struct unic_mend_hello unic_mend_hello(const struct unic_qp *qp,
				       enum unic_mend_what what)
{
	struct unic_mend_hello h = {
		.what = unic_to_le32(what),
		.received = unic_to_le32(
			__atomic_load_n(&qp->mend.received, __ATOMIC_RELAXED)),
		.ident = unic_to_le64(qp->mend.ident),
	};

	memcpy(h.magic, magic, sizeof(magic));
	return h;
}

bool unic_mend_is_hello(const void *data, size_t bytes,
			enum unic_mend_what what)
{
	const struct unic_mend_hello *h = data;

	return bytes == sizeof(*h) && !memcmp(h->magic, magic, sizeof(magic)) &&
	       unic_from_le32(h->what) == what;
}

/* ------------------------------------------------------------------- states */

static void set_state(struct unic_qp *qp, enum unic_mend_state state)
{
	__atomic_store_n(&qp->mend.state, (uint8_t)state, __ATOMIC_RELEASE);
}

static void lock(struct unic_ctx *ctx)
{
	pthread_mutex_lock(&ctx->mender.lock);
}

static void unlock(struct unic_ctx *ctx)
{
	pthread_mutex_unlock(&ctx->mender.lock);
}

void unic_mend_broken(struct unic_qp *qp, unsigned int status)
{
	struct unic_mend *m = &qp->mend;

	lock(qp->ctx);
	if (m->state == MEND_CONNECTING || m->state == MEND_BROKEN)
		m->again = true;
	if (m->state == MEND_UP) {
		set_state(qp, MEND_BROKEN);
		m->cause = (uint8_t)status;
		unic_mender_kick(qp->ctx);
	}
	if (m->cause == UNIC_WC_WR_FLUSH_ERR && status)
		m->cause = (uint8_t)status; /* a better word */
	unlock(qp->ctx);
}

/* @qp was ended by its owner or its peer, for good. */
static void set_final(struct unic_qp *qp)
{
	struct unic_mend *m = &qp->mend;

	lock(qp->ctx);
	if (m->state == MEND_UP || (m->state == MEND_CONNECTING && !m->again))
		set_state(qp, MEND_DEAD);
	m->final = true;
	pthread_cond_broadcast(&qp->ctx->mender.cond);
	unlock(qp->ctx);
}

/* --------------------------------------------------------------- completions */

/* True if a queue pair with error @status was ended by a cut, here or at the peer, or by
 * what cannot be told from one. */
static bool is_cut(unsigned int status)
{
	switch (status) {
	case UNIC_WC_SUCCESS:
	case UNIC_WC_WR_FLUSH_ERR:
	case UNIC_WC_EVICTED:
	case UNIC_WC_REM_EVICTED:
	case UNIC_WC_REM_OP_ERR:
	case UNIC_WC_RETRY_EXC_ERR:
		return true;
	default:
		return false;
	}
}

/* True if a request of @opcode that ends with @status may end otherwise the next time,
 * without the application. */
static bool is_repeatable(uint8_t opcode, const struct unic_cqe *cqe)
{
	if (cqe->status == UNIC_WC_EVICTED) /* a message may have arrived */
		return cqe->detail == UNIC_WD_BUSY &&
		       unic_replay_counts(opcode);
	if (cqe->status == UNIC_WC_REM_EVICTED)
		return opcode == UNIC_WR_SEND || opcode == UNIC_WR_SEND_IMM ||
		       opcode == UNIC_WR_TOKEN;
	return is_cut(cqe->status);
}

static bool is_harmless(unsigned int status)
{
	return is_cut(status) || status == UNIC_WC_MW_BIND_ERR ||
	       status == UNIC_WC_MEM_OP_ERR;
}

static int take_send(struct unic_qp *qp, const struct unic_cqe *cqe)
{
	const struct unic_sq_slot *slot = qp->sq.slot;
	uint64_t pos = unic_from_le64(cqe->wr_id);
	bool begun = cqe->detail == UNIC_WD_BUSY;

	if (!qp->sq.held &&
	    (!cqe->status ||
	     !is_repeatable(slot[pos & qp->sq.mask].opcode, cqe))) {
		if (!is_harmless(cqe->status))
			set_final(qp);
		else if (begun && is_cut(cqe->status))
			unic_mend_broken(qp, cqe->status);
		return 0;
	}
	if (!unic_replay_hold_send(&qp->sq, cqe))
		return -1;
	unic_mend_broken(qp, cqe->status);
	return 1;
}

static int take_recv(struct unic_qp *qp, const struct unic_cqe *cqe)
{
	if (!cqe->status || cqe->status == UNIC_WC_EVICTED)
		return 0;
	if (cqe->status != UNIC_WC_WR_FLUSH_ERR) {
		set_final(qp);
		return 0;
	}
	if (!unic_replay_hold_recv(&qp->rq, unic_from_le64(cqe->wr_id)))
		return -1;
	unic_mend_broken(qp, cqe->status);
	return 1;
}

int unic_mend_takes(struct unic_qp *qp, bool recv, const struct unic_cqe *cqe)
{
	enum unic_mend_state state = unic_mend_state(qp);

	if (state == MEND_DEAD)
		return 0;
	if (state == MEND_OFF && !unic_replay_holds(recv ? &qp->rq : &qp->sq))
		return 0;
	return recv ? take_recv(qp, cqe) : take_send(qp, cqe);
}

/* -------------------------------------------------------------------- events */

bool unic_mend_error(struct unic_qp *qp, unsigned int status)
{
	enum unic_mend_state state = unic_mend_state(qp);

	if (state == MEND_OFF || state == MEND_DEAD)
		return false;
	if (is_cut(status)) {
		unic_mend_broken(qp, status);
		return true;
	}
	set_final(qp);
	return false;
}

/* The private data that the driver has of @conn. Returns how many bytes, or -1: there is
 * no such connection. */
static int query_conn(struct unic_ctx *ctx, uint32_t conn, uint8_t data[64],
		      struct unic_ctl_conn_reply *reply)
{
	union {
		struct unic_ctl_obj req;
		struct unic_ctl_conn_reply reply;
	} rec = { .req = { .id = unic_to_le32(conn) } };
	struct unic_conn_call call = { .rec = &rec,
				       .reply_tail = data,
				       .reply_room = 64 };

	if (unic_ctl(ctx, UNIC_CTL_CONN_QUERY, &call) != UNIC_ST_OK)
		return -1;
	*reply = rec.reply;
	return (int)call.reply_bytes;
}

bool unic_mend_closed(struct unic_qp *qp, uint32_t conn)
{
	enum unic_mend_state state = unic_mend_state(qp);
	struct unic_ctl_conn_reply reply;
	uint8_t data[64];
	int n;

	if (state == MEND_OFF || state == MEND_DEAD)
		return false;
	n = query_conn(qp->ctx, conn, data, &reply);
	if (n < 0)
		return true; /* one of before, which was ended here */
	if (unic_mend_is_hello(data, (size_t)n, MEND_AGAIN)) {
		unic_mend_broken(qp, UNIC_WC_WR_FLUSH_ERR);
		return true;
	}
	set_final(qp);
	return false;
}

/* The queue pair that the REQ with @h is about; NULL: none that can be mended. */
static struct unic_qp *find_called(struct unic_ctx *ctx,
				   const struct unic_mend_hello *h)
{
	unsigned int i;

	for (i = 0; i < UNIC_DB_OBJECTS; i++) {
		struct unic_qp *qp = ctx->qp[i];

		if (qp && qp->mend.passive && qp->mend.ident &&
		    qp->mend.ident == unic_from_le64(h->ident))
			return qp;
	}
	return NULL;
}

static void reject(struct unic_ctx *ctx, uint32_t conn,
		   const struct unic_mend_hello *asked)
{
	struct unic_mend_hello h = *asked;

	h.what = unic_to_le32(MEND_GONE);
	unic_reject(ctx, conn, &h, sizeof(h));
}

static void told_gone(struct unic_qp *qp)
{
	struct unic_event ev = { .type = UNIC_EV_DISCONNECTED, .qp = qp };

	set_final(qp);
	unic_qp_told(qp, UNIC_TOLD_END);
	if (!unic_qp_told(qp, UNIC_TOLD_DOWN))
		unic_event_put(qp->ctx, &ev);
}

/* The peer of @qp wants to connect by @conn, having received @received messages. False:
 * there is no way back. */
static bool take_call(struct unic_qp *qp, uint32_t conn, uint32_t received)
{
	struct unic_mend *m = &qp->mend;
	bool lives, up;

	lock(qp->ctx);
	up = m->state == MEND_UP;
	lives = (m->state == MEND_UP || m->state == MEND_BROKEN) && !m->final;
	if (lives) {
		m->called = conn;
		m->called_received = received;
		pthread_cond_broadcast(&qp->ctx->mender.cond);
	}
	unlock(qp->ctx);
	if (lives && up)
		unic_mend_broken(qp, UNIC_WC_WR_FLUSH_ERR);
	return lives;
}

bool unic_mend_asked(struct unic_ctx *ctx, uint32_t conn, uint32_t peer_ipv4,
		     const void *data, size_t bytes)
{
	const struct unic_mend_hello *h = data;
	bool gone = unic_mend_is_hello(data, bytes, MEND_GONE);
	struct unic_qp *qp;

	if (!gone && !unic_mend_is_hello(data, bytes, MEND_AGAIN))
		return false;
	pthread_mutex_lock(&ctx->evt_lock);
	qp = find_called(ctx, h);
	if (qp && qp->mend.peer_ipv4 != peer_ipv4)
		qp = NULL;
	if (qp && gone)
		told_gone(qp);
	if (!qp || gone || !take_call(qp, conn, unic_from_le32(h->received)))
		reject(ctx, conn, h);
	pthread_mutex_unlock(&ctx->evt_lock);
	return true;
}

bool unic_mend_query(struct unic_ctx *ctx, uint32_t conn)
{
	struct unic_ctl_conn_reply reply;
	uint8_t data[64];
	int n = query_conn(ctx, conn, data, &reply);

	return n > 0 &&
	       unic_mend_asked(ctx, conn, unic_from_le32(reply.peer_ipv4), data,
			       (size_t)n);
}

/* ------------------------------------------------------------------ sessions */

void unic_mend_connecting(struct unic_qp *qp,
			  const struct unic_ctl_connect *req)
{
	struct unic_mend *m = &qp->mend;

	if (!m->how)
		return;
	if (unic_mend_at_work(qp))
		unic_mend_stop(qp);
	lock(qp->ctx);
	m->req = *req;
	m->req.timeout_us = unic_to_le32(0);
	m->passive = unic_from_le32(req->conn);
	m->ident = 0;
	m->called = 0;
	m->again = m->final = m->stop = false;
	m->fruitless = 0;
	m->cause = 0;
	set_state(qp, MEND_CONNECTING);
	unlock(qp->ctx);
}

void unic_mend_connected(struct unic_qp *qp,
			 const struct unic_ctl_conn_reply *reply)
{
	struct unic_mend *m = &qp->mend;

	if (!m->how)
		return;
	lock(qp->ctx);
	if (reply) {
		m->peer_ipv4 = unic_from_le32(reply->peer_ipv4);
		m->ident = unic_from_le64(reply->transaction);
	}
	if (m->state == MEND_CONNECTING)
		set_state(qp, m->again	 ? MEND_BROKEN
			      : m->ident ? MEND_UP
					 : MEND_OFF);
	if (m->state == MEND_BROKEN)
		unic_mender_kick(qp->ctx);
	unlock(qp->ctx);
}

void unic_mend_stop(struct unic_qp *qp)
{
	struct unic_mend *m = &qp->mend;
	bool mine;

	if (!m->how || qp->ctx->forked)
		return;
	set_final(qp);
	lock(qp->ctx);
	m->stop = true;
	pthread_cond_broadcast(&qp->ctx->mender.cond);
	while (m->busy)
		pthread_cond_wait(&qp->ctx->mender.cond, &qp->ctx->mender.lock);
	mine = unic_mender_claim(qp); /* no thread was quick enough */
	unlock(qp->ctx);
	if (mine)
		unic_mender_run(qp);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_mend.c - connections that a cut ended, and that the library makes
 * again: what its peer, the driver and the application see of it.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "libunic_rig.h"
#include "bufman.h"
#include "context.h"
#include "cq.h"
#include "mend.h"
#include "mend_thread.h"

#define IDENT	0x1122334455667788ull
#define PEER_IP 0x0a000002u
#define QPN	77u
#define MAX	64u

/* The NIC, the driver's connections and the peer, as the hook plays them; under
 * drv.lock. */
static struct {
	uint32_t cqes;		   /* written */
	uint32_t sq_done, rq_done; /* requests that were completed */
	uint32_t received;	   /* messages that the peer claims to have */
	uint32_t asker;		   /* address that CONN_QUERY names */
	uint64_t ident;		   /* transaction that the driver names */
	uint16_t connect_status;   /* of the next CONNECTs */
	uint32_t reason;	   /* of REJECTED */
	bool gone;		   /* the peer rejects with that word */
	uint32_t conns;
	struct rig *looks; /* a thread of it polls while it is connected */
	uint32_t wait_err; /* moving the QP to ERR waits for it to be 0 */
	bool dead;	   /* the QP is in ERR */
	bool reset;	   /* and not connected since: it takes no doorbells */
	struct unic_mend_hello asks; /* what CONN_QUERY answers */
	int asks_bytes;		     /* -1: no such connection */
	/* what was heard */
	struct unic_mend_hello bye, hello, no;
	uint32_t byes, bye_bytes, connects, accepts, rejects, resets, errs;
	struct unic_ctl_grant grant[8];
	uint32_t grants, gone_mr; /* that region has ended */
} nic;

static uint32_t tail_of(const unic_le32 *cell)
{
	return unic_from_le32(__atomic_load_n(cell, __ATOMIC_ACQUIRE));
}

static struct unic_rq_slot *rq_ring(void)
{
	return (void *)(sq_ring() + 4);
}

/* Slots of the request at @pos of the send ring. */
static uint32_t slots_at(uint32_t pos)
{
	const struct unic_sq_slot *s = &sq_ring()[pos % 4];

	return s->num_sge > UNIC_SQ_SGE_BASE ||
			       s->inline_len > UNIC_SQ_INLINE_BASE
		       ? 2
		       : 1;
}

static void put_cqe(uint8_t opcode, uint64_t wr_id, uint8_t status,
		    uint8_t detail)
{
	struct unic_cqe *cqe = &cq_ring()[nic.cqes % 8];

	cqe->status = status;
	cqe->detail = detail;
	cqe->byte_len = unic_to_le32(status ? 0 : 99);
	complete(nic.cqes++, QPN, opcode, wr_id);
}

/* Completes the next send with @status. */
static void end_send(uint8_t status, uint8_t detail)
{
	uint32_t pos = nic.sq_done;

	nic.sq_done += slots_at(pos);
	put_cqe((uint8_t)unic_wc_of_wr(sq_ring()[pos % 4].opcode), pos, status,
		detail);
}

static void end_recv(uint8_t status)
{
	put_cqe(UNIC_WC_RECV, nic.rq_done++, status, 0);
}

static void flush(void)
{
	while (nic.sq_done != tail_of(&db()->tail[1].sq))
		end_send(UNIC_WC_WR_FLUSH_ERR, 0);
	while (nic.rq_done != tail_of(&db()->tail[1].rq))
		end_recv(UNIC_WC_WR_FLUSH_ERR);
}

static int words(uint8_t *out, const struct unic_mend_hello *h)
{
	memcpy(out + UNIC_CTL_BYTES, h, sizeof(*h));
	return sizeof(*h);
}

/* The oldest receive is flushed, and the application looks. */
static void flush_one(struct rig *r)
{
	struct unic_wc wc;

	end_recv(UNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(unic_poll_cq(r->cq, 1, &wc), 0);
	if (nic.ident) /* an error of its own follows */
		assert_false(unic_mend_error(r->qp, UNIC_WC_LOC_PROT_ERR));
}

static int on_connect(uint8_t *out, const struct unic_mend_hello *h, size_t n)
{
	struct unic_ctl_conn_reply *r = (void *)out;
	struct unic_mend_hello answer = {
		.what = unic_to_le32(MEND_AGAIN),
		.received = unic_to_le32(nic.received),
		.ident = unic_to_le64(nic.ident),
	};

	memcpy(answer.magic, "unicmend", 8);
	if (nic.looks)
		flush_one(nic.looks);
	nic.connects++;
	nic.reset &= nic.connect_status != 0;
	if (n == sizeof(*h))
		nic.hello = *h;
	r->hdr.status = unic_to_le16(nic.connect_status);
	r->reason = unic_to_le32(nic.reason);
	if (nic.gone)
		answer.what = unic_to_le32(MEND_GONE);
	if (n != sizeof(*h) || (nic.connect_status && !nic.gone))
		answer = (struct unic_mend_hello){ .what = answer.what };
	r->id = unic_to_le32(++nic.conns);
	r->peer_ipv4 = unic_to_le32(PEER_IP);
	r->transaction = unic_to_le64(nic.ident);
	return words(out, &answer);
}

static void on_modify(const struct unic_ctl_qp_modify *r)
{
	if (r->state == UNIC_QPS_ERR) {
		__atomic_add_fetch(&nic.errs, 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(&nic.wait_err, __ATOMIC_ACQUIRE))
			usleep(1000);
	}
	if (r->state != UNIC_QPS_RESET)
		return;
	nic.resets++;
	nic.sq_done = nic.rq_done = 0;
	nic.reset = true;
	nic.dead = false;
}

static void on_grant(const struct unic_ctl_grant *r, uint8_t *out)
{
	struct unic_ctl_hdr *hdr = (void *)out;

	assert_true(nic.grants < 8);
	nic.grant[nic.grants++] = *r;
	if (nic.gone_mr && unic_from_le32(r->mr) == nic.gone_mr)
		hdr->status = unic_to_le16(UNIC_ST_NO_MR);
}

static int play(uint16_t op, const uint8_t *in, size_t len, uint8_t *out)
{
	const struct unic_mend_hello *h = (const void *)(in + UNIC_CTL_BYTES);
	struct unic_ctl_conn_reply *r = (void *)out;
	size_t tail = len - UNIC_CTL_BYTES;

	switch (op) {
	case UNIC_CTL_CONNECT:
		return on_connect(out, h, tail);
	case UNIC_CTL_ACCEPT:
		nic.accepts++;
		if (tail == sizeof(*h))
			nic.hello = *h;
		r->peer_ipv4 = unic_to_le32(PEER_IP);
		r->transaction = unic_to_le64(nic.ident);
		return 0;
	case UNIC_CTL_DISCONNECT:
		nic.byes++;
		nic.bye_bytes = (uint32_t)tail;
		if (tail == sizeof(*h))
			nic.bye = *h;
		flush();
		return 0;
	case UNIC_CTL_REJECT:
		nic.rejects++;
		nic.no = *h;
		return 0;
	case UNIC_CTL_CONN_QUERY:
		r->peer_ipv4 = unic_to_le32(nic.asker);
		if (nic.asks_bytes < 0)
			r->hdr.status = unic_to_le16(UNIC_CTL_ST_NO_CONN);
		words(out, &nic.asks);
		return nic.asks_bytes < 0 ? 0 : nic.asks_bytes;
	case UNIC_CTL_GRANT:
		on_grant((const void *)in, out);
		return 0;
	case UNIC_CTL_QP_MODIFY:
		on_modify((const void *)in);
		return 0;
	default:
		return -1;
	}
}

/* A connected queue pair of kind @cut. */
static void up_as(struct rig *r, uint8_t cut, bool passive)
{
	struct unic_conn_param param = { .max_rd = 1 };

	memset(&nic, 0, sizeof(nic));
	nic.ident = IDENT;
	nic.asker = PEER_IP;
	drv.first = play;
	rig_up_as(r, cut);
	if (passive)
		assert_int_equal(unic_accept(r->ctx, 9, r->qp, &param), 0);
	else
		assert_int_equal(unic_connect(r->qp, PEER_IP, 5, &param, 1000,
					      NULL, NULL),
				 0);
}

static void post(struct rig *r, uint64_t wr_id, uint8_t opcode)
{
	struct unic_sg sg = { (void *)0x1000, 5, 9 };
	struct unic_send_wr wr = { .wr_id = wr_id,
				   .opcode = opcode,
				   .flags = UNIC_WR_SIGNALED,
				   .num_sge = 1,
				   .remote = 0xabc,
				   .rkey = 3,
				   .sg = &sg };

	assert_int_equal(unic_post_send(r->qp, &wr, 1), 1);
}

static void post_recv(struct rig *r, uint64_t wr_id)
{
	struct unic_recv_wr wr = { .wr_id = wr_id };

	assert_int_equal(unic_post_recv(r->qp, &wr, 1), 1);
}

/* The queue pair dies: the next send ends with @status, all others are flushed. */
static void cut(uint8_t status, uint8_t detail)
{
	pthread_mutex_lock(&drv.lock);
	if (nic.sq_done != tail_of(&db()->tail[1].sq))
		end_send(status, detail);
	flush();
	pthread_mutex_unlock(&drv.lock);
}

static void wait_for(const uint32_t *what, uint32_t value)
{
	int i;

	for (i = 0;
	     i < 20000 && __atomic_load_n(what, __ATOMIC_ACQUIRE) < value; i++)
		usleep(1000);
	assert_int_equal(__atomic_load_n(what, __ATOMIC_ACQUIRE), value);
}

/* The library has connected again, for the @n-th time, and the NIC knows. */
static void mended(struct rig *r, uint32_t n)
{
	wait_for(&r->qp->mend.rounds, n);
	assert_int_equal(unic_qp_cuts(r->qp), n);
	while (unic_mend_state(r->qp) != MEND_UP)
		usleep(1000);
}

/* Polls @n completions, in time. */
static void polled(struct rig *r, int n, struct unic_wc *wc)
{
	int got = 0, i;

	for (i = 0; i < 20000 && got < n; i++) {
		int k = unic_poll_cq(r->cq, (unsigned int)(n - got), wc + got);

		assert_true(k >= 0);
		got += k;
		if (!k)
			usleep(1000);
	}
	assert_int_equal(got, n);
}

static void no_more(struct rig *r)
{
	struct unic_wc wc;

	usleep(2000);
	assert_int_equal(unic_poll_cq(r->cq, 1, &wc), 0);
}

/* Events of @type; there is none of another. */
static unsigned int events_of(struct rig *r, enum unic_ev_type type)
{
	struct unic_event ev;
	unsigned int n = 0;

	while (!unic_get_event(r->ctx, &ev)) {
		assert_int_equal(ev.type, type);
		n++;
	}
	return n;
}

static bool is_empty(uint32_t pos)
{
	const struct unic_sq_slot *s = &sq_ring()[pos];

	return s->opcode == UNIC_WR_WRITE && !s->num_sge && !s->inline_len &&
	       !unic_from_le64(s->remote) && !unic_from_le32(s->rkey);
}

/* ------------------------------------------------------------------- replay */

static void requests_are_posted_again(void **state)
{
	static const uint8_t kind[] = { UNIC_WR_WRITE, UNIC_WR_SEND,
					UNIC_WR_READ };
	struct unic_wc wc[4];
	struct rig r;
	uint32_t i;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_SEND);
	end_send(0, 0);
	polled(&r, 1, wc); /* what completed stays so */
	for (i = 0; i < 3; i++)
		post(&r, 20 + i, kind[i]);
	post_recv(&r, 30);
	post_recv(&r, 31);
	end_recv(0);
	polled(&r, 1, wc);
	nic.received = 1;
	cut(UNIC_WC_REM_OP_ERR, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	mended(&r, 1);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	assert_int_equal(nic.byes, 1);
	assert_true(unic_mend_is_hello(&nic.bye, nic.bye_bytes, MEND_AGAIN));
	assert_int_equal(nic.resets, 1);
	assert_int_equal(nic.connects, 2);
	assert_true(
		unic_mend_is_hello(&nic.hello, sizeof(nic.hello), MEND_AGAIN));
	assert_true(unic_from_le64(nic.hello.ident) == IDENT);
	assert_int_equal(unic_from_le32(nic.hello.received), 1);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 3);
	assert_int_equal(unic_from_le32(db()->tail[1].rq), 1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(sq_ring()[i].opcode, kind[i]);
		assert_int_equal(unic_from_le64(sq_ring()[i].wr_id), i);
		assert_int_equal(unic_from_le64(sq_ring()[i].remote), 0xabc);
		end_send(0, 0);
	}
	assert_int_equal(unic_from_le64(rq_ring()[0].wr_id), 0);
	end_recv(0);
	polled(&r, 4, wc);
	for (i = 0; i < 3; i++) {
		assert_int_equal(wc[i].wr_id, 20 + i);
		assert_int_equal(wc[i].status, UNIC_WC_SUCCESS);
	}
	assert_int_equal(wc[3].wr_id, 31);
	assert_int_equal(events_of(&r, UNIC_EV_RESET), 0);
	rig_down(&r);
}

/* A message that the peer has had is not sent again, nor what was posted before it; it
 * completes in its place and under its name. What is local is repeated. */
static void messages_arrive_once(void **state)
{
	char text[40] = "a message that takes two slots";
	struct unic_sg sg = { text, sizeof(text), 0 };
	struct unic_send_wr two = { .wr_id = 11,
				    .opcode = UNIC_WR_SEND,
				    .flags = UNIC_WR_SIGNALED | UNIC_WR_INLINE,
				    .num_sge = 1,
				    .sg = &sg };
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_WRITE);
	assert_int_equal(unic_post_send(r.qp, &two, 1), 1);
	post(&r, 12, UNIC_WR_SEND);
	nic.received = 1;
	cut(UNIC_WC_RETRY_EXC_ERR, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	mended(&r, 1);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 3);
	assert_true(is_empty(0));
	assert_true(is_empty(1));
	assert_int_equal(sq_ring()[2].opcode, UNIC_WR_SEND);
	end_send(0, 0);
	end_send(0, 0);
	polled(&r, 2, wc);
	assert_int_equal(wc[0].opcode, UNIC_WC_WRITE);
	assert_int_equal(wc[0].byte_len, 5);
	assert_int_equal(wc[1].wr_id, 11);
	assert_int_equal(wc[1].opcode, UNIC_WC_SEND);
	assert_int_equal(wc[1].byte_len, 40);
	/* the second is cut once more, and has arrived by now */
	post(&r, 13, UNIC_WR_READ);
	post(&r, 14, UNIC_WR_SEND);
	nic.received = 3;
	cut(UNIC_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	mended(&r, 2);
	assert_true(is_empty(0));
	assert_int_equal(sq_ring()[1].opcode, UNIC_WR_READ);
	assert_true(is_empty(2));
	end_send(0, 0);
	end_send(0, 0);
	end_send(0, 0);
	polled(&r, 3, wc);
	assert_int_equal(wc[1].wr_id, 13);
	assert_int_equal(wc[2].wr_id, 14);
	assert_int_equal(wc[2].opcode, UNIC_WC_SEND);
	no_more(&r);
	rig_down(&r);
}

/* A request that was refused before it began, or whose region is gone, is the
 * application's; a message that failed that way never arrives, and does not count. */
static void evicted_requests_go_to_the_application(void **state)
{
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_SEND);
	end_send(UNIC_WC_EVICTED, 0);
	polled(&r, 1, wc);
	assert_int_equal(wc[0].status, UNIC_WC_EVICTED);
	post(&r, 11, UNIC_WR_WRITE);
	end_send(UNIC_WC_REM_EVICTED, 0);
	polled(&r, 1, wc);
	usleep(20000);
	assert_int_equal(nic.byes, 0); /* the queue pair lives */
	post(&r, 12, UNIC_WR_WRITE);
	post(&r, 13, UNIC_WR_SEND);
	post(&r, 14, UNIC_WR_SEND);
	nic.received = 1;
	cut(UNIC_WC_REM_EVICTED, UNIC_WD_BUSY);
	polled(&r, 1, wc);
	assert_int_equal(wc[0].wr_id, 12);
	assert_int_equal(wc[0].status, UNIC_WC_REM_EVICTED);
	mended(&r, 1);
	assert_true(is_empty(0));
	assert_int_equal(sq_ring()[1].opcode, UNIC_WR_SEND);
	end_send(0, 0);
	end_send(0, 0);
	polled(&r, 2, wc);
	assert_int_equal(wc[0].wr_id, 13);
	/* one that had begun may have arrived: only the peer knows */
	post(&r, 15, UNIC_WR_SEND);
	nic.received = 3;
	cut(UNIC_WC_EVICTED, UNIC_WD_BUSY);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	mended(&r, 2);
	assert_true(is_empty(0));
	end_send(0, 0);
	polled(&r, 1, wc);
	assert_int_equal(wc[0].status, UNIC_WC_SUCCESS);
	/* of a WRITE that does not matter: it is repeated with another region */
	post(&r, 16, UNIC_WR_WRITE);
	cut(UNIC_WC_EVICTED, UNIC_WD_BUSY);
	polled(&r, 1, wc);
	assert_int_equal(wc[0].status, UNIC_WC_EVICTED);
	assert_int_equal(wc[0].detail, UNIC_WD_BUSY);
	mended(&r, 3);
	rig_down(&r);
}

/* Three requests, of which the peer has had the first and the last; that of @opcode
 * between them was refused before it began. */
static void cut_around_refused(struct rig *r, uint8_t opcode)
{
	struct unic_wc wc[4];

	post(r, 10, UNIC_WR_SEND);
	post(r, 11, opcode);
	post(r, 12, UNIC_WR_SEND);
	pthread_mutex_lock(&drv.lock);
	nic.received = 2;
	end_send(UNIC_WC_WR_FLUSH_ERR, 0);
	end_send(UNIC_WC_EVICTED, 0);
	flush();
	pthread_mutex_unlock(&drv.lock);
	assert_int_equal(unic_poll_cq(r->cq, 4, wc), 0);
}

/* The NIC sends what is behind a request that it refuses: that what is behind has
 * arrived does not say that the request has. */
static void refused_requests_never_arrive(void **state)
{
	static const uint8_t kind[] = { UNIC_WR_SEND, UNIC_WR_WRITE };
	struct unic_wc wc[4];
	struct rig r;
	uint32_t way, i;

	(void)state;
	for (way = 0; way < 2; way++) {
		if (way) {
			driver_down(state);
			driver_up(state);
		}
		up_as(&r, UNIC_QP_CUT_REPLAY, false);
		cut_around_refused(&r, kind[way]);
		mended(&r, 1);
		assert_true(is_empty(0));
		assert_int_equal(sq_ring()[1].opcode, kind[way]);
		assert_false(is_empty(1)); /* it is refused again */
		assert_true(is_empty(2));
		end_send(0, 0);
		end_send(UNIC_WC_EVICTED, 0);
		end_send(0, 0);
		polled(&r, 3, wc);
		for (i = 0; i < 3; i++) {
			assert_int_equal(wc[i].wr_id, 10 + i);
			assert_int_equal(wc[i].status,
					 i == 1 ? UNIC_WC_EVICTED : 0);
		}
		/* the count of messages is right */
		post(&r, 13, UNIC_WR_SEND);
		cut(UNIC_WC_REM_OP_ERR, 0);
		assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
		mended(&r, 2);
		assert_int_equal(sq_ring()[0].opcode, UNIC_WR_SEND);
		end_send(0, 0);
		polled(&r, 1, wc);
		no_more(&r);
		rig_down(&r);
	}
}

/* A message, a registration of memory, and a message that uses it; the NIC was cut when
 * it had sent both and carried out what is between them. */
static void cut_around_registration(struct rig *r)
{
	struct unic_wc wc[4];

	post(r, 10, UNIC_WR_SEND);
	post(r, 11, UNIC_WR_REG_MR);
	post(r, 12, UNIC_WR_SEND);
	pthread_mutex_lock(&drv.lock);
	end_send(UNIC_WC_WR_FLUSH_ERR, 0);
	end_send(0, 0);
	flush();
	pthread_mutex_unlock(&drv.lock);
	assert_int_equal(unic_poll_cq(r->cq, 4, wc), 0);
}

/* What the NIC carried out at this end is not posted again: it would be refused. */
static void registrations_are_made_once(void **state)
{
	struct unic_wc wc[4];
	struct rig r;
	uint32_t i;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	cut_around_registration(&r);
	mended(&r, 1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(is_empty(i), i == 1);
		end_send(0, 0);
	}
	polled(&r, 3, wc);
	for (i = 0; i < 3; i++) {
		assert_int_equal(wc[i].wr_id, 10 + i);
		assert_int_equal(wc[i].status, UNIC_WC_SUCCESS);
	}
	assert_int_equal(wc[1].opcode, UNIC_WC_REG_MR);
	assert_int_equal(wc[1].byte_len, 0);
	no_more(&r);
	rig_down(&r);
}

/* What is posted while there is no connection waits for it, behind the rest. */
static void posting_goes_on(void **state)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	struct unic_wc wc[4];
	struct rig r;
	uint32_t i;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_SEND);
	nic.connect_status = UNIC_CTL_ST_UNREACHABLE;
	cut(UNIC_WC_REM_OP_ERR, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	wait_for(&nic.connects, 2);
	for (i = 11; i < 14; i++)
		post(&r, i, UNIC_WR_SEND);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), -EAGAIN);
	post_recv(&r, 20);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 0);
	pthread_mutex_lock(&drv.lock);
	nic.connect_status = 0;
	pthread_mutex_unlock(&drv.lock);
	mended(&r, 1);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 4);
	assert_int_equal(unic_from_le32(db()->tail[1].rq), 1);
	for (i = 0; i < 4; i++)
		end_send(0, 0);
	polled(&r, 4, wc);
	for (i = 0; i < 4; i++)
		assert_int_equal(wc[i].wr_id, 10 + i);
	rig_down(&r);
}

/* A peer that executes what it is sent, and a NIC that is cut anywhere: between what was
 * executed and what was acknowledged, too. Requests have numbers from 1: `imm` of a
 * message, `remote` of a WRITE or READ. */
static struct {
	uint32_t seed, heard; /* the last message */
	uint32_t posted,
		done;	   /* the last request, and the last that completed */
	uint8_t kind[128]; /* by number */
} peer;

static uint32_t below(uint32_t n)
{
	peer.seed = peer.seed * 1664525 + 1013904223;
	return (peer.seed >> 8) % n;
}

static void execute(uint32_t pos)
{
	const struct unic_sq_slot *s = &sq_ring()[pos % 4];
	uint32_t n = unic_from_le32(s->imm);

	if (s->opcode == UNIC_WR_SEND) {
		/* once, and in order */
		assert_true(n > peer.heard);
		while (++peer.heard < n)
			assert_int_not_equal(peer.kind[peer.heard],
					     UNIC_WR_SEND);
		nic.received++;
	} else if (s->opcode == UNIC_WR_WRITE && !is_empty(pos % 4)) {
		/* nothing that the peer was told of changes */
		assert_true(unic_from_le64(s->remote) > peer.heard);
	}
}

static void die(void)
{
	static const uint8_t why[] = { UNIC_WC_WR_FLUSH_ERR, UNIC_WC_REM_OP_ERR,
				       UNIC_WC_RETRY_EXC_ERR };
	uint32_t tail = tail_of(&db()->tail[1].sq), pos = nic.sq_done;

	for (; pos != tail && below(2); pos += slots_at(pos))
		execute(pos);
	if (nic.sq_done != tail)
		end_send(why[below(3)], 0);
	flush();
	nic.dead = true;
}

/* One step of the NIC. */
static void step(void)
{
	uint32_t pos;

	pthread_mutex_lock(&drv.lock);
	pos = nic.sq_done;
	if (nic.dead) {
		flush();
	} else if (!nic.reset && pos != tail_of(&db()->tail[1].sq)) {
		if (!below(6)) {
			die();
		} else {
			execute(pos);
			if (sq_ring()[pos % 4].flags & UNIC_WR_SIGNALED)
				end_send(0, 0);
			else
				nic.sq_done += slots_at(pos);
		}
	}
	pthread_mutex_unlock(&drv.lock);
}

/* True if the next request was posted. */
static bool post_any(struct rig *r)
{
	static const uint8_t kinds[] = { UNIC_WR_SEND, UNIC_WR_WRITE,
					 UNIC_WR_READ };
	uint32_t n = peer.posted + 1, kind = kinds[below(3)];
	char text[40] = "longer than one slot";
	struct unic_sg sg = { text, below(2) ? 40 : 4, 9 };
	struct unic_send_wr wr = {
		.wr_id = n,
		.opcode = (uint8_t)kind,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 1,
		.imm = n,
		.remote = n,
		.rkey = 3,
		.sg = &sg,
	};

	if (kind == UNIC_WR_SEND)
		wr.flags |= UNIC_WR_INLINE;
	if (n % 3 == 1)
		wr.flags &= (uint8_t)~UNIC_WR_SIGNALED;
	if (unic_post_send(r->qp, &wr, 1) != 1)
		return false;
	peer.kind[n] = wr.opcode;
	peer.posted = n;
	return true;
}

static void messages_arrive_once_wherever_it_is_cut(void **state)
{
	struct unic_wc wc;
	struct rig r;
	uint32_t i;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	memset(&peer, 0, sizeof(peer));
	peer.seed = 5;
	while (peer.done < 120) {
		while (peer.posted < 120 && below(3) && post_any(&r))
			;
		step();
		while (unic_poll_cq(r.cq, 1, &wc) == 1) {
			assert_int_equal(wc.status, UNIC_WC_SUCCESS);
			for (i = peer.done + 1; i < wc.wr_id; i++)
				assert_int_equal(i % 3, 1); /* not signaled */
			assert_true(wc.wr_id > peer.done);
			assert_int_equal(wc.opcode,
					 unic_wc_of_wr(peer.kind[wc.wr_id]));
			peer.done = (uint32_t)wc.wr_id;
		}
	}
	for (i = peer.heard + 1; i <= 120; i++)
		assert_int_not_equal(peer.kind[i], UNIC_WR_SEND);
	assert_true(unic_qp_cuts(r.qp) > 5);
	while (unic_mend_at_work(r.qp))
		step();
	rig_down(&r);
}

/* ------------------------------------------------------------------- report */

static void requests_are_reported_once(void **state)
{
	struct unic_wc wc[8];
	struct rig r;
	uint32_t i;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPORT, false);
	post(&r, 10, UNIC_WR_SEND);
	post(&r, 11, UNIC_WR_SEND);
	post(&r, 12, UNIC_WR_WRITE);
	post_recv(&r, 20);
	nic.received = 1;
	cut(UNIC_WC_REM_OP_ERR, 0);
	polled(&r, 4, wc);
	mended(&r, 1);
	assert_int_equal(events_of(&r, UNIC_EV_CONNECTED), 1);
	assert_int_equal(wc[0].wr_id, 20);
	assert_int_equal(wc[0].opcode, UNIC_WC_RECV);
	assert_int_equal(wc[0].status, UNIC_WC_WR_FLUSH_ERR);
	for (i = 1; i < 4; i++) {
		assert_int_equal(wc[i].wr_id, 9 + i);
		assert_int_equal(wc[i].status,
				 i > 1 ? UNIC_WC_WR_FLUSH_ERR : 0);
	}
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 0);
	post(&r, 13, UNIC_WR_SEND);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 1);
	end_send(0, 0);
	polled(&r, 1, wc);
	assert_int_equal(wc[0].wr_id, 13);
	no_more(&r);
	rig_down(&r);
}

static void refused_requests_are_reported(void **state)
{
	struct unic_wc wc[4];
	struct rig r;
	uint32_t i;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPORT, false);
	cut_around_refused(&r, UNIC_WR_SEND);
	polled(&r, 3, wc);
	for (i = 0; i < 3; i++) {
		assert_int_equal(wc[i].wr_id, 10 + i);
		assert_int_equal(wc[i].status, i == 1 ? UNIC_WC_EVICTED : 0);
	}
	mended(&r, 1);
	no_more(&r);
	rig_down(&r);
}

static void registrations_are_reported(void **state)
{
	struct unic_wc wc[4];
	struct rig r;
	uint32_t i;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPORT, false);
	cut_around_registration(&r);
	polled(&r, 3, wc);
	for (i = 0; i < 3; i++) {
		assert_int_equal(wc[i].wr_id, 10 + i);
		assert_int_equal(wc[i].status,
				 i == 1 ? 0 : UNIC_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(wc[1].byte_len, 0);
	mended(&r, 1);
	rig_down(&r);
}

/* ------------------------------------------------------------- no way back */

/* All requests end, the first with its own error, and one event says why. */
static void gone_peers_are_reported_once(void **state)
{
	struct unic_wc wc[8];
	struct rig r;
	uint32_t i, way;

	(void)state;
	for (way = 0; way < 4; way++) {
		if (way) {
			driver_down(state);
			driver_up(state);
		}
		up_as(&r, UNIC_QP_CUT_REPLAY, false);
		post(&r, 10, UNIC_WR_SEND);
		post(&r, 11, UNIC_WR_SEND);
		post_recv(&r, 20);
		if (way == 2)
			nic.received = 3; /* more than it was sent */
		else if (way == 3)
			nic.ident++; /* somebody else answers */
		else
			nic.connect_status = UNIC_CTL_ST_REJECTED;
		nic.reason = way ? 28 : 8; /* nobody listens */
		nic.gone = way == 1;
		cut(UNIC_WC_RETRY_EXC_ERR, 0);
		polled(&r, 3, wc);
		for (i = 0; i < 3; i++) {
			assert_int_equal(wc[i].wr_id, i < 2 ? 10 + i : 20);
			assert_int_equal(wc[i].status,
					 i ? UNIC_WC_WR_FLUSH_ERR
					   : UNIC_WC_RETRY_EXC_ERR);
		}
		while (unic_mend_state(r.qp) != MEND_DEAD)
			usleep(1000);
		assert_int_equal(nic.errs, 1);
		/* who was to wait is told not to */
		assert_int_equal(nic.connects, way < 2 ? 3 : 2);
		assert_int_equal(nic.byes, way < 2 ? 1 : 2);
		assert_true(way < 2 ? unic_mend_is_hello(&nic.hello,
							 sizeof(nic.hello),
							 MEND_GONE)
				    : !nic.bye_bytes);
		assert_int_equal(events_of(&r, UNIC_EV_QP_ERROR), 1);
		no_more(&r);
		rig_down(&r);
	}
}

/* Errors of the application end the queue pair as ever. */
static void own_errors_are_not_mended(void **state)
{
	struct unic_upcall_obj up = { .user = unic_to_le32(1) };
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_SEND);
	post(&r, 11, UNIC_WR_SEND);
	cut(UNIC_WC_LOC_PROT_ERR, UNIC_WD_STAG);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 2);
	assert_int_equal(wc[0].status, UNIC_WC_LOC_PROT_ERR);
	assert_int_equal(wc[1].status, UNIC_WC_WR_FLUSH_ERR);
	up.hdr.id = unic_to_le32(r.qp->id);
	up.detail = unic_to_le32(UNIC_WC_LOC_PROT_ERR);
	upcall(&up, UNIC_UP_QP_ERROR);
	assert_int_equal(events_of(&r, UNIC_EV_QP_ERROR), 1);
	usleep(20000);
	assert_int_equal(nic.byes, 0);
	rig_down(&r);
}

/* A driver without transactions, or a peer that is not unic: as without mending. */
static void strangers_are_not_mended(void **state)
{
	struct unic_conn_param param = { .max_rd = 1 };
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	nic.ident = 0;
	assert_int_equal(
		unic_connect(r.qp, PEER_IP, 5, &param, 1000, NULL, NULL), 0);
	post(&r, 10, UNIC_WR_SEND);
	cut(UNIC_WC_REM_OP_ERR, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 1);
	assert_int_equal(wc[0].status, UNIC_WC_REM_OP_ERR);
	usleep(20000);
	assert_int_equal(nic.byes, 0);
	rig_down(&r);
}

static void disconnected(struct rig *r)
{
	struct unic_upcall_conn up = { .hdr.id = unic_to_le32(1),
				       .user = unic_to_le32(1),
				       .qp = unic_to_le32(r->qp->id) };

	upcall(&up, UNIC_UP_DISCONNECTED);
}

/* A DREQ that says nothing is an end; one that says AGAIN is not. */
static void peers_say_whether_they_come_back(void **state)
{
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	nic.asks = unic_mend_hello(r.qp, MEND_AGAIN);
	nic.asks_bytes = sizeof(nic.asks);
	post_recv(&r, 20);
	disconnected(&r);
	mended(&r, 1);
	assert_int_equal(events_of(&r, UNIC_EV_RESET), 0);
	post(&r, 10, UNIC_WR_SEND);
	nic.asks_bytes = 0;
	pthread_mutex_lock(&drv.lock);
	disconnected(&r);
	flush();
	pthread_mutex_unlock(&drv.lock);
	polled(&r, 2, wc);
	assert_int_equal(wc[0].status, UNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[1].status, UNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(events_of(&r, UNIC_EV_DISCONNECTED), 1);
	assert_int_equal(unic_qp_cuts(r.qp), 1);
	no_more(&r);
	rig_down(&r);
}

/* Its owner destroys a queue pair that is being mended: the peer, which was told to
 * wait, is told that nobody comes. */
static void owners_may_leave_at_any_time(void **state)
{
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_SEND);
	nic.connect_status = UNIC_CTL_ST_UNREACHABLE;
	cut(UNIC_WC_REM_OP_ERR, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	wait_for(&nic.connects, 2);
	assert_int_equal(unic_disconnect(r.qp), -ENOENT);
	assert_true(
		unic_mend_is_hello(&nic.hello, sizeof(nic.hello), MEND_GONE));
	polled(&r, 1, wc);
	assert_int_equal(wc[0].status, UNIC_WC_REM_OP_ERR);
	assert_int_equal(events_of(&r, UNIC_EV_RESET), 0);
	rig_down(&r);
}

/* A queue pair that its owner moves to ERR has ended: what is posted is flushed, and
 * nobody connects again. */
static void owners_may_end_by_a_state(void **state)
{
	struct unic_qp_mod mod = { .state = UNIC_QPS_ERR };
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_SEND);
	post_recv(&r, 20);
	assert_int_equal(unic_modify_qp(r.qp, &mod), 0);
	assert_int_equal(unic_mend_state(r.qp), MEND_DEAD);
	cut(UNIC_WC_WR_FLUSH_ERR, 0);
	polled(&r, 2, wc);
	assert_int_equal(wc[0].status, UNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[1].status, UNIC_WC_WR_FLUSH_ERR);
	assert_false(unic_mend_error(r.qp, UNIC_WC_WR_FLUSH_ERR));
	usleep(20000);
	assert_int_equal(nic.connects, 1);
	assert_int_equal(unic_qp_cuts(r.qp), 0);
	rig_down(&r);
}

/* Connected, with nobody to notice that it breaks. */
static void up_unwatched(struct rig *r)
{
	struct unic_conn_param param = { .max_rd = 1 };

	up_as(r, UNIC_QP_CUT_REPLAY, false);
	assert_true(unic_mender_pause(r->ctx));
	assert_int_equal(
		unic_connect(r->qp, PEER_IP, 5, &param, 1000, NULL, NULL), 0);
}

/* Two sends and two receives, of which the first are flushed and held back. */
static void hold_first(struct rig *r)
{
	struct unic_wc wc[4];

	post(r, 10, UNIC_WR_SEND);
	post(r, 11, UNIC_WR_SEND);
	post_recv(r, 20);
	post_recv(r, 21);
	end_send(UNIC_WC_WR_FLUSH_ERR, 0);
	end_recv(UNIC_WC_WR_FLUSH_ERR);
	assert_int_equal(unic_poll_cq(r->cq, 4, wc), 0);
	assert_int_equal(unic_mend_state(r->qp), MEND_BROKEN);
}

/* Requests 10, 11, 20 and 21 are flushed, each once. */
static void all_are_flushed(struct rig *r)
{
	static const uint8_t id[] = { 10, 11, 20, 21 };
	struct unic_wc wc[4];
	uint32_t i;

	polled(r, 4, wc);
	for (i = 0; i < 4; i++) {
		assert_int_equal(wc[i].wr_id, id[i]);
		assert_int_equal(wc[i].status, UNIC_WC_WR_FLUSH_ERR);
	}
	no_more(r);
}

/* Its owner ends a queue pair that broke, before a thread took it over. */
static void owners_may_leave_before_it_is_mended(void **state)
{
	struct unic_qp_mod mod = { .state = UNIC_QPS_ERR };
	struct rig r;
	uint32_t way;

	(void)state;
	for (way = 0; way < 2; way++) {
		if (way) {
			driver_down(state);
			driver_up(state);
		}
		up_unwatched(&r);
		hold_first(&r);
		if (way)
			assert_int_equal(unic_modify_qp(r.qp, &mod), 0);
		else
			unic_disconnect(r.qp);
		assert_int_equal(nic.byes, 1);
		assert_int_equal(nic.bye_bytes, 0); /* it does not come back */
		all_are_flushed(&r);
		assert_int_equal(unic_mend_state(r.qp), MEND_DEAD);
		assert_int_equal(events_of(&r, UNIC_EV_RESET), 0);
		rig_down(&r);
	}
}

/* What is posted while a queue pair is given up is flushed, and nothing holds it back. */
static void late_requests_are_flushed(void **state)
{
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_SEND);
	nic.connect_status = UNIC_CTL_ST_REJECTED;
	nic.reason = 8; /* nobody listens */
	nic.wait_err = 1;
	cut(UNIC_WC_RETRY_EXC_ERR, 0);
	polled(&r, 1, wc);
	wait_for(&nic.errs, 1);
	post(&r, 11, UNIC_WR_SEND);
	pthread_mutex_lock(&r.ctx->evt_lock); /* the event waits */
	__atomic_store_n(&nic.wait_err, 0, __ATOMIC_RELEASE);
	while (!tail_of(&db()->tail[1].sq))
		usleep(1000);
	flush();
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 11);
	assert_int_equal(wc[0].status, UNIC_WC_WR_FLUSH_ERR);
	pthread_mutex_unlock(&r.ctx->evt_lock);
	while (!events_of(&r, UNIC_EV_QP_ERROR))
		usleep(1000);
	no_more(&r);
	rig_down(&r);
}

/* What breaks before it is connected, and then is not, or with a peer that cannot mend,
 * or that fails of itself, is no cut: the application gets all back, and may connect
 * again. */
static void what_never_was_up_is_reported(void **state)
{
	struct unic_conn_param param = { .max_rd = 1 };
	struct unic_wc wc[4];
	struct rig r;
	uint32_t way;

	(void)state;
	for (way = 0; way < 3; way++) {
		if (way) {
			driver_down(state);
			driver_up(state);
		}
		up_as(&r, UNIC_QP_CUT_REPLAY, false);
		post_recv(&r, 20);
		post_recv(&r, 21);
		nic.looks = &r;
		nic.ident = way < 2 ? 0 : IDENT;
		nic.connect_status = way ? 0 : UNIC_CTL_ST_REJECTED;
		assert_int_equal(!unic_connect(r.qp, PEER_IP, 5, &param, 1000,
					       NULL, NULL),
				 way > 0);
		nic.looks = NULL;
		pthread_mutex_lock(&drv.lock);
		flush();
		pthread_mutex_unlock(&drv.lock);
		polled(&r, 2, wc);
		assert_int_equal(wc[0].wr_id, 20);
		assert_int_equal(wc[1].wr_id, 21);
		assert_int_equal(wc[1].status, UNIC_WC_WR_FLUSH_ERR);
		nic.ident = IDENT;
		nic.connect_status = 0;
		assert_int_equal(unic_connect(r.qp, PEER_IP, 5, &param, 1000,
					      NULL, NULL),
				 0);
		assert_int_equal(unic_mend_state(r.qp), MEND_UP);
		rig_down(&r);
	}
}

/* Who connects anew before a thread gave the last connection up does that first. */
static void who_connects_anew_ends_what_was(void **state)
{
	struct unic_conn_param param = { .max_rd = 1 };
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_unwatched(&r);
	post_recv(&r, 20);
	post_recv(&r, 21);
	nic.looks = &r;
	nic.ident = 0;
	nic.connect_status = UNIC_CTL_ST_REJECTED;
	assert_int_not_equal(
		unic_connect(r.qp, PEER_IP, 5, &param, 1000, NULL, NULL), 0);
	nic.looks = NULL;
	nic.ident = IDENT;
	nic.connect_status = 0;
	flush();
	assert_int_equal(
		unic_connect(r.qp, PEER_IP, 5, &param, 1000, NULL, NULL), 0);
	assert_int_equal(unic_mend_state(r.qp), MEND_UP);
	polled(&r, 2, wc);
	assert_int_equal(wc[0].wr_id, 20);
	assert_int_equal(wc[1].wr_id, 21);
	rig_down(&r);
}

/* After the threads have ended, what is behind a request that is held back stays behind
 * it. */
static void recovery_keeps_the_order(void **state)
{
	struct rig r;

	(void)state;
	up_unwatched(&r);
	hold_first(&r);
	flush();
	unic_mender_pause(r.ctx);
	assert_int_equal(unic_cq_recover(r.cq), 0);
	all_are_flushed(&r);
	rig_down(&r);
}

/* A child has none of the threads, and waits for none; the parent's go on. */
static void a_child_mends_nothing(void **state)
{
	struct unic_wc wc[4];
	struct rig r;
	pid_t child;
	int status;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_SEND);
	nic.connect_status = UNIC_CTL_ST_UNREACHABLE;
	cut(UNIC_WC_REM_OP_ERR, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	wait_for(&nic.connects, 2);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		alarm(60);
		unic_destroy_qp(r.qp);
		unic_close(r.ctx);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	nic.connect_status = 0;
	mended(&r, 1);
	end_send(0, 0);
	polled(&r, 1, wc);
	rig_down(&r);
}

/* A context may be closed while something of it is mended. */
static void contexts_end_at_any_time(void **state)
{
	static struct rig r; /* its objects end with the context */
	struct unic_wc wc[4];

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	post(&r, 10, UNIC_WR_SEND);
	nic.connect_status = UNIC_CTL_ST_UNREACHABLE;
	cut(UNIC_WC_REM_OP_ERR, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	wait_for(&nic.connects, 2);
	unic_close(r.ctx);
}

static bool no_threads; /* there is no memory for another thread */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*fn)(void *), void *arg)
{
	return __atomic_load_n(&no_threads, __ATOMIC_ACQUIRE)
		       ? EAGAIN
		       : __real_pthread_create(thread, attr, fn, arg);
}

static void ask(uint32_t conn, const struct unic_mend_hello *h);

/* Without a thread of its own, a queue pair is mended by the one that there is. */
static void one_thread_is_enough(void **state)
{
	struct unic_mend_hello h;
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, true);
	no_threads = true;
	h = unic_mend_hello(r.qp, MEND_AGAIN);
	post(&r, 10, UNIC_WR_SEND);
	cut(UNIC_WC_REM_OP_ERR, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	wait_for(&nic.resets, 1);
	ask(12, &h);
	mended(&r, 1);
	no_threads = false;
	end_send(0, 0);
	polled(&r, 1, wc);
	rig_down(&r);
}

/* ------------------------------------------------------------- the other end */

static void ask(uint32_t conn, const struct unic_mend_hello *h)
{
	struct unic_upcall_conn up = {
		.hdr.id = unic_to_le32(conn),
		.peer_ipv4 = unic_to_le32(PEER_IP),
		.private_bytes = unic_to_le32(sizeof(*h)),
	};

	pthread_mutex_lock(&drv.lock);
	nic.asks = *h;
	nic.asks_bytes = sizeof(*h);
	pthread_mutex_unlock(&drv.lock);
	upcall(&up, UNIC_UP_CONN_REQUEST);
}

/* Who accepted at first accepts again, whichever end noticed, and nobody else gets in. */
static void callers_are_known(void **state)
{
	struct unic_mend_hello h, wrong;
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, true);
	nic.asks_bytes = -1;
	post(&r, 10, UNIC_WR_SEND);
	h = wrong = unic_mend_hello(r.qp, MEND_AGAIN);
	wrong.ident = unic_to_le64(IDENT + 1);
	ask(11, &wrong);
	wait_for(&nic.rejects, 1);
	assert_true(unic_mend_is_hello(&nic.no, sizeof(nic.no), MEND_GONE));
	nic.asker++;
	ask(11, &h);
	wait_for(&nic.rejects, 2);
	nic.asker--;
	assert_int_equal(nic.byes, 0);
	h.received = unic_to_le32(1);
	ask(12, &h); /* this end had not noticed */
	mended(&r, 1);
	assert_int_equal(nic.byes, 1);
	assert_int_equal(nic.accepts, 2);
	assert_true(is_empty(0));
	end_send(0, 0);
	polled(&r, 1, wc);
	post_recv(&r, 20);
	cut(0, 0); /* this end notices */
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	wait_for(&nic.resets, 2);
	ask(13, &h);
	mended(&r, 2);
	assert_int_equal(nic.accepts, 3);
	assert_int_equal(nic.rejects, 2);
	assert_int_equal(events_of(&r, UNIC_EV_RESET), 0);
	h.what = unic_to_le32(MEND_GONE);
	ask(14, &h);
	wait_for(&nic.rejects, 3);
	assert_int_equal(events_of(&r, UNIC_EV_DISCONNECTED), 1);
	rig_down(&r);
}

/* ------------------------------------------------------- the buffer manager */

#define PAGES 12u

/* A NIC that completes what is posted, and dies at every third request. */
static struct {
	pthread_t thread;
	uint32_t stop, ends, cuts;
	uint8_t moved[PAGES]; /* times that a page was written with success */
} worker;

static void work_once(void)
{
	const struct unic_sq_slot *s = &sq_ring()[nic.sq_done % 4];

	if (++worker.ends % 3 == 0) {
		worker.cuts++;
		end_send(UNIC_WC_REM_OP_ERR, 0);
		flush();
		return;
	}
	assert_int_equal(unic_from_le32(s->sge[0].len), PAGE);
	worker.moved[unic_from_le64(s->remote) / PAGE]++;
	end_send(0, 0);
}

static void *work(void *arg)
{
	uint64_t one = 1;

	while (!__atomic_load_n(&worker.stop, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&drv.lock);
		if (nic.dead) {
			flush();
		} else if (!nic.reset &&
			   nic.sq_done != tail_of(&db()->tail[1].sq)) {
			work_once();
			nic.dead = worker.ends % 3 == 0;
			if (write(drv.evt_efd, &one, 8) != 8)
				worker.stop = 1;
		}
		pthread_mutex_unlock(&drv.lock);
		usleep(200);
	}
	return arg;
}

/* A transfer over a queue pair that dies again and again is whole, and tells nobody. */
static void manager_hides_cuts(void **state)
{
	struct unic_bm_attr attr = { .rights = UNIC_MR_LOCAL_WRITE };
	struct unic_bm_xfer x = { .opcode = UNIC_WR_WRITE,
				  .len = PAGES * PAGE,
				  .window = 3 };
	struct unic_bm_stats s;
	struct unic_bm *bm;
	struct rig r;
	uint32_t i;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	assert_int_equal(unic_bm_open(r.pd, &attr, &bm), 0);
	unic_pace_measured(unic_bm_pace(bm), 1200, 1000000);
	x.qp = r.qp;
	x.cq = r.cq;
	x.local = unic_bm_get(bm, PAGES * PAGE);
	memset(&worker, 0, sizeof(worker));
	assert_int_equal(pthread_create(&worker.thread, NULL, work, NULL), 0);
	assert_int_equal(unic_bm_transfer(bm, &x), 0);
	worker.stop = 1;
	pthread_join(worker.thread, NULL);
	assert_int_equal(x.status, UNIC_WC_SUCCESS);
	assert_true(worker.cuts > 3);
	for (i = 0; i < PAGES; i++)
		assert_int_equal(worker.moved[i], 1);
	unic_bm_query(bm, &s);
	assert_int_equal(s.ops, PAGES);
	assert_int_equal(s.retries_local + s.retries_remote, 0);
	unic_bm_close(bm);
	rig_down(&r);
}

static void only_connections_are_mended(void **state)
{
	struct unic_qp_attr attr = { .sq_slots = 4, .rq_slots = 4 };
	struct unic_qp *qp;
	struct rig r;

	(void)state;
	rig_up(&r);
	attr.send_cq = attr.recv_cq = r.cq;
	attr.cut = UNIC_QP_CUT_REPLAY + 1;
	assert_int_equal(unic_create_qp(r.pd, &attr, &qp), -EINVAL);
	attr.cut = UNIC_QP_CUT_REPORT;
	attr.type = UNIC_QPT_UC;
	assert_int_equal(unic_create_qp(r.pd, &attr, &qp), -EINVAL);
	rig_down(&r);
}

/* ---------------------------------------------------------------- descriptors */

/* What names an STag that the peer has taken back completes so in its place, and is not
 * sent again: it would be cut again. */
static void requests_of_what_has_ended(void **state)
{
	struct {
		uint8_t magic[8];
		unic_le64 iova, length;
		unic_le32 stag, rsvd;
	} msg = { .magic = "unicdesc", .stag = unic_to_le32(3) };
	struct unic_desc d;
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	assert_int_equal(unic_take_desc(r.qp, &msg, sizeof(msg), &d), 0);
	post(&r, 10, UNIC_WR_WRITE);
	post(&r, 11, UNIC_WR_WRITE);
	post(&r, 12, UNIC_WR_SEND);
	post(&r, 13, UNIC_WR_READ);
	cut(UNIC_WC_REM_EVICTED, UNIC_WD_BUSY);
	polled(&r, 1, wc);
	assert_int_equal(wc[0].status, UNIC_WC_REM_EVICTED);
	mended(&r, 1);
	assert_true(is_empty(0));
	assert_int_equal(sq_ring()[1].opcode, UNIC_WR_SEND);
	assert_true(is_empty(2));
	end_send(0, 0);
	end_send(0, 0);
	end_send(0, 0);
	polled(&r, 3, wc);
	assert_int_equal(wc[0].wr_id, 11);
	assert_int_equal(wc[0].opcode, UNIC_WC_WRITE);
	assert_int_equal(wc[0].status, UNIC_WC_REM_EVICTED);
	assert_int_equal(wc[0].byte_len, 0);
	assert_int_equal(wc[1].wr_id, 12);
	assert_int_equal(wc[1].status, UNIC_WC_SUCCESS);
	assert_int_equal(wc[2].wr_id, 13);
	assert_int_equal(wc[2].opcode, UNIC_WC_READ);
	assert_int_equal(wc[2].status, UNIC_WC_REM_EVICTED);
	no_more(&r);
	rig_down(&r);
}

/* On the next connection the peer is recorded again, and told of what is no more. */
static void grants_are_made_again(void **state)
{
	static _Alignas(4096) uint8_t a[PAGE], b[PAGE];
	struct unic_mr *mr[2];
	struct unic_wc wc[2];
	uint32_t gone;
	struct rig r;

	(void)state;
	up_as(&r, UNIC_QP_CUT_REPLAY, false);
	mr[0] = reg(&r, a, sizeof(a));
	mr[1] = reg(&r, b, sizeof(b));
	assert_int_equal(unic_post_desc(r.qp, 1, UNIC_WR_SIGNALED, mr[0], a, 1),
			 0);
	assert_int_equal(unic_post_desc(r.qp, 2, UNIC_WR_SIGNALED, mr[1], b, 1),
			 0);
	end_send(0, 0);
	end_send(0, 0);
	polled(&r, 2, wc);
	gone = mr[0]->stag;
	pthread_mutex_lock(&drv.lock);
	nic.gone_mr = mr[0]->id;
	nic.grants = 0;
	nic.received = 2;
	pthread_mutex_unlock(&drv.lock);
	post_recv(&r, 3);
	cut(0, 0);
	assert_int_equal(unic_poll_cq(r.cq, 1, wc), 0);
	mended(&r, 1);
	pthread_mutex_lock(&drv.lock);
	assert_int_equal(nic.grants, 3);
	assert_int_equal(unic_from_le32(nic.grant[0].mr), nic.gone_mr);
	assert_int_equal(unic_from_le32(nic.grant[0].conn), r.qp->conn);
	assert_int_equal(unic_from_le32(nic.grant[1].ended), 1);
	assert_int_equal(unic_from_le32(nic.grant[1].stag), gone);
	assert_int_equal(unic_from_le32(nic.grant[1].mr), 0);
	assert_int_equal(unic_from_le32(nic.grant[2].mr), mr[1]->id);
	assert_int_equal(unic_from_le32(nic.grant[2].ended), 0);
	pthread_mutex_unlock(&drv.lock);
	unic_dereg_mr(mr[0]);
	unic_dereg_mr(mr[1]);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(requests_are_posted_again),
		WITH_DRIVER(messages_arrive_once),
		WITH_DRIVER(messages_arrive_once_wherever_it_is_cut),
		WITH_DRIVER(evicted_requests_go_to_the_application),
		WITH_DRIVER(refused_requests_never_arrive),
		WITH_DRIVER(registrations_are_made_once),
		WITH_DRIVER(posting_goes_on),
		WITH_DRIVER(requests_are_reported_once),
		WITH_DRIVER(refused_requests_are_reported),
		WITH_DRIVER(registrations_are_reported),
		WITH_DRIVER(gone_peers_are_reported_once),
		WITH_DRIVER(own_errors_are_not_mended),
		WITH_DRIVER(strangers_are_not_mended),
		WITH_DRIVER(peers_say_whether_they_come_back),
		WITH_DRIVER(owners_may_leave_at_any_time),
		WITH_DRIVER(owners_may_leave_before_it_is_mended),
		WITH_DRIVER(owners_may_end_by_a_state),
		WITH_DRIVER(late_requests_are_flushed),
		WITH_DRIVER(what_never_was_up_is_reported),
		WITH_DRIVER(who_connects_anew_ends_what_was),
		WITH_DRIVER(recovery_keeps_the_order),
		WITH_DRIVER(a_child_mends_nothing),
		WITH_DRIVER(contexts_end_at_any_time),
		WITH_DRIVER(one_thread_is_enough),
		WITH_DRIVER(callers_are_known),
		WITH_DRIVER(manager_hides_cuts),
		WITH_DRIVER(only_connections_are_mended),
		WITH_DRIVER(requests_of_what_has_ended),
		WITH_DRIVER(grants_are_made_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_queue.c - rings and doorbell page as the library writes them,
 * false completions, and wake-ups.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "unit.h"

#include "cq.h"
#include "doorbell.h"
#include "libunic_rig.h"
#include "wr.h"

static void posts_reach_the_ring(void **state)
{
	struct unic_sg sg[3] = { { (void *)0x1000, 5, 9 },
				 { (void *)0x2000, 6, 9 },
				 { (void *)0x3000, 7, 8 } };
	struct unic_send_wr wr[2] = { { .wr_id = 42,
					.opcode = UNIC_WR_WRITE,
					.num_sge = 3,
					.remote = 0xabc,
					.rkey = 3,
					.sg = sg } };
	struct unic_sq_ext *ext;
	uint64_t n;
	struct rig r;

	(void)state;
	rig_up(&r);
	wr[1] = wr[0];
	ext = (void *)&sq_ring()[1];
	assert_int_equal(unic_post_send(r.qp, wr, 1), 1);
	assert_int_equal(sq_ring()[0].opcode, UNIC_WR_WRITE);
	assert_int_equal(unic_from_le64(sq_ring()[0].remote), 0xabc);
	assert_int_equal(unic_from_le64(ext->sge[0].iova), 0x3000);
	assert_int_equal(unic_from_le32(ext->sge[0].lkey), 8);
	/* rows: 0 is the CQ's, 1 the QP's; two slots posted */
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 2);
	assert_int_equal(unic_from_le32(db()->fifo[0]),
			 UNIC_DB_WORD(UNIC_DB_SQ, 1, 2));
	assert_int_equal(unic_from_le32(db()->fifo_seq), 1);
	assert_int_equal(read(drv.db_efd, &n, 8), -1); /* the NIC is awake */
	np()->asleep = unic_to_le32(1);
	assert_int_equal(unic_post_send(r.qp, wr, 2), 1); /* room for one */
	assert_int_equal(read(drv.db_efd, &n, 8), 8);
	assert_int_equal(unic_post_send(r.qp, wr, 1), -EAGAIN);
	wr[0].num_sge = 7;
	assert_int_equal(unic_post_send(r.qp, wr, 1), -EINVAL);
	rig_down(&r);
}

/* Requests that are put one by one reach the NIC with one ring; none, with none. */
static void puts_ring_once(void **state)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	struct unic_send_wr odd = { .opcode = 99 };
	unsigned int i;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_sq_begin(r.qp), 0);
	assert_int_equal(unic_sq_put(r.qp, &odd), -EINVAL);
	unic_sq_end(r.qp);
	assert_int_equal(unic_from_le32(db()->fifo_seq), 0);
	assert_int_equal(unic_sq_begin(r.qp), 0);
	for (i = 0; i <= r.qp->sq.mask; i++)
		assert_int_equal(unic_sq_put(r.qp, &wr), 0);
	assert_int_equal(unic_sq_put(r.qp, &wr), -EAGAIN);
	assert_int_equal(unic_from_le32(db()->fifo_seq), 0);
	unic_sq_end(r.qp);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), i);
	assert_int_equal(unic_from_le32(db()->fifo_seq), 1);
	rig_down(&r);
}

static void *post_cancelled(void *qp)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };

	pthread_cancel(pthread_self());
	unic_post_send(qp, &wr, 1);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return qp;
}

/* A thread is not cancelled while it posts, where it has locks. */
static void a_cancelled_thread_posts(void **state)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	pthread_t thread;
	void *how;
	uint64_t n;
	struct rig r;

	(void)state;
	rig_up(&r);
	np()->asleep = unic_to_le32(1);
	assert_int_equal(pthread_create(&thread, NULL, post_cancelled, r.qp),
			 0);
	assert_int_equal(pthread_join(thread, &how), 0);
	assert_ptr_equal(how, r.qp);
	assert_int_equal(read(drv.db_efd, &n, 8), 8);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	rig_down(&r);
}

/* A missing parameter is refused before anything is dereferenced or sent. */
static void connections_say_what_is_missing(void **state)
{
	static const uint8_t bytes[UNIC_PRIVATE_MAX + 1];
	struct unic_conn_param none = { .private_len = 4 };
	struct unic_conn_param big = { .private_data = bytes,
				       .private_len = sizeof(bytes) };
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_connect(r.qp, 1, 2, NULL, 10, NULL, NULL),
			 -EINVAL);
	assert_non_null(strstr(unic_last_error(), "parameters"));
	assert_int_equal(unic_accept(r.ctx, 3, r.qp, NULL), -EINVAL);
	assert_non_null(strstr(unic_last_error(), "parameters"));
	assert_int_equal(unic_connect(r.qp, 1, 2, &none, 10, NULL, NULL),
			 -EINVAL);
	assert_non_null(strstr(unic_last_error(), "private data"));
	assert_int_equal(unic_accept(r.ctx, 3, r.qp, &big), -EINVAL);
	assert_non_null(strstr(unic_last_error(), "private data"));
	assert_int_equal(unic_reject(r.ctx, 3, NULL, 4), -EINVAL);
	assert_int_equal(unic_reject(r.ctx, 3, bytes, sizeof(bytes)), -EINVAL);
	assert_false(unic_conn_dead(r.ctx->conn));
	rig_down(&r);
}

static void inline_data_is_copied(void **state)
{
	char text[97] = "0123456789abcdefghijklmnopqrstuvwxyzABCD";
	struct unic_sg sg = { text, 40, 0 };
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND,
				   .flags = UNIC_WR_INLINE,
				   .num_sge = 1,
				   .sg = &sg };
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(sq_ring()[0].inline_len, 40);
	assert_memory_equal(sq_ring()[0].sge, text, 32);
	assert_memory_equal(&sq_ring()[1], text + 32, 8);
	sg.len = 97;
	assert_int_equal(unic_post_send(r.qp, &wr, 1), -EINVAL);
	rig_down(&r);
}

static void completions_are_not_believed(void **state)
{
	struct unic_send_wr wr = { .wr_id = 42, .opcode = UNIC_WR_SEND };
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	complete(0, 78, UNIC_WC_SEND, 0); /* no such QP */
	complete(1, 77, UNIC_WC_SEND, 1); /* not posted */
	complete(2, 77, UNIC_WC_SEND, 1ull << 32);
	complete(3, 77, UNIC_WC_RECV, 0); /* no receive posted */
	complete(4, 77, UNIC_WC_SEND, 0); /* right */
	complete(5, 77, UNIC_WC_SEND, 0); /* once more */
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 42);
	assert_ptr_equal(wc[0].qp, r.qp);
	assert_int_equal(unic_from_le32(db()->tail[0].cq_ci), 6);
	rig_down(&r);
}

#define ALIKE (77 + UNIC_DB_OBJECTS)

/* Two queue pairs whose numbers are alike in the low bits, and one that is no more. */
static void completions_find_their_queue_pair(void **state)
{
	struct unic_qp_attr attr = { .sq_slots = 4, .rq_slots = 4 };
	struct unic_send_wr wr = { .wr_id = 42, .opcode = UNIC_WR_SEND };
	struct unic_qp *other;
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	rig_up(&r);
	attr.send_cq = attr.recv_cq = r.cq;
	r.qp->qpn = ALIKE; /* the driver says 77 of each */
	assert_int_equal(unic_create_qp(r.pd, &attr, &other), 0);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(unic_post_send(other, &wr, 1), 1);
	complete(0, ALIKE, UNIC_WC_SEND, 0);
	complete(1, 77, UNIC_WC_SEND, 0);
	complete(2, ALIKE, UNIC_WC_SEND, 1);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 3);
	assert_ptr_equal(wc[0].qp, r.qp);
	assert_ptr_equal(wc[1].qp, other);
	assert_ptr_equal(wc[2].qp, r.qp);
	assert_int_equal(unic_post_send(other, &wr, 1), 1);
	complete(3, 77, UNIC_WC_SEND, 1);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 1);
	unic_destroy_qp(other);
	complete(4, 77, UNIC_WC_SEND, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), -EPROTO);
	rig_down(&r);
}

/* Of a tagged message that the peer refused: no error, no bytes, and why. */
static void a_refused_message_says_why(void **state)
{
	struct unic_send_wr wr = { .wr_id = 42, .opcode = UNIC_WR_TOKEN };
	struct unic_wc wc = { 0 };
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	complete(0, 77, UNIC_WC_TOKEN, 0);
	cq_ring()[0].detail = UNIC_TOKEN_EXPIRED;
	assert_int_equal(unic_poll_cq(r.cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 42);
	assert_int_equal(wc.opcode, UNIC_WC_TOKEN);
	assert_int_equal(wc.status, UNIC_WC_SUCCESS);
	assert_int_equal(wc.byte_len, 0);
	assert_int_equal(wc.detail, UNIC_TOKEN_EXPIRED);
	assert_string_equal(unic_token_end_str(wc.detail), "expired");
	rig_down(&r);
}

/* After a reset the NIC begins at slot 0: an old request must not run again,
 * and an old completion must not end a new request. */
static void reset_empties_the_rings(void **state)
{
	struct unic_send_wr wr = { .wr_id = 42, .opcode = UNIC_WR_SEND };
	struct unic_recv_wr recv = { .wr_id = 43 };
	struct unic_qp_mod reset = { .state = UNIC_QPS_RESET };
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(unic_post_recv(r.qp, &recv, 1), 1);
	complete(0, 77, UNIC_WC_SEND, 0);
	assert_int_equal(unic_modify_qp(r.qp, &reset), 0);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 0);
	assert_int_equal(unic_from_le32(db()->tail[1].rq), 0);
	wr.wr_id = 44;
	recv.wr_id = 45;
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(unic_post_recv(r.qp, &recv, 1), 1);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 1);
	assert_int_equal(unic_from_le32(db()->tail[1].rq), 1);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 0);
	complete(1, 77, UNIC_WC_SEND, 0);
	complete(2, 77, UNIC_WC_RECV, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 2);
	assert_int_equal(wc[0].wr_id, 44);
	assert_int_equal(wc[1].wr_id, 45);
	rig_down(&r);
}

static void receives_end_in_any_order(void **state)
{
	struct unic_recv_wr wr[4] = {
		{ .wr_id = 1 }, { .wr_id = 2 }, { .wr_id = 3 }, { .wr_id = 4 }
	};
	struct unic_wc wc[4];
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_recv(r.qp, wr, 4), 4);
	complete(0, 77, UNIC_WC_RECV, 1);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 1);
	assert_int_equal(wc[0].wr_id, 2);
	/* The oldest is still out: its slot is not free. */
	assert_int_equal(unic_post_recv(r.qp, wr, 1), -EAGAIN);
	complete(1, 77, UNIC_WC_RECV, 0);
	assert_int_equal(unic_poll_cq(r.cq, 4, wc), 1);
	assert_int_equal(unic_post_recv(r.qp, wr, 4), 2);
	rig_down(&r);
}

static void no_wake_up_is_lost(void **state)
{
	struct unic_send_wr wr = { .wr_id = 1, .opcode = UNIC_WR_SEND };
	uint64_t one = 1;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(unic_wait_cq(r.cq, 10), -ETIME);
	assert_int_equal(unic_from_le32(db()->tail[0].arm), 0);
	/* A completion that was written before the wait ends it at once. */
	complete(0, 77, UNIC_WC_SEND, 0);
	assert_int_equal(unic_wait_cq(r.cq, 1000), 0);
	assert_int_equal(unic_req_notify(r.cq, false), 1);
	assert_int_equal(write(drv.evt_efd, &one, 8), 8);
	assert_int_equal(unic_wait_cq(r.cq, 1000), 0);
	rig_down(&r);
}

/* Nothing comes to a queue that has failed: whoever waits is told, and does not spin
 * until his time is over. What came before is read first. */
static void a_queue_that_failed_is_not_waited_for(void **state)
{
	struct unic_send_wr wr = { .wr_id = 1, .opcode = UNIC_WR_SEND };
	struct unic_upcall_obj up = { 0 };
	struct unic_wc wc;
	uint64_t from;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	complete(0, 77, UNIC_WC_SEND, 0);
	up.hdr.id = unic_to_le32(r.cq->id);
	up.user = unic_to_le32(r.cq->db);
	upcall(&up, UNIC_UP_CQ_ERROR);
	assert_int_equal(unic_wait_cq(r.cq, 1000), 0);
	assert_int_equal(unic_poll_cq(r.cq, 1, &wc), 1);
	from = unic_now_ns();
	assert_int_equal(unic_wait_cq(r.cq, 5000), -EIO);
	assert_true(unic_now_ns() - from < 4000000000ull);
	rig_down(&r);
}

/* A thread with an old wake-up number does not sleep: another thread took the
 * wake-up of both. */
static void a_wake_up_is_for_all(void **state)
{
	uint64_t one = 1, from;
	struct pollfd pfd = { .fd = drv.evt_efd, .events = POLLIN };
	struct rig r;
	uint32_t seq;

	(void)state;
	rig_up(&r);
	seq = unic_wake_seq(r.ctx);
	assert_int_equal(write(drv.evt_efd, &one, 8), 8);
	assert_int_equal(unic_wake_wait(r.ctx, seq, -1), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	assert_int_equal(unic_wake_seq(r.ctx), seq + 1);
	from = unic_now_ns();
	assert_int_equal(unic_wake_wait(r.ctx, seq, -1), 0);
	/* it did not sleep: the end of a sleep counts */
	assert_int_equal(unic_wake_seq(r.ctx), seq + 1);
	assert_true(unic_now_ns() - from < 10000000000ull);
	/* a thread with the current number sleeps at the descriptor */
	assert_int_equal(write(drv.evt_efd, &one, 8), 8);
	assert_int_equal(unic_wake_wait(r.ctx, seq + 1, -1), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	rig_down(&r);
}

struct sleeper {
	struct unic_ctx *ctx;
	uint32_t seq;
	uint64_t woke_ns;
	bool asleep;
};

static void *sleep_once(void *arg)
{
	struct sleeper *s = arg;

	__atomic_store_n(&s->asleep, true, __ATOMIC_RELEASE);
	unic_wake_wait(s->ctx, s->seq, -1);
	s->woke_ns = unic_now_ns();
	return NULL;
}

/* One of the sleeping threads waits at the descriptor; all are woken. */
static void all_that_sleep_wake(void **state)
{
	struct sleeper s[3];
	pthread_t thread[3];
	uint64_t one = 1, from, last, best = UINT64_MAX;
	struct rig r;
	int try, i;

	(void)state;
	rig_up(&r);
	/* the best of ten: a busy machine may be late, but a library that
	 * forgets a thread always is, by half a second */
	for (try = 0; try < 10 && best > 200000000; try++) {
		for (i = 0; i < 3; i++) {
			s[i] = (struct sleeper){ .ctx = r.ctx,
						 .seq = unic_wake_seq(r.ctx) };
			pthread_create(&thread[i], NULL, sleep_once, &s[i]);
		}
		for (i = 0; i < 3; i++)
			while (!__atomic_load_n(&s[i].asleep, __ATOMIC_ACQUIRE))
				usleep(100);
		usleep(20000);
		from = unic_now_ns();
		assert_int_equal(write(drv.evt_efd, &one, 8), 8);
		for (i = 0, last = 0; i < 3; i++) {
			pthread_join(thread[i], NULL);
			last = s[i].woke_ns > last ? s[i].woke_ns : last;
		}
		if (last - from < best)
			best = last - from;
	}
	assert_true(best < 200000000);
	rig_down(&r);
}

static bool
	completes_before_arming; /* write CQ entry 0 when a doorbell arms it */

void __real_unic_db_ring(struct unic_ctx *ctx, enum unic_db_kind kind,
			 unsigned int obj, uint32_t value);
void __wrap_unic_db_ring(struct unic_ctx *ctx, enum unic_db_kind kind,
			 unsigned int obj, uint32_t value);

void __wrap_unic_db_ring(struct unic_ctx *ctx, enum unic_db_kind kind,
			 unsigned int obj, uint32_t value)
{
	if (kind == UNIC_DB_ARM && completes_before_arming) {
		completes_before_arming = false;
		complete(0, 77, UNIC_WC_SEND, 0); /* not armed: no wake-up */
	}
	__real_unic_db_ring(ctx, kind, obj, value);
}

/* The NIC wakes the process only for a completion that it writes after the
 * queue is armed: the call that arms the queue must see one that is written
 * just before. */
static void a_completion_meets_the_arming(void **state)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	struct unic_wc wc;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	completes_before_arming = true;
	assert_true(unic_req_notify(r.cq, false));
	assert_false(completes_before_arming);
	assert_int_equal(unic_poll_cq(r.cq, 1, &wc), 1);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_false(unic_req_notify(r.cq, false));
	assert_int_equal(unic_from_le32(db()->tail[0].arm), 1);
	complete(1, 77, UNIC_WC_SEND, 1);
	assert_true(unic_req_notify(r.cq, false));
	assert_int_equal(unic_poll_cq(r.cq, 1, &wc), 1);
	rig_down(&r);
}

/* The NIC is asked for the next completion, not for those that are there. */
static void what_is_there_is_not_asked_for(void **state)
{
	struct unic_send_wr wr = { .opcode = UNIC_WR_SEND };
	struct unic_wc wc;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_cq_arm_next(r.cq, false), 0);
	assert_int_equal(unic_from_le32(db()->tail[0].arm), 0);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), 1);
	complete(0, 77, UNIC_WC_SEND, 0);
	complete(1, 77, UNIC_WC_SEND, 1);
	assert_int_equal(unic_cq_arm_next(r.cq, true), 0);
	assert_int_equal(unic_from_le32(db()->tail[0].arm), 1u << 31 | 2);
	assert_int_equal(unic_poll_cq(r.cq, 1, &wc), 1);
	assert_int_equal(unic_cq_arm_next(r.cq, false), 0);
	assert_int_equal(unic_from_le32(db()->tail[0].arm), 2);
	assert_int_equal(unic_poll_cq(r.cq, 1, &wc), 1);
	rig_down(&r);
}

/* A request that fails leaves the form with the STag and IOVA from before it, and
 * one that was not posted is not undone. */
static void undone_requests_leave_the_old_name(void **state)
{
	struct unic_send_wr send = { .opcode = UNIC_WR_SEND };
	struct unic_mw_bind bind = { .length = 64 };
	struct unic_mr *mr, *mw, was;
	struct rig r;
	int i;

	(void)state;
	rig_up(&r);
	bind.addr = unic_alloc(r.ctx, PAGE, PAGE);
	mr = reg(&r, bind.addr, PAGE);
	bind.mr = mr;
	assert_int_equal(unic_alloc_mw(r.pd, 2, &mw), 0);
	was = *mw;
	unic_post_undo(mw); /* there is nothing to undo */
	assert_int_equal(mw->stag, was.stag);
	assert_int_equal(unic_post_bind_mw(r.qp, 1, 0, mw, &bind), 0);
	was = *mw;
	bind.addr = (uint8_t *)bind.addr + 64;
	assert_int_equal(unic_post_bind_mw(r.qp, 2, 0, mw, &bind), 0);
	assert_int_not_equal(mw->stag, was.stag);
	assert_true(mw->iova == was.iova + 64);
	while (unic_post_send(r.qp, &send, 1) == 1)
		;
	assert_int_equal(unic_post_local_inv(r.qp, 3, 0, mw), -EAGAIN);
	assert_int_equal(unic_post_bind_mw(r.qp, 4, 0, mw, &bind), -EAGAIN);
	for (i = 0; i < 2; i++) {
		unic_post_undo(mw);
		assert_int_equal(mw->stag, was.stag);
		assert_true(mw->iova == was.iova);
	}
	assert_int_equal(unic_dereg_mr(mw), 0);
	assert_int_equal(unic_dereg_mr(mr), 0);
	rig_down(&r);
}

/* The one SGE, and the operands behind it, in one slot. */
static void atomics_have_their_operands(void **state)
{
	struct unic_atomic a = { .result = { (void *)0x1000, 8, 9 },
				 .operand = 0x1122334455667788,
				 .swap = 77 };
	const struct unic_remote at = { .iova = 0xab8, .rkey = 3 };
	const struct unic_sq_slot *s;
	struct unic_wr_atomic has;
	struct rig r;

	(void)state;
	rig_up(&r);
	assert_int_equal(unic_post_fetch_add(r.qp, 1, 0, &a, &at), -EOPNOTSUPP);
	r.ctx->attr.features |= UNIC_FEAT_ATOMICS;
	assert_int_equal(
		unic_post_compare_swap(r.qp, 1, UNIC_WR_SIGNALED, &a, &at), 0);
	assert_int_equal(unic_post_fetch_add(r.qp, 2, UNIC_WR_FENCE, &a, &at),
			 0);
	s = sq_ring();
	assert_int_equal(s[0].opcode, UNIC_WR_COMPARE_SWAP);
	assert_int_equal(s[1].opcode, UNIC_WR_FETCH_ADD);
	assert_int_equal(s[1].flags, UNIC_WR_FENCE);
	assert_int_equal(s[0].num_sge, 1);
	assert_int_equal(unic_from_le64(s[0].remote), 0xab8);
	assert_int_equal(unic_from_le32(s[0].rkey), 3);
	assert_int_equal(unic_from_le64(s[0].sge[0].iova), 0x1000);
	memcpy(&has, &s[0].sge[1], sizeof(has));
	assert_true(unic_from_le64(has.operand) == a.operand);
	assert_int_equal(unic_from_le64(has.swap), 77);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 2);
	rig_down(&r);
}

/* Nothing is posted of what the NIC would refuse, or what a cut would repeat. */
static void odd_atomics_are_refused(void **state)
{
	struct unic_atomic a = { .result = { (void *)0x1000, 4, 9 } };
	const struct unic_remote at = { .iova = 0xab8, .rkey = 3 };
	struct unic_send_wr wr = { .opcode = UNIC_WR_FETCH_ADD,
				   .sg = &a.result };
	struct rig r;

	(void)state;
	rig_up(&r);
	r.ctx->attr.features |= UNIC_FEAT_ATOMICS;
	assert_int_equal(unic_post_fetch_add(r.qp, 1, 0, &a, &at), -EINVAL);
	a.result.len = 8;
	assert_int_equal(unic_post_fetch_add(r.qp, 1, UNIC_WR_INLINE, &a, &at),
			 -EINVAL);
	assert_int_equal(unic_post_fetch_add(r.qp, 1, 256, &a, &at), -EINVAL);
	assert_int_equal(unic_post_send(r.qp, &wr, 1), -EINVAL); /* no SGE */
	wr.num_sge = 2;
	assert_int_equal(unic_post_send(r.qp, &wr, 1), -EINVAL);
	r.qp->mend.how = UNIC_QP_CUT_REPLAY;
	assert_int_equal(unic_post_fetch_add(r.qp, 1, 0, &a, &at), -EINVAL);
	r.qp->mend.how = UNIC_QP_CUT_ENDS;
	r.ctx->attr.features &= ~UNIC_FEAT_ATOMICS;
	wr.num_sge = 1;
	assert_int_equal(unic_post_send(r.qp, &wr, 1), -EINVAL);
	assert_int_equal(unic_from_le32(db()->tail[1].sq), 0);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(posts_reach_the_ring),
		WITH_DRIVER(puts_ring_once),
		WITH_DRIVER(a_cancelled_thread_posts),
		WITH_DRIVER(connections_say_what_is_missing),
		WITH_DRIVER(inline_data_is_copied),
		WITH_DRIVER(completions_are_not_believed),
		WITH_DRIVER(completions_find_their_queue_pair),
		WITH_DRIVER(a_refused_message_says_why),
		WITH_DRIVER(reset_empties_the_rings),
		WITH_DRIVER(receives_end_in_any_order),
		WITH_DRIVER(no_wake_up_is_lost),
		WITH_DRIVER(a_queue_that_failed_is_not_waited_for),
		WITH_DRIVER(a_wake_up_is_for_all),
		WITH_DRIVER(all_that_sleep_wake),
		WITH_DRIVER(a_completion_meets_the_arming),
		WITH_DRIVER(what_is_there_is_not_asked_for),
		WITH_DRIVER(undone_requests_leave_the_old_name),
		WITH_DRIVER(atomics_have_their_operands),
		WITH_DRIVER(odd_atomics_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

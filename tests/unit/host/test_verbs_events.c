/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_verbs_events.c - completion channels and asynchronous events: what the NIC rings for
 * reaches the program once, no wake-up is lost, and an end waits for what was read.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

#include "completion.h"
#include "cq.h"
#include "events.h"
#include "post.h"
#include "qp.h"
#include "shim/channel.h"
#include "verbs_rig.h"

static struct ibv_cq *cq_of(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq =
		unic_ibv_create_cq(&v.ctx.vctx.context, 8, channel, 0);

	assert_non_null(cq);
	cq->channel = channel;
	return cq;
}

static void end_cq(struct ibv_cq *cq)
{
	assert_int_equal(unic_ibv_destroy_cq(cq), 0);
}

/* True within seconds: all that the NIC counted for @cq is passed on, or owed. */
static bool is_passed(struct ibv_cq *cq)
{
	struct unic_ibv_cq *own = unic_ibv_cq(cq);
	unsigned int tries = 5000;
	bool passed = false;

	while (!passed && tries--) {
		pthread_mutex_lock(&v.at->lock);
		passed = own->notified ==
			 unic_from_le32(np()->cq_events[own->lib->db]);
		pthread_mutex_unlock(&v.at->lock);
		if (!passed)
			usleep(1000);
	}
	return passed;
}

static void ring(struct ibv_cq *cq)
{
	nic_counts(cq);
	nic_wakes();
	assert_true(is_passed(cq));
}

/* ----------------------------------------------------- completion events */

static void rings_reach_their_channel(void **state)
{
	struct ibv_comp_channel *one = make_channel(), *two = make_channel();
	struct ibv_cq *a = cq_of(one), *b = cq_of(two), *c = cq_of(two);

	(void)state;
	assert_int_not_equal(one->fd, two->fd);
	nic_wakes(); /* for nobody */
	ring(b);
	assert_ptr_equal(get_cq_event(two), b);
	assert_false(is_readable(one->fd, 0));
	assert_false(is_readable(two->fd, 0));
	nic_counts(a);
	nic_counts(a); /* before the first was seen: one event */
	nic_counts(c);
	ring(v.cq); /* which has no channel */
	assert_true(is_passed(a) && is_passed(c));
	assert_ptr_equal(get_cq_event(one), a);
	assert_ptr_equal(get_cq_event(two), c);
	assert_false(is_readable(one->fd, 50));
	assert_false(is_readable(two->fd, 0));
	ring(a);
	assert_ptr_equal(get_cq_event(one), a);
	ack_cq_events(a, 2);
	ack_cq_events(b, 1);
	ack_cq_events(c, 1);
	end_cq(a);
	end_cq(b);
	end_cq(c);
	end_channel(one);
	end_channel(two);
}

/* The row of a queue that has ended has a count: the next queue there begins with it. */
static void a_new_queue_has_no_old_event(void **state)
{
	struct ibv_comp_channel *channel = make_channel();
	struct ibv_cq *cq = cq_of(channel);
	unsigned int row = unic_ibv_cq(cq)->lib->db;

	(void)state;
	ring(cq);
	end_cq(cq); /* its event goes with it, unread */
	assert_false(is_readable(channel->fd, 0));
	cq = cq_of(channel);
	assert_int_equal(unic_ibv_cq(cq)->lib->db, row);
	nic_wakes();
	assert_false(is_readable(channel->fd, 50));
	end_cq(cq);
	end_channel(channel);
}

/* An end that fails is none: what the NIC rang for meanwhile is passed on. */
static void an_end_that_fails_loses_no_event(void **state)
{
	struct ibv_comp_channel *channel = make_channel();
	struct ibv_cq *cq = cq_of(channel);
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = unic_ibv_create_qp(v.pd, &init);

	(void)state;
	assert_non_null(qp);
	nic_counts(cq);
	assert_int_equal(unic_ibv_destroy_cq(cq), EBUSY);
	nic_wakes();
	assert_ptr_equal(get_cq_event(channel), cq);
	ack_cq_events(cq, 1);
	ring(cq);
	assert_ptr_equal(get_cq_event(channel), cq);
	ack_cq_events(cq, 1);
	end_qp(qp);
	end_cq(cq);
	end_channel(channel);
}

struct ending {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	pthread_t thread;
	bool ended;
};

static void *end_object(void *arg)
{
	struct ending *e = arg;

	if (e->cq)
		end_cq(e->cq);
	else
		end_qp(e->qp);
	__atomic_store_n(&e->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* True if the end of what @e names waits for something. */
static bool waits(struct ending *e)
{
	assert_int_equal(pthread_create(&e->thread, NULL, end_object, e), 0);
	usleep(50000);
	return !__atomic_load_n(&e->ended, __ATOMIC_ACQUIRE);
}

static void an_end_waits_for_what_was_read(void **state)
{
	struct ibv_comp_channel *channel = make_channel();
	struct ibv_cq *a = cq_of(channel), *b = cq_of(channel);
	struct ending e = { .cq = a };

	(void)state;
	ring(a);
	ring(b);
	ring(a);
	ring(b);
	ring(a);
	assert_ptr_equal(get_cq_event(channel), a);
	assert_ptr_equal(get_cq_event(channel), b);
	assert_ptr_equal(get_cq_event(channel), a);
	ack_cq_events(a, 1);
	assert_true(waits(&e)); /* one is read, one is not */
	ack_cq_events(a, 1);
	pthread_join(e.thread, NULL);
	assert_true(e.ended);
	/* those of the other are there still */
	assert_ptr_equal(get_cq_event(channel), b);
	assert_false(is_readable(channel->fd, 0));
	ack_cq_events(b, 2);
	end_cq(b);
	end_channel(channel);
}

/* Ring for @cq until its channel has no room. */
static void fill(struct ibv_cq *cq)
{
	unsigned int n;

	for (n = 0; n < 5000 && !unic_ibv_cq(cq)->owed; n++)
		ring(cq);
	assert_true(unic_ibv_cq(cq)->owed);
}

/* Read the channel until it is empty: how many events of @b there were, and of all. */
static unsigned int drain(struct ibv_comp_channel *channel,
			  const struct ibv_cq *b, unsigned int *all)
{
	unsigned int of_b = 0;

	for (*all = 0; is_readable(channel->fd, 0); ++*all)
		of_b += get_cq_event(channel) == b;
	return of_b;
}

/* The channel is full of events of one queue: those of the others come when there is
 * room, though no event of theirs was read. */
static void a_full_channel_owes_all(void **state)
{
	struct ibv_comp_channel *channel = make_channel();
	struct ibv_cq *a = cq_of(channel), *b = cq_of(channel);
	unsigned int of_b, all;

	(void)state;
	fill(a);
	ring(b);
	ring(b);
	assert_true(unic_ibv_cq(b)->owed);
	of_b = drain(channel, b, &all);
	assert_int_equal(of_b, 1);
	assert_false(unic_ibv_cq(a)->owed);
	assert_false(unic_ibv_cq(b)->owed);
	assert_int_equal(unic_ibv_cq(a)->sent, all - 1);
	assert_int_equal(unic_ibv_cq(b)->sent, 1);
	ack_cq_events(a, all - 1);
	ack_cq_events(b, 1);
	end_cq(a);
	end_cq(b);
	end_channel(channel);
}

/* Likewise, when the queue whose events fill it ends. */
static void an_end_makes_room(void **state)
{
	struct ibv_comp_channel *channel = make_channel();
	struct ibv_cq *a = cq_of(channel), *b = cq_of(channel);
	unsigned int all;

	(void)state;
	fill(a);
	ring(b);
	assert_true(unic_ibv_cq(b)->owed);
	end_cq(a);
	assert_int_equal(drain(channel, b, &all), 1);
	assert_int_equal(all, 1);
	ack_cq_events(b, 1);
	end_cq(b);
	end_channel(channel);
}

static unsigned int count_fds(void)
{
	unsigned int n = 0;
	int fd;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* What the program closes is closed at the other end, too, when the next one is made. */
static void closed_channels_are_forgotten(void **state)
{
	struct ibv_comp_channel *channel;
	unsigned int i, before;
	struct ibv_cq *cq;

	(void)state;
	end_channel(make_channel());
	before = count_fds();
	for (i = 0; i < 5; i++)
		end_channel(make_channel());
	assert_int_equal(count_fds(), before);
	/* one that a queue uses stays */
	channel = make_channel();
	cq = cq_of(channel);
	end_channel(make_channel());
	ring(cq);
	assert_ptr_equal(get_cq_event(channel), cq);
	ack_cq_events(cq, 1);
	/* also when the program closes it too early */
	close(channel->fd);
	end_channel(make_channel());
	ring(cq);
	end_cq(cq);
	free(channel);
}

/* --------------------------------------------------- asynchronous events */

struct record {
	uint64_t element;
	uint32_t type, rsvd;
};

static bool next_async(struct record *out)
{
	int fd = v.ctx.vctx.context.async_fd;

	return is_readable(fd, 500) &&
	       read(fd, out, sizeof(*out)) == sizeof(*out);
}

static void qp_fails(struct ibv_qp *qp, uint32_t status)
{
	struct unic_upcall_obj up = {
		.hdr.id = unic_to_le32(unic_ibv_qp(qp)->lib->id),
		.user = unic_to_le32(unic_ibv_qp(qp)->lib->db),
		.detail = unic_to_le32(status),
	};

	upcall(&up, UNIC_UP_QP_ERROR);
}

static void cq_fails(struct ibv_cq *cq)
{
	struct unic_upcall_obj up = {
		.hdr.id = unic_to_le32(unic_ibv_cq(cq)->lib->id),
		.user = unic_to_le32(unic_ibv_cq(cq)->lib->db),
	};

	upcall(&up, UNIC_UP_CQ_ERROR);
}

static void ack_async(struct ibv_qp *qp, unsigned int n)
{
	pthread_mutex_lock(&qp->mutex);
	qp->events_completed += n;
	pthread_cond_signal(&qp->cond);
	pthread_mutex_unlock(&qp->mutex);
}

static void asynchronous_events_are_in_order(void **state)
{
	struct ibv_qp *a = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_qp *b = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_cq *cq = cq_of(NULL);
	struct record rec;

	(void)state;
	qp_fails(b, UNIC_WC_REM_ACCESS_ERR);
	cq_fails(cq);
	qp_fails(a, UNIC_WC_RETRY_EXC_ERR);
	assert_true(next_async(&rec));
	assert_int_equal(rec.element, (uintptr_t)b);
	assert_int_equal(rec.type, IBV_EVENT_QP_ACCESS_ERR);
	assert_true(next_async(&rec));
	assert_int_equal(rec.element, (uintptr_t)cq);
	assert_int_equal(rec.type, IBV_EVENT_CQ_ERR);
	assert_true(next_async(&rec));
	assert_int_equal(rec.element, (uintptr_t)a);
	assert_int_equal(rec.type, IBV_EVENT_QP_FATAL);
	assert_int_equal(a->state, IBV_QPS_ERR);
	assert_int_equal(b->state, IBV_QPS_ERR);
	ack_async(a, 1);
	ack_async(b, 1);
	end_qp(a);
	end_qp(b);
	pthread_mutex_lock(&cq->mutex);
	cq->async_events_completed++;
	pthread_mutex_unlock(&cq->mutex);
	end_cq(cq);
}

/* An end waits for the event that was read; one that was not read goes with it. */
static void a_queue_pair_waits_for_its_events(void **state)
{
	struct ibv_qp *read_one = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_qp *unread = make_qp(IBV_QPT_RC, 1, 0, false);
	struct ibv_cq *cq = cq_of(NULL);
	struct ending e = { .qp = read_one }, of_cq = { .cq = cq };
	struct record rec;

	(void)state;
	qp_fails(read_one, 0);
	assert_true(next_async(&rec));
	assert_int_equal(rec.element, (uintptr_t)read_one);
	cq_fails(cq);
	assert_true(next_async(&rec));
	assert_int_equal(rec.element, (uintptr_t)cq);
	qp_fails(unread, 0);
	assert_true(is_readable(v.ctx.vctx.context.async_fd, 500));
	assert_true(waits(&e));
	ack_async(read_one, 1);
	pthread_join(e.thread, NULL);
	assert_true(is_readable(v.ctx.vctx.context.async_fd, 0));
	end_qp(unread);
	assert_false(is_readable(v.ctx.vctx.context.async_fd, 0));
	assert_true(waits(&of_cq));
	pthread_mutex_lock(&cq->mutex);
	cq->async_events_completed++;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
	pthread_join(of_cq.thread, NULL);
}

static struct ibv_qp *failing;

static void fails_meanwhile(void)
{
	unsigned int tries = 200;

	qp_fails(failing, 0);
	while (__atomic_load_n(&failing->state, __ATOMIC_ACQUIRE) !=
		       IBV_QPS_ERR &&
	       tries--)
		usleep(1000);
}

/* A queue pair fails while its end does: the program is told. */
static void an_end_that_fails_loses_no_error(void **state)
{
	struct record rec;

	(void)state;
	failing = make_qp(IBV_QPT_RC, 1, 0, false);
	asked.first = fails_meanwhile;
	refuse(UNIC_CTL_QP_DESTROY, UNIC_CTL_ST_TOO_MANY, 1);
	assert_int_equal(unic_ibv_destroy_qp(failing), ENOMEM);
	assert_true(next_async(&rec));
	assert_int_equal(rec.element, (uintptr_t)failing);
	assert_int_equal(failing->state, IBV_QPS_ERR);
	ack_async(failing, 1);
	end_qp(failing);
}

/* A program that reads no events loses them, and waits for none. */
static void an_event_without_room_is_no_debt(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_RC, 1, 0, false);
	struct record rec = { .element = 1 };
	unsigned int tries = 5000;

	(void)state;
	while (send(v.ctx.async_wfd, &rec, sizeof(rec), MSG_DONTWAIT) > 0)
		;
	qp_fails(qp, 0);
	while (__atomic_load_n(&qp->state, __ATOMIC_ACQUIRE) != IBV_QPS_ERR &&
	       tries--)
		usleep(1000);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	pthread_mutex_lock(&v.at->lock);
	assert_int_equal(unic_ibv_qp(qp)->async_sent, 0);
	pthread_mutex_unlock(&v.at->lock);
	end_qp(qp);
}

/* The NIC is gone: what was posted completes as flushed, whoever waits wakes, and each
 * context is told, once. */
static void a_lost_nic_wakes_all(void **state)
{
	struct ibv_comp_channel *channel = make_channel();
	struct ibv_cq *cq = cq_of(channel);
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .cap = { .max_send_wr = 4 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qp = unic_ibv_create_qp(v.pd, &init);
	struct ibv_send_wr wr = { .wr_id = 3, .opcode = IBV_WR_SEND }, *bad;
	struct unic_upcall_obj up = { 0 };
	struct record rec;
	struct ibv_wc wc;

	(void)state;
	assert_non_null(qp);
	qp->state = IBV_QPS_RTS;
	assert_false(unic_events_lost(v.at));
	assert_int_equal(unic_ibv_post_send(qp, &wr, &bad), 0);
	upcall(&up, UNIC_UP_RESET);
	assert_true(next_async(&rec));
	assert_int_equal(rec.type, IBV_EVENT_DEVICE_FATAL);
	assert_int_equal(rec.element, 0);
	assert_true(v.at->lost && unic_events_lost(v.at));
	assert_ptr_equal(get_cq_event(channel), cq);
	assert_int_equal(unic_ibv_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 3);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(unic_ibv_post_send(qp, &wr, &bad), EIO);
	assert_false(is_readable(v.ctx.vctx.context.async_fd, 50));
	assert_false(is_readable(channel->fd, 0));
	ack_cq_events(cq, 1);
	end_qp(qp);
	end_cq(cq);
	end_channel(channel);
}

/* ---------------------------------------------------------------- contexts */

/* Each context has its descriptors, and its own events. */
static void contexts_are_apart(void **state)
{
	struct unic_ibv_context two = { .at = v.at };
	struct unic_attach *at = NULL;
	unsigned int before = count_fds();
	struct ibv_qp *qp;
	struct record rec;

	(void)state;
	two.vctx.context.cmd_fd = CMD_FD + 1;
	with_shim = false;
	assert_int_equal(unic_events_open_context(&two), -ENODEV);
	assert_int_equal(count_fds(), before);
	with_shim = true;
	assert_int_equal(unic_events_open_context(&two), 0);
	assert_true(unic_shim_owns(CMD_FD + 1));
	/* the program only reads it */
	assert_int_equal(send(two.vctx.context.async_fd, &rec, sizeof(rec),
			      MSG_NOSIGNAL),
			 -1);
	/* they share the attachment */
	assert_int_equal(unic_attach_get(drv.path, &at), 0);
	assert_ptr_equal(at, v.at);
	assert_int_equal(at->refs, 2);
	unic_attach_put(at);
	assert_int_equal(v.at->refs, 1);
	assert_int_equal(unic_attach_get("/nowhere", &at), -ENOENT);
	qp = make_qp(IBV_QPT_RC, 1, 0, false);
	qp->context = &two.vctx.context;
	qp_fails(qp, 0);
	assert_true(is_readable(two.vctx.context.async_fd, 500));
	assert_false(is_readable(v.ctx.vctx.context.async_fd, 0));
	end_qp(qp);
	unic_events_close_context(&two);
	assert_false(unic_shim_owns(CMD_FD + 1));
	assert_ptr_equal(v.at->contexts, &v.ctx);
	close(two.vctx.context.async_fd);
	assert_int_equal(count_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_VERBS(rings_reach_their_channel),
		WITH_VERBS(a_new_queue_has_no_old_event),
		WITH_VERBS(an_end_that_fails_loses_no_event),
		WITH_VERBS(an_end_waits_for_what_was_read),
		WITH_VERBS(a_full_channel_owes_all),
		WITH_VERBS(an_end_makes_room),
		WITH_VERBS(closed_channels_are_forgotten),
		WITH_VERBS(asynchronous_events_are_in_order),
		WITH_VERBS(a_queue_pair_waits_for_its_events),
		WITH_VERBS(an_end_that_fails_loses_no_error),
		WITH_VERBS(an_event_without_room_is_no_debt),
		WITH_VERBS(a_lost_nic_wakes_all),
		WITH_VERBS(contexts_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_libunic_desc.c - descriptors: what the library says to the driver of STags that it
 * hands out, and what it does with those that it was given. Host only.
 */
#include <errno.h>
#include <unistd.h>

#include "unit.h"

#include "libunic_rig.h"
#include "context.h"

#define PEER_IP 0x0a000002u
#define QPN	77u
#define STAG	0x01020304u
#define OTHER	0x01020405u

/* What the driver heard and answers; under drv.lock, the counts are atomic. */
static struct {
	struct unic_ctl_grant grant;
	struct unic_ctl_held_by answer;
	uint32_t grants, answers;
	uint16_t status; /* of GRANT */
	uint32_t cqes;
} heard;

static int play(uint16_t op, const uint8_t *in, size_t len, uint8_t *out)
{
	struct unic_ctl_conn_reply *r = (void *)out;

	(void)len;
	switch (op) {
	case UNIC_CTL_CONNECT:
		r->id = unic_to_le32(9);
		return 0;
	case UNIC_CTL_GRANT:
		memcpy(&heard.grant, in, sizeof(heard.grant));
		r->hdr.status = unic_to_le16(heard.status);
		__atomic_add_fetch(&heard.grants, 1, __ATOMIC_RELEASE);
		return 0;
	case UNIC_CTL_INVALIDATED:
		memcpy(&heard.answer, in, sizeof(heard.answer));
		__atomic_add_fetch(&heard.answers, 1, __ATOMIC_RELEASE);
		return 0;
	default:
		return -1;
	}
}

static void connect_to_peer(struct rig *r)
{
	struct unic_conn_param param = { .max_rd = 1 };

	assert_int_equal(
		unic_connect(r->qp, PEER_IP, 5, &param, 1000, NULL, NULL), 0);
}

static void up(struct rig *r)
{
	memset(&heard, 0, sizeof(heard));
	drv.first = play;
	rig_up(r);
	connect_to_peer(r);
}

/* The message of the peer with a descriptor of @stag. */
static void take(struct rig *r, uint32_t stag)
{
	struct {
		uint8_t magic[8];
		unic_le64 iova, length;
		unic_le32 stag, rsvd;
	} msg = { "unicdesc", unic_to_le64(0x5000), unic_to_le64(1ull << 33),
		  unic_to_le32(stag), unic_to_le32(0) };
	struct unic_desc d;

	assert_int_equal(unic_take_desc(r->qp, &msg, sizeof(msg), &d), 0);
	assert_int_equal(d.remote, 0x5000);
	assert_true(d.length == 1ull << 33);
	assert_int_equal(d.rkey, stag);
}

static struct unic_send_wr wr_of(uint32_t stag, uint8_t opcode)
{
	return (struct unic_send_wr){ .opcode = opcode,
				      .flags = UNIC_WR_SIGNALED,
				      .remote = 0x5000,
				      .rkey = stag };
}

static int post(struct rig *r, uint32_t stag)
{
	struct unic_send_wr wr = wr_of(stag, UNIC_WR_WRITE);

	return unic_post_send(r->qp, &wr, 1);
}

/* The request that was posted as the @n-th, from 0, completes. */
static void completes(struct rig *r, uint32_t n, uint8_t status)
{
	struct unic_wc wc;

	cq_ring()[heard.cqes % 8].status = status;
	complete(heard.cqes++, QPN, UNIC_WC_WRITE, n);
	assert_int_equal(unic_poll_cq(r->cq, 1, &wc), 1);
	assert_int_equal(wc.status, status);
}

static void peer_asks(struct rig *r, uint32_t stag, uint64_t deadline_ns)
{
	struct unic_upcall_held up = {
		.hdr = { .id = unic_to_le32(9) },
		.user = unic_to_le32(r->qp->db),
		.qp = unic_to_le32(r->qp->id),
		.kind = unic_to_le32(UNIC_CTL_HELD_STAG),
		.number = unic_to_le32(stag),
		.deadline_ns = unic_to_le64(deadline_ns),
	};

	upcall(&up, UNIC_UP_INVALIDATE);
}

static uint32_t answers(void)
{
	return __atomic_load_n(&heard.answers, __ATOMIC_ACQUIRE);
}

/* Events INVALIDATE so far, each with @flags. */
static unsigned int told(struct rig *r, unsigned int flags)
{
	struct unic_event ev;
	unsigned int n = 0;

	while (!unic_get_event(r->ctx, &ev)) {
		assert_int_equal(ev.type, UNIC_EV_INVALIDATE);
		assert_int_equal(ev.flags, flags);
		n++;
	}
	return n;
}

/* ----------------------------------------------------------------- handing out */

static void descriptor_is_recorded_and_goes(void **state)
{
	static _Alignas(4096) uint8_t mem[2 * PAGE];
	const struct unic_sq_slot *slot;
	struct unic_desc d;
	struct unic_mr *mr;
	struct rig r;

	(void)state;
	up(&r);
	mr = reg(&r, mem, sizeof(mem));
	heard.status = UNIC_ST_STATE; /* it is asked back */
	assert_int_equal(unic_post_desc(r.qp, 1, 0, mr, mem, PAGE), -ESTALE);
	assert_int_equal(r.qp->sq.posted, 0);
	heard.status = 0;
	assert_int_equal(unic_post_desc(r.qp, 1, 0, mr, mem + PAGE, PAGE + 1),
			 -ERANGE);
	assert_int_equal(heard.grants, 1);
	assert_int_equal(unic_post_desc(r.qp, 1, 0, mr, mem + 5, PAGE), 0);
	assert_int_equal(heard.grants, 2);
	assert_int_equal(unic_from_le32(heard.grant.mr), mr->id);
	assert_int_equal(unic_from_le32(heard.grant.conn), 9);
	assert_int_equal(unic_from_le32(heard.grant.stag), 0);
	slot = sq_ring();
	assert_int_equal(slot->opcode, UNIC_WR_SEND);
	assert_int_equal(slot->inline_len, UNIC_DESC_BYTES);
	assert_int_equal(unic_take_desc(r.qp, slot->sge, UNIC_DESC_BYTES, &d),
			 0);
	assert_int_equal(d.rkey, mr->stag);
	assert_true(d.remote == mr->iova + 5);
	assert_int_equal(d.length, PAGE);
	unic_dereg_mr(mr);
	rig_down(&r);
}

static void other_messages_are_none(void **state)
{
	uint8_t msg[UNIC_DESC_BYTES] = "unicdesc";
	struct unic_desc d;
	struct rig r;

	(void)state;
	up(&r);
	assert_int_equal(unic_take_desc(r.qp, msg, sizeof(msg) - 1, &d),
			 -EINVAL);
	assert_int_equal(unic_take_desc(r.qp, msg, sizeof(msg), &d), 0);
	msg[31] = 1;
	assert_int_equal(unic_take_desc(r.qp, msg, sizeof(msg), &d), -EINVAL);
	msg[31] = 0;
	msg[7]++;
	assert_int_equal(unic_take_desc(r.qp, msg, sizeof(msg), &d), -EINVAL);
	rig_down(&r);
}

/* -------------------------------------------------------------- being taken back */

static void what_is_taken_back_is_refused_at_once(void **state)
{
	struct unic_send_wr wr[3] = { wr_of(OTHER, UNIC_WR_WRITE),
				      wr_of(STAG, UNIC_WR_READ),
				      wr_of(OTHER, UNIC_WR_WRITE) };
	struct rig r;

	(void)state;
	up(&r);
	take(&r, STAG);
	take(&r, OTHER);
	assert_int_equal(post(&r, STAG), 1);
	completes(&r, 0, 0);
	peer_asks(&r, STAG, unic_now_ns() + 1000000000);
	assert_int_equal(post(&r, STAG), -EOWNERDEAD); /* without an event */
	assert_int_equal(r.qp->sq.posted, 1);
	assert_int_equal(answers(), 1);
	assert_int_equal(unic_from_le32(heard.answer.number), STAG);
	assert_int_equal(unic_from_le32(heard.answer.conn), 9);
	assert_int_equal(unic_post_send(r.qp, wr, 3), 1);
	assert_int_equal(unic_post_send(r.qp, wr + 1, 2), -EOWNERDEAD);
	wr[1].opcode = UNIC_WR_SEND; /* which names no STag of the peer */
	assert_int_equal(unic_post_send(r.qp, wr + 1, 1), 1);
	assert_int_equal(told(&r, UNIC_INVALIDATE_ANSWERED), 1);
	peer_asks(&r, STAG, 0); /* the answer was lost */
	assert_int_equal(told(&r, UNIC_INVALIDATE_ANSWERED), 0);
	assert_int_equal(answers(), 2);
	take(&r, STAG); /* a fresh one */
	assert_int_equal(post(&r, STAG), 1);
	rig_down(&r);
}

static void answer_waits_for_requests_under_way(void **state)
{
	struct unic_event ev = { .kind = UNIC_CTL_HELD_STAG,
				 .number = STAG,
				 .conn = 9 };
	struct rig r;

	(void)state;
	up(&r);
	take(&r, STAG);
	assert_int_equal(post(&r, STAG), 1);
	assert_int_equal(post(&r, OTHER), 1);
	peer_asks(&r, STAG, unic_now_ns() + 1000000000);
	assert_int_equal(told(&r, UNIC_INVALIDATE_ANSWERED), 1);
	assert_int_equal(unic_invalidated(r.ctx, &ev), 0);
	assert_int_equal(answers(), 0);
	completes(&r, 0, 0);
	assert_int_equal(answers(), 1); /* the other request names another */
	completes(&r, 1, 0);
	assert_int_equal(answers(), 1);
	rig_down(&r);
}

/* No event is fetched and nothing is posted: a thread answers. */
static void process_that_sleeps_answers(void **state)
{
	struct rig r;
	int i;

	(void)state;
	up(&r);
	take(&r, STAG);
	peer_asks(&r, STAG, unic_now_ns() + 1000000000);
	for (i = 0; i < 20000 && !answers(); i++)
		usleep(1000);
	assert_int_equal(answers(), 1);
	rig_down(&r);
}

static void what_was_not_told_is_learned(void **state)
{
	struct rig r;

	(void)state;
	up(&r);
	take(&r, STAG);
	assert_int_equal(post(&r, STAG), 1);
	assert_int_equal(post(&r, OTHER), 1);
	completes(&r, 0, UNIC_WC_REM_EVICTED);
	assert_int_equal(post(&r, STAG), -EOWNERDEAD);
	completes(&r, 1, UNIC_WC_REM_EVICTED);
	assert_int_equal(post(&r, OTHER), 1); /* no descriptor named it */
	rig_down(&r);
}

/* Of what came in the application's own messages: the application answers, and has the
 * grace. */
static void application_answers_for_its_own(void **state)
{
	struct unic_event ev;
	struct rig r;

	(void)state;
	up(&r);
	peer_asks(&r, OTHER, unic_now_ns() + 60000000000);
	assert_int_equal(unic_get_event(r.ctx, &ev), 0);
	assert_int_equal(ev.type, UNIC_EV_INVALIDATE);
	assert_int_equal(ev.flags, 0);
	assert_int_equal(answers(), 0);
	assert_int_equal(post(&r, OTHER), 1);
	assert_int_equal(unic_invalidated(r.ctx, &ev), 0);
	assert_int_equal(answers(), 1);
	assert_int_equal(post(&r, OTHER), -EOWNERDEAD);
	peer_asks(&r, STAG, unic_now_ns()); /* it has ended */
	assert_int_equal(told(&r, 0), 1);
	assert_int_equal(post(&r, STAG), -EOWNERDEAD);
	rig_down(&r);
}

static void another_peer_is_another(void **state)
{
	struct unic_qp_mod reset = { .state = UNIC_QPS_RESET };
	struct rig r;

	(void)state;
	up(&r);
	take(&r, STAG);
	peer_asks(&r, STAG, unic_now_ns());
	assert_int_equal(post(&r, STAG), -EOWNERDEAD);
	assert_int_equal(unic_modify_qp(r.qp, &reset), 0);
	connect_to_peer(&r);
	assert_int_equal(post(&r, STAG), 1);
	rig_down(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_DRIVER(descriptor_is_recorded_and_goes),
		WITH_DRIVER(other_messages_are_none),
		WITH_DRIVER(what_is_taken_back_is_refused_at_once),
		WITH_DRIVER(answer_waits_for_requests_under_way),
		WITH_DRIVER(process_that_sleeps_answers),
		WITH_DRIVER(what_was_not_told_is_learned),
		WITH_DRIVER(application_answers_for_its_own),
		WITH_DRIVER(another_peer_is_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

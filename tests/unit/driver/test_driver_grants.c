/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_grants.c - which peers and processes hold a region, by grant or by
 * token, and what they are asked when the region is to go. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "cm/cm_conn.h"
#include "host.h"
#include "unic_queue.h"

/* Puts TOKEN_END of token @id as the next event of the NIC. */
static void token_ends_as(struct fake *f, uint32_t id, uint32_t end,
			  uint32_t placed)
{
	struct unic_evt_token evt = {
		.hdr = { .type = UNIC_EVT_TOKEN_END,
			 .epoch = unic_to_le32(f->epoch) },
		.index = unic_to_le32(6),
		.user = unic_to_le32(id),
		.end = unic_to_le32(end),
		.placed = unic_to_le32(placed),
	};

	memcpy(f->bar + UNIC_BAR_EVT_OFF + f->evt_tail % 512 * 64, &evt, 64);
	idx(f)->evt_tail = unic_to_le32(++f->evt_tail);
}

static void token_ends(struct fake *f, uint32_t id)
{
	token_ends_as(f, id, UNIC_TOKEN_EXPIRED, 0);
}

/* Found by tests/models/token.pml: completions are taken before the events that
 * precede them, so the index of a token that ended may be seen to be used again
 * before its end is (INV-9). */
static void end_of_a_token_whose_index_is_used_again(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), id, upcalls;

	(void)state;
	ask_token(f, mr, 1001);
	settle(f);
	id = reply_u32(f, 24);
	upcalls = f->os.upcalls;
	ask_token(f, mr, 1002);
	token_ends(f, id);
	settle(f);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(f->os.upcalls, upcalls + 1);
	assert_int_equal(f->host->objects.live, 3); /* PD, region, token */
	fake_delete(f);
}

/* As above, after a cancel that finds the index with another token. */
static void end_of_a_token_that_a_cancel_did_not_find(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), upcalls;
	struct unic_ctl_obj r = { 0 };

	(void)state;
	ask_token(f, mr, 1001);
	settle(f);
	r.id = unic_to_le32(reply_u32(f, 24));
	upcalls = f->os.upcalls;
	f->answer[UNIC_CMD_TOKEN_CANCEL] = UNIC_ST_NO_TOKEN;
	ask(f, UNIC_CTL_TOKEN_CANCEL, &r);
	token_ends(f, unic_from_le32(r.id));
	settle(f);
	assert_int_equal(reply_status(f), UNIC_ST_NO_TOKEN);
	assert_int_equal(f->os.upcalls, upcalls + 1);
	assert_int_equal(f->host->objects.live, 2);
	fake_delete(f);
}

/* A token under way that @n requests have cancelled, and none is answered. Returns its
 * id. */
static uint32_t cancelled(struct fake *f, uint32_t n, uint32_t *mr)
{
	struct unic_ctl_obj r = { 0 };

	f->host->features |= UNIC_FEAT_CANCEL_WAIT;
	*mr = region(f, 4);
	ask_token(f, *mr, 1001);
	settle(f);
	r.id = unic_to_le32(reply_u32(f, 24));
	f->answer[UNIC_CMD_TOKEN_CANCEL] = UNIC_ST_PENDING;
	for (f->os.replies = 0; n; n--) {
		assert_true(unic_host_request(
			f->host, &f->client,
			&(struct unic_ctl_obj){
				.hdr.op = unic_to_le16(UNIC_CTL_TOKEN_CANCEL),
				.id = r.id },
			UNIC_CTL_BYTES));
		settle(f);
	}
	assert_int_equal(f->os.replies, 0);
	return unic_from_le32(r.id);
}

static struct unic_ctl_token_reply nth_end(struct fake *f, uint32_t n)
{
	struct unic_ctl_token_reply r;

	memcpy(&r, f->os.reply[n], sizeof(r));
	return r;
}

/* Whoever cancels a token under way is answered when it has ended, and nobody is told
 * of that by an upcall, too. */
static void a_cancel_waits_for_the_end(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr, id = cancelled(f, 2, &mr), upcalls = f->os.upcalls, i;
	struct unic_cmd_token_cancel cmd;

	(void)state;
	memcpy(&cmd, f->last[UNIC_CMD_TOKEN_CANCEL], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.flags), UNIC_CANCEL_WAIT);
	token_ends_as(f, id, UNIC_TOKEN_USED, 64);
	settle(f);
	assert_int_equal(f->os.replies, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(unic_from_le16(nth_end(f, i).hdr.status), 0);
		assert_int_equal(unic_from_le32(nth_end(f, i).id), id);
		assert_int_equal(unic_from_le32(nth_end(f, i).index), 6);
		assert_int_equal(unic_from_le32(nth_end(f, i).end),
				 UNIC_TOKEN_USED);
		assert_int_equal(unic_from_le32(nth_end(f, i).placed), 64);
	}
	assert_int_equal(f->os.upcalls, upcalls);
	assert_int_equal(f->host->objects.live, 2);
	fake_delete(f);
}

/* The index may be seen to be used again before the end is. */
static void a_cancel_waits_also_if_the_index_is_used_again(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr, id = cancelled(f, 1, &mr);

	(void)state;
	ask_token(f, mr, 1002);
	token_ends_as(f, id, UNIC_TOKEN_CANCELLED, 9);
	settle(f);
	assert_int_equal(f->os.replies, 2); /* the first: TOKEN_ALLOC's */
	assert_int_equal(unic_from_le32(nth_end(f, 1).id), id);
	assert_int_equal(unic_from_le32(nth_end(f, 1).end),
			 UNIC_TOKEN_CANCELLED);
	assert_int_equal(f->host->objects.live, 3);
	fake_delete(f);
}

/* Of an earlier version: it is not asked to wait, and says that it does not. */
static void a_nic_that_does_not_wait(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_cmd_token_cancel cmd;

	(void)state;
	ask_token(f, region(f, 4), 1001);
	settle(f);
	r.id = unic_to_le32(reply_u32(f, 24));
	f->answer[UNIC_CMD_TOKEN_CANCEL] = UNIC_ST_BUSY;
	assert_int_equal(request(f, UNIC_CTL_TOKEN_CANCEL, &r), UNIC_ST_BUSY);
	memcpy(&cmd, f->last[UNIC_CMD_TOKEN_CANCEL], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.flags), 0);
	assert_int_equal(f->host->objects.live, 3);
	fake_delete(f);
}

/* A reset is an end, for a process that outlives it; else the request has failed. */
static void a_reset_ends_the_wait(void **state)
{
	struct fake *f;
	uint32_t kept, upcalls, mr;

	(void)state;
	for (kept = 0; kept < 2; kept++) {
		hello_flags = kept ? UNIC_CTL_HELLO_KEEP : 0;
		f = fake_new();
		cancelled(f, 1, &mr);
		upcalls = f->host->proc[0].upcall_next;
		fail_nic(f);
		assert_int_equal(f->os.replies, 0); /* bytes may arrive */
		settle(f);
		assert_int_equal(f->os.replies, 1);
		assert_int_equal(unic_from_le16(nth_end(f, 0).hdr.status),
				 kept ? 0 : UNIC_CTL_ST_RESET);
		assert_int_equal(unic_from_le32(nth_end(f, 0).end),
				 kept ? UNIC_TOKEN_RESET : 0);
		for (; upcalls < f->host->proc[0].upcall_next; upcalls++)
			assert_int_not_equal(upcall_type(f, upcalls),
					     UNIC_UP_TOKEN_END);
		fake_delete(f);
	}
	hello_flags = 0;
}

/* A process that leaves is answered nothing, and leaves nothing. */
static void who_leaves_does_not_wait(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr, id = cancelled(f, 2, &mr);

	(void)state;
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_null(f->host->reqs);
	token_ends(f, id); /* the NIC was slow */
	settle(f);
	assert_int_equal(f->os.replies, 0);
	fake_delete(f);
}

/* However it ends, of a token no object stays; and one goes at each use. */
static void tokens_leave_no_object(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), i;
	struct unic_ctl_obj r = { 0 };

	(void)state;
	for (i = 0; i < 4; i++) {
		ask_token(f, mr, 1000 + i);
		settle(f);
		assert_int_equal(f->host->objects.live, 3);
		r.id = unic_to_le32(reply_u32(f, 24));
		if (i == 0) /* the token expires */
			token_ends(f, unic_from_le32(r.id));
		else if (i == 1) /* used: the NIC gives its index again */
			continue;
		else
			f->answer[UNIC_CMD_TOKEN_CANCEL] =
				i == 2 ? UNIC_ST_OK : UNIC_ST_NO_TOKEN;
		settle(f);
		if (i > 1) /* cancelled; or used, and cancelled */
			(void)request(f, UNIC_CTL_TOKEN_CANCEL, &r);
		assert_int_equal(f->host->objects.live, 2);
	}
	fake_delete(f);
}

/* An exporter with one region and two peers. */
static struct fake *exporter(struct peer *a, struct peer *b, uint32_t *mr)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(4711) };
	struct fake *f = fake_new();

	*mr = region(f, 4);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	*a = (struct peer){ .ipv4 = PEER, .comm = 0x77 };
	*b = (struct peer){ .ipv4 = PEER + 1, .comm = 0x88 };
	peer_connects(f, a, *mr);
	peer_connects(f, b, *mr);
	return f;
}

static int grant(struct fake *f, uint32_t mr, const struct peer *p)
{
	struct unic_ctl_grant r = { .mr = unic_to_le32(mr),
				    .conn = unic_to_le32(p->conn) };

	return request(f, UNIC_CTL_GRANT, &r);
}

/* Puts what @p says, without running NIC and driver. */
static void put_said(struct fake *f, const struct peer *p,
		     struct unic_grants_msg msg)
{
	struct unic_mad_rx rx = { .ipv4 = unic_to_le32(p->ipv4) };
	uint32_t n = unic_from_le32(idx(f)->mad_tail);

	if (!msg.local_comm)
		msg.local_comm = p->comm;
	if (!msg.remote_comm)
		msg.remote_comm = p->ours;
	unic_grants_build(&msg, rx.data);
	memcpy(f->bar + UNIC_BAR_MAD_RX_OFF +
		       n % UNIC_MAD_RX_ENTRIES * sizeof(rx),
	       &rx, sizeof(rx));
	idx(f)->mad_tail = unic_to_le32(n + 1);
}

static void says(struct fake *f, const struct peer *p,
		 struct unic_grants_msg msg)
{
	put_said(f, p, msg);
	settle(f);
}

static void answers(struct fake *f, const struct peer *p, uint64_t nonce)
{
	struct unic_grants_msg msg = { .type = UNIC_HOLDER_INVALIDATED,
				       .nonce = nonce,
				       .kind = UNIC_CTL_HELD_STAG,
				       .number = 0xabcd00 };

	says(f, p, msg);
}

static void notice_as(struct fake *f, uint32_t mr, uint32_t seq)
{
	struct unic_evt_mr evt = { .hdr = { .type = UNIC_EVT_NOTICE,
					    .reason = UNIC_WHY_FAIR_SHARE },
				   .mr = unic_to_le32(3),
				   .gen = unic_to_le32(9),
				   .user = unic_to_le32(mr),
				   .seq = unic_to_le32(seq),
				   .grace_us = unic_to_le32(20000) };

	event(f, &evt);
}

static void notice_of(struct fake *f, uint32_t mr)
{
	notice_as(f, mr, 7);
}

static bool released_as(struct fake *f, uint32_t seq)
{
	struct unic_cmd_notice_answer cmd;

	memcpy(&cmd, f->last[UNIC_CMD_NOTICE_ANSWER], sizeof(cmd));
	return unic_from_le32(cmd.answer) == UNIC_ANSWER_RELEASE &&
	       unic_from_le32(cmd.seq) == seq && unic_from_le32(cmd.mr) == 3;
}

static bool released(struct fake *f)
{
	return released_as(f, 7);
}

/* When all have answered, and not one lie sooner. */
static void holders_end_a_grace(void **state)
{
	struct unic_grants_msg qa, qb, lie;
	struct unic_upcall_hdr up;
	struct peer a, b, none = { .ipv4 = PEER + 2, .comm = 0x99 };
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, mr, &a), 0); /* two grants, one hold */
	assert_int_equal(grant(f, mr, &b), 0);
	answers(f, &a, 0); /* no holder was asked */
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &qa));
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &qb));
	assert_int_equal(qa.number, 0xabcd00);
	assert_true(qa.grace_us && qa.grace_us <= 20000);
	assert_true(qa.nonce && qb.nonce && qa.nonce != qb.nonce);
	assert_int_equal(grant(f, mr, &a), UNIC_ST_STATE);
	answers(f, &b, qb.nonce);
	answers(f, &b, qb.nonce);     /* twice is once */
	answers(f, &b, qa.nonce);     /* for another */
	answers(f, &a, qb.nonce);     /* another's number */
	answers(f, &a, qa.nonce + 1); /* a guess */
	none.ours = a.ours;
	none.comm = a.comm;
	answers(f, &none, qa.nonce); /* from elsewhere */
	lie = (struct unic_grants_msg){ .type = UNIC_HOLDER_INVALIDATED,
					.nonce = qa.nonce,
					.kind = UNIC_CTL_HELD_TOKEN,
					.number = 0xabcd00 };
	says(f, &a, lie);
	lie.kind = UNIC_CTL_HELD_STAG;
	lie.local_comm = 5;
	says(f, &a, lie);
	assert_false(released(f));
	assert_int_equal(f->host->held.refused, 8);
	answers(f, &a, qa.nonce);
	assert_true(released(f));
	assert_int_equal(f->host->held.early, 1);
	memcpy(&up, upcall(f, f->host->proc[0].upcall_next - 1), sizeof(up));
	assert_int_equal(up.type, UNIC_UP_EVICTED);
	assert_int_equal(up.reason, UNIC_WHY_HOLDERS);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* The owner of @mr asks for more time under notice 7. */
static void ask_extension(struct fake *f, uint32_t mr)
{
	struct unic_ctl_notice_answer r = {
		.id = unic_to_le32(mr),
		.notice_seq = unic_to_le32(7),
		.answer = unic_to_le32(UNIC_ANSWER_EXTEND),
		.extend_us = unic_to_le32(1000),
	};

	assert_int_equal(request(f, UNIC_CTL_NOTICE_ANSWER, &r), 0);
}

/* The grant was the consent of the owner; an owner that extends uses the time
 * itself, and has its grace whatever the holders answer. */
static void owner_who_extends_keeps_his_grace(void **state)
{
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	ask_extension(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &a, q.nonce);
	assert_false(released(f));
	assert_int_equal(f->host->held.early, 0);
	assert_int_equal(region_state(f, mr), R_NOTIFIED);
	fake_delete(f);
}

/* An EXTEND counts for its notice: with the next notice it is over. */
static void owner_who_extended_once(void **state)
{
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	ask_extension(f, mr);
	notice_as(f, mr, 8);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &a, q.nonce);
	assert_true(released_as(f, 8));
	assert_int_equal(f->host->held.early, 1);
	fake_delete(f);
}

static void silent_holder_costs_the_grace(void **state)
{
	struct unic_grants_msg q, again;
	struct peer a, b;
	uint32_t mr, commands;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, mr, &b), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &a, q.nonce);
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
	commands = f->commands;
	pass(f, 5); /* asked again, and again */
	pass(f, 5);
	assert_int_equal(f->commands, commands + 2);
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(again.nonce == q.nonce);
	assert_false(released(f));
	fake_delete(f);
}

/* No peer is left that could use the region. */
static void holder_whose_connection_ends(void **state)
{
	struct unic_cm_msg dreq = { .type = UNIC_CM_DREQ };
	struct unic_ctl_obj r = { 0 };
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	assert_false(released(f));
	dreq.tid = a.comm;
	dreq.local_comm = a.comm;
	dreq.remote_comm = a.ours;
	dreq.qpn = a.qpn;
	mad_from(f, a.ipv4, &dreq);
	r.id = unic_to_le32(a.conn);
	assert_int_equal(request(f, UNIC_CTL_DISCONNECT, &r), 0);
	assert_true(released(f));
	fake_delete(f);
}

/* A NIC that is lost ends all connections, and with them the holders: there is no grace to
 * end, and nobody to send a release to. */
static void lost_nic_ends_no_grace(void **state)
{
	struct peer a, b;
	uint32_t kept, mr;
	struct fake *f;

	(void)state;
	for (kept = 0; kept < 2; kept++) {
		hello_flags = kept ? UNIC_CTL_HELLO_KEEP : 0;
		f = exporter(&a, &b, &mr);
		assert_int_equal(grant(f, mr, &a), 0);
		notice_of(f, mr);
		fail_nic(f);
		settle(f);
		assert_int_equal(f->host->held.early, 0);
		assert_false(released(f));
		fake_delete(f);
	}
	hello_flags = 0;
}

static uint32_t handed(struct fake *f, const struct peer *from,
		       const struct peer *to, uint32_t number)
{
	struct unic_grants_msg msg = { .type = UNIC_HOLDER_DELEGATE,
				       .nonce = 1000 + number,
				       .kind = UNIC_CTL_HELD_STAG,
				       .number = number,
				       .ipv4 = to->ipv4,
				       .qpn = to->comm },
			       got;

	says(f, from, msg);
	assert_true(told(f, from, UNIC_HOLDER_DELEGATED, &got));
	assert_true(got.nonce == msg.nonce);
	return got.status;
}

static void delegation_is_recorded(void **state)
{
	struct peer a, b, nobody = { .ipv4 = PEER + 9, .comm = 1 };
	struct unic_grants_msg q;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(handed(f, &a, &b, 0xabcd00), UNIC_ST_NO_MR);
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(handed(f, &b, &a, 0xabcd00), UNIC_ST_NO_MR);
	assert_int_equal(handed(f, &a, &nobody, 0xabcd00), UNIC_CTL_ST_NO_CONN);
	assert_int_equal(handed(f, &a, &b, 0xabcd01), UNIC_ST_NO_MR);
	assert_int_equal(handed(f, &a, &b, 0xabcd00), 0);
	notice_of(f, mr);
	assert_int_equal(handed(f, &a, &b, 0xabcd00), UNIC_ST_STATE);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &a, q.nonce);
	assert_false(released(f));
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &b, q.nonce);
	assert_true(released(f));
	fake_delete(f);
}

/* The other side: the driver repeats the upcall until its process answers, and
 * answers the peer as often as it asks. */
static void holder_is_told_and_answers(void **state)
{
	struct unic_grants_msg q = { .type = UNIC_HOLDER_INVALIDATE,
				     .nonce = 4242,
				     .kind = UNIC_CTL_HELD_STAG,
				     .number = 5,
				     .grace_us = 1000 },
			       got;
	struct unic_ctl_held_by r = { .kind = unic_to_le32(UNIC_CTL_HELD_STAG),
				      .number = unic_to_le32(5) };
	struct unic_upcall_held up;
	struct peer a, b;
	uint32_t mr, n;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	r.conn = unic_to_le32(a.conn);
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r), UNIC_ST_STATE);
	n = f->host->upcalls;
	says(f, &a, q);
	assert_int_equal(f->host->upcalls, n + 1);
	memcpy(&up, upcall(f, n), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_INVALIDATE);
	assert_int_equal(unic_from_le32(up.hdr.id), a.conn);
	assert_int_equal(unic_from_le32(up.number), 5);
	says(f, &a, q);
	assert_int_equal(f->host->upcalls, n + 2);
	assert_false(told(f, &a, UNIC_HOLDER_INVALIDATED, &got));
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r), 0);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATED, &got));
	assert_true(got.nonce == 4242);
	n = f->commands;
	says(f, &a, q);
	assert_int_equal(f->host->upcalls, unic_from_le32(up.hdr.seq) + 1);
	assert_true(f->commands > n);
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r), UNIC_ST_STATE);
	fake_delete(f);
}

/* DELEGATE asks the exporter, now and again, and is answered by it or not. */
static void delegate_waits_for_the_exporter(void **state)
{
	struct unic_ctl_held_by r = {
		.kind = unic_to_le32(UNIC_CTL_HELD_STAG),
		.number = unic_to_le32(5),
		.ipv4 = unic_to_le32(PEER + 1),
		.qpn = unic_to_le32(9),
	};
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, i;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	r.conn = unic_to_le32(a.conn);
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), -1);
	assert_true(told(f, &a, UNIC_HOLDER_DELEGATE, &q));
	assert_int_equal(q.ipv4, PEER + 1);
	q.type = UNIC_HOLDER_DELEGATED;
	q.local_comm = q.remote_comm = 0;
	q.status = UNIC_ST_NO_MR;
	says(f, &b, q); /* an answer without a question */
	assert_int_equal(f->os.replies, 0);
	says(f, &a, q);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(reply_status(f), UNIC_ST_NO_MR);
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), -1);
	for (i = 0; i < 10; i++)
		pass(f, 1100);
	assert_int_equal(reply_status(f), UNIC_CTL_ST_UNREACHABLE);
	fake_delete(f);
}

/* A second region of the process of @mr: the NIC's index 4, STag 0xabcd01. */
static uint32_t second_region(struct fake *f, uint32_t mr)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(4),
				       .gen = unic_to_le32(9),
				       .stag = unic_to_le32(0xabcd01) };
	struct unic_region *r = unic_obj_get(&f->host->objects, mr, UNIC_OBJ_MR,
					     UNIC_OBJ_ANYONE);
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA + 4 * 4096),
				       .iova = unic_to_le64(VA + 4 * 4096),
				       .length = unic_to_le64(4 * 4096),
				       .pd = unic_to_le32(r->pd) };

	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), 0);
	return reply_u32(f, 16);
}

/* The owner offers @other for @mr under notice 7. */
static void offer_for(struct fake *f, uint32_t mr, uint32_t other)
{
	struct unic_ctl_notice_answer r = {
		.id = unic_to_le32(mr),
		.notice_seq = unic_to_le32(7),
		.answer = unic_to_le32(UNIC_ANSWER_OFFER),
		.offer_id = unic_to_le32(other),
	};

	assert_int_equal(request(f, UNIC_CTL_NOTICE_ANSWER, &r), 0);
}

/* Holders of an offered region are asked; holders of a region that is no longer
 * asked for, and those that were asked already, are not. */
static void holders_of_an_offer_are_asked(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg q, again;
	struct peer a, b;
	uint32_t mr, other;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	other = second_region(f, mr);
	assert_int_equal(grant(f, other, &a), 0);
	notice_of(f, mr);
	assert_false(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	offer_for(f, mr, other);
	assert_int_equal(region_state(f, mr), R_ACTIVE);
	assert_int_equal(region_state(f, other), R_NOTIFIED);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_int_equal(q.number, 0xabcd01);
	/* @mr was asked for once, and is not now */
	assert_int_equal(grant(f, mr, &b), 0);
	evt = (struct unic_evt_mr){ .hdr = { .type = UNIC_EVT_NOTICE },
				    .mr = unic_to_le32(4),
				    .gen = unic_to_le32(9),
				    .user = unic_to_le32(other),
				    .seq = unic_to_le32(8),
				    .grace_us = unic_to_le32(20000) };
	event(f, &evt);
	assert_false(told(f, &b, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	/* a notice for @mr is no second question to @a */
	notice_as(f, mr, 9);
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(again.nonce == q.nonce);
	fake_delete(f);
}

/* The end of a token ends its hold, and no other. */
static void holder_whose_token_ends(void **state)
{
	struct unic_ctl_grant r = { 0 };
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, token;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	ask_token(f, mr, 1001);
	settle(f);
	token = reply_u32(f, 24);
	r.mr = unic_to_le32(mr);
	r.conn = unic_to_le32(a.conn);
	r.token = unic_to_le32(token);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), 0);
	assert_int_equal(grant(f, mr, &b), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_int_equal(q.kind, UNIC_CTL_HELD_TOKEN);
	token_ends(f, token);
	settle(f);
	assert_false(released(f));
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
	answers(f, &b, q.nonce);
	assert_true(released(f));
	assert_int_equal(f->host->held.refused, 0);
	fake_delete(f);
	/* the last one */
	f = exporter(&a, &b, &mr);
	ask_token(f, mr, 1001);
	settle(f);
	token = reply_u32(f, 24);
	r.mr = unic_to_le32(mr);
	r.conn = unic_to_le32(a.conn);
	r.token = unic_to_le32(token);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), 0);
	notice_of(f, mr);
	assert_false(released(f));
	token_ends(f, token);
	settle(f);
	assert_true(released(f));
	fake_delete(f);
}

/* The question of a DELEGATE goes with its connection, and is answered so at once. */
static void delegate_over_a_connection_that_ends(void **state)
{
	struct unic_ctl_held_by r = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_DELEGATE) },
		.kind = unic_to_le32(UNIC_CTL_HELD_STAG),
		.number = unic_to_le32(5),
		.ipv4 = unic_to_le32(PEER + 1),
		.qpn = unic_to_le32(9),
	};
	struct unic_cm_msg dreq = { .type = UNIC_CM_DREQ };
	struct unic_ctl_obj d = { .hdr = { .op = unic_to_le16(
						   UNIC_CTL_DISCONNECT) } };
	struct peer a, b;
	struct unic_ctl_hdr got;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	r.conn = unic_to_le32(a.conn);
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), -1);
	dreq.tid = a.comm;
	dreq.local_comm = a.comm;
	dreq.remote_comm = a.ours;
	dreq.qpn = a.qpn;
	mad_from(f, a.ipv4, &dreq);
	d.id = unic_to_le32(a.conn);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &d, sizeof(d)));
	assert_int_equal(f->os.replies, 2);
	memcpy(&got, f->os.reply[0],
	       sizeof(got)); /* of the two, in any order */
	if (unic_from_le16(got.op) != UNIC_CTL_DELEGATE)
		memcpy(&got, f->os.reply[1], sizeof(got));
	assert_int_equal(unic_from_le16(got.op), UNIC_CTL_DELEGATE);
	assert_int_equal(unic_from_le16(got.status), UNIC_CTL_ST_NO_CONN);
	settle(f);
	fake_delete(f);
}

/* A queue pair of another process is no holder, and its connection stays. */
static void connections_of_others_do_not_end(void **state)
{
	struct unic_client other = { .pid = 8, .slot = UNIC_OS_NO_SLOT };
	struct unic_ctl_hello hi = { .hdr.op = unic_to_le16(UNIC_CTL_HELLO),
				     .version = unic_to_le32(1) };
	struct unic_ctl_obj r = { .hdr.op = unic_to_le16(UNIC_CTL_QP_DESTROY) };
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_true(unic_host_request(f->host, &other, &hi, sizeof(hi)));
	settle(f);
	r.id = unic_to_le32(conn_with(f, a.ipv4)->qp);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &other, &r, sizeof(r)));
	settle(f);
	assert_int_equal(reply_status(f), UNIC_ST_NO_QP);
	assert_int_equal(conn_with(f, a.ipv4)->state, C_ESTABLISHED);
	fake_delete(f);
}

static void wrong_grants_are_refused(void **state)
{
	struct unic_ctl_grant r = { 0 };
	struct peer a, b, old = { .ipv4 = PEER + 3, .comm = 0x66 };
	uint32_t mr, i;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_NO_MR);
	r.mr = unic_to_le32(mr);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_CTL_ST_NO_CONN);
	r.conn = unic_to_le32(a.conn);
	r.token = unic_to_le32(mr);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_NO_TOKEN);
	peer_connects(f, &old, mr);
	((struct conn *)unic_obj_get(&f->host->objects, old.conn, UNIC_OBJ_CONN,
				     0))
		->vendor = 0;
	assert_int_equal(grant(f, mr, &old), UNIC_CTL_ST_UNSUPPORTED);
	for (i = 0; i < UNIC_HOLDS; i++)
		f->host->held.hold[i] =
			(struct unic_hold){ .mr = 1, .conn = 1, .owner = 0 };
	assert_int_equal(grant(f, mr, &a), UNIC_ST_QUOTA);
	fake_delete(f);
}

/* A region that ends while a holder has it: the holder is told, with no time left, until
 * it answers. */
static void holder_is_told_of_an_end(void **state)
{
	struct unic_ctl_obj d = { 0 };
	struct unic_grants_msg q, again;
	struct peer a, b;
	uint32_t mr, commands;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	d.id = unic_to_le32(mr);
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &d), 0);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_false(told(f, &b, UNIC_HOLDER_INVALIDATE, &again));
	assert_int_equal(q.number, 0xabcd00);
	assert_int_equal(q.grace_us, 0);
	commands = f->given[UNIC_CMD_MAD_SEND];
	pass(f, 5); /* a datagram may be lost */
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], commands + 1);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(again.nonce == q.nonce);
	answers(f, &a, q.nonce);
	assert_int_equal(f->host->held.refused, 0);
	commands = f->given[UNIC_CMD_MAD_SEND];
	pass(f, 2000);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], commands);
	assert_int_equal(f->host->held.unheard, 0);
	assert_false(released(f));
	fake_delete(f);
}

/* The notice of a region is open until the NIC says that the region ended, which may be
 * after the deadline. The driver tells holders then, and not before, that no time is left. */
static void no_time_is_left_when_the_region_has_ended(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, i;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	for (i = 0; i < 8; i++) { /* 40 ms, of a grace of 20 */
		pass(f, 5);
		assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
		assert_true(q.grace_us > 0);
	}
	assert_int_equal(q.grace_us, 1);
	evt = notice(mr, UNIC_EVT_EVICTED);
	event(f, &evt);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_int_equal(q.grace_us, 0);
	fake_delete(f);
}

/* A NIC may name any deadline. The driver tells one that 32 bits do not hold as the
 * longest grace that they do. */
static void grace_without_an_end_is_told(void **state)
{
	struct unic_grants_msg q;
	struct unic_region *region;
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	region = unic_obj_get(&f->host->objects, mr, UNIC_OBJ_MR,
			      UNIC_OBJ_ANYONE);
	assert_non_null(region);
	region->deadline_ns = UINT64_MAX;
	pass(f, 5);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_int_equal(q.grace_us, UINT32_MAX);
	fake_delete(f);
}

/* One that was asked and is silent is told of the end by the same question, for a
 * second; then its place is free. */
static void silent_holder_is_told_for_a_second(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg q, end;
	struct peer a, b;
	uint32_t mr, commands, i;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_true(q.grace_us > 0);
	evt = notice(mr, UNIC_EVT_EVICTED);
	event(f, &evt);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &end));
	assert_int_equal(end.grace_us, 0);
	assert_true(end.nonce == q.nonce);
	commands = f->given[UNIC_CMD_MAD_SEND];
	for (i = 0; i < 300; i++)
		pass(f, 5);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], commands + 7);
	assert_int_equal(f->host->held.unheard, 1);
	assert_int_equal(f->host->held.hold[UNIC_HOLDS - 1].mr, 0);
	fake_delete(f);
}

/* Taken away without a notice: told all the same. The word of an end gives way to a new
 * grant when its owner has its share of places. */
static void word_of_an_end_gives_way(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg q;
	struct unic_hold *hold;
	struct peer a, b;
	uint32_t mr, i;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	evt = notice(mr, UNIC_EVT_EVICTED);
	event(f, &evt);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_int_equal(grant(f, mr, &b), UNIC_ST_STATE);
	((struct unic_region *)unic_obj_get(&f->host->objects, mr, UNIC_OBJ_MR,
					    0))
		->state = R_ACTIVE;
	for (i = 0; i < UNIC_HOLDS; i++) {
		hold = &f->host->held.hold[i];
		if (!hold->mr)
			*hold = (struct unic_hold){ .mr = 1,
						    .conn = a.conn,
						    .number = i };
	}
	assert_int_equal(grant(f, mr, &b), 0);
	assert_int_equal(grant(f, mr, &a), UNIC_ST_QUOTA);
	memset(f->host->held.hold, 0, sizeof(f->host->held.hold));
	fake_delete(f);
}

/* A region that ended while its holder was not connected: the holder is told when it is
 * connected again. */
static void grant_of_the_past(void **state)
{
	struct unic_ctl_grant r = { .stag = unic_to_le32(0x123456),
				    .ended = unic_to_le32(1) };
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_CTL_ST_NO_CONN);
	r.conn = unic_to_le32(a.conn);
	r.mr = unic_to_le32(mr);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_INVALID);
	r.mr = unic_to_le32(0);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), 0);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_int_equal(q.number, 0x123456);
	assert_int_equal(q.grace_us, 0);
	says(f, &a,
	     (struct unic_grants_msg){ .type = UNIC_HOLDER_INVALIDATED,
				       .nonce = q.nonce,
				       .kind = UNIC_CTL_HELD_STAG,
				       .number = 0x123456 });
	assert_int_equal(f->host->held.refused, 0);
	assert_int_equal(f->host->held.hold[UNIC_HOLDS - 1].mr, 0);
	fake_delete(f);
}

/* The key of a form changes by work requests, which the driver does not see; that of a
 * region does not, nor does the rest of either. */
static void stag_of_a_form(void **state)
{
	struct unic_ctl_grant r = { .stag = unic_to_le32(0xabcd07) };
	struct unic_region *region;
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	r.mr = unic_to_le32(mr);
	r.conn = unic_to_le32(a.conn);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_INVALID);
	region = unic_obj_get(&f->host->objects, mr, UNIC_OBJ_MR, 0);
	region->kind = UNIC_FORM_FAST;
	r.stag = unic_to_le32(0xabce07);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_INVALID);
	r.stag = unic_to_le32(0xabcd07);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), 0);
	region->kind = UNIC_FORM_PLAIN;
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_int_equal(q.number, 0xabcd07);
	fake_delete(f);
}

/* An answer is about one question: its connection, kind and number. */
static void answers_name_one_question(void **state)
{
	struct unic_grants_msg q = { .type = UNIC_HOLDER_INVALIDATE,
				     .nonce = 4242,
				     .kind = UNIC_CTL_HELD_STAG,
				     .number = 5,
				     .grace_us = 1000 },
			       got;
	struct unic_ctl_held_by r = { .kind = unic_to_le32(UNIC_CTL_HELD_STAG),
				      .number = unic_to_le32(5) };
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	says(f, &a, q);
	says(f, &b, q); /* the same nonce, by chance */
	assert_int_equal(f->host->held.asks, 2);
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r),
			 UNIC_CTL_ST_NO_CONN);
	r.conn = unic_to_le32(a.conn);
	r.kind = unic_to_le32(UNIC_CTL_HELD_TOKEN);
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r), UNIC_ST_STATE);
	r.kind = unic_to_le32(UNIC_CTL_HELD_STAG);
	r.number = unic_to_le32(6);
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r), UNIC_ST_STATE);
	r.number = unic_to_le32(5);
	assert_int_equal(request(f, UNIC_CTL_INVALIDATED, &r), 0);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATED, &got));
	assert_false(told(f, &b, UNIC_HOLDER_INVALIDATED, &got));
	fake_delete(f);
}

static struct unic_ctl_held_by delegation_to(const struct peer *p)
{
	return (struct unic_ctl_held_by){
		.conn = unic_to_le32(p->conn),
		.kind = unic_to_le32(UNIC_CTL_HELD_STAG),
		.number = unic_to_le32(5),
		.ipv4 = unic_to_le32(PEER + 1),
		.qpn = unic_to_le32(9),
	};
}

/* DELEGATE over a connection that is not there, not up, or not to a unic. */
static void delegate_needs_a_peer(void **state)
{
	struct unic_ctl_held_by r = { 0 };
	struct peer a, b;
	struct conn *c;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r),
			 UNIC_CTL_ST_NO_CONN);
	r = delegation_to(&a);
	c = conn_with(f, a.ipv4);
	c->state = C_DREQ_SENT;
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), UNIC_ST_STATE);
	c->state = C_ESTABLISHED;
	c->vendor = 0;
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r),
			 UNIC_CTL_ST_UNSUPPORTED);
	c->vendor = 1;
	fake_delete(f);
}

/* UNIC_HANDINGS questions of DELEGATE at once, each repeated at its own time, answered by
 * its own answer, and not sent while the connection is not up. */
static void many_delegations(void **state)
{
	struct unic_ctl_held_by r;
	struct unic_grants_msg q, last;
	struct peer a, b;
	struct conn *c;
	uint32_t mr, i, sent;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	r = delegation_to(&a);
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), -1);
	assert_true(told(f, &a, UNIC_HOLDER_DELEGATE, &q));
	for (i = 1; i < UNIC_HANDINGS; i++) {
		r = delegation_to(i & 1 ? &b : &a);
		assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), -1);
		pass(f, 1);
	}
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r),
			 UNIC_CTL_ST_TOO_MANY);
	f->os.replies = 0;
	c = conn_with(f, a.ipv4);
	c->state = C_DREQ_SENT;
	sent = f->given[UNIC_CMD_MAD_SEND];
	pass(f, UNIC_ASK_AGAIN_NS / 1000000 * 3);
	assert_true(f->given[UNIC_CMD_MAD_SEND] > sent);
	assert_true(told(f, &b, UNIC_HOLDER_DELEGATE, &last));
	c->state = C_ESTABLISHED;
	q.type = UNIC_HOLDER_DELEGATED;
	q.local_comm = q.remote_comm = 0;
	q.status = UNIC_ST_OK;
	says(f, &a, q);
	assert_int_equal(f->os.replies, 1);
	fake_delete(f);
}

/* What a peer asked is forgotten with its connection, and not with that of another. */
static void questions_end_with_their_connection(void **state)
{
	struct unic_grants_msg q = { .type = UNIC_HOLDER_INVALIDATE,
				     .nonce = 4242,
				     .kind = UNIC_CTL_HELD_STAG,
				     .number = 5 };
	struct unic_ctl_held_by r;
	struct unic_ctl_obj d = { 0 };
	struct unic_cm_msg dreq;
	struct peer a, b;
	uint32_t mr;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	says(f, &a, q);
	says(f, &b, q);
	r = delegation_to(&a);
	assert_int_equal(request(f, UNIC_CTL_DELEGATE, &r), -1);
	dreq = (struct unic_cm_msg){ .type = UNIC_CM_DREQ,
				     .tid = b.comm,
				     .local_comm = b.comm,
				     .remote_comm = b.ours,
				     .qpn = b.qpn };
	mad_from(f, b.ipv4, &dreq);
	d.id = unic_to_le32(b.conn);
	(void)request(f, UNIC_CTL_DISCONNECT, &d);
	assert_int_equal(f->host->held.asked[0].conn, a.conn);
	assert_int_equal(f->host->held.asked[1].conn, 0);
	fake_delete(f);
}

/* A form of the process of @mr: the NIC's index 5, STag 0xf00100. */
static uint32_t form_of(struct fake *f, uint32_t mr)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(5),
				       .gen = unic_to_le32(2),
				       .stag = unic_to_le32(0xf00100) };
	struct unic_region *r = unic_obj_get(&f->host->objects, mr, UNIC_OBJ_MR,
					     UNIC_OBJ_ANYONE);
	struct unic_ctl_mr_alloc a = { .pd = unic_to_le32(r->pd),
				       .kind = UNIC_FORM_WINDOW2 };

	memcpy(f->cpl[UNIC_CMD_MR_ALLOC], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a), 0);
	return reply_u32(f, 16);
}

/* The form is made of the region that the NIC is asked about next, or not. */
static void form_is_behind(struct fake *f, bool behind)
{
	f->host->features |= UNIC_FEAT_MR_FORMS;
	f->lists = true;
	f->lists_of = UNIC_CMD_MR_FORMS;
	f->listed[0] = behind ? 1u << 5 : 0;
}

/* An exporter whose region @mr has the form @form. */
static struct fake *exporter_of_form(struct peer *a, struct peer *b,
				     uint32_t *mr, uint32_t *form)
{
	struct fake *f = exporter(a, b, mr);

	*form = form_of(f, *mr);
	form_is_behind(f, true);
	return f;
}

static void answers_for(struct fake *f, const struct peer *p,
			const struct unic_grants_msg *q)
{
	struct unic_grants_msg msg = { .type = UNIC_HOLDER_INVALIDATED,
				       .nonce = q->nonce,
				       .kind = q->kind,
				       .number = q->number };

	says(f, p, msg);
}

/* Who has a form of a region hears of the notice of the region; the grace ends when the
 * holders of both have answered, whoever is the last. */
static void holders_of_a_form_are_asked(void **state)
{
	struct unic_cmd_mr cmd;
	struct unic_grants_msg qa, qb;
	struct peer a, b;
	uint32_t mr, form, last;
	struct fake *f;

	(void)state;
	for (last = 0; last < 2; last++) {
		f = exporter_of_form(&a, &b, &mr, &form);
		assert_int_equal(grant(f, mr, &a), 0);
		assert_int_equal(grant(f, form, &b), 0);
		assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 0);
		notice_of(f, mr);
		memcpy(&cmd, f->last[UNIC_CMD_MR_FORMS], sizeof(cmd));
		assert_int_equal(unic_from_le32(cmd.mr), 3);
		assert_int_equal(unic_from_le32(cmd.gen), 9);
		assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &qa));
		assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &qb));
		assert_int_equal(qb.number, 0xf00100);
		assert_true(qb.grace_us && qb.grace_us <= 20000);
		answers_for(f, last ? &b : &a, last ? &qb : &qa);
		assert_false(released(f));
		answers_for(f, last ? &a : &b, last ? &qa : &qb);
		assert_true(released(f));
		assert_int_equal(f->host->held.early, 1);
		assert_int_equal(f->host->held.refused, 0);
		fake_delete(f);
	}
}

/* Only a form is held: it ends with its region, so its holder ends the grace. */
static void holder_of_a_form_alone(void **state)
{
	struct unic_grants_msg q, again;
	struct peer a, b;
	uint32_t mr, form;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	assert_int_equal(grant(f, form, &a), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	pass(f, 5); /* as for a region: again, and the same question */
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(again.nonce == q.nonce);
	assert_true(again.grace_us > 0);
	assert_int_equal(handed(f, &a, &b, 0xf00100), UNIC_ST_STATE);
	answers_for(f, &a, &q);
	assert_true(released(f));
	fake_delete(f);
}

/* A form of other regions has nothing to do with the notice. */
static void form_of_another_region(void **state)
{
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, form;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	form_is_behind(f, false);
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, form, &b), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	assert_false(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers_for(f, &a, &q);
	assert_true(released(f));
	fake_delete(f);
	/* and nobody was told: the grace is whole */
	f = exporter_of_form(&a, &b, &mr, &form);
	form_is_behind(f, false);
	assert_int_equal(grant(f, form, &b), 0);
	notice_of(f, mr);
	assert_false(released(f));
	fake_delete(f);
}

/* A work request makes the form of the region after the notice: it is found when it is
 * granted, and at the latest before the grace ends early. */
static void form_that_is_made_in_the_grace(void **state)
{
	struct unic_grants_msg qa, qb;
	struct peer a, b;
	uint32_t mr, form, granted;
	struct fake *f;

	(void)state;
	for (granted = 0; granted < 2; granted++) {
		f = exporter_of_form(&a, &b, &mr, &form);
		form_is_behind(f, false);
		assert_int_equal(grant(f, mr, &a), 0);
		if (!granted)
			assert_int_equal(grant(f, form, &b), 0);
		notice_of(f, mr);
		assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &qa));
		assert_false(told(f, &b, UNIC_HOLDER_INVALIDATE, &qb));
		form_is_behind(f, true);
		if (granted)
			assert_int_equal(grant(f, form, &b), 0);
		else
			answers_for(f, &a, &qa);
		assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &qb));
		assert_false(released(f));
		answers_for(f, &b, &qb);
		assert_int_equal(released(f), !granted);
		if (granted)
			answers_for(f, &a, &qa);
		assert_true(released(f));
		fake_delete(f);
	}
}

/* The notice of second_region(). */
static struct unic_evt_mr notice_of_second(uint32_t id)
{
	return (struct unic_evt_mr){ .hdr = { .type = UNIC_EVT_NOTICE },
				     .mr = unic_to_le32(4),
				     .gen = unic_to_le32(9),
				     .user = unic_to_le32(id),
				     .seq = unic_to_le32(8),
				     .grace_us = unic_to_le32(20000) };
}

/* The form is of two regions, and the notice moves from one to the other by an OFFER: its
 * holder is asked for that one. */
static void form_of_an_offered_region(void **state)
{
	struct unic_grants_msg q, next;
	struct peer a, b;
	uint32_t mr, form, other;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	other = second_region(f, mr);
	assert_int_equal(grant(f, form, &a), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	offer_for(f, mr, other);
	pass(f, 5);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &next));
	assert_true(next.nonce != q.nonce);
	assert_int_equal(region_state(f, other), R_NOTIFIED);
	answers_for(f, &a, &next);
	assert_int_equal(f->host->held.early, 1);
	fake_delete(f);
}

/* The form is of two regions under notice; when the notice of which its holder was told is
 * over, by an OFFER of a third, he is told of the other. */
static void form_whose_first_notice_is_over(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg q, next;
	struct peer a, b;
	uint32_t mr, form, other;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	other = second_region(f, mr);
	assert_int_equal(grant(f, form, &a), 0);
	notice_of(f, mr);
	f->os.now_ns += 1000000;
	evt = notice_of_second(other);
	event(f, &evt);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	form_is_behind(f, false);
	offer_for(f, mr, second_region(f, mr));
	assert_int_equal(region_state(f, mr), R_ACTIVE);
	form_is_behind(f, true);
	pass(f, 5);
	pass(f, 1);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &next));
	assert_true(next.nonce != q.nonce);
	fake_delete(f);
}

/* The holder of a form under two notices is told once. */
static void form_under_two_notices(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg q, again;
	struct peer a, b;
	uint32_t mr, form, other, asked;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	other = second_region(f, mr);
	assert_int_equal(grant(f, form, &a), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	asked = f->given[UNIC_CMD_MR_FORMS];
	f->os.now_ns += 1000000;
	evt = notice_of_second(other);
	event(f, &evt);
	/* of the new notice alone */
	assert_int_equal(f->given[UNIC_CMD_MR_FORMS], asked + 1);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &again));
	assert_true(again.nonce == q.nonce); /* the first ends sooner */
	answers_for(f, &a, &q);
	assert_int_equal(f->host->held.early, 2);
	fake_delete(f);
}

/* The holder of a form under two notices hears of the one that ends sooner, the second. */
static void form_whose_second_notice_is_sooner(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg q, sooner;
	struct unic_region *region;
	struct peer a, b;
	uint32_t mr, form, other;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	other = second_region(f, mr);
	assert_int_equal(grant(f, form, &a), 0);
	notice_of(f, mr);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	region = unic_obj_get(&f->host->objects, mr, UNIC_OBJ_MR,
			      UNIC_OBJ_ANYONE);
	assert_non_null(region);
	region->deadline_ns += 50000000;
	evt = notice_of_second(other);
	event(f, &evt);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &sooner));
	assert_true(sooner.nonce != q.nonce);
	assert_true(sooner.grace_us <= 20000);
	fake_delete(f);
}

/* Its index may be another form's by now: who had it is told of its end, and of no notice. */
static void form_that_has_ended(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg qa, qb;
	struct peer a, b;
	uint32_t mr, form;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, form, &b), 0);
	evt = notice(form, UNIC_EVT_EVICTED);
	evt.mr = unic_to_le32(5);
	evt.gen = unic_to_le32(2);
	event(f, &evt);
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &qb));
	assert_int_equal(qb.grace_us, 0);
	notice_of(f, mr);
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &qb));
	assert_int_equal(qb.grace_us, 0);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &qa));
	answers_for(f, &a, &qa);
	assert_true(released(f));
	answers_for(f, &b, &qb);
	assert_int_equal(f->host->held.refused, 0);
	fake_delete(f);
}

/* A NIC of an earlier version does not say which forms a region has: while a peer has a
 * form of the process, no grace of its regions ends early. */
static void nic_that_does_not_name_forms(void **state)
{
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, form;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	f->host->features &= ~UNIC_FEAT_MR_FORMS;
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, form, &b), 0);
	notice_of(f, mr);
	assert_false(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers_for(f, &a, &q);
	assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 0);
	assert_false(released(f));
	fake_delete(f);
}

static struct unic_hold *hold_of(struct fake *f, uint32_t mr)
{
	uint32_t i;

	for (i = 0; i < UNIC_HOLDS; i++)
		if (f->host->held.hold[i].mr == mr)
			return &f->host->held.hold[i];
	return NULL;
}

/* The answers of the holders of two regions come before the NIC has ended the first grace:
 * that is ended once. */
static void graces_end_once(void **state)
{
	struct unic_evt_mr evt;
	struct unic_grants_msg answer = { .type = UNIC_HOLDER_INVALIDATED,
					  .kind = UNIC_CTL_HELD_STAG };
	struct peer a, b;
	uint32_t mr, other;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	other = second_region(f, mr);
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, other, &b), 0);
	notice_of(f, mr);
	evt = notice_of_second(other);
	event(f, &evt);
	answer.nonce = hold_of(f, mr)->nonce;
	answer.number = 0xabcd00;
	put_said(f, &a, answer);
	unic_host_poll(f->host);
	answer.nonce = hold_of(f, other)->nonce;
	answer.number = 0xabcd01;
	put_said(f, &b, answer);
	unic_host_poll(f->host);
	assert_int_equal(f->host->held.early, 2);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_NOTICE_ANSWER], 2);
	fake_delete(f);
}

/* An event of region @mr that the driver takes before the NIC answers a command. */
static void event_at_once(struct fake *f, uint32_t mr, uint8_t type,
			  uint32_t seq)
{
	struct unic_evt_mr evt = notice(mr, type);

	evt.hdr.epoch = unic_to_le32(f->epoch);
	evt.seq = unic_to_le32(seq);
	evt.grace_us = unic_to_le32(20000);
	put_event(f, &evt);
	unic_host_poll(f->host);
}

/* The answer comes when the region has ended, or its owner has left, or for a notice
 * before the one that is open: it says nothing of that. */
static void forms_of_a_notice_that_is_over(void **state)
{
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, form, over;
	struct fake *f;

	(void)state;
	for (over = 0; over < 3; over++) {
		f = exporter_of_form(&a, &b, &mr, &form);
		assert_int_equal(grant(f, form, &b), 0);
		event_at_once(f, mr, UNIC_EVT_NOTICE, 7);
		if (over == 0)
			event_at_once(f, mr, UNIC_EVT_EVICTED, 7);
		else if (over == 1)
			unic_host_client_gone(f->host, &f->client);
		else
			event_at_once(f, mr, UNIC_EVT_NOTICE, 8);
		while (!f->given[UNIC_CMD_MR_FORMS])
			nic_step(f);
		unic_host_poll(f->host); /* takes the answer */
		if (over != 1)		 /* the holder is asked for nothing */
			assert_true(hold_of(f, form)->nonce == 0);
		settle(f);
		assert_int_equal(f->given[UNIC_CMD_MR_FORMS],
				 over == 2 ? 2 : 1);
		assert_int_equal(told(f, &b, UNIC_HOLDER_INVALIDATE, &q),
				 over == 2);
		fake_delete(f);
	}
}

/* The question has no memory, or none for its list, or is answered by an error: the grace
 * ends at its deadline, and not before. */
static void forms_that_are_not_found(void **state)
{
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, form, why;
	struct fake *f;

	(void)state;
	for (why = 0; why < 3; why++) {
		f = exporter_of_form(&a, &b, &mr, &form);
		assert_int_equal(grant(f, form, &b), 0);
		no_spare(f);
		if (why < 2) /* the first is of NOTICE_ACK */
			f->os.fail_alloc = why + 2;
		else
			f->answer[UNIC_CMD_MR_FORMS] = UNIC_ST_NO_MR;
		notice_of(f, mr);
		assert_int_equal(f->os.fail_alloc, 0);
		assert_int_equal(f->given[UNIC_CMD_MR_FORMS], why == 2);
		assert_false(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
		assert_int_equal(region_state(f, mr), R_NOTIFIED);
		assert_false(released(f));
		fake_delete(f);
	}
}

/* The NIC's list has a bit for each index that a region may have: a form with a larger
 * one, or of another process, is not looked up in it. */
static void forms_that_no_list_has(void **state)
{
	struct unic_grants_msg q;
	struct unic_region *r;
	struct peer a, b;
	uint32_t mr, form, other;
	struct fake *f;

	(void)state;
	for (other = 0; other < 2; other++) {
		f = exporter_of_form(&a, &b, &mr, &form);
		assert_int_equal(grant(f, mr, &a), 0);
		assert_int_equal(grant(f, form, &b), 0);
		r = unic_obj_get(&f->host->objects, form, UNIC_OBJ_MR,
				 UNIC_OBJ_ANYONE);
		memset(f->listed, 0xff, sizeof(f->listed));
		event_at_once(f, mr, UNIC_EVT_NOTICE, 7);
		if (other)
			hold_of(f, form)->owner = 1;
		else
			r->mr = UNIC_LIST_BYTES * 8;
		settle(f);
		assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 1);
		assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
		assert_false(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
		fake_delete(f);
	}
}

/* A form whose end the driver has seen, and has told nobody yet, keeps no grace. */
static void form_that_is_evicted(void **state)
{
	struct unic_grants_msg q;
	struct unic_region *r;
	struct peer a, b;
	uint32_t mr, form;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, form, &b), 0);
	r = unic_obj_get(&f->host->objects, form, UNIC_OBJ_MR, UNIC_OBJ_ANYONE);
	r->state = R_EVICTED;
	notice_of(f, mr);
	assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 0);
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers_for(f, &a, &q);
	assert_true(released(f));
	r->state = R_ACTIVE;
	fake_delete(f);
}

/* A grant of which nobody was asked ends with its connection, and no notice with it. */
static void grant_that_ends_unasked(void **state)
{
	struct unic_ctl_obj d = { 0 };
	struct unic_cm_msg dreq;
	struct unic_grants_msg q;
	struct peer a, b;
	uint32_t mr, form;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	form_is_behind(f, false);
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, form, &b), 0);
	notice_of(f, mr);
	assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 1);
	dreq = (struct unic_cm_msg){ .type = UNIC_CM_DREQ,
				     .tid = b.comm,
				     .local_comm = b.comm,
				     .remote_comm = b.ours,
				     .qpn = b.qpn };
	mad_from(f, b.ipv4, &dreq);
	d.id = unic_to_le32(b.conn);
	(void)request(f, UNIC_CTL_DISCONNECT, &d);
	assert_null(hold_of(f, form));
	assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 1);
	assert_false(released(f));
	assert_true(told(f, &a, UNIC_HOLDER_INVALIDATE, &q));
	answers_for(f, &a, &q);
	assert_true(released(f));
	fake_delete(f);
}

/* The question is repeated at its time, and not at each look; when the notice is over, the
 * holder of a region without forms is asked for nothing more. */
static void questions_have_their_times(void **state)
{
	struct peer a, b;
	uint32_t mr, sent;
	uint64_t next;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	notice_of(f, mr);
	sent = f->given[UNIC_CMD_MAD_SEND];
	next = hold_of(f, mr)->again_ns;
	f->host->held.next_ns = 0; /* another question is due */
	assert_true(unic_grants_poll(f->host, next - 1) == next);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MAD_SEND], sent);
	offer_for(f, mr, second_region(f, mr));
	assert_int_equal(region_state(f, mr), R_ACTIVE);
	pass(f, 5);
	assert_true(hold_of(f, mr)->nonce == 0);
	assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 0);
	fake_delete(f);
}

/* The NIC has said that no form is of the region, and the driver has not read that, when a
 * form of it is granted: the answer says nothing of that one. */
static void grant_while_the_nic_is_asked(void **state)
{
	struct unic_ctl_grant r = { 0 };
	struct unic_grants_msg q, answer;
	struct peer a, b;
	uint32_t mr, form;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	form_is_behind(f, false);
	assert_int_equal(grant(f, mr, &a), 0);
	assert_int_equal(grant(f, form, &a), 0);
	notice_of(f, mr);
	answer = (struct unic_grants_msg){ .type = UNIC_HOLDER_INVALIDATED,
					   .nonce = hold_of(f, mr)->nonce,
					   .kind = UNIC_CTL_HELD_STAG,
					   .number = 0xabcd00 };
	put_said(f, &a, answer);
	unic_host_poll(f->host);
	assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 1);
	while (f->given[UNIC_CMD_MR_FORMS] < 2)
		nic_step(f);
	form_is_behind(f, true);
	r.mr = unic_to_le32(form);
	r.conn = unic_to_le32(b.conn);
	ask(f, UNIC_CTL_GRANT, &r);
	settle(f);
	assert_int_equal(reply_status(f), 0);
	assert_false(released(f));
	assert_true(told(f, &b, UNIC_HOLDER_INVALIDATE, &q));
	assert_true(q.grace_us > 0);
	fake_delete(f);
}

/* A process that grants again and again has one question to the NIC for each region under
 * notice under way, and one to come. */
static void grants_do_not_pile_up_questions(void **state)
{
	struct unic_ctl_grant r = { .hdr.op = unic_to_le16(UNIC_CTL_GRANT) };
	struct peer a, b;
	uint32_t mr, form, i;
	struct fake *f = exporter_of_form(&a, &b, &mr, &form);

	(void)state;
	assert_int_equal(grant(f, form, &a), 0);
	notice_of(f, mr);
	assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 1);
	r.mr = unic_to_le32(form);
	r.conn = unic_to_le32(a.conn);
	for (i = 0; i < 10; i++)
		assert_true(unic_host_request(f->host, &f->client, &r,
					      UNIC_CTL_BYTES));
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_FORMS], 3);
	fake_delete(f);
}

/* GRANT over a connection that is not up, of a region under notice, with an STag beside a
 * token, and of a past that says too much. */
static void grants_that_say_too_much(void **state)
{
	struct unic_ctl_grant r = { 0 };
	struct peer a, b;
	struct conn *c;
	uint32_t mr, token;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	c = conn_with(f, a.ipv4);
	c->state = C_DREQ_SENT;
	assert_int_equal(grant(f, mr, &a), UNIC_ST_STATE);
	r.conn = unic_to_le32(a.conn);
	r.ended = unic_to_le32(1);
	r.stag = unic_to_le32(0x123456);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_STATE);
	c->state = C_ESTABLISHED;
	r.ended = unic_to_le32(2);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_INVALID);
	r.ended = unic_to_le32(1);
	r.stag = unic_to_le32(0);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_INVALID);
	r.stag = unic_to_le32(0x123456);
	r.token = unic_to_le32(1);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_INVALID);
	f->os.replies = 0;
	ask_token(f, mr, 1000);
	settle(f);
	token = reply_u32(f, 24);
	r = (struct unic_ctl_grant){ .mr = unic_to_le32(mr),
				     .conn = unic_to_le32(a.conn),
				     .token = unic_to_le32(token),
				     .stag = unic_to_le32(0xabcd00) };
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_INVALID);
	r.stag = unic_to_le32(0);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), 0);
	notice_of(f, mr);
	assert_int_equal(grant(f, mr, &b), UNIC_ST_STATE);
	fake_delete(f);
}

/* The places of a process are its share of all; the word of an end that is sent anew takes
 * no second one. */
static void places_of_a_process(void **state)
{
	struct unic_ctl_grant r = { .stag = unic_to_le32(0x123456),
				    .ended = unic_to_le32(1) };
	struct peer a, b;
	uint32_t mr, i, used = 0;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	r.conn = unic_to_le32(a.conn);
	for (i = 0; i < 2; i++)
		assert_int_equal(request(f, UNIC_CTL_GRANT, &r), 0);
	for (i = 0; i < UNIC_HOLDS; i++)
		used += f->host->held.hold[i].mr != 0;
	assert_int_equal(used, 1);
	for (i = 0; i < UNIC_HOLDS; i++)
		f->host->held.hold[i] = (struct unic_hold){
			.mr = i < UNIC_HOLDS / SLOTS, .conn = 1, .owner = 0
		};
	assert_int_equal(grant(f, mr, &a), UNIC_ST_QUOTA);
	assert_int_equal(request(f, UNIC_CTL_GRANT, &r), UNIC_ST_QUOTA);
	/* those of another process do not count */
	f->host->held.hold[0].owner = 1;
	assert_int_equal(grant(f, mr, &a), 0);
	memset(f->host->held.hold, 0, sizeof(f->host->held.hold));
	fake_delete(f);
}

/* A peer whose connection is not up, or that nobody has accepted, is not heard; nor is a
 * grant handed to the queue pair of nobody. */
static void words_of_strangers(void **state)
{
	struct unic_grants_msg msg = { .type = UNIC_HOLDER_DELEGATE,
				       .kind = UNIC_CTL_HELD_STAG,
				       .number = 0xabcd00,
				       .ipv4 = PEER + 1 },
			       got;
	struct peer a, b;
	struct conn *c;
	uint32_t mr, owner;
	struct fake *f = exporter(&a, &b, &mr);

	(void)state;
	assert_int_equal(grant(f, mr, &a), 0);
	c = conn_with(f, a.ipv4);
	c->state = C_DREQ_SENT;
	says(f, &a, msg);
	assert_int_equal(f->host->held.refused, 1);
	c->state = C_ESTABLISHED;
	owner = c->obj.owner;
	c->obj.owner = UNIC_NOBODY;
	says(f, &a, msg);
	assert_int_equal(f->host->held.refused, 2);
	c->obj.owner = owner;
	c = conn_with(f, b.ipv4);
	msg.qpn = c->peer_qpn + 1;
	says(f, &a, msg);
	assert_true(told(f, &a, UNIC_HOLDER_DELEGATED, &got));
	assert_int_equal(got.status, UNIC_CTL_ST_NO_CONN);
	msg.qpn = c->peer_qpn;
	c->state = C_DREQ_SENT;
	says(f, &a, msg);
	assert_true(told(f, &a, UNIC_HOLDER_DELEGATED, &got));
	assert_int_equal(got.status, UNIC_CTL_ST_NO_CONN);
	c->state = C_REP_SENT;
	says(f, &a, msg);
	assert_true(told(f, &a, UNIC_HOLDER_DELEGATED, &got));
	assert_int_equal(got.status, UNIC_ST_OK);
	c->state = C_ESTABLISHED;
	fake_delete(f);
}

/* An end of a token whose index is not that of the object it names: nobody is told. */
static void end_of_another_index(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4), id, upcalls;
	struct unic_htoken *t;

	(void)state;
	ask_token(f, mr, 1001);
	settle(f);
	id = reply_u32(f, 24);
	t = unic_obj_get(&f->host->objects, id, UNIC_OBJ_TOKEN,
			 UNIC_OBJ_ANYONE);
	t->index = 7;
	upcalls = f->os.upcalls;
	token_ends(f, id);
	token_ends(f, id + 1);
	settle(f);
	assert_int_equal(f->os.upcalls, upcalls);
	assert_int_equal(f->host->objects.live, 3);
	t->index = 6;
	token_ends(f, id);
	settle(f);
	assert_int_equal(f->os.upcalls, upcalls + 1);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(end_of_another_index),
		cmocka_unit_test(answers_name_one_question),
		cmocka_unit_test(delegate_needs_a_peer),
		cmocka_unit_test(many_delegations),
		cmocka_unit_test(questions_end_with_their_connection),
		cmocka_unit_test(grants_that_say_too_much),
		cmocka_unit_test(places_of_a_process),
		cmocka_unit_test(words_of_strangers),
		cmocka_unit_test(end_of_a_token_whose_index_is_used_again),
		cmocka_unit_test(end_of_a_token_that_a_cancel_did_not_find),
		cmocka_unit_test(a_cancel_waits_for_the_end),
		cmocka_unit_test(
			a_cancel_waits_also_if_the_index_is_used_again),
		cmocka_unit_test(a_nic_that_does_not_wait),
		cmocka_unit_test(a_reset_ends_the_wait),
		cmocka_unit_test(who_leaves_does_not_wait),
		cmocka_unit_test(tokens_leave_no_object),
		cmocka_unit_test(holders_end_a_grace),
		cmocka_unit_test(owner_who_extends_keeps_his_grace),
		cmocka_unit_test(owner_who_extended_once),
		cmocka_unit_test(silent_holder_costs_the_grace),
		cmocka_unit_test(holder_whose_connection_ends),
		cmocka_unit_test(lost_nic_ends_no_grace),
		cmocka_unit_test(delegation_is_recorded),
		cmocka_unit_test(holder_is_told_and_answers),
		cmocka_unit_test(delegate_waits_for_the_exporter),
		cmocka_unit_test(holders_of_an_offer_are_asked),
		cmocka_unit_test(holder_whose_token_ends),
		cmocka_unit_test(delegate_over_a_connection_that_ends),
		cmocka_unit_test(connections_of_others_do_not_end),
		cmocka_unit_test(wrong_grants_are_refused),
		cmocka_unit_test(holder_is_told_of_an_end),
		cmocka_unit_test(no_time_is_left_when_the_region_has_ended),
		cmocka_unit_test(grace_without_an_end_is_told),
		cmocka_unit_test(silent_holder_is_told_for_a_second),
		cmocka_unit_test(word_of_an_end_gives_way),
		cmocka_unit_test(grant_of_the_past),
		cmocka_unit_test(stag_of_a_form),
		cmocka_unit_test(holders_of_a_form_are_asked),
		cmocka_unit_test(holder_of_a_form_alone),
		cmocka_unit_test(form_of_another_region),
		cmocka_unit_test(form_that_is_made_in_the_grace),
		cmocka_unit_test(form_of_an_offered_region),
		cmocka_unit_test(form_whose_first_notice_is_over),
		cmocka_unit_test(form_under_two_notices),
		cmocka_unit_test(form_whose_second_notice_is_sooner),
		cmocka_unit_test(graces_end_once),
		cmocka_unit_test(form_that_has_ended),
		cmocka_unit_test(nic_that_does_not_name_forms),
		cmocka_unit_test(forms_of_a_notice_that_is_over),
		cmocka_unit_test(forms_that_are_not_found),
		cmocka_unit_test(forms_that_no_list_has),
		cmocka_unit_test(form_that_is_evicted),
		cmocka_unit_test(grant_that_ends_unasked),
		cmocka_unit_test(questions_have_their_times),
		cmocka_unit_test(grant_while_the_nic_is_asked),
		cmocka_unit_test(grants_do_not_pile_up_questions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

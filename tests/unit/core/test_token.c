/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_token.c - payload tokens: every end and every refusal, each once. */
#include "memory/access.h"
#include "revoke/register.h"
#include "rig.h"
#include "unit.h"

#define IP  0x0a000002u
#define QPN 77u

static struct rig r;
static struct rig_mr mr;
static uint16_t pd;

static int setup(void **state)
{
	(void)state;
	rig_up(&r, 1);
	rig_attach(&r, 0, 1);
	rig_attach(&r, 1, 1);
	pd = (uint16_t)rig_pd(&r, 0);
	assert_int_equal(rig_reg(&r, 0, pd, 2, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	return 0;
}

static struct unic_token_args args_of(uint32_t length)
{
	return (struct unic_token_args){ .pd = pd,
					 .stag = mr.stag,
					 .iova = mr.iova,
					 .length = length,
					 .user = 5 };
}

static uint32_t alloc(uint32_t ttl_us, uint64_t *key)
{
	struct unic_token_args a = args_of(1000);
	int i;

	a.ttl_us = ttl_us;
	i = unic_token_alloc(&r.nic.memory, &a, key);
	assert_true(i >= 0);
	return (uint32_t)i;
}

static uint8_t claim_from(uint32_t i, uint64_t key, uint32_t len, uint32_t ip,
			  uint32_t qpn)
{
	struct unic_tag tag = { .key = key, .index = i, .payload = len };
	struct unic_qp_ctx *qp = &r.nic.qps.qp[3];

	qp->dest_ipv4 = ip;
	qp->dest_qpn = qpn;
	return unic_token_claim(&r.nic.memory, &tag, &qp->sender);
}

static uint8_t claim(uint32_t i, uint64_t key, uint32_t len)
{
	return claim_from(i, key, len, IP, QPN);
}

static uint32_t end_of(uint32_t i, uint64_t key)
{
	uint32_t end = 99, placed;

	assert_int_equal(unic_token_cancel(&r.nic.memory, 0, i, key, false,
					   &end, &placed),
			 0);
	return end;
}

static void expect_end(uint32_t i, uint32_t end, uint32_t placed)
{
	struct unic_evt_token evt;

	rig_expect(&r, UNIC_EVT_TOKEN_END, &evt);
	assert_int_equal(unic_from_le32(evt.index), i);
	assert_int_equal(unic_from_le32(evt.user), 5);
	assert_int_equal(unic_from_le32(evt.end), end);
	assert_int_equal(unic_from_le32(evt.placed), placed);
	assert_false(rig_event(&r, &evt));
}

/* A TOKEN_END that finds the event ring full is sent when there is room. */
static void end_is_told_when_there_is_room(void **state)
{
	struct unic_evt_obj evt = { .hdr.type = UNIC_EVT_PROC_GONE };
	uint64_t key;
	uint32_t i = alloc(0, &key);

	(void)state;
	assert_int_equal(claim(i, key, 10), UNIC_TOKEN_LIVE);
	rig_poll(&r);
	while (unic_mbox_event(&r.nic.base, &evt))
		evt.hdr.type = UNIC_EVT_PROC_GONE;
	unic_token_abort(&r.nic.memory, (uint16_t)i, 4);
	rig_run(&r, 1000);
	do
		rig_expect(&r, UNIC_EVT_PROC_GONE, &evt);
	while (r.nic.mbox.evt_tail != r.evt_head);
	rig_run(&r, 200000);
	expect_end(i, UNIC_TOKEN_ABORTED, 4);
}

/* When a region with all tokens ends, they end at once; their TOKEN_ENDs are
 * sent over several rounds, once each, and no index is used again before. */
static void all_end_at_once_and_are_told_in_rounds(void **state)
{
	uint32_t i, told = 0, most = 0, rounds = 0, n, seen = 0;
	uint64_t key[UNIC_TOKENS];
	struct unic_evt_token evt;

	(void)state;
	for (i = 0; i < UNIC_TOKENS; i++)
		assert_int_equal(alloc(0, &key[i]), i);
	assert_int_equal(claim(2, key[2], 10), UNIC_TOKEN_LIVE);
	rig_poll(&r);
	assert_int_equal(unic_mr_dereg(&r.nic.revoke, mr.mr, mr.gen),
			 -UNIC_EPENDING);
	assert_int_equal(r.nic.tokens.used, 1); /* the message goes on */
	assert_int_equal(r.nic.tokens.held[0], 1);
	assert_int_equal(r.nic.mrs.mr[mr.mr].n_tokens, 1);
	assert_int_equal(r.nic.mrs.mr[mr.mr].tokens, 2);
	for (i = 0; i < UNIC_TOKENS; i++)
		assert_int_equal(claim(i, key[i], 10),
				 i == 2 ? UNIC_TOKEN_BUSY : UNIC_TOKEN_EVICTED);
	unic_token_finish(&r.nic.memory, 2, 10);
	assert_int_equal(r.nic.tokens.used, 0);
	while (told < UNIC_TOKENS - 1) {
		assert_true(rounds++ < 100);
		for (n = 0; rig_event(&r, &evt);) {
			if (evt.hdr.type != UNIC_EVT_TOKEN_END)
				continue;
			i = unic_from_le32(evt.index);
			assert_int_equal(unic_from_le32(evt.end),
					 UNIC_TOKEN_EVICTED);
			assert_false(seen >> i & 1);
			seen |= 1u << i;
			n++;
		}
		told += n;
		most = n > most ? n : most;
		unic_nic_poll(&r.nic);
	}
	assert_true(most <= UNIC_TOKENS / 4);
	assert_int_equal(rig_count(&r, tokens_evicted), UNIC_TOKENS - 1);
	assert_int_equal(r.nic.tokens.evts_due, 0);
	rig_poll(&r);
	assert_false(rig_event(&r, &evt));
	assert_int_equal(rig_reg(&r, 0, pd, 2, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	for (i = 0; i < UNIC_TOKENS; i++)
		alloc(0, &key[i]);
}

/* An index behind the table is refused, whatever the memory there holds. */
static void index_behind_the_table(void **state)
{
	struct unic_tokens *ts = &r.nic.tokens;
	const size_t size = sizeof(ts->token[0]);
	uint8_t *behind = (uint8_t *)ts + offsetof(struct unic_tokens, token) +
			  UNIC_TOKENS * size;
	uint8_t saved[sizeof(ts->token[0])];
	uint64_t key;
	uint32_t i;
	uint8_t end;

	(void)state;
	i = alloc(0, &key);
	memcpy(saved, behind, size);
	memcpy(behind, &ts->token[i], size);
	end = claim(UNIC_TOKENS, key, 10);
	memcpy(behind, saved, size);
	assert_int_equal(end, UNIC_TOKEN_BAD_KEY);
	assert_int_equal(claim(i, key, 10), UNIC_TOKEN_LIVE);
}

static void each_wrong_argument(void **state)
{
	struct unic_token_args good = args_of(1000), a;
	uint64_t key;

	(void)state;
#define BAD(field, value, err)                                              \
	do {                                                                \
		a = good;                                                   \
		a.field = (value);                                          \
		assert_int_equal(unic_token_alloc(&r.nic.memory, &a, &key), \
				 -(err));                                   \
	} while (0)
	BAD(pd, UNIC_PDS, UNIC_ENOPD);
	BAD(pd, pd + 1, UNIC_ENOPD);
	BAD(stag, mr.stag ^ 1, UNIC_ESTAG);
	BAD(length, 0, UNIC_EINVAL);
	BAD(length, UNIC_MSG_MAX + 1, UNIC_EINVAL);
	BAD(length, 2 * 4096 + 1, UNIC_EBOUNDS);
	BAD(iova, mr.iova - 1, UNIC_EBOUNDS);
	BAD(sender_qpn, 1, UNIC_EINVAL);
	BAD(sender_qpn, 0x1000000, UNIC_EINVAL);
	r.nic.random.seeded = false;
	BAD(length, 1000, UNIC_EENTROPY);
#undef BAD
	assert_int_equal(r.nic.tokens.used, 0);
}

static void used_once(void **state)
{
	struct unic_evt_token evt;
	uint64_t key;
	uint32_t i = alloc(0, &key), end, placed;

	(void)state;
	assert_int_equal(claim(i, key, 1000), UNIC_TOKEN_LIVE);
	assert_int_equal(claim(i, key, 1000), UNIC_TOKEN_BUSY);
	assert_int_equal(unic_token_cancel(&r.nic.memory, 0, i, key, false,
					   &end, &placed),
			 -UNIC_EBUSY);
	assert_false(unic_mr_idle(&r.nic.mrs.mr[mr.mr]));
	unic_token_finish(&r.nic.memory, (uint16_t)i, 1000);
	assert_true(unic_mr_idle(&r.nic.mrs.mr[mr.mr]));
	assert_int_equal(claim(i, key, 1000), UNIC_TOKEN_USED);
	assert_int_equal(unic_token_cancel(&r.nic.memory, 0, i, key, false,
					   &end, &placed),
			 0);
	assert_int_equal(end, UNIC_TOKEN_USED);
	assert_int_equal(placed, 1000);
	assert_false(rig_event(&r, &evt));
	assert_int_equal(r.nic.tokens.used, 0);
	assert_int_equal(rig_count(&r, tokens_used), 1);
}

static void each_refusal_changes_nothing(void **state)
{
	struct unic_token_args a = args_of(1000);
	struct unic_token before;
	uint64_t key;
	uint32_t i, bit;

	(void)state;
	a.sender_ipv4 = IP;
	a.sender_qpn = QPN;
	i = (uint32_t)unic_token_alloc(&r.nic.memory, &a, &key);
	before = r.nic.tokens.token[i];
	for (bit = 0; bit < 64; bit++)
		assert_int_equal(claim(i, key ^ 1ull << bit, 1),
				 UNIC_TOKEN_BAD_KEY);
	assert_int_equal(claim(UNIC_TOKENS, key, 1), UNIC_TOKEN_BAD_KEY);
	assert_int_equal(claim(UINT32_MAX, key, 1), UNIC_TOKEN_BAD_KEY);
	assert_int_equal(claim((i + 1) % UNIC_TOKENS, key, 1),
			 UNIC_TOKEN_BAD_KEY);
	/* an index that never had a token: its key is 0 */
	assert_int_equal(claim((i + 1) % UNIC_TOKENS, 0, 1),
			 UNIC_TOKEN_BAD_KEY);
	assert_int_equal(claim(i, key, 1001), UNIC_TOKEN_TOO_LONG);
	assert_int_equal(claim(i, key, UINT32_MAX), UNIC_TOKEN_TOO_LONG);
	assert_int_equal(claim_from(i, key, 1, IP + 1, QPN),
			 UNIC_TOKEN_WRONG_SENDER);
	assert_int_equal(claim_from(i, key, 1, IP, QPN + 1),
			 UNIC_TOKEN_WRONG_SENDER);
	/* a queue pair of another protection domain has no such token */
	r.nic.qps.qp[3].pd++;
	assert_int_equal(claim(i, key, 1), UNIC_TOKEN_BAD_KEY);
	r.nic.qps.qp[3].pd--;
	assert_memory_equal(&before, &r.nic.tokens.token[i], sizeof(before));
	assert_int_equal(rig_count(&r, token_bad_key), 69);
	assert_int_equal(rig_count(&r, token_too_long), 2);
	assert_int_equal(rig_count(&r, token_wrong_sender), 2);
	assert_int_equal(claim(i, key, 0), UNIC_TOKEN_LIVE);
	assert_int_equal(claim(i, key, 1), UNIC_TOKEN_BUSY);
	assert_int_equal(rig_count(&r, token_busy), 1);
}

static int want_back(uint32_t i, uint64_t key)
{
	uint32_t end = 99, placed = 99;
	int err = unic_token_cancel(&r.nic.memory, 0, i, key, true, &end,
				    &placed);

	if (!err)
		assert_int_equal(end, UNIC_TOKEN_CANCELLED);
	return err;
}

/* A process that cannot have its token back yet is told its end, once, also if
 * that is the use that else the completion tells alone. */
static void who_waits_is_told_each_end(void **state)
{
	uint64_t key;
	uint32_t i, n;

	(void)state;
	for (n = 0; n < 3; n++) {
		i = alloc(1000, &key);
		assert_int_equal(claim(i, key, 1000), UNIC_TOKEN_LIVE);
		assert_int_equal(want_back(i, key), -UNIC_EPENDING);
		assert_int_equal(want_back(i, key), -UNIC_EPENDING);
		assert_int_equal(claim(i, key, 1000), UNIC_TOKEN_BUSY);
		if (n == 0) {
			unic_token_finish(&r.nic.memory, (uint16_t)i, 1000);
			expect_end(i, UNIC_TOKEN_USED, 1000);
			assert_int_equal(end_of(i, key), UNIC_TOKEN_USED);
		} else if (n == 1) {
			unic_token_abort(&r.nic.memory, (uint16_t)i, 7);
			expect_end(i, UNIC_TOKEN_ABORTED, 7);
		} else { /* the first packet is to come again */
			unic_token_unclaim(&r.nic.memory, (uint16_t)i);
			expect_end(i, UNIC_TOKEN_CANCELLED, 0);
			assert_int_equal(claim(i, key, 1),
					 UNIC_TOKEN_CANCELLED);
		}
		assert_true(unic_mr_idle(&r.nic.mrs.mr[mr.mr]));
		assert_int_equal(r.nic.tokens.used, 0);
	}
	i = alloc(0, &key);
	assert_int_equal(want_back(i, key), 0); /* nothing to wait for */
	assert_int_equal(want_back(i, key + 1), -UNIC_ENOTOKEN);
	assert_int_equal(want_back(UNIC_TOKENS, key), -UNIC_ENOTOKEN);
}

/* T is from the first cancel on, whatever its time to live was. */
static void overdue_after_t(void **state)
{
	uint64_t t_ns = r.nic.notices.grace_us * 1000ull, key;
	struct unic_evt_token evt;
	uint32_t i = alloc(1000, &key);

	(void)state;
	assert_int_equal(claim(i, key, 1000), UNIC_TOKEN_LIVE);
	rig_run(&r, 2 * t_ns);
	assert_false(unic_token_overdue(&r.nic.tokens, i));
	assert_int_equal(want_back(i, key), -UNIC_EPENDING);
	rig_run(&r, t_ns - 1000000);
	assert_int_equal(want_back(i, key), -UNIC_EPENDING);
	assert_false(unic_token_overdue(&r.nic.tokens, i));
	rig_run(&r, 1000000);
	assert_true(unic_token_overdue(&r.nic.tokens, i));
	assert_false(rig_event(&r, &evt));
	unic_token_stop(&r.nic.memory, (uint16_t)i, 400);
	expect_end(i, UNIC_TOKEN_CANCELLED, 400);
	assert_int_equal(rig_count(&r, token_ended_cancelled), 1);
	assert_int_equal(rig_count(&r, tokens_expired), 0);
}

/* A token that ended as @end says. */
static uint32_t ended(uint8_t end, uint64_t *key)
{
	uint32_t i = alloc(end == UNIC_TOKEN_EXPIRED ? 1000 : 0, key);

	switch (end) {
	case UNIC_TOKEN_CANCELLED:
		end_of(i, *key);
		break;
	case UNIC_TOKEN_EXPIRED:
		rig_run(&r, 2000000);
		break;
	case UNIC_TOKEN_EVICTED:
		rig_dereg(&r, &mr);
		break;
	default:
		assert_int_equal(claim(i, *key, 1000), UNIC_TOKEN_LIVE);
		if (end == UNIC_TOKEN_USED)
			unic_token_finish(&r.nic.memory, (uint16_t)i, 1000);
		else
			unic_token_abort(&r.nic.memory, (uint16_t)i, 300);
	}
	return i;
}

/* A message to a token that has ended counts as how it ended, and as nothing
 * else: also if it is the message that finds it expired. */
static void each_end_has_its_counter(void **state)
{
	static const struct {
		uint8_t end;
		uint32_t counter;
	} ends[] = {
		{ UNIC_TOKEN_USED, UNIC_C_token_ended_used },
		{ UNIC_TOKEN_CANCELLED, UNIC_C_token_ended_cancelled },
		{ UNIC_TOKEN_EXPIRED, UNIC_C_token_ended_expired },
		{ UNIC_TOKEN_ABORTED, UNIC_C_token_ended_aborted },
		{ UNIC_TOKEN_EVICTED, UNIC_C_token_region },
	};
	static const uint32_t all[] = {
		UNIC_C_token_ended_used,    UNIC_C_token_ended_cancelled,
		UNIC_C_token_ended_expired, UNIC_C_token_ended_aborted,
		UNIC_C_token_region,	    UNIC_C_token_bad_key,
		UNIC_C_token_too_long,	    UNIC_C_token_wrong_sender,
		UNIC_C_token_busy,
	};
	uint64_t key, was[9];
	uint32_t i, n, k;

	(void)state;
	for (n = 0; n < 5; n++) {
		i = ended(ends[n].end, &key);
		for (k = 0; k < 9; k++)
			was[k] = r.nic.counter[all[k]];
		assert_int_equal(claim(i, key, 1), ends[n].end);
		for (k = 0; k < 9; k++)
			assert_int_equal(r.nic.counter[all[k]] - was[k],
					 all[k] == ends[n].counter);
	}
}

/* The end of a message in the buffer of a token is computed without overflow,
 * whatever sizes its first packet announces. */
static void end_behind_4_gib_is_too_long(void **state)
{
	static const uint32_t most[][2] = {
		/* sum in 32 bits */
		{ UINT32_MAX, 1 },	      /* 0 */
		{ 1, UINT32_MAX },	      /* 0 */
		{ 0x80000000u, 0x80000000u }, /* 0 */
		{ UINT32_MAX, 1001 },	      /* the end of the buffer */
		{ 1001, UINT32_MAX },
		{ UNIC_MSG_MAX, UNIC_MSG_MAX },
		{ UINT32_MAX, UINT32_MAX },
		{ UNIC_MSG_MAX, 1 },
		{ 1, UNIC_MSG_MAX },
		{ 0, UNIC_MSG_MAX + 1 },
	};
	struct unic_token_args a = args_of(1000);
	struct unic_tag tag = { 0 };
	struct unic_token *t;
	uint32_t round, n;

	(void)state;
	for (round = 0; round < 3; round++) {
		a.flags = round == 1 ? UNIC_TOKEN_F_MULTI : 0;
		tag.index =
			(uint32_t)unic_token_alloc(&r.nic.memory, &a, &tag.key);
		t = &r.nic.tokens.token[tag.index];
		if (round == 2) /* longer than the region */
			t->length = UNIC_MSG_MAX;
		for (n = 0; n < sizeof(most) / sizeof(*most); n++) {
			tag.payload = most[n][0];
			tag.offset = most[n][1];
			assert_int_equal(
				unic_token_claim(&r.nic.memory, &tag,
						 &r.nic.qps.qp[3].sender),
				UNIC_TOKEN_TOO_LONG);
		}
		tag.offset = t->length / 2;
		tag.payload = t->length - tag.offset;
		assert_int_equal(unic_token_claim(&r.nic.memory, &tag,
						  &r.nic.qps.qp[3].sender),
				 UNIC_TOKEN_LIVE);
	}
	assert_int_equal(rig_count(&r, token_too_long), 3 * n);
}

static void lives_to_the_nanosecond(void **state)
{
	uint64_t key, key2;
	uint32_t i, k;

	(void)state;
	rig_poll(&r);
	i = alloc(1000, &key);
	k = alloc(1000, &key2);
	rig_run(&r, 1000000 - 1);
	assert_int_equal(claim(k, key2, 1), UNIC_TOKEN_LIVE);
	rig_run(&r, 1);
	expect_end(i, UNIC_TOKEN_EXPIRED, 0);
	assert_int_equal(claim(i, key, 1), UNIC_TOKEN_EXPIRED);
	assert_int_equal(end_of(i, key), UNIC_TOKEN_EXPIRED);
	/* a claimed token does not expire */
	assert_int_equal(claim(k, key2, 1), UNIC_TOKEN_BUSY);
	unic_token_finish(&r.nic.memory, (uint16_t)k, 1);
	assert_int_equal(rig_count(&r, tokens_expired), 1);
}

/* A message that arrives after the expiry, before the NIC has handled it, finds
 * the token EXPIRED. */
static void late_claim_expires_it(void **state)
{
	uint64_t key;
	uint32_t i;

	(void)state;
	rig_poll(&r);
	i = alloc(1000, &key);
	r.nic.now_ns += 1000000;
	assert_int_equal(claim(i, key, 1), UNIC_TOKEN_EXPIRED);
	assert_int_equal(rig_count(&r, token_ended_expired), 1);
	expect_end(i, UNIC_TOKEN_EXPIRED, 0);
}

static void cancel_names_the_end(void **state)
{
	struct unic_evt_token evt;
	uint32_t i, end, placed;
	uint64_t key;

	(void)state;
	i = alloc(0, &key);
	assert_int_equal(unic_token_cancel(&r.nic.memory, 1, i, key, false,
					   &end, &placed),
			 -UNIC_ENOTOKEN);
	assert_int_equal(unic_token_cancel(&r.nic.memory, 0, i, key + 1, false,
					   &end, &placed),
			 -UNIC_ENOTOKEN);
	assert_int_equal(unic_token_cancel(&r.nic.memory, 0, UNIC_TOKENS, key,
					   false, &end, &placed),
			 -UNIC_ENOTOKEN);
	assert_int_equal(end_of(i, key), UNIC_TOKEN_CANCELLED);
	assert_int_equal(end_of(i, key), UNIC_TOKEN_CANCELLED);
	assert_int_equal(claim(i, key, 1), UNIC_TOKEN_CANCELLED);
	assert_int_equal(rig_count(&r, tokens_cancelled), 1);
	assert_false(rig_event(&r, &evt));
}

static void qp_that_dies_aborts(void **state)
{
	uint64_t key;
	uint32_t i;

	(void)state;
	i = alloc(0, &key);
	assert_int_equal(claim(i, key, 900), UNIC_TOKEN_LIVE);
	unic_token_abort(&r.nic.memory, (uint16_t)i, 300);
	expect_end(i, UNIC_TOKEN_ABORTED, 300);
	assert_int_equal(end_of(i, key), UNIC_TOKEN_ABORTED);
}

static void ends_with_its_region(void **state)
{
	uint64_t key, key2;
	uint32_t i, k;

	(void)state;
	i = alloc(0, &key);
	k = alloc(0, &key2);
	assert_int_equal(claim(k, key2, 10), UNIC_TOKEN_LIVE);
	assert_int_equal(rig_dereg(&r, &mr), UNIC_ST_PENDING);
	expect_end(i, UNIC_TOKEN_EVICTED, 0);
	assert_int_equal(claim(i, key, 1), UNIC_TOKEN_EVICTED);
	assert_int_equal(rig_count(&r, token_region), 1);
	/* a claimed token may be used while the region drains */
	unic_token_finish(&r.nic.memory, (uint16_t)k, 10);
	assert_int_equal(end_of(k, key2), UNIC_TOKEN_USED);
	{
		struct unic_evt_mr evt;

		rig_poll(&r);
		rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	}
}

/* A claim that is released while its region drains may be the last use of the
 * region: this ends the token and the region, well before the deadline. */
static void unclaimed_ends_with_its_region(void **state)
{
	struct unic_evt_token end;
	struct unic_evt_mr evt;
	uint64_t key;
	uint32_t i;

	(void)state;
	i = alloc(0, &key);
	assert_int_equal(claim(i, key, 10), UNIC_TOKEN_LIVE);
	unic_token_unclaim(&r.nic.memory, (uint16_t)i);
	assert_int_equal(claim(i, key, 10), UNIC_TOKEN_LIVE);
	assert_int_equal(rig_dereg(&r, &mr), UNIC_ST_PENDING);
	unic_token_unclaim(&r.nic.memory, (uint16_t)i);
	rig_poll(&r);
	rig_expect(&r, UNIC_EVT_TOKEN_END, &end);
	assert_int_equal(unic_from_le32(end.end), UNIC_TOKEN_EVICTED);
	rig_expect(&r, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(r.nic.tokens.used, 0);
}

static void notice_counts_dependents(void **state)
{
	struct unic_evt_mr evt;
	uint64_t key;
	uint32_t i;

	(void)state;
	alloc(0, &key);
	i = alloc(0, &key);
	alloc(0, &key);
	unic_token_cancel(&r.nic.memory, 0, i, r.nic.tokens.token[i].key, false,
			  &i, &i);
	assert_int_equal(unic_evict_admin(&r.nic.revoke, mr.mr, mr.gen), 0);
	rig_expect(&r, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(unic_from_le32(evt.dependents), 2);
}

/* With a full event ring the index is not used again before its TOKEN_END is
 * sent. */
static void end_is_told_even_if_late(void **state)
{
	uint64_t key;
	uint32_t i, n;
	uint8_t rec[64];
	struct unic_evt_token *evt = (struct unic_evt_token *)rec;
	bool told = false;

	(void)state;
	i = alloc(1000, &key);
	for (n = 0; n < UNIC_EVT_ENTRIES; n++) {
		struct unic_evt_obj fill = { .hdr.type = UNIC_EVT_DB_ERROR };

		if (!unic_mbox_event(&r.nic.base, &fill))
			break;
	}
	rig_run(&r, 1000000);
	assert_int_equal(r.nic.tokens.evts_due, 1);
	assert_int_equal(end_of(i, key), UNIC_TOKEN_EXPIRED);
	while (rig_event(&r, rec))
		assert_int_equal(rec[0], UNIC_EVT_DB_ERROR);
	rig_run(&r, 1000000);
	while (rig_event(&r, rec))
		told |= rec[0] == UNIC_EVT_TOKEN_END &&
			unic_from_le32(evt->index) == i;
	assert_true(told);
	assert_int_equal(r.nic.tokens.evts_due, 0);
}

static void full_table_is_shared_fairly(void **state)
{
	struct unic_token_args a = args_of(10);
	uint16_t pd1 = (uint16_t)rig_pd(&r, 1);
	struct rig_mr mr1;
	uint64_t key;
	uint32_t i, n1 = 0;

	(void)state;
	assert_int_equal(rig_reg(&r, 1, pd1, 1, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr1),
			 0);
	for (i = 0; i < UNIC_TOKENS; i++)
		alloc(0, &key);
	assert_int_equal(unic_token_alloc(&r.nic.memory, &a, &key),
			 -UNIC_ETOKENFULL);
	a.pd = pd1;
	a.stag = mr1.stag;
	a.iova = mr1.iova;
	while (unic_token_alloc(&r.nic.memory, &a, &key) >= 0)
		n1++;
	assert_int_equal(n1, UNIC_TOKENS / 2);
	assert_int_equal(r.nic.tokens.held[0], UNIC_TOKENS / 2);
	assert_int_equal(rig_count(&r, tokens_evicted), UNIC_TOKENS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_wrong_argument, setup),
		cmocka_unit_test_setup(end_is_told_when_there_is_room, setup),
		cmocka_unit_test_setup(all_end_at_once_and_are_told_in_rounds,
				       setup),
		cmocka_unit_test_setup(index_behind_the_table, setup),
		cmocka_unit_test_setup(used_once, setup),
		cmocka_unit_test_setup(who_waits_is_told_each_end, setup),
		cmocka_unit_test_setup(overdue_after_t, setup),
		cmocka_unit_test_setup(each_refusal_changes_nothing, setup),
		cmocka_unit_test_setup(each_end_has_its_counter, setup),
		cmocka_unit_test_setup(end_behind_4_gib_is_too_long, setup),
		cmocka_unit_test_setup(lives_to_the_nanosecond, setup),
		cmocka_unit_test_setup(late_claim_expires_it, setup),
		cmocka_unit_test_setup(cancel_names_the_end, setup),
		cmocka_unit_test_setup(qp_that_dies_aborts, setup),
		cmocka_unit_test_setup(ends_with_its_region, setup),
		cmocka_unit_test_setup(unclaimed_ends_with_its_region, setup),
		cmocka_unit_test_setup(notice_counts_dependents, setup),
		cmocka_unit_test_setup(end_is_told_even_if_late, setup),
		cmocka_unit_test_setup(full_table_is_shared_fairly, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_multi.c - tokens for many messages: each payload goes to the offset that
 * its message gives, as long as the token lives.
 */
#include "unit.h"

#include "pair.h"

#define MS    1000000ull
#define PAGES 3u
#define LEN   3000u

static uint32_t tok;
static uint64_t key;

static uint64_t token(uint32_t flags, uint32_t sender_ipv4, uint32_t *index)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(qb.pd),
		.stag = unic_to_le32(mb.stag),
		.iova = unic_to_le64(mb.iova + 4096),
		.length = unic_to_le32(LEN),
		.sender_ipv4 = unic_to_le32(sender_ipv4),
		.flags = unic_to_le32(flags),
	};
	struct unic_cpl_token cpl;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, &cpl), 0);
	*index = unic_from_le32(cpl.index);
	return unic_from_le64(cpl.key);
}

static int up(void **state)
{
	(void)state;
	pair_make(false, PAGES);
	key = token(UNIC_TOKEN_F_MULTI, 0, &tok);
	return 0;
}

static void send_to(uint32_t offset, uint32_t from, uint32_t len)
{
	struct unic_sq_slot *s = &qa.sq[qa.sq_tail % RIG_SLOTS];

	rig_recv(&rb, &qb, 7, &mb, 0, 64);
	rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ma, from, len, key, tok);
	s->imm = unic_to_le32(offset);
}

/* Returns the bytes placed, or the reason of a refusal | 0x80000000. */
static uint32_t outcome(void)
{
	struct unic_cqe cqe;

	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, 0);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.status, 0);
	assert_int_equal(cqe.opcode, UNIC_WC_RECV_TOKEN);
	return cqe.detail ? cqe.detail | 1u << 31 : unic_from_le32(cqe.imm);
}

static uint32_t move(uint32_t offset, uint32_t from, uint32_t len)
{
	send_to(offset, from, len);
	rig_run2(&ra, &rb, MS);
	return outcome();
}

#define REFUSED(why) (1u << 31 | UNIC_TOKEN_##why)

static uint8_t cancel(uint32_t *end)
{
	struct unic_cmd_token_cancel cmd = { .index = unic_to_le32(tok),
					     .key = unic_to_le64(key) };
	struct unic_cpl_token cpl;
	uint8_t status = rig_cmd(&rb, UNIC_CMD_TOKEN_CANCEL, &cmd, &cpl);

	*end = unic_from_le32(cpl.end);
	return status;
}

static void each_lands_at_its_offset(void **state)
{
	static const struct {
		uint32_t offset, len;
	} m[] = { { 0, 10 },   { 10, 90 },  { 100, 1900 }, { 2000, 1000 },
		  { 2999, 1 }, { 0, LEN },  { 5, 2995 },   { 1024, 1024 },
		  { LEN, 0 },  { 1, 1025 }, { 0, 0 } };
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(m) / sizeof(m[0]); i++) {
		memset(mb.mem, 0xee, PAGES * 4096);
		assert_int_equal(move(m[i].offset, i, m[i].len), m[i].len);
		assert_memory_equal(mb.mem + 4096 + m[i].offset, ma.mem + i,
				    m[i].len);
		assert_int_equal(mb.mem[4095 + m[i].offset], 0xee);
		assert_int_equal(mb.mem[4096 + m[i].offset + m[i].len], 0xee);
	}
	assert_int_equal(rb.nic.mrs.mr[mb.mr].holds, 0);
	assert_int_equal(rig_count(&rb, tokens_used), 0);
}

static void outside_of_the_buffer_is_refused(void **state)
{
	static const struct {
		uint32_t offset, len;
	} m[] = { { 0, LEN + 1 },
		  { LEN, 1 },
		  { 2999, 2 },
		  { UNIC_MSG_MAX, 10 },
		  { 1, LEN } };
	uint32_t i;

	(void)state;
	memset(mb.mem, 0xee, PAGES * 4096);
	for (i = 0; i < sizeof(m) / sizeof(m[0]); i++)
		assert_int_equal(move(m[i].offset, 0, m[i].len),
				 REFUSED(TOO_LONG));
	for (i = 0; i < PAGES * 4096; i++)
		assert_int_equal(mb.mem[i], 0xee);
	assert_int_equal(rb.nic.mrs.mr[mb.mr].holds, 0);
	assert_int_equal(move(0, 0, LEN), LEN); /* the token is unchanged */
}

static void lives_until_it_is_ended(void **state)
{
	uint32_t end, i;

	(void)state;
	for (i = 0; i < 20; i++)
		assert_int_equal(move(i, 0, 100), 100);
	assert_int_equal(cancel(&end), 0);
	assert_int_equal(end, UNIC_TOKEN_CANCELLED);
	assert_int_equal(move(0, 0, 100), REFUSED(CANCELLED));
	assert_int_equal(cancel(&end), 0); /* the token ends once */
	assert_int_equal(end, UNIC_TOKEN_CANCELLED);
	assert_int_equal(rig_count(&rb, tokens_cancelled), 1);
}

static void single_use_with_an_offset(void **state)
{
	(void)state;
	key = token(0, 0, &tok);
	assert_int_equal(move(LEN, 0, 1), REFUSED(TOO_LONG));
	assert_int_equal(move(1000, 3, 500), 500);
	assert_memory_equal(mb.mem + 4096 + 1000, ma.mem + 3, 500);
	assert_int_equal(move(0, 0, 1), REFUSED(USED));
}

/* A token that is bound to a sender refuses messages of others. */
static void named_sender_and_no_other(void **state)
{
	(void)state;
	key = token(UNIC_TOKEN_F_MULTI, 0x0a000063, &tok);
	assert_int_equal(move(0, 0, 100), REFUSED(WRONG_SENDER));
	key = token(UNIC_TOKEN_F_MULTI, 0x0a000001, &tok);
	assert_int_equal(move(0, 0, 100), 100);
	assert_int_equal(move(0, 0, 100), 100);
}

/* INV-4: at T the queue pair that receives a message fails, the token ends
 * EVICTED, and no byte is placed later. */
static void eviction_in_the_middle_of_a_message(void **state)
{
	struct unic_cmd_mr evict = { .mr = unic_to_le32(mb.mr),
				     .gen = unic_to_le32(mb.gen) };
	struct unic_evt_mr notice;
	struct unic_evt_token evt;
	uint8_t rec[64];
	uint32_t ends = 0, gone = 0;

	(void)state;
	rig_recv(&rb, &qb, 7, &mb, 0, 64);
	assert_int_equal(move(0, 0, 100), 100); /* two receives are fetched */
	rb.port.late_dma = true;
	rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &ma, 0, 100, key, tok);
	rig_run2(&ra, &rb, MS / 10);
	assert_int_equal(rb.nic.mrs.mr[mb.mr].holds, 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &evict, NULL), 0);
	rig_expect(&rb, UNIC_EVT_NOTICE, &notice);
	assert_int_equal(unic_from_le32(notice.dependents), 1);
	assert_int_equal(rig_ack(&rb, &notice), 0);
	rig_run(&rb, 25 * MS);
	fake_dma_run(&rb.port, 64);
	rb.port.late_dma = false;
	memset(mb.mem + 4096, 0xee, 4096);
	rig_run2(&ra, &rb, 5 * MS);
	assert_int_equal(mb.mem[4096], 0xee);
	while (rig_event(&rb, rec)) {
		memcpy(&evt, rec, sizeof(evt));
		gone += evt.hdr.type == UNIC_EVT_EVICTED;
		ends += evt.hdr.type == UNIC_EVT_TOKEN_END &&
			unic_from_le32(evt.end) == UNIC_TOKEN_EVICTED;
	}
	assert_int_equal(ends, 1);
	assert_int_equal(gone, 1);
	assert_int_equal(rb.nic.mrs.mr[mb.mr].holds, 0);
}

static void unknown_flags_are_refused(void **state)
{
	struct unic_cmd_token_alloc cmd = {
		.pd = unic_to_le32(qb.pd),
		.stag = unic_to_le32(mb.stag),
		.iova = unic_to_le64(mb.iova),
		.length = unic_to_le32(1),
		.flags = unic_to_le32(2),
	};

	(void)state;
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, NULL),
			 UNIC_ST_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_lands_at_its_offset, up),
		cmocka_unit_test_setup(outside_of_the_buffer_is_refused, up),
		cmocka_unit_test_setup(lives_until_it_is_ended, up),
		cmocka_unit_test_setup(single_use_with_an_offset, up),
		cmocka_unit_test_setup(named_sender_and_no_other, up),
		cmocka_unit_test_setup(eviction_in_the_middle_of_a_message, up),
		cmocka_unit_test_setup(unknown_flags_are_refused, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_batch.c - several commands in one: tokens, and regions with their
 * pages. */
#include "rig.h"
#include "unit.h"
#include "memory/access.h"

#define PAGE 4096u

static struct rig r;
static struct rig_mr mr;
static uint32_t pd, first_page;

static int setup(void **state)
{
	(void)state;
	rig_up(&r, 1);
	rig_attach(&r, 0, 1);
	rig_attach(&r, 1, 1);
	pd = rig_pd(&r, 0);
	assert_int_equal(rig_reg(&r, 0, pd, 2, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &mr),
			 0);
	first_page = r.next_page[0];
	return 0;
}

/* The list page of the next command. */
static uint8_t *list(void)
{
	return r.port.bar + UNIC_BAR_LIST_OFF +
	       r.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
}

static void put(uint32_t i, const void *rec)
{
	memcpy(list() + 64 * i, rec, 64);
}

/* Runs the @n records and copies their answers to @out. Returns how many
 * succeeded. */
static uint32_t batch(uint8_t opcode, uint32_t n, uint8_t out[][64])
{
	struct unic_cmd_batch c = { .count = unic_to_le32(n) };
	const uint8_t *page = list();
	struct unic_cpl_batch cpl;

	assert_int_equal(rig_cmd(&r, opcode, &c, &cpl), 0);
	memcpy(out, page, 64 * n);
	return unic_from_le32(cpl.done);
}

static struct unic_cmd_token_alloc alloc_of(uint32_t i)
{
	return (struct unic_cmd_token_alloc){
		.hdr = { .opcode = UNIC_CMD_TOKEN_ALLOC,
			 .cookie = unic_to_le16((uint16_t)(100 + i)) },
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(mr.stag),
		.iova = unic_to_le64(mr.iova + 64 * i),
		.length = unic_to_le32(64),
		.user = unic_to_le32(7 + i),
	};
}

static struct unic_cmd_token_cancel cancel_of(const uint8_t *allocated)
{
	struct unic_cpl_token cpl;

	memcpy(&cpl, allocated, sizeof(cpl));
	return (struct unic_cmd_token_cancel){
		.hdr = { .opcode = UNIC_CMD_TOKEN_CANCEL },
		.index = cpl.index,
		.key = cpl.key,
	};
}

static void tokens_by_the_dozen(void **state)
{
	uint8_t got[12][64], ended[12][64];
	struct unic_cmd_token_cancel c;
	struct unic_cpl_token cpl;
	uint64_t keys = 0;
	uint32_t i;

	(void)state;
	for (i = 0; i < 12; i++) {
		struct unic_cmd_token_alloc a = alloc_of(i);

		put(i, &a);
	}
	assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, 12, got), 12);
	assert_int_equal(r.nic.tokens.used, 12);
	for (i = 0; i < 12; i++) {
		const struct unic_token *t;

		memcpy(&cpl, got[i], sizeof(cpl));
		assert_int_equal(cpl.hdr.status, UNIC_ST_OK);
		assert_int_equal(unic_from_le16(cpl.hdr.cookie), 100 + i);
		t = &r.nic.tokens.token[unic_from_le32(cpl.index)];
		assert_true(t->key == unic_from_le64(cpl.key));
		assert_true(t->key != keys);
		assert_int_equal(t->user, 7 + i);
		assert_int_equal(t->iova, mr.iova + 64 * i);
		keys = t->key;
	}
	for (i = 0; i < 12; i++) {
		c = cancel_of(got[i]);
		put(i, &c);
	}
	assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, 12, ended), 12);
	for (i = 0; i < 12; i++) {
		memcpy(&cpl, ended[i], sizeof(cpl));
		assert_int_equal(unic_from_le32(cpl.end), UNIC_TOKEN_CANCELLED);
	}
	assert_int_equal(r.nic.tokens.used, 0);
	assert_int_equal(rig_count(&r, tokens_cancelled), 12);
	assert_int_equal(r.nic.mrs.mr[mr.mr].n_tokens, 0);
}

#define TTL_US 500u
/* More tokens than a round ends, if the board has them. */
#define MANY (UNIC_TOKENS < 150u ? UNIC_TOKENS : 150u)

/* Allocates MANY tokens in batches; all of them expire at the same time. */
static void take_many(void)
{
	static uint8_t got[UNIC_BATCH_MAX][64];
	uint32_t i, n, done;

	for (done = 0; done < MANY; done += n) {
		n = MANY - done < UNIC_BATCH_MAX ? MANY - done : UNIC_BATCH_MAX;
		for (i = 0; i < n; i++) {
			struct unic_cmd_token_alloc a = alloc_of(i);

			a.user = unic_to_le32(done + i);
			a.ttl_us = unic_to_le32(TTL_US);
			put(i, &a);
		}
		assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, n, got), n);
	}
	assert_int_equal(r.nic.tokens.used, MANY);
}

/* Each TOKEN_END that the driver can read must be one that it has not read
 * before. */
static uint32_t read_ends(bool told[MANY])
{
	struct unic_evt_token evt;
	uint32_t n = 0, user;

	for (; rig_event(&r, &evt); n++) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_TOKEN_END);
		assert_int_equal(unic_from_le32(evt.end), UNIC_TOKEN_EXPIRED);
		user = unic_from_le32(evt.user);
		assert_true(user < MANY);
		assert_false(told[user]);
		told[user] = true;
	}
	return n;
}

/* No token ends before its time; then the clock passes the times of all. */
static void expire_together(void)
{
	r.port.now_ns = r.nic.tokens.next_expiry_ns - 1;
	unic_nic_poll(&r.nic);
	assert_int_equal(r.nic.tokens.used, MANY);
	r.port.now_ns += TTL_US * 1000u; /* the time of the last one, too */
}

/* @reads: the driver reads its events after each round, else after each
 * 100th. */
static void all_expire(bool reads)
{
	bool told[MANY] = { false };
	uint32_t n = 0, rounds, was;

	take_many();
	expire_together();
	for (rounds = 0; rounds < 400 && n < MANY; rounds++) {
		was = r.nic.tokens.used;
		unic_nic_poll(&r.nic);
		assert_true(was - r.nic.tokens.used <= UNIC_BATCH_MAX);
		if (reads || rounds % 100 == 99)
			n += read_ends(told);
		r.port.now_ns += 10000;
	}
	assert_int_equal(n, MANY);
	assert_int_equal(r.nic.tokens.used, 0);
	assert_int_equal(r.nic.tokens.evts_due, 0);
	assert_int_equal(r.nic.mrs.mr[mr.mr].n_tokens, 0);
	assert_int_equal(rig_count(&r, tokens_expired), MANY);
	rig_run(&r, 1000000);
	assert_int_equal(read_ends(told), 0);
	take_many();
}

static void many_expire_at_once(void **state)
{
	(void)state;
	all_expire(true);
}

static void many_expire_and_nobody_reads(void **state)
{
	(void)state;
	all_expire(false);
}

/* A wrong command of a batch gets its own status and does not affect the
 * others. */
static void each_is_answered_by_itself(void **state)
{
	struct unic_cmd_token_alloc a = alloc_of(0);
	struct unic_cmd_token_cancel c;
	uint8_t got[5][64], again[2][64];
	struct unic_cmd_hdr hdr;
	struct unic_cmd_mr_reg reg = { .hdr.opcode = UNIC_CMD_MR_REG };

	(void)state;
	put(0, &a);
	a.stag = unic_to_le32(mr.stag ^ 1);
	put(1, &a);
	a = alloc_of(2);
	a.rsvd[2] = unic_to_le32(1);
	put(2, &a);
	put(3, &reg);
	a = alloc_of(4);
	a.hdr.status = 1;
	put(4, &a);
	assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, 5, got), 1);
	assert_int_equal(got[0][1], UNIC_ST_OK);
	assert_int_equal(got[1][1], UNIC_ST_NO_MR);
	assert_int_equal(got[2][1], UNIC_ST_INVALID);
	assert_int_equal(got[3][1], UNIC_ST_BAD_OPCODE);
	assert_int_equal(got[4][1], UNIC_ST_INVALID);
	memcpy(&hdr, got[3], sizeof(hdr));
	assert_int_equal(hdr.opcode, UNIC_CMD_MR_REG);
	/* a cancel, and one with a wrong key: each gets its own status */
	c = cancel_of(got[0]);
	put(0, &c);
	c.key = unic_to_le64(unic_from_le64(c.key) ^ 1);
	put(1, &c);
	assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, 2, again), 1);
	assert_int_equal(again[0][1], UNIC_ST_OK);
	assert_int_equal(again[1][1], UNIC_ST_NO_TOKEN);
	/* MR_BATCH refuses TOKEN_ALLOC */
	a = alloc_of(0);
	put(0, &a);
	assert_int_equal(batch(UNIC_CMD_MR_BATCH, 1, got), 0);
	assert_int_equal(got[0][1], UNIC_ST_BAD_OPCODE);
}

/* Cancels the tokens of @of, @n of them, in one batch: each record is answered
 * OK and CANCELLED. */
static void cancel_all(const uint8_t *const of[], uint32_t n)
{
	struct unic_cmd_token_cancel c;
	struct unic_cpl_token cpl;
	uint8_t ended[3][64];
	uint32_t i;

	for (i = 0; i < n; i++) {
		c = cancel_of(of[i]);
		put(i, &c);
	}
	assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, n, ended), n);
	for (i = 0; i < n; i++) {
		memcpy(&cpl, ended[i], sizeof(cpl));
		assert_int_equal(cpl.hdr.status, UNIC_ST_OK);
		assert_int_equal(unic_from_le32(cpl.end), UNIC_TOKEN_CANCELLED);
	}
}

/* Two records of a batch cancel the same token: the second one is answered as
 * the first one is, with how the token ended, and does not end it again. */
static void same_cancel_twice(void **state)
{
	struct unic_cmd_token_alloc a;
	uint8_t got[2][64];
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		a = alloc_of(i);
		put(i, &a);
	}
	assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, 2, got), 2);
	cancel_all((const uint8_t *const[]){ got[0], got[0] }, 2);
	assert_int_equal(r.nic.tokens.used, 1);
	assert_int_equal(rig_count(&r, tokens_cancelled), 1);
	assert_int_equal(r.nic.mrs.mr[mr.mr].n_tokens, 1);
	cancel_all((const uint8_t *const[]){ got[0], got[1], got[1] }, 3);
	assert_int_equal(r.nic.tokens.used, 0);
	assert_int_equal(rig_count(&r, tokens_cancelled), 2);
	assert_int_equal(r.nic.mrs.mr[mr.mr].n_tokens, 0);
}

static void wrong_counts(void **state)
{
	static const uint32_t wrong[] = {
		0, UNIC_BATCH_MAX + 1, UINT32_MAX,
		1u << 26, /* times 64 bytes: 0 in 32 bits */
	};
	struct unic_cmd_batch c;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		c = (struct unic_cmd_batch){ .count = unic_to_le32(wrong[i]) };
		assert_int_equal(rig_cmd(&r, UNIC_CMD_TOKEN_BATCH, &c, NULL),
				 UNIC_ST_INVALID);
		assert_int_equal(rig_cmd(&r, UNIC_CMD_MR_BATCH, &c, NULL),
				 UNIC_ST_INVALID);
	}
}

/* A batch of TOKEN_ALLOCs that fills the page: those for which the NIC has no
 * token get TOKEN_FULL. */
static void more_than_there_are(void **state)
{
	static uint8_t got[UNIC_BATCH_MAX][64];
	uint32_t i, n = UNIC_BATCH_MAX, room, last;

	(void)state;
	room = n < UNIC_TOKENS ? n : UNIC_TOKENS;
	for (i = 0; i < n; i++) {
		struct unic_cmd_token_alloc a = alloc_of(i);

		put(i, &a);
	}
	assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, n, got), room);
	last = room < n ? UNIC_ST_TOKEN_FULL : UNIC_ST_OK;
	assert_int_equal(got[n - 1][1], last);
}

/* TOKEN_ALLOC fails while the NIC has no entropy, alone and in a batch (S3). */
static void none_before_seeding(void **state)
{
	struct unic_cmd_entropy e = { .bytes = { 1, 2, 3 } };
	struct unic_cmd_token_alloc a = alloc_of(0);
	uint8_t got[1][64];

	(void)state;
	r.nic.random.seeded = false;
	assert_int_equal(rig_cmd(&r, UNIC_CMD_TOKEN_ALLOC, &a, NULL),
			 UNIC_ST_NO_ENTROPY);
	a = alloc_of(0);
	put(0, &a);
	assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, 1, got), 0);
	assert_int_equal(got[0][1], UNIC_ST_NO_ENTROPY);
	assert_int_equal(r.nic.tokens.used, 0);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_ENTROPY, &e, NULL), 0);
	put(0, &a);
	assert_int_equal(batch(UNIC_CMD_TOKEN_BATCH, 1, got), 1);
}

/* ----------------------------------------------------------------- regions */

static struct unic_cmd_mr_reg reg_of(uint32_t i, uint32_t pages, uint8_t flags)
{
	return (struct unic_cmd_mr_reg){
		.hdr = { .opcode = UNIC_CMD_MR_REG },
		.pd = unic_to_le32(pd),
		.rights = UNIC_MR_RIGHTS_ALL,
		.page_shift = 12,
		.flags = flags,
		.iova = unic_to_le64(0x100000u * (i + 1)),
		.length = unic_to_le64((uint64_t)pages * PAGE),
		.n_pages = unic_to_le32(pages),
		.user = unic_to_le32(i),
	};
}

/* The page addresses follow the records, region by region. */
static void with_their_pages(void **state)
{
	static const uint32_t pages[] = { 2, 0, 3, 1 };
	struct unic_cmd_mr_reg reg;
	struct unic_cpl_mr_reg cpl;
	uint8_t got[4][64];
	uint32_t i, k, at = 4 * 64, page = 0;

	(void)state;
	for (i = 0; i < 4; i++) {
		/* the second region has no list and uses no address */
		reg = reg_of(i, pages[i] ? pages[i] : 1,
			     pages[i] ? UNIC_REG_LIST : 0);
		put(i, &reg);
		for (k = 0; k < pages[i]; k++, at += 8)
			*(unic_le64 *)(void *)(list() + at) =
				unic_to_le64((uint64_t)page++ * PAGE);
	}
	assert_int_equal(batch(UNIC_CMD_MR_BATCH, 4, got), 4);
	page = 0;
	for (i = 0; i < 4; i++) {
		struct unic_xlate p;

		memcpy(&cpl, got[i], sizeof(cpl));
		assert_int_equal(cpl.hdr.status, UNIC_ST_OK);
		assert_int_equal(r.nic.mrs.mr[unic_from_le32(cpl.mr)].state,
				 pages[i] ? UNIC_MR_ACTIVE : UNIC_MR_LOADING);
		for (k = 0; k < pages[i]; k++, page++) {
			assert_int_equal(
				unic_access(
					&r.nic.memory, unic_from_le32(cpl.stag),
					(uint16_t)pd, 0,
					0x100000u * (i + 1) + k * PAGE, 8, &p),
				0);
			assert_int_equal(p.bus, (uint64_t)page * PAGE);
		}
	}
}

/* The deregistration of a region in use is PENDING, and counts as done. */
static void one_that_ends_later_is_done(void **state)
{
	struct unic_cmd_mr c = { .hdr = { .opcode = UNIC_CMD_MR_DEREG },
				 .mr = unic_to_le32(mr.mr),
				 .gen = unic_to_le32(mr.gen) };
	uint8_t got[2][64];

	(void)state;
	unic_mr_hold(&r.nic.memory, (uint16_t)mr.mr);
	put(0, &c);
	c.gen = unic_to_le32(mr.gen + 1);
	put(1, &c);
	assert_int_equal(batch(UNIC_CMD_MR_BATCH, 2, got), 1);
	assert_int_equal(got[0][1], UNIC_ST_PENDING);
	assert_int_not_equal(got[1][1], UNIC_ST_OK);
	unic_mr_unhold(&r.nic.memory, (uint16_t)mr.mr);
}

static void list_behind_the_page(void **state)
{
	struct unic_cmd_mr_reg reg;
	uint32_t room = (UNIC_LIST_BYTES - 128) / 8;
	uint8_t got[2][64];

	(void)state;
	reg = reg_of(0, room + 1, UNIC_REG_LIST);
	put(0, &reg);
	reg = reg_of(1, 1, UNIC_REG_LIST);
	put(1, &reg);
	memset(list() + 128, 0, UNIC_LIST_BYTES - 128);
	assert_int_equal(batch(UNIC_CMD_MR_BATCH, 2, got), 1);
	assert_int_equal(got[0][1], UNIC_ST_INVALID);
	assert_int_equal(got[1][1], UNIC_ST_OK);
	/* a list that is too long, and a flag that a batch refuses */
	reg = reg_of(2, UNIC_LIST_MAX + 1, UNIC_REG_LIST);
	put(0, &reg);
	reg = reg_of(3, 1, UNIC_REG_WAIT);
	put(1, &reg);
	assert_int_equal(batch(UNIC_CMD_MR_BATCH, 2, got), 0);
	assert_int_equal(got[0][1], UNIC_ST_INVALID);
	assert_int_equal(got[1][1], UNIC_ST_INVALID);
}

/* A command whose list is too long takes no address: the list of the next
 * command begins where its own would have. */
static void list_behind_one_too_long(void **state)
{
	struct unic_cmd_mr_reg reg =
		reg_of(0, UNIC_LIST_MAX + 1, UNIC_REG_LIST);
	struct unic_cpl_mr_reg cpl;
	struct unic_xlate p;
	uint8_t got[2][64];

	(void)state;
	put(0, &reg);
	reg = reg_of(1, 1, UNIC_REG_LIST);
	put(1, &reg);
	*(unic_le64 *)(void *)(list() + 128) = unic_to_le64(5 * PAGE);
	assert_int_equal(batch(UNIC_CMD_MR_BATCH, 2, got), 1);
	assert_int_equal(got[0][1], UNIC_ST_INVALID);
	memcpy(&cpl, got[1], sizeof(cpl));
	assert_int_equal(cpl.hdr.status, UNIC_ST_OK);
	assert_int_equal(unic_access(&r.nic.memory, unic_from_le32(cpl.stag),
				     (uint16_t)pd, 0, 0x200000, 8, &p),
			 0);
	assert_int_equal(p.bus, 5 * PAGE);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tokens_by_the_dozen),
		TEST(each_is_answered_by_itself),
		TEST(same_cancel_twice),
		TEST(wrong_counts),
		TEST(more_than_there_are),
		TEST(many_expire_at_once),
		TEST(many_expire_and_nobody_reads),
		TEST(none_before_seeding),
		TEST(with_their_pages),
		TEST(list_behind_the_page),
		TEST(list_behind_one_too_long),
		TEST(one_that_ends_later_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_ask.c - the question for idle regions: whom the NIC asks, for which region and
 * how often, and that nobody loses anything by it.
 */
#include <string.h>

#include "unit.h"

#include "evict_rig.h"
#include "memory/access.h"

#define MS	 1000000ull
#define IDLE_NS	 (100 * MS)
#define LOW	 4u
#define HIGH	 8u
#define QUESTION (IDLE_NS + 4 * T_NS) /* by then it has come, if it comes */

static void set(uint32_t flags, uint32_t idle_us, uint32_t low, uint32_t high)
{
	struct unic_cmd_set_params p = {
		.flags = unic_to_le32(flags | UNIC_PARAM_WATERMARKS),
		.low_entries = unic_to_le32(low),
		.high_entries = unic_to_le32(high),
		.idle_us = unic_to_le32(idle_us),
	};

	assert_int_equal(rig_cmd(&er, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
}

/* A table of which processes 0 and 1 hold the halves, in regions of N / 8; of equals m[0]
 * matters least, then m[1] ... */
static struct rig_mr m[8];

static int up(void **state)
{
	uint32_t i;

	evict_up(state);
	evict_hoard(0, 4, N / 8, m);
	evict_hoard(1, 4, N / 8, m + 4);
	for (i = 0; i < 8; i++)
		er.nic.mrs.mr[m[i].mr].importance = (uint8_t)i;
	assert_int_equal(er.nic.tlb.free, 0);
	set(0, (uint32_t)(IDLE_NS / 1000), LOW, HIGH);
	return 0;
}

static uint32_t proc_of(const struct rig_mr *mr)
{
	return mr < m + 4 ? 0 : 1;
}

static void use(const struct rig_mr *mr)
{
	struct unic_xlate p;

	assert_int_equal(unic_access(&er.nic.memory, mr->stag,
				     (uint16_t)er_pd[proc_of(mr)], 0, mr->iova,
				     1, &p),
			 0);
}

static void use_all_but(const struct rig_mr *spare)
{
	uint32_t i;

	for (i = 0; i < 8; i++)
		if (m + i != spare)
			use(m + i);
}

/* Lets @ns pass, while all regions but @spare are in use. */
static void pass(uint64_t ns, const struct rig_mr *spare)
{
	uint64_t end = er.port.now_ns + ns;

	while (er.port.now_ns < end) {
		rig_run(&er, IDLE_NS / 4);
		use_all_but(spare);
	}
}

/* The events must be questions. Returns how many, and the regions in @asked. */
static uint32_t questions(uint32_t asked[UNIC_MRS])
{
	struct unic_evt_mr evt;
	uint32_t n = 0;

	while (rig_event(&er, &evt)) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_IDLE);
		assert_int_equal(evt.hdr.reason, UNIC_WHY_IDLE);
		asked[unic_from_le32(evt.mr)]++;
		n++;
	}
	return n;
}

/* The next event must be a question for @want. */
static void expect(const struct rig_mr *want)
{
	struct unic_evt_mr evt;

	rig_expect(&er, UNIC_EVT_IDLE, &evt);
	assert_int_equal(unic_from_le32(evt.mr), want->mr);
	assert_int_equal(unic_from_le32(evt.gen), want->gen);
}

/* ------------------------------------------------------------------ whether */

static void only_if_the_driver_wants_it(void **state)
{
	(void)state;
	set(UNIC_PARAM_IDLE, 0, LOW, HIGH);
	rig_run(&er, 20 * IDLE_NS);
	evict_none();
	set(0, (uint32_t)(IDLE_NS / 1000), LOW, HIGH);
	rig_run(&er, QUESTION);
	expect(&m[0]);
	rig_reset(&er);
	assert_true(er.nic.asks.idle_ns == 0);
}

static void only_below_the_watermark(void **state)
{
	(void)state;
	assert_int_equal(rig_dereg(&er, &m[0]), UNIC_ST_OK);
	assert_int_equal(er.nic.tlb.free, HIGH);
	rig_run(&er, 20 * IDLE_NS);
	evict_none();
}

/* What the question says; and it is all there is: without an answer nothing of an owner
 * within his share is taken, now or later (INV-5). */
static void silence_keeps_the_region(void **state)
{
	struct unic_evt_mr evt;
	uint32_t asked[UNIC_MRS] = { 0 }, i;

	(void)state;
	pass(IDLE_NS + 4 * T_NS, &m[5]);
	rig_expect(&er, UNIC_EVT_IDLE, &evt);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_IDLE);
	assert_int_equal(unic_from_le16(evt.hdr.proc), 1);
	assert_int_equal(unic_from_le32(evt.mr), m[5].mr);
	assert_int_equal(unic_from_le32(evt.gen), m[5].gen);
	assert_int_equal(unic_from_le32(evt.stag), m[5].stag);
	assert_int_equal(unic_from_le32(evt.entries), N / 8);
	assert_int_equal(unic_from_le32(evt.seq), 0);
	assert_int_equal(unic_from_le32(evt.grace_us), 0);
	assert_int_equal(er.nic.notices.open, 0);
	assert_int_equal(rig_count(&er, idle_asked), 1);
	rig_run(&er, 50 * IDLE_NS);
	assert_true(questions(asked) > 8);
	for (i = 0; i < 8; i++)
		assert_int_equal(er.nic.mrs.mr[m[i].mr].state, UNIC_MR_ACTIVE);
	assert_int_equal(rig_count(&er, notices), 0);
	assert_int_equal(rig_count(&er, evicted_regions), 0);
	assert_int_equal(er.nic.state, UNIC_NIC_READY);
	use(&m[5]);
	/* it is no notice, and is not answered like one */
	assert_int_equal(rig_ack(&er, &evt), UNIC_ST_STATE);
	assert_int_equal(rig_answer(&er, &evt, UNIC_ANSWER_RELEASE, NULL, 0,
				    NULL),
			 UNIC_ST_STATE);
}

/* Whoever is above his share gives, and nobody else is asked meanwhile. */
static void force_comes_first(void **state)
{
	struct rig_mr own;

	(void)state;
	set(UNIC_PARAM_IDLE, 0, 0, 0);
	assert_int_equal(rig_dereg(&er, &m[7]), UNIC_ST_OK);
	evict_reg_ok(0, N / 8, &own);
	rig_run(&er, 2 * IDLE_NS);
	set(0, (uint32_t)(IDLE_NS / 1000), LOW, HIGH);
	assert_int_equal(evict_noticed(0, UNIC_WHY_REAPER), N / 8);
	rig_run(&er, T_NS - 1);
	evict_none();
}

/* Releases what is asked back for @ns, and gives up what is asked for. Returns true if
 * @wait was granted. */
static bool give_all(uint32_t wait, uint64_t ns)
{
	uint64_t end = er.port.now_ns + ns;
	struct unic_evt_wait granted;
	struct unic_evt_mr evt;
	struct rig_mr mr;

	for (; er.port.now_ns < end; rig_run(&er, MS))
		while (rig_event(&er, &evt)) {
			if (evt.hdr.type == UNIC_EVT_GRANTED) {
				memcpy(&granted, &evt, sizeof(granted));
				return unic_from_le32(granted.wait) == wait;
			}
			mr.mr = unic_from_le32(evt.mr);
			mr.gen = unic_from_le32(evt.gen);
			assert_int_equal(rig_dereg(&er, &mr), UNIC_ST_OK);
		}
	return false;
}

/* A request beyond the share of its process gets what is above the shares of others by
 * force, the rest from those who like to give. */
static void for_a_borrower_who_waits(void **state)
{
	uint32_t wait;

	(void)state;
	set(UNIC_PARAM_IDLE, 0, 0, 0);
	rig_run(&er, 2 * IDLE_NS);
	wait = evict_wait_for(2, N / 2 + N / 4, 0);
	assert_false(give_all(wait, 2 * IDLE_NS));
	assert_int_equal(er.nic.tlb.free, N / 2);
	set(0, (uint32_t)(IDLE_NS / 1000), 0, 0);
	assert_true(give_all(wait, MS));
	assert_int_equal(rig_count(&er, idle_asked), 2);
}

/* The owner gives it up, so a newcomer has his share at once: no notice, no grace. */
static void newcomer_finds_entries_free(void **state)
{
	struct rig_mr own;
	uint64_t before;

	(void)state;
	rig_run(&er, QUESTION);
	expect(&m[0]);
	assert_int_equal(rig_dereg(&er, &m[0]), UNIC_ST_OK);
	before = er.port.now_ns;
	evict_reg_ok(2, HIGH, &own);
	assert_true(er.port.now_ns == before);
	assert_int_equal(rig_count(&er, evicted_regions), 0);
}

/* An open question changes nothing of what may be done by force. */
static void newcomer_takes_what_was_asked_for(void **state)
{
	uint32_t asked[UNIC_MRS] = { 0 };

	(void)state;
	rig_run(&er, QUESTION);
	assert_true(questions(asked) > 0);
	evict_wait_for(2, N / 8, 0);
	assert_int_equal(evict_noticed(0, UNIC_WHY_FAIR_SHARE), N / 8);
	rig_run(&er, T_NS - 1);
	assert_int_equal(rig_count(&er, evicted_regions), 0);
	rig_run(&er, MS);
	assert_int_equal(rig_count(&er, evicted_regions), 1);
}

/* -------------------------------------------------------------------- which */

static void what_is_used_is_not_asked_for(void **state)
{
	(void)state;
	pass(20 * IDLE_NS, NULL);
	evict_none();
}

static void one_question_in_each_idle_time(void **state)
{
	uint32_t asked[UNIC_MRS] = { 0 }, n;

	(void)state;
	pass(IDLE_NS + 4 * T_NS, &m[3]);
	assert_int_equal(questions(asked), 1);
	pass(20 * IDLE_NS, &m[3]);
	n = questions(asked);
	assert_in_range(n, 10, 20);
	assert_int_equal(asked[m[3].mr], n + 1);
}

/* Who keeps what he is asked for does not hide those who would give. */
static void what_was_kept_comes_last(void **state)
{
	uint32_t i;

	(void)state;
	rig_run(&er, IDLE_NS + 20 * T_NS);
	for (i = 0; i < 8; i++)
		expect(&m[i]);
	for (i = 0; i < 4; i++)
		expect(&m[i]);
	evict_drop_events(UNIC_EVT_IDLE);
	use(&m[3]); /* what was used again is as good as new */
	er.nic.asks.next_ns = er.port.now_ns + IDLE_NS + MS;
	rig_run(&er, IDLE_NS + 2 * MS);
	expect(&m[3]);
	evict_none();
}

/* Not a millisecond earlier, when others are asked for all the time. */
static void idle_time_is_kept_to_the_end(void **state)
{
	struct unic_cmd_set_params p = {
		.grace_us = unic_to_le32(120),
		.reaper_us = unic_to_le32(100),
		.idle_us = unic_to_le32(2000),
	};
	uint64_t asked_ns[UNIC_MRS] = { 0 };
	struct unic_evt_mr evt;
	uint32_t n = 0;

	(void)state;
	assert_int_equal(rig_cmd(&er, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
	while (n < 200) {
		rig_run(&er, MS / 20);
		while (rig_event(&er, &evt)) {
			uint64_t *last = &asked_ns[unic_from_le32(evt.mr)];
			uint64_t at_ns = unic_from_le64(evt.time_ns);

			assert_int_equal(evt.hdr.type, UNIC_EVT_IDLE);
			assert_true(!*last || at_ns - *last >= 2 * MS);
			*last = at_ns;
			n++;
		}
	}
}

/* A new region of the index is another region. */
static void next_region_of_an_index_was_not_asked_for(void **state)
{
	(void)state;
	pass(IDLE_NS, &m[3]);
	rig_run(&er, T_NS / 2);
	expect(&m[3]);
	use_all_but(&m[3]);
	er.nic.mrs.mr[m[3].mr].gen++;
	m[3].gen++;
	rig_run(&er, 2 * T_NS);
	expect(&m[3]);
	evict_none();
}

static void longest_unused_comes_first(void **state)
{
	(void)state;
	pass(4 * IDLE_NS, &m[6]); /* which has been asked for, then */
	evict_drop_events(UNIC_EVT_IDLE);
	er.nic.asks.asked[m[6].mr].gen = 0;
	er.nic.mrs.mr[m[2].mr].last_use_ns -= IDLE_NS;
	er.nic.asks.next_ns = 0;
	rig_run(&er, T_NS / 2);
	expect(&m[6]);
	evict_none();
	rig_run(&er, 2 * T_NS);
	expect(&m[2]);
}

/* Of those unused for as long: the importance that the owner gave, then the pain. */
static void least_loss_comes_first(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 8; i++) {
		er.nic.mrs.mr[m[i].mr].importance = i == 4 || i == 6 ? 1 : 2;
		er.nic.mrs.mr[m[i].mr].bytes = i == 4 ? 5000 : 10 * i;
	}
	set(0, 0, LOW, N / 2);
	rig_run(&er, QUESTION);
	expect(&m[6]);
	expect(&m[4]);
	expect(&m[0]);
	expect(&m[1]);
}

/* What an operation or a token uses is not idle, whenever that began. */
static void what_is_waited_for_is_not_idle(void **state)
{
	struct unic_cmd_token_alloc t = {
		.pd = unic_to_le32(er_pd[0]),
		.stag = unic_to_le32(m[1].stag),
		.iova = unic_to_le64(m[1].iova),
		.length = unic_to_le32(8),
	};

	(void)state;
	assert_int_equal(rig_cmd(&er, UNIC_CMD_TOKEN_ALLOC, &t, NULL), 0);
	er.nic.mrs.mr[m[0].mr].holds = 1;
	er.nic.mrs.mr[m[2].mr].dmas = 1;
	rig_run(&er, QUESTION);
	expect(&m[3]);
	er.nic.mrs.mr[m[0].mr].holds = 0;
	er.nic.mrs.mr[m[2].mr].dmas = 0;
}

static void control_is_not_asked_for(void **state)
{
	uint32_t asked[UNIC_MRS] = { 0 };
	struct rig_mr rings;

	(void)state;
	assert_int_equal(rig_dereg(&er, &m[0]), UNIC_ST_OK);
	assert_int_equal(rig_reg(&er, 0, er_pd[0], N / 32, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &rings),
			 UNIC_ST_OK);
	evict_reg_ok(0, N / 8 - N / 32, &m[0]);
	rig_run(&er, 10 * QUESTION);
	assert_true(questions(asked) > 8);
	assert_int_equal(asked[rings.mr], 0);
}

/* A region is used if what was made of it is. */
static void use_of_a_form_counts(void **state)
{
	struct unic_cmd_mr_rereg bind = { .mr = unic_to_le32(m[0].mr),
					  .gen = unic_to_le32(m[0].gen),
					  .what = UNIC_REREG_RIGHTS,
					  .rights = UNIC_MR_RIGHTS_ALL };
	struct unic_cmd_mr_alloc c = { .pd = unic_to_le32(er_pd[0]),
				       .kind = UNIC_FORM_SUB };
	struct unic_cmd_mr_make make = { .n = unic_to_le32(1),
					 .rights = UNIC_MR_LOCAL_WRITE,
					 .iova = unic_to_le64(1u << 20) };
	struct unic_cpl_mr_reg cpl;
	struct unic_xlate p;
	struct unic_sge *list;

	(void)state;
	assert_int_equal(rig_cmd(&er, UNIC_CMD_MR_REREG, &bind, NULL), 0);
	assert_int_equal(rig_cmd(&er, UNIC_CMD_MR_ALLOC, &c, &cpl), 0);
	make.mr = cpl.mr;
	make.gen = cpl.gen;
	list = (void *)(er.port.bar + UNIC_BAR_LIST_OFF +
			er.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	*list = (struct unic_sge){ .iova = unic_to_le64(m[0].iova),
				   .len = unic_to_le32(4096),
				   .lkey = unic_to_le32(m[0].stag) };
	assert_int_equal(rig_cmd(&er, UNIC_CMD_MR_MAKE, &make, &cpl), 0);
	set(UNIC_PARAM_IDLE, 0, LOW, HIGH);
	pass(2 * IDLE_NS, &m[0]);
	assert_int_equal(unic_access(&er.nic.memory, unic_from_le32(cpl.stag),
				     (uint16_t)er_pd[0], 0, 1u << 20, 1, &p),
			 0);
	set(0, (uint32_t)(IDLE_NS / 1000), LOW, HIGH);
	rig_poll(&er);
	evict_none();
	rig_run(&er, IDLE_NS / 2);
	evict_none();
	pass(2 * IDLE_NS, &m[0]);
	expect(&m[0]);
}

/* If policies may not know what the NIC counts, it asks for nothing of a process that
 * reports nothing. */
static void unknown_use_is_no_idleness(void **state)
{
	uint32_t asked[UNIC_MRS] = { 0 };
	struct unic_db_page *db = (void *)er.nic.procs.proc[1].db;

	(void)state;
	set(UNIC_PARAM_USES_REPORTED, 0, LOW, HIGH);
	rig_run(&er, 4 * IDLE_NS);
	evict_none();
	db->used[m[4].mr] = unic_to_le32(1);
	rig_run(&er, 2 * MS);
	rig_run(&er, 4 * IDLE_NS);
	assert_true(questions(asked) > 0);
	assert_true(asked[m[5].mr] > 0);
	assert_int_equal(asked[m[0].mr] + asked[m[1].mr] + asked[m[2].mr] +
				 asked[m[3].mr],
			 0);
}

/* ----------------------------------------------------------------- how many */

/* No more at a time than would fill the table up to the high watermark, and the next
 * ones only after the time for the answers. */
static void asks_for_what_is_short(void **state)
{
	uint32_t asked[UNIC_MRS] = { 0 }, i;

	(void)state;
	set(0, 0, LOW, 2 * (N / 8));
	rig_run(&er, IDLE_NS - 1);
	evict_none();
	rig_run(&er, 6 * MS);
	assert_int_equal(questions(asked), 2);
	rig_run(&er, T_NS - 8 * MS);
	evict_none();
	rig_run(&er, 12 * MS);
	assert_int_equal(questions(asked), 2);
	for (i = 0; i < 4; i++)
		assert_int_equal(asked[m[i].mr], 1);
}

/* A full event ring holds nothing back: NOTICE and EVICTED have their room, and the
 * question comes when there is some. */
static void full_ring_is_waited_for(void **state)
{
	uint32_t *tail = &er.nic.mbox.evt_tail;
	uint32_t was = *tail;

	(void)state;
	*tail = er.nic.mbox.evt_head + UNIC_EVT_ENTRIES - UNIC_EVT_RESERVED;
	rig_run(&er, QUESTION);
	assert_int_equal(rig_count(&er, idle_asked), 0);
	assert_int_equal(er.nic.evict.evts_due, 0);
	*tail = was;
	rig_run(&er, MS);
	expect(&m[0]);
}

#undef TEST
#define TEST(f) cmocka_unit_test_setup(f, up)

/* More regions are idle than the NIC remembers: the best of all are asked for, wherever
 * they stand. */
static void best_of_many(void **state)
{
	struct rig_mr many[16];
	uint32_t i;

	evict_up(state);
	evict_hoard(0, 8, N / 16, many);
	evict_hoard(1, 8, N / 16, many + 8);
	for (i = 0; i < 16; i++)
		er.nic.mrs.mr[many[i].mr].importance =
			(uint8_t)(i < 12 ? 20 - i : 40);
	set(0, (uint32_t)(IDLE_NS / 1000), LOW, HIGH);
	rig_run(&er, QUESTION);
	expect(&many[11]);
	expect(&many[10]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_of_many),
		TEST(only_if_the_driver_wants_it),
		TEST(only_below_the_watermark),
		TEST(silence_keeps_the_region),
		TEST(force_comes_first),
		TEST(for_a_borrower_who_waits),
		TEST(newcomer_finds_entries_free),
		TEST(newcomer_takes_what_was_asked_for),
		TEST(what_is_used_is_not_asked_for),
		TEST(one_question_in_each_idle_time),
		TEST(what_was_kept_comes_last),
		TEST(idle_time_is_kept_to_the_end),
		TEST(next_region_of_an_index_was_not_asked_for),
		TEST(longest_unused_comes_first),
		TEST(least_loss_comes_first),
		TEST(what_is_waited_for_is_not_idle),
		TEST(control_is_not_asked_for),
		TEST(use_of_a_form_counts),
		TEST(unknown_use_is_no_idleness),
		TEST(asks_for_what_is_short),
		TEST(full_ring_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

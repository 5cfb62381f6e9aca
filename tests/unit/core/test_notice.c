/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_notice.c - notices and their deadlines, to the nanosecond. */
#include "base/err.h"
#include "arbiter/notice.h"
#include "unic_mbox.h"
#include "unit.h"

#define T_NS 20000000ull
#define H_NS 50000000ull
#define NOW  1000000ull

static struct unic_notices n;

static int setup(void **state)
{
	(void)state;
	unic_notice_init(&n);
	return 0;
}

static uint16_t open_one(uint16_t subject)
{
	return unic_notice_open(&n, NOW, subject, 1, 8, 2, false);
}

static void undelivered_is_due_after_h(void **state)
{
	uint16_t i = open_one(3);

	(void)state;
	assert_int_equal(unic_notice_due(&n, NOW + H_NS - 1), UNIC_NOTICE_NIL);
	assert_int_equal(unic_notice_due(&n, NOW + H_NS), i);
	assert_int_equal(n.notice[i].state, UNIC_NOTICE_SENT);
}

/* INV-6 */
static void grace_counts_from_delivery(void **state)
{
	uint16_t i = open_one(3);
	uint64_t at = NOW + H_NS - 1;

	(void)state;
	assert_int_equal(unic_notice_delivered(&n, i, n.notice[i].seq + 1, at),
			 -UNIC_EINVAL);
	assert_int_equal(unic_notice_delivered(&n, i, n.notice[i].seq, at), 0);
	assert_int_equal(unic_notice_delivered(&n, i, n.notice[i].seq, at + 9),
			 -UNIC_ESTATE);
	assert_int_equal(unic_notice_due(&n, at + T_NS - 1), UNIC_NOTICE_NIL);
	assert_int_equal(unic_notice_due(&n, at + T_NS), i);
	assert_int_equal(n.notice[i].state, UNIC_NOTICE_GRACE);
}

/* Without a grace a notice is due in the tick in which it is delivered, and not
 * before, unless its owner asks for time. */
static void no_grace_at_all(void **state)
{
	uint16_t i = open_one(3), k = open_one(4);
	uint64_t at = NOW + 5;
	uint8_t why;

	(void)state;
	n.grace_us = 0;
	assert_int_equal(unic_notice_due(&n, at), UNIC_NOTICE_NIL);
	assert_int_equal(unic_notice_delivered(&n, i, n.notice[i].seq, at), 0);
	assert_int_equal(unic_notice_due(&n, at), i);
	unic_notice_close(&n, i);
	assert_int_equal(unic_notice_due(&n, at), UNIC_NOTICE_NIL);
	assert_int_equal(unic_notice_delivered(&n, k, n.notice[k].seq, at), 0);
	assert_int_equal(unic_notice_extend(&n, k, 7, &why), 0);
	assert_int_equal(unic_notice_due(&n, at + 6999), UNIC_NOTICE_NIL);
	assert_int_equal(unic_notice_due(&n, at + 7000), k);
}

static void extend_adds_up_to_its_budget(void **state)
{
	uint16_t i = open_one(3);
	uint8_t why = 0;

	(void)state;
	n.extend_us = 5000;
	unic_notice_delivered(&n, i, n.notice[i].seq, NOW);
	assert_int_equal(unic_notice_extend(&n, i, 5001, &why), -UNIC_EREFUSED);
	assert_int_equal(why, UNIC_REFUSED_BUDGET);
	assert_int_equal(unic_notice_extend(&n, i, 3000, &why), 0);
	assert_int_equal(unic_notice_extend(&n, i, UINT32_MAX, &why),
			 -UNIC_EREFUSED);
	assert_int_equal(unic_notice_extend(&n, i, 2000, &why), 0);
	assert_int_equal(unic_notice_extend(&n, i, 1, &why), -UNIC_EREFUSED);
	assert_int_equal(unic_notice_due(&n, NOW + T_NS + 5000000 - 1),
			 UNIC_NOTICE_NIL);
	assert_int_equal(unic_notice_due(&n, NOW + T_NS + 5000000), i);
}

static void urgent_ones_are_not_extended(void **state)
{
	uint16_t i = unic_notice_open(&n, NOW, 3, 1, 8, 2, true);
	uint8_t why = 0;

	(void)state;
	assert_int_equal(unic_notice_extend(&n, i, 1, &why), -UNIC_EREFUSED);
	assert_int_equal(why, UNIC_REFUSED_WAITER);
}

static void replaced_subject_inherits_the_deadline(void **state)
{
	uint16_t i = open_one(3);

	(void)state;
	unic_notice_delivered(&n, i, n.notice[i].seq, NOW);
	unic_notice_replace(&n, i, 9, 12);
	assert_int_equal(unic_notice_due(&n, NOW + T_NS - 1), UNIC_NOTICE_NIL);
	assert_int_equal(unic_notice_due(&n, NOW + T_NS), i);
	assert_int_equal(n.notice[i].subject, 9);
	assert_int_equal(n.notice[i].units, 12);
}

static void hurry_never_makes_it_later(void **state)
{
	uint16_t i = open_one(3), k = open_one(4);

	(void)state;
	unic_notice_delivered(&n, i, n.notice[i].seq, NOW);
	unic_notice_hurry(&n, i, NOW + T_NS / 2);
	assert_true(n.notice[i].deadline_ns == NOW + T_NS);
	unic_notice_hurry(&n, k, NOW + 5); /* from SENT: H no longer counts */
	assert_true(n.notice[k].deadline_ns == NOW + 5 + T_NS);
	assert_int_equal(n.notice[k].state, UNIC_NOTICE_GRACE);
}

static void renewed_one_starts_anew_and_is_urgent(void **state)
{
	uint16_t i = open_one(3);
	uint32_t seq = n.notice[i].seq;
	uint8_t why;

	(void)state;
	unic_notice_delivered(&n, i, seq, NOW);
	assert_int_equal(unic_notice_extend(&n, i, 5000, &why), 0);
	unic_notice_renew(&n, i, NOW + 7);
	assert_int_equal(unic_notice_due(&n, NOW + 7 + H_NS - 1),
			 UNIC_NOTICE_NIL);
	assert_int_equal(unic_notice_due(&n, NOW + 7 + H_NS), i);
	assert_int_equal(unic_notice_delivered(&n, i, seq, NOW + 8),
			 -UNIC_EINVAL);
	assert_int_equal(unic_notice_delivered(&n, i, n.notice[i].seq, NOW + 9),
			 0);
	assert_int_equal(unic_notice_extend(&n, i, 1, &why), -UNIC_EREFUSED);
	assert_int_equal(why, UNIC_REFUSED_WAITER);
	assert_int_equal(unic_notice_due(&n, NOW + 9 + T_NS - 1),
			 UNIC_NOTICE_NIL);
	assert_int_equal(unic_notice_due(&n, NOW + 9 + T_NS), i);
	assert_int_equal(n.open, 1);
}

static void every_subject_has_room_and_all_come_due(void **state)
{
	bool seen[UNIC_NOTICES] = { false };
	uint16_t i, k;

	(void)state;
	for (i = 0; i < UNIC_NOTICES; i++) {
		k = unic_notice_timer(&n, NOW + i, i, 0, 1);
		assert_false(seen[k]);
		seen[k] = true;
	}
	assert_int_equal(n.open, UNIC_NOTICES);
	for (i = 0; i < UNIC_NOTICES; i++) {
		k = unic_notice_due(&n, NOW + T_NS + i);
		assert_int_not_equal(k, UNIC_NOTICE_NIL);
		assert_int_equal(n.notice[k].subject, i);
		unic_notice_close(&n, k);
		assert_int_equal(unic_notice_due(&n, NOW + T_NS + i),
				 UNIC_NOTICE_NIL);
	}
	assert_int_equal(n.open, 0);
	assert_true(n.next_ns == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(undelivered_is_due_after_h, setup),
		cmocka_unit_test_setup(grace_counts_from_delivery, setup),
		cmocka_unit_test_setup(no_grace_at_all, setup),
		cmocka_unit_test_setup(extend_adds_up_to_its_budget, setup),
		cmocka_unit_test_setup(urgent_ones_are_not_extended, setup),
		cmocka_unit_test_setup(replaced_subject_inherits_the_deadline,
				       setup),
		cmocka_unit_test_setup(hurry_never_makes_it_later, setup),
		cmocka_unit_test_setup(renewed_one_starts_anew_and_is_urgent,
				       setup),
		cmocka_unit_test_setup(every_subject_has_room_and_all_come_due,
				       setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

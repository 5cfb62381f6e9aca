/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_port.c - room of the link as hal/fake defines it: each destination has
 * its own, and a full destination does not affect others.
 */
#include "unit.h"

#include "fake_port.h"

static struct unic_port a, b, c;

static int set_up(void **state)
{
	(void)state;
	fake_port_init(&a, 1);
	fake_port_init(&b, 2);
	fake_port_init(&c, 3);
	fake_wire(&a, &b);
	return 0;
}

static bool send_one(uint32_t path)
{
	uint8_t *f = unic_port_tx_get(&a, path);

	if (f)
		unic_port_tx_put(&a, f, 60, 0);
	return f != NULL;
}

static void a_path_per_address(void **state)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t group[6] = { 0x01, 0, 0x5e, 0, 0, 2 };
	static const uint8_t far[6] = { 0x02, 'u', 'n', 'i', 'c', FAKE_PATHS };

	(void)state;
	assert_int_equal(unic_port_path(&a, b.mac), fake_path(2));
	assert_int_equal(unic_port_path(&a, c.mac), fake_path(3));
	assert_int_equal(unic_port_path(&c, b.mac), fake_path(2));
	assert_true(fake_path(2) != fake_path(3));
	assert_int_equal(unic_port_path(&a, all), 0);
	assert_int_equal(unic_port_path(&a, group), 0);
	assert_int_equal(unic_port_path(&a, far), 0);
}

static void never_full_unless_told(void **state)
{
	uint32_t path;

	(void)state;
	for (path = 0; path < FAKE_PATHS; path++) {
		assert_true(send_one(path));
		assert_true(send_one(path));
	}
	assert_int_equal(a.tx_full, 0);
}

/* A buffer takes room, whether it is sent or returned unsent, until the test
 * makes room again. */
static void a_full_path_is_full_alone(void **state)
{
	uint32_t round, i;

	(void)state;
	for (round = 0; round < 3; round++) {
		fake_room(&a, fake_path(3), 3);
		assert_true(send_one(fake_path(3)));
		assert_true(send_one(fake_path(3)));
		unic_port_tx_put(&a, unic_port_tx_get(&a, fake_path(3)), 0, 0);
		for (i = 0; i < 2; i++) {
			assert_false(send_one(fake_path(3)));
			assert_true(send_one(fake_path(2)));
		}
		assert_int_equal(a.tx_full, 2 * (round + 1));
		assert_int_equal(a.tx_held, 0);
	}
	fake_room(&a, fake_path(3), FAKE_NEVER_FULL);
	for (i = 0; i < 2 * FAKE_NEVER_FULL; i++)
		assert_true(send_one(fake_path(3)));
}

/* Each port has its own room to a destination. */
static void room_is_the_senders(void **state)
{
	(void)state;
	fake_room(&a, fake_path(3), 0);
	assert_false(send_one(fake_path(3)));
	assert_non_null(unic_port_tx_get(&b, fake_path(3)));
}

/* A run has at most as many buffers as there is room, and buffers of it that
 * were not put take no room. */
static void runs_end_with_the_room(void **state)
{
	struct unic_tx_run run;

	(void)state;
	fake_room(&a, fake_path(3), UNIC_TX_BUFS + 2);
	assert_true(unic_port_tx_run(&a, fake_path(3), &run));
	assert_int_equal(run.n, UNIC_TX_BUFS);
	unic_port_tx_run_put(&a, &run, 3, 60, 0);
	assert_true(unic_port_tx_run(&a, fake_path(3), &run));
	assert_int_equal(run.n, 3);
	unic_port_tx_run_put(&a, &run, 0, 60, 0);
	assert_true(unic_port_tx_run(&a, fake_path(3), &run));
	assert_int_equal(run.n, 3);
	unic_port_tx_run_put(&a, &run, 3, 60, 0);
	assert_false(unic_port_tx_run(&a, fake_path(3), &run));
	assert_int_equal(a.tx_full, 1);
	assert_true(unic_port_tx_run(&a, fake_path(2), &run));
	assert_int_equal(run.n, UNIC_TX_BUFS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_path_per_address, set_up),
		cmocka_unit_test_setup(never_full_unless_told, set_up),
		cmocka_unit_test_setup(a_full_path_is_full_alone, set_up),
		cmocka_unit_test_setup(room_is_the_senders, set_up),
		cmocka_unit_test_setup(runs_end_with_the_room, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

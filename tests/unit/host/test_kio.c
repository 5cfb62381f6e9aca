/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio.c - reads of the kernel-resident page service, its deadlines and its
 * window, beside processes that register as much as they can.
 */
#include "unit.h"

#include "kio_rig.h"

static void reads_come_whole(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++) {
		read_at(i, 'a' + i, i * 997, 1 + i * 409 % PAYLOAD, 1 + i % 16);
		if (io[i].len < io[i].pieces)
			continue;
		run(i + 1);
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], io[i].len);
		expect_content(i);
	}
	assert_int_equal(ra.nic.tlb.free, UNIC_TLB_ENTRIES);
	nothing_left();
}

static void ends_of_files_and_errors(void **state)
{
	(void)state;
	read_at(0, 1, FILE_END - 10, 100, 3);
	read_at(1, 1, FILE_END, 100, 1);
	read_at(2, '?', 0, 100, 1);
	read_at(3, 1, UINT64_MAX - 10, 100, 1);
	run(4);
	assert_int_equal(io[2].remote, ENOENT);
	assert_int_equal(io[3].remote, EINVAL);
	assert_int_equal(io[0].size, FILE_END);
	assert_int_equal(status[0], 0);
	assert_int_equal(got[0], 10);
	assert_int_equal(status[1], 0);
	assert_int_equal(got[1], 0);
	assert_int_equal(status[2], -EREMOTEIO);
	assert_int_equal(status[3], -EREMOTEIO);
	nothing_left();
}

/* A READ without an answer ends at its deadline; an answer after that writes no
 * byte. */
static void late_answer_writes_nothing(void **state)
{
	struct message m;
	uint32_t i;

	(void)state;
	memset(pa.mem + PAGES, 0xa5, PAYLOAD);
	read_at(0, 7, 0, 5000, 4);
	commands();
	rig_run2(&ra, &rb, MS);
	assert_true(message(&rb, &qb, &pb, &m));
	run(1);
	assert_int_equal(status[0], -ETIMEDOUT);
	nothing_left();
	serve(&m);
	step();
	step();
	for (i = 0; i < 5000; i++)
		assert_int_equal(pa.mem[PAGES + i], 0xa5);
	assert_int_equal(finished, 1);
}

static void deadlines_hold_for_all(void **state)
{
	uint64_t from = ra.nic.now_ns;
	uint32_t i;

	(void)state;
	deaf = true;
	for (i = 0; i < 40; i++)
		read_at(i, 1, 0, 4096, 1);
	run(40);
	assert_true(ra.nic.now_ns - from < 402 * MS);
	for (i = 0; i < 40; i++)
		assert_int_equal(status[i], -ETIMEDOUT);
	nothing_left();
}

/* What is behind an I/O that waits for the window of its user goes on. */
static void a_full_window_stops_nobody_else(void **state)
{
	uint32_t i;

	(void)state;
	later_len = 700;
	for (i = 0; i < 6; i++)
		read_at(i, 1, 100 * i, i % 2 ? 600 : 700, 1);
	run(3);
	for (i = 0; i < 6; i++)
		assert_int_equal(io[i].state,
				 i % 2 ? UNIC_KIO_DONE : UNIC_KIO_QUEUED);
	read_at(6, 1, 0, 500, 1); /* the end of the queue is where it was */
	read_at(7, 1, 0, 700, 1);
	run(4);
	later_len = 0;
	unic_kio_window(&client, 8);
	run(8);
	for (i = 0; i < 8; i++)
		assert_int_equal(status[i], 0);
	nothing_left();
}

static void window_shrinks_and_grows(void **state)
{
	uint32_t i;

	(void)state;
	unic_kio_window(&client, 3);
	for (i = 0; i < 20; i++)
		read_at(i, 1, i, 4096, 2);
	assert_int_equal(unic_kio_demand(&client), 3 * 4096);
	run(20);
	assert_int_equal(most, 3);
	unic_kio_window(&client, 0); /* one I/O at a time still goes on */
	for (i = 20; i < 25; i++)
		read_at(i, 1, i, 4096, 2);
	most = 0;
	run(25);
	assert_int_equal(most, 1);
	unic_kio_window(&client, 8);
	for (i = 25; i < 40; i++)
		read_at(i, 1, i, 4096, 2);
	run(40);
	assert_int_equal(most, 8);
	for (i = 0; i < 40; i++)
		assert_int_equal(status[i], 0);
}

/* The other processes register four pages each in turn until all are refused.
 * They acknowledge notices, but release nothing. */
static void hoard(const uint32_t *pd)
{
	struct rig_mr mr;
	uint32_t proc, got_one;

	events();
	do {
		got_one = 0;
		for (proc = OTHER; proc < UNIC_PROCS; proc++)
			got_one += !rig_reg(&ra, proc, pd[proc], 4,
					    UNIC_CLASS_RDMA, UNIC_REG_LIST, 0,
					    &mr);
	} while (got_one);
}

/* With two such processes in the sizes of the unit tests, 15 in those of
 * boards/crowd, all I/Os succeed in time. */
static void nothing_fails_beside_hoarders(void **state)
{
	uint32_t i, pd[UNIC_PROCS], starved = 0;
	uint64_t from = ra.nic.now_ns;

	(void)state;
	for (i = OTHER; i < UNIC_PROCS; i++) {
		if (i > OTHER)
			rig_attach(&ra, i, 1);
		pd[i] = rig_pd(&ra, i);
	}
	for (i = 0; i < 40; i++)
		start(i, i % 2 ? UNIC_KIO_READ : UNIC_KIO_WRITE, 'h', i * 5000,
		      4000, i % 2 ? 16 : 1);
	for (i = 0; finished < 40 && i < 10000; i++) {
		hoard(pd);
		starved += !ra.nic.tlb.free;
		step();
	}
	assert_true(starved == i); /* no entry was ever free */
	/* who has none, and waits for none, goes by token */
	assert_int_equal(client.by_rdma + client.by_token, rdma ? 40 : 0);
	assert_true(ra.nic.now_ns - from < 100 * MS);
	for (i = 0; i < 40; i++)
		assert_int_equal(status[i], 0);
	nothing_left();
}

/* An I/O that was requested ends with its connection; a queued one waits for
 * the next connection. */
static void link_goes_and_comes(void **state)
{
	uint32_t i, asked;

	(void)state;
	deaf = true;
	for (i = 0; i < 20; i++)
		read_at(i, 1, 0, 100, 1);
	step();
	asked = client.busy;
	assert_int_equal(asked, UNIC_KIO_WINDOW);
	unic_kio_up(&client, false);
	run(asked);
	for (i = 0; i < asked; i++)
		assert_int_equal(status[i], -ENOLINK);
	deaf = false;
	unic_kio_up(&client, true);
	run(20);
	for (; i < 20; i++)
		assert_int_equal(status[i], 0);
	nothing_left();
}

/* The link fails between a token's request and its answer. */
static void token_that_comes_too_late(void **state)
{
	(void)state;
	read_at(0, 1, 0, 100, 1);
	unic_kio_up(&client, false);
	assert_int_equal(finished, 0); /* the NIC may still use the pages */
	run(1);
	assert_int_equal(status[0], -ENOLINK);
	nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(reads_come_whole, up),
		cmocka_unit_test_setup(ends_of_files_and_errors, up),
		cmocka_unit_test_setup(late_answer_writes_nothing, up),
		cmocka_unit_test_setup(deadlines_hold_for_all, up),
		cmocka_unit_test_setup(a_full_window_stops_nobody_else, up),
		cmocka_unit_test_setup(window_shrinks_and_grows, up),
		cmocka_unit_test_setup(nothing_fails_beside_hoarders, up),
		cmocka_unit_test_setup(nothing_fails_beside_hoarders, up_rdma),
		cmocka_unit_test_setup(link_goes_and_comes, up),
		cmocka_unit_test_setup(token_that_comes_too_late, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

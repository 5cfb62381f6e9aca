/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_write.c - writes and flushes of the kernel-resident page service,
 * and how they end when the client, the server or the connection fails.
 */
#include "unit.h"

#include "kio_rig.h"
#include "kio_server.h"

static void writes_arrive_whole(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++) {
		start(i, UNIC_KIO_WRITE, 'a' + i, i * 2000,
		      1 + i * 409 % PAYLOAD, 1);
		fill(i);
		run(i + 1);
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], io[i].len);
		expect_written(i);
	}
	nothing_left();
}

/* A WRITE of any number of pieces is one request, and one message with all of
 * the data. Four at a time share the one derived region. */
static void scattered_writes_are_one_io(void **state)
{
	uint64_t messages = rig_count(&ra, tx_frames);
	uint32_t i, n;

	(void)state;
	for (n = 0; n < 40; n += 4) {
		for (i = n; i < n + 4; i++) {
			start(i, UNIC_KIO_WRITE, 'a' + i, i * 2000,
			      AT(4) - i * 31, 2 + i * 5 % 15);
			fill(i);
		}
		run(n + 4);
		for (i = n; i < n + 4; i++) {
			assert_int_equal(status[i], 0);
			assert_int_equal(got[i], io[i].len);
		}
		expect_written(n + 3);
	}
	assert_int_equal(runs, 40);
	assert_int_equal(rig_count(&rb, tokens_used), 40);
	assert_int_equal(rig_count(&ra, forms_made), 40);
	assert_int_equal(rig_count(&ra, forms_refused), 0);
	/* the request, 17 packets of data of 1024 bytes, acknowledgements */
	assert_in_range(rig_count(&ra, tx_frames) - messages, 40 * 17, 40 * 22);
	nothing_left();
}

/* An I/O that needs the derived region, and those queued behind it, wait for it
 * until their deadlines. */
static void one_that_waits_for_a_form_ends_in_time(void **state)
{
	(void)state;
	form_taken = true; /* and no I/O releases it */
	start(0, UNIC_KIO_WRITE, 'w', 0, 1000, 2);
	start(1, UNIC_KIO_READ, 'r', 0, 1000, 1);
	run(2);
	assert_int_equal(status[0], -ETIMEDOUT);
	assert_int_equal(status[1], -ETIMEDOUT);
	assert_int_equal(client.busy, 0);
	form_taken = false;
	start(2, UNIC_KIO_WRITE, 'w', 0, 1000, 2);
	run(3);
	assert_int_equal(status[2], 0);
	nothing_left();
}

/* I/Os for which the server has no buffer wait. */
static void many_at_once(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 40; i++)
		start(i, i % 3 ? UNIC_KIO_READ : UNIC_KIO_WRITE, 'm', i * 5000,
		      4000, 1);
	run(40);
	for (i = 0; i < 40; i++) {
		assert_int_equal(status[i], 0);
		assert_int_equal(got[i], 4000);
	}
	nothing_left();
}

static void others_have_no_bytes(void **state)
{
	(void)state;
	start(0, UNIC_KIO_STAT, 's', 0, 0, 0);
	start(1, UNIC_KIO_CUT, 's', 77, 0, 0);
	start(2, UNIC_KIO_CUT, '?', 77, 0, 0);
	start(3, UNIC_KIO_WRITE, '?', 0, 100, 1);
	start(4, UNIC_KIO_SYNC, 's', 0, 0, 0);
	run(5);
	assert_int_equal(status[4], 0);
	assert_int_equal(io[4].size, FILE_END);
	assert_int_equal(status[0], 0);
	assert_int_equal(io[0].size, FILE_END);
	assert_int_equal(status[1], 0);
	assert_int_equal(status[2], -EREMOTEIO);
	assert_int_equal(status[3], -EREMOTEIO);
	assert_int_equal(io[3].remote, ENOENT);
	nothing_left();
}

/* Runs one more I/O of file `w' to its end. Returns its status. */
static int one_of_file(uint8_t op)
{
	uint32_t i = finished;

	file_of_it = &file;
	start(i, op, 'w', 0, op == UNIC_KIO_WRITE ? 100 : 0,
	      op == UNIC_KIO_WRITE);
	run(i + 1);
	return status[i];
}

/* A restart of the server may lose written bytes: the next SYNC fails, once. */
static void flush_after_another_life_of_the_server_fails(void **state)
{
	static const uint8_t writes[] = { UNIC_KIO_WRITE, UNIC_KIO_CUT };
	uint32_t k;

	(void)state;
	for (k = 0; k < 2; k++) {
		file = (struct unic_kio_file){ 0 };
		assert_int_equal(one_of_file(writes[k]), 0);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
		boot++; /* all writes are synced */
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
		assert_int_equal(one_of_file(writes[k]), 0);
		boot++;
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), -EREMOTEIO);
		assert_int_equal(io[finished - 1].remote, EIO);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
		assert_int_equal(one_of_file(writes[k]), 0);
		boot++; /* a later write goes to the new server */
		assert_int_equal(one_of_file(writes[k]), 0);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), -EREMOTEIO);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
	}
	nothing_left();
}

/* A WRITE answered while a SYNC is under way counts for the next SYNC. */
static void write_behind_a_flush_is_not_in_it(void **state)
{
	(void)state;
	file = (struct unic_kio_file){ 0 };
	assert_int_equal(one_of_file(UNIC_KIO_WRITE), 0);
	slow = true;
	start(1, UNIC_KIO_SYNC, 'w', 0, 0, 0);
	file.wrote++; /* a WRITE that is answered meanwhile */
	slow = false;
	run(2);
	assert_int_equal(status[1], 0);
	boot++;
	assert_int_equal(one_of_file(UNIC_KIO_SYNC), -EREMOTEIO);
	nothing_left();
}

/* The end of a connection reaches the store after its tasks; it is passed again
 * if the store had no room. */
static void store_hears_of_the_end(void **state)
{
	(void)state;
	start(0, UNIC_KIO_SYNC, 's', 0, 0, 0);
	run(1);
	no_room = true;
	unic_kio_up(&client, false);
	unic_kio_server_down(&server, false);
	step();
	assert_int_equal(ends, 0);
	assert_false(unic_kio_server_idle(&server));
	no_room = false;
	step();
	step();
	assert_int_equal(ends, 1);
	assert_true(unic_kio_server_idle(&server));
	unic_kio_server_down(&server, false);
	step();
	assert_int_equal(ends, 1); /* no task since the last end */
	nothing_left();
}

/* The client fails between its request and its data: the server's token and
 * buffer are free again after a while. */
static void granted_to_nobody(void **state)
{
	struct message m;
	uint32_t i;

	(void)state;
	start(0, UNIC_KIO_WRITE, 'w', 0, 5000, 1);
	rig_run2(&ra, &rb, MS);
	assert_true(message(&rb, &qb, &pb, &m));
	serve(&m);
	unic_kio_up(&client, false);
	assert_int_equal(status[0], -ENOLINK);
	for (i = 0; i < 25000 && !unic_kio_server_idle(&server); i++)
		step();
	assert_int_equal(runs, 0);
	nothing_left();
}

/* A client stalls for longer than the server keeps the token of a WRITE, then
 * reads all its messages at once; in the second round the grant is lost. The
 * server has executed nothing, so the status is -ENOBUFS: the WRITE can be
 * started again. */
static void data_that_comes_too_late(void **state)
{
	struct message m;
	uint32_t i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		still = true;
		start(2 * k, UNIC_KIO_WRITE, 'w', 0, 5000, 1);
		io[2 * k].deadline_ns = ra.nic.now_ns + 30000 * MS;
		for (i = 0; i < 25000; i++)
			step();
		still = false;
		assert_true(unic_kio_server_idle(&server));
		assert_int_equal(buffers_used, 0);
		if (k) {
			assert_true(message(&ra, &qa, &pa, &m));
			assert_int_equal(m.msg.op, UNIC_KIO_GRANT);
		}
		run(2 * k + 1);
		assert_int_equal(status[2 * k], -ENOBUFS);
		assert_int_equal(runs, k);
		start(2 * k + 1, UNIC_KIO_WRITE, 'x', 0, 5000, 1);
		fill(2 * k + 1);
		run(2 * k + 2);
		assert_int_equal(status[2 * k + 1], 0);
		expect_written(2 * k + 1);
		nothing_left();
	}
}

/* The store runs no tasks for a while: I/Os wait. A connection that ends
 * meanwhile leaves nothing in the server; its tasks run before those of the
 * next one. */
static void slow_files(void **state)
{
	uint32_t i;

	(void)state;
	slow = true;
	for (i = 0; i < 8; i++) {
		start(i, i < 3 ? UNIC_KIO_WRITE : UNIC_KIO_READ, 'a', i * 5000,
		      4000, 1);
		fill(i);
	}
	for (i = 0; i < 200; i++)
		step();
	assert_int_equal(finished, 0);
	assert_int_equal(begun, PLACES);
	unic_kio_up(&client, false);
	deaf = true;
	unic_kio_server_stop(&server);
	taken++; /* the store has room, but the server is stopped */
	step();
	assert_int_equal(begun, PLACES);
	taken--;
	unic_kio_server_down(&server, false);
	run(8);
	nothing_left();
	for (i = 0; i < 8; i++)
		assert_int_equal(status[i], -ENOLINK);
	finished = 0;
	deaf = false;
	unic_kio_up(&client, true);
	start(0, UNIC_KIO_WRITE, 'b', 0, 4000, 1); /* another content */
	fill(0);
	for (i = 0; i < 20; i++)
		step();
	assert_int_equal(finished, 0);
	slow = false;
	run(1);
	assert_int_equal(status[0], 0);
	assert_int_equal(runs, PLACES + 1);
	expect_written(0);
	nothing_left();
}

/* The result of a task of the old connection does not answer the request of the
 * new one that has the same job. */
static void answers_of_an_earlier_turn(void **state)
{
	uint32_t i;

	(void)state;
	slow = true;
	read_at(0, 'a', 0, 4000, 1);
	for (i = 0; i < 20; i++)
		step();
	assert_int_equal(begun, 1);
	unic_kio_up(&client, false);
	unic_kio_server_down(&server, false);
	run(1);
	unic_kio_up(&client, true);
	read_at(1, 'b', 77, 3000, 1);
	for (i = 0; i < 20; i++)
		step();
	assert_int_equal(begun, 2);
	assert_true(server.job[0].begun); /* the same job */
	slow = false;
	run(2);
	assert_int_equal(status[1], 0);
	assert_int_equal(got[1], 3000);
	expect_content(1);
	nothing_left();
}

/* A WRITE fails if its answer reports more bytes than the WRITE had. */
static void server_that_claims_more(void **state)
{
	(void)state;
	start(0, UNIC_KIO_WRITE, 'w', 0, 5000, 1);
	claims = 1;
	run(1);
	assert_int_equal(status[0], -EREMOTEIO);
	assert_int_equal(io[0].remote, EIO);
	assert_int_equal(got[0], 0);
	claims = 0;
	nothing_left();
}

/* A WRITE with short data fails; old bytes of the buffer are not written. */
static void data_that_is_short(void **state)
{
	(void)state;
	start(0, UNIC_KIO_WRITE, 'w', 0, 5000, 1);
	short_by = 1;
	run(1);
	assert_int_equal(status[0], -EREMOTEIO);
	assert_int_equal(io[0].remote, EIO);
	assert_int_equal(runs, 0);
	nothing_left();
}

/* The connection ends at every step of a WRITE and a READ: done() once, and
 * nothing is left on either side. */
static void ends_at_every_step(void **state)
{
	uint32_t at, i;

	(void)state;
	for (at = 0; at < 12; at++) {
		finished = 0;
		start(0, UNIC_KIO_WRITE, 'w', 0, 9000, 1 + at % 2 * 15);
		start(1, UNIC_KIO_READ, 'r', 0, 9000, 3);
		for (i = 0; i < at; i++)
			step();
		unic_kio_up(&client, false);
		deaf = true; /* nothing arrives any more */
		step();
		unic_kio_server_down(&server, false);
		run(2);
		for (i = 0; i < 10; i++)
			step();
		deaf = false;
		assert_int_equal(finished, 2);
		nothing_left();
		unic_kio_up(&client, true);
	}
}

static void reset_ends_all(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < 20; i++)
		start(i, i % 2 ? UNIC_KIO_READ : UNIC_KIO_WRITE, 'r', 0, 4000,
		      i ? 1 : 16);
	commands();
	rig_run2(&ra, &rb, MS);
	unic_kio_lost(&client, -ENOLINK);
	assert_int_equal(finished, UNIC_KIO_WINDOW);
	assert_int_equal(client.busy, 0);
	unic_kio_server_down(&server, true);
	assert_true(unic_kio_server_idle(&server));
	assert_int_equal(buffers_used, 0);
	assert_false(form_taken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(writes_arrive_whole, up),
		cmocka_unit_test_setup(scattered_writes_are_one_io, up),
		cmocka_unit_test_setup(one_that_waits_for_a_form_ends_in_time,
				       up),
		cmocka_unit_test_setup(many_at_once, up),
		cmocka_unit_test_setup(many_at_once, up_rdma),
		cmocka_unit_test_setup(others_have_no_bytes, up),
		cmocka_unit_test_setup(others_have_no_bytes, up_rdma),
		cmocka_unit_test_setup(
			flush_after_another_life_of_the_server_fails, up),
		cmocka_unit_test_setup(
			flush_after_another_life_of_the_server_fails, up_rdma),
		cmocka_unit_test_setup(write_behind_a_flush_is_not_in_it, up),
		cmocka_unit_test_setup(write_behind_a_flush_is_not_in_it,
				       up_rdma),
		cmocka_unit_test_setup(store_hears_of_the_end, up),
		cmocka_unit_test_setup(store_hears_of_the_end, up_rdma),
		cmocka_unit_test_setup(granted_to_nobody, up),
		cmocka_unit_test_setup(data_that_comes_too_late, up),
		cmocka_unit_test_setup(slow_files, up),
		cmocka_unit_test_setup(answers_of_an_earlier_turn, up),
		cmocka_unit_test_setup(server_that_claims_more, up),
		cmocka_unit_test_setup(data_that_is_short, up),
		cmocka_unit_test_setup(ends_at_every_step, up),
		cmocka_unit_test_setup(reset_ends_all, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

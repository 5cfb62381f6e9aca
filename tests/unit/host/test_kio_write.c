/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_write.c - writes of the kernel-resident page service, flushes, and
 * what becomes of them when an end goes.
 */
#include "unit.h"

#include "kio_rig.h"
#include "kio_server.h"

static void fill(uint32_t i)
{
	uint64_t at = io[i].offset;
	uint32_t k, j;

	for (k = 0; k < io[i].pieces; k++) {
		uint8_t *p = pa.mem + (unic_from_le64(io[i].piece[k].bus) -
				       RIG_KERNEL_BUS);

		for (j = 0; j < unic_from_le32(io[i].piece[k].len); j++)
			p[j] = content((uint8_t)io[i].name[0], at++);
	}
}

static void expect_written(uint32_t i)
{
	uint32_t k;

	for (k = 0; k < io[i].len; k++)
		assert_int_equal(written[io[i].offset + k],
				 content((uint8_t)io[i].name[0],
					 io[i].offset + k));
}

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

/* However scattered: one request, one message with all of the data. They are begun
 * together, and share the form. */
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
	/* WRITE, 17 packets of data at 1024 bytes each, what acknowledges */
	assert_in_range(rig_count(&ra, tx_frames) - messages, 40 * 17, 40 * 22);
	nothing_left();
}

/* What needs the form waits for it, and what is behind that, too: until its time
 * is over. */
static void one_that_waits_for_a_form_ends_in_time(void **state)
{
	(void)state;
	form_taken = true; /* by nobody who will ever end */
	start(0, UNIC_KIO_WRITE, 'w', 0, 1000, 2);
	start(1, UNIC_KIO_READ, 'r', 0, 1000, 1);
	run(2);
	assert_int_equal(status[0], -ETIMEDOUT);
	assert_int_equal(client.busy, 0);
	form_taken = false;
	start(2, UNIC_KIO_WRITE, 'w', 0, 1000, 2);
	run(3);
	assert_int_equal(status[2], 0);
	nothing_left();
}

/* More at once than the server has buffers: they wait. */
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

/* One more of file `w', and to its end. */
static int one_of_file(uint8_t op)
{
	uint32_t i = finished;

	file_of_it = &file;
	start(i, op, 'w', 0, op == UNIC_KIO_WRITE ? 100 : 0,
	      op == UNIC_KIO_WRITE);
	run(i + 1);
	return status[i];
}

/* What was written before it may be lost: that is told, once. */
static void flush_after_another_life_of_the_server_fails(void **state)
{
	static const uint8_t writes[] = { UNIC_KIO_WRITE, UNIC_KIO_CUT };
	uint32_t k;

	(void)state;
	for (k = 0; k < 2; k++) {
		file = (struct unic_kio_file){ 0 };
		assert_int_equal(one_of_file(writes[k]), 0);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
		boot++; /* nothing of ours is to be lost */
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
		assert_int_equal(one_of_file(writes[k]), 0);
		boot++;
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), -EREMOTEIO);
		assert_int_equal(io[finished - 1].remote, EIO);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
		assert_int_equal(one_of_file(writes[k]), 0);
		boot++; /* a later write goes to the next life */
		assert_int_equal(one_of_file(writes[k]), 0);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), -EREMOTEIO);
		assert_int_equal(one_of_file(UNIC_KIO_SYNC), 0);
	}
	nothing_left();
}

/* One that is answered while a SYNC is under way is for the next SYNC. */
static void write_behind_a_flush_is_not_in_it(void **state)
{
	(void)state;
	file = (struct unic_kio_file){ 0 };
	assert_int_equal(one_of_file(UNIC_KIO_WRITE), 0);
	slow = true;
	start(1, UNIC_KIO_SYNC, 'w', 0, 0, 0);
	file.wrote++; /* one that is answered meanwhile */
	slow = false;
	run(2);
	assert_int_equal(status[1], 0);
	boot++;
	assert_int_equal(one_of_file(UNIC_KIO_SYNC), -EREMOTEIO);
	nothing_left();
}

/* The store hears of the end behind all that it began, also when it had no room. */
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
	assert_int_equal(ends, 1); /* it keeps nothing */
	nothing_left();
}

/* The client dies between asking and sending: the server's token and buffer are
 * free again after a while. */
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

/* A host stands still for longer than the server keeps a token for the data of a
 * WRITE, and reads all that came meanwhile at once; or the first of it was lost. Nothing
 * was done, which is no word about the file: the WRITE can be begun again. */
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

/* A disk that does nothing for a while: what waits, waits; a connection that ends
 * meanwhile leaves nothing, and what was begun for it is done before what comes
 * over the next. */
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
	taken++; /* there is room, and nobody to use it */
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

/* What the store did for a request of the old connection is no answer to the one of
 * the new that has its place. */
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
	assert_true(server.job[0].begun); /* the same place */
	slow = false;
	run(2);
	assert_int_equal(status[1], 0);
	assert_int_equal(got[1], 3000);
	expect_content(1);
	nothing_left();
}

/* An answer to a WRITE cannot have moved more than there was. */
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

/* Nor does a WRITE whose data is short take the rest from what the buffer had. */
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
		cmocka_unit_test_setup(others_have_no_bytes, up),
		cmocka_unit_test_setup(
			flush_after_another_life_of_the_server_fails, up),
		cmocka_unit_test_setup(write_behind_a_flush_is_not_in_it, up),
		cmocka_unit_test_setup(store_hears_of_the_end, up),
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

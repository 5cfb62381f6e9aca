/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_kio_peer.c - malformed and false messages to the client and the server
 * of the kernel-resident page service.
 */
#include "unit.h"

#include "kio_rig.h"
#include "kio_server.h"

static void strange_answers(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER };

	(void)state;
	unic_kio_message(&client, &msg, 0, 10); /* nothing was asked for */
	msg.id = unic_to_le32(UINT32_MAX);
	unic_kio_message(&client, &msg, 0, 10);
	deaf = true;
	read_at(0, 'r', 0, 100, 1);
	commands();
	msg.id = unic_to_le32(io[0].id + UNIC_KIO_WINDOW); /* a later one */
	unic_kio_message(&client, &msg, io[0].token, 10);
	assert_int_equal(finished, 0);
	msg.id = unic_to_le32(io[0].id);
	msg.op = UNIC_KIO_READ;
	unic_kio_message(&client, &msg, io[0].token, 10);
	msg.op = UNIC_KIO_GRANT; /* of a READ */
	unic_kio_message(&client, &msg, 0, 0);
	assert_int_equal(io[0].state, UNIC_KIO_ASKED);
	/* by another token: the pages of this I/O have old bytes */
	msg.op = UNIC_KIO_ANSWER;
	msg.len = unic_to_le32(100);
	unic_kio_message(&client, &msg, io[0].token + 1, 100);
	run(1);
	assert_int_equal(status[0], -EREMOTEIO);
	/* more bytes than the WRITE had, and a status that is no errno */
	start(1, UNIC_KIO_WRITE, 'w', 0, 100, 1);
	msg.id = unic_to_le32(io[1].id);
	msg.len = unic_to_le32(101);
	msg.status = unic_to_le32(99999);
	unic_kio_message(&client, &msg, 0, 0);
	assert_int_equal(status[1], -EREMOTEIO);
	assert_int_equal(io[1].remote, EIO);
	assert_int_equal(got[1], 0);
}

/* A WRITE that is answered before its data was sent fails. */
static void answered_without_data(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_ANSWER };
	uint32_t i;

	(void)state;
	deaf = true;
	for (i = 0; i < 2; i++) {
		start(i, UNIC_KIO_WRITE, 'w', 0, 100, 1);
		msg.id = unic_to_le32(io[i].id);
		msg.len = unic_to_le32(100 * i);
		unic_kio_message(&client, &msg, 0, 0);
		assert_int_equal(finished, i + 1);
		assert_int_equal(status[i], -EREMOTEIO);
		assert_int_equal(io[i].remote, EIO);
	}
}

static bool says(struct unic_kio_msg *msg, const char *name, uint32_t bytes,
		 uint32_t payload)
{
	uint8_t text[512];

	memcpy(text, msg, sizeof(*msg));
	memcpy(text + sizeof(*msg), name, 20);
	return unic_kio_server_message(&server, text, bytes, 7, payload);
}

static void strange_requests(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_READ, .name_bytes = 4 };
	const char *name = "abcdefghijklmnopqrst";

	(void)state;
	assert_false(says(&msg, name, 0, 0));
	assert_false(says(&msg, name, sizeof(msg) - 1, 0));
	assert_false(says(&msg, name, sizeof(msg) + 3, 0));
	assert_false(says(&msg, name, sizeof(msg) + 5, 0));
	assert_false(says(&msg, name, sizeof(msg) + 4, 100));
	msg.op = 0;
	assert_false(says(&msg, name, sizeof(msg) + 4, 0));
	msg.op = UNIC_KIO_OPS;
	assert_false(says(&msg, name, sizeof(msg) + 4, 0));
	msg.op = UNIC_KIO_ANSWER;
	assert_false(says(&msg, name, sizeof(msg) + 4, 0));
	msg.op = UNIC_KIO_DATA; /* for no WRITE */
	assert_false(says(&msg, name, sizeof(msg) + 4, 0));
	msg.name_bytes = 0;
	assert_true(says(&msg, name, sizeof(msg), 10));
	assert_int_equal(runs, 0);
	assert_true(unic_kio_server_idle(&server));
	/* these are answered EINVAL */
	msg.op = UNIC_KIO_READ;
	msg.name_bytes = 4;
	msg.len = unic_to_le32(UNIC_KIO_MAX + 1);
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.len = unic_to_le32(0);
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.len = unic_to_le32(10);
	msg.offset = unic_to_le64(INT64_MAX - 9);
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.offset = unic_to_le64(0);
	assert_true(says(&msg, "a\0cd                ", sizeof(msg) + 4, 0));
	msg.rsvd = 1;
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.rsvd = 0;
	msg.rsvd2 = unic_to_le32(1);
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	msg.rsvd2 = unic_to_le32(0);
	msg.op = UNIC_KIO_STAT; /* with bytes */
	assert_true(says(&msg, name, sizeof(msg) + 4, 0));
	assert_true(unic_kio_server_idle(&server));
	assert_int_equal(runs, 0);
}

/* Data of one WRITE that arrives by the token of another is not written: the
 * buffer of the first WRITE has old bytes. */
static void data_in_the_wrong_token(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_WRITE,
				    .name_bytes = 4,
				    .len = unic_to_le32(100) };
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		msg.id = unic_to_le32(i);
		assert_true(
			says(&msg, "abcdefghijklmnopqrst", sizeof(msg) + 4, 0));
	}
	unic_kio_server_poll(&server, 1);
	unic_kio_server_poll(&server, 1);
	commands();
	assert_int_equal(server.job[0].state, UNIC_KIO_JOB_GRANTED);
	msg = (struct unic_kio_msg){ .op = UNIC_KIO_DATA };
	assert_true(unic_kio_server_message(&server, &msg, sizeof(msg),
					    server.job[1].token, 100));
	assert_int_equal(server.job[0].state, UNIC_KIO_JOB_CANCEL);
	/* fewer bytes than the request named: nothing is written either */
	msg.id = unic_to_le32(1);
	assert_true(unic_kio_server_message(&server, &msg, sizeof(msg),
					    server.job[1].token, 99));
	assert_int_equal(runs, 0);
}

/* A request for which the server has no job is refused; the end of the
 * connection drops all its requests. */
static void too_many_requests(void **state)
{
	struct unic_kio_msg msg = { .op = UNIC_KIO_READ,
				    .name_bytes = 1,
				    .len = unic_to_le32(10) };
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_KIO_JOBS; i++)
		assert_true(
			says(&msg, "abcdefghijklmnopqrst", sizeof(msg) + 1, 0));
	assert_false(says(&msg, "abcdefghijklmnopqrst", sizeof(msg) + 1, 0));
	unic_kio_server_down(&server, false);
	assert_true(unic_kio_server_idle(&server));
}

static uint32_t rnd(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Random messages to both ends, in any order: no access leaves a buffer (the
 * sanitizers check), and each I/O ends. */
static void random_messages(void **state)
{
	static const uint8_t ops[] = { 0, 1, 2, 3, 4, 5, 6, 16, 17, 18, 255 };
	uint32_t seed = 1, i, round;

	(void)state;
	rough = true;
	for (round = 0; round < 200; round++) {
		finished = 0;
		for (i = 0; i < 8; i++)
			start(i, 1 + i % 5, 'r', 0, i % 5 < 3 ? 1000 : 0,
			      i % 5 < 3);
		for (i = 0; i < 60; i++) {
			struct unic_kio_msg msg = {
				.op = ops[rnd(&seed) % sizeof(ops)],
				.name_bytes = (uint8_t)(rnd(&seed) % 3),
				.id = unic_to_le32(client.turn * 16 -
						   rnd(&seed) % 40),
				.status = unic_to_le32(rnd(&seed) % 3),
				.len = unic_to_le32(rnd(&seed) % 2000),
				.offset = unic_to_le64(rnd(&seed) % 9000),
			};
			uint32_t payload = rnd(&seed) % 4 ? 0 : 1000;

			if (rnd(&seed) % 2)
				unic_kio_message(&client, &msg, rnd(&seed) % 4,
						 payload);
			else
				says(&msg, "abcdefghijklmnopqrst",
				     sizeof(msg) + rnd(&seed) % 4, payload);
			step();
		}
		unic_kio_up(&client, false);
		deaf = true;
		step();
		unic_kio_server_down(&server, false);
		run(8);
		for (i = 0; i < 5; i++)
			step();
		deaf = false;
		unic_kio_up(&client, true);
		nothing_left();
	}
}

static void wrong_requests(void **state)
{
	struct unic_kio bad = { .op = UNIC_KIO_READ, .len = 10, .done = done };

	(void)state;
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.pieces = UNIC_TOKEN_PIECES + 1;
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.pieces = 1;
	bad.piece[0].len = unic_to_le32(11);
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.len = UNIC_KIO_MAX + 1;
	bad.piece[0].len = unic_to_le32(UNIC_KIO_MAX + 1);
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.len = 11;
	bad.piece[0].len = unic_to_le32(11);
	bad.op = UNIC_KIO_STAT;
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	bad.op = UNIC_KIO_OPS;
	assert_int_equal(unic_kio_start(&client, &bad), -EINVAL);
	assert_int_equal(client.busy, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(strange_answers, up),
		cmocka_unit_test_setup(answered_without_data, up),
		cmocka_unit_test_setup(strange_requests, up),
		cmocka_unit_test_setup(data_in_the_wrong_token, up),
		cmocka_unit_test_setup(too_many_requests, up),
		cmocka_unit_test_setup(random_messages, up),
		cmocka_unit_test_setup(wrong_requests, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

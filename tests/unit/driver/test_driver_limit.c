/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_limit.c - what a process may have the driver do in a second: answers to
 * misses, registrations, wakes for upcalls. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "limit.h"
#include "upcall.h"

#define MS 1000000ull

/* Ten in a second, so two at once: one that is due, and one that was saved up. */
#define SLOW 10u

/* An administrator's LIMITS_OF. Returns the status. */
static int limits_of(struct fake *f, uint32_t proc, uint32_t flags,
		     uint32_t rate)
{
	struct unic_ctl_limits r = {
		.hdr.op = unic_to_le16(UNIC_CTL_LIMITS_OF),
		.proc = unic_to_le32(proc),
		.flags = unic_to_le32(flags),
	};
	uint32_t i;

	for (i = 0; i < UNIC_CTL_LIMITS; i++)
		if (flags >> i & 1)
			r.limit[i] = unic_to_le32(rate);
	f->client.privileged = true;
	f->os.replies = 0;
	return request(f, UNIC_CTL_LIMITS_OF, &r);
}

static void set_limit(struct fake *f, enum unic_ctl_limit which, uint32_t rate)
{
	assert_int_equal(limits_of(f, f->client.slot, 1u << which, rate),
			 UNIC_ST_OK);
}

/* How often there was more than limit @which. */
static uint32_t over(struct fake *f, enum unic_ctl_limit which)
{
	assert_int_equal(limits_of(f, f->client.slot, 0, 0), UNIC_ST_OK);
	return reply_u32(f, 28 + 4 * (uint32_t)which);
}

/* A registration that names nothing: the driver looks, and NO_MR. */
static int try_register(struct fake *f)
{
	struct unic_ctl_mr_make r = { .id = unic_to_le32(99) };

	f->os.replies = 0;
	return request(f, UNIC_CTL_MR_MAKE, &r);
}

static void registrations_come_too_fast(void **state)
{
	struct fake *f = fake_new();
	uint32_t id, i;

	(void)state;
	f->os.now_ns = 1000 * MS;
	id = region(f, 4);
	for (i = 0; i < 500; i++) /* no limit */
		assert_int_equal(try_register(f), UNIC_ST_NO_MR);
	set_limit(f, UNIC_CTL_LIMIT_REGISTRATIONS, SLOW);
	assert_int_equal(try_register(f), UNIC_ST_NO_MR);
	assert_int_equal(try_register(f), UNIC_ST_NO_MR);
	assert_int_equal(try_register(f), UNIC_CTL_ST_TOO_FAST);
	assert_int_equal(reply_u32(f, 16), 100000); /* us */
	f->os.now_ns += 99 * MS;
	assert_int_equal(try_register(f), UNIC_CTL_ST_TOO_FAST);
	assert_int_equal(reply_u32(f, 16), 1000);
	f->os.now_ns += 1 * MS;
	assert_int_equal(try_register(f), UNIC_ST_NO_MR);
	assert_int_equal(try_register(f), UNIC_CTL_ST_TOO_FAST);
	/* who was quiet has no more than a tenth of a second */
	f->os.now_ns += 5000 * MS;
	for (i = 0; i < 2; i++)
		assert_int_equal(try_register(f), UNIC_ST_NO_MR);
	assert_int_equal(try_register(f), UNIC_CTL_ST_TOO_FAST);
	assert_int_equal(over(f, UNIC_CTL_LIMIT_REGISTRATIONS), 4);
	set_limit(f, UNIC_CTL_LIMIT_REGISTRATIONS, 0);
	for (i = 0; i < 500; i++)
		assert_int_equal(try_register(f), UNIC_ST_NO_MR);
	assert_int_not_equal(id, 0);
	fake_delete(f);
}

/* What ends a region is no registration. */
static void giving_back_has_no_limit(void **state)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(99) };
	struct fake *f = fake_new();
	uint32_t i;

	(void)state;
	region(f, 4);
	set_limit(f, UNIC_CTL_LIMIT_REGISTRATIONS, 1);
	while (try_register(f) != UNIC_CTL_ST_TOO_FAST)
		;
	for (i = 0; i < 100; i++) {
		f->os.replies = 0;
		assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r),
				 UNIC_ST_NO_MR);
	}
	f->client.kernel = true;
	assert_int_equal(try_register(f), UNIC_ST_NO_MR);
	fake_delete(f);
}

/* A batch goes on whole, and its registrations count one by one. */
static void batches_count_what_is_in_them(void **state)
{
	struct {
		struct unic_ctl_batch r;
		struct unic_ctl_mr_alloc one[8];
	} msg;
	struct unic_ctl_hdr got;
	struct fake *f = fake_new();
	uint32_t i;

	(void)state;
	memset(&msg, 0, sizeof(msg));
	region(f, 4);
	f->os.now_ns = 1000 * MS;
	set_limit(f, UNIC_CTL_LIMIT_REGISTRATIONS, SLOW);
	msg.r.hdr.op = unic_to_le16(UNIC_CTL_BATCH);
	msg.r.hdr.tail_bytes = unic_to_le32(sizeof(msg.one));
	msg.r.count = unic_to_le32(8);
	for (i = 0; i < 8; i++) /* of kinds that there are not */
		msg.one[i] = (struct unic_ctl_mr_alloc){
			.hdr.op = unic_to_le16(UNIC_CTL_MR_ALLOC),
			.kind = 99,
		};
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &msg, sizeof(msg)));
	assert_int_equal(f->os.replies, 1);
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.status), UNIC_ST_OK);
	assert_int_equal(try_register(f), UNIC_CTL_ST_TOO_FAST);
	assert_int_equal(reply_u32(f, 16), 700000);
	fake_delete(f);
}

/* What one process uses up another one has. */
static void others_have_their_own(void **state)
{
	struct unic_client other = { .pid = 8, .slot = UNIC_OS_NO_SLOT };
	struct unic_ctl_hello hi = {
		.hdr.op = unic_to_le16(UNIC_CTL_HELLO),
		.version = unic_to_le32(UNIC_CTL_VERSION),
	};
	struct unic_ctl_mr_make r = { .hdr.op = unic_to_le16(UNIC_CTL_MR_MAKE),
				      .id = unic_to_le32(99) };
	struct fake *f = fake_new();
	struct unic_ctl_hdr got;

	(void)state;
	f->host->config.limit[UNIC_CTL_LIMIT_REGISTRATIONS] = SLOW;
	f->os.now_ns = 1000 * MS;
	region(f, 4);
	while (try_register(f) != UNIC_CTL_ST_TOO_FAST)
		;
	assert_true(unic_host_request(f->host, &other, &hi, sizeof(hi)));
	settle(f);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &other, &r, sizeof(r)));
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.status), UNIC_ST_NO_MR);
	assert_int_equal(try_register(f), UNIC_CTL_ST_TOO_FAST);
	fake_delete(f);
}

static void miss(struct fake *f, uint32_t id, uint32_t first)
{
	struct unic_evt_miss evt = {
		.hdr = { .type = UNIC_EVT_MISS,
			 .epoch = unic_to_le32(f->epoch) },
		.mr = unic_to_le32(3),
		.gen = unic_to_le32(9),
		.user = unic_to_le32(id),
		.first = unic_to_le32(first),
		.count = unic_to_le32(1),
	};

	event(f, &evt);
}

static void misses_are_put_off(void **state)
{
	struct fake *f = fake_new();
	uint32_t id, i;

	(void)state;
	residency = UNIC_DEMAND;
	id = region(f, 8);
	residency = UNIC_RESIDENT;
	f->os.now_ns = 1000 * MS;
	set_limit(f, UNIC_CTL_LIMIT_FAULTS, SLOW);
	for (i = 0; i < 4; i++)
		miss(f, id, i);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 2);
	assert_int_equal(unic_host_poll(f->host), 1100 * MS);
	f->os.now_ns += 100 * MS - 1;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 2);
	f->os.now_ns += 1;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 3);
	f->os.now_ns += 100 * MS;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 4);
	assert_int_equal(over(f, UNIC_CTL_LIMIT_FAULTS), 2);
	/* one that the NIC gives up before its time costs nothing */
	set_limit(f, UNIC_CTL_LIMIT_FAULTS, 1);
	miss(f, id, 4);
	miss(f, id, 5);
	miss(f, id, 6);
	f->os.now_ns += 1000 * MS;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 5);
	miss(f, id, 7);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 6);
	fake_delete(f);
}

static void upcall_of(struct fake *f, uint8_t type)
{
	unic_upcall_send_obj(f->host, f->client.slot, type, 0, 0, 0);
}

static void one_wake_is_for_many_upcalls(void **state)
{
	struct fake *f = fake_new();
	uint32_t was, i;

	(void)state;
	region(f, 4);
	f->os.now_ns = 1000 * MS;
	set_limit(f, UNIC_CTL_LIMIT_UPCALLS, SLOW);
	was = f->os.upcalls;
	for (i = 0; i < 50; i++)
		upcall_of(f, UNIC_UP_CQ_ERROR);
	assert_int_equal(f->os.upcalls - was, 2);
	assert_int_equal(unic_from_le32(f->host->proc[0].ring->next), 50);
	assert_int_equal(unic_host_poll(f->host), 1100 * MS);
	assert_int_equal(f->os.upcalls - was, 2);
	f->os.now_ns += 100 * MS;
	unic_host_poll(f->host);
	assert_int_equal(f->os.upcalls - was, 3);
	f->os.now_ns += 1000 * MS;
	unic_host_poll(f->host); /* nothing new */
	assert_int_equal(f->os.upcalls - was, 3);
	assert_int_equal(over(f, UNIC_CTL_LIMIT_UPCALLS), 1);
	fake_delete(f);
}

static void deadlines_wake_at_once(void **state)
{
	struct fake *f = fake_new();
	uint32_t was, i;

	(void)state;
	region(f, 4);
	f->os.now_ns = 1000 * MS;
	set_limit(f, UNIC_CTL_LIMIT_UPCALLS, SLOW);
	was = f->os.upcalls;
	for (i = 0; i < 10; i++)
		upcall_of(f, UNIC_UP_CQ_ERROR);
	upcall_of(f, UNIC_UP_NOTICE);
	upcall_of(f, UNIC_UP_INVALIDATE);
	upcall_of(f, UNIC_UP_RESET);
	assert_int_equal(f->os.upcalls - was, 5);
	/* those before were told, too */
	f->os.now_ns += 1000 * MS;
	unic_host_poll(f->host);
	assert_int_equal(f->os.upcalls - was, 5);
	fake_delete(f);
}

static void limits_are_the_administrators(void **state)
{
	struct unic_ctl_limits r = { .proc = unic_to_le32(0) };
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	f->client.privileged = false;
	f->os.replies = 0;
	assert_int_equal(request(f, UNIC_CTL_LIMITS_OF, &r),
			 UNIC_CTL_ST_PERMISSION);
	assert_int_equal(limits_of(f, 1, 0, 0), UNIC_ST_NO_PROC);
	assert_int_equal(limits_of(f, 99, 0, 0), UNIC_ST_NO_PROC);
	assert_int_equal(limits_of(f, 0, 8, 0), UNIC_ST_INVALID);
	assert_int_equal(limits_of(f, 0, 1, UNIC_CTL_LIMIT_MAX + 1),
			 UNIC_ST_INVALID);
	r.limit[1] = unic_to_le32(5);
	f->os.replies = 0;
	assert_int_equal(request(f, UNIC_CTL_LIMITS_OF, &r), UNIC_ST_INVALID);
	assert_int_equal(limits_of(f, 0, 2, 7), UNIC_ST_OK);
	assert_int_equal(reply_u32(f, 16), 0);
	assert_int_equal(reply_u32(f, 20), 7);
	/* all: those that are there, and those to come */
	assert_int_equal(limits_of(f, UNIC_CTL_LIMITS_ALL, 4, 9), UNIC_ST_OK);
	assert_int_equal(reply_u32(f, 24), 9);
	assert_int_equal(limits_of(f, 0, 0, 0), UNIC_ST_OK);
	assert_int_equal(reply_u32(f, 20), 7);
	assert_int_equal(reply_u32(f, 24), 9);
	assert_int_equal(f->host->config.limit[2], 9);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registrations_come_too_fast),
		cmocka_unit_test(giving_back_has_no_limit),
		cmocka_unit_test(batches_count_what_is_in_them),
		cmocka_unit_test(others_have_their_own),
		cmocka_unit_test(misses_are_put_off),
		cmocka_unit_test(one_wake_is_for_many_upcalls),
		cmocka_unit_test(deadlines_wake_at_once),
		cmocka_unit_test(limits_are_the_administrators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

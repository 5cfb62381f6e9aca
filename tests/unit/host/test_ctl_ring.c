/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_ctl_ring.c - the trace of a NIC as a reader follows it, over a driver that the test
 * plays: events are overwritten, and other NICs come, which count from 0.
 */
#include <errno.h>

#include "unit.h"

#include "ctl_ring.h"
#include "error.h"

#define PER_READ 8u /* events of a reply */

static struct unic_trace_rec there[UNIC_TRACE_ENTRIES];
static struct unic_trace_rec rec[CTL_RING_MAX];
static struct ctl_ring ring;
static int fails;	 /* status of the next call */
static uint64_t pair_ns; /* CLOCK_MONOTONIC that a reply has */

int unic_fail_status(const char *what, int status)
{
	assert_non_null(what);
	return status ? -EIO : 0;
}

/* As unic_admin_trace() of the driver's core. */
int unic_conn_call(struct unic_conn *conn, unsigned int op,
		   struct unic_conn_call *call)
{
	struct unic_ctl_trace_reply reply = { 0 };
	struct unic_trace_rec *tail = call->reply_tail;
	struct unic_ctl_trace req;
	uint32_t first, seq, n = 0;

	assert_null(conn);
	assert_int_equal(op, UNIC_CTL_TRACE);
	assert_true(call->reply_room >= PER_READ * sizeof(*tail));
	memcpy(&req, call->rec, sizeof(req));
	first = unic_from_le32(req.from);
	seq = unic_from_le32(there[first % UNIC_TRACE_ENTRIES].seq);
	if (seq > first + 1)
		first = seq - 1 - UNIC_TRACE_ENTRIES + 64;
	for (; n < PER_READ; n++) {
		tail[n] = there[(first + n) % UNIC_TRACE_ENTRIES];
		if (unic_from_le32(tail[n].seq) != first + n + 1)
			break;
	}
	reply.first = unic_to_le32(first);
	reply.next = unic_to_le32(first + n);
	reply.pair_host_ns = unic_to_le64(pair_ns);
	memcpy(call->rec, &reply, sizeof(reply));
	call->reply_bytes = n * sizeof(*tail);
	return fails;
}

/* The NIC of life @arg writes events @from to @to - 1. */
static void writes(uint32_t from, uint32_t to, uint32_t arg)
{
	for (; from < to; from++)
		there[from % UNIC_TRACE_ENTRIES] = (struct unic_trace_rec){
			.seq = unic_to_le32(from + 1),
			.time_ns = unic_to_le64(1000ull * arg + from),
			.arg = { unic_to_le32(arg) },
		};
}

/* The next events are @from to @to - 1 of life @arg, and no others come. */
static void reads(uint32_t from, uint32_t to, uint32_t arg)
{
	int i, n;

	while ((n = ctl_ring_read(NULL, &ring, rec)) > 0) {
		for (i = 0; i < n; i++, from++) {
			assert_int_equal(unic_from_le32(rec[i].seq), from + 1);
			assert_int_equal(unic_from_le32(rec[i].arg[0]), arg);
		}
	}
	assert_int_equal(n, 0);
	assert_int_equal(from, to);
}

static int nothing_there(void **state)
{
	(void)state;
	memset(there, 0, sizeof(there));
	memset(&ring, 0, sizeof(ring));
	fails = 0;
	pair_ns = 5;
	return 0;
}

static void each_event_once(void **state)
{
	(void)state;
	reads(0, 0, 1);
	writes(0, 20, 1);
	reads(0, 20, 1);
	reads(20, 20, 1);
	writes(20, 21, 1);
	reads(20, 21, 1);
	writes(21, 40, 1);
	reads(21, 40, 1);
	assert_int_equal(ring.host_ns, 5);
	pair_ns = 0; /* the NIC is not there: its time is as before */
	reads(40, 40, 1);
	assert_int_equal(ring.host_ns, 5);
}

/* What was overwritten is passed over, from the start and later; of the rest at most 64
 * events are missing. */
static void overwritten(void **state)
{
	static const uint32_t newest[] = { 5000, 15000, 15000 + 4097 };
	uint32_t i, written = 0, oldest;

	(void)state;
	for (i = 0; i < 3; i++) {
		writes(written, newest[i], 1);
		written = newest[i];
		assert_true(ctl_ring_read(NULL, &ring, rec) > 0);
		oldest = unic_from_le32(rec[0].seq) - 1;
		assert_in_range(oldest, written - UNIC_TRACE_ENTRIES,
				written - UNIC_TRACE_ENTRIES + 64);
		reads(unic_from_le32(ring.last.seq), written, 1);
	}
}

/* Another NIC has written fewer events, as many, and more than were read. */
static void of_another_nic(void **state)
{
	static const uint32_t n[] = { 3, 20, 21, 30 };
	uint32_t i;

	for (i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
		nothing_there(state);
		writes(0, 20, 1);
		reads(0, 20, 1);
		memset(there, 0, sizeof(there));
		pair_ns = 0;
		writes(0, n[i], 2);
		if (n[i] < 20) /* the first time it might be written just now */
			reads(0, 0, 2);
		reads(0, n[i], 2);
		assert_int_equal(ring.others, 1);
		assert_int_equal(ring.host_ns, 0); /* that of the NIC before */
		writes(n[i], n[i] + 1, 2);
		reads(n[i], n[i] + 1, 2);
	}
}

/* An event that is overwritten while the driver looks is no other NIC's. */
static void being_overwritten(void **state)
{
	uint32_t i;

	(void)state;
	writes(0, 20, 1);
	reads(0, 20, 1);
	for (i = 0; i < 3; i++) {
		there[19].seq = unic_to_le32(0);
		reads(20, 20, 1);
		there[19].seq = unic_to_le32(20);
		reads(20, 20, 1);
	}
	writes(20, 21, 1);
	reads(20, 21, 1);
	assert_int_equal(ring.others, 0);
}

static void skips_what_is_there(void **state)
{
	(void)state;
	assert_int_equal(ctl_ring_skip(NULL, &ring), 0);
	writes(0, 50, 1);
	assert_int_equal(ctl_ring_skip(NULL, &ring), 0);
	reads(50, 50, 1);
	writes(50, 51, 1);
	reads(50, 51, 1);
	fails = UNIC_CTL_ST_TOO_MANY;
	assert_int_equal(ctl_ring_skip(NULL, &ring), -EIO);
}

/* A driver that refuses is asked again from where the reader was. */
static void refused(void **state)
{
	(void)state;
	writes(0, 20, 1);
	reads(0, 20, 1);
	fails = UNIC_CTL_ST_TOO_MANY;
	assert_int_equal(ctl_ring_read(NULL, &ring, rec), -EIO);
	fails = 0;
	writes(20, 22, 1);
	reads(20, 22, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_event_once, nothing_there),
		cmocka_unit_test_setup(overwritten, nothing_there),
		cmocka_unit_test_setup(of_another_nic, nothing_there),
		cmocka_unit_test_setup(being_overwritten, nothing_there),
		cmocka_unit_test_setup(skips_what_is_there, nothing_there),
		cmocka_unit_test_setup(refused, nothing_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_policysim.c - reading traces, Belady's MIN, and replaying. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "refs.h"
#include "replay.h"
#include "unic_mbox.h"
#include "unit.h"

static char why[160];

static int read_text(struct refs *r, enum refs_format format, const void *text,
		     size_t len, int skip)
{
	char path[] = "/tmp/unic-refs-XXXXXX";
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
	err = refs_read(r, path, format, 4096, skip, why, sizeof(why));
	unlink(path);
	return err;
}

static int read_string(struct refs *r, enum refs_format format, const char *s)
{
	return read_text(r, format, s, strlen(s), -1);
}

static void ids_are_numbered_and_linked(void **state)
{
	static const uint32_t thing[] = { 0, 1, 0, 2, 1 };
	static const uint32_t next[] = { 2, 4, REFS_NEVER, REFS_NEVER,
					 REFS_NEVER };
	struct refs r;
	size_t i;

	(void)state;
	assert_int_equal(
		read_string(&r, REFS_IDS, "70\n8\n\n70\n9000000000\r\n8"), 0);
	assert_int_equal(r.n, 5);
	assert_int_equal(r.n_things, 3);
	for (i = 0; i < r.n; i++) {
		assert_int_equal(r.ref[i].thing, thing[i]);
		assert_int_equal(r.ref[i].next, next[i]);
	}
	refs_free(&r);
}

static void csv_has_a_header_or_not(void **state)
{
	static const char with[] = "time,key,size\n1.5,7,4097,3,9\n2,7,1,4\n",
			  without[] = "1,7,4097,3,9\n2,7,1,4\n";
	const char *text[] = { with, without };
	struct refs r;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(read_string(&r, REFS_CSV, text[i]), 0);
		assert_int_equal(r.n, 2);
		/* the key of another process is another thing */
		assert_int_equal(r.n_things, 2);
		assert_int_equal(r.thing[0].entries, 2);
		assert_int_equal(r.thing[0].bytes, 4097);
		assert_int_equal(r.thing[0].process, 3);
		assert_int_equal(r.thing[0].importance, 9);
		assert_int_equal(r.thing[1].entries, 1);
		assert_int_equal(r.processes, 5);
		refs_free(&r);
	}
	assert_int_equal(read_text(&r, REFS_CSV, with, strlen(with), 3), 0);
	assert_int_equal(r.n, 1);
	assert_int_equal(r.thing[0].process, 4);
	refs_free(&r);
}

/* Of trace-event JSON, the references. */
static void events_that_are_references(void **state)
{
	static const char text[] =
		"{\"traceEvents\":[{\"ph\":\"M\",\"args\":{\"key\":1}},"
		"{\"cat\":\"reference\",\"args\":{\"key\":7,\"size\":8192,"
		"\"process\":3,\"importance\":9}},{\"cat\":\"frame\"},"
		"{\"cat\":\"reference\",\"args\":{\"key\":7,\"size\":8192,"
		"\"process\":3}}]}";
	struct refs r;

	(void)state;
	assert_int_equal(read_string(&r, REFS_EVENTS, text), 0);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.n_things, 1);
	assert_int_equal(r.thing[0].entries, 2);
	assert_int_equal(r.thing[0].process, 3);
	assert_int_equal(r.thing[0].importance, 9);
	refs_free(&r);
}

static void oracle_records_are_packed(void **state)
{
	uint8_t file[48] = { 1,	   0,	 0,    0,    0x88, 0x77, 0x66,
			     0x55, 0x44, 0x33, 0x22, 0x11, 0,	 0x20 };
	struct refs r;

	(void)state;
	memcpy(file + 24, file, 24);
	assert_int_equal(read_text(&r, REFS_ORACLE, file, 48, -1), 0);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.n_things, 1);
	assert_int_equal(r.thing[0].bytes, 8192);
	assert_int_equal(r.thing[0].entries, 2);
	refs_free(&r);
	assert_int_equal(read_text(&r, REFS_ORACLE, file, 47, -1), -1);
	assert_non_null(strstr(why, "record 2"));
}

static void bad_traces_are_refused(void **state)
{
	static const struct {
		enum refs_format format;
		const char *text;
	} bad[] = {
		{ REFS_IDS, "" },
		{ REFS_IDS, "\n\n" },
		{ REFS_IDS, "1\nx\n" },
		{ REFS_IDS, "-1\n" },
		{ REFS_IDS, "1,2\n" },
		{ REFS_CSV, "1,2\n" },
		{ REFS_CSV, "time,key,size\n" },
		{ REFS_CSV, "1,2,3,8\n" },
		{ REFS_CSV, "1,2,3,0,256\n" },
		{ REFS_CSV, "1,2,3,4,5,6\n" },
		{ REFS_CSV, "1,,3\n" },
		{ REFS_CSV, "1,2,3\nkey\n" },
		{ REFS_IDS, "99999999999999999999\n" },
		{ REFS_EVENTS, "{" },
		{ REFS_EVENTS, "[]" },
		{ REFS_EVENTS, "{\"traceEvents\":{}}" },
		{ REFS_EVENTS, "{\"traceEvents\":[]}" },
		{ REFS_EVENTS, "{\"traceEvents\":[{\"cat\":\"reference\"}]}" },
		{ REFS_EVENTS, "{\"traceEvents\":[{\"cat\":\"reference\","
			       "\"args\":{\"key\":1,\"size\":1,"
			       "\"process\":8}}]}" },
	};
	struct refs r;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = 0;
		assert_int_equal(read_string(&r, bad[i].format, bad[i].text),
				 -1);
		assert_true(why[0]);
		assert_null(r.ref);
	}
	assert_int_equal(refs_read(&r, "/nowhere/at/all", REFS_IDS, 4096, -1,
				   why, sizeof(why)),
			 -1);
}

/* So many things that the hash table grows a few times. */
static void many_things_keep_their_numbers(void **state)
{
	char *text = malloc(2 * 20000 * 8), *at = text;
	struct refs r;
	uint32_t i;

	(void)state;
	for (i = 0; i < 40000; i++)
		at += sprintf(at, "%u\n", i % 20000 * 7);
	assert_int_equal(read_string(&r, REFS_IDS, text), 0);
	assert_int_equal(r.n_things, 20000);
	for (i = 0; i < 40000; i++)
		assert_int_equal(r.ref[i].thing, i % 20000);
	refs_free(&r);
	free(text);
}

/* The usual textbook example: three frames, 20 references, 9 faults. */
static void min_is_minimal(void **state)
{
	struct replay_result res;
	struct refs r;

	(void)state;
	assert_int_equal(read_string(&r, REFS_IDS,
				     "7\n0\n1\n2\n0\n3\n0\n4\n2\n3\n0\n3\n2\n1"
				     "\n2\n0\n1\n7\n0\n1\n"),
			 0);
	assert_int_equal(replay_belady(&r, 3, &res), 0);
	assert_int_equal(res.refs, 20);
	assert_int_equal(res.hits, 11);
	refs_free(&r);
}

/* No policy has more hits than MIN; with room for all things, a policy misses
 * each thing once. */
static void no_policy_beats_min(void **state)
{
	static char text[60000];
	uint32_t kind, n, i, entries;
	struct replay_result min, res;
	uint64_t x = 1;
	char *at = text;
	struct refs r;

	(void)state;
	for (i = 0; i < 12000; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		n = (uint32_t)(x >> 33) % 60;
		at += sprintf(at, "%u\n", n < 30 ? n % 9 : n);
	}
	assert_int_equal(read_string(&r, REFS_IDS, text), 0);
	for (entries = 1; entries <= 64; entries *= 2)
		for (kind = 0; kind < UNIC_POLICIES; kind++) {
			struct replay_table t = { entries, 2, kind == 2 };

			assert_int_equal(replay_belady(&r, entries, &min), 0);
			assert_int_equal(replay_policy(&r, &t, kind, &res), 0);
			assert_int_equal(res.refs, r.n);
			assert_true(res.hits <= min.hits);
			if (entries == 64)
				assert_int_equal(res.hits, r.n - r.n_things);
		}
	refs_free(&r);
}

static void sizes_and_processes_are_counted(void **state)
{
	struct replay_table t = { .entries = 4, .remember = 1, .shares = true };
	struct replay_result res;
	struct refs r;

	(void)state;
	/* the second thing is larger than the table */
	assert_int_equal(read_string(&r, REFS_CSV,
				     "1,1,8192,0\n2,2,20480,1\n3,1,8192,0\n"
				     "4,3,100,1\n5,3,100,1\n6,2,20480,1\n"),
			 0);
	assert_int_equal(replay_policy(&r, &t, UNIC_POLICY_DEFAULT, &res), 0);
	assert_int_equal(res.hits, 2);
	assert_int_equal(res.byte_hits, 8292);
	assert_int_equal(res.process_refs[1], 4);
	assert_int_equal(res.process_hits[1], 1);
	assert_int_equal(replay_belady(&r, 4, &res), 0);
	assert_int_equal(res.hits, 2);
	refs_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_numbered_and_linked),
		cmocka_unit_test(csv_has_a_header_or_not),
		cmocka_unit_test(oracle_records_are_packed),
		cmocka_unit_test(events_that_are_references),
		cmocka_unit_test(bad_traces_are_refused),
		cmocka_unit_test(many_things_keep_their_numbers),
		cmocka_unit_test(min_is_minimal),
		cmocka_unit_test(no_policy_beats_min),
		cmocka_unit_test(sizes_and_processes_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmocka.c - the runner and the comparisons behind cmocka.h on the target.
 * A failed assertion leaves its test by longjmp, as cmocka's does.
 */
#include <setjmp.h>
#include <stdarg.h>

#include "cmocka.h"

enum unit_end {
	UNIT_RUNNING = 0,
	UNIT_FAILED = 1,
	UNIT_SKIPPED = 2,
};

static jmp_buf unit_exit;

void unit_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	if (format) {
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
		printf("\n");
	}
	printf("[   LINE   ] --- %s:%d: error: Failure!\n", file, line);
	longjmp(unit_exit, UNIT_FAILED);
}

void unit_skip(const char *file, int line)
{
	(void)file;
	(void)line;
	longjmp(unit_exit, UNIT_SKIPPED);
}

void unit_compare(unsigned long long a, unsigned long long b, bool want_equal,
		  const char *file, int line)
{
	if ((a == b) == want_equal)
		return;
	unit_fail(file, line, "0x%llx %s 0x%llx", a,
		  want_equal ? "!=" : "==", b);
}

void unit_range(unsigned long long v, unsigned long long min,
		unsigned long long max, bool want_inside, const char *file,
		int line)
{
	if ((v >= min && v <= max) == want_inside)
		return;
	unit_fail(file, line, "0x%llx is %s 0x%llx..0x%llx", v,
		  want_inside ? "outside" : "inside", min, max);
}

void unit_bytes(const void *a, const void *b, size_t n, bool want_equal,
		const char *file, int line)
{
	const uint8_t *x = a, *y = b;
	size_t i;

	for (i = 0; i < n && x[i] == y[i]; i++)
		;
	if ((i == n) == want_equal)
		return;
	if (!want_equal)
		unit_fail(file, line, "all %lu bytes are the same",
			  (unsigned long)n);
	unit_fail(file, line, "difference at offset %lu: 0x%02x 0x%02x",
		  (unsigned long)i, x[i], y[i]);
}

void unit_text(const char *a, const char *b, bool want_equal, const char *file,
	       int line)
{
	if ((strcmp(a, b) == 0) == want_equal)
		return;
	unit_fail(file, line, "\"%s\" %s \"%s\"", a,
		  want_equal ? "!=" : "==", b);
}

static enum unit_end unit_one(const struct CMUnitTest *test, void **state)
{
	enum unit_end end = (enum unit_end)setjmp(unit_exit);

	if (end != UNIT_RUNNING)
		return end;
	if (test->setup_func && test->setup_func(state))
		return UNIT_FAILED;
	test->test_func(state);
	return UNIT_RUNNING;
}

/* Tear-down runs whatever the test did; failing it fails the test. */
static enum unit_end unit_teardown(const struct CMUnitTest *test, void **state)
{
	enum unit_end end = (enum unit_end)setjmp(unit_exit);

	if (end != UNIT_RUNNING)
		return end;
	if (test->teardown_func && test->teardown_func(state))
		return UNIT_FAILED;
	return UNIT_RUNNING;
}

static enum unit_end unit_judge(const struct CMUnitTest *test, void *state)
{
	static const char *const verdict[] = { "       OK ", "  FAILED  ",
					       "  SKIPPED " };
	enum unit_end end, after;

	printf("[ RUN      ] %s\n", test->name);
	if (test->initial_state)
		state = test->initial_state;
	end = unit_one(test, &state);
	after = unit_teardown(test, &state);
	if (after == UNIT_FAILED)
		end = after;
	printf("[%s] %s\n", verdict[end], test->name);
	return end;
}

int unit_run(const char *group, const struct CMUnitTest *tests, size_t n,
	     int (*setup)(void **state), int (*teardown)(void **state))
{
	unsigned int count[3] = { 0 };
	void *state = NULL;

	printf("[==========] Running %u test(s).\n", (unsigned int)n);
	if (setup && setup(&state)) {
		printf("[  FAILED  ] GROUP SETUP %s\n", group);
		return -1;
	}
	for (size_t i = 0; i < n; i++)
		count[unit_judge(&tests[i], state)]++;
	if (teardown && teardown(&state)) {
		printf("[  FAILED  ] GROUP TEARDOWN %s\n", group);
		count[UNIT_FAILED]++;
	}
	printf("[  PASSED  ] %u test(s).\n", count[UNIT_RUNNING]);
	if (count[UNIT_SKIPPED])
		printf("[  SKIPPED ] %u test(s).\n", count[UNIT_SKIPPED]);
	if (count[UNIT_FAILED])
		printf("[  FAILED  ] %u test(s).\n", count[UNIT_FAILED]);
	return (int)count[UNIT_FAILED];
}

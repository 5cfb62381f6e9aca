/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmocka.h - the part of cmocka's interface that the unit tests use, for the
 * bare-metal target, where cmocka itself does not build. Same names, same
 * meaning, same report; see cmocka's documentation. What a test must not use
 * on the target (mocks, memory leak checks) is not here, so it does not
 * compile.
 */
#ifndef UNIT_TARGET_CMOCKA_H
#define UNIT_TARGET_CMOCKA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long long LargestIntegralType;

struct CMUnitTest {
	const char *name;
	void (*test_func)(void **state);
	int (*setup_func)(void **state);
	int (*teardown_func)(void **state);
	void *initial_state;
};

#define cmocka_unit_test(f)             \
	{                               \
#f, f, NULL, NULL, NULL \
	}
#define cmocka_unit_test_setup(f, s) \
	{                            \
#f, f, s, NULL, NULL \
	}
#define cmocka_unit_test_teardown(f, t) \
	{                               \
#f, f, NULL, t, NULL    \
	}
#define cmocka_unit_test_setup_teardown(f, s, t) \
	{                                        \
#f, f, s, t, NULL                \
	}
#define cmocka_unit_test_prestate(f, state) \
	{                                   \
#f, f, NULL, NULL, state    \
	}
#define cmocka_unit_test_prestate_setup_teardown(f, s, t, state) \
	{                                                        \
#f, f, s, t, state                               \
	}

/**
 * unit_run() - run @n tests, print cmocka's report.
 * Returns how many failed, or -1 when the group's own set-up failed.
 */
int unit_run(const char *group, const struct CMUnitTest *tests, size_t n,
	     int (*setup)(void **state), int (*teardown)(void **state));

#define cmocka_run_group_tests(tests, setup, teardown)                     \
	unit_run(#tests, tests, sizeof(tests) / sizeof((tests)[0]), setup, \
		 teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)        \
	unit_run(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, \
		 teardown)

/**
 * unit_fail() - end the running test as failed. Does not return.
 * @format: printf; NULL when the caller has printed the reason.
 */
void unit_fail(const char *file, int line, const char *format, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

/** unit_skip() - end the running test as skipped. Does not return. */
void unit_skip(const char *file, int line) __attribute__((noreturn));

/* The comparisons; each returns when it holds and fails the test when not. */
void unit_compare(unsigned long long a, unsigned long long b, bool want_equal,
		  const char *file, int line);
void unit_range(unsigned long long v, unsigned long long min,
		unsigned long long max, bool want_inside, const char *file,
		int line);
void unit_bytes(const void *a, const void *b, size_t n, bool want_equal,
		const char *file, int line);
void unit_text(const char *a, const char *b, bool want_equal, const char *file,
	       int line);

#define UNIT_INT(x) ((unsigned long long)(x))
#define UNIT_PTR(x) ((unsigned long long)(uintptr_t)(x))

#define assert_true(c)	unit_compare(!!(c), 1, true, __FILE__, __LINE__)
#define assert_false(c) unit_compare(!!(c), 0, true, __FILE__, __LINE__)
#define assert_return_code(rc, err)                                       \
	do {                                                              \
		if ((rc) < 0)                                             \
			unit_fail(__FILE__, __LINE__, "%s < 0 (%d)", #rc, \
				  (int)(err));                            \
	} while (0)
#define assert_int_equal(a, b) \
	unit_compare(UNIT_INT(a), UNIT_INT(b), true, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) \
	unit_compare(UNIT_INT(a), UNIT_INT(b), false, __FILE__, __LINE__)
#define assert_ptr_equal(a, b) \
	unit_compare(UNIT_PTR(a), UNIT_PTR(b), true, __FILE__, __LINE__)
#define assert_ptr_not_equal(a, b) \
	unit_compare(UNIT_PTR(a), UNIT_PTR(b), false, __FILE__, __LINE__)
#define assert_null(p) unit_compare(UNIT_PTR(p), 0, true, __FILE__, __LINE__)
#define assert_non_null(p) \
	unit_compare(UNIT_PTR(p), 0, false, __FILE__, __LINE__)
#define assert_in_range(v, min, max)                                          \
	unit_range(UNIT_INT(v), UNIT_INT(min), UNIT_INT(max), true, __FILE__, \
		   __LINE__)
#define assert_not_in_range(v, min, max)                                       \
	unit_range(UNIT_INT(v), UNIT_INT(min), UNIT_INT(max), false, __FILE__, \
		   __LINE__)
#define assert_memory_equal(a, b, n) \
	unit_bytes(a, b, n, true, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, n) \
	unit_bytes(a, b, n, false, __FILE__, __LINE__)
#define assert_string_equal(a, b)     unit_text(a, b, true, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) unit_text(a, b, false, __FILE__, __LINE__)
#define fail()			      unit_fail(__FILE__, __LINE__, NULL)
#define fail_msg(...)		      unit_fail(__FILE__, __LINE__, __VA_ARGS__)
#define skip()			      unit_skip(__FILE__, __LINE__)
#define print_message		      printf
#define print_error		      printf

#endif /* UNIT_TARGET_CMOCKA_H */

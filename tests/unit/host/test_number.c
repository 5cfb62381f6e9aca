/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_number.c - what is a number on a command line, and what is not. Host only. */
#include <errno.h>

#include "unit.h"

#include "number.h"

static void check(const char *text, uint64_t number)
{
	uint64_t v = 0;

	assert_int_equal(number_parse(text, 0, UINT64_MAX, &v), 0);
	assert_int_equal(v, number);
}

static void check_refused(const char *text, int err)
{
	uint64_t v = 7;

	assert_int_equal(number_parse(text, 0, UINT64_MAX, &v), err);
	assert_int_equal(v, 7);
}

static void numbers(void **state)
{
	(void)state;
	check("0", 0);
	check("12", 12);
	check("010", 10); /* not eight */
	check("0x1f", 31);
	check("0xABCdef", 0xabcdef);
	check("18446744073709551615", UINT64_MAX);
	check("0xffffffffffffffff", UINT64_MAX);
}

static void sizes(void **state)
{
	(void)state;
	check("64K", 65536);
	check("64k", 65536);
	check("2M", 2 << 20);
	check("2m", 2 << 20);
	check("3G", 3ull << 30);
	check("3g", 3ull << 30);
	check("0x10K", 16384);
	check("17179869183G", 17179869183ull << 30);
}

static void no_numbers(void **state)
{
	static const char *const words[] = {
		"",    "abc", " 1",  "1 ",    "+1",   "-1",  "1.5",
		"1e3", "0x",  "0xg", "0x0x1", "0x-1", "0X1", "1KB",
		"1Ki", "KK",  "K",   "12a",   "1T",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		check_refused(words[i], -EINVAL);
}

static void out_of_range(void **state)
{
	uint64_t v = 7;

	(void)state;
	check_refused("18446744073709551616", -ERANGE);
	check_refused("17179869184G", -ERANGE);
	check_refused("0x10000000000000000", -ERANGE);
	assert_int_equal(number_parse("1", 2, 4, &v), -ERANGE);
	assert_int_equal(number_parse("5", 2, 4, &v), -ERANGE);
	assert_int_equal(v, 7);
	assert_int_equal(number_parse("2", 2, 4, &v), 0);
	assert_int_equal(number_parse("4", 2, 4, &v), 0);
	assert_int_equal(v, 4);
}

static void decimals(void **state)
{
	static const char *const words[] = { "",     ".5",  "-1",  "+1",  " 1",
					     "1e3",  "1x",  "nan", "inf", "0x1",
					     "1..2", "1%%", "%",   "1 %" };
	double v = 7;
	size_t i;

	(void)state;
	assert_int_equal(number_parse_decimal("1.5", 0, 2, &v), 0);
	assert_true(v == 1.5);
	assert_int_equal(number_parse_decimal("5%", 0, 1, &v), 0);
	assert_true(v == 0.05);
	assert_int_equal(number_parse_decimal("2.", 0, 2, &v), 0);
	assert_true(v == 2);
	assert_int_equal(number_parse_decimal("2.1", 0, 2, &v), -ERANGE);
	assert_int_equal(number_parse_decimal("0.1", 0.2, 2, &v), -ERANGE);
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		assert_int_equal(number_parse_decimal(words[i], 0, 9e9, &v),
				 -EINVAL);
	assert_true(v == 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),	cmocka_unit_test(sizes),
		cmocka_unit_test(no_numbers),	cmocka_unit_test(decimals),
		cmocka_unit_test(out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

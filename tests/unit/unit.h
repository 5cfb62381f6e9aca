/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unit.h - what every unit test includes.
 *
 * A test program covers one module: static functions of type void (void **state),
 * a table, a main(). The same file runs on the host (cmocka, AddressSanitizer,
 * UndefinedBehaviorSanitizer) and on a Cortex-A15 in QEMU (newlib and
 * target/cmocka.h, which has the part of cmocka that the tests use). It therefore
 * uses the C library for printf, string and stdlib functions only: no files,
 * threads, signals or clocks.
 *
 * 	static void adds(void **state)
 * 	{
 * 		(void)state;
 * 		assert_int_equal(1 + 1, 2);
 * 	}
 *
 * 	int main(void)
 * 	{
 * 		const struct CMUnitTest tests[] = { cmocka_unit_test(adds) };
 *
 * 		return cmocka_run_group_tests(tests, NULL, NULL);
 * 	}
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#endif /* UNIT_H */

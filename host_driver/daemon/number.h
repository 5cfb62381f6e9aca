/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * number.h - numbers on command lines.
 *
 * Secret: how a number may be written: 12, 0x1f, 64K (K, M, G: times 1024 each), and
 * nothing else.
 */
#ifndef NUMBER_H
#define NUMBER_H

#include <argp.h>
#include <stdint.h>

/** number_parse() - store what @text says to *@out. 0; -EINVAL: it is no number; -ERANGE:
 * it is not one from @min to @max. After an error *@out is as it was. */
int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/** number_need() - number_parse() of @text, which the user gave an option. Ends the program
 * with words if that is no such number. */
uint64_t number_need(struct argp_state *state, const char *text, uint64_t min,
		     uint64_t max);

#endif /* NUMBER_H */

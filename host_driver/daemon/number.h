/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * number.h - numbers on command lines.
 *
 * Secret: how a number may be written: 12, 0x1f, 64K (K, M, G: times 1024 each), a decimal one
 * as 1.5 or 150%, and nothing else.
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

/** number_parse_decimal() - number_parse() of a number that may have a fraction, or be in
 * per cent. */
int number_parse_decimal(const char *text, double min, double max, double *out);
/** number_need_decimal() - number_need() of such a number. */
double number_need_decimal(struct argp_state *state, const char *text,
			   double min, double max);

/** number_word() - what @n of something are called: @one, or @many. */
static inline const char *number_word(uint64_t n, const char *one,
				      const char *many)
{
	return n == 1 ? one : many;
}

#endif /* NUMBER_H */

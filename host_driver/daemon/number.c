/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The power of two that a letter stands for; 0: none, which is no letter of these. */
static unsigned int shift_of(char letter)
{
	switch (letter) {
	case 'K':
	case 'k':
		return 10;
	case 'M':
	case 'm':
		return 20;
	case 'G':
	case 'g':
		return 30;
	default:
		return 0;
	}
}

int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned int shift;
	uint64_t v;
	char *end;

	if (*text < '0' || *text > '9') /* strtoull() takes spaces and signs */
		return -EINVAL;
	errno = 0;
	v = strtoull(text, &end, strncmp(text, "0x", 2) ? 10 : 16);
	if (errno)
		return -ERANGE;
	shift = shift_of(*end);
	if (end[shift != 0])
		return -EINVAL;
	if (v > UINT64_MAX >> shift)
		return -ERANGE;
	v <<= shift;
	if (v < min || v > max)
		return -ERANGE;
	*out = v;
	return 0;
}

uint64_t number_need(struct argp_state *state, const char *text, uint64_t min,
		     uint64_t max)
{
	uint64_t v = 0;

	if (number_parse(text, min, max, &v))
		argp_error(state, "`%s': a number from %llu to %llu is needed",
			   text, (unsigned long long)min,
			   (unsigned long long)max);
	return v;
}

int number_parse_decimal(const char *text, double min, double max, double *out)
{
	size_t digits = strspn(text, "0123456789");
	double v;

	if (!digits)
		return -EINVAL;
	if (text[digits] == '.')
		digits += 1 + strspn(text + digits + 1, "0123456789");
	v = strtod(text, NULL); /* of no exponent: the locale is C */
	if (text[digits] == '%') {
		v /= 100;
		digits++;
	}
	if (text[digits])
		return -EINVAL;
	if (!(v >= min && v <= max))
		return -ERANGE;
	*out = v;
	return 0;
}

double number_need_decimal(struct argp_state *state, const char *text,
			   double min, double max)
{
	double v = 0;

	if (number_parse_decimal(text, min, max, &v))
		argp_error(state, "`%s': a number from %g to %g is needed",
			   text, min, max);
	return v;
}

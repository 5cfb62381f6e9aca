/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* vector.c - see vector.h. */
#include "unit.h"

#include "vector.h"

uint32_t vector_read(const char *name, uint8_t *bytes)
{
	char path[128], line[256], *at;
	uint32_t n = 0, v;
	FILE *file;
	int used;

	snprintf(path, sizeof(path), "abi/vectors/%s.hex", name);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = 0;
		for (at = line; sscanf(at, " %2x%n", &v, &used) == 1;
		     at += used) {
			assert_true(n < VECTOR_BYTES);
			bytes[n++] = (uint8_t)v;
		}
		assert_int_equal(strspn(at, " "), strlen(at));
	}
	fclose(file);
	assert_true(n > 0);
	return n;
}

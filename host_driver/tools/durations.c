/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* durations.c - see durations.h. */
#include "durations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

int durations_init(struct durations *d, uint32_t room)
{
	*d = (struct durations){ .ns = calloc(room, sizeof(d->ns[0])),
				 .room = room };
	return d->ns ? 0 : unic_fail(-ENOMEM, "no memory for %u times", room);
}

void durations_fini(struct durations *d)
{
	free(d->ns);
	d->ns = NULL;
}

void durations_add(struct durations *d, uint64_t ns)
{
	if (d->n < d->room)
		d->ns[d->n++] = ns;
}

static int by_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void durations_sort(struct durations *d)
{
	qsort(d->ns, d->n, sizeof(d->ns[0]), by_ns);
}

double durations_mean_us(const struct durations *d)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < d->n; i++)
		sum += (double)d->ns[i] / 1e3;
	return d->n ? sum / d->n : 0;
}

double durations_at_most_us(const struct durations *d, uint32_t per_mille)
{
	uint64_t at = ((uint64_t)d->n * per_mille + 999) / 1000;

	return d->n ? (double)d->ns[at ? at - 1 : 0] / 1e3 : 0;
}

uint32_t durations_histogram(const struct durations *d,
			     uint32_t bucket[DURATIONS_BUCKETS])
{
	uint32_t i, k, n = 0;

	memset(bucket, 0, DURATIONS_BUCKETS * sizeof(bucket[0]));
	for (i = 0; i < d->n; i++) {
		for (k = 0; k + 1 < DURATIONS_BUCKETS && d->ns[i] >> k >= 1000;)
			k++;
		bucket[k]++;
		if (k >= n)
			n = k + 1;
	}
	return n;
}

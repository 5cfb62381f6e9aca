/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_histogram.c - see ctl_histogram.h. */
#include "ctl_histogram.h"

#include "ctl_fetch.h"
#include "ctl_json.h"
#include "unic_cmd_dump.h"

struct json_object *ctl_histogram_row(const void *row)
{
	const struct unic_row_histogram *r = row;
	struct json_object *o = json_object_new_object();
	struct json_object *count = json_object_new_array();
	uint32_t i;

	for (i = 0; i < UNIC_HIST_ROW; i++)
		json_object_array_add(
			count,
			json_object_new_int64(unic_from_le32(r->count[i])));
	ctl_add_u64(o, "which", unic_from_le32(r->which));
	ctl_add_u64(o, "first", unic_from_le32(r->first));
	json_object_object_add(o, "count", count);
	return o;
}

/* Copy the counts of histogram @which in @rows to @count. */
static void gather_counts(struct json_object *rows, uint32_t which,
			  uint64_t count[UNIC_HIST_BUCKETS])
{
	struct json_object *row, *list;
	size_t i, k;
	uint64_t b;

	for (i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		b = ctl_u64_of(row, "first");
		if (ctl_u64_of(row, "which") != which)
			continue;
		json_object_object_get_ex(row, "count", &list);
		for (k = 0; k < UNIC_HIST_ROW && b + k < UNIC_HIST_BUCKETS; k++)
			count[b + k] = (uint64_t)json_object_get_int64(
				json_object_array_get_idx(list, k));
	}
}

static struct json_object *histogram(struct json_object *rows, uint32_t which,
				     const char *name)
{
	struct json_object *o = json_object_new_object(), *bucket;
	struct json_object *list = json_object_new_array();
	uint64_t count[UNIC_HIST_BUCKETS] = { 0 }, n = 0;
	uint32_t last = 0, i;

	gather_counts(rows, which, count);
	for (i = 0; i < UNIC_HIST_BUCKETS; i++) {
		n += count[i];
		if (count[i])
			last = i + 1;
	}
	for (i = 0; i < last; i++) {
		bucket = json_object_new_object();
		ctl_add_u64(bucket, "from_us", i ? 1ull << (i - 1) : 0);
		ctl_add_u64(bucket, "count", count[i]);
		json_object_array_add(list, bucket);
	}
	ctl_add_string(o, "histogram", name);
	ctl_add_u64(o, "n", n);
	json_object_object_add(o, "buckets", list);
	return o;
}

struct json_object *ctl_histograms_of(struct json_object *rows)
{
	static const char *const names[UNIC_HIST_COUNT] = {
		[UNIC_HIST_WAIT] = "waits",
		[UNIC_HIST_GRACE] = "graces",
		[UNIC_HIST_MISS] = "misses",
	};
	struct json_object *all = json_object_new_array();
	uint32_t i;

	for (i = 0; i < UNIC_HIST_COUNT; i++)
		json_object_array_add(all, histogram(rows, i, names[i]));
	json_object_put(rows);
	return all;
}

struct json_object *ctl_histograms(struct unic_conn *conn)
{
	struct json_object *rows = ctl_table(conn, UNIC_TABLE_HISTOGRAM);

	return rows ? ctl_histograms_of(rows) : NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_metrics.c - see ctl_metrics.h. */
#include "ctl_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "ctl_fetch.h"
#include "ctl_histogram.h"
#include "ctl_json.h"
#include "ctl_words.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Of a process, as `unicctl ps` says it. */
static const struct {
	const char *key, *help;
} of_process[] = {
	{ "held", "Entries of the table that it holds" },
	{ "fair_share", "Entries that are its fair share" },
	{ "borrowed", "Entries above its fair share" },
	{ "wanted", "Entries that it waits for" },
	{ "mrs", "Regions" },
	{ "qps", "Queue pairs" },
	{ "tokens", "Payload tokens" },
	{ "open_notices", "Notices without an answer" },
	{ "longest_wait_us", "Longest wait for a registration, us" },
};

/* A label's value, as the format wants it. */
static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void put_counters(FILE *out, const char *whose,
			 struct json_object *counters)
{
	json_object_object_foreach(counters, key, value)
	{
		fprintf(out, "# TYPE unic_%s_%s counter\n", whose, key);
		fprintf(out, "# HELP unic_%s_%s %s.\n", whose, key,
			ctl_counter_text(whose, key));
		fprintf(out, "unic_%s_%s_total %" PRId64 "\n", whose, key,
			json_object_get_int64(value));
	}
}

static void put_gauge(FILE *out, const char *name, const char *help, int64_t v)
{
	fprintf(out,
		"# TYPE unic_%s gauge\n# HELP unic_%s %s.\nunic_%s %" PRId64
		"\n",
		name, name, help, name, v);
}

static void put_processes(FILE *out, struct json_object *procs)
{
	struct json_object *p;
	size_t i, k;

	for (k = 0; k < COUNT(of_process); k++) {
		const char *key = of_process[k].key;

		fprintf(out, "# TYPE unic_process_%s gauge\n", key);
		fprintf(out, "# HELP unic_process_%s %s.\n", key,
			of_process[k].help);
		for (i = 0; i < json_object_array_length(procs); i++) {
			p = json_object_array_get_idx(procs, i);
			fprintf(out, "unic_process_%s{proc=\"%" PRId64 "\"",
				key, (int64_t)ctl_u64_of(p, "proc"));
			fprintf(out, ",pid=\"%" PRId64 "\",name=\"",
				(int64_t)ctl_u64_of(p, "pid"));
			put_escaped(out, ctl_text_of(p, "name"));
			fprintf(out, "\"} %" PRId64 "\n",
				(int64_t)ctl_u64_of(p, key));
		}
	}
}

/* Buckets of the NIC have the powers of two of a microsecond for bounds. */
static void put_histogram(FILE *out, struct json_object *h)
{
	const char *name = ctl_text_of(h, "histogram");
	struct json_object *list;
	int64_t sum = 0;
	size_t i;

	json_object_object_get_ex(h, "buckets", &list);
	fprintf(out, "# TYPE unic_%s_us histogram\n", name);
	fprintf(out, "# HELP unic_%s_us How long %s took on the NIC, us.\n",
		name, name);
	for (i = 0; i < json_object_array_length(list); i++) {
		sum += (int64_t)ctl_u64_of(json_object_array_get_idx(list, i),
					   "count");
		fprintf(out,
			"unic_%s_us_bucket{le=\"%" PRIu64 "\"} %" PRId64 "\n",
			name, UINT64_C(1) << i, sum);
	}
	fprintf(out, "unic_%s_us_bucket{le=\"+Inf\"} %" PRId64 "\n", name, sum);
}

static void put_all(FILE *out, struct json_object *info,
		    struct json_object *stats, struct json_object *ps,
		    struct json_object *histograms)
{
	struct json_object *part;
	size_t i;

	fputs("# TYPE unic_build info\n"
	      "# HELP unic_build What the NIC runs, and its address.\n"
	      "unic_build_info{build=\"",
	      out);
	put_escaped(out, ctl_text_of(info, "build"));
	fputs("\",ipv4=\"", out);
	put_escaped(out, ctl_text_of(info, "ipv4"));
	fputs("\"} 1\n", out);
	put_gauge(out, "ready", "1 if the NIC is ready",
		  !strcmp(ctl_text_of(info, "nic"), "ready"));
	put_gauge(out, "tlb_entries", "Entries of the table",
		  (int64_t)ctl_u64_of(info, "tlb_entries"));
	if (json_object_object_get_ex(stats, "nic", &part))
		put_counters(out, "nic", part);
	if (json_object_object_get_ex(stats, "driver", &part))
		put_counters(out, "driver", part);
	json_object_object_get_ex(ps, "waiting", &part);
	put_gauge(out, "waiting_registrations", "Registrations that wait",
		  (int64_t)json_object_array_length(part));
	json_object_object_get_ex(ps, "procs", &part);
	put_processes(out, part);
	for (i = 0; histograms && i < json_object_array_length(histograms); i++)
		put_histogram(out, json_object_array_get_idx(histograms, i));
	fputs("# EOF\n", out);
}

int ctl_metrics(struct unic_conn *conn, FILE *out)
{
	struct json_object *info = ctl_info(conn);
	struct json_object *stats = info ? ctl_stats(conn) : NULL;
	struct json_object *ps = stats ? ctl_ps(conn) : NULL;
	/* a NIC without histograms has none to show */
	struct json_object *histograms = ps ? ctl_histograms(conn) : NULL;

	if (ps)
		put_all(out, info, stats, ps, histograms);
	json_object_put(histograms);
	json_object_put(ps);
	json_object_put(stats);
	json_object_put(info);
	return ps ? 0 : -1;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic-policysim - replay a trace against the firmware's replacement policies
 * and print what missed, beside Belady's MIN.
 */
#include <argp.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "output.h"
#include "refs.h"
#include "replay.h"
#include "unic_mbox.h"

#define SIZES_MAX   16
#define ENTRIES_MAX 65534u
#define BELADY	    UNIC_POLICIES

static const char *const policy_name[] = {
	[UNIC_POLICY_DEFAULT] = "default",
	[UNIC_POLICY_RANDOM] = "random",
	[UNIC_POLICY_LRU] = "lru",
	[UNIC_POLICY_S3FIFO] = "s3fifo",
	[UNIC_POLICY_APP] = "app",
	[UNIC_POLICY_LFU] = "lfu",
	[BELADY] = "belady",
};

struct options {
	const char *trace, *json;
	enum refs_format format;
	uint32_t entries[SIZES_MAX];
	int n_sizes;
	int policy; /* enum unic_policy, BELADY, or -1: all */
	uint32_t page, remember;
	int skip;
	bool shares;
};

static const char doc[] = "Replays TRACE (- is standard input) against the "
			  "replacement policies "
			  "of the NIC, compiled from the firmware's source, "
			  "and prints miss ratio "
			  "and byte miss ratio of each beside Belady's MIN.\v"
			  "Formats: `oracle`, libCacheSim's oracleGeneral "
			  "(packed records of 24 "
			  "bytes); `csv`, lines of "
			  "time,key,size[,process[,importance]]; `ids`, a "
			  "page number a line; `events`, the JSON of "
			  "`unicctl trace --perfetto'. A thing takes its size "
			  "divided "
			  "by the page size, "
			  "rounded up, in entries. MIN is a bound where all "
			  "things take one entry.";

static const struct argp_option option_list[] = {
	{ "format", 'f', "FORMAT", 0, "oracle, csv, ids or events (needed)",
	  0 },
	{ "entries", 'e', "N,...", 0,
	  "sizes of the table (default: 64,256,1024,4096)", 0 },
	{ "policy", 'p', "NAME", 0,
	  "default, random, lru, s3fifo, app, lfu, belady or all (default: "
	  "all)",
	  0 },
	{ "json", 'j', "FILE", 0, "write the results there, too", 0 },
	{ "page-size", 'g', "BYTES", 0, "of an entry (default: 4096)", 0 },
	{ "remember", 'r', "N", 0,
	  "items that went remembered for each entry, 1, 2, 4 or 8 (default: "
	  "2)",
	  0 },
	{ "shares", 's', NULL, 0,
	  "fair shares and a policy for each process, not one for all", 0 },
	{ "without", 'w', "PROCESS", 0, "leave out its references", 0 },
	{ 0 }
};

static uint32_t parse_number(struct argp_state *state, const char *arg,
			     uint32_t max, char **end)
{
	unsigned long v = strtoul(arg, end, 10);

	if (*end == arg || *arg < '0' || *arg > '9' || v > max)
		argp_error(state, "not a number up to %u: %s", max, arg);
	return (uint32_t)v;
}

static void parse_entries(struct argp_state *state, struct options *o,
			  const char *arg)
{
	char *end;

	for (o->n_sizes = 0;; arg = end + 1) {
		if (o->n_sizes == SIZES_MAX)
			argp_error(state, "more than %d sizes", SIZES_MAX);
		o->entries[o->n_sizes] =
			parse_number(state, arg, ENTRIES_MAX, &end);
		if (!o->entries[o->n_sizes++] || (*end && *end != ','))
			argp_error(state, "not a list of sizes: %s", arg);
		if (!*end)
			return;
	}
}

static int parse_policy(struct argp_state *state, const char *arg)
{
	int i;

	if (!strcmp(arg, "all"))
		return -1;
	for (i = 0; i <= (int)BELADY; i++)
		if (!strcmp(policy_name[i], arg))
			return i;
	argp_error(state, "no policy is called %s", arg);
	return -1;
}

static enum refs_format parse_format(struct argp_state *state, const char *arg)
{
	static const char *const names[] = { "oracle", "csv", "ids", "events" };
	int i;

	for (i = 0; i < 4; i++)
		if (!strcmp(names[i], arg))
			return (enum refs_format)i;
	argp_error(state, "no format is called %s", arg);
	return REFS_IDS;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	char *end = "";

	switch (key) {
	case 'f':
		o->format = parse_format(state, arg);
		break;
	case 'e':
		parse_entries(state, o, arg);
		break;
	case 'p':
		o->policy = parse_policy(state, arg);
		break;
	case 'j':
		o->json = arg;
		break;
	case 'g':
		o->page = parse_number(state, arg, 1u << 30, &end);
		if (!o->page || *end)
			argp_error(state, "not a page size: %s", arg);
		break;
	case 'r':
		o->remember = parse_number(state, arg, 8, &end);
		if (!o->remember || (o->remember & (o->remember - 1)) || *end)
			argp_error(state, "1, 2, 4 or 8, not %s", arg);
		break;
	case 's':
		o->shares = true;
		break;
	case 'w':
		o->skip =
			(int)parse_number(state, arg, REFS_PROCESSES - 1, &end);
		if (*end)
			argp_error(state, "not a process: %s", arg);
		break;
	case ARGP_KEY_ARG:
		if (o->trace)
			argp_error(state, "one trace, not %s too", arg);
		o->trace = arg;
		break;
	case ARGP_KEY_END:
		if (!o->trace)
			argp_error(state, "which trace?");
		if ((int)o->format < 0)
			argp_error(state, "--format is needed: oracle, csv, "
					  "ids or events");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static double ratio(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void add_ratio(struct json_object *o, const char *name, uint64_t part,
		      uint64_t whole)
{
	json_object_object_add(o, name,
			       json_object_new_double(ratio(part, whole)));
}

static struct json_object *row(const struct refs *r, int policy,
			       uint32_t entries,
			       const struct replay_result *res)
{
	struct json_object *o = json_object_new_object();
	struct json_object *list = json_object_new_array();
	uint32_t i;

	json_object_object_add(o, "policy",
			       json_object_new_string(policy_name[policy]));
	json_object_object_add(o, "entries",
			       json_object_new_int64((int64_t)entries));
	add_ratio(o, "hit_ratio", res->hits, res->refs);
	add_ratio(o, "byte_hit_ratio", res->byte_hits, res->bytes);
	for (i = 0; i < r->processes; i++)
		json_object_array_add(list, json_object_new_double(ratio(
						    res->process_hits[i],
						    res->process_refs[i])));
	json_object_object_add(o, "process_hit_ratios", list);
	return o;
}

static int run(const struct refs *r, const struct options *o, int policy,
	       uint32_t entries, struct replay_result *res)
{
	if (policy == (int)BELADY)
		return replay_belady(r, entries, res);
	return replay_policy(r,
			     &(struct replay_table){ .entries = entries,
						     .remember = o->remember,
						     .shares = o->shares },
			     (uint32_t)policy, res);
}

static int run_size(const struct refs *r, const struct options *o,
		    uint32_t entries, struct json_object *list)
{
	struct replay_result min, res;
	int i;

	if (replay_belady(r, entries, &min))
		return -1;
	for (i = 0; i <= (int)BELADY; i++) {
		if (o->policy >= 0 && o->policy != i)
			continue;
		if (run(r, o, i, entries, &res))
			return -1;
		printf("%-9s %7u %11.4f %11.4f %17.4f %11.4f\n", policy_name[i],
		       entries, 1 - ratio(res.hits, res.refs),
		       1 - ratio(min.hits, min.refs),
		       1 - ratio(res.byte_hits, res.bytes),
		       1 - ratio(min.byte_hits, min.bytes));
		json_object_array_add(list, row(r, i, entries, &res));
	}
	return 0;
}

/* The results are written at the end. */
static int check_json(const char *path)
{
	int err = path ? output_check_path(path) : 0;

	if (err)
		fprintf(stderr, "unic-policysim: --json %s: %s: %s\n", path,
			strerror(-err), OUTPUT_PATH_HINT);
	return err;
}

/* Returns an exit status. */
static int run_all(const struct refs *r, const struct options *o)
{
	struct json_object *list = json_object_new_array();
	int i, err = 0, status = EX_OK;

	printf("%zu references, %zu things, %u processes\n", r->n, r->n_things,
	       r->processes);
	printf("%-9s %7s %11s %11s %17s %11s\n", "policy", "entries",
	       "miss ratio", "Belady's", "byte miss ratio", "Belady's");
	for (i = 0; !err && i < o->n_sizes; i++)
		err = run_size(r, o, o->entries[i], list);
	if (err) {
		fprintf(stderr, "unic-policysim: out of memory\n");
		status = EXIT_FAILURE;
	} else if (o->json && json_object_to_file_ext(
				      o->json, list, JSON_C_TO_STRING_PRETTY)) {
		fprintf(stderr, "unic-policysim: %s cannot be written\n",
			o->json);
		status = EX_IOERR;
	}
	json_object_put(list);
	return status;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = option_list,
					  .parser = parse,
					  .args_doc = "TRACE",
					  .doc = doc };
	struct options o = { .format = (enum refs_format) - 1,
			     .entries = { 64, 256, 1024, 4096 },
			     .n_sizes = 4,
			     .policy = -1,
			     .page = 4096,
			     .remember = 2,
			     .skip = -1 };
	char why[160];
	struct refs r;
	int status;

	output_watch();
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (check_json(o.json))
		return EX_IOERR;
	if (refs_read(&r, o.trace, o.format, o.page, o.skip, why,
		      sizeof(why))) {
		fprintf(stderr, "unic-policysim: %s: %s\n", o.trace, why);
		return 1;
	}
	status = run_all(&r, &o);
	refs_free(&r);
	return status;
}

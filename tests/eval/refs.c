/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* refs.c - traces from files: four formats, one meaning. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refs.h"

#define ORACLE_BYTES 24u /* u32 time, u64 key, u32 size, s64 next; packed */
#define REFS_MAX     (1u << 28)

/* One reference as the file has it. */
struct record {
	uint64_t key, size;
	uint32_t process, importance;
};

/* Which number a key has: open addressing, at most half full. */
struct numbers {
	uint32_t *slot; /* number + 1, 0: free */
	uint64_t *key;	/* by number: key and process */
	uint32_t mask;
};

struct reading {
	struct refs *out;
	struct numbers numbers;
	size_t ref_room, thing_room;
	uint32_t page;
	int skip;
	size_t line;
	char *why;
	size_t len;
};

static int fail(struct reading *rd, const char *what)
{
	snprintf(rd->why, rd->len, "line or record %zu: %s", rd->line, what);
	return -1;
}

static bool grow(void *array, size_t *room, size_t each)
{
	size_t more = *room ? *room * 2 : 1024;
	void *p = realloc(*(void **)array, more * each);

	if (!p)
		return false;
	*(void **)array = p;
	*room = more;
	return true;
}

static uint32_t hash(uint64_t key, uint32_t process)
{
	key = (key + process * 0x100000001b3ull) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(key >> 32);
}

static void place(struct numbers *ns, uint32_t number, uint32_t h)
{
	while (ns->slot[h & ns->mask])
		h++;
	ns->slot[h & ns->mask] = number + 1;
}

/* Twice the slots for twice the things. */
static bool rehash(struct reading *rd)
{
	struct numbers *ns = &rd->numbers;
	uint32_t i, slots = ns->slot ? 2 * (ns->mask + 1) : 4096;

	free(ns->slot);
	ns->slot = calloc(slots, sizeof(*ns->slot));
	if (!ns->slot)
		return false;
	ns->mask = slots - 1;
	for (i = 0; i < rd->out->n_things; i++)
		place(ns, i, hash(ns->key[i], rd->out->thing[i].process));
	return true;
}

static bool new_thing(struct reading *rd, const struct record *r)
{
	struct refs *out = rd->out;
	size_t room = rd->thing_room;
	uint64_t entries = (r->size + rd->page - 1) / rd->page;

	if (out->n_things == room &&
	    (!grow(&out->thing, &rd->thing_room, sizeof(*out->thing)) ||
	     !grow(&rd->numbers.key, &room, sizeof(*rd->numbers.key))))
		return false;
	if (entries < 1)
		entries = 1;
	if (entries > UINT16_MAX)
		entries = UINT16_MAX;
	out->thing[out->n_things] =
		(struct thing){ .bytes = r->size,
				.entries = (uint32_t)entries,
				.process = (uint8_t)r->process,
				.importance = (uint8_t)r->importance };
	rd->numbers.key[out->n_things++] = r->key;
	return true;
}

/* The number of the thing, a new one perhaps; REFS_NEVER: no memory. */
static uint32_t number(struct reading *rd, const struct record *r)
{
	struct numbers *ns = &rd->numbers;
	uint32_t h = hash(r->key, r->process), i;

	if (2 * rd->out->n_things >= ns->mask && !rehash(rd))
		return REFS_NEVER;
	for (; (i = ns->slot[h & ns->mask]); h++)
		if (ns->key[i - 1] == r->key &&
		    rd->out->thing[i - 1].process == r->process)
			return i - 1;
	if (!new_thing(rd, r))
		return REFS_NEVER;
	ns->slot[h & ns->mask] = (uint32_t)rd->out->n_things;
	return (uint32_t)rd->out->n_things - 1;
}

static int add(struct reading *rd, const struct record *r)
{
	struct refs *out = rd->out;
	uint32_t thing;

	if (r->process >= REFS_PROCESSES)
		return fail(rd, "process above 7");
	if (r->importance > UINT8_MAX)
		return fail(rd, "importance above 255");
	if (out->n == REFS_MAX)
		return fail(rd, "too many references");
	if ((int)r->process == rd->skip)
		return 0;
	thing = number(rd, r);
	if (thing == REFS_NEVER ||
	    (out->n == rd->ref_room &&
	     !grow(&out->ref, &rd->ref_room, sizeof(*out->ref))))
		return fail(rd, "out of memory");
	out->ref[out->n++].thing = thing;
	if (r->process >= out->processes)
		out->processes = r->process + 1;
	return 0;
}

/* -------------------------------------------------------------- formats */

static uint64_t little(const uint8_t *p, uint32_t bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

static int read_oracle(struct reading *rd, FILE *f)
{
	uint8_t b[ORACLE_BYTES];
	size_t got;

	while ((got = fread(b, 1, sizeof(b), f)) == sizeof(b)) {
		struct record r = { .key = little(b + 4, 8),
				    .size = little(b + 12, 4) };

		rd->line++;
		if (add(rd, &r))
			return -1;
	}
	rd->line++;
	return got ? fail(rd, "the file ends within a record of 24 bytes") : 0;
}

/* A number and what ends it; numbers may have a fraction (times do). */
static bool field(const char **at, uint64_t *out, bool *last)
{
	char *end;

	while (**at == ' ')
		++*at;
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*out = strtoull(*at, &end, 10);
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	end += strspn(end, " \r\n");
	*last = !*end;
	if (errno || (*end && *end != ','))
		return false;
	*at = end + !*last;
	return true;
}

static int read_csv_line(struct reading *rd, const char *line)
{
	uint64_t v[5] = { 0 };
	bool last = false;
	int n;

	for (n = 0; n < 5 && !last; n++)
		if (!field(&line, &v[n], &last))
			return fail(rd, "not time,key,size[,process"
					"[,importance]]");
	if (n < 3 || !last)
		return fail(rd, "3 to 5 fields are expected");
	return add(rd, &(struct record){
			       .key = v[1],
			       .size = v[2],
			       .process = v[3] > 99 ? 99 : (uint32_t)v[3],
			       .importance = v[4] > 999 ? 999 : (uint32_t)v[4],
		       });
}

static int read_ids_line(struct reading *rd, const char *line)
{
	struct record r = { .size = 1 };
	bool last;

	if (!field(&line, &r.key, &last) || !last)
		return fail(rd, "not a page number");
	return add(rd, &r);
}

static int read_lines(struct reading *rd, FILE *f, enum refs_format format)
{
	char *line = NULL;
	size_t room = 0;
	int err = 0;

	while (!err && getline(&line, &room, f) >= 0) {
		bool first = !rd->line++;

		if (line[strspn(line, " \r\n")] == 0 || line[0] == '#')
			continue;
		if (format == REFS_IDS)
			err = read_ids_line(rd, line);
		else if (!first || (line[0] >= '0' && line[0] <= '9'))
			err = read_csv_line(rd, line);
	}
	free(line);
	return err;
}

static uint64_t member(struct json_object *o, const char *key)
{
	struct json_object *v = NULL;

	json_object_object_get_ex(o, key, &v);
	return json_object_get_uint64(v);
}

/* An event of another category is none of ours. */
static int read_event(struct reading *rd, struct json_object *event)
{
	struct json_object *cat = NULL, *args = NULL;

	rd->line++;
	json_object_object_get_ex(event, "cat", &cat);
	if (!cat || strcmp(json_object_get_string(cat), "reference") != 0)
		return 0;
	json_object_object_get_ex(event, "args", &args);
	if (!args || !json_object_object_get_ex(args, "key", NULL) ||
	    !json_object_object_get_ex(args, "size", NULL))
		return fail(rd, "a reference without key and size");
	return add(rd, &(struct record){
			       .key = member(args, "key"),
			       .size = member(args, "size"),
			       .process = (uint32_t)member(args, "process"),
			       .importance = (uint32_t)member(args, "importanc"
								    "e"),
		       });
}

static int read_events(struct reading *rd, FILE *f)
{
	struct json_object *file = json_object_from_fd(fileno(f));
	struct json_object *list = NULL;
	size_t i;
	int err = 0;

	if (!file || !json_object_object_get_ex(file, "traceEvents", &list) ||
	    !json_object_is_type(list, json_type_array))
		err = fail(rd, "no JSON object with traceEvents");
	for (i = 0; !err && i < json_object_array_length(list); i++)
		err = read_event(rd, json_object_array_get_idx(list, i));
	json_object_put(file);
	return err;
}

static int read_format(struct reading *rd, FILE *f, enum refs_format format)
{
	switch (format) {
	case REFS_ORACLE:
		return read_oracle(rd, f);
	case REFS_EVENTS:
		return read_events(rd, f);
	default:
		return read_lines(rd, f, format);
	}
}

/* Seen from the end, each thing was referred to last where it is next. */
static int link_next(struct refs *r)
{
	uint32_t *next = malloc((r->n_things + 1) * sizeof(*next));
	size_t i;

	if (!next)
		return -1;
	memset(next, 0xff, (r->n_things + 1) * sizeof(*next));
	for (i = r->n; i--;) {
		r->ref[i].next = next[r->ref[i].thing];
		next[r->ref[i].thing] = (uint32_t)i;
	}
	free(next);
	return 0;
}

int refs_read(struct refs *out, const char *path, enum refs_format format,
	      uint32_t page, int skip, char *why, size_t len)
{
	struct reading rd = {
		.out = out, .page = page, .skip = skip, .why = why, .len = len
	};
	FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	int err;

	memset(out, 0, sizeof(*out));
	if (!f) {
		snprintf(why, len, "%s", strerror(errno));
		return -1;
	}
	err = read_format(&rd, f, format);
	if (!err && ferror(f))
		err = fail(&rd, "cannot be read");
	if (!err && !out->n)
		err = fail(&rd, "no references");
	if (!err && link_next(out))
		err = fail(&rd, "out of memory");
	if (f != stdin)
		fclose(f);
	free(rd.numbers.slot);
	free(rd.numbers.key);
	if (err)
		refs_free(out);
	return err;
}

void refs_free(struct refs *r)
{
	free(r->ref);
	free(r->thing);
	memset(r, 0, sizeof(*r));
}

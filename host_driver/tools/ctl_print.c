/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ctl_print.c - tables made of JSON objects, so that text and JSON show the same.
 */
#include "ctl_print.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl_words.h"

#define COLUMNS_MAX 32
#define GAP	    2 /* between two columns */
#define TERMINAL_COLUMNS \
	80 /* of a terminal that does not say how many it has */

struct column {
	char key[32];
	int width;
};

static const char *cell_text(struct json_object *row, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(row, key, &v)
		       ? json_object_get_string(v)
		       : "-";
}

static void add_column(struct column *col, int *n, const char *key, size_t len)
{
	if (*n == COLUMNS_MAX || len >= sizeof(col->key))
		return;
	memcpy(col[*n].key, key, len);
	col[*n].key[len] = '\0';
	col[(*n)++].width = (int)len;
}

static int all_keys(struct json_object *row, struct column *col)
{
	struct json_object_iterator it = json_object_iter_begin(row);
	struct json_object_iterator end = json_object_iter_end(row);
	int n = 0;

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);

		add_column(col, &n, key, strlen(key));
	}
	return n;
}

static int choose_columns(struct json_object *list, const char *columns,
			  struct column *col)
{
	int n = 0;

	if (!columns)
		return all_keys(json_object_array_get_idx(list, 0), col);
	while (*columns) {
		size_t len = strcspn(columns, " ");

		add_column(col, &n, columns, len);
		columns += len;
		columns += strspn(columns, " ");
	}
	return n;
}

static void measure_columns(struct json_object *list, struct column *col, int n)
{
	size_t i;
	int k;

	for (i = 0; i < json_object_array_length(list); i++) {
		for (k = 0; k < n; k++) {
			int w = (int)strlen(
				cell_text(json_object_array_get_idx(list, i),
					  col[k].key));

			if (w > col[k].width)
				col[k].width = w;
		}
	}
}

/* How wide a line may be: as wide as the terminal; elsewhere, as wide as it is. */
static int room_for_line(void)
{
	struct winsize size = { 0 };

	if (!isatty(STDOUT_FILENO))
		return INT_MAX;
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	return size.ws_col ? size.ws_col : TERMINAL_COLUMNS;
}

/* Columns of a line of a part of a table: the first one of all, and those from @from on
 * that have @room beside it; at least one. Return where the next part begins. */
static int end_of_part(const struct column *col, int n, int from, int room)
{
	int width = col[0].width, k = from;

	for (; k < n; k++) {
		width += k ? GAP + col[k].width : 0;
		if (k > from && width > room)
			break;
	}
	return k;
}

static void print_cell(const struct column *col, const char *text, bool first)
{
	printf("%*s%*s", first ? 0 : GAP, "", col->width, text);
}

/* One line of columns @from to @to - 1, behind the first column of all. @row NULL: their
 * names. */
static void print_row(struct json_object *row, const struct column *col,
		      int from, int to)
{
	int k;

	for (k = from ? 0 : 1; k <= to - from; k++) {
		const struct column *c = &col[k ? from + k - 1 : 0];

		print_cell(c, row ? cell_text(row, c->key) : c->key, c == col);
	}
	putchar('\n');
}

void ctl_print_table(struct json_object *list, const char *columns)
{
	struct column col[COLUMNS_MAX];
	size_t i, rows = json_object_array_length(list);
	int room = room_for_line();
	int from, to, n;

	if (!rows) {
		printf("(none)\n");
		return;
	}
	n = choose_columns(list, columns, col);
	measure_columns(list, col, n);
	for (from = 0; from < n; from = to) {
		to = end_of_part(col, n, from, room);
		if (from)
			putchar('\n');
		print_row(NULL, col, from, to);
		for (i = 0; i < rows; i++)
			print_row(json_object_array_get_idx(list, i), col, from,
				  to);
	}
}

static void print_part(const char *part, struct json_object *values, bool all)
{
	struct json_object_iterator it = json_object_iter_begin(values);
	struct json_object_iterator end = json_object_iter_end(values);

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		const char *key = json_object_iter_peek_name(&it);
		struct json_object *v = json_object_iter_peek_value(&it);
		const char *what = ctl_counter_text(part, key);

		if (all || json_object_get_int64(v))
			printf("%-6s %-18s %14s%s%s\n", part, key,
			       json_object_get_string(v), *what ? "  " : "",
			       what);
	}
}

void ctl_print_stats(struct json_object *o, bool all)
{
	static const char *const parts[] = { "nic", "driver" };
	struct json_object *values;
	int i;

	for (i = 0; i < 2; i++) {
		if (json_object_object_get_ex(o, parts[i], &values))
			print_part(parts[i], values, all);
	}
}

#define BAR_COLUMNS 50

static void print_bar(struct json_object *bucket, long long most)
{
	long long n = atoll(cell_text(bucket, "count"));
	long long marks = (n * BAR_COLUMNS + most - 1) / (most ? most : 1);

	printf("  %10s us  %10lld%s", cell_text(bucket, "from_us"), n,
	       n ? "  " : "");
	while (marks-- > 0)
		putchar('#');
	putchar('\n');
}

void ctl_print_histograms(struct json_object *list)
{
	struct json_object *h, *buckets, *b;
	long long most, n;
	size_t i, k;

	for (i = 0; i < json_object_array_length(list); i++) {
		h = json_object_array_get_idx(list, i);
		json_object_object_get_ex(h, "buckets", &buckets);
		printf("%s: %s\n", cell_text(h, "histogram"),
		       cell_text(h, "n"));
		most = 0;
		for (k = 0; k < json_object_array_length(buckets); k++) {
			b = json_object_array_get_idx(buckets, k);
			n = atoll(cell_text(b, "count"));
			most = n > most ? n : most;
		}
		for (k = 0; k < json_object_array_length(buckets); k++)
			print_bar(json_object_array_get_idx(buckets, k), most);
	}
}

/* The words of @text behind @margin columns, and below them where the line ends. */
static void print_wrapped(const char *text, int margin)
{
	int room = room_for_line(), at = margin;

	while (*text) {
		int word = (int)strcspn(text, " ");

		if (at > margin && at + 1 + word > room) {
			printf("\n%*s", margin, "");
			at = margin;
		} else if (at > margin) {
			putchar(' ');
			at++;
		}
		printf("%.*s", word, text);
		at += word;
		text += word;
		text += strspn(text, " ");
	}
	putchar('\n');
}

/* The words of a list, or @value itself. */
static void print_value(struct json_object *value, int margin)
{
	char text[512] = "";
	size_t n = 0, i;

	if (!json_object_is_type(value, json_type_array)) {
		printf("%s\n", json_object_get_string(value));
		return;
	}
	for (i = 0; i < json_object_array_length(value) && n < sizeof(text);
	     i++)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "%s%s", i ? " " : "",
			json_object_get_string(
				json_object_array_get_idx(value, i)));
	print_wrapped(text, margin);
}

void ctl_print_object(struct json_object *o)
{
	struct json_object_iterator it = json_object_iter_begin(o);
	struct json_object_iterator end = json_object_iter_end(o);

	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		int margin = printf("%-18s ", json_object_iter_peek_name(&it));

		print_value(json_object_iter_peek_value(&it), margin);
	}
}

void ctl_print_trace(struct json_object *event)
{
	long long ns = atoll(cell_text(event, "time_ns"));
	int margin = printf("%6lld.%06lld  %-13s proc %-5s ", ns / 1000000000,
			    ns / 1000 % 1000000, cell_text(event, "event"),
			    cell_text(event, "proc"));

	print_wrapped(cell_text(event, "text"), margin);
}

void ctl_print_json(struct json_object *o, bool compact)
{
	puts(json_object_to_json_string_ext(
		o, compact ? JSON_C_TO_STRING_PLAIN
			   : JSON_C_TO_STRING_PRETTY |
				     JSON_C_TO_STRING_NOSLASHESCAPE));
}

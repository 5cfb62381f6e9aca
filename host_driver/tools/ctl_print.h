/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl_print.h - JSON objects for human readers. */
#ifndef UNIC_CTL_PRINT_H
#define UNIC_CTL_PRINT_H

#include <json-c/json.h>
#include <stdbool.h>

/** ctl_print_table() - an array of objects with the same keys, in columns.
 * @columns: keys to show, separated by blanks; NULL: all. On a terminal a table that has
 * more than 100 columns of characters comes in parts, each with the first column. */
void ctl_print_table(struct json_object *list, const char *columns);
/** ctl_print_object() - one "key value" a line. */
void ctl_print_object(struct json_object *o);
/** ctl_print_stats() - counters with what they count; @all: those at 0 too. */
void ctl_print_stats(struct json_object *o, bool all);
/** ctl_print_histograms() - a bar for each bucket. */
void ctl_print_histograms(struct json_object *list);
/** ctl_print_trace() - a line for @event, which ctl_trace_object() made. */
void ctl_print_trace(struct json_object *event);
/** ctl_print_json() - one document; @compact: on one line. */
void ctl_print_json(struct json_object *o, bool compact);

#endif /* UNIC_CTL_PRINT_H */

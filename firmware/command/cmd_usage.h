/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmd_usage.h - why a table is full.
 *
 * Secret: which errors a struct unic_cpl_usage explains, and of which table.
 */
#ifndef UNIC_CMD_USAGE_H
#define UNIC_CMD_USAGE_H

#include <stdint.h>

struct unic_command;
struct unic_cpl_usage;

/** unic_cmd_usage() - what process @proc holds of @table (enum unic_table, 0: entries),
 * to @cpl. */
void unic_cmd_usage(struct unic_command *nic, uint32_t proc, uint32_t table,
		    struct unic_cpl_usage *cpl);

/** unic_cmd_explain() - after @err of a registration that @proc would be
 * charged for: a struct unic_cpl_usage in @out, if that explains it. */
void unic_cmd_explain(struct unic_command *nic, uint32_t proc, int err,
		      void *out);

#endif /* UNIC_CMD_USAGE_H */

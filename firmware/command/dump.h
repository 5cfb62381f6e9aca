/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dump.h - rows of the tables, for unicctl.
 *
 * Secret: which field of which table a row shows.
 */
#ifndef UNIC_DUMP_H
#define UNIC_DUMP_H

#include <stdint.h>

struct unic_command;

/**
 * unic_dump() - writes rows from @first on of @table (enum unic_table) as struct
 * unic_row_* to the 4096-byte @list; free rows are left out. Returns the number
 * of rows written, or -UNIC_EINVAL; *next is the first row of the next call, 0 at
 * the end.
 */
int unic_dump(struct unic_command *nic, uint32_t table, uint32_t first,
	      uint8_t *list, uint32_t *next);

struct unic_crash;

/** unic_dump_crash() - fills in epoch, trace_seq and table_sum of the crash
 * record @out. Assumes nothing about the state of @nic. */
void unic_dump_crash(const struct unic_command *nic, struct unic_crash *out);

#endif /* UNIC_DUMP_H */

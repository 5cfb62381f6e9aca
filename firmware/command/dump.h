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
struct unic_cmd_dump;
struct unic_cpl_dump;

/**
 * unic_dump() - executes DUMP: writes rows to the 4096-byte @list; free rows are left
 * out. Fills in @cpl. Returns 0, -UNIC_EINVAL, or -UNIC_EEVICTED (the snapshot is gone);
 * no snapshot is taken then.
 *
 * Cost: docs/evidence/rounds.md, `dump`; a snapshot copies struct unic_tables besides.
 */
int unic_dump(struct unic_command *nic, const struct unic_cmd_dump *cmd,
	      uint8_t *list, struct unic_cpl_dump *cpl);

struct unic_crash;

/** unic_dump_crash() - fills in epoch, trace_seq and table_sum of the crash
 * record @out. Assumes nothing about the state of @nic. */
void unic_dump_crash(const struct unic_command *nic, struct unic_crash *out);

#endif /* UNIC_DUMP_H */

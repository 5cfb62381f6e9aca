/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dump.h - rows of the tables, for unicctl.
 *
 * Secret: which field of which table a row shows.
 */
#ifndef UNIC_DUMP_H
#define UNIC_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct unic_command;
struct unic_cmd_dump;
struct unic_cpl_dump;
struct unic_crash;

/**
 * unic_dump() - executes DUMP: writes rows to the list page @list, without the free
 * ones, and fills in @cpl. Returns 0, -UNIC_EINVAL, or for a snapshot -UNIC_EEVICTED (it
 * has ended), -UNIC_EBUSY (too soon after the last), -UNIC_EFAILED (the NIC has failed);
 * then none is taken.
 *
 * A snapshot is no copy: from its first command on nic->state is UNIC_NIC_HELD, and the
 * poll loop does nothing that changes a table. Assumes that @nic is READY otherwise, or
 * has failed.
 */
int unic_dump(struct unic_command *nic, const struct unic_cmd_dump *cmd,
	      uint8_t *list, struct unic_cpl_dump *cpl);

/** unic_dump_holds() - true if @cmd is of the snapshot that holds the tables; assumes
 * that one does. */
bool unic_dump_holds(const struct unic_command *nic,
		     const struct unic_cmd_dump *cmd);

/** unic_dump_until() - returns when the snapshot that holds the tables ends at the
 * latest. */
uint64_t unic_dump_until(const struct unic_command *nic);

/** unic_dump_resume() - ends the snapshot that holds the tables: READY again, and the
 * next round runs the timers. */
void unic_dump_resume(struct unic_command *nic);

/** unic_dump_crash() - fills in epoch, trace_seq and table_sum of the crash
 * record @out. Assumes nothing about the state of @nic. */
void unic_dump_crash(const struct unic_command *nic, struct unic_crash *out);

#endif /* UNIC_DUMP_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * command.h - what command/ and the poll loop see of the NIC; see base/base.h.
 */
#ifndef UNIC_COMMAND_H
#define UNIC_COMMAND_H

#include "command/proc.h"
#include "transport/transport.h"
#include "unic_cmd_dump.h"

/* The tables as they were at one instant, for DUMP. What is large is copied as it is;
 * of the other tables there are the rows, in this order. */
#define UNIC_SNAPSHOT_ROWS (UNIC_QPS + UNIC_CQS + UNIC_PROCS + UNIC_WAITS)

struct unic_snapshot {
	uint32_t number; /* of the last one; 0: none was taken */
	uint32_t epoch;	 /* in which it was taken: a reset ends it */
	uint64_t time_ns;
	struct unic_tables tables;
	uint64_t row[UNIC_SNAPSHOT_ROWS][UNIC_ROW_BYTES / 8u];
	bool used[UNIC_SNAPSHOT_ROWS]; /* row [i] is one */
};

struct unic_command {
	union {
		struct unic_transport transport;
		struct unic_transport;
	};
	/* private copy of a command's list page */
	uint64_t list[UNIC_BOX_LIST_BYTES / 8u];
	struct unic_snapshot snapshot[UNIC_SNAPSHOT];
};

#endif /* UNIC_COMMAND_H */

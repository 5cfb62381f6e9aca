/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * command.h - what command/ and the poll loop see of the NIC; see base/base.h.
 */
#ifndef UNIC_COMMAND_H
#define UNIC_COMMAND_H

#include "command/proc.h"
#include "transport/transport.h"

/* A value of nic->state beside enum unic_nic_state, never published: a snapshot is
 * read, and no table changes (command/dump.h). */
#define UNIC_NIC_HELD 0x80u

/* The last snapshot. It has not ended while nic->state is UNIC_NIC_HELD. */
struct unic_snapshot {
	uint64_t since_ns; /* when it was taken */
	uint32_t number;   /* 0: there was none */
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

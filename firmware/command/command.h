/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * command.h - what command/ and the poll loop see of the NIC; see base/base.h.
 */
#ifndef UNIC_COMMAND_H
#define UNIC_COMMAND_H

#include "command/proc.h"
#include "transport/transport.h"

struct unic_command {
	union {
		struct unic_transport transport;
		struct unic_transport;
	};
	/* private copy of a command's list page */
	uint64_t list[UNIC_BOX_LIST_BYTES / 8u];
};

#endif /* UNIC_COMMAND_H */

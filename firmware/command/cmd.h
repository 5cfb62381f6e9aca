/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmd.h - the mailbox commands (abi/unic_mbox.h).
 *
 * Secret: the opcode table - which handler decodes and answers which command.
 */
#ifndef UNIC_CMD_H
#define UNIC_CMD_H

#include <stdint.h>

struct unic_command;

/**
 * unic_cmd_execute() - validate and execute one fetched command. Reads the clock
 * first, unless the command starts and ends nothing that is timed (INV-6).
 * @rec:  64 bytes, the only copy that is looked at.
 * @out:  64 bytes, becomes the completion; both are aligned to 8.
 * @list: the 4096-byte list page of the command's slot, in shared memory.
 */
void unic_cmd_execute(struct unic_command *nic, const void *rec, void *out,
		      void *list);

/** unic_cmd_publish() - bring the changing part of the info page up to date: state,
 * epoch, address, what SET_PARAMS sets. */
void unic_cmd_publish(struct unic_command *nic);

/* For its rows in other files. */

/** unic_cmd_one() - execute record @rec of a batch, of an opcode there is and
 * word-aligned, into completion @out; @list: what its list page would have. Its
 * epoch is not looked at. */
int unic_cmd_one(struct unic_command *nic, const void *rec, void *out,
		 uint8_t *list);

#endif /* UNIC_CMD_H */

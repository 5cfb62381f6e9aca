/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmd_batch.h - the mailbox commands that hold several; rows of the table of
 * cmd.c.
 *
 * Secret: how the records of a list page are read one by one, and the answers to
 * those that fail.
 */
#ifndef UNIC_CMD_BATCH_H
#define UNIC_CMD_BATCH_H

#include <stdint.h>

struct unic_command;

/*
 * MR_BATCH and TOKEN_BATCH. Arguments: the private copy of the command, a zeroed
 * completion whose header is filled in, and the list page, which is shared. Both
 * return 0 or -UNIC_E*.
 */
int unic_cmd_mr_batch(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);
int unic_cmd_token_batch(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list);

#endif /* UNIC_CMD_BATCH_H */

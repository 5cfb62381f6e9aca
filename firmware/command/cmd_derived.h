/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmd_derived.h - the mailbox commands for derived regions; rows of the table of
 * cmd.c.
 *
 * Arguments: the private copy of the command, a zeroed completion whose header is
 * filled in, and the list page, which is shared. Each returns 0 or -UNIC_E*.
 */
#ifndef UNIC_CMD_DERIVED_H
#define UNIC_CMD_DERIVED_H

#include <stdint.h>

struct unic_command;

/* MR_ALLOC, MR_MAKE, MR_INVAL, MR_FORMS and MR_REREG. */
int unic_cmd_mr_alloc(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);
int unic_cmd_mr_make(struct unic_command *nic, const void *rec, void *out,
		     uint8_t *list);
int unic_cmd_mr_inval(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);
int unic_cmd_mr_forms(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);
int unic_cmd_mr_rereg(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);

#endif /* UNIC_CMD_DERIVED_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmd_derived.h - the mailbox commands about forms, and those made of several; rows
 * of the table of cmd.c.
 *
 * Each gets the private copy of the command, a zeroed completion whose header
 * is already right, and the list page, which is shared; returns 0 or -UNIC_E*.
 */
#ifndef UNIC_CMD_DERIVED_H
#define UNIC_CMD_DERIVED_H

#include <stdint.h>

struct unic_command;

int unic_cmd_mr_alloc(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);
int unic_cmd_mr_make(struct unic_command *nic, const void *rec, void *out,
		     uint8_t *list);
int unic_cmd_mr_inval(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);
int unic_cmd_mr_rereg(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);
int unic_cmd_mr_batch(struct unic_command *nic, const void *rec, void *out,
		      uint8_t *list);
int unic_cmd_token_batch(struct unic_command *nic, const void *rec, void *out,
			 uint8_t *list);

/* For these, of cmd.c. */

/** unic_cmd_explain() - after @err of a registration of @pd: a struct
 * unic_cpl_usage in @out, if that explains it. */
void unic_cmd_explain(struct unic_command *nic, uint32_t pd, int err,
		      void *out);

/** unic_cmd_one() - execute record @rec of a batch, of an opcode there is and
 * word-aligned, into completion @out; @list: what its list page would have. Its
 * epoch is not looked at. */
int unic_cmd_one(struct unic_command *nic, const void *rec, void *out,
		 uint8_t *list);

/** unic_cmd_fetch() - @n words of shared memory, each read once, to @to. */
void unic_cmd_fetch(const uint8_t *list, uint64_t *to, uint32_t n);

#endif /* UNIC_CMD_DERIVED_H */

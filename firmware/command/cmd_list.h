/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cmd_list.h - the list page of a command.
 *
 * Secret: it is shared memory, so each word is read once, into a copy.
 */
#ifndef UNIC_CMD_LIST_H
#define UNIC_CMD_LIST_H

#include <stdint.h>

struct unic_command;

/** unic_cmd_fetch() - @n words of shared memory, each read once, to @to. */
void unic_cmd_fetch(const uint8_t *list, uint64_t *to, uint32_t n);

/** unic_cmd_list() - @count addresses of @list, which has as many, in the order of this
 * machine. They are good until the next call. */
const uint64_t *unic_cmd_list(struct unic_command *nic, const uint8_t *list,
			      uint32_t count);

#endif /* UNIC_CMD_LIST_H */

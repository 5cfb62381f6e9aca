/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cmd_list.c - see cmd_list.h. */
#include "command/cmd_list.h"

#include "command/command.h"

void unic_cmd_fetch(const uint8_t *list, uint64_t *to, uint32_t n)
{
	const uint64_t *shared = (const uint64_t *)(const void *)list;
	uint32_t i;

	for (i = 0; i < n; i++)
		to[i] = UNIC_READ_ONCE(shared[i]);
}

const uint64_t *unic_cmd_list(struct unic_command *nic, const uint8_t *list,
			      uint32_t count)
{
	const unic_le64 *shared = (const unic_le64 *)list;
	uint32_t i;

	for (i = 0; i < count; i++)
		nic->list[i] = unic_from_le64(UNIC_READ_ONCE(shared[i]));
	return nic->list;
}

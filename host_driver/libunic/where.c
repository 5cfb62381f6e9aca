/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "where.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True if @nic is a number of a NIC, or a name of one. */
static bool is_nic(const char *nic)
{
	size_t n = strlen(nic), digits = strspn(nic, "0123456789");
	size_t i;

	if (n && digits == n)
		return n <= 3;
	for (i = 0; i < n; i++)
		if (!isalnum((unsigned char)nic[i]) && !strchr("-_", nic[i]))
			return false;
	return n && n < sizeof(((struct unic_ctl_select *)NULL)->name) &&
	       isalpha((unsigned char)nic[0]);
}

bool unic_where_split(const char *where, char *path, size_t room,
		      struct unic_ctl_select *select)
{
	const char *comma = strrchr(where, ',');
	bool named = comma && is_nic(comma + 1);
	size_t n = named ? (size_t)(comma - where) : strlen(where);

	memset(select, 0, sizeof(*select));
	snprintf(path, room, "%.*s", (int)n, where);
	if (!named)
		return false;
	if (isdigit((unsigned char)comma[1]))
		select->number =
			unic_to_le32((uint32_t)strtoul(comma + 1, NULL, 10));
	else
		memcpy(select->name, comma + 1, strlen(comma + 1));
	return true;
}

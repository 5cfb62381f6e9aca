/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ids.c - see ids.h. */
#include "ids.h"

#define MAGIC	0x49445531u /* "1UDI" */
#define GEN_MAX ((1u << (32 - UNIC_OBJ_BITS)) - 1)

static bool is_of_boot(const struct unic_ids *ids, const uint64_t boot[2])
{
	return ids->magic == MAGIC && ids->boot[0] == boot[0] &&
	       ids->boot[1] == boot[1];
}

void unic_ids_init(struct unic_ids *ids, struct unic_os *os,
		   const uint64_t boot[2])
{
	if (!is_of_boot(ids, boot)) {
		memset(ids, 0, sizeof(*ids));
		ids->boot[0] = boot[0];
		ids->boot[1] = boot[1];
		unic_os_wmb();
		ids->magic = MAGIC;
	}
	unic_os_random(os, &ids->host_id, sizeof(ids->host_id));
}

uint32_t unic_ids_next(struct unic_ids *ids, uint32_t i)
{
	uint32_t gen;

	if (UNIC_LOAD(ids->gen[i]) >= GEN_MAX)
		return 0;
	gen = unic_os_count(&ids->gen[i]);
	/* more: another driver took the last one meanwhile */
	return gen <= GEN_MAX ? gen << UNIC_OBJ_BITS | i : 0;
}

void unic_ids_given(struct unic_ids *ids, uint32_t id)
{
	uint32_t i = unic_obj_index(id), gen = id >> UNIC_OBJ_BITS;

	if (ids->gen[i] < gen)
		ids->gen[i] = gen;
}

void unic_ids_merge(struct unic_ids *ids, const struct unic_ids *others)
{
	uint32_t i;

	if (!is_of_boot(others, ids->boot))
		return;
	for (i = 0; i < UNIC_OBJ_MAX; i++)
		unic_ids_given(ids, others->gen[i] << UNIC_OBJ_BITS | i);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* idle.c - see idle.h. */
#include "memory/idle.h"

#include <string.h>

#include "memory/access.h"
#include "memory/memory.h"

void unic_idle_init(struct unic_memory *nic)
{
	memset(&nic->idle, 0, sizeof(nic->idle));
}

void unic_idle_note(struct unic_memory *nic, uint16_t mr)
{
	const struct unic_mr_ctx *m = &nic->mrs.mr[mr];
	struct unic_idle *list = &nic->idle;

	if (m->state != UNIC_MR_DRAINING || !unic_mr_idle(m) || list->next[mr])
		return;
	if (list->head)
		list->next[list->tail - 1u] = (uint16_t)(mr + 1u);
	else
		list->head = (uint16_t)(mr + 1u);
	list->tail = (uint16_t)(mr + 1u);
	list->next[mr] = UNIC_MR_NIL;
	unic_mr_evict_due(nic);
}

uint16_t unic_idle_take(struct unic_memory *nic)
{
	struct unic_idle *list = &nic->idle;
	uint16_t mr = (uint16_t)(list->head - 1u), next;

	if (!list->head)
		return UNIC_MR_NIL;
	next = list->next[mr];
	list->head = next == UNIC_MR_NIL ? 0 : next;
	list->next[mr] = 0;
	return mr;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* candidates.c - see candidates.h. */
#include "memory/candidates.h"

#include <stddef.h>
#include <string.h>

#include "memory/memory.h"

_Static_assert(offsetof(struct unic_mr_ctx, uses) ==
		       offsetof(struct unic_mr_ctx, last_use_ns) +
			       sizeof(uint64_t),
	       "policies find the uses behind the last one");
_Static_assert((UNIC_GHOSTS & (UNIC_GHOSTS - 1)) == 0 && UNIC_GHOSTS >= 4,
	       "the table of ghosts is a power of two");

#define FROM_USE(field)                                  \
	((int16_t)(offsetof(struct unic_mr_ctx, field) - \
		   offsetof(struct unic_mr_ctx, last_use_ns)))

#define REAPER_US    1000u
#define RESIDENCE_US 5000u

void unic_candidates_init(struct unic_memory *nic)
{
	struct unic_candidates *c = &nic->candidates;
	uint32_t i;

	memset(c, 0, sizeof(*c));
	if (UNIC_PAIN) {
		memset(&nic->pains, 0, sizeof(nic->pains));
		nic->pains.state.moved = nic->pains.moved;
		nic->pains.state.ghost_loss = nic->pains.ghost_loss;
		unic_candidates_weigh(nic, 100);
	}
	c->table = (struct unic_policy_table){
		.item = c->item,
		.last_use_ns = &nic->mrs.mr[0].last_use_ns,
		.stride = sizeof(nic->mrs.mr[0]),
		.since = FROM_USE(since_ns),
		.size = FROM_USE(n_pages),
		.hint = FROM_USE(importance),
		.bytes = UNIC_PAIN ? FROM_USE(bytes) : 0,
		.ghost = c->ghost,
		.ghost_mask = UNIC_GHOSTS / 4u - 1u,
		.state = &nic->pains.state,
	};
	c->reaper_us = REAPER_US;
	c->residence_us = RESIDENCE_US;
	for (i = 0; i < UNIC_PROCS; i++)
		unic_policy_init(&c->chooser[i], &c->table);
}

void unic_candidates_weigh(struct unic_memory *nic, uint32_t pct)
{
	nic->pains.state.weight = (pct << UNIC_PAIN_WEIGHT_LOG2) / 100;
}

void unic_candidate_add(struct unic_memory *nic, uint16_t mr)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	UNIC_IN_REGISTER(m);
	if (m->mr_class == UNIC_CLASS_CONTROL || unic_mr_cached(m))
		return;
	m->flags |= UNIC_MR_F_RING;
	unic_policy_add(&nic->candidates.chooser[m->proc], mr);
}

void unic_candidate_remove(struct unic_memory *nic, uint16_t mr)
{
	struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	if (!(m->flags & UNIC_MR_F_RING))
		return;
	m->flags &= (uint8_t)~UNIC_MR_F_RING;
	unic_policy_remove(&nic->candidates.chooser[m->proc], mr);
}

void unic_candidate_rehint(struct unic_memory *nic, uint16_t mr)
{
	const struct unic_mr_ctx *m = &nic->mrs.mr[mr];

	nic->usages.reported[mr].importance = m->importance;
	if (m->flags & UNIC_MR_F_RING)
		unic_policy_rehint(&nic->candidates.chooser[m->proc], mr,
				   nic->now_ns);
}

/*
 * A region that returns after an eviction is a new region of the same process and
 * range. Not secret: a process that chooses ranges that collide confuses its own
 * regions only.
 */
uint32_t unic_candidate_identity(const struct unic_mr_ctx *m)
{
	uint32_t h = (uint32_t)m->iova ^
		     (uint32_t)(m->iova >> 32) * 0x9e3779b1u;

	h = (h ^ h >> 15) * 0x85ebca77u + (uint32_t)m->length;
	h = (h ^ h >> 13) * 0xc2b2ae3du + m->proc;
	h = (h ^ h >> 16) * 0x9e3779b1u;
	return h ^ h >> 15;
}

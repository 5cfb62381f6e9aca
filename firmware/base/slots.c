/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* slots.c - see slots.h. */
#include "base/slots.h"

#include <string.h>

#include "base/base.h"

/* While no slot is watched, watch[0] points to its own constant word. */
static void reset_watch(struct unic_procs *ps)
{
	ps->watch[0].seen = 0;
	ps->watch[0].seq = &ps->watch[0].still;
}

void unic_slot_init(struct unic_base *nic)
{
	memset(&nic->procs, 0, sizeof(nic->procs));
	memset(&nic->db_errors, 0, sizeof(nic->db_errors));
	reset_watch(&nic->procs);
}

bool unic_slot_live(const struct unic_base *nic, uint32_t proc)
{
	return proc < UNIC_PROCS && nic->procs.proc[proc].db &&
	       !nic->procs.proc[proc].detaching;
}

void unic_slot_watch(struct unic_base *nic, uint32_t slot)
{
	struct unic_procs *ps = &nic->procs;
	struct unic_watch *w = &ps->watch[ps->n_active++];

	w->seq = &ps->proc[slot].db->fifo_seq;
	w->seen = unic_from_le32(UNIC_READ_ONCE(*w->seq));
	w->slot = slot;
}

void unic_slot_unwatch(struct unic_base *nic, uint32_t slot)
{
	struct unic_procs *ps = &nic->procs;
	uint32_t i;

	for (i = 0; i < ps->n_active && ps->watch[i].slot != slot; i++)
		;
	UNIC_ASSERT(nic, i < ps->n_active);
	ps->watch[i] = ps->watch[--ps->n_active];
	if (!ps->n_active)
		reset_watch(ps);
}

int unic_slot_bind(struct unic_base *nic, uint32_t proc, enum unic_db_kind kind,
		   uint32_t db_index, uint16_t idx)
{
	struct unic_proc *p = &nic->procs.proc[proc];
	uint16_t *row;

	if (db_index >= UNIC_BOX_DB_ROWS)
		return -UNIC_EINVAL;
	row = kind == UNIC_DB_ARM ? &p->cq_of[db_index] : &p->qp_of[db_index];
	if (idx != UNIC_DB_NONE && *row != UNIC_DB_NONE)
		return -UNIC_EBUSY;
	*row = idx;
	return 0;
}

void unic_slot_bad_doorbell(struct unic_base *nic, uint32_t proc, uint32_t word)
{
	struct unic_db_error *e = &nic->db_errors.of[proc];

	UNIC_COUNT(nic, db_bad);
	if (e->due || e->told)
		return;
	e->due = true;
	e->word = word;
	nic->db_errors.due++;
	if (e->ns < nic->timers_ns)
		nic->timers_ns = e->ns;
}

uint32_t unic_slot_ration_left(struct unic_base *nic)
{
	return unic_ration_left(&nic->procs.leaving, nic->polls,
				UNIC_LEAVE_ROUND);
}

void unic_slot_ration_spend(struct unic_base *nic, uint32_t cost)
{
	unic_ration_spend(&nic->procs.leaving, cost);
}

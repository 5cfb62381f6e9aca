/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* cmd_usage.c - see cmd_usage.h. */
#include "command/cmd_usage.h"

#include "command/command.h"

/* Errors that a struct unic_cpl_usage explains. */
static bool table_of_err(int err, uint32_t *table)
{
	switch (-err) {
	case UNIC_EMRFULL:
		*table = UNIC_TABLE_MR;
		return true;
	case UNIC_EWAITFULL:
		*table = UNIC_TABLE_WAIT;
		return true;
	case UNIC_EELEMENTS:
		*table = UNIC_TABLE_ELEMENT;
		return true;
	case UNIC_ETLBFULL:
	case UNIC_EQUOTA:
	case UNIC_ETOOLARGE:
	case UNIC_ECTRLCAP:
		*table = UNIC_TABLE_TLB;
		return true;
	default:
		return false;
	}
}

/* Entries that somebody within his share could have back from @proc now: of regions
 * that are candidates, young ones included, and of pages that are only cached. */
static uint32_t count_evictable(const struct unic_command *nic, uint32_t proc)
{
	uint32_t n = nic->cache.entries[proc];
	uint16_t i;

	for (i = nic->procs.proc[proc].mr_head; i != UNIC_MR_NIL;
	     i = nic->mrs.mr[i].next)
		if (nic->mrs.mr[i].flags & UNIC_MR_F_RING)
			n += nic->mrs.mr[i].n_pages;
	return n < UINT16_MAX ? n : UINT16_MAX;
}

void unic_cmd_usage(struct unic_command *nic, uint32_t proc, uint32_t table,
		    struct unic_cpl_usage *cpl)
{
	unic_reclaim_usage(&nic->revoke, proc, cpl);
	cpl->table = unic_to_le32(table);
	if (UNIC_EVICTABLE && !table)
		cpl->evictable =
			unic_to_le16((uint16_t)count_evictable(nic, proc));
	if (table == UNIC_TABLE_MR) {
		cpl->limit = unic_to_le32(UNIC_MRS);
		cpl->used = unic_to_le32((uint32_t)(UNIC_MRS - nic->mrs.free));
	} else if (table == UNIC_TABLE_WAIT) {
		cpl->limit = unic_to_le32(UNIC_WAITS);
		cpl->used = unic_to_le32(nic->admission.waiting);
	} else if (table == UNIC_TABLE_ELEMENT) {
		cpl->limit = unic_to_le32(UNIC_ELEMENTS);
		cpl->used = unic_to_le32(nic->derived.used);
		cpl->holding = unic_to_le32(nic->derived.held[proc]);
		cpl->fair_share = unic_to_le32(UNIC_ELEMENTS_PROC);
	}
}

void unic_cmd_explain(struct unic_command *nic, uint32_t proc, int err,
		      void *out)
{
	uint32_t table;

	if (table_of_err(err, &table))
		unic_cmd_usage(nic, proc, table, out);
}

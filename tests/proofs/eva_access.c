// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * eva_access.c - the memory safety of the access check: any STag and range
 * against any table whose chains stay in the pool (INV-2, INV-3 keep them so),
 * with any result for derived regions and cached entries. wp_access.c proves
 * what a grant means.
 */
#include "hostile.h"
#include "nic.h"

#include "memory/access.h"

#include "memory/access.c"

static struct unic_nic nic;

void unic_port_panic(struct unic_port *port, const char *file, uint32_t line)
{
	(void)port, (void)file, (void)line;
	exit(1);
}

void unic_idle_note(struct unic_memory *n, uint16_t mr)
{
	(void)n, (void)mr;
}

/* Any region, any address. */
uint16_t unic_cached_window_find(const struct unic_memory *n, uint16_t mr,
				 uint64_t *iova)
{
	(void)n, (void)mr;
	*iova = any64();
	return (uint16_t)below(UNIC_MRS);
}

uint16_t unic_cached_window_region(const struct unic_memory *n, uint16_t mr)
{
	(void)n, (void)mr;
	return (uint16_t)below(UNIC_MRS);
}

void unic_cached_window_show(struct unic_memory *n, uint16_t mr)
{
	(void)n, (void)mr;
}

/* A fault, or any entry. */
int unic_cache_entry(struct unic_memory *n, uint16_t mr, uint32_t page,
		     uint32_t ahead, const struct unic_tlb_entry **out)
{
	(void)mr, (void)page, (void)ahead;
	if (below(2))
		return -UNIC_EMISS;
	*out = &n->tlb.entry[below(UNIC_TLB_ENTRIES)];
	return 0;
}

/* No translation, or any. */
bool unic_xlate_run(const struct unic_memory *n, uint16_t mr, uint64_t iova,
		    struct unic_xlate *out)
{
	(void)n, (void)mr, (void)iova;
	out->bus = any64();
	out->before = any32();
	out->len = any32();
	return below(2);
}

static void any_tables(void)
{
	uint32_t i;

	Frama_C_make_unknown((char *)&nic.mrs, sizeof(nic.mrs));
	Frama_C_make_unknown((char *)&nic.tlb, sizeof(nic.tlb));
	Frama_C_make_unknown((char *)nic.counter, sizeof(nic.counter));
	nic.now_ns = any64();
	for (i = 0; i < UNIC_MRS; i++)
		nic.mrs.mr[i].page_shift = (uint8_t)Frama_C_interval(12, 31);
	for (i = 0; i < UNIC_TLB_BUCKETS; i++)
		nic.tlb.bucket[i] = (uint16_t)below(UNIC_TLB_ENTRIES + 1);
	for (i = 0; i <= UNIC_TLB_ENTRIES; i++)
		nic.tlb.entry[i].next = (uint16_t)below(UNIC_TLB_ENTRIES + 1);
}

void access_all(void)
{
	struct unic_xlate out;
	uint16_t mr = (uint16_t)below(UNIC_MRS);

	any_tables();
	unic_access(&nic.memory, any32(), (uint16_t)below(UNIC_PDS), any32(),
		    any64(), any32(), &out);
	unic_mr_check(&nic.memory, any32(), (uint16_t)below(UNIC_PDS), any32(),
		      any64(), any64());
	unic_xlate(&nic.memory, mr, any64(), any32(), &out);
	unic_mr_hold(&nic.memory, mr);
	unic_mr_unhold(&nic.memory, mr);
	unic_mr_dma_get(&nic.memory, mr);
	unic_mr_dma_put(&nic.memory, mr);
	unic_mr_queue_get(&nic.memory, mr);
	unic_mr_queue_put(&nic.memory, mr);
}

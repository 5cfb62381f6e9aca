/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* table.c - see table.h. */
#include "memory/table.h"

#include <string.h>

#include "memory/cache.h"
#include "memory/fault.h"
#include "memory/memory.h"

#define COLD	 __attribute__((noinline, cold))
#define RETRY_NS 100000u /* until room in the pool is looked for again */

#define FOR_A_LOOK 0u /* `keep` of a read for unic_table_look(): no entries */

_Static_assert(UNIC_TABLE_GROUP * 8u == 64u, "the alignment of a list");

void unic_table_init(struct unic_memory *nic)
{
	memset(&nic->tables, 0, sizeof(nic->tables));
	nic->tables.prefetch = 1;
}

void unic_table_attach(struct unic_memory *nic, uint32_t proc, uint64_t bus)
{
	nic->tables.window[proc] = (uint16_t)UNIC_BUS_WINDOW(bus);
}

bool unic_table_fits(const struct unic_mr_args *a, uint32_t pages)
{
	return !(a->list % 64u) &&
	       !((UNIC_BUS_OFFSET(a->list) + 8ull * pages - 1u) >> 48);
}

/* --------------------------------------------------------- words and entries */

/* The bus address of a page in @word, or 1: there is none that region @mr may use. */
static uint64_t bus_of(const struct unic_memory *nic, uint16_t mr,
		       unic_le64 word)
{
	const struct unic_mr_ctx *m = &nic->mrs.mr[mr];
	uint64_t bus = unic_from_le64(word) ^ UNIC_TABLE_VALID;

	if (bus & ((1u << m->page_shift) - 1u) ||
	    UNIC_BUS_WINDOW(bus) != nic->tables.window[m->proc])
		return 1;
	return bus;
}

static int insert_word(struct unic_memory *nic, const struct unic_table_read *t,
		       uint32_t page, bool wanted)
{
	uint64_t bus = bus_of(nic, t->mr, t->word[page - t->first]);
	int r;

	if (unlikely(bus & 1u))
		return -UNIC_ENOPAGE;
	r = unic_cache_insert(nic, t->mr, page, bus, wanted);
	if (!r)
		UNIC_COUNT(nic, table_filled);
	return r;
}

/* Inserts the pages behind @page: those within @keep, and more into free entries. */
static COLD int insert_further(struct unic_memory *nic,
			       const struct unic_table_read *t, uint32_t page,
			       uint32_t keep)
{
	uint32_t pages = unic_mr_count_pages(&nic->mrs.mr[t->mr]), from = page;
	uint32_t end = t->first + UNIC_TABLE_GROUP;
	uint32_t most = nic->tables.prefetch;
	int n = 0;

	end = end < pages ? end : pages;
	most = keep > most ? keep : most;
	if (most < end - page)
		end = page + most;
	while (++page < end) {
		if (unic_cache_has(nic, t->mr, page))
			continue;
		if (page - from >= keep && !unic_cache_spare(nic, t->mr))
			break;
		n += !insert_word(nic, t, page, false);
	}
	return n;
}

/* As unic_table_miss(), with the words that have come. */
static int insert_words(struct unic_memory *nic,
			const struct unic_table_read *t, uint32_t page,
			uint32_t keep, bool wanted)
{
	int r = insert_word(nic, t, page, wanted);

	if (r)
		return r;
	if (keep <= 1u && nic->tables.prefetch <= 1u)
		return 1;
	return 1 + insert_further(nic, t, page, keep);
}

/* -------------------------------------------------------------------- reads */

/* A read that is under way, and not too old, of the group @first; or NULL. */
static COLD struct unic_table_read *find_read(struct unic_memory *nic,
					      uint16_t mr, uint32_t first)
{
	uint32_t seq = nic->cache.of[mr].seq, i;
	struct unic_table_read *t = nic->tables.read;

	for (i = 0; i < UNIC_TABLE_PLACES; i++, t++)
		if (t->busy && t->mr == mr && t->first == first &&
		    t->seq == seq)
			return t;
	return NULL;
}

static struct unic_table_read *free_read(struct unic_memory *nic)
{
	uint32_t i;

	for (i = 0; i < UNIC_TABLE_PLACES; i++)
		if (!nic->tables.read[i].busy)
			return &nic->tables.read[i];
	return NULL;
}

static COLD int await_read(struct unic_memory *nic, struct unic_table_read *t,
			   uint32_t page, uint32_t keep)
{
	t->page = page;
	t->keep = keep;
	t->seq = nic->cache.of[t->mr].seq;
	t->busy = true;
	nic->tables.under_way++;
	nic->pieces++;
	unic_mr_hold(nic, t->mr);
	return -UNIC_EPENDING;
}

/* 0: the words of the group of @page are in *@at, until the next read. */
static inline __attribute__((always_inline)) int
read_group(struct unic_memory *nic, uint16_t mr, uint32_t page, uint32_t keep,
	   struct unic_table_read **at)
{
	uint32_t first = page & ~(UNIC_TABLE_GROUP - 1u);
	struct unic_table_read *t = nic->tables.read;
	int r;

	if (unlikely(nic->tables.under_way)) {
		if (find_read(nic, mr, first))
			return -UNIC_EPENDING;
		t = free_read(nic);
		if (!t)
			return -UNIC_EAGAIN;
	}
	t->mr = mr;
	t->first = first;
	UNIC_COUNT(nic, table_reads);
	r = unic_port_dma(nic->port, UNIC_DMA_FROM_HOST,
			  nic->tables.list[mr] + 8ull * first, t->word,
			  sizeof(t->word),
			  UNIC_DMA_JOBS + (uint32_t)(t - nic->tables.read));
	*at = t;
	if (likely(r == UNIC_PORT_OK))
		return 0;
	if (r == UNIC_PORT_PENDING)
		return await_read(nic, t, page, keep);
	if (r == UNIC_PORT_EAGAIN)
		return -UNIC_EAGAIN;
	UNIC_COUNT(nic, dma_errors);
	return -UNIC_ENOPAGE;
}

int unic_table_miss(struct unic_memory *nic, uint16_t mr, uint32_t page,
		    uint32_t keep, bool wanted)
{
	struct unic_table_read *t;
	int r;

	if (unlikely(nic->mrs.mr[mr].state >= UNIC_MR_DRAINING))
		return -UNIC_EEVICTED;
	r = read_group(nic, mr, page, keep, &t);
	return likely(!r) ? insert_words(nic, t, page, keep, wanted) : r;
}

static bool is_in_group(const struct unic_table_read *t, uint16_t mr,
			uint32_t page)
{
	return t && t->mr == mr && page - t->first < UNIC_TABLE_GROUP;
}

COLD int unic_table_look(struct unic_memory *nic, uint16_t mr, uint32_t page,
			 struct unic_table_read **at, uint64_t *bus)
{
	unic_tlb_idx i = unic_tlb_find(&nic->tlb, nic->cache.of[mr].base, page);
	struct unic_table_read *came = &nic->loading.came;
	int r = 0;

	if (i != UNIC_TLB_NIL) {
		*bus = nic->tlb.entry[i].bus;
		return 0;
	}
	if (!is_in_group(*at, mr, page) && came->busy &&
	    is_in_group(came, mr, page))
		*at = came;
	if (!is_in_group(*at, mr, page))
		r = read_group(nic, mr, page, FOR_A_LOOK, at);
	if (r) {
		*at = NULL;
		return r == -UNIC_EPENDING ? -UNIC_EAGAIN : r;
	}
	*bus = bus_of(nic, mr, (*at)->word[page - (*at)->first]);
	return *bus & 1u ? -UNIC_ENOPAGE : 0;
}

bool unic_table_ahead(struct unic_memory *nic, uint16_t mr, uint32_t *first,
		      uint32_t end_page, uint32_t *done)
{
	uint32_t keep = end_page - *first;
	uint32_t group = UNIC_TABLE_GROUP - *first % UNIC_TABLE_GROUP;
	int r = unic_table_miss(nic, mr, *first, keep, false);

	if (r == -UNIC_EPENDING)
		r = (int)(keep < group ? keep : group);
	if (r <= 0)
		return r == -UNIC_ENOPAGE;
	*done += (uint32_t)r;
	*first += (uint32_t)r - 1u;
	return true;
}

/* Who waits for the page of fault @m, which is in the group that came. */
static COLD void settle_fault(struct unic_memory *nic,
			      const struct unic_table_read *t,
			      struct unic_page_fault *m)
{
	int r = 1;

	if (!unic_cache_has(nic, t->mr, m->first))
		r = insert_words(nic, t, m->first, m->count, true);
	if (r == -UNIC_EAGAIN) { /* no room: read again, when there is */
		m->short_of = true;
		m->state = UNIC_FAULT_DUE;
		unic_fault_schedule(nic, nic->now_ns + RETRY_NS);
		return;
	}
	unic_fault_end(nic, m, r < 0 ? UNIC_FAULT_FAILED : UNIC_FAULT_FREE);
}

static COLD void settle_faults(struct unic_memory *nic,
			       const struct unic_table_read *t, bool ok)
{
	uint32_t left = nic->faults.busy;

	while (left) {
		struct unic_page_fault *m =
			unic_fault_next(&nic->faults, &left);

		if (m->mr != t->mr || m->state == UNIC_FAULT_FAILED ||
		    m->first - t->first >= UNIC_TABLE_GROUP)
			continue;
		if (ok)
			settle_fault(nic, t, m);
		else
			unic_fault_end(nic, m, UNIC_FAULT_FAILED);
	}
}

/* Inserts a group that nobody waits for any more, or yet, into the cache; keeps it for
 * unic_table_look() if that asked for it. A group that could not be read has no pages. */
static void insert_unasked(struct unic_memory *nic,
			   const struct unic_table_read *t, bool ok)
{
	struct unic_table_read *came = &nic->loading.came;

	if (t->keep == FOR_A_LOOK) {
		*came = *t;
		came->busy = nic->loading.n != 0;
		if (!ok)
			memset(came->word, 0, sizeof(came->word));
		return;
	}
	if (ok && !unic_cache_has(nic, t->mr, t->page))
		(void)insert_words(nic, t, t->page, t->keep, false);
}

static COLD void use_words(struct unic_memory *nic,
			   const struct unic_table_read *t, bool ok)
{
	if (nic->mrs.mr[t->mr].state >= UNIC_MR_DRAINING)
		return;
	if (t->seq != nic->cache.of[t->mr].seq) {
		UNIC_COUNT(nic, table_stale); /* who waits asked again */
		return;
	}
	settle_faults(nic, t, ok);
	insert_unasked(nic, t, ok);
}

void __attribute__((cold))
unic_table_arrived(struct unic_memory *nic, uint32_t which, bool ok)
{
	struct unic_table_read *t = &nic->tables.read[which];

	UNIC_ASSERT(nic, which < UNIC_TABLE_PLACES && t->busy);
	t->busy = false;
	nic->tables.under_way--;
	nic->pieces--;
	if (!ok)
		UNIC_COUNT(nic, dma_errors);
	use_words(nic, t, ok);
	unic_mr_unhold(nic, t->mr);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* fault_answer.c - see fault_answer.h. */
#include "memory/fault_answer.h"

#include "memory/cache.h"
#include "memory/fault.h"
#include "memory/memory.h"

/* The region that a command names, with its pages in range. */
static int check_cmd_pages(struct unic_memory *nic, uint32_t mr, uint32_t gen,
			   uint32_t first, uint32_t count)
{
	const struct unic_mr_ctx *m = unic_mr_get(nic, mr, gen);
	uint32_t pages;

	if (!m)
		return -UNIC_ENOMR;
	if (!unic_mr_cached(m) || m->state >= UNIC_MR_DRAINING)
		return -UNIC_ESTATE;
	pages = unic_mr_count_pages(m);
	if (!count || first >= pages || count > pages - first)
		return -UNIC_EINVAL;
	return 0;
}

/* Pages of a region that a command names. */
struct page_range {
	uint16_t mr;
	uint32_t first, count;
};

/* Takes a range from a command. Returns 0 if the region and its pages are there. */
static inline __attribute__((always_inline)) int
take_page_range(struct unic_memory *nic, unic_le32 mr, unic_le32 gen,
		unic_le32 first, unic_le32 count, struct page_range *of)
{
	uint32_t idx = unic_from_le32(mr);

	of->mr = (uint16_t)idx;
	of->first = unic_from_le32(first);
	of->count = unic_from_le32(count);
	return check_cmd_pages(nic, idx, unic_from_le32(gen), of->first,
			       of->count);
}

/* Slots of @mr whose first page, the one that missed, is among these, which are there. */
static void end_faults(struct unic_memory *nic, uint16_t mr, uint32_t first,
		       uint32_t count)
{
	uint32_t left = nic->faults.busy;

	while (left) {
		struct unic_page_fault *m =
			unic_fault_next(&nic->faults, &left);

		if (m->mr != mr || m->first - first >= count)
			continue;
		if (!m->ahead)
			unic_histogram_add(&nic->histograms, UNIC_HIST_MISS,
					   nic->now_ns - m->since_ns);
		unic_fault_end(nic, m, UNIC_FAULT_FREE);
	}
}

/* The driver says that there are no such pages. */
static void fail_faults(struct unic_memory *nic, uint16_t mr, uint32_t first,
			uint32_t count)
{
	struct unic_faults *ms = &nic->faults;
	uint32_t left = ms->busy;

	while (left) {
		struct unic_page_fault *m = unic_fault_next(ms, &left);

		if ((m->state != UNIC_FAULT_DUE &&
		     m->state != UNIC_FAULT_SENT) ||
		    m->mr != mr || m->first - first >= count)
			continue;
		if (m->count > first + count - m->first)
			m->count = first + count - m->first;
		UNIC_COUNT(nic, miss_refused);
		unic_fault_end(nic, m, UNIC_FAULT_FAILED);
	}
}

static int insert_pages(struct unic_memory *nic, uint16_t mr, uint32_t first,
			uint32_t count, const uint64_t *pages, uint32_t *done)
{
	uint32_t mask = (1u << nic->mrs.mr[mr].page_shift) - 1u;
	int r = 0;

	for (*done = 0; *done < count; (*done)++) {
		uint32_t page = first + *done;

		if (pages[*done] & mask)
			return -UNIC_EBUS;
		if (unic_cache_has(nic, mr, page))
			continue;
		r = unic_cache_insert(nic, mr, page, pages[*done],
				      unic_fault_find(&nic->faults, mr, page) !=
					      NULL);
		if (r)
			break;
		UNIC_COUNT(nic, miss_filled);
	}
	return r;
}

/* These are waited for longer: the driver does what it can. */
static void mark_short_faults(struct unic_memory *nic, uint16_t mr,
			      uint32_t first, uint32_t count)
{
	uint32_t left = nic->faults.busy;

	while (left) {
		struct unic_page_fault *m =
			unic_fault_next(&nic->faults, &left);

		if (m->mr == mr && m->first - first < count)
			m->short_of = true;
	}
}

/* Is @mr a TABLE region? The driver wrote its list before it sent MR_INVALIDATE, so a
 * page that was not there may be. */
static bool is_listed(const struct unic_memory *nic, uint16_t mr)
{
	return UNIC_TABLE_READS && !nic->cache.of[mr].demand;
}

int unic_fault_refused(struct unic_memory *nic,
		       const struct unic_cmd_mr_fault *cmd,
		       const uint64_t *pages, uint32_t *done)
{
	struct page_range of;
	int r = take_page_range(nic, cmd->mr, cmd->gen, cmd->first, cmd->count,
				&of);

	if (r)
		return r;
	if (is_listed(nic, of.mr))
		return -UNIC_ESTATE;
	if (unic_from_le32(cmd->seq) != nic->cache.of[of.mr].seq)
		return -UNIC_ESTALE;
	if (!pages) {
		fail_faults(nic, of.mr, of.first, of.count);
		return 0;
	}
	r = insert_pages(nic, of.mr, of.first, of.count, pages, done);
	if (r == -UNIC_EAGAIN)
		mark_short_faults(nic, of.mr, of.first + *done,
				  of.count - *done);
	if (*done)
		end_faults(nic, of.mr, of.first, *done);
	return r;
}

int unic_fault_invalidate(struct unic_memory *nic,
			  const struct unic_cmd_mr_pages *cmd, uint32_t *done)
{
	uint32_t left = nic->faults.busy;
	struct page_range of;
	int r = take_page_range(nic, cmd->mr, cmd->gen, cmd->first, cmd->count,
				&of);

	if (r)
		return r;
	if (cmd->advice)
		return -UNIC_EINVAL;
	/* a fast registration has copies of addresses, until it ends */
	if (unic_cache_busy(nic, of.mr) ||
	    (UNIC_TABLE_READS && nic->mrs.mr[of.mr].deps &&
	     unic_dependents_copied(nic, of.mr)))
		return -UNIC_EBUSY;
	nic->cache.of[of.mr].seq++;
	if (UNIC_TABLE_READS && unlikely(nic->loading.n))
		unic_derived_load_forget(nic, of.mr);
	*done = unic_cache_drop(nic, of.mr, of.first, of.count, false);
	while (left) { /* their answers would be stale */
		struct unic_page_fault *m =
			unic_fault_next(&nic->faults, &left);

		if (m->mr != of.mr)
			continue;
		if (m->state == UNIC_FAULT_SENT)
			m->state = UNIC_FAULT_DUE;
		else if (m->state == UNIC_FAULT_FAILED && is_listed(nic, of.mr))
			unic_fault_end(nic, m, UNIC_FAULT_FREE);
	}
	unic_fault_schedule(nic, 0);
	return 0;
}

int unic_fault_advise(struct unic_memory *nic,
		      const struct unic_cmd_mr_pages *cmd, uint32_t *done)
{
	struct page_range of;
	int r = take_page_range(nic, cmd->mr, cmd->gen, cmd->first, cmd->count,
				&of);

	if (r)
		return r;
	switch (unic_from_le32(cmd->advice)) {
	case UNIC_ADVISE_WILL_NEED:
		unic_fault_prefetch(nic, of.mr, of.first, of.count, done);
		return 0;
	case UNIC_ADVISE_DONT_NEED:
		if (unic_cache_busy(nic, of.mr))
			return -UNIC_EBUSY;
		*done = unic_cache_drop(nic, of.mr, of.first, of.count, true);
		return 0;
	default:
		return -UNIC_EINVAL;
	}
}

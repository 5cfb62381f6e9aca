/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* region_pin.c - see region_pin.h. */
#include "region/region_pin.h"

/* The range of @mr, extended to whole pages of its page size: entries map whole pages. */
static void region_span(const struct unic_region *mr, uint64_t *va,
			uint64_t *length)
{
	uint64_t mask = (1ull << mr->page_shift) - 1;

	*va = mr->va & ~mask;
	*length = ((mr->va + mr->length - 1) | mask) - *va + 1;
}

bool unic_region_writable(const struct unic_region *mr)
{
	struct unic_ctl_mr_reg r;

	memcpy(&r, mr->made, sizeof(r));
	return unic_rights_write(r.rights) || r.mr_class == UNIC_CLASS_CONTROL;
}

/* Whether the device may write pages is checked when they are pinned: try a pin with
 * @rights, and undo it. */
bool unic_region_allows(struct unic_host *host, const struct unic_region *mr,
			uint8_t rights)
{
	struct unic_frames *f = &proc_of(host, mr)->frames;
	uint64_t va, length;

	if (!unic_rights_write(rights) || unic_region_writable(mr))
		return true;
	region_span(mr, &va, &length);
	if (unic_frames_pin(f, va, length, true))
		return false;
	unic_frames_unpin(f, va, length);
	return true;
}

bool unic_region_range(struct unic_host *host, const struct unic_client *client,
		       uint32_t id, uint64_t *va, uint64_t *length)
{
	const struct unic_region *mr =
		unic_obj_get(&host->objects, id, UNIC_OBJ_MR, client->slot);

	if (!mr || client->slot == UNIC_OS_NO_SLOT)
		return false;
	region_span(mr, va, length);
	return true;
}

/* ------------------------------------------------------------ DEMAND: pages */

static uint64_t page_va(const struct unic_region *mr, uint32_t page)
{
	uint64_t size = 1ull << mr->page_shift;

	return (mr->va & ~(size - 1)) + page * size;
}

bool unic_region_page_there(const struct unic_region *mr, uint32_t page)
{
	return mr->there[page / 32] >> page % 32 & 1;
}

int unic_region_page_pin(struct unic_host *host, struct unic_region *mr,
			 uint32_t page)
{
	int err = unic_frames_pin(&proc_of(host, mr)->frames, page_va(mr, page),
				  1ull << mr->page_shift,
				  unic_region_writable(mr));

	if (!err)
		mr->there[page / 32] |= 1u << page % 32;
	return err;
}

void unic_region_page_unpin(struct unic_host *host, struct unic_region *mr,
			    uint32_t page)
{
	mr->there[page / 32] &= ~(1u << page % 32);
	unic_frames_unpin(&proc_of(host, mr)->frames, page_va(mr, page),
			  1ull << mr->page_shift);
}

/* ----------------------------------------------------------- TABLE: lists */

/* Words of the list of @mr: whole groups, because the NIC reads such. */
static uint32_t list_words(const struct unic_region *mr)
{
	return (mr->n_pages + UNIC_TABLE_GROUP - 1) & ~(UNIC_TABLE_GROUP - 1u);
}

/* Write the list before MR_REG names it to the NIC. A word is written whole: the NIC
 * may read the list of a region that was recalled. */
static bool write_list(struct unic_host *host, struct unic_region *mr)
{
	struct unic_frames *f = &proc_of(host, mr)->frames;
	uint64_t bus;
	uint32_t i;

	for (i = 0; i < mr->n_pages; i++) {
		if (unic_frames_list(f, mr->va, mr->page_shift, i, 1, &bus))
			return false;
		UNIC_STORE(mr->list[i], unic_to_le64(bus | UNIC_TABLE_VALID));
	}
	return true;
}

static bool begin_list(struct unic_host *host, struct unic_region *mr)
{
	struct unic_frames *f = &proc_of(host, mr)->frames;

	mr->list =
		unic_frames_words(f, mr->obj.id, list_words(mr), &mr->list_bus);
	return mr->list && write_list(host, mr);
}

/* Give the list of @mr back, which the NIC does not read any more. Cleared first: it is
 * no way to pages that are unpinned next. */
static void end_list(struct unic_host *host, struct unic_region *mr)
{
	uint32_t i;

	for (i = 0; i < mr->n_pages; i++)
		UNIC_STORE(mr->list[i], unic_to_le64(0));
	unic_frames_words_free(&proc_of(host, mr)->frames, mr->obj.id);
}

static bool begin_residency(struct unic_host *host, struct unic_region *mr)
{
	if (mr->residency == UNIC_TABLE)
		return begin_list(host, mr);
	if (!mr->there)
		mr->there =
			unic_os_alloc(host->os, (mr->n_pages + 31) / 32 * 4);
	return mr->there;
}

void unic_region_pages_forget(struct unic_host *host, struct unic_region *mr,
			      bool unpin)
{
	uint32_t i;

	for (i = 0; mr->there && unpin && i < mr->n_pages; i++)
		if (unic_region_page_there(mr, i))
			unic_region_page_unpin(host, mr, i);
	unic_os_free(host->os, mr->there);
	mr->there = NULL;
	if (mr->list && unpin)
		end_list(host, mr);
	mr->list = NULL; /* else unic_frames_unpin_all() takes it back */
}

void unic_region_pages_drop(struct unic_host *host, struct unic_region *mr,
			    uint32_t first, uint32_t count)
{
	uint32_t i;

	for (i = first; mr->there && i < mr->n_pages && i - first < count; i++)
		if (unic_region_page_there(mr, i))
			unic_region_page_unpin(host, mr, i);
}

bool unic_region_pages_there(const struct unic_region *mr, uint32_t first,
			     uint32_t count)
{
	uint32_t i;

	for (i = first; mr->there && i < mr->n_pages && i - first < count; i++)
		if (unic_region_page_there(mr, i))
			return true;
	return false;
}

void unic_region_pages_fini(struct unic_host *host)
{
	struct unic_region *mr;
	uint32_t at = 0;

	while ((mr = unic_obj_next(&host->objects, &at, UNIC_OBJ_MR,
				   UNIC_OBJ_ANYONE))) {
		unic_region_pages_forget(host, mr, false);
		unic_os_free(host->os, mr->bus_page);
	}
}

/* ----------------------------------------------------------- a whole region */

static uint32_t pin_status(int err)
{
	switch (err) {
	case 0:
		return UNIC_ST_OK;
	case -ENOENT:
		return UNIC_CTL_ST_NOT_MAPPED;
	case -EDQUOT:
		return UNIC_CTL_ST_NO_FRAMES;
	case -EAGAIN:
		return UNIC_ST_BUSY;
	default:
		return UNIC_CTL_ST_NO_MEMORY;
	}
}

uint32_t unic_region_pin(struct unic_host *host, struct unic_region *mr)
{
	uint64_t va, length;
	int err;

	if (mr->pinned)
		return UNIC_ST_OK;
	if (mr->residency != UNIC_DEMAND) { /* DEMAND pins at faults */
		region_span(mr, &va, &length);
		err = unic_frames_pin(&proc_of(host, mr)->frames, va, length,
				      unic_region_writable(mr));
		if (err)
			return pin_status(err);
		mr->pinned = true;
	}
	if (!mr->residency || begin_residency(host, mr))
		return UNIC_ST_OK;
	unic_region_unpin(host, mr);
	return UNIC_CTL_ST_NO_MEMORY;
}

void unic_region_unpin(struct unic_host *host, struct unic_region *mr)
{
	uint64_t va, length;

	unic_region_pages_forget(host, mr, !host->dark);
	if (!mr->pinned)
		return;
	mr->pinned = false;
	if (host->dark)
		return; /* unic_proc_reset() unpins all at once (INV-14) */
	region_span(mr, &va, &length);
	unic_frames_unpin(&proc_of(host, mr)->frames, va, length);
}

void unic_region_unpin_next(struct unic_host *host, struct unic_region *mr)
{
	if (mr->next_bytes && !host->dark)
		unic_frames_unpin(&proc_of(host, mr)->frames, mr->next_va,
				  mr->next_bytes);
	mr->next_bytes = 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* move.h - replace private pages by frames of the slot, and frames by private pages. */
#ifndef UNIC_LIB_MOVE_H
#define UNIC_LIB_MOVE_H

#include "priv.h"

/* Where one run of frames belongs. */
struct unic_run {
	uint32_t page; /* first page in the slot */
	uint32_t pages;
};

/** unic_slot_at() - the offset of page @page of the slot in its file. */
static inline off_t unic_slot_at(const struct unic_slot *slot, uint32_t page)
{
	return ((off_t)slot->first + page) * UNIC_PAGE;
}

/** unic_map_apart() - map @bytes of private memory, outside of any heap: that may be the
 * memory that is moved. munmap() ends it. NULL: out of memory. */
void *unic_map_apart(size_t bytes);

/**
 * unic_move_in() - replace the private pages at @va by the frames of @runs, with
 * the same contents, while no other thread runs. -EACCES memory that cannot be
 * moved, -EFAULT none, -EBUSY a thread does not stop, -ENOMEM. @half: nevertheless some of the
 * pages are frames now.
 */
int unic_move_in(const struct unic_slot *slot, uint8_t *va, size_t bytes,
		 const struct unic_run *runs, size_t n_runs, bool *half);
/** unic_move_out() - the reverse, for every frame of the slot that is mapped in
 * [@from, @to), wherever it was moved in: private anonymous pages with the same
 * contents and protection. What is mapped there but is not the slot's is left
 * alone. -EBUSY, -EACCES (a thread runs on it), -ENOMEM: some of it may stay. */
int unic_move_out(const struct unic_slot *slot, const uint8_t *from,
		  const uint8_t *to);

/* Consecutive pages of the slot at consecutive addresses. */
struct unic_slot_map {
	uint8_t *va;
	size_t bytes;
	uint32_t page; /* first, in the slot */
	int prot;
};

/** unic_slot_maps() - the parts of [@from, @to) that /proc shows as mapped frames of
 * the slot, lowest address first, at most @max. Returns how many, or -errno. */
int unic_slot_maps(const struct unic_slot *slot, const uint8_t *from,
		   const uint8_t *to, struct unic_slot_map *out, int max);

/** unic_slot_each() - call @fn for each of them, from one reading of the list, until it returns
 * false. 0, or -errno. */
int unic_slot_each(const struct unic_slot *slot, const uint8_t *from,
		   const uint8_t *to,
		   bool (*fn)(void *arg, const struct unic_slot_map *m),
		   void *arg);

#endif /* UNIC_LIB_MOVE_H */

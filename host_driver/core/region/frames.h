/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * frames.h - the memory of one process slot: which frames are handed out,
 * which address of the process they are behind, and which are pinned.
 *
 * Secret: where frames come from. They are handed out in runs of 4 KiB, 64 KiB
 * or 2 MiB in a scrambled order, so that neighbours in the process's address
 * space are not neighbours on the bus and translation is real work.
 *
 * Pin accounting (S4): a frame is pinned while at least one registration
 * covers it; overlapping registrations count once in `pinned`.
 */
#ifndef UNIC_FRAMES_H
#define UNIC_FRAMES_H

#include "unic_os.h"

#define UNIC_FRAME_SHIFT 12u
#define UNIC_FRAME_BYTES (1u << UNIC_FRAME_SHIFT)

struct unic_frame_tables; /* of whoever hands them out */

struct unic_frames {
	struct unic_os *os;
	uint64_t bus;	 /* bus address of the slot */
	uint32_t frames; /* that there may be, UNIC_SLOT_FRAMES among them */
	uint32_t used;	 /* handed out */
	uint32_t pinned; /* under at least one pin */
	struct unic_frame_tables *t;
};

/**
 * unic_frames_init() - no frame handed out.
 * @base, @bytes: the slot's memory, mapped for the life of @f.
 * @first: number of frames at the start that are never handed out.
 * Returns 0 or -ENOMEM.
 */
int unic_frames_init(struct unic_frames *f, struct unic_os *os, void *base,
		     uint64_t bytes, uint64_t bus, uint32_t first);

/** unic_frames_journal() - write down in @journal (a word per frame) from now on
 * what is handed out. */
void unic_frames_journal(struct unic_frames *f, uint64_t *journal);

/** unic_frames_recall() - hand out what the journal says. 0, or -EINVAL: that
 * cannot be, and nothing is handed out. */
int unic_frames_recall(struct unic_frames *f);

/** unic_frames_fini() - free the tables. The memory itself is left alone. */
void unic_frames_fini(struct unic_frames *f);

/** unic_frames_clear() - the process is gone: nothing is pinned or handed out
 * any more. The caller zeroes the whole slot before anybody else gets it. */
void unic_frames_clear(struct unic_frames *f);

/**
 * unic_frames_alloc() - frames for @pages pages from address @va on.
 * @shift: 12, 16 or 21, size of a run. @list: first frame of each run,
 * (pages * 4096) >> shift of them.
 * Zeroed. Returns 0; -EINVAL (alignment, wrap); -EEXIST (overlaps what it has);
 * -ENOSPC. On error nothing happened.
 */
int unic_frames_alloc(struct unic_frames *f, uint64_t va, uint32_t pages,
		      uint32_t shift, uint32_t *list);

/**
 * unic_frames_free() - take whole runs back. -EINVAL; -ENOENT (not handed out,
 * or half a run); -EBUSY (pinned). On error nothing happened.
 */
int unic_frames_free(struct unic_frames *f, uint64_t va, uint32_t pages);

/**
 * unic_frames_shift() - the largest page size (12, 16, 21) with which the range
 * can be registered, or 0 if a page of it is not handed out.
 * @iova: what the NIC calls @va; pages are aligned in both.
 * @max: do not look beyond this size.
 */
uint32_t unic_frames_shift(const struct unic_frames *f, uint64_t va,
			   uint64_t iova, uint64_t length, uint32_t max);

/**
 * unic_frames_list() - bus addresses of pages [@first, @first + @count) of a
 * pinned range that unic_frames_shift() found good for @shift.
 * Returns 0, or -ENOENT if that is not so any more.
 */
int unic_frames_list(const struct unic_frames *f, uint64_t va, uint32_t shift,
		     uint32_t first, uint32_t count, uint64_t *bus);

/**
 * unic_frames_pin() - one more registration covers the range.
 * @write: the device may write there.
 * 0, or nothing happened: -ENOENT; -EOVERFLOW (65,535 of them); -EDQUOT (more
 * than the process may have pinned); -ENOMEM; -EAGAIN (pages are on their way, or
 * are about to be unpinned: try again).
 */
int unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
		    bool write);

/** unic_frames_unpin() - one less. The range must have been pinned. */
void unic_frames_unpin(struct unic_frames *f, uint64_t va, uint64_t length);

/** unic_frames_unpin_all() - no registration is left, and no NIC that knows of
 * one. */
void unic_frames_unpin_all(struct unic_frames *f);

#endif /* UNIC_FRAMES_H */

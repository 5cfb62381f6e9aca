/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * frames.h - the memory of one process slot: which frames are handed out, at which
 * address the process maps each, and which are pinned.
 *
 * Secret: the choice of frames. Frames are handed out in runs of 4 KiB, 64 KiB or
 * 2 MiB in a scrambled order, so that neighbours in the process's address space are
 * not neighbours on the bus, and each page needs its own translation.
 *
 * Pin accounting (S4): a frame is pinned while at least one registration
 * covers it; overlapping registrations count once in `pinned`.
 */
#ifndef UNIC_FRAMES_H
#define UNIC_FRAMES_H

#include "unic_os.h"
#include "unic_types.h"

#define UNIC_FRAME_SHIFT 12u
#define UNIC_FRAME_BYTES (1u << UNIC_FRAME_SHIFT)

struct unic_frame_tables; /* of the implementation: frames_slot.h, frames_user.h */

struct unic_frames {
	struct unic_os *os;
	uint64_t bus;	 /* bus address of the slot */
	uint32_t frames; /* of the slot, UNIC_SLOT_FRAMES included */
	uint32_t used;	 /* handed out */
	uint32_t pinned; /* under at least one pin */
	struct unic_frame_tables *t;
};

/**
 * unic_frames_init() - allocate the tables of @f; no frame is handed out.
 * @base, @bytes: the slot's memory, mapped for the life of @f. @bus: its bus address.
 * @first: number of frames at the start that are never handed out.
 * Returns 0 or -ENOMEM.
 */
int unic_frames_init(struct unic_frames *f, struct unic_os *os, void *base,
		     uint64_t bytes, uint64_t bus, uint32_t first);

/** unic_frames_journal() - record in @journal (a word per frame, the caller's, for the
 * life of @f) each run that is handed out or taken back from here on. */
void unic_frames_journal(struct unic_frames *f, uint64_t *journal);

/** unic_frames_recall() - hand out the runs that the journal records. 0, or -EINVAL:
 * the journal contradicts itself, and nothing is handed out. */
int unic_frames_recall(struct unic_frames *f);

/** unic_frames_fini() - free the tables. The memory itself is left alone. */
void unic_frames_fini(struct unic_frames *f);

/** unic_frames_clear() - the process is gone: unpin and take back all frames. The
 * caller zeroes the whole slot before another process gets the slot. */
void unic_frames_clear(struct unic_frames *f);

/**
 * unic_frames_alloc() - hand out zeroed frames for @pages pages from address @va on.
 * @shift: 12, 16 or 21, size of a run. @list: gets the first frame of each run,
 * (pages * 4096) >> shift entries.
 * Returns 0; -EINVAL (alignment, wrap); -EEXIST (a page has a frame already); -ENOSPC.
 * On error nothing happened.
 */
int unic_frames_alloc(struct unic_frames *f, uint64_t va, uint32_t pages,
		      uint32_t shift, uint32_t *list);

/**
 * unic_frames_free() - take the runs of @pages pages from @va on back. 0; -EINVAL;
 * -ENOENT (not handed out, or half a run); -EBUSY (pinned). On error nothing happened.
 */
int unic_frames_free(struct unic_frames *f, uint64_t va, uint32_t pages);

/**
 * unic_frames_shift() - the largest page size (12, 16, 21) with which the range
 * can be registered, or 0 if a page of the range has no frame.
 * @iova: the NIC's address of @va; pages are aligned in both.
 * @max: the largest size to return.
 */
uint32_t unic_frames_shift(const struct unic_frames *f, uint64_t va,
			   uint64_t iova, uint64_t length, uint32_t max);

/**
 * unic_frames_list() - store the bus addresses of pages [@first, @first + @count) of a
 * pinned range for which unic_frames_shift() returned @shift to @bus.
 * Returns 0, or -ENOENT if a page lacks such a frame.
 */
int unic_frames_list(const struct unic_frames *f, uint64_t va, uint32_t shift,
		     uint32_t first, uint32_t count, uint64_t *bus);

/**
 * unic_frames_pin() - pin the frames of the range for one more registration.
 * @write: the device may write there.
 * 0; or nothing happened: -ENOENT (not handed out); -EOVERFLOW (65,535 pins of a
 * frame); -EDQUOT (more than the process may have pinned); -ENOMEM; -EAGAIN (pages are
 * being loaded, or are about to be unpinned: try again).
 */
int unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
		    bool write);

/** unic_frames_unpin() - undo one unic_frames_pin() of the range. */
void unic_frames_unpin(struct unic_frames *f, uint64_t va, uint64_t length);

/**
 * unic_frames_words() - memory for a translation list of @words words, zeroed, which the
 * NIC reads by DMA: contiguous on the bus. @key: names it, not 0; if there is one of that
 * name (a driver before this one got it), it is that one, as it is.
 * Returns it with its bus address in *@bus, or NULL: there is no memory for it. It is the
 * caller's until unic_frames_words_free(), or until all pins are undone.
 */
unic_le64 *unic_frames_words(struct unic_frames *f, uint32_t key,
			     uint32_t words, uint64_t *bus);

/** unic_frames_words_free() - take back list @key, which the NIC does not read. */
void unic_frames_words_free(struct unic_frames *f, uint32_t key);

/** unic_frames_unpin_all() - undo all pins, and take all lists back: neither driver nor
 * NIC has a registration. */
void unic_frames_unpin_all(struct unic_frames *f);

#endif /* UNIC_FRAMES_H */

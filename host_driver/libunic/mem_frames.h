/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mem_frames.h - frames of the slot for a range of addresses.
 *
 * Secret: the requests for frames: how many runs a request may ask for, the checks of
 * its answer, and the offset of a run in the slot's file. mem.c decides the use of the
 * range.
 */
#ifndef UNIC_LIB_MEM_FRAMES_H
#define UNIC_LIB_MEM_FRAMES_H

#include "move.h"

/** unic_frames_fill() - allocate frames for [@va, @va + @bytes), in runs of 1 <<
 * @shift bytes, and map them there if @map. @runs: room for @bytes >> @shift, filled
 * in. mem_lock held. All or nothing: 0, or -errno with words. */
int unic_frames_fill(struct unic_ctx *ctx, uint8_t *va, size_t bytes,
		     unsigned int shift, struct unic_run *runs, bool map);

/** unic_frames_put() - give the frames of [@va, @va + @bytes) back to the driver;
 * mappings stay. mem_lock held. 0, or -errno with words. */
int unic_frames_put(struct unic_ctx *ctx, uint8_t *va, size_t bytes);
/** unic_frames_owe() - leave that to unic_recover() (owed.h). */
void unic_frames_owe(struct unic_ctx *ctx, const uint8_t *va, size_t bytes);

#endif /* UNIC_LIB_MEM_FRAMES_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * frames_user.h - the frames of a process (core/region/frames.h), which are pins of its
 * memory. The caller of each function holds unic_os.lock.
 */
#ifndef UNIC_FRAMES_USER_H
#define UNIC_FRAMES_USER_H

#include <linux/types.h>

struct unic_frame_tables;
struct unic_mem;

/** unic_pins_bind() - make @t pin in @mem, of which it takes a reference. Pins in the
 * memory before are ended. */
void unic_pins_bind(struct unic_frame_tables *t, struct unic_mem *mem);

/** unic_pins_ready() - offer @t the pins that were fetched for the request about to run;
 * NULL: the request is over. Pins that the core used leave the list; the rest stay the
 * caller's. */
void unic_pins_ready(struct unic_frame_tables *t, struct list_head *pins);

/** unic_pins_poll() - tell the core what the process of @slot unmapped. Returns when to
 * call it again, in ns of CLOCK_MONOTONIC. */
u64 unic_pins_poll(struct unic_frame_tables *t, u32 slot);

/** unic_pins_pages() - count the pages that @t has pinned. */
u32 unic_pins_pages(const struct unic_frame_tables *t);

/** unic_pins_unbind() - end every pin of @t and drop its reference to the memory;
 * without one, do nothing. */
void unic_pins_unbind(struct unic_frame_tables *t);

#endif /* UNIC_FRAMES_USER_H */

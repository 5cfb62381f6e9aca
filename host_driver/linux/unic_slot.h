/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unic_slot.h - the control pages of processes, and their owners. */
#ifndef UNIC_SLOT_H
#define UNIC_SLOT_H

#include <linux/types.h>

struct unic_file;
struct unic_os;
struct vm_area_struct;

/** unic_slots_init() - allocate the control pages of os->slots slots and map them for
 * DMA. Returns 0, -ENOMEM or -EIO; on error unic_slots_unmap() and unic_slots_free()
 * release what was made. */
int unic_slots_init(struct unic_os *os);

/** unic_slots_unmap() - end the DMA mappings: the NIC cannot reach the pages. */
void unic_slots_unmap(struct unic_os *os);

/** unic_slots_free() - drop the driver's references to the pages; a process may still
 * have them mapped. */
void unic_slots_free(struct unic_os *os);

/** unic_pages() - count the pages that the NIC may use, at most. Takes unic_os.lock,
 * which the caller does not hold. */
u64 unic_pages(struct unic_os *os);

/** unic_slot_take() - give @slot to @file, whose HELLO the core accepted; a repeated
 * HELLO changes nothing. The caller holds unic_os.lock. */
void unic_slot_take(struct unic_os *os, u32 slot, struct unic_file *file);

/** unic_slot_take_kernel() - give @slot to a user of unic_kclient.h, likewise. */
void unic_slot_take_kernel(struct unic_os *os, u32 slot);

/** unic_slot_leave() - end the ownership of @slot's file, whose last reference is gone.
 * The caller holds unic_os.lock. */
void unic_slot_leave(struct unic_os *os, u32 slot);

/** unic_slots_poll() - tell the core which slots are free again and what memory was
 * unmapped. The caller holds unic_os.lock. Returns when to call it again, in ns of
 * CLOCK_MONOTONIC. */
u64 unic_slots_poll(struct unic_os *os);

/** unic_slot_wake() - wake the owner of @slot for its completions. Any context; takes
 * the spinlock of the slot. */
void unic_slot_wake(struct unic_os *os, u32 slot);

/** unic_slot_map() - map control pages of @slot into @vma, for the process that has the
 * slot. Returns 0, -EINVAL (no such pages), -EACCES (not with these rights) or what
 * remap_pfn_range() returns. */
int unic_slot_map(struct unic_os *os, u32 slot, struct vm_area_struct *vma);

#endif /* UNIC_SLOT_H */

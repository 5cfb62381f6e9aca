// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_slot.c - the control pages of processes: doorbells, the NIC's page,
 * upcalls.
 *
 * Secret: when a slot may go to another process: after the core has finished with
 * it and the last reference to the file of its process is dropped. Every mapping
 * of its pages holds such a reference, and there is no other way to them.
 */
#include <linux/dma-mapping.h>
#include <linux/version.h>

#include "frames_user.h"
#include "unic_dev.h"
#include "unic_file.h"
#include "unic_kclient.h"
#include "unic_slot.h"
#include "unic_wake.h"

#define SLOT_BYTES (UNIC_SLOT_PAGES * PAGE_SIZE)

static int init_slot(struct unic_os *os, struct unic_kslot *s)
{
	spin_lock_init(&s->lock);
	s->pages = alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP,
			       get_order(SLOT_BYTES));
	if (!s->pages)
		return -ENOMEM;
	s->bus = dma_map_page(unic_dev_dma(os), s->pages, 0, SLOT_BYTES,
			      DMA_BIDIRECTIONAL);
	if (dma_mapping_error(unic_dev_dma(os), s->bus)) {
		__free_pages(s->pages, get_order(SLOT_BYTES));
		s->pages = NULL;
		return -EIO;
	}
	if (!dma_need_sync(unic_dev_dma(os), s->bus))
		return 0;
	dev_err(unic_dev_dma(os), "memory is not coherent, or out of reach\n");
	return -EIO;
}

int unic_slots_init(struct unic_os *os)
{
	u32 i;
	int err;

	for (i = 0; i < os->slots; i++) {
		err = init_slot(os, &os->slot[i]);
		if (err)
			return err;
		os->slot_mem[i] = page_address(os->slot[i].pages);
	}
	return 0;
}

void unic_slots_unmap(struct unic_os *os)
{
	u32 i;

	for (i = 0; i < os->slots; i++)
		if (os->slot[i].pages)
			dma_unmap_page(unic_dev_dma(os), os->slot[i].bus,
				       SLOT_BYTES, DMA_BIDIRECTIONAL);
}

void unic_slots_free(struct unic_os *os)
{
	u32 i;

	for (i = 0; i < os->slots; i++)
		if (os->slot[i].pages)
			put_page(os->slot[i].pages);
}

u64 unic_pages(struct unic_os *os)
{
	unsigned int noio = unic_lock(os);
	u64 pages = 0;
	u32 i;

	for (i = 0; os->host && i < os->slots; i++)
		pages += UNIC_SLOT_PAGES + unic_pins_pages(os->slot[i].frames);
	pages += unic_kclients_pages(os);
	unic_unlock(os, noio);
	return pages;
}

/* ----------------------------------------------------------------- ownership */

static void set_file(struct unic_kslot *s, struct unic_file *file)
{
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	s->file = file;
	spin_unlock_irqrestore(&s->lock, flags);
}

void unic_slot_take(struct unic_os *os, u32 slot, struct unic_file *file)
{
	struct unic_kslot *s = &os->slot[slot];

	s->quiet = false;
	s->kernel = false;
	if (s->file == file)
		return; /* a repeated HELLO */
	unic_pins_bind(s->frames, file->mem);
	set_file(s, file);
	WRITE_ONCE(file->slot, slot);
}

void unic_slot_take_kernel(struct unic_os *os, u32 slot)
{
	os->slot[slot].quiet = false;
	os->slot[slot].kernel = true;
}

void unic_slot_leave(struct unic_os *os, u32 slot)
{
	set_file(&os->slot[slot], NULL);
	unic_dev_kick(os);
}

u64 unic_slots_poll(struct unic_os *os)
{
	u64 next = U64_MAX;
	u32 i;

	for (i = 0; i < os->slots; i++) {
		struct unic_kslot *s = &os->slot[i];

		next = min(next, unic_pins_poll(s->frames, i));
		if (!s->quiet || s->file)
			continue;
		s->quiet = false;
		s->kernel = false;
		unic_host_slot_free(os->host, i);
	}
	return next;
}

void unic_slot_wake(struct unic_os *os, u32 slot)
{
	struct unic_kslot *s = &os->slot[slot];
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	if (s->file)
		unic_wake_cq(s->file);
	spin_unlock_irqrestore(&s->lock, flags);
	if (s->kernel)
		unic_dev_kick(os);
}

/* --------------------------------------------------------- services of the core */

void unic_os_slot_zero(struct unic_os *os, uint32_t slot)
{
	memset(os->slot_mem[slot], 0, SLOT_BYTES);
}

void unic_os_slot_quiet(struct unic_os *os, uint32_t slot)
{
	unic_pins_unbind(os->slot[slot].frames);
	os->slot[slot].quiet = true;
}

bool unic_os_slot_unused(struct unic_os *os, uint32_t slot, uint32_t pid)
{
	return os->slot[slot].quiet && !os->slot[slot].file;
}

/* ------------------------------------------------------------------- mapping */

/*
 * The pages are mapped by frame number, without references: a reference (vmsplice(), a
 * buffer registered elsewhere) would outlive the mapping and the file, and reach into
 * the slot of another process.
 */
static void set_flags(struct vm_area_struct *vma, vm_flags_t set,
		      vm_flags_t clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

int unic_slot_map(struct unic_os *os, u32 slot, struct vm_area_struct *vma)
{
	unsigned long n = vma_pages(vma);
	bool write = !vma->vm_pgoff && n == 1; /* the page of doorbells */

	if (vma->vm_pgoff >= UNIC_SLOT_PAGES ||
	    n > UNIC_SLOT_PAGES - vma->vm_pgoff)
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC ||
	    (vma->vm_flags & VM_WRITE && !write))
		return -EACCES;
	set_flags(vma, VM_DONTCOPY, VM_MAYEXEC | (write ? 0 : VM_MAYWRITE));
	return remap_pfn_range(vma, vma->vm_start,
			       page_to_pfn(os->slot[slot].pages) +
				       vma->vm_pgoff,
			       n * PAGE_SIZE, vma->vm_page_prot);
}

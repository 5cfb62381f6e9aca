// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic_prefetch.c - fetches the pages that a request is about to register, before
 * the lock is taken and in the process's own time.
 *
 * Checks nothing but what fetching needs: the core checks the request, and finds
 * the pages that it asks for ready, or not.
 */
#include "unic_prefetch.h"
#include "unic_dev.h"
#include "unic_mem.h"
#include "unic_pin.h"

/* Requests of one batch that are looked at; the core has the pages of the rest
 * fetched by a worker. */
#define BATCH_MAX (UNIC_LIST_BYTES / UNIC_CTL_BYTES)

static bool has_write_right(u8 rights)
{
	return rights & (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE);
}

static int prefetch_pin(struct unic_mem *mem, u64 va, u64 length, bool write,
			struct list_head *pins)
{
	unsigned long first = va >> PAGE_SHIFT;
	unsigned long last = (va + length - 1) >> PAGE_SHIFT;
	struct unic_pin *p;
	int err;

	if (!length || va + length - 1 < va ||
	    va + length - 1 >= mem->mm->task_size)
		return 0;
	err = unic_mem_settle(mem, first, last);
	if (err)
		return err;
	p = unic_pin_fetch(mem, first, last, write);
	if (IS_ERR(p)) /* unic_frames_pin() returns the error to the core */
		p = unic_pin_failed(first, last, PTR_ERR(p));
	if (p)
		list_add_tail(&p->node, pins);
	return 0;
}

static int prefetch_reg(struct unic_mem *mem, const void *msg,
			struct list_head *pins)
{
	struct unic_ctl_mr_reg r;

	memcpy(&r, msg, sizeof(r));
	if (r.residency == UNIC_DEMAND)
		return 0; /* pages are fetched one by one, by faults */
	return prefetch_pin(mem, unic_from_le64(r.va), unic_from_le64(r.length),
			    has_write_right(r.rights) ||
				    r.mr_class == UNIC_CLASS_CONTROL,
			    pins);
}

/* Fetches the pages of a region that gains write rights, for writing. */
static int prefetch_rights(struct unic_mem *mem, struct unic_client *client,
			   const struct unic_ctl_mr_rereg *r,
			   struct list_head *pins)
{
	unsigned int noio = unic_lock(mem->os);
	u64 va, length;
	bool known = mem->os->host &&
		     unic_host_region(mem->os->host, client,
				      unic_from_le32(r->id), &va, &length);

	unic_unlock(mem->os, noio);
	return known ? prefetch_pin(mem, va, length, true, pins) : 0;
}

static int prefetch_rereg(struct unic_mem *mem, struct unic_client *client,
			  const void *msg, struct list_head *pins)
{
	struct unic_ctl_mr_rereg r;

	memcpy(&r, msg, sizeof(r));
	if (!(r.what & UNIC_REREG_RANGE) && r.what & UNIC_REREG_RIGHTS &&
	    has_write_right(r.rights))
		return prefetch_rights(mem, client, &r, pins);
	if (!(r.what & UNIC_REREG_RANGE))
		return 0;
	return prefetch_pin(mem, unic_from_le64(r.va), unic_from_le64(r.length),
			    !(r.what & UNIC_REREG_RIGHTS) ||
				    has_write_right(r.rights),
			    pins);
}

static int prefetch_record(struct unic_mem *mem, struct unic_client *client,
			   const void *msg, struct list_head *pins)
{
	struct unic_ctl_hdr hdr;

	memcpy(&hdr, msg, sizeof(hdr));
	switch (unic_from_le16(hdr.op)) {
	case UNIC_CTL_MR_REG:
		unic_mem_limit(mem);
		return prefetch_reg(mem, msg, pins);
	case UNIC_CTL_MR_REREG:
		unic_mem_limit(mem);
		return prefetch_rereg(mem, client, msg, pins);
	default:
		return 0;
	}
}

int unic_prefetch(struct unic_mem *mem, struct unic_client *client,
		  const void *msg, u32 bytes, struct list_head *pins)
{
	struct unic_ctl_hdr hdr;
	u32 at, n = 0;
	int err;

	if (bytes < UNIC_CTL_BYTES)
		return 0;
	memcpy(&hdr, msg, sizeof(hdr));
	if (unic_from_le16(hdr.op) != UNIC_CTL_BATCH)
		return prefetch_record(mem, client, msg, pins);
	for (at = UNIC_CTL_BYTES; at + UNIC_CTL_BYTES <= bytes && n < BATCH_MAX;
	     at += UNIC_CTL_BYTES, n++) {
		err = prefetch_record(mem, client, msg + at, pins);
		if (err && list_empty(pins))
			return err;
		if (err)
			break;
	}
	return 0;
}

void unic_prefetch_drop(struct unic_mem *mem, struct list_head *pins)
{
	struct unic_pin *p, *next;

	list_for_each_entry_safe(p, next, pins, node)
		unic_pin_drop(mem, p);
}

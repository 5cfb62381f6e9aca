/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* mem_sweep.c - see mem_sweep.h. Secret: how the kernel's list of mappings is held against areas. */
#include "mem_sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "mem_area.h"
#include "mem_frames.h"
#include "move.h"

#define PAGE_SEEN \
	(1u << 31) /* in unic_area.page: the kernel has it mapped there */

/*
 * The application may unmap memory that was moved in, map other memory there, or have
 * realloc() move it, without a call of this library. /proc/self/maps decides which pages
 * of an area are still mapped.
 */
struct sweep {
	struct unic_ctx *ctx;
	uint8_t *mapped; /* a bit per page of the slot: has a mapping */
	bool strays;	 /* frames are mapped at addresses of no area */
};

static void mark_page(struct unic_ctx *ctx, struct sweep *s, const uint8_t *va,
		      uint32_t page)
{
	struct unic_area *a = unic_area_at(ctx, va);
	size_t i;

	if (page >= ctx->attr.slot_bytes / UNIC_PAGE || (a && !a->moved))
		return;
	s->mapped[page / 8] |= (uint8_t)(1u << page % 8);
	i = a ? (size_t)(va - a->va) / UNIC_PAGE : 0;
	if (a && a->page[i] == page)
		a->page[i] |= PAGE_SEEN;
	else
		s->strays = true;
}

static bool mark_map(void *arg, const struct unic_slot_map *m)
{
	struct sweep *s = arg;
	uint32_t i;

	for (i = 0; i < m->bytes / UNIC_PAGE; i++)
		mark_page(s->ctx, s, m->va + (size_t)i * UNIC_PAGE,
			  m->page + i);
	return true;
}

static int mark_slot_maps(struct sweep *s)
{
	int err = unic_slot_each(&s->ctx->slot, NULL, (void *)UINTPTR_MAX,
				 mark_map, s);

	return err ? unic_fail(err, "/proc/self/maps cannot be read: %s",
			       strerror(-err))
		   : 0;
}

static bool is_page_marked(const struct unic_area *a, size_t i)
{
	return a->page[i] & PAGE_SEEN;
}

/* Cut @a after its first pages that are all mapped, or all not; the rest is a new area. */
static int split_area(struct unic_area *a)
{
	size_t n = a->bytes / UNIC_PAGE;
	struct unic_area *rest;
	size_t i = 1;

	while (i < n && is_page_marked(a, i) == is_page_marked(a, 0))
		i++;
	a->stale = !is_page_marked(a, 0);
	if (i == n)
		return 0;
	rest = calloc(1, sizeof(*rest) + (n - i) * sizeof(a->page[0]));
	if (!rest)
		return unic_fail(-ENOMEM, "out of memory");
	*rest = (struct unic_area){ .next = a->next,
				    .va = a->va + i * UNIC_PAGE,
				    .bytes = (n - i) * UNIC_PAGE,
				    .moved = true };
	memcpy(rest->page, a->page + i, (n - i) * sizeof(a->page[0]));
	a->next = rest;
	a->bytes = i * UNIC_PAGE;
	return 0;
}

/* True if a page of @a is mapped at another address: its frames are in use. */
static bool is_mapped_elsewhere(const struct unic_area *a,
				const struct sweep *s)
{
	size_t i;

	for (i = 0; i < a->bytes / UNIC_PAGE; i++) {
		if (s->mapped[a->page[i] / 8] & 1u << a->page[i] % 8)
			return true;
	}
	return false;
}

/* Give back the frames of stale areas. An area stays stale while its frames are mapped
 * elsewhere or the driver refuses. */
static void drop_stale(struct unic_ctx *ctx, const struct sweep *s)
{
	struct unic_area **p = &ctx->areas;
	struct unic_area *a;

	while ((a = *p)) {
		if (!a->stale || is_mapped_elsewhere(a, s) ||
		    unic_frames_put(ctx, a->va, a->bytes)) {
			p = &a->next;
			continue;
		}
		*p = a->next;
		free(a);
	}
}

int unic_mem_sweep(struct unic_ctx *ctx, bool *strays)
{
	struct sweep s = {
		.ctx = ctx,
		.mapped = calloc(ctx->attr.slot_bytes / UNIC_PAGE / 8 + 1, 1)
	};
	struct unic_area *a;
	size_t i;
	int err;

	if (!s.mapped)
		return unic_fail(-ENOMEM, "out of memory");
	err = mark_slot_maps(&s);
	for (a = ctx->areas; a && !err; a = a->next) {
		if (a->moved)
			err = split_area(a);
	}
	for (a = ctx->areas; a; a = a->next) {
		for (i = 0; a->moved && i < a->bytes / UNIC_PAGE; i++)
			a->page[i] &= ~PAGE_SEEN;
	}
	if (!err)
		drop_stale(ctx, &s);
	free(s.mapped);
	*strays = s.strays;
	return err;
}

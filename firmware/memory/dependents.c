/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* dependents.c - see dependents.h. */
#include "memory/dependents.h"

#include <string.h>

#include "memory/memory.h"

#define NIL UNIC_ELEMENT_NIL

void unic_dependents_init(struct unic_memory *nic)
{
	struct unic_derived_regions *f = &nic->derived;
	uint32_t i;

	memset(f, 0, sizeof(*f));
	if (UNIC_TABLE_READS)
		unic_derived_load_init(nic);
	for (i = 0; i < UNIC_MRS; i++)
		f->form[i].head = NIL;
	for (i = 0; i < UNIC_ELEMENTS; i++)
		f->element[i].owner = NIL;
}

/* ---------------------------------------------------------------- the pool */

/* Returns the first run of @n free elements, or NIL. The last quarter is reserved
 * for the driver's own domain: elements are never asked back, and the driver's
 * I/O must not depend on how many elements processes hoard. */
static uint32_t find_free_run(const struct unic_memory *nic, uint16_t pd,
			      uint32_t n)
{
	const struct unic_derived_regions *f = &nic->derived;
	bool own = nic->dma_mrs.pd[pd];
	uint32_t kept = UNIC_ELEMENTS - UNIC_ELEMENTS_PROC, have = 0;
	uint32_t i = own ? kept : 0, end = own ? UNIC_ELEMENTS : kept;

	for (; i < end; i++) {
		have = f->element[i].owner == NIL ? have + 1 : 0;
		if (have == n)
			return i + 1 - n;
	}
	return NIL;
}

int unic_dependents_room(const struct unic_memory *nic, uint16_t pd, uint32_t n)
{
	uint32_t held = nic->derived.held[nic->mrs.pd[pd].proc];

	if (held + n > UNIC_ELEMENTS_PROC || find_free_run(nic, pd, n) == NIL)
		return -UNIC_EELEMENTS;
	return 0;
}

void unic_dependents_alloc(struct unic_memory *nic, uint16_t mr, uint8_t kind,
			   uint32_t n)
{
	struct unic_derived_regions *f = &nic->derived;
	struct unic_derived *form = &f->form[mr];
	uint32_t first = find_free_run(nic, nic->mrs.mr[mr].pd, n), i;

	UNIC_ASSERT(nic, first != NIL);
	UNIC_ASSERT(nic, !form->n && form->head == NIL);
	form->kind = kind;
	form->first = (uint16_t)first;
	form->n = (uint16_t)n;
	form->base = nic->mrs.mr[mr].tlb_base;
	form->depth = 1;
	for (i = first; i < first + n; i++)
		f->element[i].owner = mr;
	f->held[nic->mrs.mr[mr].proc] += (uint16_t)n;
	f->bare[nic->mrs.mr[mr].proc] += kind != UNIC_FORM_FAST;
	f->used = (uint16_t)(f->used + n);
}

void unic_dependents_free(struct unic_memory *nic, uint16_t mr)
{
	struct unic_derived_regions *f = &nic->derived;
	struct unic_derived *form = &f->form[mr];
	uint32_t i;

	if (!form->n)
		return;
	unic_dependents_unmake(nic, mr);
	for (i = form->first; i < (uint32_t)form->first + form->n; i++)
		f->element[i].owner = NIL;
	f->held[nic->mrs.mr[mr].proc] -= form->n;
	f->bare[nic->mrs.mr[mr].proc] -= form->kind != UNIC_FORM_FAST;
	f->used = (uint16_t)(f->used - form->n);
	form->n = 0;
	form->kind = UNIC_FORM_PLAIN;
	form->depth = 0;
}

/* ------------------------------------------------------------------- links */

void unic_dependents_make(struct unic_memory *nic, uint16_t mr, uint32_t i,
			  const struct unic_element *e)
{
	struct unic_derived_regions *f = &nic->derived;
	struct unic_derived *form = &f->form[mr], *of = &f->form[e->mr];
	uint16_t at = (uint16_t)(form->first + i);
	struct unic_element *to = &f->element[at];

	UNIC_ASSERT(nic, i == form->used && i < form->n);
	*to = *e;
	to->owner = mr;
	to->prev = NIL;
	to->next = of->head;
	if (to->next != NIL)
		f->element[to->next].prev = at;
	of->head = at;
	nic->mrs.mr[e->mr].deps++;
	form->used++;
	if (form->depth <= of->depth)
		form->depth = (uint8_t)(of->depth + 1);
}

static void unlink_from(struct unic_derived_regions *f, struct unic_element *e)
{
	if (e->prev == NIL)
		f->form[e->mr].head = e->next;
	else
		f->element[e->prev].next = e->next;
	if (e->next != NIL)
		f->element[e->next].prev = e->prev;
}

void unic_dependents_unmake(struct unic_memory *nic, uint16_t mr)
{
	struct unic_derived_regions *f = &nic->derived;
	struct unic_derived *form = &f->form[mr];
	uint32_t i, n = form->used;

	unic_usage_fold(nic, mr); /* counts uses that were not folded yet */
	unic_cuts_forget(nic, mr);
	form->used = 0;
	form->depth = 1;
	for (i = form->first; i < form->first + n; i++) {
		struct unic_element *e = &f->element[i];

		unlink_from(f, e);
		if (!--nic->mrs.mr[e->mr].deps)
			unic_idle_note(nic, e->mr);
	}
}

uint16_t unic_dependents_list(struct unic_memory *nic, uint16_t mr)
{
	struct unic_derived_regions *f = &nic->derived;
	uint16_t i, todo = UNIC_MR_NIL;

	for (i = f->form[mr].head; i != NIL; i = f->element[i].next) {
		struct unic_derived *form = &f->form[f->element[i].owner];

		if (form->marked)
			continue;
		form->marked = true;
		form->todo = todo;
		todo = f->element[i].owner;
	}
	return todo;
}

uint16_t unic_dependents_unlist(struct unic_memory *nic, uint16_t form)
{
	struct unic_derived *f = &nic->derived.form[form];

	f->marked = false;
	return f->todo;
}

/* Counts each derived region once, even if several of its elements lie in @mr. */
static uint32_t count_dependents(struct unic_memory *nic, uint16_t mr)
{
	struct unic_derived_regions *f = &nic->derived;
	uint32_t n = 0;
	uint16_t i, o;

	for (i = f->form[mr].head; i != NIL; i = f->element[i].next) {
		o = f->element[i].owner;
		if (f->form[o].stamp == f->stamp)
			continue;
		f->form[o].stamp = f->stamp;
		n += 1 + nic->mrs.mr[o].n_tokens + count_dependents(nic, o);
	}
	return n;
}

uint32_t unic_dependents_count(struct unic_memory *nic, uint16_t mr)
{
	uint32_t i;

	if (!++nic->derived.stamp)
		for (i = 0, nic->derived.stamp = 1; i < UNIC_MRS; i++)
			nic->derived.form[i].stamp = 0;
	return count_dependents(nic, mr);
}

bool unic_dependents_copied(const struct unic_memory *nic, uint16_t mr)
{
	const struct unic_derived_regions *f = &nic->derived;
	uint16_t i = f->form[mr].head;

	while (i != NIL && f->form[f->element[i].owner].kind != UNIC_FORM_FAST)
		i = f->element[i].next;
	return i != NIL;
}

_Static_assert(UNIC_MRS % 8 == 0 && UNIC_MRS / 8 <= UNIC_BOX_LIST_BYTES,
	       "a list page has a bit for each region");

void unic_dependents_map(struct unic_memory *nic, uint16_t mr, uint8_t *map)
{
	const struct unic_derived *form = nic->derived.form;
	uint32_t i, bit, byte;

	unic_dependents_count(nic, mr); /* which stamps them */
	for (i = 0; i < UNIC_MRS; i += 8) {
		for (bit = byte = 0; bit < 8; bit++)
			if (form[i + bit].stamp == nic->derived.stamp)
				byte |= 1u << bit;
		map[i / 8] = (uint8_t)byte;
	}
}

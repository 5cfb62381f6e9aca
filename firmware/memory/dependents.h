/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dependents.h - which regions are made of which (MEMORY.md section 2: windows,
 * sub-regions and indirect regions are dependents of their regions).
 *
 * Secret: the elements and their links. A form - a region made of others - has
 * a run of elements, side by side, from the time it is allocated. When it is
 * made, each of them names a piece of a region and is on that region's list;
 * so a region finds its dependents, and a form what lies at an offset.
 */
#ifndef UNIC_DEPENDENTS_H
#define UNIC_DEPENDENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_queue.h"

struct unic_memory;

#define UNIC_ELEMENT_NIL 0xffffu

/* A piece of region `mr` that a form is made of. */
struct unic_element {
	uint64_t iova;	 /* in its region, of the first repetition */
	uint32_t off;	 /* in a repetition of the form */
	uint32_t len;	 /* bytes */
	uint32_t stride; /* bytes from one repetition to the next */
	uint16_t mr;
	uint16_t owner;	     /* the form; UNIC_ELEMENT_NIL: free */
	uint16_t prev, next; /* on the region's list */
};

/* What the region table does not say, by the index of the region. */
struct unic_derived {
	uint32_t bytes; /* of one repetition */
	uint32_t base;	/* TLB base of its own */
	uint16_t first; /* element */
	uint16_t n;	/* elements it has */
	uint16_t used;	/* ... of them on lists: it is made of these */
	uint16_t head;	/* elements that lie in it: list of its dependents */
	uint16_t todo;	/* unic_dependents_close() */
	uint16_t stamp; /* unic_dependents_count() */
	uint8_t kind;	/* enum unic_form_kind */
	uint8_t depth;	/* 0 for a plain region */
	bool marked;	/* `todo` means something */
};

struct unic_derived_regions {
	struct unic_derived form[UNIC_MRS];
	struct unic_element element[UNIC_ELEMENTS];
	uint16_t held[UNIC_PROCS]; /* elements, by process */
	uint16_t bare[UNIC_PROCS]; /* forms without entries of their own */
	uint16_t used;
	uint16_t stamp;
};

/* What one process may have of the pool; so much of it is the driver's own, too. */
#define UNIC_ELEMENTS_PROC (UNIC_ELEMENTS / 4u)

/** unic_dependents_init() - no region has forms. */
void unic_dependents_init(struct unic_memory *nic);

/**
 * unic_dependents_room() - could a form of @pd have @n elements?
 * 0, or -UNIC_EELEMENTS (the pool, its process's part of it, or no @n side by
 * side).
 */
int unic_dependents_room(const struct unic_memory *nic, uint16_t pd,
			 uint32_t n);

/** unic_dependents_alloc() - give form @mr @n elements; unic_dependents_room() said 0. */
void unic_dependents_alloc(struct unic_memory *nic, uint16_t mr, uint8_t kind,
			   uint32_t n);

/** unic_dependents_make() - element @i of form @mr becomes @e, whose iova, off, len,
 * stride and mr are filled in; on its region's list from now on. */
void unic_dependents_make(struct unic_memory *nic, uint16_t mr, uint32_t i,
			  const struct unic_element *e);

/** unic_dependents_unmake() - form @mr is made of nothing any more; its elements
 * stay its own. A region that drains and was waiting for it is idle (idle.h). */
void unic_dependents_unmake(struct unic_memory *nic, uint16_t mr);

/** unic_dependents_free() - the same, and give its elements back; harmless for a
 * plain region. */
void unic_dependents_free(struct unic_memory *nic, uint16_t mr);

/**
 * unic_dependents_list() - the first of a list of the forms made of @mr, each once, or
 * UNIC_MR_NIL. Forms on a list that is not at its end yet are left out, so whoever
 * walks one may end its forms and list what is made of them.
 */
uint16_t unic_dependents_list(struct unic_memory *nic, uint16_t mr);

/** unic_dependents_unlist() - take @form off the list of which it is the first.
 * Returns the next, or UNIC_MR_NIL. */
uint16_t unic_dependents_unlist(struct unic_memory *nic, uint16_t form);

/** unic_dependents_count() - forms that end with @mr, and their tokens; for a region
 * that has elements of forms. */
uint32_t unic_dependents_count(struct unic_memory *nic, uint16_t mr);

#endif /* UNIC_DEPENDENTS_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * dependents.h - which regions are made of which (MEMORY.md section 2: windows,
 * sub-regions and indirect regions are dependents of their regions).
 *
 * Secret: the elements and their links. A derived region has a run of adjacent
 * elements from its allocation on. When it is made, each element names a piece of
 * a region and is on that region's list. So a region finds its dependents, and a
 * derived region finds what lies at an offset.
 */
#ifndef UNIC_DEPENDENTS_H
#define UNIC_DEPENDENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "board.h"
#include "unic_queue.h"

struct unic_memory;

#define UNIC_ELEMENT_NIL 0xffffu

/* A piece of region `mr` of which a derived region is made. */
struct unic_element {
	uint64_t iova;	 /* in its region, of the first repetition */
	uint32_t off;	 /* offset in a repetition of the derived region */
	uint32_t len;	 /* bytes */
	uint32_t stride; /* bytes from one repetition to the next */
	uint16_t mr;
	uint16_t owner;	     /* the derived region; UNIC_ELEMENT_NIL: free */
	uint16_t prev, next; /* on the list of `mr` */
};

/* State beside the region table, by index of the region. */
struct unic_derived {
	uint32_t bytes; /* length of one repetition */
	uint32_t base;	/* TLB base of its own */
	uint16_t first; /* its first element */
	uint16_t n;	/* elements allocated */
	uint16_t used;	/* elements on lists of other regions */
	uint16_t head;	/* list of elements that lie in this region */
	uint16_t todo;	/* next on a list of unic_dependents_list() */
	uint16_t stamp; /* of unic_dependents_count() */
	uint8_t kind;	/* enum unic_form_kind */
	uint8_t depth;	/* 0 for a plain region */
	bool marked;	/* on such a list; `todo` is valid */
};

struct unic_derived_regions {
	struct unic_derived form[UNIC_MRS];
	struct unic_element element[UNIC_ELEMENTS];
	uint16_t held[UNIC_PROCS]; /* elements of each process */
	/* derived regions without entries of their own */
	uint16_t bare[UNIC_PROCS];
	uint16_t used;
	uint16_t stamp;
};

/* Elements that one process may have; as many are reserved for the driver. */
#define UNIC_ELEMENTS_PROC (UNIC_ELEMENTS / 4u)

/** unic_dependents_init() - no region has dependents. */
void unic_dependents_init(struct unic_memory *nic);

/**
 * unic_dependents_room() - may a derived region of @pd have @n elements? Returns
 * 0 or -UNIC_EELEMENTS (pool used up, part of the process used up, or no @n
 * adjacent ones).
 */
int unic_dependents_room(const struct unic_memory *nic, uint16_t pd,
			 uint32_t n);

/** unic_dependents_alloc() - gives derived region @mr @n elements;
 * unic_dependents_room() returned 0. */
void unic_dependents_alloc(struct unic_memory *nic, uint16_t mr, uint8_t kind,
			   uint32_t n);

/** unic_dependents_make() - element @i of derived region @mr becomes @e, whose
 * iova, off, len, stride and mr are filled in, and joins the list of its
 * region. */
void unic_dependents_make(struct unic_memory *nic, uint16_t mr, uint32_t i,
			  const struct unic_element *e);

/** unic_dependents_unmake() - takes the elements of derived region @mr off the
 * lists; it keeps them allocated. A draining region whose last dependent it was
 * becomes idle (idle.h). */
void unic_dependents_unmake(struct unic_memory *nic, uint16_t mr);

/** unic_dependents_free() - unic_dependents_unmake(), and frees the elements; no
 * effect for a plain region. */
void unic_dependents_free(struct unic_memory *nic, uint16_t mr);

/**
 * unic_dependents_list() - returns the first of a list of the regions derived
 * from @mr, each once, or UNIC_MR_NIL. Regions on another list that is not
 * finished are left out, so the caller may end a region of its list and list the
 * regions derived from that.
 */
uint16_t unic_dependents_list(struct unic_memory *nic, uint16_t mr);

/** unic_dependents_unlist() - takes @form off the list of which it is the first.
 * Returns the next, or UNIC_MR_NIL. */
uint16_t unic_dependents_unlist(struct unic_memory *nic, uint16_t form);

/** unic_dependents_count() - returns the number of derived regions that end with
 * @mr, plus their tokens. */
uint32_t unic_dependents_count(struct unic_memory *nic, uint16_t mr);

/** unic_dependents_copied() - true if a fast registration, which has addresses of its own, is
 * made of @mr. */
bool unic_dependents_copied(const struct unic_memory *nic, uint16_t mr);

/** unic_dependents_map() - writes UNIC_MRS bits to @map, the lowest of a byte first:
 * 1 for the index of each derived region that ends with @mr. @map is only written. */
void unic_dependents_map(struct unic_memory *nic, uint16_t mr, uint8_t *map);

#endif /* UNIC_DEPENDENTS_H */

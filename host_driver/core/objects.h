/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * objects.h - everything that the processes of one NIC own, by its id (ids.h).
 *
 * Secret: how an object is found by its id, its type or its owner.
 */
#ifndef UNIC_OBJECTS_H
#define UNIC_OBJECTS_H

#include "ids.h"
#include "journal.h"

#define UNIC_NOBODY 0xffffu /* owner: the driver itself */

enum unic_obj_type {
	UNIC_OBJ_PD = 1,
	UNIC_OBJ_MR,
	UNIC_OBJ_CQ,
	UNIC_OBJ_QP,
	UNIC_OBJ_TOKEN,
	UNIC_OBJ_LISTENER,
	UNIC_OBJ_CONN,
	UNIC_OBJ_SRQ,
	UNIC_OBJ_TYPES
};

#define UNIC_OBJ_OWNERS 33u /* rows of `many`: slots, and all else */

/* First member of every object. */
struct unic_obj {
	uint32_t id;
	uint16_t owner; /* slot, or UNIC_NOBODY */
	uint8_t type;	/* enum unic_obj_type */
};

struct unic_objects {
	struct unic_os *os;
	struct unic_ids *ids;  /* of the host */
	struct unic_ids *own;  /* the same, if there is no other NIC; or NULL */
	struct unic_obj **obj; /* by index; NULL: free */
	uint16_t *free;	       /* ring of free indices */
	uint32_t free_head, free_tail;
	uint32_t live, end; /* objects; highest index in use ever + 1 */
	uint16_t many[UNIC_OBJ_OWNERS][UNIC_OBJ_TYPES]; /* objects of each */
	uint32_t freed[UNIC_OBJ_TYPES]; /* so far: changes at each end */
	struct unic_obj_note *note;	/* by index; NULL: no journal */
};

/** unic_objects_init() - make an empty table; unic_objects_fini() frees it.
 * @ids: where ids come from, which stays the caller's; NULL: from the table's own.
 * Returns 0 or -ENOMEM. */
int unic_objects_init(struct unic_objects *t, struct unic_os *os,
		      struct unic_ids *ids);

/** unic_objects_journal() - use the notes at @note, before the first object is made:
 * an object that is freed has its note cleared, and no id of an earlier driver is
 * used again. */
void unic_objects_journal(struct unic_objects *t, struct unic_obj_note *note);

/** unic_obj_recall() - a zeroed object of @bytes with the id, type and owner in
 * @note. NULL: out of memory, or the id is in use. */
void *unic_obj_recall(struct unic_objects *t, const struct unic_obj_note *note,
		      size_t bytes);

/** unic_objects_tidy() - clear the notes that were not recalled. */
void unic_objects_tidy(struct unic_objects *t);

/** unic_objects_fini() - free all objects, and the table. */
void unic_objects_fini(struct unic_objects *t);

/**
 * unic_obj_alloc() - a new zeroed object.
 * @bytes: of the whole structure that begins with a struct unic_obj.
 * Returns NULL when out of memory or ids.
 */
void *unic_obj_alloc(struct unic_objects *t, enum unic_obj_type type,
		     uint32_t owner, size_t bytes);

/** unic_obj_free() - free @obj; its id ends. */
void unic_obj_free(struct unic_objects *t, struct unic_obj *obj);

/**
 * unic_obj_get() - the object with this id, type and owner, or NULL.
 * @owner: UNIC_OBJ_ANYONE for any.
 */
void *unic_obj_get(const struct unic_objects *t, uint32_t id,
		   enum unic_obj_type type, uint32_t owner);
#define UNIC_OBJ_ANYONE 0xfffffffeu

/**
 * unic_obj_next() - walk: the first object after position *@at with this type
 * (0: any) and owner; *@at starts at 0. The object returned may be freed before
 * the next step. Returns NULL at the end.
 */
void *unic_obj_next(const struct unic_objects *t, uint32_t *at, uint32_t type,
		    uint32_t owner);

/** unic_obj_count() - the objects of @type that @owner, a slot or UNIC_NOBODY, has. */
uint32_t unic_obj_count(const struct unic_objects *t, enum unic_obj_type type,
			uint32_t owner);

/** unic_obj_disown() - make the driver itself the owner of @obj. */
void unic_obj_disown(struct unic_objects *t, struct unic_obj *obj);

#endif /* UNIC_OBJECTS_H */

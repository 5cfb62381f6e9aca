/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "objects.h"

/* A table without other NICs beside it has ids of its own. */
static void init_ids(struct unic_objects *t, struct unic_ids *ids)
{
	static const uint64_t none[2];

	t->own = ids ? NULL : unic_os_alloc(t->os, sizeof(*t->own));
	t->ids = ids ? ids : t->own;
	if (t->own)
		unic_ids_init(t->own, t->os, none);
}

int unic_objects_init(struct unic_objects *t, struct unic_os *os,
		      struct unic_ids *ids)
{
	uint32_t i;

	memset(t, 0, sizeof(*t));
	t->os = os;
	init_ids(t, ids);
	t->obj = unic_os_alloc(os, UNIC_OBJ_MAX * sizeof(*t->obj));
	t->free = unic_os_alloc(os, UNIC_OBJ_MAX * sizeof(*t->free));
	if (!t->ids || !t->obj || !t->free) {
		unic_objects_fini(t);
		return -ENOMEM;
	}
	for (i = 0; i < UNIC_OBJ_MAX; i++)
		t->free[i] = (uint16_t)i;
	t->free_tail = UNIC_OBJ_MAX;
	return 0;
}

void unic_objects_fini(struct unic_objects *t)
{
	uint32_t i;

	for (i = 0; t->obj && i < t->end; i++)
		unic_os_free(t->os, t->obj[i]);
	unic_os_free(t->os, t->obj);
	unic_os_free(t->os, t->own);
	unic_os_free(t->os, t->free);
	memset(t, 0, sizeof(*t));
}

/* Row of @owner in `many`; owners outside the table share the last row. */
static uint32_t row_of(uint32_t owner)
{
	return owner < UNIC_OBJ_OWNERS ? owner : UNIC_OBJ_OWNERS - 1;
}

/* The number of objects of the type of @obj that its owner has. */
static uint16_t *owner_count(struct unic_objects *t, const struct unic_obj *obj)
{
	return &t->many[row_of(obj->owner)][obj->type];
}

static void insert_object(struct unic_objects *t, struct unic_obj *obj)
{
	uint32_t i = unic_obj_index(obj->id);

	t->obj[i] = obj;
	++*owner_count(t, obj);
	t->live++;
	if (i >= t->end)
		t->end = i + 1;
}

/* A new id, with the index that was free for longest; indices whose ids are used up are
 * not free any more. 0: there is none. */
static uint32_t new_id(struct unic_objects *t)
{
	uint32_t id = 0;

	while (!id && t->free_head != t->free_tail)
		id = unic_ids_next(t->ids,
				   t->free[t->free_head++ % UNIC_OBJ_MAX]);
	return id;
}

void *unic_obj_alloc(struct unic_objects *t, enum unic_obj_type type,
		     uint32_t owner, size_t bytes)
{
	struct unic_obj *obj = unic_os_alloc(t->os, bytes);

	if (!obj)
		return NULL;
	obj->id = new_id(t);
	if (!obj->id) {
		unic_os_free(t->os, obj);
		return NULL;
	}
	obj->owner = (uint16_t)owner;
	obj->type = (uint8_t)type;
	if (t->note)
		UNIC_STORE(t->note[unic_obj_index(obj->id)].id, obj->id);
	insert_object(t, obj);
	return obj;
}

/* ------------------------------------------------------------- the journal */

void unic_objects_journal(struct unic_objects *t, struct unic_obj_note *note)
{
	uint32_t i;

	t->note = note;
	t->free_tail = 0;
	for (i = 0; i < UNIC_OBJ_MAX; i++) {
		if (unic_obj_index(note[i].id) == i)
			unic_ids_given(t->ids, note[i].id);
		else
			note[i].live = 0; /* of no driver */
		if (!note[i].live)
			t->free[t->free_tail++] = (uint16_t)i;
	}
}

void *unic_obj_recall(struct unic_objects *t, const struct unic_obj_note *note,
		      size_t bytes)
{
	uint32_t i = unic_obj_index(note->id);
	struct unic_obj *obj;

	obj = t->obj[i] ? NULL : unic_os_alloc(t->os, bytes);
	if (!obj)
		return NULL;
	obj->id = note->id;
	obj->owner = note->owner;
	obj->type = note->type;
	insert_object(t, obj);
	return obj;
}

void unic_objects_tidy(struct unic_objects *t)
{
	uint32_t i;

	for (i = 0; i < UNIC_OBJ_MAX; i++) {
		if (!t->note[i].live || t->obj[i])
			continue;
		t->note[i].live = 0;
		t->free[t->free_tail++ % UNIC_OBJ_MAX] = (uint16_t)i;
	}
}

void unic_obj_free(struct unic_objects *t, struct unic_obj *obj)
{
	uint32_t i = unic_obj_index(obj->id);

	if (t->note)
		UNIC_STORE(t->note[i].live, 0);
	t->obj[i] = NULL;
	--*owner_count(t, obj);
	t->live--;
	t->freed[obj->type]++;
	t->free[t->free_tail++ % UNIC_OBJ_MAX] = (uint16_t)i;
	unic_os_free(t->os, obj);
}

static bool is_matching_object(const struct unic_obj *obj, uint32_t type,
			       uint32_t owner)
{
	return obj && (!type || obj->type == type) &&
	       (owner == UNIC_OBJ_ANYONE || obj->owner == owner);
}

void *unic_obj_get(const struct unic_objects *t, uint32_t id,
		   enum unic_obj_type type, uint32_t owner)
{
	struct unic_obj *obj = t->obj[unic_obj_index(id)];

	if (!is_matching_object(obj, type, owner) || obj->id != id)
		return NULL;
	return obj;
}

void *unic_obj_next(const struct unic_objects *t, uint32_t *at, uint32_t type,
		    uint32_t owner)
{
	while (*at < t->end) {
		struct unic_obj *obj = t->obj[(*at)++];

		if (is_matching_object(obj, type, owner))
			return obj;
	}
	return NULL;
}

uint32_t unic_obj_count(const struct unic_objects *t, enum unic_obj_type type,
			uint32_t owner)
{
	return t->many[row_of(owner)][type];
}

void unic_obj_disown(struct unic_objects *t, struct unic_obj *obj)
{
	--*owner_count(t, obj);
	obj->owner = UNIC_NOBODY;
	++*owner_count(t, obj);
}

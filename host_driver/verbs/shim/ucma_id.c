/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_id.c - see ucma_id.h. A number is a place, plus 1: librdmacm takes numbers below
 * 65,536. */
#include "ucma_id.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

static struct unic_ucma_id *place[UNIC_UCMA_IDS];
static unsigned int next_place;

struct unic_ucma_id *unic_ucma_id_at(unsigned int i)
{
	return place[i];
}

/* A free place, as long ago in use as can be. UNIC_UCMA_IDS: there is none. */
static unsigned int find_place(void)
{
	unsigned int i, at;

	for (i = 0; i < UNIC_UCMA_IDS; i++) {
		at = (next_place + i) % UNIC_UCMA_IDS;
		if (!place[at])
			return at;
	}
	return UNIC_UCMA_IDS;
}

struct unic_ucma_id *unic_ucma_id_new(struct unic_ucma_chan *chan)
{
	unsigned int at = find_place();
	struct unic_ucma_id *id = at < UNIC_UCMA_IDS ? calloc(1, sizeof(*id))
						     : NULL;

	if (!id)
		return NULL;
	id->handle = at + 1;
	id->chan = chan;
	pthread_mutex_init(&id->turn, NULL);
	place[at] = id;
	next_place = at + 1;
	return id;
}

static struct unic_ucma_id *find_id(uint32_t handle)
{
	return handle - 1 < UNIC_UCMA_IDS ? place[handle - 1] : NULL;
}

int unic_ucma_id_get(const struct unic_ucma_chan *chan, uint32_t handle,
		     struct unic_ucma_id **out)
{
	struct unic_ucma_id *id;
	int err = 0;

	unic_ucma_lock();
	id = find_id(handle);
	if (!id || id->ending || id->unread)
		err = -ENOENT;
	else if (id->chan != chan)
		err = -EINVAL;
	else
		id->users++;
	unic_ucma_unlock();
	if (err)
		return err;
	pthread_mutex_lock(&id->turn);
	*out = id;
	return 0;
}

static void drop_user(struct unic_ucma_id *id)
{
	unic_ucma_lock();
	id->users--;
	unic_ucma_unlock();
}

void unic_ucma_id_put(struct unic_ucma_id *id)
{
	pthread_mutex_unlock(&id->turn);
	drop_user(id);
}

static bool is_used(struct unic_ucma_id *id)
{
	bool used;

	unic_ucma_lock();
	used = id->users > 1;
	unic_ucma_unlock();
	return used;
}

bool unic_ucma_id_end(struct unic_ucma_id *id)
{
	bool first;

	unic_ucma_lock();
	first = !id->ending;
	id->ending = true;
	unic_ucma_unlock();
	if (!first)
		return false;
	/* Those that wait for a turn get theirs, and go. */
	while (is_used(id)) {
		pthread_mutex_unlock(&id->turn);
		sched_yield();
		pthread_mutex_lock(&id->turn);
	}
	return true;
}

void unic_ucma_id_undo(struct unic_ucma_id *id)
{
	place[id->handle - 1] = NULL;
	pthread_mutex_destroy(&id->turn);
	free(id);
}

void unic_ucma_id_free(struct unic_ucma_id *id)
{
	pthread_mutex_unlock(&id->turn);
	unic_ucma_lock();
	unic_ucma_id_undo(id);
	unic_ucma_unlock();
}

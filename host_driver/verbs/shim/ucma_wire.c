/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ucma_wire.c - see ucma_wire.h. */
#include "ucma_wire.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "ucma_dev.h"
#include "ucma_event.h"

static const struct unic_wire_ops *wire_ops;

static struct {
	pthread_mutex_t opening; /* one thread opens at a time */
	pthread_mutex_t lock;	 /* of the rest */
	int pid;
	int n;
	struct {
		char where[UNIC_UCMA_WHERE];
		struct unic_wire *wire; /* NULL: lost */
	} at[UNIC_UCMA_DEVICES];
} all = { .opening = PTHREAD_MUTEX_INITIALIZER,
	  .lock = PTHREAD_MUTEX_INITIALIZER };

const struct unic_wire_ops *unic_ucma_wire_ops(void)
{
	return __atomic_load_n(&wire_ops, __ATOMIC_ACQUIRE);
}

__attribute__((visibility("default"))) const struct unic_wire_up *
unic_shim_wire(const struct unic_wire_ops *ops)
{
	__atomic_store_n(&wire_ops, ops, __ATOMIC_RELEASE);
	return &unic_ucma_up;
}

/* The place of @where; `n`: a new one. */
static int find_where(const char *where)
{
	int i = 0;

	if (all.pid != getpid()) {
		all.pid = getpid();
		all.n = 0;
	}
	while (i < all.n && strcmp(all.at[i].where, where))
		i++;
	return i;
}

static struct unic_wire *known(const char *where)
{
	struct unic_wire *w;
	int i;

	pthread_mutex_lock(&all.lock);
	i = find_where(where);
	w = i < all.n ? all.at[i].wire : NULL;
	pthread_mutex_unlock(&all.lock);
	return w;
}

static void keep(const char *where, struct unic_wire *w)
{
	int i;

	pthread_mutex_lock(&all.lock);
	i = find_where(where);
	if (i < UNIC_UCMA_DEVICES) {
		strncpy(all.at[i].where, where, UNIC_UCMA_WHERE - 1);
		all.at[i].wire = w;
		all.n += i == all.n;
	}
	pthread_mutex_unlock(&all.lock);
}

int unic_ucma_wire_get(const char *where, struct unic_wire **out)
{
	const struct unic_wire_ops *ops = unic_ucma_wire_ops();
	int err = 0;

	if (!ops)
		return -ENODEV;
	pthread_mutex_lock(&all.opening);
	*out = known(where);
	if (!*out) {
		err = ops->open(where, out);
		if (!err)
			keep(where, *out);
	}
	pthread_mutex_unlock(&all.opening);
	return err;
}

void unic_ucma_wire_drop(const struct unic_wire *w)
{
	int i;

	pthread_mutex_lock(&all.lock);
	for (i = 0; i < all.n; i++)
		if (all.at[i].wire == w)
			all.at[i].wire = NULL;
	pthread_mutex_unlock(&all.lock);
}

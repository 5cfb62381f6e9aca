/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* attach.c - see attach.h. Secret: the list of attachments, and when they end. */
#include "attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "events.h"

static struct {
	pthread_mutex_t lock;
	struct unic_attach *first;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void lock_all(void)
{
	pthread_mutex_lock(&all.lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&all.lock);
}

/* A fork() while another thread attaches must not leave the lock taken in the child. */
__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(lock_all, unlock_all, unlock_all);
}

static struct unic_attach *find_attach(const char *where)
{
	struct unic_attach *at = all.first;

	while (at && (strcmp(at->where, where) || at->pid != getpid() ||
		      __atomic_load_n(&at->lost, __ATOMIC_ACQUIRE)))
		at = at->next;
	return at;
}

static void detach(struct unic_attach *at)
{
	if (at->cq_pd)
		unic_free_pd(at->cq_pd);
	unic_close(at->ctx);
	pthread_mutex_destroy(&at->mrs_lock);
	pthread_mutex_destroy(&at->lock);
	free(at);
}

static int attach(const char *where, struct unic_attach **out)
{
	struct unic_attach *at = calloc(1, sizeof(*at));
	int err;

	if (!at)
		return -ENOMEM;
	at->pid = getpid();
	strncpy(at->where, where, sizeof(at->where) - 1);
	err = unic_open(where, &at->ctx);
	if (err) {
		free(at);
		return err;
	}
	unic_query(at->ctx, &at->attr);
	pthread_mutex_init(&at->lock, NULL);
	pthread_mutex_init(&at->mrs_lock, NULL);
	err = unic_alloc_pd(at->ctx, &at->cq_pd);
	if (!err)
		err = unic_events_start(at);
	if (err) {
		detach(at);
		return err;
	}
	at->next = all.first;
	all.first = at;
	*out = at;
	return 0;
}

int unic_attach_get(const char *where, struct unic_attach **out)
{
	int err = 0;

	lock_all();
	*out = find_attach(where);
	if (!*out)
		err = attach(where, out);
	if (!err)
		(*out)->refs++;
	unlock_all();
	return err;
}

static void unlink_attach(const struct unic_attach *at)
{
	struct unic_attach **p = &all.first;

	while (*p != at)
		p = &(*p)->next;
	*p = at->next;
}

void unic_attach_put(struct unic_attach *at)
{
	lock_all();
	if (!--at->refs) {
		unlink_attach(at);
		unic_events_stop(at);
		detach(at);
	}
	unlock_all();
}

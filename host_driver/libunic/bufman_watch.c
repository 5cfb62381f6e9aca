/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman_watch.c - see bufman_watch.h.
 */
#include "bufman_watch.h"

#include "bufman_chunk.h"

struct unic_pd *unic_bm_pd(const struct unic_bm *bm)
{
	return bm->pd;
}

void unic_bm_watch(struct unic_bm *bm, struct unic_bm_watch *w)
{
	if (unic_bm_forked(bm))
		return;
	pthread_mutex_lock(&bm->lock);
	w->next = bm->watches;
	bm->watches = w;
	pthread_mutex_unlock(&bm->lock);
}

void unic_bm_unwatch(struct unic_bm *bm, struct unic_bm_watch *w)
{
	struct unic_bm_watch **p = &bm->watches;

	if (unic_bm_forked(bm))
		return;
	pthread_mutex_lock(&bm->lock);
	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
	pthread_mutex_unlock(&bm->lock);
}

bool unic_bm_watch_tell(struct unic_bm *bm, const struct unic_event *ev)
{
	struct unic_bm_watch *w = bm->watches;

	while (w && !w->heard(w, ev))
		w = w->next;
	return w;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* bufman_watch.h - the buffer manager, as receive buffers see it. */
#ifndef UNIC_LIB_BUFMAN_WATCH_H
#define UNIC_LIB_BUFMAN_WATCH_H

#include "priv.h"

/* Who else hears of events about regions. */
struct unic_bm;
struct unic_bm_watch {
	struct unic_bm_watch *next;
	/* With the manager's lock held: true if it is about a region of its own,
	 * and nobody else is told. */
	bool (*heard)(struct unic_bm_watch *w, const struct unic_event *ev);
};
/** unic_bm_watch() - from now on, until unic_bm_unwatch(). */
void unic_bm_watch(struct unic_bm *bm, struct unic_bm_watch *w);
void unic_bm_unwatch(struct unic_bm *bm, struct unic_bm_watch *w);
struct unic_pd *unic_bm_pd(const struct unic_bm *bm);

#endif /* UNIC_LIB_BUFMAN_WATCH_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman_watch.h - who else hears of events that the buffer manager reads.
 *
 * Secret: in which order they are asked, and under which lock.
 */
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
/** unic_bm_watch() - @w hears of events until unic_bm_unwatch(). */
void unic_bm_watch(struct unic_bm *bm, struct unic_bm_watch *w);
/** unic_bm_unwatch() - @w hears of nothing more, and is not under way. */
void unic_bm_unwatch(struct unic_bm *bm, struct unic_bm_watch *w);
/** unic_bm_watch_tell() - offer @ev to each until one takes it. True: one did. The
 * manager's lock is held. */
bool unic_bm_watch_tell(struct unic_bm *bm, const struct unic_event *ev);

/** unic_bm_pd() - the domain of its registrations. */
struct unic_pd *unic_bm_pd(const struct unic_bm *bm);

#endif /* UNIC_LIB_BUFMAN_WATCH_H */

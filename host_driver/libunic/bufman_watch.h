/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bufman_watch.h - watchers of the events that the buffer manager reads.
 *
 * Secret: the order in which watchers get an event, and the lock held during that.
 */
#ifndef UNIC_LIB_BUFMAN_WATCH_H
#define UNIC_LIB_BUFMAN_WATCH_H

#include "priv.h"

struct unic_bm;

struct unic_bm_watch {
	struct unic_bm_watch *next;
	/* Called with the manager's lock held. True: @ev is about a region of the
	 * watcher, and goes to no other. */
	bool (*heard)(struct unic_bm_watch *w, const struct unic_event *ev);
};
/** unic_bm_watch() - add @w, which gets events until unic_bm_unwatch(). */
void unic_bm_watch(struct unic_bm *bm, struct unic_bm_watch *w);
/** unic_bm_unwatch() - remove @w; no call of w->heard() is under way afterwards. */
void unic_bm_unwatch(struct unic_bm *bm, struct unic_bm_watch *w);
/** unic_bm_watch_tell() - offer @ev to each watcher until one takes it. True: one
 * did. The manager's lock is held. */
bool unic_bm_watch_tell(struct unic_bm *bm, const struct unic_event *ev);

/** unic_bm_pd() - the protection domain of the registrations of @bm. */
struct unic_pd *unic_bm_pd(const struct unic_bm *bm);

#endif /* UNIC_LIB_BUFMAN_WATCH_H */

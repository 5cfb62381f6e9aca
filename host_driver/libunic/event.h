/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* event.h - upcalls, and the events that are made of them. */
#ifndef UNIC_LIB_EVENT_H
#define UNIC_LIB_EVENT_H

#include "priv.h"

/** unic_event_init() - the lock and the descriptors of events; none is queued. 0, or
 * -errno with words and nothing made. */
int unic_event_init(struct unic_ctx *ctx);
/** unic_event_fini() - events that are queued are forgotten, descriptors closed. */
void unic_event_fini(struct unic_ctx *ctx);
/** unic_event_watch(), unic_event_unwatch() - have ctx->event_fd look at the
 * connection and the upcalls. 0 or -errno. */
int unic_event_watch(struct unic_ctx *ctx);
void unic_event_unwatch(struct unic_ctx *ctx);
/** unic_event_revive() - all was restored: read the upcalls of the time before,
 * then believe the driver; evt_lock held. */
void unic_event_revive(struct unic_ctx *ctx);
/** unic_event_forked() - in the child of a fork(): close what is the parent's. */
void unic_event_forked(struct unic_ctx *ctx);
/** unic_event_pump() - read new upcalls, change the state of regions, queue
 * events. Costs one load when there is none. */
void unic_event_pump(struct unic_ctx *ctx);
/** unic_event_purge() - forget queued events about an object that ends;
 * evt_lock held. */
void unic_event_purge(struct unic_ctx *ctx, const void *obj);

/* All that follow are called with evt_lock held. */

/** unic_event_put() - queue @ev for the application. A region it names stays
 * until it is acknowledged. */
void unic_event_put(struct unic_ctx *ctx, const struct unic_event *ev);
/** unic_event_next() - @n is the number of the upcall to be read next. */
void unic_event_next(struct unic_ctx *ctx, uint32_t n);
/** unic_event_region(), _qp(), _cq() - what the driver's words name, or NULL. */
struct unic_mem_region *unic_event_region(struct unic_ctx *ctx,
					  uint32_t handle);
struct unic_qp *unic_event_qp(struct unic_ctx *ctx, uint32_t row, uint32_t id);
struct unic_cq *unic_event_cq(struct unic_ctx *ctx, uint32_t row, uint32_t id);
/** unic_event_life() - its state, for all threads. */
void unic_event_life(struct unic_mem_region *r, enum unic_mr_life life);
/** unic_event_request() - make *ev a CONNECT. False: nobody listens, or it was
 * told before. */
bool unic_event_request(struct unic_ctx *ctx, uint32_t listener, uint32_t conn,
			struct unic_event *ev);

/** unic_qp_recover() - its rings are empty; its owner is told by an event. evt_lock
 * held. */
void unic_qp_recover(struct unic_qp *qp);

#endif /* UNIC_LIB_EVENT_H */

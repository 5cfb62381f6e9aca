/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* event.h - upcalls, and the events that are made of them. */
#ifndef UNIC_LIB_EVENT_H
#define UNIC_LIB_EVENT_H

#include "priv.h"

/** unic_event_init() - make the lock and the descriptors of events; no event is
 * queued. 0, or -errno with words and nothing made. */
int unic_event_init(struct unic_ctx *ctx);
/** unic_event_fini() - free queued events and close the descriptors. */
void unic_event_fini(struct unic_ctx *ctx);
/** unic_event_watch(), unic_event_unwatch() - add the connection and the upcall
 * descriptor to the sources of ctx->event_fd, or remove them. 0 or -errno. */
int unic_event_watch(struct unic_ctx *ctx);
void unic_event_unwatch(struct unic_ctx *ctx);
/** unic_event_revive() - the driver has restored all objects: read the upcalls
 * written before that, then take the state of regions from the driver (RESYNC).
 * evt_lock held. */
void unic_event_revive(struct unic_ctx *ctx);
/** unic_event_forked() - in the child of a fork(): close the parent's descriptors. */
void unic_event_forked(struct unic_ctx *ctx);
/** unic_event_pump() - read new upcalls, change the state of regions, queue events.
 * One load when there is no new upcall. */
void unic_event_pump(struct unic_ctx *ctx);
/** unic_event_listen() - unic_event_pump(), and the descriptor of upcalls is not readable
 * until the next one. */
void unic_event_listen(struct unic_ctx *ctx);
/** unic_event_purge() - drop queued events about @obj, which ends. evt_lock held. */
void unic_event_purge(struct unic_ctx *ctx, const void *obj);

/* All that follow are called with evt_lock held. */

/** unic_event_put() - queue @ev for the application. A region it names stays
 * until it is acknowledged. */
void unic_event_put(struct unic_ctx *ctx, const struct unic_event *ev);
/** unic_event_next() - set the number of the upcall to be read next to @n. */
void unic_event_next(struct unic_ctx *ctx, uint32_t n);
/** unic_event_region(), _qp(), _cq() - the object that the numbers of an upcall name;
 * NULL: none, or one that has ended. */
struct unic_mem_region *unic_event_region(struct unic_ctx *ctx,
					  uint32_t handle);
struct unic_qp *unic_event_qp(struct unic_ctx *ctx, uint32_t row, uint32_t id);
struct unic_cq *unic_event_cq(struct unic_ctx *ctx, uint32_t row, uint32_t id);
/** unic_event_life() - set the state of @r, which any thread may read. */
void unic_event_life(struct unic_mem_region *r, enum unic_mr_life life);
/** unic_event_request() - make *@ev the CONNECT event of request @conn. False: there
 * is no such listener, or the request was delivered before. */
bool unic_event_request(struct unic_ctx *ctx, uint32_t listener, uint32_t conn,
			struct unic_event *ev);

/** unic_event_conn() - note that *@ev, CONNECTED or DISCONNECTED, is delivered. False:
 * its queue pair is gone, or it was delivered before. */
bool unic_event_conn(const struct unic_event *ev);

/** unic_qp_recover() - queue a QP_ERROR event about @qp, whose rings are empty after
 * a reset. evt_lock held. */
void unic_qp_recover(struct unic_qp *qp);

#endif /* UNIC_LIB_EVENT_H */

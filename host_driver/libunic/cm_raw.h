/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_raw.h - raw connections, for a program that moves its queue pairs itself: the
 * provider for libibverbs. Each change of one is an event of type UNIC_EV_CM.
 *
 * All return 0 or -errno with words: -ENOENT there is no such connection (any more),
 * -EBUSY it is in another state, -EINVAL, -EDQUOT.
 */
#ifndef UNIC_LIB_CM_RAW_H
#define UNIC_LIB_CM_RAW_H

#include "priv.h"

/** unic_lib_raw_listen() - requests for @service make events with @user. *@id is the
 * listener's; unic_lib_raw_unlisten() ends it. -EADDRINUSE. */
int unic_lib_raw_listen(struct unic_ctx *ctx, uint64_t service, uint32_t user,
			uint32_t *id);
int unic_lib_raw_unlisten(struct unic_ctx *ctx, uint32_t id);
/** unic_lib_raw_connect() - CM_CONNECT with the fields of @req and @bytes of private data; never
 * waits for the peer. *@conn is the connection's id until unic_lib_raw_free(). */
int unic_lib_raw_connect(struct unic_ctx *ctx, const struct unic_ctl_cm *req,
			 const void *data, size_t bytes, uint32_t *conn);
/** unic_lib_raw_accept() - CM_ACCEPT, likewise. */
int unic_lib_raw_accept(struct unic_ctx *ctx, const struct unic_ctl_cm *req,
			const void *data, size_t bytes);
/** unic_lib_raw_reject() - CM_REJECT; @reason is a REJ's. */
int unic_lib_raw_reject(struct unic_ctx *ctx, uint32_t conn, uint32_t reason,
			const void *data, size_t bytes);
int unic_lib_raw_disconnect(struct unic_ctx *ctx, uint32_t conn);
/** unic_lib_raw_query() - the state of @conn in *@out, and its last private data in @data, of
 * UNIC_CTL_CM_PRIVATE_MAX bytes: *@bytes. */
int unic_lib_raw_query(struct unic_ctx *ctx, uint32_t conn,
		       struct unic_ctl_cm_reply *out, void *data,
		       size_t *bytes);
int unic_lib_raw_free(struct unic_ctx *ctx, uint32_t conn);

/** unic_lib_raw_event() - make *@ev of upcall @rec, CM. */
bool unic_lib_raw_event(struct unic_ctx *ctx, const void *rec,
			struct unic_event *ev);

#endif /* UNIC_LIB_CM_RAW_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* context.h - a context: its life, and requests of it to the driver. */
#ifndef UNIC_LIB_CONTEXT_H
#define UNIC_LIB_CONTEXT_H

#include "priv.h"

/** unic_ctx_dead() - the driver is gone or the NIC was reset. */
void unic_ctx_dead(struct unic_ctx *ctx);
/** unic_hello() - attach over ctx->conn: descriptors and attributes. @resume: only
 * to slot ctx->attr.proc, as it is; -ESTALE if that is not there. @timeout_ms: for
 * the answer, 0: UNIC_CALL_MS. */
int unic_hello(struct unic_ctx *ctx, bool resume, int timeout_ms);
/** unic_ctx_close_fds() - those that HELLO brought. */
void unic_ctx_close_fds(struct unic_ctx *ctx);
/** unic_fail_dead() - -ENOTCONN with words. */
int unic_fail_dead(struct unic_ctx *ctx);
/** unic_ctx_init_locks() - but those of events and queues. */
void unic_ctx_init_locks(struct unic_ctx *ctx);
/** unic_ctl() - unic_conn_call() with the epoch filled in. */
int unic_ctl(struct unic_ctx *ctx, unsigned int op,
	     struct unic_conn_call *call);
/** unic_ctl_simple() - no tails; 0 or -errno with words. */
int unic_ctl_simple(struct unic_ctx *ctx, unsigned int op, void *rec,
		    const char *what);
/** unic_ctl_obj() - a request that only names object @id. */
int unic_ctl_obj(struct unic_ctx *ctx, unsigned int op, uint32_t id,
		 const char *what);

#endif /* UNIC_LIB_CONTEXT_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* context.h - a context: its life, and requests of it to the driver. */
#ifndef UNIC_LIB_CONTEXT_H
#define UNIC_LIB_CONTEXT_H

#include "priv.h"

/** unic_ctx_dead() - mark @ctx dead: the driver is gone or the NIC was reset. */
void unic_ctx_dead(struct unic_ctx *ctx);
/** unic_hello() - attach over ctx->conn and take descriptors and attributes from the
 * answer. @resume: attach only to slot ctx->attr.proc with what it holds; -ESTALE:
 * the driver does not have it. @timeout_ms: bound on the answer, 0: UNIC_CALL_MS. 0,
 * or -errno with words. */
int unic_hello(struct unic_ctx *ctx, bool resume, int timeout_ms);
/** unic_ctx_close_fds() - close the descriptors that HELLO brought. */
void unic_ctx_close_fds(struct unic_ctx *ctx);
/** unic_fail_dead() - returns -ENOTCONN, with words for why @ctx is dead. */
int unic_fail_dead(struct unic_ctx *ctx);
/** unic_ctx_init_locks() - initialise the locks of @ctx, except those of events and
 * queues. */
void unic_ctx_init_locks(struct unic_ctx *ctx);
/** unic_ctl() - unic_conn_call() of operation @op, with the epoch of @ctx filled in. */
int unic_ctl(struct unic_ctx *ctx, unsigned int op,
	     struct unic_conn_call *call);
/** unic_ctl_once() - as unic_ctl(), but an end that the driver is not told of is not owed
 * (owed.h). unic_ctl_is_lost() - is @status that of a call of a lost context? */
int unic_ctl_once(struct unic_ctx *ctx, unsigned int op,
		  struct unic_conn_call *call);
bool unic_ctl_is_lost(int status);
/** unic_ctl_simple() - unic_ctl() of @rec (64 bytes, also the answer) without tails.
 * 0, or -errno with words that begin with @what. */
int unic_ctl_simple(struct unic_ctx *ctx, unsigned int op, void *rec,
		    const char *what);
/** unic_ctl_obj() - unic_ctl_simple() of a request that only names object @id. */
int unic_ctl_obj(struct unic_ctx *ctx, unsigned int op, uint32_t id,
		 const char *what);

#endif /* UNIC_LIB_CONTEXT_H */

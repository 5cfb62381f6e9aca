/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_op.h - inside the operations of an application:
 *
 *   app_op.c     what the script says is posted
 *   app_open.c   what was posted and not completed
 *   app_token.c  tokens, and messages that name one
 *   app_lie.c    what must not succeed
 *   app_done.c   completions
 */
#ifndef SIM_APP_OP_H
#define SIM_APP_OP_H

#include "app.h"

#define NOTHING UINT32_MAX
#define RECEIVE SCN_OP_KINDS
#define MEMOP	(SCN_OP_KINDS + 1) /* it changes a form */

/* ---------------------------------------------------------------- app_open.c */

/** op_id() - a number no operation had before: application, life, count. */
uint64_t op_id(struct app *a);
/** op_free() - a place for one; NULL: too many are open. */
struct op *op_free(struct app *a);
/** op_find() - the open one with this number, or NULL. */
struct op *op_find(struct app *a, uint64_t id);
/** op_queue() - the send queue of @q in its present life, for once.c. */
uint64_t op_queue(const struct qp *q);
/** op_local_alive(), op_remote_alive() - is it still the region that it was
 * posted with? op_..._revoked(): gone or asked back. */
bool op_local_alive(const struct op *o);
bool op_remote_alive(const struct op *o);
bool op_local_revoked(const struct op *o);
bool op_remote_revoked(const struct op *o);
/** op_let_go() - the bytes it used at both ends are free again. */
void op_let_go(struct op *o);
/** op_reliable() - has it arrived when it completes? */
bool op_reliable(const struct op *o);
/** op_is_write() - does it write memory of the peer? */
bool op_is_write(const struct op *o);
/** op_quiet_open() - is one open whose success is not told? */
bool op_quiet_open(const struct app *a);

/* ------------------------------------------------------------------ app_op.c */

/** op_some_qp() - one on which something can be sent, or NULL. */
struct qp *op_some_qp(struct app *a, uint64_t r);
/** op_some_region() - an active one with these rights, or NULL. */
struct region *op_some_region(struct app *a, uint64_t r, uint32_t rights);
/** op_iova() - address that the NIC knows byte @at of @r by. */
uint64_t op_iova(const struct region *r, uint32_t at);
/** op_fill_source() - the data of @o. */
void op_fill_source(struct app *a, const struct op *o);
/** op_put_wr() - the work request of @o, in two elements if it is long enough;
 * remote and rkey are still to be set. */
struct unic_sq_slot *op_put_wr(struct app *a, struct op *o);
/** op_set_remote() - @o is about region @r of @peer. */
void op_set_remote(struct op *o, struct app *peer, struct region *r);
/** op_post() - ring. */
void op_post(struct app *a, struct op *o);

/* --------------------------------------------------------------- app_token.c */

/** op_token_alloc() - ask for token @i. */
void op_token_alloc(struct app *a, uint32_t i, uint64_t r);
/** op_token_cancel() - cancel one. */
void op_token_cancel(struct app *a, uint64_t r);
/** op_token_post() - a tagged message. False: no token there now. */
bool op_token_post(struct app *a, struct op *o, uint64_t r);
/** op_token_used() - a tagged message arrived: the end of its token, if it named
 * a good one. */
void op_token_used(struct app *a, uint64_t id, const struct unic_cqe *c);

/* ----------------------------------------------------------------- app_lie.c */

/** op_lie() - an operation that must not succeed, and touch nothing that is not
 * its own. */
bool op_lie(struct app *a, struct op *o, uint64_t r);
/** op_ring_wildly() - bells for nothing, many or few. */
void op_ring_wildly(struct app *a, uint64_t r);
/** op_ask_wildly() - a request that names things at random. */
void op_ask_wildly(struct app *a, uint64_t r);

/* ---------------------------------------------------------------- app_done.c */

/** op_end() - it completed with @status. */
void op_end(struct app *a, struct op *o, uint8_t status);

#endif /* SIM_APP_OP_H */

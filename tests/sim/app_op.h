/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_op.h - inside the operations of an application:
 *
 *   app_op.c     posts the operations of the script
 *   app_open.c   operations posted and not completed
 *   app_atomic.c atomic operations
 *   app_token.c  tokens, and messages that name one
 *   app_lie.c    operations that must not succeed
 *   app_done.c   completions
 */
#ifndef SIM_APP_OP_H
#define SIM_APP_OP_H

#include "app.h"

#define NOTHING UINT32_MAX
#define RECEIVE SCN_OP_KINDS
#define MEMOP	(SCN_OP_KINDS + 1) /* changes a derived region */
#define ATOMIC	(SCN_OP_KINDS + 2) /* in the place of a READ of the script */

/* ---------------------------------------------------------------- app_open.c */

/** op_id() - an unused number: application, life, count. */
uint64_t op_id(struct app *a);
/** op_free() - a place for an operation; NULL: too many are open. */
struct op *op_free(struct app *a);
/** op_find() - the open operation with this number, or NULL. */
struct op *op_find(struct app *a, uint64_t id);
/** op_queue() - number of the send queue of @q in its present life, for once.c. */
uint64_t op_queue(const struct qp *q);
/** op_local_alive(), op_remote_alive() - is the region the one that the operation
 * was posted with? op_..._revoked(): gone or under notice. */
bool op_local_alive(const struct op *o);
bool op_remote_alive(const struct op *o);
bool op_local_revoked(const struct op *o);
bool op_remote_revoked(const struct op *o);
/** op_let_go() - free the bytes of the operation at both ends. */
void op_let_go(struct op *o);
/** op_reliable() - does its completion prove that it has arrived? */
bool op_reliable(const struct op *o);
/** op_spoiled() - may a forged frame be a part of its connection (identity.c)? */
bool op_spoiled(const struct op *o);
/** op_is_write() - does the operation write memory of the peer? */
bool op_is_write(const struct op *o);
/** op_oldest() - the oldest open operation of @q, or NULL. An unsignaled one may
 * have ended. */
struct op *op_oldest(struct app *a, const struct qp *q);
/** op_can_send() - is @q connected, with nothing that may have ended that? */
bool op_can_send(const struct qp *q);
/** op_quiet_open() - is an unsignaled operation open? */
bool op_quiet_open(const struct app *a);

/* ------------------------------------------------------------------ app_op.c */

/** op_some_qp() - a queue pair that can send, or NULL. */
struct qp *op_some_qp(struct app *a, uint64_t r);
/** op_some_region() - an active region with these rights, or NULL. */
struct region *op_some_region(struct app *a, uint64_t r, uint32_t rights);
/** op_iova() - IOVA of byte @at of @r. */
uint64_t op_iova(const struct region *r, uint32_t at);
/** op_fill_source() - write the data of @o. */
void op_fill_source(struct app *a, const struct op *o);
/** op_put_wr() - write the work request of @o, in two elements if it is long
 * enough, without remote address and rkey. */
struct unic_sq_slot *op_put_wr(struct app *a, struct op *o);
/** op_set_remote() - have @o use region @r of @peer. */
void op_set_remote(struct op *o, struct app *peer, struct region *r);
/** op_post() - record @o as posted, and ring the doorbell. */
void op_post(struct app *a, struct op *o);

/* -------------------------------------------------------------- app_atomic.c */

/** op_atomic_post() - post an atomic operation. False: there is no word for it. */
bool op_atomic_post(struct app *a, struct op *o, uint64_t r);
/** op_atomic_check() - it succeeded: it was executed once. */
void op_atomic_check(struct app *a, const struct op *o);

/* --------------------------------------------------------------- app_token.c */

/** op_token_alloc() - request token @i. */
void op_token_alloc(struct app *a, uint32_t i, uint64_t r);
/** op_token_cancel() - cancel a token. */
void op_token_cancel(struct app *a, uint64_t r);
/** op_token_post() - post a tagged message. False: there is no token. */
bool op_token_post(struct app *a, struct op *o, uint64_t r);
/** op_token_used() - a tagged message arrived: end its token, if it named a valid
 * one. */
void op_token_used(struct app *a, uint64_t id, const struct unic_cqe *c);

/* ----------------------------------------------------------------- app_lie.c */

/* Where a request names an STag. */
enum named {
	NAMED_ACCESS,  /* the memory of an operation */
	NAMED_TARGET,  /* a derived region to be made or invalidated */
	NAMED_ELEMENT, /* what a derived region is made of */
};

/* An STag that must be refused, @iova: an address that it might open; what a
 * completion or reply may say of it instead of what it says of nobody's, or 0. */
struct wrong {
	uint32_t stag;
	uint64_t iova;
	uint8_t detail, status;
};

/**
 * op_wrong() - an STag that queue pairs of @a must not open, chosen by @r: of the
 * past, of another process or of nobody; of the second domain of @a; of a region
 * that cannot be invalidated (NAMED_TARGET), or of a window (NAMED_ELEMENT).
 * False: there is none of that kind.
 */
bool op_wrong(struct app *a, uint64_t r, enum named as, struct wrong *out);
/** op_spoil_list() - make the request for @f over @r wrong: one byte too many at
 * its end, in @last, or a right that @r lacks (a window with REMOTE_WRITE needs
 * LOCAL_WRITE of the region). */
void op_spoil_list(struct app *a, const struct region *r, const struct form *f,
		   struct unic_sge *last, uint8_t *rights);
/** op_lie_list() - have one of the @n elements of the list of @f name 64 bytes of
 * @out, a wrong STag, with few rights, so that only the STag is wrong. False: the
 * list is as it was. */
bool op_lie_list(struct app *a, struct form *f, struct unic_sge *sge,
		 uint32_t n, uint8_t *rights, struct wrong *out);
/** op_set_lie() - record that @o names @w, refused with @status. */
void op_set_lie(struct op *o, const struct wrong *w, uint8_t status,
		bool is_local);

/** op_lie() - post an operation that must not succeed, and touches no memory but
 * its own. */
bool op_lie(struct app *a, struct op *o, uint64_t r);
/** op_ring_wildly() - ring for nothing, few or many times. */
void op_ring_wildly(struct app *a, uint64_t r);
/** op_ask_wildly() - send a request with random ids. */
void op_ask_wildly(struct app *a, uint64_t r);

/* ---------------------------------------------------------------- app_done.c */

/** op_end() - the operation completed with @status. */
void op_end(struct app *a, struct op *o, uint8_t status);

#endif /* SIM_APP_OP_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_open.c - operations that were posted and not completed, and the bytes at
 * both ends that they use.
 */
#include "app_op.h"
#include "oracle.h"

uint64_t op_id(struct app *a)
{
	return (uint64_t)(a->index + 1) << 48 |
	       (uint64_t)(a->epoch_life & 0xffff) << 32 | ++a->posted;
}

struct op *op_free(struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_FREE)
			return &a->op[i];
	return NULL;
}

struct op *op_find(struct app *a, uint64_t id)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED && a->op[i].id == id)
			return &a->op[i];
	return NULL;
}

uint64_t op_queue(const struct qp *q)
{
	return (uint64_t)(q->app->index + 1) << 48 |
	       (uint64_t)q->app->epoch_life << 32 | q->index << 28 | q->gen;
}

bool op_local_alive(const struct op *o)
{
	return o->local && o->local->life == o->local_life;
}

bool op_remote_alive(const struct op *o)
{
	return o->remote && o->remote->life == o->remote_life &&
	       o->peer->life == o->peer_life;
}

bool op_local_revoked(const struct op *o)
{
	return !op_local_alive(o) || o->local->revoked;
}

bool op_remote_revoked(const struct op *o)
{
	return !op_remote_alive(o) || o->remote->revoked;
}

void op_let_go(struct op *o)
{
	if (op_local_alive(o) && o->kind != RECEIVE)
		o->local->open[o->part]--;
	if (op_remote_alive(o) && !o->forbidden && !o->token)
		o->remote->open[o->kind == SCN_READ ? PART_EXPORT
						    : PART_WINDOW]--;
	oracle_revoke(o->grant);
	oracle_revoke(o->grant_there);
	if (o->kind == MEMOP)
		app_form_dropped(o);
	o->state = OP_FREE;
}

bool op_reliable(const struct op *o)
{
	return o->link->type == UNIC_QPT_RC;
}

bool op_is_write(const struct op *o)
{
	return o->kind == SCN_WRITE || o->kind == SCN_WRITE_IMM ||
	       o->kind == SCN_TOKEN || o->kind == ATOMIC;
}

bool app_op_idle(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED && a->op[i].kind != RECEIVE &&
		    !a->op[i].quiet)
			return false;
	return true;
}

struct op *op_oldest(struct app *a, const struct qp *q)
{
	struct op *o = NULL;
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED && a->op[i].kind != RECEIVE &&
		    a->op[i].qp == q && (!o || a->op[i].id < o->id))
			o = &a->op[i];
	return o;
}

bool op_can_send(const struct qp *q)
{
	const struct qp *peer;

	if (!q->link || q->link->type == UNIC_QPT_UD)
		return false; /* a datagram may wait for a link address */
	peer = q->link->qp[!q->end];
	return q->state == QP_RTS && !q->failed && !q->dying &&
	       q->gen == q->link->gen && q->gen > q->link->spoiled &&
	       peer->state == QP_RTS && !peer->failed && !peer->dying &&
	       !world->node[peer->app->node]->stands;
}

bool op_quiet_open(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++)
		if (a->op[i].state == OP_POSTED && a->op[i].quiet)
			return true;
	return false;
}

void app_op_settle(const struct qp *q)
{
	uint32_t i, k;

	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_OPEN; k++) {
			struct op *o = &apps[i]->op[k];

			if (o->state == OP_LINGERS && o->link == q->link &&
			    o->peer == q->app && o->gen != q->link->gen)
				op_let_go(o);
		}
}

void app_op_drop(struct qp *q)
{
	struct app *a = q->app;
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++) {
		struct op *o = &a->op[i];

		if (o->state != OP_POSTED || o->qp != q)
			continue;
		once_forget(o->id, ~0ull);
		if (o->kind == RECEIVE)
			op_let_go(o);
		else
			op_end(a, o, 1);
	}
	q->sq_open = q->rq_open = 0;
}

void app_op_forget(struct app *a, bool safe)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++) {
		struct op *o = &a->op[i];

		if (!safe && (!op_is_write(o) || o->kind == ATOMIC))
			o->grant = 0;
		if (o->state == OP_POSTED && op_is_write(o))
			o->state = OP_LINGERS; /* its bytes may still arrive */
		else if (o->state == OP_POSTED)
			op_let_go(o);
	}
	once_forget((uint64_t)(a->index + 1) << 48 |
			    (uint64_t)(a->epoch_life & 0xffff) << 32,
		    0xffffffffull << 32);
}

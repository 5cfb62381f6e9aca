/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* owed.c - see owed.h. */
#include "owed.h"

#include <stdlib.h>

#include "context.h"

struct unic_owed {
	struct unic_owed *next;
	unsigned int op;
	uint64_t rec[UNIC_CTL_BYTES / 8];
};

static bool is_end(unsigned int op)
{
	switch (op) {
	case UNIC_CTL_PD_FREE:
	case UNIC_CTL_MR_DEREG:
	case UNIC_CTL_CQ_DESTROY:
	case UNIC_CTL_QP_DESTROY:
	case UNIC_CTL_SRQ_DESTROY:
	case UNIC_CTL_UNLISTEN:
	case UNIC_CTL_FRAMES_FREE:
		return true;
	default:
		return false;
	}
}

void unic_owed_put(struct unic_ctx *ctx, unsigned int op, const void *rec)
{
	struct unic_owed **end = &ctx->owed;
	struct unic_owed *o;

	if (!is_end(op) || !ctx->kept || ctx->forked)
		return;
	o = calloc(1, sizeof(*o));
	if (!o)
		return;
	o->op = op;
	memcpy(o->rec, rec, sizeof(o->rec));
	pthread_mutex_lock(&ctx->db_lock);
	while (*end)
		end = &(*end)->next;
	*end = o;
	pthread_mutex_unlock(&ctx->db_lock);
}

static struct unic_owed *take_first(struct unic_ctx *ctx)
{
	struct unic_owed *o;

	pthread_mutex_lock(&ctx->db_lock);
	o = ctx->owed;
	if (o)
		ctx->owed = o->next;
	pthread_mutex_unlock(&ctx->db_lock);
	return o;
}

static void put_back(struct unic_ctx *ctx, struct unic_owed *o)
{
	pthread_mutex_lock(&ctx->db_lock);
	o->next = ctx->owed;
	ctx->owed = o;
	pthread_mutex_unlock(&ctx->db_lock);
}

bool unic_owed_send(struct unic_ctx *ctx)
{
	struct unic_owed *o;

	while ((o = take_first(ctx))) {
		uint64_t rec[UNIC_CTL_BYTES / 8];
		struct unic_conn_call call = { .rec = rec };

		memcpy(rec, o->rec, sizeof(rec));
		/* any other answer: the driver has no such object any more */
		if (unic_ctl_is_lost(unic_ctl_once(ctx, o->op, &call))) {
			put_back(ctx, o);
			return false;
		}
		free(o);
	}
	return true;
}

void unic_owed_drop(struct unic_ctx *ctx)
{
	struct unic_owed *o;

	while ((o = take_first(ctx)))
		free(o);
}

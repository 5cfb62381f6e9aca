/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* stray.c - see stray.h. */
#include "stray.h"

#include <errno.h>
#include <stdlib.h>

#include "context.h"
#include "queue.h"

static bool is_queue_known(const struct unic_ctx *ctx, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < UNIC_DB_OBJECTS; i++)
		if ((ctx->qp[i] && ctx->qp[i]->id == id) ||
		    (ctx->cq[i] && ctx->cq[i]->id == id))
			return true;
	return false;
}

static bool is_region_known(const struct unic_ctx *ctx, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < UNIC_MR_HANDLES; i++)
		if (ctx->region[i] && ctx->region[i]->mr.id == id)
			return true;
	return false;
}

static bool is_listener_known(const struct unic_ctx *ctx, uint32_t id)
{
	const struct unic_listener *l = ctx->listeners;

	while (l && l->id != id)
		l = l->next;
	return l;
}

static bool is_pd_known(const struct unic_ctx *ctx, uint32_t id)
{
	const struct unic_pd *pd = ctx->pds;

	while (pd && pd->id != id)
		pd = pd->next;
	return pd;
}

/* What uses others comes first. */
static const struct kind {
	uint32_t type;
	unsigned int end;
	bool (*is_known)(const struct unic_ctx *ctx, uint32_t id);
} kinds[] = {
	{ UNIC_CTL_O_QP, UNIC_CTL_QP_DESTROY, is_queue_known },
	{ UNIC_CTL_O_CQ, UNIC_CTL_CQ_DESTROY, is_queue_known },
	{ UNIC_CTL_O_LISTENER, UNIC_CTL_UNLISTEN, is_listener_known },
	{ UNIC_CTL_O_MR, UNIC_CTL_MR_DEREG, is_region_known },
	{ UNIC_CTL_O_PD, UNIC_CTL_PD_FREE, is_pd_known },
};

/* End the strays of @kind among the @n objects at @o. False: the context is lost. */
static bool end_kind(struct unic_ctx *ctx, const struct kind *kind,
		     const struct unic_object *o, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		struct unic_ctl_obj rec = { .id = unic_to_le32(o[i].id) };
		struct unic_conn_call call = { .rec = &rec };

		if (o[i].type != kind->type || kind->is_known(ctx, o[i].id))
			continue;
		if (unic_ctl_is_lost(unic_ctl_once(ctx, kind->end, &call)))
			return false;
	}
	return true;
}

bool unic_stray_end(struct unic_ctx *ctx)
{
	int n = unic_list_objects(ctx, NULL, 0), all;
	struct unic_object *o;
	bool well = true;
	unsigned int i;

	if (n <= 0)
		return n != -ENOTCONN;
	o = calloc((size_t)n, sizeof(*o));
	if (!o)
		return true; /* they end with the context */
	all = unic_list_objects(ctx, o, n);
	n = all < n ? all : n;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && well; i++)
		well = end_kind(ctx, &kinds[i], o, n);
	free(o);
	return well && n >= 0;
}

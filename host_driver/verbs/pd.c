/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* pd.c - protection domains. */
#include <errno.h>
#include <stdlib.h>

#include "attach.h"
#include "errnos.h"
#include "pd.h"

struct ibv_pd *unic_ibv_alloc_pd(struct ibv_context *ctx)
{
	struct unic_ibv_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return unic_ibv_null(-ENOMEM);
	err = unic_alloc_pd(unic_ibv_context(ctx)->at->ctx, &pd->lib);
	if (err) {
		free(pd);
		return unic_ibv_null(err);
	}
	pd->pd.context = ctx;
	return &pd->pd;
}

int unic_ibv_dealloc_pd(struct ibv_pd *ibpd)
{
	struct unic_ibv_pd *pd = unic_ibv_pd(ibpd);
	int err = unic_free_pd(pd->lib);

	if (err)
		return unic_ibv_errno(err);
	free(pd);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* receive.c - see receive.h. */
#include <stdio.h>
#include <stdlib.h>

#include "receive.h"

void offer(struct unic_pd *pd, struct unic_mr *mr, void *at, uint32_t bytes,
	   uint32_t ipv4, uint32_t qpn, struct unic_pay_token *out)
{
	struct unic_pay_attr attr = { .mr = mr,
				      .addr = at,
				      .length = bytes,
				      .flags = UNIC_TOKEN_F_MULTI };

	(void)ipv4;
	(void)qpn;
	if (!unic_alloc_token(pd, &attr, out))
		return;
	printf("token: %s\n", unic_last_error());
	exit(1);
}

void take_back(struct unic_ctx *ctx, const struct unic_pay_token *token)
{
	(void)ctx;
	(void)token;
}

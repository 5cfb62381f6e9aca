/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * receive.c - a token is for one message (no MULTI), of one sender. Before the buffer is
 * read the token is cancelled: if its message has come the token has ended already, and
 * cancelling says so; if not, nothing can come any more.
 */
#include <stdio.h>
#include <stdlib.h>

#include "receive.h"

static void fail(const char *what)
{
	printf("%s: %s\n", what, unic_last_error());
	exit(1);
}

void offer(struct unic_pd *pd, struct unic_mr *mr, void *at, uint32_t bytes,
	   uint32_t ipv4, uint32_t qpn, struct unic_pay_token *out)
{
	struct unic_pay_attr attr = { .mr = mr,
				      .addr = at,
				      .length = bytes,
				      .sender_ipv4 = ipv4,
				      .sender_qpn = qpn };

	if (unic_alloc_token(pd, &attr, out))
		fail("token");
}

void take_back(struct unic_ctx *ctx, const struct unic_pay_token *token)
{
	unsigned int end;

	if (unic_cancel_token(ctx, token, &end, NULL))
		fail("cancel");
}

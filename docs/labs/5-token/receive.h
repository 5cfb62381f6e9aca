/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* receive.h - what the receiver of attack.c does with its tokens. */
#ifndef LABS_RECEIVE_H
#define LABS_RECEIVE_H

#include "unic.h"

/* Makes a token: the right to place one payload of at most @bytes at @at, in @mr, for
 * the friend, who sends from the queue pair @qpn at @ipv4. */
void offer(struct unic_pd *pd, struct unic_mr *mr, void *at, uint32_t bytes,
	   uint32_t ipv4, uint32_t qpn, struct unic_pay_token *out);

/* The receiver reads the buffer now, and uses it for something else after that. Nobody
 * may write to it any more, whether @token was used or not. */
void take_back(struct unic_ctx *ctx, const struct unic_pay_token *token);

#endif /* LABS_RECEIVE_H */

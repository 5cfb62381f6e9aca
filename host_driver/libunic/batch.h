/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* batch.h - several requests as one. */
#ifndef UNIC_LIB_BATCH_H
#define UNIC_LIB_BATCH_H

#include "priv.h"

/** unic_ctl_batch() - @n requests of 64 bytes (their op filled in), at most
 * UNIC_BATCH_MAX, as one; their replies in place. 0, or -errno with words: none
 * was tried then, or nothing is known of them. */
int unic_ctl_batch(struct unic_ctx *ctx, void *rec, unsigned int n,
		   const char *what);

#endif /* UNIC_LIB_BATCH_H */

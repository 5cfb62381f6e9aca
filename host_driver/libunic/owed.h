/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * owed.h - ends of objects that the driver was not told of. A call that ends an object
 * of a lost context succeeds; if the context is kept, the driver may come back with that
 * object. So the request is sent again by unic_recover().
 */
#ifndef UNIC_LIB_OWED_H
#define UNIC_LIB_OWED_H

#include "priv.h"

/** unic_owed_put() - remember request @op with @rec, 64 bytes, of a context that is lost.
 * Does nothing if @op ends nothing or @ctx is not kept; without memory the object stays
 * until unic_close(). */
void unic_owed_put(struct unic_ctx *ctx, unsigned int op, const void *rec);
/** unic_owed_send() - send all to the driver, which is back, in the order of the calls.
 * False: it is lost again, and what was not sent is still owed. */
bool unic_owed_send(struct unic_ctx *ctx);
/** unic_owed_drop() - forget all. */
void unic_owed_drop(struct unic_ctx *ctx);

#endif /* UNIC_LIB_OWED_H */

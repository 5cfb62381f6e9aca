/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * stray.h - objects that the driver has and the process does not know: made for it, by a
 * driver or for a connection that ended before the answer came.
 */
#ifndef UNIC_LIB_STRAY_H
#define UNIC_LIB_STRAY_H

#include "priv.h"

/** unic_stray_end() - end them, for a context that is recovered. evt_lock held, and no
 * other thread uses the context. False: it is lost again. */
bool unic_stray_end(struct unic_ctx *ctx);

#endif /* UNIC_LIB_STRAY_H */

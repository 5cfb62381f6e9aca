/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* srq.h - upcalls about shared receive queues. */
#ifndef UNIC_LIB_SRQ_H
#define UNIC_LIB_SRQ_H

#include <stdbool.h>

struct unic_ctx;
struct unic_event;

/** unic_srq_upcall() - @ev becomes the event of upcall @rec, SRQ_LIMIT, SRQ_ERROR or
 * LAST_WQE. False: its queue is gone. evt_lock held. */
bool unic_srq_upcall(struct unic_ctx *ctx, const void *rec,
		     struct unic_event *ev);

#endif /* UNIC_LIB_SRQ_H */

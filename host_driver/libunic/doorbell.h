/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* doorbell.h - the doorbell page of a context, and sleeping until the NIC rings. */
#ifndef UNIC_LIB_DOORBELL_H
#define UNIC_LIB_DOORBELL_H

#include "priv.h"

/** unic_db_ring() - publish @value as tail of row @obj and tell the NIC. */
void unic_db_ring(struct unic_ctx *ctx, enum unic_db_kind kind,
		  unsigned int obj, uint32_t value);
/** unic_db_row_get() - a free row of the doorbell page, zeroed; -EMFILE. */
int unic_db_row_get(struct unic_ctx *ctx);
/** unic_db_row_put() - the row is free again. */
void unic_db_row_put(struct unic_ctx *ctx, int row);
/** unic_drain() - make an event fd (of the driver: an eventfd, or a socket)
 * unreadable. False: its other end is gone. */
bool unic_drain(int fd);
/** unic_wake_seq() - to be read before looking at the queue one waits for. */
uint32_t unic_wake_seq(struct unic_ctx *ctx);
/** unic_wake_wait() - sleep until the NIC rang since @seq was read. 0: look
 * again; -ETIME at @until_ns (CLOCK_MONOTONIC, -1: never); -ENOTCONN. */
int unic_wake_wait(struct unic_ctx *ctx, uint32_t seq, int64_t until_ns);

#endif /* UNIC_LIB_DOORBELL_H */

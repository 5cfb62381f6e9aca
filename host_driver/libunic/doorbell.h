/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* doorbell.h - the doorbell page of a context, and sleeping until the NIC rings. */
#ifndef UNIC_LIB_DOORBELL_H
#define UNIC_LIB_DOORBELL_H

#include "priv.h"

/** unic_db_ring() - publish @value as tail of row @obj, and ring the NIC if it
 * sleeps. */
void unic_db_ring(struct unic_ctx *ctx, enum unic_db_kind kind,
		  unsigned int obj, uint32_t value);
/** unic_db_row_get() - take a free row of the doorbell page and zero it. Its number,
 * or -EMFILE. */
int unic_db_row_get(struct unic_ctx *ctx);
/** unic_db_row_put() - free row @row. */
void unic_db_row_put(struct unic_ctx *ctx, int row);
/** unic_drain() - read @fd (an eventfd, or a socket of the driver) until it is not
 * readable. False: its other end is closed. */
bool unic_drain(int fd);
/** unic_wake_seq() - the number of rings so far; to be read before the queue is
 * polled that the caller waits for. */
uint32_t unic_wake_seq(struct unic_ctx *ctx);
/** unic_wake() - wake all that sleep until the NIC rings: there are completions that it
 * did not write. */
void unic_wake(struct unic_ctx *ctx);
/** unic_wake_wait() - sleep until the NIC has rung since @seq was read. 0: poll
 * again; -ETIME: at @until_ns (CLOCK_MONOTONIC, -1: never); -ENOTCONN, also then. */
int unic_wake_wait(struct unic_ctx *ctx, uint32_t seq, int64_t until_ns);

#endif /* UNIC_LIB_DOORBELL_H */

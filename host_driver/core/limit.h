/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * limit.h - what one process may have the driver do in a second: answer misses, make
 * registrations, wake it for upcalls (enum unic_ctl_limit).
 *
 * Secret: a limit is the time at which all that was done is paid for, as in a token
 * bucket that no timer fills. Who did nothing for UNIC_LIMIT_SAVED_NS may do at once
 * what fits that time. Nothing fails of a miss or an upcall beyond the limit: it is put
 * off. A registration is answered TOO_FAST, with the time after which to ask again.
 */
#ifndef UNIC_LIMIT_H
#define UNIC_LIMIT_H

#include "request.h"

#define UNIC_LIMIT_SAVED_NS 100000000ull

/** unic_limits_begin() - process @proc has the limits of the configuration, and has
 * used nothing of them. */
void unic_limits_begin(const struct unic_host *host, struct unic_hproc *proc);

/** unic_limit_at() - when @limit has room for one more; in the past: now. */
static inline uint64_t unic_limit_at(const struct unic_limit *limit)
{
	return limit->rate ? limit->paid_ns : 0;
}

/** unic_limit_take() - @n more are done at @now_ns, whether there is room or not. */
void unic_limit_take(struct unic_limit *limit, uint64_t now_ns, uint32_t n);

/** unic_limits_refuse() - true: @req, which makes @n registrations, was answered
 * TOO_FAST, and is gone. False: they are counted, and @req goes on. Requests of the
 * driver itself have no limit. */
bool unic_limits_refuse(struct unic_req *req, uint32_t n);

/** unic_limits_run() - LIMITS: set or tell limits of a process, or of all. */
void unic_limits_run(struct unic_req *req);

#endif /* UNIC_LIMIT_H */

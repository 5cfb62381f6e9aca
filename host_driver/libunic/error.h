/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * error.h - errors in words: what failed, why, what to do. The one map from the
 * driver's statuses to errno.
 */
#ifndef UNIC_LIB_ERROR_H
#define UNIC_LIB_ERROR_H

#include "unic_mbox.h"

/** unic_fail() - remember the words for this thread; returns @err. */
int unic_fail(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** unic_fail_status() - @status of unic_conn_call(): 0 for OK and PENDING, else
 * -errno with words that begin with @what. */
int unic_fail_status(const char *what, int status);

/** unic_fail_usage() - remember why a registration found no room (a tail of
 * MR_REG), for unic_last_usage(), and add it to the words. */
void unic_fail_usage(const struct unic_cpl_usage *usage);

#endif /* UNIC_LIB_ERROR_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * conn_dev.h - requests and replies through the device of a driver that is part
 * of Linux (abi/unic_ioctl.h).
 */
#ifndef UNIC_LIB_CONN_DEV_H
#define UNIC_LIB_CONN_DEV_H

#include "conn.h"

#define UNIC_DEVICE "/dev/unic" /* the default path */

/** unic_dev_open() - a descriptor, or -errno with words. */
int unic_dev_open(const char *path);

/**
 * unic_dev_call() - send call->rec, whose header is filled in, and wait. A device
 * without room for a moment is asked again until @until_ns, then the answer is
 * UNIC_CTL_ST_TOO_MANY.
 * Returns the reply's status, or -ENOTCONN, -ETIMEDOUT (at @until_ns,
 * CLOCK_MONOTONIC; -1: never), as unic_conn_call(). The descriptors that HELLO
 * promises are made here.
 */
int unic_dev_call(int fd, struct unic_conn_call *call, int64_t until_ns);

#endif /* UNIC_LIB_CONN_DEV_H */

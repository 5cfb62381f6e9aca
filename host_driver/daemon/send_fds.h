// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* send_fds.h - one message with descriptors, to somebody who need not read. */
#ifndef SEND_FDS_H
#define SEND_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SEND_FDS_MAX 64

/** socket_error_passes() - may the same call on a socket do better a moment later,
 * whatever its peer does? @err: an errno, of memory that was short or of a signal. */
bool socket_error_passes(int err);

/** send_fds_once() - @bytes of @data with @fds descriptors at @fd, at most
 * SEND_FDS_MAX, to socket @to, if that goes now. Returns what sendmsg() does. */
ssize_t send_fds_once(int to, const void *data, size_t bytes, const int *fd,
		      int fds);

/** send_fds() - @bytes of @data with @fds descriptors at @fd, at most SEND_FDS_MAX,
 * to socket @to. The system may be short of memory for some milliseconds.
 * Returns false if it did not go out whole: the peer is gone, or does not read. */
bool send_fds(int to, const void *data, size_t bytes, const int *fd, int fds);

#endif /* SEND_FDS_H */

// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* peer_pidfd.h - which process is at the other end of a socket. */
#ifndef PEER_PIDFD_H
#define PEER_PIDFD_H

/** peer_pidfd() - a descriptor of the process that connected @sock, or -errno;
 * -ESRCH: it is gone. Before Linux 6.5 by its number, which another process may
 * have by now. */
int peer_pidfd(int sock);

#endif /* PEER_PIDFD_H */

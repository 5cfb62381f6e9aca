/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * ivshmem_client.h - the client side of QEMU's ivshmem protocol, version 0, for
 * NICs that are Linux processes: what QEMU's ivshmem-doorbell device does, so
 * that a server cannot tell the two apart.
 *
 * At a socket for it, a server gives memory files, too, and others later
 * (UNIC_BUS_WINDOW in abi/unic_bus.h).
 *
 * The secret: how doorbells of peers come and go. Not thread-safe.
 */
#ifndef IVSHMEM_CLIENT_H
#define IVSHMEM_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#define IVSHMEM_CLIENT_PEERS   8
#define IVSHMEM_CLIENT_VECTORS 32
#define IVSHMEM_CLIENT_WINDOWS 24
#define IVSHMEM_CLIENT_VERSION 0 /* of the protocol */

struct ivshmem_client {
	int fd; /* connection; readable when there is news */
	int id; /* peer number of this client */
	int shm_fd;
	uint64_t shm_bytes;
	int vectors; /* of each peer */
	int have;    /* bytes of a message cut in two */
	int64_t part;
	int64_t version;		 /* of the server's protocol */
	int count[IVSHMEM_CLIENT_PEERS]; /* number of doorbells of each peer */
	int event[IVSHMEM_CLIENT_PEERS][IVSHMEM_CLIENT_VECTORS];
	uint32_t fresh; /* windows that came and were not taken; their files */
	int window_fd[IVSHMEM_CLIENT_WINDOWS];
	/* windows not yet confirmed to the server */
	uint8_t due[IVSHMEM_CLIENT_WINDOWS];
};

/**
 * ivshmem_client_connect() - attach to the server at Unix socket @path and wait
 * until @vectors doorbells of this client have come.
 * @wait_ms: how long to wait for a server that is not there. @timeout_ms: for its greeting.
 * Returns 0 or -errno (-EPROTO: not an ivshmem server, or fewer vectors;
 * -EPROTONOSUPPORT: its protocol is of version @c->version, not of
 * IVSHMEM_CLIENT_VERSION; -EPERM: it is another user's; -ETIMEDOUT: it is silent;
 * -ECONNRESET: it has no number left); on an error nothing is left open.
 */
int ivshmem_client_connect(struct ivshmem_client *c, const char *path,
			   int vectors, int wait_ms, int timeout_ms);

/**
 * ivshmem_client_news() - take in which peers came and went. Does not block.
 * Returns 0, or -errno when the server is gone; doorbells work on.
 */
int ivshmem_client_news(struct ivshmem_client *c);

/** ivshmem_client_ring() - ring @peer. Without such a peer nothing happens. */
void ivshmem_client_ring(const struct ivshmem_client *c, uint32_t peer,
			 uint32_t vector);

/** ivshmem_client_event() - event fd of this client's doorbell @vector. */
int ivshmem_client_event(const struct ivshmem_client *c, int vector);

/**
 * ivshmem_client_window() - a window that has another file: *@fd, which the caller
 * owns, maps in place of the old one, and confirms by ivshmem_client_mapped(). -1:
 * none.
 */
int ivshmem_client_window(struct ivshmem_client *c, int *fd);

/** ivshmem_client_mapped() - confirm to the server all windows that were taken.
 * Those for which its socket has no room go with the next call. */
void ivshmem_client_mapped(struct ivshmem_client *c);

/** ivshmem_client_close() - leave; everything of it is closed. */
void ivshmem_client_close(struct ivshmem_client *c);

#endif /* IVSHMEM_CLIENT_H */

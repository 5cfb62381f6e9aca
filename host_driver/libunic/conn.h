/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * conn.h - requests and replies between this process and the driver
 * (abi/unic_ctl.h).
 *
 * Secret: the socket, or what is in its place. Any number of threads may call.
 * As many as the driver takes are under way, the others wait for their turn; one
 * of those whose request is sent reads replies for all (there is no thread of
 * the library). Sending and reading share no lock.
 */
#ifndef UNIC_LIB_CONN_H
#define UNIC_LIB_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unic_ctl.h"

#define UNIC_CONN_FDS	  4
#define UNIC_CALL_MS	  10000 /* no answer for so long: the driver is broken */
#define UNIC_CALL_FOREVER (-1)

struct unic_conn;

/* One request and its reply. */
struct unic_conn_call {
	void *rec;	  /* 64 bytes: request in, reply out */
	const void *tail; /* of the request, may be NULL */
	size_t tail_bytes;
	void *reply_tail; /* where the reply's tail goes, may be NULL */
	size_t reply_room;
	size_t reply_bytes;	/* out */
	int fds[UNIC_CONN_FDS]; /* out: descriptors that came along */
	int n_fds;		/* in: wanted; out: got */
	int timeout_ms;		/* for the reply; 0: UNIC_CALL_MS */
	int patience_ms;	/* for its turn; 0: as timeout_ms */
	uint32_t seq;		/* out: of the request, set before it is sent */
};

/** unic_conn_default() - the path of a driver that nobody named: $UNIC_SOCKET,
 * else that of the driver in the kernel if there is one, else unicd's. */
const char *unic_conn_default(void);

/** unic_conn_kernel() - the driver is part of the kernel (@path was a device):
 * it takes any memory of the process. */
bool unic_conn_kernel(const struct unic_conn *conn);

/** unic_conn_open() - connect to the driver's socket, or device. -ENOENT, -ECONNREFUSED,
 * -EACCES; -ENOTCONN within 2 s when it is stopped and others wait already.
 * Words in unic_last_error(). */
int unic_conn_open(const char *path, struct unic_conn **out);

/** unic_conn_close() - no call may be open. NULL is fine. */
void unic_conn_close(struct unic_conn *conn);

/** unic_conn_forked() - in the child of a fork(): the connection is the parent's;
 * drop this side of it, so that it ends when the parent does. Calls answer
 * -EOWNERDEAD. */
void unic_conn_forked(struct unic_conn *conn);

/** unic_conn_hung_up() - like unic_conn_dead(), but looks at the socket, too. */
bool unic_conn_hung_up(const struct unic_conn *conn);

/** unic_conn_fd() - the socket, to poll for POLLRDHUP (the driver is gone). */
int unic_conn_fd(const struct unic_conn *conn);

/** unic_conn_dead() - did the driver go away, or break the protocol? */
bool unic_conn_dead(const struct unic_conn *conn);
/** unic_conn_kill() - treat it as gone from now on. */
void unic_conn_kill(struct unic_conn *conn);
/** unic_conn_hang_up() - so that the driver sees its end, too. */
void unic_conn_hang_up(struct unic_conn *conn);

/**
 * unic_conn_call() - send @op with call->rec and wait for the reply.
 * Returns the reply's status (>= 0, enum unic_status or unic_ctl_status), or
 * -ENOTCONN (the driver is gone), -ETIMEDOUT (it does not answer: the
 * connection is given up), -EOWNERDEAD (the connection is of the process that
 * forked this one). rec is unchanged on error, but for its header. Statuses of
 * our own: UNIC_CTL_ST_TOO_MANY, its turn did not come within patience_ms;
 * UNIC_CTL_ST_NO_MEMORY, the kernel has none for the request. Nothing was sent
 * then, and the connection goes on.
 */
int unic_conn_call(struct unic_conn *conn, unsigned int op,
		   struct unic_conn_call *call);

/** unic_conn_simple() - unic_conn_call() without tails, and with errors said:
 * 0 (OK or PENDING) or -errno with "@what: ..." in unic_last_error(). */
int unic_conn_simple(struct unic_conn *conn, unsigned int op, void *rec,
		     const char *what);

#endif /* UNIC_LIB_CONN_H */

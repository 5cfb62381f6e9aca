/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * conn.h - requests and replies between this process and the driver
 * (abi/unic_ctl.h).
 *
 * Secret: the socket or device. Any number of threads may call. As many calls as the
 * driver takes are under way, the others wait for their turn; the library has no
 * thread: one of the callers whose request is sent reads the replies for all. Sending
 * and reading share no lock.
 */
#ifndef UNIC_LIB_CONN_H
#define UNIC_LIB_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unic_ctl.h"

#define UNIC_CONN_FDS	  4
#define UNIC_CALL_MS	  10000 /* bound on the driver's answer */
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
	int patience_ms;	/* for its turn; 0: see unic_conn_call() */
	uint32_t seq;		/* out: of the request, set before it is sent */
};

/** unic_conn_default() - the path of the driver when the application gives none:
 * $UNIC_SOCKET, else the device of the driver in the kernel if there is one, else
 * unicd's socket. Static text. */
const char *unic_conn_default(void);

/** unic_conn_kernel() - true if the driver is part of the kernel (@path was a
 * device), which registers any memory of the process. */
bool unic_conn_kernel(const struct unic_conn *conn);

/** unic_conn_open() - connect to the driver's socket or device at @path. *@out is the
 * caller's until unic_conn_close(). -ENOENT, -ECONNREFUSED, -EACCES; -ENOTCONN within
 * 2 s when the driver is stopped and its queue of connections is full. Words in
 * unic_last_error(). */
int unic_conn_open(const char *path, struct unic_conn **out);

/** unic_conn_close() - close and free @conn, or do nothing if it is NULL. No call may
 * be under way. */
void unic_conn_close(struct unic_conn *conn);

/** unic_conn_forked() - in the child of a fork(): close this side of the parent's
 * connection, so that it ends when the parent does. Calls answer -EOWNERDEAD. */
void unic_conn_forked(struct unic_conn *conn);

/** unic_conn_hung_up() - as unic_conn_dead(), and polls the socket. */
bool unic_conn_hung_up(const struct unic_conn *conn);

/** unic_conn_fd() - the socket, to poll for POLLRDHUP: the driver has ended. */
int unic_conn_fd(const struct unic_conn *conn);

/** unic_conn_dead() - true if the driver has ended, or has broken the protocol. */
bool unic_conn_dead(const struct unic_conn *conn);
/** unic_conn_kill() - mark @conn dead: all further calls answer -ENOTCONN. */
void unic_conn_kill(struct unic_conn *conn);
/** unic_conn_hang_up() - unic_conn_kill(), and shut the socket down: the driver ends
 * its side, too. */
void unic_conn_hang_up(struct unic_conn *conn);

/**
 * unic_conn_call() - send @op with call->rec and wait for the reply.
 * Returns the reply's status (>= 0, enum unic_status or unic_ctl_status), or
 * -ENOTCONN (the driver is gone), -ETIMEDOUT (no answer in time: the
 * connection is dead), -EOWNERDEAD (the connection is of the process that
 * forked this one). On error rec is unchanged but for its header. Two
 * statuses may be the library's: UNIC_CTL_ST_TOO_MANY, the turn did not come within
 * patience_ms, or without one, no call ended for timeout_ms; UNIC_CTL_ST_NO_MEMORY, the kernel has no memory for the request.
 * Nothing was sent then, and the connection goes on.
 */
int unic_conn_call(struct unic_conn *conn, unsigned int op,
		   struct unic_conn_call *call);

/** unic_conn_simple() - unic_conn_call() without tails, and with words for errors: 0
 * (OK or PENDING), or -errno with "@what: ..." in unic_last_error(). */
int unic_conn_simple(struct unic_conn *conn, unsigned int op, void *rec,
		     const char *what);

#endif /* UNIC_LIB_CONN_H */

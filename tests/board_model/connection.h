/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * connection.h - bytes between a device and the world: a Unix socket that others
 * connect to, one that is connected to, or a file.
 *
 * Secret: file descriptors. What nobody is connected to receive is dropped.
 */
#ifndef BOARD_MODEL_CONNECTION_H
#define BOARD_MODEL_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;

typedef void connection_input(void *arg, const uint8_t *bytes, size_t count);

/** connection_serve() - listen at @path, one peer at a time. @input gets what it
 * sends, in connection_poll(). Ends the program if that fails; so do the next two. */
struct connection *connection_serve(const char *path, connection_input *input,
				    void *arg);
/** connection_dial() - connect to who listens at @path. */
struct connection *connection_dial(const char *path, connection_input *input,
				   void *arg);
/** connection_file() - write to the file @path, which is emptied. */
struct connection *connection_file(const char *path);

/** connection_send() - @count bytes, which leave with the next connection_poll() at the
 * latest; that waits a second at most for a peer that reads slowly. @connection may be
 * NULL. */
void connection_send(struct connection *connection, const void *bytes,
		     size_t count);

/** connection_has_peer() - somebody is there to receive. */
bool connection_has_peer(const struct connection *connection);

/** connection_poll() - wait for input, @timeout_us at most, and hand it on. */
void connection_poll(uint64_t timeout_us);

/** connection_close_all() - close, and remove the sockets of servers. */
void connection_close_all(void);

#endif /* BOARD_MODEL_CONNECTION_H */

// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* connection.c - see connection.h. */
#include "connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MOST	   8u
#define PATIENCE   1000 /* ms */
#define READ_BYTES 65536u
#define OUT_BYTES  4096u

struct connection {
	int listener, fd; /* or -1 */
	bool is_file;
	const char *path;
	connection_input *input;
	void *arg;
	uint8_t out[OUT_BYTES]; /* sent with the next connection_poll() */
	size_t out_bytes;
};

static struct connection connections[MOST];
static uint32_t connection_count;

static struct connection *add_connection(const char *path,
					 connection_input *input, void *arg)
{
	struct connection *c = &connections[connection_count++];

	if (connection_count > MOST)
		abort();
	*c = (struct connection){
		.listener = -1,
		.fd = -1,
		.path = path,
		.input = input,
		.arg = arg,
	};
	return c;
}

static void give_up(const char *path)
{
	perror(path);
	exit(1);
}

static int open_socket(const char *path, struct sockaddr_un *addr)
{
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (s < 0 || strlen(path) >= sizeof(addr->sun_path))
		give_up(path);
	memcpy(addr->sun_path, path, strlen(path) + 1);
	return s;
}

struct connection *connection_serve(const char *path, connection_input *input,
				    void *arg)
{
	struct connection *c = add_connection(path, input, arg);
	struct sockaddr_un addr;

	c->listener = open_socket(path, &addr);
	unlink(path);
	if (bind(c->listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(c->listener, 1))
		give_up(path);
	return c;
}

struct connection *connection_dial(const char *path, connection_input *input,
				   void *arg)
{
	struct connection *c = add_connection(path, input, arg);
	struct sockaddr_un addr;

	c->fd = open_socket(path, &addr);
	if (connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)))
		give_up(path);
	return c;
}

struct connection *connection_file(const char *path)
{
	struct connection *c = add_connection(path, NULL, NULL);

	c->is_file = true;
	c->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (c->fd < 0)
		give_up(path);
	return c;
}

static void drop_peer(struct connection *c)
{
	close(c->fd);
	c->fd = -1;
	c->out_bytes = 0;
}

/* Returns false: the peer is gone, or does not read. */
static bool wait_for_room(struct connection *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLOUT };

	return errno == EINTR || (errno == EAGAIN && poll(&p, 1, PATIENCE) > 0);
}

static void flush(struct connection *c)
{
	const uint8_t *at = c->out;
	ssize_t n;

	while (c->fd >= 0 && c->out_bytes) {
		n = c->is_file ? write(c->fd, at, c->out_bytes)
			       : send(c->fd, at, c->out_bytes,
				      MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			at += n;
			c->out_bytes -= (size_t)n;
		} else if (!wait_for_room(c)) {
			drop_peer(c);
		}
	}
	c->out_bytes = 0;
}

void connection_send(struct connection *c, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;
	size_t part;

	while (c && c->fd >= 0 && count) {
		part = sizeof(c->out) - c->out_bytes;
		if (part > count)
			part = count;
		memcpy(c->out + c->out_bytes, at, part);
		c->out_bytes += part;
		at += part;
		count -= part;
		if (c->out_bytes == sizeof(c->out))
			flush(c);
	}
}

bool connection_has_peer(const struct connection *c)
{
	return c && c->fd >= 0;
}

static void accept_peer(struct connection *c)
{
	int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);

	if (c->fd >= 0 && fd >= 0)
		close(fd);
	else
		c->fd = fd;
}

static void receive(struct connection *c)
{
	static uint8_t bytes[READ_BYTES];
	ssize_t n = read(c->fd, bytes, sizeof(bytes));

	if (n > 0)
		c->input(c->arg, bytes, (size_t)n);
	else if (n == 0 || errno != EINTR)
		drop_peer(c);
}

void connection_poll(uint64_t timeout_us)
{
	struct pollfd fds[2 * MOST];
	struct timespec wait = { (time_t)(timeout_us / 1000000),
				 (long)(timeout_us % 1000000) * 1000 };

	for (uint32_t i = 0; i < connection_count; i++) {
		struct connection *c = &connections[i];

		flush(c);
		fds[2 * i] =
			(struct pollfd){ .fd = c->listener, .events = POLLIN };
		fds[2 * i + 1] = (struct pollfd){ .fd = c->input ? c->fd : -1,
						  .events = POLLIN };
	}
	if (ppoll(fds, 2 * connection_count, &wait, NULL) <= 0)
		return;
	for (uint32_t i = 0; i < connection_count; i++) {
		if (fds[2 * i].revents)
			accept_peer(&connections[i]);
		if (fds[2 * i + 1].revents && connections[i].fd >= 0)
			receive(&connections[i]);
	}
}

void connection_close_all(void)
{
	for (uint32_t i = 0; i < connection_count; i++) {
		flush(&connections[i]);
		if (connections[i].fd >= 0)
			drop_peer(&connections[i]);
		if (connections[i].listener >= 0) {
			close(connections[i].listener);
			unlink(connections[i].path);
		}
	}
	connection_count = 0;
}

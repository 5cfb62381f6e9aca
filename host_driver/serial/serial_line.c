/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* serial_line.c - see serial_line.h. */
#define _GNU_SOURCE
#include "serial_line.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "run_dir.h"
#include "tty.h"

#define BURST_NS 4000000ull /* line time of a burst at most */
#define TICK_NS	 1000000ull /* line time of the bytes that are moved at once */

/* -------------------------------------------------------------------- pace */

/* Bytes that the pace allows; 0 while they are fewer than a tick's. */
static uint32_t paced_bytes(const struct serial_line *l, struct serial_pace *p,
			    uint64_t now)
{
	if (p->until_ns + BURST_NS < now)
		p->until_ns = now - BURST_NS;
	return p->until_ns + TICK_NS > now
		       ? 0
		       : (uint32_t)((now - p->until_ns) / l->ns_per_byte);
}

static void charge_pace(const struct serial_line *l, struct serial_pace *p,
			uint32_t bytes)
{
	p->until_ns += bytes * l->ns_per_byte;
}

/* ------------------------------------------------------------- open, close */

static int open_socket(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		err = run_dir_peer(fd);
	else
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

void serial_line_init(struct serial_line *l, const struct far_config *config)
{
	memset(l, 0, sizeof(*l));
	far_init(&l->far, config);
	l->fd = -1;
	l->ns_per_byte = 10000000000ull / config->baud;
}

int serial_line_open(struct serial_line *l, const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st))
		return -errno;
	fd = S_ISSOCK(st.st_mode) ? open_socket(path)
				  : tty_open(path, l->far.config.baud);
	if (fd < 0)
		return fd;
	l->fd = fd;
	l->is_tty = !S_ISSOCK(st.st_mode);
	return 0;
}

void serial_line_close(struct serial_line *l)
{
	if (l->fd >= 0 && l->is_tty)
		tty_close(l->fd);
	else if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	l->rest_len = 0;
}

/* ------------------------------------------------------------------- bytes */

bool serial_line_may_read(struct serial_line *l, uint64_t now_ns)
{
	return paced_bytes(l, &l->in, now_ns);
}

int serial_line_read(struct serial_line *l, uint64_t now_ns)
{
	uint32_t most = paced_bytes(l, &l->in, now_ns);
	uint8_t bytes[512];
	ssize_t n;

	if (!most)
		return 0;
	n = read(l->fd, bytes, most < sizeof(bytes) ? most : sizeof(bytes));
	if (!n)
		return -ENODATA;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	charge_pace(l, &l->in, (uint32_t)n);
	far_input(&l->far, bytes, (uint32_t)n, now_ns);
	return 0;
}

int serial_line_write(struct serial_line *l, uint64_t now_ns)
{
	uint32_t most = paced_bytes(l, &l->out, now_ns);
	ssize_t n;

	if (most > sizeof(l->rest))
		most = sizeof(l->rest);
	if (l->rest_len < most)
		l->rest_len += far_output(&l->far, now_ns,
					  l->rest + l->rest_len,
					  most - l->rest_len);
	if (!l->rest_len || !most)
		return 0;
	n = write(l->fd, l->rest, l->rest_len < most ? l->rest_len : most);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	charge_pace(l, &l->out, (uint32_t)n);
	l->rest_len -= (uint32_t)n;
	memmove(l->rest, l->rest + n, l->rest_len);
	return 0;
}

bool serial_line_has_bytes(const struct serial_line *l, uint64_t now_ns)
{
	return l->rest_len || stream_wants(&l->far.stream, now_ns);
}

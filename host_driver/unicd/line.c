/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * line.c - a NIC at the other end of a UART (far.h): a terminal, or the socket of
 * an emulator, which knows no speed. So the pace of the line is kept here, both
 * ways.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "line.h"
#include "crash_text.h"
#include "far.h"
#include "run_dir.h"
#include "unicd_os.h"

#define RETRY_NS  1000000000ull /* between two looks for the path */
#define SILENT_NS 3000000000ull /* a NIC that is heard of no more is gone */
#define BURST_NS  4000000ull	/* of the line, at most at a time */
#define TICK_NS	  1000000ull	/* bytes are moved in as many as that makes */

/* How far the line has come in one direction. */
struct pace {
	uint64_t until_ns; /* busy until then */
};

struct unicd_line {
	struct far far;
	int fd; /* -1: not open */
	bool said, deaf;
	uint64_t ns_per_byte, retry_ns;
	struct pace in, out;
	uint8_t rest[512]; /* of what is to be written */
	uint32_t rest_len;
};

/* Bytes that may go now; none before they are worth it. */
static uint32_t paced_bytes(const struct unicd_line *l, struct pace *p,
			    uint64_t now)
{
	if (p->until_ns + BURST_NS < now)
		p->until_ns = now - BURST_NS;
	return p->until_ns + TICK_NS > now
		       ? 0
		       : (uint32_t)((now - p->until_ns) / l->ns_per_byte);
}

static void charge_pace(const struct unicd_line *l, struct pace *p,
			uint32_t bytes)
{
	p->until_ns += bytes * l->ns_per_byte;
}

/* ------------------------------------------------------------------- open */

static const struct {
	uint32_t baud;
	speed_t speed;
} speeds[] = {
	{ 115200, B115200 },   { 230400, B230400 },   { 460800, B460800 },
	{ 921600, B921600 },   { 1000000, B1000000 }, { 2000000, B2000000 },
	{ 3000000, B3000000 },
};

static int set_terminal(int fd, uint32_t baud)
{
	struct termios t;
	uint32_t i;

	if (tcgetattr(fd, &t))
		return -errno;
	for (i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
		if (speeds[i].baud == baud) {
			cfmakeraw(&t);
			t.c_cflag |= CLOCAL | CREAD;
			cfsetspeed(&t, speeds[i].speed);
			return tcsetattr(fd, TCSAFLUSH, &t) ? -errno : 0;
		}
	return -EINVAL;
}

static int open_terminal(const char *path, uint32_t baud)
{
	int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = isatty(fd) ? set_terminal(fd, baud) : -ENOTTY;
	if (!err)
		return fd;
	close(fd);
	return err;
}

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

static int open_path(const struct unicd_options *o)
{
	struct stat st;

	if (stat(o->link, &st))
		return -errno;
	return S_ISSOCK(st.st_mode) ? open_socket(o->link)
				    : open_terminal(o->link, o->baud);
}

static void close_line(struct unic_os *os, const char *why)
{
	struct unicd_line *l = os->line;

	unicd_say("%s: %s", os->opt.link, why);
	close(l->fd);
	l->fd = -1;
	l->rest_len = 0;
	l->said = true;
}

static void try_open(struct unic_os *os, uint64_t now)
{
	struct unicd_line *l = os->line;
	int fd;

	if (now < l->retry_ns)
		return;
	l->retry_ns = now + RETRY_NS;
	fd = open_path(&os->opt);
	if (fd >= 0 && unicd_watch(os, fd, UNICD_EV_LINE, 0, EPOLLIN)) {
		close(fd);
		fd = -ENOMEM;
	}
	if (fd >= 0) {
		l->fd = fd;
		l->deaf = false;
		l->said = false;
		unicd_say("%s: open, %u baud", os->opt.link, os->opt.baud);
	} else if (!l->said) {
		unicd_say("%s: %s; trying again every second", os->opt.link,
			  strerror(-fd));
		l->said = true;
	}
}

int unicd_line_init(struct unic_os *os)
{
	struct unicd_line *l = calloc(1, sizeof(*l));
	struct far_config config = { .bar = os->bar,
				     .window = os->slot_mem,
				     .windows = os->slots,
				     .window_bytes = (uint32_t)os->slot_bytes,
				     .baud = os->opt.baud };

	if (!l)
		return -ENOMEM;
	while (!config.nonce)
		unic_os_random(os, &config.nonce, sizeof(config.nonce));
	far_init(&l->far, &config);
	l->fd = -1;
	l->ns_per_byte = 10000000000ull / os->opt.baud;
	os->line = l;
	return 0;
}

/* ------------------------------------------------------------------- bytes */

/* Deaf for a moment, so that the event does not come all the time. */
static void set_line_polling(struct unic_os *os, bool on)
{
	struct unicd_line *l = os->line;
	struct epoll_event ev = { .events = on ? EPOLLIN : 0,
				  .data.u32 = (uint32_t)UNICD_EV_LINE << 16 };

	if (l->deaf != on)
		return;
	l->deaf = !on;
	epoll_ctl(os->epoll_fd, EPOLL_CTL_MOD, l->fd, &ev);
}

void unicd_line_event(struct unic_os *os)
{
	struct unicd_line *l = os->line;
	uint64_t now = unic_os_now_ns(os);
	uint32_t most = paced_bytes(l, &l->in, now);
	uint8_t bytes[512];
	ssize_t n;

	if (l->fd < 0)
		return;
	if (!most) {
		set_line_polling(os, false);
		return;
	}
	n = read(l->fd, bytes, most < sizeof(bytes) ? most : sizeof(bytes));
	if (n > 0) {
		charge_pace(l, &l->in, (uint32_t)n);
		far_input(&l->far, bytes, (uint32_t)n, now);
	} else if (!n || (errno != EAGAIN && errno != EINTR)) {
		close_line(os, n ? strerror(errno) : "closed");
	}
}

static void write_some(struct unic_os *os, uint64_t now)
{
	struct unicd_line *l = os->line;
	uint32_t most = paced_bytes(l, &l->out, now);
	ssize_t n;

	if (most > sizeof(l->rest))
		most = sizeof(l->rest);
	if (l->rest_len < most)
		l->rest_len += far_output(&l->far, now, l->rest + l->rest_len,
					  most - l->rest_len);
	if (!l->rest_len || !most)
		return;
	n = write(l->fd, l->rest, l->rest_len < most ? l->rest_len : most);
	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		close_line(os, strerror(errno));
	} else if (n > 0) {
		charge_pace(l, &l->out, (uint32_t)n);
		l->rest_len -= (uint32_t)n;
		memmove(l->rest, l->rest + n, l->rest_len);
	}
}

/* ------------------------------------------------------------------ events */

static void deliver_far_events(struct unic_os *os)
{
	struct far *f = &os->line->far;
	uint32_t p;

	if (f->left) {
		f->left = false;
		unicd_say("NIC left");
		unic_host_plug(os->host, false);
	}
	if (f->crashed) {
		f->crashed = false;
		unicd_say("the NIC had crashed:");
		unicd_crash_report(os->host, os->opt.crash_file);
	}
	if (f->joined) {
		f->joined = false;
		unicd_say("NIC joined");
		unic_host_plug(os->host, true);
	}
	for (p = 0; p < os->slots; p++)
		if (f->rung >> 1 >> p & 1)
			unicd_wake(&os->cq_wake[p]);
	f->rung = 0;
}

uint64_t unicd_line_turn(struct unic_os *os)
{
	struct unicd_line *l = os->line;
	uint64_t now = unic_os_now_ns(os), due;

	if (l->fd < 0)
		try_open(os, now);
	if (l->fd >= 0)
		write_some(os, now);
	if (l->far.here && now - l->far.stream.heard_ns > SILENT_NS)
		far_silent(&l->far);
	deliver_far_events(os);
	if (l->fd < 0)
		return l->retry_ns;
	if (l->deaf && paced_bytes(l, &l->in, now))
		set_line_polling(os, true);
	if (l->deaf || l->rest_len || stream_wants(&l->far.stream, now))
		return now + TICK_NS;
	due = stream_due(&l->far.stream);
	return due < now + SILENT_NS ? due : now + SILENT_NS;
}

void unicd_line_fini(struct unic_os *os)
{
	if (os->line && os->line->fd >= 0)
		close(os->line->fd);
	free(os->line);
	os->line = NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * line.c - a NIC at the other end of a UART, as a part of the event loop: the line
 * (serial_line.h) is opened as often as it takes, and served; what the NIC did goes to
 * the core and to the processes.
 */
#include <stdlib.h>
#include <sys/epoll.h>

#include "line.h"
#include "crash_text.h"
#include "serial_line.h"
#include "tty.h"
#include "unicd_os.h"

#define RETRY_NS  1000000000ull /* between two attempts to open the path */
#define SILENT_NS 3000000000ull /* a NIC that is heard of no more is gone */
#define TICK_NS	  1000000ull	/* between two turns while bytes wait */

struct unicd_line {
	struct serial_line link;
	bool said; /* why the path cannot be opened */
	bool deaf; /* bytes that come are no event: the pace allows none */
	uint64_t retry_ns;
};

/* ------------------------------------------------------------- open, close */

static void close_line(struct unic_os *os, const char *why)
{
	struct unicd_line *l = os->line;

	unicd_say("%s: %s", os->opt.link, why);
	serial_line_close(&l->link);
	l->said = true;
}

static int open_line(struct unic_os *os)
{
	struct serial_line *link = &os->line->link;
	int err = serial_line_open(link, os->opt.link);

	if (!err && unicd_watch(os, link->fd, UNICD_EV_LINE, 0, EPOLLIN)) {
		serial_line_close(link);
		err = -ENOMEM;
	}
	return err;
}

static void say_not_open(const struct unic_os *os, int err)
{
	struct tty_user user;

	if (err != -EBUSY)
		unicd_say("%s: %s; trying again every second", os->opt.link,
			  strerror(-err));
	else if (tty_find_user(os->opt.link, &user))
		unicd_say("%s: in use by %s (pid %d); trying again every "
			  "second",
			  os->opt.link, user.name, user.pid);
	else
		unicd_say("%s: in use by somebody else; trying again every "
			  "second",
			  os->opt.link);
}

/* Whoever opened it before, without a lock, takes bytes that are for the link. */
static void say_open(const struct unic_os *os)
{
	struct tty_user user;

	unicd_say("%s: open, %u baud", os->opt.link, os->opt.baud);
	if (tty_find_user(os->opt.link, &user))
		unicd_say("%s: %s (pid %d) has it open, too, and takes bytes "
			  "of the link",
			  os->opt.link, user.name, user.pid);
}

static void try_open(struct unic_os *os, uint64_t now)
{
	struct unicd_line *l = os->line;
	int err;

	if (now < l->retry_ns)
		return;
	l->retry_ns = now + RETRY_NS;
	err = open_line(os);
	if (!err) {
		l->deaf = false;
		l->said = false;
		say_open(os);
	} else if (!l->said) {
		say_not_open(os, err);
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
	serial_line_init(&l->link, &config);
	os->line = l;
	return 0;
}

/* ------------------------------------------------------------------ events */

/* Deaf for a moment, so that the event does not come all the time. */
static void set_line_polling(struct unic_os *os, bool on)
{
	struct unicd_line *l = os->line;
	struct epoll_event ev = { .events = on ? EPOLLIN : 0,
				  .data.u32 = (uint32_t)UNICD_EV_LINE << 24 |
					      os->number << 16 };

	if (l->deaf != on)
		return;
	l->deaf = !on;
	epoll_ctl(os->d->epoll_fd, EPOLL_CTL_MOD, l->link.fd, &ev);
}

void unicd_line_event(struct unic_os *os)
{
	struct serial_line *link = &os->line->link;
	uint64_t now = unic_os_now_ns(os);
	int err;

	if (link->fd < 0)
		return;
	if (!serial_line_may_read(link, now)) {
		set_line_polling(os, false);
		return;
	}
	err = serial_line_read(link, now);
	if (err)
		close_line(os, err == -ENODATA ? "closed" : strerror(-err));
}

static void deliver_far_events(struct unic_os *os)
{
	struct far *f = &os->line->link.far;
	uint32_t p;

	if (f->left) {
		f->left = false;
		unicd_tell(os, "NIC left");
		unic_host_plug(os->host, false);
	}
	if (f->crashed) {
		f->crashed = false;
		unicd_tell(os, "the NIC had crashed:");
		unicd_crash_report(os->host, os->opt.crash_file);
	}
	if (f->joined) {
		f->joined = false;
		unicd_tell(os, "NIC joined");
		unic_host_list_bytes(os->host, f->list_bytes);
		unic_host_plug(os->host, true);
	}
	for (p = 0; p < os->slots; p++)
		if (f->rung >> 1 >> p & 1)
			unicd_wake(&os->cq_wake[p]);
	f->rung = 0;
}

/* When to look at a line again that is open. */
static uint64_t next_turn(const struct unicd_line *l, uint64_t now)
{
	uint64_t due = stream_due(&l->link.far.stream);

	if (l->deaf || serial_line_has_bytes(&l->link, now))
		return now + TICK_NS;
	return due < now + SILENT_NS ? due : now + SILENT_NS;
}

uint64_t unicd_line_turn(struct unic_os *os)
{
	struct unicd_line *l = os->line;
	struct far *f = &l->link.far;
	uint64_t now = unic_os_now_ns(os);
	int err;

	if (l->link.fd < 0)
		try_open(os, now);
	if (l->link.fd >= 0) {
		err = serial_line_write(&l->link, now);
		if (err)
			close_line(os, strerror(-err));
	}
	if (f->here && now - f->stream.heard_ns > SILENT_NS)
		far_silent(f);
	deliver_far_events(os);
	if (l->link.fd < 0)
		return l->retry_ns;
	if (l->deaf && serial_line_may_read(&l->link, now))
		set_line_polling(os, true);
	return next_turn(l, now);
}

void unicd_line_fini(struct unic_os *os)
{
	if (os->line)
		serial_line_close(&os->line->link);
	free(os->line);
	os->line = NULL;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * unic-wire - the cable and the switch between NICs of one machine: ports in
 * shared memory (DIR/ivshmem), QEMU netdevs, capture, and faults on demand.
 */
#define _GNU_SOURCE
#include <argp.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "output.h"
#include "say.h"
#include "switch.h"

#define LINK_BUDGET   64
#define SOCKET_BUDGET 32
#define EVENTS	      16
/* Rounds on a busy link between two checks of everything else. */
#define ROUNDS_PER_EPOLL 16u

enum watch {
	WATCH_SIGNAL = 1,
	WATCH_IVSHMEM,
	WATCH_DOORBELL,
	WATCH_TIMER,
	WATCH_LISTEN = 0x100, /* + socket number */
	WATCH_SOCKET = 0x200, /* + socket number */
};

struct wire {
	struct run_dir dir;
	struct wire_switch *sw;
	const struct wire_options *o;
	int epoll_fd;
	int signal_fd;
	int timer_fd;
	bool stop;
};

static int report_error(const char *what, const char *which, int err)
{
	say(STDERR_FILENO, "unic-wire: %s %s: %s", what, which, strerror(-err));
	return 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* -------------------------------------------------------------- start-up */

static int watch_fd(struct wire *w, int fd, uint32_t what)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = what };

	return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int watch_all(struct wire *w)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	w->timer_fd =
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (w->epoll_fd < 0 || w->signal_fd < 0 || w->timer_fd < 0 ||
	    watch_fd(w, w->signal_fd, WATCH_SIGNAL) ||
	    watch_fd(w, w->timer_fd, WATCH_TIMER) ||
	    watch_fd(w, ivshmem_server_fd(&w->sw->link.srv), WATCH_IVSHMEM) ||
	    watch_fd(w, link_side_doorbell(&w->sw->link), WATCH_DOORBELL))
		return -errno;
	return 0;
}

static int open_socket(struct wire *w, int s)
{
	const struct socket_option *so = &w->o->sock[s];
	struct socket_port *sp = &w->sw->sock[s];
	int err;

	if (so->remote)
		err = socket_port_dgram(sp, &w->dir, so->path, so->remote);
	else
		err = socket_port_stream(sp, &w->dir, so->path, so->lan);
	if (err)
		return err;
	w->sw->socks = s + 1;
	return so->remote
		       ? watch_fd(w, sp->fd, WATCH_SOCKET + (uint32_t)s)
		       : watch_fd(w, sp->listen_fd, WATCH_LISTEN + (uint32_t)s);
}

static int announce_ready(struct wire *w)
{
	const struct link_side *link = &w->sw->link;
	char json[512];
	int err;

	snprintf(json, sizeof(json),
		 "{\"pid\": %d, \"ivshmem\": \"%s/ivshmem\", \"nics\": %u, "
		 "\"link_bytes\": %llu, \"sockets\": %d}\n",
		 getpid(), w->dir.path, w->o->shape.nics,
		 (unsigned long long)link->bytes, w->sw->socks);
	err = run_dir_write(&w->dir, "wire.json", json);
	if (err)
		return report_error("cannot write wire.json in", w->dir.path,
				    err);
	say(STDOUT_FILENO,
	    "unic-wire: ready dir=%s pid=%d nics=%u link_bytes=%llu "
	    "sockets=%d direct=%d",
	    w->dir.path, getpid(), w->o->shape.nics,
	    (unsigned long long)link->bytes, w->sw->socks,
	    !!(w->o->shape.flags & UNIC_LINK_DIRECT));
	(void)sd_notifyf(0, "READY=1\nSTATUS=in %s", w->dir.path);
	return 0;
}

static void set_up_faults(struct wire *w)
{
	int p;

	for (p = 0; p < WIRE_PORTS; p++) {
		faults_init(&w->sw->faults[p], w->o->seed, p);
		w->sw->faults[p].rates = w->o->rates[p];
	}
	w->sw->macs.age_ns = w->o->age_s * 1000000000ull;
}

/* The counters are written at the end. */
static int check_stats(const char *path)
{
	int err = path ? output_check_path(path) : 0;

	if (err)
		say(STDERR_FILENO, "unic-wire: --stats %s: %s: %s", path,
		    strerror(-err), OUTPUT_PATH_HINT);
	return err;
}

static int start_wire(struct wire *w)
{
	const struct wire_options *o = w->o;
	const char *why;
	int err, s;

	if (check_stats(o->stats))
		return 1;
	err = run_dir_init(&w->dir, o->dir, "wire");
	if (err == -EBUSY) {
		say(STDERR_FILENO,
		    "unic-wire: another unic-wire runs in %s; stop it or "
		    "choose another --dir",
		    o->dir);
		return 1;
	}
	if (err) {
		say(STDERR_FILENO, "unic-wire: cannot use directory %s: %s",
		    o->dir, run_dir_why(err));
		return 1;
	}
	set_up_faults(w);
	why = o->pcap ? capture_open(&w->sw->capture, o->pcap) : NULL;
	if (why) {
		say(STDERR_FILENO, "unic-wire: cannot capture: %s", why);
		return 1;
	}
	err = link_side_init(&w->sw->link, &w->dir, &o->shape);
	if (err)
		return report_error("cannot make the link in", o->dir, err);
	err = watch_all(w);
	if (err)
		return report_error("cannot watch", "epoll", err);
	for (s = 0; s < o->socks; s++) {
		err = open_socket(w, s);
		if (err)
			return report_error("cannot open socket",
					    o->sock[s].path, err);
	}
	return announce_ready(w);
}

/* ---------------------------------------------------------------- events */

static void flush_capture(struct wire *w)
{
	int err = capture_flush(&w->sw->capture);

	if (err)
		(void)report_error("cannot capture any more:", w->o->pcap, err);
}

static void on_signal(struct wire *w)
{
	struct signalfd_siginfo info;
	int err;

	if (read(w->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo != SIGUSR1) {
		w->stop = true;
		return;
	}
	flush_capture(w);
	err = switch_stats(w->sw, w->o->stats);
	if (err)
		(void)report_error("cannot write", w->o->stats, err);
	fflush(stdout);
}

static void on_ivshmem(struct wire *w)
{
	struct ivshmem_event evt;

	while (link_side_event(&w->sw->link, &evt)) {
		if (evt.type == IVSHMEM_LEFT)
			mac_table_forget(&w->sw->macs, evt.peer);
		say(STDOUT_FILENO, "unic-wire: NIC %d %s", evt.peer,
		    evt.type == IVSHMEM_LEFT ? "left" : "joined");
	}
}

static int on_socket(struct wire *w, uint32_t what)
{
	int s = (int)(what & 0xff), fd;

	if (!(what & WATCH_LISTEN))
		return switch_socket(w->sw, s, SOCKET_BUDGET, now_ns());
	fd = socket_port_accept(&w->sw->sock[s]);
	if (fd >= 0)
		(void)watch_fd(w, fd, WATCH_SOCKET + (uint32_t)s);
	return 1;
}

/* Returns how many events there were. */
static int serve_events(struct wire *w, int timeout_ms)
{
	struct epoll_event ev[EVENTS];
	uint64_t junk;
	int i, n = epoll_wait(w->epoll_fd, ev, EVENTS, timeout_ms);

	for (i = 0; i < n; i++) {
		switch (ev[i].data.u32) {
		case WATCH_SIGNAL:
			on_signal(w);
			break;
		case WATCH_IVSHMEM:
			on_ivshmem(w);
			break;
		case WATCH_DOORBELL:
			(void)eventfd_read(link_side_doorbell(&w->sw->link),
					   &junk);
			break;
		case WATCH_TIMER:
			(void)!read(w->timer_fd, &junk, sizeof(junk));
			break;
		default:
			(void)on_socket(w, ev[i].data.u32);
		}
	}
	return n;
}

/* ------------------------------------------------------------------ loop */

/* Forwards frames of the link, and delayed ones that are due, once. Returns their
 * number. */
static int poll_switch(struct wire *w)
{
	uint64_t now = now_ns();
	int n = switch_link(w->sw, LINK_BUDGET, now);

	n += switch_delayed(w->sw, now);
	link_side_flush(&w->sw->link);
	return n;
}

static void set_alarm(struct wire *w)
{
	uint64_t due = switch_due(w->sw, now_ns());
	struct itimerspec when = { 0 };

	if (due != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(due / 1000000000u);
		when.it_value.tv_nsec = (long)(due % 1000000000u);
	}
	(void)timerfd_settime(w->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Asks the NICs to ring, checks the link once more, and waits. */
static void sleep_until_event(struct wire *w)
{
	link_side_sleep(&w->sw->link, true);
	if (!poll_switch(w)) {
		if (w->sw->capture.dirty)
			flush_capture(w);
		set_alarm(w);
		(void)serve_events(w, -1);
		link_side_flush(&w->sw->link);
	}
	link_side_sleep(&w->sw->link, false);
}

static void run_wire(struct wire *w)
{
	uint64_t spin_ns = w->o->spin_us * 1000ull, last = now_ns();
	uint32_t rounds = 0;

	while (!w->stop) {
		if (++rounds % ROUNDS_PER_EPOLL == 0 && serve_events(w, 0) > 0)
			last = now_ns();
		if (poll_switch(w)) {
			last = now_ns();
		} else if (now_ns() - last < spin_ns) {
			sched_yield();
		} else {
			sleep_until_event(w);
			last = now_ns();
		}
	}
}

static int finish_wire(struct wire *w)
{
	int s, p, status = 0, err;

	flush_capture(w);
	err = capture_close(&w->sw->capture);
	if (err)
		status = EXIT_FAILURE;
	err = w->o->stats ? switch_stats(w->sw, w->o->stats) : 0;
	if (err)
		status = report_error("cannot write", w->o->stats, err);
	for (s = 0; s < w->sw->socks; s++)
		socket_port_fini(&w->sw->sock[s]);
	for (p = 0; p < WIRE_PORTS; p++)
		faults_fini(&w->sw->faults[p]);
	link_side_fini(&w->sw->link);
	run_dir_fini(&w->dir);
	return status;
}

int main(int argc, char **argv)
{
	struct wire_options o;
	struct wire w = { .o = &o };
	int status;

	wire_options_parse(&o, argc, argv);
	w.dir.lock_fd = w.dir.fd = -1;
	w.sw = calloc(1, sizeof(*w.sw));
	if (!w.sw)
		return report_error("no memory for", "the switch", -ENOMEM);
	say_start();
	status = start_wire(&w);
	if (status) {
		run_dir_fini(&w.dir);
	} else {
		run_wire(&w);
		status = finish_wire(&w);
	}
	free(w.sw);
	say_end();
	return status;
}

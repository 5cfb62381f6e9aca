/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unicd_main.c - start, the event loop, the end. */
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clients.h"
#include "crash_text.h"
#include "metrics.h"
#include "nic.h"
#include "options.h"
#include "patience.h"
#include "say.h"
#include "unicd_os.h"

/* Bytes at the end of the heap that stay there when they are free: else each request of
 * a batch would get memory from the kernel and give it back. */
#define HEAP_KEPT (4 << 20)

/* -------------------------------------------------------------------- start */

static int watch_signals(struct unicd *d)
{
	sigset_t set;

	/* a link that is a socket may end just before a write */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP); /* the terminal is gone */
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signal_fd < 0 ? -errno
				: unicd_watch_any(d, d->signal_fd,
						  UNICD_EV_SIGNAL, 0, EPOLLIN);
}

static void init_daemon(struct unicd *d)
{
	uint32_t i;

	d->socket_dir = -1;
	d->listen_fd = -1;
	for (i = 0; i < d->nics; i++)
		unicd_nic_init(d, i);
	for (i = 0; i < UNICD_CLIENTS_MAX; i++)
		d->client[i].fd = -1;
}

static int start_daemon(struct unicd *d)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < d->nics && !err; i++)
		err = unicd_crash_check(d->nic[i].opt.crash_file);
	if (err)
		return err;
	d->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	err = d->epoll_fd < 0 ? -errno : watch_signals(d);
	for (i = 0; i < d->nics && !err; i++)
		err = unicd_nic_start(&d->nic[i]);
	return err ? err : unicd_clients_listen(d);
}

/* --------------------------------------------------------------------- loop */

/* False: time to end. */
static bool dispatch_event(struct unicd *d, const struct epoll_event *ev)
{
	enum unicd_event kind = ev->data.u32 >> 24;
	uint32_t n = ev->data.u32 & 0xffff;

	switch (kind) {
	case UNICD_EV_SIGNAL:
		return false;
	case UNICD_EV_LISTEN:
		unicd_clients_accept(d);
		return true;
	case UNICD_EV_CLIENT:
		unicd_clients_event(d, n, ev->events);
		return true;
	case UNICD_EV_ENDED:
		unicd_clients_ended(d, n);
		return true;
	case UNICD_EV_KIO:
		unicd_drain((int)n);
		return true;
	default:
		unicd_nic_event(&d->nic[ev->data.u32 >> 16 & 0xff], kind, n);
		return true;
	}
}

/* There is a NIC whose bus is not gone. */
static bool has_nic(const struct unicd *d)
{
	uint32_t i;

	for (i = 0; i < d->nics; i++)
		if (!d->nic[i].gone)
			return true;
	return false;
}

/* True if every NIC rings for new work; else one of them has work. */
static bool rest(struct unicd *d)
{
	bool all = true;
	uint32_t i;

	for (i = 0; i < d->nics; i++)
		if (d->nic[i].host && !d->nic[i].gone)
			all &= unic_host_rest(d->nic[i].host, true);
	return all;
}

/* Milliseconds to sleep; 0: there is work, or --spin-us is not over. */
static int poll_timeout_ms(struct unicd *d, uint64_t next, uint64_t busy_ns)
{
	uint64_t now = unic_os_now_ns(&d->nic[0]);

	if (next <= now || now - busy_ns < 1000ull * d->spin_us || !rest(d))
		return 0;
	if (next - now > 1000000000ull)
		return 1000;
	return (int)((next - now + 999999) / 1000000);
}

/* Ends by a signal, or when the buses of all NICs are gone. */
static void loop_forever(struct unicd *d)
{
	uint64_t busy_ns = 0;

	while (has_nic(d)) {
		struct epoll_event ev[16];
		uint64_t next = UINT64_MAX, of;
		uint32_t k;
		int n, i;

		for (k = 0; k < d->nics; k++) {
			of = unicd_nic_poll(&d->nic[k]);
			next = of < next ? of : next;
		}
		n = epoll_wait(d->epoll_fd, ev, 16,
			       poll_timeout_ms(d, next, busy_ns));
		for (i = 0; i < n; i++)
			if (!dispatch_event(d, &ev[i]))
				return;
		if (n > 0)
			busy_ns = unic_os_now_ns(&d->nic[0]);
	}
}

int main(int argc, char **argv)
{
	static struct unicd d;
	struct unicd_metrics *metrics = NULL;
	uint32_t i;
	int err;

	mallopt(M_TRIM_THRESHOLD, HEAP_KEPT);
	err = unicd_options_parse(&d, argc, argv);
	if (err) {
		unicd_say("options: %s", strerror(err));
		return EXIT_FAILURE;
	}
	if (unic_patience_read(&d.wait_ms)) {
		unicd_say(UNIC_PATIENCE_WRONG, unic_patience_text());
		return EXIT_FAILURE;
	}
	init_daemon(&d);
	say_start();
	err = start_daemon(&d);
	if (!err && d.metrics)
		err = unicd_metrics_start(&d, d.metrics, &metrics);
	if (err == -EINTR) { /* it was told to end while it waited */
		err = 0;
	} else if (err) {
		unicd_say("not started: %s", strerror(-err));
	} else {
		loop_forever(&d);
		err = has_nic(&d) ? 0 : -EPIPE;
	}
	unicd_clients_fini(&d);
	unicd_metrics_stop(metrics);
	for (i = 0; i < d.nics; i++)
		unicd_nic_fini(&d.nic[i]);
	say_end();
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

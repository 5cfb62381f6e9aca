/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* unicd_os.c - the services of unic_os.h, as a process has them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "unicd_os.h"
#include "kio_os.h"
#include "say.h"

#if !defined(SO_PASSRIGHTS) && SO_PASSCRED == 16
#define SO_PASSRIGHTS 83 /* of Linux 6.16, numbers as in asm-generic */
#endif

void unicd_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_va(STDERR_FILENO, "unicd: ", fmt, ap);
	va_end(ap);
}

/* Says a line of @rank about NIC @os, behind "unicd: ", its name if there are others, and
 * @what. */
static void tell_va(const struct unic_os *os, const char *rank,
		    const char *what, const char *fmt, va_list ap)
{
	bool several = os->d->nics > 1;
	char who[64];

	snprintf(who, sizeof(who), "%sunicd: %s%s%s", rank,
		 several ? os->opt.name : "", several ? ": " : "", what);
	say_va(STDERR_FILENO, who, fmt, ap);
}

void unicd_tell(const struct unic_os *os, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell_va(os, SD_INFO, "", fmt, ap);
	va_end(ap);
}

int unicd_watch(struct unic_os *os, int fd, enum unicd_event kind,
		uint32_t number, uint32_t events)
{
	return unicd_watch_any(os->d, fd, kind, os->number << 16 | number,
			       events);
}

int unicd_watch_any(struct unicd *d, int fd, enum unicd_event kind,
		    uint32_t number, uint32_t events)
{
	struct epoll_event ev = { .events = events,
				  .data.u32 = (uint32_t)kind << 24 | number };

	return epoll_ctl(d->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

uint64_t unic_os_now_ns(struct unic_os *os)
{
	struct timespec ts;

	(void)os;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void *unic_os_alloc(struct unic_os *os, size_t bytes)
{
	(void)os;
	return calloc(1, bytes);
}

void unic_os_free(struct unic_os *os, void *p)
{
	(void)os;
	free(p);
}

void unic_os_log(struct unic_os *os, enum unic_os_level level, const char *fmt,
		 ...)
{
	va_list ap;

	if (level == UNIC_LOG_AUDIT && !os->d->audit)
		return;
	va_start(ap, fmt);
	tell_va(os, level == UNIC_LOG_ERROR ? SD_ERR : SD_INFO,
		level == UNIC_LOG_AUDIT ? "audit: " : "", fmt, ap);
	va_end(ap);
}

void unic_os_random(struct unic_os *os, void *buf, size_t bytes)
{
	uint8_t *p = buf;

	(void)os;
	while (bytes) {
		ssize_t n = getrandom(p, bytes, 0);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			unicd_say("no random numbers: %s", strerror(errno));
			abort();
		}
		p += n;
		bytes -= (size_t)n;
	}
}

/* ------------------------------------------------------------------- wakes */

static const uint64_t one = 1;

static void close_pair(struct unicd_wake *w)
{
	if (w->ours >= 0) {
		close(w->ours);
		close(w->theirs);
	}
	w->ours = w->theirs = -1;
}

static int new_pair(struct unicd_wake *w)
{
	int fd[2];

	close_pair(w);
	/* datagrams: when unicd dies, the other end reads no end of file */
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       fd))
		return -errno;
	w->ours = fd[0];
	w->theirs = fd[1];
	return 0;
}

int unicd_wake_new(struct unicd_wake *w)
{
	int err = new_pair(w);

	if (!err)
		shutdown(w->ours, SHUT_RD); /* unicd reads nothing of it */
	return err;
}

void unicd_refuse_fds(int fd)
{
#ifdef SO_PASSRIGHTS
	const int off = 0;

	(void)!setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
#else
	(void)fd;
#endif
}

int unicd_doorbell_new(struct unic_os *os, uint32_t slot)
{
	struct unicd_wake *w = &os->doorbell[slot];
	int err = new_pair(w);

	if (err)
		return err;
	unicd_refuse_fds(w->ours);
	return unicd_watch(os, w->ours, UNICD_EV_RING, slot, EPOLLIN);
}

void unicd_wake(const struct unicd_wake *w)
{
	int unread;

	if (w->ours < 0 || (!ioctl(w->ours, SIOCOUTQ, &unread) && unread))
		return; /* readable already */
	/* fails where the process broke its end: it is not woken then */
	(void)!send(w->ours, &one, sizeof(one), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void unicd_drain(int fd)
{
	uint64_t n;
	struct iovec iov = { .iov_base = &n, .iov_len = sizeof(n) };

	if (preadv2(fd, &iov, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP)
		(void)!read(fd, &n, sizeof(n)); /* Linux before 5.8 */
}

/* A process that shuts its end down causes no event here: a pair of datagram sockets
 * does not report it. */
static void take_rings(int fd)
{
	uint32_t budget = 64;
	uint64_t junk;

	while (recv(fd, &junk, sizeof(junk), MSG_DONTWAIT) >= 0 && --budget)
		;
}

static void ring_eventfd(int fd)
{
	/* EAGAIN: it is readable already, which is enough */
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		unicd_say("doorbell: %s", strerror(errno));
}

void unicd_ring(struct unic_os *os, uint32_t slot)
{
	take_rings(os->doorbell[slot].ours);
	/* the loop-back has none: it polls */
	ring_eventfd(os->nic_ev[1 + slot]);
}

void unic_os_ring_nic(struct unic_os *os)
{
	ring_eventfd(os->nic_ev[0]);
}

void unic_os_ring_slot(struct unic_os *os, uint32_t slot)
{
	ring_eventfd(os->nic_ev[1 + slot]);
}

void unic_os_ring_proc(struct unic_os *os, uint32_t slot)
{
	unicd_wake(&os->cq_wake[slot]);
}

void unic_os_upcall(struct unic_os *os, uint32_t slot)
{
	unicd_wake(&os->upcall_wake[slot]);
}

void unicd_wakes_end(struct unic_os *os, uint32_t slot)
{
	close_pair(&os->cq_wake[slot]);
	close_pair(&os->upcall_wake[slot]);
	close_pair(&os->doorbell[slot]);
}

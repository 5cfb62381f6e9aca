// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "board.h"
#include "say.h"
#include "soft_attach.h"
#include "unic_mbox.h"

#define GREETING_MS 5000
#define FIRST_NIC   1 /* UNIC_BUS_PEER_NIC: the number of the mailbox's NIC */

/* Ethernet address on a link, locally administered; the last byte is the port. */
static const uint8_t mac_prefix[5] = { 0x02, 'u', 'n', 'i', 'c' };

static void __attribute__((format(printf, 1, 2))) complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_va(STDERR_FILENO, SD_ERR "unic-nic: ", fmt, ap);
	va_end(ap);
}

static int report_error(const char *what, const char *which, int err)
{
	complain("%s %s: %s", what, which, strerror(-err));
	return -1;
}

/* @server: bus or wire; @socket: its name in the server's folder. */
static int report_absent(const char *server, const char *socket,
			 const char *path, int err)
{
	complain("cannot attach to the %s at %s: %s; start `unic-%s "
		 "--dir DIR' and name its socket, DIR/%s",
		 server, path, strerror(-err), server, socket);
	return -1;
}

static void *map_shared(int fd, uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Connect @c to the server @what at @path; print both versions if its is another. */
static int connect_server(struct ivshmem_client *c, const char *what,
			  const char *path, int vectors, int wait_ms)
{
	int err =
		ivshmem_client_connect(c, path, vectors, wait_ms, GREETING_MS);

	if (err == -EPROTONOSUPPORT)
		complain("the %s at %s speaks version %lld, this "
			 "program %d; take both of one release",
			 what, path, (long long)c->version,
			 IVSHMEM_CLIENT_VERSION);
	return err;
}

static int attach_bus(struct unic_port *port, const char *path, int wait_ms)
{
	int err = connect_server(&port->bus, "bus", path, 1 + UNIC_PROCS,
				 wait_ms);

	if (err == -EPROTO) {
		complain("%s does not serve %u vectors; start "
			 "unic-bus with --slots %u or more",
			 path, 1 + UNIC_PROCS, UNIC_PROCS);
		return -1;
	}
	if (err)
		return report_absent("bus", "nic", path, err);
	if (port->bus.id != FIRST_NIC) {
		complain("the bus at %s has a NIC; end it, or start "
			 "another bus",
			 path);
		return -1;
	}
	if (port->bus.shm_bytes < UNIC_BAR_BYTES)
		return report_error("mailbox memory too small at", path,
				    -EINVAL);
	port->bar = map_shared(port->bus.shm_fd, port->bus.shm_bytes);
	if (!port->bar)
		return report_error("cannot map the mailbox of", path, -errno);
	return 0;
}

/* Maps a window, in place of its old file if it has one: pointers into it stay
 * valid. */
static int map_window(struct unic_port *port, uint32_t w, int fd)
{
	uint8_t *old = port->windows.window[w].base, *base;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0 || st.st_size > UINT32_MAX ||
	    (old && (uint64_t)st.st_size != port->windows.window[w].bytes))
		return -EFBIG;
	base = mmap(old, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | (old ? MAP_FIXED : 0), fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	port->windows.window[w].base = base;
	port->windows.window[w].bytes = (uint32_t)st.st_size;
	if (w >= port->windows.count)
		port->windows.count = w + 1;
	return 0;
}

static int take_windows(struct unic_port *port)
{
	int w, fd, err;

	while ((w = ivshmem_client_window(&port->bus, &fd)) >= 0) {
		err = map_window(port, (uint32_t)w, fd);
		close(fd);
		if (err)
			return report_error("cannot map", "a window", err);
	}
	ivshmem_client_mapped(&port->bus);
	return 0;
}

static int attach_wire(struct unic_port *port, const struct soft_config *config)
{
	const char *path = config->wire;
	uint8_t own[6];
	void *mem;
	int err;

	err = connect_server(&port->wire, "wire", path, 1, config->wait_ms);
	if (err)
		return report_absent("wire", "ivshmem", path, err);
	mem = map_shared(port->wire.shm_fd, port->wire.shm_bytes);
	if (!mem)
		return report_error("cannot map the link of", path, -errno);
	memcpy(own, mac_prefix, sizeof(mac_prefix));
	own[5] = (uint8_t)port->wire.id;
	err = link_ring_attach(&port->link, mem, port->wire.shm_bytes,
			       (uint32_t)port->wire.id,
			       config->mac ? config->mac : own);
	if (err) {
		complain("no usable link at %s (%d)", path, err);
		return -1;
	}
	port->has_wire = true;
	return 0;
}

static int catch_signals(struct unic_port *port)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	port->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return port->signal_fd < 0 ? report_error("signalfd", "", -errno) : 0;
}

static void watch_fd(struct unic_port *port, int fd)
{
	port->poll[port->polls++] =
		(struct pollfd){ .fd = fd, .events = POLLIN };
}

static void watch_all(struct unic_port *port)
{
	uint32_t v;

	watch_fd(port, port->signal_fd);
	watch_fd(port, port->bus.fd);
	if (port->has_wire) {
		watch_fd(port, port->wire.fd);
		watch_fd(port, ivshmem_client_event(&port->wire, 0));
	}
	for (v = 0; v < 1 + UNIC_PROCS; v++)
		watch_fd(port, ivshmem_client_event(&port->bus, (int)v));
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int soft_port_init(struct unic_port *port, const struct soft_config *config)
{
	memset(port, 0, sizeof(*port));
	port->bus.fd = -1;
	port->wire.fd = -1;
	port->start_ns = monotonic_ns();
	if (attach_bus(port, config->bus, config->wait_ms) ||
	    take_windows(port) || (config->wire && attach_wire(port, config)) ||
	    catch_signals(port))
		return -1;
	watch_all(port);
	return 0;
}

void soft_port_fini(struct unic_port *port)
{
	if (port->has_wire)
		link_ring_detach(&port->link);
	if (port->wire.fd >= 0)
		ivshmem_client_close(&port->wire);
	if (port->bus.fd >= 0)
		ivshmem_client_close(&port->bus);
}

/* ------------------------------------------------------ sleeping and ending */

/* Never waits, even if another process that shares this doorbell cleared its
 * O_NONBLOCK and read it first. */
static void drain_event(int fd)
{
	uint64_t count;
	struct iovec iov = { .iov_base = &count, .iov_len = sizeof(count) };

	if (preadv2(fd, &iov, 1, -1, RWF_NOWAIT) < 0 && errno == EOPNOTSUPP)
		(void)!read(fd, &count, sizeof(count)); /* Linux before 5.8 */
}

void soft_port_sleep(struct unic_port *port, uint64_t until_ns)
{
	uint64_t now = unic_port_now_ns(port), ns;
	struct timespec ts;
	int i;

	if (until_ns <= now)
		return;
	ns = until_ns - now;
	ts.tv_sec = (time_t)(ns / 1000000000u);
	ts.tv_nsec = (long)(ns % 1000000000u);
	if (ppoll(port->poll, (nfds_t)port->polls, &ts, NULL) <= 0)
		return;
	/* 0 to 2 are sockets: soft_port_check() reads those. */
	for (i = port->has_wire ? 3 : 2; i < port->polls; i++)
		if (port->poll[i].revents & POLLIN)
			drain_event(port->poll[i].fd);
}

int soft_port_check(struct unic_port *port)
{
	struct signalfd_siginfo info;
	int err;

	if (read(port->signal_fd, &info, sizeof(info)) == sizeof(info))
		return 1;
	err = ivshmem_client_news(&port->bus);
	if (err)
		return report_error("the bus", "is gone", err);
	if (take_windows(port))
		return -1;
	err = port->has_wire ? ivshmem_client_news(&port->wire) : 0;
	return err ? report_error("the wire", "is gone", err) : 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bus_attach.h"
#include "run_dir.h"
#include "send_fds.h"

#define FDS_MAX (2 * (1 + UNIC_BUS_SLOTS_MAX))

_Static_assert(FDS_MAX <= SEND_FDS_MAX, "all in one message");
_Static_assert(1 + UNIC_BUS_SLOTS_MAX <= IVSHMEM_VECTORS_MAX, "a vector for "
							      "the mailbox and "
							      "for each slot");

static struct unic_bus_hdr make_header(enum unic_bus_type type, int fds)
{
	return (struct unic_bus_hdr){
		.type = unic_to_le16(type),
		.version = unic_to_le16(UNIC_BUS_VERSION),
		.fds = unic_to_le32((uint32_t)fds),
	};
}

static int add_doorbells(const struct bus_attach *at, int peer, int *fd)
{
	int v;

	for (v = 0; v < at->srv->vectors; v++)
		fd[v] = ivshmem_server_doorbell(at->srv, peer, v);
	return v;
}

static bool send_hello(const struct bus_attach *at, int to)
{
	const struct bus_memory *mem = at->mem;
	struct unic_bus_hello hello = {
		.slots = unic_to_le32((uint32_t)mem->slots),
		.bar_bytes = unic_to_le32(mem->bar_bytes),
		.slot_bytes = unic_to_le64(mem->slot_bytes),
		.bus_pid = unic_to_le32((uint32_t)getpid()),
		.joint = unic_to_le32(mem->joint),
	};
	int fd[FDS_MAX], n = 0;

	fd[n++] = mem->bar_fd;
	memcpy(fd + n, mem->slot_fd, mem->slots * sizeof(int));
	n += mem->slots;
	n += add_doorbells(at, UNIC_BUS_PEER_HOST, fd + n);
	hello.hdr = make_header(UNIC_BUS_HELLO, n);
	return send_fds(to, &hello, sizeof(hello), fd, n);
}

static bool send_nic(const struct bus_attach *at, int to, int peer, bool joined)
{
	struct unic_bus_nic nic = { .peer = unic_to_le32((uint32_t)peer) };
	int fd[FDS_MAX], n = 0;

	if (joined)
		n = add_doorbells(at, peer, fd);
	nic.hdr = make_header(joined ? UNIC_BUS_NIC_JOINED : UNIC_BUS_NIC_LEFT,
			      n);
	return send_fds(to, &nic, sizeof(nic), fd, n);
}

static void send_refused(int to, enum unic_bus_refusal reason, pid_t holder)
{
	struct unic_bus_refused msg = {
		.hdr = make_header(UNIC_BUS_REFUSED, 0),
		.reason = unic_to_le32(reason),
		.holder_pid = unic_to_le32((uint32_t)holder),
	};

	(void)send_fds(to, &msg, sizeof(msg), NULL, 0);
}

static bool send_attach_state(const struct bus_attach *at, int to)
{
	int p;

	if (!send_hello(at, to))
		return false;
	for (p = UNIC_BUS_PEER_NIC; p < at->srv->peers; p++)
		if (ivshmem_server_doorbell(at->srv, p, 0) >= 0 &&
		    !send_nic(at, to, p, true))
			return false;
	return true;
}

void bus_attach_init(struct bus_attach *at, int listen_fd,
		     const struct bus_memory *mem,
		     const struct ivshmem_server *srv)
{
	at->listen_fd = listen_fd;
	at->driver_fd = -1;
	at->driver_pid = 0;
	at->mem = mem;
	at->srv = srv;
}

int bus_attach_accept(struct bus_attach *at)
{
	int fd = accept4(at->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	int err;

	if (fd < 0)
		return -errno;
	err = run_dir_peer(fd);
	if (err) {
		close(fd);
		return err;
	}
	/* The previous driver may have ended without a report of it yet. */
	if (at->driver_fd >= 0)
		(void)bus_attach_check(at);
	if (at->driver_fd >= 0) {
		send_refused(fd, UNIC_BUS_BUSY, at->driver_pid);
		close(fd);
		return -EBUSY;
	}
	if (!send_attach_state(at, fd)) {
		err = -errno;
		close(fd);
		return err;
	}
	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	at->driver_fd = fd;
	at->driver_pid = cred.pid;
	return fd;
}

bool bus_attach_check(struct bus_attach *at)
{
	struct pollfd p = { .fd = at->driver_fd, .events = POLLRDHUP };

	if (at->driver_fd < 0)
		return true;
	if (poll(&p, 1, 0) <= 0)
		return false;
	close(at->driver_fd);
	at->driver_fd = -1;
	at->driver_pid = 0;
	return true;
}

int bus_attach_receive(struct bus_attach *at, uint32_t *value)
{
	struct unic_bus_slot msg = { 0 };
	ssize_t n = recv(at->driver_fd, &msg, sizeof(msg),
			 MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return -EAGAIN;
	*value = unic_from_le16(msg.hdr.version);
	if (n >= (ssize_t)sizeof(msg.hdr) && *value != UNIC_BUS_VERSION)
		return -EPROTONOSUPPORT;
	*value = unic_from_le32(msg.slot);
	return n == sizeof(msg) &&
			       unic_from_le16(msg.hdr.type) == UNIC_BUS_RENEW
		       ? 0
		       : -EPROTO;
}

void bus_attach_cut(struct bus_attach *at, enum unic_bus_refusal reason)
{
	send_refused(at->driver_fd, reason, 0);
	shutdown(at->driver_fd, SHUT_RDWR);
}

void bus_attach_renewed(struct bus_attach *at, uint32_t slot, bool done)
{
	struct unic_bus_slot msg = {
		.hdr = make_header(UNIC_BUS_RENEWED, done),
		.slot = unic_to_le32(slot),
	};
	const int *fd = done ? &at->mem->slot_fd[slot] : NULL;

	if (at->driver_fd >= 0 &&
	    !send_fds(at->driver_fd, &msg, sizeof(msg), fd, done))
		shutdown(at->driver_fd, SHUT_RDWR);
}

int bus_attach_nic(struct bus_attach *at, int peer, bool joined)
{
	int err;

	if (at->driver_fd < 0 || send_nic(at, at->driver_fd, peer, joined))
		return 0;
	err = -errno;
	shutdown(at->driver_fd, SHUT_RDWR);
	return err;
}

void bus_attach_fini(struct bus_attach *at)
{
	if (at->driver_fd >= 0)
		close(at->driver_fd);
	if (at->listen_fd >= 0)
		close(at->listen_fd);
	at->driver_fd = -1;
	at->listen_fd = -1;
}

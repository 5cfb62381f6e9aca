/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * bus_attach.h - the driver's socket of unic-bus (abi/unic_bus.h): one driver at
 * a time, whose process may end at any moment.
 */
#ifndef BUS_ATTACH_H
#define BUS_ATTACH_H

#include <sys/types.h>

#include "bus_memory.h"
#include "ivshmem_server.h"

struct bus_attach {
	int listen_fd;
	int driver_fd; /* -1: no driver */
	pid_t driver_pid;
	const struct bus_memory *mem;
	const struct ivshmem_server *srv;
};

/**
 * bus_attach_init() - set up @at, which takes over @listen_fd: a listening,
 * non-blocking SEQPACKET socket. @mem and @srv must outlive @at.
 */
void bus_attach_init(struct bus_attach *at, int listen_fd,
		     const struct bus_memory *mem,
		     const struct ivshmem_server *srv);

/**
 * bus_attach_accept() - take one connection. The first is the driver, which gets
 * the memory, the event fds and the list of NICs; further ones are refused.
 * Returns the driver's descriptor to watch for its end, or -errno; -EBUSY: there
 * is one already; -EPERM: it is another user's.
 */
int bus_attach_accept(struct bus_attach *at);

/**
 * bus_attach_check() - has the driver ended?
 * Returns true if it has; its descriptor is closed then.
 */
bool bus_attach_check(struct bus_attach *at);

/**
 * bus_attach_receive() - read a message of the driver.
 *
 * Returns 0: RENEW of slot *@value, which may be out of range; -EPROTONOSUPPORT: a message
 * of version *@value; -EPROTO: a malformed message; -EAGAIN: there is none.
 */
int bus_attach_receive(struct bus_attach *at, uint32_t *value);

/** bus_attach_cut() - send the driver REFUSED with @reason and end its connection;
 * the next bus_attach_check() returns true. */
void bus_attach_cut(struct bus_attach *at, enum unic_bus_refusal reason);

/** bus_attach_renewed() - answer the driver, if any: @slot has other memory, or
 * (@done false) has not. A driver that does not read is cut off. */
void bus_attach_renewed(struct bus_attach *at, uint32_t slot, bool done);

/**
 * bus_attach_nic() - tell the driver, if any, that NIC @peer joined or left.
 * A driver that does not read is cut off, which bus_attach_check() reports.
 * Returns 0, or -errno when it was cut off.
 */
int bus_attach_nic(struct bus_attach *at, int peer, bool joined);

/** bus_attach_fini() - close the socket that peers come by, and the driver's connection. */
void bus_attach_fini(struct bus_attach *at);

#endif /* BUS_ATTACH_H */

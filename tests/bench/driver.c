/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* driver.c - see driver.h. */
#include "driver.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unic_bus.h"
#include "yard.h"

#define FDS_MAX	 64
#define LIMIT_NS 10000000000ull
#define LOOKS	 1024u

void driver_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

/*
 * The limit of a polling loop, which reads the clock once in LOOKS looks: a
 * reading costs as much as a few looks.
 */
struct patience {
	uint64_t until;
	uint32_t looks;
};

static void look_again(struct patience *p, const char *what)
{
	__builtin_ia32_pause();
	if (++p->looks % LOOKS)
		return;
	if (!p->until)
		p->until = yard_now_ns() + LIMIT_NS;
	if (yard_now_ns() <= p->until)
		return;
	errno = ETIMEDOUT;
	driver_die(what);
}

static int receive(int sock, void *msg, int *fds)
{
	union {
		char buf[CMSG_SPACE(sizeof(int) * FDS_MAX)];
		struct cmsghdr align;
	} ctl;
	struct iovec iov = { msg, 32 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = ctl.buf,
			    .msg_controllen = sizeof(ctl.buf) };
	struct cmsghdr *c;

	if (recvmsg(sock, &m, 0) != 32)
		driver_die("unic-bus said nothing");
	c = CMSG_FIRSTHDR(&m);
	if (!c)
		return 0;
	memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

static uint8_t *map(int fd, size_t bytes)
{
	uint8_t *mem =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		driver_die("mmap");
	return mem;
}

static struct unic_driver_page *mine(const struct driver *d)
{
	return (struct unic_driver_page *)(d->bar + UNIC_BAR_DRIVER_OFF);
}

static const volatile struct unic_nic_idx *theirs(const struct driver *d)
{
	return (const volatile struct unic_nic_idx *)(d->bar +
						      UNIC_BAR_NIC_OFF);
}

const volatile struct unic_info *driver_info(const struct driver *d)
{
	return (const volatile struct unic_info *)d->bar;
}

static void ring(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		driver_die("doorbell");
}

static void reset(struct driver *d)
{
	const volatile struct unic_info *info = driver_info(d);
	struct patience patience = { 0 };
	uint32_t req = unic_from_le32(info->reset_ack) + 1;

	memset(mine(d), 0, sizeof(struct unic_driver_page));
	mine(d)->reset_req = unic_to_le32(req);
	ring(d->ring_fd);
	while (unic_from_le32(info->reset_ack) != req)
		look_again(&patience, "the NIC does not answer a reset");
	d->epoch = unic_from_le32(info->boot_epoch);
}

void driver_attach(struct driver *d, const char *dir)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct unic_bus_hello hello;
	struct unic_bus_nic nic;
	int fds[FDS_MAX], sock;

	memset(d, 0, sizeof(*d));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/attach", dir);
	sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (sock < 0 || connect(sock, (void *)&addr, sizeof(addr)))
		driver_die(addr.sun_path);
	receive(sock, &hello, fds);
	if (unic_from_le16(hello.hdr.type) != UNIC_BUS_HELLO) {
		errno = EBUSY;
		driver_die("unic-bus has a driver already");
	}
	d->bar = map(fds[0], UNIC_BAR_BYTES);
	d->slot = map(fds[1], unic_from_le64(hello.slot_bytes));
	d->wait_fd = fds[1 + unic_from_le32(hello.slots)];
	receive(sock, &nic, fds);
	d->ring_fd = fds[0];
	d->doorbell_fd = fds[1];
	reset(d);
}

void *driver_list(const struct driver *d)
{
	return d->bar + UNIC_BAR_LIST_OFF +
	       d->tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
}

void driver_send(struct driver *d, const void *cmd)
{
	uint8_t *at =
		d->bar + UNIC_BAR_CMD_OFF + d->tail % UNIC_CMD_ENTRIES * 64;
	struct unic_cmd_hdr *hdr = (struct unic_cmd_hdr *)at;

	memcpy(at, cmd, 64);
	hdr->epoch = unic_to_le32(d->epoch);
	__atomic_store_n((uint32_t *)&mine(d)->cmd_tail, ++d->tail,
			 __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (unic_from_le32(theirs(d)->asleep))
		ring(d->ring_fd);
}

static void sleep_until_rung(struct driver *d)
{
	struct pollfd p = { d->wait_fd, POLLIN, 0 };
	uint64_t n;

	if (poll(&p, 1, 1000) == 1 && read(d->wait_fd, &n, sizeof(n)) < 0)
		driver_die("eventfd");
}

void driver_await(struct driver *d, bool blocked)
{
	struct patience patience = { 0 };

	if (unic_from_le32(mine(d)->want_irq) != blocked)
		mine(d)->want_irq = unic_to_le32(blocked);
	while (unic_from_le32(theirs(d)->cpl_tail) != d->tail) {
		if (blocked)
			sleep_until_rung(d);
		look_again(&patience, "a command was not answered");
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	mine(d)->cpl_head = unic_to_le32(d->tail);
}

void driver_command(struct driver *d, const void *cmd, void *cpl)
{
	const uint8_t *at =
		d->bar + UNIC_BAR_CPL_OFF + d->tail % UNIC_CPL_ENTRIES * 64;
	const struct unic_cmd_hdr *hdr = (const void *)at;

	driver_send(d, cmd);
	driver_await(d, false);
	if (hdr->status) {
		fprintf(stderr, "%s: command %u was refused: status %u\n",
			program_invocation_short_name, hdr->opcode,
			hdr->status);
		exit(1);
	}
	if (cpl)
		memcpy(cpl, at, 64);
}

bool driver_event(struct driver *d, void *evt)
{
	if (unic_from_le32(theirs(d)->evt_tail) == d->seen)
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(evt, d->bar + UNIC_BAR_EVT_OFF + d->seen % UNIC_EVT_ENTRIES * 64,
	       64);
	mine(d)->evt_head = unic_to_le32(++d->seen);
	return true;
}

void driver_expect(struct driver *d, uint8_t type, void *evt)
{
	const struct unic_evt_hdr *hdr = evt;
	struct patience patience = { 0 };

	while (!driver_event(d, evt))
		look_again(&patience, "an event did not come");
	if (hdr->type == type)
		return;
	fprintf(stderr, "%s: event %u came, not %u\n",
		program_invocation_short_name, hdr->type, type);
	exit(1);
}

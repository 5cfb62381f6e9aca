/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mbox-bench - command round trip host -> firmware -> host: attaches to
 * unic-bus as its driver and sends NOPs, polled and blocked, next to the
 * yardstick `line` in the same run.
 *
 *	mbox-bench DIR      prints one JSON object
 */
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
#include "unic_mbox.h"
#include "yard.h"

#define FDS_MAX	  64
#define ROUNDS	  7
#define POLLED_N  20000u
#define BLOCKED_N 500u
#define LIMIT_NS  2000000000ull

static uint8_t *bar;
static int wait_fd = -1, ring_fd = -1;
static uint32_t tail, epoch;

static void die(const char *what)
{
	fprintf(stderr, "mbox-bench: %s: %s\n", what, strerror(errno));
	exit(1);
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
		die("unic-bus said nothing");
	c = CMSG_FIRSTHDR(&m);
	if (!c)
		return 0;
	memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
}

static void attach(const char *dir)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct unic_bus_hello hello;
	struct unic_bus_nic nic;
	int fds[FDS_MAX], sock, slots;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/attach", dir);
	sock = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (sock < 0 || connect(sock, (void *)&addr, sizeof(addr)))
		die(addr.sun_path);
	receive(sock, &hello, fds);
	if (unic_from_le16(hello.hdr.type) != UNIC_BUS_HELLO) {
		errno = EBUSY;
		die("unic-bus has a driver already");
	}
	slots = (int)unic_from_le32(hello.slots);
	bar = mmap(NULL, UNIC_BAR_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		   fds[0], 0);
	if (bar == MAP_FAILED)
		die("mmap");
	wait_fd = fds[1 + slots];
	receive(sock, &nic, fds);
	ring_fd = fds[0];
}

static struct unic_driver_page *mine(void)
{
	return (struct unic_driver_page *)(bar + UNIC_BAR_DRIVER_OFF);
}

static const volatile struct unic_nic_idx *theirs(void)
{
	return (const volatile struct unic_nic_idx *)(bar + UNIC_BAR_NIC_OFF);
}

static void kick(void)
{
	uint64_t one = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (unic_from_le32(theirs()->asleep) &&
	    write(ring_fd, &one, sizeof(one)) != sizeof(one))
		die("doorbell");
}

static void reset(void)
{
	const volatile struct unic_info *info = (void *)bar;
	uint64_t until = yard_now_ns() + LIMIT_NS, one = 1;
	uint32_t req = unic_from_le32(info->reset_ack) + 1;

	memset(mine(), 0, sizeof(struct unic_driver_page));
	mine()->reset_req = unic_to_le32(req);
	if (write(ring_fd, &one, sizeof(one)) != sizeof(one))
		die("doorbell");
	while (unic_from_le32(info->reset_ack) != req)
		if (yard_now_ns() > until) {
			errno = ETIMEDOUT;
			die("the NIC does not answer a reset");
		}
	epoch = unic_from_le32(info->boot_epoch);
}

static void await_completion(int blocked)
{
	uint64_t until = yard_now_ns() + LIMIT_NS, n;
	struct pollfd p = { wait_fd, POLLIN, 0 };

	while (unic_from_le32(theirs()->cpl_tail) != tail) {
		if (blocked && poll(&p, 1, 1000) == 1 &&
		    read(wait_fd, &n, sizeof(n)) < 0)
			die("eventfd");
		if (!blocked)
			__builtin_ia32_pause();
		if (yard_now_ns() > until) {
			errno = ETIMEDOUT;
			die("a command was not answered");
		}
	}
}

static double round_trip_ns(uint32_t n, int blocked)
{
	struct unic_cmd_nop cmd = { .hdr = { .opcode = UNIC_CMD_NOP,
					     .epoch = unic_to_le32(epoch) } };
	uint64_t t = yard_now_ns();
	uint32_t i;

	mine()->want_irq = unic_to_le32((uint32_t)blocked);
	for (i = 0; i < n; i++) {
		memcpy(bar + UNIC_BAR_CMD_OFF + tail % UNIC_CMD_ENTRIES * 64,
		       &cmd, 64);
		__atomic_store_n((uint32_t *)&mine()->cmd_tail, ++tail,
				 __ATOMIC_RELEASE);
		kick();
		await_completion(blocked);
		mine()->cpl_head = unic_to_le32(tail);
	}
	return (double)(yard_now_ns() - t) / n;
}

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d < 0 ? -1 : d > 0;
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), by_value);
	return v[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	double line[ROUNDS], polled[ROUNDS], blocked[ROUNDS];
	int i;

	if (argc != 2) {
		fprintf(stderr, "usage: mbox-bench DIR (of unic-bus)\n");
		return 2;
	}
	attach(argv[1]);
	reset();
	round_trip_ns(POLLED_N, 0);
	for (i = 0; i < ROUNDS; i++) {
		line[i] = yard_line_ns(POLLED_N);
		polled[i] = round_trip_ns(POLLED_N, 0);
		blocked[i] = round_trip_ns(BLOCKED_N, 1);
	}
	printf("{\"line_ns\": %.1f, \"command_polled_ns\": %.1f, "
	       "\"command_blocked_ns\": %.1f}\n",
	       median(line), median(polled), median(blocked));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * by_hand.h - calls of the device node without libunic, for programs that define PROGRAM,
 * their name.
 */
#ifndef VM_BY_HAND_H
#define VM_BY_HAND_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "unic_ctl.h"
#include "unic_ioctl.h"

#define PATIENCE_S 20

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int fail(const char *what)
{
	fprintf(stderr, PROGRAM ": %s: %s\n", what, strerror(errno));
	return 1;
}

/* A request whose answer is not read: the call waits for another one, until
 * @until_ns. True: the driver took the request. */
static inline bool ask_until(int fd, uint16_t op, uint32_t seq,
			     uint64_t until_ns)
{
	struct unic_ctl_hello rec = {
		.hdr = { .op = unic_to_le16(op), .seq = unic_to_le32(seq) },
	};
	_Alignas(8) uint8_t reply[UNIC_CTL_MSG_MAX];
	struct unic_ioc_call call = {
		.msg = unic_to_le64((uintptr_t)&rec),
		.reply = unic_to_le64((uintptr_t)reply),
		.until_ns = unic_to_le64(until_ns),
		.bytes = unic_to_le32(sizeof(rec)),
		.room = unic_to_le32(sizeof(reply)),
		.seq = unic_to_le32(UINT32_MAX),
	};

	if (op == UNIC_CTL_HELLO)
		rec.version = unic_to_le32(UNIC_CTL_VERSION);
	return ioctl(fd, UNIC_IOC_CALL, &call) && errno == ETIMEDOUT;
}

static inline bool ask_only(int fd, uint16_t op, uint32_t seq)
{
	return ask_until(fd, op, seq, 1); /* which is over */
}

#endif /* VM_BY_HAND_H */

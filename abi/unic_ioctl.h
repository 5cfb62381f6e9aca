/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ioctl.h - how the messages of unic_ctl.h reach a driver that is part of
 * Linux: /dev/unic in place of a socket, or /dev/unicN for NIC N of it.
 *
 * A file of /dev/unic is with no NIC until its first request (SELECT of unic_ctl_admin.h)
 * or the wait for its reply; before that all but UNIC_IOC_CALL fails with EINVAL, or, a
 * read, waits. ENODEV: there is no NIC, or the one chosen has just left. A file of
 * /dev/unicN is with that NIC when it is open.
 *
 * One open file is one connection. It is for the process that opened it: no
 * other may use it (EPERM), and it ends with that process's address space, or
 * with the last descriptor. HELLO brings no descriptors; instead
 *   mmap, offset UNIC_SLOT_*_PAGE * 4096, MAP_SHARED: the doorbell page, and
 *     for reading only the NIC's page and the upcall ring. Nothing else of the
 *     slot can be mapped; memory is the process's own, any of it, and
 *     FRAMES_ALLOC is UNSUPPORTED;
 *   write, any 8 bytes: ring the NIC, when unic_nic_page.asleep is set;
 *   read 8 bytes, poll, SIGIO (O_ASYNC): the upcall ring has something;
 *   UNIC_IOC_CQ_FD: a descriptor that is readable when an armed completion
 *     queue has something.
 * A device that is gone: POLLHUP, and ENODEV of everything.
 */
#ifndef UNIC_IOCTL_H
#define UNIC_IOCTL_H

#include "unic_ctl.h"

#ifdef __KERNEL__
#include <linux/ioctl.h>
#endif /* else: who uses the numbers includes <sys/ioctl.h> */

/*
 * UNIC_IOC_CALL. Send a request and wait for its reply, or just wait: the
 * driver sets `bytes` to 0 before it waits for the reply, so who is interrupted
 * calls again with the same record. Any number of threads may wait at once. A file has
 * 2 * UNIC_CTL_OPEN_MAX places for requests whose reply is not fetched, and 2 before
 * HELLO; a call that finds none waits for one behind those that came before it,
 * and loses its turn when a signal interrupts it. It has the place from before its
 * memory is looked at until its reply is fetched.
 * ETIMEDOUT: `until_ns` (CLOCK_MONOTONIC; 0: never) came first; EAGAIN: it came
 * before there was a place, the request was not taken; EINVAL: less than a record,
 * or no room for one.
 */
struct unic_ioc_call {
	unic_le64 msg;	    /* address of the request: record and tail */
	unic_le64 reply;    /* address for record and tail of the reply */
	unic_le64 until_ns; /* CLOCK_MONOTONIC, then ETIMEDOUT or EAGAIN; 0:
			     * never; the reply can be waited for again */
	unic_le32 bytes;    /* of the request; 0: it was sent */
	unic_le32 room;	    /* at `reply`; what does not fit is lost */
	unic_le32 seq;	    /* of the request */
	unic_le32 got;	    /* out: bytes at `reply` */
};
#define UNIC_IOC_CALL _IOWR('u', 0xc0, struct unic_ioc_call) /* 0 or errno */
/* Open a descriptor for completion events; each call opens another one. */
#define UNIC_IOC_CQ_FD _IO('u', 0xc1) /* no argument; returns it */

UNIC_ABI_AT(unic_ioc_call, bytes, 24);
UNIC_ABI_SIZE(unic_ioc_call, 40);

#endif /* UNIC_IOCTL_H */

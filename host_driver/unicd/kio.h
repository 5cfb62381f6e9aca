/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * kio.h - the page service of unicd: what processes ask of it (UNIC_CTL_KIO), and the
 * files that other hosts may have.
 */
#ifndef UNICD_KIO_H
#define UNICD_KIO_H

#include "unicd.h"

/**
 * unicd_kio_init() - make os->kio, and, with opt.kio_export, its files and the thread
 * that reads and writes them.
 * Returns 0; -ENOMEM; -EINVAL: the export cannot be had. An error is logged, and
 * os->kio stays NULL.
 */
int unicd_kio_init(struct unic_os *os);

/** unicd_kio_fini() - drop all requests unanswered, end the thread, free os->kio; NULL
 * is fine. A thread that does not end within a second keeps its files. */
void unicd_kio_fini(struct unic_os *os);

/**
 * unicd_kio_request() - a UNIC_CTL_KIO of process @c. Answered by unic_os_reply(),
 * at once if it is refused, else by unicd_kio_poll().
 * @msg: a header at least; copied.
 * @bytes: of the datagram, which may be more than @msg has, and is refused then.
 */
void unicd_kio_request(struct unic_os *os, struct unicd_client *c,
		       const void *msg, size_t bytes);

/** unicd_kio_reply() - what the core answers to the page service itself, which is a
 * client of it: @bytes at @msg, copied. */
void unicd_kio_reply(struct unic_os *os, const void *msg, uint32_t bytes);

/** unicd_kio_gone() - client @c ended: what it asked for is not answered. */
void unicd_kio_gone(struct unic_os *os, const struct unicd_client *c);

/**
 * unicd_kio_poll() - begin, go on with and end requests; bounded work.
 * Returns when to call it again, in nanoseconds of unic_os_now_ns(); UINT64_MAX: there
 * is nothing to wait for.
 */
uint64_t unicd_kio_poll(struct unic_os *os);

#endif /* UNICD_KIO_H */

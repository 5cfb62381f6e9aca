/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unicd_os.h - the services of the system that several files of unicd need: the event
 * loop's descriptors, lines for a human, and what wakes processes. None of them waits
 * for anybody. The functions of unic_os.h, which the core calls, are in unicd_os.c,
 * but for memory of slots (board.c, slots.c) and replies (clients.c).
 */
#ifndef UNICD_OS_H
#define UNICD_OS_H

#include "unicd.h"

/** unicd_watch() - add @fd, which is about NIC @os, to the event loop, level-triggered for
 * @events (EPOLL*): the loop gets @kind, NIC and @number, 16 bits. Ends when @fd is
 * closed. 0 or -errno. */
int unicd_watch(struct unic_os *os, int fd, enum unicd_event kind,
		uint32_t number, uint32_t events);

/** unicd_watch_any() - as unicd_watch(), about no NIC. */
int unicd_watch_any(struct unicd *d, int fd, enum unicd_event kind,
		    uint32_t number, uint32_t events);

/** unicd_tell() - unicd_say() about NIC @os, with its name if there are others. */
void unicd_tell(const struct unic_os *os, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** unicd_say() - one line to stderr, "unicd: ...". Never waits (say.h). */
void unicd_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** unicd_wake_new() - close pair @w, if there is one, and make a fresh one, not
 * readable. 0; -errno: there is none. */
int unicd_wake_new(struct unicd_wake *w);

/** unicd_wake() - make the process's end of @w readable: one read of 8 bytes clears
 * it. Never waits, whatever the process does with its end. No pair: nothing. */
void unicd_wake(const struct unicd_wake *w);

/** unicd_wakes_end() - the process of @slot left: close what woke it, and its
 * doorbell. */
void unicd_wakes_end(struct unic_os *os, uint32_t slot);

/** unicd_doorbell_new() - a fresh doorbell for the process of @slot, watched as
 * UNICD_EV_RING. 0 or -errno. */
int unicd_doorbell_new(struct unic_os *os, uint32_t slot);

/** unicd_ring() - the process of @slot rang: ring the NIC for it. Takes a bounded
 * number of what the process sent; for the rest the event loop calls again. */
void unicd_ring(struct unic_os *os, uint32_t slot);

/** unicd_drain() - make an eventfd unreadable. Never waits. */
void unicd_drain(int fd);

/**
 * unicd_refuse_fds() - nobody can send descriptors to socket @fd, nor to those
 * that it accepts. Who drops the last descriptor of a file waits for its end,
 * which may be as long as a process likes (SO_LINGER). Before Linux 6.16 it has no
 * effect.
 */
void unicd_refuse_fds(int fd);

#endif /* UNICD_OS_H */

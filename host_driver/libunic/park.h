/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * park.h - run a function while no other thread of the process runs.
 *
 * Secret: how threads are parked: a real-time signal makes each of them wait in its handler. A
 * parked thread may hold the lock of malloc().
 */
#ifndef UNIC_LIB_PARK_H
#define UNIC_LIB_PARK_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Makes a thread wait. One that blocks it is parked by another signal. */
#define UNIC_PARK_SIGNAL (SIGRTMAX - 2)

/* The stack pointer of a thread, and the address of its descriptor. */
struct unic_park_at {
	uintptr_t sp, self;
};

/** unic_park_run() - run @fn(@arg), which does not allocate, while no other thread runs.
 * Returns its result, or -EBUSY: a thread does not come within a second; -EAGAIN: there are
 * too many. */
int unic_park_run(int (*fn)(void *), void *arg);
/** unic_park_mask() - block all signals but UNIC_PARK_SIGNAL: a handler of this thread would write
 * to what is moved, and two that move stop each other. */
void unic_park_mask(sigset_t *before);
/** unic_park_hold() - stop the other threads, for @ms at most: then each goes on by itself, so
 * that whoever waits for what it has locked gets that. Returns how many there are; -EBUSY, -EAGAIN: they
 * run, as above. */
int unic_park_hold(uint32_t ms);
/** unic_park_longer() - false: one has gone on since; else none does for @ms from now on. */
bool unic_park_longer(uint32_t ms);
/** unic_park_release() - the end of unic_park_hold(). */
void unic_park_release(void);
/** unic_park_places() - amid unic_park_run(): where the threads are, this one first. Returns
 * how many. */
uint32_t unic_park_places(const struct unic_park_at **out);
/** unic_park_forked() - in the child of a fork(): forget what another thread of the parent
 * had begun. */
void unic_park_forked(void);

#endif /* UNIC_LIB_PARK_H */

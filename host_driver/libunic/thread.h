/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * thread.h - threads of the library. They take no signal that is sent to the process: those
 * are for threads of the program, which may have blocked them.
 */
#ifndef UNIC_LIB_THREAD_H
#define UNIC_LIB_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "park.h"

/*
 * unic_thread_start() - pthread_create() of a thread that blocks all signals but these: SIGSEGV
 * and SIGBUS, which its own faults raise, and UNIC_PARK_SIGNAL, with which park.c stops
 * each thread of the process while it moves memory into the slot.
 */
static inline int unic_thread_start(pthread_t *thread,
				    const pthread_attr_t *attr,
				    void *(*run)(void *), void *arg)
{
	sigset_t set, before;
	int err;

	sigfillset(&set);
	sigdelset(&set, SIGSEGV);
	sigdelset(&set, SIGBUS);
	sigdelset(&set, UNIC_PARK_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &set, &before);
	err = pthread_create(thread, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

#endif /* UNIC_LIB_THREAD_H */

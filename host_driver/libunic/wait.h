/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * wait.h - CLOCK_MONOTONIC, and condition variables that wait by it.
 */
#ifndef UNIC_LIB_WAIT_H
#define UNIC_LIB_WAIT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t unic_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static inline void unic_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

/* Returns after a broadcast, after @ms, or spuriously. */
static inline void unic_cond_wait_ms(pthread_cond_t *cond,
				     pthread_mutex_t *lock, int ms)
{
	uint64_t until = unic_now_ns() + (uint64_t)ms * 1000000ull;
	struct timespec ts = {
		.tv_sec = (time_t)(until / 1000000000ull),
		.tv_nsec = (long)(until % 1000000000ull),
	};

	pthread_cond_timedwait(cond, lock, &ts);
}

#endif /* UNIC_LIB_WAIT_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * patience.h - for how long a program waits for one that is starting.
 *
 * Secret: what $UNIC_WAIT says, and which errors mean that somebody may come yet.
 */
#ifndef UNIC_LIB_PATIENCE_H
#define UNIC_LIB_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define UNIC_PATIENCE_MAX_S 86400u

/* What is wrong with $UNIC_WAIT, for printf() with unic_patience_text(). */
#define UNIC_PATIENCE_WRONG \
	"UNIC_WAIT is `%s': a number of seconds from 0 to 86400 is needed"

/** unic_patience_text() - $UNIC_WAIT as it is; "" if it is not set. */
const char *unic_patience_text(void);

/**
 * unic_patience_read() - store at *@ms for how many milliseconds $UNIC_WAIT says to wait: 0
 * if it is not set or empty. 0; -EINVAL: it is no number of seconds from 0 to
 * UNIC_PATIENCE_MAX_S, and *@ms is 0.
 */
int unic_patience_read(uint32_t *ms);

/** unic_patience_end() - the moment in @ms from now, for unic_patience_again(). */
uint64_t unic_patience_end(uint32_t ms);

/**
 * unic_patience_again() - an attempt failed with @err: whether to try again.
 * Sleeps 20 ms and returns true, if @err says that nobody is there, or is not ready, and
 * @end has not come. @fd: while it sleeps, input there ends the patience; -1: none.
 */
bool unic_patience_again(int err, uint64_t end, int fd);

#endif /* UNIC_LIB_PATIENCE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * progress.h - how far a transfer is, on standard error: bytes, rate, time left. One line that
 * is written anew on a terminal; elsewhere nothing, unless lines are asked for.
 *
 * Secret: what the line looks like, and how often it is written.
 */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

enum progress_how {
	PROGRESS_USUAL, /* a line on a terminal */
	PROGRESS_LINES, /* lines, also elsewhere */
	PROGRESS_NONE,
};

struct progress {
	const char *program, *what, *name;
	uint64_t size;
	uint64_t began_ns, shown_ns; /* CLOCK_MONOTONIC */
	bool tty, lines;
};

/** progress_begin() - @program begins to @what ("put", "get") @size bytes of @name. The words
 * have to live as long as @p. */
void progress_begin(struct progress *p, enum progress_how how,
		    const char *program, const char *what, const char *name,
		    uint64_t size);

/** progress_show() - @done bytes are there. */
void progress_show(struct progress *p, uint64_t done);

/** progress_end() - take the line off the terminal. */
void progress_end(struct progress *p);

/** progress_seconds() - since progress_begin(); not 0. */
double progress_seconds(const struct progress *p);

#endif /* PROGRESS_H */

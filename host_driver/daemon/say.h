/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * say.h - lines for a human, from a daemon that must not wait for one: stdout
 * and stderr may be a pipe that nobody reads, or a terminal that somebody
 * stopped.
 *
 * A line that goes to systemd's journal has a rank before it: SD_ERR or another of
 * sd-daemon.h where it begins with that, else a warning on stderr, or information. One
 * that goes elsewhere has none.
 *
 * Secret: a thread that writes, one for each. What its buffer of 64 KiB has no room for is
 * dropped, and counted. O_NONBLOCK would do without a thread, but it belongs to
 * the open file, which others use, too.
 */
#ifndef SAY_H
#define SAY_H

#include <stdarg.h>

/** say_rank() - find out which of stdout and stderr goes to the journal. Lines have no rank
 * before that. */
void say_rank(void);

/** say_start() - say_rank(), and lines are written by a thread from now on; by the caller,
 * who waits, before that, and if no thread is to be had. */
void say_start(void);

/** say() - one line to @fd, 1 or 2, without its end; 1,023 bytes of it. */
void say(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** say_va() - say(), behind @who. */
void say_va(int fd, const char *who, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/** say_text() - @bytes of text, of which each line is said or dropped. */
void say_text(int fd, const char *text, unsigned long bytes);

/** say_end() - wait for what was said, a second at most. */
void say_end(void);

#endif /* SAY_H */

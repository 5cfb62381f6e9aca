/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tty.h - a terminal as the line of the serial host link: bytes as they are, eight
 * bits, no parity, one stop bit, no flow control, and nobody else on it.
 *
 * Secret: what there is to set, and how to learn who else has it. The boards have
 * two wires and no more, so a terminal that waits for CTS would wait for ever, and
 * one that knows XON and XOFF would swallow two of the 256 bytes.
 */
#ifndef TTY_H
#define TTY_H

#include <stdbool.h>
#include <stdint.h>

/* A process that has a terminal open. */
struct tty_user {
	int pid;
	char name[32];
};

/**
 * tty_open() - open the terminal @path for this process alone, not blocking, at
 * @baud bits a second; with short latency, where its driver knows that. What was set
 * before is not put back at the end, and the modem lines stay as they are.
 * Returns a descriptor, for tty_close(). -EBUSY: another process has it locked or for
 * itself; -ENOTTY: it is not a terminal; -EINVAL: the terminal has no such speed;
 * -errno. After an error the terminal is not open.
 */
int tty_open(const char *path, uint32_t baud);

/** tty_close() - close it; others may open it again. */
void tty_close(int fd);

/**
 * tty_find_user() - find another process that has @path open, whether it locks it or
 * not: only those of the same user, but for root. Reads /proc.
 * Returns false if there is none to be seen; @user is then not written.
 */
bool tty_find_user(const char *path, struct tty_user *user);

#endif /* TTY_H */

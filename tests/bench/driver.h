/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * driver.h - the smallest driver there can be, for measurements of the NIC
 * alone: attaches to unic-bus, resets the NIC, sends one command at a time and
 * polls. Any failure ends the program, with words.
 */
#ifndef BENCH_DRIVER_H
#define BENCH_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "unic_mbox.h"

struct driver {
	uint8_t *bar;
	uint8_t *slot;	 /* memory of process slot 0, bus address 0 */
	int wait_fd;	 /* readable: the NIC rang vector 0 */
	int ring_fd;	 /* to be written: vector 0 of the NIC */
	int doorbell_fd; /* to be written: doorbell of slot 0 */
	uint32_t epoch;
	uint32_t tail; /* commands sent */
	uint32_t seen; /* events read */
};

/** driver_die() - end, with @what and errno. */
void driver_die(const char *what) __attribute__((noreturn));

/** driver_attach() - attach to unic-bus in @dir, and reset the NIC. */
void driver_attach(struct driver *d, const char *dir);

/** driver_list() - list page of the command that is sent next. */
void *driver_list(const struct driver *d);

/** driver_send() - send 64 bytes at @cmd; header filled in but for the opcode. */
void driver_send(struct driver *d, const void *cmd);

/** driver_await() - wait until all commands are answered; @blocked: asleep. */
void driver_await(struct driver *d, bool blocked);

/** driver_command() - send @cmd and poll for its answer; @cpl, 64 bytes, may
 * be NULL. Any status but OK ends the program. */
void driver_command(struct driver *d, const void *cmd, void *cpl);

/** driver_event() - copy the next event to @evt, 64 bytes; false: none there. */
bool driver_event(struct driver *d, void *evt);

/** driver_expect() - poll for the next event, which is of type @type. */
void driver_expect(struct driver *d, uint8_t type, void *evt);

/** driver_info() - the NIC's facts. */
const volatile struct unic_info *driver_info(const struct driver *d);

#endif /* BENCH_DRIVER_H */

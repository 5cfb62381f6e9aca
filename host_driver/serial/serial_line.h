/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * serial_line.h - the host's end of the serial host link on a system with files:
 * the bytes of far.h go over a terminal, or over the socket of an emulator.
 *
 * Secret: what is at the end of the path, and the pace. An emulator has no line
 * speed, so both directions are limited to that of a line here.
 *
 * Never waits, logs nothing. @now_ns is CLOCK_MONOTONIC.
 */
#ifndef SERIAL_LINE_H
#define SERIAL_LINE_H

#include "far.h"

/* The time that the bytes of one direction have taken on the line. */
struct serial_pace {
	uint64_t until_ns; /* the line is busy until then */
};

struct serial_line {
	struct far far;
	int fd; /* -1: not open */
	bool is_tty;
	uint64_t ns_per_byte;
	struct serial_pace in, out;
	uint8_t rest[512]; /* bytes to be written */
	uint32_t rest_len;
};

/** serial_line_init() - a line that is not open, and far_init(). @config->baud is its
 * speed, in bits a second. */
void serial_line_init(struct serial_line *l, const struct far_config *config);

/**
 * serial_line_open() - open @path for a line that is not open: a terminal, for this
 * process alone and with the speed of the line (tty.h), or a Unix socket of this user
 * or of root. Returns 0; -EINVAL: no such speed; -ENOTTY: neither a terminal nor a
 * socket; -EBUSY: another process has the terminal; -EPERM: the socket belongs to
 * another user; -ENAMETOOLONG; -errno. After an error the line is not open.
 */
int serial_line_open(struct serial_line *l, const char *path);

/** serial_line_close() - close the line and drop bytes to be written. The link
 * (far) is not told, and continues when the line is open again. */
void serial_line_close(struct serial_line *l);

/** serial_line_may_read() - does the pace allow serial_line_read() to take
 * bytes? */
bool serial_line_may_read(struct serial_line *l, uint64_t now_ns);

/**
 * serial_line_read() - read bytes into far_input(), at most 512 bytes and what
 * the pace allows. The line is open. Returns 0; -ENODATA: the other end hung up;
 * -errno. The line stays open.
 */
int serial_line_read(struct serial_line *l, uint64_t now_ns);

/**
 * serial_line_write() - write what far_output() has, as much as the pace and the other
 * end allow. The line is open.
 * Returns 0 or -errno. The line stays open.
 */
int serial_line_write(struct serial_line *l, uint64_t now_ns);

/** serial_line_has_bytes() - are there bytes to write? */
bool serial_line_has_bytes(const struct serial_line *l, uint64_t now_ns);

#endif /* SERIAL_LINE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* capture.h - a pcap file (nanoseconds) of what comes into the switch. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "frame.h"

struct capture {
	void *pcap; /* NULL: no capture */
	void *dump;
	bool dirty; /* something is not in the file yet */
	uint64_t frames;
};

/**
 * capture_open() - start a capture into @path, which is overwritten.
 * Returns NULL, or why it cannot (libpcap's text, valid until the next call).
 */
const char *capture_open(struct capture *c, const char *path);

/** capture_frame() - one frame, as its sender meant it: its ICRC is filled. */
void capture_frame(struct capture *c, struct frame *f);

/** capture_flush() - bring the file up to date. */
void capture_flush(struct capture *c);

/** capture_close() - write what is left and close the file. */
void capture_close(struct capture *c);

#endif /* CAPTURE_H */

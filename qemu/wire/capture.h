/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* capture.h - a pcap file (nanoseconds) of the frames that come into the switch. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "frame.h"

struct capture {
	void *pcap; /* NULL: no capture */
	void *dump;
	bool dirty; /* frames are buffered and not in the file */
	int err;    /* the file takes no more: it ends before this error */
	uint64_t frames;
};

/**
 * capture_open() - start a capture into @path, which is overwritten. Returns
 * NULL, or the reason (libpcap's text, valid until the next call).
 */
const char *capture_open(struct capture *c, const char *path);

/** capture_frame() - add one frame, with the ICRC that its sender meant. */
void capture_frame(struct capture *c, struct frame *f);

/** capture_flush() - write the buffered frames. 0; -errno, once: the file takes no more,
 * and no frame is added from here on. */
int capture_flush(struct capture *c);

/** capture_close() - write the buffered frames and close the file. 0, or -errno of any
 * capture_flush(). */
int capture_close(struct capture *c);

#endif /* CAPTURE_H */

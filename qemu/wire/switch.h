/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * switch.h - the learning switch: from a port through capture and faults to the
 * port where the last frame of the destination came in, or to all others.
 */
#ifndef SWITCH_H
#define SWITCH_H

#include "capture.h"
#include "faults.h"
#include "link_side.h"
#include "mac_table.h"
#include "socket_port.h"

struct port_count {
	uint64_t rx_frames;
	uint64_t rx_bytes;
	uint64_t rx_bad; /* frames of a bad length */
	uint64_t tx_frames;
	uint64_t tx_bytes;
	uint64_t tx_dropped; /* no peer, no room, or too long */
};

struct wire_switch {
	struct link_side link;
	struct socket_port sock[WIRE_SOCKS];
	int socks;
	struct mac_table macs;
	struct faults faults[WIRE_PORTS];
	struct capture capture;
	struct port_count count[WIRE_PORTS];
	uint64_t flooded;
	struct frame frame; /* the frame being forwarded */
};

/**
 * switch_link() - take up to @budget frames from the shared-memory link, NICs in
 * turn. Returns the number of frames.
 */
int switch_link(struct wire_switch *sw, int budget, uint64_t now_ns);

/** switch_socket() - as switch_link(), for socket port number @s (0..socks-1). */
int switch_socket(struct wire_switch *sw, int s, int budget, uint64_t now_ns);

/**
 * switch_delayed() - forward frames whose delay is over, and frames that a stream
 * could not take before. Returns the number of frames forwarded.
 */
int switch_delayed(struct wire_switch *sw, uint64_t now_ns);

/** switch_due() - the next time at which switch_delayed() has work; UINT64_MAX:
 * never. */
uint64_t switch_due(const struct wire_switch *sw, uint64_t now_ns);

/**
 * switch_stats() - all counters as JSON, into @path, or stdout if NULL.
 * Returns 0 or -errno.
 */
int switch_stats(const struct wire_switch *sw, const char *path);

#endif /* SWITCH_H */

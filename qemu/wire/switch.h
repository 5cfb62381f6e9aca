/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * switch.h - the learning switch: from a port through capture and faults to the
 * port at which a frame of the destination came in last, or to all others.
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
	uint64_t rx_bad; /* refused for their length */
	uint64_t tx_frames;
	uint64_t tx_bytes;
	uint64_t tx_dropped; /* no peer there, no room, or too long */
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
	struct frame frame; /* the one being worked on */
};

/**
 * switch_link() - take up to @budget frames from the shared-memory link, NICs
 * in turn. Returns how many there were.
 */
int switch_link(struct wire_switch *sw, int budget, uint64_t now_ns);

/** switch_socket() - the same for socket port number @s (0..socks-1). */
int switch_socket(struct wire_switch *sw, int s, int budget, uint64_t now_ns);

/**
 * switch_delayed() - forward what has waited long enough, and what streams could
 * not take before. Returns how many frames were forwarded.
 */
int switch_delayed(struct wire_switch *sw, uint64_t now_ns);

/** switch_due() - when switch_delayed() has work next; UINT64_MAX: never. */
uint64_t switch_due(const struct wire_switch *sw, uint64_t now_ns);

/**
 * switch_stats() - all counters as JSON, into @path, or stdout if NULL.
 * Returns 0 or -errno.
 */
int switch_stats(const struct wire_switch *sw, const char *path);

#endif /* SWITCH_H */

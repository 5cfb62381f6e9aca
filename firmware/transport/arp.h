/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * arp.h - address resolution (RFC 826) for the driver's ARP_RESOLVE, and
 * answers for our own address.
 *
 * Secret: the table and its times. Addresses are used only when a connection is
 * set up, so a forged answer harms the connection being made and no other; an
 * answer that nobody asked for changes nothing.
 */
#ifndef UNIC_ARP_H
#define UNIC_ARP_H

#include <stdbool.h>
#include <stdint.h>

struct unic_transport;
struct unic_rx;

#define UNIC_ARP_ENTRIES    16u
#define UNIC_ARP_RETRY_NS   100000000ull
#define UNIC_ARP_GIVE_UP_NS 1000000000ull
#define UNIC_ARP_AGE_NS	    60000000000ull

enum unic_arp_state {
	UNIC_ARP_FREE = 0,
	UNIC_ARP_ASKED = 1, /* request sent, waiting */
	UNIC_ARP_KNOWN = 2,
	UNIC_ARP_REPORT = 3, /* waiting for room for its ARP_RESULT */
};

struct unic_arp_entry {
	uint64_t until_ns; /* ASKED: give up; KNOWN: forget */
	uint64_t retry_ns; /* ASKED: ask again */
	uint32_t ipv4;
	uint32_t user;
	uint8_t mac[6];
	uint8_t state;
	uint8_t ok; /* REPORT */
	bool quiet; /* a queue pair wants to know, there is no ARP_RESULT */
};

struct unic_arps {
	struct unic_arp_entry entry[UNIC_ARP_ENTRIES];
	uint64_t next_ns; /* nothing is due before */
};

/** unic_arp_init() - no address is known or asked for. */
void unic_arp_init(struct unic_transport *nic);

/**
 * unic_arp_resolve() - ARP_RESOLVE for @ipv4 (host order).
 * Returns 0 with @mac; -UNIC_EPENDING: ARP_RESULT with @user follows within
 * 1 s; -UNIC_ENOROUTE: we have no address or @ipv4 is not unicast;
 * -UNIC_EBUSY: the table is full of questions.
 */
int unic_arp_resolve(struct unic_transport *nic, uint32_t ipv4, uint32_t user,
		     uint8_t mac[6]);

/** unic_arp_unicast() - is it an address that somebody may have? */
static inline bool unic_arp_unicast(uint32_t ipv4)
{
	return ipv4 && ipv4 < 0xe0000000u; /* class D and above */
}

/**
 * unic_arp_find() - as unic_arp_resolve(), for a queue pair: -UNIC_EPENDING: look
 * again later. It is asked for, unless others ask for half of the table.
 */
int unic_arp_find(struct unic_transport *nic, uint32_t ipv4, uint8_t mac[6]);

/** unic_arp_timers() - repeat and give up. Returns when to call again. */
uint64_t unic_arp_timers(struct unic_transport *nic);

/** unic_arp_frame() - a received frame of type ARP. Wrong ones are counted and
 * dropped. */
void unic_arp_frame(struct unic_transport *nic, const struct unic_rx *rx);

#endif /* UNIC_ARP_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* arp.c - see arp.h. */
#include "transport/arp.h"

#include <string.h>

#include "transport/transport.h"
#include "transport/tx.h"

#define OP_REQUEST 1u
#define OP_REPLY   2u
#define ARP_BYTES  (UNIC_ETH_BYTES + (uint32_t)sizeof(struct unic_arp))

void unic_arp_init(struct unic_transport *nic)
{
	memset(&nic->arps, 0, sizeof(nic->arps));
	nic->arps.next_ns = UINT64_MAX;
}

static void arm_arp_timer(struct unic_transport *nic, uint64_t at_ns)
{
	if (at_ns < nic->arps.next_ns)
		nic->arps.next_ns = at_ns;
	if (at_ns < nic->timers_ns)
		nic->timers_ns = at_ns;
}

static void put_ipv4(uint8_t to[4], uint32_t ipv4)
{
	unic_be32 be = unic_to_be32(ipv4);

	memcpy(to, &be, sizeof(be));
}

static uint32_t get_ipv4(const uint8_t from[4])
{
	unic_be32 be;

	memcpy(&be, from, sizeof(be));
	return unic_from_be32(be);
}

/* To @mac, or to everybody. Lost if the link is full: it is asked again. */
static void send_arp(struct unic_transport *nic, uint32_t op, uint32_t ipv4,
		     const uint8_t *mac)
{
	uint8_t frame[ARP_BYTES];
	struct unic_arp arp = {
		.htype = unic_to_be16(1),
		.ptype = unic_to_be16(UNIC_ETHERTYPE_IP),
		.hlen = 6,
		.plen = 4,
		.op = unic_to_be16((uint16_t)op),
	};

	memcpy(arp.sha, nic->link.mac, 6);
	put_ipv4(arp.spa, nic->ipv4);
	put_ipv4(arp.tpa, ipv4);
	memset(frame, 0xff, 6);
	if (mac) {
		memcpy(arp.tha, mac, 6);
		memcpy(frame, mac, 6);
	}
	memcpy(frame + 6, nic->link.mac, 6);
	frame[12] = UNIC_ETHERTYPE_ARP >> 8;
	frame[13] = UNIC_ETHERTYPE_ARP & 0xff;
	memcpy(frame + UNIC_ETH_BYTES, &arp, sizeof(arp));
	unic_tx_raw(nic, frame, sizeof(frame));
}

static void send_arp_request(struct unic_transport *nic,
			     struct unic_arp_entry *e)
{
	send_arp(nic, OP_REQUEST, e->ipv4, NULL);
	e->retry_ns = nic->now_ns + UNIC_ARP_RETRY_NS;
	arm_arp_timer(nic, e->retry_ns);
}

/* The best place for a new question: free, else the oldest answer. */
static struct unic_arp_entry *pick_arp_entry(struct unic_arps *arps)
{
	struct unic_arp_entry *best = NULL;
	uint32_t i;

	for (i = 0; i < UNIC_ARP_ENTRIES; i++) {
		struct unic_arp_entry *e = &arps->entry[i];

		if (e->state == UNIC_ARP_FREE)
			return e;
		if (e->state == UNIC_ARP_KNOWN &&
		    (!best || e->until_ns < best->until_ns))
			best = e;
	}
	return best;
}

static struct unic_arp_entry *find_arp_entry(struct unic_transport *nic,
					     uint32_t ipv4)
{
	uint32_t i;

	for (i = 0; i < UNIC_ARP_ENTRIES; i++) {
		struct unic_arp_entry *e = &nic->arps.entry[i];

		if (e->state == UNIC_ARP_KNOWN && e->ipv4 == ipv4 &&
		    e->until_ns > nic->now_ns)
			return e;
	}
	return NULL;
}

/* Our own address, and what is known. */
static bool resolve_cached(struct unic_transport *nic, uint32_t ipv4,
			   uint8_t mac[6])
{
	const struct unic_arp_entry *e = find_arp_entry(nic, ipv4);

	if (ipv4 == nic->ipv4)
		memcpy(mac, nic->link.mac, 6);
	else if (e)
		memcpy(mac, e->mac, 6);
	return e || ipv4 == nic->ipv4;
}

static void start_arp_query(struct unic_transport *nic,
			    struct unic_arp_entry *e, uint32_t ipv4,
			    uint32_t user, bool quiet)
{
	memset(e, 0, sizeof(*e));
	e->state = UNIC_ARP_ASKED;
	e->ipv4 = ipv4;
	e->user = user;
	e->quiet = quiet;
	e->until_ns = nic->now_ns + UNIC_ARP_GIVE_UP_NS;
	send_arp_request(nic, e);
}

int unic_arp_resolve(struct unic_transport *nic, uint32_t ipv4, uint32_t user,
		     uint8_t mac[6])
{
	struct unic_arp_entry *e;

	if (!nic->ipv4 || !unic_arp_unicast(ipv4))
		return -UNIC_ENOROUTE;
	if (resolve_cached(nic, ipv4, mac))
		return 0;
	e = pick_arp_entry(&nic->arps);
	if (!e)
		return -UNIC_EBUSY;
	start_arp_query(nic, e, ipv4, user, false);
	return -UNIC_EPENDING;
}

int unic_arp_find(struct unic_transport *nic, uint32_t ipv4, uint8_t mac[6])
{
	struct unic_arp_entry *e;
	uint32_t i, quiet = 0;

	if (resolve_cached(nic, ipv4, mac))
		return 0;
	for (i = 0; i < UNIC_ARP_ENTRIES; i++) {
		e = &nic->arps.entry[i];
		if (e->state != UNIC_ARP_ASKED)
			continue;
		if (e->ipv4 == ipv4)
			return -UNIC_EPENDING;
		quiet += e->quiet;
	}
	e = quiet < UNIC_ARP_ENTRIES / 2 ? pick_arp_entry(&nic->arps) : NULL;
	if (e)
		start_arp_query(nic, e, ipv4, 0, true);
	return -UNIC_EPENDING;
}

static bool publish_arp_event(struct unic_transport *nic,
			      const struct unic_arp_entry *e)
{
	struct unic_evt_arp evt = {
		.hdr = { .type = UNIC_EVT_ARP_RESULT,
			 .proc = unic_to_le16(0xffff) },
		.ipv4 = unic_to_le32(e->ipv4),
		.user = unic_to_le32(e->user),
		.ok = e->ok,
	};

	memcpy(evt.mac, e->mac, sizeof(evt.mac));
	return unic_mbox_event(&nic->base, &evt);
}

/* The question is answered, one way or the other. */
static void finish_arp_query(struct unic_transport *nic,
			     struct unic_arp_entry *e)
{
	if (!e->quiet && !publish_arp_event(nic, e)) {
		e->state = UNIC_ARP_REPORT;
		e->retry_ns = nic->now_ns + UNIC_ARP_RETRY_NS / 100;
		arm_arp_timer(nic, e->retry_ns);
		return;
	}
	e->state = e->ok ? UNIC_ARP_KNOWN : UNIC_ARP_FREE;
	e->until_ns = nic->now_ns + UNIC_ARP_AGE_NS;
}

static void poll_arp_entry(struct unic_transport *nic, struct unic_arp_entry *e)
{
	if (e->state == UNIC_ARP_FREE || e->state == UNIC_ARP_KNOWN)
		return;
	if (e->state == UNIC_ARP_REPORT)
		finish_arp_query(nic, e);
	else if (nic->now_ns >= e->until_ns)
		finish_arp_query(nic, e);
	else if (nic->now_ns >= e->retry_ns)
		send_arp_request(nic, e);
	else
		arm_arp_timer(nic, e->retry_ns);
}

uint64_t unic_arp_timers(struct unic_transport *nic)
{
	uint32_t i;

	if (nic->now_ns < nic->arps.next_ns)
		return nic->arps.next_ns;
	nic->arps.next_ns = UINT64_MAX;
	for (i = 0; i < UNIC_ARP_ENTRIES; i++)
		poll_arp_entry(nic, &nic->arps.entry[i]);
	return nic->arps.next_ns;
}

/* Answers count only for questions; known addresses are not overwritten. */
static void handle_arp_reply(struct unic_transport *nic, uint32_t ipv4,
			     const uint8_t mac[6])
{
	uint32_t i;

	for (i = 0; i < UNIC_ARP_ENTRIES; i++) {
		struct unic_arp_entry *e = &nic->arps.entry[i];

		if (e->state != UNIC_ARP_ASKED || e->ipv4 != ipv4)
			continue;
		memcpy(e->mac, mac, 6);
		e->ok = 1;
		finish_arp_query(nic, e);
	}
}

void unic_arp_frame(struct unic_transport *nic, const struct unic_rx *rx)
{
	struct unic_arp arp;

	if (rx->len < ARP_BYTES) {
		UNIC_COUNT(nic, rx_short);
		return;
	}
	memcpy(&arp, rx->frame + UNIC_ETH_BYTES, sizeof(arp));
	if (unic_from_be16(arp.htype) != 1 ||
	    unic_from_be16(arp.ptype) != UNIC_ETHERTYPE_IP || arp.hlen != 6 ||
	    arp.plen != 4 || (arp.sha[0] & 1) || !nic->ipv4 ||
	    get_ipv4(arp.tpa) != nic->ipv4) {
		UNIC_COUNT(nic, rx_not_ours);
		return;
	}
	if (unic_from_be16(arp.op) == OP_REQUEST)
		send_arp(nic, OP_REPLY, get_ipv4(arp.spa), arp.sha);
	else if (unic_from_be16(arp.op) == OP_REPLY)
		handle_arp_reply(nic, get_ipv4(arp.spa), arp.sha);
	else
		UNIC_COUNT(nic, rx_not_ours);
}

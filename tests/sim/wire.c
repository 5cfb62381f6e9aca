/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* wire.c - a switch that loses, repeats, delays, reorders, damages frames. */
#include "world.h"

#include "unic_wire.h"

struct flying {
	struct flying *next; /* in a ring */
	uint32_t from, to, len, flags;
	uint8_t pad[2];
	uint8_t bytes[];
};

/* With links, each NIC has a ring for each other NIC. */
static void enter(struct flying *f)
{
	struct unic_port *p = &world->node[f->to]->port;
	struct flying **at = &world->ring[f->to][f->from].first;

	if (*at)
		at = &world->ring[f->to][f->from].last->next;
	*at = f;
	world->ring[f->to][f->from].last = f;
	p->rx_rings++;
	if (p->armed)
		p->wake(p);
}

void world_fetch(struct node *n)
{
	struct flying *f;
	uint32_t i;

	do
		n->turn = (n->turn + 1) % world->nodes;
	while (!world->ring[n->id][n->turn].first);
	for (i = 0; i < UNIC_RX_BUFS; i++) {
		f = world->ring[n->id][n->turn].first;
		if (!f)
			return;
		world->ring[n->id][n->turn].first = f->next;
		n->port.rx_rings--;
		port_deliver(&n->port, f->from, f->bytes, f->len, f->flags);
		sim_free(f);
	}
}

static void land(void *ctx, uint64_t arg)
{
	struct flying *f = ctx;
	const struct port_link *link = &world->node[f->to]->port.link;

	(void)arg;
	if (link->byte_ps && !link->one) {
		enter(f);
		return;
	}
	port_deliver(&world->node[f->to]->port, f->from, f->bytes, f->len,
		     f->flags);
	sim_free(f);
}

static void damage(struct flying *f, struct sim_rng *r)
{
	uint32_t bits = 1 + sim_below(r, 3);

	while (bits--)
		f->bytes[sim_below(r, f->len)] ^=
			(uint8_t)(1u << sim_below(r, 8));
}

/* Does an ICRC guard byte @at? Not the Ethernet header, nor what routers change: TOS,
 * TTL, both checksums, a byte of the BTH. */
static bool is_guarded(uint32_t at)
{
	uint32_t udp = UNIC_ETH_BYTES + UNIC_IP_BYTES;

	return at >= UNIC_ETH_BYTES && at != UNIC_ETH_BYTES + 1 &&
	       at != UNIC_ETH_BYTES + 8 && at / 2 != UNIC_ETH_BYTES / 2 + 5 &&
	       at / 2 != udp / 2 + 3 && at != UNIC_BTH_OFF + 4;
}

/* Must the receiver drop the frame? One damaged in other bytes may be taken. */
static bool is_damaged(const struct flying *f, const uint8_t *was)
{
	uint32_t i;

	for (i = 0; i < f->len; i++)
		if (f->bytes[i] != was[i] && is_guarded(i))
			return true;
	return false;
}

static void fly(uint32_t from, uint32_t to, const uint8_t *frame, uint32_t len,
		uint32_t flags)
{
	struct sim_rng *r = &world->wire_rng;
	struct flying *f = sim_alloc(sizeof(*f) + len);
	uint64_t at = sim_now() + sim_range(r, 500, 3 * US);
	uint64_t *last = &world->wire_ns[from][to];

	f->from = from;
	f->to = to;
	f->len = len;
	f->flags = flags;
	memcpy(f->bytes, frame, len);
	if (world->node[from]->port.icrc && sim_chance(r, world->odds.corrupt))
		damage(f, r);
	if (is_damaged(f, frame))
		f->flags |= PORT_DAMAGED;
	if (sim_chance(r, world->odds.reorder))
		at += sim_range(r, 0, world->odds.delay_ns);
	else if (at < *last)
		at = *last;
	else
		*last = at;
	if (world->odds.byte_ns) { /* one more may wait in the port */
		world->node[from]->port.busy_ns = *last;
		*last += (uint64_t)len * world->odds.byte_ns;
	}
	sim_at(at, land, f, 0);
}

/* A link with a rate: nothing is by chance. */
static void leave(uint32_t from, uint32_t to, const uint8_t *frame,
		  uint32_t len, uint32_t flags)
{
	struct unic_port *p = &world->node[from]->port;
	uint64_t at = port_link_put(p, to, len);
	struct flying *f;

	if (world->left)
		world->left(from, to, len + p->link.frame_bytes, at);
	if (world->far[to] == WORLD_FAR_STANDS)
		return;
	if (world->far[to] == WORLD_FAR_SILENT ||
	    (world->lose[to] && ++world->frames[to] % world->lose[to] == 0)) {
		world->frames_lost++;
		port_link_taken(p, to);
		return;
	}
	if (p->link.prompt)
		port_link_taken(p, to);
	f = sim_alloc(sizeof(*f) + len);
	f->from = from;
	f->to = to;
	f->len = len;
	f->flags = flags;
	memcpy(f->bytes, frame, len);
	sim_at(at + p->link.delay_ns, land, f, 0);
}

static void carry(uint32_t from, uint32_t to, const uint8_t *frame,
		  uint32_t len, uint32_t flags)
{
	struct sim_rng *r = &world->wire_rng;

	if (sim_chance(r, world->odds.loss)) {
		world->frames_lost++;
		return;
	}
	if (world->node[from]->port.link.byte_ps) {
		leave(from, to, frame, len, flags);
		return;
	}
	fly(from, to, frame, len, flags);
	if (sim_chance(r, world->odds.dup)) {
		world->frames_made++;
		fly(from, to, frame, len, flags);
	}
}

void world_forge(uint32_t to, const uint8_t *frame, uint32_t len,
		 uint64_t at_ns, uint32_t flags)
{
	struct flying *f = sim_alloc(sizeof(*f) + len);

	f->from = f->to = to;
	f->len = len;
	f->flags = flags & ~WORLD_REPLAYED;
	if (!(flags & WORLD_REPLAYED))
		f->flags |= PORT_FORGED;
	memcpy(f->bytes, frame, len);
	world->frames_made++;
	sim_at(at_ns, land, f, 0);
}

void world_wire(uint32_t from, const uint8_t *frame, uint32_t len,
		uint32_t flags)
{
	uint32_t i;
	uint8_t mac[6];

	if (world->heard)
		world->heard(from, frame, len);
	if (frame[0] & 1) { /* broadcast: to all but the sender */
		for (i = 0; i < world->nodes; i++)
			if (i != from)
				carry(from, i, frame, len, flags);
		world->frames_made += world->nodes - 1;
		world->frames_lost++;
		return;
	}
	for (i = 0; i < world->nodes; i++) {
		port_mac((uint8_t)i, mac);
		if (!memcmp(mac, frame, 6)) {
			carry(from, i, frame, len, flags);
			return;
		}
	}
	world->frames_lost++;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * identity.c - whose a frame is. Frames of a NIC go to the link address of the host
 * whose address they have. A forged frame changes nothing, unless it may be taken for
 * one of the peer.
 *
 * RoCEv2 proves nothing, so that is so if a frame is well-formed and has the address of
 * the peer, the number of the queue pair, and a PSN that may be the next, or was a
 * moment ago (RC); the first two (UC); the Q_Key (UD). From then on that connection is
 * spoiled until it is made anew: its operations may end in any way, its messages and
 * the bytes that its operations place may be any. Still bytes are placed only where an
 * operation of that connection was to place some, and each operation ends once, and in
 * order. All other connections are checked as if there were no forged frame.
 *
 * An answer by ARP that comes before the true one turns datagrams for that address away.
 */
#include "check.h"

#include <string.h>

#include "app_op.h"
#include "lives.h"
#include "oracle.h"
#include "unic_wire.h"

#define MINE(node) (0x0a000001u + (node))

static struct {
	bool asked; /* by ARP, and not answered */
	bool fooled;
} (*known)[WORLD_NODES]; /* [who][of whom] */

void identity_reset(void)
{
	known = sim_alloc(WORLD_NODES * sizeof(*known));
}

static uint32_t get(const uint8_t *at, uint32_t bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | *at++;
	return v;
}

/* ------------------------------------------------------------------- frames */

static bool is_sum_right(const uint8_t *ip)
{
	uint32_t i, sum = 0;

	for (i = 0; i < UNIC_IP_BYTES; i += 2)
		sum += get(ip + i, 2);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

/* As abi/unic_wire.h says of each field. */
static bool is_well_formed(const struct node *n, const uint8_t *f, uint32_t len)
{
	const uint8_t *ip = f + UNIC_ETH_BYTES, *udp = ip + UNIC_IP_BYTES;
	const uint8_t *bth = f + UNIC_BTH_OFF;
	uint32_t ip_len;
	uint8_t mac[6];

	if (len < UNIC_EXT_OFF + UNIC_ICRC_BYTES)
		return false;
	port_mac((uint8_t)n->id, mac);
	ip_len = get(ip + 2, 2);
	return !memcmp(f, mac, 6) && get(f + 12, 2) == UNIC_ETHERTYPE_IP &&
	       ip[0] == 0x45 && ip_len % 4 == 0 && ip_len >= 44 &&
	       ip_len <= len - UNIC_ETH_BYTES && !(get(ip + 6, 2) & 0x3fff) &&
	       ip[9] == 17 && is_sum_right(ip) &&
	       get(ip + 16, 4) == MINE(n->id) &&
	       get(udp + 2, 2) == UNIC_ROCE_PORT &&
	       get(udp + 4, 2) == ip_len - UNIC_IP_BYTES && !(bth[1] & 0xf) &&
	       (get(bth + 2, 2) & 0x7fff) == 0x7fff;
}

static bool is_answer(uint8_t opcode)
{
	return (opcode >= UNIC_OP_READ_RESP_FIRST &&
		opcode <= UNIC_OP_ATOMIC_ACK) ||
	       opcode == UNIC_OP_VACK;
}

/* May the well-formed frame be taken for one of @q's peer? */
static bool is_of_peer(const struct node *n, const struct qp *q,
		       const uint8_t *f)
{
	const struct qp *peer = q->link->qp[!q->end];
	const uint8_t *bth = f + UNIC_BTH_OFF;
	uint32_t psn = get(bth + 8, 4) & UNIC_PSN_MASK;
	bool named = get(f + UNIC_ETH_BYTES + 12, 4) == MINE(peer->app->node);

	switch (q->link->type) {
	case UNIC_QPT_UD:
		return get(f + UNIC_EXT_OFF, 4) == app_qkey(q->link);
	case UNIC_QPT_UC:
		return named && bth[0] >> 5 == UNIC_OP_UC_SEND_FIRST >> 5;
	default:
		return named && bth[0] >> 5 != UNIC_OP_UC_SEND_FIRST >> 5 &&
		       lives_may_take(n, q->qpn, psn, is_answer(bth[0]));
	}
}

/* ------------------------------------------------------------------ spoiled */

bool op_spoiled(const struct op *o)
{
	return o->gen <= o->link->spoiled;
}

/* Operations that are open may place any bytes. */
static void any_bytes(const struct link *l)
{
	uint32_t i, k;

	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_OPEN; k++)
			if (apps[i]->op[k].state != OP_FREE &&
			    apps[i]->op[k].link == l)
				oracle_any(apps[i]->op[k].grant);
}

static void spoil(struct qp *q)
{
	struct link *l = q->link;
	uint32_t gen = q->state == QP_BUSY ? l->gen : q->gen;

	if (l->spoiled >= gen)
		return;
	sim_log("the connection of QP %x at app %u is spoiled", q->qpn,
		q->app->index);
	l->spoiled = gen;
	any_bytes(l);
	lives_unknown(l, 0);
	lives_unknown(l, 1);
}

static bool took_roce(const struct node *n, const uint8_t *f, uint32_t len)
{
	uint32_t i, k, qpn = get(f + UNIC_BTH_OFF + 4, 4) & UNIC_QPN_MASK;
	bool any = false;

	if (!is_well_formed(n, f, len))
		return false;
	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_QPS && apps[i]->node == n->id; k++) {
			struct qp *q = &apps[i]->qp[k];

			if (!q->link || q->qpn != qpn || !is_of_peer(n, q, f))
				continue;
			spoil(q);
			lives_spoil(n, qpn);
			any = true;
		}
	return any;
}

/* ---------------------------------------------------------------------- ARP */

static bool is_arp(const uint8_t *f, uint32_t len)
{
	return len >= UNIC_ETH_BYTES + 28 &&
	       get(f + 12, 2) == UNIC_ETHERTYPE_ARP;
}

static void took_arp(const struct node *n, const uint8_t *f, bool forged)
{
	uint32_t of = get(f + UNIC_ETH_BYTES + 14, 4) - MINE(0);

	if (of >= WORLD_NODES || get(f + UNIC_ETH_BYTES + 6, 2) != 2)
		return;
	/* a question for which the link had no room is open, too */
	if (!known[n->id][of].asked && !n->port.was_full)
		return;
	known[n->id][of].fooled |= forged;
	known[n->id][of].asked &= forged; /* it may be wrong otherwise */
}

/* -------------------------------------------------------------------- frames */

bool identity_took(const struct node *n, const uint8_t *f, uint32_t len,
		   bool forged)
{
	if (is_arp(f, len))
		took_arp(n, f, forged);
	return !forged || took_roce(n, f, len);
}

static void ask(const struct node *n, const uint8_t *f)
{
	uint32_t of = get(f + UNIC_ETH_BYTES + 24, 4) - MINE(0);

	if (get(f + UNIC_ETH_BYTES + 6, 2) == 1 && of < WORLD_NODES)
		known[n->id][of].asked = true;
}

void identity_sent(const struct node *n, const uint8_t *f, uint32_t len)
{
	uint32_t to;
	uint8_t mac[6];

	if (is_arp(f, len))
		ask(n, f);
	if (len < UNIC_EXT_OFF || get(f + 12, 2) != UNIC_ETHERTYPE_IP ||
	    (get(f + UNIC_BTH_OFF + 4, 4) & UNIC_QPN_MASK) == 1)
		return; /* who asked has the answer */
	to = get(f + UNIC_ETH_BYTES + 16, 4) - MINE(0);
	port_mac((uint8_t)to, mac);
	if (to >= world->nodes ||
	    (memcmp(f, mac, 6) && !known[n->id][to].fooled))
		sim_fail("identity",
			 "nic %u sends a frame for address %x to another host",
			 n->id, MINE(to));
}

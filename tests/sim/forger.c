/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* forger.c - what the attacker hears and sends; see forger.h. */
#include "forger.h"

#include <string.h>

#include "app.h"
#include "core.h"
#include "unic_wire.h"

#define HEARD 16u /* frames that he keeps */
#define UDP   (UNIC_ETH_BYTES + UNIC_IP_BYTES)
#define ODDS  300000u /* of a frame in answer to one that he hears */

struct heard {
	uint32_t from, to, len;
	uint8_t bytes[PORT_FRAME_MAX];
};

static const struct scenario *scn;
static struct heard *heard; /* a ring */
static uint32_t n_heard;
static struct sim_rng rng[SCN_FORGES];
static uint32_t shots[SCN_FORGES];

/* The frame that is being made. */
static struct {
	uint32_t to, len;
	uint8_t bytes[PORT_FRAME_MAX];
} out;

static uint32_t get(const uint8_t *at, uint32_t bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | *at++;
	return v;
}

static void put(uint8_t *at, uint32_t bytes, uint32_t v)
{
	while (bytes--)
		at[bytes] = (uint8_t)v, v >>= 8;
}

static bool is_roce(const struct heard *h)
{
	return h->len >= UNIC_EXT_OFF + UNIC_ICRC_BYTES &&
	       get(h->bytes + 12, 2) == UNIC_ETHERTYPE_IP;
}

static uint32_t dqpn(const struct heard *h)
{
	return get(h->bytes + UNIC_BTH_OFF + 4, 4) & UNIC_QPN_MASK;
}

/* ------------------------------------------------------------------ guesses */

/* What is close to @v, as a counter would make it, or anything. */
static uint32_t guess(struct sim_rng *r, uint32_t v)
{
	switch (sim_below(r, 8)) {
	case 0:
		return v + 1;
	case 1:
		return v - 1;
	case 2:
		return v + sim_below(r, 64);
	case 3:
		return v - sim_below(r, 64);
	case 4:
		return (uint32_t)sim_u64(r);
	default:
		return v;
	}
}

static uint32_t guess_length(struct sim_rng *r)
{
	static const uint32_t some[] = {
		0,	     1,		 16,   255,	     256,
		257,	     1024,	 4096, UNIC_MSG_MAX, UNIC_MSG_MAX + 1,
		0x80000000u, 0xffffffffu
	};

	return some[sim_below(r, sizeof(some) / sizeof(some[0]))];
}

/* Never a key that he heard: near it, or anything. */
static uint32_t guess_key(struct sim_rng *r, uint32_t key)
{
	return sim_below(r, 2) ? key ^ 1u << sim_below(r, 32)
			       : (uint32_t)sim_u64(r);
}

/* A number that somebody used with @to, or a guess. */
static uint32_t guess_number(struct sim_rng *r, uint32_t from, uint32_t to)
{
	uint32_t i, at = sim_below(r, HEARD);

	for (i = 0; i < HEARD; i++) {
		const struct heard *h = &heard[(at + i) % HEARD];

		if (is_roce(h) && h->to == to && h->from == from)
			return dqpn(h);
	}
	return (uint32_t)sim_u64(r) & UNIC_QPN_MASK;
}

/* -------------------------------------------------------------- composition */

static uint16_t ip_sum(const uint8_t *ip)
{
	uint32_t i, sum = 0;

	for (i = 0; i < UNIC_IP_BYTES; i += 2)
		sum += i == 10 ? 0 : get(ip + i, 2);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

static void set_sum(void)
{
	put(out.bytes + UNIC_ETH_BYTES + 10, 2,
	    ip_sum(out.bytes + UNIC_ETH_BYTES));
}

/* The frame ends behind @len bytes at most and an ICRC: what is behind Ethernet is a
 * multiple of 4. */
static void set_length(uint32_t len)
{
	out.len = ((len - UNIC_ETH_BYTES) & ~3u) + UNIC_ETH_BYTES +
		  UNIC_ICRC_BYTES;
	put(out.bytes + UNIC_ETH_BYTES + 2, 2, out.len - UNIC_ETH_BYTES);
	put(out.bytes + UDP + 4, 2, out.len - UDP);
	set_sum();
}

static void set_addresses(uint32_t from, uint32_t to)
{
	uint8_t *ip = out.bytes + UNIC_ETH_BYTES;

	out.to = to;
	port_mac((uint8_t)to, out.bytes);
	port_mac((uint8_t)from, out.bytes + 6);
	put(ip + 12, 4, 0x0a000001u + from);
	put(ip + 16, 4, 0x0a000001u + to);
}

static const uint8_t requests[] = {
	UNIC_OP_SEND_FIRST,	   UNIC_OP_SEND_MIDDLE,
	UNIC_OP_SEND_LAST,	   UNIC_OP_SEND_ONLY,
	UNIC_OP_SEND_ONLY_IMM,	   UNIC_OP_WRITE_FIRST,
	UNIC_OP_WRITE_MIDDLE,	   UNIC_OP_WRITE_LAST,
	UNIC_OP_WRITE_LAST_IMM,	   UNIC_OP_WRITE_ONLY,
	UNIC_OP_WRITE_ONLY_IMM,	   UNIC_OP_READ_REQUEST,
	UNIC_OP_SEND_LAST_INV,	   UNIC_OP_SEND_ONLY_INV,
	UNIC_OP_COMPARE_SWAP,	   UNIC_OP_UC_SEND_FIRST,
	UNIC_OP_UC_SEND_ONLY,	   UNIC_OP_UC_WRITE_FIRST,
	UNIC_OP_UC_WRITE_LAST,	   UNIC_OP_UC_WRITE_ONLY,
	UNIC_OP_UC_WRITE_ONLY_IMM, UNIC_OP_UD_SEND_ONLY,
	UNIC_OP_TOKEN_FIRST,	   UNIC_OP_TOKEN_MIDDLE,
	UNIC_OP_TOKEN_LAST,	   UNIC_OP_TOKEN_ONLY,
};
static const uint8_t answers[] = {
	UNIC_OP_ACK,
	UNIC_OP_ACK,
	UNIC_OP_ACK,
	UNIC_OP_READ_RESP_FIRST,
	UNIC_OP_READ_RESP_MIDDLE,
	UNIC_OP_READ_RESP_LAST,
	UNIC_OP_READ_RESP_ONLY,
	UNIC_OP_VACK,
	UNIC_OP_VACK,
	UNIC_OP_ATOMIC_ACK,
};

static uint8_t syndrome(struct sim_rng *r)
{
	static const uint8_t some[] = {
		UNIC_AETH_ACK_NOCREDIT, UNIC_AETH_ACK,	    UNIC_AETH_RNR | 1,
		UNIC_NAK_PSN_SEQ,	UNIC_NAK_INV_REQ,   UNIC_NAK_REM_ACCESS,
		UNIC_NAK_REM_OP,	UNIC_AETH_NAK | 5u, 0x40
	};

	return some[sim_below(r, sizeof(some))];
}

static bool has_reth(uint8_t opcode)
{
	uint8_t op = opcode < 0x40 ? opcode & 0x1f : opcode;

	return op == UNIC_OP_WRITE_FIRST || op == UNIC_OP_WRITE_ONLY ||
	       op == UNIC_OP_WRITE_ONLY_IMM || op == UNIC_OP_READ_REQUEST;
}

/* The header behind the BTH; what it names he knows or guesses, but for keys. */
static void put_extension(struct sim_rng *r, uint8_t opcode)
{
	uint8_t *ext = out.bytes + UNIC_EXT_OFF;

	if (has_reth(opcode)) {
		put(ext + 4, 4, guess(r, get(ext + 4, 4)));
		put(ext + 8, 4, guess_key(r, get(ext + 8, 4)));
		put(ext + 12, 4, guess_length(r));
	} else if (opcode == UNIC_OP_TOKEN_FIRST ||
		   opcode == UNIC_OP_TOKEN_ONLY) {
		put(ext, 4, sim_below(r, 64));
		put(ext + 4, 4, guess_key(r, get(ext + 4, 4)));
		put(ext + 12, 4, guess_length(r));
		put(ext + 16, 4, sim_below(r, 4) ? 16 : guess_length(r));
		put(ext + 20, 4, sim_below(r, 2) ? 0 : guess_length(r));
	} else if (opcode == UNIC_OP_VACK) {
		put(ext, 4, sim_below(r, 5));
		put(ext + 4, 4, sim_below(r, 2) ? 50 : guess_length(r));
	} else if (opcode == UNIC_OP_SEND_LAST_INV ||
		   opcode == UNIC_OP_SEND_ONLY_INV ||
		   opcode >> 5 == UNIC_OP_UD_SEND_ONLY >> 5) {
		put(ext, 4, guess_key(r, get(ext, 4)));
	} else if (opcode >= UNIC_OP_READ_RESP_FIRST &&
		   opcode <= UNIC_OP_ATOMIC_ACK) {
		ext[0] = syndrome(r);
	}
}

static uint32_t some_bytes(struct sim_rng *r, uint32_t was)
{
	switch (sim_below(r, 4)) {
	case 0:
		return was;
	case 1:
		return UNIC_EXT_OFF + (1u << app_mtu_shift()) +
		       16 * sim_below(r, 2);
	case 2:
		return UNIC_EXT_OFF + 4 * sim_below(r, 12);
	default:
		return UNIC_EXT_OFF + sim_below(r, 1200);
	}
}

/* Whatever it is, one of the fields of the frame is another one. */
static void spoil(struct sim_rng *r)
{
	uint32_t at = sim_below(r, UNIC_EXT_OFF + 4);

	if (at < UNIC_BTH_OFF + 4 || at >= UNIC_EXT_OFF)
		out.bytes[at] ^= (uint8_t)(1u << sim_below(r, 8));
	else
		out.bytes[at] = (uint8_t)sim_u64(r);
	if (sim_below(r, 2))
		set_sum();
}

static void send(struct sim_rng *r)
{
	bool icrc = scn->icrc, wrong = false;
	uint32_t crc, body = out.len - UNIC_ICRC_BYTES;

	if (icrc && out.len >= UNIC_EXT_OFF + UNIC_ICRC_BYTES) {
		crc = core_icrc(out.bytes, body);
		wrong = !sim_below(r, 8);
		if (wrong)
			crc ^= 1u << sim_below(r, 32);
		memcpy(out.bytes + body, &(unic_le32){ unic_to_le32(crc) }, 4);
	}
	world_forge(out.to, out.bytes, out.len,
		    sim_now() + sim_range(r, 300, 2 * US),
		    (icrc ? 0 : UNIC_FRAME_NO_ICRC) |
			    (wrong ? PORT_DAMAGED : 0));
}

/* The opcode of a packet that goes on with the message of @op, or @op. */
static uint8_t next_of(struct sim_rng *r, uint8_t op)
{
	uint8_t rc = op < 0x40 ? op & 0x1f : op;

	if (rc == UNIC_OP_SEND_FIRST || rc == UNIC_OP_WRITE_FIRST ||
	    rc == UNIC_OP_TOKEN_FIRST)
		return (uint8_t)(op + 1 + sim_below(r, 2));
	if (rc == UNIC_OP_SEND_MIDDLE || rc == UNIC_OP_WRITE_MIDDLE ||
	    rc == UNIC_OP_TOKEN_MIDDLE)
		return (uint8_t)(op + sim_below(r, 2));
	return op;
}

/* The packet behind @h, which he sent, before the true one. */
static void go_on(struct sim_rng *r, const struct heard *h, uint8_t opcode)
{
	uint8_t *bth = out.bytes + UNIC_BTH_OFF;
	uint32_t mtu = 1u << app_mtu_shift();

	memset(out.bytes, 0x5a, sizeof(out.bytes));
	memcpy(out.bytes, h->bytes, UNIC_EXT_OFF);
	out.to = h->to;
	bth[0] = opcode;
	put(bth + 8, 4, (get(bth + 8, 4) + 1) & UNIC_PSN_MASK);
	set_length(UNIC_EXT_OFF + (sim_below(r, 2) ? mtu : sim_below(r, mtu)));
}

/* As if by the peer that sent @h, or by the one that it was for. */
static void compose(struct sim_rng *r, const struct heard *h)
{
	bool back = sim_below(r, 2);
	uint32_t from = back ? h->to : h->from, to = back ? h->from : h->to;
	uint8_t *bth = out.bytes + UNIC_BTH_OFF;
	uint8_t opcode = h->bytes[UNIC_BTH_OFF];

	memset(out.bytes, 0x5a, sizeof(out.bytes));
	memcpy(out.bytes, h->bytes, h->len);
	set_addresses(from, to);
	if (back) {
		put(bth + 4, 4, guess_number(r, from, to));
		opcode = answers[sim_below(r, sizeof(answers))];
	} else if (sim_below(r, 2)) {
		opcode = requests[sim_below(r, sizeof(requests))];
	} else if (!sim_below(r, 8)) {
		opcode = (uint8_t)sim_u64(r);
	}
	bth[0] = opcode;
	put(bth + 8, 4,
	    (guess(r, get(bth + 8, 4)) & UNIC_PSN_MASK) |
		    (sim_below(r, 2) ? UNIC_BTH_ACKREQ : 0));
	put_extension(r, opcode);
	if (sim_below(r, 2))
		bth[1] = (uint8_t)(bth[1] & ~UNIC_BTH_PAD_MASK) |
			 (uint8_t)(sim_below(r, 4) << UNIC_BTH_PAD_SHIFT);
	set_length(some_bytes(r, h->len - UNIC_ICRC_BYTES));
}

/* ---------------------------------------------------------- kinds of forging */

static void forge_frame(struct sim_rng *r, const struct heard *h)
{
	uint8_t opcode = h->bytes[UNIC_BTH_OFF];
	uint8_t next = next_of(r, opcode);

	if (next != opcode || opcode == UNIC_OP_WRITE_MIDDLE)
		go_on(r, h, next);
	else
		compose(r, h);
	if (!sim_below(r, 4))
		spoil(r);
	send(r);
}

/* As above, but of the wrong address, to the wrong number, of a wrong PSN, or with a
 * wrong sum. */
static void forge_stranger(struct sim_rng *r, const struct heard *h)
{
	uint8_t *ip = out.bytes + UNIC_ETH_BYTES;
	uint8_t *bth = out.bytes + UNIC_BTH_OFF;
	uint32_t psn, what = sim_below(r, 5);

	compose(r, h);
	psn = get(bth + 8, 4);
	switch (what) {
	case 0: /* of another host, who may exist */
		put(ip + 12, 4, get(ip + 12, 4) ^ 1u << sim_below(r, 4));
		break;
	case 1:
		put(bth + 4, 4,
		    sim_below(r, 2) ? guess_number(r, sim_below(r, scn->nodes),
						   sim_below(r, scn->nodes))
				    : get(bth + 4, 4) ^ 1u << sim_below(r, 16));
		break;
	case 2:
		psn += (uint32_t)sim_range(r, 0x1000, 0x7ff000);
		put(bth + 8, 4,
		    (psn & UNIC_PSN_MASK) | (get(bth + 8, 4) & ~UNIC_PSN_MASK));
		break;
	case 3:
		spoil(r);
		break;
	default:
		break;
	}
	set_sum();
	if (what == 4)
		ip[10 + sim_below(r, 2)] ^= (uint8_t)(1u << sim_below(r, 8));
	send(r);
}

/* Verbatim, so that it is no forged frame for the checkers. */
static void forge_replay(struct sim_rng *r)
{
	const struct heard *h = &heard[sim_below(r, HEARD)];

	if (h->len)
		world_forge(h->to, h->bytes, h->len,
			    sim_now() + sim_range(r, 300, 500 * US),
			    (scn->icrc ? 0 : UNIC_FRAME_NO_ICRC) |
				    WORLD_REPLAYED);
}

/* He is at this link address, with anybody's address above it. */
static const uint8_t his_mac[6] = { 0x02, 'e', 'v', 'i', 'l', 1 };

static void forge_arp(struct sim_rng *r)
{
	uint8_t *a = out.bytes + UNIC_ETH_BYTES;
	uint32_t to = sim_below(r, scn->nodes);

	memset(out.bytes, 0, sizeof(out.bytes));
	port_mac((uint8_t)to, out.bytes);
	memcpy(out.bytes + 6, his_mac, 6);
	put(out.bytes + 12, 2, UNIC_ETHERTYPE_ARP);
	put(a, 2, 1);
	put(a + 2, 2, UNIC_ETHERTYPE_IP);
	a[4] = 6;
	a[5] = 4;
	put(a + 6, 2, sim_below(r, 4) ? 2 : sim_below(r, 4));
	memcpy(a + 8, his_mac, 6);
	put(a + 14, 4, 0x0a000001u + sim_below(r, scn->nodes));
	port_mac((uint8_t)to, a + 18);
	put(a + 24, 4, 0x0a000001u + to);
	out.to = to;
	out.len = UNIC_ETH_BYTES + 28;
	if (!sim_below(r, 4))
		a[sim_below(r, 28)] ^= (uint8_t)(1u << sim_below(r, 8));
	if (!sim_below(r, 8))
		out.len = sim_below(r, out.len);
	world_forge(out.to, out.bytes, out.len,
		    sim_now() + sim_range(r, 300, 2 * US), UNIC_FRAME_NO_ICRC);
}

/* A management datagram, of anybody or of himself. */
static void forge_mad(struct sim_rng *r, const struct heard *h)
{
	uint8_t *bth = out.bytes + UNIC_BTH_OFF;

	memset(out.bytes, 0, sizeof(out.bytes));
	memcpy(out.bytes, h->bytes, UNIC_EXT_OFF);
	set_addresses(sim_below(r, scn->nodes), sim_below(r, scn->nodes));
	if (sim_below(r, 2))
		memcpy(out.bytes + 6, his_mac, 6);
	put(bth, 4, (uint32_t)UNIC_OP_UD_SEND_ONLY << 24 | 0xffff);
	put(bth + 4, 4, 1);
	put(out.bytes + UNIC_EXT_OFF, 4, UNIC_QKEY_GSI);
	put(out.bytes + UNIC_EXT_OFF + 4, 4, sim_below(r, 4));
	core_mad(r, get(out.bytes + UNIC_ETH_BYTES + 12, 4),
		 get(out.bytes + UNIC_ETH_BYTES + 16, 4),
		 out.bytes + UNIC_EXT_OFF + 8);
	set_length(UNIC_EXT_OFF + 8 + UNIC_MAD_BYTES);
	if (!sim_below(r, 8))
		spoil(r);
	send(r);
}

/* Bytes without a meaning, or a frame that is cut off. */
static void forge_noise(struct sim_rng *r, const struct heard *h)
{
	uint32_t i;

	if (sim_below(r, 2)) {
		memcpy(out.bytes, h->bytes, h->len);
		out.to = h->to;
		out.len = sim_below(r, h->len);
		if (sim_below(r, 2) && out.len > UNIC_EXT_OFF)
			set_length(out.len - UNIC_ICRC_BYTES);
	} else {
		out.to = sim_below(r, scn->nodes);
		out.len = sim_below(r, 1500);
		for (i = 0; i < out.len; i++)
			out.bytes[i] = (uint8_t)sim_u64(r);
		if (out.len > 14)
			port_mac((uint8_t)out.to, out.bytes);
		if (out.len > 14 && sim_below(r, 2))
			put(out.bytes + 12, 2, UNIC_ETHERTYPE_IP);
	}
	send(r);
}

static void forge(struct sim_rng *r, uint8_t kind, const struct heard *h)
{
	switch (kind) {
	case FORGE_FRAME:
		forge_frame(r, h);
		break;
	case FORGE_STRANGER:
		forge_stranger(r, h);
		break;
	case FORGE_REPLAY:
		forge_replay(r);
		break;
	case FORGE_ARP:
		forge_arp(r);
		break;
	case FORGE_MAD:
		forge_mad(r, h);
		break;
	default:
		forge_noise(r, h);
	}
}

static void hear(uint32_t from, const uint8_t *frame, uint32_t len)
{
	struct heard *h = &heard[n_heard++ % HEARD];
	uint32_t i;

	h->from = from;
	h->to = frame[5] % scn->nodes;
	h->len = len;
	memcpy(h->bytes, frame, len);
	for (i = 0; i < scn->forges; i++) {
		const struct scn_forge *f = &scn->forge[i];

		if (f->off || sim_now() < f->at_ns || !shots[i] ||
		    !sim_chance(&rng[i], ODDS) ||
		    (!is_roce(h) && f->kind != FORGE_ARP))
			continue;
		shots[i]--;
		sim_log("the attacker sends a frame of kind %u", f->kind);
		forge(&rng[i], f->kind, h);
	}
}

void forger_start(const struct scenario *s)
{
	uint32_t i;

	scn = s;
	heard = sim_alloc(HEARD * sizeof(*heard));
	n_heard = 0;
	for (i = 0; i < s->forges; i++) {
		rng[i].s = s->forge[i].r;
		shots[i] = s->forge[i].shots;
	}
	if (s->forges)
		world->heard = hear;
}

void forger_stop(void)
{
	world->heard = NULL;
}

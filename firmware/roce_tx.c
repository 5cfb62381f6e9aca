/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* roce_tx.c - building and sending frames, see roce.h. */
#include <string.h>

#include "icrc.h"
#include "nic.h"

#define IP_VERSION_TOS 0x45000000u
#define IP_DF	       0x00004000u
#define IP_TTL_UDP     0x4011u
#define UDP_SPORT_BASE 0xc000u
#define UDP_ENTROPY    0x3fffu
#define PKEY_DEFAULT   0xffffu
#define ETH_MIN	       60u

/* Words of the template, from frame + 2 on. */
enum {
	W_IP_LEN = 3,
	W_IP_FRAG = 4,
	W_IP_CSUM = 5,
	W_IP_SRC = 6,
	W_IP_DST = 7,
	W_UDP_PORTS = 8,
	W_UDP_LEN = 9,
	W_BTH_OP = 10,
	W_BTH_DQPN = 11,
	W_BTH_APSN = 12,
	WORDS = 13,
};

void unic_roce_init(struct unic_nic *nic)
{
	struct unic_roce *roce = &nic->qps.roce;
	uint32_t i;

	if (roce->rx_stage != UNIC_RX_IDLE)
		unic_port_rx_done(nic->port, &roce->rx);
	memset(roce, 0, sizeof(*roce));
	for (i = 0; i < UNIC_TX_BUFS; i++)
		roce->tx[i].next = (uint8_t)(i + 1);
}

static void put_word(struct unic_roce_tmpl *t, uint32_t i, uint32_t v)
{
	unic_be32 be = unic_to_be32(v);

	memcpy(&t->word[i], &be, sizeof(be));
}

/* Ones' complement sum of the IP header but for its length (RFC 1071). */
static uint32_t constant_sum(uint32_t src, uint32_t dst)
{
	return (IP_VERSION_TOS >> 16) + IP_DF + IP_TTL_UDP + (src >> 16) +
	       (src & 0xffff) + (dst >> 16) + (dst & 0xffff);
}

static uint32_t fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static void template_eth(struct unic_roce_tmpl *t, const uint8_t dst[6],
			 const uint8_t src[6])
{
	uint8_t eth[UNIC_ETH_BYTES];

	memcpy(eth, dst, 6);
	memcpy(eth + 6, src, 6);
	eth[12] = UNIC_ETHERTYPE_IP >> 8;
	eth[13] = UNIC_ETHERTYPE_IP & 0xff;
	memcpy(&t->dst01, eth, 2);
	memcpy(t->word, eth + 2, sizeof(eth) - 2);
}

static void template_build(struct unic_nic *nic, struct unic_roce_tmpl *t,
			   const uint8_t mac[6], uint32_t dst, uint32_t dqpn,
			   uint32_t entropy)
{
	memset(t, 0, sizeof(*t));
	template_eth(t, mac, nic->link.mac);
	put_word(t, W_IP_FRAG, IP_DF);
	put_word(t, W_IP_SRC, nic->ipv4);
	put_word(t, W_IP_DST, dst);
	put_word(t, W_UDP_PORTS,
		 (UDP_SPORT_BASE | (entropy & UDP_ENTROPY)) << 16 |
			 UNIC_ROCE_PORT);
	put_word(t, W_BTH_DQPN, dqpn);
	t->csum = constant_sum(nic->ipv4, dst);
	t->path = unic_port_path(nic->port, mac);
}

void unic_roce_template(struct unic_nic *nic, struct unic_qp *qp)
{
	uint32_t entropy = qp->qpn ^ qp->dest_qpn;

	template_build(nic, &qp->tmpl, qp->dest_mac, qp->dest_ipv4,
		       qp->dest_qpn, entropy ^ entropy >> 14);
}

/*
 * Headers from the template: word stores, nothing is computed but the sum of
 * the length. @len: bytes behind BTH, padded.
 */
static inline void write_headers(uint8_t *frame, const struct unic_roce_tmpl *t,
				 uint32_t op_flags, uint32_t apsn, uint32_t len)
{
	uint32_t *w = (uint32_t *)(void *)(frame + 2);
	uint32_t udp = UNIC_UDP_BYTES + UNIC_BTH_BYTES + len + UNIC_ICRC_BYTES;
	uint32_t ip = UNIC_IP_BYTES + udp;

	*(uint16_t *)(void *)frame = t->dst01;
	w[0] = t->word[0];
	w[1] = t->word[1];
	w[2] = t->word[2];
	w[W_IP_LEN] = (UNIC_FORCE uint32_t)unic_to_be32(IP_VERSION_TOS | ip);
	w[W_IP_FRAG] = t->word[W_IP_FRAG];
	w[W_IP_CSUM] = (UNIC_FORCE uint32_t)unic_to_be32(
		IP_TTL_UDP << 16 | (~fold(t->csum + ip) & 0xffff));
	w[W_IP_SRC] = t->word[W_IP_SRC];
	w[W_IP_DST] = t->word[W_IP_DST];
	w[W_UDP_PORTS] = t->word[W_UDP_PORTS];
	w[W_UDP_LEN] = (UNIC_FORCE uint32_t)unic_to_be32(udp << 16);
	w[W_BTH_OP] = (UNIC_FORCE uint32_t)unic_to_be32(op_flags << 16 |
							PKEY_DEFAULT);
	w[W_BTH_DQPN] = t->word[W_BTH_DQPN];
	w[W_BTH_APSN] = (UNIC_FORCE uint32_t)unic_to_be32(apsn);
}

/* The integrity check, and off to the link. */
static inline void seal(struct unic_nic *nic, uint8_t *frame, uint32_t bytes)
{
	uint32_t body = bytes - UNIC_ICRC_BYTES;
	uint32_t icrc = 0, flags = UNIC_FRAME_NO_ICRC;

	if (!nic->link.icrc_offload) {
		icrc = unic_icrc(frame, body);
		flags = 0;
	}
	*(uint32_t *)(void *)(frame + body) =
		(UNIC_FORCE uint32_t)unic_to_le32(icrc);
	UNIC_COUNT(nic, tx_frames);
	UNIC_COUNT_ADD(nic, tx_bytes, bytes);
	unic_port_tx_put(nic->port, frame, bytes, flags);
}

static void release(struct unic_nic *nic, struct unic_tx *tx)
{
	struct unic_roce *roce = &nic->qps.roce;

	tx->next = roce->tx_free;
	tx->frame = NULL;
	roce->tx_free = (uint8_t)(tx - roce->tx);
}

static void give_back(struct unic_nic *nic, struct unic_tx *tx)
{
	unic_port_tx_put(nic->port, tx->frame, 0, 0);
	release(nic, tx);
}

static uint8_t *frame_get(struct unic_nic *nic, uint32_t path)
{
	uint8_t *frame = NULL;

	if (nic->qps.roce.tx_free < UNIC_TX_BUFS)
		frame = unic_port_tx_get(nic->port, path);
	if (__builtin_expect(!frame, 0)) {
		nic->qps.roce.tx_blocked = true;
		UNIC_COUNT(nic, tx_no_room);
	}
	return frame;
}

struct unic_tx *unic_tx_get(struct unic_nic *nic, uint16_t qp, bool responder)
{
	struct unic_roce *roce = &nic->qps.roce;
	uint8_t *frame = frame_get(nic, nic->qps.qp[qp].tmpl.path);
	struct unic_tx *tx;

	if (!frame)
		return NULL;
	tx = &roce->tx[roce->tx_free];
	roce->tx_free = tx->next;
	tx->frame = frame;
	tx->qp = qp;
	tx->responder = responder;
	tx->sgl.n = 0;
	return tx;
}

/* Start to gather; what was started must end before the buffer is free. */
static int gather(struct unic_nic *nic, struct unic_tx *tx)
{
	struct unic_sgl *sgl = &tx->sgl;
	int r;

	sgl->i = 0;
	sgl->to_host = 0;
	sgl->owner = UNIC_DMA_TX;
	sgl->who = (uint16_t)(tx - nic->qps.roce.tx);
	sgl->pending = 0;
	sgl->failed = false;
	tx->drop = false;
	r = unic_dma_run(nic, sgl);
	if (__builtin_expect(!sgl->pending, 1))
		return r;
	tx->err = (int16_t)r;
	nic->qps.qp[tx->qp].dmas++;
	return -UNIC_EPENDING;
}

int unic_tx_put(struct unic_nic *nic, struct unic_tx *tx, uint32_t op_flags,
		uint32_t apsn, uint32_t len)
{
	uint32_t pad = -len & 3;
	struct unic_qp *qp = &nic->qps.qp[tx->qp];
	uint32_t bytes = UNIC_EXT_OFF + len + pad + UNIC_ICRC_BYTES;
	int r = tx->sgl.n ? gather(nic, tx) : 0;

	if (__builtin_expect(r && r != -UNIC_EPENDING, 0)) {
		give_back(nic, tx);
		return r;
	}
	UNIC_TRACE(nic, TX, qp->proc, op_flags >> 8, qp->qpn,
		   apsn & UNIC_PSN_MASK, len);
	write_headers(tx->frame, &qp->tmpl,
		      op_flags | pad << UNIC_BTH_PAD_SHIFT, apsn, len + pad);
	if (pad)
		memset(tx->frame + UNIC_EXT_OFF + len, 0, pad);
	if (__builtin_expect(r, 0)) {
		tx->bytes = (uint16_t)bytes;
		return r;
	}
	seal(nic, tx->frame, bytes);
	release(nic, tx);
	return 0;
}

void unic_tx_gathered(struct unic_nic *nic, uint16_t slot)
{
	struct unic_tx *tx = &nic->qps.roce.tx[slot];
	struct unic_qp *qp = &nic->qps.qp[tx->qp];
	bool drop = tx->drop;
	int err = tx->sgl.failed ? -UNIC_EBUS : tx->err;

	if (tx->sgl.pending)
		return;
	if (err || drop) {
		give_back(nic, tx);
	} else {
		seal(nic, tx->frame, tx->bytes);
		release(nic, tx);
	}
	if (!drop)
		unic_qp_tx_done(nic, tx->qp, tx->responder, err);
	unic_qp_dma_end(nic, qp);
}

void unic_tx_forget(struct unic_nic *nic, uint16_t qp)
{
	struct unic_tx *tx = nic->qps.roce.tx;
	uint32_t i;

	for (i = 0; i < UNIC_TX_BUFS; i++)
		if (tx[i].frame && tx[i].qp == qp)
			tx[i].drop = true;
}

int unic_tx_datagram(struct unic_nic *nic, uint32_t ipv4, const uint8_t mac[6],
		     const void *data, uint32_t len)
{
	struct unic_roce_tmpl t;
	uint8_t *frame;

	template_build(nic, &t, mac, ipv4, 1, ipv4);
	frame = frame_get(nic, t.path);
	if (!frame)
		return -UNIC_EAGAIN;
	memcpy(frame + UNIC_EXT_OFF, data, len);
	write_headers(frame, &t, UNIC_OP_UD_SEND_ONLY << 8, 0, len);
	seal(nic, frame, UNIC_EXT_OFF + len + UNIC_ICRC_BYTES);
	return 0;
}

int unic_tx_raw(struct unic_nic *nic, const void *data, uint32_t len)
{
	uint8_t *frame = frame_get(nic, unic_port_path(nic->port, data));
	uint32_t bytes = len < ETH_MIN ? ETH_MIN : len;

	if (!frame)
		return -UNIC_EAGAIN;
	memcpy(frame, data, len);
	memset(frame + len, 0, bytes - len);
	UNIC_COUNT(nic, tx_frames);
	UNIC_COUNT_ADD(nic, tx_bytes, bytes);
	unic_port_tx_put(nic->port, frame, bytes, 0);
	return 0;
}

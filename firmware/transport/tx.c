/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* tx.c - see tx.h. */
#include <string.h>

#include "transport/frame.h"
#include "transport/tx.h"

#define IP_DF	       0x00004000u
#define UDP_SPORT_BASE 0xc000u
#define UDP_ENTROPY    0x3fffu
#define ETH_MIN	       60u

void unic_roce_init(struct unic_transport *nic)
{
	struct unic_roce *roce = &nic->qps.roce;
	uint32_t i;

	if (roce->rx_stage != UNIC_RX_IDLE && !roce->rx_again)
		unic_port_rx_done(nic->port);
	memset(roce, 0, sizeof(*roce));
	nic->expected = &nic->qps.qp[0].expect[0];
	for (i = 0; i < UNIC_TX_BUFS; i++)
		roce->tx[i].next = (uint8_t)(i + 1);
}

static void put_word(struct unic_headers *h, uint32_t i, uint32_t v)
{
	unic_put_word(h->word, i, v);
}

/* Ones' complement sum of the IP header but for its length (RFC 1071). */
static uint32_t constant_sum(uint32_t src, uint32_t dst)
{
	return (UNIC_IP_VERSION_TOS >> 16) + IP_DF + UNIC_IP_TTL_UDP +
	       (src >> 16) + (src & 0xffff) + (dst >> 16) + (dst & 0xffff);
}

static uint32_t fold_csum(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

void unic_roce_length(const struct unic_roce_tmpl *t, struct unic_headers *h,
		      uint32_t ip)
{
	put_word(h, UNIC_W_IP_LEN, UNIC_IP_VERSION_TOS | ip);
	put_word(h, UNIC_W_IP_CSUM,
		 UNIC_IP_TTL_UDP << 16 | (~fold_csum(t->csum + ip) & 0xffff));
	put_word(h, UNIC_W_UDP_LEN, (ip - UNIC_IP_BYTES) << 16);
}

static void headers_eth(struct unic_headers *h, const uint8_t dst[6],
			const uint8_t src[6])
{
	uint8_t eth[UNIC_ETH_BYTES];

	memcpy(eth, dst, 6);
	memcpy(eth + 6, src, 6);
	eth[12] = UNIC_ETHERTYPE_IP >> 8;
	eth[13] = UNIC_ETHERTYPE_IP & 0xff;
	memcpy(&h->dst01, eth, 2);
	memcpy(h->word, eth + 2, sizeof(eth) - 2);
}

/* All but Ethernet, length and opcode. */
static void headers_ip(struct unic_headers *h, uint32_t src, uint32_t dst,
		       uint32_t entropy, uint32_t dqpn)
{
	put_word(h, UNIC_W_IP_FRAG, IP_DF);
	put_word(h, UNIC_W_IP_SRC, src);
	put_word(h, UNIC_W_IP_DST, dst);
	put_word(h, UNIC_W_UDP_PORTS,
		 (UDP_SPORT_BASE | (entropy & UDP_ENTROPY)) << 16 |
			 UNIC_ROCE_PORT);
	put_word(h, UNIC_W_BTH_DQPN, dqpn);
}

static void template_build(struct unic_transport *nic, struct unic_roce_tmpl *t,
			   const uint8_t mac[6], uint32_t dst, uint32_t dqpn,
			   uint32_t entropy)
{
	memset(t, 0, sizeof(*t));
	headers_eth(&t->h, mac, nic->link.mac);
	headers_ip(&t->h, nic->ipv4, dst, entropy, dqpn);
	t->csum = constant_sum(nic->ipv4, dst);
	t->path = unic_port_path(nic->port, mac);
}

void unic_roce_template(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	uint32_t entropy = qp->qpn ^ qp->dest_qpn, i;

	entropy ^= entropy >> 14;
	template_build(nic, &qp->tmpl, qp->dest_mac, qp->dest_ipv4,
		       qp->dest_qpn, entropy);
	for (i = 0; i < UNIC_EXPECTS; i++) {
		struct unic_expect *e = &qp->expect[i];

		memset(e, 0, sizeof(*e));
		e->bytes = UNIC_EXPECT_NOTHING;
		headers_eth(&e->h, nic->link.mac, qp->dest_mac);
		headers_ip(&e->h, qp->dest_ipv4, nic->ipv4, entropy, qp->qpn);
	}
	qp->sq.ready.form = UNIC_NO_FORM;
}

static void free_tx(struct unic_transport *nic, struct unic_tx *tx)
{
	struct unic_roce *roce = &nic->qps.roce;

	tx->next = roce->tx_free;
	tx->frame = NULL;
	roce->tx_free = (uint8_t)(tx - roce->tx);
}

static void cancel_tx(struct unic_transport *nic, struct unic_tx *tx)
{
	unic_port_tx_put(nic->port, tx->frame, 0, 0);
	free_tx(nic, tx);
}

static uint8_t *frame_get(struct unic_transport *nic, uint32_t path)
{
	uint8_t *frame;

	if (unlikely(nic->qps.roce.tx_free == UNIC_TX_BUFS)) {
		UNIC_COUNT(nic, tx_no_room);
		return NULL;
	}
	frame = unic_port_tx_get(nic->port, path);
	if (unlikely(!frame)) {
		nic->qps.roce.tx_blocked = true;
		UNIC_COUNT(nic, tx_no_room);
	}
	return frame;
}

uint8_t *unic_frame_get(struct unic_transport *nic,
			const struct unic_qp_ctx *qp)
{
	return frame_get(nic, qp->tmpl.path);
}

static struct unic_tx *alloc_tx(struct unic_roce *roce, uint8_t *frame,
				uint16_t qp)
{
	struct unic_tx *tx = &roce->tx[roce->tx_free];

	roce->tx_free = tx->next;
	tx->frame = frame;
	tx->qp = qp;
	return tx;
}

struct unic_tx *unic_tx_get(struct unic_transport *nic, uint16_t qp,
			    bool responder)
{
	uint8_t *frame = frame_get(nic, nic->qps.qp[qp].tmpl.path);
	struct unic_tx *tx;

	if (!frame)
		return NULL;
	tx = alloc_tx(&nic->qps.roce, frame, qp);
	tx->responder = responder;
	tx->sgl.n = 0;
	return tx;
}

void unic_tx_adopt(struct unic_transport *nic, const struct unic_qp_ctx *qp,
		   uint8_t *frame, uint32_t len, uint16_t mr)
{
	struct unic_roce *roce = &nic->qps.roce;
	uint16_t idx = unic_qp_index(nic, qp);
	struct unic_tx *tx = alloc_tx(roce, frame, idx);

	tx->responder = false;
	tx->drop = false;
	tx->err = 0;
	tx->len = (uint16_t)len;
	tx->sgl.pending = 1;
	tx->sgl.failed = false;
	nic->qps.qp[idx].dmas++;
	unic_dma_adopt(nic, mr, UNIC_DMA_TX, (uint16_t)(tx - roce->tx));
}

/* Start to gather; what was started must end before the buffer is free. */
static int gather_payload(struct unic_transport *nic, struct unic_tx *tx)
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
	if (unlikely(r) && r == -UNIC_EMISS)
		unic_fault_wait(&nic->memory, tx->qp);
	if (likely(!sgl->pending))
		return r;
	tx->err = (int16_t)r;
	nic->qps.qp[tx->qp].dmas++;
	return -UNIC_EPENDING;
}

int unic_tx_put(struct unic_transport *nic, struct unic_tx *tx,
		uint32_t op_flags, uint32_t apsn, uint32_t len)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[tx->qp];
	int r = tx->sgl.n ? gather_payload(nic, tx) : 0;

	if (unlikely(r && r != -UNIC_EPENDING)) {
		cancel_tx(nic, tx);
		return r;
	}
	UNIC_TRACE(nic, TX, qp->proc, op_flags >> 8, qp->qpn,
		   apsn & UNIC_PSN_MASK, len);
	unic_frame_write(tx->frame, qp, op_flags, apsn, len);
	if (unlikely(r)) {
		tx->len = (uint16_t)len;
		return r;
	}
	unic_frame_count(nic, 1, unic_frame_seal(nic, tx->frame, len));
	free_tx(nic, tx);
	return 0;
}

void unic_roce_count(struct unic_transport *nic)
{
	struct unic_roce *roce = &nic->qps.roce;
	uint64_t *counter = nic->counter;

	UNIC_IN_REGISTER(roce);
	nic->counter[UNIC_C_polls] += nic->polls;
	nic->polls = 0;
	if (!(roce->tx_frames | roce->rx_frames | nic->dma.bytes))
		return;
	UNIC_IN_REGISTER(counter);
	counter[UNIC_C_tx_frames] += roce->tx_frames;
	counter[UNIC_C_tx_bytes] += roce->tx_bytes;
	counter[UNIC_C_rx_frames] += roce->rx_frames;
	counter[UNIC_C_rx_bytes] += roce->rx_bytes;
	counter[UNIC_C_dma_bytes] += nic->dma.bytes;
	roce->tx_frames = 0;
	roce->tx_bytes = 0;
	roce->rx_frames = 0;
	roce->rx_bytes = 0;
	nic->dma.bytes = 0;
}

void unic_roce_publish(struct unic_transport *nic)
{
	struct unic_roce *roce = &nic->qps.roce;

	unic_roce_count(nic);
	nic->counter[UNIC_C_lone_sent] += roce->lone_sent;
	nic->counter[UNIC_C_lone_placed] += roce->lone_placed;
	roce->lone_sent = 0;
	roce->lone_placed = 0;
}

void unic_tx_gathered(struct unic_transport *nic, uint16_t slot)
{
	struct unic_tx *tx = &nic->qps.roce.tx[slot];
	struct unic_qp_ctx *qp = &nic->qps.qp[tx->qp];
	bool drop = tx->drop;
	int err = tx->sgl.failed ? -UNIC_EBUS : tx->err;

	if (tx->sgl.pending)
		return;
	if (err || drop) {
		cancel_tx(nic, tx);
	} else {
		unic_frame_count(nic, 1,
				 unic_frame_seal(nic, tx->frame, tx->len));
		unic_roce_count(nic);
		free_tx(nic, tx);
	}
	if (!drop)
		unic_qp_tx_done(nic, tx->qp, tx->responder, err);
	unic_qp_dma_end(nic, qp);
}

void unic_tx_forget(struct unic_transport *nic, uint16_t qp)
{
	struct unic_tx *tx = nic->qps.roce.tx;
	uint32_t i;

	for (i = 0; i < UNIC_TX_BUFS; i++)
		if (tx[i].frame && tx[i].qp == qp)
			tx[i].drop = true;
}

int unic_tx_datagram(struct unic_transport *nic, uint32_t ipv4,
		     const uint8_t mac[6], const void *data, uint32_t len)
{
	struct unic_roce_tmpl t;
	uint8_t *frame;

	template_build(nic, &t, mac, ipv4, 1, ipv4);
	frame = frame_get(nic, t.path);
	if (!frame)
		return -UNIC_EAGAIN;
	memcpy(frame + UNIC_EXT_OFF, data, len);
	unic_frame_headers(frame, &t, UNIC_OP_UD_SEND_ONLY << 8, 0, len);
	unic_frame_count(nic, 1, unic_frame_seal(nic, frame, len));
	unic_roce_count(nic);
	return 0;
}

int unic_tx_raw(struct unic_transport *nic, const void *data, uint32_t len)
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

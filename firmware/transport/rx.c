/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rx.c - taking frames apart, and the one frame that waits for DMA. */
#include <string.h>

#include "base/icrc.h"
#include "transport/fastpath.h"
#include "transport/fastpath_lone.h"
#include "transport/transport.h"
#include "transport/requester_rx.h"
#include "transport/responder.h"
#include "transport/responder_done.h"
#include "transport/responder_nak.h"
#include "transport/ud_uc.h"
#include "transport/rx.h"
#include "transport/mad.h"

#define IP_VER_IHL   0x45u
#define IP_PROTO_UDP 17u
#define IP_FRAGMENT  0x3fffu /* more fragments, and the offset */
#define PKEY_MEMBER  0x7fffu
#define HEADERS	     (UNIC_EXT_OFF + UNIC_ICRC_BYTES)

/* Frames that a round takes while there is something to send: full ones are as
 * many bytes as it may send, so that those who receive leave the senders their
 * time (INV-21). */
#define BATCH_BESIDE_SENDS (UNIC_RX_BATCH / 2)

/* A header word, read once: another party may be writing the frame. */
static inline uint32_t word_at(const uint8_t *frame, uint32_t off)
{
	const unic_be32 *p = (const void *)(frame + off);

	return unic_from_be32(UNIC_READ_ONCE(*p));
}

static int drop_frame(struct unic_transport *nic, enum unic_counter why)
{
	nic->counter[why]++;
	UNIC_TRACE(nic, RX_DROP, 0xffff, why, 0, 0, 0);
	return 0;
}

static bool csum_ok(const uint32_t ip[5])
{
	uint32_t i, sum = 0;

	for (i = 0; i < 5; i++)
		sum += (ip[i] >> 16) + (ip[i] & 0xffff);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/*
 * IPv4 and UDP. Returns the bytes of the IPv4 packet, 0 if it is not a RoCEv2
 * packet for us (counted).
 */
static uint32_t check_ip(struct unic_transport *nic, const struct unic_rx *rx,
			 uint32_t *src)
{
	uint32_t w[5], i, len, ports, udp;

	for (i = 0; i < 5; i++)
		w[i] = word_at(rx->frame, UNIC_ETH_BYTES + 4 * i);
	ports = word_at(rx->frame, UNIC_ETH_BYTES + UNIC_IP_BYTES);
	udp = word_at(rx->frame, UNIC_ETH_BYTES + UNIC_IP_BYTES + 4) >> 16;
	len = w[0] & 0xffff;
	*src = w[3];
	if (w[0] >> 24 != IP_VER_IHL || (w[1] & IP_FRAGMENT) || !csum_ok(w)) {
		drop_frame(nic, UNIC_C_rx_bad_ip);
	} else if ((w[2] >> 16 & 0xff) != IP_PROTO_UDP || w[4] != nic->ipv4 ||
		   !nic->ipv4 || (ports & 0xffff) != UNIC_ROCE_PORT) {
		drop_frame(nic, UNIC_C_rx_not_ours);
	} else if (len > rx->len - UNIC_ETH_BYTES ||
		   len < HEADERS - UNIC_ETH_BYTES) {
		drop_frame(nic, UNIC_C_rx_short);
	} else if (udp != len - UNIC_IP_BYTES || (len & 3)) {
		drop_frame(nic, UNIC_C_rx_bad_ip);
	} else {
		return len;
	}
	return 0;
}

static bool icrc_ok(const struct unic_rx *rx, uint32_t len)
{
	return rx->flags & UNIC_FRAME_NO_ICRC ||
	       unic_icrc_ok(rx->frame, UNIC_ETH_BYTES + len);
}

/* The rest of a frame, once its integrity is certain. Returns the QP number,
 * or UINT32_MAX (counted). */
static uint32_t parse_bth(struct unic_transport *nic, const struct unic_rx *rx,
			  uint32_t len, struct unic_pkt *pkt)
{
	uint32_t op = word_at(rx->frame, UNIC_BTH_OFF);
	uint32_t dqpn = word_at(rx->frame, UNIC_BTH_OFF + 4);
	uint32_t apsn = word_at(rx->frame, UNIC_BTH_OFF + 8);
	uint32_t pad = op >> (16 + UNIC_BTH_PAD_SHIFT) & 3;
	uint32_t body = len - (HEADERS - UNIC_ETH_BYTES);

	if ((op >> 16 & 0x0f) || (op & PKEY_MEMBER) != PKEY_MEMBER) {
		drop_frame(nic, UNIC_C_rx_bad_opcode);
		return UINT32_MAX;
	}
	/*@ split pad; */
	if (pad > body) {
		drop_frame(nic, UNIC_C_rx_short);
		return UINT32_MAX;
	}
	pkt->ext = rx->frame + UNIC_EXT_OFF;
	pkt->len = body - pad;
	pkt->psn = apsn & UNIC_PSN_MASK;
	pkt->opcode = (uint8_t)(op >> 24);
	pkt->ackreq = (apsn & UNIC_BTH_ACKREQ) != 0;
	pkt->solicited = (op >> 16 & UNIC_BTH_SOLICITED) != 0;
	return dqpn & UNIC_QPN_MASK;
}

static int to_requester(struct unic_transport *nic, struct unic_qp_ctx *qp,
			const struct unic_pkt *pkt)
{
	if (qp->state != UNIC_QPS_RTS)
		return drop_frame(nic, UNIC_C_rx_no_qp);
	if (pkt->opcode == UNIC_OP_ACK) {
		if (pkt->len < sizeof(struct unic_aeth))
			return drop_frame(nic, UNIC_C_rx_short);
		unic_requester_ack(nic, qp, pkt->psn,
				   (uint8_t)(word_at(pkt->ext, 0) >> 24));
		return 0;
	}
	if (pkt->opcode == UNIC_OP_VACK) {
		if (!qp->vendor)
			return drop_frame(nic, UNIC_C_rx_bad_opcode);
		if (pkt->len < sizeof(struct unic_evth))
			return drop_frame(nic, UNIC_C_rx_short);
		unic_requester_vack(nic, qp, pkt->psn, word_at(pkt->ext, 0),
				    word_at(pkt->ext, 4));
		return 0;
	}
	nic->qps.roce.rx_response = true;
	return unic_requester_response(nic, qp, pkt);
}

static inline bool is_request(const struct unic_pkt *pkt)
{
	return pkt->opcode <= UNIC_OP_READ_REQUEST ||
	       (pkt->opcode & 0xfc) == UNIC_OP_TOKEN_FIRST ||
	       (pkt->opcode | 1) == UNIC_OP_SEND_ONLY_INV ||
	       (UNIC_ATOMICS && (pkt->opcode == UNIC_OP_COMPARE_SWAP ||
				 pkt->opcode == UNIC_OP_FETCH_ADD));
}

static inline bool is_response(const struct unic_pkt *pkt)
{
	return pkt->opcode <=
		       (UNIC_ATOMICS ? UNIC_OP_ATOMIC_ACK : UNIC_OP_ACK) ||
	       pkt->opcode == UNIC_OP_VACK;
}

/* Of all that is no answer on a reliable connection, what is_request() leaves:
 * reserved opcodes, the manufacturer's but tokens, and atomic operations on a board
 * that has none. */
static inline bool is_unsupported(const struct unic_pkt *pkt)
{
	return pkt->opcode >= UNIC_OP_TOKEN_FIRST
		       ? pkt->opcode != UNIC_OP_VACK
		       : pkt->opcode > UNIC_OP_ATOMIC_ACK &&
				 pkt->opcode < UNIC_OP_UC_SEND_FIRST;
}

static inline void set_rx_qp(struct unic_transport *nic,
			     const struct unic_qp_ctx *qp,
			     const struct unic_pkt *pkt)
{
	UNIC_TRACE(nic, RX, qp->proc, pkt->opcode, qp->qpn, pkt->psn, pkt->len);
	nic->qps.roce.rx_qp = unic_qp_index(nic, qp);
	nic->qps.roce.rx_conn = qp->conn;
	nic->qps.roce.rx_response = false;
}

/* Neither a request that the responder executes nor an answer. */
static __attribute__((noinline, cold)) int to_nobody(struct unic_transport *nic,
						     struct unic_qp_ctx *qp,
						     const struct unic_pkt *pkt)
{
	if (is_unsupported(pkt) && unic_responder_unsupported(nic, qp, pkt))
		return 0;
	return drop_frame(nic, UNIC_C_rx_bad_opcode);
}

static int to_qp(struct unic_transport *nic, struct unic_qp_ctx *qp,
		 const struct unic_pkt *pkt)
{
	set_rx_qp(nic, qp, pkt);
	if (is_request(pkt))
		return unic_responder_request(nic, qp, pkt);
	if (is_response(pkt))
		return to_requester(nic, qp, pkt);
	return to_nobody(nic, qp, pkt);
}

/* There is no such reliable connection, or it is over. */
static __attribute__((noinline, cold)) int to_other(struct unic_transport *nic,
						    struct unic_qp_ctx *qp,
						    const struct unic_pkt *pkt,
						    const uint8_t *frame)
{
	if (qp && qp->type && unic_qp_receives(qp) &&
	    (qp->type == UNIC_QPT_UD || qp->dest_ipv4 == pkt->ipv4)) {
		set_rx_qp(nic, qp, pkt);
		return unic_ud_uc_packet(nic, qp, pkt, frame);
	}
	if (qp && qp->dest_ipv4 == pkt->ipv4 && qp->state == UNIC_QPS_ERR &&
	    (is_request(pkt) || is_unsupported(pkt)) &&
	    unic_responder_asked_again(nic, qp, pkt))
		return 0;
	return drop_frame(nic, UNIC_C_rx_no_qp);
}

static int roce_frame(struct unic_transport *nic, const struct unic_rx *rx)
{
	struct unic_pkt pkt;
	struct unic_qp_ctx *qp;
	uint32_t len, qpn;

	if (rx->len < HEADERS)
		return drop_frame(nic, UNIC_C_rx_short);
	len = check_ip(nic, rx, &pkt.ipv4);
	if (!len)
		return 0;
	if (!icrc_ok(rx, len))
		return drop_frame(nic, UNIC_C_rx_bad_icrc);
	qpn = parse_bth(nic, rx, len, &pkt);
	if (qpn == UINT32_MAX)
		return 0;
	if (qpn == 1) {
		unic_mad_frame(nic, &pkt, rx->frame + 6);
		return 0;
	}
	qp = unic_qp_by_number(nic, qpn);
	if (!qp || qp->dest_ipv4 != pkt.ipv4 ||
	    (qp->state != UNIC_QPS_RTR && qp->state != UNIC_QPS_RTS))
		return to_other(nic, qp, &pkt, rx->frame);
	return to_qp(nic, qp, &pkt);
}

static bool is_our_mac(const struct unic_transport *nic, const uint8_t *frame)
{
	const uint16_t *f = (const void *)frame;
	const uint16_t *mac = (const void *)nic->link.mac;

	return !((f[0] ^ mac[0]) | (f[1] ^ mac[1]) | (f[2] ^ mac[2]));
}

/* 0: through with it; -UNIC_EAGAIN: again later; -UNIC_EPENDING: place it. */
static int demux_frame(struct unic_transport *nic, const struct unic_rx *rx)
{
	const uint8_t *f = rx->frame;
	uint32_t type;

	if (rx->len < UNIC_ETH_BYTES)
		return drop_frame(nic, UNIC_C_rx_short);
	type = (uint32_t)f[12] << 8 | f[13];
	if (type == UNIC_ETHERTYPE_ARP) {
		unic_arp_frame(nic, rx);
		return 0;
	}
	if (type != UNIC_ETHERTYPE_IP || !is_our_mac(nic, f))
		return drop_frame(nic, UNIC_C_rx_not_ours);
	return roce_frame(nic, rx);
}

/* Is the connection over that the frame in hand is of? (INV-18) */
static inline bool is_conn_over(const struct unic_transport *nic)
{
	const struct unic_roce *roce = &nic->qps.roce;

	return nic->qps.qp[roce->rx_qp].conn != roce->rx_conn;
}

/* The QP the frame in hand is for, if it still receives for that connection. */
static struct unic_qp_ctx *rx_qp(struct unic_transport *nic)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[nic->qps.roce.rx_qp];

	return is_conn_over(nic) || !unic_qp_receives(qp) ? NULL : qp;
}

static bool packet_placed(struct unic_transport *nic, struct unic_qp_ctx *qp,
			  int err)
{
	return qp->type ? unic_ud_uc_placed(nic, qp, err)
			: unic_responder_placed(nic, qp, err);
}

static enum unic_rx_stage finish_frame(struct unic_transport *nic)
{
	struct unic_roce *roce = &nic->qps.roce;
	struct unic_qp_ctx *qp = rx_qp(nic);
	int err = roce->rx_sgl.failed ? -UNIC_EBUS : roce->rx_err;

	if (!qp) {
		drop_frame(nic, UNIC_C_rx_no_qp);
		return UNIC_RX_IDLE;
	}
	if (roce->rx_response)
		unic_requester_placed(nic, qp, err);
	else if (!packet_placed(nic, qp, err))
		return UNIC_RX_FINISH;
	return UNIC_RX_IDLE;
}

/* Submit what is left of the payload and see whether all of it has arrived. */
static enum unic_rx_stage place_payload(struct unic_transport *nic)
{
	struct unic_roce *roce = &nic->qps.roce;
	struct unic_qp_ctx *qp = &nic->qps.qp[roce->rx_qp];
	int r = 0;

	if (!roce->rx_err && rx_qp(nic))
		r = unic_dma_run(nic, &roce->rx_sgl);
	if (r && r != -UNIC_EAGAIN) {
		roce->rx_err = (int16_t)r;
		if (r == -UNIC_EMISS && roce->rx_response)
			unic_fault_wait(&nic->memory, roce->rx_qp);
	}
	if (unlikely(roce->rx_sgl.pending || r == -UNIC_EAGAIN)) {
		if (!roce->rx_counted) {
			qp->dmas++;
			roce->rx_counted = true;
			unic_cache_hold(&nic->memory, roce->rx_sgl.span,
					roce->rx_sgl.n);
			if (!roce->rx_response && rx_qp(nic))
				unic_responder_keep(nic, qp);
		}
		return UNIC_RX_PLACE;
	}
	if (roce->rx_counted) {
		roce->rx_counted = false;
		unic_cache_hold(&nic->memory, NULL, 0);
		unic_qp_dma_end(nic, qp);
	}
	return finish_frame(nic);
}

static enum unic_rx_stage begin_place(struct unic_transport *nic)
{
	struct unic_roce *roce = &nic->qps.roce;
	struct unic_sgl *sgl = &roce->rx_sgl;

	sgl->i = 0;
	sgl->to_host = 1;
	sgl->owner = UNIC_DMA_RX;
	sgl->who = 0;
	sgl->pending = 0;
	sgl->failed = false;
	roce->rx_err = 0;
	roce->rx_counted = false;
	return place_payload(nic);
}

static enum unic_rx_stage begin_frame(struct unic_transport *nic,
				      const struct unic_rx *rx)
{
	int r = demux_frame(nic, rx);

	if (r == -UNIC_EPENDING)
		return begin_place(nic);
	return r ? UNIC_RX_REDO : UNIC_RX_IDLE;
}

/* The frame in hand could not be taken, and may be now. */
static enum unic_rx_stage redo_frame(struct unic_transport *nic)
{
	if (is_conn_over(nic)) {
		drop_frame(nic, UNIC_C_rx_no_qp);
		return UNIC_RX_IDLE;
	}
	return begin_frame(nic, &nic->qps.roce.rx);
}

/* A frame that is not for the fast path. True if it is kept. */
static __attribute__((noinline)) bool take_slow_path(struct unic_transport *nic,
						     const struct unic_rx *rx)
{
	struct unic_roce *roce = &nic->qps.roce;

	roce->rx = *rx;
	roce->rx_stage = (uint8_t)begin_frame(nic, &roce->rx);
	return roce->rx_stage != UNIC_RX_IDLE;
}

static void release_frame(struct unic_transport *nic)
{
	struct unic_roce *roce = &nic->qps.roce;

	if (!roce->rx_again) {
		unic_port_rx_done(nic->port);
		return;
	}
	roce->rx_again = false;
	unic_parked_done(nic);
}

void unic_rx_again(struct unic_transport *nic, const struct unic_rx *rx)
{
	nic->qps.roce.rx_again = true;
	if (!take_slow_path(nic, rx))
		release_frame(nic);
}

/* Go on with the frame in hand. True if it is done with. */
static bool resume_frame(struct unic_transport *nic)
{
	struct unic_roce *roce = &nic->qps.roce;

	if (roce->rx_stage == UNIC_RX_REDO)
		roce->rx_stage = (uint8_t)redo_frame(nic);
	else if (roce->rx_stage == UNIC_RX_PLACE)
		roce->rx_stage = (uint8_t)place_payload(nic);
	else
		roce->rx_stage = (uint8_t)finish_frame(nic);
	if (roce->rx_stage != UNIC_RX_IDLE)
		return false;
	release_frame(nic);
	return true;
}

/* FAULT: the frames that the driver wants lost, @rx first; a burst at most. */
static __attribute__((noinline, cold)) void
inject_rx_loss(struct unic_transport *nic, struct unic_rx *rx)
{
	uint32_t n = UNIC_RX_BATCH;

	do {
		nic->rx_fault--;
		UNIC_COUNT(nic, rx_fault_dropped);
		unic_port_rx_done(nic->port);
	} while (--n && nic->rx_fault && unic_port_rx_next(nic->port, rx));
}

/* @n frames of @bytes together were taken: those before the last, if it is kept, are held with
 * it. */
static inline void end_frames(struct unic_transport *nic, uint32_t n,
			      uint32_t bytes)
{
	struct unic_roce *roce = &nic->qps.roce;

	if (likely(roce->rx_stage == UNIC_RX_IDLE))
		unic_port_rx_done(nic->port);
	roce->rx_frames += n;
	roce->rx_bytes += bytes;
	if (UNIC_LONE && nic->sched.sole_on == UNIC_ON_REPLY)
		unic_responder_sole_ack(nic);
}

/* A frame that has none behind it, and is not for the fast path. */
static __attribute__((noinline)) void take_strange(struct unic_transport *nic,
						   const struct unic_rx *rx)
{
	(void)take_slow_path(nic, rx);
	end_frames(nic, 1, rx->len);
}

/* Frames from @rx on, until one is kept. */
static __attribute__((noinline)) void take_frames(struct unic_transport *nic,
						  struct unic_rx *rx)
{
	uint32_t most = nic->sched.work ? BATCH_BESIDE_SENDS : UNIC_RX_BATCH;
	uint32_t n = 0, bytes = 0, some;
	enum unic_fastpath fast;

	do {
		some = most - n;
		fast = unic_fastpath_rx(nic, rx, &some);
		n += some;
		bytes += some * rx->len;
		if (unlikely(fast != UNIC_FASTPATH_DONE) &&
		    take_slow_path(nic, rx))
			break;
	} while (n < most && unic_port_rx_next(nic->port, rx));
	end_frames(nic, n, bytes);
}

/* A frame that has none behind it: a lone message, or its acknowledgement. STRANGE: it is not
 * for the fast path at all. */
static inline enum unic_lone take_lone(struct unic_transport *nic,
				       struct unic_rx *rx)
{
	struct unic_roce *roce = &nic->qps.roce;
	struct unic_qp_ctx *acks;
	enum unic_lone r;

	if (unic_port_rx_more(nic->port))
		return UNIC_LONE_NOT;
	r = unic_fastpath_lone_rx(nic, rx, &acks);
	if (unlikely(r))
		return r;
	roce->rx_frames++;
	roce->rx_bytes += rx->len;
	unic_port_rx_done(nic->port);
	if (acks) {
		roce->lone_placed++;
		unic_responder_ack_now(nic, acks);
	}
	return r;
}

uint32_t unic_rx_poll(struct unic_transport *nic)
{
	struct unic_roce *roce = &nic->qps.roce;
	enum unic_lone lone = UNIC_LONE_NOT;
	struct unic_rx rx;

	UNIC_IN_REGISTER(roce);
	if (unlikely(roce->rx_stage != UNIC_RX_IDLE) && !resume_frame(nic))
		return !nic->pieces; /* else a DMA's end wakes us */
	if (!unic_port_rx_next(nic->port, &rx))
		return 0;
	if (unlikely(nic->rx_fault)) {
		inject_rx_loss(nic, &rx);
		return 1;
	}
	if (UNIC_LONE)
		lone = take_lone(nic, &rx);
	if (lone == UNIC_LONE_DONE)
		return UNIC_RX_LONE;
	if (lone == UNIC_LONE_STRANGE)
		take_strange(nic, &rx);
	else
		take_frames(nic, &rx);
	return 1;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * eva_roce_rx.c - the parsing of frames (firmware/transport/rx.c, mad.c,
 * frame.h): any bytes, any length the port may give, in memory that changes all
 * the time. Each stub that gets a packet reads both ends of its bytes.
 */
#include <string.h>

#include "hostile.h"
#include "nic.h"

#include "transport/rx.c"
#include "transport/frame.h"
#include "transport/mad.c"

#define FRAME_MAX 16384u

static struct unic_nic nic;
static volatile uint8_t seen;

static int read_all(const struct unic_pkt *pkt)
{
	if (pkt->len) {
		seen = pkt->ext[0];
		seen = pkt->ext[pkt->len - 1];
	}
	return (int)Frama_C_interval(-20, 0);
}

int unic_responder_request(struct unic_transport *n, struct unic_qp_ctx *qp,
			   const struct unic_pkt *pkt)
{
	(void)n, (void)qp;
	return read_all(pkt);
}

bool unic_responder_asked_again(struct unic_transport *n,
				struct unic_qp_ctx *qp,
				const struct unic_pkt *pkt)
{
	(void)n, (void)qp;
	read_all(pkt);
	return below(2);
}

bool unic_responder_unsupported(struct unic_transport *n,
				struct unic_qp_ctx *qp,
				const struct unic_pkt *pkt)
{
	(void)n, (void)qp;
	read_all(pkt);
	return below(2);
}

int unic_requester_response(struct unic_transport *n, struct unic_qp_ctx *qp,
			    const struct unic_pkt *pkt)
{
	(void)n, (void)qp;
	return read_all(pkt);
}

void unic_requester_ack(struct unic_transport *n, struct unic_qp_ctx *qp,
			uint32_t psn, uint8_t syndrome)
{
	(void)n, (void)qp, (void)psn, (void)syndrome;
}

void unic_requester_vack(struct unic_transport *n, struct unic_qp_ctx *qp,
			 uint32_t psn, uint32_t kind, uint32_t arg)
{
	(void)n, (void)qp, (void)psn, (void)kind, (void)arg;
}

void unic_trace_write(struct unic_base *n, uint32_t code, uint32_t proc,
		      uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3)
{
	(void)n, (void)code, (void)proc, (void)a0, (void)a1, (void)a2, (void)a3;
}

bool unic_icrc_ok(const uint8_t *frame, uint32_t len)
{
	seen = frame[0];
	seen = frame[len - 1];
	return below(2);
}

struct unic_qp_ctx *unic_qp_by_number(struct unic_transport *n, uint32_t qpn)
{
	(void)qpn;
	return below(2) ? &n->qps.qp[below(UNIC_QPS)] : NULL;
}

void unic_arp_frame(struct unic_transport *n, const struct unic_rx *rx)
{
	(void)n;
	seen = rx->frame[rx->len - 1];
}

bool unic_mbox_mad(struct unic_base *n, const struct unic_mad_rx *mad)
{
	(void)n;
	seen = mad->data[UNIC_MAD_BYTES - 1];
	return below(2);
}

static void one_frame(uint32_t len)
{
	struct unic_rx rx = { hostile(len ? len : 1), len, any32() };
	uint32_t i;

	memset(&nic, 0, sizeof(nic));
	Frama_C_make_unknown((char *)nic.counter, sizeof(nic.counter));
	nic.ipv4 = any32();
	nic.trace.mask = any32();
	for (i = 0; i < UNIC_QPS; i++) {
		nic.qps.qp[i].state = any8();
		nic.qps.qp[i].dest_ipv4 = any32();
		nic.qps.qp[i].vendor = below(2);
	}
	begin_frame(&nic, &rx);
	memset(&nic, 0, sizeof(nic));
}

void roce_rx_all(void)
{
	static const uint32_t longer[] = { 337, 1042, 4178, FRAME_MAX };
	uint32_t i;

	for (i = 0; i <= 96; i++)
		one_frame(i);
	for (i = 0; i < sizeof(longer) / sizeof(longer[0]); i++)
		one_frame(longer[i]);
}

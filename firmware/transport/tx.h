/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * tx.h - a frame on its way out.
 *
 * Secret: the life of a frame buffer of the link, what a header template leaves open,
 * and what waits for payload.
 */
#ifndef UNIC_TX_H
#define UNIC_TX_H

#include <stdbool.h>
#include <stdint.h>

struct unic_headers;
struct unic_qp_ctx;
struct unic_roce_tmpl;
struct unic_transport;
struct unic_tx;

/** unic_roce_init() - forget everything; a received frame still held goes back
 * to the port. No DMA may be in flight. */
void unic_roce_init(struct unic_transport *nic);

/** unic_roce_count() - what was sent, received and moved since goes into the
 * counters. */
void unic_roce_count(struct unic_transport *nic);

/** unic_roce_publish() - the same, before counters are shown or tables are forgotten, with
 * what only such a reader wants to know: the lone messages. */
void unic_roce_publish(struct unic_transport *nic);

/** unic_roce_length() - make @h, of a packet to or from the peer of @t, that of
 * IP packets of @ip bytes. */
void unic_roce_length(const struct unic_roce_tmpl *t, struct unic_headers *h,
		      uint32_t ip);

/** unic_roce_template() - build @qp's header template from its addresses, and
 * the other way round what the fast path expects from them: nothing yet. */
void unic_roce_template(struct unic_transport *nic, struct unic_qp_ctx *qp);

/**
 * unic_frame_get() - a frame buffer along @qp's path, for one frame that needs
 * no DMA that might wait; hand it to unic_frame_send() (frame.h).
 * Returns NULL when that has no room (then roce.tx_blocked is set), or when all
 * transmit jobs wait.
 */
uint8_t *unic_frame_get(struct unic_transport *nic,
			const struct unic_qp_ctx *qp);

/**
 * unic_tx_get() - a frame of @qp, headers up to BTH still missing.
 * Returns NULL as unic_frame_get(). The extension headers go to tx->frame +
 * UNIC_EXT_OFF; the caller describes payload in tx->sgl (n, span, local) or
 * copies it himself with sgl.n = 0; then unic_tx_put().
 */
struct unic_tx *unic_tx_get(struct unic_transport *nic, uint16_t qp,
			    bool responder);

/**
 * unic_tx_put() - gather the payload, fill in headers, pad and ICRC, send.
 * @op_flags: opcode << 8 | BTH flags without pad.
 * @apsn: PSN and acknowledge request.
 * @len:  bytes behind BTH, before padding.
 *
 * Returns 0: sent. -UNIC_EPENDING: the gathering goes on, and
 * unic_qp_tx_done() will be told. -UNIC_EAGAIN: no room, nothing was sent, the
 * buffer is given back. -UNIC_EBUS, -UNIC_EEVICTED: given back unsent.
 */
int unic_tx_put(struct unic_transport *nic, struct unic_tx *tx,
		uint32_t op_flags, uint32_t apsn, uint32_t len);

/**
 * unic_tx_adopt() - a frame of unic_frame_get() whose payload, all of it in
 * region @mr, is on its way under DMA tag dma.free_head. It becomes a transmit
 * job; its headers may still be written.
 * @len: bytes behind BTH, before padding.
 */
void unic_tx_adopt(struct unic_transport *nic, const struct unic_qp_ctx *qp,
		   uint8_t *frame, uint32_t len, uint16_t mr);

/** unic_tx_forget() - frames of QP @qp that wait for payload are not sent. */
void unic_tx_forget(struct unic_transport *nic, uint16_t qp);

/** unic_tx_gathered() - a piece of transmit job @slot has ended. */
void unic_tx_gathered(struct unic_transport *nic, uint16_t slot);

/** unic_tx_datagram() - a frame outside any QP: UD SEND to QP 1 of @ipv4.
 * 0 or -UNIC_EAGAIN. */
int unic_tx_datagram(struct unic_transport *nic, uint32_t ipv4,
		     const uint8_t mac[6], const void *data, uint32_t len);

/** unic_tx_raw() - send @len bytes (from the Ethernet header on, padded to 60)
 * as they are. 0 or -UNIC_EAGAIN. */
int unic_tx_raw(struct unic_transport *nic, const void *frame, uint32_t len);

#endif /* UNIC_TX_H */

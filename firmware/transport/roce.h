/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * roce.h - RoCEv2 frames (IBTA annex A17): building, sending, taking apart.
 *
 * Secret: the layout of a frame, its checksums, and the life of a frame buffer
 * of the link. A queue pair keeps a header template in which only length,
 * checksum, opcode and PSN change from packet to packet. What follows the
 * headers comes from host memory by DMA; on ports that answer "pending" the
 * frame waits here, and its queue pair with it.
 */
#ifndef UNIC_ROCE_H
#define UNIC_ROCE_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/dma.h"
#include "unic_port.h"
#include "unic_wire.h"

struct unic_transport;
struct unic_qp;

#define UNIC_FRAME_OVERHEAD \
	82u /* all headers of the longest first packet, ICRC */
#define UNIC_RX_BATCH UNIC_RX_BUFS

/*
 * The start of a frame, Ethernet to queue pair number, as it stands in memory
 * from frame + 2 on. All packets of one kind and length have the same one.
 */
struct unic_headers {
	uint16_t rsvd;
	uint16_t dst01; /* the first two bytes of the frame */
	uint32_t word[12];
};

/* For sending to the peer. What depends on the length is kept for the last one,
 * the word of the opcode is left open. */
struct unic_roce_tmpl {
	struct unic_headers h;
	uint32_t csum; /* sum of the constant IP halfwords */
	uint32_t path; /* unic_port_path() of the peer */
	uint32_t ip;   /* IP length that h is for; 0: none */
};

/* What a packet of the peer looks like that is like an earlier one; see fastpath_tx.c.
 */
struct unic_expect {
	struct unic_headers h;
	uint32_t bytes; /* of the frame, or UNIC_EXPECT_NOTHING */
	uint32_t len;	/* of them payload */
	uint16_t kind;
	uint16_t qp; /* whose it is */
};

#define UNIC_EXPECT_NOTHING UINT32_MAX

/* A frame on its way out. */
struct unic_tx {
	uint8_t *frame;
	struct unic_sgl sgl; /* payload still being gathered */
	uint16_t qp;
	uint8_t next;	/* free list */
	bool responder; /* which half of the QP waits for it */
	bool drop;	/* the QP died meanwhile: give it back unsent */
	int16_t err;	/* -UNIC_E*: was not submitted wholly */
	uint16_t len;	/* bytes behind BTH, before padding */
};

/* A request or response packet, taken apart. Nothing of it is read twice. */
struct unic_pkt {
	const uint8_t *ext; /* what follows BTH, 4-aligned */
	uint32_t len;	    /* bytes there, pad and ICRC excluded */
	uint32_t psn;
	uint32_t ipv4; /* sender */
	uint8_t opcode;
	bool ackreq;
	bool solicited;
};

enum unic_rx_stage {
	UNIC_RX_IDLE = 0,
	UNIC_RX_REDO,	/* start again with this frame when DMA has room */
	UNIC_RX_PLACE,	/* payload on its way to host memory */
	UNIC_RX_FINISH, /* placed: completion still to be written */
};

struct unic_roce {
	/* of this round, not yet in the counters: unic_roce_count() */
	uint32_t tx_frames, tx_bytes, rx_frames, rx_bytes;
	uint8_t tx_free;  /* index, UNIC_TX_BUFS: none */
	bool tx_blocked;  /* a path had no room; for sched.c */
	uint8_t rx_stage; /* enum unic_rx_stage */
	bool rx_response; /* the frame is a READ response */
	bool rx_counted;  /* it is one of rx_qp's dmas */
	bool rx_again;	  /* it was kept, and is not the port's: parked.h */
	int16_t rx_err;	  /* -UNIC_E*: could not be placed wholly */
	uint32_t rx_conn; /* qp->conn of rx_qp when the frame came */
	uint16_t rx_qp;
	struct unic_tx tx[UNIC_TX_BUFS];
	struct unic_rx rx;	/* the frame held while rx_stage is not IDLE */
	struct unic_sgl rx_sgl; /* where its payload goes */
};

/** unic_roce_init() - forget everything; a received frame still held goes back
 * to the port. No DMA may be in flight. */
void unic_roce_init(struct unic_transport *nic);

/** unic_roce_count() - what was sent, received and moved since goes into the
 * counters. */
void unic_roce_count(struct unic_transport *nic);

/** unic_roce_length() - make @h, of a packet to or from the peer of @t, that of
 * IP packets of @ip bytes. */
void unic_roce_length(const struct unic_roce_tmpl *t, struct unic_headers *h,
		      uint32_t ip);

/** unic_roce_template() - build @qp's header template from its addresses, and
 * the other way round what the lane expects from them: nothing yet. */
void unic_roce_template(struct unic_transport *nic, struct unic_qp *qp);

/**
 * unic_frame_get() - a frame buffer along @qp's path, for one frame that needs
 * no DMA that might wait; hand it to unic_frame_send() (frame.h).
 * Returns NULL when that has no room (then roce.tx_blocked is set), or when all
 * transmit jobs wait.
 */
uint8_t *unic_frame_get(struct unic_transport *nic, const struct unic_qp *qp);

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
void unic_tx_adopt(struct unic_transport *nic, const struct unic_qp *qp,
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

/**
 * unic_rx_poll() - take at most UNIC_RX_BATCH frames from the port, none while
 * the payload of an earlier one is on its way: ARP, RoCEv2 to a QP, UD to QP 1;
 * all else is counted and dropped. A frame goes back to the port when it is done
 * with, at once unless DMA is pending. True if there was work.
 */
bool unic_rx_poll(struct unic_transport *nic);

/** unic_rx_again() - a frame kept by unic_parked_keep(), while rx_stage is IDLE:
 * as if it came now. unic_parked_done() is called when it is done with. */
void unic_rx_again(struct unic_transport *nic, const struct unic_rx *rx);

/* mad.c */

/** unic_mad_send() - MAD_SEND. 0, -UNIC_EINVAL, -UNIC_ENOROUTE (we have no
 * address), -UNIC_EAGAIN (link full). */
struct unic_cmd_mad_send;
int unic_mad_send(struct unic_transport *nic,
		  const struct unic_cmd_mad_send *cmd,
		  const uint8_t data[UNIC_MAD_BYTES]);

/** unic_mad_frame() - a datagram to QP 1 arrived; @mac is its sender's. */
void unic_mad_frame(struct unic_transport *nic, const struct unic_pkt *pkt,
		    const uint8_t mac[6]);

#endif /* UNIC_ROCE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * roce.h - what the files of this room keep of RoCEv2 frames (IBTA annex A17): the
 * header template of a queue pair, in which only length, checksum, opcode and PSN
 * change from packet to packet; what a packet that is like an earlier one looks
 * like; a frame on its way out; a packet taken apart. frame.h has the words of a
 * frame, tx.h builds and sends frames, rx.h takes them apart.
 */
#ifndef UNIC_ROCE_H
#define UNIC_ROCE_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/dma.h"
#include "unic_port.h"
#include "unic_wire.h"

struct unic_transport;
struct unic_qp_ctx;

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
	/* by fastpath_lone.c since unic_roce_publish() */
	uint32_t lone_sent, lone_placed;
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

#endif /* UNIC_ROCE_H */

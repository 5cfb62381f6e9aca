/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_serial.h - the serial host link: what a NIC without shared memory and its
 * driver say to each other over a UART.
 *
 * On the line: COBS (no zero byte inside a frame), then a zero byte. Inside: a
 * header, a body of at most UNIC_SERIAL_BODY bytes, CRC-32 (IEEE) of both, least
 * significant byte first. What does not fit that is dropped and counted.
 *
 * Each side has a nonce, made when it starts. SYN says one's own and what one
 * knows of the other's; a side that hears its own back may send. `session`, of
 * both nonces, is in every other frame: what is left of an earlier life counts
 * for nothing. A new nonce ends all that was under way.
 *
 * Frames with a type from UNIC_SERIAL_FIRST on have sequence numbers, and are
 * taken in that order, each once: `ack` is the next one expected, at most
 * UNIC_SERIAL_WINDOW are sent and not acknowledged, and after a loss all from
 * the lost one on are sent again (go-back-N). They are made anew from where their
 * bytes lie: no copy is kept.
 */
#ifndef UNIC_SERIAL_H
#define UNIC_SERIAL_H

#include "unic_types.h"

#define UNIC_SERIAL_MAGIC   0x4c53u /* "SL" */
#define UNIC_SERIAL_VERSION 1u	    /* a SYN of another is dropped */
#define UNIC_SERIAL_BODY    264u    /* bytes of a body, at most */
#define UNIC_SERIAL_DATA    256u /* of them behind struct unic_serial_words */
#define UNIC_SERIAL_WINDOW  8u	 /* frames that are not acknowledged, at most */

struct unic_serial_hdr {
	uint8_t type;	   /* enum unic_serial_type */
	uint8_t flags;	   /* UNIC_SERIAL_F_* */
	uint8_t seq;	   /* of this frame, modulo 256, from 0 on; SYN, ACK:
			    * 0 */
	uint8_t ack;	   /* next sequence number expected */
	unic_le16 session; /* xor of both nonces, its upper half xor its lower;
			    * SYN: not looked at */
};

/* `ack` was expected and something later came: send again at once. */
#define UNIC_SERIAL_F_GAP \
	(1u << 0) /* a frame before one that came is missing */
/* SYN: the sender has heard its own nonce. */
#define UNIC_SERIAL_F_UP (1u << 1) /* SYN: no answer to it is needed */

/* Every body begins with two words; what they say depends on the type. */
struct unic_serial_words {
	unic_le32 a, b; /* by type, see enum unic_serial_type */
};

/* SYN. a: own nonce, not 0; b: the other's, 0: not known. */
struct unic_serial_syn {
	struct unic_serial_words w; /* a: own nonce, not 0; b: the other's, 0:
				     * not known */
	unic_le16 magic;	    /* UNIC_SERIAL_MAGIC, else dropped */
	unic_le16 version;	    /* UNIC_SERIAL_VERSION, else dropped */
	/* the host's side: bus addresses that exist */
	unic_le32 windows;	/* DMA windows; the NIC's side: 0, as the
				 * next */
	unic_le32 window_bytes; /* of each */
	/* the NIC's side: places in its memory */
	unic_le16 cmds;	      /* commands that it takes ahead of completions;
			       * the host's side: 0, as the next four */
	unic_le16 list_bytes; /* of a command's list page */
	unic_le16 pages;      /* doorbell pages watched */
	unic_le16 rows;	      /* of them, places in the table of tails */
	unic_le16 fifo;	      /* ... and words in the FIFO, a power of two */
	unic_le16 rsvd;
};

enum unic_serial_type {
	UNIC_SERIAL_SYN = 1,	/* struct unic_serial_syn; every 100 ms until it
				 * is heard */
	UNIC_SERIAL_ACK = 2,	/* for `ack` alone; a, b are 0 */
	UNIC_SERIAL_FIRST = 16, /* types from here on have sequence numbers */
	/* from the NIC */
	UNIC_SERIAL_INFO = 16,	/* a: 0; struct unic_info */
	UNIC_SERIAL_RING = 17,	/* a: 15:0 enum unic_serial_ring, 31:16 offset
				 * in the record; b: its number; bytes of it */
	UNIC_SERIAL_LIST = 18,	/* a: offset; b: command number; bytes of its
				 * list page, before its completion */
	UNIC_SERIAL_STATS = 19, /* a: offset in struct unic_stats_page; bytes */
	UNIC_SERIAL_TRACE = 20, /* b: number of the record; struct
				 * unic_trace_rec */
	UNIC_SERIAL_USE = 21,	/* a: row; rows */
	UNIC_SERIAL_CRASH = 22, /* struct unic_crash */
	UNIC_SERIAL_WRITE = 23, /* b, a: bus address; bytes */
	UNIC_SERIAL_READ = 24,	/* b, a: bus address; struct unic_serial_read */
	UNIC_SERIAL_WATCH = 25, /* b, a: bus address of a doorbell page and the
				 * NIC page behind it; le32: its number */
	UNIC_SERIAL_WORD = 26,	/* a: page number << 16 | word of the NIC page;
				 * b: its value */
	UNIC_SERIAL_BELL = 27,	/* a: vector */
	/* from the host */
	UNIC_SERIAL_CMD = 32,	   /* b: number; a command record */
	UNIC_SERIAL_CMD_LIST = 33, /* a: offset; b: command number; bytes of its
				    * list page, before it */
	UNIC_SERIAL_RESET = 34,	   /* b: reset_req */
	UNIC_SERIAL_DOORBELL = 35, /* a: 7:0 page number, 15:8 rows, 31:16
				    * words; b: fifo_seq behind them; rows,
				    * words */
	UNIC_SERIAL_ANSWER = 36,   /* a: 15:0 tag, 31:16 offset; bytes */
};

enum unic_serial_ring {
	UNIC_SERIAL_CPL = 0,   /* completions, 64 bytes */
	UNIC_SERIAL_EVT = 1,   /* events, 64 bytes */
	UNIC_SERIAL_MAD = 2,   /* struct unic_mad_rx */
	UNIC_SERIAL_DROP = 3,  /* struct unic_drop */
	UNIC_SERIAL_RINGS = 4, /* how many there are */
};

/* READ: answered by ANSWERs of the same tag, bytes in order. */
struct unic_serial_read {
	unic_le16 tag; /* the NIC's, returned */
	unic_le16 len; /* bytes, 1..8192 */
};

/* DOORBELL: a row of the table of tails that changed. The rows of a doorbell come
 * before its words, in the same frame or an earlier one. */
struct unic_serial_row {
	unic_le32 row;		      /* its number, below rows of SYN */
	unic_le32 sq, rq, cq_ci, arm; /* struct unic_db_tail */
};

UNIC_ABI_AT(unic_serial_hdr, session, 4);
UNIC_ABI_SIZE(unic_serial_hdr, 6);
UNIC_ABI_SIZE(unic_serial_words, 8);
UNIC_ABI_AT(unic_serial_syn, windows, 12);
UNIC_ABI_AT(unic_serial_syn, cmds, 20);
UNIC_ABI_SIZE(unic_serial_syn, 32);
UNIC_ABI_SIZE(unic_serial_read, 4);
UNIC_ABI_SIZE(unic_serial_row, 20);

#endif /* UNIC_SERIAL_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_wire.h - frames: RoCEv2 (IBTA 1.4 volume 1 chapter 9, annex A17) and
 * the vendor opcodes of unic. All fields big-endian.
 *
 * Ethernet(14) IPv4(20, no options) UDP(8, port 4791) BTH(12) extension
 * headers, payload, pad to 4, ICRC(4). With frames placed at 2 modulo 4, all
 * headers behind Ethernet are 4-aligned; RETH and TKETH of a first/only
 * packet hold 64-bit words as two 32-bit halves.
 */
#ifndef UNIC_WIRE_H
#define UNIC_WIRE_H

#include "unic_types.h"

#define UNIC_ETH_BYTES	14u
#define UNIC_IP_BYTES	20u
#define UNIC_UDP_BYTES	8u
#define UNIC_BTH_BYTES	12u
#define UNIC_ICRC_BYTES 4u
#define UNIC_BTH_OFF	(UNIC_ETH_BYTES + UNIC_IP_BYTES + UNIC_UDP_BYTES)
#define UNIC_EXT_OFF	(UNIC_BTH_OFF + UNIC_BTH_BYTES)

#define UNIC_ETHERTYPE_IP  0x0800u
#define UNIC_ETHERTYPE_ARP 0x0806u
#define UNIC_ROCE_PORT	   4791u

struct unic_eth {
	uint8_t dst[6];
	uint8_t src[6];
	unic_be16 type;
};

struct unic_ip {
	uint8_t ver_ihl; /* 0x45 */
	uint8_t tos;
	unic_be16 len;
	unic_be16 id;
	unic_be16 frag; /* DF */
	uint8_t ttl;
	uint8_t proto; /* 17 */
	unic_be16 csum;
	unic_be32 src;
	unic_be32 dst;
};

struct unic_udp {
	unic_be16 sport; /* 0xc000 | hash of the QP pair, constant per QP */
	unic_be16 dport; /* UNIC_ROCE_PORT */
	unic_be16 len;
	unic_be16 csum; /* 0 */
};

struct unic_bth {
	uint8_t opcode; /* enum unic_bth_opcode */
	uint8_t flags;	/* 7: solicited, 6: migration, 5:4 pad, 3:0 version */
	unic_be16 pkey; /* 0xffff */
	unic_be32 dqpn; /* 31:24 reserved (FECN/BECN), 23:0 destination QP */
	unic_be32 apsn; /* 31: acknowledge request, 23:0 PSN */
};

#define UNIC_BTH_SOLICITED 0x80u
#define UNIC_BTH_PAD_SHIFT 4u
#define UNIC_BTH_PAD_MASK  0x30u
#define UNIC_BTH_ACKREQ	   0x80000000u
#define UNIC_PSN_MASK	   0xffffffu
#define UNIC_QPN_MASK	   0xffffffu

/* RDMA extended transport header: first/only WRITE, READ request. */
struct unic_reth {
	unic_be32 va_hi;
	unic_be32 va_lo;
	unic_be32 rkey;
	unic_be32 len;
};

/* ACK extended transport header: acknowledgements and READ responses. */
struct unic_aeth {
	unic_be32 syn_msn; /* 31:24 syndrome, 23:0 message sequence number */
};

#define UNIC_AETH_ACK	       0x00u /* 4:0 credit count; 0x1f: not used */
#define UNIC_AETH_ACK_NOCREDIT 0x1fu
#define UNIC_AETH_RNR	       0x20u /* 4:0 RNR timer code */
#define UNIC_AETH_NAK	       0x60u
#define UNIC_AETH_TYPE_MASK    0x60u
#define UNIC_NAK_PSN_SEQ       0x60u
#define UNIC_NAK_INV_REQ       0x61u
#define UNIC_NAK_REM_ACCESS    0x62u
#define UNIC_NAK_REM_OP	       0x63u

/* Datagram extended transport header: UD, and management to QP 1. */
struct unic_deth {
	unic_be32 qkey;
	unic_be32 sqpn; /* 23:0 */
};
#define UNIC_QKEY_GSI  0x80010000u
#define UNIC_MAD_BYTES 256u

enum unic_bth_opcode {
	UNIC_OP_SEND_FIRST = 0x00,
	UNIC_OP_SEND_MIDDLE = 0x01,
	UNIC_OP_SEND_LAST = 0x02,
	UNIC_OP_SEND_LAST_IMM = 0x03,
	UNIC_OP_SEND_ONLY = 0x04,
	UNIC_OP_SEND_ONLY_IMM = 0x05,
	UNIC_OP_WRITE_FIRST = 0x06,
	UNIC_OP_WRITE_MIDDLE = 0x07,
	UNIC_OP_WRITE_LAST = 0x08,
	UNIC_OP_WRITE_LAST_IMM = 0x09,
	UNIC_OP_WRITE_ONLY = 0x0a,
	UNIC_OP_WRITE_ONLY_IMM = 0x0b,
	UNIC_OP_READ_REQUEST = 0x0c,
	UNIC_OP_READ_RESP_FIRST = 0x0d,
	UNIC_OP_READ_RESP_MIDDLE = 0x0e,
	UNIC_OP_READ_RESP_LAST = 0x0f,
	UNIC_OP_READ_RESP_ONLY = 0x10,
	UNIC_OP_ACK = 0x11,
	UNIC_OP_SEND_LAST_INV = 0x16, /* IETH */
	UNIC_OP_SEND_ONLY_INV = 0x17, /* IETH */
	/* unreliable connection: as above, 0x20 added */
	UNIC_OP_UC_SEND_FIRST = 0x20,
	UNIC_OP_UC_SEND_ONLY = 0x24,
	UNIC_OP_UC_WRITE_FIRST = 0x26,
	UNIC_OP_UC_WRITE_LAST = 0x28,
	UNIC_OP_UC_WRITE_ONLY = 0x2a,
	UNIC_OP_UC_WRITE_ONLY_IMM = 0x2b,
	UNIC_OP_UD_SEND_ONLY = 0x64,
	UNIC_OP_UD_SEND_ONLY_IMM = 0x65,
	/* manufacturer-specific, reliable connection: tagged messages (S3) */
	UNIC_OP_TOKEN_FIRST = 0xc0, /* TKETH */
	UNIC_OP_TOKEN_MIDDLE = 0xc1,
	UNIC_OP_TOKEN_LAST = 0xc2,
	UNIC_OP_TOKEN_ONLY = 0xc3, /* TKETH */
	/* vendor acknowledgement: EVTH; not fatal, consumes no PSN */
	UNIC_OP_VACK = 0xd0,
};

/*
 * Tagged message header. The message is ctrl_len bytes of control part (all of
 * it in the first packet) followed by payload_len bytes.
 */
struct unic_tketh {
	unic_be32 index; /* of the token */
	unic_be32 key_hi;
	unic_be32 key_lo;
	unic_be32 payload_len;
	unic_be32 ctrl_len; /* 15:0, at most UNIC_TOKEN_CTRL_MAX */
	unic_be32 offset;   /* of the payload in the token's buffer */
};

/*
 * Vendor acknowledgement: the request with this PSN was not executed, or not
 * from this PSN on, because its region is gone; its BTH carries that PSN. What
 * was sent of the request from there on is sent again as WRITEs of 0 bytes. If
 * it had begun, the responder's queue pair is in error, and answers what it has
 * not executed NAK "remote operational error".
 */
struct unic_evth {
	unic_be32 reason;   /* enum unic_ev_reason */
	unic_be32 delay_us; /* RETRY_AFTER: not before */
};

enum unic_ev_reason {
	UNIC_EV_EVICTED = 1,
	UNIC_EV_RETRY_AFTER = 2,
};

struct unic_arp {
	unic_be16 htype; /* 1 */
	unic_be16 ptype; /* 0x0800 */
	uint8_t hlen;	 /* 6 */
	uint8_t plen;	 /* 4 */
	unic_be16 op;	 /* 1 request, 2 reply */
	uint8_t sha[6];
	uint8_t spa[4];
	uint8_t tha[6];
	uint8_t tpa[4];
};

UNIC_ABI_SIZE(unic_eth, 14);
UNIC_ABI_AT(unic_ip, src, 12);
UNIC_ABI_SIZE(unic_ip, 20);
UNIC_ABI_SIZE(unic_udp, 8);
UNIC_ABI_AT(unic_bth, dqpn, 4);
UNIC_ABI_AT(unic_bth, apsn, 8);
UNIC_ABI_SIZE(unic_bth, 12);
UNIC_ABI_SIZE(unic_reth, 16);
UNIC_ABI_SIZE(unic_aeth, 4);
UNIC_ABI_SIZE(unic_deth, 8);
UNIC_ABI_SIZE(unic_tketh, 24);
UNIC_ABI_SIZE(unic_evth, 8);
UNIC_ABI_AT(unic_arp, sha, 8);
UNIC_ABI_SIZE(unic_arp, 28);

#endif /* UNIC_WIRE_H */

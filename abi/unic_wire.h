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

#define UNIC_ETH_BYTES	14u /* of struct unic_eth; there is no VLAN tag */
#define UNIC_IP_BYTES	20u /* of struct unic_ip; there are no options */
#define UNIC_UDP_BYTES	8u  /* of struct unic_udp */
#define UNIC_BTH_BYTES	12u /* of struct unic_bth */
#define UNIC_ICRC_BYTES 4u  /* the last bytes, least significant first */

/* Bytes from the start of a frame to BTH, and to what is behind it. */
#define UNIC_BTH_OFF (UNIC_ETH_BYTES + UNIC_IP_BYTES + UNIC_UDP_BYTES) /* 42 */
#define UNIC_EXT_OFF (UNIC_BTH_OFF + UNIC_BTH_BYTES)		       /* 54 */

#define UNIC_ETHERTYPE_IP  0x0800u /* all but these two: dropped, rx_not_ours */
#define UNIC_ETHERTYPE_ARP 0x0806u /* struct unic_arp follows */
#define UNIC_ROCE_PORT	   4791u   /* UDP, destination; others: rx_not_ours */

struct unic_eth {
	uint8_t dst[6]; /* the NIC's, else dropped (rx_not_ours); ARP: any
			 * taken, and a request is sent to all ones */
	uint8_t src[6]; /* link address of the sender; QP 1: the driver gets
			 * it, else not looked at */
	unic_be16 type; /* UNIC_ETHERTYPE_* */
};

struct unic_ip {
	uint8_t ver_ihl; /* 0x45; others: dropped (rx_bad_ip) */
	uint8_t tos;	 /* DSCP and ECN; sent 0, any taken */
	unic_be16 len;	 /* bytes from ver_ihl to ICRC: a multiple of 4 (else
			  * rx_bad_ip), 44 at least and within the frame
			  * (else rx_short); what is behind them is ignored */
	unic_be16 id;	 /* sent 0, any taken */
	unic_be16 frag;	 /* sent 0x4000 (DF); more fragments or an offset:
			  * dropped (rx_bad_ip) */
	uint8_t ttl;	 /* sent 64, any taken */
	uint8_t proto;	 /* 17; others: dropped (rx_not_ours) */
	unic_be16 csum;	 /* of these 20 bytes (RFC 1071); wrong: dropped
			  * (rx_bad_ip) */
	unic_be32 src;	 /* sender; RC, UC: the peer's, else dropped
			  * (rx_no_qp) */
	unic_be32 dst;	 /* the NIC's, else dropped (rx_not_ours), as is all
			  * while it has none */
};

struct unic_udp {
	unic_be16 sport; /* 0xc000 | hash of the QP pair, constant per QP;
			  * any taken */
	unic_be16 dport; /* UNIC_ROCE_PORT */
	unic_be16 len;	 /* IPv4 length - 20, else dropped (rx_bad_ip) */
	unic_be16 csum;	 /* sent 0, any taken */
};

struct unic_bth {
	uint8_t opcode; /* enum unic_bth_opcode */
	uint8_t flags;	/* 7: solicited; 6: migration, sent 0, any taken; 5:4
			 * pad; 3:0 version, 0, others: dropped
			 * (rx_bad_opcode) */
	unic_be16 pkey; /* 0xffff; taken with bit 15 clear, too; others:
			 * dropped (rx_bad_opcode) */
	unic_be32 dqpn; /* 23:0 destination QP, none such: dropped
			 * (rx_no_qp); 31:24 FECN, BECN, reserved: sent 0,
			 * any taken */
	unic_be32 apsn; /* 31: acknowledge request, 23:0 PSN */
};

/* SOLICITED is sent in the last packet of a message, ACKREQ in the last one of
 * a request and in those whose PSN is 31 modulo 32. */
#define UNIC_BTH_SOLICITED 0x80u       /* flags: completes with WC_SOLICITED */
#define UNIC_BTH_PAD_SHIFT 4u	       /* flags: where the pad count is */
#define UNIC_BTH_PAD_MASK  0x30u       /* 0..3 bytes; sent 0, any taken */
#define UNIC_BTH_ACKREQ	   0x80000000u /* apsn: acknowledge when executed */
#define UNIC_PSN_MASK	   0xffffffu   /* PSNs count modulo 2^24 */
#define UNIC_QPN_MASK	   0xffffffu   /* 0 and 1 are no QP of a process */

/* RDMA extended transport header: first/only WRITE, READ request. */
struct unic_reth {
	unic_be32 va_hi; /* upper half of the first byte's IOVA in region
			  * rkey */
	unic_be32 va_lo; /* lower half */
	unic_be32 rkey;	 /* STag; not looked at when len is 0 */
	unic_be32 len;	 /* bytes of the message, 0..UNIC_MSG_MAX; more: RC
			  * answers NAK_INV_REQ, UC drops it (rx_bad_opcode) */
};

/* Atomic extended transport header. The 8 bytes at the address are a number of 64 bits
 * in the byte order of the host, which is little-endian. */
struct unic_atomic_eth {
	unic_be32 va_hi;      /* upper half of their IOVA in region rkey */
	unic_be32 va_lo;      /* lower half; not a multiple of 8: NAK_INV_REQ */
	unic_be32 rkey;	      /* STag, of a region with REMOTE_ATOMIC */
	unic_be32 swap_hi;    /* upper half of the value to be written, or to be
			       * added */
	unic_be32 swap_lo;    /* lower half */
	unic_be32 compare_hi; /* COMPARE_SWAP: upper half of what must be there;
			       * FETCH_ADD: sent 0, not looked at */
	unic_be32 compare_lo; /* lower half */
};

/* Atomic acknowledge extended transport header, behind an AETH: what was there before
 * the operation. A repeated request is answered with the same, and not executed. */
struct unic_atomic_ack_eth {
	unic_be32 original_hi; /* upper half */
	unic_be32 original_lo; /* lower half */
};

/* ACK extended transport header: acknowledgements, READ and atomic responses. */
struct unic_aeth {
	unic_be32 syn_msn; /* 31:24 syndrome, not looked at in READ and atomic
			    * responses; 23:0 message sequence number
			    * (messages executed so far), not looked at */
};

/*
 * Syndromes. After a NAK both queue pairs are in error and the request has
 * completed: INV_REQ as REM_INV_REQ_ERR, REM_ACCESS as REM_ACCESS_ERR, REM_OP
 * as REM_OP_ERR. Not so PSN_SEQ, which costs one of the retries (RETRY_EXC_ERR
 * when none is left). All but ACK acknowledge what is before their PSN; one of
 * the reserved type 0x40 does nothing else.
 */
#define UNIC_AETH_ACK	       0x00u /* 4:0 credit count; 0x1f: not used */
#define UNIC_AETH_ACK_NOCREDIT 0x1fu /* sent always; any count is taken */
#define UNIC_AETH_RNR	       0x20u /* 4:0 RNR timer code */
#define UNIC_AETH_NAK	       0x60u /* 4:0 code; above 3: rx_bad_opcode */
#define UNIC_AETH_TYPE_MASK    0x60u /* which type; 0x40 is reserved */
#define UNIC_NAK_PSN_SEQ       0x60u /* send again from its PSN on */
#define UNIC_NAK_INV_REQ       0x61u /* wrong opcode, order or length */
#define UNIC_NAK_REM_ACCESS    0x62u /* STag, rights or bounds refused */
#define UNIC_NAK_REM_OP	       0x63u /* the responder itself has failed */

/* Datagram extended transport header: UD, and management to QP 1. */
struct unic_deth {
	unic_be32 qkey; /* Q_Key of the receiver, else dropped (ud_bad_qkey;
			 * to QP 1: rx_no_qp) */
	unic_be32 sqpn; /* 23:0 sender's QP number; 31:24 ignored */
};
#define UNIC_QKEY_GSI  0x80010000u /* of QP 1, both ways */
#define UNIC_MAD_BYTES 256u	   /* payload to QP 1; others: rx_short */

/* Head of a management datagram (IBTA 13.4.2), which is UNIC_MAD_BYTES long. */
struct unic_mad_hdr {
	uint8_t base_version;  /* 1 */
	uint8_t mgmt_class;    /* UNIC_MAD_CLASS_* */
	uint8_t class_version; /* CM: 2; HOLDER: 1 */
	uint8_t method;	       /* UNIC_MAD_SEND */
	unic_be16 status;      /* 0; not looked at */
	unic_be16 specific;    /* 0; not looked at */
	unic_be64 tid;	       /* transaction; HOLDER: the nonce */
	unic_be16 attribute;   /* CM: the message, IBTA table 98; HOLDER: enum
				* unic_holder_type */
	unic_be16 rsvd;	       /* 0; not looked at */
	unic_be32 modifier;    /* 0; not looked at */
};
#define UNIC_MAD_SEND	  0x03u /* the only method */
#define UNIC_MAD_CLASS_CM 0x07u /* communication management */
#define UNIC_MAD_CLASS_HOLDER \
	0x0au /* a vendor class without an OUI, IBTA 16.5 */

/*
 * Mark of a unic in REQ, REP and REJ of the communication manager: bytes 56 to 63 of
 * the private data, behind those of the consumer. Another peer takes it for the end of
 * the private data. What differs in `mark` or `version`, or has more than
 * UNIC_CM_MARK_AT bytes of the consumer, is no mark: the peer is a conventional one,
 * all 56 bytes are its consumer's, and it is sent no vendor opcode and no datagram of
 * class HOLDER.
 */
struct unic_cm_mark {
	uint8_t mark[4];    /* "UNIC" */
	uint8_t version;    /* UNIC_CM_MARK_VERSION */
	uint8_t priv_bytes; /* of the consumer, 0..UNIC_CM_MARK_AT */
	uint8_t caps; /* REQ, REP: UNIC_CM_CAP_*, others are ignored; REJ: not
			     * looked at */
	uint8_t rsvd; /* 0; not looked at */
};
#define UNIC_CM_CAP_REFUSED  (1u << 0) /* its NIC understands UNIC_EV_REFUSED */
#define UNIC_CM_MARK_AT	     56u       /* offset in the private data */
#define UNIC_CM_MARK_VERSION 1u	       /* another: no mark */

/*
 * Datagrams between the drivers at the two ends of a connection, each of which had the
 * mark from the other. INVALIDATE asks the peer to end its use of an STag or a token
 * that it was granted, INVALIDATED says that it has; DELEGATE asks for another peer of
 * the exporter to be entered as a holder, DELEGATED answers. An answer repeats nonce,
 * kind and number. A datagram may be lost: INVALIDATE is sent again every 4 ms while
 * the exporter's notice is open, and eight times in a second when the region has ended
 * without an answer, DELEGATE up to 7 times; a repetition is answered as the first one
 * is.
 */
enum unic_holder_type {
	UNIC_HOLDER_INVALIDATE = 1,  /* of the exporter: end your use of it */
	UNIC_HOLDER_INVALIDATED = 2, /* of the holder: it is ended */
	UNIC_HOLDER_DELEGATE = 3,    /* of the holder: that peer holds it,
				      * too */
	UNIC_HOLDER_DELEGATED = 4,   /* of the exporter: whether that peer is
				      * entered */
};

/* Fields that a type does not have are 0. */
struct unic_holder_mad {
	struct unic_mad_hdr hdr;
	uint8_t mark[4];       /* "UNIC" */
	unic_be32 local_comm;  /* the sender's id of the connection (CM) */
	unic_be32 remote_comm; /* the receiver's */
	unic_be32 kind;	       /* enum unic_ctl_held */
	unic_be32 number;      /* the STag, or the index of the token */
	unic_be32 grace_us;    /* INVALIDATE: left, at least 1; 0: it ended */
	unic_be32 ipv4;	       /* DELEGATE: address of the new holder */
	unic_be32 qpn;	       /* DELEGATE: number of its queue pair */
	unic_be32 status;  /* DELEGATED: enum unic_status, unic_ctl_status */
	uint8_t rsvd[196]; /* 0; not looked at */
};

enum unic_bth_opcode {
	UNIC_OP_SEND_FIRST = 0x00,	 /* MTU bytes; takes a receive */
	UNIC_OP_SEND_MIDDLE = 0x01,	 /* MTU bytes */
	UNIC_OP_SEND_LAST = 0x02,	 /* 1..MTU bytes */
	UNIC_OP_SEND_LAST_IMM = 0x03,	 /* ImmDt, 1..MTU bytes */
	UNIC_OP_SEND_ONLY = 0x04,	 /* 0..MTU bytes; takes a receive */
	UNIC_OP_SEND_ONLY_IMM = 0x05,	 /* ImmDt, 0..MTU bytes; takes a
					  * receive */
	UNIC_OP_WRITE_FIRST = 0x06,	 /* RETH, MTU bytes */
	UNIC_OP_WRITE_MIDDLE = 0x07,	 /* MTU bytes */
	UNIC_OP_WRITE_LAST = 0x08,	 /* 1..MTU bytes */
	UNIC_OP_WRITE_LAST_IMM = 0x09,	 /* ImmDt, 1..MTU bytes; takes a
					  * receive */
	UNIC_OP_WRITE_ONLY = 0x0a,	 /* RETH, 0..MTU bytes */
	UNIC_OP_WRITE_ONLY_IMM = 0x0b,	 /* RETH, ImmDt, 0..MTU bytes; takes
					  * a receive */
	UNIC_OP_READ_REQUEST = 0x0c,	 /* RETH; takes as many PSNs as
					  * responses come */
	UNIC_OP_READ_RESP_FIRST = 0x0d,	 /* AETH, MTU bytes */
	UNIC_OP_READ_RESP_MIDDLE = 0x0e, /* MTU bytes, no AETH */
	UNIC_OP_READ_RESP_LAST = 0x0f,	 /* AETH, 1..MTU bytes */
	UNIC_OP_READ_RESP_ONLY = 0x10,	 /* AETH, 0..MTU bytes */
	UNIC_OP_ACK = 0x11,		 /* AETH: ACK, NAK or RNR NAK */
	/* atomic operations; a NIC without UNIC_FEAT_ATOMICS answers the two
	 * requests NAK INV_REQ */
	UNIC_OP_ATOMIC_ACK = 0x12,    /* AETH, AtomicAckETH, 0 bytes */
	UNIC_OP_COMPARE_SWAP = 0x13,  /* AtomicETH, 0 bytes */
	UNIC_OP_FETCH_ADD = 0x14,     /* AtomicETH, 0 bytes */
	UNIC_OP_SEND_LAST_INV = 0x16, /* IETH (STag to invalidate),
					  * 1..MTU bytes */
	UNIC_OP_SEND_ONLY_INV = 0x17, /* IETH, 0..MTU bytes; takes a
					  * receive */
	/* unreliable connection: as above, 0x20 added */
	UNIC_OP_UC_SEND_FIRST = 0x20,	  /* 0x21 MIDDLE, 0x22 LAST, 0x23
					   * LAST_IMM */
	UNIC_OP_UC_SEND_ONLY = 0x24,	  /* 0x25: with ImmDt */
	UNIC_OP_UC_WRITE_FIRST = 0x26,	  /* RETH; 0x27 MIDDLE */
	UNIC_OP_UC_WRITE_LAST = 0x28,	  /* 0x29: with ImmDt */
	UNIC_OP_UC_WRITE_ONLY = 0x2a,	  /* RETH */
	UNIC_OP_UC_WRITE_ONLY_IMM = 0x2b, /* RETH, ImmDt; takes a receive */
	UNIC_OP_UD_SEND_ONLY = 0x64,	  /* DETH, 0..MTU bytes */
	UNIC_OP_UD_SEND_ONLY_IMM = 0x65,  /* DETH, ImmDt, 0..MTU bytes */
	/* manufacturer-specific, reliable connection: tagged messages (S3) */
	UNIC_OP_TOKEN_FIRST = 0xc0,  /* TKETH, MTU bytes; takes a
				      * receive */
	UNIC_OP_TOKEN_MIDDLE = 0xc1, /* MTU bytes of payload */
	UNIC_OP_TOKEN_LAST = 0xc2,   /* 1..MTU bytes of payload */
	UNIC_OP_TOKEN_ONLY = 0xc3,   /* TKETH, 0..MTU bytes; takes a
				      * receive */
	/* vendor acknowledgement: EVTH; not fatal, consumes no PSN */
	UNIC_OP_VACK = 0xd0, /* RC to unic; has the PSN of the
			      * request */
};

/*
 * Tagged message header. The message is ctrl_len bytes of control part (all of
 * it in the first packet) followed by payload_len bytes.
 */
struct unic_tketh {
	unic_be32 index;       /* of the token; none there: refused BAD_KEY */
	unic_be32 key_hi;      /* upper half of its key; wrong: refused
				* BAD_KEY */
	unic_be32 key_lo;      /* lower half */
	unic_be32 payload_len; /* bytes, 0..UNIC_MSG_MAX; more: NAK_INV_REQ;
				* behind the end of the token's buffer:
				* refused TOO_LONG */
	unic_be32 ctrl_len;    /* bytes, ..UNIC_TOKEN_CTRL_MAX; more, or more
				* than follow in this packet or fit the
				* receive: NAK_INV_REQ */
	unic_be32 offset;      /* of the payload in the token's buffer; above
				* UNIC_MSG_MAX: NAK_INV_REQ */
};

/*
 * Vendor acknowledgement: the request with this PSN was not executed, or not
 * from this PSN on, because its region is gone; its BTH carries that PSN. What
 * was sent of the request from there on is sent again as WRITEs of 0 bytes. If
 * it had begun, the responder's queue pair is in error, and answers what it has
 * not executed NAK "remote operational error".
 */
struct unic_evth {
	unic_be32 reason;   /* enum unic_ev_reason; another one is ignored, but
			     * for the packets before, which any acknowledges
			     * (rx_bad_opcode) */
	unic_be32 delay_us; /* RETRY_AFTER: not before; sent 50, taken as 10
			     * at least and 10^6 at most; REFUSED: why, enum
			     * unic_token_end */
};

enum unic_ev_reason {
	UNIC_EV_EVICTED = 1,	 /* the region was taken back; delay_us is 0 */
	UNIC_EV_RETRY_AFTER = 2, /* a page is not there yet: send again from
				  * this PSN on; no retry is counted, but the
				  * 4097th for one PSN ends the queue pair
				  * (RNR_RETRY_EXC_ERR) */
	UNIC_EV_REFUSED = 3,	 /* the tagged message that ends with this PSN
				  * was refused; the PSN comes again as a WRITE
				  * of 0 bytes, and nothing else of it. Only to
				  * a peer with CM_CAP_REFUSED */
};

struct unic_arp {
	unic_be16 htype; /* 1; another value of this or the next three:
			  * dropped (rx_not_ours) */
	unic_be16 ptype; /* 0x0800 */
	uint8_t hlen;	 /* 6 */
	uint8_t plen;	 /* 4 */
	unic_be16 op;	 /* 1 request, 2 reply; others: dropped (rx_not_ours) */
	uint8_t sha[6];	 /* link address of the sender; multicast: dropped */
	uint8_t spa[4];	 /* IPv4 of the sender */
	uint8_t tha[6];	 /* request: 0, any taken; reply: of who asked */
	uint8_t tpa[4];	 /* request: address asked for, reply: of who asked;
			  * the NIC's, else dropped (rx_not_ours) */
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
UNIC_ABI_AT(unic_atomic_eth, rkey, 8);
UNIC_ABI_AT(unic_atomic_eth, swap_hi, 12);
UNIC_ABI_AT(unic_atomic_eth, compare_hi, 20);
UNIC_ABI_SIZE(unic_atomic_eth, 28);
UNIC_ABI_SIZE(unic_atomic_ack_eth, 8);
UNIC_ABI_SIZE(unic_deth, 8);
UNIC_ABI_AT(unic_mad_hdr, tid, 8);
UNIC_ABI_AT(unic_mad_hdr, attribute, 16);
UNIC_ABI_SIZE(unic_mad_hdr, 24);
UNIC_ABI_AT(unic_cm_mark, version, 4);
UNIC_ABI_AT(unic_cm_mark, caps, 6);
UNIC_ABI_SIZE(unic_cm_mark, 8);
UNIC_ABI_AT(unic_holder_mad, mark, 24);
UNIC_ABI_AT(unic_holder_mad, local_comm, 28);
UNIC_ABI_AT(unic_holder_mad, status, 56);
UNIC_ABI_SIZE(unic_holder_mad, UNIC_MAD_BYTES);
UNIC_ABI_SIZE(unic_tketh, 24);
UNIC_ABI_SIZE(unic_evth, 8);
UNIC_ABI_AT(unic_arp, sha, 8);
UNIC_ABI_SIZE(unic_arp, 28);

#endif /* UNIC_WIRE_H */

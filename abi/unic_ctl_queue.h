/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ctl_queue.h - requests of a process about payload tokens, completion queues
 * and queue pairs.
 */
#ifndef UNIC_ABI_CTL_QUEUE_H
#define UNIC_ABI_CTL_QUEUE_H

#include "unic_ctl_msg.h"

/*
 * TOKEN_ALLOC (S3). The id lives until TOKEN_CANCEL, or the TOKEN_END upcall,
 * or its use (the completion RECV_TOKEN names its index): nothing needs to be
 * called for a used token. TOKEN_CANCEL: OK: `end` says how it ended: CANCELLED,
 * EXPIRED if ttl_us are over, USED if a message came first, or an end that the NIC
 * is about to tell (TOKEN_END may come, too). While a message is arriving it is
 * answered when that has ended: USED or ABORTED, or CANCELLED, if it was not whole
 * within T of the NIC (grace_us); there is no TOKEN_END then. RESET, too, is an end.
 * BUSY in place of that with a NIC without FEAT_CANCEL_WAIT. NO_TOKEN: there is no
 * such id: TOKEN_END or a TOKEN_CANCEL told its end, or another token has its index.
 * F_PIECES is for the driver itself; the tail is its struct unic_token_piece.
 */
struct unic_ctl_token_alloc {
	struct unic_ctl_hdr hdr;
	unic_le64 iova;	       /* of the first byte of the buffer, in
				* region mr */
	unic_le32 mr;	       /* id; it needs LOCAL_WRITE, else RIGHTS */
	unic_le32 length;      /* bytes, 1..UNIC_MSG_MAX, else INVALID; not
				* in the region: BOUNDS */
	unic_le32 ttl_us;      /* 0 = until cancelled */
	unic_le32 sender_ipv4; /* 0 = anybody */
	unic_le32 sender_qpn;  /* 0 = any QP there */
	unic_le32 user;	       /* returned in TOKEN_END */
	unic_le32 flags;       /* UNIC_TOKEN_F_* */
	unic_le32 rsvd[3];
};
struct unic_ctl_token_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 key;	  /* random; who sends to the token names it;
			   * CANCEL: 0 */
	unic_le32 id;	  /* for TOKEN_CANCEL and upcalls */
	unic_le32 index;  /* on the wire, with the key, and in
			   * unic_cqe.token */
	unic_le32 end;	  /* CANCEL: enum unic_token_end */
	unic_le32 placed; /* CANCEL: bytes of payload in its buffer */
	unic_le32 rsvd[6];
};

/* CQ_CREATE. The ring is a range of a region of class control. */
struct unic_ctl_cq_create {
	struct unic_ctl_hdr hdr;
	unic_le64 iova;	    /* 64-aligned */
	unic_le32 mr;	    /* id */
	unic_le32 entries;  /* a power of two, 2..unic_info.cq_entries */
	unic_le32 db_index; /* row of the doorbell page, < UNIC_DB_OBJECTS */
	unic_le32 user;	    /* returned in CQ_ERROR */
	unic_le32 rsvd[6];
};
/*
 * CQ_RESIZE. As struct unic_cmd_cq_resize. UNSUPPORTED: a NIC without UNIC_FEAT_CQ_RESIZE, or
 * the process says HELLO_KEEP. With any other status than OK the queue goes on in its old
 * ring. The old ring's region is the process's, which ends it (MR_DEREG) when it has read
 * what is there.
 */
struct unic_ctl_cq_resize {
	struct unic_ctl_hdr hdr;
	unic_le64 iova;	   /* 64-aligned */
	unic_le32 id;	   /* of the queue */
	unic_le32 mr;	   /* id; of the domain of the queue's ring */
	unic_le32 entries; /* a power of two, 2..unic_info.cq_entries */
	unic_le32 rsvd[7];
};
struct unic_ctl_cq_resize_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 records; /* number of the first record in the new ring */
	unic_le32 rsvd[11];
};
/* Reply of CQ_CREATE, QP_CREATE, SRQ_CREATE and QP_QUERY. */
struct unic_ctl_queue_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 id;	  /* of the queue */
	unic_le32 number; /* QP: its QP number, as in unic_cqe.qpn;
			   * CQ, SRQ: its index in the NIC's table */
	unic_le32 state;  /* QP_QUERY: enum unic_qp_state, as the driver
			   * knows it */
	unic_le32 rsvd[9];
};

/* QP_CREATE. State RESET. QP_DESTROY answers when its last DMA is done: what it
 * completes is in memory then, and no completion of it comes later. Requests
 * posted and not completed by then never complete. */
struct unic_ctl_qp_create {
	struct unic_ctl_hdr hdr;
	unic_le64 sq_iova;  /* 64-aligned, in region mr */
	unic_le64 rq_iova;  /* likewise; with QP_SRQ: id of the SRQ that its
			     * receives come from, of the same domain */
	unic_le32 mr;	    /* id; class control */
	unic_le32 send_cq;  /* id */
	unic_le32 recv_cq;  /* id */
	unic_le16 sq_slots; /* a power of two, 2..unic_info.ring_slots,
			     * else INVALID */
	unic_le16 rq_slots; /* likewise; with QP_SRQ: 0 */
	unic_le32 rq_class; /* buffer class, bytes; with QP_SRQ: 0 */
	uint8_t db_index;   /* row of the doorbell page, <
			     * UNIC_DB_OBJECTS, else INVALID; another QP
			     * has it: BUSY */
	uint8_t type;	    /* enum unic_qp_type */
	uint8_t miss;	    /* enum unic_qp_miss */
	uint8_t flags;	    /* UNIC_CTL_QP_SRQ; others: INVALID */
	unic_le32 user;	    /* returned in QP_ERROR and CONN upcalls */
	unic_le32 pd;	    /* id; of the region too */
};

#define UNIC_CTL_QP_SRQ (1u << 0) /* it has no receive ring of its own */

/* SRQ_CREATE. The ring is a range of a region of class control, whose domain is that of
 * the queue. How many of its receives were taken is in unic_nic_page.srq_taken. */
struct unic_ctl_srq_create {
	struct unic_ctl_hdr hdr;
	unic_le64 iova;	 /* 64-aligned */
	unic_le32 mr;	 /* id */
	unic_le32 slots; /* a power of two, 2..unic_info.ring_slots */
	unic_le32
		db_index; /* row of the doorbell page, < UNIC_DB_OBJECTS; BUSY:
			     * another QP or SRQ has it */
	unic_le32 user;	  /* returned in SRQ_LIMIT and SRQ_ERROR */
	unic_le32 rsvd[6];
};
/* SRQ_MODIFY. */
struct unic_ctl_srq_modify {
	struct unic_ctl_hdr hdr;
	unic_le32 id;	 /* of the queue */
	unic_le32 limit; /* as in unic_cmd_srq_modify */
	unic_le32 rsvd[10];
};

/* QP_MODIFY. Fields as in struct unic_cmd_qp_modify. CONNECT and ACCEPT do
 * this by themselves. RTR of RC or UC with a destination MAC of zeros is resolved by
 * ARP before the NIC looks at state and fields: NO_ROUTE (dest_ipv4 is not
 * unicast), BUSY (the NIC is asking for 16 addresses), UNREACHABLE (no answer). */
struct unic_ctl_qp_modify {
	struct unic_ctl_hdr hdr;
	unic_le32 id;	     /* of the QP */
	uint8_t state;	     /* enum unic_qp_state to enter */
	uint8_t mtu_shift;   /* RTR: packets of 2^mtu_shift bytes, 8..12
			      * and as long as the link takes, else
			      * INVALID */
	uint8_t rnr_timer;   /* RTR, RC: code of its RNR NAKs, 0..31
			      * (IBTA table 45); UC, UD: 0 */
	uint8_t max_dest_rd; /* RTR, RC: READs and atomics of the peer at a
			      * time, 0..16; without FEAT_ATOMICS 0..4 */
	uint8_t max_rd;	     /* RTS, RC: own READs and atomics at a time,
			      * likewise; 0: none may be posted */
	uint8_t timeout;     /* RTS, RC: 4.096 us * 2^timeout, 1..31 */
	uint8_t retry_cnt;   /* RTS, RC: how often a packet is sent
			      * again, 0..7; then RETRY_EXC_ERR */
	uint8_t rnr_retry;   /* RTS, RC: RNR NAKs in a row, 0..6; one
			      * more: RNR_RETRY_EXC_ERR; 7 = any number */
	unic_le32 dest_qpn;  /* RTR: the peer's, 2..2^24 - 1; UD: 0 */
	unic_le32 rq_psn;    /* RTR: first PSN expected; UD: 0 */
	unic_le32 dest_ipv4; /* RTR: of the peer, host order; UD: 0 */
	uint8_t dest_mac[6]; /* RTR: of the peer; 0: by ARP; multicast:
			      * INVALID; UD: 0 */
	uint8_t rights;	     /* INIT: UNIC_MR_REMOTE_* that the peer
			      * gets; UC: WRITE alone; UD: 0; else
			      * INVALID */
	uint8_t vendor;	     /* RTR, RC: UNIC_PEER_*: the peer is unic */
	unic_le32 sq_psn;    /* RTS: first PSN sent */
	unic_le32 qkey;	     /* INIT, UD: Q_Key of datagrams to it; bit
			      * 31: 0; RC, UC: 0 */
	unic_le32 rsvd[2];
};

UNIC_ABI_AT(unic_ctl_token_alloc, mr, 24);
UNIC_ABI_SIZE(unic_ctl_token_alloc, 64);
UNIC_ABI_AT(unic_ctl_token_reply, id, 24);
UNIC_ABI_SIZE(unic_ctl_token_reply, 64);
UNIC_ABI_AT(unic_ctl_cq_create, db_index, 32);
UNIC_ABI_SIZE(unic_ctl_cq_create, 64);
UNIC_ABI_AT(unic_ctl_cq_resize, id, 24);
UNIC_ABI_SIZE(unic_ctl_cq_resize, 64);
UNIC_ABI_SIZE(unic_ctl_cq_resize_reply, 64);
UNIC_ABI_SIZE(unic_ctl_queue_reply, 64);
UNIC_ABI_AT(unic_ctl_qp_create, mr, 32);
UNIC_ABI_AT(unic_ctl_qp_create, db_index, 52);
UNIC_ABI_AT(unic_ctl_qp_create, user, 56);
UNIC_ABI_SIZE(unic_ctl_qp_create, 64);
UNIC_ABI_AT(unic_ctl_srq_create, db_index, 32);
UNIC_ABI_SIZE(unic_ctl_srq_create, 64);
UNIC_ABI_SIZE(unic_ctl_srq_modify, 64);
UNIC_ABI_AT(unic_ctl_qp_modify, state, 20);
UNIC_ABI_AT(unic_ctl_qp_modify, dest_mac, 40);
UNIC_ABI_AT(unic_ctl_qp_modify, qkey, 52);
UNIC_ABI_SIZE(unic_ctl_qp_modify, 64);

#endif /* UNIC_ABI_CTL_QUEUE_H */

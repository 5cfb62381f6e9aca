/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_cmd_queue.h - commands and completions of the mailbox that are about
 * transport: payload tokens, completion queues, queue pairs, addresses,
 * management datagrams.
 */
#ifndef UNIC_ABI_CMD_QUEUE_H
#define UNIC_ABI_CMD_QUEUE_H

#include "unic_cmd.h"

/* TOKEN_ALLOC (S3): a payload buffer for one tagged message. */
struct unic_cmd_token_alloc {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;	       /* index of the PD; its process owns the token */
	unic_le32 stag;	       /* region of the same PD, with LOCAL_WRITE */
	unic_le64 iova;	       /* of the first byte of the buffer; F_PIECES:
				* 0 */
	unic_le32 length;      /* bytes, 1..UNIC_MSG_MAX */
	unic_le32 ttl_us;      /* ends EXPIRED after; 0 = until cancelled */
	unic_le32 sender_ipv4; /* 0 = anybody; else this address ... */
	unic_le32 sender_qpn;  /* ... and this QP number there, 0 = any; with
				* sender_ipv4 0: 0 */
	unic_le32 flags;       /* UNIC_TOKEN_F_* */
	unic_le32 user;	       /* the driver's own id, returned in TOKEN_END */
	unic_le32 pieces;      /* F_PIECES: how many; else 0 */
	unic_le32 rsvd[3];
};
/* The buffer is not one range but the pieces that the list page has, in order: each
 * lies in the region `stag` of residency PHYSICAL, `iova` is 0, `length` their
 * sum. Not with MULTI. TOKEN_FULL, too, when 32 tokens have pieces. */
#define UNIC_TOKEN_F_PIECES    (1u << 1) /* the list page has the buffer */
#define UNIC_TOKEN_F_FLAGS_ALL 0x03u	 /* with any other bit: INVALID */
#define UNIC_TOKEN_PIECES      16u	 /* pieces of a token, at most */
struct unic_token_piece {
	unic_le64 bus; /* bus address of the piece */
	unic_le32 len; /* bytes, not 0 */
	unic_le32 rsvd;
};
struct unic_cpl_token {
	struct unic_cmd_hdr hdr;
	unic_le32 index;  /* 0..tokens-1, for messages and TOKEN_CANCEL */
	unic_le32 end;	  /* CANCEL: enum unic_token_end it had or got;
			   * PENDING: 0 */
	unic_le64 key;	  /* 64 random bits, without which no message gets at
			   * the buffer; CANCEL: 0 */
	unic_le32 placed; /* CANCEL: bytes placed: USED, ABORTED, and CANCELLED
			   * amid a message */
	unic_le32 rsvd[9];
};

/* TOKEN_CANCEL. OK with `end`. While a message is arriving: PENDING, and TOKEN_END says
 * how it ended: USED or ABORTED by that message, or CANCELLED, because the message was
 * not whole when T (unic_info.grace_us) from the first such command on was over; what
 * is left of it is refused then, and the queue pair lives. Without CANCEL_WAIT: BUSY,
 * and nothing changes. NO_TOKEN if index and key name no token the NIC remembers.
 */
struct unic_cmd_token_cancel {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;	 /* slot whose token it is */
	unic_le32 index; /* as in unic_cpl_token */
	unic_le64 key;	 /* as in unic_cpl_token */
	unic_le32 flags; /* UNIC_CANCEL_* */
	unic_le32 rsvd[9];
};
#define UNIC_CANCEL_WAIT \
	(1u << 0) /* with FEAT_CANCEL_WAIT: PENDING, not BUSY */

/* CQ_CREATE. The ring is a range of a control region. */
struct unic_cmd_cq_create {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;	    /* index of the PD; its process owns the queue */
	unic_le32 stag;	    /* region of the ring: same PD, class control,
			     * LOCAL_WRITE */
	unic_le64 iova;	    /* of record 0, 64-aligned */
	unic_le32 entries;  /* records of 32 bytes, a power of two,
			     * 2..unic_info.cq_entries */
	unic_le32 db_index; /* its row in the doorbell page,
			     * 0..UNIC_DB_OBJECTS-1; BUSY if another CQ has
			     * it */
	unic_le32 rsvd[8];
};

/*
 * CQ_RESIZE (UNIC_FEAT_CQ_RESIZE, else BAD_OPCODE). The queue goes on in another ring, in the
 * order of its records: number n is in the old ring if n < `records` of the answer, else in
 * the new one, at n modulo its size, with `seq` n + 1 as ever. Nothing else of the queue
 * changes: its row, its index of records read, what is armed. The memory of the new ring must
 * have no record that is valid. Of the old ring's region records may still be under way then,
 * as of any other: MR_DEREG is answered behind them. NO_CQ; STATE: the queue is in error; BUSY:
 * more records are unread than the new ring has room for; and what CQ_CREATE is refused for.
 */
struct unic_cmd_cq_resize {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;	   /* slot of the owner */
	unic_le32 id;	   /* as in unic_cpl_obj */
	unic_le64 iova;	   /* of record 0 of the new ring, 64-aligned */
	unic_le32 stag;	   /* its region: PD of the queue, class control,
			    * LOCAL_WRITE */
	unic_le32 entries; /* as in unic_cmd_cq_create */
	unic_le32 rsvd[8];
};
struct unic_cpl_cq_resize {
	struct unic_cmd_hdr hdr;
	unic_le32 records; /* written so far, modulo 2^32 */
	unic_le32 rsvd[13];
};
struct unic_cpl_obj {
	struct unic_cmd_hdr hdr;
	unic_le32 id; /* CQ, SRQ: table index; QP: QP number */
	unic_le32 rsvd[13];
};
/* CQ_DESTROY, SRQ_DESTROY (BUSY while a QP uses it), QP_DESTROY (OK or PENDING: QP_GONE
 * follows when its last DMA is done). Of a QP that is gone no completion comes
 * any more, so nothing is written to a CQ that is destroyed. */
struct unic_cmd_obj {
	struct unic_cmd_hdr hdr;
	unic_le32 proc; /* slot of the owner; QUERY_USAGE: 0 */
	unic_le32 id;	/* as in unic_cpl_obj; QUERY_USAGE: the slot */
	unic_le32 rsvd[12];
};

/* QP_CREATE. State RESET afterwards. Rings are ranges of control regions. */
struct unic_cmd_qp_create {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;	    /* index of the PD; its process owns the queue
			     * pair */
	unic_le32 stag;	    /* region of both rings: same PD, class control */
	unic_le32 send_cq;  /* CQ of the same process, for what it sends */
	unic_le32 recv_cq;  /* for what it receives, may be the same */
	unic_le64 sq_iova;  /* of send slot 0, 64-aligned */
	unic_le64 rq_iova;  /* of receive slot 0, 64-aligned; with srq: 0 */
	unic_le16 sq_slots; /* of 64 bytes, a power of two,
			     * 2..unic_info.ring_slots */
	unic_le16 rq_slots; /* likewise; with srq: 0 */
	unic_le32 rq_class; /* buffer class: a receive substituted for an
			     * evicted one must be at least this long; with
			     * srq: 0 */
	unic_le32 db_index; /* its row in the doorbell page,
			     * 0..UNIC_DB_OBJECTS-1; BUSY if another QP or SRQ
			     * has it */
	uint8_t type;	    /* enum unic_qp_type */
	uint8_t miss;	    /* enum unic_qp_miss; RC: 0; with srq: not
			     * SUBSTITUTE */
	uint8_t rsvd0[2];
	unic_le32 srq; /* UNIC_FEAT_SRQ, else 0: 1 + the SRQ that its receives
			* come from, of the same PD; NO_SRQ if of none of its
			* process. 0: from its own ring */
	unic_le32 rsvd;
};

/*
 * SRQ_CREATE. A shared receive queue: a ring of receive slots that belongs to no queue
 * pair. A message that needs a receive takes the oldest one; it is its queue pair's from
 * then on, and completes in that one's recv_cq. None: the message is treated as by a queue
 * pair with an empty ring. A queue pair has one such receive at most, and keeps one that
 * came to nothing for its next message; RESET and QP_DESTROY forget it. In ERR it takes
 * none, completes what it has WR_FLUSH_ERR, and LAST_WQE follows.
 */
struct unic_cmd_srq_create {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;	    /* index of the PD; its process owns the queue */
	unic_le32 stag;	    /* region of the ring: same PD, class control */
	unic_le64 iova;	    /* of receive slot 0, 64-aligned */
	unic_le32 slots;    /* of 64 bytes, a power of two,
			     * 2..unic_info.ring_slots */
	unic_le32 db_index; /* its row in the doorbell page,
			     * 0..UNIC_DB_OBJECTS-1; BUSY if another QP or SRQ
			     * has it */
	unic_le32 rsvd[8];
};

/* SRQ_MODIFY. The limit is armed: as soon as fewer receives than that are posted and not
 * taken, at once if it is so now, the event SRQ_LIMIT is sent, and it is 0 again. */
struct unic_cmd_srq_modify {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;	 /* slot of the owner */
	unic_le32 id;	 /* as in unic_cpl_obj */
	unic_le32 limit; /* receives, at most the slots; 0: no event */
	unic_le32 rsvd[11];
};

/* QP_MODIFY. The attributes a transition needs (IBTA 11.2.5.2) are taken from
 * the record; the others are 0, else INVALID. Which these are each field says;
 * ERR and RESET need none.
 * UC: rnr_timer, max_dest_rd, vendor, and in RTS all but sq_psn are 0. UD: so is
 * all of RTR but mtu_shift, which bounds its messages; INIT wants qkey.
 * INIT->RTR is BUSY for up to 100 ms while that peer names wrong STags or
 * token keys, from the 16th in that time on; 6.25 ms more for each further one.
 */
struct unic_cmd_qp_modify {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;	     /* slot of the owner */
	unic_le32 qpn;	     /* as in unic_cpl_obj */
	uint8_t state;	     /* enum unic_qp_state to enter */
	uint8_t mtu_shift;   /* RTR: log2 of the path MTU, 8..12, that max_frame
			      * has room for */
	uint8_t rnr_timer;   /* RTR: code of our RNR NAKs, IBTA table 45 */
	uint8_t max_dest_rd; /* RTR: READs and atomics accepted at a time,
			      * 0..4; FEAT_ATOMICS: 0..16 */
	uint8_t max_rd;	     /* RTS: READs and atomics outstanding, likewise */
	uint8_t timeout;     /* RTS: 4.096 us * 2^timeout, 1..31 */
	uint8_t retry_cnt;   /* RTS: 0..7, repeats without any progress until it
			      * fails */
	uint8_t rnr_retry;   /* RTS: 0..7, likewise after RNR NAKs, 7 = for
			      * ever */
	unic_le32 dest_qpn;  /* RTR: the peer's, 2..2^24-1; UD: 0 */
	unic_le32 rq_psn;    /* RTR: first PSN expected, 24 bits */
	unic_le32 dest_ipv4; /* RTR: the peer's, host order; UD: 0 */
	uint8_t dest_mac[6]; /* RTR: of the next hop, not a group; UD: 0 */
	uint8_t rights;	     /* INIT: enum unic_mr_rights that it grants its
			      * peer: RC REMOTE_*, UC REMOTE_WRITE, UD 0 */
	uint8_t vendor;	     /* RTR: UNIC_PEER_*; else 0 */
	unic_le32 sq_psn;    /* RTS: first PSN sent, 24 bits */
	unic_le32 qkey;	     /* INIT, UD: Q_Key of datagrams to it; bit 31: 0 */
	unic_le32 rsvd[3];
};

/* ARP_RESOLVE. OK with the address when known, else PENDING, and ARP_RESULT
 * follows within 1 s. */
struct unic_cmd_arp {
	struct unic_cmd_hdr hdr;
	unic_le32 ipv4; /* host order; NO_ROUTE if not unicast */
	unic_le32 user; /* the driver's own id, returned in ARP_RESULT */
	unic_le32 rsvd[12];
};
struct unic_cpl_arp {
	struct unic_cmd_hdr hdr;
	uint8_t mac[6]; /* of the address, its own too; PENDING: 0 */
	uint8_t rsvd0[2];
	unic_le32 rsvd[12];
};

/* MAD_SEND. A 256-byte datagram, in the list page, to QP 1 of a peer. */
struct unic_cmd_mad_send {
	struct unic_cmd_hdr hdr;
	unic_le32 ipv4; /* of the peer, host order, not 0 */
	uint8_t mac[6]; /* of the peer: ARP_RESOLVE's answer; not a group */
	uint8_t rsvd0[2];
	unic_le32 rsvd[11];
};

/* A record of the management ring. */
struct unic_mad_rx {
	unic_le32 ipv4; /* of the sender, host order */
	uint8_t mac[6]; /* of the sender */
	uint8_t rsvd0[2];
	unic_le32 qpn;	   /* of the sender */
	uint8_t data[256]; /* the datagram, as MAD_SEND takes it */
	uint8_t rsvd1[240];
};

UNIC_ABI_AT(unic_cmd_token_alloc, iova, 16);
UNIC_ABI_SIZE(unic_cmd_token_alloc, 64);
UNIC_ABI_AT(unic_cpl_token, key, 16);
UNIC_ABI_SIZE(unic_cpl_token, 64);
UNIC_ABI_AT(unic_cmd_token_cancel, key, 16);
UNIC_ABI_SIZE(unic_cmd_token_cancel, 64);
UNIC_ABI_AT(unic_cmd_cq_create, iova, 16);
UNIC_ABI_SIZE(unic_cmd_cq_create, 64);
UNIC_ABI_AT(unic_cmd_cq_resize, iova, 16);
UNIC_ABI_SIZE(unic_cmd_cq_resize, 64);
UNIC_ABI_SIZE(unic_cpl_cq_resize, 64);
UNIC_ABI_SIZE(unic_cpl_obj, 64);
UNIC_ABI_SIZE(unic_cmd_obj, 64);
UNIC_ABI_AT(unic_cmd_qp_create, sq_iova, 24);
UNIC_ABI_AT(unic_cmd_qp_create, rq_class, 44);
UNIC_ABI_AT(unic_cmd_qp_create, type, 52);
UNIC_ABI_AT(unic_cmd_qp_create, srq, 56);
UNIC_ABI_SIZE(unic_cmd_qp_create, 64);
UNIC_ABI_AT(unic_cmd_srq_create, iova, 16);
UNIC_ABI_SIZE(unic_cmd_srq_create, 64);
UNIC_ABI_SIZE(unic_cmd_srq_modify, 64);
UNIC_ABI_AT(unic_cmd_qp_modify, state, 16);
UNIC_ABI_AT(unic_cmd_qp_modify, dest_qpn, 24);
UNIC_ABI_AT(unic_cmd_qp_modify, dest_mac, 36);
UNIC_ABI_AT(unic_cmd_qp_modify, sq_psn, 44);
UNIC_ABI_AT(unic_cmd_qp_modify, qkey, 48);
UNIC_ABI_SIZE(unic_cmd_qp_modify, 64);
UNIC_ABI_SIZE(unic_cmd_arp, 64);
UNIC_ABI_SIZE(unic_cpl_arp, 64);
UNIC_ABI_SIZE(unic_cmd_mad_send, 64);
UNIC_ABI_SIZE(unic_mad_rx, 512);

#endif /* UNIC_ABI_CMD_QUEUE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_queue.h - what a process and the NIC share without a driver between:
 * work queue slots, completion records, the doorbell page and the NIC page.
 *
 * All of it lives in memory that the process may overwrite at any time with
 * anything. The NIC copies a record out once, checks the copy, and whatever is
 * wrong hurts that process alone.
 */
#ifndef UNIC_QUEUE_H
#define UNIC_QUEUE_H

#include "unic_types.h"

/* ------------------------------------------------------ send work queue */

/*
 * A send queue is a power of two of 64-byte slots. A work request is one base
 * slot, followed by one extension slot when it has more than 2 SGEs or more
 * than 32 bytes of inline data. Slots of one request are consecutive modulo
 * the ring.
 */
#define UNIC_SLOT_BYTES	    64u /* of a slot, here and in the receive queue */
#define UNIC_SQ_SGE_BASE    2u	/* SGEs in the base slot */
#define UNIC_SQ_SGE_MAX	    6u	/* SGEs of a request, at most */
#define UNIC_SQ_INLINE_BASE 32u /* inline bytes in the base slot */
#define UNIC_SQ_INLINE_MAX  96u /* inline bytes of a request, at most */

struct unic_sge {
	unic_le64 iova; /* address in the region's IOVA space */
	unic_le32 len;	/* bytes, may be 0 */
	unic_le32 lkey; /* STag; ignored when len is 0 */
};

/* Process writes before the doorbell, NIC reads. */
struct unic_sq_slot {
	uint8_t opcode;	    /* enum unic_wr_opcode */
	uint8_t flags;	    /* UNIC_WR_* */
	uint8_t num_sge;    /* 0..UNIC_SQ_SGE_MAX; 0 with INLINE */
	uint8_t inline_len; /* 0..UNIC_SQ_INLINE_MAX; 0 without INLINE */
	unic_le32 imm;	    /* *_IMM: immediate, a number: big-endian on the
			     * wire, the same number in unic_cqe.imm; TOKEN:
			     * offset of the payload in the token's buffer */
	unic_le64 wr_id;    /* returned in the completion */
	unic_le64 remote;   /* WRITE/READ, atomics: IOVA; TOKEN: key of the
			     * token; UD: UNIC_UD_TO(), where it goes */
	unic_le32 rkey; /* WRITE/READ, atomics: STag; TOKEN: index of the token;
			     * SEND_INV: STag to invalidate; UD: 23:0 QP
			     * number there, not 0 or 1 */
	unic_le32 ctrl_len; /* TOKEN: the first ctrl_len bytes are control part,
			     * 0..UNIC_TOKEN_CTRL_MAX; 0 for all others */
	struct unic_sge
		sge[UNIC_SQ_SGE_BASE]; /* or inline bytes 0..31; atomics:
						* sge[0], struct
						* unic_wr_atomic */
};

/* What an atomic operation has in the place of sge[1]. Both are numbers of 64 bits, as
 * is what is at `remote`, in the byte order of the host, which is little-endian. */
struct unic_wr_atomic {
	unic_le64
		operand; /* COMPARE_SWAP: what must be there, for `swap` to take
			    * its place; FETCH_ADD: what is added, modulo 2^64 */
	unic_le64 swap;	 /* COMPARE_SWAP: the new value; FETCH_ADD: not looked
			    * at */
};
#define UNIC_ATOMIC_BYTES 8u /* that an atomic operation changes, and returns */

struct unic_sq_ext {
	struct unic_sge sge[4]; /* SGEs 2..5, or inline bytes 32..95 */
};

enum unic_wr_opcode {
	UNIC_WR_SEND = 1,      /* RC, UC, UD: the message takes a receive */
	UNIC_WR_SEND_IMM = 2,  /* likewise, with the immediate `imm` */
	UNIC_WR_WRITE = 3,     /* RC, UC: to `remote` in region `rkey`;
				* the peer is told nothing */
	UNIC_WR_WRITE_IMM = 4, /* RC, UC: takes a receive, too, and gives
				* it `imm`; nothing is placed in its
				* buffers */
	UNIC_WR_READ = 5,      /* RC: from `remote` in region `rkey`;
				* needs max_rd of the QP, else refused
				* (detail OPCODE) */
	UNIC_WR_TOKEN = 6,     /* RC to a peer that is unic (else detail
				* OPCODE): tagged message, control part +
				* payload (S3) */
	/* these send nothing: they change a region, see below */
	UNIC_WR_BIND_MW = 7,	   /* a window of type 2, to a range or to
				    * none */
	UNIC_WR_LOCAL_INV = 8,	   /* makes a form invalid (not SUB, WINDOW1) */
	UNIC_WR_REG_MR = 9,	   /* a fast region, of runs of pages */
	UNIC_WR_REG_INDIRECT = 10, /* an indirect region, of any list */
	/* a SEND that takes the peer's region `rkey` away from us (IBTA 9.4.1.1) */
	UNIC_WR_SEND_INV = 11, /* RC; the peer refuses a wrong `rkey`:
				* REM_ACCESS_ERR */
	/* atomic operations (UNIC_FEAT_ATOMICS, else detail OPCODE) on the 8 bytes at
	 * `remote`, a multiple of 8, else REM_INV_REQ_ERR, in region `rkey`. What
	 * was there before is written to the 8 bytes of sge[0], the only SGE */
	UNIC_WR_COMPARE_SWAP =
		12,		/* RC; needs max_rd of the QP, as READ does */
	UNIC_WR_FETCH_ADD = 13, /* RC; likewise */
};

/*
 * Work requests that change a region (a form allocated by MR_ALLOC). They are
 * carried out in the order of the queue, take no packet, and complete in their
 * turn. Refused, they complete MW_BIND_ERR (BIND_MW) or MEM_OP_ERR, `detail`
 * says what, byte_len which element of the list, and the queue pair ends. When
 * it is because a region was taken back, they complete EVICTED and it goes on.
 *
 *	rkey		the form, by its STag of now
 *	imm		7:0 new low byte of the STag; 15:8 rights; 16 list is strided
 *	remote		address that the form's first byte shall have
 *	ctrl_len	how often the list is repeated, 0 = once (REG_INDIRECT)
 *	the list	with UNIC_WR_INLINE: inline_len bytes in the slots; else,
 *			in REG_INDIRECT, the memory that sge[0] names, read once
 *
 * The list: n struct unic_sge; if strided, n le32 more: how far apart the
 * repetitions of each element lie, in bytes.
 *
 * BIND_MW: one element, the range of the window; none: unbind. The region
 * needs MW_BIND, and LOCAL_WRITE for a window with remote write; `remote` is
 * congruent to it modulo the page size.
 * REG_MR: runs of whole pages of the form's size: only the first may begin and
 * only the last may end within one. At most UNIC_FAST_RUNS. A region of residency
 * TABLE may have runs, too: their words are read when the request is carried out, and
 * the form keeps the addresses in its own entries (WD_PAGE: a word names no page).
 * REG_INDIRECT: anything, up to the elements allocated; a repetition is at
 * most 2^32 - 1 bytes, as is all of it. In a physical PD the form may be valid
 * already: it is made anew when nothing uses it any more, what still does after T
 * is cut. BUSY if tokens or other forms lie in it.
 * LOCAL_INV: rkey alone. Waits for all requests before it, then for whatever
 * else uses the region; what still does after T is cut.
 */
#define UNIC_WR_IMM_KEY(imm)	((imm)&0xffu) /* low byte of the new STag */
#define UNIC_WR_IMM_RIGHTS(imm) ((imm) >> 8 & 0xffu) /* enum unic_mr_rights */
#define UNIC_WR_IMM_STRIDED	(1u << 16) /* strides follow the elements */
#define UNIC_FAST_RUNS		4u   /* in the list of a REG_MR, at most */
#define UNIC_FAST_PAGES		256u /* of a fast registration, at most */
#define UNIC_FORM_ELEMENTS	128u /* of an indirect region, at most */
#define UNIC_FORM_DEPTH		4u   /* forms of forms, at most */

#define UNIC_WR_SIGNALED  (1u << 0) /* else a record only if it fails */
#define UNIC_WR_SOLICITED (1u << 1) /* the peer's record says so */
#define UNIC_WR_FENCE \
	(1u << 2) /* not before all earlier READs and atomics are done */
#define UNIC_WR_INLINE	  (1u << 3) /* data in the slots; not for READ, atomics */
#define UNIC_WR_FLAGS_ALL 0x0fu	    /* others: detail FLAGS; forms: SGE */

#define UNIC_TOKEN_CTRL_MAX 128u       /* of a control part; more: LENGTH */
#define UNIC_MSG_MAX	    (1u << 30) /* bytes of one message */

/*
 * Datagrams (UD): SEND and SEND_IMM of one packet, to an IPv4 address (host order)
 * and with a Q_Key; one with bit 31 set stands for that of the queue pair itself.
 * The NIC asks for the link address; if nobody knows it within a second, the
 * datagram is dropped (ud_no_route). It completes like one that was sent.
 */
#define UNIC_UD_TO(ipv4, qkey) \
	((uint64_t)(qkey) << 32 | (uint32_t)(ipv4)) /* unic_sq_slot.remote */

/* --------------------------------------------------- receive work queue */

#define UNIC_RQ_SGE_MAX 3u /* more: LOC_QP_OP_ERR, detail SGE */

/* What a receive of UD begins with: 20 bytes of 0 and the IPv4 header (IBTA annex
 * A17.4.5.2), in the place of a Global Route Header. */
#define UNIC_GRH_BYTES 40u /* counted in unic_cqe.byte_len */

/*
 * Process writes before the doorbell, NIC reads. One slot per receive. Receives
 * of a region that is taken back complete before older ones; a slot is free for
 * another when its receive and all before it have completed.
 */
struct unic_rq_slot {
	uint8_t num_sge; /* 0..UNIC_RQ_SGE_MAX */
	uint8_t rsvd0[7];
	unic_le64 wr_id;		      /* returned in the completion */
	struct unic_sge sge[UNIC_RQ_SGE_MAX]; /* buffers, filled in this
					       * order; the region needs
					       * LOCAL_WRITE; those from
					       * num_sge on are not looked at */
};

/* ----------------------------------------------------- completion queue */

/*
 * NIC writes, process reads. A completion queue is a power of two of records;
 * record n (free-running) is valid when seq == n + 1, so nothing needs
 * clearing. The process says how far it came in the doorbell page.
 *
 * After the answer to QP_DESTROY no record of that queue pair is written any
 * more; requests that have none by then get none.
 *
 * A queue pair whose ring cannot be read (DMA failed) completes all that was
 * posted to it all the same. What the NIC has not seen has wr_id 0, opcode SEND
 * or RECV, and an error, one record for each slot: of an extension slot, too.
 */
struct unic_cqe {
	unic_le64 wr_id;    /* as posted; 0: the slot could not be read */
	unic_le32 byte_len; /* receive: bytes placed (RECV_TOKEN: control part);
			     * READ, atomics: bytes read; others: bytes sent */
	unic_le32 imm;	    /* *_IMM: the immediate; with WC_WITH_INV: STag;
			     * RECV_TOKEN: payload bytes placed; UD without
			     * an immediate: IPv4 address of its sender */
	unic_le32 qpn;	    /* 23:0 QP number */
	uint8_t opcode;	    /* enum unic_wc_opcode */
	uint8_t status;	    /* enum unic_wc_status */
	uint8_t flags;	    /* UNIC_WC_* */
	uint8_t detail;	    /* what exactly: enum unic_wc_detail, or for
			     * RECV_TOKEN enum unic_token_end of a refusal */
	unic_le32 token;    /* RECV_TOKEN: index of the token named; UD: 23:0 QP
			     * number of the sender */
	unic_le32 seq;	    /* record number + 1, visible last */
};

enum unic_wc_opcode {
	UNIC_WC_SEND = 1,	  /* SEND, SEND_IMM, SEND_INV; also what
				       * has no such opcode */
	UNIC_WC_WRITE = 2,	  /* WRITE, WRITE_IMM */
	UNIC_WC_READ = 3,	  /* READ: the bytes have been placed */
	UNIC_WC_TOKEN = 4,	  /* TOKEN. A success with a detail (enum
				       * unic_token_end): the peer refused it;
				       * byte_len is 0, its payload is nowhere,
				       * its control part was delivered. A peer
				       * without CM_CAP_REFUSED, or either NIC
				       * without FEAT_TELL_REFUSED: not told, and
				       * a success like any other */
	UNIC_WC_BIND_MW = 5,	  /* BIND_MW */
	UNIC_WC_LOCAL_INV = 6,	  /* LOCAL_INV */
	UNIC_WC_REG_MR = 7,	  /* REG_INDIRECT, too */
	UNIC_WC_COMPARE_SWAP = 8, /* COMPARE_SWAP: what was there is placed */
	UNIC_WC_FETCH_ADD = 9,	  /* FETCH_ADD: likewise */
	UNIC_WC_RECV = 128,	  /* receive: of a SEND; also of one that
				       * has failed */
	UNIC_WC_RECV_WRITE_IMM = 129, /* receive: the peer's WRITE_IMM is in
				       * memory */
	UNIC_WC_RECV_TOKEN = 130,     /* receive: a tagged message, or, with
				       * a detail, its control part alone */
};

/* The opcode of the completion of a request, by the opcode of the request. The SENDs,
 * and what is no opcode, complete as SEND. For NIC and library, which are C. */
#ifndef __cplusplus
static inline uint8_t unic_wc_of_wr(uint8_t wr)
{
	static const uint8_t wc_of[] = {
		[UNIC_WR_WRITE] = UNIC_WC_WRITE,
		[UNIC_WR_WRITE_IMM] = UNIC_WC_WRITE,
		[UNIC_WR_READ] = UNIC_WC_READ,
		[UNIC_WR_TOKEN] = UNIC_WC_TOKEN,
		[UNIC_WR_BIND_MW] = UNIC_WC_BIND_MW,
		[UNIC_WR_LOCAL_INV] = UNIC_WC_LOCAL_INV,
		[UNIC_WR_REG_MR] = UNIC_WC_REG_MR,
		[UNIC_WR_REG_INDIRECT] = UNIC_WC_REG_MR,
		[UNIC_WR_COMPARE_SWAP] = UNIC_WC_COMPARE_SWAP,
		[UNIC_WR_FETCH_ADD] = UNIC_WC_FETCH_ADD,
	};
	return wr < sizeof(wc_of) && wc_of[wr] ? wc_of[wr] : UNIC_WC_SEND;
}
#endif

enum unic_wc_status {
	UNIC_WC_SUCCESS = 0,	     /* acknowledged (RC), sent (UC, UD),
				      * received, made */
	UNIC_WC_LOC_LEN_ERR = 1,     /* message longer than the buffer */
	UNIC_WC_LOC_QP_OP_ERR = 2,   /* work request malformed, see detail */
	UNIC_WC_LOC_PROT_ERR = 3,    /* local access check failed, see detail */
	UNIC_WC_WR_FLUSH_ERR = 4,    /* QP in error: flushed, not attempted */
	UNIC_WC_REM_INV_REQ_ERR = 5, /* NAK invalid request */
	UNIC_WC_REM_ACCESS_ERR = 6,  /* NAK remote access error */
	UNIC_WC_REM_OP_ERR = 7,	     /* NAK remote operational error */
	UNIC_WC_RETRY_EXC_ERR = 8,   /* no acknowledgement after all retries */
	UNIC_WC_RNR_RETRY_EXC_ERR =
		9,		  /* receiver not ready after all retries */
	UNIC_WC_EVICTED = 10,	  /* local region taken back */
	UNIC_WC_REM_EVICTED = 11, /* remote region taken back: re-request */
	UNIC_WC_LOC_BUS_ERR = 12, /* DMA failed */
	UNIC_WC_MW_BIND_ERR = 13, /* BIND_MW refused, see detail */
	UNIC_WC_MEM_OP_ERR = 14,  /* LOCAL_INV, REG_* refused, see detail */
};

/* Which step of the access check (or of decoding) refused; local side only. */
enum unic_wc_detail {
	UNIC_WD_NONE = 0,   /* nothing more to say */
	UNIC_WD_STAG = 1,   /* no such STag of this process, or not valid */
	UNIC_WD_PD = 2,	    /* region of another protection domain */
	UNIC_WD_RIGHTS = 3, /* the region does not grant this access */
	UNIC_WD_BOUNDS = 4, /* not all bytes lie in the region */
	UNIC_WD_OPCODE = 5, /* none, or not of this queue pair (type,
			     * max_rd, peer) */
	UNIC_WD_FLAGS =
		6,	 /* not in UNIC_WR_FLAGS_ALL; READ, atomics with INLINE;
			     * receive: rsvd0 is not 0 */
	UNIC_WD_SGE = 7, /* too many, atomics: not one; SGEs with INLINE,
			     * inline_len without; second slot not posted;
			     * forms: anything but what follows */
	UNIC_WD_LENGTH = 8, /* above UNIC_MSG_MAX, atomics: not
			     * UNIC_ATOMIC_BYTES; ctrl_len above its limit
			     * or the length; UD: above the MTU; forms: too
			     * many or too deep */
	UNIC_WD_BUSY = 9,   /* EVICTED, REM_EVICTED: bytes had been moved
			     * already; forms: in use by something that must go
			     * first */
	UNIC_WD_STATE = 10, /* form valid already, or not valid */
	UNIC_WD_ALIGN = 11, /* pages do not fit together */
	UNIC_WD_PAGE =
		12, /* its page cannot be had (residency DEMAND, TABLE) */
	UNIC_WD_ADDRESS = 13, /* UD: no such place to send to */
};

#define UNIC_WC_WITH_IMM  (1u << 0) /* `imm` is the sender's immediate */
#define UNIC_WC_SOLICITED (1u << 1) /* the sender set UNIC_WR_SOLICITED */
#define UNIC_WC_WITH_INV  (1u << 2) /* the peer invalidated STag `imm` of ours */
#define UNIC_WC_GRH	  (1u << 3) /* UD: byte_len counts UNIC_GRH_BYTES, too */

/* How a payload token ended; each token ends once. */
enum unic_token_end {
	UNIC_TOKEN_LIVE = 0,	  /* not ended; in RECV_TOKEN: not
				   * refused */
	UNIC_TOKEN_USED = 1,	  /* by its message, which is placed */
	UNIC_TOKEN_CANCELLED = 2, /* by TOKEN_CANCEL, or its process has
				   * left */
	UNIC_TOKEN_EXPIRED = 3,	  /* ttl_us are over */
	UNIC_TOKEN_EVICTED = 4,	  /* its region was taken back, or its
				   * place, for a process below its share
				   * of tokens */
	UNIC_TOKEN_ABORTED = 5,	  /* its message broke off, because the
				   * queue pair that received it ended;
				   * `placed` bytes are in the buffer */
	UNIC_TOKEN_RESET = 6,	  /* by a reset of the NIC; the driver
				   * alone says so */
	/* reasons a message is refused without ending anything: */
	UNIC_TOKEN_BAD_KEY = 16,      /* also: no such index, or a token of
				       * another protection domain */
	UNIC_TOKEN_TOO_LONG = 17,     /* payload does not lie in the token's
				       * buffer */
	UNIC_TOKEN_WRONG_SENDER = 18, /* not the address or QP that it was
				       * made for */
	UNIC_TOKEN_BUSY = 19,	      /* claimed by another message */
};

/* -------------------------------------------------------- doorbell page */

/*
 * Page 0 of a process slot; the process writes, the NIC reads.
 *
 * To ring: store the new tail/index in `tail`, append one word to `fifo` at
 * fifo_seq % UNIC_DB_FIFO, then store fifo_seq + 1 (release), then (full
 * barrier) wake the NIC by the slot's doorbell if unic_nic_page.asleep is set.
 * The NIC compares fifo_seq with what it saw last: one load per process when
 * idle. If it fell UNIC_DB_FIFO behind or more, before it read or while it did, it
 * scans `tail` instead, so an overrun costs time and loses nothing: a word is
 * stored before it is published, so of a full FIFO the oldest may be another one
 * already. Writers of one process serialise among themselves.
 *
 * In RESET a queue pair has empty rings, and its words are ignored. When it goes to
 * INIT, both rings begin at slot 0, and the NIC takes sq and rq of its row as what is
 * posted. So a process stores 0 in both in RESET, before it posts.
 */
#define UNIC_DB_FIFO	256u /* words */
#define UNIC_DB_OBJECTS 64u  /* queue objects of one process, at most */

/* A fifo word: 7:0 object (UNIC_DB_OBJECTS), 9:8 kind, 31:16 index low bits */
#define UNIC_DB_WORD(kind, obj, idx)               \
	((uint32_t)(obj) | (uint32_t)(kind) << 8 | \
	 (uint32_t)(idx) << 16) /* unic_db_page.fifo */

/*
 * Uses that the process reports: used[index] counts, free-running, those of the
 * region of this index of the NIC's table; an index behind the last word has none.
 * The index is the upper log2(unic_info.mrs) bits of the STag; if mrs is no power
 * of two, uses cannot be reported. The NIC looks every reaper period or so, and
 * only while told to go by these (UNIC_PARAM_USES_REPORTED). They count for nothing
 * but the choice among the regions of this process.
 */
#define UNIC_DB_USED 496u /* regions whose uses can be reported */

enum unic_db_kind {
	UNIC_DB_SQ = 0,	 /* tail[obj].sq: slots posted so far */
	UNIC_DB_RQ = 1,	 /* tail[obj].rq: receives posted so far */
	UNIC_DB_ARM = 2, /* tail[obj].arm: arm a CQ */
	UNIC_DB_SRQ = 3, /* tail[obj].rq: receives posted so far to an SRQ */
};

struct unic_db_tail {
	unic_le32 sq;	 /* QP object: send slots posted, free-running */
	unic_le32 rq;	 /* QP, SRQ object: receives posted, free-running */
	unic_le32 cq_ci; /* CQ object: records consumed, free-running */
	unic_le32 arm;	 /* CQ object: 30:0 = number n of the record to be told
			  * of: notify as soon as more than n were written;
			  * 31: solicited only. Written before an ARM word. */
};

struct unic_db_page {
	unic_le32 fifo_seq; /* words appended so far */
	unic_le32 rsvd[15];
	unic_le32 fifo[UNIC_DB_FIFO]; /* UNIC_DB_WORD(); word n at n %
				       * UNIC_DB_FIFO */
	struct unic_db_tail
		tail[UNIC_DB_OBJECTS]; /* by db_index of the object */
	unic_le32 used[UNIC_DB_USED];  /* see there */
};

/* Page 1 of a process slot; the NIC writes, the process reads. */
struct unic_nic_page {
	unic_le32 asleep; /* not 0: wake it after a doorbell */
	unic_le32 epoch;  /* boot_epoch; a change means: everything is gone */
	unic_le32 rsvd[14];
	unic_le32 cq_events[UNIC_DB_OBJECTS]; /* per CQ: notifications so far */
	unic_le32 srq_taken[UNIC_DB_OBJECTS]; /* per SRQ: receives that were
					       * taken, and read, so far: their
					       * slots are free */
	uint8_t rsvd2[3520];
};

UNIC_ABI_SIZE(unic_sge, 16);
UNIC_ABI_AT(unic_sq_slot, imm, 4);
UNIC_ABI_AT(unic_sq_slot, wr_id, 8);
UNIC_ABI_AT(unic_sq_slot, remote, 16);
UNIC_ABI_AT(unic_sq_slot, rkey, 24);
UNIC_ABI_AT(unic_sq_slot, ctrl_len, 28);
UNIC_ABI_AT(unic_sq_slot, sge, 32);
UNIC_ABI_SIZE(unic_sq_slot, 64);
UNIC_ABI_AT(unic_wr_atomic, swap, 8);
UNIC_ABI_SIZE(unic_wr_atomic, 16);
UNIC_ABI_SIZE(unic_sq_ext, 64);
UNIC_ABI_AT(unic_rq_slot, wr_id, 8);
UNIC_ABI_AT(unic_rq_slot, sge, 16);
UNIC_ABI_SIZE(unic_rq_slot, 64);
UNIC_ABI_AT(unic_cqe, byte_len, 8);
UNIC_ABI_AT(unic_cqe, imm, 12);
UNIC_ABI_AT(unic_cqe, qpn, 16);
UNIC_ABI_AT(unic_cqe, opcode, 20);
UNIC_ABI_AT(unic_cqe, token, 24);
UNIC_ABI_AT(unic_cqe, seq, 28);
UNIC_ABI_SIZE(unic_cqe, 32);
UNIC_ABI_SIZE(unic_db_tail, 16);
UNIC_ABI_AT(unic_db_page, fifo, 64);
UNIC_ABI_AT(unic_db_page, tail, 1088);
UNIC_ABI_SIZE(unic_db_page, 4096);
UNIC_ABI_AT(unic_nic_page, cq_events, 64);
UNIC_ABI_AT(unic_nic_page, srq_taken, 320);
UNIC_ABI_SIZE(unic_nic_page, 4096);

#endif /* UNIC_QUEUE_H */

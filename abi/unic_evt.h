/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_evt.h - events of the mailbox (unic_mbox.h): what the NIC says unasked.
 */
#ifndef UNIC_ABI_EVT_H
#define UNIC_ABI_EVT_H

#include "unic_types.h"
#include "unic_words.h"

enum unic_evt_type {
	UNIC_EVT_NOTICE = 1,	  /* give this region back: struct
				   * unic_evt_mr */
	UNIC_EVT_EVICTED = 2,	  /* this region holds nothing any more:
				   * unic_evt_mr */
	UNIC_EVT_GRANTED = 3,	  /* a request that waited has its region:
				   * unic_evt_wait */
	UNIC_EVT_WAIT_ENDED = 4,  /* a request that waited gets none:
				   * unic_evt_wait */
	UNIC_EVT_PROC_GONE = 5,	  /* a detach that was PENDING is over:
				   * unic_evt_obj */
	UNIC_EVT_QP_ERROR = 6,	  /* a queue pair went to ERR by itself:
				   * unic_evt_obj */
	UNIC_EVT_QP_GONE = 7,	  /* a QP_DESTROY that was PENDING is over:
				   * unic_evt_obj */
	UNIC_EVT_CQ_ERROR = 8,	  /* a completion queue takes no records any
				   * more: unic_evt_obj */
	UNIC_EVT_TOKEN_END = 9,	  /* a token ended by itself: unic_evt_token */
	UNIC_EVT_ARP_RESULT = 10, /* an ARP_RESOLVE that was PENDING is over:
				   * unic_evt_arp */
	UNIC_EVT_DB_ERROR = 11,	  /* a doorbell word was wrong: unic_evt_obj */
	UNIC_EVT_MISS = 12,	  /* a page is wanted: unic_evt_miss */
	UNIC_EVT_IDLE = 13,	  /* would its owner give up this region, unused
				   * for long? unic_evt_mr */
	UNIC_EVT_SRQ_LIMIT = 15,  /* a shared receive queue is below its limit:
				   * unic_evt_obj */
	UNIC_EVT_LAST_WQE = 16,	  /* a queue pair in ERR takes no receive of its
				   * shared receive queue any more, and its last
				   * one is in memory: unic_evt_obj */
	UNIC_EVT_SRQ_ERROR = 19,  /* a shared receive queue gives no receives
				   * any more: unic_evt_obj */
};

struct unic_evt_hdr {
	uint8_t type;	 /* enum unic_evt_type */
	uint8_t reason;	 /* NOTICE, EVICTED, IDLE: enum unic_reason */
	unic_le16 proc;	 /* slot that it is about; 0xffff: none */
	unic_le32 epoch; /* boot_epoch; a driver ignores a record of another */
};

/* NOTICE: please give this region back. A region whose grace was extended may
 * get a second one (new seq, H and T anew, no EXTEND) when a request within its
 * share comes. EVICTED: its entries are free; no byte
 * is read or written through it any more; its pages may be unpinned.
 * IDLE: a question, which binds nobody. The region stays as it is; its owner gives it
 * up by MR_DEREG, or does nothing and keeps it. It is not acknowledged.
 */
struct unic_evt_mr {
	struct unic_evt_hdr hdr;
	unic_le32 mr;	      /* region: index as in unic_cpl_mr_reg */
	unic_le32 gen;	      /* its generation */
	unic_le32 stag;	      /* its STag, whole */
	unic_le32 user;	      /* as given at MR_REG */
	unic_le32 seq;	      /* of the notice; EVICTED: of its notice, or 0 */
	unic_le32 entries;    /* NOTICE, IDLE: that it holds; EVICTED: that
			       * are free */
	unic_le32 dependents; /* tokens and forms that will end with it */
	unic_le32 rank;	      /* NOTICE: 0 = most wanted by the NIC just now */
	unic_le32 flags;      /* EVICTED: UNIC_EVICTED_* */
	unic_le32 grace_us;   /* NOTICE: T, counted from NOTICE_ACK */
	unic_le64 time_ns;    /* NIC time of the decision; EVICTED: of its
			       * end */
	unic_le32 pain;	      /* NOTICE, IDLE: its decayed bytes per entry
			       * (unic_use_row) when it was chosen */
	unic_le32 rsvd;
};

/* GRANTED: the region exists and is LOADING. WAIT_ENDED: status says why not
 * (TIMEOUT; TOO_LARGE after its quota was lowered; CTRL_CAP when its turn came).
 */
struct unic_evt_wait {
	struct unic_evt_hdr hdr;
	unic_le32 wait;	     /* as in unic_cpl_mr_reg */
	unic_le32 user;	     /* as given at MR_REG */
	unic_le32 mr;	     /* GRANTED: index of the region, else 0 */
	unic_le32 gen;	     /* GRANTED: its generation, else 0 */
	unic_le32 stag;	     /* GRANTED: its STag, else 0 */
	unic_le32 status;    /* enum unic_status; GRANTED: OK */
	unic_le32 waited_us; /* since MR_REG, at most 2^32 - 1 */
	unic_le32 rsvd[7];
};

/*
 * PROC_GONE, QP_ERROR, QP_GONE, CQ_ERROR, DB_ERROR, SRQ_LIMIT, SRQ_ERROR, LAST_WQE.
 * DB_ERROR: a doorbell word of `proc` named no queue, or a tail beyond its ring
 * (QP_ERROR or SRQ_ERROR follows). One at a time for each process: the next is sent after
 * DB_ACK and not within UNIC_DB_ERROR_US. All are counted (db_bad).
 */
struct unic_evt_obj {
	struct unic_evt_hdr hdr;
	unic_le32 id;	  /* slot, QP number, CQ or SRQ index; DB_ERROR: the
			   * first wrong doorbell word, its bits 9:0 at least */
	unic_le32 detail; /* QP_ERROR: enum unic_wc_status; CQ_ERROR: 1
			   * overflow, 2 bus; SRQ_ERROR: 1 wrong tail, 2 bus;
			   * else 0 */
	unic_le32 rsvd[12];
};

#define UNIC_DB_ERROR_US \
	1000000u /* between two DB_ERROR of a process, at least */

/*
 * MISS: an operation needs page `first` of a DEMAND region, and the count - 1
 * behind it next. Answered by MR_FAULT with this seq within deliver_us, or the
 * operation fails. If that is answered BUSY, the NIC waits for another one, for
 * B + deliver_us + extend_us + residence_us from the MISS on in all. One for
 * each page at a time.
 */
struct unic_evt_miss {
	struct unic_evt_hdr hdr;
	unic_le32 mr;	 /* region: index as in unic_cpl_mr_reg */
	unic_le32 gen;	 /* its generation */
	unic_le32 user;	 /* as given at MR_REG */
	unic_le32 first; /* page of the region, 0 is the one that iova lies
			  * in */
	unic_le32 count; /* 1..16 */
	unic_le32 seq;	 /* MR_INVALIDATEs of the region so far */
	unic_le32 rsvd[8];
};

/* TOKEN_END: ends other than USED and an answered CANCEL; every end of a token whose
 * CANCEL is PENDING, USED too. */
struct unic_evt_token {
	struct unic_evt_hdr hdr;
	unic_le32 index; /* as in unic_cpl_token */
	unic_le32 user;	 /* as given at TOKEN_ALLOC */
	unic_le32 end;	 /* enum unic_token_end */
	unic_le32
		placed; /* USED, ABORTED, CANCELLED amid a message: bytes placed;
			   * else 0 */
	unic_le32 rsvd[10];
};

struct unic_evt_arp {
	struct unic_evt_hdr hdr;
	unic_le32 ipv4; /* the address that was asked for, host order */
	unic_le32 user; /* as given at ARP_RESOLVE */
	uint8_t mac[6]; /* its MAC address; 0 if not `ok` */
	uint8_t ok;	/* 1; 0: nobody answered within 1 s */
	uint8_t rsvd0;
	unic_le32 rsvd[10];
};

UNIC_ABI_SIZE(unic_evt_hdr, 8);
UNIC_ABI_AT(unic_evt_mr, time_ns, 48);
UNIC_ABI_SIZE(unic_evt_mr, 64);
UNIC_ABI_SIZE(unic_evt_wait, 64);
UNIC_ABI_SIZE(unic_evt_obj, 64);
UNIC_ABI_SIZE(unic_evt_token, 64);
UNIC_ABI_SIZE(unic_evt_miss, 64);
UNIC_ABI_SIZE(unic_evt_arp, 64);

#endif /* UNIC_ABI_EVT_H */

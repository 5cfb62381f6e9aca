/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_evt.h - events of the mailbox (unic_mbox.h): what the NIC says unasked.
 */
#ifndef UNIC_ABI_EVT_H
#define UNIC_ABI_EVT_H

#include "unic_types.h"

enum unic_evt_type {
	UNIC_EVT_NOTICE = 1,
	UNIC_EVT_EVICTED = 2,
	UNIC_EVT_GRANTED = 3,
	UNIC_EVT_WAIT_ENDED = 4,
	UNIC_EVT_PROC_GONE = 5,
	UNIC_EVT_QP_ERROR = 6,
	UNIC_EVT_QP_GONE = 7,
	UNIC_EVT_CQ_ERROR = 8,
	UNIC_EVT_TOKEN_END = 9,
	UNIC_EVT_ARP_RESULT = 10,
	UNIC_EVT_DB_ERROR = 11,
	UNIC_EVT_MISS = 12,
};

enum unic_reason {
	UNIC_WHY_REAPER = 1,	 /* above fair share, few entries are free */
	UNIC_WHY_WAITER = 2,	 /* a request waits, or a page is missed */
	UNIC_WHY_FAIR_SHARE = 3, /* above fair share, somebody is below */
	UNIC_WHY_QUOTA = 4,
	UNIC_WHY_ADMIN = 5,	/* MR_EVICT */
	UNIC_WHY_OFFERED = 6,	/* offered by its owner for another */
	UNIC_WHY_DEREG = 7,	/* EVICTED: end of a pending MR_DEREG */
	UNIC_WHY_EXIT = 8,	/* EVICTED: process detached */
	UNIC_WHY_RESET = 9,	/* upcall EVICTED: the driver could not restore
			       * it after a reset; the NIC never says this */
	UNIC_WHY_HOLDERS = 10,	/* upcall EVICTED: all who were given it have
				* said that they do not use it any more; the
				* NIC never says this */
	UNIC_WHY_UNMAPPED = 11, /* upcall EVICTED: its owner unmapped memory
				 * under it; the NIC never says this */
};

struct unic_evt_hdr {
	uint8_t type;	/* enum unic_evt_type */
	uint8_t reason; /* NOTICE, EVICTED: enum unic_reason */
	unic_le16 proc; /* 0xffff: none */
	unic_le32 epoch;
};

/* NOTICE: please give this region back. A region whose grace was extended may
 * get a second one (new seq, H and T anew, no EXTEND) when a request within its
 * share comes. EVICTED: its entries are free; no byte
 * is read or written through it any more; its pages may be unpinned.
 */
struct unic_evt_mr {
	struct unic_evt_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 stag;
	unic_le32 user; /* as given at MR_REG */
	unic_le32 seq;	/* of the notice; EVICTED: of its notice, or 0 */
	unic_le32 entries;
	unic_le32 dependents; /* tokens and forms that will end with it */
	unic_le32 rank;	      /* NOTICE: 0 = most wanted by the NIC just now */
	unic_le32 flags;      /* EVICTED: UNIC_EVICTED_* */
	unic_le32 grace_us;   /* NOTICE: T, counted from NOTICE_ACK */
	unic_le64 time_ns;    /* NIC time of the decision */
	unic_le32 pain;	      /* NOTICE: of this region when it was chosen */
	unic_le32 rsvd;
};
#define UNIC_EVICTED_WAS_BUSY (1u << 0) /* operations were cut off */
#define UNIC_EVICTED_DEADLINE (1u << 1) /* not released by its owner */
#define UNIC_EVICTED_TOMBSTONE \
	(1u << 2) /* STag answers EVICTED till MR_DEREG */

/* GRANTED: the region exists and is LOADING. WAIT_ENDED: status says why not
 * (TIMEOUT; TOO_LARGE after its quota was lowered).
 */
struct unic_evt_wait {
	struct unic_evt_hdr hdr;
	unic_le32 wait;
	unic_le32 user;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 stag;
	unic_le32 status; /* enum unic_status */
	unic_le32 waited_us;
	unic_le32 rsvd[7];
};

/*
 * PROC_GONE, QP_ERROR, QP_GONE, CQ_ERROR, DB_ERROR.
 * DB_ERROR: a doorbell word of `proc` named no queue, or a tail beyond its ring
 * (QP_ERROR follows). One at a time for each process: the next is sent after
 * DB_ACK and not within UNIC_DB_ERROR_US. All are counted (db_bad).
 */
struct unic_evt_obj {
	struct unic_evt_hdr hdr;
	unic_le32 id; /* proc, QP number, CQ index, doorbell word (the first) */
	unic_le32
		detail; /* QP_ERROR: enum unic_wc_status; CQ_ERROR: 1 overflow,
			       * 2 bus */
	unic_le32 rsvd[12];
};

#define UNIC_DB_ERROR_US 1000000u

/*
 * MISS: an operation needs page `first` of a DEMAND region, and the count - 1
 * behind it next. Answered by MR_FAULT with this seq within deliver_us, or the
 * operation fails. One for each page at a time.
 */
struct unic_evt_miss {
	struct unic_evt_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 user; /* as given at MR_REG */
	unic_le32 first;
	unic_le32 count; /* 1..16 */
	unic_le32 seq;	 /* MR_INVALIDATEs of the region so far */
	unic_le32 rsvd[8];
};

/* TOKEN_END: ends other than USED and an answered CANCEL. */
struct unic_evt_token {
	struct unic_evt_hdr hdr;
	unic_le32 index;
	unic_le32 user;
	unic_le32 end; /* enum unic_token_end */
	unic_le32 placed;
	unic_le32 rsvd[10];
};

struct unic_evt_arp {
	struct unic_evt_hdr hdr;
	unic_le32 ipv4;
	unic_le32 user;
	uint8_t mac[6];
	uint8_t ok; /* 0: nobody answered */
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

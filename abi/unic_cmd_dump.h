/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_cmd_dump.h - commands and completions of the mailbox that show what the
 * NIC holds, or provoke what should not happen: rows of its tables, trace, faults.
 */
#ifndef UNIC_ABI_CMD_DUMP_H
#define UNIC_ABI_CMD_DUMP_H

#include "unic_cmd.h"

/* QUERY_USAGE: proc in `id`; completion struct unic_cpl_usage. */

/* DUMP. Writes the rows of a table that are in use, from `first` on, into the
 * list page as struct unic_row_*, as many as fit; completion says how many and
 * where to go on. Rows of one snapshot are all of one instant, whichever table
 * they are of and however many commands fetch them. The next snapshot is taken
 * twice UNIC_SNAPSHOT_NS after the last at the earliest. */
struct unic_cmd_dump {
	struct unic_cmd_hdr hdr;
	unic_le32 table;    /* enum unic_table, but for ELEMENT */
	unic_le32 first;    /* row to begin with; INVALID behind the last of the
			     * table */
	unic_le32 snapshot; /* UNIC_FEAT_SNAPSHOT, else 0: rows of the snapshot
			     * of this number; EVICTED: it has ended.
			     * 0: rows as they are now */
	unic_le32 rsvd[11];
};
#define UNIC_SNAPSHOT_TAKE 0xffffffffu /* takes one; BUSY: too soon */
#define UNIC_SNAPSHOT_NS   10000000u   /* from there to its end at the latest */
struct unic_cpl_dump {
	struct unic_cmd_hdr hdr;
	unic_le32 rows;	    /* written, at most 64 */
	unic_le32 next;	    /* first row of the next call; 0 = no more */
	unic_le32 snapshot; /* that they are of; 0: of none */
	unic_le32 rsvd0;
	unic_le64 time_ns; /* NIC time of the snapshot; 0: of none */
	unic_le32 rsvd[8];
};
#define UNIC_ROW_BYTES 64u /* of each struct unic_row_* */

struct unic_row_mr {
	unic_le32 index;      /* of the region, 0..mrs-1 */
	unic_le32 gen;	      /* its generation */
	unic_le32 stag;	      /* whole, with the low 8 bits that its owner
			       * chose */
	unic_le16 proc;	      /* slot of its owner */
	unic_le16 dependents; /* tokens and forms that end with it */
	unic_le16 pd;	      /* index of its PD */
	uint8_t kind;	      /* enum unic_form_kind */
	uint8_t rsvd;
	uint8_t state;	    /* enum unic_mr_state */
	uint8_t rights;	    /* enum unic_mr_rights */
	uint8_t mr_class;   /* 3:0 enum unic_mr_class, 7:4 enum
			     * unic_residency */
	uint8_t page_shift; /* log2 of the page size; 31: it has no pages of its
			     * own */
	unic_le64 iova;	    /* of its first byte */
	unic_le64 length;   /* bytes; a form that is not valid: 0 */
	unic_le32 entries;  /* TLB entries that it holds, filled or reserved */
	unic_le16 holds;    /* operations that need it translatable */
	unic_le16 dmas;	    /* DMA pieces in flight */
	unic_le32 misses;   /* DEMAND, TABLE: so far */
	unic_le32 uses;	    /* accesses so far, modulo 2^32 */
	unic_le64 bytes;    /* of these accesses */
};
enum unic_mr_state {
	UNIC_MR_FREE = 0,     /* no region, has no row */
	UNIC_MR_LOADING = 1,  /* has its entries, MR_FILL still to come */
	UNIC_MR_ACTIVE = 2,   /* may be used; a form: once it is valid */
	UNIC_MR_NOTIFIED = 3, /* as ACTIVE, but a notice is open */
	UNIC_MR_DRAINING = 4, /* closed; what used it before ends */
	UNIC_MR_EVICTED = 5,  /* tombstone: holds nothing, answers EVICTED */
};
struct unic_row_tlb {
	unic_le32 index;      /* of the entry, 0..tlb_entries-1 */
	unic_le32 mr;	      /* index of the region it is of */
	unic_le32 page;	      /* of this region, from 0 on */
	unic_le32 page_shift; /* log2 of the page size */
	unic_le64 bus;	      /* bus address of the page */
	unic_le32 rsvd[10];
};
struct unic_row_token {
	unic_le32 index;       /* as messages name it, 0..tokens-1 */
	unic_le32 proc;	       /* slot of its owner */
	unic_le32 mr;	       /* index of the region it lies in */
	unic_le32 length;      /* bytes of the buffer */
	unic_le64 iova;	       /* of its first byte; not an address if it has
				* pieces */
	unic_le64 expires_ns;  /* NIC time; 2^64 - 1: never; state 4: the
				* message may last until then */
	unic_le32 state;       /* 0 live, 1 claimed by a message, 3 live,
				* multi-use, 4 claimed and wanted back, 5 so
				* for longer than T */
	unic_le32 end;	       /* 0: a token that has ended has no row */
	unic_le32 sender_ipv4; /* host order, 0 = anybody */
	unic_le32 sender_qpn;  /* QP number there, 0 = any */
	unic_le32 placed;      /* 0: known when it ends */
	unic_le32 rsvd[3];
};
struct unic_row_qp {
	unic_le32 qpn;	     /* as commands, events and peers name it */
	unic_le32 proc;	     /* slot of its owner */
	unic_le32 pd;	     /* index of its PD */
	unic_le32 state;     /* enum unic_qp_state */
	unic_le32 dest_qpn;  /* the peer's; 0 before RTR, and UD */
	unic_le32 dest_ipv4; /* host order; 0 before RTR, and UD */
	unic_le32 sq_psn;    /* next to send */
	unic_le32 una_psn;   /* oldest unacknowledged */
	unic_le32 rq_psn;    /* next expected */
	unic_le32 sq_posted; /* send slots so far: last tail that was rung */
	unic_le32 sq_done;   /* of them completed */
	unic_le32 rq_posted; /* receive slots so far: last tail that was rung */
	unic_le32 rq_done;   /* of them completed, up to the first that is
			      * not */
	unic_le32 retries;   /* times it went back and sent again, so far */
	unic_le32 rnrs;	     /* times a peer had it wait (RNR NAK, vendor
			      * acknowledgement) */
	unic_le32 type;	     /* enum unic_qp_type */
};
struct unic_row_cq {
	unic_le32 index;   /* 0..cqs-1 */
	unic_le32 proc;	   /* slot of its owner */
	unic_le32 pd;	   /* index of its PD */
	unic_le32 mr;	   /* control region of its ring */
	unic_le64 iova;	   /* of record 0 */
	unic_le32 entries; /* records of the ring */
	unic_le32 written; /* records so far */
	unic_le32 read;	   /* of them by the process, as last seen */
	unic_le32 events;  /* notifications so far */
	unic_le32 arm;	   /* the last arm word */
	unic_le32 users;   /* send and receive queues that complete here */
	uint8_t armed;	   /* 1: a notification is owed */
	uint8_t error;	   /* 1 overflow, 2 bus */
	uint8_t db_index;  /* its row in the doorbell page */
	uint8_t rsvd0;
	unic_le32 rsvd[3];
};
struct unic_row_proc {
	unic_le32 proc;		   /* slot */
	unic_le32 host_pid;	   /* as given at PROC_ATTACH */
	unic_le32 weight;	   /* its part in fair shares */
	unic_le32 quota;	   /* hard limit in entries, 0 = none */
	unic_le32 held;		   /* TLB entries */
	unic_le32 fair_share;	   /* entries, just now */
	unic_le32 wanted;	   /* entries its queued requests ask for, and
				    * its claim */
	unic_le32 control;	   /* of held: class control */
	unic_le32 mrs;		   /* regions, those that drain included */
	unic_le32 qps;		   /* queue pairs, those being destroyed
				    * included */
	unic_le32 tokens;	   /* live or claimed */
	unic_le32 notices;	   /* open */
	unic_le32 evictions;	   /* so far */
	unic_le32 policy;	   /* enum unic_policy */
	unic_le32 longest_wait_us; /* of its granted requests since
				    * PROC_ATTACH */
	unic_le32 late;		   /* evictions by deadline so far */
};
struct unic_row_wait {
	unic_le32 wait;	   /* as in unic_cpl_mr_reg */
	unic_le32 proc;	   /* slot that waits */
	unic_le32 entries; /* that it asks for */
	unic_le32 age_us;  /* since it was queued */
	unic_le32 rsvd[12];
};

/* Histogram `which`, from bucket `first` on: how often something took how long since
 * power-on, modulo 2^32. Bucket 0: below a microsecond; bucket n: 2^(n-1) microseconds and
 * more, below 2^n; the last one: whatever is longer. One command reads all rows, so they
 * are of one moment. UNIC_FEAT_HISTOGRAMS, else INVALID. */
enum unic_histogram {
	UNIC_HIST_WAIT = 0, /* REGISTER_WAITs granted: from request to grant */
	UNIC_HIST_GRACE =
		1, /* graces: from delivery of the notice to the release,
			      * or to the deadline */
	UNIC_HIST_MISS = 2, /* pages of residency demand that an operation
			      * waited for, and got */
};
#define UNIC_HIST_COUNT	  3u  /* histograms */
#define UNIC_HIST_BUCKETS 24u /* of each */
#define UNIC_HIST_ROW	  12u /* buckets of a row */
struct unic_row_histogram {
	unic_le32 which; /* enum unic_histogram */
	unic_le32 first; /* bucket of count[0] */
	unic_le32 rsvd[2];
	unic_le32 count[UNIC_HIST_ROW]; /* of bucket `first` and those behind
					 * it */
};

/* TRACE_CTL. Which groups are recorded; bit per UNIC_TG_*. */
struct unic_cmd_trace_ctl {
	struct unic_cmd_hdr hdr;
	unic_le32 mask; /* UNIC_TG_*, those of the others are not recorded;
			 * after power-on MR, EVICT, TOKEN, CMD; stays at a
			 * reset */
	unic_le32 rsvd[13];
};

/* FAULT. For tests: provoke what should never happen. */
enum unic_fault {
	UNIC_FAULT_CRASH = 1,	    /* UNIC_ASSERT(0) */
	UNIC_FAULT_DROP_RX = 2,	    /* drop the next `arg` frames received */
	UNIC_FAULT_DROP_EVENTS = 3, /* skip the next `arg` interrupts to host */
};
struct unic_cmd_fault {
	struct unic_cmd_hdr hdr;
	unic_le32 fault; /* enum unic_fault */
	unic_le32 arg;	 /* how many; 0 ends it; CRASH: of no meaning */
	unic_le32 rsvd[12];
};

UNIC_ABI_SIZE(unic_cmd_dump, 64);
UNIC_ABI_SIZE(unic_cpl_dump, 64);
UNIC_ABI_AT(unic_row_mr, iova, 24);
UNIC_ABI_AT(unic_row_mr, bytes, 56);
UNIC_ABI_SIZE(unic_row_mr, 64);
UNIC_ABI_SIZE(unic_row_tlb, 64);
UNIC_ABI_SIZE(unic_row_token, 64);
UNIC_ABI_SIZE(unic_row_qp, 64);
UNIC_ABI_AT(unic_row_cq, armed, 48);
UNIC_ABI_SIZE(unic_row_cq, 64);
UNIC_ABI_SIZE(unic_row_proc, 64);
UNIC_ABI_SIZE(unic_row_wait, 64);
UNIC_ABI_SIZE(unic_row_histogram, 64);
UNIC_ABI_SIZE(unic_cmd_trace_ctl, 64);
UNIC_ABI_SIZE(unic_cmd_fault, 64);

#endif /* UNIC_ABI_CMD_DUMP_H */

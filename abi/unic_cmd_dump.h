/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_cmd_dump.h - commands and completions of the mailbox that show what the
 * NIC holds, or provoke what should not happen: rows of its tables, trace, faults.
 */
#ifndef UNIC_ABI_CMD_DUMP_H
#define UNIC_ABI_CMD_DUMP_H

#include "unic_cmd.h"

/* QUERY_USAGE: proc in `id`; completion struct unic_cpl_usage. */

/* DUMP. Writes rows [first, first+count) of a table into the list page as
 * struct unic_row_*; completion says how many and where to go on. */
struct unic_cmd_dump {
	struct unic_cmd_hdr hdr;
	unic_le32 table; /* enum unic_table */
	unic_le32 first;
	unic_le32 rsvd[12];
};
struct unic_cpl_dump {
	struct unic_cmd_hdr hdr;
	unic_le32 rows; /* written */
	unic_le32 next; /* first row of the next call; 0 = no more */
	unic_le32 rsvd[12];
};
#define UNIC_ROW_BYTES 64u

struct unic_row_mr {
	unic_le32 index;
	unic_le32 gen;
	unic_le32 stag;
	unic_le16 proc;
	unic_le16 dependents; /* tokens and forms that end with it */
	unic_le16 pd;
	uint8_t kind; /* enum unic_form_kind */
	uint8_t rsvd;
	uint8_t state; /* enum unic_mr_state */
	uint8_t rights;
	uint8_t mr_class; /* 3:0 enum unic_mr_class, 7:4 enum unic_residency */
	uint8_t page_shift;
	unic_le64 iova;
	unic_le64 length;
	unic_le32 entries; /* held */
	unic_le16 holds;   /* operations that need it translatable */
	unic_le16 dmas;	   /* DMA pieces in flight */
	unic_le32 misses;  /* DEMAND, TABLE: so far */
	unic_le32 uses;
	unic_le64 bytes;
};
enum unic_mr_state {
	UNIC_MR_FREE = 0,
	UNIC_MR_LOADING = 1,
	UNIC_MR_ACTIVE = 2,
	UNIC_MR_NOTIFIED = 3,
	UNIC_MR_DRAINING = 4,
	UNIC_MR_EVICTED = 5, /* tombstone: holds nothing, answers EVICTED */
};
struct unic_row_tlb {
	unic_le32 index;
	unic_le32 mr;
	unic_le32 page;
	unic_le32 page_shift;
	unic_le64 bus;
	unic_le32 rsvd[10];
};
struct unic_row_token {
	unic_le32 index;
	unic_le32 proc;
	unic_le32 mr;
	unic_le32 length;
	unic_le64 iova;
	unic_le64 expires_ns;
	unic_le32 state; /* 0 live, 1 claimed, 2 ended, 3 live, multi-use */
	unic_le32 end;	 /* enum unic_token_end */
	unic_le32 sender_ipv4;
	unic_le32 sender_qpn;
	unic_le32 placed;
	unic_le32 rsvd[3];
};
struct unic_row_qp {
	unic_le32 qpn;
	unic_le32 proc;
	unic_le32 pd;
	unic_le32 state;
	unic_le32 dest_qpn;
	unic_le32 dest_ipv4;
	unic_le32 sq_psn;  /* next to send */
	unic_le32 una_psn; /* oldest unacknowledged */
	unic_le32 rq_psn;  /* next expected */
	unic_le32 sq_posted;
	unic_le32 sq_done;
	unic_le32 rq_posted;
	unic_le32 rq_done;
	unic_le32 retries;
	unic_le32 rnrs;
	unic_le32 type; /* enum unic_qp_type */
};
struct unic_row_cq {
	unic_le32 index;
	unic_le32 proc;
	unic_le32 pd;
	unic_le32 mr;	/* control region of its ring */
	unic_le64 iova; /* of record 0 */
	unic_le32 entries;
	unic_le32 written; /* records so far */
	unic_le32 read;	   /* of them by the process, as last seen */
	unic_le32 events;  /* notifications so far */
	unic_le32 arm;	   /* the last arm word */
	unic_le32 users;   /* send and receive queues that complete here */
	uint8_t armed;	   /* 1: a notification is owed */
	uint8_t error;	   /* 1 overflow, 2 bus */
	uint8_t db_index;
	uint8_t rsvd0;
	unic_le32 rsvd[3];
};
struct unic_row_proc {
	unic_le32 proc;
	unic_le32 host_pid;
	unic_le32 weight;
	unic_le32 quota;
	unic_le32 held; /* TLB entries */
	unic_le32 fair_share;
	unic_le32 wanted;  /* entries its queued requests ask for */
	unic_le32 control; /* of held: class control */
	unic_le32 mrs;
	unic_le32 qps;
	unic_le32 tokens;
	unic_le32 notices;   /* open */
	unic_le32 evictions; /* so far */
	unic_le32 policy;
	unic_le32 longest_wait_us;
	unic_le32 late; /* evictions by deadline so far */
};
struct unic_row_wait {
	unic_le32 wait;
	unic_le32 proc;
	unic_le32 entries;
	unic_le32 age_us;
	unic_le32 rsvd[12];
};

/* TRACE_CTL. Which groups are recorded; bit per UNIC_TG_*. */
struct unic_cmd_trace_ctl {
	struct unic_cmd_hdr hdr;
	unic_le32 mask;
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
	unic_le32 arg;
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
UNIC_ABI_SIZE(unic_cmd_trace_ctl, 64);
UNIC_ABI_SIZE(unic_cmd_fault, 64);

#endif /* UNIC_ABI_CMD_DUMP_H */

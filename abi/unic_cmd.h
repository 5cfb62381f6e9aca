/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_cmd.h - commands and completions of the mailbox (unic_mbox.h): opcodes,
 * statuses, parameters of the NIC, process slots, protection domains.
 */
#ifndef UNIC_ABI_CMD_H
#define UNIC_ABI_CMD_H

#include "unic_types.h"
#include "unic_words.h"

/*
 * The struct of each command, and of its completion where one is named behind
 * "answer". Any other completion is the header with zeros behind it, and so is
 * a refusal of which nothing else is said.
 */
enum unic_cmd_opcode {
	UNIC_CMD_NOP = 1,	     /* echo: struct unic_cmd_nop in both
				      * directions */
	UNIC_CMD_SET_PARAMS = 2,     /* times, watermarks: struct
				      * unic_cmd_set_params */
	UNIC_CMD_HOST_TIME = 3,	     /* clock pair: struct unic_cmd_host_time */
	UNIC_CMD_SET_ADDR = 4,	     /* IPv4 address: struct
				      * unic_cmd_set_addr */
	UNIC_CMD_ENTROPY = 5,	     /* random bytes: struct unic_cmd_entropy */
	UNIC_CMD_PROC_ATTACH = 8,    /* a slot begins: struct
				      * unic_cmd_proc_attach */
	UNIC_CMD_PROC_DETACH = 9,    /* a slot ends: struct
				      * unic_cmd_proc_detach */
	UNIC_CMD_PROC_SET = 10,	     /* shares of a slot: struct
				      * unic_cmd_proc_set */
	UNIC_CMD_DB_ACK = 11,	     /* DB_ERROR was told: struct
				      * unic_cmd_db_ack */
	UNIC_CMD_PD_ALLOC = 12,	     /* struct unic_cmd_pd; answer
				      * unic_cpl_pd */
	UNIC_CMD_PD_FREE = 13,	     /* struct unic_cmd_pd */
	UNIC_CMD_RATE = 14,	     /* transmit limit of a slot or a queue
				      * pair: struct unic_cmd_rate; answer
				      * unic_cpl_rate */
	UNIC_CMD_MR_REG = 16,	     /* struct unic_cmd_mr_reg; answer
				      * unic_cpl_mr_reg, or unic_cpl_usage */
	UNIC_CMD_MR_FILL = 17,	     /* pages of a region: struct
				      * unic_cmd_mr_fill */
	UNIC_CMD_MR_DEREG = 18,	     /* a region ends: struct unic_cmd_mr */
	UNIC_CMD_WAIT_CANCEL = 19,   /* struct unic_cmd_wait_cancel */
	UNIC_CMD_NOTICE_ACK = 20,    /* struct unic_cmd_notice_ack; answer
				      * unic_cpl_notice */
	UNIC_CMD_NOTICE_ANSWER = 21, /* struct unic_cmd_notice_answer; answer
				      * unic_cpl_notice */
	UNIC_CMD_MR_EVICT = 22,	     /* take an ACTIVE region back, reason
				      * ADMIN: struct unic_cmd_mr; INVALID if of
				      * class control or without entries, STATE
				      * if not ACTIVE */
	UNIC_CMD_MR_FAULT = 48,	     /* struct unic_cmd_mr_fault; answer
				      * unic_cpl_mr_pages */
	UNIC_CMD_MR_INVALIDATE = 49, /* struct unic_cmd_mr_pages; answer
				      * unic_cpl_mr_pages */
	UNIC_CMD_MR_ADVISE = 50,     /* struct unic_cmd_mr_pages; answer
				      * unic_cpl_mr_pages */
	UNIC_CMD_MR_FORMS = 51,	     /* which forms end with a region: struct
				      * unic_cmd_mr; UNIC_FEAT_MR_FORMS, else
				      * BAD_OPCODE */
	UNIC_CMD_TOKEN_ALLOC = 24,   /* struct unic_cmd_token_alloc; answer
				      * unic_cpl_token */
	UNIC_CMD_TOKEN_CANCEL = 25,  /* struct unic_cmd_token_cancel; answer
				      * unic_cpl_token */
	UNIC_CMD_TOKEN_BATCH = 26,   /* struct unic_cmd_batch; answer
				      * unic_cpl_batch */
	UNIC_CMD_CQ_CREATE = 28,     /* struct unic_cmd_cq_create; answer
				      * unic_cpl_obj */
	UNIC_CMD_CQ_DESTROY = 29,    /* struct unic_cmd_obj */
	UNIC_CMD_CQ_RESIZE = 30,     /* struct unic_cmd_cq_resize; answer
				      * unic_cpl_cq_resize; UNIC_FEAT_CQ_RESIZE,
				      * else BAD_OPCODE */
	UNIC_CMD_QP_CREATE = 32,     /* struct unic_cmd_qp_create; answer
				      * unic_cpl_obj */
	UNIC_CMD_QP_MODIFY = 33,     /* state of a QP: struct
				      * unic_cmd_qp_modify */
	UNIC_CMD_QP_DESTROY = 34,    /* struct unic_cmd_obj */
	UNIC_CMD_SRQ_CREATE = 36,    /* struct unic_cmd_srq_create; answer
				      * unic_cpl_obj; UNIC_FEAT_SRQ, as the next
				      * two, else BAD_OPCODE */
	UNIC_CMD_SRQ_MODIFY = 37,    /* struct unic_cmd_srq_modify */
	UNIC_CMD_SRQ_DESTROY = 38,   /* struct unic_cmd_obj */
	UNIC_CMD_ARP_RESOLVE = 40,   /* struct unic_cmd_arp; answer
				      * unic_cpl_arp */
	UNIC_CMD_MAD_SEND = 41,	     /* struct unic_cmd_mad_send */
	UNIC_CMD_QUERY_USAGE = 44,   /* struct unic_cmd_obj, slot in `id`,
				      * `proc` 0; answer unic_cpl_usage */
	UNIC_CMD_DUMP = 45,	     /* rows of a table: struct unic_cmd_dump;
				      * answer unic_cpl_dump */
	UNIC_CMD_TRACE_CTL = 46,     /* groups of events: struct
				      * unic_cmd_trace_ctl */
	UNIC_CMD_FAULT = 47,	     /* a fault, for tests: struct
				      * unic_cmd_fault */
	UNIC_CMD_MR_ALLOC = 56,	     /* a form: struct unic_cmd_mr_alloc; answer
				      * unic_cpl_mr_reg, or unic_cpl_usage */
	UNIC_CMD_MR_MAKE = 57,	     /* a form becomes valid: struct
				      * unic_cmd_mr_make; answer
				      * unic_cpl_mr_reg */
	UNIC_CMD_MR_INVAL = 58,	     /* a form becomes invalid: struct
				      * unic_cmd_mr */
	UNIC_CMD_MR_REREG = 59,	     /* struct unic_cmd_mr_rereg; refused for
				      * lack of room: unic_cpl_usage */
	UNIC_CMD_MR_BATCH = 60,	     /* struct unic_cmd_batch; answer
				      * unic_cpl_batch */
};

/* First 8 bytes of every command and completion. */
struct unic_cmd_hdr {
	uint8_t opcode;	  /* enum unic_cmd_opcode */
	uint8_t status;	  /* 0 in commands; enum unic_status in completions */
	unic_le16 cookie; /* the driver's own, returned in the completion */
	unic_le32 epoch;  /* boot_epoch; STALE_EPOCH if another */
};

/* NOP. Echoes data. */
struct unic_cmd_nop {
	struct unic_cmd_hdr hdr;
	unic_le64 data; /* anything; returned */
	unic_le32 rsvd[12];
};

/* SET_PARAMS. 0 in a field leaves that parameter as it is. */
struct unic_cmd_set_params {
	struct unic_cmd_hdr hdr;
	unic_le32 grace_us;	/* T, 1 .. 10^7; 0 with PARAM_GRACE: none at
				 * all, and operations are cut as soon as their
				 * region is given up; 20000 after a reset */
	unic_le32 deliver_us;	/* H, 1 .. 10^7; 50000 after a reset */
	unic_le32 reaper_us;	/* reaper period, 100 .. 10^6; 1000 after a
				 * reset */
	unic_le32 low_entries;	/* with PARAM_WATERMARKS, else 0: fewer free
				 * entries make the NIC take some back;
				 * tlb_entries / 64 after a reset */
	unic_le32 high_entries; /* likewise: it goes on until so many are free;
				 * low <= high <= tlb_entries; tlb_entries / 32
				 * after a reset */
	unic_le32 residence_us; /* minimum residence of an entry, at most 10^7;
				 * 5000 after a reset */
	unic_le32 extend_us;	/* EXTEND in total per notice, at most; up to
				 * 10^7; 40000 after a reset */
	unic_le32 flags;	/* UNIC_PARAM_* */
	unic_le32 idle_us;	/* UNIC_FEAT_IDLE, else 0: events IDLE ask for
				 * regions that were not used for so long, 1000
				 * .. 10^9; 0 with PARAM_IDLE: nothing is asked
				 * for, as after a reset */
	unic_le32 pain_pct;	/* UNIC_FEAT_PAIN, else 0: what the pain of a
				 * region counts in the choice of one and in how
				 * far the reaper goes, ..400; 0 with PARAM_PAIN:
				 * nothing; 100 after a reset */
	unic_le32 prefetch;	/* UNIC_FEAT_HOST_TABLE, else 0: entries that a
				 * miss of a TABLE region keeps as long as there
				 * are free ones, 1 .. UNIC_TABLE_GROUP; 1 after
				 * a reset */
	unic_le32 rsvd[3];
};
#define UNIC_PARAM_WATERMARKS (1u << 0) /* low and high are meant, even if 0 */
#define UNIC_PARAM_GRACE      (1u << 3) /* grace_us is meant, even if 0 */
#define UNIC_PARAM_IDLE	      (1u << 4) /* idle_us is meant, even if 0 */
#define UNIC_PARAM_PAIN	      (1u << 5) /* pain_pct is meant, even if 0 */
/* Policies know the uses that processes report (struct unic_db_page), and
 * choose by chance among the regions of one that reports none; or again those
 * that the NIC counts, as after a reset. */
#define UNIC_PARAM_USES_REPORTED \
	(1u << 1) /* policies read what processes report */
#define UNIC_PARAM_USES_COUNTED \
	(1u << 2) /* what the NIC counts; both: INVALID */

/* HOST_TIME. Publishes the pair (NIC time now, host_ns). */
struct unic_cmd_host_time {
	struct unic_cmd_hdr hdr;
	unic_le64 host_ns; /* CLOCK_MONOTONIC; becomes unic_info.pair_host_ns */
	unic_le32 rsvd[12];
};

/* SET_ADDR. Our IPv4 address; not while a QP is past INIT (BUSY). */
struct unic_cmd_set_addr {
	struct unic_cmd_hdr hdr;
	unic_le32 ipv4; /* host order; INVALID: 0, 127.x, 224.x and above */
	unic_le32 rsvd[13];
};

/* ENTROPY. 32 bytes from the host's random source, mixed into the pool. */
struct unic_cmd_entropy {
	struct unic_cmd_hdr hdr;
	uint8_t bytes[32]; /* unpredictable; mixed into what the NIC has */
	unic_le32 rsvd[6];
};

/* PROC_ATTACH. Process slot `proc` begins. */
struct unic_cmd_proc_attach {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;	    /* slot, 0..procs-1; BUSY if attached */
	unic_le32 weight;   /* 1..65535: its part in fair shares */
	unic_le64 doorbell; /* bus address of its doorbell page, the NIC page
			     * behind it; a multiple of 4096; BUSY if they
			     * overlap those of another slot */
	unic_le32 quota;    /* hard limit in entries, at most tlb_entries; 0 =
			     * none */
	unic_le32 policy;   /* enum unic_policy */
	unic_le32 host_pid; /* for reports only: DUMP, trace */
	unic_le32 keeper; /* UNIC_FEAT_ACCOUNTS, else 0: 1 + the slot that this
			     * one is an account of: it has no objects, and is
			     * charged for regions of that slot
			     * (unic_cmd_mr_reg.account); PROC_DETACH waits
			     * for their ends. 0: of none */
	unic_le64 rate;	  /* UNIC_FEAT_RATES, else 0: transmit limit, as in
			   * unic_cmd_rate; 0: none */
	unic_le32 burst;  /* likewise */
	unic_le32 rsvd[3];
};

/*
 * PROC_DETACH. All objects of the process end: QPs go to error, tokens are
 * cancelled, waits are cancelled, regions drain. Completes OK when nothing of
 * it is left (its memory may be reused then), PENDING when draining goes on:
 * then PROC_GONE follows as an event.
 */
struct unic_cmd_proc_detach {
	struct unic_cmd_hdr hdr;
	unic_le32 proc; /* slot; NO_PROC if not attached, or detaching */
	unic_le32 rsvd[13];
};

/* DB_ACK. Process `proc` was told of a DB_ERROR: it may be told again. */
struct unic_cmd_db_ack {
	struct unic_cmd_hdr hdr;
	unic_le32 proc; /* slot; NO_PROC if not attached, or detaching */
	unic_le32 rsvd[13];
};

/* PROC_SET. Weight, quota, policy and claim of a live process. */
struct unic_cmd_proc_set {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;	  /* slot; NO_PROC if not attached, or detaching */
	unic_le32 weight; /* 1..65535 */
	unic_le32 quota;  /* entries; 0 = none; requests that wait for more end
			   * TOO_LARGE, what is held above it is asked back */
	unic_le32 policy; /* enum unic_policy */
	unic_le32 keep;	  /* UNIC_PROC_KEEP_*: what stays as it is; that field
			   * is 0 then. UNIC_PROC_CLAIM */
	unic_le32
		claim; /* with PROC_CLAIM, else 0: entries that the process can
			   * use at a time, at most tlb_entries. As long as it is
			   * not 0, the process has part in fair shares like one
			   * that holds or waits, also when it does neither */
	unic_le32 rsvd[8];
};
#define UNIC_PROC_KEEP_WEIGHT (1u << 0) /* `weight` stays */
#define UNIC_PROC_KEEP_QUOTA  (1u << 1) /* `quota` stays */
#define UNIC_PROC_KEEP_POLICY (1u << 2) /* `policy` stays */
#define UNIC_PROC_CLAIM	      (1u << 3) /* with FEAT_ACCOUNTS: `claim` is meant */
#define UNIC_PROC_KEEP_ALL    0x0fu	/* with any other bit: INVALID */

/* RATE (UNIC_FEAT_RATES, else BAD_OPCODE). The transmit limit of a process, or of one
 * of its queue pairs: set, or told. What a queue pair sends is within both. The bytes of
 * its frames count, from the destination address to the ICRC: of requests, repeats
 * included, and of READ responses, not of acknowledgements alone. In any time t that is
 * at most rate * t + burst, and one frame. Requests and READ responses that are too
 * many wait. What is not sent is saved up, from the moment on that a limit is set. */
struct unic_cmd_rate {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;	 /* slot; NO_PROC if not attached, or detaching */
	unic_le32 qpn;	 /* a queue pair of it; 0: all of it together */
	unic_le64 rate;	 /* RATE_SET: bytes in a second, 1000 .. 10^11, or 0: no
			  * limit; else 0 */
	unic_le32 burst; /* RATE_SET: bytes at once, at most 65536 or `rate`; 0:
			  * chosen by the NIC, rate / 128 but 16384 at least;
			  * else, and without a limit, 0 */
	unic_le32 flags; /* UNIC_RATE_* */
	unic_le32 rsvd[8];
};
#define UNIC_RATE_SET (1u << 0) /* `rate` and `burst` are meant */
#define UNIC_RATE_LOWER \
	(1u << 1) /* with SET: only if neither rises; else QUOTA */
#define UNIC_RATE_FLAGS_ALL 0x03u /* with any other bit: INVALID */
struct unic_cpl_rate {
	struct unic_cmd_hdr hdr;
	unic_le64 rate;	 /* as it is now; 0: no limit */
	unic_le32 burst; /* likewise */
	unic_le32 held; /* times that a queue pair had to wait for this limit */
	unic_le32 rsvd[10];
};

/* PD_ALLOC / PD_FREE. PD_FREE answers BUSY while regions or QPs use it. */
struct unic_cmd_pd {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;	 /* slot whose PD it is */
	unic_le32 pd;	 /* PD_FREE: which; PD_ALLOC: 0 */
	unic_le32 flags; /* PD_ALLOC: UNIC_PD_*; PD_FREE: 0 */
	unic_le32 rsvd[11];
};
/* Regions of residency PHYSICAL are possible in it, so what the driver makes in
 * it is its own and never for a process. */
#define UNIC_PD_PHYSICAL  (1u << 0) /* may have regions of residency PHYSICAL */
#define UNIC_PD_FLAGS_ALL 0x01u	    /* with any other bit: INVALID */
struct unic_cpl_pd {
	struct unic_cmd_hdr hdr;
	unic_le32 pd; /* index, 0..pds-1, for commands that name a PD */
	unic_le32 rsvd[13];
};

UNIC_ABI_SIZE(unic_cmd_hdr, 8);
UNIC_ABI_SIZE(unic_cmd_nop, 64);
UNIC_ABI_SIZE(unic_cmd_set_params, 64);
UNIC_ABI_SIZE(unic_cmd_host_time, 64);
UNIC_ABI_SIZE(unic_cmd_set_addr, 64);
UNIC_ABI_SIZE(unic_cmd_entropy, 64);
UNIC_ABI_AT(unic_cmd_proc_attach, doorbell, 16);
UNIC_ABI_AT(unic_cmd_proc_attach, rate, 40);
UNIC_ABI_SIZE(unic_cmd_proc_attach, 64);
UNIC_ABI_SIZE(unic_cmd_proc_detach, 64);
UNIC_ABI_SIZE(unic_cmd_db_ack, 64);
UNIC_ABI_SIZE(unic_cmd_proc_set, 64);
UNIC_ABI_AT(unic_cmd_rate, rate, 16);
UNIC_ABI_SIZE(unic_cmd_rate, 64);
UNIC_ABI_SIZE(unic_cpl_rate, 64);
UNIC_ABI_SIZE(unic_cmd_pd, 64);
UNIC_ABI_SIZE(unic_cpl_pd, 64);

#endif /* UNIC_ABI_CMD_H */

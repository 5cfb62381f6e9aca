/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_cmd.h - commands and completions of the mailbox (unic_mbox.h): opcodes,
 * statuses, parameters of the NIC, process slots, protection domains.
 */
#ifndef UNIC_ABI_CMD_H
#define UNIC_ABI_CMD_H

#include "unic_types.h"

enum unic_cmd_opcode {
	UNIC_CMD_NOP = 1,
	UNIC_CMD_SET_PARAMS = 2,
	UNIC_CMD_HOST_TIME = 3,
	UNIC_CMD_SET_ADDR = 4,
	UNIC_CMD_ENTROPY = 5,
	UNIC_CMD_PROC_ATTACH = 8,
	UNIC_CMD_PROC_DETACH = 9,
	UNIC_CMD_PROC_SET = 10,
	UNIC_CMD_DB_ACK = 11,
	UNIC_CMD_PD_ALLOC = 12,
	UNIC_CMD_PD_FREE = 13,
	UNIC_CMD_MR_REG = 16,
	UNIC_CMD_MR_FILL = 17,
	UNIC_CMD_MR_DEREG = 18,
	UNIC_CMD_WAIT_CANCEL = 19,
	UNIC_CMD_NOTICE_ACK = 20,
	UNIC_CMD_NOTICE_ANSWER = 21,
	UNIC_CMD_MR_EVICT = 22,
	UNIC_CMD_MR_FAULT = 48,
	UNIC_CMD_MR_INVALIDATE = 49,
	UNIC_CMD_MR_ADVISE = 50,
	UNIC_CMD_TOKEN_ALLOC = 24,
	UNIC_CMD_TOKEN_CANCEL = 25,
	UNIC_CMD_TOKEN_BATCH = 26,
	UNIC_CMD_CQ_CREATE = 28,
	UNIC_CMD_CQ_DESTROY = 29,
	UNIC_CMD_QP_CREATE = 32,
	UNIC_CMD_QP_MODIFY = 33,
	UNIC_CMD_QP_DESTROY = 34,
	UNIC_CMD_ARP_RESOLVE = 40,
	UNIC_CMD_MAD_SEND = 41,
	UNIC_CMD_QUERY_USAGE = 44,
	UNIC_CMD_DUMP = 45,
	UNIC_CMD_TRACE_CTL = 46,
	UNIC_CMD_FAULT = 47,
	UNIC_CMD_MR_ALLOC = 56,
	UNIC_CMD_MR_MAKE = 57,
	UNIC_CMD_MR_INVAL = 58,
	UNIC_CMD_MR_REREG = 59,
	UNIC_CMD_MR_BATCH = 60,
};

enum unic_status {
	UNIC_ST_OK = 0,
	UNIC_ST_PENDING = 1, /* MR_REG: queued; MR_DEREG: draining */
	UNIC_ST_BAD_OPCODE = 2,
	UNIC_ST_STALE_EPOCH = 3, /* header epoch is not boot_epoch */
	UNIC_ST_INVALID = 4,	 /* a field is out of range; see bad_field */
	UNIC_ST_NO_PROC = 5,
	UNIC_ST_NO_PD = 6,
	UNIC_ST_NO_MR = 7, /* no such region, or another generation */
	UNIC_ST_NO_CQ = 8,
	UNIC_ST_NO_QP = 9,
	UNIC_ST_NO_TOKEN = 10,
	UNIC_ST_NO_WAIT = 11,
	UNIC_ST_BUSY = 12, /* in use by something that must go first */
	UNIC_ST_TLB_FULL = 13,
	UNIC_ST_MR_FULL = 14,
	UNIC_ST_TOKEN_FULL = 15,
	UNIC_ST_QP_FULL = 16,
	UNIC_ST_CQ_FULL = 17,
	UNIC_ST_PD_FULL = 18,
	UNIC_ST_WAIT_FULL = 19,
	UNIC_ST_QUOTA = 20,	/* hard quota of the process */
	UNIC_ST_TOO_LARGE = 21, /* can never fit */
	UNIC_ST_STATE = 22,	/* not in this state */
	UNIC_ST_RIGHTS = 23,
	UNIC_ST_BOUNDS = 24,
	UNIC_ST_EVICTED = 25,
	UNIC_ST_BUS = 26, /* not inside a DMA window */
	UNIC_ST_NO_ENTROPY = 27,
	UNIC_ST_CANCELLED = 28,
	UNIC_ST_TIMEOUT = 29,
	UNIC_ST_REFUSED = 30,  /* OFFER/EXTEND not granted, see detail */
	UNIC_ST_FAILED = 31,   /* NIC state is not READY */
	UNIC_ST_CTRL_CAP = 32, /* class control: a quarter of the
				   * share, in entries or in regions */
	UNIC_ST_NO_ROUTE = 33,
	UNIC_ST_STALE = 64,	   /* MR_FAULT: older than an invalidation */
	UNIC_ST_ELEMENT_FULL = 40, /* elements of forms: the pool, or the
				    * process's quarter of it */
	UNIC_ST_ALIGN = 41,	   /* pages of a form do not fit together */
};

/* First 8 bytes of every command and completion. */
struct unic_cmd_hdr {
	uint8_t opcode;	  /* enum unic_cmd_opcode */
	uint8_t status;	  /* 0 in commands; enum unic_status in completions */
	unic_le16 cookie; /* the driver's own, returned */
	unic_le32 epoch;  /* boot_epoch */
};

/* NOP. Echoes data. */
struct unic_cmd_nop {
	struct unic_cmd_hdr hdr;
	unic_le64 data;
	unic_le32 rsvd[12];
};

/* SET_PARAMS. 0 in a field leaves that parameter as it is. */
struct unic_cmd_set_params {
	struct unic_cmd_hdr hdr;
	unic_le32 grace_us;    /* 1 .. 10^7 */
	unic_le32 deliver_us;  /* 1 .. 10^7 */
	unic_le32 reaper_us;   /* 100 .. 10^6 */
	unic_le32 low_entries; /* watermarks, low <= high <= capacity */
	unic_le32 high_entries;
	unic_le32 residence_us; /* minimum residence of an entry */
	unic_le32 extend_us;	/* EXTEND in total per notice, at most */
	unic_le32 flags;	/* UNIC_PARAM_* */
	unic_le32 rsvd[6];
};
#define UNIC_PARAM_WATERMARKS (1u << 0) /* low/high are meant even if 0 */
/* Policies know the uses that processes report (struct unic_db_page), and choose
 * by chance among the regions of one that reports none; or again those that the
 * NIC counts, as after a reset. */
#define UNIC_PARAM_USES_REPORTED (1u << 1)
#define UNIC_PARAM_USES_COUNTED	 (1u << 2)

/* HOST_TIME. Publishes the pair (NIC time now, host_ns). */
struct unic_cmd_host_time {
	struct unic_cmd_hdr hdr;
	unic_le64 host_ns; /* CLOCK_MONOTONIC */
	unic_le32 rsvd[12];
};

/* SET_ADDR. Our IPv4 address; not while a QP is past INIT (BUSY). */
struct unic_cmd_set_addr {
	struct unic_cmd_hdr hdr;
	unic_le32 ipv4; /* host order, unicast */
	unic_le32 rsvd[13];
};

/* ENTROPY. 32 bytes from the host's random source, mixed into the pool. */
struct unic_cmd_entropy {
	struct unic_cmd_hdr hdr;
	uint8_t bytes[32];
	unic_le32 rsvd[6];
};

/* PROC_ATTACH. Process slot `proc` begins. */
struct unic_cmd_proc_attach {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;	    /* slot, 0..procs-1 */
	unic_le32 weight;   /* 1..65535 */
	unic_le64 doorbell; /* bus address of its doorbell and NIC pages */
	unic_le32 quota;    /* hard limit in entries, 0 = none */
	unic_le32 policy;   /* enum unic_policy */
	unic_le32 host_pid; /* for reports only */
	unic_le32 rsvd[7];
};

enum unic_policy {
	UNIC_POLICY_DEFAULT = 0,
	UNIC_POLICY_RANDOM = 1,
	UNIC_POLICY_LRU = 2,
	UNIC_POLICY_S3FIFO = 3,
	UNIC_POLICY_APP = 4, /* hints of importance first, then as DEFAULT */
	UNIC_POLICIES = 5,
};

/*
 * PROC_DETACH. All objects of the process end: QPs go to error, tokens are
 * cancelled, waits are cancelled, regions drain. Completes OK when nothing of
 * it is left (its memory may be reused then), PENDING when draining goes on:
 * then PROC_GONE follows as an event.
 */
struct unic_cmd_proc_detach {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;
	unic_le32 rsvd[13];
};

/* DB_ACK. Process `proc` was told of a DB_ERROR: it may be told again. */
struct unic_cmd_db_ack {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;
	unic_le32 rsvd[13];
};

/* PROC_SET. Weight, quota and policy of a live process. */
struct unic_cmd_proc_set {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;
	unic_le32 weight;
	unic_le32 quota;
	unic_le32 policy;
	unic_le32 rsvd[10];
};

/* PD_ALLOC / PD_FREE. PD_FREE answers BUSY while regions or QPs use it. */
struct unic_cmd_pd {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;
	unic_le32 pd;	 /* PD_FREE: which; PD_ALLOC: 0 */
	unic_le32 flags; /* PD_ALLOC: UNIC_PD_*; PD_FREE: 0 */
	unic_le32 rsvd[11];
};
/* Regions of residency PHYSICAL are possible in it, so what the driver makes in it
 * is its own and never for a process. */
#define UNIC_PD_PHYSICAL  (1u << 0)
#define UNIC_PD_FLAGS_ALL 0x01u
struct unic_cpl_pd {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;
	unic_le32 rsvd[13];
};

UNIC_ABI_SIZE(unic_cmd_hdr, 8);
UNIC_ABI_SIZE(unic_cmd_nop, 64);
UNIC_ABI_SIZE(unic_cmd_set_params, 64);
UNIC_ABI_SIZE(unic_cmd_host_time, 64);
UNIC_ABI_SIZE(unic_cmd_set_addr, 64);
UNIC_ABI_SIZE(unic_cmd_entropy, 64);
UNIC_ABI_AT(unic_cmd_proc_attach, doorbell, 16);
UNIC_ABI_SIZE(unic_cmd_proc_attach, 64);
UNIC_ABI_SIZE(unic_cmd_proc_detach, 64);
UNIC_ABI_SIZE(unic_cmd_db_ack, 64);
UNIC_ABI_SIZE(unic_cmd_proc_set, 64);
UNIC_ABI_SIZE(unic_cmd_pd, 64);
UNIC_ABI_SIZE(unic_cpl_pd, 64);

#endif /* UNIC_ABI_CMD_H */

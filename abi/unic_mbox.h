/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_mbox.h - the mailbox between host driver and firmware: the layout of the
 * BAR, and every command, completion and event.
 *
 * Three rings of 64-byte records: commands (driver writes), completions and
 * events (NIC writes). Indices are free-running 32-bit counts; each lives in a
 * page that one side alone writes. Whoever reads an index trusts it only while
 * tail - head <= entries; a wild index is counted and ignored. Each record is
 * copied out once and the copy is validated. Fields named rsvd are written 0
 * and a command in which one is not 0 is refused (UNIC_ST_INVALID).
 *
 * Commands are executed in order and each gets exactly one completion, with
 * the same cookie. Driver start: see unic_driver_page.reset_req.
 */
#ifndef UNIC_MBOX_H
#define UNIC_MBOX_H

#include "unic_types.h"

#define UNIC_MAGIC     0x43494e55u /* "UNIC" */
#define UNIC_ABI_MAJOR 1u
#define UNIC_ABI_MINOR 3u

/* ------------------------------------------------------- layout of BAR2 */

#define UNIC_BAR_BYTES	    0x200000u
#define UNIC_BAR_INFO_OFF   0x0000u /* struct unic_info, NIC writes */
#define UNIC_BAR_NIC_OFF    0x1000u /* struct unic_nic_idx, NIC writes */
#define UNIC_BAR_DRIVER_OFF 0x2000u /* struct unic_driver_page, driver writes */
#define UNIC_BAR_CMD_OFF    0x4000u /* 64 command records */
#define UNIC_BAR_CPL_OFF    0x5000u /* 64 completion records */
#define UNIC_BAR_EVT_OFF    0x8000u /* 512 event records */
#define UNIC_BAR_MAD_RX_OFF 0x10000u /* 64 x 512 bytes, NIC writes */
#define UNIC_BAR_LIST_OFF \
	0x20000u /* 64 x 4096: list page of each command slot */
#define UNIC_BAR_STATS_OFF 0x60000u  /* struct unic_stats_page, NIC writes */
#define UNIC_BAR_TRACE_OFF 0x80000u  /* trace ring, NIC writes */
#define UNIC_BAR_CRASH_OFF 0xc0000u  /* struct unic_crash, NIC writes */
#define UNIC_BAR_DROP_OFF  0x100000u /* 8192 drop records, NIC writes */
#define UNIC_BAR_USE_OFF \
	0x120000u /* struct unic_use_row by region, NIC writes */
#define UNIC_BAR_TABLE_OFF 0x140000u /* page tables, driver writes */

#define UNIC_CMD_ENTRIES    64u
#define UNIC_CPL_ENTRIES    64u
#define UNIC_EVT_ENTRIES    512u
#define UNIC_MAD_RX_ENTRIES 64u
#define UNIC_DROP_ENTRIES   8192u
#define UNIC_TABLE_BYTES    0xc0000u /* 8 for each page of a TABLE region */
#define UNIC_LIST_BYTES	    4096u
#define UNIC_LIST_MAX \
	(UNIC_LIST_BYTES / 8u) /* bus addresses of one list page */

enum unic_nic_state {
	UNIC_NIC_RESET = 0, /* resetting: nothing is accepted or sent */
	UNIC_NIC_READY = 1,
	UNIC_NIC_FAILED = 2,  /* the driver did not answer within H: quiesced,
			       * waiting for reset_req */
	UNIC_NIC_CRASHED = 3, /* see struct unic_crash */
};

#define UNIC_FEAT_TOKENS	(1ull << 0)
#define UNIC_FEAT_REGISTER_WAIT (1ull << 1)
#define UNIC_FEAT_NOTICE	(1ull << 2)
#define UNIC_FEAT_STATS		(1ull << 3)
#define UNIC_FEAT_ICRC_OFFLOAD	(1ull << 4)
#define UNIC_FEAT_RESTORE	(1ull << 5)  /* UNIC_REG_RESTORE */
#define UNIC_FEAT_DEMAND	(1ull << 6)  /* regions of residency DEMAND */
#define UNIC_FEAT_TABLE		(1ull << 7)  /* ... and of residency TABLE */
#define UNIC_FEAT_WINDOWS	(1ull << 16) /* sub-regions and memory windows */
#define UNIC_FEAT_FAST_REG	(1ull << 17)
#define UNIC_FEAT_INDIRECT	(1ull << 18)
#define UNIC_FEAT_PHYSICAL	(1ull << 19) /* residency PHYSICAL, TOKEN_F_PIECES */
#define UNIC_FEAT_BATCH		(1ull << 20) /* TOKEN_BATCH, lists in batches */

/* NIC writes, `magic` last; fixed from then on but for the fields below the
 * line.
 */
struct unic_info {
	unic_le32 magic;
	unic_le16 abi_major; /* another major: the driver refuses */
	unic_le16 abi_minor;
	unic_le64 features; /* UNIC_FEAT_* */
	unic_le32 tlb_entries;
	unic_le32 mrs;
	unic_le32 qps;
	unic_le32 cqs;
	unic_le32 tokens;
	unic_le32 procs;
	unic_le32 pds;
	unic_le32 waits;     /* REGISTER_WAIT requests that may be queued */
	unic_le32 max_frame; /* of the link, bytes */
	unic_le32 path_mtu;  /* largest payload per packet it allows */
	uint8_t mac[6];
	uint8_t link_up;
	uint8_t icrc_offload;
	uint8_t build_id[32]; /* text, zero-padded */
	unic_le32 nic_bytes;  /* sizeof(struct unic_nic) */
	unic_le32 rsvd0[3];
	/* ---- may change while running */
	unic_le32 boot_epoch;	/* +1 at each reset; starts random, never 0 */
	unic_le32 state;	/* enum unic_nic_state */
	unic_le32 reset_ack;	/* = reset_req when that reset is complete */
	unic_le32 heartbeat;	/* +1 at least every 100 ms while awake or
				   * woken by a doorbell */
	unic_le64 clock_ns;	/* NIC time at the last heartbeat */
	unic_le64 pair_nic_ns;	/* NIC time at which ... */
	unic_le64 pair_host_ns; /* ... the host's CLOCK_MONOTONIC was this */
	unic_le32 grace_us;	/* T */
	unic_le32 deliver_us;	/* H */
	unic_le32 reaper_us;	/* reaper period */
	unic_le32 drain_us;	/* drain bound; B = H + T + reaper + drain */
	unic_le32 ipv4;		/* our address, host order; 0: none yet */
	unic_le32 rsvd1[3];
};

/* NIC writes. One cache line per index. */
struct unic_nic_idx {
	unic_le32 cmd_head; /* commands taken */
	unic_le32 rsvd0[15];
	unic_le32 cpl_tail; /* completions written */
	unic_le32 rsvd1[15];
	unic_le32 evt_tail; /* events written */
	unic_le32 rsvd2[15];
	unic_le32 mad_tail; /* management datagrams written */
	unic_le32 rsvd3[15];
	unic_le32 asleep; /* not 0: ring vector 0 after a command */
	unic_le32 rsvd4[15];
	unic_le32 drop_tail; /* drop records written */
	unic_le32 fenced;    /* = unic_driver_page.fence: see there */
	unic_le32 rsvd5[14];
};

/* Driver writes. */
struct unic_driver_page {
	unic_le32 cmd_tail; /* commands written */
	unic_le32 rsvd0[15];
	unic_le32 cpl_head; /* completions consumed */
	unic_le32 rsvd1[15];
	unic_le32 evt_head; /* events consumed */
	unic_le32 rsvd2[15];
	unic_le32 mad_head; /* management datagrams consumed */
	unic_le32 rsvd3[15];
	/*
	 * Interrupt suppression: the NIC rings vector 0 after a record only
	 * while this is not 0. The driver sets it before it sleeps (then, full
	 * barrier, looks once more) and clears it when it polls.
	 */
	unic_le32 want_irq;
	unic_le32 rsvd4[15];
	/*
	 * A value that differs from unic_info.reset_ack asks for a reset: the
	 * NIC quiesces, forgets all objects, sets all indices of both pages to 0
	 * in its own copies (the driver zeroes its page before it asks), adds 1
	 * to boot_epoch and answers in reset_ack. A starting driver does this
	 * first.
	 */
	unic_le32 reset_req;
	/*
	 * Not 0: the NIC starts no DMA from its next look on, which is the first
	 * thing it does in each round and after each wait. When none is under way it
	 * forgets all objects, as by a reset, and answers with the same value in
	 * unic_nic_idx.fenced: from then on it touches no memory but the mailbox,
	 * until reset_req asks for a reset (the driver zeroes its page before).
	 */
	unic_le32 fence;
	unic_le32 rsvd5[14];
	unic_le32 drop_head; /* drop records consumed */
	unic_le32 rsvd6[15];
};

/* ------------------------------------------------------------- commands */

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

enum unic_mr_rights {
	UNIC_MR_LOCAL_WRITE = 1u << 0,
	UNIC_MR_REMOTE_READ = 1u << 1,
	UNIC_MR_REMOTE_WRITE = 1u << 2,
	UNIC_MR_MW_BIND = 1u << 3,
};
#define UNIC_MR_RIGHTS_ALL 0x0fu

enum unic_mr_class {
	UNIC_CLASS_RDMA = 0,	  /* notice, grace T, then removal */
	UNIC_CLASS_MESSAGING = 1, /* removal at once, substitution */
	UNIC_CLASS_CONTROL = 2,	  /* queues: never a victim, capped */
};

enum unic_residency {
	UNIC_RESIDENT = 0, /* all entries on the NIC, or the request waits */
	UNIC_DEMAND = 1,   /* none; a miss asks the driver (MISS, MR_FAULT) */
	UNIC_TABLE = 2,	   /* none; a miss reads the region's page table */
	UNIC_PHYSICAL = 3, /* none; an IOVA is the bus address */
};

/* flags of MR_REG */
#define UNIC_REG_WAIT	    (1u << 0) /* REGISTER_WAIT: queue when it does not fit */
#define UNIC_REG_LIST	    (1u << 1) /* the list page holds all page addresses */
#define UNIC_REG_ZERO_BASED (1u << 2) /* iova must be first_offset */
#define UNIC_REG_RESTORE    (1u << 3) /* with the STag of before a reset */
#define UNIC_REG_FLAGS_ALL  0x0fu

/*
 * MR_REG. Reserves n_pages TLB entries for a new region, or none at all.
 *
 * OK: the region exists. With REG_LIST (n_pages <= UNIC_LIST_MAX) it is ACTIVE;
 *     without it is LOADING until MR_FILL has brought every page.
 * PENDING (only with REG_WAIT): queued under `wait`; GRANTED or WAIT_ENDED
 *     follows as an event. A granted region is LOADING: the driver pins and
 *     fills it now, because a waiting request holds no pages.
 * TLB_FULL, MR_FULL, QUOTA, TOO_LARGE, WAIT_FULL, CTRL_CAP: nothing happened;
 *     the completion is a struct unic_cpl_usage that says why.
 *
 * With REG_RESTORE (never with REG_WAIT) the region gets the STag that it had
 * before a reset, whatever shares and quotas say: it had its entries then. STATE
 * when the index was used in this epoch, or a region was made otherwise since
 * the reset: a driver restores first. The STag does not come again when the
 * region has ended.
 *
 * Residency DEMAND and TABLE reserve nothing: the region is ACTIVE at once, has
 * up to UNIC_CACHED_PAGES pages, and its entries come and go. Class control,
 * REG_LIST and REG_WAIT do not go with them (INVALID). MR_FULL if the process
 * has half of its share of the region table in such regions, and in forms that
 * have no entries (all but FAST), already.
 *
 * Residency PHYSICAL: a range of bus addresses, iova the first of them, at most
 * 4 GiB - 1, bit 63 clear; ACTIVE at once, without an entry and never a victim. Its
 * PD must be a physical one (NO_PD), its class control, its rights none or
 * LOCAL_WRITE; page_shift, n_pages, flags and timeout_us are 0. Any other region
 * may lie in the same memory. Queues and work requests of the PD use it; of the
 * forms only an indirect region of the same PD is made of it, whose rights are none
 * or LOCAL_WRITE, too.
 */
struct unic_cmd_mr_reg {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;
	uint8_t rights;	    /* enum unic_mr_rights; remote write needs local */
	uint8_t mr_class;   /* enum unic_mr_class */
	uint8_t residency;  /* enum unic_residency */
	uint8_t page_shift; /* 12, 16 or 21; PHYSICAL: 0 */
	unic_le64 iova;	    /* of the first byte */
	unic_le64 length;   /* bytes, not 0; iova + length may not wrap */
	unic_le32 n_pages;  /* must follow from iova, length, page_shift */
	uint8_t key;	    /* consumer's low 8 bits of the STag */
	uint8_t importance; /* hint, 0..255, higher = keep */
	uint8_t flags;	    /* UNIC_REG_* */
	uint8_t rsvd0;
	unic_le32 timeout_us; /* REG_WAIT: give up after; 0 = never */
	unic_le32 user;	      /* the driver's own id, returned in events */
	unic_le32 stag;	      /* REG_RESTORE: all 32 bits; else 0 */
	unic_le32 table;      /* TABLE: where its page table begins, bytes from
			       * UNIC_BAR_TABLE_OFF, a multiple of 8 */
	unic_le32 rsvd[2];
};
/* A word of a page table: bus address of the page, or'ed with this; without it
 * the page does not exist. Read by the NIC at a miss, in one access. */
#define UNIC_TABLE_VALID  1ull
#define UNIC_CACHED_PAGES 65536u /* of a DEMAND or TABLE region, at most */

struct unic_cpl_mr_reg {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;  /* table index */
	unic_le32 gen; /* generation of this registration */
	unic_le32 stag;
	unic_le32 wait; /* PENDING: id for WAIT_CANCEL */
	unic_le32 rsvd[10];
};

/* Why a registration failed, and QUERY_USAGE's answer. */
struct unic_cpl_usage {
	struct unic_cmd_hdr hdr;
	unic_le32 table; /* enum unic_table that is full; 0 in a query */
	unic_le32 used;
	unic_le32 limit;
	unic_le32 holding;     /* of this process */
	unic_le32 fair_share;  /* of this process, now */
	unic_le32 waiters;     /* queued requests, all processes */
	unic_le32 borrowed;    /* of this process, above its fair share */
	unic_le16 top_proc[3]; /* largest holders; 0xffff: none */
	unic_le16 rsvd0;
	unic_le32 top_held[3];
	unic_le32 quota;
	unic_le32 bound_us; /* B */
};

enum unic_table {
	UNIC_TABLE_TLB = 1,
	UNIC_TABLE_MR = 2,
	UNIC_TABLE_TOKEN = 3,
	UNIC_TABLE_QP = 4,
	UNIC_TABLE_CQ = 5,
	UNIC_TABLE_PROC = 6,
	UNIC_TABLE_WAIT = 7,
	UNIC_TABLE_ELEMENT = 16,
};

/* MR_FILL. Pages [first, first+count) of a LOADING region from the list page;
 * bus addresses aligned to the page size. The last missing page makes it
 * ACTIVE. A page is filled once (STATE if again).
 */
struct unic_cmd_mr_fill {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 first;
	unic_le32 count; /* 1..UNIC_LIST_MAX */
	unic_le32 rsvd[10];
};

/*
 * MR_FAULT. The answer to a MISS, or pages of a DEMAND region brought ahead of
 * one: their bus addresses are in the list page. With `cannot` there are none:
 * operations that need one of these pages fail, for a while.
 *
 * OK: `done` of them, from the first on, are on the NIC and stay pinned until a
 *     drop record names them, the region is gone, or MR_INVALIDATE took them.
 * BUSY: likewise, but there was no room for the rest (entries are short, or the
 *     drop ring is full: consume it, then try again).
 * STALE: `seq` is older than the region's last MR_INVALIDATE; `done` is 0.
 * STATE: not a DEMAND region, or not accessible. BUS: an address is not aligned
 *     (done says which). Pages that are on the NIC already are left alone.
 */
struct unic_cmd_mr_fault {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 first;  /* page of the region */
	unic_le32 count;  /* 1..UNIC_LIST_MAX */
	unic_le32 seq;	  /* of the MISS; that of the last MR_INVALIDATE */
	unic_le32 cannot; /* 0 or 1 */
	unic_le32 rsvd[8];
};
struct unic_cpl_mr_pages {
	struct unic_cmd_hdr hdr;
	unic_le32 done; /* pages */
	unic_le32 seq;	/* of the region, now */
	unic_le32 rsvd[12];
};

/*
 * MR_INVALIDATE. Pages [first, first+count) of a DEMAND or TABLE region are not
 * on the NIC when it completes, and no MR_FAULT with an older sequence number
 * brings them. No drop records are written: `done` says how many there were.
 * BUSY: a DMA piece is under way through the region; nothing happened.
 *
 * MR_ADVISE. WILL_NEED: entries of a TABLE region are read ahead (at most 64);
 * of a DEMAND region a MISS is sent for those that are not there, as far as
 * there is room among the misses: no more than half of them are advised ones,
 * and what an operation waits for goes before. `done` says how many were. DONT_NEED:
 * its entries may be dropped first, and are, but for those in use; drop records
 * say which.
 */
struct unic_cmd_mr_pages {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 first;
	unic_le32 count;
	unic_le32 advice; /* MR_ADVISE: enum unic_advice; else 0 */
	unic_le32 rsvd[9];
};
enum unic_advice {
	UNIC_ADVISE_WILL_NEED = 1,
	UNIC_ADVISE_DONT_NEED = 2,
};

/*
 * A drop record: the NIC has given up the entry of this page, which belonged to
 * a DEMAND region, and does not touch the page any more: unpin it. The NIC
 * takes no MR_FAULT for which this ring would be too short, so that dropping
 * never waits for the host (INV-11).
 */
struct unic_drop {
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 page;
	unic_le32 user; /* as given at MR_REG */
};

/*
 * MR_DEREG. OK: gone, pages may be unpinned. PENDING: DMA or an operation
 * still uses it; EVICTED follows as an event when it is free. From the
 * completion on, new operations fail. Also frees the tombstone of an evicted
 * region. As an answer to a notice it is a RELEASE.
 */
struct unic_cmd_mr {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 rsvd[12];
};

/*
 * Forms: regions made of other regions (docs/DESIGN.md section 6.3). MR_ALLOC
 * gives one that is not valid yet: it has an STag, the elements it will need,
 * and, if fast, its TLB entries. It is made valid by MR_MAKE or a work request
 * (abi/unic_queue.h), not any more by MR_INVAL, LOCAL_INV or a SEND with
 * invalidate, and ends by MR_DEREG. It also ends, EVICTED, when a region does
 * that it is made of.
 */
enum unic_form_kind {
	UNIC_FORM_PLAIN = 0,	/* no form */
	UNIC_FORM_SUB = 1,	/* a range of a region, by MR_MAKE, once */
	UNIC_FORM_WINDOW1 = 2,	/* memory window type 1: bound by MR_MAKE alone,
				 * also anew; cannot be invalidated */
	UNIC_FORM_WINDOW2 = 3,	/* type 2 */
	UNIC_FORM_FAST = 4,	/* pages, in entries of its own */
	UNIC_FORM_INDIRECT = 5, /* a list of anything */
};

/* MR_ALLOC. Completion struct unic_cpl_mr_reg; refusals as MR_REG (MR_FULL as of
 * regions of residency DEMAND, but for FAST), and ELEMENT_FULL (struct
 * unic_cpl_usage). */
struct unic_cmd_mr_alloc {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;
	uint8_t kind;	    /* enum unic_form_kind, not PLAIN */
	uint8_t page_shift; /* FAST: 12, 16 or 21; else 0 */
	uint8_t key;	    /* low 8 bits of the STag */
	uint8_t importance;
	unic_le32 n; /* FAST: entries, 1..UNIC_FAST_PAGES; INDIRECT: elements,
		      * 1..UNIC_FORM_ELEMENTS; else 0 */
	unic_le32 user;
	unic_le32 rsvd[10];
};

/*
 * MR_MAKE. What a work request does, by command: the list is in the list page.
 * WINDOW1 and WINDOW2 with n = 0: unbind. Completion struct unic_cpl_mr_reg.
 * NO_MR, EVICTED (of the form or an element), NO_PD (an element is of another of
 * the same process; what others have is NO_MR), RIGHTS, BOUNDS, ALIGN, STATE
 * (valid already, or another kind), BUSY (a type 1 window in use; or the process
 * has named too many wrong STags and is held off for 100 ms), TOO_LARGE
 * (elements, pages, bytes): nothing happened.
 */
struct unic_cmd_mr_make {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le64 iova;	  /* of the first byte */
	unic_le32 n;	  /* elements in the list page */
	unic_le32 repeat; /* INDIRECT: 0 = once */
	uint8_t rights;
	uint8_t key;
	uint8_t strided; /* 1: n le32 strides follow the elements */
	uint8_t rsvd0[5];
	unic_le32 rsvd[6];
};

/* MR_INVAL: a struct unic_cmd_mr. BUSY: something uses it; it is closed to new
 * accesses all the same, ask again. STATE: not valid, or no such kind. */

/*
 * MR_REREG. Rights, PD, or range and pages of a region that is no form, as
 * ibv_rereg_mr(). OK: done; the STag stays the same. Any other status: nothing
 * happened, the old region is as it was; BUSY: an operation or a dependent uses
 * it. With RANGE, n_pages <= UNIC_LIST_MAX and the addresses are in the list
 * page.
 */
struct unic_cmd_mr_rereg {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 pd;	/* REREG_PD, else 0 */
	uint8_t what;	/* UNIC_REREG_* */
	uint8_t rights; /* REREG_RIGHTS, else 0 */
	uint8_t rsvd0[2];
	unic_le64 iova; /* REREG_RANGE, else 0, as the next two */
	unic_le64 length;
	unic_le32 n_pages;
	unic_le32 rsvd[5];
};
#define UNIC_REREG_RIGHTS (1u << 0)
#define UNIC_REREG_PD	  (1u << 1)
#define UNIC_REREG_RANGE  (1u << 2)
#define UNIC_REREG_ALL	  0x07u

/*
 * MR_BATCH, TOKEN_BATCH. Several commands in one: the list page has `count`
 * records of 64 bytes, each with its opcode; each is answered in its place as it
 * would be by itself (but that no epoch of it is looked at). What a record's
 * own list page would have lies behind the records, one after the other in their
 * order; INVALID if that would not end within the page.
 * MR_BATCH: struct unic_cmd_mr_reg (without REG_WAIT: INVALID),
 * unic_cmd_mr_alloc, and unic_cmd_mr (MR_DEREG).
 * TOKEN_BATCH: struct unic_cmd_token_alloc and unic_cmd_token_cancel.
 * OK: all were tried. The completion is struct unic_cpl_batch.
 */
struct unic_cmd_batch {
	struct unic_cmd_hdr hdr;
	unic_le32 count; /* 1..UNIC_BATCH_MAX */
	unic_le32 rsvd[13];
};
struct unic_cpl_batch {
	struct unic_cmd_hdr hdr;
	unic_le32 done; /* of them: OK or PENDING */
	unic_le32 rsvd[13];
};
#define UNIC_BATCH_MAX 64u

/* WAIT_CANCEL. OK: it will never be granted, no event follows. NO_WAIT: it was
 * granted or ended already, and its event says so.
 */
struct unic_cmd_wait_cancel {
	struct unic_cmd_hdr hdr;
	unic_le32 wait;
	unic_le32 rsvd[13];
};

/* NOTICE_ACK: the upcall is on the process's event ring; T starts now. */
struct unic_cmd_notice_ack {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 seq; /* of the notice */
	unic_le32 rsvd[11];
};
struct unic_cpl_notice {
	struct unic_cmd_hdr hdr;
	unic_le64 deadline_ns; /* NIC time */
	unic_le32 detail;      /* REFUSED: enum unic_refusal */
	unic_le32 rsvd[11];
};

enum unic_answer {
	UNIC_ANSWER_RELEASE = 1,
	UNIC_ANSWER_OFFER = 2,
	UNIC_ANSWER_EXTEND = 3,
};
enum unic_refusal {
	UNIC_REFUSED_NONE = 0,
	UNIC_REFUSED_SMALLER = 1, /* the offered region holds fewer entries */
	UNIC_REFUSED_NOT_YOURS = 2,
	UNIC_REFUSED_NOT_ACTIVE = 3,
	UNIC_REFUSED_SAME = 4,
	UNIC_REFUSED_WAITER = 5, /* a process below its share is waiting */
	UNIC_REFUSED_BUDGET = 6, /* extend budget of this notice used up */
	UNIC_REFUSED_CLASS = 7,	 /* control regions cannot be offered */
};

/* NOTICE_ANSWER. */
struct unic_cmd_notice_answer {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;
	unic_le32 gen;
	unic_le32 seq;
	unic_le32 answer;   /* enum unic_answer */
	unic_le32 offer_mr; /* OFFER: the region to take instead */
	unic_le32 offer_gen;
	unic_le32 extend_us; /* EXTEND: how much longer */
	unic_le32 rsvd[7];
};

/* TOKEN_ALLOC (S3): a payload buffer for one tagged message. */
struct unic_cmd_token_alloc {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;
	unic_le32 stag; /* region of the same PD, with LOCAL_WRITE */
	unic_le64 iova;
	unic_le32 length;      /* bytes, 1..UNIC_MSG_MAX */
	unic_le32 ttl_us;      /* 0 = until cancelled */
	unic_le32 sender_ipv4; /* 0 = anybody; else this address ... */
	unic_le32 sender_qpn;  /* ... and this QP number there, 0 = any */
	unic_le32 flags;       /* UNIC_TOKEN_F_* */
	unic_le32 user;	       /* the driver's own */
	unic_le32 pieces;      /* F_PIECES: how many; else 0 */
	unic_le32 rsvd[3];
};
/* Any number of messages, each to its own offset; ends otherwise only. */
#define UNIC_TOKEN_F_MULTI (1u << 0)
/* The buffer is not one range but the pieces that the list page has, in order: each
 * lies in the region `stag` of residency PHYSICAL, `iova` is 0, `length` their
 * sum. Not with MULTI. TOKEN_FULL, too, when 32 tokens have pieces. */
#define UNIC_TOKEN_F_PIECES    (1u << 1)
#define UNIC_TOKEN_F_FLAGS_ALL 0x03u
#define UNIC_TOKEN_PIECES      16u
struct unic_token_piece {
	unic_le64 bus;
	unic_le32 len; /* not 0 */
	unic_le32 rsvd;
};
struct unic_cpl_token {
	struct unic_cmd_hdr hdr;
	unic_le32 index;
	unic_le32 end; /* CANCEL: enum unic_token_end it had or got */
	unic_le64 key;
	unic_le32 placed; /* CANCEL: bytes placed, for USED and ABORTED */
	unic_le32 rsvd[9];
};

/* TOKEN_CANCEL. OK with `end`; BUSY while a message is arriving: TOKEN_END
 * follows. NO_TOKEN if index and key name no token the NIC remembers.
 */
struct unic_cmd_token_cancel {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;
	unic_le32 index;
	unic_le64 key;
	unic_le32 rsvd[10];
};

/* CQ_CREATE. The ring is a range of a control region. */
struct unic_cmd_cq_create {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;
	unic_le32 stag;	    /* class control, LOCAL_WRITE */
	unic_le64 iova;	    /* 64-aligned */
	unic_le32 entries;  /* a power of two, 2..4096 */
	unic_le32 db_index; /* its row in the doorbell page */
	unic_le32 rsvd[8];
};
struct unic_cpl_obj {
	struct unic_cmd_hdr hdr;
	unic_le32 id; /* CQ: table index; QP: QP number */
	unic_le32 rsvd[13];
};
/* CQ_DESTROY (BUSY while a QP uses it), QP_DESTROY (OK or PENDING: QP_GONE
 * follows when its last DMA is done). Of a QP that is gone no completion comes
 * any more, so nothing is written to a CQ that is destroyed. */
struct unic_cmd_obj {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;
	unic_le32 id;
	unic_le32 rsvd[12];
};

/* QP_CREATE. State RESET afterwards. Rings are ranges of control regions. */
struct unic_cmd_qp_create {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;
	unic_le32 stag; /* class control */
	unic_le32 send_cq;
	unic_le32 recv_cq;
	unic_le64 sq_iova;  /* 64-aligned */
	unic_le64 rq_iova;  /* 64-aligned */
	unic_le16 sq_slots; /* a power of two, 2..1024 */
	unic_le16 rq_slots; /* a power of two, 2..1024 */
	unic_le32 rq_class; /* buffer class: a receive substituted for an
			       * evicted one must be at least this long */
	unic_le32 db_index;
	uint8_t type; /* enum unic_qp_type */
	uint8_t miss; /* enum unic_qp_miss; RC: 0 */
	uint8_t rsvd0[2];
	unic_le32 rsvd[2];
};

enum unic_qp_type {
	UNIC_QPT_RC = 0, /* reliable connection */
	UNIC_QPT_UC = 1, /* unreliable connection: SEND, WRITE; lost is lost */
	UNIC_QPT_UD = 2, /* unreliable datagram: SEND of a packet, to anybody */
};

/* What becomes of an incoming packet of UC or UD that meets a page of a DEMAND
 * or TABLE region which is not on the NIC. It is asked for in each case. */
enum unic_qp_miss {
	UNIC_QPM_DROP = 0,	 /* its message is lost */
	UNIC_QPM_SUBSTITUTE = 1, /* a message that begins with it gets one of
				  * the next receives, whose pages are there and
				  * which is as long as rq_class; else as DROP */
	UNIC_QPM_BOUNCE = 2, /* it is kept until the page is there, one for a
			      * queue pair and few for all; else as DROP */
};

enum unic_qp_state {
	UNIC_QPS_RESET = 0,
	UNIC_QPS_INIT = 1,
	UNIC_QPS_RTR = 2,
	UNIC_QPS_RTS = 3,
	UNIC_QPS_SQE = 4,
	UNIC_QPS_ERR = 5,
};

/* QP_MODIFY. The attributes a transition needs (IBTA 11.2.5.2) are taken from
 * the record; others must be 0.
 * RESET->INIT: nothing. INIT->RTR: from dest_qpn on the first line group.
 * RTR->RTS: second group. any->ERR, any->RESET: nothing.
 * UC: rnr_timer, max_dest_rd, vendor, and in RTS all but sq_psn are 0. UD: so is
 * all of RTR but mtu_shift, which bounds its messages; INIT wants qkey.
 * INIT->RTR is BUSY for up to 100 ms while that peer names wrong STags or
 * token keys, more than 16 in that time; 6.25 ms more for each further one.
 */
struct unic_cmd_qp_modify {
	struct unic_cmd_hdr hdr;
	unic_le32 proc;
	unic_le32 qpn;
	uint8_t state;	     /* enum unic_qp_state to enter */
	uint8_t mtu_shift;   /* RTR: 8..12 = 256..4096 bytes */
	uint8_t rnr_timer;   /* RTR: code of our RNR NAKs, IBTA table 45 */
	uint8_t max_dest_rd; /* RTR: READs accepted at a time, 0..4 */
	uint8_t max_rd;	     /* RTS: READs outstanding, 0..4 */
	uint8_t timeout;     /* RTS: 4.096 us * 2^timeout, 1..31 */
	uint8_t retry_cnt;   /* RTS: 0..7 */
	uint8_t rnr_retry;   /* RTS: 0..7, 7 = for ever */
	unic_le32 dest_qpn;  /* RTR */
	unic_le32 rq_psn;    /* RTR: first PSN expected */
	unic_le32 dest_ipv4; /* RTR, host order */
	uint8_t dest_mac[6]; /* RTR */
	uint8_t rights;	     /* INIT: remote rights this QP grants */
	uint8_t vendor;	     /* RTR: 1 = the peer speaks our vendor opcodes */
	unic_le32 sq_psn;    /* RTS: first PSN sent */
	unic_le32 qkey;	     /* INIT, UD: Q_Key of datagrams to it; bit 31: 0 */
	unic_le32 rsvd[3];
};

/* ARP_RESOLVE. OK with the address when known, else PENDING, and ARP_RESULT
 * follows within 1 s. */
struct unic_cmd_arp {
	struct unic_cmd_hdr hdr;
	unic_le32 ipv4;
	unic_le32 user;
	unic_le32 rsvd[12];
};
struct unic_cpl_arp {
	struct unic_cmd_hdr hdr;
	uint8_t mac[6];
	uint8_t rsvd0[2];
	unic_le32 rsvd[12];
};

/* MAD_SEND. A 256-byte datagram, in the list page, to QP 1 of a peer. */
struct unic_cmd_mad_send {
	struct unic_cmd_hdr hdr;
	unic_le32 ipv4;
	uint8_t mac[6];
	uint8_t rsvd0[2];
	unic_le32 rsvd[11];
};

/* A record of the management ring. */
struct unic_mad_rx {
	unic_le32 ipv4; /* sender */
	uint8_t mac[6];
	uint8_t rsvd0[2];
	unic_le32 qpn; /* sender's */
	uint8_t data[256];
	uint8_t rsvd1[240];
};

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

/* --------------------------------------------------------------- events */

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

UNIC_ABI_AT(unic_info, features, 8);
UNIC_ABI_AT(unic_info, mac, 56);
UNIC_ABI_AT(unic_info, build_id, 64);
UNIC_ABI_AT(unic_info, boot_epoch, 112);
UNIC_ABI_AT(unic_info, clock_ns, 128);
UNIC_ABI_AT(unic_info, grace_us, 152);
UNIC_ABI_SIZE(unic_info, 184);
UNIC_ABI_AT(unic_nic_idx, asleep, 256);
UNIC_ABI_AT(unic_nic_idx, drop_tail, 320);
UNIC_ABI_AT(unic_nic_idx, fenced, 324);
UNIC_ABI_SIZE(unic_nic_idx, 384);
UNIC_ABI_AT(unic_driver_page, want_irq, 256);
UNIC_ABI_AT(unic_driver_page, reset_req, 320);
UNIC_ABI_AT(unic_driver_page, drop_head, 384);
UNIC_ABI_AT(unic_driver_page, fence, 324);
UNIC_ABI_SIZE(unic_driver_page, 448);
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
UNIC_ABI_AT(unic_cmd_mr_reg, iova, 16);
UNIC_ABI_AT(unic_cmd_mr_reg, n_pages, 32);
UNIC_ABI_AT(unic_cmd_mr_reg, user, 44);
UNIC_ABI_AT(unic_cmd_mr_reg, stag, 48);
UNIC_ABI_AT(unic_cmd_mr_reg, table, 52);
UNIC_ABI_SIZE(unic_cmd_mr_reg, 64);
UNIC_ABI_SIZE(unic_cpl_mr_reg, 64);
UNIC_ABI_AT(unic_cpl_usage, top_proc, 36);
UNIC_ABI_AT(unic_cpl_usage, top_held, 44);
UNIC_ABI_SIZE(unic_cpl_usage, 64);
UNIC_ABI_SIZE(unic_cmd_mr_fill, 64);
UNIC_ABI_SIZE(unic_cmd_mr_fault, 64);
UNIC_ABI_SIZE(unic_cpl_mr_pages, 64);
UNIC_ABI_SIZE(unic_cmd_mr_pages, 64);
UNIC_ABI_SIZE(unic_drop, 16);
UNIC_ABI_SIZE(unic_cmd_mr, 64);
UNIC_ABI_SIZE(unic_cmd_mr_alloc, 64);
UNIC_ABI_AT(unic_cmd_mr_make, iova, 16);
UNIC_ABI_AT(unic_cmd_mr_make, rights, 32);
UNIC_ABI_SIZE(unic_cmd_mr_make, 64);
UNIC_ABI_AT(unic_cmd_mr_rereg, iova, 24);
UNIC_ABI_SIZE(unic_cmd_mr_rereg, 64);
UNIC_ABI_SIZE(unic_cmd_batch, 64);
UNIC_ABI_SIZE(unic_cpl_batch, 64);
UNIC_ABI_SIZE(unic_cmd_wait_cancel, 64);
UNIC_ABI_SIZE(unic_cmd_notice_ack, 64);
UNIC_ABI_SIZE(unic_cpl_notice, 64);
UNIC_ABI_SIZE(unic_cmd_notice_answer, 64);
UNIC_ABI_AT(unic_cmd_token_alloc, iova, 16);
UNIC_ABI_SIZE(unic_cmd_token_alloc, 64);
UNIC_ABI_AT(unic_cpl_token, key, 16);
UNIC_ABI_SIZE(unic_cpl_token, 64);
UNIC_ABI_AT(unic_cmd_token_cancel, key, 16);
UNIC_ABI_SIZE(unic_cmd_token_cancel, 64);
UNIC_ABI_AT(unic_cmd_cq_create, iova, 16);
UNIC_ABI_SIZE(unic_cmd_cq_create, 64);
UNIC_ABI_SIZE(unic_cpl_obj, 64);
UNIC_ABI_SIZE(unic_cmd_obj, 64);
UNIC_ABI_AT(unic_cmd_qp_create, sq_iova, 24);
UNIC_ABI_AT(unic_cmd_qp_create, rq_class, 44);
UNIC_ABI_AT(unic_cmd_qp_create, type, 52);
UNIC_ABI_SIZE(unic_cmd_qp_create, 64);
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
UNIC_ABI_SIZE(unic_evt_hdr, 8);
UNIC_ABI_AT(unic_evt_mr, time_ns, 48);
UNIC_ABI_SIZE(unic_evt_mr, 64);
UNIC_ABI_SIZE(unic_evt_wait, 64);
UNIC_ABI_SIZE(unic_evt_obj, 64);
UNIC_ABI_SIZE(unic_evt_token, 64);
UNIC_ABI_SIZE(unic_evt_miss, 64);
UNIC_ABI_SIZE(unic_evt_arp, 64);

#endif /* UNIC_MBOX_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ctl_admin.h - requests of unicctl: what the NIC and the driver count and
 * hold, and what an administrator may change.
 */
#ifndef UNIC_ABI_CTL_ADMIN_H
#define UNIC_ABI_CTL_ADMIN_H

#include "unic_ctl_msg.h"

/* INFO. Tail: struct unic_info, as the NIC shows it. */
struct unic_ctl_info_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 driver_ns;  /* CLOCK_MONOTONIC when the driver started */
	unic_le32 driver_pid; /* process of unicd; in a kernel 0 */
	unic_le32 slots;      /* process slots that there are */
	unic_le32 slots_used; /* of them not free; UNIC_CTL_P_HELD counts,
			       * too */
	unic_le32 resets;     /* of the NIC by this driver */
	unic_le32 nic_there;  /* enum unic_ctl_nic */
	unic_le32 host_id;    /* as in the reply of HELLO */
	uint8_t provider[16]; /* "nic" or "loop" */
};
enum unic_ctl_nic {
	UNIC_CTL_NIC_ABSENT = 0,   /* no device, or no way to it */
	UNIC_CTL_NIC_STARTING = 1, /* being reset or set up; requests: NO_NIC */
	UNIC_CTL_NIC_READY = 2,	   /* serves requests */
	UNIC_CTL_NIC_DEAD = 3,	   /* does not answer, or crashed: see CRASH */
};

/*
 * NICS. The NICs of this driver, those that are gone left out. Tail: one struct
 * unic_ctl_nic_row each, by number. A driver that answers BAD_OPCODE has one NIC and
 * knows no SELECT either.
 */
#define UNIC_CTL_NICS_MAX  16u	     /* of one driver */
#define UNIC_CTL_FEAT_NICS (1u << 0) /* SELECT */
struct unic_ctl_nics_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 nics; /* rows in the tail */
	unic_le32
		mine; /* number of the NIC that this connection is with; before
			     * SELECT, that it would be with */
	unic_le32 features; /* of the driver: UNIC_CTL_FEAT_* */
	unic_le32 rsvd[9];
};
struct unic_ctl_nic_row {
	unic_le32 number; /* as long as the driver lives */
	unic_le32 state;  /* enum unic_ctl_nic */
	unic_le32 ipv4;	  /* its address, host order */
	unic_le32 rsvd;
	uint8_t name[16]; /* text, zero-padded; does not begin with a digit */
};

/*
 * SELECT. A connection is with one NIC for its life: all its requests are for that NIC,
 * and all its objects are there. Which one is decided by its first request that is not
 * NICS: SELECT says it, any other request means the one with the lowest number. SELECT
 * of the same NIC again: OK. BUSY: the connection is with another one. NO_SUCH_NIC: then
 * it may try again. INVALID: name and number.
 */
struct unic_ctl_select {
	struct unic_ctl_hdr hdr;
	unic_le32 number; /* if name is empty; else 0 */
	unic_le32 rsvd0;
	uint8_t name[16]; /* zero-padded; empty: by number */
	unic_le32 rsvd[6];
};
struct unic_ctl_select_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 number; /* of the NIC */
	unic_le32 rsvd0;
	uint8_t name[16]; /* of the NIC, zero-padded */
	unic_le32 rsvd[6];
};

/* STATS. Tail: unic_le64 per counter, in the order of UNIC_COUNTERS. */
struct unic_ctl_stats_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 time_ns;     /* NIC time of the copy */
	unic_le32 counters;    /* words in the tail; 0 without a NIC */
	unic_le32 commands;    /* driver: commands sent to the NIC */
	unic_le32 timeouts;    /* driver: commands not answered */
	unic_le32 bad_records; /* driver: records of the NIC refused */
	unic_le32 upcalls;     /* driver: upcalls written, all processes */
	unic_le32 refused;     /* driver: requests of processes refused */
	unic_le32 audits;      /* driver: promises the provider did not keep */
	unic_le32 rsvd[3];
};

/* DUMP. Tail: `rows` records of UNIC_ROW_BYTES, struct unic_row_*. For wait
 * and token rows see there. */
struct unic_ctl_dump {
	struct unic_ctl_hdr hdr;
	unic_le32 table;    /* enum unic_table */
	unic_le32 first;    /* row of the table to begin with, from 0;
			     * behind its end: INVALID. Of a snapshot: 0, or
			     * `next` of the reply before */
	unic_le32 snapshot; /* 0: rows as they are now. UNIC_SNAPSHOT_TAKE: a
			     * new one, which the driver reads and keeps;
			     * BUSY: another is being read. Else the number of
			     * one; EVICTED: the driver does not keep it any
			     * more. UNSUPPORTED: a NIC without
			     * UNIC_FEAT_SNAPSHOT */
	unic_le32 rsvd[9];
};
struct unic_ctl_dump_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 rows;	    /* in the tail */
	unic_le32 next;	    /* first of the next request; 0 = no more */
	unic_le32 snapshot; /* that the rows are of; 0: of none */
	unic_le32 rsvd0;
	unic_le64 time_ns; /* NIC time of the snapshot; 0: of none */
	unic_le32 rsvd[6];
};

/* PS. Tail of PROCS: one struct unic_ctl_proc per process slot in use; the NIC's view of
 * the same slot is a struct unic_row_proc of DUMP. Of GRACES: one struct unic_ctl_grace
 * per process with open notices. A driver that answers GRACES with INVALID does not say
 * it. */
#define UNIC_CTL_PS_PROCS  0u /* rows: struct unic_ctl_proc */
#define UNIC_CTL_PS_GRACES 1u /* rows: struct unic_ctl_grace */
struct unic_ctl_ps {
	struct unic_ctl_hdr hdr;
	unic_le32 what; /* UNIC_CTL_PS_*; others: INVALID */
	unic_le32 rsvd[11];
};
struct unic_ctl_ps_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 procs; /* records in the tail */
	unic_le32 rsvd[11];
};
struct unic_ctl_grace {
	unic_le32 proc;	   /* slot */
	unic_le32 notices; /* that it was told of, and that are open */
	unic_le32 left_us; /* until the grace of the first of them ends; 0:
			    * it is over */
	unic_le32 rsvd;
};
struct unic_ctl_proc {
	unic_le32 proc;	     /* slot */
	unic_le32 pid;	     /* that said HELLO; 0: it has ended */
	unic_le32 uid;	     /* its user */
	unic_le32 state;     /* enum unic_ctl_proc_state */
	uint8_t name[16];    /* of HELLO; the last byte is 0 */
	unic_le32 frames;    /* of 4 KiB, allocated */
	unic_le32 pinned;    /* of them, under at least one region */
	unic_le32 regions;   /* forms, those that wait and those
			      * evicted but not forgotten, too */
	unic_le32 waits;     /* REGISTER_WAITs open */
	unic_le32 upcalls;   /* written */
	unic_le32 notices;   /* of them: notices */
	unic_le32 evictions; /* of them: EVICTED */
	unic_le32 weight;    /* share of entries, 1..65535 */
	unic_le32 quota;     /* entries at most; 0: no limit */
	unic_le32 policy;    /* enum unic_policy */
	unic_le32 requests;  /* answered since HELLO */
	unic_le32 refused;   /* requests not answered OK or PENDING */
	/* notices, from the NIC's decision to the upcall, microseconds */
	unic_le32 deliver_mean_us; /* of all of them since HELLO; 0: none */
	unic_le32 deliver_max_us;  /* the longest */
	/* from the upcall to the first answer of the process */
	unic_le32 answers;	  /* notices answered since HELLO */
	unic_le32 answer_mean_us; /* of them; 0: none */
	unic_le32 answer_max_us;  /* the longest */
	unic_le32 deadlines; /* regions it let go to the end of their grace */
};
enum unic_ctl_proc_state {
	UNIC_CTL_P_ATTACHING = 1, /* said HELLO; the NIC has not answered yet */
	UNIC_CTL_P_LIVE = 2,	  /* has its slot */
	UNIC_CTL_P_DETACHING = 3, /* left; the NIC still has objects of it */
	UNIC_CTL_P_HELD = 4,	  /* left, but its memory may still be mapped */
};

/* TRACE. Events from number `from` on. Tail: struct unic_trace_rec; `first` is
 * the number of the first one (later than `from` when events were
 * overwritten). */
struct unic_ctl_trace {
	struct unic_ctl_hdr hdr;
	unic_le32 from; /* number of the first event wanted; they
			 * count from 0 when the NIC starts, and
			 * go on over resets */
	unic_le32 rsvd[11];
};
struct unic_ctl_trace_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 first;   /* number of the first one in the tail */
	unic_le32 records; /* in the tail; 0: none from there on yet */
	unic_le32 next;	   /* what to ask for next */
	unic_le32 rsvd0;
	unic_le64 pair_nic_ns;	/* NIC time at which ... */
	unic_le64 pair_host_ns; /* ... CLOCK_MONOTONIC was this */
	unic_le32 rsvd1[4];
};

/* USES. Tail: struct unic_use_row of regions [first, first + count) of the NIC's
 * table, as the NIC last showed them; zeros for those of others, unless it is root
 * or the user the driver runs as who asks. UNSUPPORTED: it shows none. */
struct unic_ctl_uses {
	struct unic_ctl_hdr hdr;
	unic_le32 first; /* index in the table, from 0; behind its
			  * end: no rows */
	unic_le32 count; /* 1..UNIC_CTL_USES_MAX */
	unic_le32 rsvd[10];
};
#define UNIC_CTL_USES_MAX 128u /* rows of a reply; more: INVALID */
struct unic_ctl_uses_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 time_ns; /* NIC time, not later than now */
	unic_le32 rows;	   /* fewer at the end of the table */
	unic_le32 mrs;	   /* of the table */
	unic_le32 rsvd[8];
};

/* CRASH. Tail: struct unic_crash. NONE: there is no crash record. */

/* FAULT: enum unic_fault. TRACE_MASK: arg = mask of UNIC_TG_*. */
struct unic_ctl_fault {
	struct unic_ctl_hdr hdr;
	unic_le32 fault; /* FAULT: enum unic_fault; TRACE_MASK: 0;
			  * else INVALID */
	unic_le32 arg;	 /* FAULT: frames or interrupts; TRACE_MASK:
			  * the mask, 0: record nothing */
	unic_le32 rsvd[10];
};

/* PARAMS. Fields as in struct unic_cmd_set_params. */
struct unic_ctl_params {
	struct unic_ctl_hdr hdr;
	unic_le32 grace_us;	/* T; 1..10^7, else INVALID; 0, here and
				 * below: as it is; but with
				 * UNIC_PARAM_GRACE: no grace */
	unic_le32 deliver_us;	/* H; 1..10^7 */
	unic_le32 reaper_us;	/* 100..10^6 */
	unic_le32 low_entries;	/* entries free or coming, below which the
				 * reaper begins; 0 without
				 * UNIC_PARAM_WATERMARKS, else INVALID */
	unic_le32 high_entries; /* and at which it ends: low..tlb_entries */
	unic_le32 residence_us; /* minimum residence, ..10^7 */
	unic_le32 extend_us;	/* EXTEND of a notice in all, ..10^7 */
	unic_le32 flags;	/* UNIC_PARAM_*; USES_REPORTED and
				 * USES_COUNTED together: INVALID */
	unic_le32 idle_us;	/* 1000..10^9: upcalls IDLE ask for regions
				 * that were not used for so long; 0 with
				 * UNIC_PARAM_IDLE: for none. INVALID: a NIC
				 * without UNIC_FEAT_IDLE */
	unic_le32 pain_pct;	/* ..400: per cent that the pain of a region
				 * counts; 0 with UNIC_PARAM_PAIN: nothing.
				 * INVALID: a NIC without UNIC_FEAT_PAIN */
	unic_le32 prefetch;	/* entries that a miss of a TABLE region keeps
				 * as long as there are free ones, 1..8.
				 * INVALID: a NIC without UNIC_FEAT_HOST_TABLE */
	unic_le32 rsvd;
};

/* POLICY. Of the process in slot `proc`. */
struct unic_ctl_policy {
	struct unic_ctl_hdr hdr;
	unic_le32 proc;	  /* none that is live: NO_PROC */
	unic_le32 weight; /* 1..65535, else INVALID; 0: as it is */
	unic_le32 quota;  /* with UNIC_CTL_POLICY_QUOTA: entries at
			   * most, 0 = no limit; more than the NIC
			   * has: INVALID */
	unic_le32 policy; /* with UNIC_CTL_POLICY_POLICY: enum unic_policy */
	unic_le32 flags;  /* UNIC_CTL_POLICY_* */
	unic_le32 rsvd[7];
};
#define UNIC_CTL_POLICY_QUOTA	  (1u << 0) /* `quota` counts; else it stays */
#define UNIC_CTL_POLICY_POLICY	  (1u << 1) /* `policy` counts; else it stays */
#define UNIC_CTL_POLICY_FLAGS_ALL 0x03u	    /* others: INVALID */

/* RATE: the transmit limit of the process in slot `id`, set or told. OWN_RATE: of the
 * process that asks, which can only lower it (else QUOTA), or of its queue pair `id`,
 * which it can change as it likes: a queue pair is within both limits. UNSUPPORTED: a
 * NIC without UNIC_FEAT_RATES. A limit of a process outlives a reset of the NIC. */
struct unic_ctl_rate {
	struct unic_ctl_hdr hdr;
	unic_le64 rate;	 /* as in struct unic_cmd_rate, as are the others */
	unic_le32 burst; /* bytes */
	unic_le32 id;	 /* RATE: slot; OWN_RATE: of a queue pair, or 0 */
	unic_le32 flags; /* UNIC_RATE_SET, or 0: tell; others: INVALID */
	unic_le32 rsvd[7];
};
struct unic_ctl_rate_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 rate;	 /* bytes in a second; 0: no limit */
	unic_le32 burst; /* bytes */
	unic_le32 held;	 /* times that a queue pair waited for it */
	unic_le32 rsvd[8];
};

/*
 * LIMITS_OF. What a process may have the driver do in a second, told, or set first. Who
 * did nothing for a tenth of a second may do at once what fits that time. Beyond that:
 * misses are answered later, but a NIC waits H for the answer; registrations are
 * TOO_FAST (MR_REG, MR_ALLOC, MR_MAKE, MR_REREG, and a BATCH, in which each MR_REG and
 * MR_ALLOC counts); upcalls are written at once, and the process is woken later, once for
 * all of them, but at once for NOTICE, RESET and INVALIDATE. The driver's own have no
 * limit. A limit of one process ends with it, or with the driver.
 */
enum unic_ctl_limit {
	UNIC_CTL_LIMIT_FAULTS = 0,	  /* answers to misses */
	UNIC_CTL_LIMIT_REGISTRATIONS = 1, /* registrations, as above */
	UNIC_CTL_LIMIT_UPCALLS = 2,	  /* times that it is woken for them */
};
#define UNIC_CTL_LIMITS	    3u		/* kinds of limits */
#define UNIC_CTL_LIMITS_ALL 0xffffffffu /* `proc`: all there are and will be */
#define UNIC_CTL_LIMIT_MAX  1000000u	/* in a second */
struct unic_ctl_limits {
	struct unic_ctl_hdr hdr;
	unic_le32 proc;	    /* slot; none that is live: NO_PROC */
	unic_le32 flags;    /* bit n: limit n is set; others: INVALID */
	unic_le32 limit[3]; /* by enum unic_ctl_limit, in a second, at most
			     * LIMIT_MAX; 0: none. Without its bit 0. Else
			     * INVALID */
	unic_le32 rsvd[7];
};
struct unic_ctl_limits_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 limit[3]; /* as they are now; of LIMITS_ALL: those of
			     * processes to come */
	unic_le32 over[3];  /* times that there was more, since HELLO; of
			     * LIMITS_ALL: 0 */
	unic_le32 rsvd[6];
};
/* A registration that is TOO_FAST did nothing. */
struct unic_ctl_too_fast_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 retry_us; /* ask again after so many microseconds */
	unic_le32 rsvd[11];
};

UNIC_ABI_SIZE(unic_ctl_limits, 64);
UNIC_ABI_SIZE(unic_ctl_limits_reply, 64);
UNIC_ABI_SIZE(unic_ctl_too_fast_reply, 64);
UNIC_ABI_AT(unic_ctl_rate, rate, 16);
UNIC_ABI_SIZE(unic_ctl_rate, 64);
UNIC_ABI_SIZE(unic_ctl_rate_reply, 64);
UNIC_ABI_SIZE(unic_ctl_uses, 64);
UNIC_ABI_SIZE(unic_ctl_uses_reply, 64);
UNIC_ABI_AT(unic_ctl_info_reply, provider, 48);
UNIC_ABI_SIZE(unic_ctl_info_reply, 64);
UNIC_ABI_SIZE(unic_ctl_nics_reply, 64);
UNIC_ABI_AT(unic_ctl_nic_row, name, 16);
UNIC_ABI_SIZE(unic_ctl_nic_row, 32);
UNIC_ABI_AT(unic_ctl_select, name, 24);
UNIC_ABI_SIZE(unic_ctl_select, 64);
UNIC_ABI_AT(unic_ctl_select_reply, name, 24);
UNIC_ABI_SIZE(unic_ctl_select_reply, 64);
UNIC_ABI_SIZE(unic_ctl_stats_reply, 64);
UNIC_ABI_SIZE(unic_ctl_dump, 64);
UNIC_ABI_SIZE(unic_ctl_dump_reply, 64);
UNIC_ABI_SIZE(unic_ctl_ps, 64);
UNIC_ABI_SIZE(unic_ctl_ps_reply, 64);
UNIC_ABI_SIZE(unic_ctl_grace, 16);
UNIC_ABI_AT(unic_ctl_proc, frames, 32);
UNIC_ABI_SIZE(unic_ctl_proc, 104);
UNIC_ABI_SIZE(unic_ctl_trace, 64);
UNIC_ABI_AT(unic_ctl_trace_reply, pair_nic_ns, 32);
UNIC_ABI_SIZE(unic_ctl_trace_reply, 64);
UNIC_ABI_SIZE(unic_ctl_fault, 64);
UNIC_ABI_SIZE(unic_ctl_params, 64);
UNIC_ABI_SIZE(unic_ctl_policy, 64);

#endif /* UNIC_ABI_CTL_ADMIN_H */

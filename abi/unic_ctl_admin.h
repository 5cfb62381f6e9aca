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
	unic_le64 driver_ns; /* CLOCK_MONOTONIC when the driver started */
	unic_le32 driver_pid;
	unic_le32 slots;
	unic_le32 slots_used;
	unic_le32 resets;    /* of the NIC by this driver */
	unic_le32 nic_there; /* enum unic_ctl_nic */
	unic_le32 host_id;
	uint8_t provider[16]; /* "nic" or "loop" */
};
enum unic_ctl_nic {
	UNIC_CTL_NIC_ABSENT = 0,
	UNIC_CTL_NIC_STARTING = 1,
	UNIC_CTL_NIC_READY = 2,
	UNIC_CTL_NIC_DEAD = 3, /* does not answer, or crashed: see CRASH */
};

/* STATS. Tail: unic_le64 per counter, in the order of UNIC_COUNTERS. */
struct unic_ctl_stats_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 time_ns; /* NIC time of the copy */
	unic_le32 counters;
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
	unic_le32 table; /* enum unic_table */
	unic_le32 first;
	unic_le32 rsvd[10];
};
struct unic_ctl_dump_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 rows;
	unic_le32 next; /* first of the next request; 0 = no more */
	unic_le32 rsvd[10];
};

/* PS. Tail: one struct unic_ctl_proc per process slot in use; the NIC's view of
 * the same slot is a struct unic_row_proc of DUMP. */
struct unic_ctl_ps_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 procs;
	unic_le32 rsvd[11];
};
struct unic_ctl_proc {
	unic_le32 proc; /* slot */
	unic_le32 pid;
	unic_le32 uid;
	unic_le32 state; /* enum unic_ctl_proc_state */
	uint8_t name[16];
	unic_le32 frames;
	unic_le32 pinned;
	unic_le32 regions;
	unic_le32 waits;     /* REGISTER_WAITs open */
	unic_le32 upcalls;   /* written */
	unic_le32 notices;   /* of them: notices */
	unic_le32 evictions; /* of them: EVICTED */
	unic_le32 weight;
	unic_le32 quota;
	unic_le32 policy;
	unic_le32 requests;
	unic_le32 refused; /* requests not answered OK or PENDING */
	/* notices, from the NIC's decision to the upcall, microseconds */
	unic_le32 deliver_mean_us;
	unic_le32 deliver_max_us;
	/* from the upcall to the first answer of the process */
	unic_le32 answers;
	unic_le32 answer_mean_us;
	unic_le32 answer_max_us;
	unic_le32 deadlines; /* regions it let go to the end of their grace */
};
enum unic_ctl_proc_state {
	UNIC_CTL_P_ATTACHING = 1,
	UNIC_CTL_P_LIVE = 2,
	UNIC_CTL_P_DETACHING = 3,
	UNIC_CTL_P_HELD = 4, /* left, but its memory may still be mapped */
};

/* TRACE. Events from number `from` on. Tail: struct unic_trace_rec; `first` is
 * the number of the first one (later than `from` when events were
 * overwritten). */
struct unic_ctl_trace {
	struct unic_ctl_hdr hdr;
	unic_le32 from;
	unic_le32 rsvd[11];
};
struct unic_ctl_trace_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 first;
	unic_le32 records;
	unic_le32 next; /* what to ask for next */
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
	unic_le32 first;
	unic_le32 count; /* 1..UNIC_CTL_USES_MAX */
	unic_le32 rsvd[10];
};
#define UNIC_CTL_USES_MAX 128u
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
	unic_le32 fault;
	unic_le32 arg;
	unic_le32 rsvd[10];
};

/* PARAMS. Fields as in struct unic_cmd_set_params. */
struct unic_ctl_params {
	struct unic_ctl_hdr hdr;
	unic_le32 grace_us;
	unic_le32 deliver_us;
	unic_le32 reaper_us;
	unic_le32 low_entries;
	unic_le32 high_entries;
	unic_le32 residence_us;
	unic_le32 extend_us;
	unic_le32 flags;
	unic_le32 rsvd[4];
};

/* POLICY. Of the process in slot `proc`. */
struct unic_ctl_policy {
	struct unic_ctl_hdr hdr;
	unic_le32 proc;
	unic_le32 weight; /* 0: as it is */
	unic_le32 quota;  /* with UNIC_CTL_POLICY_QUOTA */
	unic_le32 policy; /* with UNIC_CTL_POLICY_POLICY: enum unic_policy */
	unic_le32 flags;
	unic_le32 rsvd[7];
};
#define UNIC_CTL_POLICY_QUOTA	  (1u << 0)
#define UNIC_CTL_POLICY_POLICY	  (1u << 1)
#define UNIC_CTL_POLICY_FLAGS_ALL 0x03u

UNIC_ABI_SIZE(unic_ctl_uses, 64);
UNIC_ABI_SIZE(unic_ctl_uses_reply, 64);
UNIC_ABI_AT(unic_ctl_info_reply, provider, 48);
UNIC_ABI_SIZE(unic_ctl_info_reply, 64);
UNIC_ABI_SIZE(unic_ctl_stats_reply, 64);
UNIC_ABI_SIZE(unic_ctl_dump, 64);
UNIC_ABI_SIZE(unic_ctl_dump_reply, 64);
UNIC_ABI_SIZE(unic_ctl_ps_reply, 64);
UNIC_ABI_AT(unic_ctl_proc, frames, 32);
UNIC_ABI_SIZE(unic_ctl_proc, 104);
UNIC_ABI_SIZE(unic_ctl_trace, 64);
UNIC_ABI_AT(unic_ctl_trace_reply, pair_nic_ns, 32);
UNIC_ABI_SIZE(unic_ctl_trace_reply, 64);
UNIC_ABI_SIZE(unic_ctl_fault, 64);
UNIC_ABI_SIZE(unic_ctl_params, 64);
UNIC_ABI_SIZE(unic_ctl_policy, 64);

#endif /* UNIC_ABI_CTL_ADMIN_H */

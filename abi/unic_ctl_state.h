/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ctl_state.h - requests of a process about what it has: everything, for one
 * that lost upcalls, and how much.
 */
#ifndef UNIC_ABI_CTL_STATE_H
#define UNIC_ABI_CTL_STATE_H

#include "unic_ctl_msg.h"

/*
 * RESYNC. What is true now, for a process that lost upcalls. Tail: one struct
 * unic_ctl_region per region, or, if `what` is OBJECTS, one struct
 * unic_ctl_object for everything it has, regions too; `next_seq` is the seq the
 * next upcall will have: those before it are covered by the answer. More than
 * fit: `more` is set, and the next request gives the last id as `after`.
 */
#define UNIC_CTL_RESYNC_REGIONS 0u /* rows: struct unic_ctl_region */
#define UNIC_CTL_RESYNC_OBJECTS 1u /* rows: struct unic_ctl_object */
struct unic_ctl_resync {
	struct unic_ctl_hdr hdr;
	unic_le32 after; /* id of the last row seen; 0: from the
			  * start */
	unic_le32 what;	 /* UNIC_CTL_RESYNC_*; others: INVALID */
	unic_le32 rsvd[10];
};
struct unic_ctl_resync_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 regions;  /* rows in the tail */
	unic_le32 more;	    /* 1: some did not fit */
	unic_le32 next_seq; /* of the upcall ring */
	unic_le32 rsvd[9];
};
struct unic_ctl_region {
	unic_le32 id;	       /* as in the reply of MR_REG */
	unic_le32 stag;	       /* 0: none yet */
	unic_le32 user;	       /* of MR_REG or MR_ALLOC */
	unic_le32 entries;     /* pages; TLB entries, if RESIDENT */
	unic_le32 state;       /* enum unic_ctl_region_state */
	unic_le32 notice_seq;  /* NOTIFIED: of the open notice */
	unic_le64 deadline_ns; /* NOTIFIED: CLOCK_MONOTONIC */
};
/* By type: what the fields say. 0 where nothing is said. */
struct unic_ctl_object {
	unic_le32 id;	  /* of the object */
	unic_le32 type;	  /* enum unic_ctl_object_type */
	unic_le32 user;	  /* of the request that made it */
	unic_le32 state;  /* as enum unic_ctl_object_type says, here and
			   * below */
	unic_le32 number; /* by which the NIC or the wire knows it */
	unic_le32 of;	  /* id of the object it belongs to */
	unic_le32 detail; /* what else there is to say */
	unic_le32 rsvd;
};
enum unic_ctl_object_type {
	UNIC_CTL_O_PD = 1, /* nothing but its id */
	UNIC_CTL_O_MR = 2, /* state enum unic_ctl_region_state; number STag;
			    * of PD; detail enum unic_form_kind, or, WAITING,
			    * seq of the request that waits */
	UNIC_CTL_O_CQ = 3, /* state 1: overrun; number: its index in
			    * the NIC's table */
	UNIC_CTL_O_QP = 4, /* state enum unic_qp_state; number QPN; of CONN */
	UNIC_CTL_O_TOKEN = 5, /* number index. It has not ended, or it was used:
			       * then its row stays until TOKEN_CANCEL, or
			       * until another token has its index */
	UNIC_CTL_O_LISTENER = 6, /* detail: low 32 bits of the service */
	UNIC_CTL_O_CONN = 7,	 /* state enum unic_ctl_conn_state; number
				  * QPN of the peer; of QP, or, if REQUESTED,
				  * LISTENER; detail IPv4 of the peer */
	UNIC_CTL_O_SRQ = 8, /* state 1: in error; number: its index in the NIC's
			     * table */
};
enum unic_ctl_region_state {
	UNIC_CTL_R_WAITING = 1,	 /* REGISTER_WAIT not granted yet, or loading */
	UNIC_CTL_R_ACTIVE = 2,	 /* in use */
	UNIC_CTL_R_NOTIFIED = 3, /* asked back; in use until deadline_ns */
	UNIC_CTL_R_EVICTED = 4,	 /* forget it by MR_DEREG */
};

/* USAGE of the process. Tail: struct unic_cpl_usage. */
struct unic_ctl_usage_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 frames;     /* allocated */
	unic_le32 frames_max; /* 4 KiB frames it may have in all */
	unic_le32 pinned;     /* frames under at least one region */
	unic_le32 upcalls;    /* written so far */
	unic_le32 rsvd[8];
};

UNIC_ABI_SIZE(unic_ctl_resync, 64);
UNIC_ABI_SIZE(unic_ctl_resync_reply, 64);
UNIC_ABI_SIZE(unic_ctl_object, 32);
UNIC_ABI_AT(unic_ctl_region, deadline_ns, 24);
UNIC_ABI_SIZE(unic_ctl_region, 32);
UNIC_ABI_SIZE(unic_ctl_usage_reply, 64);

#endif /* UNIC_ABI_CTL_STATE_H */

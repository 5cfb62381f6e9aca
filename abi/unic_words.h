/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_words.h - what all say alike: values in records of the mailbox and of the driver that
 * processes see, too, in unic.h.
 */
#ifndef UNIC_ABI_WORDS_H
#define UNIC_ABI_WORDS_H

enum unic_status {
	UNIC_ST_OK = 0,		   /* executed */
	UNIC_ST_PENDING = 1,	   /* accepted, an event says how it ends:
				    * MR_REG, MR_DEREG, NOTICE_ANSWER,
				    * QP_DESTROY, PROC_DETACH, ARP_RESOLVE,
				    * TOKEN_CANCEL */
	UNIC_ST_BAD_OPCODE = 2,	   /* no such command, or none for this batch */
	UNIC_ST_STALE_EPOCH = 3,   /* header epoch is not boot_epoch */
	UNIC_ST_INVALID = 4,	   /* a field is out of range; a rsvd field, or
				    * the status of the command, is not 0 */
	UNIC_ST_NO_PROC = 5,	   /* nobody is attached to the slot, or it
				    * detaches */
	UNIC_ST_NO_PD = 6,	   /* no such PD of this process, or an object
				    * of another PD is named */
	UNIC_ST_NO_MR = 7,	   /* no such region, or another generation, or
				    * an STag that opens nothing */
	UNIC_ST_NO_CQ = 8,	   /* no such completion queue of this
				    * process */
	UNIC_ST_NO_QP = 9,	   /* no such queue pair of this process, or it
				    * is being destroyed */
	UNIC_ST_NO_TOKEN = 10,	   /* slot, index and key name no token that the
				    * NIC remembers */
	UNIC_ST_NO_WAIT = 11,	   /* no request waits under this number */
	UNIC_ST_BUSY = 12,	   /* in use by something that must go first, or
				    * no room just now: try again */
	UNIC_ST_TLB_FULL = 13,	   /* too few free entries, or they are kept for
				    * those who wait */
	UNIC_ST_MR_FULL = 14,	   /* no free region index, or this process's
				    * part is used up */
	UNIC_ST_TOKEN_FULL = 15,   /* no free token, and none to take back; no
				    * free list of pieces */
	UNIC_ST_QP_FULL = 16,	   /* unic_info.qps exist */
	UNIC_ST_CQ_FULL = 17,	   /* unic_info.cqs exist */
	UNIC_ST_PD_FULL = 18,	   /* unic_info.pds exist */
	UNIC_ST_WAIT_FULL = 19,	   /* this process's part of unic_info.waits is
				    * used up */
	UNIC_ST_QUOTA = 20,	   /* with what it holds, above the hard quota
				    * of the process */
	UNIC_ST_TOO_LARGE = 21,	   /* can never fit: more than table, quota or
				    * form may have */
	UNIC_ST_STATE = 22,	   /* not in the state that the object is in */
	UNIC_ST_RIGHTS = 23,	   /* the region does not grant what is asked */
	UNIC_ST_BOUNDS = 24,	   /* not inside the region */
	UNIC_ST_EVICTED = 25,	   /* the region was taken back, or is closed
				    * for it; DUMP: the snapshot has ended */
	UNIC_ST_BUS = 26,	   /* not inside a DMA window; MR_REG, MR_FILL,
				    * MR_FAULT, MR_REREG: not aligned to the
				    * page */
	UNIC_ST_NO_ENTROPY = 27,   /* TOKEN_ALLOC without any random source:
				    * ENTROPY first */
	UNIC_ST_CANCELLED = 28,	   /* by WAIT_CANCEL: the driver's reply to the
				    * MR_REG that waited; the NIC has it in
				    * trace event WAIT_END alone */
	UNIC_ST_TIMEOUT = 29,	   /* event WAIT_ENDED: timeout_us are over */
	UNIC_ST_REFUSED = 30,	   /* OFFER/EXTEND not granted, see detail */
	UNIC_ST_FAILED = 31,	   /* NIC state is not READY; all but NOP and
				    * DUMP */
	UNIC_ST_CTRL_CAP = 32,	   /* class control: a quarter of the share, in
				    * entries or in regions */
	UNIC_ST_NO_ROUTE = 33,	   /* no SET_ADDR before, or ARP for an address
				    * that is not unicast; QP_MODIFY to RTR: or
				    * no link */
	UNIC_ST_STALE = 64,	   /* MR_FAULT: older than an invalidation */
	UNIC_ST_ELEMENT_FULL = 40, /* elements of forms: the pool, or the
				    * process's quarter of it */
	UNIC_ST_ALIGN = 41,	   /* pages of a form do not fit together */
	UNIC_ST_NO_SRQ = 42,	   /* no such shared receive queue of this
				    * process */
	UNIC_ST_SRQ_FULL = 43,	   /* unic_info.srqs exist */
};

enum unic_policy {
	UNIC_POLICY_DEFAULT = 0, /* the least expected benefit, learned from
				  * intervals between uses */
	UNIC_POLICY_RANDOM = 1,	 /* any region, by chance */
	UNIC_POLICY_LRU = 2,	 /* the one used longest ago */
	UNIC_POLICY_S3FIFO = 3,	 /* two queues, S3-FIFO: new ones, and those
				  * used again */
	UNIC_POLICY_APP = 4,	 /* hints of importance first, then as
				  * DEFAULT */
	UNIC_POLICY_LFU = 5,	 /* the one used least often, old uses count
				  * less; UNIC_FEAT_LFU, else INVALID */
	UNIC_POLICIES = 6,	 /* how many there are; INVALID from here on */
};

enum unic_mr_rights {
	UNIC_MR_LOCAL_WRITE = 1u << 0,	/* the NIC may write into it: receives,
					 * tokens, READ */
	UNIC_MR_REMOTE_READ = 1u << 1,	/* a peer may READ it */
	UNIC_MR_REMOTE_WRITE = 1u << 2, /* a peer may WRITE it; INVALID without
					 * LOCAL_WRITE */
	UNIC_MR_MW_BIND = 1u << 3,	/* memory windows may be bound to it */
	UNIC_MR_REMOTE_ATOMIC = 1u
				<< 4, /* a peer may COMPARE_SWAP and FETCH_ADD
					  * in it (UNIC_FEAT_ATOMICS, else
					  * INVALID); INVALID without
					  * LOCAL_WRITE */
};
#define UNIC_MR_RIGHTS_ALL 0x1fu /* with any other bit: INVALID */

enum unic_mr_class {
	UNIC_CLASS_RDMA = 0,	  /* notice, grace T, then removal */
	UNIC_CLASS_MESSAGING = 1, /* removal at once, substitution */
	UNIC_CLASS_CONTROL = 2,	  /* queues: never a victim, capped */
};

enum unic_residency {
	UNIC_RESIDENT = 0, /* all entries on the NIC, or the request waits */
	UNIC_DEMAND = 1,   /* none; a miss asks the driver (MISS, MR_FAULT) */
	UNIC_TABLE = 2, /* none; a miss reads the region's translation list */
	UNIC_PHYSICAL = 3, /* none; an IOVA is the bus address */
};

enum unic_advice {
	UNIC_ADVISE_WILL_NEED = 1, /* bring entries ahead of their use */
	UNIC_ADVISE_DONT_NEED = 2, /* drop entries now; BUSY while DMA uses the
				    * region */
};

enum unic_refusal {
	UNIC_REFUSED_NONE = 0,	     /* not refused, or not by one of these */
	UNIC_REFUSED_SMALLER = 1,    /* the offered region holds fewer
				      * entries */
	UNIC_REFUSED_NOT_YOURS = 2,  /* the offered region is of another
				      * process */
	UNIC_REFUSED_NOT_ACTIVE = 3, /* no such region, or not in state
				      * ACTIVE */
	UNIC_REFUSED_SAME = 4,	     /* the offered region is the one of the
				      * notice */
	UNIC_REFUSED_WAITER = 5,     /* no extension: a request within its share
				      * waits, or the notice is for one */
	UNIC_REFUSED_BUDGET = 6,     /* no extension: more than extend_us of
				      * SET_PARAMS in all */
	UNIC_REFUSED_CLASS = 7,	     /* regions of class control, DEMAND and
				      * TABLE cannot be offered */
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
	UNIC_QPS_RESET = 0, /* as created: rings empty, all frames dropped */
	UNIC_QPS_INIT = 1,  /* receives may be posted, frames are dropped */
	UNIC_QPS_RTR = 2,   /* receives from its peer; UD from anybody */
	UNIC_QPS_RTS = 3,   /* sends, too */
	UNIC_QPS_SQE = 4,   /* not used: no queue pair enters it */
	UNIC_QPS_ERR = 5,   /* work requests are flushed, frames are dropped */
};

enum unic_reason {
	/* 1 to 3: the region's process has more than its fair share of entries or
	 * of regions, what it waits for itself included */
	UNIC_WHY_REAPER = 1,	 /* few entries are free */
	UNIC_WHY_WAITER = 2,	 /* a request waits that goes beyond the fair
				  * share of its process, perhaps of this one;
				  * or a page is missed */
	UNIC_WHY_FAIR_SHARE = 3, /* a request waits that is within the fair
				  * share of its process */
	UNIC_WHY_QUOTA = 4,	 /* its process waits for entries that its quota
				  * stops, or has more than a quota that was
				  * lowered */
	UNIC_WHY_ADMIN = 5,	 /* MR_EVICT */
	UNIC_WHY_OFFERED = 6,	 /* offered by its owner for another */
	UNIC_WHY_DEREG = 7,	 /* EVICTED: end of a pending MR_DEREG */
	UNIC_WHY_EXIT = 8,	 /* EVICTED: process detached */
	UNIC_WHY_RESET = 9,	 /* upcall EVICTED: the driver could not restore
				  * it after a reset; the NIC never says this */
	UNIC_WHY_HOLDERS = 10,	 /* upcall EVICTED: all who were given it have
				  * said that they do not use it any more; the
				  * NIC never says this */
	UNIC_WHY_UNMAPPED = 11,	 /* upcall EVICTED: its owner unmapped memory
				  * under it; the NIC never says this */
	UNIC_WHY_IDLE = 12,	 /* IDLE: few entries are free, or a request
				  * waits, and nobody has to give any */
};

#define UNIC_EVICTED_WAS_BUSY (1u << 0) /* operations were cut off */
#define UNIC_EVICTED_DEADLINE (1u << 1) /* not released by its owner */
#define UNIC_EVICTED_TOMBSTONE \
	(1u << 2) /* STag answers EVICTED till MR_DEREG */

enum unic_table {
	UNIC_TABLE_TLB = 1,	  /* TLB entries; rows struct unic_row_tlb */
	UNIC_TABLE_MR = 2,	  /* regions; rows struct unic_row_mr */
	UNIC_TABLE_TOKEN = 3,	  /* payload tokens; rows struct
				  * unic_row_token */
	UNIC_TABLE_QP = 4,	  /* queue pairs; rows struct unic_row_qp */
	UNIC_TABLE_CQ = 5,	  /* completion queues; rows struct
				  * unic_row_cq */
	UNIC_TABLE_PROC = 6,	  /* process slots; rows struct unic_row_proc */
	UNIC_TABLE_WAIT = 7,	  /* REGISTER_WAIT requests; rows struct
				  * unic_row_wait */
	UNIC_TABLE_HISTOGRAM = 8, /* how long things took; rows struct
				   * unic_row_histogram */
	UNIC_TABLE_ELEMENT = 16,  /* elements of forms; DUMP: INVALID */
};

/* What an MR_REREG exchanges. */
#define UNIC_REREG_RIGHTS (1u << 0) /* exchange the rights */
#define UNIC_REREG_PD	  (1u << 1) /* exchange the PD */
#define UNIC_REREG_RANGE  (1u << 2) /* exchange range and pages */
#define UNIC_REREG_ALL	  0x07u	    /* of these three, any together */
#define UNIC_REREG_HINT \
	(1u << 3) /* exchange the importance; alone. No bit, or
				     * others: INVALID */

/* What the peer of a queue pair is, in QP_MODIFY. */
#define UNIC_PEER_UNIC 1u /* it speaks our vendor opcodes */
#define UNIC_PEER_REFUSED \
	2u /* with UNIC and FEAT_TELL_REFUSED: and understands REFUSED */

/* Any number of messages, each to its own offset; ends otherwise only. */
#define UNIC_TOKEN_F_MULTI (1u << 0) /* for more than one message */

/* What a NIC can do: bits of unic_info.features. */
#define UNIC_FEAT_TOKENS	(1ull << 0) /* TOKEN_ALLOC, tagged messages */
#define UNIC_FEAT_REGISTER_WAIT (1ull << 1) /* UNIC_REG_WAIT */
#define UNIC_FEAT_NOTICE	(1ull << 2) /* NOTICE, and answers to it */
#define UNIC_FEAT_STATS		(1ull << 3) /* counters, trace, crash */
#define UNIC_FEAT_ICRC_OFFLOAD	(1ull << 4) /* icrc_offload is 1 */
#define UNIC_FEAT_RESTORE	(1ull << 5) /* UNIC_REG_RESTORE */
#define UNIC_FEAT_DEMAND	(1ull << 6) /* regions of residency DEMAND */
/* 1ull << 7: not used again; up to ABI 1.12 residency TABLE, its lists in the BAR */
#define UNIC_FEAT_WINDOWS	(1ull << 16) /* sub-regions and memory windows */
#define UNIC_FEAT_FAST_REG	(1ull << 17) /* forms of kind FAST */
#define UNIC_FEAT_INDIRECT	(1ull << 18) /* forms of kind INDIRECT */
#define UNIC_FEAT_PHYSICAL	(1ull << 19) /* residency PHYSICAL, TOKEN_F_PIECES */
#define UNIC_FEAT_BATCH		(1ull << 20) /* TOKEN_BATCH, lists in batches */
#define UNIC_FEAT_APP_POLICY	(1ull << 21) /* REREG_HINT, PROC_KEEP_* */
#define UNIC_FEAT_LFU		(1ull << 22) /* UNIC_POLICY_LFU */
#define UNIC_FEAT_IDLE		(1ull << 23) /* idle_us, event IDLE */
#define UNIC_FEAT_CANCEL_WAIT	(1ull << 24) /* UNIC_CANCEL_WAIT */
#define UNIC_FEAT_TELL_REFUSED	(1ull << 25) /* UNIC_PEER_REFUSED */
#define UNIC_FEAT_ACCOUNTS	(1ull << 26) /* slots that only pay: `keeper` */
#define UNIC_FEAT_RESTORE_FORMS (1ull << 27) /* MR_ALLOC: `stag` */
#define UNIC_FEAT_HOST_TABLE	(1ull << 28) /* residency TABLE: REG_HOST_TABLE */
#define UNIC_FEAT_PAIN		(1ull << 29) /* pain_pct */
#define UNIC_FEAT_RATES		(1ull << 30) /* RATE; `rate`, `burst` of PROC_ATTACH */
#define UNIC_FEAT_EVICTABLE	(1ull << 31) /* `evictable` of a usage */
#define UNIC_FEAT_HISTOGRAMS	(1ull << 32) /* DUMP: TABLE_HISTOGRAM */
#define UNIC_FEAT_SNAPSHOT	(1ull << 33) /* `snapshot` of DUMP */
#define UNIC_FEAT_ATOMICS	(1ull << 34) /* atomics, REMOTE_ATOMIC, 16 READs */
#define UNIC_FEAT_MR_FORMS	(1ull << 36) /* MR_FORMS */
#define UNIC_FEAT_CQ_RESIZE	(1ull << 37) /* CQ_RESIZE */
#define UNIC_FEAT_SRQ		(1ull << 40) /* SRQ_CREATE, `srq` of QP_CREATE */
#define UNIC_FEAT_CACHED_WINDOWS \
	(1ull << 41) /* windows over regions of residency DEMAND, TABLE */

#endif /* UNIC_ABI_WORDS_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_cmd_mr.h - commands and completions of the mailbox that are about memory:
 * regions, their pages, forms, batches, waits, notices.
 */
#ifndef UNIC_ABI_CMD_MR_H
#define UNIC_ABI_CMD_MR_H

#include "unic_cmd.h"

/* flags of MR_REG */
#define UNIC_REG_WAIT (1u << 0) /* REGISTER_WAIT: queue when it does not fit */
#define UNIC_REG_LIST (1u << 1) /* the list page holds all page addresses */
#define UNIC_REG_ZERO_BASED \
	(1u << 2) /* iova is below the page size, else INVALID */
#define UNIC_REG_RESTORE    (1u << 3) /* with the STag of before a reset */
#define UNIC_REG_HOST_TABLE (1u << 4) /* `list` is there; TABLE, and no other */
#define UNIC_REG_FLAGS_ALL  0x1fu     /* with any other bit: INVALID */

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
 * Residency TABLE (UNIC_FEAT_HOST_TABLE) has REG_HOST_TABLE and a translation list:
 * `list` is the bus address of its words, one for each page, and up to a multiple of
 * UNIC_TABLE_GROUP, in memory of the driver, which stays there until MR_DEREG is OK,
 * EVICTED, the end of the process or a reset: from then on the NIC does not read it. A miss reads the aligned group
 * of UNIC_TABLE_GROUP words that the page's word lies in, by DMA, and keeps the
 * entries that the operation goes on to need, or `prefetch` of SET_PARAMS, if that
 * is more and there are free ones. The driver may write a word at any time: the
 * NIC uses the old one or the new one, and after MR_INVALIDATE only the new one.
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
	unic_le32 pd;	    /* index of the PD; its process owns the region */
	uint8_t rights;	    /* enum unic_mr_rights; remote write and atomic need
			     * local write */
	uint8_t mr_class;   /* enum unic_mr_class */
	uint8_t residency;  /* enum unic_residency */
	uint8_t page_shift; /* 12, 16 or 21; PHYSICAL: 0 */
	unic_le64 iova;	    /* of the first byte */
	unic_le64 length;   /* bytes, not 0; iova + length may not wrap */
	unic_le32 n_pages;  /* must follow from iova, length, page_shift */
	uint8_t key;	    /* consumer's low 8 bits of the STag */
	uint8_t importance; /* hint, 0..255, higher = keep */
	uint8_t flags;	    /* UNIC_REG_* */
	uint8_t account; /* RESIDENT, not CONTROL, nor REG_RESTORE: 1 + a slot
			     * that is charged for the region, an account of the
			     * PD's process (NO_PROC: it is not); 0: none, that
			     * process is charged */
	unic_le32 timeout_us; /* REG_WAIT: give up after; 0 = never */
	unic_le32 user;	      /* the driver's own id, returned in events */
	unic_le32 stag;	      /* REG_RESTORE: all 32 bits; else 0 */
	unic_le32 rsvd;
	unic_le64
		list; /* REG_HOST_TABLE: bus address of the translation list, a
			 * multiple of 64; else 0 */
};
/* A word of a translation list: bus address of the page, or'ed with this; without
 * it the page does not exist, nor if the address is not aligned to the page size
 * or lies in another window than the doorbell pages of the process. */
#define UNIC_TABLE_VALID  1ull	 /* the page exists */
#define UNIC_TABLE_GROUP  8u	 /* words that a miss reads */
#define UNIC_CACHED_PAGES 65536u /* of a DEMAND or TABLE region, at most */

struct unic_cpl_mr_reg {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;	/* table index, 0..mrs-1, for commands about it */
	unic_le32 gen;	/* generation of this registration, 1..65535 */
	unic_le32 stag; /* what work requests and peers name it by: lkey and
			 * rkey */
	unic_le32 wait; /* PENDING: id for WAIT_CANCEL */
	unic_le32 rsvd[10];
};

/* Why a registration failed, and QUERY_USAGE's answer. */
struct unic_cpl_usage {
	struct unic_cmd_hdr hdr;
	unic_le32 table;       /* enum unic_table that is full; 0 in a query */
	unic_le32 used;	       /* units of that table in use, by all processes;
				* of the TLB in a query */
	unic_le32 limit;       /* units that the table has */
	unic_le32 holding;     /* of this process: entries, or elements if table
				* is ELEMENT */
	unic_le32 fair_share;  /* of this process, just now, in the same unit;
				* elements: the quarter of the pool that is its
				* limit */
	unic_le32 waiters;     /* queued requests, all processes */
	unic_le32 borrowed;    /* entries of this process above its fair
				* share */
	unic_le16 top_proc[3]; /* slots that hold most entries; 0xffff: none */
	unic_le16 evictable; /* UNIC_FEAT_EVICTABLE and a query, else 0: entries
				* of this process that can be asked back or
				* dropped now; 0xffff: so many or more */
	unic_le32 top_held[3]; /* entries that each of them holds; 0: none */
	unic_le32 quota;       /* of this process, entries; 0: none */
	unic_le32 bound_us;    /* B, the longest time until entries within a
				* fair share are there */
};

/* MR_FILL. Pages [first, first+count) of a LOADING region from the list page;
 * bus addresses aligned to the page size. The last missing page makes it
 * ACTIVE. A page is filled once (STATE if again).
 */
struct unic_cmd_mr_fill {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;	 /* region: index as in unic_cpl_mr_reg */
	unic_le32 gen;	 /* its generation; NO_MR if another */
	unic_le32 first; /* page of the region, 0 is the one that iova lies
			  * in */
	unic_le32 count; /* 1..UNIC_LIST_MAX, none behind the last page */
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
	unic_le32 mr;	  /* region: index as in unic_cpl_mr_reg */
	unic_le32 gen;	  /* its generation; NO_MR if another */
	unic_le32 first;  /* page of the region, 0 is the one that iova lies
			   * in */
	unic_le32 count;  /* 1..UNIC_LIST_MAX */
	unic_le32 seq;	  /* of the MISS; that of the last MR_INVALIDATE */
	unic_le32 cannot; /* 1: there are none, the list page is not read; else
			   * 0 */
	unic_le32 rsvd[8];
};
struct unic_cpl_mr_pages {
	struct unic_cmd_hdr hdr;
	unic_le32 done; /* how many pages were brought, dropped, read or asked
			 * for */
	unic_le32 seq;	/* MR_INVALIDATEs of the region so far; 0 with NO_MR */
	unic_le32 rsvd[12];
};

/*
 * MR_INVALIDATE. Pages [first, first+count) of a DEMAND or TABLE region are not
 * on the NIC when it completes, and no MR_FAULT with an older sequence number
 * brings them, nor do words of a translation list that were read before. So a page
 * is taken out of a list like this: clear its word, send MR_INVALIDATE, wait until
 * it is OK, unpin the page. No drop records are written: `done` says how many there were.
 * BUSY: a DMA piece is under way through the region, or a fast registration is made
 * of it, which has copies of words until it ends; nothing happened.
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
	unic_le32 mr;	  /* region: index as in unic_cpl_mr_reg */
	unic_le32 gen;	  /* its generation; NO_MR if another */
	unic_le32 first;  /* page of the region, 0 is the one that iova lies
			   * in */
	unic_le32 count;  /* pages, not 0, none behind the last */
	unic_le32 advice; /* MR_ADVISE: enum unic_advice; else 0 */
	unic_le32 rsvd[9];
};

/*
 * A drop record: the NIC has given up the entry of this page, which belonged to
 * a DEMAND region, and does not touch the page any more: unpin it. The NIC
 * takes no MR_FAULT for which this ring would be too short, so that dropping
 * never waits for the host (INV-11).
 */
struct unic_drop {
	unic_le32 mr;	/* index of the region */
	unic_le32 gen;	/* its generation when the entry was given up */
	unic_le32 page; /* of the region, from 0 on */
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
	unic_le32 mr;  /* region: index as in unic_cpl_mr_reg */
	unic_le32 gen; /* its generation; NO_MR if another */
	unic_le32 rsvd[12];
};

/*
 * Forms: regions made of other regions (docs/DESIGN.md section 6.3). MR_ALLOC
 * gives one that is not valid yet: it has an STag, the elements it will need,
 * and, if fast, its TLB entries. It is made valid by MR_MAKE or a work request
 * (abi/unic_queue.h), not any more by MR_INVAL, LOCAL_INV or a SEND with
 * invalidate, and ends by MR_DEREG. It also ends, EVICTED, when a region does
 * that it is made of.
 *
 * A region of residency DEMAND or TABLE has windows (UNIC_FEAT_CACHED_WINDOWS), one
 * of TABLE also fast registrations; other forms of it are NO_MR. What is missing
 * there is asked for as the region's.
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
 * unic_cpl_usage). With `stag`, as MR_REG with REG_RESTORE: STATE when the index was
 * used in this epoch, or a region was made otherwise since the reset. */
struct unic_cmd_mr_alloc {
	struct unic_cmd_hdr hdr;
	unic_le32 pd;	    /* index of the PD; its process owns the form */
	uint8_t kind;	    /* enum unic_form_kind, not PLAIN */
	uint8_t page_shift; /* FAST: 12, 16 or 21; else 0 */
	uint8_t key;	    /* low 8 bits of the STag */
	uint8_t importance; /* hint for FAST, 0..255, higher = keep */
	unic_le32 n;	    /* FAST: entries, 1..UNIC_FAST_PAGES; INDIRECT:
			     * elements, 1..UNIC_FORM_ELEMENTS; else 0 */
	unic_le32 user;	    /* the driver's own id, returned in events */
	unic_le32 stag; /* not 0: that of before a reset (FEAT_RESTORE_FORMS);
			     * `key` is its low byte */
	unic_le32 rsvd[9];
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
	unic_le32 mr;	  /* form: index as in unic_cpl_mr_reg */
	unic_le32 gen;	  /* its generation; NO_MR if another */
	unic_le64 iova;	  /* of the first byte */
	unic_le32 n;	  /* elements in the list page, struct unic_sge each; a
			   * window: 0 unbinds it */
	unic_le32 repeat; /* INDIRECT: times that the list is run through, 0 =
			   * once; else 0 or 1 */
	uint8_t rights;	  /* enum unic_mr_rights; a window: REMOTE_* alone
			   * (RIGHTS) */
	uint8_t key;	  /* becomes the low 8 bits of the STag */
	uint8_t strided;  /* 1: n le32 strides follow the elements, INDIRECT
			   * alone; else 0 */
	uint8_t rsvd0[5];
	unic_le32 rsvd[6];
};

/* MR_INVAL: a struct unic_cmd_mr. BUSY: something uses it; it is closed to new
 * accesses all the same, ask again. STATE: not valid, or no such kind. */

/*
 * MR_FORMS: a struct unic_cmd_mr. The list page gets unic_info.mrs bits, eight in a
 * byte, the lowest first, a bit for each index of the region table: 1 for a form
 * that is made of this region, or of a form that is, and so ends with it.
 */

/*
 * MR_REREG. Rights, PD, or range and pages of a region that is no form, as
 * ibv_rereg_mr(). OK: done; the STag stays the same. Any other status: nothing
 * happened, the old region is as it was; BUSY: an operation or a dependent uses
 * it. With RANGE, n_pages <= UNIC_LIST_MAX and the addresses are in the list
 * page; a region of residency DEMAND or TABLE is STATE.
 *
 * HINT, which no other bit goes with, changes the importance alone: of any region
 * or form but one of class control (INVALID), in use or not, until it is EVICTED
 * (STATE).
 */
struct unic_cmd_mr_rereg {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;	    /* region: index as in unic_cpl_mr_reg */
	unic_le32 gen;	    /* its generation; NO_MR if another */
	unic_le32 pd;	    /* REREG_PD, of the same process, else 0 */
	uint8_t what;	    /* UNIC_REREG_*, not 0 */
	uint8_t rights;	    /* REREG_RIGHTS, else 0 */
	uint8_t importance; /* REREG_HINT, else 0 */
	uint8_t rsvd0;
	unic_le64 iova;	   /* REREG_RANGE, else 0, as the next two */
	unic_le64 length;  /* bytes */
	unic_le32 n_pages; /* must follow from iova, length and page size */
	unic_le32 rsvd[5];
};

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
	unic_le32 count; /* records in the list page, 1..UNIC_BATCH_MAX */
	unic_le32 rsvd[13];
};
struct unic_cpl_batch {
	struct unic_cmd_hdr hdr;
	unic_le32 done; /* records that were answered OK or PENDING */
	unic_le32 rsvd[13];
};
#define UNIC_BATCH_MAX 64u /* records in a list page, at most */

/* WAIT_CANCEL. OK: it will never be granted, no event follows. NO_WAIT: it was
 * granted or ended already, and its event says so.
 */
struct unic_cmd_wait_cancel {
	struct unic_cmd_hdr hdr;
	unic_le32 wait; /* as in unic_cpl_mr_reg; 0: NO_WAIT */
	unic_le32 rsvd[13];
};

/* NOTICE_ACK: the upcall is in the process's upcall ring; T starts now. */
struct unic_cmd_notice_ack {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;  /* region of the NOTICE */
	unic_le32 gen; /* its generation; NO_MR if another */
	unic_le32 seq; /* of the NOTICE; INVALID if another, STATE if
			* acknowledged before */
	unic_le32 rsvd[11];
};
struct unic_cpl_notice {
	struct unic_cmd_hdr hdr;
	unic_le64 deadline_ns; /* NIC time at which the grace ends; 0 unless OK,
				* PENDING or REFUSED */
	unic_le32 detail;      /* REFUSED: enum unic_refusal */
	unic_le32 rsvd[11];
};

enum unic_answer {
	UNIC_ANSWER_RELEASE = 1, /* the region ends; PENDING while operations
				  * use it */
	UNIC_ANSWER_OFFER = 2,	 /* another region of the process takes its
				  * place */
	UNIC_ANSWER_EXTEND = 3,	 /* the grace is to last extend_us longer */
};

/* NOTICE_ANSWER. */
struct unic_cmd_notice_answer {
	struct unic_cmd_hdr hdr;
	unic_le32 mr;	     /* region of the NOTICE */
	unic_le32 gen;	     /* its generation; NO_MR if another */
	unic_le32 seq;	     /* of the NOTICE; INVALID if another */
	unic_le32 answer;    /* enum unic_answer */
	unic_le32 offer_mr;  /* OFFER: index of the region to take instead */
	unic_le32 offer_gen; /* OFFER: its generation */
	unic_le32 extend_us; /* EXTEND: how much longer, not 0 */
	unic_le32 rsvd[7];
};

UNIC_ABI_AT(unic_cmd_mr_reg, iova, 16);
UNIC_ABI_AT(unic_cmd_mr_reg, n_pages, 32);
UNIC_ABI_AT(unic_cmd_mr_reg, user, 44);
UNIC_ABI_AT(unic_cmd_mr_reg, stag, 48);
UNIC_ABI_AT(unic_cmd_mr_reg, list, 56);
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

#endif /* UNIC_ABI_CMD_MR_H */

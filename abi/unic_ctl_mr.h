/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ctl_mr.h - requests of a process about regions: registration, forms,
 * batches, waits, answers to notices.
 */
#ifndef UNIC_ABI_CTL_MR_H
#define UNIC_ABI_CTL_MR_H

#include "unic_ctl_msg.h"

/*
 * MR_REG. Register [va, va + length) of the process's frames.
 * OK: the region is active. With UNIC_CTL_REG_WAIT it waits for entries: the
 * reply comes when it is granted or has ended (TIMEOUT, CANCELLED, RESET); with
 * UNIC_CTL_REG_ASYNC too the reply is PENDING at once if it has to wait, and a
 * GRANTED or WAIT_ENDED upcall with the id follows. Refusals (TLB_FULL,
 * MR_FULL, QUOTA, TOO_LARGE, WAIT_FULL, CTRL_CAP) carry a tail: the NIC's
 * struct unic_cpl_usage. NOT_MAPPED, NOT_ALIGNED, NO_PD.
 * With UNIC_CTL_REG_RANDOM the driver chooses the iova, 42 bits of it by chance,
 * and the request's must be 0: who guesses an STag does not know what address
 * goes with it.
 */
struct unic_ctl_mr_reg {
	struct unic_ctl_hdr hdr;
	unic_le64 va;	      /* of the first byte; a page without a
			       * frame: NOT_MAPPED */
	unic_le64 iova;	      /* address that the NIC knows it by; not
			       * congruent to va modulo 4096: NOT_MAPPED,
			       * modulo page_shift's size: NOT_ALIGNED */
	unic_le64 length;     /* bytes; 0, or iova + length wraps: INVALID */
	unic_le32 pd;	      /* id */
	unic_le32 timeout_us; /* REG_WAIT: 0 = never; not looked at
			       * without, nor with DEMAND or TABLE */
	unic_le32 user;	      /* the process's own, returned in upcalls */
	uint8_t rights;	      /* enum unic_mr_rights */
	uint8_t mr_class;     /* enum unic_mr_class */
	uint8_t page_shift; /* 12, 16, 21; 0: the largest that the frames allow */
	uint8_t key;	    /* low 8 bits of the STag */
	uint8_t importance; /* 0..255, higher = keep; for
			     * UNIC_POLICY_APP */
	uint8_t flags;	    /* UNIC_CTL_REG_* */
	uint8_t residency;  /* enum unic_residency; one that the device has not
			     * is RESIDENT */
	uint8_t account;    /* 1 + the slot that is charged for the region, an
			     * account of the driver's own, else INVALID; 0:
			     * the owner's slot is */
	uint8_t rsvd[4];
};
#define UNIC_CTL_REG_WAIT      (1u << 0) /* wait for entries, if RESIDENT */
#define UNIC_CTL_REG_ASYNC     (1u << 1) /* PENDING at once; needs WAIT */
#define UNIC_CTL_REG_RANDOM    (1u << 2) /* iova by chance; given as 0 */
#define UNIC_CTL_REG_FLAGS_ALL 0x07u	 /* others: INVALID */
struct unic_ctl_mr_reg_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 id;	     /* of the region or form; PENDING: too */
	unic_le32 stag;	     /* 0 when PENDING */
	unic_le32 entries;   /* it holds */
	unic_le32 waited_us; /* for entries; MR_REG with REG_WAIT */
	uint8_t page_shift;  /* that was used */
	uint8_t rsvd0[7];
	unic_le64 iova; /* MR_REG: of va */
	unic_le32 rsvd1[4];
};

/* MR_ADVISE. [offset, offset + length) of a region will be needed, or will not;
 * of a RESIDENT one nothing comes of it. NO_MR, INVALID, BUSY (DONT_NEED: in
 * use). */
struct unic_ctl_mr_advise {
	struct unic_ctl_hdr hdr;
	unic_le64 offset; /* bytes from its first one; INVALID: the
			   * range does not lie in it */
	unic_le64 length; /* bytes, not 0 */
	unic_le32 id;	  /* of the region */
	unic_le32 advice; /* enum unic_advice */
	unic_le32 rsvd[6];
};

/* MR_DEREG. The reply comes when nothing uses the region any more (bounded by
 * T); its frames are unpinned. Answers an open notice (RELEASE). Also forgets a
 * region that was evicted. One that waits: the wait ends. One that is being
 * granted: the reply comes when it is gone again, so nothing is left of a grant
 * that crossed a WAIT_CANCEL. BUSY: a queue lives in it. */

/*
 * MR_ALLOC. A window, sub-region, fast or indirect region (docs/DESIGN.md section
 * 6.3), not valid yet. The reply is a unic_ctl_mr_reg_reply; refusals as MR_REG,
 * with the same tail. It ends by MR_DEREG, or with an EVICTED upcall of its own
 * when a region ends that it is made of.
 */
struct unic_ctl_mr_alloc {
	struct unic_ctl_hdr hdr;
	unic_le32 pd;	    /* id */
	uint8_t kind;	    /* enum unic_form_kind */
	uint8_t page_shift; /* FAST: 12, 16 or 21; others: 0; otherwise
			     * INVALID */
	uint8_t key;	    /* low 8 bits of the STag */
	uint8_t importance; /* as in MR_REG; FAST alone has entries to
			     * keep */
	unic_le32 n;	    /* FAST: pages, 1..UNIC_FAST_PAGES;
			     * INDIRECT: elements,
			     * 1..UNIC_FORM_ELEMENTS; others: 0;
			     * otherwise INVALID */
	unic_le32 user;	    /* the process's own, returned in upcalls */
	unic_le32 rsvd[8];
};

/* MR_MAKE. As the command of that name; the request's tail is the list: n struct
 * unic_sge, then n le32 if strided. The reply is a unic_ctl_mr_reg_reply with the
 * new STag. */
struct unic_ctl_mr_make {
	struct unic_ctl_hdr hdr;
	unic_le64 iova;	  /* address that the form's first byte shall
			   * have */
	unic_le32 id;	  /* of the form; a region that is none: STATE */
	unic_le32 n;	  /* elements in the tail; 0: unbind a window;
			   * another tail, or above
			   * UNIC_FORM_ELEMENTS: INVALID; more than
			   * allocated: TOO_LARGE */
	unic_le32 repeat; /* INDIRECT: how often the list is repeated;
			   * 0, 1: once; others: 0 or 1 */
	uint8_t rights;	  /* enum unic_mr_rights; windows:
			   * UNIC_MR_REMOTE_* alone, else RIGHTS */
	uint8_t key;	  /* low 8 bits of the new STag */
	uint8_t strided;  /* INDIRECT: 1: the strides follow; else 0;
			   * more: INVALID */
	uint8_t rsvd0;
	unic_le32 rsvd[6];
};

/* MR_INVAL names one object. BUSY: it is closed, but something uses it still. */

/*
 * MR_REREG. As the command of that name. With RANGE the new range is pinned before
 * the old one is let go; it has at most UNIC_LIST_MAX pages, of the same size.
 * Any status but OK (and RESET, which ends everything): the old region is as it
 * was. HINT, also of a form or a region that is in use or asked back; that of a
 * region is kept over a reset. UNSUPPORTED: a NIC without UNIC_FEAT_APP_POLICY.
 */
struct unic_ctl_mr_rereg {
	struct unic_ctl_hdr hdr;
	unic_le64 va;	    /* REREG_RANGE: of the first byte; a page
			   * without a frame: NOT_MAPPED, frames that
			   * make up no such pages: NOT_ALIGNED; not
			   * looked at without, as the next two */
	unic_le64 iova;	    /* congruent to va modulo the page size,
			   * else NOT_ALIGNED */
	unic_le64 length;   /* bytes; 0: INVALID */
	unic_le32 id;	    /* of the region; a form, or one that is not
			   * RESIDENT and is to have another range, or
			   * that is to be written to first now: STATE */
	unic_le32 pd;	    /* REREG_PD: id; none of this process's:
			   * NO_PD */
	uint8_t what;	    /* UNIC_REREG_*; none, others, or a region
			   * of class control: INVALID */
	uint8_t rights;	    /* REREG_RIGHTS: enum unic_mr_rights */
	uint8_t importance; /* REREG_HINT */
	uint8_t rsvd0;
	unic_le32 rsvd[3];
};

/*
 * BATCH. Several requests in one: the tail is `count` records of 64 bytes, each
 * what it would be by itself: MR_REG, MR_ALLOC, MR_DEREG, TOKEN_ALLOC,
 * TOKEN_CANCEL (others: BAD_OPCODE), without a tail. The reply comes when all are
 * answered; `count` says how many of them OK or PENDING, and the tail has their
 * replies in order, without tails of their own: USAGE says what a refusal would
 * have said. To the NIC they are one command as far as possible.
 */
struct unic_ctl_batch {
	struct unic_ctl_hdr hdr;
	unic_le32 count; /* 1..UNIC_BATCH_MAX */
	unic_le32 rsvd[11];
};

/* WAIT_CANCEL. `seq` of the MR_REG that waits. OK: that one is (or will at once
 * be) answered CANCELLED; NO_WAIT: it was granted or ended already. */
struct unic_ctl_wait_cancel {
	struct unic_ctl_hdr hdr;
	unic_le32 wait_seq; /* hdr.seq of that request; none waits:
			     * NO_WAIT */
	unic_le32 rsvd[11];
};

/* OWN_POLICY. The replacement policy among the regions of this process; who has
 * how much is not changed by it. UNSUPPORTED: a NIC without UNIC_FEAT_APP_POLICY. */
struct unic_ctl_own_policy {
	struct unic_ctl_hdr hdr;
	unic_le32 policy; /* enum unic_policy; none: INVALID */
	unic_le32 rsvd[11];
};

/* CLAIM. How many entries this slot can use at a time: as long as it can use any, it has
 * part in fair shares (unic_cmd_proc_set.claim). It ends with a reset of the NIC.
 * PERMISSION: to all but the driver itself; UNSUPPORTED: a NIC without
 * UNIC_FEAT_ACCOUNTS. */
struct unic_ctl_claim {
	struct unic_ctl_hdr hdr;
	unic_le32 entries; /* more than the NIC has: INVALID */
	unic_le32 rsvd[11];
};

/* NOTICE_ANSWER. RELEASE is MR_DEREG, and answered as that. OK: the reply says
 * when the grace ends; REFUSED: `detail` says why. STATE: no such notice is open. */
struct unic_ctl_notice_answer {
	struct unic_ctl_hdr hdr;
	unic_le32 id;	      /* the region asked back */
	unic_le32 notice_seq; /* of the upcall */
	unic_le32 answer;     /* enum unic_answer */
	unic_le32 offer_id;   /* OFFER: the region to take instead */
	unic_le32 extend_us;  /* EXTEND */
	unic_le32 rsvd[7];
};
struct unic_ctl_notice_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 deadline_ns; /* OK: end of the grace, CLOCK_MONOTONIC;
				* else 0, for REFUSED too */
	unic_le32 detail;      /* REFUSED: enum unic_refusal */
	unic_le32 rsvd[9];
};

UNIC_ABI_AT(unic_ctl_mr_reg, pd, 40);
UNIC_ABI_AT(unic_ctl_mr_reg, rights, 52);
UNIC_ABI_SIZE(unic_ctl_mr_advise, 64);
UNIC_ABI_SIZE(unic_ctl_mr_reg, 64);
UNIC_ABI_AT(unic_ctl_mr_reg_reply, page_shift, 32);
UNIC_ABI_SIZE(unic_ctl_mr_alloc, 64);
UNIC_ABI_AT(unic_ctl_mr_make, rights, 36);
UNIC_ABI_SIZE(unic_ctl_mr_make, 64);
UNIC_ABI_AT(unic_ctl_mr_rereg, what, 48);
UNIC_ABI_SIZE(unic_ctl_mr_rereg, 64);
UNIC_ABI_SIZE(unic_ctl_mr_reg_reply, 64);
UNIC_ABI_SIZE(unic_ctl_batch, 64);
UNIC_ABI_SIZE(unic_ctl_wait_cancel, 64);
UNIC_ABI_SIZE(unic_ctl_own_policy, 64);
UNIC_ABI_SIZE(unic_ctl_notice_answer, 64);
UNIC_ABI_SIZE(unic_ctl_notice_reply, 64);

#endif /* UNIC_ABI_CTL_MR_H */

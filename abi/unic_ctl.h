/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ctl.h - a process and its host driver: requests and replies over a Unix
 * SOCK_SEQPACKET socket, and the upcall ring in the memory of the process.
 *
 * One message is one 64-byte record, perhaps followed by a tail of
 * hdr.tail_bytes bytes; nothing else is in the datagram. The process sends
 * requests; each gets exactly one reply with the same op and seq, not
 * necessarily in order. A reply with status other than OK or PENDING means that
 * nothing happened, and its record after the header is zero unless said
 * otherwise. The driver sends nothing but replies: whatever it has to say
 * unasked goes into the upcall ring, so it never waits for a process.
 *
 * A message that is not well-formed (size, tail, unknown op, rsvd not 0) is
 * answered INVALID or BAD_OPCODE; one shorter than a header ends the
 * connection. End of file means that the driver is gone: connect again, HELLO
 * again, everything is to be made anew.
 *
 * Objects (protection domains, regions, queues, tokens, connections,
 * listeners) have ids that are unique on the host and never reused while the
 * driver lives (S4); an id of another process is answered like one that does
 * not exist. When the connection ends, all objects of the process end.
 */
#ifndef UNIC_CTL_H
#define UNIC_CTL_H

#include "unic_mbox.h"
#include "unic_types.h"

#define UNIC_CTL_VERSION 1u
#define UNIC_CTL_BYTES	 64u   /* of a record */
#define UNIC_CTL_MSG_MAX 8192u /* record and tail */
/* Requests without reply, per process; as many more of those that give
 * something back: MR_DEREG, WAIT_CANCEL, NOTICE_ANSWER. */
#define UNIC_CTL_OPEN_MAX    32u
#define UNIC_CTL_PRIVATE_MAX 56u   /* bytes of private data of a connection */
#define UNIC_CTL_FRAMES_MAX  1024u /* runs of one FRAMES_ALLOC */
#define UNIC_CTL_SOCKET	     "/run/unic/unicd.sock" /* unless told otherwise */

/* ---------------------------------------------------- memory of a process */

/*
 * The memory of a process is one sealed file, mapped MAP_SHARED. Pages by
 * number; the process maps what it needs.
 */
#define UNIC_SLOT_DB_PAGE     0u /* struct unic_db_page, process writes */
#define UNIC_SLOT_NIC_PAGE    1u /* struct unic_nic_page, NIC writes */
#define UNIC_SLOT_UPCALL_PAGE 2u /* struct unic_upcall_ring, driver writes */
#define UNIC_SLOT_FRAMES      3u /* from here on: frames, see FRAMES_ALLOC */

/* --------------------------------------------------------------- requests */

enum unic_ctl_op {
	/* process */
	UNIC_CTL_HELLO = 1,
	UNIC_CTL_FRAMES_ALLOC = 2,
	UNIC_CTL_FRAMES_FREE = 3,
	UNIC_CTL_PD_ALLOC = 4,
	UNIC_CTL_PD_FREE = 5,
	UNIC_CTL_MR_REG = 8,
	UNIC_CTL_MR_DEREG = 9,
	UNIC_CTL_WAIT_CANCEL = 10,
	UNIC_CTL_NOTICE_ANSWER = 11,
	UNIC_CTL_RESYNC = 12,
	UNIC_CTL_USAGE = 13,
	UNIC_CTL_MR_ADVISE = 14,
	UNIC_CTL_TOKEN_ALLOC = 16,
	UNIC_CTL_TOKEN_CANCEL = 17,
	UNIC_CTL_CQ_CREATE = 20,
	UNIC_CTL_CQ_DESTROY = 21,
	UNIC_CTL_QP_CREATE = 22,
	UNIC_CTL_QP_MODIFY = 23,
	UNIC_CTL_QP_DESTROY = 24,
	UNIC_CTL_QP_QUERY = 25,
	UNIC_CTL_LISTEN = 28,
	UNIC_CTL_UNLISTEN = 29,
	UNIC_CTL_CONNECT = 30,
	UNIC_CTL_ACCEPT = 31,
	UNIC_CTL_REJECT = 32,
	UNIC_CTL_DISCONNECT = 33,
	UNIC_CTL_CONN_QUERY = 34,
	UNIC_CTL_GRANT = 35,
	UNIC_CTL_DELEGATE = 36,
	UNIC_CTL_INVALIDATED = 37,
	UNIC_CTL_MR_ALLOC = 48,
	UNIC_CTL_MR_MAKE = 49,
	UNIC_CTL_MR_INVAL = 50,
	UNIC_CTL_MR_REREG = 51,
	UNIC_CTL_BATCH = 52,
	/* anybody who may open the socket; no HELLO needed. DUMP, TRACE, CRASH tell
	 * addresses and STags of all processes: root, or the user the driver runs
	 * as */
	UNIC_CTL_INFO = 64,
	UNIC_CTL_STATS = 65,
	UNIC_CTL_DUMP = 66,
	UNIC_CTL_PS = 67,
	UNIC_CTL_TRACE = 68,
	UNIC_CTL_CRASH = 69,
	UNIC_CTL_USES = 70,
	/* anybody, too; served by the driver itself */
	UNIC_CTL_KIO = 72,
	/* root, or the user the driver runs as */
	UNIC_CTL_FAULT = 80,
	UNIC_CTL_PARAMS = 81,
	UNIC_CTL_POLICY = 82,
	UNIC_CTL_EVICT = 83,
	UNIC_CTL_TRACE_MASK = 84,
	UNIC_CTL_RESET = 85,
};

/*
 * Statuses are those of enum unic_status (NO_PD, NO_MR, ... for ids; TLB_FULL,
 * QUOTA ... from the NIC), and these. From the driver, QUOTA is: the process has
 * its share of such objects (half of the NIC's table, 64 listeners), and
 * WAIT_FULL: its share of the places to wait (an equal one per process slot,
 * at least one); they come without a tail then.
 */
enum unic_ctl_status {
	UNIC_CTL_ST_NO_HELLO = 64, /* say HELLO first */
	UNIC_CTL_ST_NO_SLOT = 65,  /* all process slots are taken */
	UNIC_CTL_ST_NO_NIC = 66,   /* no NIC there, or it does not answer */
	UNIC_CTL_ST_RESET = 67, /* the NIC was reset meanwhile; all is gone */
	UNIC_CTL_ST_NO_FRAMES = 68, /* not enough free frames in such runs */
	UNIC_CTL_ST_NOT_MAPPED =
		69, /* a page of the range was never allocated */
	UNIC_CTL_ST_NOT_ALIGNED = 70, /* frames do not make up such pages */
	UNIC_CTL_ST_TOO_MANY = 71,    /* UNIC_CTL_OPEN_MAX requests are open */
	UNIC_CTL_ST_NO_MEMORY = 72,   /* of the driver itself */
	UNIC_CTL_ST_PERMISSION = 73,  /* root or the driver's user only */
	UNIC_CTL_ST_NO_CONN = 74,     /* no such connection or listener */
	UNIC_CTL_ST_IN_USE = 75,      /* service id taken; va range taken */
	UNIC_CTL_ST_UNREACHABLE = 76, /* no answer from that host */
	UNIC_CTL_ST_REJECTED = 77,    /* by the peer, see CONN_QUERY */
	UNIC_CTL_ST_UNSUPPORTED = 78, /* not by this provider */
	UNIC_CTL_ST_NONE = 79,	      /* CRASH: there is no record */
	UNIC_CTL_ST_REMOTE = 80,      /* KIO: the other host says `error` */
};

/* First 16 bytes of every message. */
struct unic_ctl_hdr {
	unic_le16 op;	  /* enum unic_ctl_op */
	unic_le16 status; /* 0 in requests */
	unic_le32 seq;	  /* the process's own, returned */
	unic_le32 epoch;  /* requests that name an object: the epoch it was
			       * made in (0: do not check), else STALE_EPOCH;
			       * replies: boot_epoch now */
	unic_le32 tail_bytes;
};

/* Requests without fields: INFO, STATS, PS, CRASH, RESET, USAGE, PD_ALLOC.
 * Replies without fields: all that are not mentioned below. */
struct unic_ctl_plain {
	struct unic_ctl_hdr hdr;
	unic_le32 rsvd[12];
};

/* Requests that name one object and nothing else: PD_FREE, MR_DEREG,
 * CQ_DESTROY, QP_DESTROY, QP_QUERY, TOKEN_CANCEL, UNLISTEN, DISCONNECT, CONN_QUERY,
 * EVICT (any region of the host). */
struct unic_ctl_obj {
	struct unic_ctl_hdr hdr;
	unic_le32 id;
	unic_le32 rsvd[11];
};

/*
 * HELLO. Gives the process a slot; may be repeated (after a RESET upcall, for
 * a fresh doorbell), with the same slot as answer. The reply brings four
 * descriptors, now the process's, in this order:
 *   the slot's memory file; the doorbell, to write 8 bytes to when
 *   unic_nic_page.asleep is set (EAGAIN: it rings already); one that is
 *   readable when an armed completion queue has something; one that is readable
 *   when the upcall ring has something. A read of 8 bytes makes these two
 *   unreadable again. The last three are the process's own: what it does to
 *   them reaches nobody else. They say nothing when the driver ends; the socket
 *   does.
 * NO_SLOT; NO_NIC. The slot is that of the process that connected and ends
 * with it, even if a child still has the socket. It is nobody else's as long
 * as anybody has its memory mapped or open. A process that connects anew gets
 * it again if it has not, else another one: its old memory is zeroed when its
 * connection ends, and not touched after that. A process without privilege has
 * one slot at a time and may keep only a few old ones.
 */
struct unic_ctl_hello {
	struct unic_ctl_hdr hdr;
	unic_le32 version; /* UNIC_CTL_VERSION */
	unic_le32 weight;  /* share of entries asked for, 0 = 1; more than
			       * 1 needs privilege */
	uint8_t name[16];  /* for reports; text, zero-padded */
	unic_le32 policy;  /* enum unic_policy */
	unic_le32 flags;   /* UNIC_CTL_HELLO_* */
	unic_le32 slot;	   /* RESUME: `proc` of the first HELLO; else 0 */
	unic_le32 rsvd[3];
};

/*
 * What a process with HELLO_KEEP finds after a reset of the NIC (RESET upcall,
 * detail 2): its protection domains and regions as they were, with the same
 * ids and STags (a notice that was open is void; a region that could not be had
 * again is told EVICTED, reason RESET); REGISTER_WAITs that were not granted
 * still wait; its completion queues, empty, their records counted from 0 again;
 * its queue pairs in state ERR, with new numbers (QP_QUERY), which nothing can be
 * done with before QP_MODIFY to RESET; its listeners. Its tokens ended
 * (TOKEN_END, RESET; one of which nothing is told was used, and its completion
 * is lost), its connections are gone. What it had posted and found no
 * completion for was not or not wholly done. A request that the reset met is
 * answered RESET or NO_NIC, and did nothing.
 */
#define UNIC_CTL_HELLO_KEEP (1u << 0)
/*
 * The driver was started again: a process with HELLO_KEEP that connects anew
 * within a minute, of which only the first second is certain when others find no
 * slot, and says HELLO with RESUME gets its slot again as it is, and finds all as
 * after a reset of the NIC (`resumed` of the reply is 1). It says nothing about
 * what it had: the driver knows that from records of its own, and knows the
 * process by what the system says of the connection. A REGISTER_WAIT
 * that was not granted ended with the connection. HELLO without RESUME gives up
 * what there was, for a process with privilege only when there is no other slot.
 */
#define UNIC_CTL_HELLO_RESUME	 (1u << 1)
#define UNIC_CTL_HELLO_FLAGS_ALL 0x03u
struct unic_ctl_hello_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 slot_bytes;
	unic_le32 proc;	      /* number of the slot */
	unic_le32 grace_us;   /* T */
	unic_le32 deliver_us; /* H */
	unic_le32 bound_us;   /* B */
	unic_le32 tlb_entries;
	unic_le32 ipv4;	    /* of this host's NIC, host order */
	unic_le32 path_mtu; /* bytes */
	unic_le32 frames;   /* 4 KiB frames it may have in all */
	unic_le32 host_id;  /* random, the same for all processes of the host */
	uint8_t nic;	    /* 1: a NIC; 0: loop-back in software */
	uint8_t resumed;    /* 1: see UNIC_CTL_HELLO_RESUME */
	unic_le16 slot_at;  /* where in its file the slot begins, in 64 KiB */
};

/*
 * FRAMES_ALLOC. Frames for pages * 4 KiB of the process's addresses from `va`
 * on, in runs of 2^page_shift bytes that lie together and aligned; runs lie
 * anywhere, deliberately not one after the other. Zeroed. The reply's tail is
 * one unic_le32 per run: its first page in the slot. The process maps
 * them at `va` (which it has reserved before); the driver remembers which frame
 * is behind which address. NO_FRAMES, IN_USE (overlaps frames it has), INVALID
 * (va not aligned to 2^page_shift, pages not a multiple).
 * FRAMES_FREE. The same range; any sub-range of runs. BUSY while a region pins
 * one of them, NOT_MAPPED.
 */
struct unic_ctl_frames {
	struct unic_ctl_hdr hdr;
	unic_le64 va;
	unic_le32 pages;    /* of 4 KiB; <= UNIC_CTL_FRAMES_MAX runs */
	uint8_t page_shift; /* 12, 16 or 21; FRAMES_FREE: 0 */
	uint8_t rsvd0[3];
	unic_le32 rsvd1[8];
};

/* PD_ALLOC is a unic_ctl_plain. Its reply, and LISTEN's: the new object. */
struct unic_ctl_id_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 id;
	unic_le32 rsvd[11];
};

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
	unic_le64 va;
	unic_le64 iova;	  /* address that the NIC knows it by, congruent to
			       * va modulo the page size */
	unic_le64 length; /* bytes */
	unic_le32 pd;
	unic_le32 timeout_us; /* REG_WAIT: 0 = never */
	unic_le32 user;	      /* the process's own, returned in upcalls */
	uint8_t rights;	      /* enum unic_mr_rights */
	uint8_t mr_class;     /* enum unic_mr_class */
	uint8_t page_shift; /* 12, 16, 21; 0: the largest that the frames allow */
	uint8_t key;	    /* low 8 bits of the STag */
	uint8_t importance;
	uint8_t flags;	   /* UNIC_CTL_REG_* */
	uint8_t residency; /* enum unic_residency; one that the device has not
			    * is RESIDENT */
	uint8_t rsvd[5];
};
#define UNIC_CTL_REG_WAIT      (1u << 0)
#define UNIC_CTL_REG_ASYNC     (1u << 1)
#define UNIC_CTL_REG_RANDOM    (1u << 2)
#define UNIC_CTL_REG_FLAGS_ALL 0x07u
struct unic_ctl_mr_reg_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 id;
	unic_le32 stag;	   /* 0 when PENDING */
	unic_le32 entries; /* it holds */
	unic_le32 waited_us;
	uint8_t page_shift; /* that was used */
	uint8_t rsvd0[7];
	unic_le64 iova; /* MR_REG: of va */
	unic_le32 rsvd1[4];
};

/* MR_ADVISE. [offset, offset + length) of a region will be needed, or will not;
 * of a RESIDENT one nothing comes of it. NO_MR, INVALID, BUSY (DONT_NEED: in
 * use). */
struct unic_ctl_mr_advise {
	struct unic_ctl_hdr hdr;
	unic_le64 offset;
	unic_le64 length; /* bytes, not 0 */
	unic_le32 id;
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
	uint8_t page_shift; /* FAST */
	uint8_t key;
	uint8_t importance;
	unic_le32 n; /* FAST: pages; INDIRECT: elements */
	unic_le32 user;
	unic_le32 rsvd[8];
};

/* MR_MAKE. As the command of that name; the request's tail is the list: n struct
 * unic_sge, then n le32 if strided. The reply is a unic_ctl_mr_reg_reply with the
 * new STag. */
struct unic_ctl_mr_make {
	struct unic_ctl_hdr hdr;
	unic_le64 iova;
	unic_le32 id;
	unic_le32 n;
	unic_le32 repeat;
	uint8_t rights;
	uint8_t key;
	uint8_t strided;
	uint8_t rsvd0;
	unic_le32 rsvd[6];
};

/* MR_INVAL names one object. BUSY: it is closed, but something uses it still. */

/*
 * MR_REREG. As the command of that name. With RANGE the new range is pinned before
 * the old one is let go; it has at most UNIC_LIST_MAX pages, of the same size.
 * Any status but OK (and RESET, which ends everything): the old region is as it
 * was.
 */
struct unic_ctl_mr_rereg {
	struct unic_ctl_hdr hdr;
	unic_le64 va;
	unic_le64 iova;
	unic_le64 length;
	unic_le32 id;
	unic_le32 pd; /* id */
	uint8_t what; /* UNIC_REREG_* */
	uint8_t rights;
	uint8_t rsvd0[2];
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
	unic_le32 wait_seq;
	unic_le32 rsvd[11];
};

/* NOTICE_ANSWER. RELEASE is MR_DEREG. Reply: when the grace ends now; REFUSED:
 * `detail` says why. STATE: no such notice is open (any more). */
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
	unic_le64 deadline_ns; /* CLOCK_MONOTONIC */
	unic_le32 detail;      /* enum unic_refusal */
	unic_le32 rsvd[9];
};

/*
 * RESYNC. What is true now, for a process that lost upcalls. Tail: one struct
 * unic_ctl_region per region, or, if `what` is OBJECTS, one struct
 * unic_ctl_object for everything it has, regions too; `next_seq` is the seq the
 * next upcall will have: those before it are covered by the answer. More than
 * fit: `more` is set, and the next request gives the last id as `after`.
 */
#define UNIC_CTL_RESYNC_REGIONS 0u
#define UNIC_CTL_RESYNC_OBJECTS 1u
struct unic_ctl_resync {
	struct unic_ctl_hdr hdr;
	unic_le32 after; /* 0: from the start */
	unic_le32 what;
	unic_le32 rsvd[10];
};
struct unic_ctl_resync_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 regions; /* rows in the tail */
	unic_le32 more;
	unic_le32 next_seq; /* of the upcall ring */
	unic_le32 rsvd[9];
};
struct unic_ctl_region {
	unic_le32 id;
	unic_le32 stag;
	unic_le32 user;
	unic_le32 entries;
	unic_le32 state;       /* enum unic_ctl_region_state */
	unic_le32 notice_seq;  /* NOTIFIED: of the open notice */
	unic_le64 deadline_ns; /* NOTIFIED: CLOCK_MONOTONIC */
};
/* By type: what the fields say. 0 where nothing is said. */
struct unic_ctl_object {
	unic_le32 id;
	unic_le32 type; /* enum unic_ctl_object_type */
	unic_le32 user; /* of the request that made it */
	unic_le32 state;
	unic_le32 number;
	unic_le32 of; /* id of the object it belongs to */
	unic_le32 detail;
	unic_le32 rsvd;
};
enum unic_ctl_object_type {
	UNIC_CTL_O_PD = 1,
	UNIC_CTL_O_MR = 2, /* state enum unic_ctl_region_state; number STag;
			    * of PD; detail enum unic_form_kind, or, WAITING,
			    * seq of the request that waits */
	UNIC_CTL_O_CQ = 3, /* state 1: overrun; number of CQEs' CQ */
	UNIC_CTL_O_QP = 4, /* state enum unic_qp_state; number QPN; of CONN */
	UNIC_CTL_O_TOKEN = 5,	 /* it lives; number index */
	UNIC_CTL_O_LISTENER = 6, /* detail: low 32 bits of the service */
	UNIC_CTL_O_CONN = 7, /* state enum unic_ctl_conn_state; of QP, or, if
			      * REQUESTED, LISTENER; detail IPv4 of the peer */
};
enum unic_ctl_region_state {
	UNIC_CTL_R_WAITING = 1, /* REGISTER_WAIT not granted yet, or loading */
	UNIC_CTL_R_ACTIVE = 2,
	UNIC_CTL_R_NOTIFIED = 3,
	UNIC_CTL_R_EVICTED = 4, /* forget it by MR_DEREG */
};

/* USAGE of the process. Tail: struct unic_cpl_usage. */
struct unic_ctl_usage_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 frames; /* allocated */
	unic_le32 frames_max;
	unic_le32 pinned;  /* frames under at least one region */
	unic_le32 upcalls; /* written so far */
	unic_le32 rsvd[8];
};

/*
 * TOKEN_ALLOC (S3). The id lives until TOKEN_CANCEL, or the TOKEN_END upcall,
 * or its use (the completion RECV_TOKEN names its index): nothing needs to be
 * called for a used token. TOKEN_CANCEL: BUSY while a message is arriving
 * (TOKEN_END follows); NO_TOKEN: it ended, that was told or it was used.
 * F_PIECES is for the driver itself; the tail is its struct unic_token_piece.
 */
struct unic_ctl_token_alloc {
	struct unic_ctl_hdr hdr;
	unic_le64 iova;
	unic_le32 mr; /* id */
	unic_le32 length;
	unic_le32 ttl_us;      /* 0 = until cancelled */
	unic_le32 sender_ipv4; /* 0 = anybody */
	unic_le32 sender_qpn;  /* 0 = any QP there */
	unic_le32 user;
	unic_le32 flags; /* UNIC_TOKEN_F_* */
	unic_le32 rsvd[3];
};
struct unic_ctl_token_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 key;
	unic_le32 id;
	unic_le32 index;
	unic_le32 end;	  /* CANCEL: enum unic_token_end */
	unic_le32 placed; /* CANCEL: bytes */
	unic_le32 rsvd[6];
};

/* CQ_CREATE. The ring is a range of a region of class control. */
struct unic_ctl_cq_create {
	struct unic_ctl_hdr hdr;
	unic_le64 iova;	    /* 64-aligned */
	unic_le32 mr;	    /* id */
	unic_le32 entries;  /* a power of two, 2..4096 */
	unic_le32 db_index; /* row of the doorbell page, < UNIC_DB_OBJECTS */
	unic_le32 user;	    /* returned in CQ_ERROR */
	unic_le32 rsvd[6];
};
/* Reply of CQ_CREATE, QP_CREATE and QP_QUERY. */
struct unic_ctl_queue_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 id;
	unic_le32 number; /* QP: its QP number, as in unic_cqe.qpn */
	unic_le32 state;  /* QP_QUERY: enum unic_qp_state, as the driver
			   * knows it */
	unic_le32 rsvd[9];
};

/* QP_CREATE. State RESET. QP_DESTROY answers when its last DMA is done: what it
 * completes is in memory then, and no completion of it comes later. Requests
 * posted and not completed by then never complete. */
struct unic_ctl_qp_create {
	struct unic_ctl_hdr hdr;
	unic_le64 sq_iova; /* 64-aligned, in region mr */
	unic_le64 rq_iova;
	unic_le32 mr;	    /* id; class control */
	unic_le32 send_cq;  /* id */
	unic_le32 recv_cq;  /* id */
	unic_le16 sq_slots; /* powers of two, 2..1024 */
	unic_le16 rq_slots;
	unic_le32 rq_class; /* buffer class, bytes */
	uint8_t db_index;
	uint8_t type; /* enum unic_qp_type */
	uint8_t miss; /* enum unic_qp_miss */
	uint8_t rsvd0;
	unic_le32 user; /* returned in QP_ERROR and CONN upcalls */
	unic_le32 pd;	/* id; of the region too */
};

/* QP_MODIFY. Fields as in struct unic_cmd_qp_modify. CONNECT and ACCEPT do
 * this by themselves. A destination MAC of zeros is resolved by ARP. */
struct unic_ctl_qp_modify {
	struct unic_ctl_hdr hdr;
	unic_le32 id;
	uint8_t state; /* enum unic_qp_state to enter */
	uint8_t mtu_shift;
	uint8_t rnr_timer;
	uint8_t max_dest_rd;
	uint8_t max_rd;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	unic_le32 dest_qpn;
	unic_le32 rq_psn;
	unic_le32 dest_ipv4;
	uint8_t dest_mac[6];
	uint8_t rights;
	uint8_t vendor;
	unic_le32 sq_psn;
	unic_le32 qkey;
	unic_le32 rsvd[2];
};

/* ------------------------------------------------------------ connections */

/*
 * Connections are made by the driver with the datagrams of the IBTA
 * communication manager (IBTA 12.6: REQ, REP, RTU, REJ, DREQ, DREP), so any
 * conforming peer can take part.
 *
 *   active:  CONNECT (QP in RESET) ....... reply OK when established
 *   passive: LISTEN; CONN_REQUEST upcall; CONN_QUERY for the private data;
 *            ACCEPT (QP in RESET) or REJECT; ESTABLISHED upcall
 *   both:    DISCONNECT; DISCONNECTED upcall at the other side (and at both
 *            when the peer does not answer any more)
 *
 * The QP is of RC or UC, else the answer is STATE, and of the same type at both
 * sides (CONN_QUERY says which is asked for), else REJECTED to both. Of UC only REMOTE_WRITE of the rights
 * counts, and nothing of READs, time-outs and repetitions. It is in RTS when ACCEPT
 * or CONNECT answer OK; post receives before.
 * A connection that does not come to be ends at the active side with CONNECT's
 * time-out, and at the passive side, by DISCONNECTED, when it hears of that:
 * at once, or, if the datagram that says so is lost, within 8 s before ACCEPT
 * and 10 s after it. A consumer has 30 s to accept.
 *
 * On the wire. Each side gives a connection an id of 32 random bits, other than
 * the one in these records; a REQ has a transaction id of 64 random bits, which
 * REP, RTU, REJ and DREP repeat, and between two that are unic DREQ, too (another
 * peer may begin a transaction with it). A message changes a connection only if
 * it comes from the peer's IPv4 and MAC address, names both ids (of what answers a
 * REQ, ours; in a REJ of who heard nothing of us yet, his and no other), and has
 * that transaction, and a DREQ the number of our QP (IBTA 12.6.10). The starting
 * PSN in REQ and REP is the one at which their receiver begins to send (IBTA 12.7):
 * the sender expects it.
 *
 * 64 requests of a process wait for ACCEPT. One more takes the place of the oldest
 * one of the address that has most, which ends DISCONNECTED, reason 2; its peer
 * is told nothing, and gets a place again when it repeats its REQ. So a request
 * of an address that has fewer waiting than another always stays, and any other
 * until 64 more came: at 1000 REQs a second for 64 ms. After ACCEPT, while 64 of
 * the process's connections are not confirmed, the oldest ones are given up 1 s
 * after their REP.
 */

/* LISTEN. IN_USE: another process of the host listens there. PERMISSION (CONNECT,
 * too): services whose upper 56 bits are UNIC_CTL_SERVICE_OWN are the driver's own. */
#define UNIC_CTL_SERVICE_OWN 0x756e69636b696full
struct unic_ctl_listen {
	struct unic_ctl_hdr hdr;
	unic_le64 service;
	unic_le32 user; /* returned in CONN_REQUEST */
	unic_le32 rsvd[9];
};

/* CONNECT, ACCEPT. Tail: private data, 0..UNIC_CTL_PRIVATE_MAX bytes. 0 in one
 * of the one-byte fields: a sensible default. */
struct unic_ctl_connect {
	struct unic_ctl_hdr hdr;
	unic_le64 service;    /* CONNECT */
	unic_le32 ipv4;	      /* CONNECT: peer, host order */
	unic_le32 conn;	      /* ACCEPT: id from the CONN_REQUEST upcall */
	unic_le32 qp;	      /* id */
	unic_le32 timeout_us; /* CONNECT: in all; 0 = 10 s */
	uint8_t rights;	      /* UNIC_MR_REMOTE_*: remote rights of the QP */
	uint8_t rnr_timer;
	uint8_t max_dest_rd; /* 1..4 */
	uint8_t max_rd;	     /* 1..4 */
	uint8_t timeout;
	uint8_t retry_cnt; /* 0 = 7 */
	uint8_t rnr_retry; /* 0 = 7 */
	uint8_t mtu_shift; /* 0 = the path's */
	unic_le32 rsvd[4];
};

/* REJECT. Tail: private data. */
struct unic_ctl_reject {
	struct unic_ctl_hdr hdr;
	unic_le32 conn;
	unic_le32 rsvd[11];
};

/* Reply of CONNECT (also when REJECTED), ACCEPT and CONN_QUERY. Tail: the
 * peer's latest private data. */
struct unic_ctl_conn_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 id;
	unic_le32 state; /* enum unic_ctl_conn_state */
	unic_le32 peer_ipv4;
	unic_le32 peer_qpn;
	unic_le64 service;
	unic_le32 reason; /* REJECTED: IBTA table 108; 28 = the consumer */
	uint8_t vendor;	  /* the peer is unic too: tokens, EVICTED */
	uint8_t max_rd;	  /* as negotiated */
	uint8_t max_dest_rd;
	uint8_t mtu_shift;
	unic_le32 qp;	 /* id */
	uint8_t qp_type; /* enum unic_qp_type */
	uint8_t rsvd0[3];
	unic_le32 rsvd[2];
};
enum unic_ctl_conn_state {
	UNIC_CTL_CONN_CONNECTING = 1,
	UNIC_CTL_CONN_REQUESTED = 2, /* passive: ACCEPT or REJECT */
	UNIC_CTL_CONN_ACCEPTED = 3,  /* passive: not confirmed yet */
	UNIC_CTL_CONN_ESTABLISHED = 4,
	UNIC_CTL_CONN_CLOSING = 5,
	UNIC_CTL_CONN_CLOSED = 6,
	UNIC_CTL_CONN_REJECTED = 7,
};

/* ------------------------------------------------------------ remote files */

/*
 * KIO. The driver's own page service (docs/DESIGN.md section 16): files that the
 * driver of another host exports, by name. No HELLO, no memory of the NIC: the
 * bytes go through this socket, whose messages may be UNIC_CTL_KIO_MSG_MAX long
 * for it. A request's tail is the name, and behind it what is written; the reply's
 * tail what is read. At most UNIC_CTL_KIO_OPEN of them without reply.
 *
 * It is done again when the connection to the other host ends under it, until
 * `timeout_ms`; so what is written may be written twice, and it is not known of
 * what ends TIMEOUT. TIMEOUT; UNREACHABLE, REJECTED (nothing is exported there);
 * REMOTE; NO_NIC, NO_SLOT (for the driver itself); UNSUPPORTED (slots too small, or
 * not by this provider); TOO_MANY.
 */
#define UNIC_CTL_KIO_BYTES	 65536u /* of one READ, WRITE, LIST */
#define UNIC_CTL_KIO_NAME_MAX	 255u
#define UNIC_CTL_KIO_MSG_MAX	 (64u + 256u + UNIC_CTL_KIO_BYTES)
#define UNIC_CTL_KIO_OPEN	 4u
#define UNIC_CTL_KIO_TIMEOUT_MS	 10000u
#define UNIC_CTL_KIO_TIMEOUT_MAX 60000u

enum unic_ctl_kio_what {
	UNIC_CTL_KIO_READ = 1,
	UNIC_CTL_KIO_WRITE = 2,
	UNIC_CTL_KIO_LIST = 3, /* struct unic_kio_entry; offset: how many to
				* leave out */
	UNIC_CTL_KIO_STAT = 4,
	UNIC_CTL_KIO_CUT = 5, /* make the file `offset` bytes long, and exist */
	UNIC_CTL_KIO_STATE = 6, /* of the service here; no name, no address */
};

struct unic_ctl_kio {
	struct unic_ctl_hdr hdr;
	unic_le64 offset;
	unic_le32 ipv4;	      /* of the other host, host order */
	unic_le32 len;	      /* READ, LIST: room, WRITE: bytes; else 0 */
	unic_le32 timeout_ms; /* 0: UNIC_CTL_KIO_TIMEOUT_MS */
	uint8_t what;	      /* enum unic_ctl_kio_what */
	uint8_t name_bytes;   /* with / between folders; none at either end */
	uint8_t rsvd0[2];
	unic_le32 rsvd[6];
};
struct unic_ctl_kio_reply {
	struct unic_ctl_hdr hdr; /* epoch 0 */
	unic_le64 size;	 /* of the file now; LIST: entries left out and sent */
	unic_le32 bytes; /* moved; READ: fewer than asked for only at the end */
	unic_le32 error; /* REMOTE: errno of Linux */
	unic_le64 demand; /* STATE: bytes of buffers it would use */
	unic_le32 window; /* STATE: I/Os under way to a host, at most */
	unic_le32 done;	  /* STATE: I/Os for processes here so far; */
	unic_le32 failed; /* of them, with an error */
	unic_le32 served; /* for other hosts */
	unic_le32 rsvd[2];
};
/* ---------------------------------------------------------------- holders */

/*
 * Who was given an STag or a token (S0 section 3). The exporter says so by
 * GRANT, before it hands the number out; a holder that hands it on says so by
 * DELEGATE. When the region is asked back, each holder gets an INVALIDATE
 * upcall, and answers INVALIDATED when it does not use the number any more (it
 * does not hold it then). When all have answered, or their connections have
 * ended, the driver of the exporter releases the region: it is gone before T,
 * and the exporter gets EVICTED. GRANT is the exporter's consent to that; if it
 * asks for more time (EXTEND) it uses the region itself, and the notice runs its
 * course. A region that nobody was recorded for has its whole grace. Both ends
 * must be unic.
 */
enum unic_ctl_held {
	UNIC_CTL_HELD_STAG = 1,
	UNIC_CTL_HELD_TOKEN = 2, /* its index */
};

/* GRANT. STATE: the connection is not up, or the region is asked back already;
 * UNSUPPORTED: the peer is not unic; QUOTA: too many are recorded. */
struct unic_ctl_grant {
	struct unic_ctl_hdr hdr;
	unic_le32 mr; /* id */
	unic_le32 conn;
	unic_le32 token; /* id: a token of that region; 0: its STag */
	unic_le32 rsvd[9];
};

/*
 * INVALIDATED: STATE if nothing of the kind was asked. DELEGATE: to the peer of
 * the exporter that has address `ipv4` and, towards it, queue pair `qpn`; answered
 * when the exporter has answered: NO_MR if we do not hold it, NO_CONN if it has
 * no such peer, STATE if it is asked back, UNREACHABLE if it says nothing.
 */
struct unic_ctl_held_by {
	struct unic_ctl_hdr hdr;
	unic_le32 conn; /* to the exporter */
	unic_le32 kind; /* enum unic_ctl_held */
	unic_le32 number;
	unic_le32 ipv4; /* DELEGATE; else 0 */
	unic_le32 qpn;
	unic_le32 rsvd[7];
};

/* ------------------------------------------------------------------ admin */

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

/* ------------------------------------------------------------ upcall ring */

/*
 * The driver writes, the process only reads; the driver reads nothing of it,
 * so a process cannot hurt anybody with it. Upcall number n (free-running from
 * 0 at HELLO, which empties the ring) is at n % UNIC_UPCALLS and is there when
 * its seq is n + 1. Reading number n:
 *
 *   s = seq (acquire); s != n + 1: not there yet, or, if s - (n + 1) as a
 *   signed number is > 0, overrun: upcalls were lost, RESYNC;
 *   copy the record; fence (acquire); seq still s: it is good, else overrun.
 *
 * After an upcall the driver sends 8 bytes on the upcall socket. Upcalls of one region
 * that nobody can have read usefully are not repeated: a second NOTICE for an
 * open notice is not written.
 */
#define UNIC_UPCALLS 63u

enum unic_upcall_type {
	UNIC_UP_NOTICE = 1,	   /* unic_upcall_mr: please give it back */
	UNIC_UP_EVICTED = 2,	   /* unic_upcall_mr: it is gone */
	UNIC_UP_GRANTED = 3,	   /* unic_upcall_wait */
	UNIC_UP_WAIT_ENDED = 4,	   /* unic_upcall_wait */
	UNIC_UP_QP_ERROR = 5,	   /* unic_upcall_obj */
	UNIC_UP_CQ_ERROR = 6,	   /* unic_upcall_obj */
	UNIC_UP_TOKEN_END = 7,	   /* unic_upcall_token */
	UNIC_UP_CONN_REQUEST = 8,  /* unic_upcall_conn */
	UNIC_UP_ESTABLISHED = 9,   /* unic_upcall_conn */
	UNIC_UP_DISCONNECTED = 10, /* unic_upcall_conn */
	UNIC_UP_RESET = 11,	   /* unic_upcall_obj. detail = 0: the NIC is
				    * being reset, all objects are gone (frames
				    * are not), wait; 1: it is back, HELLO
				    * again; 2: it is back, and so are the
				    * objects, see UNIC_CTL_HELLO_KEEP */
	UNIC_UP_DB_ERROR = 12,	   /* unic_upcall_obj: a doorbell named nothing;
				    * detail = its word */
	UNIC_UP_INVALIDATE = 13,   /* unic_upcall_held: stop using it, then
				    * INVALIDATED; may come more than once */
};

struct unic_upcall_hdr {
	unic_le32 seq;	/* number + 1, written last */
	uint8_t type;	/* enum unic_upcall_type */
	uint8_t reason; /* NOTICE, EVICTED: enum unic_reason */
	uint8_t rsvd[2];
	unic_le32 epoch;
	unic_le32 id; /* of the object */
};

struct unic_upcall_mr {
	struct unic_upcall_hdr hdr;
	unic_le32 user;
	unic_le32 stag;
	unic_le32 notice_seq;
	unic_le32 entries;
	unic_le32 dependents; /* tokens that end with it */
	unic_le32 rank;	      /* 0 = most wanted */
	unic_le32 flags;      /* EVICTED: UNIC_EVICTED_* */
	unic_le32 grace_us;
	unic_le64 deadline_ns; /* NOTICE: CLOCK_MONOTONIC; not later than the
				* NIC's */
	unic_le32 pain;
	unic_le32 rsvd;
};

struct unic_upcall_wait {
	struct unic_upcall_hdr hdr;
	unic_le32 user;
	unic_le32 stag;
	unic_le32 status; /* GRANTED: 0; else enum unic_(ctl_)status */
	unic_le32 waited_us;
	unic_le32 entries;
	unic_le32 wait_seq; /* seq of the request */
	unic_le32 rsvd[6];
};

struct unic_upcall_obj {
	struct unic_upcall_hdr hdr;
	unic_le32 user;
	unic_le32 detail; /* as in struct unic_evt_obj */
	unic_le32 rsvd[10];
};

struct unic_upcall_token {
	struct unic_upcall_hdr hdr;
	unic_le32 user;
	unic_le32 index;
	unic_le32 end; /* enum unic_token_end */
	unic_le32 placed;
	unic_le32 rsvd[8];
};

struct unic_upcall_conn {
	struct unic_upcall_hdr hdr;
	unic_le32 user;	    /* CONN_REQUEST: of the listener; else of the QP */
	unic_le32 listener; /* CONN_REQUEST: id */
	unic_le32 peer_ipv4;
	unic_le32 peer_qpn;
	unic_le32 qp;		 /* id; CONN_REQUEST: 0 */
	unic_le32 reason;	 /* DISCONNECTED: 0 asked, 1 peer silent, 2 its
				  * place in the queue of requests was needed */
	unic_le32 private_bytes; /* CONN_QUERY has them */
	unic_le32 rsvd[5];
};

struct unic_upcall_held {
	struct unic_upcall_hdr hdr; /* id: the connection */
	unic_le32 user;		    /* of the QP */
	unic_le32 qp;		    /* id */
	unic_le32 kind;		    /* enum unic_ctl_held */
	unic_le32 number;
	unic_le32 grace_us;
	unic_le32 rsvd0;
	unic_le64 deadline_ns; /* CLOCK_MONOTONIC; about */
	unic_le32 rsvd[4];
};

/* Page 2 of the slot. */
struct unic_upcall_ring {
	unic_le32 next;	   /* upcalls written so far; a hint */
	unic_le32 entries; /* UNIC_UPCALLS */
	unic_le32 rsvd[14];
	uint8_t record[UNIC_UPCALLS][64]; /* struct unic_upcall_* */
};

UNIC_ABI_AT(unic_ctl_hdr, seq, 4);
UNIC_ABI_AT(unic_ctl_hdr, tail_bytes, 12);
UNIC_ABI_SIZE(unic_ctl_hdr, 16);
UNIC_ABI_SIZE(unic_ctl_plain, 64);
UNIC_ABI_SIZE(unic_ctl_obj, 64);
UNIC_ABI_AT(unic_ctl_hello, name, 24);
UNIC_ABI_SIZE(unic_ctl_hello, 64);
UNIC_ABI_AT(unic_ctl_hello_reply, slot_bytes, 16);
UNIC_ABI_AT(unic_ctl_hello_reply, host_id, 56);
UNIC_ABI_SIZE(unic_ctl_hello_reply, 64);
UNIC_ABI_AT(unic_ctl_frames, page_shift, 28);
UNIC_ABI_SIZE(unic_ctl_frames, 64);
UNIC_ABI_SIZE(unic_ctl_id_reply, 64);
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
UNIC_ABI_SIZE(unic_ctl_uses, 64);
UNIC_ABI_SIZE(unic_ctl_uses_reply, 64);
UNIC_ABI_SIZE(unic_ctl_wait_cancel, 64);
UNIC_ABI_SIZE(unic_ctl_notice_answer, 64);
UNIC_ABI_SIZE(unic_ctl_notice_reply, 64);
UNIC_ABI_SIZE(unic_ctl_resync, 64);
UNIC_ABI_SIZE(unic_ctl_resync_reply, 64);
UNIC_ABI_SIZE(unic_ctl_object, 32);
UNIC_ABI_SIZE(unic_ctl_grant, 64);
UNIC_ABI_SIZE(unic_ctl_held_by, 64);
UNIC_ABI_AT(unic_upcall_held, deadline_ns, 40);
UNIC_ABI_SIZE(unic_upcall_held, 64);
UNIC_ABI_AT(unic_ctl_region, deadline_ns, 24);
UNIC_ABI_SIZE(unic_ctl_region, 32);
UNIC_ABI_SIZE(unic_ctl_usage_reply, 64);
UNIC_ABI_AT(unic_ctl_token_alloc, mr, 24);
UNIC_ABI_SIZE(unic_ctl_token_alloc, 64);
UNIC_ABI_AT(unic_ctl_token_reply, id, 24);
UNIC_ABI_SIZE(unic_ctl_token_reply, 64);
UNIC_ABI_AT(unic_ctl_cq_create, db_index, 32);
UNIC_ABI_SIZE(unic_ctl_cq_create, 64);
UNIC_ABI_SIZE(unic_ctl_queue_reply, 64);
UNIC_ABI_AT(unic_ctl_qp_create, mr, 32);
UNIC_ABI_AT(unic_ctl_qp_create, db_index, 52);
UNIC_ABI_AT(unic_ctl_qp_create, user, 56);
UNIC_ABI_SIZE(unic_ctl_qp_create, 64);
UNIC_ABI_AT(unic_ctl_qp_modify, state, 20);
UNIC_ABI_AT(unic_ctl_qp_modify, dest_mac, 40);
UNIC_ABI_AT(unic_ctl_qp_modify, qkey, 52);
UNIC_ABI_SIZE(unic_ctl_qp_modify, 64);
UNIC_ABI_SIZE(unic_ctl_listen, 64);
UNIC_ABI_AT(unic_ctl_connect, rights, 40);
UNIC_ABI_SIZE(unic_ctl_connect, 64);
UNIC_ABI_SIZE(unic_ctl_reject, 64);
UNIC_ABI_AT(unic_ctl_conn_reply, service, 32);
UNIC_ABI_SIZE(unic_ctl_conn_reply, 64);
UNIC_ABI_AT(unic_ctl_info_reply, provider, 48);
UNIC_ABI_AT(unic_ctl_kio, what, 36);
UNIC_ABI_SIZE(unic_ctl_kio, 64);
UNIC_ABI_AT(unic_ctl_kio_reply, demand, 32);
UNIC_ABI_SIZE(unic_ctl_kio_reply, 64);
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
UNIC_ABI_SIZE(unic_upcall_hdr, 16);
UNIC_ABI_AT(unic_upcall_mr, deadline_ns, 48);
UNIC_ABI_SIZE(unic_upcall_mr, 64);
UNIC_ABI_SIZE(unic_upcall_wait, 64);
UNIC_ABI_SIZE(unic_upcall_obj, 64);
UNIC_ABI_SIZE(unic_upcall_token, 64);
UNIC_ABI_SIZE(unic_upcall_conn, 64);
UNIC_ABI_AT(unic_upcall_ring, record, 64);
UNIC_ABI_SIZE(unic_upcall_ring, 4096);

#endif /* UNIC_CTL_H */

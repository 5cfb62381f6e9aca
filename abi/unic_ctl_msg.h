/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ctl_msg.h - requests of a process to its driver (unic_ctl.h): operations,
 * statuses, the header of a message, the attachment to a slot, page frames.
 */
#ifndef UNIC_ABI_CTL_MSG_H
#define UNIC_ABI_CTL_MSG_H

#include "unic_types.h"

enum unic_ctl_op {
	/* process */
	UNIC_CTL_HELLO = 1,	     /* unic_ctl_hello: get a slot, first of
				      * all; repeated: the same answer */
	UNIC_CTL_FRAMES_ALLOC = 2,   /* unic_ctl_frames: memory behind a
				      * range of addresses */
	UNIC_CTL_FRAMES_FREE = 3,    /* unic_ctl_frames: give it back */
	UNIC_CTL_PD_ALLOC = 4,	     /* unic_ctl_plain: a protection domain */
	UNIC_CTL_PD_FREE = 5,	     /* unic_ctl_obj; BUSY: something is in
				      * it */
	UNIC_CTL_MR_REG = 8,	     /* unic_ctl_mr_reg: a region */
	UNIC_CTL_MR_DEREG = 9,	     /* unic_ctl_obj: end a region, a form or
				      * a wait */
	UNIC_CTL_WAIT_CANCEL = 10,   /* unic_ctl_wait_cancel: end a wait */
	UNIC_CTL_NOTICE_ANSWER = 11, /* unic_ctl_notice_answer: release,
				      * offer another region, or ask for time */
	UNIC_CTL_RESYNC = 12,	     /* unic_ctl_resync: what there is, after
				      * lost upcalls */
	UNIC_CTL_USAGE = 13,	     /* unic_ctl_plain: how much there is */
	UNIC_CTL_MR_ADVISE = 14,     /* unic_ctl_mr_advise: pages will be
				      * needed, or not */
	UNIC_CTL_TOKEN_ALLOC = 16,   /* unic_ctl_token_alloc: a token for a
				      * range of a region */
	UNIC_CTL_TOKEN_CANCEL = 17,  /* unic_ctl_obj: end it unused */
	UNIC_CTL_CQ_CREATE = 20,     /* unic_ctl_cq_create: a completion
				      * queue */
	UNIC_CTL_CQ_DESTROY = 21,    /* unic_ctl_obj; BUSY: a QP uses it */
	UNIC_CTL_QP_CREATE = 22,     /* unic_ctl_qp_create: a queue pair, in
				      * RESET */
	UNIC_CTL_QP_MODIFY = 23,     /* unic_ctl_qp_modify: change its state;
				      * STATE: it has a connection */
	UNIC_CTL_QP_DESTROY = 24,    /* unic_ctl_obj; its connection ends,
				      * too */
	UNIC_CTL_QP_QUERY = 25,	     /* unic_ctl_obj: its number and state */
	UNIC_CTL_CQ_RESIZE = 26,     /* unic_ctl_cq_resize: its records go to
				      * another ring */
	UNIC_CTL_LISTEN = 28,	     /* unic_ctl_listen: take requests for a
				      * service */
	UNIC_CTL_UNLISTEN = 29,	     /* unic_ctl_obj: no more of them */
	UNIC_CTL_CONNECT = 30,	     /* unic_ctl_connect: to a service of
				      * another host */
	UNIC_CTL_ACCEPT = 31,	     /* unic_ctl_connect: with this queue
				      * pair */
	UNIC_CTL_REJECT = 32,	     /* unic_ctl_reject: end a request with
				      * REJ */
	UNIC_CTL_DISCONNECT = 33,    /* unic_ctl_obj: end a connection; its
				      * id is gone then */
	UNIC_CTL_CONN_QUERY = 34,    /* unic_ctl_obj: its state, peer and
				      * private data */
	UNIC_CTL_GRANT = 35,	     /* unic_ctl_grant: a peer is given an
				      * STag or token */
	UNIC_CTL_DELEGATE = 36,	     /* unic_ctl_held_by: it is handed on */
	UNIC_CTL_INVALIDATED = 37,   /* unic_ctl_held_by: it is used no more */
	UNIC_CTL_CM_CONNECT = 38,    /* unic_ctl_cm: a raw connection */
	UNIC_CTL_CM_ACCEPT = 39,     /* unic_ctl_cm: send REP, RTU, SIDR_REP */
	UNIC_CTL_CM_REJECT = 40,     /* unic_ctl_reject: send REJ */
	UNIC_CTL_CM_DISCONNECT = 41, /* unic_ctl_obj: send DREQ */
	UNIC_CTL_CM_QUERY = 42,	     /* unic_ctl_obj: where it stands */
	UNIC_CTL_CM_FREE = 43,	     /* unic_ctl_obj: end it; its id is gone */
	UNIC_CTL_SRQ_CREATE = 44,    /* unic_ctl_srq_create: a shared receive
				      * queue; UNSUPPORTED: the NIC has none,
				      * or the process says HELLO_KEEP */
	UNIC_CTL_SRQ_MODIFY = 45,    /* unic_ctl_srq_modify: its limit */
	UNIC_CTL_SRQ_DESTROY = 46,   /* unic_ctl_obj; BUSY: a QP uses it */
	UNIC_CTL_MR_ALLOC = 48,	     /* unic_ctl_mr_alloc: a form, not valid
				      * yet */
	UNIC_CTL_MR_MAKE = 49,	     /* unic_ctl_mr_make: make it valid */
	UNIC_CTL_MR_INVAL = 50,	     /* unic_ctl_obj: make it invalid */
	UNIC_CTL_MR_REREG = 51,	     /* unic_ctl_mr_rereg: change a region */
	UNIC_CTL_BATCH = 52,	     /* unic_ctl_batch: several requests in
				      * one */
	UNIC_CTL_OWN_POLICY = 53,    /* unic_ctl_own_policy: of this process */
	UNIC_CTL_CLAIM = 54,	     /* unic_ctl_claim: of the driver itself */
	UNIC_CTL_OWN_RATE = 55,	     /* unic_ctl_rate: transmit limit of this
				      * process, or of a queue pair of it */
	/* anybody who may open the socket; no HELLO needed. DUMP, TRACE, CRASH tell
	 * addresses and STags of all processes: root, or the user the driver runs
	 * as */
	UNIC_CTL_INFO = 64,  /* unic_ctl_plain: driver, NIC's info
			      * page */
	UNIC_CTL_STATS = 65, /* unic_ctl_plain: counters of both */
	UNIC_CTL_DUMP = 66,  /* unic_ctl_dump: a table of the NIC */
	UNIC_CTL_PS = 67,    /* the processes */
	UNIC_CTL_TRACE = 68, /* unic_ctl_trace: events of the NIC */
	UNIC_CTL_CRASH = 69, /* unic_ctl_plain: its crash record */
	UNIC_CTL_USES = 70,  /* unic_ctl_uses: uses of regions */
	UNIC_CTL_NICS = 71,  /* unic_ctl_plain: the NICs of this driver */
	/* anybody, too; served by the driver itself */
	UNIC_CTL_KIO = 72, /* unic_ctl_kio; of unicd alone, in a
			    * kernel BAD_OPCODE; PERMISSION: not
			    * among the users that unicd was given */
	/* anybody, before any other request but NICS */
	UNIC_CTL_SELECT = 73, /* unic_ctl_select: which NIC all requests of
			       * this connection are for */
	/* root, or the user the driver runs as */
	UNIC_CTL_FAULT = 80,	  /* unic_ctl_fault: provoke what should
				   * not happen */
	UNIC_CTL_PARAMS = 81,	  /* unic_ctl_params: times and watermarks */
	UNIC_CTL_POLICY = 82,	  /* unic_ctl_policy: share of a process */
	UNIC_CTL_EVICT = 83,	  /* unic_ctl_obj: ask a region back;
				   * INVALID: class control, or it has no
				   * entries; STATE: not active */
	UNIC_CTL_TRACE_MASK = 84, /* unic_ctl_fault: which events are
				   * recorded */
	UNIC_CTL_RESET = 85,	  /* unic_ctl_plain: of the NIC; OK: it
				   * has begun */
	UNIC_CTL_RATE = 86,	  /* unic_ctl_rate: transmit limit of a
				   * process */
	UNIC_CTL_LIMITS_OF = 87,  /* unic_ctl_limits: what a process may have
				   * the driver do in a second */
};

/*
 * Statuses are those of enum unic_status (NO_PD, NO_MR, ... for ids; TLB_FULL,
 * QUOTA ... from the NIC), and these. From the driver, QUOTA is: the process has
 * its share of such objects (half of the NIC's table, 64 listeners, 1,024 raw connections), and
 * WAIT_FULL: requests that wait have its share of the places (an equal one per
 * process slot, at least one); they come without a tail then. A registration for
 * which others that are under way may have the places is not refused: it is answered
 * after them.
 */
enum unic_ctl_status {
	UNIC_CTL_ST_NO_HELLO = 64, /* say HELLO first */
	UNIC_CTL_ST_NO_SLOT = 65,  /* all process slots are taken */
	UNIC_CTL_ST_NO_NIC = 66,   /* no NIC there, or it does not answer */
	UNIC_CTL_ST_RESET = 67, /* the NIC was reset meanwhile; all is gone */
	UNIC_CTL_ST_NO_FRAMES = 68, /* not enough free frames in such runs */
	UNIC_CTL_ST_NOT_MAPPED =
		69, /* a page of the range has no frame, or iova does not fit
		     * va */
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
	UNIC_CTL_ST_VERSION = 81,     /* HELLO: `version` is not the driver's;
				       * the reply is unic_ctl_hello_version */
	UNIC_CTL_ST_NO_SUCH_NIC = 82, /* SELECT: not one of this driver */
	UNIC_CTL_ST_TOO_FAST = 83,    /* more registrations than the limit of
				       * the process; the reply is
				       * unic_ctl_too_fast_reply */
};

/* First 16 bytes of every message. */
struct unic_ctl_hdr {
	unic_le16 op;	      /* enum unic_ctl_op */
	unic_le16 status;     /* 0 in requests */
	unic_le32 seq;	      /* the process's own, returned */
	unic_le32 epoch;      /* requests that name an object: the epoch it was
			       * made in (0: do not check), else STALE_EPOCH;
			       * replies: boot_epoch now */
	unic_le32 tail_bytes; /* behind the record; other than there are, or
			       * more than the op takes: INVALID */
};

/* Requests without fields: INFO, STATS, NICS, PS, CRASH, RESET, USAGE, PD_ALLOC.
 * Replies without fields: all that are not mentioned below. */
struct unic_ctl_plain {
	struct unic_ctl_hdr hdr;
	unic_le32 rsvd[12];
};

/* Requests that name one object and nothing else: PD_FREE, MR_DEREG,
 * CQ_DESTROY, QP_DESTROY, SRQ_DESTROY, QP_QUERY, TOKEN_CANCEL, UNLISTEN, DISCONNECT, CONN_QUERY,
 * CM_DISCONNECT, CM_QUERY, CM_FREE, EVICT (any region of the host). */
struct unic_ctl_obj {
	struct unic_ctl_hdr hdr;
	unic_le32 id; /* as given when it was made; none of this
		       * process's: NO_PD, NO_MR, ... NO_CONN */
	unic_le32 rsvd[11];
};

/*
 * HELLO. Gives the process a slot; may be repeated, with the same slot and
 * descriptors of the same files as answer. The reply brings four
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
	unic_le32 version; /* UNIC_CTL_VERSION; looked at before all other
			    * fields: another is answered VERSION */
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
#define UNIC_CTL_HELLO_KEEP (1u << 0) /* objects outlast a reset */
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
#define UNIC_CTL_HELLO_RESUME	 (1u << 1) /* `slot`'s, again */
#define UNIC_CTL_HELLO_FLAGS_ALL 0x03u	   /* others: INVALID */
struct unic_ctl_hello_reply {
	struct unic_ctl_hdr hdr;
	unic_le64 slot_bytes;  /* of the memory of the slot, from
				* UNIC_SLOT_DB_PAGE on */
	unic_le32 proc;	       /* number of the slot */
	unic_le32 grace_us;    /* T */
	unic_le32 deliver_us;  /* H */
	unic_le32 bound_us;    /* B */
	unic_le32 tlb_entries; /* of the NIC, for all processes */
	unic_le32 ipv4;	       /* of this host's NIC, host order */
	unic_le32 path_mtu;    /* bytes; 0: the NIC has no link */
	unic_le32 frames;      /* 4 KiB frames it may have in all */
	unic_le32 host_id; /* random, the same for all processes of the host */
	uint8_t nic;	   /* 1: a NIC; 0: loop-back in software */
	uint8_t resumed;   /* 1: see UNIC_CTL_HELLO_RESUME */
	unic_le16 slot_at; /* where in its file the slot begins, in 64 KiB */
};

/* HELLO answered VERSION: no slot and no descriptors. The process may say HELLO again
 * with this version, if it has it. */
struct unic_ctl_hello_version {
	struct unic_ctl_hdr hdr;
	unic_le32 version; /* UNIC_CTL_VERSION of the driver */
	unic_le32 rsvd[11];
};

/*
 * FRAMES_ALLOC. Frames for pages * 4 KiB of the process's addresses from `va`
 * on, in runs of 2^page_shift bytes that lie together and aligned; runs lie
 * anywhere, deliberately not one after the other. Zeroed. The reply's tail is
 * one unic_le32 per run: its first page in the slot. The process maps
 * them at `va` (which it has reserved before); the driver remembers which frame
 * is behind which address. NO_FRAMES, IN_USE (overlaps frames it has), INVALID
 * (va not aligned to 2^page_shift, pages not a multiple).
 * FRAMES_FREE. The same range; any sub-range of runs. The lowest run that is not as
 * it should be decides: NOT_MAPPED, it is not there, or only a part of it is in the
 * range; BUSY, a region pins it.
 */
struct unic_ctl_frames {
	struct unic_ctl_hdr hdr;
	unic_le64 va;	    /* multiple of 2^page_shift; FREE: of 4096 */
	unic_le32 pages;    /* of 4 KiB; <= UNIC_CTL_FRAMES_MAX runs */
	uint8_t page_shift; /* 12, 16 or 21; FRAMES_FREE: 0 */
	uint8_t rsvd0[3];
	unic_le32 rsvd1[8];
};

/* PD_ALLOC is a unic_ctl_plain. Its reply, and LISTEN's: the new object. */
struct unic_ctl_id_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 id; /* of the object, for later requests */
	unic_le32 rsvd[11];
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
UNIC_ABI_AT(unic_ctl_hello_version, version, 16);
UNIC_ABI_SIZE(unic_ctl_hello_version, 64);
UNIC_ABI_AT(unic_ctl_frames, page_shift, 28);
UNIC_ABI_SIZE(unic_ctl_frames, 64);
UNIC_ABI_SIZE(unic_ctl_id_reply, 64);

#endif /* UNIC_ABI_CTL_MSG_H */

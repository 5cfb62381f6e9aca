/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_upcall.h - the upcall ring, in the memory of a process: what its driver
 * says unasked.
 */
#ifndef UNIC_ABI_UPCALL_H
#define UNIC_ABI_UPCALL_H

#include "unic_types.h"

/*
 * The driver writes, the process only reads; the driver reads nothing of it,
 * so a process cannot hurt anybody with it. Upcall number n is at
 * n % UNIC_UPCALLS and is there when its seq is n + 1. Numbers begin at 0 with
 * the HELLO that gives a new slot; after another HELLO, RESUME or a reset of the
 * NIC they run on. Reading number n:
 *
 *   s = seq (acquire); s != n + 1: not there yet, or, if s - (n + 1) as a
 *   signed number is > 0, overrun: upcalls were lost, RESYNC;
 *   copy the record; fence (acquire); seq still s: it is good, else overrun.
 *
 * After an upcall the driver sends 8 bytes on the upcall socket. Upcalls of one region
 * that nobody can have read usefully are not repeated: a second NOTICE for an
 * open notice is not written.
 */
#define UNIC_UPCALLS 63u /* records of the ring */

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
				    * are not), wait; 1: it is back, the slot is
				    * attached, no HELLO is needed; 2: it is
				    * back, and so are the objects, see
				    * UNIC_CTL_HELLO_KEEP */
	UNIC_UP_DB_ERROR = 12,	   /* unic_upcall_obj: a doorbell named nothing;
				    * detail = its word */
	UNIC_UP_INVALIDATE = 13,   /* unic_upcall_held: stop using it, then
				    * INVALIDATED; may come more than once */
	UNIC_UP_IDLE = 14,	   /* unic_upcall_mr: it was not used for long;
				    * give it up by MR_DEREG, or keep it */
	UNIC_UP_CM = 15,	   /* unic_upcall_conn: a raw connection has
				    * changed, CM_QUERY says how */
	UNIC_UP_SRQ_LIMIT = 16,	   /* unic_upcall_obj: it is below its limit */
	UNIC_UP_SRQ_ERROR = 17,	   /* unic_upcall_obj: it gives no receives any
				    * more */
	UNIC_UP_LAST_WQE = 18,	   /* unic_upcall_obj: a queue pair in ERR has
				    * completed its last receive */
};

struct unic_upcall_hdr {
	unic_le32 seq;	/* number + 1, written last */
	uint8_t type;	/* enum unic_upcall_type */
	uint8_t reason; /* NOTICE, EVICTED, IDLE: enum unic_reason */
	uint8_t rsvd[2];
	unic_le32 epoch; /* boot_epoch when it was written */
	unic_le32 id;	 /* of the object; RESET, DB_ERROR: 0 */
};

struct unic_upcall_mr {
	struct unic_upcall_hdr hdr;
	unic_le32 user;	       /* of MR_REG or MR_ALLOC */
	unic_le32 stag;	       /* of the region */
	unic_le32 notice_seq;  /* NOTICE: names it in NOTICE_ANSWER;
				* EVICTED: of its notice, or 0 */
	unic_le32 entries;     /* of the region: NOTICE, IDLE: asked back,
				* EVICTED: given back */
	unic_le32 dependents;  /* NOTICE, IDLE: tokens and forms that end
				* with it */
	unic_le32 rank;	       /* NOTICE: 0 = most wanted; else 0 */
	unic_le32 flags;       /* EVICTED: UNIC_EVICTED_* */
	unic_le32 grace_us;    /* NOTICE: T; else 0 */
	unic_le64 deadline_ns; /* NOTICE: CLOCK_MONOTONIC; not later than the
				* NIC's; else 0 */
	unic_le32 pain;	       /* NOTICE, IDLE: bytes per entry moved
				* lately, when it was chosen (half-life 134
				* ms); EVICTED: 0 */
	unic_le32 rsvd;
};

struct unic_upcall_wait {
	struct unic_upcall_hdr hdr;
	unic_le32 user;	     /* of MR_REG */
	unic_le32 stag;	     /* GRANTED: of the region; WAIT_ENDED: 0 */
	unic_le32 status;    /* GRANTED: 0; else enum unic_(ctl_)status */
	unic_le32 waited_us; /* for entries, microseconds */
	unic_le32 entries;   /* asked for; GRANTED: it holds them */
	unic_le32 wait_seq;  /* seq of the request */
	unic_le32 rsvd[6];
};

struct unic_upcall_obj {
	struct unic_upcall_hdr hdr;
	unic_le32 user;	  /* of the request that made it; RESET,
			   * DB_ERROR: 0 */
	unic_le32 detail; /* QP_ERROR: enum unic_wc_status;
			   * CQ_ERROR: 1 overflow, 2 bus; SRQ_ERROR: 1
			   * wrong tail, 2 bus; RESET,
			   * DB_ERROR: see there */
	unic_le32 rsvd[10];
};

struct unic_upcall_token {
	struct unic_upcall_hdr hdr;
	unic_le32 user;	  /* of TOKEN_ALLOC */
	unic_le32 index;  /* of the token */
	unic_le32 end;	  /* enum unic_token_end */
	unic_le32 placed; /* ABORTED: bytes that are in its buffer;
			   * else 0 */
	unic_le32 rsvd[8];
};

struct unic_upcall_conn {
	struct unic_upcall_hdr hdr;
	unic_le32 user; /* CONN_REQUEST: of the listener; CM: of CM_CONNECT or
			      * CM_ACCEPT, before that of the listener; else of
			      * the QP */
	unic_le32 listener;	 /* CONN_REQUEST; CM: it came so; id */
	unic_le32 peer_ipv4;	 /* host order */
	unic_le32 peer_qpn;	 /* the peer's QP number */
	unic_le32 qp;		 /* id; CONN_REQUEST: 0 */
	unic_le32 reason;	 /* DISCONNECTED: 0 by DREQ or REJ of the peer;
			      * 1 a time is over: of the RTU, or of ACCEPT; 2 its
			      * place in the queue of requests was needed */
	unic_le32 private_bytes; /* CONN_QUERY has them */
	unic_le32 rsvd[5];
};

struct unic_upcall_held {
	struct unic_upcall_hdr hdr; /* id: the connection */
	unic_le32 user;		    /* of the QP */
	unic_le32 qp;		    /* id */
	unic_le32 kind;		    /* enum unic_ctl_held */
	unic_le32 number;	    /* STag or index, as `kind` says */
	unic_le32 grace_us;	    /* left when the exporter sent it */
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

UNIC_ABI_AT(unic_upcall_held, deadline_ns, 40);
UNIC_ABI_SIZE(unic_upcall_held, 64);
UNIC_ABI_SIZE(unic_upcall_hdr, 16);
UNIC_ABI_AT(unic_upcall_mr, deadline_ns, 48);
UNIC_ABI_SIZE(unic_upcall_mr, 64);
UNIC_ABI_SIZE(unic_upcall_wait, 64);
UNIC_ABI_SIZE(unic_upcall_obj, 64);
UNIC_ABI_SIZE(unic_upcall_token, 64);
UNIC_ABI_SIZE(unic_upcall_conn, 64);
UNIC_ABI_AT(unic_upcall_ring, record, 64);
UNIC_ABI_SIZE(unic_upcall_ring, 4096);

#endif /* UNIC_ABI_UPCALL_H */

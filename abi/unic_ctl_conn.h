/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * unic_ctl_conn.h - requests of a process about connections, and about who was
 * given what over them.
 */
#ifndef UNIC_ABI_CTL_CONN_H
#define UNIC_ABI_CTL_CONN_H

#include "unic_ctl_msg.h"

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
 * DISCONNECT takes private data for a peer that is unic, which gets it by CONN_QUERY as
 * long as it has not ended its side: so one that disconnects can say why. Without any,
 * CONN_QUERY of the closed connection has none.
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

/* LISTEN. IN_USE: a process of the host listens there, perhaps this one.
 * PERMISSION (CONNECT, too): services whose upper 56 bits are
 * UNIC_CTL_SERVICE_OWN are the driver's own. */
#define UNIC_CTL_SERVICE_OWN 0x756e69636b696full /* "unickio" */
struct unic_ctl_listen {
	struct unic_ctl_hdr hdr;
	unic_le64 service; /* service id, as in REQ; one listener for
			    * it on a host */
	unic_le32 user;	   /* returned in CONN_REQUEST, CM */
	unic_le32 flags;   /* UNIC_CTL_LISTEN_*; others: INVALID */
	unic_le32 rsvd[8];
};
#define UNIC_CTL_LISTEN_RAW (1u << 0) /* its connections are raw ones */

/* CONNECT, ACCEPT. Tail: private data, 0..UNIC_CTL_PRIVATE_MAX bytes. 0 in one
 * of the one-byte fields: a sensible default. */
struct unic_ctl_connect {
	struct unic_ctl_hdr hdr;
	unic_le64 service;    /* CONNECT; ACCEPT: 0, else INVALID */
	unic_le32 ipv4;	      /* CONNECT: peer, host order, 0: INVALID;
			       * ACCEPT: 0, else INVALID */
	unic_le32 conn;	      /* ACCEPT: id from the CONN_REQUEST upcall;
			       * CONNECT: 0, else INVALID */
	unic_le32 qp;	      /* id */
	unic_le32 timeout_us; /* CONNECT: in all; 0 = 10 s; ACCEPT: not
			       * looked at */
	uint8_t rights;	      /* UNIC_MR_REMOTE_*: remote rights of the QP;
			       * others: INVALID */
	uint8_t rnr_timer;    /* IBTA table 45; 0 = 12 (0.64 ms), above
			       * 31: 31 */
	uint8_t max_dest_rd;  /* READs and atomics of the peer at a time,
			       * 1..16, of a NIC without FEAT_ATOMICS 1..4;
			       * 0: 4; above: the most */
	uint8_t max_rd;	      /* own READs and atomics at a time, likewise */
	uint8_t timeout;      /* 4.096 us * 2^timeout, 1..31, above: 31; 0
			       * = as the driver was told, or 12 (16.8
			       * ms); the peer's if longer */
	uint8_t retry_cnt;    /* 0, above 7: 7 */
	uint8_t rnr_retry;    /* 0, above 7: 7 (any number) */
	uint8_t mtu_shift;    /* 0, or above it = the path's; 1..7:
			       * INVALID; ACCEPT: below the peer's:
			       * REJECTED to both (reason 26) */
	unic_le32 rsvd[4];
};

/* REJECT, CM_REJECT. Tail: private data; CM_REJECT: 148 bytes at most, UD 136. */
struct unic_ctl_reject {
	struct unic_ctl_hdr hdr;
	unic_le32 conn;	  /* id from the CONN_REQUEST upcall */
	unic_le32 reason; /* CM_REJECT of RC and UC: 28 or 0: the consumer; 35:
			   * vendor option not supported; else INVALID. UD: not
			   * looked at. REJECT: 0 */
	unic_le32 rsvd[10];
};

/* Reply of CONNECT (also when REJECTED), ACCEPT and CONN_QUERY. Tail: the
 * peer's latest private data. */
struct unic_ctl_conn_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 id;	     /* of the connection */
	unic_le32 state;     /* enum unic_ctl_conn_state */
	unic_le32 peer_ipv4; /* host order */
	unic_le32 peer_qpn;  /* 0: not known yet */
	unic_le64 service;   /* service id that was asked for */
	unic_le32 reason;    /* REJECTED: IBTA table 108; 28 = the consumer */
	uint8_t vendor;	     /* the peer is unic too: tokens, EVICTED */
	uint8_t max_rd;	     /* as negotiated */
	uint8_t max_dest_rd; /* likewise */
	uint8_t mtu_shift;   /* packets of 2^mtu_shift bytes */
	unic_le32 qp;	     /* id */
	uint8_t qp_type;     /* enum unic_qp_type */
	uint8_t rsvd0[3];
	unic_le64 transaction; /* of the REQ, 64 random bits: the same at both
				* ends, which can know each other by it; 0:
				* the peer is not unic */
};
enum unic_ctl_conn_state {
	UNIC_CTL_CONN_CONNECTING = 1,  /* not answered yet; or its QP is
					* being brought up */
	UNIC_CTL_CONN_REQUESTED = 2,   /* passive: ACCEPT or REJECT */
	UNIC_CTL_CONN_ACCEPTED = 3,    /* passive: not confirmed yet */
	UNIC_CTL_CONN_ESTABLISHED = 4, /* active: RTU sent; passive: RTU came */
	UNIC_CTL_CONN_CLOSING = 5,     /* DISCONNECT; DREP has not come yet */
	UNIC_CTL_CONN_CLOSED = 6,      /* by the peer; DISCONNECT frees its
					* id */
	UNIC_CTL_CONN_REJECTED = 7,    /* in the answer to CONNECT; its id is
					* gone. Raw: until CM_FREE */
	UNIC_CTL_CONN_REPLIED = 8,     /* raw, active: REP came; CM_ACCEPT sends
					* RTU */
	UNIC_CTL_CONN_UNREACHABLE = 9, /* raw: the peer does not answer, or has
					* no such address */
};

/* ------------------------------------------------------- raw connections */

/*
 * A process that moves its queue pair itself, as a program of verbs does, has raw
 * connections. The driver sends and answers the datagrams, repeats them and gives
 * them up as it does for others, and touches no queue pair. It sets no mark, so all
 * private data is the consumer's, and looks at none: a peer is a conventional one.
 *
 *   active:  CM_CONNECT (answered at once); CM upcall, state REPLIED; CM_ACCEPT
 *   passive: LISTEN with LISTEN_RAW; CM upcall, state REQUESTED; CM_ACCEPT or
 *            CM_REJECT; CM upcall, state ESTABLISHED
 *   both:    CM_DISCONNECT; CM upcall, state CLOSED at both; CM_FREE
 *   UD:      CM_CONNECT sends SIDR_REQ, CM_ACCEPT and CM_REJECT SIDR_REP (IBTA
 *            12.11); after which the state is ESTABLISHED, or REJECTED
 *
 * Each change that the process did not make is one CM upcall: CM_QUERY says what
 * there is now. The connection and its last private data stay until CM_FREE, which sends
 * what is due (REJ, DREQ), but for a request that ended before it was accepted, which is
 * gone (NO_CONN). Requests of the other kind are answered STATE for a raw
 * connection, and these for one that is not. 1,024 at a time (QUOTA).
 */

/* CM_CONNECT, CM_ACCEPT. Tail: private data, at most what the datagram has room for:
 * REQ 92 bytes, REP 196, RTU 0, SIDR_REQ 216, SIDR_REP 136, else INVALID. */
struct unic_ctl_cm {
	struct unic_ctl_hdr hdr;
	unic_le64 service;    /* CM_CONNECT, else 0 */
	unic_le32 ipv4;	      /* CM_CONNECT: peer, host order; else 0 */
	unic_le32 conn;	      /* CM_ACCEPT: id; else 0 */
	unic_le32 user;	      /* returned in CM upcalls */
	unic_le32 qpn;	      /* number of a queue pair of the process, else
			       * NO_QP; CM_CONNECT of UD, and RTU: 0 */
	unic_le32 qkey;	      /* SIDR_REP, else 0 */
	unic_le32 timeout_us; /* CM_CONNECT: in all; 0: 10 s; else 0 */
	uint8_t qp_type;      /* CM_CONNECT: RC, UC, UD; else 0 */
	uint8_t max_dest_rd;  /* RC: READs of the peer at a time, 0..16 */
	uint8_t max_rd;	      /* RC: own READs at a time, 0..16 */
	uint8_t timeout;      /* own NIC acknowledges within; 0..31 */
	uint8_t retry_cnt;    /* 0..7 */
	uint8_t rnr_retry;    /* 0..7 */
	uint8_t mtu_shift;    /* REQ: 8..12; 0: the path's */
	uint8_t rsvd0;
	unic_le32 rsvd[2];
};

/* CM_QUERY's reply. Tail: the peer's latest private data. Of a conventional peer the
 * length is what the datagram has room for. */
struct unic_ctl_cm_reply {
	struct unic_ctl_hdr hdr;
	unic_le32 user;	     /* as in CM upcalls */
	unic_le32 state;     /* enum unic_ctl_conn_state */
	unic_le32 peer_ipv4; /* host order */
	unic_le32 peer_qpn;  /* 0: not known yet */
	unic_le32 qkey;	     /* SIDR_REP's; else 0 */
	unic_le32 reason;  /* REJECTED: of the REJ (IBTA table 108); UD: status
			      * of SIDR_REP */
	unic_le32 sq_psn;  /* at which this side begins to send */
	unic_le32 rq_psn;  /* at which the peer does */
	unic_le64 service; /* service id that was asked for */
	uint8_t qp_type;   /* enum unic_qp_type */
	uint8_t mtu_shift; /* packets of 2^mtu_shift bytes */
	uint8_t max_rd;	   /* READs that the peer takes */
	uint8_t max_dest_rd; /* READs that the peer will have outstanding */
	uint8_t timeout;     /* the longer of both sides' */
	uint8_t retry_cnt;   /* that the peer asked for; active: own */
	uint8_t rnr_retry; /* that the peer asked for; active: own until REP */
	uint8_t was_up;	   /* 1: it is ESTABLISHED, or was */
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
 * course. A region that nobody was recorded for has its whole grace. Whoever was
 * given a form is a holder of each region that the form is made of when that is asked
 * back (as the NIC knows it: MR_FORMS), so it is told, and counts, likewise; without
 * MR_FORMS it is told of the end alone, and no region of the exporter is released
 * early while a peer has one of his forms. A region that
 * ends before a holder has answered (by MR_DEREG, without a notice, at its deadline)
 * is INVALIDATEd once more, with no time left, until the holder answers, for a
 * second at most. Both ends must be unic.
 */
enum unic_ctl_held {
	UNIC_CTL_HELD_STAG = 1,	 /* `number` is an STag */
	UNIC_CTL_HELD_TOKEN = 2, /* its index */
};

/* GRANT. STATE: the connection is not up, or the region is asked back already (a form
 * whose region is asked back is granted, and its holder told at once);
 * UNSUPPORTED: the peer is not unic; QUOTA: too many are recorded; INVALID: the
 * STag is not of the region. */
struct unic_ctl_grant {
	struct unic_ctl_hdr hdr;
	unic_le32 mr;	 /* id of the region, of this process */
	unic_le32 conn;	 /* id: to whom */
	unic_le32 token; /* id of a token; 0: the region's STag. The
			  * driver does not check that the token is
			  * of that region */
	unic_le32 stag;	 /* of a form whose key a work request may have
			  * changed; 0: that which the driver knows */
	unic_le32 ended; /* 1: `stag` is of a region that has ended, which
			  * the peer was given over an earlier connection:
			  * tell it; `mr` and `token` are 0 */
	unic_le32 rsvd[7];
};

/*
 * INVALIDATED: STATE if nothing of the kind was asked. DELEGATE: to the peer of
 * the exporter that has address `ipv4` and, towards it, queue pair `qpn`; answered
 * when the exporter has answered: NO_MR if we do not hold it, NO_CONN if it has
 * no such peer, STATE if it is asked back, UNREACHABLE if it says nothing.
 */
struct unic_ctl_held_by {
	struct unic_ctl_hdr hdr;
	unic_le32 conn;	  /* to the exporter */
	unic_le32 kind;	  /* enum unic_ctl_held */
	unic_le32 number; /* STag or index, as `kind` says */
	unic_le32 ipv4;	  /* DELEGATE; else 0 */
	unic_le32 qpn;	  /* DELEGATE: the peer's QP number there;
			   * else 0 */
	unic_le32 rsvd[7];
};

UNIC_ABI_SIZE(unic_ctl_grant, 64);
UNIC_ABI_SIZE(unic_ctl_held_by, 64);
UNIC_ABI_SIZE(unic_ctl_listen, 64);
UNIC_ABI_AT(unic_ctl_connect, rights, 40);
UNIC_ABI_SIZE(unic_ctl_connect, 64);
UNIC_ABI_SIZE(unic_ctl_reject, 64);
UNIC_ABI_AT(unic_ctl_conn_reply, service, 32);
UNIC_ABI_SIZE(unic_ctl_conn_reply, 64);
UNIC_ABI_AT(unic_ctl_cm, qp_type, 48);
UNIC_ABI_SIZE(unic_ctl_cm, 64);
UNIC_ABI_AT(unic_ctl_cm_reply, service, 48);
UNIC_ABI_SIZE(unic_ctl_cm_reply, 64);

#endif /* UNIC_ABI_CTL_CONN_H */

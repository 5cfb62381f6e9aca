/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_conn.h - inside the connection manager: one connection, what is sent for
 * it, and how its QP is brought up (IBTA 12.9, reduced to what RC and UC
 * need).
 *
 *  active:  RESOLVE -> REQ_SENT -> (REP) -> MODIFY -> ESTABLISHED
 *  passive: REQUESTED -> (ACCEPT) MODIFY -> REP_SENT -> (RTU) ESTABLISHED
 *  both:    ESTABLISHED -> DREQ_SENT -> freed;  ESTABLISHED -> (DREQ) CLOSED
 *  raw:     cm_raw.h
 *
 * How long it may take to end, if the peer falls silent: the active side ends
 * with CONNECT's time-out. It says so (REJ), and it does not repeat its REQ any
 * more, so the passive side ends at once or QUIET_NS later. A REP that comes
 * too late is answered REJ; if nothing comes, REP_SENT ends after CONNECT_US, and
 * says so (REJ) to an active side whose RTU was lost.
 *
 * On the wire a connection has a communication id of its own, 32 random bits
 * (unic_os_random()) that no other living one has; a process knows it by
 * another, its object's. The id, the transaction id of a REQ (64 random bits) and
 * the starting PSN are what a peer must have received from us: a message changes
 * a connection only if unic_conn_fits().
 *
 * How long a connection holds a place, and which one gives way (cm_backlog.c). A process
 * has BACKLOG_MAX places for requests that it has neither accepted nor refused:
 *
 *  REQUESTED  8 s after the last REQ of a peer that is unic, 30 s at most; and
 *             until another REQ needs the place. Then the address with most
 *             requests gives one up, its oldest; of several such addresses, the
 *             oldest of all. The process gets DISCONNECTED, the peer nothing: it
 *             repeats its REQ, which counts as a new one.
 *  REP_SENT   10 s; but only CONFIRM_NS while BACKLOG_MAX of the process wait
 *             for RTU: then one more that is accepted ends the two oldest.
 *
 *  REFUSED    8 s after the refusal was said last, without an owner; 64 at most, of which
 *             the oldest gives way. A raw one has an owner until CM_FREE.
 *  DREQ_SENT  until the peer answers, or it was said six times (3.2 s). Those of
 *             processes and QPs that are gone have no owner; they are ORPHANS_MAX
 *             at most, and to the peers of any more DREQ is said once.
 *
 * So a request of an address that has fewer waiting than another is never pushed
 * out; any other one stays for as long as BACKLOG_MAX - 1 requests take to come
 * (64 ms at 1000 a second). REQ cannot prove that its sender is where it says
 * (nothing in IBTA 12 is echoed before REP), so nothing better can be promised to
 * one address among 64 forged ones.
 */
#ifndef UNIC_CM_CONN_H
#define UNIC_CM_CONN_H

#include "request.h"
#include "cm/cm_mad.h"

#define AGAIN_NS   100000000ull /* first repetition after, doubling ... */
#define AGAIN_MAX  1600000000ull
#define QUIET_NS   (5 * AGAIN_MAX) /* a REQ comes again within */
#define CONNECT_US 10000000u
/* Questions of a CONNECT to a NIC, each of a second: the link of one that was just
 * plugged in takes as long, or the other host is slow. */
#define ARP_TRIES  3u
#define CONFIRM_NS 1000000000ull /* REP went out four times */

enum conn_state {
	C_RESOLVE,
	C_REQ_SENT,
	C_REQUESTED,
	C_MODIFY,
	C_REP_SENT,
	C_ESTABLISHED,
	C_DREQ_SENT,
	C_CLOSED,
	C_REPLIED, /* these are of raw connections */
	C_REJECTED,
	C_UNREACHABLE,
	C_REFUSED, /* by this side; the refusal may have been lost */
};

struct conn {
	struct unic_obj obj;
	uint8_t state; /* enum conn_state */
	bool active;
	uint8_t mac[6];
	uint32_t ipv4, user, qp;    /* id of the QP */
	uint32_t comm, remote_comm; /* ids on the wire: this end, peer */
	struct conn *next;	    /* of the same bucket of host->cm.by_comm */
	uint32_t qpn, peer_qpn;	    /* QP numbers; qpn 0: none yet */
	uint32_t my_psn;	    /* at which the peer begins to send */
	uint32_t peer_psn;	    /* at which this end begins to send */
	uint64_t tid, service;
	struct unic_ctl_connect par; /* of the consumer, defaults filled in */
	uint8_t vendor, mtu_shift, priv_bytes;
	uint8_t caps;	 /* the peer's, UNIC_CM_CAP_* */
	uint8_t qp_type; /* enum unic_qp_type; UD: raw ones only */
	bool raw;	 /* its process moves the queue pair (cm_raw.h) */
	bool was_up;	 /* raw: it is ESTABLISHED, or was */
	uint16_t reason; /* raw: of the peer's REJ or SIDR_REP */
	uint32_t qkey;	 /* raw: of the peer's SIDR_REP */
	uint8_t priv[UNIC_CTL_CM_PRIVATE_MAX]; /* the peer's latest */
	struct unic_cm_msg sent;	       /* what is repeated */
	uint32_t tries;			       /* of what is repeated */
	uint64_t again_ns, give_up_ns;	       /* UINT64_MAX: not */
	uint64_t accept_ns;   /* REQUESTED: its consumer's time */
	struct unic_req *req; /* CONNECT, ACCEPT or DISCONNECT not answered */
};

static inline struct conn *conn_get(struct unic_host *host, uint32_t id,
				    uint32_t owner)
{
	return unic_obj_get(&host->objects, id, UNIC_OBJ_CONN, owner);
}

static inline struct unic_hqp *qp_get(struct unic_host *host,
				      const struct conn *c)
{
	return unic_obj_get(&host->objects, c->qp, UNIC_OBJ_QP, c->obj.owner);
}

/* Puts the private data of request @req, and what the NIC is capable of, into the next
 * message of @c: REQ or REP. */
static inline void add_private(struct conn *c, const struct unic_req *req)
{
	if (req->host->features & UNIC_FEAT_TELL_REFUSED)
		c->sent.caps = UNIC_CM_CAP_REFUSED;
	c->sent.priv_bytes = (uint8_t)req->tail_bytes;
	memcpy(c->sent.priv, req->tail, req->tail_bytes);
}

/** unic_conn_mtu_shift() - packets of the path have 2^n bytes. */
uint8_t unic_conn_mtu_shift(struct unic_host *host);

/** unic_conn_timers() - set the times at which @c sends again and gives up
 * (CLOCK_MONOTONIC, ns; UINT64_MAX: never). */
void unic_conn_timers(struct unic_host *host, struct conn *c, uint64_t again,
		      uint64_t give_up);

/** unic_conn_new() - a connection of process @owner with an id, PSN and
 * transaction id of its own. NULL: no memory or no object id left. */
struct conn *unic_conn_new(struct unic_host *host, uint32_t owner);

/** unic_conn_take_private() - @c has the private data of @msg. Of data without a length a
 * consumer gets the first 56 bytes; a raw connection gets all that the message has room
 * for, whether there is a mark in it or not. */
void unic_conn_take_private(struct conn *c, const struct unic_cm_msg *msg);

/** unic_conn_find() - the connection that has @comm on the wire, or NULL. */
struct conn *unic_conn_find(struct unic_host *host, uint32_t comm);

/** unic_conn_is_peer() - true if @mad comes from the IPv4 and MAC address of the peer
 * of @c. */
bool unic_conn_is_peer(const struct conn *c, const struct unic_mad_rx *mad);

/**
 * unic_conn_fits() - whether @msg is of the transaction of @c, whose ids and peer
 * it has: DREQ by the QP that it names (IBTA 12.6.10: the receiver's) and, as IBTA
 * gives it a transaction of its own, by the REQ's only if the peer is unic;
 * all others by the REQ's (DREP: the DREQ's, which is the same).
 */
bool unic_conn_fits(const struct conn *c, const struct unic_cm_msg *msg);

/** unic_conn_free() - free @c; its queue pair may have another connection. */
void unic_conn_free(struct unic_host *host, struct conn *c);

/**
 * unic_conn_mad_new() - a datagram to fill in: UNIC_MAD_BYTES at call.list.
 *
 * Returns NULL if there is no memory for it.
 */
struct unic_req *unic_conn_mad_new(struct unic_host *host);

/**
 * unic_conn_mad_send() - send one datagram, unreliably: a lost one is repeated or given
 * up by the timer of its connection. Takes @req.
 */
void unic_conn_mad_send(struct unic_req *req, uint32_t ipv4,
			const uint8_t mac[6]);

/** unic_conn_send_cm() - send @msg of the connection manager once. */
void unic_conn_send_cm(struct unic_host *host, uint32_t ipv4,
		       const uint8_t mac[6], const struct unic_cm_msg *msg);

/** unic_conn_message() - begin c->sent as a message of @type, with the ids of @c. */
void unic_conn_message(struct conn *c, uint16_t type);

/** unic_conn_ask() - begin c->sent as REQ, of UD SIDR_REQ, with all but private data. */
void unic_conn_ask(struct unic_host *host, struct conn *c);

/** unic_conn_resend() - send c->sent once. */
void unic_conn_resend(struct unic_host *host, struct conn *c);

/** unic_conn_send_until() - send c->sent, and again until it is answered or @give_up
 * (ns, CLOCK_MONOTONIC). */
void unic_conn_send_until(struct unic_host *host, struct conn *c,
			  uint64_t give_up);

/** unic_conn_reject() - send one REJ with @reason, enum unic_cm_reject. */
void unic_conn_reject(struct unic_host *host, struct conn *c, uint16_t reason);

/** unic_conn_answer() - answer @req with @status, @reason, and state and peer of @c. */
void unic_conn_answer(struct unic_req *req, const struct conn *c,
		      uint32_t status, uint32_t reason);

/** unic_conn_state() - the state of @c as enum unic_ctl_conn_state. */
uint32_t unic_conn_state(const struct conn *c);

/** unic_conn_upcall() - send the process of @c upcall @type. */
void unic_conn_upcall(struct unic_host *host, const struct conn *c,
		      uint8_t type, uint32_t listener, uint32_t reason);

/** unic_conn_failed() - @c has failed before it was established: answer its request
 * with @status and @reason, and free @c. */
void unic_conn_failed(struct unic_host *host, struct conn *c, uint32_t status,
		      uint32_t reason);

/** unic_conn_qp_err() - move the queue pair of @c to ERR, which flushes it. */
void unic_conn_qp_err(struct unic_host *host, const struct conn *c);

/**
 * unic_conn_step() - move the queue pair of @c to @state and on to RTS with what the two
 * sides agreed on. Then the passive side sends REP, the active one RTU, and @req is
 * answered; after an error, as unic_conn_failed().
 */
void unic_conn_step(struct unic_req *req, struct conn *c, uint8_t state);

#endif /* UNIC_CM_CONN_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mend.h - connections that a cut ended, and that the library makes again
 * (docs/DESIGN.md section 15.1, which has the states).
 *
 * Secret: which end of a connection was the doing of the application or of its peer, and
 * which that of a cut. mend_thread.h has the steps from there on.
 *
 * Locks: ctx->mender.lock is taken inside of all others but db_lock; no call to the
 * driver is made under it.
 */
#ifndef UNIC_LIB_MEND_H
#define UNIC_LIB_MEND_H

#include "queue.h"

enum unic_mend_state {
	MEND_OFF,	 /* not connected, or not to be mended */
	MEND_CONNECTING, /* for the first time */
	MEND_UP,
	MEND_BROKEN,
	MEND_DEAD, /* no way back, until its owner resets it */
};

/* What a library says to the other one. */
enum unic_mend_what {
	MEND_AGAIN = 1, /* DREQ: I come back. REQ, REP: here I am */
	MEND_GONE = 2,	/* REQ, REJ: there is no way back */
};

/* Private data of such a datagram. */
struct unic_mend_hello {
	uint8_t magic[8];
	unic_le32 what;	    /* enum unic_mend_what */
	unic_le32 received; /* messages that receives completed */
	unic_le64 ident;    /* transaction of the first connection */
	unic_le32 rsvd[4];
};
_Static_assert(sizeof(struct unic_mend_hello) == 40, "as in DESIGN.md");

/** unic_mend_hello() - what @qp has to say. */
struct unic_mend_hello unic_mend_hello(const struct unic_qp *qp,
				       enum unic_mend_what what);

/** unic_mend_is_hello() - @data of @bytes is what a library says as @what. */
bool unic_mend_is_hello(const void *data, size_t bytes,
			enum unic_mend_what what);

/** unic_mend_takes() - 1: @cqe of @qp is held back, and its request with it; -1: it is
 * of no request; 0: it is the application's. Called with the lock of its CQ held. */
int unic_mend_takes(struct unic_qp *qp, bool recv, const struct unic_cqe *cqe);

/* Events, with evt_lock held. True: it is none of the application's business. */
/** unic_mend_error() - QP_ERROR of @qp with @status. */
bool unic_mend_error(struct unic_qp *qp, unsigned int status);
/** unic_mend_closed() - @conn of @qp was closed by the peer, or timed out. */
bool unic_mend_closed(struct unic_qp *qp, uint32_t conn);
/** unic_mend_asked() - connection request @conn came, with @bytes of private data
 * @data of @peer_ipv4. */
bool unic_mend_asked(struct unic_ctx *ctx, uint32_t conn, uint32_t peer_ipv4,
		     const void *data, size_t bytes);
/** unic_mend_query() - unic_mend_asked(), with the data that the driver has. */
bool unic_mend_query(struct unic_ctx *ctx, uint32_t conn);

/** unic_mend_connecting() - @qp is about to be connected with @req, a CONNECT or
 * ACCEPT. */
void unic_mend_connecting(struct unic_qp *qp,
			  const struct unic_ctl_connect *req);
/** unic_mend_connected() - it was answered: @reply, or NULL after an error. */
void unic_mend_connected(struct unic_qp *qp,
			 const struct unic_ctl_conn_reply *reply);

/** unic_mend_stop() - the application ends the connection of @qp: no step is under way
 * after the return, and none follows. */
void unic_mend_stop(struct unic_qp *qp);

/** unic_mend_state() - the state of @qp. */
static inline enum unic_mend_state unic_mend_state(const struct unic_qp *qp)
{
	return __atomic_load_n(&qp->mend.state, __ATOMIC_ACQUIRE);
}

/** unic_mend_at_work() - true while @qp is connected again: what was posted completes
 * later. */
static inline bool unic_mend_at_work(const struct unic_qp *qp)
{
	return unic_mend_state(qp) == MEND_BROKEN;
}

/** unic_mend_broken() - @qp was ended by a cut, with @status. */
void unic_mend_broken(struct unic_qp *qp, unsigned int status);

#endif /* UNIC_LIB_MEND_H */

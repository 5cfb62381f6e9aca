/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * desc.h - descriptors: STags that a message hands out, at both ends (docs/DESIGN.md
 * section 15.3).
 *
 * Secret: what is remembered of the STags that a queue pair's peer was given and has
 * given, and until when.
 *
 *  taken:  HELD -> INVALIDATE came -> ENDED; answered when no request names it any more
 *          HELD -> a request completed REM_EVICTED -> ENDED
 *          ENDED -> a fresh descriptor names it -> HELD
 *  given:  named again, or as no more, on each connection that the library mends
 *
 * Locks: the one of a struct unic_descs is taken inside of all others.
 */
#ifndef UNIC_LIB_DESC_H
#define UNIC_LIB_DESC_H

#include "queue.h"

/** unic_desc_refuses() - true if @wr names an STag that its peer has taken back. Called
 * with the lock of the send ring held. */
bool unic_desc_refuses(struct unic_qp *qp, const struct unic_send_wr *wr);

/** unic_desc_ended() - true if the peer of @qp has taken STag @stag back. */
bool unic_desc_ended(struct unic_qp *qp, uint32_t stag);

/** unic_desc_asked() - INVALIDATE @ev came. True: the application is told. Called with
 * evt_lock held. */
bool unic_desc_asked(struct unic_event *ev);

/** unic_desc_settle() - answer for STags that no request names any more. Called with
 * evt_lock held. */
void unic_desc_settle(struct unic_ctx *ctx);

/** unic_desc_waits() - true if an STag of @qp is to be answered for when no request names
 * it any more. */
bool unic_desc_waits(const struct unic_qp *qp);

/** unic_desc_completed() - requests of such a queue pair completed:
 * unic_desc_settle(). */
void unic_desc_completed(struct unic_ctx *ctx);

/** unic_desc_answered() - the application answers @ev. True: the library does that, or has
 * done it. */
bool unic_desc_answered(struct unic_ctx *ctx, const struct unic_event *ev);

/** unic_desc_evicted() - a request of @qp that named @stag completed REM_EVICTED. */
void unic_desc_evicted(struct unic_qp *qp, uint32_t stag);

/** unic_desc_again() - @qp was connected again: record anew what its peer was given, and
 * tell the peer what is no more. */
void unic_desc_again(struct unic_qp *qp);

/** unic_desc_forget() - @qp has another peer, or none. */
void unic_desc_forget(struct unic_qp *qp);

/** unic_desc_fini() - free what @qp remembers. */
void unic_desc_fini(struct unic_qp *qp);

/** unic_desc_names() - true if a request of @opcode names an STag of the peer. */
static inline bool unic_desc_names(uint8_t opcode)
{
	return opcode == UNIC_WR_WRITE || opcode == UNIC_WR_WRITE_IMM ||
	       opcode == UNIC_WR_READ || opcode == UNIC_WR_COMPARE_SWAP ||
	       opcode == UNIC_WR_FETCH_ADD;
}

#endif /* UNIC_LIB_DESC_H */

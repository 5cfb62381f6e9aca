/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rd_resources.h - READs and atomic operations of a peer (IBTA 9.4.4, 9.4.5, 9.7.5.1.2).
 *
 * Secret: which are owed and which are remembered. A READ that is owed holds its
 * region; an atomic operation has been executed, and has its answer with it. They are
 * answered oldest first, by responder_tx.c. One that is answered stays until another
 * takes its place, since the peer may ask for its end once more.
 */
#ifndef UNIC_RD_RESOURCES_H
#define UNIC_RD_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>

struct unic_cuts;
struct unic_transport;
struct unic_qp_ctx;

/* What a request asks for. */
struct unic_rd_resources_ask {
	uint64_t iova;
	uint32_t psn, rkey, len; /* len in bytes */
};

/**
 * unic_rd_resources_take() - the next request of the peer is a READ.
 *
 * Returns 0: it is owed, and the scheduler knows. -UNIC_EINVAL: more at once than
 * was agreed, or longer than a message may be. -UNIC_EAGAIN: no place just now;
 * the peer will ask again. Else what the access check said.
 */
int unic_rd_resources_take(struct unic_transport *nic, struct unic_qp_ctx *qp,
			   const struct unic_rd_resources_ask *ask);

/** unic_rd_resources_answered() - a READ of one packet, @ask, has its response already; none
 * is owed. It is remembered as the newest. */
void unic_rd_resources_answered(struct unic_qp_ctx *qp,
				const struct unic_rd_resources_ask *ask);

/**
 * unic_rd_resources_again() - a READ with a PSN of the past. It is executed again if it
 * is one of those remembered and asks for the same range, or for packets of it, else it
 * is nothing. Returns 0, or what the access check said.
 */
int unic_rd_resources_again(struct unic_transport *nic, struct unic_qp_ctx *qp,
			    const struct unic_rd_resources_ask *ask);

/**
 * unic_rd_resources_room() - is there a place for a READ or an atomic operation of the
 * peer? Returns 0; -UNIC_EINVAL: more at once than was agreed; -UNIC_EAGAIN: not just
 * now, the peer will ask again.
 */
int unic_rd_resources_room(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_rd_resources_atomic() - the atomic operation with @psn is executed, and @was is
 * its answer, which is owed. There is room for it. */
void unic_rd_resources_atomic(struct unic_transport *nic,
			      struct unic_qp_ctx *qp, uint32_t psn,
			      uint64_t was);

/** unic_rd_resources_atomic_again() - an atomic operation with a PSN of the past. It is
 * answered again if it is one of those remembered, else it is nothing. */
void unic_rd_resources_atomic_again(struct unic_transport *nic,
				    struct unic_qp_ctx *qp, uint32_t psn);

/** unic_rd_resources_done() - all responses of what is at the head are sent; it is
 * remembered. */
void unic_rd_resources_done(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_rd_resources_drop() - @qp has died: none is owed any more, and nobody may ask for
 * what is remembered. */
void unic_rd_resources_drop(struct unic_transport *nic, struct unic_qp_ctx *qp);

/** unic_rd_resources_hold() - the first region of @cuts that one which is owed holds, or
 * UNIC_MR_NIL. */
uint16_t unic_rd_resources_hold(const struct unic_qp_ctx *qp,
				const struct unic_cuts *cuts);

/** unic_rd_resources_oldest() - the oldest PSN that was not answered. */
uint32_t unic_rd_resources_oldest(const struct unic_qp_ctx *qp);

#endif /* UNIC_RD_RESOURCES_H */

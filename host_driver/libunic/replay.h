/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * replay.h - what was posted to a queue pair and has not completed, over the end of its
 * connection.
 *
 * Secret: a request whose completion is held back keeps its slots in the ring, and its
 * fate beside them. So the ring is the list, and its size the bound.
 */
#ifndef UNIC_LIB_REPLAY_H
#define UNIC_LIB_REPLAY_H

#include "queue.h"

/** unic_replay_counts() - true if a request of @opcode takes a receive of the peer. */
bool unic_replay_counts(uint8_t opcode);

/** unic_replay_hold_send(), unic_replay_hold_recv() - keep the request of @cqe, or at
 * slot @pos, which the NIC completed with an error; all earlier sends have succeeded or
 * are held back. False: no request is outstanding there. The lock of the CQ is held. */
bool unic_replay_hold_send(struct unic_ring *sq, const struct unic_cqe *cqe);
bool unic_replay_hold_recv(struct unic_ring *rq, uint64_t pos);

/** unic_replay_holds() - true if the oldest request of @ring is held back: what is
 * behind it may not complete before. The lock of the CQ is held. */
bool unic_replay_holds(const struct unic_ring *ring);

/** unic_replay_hold() - doorbells of @qp wait from now on. */
void unic_replay_hold(struct unic_qp *qp);

/** unic_replay_settled() - true if each request that the NIC was told of has
 * completed. */
bool unic_replay_settled(struct unic_qp *qp);

/** unic_replay_rewind() - @qp is in RESET, and its completions are harvested: its rings
 * begin with what is held back, in order. Receives are posted. */
void unic_replay_rewind(struct unic_qp *qp);

/** unic_replay_resolve() - the peer has received @received messages since the beginning.
 * False: that cannot be, and nothing changed. */
bool unic_replay_resolve(struct unic_qp *qp, uint32_t received);

/** unic_replay_report_sends(), unic_replay_report_recvs() - complete what is held back,
 * with what is known of it; all of it, or not @all: what the NIC was told of. @qp is in
 * RESET; its sends are rewound before. */
void unic_replay_report_sends(struct unic_qp *qp, bool all);
void unic_replay_report_recvs(struct unic_qp *qp, bool all);

/** unic_replay_go() - @qp is connected: doorbells ring. */
void unic_replay_go(struct unic_qp *qp);

/** unic_replay_forget() - doorbells ring; what is held back stays so, to be flushed by
 * unic_cq_recover(), or dropped. */
void unic_replay_forget(struct unic_qp *qp);

#endif /* UNIC_LIB_REPLAY_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * sched_rig.h - the set-up of the tests of the send scheduler: NIC A, whose
 * processes send to NICs B and C, each over its own queue pairs.
 */
#ifndef SCHED_RIG_H
#define SCHED_RIG_H

#include "rig.h"

/*
 * Queue pairs of A at most, processes of each NIC, and bytes of a message of
 * eight frames.
 */
#define SCHED_QPS   6u
#define SCHED_PROCS 3u
#define SCHED_LONG  8192u /* a message of eight frames */

/* NIC A, and NICs B and C, to which it sends. */
extern struct rig sched_a, sched_b, sched_c;

/* The queue pairs of A, and the far end of each. */
extern struct rig_qp sched_qa[SCHED_QPS], sched_far[SCHED_QPS];

/* A region of two pages of each process, of A, B and C. */
extern struct rig_mr sched_ma[SCHED_PROCS], sched_mb[SCHED_PROCS],
	sched_mc[SCHED_PROCS];

/* The domain of each process, of A, B and C. */
extern uint32_t sched_pa[SCHED_PROCS], sched_pb[SCHED_PROCS],
	sched_pc[SCHED_PROCS];

/* B takes no frames. */
extern bool sched_deaf;

/* How many of sched_qa are connected. */
extern uint32_t sched_qps;

/* The process of each frame that A sent, in order. */
extern uint8_t sched_order[16384];

/* Frames that A sent, in all and by process. */
extern uint32_t sched_frames, sched_sent[SCHED_PROCS];

/* The wire's on_frame: counts each frame of A, and delivers it. */
void sched_on_frame(struct unic_port *port, const uint8_t *f, uint32_t len,
		    uint32_t flags);

/*
 * Sets up all three NICs, with processes of the weights @w0, @w1 and @w2, and no
 * queue pair.
 */
void sched_up(uint32_t w0, uint32_t w1, uint32_t w2);

/*
 * Connects a queue pair of process @proc to C, or to B. Returns its index in
 * sched_qa.
 */
uint32_t sched_connect(bool c, uint32_t proc);

/* Posts a WRITE of @len bytes on queue pair @q. */
void sched_write(uint32_t q, uint32_t len);

/* A poll round of A; B and C take all that A sent. */
void sched_round(void);

/*
 * Takes the completions of queue pair @q, which must be successes. Returns their
 * number.
 */
uint32_t sched_completed(uint32_t q);

/* Are at least @most requests of queue pair @q under way? */
bool sched_is_busy(uint32_t q, uint32_t most);

/*
 * Polls, and keeps the queue pairs of @busy (a bit each) supplied with WRITEs of
 * @len bytes, until A has sent @n more frames.
 */
void sched_stream(uint32_t busy, uint32_t len, uint32_t n);

/* Moves @qp of A to the error state. */
void sched_set_error(const struct rig_qp *qp);

#endif /* SCHED_RIG_H */

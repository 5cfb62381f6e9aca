/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * meter.h - transmit rate limits, of processes and of queue pairs.
 *
 * Secret: what counts, and where a queue pair waits for its time. The bytes of each
 * frame count, from the destination address to the ICRC: of requests, repeats
 * included, and of READ responses. A queue pair takes them from its own bucket
 * (base/bucket.h) and from that of its process. While one of the two owes something,
 * the queue pair is parked: it is on no list of the scheduler, so nobody looks at it
 * until that time, and those that are not limited have its turns.
 *
 * What neither waits nor counts: acknowledgements alone, which would cost the peer
 * repeats, and are of its making; a flush, which sends nothing. READ responses wait,
 * and with them what must follow them.
 *
 * A queue pair with a limit, its own or its process's, is marked (UNIC_ON_METERED),
 * and never alone in the sense of sched.h. No other queue pair pays for meters.
 */
#ifndef UNIC_METER_H
#define UNIC_METER_H

#include <stdint.h>

#include "base/bucket.h"
#include "board.h"
#include "transport/qp.h"
#include "transport/requester.h"
#include "unic_mbox.h"

struct unic_transport;

/* Bytes of a turn; a larger burst is given turn by turn. */
#define UNIC_METER_TURN 8192u

struct unic_meter {
	struct unic_bucket bucket;
	uint64_t rate;	/* bytes in a second; 0: no limit */
	uint32_t burst; /* bytes */
	uint32_t held;	/* times that a queue pair was parked for it */
};

struct unic_meters {
	uint16_t parked; /* queue pairs */
	uint16_t own;	 /* first of those parked for their own bucket */
	uint16_t next[UNIC_METERS ? UNIC_QPS : 1];
	struct unic_meter qp[UNIC_METERS ? UNIC_QPS : 1];
	struct unic_meter proc[UNIC_METERS ? UNIC_PROCS : 1];
	struct {
		uint16_t head,
			tail; /* those parked for this process's bucket */
	} line[UNIC_METERS ? UNIC_PROCS : 1];
};

/** unic_meter_init() - nothing is limited. */
void unic_meter_init(struct unic_transport *nic);

/** unic_meter_proc() - limit process @p, without queue pairs, as PROC_ATTACH says.
 * 0 or -UNIC_EINVAL, with nothing changed. */
int unic_meter_proc(struct unic_transport *nic, uint32_t p, uint64_t rate,
		    uint32_t burst);

/** unic_meter_qp() - the new QP @idx has no limit of its own. */
void unic_meter_qp(struct unic_transport *nic, uint16_t idx);

/** unic_meter_rate() - RATE: set, lower or tell a limit. 0, -UNIC_EINVAL,
 * -UNIC_ENOPROC, -UNIC_ENOQP, -UNIC_EQUOTA; on error nothing changes. */
int unic_meter_rate(struct unic_transport *nic, const struct unic_cmd_rate *cmd,
		    struct unic_cpl_rate *out);

/** unic_meter_want() - the metered QP @idx has something to do on list @which: it
 * joins the list, or waits for its time. */
void unic_meter_want(struct unic_transport *nic, uint16_t idx, uint32_t which);

/** unic_meter_turn() - a turn of the metered QP @idx, as unic_requester_send(); or it
 * is parked, and DONE. */
enum unic_turn unic_meter_turn(struct unic_transport *nic, uint16_t idx,
			       uint32_t which, int32_t *left);

/** unic_meter_waits() - true if @qp is parked with requests to send: no answer to those
 * is late yet. */
static inline bool unic_meter_waits(const struct unic_qp_ctx *qp)
{
	return qp->on & UNIC_HELD_SEND;
}

/** unic_meter_forget() - the parked QP @idx waits no longer. */
void unic_meter_forget(struct unic_transport *nic, uint16_t idx);

/** unic_meter_timers() - queue pairs whose time has come go back to the scheduler,
 * UNIC_METER_WAKES of them at most. Returns when to call again, or @next_ns if that
 * is earlier. */
uint64_t unic_meter_timers(struct unic_transport *nic, uint64_t next_ns);
#define UNIC_METER_WAKES (UNIC_QPS < 32u ? UNIC_QPS / 2u : 16u)

#endif /* UNIC_METER_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* meter.c - see meter.h. */
#include "transport/meter.h"

#include <string.h>

#include "transport/transport.h"
#include "transport/tx.h"

#define COLD __attribute__((noinline, cold))

#define RATE_MIN  1000u
#define RATE_MAX  100000000000ull
#define BURST_MIN 16384u /* of those that the NIC chooses */
#define BURST_ANY 65536u /* allowed with any rate */

/* ------------------------------------------------------------------ limits */

COLD void unic_meter_init(struct unic_transport *nic)
{
	struct unic_meters *m = &nic->meters;
	uint32_t p;

	memset(m, 0, sizeof(*m));
	m->own = UNIC_QP_NIL;
	for (p = 0; UNIC_METERS && p < UNIC_PROCS; p++)
		m->line[p].head = UNIC_QP_NIL;
}

static bool rate_ok(uint64_t rate, uint32_t burst)
{
	if (!rate)
		return !burst;
	return rate >= RATE_MIN && rate <= RATE_MAX &&
	       (burst <= BURST_ANY || burst <= rate);
}

/* A 128th of a second: what a NIC that looks late may catch up on. */
static uint32_t usual_burst(uint64_t rate)
{
	return rate >> 7 > BURST_MIN ? (uint32_t)(rate >> 7) : BURST_MIN;
}

static void set_meter(struct unic_transport *nic, struct unic_meter *m,
		      uint64_t rate, uint32_t burst)
{
	m->rate = rate;
	m->burst = rate && !burst ? usual_burst(rate) : burst;
	unic_bucket_set(&m->bucket, nic->now_ns, rate, m->burst,
			UNIC_METER_TURN);
}

/* Marks QP @idx if there is a limit for it. It looks anew what it waits for. */
static void mark_qp(struct unic_transport *nic, uint16_t idx)
{
	struct unic_meters *m = &nic->meters;
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	uint32_t held = qp->on;

	if (held & UNIC_ON_PARKED)
		unic_meter_forget(nic, idx);
	unic_sched_mark(nic, idx, m->qp[idx].rate || m->proc[qp->proc].rate);
	if (held & UNIC_HELD_SEND)
		unic_sched_send(nic, idx);
	if (held & UNIC_HELD_REPLY)
		unic_sched_reply(nic, idx);
}

COLD int unic_meter_proc(struct unic_transport *nic, uint32_t p, uint64_t rate,
			 uint32_t burst)
{
	if (!UNIC_METERS)
		return rate || burst ? -UNIC_EINVAL : 0;
	if (!rate_ok(rate, burst))
		return -UNIC_EINVAL;
	set_meter(nic, &nic->meters.proc[p], rate, burst);
	nic->meters.proc[p].held = 0;
	return 0;
}

COLD void unic_meter_qp(struct unic_transport *nic, uint16_t idx)
{
	if (!UNIC_METERS)
		return;
	memset(&nic->meters.qp[idx], 0, sizeof(nic->meters.qp[idx]));
	mark_qp(nic, idx);
}

/* The meter that @cmd names; NULL: *@err. */
static struct unic_meter *find_meter(struct unic_transport *nic,
				     const struct unic_cmd_rate *cmd, int *err)
{
	uint32_t proc = unic_from_le32(cmd->proc);
	uint32_t qpn = unic_from_le32(cmd->qpn);
	struct unic_qp_ctx *qp;

	*err = -UNIC_ENOPROC;
	if (!unic_slot_live(&nic->base, proc))
		return NULL;
	if (!qpn)
		return &nic->meters.proc[proc];
	qp = unic_qp_by_number(nic, qpn);
	*err = -UNIC_ENOQP;
	if (!qp || qp->proc != proc || qp->dying)
		return NULL;
	return &nic->meters.qp[unic_qp_index(nic, qp)];
}

/* True if a limit of @rate and @burst lets nothing pass that @m does not. */
static bool is_lower(const struct unic_meter *m, uint64_t rate, uint32_t burst)
{
	if (!m->rate)
		return true;
	if (rate && !burst)
		burst = usual_burst(rate);
	return rate && rate <= m->rate && burst <= m->burst;
}

static void mark_all(struct unic_transport *nic, uint32_t proc)
{
	uint32_t i;

	for (i = 0; i < UNIC_QPS; i++)
		if (nic->qps.qp[i].used && !nic->qps.qp[i].dying &&
		    nic->qps.qp[i].proc == proc)
			mark_qp(nic, (uint16_t)i);
}

static int change_meter(struct unic_transport *nic, struct unic_meter *m,
			const struct unic_cmd_rate *cmd)
{
	uint64_t rate = unic_from_le64(cmd->rate);
	uint32_t burst = unic_from_le32(cmd->burst);

	if (!rate_ok(rate, burst))
		return -UNIC_EINVAL;
	if ((unic_from_le32(cmd->flags) & UNIC_RATE_LOWER) &&
	    !is_lower(m, rate, burst))
		return -UNIC_EQUOTA;
	set_meter(nic, m, rate, burst);
	mark_all(nic, unic_from_le32(cmd->proc));
	return 0;
}

COLD int unic_meter_rate(struct unic_transport *nic,
			 const struct unic_cmd_rate *cmd,
			 struct unic_cpl_rate *out)
{
	uint32_t flags = unic_from_le32(cmd->flags);
	struct unic_meter *m;
	int r;

	if (!UNIC_METERS)
		return -UNIC_EOPCODE;
	if ((flags & ~UNIC_RATE_FLAGS_ALL) || flags == UNIC_RATE_LOWER ||
	    (!flags && (unic_from_le64(cmd->rate) || cmd->burst)))
		return -UNIC_EINVAL;
	m = find_meter(nic, cmd, &r);
	if (!m)
		return r;
	r = flags ? change_meter(nic, m, cmd) : 0;
	if (r)
		return r;
	out->rate = unic_to_le64(m->rate);
	out->burst = unic_to_le32(m->burst);
	out->held = unic_to_le32(m->held);
	return 0;
}

/* ----------------------------------------------------------------- parking */

/* True if QP @qp needs a token for what it does on list @which. */
static bool is_gated(const struct unic_qp_ctx *qp, uint32_t which)
{
	if (qp->state == UNIC_QPS_ERR)
		return false;
	return which == UNIC_LIST_SEND || qp->rsp.rd_active;
}

COLD void unic_meter_want(struct unic_transport *nic, uint16_t idx,
			  uint32_t which)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	if (!UNIC_METERS)
		return;
	if (qp->on & 1u << which)
		return;
	if ((qp->on & UNIC_ON_PARKED) && is_gated(qp, which))
		qp->on |= (uint8_t)(UNIC_HELD_SEND << which);
	else
		unic_sched_join(nic, idx, which);
}

/* One more is parked, until @at_ns at the earliest. */
static void wake_at(struct unic_transport *nic, uint64_t at_ns)
{
	nic->meters.parked++;
	if (at_ns < nic->qps.timer_ns)
		nic->qps.timer_ns = at_ns;
	if (at_ns < nic->timers_ns)
		nic->timers_ns = at_ns;
}

static void park_own(struct unic_transport *nic, uint16_t idx)
{
	struct unic_meters *m = &nic->meters;

	m->next[idx] = m->own;
	m->own = idx;
	m->qp[idx].held++;
	wake_at(nic, unic_bucket_at(&m->qp[idx].bucket));
}

static void park_at_proc(struct unic_transport *nic, uint16_t idx)
{
	struct unic_meters *m = &nic->meters;
	uint32_t p = nic->qps.qp[idx].proc;

	m->next[idx] = UNIC_QP_NIL;
	if (m->line[p].head == UNIC_QP_NIL)
		m->line[p].head = idx;
	else
		m->next[m->line[p].tail] = idx;
	m->line[p].tail = idx;
	m->proc[p].held++;
	wake_at(nic, unic_bucket_at(&m->proc[p].bucket));
}

/* True if QP @idx has to wait; it is parked then. */
static bool try_park(struct unic_transport *nic, uint16_t idx)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	struct unic_meters *m = &nic->meters;
	bool own = unic_bucket_at(&m->qp[idx].bucket) > nic->now_ns;

	if (!own && unic_bucket_at(&m->proc[qp->proc].bucket) <= nic->now_ns)
		return false;
	if (qp->on & UNIC_ON_PARKED)
		return true;
	qp->on |= UNIC_ON_PARKED;
	if (own)
		park_own(nic, idx);
	else
		park_at_proc(nic, idx);
	return true;
}

/* True if QP @idx was on the list that begins at *@at. *@prev: the one before. */
static bool unlink_parked(struct unic_meters *m, uint16_t *at, uint16_t idx,
			  uint16_t *prev)
{
	*prev = UNIC_QP_NIL;
	while (*at != UNIC_QP_NIL && *at != idx) {
		*prev = *at;
		at = &m->next[*at];
	}
	if (*at != idx)
		return false;
	*at = m->next[idx];
	return true;
}

COLD void unic_meter_forget(struct unic_transport *nic, uint16_t idx)
{
	struct unic_meters *m = &nic->meters;
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	uint32_t p = qp->proc;
	uint16_t prev;

	if (!UNIC_METERS)
		return;
	if (!unlink_parked(m, &m->own, idx, &prev)) {
		unlink_parked(m, &m->line[p].head, idx, &prev);
		if (m->line[p].tail == idx)
			m->line[p].tail = prev;
	}
	m->parked--;
	qp->on &=
		(uint8_t) ~(UNIC_ON_PARKED | UNIC_HELD_SEND | UNIC_HELD_REPLY);
}

/* ------------------------------------------------------------------- turns */

/* Bytes that QP @idx has sent, or is gathering to send, beside a constant. */
static uint32_t sent_bytes(const struct unic_transport *nic, uint16_t idx)
{
	const struct unic_roce *roce = &nic->qps.roce;
	uint32_t n = (uint32_t)nic->counter[UNIC_C_tx_bytes] + roce->tx_bytes;
	uint32_t i;

	for (i = 0; i < UNIC_TX_BUFS; i++)
		if (roce->tx[i].frame && roce->tx[i].qp == idx)
			n += UNIC_EXT_OFF + ((roce->tx[i].len + 3u) & ~3u) +
			     UNIC_ICRC_BYTES;
	return n;
}

static uint32_t less_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* What the buckets of QP @idx give in a turn, as it is charged. No frame is charged
 * less than its bytes. */
static int32_t given(const struct unic_transport *nic, uint16_t idx,
		     int32_t left)
{
	const struct unic_meters *m = &nic->meters;
	const struct unic_bucket *own = &m->qp[idx].bucket;
	const struct unic_bucket *all = &m->proc[nic->qps.qp[idx].proc].bucket;
	uint32_t turn = UNIC_METER_TURN;
	int32_t most;

	if (own->unit)
		turn = less_of(turn, own->turn);
	if (all->unit)
		turn = less_of(turn, all->turn);
	most = unic_sched_unit(nic, (int32_t)turn);
	return left < most ? left : most;
}

COLD enum unic_turn unic_meter_turn(struct unic_transport *nic, uint16_t idx,
				    uint32_t which, int32_t *left)
{
	struct unic_meters *m = &nic->meters;
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	uint32_t bytes;
	enum unic_turn turn;
	int32_t may, rest;

	if (!UNIC_METERS)
		return UNIC_TURN_DONE;
	if (!is_gated(qp, which))
		return (enum unic_turn)unic_sched_turn(nic, idx, which, left);
	if (try_park(nic, idx)) {
		qp->on |= (uint8_t)(UNIC_HELD_SEND << which);
		return UNIC_TURN_DONE;
	}
	may = given(nic, idx, *left);
	rest = may;
	bytes = sent_bytes(nic, idx);
	turn = (enum unic_turn)unic_sched_turn(nic, idx, which, &rest);
	*left -= may - rest;
	bytes = sent_bytes(nic, idx) - bytes;
	unic_bucket_take(&m->qp[idx].bucket, nic->now_ns, bytes);
	unic_bucket_take(&m->proc[qp->proc].bucket, nic->now_ns, bytes);
	/* of UC and UD nothing is outstanding: no time is set */
	if (bytes && which == UNIC_LIST_SEND && !qp->sq.rnr_wait &&
	    qp->state == UNIC_QPS_RTS)
		unic_requester_timer(nic, qp);
	return turn;
}

/* The parked QP @idx looks again. */
static void unpark(struct unic_transport *nic, uint16_t idx)
{
	uint32_t held = nic->qps.qp[idx].on;

	unic_meter_forget(nic, idx);
	if (held & UNIC_HELD_REPLY)
		unic_sched_reply(nic, idx);
	if (held & UNIC_HELD_SEND)
		unic_sched_send(nic, idx);
}

/* Those that wait for their own time. Returns the next such time. */
static uint64_t wake_own(struct unic_transport *nic, uint32_t *wakes)
{
	struct unic_meters *m = &nic->meters;
	uint64_t next = UINT64_MAX, at;
	uint16_t i = m->own, after;

	for (; i != UNIC_QP_NIL; i = after) {
		after = m->next[i];
		at = unic_bucket_at(&m->qp[i].bucket);
		if (at <= nic->now_ns && *wakes) {
			(*wakes)--;
			unpark(nic, i);
		} else if (at < next) {
			next = at;
		}
	}
	return next;
}

/* Those that wait for their process, the longest first: as many as there is time for;
 * if these leave something, so do the others soon. */
static uint64_t wake_of_proc(struct unic_transport *nic, uint32_t p,
			     uint32_t *wakes)
{
	uint64_t at = unic_bucket_at(&nic->meters.proc[p].bucket);
	const uint16_t *head = &nic->meters.line[p].head;

	for (; at <= nic->now_ns && *head != UNIC_QP_NIL && *wakes; (*wakes)--)
		unpark(nic, *head);
	return *head == UNIC_QP_NIL ? UINT64_MAX : at;
}

COLD uint64_t unic_meter_timers(struct unic_transport *nic, uint64_t next_ns)
{
	uint32_t wakes = UNIC_METER_WAKES, p;
	uint64_t at;

	if (!UNIC_METERS)
		return next_ns;
	at = wake_own(nic, &wakes);
	next_ns = at < next_ns ? at : next_ns;
	for (p = 0; UNIC_METERS && p < UNIC_PROCS; p++) {
		at = wake_of_proc(nic, p, &wakes);
		next_ns = at < next_ns ? at : next_ns;
	}
	return next_ns;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* sched.c - see sched.h. */
#include <string.h>

#include "transport/local_ops.h"
#include "transport/meter.h"
#include "transport/transport.h"
#include "transport/requester.h"
#include "transport/responder.h"
#include "transport/sched_list.h"

/* Work of one round: enough to pay for its fixed cost, little enough that
 * commands and received frames do not wait long. */
#define ROUND_BYTES 65536
#define ROUND_QPS   32u

/* Virtual time of a byte of a process with weight 1; weights have 16 bits. */
#define SCALE (1u << 20)

_Static_assert(UNIC_PATHS <= 16, "a bit of `full` for each");

/* Charges are in 2^-@fine bytes. */
static void cost_set(struct unic_transport *nic, uint32_t frame, uint32_t last,
		     uint8_t fine)
{
	nic->sched.cost = frame << fine;
	nic->sched.cost_last = last << fine;
	nic->order.fine = fine;
}

int32_t unic_sched_unit(const struct unic_transport *nic, int32_t bytes)
{
	return bytes << nic->order.fine;
}

/* For a round in which @stuck: the link is the bottleneck. */
static void cost_choose(struct unic_transport *nic, bool stuck)
{
	uint32_t slot = nic->link.max_frame;

	if (!stuck)
		cost_set(nic, UNIC_COST_CPU, UNIC_COST_CPU_LAST, 0);
	else if (nic->link.slots)
		cost_set(nic, slot, slot, UNIC_SLOT_FINE);
	else
		cost_set(nic, UNIC_COST_LINK, UNIC_COST_LINK, 0);
}

void unic_sched_init(struct unic_transport *nic)
{
	struct unic_sched_order *s = &nic->order;
	uint32_t x, p, l;

	memset(&nic->sched, 0, sizeof(nic->sched));
	memset(s, 0, sizeof(*s));
	if (UNIC_METERS)
		unic_meter_init(nic);
	cost_set(nic, UNIC_COST_LINK, UNIC_COST_LINK, 0);
	for (p = 0; p < UNIC_PROCS; p++)
		s->wait[p].head = UNIC_QP_NIL;
	for (x = 0; x < UNIC_PATHS; x++) {
		unic_tournament_init(&s->path[x].first);
		for (p = 0; p < UNIC_PROCS; p++)
			for (l = 0; l < UNIC_LISTS; l++)
				s->path[x].pair[p].list[l].head = UNIC_QP_NIL;
	}
}

/* ------------------------------------------------------------------- pairs */

static bool has_work(const void *path, uint32_t p)
{
	const struct unic_sched_pair *pair =
		&((const struct unic_sched_path *)path)->pair[p];

	return pair->list[UNIC_LIST_SEND].head != UNIC_QP_NIL ||
	       pair->list[UNIC_LIST_REPLY].head != UNIC_QP_NIL;
}

/* Tags are compared as they lie around the clock: it goes round at 2^64. */
static bool is_before(const void *path, uint32_t a, uint32_t b)
{
	const struct unic_sched_path *in = path;
	int64_t ahead = (int64_t)(in->pair[a].tag - in->pair[b].tag);

	return ahead < 0 || (!ahead && a < b);
}

static bool is_full(const struct unic_sched_order *s, uint32_t x)
{
	return s->full >> x & 1u;
}

/* The time of path @x. */
static uint64_t path_clock(const struct unic_sched_order *s, uint32_t x)
{
	const struct unic_sched_path *path = &s->path[x];

	return (is_full(s, x) ? path->stopped : s->now) - path->offset;
}

/* What a process saved while it had no work is lost; what it owes is not, up to a
 * bound: after 8 TB without work a tag looks as if it were ahead. */
static void pair_join(struct unic_sched_order *s, uint32_t x, uint32_t p)
{
	struct unic_sched_path *path = &s->path[x];
	uint64_t clock = path_clock(s, x);
	uint64_t most = (uint64_t)UNIC_SCHED_DEBT * s->scale[p];
	int64_t owed = (int64_t)(path->pair[p].tag - clock);

	if (owed < 0)
		path->pair[p].tag = clock;
	else if ((uint64_t)owed > most)
		path->pair[p].tag = clock + most;
	s->has[p] |= (uint16_t)(1u << x);
	s->busy |= (uint16_t)(1u << x);
	unic_tournament_play(&path->first, p, path, has_work, is_before);
}

/* The tag of the pair changed, or it has lost its last queue pair. */
static void pair_settle(struct unic_sched_order *s, uint32_t x, uint32_t p)
{
	struct unic_sched_path *path = &s->path[x];

	if (!has_work(path, p))
		s->has[p] &= (uint16_t) ~(1u << x);
	unic_tournament_play(&path->first, p, path, has_work, is_before);
	if (unic_tournament_first(&path->first, path, has_work) ==
	    UNIC_TOURNAMENT_NIL)
		s->busy &= (uint16_t) ~(1u << x);
}

void unic_sched_proc_new(struct unic_transport *nic, uint32_t p)
{
	struct unic_sched_order *s = &nic->order;
	uint32_t x;

	for (x = 0; x < UNIC_PATHS; x++)
		s->path[x].pair[p].tag = path_clock(s, x);
}

static void append_qp(struct unic_transport *nic, uint16_t idx, uint32_t which)
{
	struct unic_sched_order *s = &nic->order;
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	uint32_t x, p;

	UNIC_IN_REGISTER(s);
	UNIC_IN_REGISTER(qp);
	x = qp->tmpl.path % UNIC_PATHS;
	p = qp->proc;
	qp->path = (uint8_t)x;
	unic_list_append(nic, &s->path[x].pair[p].list[which], idx, which);
	if (!(s->has[p] >> x & 1u))
		pair_join(s, x, p);
}

/* It is not alone any more. */
static void append_sole(struct unic_transport *nic)
{
	struct unic_sched *s = &nic->sched;

	append_qp(nic, s->sole,
		  s->sole_on == UNIC_ON_SEND ? UNIC_LIST_SEND
					     : UNIC_LIST_REPLY);
	s->sole_on = 0;
}

/* It is one of several now. A call: who is alone needs no registers for it. */
static __attribute__((noinline)) void join_others(struct unic_transport *nic,
						  uint16_t idx, uint32_t which)
{
	if (nic->sched.sole_on)
		append_sole(nic);
	append_qp(nic, idx, which);
}

static inline void want(struct unic_transport *nic, uint16_t idx,
			uint32_t which)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	uint32_t on = qp->on & (1u << which | UNIC_ON_METERED);

	if (likely(!on)) {
		qp->on |= (uint8_t)(1u << which);
		if (unlikely(nic->sched.work++)) {
			join_others(nic, idx, which);
			return;
		}
		nic->sched.sole = idx;
		nic->sched.sole_on = (uint8_t)(1u << which);
	} else if (unlikely(on & UNIC_ON_METERED)) {
		unic_meter_want(nic, idx, which);
	}
}

void unic_sched_send(struct unic_transport *nic, uint16_t idx)
{
	want(nic, idx, UNIC_LIST_SEND);
}

void unic_sched_reply(struct unic_transport *nic, uint16_t idx)
{
	want(nic, idx, UNIC_LIST_REPLY);
}

void unic_sched_join(struct unic_transport *nic, uint16_t idx, uint32_t which)
{
	nic->qps.qp[idx].on |= (uint8_t)(1u << which);
	nic->sched.work++;
	join_others(nic, idx, which);
}

void unic_sched_mark(struct unic_transport *nic, uint16_t idx, bool metered)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	if (nic->sched.sole_on)
		append_sole(nic);
	qp->on = (uint8_t)((qp->on & ~UNIC_ON_METERED) |
			   (metered ? UNIC_ON_METERED : 0u));
}

/* The queue pair waits for something of its own. */
static void sched_wait(struct unic_transport *nic, uint16_t idx)
{
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];

	if (qp->on & UNIC_ON_SEND)
		return;
	if (!nic->sched.work && !(qp->on & UNIC_ON_METERED)) {
		unic_sched_send(nic, idx);
		return;
	}
	nic->sched.work++;
	if (nic->sched.sole_on)
		append_sole(nic);
	qp->on |= UNIC_ON_SEND;
	qp->on |= UNIC_ON_WAIT;
	nic->order.waits++;
	unic_list_append(nic, &nic->order.wait[qp->proc], idx, UNIC_LIST_SEND);
}

/* The one of process @p that waits longest looks again, in its turn. */
static void sched_unwait(struct unic_transport *nic, uint32_t p)
{
	struct unic_sched_order *s = &nic->order;
	uint16_t idx = s->wait[p].head;

	if (idx == UNIC_QP_NIL)
		return;
	unic_list_take(nic, &s->wait[p], UNIC_LIST_SEND);
	nic->qps.qp[idx].on &= (uint8_t)~UNIC_ON_WAIT;
	s->waits--;
	unic_sched_send(nic, idx);
}

void unic_sched_drop(struct unic_transport *nic, uint16_t idx)
{
	struct unic_sched_order *s = &nic->order;
	struct unic_qp_ctx *qp = &nic->qps.qp[idx];
	struct unic_sched_pair *pair;

	if (nic->sched.sole_on)
		append_sole(nic);
	if (qp->on & UNIC_ON_PARKED)
		unic_meter_forget(nic, idx);
	if (qp->on & UNIC_ON_WAIT) {
		unic_list_unlink(nic, &s->wait[qp->proc], idx, UNIC_LIST_SEND);
		s->waits--;
		qp->on &= (uint8_t)~UNIC_ON_WAIT;
	}
	if (!(qp->on & (UNIC_ON_SEND | UNIC_ON_REPLY)))
		return;
	pair = &s->path[qp->path].pair[qp->proc];
	if (qp->on & UNIC_ON_REPLY)
		unic_list_unlink(nic, &pair->list[UNIC_LIST_REPLY], idx,
				 UNIC_LIST_REPLY);
	if (qp->on & UNIC_ON_SEND)
		unic_list_unlink(nic, &pair->list[UNIC_LIST_SEND], idx,
				 UNIC_LIST_SEND);
	pair_settle(s, qp->path, qp->proc);
}

/* ------------------------------------------------------------------- turns */

/* The path of @qp has no room: its clock stops. */
static void path_stop(struct unic_transport *nic, const struct unic_qp_ctx *qp)
{
	struct unic_sched_order *s = &nic->order;
	uint32_t x = qp->tmpl.path % UNIC_PATHS;

	if (is_full(s, x))
		return;
	s->path[x].stopped = s->now;
	s->full |= (uint16_t)(1u << x);
}

/* Whether there is room by now, an attempt will tell. */
static void paths_try(struct unic_sched_order *s)
{
	uint32_t x;

	for (x = 0; s->full; x++) {
		if (is_full(s, x))
			s->path[x].offset += s->now - s->path[x].stopped;
		s->full &= (uint16_t) ~(1u << x);
	}
}

/* The path of the pair that was charged least, if any is open: the clock is set
 * to it. Otherwise UNIC_PATHS. */
static uint32_t path_pick(struct unic_sched_order *s)
{
	uint32_t open = s->busy & ~(uint32_t)s->full, best = UNIC_PATHS, x, p;
	int64_t least = 0, ahead;

	for (; open; open &= open - 1) {
		x = (uint32_t)__builtin_ctz(open);
		p = unic_tournament_first(&s->path[x].first, &s->path[x],
					  has_work);
		ahead = (int64_t)(s->path[x].pair[p].tag + s->path[x].offset -
				  s->now);
		if (best != UNIC_PATHS && ahead >= least)
			continue;
		best = x;
		least = ahead;
	}
	if (least > 0)
		s->now += (uint64_t)least;
	return best;
}

/* Replies first; while READ responses are left, or one has no room, both lists
 * alternate: what is on the other may need none. */
static uint32_t list_pick(const struct unic_sched_pair *pair)
{
	bool reply = pair->list[UNIC_LIST_REPLY].head != UNIC_QP_NIL;
	bool send = pair->list[UNIC_LIST_SEND].head != UNIC_QP_NIL;

	return reply && !(send && pair->send_next) ? UNIC_LIST_REPLY
						   : UNIC_LIST_SEND;
}

static enum unic_turn plain_run(struct unic_transport *nic, uint16_t idx,
				uint32_t which, int32_t *left)
{
	nic->qps.roce.tx_blocked = false;
	if (which == UNIC_LIST_REPLY)
		return unic_responder_reply(nic, idx, left);
	return unic_requester_send(nic, idx, left);
}

int unic_sched_turn(struct unic_transport *nic, uint16_t idx, uint32_t which,
		    int32_t *left)
{
	return (int)plain_run(nic, idx, which, left);
}

static enum unic_turn qp_run(struct unic_transport *nic, uint16_t idx,
			     uint32_t which, int32_t *left)
{
	if (unlikely(nic->qps.qp[idx].on & UNIC_ON_METERED))
		return unic_meter_turn(nic, idx, which, left);
	return plain_run(nic, idx, which, left);
}

/* Where the queue pair goes after its turn. Only one that waits reads a list: one
 * that cannot send may be in the way of others for long. */
static void qp_requeue(struct unic_transport *nic, uint16_t idx, uint32_t which,
		       enum unic_turn turn)
{
	if (which == UNIC_LIST_SEND && turn != UNIC_TURN_WAIT)
		unic_local_op_drop(nic, &nic->qps.qp[idx]);
	if (turn == UNIC_TURN_WAIT)
		sched_wait(nic, idx);
	else if (turn != UNIC_TURN_DONE && which == UNIC_LIST_REPLY)
		unic_sched_reply(nic, idx);
	else if (turn != UNIC_TURN_DONE)
		unic_sched_send(nic, idx);
}

/* One queue pair of @pair; its path is closed if that is full. */
static enum unic_turn pair_run_one(struct unic_transport *nic,
				   struct unic_sched_pair *pair, int32_t *left)
{
	uint32_t which = list_pick(pair);
	uint16_t idx = unic_list_take(nic, &pair->list[which], which);
	int32_t before = *left;
	enum unic_turn turn = qp_run(nic, idx, which, left);

	pair->send_next = which == UNIC_LIST_REPLY && turn != UNIC_TURN_DONE;
	if (turn == UNIC_TURN_BLOCKED && nic->qps.roce.tx_blocked)
		path_stop(nic, &nic->qps.qp[idx]);
	else if (*left == before)
		*left -= unic_sched_unit(nic, UNIC_COST_IDLE);
	qp_requeue(nic, idx, which, turn);
	return turn;
}

/* Virtual time of a byte for process @p, now that it has work for @paths. */
static uint64_t byte_time(struct unic_transport *nic, uint32_t p,
			  uint32_t paths)
{
	struct unic_sched_order *s = &nic->order;
	uint32_t weight = nic->share.owner[p].weight, n = 0;

	if (unlikely(s->weight[p] != weight)) {
		s->weight[p] = weight;
		s->scale[p] = SCALE / (weight ? weight : 1);
	}
	for (; paths; paths &= paths - 1)
		n++;
	return (uint64_t)s->scale[p] * (n ? n : 1);
}

/* What process @p's turn on path @x used up, in the unit of this round. */
static void pair_charge(struct unic_transport *nic, uint32_t x, uint32_t p,
			int32_t used)
{
	struct unic_sched_order *s = &nic->order;
	uint32_t open = s->has[p] & ~(uint32_t)s->full;

	s->path[x].pair[p].tag +=
		((uint32_t)used >> s->fine) * byte_time(nic, p, open);
	pair_settle(s, x, p);
}

/* What a READ was charged for packets that did not come. */
static uint64_t unread_cost(const struct unic_qp_ctx *qp,
			    const struct unic_wr *wr)
{
	uint64_t paid = unic_sched_read_cost(qp->mtu_shift, wr->npkt), had;
	int32_t came = unic_psn_diff(qp->sq.psn_una, wr->psn);

	paid = paid < UNIC_SCHED_DEBT ? paid : UNIC_SCHED_DEBT;
	had = unic_sched_read_cost(qp->mtu_shift,
				   came > 0 ? (uint32_t)came : 0);
	return paid > had ? paid - had : 0;
}

void unic_sched_unread(struct unic_transport *nic, const struct unic_qp_ctx *qp,
		       struct unic_wr *wr)
{
	struct unic_sched_order *s = &nic->order;
	uint64_t *tag = &s->path[qp->path].pair[qp->proc].tag, back;
	int64_t owed;

	if (!(wr->slots & UNIC_WR_PAID))
		return;
	wr->slots &= (uint8_t)~UNIC_WR_PAID;
	owed = (int64_t)(*tag - path_clock(s, qp->path));
	if (owed <= 0)
		return;
	back = unread_cost(qp, wr) * s->scale[qp->proc];
	*tag -= back < (uint64_t)owed ? back : (uint64_t)owed;
	pair_settle(s, qp->path, qp->proc);
}

/*
 * The first queue pair of process @p on path @x, which was full a moment ago, if it
 * needs no room there; else it goes to the end, so that the next one is asked next.
 * Room that comes this instant is for those who are due: one step, and no frame.
 */
static bool path_probe(struct unic_transport *nic, uint32_t x, uint32_t p)
{
	struct unic_sched_pair *pair = &nic->order.path[x].pair[p];
	enum unic_turn turn = UNIC_TURN_BLOCKED;
	int32_t left = 1;
	uint16_t idx;

	if (pair->list[UNIC_LIST_SEND].head == UNIC_QP_NIL)
		return false;
	idx = unic_list_take(nic, &pair->list[UNIC_LIST_SEND], UNIC_LIST_SEND);
	if (unic_requester_is_local(&nic->qps.qp[idx]))
		turn = qp_run(nic, idx, UNIC_LIST_SEND, &left);
	qp_requeue(nic, idx, UNIC_LIST_SEND, turn);
	pair_charge(nic, x, p, 1 - left);
	return turn <= UNIC_TURN_MORE;
}

/* Path @x is full, and process @p, who is the first, needs room there. Others may
 * not: they have something to flush, or local operations. Each round asks one of
 * them, in turn. */
static bool path_probe_next(struct unic_transport *nic, uint32_t x, uint32_t p)
{
	struct unic_sched_path *path = &nic->order.path[x];
	uint32_t i;

	for (i = 0; i < UNIC_PROCS; i++) {
		path->asked = (uint16_t)((path->asked + 1u) % UNIC_PROCS);
		if (path->asked != p && has_work(path, path->asked))
			return path_probe(nic, x, path->asked);
	}
	return false;
}

/* A turn on path @x. True if anything was done. */
static bool path_run(struct unic_transport *nic, uint32_t x, int32_t *bytes,
		     uint32_t *qps)
{
	struct unic_sched_path *path = &nic->order.path[x];
	uint32_t p = unic_tournament_first(&path->first, path, has_work);
	int32_t whole = unic_sched_unit(nic, UNIC_SCHED_TURN);
	int32_t left = whole;
	enum unic_turn turn;
	bool worked = false;

	do {
		turn = pair_run_one(nic, &path->pair[p], &left);
		worked |= turn <= UNIC_TURN_MORE;
		(*qps)--;
	} while (left > 0 && *qps && turn <= UNIC_TURN_MORE &&
		 has_work(path, p));
	*bytes -= whole - left;
	pair_charge(nic, x, p, whole - left);
	if (is_full(&nic->order, x) && *qps) {
		worked |= path_probe_next(nic, x, p);
		(*qps)--;
	}
	return worked;
}

/* Who is alone could not go on. If that was for want of room, the link is the
 * bottleneck for those who come, too. */
static __attribute__((noinline, cold)) void
sole_blocked(struct unic_transport *nic, enum unic_turn turn)
{
	nic->order.stuck = turn == UNIC_TURN_BLOCKED &&
			   nic->qps.roce.tx_blocked;
	nic->qps.roce.tx_blocked = false;
}

void unic_sched_drop_sole(struct unic_transport *nic, struct unic_qp_ctx *qp)
{
	struct unic_sched *s = &nic->sched;

	qp->on = 0;
	s->sole_on = 0;
	s->work = 0;
}

/* The only thing to do. There is nobody to be fair to, so it may use up the
 * round. */
static bool run_sole(struct unic_transport *nic)
{
	struct unic_sched *s = &nic->sched;
	int32_t left = ROUND_BYTES;
	uint32_t on = s->sole_on;
	uint16_t idx = s->sole;
	enum unic_turn turn;

	nic->qps.qp[idx].on = 0;
	s->sole_on = 0;
	s->work = 0;
	if (on == UNIC_ON_REPLY) {
		turn = unic_responder_reply(nic, idx, &left);
		if (turn != UNIC_TURN_DONE)
			unic_sched_reply(nic, idx);
	} else {
		turn = unic_requester_send(nic, idx, &left);
		if (turn != UNIC_TURN_DONE)
			unic_sched_send(nic, idx);
	}
	if (likely(turn <= UNIC_TURN_MORE))
		return true;
	sole_blocked(nic, turn);
	return false;
}

/* Those who are not alone. */
static __attribute__((noinline)) bool run_order(struct unic_transport *nic)
{
	struct unic_sched_order *s = &nic->order;
	int32_t bytes;
	uint32_t qps = ROUND_QPS, p;
	bool worked = false;

	cost_choose(nic, s->stuck);
	bytes = unic_sched_unit(nic, ROUND_BYTES);
	paths_try(s);
	for (p = 0; s->waits && p < UNIC_PROCS; p++)
		sched_unwait(nic, p);
	while ((s->busy & ~(uint32_t)s->full) && bytes > 0 && qps)
		worked |= path_run(nic, path_pick(s), &bytes, &qps);
	s->stuck = s->busy && !(s->busy & ~(uint32_t)s->full);
	cost_set(nic, UNIC_COST_LINK, UNIC_COST_LINK, 0);
	return worked;
}

bool unic_sched_run(struct unic_transport *nic)
{
	if (likely(nic->sched.sole_on))
		return run_sole(nic);
	return run_order(nic);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* sched.c - see sched.h. */
#include <string.h>

#include "nic.h"
#include "requester.h"
#include "responder.h"

/* Work of one round: enough to pay for its fixed cost, little enough that
 * commands and received frames do not wait long. */
#define ROUND_BYTES 65536
#define ROUND_QPS   16u

void unic_sched_init(struct unic_nic *nic)
{
	struct unic_sched *s = &nic->sched;
	uint32_t p;

	memset(s, 0, sizeof(*s));
	s->reply.head = UNIC_QP_NIL;
	for (p = 0; p < UNIC_PROCS; p++)
		s->send[p].head = UNIC_QP_NIL;
}

static void append(struct unic_nic *nic, struct unic_sched_list *list,
		   uint16_t idx, uint32_t which)
{
	struct unic_qp *qp = &nic->qps.qp[idx];

	qp->next[which] = UNIC_QP_NIL;
	if (list->head == UNIC_QP_NIL)
		list->head = idx;
	else
		nic->qps.qp[list->tail].next[which] = idx;
	list->tail = idx;
}

static void append_send(struct unic_nic *nic, uint16_t idx)
{
	struct unic_sched *s = &nic->sched;
	uint32_t p = nic->qps.qp[idx].proc;

	unic_set_add(&s->ready, p);
	append(nic, &s->send[p], idx, UNIC_LIST_SEND);
}

/* It is not alone any more. */
static void append_sole(struct unic_nic *nic)
{
	struct unic_sched *s = &nic->sched;

	if (s->sole_on == UNIC_ON_SEND)
		append_send(nic, s->sole);
	else
		append(nic, &s->reply, s->sole, UNIC_LIST_REPLY);
	s->sole_on = 0;
}

static uint16_t take_first(struct unic_nic *nic, struct unic_sched_list *list,
			   uint32_t which)
{
	uint16_t idx = list->head;
	struct unic_qp *qp = &nic->qps.qp[idx];

	list->head = qp->next[which];
	qp->on &= (uint8_t) ~(1u << which);
	nic->sched.work--;
	return idx;
}

static void unlink_from(struct unic_nic *nic, struct unic_sched_list *list,
			uint16_t idx, uint32_t which)
{
	struct unic_qp *qps = nic->qps.qp;
	uint16_t *at = &list->head;
	uint16_t prev = UNIC_QP_NIL;

	while (*at != idx) {
		prev = *at;
		at = &qps[*at].next[which];
	}
	*at = qps[idx].next[which];
	if (list->tail == idx)
		list->tail = prev;
	qps[idx].on &= (uint8_t) ~(1u << which);
	nic->sched.work--;
}

/* One more has something to do. True if it is alone. */
static inline bool alone(struct unic_nic *nic, struct unic_qp *qp, uint16_t idx,
			 uint32_t on)
{
	struct unic_sched *s = &nic->sched;

	qp->on |= (uint8_t)on;
	if (__builtin_expect(!s->work++, 1)) {
		s->sole = idx;
		s->sole_on = (uint8_t)on;
		return true;
	}
	if (s->sole_on)
		append_sole(nic);
	return false;
}

void unic_sched_send(struct unic_nic *nic, uint16_t idx)
{
	struct unic_qp *qp = &nic->qps.qp[idx];

	if (!(qp->on & UNIC_ON_SEND) && !alone(nic, qp, idx, UNIC_ON_SEND))
		append_send(nic, idx);
}

void unic_sched_reply(struct unic_nic *nic, uint16_t idx)
{
	struct unic_qp *qp = &nic->qps.qp[idx];

	if (!(qp->on & UNIC_ON_REPLY) && !alone(nic, qp, idx, UNIC_ON_REPLY))
		append(nic, &nic->sched.reply, idx, UNIC_LIST_REPLY);
}

void unic_sched_drop(struct unic_nic *nic, uint16_t idx)
{
	struct unic_sched *s = &nic->sched;
	struct unic_qp *qp = &nic->qps.qp[idx];

	if (s->sole_on)
		append_sole(nic);
	if (qp->on & UNIC_ON_REPLY)
		unlink_from(nic, &s->reply, idx, UNIC_LIST_REPLY);
	if (qp->on & UNIC_ON_SEND) {
		unlink_from(nic, &s->send[qp->proc], idx, UNIC_LIST_SEND);
		if (s->send[qp->proc].head == UNIC_QP_NIL)
			unic_set_del(&s->ready, qp->proc);
	}
}

/* Each QP on the list once; one that is not through goes to its end. */
static bool run_replies(struct unic_nic *nic)
{
	struct unic_sched *s = &nic->sched;
	uint16_t last = s->reply.tail;
	uint16_t idx = UNIC_QP_NIL;
	bool worked = false;

	if (s->reply.head == UNIC_QP_NIL)
		return false;
	do {
		enum unic_turn turn;

		idx = take_first(nic, &s->reply, UNIC_LIST_REPLY);
		turn = unic_responder_reply(nic, idx);
		worked |= turn != UNIC_TURN_BLOCKED;
		if (turn != UNIC_TURN_DONE)
			unic_sched_reply(nic, idx);
	} while (idx != last && s->reply.head != UNIC_QP_NIL);
	return worked;
}

/* One turn of the first QP of process @p, on the process's deficit. */
static bool run_one(struct unic_nic *nic, uint32_t p, int32_t *budget)
{
	struct unic_sched *s = &nic->sched;
	uint16_t idx = take_first(nic, &s->send[p], UNIC_LIST_SEND);
	int32_t before = s->deficit[p];
	enum unic_turn turn;

	if (s->send[p].head == UNIC_QP_NIL)
		unic_set_del(&s->ready, p);
	turn = unic_requester_send(nic, idx, &s->deficit[p]);
	*budget -= before - s->deficit[p];
	if (turn != UNIC_TURN_DONE)
		unic_sched_send(nic, idx);
	return turn != UNIC_TURN_BLOCKED;
}

static int32_t quantum(const struct unic_nic *nic, uint32_t p)
{
	uint32_t w = nic->evict.share.owner[p].weight;

	if (w < 1)
		w = 1;
	if (w > UNIC_SCHED_WEIGHT)
		w = UNIC_SCHED_WEIGHT;
	return (int32_t)(w * UNIC_SCHED_QUANTUM);
}

/* The process behind @p that has work, round and round; there is one. */
static uint32_t next_ready(const struct unic_sched *s, uint32_t p)
{
	uint32_t next = unic_set_next(&s->ready, p + 1);

	return next < UNIC_PROCS ? next : unic_set_first(&s->ready);
}

/* The process whose turn it is, its deficit filled up when the turn begins. One
 * that ran out of work forgets what it saved. */
static uint32_t whose_turn(struct unic_nic *nic)
{
	struct unic_sched *s = &nic->sched;
	uint32_t p = s->turn;

	while (!unic_set_has(&s->ready, p) || s->deficit[p] <= 0) {
		if (!unic_set_has(&s->ready, p))
			s->deficit[p] = 0;
		p = next_ready(s, p);
		s->deficit[p] += quantum(nic, p);
	}
	s->turn = (uint16_t)p;
	return p;
}

static bool run_sends(struct unic_nic *nic)
{
	struct unic_sched *s = &nic->sched;
	int32_t budget = ROUND_BYTES;
	bool worked = false;
	uint32_t n;

	for (n = 0; n < ROUND_QPS && unic_set_any(&s->ready) && budget > 0;
	     n++) {
		worked |= run_one(nic, whose_turn(nic), &budget);
		if (nic->qps.roce.tx_blocked)
			break;
	}
	return worked;
}

/* The only thing to do. There is nobody to be fair to, so it may use up the
 * round. */
static bool run_sole(struct unic_nic *nic)
{
	struct unic_sched *s = &nic->sched;
	int32_t budget = ROUND_BYTES;
	uint32_t on = s->sole_on;
	uint16_t idx = s->sole;
	enum unic_turn turn;

	nic->qps.qp[idx].on = 0;
	s->sole_on = 0;
	s->work = 0;
	if (on == UNIC_ON_REPLY) {
		turn = unic_responder_reply(nic, idx);
		if (turn != UNIC_TURN_DONE)
			unic_sched_reply(nic, idx);
	} else {
		turn = unic_requester_send(nic, idx, &budget);
		if (turn != UNIC_TURN_DONE)
			unic_sched_send(nic, idx);
	}
	return turn != UNIC_TURN_BLOCKED;
}

bool unic_sched_run(struct unic_nic *nic)
{
	bool worked;

	nic->qps.roce.tx_blocked = false;
	if (__builtin_expect(nic->sched.sole_on, 1))
		return run_sole(nic);
	worked = run_replies(nic);
	if (!nic->qps.roce.tx_blocked)
		worked |= run_sends(nic);
	return worked;
}

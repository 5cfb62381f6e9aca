/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * conn_turn.c - see conn_turn.h.
 */
#include "conn_turn.h"

#include "wait.h"

static const unsigned int lane_max[LANES] = {
	[LANE_SHORT] = UNIC_CTL_OPEN_MAX / 4,
	[LANE_GIVE] = UNIC_CTL_OPEN_MAX / 4,
	[LANE_LONG] = UNIC_CTL_OPEN_MAX / 2,
};

void unic_turn_init(struct unic_turns *q, enum unic_lane lane)
{
	*q = (struct unic_turns){ .room = lane_max[lane] };
	q->end = &q->first;
}

enum unic_lane unic_turn_lane(unsigned int op,
			      const struct unic_conn_call *call)
{
	switch (op) {
	case UNIC_CTL_MR_DEREG:
	case UNIC_CTL_WAIT_CANCEL:
	case UNIC_CTL_NOTICE_ANSWER:
	case UNIC_CTL_INVALIDATED:
		return LANE_GIVE;
	default:
		return call->timeout_ms < 0 || call->timeout_ms > UNIC_CALL_MS
			       ? LANE_LONG
			       : LANE_SHORT;
	}
}

void unic_turn_leave(struct unic_turns *q, struct unic_waiter *w)
{
	struct unic_waiter **p = &q->first;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
	if (!*p)
		q->end = p;
}

void unic_turn_enter(struct unic_turns *q, struct unic_waiter *w)
{
	w->next = NULL;
	*q->end = w;
	q->end = &w->next;
}

/* In order of arrival. */
void unic_turn_grant(struct unic_turns *q)
{
	struct unic_waiter *w;

	while ((w = q->first) && q->under_way < q->room) {
		unic_turn_leave(q, w);
		q->under_way++;
		w->has_turn = true;
		pthread_cond_signal(&w->cond);
	}
}

void unic_turn_end(struct unic_turns *q, enum unic_lane lane)
{
	q->under_way--;
	q->ended_ns = unic_now_ns();
	if (++q->well >= q->room && q->room < lane_max[lane]) {
		q->room++;
		q->well = 0;
	}
	unic_turn_grant(q);
}

/* The driver has no place for one more waiting call. If others of this process hold
 * places, put @w first, to go when one of them ends. False: there are none. */
bool unic_turn_again(struct unic_turns *q, struct unic_waiter *w, int status)
{
	if (status != UNIC_ST_WAIT_FULL || w->lane != LANE_LONG ||
	    q->under_way < 2)
		return false;
	q->room = --q->under_way;
	q->well = 0;
	w->has_turn = false;
	w->next = q->first;
	if (!q->first)
		q->end = &w->next;
	q->first = w;
	return true;
}

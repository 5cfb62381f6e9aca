/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * conn_turn.h - inside the connection to the driver: which call is sent next.
 *
 * Secret: how many calls may be under way at once, and the order of those that wait.
 * All functions but unic_turn_init() and unic_turn_lane() are called with the lock of
 * the connection held.
 */
#ifndef UNIC_LIB_CONN_TURN_H
#define UNIC_LIB_CONN_TURN_H

#include <pthread.h>
#include <stdbool.h>

#include "conn.h"

/*
 * The lanes of calls. Each has its own bound on calls under way, below what the
 * driver takes. So any number of threads can call, calls that may last (LONG) do not
 * hold up others (SHORT), and calls that give something back (GIVE) wait for neither.
 */
enum unic_lane {
	LANE_SHORT,
	LANE_GIVE,
	LANE_LONG,
	LANES,
};

struct unic_waiter {
	struct unic_conn_call *call;
	struct unic_waiter *next;
	pthread_cond_t cond;
	enum unic_lane lane;
	bool asleep; /* until its reply is there or it has to read replies */
	bool has_turn;
	bool done;
	int status;
};

/*
 * One lane. The driver takes fewer calls that wait for memory than others, and does
 * not say how many: `room` shrinks by one at each refusal and grows by one when there
 * was none for a while (`well`).
 */
struct unic_turns {
	struct unic_waiter *first, **end; /* in order of arrival */
	unsigned int under_way, room, well;
	uint64_t ended_ns; /* when a call last ended */
};

/** unic_turn_init() - make @q, the queue of @lane, empty. */
void unic_turn_init(struct unic_turns *q, enum unic_lane lane);

/** unic_turn_lane() - the lane of @call with operation @op. */
enum unic_lane unic_turn_lane(unsigned int op,
			      const struct unic_conn_call *call);

/** unic_turn_enter() - put @w at the end of @q. */
void unic_turn_enter(struct unic_turns *q, struct unic_waiter *w);

/** unic_turn_leave() - take @w, which is in @q, out of it. */
void unic_turn_leave(struct unic_turns *q, struct unic_waiter *w);

/** unic_turn_grant() - give the turn to the first waiters of @q, as many as there is
 * room for, and wake them. */
void unic_turn_grant(struct unic_turns *q);

/** unic_turn_end() - a call of @lane has ended: its place is free. */
void unic_turn_end(struct unic_turns *q, enum unic_lane lane);

/** unic_turn_again() - true if @status, the answer to the call of @w, says only that
 * the driver has no place for one more waiting call because of others of this
 * process. @w is the first in @q then, to be sent again. */
bool unic_turn_again(struct unic_turns *q, struct unic_waiter *w, int status);

#endif /* UNIC_LIB_CONN_TURN_H */

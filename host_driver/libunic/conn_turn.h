/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * conn_turn.h - inside the connection to the driver: whose turn it is.
 *
 * Secret: how many calls may be under way at once, and in which order those go that
 * wait. But for init and lane all are called with the lock of the connection held.
 */
#ifndef UNIC_LIB_CONN_TURN_H
#define UNIC_LIB_CONN_TURN_H

#include <pthread.h>
#include <stdbool.h>

#include "conn.h"

/*
 * Calls that are under way at once, so that the driver refuses none and any
 * number of threads can call. Those that may last do not keep out the others,
 * and what gives something back waits for neither.
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
	bool asleep; /* until its reply is there, or it is to read */
	bool has_turn;
	bool done;
	int status;
};

/*
 * Of those that wait for memory the driver takes fewer, and does not say how many:
 * there is room for one less whenever it refuses one, and for one more when it
 * has refused none for a while.
 */
struct unic_turns {
	struct unic_waiter *first, **end; /* in the order they came */
	unsigned int under_way, room, well;
};

/** unic_turn_init() - nobody is in @q, the queue of @lane. */
void unic_turn_init(struct unic_turns *q, enum unic_lane lane);

/** unic_turn_lane() - the lane of @call, which asks for @op. */
enum unic_lane unic_turn_lane(unsigned int op,
			      const struct unic_conn_call *call);

/** unic_turn_enter() - @w is the last in @q. */
void unic_turn_enter(struct unic_turns *q, struct unic_waiter *w);

/** unic_turn_leave() - @w, which is in @q, is not any more. */
void unic_turn_leave(struct unic_turns *q, struct unic_waiter *w);

/** unic_turn_grant() - those who have waited longest have their turn and are woken, as
 * many as there is room for. */
void unic_turn_grant(struct unic_turns *q);

/** unic_turn_end() - a call of @lane is over: the turn is another's. */
void unic_turn_end(struct unic_turns *q, enum unic_lane lane);

/** unic_turn_again() - @status answers the call of @w. True: the driver has no place
 * for one more that waits, because of calls of ours; @w is the next one in @q. */
bool unic_turn_again(struct unic_turns *q, struct unic_waiter *w, int status);

#endif /* UNIC_LIB_CONN_TURN_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * cm_backlog.c - see cm_backlog.h.
 */
#include "cm/cm_backlog.h"

#define BACKLOG_MAX 64u

/* Connections in state REQUESTED: their process has not accepted or rejected them. */
struct backlog {
	struct conn *c[BACKLOG_MAX];
	uint32_t n;
};

static void collect_backlog(struct unic_host *host, uint32_t owner,
			    struct backlog *b)
{
	struct conn *c;
	uint32_t at = 0;

	b->n = 0;
	while (b->n < BACKLOG_MAX &&
	       (c = unic_obj_next(&host->objects, &at, UNIC_OBJ_CONN, owner)))
		if (c->state == C_REQUESTED)
			b->c[b->n++] = c;
}

static uint32_t count_backlog(const struct backlog *b, uint32_t ipv4)
{
	uint32_t i, n = 0;

	for (i = 0; i < b->n; i++)
		n += b->c[i]->ipv4 == ipv4;
	return n;
}

/* The request that gives way to one more of address @ipv4: see cm_conn.h. */
static struct conn *victim_of(const struct backlog *b, uint32_t ipv4)
{
	struct conn *victim = NULL;
	uint32_t i, n, most = 0;

	for (i = 0; i < b->n; i++) {
		struct conn *c = b->c[i];

		n = count_backlog(b, c->ipv4) + (c->ipv4 == ipv4);
		if (n > most ||
		    (n == most && c->accept_ns < victim->accept_ns)) {
			most = n;
			victim = c;
		}
	}
	return victim;
}

void unic_backlog_make_room(struct unic_host *host, uint32_t owner,
			    uint32_t ipv4)
{
	struct conn *victim;
	struct backlog b;

	collect_backlog(host, owner, &b);
	if (b.n < BACKLOG_MAX)
		return;
	victim = victim_of(&b, ipv4);
	host->cm.crowded++;
	unic_conn_upcall(host, victim, UNIC_UP_DISCONNECTED, 0, 2);
	unic_conn_free(host, victim);
}

/* Close @c, for which no RTU came. The peer, which may take it for up, is told. */
void unic_backlog_close(struct unic_host *host, struct conn *c)
{
	unic_conn_reject(host, c, UNIC_CM_TIMEOUT);
	c->state = c->raw ? C_UNREACHABLE : C_CLOSED;
	unic_conn_timers(host, c, UINT64_MAX, UINT64_MAX);
	unic_conn_qp_err(host, c);
	unic_conn_upcall(host, c, UNIC_UP_DISCONNECTED, 0, 1);
}

/* If BACKLOG_MAX connections of @owner await RTU, close the oldest, unless it is younger
 * than CONFIRM_NS. */
void unic_backlog_limit(struct unic_host *host, uint32_t owner)
{
	uint64_t young =
		unic_os_now_ns(host->os) + CONNECT_US * 1000ull - CONFIRM_NS;
	struct conn *c, *oldest = NULL;
	uint32_t at = 0, n = 0;

	while ((c = unic_obj_next(&host->objects, &at, UNIC_OBJ_CONN, owner))) {
		if (c->state != C_REP_SENT)
			continue;
		n++;
		if (!oldest || c->give_up_ns < oldest->give_up_ns)
			oldest = c;
	}
	if (n < BACKLOG_MAX || oldest->give_up_ns > young)
		return;
	host->cm.crowded++;
	unic_backlog_close(host, oldest);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * turns.c - nobody waits 10 ms for his turn. While a reliable queue pair has an open
 * operation over resident memory it sends a frame, hears from its peer or completes
 * something every 10 ms: its NIC sends, asks again, or has been told to wait, and
 * whoever else sends takes no more than his share.
 */
#include "check.h"

#include <string.h>

#include "app_op.h"
#include "unic_wire.h"

#define TURN_NS (10 * MS)

static struct turn {
	uint64_t op, since_ns;
} (*turns)[APP_QPS]; /* by application */

void turns_reset(void)
{
	turns = sim_alloc(SCN_APPS * sizeof(*turns));
}

static uint32_t get(const uint8_t *at, uint32_t bytes)
{
	uint32_t v = 0;

	while (bytes--)
		v = v << 8 | *at++;
	return v;
}

static bool is_roce(const uint8_t *f, uint32_t len)
{
	return len >= UNIC_EXT_OFF && get(f + 12, 2) == UNIC_ETHERTYPE_IP;
}

static uint32_t number(const uint8_t *f)
{
	return get(f + UNIC_BTH_OFF + 4, 4) & UNIC_QPN_MASK;
}

static void has_turn(struct app *a, uint32_t q)
{
	turns[a->index][q].since_ns = sim_now();
}

/* Of a queue pair that sends to @qpn of NIC @to. */
void turns_sent(const struct node *n, const uint8_t *f, uint32_t len)
{
	uint32_t i, k;

	if (!is_roce(f, len))
		return;
	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_QPS && apps[i]->node == n->id; k++) {
			const struct qp *q = &apps[i]->qp[k], *peer;

			peer = q->link ? q->link->qp[!q->end] : NULL;
			if (peer && peer->qpn == number(f) &&
			    peer->app->node == f[5])
				has_turn(apps[i], k);
		}
}

void turns_took(const struct node *n, const uint8_t *f, uint32_t len)
{
	uint32_t i, k;

	if (!is_roce(f, len))
		return;
	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_QPS && apps[i]->node == n->id; k++)
			if (apps[i]->qp[k].qpn == number(f))
				has_turn(apps[i], k);
}

void turns_go(const struct node *n)
{
	uint32_t i, k;

	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_QPS && apps[i]->node == n->id; k++)
			has_turn(apps[i], k);
}

/* May nothing but the other senders keep the oldest operation waiting? */
static bool is_ready(const struct node *n, const struct app *a,
		     const struct qp *q, const struct op *o)
{
	return o && !o->quiet && o->kind != MEMOP && op_can_send(q) &&
	       q->link->type == UNIC_QPT_RC && a->state == APP_RUNS &&
	       !a->reset && !op_local_revoked(o) && o->local->resident &&
	       o->local_resets == n->resets && !n->stands &&
	       !world->odds.bell_lost && sim_now() >= n->port.stall_ns;
}

static void look(const struct node *n, struct app *a, uint32_t k)
{
	struct turn *t = &turns[a->index][k];
	const struct qp *q = &a->qp[k];
	const struct op *o = q->link ? op_oldest(a, q) : NULL;

	if (!is_ready(n, a, q, o) || o->id != t->op) {
		t->op = o ? o->id : 0;
		t->since_ns = sim_now();
	} else if (sim_now() - t->since_ns > TURN_NS) {
		sim_fail("turns",
			 "nic %u: QP %x of app %u neither sends nor hears "
			 "anything for 10 ms, and operation %llx is open",
			 n->id, q->qpn, a->index, (unsigned long long)o->id);
	}
}

void turns_tick(const struct node *n)
{
	uint32_t i, k;

	for (i = 0; i < apps_count; i++)
		for (k = 0; k < APP_QPS && apps[i]->node == n->id; k++)
			look(n, apps[i], k);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_done.c - completions: checks each against the posted operation, and the
 * bytes against the pattern of the operation.
 */
#include "app_op.h"
#include "check.h"
#include "core.h"
#include "lives.h"
#include "oracle.h"
#include "stags.h"

/* -------------------------------------------------------------- completions */

static void check_read(struct app *a, const struct op *o)
{
	const struct region *r = o->remote;
	uint64_t op = 1ull << 63 | (uint64_t)o->peer->index << 32 |
		      (uint64_t)(r - o->peer->region);
	uint32_t i;

	/* a region that was released may be in use for something else */
	if (!op_local_alive(o) || !op_remote_alive(o))
		return;
	for (i = 0; i < o->len; i++)
		if (*app_mem(a, o->local_at + i) !=
		    oracle_byte(op, o->remote_at - r->at + i))
			sim_fail("oracle",
				 "app %u: byte %u of %u of READ %llx is %02x, "
				 "not %02x, at the peer it is %02x",
				 a->index, i, o->len, (unsigned long long)o->id,
				 *app_mem(a, o->local_at + i),
				 oracle_byte(op, o->remote_at - r->at + i),
				 *app_mem(o->peer, o->remote_at + i));
}

/* An acknowledged WRITE is in memory, unless the memory was taken back. */
static void check_written(struct app *a, const struct op *o)
{
	uint32_t i;

	(void)a;
	if (!op_remote_alive(o) || o->remote->state != REGION_ACTIVE)
		return;
	for (i = 0; i < o->len; i++)
		if (*app_mem(o->peer, o->remote_at + i) !=
		    oracle_byte(o->id, i))
			sim_fail("oracle",
				 "app %u: WRITE %llx was acknowledged, byte %u "
				 "of %u is not there",
				 a->index, (unsigned long long)o->id, i,
				 o->len);
}

static void succeeded(struct app *a, struct op *o)
{
	a->ops_ok++;
	if (op_spoiled(o))
		return;
	if (o->refused || (o->forbidden && op_reliable(o)))
		sim_fail("oracle", "app %u: forbidden operation %llx succeeded",
			 a->index, (unsigned long long)o->id);
	if (o->kind == SCN_READ)
		check_read(a, o);
	if (o->kind == ATOMIC)
		op_atomic_check(a, o);
	if (op_reliable(o) &&
	    (o->kind == SCN_WRITE || o->kind == SCN_WRITE_IMM))
		check_written(a, o);
	lives_well(o->id);
}

/* The driver did not hear of a missing page in time: the doorbell was lost
 * or late, or the driver did not run. Some seeds have an H so short that the
 * NIC gives up the page before the driver's next poll. Only an error after H is
 * excused. */
static bool unheard(const struct app *a, const struct region *r)
{
	return (a->scn->odds.bell_lost || a->scn->odds.bell_late ||
		world->node[a->node]->slept) &&
	       model_unheard(check_model(world->node[a->node]), r->stag);
}

/* May a page of @r not be had? The read of a list may fail, too. */
static bool no_page(const struct app *a, const struct region *r)
{
	return a->scn->odds.port.bus_ppm || unheard(a, r);
}

/* A memory operation sends no frame, so no peer can cause its error. */
static bool memop_excused(struct app *a, const struct op *o, uint8_t status)
{
	bool refused = status == UNIC_WC_MW_BIND_ERR ||
		       status == UNIC_WC_MEM_OP_ERR ||
		       status == UNIC_WC_EVICTED;

	return refused && app_form_may_fail(a, o);
}

/* The operation names a derived region that was released or invalidated. */
static bool through_form(const struct op *o)
{
	return o->through && op_remote_revoked(o);
}

/* The operation names a fast registration that the NIC evicted. */
static bool form_taken(const struct op *o)
{
	return o->through &&
	       !bounds_too_early(world->node[o->peer->node], o->through);
}

/* Was the NIC reset since the operation was posted? When the completion is
 * read, the region may have been restored. */
static bool reset_since(const struct app *a, uint32_t resets)
{
	return world->node[a->node]->resets != resets;
}

/* May the operation end with this error? A liar may release a region that it
 * uses. */
static bool excused(struct app *a, const struct op *o, const struct unic_cqe *c)
{
	const struct node *n = world->node[a->node];

	if (o->kind == MEMOP && c->status != UNIC_WC_WR_FLUSH_ERR)
		return memop_excused(a, o, c->status);
	if (op_spoiled(o) && c->status != UNIC_WC_WR_FLUSH_ERR)
		return true;
	if (o->lie && c->status != UNIC_WC_WR_FLUSH_ERR)
		return true; /* hear_lie() has judged it */
	switch (c->status) {
	case UNIC_WC_EVICTED:
		return !op_local_alive(o) || reset_since(a, o->local_resets) ||
		       !bounds_too_early(n, o->local->stag) ||
		       o->local->mr_class == UNIC_CLASS_MESSAGING;
	case UNIC_WC_REM_EVICTED:
		/* a tagged message fills a receive: the region of that */
		return !op_remote_alive(o) ||
		       reset_since(o->peer, o->remote_resets) ||
		       (c->detail == UNIC_WD_BUSY &&
			(o->token || through_form(o))) ||
		       form_taken(o) ||
		       !bounds_too_early(world->node[o->peer->node],
					 o->remote->stag);
	case UNIC_WC_WR_FLUSH_ERR: /* QP_ERROR must follow */
		o->qp->unexplained |= !o->qp->failed && o->gen == o->link->gen;
		return true;
	case UNIC_WC_RNR_RETRY_EXC_ERR: /* the peer waits for memory */
		return true;
	case UNIC_WC_REM_ACCESS_ERR:
		return o->forbidden || op_remote_revoked(o) || o->token ||
		       o->peer->how->lies || unheard(o->peer, o->remote);
	case UNIC_WC_LOC_PROT_ERR:
		return o->forbidden || op_local_revoked(o) || a->how->lies ||
		       (c->detail == UNIC_WD_PAGE && no_page(a, o->local));
	case UNIC_WC_REM_OP_ERR: /* the receive was evicted while filled */
		return true;
	/* a failed peer is silent; one that failed by an eviction is not */
	case UNIC_WC_RETRY_EXC_ERR:
		return !apps_calm ||
		       (o->link->failed >= o->gen && o->link->cut != o->gen);
	default:
		return !apps_calm;
	}
}

static bool fatal(uint8_t status)
{
	return status && status != UNIC_WC_EVICTED &&
	       status != UNIC_WC_REM_EVICTED;
}

static void failed(struct app *a, struct op *o, const struct unic_cqe *c)
{
	if (!excused(a, o, c))
		sim_fail("once",
			 "app %u: operation %llx (kind %u) completes with "
			 "status %u detail %u for no reason",
			 a->index, (unsigned long long)o->id, o->kind,
			 c->status, c->detail);
	if (fatal(c->status)) {
		o->qp->failed = true;
		if (o->gen == o->link->gen)
			app_link_fail(o->link, false);
	}
}

static uint64_t message_id(struct app *a, uint32_t at)
{
	uint64_t id = 0;
	uint32_t i;

	for (i = 0; i < 8; i++)
		id |= (uint64_t)*app_mem(a, at + i) << 8 * i;
	return id;
}

/* Finds message @id of end @from among those that may arrive now. False: not
 * found, *@at is the number of messages sent. Unreliable messages may arrive
 * twice and in any order. */
static bool find_sent(struct link *l, uint32_t from, uint64_t id, uint32_t *at)
{
	bool rc = l->type == UNIC_QPT_RC;
	uint32_t first = rc ? l->got[from] : 0;

	if (l->sends[from] - first > LINK_SENDS)
		first = l->sends[from] - LINK_SENDS;
	for (*at = first; *at != l->sends[from]; ++*at)
		if (l->sent[from][*at % LINK_SENDS].op == id)
			return true;
	return false;
}

/* Checks that the header of a datagram names its sender. */
static void check_grh(struct app *a, const struct op *o,
		      const struct unic_cqe *c)
{
	const struct qp *peer = o->qp->link->qp[!o->qp->end];
	static const uint8_t nothing[20];
	uint8_t grh[UNIC_GRH_BYTES];
	uint32_t i;

	for (i = 0; i < sizeof(grh); i++)
		grh[i] = *app_mem(a, o->local_at + i);
	if (!(c->flags & UNIC_WC_GRH) || memcmp(grh, nothing, 20) ||
	    grh[20] != 0x45 || grh[35] != 1 + peer->app->node ||
	    grh[39] != 1 + a->node ||
	    (unic_from_le32(c->token) & 0xffffff) != peer->qpn)
		sim_fail("oracle", "app %u: a datagram of nobody it knows",
			 a->index);
}

/* Messages arrive once, in the order sent, whole. */
static void received(struct app *a, struct op *o, const struct unic_cqe *c)
{
	struct link *l = o->link;
	uint32_t grh = l->type == UNIC_QPT_UD ? UNIC_GRH_BYTES : 0;
	uint32_t from = !o->qp->end, data = o->local_at + grh, at, i;
	uint32_t len = unic_from_le32(c->byte_len) - grh;
	uint64_t id = message_id(a, data);

	if (op_spoiled(o))
		return;
	if (op_reliable(o) && c->opcode == UNIC_WC_RECV_WRITE_IMM)
		lives_received_imm(l, o->gen, from, unic_from_le32(c->imm));
	else if (op_reliable(o))
		lives_received(l, o->gen, from, id);
	if (c->opcode == UNIC_WC_RECV_WRITE_IMM || o->gen != l->gen)
		return;
	if (grh)
		check_grh(a, o, c);
	if (!find_sent(l, from, id, &at) && !op_reliable(o) &&
	    l->sends[from] > LINK_SENDS)
		return; /* older than the recorded ones */
	if (at == l->sends[from])
		sim_fail("once",
			 "app %u receives message %llx, which nobody sent, or "
			 "twice, or out of order",
			 a->index, (unsigned long long)id);
	if (!l->sent[from][at % LINK_SENDS].len)
		sim_fail("oracle",
			 "app %u receives %llx, which must not arrive",
			 a->index, (unsigned long long)id);
	if (l->sent[from][at % LINK_SENDS].len != len)
		sim_fail("oracle", "app %u: message %llx has %u bytes, not %u",
			 a->index, (unsigned long long)id, len,
			 l->sent[from][at % LINK_SENDS].len);
	if (op_reliable(o))
		l->got[from] = at + 1;
	if (c->opcode == UNIC_WC_RECV_TOKEN) {
		once_verdict(id, false, c->detail);
		op_token_used(a, id, c);
		return;
	}
	for (i = 8; i < len; i++)
		if (*app_mem(a, data + i) != oracle_byte(id, i))
			sim_fail("oracle",
				 "app %u: byte %u of message %llx is wrong",
				 a->index, i, (unsigned long long)id);
	if (c->flags & UNIC_WC_WITH_IMM &&
	    unic_from_le32(c->imm) != (uint32_t)id)
		sim_fail("oracle", "app %u: the immediate of %llx is wrong",
			 a->index, (unsigned long long)id);
}

static void end_recv(struct app *a, struct op *o, const struct unic_cqe *c)
{
	o->qp->rq_open--;
	once_complete(o->id, 0, !c->status);
	if (!c->status)
		received(a, o, c);
	else
		failed(a, o, c);
	op_let_go(o);
}

void op_end(struct app *a, struct op *o, uint8_t status)
{
	o->qp->sq_open -= !o->quiet;
	o->qp->sq_slots--;
	a->ops_done++;
	/* a frame of it may still be on the way */
	if ((status || !op_reliable(o) || op_spoiled(o)) && op_is_write(o))
		o->state = OP_LINGERS;
	else
		op_let_go(o);
}

/* Completes the unsignaled operations of @q before @before: all succeeded. */
static void end_quiet(struct app *a, const struct qp *q, uint64_t before)
{
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++) {
		struct op *o = &a->op[i];

		if (o->state != OP_POSTED || o->kind == RECEIVE || !o->quiet ||
		    o->qp != q || o->id >= before)
			continue;
		once_complete(o->id, op_queue(q), true);
		succeeded(a, o);
		op_end(a, o, 0);
	}
}

static void hear_lie(const struct app *a, const struct op *o,
		     const struct unic_cqe *c)
{
	const struct app *whose = o->lie_is_local ? a : o->peer;

	/* of its own derived region, or of an element before the wrong one */
	if (c->status == UNIC_WC_EVICTED && o->kind == MEMOP &&
	    o->form_id != ~0u)
		return;
	stags_answer(check_model(world->node[whose->node]), o->lie, whose->slot,
		     o->lie_status, o->lie_detail, c);
}

/* Of a tagged message: refused, or placed. */
static void hear_verdict(const struct app *a, const struct op *o,
			 const struct unic_cqe *c)
{
	uint32_t len = unic_from_le32(c->byte_len);

	if (len != (c->detail ? 0 : o->len))
		sim_fail("once",
			 "app %u: tagged message %llx of %u bytes, detail %u, "
			 "has %u",
			 a->index, (unsigned long long)o->id, o->len, c->detail,
			 len);
	if (core_tells_refused())
		once_verdict(o->id, true, c->detail);
}

static void complete(struct app *a, struct qp *q, const struct unic_cqe *c)
{
	uint64_t id = unic_from_le64(c->wr_id);
	struct op *o = op_find(a, id);

	sim_log("app %u: completion %llx opcode %u status %u detail %u",
		a->index, (unsigned long long)id, c->opcode, c->status,
		c->detail);
	if (!id && a->scn->odds.port.bus_ppm) {
		/* a work request that could not be fetched has no wr_id */
		a->giving_up = true;
		return;
	}
	if (!o || o->qp != q)
		sim_fail("once",
			 "app %u: completion of %llx, which is not open",
			 a->index, (unsigned long long)id);
	if (o->kind == RECEIVE) {
		end_recv(a, o, c);
		return;
	}
	if (o->lie && !op_spoiled(o))
		hear_lie(a, o, c);
	end_quiet(a, q, id);
	once_complete(id, op_queue(q), !c->status);
	if (o->token && !c->status && !op_spoiled(o))
		hear_verdict(a, o, c);
	if (c->status)
		failed(a, o, c);
	else
		succeeded(a, o);
	if (o->kind == MEMOP)
		app_form_done(a, o, c->opcode, c->status);
	op_end(a, o, c->status);
}

bool app_op_reap(struct app *a)
{
	struct unic_cqe c;
	bool any = false;
	uint32_t i;

	for (i = 0; i < APP_QPS; i++)
		while (a->qp[i].has_cq && app_qp_cqe(&a->qp[i], &c)) {
			complete(a, &a->qp[i], &c);
			any = true;
		}
	return any;
}

void app_op_drop_quiet(struct qp *q)
{
	struct app *a = q->app;
	uint32_t i;

	for (i = 0; i < APP_OPEN; i++) {
		struct op *o = &a->op[i];

		if (o->state != OP_POSTED || !o->quiet || o->qp != q)
			continue;
		once_complete(o->id, op_queue(q), true);
		op_end(a, o, 1);
	}
}

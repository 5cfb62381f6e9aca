/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* conn.c - see conn.h. */
#include "conn.h"

#define RQ_OFF 1024u
#define CQ_OFF 2048u

/* What an end has. A request leads from each to the next. */
enum end_state {
	END_NONE,
	END_REGION,
	END_CQ,
	END_QP,
	END_INIT,
	END_RTR,
	END_RTS,
	END_ERR,
	END_BUSY, /* a request is under way */
};

/* What it has, whatever is under way. */
static uint8_t has(const struct end *e)
{
	return e->state >= END_BUSY ? e->state - END_BUSY : e->state;
}

static struct end *peer_of(const struct end *e)
{
	return &e->conn->end[e == &e->conn->end[0]];
}

static void *ring(struct end *e, uint32_t off)
{
	return actor_mem(e->a, e->row * 4096) + off;
}

/* ------------------------------------------------------------- completions */

static bool next_cqe(struct end *e, struct unic_cqe *out)
{
	memcpy(out, (uint8_t *)ring(e, CQ_OFF) + e->cq_ci % CONN_CQES * 32,
	       sizeof(*out));
	if (unic_from_le32(out->seq) != e->cq_ci + 1)
		return false;
	e->cq_ci++;
	actor_db(e->a)->tail[e->row].cq_ci = unic_to_le32(e->cq_ci);
	return true;
}

static void reap(struct end *e)
{
	struct unic_cqe c;

	while (next_cqe(e, &c)) {
		if (c.opcode >= UNIC_WC_RECV)
			e->rq_open--;
		else
			e->sq_open--;
		if (e->done)
			e->done(e, &c);
	}
}

static void advance(struct end *e);

static void on_cq(struct actor *a)
{
	uint32_t i;

	for (i = 0; i < ACTOR_ENDS; i++) {
		struct end *e = a->end[i];

		if (!e || has(e) < END_CQ)
			continue;
		reap(e);
		actor_ring(a, UNIC_DB_ARM, e->row, e->cq_ci & 0x7fffffff);
		if (e->state == END_ERR)
			advance(e);
	}
}

/* ------------------------------------------------------------------ requests */

static void done(struct actor *a, void *ctx, uint32_t status, const void *rec,
		 uint32_t bytes);

static void ask(struct end *e, uint16_t op, void *rec)
{
	actor_ask(e->a, op, rec, e, done);
}

static void ask_region(struct end *e)
{
	uint64_t va = ACTOR_VA + e->row * 4096ull;
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(va),
		.iova = unic_to_le64(va),
		.length = unic_to_le64(4096),
		.pd = unic_to_le32(e->a->pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_CONTROL,
		.page_shift = 12,
	};

	ask(e, UNIC_CTL_MR_REG, &r);
}

static void ask_cq(struct end *e)
{
	struct unic_ctl_cq_create r = {
		.iova = unic_to_le64(ACTOR_VA + e->row * 4096ull + CQ_OFF),
		.mr = unic_to_le32(e->region),
		.entries = unic_to_le32(CONN_CQES),
		.db_index = unic_to_le32(e->row),
	};

	ask(e, UNIC_CTL_CQ_CREATE, &r);
}

static void ask_qp(struct end *e)
{
	uint64_t at = ACTOR_VA + e->row * 4096ull;
	struct unic_ctl_qp_create r = {
		.sq_iova = unic_to_le64(at),
		.rq_iova = unic_to_le64(at + RQ_OFF),
		.mr = unic_to_le32(e->region),
		.send_cq = unic_to_le32(e->cq),
		.recv_cq = unic_to_le32(e->cq),
		.sq_slots = unic_to_le16(CONN_SLOTS),
		.rq_slots = unic_to_le16(CONN_SLOTS),
		.rq_class = unic_to_le32(256),
		.db_index = (uint8_t)e->row,
		.type = e->conn->type,
		.pd = unic_to_le32(e->a->pd),
	};

	/* tails of an earlier queue pair of this row would be posted again */
	e->sq_tail = e->rq_tail = 0;
	actor_db(e->a)->tail[e->row].sq = unic_to_le32(0);
	actor_db(e->a)->tail[e->row].rq = unic_to_le32(0);
	ask(e, UNIC_CTL_QP_CREATE, &r);
}

static const uint8_t rights[] = {
	[UNIC_QPT_RC] = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE,
	[UNIC_QPT_UC] = UNIC_MR_REMOTE_WRITE,
	[UNIC_QPT_UD] = 0,
};

static void ask_state(struct end *e, uint8_t state)
{
	const struct conn *c = e->conn;
	const struct end *peer = peer_of(e);
	struct unic_ctl_qp_modify r = { .id = unic_to_le32(e->id),
					.state = state };

	if (state == UNIC_QPS_INIT) {
		r.rights = rights[c->type];
		r.qkey = unic_to_le32(c->type == UNIC_QPT_UD ? CONN_QKEY : 0);
	}
	if (state == UNIC_QPS_RTR)
		r.mtu_shift = c->mtu_shift;
	if (state == UNIC_QPS_RTR && !c->type) {
		r.rnr_timer = c->rnr_timer ? c->rnr_timer : 10; /* 0.32 ms */
		r.max_dest_rd = 4;
		r.vendor = 1;
	}
	if (state == UNIC_QPS_RTR && c->type != UNIC_QPT_UD) {
		r.dest_qpn = unic_to_le32(peer->qpn);
		r.rq_psn = unic_to_le32(peer->psn);
		r.dest_ipv4 = unic_to_le32(0x0a000001u + peer->a->node);
		port_mac((uint8_t)peer->a->node, r.dest_mac);
	}
	if (state == UNIC_QPS_RTS)
		r.sq_psn = unic_to_le32(e->psn);
	if (state == UNIC_QPS_RTS && !c->type) {
		r.max_rd = 4;
		r.timeout = c->timeout;
		r.retry_cnt = 7;
		r.rnr_retry = 7;
	}
	ask(e, UNIC_CTL_QP_MODIFY, &r);
}

static void ask_destroy(struct end *e)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(e->id) };

	ask(e, UNIC_CTL_QP_DESTROY, &r);
}

/* -------------------------------------------------------------------- states */

/* Both ends have to be there before either can learn of the other. */
static bool peer_ready(const struct end *e)
{
	const struct end *peer = peer_of(e);

	return peer->gen == e->gen && has(peer) >= END_INIT &&
	       has(peer) <= END_RTS;
}

static void both_up(struct conn *c)
{
	if (c->up || c->end[0].state != END_RTS || c->end[1].state != END_RTS)
		return;
	c->up = true;
	c->remaking = false;
	if (c->on_up)
		c->on_up(c);
}

/* Where an end goes from a state; what is under way is in `state` + END_BUSY. */
static void advance(struct end *e)
{
	uint8_t from = e->state;

	if (from >= END_BUSY || (from == END_INIT && !peer_ready(e)) ||
	    (from == END_ERR && (e->sq_open || e->rq_open)))
		return;
	if (from == END_RTS) {
		both_up(e->conn);
		return;
	}
	e->state = (uint8_t)(END_BUSY + from);
	if (from == END_NONE)
		ask_region(e);
	else if (from == END_REGION)
		ask_cq(e);
	else if (from == END_CQ)
		ask_qp(e);
	else if (from == END_QP)
		ask_state(e, UNIC_QPS_INIT);
	else if (from == END_INIT)
		ask_state(e, UNIC_QPS_RTR);
	else if (from == END_RTR)
		ask_state(e, UNIC_QPS_RTS);
	else
		ask_destroy(e);
}

static void learn(struct end *e, uint8_t from, const void *rec)
{
	struct unic_ctl_mr_reg_reply reg;
	struct unic_ctl_queue_reply obj;

	memcpy(&reg, rec, sizeof(reg));
	memcpy(&obj, rec, sizeof(obj));
	if (from == END_NONE) {
		e->region = unic_from_le32(reg.id);
	} else if (from == END_REGION) {
		e->cq = unic_from_le32(obj.id);
	} else if (from == END_CQ) {
		e->id = unic_from_le32(obj.id);
		e->qpn = unic_from_le32(obj.number);
		e->gen = e->conn->remade;
		e->psn = (uint32_t)sim_u64(&e->a->rng) & 0xffffff;
	}
}

static void to_error(struct end *e)
{
	e->state = END_BUSY + END_RTS;
	ask_state(e, UNIC_QPS_ERR);
}

static void again(void *ctx, uint64_t arg)
{
	(void)arg;
	advance(ctx);
}

static void done(struct actor *a, void *ctx, uint32_t status, const void *rec,
		 uint32_t bytes)
{
	struct end *e = ctx;
	uint8_t from = (uint8_t)(e->state - END_BUSY);

	(void)bytes;
	if (status == UNIC_ST_BUSY && from == END_INIT) {
		e->state = END_INIT; /* its peer has been guessing */
		sim_at(sim_now() + MS, again, e, 0);
		return;
	}
	if (status)
		sim_fail("eval", "process %u: a queue's step %u answers %u",
			 a->c.core.pid, from, status);
	learn(e, from, rec);
	if (from == END_ERR)
		reap(e);
	e->state = from == END_ERR ? END_CQ : (uint8_t)(from + 1);
	if (from == END_CQ)
		actor_ring(a, UNIC_DB_ARM, e->row, e->cq_ci & 0x7fffffff);
	advance(e);
	advance(peer_of(e));
}

/* --------------------------------------------------------------------- users */

/* A queue pair failed by itself. Its process disconnects, which the other side
 * hears of; here it does so at once. */
static void on_qp_error(struct actor *a, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < ACTOR_ENDS; i++)
		if (a->end[i] && a->end[i]->id == id && a->end[i]->conn->up)
			conn_remake(a->end[i]->conn);
}

static void start_end(struct conn *c, uint32_t i, struct actor *a, uint32_t row)
{
	struct end *e = &c->end[i];

	e->conn = c;
	e->a = a;
	e->row = row;
	a->end[row] = e;
	a->on_cq = on_cq;
	a->on_qp_error = on_qp_error;
	advance(e);
}

void conn_start(struct conn *c, struct actor *a, uint32_t ra, struct actor *b,
		uint32_t rb)
{
	start_end(c, 0, a, ra);
	start_end(c, 1, b, rb);
}

void conn_remake(struct conn *c)
{
	if (c->remaking)
		return;
	c->remaking = true;
	c->up = false;
	c->remade++;
	to_error(&c->end[0]);
	to_error(&c->end[1]);
}

void conn_post_slot(struct end *e, const struct unic_sq_slot *s)
{
	memcpy(ring(e, e->sq_tail % CONN_SLOTS * 64), s, sizeof(*s));
	e->sq_open++;
	actor_ring(e->a, UNIC_DB_SQ, e->row, ++e->sq_tail);
}

void conn_post(struct end *e, const struct conn_wr *wr)
{
	struct unic_sq_slot s = {
		.opcode = wr->opcode,
		.flags = UNIC_WR_SIGNALED,
		.wr_id = unic_to_le64(wr->id),
		.remote = unic_to_le64(wr->remote),
		.rkey = unic_to_le32(wr->rkey),
		.num_sge = 1,
		.sge[0].iova = unic_to_le64(wr->iova),
		.sge[0].len = unic_to_le32(wr->len),
		.sge[0].lkey = unic_to_le32(wr->lkey),
	};

	conn_post_slot(e, &s);
}

void conn_recv(struct end *e, const struct conn_wr *wr)
{
	struct unic_rq_slot *s = ring(e, RQ_OFF + e->rq_tail % CONN_SLOTS * 64);

	memset(s, 0, sizeof(*s));
	s->num_sge = 1;
	s->wr_id = unic_to_le64(wr->id);
	s->sge[0].iova = unic_to_le64(wr->iova);
	s->sge[0].len = unic_to_le32(wr->len);
	s->sge[0].lkey = unic_to_le32(wr->lkey);
	e->rq_open++;
	actor_ring(e->a, UNIC_DB_RQ, e->row, ++e->rq_tail);
}

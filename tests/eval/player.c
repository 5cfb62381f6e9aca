/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* player.c - see player.h. */
#include "player.h"

#include "eval.h"

#define PAGE_SHIFT 16u
#define TIMEOUT	   16u
#define WRONG	   0x5a5a5a00u
#define RIGHTS                                                              \
	(UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE | \
	 UNIC_MR_MW_BIND)

/* ------------------------------------------------------------ one at a time */

static struct {
	uint8_t rec[UNIC_CTL_BYTES];
	bool over;
} answer;

static void answered(struct actor *a, void *ctx, uint32_t status,
		     const void *rec, uint32_t bytes)
{
	(void)ctx;
	(void)bytes;
	if (status)
		sim_fail("eval", "process %u: a request answers %u",
			 a->c.core.pid, status);
	memcpy(answer.rec, rec, sizeof(answer.rec));
	answer.over = true;
}

static bool is_answered(void *ctx)
{
	(void)ctx;
	return answer.over;
}

const void *player_ask(struct actor *a, uint16_t op, void *rec)
{
	answer.over = false;
	actor_ask(a, op, rec, NULL, answered);
	stage_wait(is_answered, NULL, 100 * MS, "is a request answered");
	return answer.rec;
}

static uint32_t reg(struct actor *a, uint32_t *stag)
{
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(player_iova(0)),
		.iova = unic_to_le64(player_iova(0)),
		.length = unic_to_le64(PLAYER_BYTES),
		.pd = unic_to_le32(a->pd),
		.rights = RIGHTS,
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = PAGE_SHIFT,
	};
	struct unic_ctl_mr_reg_reply rep;

	memcpy(&rep, player_ask(a, UNIC_CTL_MR_REG, &r), sizeof(rep));
	*stag = unic_from_le32(rep.stag);
	return unic_from_le32(rep.id);
}

/* ------------------------------------------------------------- work requests */

struct end *player_end(struct player *p, struct conn *c)
{
	return &c->end[p->verb->by_peer];
}

/* The end that posts has the memory of its side, and names that of the other. */
static uint32_t lkey(const struct player *p, bool peer)
{
	if (p->verb->bad_lkey)
		return WRONG;
	return peer ? p->far_stag : p->stag;
}

static uint32_t rkey(const struct player *p, const struct end *e)
{
	if (p->verb->type == UNIC_QPT_UD)
		return e->conn->end[e == &e->conn->end[0]].qpn;
	if (p->verb->bad_rkey)
		return WRONG;
	return p->verb->by_peer ? p->stag : p->far_stag;
}

static uint64_t remote(const struct player *p, const struct end *e)
{
	const struct end *peer = &e->conn->end[e == &e->conn->end[0]];

	if (p->verb->type == UNIC_QPT_UD)
		return UNIC_UD_TO(0x0a000001u + peer->a->node, CONN_QKEY);
	return p->verb->opcode == UNIC_WR_TOKEN ? WRONG : player_iova(0);
}

static bool is_message(const struct verb *v)
{
	return v->opcode == UNIC_WR_SEND || v->opcode == UNIC_WR_TOKEN;
}

static void post(struct player *p, struct end *e)
{
	const struct verb *v = p->verb;
	struct conn_wr wr = {
		.opcode = v->opcode,
		.id = sim_now(),
		.iova = player_iova(0),
		.len = v->len,
		.lkey = lkey(p, v->by_peer),
	};

	if (v->opcode != UNIC_WR_SEND || v->type) {
		wr.remote = remote(p, e);
		wr.rkey = rkey(p, e);
	}
	if (v->post)
		v->post(p, e);
	else
		conn_post(e, &wr);
}

static void fill(struct player *p, struct conn *c)
{
	struct end *e = player_end(p, c);

	while (c->up && e->sq_open < p->verb->depth)
		post(p, e);
}

static void recv_one(struct player *p, struct end *e)
{
	struct conn_wr wr = {
		.iova = player_iova(0),
		.len = 65536,
		.lkey = e->a == &p->peer ? p->far_stag : p->stag,
	};

	conn_recv(e, &wr);
}

static void fill_recv(struct player *p, struct conn *c)
{
	struct end *e = &c->end[!p->verb->by_peer];

	while (is_message(p->verb) && !p->verb->no_recv &&
	       e->rq_open < CONN_SLOTS)
		recv_one(p, e);
}

static void on_done(struct end *e, const struct unic_cqe *c)
{
	struct player *p = e->conn->user;
	uint64_t ns = sim_now() - unic_from_le64(c->wr_id);

	if (c->opcode >= UNIC_WC_RECV) {
		if (e->conn->up)
			fill_recv(p, e->conn);
		return;
	}
	if (c->status)
		p->failed++;
	else
		p->ops++;
	if (!c->status && p->longest_ns < ns)
		p->longest_ns = ns;
	p->last_ns = sim_now();
	if (p->verb->done)
		p->verb->done(p, e, c);
	else if (!c->status && p->started)
		fill(p, e->conn);
}

static void on_up(struct conn *c)
{
	struct player *p = c->user;

	fill_recv(p, c);
	if (p->started && !p->verb->start)
		fill(p, c);
}

/* ------------------------------------------------------------------- set up */

void player_open(struct player *p, const struct verb *v, uint32_t node,
		 uint32_t pid, uint32_t weight)
{
	uint32_t pages = ACTOR_ENDS + PLAYER_BYTES / 4096;

	p->verb = v;
	p->a.page_shift = p->peer.page_shift = PAGE_SHIFT;
	p->a.weight = p->peer.weight = weight;
	actor_start(&p->a, 0, pid, pages);
	actor_start(&p->peer, node, pid, pages);
}

static bool connected(void *ctx)
{
	struct player *p = ctx;
	uint32_t i;

	for (i = 0; i < p->verb->qps; i++)
		if (!p->conn[i].up)
			return false;
	return true;
}

void player_connect(struct player *p)
{
	const struct verb *v = p->verb;
	uint32_t i;

	p->id = reg(&p->a, &p->stag);
	p->far_id = reg(&p->peer, &p->far_stag);
	for (i = 0; i < v->qps; i++) {
		struct conn *c = &p->conn[i];

		c->type = v->type;
		c->timeout = v->timeout ? v->timeout : TIMEOUT;
		c->rnr_timer = v->rnr_timer;
		c->mtu_shift = 12;
		c->user = p;
		c->on_up = on_up;
		c->end[0].done = c->end[1].done = on_done;
		conn_start(c, &p->a, i, &p->peer, i);
	}
	stage_wait(connected, p, 500 * MS, "are they connected");
	if (v->prepare)
		v->prepare(p);
}

void player_start(struct player *p)
{
	uint32_t i;

	p->started = true;
	p->longest_ns = 0;
	p->last_ns = sim_now();
	if (p->verb->start) {
		p->verb->start(p);
		return;
	}
	for (i = 0; i < p->verb->qps; i++)
		fill(p, &p->conn[i]);
}

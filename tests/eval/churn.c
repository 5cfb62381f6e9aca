/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* churn.c - players that send little and keep the NIC busy, see player.h. */
#include "player.h"

#include "eval.h"

#define FAST_PAGES  16u /* of 64 KiB: all of the memory */
#define ELEMENTS    32u
#define LIST_AT	    (PLAYER_BYTES - 4096u) /* lists in memory */
#define REG_PAGES   64u
#define KEY(step)   (((step) / 2 + 1) & 0xff)
#define REMOTE	    (UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)
#define BELLS	    256u /* words, every 2 us */
#define BATCH	    64u
#define STUCK_READS 3u

/* ---------------------------------------------------------- changing regions */

static void alloc_forms(struct player *p, uint8_t kind, uint32_t n)
{
	struct unic_ctl_mr_reg_reply rep;
	uint32_t i;

	for (i = 0; i < p->verb->qps; i++) {
		struct unic_ctl_mr_alloc r = {
			.pd = unic_to_le32(p->a.pd),
			.kind = kind,
			.page_shift = kind == UNIC_FORM_FAST ? 16 : 0,
			.n = unic_to_le32(n),
		};

		memcpy(&rep, player_ask(&p->a, UNIC_CTL_MR_ALLOC, &r),
		       sizeof(rep));
		p->form[i] = unic_from_le32(rep.stag);
	}
}

void churn_windows(struct player *p)
{
	alloc_forms(p, UNIC_FORM_WINDOW2, 0);
}

void churn_fast(struct player *p)
{
	alloc_forms(p, UNIC_FORM_FAST, FAST_PAGES);
}

static struct unic_sge element(const struct player *p, uint32_t at,
			       uint32_t len)
{
	return (struct unic_sge){
		.iova = unic_to_le64(player_iova(at)),
		.len = unic_to_le32(len),
		.lkey = unic_to_le32(p->stag),
	};
}

void churn_indirect(struct player *p)
{
	struct unic_sge sge;
	uint32_t i;

	alloc_forms(p, UNIC_FORM_INDIRECT, ELEMENTS);
	for (i = 0; i < ELEMENTS; i++) {
		sge = element(p, i * 4096, 1000);
		memcpy(actor_mem(&p->a, ACTOR_ENDS * 4096 + LIST_AT + i * 16),
		       &sge, sizeof(sge));
	}
}

static void post_inval(struct player *p, struct end *e, uint32_t stag)
{
	struct unic_sq_slot s = {
		.opcode = UNIC_WR_LOCAL_INV,
		.flags = UNIC_WR_SIGNALED,
		.wr_id = unic_to_le64(sim_now()),
		.rkey = unic_to_le32(stag),
	};

	(void)p;
	conn_post_slot(e, &s);
}

/* A work request that makes the form of its queue pair valid, or, every other
 * time, not any more. */
static void post_form(struct player *p, struct end *e, struct unic_sq_slot *s)
{
	uint32_t i = (uint32_t)(e->conn - p->conn), step = p->step[i]++;
	uint32_t rights = s->opcode == UNIC_WR_BIND_MW
				  ? REMOTE
				  : REMOTE | UNIC_MR_LOCAL_WRITE;

	if (step % 2) {
		post_inval(p, e, p->form[i]);
		return;
	}
	s->flags |= UNIC_WR_SIGNALED;
	s->wr_id = unic_to_le64(sim_now());
	s->rkey = unic_to_le32(p->form[i]);
	s->imm = unic_to_le32(KEY(step) | rights << 8);
	s->remote = unic_to_le64(player_iova(0));
	p->form[i] = (p->form[i] & ~0xffu) | KEY(step);
	conn_post_slot(e, s);
}

static void put_inline(struct unic_sq_slot *s, struct unic_sge sge)
{
	s->flags |= UNIC_WR_INLINE;
	s->inline_len = sizeof(sge);
	s->sge[0] = sge;
}

void churn_post_window(struct player *p, struct end *e)
{
	struct unic_sq_slot s = { .opcode = UNIC_WR_BIND_MW };

	put_inline(&s, element(p, 0, 65536));
	post_form(p, e, &s);
}

void churn_post_fast(struct player *p, struct end *e)
{
	struct unic_sq_slot s = { .opcode = UNIC_WR_REG_MR };

	put_inline(&s, element(p, 0, PLAYER_BYTES));
	post_form(p, e, &s);
}

void churn_post_indirect(struct player *p, struct end *e)
{
	struct unic_sq_slot s = { .opcode = UNIC_WR_REG_INDIRECT,
				  .num_sge = 1 };

	s.sge[0] = element(p, LIST_AT, ELEMENTS * 16);
	post_form(p, e, &s);
}

/* -------------------------------------------- a region that stays in use */

static void peer_reads(struct player *p)
{
	uint32_t i;

	for (i = 1; i <= STUCK_READS; i++) {
		struct conn_wr wr = {
			.opcode = UNIC_WR_READ,
			.id = sim_now(),
			.iova = player_iova(0),
			.len = PLAYER_BYTES,
			.lkey = p->far_stag,
			.remote = player_iova(0),
			.rkey = p->form[0],
		};

		conn_post(&p->conn[i].end[1], &wr);
	}
}

static void take_back(void *ctx, uint64_t arg)
{
	struct player *p = ctx;

	(void)arg;
	if (p->conn[0].up)
		churn_post_fast(p, &p->conn[0].end[0]);
}

/* Once more when all that was cut is connected again. */
static void once_more(void *ctx, uint64_t arg)
{
	struct player *p = ctx;
	uint32_t i;

	for (i = 0; i <= STUCK_READS; i++)
		if (!p->conn[i].up || p->conn[i].end[1].sq_open)
			break;
	if (i > STUCK_READS)
		churn_post_fast(p, &p->conn[0].end[0]);
	else
		sim_at(sim_now() + 100 * US, once_more, p, arg);
}

void churn_done_stuck(struct player *p, struct end *e, const struct unic_cqe *c)
{
	if (e != &p->conn[0].end[0])
		return;
	if (c->status)
		sim_fail("eval", "a work request ends with status %u, %u",
			 c->status, c->detail);
	if (c->opcode == UNIC_WC_REG_MR) {
		peer_reads(p);
		sim_at(sim_now() + 100 * US, take_back, p, 0);
	} else {
		once_more(p, 0);
	}
}

void churn_start_stuck(struct player *p)
{
	once_more(p, 0);
}

/* ------------------------------------------------------ requests to the driver */

struct step {
	uint16_t op;
	void (*build)(struct loop *l, uint8_t *rec);
};

static uint32_t loop_index(const struct loop *l)
{
	return (uint32_t)(l - l->p->loop);
}

static void build_reg(struct loop *l, uint8_t *rec)
{
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(player_iova(0)),
		.iova = unic_to_le64(player_iova(0)),
		.length = unic_to_le64(REG_PAGES * 4096),
		.pd = unic_to_le32(l->p->a.pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = 12,
	};

	memcpy(rec, &r, sizeof(r));
}

static void build_name(struct loop *l, uint8_t *rec)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(l->id[0]) };

	memcpy(rec, &r, sizeof(r));
}

static void build_qp(struct loop *l, uint8_t *rec)
{
	const struct end *e = &l->p->conn[0].end[0];
	struct unic_ctl_qp_create r = {
		.sq_iova = unic_to_le64(ACTOR_VA),
		.rq_iova = unic_to_le64(ACTOR_VA + 1024),
		.mr = unic_to_le32(e->region),
		.send_cq = unic_to_le32(e->cq),
		.recv_cq = unic_to_le32(e->cq),
		.sq_slots = unic_to_le16(CONN_SLOTS),
		.rq_slots = unic_to_le16(CONN_SLOTS),
		.rq_class = unic_to_le32(256),
		.db_index = (uint8_t)(ACTOR_ENDS + loop_index(l)),
		.pd = unic_to_le32(l->p->a.pd),
	};

	memcpy(rec, &r, sizeof(r));
}

static void build_init(struct loop *l, uint8_t *rec)
{
	struct unic_ctl_qp_modify r = { .id = unic_to_le32(l->id[0]),
					.state = UNIC_QPS_INIT };

	memcpy(rec, &r, sizeof(r));
}

static void build_token(struct loop *l, uint8_t *rec)
{
	struct unic_ctl_token_alloc r = {
		.iova = unic_to_le64(player_iova(0)),
		.mr = unic_to_le32(l->p->id),
		.length = unic_to_le32(4096),
	};

	memcpy(rec, &r, sizeof(r));
}

static void build_dump(struct loop *l, uint8_t *rec)
{
	struct unic_ctl_dump r = { .table = unic_to_le32(1 +
							 loop_index(l) % 6) };

	memcpy(rec, &r, sizeof(r));
}

static void build_batch(struct loop *l, uint8_t *rec, uint16_t op)
{
	struct unic_ctl_batch r = { .count = unic_to_le32(BATCH) };
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op) };
	uint32_t i;

	memcpy(rec, &r, sizeof(r));
	for (i = 0; i < BATCH; i++) {
		struct unic_ctl_obj obj = { .id = unic_to_le32(l->id[i]) };

		rec += UNIC_CTL_BYTES;
		if (op == UNIC_CTL_TOKEN_ALLOC)
			build_token(l, rec);
		else
			memcpy(rec, &obj, sizeof(obj));
		memcpy(rec, &hdr, sizeof(hdr));
	}
}

static void build_allocs(struct loop *l, uint8_t *rec)
{
	build_batch(l, rec, UNIC_CTL_TOKEN_ALLOC);
}

static void build_cancels(struct loop *l, uint8_t *rec)
{
	build_batch(l, rec, UNIC_CTL_TOKEN_CANCEL);
}

static const struct step regions[] = { { UNIC_CTL_MR_REG, build_reg },
				       { UNIC_CTL_MR_DEREG, build_name } };
static const struct step queues[] = { { UNIC_CTL_QP_CREATE, build_qp },
				      { UNIC_CTL_QP_MODIFY, build_init },
				      { UNIC_CTL_QP_DESTROY, build_name } };
static const struct step tokens[] = { { UNIC_CTL_TOKEN_ALLOC, build_token },
				      { UNIC_CTL_TOKEN_CANCEL, build_name } };
static const struct step dumps[] = { { UNIC_CTL_DUMP, build_dump } };
static const struct step batches[] = { { UNIC_CTL_BATCH, build_allocs },
				       { UNIC_CTL_BATCH, build_cancels } };

static const struct {
	const struct step *step;
	uint32_t n;
} chains[] = { { regions, 2 },
	       { queues, 3 },
	       { tokens, 2 },
	       { dumps, 1 },
	       { batches, 2 } };
enum {
	REGIONS,
	QUEUES,
	TOKENS,
	DUMPS,
	BATCHES
};

static void go_on(struct actor *a, void *ctx, uint32_t status, const void *rec,
		  uint32_t bytes);

static void ask(struct loop *l)
{
	uint32_t kind = l->step >> 16, at = l->step & 0xffff;
	const struct step *s = &chains[kind].step[at % chains[kind].n];
	uint8_t rec[(1 + BATCH) * UNIC_CTL_BYTES];
	uint32_t tail = s->op == UNIC_CTL_BATCH ? BATCH * UNIC_CTL_BYTES : 0;

	s->build(l, rec);
	actor_ask_list(&l->p->a, s->op, rec, tail, l, go_on);
}

/* The object that an answer names. */
static uint32_t id_of(uint32_t kind, const uint8_t *rec)
{
	struct unic_ctl_token_reply token;
	struct unic_ctl_queue_reply obj;

	memcpy(&token, rec, sizeof(token));
	memcpy(&obj, rec, sizeof(obj));
	return unic_from_le32(kind == TOKENS || kind == BATCHES ? token.id
								: obj.id);
}

static void learn(struct loop *l, uint32_t kind, const uint8_t *rec)
{
	uint32_t i;

	if (kind != BATCHES)
		l->id[0] = id_of(kind, rec);
	for (i = 0; i < BATCH && kind == BATCHES; i++)
		l->id[i] = id_of(kind, rec += UNIC_CTL_BYTES);
}

static void go_on(struct actor *a, void *ctx, uint32_t status, const void *rec,
		  uint32_t bytes)
{
	struct loop *l = ctx;
	uint32_t kind = l->step >> 16, at = l->step & 0xffff;

	(void)bytes;
	if (status)
		sim_fail("eval", "process %u: step %u of requests answers %u",
			 a->c.core.pid, at, status);
	if (!at)
		learn(l, kind, rec);
	l->p->ops++;
	l->step = kind << 16 | (at + 1) % chains[kind].n;
	ask(l);
}

static void start_loops(struct player *p, uint32_t kind, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		p->loop[i].p = p;
		p->loop[i].step = kind << 16;
		ask(&p->loop[i]);
	}
}

/* As many as fit into the fair share of entries. */
void churn_start_regions(struct player *p)
{
	start_loops(p, REGIONS, 4);
}

void churn_start_queues(struct player *p)
{
	start_loops(p, QUEUES, 16);
}

void churn_start_tokens(struct player *p)
{
	start_loops(p, TOKENS, PLAYER_LOOPS);
}

void churn_start_batches(struct player *p)
{
	start_loops(p, BATCHES, 4);
}

void churn_start_dumps(struct player *p)
{
	start_loops(p, DUMPS, PLAYER_LOOPS);
}

/* ---------------------------------------------------------------- doorbells */

static void ring_all(void *ctx, uint64_t arg)
{
	struct player *p = ctx;
	const struct end *e = &p->conn[0].end[0];
	uint32_t i;

	for (i = 0; i < BELLS; i++)
		actor_ring(&p->a, UNIC_DB_SQ, e->row, e->sq_tail);
	p->ops += BELLS;
	sim_at(sim_now() + 2 * US, ring_all, p, arg);
}

void churn_start_bells(struct player *p)
{
	ring_all(p, 0);
}

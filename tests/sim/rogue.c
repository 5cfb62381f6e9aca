/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rogue.c - see rogue.h. */
#include "rogue.h"

#include <string.h>

#include "app.h"
#include "core.h"
#include "oracle.h"

#define VA	 0x10000000ull
#define PAGES	 4u /* queues in the first, data in the others */
#define RQ_OFF	 1024u
#define CQ_OFF	 2048u
#define SLOTS	 16u
#define CQES	 64u
#define GAP_NS	 (40 * US) /* between two deeds */
#define KNOCK_NS (200 * US)
#define ROW	 3u /* of its doorbells */

/* What it asks for at first, one by one. From FRAMES on it is wild as well. */
enum step {
	HELLO,
	FRAMES,
	DOMAIN,
	LISTEN,
	QUEUES, /* region of the queues */
	DATA,
	CQ,
	QP,
	INIT,
	RTR,
	RTS,
	BUILT,
};

static struct rogue {
	struct world_client c; /* first */
	const struct scn_rogue *scn;
	struct sim_rng rng;
	uint32_t epoch; /* of the NIC, at HELLO */
	uint32_t waits; /* for the reply to this request, in building */
	uint32_t step, seq, slot, pd, region, data, cq, qp, qpn, fifo;
	uint32_t frame[PAGES];
	bool ended;
} * rogues;
static uint32_t count;

static void deed(void *ctx, uint64_t arg);

static uint8_t *slot_of(const struct rogue *g)
{
	return world->node[g->scn->node]->slot[g->slot];
}

static uint32_t epoch(const struct rogue *g)
{
	const struct unic_info *info =
		(const void *)world->node[g->scn->node]->bar;

	return unic_from_le32(info->boot_epoch);
}

static uint8_t *mem(const struct rogue *g, uint32_t at)
{
	return slot_of(g) + (size_t)g->frame[at / 4096] * 4096 + at % 4096;
}

static void ask(struct rogue *g, uint16_t op, void *rec)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op),
				    .seq = unic_to_le32(++g->seq) };

	memcpy(rec, &hdr, sizeof(hdr));
	world_send(&g->c, rec, 64);
}

/* ----------------------------------------------------------------- building */

static void ask_region(struct rogue *g, uint32_t at, uint32_t bytes,
		       uint8_t mr_class)
{
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(VA + at),
		.iova = unic_to_le64(VA + at),
		.length = unic_to_le64(bytes),
		.pd = unic_to_le32(g->pd),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE |
			  UNIC_MR_REMOTE_READ,
		.mr_class = mr_class,
		.page_shift = 12,
	};

	if (mr_class == UNIC_CLASS_CONTROL)
		r.rights = UNIC_MR_LOCAL_WRITE;
	ask(g, UNIC_CTL_MR_REG, &r);
}

static void ask_cq(struct rogue *g)
{
	struct unic_ctl_cq_create r = { .iova = unic_to_le64(VA + CQ_OFF),
					.mr = unic_to_le32(g->region),
					.entries = unic_to_le32(CQES),
					.db_index = unic_to_le32(ROW) };

	ask(g, UNIC_CTL_CQ_CREATE, &r);
}

static void ask_qp(struct rogue *g)
{
	struct unic_ctl_qp_create r = { .sq_iova = unic_to_le64(VA),
					.rq_iova = unic_to_le64(VA + RQ_OFF),
					.mr = unic_to_le32(g->region),
					.send_cq = unic_to_le32(g->cq),
					.recv_cq = unic_to_le32(g->cq),
					.sq_slots = unic_to_le16(SLOTS),
					.rq_slots = unic_to_le16(SLOTS),
					.rq_class = unic_to_le32(1024),
					.db_index = ROW,
					.pd = unic_to_le32(g->pd),
					.type = g->scn->type };

	ask(g, UNIC_CTL_QP_CREATE, &r);
}

/* The other rogue, or nobody who it may be. */
static const struct rogue *partner(const struct rogue *g)
{
	return &rogues[g == rogues && count > 1];
}

static void ask_state(struct rogue *g, uint8_t state)
{
	const struct rogue *other = partner(g);
	struct unic_ctl_qp_modify r = { .id = unic_to_le32(g->qp),
					.state = state };

	if (state == UNIC_QPS_INIT)
		r.rights = UNIC_MR_REMOTE_WRITE |
			   (g->scn->type ? 0 : UNIC_MR_REMOTE_READ);
	if (state == UNIC_QPS_RTR) {
		r.mtu_shift = 10;
		r.dest_qpn = unic_to_le32(other->qpn ? other->qpn : 0x1234);
		r.dest_ipv4 = unic_to_le32(0x0a000001u + other->scn->node);
		port_mac(other->scn->node, r.dest_mac);
	}
	if (state == UNIC_QPS_RTR && !g->scn->type) {
		r.rnr_timer = 10;
		r.max_dest_rd = 4;
		r.vendor = UNIC_PEER_UNIC;
	}
	if (state == UNIC_QPS_RTS && !g->scn->type) {
		r.max_rd = 4;
		r.timeout = 8;
		r.retry_cnt = r.rnr_retry = 7;
	}
	ask(g, UNIC_CTL_QP_MODIFY, &r);
}

static void next_step(struct rogue *g)
{
	struct unic_ctl_hello hello = {
		.version = unic_to_le32(UNIC_CTL_VERSION),
		.weight = unic_to_le32(1),
		.name = "rogue",
	};
	struct unic_ctl_frames frames = { .va = unic_to_le64(VA),
					  .pages = unic_to_le32(PAGES),
					  .page_shift = 12 };
	struct unic_ctl_listen listen = { .service =
						  unic_to_le64(CORE_SERVICE) };
	struct unic_ctl_plain plain = { 0 };

	if (g->step == HELLO)
		ask(g, UNIC_CTL_HELLO, &hello);
	else if (g->step == FRAMES)
		ask(g, UNIC_CTL_FRAMES_ALLOC, &frames);
	else if (g->step == DOMAIN)
		ask(g, UNIC_CTL_PD_ALLOC, &plain);
	else if (g->step == LISTEN)
		ask(g, UNIC_CTL_LISTEN, &listen);
	else if (g->step == QUEUES)
		ask_region(g, 0, 4096, UNIC_CLASS_CONTROL);
	else if (g->step == DATA)
		ask_region(g, 4096, (PAGES - 1) * 4096, UNIC_CLASS_RDMA);
	else if (g->step == CQ)
		ask_cq(g);
	else if (g->step == QP)
		ask_qp(g);
	else if (g->step < BUILT)
		ask_state(g, (uint8_t)(UNIC_QPS_INIT + g->step - INIT));
	g->waits = g->seq;
}

/* Any bytes may be read from, and written to, all of its pages. */
static void map(struct rogue *g, const uint8_t *msg)
{
	uint32_t node = g->scn->node, i;
	unic_le32 list[PAGES];

	memcpy(list, msg + 64, sizeof(list));
	for (i = 0; i < PAGES; i++) {
		g->frame[i] = unic_from_le32(list[i]);
		oracle_map(node, g->slot, i, g->frame[i]);
	}
	oracle_grant(node, g->slot, 0, PAGES * 4096, ORACLE_ANY, 0);
	oracle_name(node, g->slot, 0, PAGES * 4096);
}

static void learn(struct rogue *g, const uint8_t *msg)
{
	struct unic_ctl_hello_reply hello;
	struct unic_ctl_mr_reg_reply reg;
	struct unic_ctl_queue_reply queue;
	struct unic_ctl_id_reply id;

	memcpy(&hello, msg, sizeof(hello));
	memcpy(&reg, msg, sizeof(reg));
	memcpy(&queue, msg, sizeof(queue));
	memcpy(&id, msg, sizeof(id));
	if (g->step == HELLO) {
		g->epoch = epoch(g);
		g->qp = 0;
		g->slot = unic_from_le32(hello.proc);
		oracle_unmap(g->scn->node, g->slot);
	} else if (g->step == FRAMES) {
		map(g, msg);
		sim_at(sim_now() + US, deed, g, g->c.life);
	} else if (g->step == DOMAIN) {
		g->pd = unic_from_le32(id.id);
	} else if (g->step == QUEUES) {
		g->region = unic_from_le32(reg.id);
	} else if (g->step == DATA) {
		g->data = unic_from_le32(reg.stag);
	} else if (g->step == CQ) {
		g->cq = unic_from_le32(queue.id);
	} else if (g->step == QP) {
		g->qp = unic_from_le32(queue.id);
		g->qpn = unic_from_le32(queue.number);
	}
}

static void knock(void *ctx, uint64_t life)
{
	struct rogue *g = ctx;

	if (!g->ended && g->c.open && g->c.life == (uint32_t)life)
		next_step(g);
}

/* Without a listener, data or queues it is wild as well. */
static void on_reply(struct world_client *c, const void *msg, uint32_t bytes)
{
	struct rogue *g = (struct rogue *)c;
	struct unic_ctl_hdr hdr;

	(void)bytes;
	memcpy(&hdr, msg, sizeof(hdr));
	if (g->step == BUILT || unic_from_le32(hdr.seq) != g->waits)
		return;
	if (!unic_from_le16(hdr.status)) {
		learn(g, msg);
	} else if (g->step <= DOMAIN) {
		sim_at(sim_now() + KNOCK_NS, knock, g, g->c.life);
		return;
	} else if (g->step > DATA) {
		g->step = BUILT - 1;
	}
	g->step++;
	next_step(g);
}

/* --------------------------------------------------------------------- deeds */

static void scribble(struct rogue *g)
{
	/* doorbells, what the NIC and the driver write, queues, data */
	uint32_t page = sim_below(&g->rng, 3 + PAGES), n;
	uint8_t *at = page < 3 ? slot_of(g) + page * 4096
			       : mem(g, (page - 3) * 4096);

	for (n = 1 + sim_below(&g->rng, 64); n; n--) {
		uint32_t word = (uint32_t)sim_u64(&g->rng);

		if (sim_below(&g->rng, 2))
			word &= 0xff;
		memcpy(at + sim_below(&g->rng, 1024) * 4, &word, 4);
	}
}

/* The STag of somebody on its host, whose it may be; or any. */
static uint32_t some_stag(struct rogue *g)
{
	const struct app *a = apps[sim_below(&g->rng, apps_count)];
	const struct region *m = &a->region[sim_below(&g->rng, APP_REGIONS)];

	if (!sim_below(&g->rng, 2))
		return g->data;
	if (a->node == g->scn->node && m->state == REGION_ACTIVE)
		return m->stag;
	return (uint32_t)sim_u64(&g->rng);
}

static uint64_t some_iova(struct rogue *g)
{
	const struct app *a = apps[sim_below(&g->rng, apps_count)];

	if (sim_below(&g->rng, 2))
		return VA + sim_below(&g->rng, PAGES * 4096);
	return a->region[sim_below(&g->rng, APP_REGIONS)].iova +
	       sim_below(&g->rng, 4096);
}

static void put_request(struct rogue *g, uint32_t at)
{
	struct unic_sq_slot s = {
		.opcode = (uint8_t)sim_below(&g->rng, 14),
		.flags = (uint8_t)(sim_below(&g->rng, 4) ? UNIC_WR_SIGNALED
							 : sim_u64(&g->rng)),
		.num_sge = (uint8_t)sim_below(&g->rng, 4),
		.wr_id = unic_to_le64(1),
		.remote = unic_to_le64(some_iova(g)),
		.rkey = unic_to_le32(some_stag(g)),
	};
	uint32_t i;

	for (i = 0; i < UNIC_SQ_SGE_BASE; i++) {
		s.sge[i].iova = unic_to_le64(some_iova(g));
		s.sge[i].len = unic_to_le32(sim_below(&g->rng, 2000));
		s.sge[i].lkey = unic_to_le32(some_stag(g));
	}
	memcpy(mem(g, at), &s, sizeof(s));
}

static void put_receive(struct rogue *g, uint32_t at)
{
	struct unic_rq_slot s = { .num_sge = 1, .wr_id = unic_to_le64(2) };

	s.sge[0].iova = unic_to_le64(some_iova(g));
	s.sge[0].len = unic_to_le32(sim_below(&g->rng, 2000));
	s.sge[0].lkey = unic_to_le32(some_stag(g));
	memcpy(mem(g, at), &s, sizeof(s));
}

static void post(struct rogue *g)
{
	struct unic_db_page *db = (void *)slot_of(g);
	uint32_t i;

	for (i = 0; i < SLOTS; i++) {
		put_request(g, i * 64);
		put_receive(g, RQ_OFF + i * 64);
	}
	g->fifo = unic_from_le32(db->fifo_seq);
	world_doorbell(&g->c, db, &g->fifo, UNIC_DB_RQ, ROW,
		       unic_from_le32(db->tail[ROW].rq) +
			       sim_below(&g->rng, SLOTS));
	world_doorbell(&g->c, db, &g->fifo, UNIC_DB_SQ, ROW,
		       unic_from_le32(db->tail[ROW].sq) +
			       sim_below(&g->rng, SLOTS));
	world_doorbell(&g->c, db, &g->fifo, (enum unic_db_kind)2, ROW,
		       (uint32_t)sim_u64(&g->rng));
}

/* A registration, of every page size and of lengths that do not fit. */
static void register_wildly(struct rogue *g)
{
	static const uint64_t some[] = {
		0,	    1,		4095,	  4096,
		4097,	    65536,	0x200000, PAGES * 4096,
		1ull << 30, 1ull << 40, ~0ull,
	};
	struct sim_rng *r = &g->rng;
	struct unic_ctl_mr_reg req = {
		.va = unic_to_le64(VA + some[sim_below(r, 8)]),
		.iova = unic_to_le64(VA + some[sim_below(r, 11)]),
		.length = unic_to_le64(some[sim_below(r, 11)]),
		.pd = unic_to_le32(sim_below(r, 4) ? g->pd : sim_below(r, 64)),
		.timeout_us = unic_to_le32((uint32_t)sim_u64(r)),
		.rights = (uint8_t)sim_u64(r),
		.mr_class = (uint8_t)sim_below(r, 4),
		.page_shift =
			(uint8_t)(sim_below(r, 2) ? sim_below(r, 64) : 12),
		.key = (uint8_t)sim_u64(r),
		.flags = (uint8_t)(sim_below(r, 2) ? 0 : sim_u64(r)),
		.residency = (uint8_t)sim_below(r, 5),
	};

	if (sim_below(r, 2))
		req.iova = req.va;
	ask(g, UNIC_CTL_MR_REG, &req);
}

/* Any request, with the ids of anybody. But it stays, and spares its neighbours what an
 * administrator may do. */
static void ask_wildly(struct rogue *g)
{
	static const uint16_t ops[] = {
		UNIC_CTL_WAIT_CANCEL,  UNIC_CTL_NOTICE_ANSWER,
		UNIC_CTL_RESYNC,       UNIC_CTL_TOKEN_ALLOC,
		UNIC_CTL_QP_MODIFY,    UNIC_CTL_FRAMES_FREE,
		UNIC_CTL_TOKEN_CANCEL, UNIC_CTL_CONN_QUERY,
		UNIC_CTL_CONNECT,      UNIC_CTL_MR_REG,
		UNIC_CTL_MR_DEREG,     UNIC_CTL_MR_ALLOC,
		UNIC_CTL_QP_DESTROY,   UNIC_CTL_CQ_DESTROY,
		UNIC_CTL_QP_CREATE,    UNIC_CTL_CQ_CREATE,
		UNIC_CTL_ACCEPT,       UNIC_CTL_DISCONNECT,
		UNIC_CTL_MR_REREG,     UNIC_CTL_LISTEN,
		UNIC_CTL_CQ_RESIZE,
	};
	uint64_t rec[8];
	uint32_t i;

	for (i = 0; i < 8; i++)
		rec[i] = sim_u64(&g->rng) & sim_u64(&g->rng) & 0xffff0000ffull;
	ask(g, ops[sim_below(&g->rng, sizeof(ops) / sizeof(ops[0]))], rec);
}

/* Another ring for its queue: of any size, anywhere in and around its memory, where records
 * may be that look valid. */
static void resize_wildly(struct rogue *g)
{
	struct unic_ctl_cq_resize r = {
		.iova = unic_to_le64(VA + 64 * sim_below(&g->rng, 256)),
		.id = unic_to_le32(g->cq),
		.mr = unic_to_le32(sim_below(&g->rng, 4) ? g->region : g->data),
		.entries = unic_to_le32(1u << sim_below(&g->rng, 8)),
	};

	ask(g, UNIC_CTL_CQ_RESIZE, &r);
}

static void deed(void *ctx, uint64_t life)
{
	struct rogue *g = ctx;

	if (g->ended || !g->c.open || g->c.life != (uint32_t)life)
		return;
	if (world->node[g->scn->node]->owner[g->slot] != &g->c ||
	    g->epoch != epoch(g)) { /* it has nothing any more */
		g->step = HELLO;
		next_step(g);
		return;
	}
	switch (sim_below(&g->rng, 9)) {
	case 0:
	case 1:
		scribble(g);
		break;
	case 2:
		register_wildly(g);
		break;
	case 3:
		ask_wildly(g);
		break;
	case 4:
		resize_wildly(g);
		break;
	default:
		if (g->qp)
			post(g);
	}
	sim_at(sim_now() + sim_range(&g->rng, US, GAP_NS), deed, g, life);
}

/* --------------------------------------------------------------------- life */

static void ignore(struct world_client *c)
{
	(void)c;
}

static void begin(void *ctx, uint64_t arg)
{
	struct rogue *g = ctx;

	(void)arg;
	if (g->ended ||
	    !world_connect(&g->c, g->scn->node, 3000 + (uint32_t)arg))
		return;
	g->c.core.privileged = false;
	g->c.wild = true;
	next_step(g);
}

void rogue_start(const struct scenario *s)
{
	uint32_t i;

	rogues = sim_alloc(SCN_ROGUES * sizeof(*rogues));
	count = s->rogues;
	for (i = 0; i < count; i++) {
		struct rogue *g = &rogues[i];

		g->scn = &s->rogue[i];
		g->ended = g->scn->off;
		g->rng.s = g->scn->r;
		g->c.reply = on_reply;
		g->c.upcall = ignore;
		g->c.cq = ignore;
		g->c.hangup = ignore;
		sim_at(g->scn->at_ns, begin, g, i);
	}
}

void rogue_stop(void)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		rogues[i].ended = true;
		if (rogues[i].c.node)
			world_kill(&rogues[i].c);
	}
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * app_qp.c - queue pairs of applications. One page holds send queue, receive
 * queue and completion queue; two ends find each other through struct link.
 * When either end fails, both ends tear down: each destroys its queue pair and
 * makes another one, or moves it to RESET and connects it again. Nothing of the
 * last connection may take effect in the next.
 */
#include "app.h"
#include "core.h"
#include "lives.h"
#include "oracle.h"

#define RQ_OFF 1024u
#define CQ_OFF 2048u

/* All retries of a NIC without an answer, with the parameters below, and a
 * margin. */
#define LINK_SILENCE_NS (12 * MS)

struct link *links;
uint32_t links_count;

void app_link_break(struct link *l)
{
	uint32_t i;

	if (l->qp[0]->gen != l->gen && l->qp[1]->gen != l->gen)
		return; /* it is being connected again already */
	l->gen++;
	for (i = 0; i < 2; i++)
		app_kick(l->qp[i]->app, sim_now() + 10 * US);
}

static void break_late(void *ctx, uint64_t gen)
{
	struct link *l = ctx;

	if (l->gen == gen)
		app_link_break(l);
}

void app_link_fail(struct link *l, bool cut)
{
	if (cut)
		l->cut = l->gen;
	if (!apps_calm) {
		app_link_break(l);
	} else if (l->failed != l->gen) {
		l->failed = l->gen;
		sim_at(sim_now() + LINK_SILENCE_NS, break_late, l, l->gen);
	}
}

void app_break(struct app *a)
{
	uint32_t i;

	sim_log("app %u ends its connections", a->index);
	for (i = 0; i < APP_QPS; i++)
		if (a->qp[i].link)
			app_link_break(a->qp[i].link);
}

uint32_t app_mtu_shift(void)
{
	return (uint32_t)(8 + sim_seed() % 3);
}

uint32_t app_qkey(const struct link *l)
{
	return 0x11110000u + (uint32_t)(l - links);
}

static uint8_t *ring(struct qp *q, uint32_t off)
{
	return app_mem(q->app, q->index * 4096) + off;
}

struct unic_sq_slot *app_qp_sq(struct qp *q)
{
	return (struct unic_sq_slot *)ring(q, q->sq_tail % APP_SLOTS * 64);
}

struct unic_rq_slot *app_qp_rq(struct qp *q)
{
	return (struct unic_rq_slot *)ring(q, RQ_OFF + q->rq_tail % APP_SLOTS *
							       64);
}

bool app_qp_cqe(struct qp *q, struct unic_cqe *out)
{
	memcpy(out, ring(q, CQ_OFF + q->cq_ci % APP_CQES * 32), sizeof(*out));
	if (unic_from_le32(out->seq) != q->cq_ci + 1)
		return false;
	q->cq_ci++;
	app_db(q->app)->tail[q->index].cq_ci = unic_to_le32(q->cq_ci);
	return true;
}

void app_qp_ring(struct app *a, enum unic_db_kind kind, uint32_t row,
		 uint32_t index)
{
	world_doorbell(&a->c, app_db(a), &a->fifo, kind, row, index);
}

void app_qp_arm(struct qp *q)
{
	if (q->state < QP_CREATED || q->state >= QP_DEAD)
		return;
	app_qp_ring(q->app, UNIC_DB_ARM, q->index, q->cq_ci & 0x7fffffff);
}

/* -------------------------------------------------------------- requests */

static void later(struct qp *q, uint8_t state)
{
	q->state = state;
	app_kick(q->app, sim_now() + 200 * US);
}

/* States that the reply to a request leads to, by the state it was sent in. */
static const struct {
	uint8_t good, bad;
} leads[] = {
	[QP_NONE] = { QP_HAS_REGION, QP_NONE },
	[QP_HAS_REGION] = { QP_HAS_CQ, QP_HAS_REGION },
	[QP_HAS_CQ] = { QP_CREATED, QP_HAS_CQ },
	[QP_RESTORED] = { QP_KNOWN, QP_RESTORED },
	[QP_KNOWN] = { QP_CREATED, QP_KNOWN },
	[QP_CREATED] = { QP_INIT, QP_CREATED },
	[QP_INIT] = { QP_RTR, QP_INIT },
	[QP_RTR] = { QP_RTS, QP_RTR },
	[QP_FLUSHING] = { QP_FLUSHING, QP_FLUSHING },
	[QP_DEAD] = { QP_HAS_CQ, QP_DEAD },
	[QP_ENDED] = { QP_CREATED, QP_ENDED },
};

/* @q was destroyed or reset: no bytes can be placed for it any more. */
static void destroyed(struct qp *q)
{
	while (app_op_reap(q->app))
		;
	app_read_upcalls(q->app);
	if (q->unexplained && !q->at_once)
		sim_fail("once", "app %u: QP %x was flushed, nobody said why",
			 q->app->index, q->qpn);
	if (q->at_once)
		app_op_drop(q);
	app_op_drop_quiet(q);
	app_op_settle(q);
	if (!q->app->scn->odds.port.bus_ppm) /* else completions are lost */
		lives_over(q->link, q->gen, !q->end);
	q->failed = q->dying = q->at_once = false;
	q->sq_tail = q->rq_tail = 0;
	q->sq_slots = 0;
	q->unexplained = false;
}

/* Clears the tails of @q: otherwise those of an earlier connection, or of an
 * earlier QP of this row, would be posted again. */
static void forget_tails(struct qp *q)
{
	app_db(q->app)->tail[q->index].sq = unic_to_le32(0);
	app_db(q->app)->tail[q->index].rq = unic_to_le32(0);
}

/*
 * Far from the PSN of the last connection, so that frames still on the wire are
 * recognised as old.
 */
static uint32_t some_psn(struct qp *q)
{
	uint32_t psn = (uint32_t)sim_u64(&q->app->rng) & 0xffffff;

	if (sim_below(&q->app->rng, 4) == 0)
		psn |= 0xfffff0; /* about to wrap */
	if (((psn - q->psn + 0x1000) & 0xffffff) < 0x2000)
		psn ^= 0x400000;
	return psn;
}

static void done(struct app *a, uint32_t arg, uint32_t status, const void *rec,
		 uint32_t bytes)
{
	struct qp *q = &a->qp[arg >> 8];
	uint32_t was = arg & 255;
	struct unic_ctl_mr_reg_reply reg;
	struct unic_ctl_queue_reply obj;

	(void)bytes;
	memcpy(&reg, rec, sizeof(reg));
	memcpy(&obj, rec, sizeof(obj));
	if (status == UNIC_ST_INVALID)
		sim_fail("once",
			 "app %u: a queue in state %u is refused as it "
			 "is asked for",
			 a->index, was);
	if (status) {
		later(q, leads[was].bad);
		return;
	}
	q->state = leads[was].good;
	if (was == QP_NONE)
		q->region = unic_from_le32(reg.id);
	else if (was == QP_HAS_REGION) {
		q->cq = unic_from_le32(obj.id);
		q->has_cq = true;
	} else if (was == QP_HAS_CQ || was == QP_RESTORED) {
		q->id = unic_from_le32(obj.id);
		q->qpn = unic_from_le32(obj.number);
	} else if (was == QP_CREATED) {
		q->psn = q->told_gen == q->link->gen ? q->told_psn
						     : some_psn(q);
		q->gen = q->link->gen;
		q->link->sends[q->end] = q->link->got[q->end] = 0;
		app_kick(q->link->qp[!q->end]->app, sim_now() + 10 * US);
	} else if (was == QP_DEAD) {
		destroyed(q);
	} else if (was == QP_ENDED) {
		destroyed(q);
		forget_tails(q);
	}
}

static void ask(struct qp *q, uint16_t op, void *rec)
{
	if (app_ask(q->app, op, rec, q->index << 8 | q->state, done))
		q->state = QP_BUSY;
	else
		later(q, q->state);
}

static void ask_region(struct qp *q)
{
	uint64_t va = APP_VA + q->index * 4096;
	struct unic_ctl_mr_reg r = {
		.va = unic_to_le64(va),
		.iova = unic_to_le64(va),
		.length = unic_to_le64(4096),
		.pd = unic_to_le32(q->app->pd),
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_CONTROL,
		.page_shift = 12,
		.flags = UNIC_CTL_REG_WAIT,
	};

	memset(ring(q, 0), 0, 4096);
	oracle_name(q->app->node, q->app->slot, q->index * 4096, CQ_OFF);
	q->cq_ci = 0;
	app_db(q->app)->tail[q->index].cq_ci = unic_to_le32(0);
	ask(q, UNIC_CTL_MR_REG, &r);
}

static void ask_cq(struct qp *q)
{
	struct unic_ctl_cq_create r = {
		.iova = unic_to_le64(APP_VA + q->index * 4096 + CQ_OFF),
		.mr = unic_to_le32(q->region),
		.entries = unic_to_le32(APP_CQES),
		.db_index = unic_to_le32(q->index),
	};

	oracle_revoke(q->grant);
	q->grant = oracle_grant(q->app->node, q->app->slot,
				q->index * 4096 + CQ_OFF, APP_CQES * 32,
				ORACLE_RING, 0);
	ask(q, UNIC_CTL_CQ_CREATE, &r);
}

static void ask_qp(struct qp *q)
{
	uint64_t at = APP_VA + q->index * 4096;
	struct unic_ctl_qp_create r = {
		.sq_iova = unic_to_le64(at),
		.rq_iova = unic_to_le64(at + RQ_OFF),
		.mr = unic_to_le32(q->region),
		.send_cq = unic_to_le32(q->cq),
		.recv_cq = unic_to_le32(q->cq),
		.sq_slots = unic_to_le16(APP_SLOTS),
		.rq_slots = unic_to_le16(APP_SLOTS),
		.rq_class = unic_to_le32(APP_CHUNK),
		.db_index = (uint8_t)q->index,
		.pd = unic_to_le32(q->app->pd),
		.type = q->link->type,
		.miss = q->link->miss,
	};

	forget_tails(q);
	ask(q, UNIC_CTL_QP_CREATE, &r);
}

static struct unic_ctl_qp_modify modify(const struct qp *q, uint8_t state)
{
	const struct qp *peer = q->link->qp[!q->end];
	struct unic_ctl_qp_modify r = { .id = unic_to_le32(q->id),
					.state = state };
	bool rc = q->link->type == UNIC_QPT_RC,
	     ud = q->link->type == UNIC_QPT_UD;

	if (state == UNIC_QPS_INIT && !ud)
		r.rights =
			UNIC_MR_REMOTE_WRITE | (rc ? UNIC_MR_REMOTE_READ : 0) |
			(rc && core_has_atomics() ? UNIC_MR_REMOTE_ATOMIC : 0);
	if (state == UNIC_QPS_INIT && ud)
		r.qkey = unic_to_le32(app_qkey(q->link));
	if (state == UNIC_QPS_RTR)
		r.mtu_shift = (uint8_t)app_mtu_shift();
	if (state == UNIC_QPS_RTR && rc) {
		r.rnr_timer = 10; /* 0.32 ms */
		r.max_dest_rd = 4;
		r.vendor = UNIC_PEER_UNIC;
		if (core_tells_refused())
			r.vendor |= UNIC_PEER_REFUSED;
	}
	if (state == UNIC_QPS_RTR && !ud) {
		r.dest_qpn = unic_to_le32(peer->qpn);
		r.rq_psn = unic_to_le32(peer->psn);
		r.dest_ipv4 = unic_to_le32(0x0a000001u + peer->app->node);
		port_mac((uint8_t)peer->app->node, r.dest_mac);
	}
	if (state == UNIC_QPS_RTS)
		r.sq_psn = unic_to_le32(q->psn);
	if (state == UNIC_QPS_RTS && rc) {
		r.max_rd = 4;
		r.timeout = 8; /* 1 ms */
		r.retry_cnt = 7;
		r.rnr_retry = 6;
	}
	return r;
}

static void ask_state(struct qp *q, uint8_t state)
{
	struct unic_ctl_qp_modify r = modify(q, state);

	ask(q, UNIC_CTL_QP_MODIFY, &r);
}

static void ask_obj(struct qp *q, uint16_t op, uint32_t id)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };

	ask(q, op, &r);
}

/* ------------------------------------------------------------------- steps */

static void build(struct qp *q)
{
	const struct qp *peer = q->link->qp[!q->end];

	switch (q->state) {
	case QP_NONE:
		ask_region(q);
		return;
	case QP_HAS_REGION:
		ask_cq(q);
		return;
	case QP_HAS_CQ:
		ask_qp(q);
		return;
	case QP_RESTORED:
		ask_obj(q, UNIC_CTL_QP_QUERY, q->id);
		return;
	case QP_KNOWN:
		ask_state(q, UNIC_QPS_RESET);
		return;
	case QP_CREATED:
		ask_state(q, UNIC_QPS_INIT);
		return;
	case QP_INIT:
		if (peer->gen == q->gen && peer->state >= QP_BUSY &&
		    peer->app->state == APP_RUNS)
			ask_state(q, UNIC_QPS_RTR);
		return;
	case QP_RTR:
		ask_state(q, UNIC_QPS_RTS);
		return;
	default:
		return;
	}
}

/* In every other generation an RC queue pair is connected again. Queue pairs
 * of UC and UD are not: frames still on the wire would be valid messages for
 * the next user of the number. */
static bool is_kept(const struct qp *q)
{
	return q->app->state == APP_RUNS && q->link->type == UNIC_QPT_RC &&
	       (q->gen & 1);
}

/* Half of these go to RESET with everything under way, the others by ERR. */
static bool is_at_once(const struct qp *q)
{
	return is_kept(q) &&
	       (q->gen / 2 + (uint32_t)(q->link - links) + q->end) % 2;
}

/* Moves @q to ERR, waits for all flushed completions, and destroys or resets it;
 * or resets it at once, and its operations end without completions. */
static void tear_down(struct qp *q)
{
	bool over = q->state == QP_DEAD || q->state == QP_ENDED;

	if (!q->dying) {
		q->dying = true;
		q->failed = true;
		q->at_once = is_at_once(q);
		if (!q->at_once) {
			q->state = QP_FLUSHING;
			ask_state(q, UNIC_QPS_ERR);
			return;
		}
	}
	if (!over && !q->at_once &&
	    (q->state != QP_FLUSHING || q->sq_open || q->rq_open))
		return;
	q->state = is_kept(q) ? QP_ENDED : QP_DEAD;
	if (q->state == QP_ENDED)
		ask_state(q, UNIC_QPS_RESET);
	else
		ask_obj(q, UNIC_CTL_QP_DESTROY, q->id);
}

/* ----------------------------------------------------------- all in one go */

static const uint8_t in_one_go[] = { UNIC_QPS_RESET, UNIC_QPS_INIT,
				     UNIC_QPS_RTR, UNIC_QPS_RTS };

static void quick_done(struct app *a, uint32_t arg, uint32_t status,
		       const void *rec, uint32_t bytes)
{
	struct qp *q = &a->qp[arg >> 8];

	(void)rec;
	(void)bytes;
	q->quick_failed |= status != 0;
	if (!(arg & 255) && !status)
		destroyed(q);
	if ((arg & 255) < sizeof(in_one_go) - 1)
		return;
	q->dying = q->failed = q->at_once = q->quick_failed;
	if (q->quick_failed) {
		later(q, QP_ENDED);
		return;
	}
	q->gen = q->quick_gen;
	q->link->sends[q->end] = q->link->got[q->end] = 0;
	q->state = QP_RTS;
}

static bool can_be_quick(const struct qp *q)
{
	return is_kept(q) && q->state == QP_RTS && q->gen == q->link->gen &&
	       !q->dying && !q->app->reset;
}

bool app_qp_anew(struct qp *q)
{
	struct qp *peer = q->link->qp[!q->end];
	struct unic_ctl_qp_modify r;
	uint32_t i;

	if (!can_be_quick(q) || !can_be_quick(peer))
		return false;
	sim_log("app %u: QP %x is connected anew in one go", q->app->index,
		q->qpn);
	app_link_break(q->link);
	q->quick_gen = peer->told_gen = q->link->gen;
	q->quick_failed = false;
	q->dying = q->failed = q->at_once = true;
	q->psn = some_psn(q);
	peer->told_psn = some_psn(peer);
	forget_tails(q);
	for (i = 0; i < sizeof(in_one_go); i++) {
		r = modify(q, in_one_go[i]);
		if (in_one_go[i] == UNIC_QPS_RTR)
			r.rq_psn = unic_to_le32(peer->told_psn);
		q->quick_failed |= !app_ask(q->app, UNIC_CTL_QP_MODIFY, &r,
					    q->index << 8 | i, quick_done);
	}
	q->state = QP_BUSY;
	return true;
}

/* What is left after the QP: its completion queue, then the region of both. */
static void cq_gone(struct app *a, uint32_t arg, uint32_t status,
		    const void *rec, uint32_t bytes)
{
	struct qp *q = &a->qp[arg];

	(void)rec;
	(void)bytes;
	q->state = status ? QP_HAS_CQ : QP_HAS_REGION;
	if (!status) {
		oracle_revoke(q->grant);
		q->has_cq = false;
	}
}

static void region_gone(struct app *a, uint32_t arg, uint32_t status,
			const void *rec, uint32_t bytes)
{
	(void)rec;
	(void)bytes;
	a->qp[arg].state = status ? QP_HAS_REGION : QP_NONE;
}

static void unbuild(struct qp *q)
{
	struct unic_ctl_obj r = { 0 };

	if (q->state == QP_HAS_CQ) {
		r.id = unic_to_le32(q->cq);
		if (app_ask(q->app, UNIC_CTL_CQ_DESTROY, &r, q->index, cq_gone))
			q->state = QP_BUSY;
	} else if (q->state == QP_HAS_REGION) {
		r.id = unic_to_le32(q->region);
		if (app_ask(q->app, UNIC_CTL_MR_DEREG, &r, q->index,
			    region_gone))
			q->state = QP_BUSY;
	}
}

static void step(struct qp *q)
{
	bool stale = q->gen != q->link->gen && q->state >= QP_INIT;
	bool leaving = q->app->state != APP_RUNS;

	if (q->state == QP_BUSY)
		return;
	if (q->dying || stale || (leaving && q->state >= QP_CREATED)) {
		if (leaving && !stale && !q->dying)
			app_link_break(q->link);
		tear_down(q);
	} else if (leaving && q->state <= QP_HAS_CQ) {
		unbuild(q);
	} else {
		build(q);
	}
}

void app_qp_step(struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_QPS; i++)
		if (a->qp[i].link)
			step(&a->qp[i]);
}

void app_qp_forget(struct app *a, bool safe)
{
	uint32_t i;

	for (i = 0; i < APP_QPS; i++) {
		struct qp *q = &a->qp[i];

		if (!q->link)
			continue;
		if (q->gen == q->link->gen)
			app_link_break(q->link);
		q->state = QP_NONE;
		q->gen = 0;
		q->has_cq = false;
		q->failed = q->dying = q->at_once = q->unexplained = false;
		lives_unknown(q->link, !q->end);
		q->sq_tail = q->rq_tail = q->sq_slots = 0;
		q->sq_open = q->rq_open = 0;
		if (safe)
			oracle_revoke(q->grant);
		q->grant = 0;
	}
}

static void restored(struct qp *q)
{
	struct unic_db_tail *tail = &app_db(q->app)->tail[q->index];

	memset(ring(q, CQ_OFF), 0, APP_CQES * 32);
	q->cq_ci = 0;
	*tail = (struct unic_db_tail){ 0 };
	if (q->state == QP_HAS_CQ)
		return;
	if (q->gen == q->link->gen)
		app_link_break(q->link);
	q->gen = 0;
	q->failed = q->dying = q->at_once = q->unexplained = false;
	lives_unknown(q->link, !q->end);
	q->sq_tail = q->rq_tail = q->sq_slots = 0;
	q->sq_open = q->rq_open = 0;
	q->state = QP_RESTORED;
}

void app_qp_restore(struct app *a)
{
	uint32_t i;

	/* in QP_BUSY the region still waits for entries */
	for (i = 0; i < APP_QPS; i++)
		if (a->qp[i].link && a->qp[i].state >= QP_HAS_CQ)
			restored(&a->qp[i]);
}

bool app_qp_none(const struct app *a)
{
	uint32_t i;

	for (i = 0; i < APP_QPS; i++)
		if (a->qp[i].link && a->qp[i].state != QP_NONE)
			return false;
	return true;
}

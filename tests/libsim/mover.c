/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * mover.c - a client that moves bytes to and from the server's window by the buffer
 * manager, whose thread reads its events.
 */
#include <errno.h>
#include <string.h>

#include "bufman.h"
#include "program.h"
#include "unic.h"

#define IPV4(node) (0x0a000001u + (node))

struct mover {
	struct end e;
	struct unic_bm *bm;
	struct unic_fast_pool *pool; /* that the manager runs */
	uint32_t session, number;
	uint64_t remote;
	uint32_t rkey;
	bool sent, answered, bad, broken;
	bool asked; /* e.mr is asked back: set by the thread of the manager */
};

/* Called by the thread of the manager. */
static void on_event(void *arg, const struct unic_event *ev)
{
	struct mover *m = arg;

	if (ev->type == UNIC_EV_NOTICE && ev->mr == m->e.mr)
		m->asked = true;
	if (ev->type == UNIC_EV_EVICTED && ev->mr == m->e.mr)
		m->e.gone = true;
	m->e.failed |= ev->type == UNIC_EV_CQ_ERROR;
	if (ev->type == UNIC_EV_QP_ERROR || ev->type == UNIC_EV_DISCONNECTED ||
	    ev->type == UNIC_EV_CQ_ERROR)
		m->broken = true;
}

/* -------------------------------------------------------------- one exchange */

static void heard(struct mover *m, const struct unic_wc *wc)
{
	const uint8_t *at =
		end_place(&m->e, false, (uint32_t)wc->wr_id - END_WR);
	struct message_head h;

	memcpy(&h, at, sizeof(h));
	if (h.bytes != wc->byte_len ||
	    !program_match(at + sizeof(h), h.bytes - (uint32_t)sizeof(h),
			   h.number))
		sim_fail("bytes", "%s: answer %u is wrong",
			 process_name(&m->e.a->p), h.number);
	if (h.session != m->session || h.number != m->number || m->answered)
		sim_fail("once",
			 "%s: answer %u of session %x comes for %u of %x",
			 process_name(&m->e.a->p), h.number, h.session,
			 m->number, m->session);
	m->remote = h.remote;
	m->rkey = h.rkey;
	m->bad = h.bad;
	m->answered = true;
	end_receive(&m->e, (uint32_t)wc->wr_id - END_WR);
}

static void completed(struct mover *m, const struct unic_wc *wc, bool recv)
{
	if (wc->wr_id < END_WR)
		return; /* a piece that the manager gave up */
	m->e.open--;
	if (wc->status == UNIC_WC_EVICTED) {
		m->e.gone = true;
	} else if (wc->status) {
		program_broken(m->e.a, "the mover's queue pair breaks",
			       wc->status);
		m->broken = true;
	} else if (recv) {
		heard(m, wc);
	} else {
		m->sent = true;
	}
}

static bool poll_both(struct mover *m)
{
	struct unic_wc wc;
	bool any = false;

	while (unic_poll_cq(m->e.cq, 1, &wc) > 0) {
		completed(m, &wc, false);
		any = true;
	}
	while (unic_poll_cq(m->e.rcq, 1, &wc) > 0) {
		completed(m, &wc, true);
		any = true;
	}
	return any;
}

static void send_question(struct mover *m, uint32_t check)
{
	uint8_t *at = end_place(&m->e, true, 0);
	struct message_head h = { .session = m->session,
				  .number = m->number,
				  .check = check,
				  .bytes = MESSAGE / 2 };

	memcpy(at, &h, sizeof(h));
	program_fill(at + sizeof(h), h.bytes - (uint32_t)sizeof(h), h.number);
	end_send(&m->e, 0, h.bytes);
}

static bool is_over(const struct mover *m)
{
	return m->broken || unic_ctx_lost(m->e.ctx);
}

static void renew(struct mover *m)
{
	if (m->asked) {
		m->asked = false;
		program_may(m->e.a, unic_release(m->e.mr), "unic_release");
		m->e.gone = true;
	}
	if (end_renew(&m->e))
		program_sleep(m->e.a, MS);
}

/* Ask the server for its window, and whether that has pattern @check. 0, or -EIO. */
static int exchange(struct mover *m, uint32_t check)
{
	uint64_t begin_ns = sim_now();
	bool posted = false;

	m->number++;
	m->answered = m->sent = false;
	while (!is_over(m) && !(m->answered && m->sent)) {
		if (posted && m->e.gone && !m->e.open && !m->sent)
			posted = false; /* it was refused here */
		renew(m);
		m->broken |= program_silent(m->e.a, begin_ns);
		if (!posted && !m->e.gone) {
			send_question(m, check);
			posted = true;
		}
		if (!poll_both(m))
			unic_wait_cq(program_below(m->e.a, 2) ? m->e.cq
							      : m->e.rcq,
				     5);
	}
	return is_over(m) ? -EIO : 0;
}

static int refresh(void *arg, uint64_t *remote, uint32_t *rkey)
{
	struct mover *m = arg;
	int err = exchange(m, 0);

	*remote = m->remote;
	*rkey = m->rkey;
	return err;
}

/* ----------------------------------------------------------------- transfers */

static int transfer(struct mover *m, uint8_t opcode, void *local)
{
	struct unic_bm_xfer x = {
		.qp = m->e.qp,
		.cq = m->e.cq,
		.opcode = opcode,
		.local = local,
		.remote = m->remote,
		.rkey = m->rkey,
		.len = WINDOW_BYTES,
		.window = program_below(m->e.a, 4),
		.timeout_ms = 3000,
		.refresh = refresh,
		.arg = m,
	};
	int err = unic_bm_transfer(m->bm, &x);

	sim_log("%s: transfer %u: %d", process_name(&m->e.a->p), opcode, err);
	if (err && err != -ETIME && !is_over(m))
		program_broken(m->e.a, "a transfer fails", x.status);
	m->remote = x.remote;
	m->rkey = x.rkey;
	return err;
}

static bool there_and_back(struct mover *m, uint8_t *out, uint8_t *in)
{
	uint32_t pattern = 1 + m->session % 10000u * 100u + m->number;

	program_fill(out, WINDOW_BYTES, pattern);
	memset(in, 0, WINDOW_BYTES);
	if (transfer(m, UNIC_WR_WRITE, out) || exchange(m, pattern))
		return false;
	if (m->bad)
		sim_fail("bytes",
			 "%s: a transfer was done, and its bytes are "
			 "not there",
			 process_name(&m->e.a->p));
	if (transfer(m, UNIC_WR_READ, in))
		return false;
	if (!program_match(in, WINDOW_BYTES, pattern))
		sim_fail("bytes",
			 "%s: a transfer brings other bytes than were "
			 "written",
			 process_name(&m->e.a->p));
	return true;
}

/* Take some fast registrations, for a while. */
static void borrow(struct mover *m)
{
	struct unic_mr *mr[3];
	uint32_t i, n = program_below(m->e.a, 4);
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = unic_fast_pool_get(m->pool, 50, &mr[i]);
	program_may(m->e.a, err, "unic_fast_pool_get");
	n = err ? i - 1 : n;
	program_sleep(m->e.a, 1 + program_below(m->e.a, 3 * MS));
	for (i = 0; i < n; i++)
		unic_fast_pool_put(m->pool, mr[i]);
}

static bool move_some(struct mover *m)
{
	uint8_t *out = unic_bm_get(m->bm, WINDOW_BYTES);
	uint8_t *in = unic_bm_get(m->bm, WINDOW_BYTES);
	uint32_t i, n = 1 + program_below(m->e.a, 4);
	bool well = out && in && !exchange(m, 0);

	for (i = 0; i < n && well; i++) {
		well = there_and_back(m, out, in);
		if (well && m->pool)
			borrow(m);
	}
	unic_bm_put(m->bm, out, WINDOW_BYTES);
	unic_bm_put(m->bm, in, WINDOW_BYTES);
	return well;
}

/* -------------------------------------------------------------------- rounds */

static bool connect_once(struct mover *m)
{
	struct unic_conn_param param = { .timeout = 8 };
	int err;

	renew(m);
	err = m->e.gone ? -ENOMEM : end_queue(&m->e);
	if (err)
		return false;
	err = unic_connect(m->e.qp, IPV4(m->e.a->peer), SERVICE, &param, 100,
			   NULL, NULL);
	program_may(m->e.a, err, "unic_connect");
	return !err;
}

static void round_of(struct mover *m)
{
	struct actor *a = m->e.a;
	bool well;

	m->session = program_below(a, 0x7fffffff) + 1;
	m->number = 0;
	m->broken = false;
	well = connect_once(m) && move_some(m);
	if (!a->kept || !unic_ctx_lost(m->e.ctx))
		end_unqueue(&m->e);
	sim_log("%s: a round %s", process_name(&a->p),
		well ? "is done" : "broke");
	a->done += well;
	if (!well)
		program_sleep(a, MS);
}

static int recover_manager(void *bm, int ms)
{
	return unic_bm_recover(bm, ms);
}

static int open_manager(struct mover *m)
{
	struct actor *a = m->e.a;
	struct unic_bm_attr attr = {
		.rights = UNIC_MR_LOCAL_WRITE,
		.chunk_entries = 1 + program_below(a, 8),
		.wait_us = 500000,
		.residency = program_below(a, 4) ? UNIC_RESIDENT : UNIC_DEMAND,
		.on_event = on_event,
		.arg = m,
	};

	int err = unic_bm_open(m->e.pd, &attr, &m->bm);

	m->pool = NULL;
	if (err || program_below(a, 2))
		return err;
	return unic_bm_fast_pool(m->bm, 2, 4096, &m->pool);
}

void program_mover(struct process *p)
{
	struct actor *a = p->user;
	struct mover m;

	memset(&m, 0, sizeof(m));
	while (!a->stop && a->done < a->goal) {
		m.asked = false;
		if (end_open(&m.e, a)) {
			program_sleep(a, 300 * US);
			continue;
		}
		program_must(a, open_manager(&m), "unic_bm_open");
		do {
			while (!a->stop && a->done < a->goal && !m.e.failed &&
			       !unic_ctx_lost(m.e.ctx))
				round_of(&m);
		} while (a->done < a->goal && !m.e.failed &&
			 end_recover(&m.e, recover_manager, m.bm));
		end_unqueue(&m.e);
		unic_bm_close(m.bm);
		end_close(&m.e);
	}
}

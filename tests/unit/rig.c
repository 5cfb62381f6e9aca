/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* rig.c - see rig.h. */
#include "rig.h"

#include "unit.h"

#define POLLS 100000u
/* of a window: the doorbell, NIC and upcall pages are before it */
#define FIRST_PAGE 4u

static struct unic_driver_page *driver_page(struct rig *r)
{
	return (struct unic_driver_page *)(r->port.bar + UNIC_BAR_DRIVER_OFF);
}

static struct unic_nic_idx *nic_idx(struct rig *r)
{
	return (struct unic_nic_idx *)(r->port.bar + UNIC_BAR_NIC_OFF);
}

static struct unic_db_page *db_page(struct rig *r, uint32_t proc)
{
	return (struct unic_db_page *)r->port.window[proc];
}

uint64_t rig_poll(struct rig *r)
{
	uint32_t i;

	for (i = 0; i < POLLS; i++) {
		uint64_t until = unic_nic_poll(&r->nic);

		if (until)
			return until;
		if (!r->nic.armed) /* ends the spin time */
			r->nic.idle_since_ns = 0;
	}
	fail_msg("the NIC never comes to rest");
	return 0;
}

void rig_run(struct rig *r, uint64_t ns)
{
	uint64_t end = r->port.now_ns + ns;

	for (;;) {
		uint64_t until = rig_poll(r);

		if (r->port.now_ns >= end)
			return;
		r->port.now_ns = until < end ? until : end;
	}
}

void rig_run2(struct rig *a, struct rig *b, uint64_t ns)
{
	uint64_t end = a->port.now_ns + ns, next;
	uint32_t i;

	b->port.now_ns = a->port.now_ns;
	for (;;) {
		/* frames go to and fro until both NICs have no work at this
		 * instant */
		for (i = 0; i < POLLS; i++) {
			uint64_t ua = rig_poll(a), ub = rig_poll(b);

			next = ua < ub ? ua : ub;
			if (a->port.rx_head == a->port.rx_tail &&
			    b->port.rx_head == b->port.rx_tail)
				break;
		}
		assert_true(i < POLLS);
		if (a->port.now_ns >= end)
			return;
		a->port.now_ns = next < end ? next : end;
		b->port.now_ns = a->port.now_ns;
	}
}

uint8_t rig_cmd(struct rig *r, uint8_t opcode, void *cmd, void *cpl)
{
	struct unic_cmd_hdr *hdr = cmd;
	uint8_t *bar = r->port.bar, rec[64];
	uint32_t i;

	hdr->opcode = opcode;
	hdr->status = 0;
	hdr->cookie = unic_to_le16(++r->cookie);
	hdr->epoch = unic_to_le32(r->nic.epoch);
	memcpy(bar + UNIC_BAR_CMD_OFF + r->cmd_tail % UNIC_CMD_ENTRIES * 64,
	       cmd, 64);
	driver_page(r)->cmd_tail = unic_to_le32(++r->cmd_tail);
	for (i = 0; i < 1000; i++) {
		unic_nic_poll(&r->nic);
		if (unic_from_le32(nic_idx(r)->cpl_tail) != r->cpl_head)
			break;
	}
	assert_true(i < 1000);
	memcpy(rec,
	       bar + UNIC_BAR_CPL_OFF + r->cpl_head % UNIC_CPL_ENTRIES * 64,
	       64);
	driver_page(r)->cpl_head = unic_to_le32(++r->cpl_head);
	hdr = (struct unic_cmd_hdr *)rec;
	assert_int_equal(unic_from_le16(hdr->cookie), r->cookie);
	if (cpl)
		memcpy(cpl, rec, 64);
	return hdr->status;
}

bool rig_event(struct rig *r, void *evt)
{
	if (unic_from_le32(nic_idx(r)->evt_tail) == r->evt_head)
		return false;
	memcpy(evt,
	       r->port.bar + UNIC_BAR_EVT_OFF +
		       r->evt_head % UNIC_EVT_ENTRIES * 64,
	       64);
	driver_page(r)->evt_head = unic_to_le32(++r->evt_head);
	return true;
}

void rig_expect(struct rig *r, uint8_t type, void *evt)
{
	struct unic_evt_hdr *hdr = evt;

	assert_true(rig_event(r, evt));
	assert_int_equal(hdr->type, type);
}

void rig_reset(struct rig *r)
{
	struct unic_info *info = (struct unic_info *)r->port.bar;
	uint32_t req = unic_from_le32(info->reset_ack) + 1;

	memset(driver_page(r), 0, sizeof(struct unic_driver_page));
	driver_page(r)->want_irq = unic_to_le32(1);
	driver_page(r)->reset_req = unic_to_le32(req);
	r->cmd_tail = r->cpl_head = r->evt_head = r->drop_head = 0;
	memset(r->next_page, 0, sizeof(r->next_page));
	memset(r->fifo_seq, 0, sizeof(r->fifo_seq));
	memset(r->port.window, 0, sizeof(r->port.window));
	rig_poll(r);
	assert_int_equal(unic_from_le32(info->reset_ack), req);
}

void rig_up(struct rig *r, uint8_t id)
{
	struct unic_cmd_set_addr addr = {
		.ipv4 = unic_to_le32(0x0a000000u | id),
	};

	memset(&r->cmd_tail, 0, sizeof(*r) - offsetof(struct rig, cmd_tail));
	fake_port_init(&r->port, id);
	unic_nic_init(&r->nic, &r->port);
	rig_reset(r);
	assert_int_equal(rig_cmd(r, UNIC_CMD_SET_ADDR, &addr, NULL), 0);
}

void rig_attach(struct rig *r, uint32_t proc, uint32_t weight)
{
	struct unic_cmd_proc_attach cmd = {
		.proc = unic_to_le32(proc),
		.weight = unic_to_le32(weight),
		.doorbell = unic_to_le64(UNIC_BUS(proc, 0)),
	};

	assert_int_equal(rig_cmd(r, UNIC_CMD_PROC_ATTACH, &cmd, NULL), 0);
	r->next_page[proc] = FIRST_PAGE;
}

uint32_t rig_pd(struct rig *r, uint32_t proc)
{
	struct unic_cmd_pd cmd = { .proc = unic_to_le32(proc) };
	struct unic_cpl_pd cpl;

	assert_int_equal(rig_cmd(r, UNIC_CMD_PD_ALLOC, &cmd, &cpl), 0);
	return unic_from_le32(cpl.pd);
}

static uint64_t *list_page(struct rig *r)
{
	return (uint64_t *)(r->port.bar + UNIC_BAR_LIST_OFF +
			    r->cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
}

/* Takes pages of the window that were not used; after the last one it begins at
 * the first again. */
static uint8_t *take_pages(struct rig *r, uint32_t proc, uint32_t pages)
{
	uint64_t *list = list_page(r);
	uint32_t i, first = r->next_page[proc];

	if (first + pages > FAKE_WINDOW_BYTES / 4096)
		first = FIRST_PAGE;
	for (i = 0; i < pages; i++)
		list[i] = UNIC_BUS(proc, (first + i) * 4096ull);
	r->next_page[proc] = first + pages;
	return r->port.window[proc] + first * 4096;
}

uint8_t rig_reg(struct rig *r, uint32_t proc, uint32_t pd, uint32_t pages,
		uint8_t mr_class, uint8_t flags, uint32_t timeout_us,
		struct rig_mr *out)
{
	uint64_t iova = 0x10000000ull + 0x100000ull * r->cookie;
	struct unic_cpl_mr_reg cpl;
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(pd),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
			  UNIC_MR_ATOMIC | UNIC_MR_REMOTE_WRITE,
		.mr_class = mr_class,
		.page_shift = 12,
		.iova = unic_to_le64(iova),
		.length = unic_to_le64(pages * 4096ull),
		.n_pages = unic_to_le32(pages),
		.flags = flags,
		.timeout_us = unic_to_le32(timeout_us),
	};
	uint8_t status;

	memset(out, 0, sizeof(*out));
	out->iova = iova;
	if (flags & UNIC_REG_LIST)
		out->mem = take_pages(r, proc, pages);
	status = rig_cmd(r, UNIC_CMD_MR_REG, &cmd, &cpl);
	if (status == UNIC_ST_OK || status == UNIC_ST_PENDING) {
		out->mr = unic_from_le32(cpl.mr);
		out->gen = unic_from_le32(cpl.gen);
		out->stag = unic_from_le32(cpl.stag);
		out->wait = unic_from_le32(cpl.wait);
	}
	return status;
}

uint8_t rig_fill(struct rig *r, uint32_t proc, uint32_t pages,
		 struct rig_mr *mr)
{
	struct unic_cmd_mr_fill cmd = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.count = unic_to_le32(pages),
	};

	mr->mem = take_pages(r, proc, pages);
	return rig_cmd(r, UNIC_CMD_MR_FILL, &cmd, NULL);
}

uint8_t rig_reg_cached(struct rig *r, uint32_t pd, uint32_t pages,
		       uint8_t residency, uint32_t table, struct rig_mr *out)
{
	uint64_t iova = 0x10000000ull + 0x100000ull * r->cookie;
	struct unic_cpl_mr_reg cpl;
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(pd),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
			  UNIC_MR_ATOMIC | UNIC_MR_REMOTE_WRITE,
		.residency = residency,
		.page_shift = 12,
		.iova = unic_to_le64(iova),
		.length = unic_to_le64(pages * 4096ull),
		.n_pages = unic_to_le32(pages),
		.user = unic_to_le32(0x77),
		.list = unic_to_le64(
			residency == UNIC_TABLE ? RIG_LIST + table * 8ull : 0),
		.flags = residency == UNIC_TABLE ? UNIC_REG_HOST_TABLE : 0,
	};
	uint8_t status = rig_cmd(r, UNIC_CMD_MR_REG, &cmd, &cpl);

	memset(out, 0, sizeof(*out));
	out->iova = iova;
	if (status)
		return status;
	out->mr = unic_from_le32(cpl.mr);
	out->gen = unic_from_le32(cpl.gen);
	out->stag = unic_from_le32(cpl.stag);
	return 0;
}

unic_le64 *rig_words(struct rig *r)
{
	return (unic_le64 *)(void *)(r->port.window[UNIC_BUS_WINDOW(RIG_LIST)] +
				     UNIC_BUS_OFFSET(RIG_LIST));
}

void rig_table(struct rig *r, uint32_t at, uint32_t proc, uint32_t page)
{
	rig_words(r)[at] =
		unic_to_le64(UNIC_BUS(proc, page * 4096ull) | UNIC_TABLE_VALID);
}

uint8_t rig_fault(struct rig *r, const struct rig_mr *mr, uint32_t first,
		  uint32_t count, uint32_t seq, uint32_t proc, uint32_t page,
		  uint32_t *done)
{
	struct unic_cmd_mr_fault cmd = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.first = unic_to_le32(first),
		.count = unic_to_le32(count),
		.seq = unic_to_le32(seq),
		.cannot = unic_to_le32(proc == FAKE_WINDOWS),
	};
	struct unic_cpl_mr_pages cpl;
	uint64_t *list = list_page(r);
	uint8_t status;
	uint32_t i;

	for (i = 0; i < count && i < UNIC_LIST_MAX; i++)
		list[i] = UNIC_BUS(proc, (page + i) * 4096ull);
	status = rig_cmd(r, UNIC_CMD_MR_FAULT, &cmd, &cpl);
	if (done)
		*done = unic_from_le32(cpl.done);
	return status;
}

uint8_t rig_pages(struct rig *r, const struct rig_mr *mr, uint32_t first,
		  uint32_t count, uint32_t advice, uint32_t *done)
{
	struct unic_cmd_mr_pages cmd = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.first = unic_to_le32(first),
		.count = unic_to_le32(count),
		.advice = unic_to_le32(advice),
	};
	struct unic_cpl_mr_pages cpl;
	uint8_t status =
		rig_cmd(r, advice ? UNIC_CMD_MR_ADVISE : UNIC_CMD_MR_INVALIDATE,
			&cmd, &cpl);

	if (done)
		*done = unic_from_le32(cpl.done);
	return status;
}

bool rig_dropped(struct rig *r, struct unic_drop *out)
{
	if (unic_from_le32(nic_idx(r)->drop_tail) == r->drop_head)
		return false;
	memcpy(out,
	       r->port.bar + UNIC_BAR_DROP_OFF +
		       r->drop_head % UNIC_DROP_ENTRIES * sizeof(*out),
	       sizeof(*out));
	driver_page(r)->drop_head = unic_to_le32(++r->drop_head);
	return true;
}

uint8_t rig_dereg(struct rig *r, const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };

	return rig_cmd(r, UNIC_CMD_MR_DEREG, &cmd, NULL);
}

uint8_t rig_ack(struct rig *r, const struct unic_evt_mr *notice)
{
	struct unic_cmd_notice_ack cmd = { .mr = notice->mr,
					   .gen = notice->gen,
					   .seq = notice->seq };

	return rig_cmd(r, UNIC_CMD_NOTICE_ACK, &cmd, NULL);
}

uint8_t rig_answer(struct rig *r, const struct unic_evt_mr *notice,
		   uint32_t answer, const struct rig_mr *offer,
		   uint32_t extend_us, uint32_t *refusal)
{
	struct unic_cpl_notice cpl;
	struct unic_cmd_notice_answer cmd = {
		.mr = notice->mr,
		.gen = notice->gen,
		.seq = notice->seq,
		.answer = unic_to_le32(answer),
		.offer_mr = unic_to_le32(offer ? offer->mr : 0),
		.offer_gen = unic_to_le32(offer ? offer->gen : 0),
		.extend_us = unic_to_le32(extend_us),
	};
	uint8_t status = rig_cmd(r, UNIC_CMD_NOTICE_ANSWER, &cmd, &cpl);

	if (refusal)
		*refusal = unic_from_le32(cpl.detail);
	return status;
}

void rig_ring(struct rig *r, uint32_t proc, enum unic_db_kind kind,
	      uint32_t row, uint32_t index)
{
	struct unic_db_page *db = db_page(r, proc);
	uint32_t seq = r->fifo_seq[proc];

	if (kind == UNIC_DB_SQ)
		db->tail[row].sq = unic_to_le32(index);
	else if (kind == UNIC_DB_RQ || kind == UNIC_DB_SRQ)
		db->tail[row].rq = unic_to_le32(index);
	else
		db->tail[row].arm = unic_to_le32(index);
	db->fifo[seq % UNIC_DB_FIFO] =
		unic_to_le32(UNIC_DB_WORD(kind, row, index));
	r->fifo_seq[proc] = seq + 1;
	db->fifo_seq = unic_to_le32(seq + 1);
}

void rig_empty_row(struct rig *r, struct rig_qp *qp)
{
	struct unic_db_tail *tail = &db_page(r, qp->proc)->tail[qp->row];

	tail->sq = tail->rq = unic_to_le32(0);
	qp->sq_tail = qp->rq_tail = 0;
}

void rig_qp(struct rig *r, uint32_t proc, uint32_t pd, uint32_t row,
	    struct rig_qp *qp)
{
	rig_qp_of(r, proc, pd, row, UNIC_QPT_RC, 0, 0, qp);
}

/* The receives of @create are those of SRQ @srq. */
static void share(struct unic_cmd_qp_create *create, uint32_t srq)
{
	create->srq = unic_to_le32(1 + srq);
	create->rq_iova = unic_to_le64(0);
	create->rq_slots = unic_to_le16(0);
}

static void make_qp(struct rig *r, uint32_t proc, uint32_t pd, uint32_t row,
		    uint8_t type, uint8_t miss, uint32_t rq_class,
		    const uint32_t *srq, struct rig_qp *qp)
{
	struct unic_cmd_cq_create cq = { .pd = unic_to_le32(pd),
					 .entries = unic_to_le32(RIG_SLOTS),
					 .db_index = unic_to_le32(row) };
	struct unic_cmd_qp_create create = {
		.pd = unic_to_le32(pd),
		.sq_slots = unic_to_le16(RIG_SLOTS),
		.rq_slots = unic_to_le16(RIG_SLOTS),
		.db_index = unic_to_le32(row),
		.rq_class = unic_to_le32(rq_class),
		.type = type,
		.miss = miss,
	};
	struct unic_cpl_obj cpl;

	memset(qp, 0, sizeof(*qp));
	qp->proc = proc;
	qp->pd = pd;
	qp->row = row;
	qp->mtu_shift = 10;
	qp->psn = 0x1000;
	qp->type = type;
	qp->qkey = 0x1234;
	rig_empty_row(r, qp);
	assert_int_equal(rig_reg(r, proc, pd, 3, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &qp->rings),
			 0);
	memset(qp->rings.mem, 0, 3 * 4096);
	qp->sq = (struct unic_sq_slot *)qp->rings.mem;
	qp->rq = (struct unic_rq_slot *)(qp->rings.mem + 4096);
	qp->cqe = (const struct unic_cqe *)(qp->rings.mem + 8192);
	cq.stag = unic_to_le32(qp->rings.stag);
	cq.iova = unic_to_le64(qp->rings.iova + 8192);
	assert_int_equal(rig_cmd(r, UNIC_CMD_CQ_CREATE, &cq, &cpl), 0);
	qp->cq = unic_from_le32(cpl.id);
	create.stag = unic_to_le32(qp->rings.stag);
	create.send_cq = create.recv_cq = unic_to_le32(qp->cq);
	create.sq_iova = unic_to_le64(qp->rings.iova);
	create.rq_iova = unic_to_le64(qp->rings.iova + 4096);
	if (srq)
		share(&create, *srq);
	assert_int_equal(rig_cmd(r, UNIC_CMD_QP_CREATE, &create, &cpl), 0);
	qp->qpn = unic_from_le32(cpl.id);
}

void rig_qp_of(struct rig *r, uint32_t proc, uint32_t pd, uint32_t row,
	       uint8_t type, uint8_t miss, uint32_t rq_class, struct rig_qp *qp)
{
	make_qp(r, proc, pd, row, type, miss, rq_class, NULL, qp);
}

void rig_qp_shared(struct rig *r, uint32_t proc, uint32_t pd, uint32_t row,
		   uint8_t type, uint32_t srq, struct rig_qp *qp)
{
	make_qp(r, proc, pd, row, type, 0, 0, &srq, qp);
}

static void reliable(struct unic_cmd_qp_modify *cmd)
{
	if (cmd->state == UNIC_QPS_RTR) {
		cmd->rnr_timer = 1;
		cmd->max_dest_rd = 4;
		cmd->vendor = 1;
	}
	if (cmd->state == UNIC_QPS_RTS) {
		cmd->max_rd = 4;
		cmd->timeout = 10; /* 4.2 ms */
		cmd->retry_cnt = 3;
		cmd->rnr_retry = 3;
	}
}

static void modify(struct rig *r, const struct rig_qp *qp, uint8_t state,
		   const struct rig *peer, const struct rig_qp *to)
{
	struct unic_cmd_qp_modify cmd = { .proc = unic_to_le32(qp->proc),
					  .qpn = unic_to_le32(qp->qpn),
					  .state = state };

	if (state == UNIC_QPS_INIT && qp->type == UNIC_QPT_UD)
		cmd.qkey = unic_to_le32(qp->qkey);
	else if (state == UNIC_QPS_INIT)
		cmd.rights = qp->type ? UNIC_MR_REMOTE_WRITE
				      : UNIC_MR_REMOTE_READ |
						UNIC_MR_REMOTE_WRITE |
						UNIC_MR_ATOMIC;
	if (state == UNIC_QPS_RTR)
		cmd.mtu_shift = qp->mtu_shift;
	if (state == UNIC_QPS_RTR && qp->type != UNIC_QPT_UD) {
		cmd.dest_qpn = unic_to_le32(to->qpn);
		cmd.rq_psn = unic_to_le32(to->psn);
		cmd.dest_ipv4 = unic_to_le32(peer->nic.ipv4);
		memcpy(cmd.dest_mac, peer->port.mac, 6);
	}
	if (state == UNIC_QPS_RTS)
		cmd.sq_psn = unic_to_le32(qp->psn);
	if (qp->type == UNIC_QPT_RC)
		reliable(&cmd);
	assert_int_equal(rig_cmd(r, UNIC_CMD_QP_MODIFY, &cmd, NULL), 0);
}

void rig_connect(struct rig *ra, struct rig_qp *a, struct rig *rb,
		 struct rig_qp *b)
{
	uint8_t state;

	for (state = UNIC_QPS_INIT; state <= UNIC_QPS_RTS; state++) {
		modify(ra, a, state, rb, b);
		if (b != a)
			modify(rb, b, state, ra, a);
	}
}

void rig_send(struct rig *r, struct rig_qp *qp, uint8_t opcode, uint64_t wr_id,
	      const struct rig_mr *mr, uint32_t off, uint32_t len,
	      uint64_t remote, uint32_t rkey)
{
	struct unic_sq_slot *s = &qp->sq[qp->sq_tail % RIG_SLOTS];

	memset(s, 0, sizeof(*s));
	s->opcode = opcode;
	s->flags = UNIC_WR_SIGNALED;
	s->num_sge = 1;
	s->wr_id = unic_to_le64(wr_id);
	s->remote = unic_to_le64(remote);
	s->rkey = unic_to_le32(rkey);
	s->sge[0].iova = unic_to_le64(mr->iova + off);
	s->sge[0].len = unic_to_le32(len);
	s->sge[0].lkey = unic_to_le32(mr->stag);
	rig_ring(r, qp->proc, UNIC_DB_SQ, qp->row, ++qp->sq_tail);
}

void rig_recv(struct rig *r, struct rig_qp *qp, uint64_t wr_id,
	      const struct rig_mr *mr, uint32_t off, uint32_t len)
{
	struct unic_rq_slot *s = &qp->rq[qp->rq_tail % RIG_SLOTS];

	memset(s, 0, sizeof(*s));
	s->num_sge = 1;
	s->wr_id = unic_to_le64(wr_id);
	s->sge[0].iova = unic_to_le64(mr->iova + off);
	s->sge[0].len = unic_to_le32(len);
	s->sge[0].lkey = unic_to_le32(mr->stag);
	rig_ring(r, qp->proc, UNIC_DB_RQ, qp->row, ++qp->rq_tail);
}

bool rig_cqe(struct rig *r, struct rig_qp *qp, struct unic_cqe *out)
{
	const struct unic_cqe *c = &qp->cqe[qp->cq_ci % RIG_SLOTS];

	if (unic_from_le32(c->seq) != qp->cq_ci + 1)
		return false;
	*out = *c;
	qp->cq_ci++;
	db_page(r, qp->proc)->tail[qp->row].cq_ci = unic_to_le32(qp->cq_ci);
	return true;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * provider_loop_cmd.c - the loop-back provider: the commands, which change the tables.
 */
#include "provider/provider_loop.h"

static bool is_pd_of_proc(const struct loop *l, uint32_t pd, uint32_t proc)
{
	return pd < LOOP_PDS && l->pd[pd] == proc;
}

static bool is_attached(const struct loop *l, uint32_t proc)
{
	return proc < l->slots && l->proc[proc].db;
}

/* ------------------------------------------------------------------ regions */

void loop_mr_end(struct loop *l, struct loop_mr *mr)
{
	unic_os_free(l->p.os, mr->page);
	mr->page = NULL;
}

static struct loop_mr *mr_find(struct loop *l, uint32_t mr, uint32_t gen)
{
	return mr < LOOP_MRS && l->mr[mr].page && l->mr[mr].gen == gen
		       ? &l->mr[mr]
		       : NULL;
}

static uint8_t fill_mr(struct loop_mr *mr, uint32_t first, uint32_t count,
		       const void *list)
{
	const unic_le64 *bus = list;
	uint32_t i;

	if (first != mr->filled || count > mr->n_pages - first || !list)
		return UNIC_ST_STATE;
	for (i = 0; i < count; i++)
		mr->page[first + i] = unic_from_le64(bus[i]);
	mr->filled += count;
	return UNIC_ST_OK;
}

/* The next STag of region @i without the consumer's byte: of @part, or of the next part
 * if the last STag had that. */
static uint32_t next_stag(const struct loop *l, uint32_t i, uint32_t part)
{
	uint32_t stag = i << LOOP_IDX_SHIFT | (part & LOOP_PART_MASK);

	return (stag ^ l->mr[i].stag) >> 8 ? stag : stag ^ 0x100u;
}

/* Index of a free region and its new STag, both drawn at random, or, with RESTORE, those
 * of cmd->stag. LOOP_MRS: none is free. */
static uint32_t choose_mr(const struct loop *l,
			  const struct unic_cmd_mr_reg *cmd, uint32_t *stag)
{
	uint64_t drawn;
	uint32_t i, n;

	if (cmd->flags & UNIC_REG_RESTORE) {
		*stag = unic_from_le32(cmd->stag) & ~0xffu;
		i = *stag >> LOOP_IDX_SHIFT;
		return l->mr[i].page ? LOOP_MRS : i;
	}
	unic_os_random(l->p.os, &drawn, sizeof(drawn));
	i = (uint32_t)(drawn >> 32) % LOOP_MRS;
	for (n = 0; l->mr[i].page; n++) {
		if (n == LOOP_MRS)
			return LOOP_MRS;
		i = (i + 1) % LOOP_MRS;
	}
	*stag = next_stag(l, i, (uint32_t)drawn);
	return i;
}

static uint8_t do_reg(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_mr_reg cmd;
	struct unic_cpl_mr_reg *cpl = out;
	struct loop_mr *mr;
	uint32_t i, gen, stag;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	if (unic_from_le32(cmd.pd) >= LOOP_PDS ||
	    l->pd[unic_from_le32(cmd.pd)] == LOOP_NONE)
		return UNIC_ST_NO_PD;
	if (cmd.rights & UNIC_MR_REMOTE_ATOMIC)
		return UNIC_ST_INVALID;
	i = choose_mr(l, &cmd, &stag);
	if (i == LOOP_MRS)
		return UNIC_ST_MR_FULL;
	mr = &l->mr[i];
	gen = mr->gen + 1;
	memset(mr, 0, sizeof(*mr));
	mr->gen = gen;
	mr->stag = stag | cmd.key;
	mr->n_pages = unic_from_le32(cmd.n_pages);
	mr->page = unic_os_alloc(l->p.os, (size_t)mr->n_pages * 8);
	if (!mr->page)
		return UNIC_ST_TLB_FULL;
	mr->pd = unic_from_le32(cmd.pd);
	mr->iova = unic_from_le64(cmd.iova);
	mr->length = unic_from_le64(cmd.length);
	mr->rights = cmd.rights;
	mr->shift = cmd.page_shift;
	mr->user = unic_from_le32(cmd.user);
	if (cmd.flags & UNIC_REG_LIST)
		fill_mr(mr, 0, mr->n_pages, call->list);
	cpl->mr = unic_to_le32(i);
	cpl->gen = unic_to_le32(gen);
	cpl->stag = unic_to_le32(mr->stag);
	return UNIC_ST_OK;
}

static uint8_t do_fill(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_mr_fill cmd;
	struct loop_mr *mr;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	mr = mr_find(l, unic_from_le32(cmd.mr), unic_from_le32(cmd.gen));
	return mr ? fill_mr(mr, unic_from_le32(cmd.first),
			    unic_from_le32(cmd.count), call->list)
		  : UNIC_ST_NO_MR;
}

static uint8_t do_dereg(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_mr cmd;
	struct loop_mr *mr;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	mr = mr_find(l, unic_from_le32(cmd.mr), unic_from_le32(cmd.gen));
	if (!mr)
		return UNIC_ST_NO_MR;
	if (mr->queues)
		return UNIC_ST_BUSY;
	loop_mr_end(l, mr);
	return UNIC_ST_OK;
}

/* ------------------------------------------------------ processes and PDs */

static uint8_t do_attach(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_proc_attach cmd;
	uint32_t proc;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	proc = unic_from_le32(cmd.proc);
	if (proc >= l->slots)
		return UNIC_ST_INVALID;
	if (l->proc[proc].db)
		return UNIC_ST_BUSY;
	l->proc[proc].db = (void *)l->slot_mem[proc];
	l->proc[proc].np = (void *)(l->slot_mem[proc] + 4096);
	l->proc[proc].db_seen = 0;
	l->proc[proc].np->asleep = unic_to_le32(1); /* always ring */
	l->proc[proc].np->epoch = unic_to_le32(l->epoch);
	return UNIC_ST_OK;
}

static void qp_end(struct loop *l, struct loop_qp *qp)
{
	l->mr[qp->mr].queues--;
	qp->used = false;
}

static void cq_end(struct loop *l, struct loop_cq *cq)
{
	l->mr[cq->mr].queues--;
	cq->used = false;
}

static uint8_t do_detach(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_proc_detach cmd;
	uint32_t proc, i;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	proc = unic_from_le32(cmd.proc);
	if (!is_attached(l, proc))
		return UNIC_ST_NO_PROC;
	for (i = 0; i < LOOP_QPS; i++)
		if (l->qp[i].used && l->qp[i].proc == proc)
			qp_end(l, &l->qp[i]);
	for (i = 0; i < LOOP_CQS; i++)
		if (l->cq[i].used && l->cq[i].proc == proc)
			cq_end(l, &l->cq[i]);
	for (i = 0; i < LOOP_MRS; i++)
		if (l->mr[i].page && l->pd[l->mr[i].pd] == proc)
			loop_mr_end(l, &l->mr[i]);
	for (i = 0; i < LOOP_PDS; i++)
		if (l->pd[i] == proc)
			l->pd[i] = LOOP_NONE;
	l->proc[proc].db = NULL;
	return UNIC_ST_OK;
}

static uint8_t do_pd_alloc(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cpl_pd *cpl = out;
	struct unic_cmd_pd cmd;
	uint32_t i = 0;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	if (!is_attached(l, unic_from_le32(cmd.proc)))
		return UNIC_ST_NO_PROC;
	while (i < LOOP_PDS && l->pd[i] != LOOP_NONE)
		i++;
	if (i == LOOP_PDS)
		return UNIC_ST_PD_FULL;
	l->pd[i] = (uint16_t)unic_from_le32(cmd.proc);
	cpl->pd = unic_to_le32(i);
	return UNIC_ST_OK;
}

static uint8_t do_pd_free(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_pd cmd;
	uint32_t pd, i;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	pd = unic_from_le32(cmd.pd);
	if (!is_pd_of_proc(l, pd, unic_from_le32(cmd.proc)))
		return UNIC_ST_NO_PD;
	for (i = 0; i < LOOP_MRS; i++)
		if (l->mr[i].page && l->mr[i].pd == pd)
			return UNIC_ST_BUSY;
	l->pd[pd] = LOOP_NONE;
	return UNIC_ST_OK;
}

/* ------------------------------------------------------------------- queues */

static struct loop_mr *ring_mr(struct loop *l, uint32_t stag, uint32_t pd,
			       uint64_t iova, uint64_t bytes)
{
	struct loop_mr *mr = loop_mr_of(l, stag);

	if (!mr || mr->pd != pd || iova & 63 || iova < mr->iova ||
	    bytes > mr->length || iova - mr->iova > mr->length - bytes)
		return NULL;
	return mr;
}

static bool pow2_in(uint32_t v, uint32_t lo, uint32_t hi)
{
	return v >= lo && v <= hi && !(v & (v - 1));
}

static uint8_t do_cq(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_cq_create cmd;
	struct unic_cpl_obj *cpl = out;
	uint32_t i = 0, pd, entries;
	struct loop_mr *mr;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	pd = unic_from_le32(cmd.pd);
	entries = unic_from_le32(cmd.entries);
	mr = ring_mr(l, unic_from_le32(cmd.stag), pd, unic_from_le64(cmd.iova),
		     (uint64_t)entries * sizeof(struct unic_cqe));
	while (i < LOOP_CQS && l->cq[i].used)
		i++;
	if (i == LOOP_CQS)
		return UNIC_ST_CQ_FULL;
	if (!mr || !pow2_in(entries, 2, LOOP_CQ_ENTRIES) ||
	    unic_from_le32(cmd.db_index) >= UNIC_DB_OBJECTS)
		return UNIC_ST_INVALID;
	l->cq[i] = (struct loop_cq){
		.used = true,
		.proc = l->pd[pd],
		.mr = (uint32_t)(mr - l->mr),
		.entries = entries,
		.db = unic_from_le32(cmd.db_index),
		.iova = unic_from_le64(cmd.iova),
	};
	mr->queues++;
	cpl->id = unic_to_le32(i);
	return UNIC_ST_OK;
}

static bool cq_ok(const struct loop *l, uint32_t cq, uint32_t proc)
{
	return cq < LOOP_CQS && l->cq[cq].used && l->cq[cq].proc == proc;
}

/* The queue goes on in another ring. Records are written at once, so none is under way. */
static uint8_t do_cq_resize(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_cq_resize cmd;
	struct unic_cpl_cq_resize *cpl = out;
	uint32_t entries, ci;
	struct loop_mr *mr;
	struct loop_cq *cq;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	entries = unic_from_le32(cmd.entries);
	if (!cq_ok(l, unic_from_le32(cmd.id), unic_from_le32(cmd.proc)))
		return UNIC_ST_NO_CQ;
	cq = &l->cq[unic_from_le32(cmd.id)];
	mr = ring_mr(l, unic_from_le32(cmd.stag), l->mr[cq->mr].pd,
		     unic_from_le64(cmd.iova),
		     (uint64_t)entries * sizeof(struct unic_cqe));
	if (!mr || !pow2_in(entries, 2, LOOP_CQ_ENTRIES))
		return UNIC_ST_INVALID;
	ci = unic_from_le32(
		UNIC_LOAD(l->proc[cq->proc].db->tail[cq->db].cq_ci));
	if (cq->written - ci > entries)
		return UNIC_ST_BUSY;
	l->mr[cq->mr].queues--;
	mr->queues++;
	cq->mr = (uint32_t)(mr - l->mr);
	cq->iova = unic_from_le64(cmd.iova);
	cq->entries = entries;
	cpl->records = unic_to_le32(cq->written);
	return UNIC_ST_OK;
}

static uint8_t do_qp(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_qp_create cmd;
	struct unic_cpl_obj *cpl = out;
	struct loop_qp qp = { .used = true };
	struct loop_mr *mr;
	uint32_t i = 1; /* no QP has number 0 */

	memcpy(&cmd, call->cmd, sizeof(cmd));
	if (cmd.type)
		return UNIC_ST_BAD_OPCODE; /* RC only */
	qp.pd = unic_from_le32(cmd.pd);
	qp.sq_slots = unic_from_le16(cmd.sq_slots);
	qp.rq_slots = unic_from_le16(cmd.rq_slots);
	qp.sq_iova = unic_from_le64(cmd.sq_iova);
	qp.rq_iova = unic_from_le64(cmd.rq_iova);
	qp.send_cq = unic_from_le32(cmd.send_cq);
	qp.recv_cq = unic_from_le32(cmd.recv_cq);
	qp.db = unic_from_le32(cmd.db_index);
	mr = ring_mr(l, unic_from_le32(cmd.stag), qp.pd, qp.sq_iova,
		     qp.sq_slots * 64u);
	if (!mr ||
	    mr != ring_mr(l, unic_from_le32(cmd.stag), qp.pd, qp.rq_iova,
			  qp.rq_slots * 64u) ||
	    !pow2_in(qp.sq_slots, 2, LOOP_QP_SLOTS) ||
	    !pow2_in(qp.rq_slots, 2, LOOP_QP_SLOTS) || qp.db >= UNIC_DB_OBJECTS)
		return UNIC_ST_INVALID;
	qp.proc = l->pd[qp.pd];
	if (!cq_ok(l, qp.send_cq, qp.proc) || !cq_ok(l, qp.recv_cq, qp.proc))
		return UNIC_ST_NO_CQ;
	while (i < LOOP_QPS && l->qp[i].used)
		i++;
	if (i == LOOP_QPS)
		return UNIC_ST_QP_FULL;
	qp.mr = (uint32_t)(mr - l->mr);
	mr->queues++;
	l->qp[i] = qp;
	cpl->id = unic_to_le32(i);
	return UNIC_ST_OK;
}

static struct loop_qp *qp_find(struct loop *l, uint32_t qpn, uint32_t proc)
{
	return qpn < LOOP_QPS && l->qp[qpn].used && l->qp[qpn].proc == proc
		       ? &l->qp[qpn]
		       : NULL;
}

static uint8_t do_modify(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_qp_modify cmd;
	struct loop_qp *qp;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	qp = qp_find(l, unic_from_le32(cmd.qpn), unic_from_le32(cmd.proc));
	if (!qp)
		return UNIC_ST_NO_QP;
	if (cmd.state == UNIC_QPS_ERR) {
		qp->state = UNIC_QPS_ERR;
		loop_data_flush(l, qp);
		return UNIC_ST_OK;
	}
	if (cmd.state > UNIC_QPS_RTS ||
	    (cmd.state && cmd.state != qp->state + 1))
		return UNIC_ST_STATE;
	if (cmd.state == UNIC_QPS_INIT)
		qp->rights = cmd.rights;
	if (cmd.state == UNIC_QPS_RTR)
		qp->dest = unic_from_le32(cmd.dest_qpn);
	qp->state = cmd.state;
	return UNIC_ST_OK;
}

static uint8_t do_qp_end(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_obj cmd;
	struct loop_qp *qp;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	qp = qp_find(l, unic_from_le32(cmd.id), unic_from_le32(cmd.proc));
	if (!qp)
		return UNIC_ST_NO_QP;
	qp_end(l, qp);
	return UNIC_ST_OK;
}

static uint8_t do_cq_end(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_obj cmd;
	uint32_t id, i;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	id = unic_from_le32(cmd.id);
	if (!cq_ok(l, id, unic_from_le32(cmd.proc)))
		return UNIC_ST_NO_CQ;
	for (i = 0; i < LOOP_QPS; i++)
		if (l->qp[i].used &&
		    (l->qp[i].send_cq == id || l->qp[i].recv_cq == id))
			return UNIC_ST_BUSY;
	cq_end(l, &l->cq[id]);
	return UNIC_ST_OK;
}

/* --------------------------------------------------------------------- rest */

static uint8_t do_ok(struct loop *l, struct unic_call *call, void *out)
{
	(void)l;
	(void)call;
	(void)out;
	return UNIC_ST_OK;
}

static uint8_t do_addr(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cmd_set_addr cmd;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	l->ipv4 = unic_from_le32(cmd.ipv4);
	l->info.ipv4 = cmd.ipv4;
	return UNIC_ST_OK;
}

static uint8_t do_arp(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cpl_arp *cpl = out;
	struct unic_cmd_arp cmd;

	memcpy(&cmd, call->cmd, sizeof(cmd));
	memcpy(cpl->mac, l->info.mac, sizeof(cpl->mac));
	return unic_from_le32(cmd.ipv4) == l->ipv4 ? UNIC_ST_OK
						   : UNIC_ST_NO_ROUTE;
}

/* Queue the datagram for this host itself; without room it is lost. */
static uint8_t do_mad(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_mad_rx *mad = &l->mad[l->mad_tail % LOOP_MADS];
	struct unic_cmd_mad_send cmd;

	(void)out;
	memcpy(&cmd, call->cmd, sizeof(cmd));
	if (unic_from_le32(cmd.ipv4) != l->ipv4 || !call->list)
		return UNIC_ST_NO_ROUTE;
	if (l->mad_tail - l->mad_head == LOOP_MADS)
		return UNIC_ST_OK;
	memset(mad, 0, sizeof(*mad));
	mad->ipv4 = cmd.ipv4;
	memcpy(mad->mac, l->info.mac, sizeof(mad->mac));
	mad->qpn = unic_to_le32(1);
	memcpy(mad->data, call->list, sizeof(mad->data));
	l->mad_tail++;
	return UNIC_ST_OK;
}

static uint8_t do_usage(struct loop *l, struct unic_call *call, void *out)
{
	struct unic_cpl_usage *cpl = out;
	uint32_t used = 0, i;

	(void)call;
	for (i = 0; i < LOOP_MRS; i++)
		used += l->mr[i].page ? l->mr[i].n_pages : 0;
	cpl->used = unic_to_le32(used);
	cpl->limit = l->info.tlb_entries;
	for (i = 0; i < 3; i++)
		cpl->top_proc[i] = unic_to_le16(0xffff);
	return UNIC_ST_OK;
}

static uint8_t (*const on_cmd[])(struct loop *, struct unic_call *, void *) = {
	[UNIC_CMD_NOP] = do_ok,
	[UNIC_CMD_SET_PARAMS] = do_ok,
	[UNIC_CMD_HOST_TIME] = do_ok,
	[UNIC_CMD_SET_ADDR] = do_addr,
	[UNIC_CMD_ENTROPY] = do_ok,
	[UNIC_CMD_PROC_ATTACH] = do_attach,
	[UNIC_CMD_PROC_DETACH] = do_detach,
	[UNIC_CMD_PROC_SET] = do_ok,
	[UNIC_CMD_PD_ALLOC] = do_pd_alloc,
	[UNIC_CMD_PD_FREE] = do_pd_free,
	[UNIC_CMD_MR_REG] = do_reg,
	[UNIC_CMD_MR_FILL] = do_fill,
	[UNIC_CMD_MR_DEREG] = do_dereg,
	[UNIC_CMD_CQ_CREATE] = do_cq,
	[UNIC_CMD_CQ_DESTROY] = do_cq_end,
	[UNIC_CMD_CQ_RESIZE] = do_cq_resize,
	[UNIC_CMD_QP_CREATE] = do_qp,
	[UNIC_CMD_QP_MODIFY] = do_modify,
	[UNIC_CMD_QP_DESTROY] = do_qp_end,
	[UNIC_CMD_ARP_RESOLVE] = do_arp,
	[UNIC_CMD_MAD_SEND] = do_mad,
	[UNIC_CMD_QUERY_USAGE] = do_usage,
};

void loop_execute(struct loop *l, struct unic_call *call)
{
	struct unic_cmd_hdr hdr;

	memcpy(&hdr, call->cmd, sizeof(hdr));
	memset(call->cpl, 0, sizeof(call->cpl));
	if (hdr.opcode < sizeof(on_cmd) / sizeof(on_cmd[0]) &&
	    on_cmd[hdr.opcode])
		hdr.status = on_cmd[hdr.opcode](l, call, call->cpl);
	else
		hdr.status = UNIC_ST_BAD_OPCODE;
	memcpy(call->cpl, &hdr, sizeof(hdr));
	unic_host_done(l->p.host, call);
}

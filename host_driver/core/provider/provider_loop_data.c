/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * provider_loop_data.c - the loop-back provider: SEND, WRITE and READ between queue
 * pairs of this host, by memcpy through the regions' page tables. Rings and
 * doorbells are hostile memory: copied out once, then checked.
 */
#include "provider/provider_loop.h"

#define WRS_PER_POLL 64u

/* Pointer of the host to @iova of region @mr; *len shrinks to the bytes that are
 * contiguous there. NULL: outside the region. */
static uint8_t *find_piece(struct loop *l, const struct loop_mr *mr,
			   uint64_t iova, uint32_t *len)
{
	uint64_t page = (iova >> mr->shift) - (mr->iova >> mr->shift);
	uint64_t off = iova & ((1ull << mr->shift) - 1);
	uint64_t room = (1ull << mr->shift) - off, bus;

	if (page >= mr->n_pages)
		return NULL;
	bus = mr->page[page] + off;
	if (*len > room)
		*len = (uint32_t)room;
	if (bus >> 48 >= l->slots ||
	    (bus & 0xffffffffffffull) > l->slot_bytes - *len)
		return NULL;
	return l->slot_mem[bus >> 48] + (bus & 0xffffffffffffull);
}

static void send_event_obj(struct loop *l, uint8_t type, uint32_t proc,
			   uint32_t id, uint32_t detail)
{
	uint64_t rec[UNIC_REC_WORDS];
	struct unic_evt_obj evt = {
		.hdr = { .type = type,
			 .proc = unic_to_le16((uint16_t)proc),
			 .epoch = unic_to_le32(l->epoch) },
		.id = unic_to_le32(id),
		.detail = unic_to_le32(detail),
	};

	memcpy(rec, &evt, sizeof(rec));
	unic_host_event(l->p.host, rec);
}

/* A position in a list of SGEs, or in inline data. */
struct cursor {
	struct unic_sge sge[UNIC_SQ_SGE_MAX];
	uint32_t n, at, off; /* entry, byte in it */
	uint32_t pd;
	uint8_t need; /* rights */
	const uint8_t *inline_data;
};

static uint64_t length_of(const struct cursor *c)
{
	uint64_t len = 0;
	uint32_t i;

	for (i = 0; i < c->n; i++)
		len += unic_from_le32(c->sge[i].len);
	return len;
}

/* The access check, same order as the NIC's: STag, PD, rights, bounds. */
static struct loop_mr *check_access(struct loop *l, uint32_t stag, uint32_t pd,
				    uint8_t need, uint64_t iova, uint64_t len,
				    uint8_t *detail)
{
	struct loop_mr *mr = loop_mr_of(l, stag);

	*detail = UNIC_WD_STAG;
	if (!mr)
		return NULL;
	*detail = UNIC_WD_PD;
	if (mr->pd != pd)
		return NULL;
	*detail = UNIC_WD_RIGHTS;
	if (need & ~mr->rights)
		return NULL;
	*detail = UNIC_WD_BOUNDS;
	if (iova < mr->iova || len > mr->length ||
	    iova - mr->iova > mr->length - len)
		return NULL;
	return mr;
}

static bool check_all(struct loop *l, const struct cursor *c, uint8_t *detail)
{
	uint32_t i;

	for (i = 0; i < c->n && !c->inline_data; i++)
		if (c->sge[i].len &&
		    !check_access(l, unic_from_le32(c->sge[i].lkey), c->pd,
				  c->need, unic_from_le64(c->sge[i].iova),
				  unic_from_le32(c->sge[i].len), detail))
			return false;
	return true;
}

/* Pointer to the next bytes of @c; *len shrinks to those that are contiguous. NULL: at
 * the end. */
static uint8_t *next_piece(struct loop *l, struct cursor *c, uint32_t *len)
{
	const struct unic_sge *s = &c->sge[c->at];
	const struct loop_mr *mr;
	uint8_t *p;

	while (c->at < c->n && c->off == unic_from_le32(s->len)) {
		s = &c->sge[++c->at];
		c->off = 0;
	}
	if (c->at == c->n)
		return NULL;
	if (*len > unic_from_le32(s->len) - c->off)
		*len = unic_from_le32(s->len) - c->off;
	if (c->inline_data) {
		p = (uint8_t *)(uintptr_t)c->inline_data + c->off;
	} else {
		mr = &l->mr[unic_from_le32(s->lkey) >> LOOP_IDX_SHIFT];
		p = find_piece(l, mr, unic_from_le64(s->iova) + c->off, len);
	}
	c->off += *len;
	return p;
}

/* Copy @len bytes. The caller has checked both lists; they may overlap. */
static void copy_payload(struct loop *l, struct cursor *to, struct cursor *from,
			 uint64_t len)
{
	while (len) {
		uint32_t n = len > 65536 ? 65536 : (uint32_t)len, m;
		uint8_t *src = next_piece(l, from, &n), *dst;
		uint32_t done = 0;

		while (src && done < n) {
			m = n - done;
			dst = next_piece(l, to, &m);
			if (!dst)
				return;
			memmove(dst, src + done, m);
			done += m;
		}
		if (!src)
			return;
		len -= n;
	}
}

static bool read_ring(struct loop *l, const struct loop_qp *qp, uint64_t iova,
		      uint32_t at, void *out)
{
	uint32_t len = UNIC_SLOT_BYTES;
	uint8_t *p = find_piece(l, &l->mr[qp->mr],
				iova + (uint64_t)at * UNIC_SLOT_BYTES, &len);

	if (!p || len < UNIC_SLOT_BYTES)
		return false;
	memcpy(out, p, UNIC_SLOT_BYTES);
	return true;
}

/* -------------------------------------------------------------- completions */

static void notify_cq(struct loop *l, struct loop_cq *cq)
{
	struct loop_proc *proc = &l->proc[cq->proc];
	unic_le32 *events = &proc->np->cq_events[cq->db];

	if (!cq->armed || (int32_t)(cq->written - cq->arm_at) <= 0)
		return;
	cq->armed = false;
	UNIC_STORE(*events, unic_to_le32(unic_from_le32(*events) + 1));
	unic_os_ring_proc(l->p.os, cq->proc);
}

static void post_cqe(struct loop *l, uint32_t id, struct unic_cqe *cqe)
{
	struct loop_cq *cq = &l->cq[id];
	uint32_t len = sizeof(*cqe);
	uint32_t ci = unic_from_le32(
		UNIC_LOAD(l->proc[cq->proc].db->tail[cq->db].cq_ci));
	uint8_t *p = find_piece(l, &l->mr[cq->mr],
				cq->iova + (cq->written % cq->entries) *
						   (uint64_t)sizeof(*cqe),
				&len);

	if (cq->written - ci >= cq->entries || !p) {
		send_event_obj(l, UNIC_EVT_CQ_ERROR, cq->proc, id, 1);
		return;
	}
	memcpy(p, cqe, sizeof(*cqe) - 4);
	unic_os_wmb();
	cq->written++;
	UNIC_STORE(((struct unic_cqe *)(void *)p)->seq,
		   unic_to_le32(cq->written));
	notify_cq(l, cq);
}

static uint32_t qp_number(const struct loop *l, const struct loop_qp *qp)
{
	return (uint32_t)(qp - l->qp);
}

static void complete_sq(struct loop *l, struct loop_qp *qp,
			const struct unic_sq_slot *s, uint8_t status,
			uint8_t detail, uint64_t bytes)
{
	struct unic_cqe cqe = {
		.wr_id = s->wr_id,
		.byte_len = unic_to_le32((uint32_t)bytes),
		.qpn = unic_to_le32(qp_number(l, qp)),
		.opcode = unic_wc_of_wr(s->opcode),
		.status = status,
		.detail = detail,
	};

	if (status || s->flags & UNIC_WR_SIGNALED)
		post_cqe(l, qp->send_cq, &cqe);
}

static void complete_rq(struct loop *l, struct loop_qp *qp, unic_le64 wr_id,
			const struct unic_sq_slot *s, uint8_t status,
			uint64_t bytes)
{
	bool imm = s && (s->opcode == UNIC_WR_SEND_IMM ||
			 s->opcode == UNIC_WR_WRITE_IMM);
	struct unic_cqe cqe = {
		.wr_id = wr_id,
		.byte_len = unic_to_le32((uint32_t)bytes),
		.qpn = unic_to_le32(qp_number(l, qp)),
		.opcode = s && s->opcode == UNIC_WR_WRITE_IMM
				  ? UNIC_WC_RECV_WRITE_IMM
				  : UNIC_WC_RECV,
		.status = status,
		.flags = imm ? UNIC_WC_WITH_IMM : 0,
	};

	if (imm)
		cqe.imm = s->imm;
	post_cqe(l, qp->recv_cq, &cqe);
}

/* ------------------------------------------------------------ one request */

static uint32_t sq_tail(const struct loop *l, const struct loop_qp *qp)
{
	return unic_from_le32(UNIC_LOAD(l->proc[qp->proc].db->tail[qp->db].sq));
}

static uint32_t rq_tail(const struct loop *l, const struct loop_qp *qp)
{
	return unic_from_le32(UNIC_LOAD(l->proc[qp->proc].db->tail[qp->db].rq));
}

static bool has_ext(const struct unic_sq_slot *s)
{
	return s->num_sge > UNIC_SQ_SGE_BASE ||
	       s->inline_len > UNIC_SQ_INLINE_BASE;
}

struct wr {
	struct unic_sq_slot slot;
	struct unic_sq_ext ext; /* follows `slot`: inline data is contiguous */
	uint32_t slots;
	struct cursor local;
};

/* Copy the request at the head of the SQ to @wr and check its fields. 0 or UNIC_WD_*. */
static uint8_t fetch_wr(struct loop *l, const struct loop_qp *qp,
			uint32_t posted, struct wr *wr)
{
	struct unic_sq_slot *s = &wr->slot;
	bool inl;

	memset(wr, 0, sizeof(*wr));
	wr->slots = 1;
	if (!read_ring(l, qp, qp->sq_iova, qp->sq_head % qp->sq_slots, s))
		return UNIC_WD_OPCODE;
	inl = s->flags & UNIC_WR_INLINE;
	if (s->opcode < UNIC_WR_SEND || s->opcode > UNIC_WR_READ)
		return UNIC_WD_OPCODE;
	if (s->flags & ~UNIC_WR_FLAGS_ALL || s->ctrl_len ||
	    (inl && s->opcode == UNIC_WR_READ))
		return UNIC_WD_FLAGS;
	if (s->num_sge > UNIC_SQ_SGE_MAX || (inl && s->num_sge) ||
	    s->inline_len > UNIC_SQ_INLINE_MAX || (!inl && s->inline_len))
		return UNIC_WD_SGE;
	if (has_ext(s)) {
		wr->slots = 2;
		if (posted < 2 ||
		    !read_ring(l, qp, qp->sq_iova,
			       (qp->sq_head + 1) % qp->sq_slots, &wr->ext))
			return UNIC_WD_SGE;
	}
	wr->local.pd = qp->pd;
	wr->local.need = s->opcode == UNIC_WR_READ ? UNIC_MR_LOCAL_WRITE : 0;
	wr->local.n = inl ? 1 : s->num_sge;
	memcpy(wr->local.sge, s->sge, sizeof(s->sge));
	memcpy(wr->local.sge + UNIC_SQ_SGE_BASE, wr->ext.sge,
	       sizeof(wr->ext.sge));
	if (inl) {
		wr->local.inline_data = (const uint8_t *)s->sge;
		wr->local.sge[0].len = unic_to_le32(s->inline_len);
	}
	return length_of(&wr->local) > UNIC_MSG_MAX ? UNIC_WD_LENGTH : 0;
}

_Static_assert(offsetof(struct wr, ext) == sizeof(struct unic_sq_slot),
	       "inline data runs from the slot into its extension");

/* Copy out the next receive of @peer. -EAGAIN: none is posted. */
static int fetch_recv(struct loop *l, struct loop_qp *peer, struct cursor *to,
		      unic_le64 *wr_id)
{
	uint32_t posted = rq_tail(l, peer) - peer->rq_head;
	struct unic_rq_slot r;

	if (!posted || posted > peer->rq_slots)
		return -EAGAIN;
	if (!read_ring(l, peer, peer->rq_iova, peer->rq_head % peer->rq_slots,
		       &r))
		return -EAGAIN;
	memset(to, 0, sizeof(*to));
	to->pd = peer->pd;
	to->need = UNIC_MR_LOCAL_WRITE;
	to->n = r.num_sge <= UNIC_RQ_SGE_MAX ? r.num_sge : 0;
	memcpy(to->sge, r.sge, sizeof(r.sge));
	*wr_id = r.wr_id;
	return 0;
}

/* Execute SEND @wr. 0, -EAGAIN (receiver not ready), or enum unic_wc_status. */
static int do_send(struct loop *l, struct loop_qp *peer, struct wr *wr,
		   uint64_t len)
{
	struct cursor to;
	unic_le64 wr_id;
	uint8_t detail;

	if (fetch_recv(l, peer, &to, &wr_id))
		return -EAGAIN;
	peer->rq_head++;
	if (length_of(&to) < len) {
		complete_rq(l, peer, wr_id, NULL, UNIC_WC_LOC_LEN_ERR, 0);
		return UNIC_WC_REM_INV_REQ_ERR;
	}
	if (!check_all(l, &to, &detail)) {
		complete_rq(l, peer, wr_id, NULL, UNIC_WC_LOC_PROT_ERR, 0);
		return UNIC_WC_REM_OP_ERR;
	}
	copy_payload(l, &to, &wr->local, len);
	complete_rq(l, peer, wr_id, &wr->slot, UNIC_WC_SUCCESS, len);
	return 0;
}

static int do_rdma(struct loop *l, struct loop_qp *peer, struct wr *wr,
		   uint64_t len)
{
	bool read = wr->slot.opcode == UNIC_WR_READ;
	uint8_t need = read ? UNIC_MR_REMOTE_READ : UNIC_MR_REMOTE_WRITE;
	struct cursor remote = {
		.sge = { { .iova = wr->slot.remote,
			   .len = unic_to_le32((uint32_t)len),
			   .lkey = wr->slot.rkey } },
		.n = 1,
		.pd = peer->pd,
		.need = need,
	};
	struct cursor to;
	unic_le64 wr_id = unic_to_le64(0);
	uint8_t detail;

	if (wr->slot.opcode == UNIC_WR_WRITE_IMM &&
	    fetch_recv(l, peer, &to, &wr_id))
		return -EAGAIN;
	if (need & ~peer->rights || !check_all(l, &remote, &detail))
		return UNIC_WC_REM_ACCESS_ERR;
	copy_payload(l, read ? &wr->local : &remote,
		     read ? &remote : &wr->local, len);
	if (wr->slot.opcode == UNIC_WR_WRITE_IMM) {
		peer->rq_head++;
		complete_rq(l, peer, wr_id, &wr->slot, UNIC_WC_SUCCESS, len);
	}
	return 0;
}

static void qp_error(struct loop *l, struct loop_qp *qp, uint32_t status)
{
	qp->state = UNIC_QPS_ERR;
	send_event_obj(l, UNIC_EVT_QP_ERROR, qp->proc, qp_number(l, qp),
		       status);
	loop_data_flush(l, qp);
}

/* Execute the request at the head of the SQ. False: the queue pair must wait. */
static bool execute_wr(struct loop *l, struct loop_qp *qp, uint32_t posted)
{
	struct loop_qp *peer = qp->dest < LOOP_QPS ? &l->qp[qp->dest] : NULL;
	uint8_t detail, status;
	uint64_t len;
	struct wr wr;
	int ret = 0;

	detail = fetch_wr(l, qp, posted, &wr);
	if (detail || !check_all(l, &wr.local, &detail)) {
		status = detail >= UNIC_WD_OPCODE ? UNIC_WC_LOC_QP_OP_ERR
						  : UNIC_WC_LOC_PROT_ERR;
		qp->sq_head += wr.slots;
		complete_sq(l, qp, &wr.slot, status, detail, 0);
		qp_error(l, qp, status);
		return false;
	}
	len = length_of(&wr.local);
	if (!peer || !peer->used || peer->state < UNIC_QPS_RTR ||
	    peer->state > UNIC_QPS_RTS)
		ret = UNIC_WC_RETRY_EXC_ERR;
	else if (wr.slot.opcode <= UNIC_WR_SEND_IMM)
		ret = do_send(l, peer, &wr, len);
	else
		ret = do_rdma(l, peer, &wr, len);
	if (ret == -EAGAIN)
		return false; /* RNR: tried again at the next poll */
	qp->sq_head += wr.slots;
	complete_sq(l, qp, &wr.slot, (uint8_t)ret, 0, len);
	if (ret)
		qp_error(l, qp, (uint32_t)ret);
	return !ret;
}

void loop_data_flush(struct loop *l, struct loop_qp *qp)
{
	uint32_t posted = sq_tail(l, qp) - qp->sq_head;
	struct cursor to;
	unic_le64 wr_id;

	while (posted && posted <= qp->sq_slots) {
		struct wr wr;

		(void)fetch_wr(l, qp, posted, &wr);
		qp->sq_head += wr.slots;
		complete_sq(l, qp, &wr.slot, UNIC_WC_WR_FLUSH_ERR, 0, 0);
		posted = wr.slots < posted ? posted - wr.slots : 0;
	}
	while (!fetch_recv(l, qp, &to, &wr_id)) {
		qp->rq_head++;
		complete_rq(l, qp, wr_id, NULL, UNIC_WC_WR_FLUSH_ERR, 0);
	}
}

/* ---------------------------------------------------------------- doorbells */

static void arm_cqs(struct loop *l, uint32_t proc, uint32_t row)
{
	uint32_t i;

	for (i = 0; i < LOOP_CQS; i++) {
		struct loop_cq *cq = &l->cq[i];

		if (!cq->used || cq->proc != proc || cq->db != row)
			continue;
		cq->arm_at = unic_from_le32(UNIC_LOAD(
				     l->proc[proc].db->tail[row].arm)) &
			     0x7fffffff;
		cq->armed = true;
		notify_cq(l, cq);
	}
}

/* Handle words [@at, @seq) of the doorbell FIFO: those that arm completion queues. The
 * tails show posted work. */
static void arm_words(struct loop *l, uint32_t p, uint32_t at, uint32_t seq)
{
	const struct unic_db_page *db = l->proc[p].db;

	for (; at != seq; at++) {
		uint32_t w =
			unic_from_le32(UNIC_LOAD(db->fifo[at % UNIC_DB_FIFO]));

		if ((w >> 8 & 3) == UNIC_DB_ARM)
			arm_cqs(l, p, w & 0xff);
	}
}

static void poll_doorbells(struct loop *l, uint32_t p)
{
	struct loop_proc *proc = &l->proc[p];
	uint32_t seq = unic_from_le32(UNIC_LOAD(proc->db->fifo_seq)), row;
	uint32_t at = proc->db_seen, n = seq - at;

	if (!n)
		return;
	unic_os_rmb();
	if (n < UNIC_DB_FIFO) {
		arm_words(l, p, at, seq);
		/* the writer may have overwritten words during the read (INV-1) */
		unic_os_rmb();
		n = unic_from_le32(UNIC_LOAD(proc->db->fifo_seq)) - at;
	}
	proc->db_seen = seq;
	for (row = 0; n >= UNIC_DB_FIFO && row < UNIC_DB_OBJECTS; row++)
		arm_cqs(l, p, row);
}

static bool poll_qp(struct loop *l, struct loop_qp *qp)
{
	uint32_t budget = WRS_PER_POLL;
	bool work = false;

	while (budget-- && qp->used && qp->state == UNIC_QPS_RTS) {
		uint32_t posted = sq_tail(l, qp) - qp->sq_head;

		if (!posted)
			break;
		unic_os_rmb();
		if (posted > qp->sq_slots) { /* a wild index */
			qp_error(l, qp, UNIC_WC_LOC_QP_OP_ERR);
			break;
		}
		if (!execute_wr(l, qp, posted))
			break;
		work = true;
	}
	return work;
}

bool loop_data_poll(struct loop *l)
{
	bool work = false;
	uint32_t i;

	for (i = 0; i < LOOP_QPS; i++)
		if (l->qp[i].used && l->qp[i].state == UNIC_QPS_RTS)
			work |= poll_qp(l, &l->qp[i]);
	for (i = 0; i < l->slots; i++)
		if (l->proc[i].db)
			poll_doorbells(l, i);
	return work;
}

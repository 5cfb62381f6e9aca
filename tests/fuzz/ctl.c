/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* ctl.c - see ctl.h. */
#include "ctl.h"

static const uint8_t ops[] = {
	UNIC_CTL_HELLO,	      UNIC_CTL_FRAMES_ALLOC,  UNIC_CTL_FRAMES_FREE,
	UNIC_CTL_PD_ALLOC,    UNIC_CTL_PD_FREE,	      UNIC_CTL_MR_REG,
	UNIC_CTL_MR_REG,      UNIC_CTL_MR_REG,	      UNIC_CTL_MR_DEREG,
	UNIC_CTL_WAIT_CANCEL, UNIC_CTL_NOTICE_ANSWER, UNIC_CTL_RESYNC,
	UNIC_CTL_USAGE,	      UNIC_CTL_TOKEN_ALLOC,   UNIC_CTL_TOKEN_CANCEL,
	UNIC_CTL_CQ_CREATE,   UNIC_CTL_CQ_CREATE,     UNIC_CTL_CQ_DESTROY,
	UNIC_CTL_QP_CREATE,   UNIC_CTL_QP_CREATE,     UNIC_CTL_QP_MODIFY,
	UNIC_CTL_QP_DESTROY,  UNIC_CTL_LISTEN,	      UNIC_CTL_UNLISTEN,
	UNIC_CTL_CONNECT,     UNIC_CTL_ACCEPT,	      UNIC_CTL_REJECT,
	UNIC_CTL_DISCONNECT,  UNIC_CTL_CONN_QUERY,    UNIC_CTL_INFO,
	UNIC_CTL_STATS,	      UNIC_CTL_DUMP,	      UNIC_CTL_PS,
	UNIC_CTL_TRACE,	      UNIC_CTL_CRASH,	      UNIC_CTL_FAULT,
	UNIC_CTL_PARAMS,      UNIC_CTL_POLICY,	      UNIC_CTL_EVICT,
	UNIC_CTL_TRACE_MASK,  UNIC_CTL_RESET,	      UNIC_CTL_FRAMES_ALLOC,
	UNIC_CTL_PD_ALLOC,    UNIC_CTL_HELLO,
};

/* Less often: requests for derived regions, MR_REREG, advice, another ring. */
static const uint8_t more_ops[] = {
	UNIC_CTL_MR_ALLOC, UNIC_CTL_MR_MAKE,  UNIC_CTL_CQ_RESIZE,
	UNIC_CTL_MR_INVAL, UNIC_CTL_MR_REREG, UNIC_CTL_MR_ADVISE,
};

void ctl_learn(struct ctl *c, enum ctl_kind kind, uint32_t id)
{
	c->id[kind][c->made[kind]++ % CTL_IDS] = id;
}

static unic_le32 known(struct input *in, const struct ctl *c,
		       enum ctl_kind kind)
{
	uint32_t how = in_u8(in);

	if (how >= 250)
		return unic_to_le32(in_u32(in));
	return unic_to_le32(c->id[kind][how % CTL_IDS]);
}

static enum ctl_kind kind_of(uint32_t op)
{
	switch (op) {
	case UNIC_CTL_PD_FREE:
		return CTL_PD;
	case UNIC_CTL_CQ_DESTROY:
		return CTL_CQ;
	case UNIC_CTL_QP_DESTROY:
		return CTL_QP;
	case UNIC_CTL_TOKEN_CANCEL:
		return CTL_TOKEN;
	case UNIC_CTL_UNLISTEN:
		return CTL_LISTENER;
	case UNIC_CTL_DISCONNECT:
	case UNIC_CTL_CONN_QUERY:
		return CTL_CONN;
	default:
		return CTL_MR;
	}
}

static uint64_t some_va(struct input *in)
{
	return CTL_VA + 4096ull * in_below(in, 40);
}

static void make_frames(struct input *in, struct unic_ctl_frames *r,
			uint32_t op)
{
	static const uint8_t shift[] = { 12, 12, 12, 16, 21, 13 };

	r->va = unic_to_le64(some_va(in));
	r->pages = unic_to_le32(in_below(in, 40));
	if (op == UNIC_CTL_FRAMES_ALLOC)
		r->page_shift = shift[in_below(in, 6)];
	if (in_odd(in))
		r->va = unic_to_le64(in_u64(in));
}

static void make_reg(struct input *in, struct ctl *c, struct unic_ctl_mr_reg *r)
{
	static const uint8_t shift[] = { 0, 0, 12, 16, 21 };
	uint32_t how = in_u8(in);

	r->va = unic_to_le64(some_va(in));
	r->iova = r->va;
	r->length = unic_to_le64(4096ull * (1 + in_below(in, 12)));
	r->pd = known(in, c, CTL_PD);
	r->user = unic_to_le32(in_u8(in));
	r->rights = in_u8(in) & UNIC_MR_RIGHTS_ALL;
	r->mr_class = (uint8_t)in_below(in, 3);
	r->page_shift = shift[in_below(in, 5)];
	r->flags = (uint8_t)in_below(in, 4);
	if (how >= 160 && how < 240)
		r->residency = (uint8_t)(how % 3);
	if (r->flags & UNIC_CTL_REG_WAIT)
		r->timeout_us = unic_to_le32(in_u16(in));
	if (how >= 240)
		r->length = unic_to_le64(in_u64(in));
	if (how >= 248)
		r->iova = unic_to_le64(in_u64(in));
	c->mr_class = r->mr_class;
}

static void make_cq(struct input *in, const struct ctl *c,
		    struct unic_ctl_cq_create *r)
{
	r->mr = known(in, c, CTL_CONTROL_MR);
	r->iova = unic_to_le64(CTL_VA + 4096ull * in_below(in, 8));
	r->entries = unic_to_le32(1u << in_below(in, 14));
	r->db_index = unic_to_le32(in_below(in, 66));
}

static void make_resize(struct input *in, const struct ctl *c,
			struct unic_ctl_cq_resize *r)
{
	r->id = known(in, c, CTL_CQ);
	r->mr = known(in, c, CTL_CONTROL_MR);
	r->iova = unic_to_le64(CTL_VA + 4096ull * in_below(in, 8));
	r->entries = unic_to_le32(1u << in_below(in, 14));
}

static void make_qp(struct input *in, const struct ctl *c,
		    struct unic_ctl_qp_create *r)
{
	uint8_t row;

	r->mr = known(in, c, CTL_CONTROL_MR);
	r->pd = known(in, c, CTL_PD);
	r->sq_iova = unic_to_le64(CTL_VA + 4096ull * in_below(in, 8));
	r->rq_iova = unic_to_le64(CTL_VA + 4096ull * in_below(in, 8));
	r->send_cq = known(in, c, CTL_CQ);
	r->recv_cq = known(in, c, CTL_CQ);
	r->sq_slots = unic_to_le16((uint16_t)(1u << in_below(in, 12)));
	r->rq_slots = unic_to_le16((uint16_t)(1u << in_below(in, 12)));
	row = in_u8(in);
	r->db_index = row % 66;
	if (row >= 198) {
		r->type = row % 4;
		r->miss = row / 4 % 4;
	}
}

static void make_connect(struct input *in, const struct ctl *c,
			 struct unic_ctl_connect *r, uint32_t op)
{
	r->qp = known(in, c, CTL_QP);
	if (op == UNIC_CTL_CONNECT) {
		r->service = unic_to_le64(in_below(in, 3));
		r->ipv4 = unic_to_le32(0x0a000001u + in_below(in, 2));
		r->timeout_us = unic_to_le32(in_u16(in));
	} else {
		r->conn = known(in, c, CTL_CONN);
	}
	r->rights = in_u8(in) & 6;
	r->max_rd = (uint8_t)in_below_or(in, 6, 14);
	r->max_dest_rd = (uint8_t)in_below_or(in, 6, 14);
	r->timeout = (uint8_t)in_below(in, 33);
	r->retry_cnt = (uint8_t)in_below(in, 9);
	r->mtu_shift = in_odd(in) ? in_u8(in) : 0;
}

static void make_alloc(struct input *in, const struct ctl *c,
		       struct unic_ctl_mr_alloc *r)
{
	r->pd = known(in, c, CTL_PD);
	r->kind = (uint8_t)in_below(in, 7);
	r->page_shift = r->kind == UNIC_FORM_FAST ? 12 : 0;
	if (r->kind >= UNIC_FORM_FAST)
		r->n = unic_to_le32(in_below(in, 8));
}

/* Returns the bytes of its list. The device checks what the elements name. */
static uint32_t make_form(struct input *in, const struct ctl *c,
			  struct unic_ctl_mr_make *r)
{
	uint32_t n = in_below(in, 5);

	r->id = known(in, c, CTL_MR);
	r->iova = unic_to_le64(some_va(in));
	r->n = unic_to_le32(n);
	r->rights = in_u8(in) & 15;
	r->strided = in_odd(in);
	in_bytes(in, r + 1, 16);
	return n * (r->strided ? 20 : 16);
}

static void make_rereg(struct input *in, const struct ctl *c,
		       struct unic_ctl_mr_rereg *r)
{
	r->id = known(in, c, CTL_MR);
	r->what = in_u8(in) & UNIC_REREG_ALL;
	if (r->what & UNIC_REREG_PD)
		r->pd = known(in, c, CTL_PD);
	if (r->what & UNIC_REREG_RIGHTS)
		r->rights = in_u8(in) & 15;
	if (!(r->what & UNIC_REREG_RANGE))
		return;
	r->va = unic_to_le64(some_va(in));
	r->iova = in_odd(in) ? unic_to_le64(in_u64(in)) : r->va;
	r->length = unic_to_le64(4096ull * in_below(in, 12));
}

static void make_advise(struct input *in, const struct ctl *c,
			struct unic_ctl_mr_advise *r)
{
	r->id = known(in, c, CTL_MR);
	r->offset = unic_to_le64(1024ull * in_below(in, 8));
	r->length = unic_to_le64(1024ull * in_below(in, 16));
	r->advice = unic_to_le32(in_below(in, 4));
}

/* Returns the bytes of the name and the data. */
static uint32_t make_kio(struct input *in, struct unic_ctl_kio *r)
{
	static const uint32_t len[] = { 0, 1, 4000, 65536, 65537 };

	r->what = (uint8_t)in_below(in, 8);
	r->name_bytes = (uint8_t)in_below(in, 16);
	r->ipv4 = unic_to_le32(in_odd(in) ? 0x0a000001 : in_u8(in));
	r->timeout_ms = unic_to_le32(in_u16(in));
	r->offset = unic_to_le64(in_odd(in) ? in_u64(in) : in_u16(in));
	if (r->what && r->what <= UNIC_CTL_KIO_LIST)
		r->len = unic_to_le32(len[in_below(in, 5)]);
	in_bytes(in, r + 1, r->name_bytes);
	return r->name_bytes +
	       (r->what == UNIC_CTL_KIO_WRITE ? unic_from_le32(r->len) : 0);
}

static void make_rest(struct input *in, struct ctl *c, uint8_t *rec,
		      uint32_t op)
{
	unic_le32 *w = (void *)(rec + sizeof(struct unic_ctl_hdr));
	uint32_t i;

	switch (op) {
	case UNIC_CTL_HELLO:
		w[0] = unic_to_le32(in_odd(in) ? in_u32(in) : 1);
		w[1] = unic_to_le32(in_below(in, 3));
		w[6] = unic_to_le32(in_below(in, 4));
		break;
	case UNIC_CTL_WAIT_CANCEL:
		w[0] = unic_to_le32(c->seq - in_below(in, 8));
		break;
	case UNIC_CTL_NOTICE_ANSWER:
		w[0] = known(in, c, CTL_MR);
		w[1] = unic_to_le32(in_below(in, 2));
		w[2] = unic_to_le32(in_below(in, 5));
		w[3] = known(in, c, CTL_MR);
		w[4] = unic_to_le32(in_u16(in));
		break;
	case UNIC_CTL_TOKEN_ALLOC:
		w[0] = unic_to_le32((uint32_t)some_va(in));
		w[2] = known(in, c, CTL_MR);
		w[3] = unic_to_le32(in_u16(in));
		w[8] = unic_to_le32(unic_from_le32(w[3]) & 1);
		break;
	case UNIC_CTL_QP_MODIFY:
		w[0] = known(in, c, CTL_QP);
		in_bytes(in, w + 1, 8);
		rec[20] = (uint8_t)in_below(in, 7);
		break;
	case UNIC_CTL_LISTEN:
		w[0] = unic_to_le32(in_below(in, 3));
		break;
	case UNIC_CTL_REJECT:
		w[0] = known(in, c, CTL_CONN);
		break;
	case UNIC_CTL_INFO:
	case UNIC_CTL_STATS:
	case UNIC_CTL_CRASH:
	case UNIC_CTL_RESET:
	case UNIC_CTL_USAGE:
	case UNIC_CTL_PD_ALLOC:
		break;
	case UNIC_CTL_PARAMS:
	case UNIC_CTL_POLICY:
	case UNIC_CTL_DUMP:
	case UNIC_CTL_TRACE:
	case UNIC_CTL_FAULT:
	case UNIC_CTL_TRACE_MASK:
	case UNIC_CTL_RESYNC:
		w[0] = unic_to_le32(in_below(in, 8));
		if (op != UNIC_CTL_TRACE)
			w[1] = unic_to_le32(in_u16(in));
		for (i = 2;
		     i < 8 && op >= UNIC_CTL_PARAMS && op <= UNIC_CTL_POLICY;
		     i++)
			w[i] = unic_to_le32(in_below(in, 4));
		break;
	default:
		w[0] = known(in, c, kind_of(op));
	}
}

/* Returns the bytes of the request's tail. */
static uint32_t make(struct input *in, struct ctl *c, uint8_t *rec, uint32_t op)
{
	switch (op) {
	case UNIC_CTL_FRAMES_ALLOC:
	case UNIC_CTL_FRAMES_FREE:
		make_frames(in, (void *)rec, op);
		break;
	case UNIC_CTL_MR_REG:
		make_reg(in, c, (void *)rec);
		break;
	case UNIC_CTL_CQ_CREATE:
		make_cq(in, c, (void *)rec);
		break;
	case UNIC_CTL_CQ_RESIZE:
		make_resize(in, c, (void *)rec);
		break;
	case UNIC_CTL_QP_CREATE:
		make_qp(in, c, (void *)rec);
		break;
	case UNIC_CTL_CONNECT:
	case UNIC_CTL_ACCEPT:
		make_connect(in, c, (void *)rec, op);
		break;
	case UNIC_CTL_MR_ALLOC:
		make_alloc(in, c, (void *)rec);
		break;
	case UNIC_CTL_MR_MAKE:
		return make_form(in, c, (void *)rec);
	case UNIC_CTL_MR_REREG:
		make_rereg(in, c, (void *)rec);
		break;
	case UNIC_CTL_MR_ADVISE:
		make_advise(in, c, (void *)rec);
		break;
	case UNIC_CTL_KIO:
		return make_kio(in, (void *)rec);
	default:
		make_rest(in, c, rec, op);
	}
	return 0;
}

/* Up to four requests in one. Returns their bytes. */
static uint32_t make_batch(struct input *in, struct ctl *c, uint8_t *batch)
{
	static const uint8_t in_one[] = {
		UNIC_CTL_MR_REG,       UNIC_CTL_MR_REG,
		UNIC_CTL_MR_ALLOC,     UNIC_CTL_MR_DEREG,
		UNIC_CTL_TOKEN_ALLOC,  UNIC_CTL_TOKEN_ALLOC,
		UNIC_CTL_TOKEN_CANCEL, UNIC_CTL_PD_ALLOC,
	};
	struct unic_ctl_batch *r = (void *)batch;
	uint32_t n = in_below(in, 5), i;

	for (i = 0; i < n; i++) {
		uint32_t op = in_one[in_below(in, sizeof(in_one))];
		uint8_t *rec = batch + (1 + i) * UNIC_CTL_BYTES;
		struct unic_ctl_hdr hdr = { .op = unic_to_le16((uint16_t)op),
					    .seq = unic_to_le32(i) };

		memset(rec, 0, UNIC_CTL_BYTES);
		make(in, c, rec, op);
		if (in_odd(in))
			rec[in_below(in, UNIC_CTL_BYTES)] = in_u8(in);
		else
			memcpy(rec, &hdr, sizeof(hdr));
	}
	r->count = unic_to_le32(in_odd(in) ? in_u8(in) : n);
	return n * UNIC_CTL_BYTES;
}

uint32_t ctl_request(struct input *in, struct ctl *c, void *msg)
{
	uint32_t pick = in_u8(in), how = in_u8(in), tail, bytes;
	uint32_t op = pick < 220   ? ops[pick % sizeof(ops)]
		      : pick < 250 ? more_ops[pick % sizeof(more_ops)]
		      : pick < 252 ? UNIC_CTL_BATCH
				   : UNIC_CTL_KIO;
	struct unic_ctl_hdr *hdr = msg;
	uint8_t *rec = msg;

	memset(rec, 0, UNIC_CTL_BYTES + 80);
	tail = op == UNIC_CTL_BATCH ? make_batch(in, c, rec)
				    : make(in, c, rec, op);
	if (op >= UNIC_CTL_CONNECT && op <= UNIC_CTL_DISCONNECT && how < 64)
		tail = how % (UNIC_CTL_PRIVATE_MAX + 4);
	bytes = UNIC_CTL_BYTES + tail;
	hdr->op = unic_to_le16((uint16_t)op);
	hdr->tail_bytes = unic_to_le32(tail);
	if (how >= 240)
		rec[in_below(in, UNIC_CTL_BYTES)] = in_u8(in);
	if (how == 239)
		bytes = in_u16(in) % UNIC_CTL_MSG_MAX;
	hdr->seq = unic_to_le32(++c->seq & 255);
	return bytes;
}

static void script_reg(struct ctl *c, struct unic_ctl_mr_reg *r, uint32_t first,
		       uint32_t pages, uint8_t mr_class)
{
	r->va = r->iova = unic_to_le64(CTL_VA + first * 4096ull);
	r->length = unic_to_le64(pages * 4096ull);
	r->pd = unic_to_le32(c->id[CTL_PD][0]);
	r->rights = 7;
	r->mr_class = c->mr_class = mr_class;
}

static void script_qp(const struct ctl *c, struct unic_ctl_qp_create *r,
		      uint32_t row)
{
	r->sq_iova = unic_to_le64(CTL_VA + 4096);
	r->rq_iova = unic_to_le64(CTL_VA + 2 * 4096);
	r->mr = unic_to_le32(c->id[CTL_CONTROL_MR][0]);
	r->send_cq = r->recv_cq = unic_to_le32(c->id[CTL_CQ][0]);
	r->sq_slots = r->rq_slots = unic_to_le16(CTL_SLOTS);
	r->pd = unic_to_le32(c->id[CTL_PD][0]);
	r->db_index = (uint8_t)row;
}

uint32_t ctl_script(struct ctl *c, uint32_t n, void *msg)
{
	static const uint8_t script[] = {
		UNIC_CTL_HELLO,	    UNIC_CTL_FRAMES_ALLOC, UNIC_CTL_PD_ALLOC,
		UNIC_CTL_MR_REG,    UNIC_CTL_MR_REG,	   UNIC_CTL_CQ_CREATE,
		UNIC_CTL_QP_CREATE, UNIC_CTL_QP_CREATE,	   UNIC_CTL_LISTEN,
	};
	struct unic_ctl_hdr *hdr = msg;
	struct unic_ctl_hello *hello = msg;
	struct unic_ctl_frames *frames = msg;
	struct unic_ctl_cq_create *cq = msg;
	struct unic_ctl_listen *listen = msg;

	if (n >= sizeof(script))
		return 0;
	memset(msg, 0, UNIC_CTL_BYTES);
	if (n == 0)
		hello->version = unic_to_le32(1);
	if (n == 1) {
		frames->va = unic_to_le64(CTL_VA);
		frames->pages = unic_to_le32(12);
		frames->page_shift = 12;
	}
	if (n == 3)
		script_reg(c, msg, 0, CTL_RINGS, UNIC_CLASS_CONTROL);
	if (n == 4)
		script_reg(c, msg, CTL_RINGS, 8, UNIC_CLASS_RDMA);
	if (n == 5) {
		cq->iova = unic_to_le64(CTL_VA);
		cq->mr = unic_to_le32(c->id[CTL_CONTROL_MR][0]);
		cq->entries = unic_to_le32(CTL_SLOTS);
	}
	if (n == 6 || n == 7)
		script_qp(c, msg, n - 5);
	if (n == 8)
		listen->service = unic_to_le64(1);
	hdr->op = unic_to_le16(script[n]);
	hdr->seq = unic_to_le32(++c->seq & 255);
	return UNIC_CTL_BYTES;
}

static void learn(struct ctl *c, uint32_t op, const uint8_t *rec)
{
	const unic_le32 *w = (const void *)(rec + sizeof(struct unic_ctl_hdr));
	uint32_t id = unic_from_le32(w[0]);

	switch (op) {
	case UNIC_CTL_PD_ALLOC:
		ctl_learn(c, CTL_PD, id);
		break;
	case UNIC_CTL_MR_ALLOC:
		ctl_learn(c, CTL_MR, id);
		break;
	case UNIC_CTL_MR_REG:
		c->number[CTL_MR][c->made[CTL_MR] % CTL_IDS] =
			unic_from_le32(w[1]);
		ctl_learn(c, CTL_MR, id);
		if (c->mr_class == UNIC_CLASS_CONTROL)
			ctl_learn(c, CTL_CONTROL_MR, id);
		break;
	case UNIC_CTL_CQ_CREATE:
		ctl_learn(c, CTL_CQ, id);
		break;
	case UNIC_CTL_QP_CREATE:
		c->number[CTL_QP][c->made[CTL_QP] % CTL_IDS] =
			unic_from_le32(w[1]);
		ctl_learn(c, CTL_QP, id);
		break;
	case UNIC_CTL_TOKEN_ALLOC:
		ctl_learn(c, CTL_TOKEN, unic_from_le32(w[2]));
		break;
	case UNIC_CTL_LISTEN:
		ctl_learn(c, CTL_LISTENER, id);
		break;
	case UNIC_CTL_CONNECT:
		ctl_learn(c, CTL_CONN, id);
		break;
	default:
		break;
	}
}

/* Each request of a batch has a reply, in the same place. */
static void learn_batch(struct ctl *c, const uint8_t *msg, uint32_t bytes)
{
	struct unic_ctl_batch r;
	struct unic_ctl_hdr hdr;
	uint32_t i, done = 0;

	memcpy(&r, msg, sizeof(r));
	must(bytes % UNIC_CTL_BYTES == 0);
	must((unic_from_le16(r.hdr.status) == UNIC_ST_OK) == (bytes != 0));
	for (i = 1; i <= bytes / UNIC_CTL_BYTES; i++) {
		memcpy(&hdr, msg + i * UNIC_CTL_BYTES, sizeof(hdr));
		must(unic_from_le16(hdr.status) <= UNIC_CTL_ST_VERSION);
		must(!hdr.tail_bytes);
		if (unic_from_le16(hdr.status) > UNIC_ST_PENDING)
			continue;
		learn(c, unic_from_le16(hdr.op), msg + i * UNIC_CTL_BYTES);
		done++;
	}
	must(!bytes || done == unic_from_le32(r.count));
}

void ctl_answer(struct ctl *c, const void *msg, uint32_t bytes)
{
	struct unic_ctl_hdr hdr;
	uint32_t seq, status;

	memcpy(&hdr, msg, sizeof(hdr));
	must(bytes >= UNIC_CTL_BYTES &&
	     bytes <= (unic_from_le16(hdr.op) == UNIC_CTL_KIO
			       ? UNIC_CTL_KIO_MSG_MAX
			       : UNIC_CTL_MSG_MAX));
	must(unic_from_le32(hdr.tail_bytes) == bytes - UNIC_CTL_BYTES);
	seq = unic_from_le32(hdr.seq);
	must(seq < 256 && c->open[seq / 64] >> seq % 64 & 1);
	c->open[seq / 64] &= ~(1ull << seq % 64);
	c->answered++;
	status = unic_from_le16(hdr.status);
	must(status <= UNIC_CTL_ST_VERSION);
	if (status <= UNIC_ST_PENDING)
		learn(c, unic_from_le16(hdr.op), msg);
	if (unic_from_le16(hdr.op) == UNIC_CTL_BATCH)
		learn_batch(c, msg, bytes - UNIC_CTL_BYTES);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fuzz_queue.c - a hostile process: work requests, receives and doorbells with
 * some fields right and others not, random bytes over its rings and its
 * doorbell page, while its queue pairs send to each other. Whatever it does,
 * nothing in the memory of the other process changes.
 */
#include "world.h"

#define STEPS 64u

static uint8_t *window(void)
{
	return world.rig.port.window[0];
}

static struct unic_db_page *doorbells(void)
{
	return (void *)window();
}

/* A queue pair of process 0, mostly of RC. */
static struct rig_qp *some_qp(struct input *in)
{
	uint32_t how = in_u8(in);

	return &world.qp[how < 208 ? how % 3 : 4 + how % 2];
}

/* A range that is mostly within its region, mostly a region of process 0. */
static void make_sge(struct input *in, struct unic_sge *sge)
{
	static const uint8_t mine[] = { W_FOUR, W_FOUR, W_MESSAGES };
	const struct rig_mr *mr = &world.mr[mine[in_below(in, 3)]];
	uint32_t how = in_u8(in);

	if (how >= 240)
		mr = &world.mr[in_below(in, WORLD_MRS)];
	else if (how >= 208)
		mr = world_changing(in);
	sge->iova = unic_to_le64(mr->iova + in_u16(in) % 9000u);
	sge->len = unic_to_le32(how & 1 ? in_u8(in) : in_u16(in) % 9000u);
	sge->lkey =
		unic_to_le32(world_stag(mr) ^ (how >= 250 ? in_u32(in) : 0));
}

static void make_target(struct input *in, struct unic_sq_slot *s)
{
	const struct rig_mr *mr = &world.mr[in_odd(in) ? in_below(in, 6) : 0];
	const struct world_token *t = &world.token[in_below(in, WORLD_TOKENS)];

	if (t == &world.token[2])
		mr = world_changing(in);

	if (s->opcode == UNIC_WR_TOKEN) {
		s->rkey = unic_to_le32(t->index);
		s->remote = unic_to_le64(t->key);
		s->ctrl_len = unic_to_le32(in_below(in, 140));
		s->imm = unic_to_le32(t == &world.token[3] ? in_u16(in) : 0);
	} else if (s->opcode >= UNIC_WR_WRITE) {
		s->rkey = unic_to_le32(world_stag(mr));
		s->remote = unic_to_le64(mr->iova + in_u16(in) % 16500u);
	}
}

/* A datagram to the UD queue pair itself or to another one, with the Q_Key of
 * the target, that of the sender, or a random one. */
static void make_datagram(struct input *in, struct unic_sq_slot *s)
{
	uint32_t how = in_u8(in);
	const struct rig_qp *to = how < 200 ? &world.qp[5] : some_qp(in);
	uint32_t key = how & 1 ? to->qkey : 1u << 31;

	if (how % 16 == 0)
		key = in_u32(in);
	s->opcode = UNIC_WR_SEND + (how >> 1 & 1);
	s->rkey = unic_to_le32(how % 32 == 1 ? in_u32(in) : to->qpn);
	s->remote = unic_to_le64(
		UNIC_UD_TO(0x0a000001u + (how % 8 == 2 ? in_u8(in) : 0), key));
}

/* What an atomic operation needs to be one: one SGE of 8 bytes, an aligned address. */
static void make_atomic(struct input *in, struct unic_sq_slot *s)
{
	s->flags &= (uint8_t)~UNIC_WR_INLINE;
	s->inline_len = 0;
	s->num_sge = 1;
	s->sge[0].len = unic_to_le32(UNIC_ATOMIC_BYTES);
	s->remote = unic_to_le64(unic_from_le64(s->remote) & ~7ull);
	in_bytes(in, (uint8_t *)&s->sge[1], 2);
}

static void post_send(struct input *in)
{
	struct rig_qp *q = some_qp(in);
	uint32_t at = q->sq_tail % RIG_SLOTS, n, i, how = in_u8(in);
	struct unic_sq_slot *s = &q->sq[at];
	struct unic_sge *ext = (void *)&q->sq[(at + 1) % RIG_SLOTS];

	memset(s, 0, sizeof(*s));
	s->opcode = (uint8_t)(1 + in_below_or(in, 6, UNIC_WR_SEND_INV - 1));
	s->flags = in_u8(in) & UNIC_WR_FLAGS_ALL;
	s->imm = unic_to_le32(in_u8(in));
	make_target(in, s);
	if (q == &world.qp[5] && !in_odd(in))
		make_datagram(in, s);
	if (s->flags & UNIC_WR_INLINE) {
		n = s->inline_len = (uint8_t)in_below(in, 100);
		if (n > UNIC_SQ_INLINE_BASE)
			q->sq_tail++;
		in_bytes(in, s->sge, 16);
	} else {
		n = s->num_sge = (uint8_t)in_below(in, UNIC_SQ_SGE_MAX + 1);
		for (i = 0; i < n; i++)
			make_sge(in, i < 2 ? &s->sge[i] : &ext[i - 2]);
		if (n > UNIC_SQ_SGE_BASE)
			q->sq_tail++;
	}
	if (s->opcode >= UNIC_WR_COMPARE_SWAP && s->num_sge &&
	    s->num_sge <= UNIC_SQ_SGE_BASE && !in_odd(in))
		make_atomic(in, s);
	if (how >= 240)
		((uint8_t *)s)[in_below(in, 64)] = in_u8(in);
	world_dirty(0, (uint64_t)((uint8_t *)q->sq - window()), 4096);
	rig_ring(&world.rig, 0, UNIC_DB_SQ, q->row, ++q->sq_tail);
}

/* The list of a work request that changes a region, in its slots. Returns how
 * many slots it takes. */
static uint32_t put_list(struct input *in, struct unic_sq_slot *s,
			 struct unic_sge *ext, const struct rig_mr *form)
{
	const struct rig_mr *of = &world.mr[W_FOUR];
	uint32_t n = form == &world.form[F_WINDOW] ? 1 : 1 + in_below(in, 5);
	uint32_t i, how = in_u8(in), list[24] = { 0 };
	struct unic_sge *sge = (void *)list;

	for (i = 0; i < n; i++) {
		make_sge(in, &sge[i]);
		if (how >= 64) /* a region with the right to bind */
			sge[i].lkey = unic_to_le32(of->stag);
		if (form == &world.form[F_FAST] && how >= 32) {
			sge[i].iova =
				unic_to_le64(of->iova + 4096ull * (i & 3));
			sge[i].len = unic_to_le32(4096);
		}
	}
	if (how >= 32)
		s->remote = sge[0].iova;
	if (s->opcode == UNIC_WR_REG_INDIRECT && how % 3 == 0 && n < 5) {
		s->imm |= unic_to_le32(UNIC_WR_IMM_STRIDED);
		s->ctrl_len = unic_to_le32(1 + (how & 7));
		for (i = 0; i < n; i++)
			list[4 * n + i] = how * 8u;
	}
	s->inline_len = (uint8_t)(n * (s->ctrl_len ? 20 : 16));
	memcpy(s->sge, list, 32);
	if (s->inline_len <= UNIC_SQ_INLINE_BASE)
		return 1;
	memcpy(ext, list + 8, 64);
	return 2;
}

/* Posts a bind, a fast or an indirect registration, or an invalidation. */
static void post_memop(struct input *in)
{
	static const uint8_t op_of[] = { UNIC_WR_BIND_MW, UNIC_WR_REG_MR,
					 UNIC_WR_REG_INDIRECT };
	struct rig_qp *q = some_qp(in);
	uint32_t at = q->sq_tail % RIG_SLOTS, how = in_u8(in);
	struct unic_sq_slot *s = &q->sq[at];
	struct unic_sge *ext = (void *)&q->sq[(at + 1) % RIG_SLOTS];
	const struct rig_mr *form = &world.form[how % 3];

	memset(s, 0, sizeof(*s));
	s->opcode = op_of[how % 3];
	s->flags = UNIC_WR_SIGNALED;
	if (how >= 128)
		form = world_changing(in);
	s->rkey = unic_to_le32(world_stag(form));
	if (how >= 192) {
		s->opcode = how & 1 ? UNIC_WR_LOCAL_INV : UNIC_WR_SEND_INV;
	} else {
		s->imm = unic_to_le32(in_u8(in) |
				      in_below_or(in, 16, UNIC_MR_REMOTE_ATOMIC)
					      << 8);
		s->flags |= UNIC_WR_INLINE;
		if (s->opcode == UNIC_WR_REG_INDIRECT && how & 16) {
			s->flags = UNIC_WR_SIGNALED;
			s->num_sge = 1;
			make_sge(in, &s->sge[0]);
		} else {
			q->sq_tail += put_list(in, s, ext, form) - 1;
		}
	}
	if (in_odd(in))
		((uint8_t *)s)[in_below(in, 64)] = in_u8(in);
	world_dirty(0, (uint64_t)((uint8_t *)q->sq - window()), 4096);
	rig_ring(&world.rig, 0, UNIC_DB_SQ, q->row, ++q->sq_tail);
}

/* Writes a list of elements that an indirect registration may read. */
static void write_list(struct input *in)
{
	struct unic_sge *sge = (void *)world.mr[W_FOUR].mem;
	uint32_t n = 1 + in_below(in, 8), i;

	for (i = 0; i < n; i++)
		make_sge(in, &sge[i]);
	world_dirty(0, (uint64_t)((uint8_t *)sge - window()), 4096);
}

static void post_receive(struct input *in)
{
	struct rig_qp *q = some_qp(in);
	struct unic_rq_slot *s = &q->rq[q->rq_tail % RIG_SLOTS];
	uint32_t i, how = in_u8(in);

	memset(s, 0, sizeof(*s));
	s->num_sge = (uint8_t)in_below(in, UNIC_RQ_SGE_MAX + 1);
	for (i = 0; i < s->num_sge; i++)
		make_sge(in, &s->sge[i]);
	if (how >= 240)
		((uint8_t *)s)[in_below(in, 64)] = in_u8(in);
	world_dirty(0, (uint64_t)((uint8_t *)q->rq - window()), 4096);
	rig_ring(&world.rig, 0, UNIC_DB_RQ, q->row, ++q->rq_tail);
}

/* Tails, arm words and consumed records, right or wrong. */
static void doorbell(struct input *in)
{
	struct rig_qp *q = some_qp(in);
	uint32_t kind = in_below(in, 5), v = in_u32(in);

	if (kind < 3) {
		rig_ring(&world.rig, 0, (enum unic_db_kind)kind,
			 in_odd(in) ? in_below(in, 64) : q->row,
			 in_odd(in) ? v : q->sq_tail + (v & 15));
		return;
	}
	if (kind == 3) { /* all completions are taken */
		const struct unic_cqe *c = &q->cqe[q->cq_ci % RIG_SLOTS];

		while (unic_from_le32(c->seq) == q->cq_ci + 1)
			c = &q->cqe[++q->cq_ci % RIG_SLOTS];
		v = q->cq_ci;
	}
	doorbells()->tail[q->row].cq_ci = unic_to_le32(v);
}

static void scribble(struct input *in)
{
	static const uint32_t bytes[] = { 4096, 16384, 65536 };
	uint32_t n = 1 + in_below(in, 32), off;

	off = in_u16(in) % bytes[in_below(in, 3)];
	if (off >= 4096 && off < 8192)
		return; /* the NIC page: the process would harm only itself */
	in_bytes(in, window() + off, n);
	world_dirty(0, off, n);
	if (off < 4096) /* the NIC reads the changed FIFO */
		doorbells()->fifo_seq = unic_to_le32(
			unic_from_le32(doorbells()->fifo_seq) + in_u8(in));
}

/* A command of the driver, meanwhile. */
static void command(struct input *in)
{
	static const uint8_t what[] = {
		UNIC_CMD_MR_DEREG,   UNIC_CMD_MR_EVICT,	 UNIC_CMD_MR_EVICT,
		UNIC_CMD_QP_DESTROY, UNIC_CMD_QP_MODIFY, UNIC_CMD_PROC_DETACH
	};
	union {
		struct unic_cmd_hdr hdr;
		struct unic_cmd_mr mr;
		struct unic_cmd_obj obj;
		struct unic_cmd_qp_modify qp;
	} c = { .mr = { .hdr = { 0 } } };
	const struct rig_mr *m = &world.mr[in_below(in, 2)];

	c.hdr.opcode = what[in_below(in, 6)];
	switch (c.hdr.opcode) {
	case UNIC_CMD_MR_DEREG:
	case UNIC_CMD_MR_EVICT:
		c.mr.mr = unic_to_le32(m->mr);
		c.mr.gen = unic_to_le32(m->gen);
		break;
	case UNIC_CMD_QP_MODIFY:
		c.qp.state = in_odd(in) ? UNIC_QPS_RESET : UNIC_QPS_ERR;
		/* fall through */
	case UNIC_CMD_QP_DESTROY:
		c.obj.id = unic_to_le32(some_qp(in)->qpn);
		break;
	default: /* PROC_DETACH of process 0 */
		break;
	}
	world_cmd(&c);
}

static void late_dma(struct input *in)
{
	if (in_odd(in))
		world_knobs.fail_dma = in_below(in, 4);
	world_dma(1 + in_below(in, 8));
}

static void step(struct input *in)
{
	uint32_t kind = in_u8(in);

	world_dirty(0, 0, 4096);
	if (kind < 76)
		post_send(in);
	else if (kind < 96)
		post_memop(in);
	else if (kind < 98)
		write_list(in);
	else if (kind < 110)
		world_change(in);
	else if (kind < 140)
		post_receive(in);
	else if (kind < 170)
		doorbell(in);
	else if (kind < 190)
		scribble(in);
	else if (kind < 215)
		world_rounds(1 + in_below(in, 16));
	else if (kind < 230)
		world_settle(1000ull * in_u16(in));
	else if (kind < 238)
		command(in);
	else if (kind < 244)
		world.rig.port.late_dma = kind & 1;
	else if (kind < 247)
		world.rig.port.fail_call = world.rig.port.calls + 1 + in_u8(in);
	else
		late_dma(in);
}

/* Of the other process's memory only the NIC page was written. */
static void check_other(void)
{
	uint32_t p;

	for (p = 0; p < WORLD_PAGES; p++)
		must(p == 1 || !world_is_dirty(1, p));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint32_t i;

	world_begin(false);
	world_mode(in_u8(&in));
	for (i = 0; i < STEPS && in.left; i++)
		step(&in);
	world.rig.port.late_dma = false;
	world_knobs.deaf = false;
	world_settle(100000000);
	world_check();
	check_other();
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * fuzz_mbox.c - a hostile driver: commands with some fields right and others
 * not, list pages, ring indices, reset requests, and time passing.
 */
#include "world.h"

#define STEPS	  48u
#define SCRIBBLED 96u /* words of translation lists at a time */

static const uint8_t opcodes[] = {
	UNIC_CMD_NOP,		UNIC_CMD_SET_PARAMS,	UNIC_CMD_HOST_TIME,
	UNIC_CMD_SET_ADDR,	UNIC_CMD_ENTROPY,	UNIC_CMD_PROC_ATTACH,
	UNIC_CMD_PROC_DETACH,	UNIC_CMD_PROC_SET,	UNIC_CMD_PD_ALLOC,
	UNIC_CMD_PD_FREE,	UNIC_CMD_MR_REG,	UNIC_CMD_MR_FILL,
	UNIC_CMD_MR_DEREG,	UNIC_CMD_WAIT_CANCEL,	UNIC_CMD_NOTICE_ACK,
	UNIC_CMD_NOTICE_ANSWER, UNIC_CMD_MR_EVICT,	UNIC_CMD_TOKEN_ALLOC,
	UNIC_CMD_TOKEN_CANCEL,	UNIC_CMD_CQ_CREATE,	UNIC_CMD_CQ_DESTROY,
	UNIC_CMD_QP_CREATE,	UNIC_CMD_QP_MODIFY,	UNIC_CMD_QP_DESTROY,
	UNIC_CMD_ARP_RESOLVE,	UNIC_CMD_MAD_SEND,	UNIC_CMD_QUERY_USAGE,
	UNIC_CMD_DUMP,		UNIC_CMD_TRACE_CTL,	UNIC_CMD_FAULT,
	UNIC_CMD_MR_REG,	UNIC_CMD_MR_REG,	UNIC_CMD_MR_FAULT,
	UNIC_CMD_CQ_RESIZE,	UNIC_CMD_MR_INVALIDATE, UNIC_CMD_MR_ADVISE,
};

static struct unic_driver_page *driver_page(void)
{
	return (void *)(world.rig.port.bar + UNIC_BAR_DRIVER_OFF);
}

/* Names a random region index, with its current generation. */
static void name_region(struct input *in, unic_le32 *mr, unic_le32 *gen)
{
	uint32_t i = in_below(in, UNIC_MRS);

	*mr = unic_to_le32(i);
	*gen = unic_to_le32(world.rig.nic.mrs.mr[i].gen);
}

static uint64_t wild_bus(struct input *in)
{
	return UNIC_BUS(in_below(in, 4), 4096ull * in_u8(in));
}

/* Bus addresses in the list page; rarely, one of them is random. */
static void fill_list(struct input *in)
{
	uint64_t *list = (void *)(world.rig.port.bar + UNIC_BAR_LIST_OFF +
				  world.rig.cmd_tail % UNIC_CMD_ENTRIES *
					  UNIC_LIST_BYTES);
	uint64_t first = wild_bus(in);
	uint32_t i;

	for (i = 0; i < 72; i++)
		list[i] = first + 4096ull * i;
	if (in_odd(in))
		list[in_below(in, 72)] = in_u64(in);
}

/* An STag that a region could have had before a reset. */
static uint32_t old_stag(struct input *in)
{
	uint32_t i = in_u8(in);

	return (i % UNIC_MRS) << UNIC_MR_IDX_SHIFT | in_u16(in) << 8 | i;
}

/* A region of residency PHYSICAL, in a physical domain if there is one. */
static void make_physical(struct unic_cmd_mr_reg *c)
{
	uint32_t pages = unic_from_le32(c->n_pages), i;

	for (i = 0; i < UNIC_PDS; i++)
		if (world.rig.nic.dma_mrs.pd[i])
			c->pd = unic_to_le32(i);
	c->residency = UNIC_PHYSICAL;
	c->mr_class = UNIC_CLASS_CONTROL;
	c->rights &= UNIC_MR_LOCAL_WRITE;
	c->length = unic_to_le64(4096ull * pages);
	c->n_pages = c->timeout_us = unic_to_le32(0);
	c->page_shift = c->flags = 0;
}

/* Mostly with a list where words are; else with one anywhere. */
static void make_listed(struct input *in, struct unic_cmd_mr_reg *c)
{
	uint32_t at = in_u16(in);

	c->flags |= UNIC_REG_HOST_TABLE;
	c->list = unic_to_le64(RIG_LIST + at % (RIG_LIST_WORDS / 8u) * 64u);
	if (at >= 0xff00)
		c->list = unic_to_le64((uint64_t)at << 40 | in_u16(in) << 6);
}

static void make_reg(struct input *in, void *rec)
{
	static const uint8_t shifts[] = { 12, 12, 12, 16, 21, 0 };
	struct unic_cmd_mr_reg *c = rec;
	uint32_t pages = 1 + in_below(in, 80), odd = in_u8(in);

	c->pd = unic_to_le32(in_below(in, 4));
	c->rights = in_u8(in) & UNIC_MR_RIGHTS_ALL;
	c->mr_class = (uint8_t)in_below(in, 3);
	c->page_shift = shifts[in_below(in, 6)];
	c->iova = unic_to_le64((uint64_t)in_u16(in) << 12);
	c->n_pages = unic_to_le32(pages);
	c->length = unic_to_le64((uint64_t)pages << (c->page_shift & 31));
	c->flags = in_u8(in) & UNIC_REG_FLAGS_ALL & ~UNIC_REG_HOST_TABLE;
	c->key = in_u8(in);
	if (c->flags & UNIC_REG_WAIT)
		c->timeout_us = unic_to_le32(in_u16(in));
	if (odd < 0x60) { /* its entries are loaded later */
		c->residency = 1 + (odd & 1);
		c->flags &= (uint8_t) ~(UNIC_REG_LIST | UNIC_REG_WAIT);
		c->timeout_us = unic_to_le32(0);
	}
	if (c->residency == UNIC_TABLE)
		make_listed(in, c);
	if (c->flags & UNIC_REG_RESTORE) { /* mostly a free index */
		c->flags &= (uint8_t)~UNIC_REG_WAIT;
		c->stag = unic_to_le32(old_stag(in));
		c->key = (uint8_t)unic_from_le32(c->stag);
	}
	if (odd >= 0x60 && odd < 0x90)
		make_physical(c);
	if (odd >= 0xf0)
		c->length = unic_to_le64(in_u64(in));
	if (odd >= 0xf8)
		c->iova = unic_to_le64(in_u64(in));
	fill_list(in);
}

static void make_queue(struct input *in, uint8_t *rec)
{
	const struct rig_qp *q = &world.qp[in_below(in, WORLD_QPS)];
	uint32_t page = in_below(in, 4) * 4096u + in_below(in, 4) * 64u, row;

	if (rec[0] == UNIC_CMD_CQ_CREATE) {
		struct unic_cmd_cq_create *c = (void *)rec;

		c->pd = unic_to_le32(q->pd);
		c->stag = unic_to_le32(q->rings.stag);
		c->iova = unic_to_le64(q->rings.iova + page);
		c->entries = unic_to_le32(1u << in_below(in, 14));
		c->db_index = unic_to_le32(in_below(in, 70));
	} else if (rec[0] == UNIC_CMD_CQ_RESIZE) {
		struct unic_cmd_cq_resize *c = (void *)rec;

		c->proc = unic_to_le32(q->proc);
		c->id = unic_to_le32(q->cq);
		c->stag = unic_to_le32(q->rings.stag);
		c->iova = unic_to_le64(q->rings.iova + page);
		c->entries = unic_to_le32(1u << in_below(in, 14));
	} else {
		struct unic_cmd_qp_create *c = (void *)rec;

		c->pd = unic_to_le32(q->pd);
		c->stag = unic_to_le32(q->rings.stag);
		c->send_cq = unic_to_le32(in_below(in, UNIC_CQS));
		c->recv_cq = unic_to_le32(in_below(in, UNIC_CQS));
		c->sq_iova = unic_to_le64(q->rings.iova);
		c->rq_iova = unic_to_le64(q->rings.iova + page);
		c->sq_slots = unic_to_le16((uint16_t)(1u << in_below(in, 12)));
		c->rq_slots = unic_to_le16((uint16_t)(1u << in_below(in, 12)));
		c->rq_class = unic_to_le32(in_u8(in));
		row = in_u8(in);
		c->db_index = unic_to_le32(row % 70);
		if (row >= 210) {
			c->type = (uint8_t)(row % 4);
			c->miss = (uint8_t)(row / 4 % 4);
		}
	}
}

static uint32_t some_qpn(struct input *in)
{
	return world.rig.nic.qps.qp[in_below(in, UNIC_QPS)].qpn;
}

/* Clears the fields that a queue pair of UC or UD does not have. */
static void make_unreliable(struct unic_cmd_qp_modify *c, uint8_t type)
{
	c->rnr_timer = c->max_dest_rd = c->vendor = 0;
	c->max_rd = c->timeout = c->retry_cnt = c->rnr_retry = 0;
	c->rights &= UNIC_MR_REMOTE_WRITE;
	if (type != UNIC_QPT_UD)
		return;
	c->rights = 0;
	c->qkey = unic_to_le32(c->state == UNIC_QPS_INIT ? 0x1234 : 0);
	c->dest_qpn = c->rq_psn = c->dest_ipv4 = unic_to_le32(0);
	memset(c->dest_mac, 0, sizeof(c->dest_mac));
}

static void make_modify(struct input *in, void *rec)
{
	struct unic_cmd_qp_modify *c = rec;
	uint32_t i;

	c->qpn = unic_to_le32(some_qpn(in));
	c->proc = unic_to_le32(in_below(in, 3));
	c->state = (uint8_t)in_below(in, 7);
	if (c->state == UNIC_QPS_INIT)
		c->rights = (uint8_t)in_below_or(in, 8, UNIC_MR_REMOTE_ATOMIC);
	if (c->state == UNIC_QPS_RTR) {
		c->mtu_shift = (uint8_t)(7 + in_below(in, 7));
		c->rnr_timer = in_u8(in) & 31;
		c->max_dest_rd = (uint8_t)in_below_or(in, 6, 14);
		c->dest_qpn = unic_to_le32(some_qpn(in));
		c->rq_psn = unic_to_le32(in_u32(in) & UNIC_PSN_MASK);
		c->dest_ipv4 = unic_to_le32(0x0a000001u + in_below(in, 2));
		memcpy(c->dest_mac, world.rig.port.mac, 6);
		c->vendor = (uint8_t)in_below(in, 4);
	}
	if (c->state == UNIC_QPS_RTS) {
		c->max_rd = (uint8_t)in_below_or(in, 6, 14);
		c->timeout = (uint8_t)in_below(in, 33);
		c->retry_cnt = (uint8_t)in_below(in, 9);
		c->rnr_retry = (uint8_t)in_below(in, 9);
		c->sq_psn = unic_to_le32(in_u32(in) & UNIC_PSN_MASK);
	}
	for (i = 0; i < UNIC_QPS; i++)
		if (world.rig.nic.qps.qp[i].type &&
		    world.rig.nic.qps.qp[i].qpn == unic_from_le32(c->qpn))
			make_unreliable(c, world.rig.nic.qps.qp[i].type);
}

/* Makes the buffer one of pieces of a PHYSICAL region, if there is one. The
 * pieces are adjacent; they may end beyond the region. */
static void make_pieces(struct unic_cmd_token_alloc *c)
{
	uint32_t at = world.rig.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	struct unic_token_piece *p =
		(void *)(world.rig.port.bar + UNIC_BAR_LIST_OFF + at);
	uint32_t n = 1 + unic_from_le32(c->length) % UNIC_TOKEN_PIECES, i;
	uint32_t len = 1 + unic_from_le32(c->ttl_us) % 1500u;
	const struct unic_mr_ctx *mr = NULL;

	for (i = 0; i < UNIC_MRS; i++)
		if (unic_mr_physical(&world.rig.nic.mrs.mr[i]))
			mr = &world.rig.nic.mrs.mr[i];
	if (!mr)
		return;
	for (i = 0; i < n; i++) {
		p[i].bus = unic_to_le64(mr->iova + i * (uint64_t)len);
		p[i].len = unic_to_le32(len);
		p[i].rsvd = unic_to_le32(0);
	}
	c->pd = unic_to_le32(mr->pd);
	c->stag = unic_to_le32(mr->stag);
	c->flags = unic_to_le32(UNIC_TOKEN_F_PIECES);
	c->pieces = unic_to_le32(n);
	c->length = unic_to_le32(n * len);
	c->iova = unic_to_le64(0);
}

static void make_token(struct input *in, uint8_t *rec)
{
	const struct rig_mr *mr = &world.mr[in_below(in, WORLD_MRS)];
	uint32_t i = in_below(in, UNIC_TOKENS);

	if (rec[0] == UNIC_CMD_TOKEN_ALLOC) {
		struct unic_cmd_token_alloc *c = (void *)rec;

		c->pd = unic_to_le32(in_below(in, 3));
		c->stag = unic_to_le32(mr->stag);
		c->iova = unic_to_le64(mr->iova + in_u16(in));
		c->length = unic_to_le32(in_u16(in));
		c->ttl_us = unic_to_le32(in_u16(in));
		c->sender_ipv4 = unic_to_le32(in_odd(in) ? in_u32(in) : 0);
		c->flags = unic_to_le32(unic_from_le32(c->ttl_us) & 1);
		if (unic_from_le32(c->ttl_us) % 4 == 2)
			make_pieces(c);
	} else {
		struct unic_cmd_token_cancel *c = (void *)rec;

		c->proc = unic_to_le32(in_below(in, 3));
		c->index = unic_to_le32(i);
		c->key = unic_to_le64(world.rig.nic.tokens.token[i].key);
	}
}

static void make_answer(struct input *in, uint8_t *rec)
{
	struct unic_cmd_notice_answer *c = (void *)rec;

	name_region(in, &c->mr, &c->gen);
	if (rec[0] != UNIC_CMD_NOTICE_ANSWER && rec[0] != UNIC_CMD_NOTICE_ACK)
		return;
	/* `seq` is at the same place in both */
	c->seq = unic_to_le32(world.rig.nic.mrs.mr[unic_from_le32(c->mr)].seq);
	if (rec[0] == UNIC_CMD_NOTICE_ACK)
		return;
	c->answer = unic_to_le32(in_below(in, 5));
	name_region(in, &c->offer_mr, &c->offer_gen);
	c->extend_us = unic_to_le32(in_u16(in));
}

static void make_proc(struct input *in, uint8_t *rec)
{
	struct unic_cmd_proc_attach *c = (void *)rec;

	c->proc = unic_to_le32(in_below(in, 4));
	if (rec[0] == UNIC_CMD_PROC_DETACH)
		return;
	if (rec[0] == UNIC_CMD_PROC_SET) {
		struct unic_cmd_proc_set *s = (void *)rec;

		s->weight = unic_to_le32(in_u16(in));
		s->quota = unic_to_le32(in_below(in, 70));
		s->policy = unic_to_le32(in_below(in, UNIC_POLICIES + 1));
		return;
	}
	c->weight = unic_to_le32(in_u16(in));
	c->doorbell = unic_to_le64(wild_bus(in));
	c->quota = unic_to_le32(in_below(in, 70));
	c->policy = unic_to_le32(in_below(in, UNIC_POLICIES + 1));
}

static void make_params(struct input *in, void *rec)
{
	struct unic_cmd_set_params *c = rec;

	c->grace_us = unic_to_le32(in_u16(in));
	c->deliver_us = unic_to_le32(in_u16(in));
	c->reaper_us = unic_to_le32(in_u16(in));
	c->low_entries = unic_to_le32(in_below(in, 70));
	c->high_entries = unic_to_le32(in_below(in, 70));
	c->residence_us = unic_to_le32(in_u8(in));
	c->extend_us = unic_to_le32(in_u16(in));
	c->flags = unic_to_le32(in_below(in, 3));
	/* without a byte of its own, so that the corpora stay what they are */
	if (unic_from_le32(c->extend_us) & 1)
		c->idle_us = unic_to_le32(1000);
}

/* MR_FAULT, MR_INVALIDATE and MR_ADVISE, for pages of a random region. */
static void make_pages(struct input *in, uint8_t *rec)
{
	struct unic_cmd_mr_pages *c = (void *)rec;
	struct unic_cmd_mr_fault *f = (void *)rec;
	uint32_t mr;

	name_region(in, &c->mr, &c->gen);
	mr = unic_from_le32(c->mr);
	c->first = unic_to_le32(in_odd(in) ? in_below(in, 80) : 0);
	c->count = unic_to_le32(in_u8(in));
	if (rec[0] == UNIC_CMD_MR_ADVISE)
		c->advice = unic_to_le32(in_below(in, 4));
	if (rec[0] != UNIC_CMD_MR_FAULT)
		return;
	f->seq =
		unic_to_le32(world.rig.nic.cache.of[mr].seq - (in_u8(in) == 0));
	f->cannot = unic_to_le32(in_u8(in) < 16);
	fill_list(in);
}

/* Writes words of the translation lists. */
static void scribble(struct input *in)
{
	uint64_t *table = world_words(in_u16(in) % (RIG_LIST_WORDS - SCRIBBLED),
				      SCRIBBLED);
	uint64_t first = wild_bus(in) | in_odd(in);
	uint32_t i;

	for (i = 0; i < SCRIBBLED; i++)
		table[i] = first + 4096ull * i;
}

/* All other commands: small numbers in the first fields of 32 bits. */
static void make_plain(struct input *in, uint8_t *rec)
{
	unic_le32 *w = (void *)rec;

	w[2] = unic_to_le32(in_below(in, 12));
	w[3] = unic_to_le32(in_odd(in) ? in_u32(in) : in_below(in, 4));
	if (rec[0] == UNIC_CMD_PD_ALLOC) { /* half for the driver */
		w[4] = unic_to_le32(unic_from_le32(w[2]) / 6);
		w[2] = unic_to_le32(unic_from_le32(w[2]) % 3);
		w[3] = unic_to_le32(unic_from_le32(w[3]) == 3);
	}
	if (rec[0] == UNIC_CMD_QP_DESTROY)
		w[3] = unic_to_le32(some_qpn(in));
	if (rec[0] == UNIC_CMD_ARP_RESOLVE || rec[0] == UNIC_CMD_MAD_SEND)
		w[2] = unic_to_le32(0x0a000001u + in_below(in, 4));
	if (rec[0] == UNIC_CMD_FAULT && w[2] == unic_to_le32(UNIC_FAULT_CRASH))
		w[2] = 0; /* CRASH is a failed assertion by request */
	if (rec[0] == UNIC_CMD_ENTROPY)
		in_bytes(in, rec + 8, 32);
}

/* A record of a batch; a token record, which is rare, makes it TOKEN_BATCH. */
static void make_record(struct input *in, uint8_t *rec, uint8_t *batch)
{
	uint32_t how = in_u8(in), pages = 1 + (how & 3);
	struct unic_cmd_mr_reg *reg = (void *)rec;
	struct unic_cmd_mr_alloc *alloc = (void *)rec;
	uint32_t pd = in_below(in, 4);

	if (how >= 253) {
		*batch = UNIC_CMD_TOKEN_BATCH;
		rec[0] = how == 253 ? UNIC_CMD_TOKEN_CANCEL
				    : UNIC_CMD_TOKEN_ALLOC;
		make_token(in, rec);
		return;
	}
	reg->pd = unic_to_le32(pd);
	if (how < 64) {
		alloc->hdr.opcode = UNIC_CMD_MR_ALLOC;
		alloc->kind = UNIC_FORM_WINDOW2;
	} else {
		reg->hdr.opcode = UNIC_CMD_MR_REG;
		reg->rights = 7;
		reg->page_shift = 12;
		reg->flags = how >= 240 ? UNIC_REG_LIST : 0;
		reg->n_pages = unic_to_le32(pages);
		reg->length = unic_to_le64(4096ull * pages);
	}
	if (how >= 250) /* a random opcode, or any random byte */
		rec[how == 252 ? in_below(in, 64) : 0] = in_u8(in);
}

/* The records of a batch are in its list page. */
static void make_batch(struct input *in, uint8_t *rec)
{
	uint32_t at = world.rig.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	struct unic_cmd_batch *b = (void *)rec;
	uint32_t n = in_below(in, 5), i;

	for (i = 0; i < n; i++) {
		uint64_t one[8] = { 0 };

		make_record(in, (void *)one, &rec[0]);
		memcpy(world.rig.port.bar + UNIC_BAR_LIST_OFF + at + 64u * i,
		       one, sizeof(one));
	}
	b->count = unic_to_le32(n);
}

/* Commands for derived regions, MR_REREG, and batches. */
static void make_form(struct input *in, uint8_t *rec)
{
	static const uint8_t what[] = { UNIC_CMD_MR_ALLOC, UNIC_CMD_MR_MAKE,
					UNIC_CMD_MR_MAKE,  UNIC_CMD_MR_INVAL,
					UNIC_CMD_MR_REREG, UNIC_CMD_MR_BATCH };
	uint32_t at = world.rig.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	struct unic_sge *sge =
		(void *)(world.rig.port.bar + UNIC_BAR_LIST_OFF + at);
	struct unic_cmd_mr_alloc *a = (void *)rec;
	struct unic_cmd_mr_make *m = (void *)rec;
	struct unic_cmd_mr_rereg *r = (void *)rec;
	uint32_t i;
	uint8_t choice = in_u8(in);

	/* what came after the corpus is chosen by numbers that it seldom has */
	rec[0] = choice >= 252 ? UNIC_CMD_MR_FORMS
			       : what[choice % sizeof(what)];
	if (rec[0] == UNIC_CMD_MR_ALLOC) {
		a->pd = unic_to_le32(in_below(in, UNIC_PDS));
		a->kind = (uint8_t)in_below(in, 7);
		a->page_shift = a->kind == UNIC_FORM_FAST ? 12 : 0;
		a->n = unic_to_le32(a->kind >= UNIC_FORM_FAST ? in_below(in, 9)
							      : 0);
		return;
	}
	if (rec[0] == UNIC_CMD_MR_BATCH) {
		make_batch(in, rec);
		return;
	}
	name_region(in, &m->mr, &m->gen);
	if (rec[0] == UNIC_CMD_MR_REREG) {
		r->what = (uint8_t)in_below(in, 8);
		r->rights = r->what & UNIC_REREG_RIGHTS
				    ? in_below_or(in, 16, UNIC_MR_REMOTE_ATOMIC)
				    : 0;
	}
	if (rec[0] != UNIC_CMD_MR_MAKE)
		return;
	m->rights = (uint8_t)in_below_or(in, 16, UNIC_MR_REMOTE_ATOMIC);
	m->n = unic_to_le32(in_below(in, 5));
	m->repeat = unic_to_le32(in_below(in, 3));
	for (i = 0; i < unic_from_le32(m->n); i++) {
		const struct unic_mr_ctx *mr =
			&world.rig.nic.mrs.mr[in_below(in, UNIC_MRS)];

		sge[i].lkey = unic_to_le32(mr->stag);
		sge[i].iova = unic_to_le64(mr->iova + in_u8(in) * 16u);
		sge[i].len = unic_to_le32(in_u8(in) * 32u);
		if (!i)
			m->iova = sge[i].iova;
	}
}

static void make(struct input *in, uint8_t *rec)
{
	switch (rec[0]) {
	case UNIC_CMD_NOP: /* stands for the commands of make_form() */
		make_form(in, rec);
		break;
	case UNIC_CMD_MR_REG:
		make_reg(in, rec);
		break;
	case UNIC_CMD_MR_FILL: {
		struct unic_cmd_mr_fill *c = (void *)rec;

		name_region(in, &c->mr, &c->gen);
		c->first = unic_to_le32(in_below(in, 8));
		c->count = unic_to_le32(in_u8(in));
		fill_list(in);
		break;
	}
	case UNIC_CMD_MR_FAULT:
	case UNIC_CMD_MR_INVALIDATE:
	case UNIC_CMD_MR_ADVISE:
		make_pages(in, rec);
		break;
	case UNIC_CMD_CQ_CREATE:
	case UNIC_CMD_CQ_RESIZE:
	case UNIC_CMD_QP_CREATE:
		make_queue(in, rec);
		break;
	case UNIC_CMD_QP_MODIFY:
		make_modify(in, rec);
		break;
	case UNIC_CMD_TOKEN_ALLOC:
	case UNIC_CMD_TOKEN_CANCEL:
		make_token(in, rec);
		break;
	case UNIC_CMD_MR_DEREG:
	case UNIC_CMD_MR_EVICT:
	case UNIC_CMD_NOTICE_ACK:
	case UNIC_CMD_NOTICE_ANSWER:
		make_answer(in, rec);
		break;
	case UNIC_CMD_PROC_ATTACH:
	case UNIC_CMD_PROC_DETACH:
	case UNIC_CMD_PROC_SET:
		make_proc(in, rec);
		break;
	case UNIC_CMD_SET_PARAMS:
		make_params(in, rec);
		break;
	default:
		make_plain(in, rec);
	}
}

static void command(struct input *in)
{
	uint64_t words[8] = { 0 };
	uint8_t *rec = (void *)words;
	uint32_t wrong = in_u8(in);

	rec[0] = opcodes[in_below(in, sizeof(opcodes))];
	make(in, rec);
	if (wrong < 16) /* one random byte */
		rec[8 + in_below(in, 56)] = in_u8(in);
	else if (wrong < 20)
		rec[0] = in_u8(in);
	if (rec[0] != UNIC_CMD_FAULT || rec[8] != UNIC_FAULT_CRASH)
		world_cmd(rec);
}

/* Sets an index in the driver's page to any value, polls, and restores the
 * page: otherwise the NIC would take no further commands. */
static void wild_index(struct input *in)
{
	struct unic_driver_page *d = driver_page();
	struct unic_driver_page right = *d;
	uint32_t off = in_below(in, 5) * 64;
	unic_le32 wild = unic_to_le32(in_u32(in));

	memcpy((uint8_t *)d + off, &wild, 4);
	unic_nic_poll(&world.rig.nic);
	memcpy(d, &right, sizeof(right));
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

	if (kind < 190)
		command(in);
	else if (kind < 210)
		world_rounds(1 + in_below(in, 8));
	else if (kind < 236)
		world_settle(1000ull * in_u16(in));
	else if (kind < 246)
		wild_index(in);
	else if (kind < 248)
		scribble(in);
	else if (kind < 252)
		world.rig.port.late_dma = kind & 1;
	else if (kind < 254)
		world.rig.port.fail_call = world.rig.port.calls + 1 + in_u8(in);
	else
		late_dma(in);
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
	world_settle(200000000);
	world_check();
	return 0;
}

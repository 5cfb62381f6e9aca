/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "unit.h"

#include "derived_rig.h"
#include "memory/access.h"

uint32_t form_pa, form_pb;

struct rig_mr form_mb[3];

uint8_t form_rights_of(struct rig *r, const struct rig_mr *mr, uint8_t rights)
{
	struct unic_cmd_mr_rereg c = { .mr = unic_to_le32(mr->mr),
				       .gen = unic_to_le32(mr->gen),
				       .what = UNIC_REREG_RIGHTS,
				       .rights = rights };

	return rig_cmd(r, UNIC_CMD_MR_REREG, &c, NULL);
}

static void no_watermarks(struct rig *r)
{
	struct unic_cmd_set_params p = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
	};

	assert_int_equal(rig_cmd(r, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
}

int form_up(void **state)
{
	uint32_t i, k;

	(void)state;
	rig_up(&ra, 1);
	rig_up(&rb, 2);
	ra.port.peer = &rb.port;
	rb.port.peer = &ra.port;
	no_watermarks(&ra);
	no_watermarks(&rb);
	rig_attach(&ra, 0, 1);
	rig_attach(&rb, 0, 1);
	form_pa = rig_pd(&ra, 0);
	form_pb = rig_pd(&rb, 0);
	rig_qp(&ra, 0, form_pa, 0, &qa);
	rig_qp(&rb, 0, form_pb, 0, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
	assert_int_equal(rig_reg(&ra, 0, form_pa, 4, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &ma),
			 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rig_reg(&rb, 0, form_pb, 3, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &form_mb[i]),
				 0);
		assert_int_equal(form_rights_of(&rb, &form_mb[i], RWB), 0);
		memset(form_mb[i].mem, 0, 3 * PAGE);
	}
	for (k = 0; k < 4 * PAGE; k++)
		ma.mem[k] = (uint8_t)(k * 7 + k / 256 + 1);
	return 0;
}

uint8_t form_alloc_in(uint32_t pd, uint8_t kind, uint32_t n, struct rig_mr *out)
{
	struct unic_cmd_mr_alloc c = {
		.pd = unic_to_le32(pd),
		.kind = kind,
		.page_shift = kind == UNIC_FORM_FAST ? 12 : 0,
		.n = unic_to_le32(n),
		.user = unic_to_le32(77),
	};
	struct unic_cpl_mr_reg cpl;
	uint8_t status = rig_cmd(&rb, UNIC_CMD_MR_ALLOC, &c, &cpl);

	memset(out, 0, sizeof(*out));
	out->mr = unic_from_le32(cpl.mr);
	out->gen = unic_from_le32(cpl.gen);
	out->stag = unic_from_le32(cpl.stag);
	return status;
}

uint8_t form_alloc(uint8_t kind, uint32_t n, struct rig_mr *out)
{
	return form_alloc_in(form_pb, kind, n, out);
}

void form_alloc_ok(uint8_t kind, uint32_t n, struct rig_mr *out)
{
	assert_int_equal(form_alloc(kind, n, out), UNIC_ST_OK);
}

struct unic_sge form_piece(const struct rig_mr *mr, uint64_t off, uint32_t len)
{
	return (struct unic_sge){ .iova = unic_to_le64(mr->iova + off),
				  .len = unic_to_le32(len),
				  .lkey = unic_to_le32(mr->stag) };
}

uint8_t form_make(struct rig_mr *mr, const struct form_plan *p)
{
	uint8_t *list = rb.port.bar + UNIC_BAR_LIST_OFF +
			rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	struct unic_cmd_mr_make c = {
		.mr = unic_to_le32(mr->mr),
		.gen = unic_to_le32(mr->gen),
		.iova = unic_to_le64(p->iova),
		.n = unic_to_le32(p->n),
		.repeat = unic_to_le32(p->repeat),
		.rights = p->rights,
		.key = p->key,
		.strided = p->stride != NULL,
	};
	struct unic_cpl_mr_reg cpl;
	uint8_t status;

	memcpy(list, p->sge, p->n * sizeof(p->sge[0]));
	if (p->stride)
		memcpy(list + p->n * sizeof(p->sge[0]), p->stride, 4 * p->n);
	status = rig_cmd(&rb, UNIC_CMD_MR_MAKE, &c, &cpl);
	if (status)
		return status;
	mr->stag = unic_from_le32(cpl.stag);
	mr->iova = p->iova;
	return 0;
}

uint8_t form_make_one(struct rig_mr *mr, const struct rig_mr *of, uint64_t off,
		      uint32_t len, uint8_t rights, uint8_t key)
{
	struct form_plan p = {
		.n = 1, .iova = of->iova + off, .rights = rights, .key = key
	};

	p.sge[0] = form_piece(of, off, len);
	return form_make(mr, &p);
}

uint8_t form_inval(const struct rig_mr *mr)
{
	struct unic_cmd_mr c = { .mr = unic_to_le32(mr->mr),
				 .gen = unic_to_le32(mr->gen) };

	return rig_cmd(&rb, UNIC_CMD_MR_INVAL, &c, NULL);
}

int form_access_b(const struct rig_mr *mr, uint32_t need, uint64_t off,
		  uint32_t len, struct unic_xlate *out)
{
	return unic_access(&rb.nic.memory, mr->stag, (uint16_t)form_pb, need,
			   mr->iova + off, len, out);
}

void form_assert_bytes(const struct rig_mr *mr, uint32_t len,
		       const uint8_t *(*expect)(uint32_t off))
{
	uint32_t off;

	for (off = 0; off < len;) {
		struct unic_xlate p;
		uint32_t k;

		assert_int_equal(form_access_b(mr, UNIC_MR_REMOTE_WRITE, off,
					       len - off, &p),
				 0);
		assert_int_equal(p.mr, mr->mr);
		assert_true(p.len > 0 && p.len <= len - off);
		for (k = 0; k < p.len; k++)
			assert_ptr_equal(rb.port.window[0] +
						 (uint32_t)(p.bus + k),
					 expect(off + k));
		off += p.len;
	}
}

struct unic_cqe form_done(struct rig *r, struct rig_qp *q)
{
	struct unic_cqe cqe = { 0 };

	rig_run2(&ra, &rb, 30 * MS);
	assert_true(rig_cqe(r, q, &cqe));
	return cqe;
}

struct unic_cqe form_post(struct rig *r, struct rig_qp *q,
			  struct unic_sq_slot s, const void *list)
{
	struct unic_sq_slot *at = &q->sq[q->sq_tail % RIG_SLOTS];
	uint32_t slots = s.inline_len > UNIC_SQ_INLINE_BASE ? 2 : 1;

	s.flags |= UNIC_WR_SIGNALED;
	s.wr_id = unic_to_le64(0x1234);
	*at = s;
	if (list) {
		memcpy(at->sge, list, s.inline_len < 32 ? s.inline_len : 32);
		if (slots == 2)
			memcpy(&q->sq[(q->sq_tail + 1) % RIG_SLOTS],
			       (const uint8_t *)list + 32, s.inline_len - 32u);
	}
	q->sq_tail += slots;
	rig_ring(r, q->proc, UNIC_DB_SQ, q->row, q->sq_tail);
	return form_done(r, q);
}

struct unic_sq_slot form_memop(uint8_t opcode, uint32_t stag, uint8_t key,
			       uint8_t rights, uint64_t iova, uint32_t bytes)
{
	return (struct unic_sq_slot){
		.opcode = opcode,
		.flags = bytes ? UNIC_WR_INLINE : 0,
		.inline_len = (uint8_t)bytes,
		.imm = unic_to_le32(key | (uint32_t)rights << 8),
		.remote = unic_to_le64(iova),
		.rkey = unic_to_le32(stag),
	};
}

struct unic_cqe form_post_make(uint8_t opcode, struct rig_mr *mr, uint8_t key,
			       uint8_t rights, uint64_t iova,
			       const struct unic_sge *list, uint32_t n)
{
	struct unic_sq_slot s =
		form_memop(opcode, mr->stag, key, rights, iova, 16 * n);
	struct unic_cqe cqe;

	s.flags |= UNIC_WR_INLINE;
	cqe = form_post(&rb, &qb, s, list);
	if (!cqe.status) {
		mr->stag = (mr->stag & ~0xffu) | key;
		mr->iova = iova;
	}
	return cqe;
}

struct unic_cqe form_local_inv(uint32_t stag)
{
	return form_post(&rb, &qb,
			 form_memop(UNIC_WR_LOCAL_INV, stag, 0, 0, 0, 0), NULL);
}

uint8_t form_write_to(const struct rig_mr *mr, uint64_t off, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 0, len, mr->iova + off,
		 mr->stag);
	return form_done(&ra, &qa).status;
}

static void anew(struct rig *r, uint32_t pd, struct rig_qp *q)
{
	struct unic_cmd_obj c = { .id = unic_to_le32(q->qpn) };
	uint8_t evt[64];

	assert_int_equal(rig_cmd(r, UNIC_CMD_QP_DESTROY, &c, NULL), 0);
	c = (struct unic_cmd_obj){ .id = unic_to_le32(q->cq) };
	assert_int_equal(rig_cmd(r, UNIC_CMD_CQ_DESTROY, &c, NULL), 0);
	assert_int_equal(rig_dereg(r, &q->rings), 0);
	while (rig_event(r, evt))
		;
	rig_qp(r, 0, pd, q->row + 1, q);
}

void form_again(void)
{
	anew(&ra, form_pa, &qa);
	anew(&rb, form_pb, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
}

const uint8_t *form_three(uint32_t off)
{
	if (off < 100)
		return form_mb[0].mem + 4090 + off;
	if (off < 4100)
		return form_mb[1].mem + 1 + off - 100;
	return form_mb[2].mem + 77 + off - 4100;
}

void form_list_three(struct form_plan *p)
{
	*p = (struct form_plan){ .n = 3, .rights = RW, .iova = 0xfffffff0ull };
	p->sge[0] = form_piece(&form_mb[0], 4090, 100);
	p->sge[1] = form_piece(&form_mb[1], 1, 4000);
	p->sge[2] = form_piece(&form_mb[2], 77, 4092);
}

void form_make_three(struct rig_mr *mr)
{
	struct form_plan p;

	form_list_three(&p);
	form_alloc_ok(UNIC_FORM_INDIRECT, 3, mr);
	assert_int_equal(form_make(mr, &p), 0);
}

void form_refused(struct unic_sq_slot s, const void *list, uint8_t detail)
{
	struct unic_cqe cqe = form_post(&rb, &qb, s, list);

	assert_int_equal(cqe.status, s.opcode == UNIC_WR_BIND_MW
					     ? UNIC_WC_MW_BIND_ERR
					     : UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, detail);
	form_again();
}

uint32_t form_first_page(void)
{
	return (uint32_t)(form_mb[0].mem - rb.port.window[0]) / PAGE;
}

void form_reg_cached(uint8_t residency, struct rig_mr *of)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		rig_table(&rb, i, 0, form_first_page() + i);
	assert_int_equal(rig_reg_cached(&rb, form_pb, 3, residency, 0, of), 0);
	assert_int_equal(form_rights_of(&rb, of, RWB), 0);
	of->mem = form_mb[0].mem;
}

void form_bind(const struct rig_mr *of, uint64_t off, uint32_t len,
	       struct rig_mr *w)
{
	struct unic_sge e = form_piece(of, off, len);

	form_alloc_ok(UNIC_FORM_WINDOW2, 0, w);
	assert_int_equal(form_post_make(UNIC_WR_BIND_MW, w, 1, REMOTE,
					of->iova + off, &e, 1)
				 .status,
			 0);
}

void form_serve(const struct rig_mr *of, uint32_t first, uint32_t count)
{
	struct unic_evt_miss evt;

	rig_expect(&rb, UNIC_EVT_MISS, &evt);
	assert_int_equal(unic_from_le32(evt.mr), of->mr);
	assert_int_equal(unic_from_le32(evt.gen), of->gen);
	assert_int_equal(unic_from_le32(evt.first), first);
	assert_int_equal(unic_from_le32(evt.count), count);
	assert_int_equal(rig_fault(&rb, of, first, count,
				   unic_from_le32(evt.seq), 0,
				   form_first_page() + first, NULL),
			 0);
}

void form_bring(const struct rig_mr *of, uint32_t first, uint32_t count)
{
	assert_int_equal(rig_fault(&rb, of, first, count,
				   rb.nic.cache.of[of->mr].seq, 0,
				   form_first_page() + first, NULL),
			 0);
}

void form_drop_page(const struct rig_mr *of, uint32_t page)
{
	uint32_t done;

	assert_int_equal(rig_pages(&rb, of, page, 1, 0, &done), 0);
	assert_int_equal(done, 1);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_form.c - sub-regions, windows, fast and indirect registration, by command
 * and by work request, and how they end. */
#include "memory/access.h"
#include "memory/derived.h"
#include "revoke/register.h"
#include "rig.h"
#include "unit.h"

#define PAGE 4096u
#define MS   1000000ull
#define RW   (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)
#define RWB  (RW | UNIC_MR_MW_BIND)

static struct rig ra, rb;
static uint32_t pa, pb;
static struct rig_qp qa, qb;
static struct rig_mr ma, mb[3];

/* Rights of a region, in place. */
static uint8_t rights_of(struct rig *r, const struct rig_mr *mr, uint8_t rights)
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

static int setup(void **state)
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
	pa = rig_pd(&ra, 0);
	pb = rig_pd(&rb, 0);
	rig_qp(&ra, 0, pa, 0, &qa);
	rig_qp(&rb, 0, pb, 0, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
	assert_int_equal(rig_reg(&ra, 0, pa, 4, UNIC_CLASS_RDMA, UNIC_REG_LIST,
				 0, &ma),
			 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(rig_reg(&rb, 0, pb, 3, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &mb[i]),
				 0);
		assert_int_equal(rights_of(&rb, &mb[i], RWB), 0);
		memset(mb[i].mem, 0, 3 * PAGE);
	}
	for (k = 0; k < 4 * PAGE; k++)
		ma.mem[k] = (uint8_t)(k * 7 + k / 256 + 1);
	return 0;
}

/* ------------------------------------------------------------ commands of b */

static uint8_t alloc_in(uint32_t pd, uint8_t kind, uint32_t n,
			struct rig_mr *out)
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

static uint8_t alloc(uint8_t kind, uint32_t n, struct rig_mr *out)
{
	return alloc_in(pb, kind, n, out);
}

static void alloc_ok(uint8_t kind, uint32_t n, struct rig_mr *out)
{
	assert_int_equal(alloc(kind, n, out), UNIC_ST_OK);
}

static struct unic_sge piece(const struct rig_mr *mr, uint64_t off,
			     uint32_t len)
{
	return (struct unic_sge){ .iova = unic_to_le64(mr->iova + off),
				  .len = unic_to_le32(len),
				  .lkey = unic_to_le32(mr->stag) };
}

struct plan {
	struct unic_sge sge[UNIC_FORM_ELEMENTS + 1];
	uint32_t n, repeat;
	const uint32_t *stride;
	uint64_t iova;
	uint8_t rights, key;
};

static uint8_t make(struct rig_mr *mr, const struct plan *p)
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

/* Of one piece, under its own address. */
static uint8_t make_one(struct rig_mr *mr, const struct rig_mr *of,
			uint64_t off, uint32_t len, uint8_t rights, uint8_t key)
{
	struct plan p = {
		.n = 1, .iova = of->iova + off, .rights = rights, .key = key
	};

	p.sge[0] = piece(of, off, len);
	return make(mr, &p);
}

static uint8_t inval(const struct rig_mr *mr)
{
	struct unic_cmd_mr c = { .mr = unic_to_le32(mr->mr),
				 .gen = unic_to_le32(mr->gen) };

	return rig_cmd(&rb, UNIC_CMD_MR_INVAL, &c, NULL);
}

static int access_b(const struct rig_mr *mr, uint32_t need, uint64_t off,
		    uint32_t len, struct unic_piece *out)
{
	return unic_access(&rb.nic.memory, mr->stag, (uint16_t)pb, need,
			   mr->iova + off, len, out);
}

/* The bytes of a form, as its pieces say, against what @expect says of each. */
static void assert_bytes(const struct rig_mr *mr, uint32_t len,
			 const uint8_t *(*expect)(uint32_t off))
{
	uint32_t off;

	for (off = 0; off < len;) {
		struct unic_piece p;
		uint32_t k;

		assert_int_equal(access_b(mr, UNIC_MR_REMOTE_WRITE, off,
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

/* -------------------------------------------------------------- work requests */

/* Post on @q of @r; what it completes with. */
static struct unic_cqe done(struct rig *r, struct rig_qp *q)
{
	struct unic_cqe cqe = { 0 };

	rig_run2(&ra, &rb, 30 * MS);
	assert_true(rig_cqe(r, q, &cqe));
	return cqe;
}

static struct unic_cqe post(struct rig *r, struct rig_qp *q,
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
	return done(r, q);
}

static struct unic_sq_slot memop(uint8_t opcode, uint32_t stag, uint8_t key,
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

static struct unic_cqe post_make(uint8_t opcode, struct rig_mr *mr, uint8_t key,
				 uint8_t rights, uint64_t iova,
				 const struct unic_sge *list, uint32_t n)
{
	struct unic_sq_slot s =
		memop(opcode, mr->stag, key, rights, iova, 16 * n);
	struct unic_cqe cqe;

	s.flags |= UNIC_WR_INLINE;
	cqe = post(&rb, &qb, s, list);
	if (!cqe.status) {
		mr->stag = (mr->stag & ~0xffu) | key;
		mr->iova = iova;
	}
	return cqe;
}

static struct unic_cqe local_inv(uint32_t stag)
{
	return post(&rb, &qb, memop(UNIC_WR_LOCAL_INV, stag, 0, 0, 0, 0), NULL);
}

static uint8_t write_to(const struct rig_mr *mr, uint64_t off, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 0, len, mr->iova + off,
		 mr->stag);
	return done(&ra, &qa).status;
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

/* Queues that died of an error, anew. */
static void again(void)
{
	anew(&ra, pa, &qa);
	anew(&rb, pb, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
}

/* -------------------------------------------------------------- sub-regions */

static void sub_region_is_a_range(void **state)
{
	struct unic_piece p;
	struct rig_mr s;

	(void)state;
	alloc_ok(UNIC_FORM_SUB, 0, &s);
	assert_int_equal(access_b(&s, 0, 0, 1, &p), -UNIC_ESTAG);
	assert_int_equal(make_one(&s, &mb[0], 5000, 2000, RW, 3), 0);
	assert_int_equal(s.stag & 0xff, 3);
	assert_int_equal(access_b(&s, RW, 0, 2000, &p), 0);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus, mb[0].mem + 5000);
	assert_int_equal(access_b(&s, RW, 0, 2001, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_b(&s, RW, (uint64_t)-1, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_b(&s, UNIC_MR_MW_BIND, 0, 1, &p),
			 -UNIC_ERIGHTS);
	assert_int_equal(unic_access(&rb.nic.memory, s.stag,
				     (uint16_t)rig_pd(&rb, 0), 0, s.iova, 1,
				     &p),
			 -UNIC_EPD);
	/* it has no entries of its own, and can be made once */
	assert_int_equal(rb.nic.mrs.mr[s.mr].n_pages, 0);
	assert_int_equal(make_one(&s, &mb[0], 0, 1, RW, 0), UNIC_ST_STATE);
	assert_int_equal(inval(&s), UNIC_ST_STATE);
	assert_int_equal(write_to(&s, 0, 2000), UNIC_WC_SUCCESS);
	assert_memory_equal(mb[0].mem + 5000, ma.mem, 2000);
	assert_int_equal(rig_dereg(&rb, &s), UNIC_ST_OK);
	assert_int_equal(rb.nic.mrs.mr[mb[0].mr].deps, 0);
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(access_b(&s, 0, 0, 1, &p), -UNIC_ESTAG);
}

static void each_wrong_sub_region(void **state)
{
	static struct unic_derived_regions before;
	struct plan good = { .n = 1, .rights = RW }, p;
	struct rig_mr s, w;

	(void)state;
	good.iova = mb[0].iova + 16;
	good.sge[0] = piece(&mb[0], 16, 3 * PAGE - 16);
	alloc_ok(UNIC_FORM_SUB, 0, &s);
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	before = rb.nic.derived;
#define BAD(field, value, status)                                 \
	do {                                                      \
		p = good;                                         \
		p.field = (value);                                \
		assert_int_equal(make(&s, &p), UNIC_ST_##status); \
	} while (0)
	BAD(n, 0, INVALID);
	BAD(n, 2, TOO_LARGE);
	BAD(repeat, 2, INVALID);
	BAD(rights, 0x10, INVALID);
	BAD(rights, UNIC_MR_REMOTE_WRITE, RIGHTS);
	BAD(iova, good.iova + 1, ALIGN);
	BAD(iova, (uint64_t)-16, INVALID); /* wraps */
	BAD(sge[0].len, unic_to_le32(0), INVALID);
	BAD(sge[0].len, unic_to_le32(3 * PAGE - 15), BOUNDS);
	BAD(sge[0].len, unic_to_le32(UINT32_MAX), BOUNDS);
	BAD(sge[0].iova, unic_to_le64(mb[0].iova - PAGE + 16), BOUNDS);
	BAD(sge[0].iova, unic_to_le64(UINT64_MAX), BOUNDS);
	BAD(sge[0].lkey, unic_to_le32(mb[0].stag ^ 1), NO_MR);
	BAD(sge[0].lkey, unic_to_le32(s.stag), NO_MR);
	BAD(sge[0].lkey, unic_to_le32(w.stag), NO_MR);
	BAD(sge[0].lkey, unic_to_le32(qb.rings.stag), BOUNDS);
	p = good;
	p.sge[0] = piece(&qb.rings, 0, PAGE);
	p.iova = 0;
	assert_int_equal(make(&s, &p), UNIC_ST_NO_MR); /* of class control */
	assert_int_equal(rights_of(&rb, &mb[0], UNIC_MR_LOCAL_WRITE), 0);
	assert_int_equal(make(&s, &good), UNIC_ST_RIGHTS);
	/* nothing happened */
	assert_memory_equal(&before, &rb.nic.derived, sizeof(before));
	assert_int_equal(rights_of(&rb, &mb[0], RWB), 0);
	assert_int_equal(make(&s, &good), 0);
#undef BAD
}

static void allocations_that_cannot_be(void **state)
{
	struct unic_cpl_usage u;
	struct unic_cmd_mr_alloc c = { .pd = unic_to_le32(pb),
				       .kind = UNIC_FORM_INDIRECT };
	struct rig_mr f[UNIC_ELEMENTS_PROC + 1];
	uint32_t i;

	(void)state;
	assert_int_equal(alloc(UNIC_FORM_PLAIN, 0, f), UNIC_ST_INVALID);
	assert_int_equal(alloc(6, 0, f), UNIC_ST_INVALID);
	assert_int_equal(alloc(UNIC_FORM_WINDOW2, 1, f), UNIC_ST_INVALID);
	assert_int_equal(alloc(UNIC_FORM_INDIRECT, 0, f), UNIC_ST_INVALID);
	assert_int_equal(alloc(UNIC_FORM_INDIRECT, UNIC_FORM_ELEMENTS + 1, f),
			 UNIC_ST_INVALID);
	assert_int_equal(alloc(UNIC_FORM_FAST, 0, f), UNIC_ST_INVALID);
	assert_int_equal(alloc(UNIC_FORM_FAST, UNIC_TLB_ENTRIES + 1, f),
			 UNIC_ST_TOO_LARGE);
	c.pd = unic_to_le32(UNIC_PDS);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_ALLOC, &c, NULL),
			 UNIC_ST_NO_PD);
	/* a quarter of the elements, and the refusal says so */
	c.pd = unic_to_le32(pb);
	c.page_shift = 12; /* of FAST only */
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_ALLOC, &c, NULL),
			 UNIC_ST_INVALID);
	c.page_shift = 0;
	c.n = unic_to_le32(UNIC_ELEMENTS_PROC + 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_ALLOC, &c, &u),
			 UNIC_ST_ELEMENT_FULL);
	assert_int_equal(unic_from_le32(u.table), UNIC_TABLE_ELEMENT);
	assert_int_equal(unic_from_le32(u.limit), UNIC_ELEMENTS);
	for (i = 0; i < UNIC_ELEMENTS_PROC; i++)
		alloc_ok(UNIC_FORM_WINDOW2, 0, &f[i]);
	assert_int_equal(alloc(UNIC_FORM_WINDOW2, 0, &f[i]),
			 UNIC_ST_ELEMENT_FULL);
	for (i = 0; i < UNIC_ELEMENTS_PROC; i++)
		assert_int_equal(rig_dereg(&rb, &f[i]), UNIC_ST_OK);
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(rb.nic.derived.held[0], 0);
}

/* ------------------------------------------------------------------ windows */

static void posted_bind_and_unbind(void **state)
{
	struct unic_sge e = piece(&mb[1], 100, 5000);
	struct unic_piece p;
	struct unic_cqe cqe;
	struct rig_mr w;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	cqe = post_make(UNIC_WR_BIND_MW, &w, 9, UNIC_MR_REMOTE_WRITE,
			mb[1].iova + 100, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_int_equal(cqe.opcode, UNIC_WC_BIND_MW);
	assert_int_equal(w.stag & 0xff, 9);
	assert_int_equal(write_to(&w, 17, 4983), UNIC_WC_SUCCESS);
	assert_memory_equal(mb[1].mem + 117, ma.mem, 4983);
	assert_int_equal(access_b(&w, UNIC_MR_REMOTE_READ, 0, 1, &p),
			 -UNIC_ERIGHTS);
	/* the old key does not open it */
	w.stag ^= 1;
	assert_int_equal(access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
	w.stag ^= 1;
	/* type 2 is bound once, until invalidated */
	cqe = post_make(UNIC_WR_BIND_MW, &w, 10, UNIC_MR_REMOTE_WRITE,
			mb[1].iova + 100, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_MW_BIND_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_STATE);
	again();
	cqe = local_inv(w.stag);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_int_equal(cqe.opcode, UNIC_WC_LOCAL_INV);
	assert_int_equal(access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
	assert_int_equal(rb.nic.mrs.mr[mb[1].mr].deps, 0);
	cqe = post_make(UNIC_WR_BIND_MW, &w, 10, UNIC_MR_REMOTE_READ,
			mb[1].iova + 100, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	assert_int_equal(write_to(&w, 0, 1), UNIC_WC_REM_ACCESS_ERR);
}

static void each_wrong_bind(void **state)
{
	struct unic_sge good = piece(&mb[1], 0, PAGE), e;
	struct rig_mr w, x;
	struct unic_cqe cqe;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	alloc_ok(UNIC_FORM_INDIRECT, 1, &x);
#define BAD(rights, at, code)                                               \
	do {                                                                \
		cqe = post_make(UNIC_WR_BIND_MW, &w, 1, rights, at, &e, 1); \
		assert_int_equal(cqe.status, UNIC_WC_MW_BIND_ERR);          \
		assert_int_equal(cqe.detail, UNIC_WD_##code);               \
		again();                                                    \
		e = good;                                                   \
	} while (0)
	e = good;
	BAD(UNIC_MR_LOCAL_WRITE, mb[1].iova, RIGHTS);
	BAD(UNIC_MR_REMOTE_READ, mb[1].iova + 1, ALIGN);
	e.len = unic_to_le32(3 * PAGE + 1);
	BAD(UNIC_MR_REMOTE_READ, mb[1].iova, BOUNDS);
	e.len = unic_to_le32(0);
	BAD(UNIC_MR_REMOTE_READ, mb[1].iova, SGE);
	e.lkey = unic_to_le32(mb[1].stag ^ 0x100);
	BAD(UNIC_MR_REMOTE_READ, mb[1].iova, STAG);
	assert_int_equal(rights_of(&rb, &mb[1], RW), 0);
	BAD(UNIC_MR_REMOTE_READ, mb[1].iova, RIGHTS); /* no MW_BIND */
#undef BAD
	assert_int_equal(rights_of(&rb, &mb[1],
				   UNIC_MR_REMOTE_READ | UNIC_MR_MW_BIND),
			 0);
	cqe = post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
			mb[1].iova, &good, 1);
	assert_int_equal(cqe.detail, UNIC_WD_RIGHTS); /* no LOCAL_WRITE */
	again();
	cqe = post_make(UNIC_WR_BIND_MW, &x, 1, 0, 0, &good, 1);
	assert_int_equal(cqe.detail, UNIC_WD_STATE); /* no window */
}

/* A form of another domain is none for a queue pair, though both are of one process:
 * nobody makes it or closes it that way. */
static void forms_of_another_domain(void **state)
{
	uint32_t other = rig_pd(&rb, 0);
	struct unic_piece p;
	struct rig_mr m, w, open;
	struct unic_sge e;
	struct unic_cqe cqe;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, other, 1, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &m),
			 0);
	assert_int_equal(rights_of(&rb, &m, RWB), 0);
	assert_int_equal(alloc_in(other, UNIC_FORM_WINDOW2, 0, &w), 0);
	e = piece(&mb[1], 0, PAGE); /* which this queue pair may name */
	cqe = post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
			mb[1].iova, &e, 1);
	assert_int_equal(cqe.status, UNIC_WC_MW_BIND_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PD);
	assert_int_equal(rb.nic.mrs.mr[mb[1].mr].deps, 0);
	again();
	assert_int_equal(alloc_in(other, UNIC_FORM_WINDOW2, 0, &open), 0);
	assert_int_equal(make_one(&open, &m, 0, PAGE, UNIC_MR_REMOTE_WRITE, 1),
			 0);
	cqe = local_inv(open.stag);
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PD);
	again();
	rig_recv(&rb, &qb, 8, &mb[0], 0, PAGE);
	rig_send(&ra, &qa, UNIC_WR_SEND_INV, 6, &ma, 0, 10, 0, open.stag);
	assert_int_equal(done(&ra, &qa).status, UNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(unic_access(&rb.nic.memory, open.stag, (uint16_t)other,
				     UNIC_MR_REMOTE_WRITE, open.iova, PAGE, &p),
			 0);
	assert_int_equal(rig_count(&rb, forms_invalidated), 0);
}

static void type_1_is_bound_by_command(void **state)
{
	struct unic_piece p;
	struct rig_mr w;
	struct plan none = { 0 };
	uint32_t old;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	assert_int_equal(make_one(&w, &mb[0], 0, PAGE, UNIC_MR_REMOTE_READ, 1),
			 0);
	old = w.stag;
	assert_int_equal(make_one(&w, &mb[1], 0, PAGE, UNIC_MR_REMOTE_READ, 2),
			 0);
	assert_int_equal(rb.nic.mrs.mr[mb[0].mr].deps, 0);
	assert_int_equal(access_b(&w, UNIC_MR_REMOTE_READ, 0, PAGE, &p), 0);
	assert_int_not_equal(old, w.stag);
	/* in use: not now */
	unic_mr_hold(&rb.nic.memory, (uint16_t)w.mr);
	assert_int_equal(make(&w, &none), UNIC_ST_BUSY);
	unic_mr_unhold(&rb.nic.memory, (uint16_t)w.mr);
	assert_int_equal(inval(&w), UNIC_ST_STATE);
	assert_int_equal(make(&w, &none), 0);
	assert_int_equal(rb.nic.mrs.mr[mb[1].mr].deps, 0);
	w.iova = mb[1].iova;
	assert_int_equal(access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
}

static void send_inv(uint32_t stag, uint32_t len)
{
	rig_send(&ra, &qa, UNIC_WR_SEND_INV, 6, &ma, 0, len, 0, stag);
}

static void peer_invalidates(void **state)
{
	struct unic_sge e = piece(&mb[1], 0, PAGE);
	struct unic_piece p;
	struct unic_cqe cqe;
	struct rig_mr w;
	uint32_t len;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	for (len = 100; len < 4000; len += 3000) {
		cqe = post_make(UNIC_WR_BIND_MW, &w, (uint8_t)len,
				UNIC_MR_REMOTE_WRITE, mb[1].iova, &e, 1);
		assert_int_equal(cqe.status, 0);
		rig_recv(&rb, &qb, 8, &mb[0], 0, PAGE);
		send_inv(w.stag, len);
		assert_int_equal(done(&ra, &qa).status, UNIC_WC_SUCCESS);
		assert_true(rig_cqe(&rb, &qb, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
		assert_int_equal(cqe.opcode, UNIC_WC_RECV);
		assert_int_equal(cqe.flags, UNIC_WC_WITH_INV);
		assert_int_equal(unic_from_le32(cqe.imm), w.stag);
		assert_int_equal(unic_from_le32(cqe.byte_len), len);
		assert_memory_equal(mb[0].mem, ma.mem, len);
		assert_int_equal(access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
	}
	assert_int_equal(rig_count(&rb, forms_inv_remote), 2);
}

static void peer_invalidates_what_is_used(void **state)
{
	struct unic_sge e = piece(&mb[1], 0, PAGE);
	struct unic_piece p;
	struct unic_cqe cqe;
	struct rig_mr w;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	cqe = post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE,
			mb[1].iova, &e, 1);
	rig_recv(&rb, &qb, 8, &mb[0], 0, PAGE);
	unic_mr_hold(&rb.nic.memory, (uint16_t)w.mr);
	send_inv(w.stag, 10);
	rig_run2(&ra, &rb, 10000);
	assert_false(rig_cqe(&rb, &qb, &cqe)); /* told to come again */
	assert_true(rig_count(&rb, tx_rnr_naks) > 0);
	assert_int_equal(access_b(&w, 0, 0, 1, &p), -UNIC_ESTAG);
	/* nor does who closed another one of that index finish this one */
	assert_false(unic_derived_unmake(&rb.nic.memory,
					 rb.nic.mrs.mr[w.mr].stag ^ 0x100));
	unic_mr_unhold(&rb.nic.memory, (uint16_t)w.mr);
	assert_int_equal(done(&ra, &qa).status, UNIC_WC_SUCCESS);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.flags, UNIC_WC_WITH_INV);
}

static void peer_may_not_invalidate(void **state)
{
	struct unic_sge e = piece(&mb[1], 0, PAGE);
	struct unic_cqe cqe;
	struct rig_mr w[4];
	uint32_t i;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW1, 0, &w[0]);
	assert_int_equal(
		make_one(&w[0], &mb[1], 0, PAGE, UNIC_MR_REMOTE_READ, 1), 0);
	alloc_ok(UNIC_FORM_SUB, 0, &w[1]);
	assert_int_equal(make_one(&w[1], &mb[1], 0, PAGE, RW, 1), 0);
	w[2] = mb[0];
	alloc_ok(UNIC_FORM_INDIRECT, 1, &w[3]); /* no remote right */
	cqe = post_make(UNIC_WR_REG_INDIRECT, &w[3], 1, UNIC_MR_LOCAL_WRITE, 0,
			&e, 1);
	assert_int_equal(cqe.status, 0);
	for (i = 0; i < 4; i++) {
		rig_recv(&rb, &qb, 8, &mb[0], 0, PAGE);
		send_inv(w[i].stag, 10);
		assert_int_equal(done(&ra, &qa).status, UNIC_WC_REM_ACCESS_ERR);
		again();
		assert_int_equal(rb.nic.mrs.mr[w[i].mr].flags &
					 (UNIC_MR_F_SHUT | UNIC_MR_F_INVAL),
				 0);
	}
	/* an STag that is wrong is the peer's guess, not the process's */
	send_inv(mb[1].stag ^ 0x100, 10);
	assert_int_equal(done(&ra, &qa).status, UNIC_WC_REM_ACCESS_ERR);
	assert_int_equal(rb.nic.key_guards.of[0].peer[0].wrong, 1);
	assert_int_equal(rb.nic.key_guards.of[0].local.wrong, 0);
}

/* What is granted of a form does not keep it from being invalidated. */
static void invalidation_ends_tokens(void **state)
{
	struct unic_cmd_token_alloc token = {
		.length = unic_to_le32(100),
	};
	struct rig_mr x;

	(void)state;
	alloc_ok(UNIC_FORM_INDIRECT, 1, &x);
	assert_int_equal(make_one(&x, &mb[1], 0, PAGE, RW, 1), 0);
	token.pd = unic_to_le32(qb.pd);
	token.stag = unic_to_le32(rb.nic.mrs.mr[x.mr].stag);
	token.iova = unic_to_le64(rb.nic.mrs.mr[x.mr].iova);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &token, NULL), 0);
	assert_int_equal(rb.nic.mrs.mr[x.mr].n_tokens, 1);
	assert_int_equal(inval(&x), 0);
	assert_int_equal(rb.nic.mrs.mr[x.mr].n_tokens, 0);
}

static void local_inv_waits_and_cuts(void **state)
{
	struct unic_sge e = piece(&mb[1], 0, PAGE);
	struct unic_cqe cqe;
	struct rig_mr w;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE, mb[1].iova, &e,
		  1);
	unic_mr_hold(&rb.nic.memory, (uint16_t)w.mr);
	qb.sq[qb.sq_tail % RIG_SLOTS] =
		memop(UNIC_WR_LOCAL_INV, w.stag, 0, 0, 0, 0);
	qb.sq[qb.sq_tail % RIG_SLOTS].flags = UNIC_WR_SIGNALED;
	rig_ring(&rb, 0, UNIC_DB_SQ, qb.row, ++qb.sq_tail);
	rig_run2(&ra, &rb, 5 * MS);
	assert_false(rig_cqe(&rb, &qb, &cqe));
	unic_mr_unhold(&rb.nic.memory, (uint16_t)w.mr);
	cqe = done(&rb, &qb);
	assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
	/* the next one has all of T again */
	assert_true(!rb.nic.qps.qp[qb.qpn & 0xff].sq.inval_ns);
	/* not valid: an error; so is what cannot be invalidated */
	cqe = local_inv(w.stag);
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_STATE);
	assert_int_equal(unic_from_le32(cqe.byte_len), 0);
	again();
	cqe = local_inv(mb[1].stag);
	assert_int_equal(cqe.detail, UNIC_WD_STATE);
	again();
	cqe = local_inv(mb[1].stag ^ 0x100);
	assert_int_equal(cqe.detail, UNIC_WD_STAG);
}

/* Who uses it is looked for once T is over, and then not at each turn. */
static void local_inv_cuts_once(void **state)
{
	struct unic_cut_lap *lap = &rb.nic.cut_lap;
	struct unic_sge e = piece(&mb[1], 0, PAGE);
	struct rig_mr w;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE, mb[1].iova, &e,
		  1);
	unic_mr_hold(&rb.nic.memory, (uint16_t)w.mr);
	qb.sq[qb.sq_tail % RIG_SLOTS] =
		memop(UNIC_WR_LOCAL_INV, w.stag, 0, 0, 0, 0);
	rig_ring(&rb, 0, UNIC_DB_SQ, qb.row, ++qb.sq_tail);
	rig_run2(&ra, &rb, 5 * MS);
	assert_int_equal(lap->ration.round, 0);
	rig_run2(&ra, &rb, 16 * MS);
	assert_int_not_equal(lap->ration.round, 0);
	assert_false(unic_cut_due(&rb.nic.transport));
	lap->ration = (struct unic_ration){ 0 };
	rb.nic.stale = UINT8_MAX;
	unic_nic_poll(&rb.nic);
	rig_ring(&rb, 0, UNIC_DB_SQ, qb.row, qb.sq_tail);
	unic_nic_poll(&rb.nic);
	assert_int_equal(lap->ration.round, 0);
	rig_run2(&ra, &rb, 2 * MS); /* something holds it yet */
	assert_int_not_equal(lap->ration.round, 0);
	unic_mr_unhold(&rb.nic.memory, (uint16_t)w.mr);
}

/* A form that is made anew while others are still looked for is nobody's to cut. */
static void made_anew_is_not_cut(void **state)
{
	struct unic_sge e = piece(&mb[1], 0, PAGE);
	struct rig_mr w;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE, mb[1].iova, &e,
		  1);
	w.stag = rb.nic.mrs.mr[w.mr].stag;
	unic_cuts_mark(&rb.nic.memory, (uint16_t)mb[2].mr);
	unic_cuts_mark(&rb.nic.memory, (uint16_t)w.mr);
	assert_int_equal(unic_derived_close(&rb.nic.memory, w.stag,
					    (uint16_t)qb.pd, false),
			 0);
	assert_true(unic_derived_unmake(&rb.nic.memory, w.stag));
	assert_true(unic_cuts_has(&rb.nic.cuts, mb[2].mr));
	assert_false(unic_cuts_has(&rb.nic.cuts, w.mr));
}

static void asked_back(const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr evt;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_NOTICE, &evt);
	assert_int_equal(rig_ack(&rb, &evt), 0);
}

static void evict_step(void)
{
	if (unic_evict_deadlines(&rb.nic.revoke))
		unic_evict_poll(&rb.nic.revoke);
}

/* A region that takes many forms along has a round to itself. */
static void deadline_of_many_forms_is_a_round(void **state)
{
	const struct unic_mr_ctx *light, *heavy;
	struct plan p = { .n = 1, .rights = UNIC_MR_REMOTE_READ };
	struct rig_mr form;
	uint32_t i;

	(void)state;
	light = &rb.nic.mrs.mr[mb[0].mr];
	heavy = &rb.nic.mrs.mr[mb[1].mr];
	p.sge[0] = piece(&mb[1], 0, PAGE);
	p.iova = mb[1].iova;
	for (i = 0; i < UNIC_ELEMENTS / 4; i++) {
		alloc_ok(UNIC_FORM_SUB, 0, &form);
		assert_int_equal(make(&form, &p), UNIC_ST_OK);
	}
	asked_back(&mb[0]); /* the last one is found first */
	asked_back(&mb[1]);
	rb.nic.now_ns += 20 * MS;
	evict_step();
	assert_true(heavy->state >= UNIC_MR_DRAINING);
	assert_int_equal(light->state, UNIC_MR_NOTIFIED);
	assert_int_equal(rb.nic.timers_ns, 0); /* in the next one */
	evict_step();
	assert_true(light->state >= UNIC_MR_DRAINING);
}

/* ----------------------------------------------------------------- indirect */

static const uint8_t *three(uint32_t off)
{
	if (off < 100)
		return mb[0].mem + 4090 + off;
	if (off < 4100)
		return mb[1].mem + 1 + off - 100;
	return mb[2].mem + 77 + off - 4100;
}

static void list_three(struct plan *p)
{
	*p = (struct plan){ .n = 3, .rights = RW, .iova = 0xfffffff0ull };
	p->sge[0] = piece(&mb[0], 4090, 100);
	p->sge[1] = piece(&mb[1], 1, 4000);
	p->sge[2] = piece(&mb[2], 77, 4092);
}

static void make_three(struct rig_mr *mr)
{
	struct plan p;

	list_three(&p);
	alloc_ok(UNIC_FORM_INDIRECT, 3, mr);
	assert_int_equal(make(mr, &p), 0);
}

static void indirect_over_three_regions(void **state)
{
	struct unic_piece p;
	struct rig_mr x;
	uint32_t i;

	(void)state;
	make_three(&x);
	for (i = 0; i < 2; i++) /* with and without a window */
		assert_bytes(&x, 8192, three);
	for (i = 0; i < 8192; i += 61) {
		assert_int_equal(access_b(&x, RW, 8191 - i, 1, &p), 0);
		assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus,
				 three(8191 - i));
	}
	assert_int_equal(access_b(&x, RW, 0, 8193, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_b(&x, RW, 8192, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_b(&x, RW, (uint64_t)-1, 1, &p), -UNIC_EBOUNDS);
	/* what lies 2^32 off is not seen through the window */
	assert_int_equal(access_b(&x, RW, 0, 1, &p), 0);
	assert_int_equal(access_b(&x, RW, 1ull << 32, 1, &p), -UNIC_EBOUNDS);
	assert_int_equal(access_b(&x, RW, 16 - (1ull << 32), 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(write_to(&x, 0, 8192), UNIC_WC_SUCCESS);
	for (i = 0; i < 8192; i++)
		assert_int_equal(*three(i), ma.mem[i]);
	assert_int_equal(inval(&x), 0);
	assert_int_equal(access_b(&x, 0, 0, 1, &p), -UNIC_ESTAG);
	for (i = 0; i < 3; i++)
		assert_int_equal(rb.nic.mrs.mr[mb[i].mr].deps, 0);
}

/* A form over whole page 1 of mb[0], whose byte 2048 lies at 2^32. */
static void make_straddling(struct rig_mr *x)
{
	struct plan p = { .n = 1, .rights = RW, .iova = (1ull << 32) - 2048 };

	p.sge[0] = piece(&mb[0], PAGE, PAGE);
	alloc_ok(UNIC_FORM_INDIRECT, 1, x);
	assert_int_equal(make(x, &p), 0);
}

static const uint8_t *straddling(uint32_t off)
{
	return mb[0].mem + PAGE + off;
}

/* What lies together on both sides of a multiple of 2^32 is two pieces, each in
 * the window that it leaves, whoever asks first. */
static void addresses_that_cross_4_gib(void **state)
{
	static const uint32_t first[] = { 0, 1024, 2047, 2048, 2049, 4095 };
	struct unic_piece p;
	struct unic_mr_ctx *mr;
	struct rig_mr x;
	uint32_t i, j, left;

	(void)state;
	make_straddling(&x);
	mr = &rb.nic.mrs.mr[x.mr];
	for (i = 0; i < sizeof(first) / sizeof(*first); i++) {
		assert_int_equal(access_b(&x, RW, first[i], 1, &p), 0);
		assert_bytes(&x, PAGE, straddling);
		for (j = 0; j < PAGE; j += 31) {
			left = j < 2048 ? 2048 - j : PAGE - j;
			mr->win_bytes = 0;
			assert_int_equal(access_b(&x, RW, j, PAGE - j, &p), 0);
			assert_int_equal(p.len, left);
			assert_true(unic_mr_in_window(
				mr, (uint32_t)(x.iova + j), p.len));
			/* what is below 4 GiB is not there 4 GiB above */
			assert_int_equal(access_b(&x, RW,
						  (1ull << 32) + j % 2048, 1,
						  &p),
					 -UNIC_EBOUNDS);
		}
	}
	assert_int_equal(access_b(&x, RW, 0, PAGE + 1, &p), -UNIC_EBOUNDS);
}

static void messages_that_cross_4_gib(void **state)
{
	static const uint32_t from[] = { 2047, 2040, 2033, 2016, 2048, 1000 };
	struct rig_mr x;
	uint32_t i, k;

	(void)state;
	make_straddling(&x);
	for (k = 0; k < PAGE; k++)
		mb[0].mem[PAGE + k] = (uint8_t)(k * 3 + k / 256 + 5);
	for (i = 0; i < sizeof(from) / sizeof(*from); i++) {
		memset(ma.mem, 0, PAGE);
		rig_send(&rb, &qb, UNIC_WR_WRITE, i, &x, from[i], 32, ma.iova,
			 ma.stag);
		assert_int_equal(done(&rb, &qb).status, UNIC_WC_SUCCESS);
		assert_memory_equal(ma.mem, straddling(from[i]), 32);
		assert_int_equal(ma.mem[32], 0);
	}
	for (k = 0; k < PAGE; k++)
		ma.mem[k] = (uint8_t)(k * 7 + 1);
	for (i = 0; i < sizeof(from) / sizeof(*from); i++) {
		memset(mb[0].mem, 0, 3 * PAGE);
		assert_int_equal(write_to(&x, from[i], 32), UNIC_WC_SUCCESS);
		assert_memory_equal(straddling(from[i]), ma.mem, 32);
		assert_int_equal(*straddling(from[i] - 1), 0);
		assert_int_equal(*straddling(from[i] + 32), 0);
	}
}

static void lists_with_every_element_wrong(void **state)
{
	static struct unic_derived_regions before;
	struct plan good, p;
	struct rig_mr x;
	uint32_t i;

	(void)state;
	list_three(&good);
	alloc_ok(UNIC_FORM_INDIRECT, 3, &x);
	before = rb.nic.derived;
#define BAD(field, value, status)                                 \
	do {                                                      \
		p = good;                                         \
		p.field = (value);                                \
		assert_int_equal(make(&x, &p), UNIC_ST_##status); \
	} while (0)
	for (i = 0; i < 3; i++) {
		BAD(sge[i].len, unic_to_le32(0), INVALID);
		BAD(sge[i].len, unic_to_le32(UINT32_MAX), BOUNDS);
		BAD(sge[i].iova, unic_to_le64(UINT64_MAX), BOUNDS);
		BAD(sge[i].iova, unic_to_le64(mb[i].iova - 1), BOUNDS);
		BAD(sge[i].lkey, unic_to_le32(mb[i].stag ^ 0x80), NO_MR);
		BAD(sge[i].lkey, unic_to_le32(x.stag), NO_MR);
	}
	BAD(n, 0, INVALID);
	BAD(n, 4, TOO_LARGE);
	BAD(iova, UINT64_MAX - 8190, INVALID);
	BAD(repeat, UINT32_MAX, TOO_LARGE);
	BAD(rights, UNIC_MR_RIGHTS_ALL + 1, INVALID);
#undef BAD
	assert_memory_equal(&before, &rb.nic.derived, sizeof(before));
	good.iova = UINT64_MAX - 8191; /* ends at the end */
	assert_int_equal(make(&x, &good), 0);
	assert_bytes(&x, 8192, three);
}

/* A window has no local key: whoever has its STag has no element by it, though it
 * is bound and has the rights. */
static void windows_are_no_elements(void **state)
{
	static const uint8_t kind[] = { UNIC_FORM_SUB, UNIC_FORM_WINDOW1,
					UNIC_FORM_WINDOW2, UNIC_FORM_FAST,
					UNIC_FORM_INDIRECT };
	uint32_t type, i;
	struct rig_mr w, x;

	(void)state;
	for (type = UNIC_FORM_WINDOW1; type <= UNIC_FORM_WINDOW2; type++) {
		alloc_ok((uint8_t)type, 0, &w);
		assert_int_equal(make_one(&w, &mb[1], 0, PAGE,
					  UNIC_MR_REMOTE_READ, 1),
				 0);
		for (i = 0; i < sizeof(kind); i++) {
			alloc_ok(kind[i], kind[i] >= UNIC_FORM_FAST, &x);
			assert_int_not_equal(make_one(&x, &w, 0, PAGE,
						      UNIC_MR_REMOTE_READ, 1),
					     UNIC_ST_OK);
			if (kind[i] == UNIC_FORM_INDIRECT)
				assert_int_equal(make_one(&x, &w, 0, PAGE,
							  UNIC_MR_REMOTE_READ,
							  1),
						 UNIC_ST_NO_MR);
			assert_int_equal(make_one(&x, &mb[1], 0, PAGE,
						  UNIC_MR_REMOTE_READ, 1),
					 UNIC_ST_OK);
			assert_int_equal(rig_dereg(&rb, &x), 0);
		}
		assert_int_equal(rb.nic.mrs.mr[w.mr].deps, 0);
		assert_int_equal(rig_dereg(&rb, &w), 0);
	}
}

/* T10-PI: blocks of 512 bytes from one region, 8 bytes of protection
 * information for each from another. */
static const uint8_t *t10(uint32_t off)
{
	uint32_t block = off / 520, in = off % 520;

	return in < 512 ? mb[0].mem + 300 + block * 512 + in
			: mb[1].mem + 8 * block + in - 512;
}

static void protection_information_interleaved(void **state)
{
	static const uint32_t stride[2] = { 512, 8 };
	struct plan p = {
		.n = 2, .repeat = 20, .stride = stride, .rights = RW, .iova = 0
	};
	struct unic_piece piece_out;
	struct rig_mr x;
	uint32_t i;

	(void)state;
	p.sge[0] = piece(&mb[0], 300, 512);
	p.sge[1] = piece(&mb[1], 0, 8);
	alloc_ok(UNIC_FORM_INDIRECT, 2, &x);
	p.repeat = 24; /* the last block would end behind the region */
	assert_int_equal(make(&x, &p), UNIC_ST_BOUNDS);
	p.repeat = 20;
	assert_int_equal(make(&x, &p), 0);
	assert_bytes(&x, 20 * 520, t10);
	assert_int_equal(access_b(&x, RW, 0, 20 * 520 + 1, &piece_out),
			 -UNIC_EBOUNDS);
	assert_int_equal(write_to(&x, 3, 20 * 520 - 3), UNIC_WC_SUCCESS);
	for (i = 3; i < 20 * 520; i++)
		assert_int_equal(*t10(i), ma.mem[i - 3]);
}

static void nested_to_a_depth(void **state)
{
	struct plan p = { .n = 1, .rights = RW };
	struct unic_piece out;
	struct rig_mr x[UNIC_FORM_DEPTH + 2], below = mb[0];
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_FORM_DEPTH; i++) {
		bool odd = i & 1;

		alloc_ok(odd ? UNIC_FORM_SUB : UNIC_FORM_INDIRECT, !odd, &x[i]);
		p.sge[0] = piece(&below, 10, 9000 - 10 * i);
		p.iova = odd ? below.iova + 10 : 0x5555000000ull + i;
		assert_int_equal(make(&x[i], &p), 0);
		below = x[i];
	}
	assert_int_equal(access_b(&below, RW, 0, 100, &out), 0);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)out.bus,
			 mb[0].mem + 10 * UNIC_FORM_DEPTH);
	alloc_ok(UNIC_FORM_INDIRECT, 1, &x[i]);
	p.sge[0] = piece(&below, 0, 1);
	assert_int_equal(make(&x[i], &p), UNIC_ST_TOO_LARGE);
	/* what others are made of cannot be invalidated, but deregistered */
	assert_int_equal(inval(&x[0]), UNIC_ST_BUSY);
	assert_int_equal(access_b(&x[0], RW, 0, 100, &out), 0);
	assert_int_equal(rig_dereg(&rb, &mb[0]), UNIC_ST_OK);
	for (i = 0; i < UNIC_FORM_DEPTH; i++)
		assert_int_equal(access_b(&x[i], 0, 0, 1, &out),
				 -UNIC_EEVICTED);
}

static void posted_lists(void **state)
{
	struct unic_sq_slot s;
	struct unic_cqe cqe;
	struct plan p;
	struct rig_mr x;
	uint32_t strides[3] = { 0, 0, 0 };
	uint8_t strided[96];

	(void)state;
	list_three(&p);
	alloc_ok(UNIC_FORM_INDIRECT, 6, &x);
	/* inline: 48 bytes */
	cqe = post_make(UNIC_WR_REG_INDIRECT, &x, 4, RW, p.iova, p.sge, 3);
	assert_int_equal(cqe.status, 0);
	assert_bytes(&x, 8192, three);
	assert_int_equal(local_inv(x.stag).status, 0);
	/* with strides */
	memcpy(strided, p.sge, 48);
	memcpy(strided + 48, strides, 12);
	s = memop(UNIC_WR_REG_INDIRECT, x.stag, 5, RW, p.iova, 60);
	s.imm = unic_to_le32(unic_from_le32(s.imm) | UNIC_WR_IMM_STRIDED);
	assert_int_equal(post(&rb, &qb, s, strided).status, 0);
	x.stag = (x.stag & ~0xffu) | 5;
	assert_bytes(&x, 8192, three);
	assert_int_equal(local_inv(x.stag).status, 0);
	/* in memory, across a page */
	memcpy(mb[2].mem + PAGE - 20, p.sge, 48);
	s = memop(UNIC_WR_REG_INDIRECT, x.stag, 6, RW, p.iova, 0);
	s.num_sge = 1;
	s.sge[0] = piece(&mb[2], PAGE - 20, 48);
	assert_int_equal(post(&rb, &qb, s, NULL).status, 0);
	x.stag = (x.stag & ~0xffu) | 6;
	assert_bytes(&x, 8192, three);
	assert_int_equal(local_inv(x.stag).status, 0);
	/* half an element; an element that is wrong, and which */
	s.rkey = unic_to_le32(x.stag);
	s.sge[0].len = unic_to_le32(40);
	cqe = post(&rb, &qb, s, NULL);
	assert_int_equal(cqe.detail, UNIC_WD_SGE);
	again();
	p.sge[1].lkey = unic_to_le32(0);
	cqe = post_make(UNIC_WR_REG_INDIRECT, &x, 4, RW, p.iova, p.sge, 3);
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_STAG);
	assert_int_equal(unic_from_le32(cqe.byte_len), 1);
	again();
	p.sge[1] = p.sge[0];
	p.sge[2].lkey = unic_to_le32(0);
	memcpy(mb[2].mem, p.sge, 48);
	s.sge[0] = piece(&mb[2], 0, 48);
	cqe = post(&rb, &qb, s, NULL);
	assert_int_equal(cqe.detail, UNIC_WD_STAG);
	assert_int_equal(unic_from_le32(cqe.byte_len), 2);
	again();
	s.sge[0] = piece(&mb[2], 0, 3 * PAGE + 1);
	cqe = post(&rb, &qb, s, NULL);
	assert_int_equal(cqe.detail, UNIC_WD_LENGTH);
	again();
	s.sge[0] = piece(&mb[2], 3 * PAGE - 16, 32);
	cqe = post(&rb, &qb, s, NULL);
	assert_int_equal(cqe.detail, UNIC_WD_BOUNDS);
}

/* ------------------------------------------- work requests, field by field */

static void refused(struct unic_sq_slot s, const void *list, uint8_t detail)
{
	struct unic_cqe cqe = post(&rb, &qb, s, list);

	assert_int_equal(cqe.status, s.opcode == UNIC_WR_BIND_MW
					     ? UNIC_WC_MW_BIND_ERR
					     : UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, detail);
	again();
}

/* Whatever is not its rkey is not for LOCAL_INV. */
static void local_inv_has_no_other_field(void **state)
{
	struct unic_sq_slot s, good;
	struct rig_mr w;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	assert_int_equal(make_one(&w, &mb[1], 0, PAGE, UNIC_MR_REMOTE_READ, 1),
			 0);
	good = memop(UNIC_WR_LOCAL_INV, w.stag, 0, 0, 0, 0);
	s = good;
	s.num_sge = 1;
	refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.inline_len = 16;
	refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.imm = unic_to_le32(1);
	refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.remote = unic_to_le64(1);
	refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.ctrl_len = unic_to_le32(1);
	refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.flags = UNIC_WR_INLINE;
	refused(s, NULL, UNIC_WD_SGE);
	s = good;
	s.flags = UNIC_WR_SOLICITED;
	refused(s, NULL, UNIC_WD_SGE);
	assert_int_equal(post(&rb, &qb, good, NULL).status, 0);
}

static void lists_that_are_none(void **state)
{
	struct unic_sq_slot s, good;
	struct unic_sge e = piece(&mb[1], 0, PAGE);
	struct rig_mr w, x;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	alloc_ok(UNIC_FORM_INDIRECT, 6, &x);
	good = memop(UNIC_WR_BIND_MW, w.stag, 1, UNIC_MR_REMOTE_READ,
		     mb[1].iova, 16);
	good.flags |= UNIC_WR_INLINE;
	s = good;
	s.num_sge = 1;
	refused(s, &e, UNIC_WD_SGE);
	s = good;
	s.inline_len = 15;
	refused(s, &e, UNIC_WD_SGE);
	s = good;
	s.imm = unic_to_le32(1u << 17);
	refused(s, &e, UNIC_WD_SGE);
	s = memop(UNIC_WR_BIND_MW, w.stag, 1, 0, mb[1].iova, 0);
	s.num_sge = 1; /* a window's list is not in memory */
	s.sge[0] = piece(&mb[2], 0, 16);
	refused(s, NULL, UNIC_WD_SGE);
	s = memop(UNIC_WR_REG_INDIRECT, x.stag, 1, RW, 0, 0);
	refused(s, NULL, UNIC_WD_SGE); /* nowhere at all */
	s.num_sge = 1;
	refused(s, NULL, UNIC_WD_SGE); /* no bytes */
	s.sge[0] = piece(&mb[2], 0, 16);
	s.sge[0].lkey = unic_to_le32(mb[2].stag ^ 0x100);
	refused(s, NULL, UNIC_WD_STAG);
	s = memop(UNIC_WR_REG_INDIRECT, x.stag, 1, RW, 0, 0);
	s.num_sge = 1;
	s.sge[0] = piece(&mb[2], 0, 16);
	memcpy(mb[2].mem, &e, 16); /* it would be one, but for ... */
	s.inline_len = 1;
	refused(s, NULL, UNIC_WD_SGE);
	s.inline_len = 0;
	s.num_sge = 2;
	refused(s, NULL, UNIC_WD_SGE);
	assert_int_equal(rb.nic.derived.form[w.mr].used, 0);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 0);
	assert_int_equal(post(&rb, &qb, good, &e).status, 0);
}

/* Two queue pairs, one reader, and DMA that ends late. */
static void lists_are_read_in_turn(void **state)
{
	struct unic_sge e = piece(&mb[1], 5, 100);
	struct rig_qp *q[2] = { &qb, NULL };
	struct rig_qp far, near;
	struct unic_sq_slot s;
	struct unic_cqe cqe;
	struct rig_mr x[2];
	uint32_t i, k;

	(void)state;
	rig_qp(&ra, 0, pa, 9, &far);
	rig_qp(&rb, 0, pb, 9, &near);
	rig_connect(&ra, &far, &rb, &near);
	q[1] = &near;
	memcpy(mb[2].mem, &e, sizeof(e));
	rb.port.late_dma = true;
	for (i = 0; i < 2; i++) {
		alloc_ok(UNIC_FORM_INDIRECT, 1, &x[i]);
		s = memop(UNIC_WR_REG_INDIRECT, x[i].stag, 1, RW, 0, 0);
		s.num_sge = 1;
		s.flags = UNIC_WR_SIGNALED;
		s.sge[0] = piece(&mb[2], 0, 16);
		q[i]->sq[q[i]->sq_tail % RIG_SLOTS] = s;
		rig_ring(&rb, 0, UNIC_DB_SQ, q[i]->row, ++q[i]->sq_tail);
	}
	for (k = 0; k < 50; k++) {
		rig_poll(&rb);
		fake_dma_run(&rb.port, 1);
		rb.port.now_ns += 1000;
	}
	for (i = 0; i < 2; i++) {
		assert_true(rig_cqe(&rb, q[i], &cqe));
		assert_int_equal(cqe.status, 0);
		assert_int_equal(rb.nic.derived.form[x[i].mr].used, 1);
	}
	rb.port.late_dma = false;
	assert_int_equal(rb.nic.list_reader.qpn, 0);
	assert_int_equal(rb.nic.order.waits, 0);
}

/* @x, of a list in mb[2] that @q posts. */
static void post_a_list(struct rig_qp *q, struct rig_mr *x)
{
	struct unic_sq_slot s;

	alloc_ok(UNIC_FORM_INDIRECT, 1, x);
	s = memop(UNIC_WR_REG_INDIRECT, x->stag, 1, RW, 0, 0);
	s.num_sge = 1;
	s.flags = UNIC_WR_SIGNALED;
	s.sge[0] = piece(&mb[2], 0, 16);
	q->sq[q->sq_tail % RIG_SLOTS] = s;
	rig_ring(&rb, 0, UNIC_DB_SQ, q->row, ++q->sq_tail);
}

/* A queue pair ends with its list on the way: what comes late is not taken for the
 * list of the next one. */
static void late_list_is_nobodys(void **state)
{
	struct unic_cmd_qp_modify err = { .qpn = unic_to_le32(qb.qpn),
					  .state = UNIC_QPS_ERR };
	struct unic_sge e = piece(&mb[1], 5, 100);
	struct rig_qp far, near;
	struct unic_cqe cqe;
	struct rig_mr x, y;
	uint32_t k;

	(void)state;
	rig_qp(&ra, 0, pa, 9, &far);
	rig_qp(&rb, 0, pb, 9, &near);
	rig_connect(&ra, &far, &rb, &near);
	memcpy(mb[2].mem, &e, sizeof(e));
	rb.port.late_dma = true;
	post_a_list(&qb, &x);
	post_a_list(&near, &y);
	rig_poll(&rb);
	while (rb.nic.list_reader.next_qpn != near.qpn) {
		fake_dma_run(&rb.port, 1);
		rig_poll(&rb);
	}
	assert_int_equal(rb.nic.list_reader.sgl.pending, 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_QP_MODIFY, &err, NULL), 0);
	for (k = 0; k < 50; k++)
		rig_poll(&rb);
	assert_int_equal(rb.nic.list_reader.qpn, 0);
	for (k = 0; k < 50; k++) {
		fake_dma_run(&rb.port, 1);
		rig_poll(&rb);
		rb.port.now_ns += 1000;
	}
	rb.port.late_dma = false;
	assert_true(rig_cqe(&rb, &near, &cqe));
	assert_int_equal(cqe.status, 0);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 0);
	assert_int_equal(rb.nic.derived.form[y.mr].used, 1);
	assert_int_equal(rb.nic.list_reader.sgl.pending, 0);
}

/* Indirect region @x is to be made of a list of one element in mb[2], of which the
 * port has read nothing yet; it moves nothing until it may. */
static void begin_a_list(struct rig_mr *x)
{
	struct unic_sge e = piece(&mb[1], 5, 100);
	struct unic_sq_slot s;

	memcpy(mb[2].mem, &e, sizeof(e));
	alloc_ok(UNIC_FORM_INDIRECT, 1, x);
	s = memop(UNIC_WR_REG_INDIRECT, x->stag, 1, RW, 0, 0);
	s.num_sge = 1;
	s.flags = UNIC_WR_SIGNALED;
	s.sge[0] = piece(&mb[2], 0, 16);
	qb.sq[qb.sq_tail % RIG_SLOTS] = s;
	rig_ring(&rb, 0, UNIC_DB_SQ, qb.row, ++qb.sq_tail);
	rb.port.again_call = rb.port.calls + 2; /* behind the slot */
	unic_nic_poll(&rb.nic);
	assert_int_equal(rb.port.calls, rb.port.again_call);
	assert_true(rb.nic.list_reader.started);
	rb.port.no_dma = true;
}

static struct unic_cqe end_of_the_list(void)
{
	rb.port.no_dma = false;
	rb.port.again_call = 0;
	return done(&rb, &qb);
}

/* As many commands of one round: regions of one page for process 1 at the address
 * of @like, all of them page @page of its window, until one has that index. */
static void take_its_index(const struct rig_mr *like, uint32_t pd,
			   uint32_t page)
{
	const struct unic_mr_args args = {
		.pd = (uint16_t)pd,
		.rights = UNIC_MR_LOCAL_WRITE,
		.mr_class = UNIC_CLASS_RDMA,
		.page_shift = 12,
		.flags = UNIC_REG_LIST,
		.iova = like->iova,
		.length = 4096,
		.n_pages = 1,
	};
	const uint64_t bus = UNIC_BUS(1, page * 4096u);
	struct unic_mr_result y;

	do {
		assert_int_equal(unic_mr_reg(&rb.nic.revoke, &args, &bus, &y),
				 0);
	} while (y.mr != like->mr);
}

/* Its region ends while the list is read, and the index is given to another process,
 * which has such a list at the same address. */
static void list_of_another_process(void **state)
{
	struct unic_sge e = piece(&mb[1], 5, 100);
	struct unic_cqe cqe;
	struct rig_mr x;
	uint32_t other;

	(void)state;
	rig_attach(&rb, 1, 1);
	other = rig_pd(&rb, 1);
	begin_a_list(&x);
	memset(mb[2].mem, 0, sizeof(e));
	memcpy(rb.port.window[1] + 100 * 4096, &e, sizeof(e));
	assert_int_equal(unic_mr_dereg(&rb.nic.revoke, mb[2].mr, mb[2].gen), 0);
	take_its_index(&mb[2], other, 100);
	cqe = end_of_the_list();
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_STAG);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 0);
	assert_int_equal(rb.nic.list_reader.qpn, 0);
}

/* It is registered anew, under its STag and with its generation, and not for this
 * queue pair. */
static void list_that_is_not_ours_any_more(void **state)
{
	struct unic_cmd_mr_rereg c = { .mr = unic_to_le32(mb[2].mr),
				       .gen = unic_to_le32(mb[2].gen),
				       .pd = unic_to_le32(rig_pd(&rb, 0)),
				       .what = UNIC_REREG_PD };
	struct unic_cqe cqe;
	struct rig_mr x;

	(void)state;
	begin_a_list(&x);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), 0);
	cqe = end_of_the_list();
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, UNIC_WD_PD);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 0);
}

/* It stays, and so the list is read when the port moves something again. */
static void list_that_had_to_wait(void **state)
{
	struct unic_cqe cqe;
	struct rig_mr x;

	(void)state;
	begin_a_list(&x);
	unic_nic_poll(&rb.nic);
	cqe = end_of_the_list();
	assert_int_equal(cqe.status, 0);
	assert_int_equal(rb.nic.derived.form[x.mr].used, 1);
}

/* --------------------------------------------------------- fast registration */

static const uint8_t *runs(uint32_t off)
{
	off += 1000;
	return off < 2 * PAGE ? mb[0].mem + PAGE + off
			      : mb[2].mem + off - 2 * PAGE;
}

static void posted_fast_registration(void **state)
{
	uint16_t free = rb.nic.tlb.free, reserved = rb.nic.tlb.reserved;
	struct unic_sge list[2] = { piece(&mb[0], PAGE + 1000, 2 * PAGE - 1000),
				    piece(&mb[2], 0, PAGE + 5) };
	struct unic_piece p;
	struct unic_cqe cqe;
	struct rig_mr f;
	uint8_t key;

	(void)state;
	alloc_ok(UNIC_FORM_FAST, 4, &f);
	assert_int_equal(rb.nic.tlb.free, free - 4);
	for (key = 1; key < 4; key++) {
		cqe = post_make(UNIC_WR_REG_MR, &f, key, RW, 0x7000 + 1000,
				list, 2);
		assert_int_equal(cqe.status, 0);
		assert_int_equal(cqe.opcode, UNIC_WC_REG_MR);
		assert_bytes(&f, 3 * PAGE - 995, runs);
		assert_int_equal(access_b(&f, RW, 3 * PAGE - 995, 1, &p),
				 -UNIC_EBOUNDS);
		assert_int_equal(write_to(&f, 0, 9000), UNIC_WC_SUCCESS);
		assert_int_equal(local_inv(f.stag).status, 0);
		assert_int_equal(access_b(&f, 0, 0, 1, &p), -UNIC_ESTAG);
		assert_int_equal(rb.nic.tlb.reserved, reserved + 4);
	}
	assert_int_equal(rig_dereg(&rb, &f), UNIC_ST_OK);
	assert_int_equal(rb.nic.tlb.free, free);
	assert_int_equal(rb.nic.tlb.reserved, reserved);
}

static void each_wrong_fast_registration(void **state)
{
	struct unic_sge good[2] = { piece(&mb[0], PAGE, 2 * PAGE),
				    piece(&mb[2], 0, PAGE) },
			list[2];
	struct unic_cqe cqe;
	struct rig_mr f;

	(void)state;
	alloc_ok(UNIC_FORM_FAST, 3, &f);
#define BAD(at, code, which)                                             \
	do {                                                             \
		cqe = post_make(UNIC_WR_REG_MR, &f, 1, RW, at, list, 2); \
		assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);        \
		assert_int_equal(cqe.detail, UNIC_WD_##code);            \
		assert_int_equal(unic_from_le32(cqe.byte_len), which);   \
		memcpy(list, good, sizeof(list));                        \
		again();                                                 \
	} while (0)
	memcpy(list, good, sizeof(list));
	BAD(0x7001, ALIGN, 0);
	BAD(0x7800, ALIGN, 0);
	list[0].len = unic_to_le32(2 * PAGE - 1);
	BAD(0x7000, ALIGN, 0);
	list[1].iova = unic_to_le64(mb[2].iova + 8);
	BAD(0x7000, ALIGN, 1);
	list[1].lkey = unic_to_le32(mb[2].stag ^ 1);
	BAD(0x7000, STAG, 1);
	list[1].len = unic_to_le32(PAGE + 1);
	BAD(0x7000, LENGTH, 0); /* a page more than it has */
#undef BAD
	cqe = post_make(UNIC_WR_REG_MR, &f, 1, RW, 0x7000, good, 2);
	assert_int_equal(cqe.status, 0);
}

/* Region @mr of three pages, moved to where its last byte is the last there is. */
static void move_to_the_end(struct rig_mr *mr)
{
	uint64_t *list = (uint64_t *)(void *)(rb.port.bar + UNIC_BAR_LIST_OFF) +
			 rb.cmd_tail % UNIC_CMD_ENTRIES * (UNIC_LIST_BYTES / 8);
	struct unic_cmd_mr_rereg c = { .mr = unic_to_le32(mr->mr),
				       .gen = unic_to_le32(mr->gen),
				       .what = UNIC_REREG_RANGE,
				       .length = unic_to_le64(3 * PAGE),
				       .n_pages = unic_to_le32(3) };
	uint32_t i;

	mr->iova = 0 - 3ull * PAGE;
	c.iova = unic_to_le64(mr->iova);
	for (i = 0; i < 3; i++)
		list[i] = UNIC_BUS(0, (uint64_t)(mr->mem - rb.port.window[0]) +
					      i * PAGE);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), 0);
}

static const uint8_t *last_then_first(uint32_t off)
{
	return off < 2 * PAGE ? mb[1].mem + PAGE + off
			      : mb[0].mem + off - 2 * PAGE;
}

/* The end of a run is 0 there, which is before its beginning. */
static void runs_that_end_at_2_to_the_64(void **state)
{
	struct unic_sge list[2];
	struct unic_piece p;
	struct rig_mr f, sub, list_of;
	struct plan strided = { .n = 1, .rights = RW };

	(void)state;
	move_to_the_end(&mb[1]);
	list[0] = piece(&mb[1], PAGE, 2 * PAGE);
	list[1] = piece(&mb[0], 0, 100);
	alloc_ok(UNIC_FORM_FAST, 3, &f);
	assert_int_equal(
		post_make(UNIC_WR_REG_MR, &f, 1, RW, 0x7000, list, 2).status,
		0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].filled, 3);
	assert_bytes(&f, 2 * PAGE + 100, last_then_first);
	assert_int_equal(access_b(&f, RW, 2 * PAGE + 100, 1, &p),
			 -UNIC_EBOUNDS);
	assert_int_equal(write_to(&f, 0, 2 * PAGE + 100), UNIC_WC_SUCCESS);
	assert_memory_equal(mb[1].mem + PAGE, ma.mem, 2 * PAGE);
	/* the form may end there as well */
	assert_int_equal(local_inv(f.stag).status, 0);
	assert_int_equal(post_make(UNIC_WR_REG_MR, &f, 2, RW, 0 - 2ull * PAGE,
				   list, 1)
				 .status,
			 0);
	assert_bytes(&f, 2 * PAGE, last_then_first);
	/* ... and nothing goes on behind it */
	list[0] = piece(&mb[1], PAGE, 2 * PAGE + 1);
	assert_int_equal(local_inv(f.stag).status, 0);
	assert_int_equal(
		post_make(UNIC_WR_REG_MR, &f, 3, RW, 0x7000, list, 1).detail,
		UNIC_WD_BOUNDS);
	again();
	/* the other forms of the same bytes */
	alloc_ok(UNIC_FORM_SUB, 0, &sub);
	assert_int_equal(make_one(&sub, &mb[1], PAGE, 2 * PAGE, RW, 0), 0);
	assert_int_equal(access_b(&sub, RW, 2 * PAGE - 1, 1, &p), 0);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus,
			 mb[1].mem + 3 * PAGE - 1);
	assert_int_equal(access_b(&sub, RW, 2 * PAGE - 1, 2, &p),
			 -UNIC_EBOUNDS);
	alloc_ok(UNIC_FORM_INDIRECT, 1, &list_of);
	strided.sge[0] = piece(&mb[1], PAGE, 2 * PAGE);
	assert_int_equal(make(&list_of, &strided), 0);
	assert_bytes(&list_of, 2 * PAGE, last_then_first);
	strided.sge[0] = piece(&mb[1], 2 * PAGE, PAGE + 1);
	assert_int_equal(inval(&list_of), 0);
	assert_int_equal(make(&list_of, &strided), UNIC_ST_BOUNDS);
}

/* -------------------------------------------------------------------- ends */

/* Ask for @mr back; its notice. */
static struct unic_evt_mr notice_of(const struct rig_mr *mr)
{
	struct unic_cmd_mr c = { .mr = unic_to_le32(mr->mr),
				 .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr n;

	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &c, NULL), 0);
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_NOTICE, &n);
	assert_int_equal(rig_ack(&rb, &n), 0);
	return n;
}

static void dependents_end_with_their_region(void **state)
{
	struct unic_sge e = piece(&mb[1], 0, PAGE);
	struct unic_evt_mr n, evt;
	struct unic_piece p;
	struct rig_mr w, s, x, y;
	uint32_t i, seen = 0;

	(void)state;
	alloc_ok(UNIC_FORM_WINDOW2, 0, &w);
	post_make(UNIC_WR_BIND_MW, &w, 1, UNIC_MR_REMOTE_WRITE, mb[1].iova, &e,
		  1);
	alloc_ok(UNIC_FORM_SUB, 0, &s);
	assert_int_equal(make_one(&s, &mb[1], 0, PAGE, RW, 0), 0);
	make_three(&x);
	alloc_ok(UNIC_FORM_INDIRECT, 1, &y);
	assert_int_equal(make_one(&y, &x, 0, 4000, RW, 0), 0);
	assert_int_equal(access_b(&w, 0, 0, 1, &p), 0); /* has a window now */
	n = notice_of(&mb[1]);
	assert_int_equal(unic_from_le32(n.dependents), 4);
	rig_run(&rb, 19 * MS);
	assert_int_equal(access_b(&y, RW, 100, 1, &p), 0); /* grace */
	rig_run(&rb, 2 * MS);
	while (rig_event(&rb, &evt)) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_EVICTED);
		seen++;
	}
	assert_int_equal(unic_from_le32(evt.mr), mb[1].mr); /* it comes last */
	assert_int_equal(seen, 5);
	assert_int_equal(access_b(&w, 0, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(access_b(&s, RW, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(access_b(&x, RW, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(access_b(&y, RW, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(rb.nic.derived.used, 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(rb.nic.mrs.mr[mb[i].mr].deps, 0);
	assert_int_equal(access_b(&mb[0], RW, 0, 1, &p), 0);
	assert_int_equal(write_to(&x, 0, 4), UNIC_WC_REM_EVICTED);
	assert_int_equal(rig_count(&rb, forms_evicted), 4);
	assert_int_equal(rig_dereg(&rb, &x), UNIC_ST_OK);
}

static void held_dependent_keeps_its_region(void **state)
{
	struct unic_evt_mr evt;
	struct unic_piece p;
	struct rig_mr x;

	(void)state;
	make_three(&x);
	unic_mr_dma_get(&rb.nic.memory, (uint16_t)x.mr);
	assert_int_equal(rig_dereg(&rb, &mb[1]), UNIC_ST_PENDING);
	assert_int_equal(access_b(&x, RW, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(access_b(&mb[0], RW, 0, 1, &p), 0);
	/* what is on its way is still translated (INV-3) */
	assert_int_equal(unic_xlate(&rb.nic.memory, (uint16_t)x.mr,
				    x.iova + 200, 9, &p),
			 0);
	assert_ptr_equal(rb.port.window[0] + (uint32_t)p.bus, three(200));
	rig_run(&rb, 40 * MS);
	assert_false(rig_event(&rb, &evt));
	unic_mr_dma_put(&rb.nic.memory, (uint16_t)x.mr);
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), x.mr);
	assert_int_equal(evt.hdr.reason, UNIC_WHY_DEREG);
	rig_expect(&rb, UNIC_EVT_EVICTED, &evt);
	assert_int_equal(unic_from_le32(evt.mr), mb[1].mr);
}

static void first_frame_only(struct unic_port *port, const uint8_t *frame,
			     uint32_t len, uint32_t flags)
{
	fake_deliver(port->peer, frame, len, flags);
	port->peer = NULL;
	port->on_frame = NULL;
}

static void write_through_an_evicted_element_is_cut(void **state)
{
	struct unic_evt_mr evt;
	struct rig_mr x;
	uint32_t seen = 0;

	(void)state;
	make_three(&x);
	/* one packet of eight arrives, then the wire is cut */
	ra.port.on_frame = first_frame_only;
	rig_send(&ra, &qa, UNIC_WR_WRITE, 5, &ma, 0, 8192, x.iova, x.stag);
	rig_poll(&ra);
	rig_poll(&rb);
	assert_int_equal(rb.nic.mrs.mr[x.mr].holds, 1);
	notice_of(&mb[1]);
	rig_run(&rb, 22 * MS);
	while (rig_event(&rb, &evt))
		seen += evt.hdr.type == UNIC_EVT_EVICTED;
	assert_int_equal(seen, 2);
	assert_int_equal(rb.nic.mrs.mr[mb[0].mr].deps, 0);
	assert_int_equal(rb.nic.qps.qp[qb.qpn & 0xff].state, UNIC_QPS_ERR);
}

static void fast_registration_is_asked_back(void **state)
{
	struct unic_evt_mr n;
	struct rig_mr f;

	(void)state;
	alloc_ok(UNIC_FORM_FAST, 4, &f);
	n = notice_of(&f);
	assert_int_equal(unic_from_le32(n.entries), 4);
	rig_run(&rb, 22 * MS);
	rig_expect(&rb, UNIC_EVT_EVICTED, &n);
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(rb.nic.mrs.mr[f.mr].state, UNIC_MR_EVICTED);
}

static void forms_cannot_be_asked_back(void **state)
{
	struct unic_cmd_mr c;
	struct rig_mr s;

	(void)state;
	alloc_ok(UNIC_FORM_SUB, 0, &s);
	c = (struct unic_cmd_mr){ .mr = unic_to_le32(s.mr),
				  .gen = unic_to_le32(s.gen) };
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_EVICT, &c, NULL),
			 UNIC_ST_INVALID);
}

static void all_of_a_process_goes(void **state)
{
	struct unic_cmd_proc_detach c = { .proc = unic_to_le32(0) };
	struct unic_evt_obj evt;
	struct rig_mr x, w;
	uint8_t status;

	(void)state;
	make_three(&x);
	alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	assert_int_equal(make_one(&w, &x, 50, 100, UNIC_MR_REMOTE_READ, 0),
			 UNIC_ST_RIGHTS);
	status = rig_cmd(&rb, UNIC_CMD_PROC_DETACH, &c, NULL);
	if (status == UNIC_ST_PENDING) {
		rig_poll(&rb);
		rig_expect(&rb, UNIC_EVT_PROC_GONE, &evt);
	}
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(rb.nic.mrs.free, UNIC_MRS);
}

/* Each byte of two elements that overlap is where it would be without the other. */
static const uint8_t *overlapped(uint32_t off)
{
	return mb[0].mem + (off < PAGE ? 10 + off : 5000 - PAGE + off);
}

static void elements_that_overlap(void **state)
{
	struct plan p = { .n = 2, .rights = RW, .iova = 0x10000 };
	struct rig_mr x;

	(void)state;
	alloc_ok(UNIC_FORM_INDIRECT, 2, &x);
	p.sge[0] = piece(&mb[0], 10, PAGE); /* bytes 10 to 4105 */
	p.sge[1] = piece(&mb[0], 5000, PAGE);
	assert_int_equal(make(&x, &p), 0);
	assert_bytes(&x, 2 * PAGE, overlapped);
	assert_int_equal(rig_dereg(&rb, &x), 0);
	alloc_ok(UNIC_FORM_INDIRECT, 2, &x);
	p.sge[1] = piece(&mb[0], 11, PAGE);
	assert_int_equal(make(&x, &p), 0);
	assert_int_equal(write_to(&x, 0, 2 * PAGE), UNIC_WC_SUCCESS);
	/* the second comes last; not a byte beside the two */
	assert_int_equal(mb[0].mem[10], ma.mem[0]);
	assert_memory_equal(mb[0].mem + 11, ma.mem + PAGE, PAGE);
	assert_int_equal(mb[0].mem[9], 0);
	assert_int_equal(mb[0].mem[11 + PAGE], 0);
	/* the same range twice is two dependents of one region, once counted */
	assert_int_equal(rb.nic.mrs.mr[mb[0].mr].deps, 2);
	assert_int_equal(
		unic_dependents_count(&rb.nic.memory, (uint16_t)mb[0].mr), 1);
}

/* A posted request that names mb[1] is refused. That a region was taken back is
 * nobody's mistake, and the queue pair goes on; else it has ended. */
static void expect_refused(const struct unic_cqe *cqe, uint8_t status,
			   uint8_t wc)
{
	if (status == UNIC_ST_EVICTED) {
		assert_int_equal(cqe->status, UNIC_WC_EVICTED);
		assert_int_equal(write_to(&mb[2], 0, 8), UNIC_WC_SUCCESS);
		return;
	}
	assert_int_equal(cqe->status, wc);
	assert_int_equal(cqe->detail, UNIC_WD_STAG);
	again();
}

/* What can be made of mb[1] now: @status of the commands, and the same refusal
 * of the posted ones. */
static void nothing_is_made(uint8_t status)
{
	static const uint8_t kinds[] = { UNIC_FORM_SUB, UNIC_FORM_WINDOW1,
					 UNIC_FORM_INDIRECT };
	struct unic_sge e = piece(&mb[1], 0, PAGE);
	struct unic_cqe cqe;
	struct rig_mr f;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		alloc_ok(kinds[i], kinds[i] == UNIC_FORM_INDIRECT, &f);
		assert_int_equal(make_one(&f, &mb[1], 0, PAGE,
					  UNIC_MR_REMOTE_READ, 1),
				 status);
		/* no harm done: it is as good as new */
		assert_int_equal(make_one(&f, &mb[2], 0, PAGE,
					  UNIC_MR_REMOTE_READ, 1),
				 0);
		assert_int_equal(rig_dereg(&rb, &f), 0);
	}
	alloc_ok(UNIC_FORM_WINDOW2, 0, &f);
	cqe = post_make(UNIC_WR_BIND_MW, &f, 1, UNIC_MR_REMOTE_READ, mb[1].iova,
			&e, 1);
	expect_refused(&cqe, status, UNIC_WC_MW_BIND_ERR);
	assert_int_equal(rig_dereg(&rb, &f), 0);
	alloc_ok(UNIC_FORM_FAST, 1, &f);
	cqe = post_make(UNIC_WR_REG_MR, &f, 1, RW, mb[1].iova, &e, 1);
	expect_refused(&cqe, status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(rig_dereg(&rb, &f), 0);
	assert_int_equal(rb.nic.derived.used, 0);
	assert_int_equal(rb.nic.mrs.mr[mb[1].mr].deps, 0);
}

/* Windows and the like over a region that is being taken back, was taken back,
 * was given up, and whose place somebody else has. */
static void forms_over_regions_that_go(void **state)
{
	struct unic_evt_mr n;
	struct unic_piece p;
	struct rig_mr w, next;
	uint32_t i;
	uint8_t rec[64];

	(void)state;
	/* asked back: until its deadline it is as good as any */
	n = notice_of(&mb[1]);
	alloc_ok(UNIC_FORM_WINDOW1, 0, &w);
	assert_int_equal(make_one(&w, &mb[1], 0, PAGE, UNIC_MR_REMOTE_READ, 1),
			 0);
	unic_mr_hold(&rb.nic.memory, (uint16_t)mb[1].mr);
	rig_run(&rb, 20 * MS);
	assert_int_equal(access_b(&w, 0, 0, 1, &p), -UNIC_EEVICTED);
	assert_int_equal(rb.nic.mrs.mr[mb[1].mr].state, UNIC_MR_DRAINING);
	while (rig_event(&rb, rec))
		assert_int_equal(rec[0], UNIC_EVT_EVICTED);
	nothing_is_made(UNIC_ST_EVICTED);
	unic_mr_unhold(&rb.nic.memory, (uint16_t)mb[1].mr);
	rig_poll(&rb);
	rig_expect(&rb, UNIC_EVT_EVICTED, &n);
	nothing_is_made(UNIC_ST_EVICTED); /* a tombstone */
	assert_int_equal(rig_dereg(&rb, &mb[1]), 0);
	nothing_is_made(UNIC_ST_NO_MR);
	for (i = 0; i < 10 * UNIC_MRS; i++) {
		assert_int_equal(rig_reg(&rb, 0, pb, 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &next),
				 0);
		if (next.mr == mb[1].mr)
			break;
		assert_int_equal(rig_dereg(&rb, &next), 0);
	}
	assert_int_equal(next.mr, mb[1].mr);
	nothing_is_made(UNIC_ST_NO_MR);
}

/* ------------------------------------------------------- re-register, batch */

static void reregister(void **state)
{
	uint64_t *list;
	struct unic_cmd_mr_rereg good = { .mr = unic_to_le32(mb[0].mr),
					  .gen = unic_to_le32(mb[0].gen) },
				 c;
	uint16_t free = rb.nic.tlb.free;
	uint32_t pd2 = rig_pd(&rb, 0);
	struct unic_piece p;
	struct rig_mr s;

	(void)state;
	list = (uint64_t *)(void *)(rb.port.bar + UNIC_BAR_LIST_OFF);
#define TRY(status)                                                 \
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REREG, &c, NULL), \
			 UNIC_ST_##status)
#define LIST(i) \
	list[rb.cmd_tail % UNIC_CMD_ENTRIES * (UNIC_LIST_BYTES / 8) + (i)]
	c = good;
	TRY(INVALID); /* nothing to do */
	c.what = UNIC_REREG_ALL + 1;
	TRY(INVALID);
	c = good;
	c.what = UNIC_REREG_RIGHTS;
	c.pd = unic_to_le32(pd2);
	TRY(INVALID); /* not meant */
	c = good;
	c.what = UNIC_REREG_RIGHTS;
	c.rights = UNIC_MR_REMOTE_WRITE;
	TRY(INVALID);
	c = good;
	c.what = UNIC_REREG_PD;
	c.pd = unic_to_le32(UNIC_PDS);
	TRY(NO_PD);
	c.gen = unic_to_le32(mb[0].gen + 1);
	TRY(NO_MR);
	c.gen = good.gen;
	c.pd = unic_to_le32(pd2);
	/* not while it is used, or made others of */
	unic_mr_hold(&rb.nic.memory, (uint16_t)mb[0].mr);
	TRY(BUSY);
	unic_mr_unhold(&rb.nic.memory, (uint16_t)mb[0].mr);
	alloc_ok(UNIC_FORM_SUB, 0, &s);
	assert_int_equal(make_one(&s, &mb[0], 0, 1, RW, 0), 0);
	TRY(BUSY);
	assert_int_equal(rig_dereg(&rb, &s), 0);
	assert_int_equal(access_b(&mb[0], RW, 0, 9, &p), 0); /* as it was */
	TRY(OK);
	assert_int_equal(access_b(&mb[0], RW, 0, 9, &p), -UNIC_EPD);
	c.pd = unic_to_le32(pb);
	TRY(OK);
	/* another range, longer */
	c = good;
	c.what = UNIC_REREG_RANGE;
	c.iova = unic_to_le64(0x40000);
	c.length = unic_to_le64(4 * PAGE);
	c.n_pages = unic_to_le32(4);
	LIST(0) = LIST(1) = LIST(2) = UNIC_BUS(0, 64 * PAGE);
	LIST(3) = UNIC_BUS(0, 65 * PAGE) + 8;
	TRY(BUS);
	c.n_pages = unic_to_le32(3);
	TRY(INVALID);
	assert_int_equal(access_b(&mb[0], RW, 0, 9, &p), 0);
	c.n_pages = unic_to_le32(4);
	LIST(0) = LIST(1) = LIST(2) = UNIC_BUS(0, 64 * PAGE);
	LIST(3) = UNIC_BUS(0, 65 * PAGE);
	TRY(OK);
	assert_int_equal(rb.nic.tlb.free, free - 1);
	assert_int_equal(access_b(&mb[0], RW, 0, 9, &p), -UNIC_EBOUNDS);
	mb[0].iova = 0x40000;
	assert_int_equal(access_b(&mb[0], RW, 3 * PAGE + 1, 9, &p), 0);
	assert_int_equal((uint32_t)p.bus, 65 * PAGE + 1);
	/* one that cannot fit leaves it as it was */
	c.length = unic_to_le64((uint64_t)UNIC_TLB_ENTRIES * PAGE);
	c.n_pages = unic_to_le32(UNIC_TLB_ENTRIES);
	memset(&LIST(0), 0, UNIC_TLB_ENTRIES * 8);
	TRY(TLB_FULL);
	assert_int_equal(access_b(&mb[0], RW, 3 * PAGE + 1, 9, &p), 0);
	assert_int_equal(rig_dereg(&rb, &mb[0]), 0);
	assert_int_equal(rb.nic.tlb.free, free + 3);
#undef TRY
#undef LIST
}

/* A list of more than there can be, and of neither kind. */
static void wrong_lists_of_a_command(void **state)
{
	struct unic_cmd_mr_make c, good = { .n = unic_to_le32(1),
					    .repeat = unic_to_le32(1),
					    .rights = RW };
	struct rig_mr x;

	(void)state;
	alloc_ok(UNIC_FORM_INDIRECT, 2, &x);
	good.mr = unic_to_le32(x.mr);
	good.gen = unic_to_le32(x.gen);
	c = good;
	c.strided = 2;
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_MAKE, &c, NULL),
			 UNIC_ST_INVALID);
	c = good;
	c.n = unic_to_le32(UNIC_FORM_ELEMENTS + 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_MAKE, &c, NULL),
			 UNIC_ST_INVALID);
}

static void several_in_one_command(void **state)
{
	uint8_t *list = rb.port.bar + UNIC_BAR_LIST_OFF +
			rb.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES;
	struct unic_cmd_batch c = { .count = unic_to_le32(4) };
	struct unic_cmd_mr_reg reg = {
		.hdr = { .opcode = UNIC_CMD_MR_REG },
		.pd = unic_to_le32(pb),
		.rights = RW,
		.page_shift = 12,
		.length = unic_to_le64(PAGE),
		.n_pages = unic_to_le32(1),
	};
	struct unic_cpl_mr_reg one;
	struct unic_cpl_batch cpl;

	(void)state;
	memcpy(list, &reg, 64);
	reg.flags = UNIC_REG_WAIT;
	memcpy(list + 64, &reg, 64);
	reg.flags = 0;
	reg.length = unic_to_le64((UNIC_TLB_ENTRIES + 1) * (uint64_t)PAGE);
	reg.n_pages = unic_to_le32(UNIC_TLB_ENTRIES + 1);
	memcpy(list + 128, &reg, 64);
	reg.hdr.opcode = UNIC_CMD_FAULT;
	memcpy(list + 192, &reg, 64);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_BATCH, &c, &cpl), 0);
	assert_int_equal(unic_from_le32(cpl.done), 1);
	memcpy(&one, list, 64);
	assert_int_equal(one.hdr.status, UNIC_ST_OK);
	assert_int_equal(rb.nic.mrs.mr[unic_from_le32(one.mr)].state,
			 UNIC_MR_LOADING);
	memcpy(&one, list + 64, 64);
	assert_int_equal(one.hdr.status, UNIC_ST_INVALID);
	memcpy(&one, list + 128, 64);
	assert_int_equal(one.hdr.status, UNIC_ST_TOO_LARGE);
	assert_int_equal(((struct unic_cpl_usage *)(void *)&one)->table,
			 UNIC_TABLE_TLB);
	memcpy(&one, list + 192, 64);
	assert_int_equal(one.hdr.status, UNIC_ST_BAD_OPCODE);
	c.count = unic_to_le32(UNIC_BATCH_MAX + 1);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_BATCH, &c, &cpl),
			 UNIC_ST_INVALID);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sub_region_is_a_range),
		TEST(each_wrong_sub_region),
		TEST(allocations_that_cannot_be),
		TEST(posted_bind_and_unbind),
		TEST(each_wrong_bind),
		TEST(forms_of_another_domain),
		TEST(type_1_is_bound_by_command),
		TEST(peer_invalidates),
		TEST(peer_invalidates_what_is_used),
		TEST(peer_may_not_invalidate),
		TEST(invalidation_ends_tokens),
		TEST(local_inv_waits_and_cuts),
		TEST(local_inv_cuts_once),
		TEST(made_anew_is_not_cut),
		TEST(deadline_of_many_forms_is_a_round),
		TEST(indirect_over_three_regions),
		TEST(addresses_that_cross_4_gib),
		TEST(messages_that_cross_4_gib),
		TEST(lists_with_every_element_wrong),
		TEST(windows_are_no_elements),
		TEST(protection_information_interleaved),
		TEST(nested_to_a_depth),
		TEST(posted_lists),
		TEST(local_inv_has_no_other_field),
		TEST(lists_that_are_none),
		TEST(lists_are_read_in_turn),
		TEST(late_list_is_nobodys),
		TEST(list_of_another_process),
		TEST(list_that_is_not_ours_any_more),
		TEST(list_that_had_to_wait),
		TEST(posted_fast_registration),
		TEST(each_wrong_fast_registration),
		TEST(runs_that_end_at_2_to_the_64),
		TEST(dependents_end_with_their_region),
		TEST(held_dependent_keeps_its_region),
		TEST(write_through_an_evicted_element_is_cut),
		TEST(fast_registration_is_asked_back),
		TEST(forms_cannot_be_asked_back),
		TEST(all_of_a_process_goes),
		TEST(elements_that_overlap),
		TEST(forms_over_regions_that_go),
		TEST(reregister),
		TEST(wrong_lists_of_a_command),
		TEST(several_in_one_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

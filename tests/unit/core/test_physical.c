/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_physical.c - physical regions, whose memory is named by its bus address:
 * which processes may register them, that they take no TLB entry, and that no
 * other process reaches them.
 */
#include "rig_kernel.h"
#include "unit.h"

#define OTHER 1u /* a process; 0 is the driver's slot */

static struct rig ra, rb;
/* physical regions, in pages that rig_reg() does not give out */
static struct rig_mr pa, pb;
static struct rig_qp qa, qb;

/* ----------------------------------------------------------------- setup */

static int up(void **state)
{
	uint32_t a, b, i;

	(void)state;
	rig_up(&ra, 1);
	rig_up(&rb, 2);
	fake_wire(&ra.port, &rb.port);
	rig_attach(&ra, 0, 1);
	rig_attach(&rb, 0, 1);
	rig_attach(&rb, OTHER, 1);
	a = rig_physical_pd(&ra);
	b = rig_physical_pd(&rb);
	rig_reg_physical(&ra, a, &pa);
	rig_reg_physical(&rb, b, &pb);
	rig_physical_qp(&ra, a, &pa, &qa);
	rig_physical_qp(&rb, b, &pb, &qb);
	rig_connect(&ra, &qa, &rb, &qb);
	for (i = AT(4); i < RIG_KERNEL_BYTES; i++)
		pa.mem[i] = (uint8_t)(i * 7 + i / 256);
	return 0;
}

static uint8_t sent(void)
{
	struct unic_cqe cqe;

	rig_run2(&ra, &rb, 1000000);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	return cqe.status;
}

/* ------------------------------------------------------------- no entries */

static void messages_take_no_entry(void **state)
{
	struct unic_cqe cqe;
	uint32_t i, len = 3000;

	(void)state;
	for (i = 0; i < 40; i++) {
		rig_recv(&rb, &qb, i, &pb, AT(8) - 100, len);
		rig_send(&ra, &qa, UNIC_WR_SEND, i, &pa, AT(4) + i, len, 0, 0);
		assert_int_equal(sent(), UNIC_WC_SUCCESS);
		assert_true(rig_cqe(&rb, &qb, &cqe));
		assert_int_equal(cqe.status, UNIC_WC_SUCCESS);
		assert_int_equal(unic_from_le32(cqe.byte_len), len);
		assert_memory_equal(pb.mem + AT(8) - 100, pa.mem + AT(4) + i,
				    len);
	}
	assert_int_equal(ra.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(rb.nic.share.owner[0].held, 0);
}

/* Each access is checked against the whole range, whatever range the access
 * before it had. */
static void nothing_outside_the_range(void **state)
{
	(void)state;
	rig_recv(&rb, &qb, 1, &pb, AT(8), 8192);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &pa, RIG_KERNEL_BYTES - 10, 10, 0,
		 0);
	assert_int_equal(sent(), UNIC_WC_SUCCESS);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &pa, RIG_KERNEL_BYTES - 10, 11, 0,
		 0);
	assert_int_equal(sent(), UNIC_WC_LOC_PROT_ERR);
}

/* The STag of a physical region gives a process neither a queue nor a token. */
static void not_for_processes(void **state)
{
	uint32_t pd = rig_pd(&rb, OTHER);
	struct unic_cmd_cq_create cq = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(pb.stag),
		.iova = unic_to_le64(pb.iova + AT(3)),
		.entries = unic_to_le32(RIG_SLOTS),
	};
	struct unic_cmd_token_alloc token = {
		.pd = unic_to_le32(pd),
		.stag = unic_to_le32(pb.stag),
		.iova = unic_to_le64(pb.iova),
		.length = unic_to_le32(100),
	};

	(void)state;
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_CQ_CREATE, &cq, NULL),
			 UNIC_ST_NO_MR);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &token, NULL),
			 UNIC_ST_NO_MR);
	assert_int_equal(rig_count(&rb, access_stag), 2);
}

static void peers_get_nothing(void **state)
{
	uint8_t before[100];

	(void)state;
	memcpy(before, pb.mem + AT(8), 100);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &pa, AT(4), 100, pb.iova + AT(8),
		 pb.stag);
	assert_int_equal(sent(), UNIC_WC_REM_ACCESS_ERR);
	assert_memory_equal(pb.mem + AT(8), before, 100);
	assert_int_equal(rig_count(&rb, access_rights), 1);
}

/* ----------------------------------------------------------- registration */

static uint8_t reg_status(struct rig *r, struct unic_cmd_mr_reg cmd)
{
	return rig_cmd(r, UNIC_CMD_MR_REG, &cmd, NULL);
}

static void only_in_a_physical_domain(void **state)
{
	struct unic_cmd_pd bad = { .flags = unic_to_le32(2) };
	uint32_t pd = rig_pd(&rb, 0);

	(void)state;
	assert_int_equal(reg_status(&rb, rig_physical_cmd(pd)), UNIC_ST_NO_PD);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_PD_ALLOC, &bad, NULL),
			 UNIC_ST_INVALID);
	/* the number of a freed physical domain is refused */
	assert_int_equal(reg_status(&rb, rig_physical_cmd(qb.pd)), 0);
	bad.pd = unic_to_le32(rig_physical_pd(&rb));
	bad.flags = unic_to_le32(0);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_PD_FREE, &bad, NULL), 0);
	assert_int_equal(reg_status(&rb,
				    rig_physical_cmd(unic_from_le32(bad.pd))),
			 UNIC_ST_NO_PD);
	assert_int_equal(rig_pd(&rb, 0), unic_from_le32(bad.pd));
	assert_int_equal(reg_status(&rb,
				    rig_physical_cmd(unic_from_le32(bad.pd))),
			 UNIC_ST_NO_PD);
}

#define WRONG(field, value, status)                                   \
	do {                                                          \
		struct unic_cmd_mr_reg cmd = rig_physical_cmd(qb.pd); \
                                                                      \
		cmd.field = value;                                    \
		assert_int_equal(reg_status(&rb, cmd), status);       \
	} while (0)

static void each_wrong_argument(void **state)
{
	uint32_t mrs = rb.nic.procs.proc[0].mrs;

	(void)state;
	WRONG(rights, UNIC_MR_REMOTE_READ, UNIC_ST_INVALID);
	WRONG(rights, UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE,
	      UNIC_ST_INVALID);
	WRONG(rights, UNIC_MR_MW_BIND, UNIC_ST_INVALID);
	WRONG(mr_class, UNIC_CLASS_RDMA, UNIC_ST_INVALID);
	WRONG(mr_class, UNIC_CLASS_MESSAGING, UNIC_ST_INVALID);
	WRONG(residency, UNIC_PHYSICAL + 1, UNIC_ST_INVALID);
	WRONG(page_shift, 12, UNIC_ST_INVALID);
	WRONG(n_pages, unic_to_le32(1), UNIC_ST_INVALID);
	WRONG(flags, UNIC_REG_LIST, UNIC_ST_INVALID);
	WRONG(flags, UNIC_REG_WAIT, UNIC_ST_INVALID);
	WRONG(flags, UNIC_REG_ZERO_BASED, UNIC_ST_INVALID);
	WRONG(flags, UNIC_REG_RESTORE, UNIC_ST_INVALID);
	WRONG(length, unic_to_le64(0), UNIC_ST_INVALID);
	WRONG(length, unic_to_le64(1ull << 32), UNIC_ST_TOO_LARGE);
	WRONG(iova, unic_to_le64(1ull << 63), UNIC_ST_INVALID);
	WRONG(iova, unic_to_le64((1ull << 63) - 1), UNIC_ST_INVALID);
	WRONG(iova, unic_to_le64(UINT64_MAX), UNIC_ST_INVALID);
	assert_int_equal(rb.nic.procs.proc[0].mrs, mrs);
}

/* Any range may be registered; the port refuses addresses outside its
 * windows. */
static void no_memory_behind_it(void **state)
{
	struct unic_cmd_mr_reg cmd = rig_physical_cmd(qa.pd);
	struct unic_cpl_mr_reg cpl;
	struct rig_mr far = { .iova = RIG_KERNEL_BUS + (1u << 30) };

	(void)state;
	cmd.iova = unic_to_le64(far.iova);
	assert_int_equal(rig_cmd(&ra, UNIC_CMD_MR_REG, &cmd, &cpl), 0);
	far.stag = unic_from_le32(cpl.stag);
	rig_recv(&rb, &qb, 1, &pb, AT(8), 8192);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &far, 0, 100, 0, 0);
	assert_int_not_equal(sent(), UNIC_WC_SUCCESS);
}

/* Queues in a region keep it from being deregistered; after the last one the
 * region ends at once and its index is free. */
static void ends_with_its_queues(void **state)
{
	struct unic_cmd_obj qp = { .id = unic_to_le32(qb.qpn) };
	struct unic_cmd_obj cq = { .id = unic_to_le32(qb.cq) };

	(void)state;
	assert_int_equal(rig_dereg(&rb, &pb), UNIC_ST_BUSY);
	rig_cmd(&rb, UNIC_CMD_QP_DESTROY, &qp, NULL);
	rig_poll(&rb);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_CQ_DESTROY, &cq, NULL), 0);
	assert_int_equal(rig_dereg(&rb, &pb), 0);
	assert_int_equal(rb.nic.procs.proc[0].mrs, 0);
	assert_int_equal(rb.nic.mrs.control[0].mrs, 0);
}

/* A physical region gets no notice, even when no entry is free and others
 * wait. */
static void never_asked_back(void **state)
{
	uint32_t pd = rig_pd(&rb, OTHER), before = rig_count(&rb, notices);
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg(&rb, OTHER, pd, 40, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	assert_int_equal(rig_reg(&rb, OTHER, pd, 40, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, 0, &mr),
			 UNIC_ST_PENDING);
	rig_run(&rb, 1000000);
	assert_int_equal(rb.nic.mrs.mr[pb.mr].state, UNIC_MR_ACTIVE);
	/* a region of OTHER */
	assert_true(rig_count(&rb, notices) <= before + 1);
}

/* ------------------------------------------------------- pages for one I/O */

#define IO_IOVA	 (0x123456789ull << 21 | 100) /* byte 100 of the first page */
#define IO_BYTES (2 * 4096u)		      /* in three pages */

/* B lends three scattered pages, but for the edges, in physical domain @pd. */
static void lend(uint32_t pd, uint8_t rights, struct rig_mr *out)
{
	static const uint32_t at[] = { 30, 21, 40 };
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(pd),
		.rights = rights,
		.page_shift = 12,
		.iova = unic_to_le64(IO_IOVA),
		.length = unic_to_le64(IO_BYTES),
		.n_pages = unic_to_le32(3),
		.flags = UNIC_REG_LIST,
	};
	unic_le64 *list = (void *)rig_list(&rb);
	struct unic_cpl_mr_reg cpl;
	uint32_t i;

	for (i = 0; i < 3; i++)
		list[i] = unic_to_le64(RIG_KERNEL_BUS + AT(at[i]));
	memset(pb.mem + AT(20), 0xa5, AT(22));
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_MR_REG, &cmd, &cpl), 0);
	*out = (struct rig_mr){ .mr = unic_from_le32(cpl.mr),
				.gen = unic_from_le32(cpl.gen),
				.stag = unic_from_le32(cpl.stag),
				.iova = IO_IOVA };
}

#define WRITES (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE)

static uint8_t access_status(uint8_t opcode, const struct rig_mr *io,
			     uint64_t off, uint32_t len)
{
	rig_send(&ra, &qa, opcode, 1, &pa, AT(4), len, io->iova + off,
		 io->stag);
	return sent();
}

/* All bytes of the region arrive where its pages are, and none beside them. */
static void pages_for_one_io_are_exact(void **state)
{
	const uint8_t *from = pa.mem + AT(4);
	struct rig_mr io;

	(void)state;
	lend(qb.pd, WRITES, &io);
	assert_int_equal(access_status(UNIC_WR_WRITE, &io, 0, IO_BYTES), 0);
	assert_memory_equal(pb.mem + AT(30) + 100, from, 3996);
	assert_memory_equal(pb.mem + AT(21), from + 3996, 4096);
	assert_memory_equal(pb.mem + AT(40), from + 8092, 100);
	assert_int_equal(pb.mem[AT(30) + 99], 0xa5);
	assert_int_equal(pb.mem[AT(31)], 0xa5);
	assert_int_equal(pb.mem[AT(22)], 0xa5);
	assert_int_equal(pb.mem[AT(40) + 100], 0xa5);
	assert_int_equal(rb.nic.share.owner[0].held, 3);
	assert_int_equal(rig_dereg(&rb, &io), 0);
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
}

/* PD, rights, both bounds and the end are those of any region, for the driver's
 * pages as well. */
static void pages_for_one_io_are_checked(void **state)
{
	static const struct {
		uint8_t opcode, rights;
		int off;
		uint32_t len;
	} wrong[] = {
		{ UNIC_WR_WRITE, WRITES, -1, 1 },
		{ UNIC_WR_WRITE, WRITES, IO_BYTES, 1 },
		{ UNIC_WR_WRITE, WRITES, IO_BYTES - 1, 2 },
		{ UNIC_WR_READ, WRITES, 0, 1 },
		{ UNIC_WR_WRITE, UNIC_MR_REMOTE_READ, 0, 1 },
		{ UNIC_WR_READ, UNIC_MR_REMOTE_READ, IO_BYTES, 1 },
	};
	struct rig_mr io;
	uint32_t i, k;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		up(state);
		lend(qb.pd, wrong[i].rights, &io);
		assert_int_equal(access_status(wrong[i].opcode, &io,
					       (uint64_t)(int64_t)wrong[i].off,
					       wrong[i].len),
				 UNIC_WC_REM_ACCESS_ERR);
		for (k = AT(20); k < AT(42); k++)
			assert_int_equal(pb.mem[k], 0xa5);
	}
	up(state);
	lend(rig_physical_pd(&rb), WRITES, &io);
	assert_int_equal(access_status(UNIC_WR_WRITE, &io, 0, 1),
			 UNIC_WC_REM_ACCESS_ERR);
	up(state);
	lend(qb.pd, WRITES, &io);
	assert_int_equal(rig_dereg(&rb, &io), 0);
	assert_int_equal(access_status(UNIC_WR_WRITE, &io, 0, 1),
			 UNIC_WC_REM_ACCESS_ERR);
}

/* ------------------------------------------------------------------ forms */

#define LIST	 AT(3) /* of the list of a work request */
#define ELEMENTS UNIC_TOKEN_PIECES
#define FORM_VA	 0x7000ull
#define LOCAL	 UNIC_MR_LOCAL_WRITE

static void alloc_form(struct rig *r, uint32_t pd, uint8_t kind, uint32_t n,
		       struct rig_mr *out)
{
	struct unic_cmd_mr_alloc alloc = {
		.pd = unic_to_le32(pd),
		.kind = kind,
		.page_shift = kind == UNIC_FORM_FAST ? 12 : 0,
		.n = unic_to_le32(n),
	};
	struct unic_cpl_mr_reg cpl;

	assert_int_equal(rig_cmd(r, UNIC_CMD_MR_ALLOC, &alloc, &cpl), 0);
	*out = (struct rig_mr){ .mr = unic_from_le32(cpl.mr),
				.gen = unic_from_le32(cpl.gen),
				.stag = unic_from_le32(cpl.stag),
				.iova = FORM_VA };
}

/* MR_MAKE on B of one page of @of. Returns the status. */
static uint8_t make_status(const struct rig_mr *form, const struct rig_mr *of,
			   uint8_t rights)
{
	struct unic_sge *list = (void *)rig_list(&rb);
	struct unic_cmd_mr_make make = {
		.mr = unic_to_le32(form->mr),
		.gen = unic_to_le32(form->gen),
		.rights = rights,
		.n = unic_to_le32(1),
		.iova = unic_to_le64(AT(1)),
	};

	list[0] = (struct unic_sge){ .iova = unic_to_le64(of->iova),
				     .len = unic_to_le32(4096),
				     .lkey = unic_to_le32(of->stag) };
	return rig_cmd(&rb, UNIC_CMD_MR_MAKE, &make, NULL);
}

/* Only an indirect region may be made of a physical one: no form that has
 * entries, borrows entries or is for a peer, and none of another domain. */
static void only_one_kind_of_form(void **state)
{
	static const uint8_t others[] = { UNIC_FORM_SUB, UNIC_FORM_WINDOW1,
					  UNIC_FORM_WINDOW2, UNIC_FORM_FAST };
	uint32_t pd[] = { rig_physical_pd(&rb), rig_pd(&rb, 0),
			  rig_pd(&rb, OTHER) };
	struct rig_mr form;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(others); i++) {
		alloc_form(&rb, qb.pd, others[i], others[i] == UNIC_FORM_FAST,
			   &form);
		assert_int_not_equal(make_status(&form, &pb, LOCAL), 0);
		assert_int_equal(rb.nic.mrs.mr[pb.mr].deps, 0);
		assert_int_equal(rig_dereg(&rb, &form), 0);
	}
	for (i = 0; i < 3; i++) {
		alloc_form(&rb, pd[i], UNIC_FORM_INDIRECT, 1, &form);
		assert_int_equal(make_status(&form, &pb, LOCAL),
				 i < 2 ? UNIC_ST_NO_PD : UNIC_ST_NO_MR);
	}
	alloc_form(&rb, qb.pd, UNIC_FORM_INDIRECT, 1, &form);
	assert_int_equal(make_status(&form, &pb, LOCAL), 0);
	assert_int_equal(rb.nic.mrs.mr[pb.mr].deps, 1);
}

static void forms_have_local_rights(void **state)
{
	static const uint8_t more[] = { UNIC_MR_REMOTE_READ,
					LOCAL | UNIC_MR_REMOTE_WRITE,
					LOCAL | UNIC_MR_MW_BIND };
	struct rig_mr form, window;
	uint32_t i;

	(void)state;
	alloc_form(&rb, qb.pd, UNIC_FORM_INDIRECT, 1, &form);
	for (i = 0; i < sizeof(more); i++)
		assert_int_equal(make_status(&form, &pb, more[i]),
				 UNIC_ST_RIGHTS);
	assert_int_equal(make_status(&form, &pb, LOCAL), 0);
	alloc_form(&rb, qb.pd, UNIC_FORM_WINDOW1, 0, &window);
	form.iova = AT(1);
	assert_int_equal(make_status(&window, &form, UNIC_MR_REMOTE_READ),
			 UNIC_ST_RIGHTS);
	rig_send(&ra, &qa, UNIC_WR_WRITE, 1, &pa, AT(4), 100, form.iova,
		 form.stag);
	assert_int_equal(sent(), UNIC_WC_REM_ACCESS_ERR);
}

struct piece {
	uint32_t at, len; /* offset and length in the window */
};

/* Posts a work request on A that makes @form of these pieces. The list is read
 * once. */
static void post_form(const struct rig_mr *form, const struct piece *p,
		      uint32_t n, uint64_t id)
{
	struct unic_sge *list = (void *)(pa.mem + LIST);
	struct unic_sq_slot *s;
	uint32_t i;

	for (i = 0; i < n; i++)
		list[i] = (struct unic_sge){
			.iova = unic_to_le64(RIG_KERNEL_BUS + p[i].at),
			.len = unic_to_le32(p[i].len),
			.lkey = unic_to_le32(pa.stag),
		};
	s = &qa.sq[qa.sq_tail % RIG_SLOTS];
	rig_send(&ra, &qa, UNIC_WR_REG_INDIRECT, id, &pa, LIST,
		 n * (uint32_t)sizeof(*list), form->iova, form->stag);
	if (!id)
		s->flags = 0;
	s->imm = unic_to_le32((form->stag & 0xff) | LOCAL << 8);
}

/* One derived region is made anew for each of several messages, without a
 * completion in between. */
static void scattered_pages_go_in_one_message(void **state)
{
	struct piece p[ELEMENTS];
	struct unic_cqe cqe;
	struct rig_mr form;
	uint32_t i, k, sum, off;

	(void)state;
	alloc_form(&ra, qa.pd, UNIC_FORM_INDIRECT, ELEMENTS, &form);
	for (k = 0; k < 30; k++) {
		for (i = sum = 0; i < ELEMENTS; i++, sum += p[i - 1].len)
			p[i] = (struct piece){ AT(60 - 3 * i) + k * 5,
					       480 + (i * 7 + k) % 64 };
		rig_recv(&rb, &qb, k, &pb, AT(20), AT(4));
		post_form(&form, p, ELEMENTS, 0);
		rig_send(&ra, &qa, UNIC_WR_SEND, k, &form, 0, sum, 0, 0);
		assert_int_equal(sent(), UNIC_WC_SUCCESS);
		assert_true(rig_cqe(&rb, &qb, &cqe));
		assert_int_equal(unic_from_le32(cqe.byte_len), sum);
		for (i = off = 0; i < ELEMENTS; off += p[i++].len)
			assert_memory_equal(pb.mem + AT(20) + off,
					    pa.mem + p[i].at, p[i].len);
		assert_int_equal(ra.nic.mrs.mr[pa.mr].deps, ELEMENTS);
	}
	assert_int_equal(rig_count(&ra, forms_refused), 0);
	assert_int_equal(ra.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(rig_dereg(&ra, &form), 0);
	assert_int_equal(ra.nic.mrs.mr[pa.mr].deps, 0);
	assert_int_equal(ra.nic.derived.used, 0);
}

/* A list with @p as its second piece must fail with @detail, which ends the
 * queue pair. */
static void assert_refused(struct piece p, uint8_t detail)
{
	struct piece both[2] = { { AT(8), 100 }, p };
	struct unic_cqe cqe;
	struct rig_mr form;

	up(NULL);
	alloc_form(&ra, qa.pd, UNIC_FORM_INDIRECT, 2, &form);
	post_form(&form, both, 2, 1);
	rig_run2(&ra, &rb, 1000000);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_MEM_OP_ERR);
	assert_int_equal(cqe.detail, detail);
	assert_int_equal(unic_from_le32(cqe.byte_len), 1);
	assert_int_equal(ra.nic.mrs.mr[pa.mr].deps, 0);
	assert_int_equal(rig_dereg(&ra, &form), 0);
}

static void no_piece_outside_the_region(void **state)
{
	(void)state;
	assert_refused((struct piece){ RIG_KERNEL_BYTES, 1 }, UNIC_WD_BOUNDS);
	assert_refused((struct piece){ RIG_KERNEL_BYTES - 10, 11 },
		       UNIC_WD_BOUNDS);
	assert_refused((struct piece){ AT(8), UINT32_MAX }, UNIC_WD_BOUNDS);
	assert_refused((struct piece){ UINT32_MAX, 100 }, UNIC_WD_BOUNDS);
	assert_refused((struct piece){ AT(8), 0 }, UNIC_WD_SGE);
}

/* Pieces may overlap: a sender only reads them, and a receiver that names a
 * byte twice accepts two writes to it. */
static void pieces_may_overlap(void **state)
{
	static const struct piece p[2] = { { AT(8), 1500 },
					   { AT(8) + 10, 99 } };
	struct rig_mr form;

	(void)state;
	alloc_form(&ra, qa.pd, UNIC_FORM_INDIRECT, 2, &form);
	post_form(&form, p, 2, 0);
	rig_recv(&rb, &qb, 1, &pb, AT(20), AT(4));
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &form, 0, 1599, 0, 0);
	assert_int_equal(sent(), UNIC_WC_SUCCESS);
	assert_memory_equal(pb.mem + AT(20), pa.mem + AT(8), 1500);
	assert_memory_equal(pb.mem + AT(20) + 1500, pa.mem + AT(8) + 10, 99);
}

/* A work request that makes a derived region again waits until the first
 * message from the region is acknowledged, however often that message is
 * sent. */
static void a_form_in_use_is_not_made_anew(void **state)
{
	static const struct piece one = { AT(8), 3000 }, two = { AT(30), 3000 };
	struct unic_cqe cqe;
	struct rig_mr form;

	(void)state;
	alloc_form(&ra, qa.pd, UNIC_FORM_INDIRECT, 1, &form);
	rig_recv(&rb, &qb, 1, &pb, AT(20), AT(1));
	rig_recv(&rb, &qb, 2, &pb, AT(21), AT(1));
	post_form(&form, &one, 1, 0);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &form, 0, 3000, 0, 0);
	rig_poll(&ra);
	post_form(&form, &two, 1, 2);
	rig_send(&ra, &qa, UNIC_WR_SEND, 3, &form, 0, 3000, 0, 0);
	rig_run(&ra, 1000000); /* the other NIC does not run */
	assert_int_equal(rig_count(&ra, forms_made), 1);
	assert_false(rig_cqe(&ra, &qa, &cqe));
	rig_run2(&ra, &rb, 10000000);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.wr_id, 1);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.opcode, UNIC_WC_REG_MR);
	assert_int_equal(cqe.status, 0);
	assert_true(rig_cqe(&ra, &qa, &cqe));
	assert_int_equal(cqe.status, 0);
	assert_memory_equal(pb.mem + AT(20), pa.mem + AT(8), 3000);
	assert_memory_equal(pb.mem + AT(21), pa.mem + AT(30), 3000);
	assert_int_equal(rig_count(&ra, forms_refused), 0);
}

/* The wait of such a work request is bounded: after T the operations that use
 * the region are cut. */
static void the_wait_for_a_form_is_bounded(void **state)
{
	static const struct piece p = { AT(8), 3000 };
	struct rig_mr form;
	uint32_t k;

	(void)state;
	alloc_form(&ra, qa.pd, UNIC_FORM_INDIRECT, 1, &form);
	post_form(&form, &p, 1, 0);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &form, 0, 3000, 0, 0);
	rig_poll(&ra);
	post_form(&form, &p, 1, 2);
	for (k = 0; k < 100 && ra.nic.mrs.mr[form.mr].holds; k++)
		rig_run(&ra, 1000000);
	assert_in_range(k, 1, 99);
	assert_int_equal(ra.nic.list_reader.qpn, 0);
}

/* MR_MAKE as a command does not wait: a region in use or with tokens is
 * BUSY. */
static void a_form_with_tokens_stays(void **state)
{
	struct unic_cmd_token_alloc token = {
		.pd = unic_to_le32(qb.pd),
		.iova = unic_to_le64(AT(1)),
		.length = unic_to_le32(100),
	};
	struct rig_mr form;

	(void)state;
	alloc_form(&rb, qb.pd, UNIC_FORM_INDIRECT, 1, &form);
	assert_int_equal(make_status(&form, &pb, LOCAL), 0);
	assert_int_equal(make_status(&form, &pb, LOCAL), 0);
	/* not made of itself */
	form.stag = rb.nic.mrs.mr[form.mr].stag;
	form.iova = AT(1);
	assert_int_equal(make_status(&form, &form, LOCAL), UNIC_ST_TOO_LARGE);
	token.stag = unic_to_le32(rb.nic.mrs.mr[form.mr].stag);
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &token, NULL), 0);
	assert_int_equal(make_status(&form, &pb, LOCAL), UNIC_ST_BUSY);
	rb.nic.mrs.mr[form.mr].n_tokens--;
	unic_mr_hold(&rb.nic.memory, (uint16_t)form.mr);
	assert_int_equal(make_status(&form, &pb, LOCAL), UNIC_ST_BUSY);
	unic_mr_unhold(&rb.nic.memory, (uint16_t)form.mr);
	rb.nic.mrs.mr[form.mr].n_tokens++;
}

/* A derived region of a process is not made again without a LOCAL_INV. */
static void no_other_form_is_made_anew(void **state)
{
	uint32_t pd = rig_pd(&rb, OTHER);
	struct rig_mr mr, form;

	(void)state;
	assert_int_equal(rig_reg(&rb, OTHER, pd, 2, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	alloc_form(&rb, pd, UNIC_FORM_INDIRECT, 1, &form);
	assert_int_equal(make_status(&form, &mr, LOCAL), 0);
	assert_int_equal(make_status(&form, &mr, LOCAL), UNIC_ST_STATE);
}

/* Processes cannot take the elements reserved for the driver. */
static void elements_are_kept_for_the_driver(void **state)
{
	uint32_t pd[UNIC_PROCS], i, k, at;
	struct rig_mr form;

	(void)state;
	rig_attach(&rb, 2, 1);
	for (i = 0; i < UNIC_PROCS; i++) {
		pd[i] = rig_pd(&rb, i);
		alloc_form(&rb, pd[i], UNIC_FORM_INDIRECT,
			   UNIC_ELEMENTS_PROC - !i, &form);
		at = rb.nic.derived.form[form.mr].first;
		assert_in_range(at, 0, UNIC_ELEMENTS - UNIC_ELEMENTS_PROC - 1);
	}
	assert_int_equal(rb.nic.derived.used, UNIC_ELEMENTS * 3 / 4 - 1);
	alloc_form(&rb, qb.pd, UNIC_FORM_INDIRECT, 1, &form);
	k = UNIC_ELEMENTS - UNIC_ELEMENTS_PROC;
	assert_int_equal(rb.nic.derived.form[form.mr].first, k);
}

/* Derived regions end with the slot of their process, even those in use. */
static void forms_end_with_the_slot(void **state)
{
	static const struct piece p = { AT(8), 3000 };
	struct unic_cmd_proc_detach gone = { 0 };
	struct rig_mr form;

	(void)state;
	alloc_form(&ra, qa.pd, UNIC_FORM_INDIRECT, 1, &form);
	post_form(&form, &p, 1, 0);
	rig_send(&ra, &qa, UNIC_WR_SEND, 1, &form, 0, 3000, 0, 0);
	rig_poll(&ra);
	assert_int_equal(ra.nic.mrs.mr[form.mr].holds, 1);
	rig_cmd(&ra, UNIC_CMD_PROC_DETACH, &gone, NULL);
	rig_run2(&ra, &rb, 100000000);
	assert_int_equal(ra.nic.derived.used, 0);
	assert_int_equal(ra.nic.procs.proc[0].mrs, 0);
}

/* ----------------------------------------------------------------- tokens */

static struct unic_cmd_token_alloc token_cmd(const struct piece *p, uint32_t n)
{
	struct unic_token_piece *list = (void *)rig_list(&rb);
	uint32_t i, sum = 0;

	for (i = 0; i < n; i++) {
		list[i] = (struct unic_token_piece){
			.bus = unic_to_le64(RIG_KERNEL_BUS + p[i].at),
			.len = unic_to_le32(p[i].len),
		};
		sum += p[i].len;
	}
	return (struct unic_cmd_token_alloc){
		.pd = unic_to_le32(qb.pd),
		.stag = unic_to_le32(pb.stag),
		.length = unic_to_le32(sum),
		.flags = unic_to_le32(UNIC_TOKEN_F_PIECES),
		.pieces = unic_to_le32(n),
	};
}

static uint8_t alloc(struct unic_cmd_token_alloc cmd,
		     struct unic_cpl_token *cpl)
{
	return rig_cmd(&rb, UNIC_CMD_TOKEN_ALLOC, &cmd, cpl);
}

static void send_to(const struct unic_cpl_token *t, uint32_t len)
{
	rig_recv(&rb, &qb, 7, &pb, AT(3), 64);
	rig_send(&ra, &qa, UNIC_WR_TOKEN, 1, &pa, AT(4), len,
		 unic_from_le64(t->key), unic_from_le32(t->index));
}

static uint32_t placed(void)
{
	struct unic_cqe cqe;

	assert_int_equal(sent(), UNIC_WC_SUCCESS);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.opcode, UNIC_WC_RECV_TOKEN);
	return cqe.detail ? 0 : unic_from_le32(cqe.imm);
}

/* No piece begins or ends at a packet boundary. */
static void scattered_payload_comes_whole(void **state)
{
	static const struct piece p[] = {
		{ AT(20) + 5, 1000 },	{ AT(9), 1 },	  { AT(40), 2047 },
		{ AT(30) + 4000, 300 }, { AT(12), 1652 },
	};
	struct unic_cpl_token t;
	const uint8_t *from = pa.mem + AT(4);
	uint8_t guard = 0xa5;
	uint32_t i;

	(void)state;
	memset(pb.mem + AT(8), guard, RIG_KERNEL_BYTES - AT(8));
	assert_int_equal(alloc(token_cmd(p, 5), &t), 0);
	send_to(&t, 5000);
	assert_int_equal(placed(), 5000);
	for (i = 0; i < 5; i++) {
		assert_memory_equal(pb.mem + p[i].at, from, p[i].len);
		assert_int_equal(pb.mem[p[i].at - 1], guard);
		assert_int_equal(pb.mem[p[i].at + p[i].len], guard);
		from += p[i].len;
	}
	assert_int_equal(rb.nic.tlb.free, UNIC_TLB_ENTRIES);
	assert_int_equal(rb.nic.dma_mrs.used, 0);
	assert_int_equal(rb.nic.mrs.mr[pb.mr].n_tokens, 0);
}

static void shorter_message_and_second_one(void **state)
{
	static const struct piece p[] = { { AT(20), 100 }, { AT(22), 100 } };
	struct unic_cpl_token t;

	(void)state;
	memset(pb.mem + AT(8), 0, RIG_KERNEL_BYTES - AT(8));
	assert_int_equal(alloc(token_cmd(p, 2), &t), 0);
	send_to(&t, 150);
	assert_int_equal(placed(), 150);
	assert_memory_equal(pb.mem + AT(22), pa.mem + AT(4) + 100, 50);
	assert_int_equal(pb.mem[AT(22) + 50], 0);
	send_to(&t, 10); /* the token is used up */
	assert_int_equal(placed(), 0);
	assert_int_equal(rb.nic.dma_mrs.used, 0);
}

static void wrong_pieces(void **state)
{
	static const struct piece whole[17] = {
		{ AT(8), 1 }, { AT(9), 1 }, { AT(10), 1 }, { AT(11), 1 },
		{ AT(8), 1 }, { AT(9), 1 }, { AT(10), 1 }, { AT(11), 1 },
		{ AT(8), 1 }, { AT(9), 1 }, { AT(10), 1 }, { AT(11), 1 },
		{ AT(8), 1 }, { AT(9), 1 }, { AT(10), 1 }, { AT(11), 1 },
		{ AT(8), 1 },
	};
	struct piece p[2] = { { AT(8), 10 }, { AT(9), 10 } };
	struct unic_cmd_token_alloc cmd;
	struct unic_token_piece *list;

	(void)state;
	assert_int_equal(alloc(token_cmd(whole, 17), NULL), UNIC_ST_INVALID);
	assert_int_equal(alloc(token_cmd(p, 0), NULL), UNIC_ST_INVALID);
	p[1].len = 0;
	assert_int_equal(alloc(token_cmd(p, 2), NULL), UNIC_ST_INVALID);
	p[1].len = RIG_KERNEL_BYTES - AT(9) + 1;
	assert_int_equal(alloc(token_cmd(p, 2), NULL), UNIC_ST_BOUNDS);
	p[1].len = 10;
	cmd = token_cmd(p, 2);
	cmd.length = unic_to_le32(19);
	assert_int_equal(alloc(cmd, NULL), UNIC_ST_INVALID);
	cmd = token_cmd(p, 2);
	list = (void *)rig_list(&rb);
	list[1].rsvd = unic_to_le32(1);
	assert_int_equal(alloc(cmd, NULL), UNIC_ST_INVALID);
	cmd = token_cmd(p, 2);
	list = (void *)rig_list(&rb);
	list[1].bus = unic_to_le64(unic_from_le64(list[1].bus) | 1ull << 63);
	assert_int_equal(alloc(cmd, NULL), UNIC_ST_BOUNDS);
	cmd = token_cmd(p, 2);
	cmd.flags |= unic_to_le32(UNIC_TOKEN_F_MULTI);
	assert_int_equal(alloc(cmd, NULL), UNIC_ST_INVALID);
	cmd = token_cmd(p, 2);
	cmd.iova = unic_to_le64(1);
	assert_int_equal(alloc(cmd, NULL), UNIC_ST_INVALID);
	cmd = token_cmd(p, 2);
	cmd.flags = unic_to_le32(0);
	assert_int_equal(alloc(cmd, NULL), UNIC_ST_INVALID);
	cmd = token_cmd(p, 2);
	cmd.stag = unic_to_le32(pb.stag ^ 1);
	assert_int_equal(alloc(cmd, NULL), UNIC_ST_NO_MR);
	assert_int_equal(rb.nic.dma_mrs.used, 0);
	assert_int_equal(rb.nic.tokens.used, 0);
}

/* A token by bus addresses is refused outside of a physical domain. */
static void no_pieces_for_processes(void **state)
{
	static const struct piece p[] = { { AT(20), 100 } };
	struct unic_cmd_token_alloc cmd = token_cmd(p, 1);
	uint32_t pd = rig_pd(&rb, OTHER);
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg(&rb, OTHER, pd, 2, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	cmd = token_cmd(p, 1);
	cmd.pd = unic_to_le32(pd);
	cmd.stag = unic_to_le32(mr.stag);
	assert_int_equal(alloc(cmd, NULL), UNIC_ST_INVALID);
}

/* A token by bus addresses is refused for a region with entries, even one of
 * the driver. */
static void no_pieces_of_other_regions(void **state)
{
	struct unic_cmd_token_alloc cmd;
	struct unic_token_piece *list;
	struct rig_mr mr;

	(void)state;
	assert_int_equal(rig_reg(&rb, 0, qb.pd, 2, UNIC_CLASS_RDMA,
				 UNIC_REG_LIST, 0, &mr),
			 0);
	cmd = token_cmd((struct piece[]){ { 0, 100 } }, 1);
	list = (void *)rig_list(&rb);
	list[0].bus = unic_to_le64(mr.iova);
	cmd.stag = unic_to_le32(mr.stag);
	assert_int_equal(alloc(cmd, NULL), UNIC_ST_INVALID);
	assert_int_equal(rb.nic.dma_mrs.used, 0);
}

/* A work request cannot name a token's list of pieces by its address. */
static void lists_are_for_tokens_only(void **state)
{
	static const struct piece p[] = { { AT(20), 4096 } };
	struct rig_mr list = pb;
	struct unic_cpl_token t;
	struct unic_cqe cqe;

	(void)state;
	assert_int_equal(alloc(token_cmd(p, 1), &t), 0);
	list.iova = rb.nic.tokens.token[unic_from_le32(t.index)].iova;
	rig_send(&rb, &qb, UNIC_WR_SEND, 1, &list, 0, 100, 0, 0);
	rig_run2(&ra, &rb, 1000000);
	assert_true(rig_cqe(&rb, &qb, &cqe));
	assert_int_equal(cqe.status, UNIC_WC_LOC_PROT_ERR);
}

static uint8_t alloc_one(uint32_t ttl_us, struct unic_cpl_token *cpl)
{
	static const struct piece p[] = { { AT(20), 100 } };
	struct unic_cmd_token_alloc cmd = token_cmd(p, 1);

	cmd.ttl_us = unic_to_le32(ttl_us);
	return alloc(cmd, cpl);
}

/* Each end of a token frees its list. */
static void lists_come_back(void **state)
{
	struct unic_cmd_token_cancel cancel = { 0 };
	struct unic_cmd_proc_detach gone = { 0 };
	struct unic_cpl_token t[UNIC_TOKENS];
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_TOKENS; i++)
		assert_int_equal(alloc_one(1000, &t[i]), 0);
	assert_int_equal(alloc_one(0, NULL), UNIC_ST_TOKEN_FULL);
	assert_int_equal(rb.nic.dma_mrs.used, (1u << UNIC_TOKENS) - 1u);
	cancel.index = t[3].index;
	cancel.key = t[3].key;
	assert_int_equal(rig_cmd(&rb, UNIC_CMD_TOKEN_CANCEL, &cancel, NULL), 0);
	assert_int_equal(rb.nic.dma_mrs.used & 1u << 3, 0);
	rig_run(&rb, 2000000);
	assert_int_equal(rb.nic.dma_mrs.used, 0);
	assert_int_equal(alloc_one(0, &t[0]), 0);
	assert_int_equal(rb.nic.dma_mrs.used, 1);
	rig_cmd(&rb, UNIC_CMD_PROC_DETACH, &gone, NULL);
	rig_run(&rb, 1000000);
	assert_int_equal(rb.nic.dma_mrs.used, 0);
}

/* There are fewer lists than a board may have tokens. */
static void lists_run_out(void **state)
{
	(void)state;
	rb.nic.dma_mrs.used = 0xfffffffdu;
	assert_int_equal(alloc_one(0, NULL), 0);
	assert_int_equal(alloc_one(0, NULL), UNIC_ST_TOKEN_FULL);
	assert_int_equal(rb.nic.tokens.used, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(messages_take_no_entry, up),
		cmocka_unit_test_setup(nothing_outside_the_range, up),
		cmocka_unit_test_setup(not_for_processes, up),
		cmocka_unit_test_setup(peers_get_nothing, up),
		cmocka_unit_test_setup(only_in_a_physical_domain, up),
		cmocka_unit_test_setup(each_wrong_argument, up),
		cmocka_unit_test_setup(no_memory_behind_it, up),
		cmocka_unit_test_setup(ends_with_its_queues, up),
		cmocka_unit_test_setup(never_asked_back, up),
		cmocka_unit_test_setup(pages_for_one_io_are_exact, up),
		cmocka_unit_test_setup(pages_for_one_io_are_checked, up),
		cmocka_unit_test_setup(only_one_kind_of_form, up),
		cmocka_unit_test_setup(forms_have_local_rights, up),
		cmocka_unit_test_setup(scattered_pages_go_in_one_message, up),
		cmocka_unit_test_setup(no_piece_outside_the_region, up),
		cmocka_unit_test_setup(pieces_may_overlap, up),
		cmocka_unit_test_setup(a_form_in_use_is_not_made_anew, up),
		cmocka_unit_test_setup(the_wait_for_a_form_is_bounded, up),
		cmocka_unit_test_setup(a_form_with_tokens_stays, up),
		cmocka_unit_test_setup(no_other_form_is_made_anew, up),
		cmocka_unit_test_setup(elements_are_kept_for_the_driver, up),
		cmocka_unit_test_setup(forms_end_with_the_slot, up),
		cmocka_unit_test_setup(scattered_payload_comes_whole, up),
		cmocka_unit_test_setup(shorter_message_and_second_one, up),
		cmocka_unit_test_setup(wrong_pieces, up),
		cmocka_unit_test_setup(no_pieces_for_processes, up),
		cmocka_unit_test_setup(no_pieces_of_other_regions, up),
		cmocka_unit_test_setup(lists_are_for_tokens_only, up),
		cmocka_unit_test_setup(lists_come_back, up),
		cmocka_unit_test_setup(lists_run_out, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

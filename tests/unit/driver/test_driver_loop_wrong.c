/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_loop_wrong.c - the loop-back provider of the host driver refuses what a NIC
 * refuses: commands that name nothing, full tables, wrong work requests. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "provider/provider_loop.h"

#define LOOP_SLOTS 2u
#define MEM_BYTES  (16u * 4096u)
#define RINGS	   0x2000u /* pages 2 and 3 of slot 0: four rings and a CQ */
#define RING_CQ	   (RINGS + 4096u)
#define DATA	   0x4000u /* pages 4 to 7 */
#define ENTRIES	   16u
#define CQ_ENTRIES 64u

/* One device, and what commands made there. */
struct looped {
	struct fake *f;
	struct loop *l;
	uint8_t *mem[LOOP_SLOTS];
	uint32_t pd, other_pd; /* of process 0 and 1 */
	uint32_t rings, data;  /* STags */
	uint32_t cq, qp[2];
	struct unic_call call;
};

static void is_done(struct unic_call *call)
{
	(void)call;
}

/* Executes command @cmd with @list, if any. Returns its status. */
static uint8_t try(struct looped *t, uint8_t opcode, const void *cmd,
		   const void *list)
{
	struct unic_cmd_hdr hdr;

	memset(&t->call, 0, sizeof(t->call));
	memcpy(t->call.cmd, cmd, sizeof(t->call.cmd));
	memcpy(&hdr, cmd, sizeof(hdr));
	hdr.opcode = opcode;
	memcpy(t->call.cmd, &hdr, sizeof(hdr));
	t->call.list = (void *)(uintptr_t)list;
	t->call.done = is_done;
	t->call.state = UNIC_CALL_TAKEN;
	assert_int_equal(t->l->p.ops->command(&t->l->p, &t->call), 0);
	t->l->p.ops->poll(&t->l->p, 0);
	assert_int_equal(t->call.state, UNIC_CALL_IDLE);
	memcpy(&hdr, t->call.cpl, sizeof(hdr));
	return hdr.status;
}

static uint8_t on_proc(struct looped *t, uint8_t opcode, uint32_t proc)
{
	struct unic_cmd_proc_detach cmd = { .proc = unic_to_le32(proc) };

	return try(t, opcode, &cmd, NULL);
}

static uint8_t on_pd(struct looped *t, uint8_t opcode, uint32_t proc,
		     uint32_t pd)
{
	struct unic_cmd_pd cmd = { .proc = unic_to_le32(proc),
				   .pd = unic_to_le32(pd) };

	return try(t, opcode, &cmd, NULL);
}

static uint32_t pd_of(struct looped *t, uint32_t proc)
{
	struct unic_cpl_pd cpl;

	assert_int_equal(on_pd(t, UNIC_CMD_PD_ALLOC, proc, 0), UNIC_ST_OK);
	memcpy(&cpl, t->call.cpl, sizeof(cpl));
	return unic_from_le32(cpl.pd);
}

/* A region of @n pages at @iova, which are those of slot 0 with that offset; @listed of
 * them are filled in. */
static struct unic_cmd_mr_reg reg_of(struct looped *t, uint64_t iova,
				     uint32_t n, uint8_t flags)
{
	struct unic_cmd_mr_reg cmd = {
		.pd = unic_to_le32(t->pd),
		.rights = UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_READ |
			  UNIC_MR_REMOTE_WRITE,
		.page_shift = 12,
		.iova = unic_to_le64(iova),
		.length = unic_to_le64(n * 4096ull),
		.n_pages = unic_to_le32(n),
		.flags = flags,
	};

	return cmd;
}

static uint8_t reg(struct looped *t, const struct unic_cmd_mr_reg *cmd,
		   struct unic_cpl_mr_reg *cpl)
{
	unic_le64 page[4];
	uint64_t at = unic_from_le64(cmd->iova);
	uint8_t status;
	uint32_t i;

	for (i = 0; i < 4; i++)
		page[i] = unic_to_le64((at & ~4095ull) + i * 4096ull);
	status = try(t, UNIC_CMD_MR_REG, cmd, page);
	memcpy(cpl, t->call.cpl, sizeof(*cpl));
	return status;
}

static uint32_t stag_of(struct looped *t, const struct unic_cmd_mr_reg *cmd)
{
	struct unic_cpl_mr_reg cpl;

	assert_int_equal(reg(t, cmd, &cpl), UNIC_ST_OK);
	return unic_from_le32(cpl.stag);
}

static uint8_t dereg(struct looped *t, uint32_t mr, uint32_t gen)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr),
				   .gen = unic_to_le32(gen) };

	return try(t, UNIC_CMD_MR_DEREG, &cmd, NULL);
}

static struct unic_cmd_cq_create cq_cmd(const struct looped *t)
{
	struct unic_cmd_cq_create cmd = {
		.pd = unic_to_le32(t->pd),
		.stag = unic_to_le32(t->rings),
		.iova = unic_to_le64(RING_CQ),
		.entries = unic_to_le32(CQ_ENTRIES),
	};

	return cmd;
}

static struct unic_cmd_qp_create qp_cmd(const struct looped *t, uint32_t n)
{
	struct unic_cmd_qp_create cmd = {
		.pd = unic_to_le32(t->pd),
		.stag = unic_to_le32(t->rings),
		.send_cq = unic_to_le32(t->cq),
		.recv_cq = unic_to_le32(t->cq),
		.sq_iova = unic_to_le64(RINGS + n * 2048),
		.rq_iova = unic_to_le64(RINGS + n * 2048 + 1024),
		.sq_slots = unic_to_le16(ENTRIES),
		.rq_slots = unic_to_le16(ENTRIES),
		.db_index = unic_to_le32(n),
	};

	return cmd;
}

static uint8_t qp_state(struct looped *t, uint32_t proc, uint32_t qpn,
			uint8_t state)
{
	struct unic_cmd_qp_modify cmd = {
		.proc = unic_to_le32(proc),
		.qpn = unic_to_le32(qpn),
		.state = state,
		.rights = UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE,
		.dest_qpn = unic_to_le32(qpn == t->qp[0] ? t->qp[1] : t->qp[0]),
	};

	return try(t, UNIC_CMD_QP_MODIFY, &cmd, NULL);
}

static uint8_t on_obj(struct looped *t, uint8_t opcode, uint32_t proc,
		      uint32_t id)
{
	struct unic_cmd_obj cmd = { .proc = unic_to_le32(proc),
				    .id = unic_to_le32(id) };

	return try(t, opcode, &cmd, NULL);
}

static uint32_t id_made(const struct looped *t)
{
	struct unic_cpl_obj cpl;

	memcpy(&cpl, t->call.cpl, sizeof(cpl));
	return unic_from_le32(cpl.id);
}

static void connect_pair(struct looped *t)
{
	uint32_t i;
	uint8_t state;

	for (i = 0; i < 2; i++)
		for (state = UNIC_QPS_RESET; state <= UNIC_QPS_RTS; state++)
			assert_int_equal(qp_state(t, 0, t->qp[i], state),
					 UNIC_ST_OK);
}

/* Process 0 with two queue pairs that are connected, and process 1. */
static int up(void **state)
{
	struct looped *t = calloc(1, sizeof(*t));
	struct unic_cmd_mr_reg cmd;
	struct unic_cmd_cq_create cq;
	struct unic_cmd_qp_create qp;
	void *mem[LOOP_SLOTS];
	uint32_t i;

	*state = t;
	t->f = fake_new();
	t->f->os.all_random = 1;
	for (i = 0; i < LOOP_SLOTS; i++) {
		t->mem[i] = mem[i] = aligned_alloc(4096, MEM_BYTES);
		memset(mem[i], 0, MEM_BYTES);
	}
	t->l = (struct loop *)(void *)unic_loop_provider(&t->f->os, LOOP_SLOTS,
							 mem, MEM_BYTES);
	t->l->p.host = t->f->host;
	t->l->state = UNIC_PROVIDER_READY;
	for (i = 0; i < LOOP_SLOTS; i++)
		assert_int_equal(on_proc(t, UNIC_CMD_PROC_ATTACH, i), 0);
	t->pd = pd_of(t, 0);
	t->other_pd = pd_of(t, 1);
	cmd = reg_of(t, RINGS, 2, UNIC_REG_LIST);
	t->rings = stag_of(t, &cmd);
	cmd = reg_of(t, DATA, 4, UNIC_REG_LIST);
	t->data = stag_of(t, &cmd);
	cq = cq_cmd(t);
	assert_int_equal(try(t, UNIC_CMD_CQ_CREATE, &cq, NULL), UNIC_ST_OK);
	t->cq = id_made(t);
	for (i = 0; i < 2; i++) {
		qp = qp_cmd(t, i);
		assert_int_equal(try(t, UNIC_CMD_QP_CREATE, &qp, NULL),
				 UNIC_ST_OK);
		t->qp[i] = id_made(t);
	}
	connect_pair(t);
	return 0;
}

static int down(void **state)
{
	struct looped *t = *state;
	uint32_t i;

	t->l->p.ops->fini(&t->l->p);
	unic_os_free(&t->f->os, t->l);
	fake_delete(t->f);
	for (i = 0; i < LOOP_SLOTS; i++)
		free(t->mem[i]);
	free(t);
	return 0;
}

/* ----------------------------------------------------------------- commands */

static void processes_that_are_not_there(void **state)
{
	struct looped *t = *state;
	uint32_t n;

	assert_int_equal(on_proc(t, UNIC_CMD_PROC_ATTACH, LOOP_SLOTS),
			 UNIC_ST_INVALID);
	assert_int_equal(on_proc(t, UNIC_CMD_PROC_ATTACH, 1), UNIC_ST_BUSY);
	assert_int_equal(on_proc(t, UNIC_CMD_PROC_DETACH, LOOP_SLOTS),
			 UNIC_ST_NO_PROC);
	assert_int_equal(on_pd(t, UNIC_CMD_PD_FREE, 1, LOOP_PDS),
			 UNIC_ST_NO_PD);
	assert_int_equal(on_pd(t, UNIC_CMD_PD_FREE, 1, t->pd), UNIC_ST_NO_PD);
	assert_int_equal(on_pd(t, UNIC_CMD_PD_FREE, 0, t->pd), UNIC_ST_BUSY);
	for (n = 2; n < LOOP_PDS; n++)
		pd_of(t, 1);
	assert_int_equal(on_pd(t, UNIC_CMD_PD_ALLOC, 1, 0), UNIC_ST_PD_FULL);
	assert_int_equal(on_pd(t, UNIC_CMD_PD_FREE, 1, t->other_pd),
			 UNIC_ST_OK);
	assert_int_equal(pd_of(t, 1), t->other_pd);
	assert_int_equal(on_proc(t, UNIC_CMD_PROC_DETACH, 1), UNIC_ST_OK);
	assert_int_equal(on_proc(t, UNIC_CMD_PROC_DETACH, 1), UNIC_ST_NO_PROC);
	assert_int_equal(on_pd(t, UNIC_CMD_PD_ALLOC, 1, 0), UNIC_ST_NO_PROC);
	assert_int_equal(on_pd(t, UNIC_CMD_PD_ALLOC, 0, 0), UNIC_ST_OK);
}

static void regions_that_are_not_there(void **state)
{
	struct looped *t = *state;
	struct unic_cmd_mr_reg cmd = reg_of(t, DATA, 1, UNIC_REG_LIST);
	struct unic_cpl_mr_reg mr, cpl;
	uint32_t idx, gen, n;

	assert_int_equal(reg(t, &cmd, &mr), UNIC_ST_OK);
	idx = unic_from_le32(mr.mr);
	gen = unic_from_le32(mr.gen);
	cmd.pd = unic_to_le32(LOOP_PDS);
	assert_int_equal(reg(t, &cmd, &cpl), UNIC_ST_NO_PD);
	cmd.pd = unic_to_le32(LOOP_PDS - 1);
	assert_int_equal(reg(t, &cmd, &cpl), UNIC_ST_NO_PD);
	cmd.pd = unic_to_le32(t->pd);
	cmd.rights |= UNIC_MR_REMOTE_ATOMIC; /* here are no atomic operations */
	assert_int_equal(reg(t, &cmd, &cpl), UNIC_ST_INVALID);
	cmd.rights &= (uint8_t)~UNIC_MR_REMOTE_ATOMIC;
	t->f->os.fail_alloc = 1;
	assert_int_equal(reg(t, &cmd, &cpl), UNIC_ST_TLB_FULL);
	assert_int_equal(dereg(t, LOOP_MRS, gen), UNIC_ST_NO_MR);
	assert_int_equal(dereg(t, idx, gen + 1), UNIC_ST_NO_MR);
	/* an index that lives does not come back */
	cmd.flags |= UNIC_REG_RESTORE;
	cmd.stag = mr.stag;
	assert_int_equal(reg(t, &cmd, &cpl), UNIC_ST_MR_FULL);
	assert_int_equal(dereg(t, idx, gen), UNIC_ST_OK);
	assert_int_equal(dereg(t, idx, gen), UNIC_ST_NO_MR);
	cmd.flags = UNIC_REG_LIST;
	for (n = 2; n < LOOP_MRS; n++)
		assert_int_equal(reg(t, &cmd, &cpl), UNIC_ST_OK);
	assert_int_equal(reg(t, &cmd, &cpl), UNIC_ST_MR_FULL);
	/* rings are in it */
	idx = t->rings >> LOOP_IDX_SHIFT;
	assert_int_equal(dereg(t, idx, t->l->mr[idx].gen), UNIC_ST_BUSY);
}

static uint8_t fill(struct looped *t, const struct unic_cpl_mr_reg *mr,
		    uint32_t first, uint32_t count, const void *list)
{
	struct unic_cmd_mr_fill cmd = { .mr = mr->mr,
					.gen = mr->gen,
					.first = unic_to_le32(first),
					.count = unic_to_le32(count) };

	return try(t, UNIC_CMD_MR_FILL, &cmd, list);
}

/* Pages come in their order, and no region is used before its last one. */
static void pages_out_of_order(void **state)
{
	struct looped *t = *state;
	struct unic_cmd_mr_reg cmd = reg_of(t, DATA, 4, 0);
	unic_le64 page[4] = { 0 };
	struct unic_cpl_mr_reg mr, none;

	assert_int_equal(reg(t, &cmd, &mr), UNIC_ST_OK);
	none = mr;
	none.gen = unic_to_le32(unic_from_le32(mr.gen) + 1);
	assert_int_equal(fill(t, &none, 0, 1, page), UNIC_ST_NO_MR);
	assert_int_equal(fill(t, &mr, 1, 1, page), UNIC_ST_STATE);
	assert_int_equal(fill(t, &mr, 0, 5, page), UNIC_ST_STATE);
	assert_int_equal(fill(t, &mr, 0, 1, NULL), UNIC_ST_STATE);
	assert_int_equal(fill(t, &mr, 0, 3, page), UNIC_ST_OK);
	assert_null(loop_mr_of(t->l, unic_from_le32(mr.stag)));
	assert_int_equal(fill(t, &mr, 3, 1, page), UNIC_ST_OK);
	assert_non_null(loop_mr_of(t->l, unic_from_le32(mr.stag)));
}

static uint8_t cq_with(struct looped *t, uint64_t iova, uint32_t entries,
		       uint32_t db)
{
	struct unic_cmd_cq_create cmd = cq_cmd(t);

	cmd.iova = unic_to_le64(iova);
	cmd.entries = unic_to_le32(entries);
	cmd.db_index = unic_to_le32(db);
	return try(t, UNIC_CMD_CQ_CREATE, &cmd, NULL);
}

static void completion_queues_that_are_wrong(void **state)
{
	struct looped *t = *state;
	struct unic_cmd_cq_create cmd = cq_cmd(t);
	uint32_t n;

	cmd.stag = unic_to_le32(t->rings ^ 0x100);
	assert_int_equal(try(t, UNIC_CMD_CQ_CREATE, &cmd, NULL),
			 UNIC_ST_INVALID);
	cmd = cq_cmd(t);
	cmd.pd = unic_to_le32(t->other_pd);
	assert_int_equal(try(t, UNIC_CMD_CQ_CREATE, &cmd, NULL),
			 UNIC_ST_INVALID);
	assert_int_equal(cq_with(t, RING_CQ + 8, 2, 0), UNIC_ST_INVALID);
	assert_int_equal(cq_with(t, RINGS - 64, 2, 0), UNIC_ST_INVALID);
	assert_int_equal(cq_with(t, RINGS + 8192 - 64, 4, 0), UNIC_ST_INVALID);
	assert_int_equal(cq_with(t, RINGS, 512, 0), UNIC_ST_INVALID);
	assert_int_equal(cq_with(t, RINGS, 1, 0), UNIC_ST_INVALID);
	assert_int_equal(cq_with(t, RINGS, 3, 0), UNIC_ST_INVALID);
	assert_int_equal(cq_with(t, RINGS, 2, UNIC_DB_OBJECTS),
			 UNIC_ST_INVALID);
	for (n = 1; n < LOOP_CQS; n++)
		assert_int_equal(cq_with(t, RING_CQ, 2, 0), UNIC_ST_OK);
	assert_int_equal(cq_with(t, RING_CQ, 2, 0), UNIC_ST_CQ_FULL);
	assert_int_equal(on_obj(t, UNIC_CMD_CQ_DESTROY, 0, LOOP_CQS),
			 UNIC_ST_NO_CQ);
	assert_int_equal(on_obj(t, UNIC_CMD_CQ_DESTROY, 1, t->cq),
			 UNIC_ST_NO_CQ);
	assert_int_equal(on_obj(t, UNIC_CMD_CQ_DESTROY, 0, t->cq),
			 UNIC_ST_BUSY);
	assert_int_equal(on_obj(t, UNIC_CMD_CQ_DESTROY, 0, LOOP_CQS - 1),
			 UNIC_ST_OK);
	assert_int_equal(on_obj(t, UNIC_CMD_CQ_DESTROY, 0, LOOP_CQS - 1),
			 UNIC_ST_NO_CQ);
}

static uint8_t make_qp(struct looped *t, const struct unic_cmd_qp_create *cmd)
{
	return try(t, UNIC_CMD_QP_CREATE, cmd, NULL);
}

static void queue_pairs_that_are_wrong(void **state)
{
	struct looped *t = *state;
	struct unic_cmd_qp_create cmd = qp_cmd(t, 0);
	uint32_t n;

	cmd.type = 1;
	assert_int_equal(make_qp(t, &cmd), UNIC_ST_BAD_OPCODE);
	cmd = qp_cmd(t, 0);
	cmd.sq_iova = unic_to_le64(0);
	assert_int_equal(make_qp(t, &cmd), UNIC_ST_INVALID);
	cmd = qp_cmd(t, 0);
	cmd.rq_iova = unic_to_le64(0);
	assert_int_equal(make_qp(t, &cmd), UNIC_ST_INVALID);
	cmd = qp_cmd(t, 0);
	cmd.sq_slots = unic_to_le16(3);
	assert_int_equal(make_qp(t, &cmd), UNIC_ST_INVALID);
	cmd = qp_cmd(t, 0);
	cmd.rq_slots = unic_to_le16(3);
	assert_int_equal(make_qp(t, &cmd), UNIC_ST_INVALID);
	cmd = qp_cmd(t, UNIC_DB_OBJECTS);
	cmd.sq_iova = cmd.rq_iova = unic_to_le64(RINGS);
	assert_int_equal(make_qp(t, &cmd), UNIC_ST_INVALID);
	cmd = qp_cmd(t, 0);
	cmd.send_cq = unic_to_le32(LOOP_CQS);
	assert_int_equal(make_qp(t, &cmd), UNIC_ST_NO_CQ);
	cmd = qp_cmd(t, 0);
	cmd.recv_cq = unic_to_le32(t->cq + 1);
	assert_int_equal(make_qp(t, &cmd), UNIC_ST_NO_CQ);
	cmd = qp_cmd(t, 0);
	for (n = 3; n < LOOP_QPS; n++)
		assert_int_equal(make_qp(t, &cmd), UNIC_ST_OK);
	assert_int_equal(make_qp(t, &cmd), UNIC_ST_QP_FULL);
	assert_int_equal(qp_state(t, 0, LOOP_QPS, 1), UNIC_ST_NO_QP);
	assert_int_equal(qp_state(t, 0, 0, 1), UNIC_ST_NO_QP);
	assert_int_equal(qp_state(t, 1, t->qp[0], 1), UNIC_ST_NO_QP);
	assert_int_equal(qp_state(t, 0, LOOP_QPS - 1, UNIC_QPS_RTR),
			 UNIC_ST_STATE);
	assert_int_equal(qp_state(t, 0, LOOP_QPS - 1, 200), UNIC_ST_STATE);
	assert_int_equal(on_obj(t, UNIC_CMD_QP_DESTROY, 1, t->qp[0]),
			 UNIC_ST_NO_QP);
	assert_int_equal(on_obj(t, UNIC_CMD_QP_DESTROY, 0, t->qp[0]),
			 UNIC_ST_OK);
}

static void nobody_at_an_address(void **state)
{
	struct looped *t = *state;
	struct unic_cmd_arp arp = { .ipv4 = unic_to_le32(9) };
	struct unic_cmd_mad_send mad = { .ipv4 = unic_to_le32(9) };
	uint8_t data[256] = { 0 };
	uint32_t n;

	assert_int_equal(try(t, UNIC_CMD_ARP_RESOLVE, &arp, NULL),
			 UNIC_ST_NO_ROUTE);
	assert_int_equal(try(t, UNIC_CMD_MAD_SEND, &mad, data),
			 UNIC_ST_NO_ROUTE);
	mad.ipv4 = unic_to_le32(0); /* its own */
	assert_int_equal(try(t, UNIC_CMD_MAD_SEND, &mad, NULL),
			 UNIC_ST_NO_ROUTE);
	/* one that finds no room is lost, as on a wire */
	for (n = 0; n < LOOP_MADS; n++)
		t->l->mad_tail++;
	n = t->l->mad_tail;
	assert_int_equal(try(t, UNIC_CMD_MAD_SEND, &mad, data), UNIC_ST_OK);
	assert_int_equal(t->l->mad_tail, n);
	assert_int_equal(try(t, UNIC_CMD_DUMP, &mad, NULL), UNIC_ST_BAD_OPCODE);
	assert_int_equal(try(t, 255, &mad, NULL), UNIC_ST_BAD_OPCODE);
}

/* What the driver asks of the device itself. */
static void device(void **state)
{
	struct looped *t = *state;
	const struct unic_provider_ops *ops = t->l->p.ops;
	struct unic_call call = { .state = UNIC_CALL_TAKEN, .done = is_done };
	uint8_t info[sizeof(struct unic_info) + 1];

	assert_true(
		ops->peek(&t->l->p, UNIC_BAR_INFO_OFF, info, sizeof(info) - 1));
	assert_false(
		ops->peek(&t->l->p, UNIC_BAR_INFO_OFF, info, sizeof(info)));
	assert_false(ops->peek(&t->l->p, UNIC_BAR_INFO_OFF + 4, info, 4));
	assert_true(ops->rest(&t->l->p, true));
	assert_int_equal(ops->command(&t->l->p, &call), 0);
	assert_false(ops->rest(&t->l->p, true));
	assert_true(ops->rest(&t->l->p, false));
	ops->poll(&t->l->p, 0);
	assert_true(ops->rest(&t->l->p, true));
	t->l->state = UNIC_PROVIDER_STARTING;
	assert_int_equal(ops->command(&t->l->p, &call), -ENODEV);
	t->f->os.fail_alloc = 1;
	assert_null(unic_loop_provider(&t->f->os, 0, NULL, 0));
}

/* ------------------------------------------------------------ work requests */

static struct unic_db_page *doorbells(struct looped *t)
{
	return (void *)t->mem[0];
}

static void post(struct looped *t, uint32_t n, const struct unic_sq_slot *s)
{
	unic_le32 *tail = &doorbells(t)->tail[n].sq;
	uint32_t at = unic_from_le32(*tail);

	memcpy(t->mem[0] + RINGS + n * 2048 + at % ENTRIES * 64, s, sizeof(*s));
	*tail = unic_to_le32(at + 1);
}

static void post_recv(struct looped *t, uint32_t n,
		      const struct unic_rq_slot *s)
{
	unic_le32 *tail = &doorbells(t)->tail[n].rq;
	uint32_t at = unic_from_le32(*tail);

	memcpy(t->mem[0] + RINGS + n * 2048 + 1024 + at % ENTRIES * 64, s,
	       sizeof(*s));
	*tail = unic_to_le32(at + 1);
}

/* The next completion; the device is polled before. */
static struct unic_cqe next_cqe(struct looped *t)
{
	unic_le32 *ci = &doorbells(t)->tail[0].cq_ci;
	uint32_t at = unic_from_le32(*ci);
	struct unic_cqe cqe;

	loop_data_poll(t->l);
	memcpy(&cqe, t->mem[0] + RING_CQ + at % CQ_ENTRIES * sizeof(cqe),
	       sizeof(cqe));
	assert_int_equal(unic_from_le32(cqe.seq), at + 1);
	*ci = unic_to_le32(at + 1);
	return cqe;
}

/* A WRITE of 64 bytes from the first page of the data to its second one. */
static struct unic_sq_slot write_of(const struct looped *t)
{
	struct unic_sq_slot s = {
		.opcode = UNIC_WR_WRITE,
		.flags = UNIC_WR_SIGNALED,
		.num_sge = 1,
		.remote = unic_to_le64(DATA + 4096),
		.rkey = unic_to_le32(t->data),
		.sge = { { .iova = unic_to_le64(DATA),
			   .len = unic_to_le32(64),
			   .lkey = unic_to_le32(t->data) } },
	};

	return s;
}

static void expect(struct looped *t, const struct unic_sq_slot *s,
		   uint8_t status, uint8_t detail)
{
	struct unic_cqe cqe;

	post(t, 0, s);
	cqe = next_cqe(t);
	assert_int_equal(cqe.status, status);
	assert_int_equal(cqe.detail, detail);
	if (!status)
		return;
	assert_int_equal(t->l->qp[t->qp[0]].state, UNIC_QPS_ERR);
	connect_pair(t);
}

static void requests_that_are_malformed(void **state)
{
	struct looped *t = *state;
	struct unic_sq_slot s = write_of(t);

	expect(t, &s, UNIC_WC_SUCCESS, 0);
	s.opcode = 0;
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_OPCODE);
	s.opcode = UNIC_WR_TOKEN;
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_OPCODE);
	s = write_of(t);
	s.flags |= 0x80;
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_FLAGS);
	s = write_of(t);
	s.ctrl_len = unic_to_le32(1);
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_FLAGS);
	s = write_of(t);
	s.opcode = UNIC_WR_READ;
	s.flags |= UNIC_WR_INLINE;
	s.num_sge = 0;
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_FLAGS);
	s = write_of(t);
	s.num_sge = UNIC_SQ_SGE_MAX + 1;
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_SGE);
	s = write_of(t);
	s.flags |= UNIC_WR_INLINE;
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_SGE);
	s.num_sge = 0;
	s.inline_len = UNIC_SQ_INLINE_MAX + 1;
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_SGE);
	s = write_of(t);
	s.inline_len = 1;
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_SGE);
	/* the second slot is not posted */
	s = write_of(t);
	s.num_sge = 3;
	post(t, 0, &s);
	assert_int_equal(next_cqe(t).detail, UNIC_WD_SGE);
	doorbells(t)->tail[0].sq = unic_to_le32(t->l->qp[t->qp[0]].sq_head);
	connect_pair(t);
	s = write_of(t);
	s.sge[0].len = unic_to_le32(UNIC_MSG_MAX + 1);
	expect(t, &s, UNIC_WC_LOC_QP_OP_ERR, UNIC_WD_LENGTH);
}

static void local_memory_that_is_wrong(void **state)
{
	struct looped *t = *state;
	struct unic_cmd_mr_reg cmd = reg_of(t, DATA, 4, UNIC_REG_LIST);
	struct unic_sq_slot s = write_of(t);

	s.sge[0].lkey = unic_to_le32(t->data ^ 0x100);
	expect(t, &s, UNIC_WC_LOC_PROT_ERR, UNIC_WD_STAG);
	s.sge[0].len = unic_to_le32(0); /* nobody looks at it */
	expect(t, &s, UNIC_WC_SUCCESS, 0);
	cmd.pd = unic_to_le32(t->other_pd);
	s = write_of(t);
	s.sge[0].lkey = unic_to_le32(stag_of(t, &cmd));
	expect(t, &s, UNIC_WC_LOC_PROT_ERR, UNIC_WD_PD);
	s = write_of(t);
	s.sge[0].iova = unic_to_le64(DATA - 1);
	expect(t, &s, UNIC_WC_LOC_PROT_ERR, UNIC_WD_BOUNDS);
	s.sge[0].iova = unic_to_le64(DATA + 4 * 4096 - 63);
	expect(t, &s, UNIC_WC_LOC_PROT_ERR, UNIC_WD_BOUNDS);
	s = write_of(t);
	s.sge[0].len = unic_to_le32(4 * 4096 + 1);
	expect(t, &s, UNIC_WC_LOC_PROT_ERR, UNIC_WD_BOUNDS);
	cmd = reg_of(t, DATA, 4, UNIC_REG_LIST);
	cmd.rights = UNIC_MR_REMOTE_READ;
	s = write_of(t);
	s.opcode = UNIC_WR_READ;
	s.sge[0].lkey = unic_to_le32(stag_of(t, &cmd));
	expect(t, &s, UNIC_WC_LOC_PROT_ERR, UNIC_WD_RIGHTS);
}

static void remote_memory_that_is_wrong(void **state)
{
	struct looped *t = *state;
	struct unic_cmd_mr_reg cmd = reg_of(t, DATA, 4, UNIC_REG_LIST);
	struct unic_sq_slot s = write_of(t);

	s.rkey = unic_to_le32(t->data ^ 0x100);
	expect(t, &s, UNIC_WC_REM_ACCESS_ERR, 0);
	s = write_of(t);
	s.remote = unic_to_le64(DATA + 4 * 4096 - 63);
	expect(t, &s, UNIC_WC_REM_ACCESS_ERR, 0);
	cmd.rights = UNIC_MR_LOCAL_WRITE;
	s = write_of(t);
	s.rkey = unic_to_le32(stag_of(t, &cmd));
	expect(t, &s, UNIC_WC_REM_ACCESS_ERR, 0);
	/* a queue pair that grants nothing */
	t->l->qp[t->qp[1]].rights = 0;
	s = write_of(t);
	expect(t, &s, UNIC_WC_REM_ACCESS_ERR, 0);
	/* a peer that is not there, or not ready */
	t->l->qp[t->qp[1]].state = UNIC_QPS_INIT;
	expect(t, &s, UNIC_WC_RETRY_EXC_ERR, 0);
	t->l->qp[t->qp[1]].state = UNIC_QPS_ERR;
	expect(t, &s, UNIC_WC_RETRY_EXC_ERR, 0);
	t->l->qp[t->qp[0]].dest = LOOP_QPS;
	expect(t, &s, UNIC_WC_RETRY_EXC_ERR, 0);
	t->l->qp[t->qp[0]].dest = LOOP_QPS - 1;
	expect(t, &s, UNIC_WC_RETRY_EXC_ERR, 0);
}

/* The bytes of WRITE, READ and inline data arrive, over pages and lists. */
static void bytes_arrive(void **state)
{
	struct looped *t = *state;
	struct unic_sq_slot s = write_of(t);
	uint8_t *data = t->mem[0] + DATA;
	uint32_t i;

	for (i = 0; i < 4096; i++)
		data[i] = (uint8_t)(i * 7);
	s.num_sge = 2;
	s.sge[0].len = unic_to_le32(100);
	s.sge[1] = s.sge[0];
	s.sge[1].iova = unic_to_le64(DATA + 100);
	s.sge[1].len = unic_to_le32(900);
	s.remote = unic_to_le64(DATA + 8192 - 500); /* over the end of a page */
	expect(t, &s, UNIC_WC_SUCCESS, 0);
	assert_memory_equal(data + 8192 - 500, data, 1000);
	s.opcode = UNIC_WR_READ;
	s.remote = unic_to_le64(DATA + 3000);
	s.sge[0].iova = unic_to_le64(DATA + 3 * 4096);
	s.sge[1].iova = unic_to_le64(DATA + 3 * 4096 + 100);
	expect(t, &s, UNIC_WC_SUCCESS, 0);
	assert_memory_equal(data + 3 * 4096, data + 3000, 1000);
	s = write_of(t);
	s.flags |= UNIC_WR_INLINE;
	s.num_sge = 0;
	s.inline_len = 20;
	memset(s.sge, 0x5c, 20);
	expect(t, &s, UNIC_WC_SUCCESS, 0);
	assert_memory_equal(data + 4096, s.sge, 20);
}

static struct unic_rq_slot recv_of(const struct looped *t, uint32_t len)
{
	struct unic_rq_slot r = {
		.num_sge = 1,
		.wr_id = unic_to_le64(77),
		.sge = { { .iova = unic_to_le64(DATA + 8192),
			   .len = unic_to_le32(len),
			   .lkey = unic_to_le32(t->data) } },
	};

	return r;
}

static void expect_recv(struct looped *t, uint8_t opcode, uint8_t status,
			uint32_t imm)
{
	struct unic_cqe cqe = next_cqe(t);

	assert_int_equal(unic_from_le64(cqe.wr_id), 77);
	assert_int_equal(cqe.opcode, opcode);
	assert_int_equal(cqe.status, status);
	assert_int_equal(unic_from_le32(cqe.imm), imm);
	assert_int_equal(cqe.flags, imm ? UNIC_WC_WITH_IMM : 0);
}

/* A receive that fits, with and without an immediate, is too short, or is wrong. */
static void receives(void **state)
{
	struct looped *t = *state;
	struct unic_rq_slot r = recv_of(t, 64);
	struct unic_sq_slot s = write_of(t);

	s.opcode = UNIC_WR_SEND;
	post(t, 0, &s);
	assert_false(loop_data_poll(t->l)); /* nobody receives yet */
	post_recv(t, 1, &r);
	expect_recv(t, UNIC_WC_RECV, UNIC_WC_SUCCESS, 0);
	assert_int_equal(next_cqe(t).status, UNIC_WC_SUCCESS);
	s.imm = unic_to_le32(5);
	s.opcode = UNIC_WR_SEND_IMM;
	post(t, 0, &s);
	post_recv(t, 1, &r);
	expect_recv(t, UNIC_WC_RECV, UNIC_WC_SUCCESS, 5);
	assert_int_equal(next_cqe(t).status, UNIC_WC_SUCCESS);
	s.opcode = UNIC_WR_WRITE_IMM;
	s.remote = unic_to_le64(DATA + 4096);
	post(t, 0, &s);
	assert_false(loop_data_poll(t->l));
	post_recv(t, 1, &r);
	expect_recv(t, UNIC_WC_RECV_WRITE_IMM, UNIC_WC_SUCCESS, 5);
	assert_int_equal(next_cqe(t).status, UNIC_WC_SUCCESS);
	s.opcode = UNIC_WR_SEND;
	post(t, 0, &s);
	r = recv_of(t, 63);
	post_recv(t, 1, &r);
	expect_recv(t, UNIC_WC_RECV, UNIC_WC_LOC_LEN_ERR, 0);
	assert_int_equal(next_cqe(t).status, UNIC_WC_REM_INV_REQ_ERR);
	connect_pair(t);
	post(t, 0, &s);
	r = recv_of(t, 64);
	r.sge[0].lkey = unic_to_le32(t->data ^ 0x100);
	post_recv(t, 1, &r);
	expect_recv(t, UNIC_WC_RECV, UNIC_WC_LOC_PROT_ERR, 0);
	assert_int_equal(next_cqe(t).status, UNIC_WC_REM_OP_ERR);
}

/* Indices that no process writes: the queue pair ends, and nothing else. */
static void wild_indices(void **state)
{
	struct looped *t = *state;
	struct loop_qp *qp = &t->l->qp[t->qp[0]];

	doorbells(t)->tail[0].sq = unic_to_le32(qp->sq_head + ENTRIES + 1);
	assert_false(loop_data_poll(t->l));
	assert_int_equal(qp->state, UNIC_QPS_ERR);
	doorbells(t)->tail[0].sq = unic_to_le32(qp->sq_head);
	connect_pair(t);
	doorbells(t)->tail[1].rq = unic_to_le32(ENTRIES + 1);
	post(t, 0, &(struct unic_sq_slot){ .opcode = UNIC_WR_SEND });
	assert_false(loop_data_poll(t->l));
	assert_int_equal(qp->state, UNIC_QPS_RTS);
}

/* A completion queue that is full says so; a record that has no room is lost. */
static void full_completion_queue(void **state)
{
	struct looped *t = *state;
	struct unic_sq_slot s = write_of(t);
	uint32_t n;

	for (n = 0; n < CQ_ENTRIES; n++) {
		post(t, 0, &s);
		assert_true(loop_data_poll(t->l));
	}
	assert_int_equal(t->l->cq[t->cq].written, CQ_ENTRIES);
	post(t, 0, &s);
	loop_data_poll(t->l);
	assert_int_equal(t->l->cq[t->cq].written, CQ_ENTRIES);
}

/* Pages that lie outside of the slots' memory, of which the driver lists none, are not
 * touched. */
static void pages_outside_of_the_slots(void **state)
{
	struct looped *t = *state;
	struct loop_mr *mr = loop_mr_of(t->l, t->data);
	struct unic_sq_slot s = write_of(t);

	mr->page[1] = (uint64_t)LOOP_SLOTS << 48;
	expect(t, &s, UNIC_WC_SUCCESS, 0);
	mr->page[1] = MEM_BYTES - 32;
	expect(t, &s, UNIC_WC_SUCCESS, 0);
	mr->page[0] = (uint64_t)LOOP_SLOTS << 48;
	expect(t, &s, UNIC_WC_SUCCESS, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(processes_that_are_not_there,
						up, down),
		cmocka_unit_test_setup_teardown(regions_that_are_not_there, up,
						down),
		cmocka_unit_test_setup_teardown(pages_out_of_order, up, down),
		cmocka_unit_test_setup_teardown(
			completion_queues_that_are_wrong, up, down),
		cmocka_unit_test_setup_teardown(queue_pairs_that_are_wrong, up,
						down),
		cmocka_unit_test_setup_teardown(nobody_at_an_address, up, down),
		cmocka_unit_test_setup_teardown(device, up, down),
		cmocka_unit_test_setup_teardown(requests_that_are_malformed, up,
						down),
		cmocka_unit_test_setup_teardown(local_memory_that_is_wrong, up,
						down),
		cmocka_unit_test_setup_teardown(remote_memory_that_is_wrong, up,
						down),
		cmocka_unit_test_setup_teardown(bytes_arrive, up, down),
		cmocka_unit_test_setup_teardown(receives, up, down),
		cmocka_unit_test_setup_teardown(wild_indices, up, down),
		cmocka_unit_test_setup_teardown(full_completion_queue, up,
						down),
		cmocka_unit_test_setup_teardown(pages_outside_of_the_slots, up,
						down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

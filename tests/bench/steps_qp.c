/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * steps_qp.c - the longest rounds of work, second half: queue pairs, each with as
 * much under way as it can have, and what happens to all of them at once; and
 * several of the longest steps in one round. See steps.c.
 */
#include "steps.h"

#define SLOTS	   UNIC_QP_SLOTS
#define CQES	   2048u
#define RING_PAGES (SLOTS * 64u / 4096u)
#define PAGES	   (RING_PAGES + CQES * 32u / 4096u)
#define ROWS	   64u /* slots of a ring that all queue pairs share */
#define REQUESTS   UNIC_QP_WINDOW

static struct rig_mr rings;	  /* of process 0 of NIC A */
static struct unic_sq_slot *ring; /* a send ring in it */
static uint32_t cq;
static uint16_t number[UNIC_QPS]; /* queue pair of each row */

/* A completion queue of @entries behind a ring as long as can be, which is all
 * queue pairs' send ring and receive ring: a process may do that. */
static void make_rings(uint32_t entries)
{
	struct unic_cmd_cq_create create = {
		.pd = unic_to_le32(pda),
		.entries = unic_to_le32(entries),
		.db_index = unic_to_le32(1),
	};
	struct unic_cpl_obj cpl;

	assert_int_equal(rig_reg(&a, 0, pda, PAGES, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &rings),
			 0);
	memset(rings.mem, 0, PAGES * 4096);
	ring = (void *)rings.mem;
	create.stag = unic_to_le32(rings.stag);
	create.iova = unic_to_le64(rings.iova + RING_PAGES * 4096);
	assert_int_equal(rig_cmd(&a, UNIC_CMD_CQ_CREATE, &create, &cpl), 0);
	cq = unic_from_le32(cpl.id);
}

/* A queue pair at doorbell row @row, connected with itself: no request is
 * answered, because A drops what it receives. */
static bool make_qp(uint32_t row, uint32_t slots)
{
	struct unic_cmd_qp_create create = {
		.pd = unic_to_le32(pda),
		.sq_slots = unic_to_le16((uint16_t)slots),
		.rq_slots = unic_to_le16((uint16_t)slots),
		.stag = unic_to_le32(rings.stag),
		.send_cq = unic_to_le32(cq),
		.recv_cq = unic_to_le32(cq),
		.sq_iova = unic_to_le64(rings.iova),
		.rq_iova = unic_to_le64(rings.iova),
		.db_index = unic_to_le32(row),
	};
	struct unic_cpl_obj cpl;
	struct rig_qp qp = qa;

	if (rig_cmd(&a, UNIC_CMD_QP_CREATE, &create, &cpl))
		return false;
	qp.qpn = unic_from_le32(cpl.id);
	qp.row = row;
	number[row] = (uint16_t)(qp.qpn & 0xff);
	rig_connect(&a, &qp, &a, &qp);
	return true;
}

static struct unic_qp_ctx *qp_of(uint32_t row)
{
	return &a.nic.qps.qp[number[row]];
}

/* Request @at: two pieces of @len bytes of regions @one and @two. */
static void request(uint32_t at, const struct rig_mr *one,
		    const struct rig_mr *two, uint32_t len)
{
	ring[at] = (struct unic_sq_slot){
		.opcode = UNIC_WR_WRITE,
		.num_sge = 2,
		.remote = unic_to_le64(ma.iova),
		.rkey = unic_to_le32(ma.stag),
		.sge[0].iova = unic_to_le64(one->iova),
		.sge[0].len = unic_to_le32(len),
		.sge[0].lkey = unic_to_le32(one->stag),
		.sge[1].iova = unic_to_le64(two->iova),
		.sge[1].len = unic_to_le32(len),
		.sge[1].lkey = unic_to_le32(two->stag),
	};
}

/* Makes all queue pairs that there are; returns how many. */
static uint32_t all_qps(uint32_t entries)
{
	uint32_t n = 0;

	fresh();
	a.nic.rx_fault = UINT32_MAX;
	make_rings(entries);
	while (n < UNIC_QPS - 1 && make_qp(n + 1, ROWS))
		n++;
	assert_true(n > UNIC_QPS / 2 - 2);
	return n;
}

static void ring_all(uint32_t n, enum unic_db_kind kind, uint32_t tail)
{
	uint32_t row;

	for (row = 1; row <= n; row++)
		rig_ring(&a, 0, kind, row, tail);
}

/* As all_qps(), each with a full window of requests without an answer. */
static uint32_t all_busy(uint32_t entries)
{
	uint32_t n = all_qps(entries), i;

	for (i = 0; i < REQUESTS; i++)
		request(i, &ma, &ma, 64);
	ring_all(n, UNIC_DB_SQ, REQUESTS);
	longest(&a, 400);
	for (i = 1; i <= n; i++)
		assert_int_equal(qp_of(i)->sq.next, REQUESTS);
	return n;
}

/* ------------------------------------------------------------------- idle */

static void idle_ones(void)
{
	uint32_t n = all_qps(CQES), i, row;

	for (row = 0; row < 255; row++)
		rig_ring(&a, 0, UNIC_DB_SQ, 1 + row % n, 0);
	report("doorbells_of_a_full_fifo", longest(&a, 1));
	longest(&a, 64);
	for (row = 0; row < 300; row++)
		rig_ring(&a, 0, UNIC_DB_SQ, 1 + row % n, 0);
	report("doorbells_overrun", longest(&a, 1));
	longest(&a, 64);
	ring_all(n, UNIC_DB_RQ, ROWS);
	report("doorbells_of_all_qps", longest(&a, 1));
	longest(&a, 64);
	MEASURE(i, unic_nic_quiesce(&a.nic));
	report("quiesce_all_qps", i);
	n = all_qps(CQES);
	ring_all(n, UNIC_DB_RQ, ROWS);
	longest(&a, 64);
	for (i = 1; i <= n; i++)
		unic_qp_error(&a.nic.transport, qp_of(i), UNIC_WC_LOC_BUS_ERR);
	report("flush_all_qps", longest(&a, 300));
	n = all_qps(CQES);
	for (i = 1; i <= n; i++)
		unic_qp_timer(&a.nic.transport, qp_of(i), a.nic.now_ns + 1000);
	a.port.now_ns += 10000;
	report("timers_of_idle_qps", longest(&a, 4));
}

/* ------------------------------------------------------------------- busy */

static void send_rounds(void)
{
	uint32_t n = all_qps(CQES), i;

	for (i = 0; i < REQUESTS; i++)
		request(i, &ma, &ma, 2048);
	ring_all(n, UNIC_DB_SQ, REQUESTS);
	report("send_4096_of_all_qps", longest(&a, 400));
	n = all_qps(CQES);
	for (i = 0; i < REQUESTS; i++)
		request(i, &ma, &ma, 4);
	ring_all(n, UNIC_DB_SQ, REQUESTS);
	report("send_8_of_all_qps", longest(&a, 400));
}

/* All requests time out; they are sent again in the rounds after that. */
static void timers(void)
{
	uint32_t n = all_busy(CQES), i;

	a.port.now_ns += 100000000000ull;
	report("timers_all_outstanding", longest(&a, 400));
	n = all_busy(CQES);
	for (i = 1; i <= n; i++)
		qp_of(i)->sq.retries = 0;
	a.port.now_ns += 100000000000ull;
	report("timers_last_retry", longest(&a, 400));
}

/* The completion queue of all is full: one flushes, and so the others fail. */
static void cq_full(void)
{
	all_busy(2);
	unic_qp_error(&a.nic.transport, qp_of(1), UNIC_WC_LOC_BUS_ERR);
	report("cq_fails_under_all_qps", longest(&a, 64));
}

static void destroy(void)
{
	struct unic_cmd_obj cmd = { .hdr = { .opcode = UNIC_CMD_QP_DESTROY } };
	struct unic_cmd_obj detach = {
		.hdr = { .opcode = UNIC_CMD_PROC_DETACH },
	};
	uint32_t i;

	fresh();
	a.nic.rx_fault = UINT32_MAX;
	make_rings(CQES);
	assert_true(make_qp(1, SLOTS));
	for (i = 0; i < SLOTS; i++)
		request(i, &ma, &ma, 64);
	rig_ring(&a, 0, UNIC_DB_SQ, 1, SLOTS);
	rig_ring(&a, 0, UNIC_DB_RQ, 1, SLOTS);
	longest(&a, 64);
	assert_int_equal(qp_of(1)->sq.next, REQUESTS);
	cmd.id = unic_to_le32(qp_of(1)->qpn);
	report("destroy_full_qp", commands(&cmd, 1));
	all_busy(CQES);
	report("detach_all_qps", commands(&detach, 1));
	all_busy(CQES);
	MEASURE(i, unic_nic_quiesce(&a.nic));
	report("quiesce_busy_qps", i);
}

/* ------------------------------------------------ the time of regions is over */

/* The region's owner is asked for it, and does not answer. */
static void evict(const struct rig_mr *mr)
{
	struct unic_cmd_mr cmd = { .mr = unic_to_le32(mr->mr),
				   .gen = unic_to_le32(mr->gen) };
	struct unic_evt_mr notice;

	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_EVICT, &cmd, NULL), 0);
	do {
		assert_true(rig_event(&a, &notice));
	} while (notice.hdr.type != UNIC_EVT_NOTICE);
	assert_int_equal(rig_ack(&a, &notice), 0);
}

#define LATE 16u /* regions whose deadline is the same */

static void deadlines(void)
{
	struct rig_mr mr[LATE];
	uint32_t n, i;

	all_busy(CQES);
	evict(&ma);
	a.port.now_ns += 21000000;
	report("deadline_of_a_region_in_use", longest(&a, 64));
	n = all_qps(CQES);
	for (i = 0; i < LATE; i++)
		assert_int_equal(rig_reg(&a, 0, pda, 1, UNIC_CLASS_RDMA,
					 UNIC_REG_LIST, 0, &mr[i]),
				 0);
	for (i = 0; i < ROWS; i++)
		request(i, &ma, &ma, 64);
	/* each is in use by one queue pair: the others are looked through */
	for (i = 0; i < LATE; i++) {
		request(0, &mr[i], &mr[i], 64);
		rig_ring(&a, 0, UNIC_DB_SQ, n - i, 1);
		longest(&a, 8);
	}
	request(0, &ma, &ma, 64);
	for (i = 1; i <= n; i++)
		rig_ring(&a, 0, UNIC_DB_SQ, i, REQUESTS);
	longest(&a, 400);
	for (i = 0; i < LATE; i++)
		evict(&mr[i]);
	a.port.now_ns += 21000000;
	report("deadlines_of_16_regions_in_use", longest(&a, 64));
}

/* --------------------------------------------------------------------- forms */

#define FORMS (UNIC_ELEMENTS / 4u) /* of a process */

/* A form of region MA: all of it. False: there are no more. */
static bool make_form(uint8_t kind, struct rig_mr *form)
{
	struct unic_cmd_mr_alloc alloc = {
		.pd = unic_to_le32(pda),
		.kind = kind,
		.n = unic_to_le32(kind == UNIC_FORM_INDIRECT),
	};
	struct unic_cmd_mr_make make = {
		.n = unic_to_le32(1),
		.rights = UNIC_MR_REMOTE_READ,
	};
	struct unic_sge *list;
	struct unic_cpl_mr_reg cpl;

	if (rig_cmd(&a, UNIC_CMD_MR_ALLOC, &alloc, &cpl))
		return false;
	make.mr = cpl.mr;
	make.gen = cpl.gen;
	make.iova = unic_to_le64(ma.iova);
	list = (void *)(a.port.bar + UNIC_BAR_LIST_OFF +
			a.cmd_tail % UNIC_CMD_ENTRIES * UNIC_LIST_BYTES);
	*list = (struct unic_sge){ .iova = unic_to_le64(ma.iova),
				   .len = unic_to_le32(4096),
				   .lkey = unic_to_le32(ma.stag) };
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_MAKE, &make, &cpl), 0);
	form->mr = unic_from_le32(cpl.mr);
	form->gen = unic_from_le32(cpl.gen);
	form->stag = unic_from_le32(cpl.stag);
	form->iova = ma.iova;
	return true;
}

static void dependents(void)
{
	struct unic_cmd_mr dereg = { .hdr = { .opcode = UNIC_CMD_MR_DEREG } };
	static struct rig_mr form[FORMS];
	uint32_t i, k, n, forms = 0;

	fresh();
	while (forms < FORMS && make_form(UNIC_FORM_SUB, &form[forms]))
		forms++;
	assert_true(forms >= UNIC_QPS / 2);
	dereg.mr = unic_to_le32(ma.mr);
	dereg.gen = unic_to_le32(ma.gen);
	report("dereg_all_dependents", commands(&dereg, 1));
	n = all_qps(CQES);
	for (i = 0; i < forms; i++)
		assert_true(make_form(UNIC_FORM_SUB, &form[i]));
	/* each queue pair uses forms that no other uses */
	for (i = 0; i < n; i++) {
		for (k = 0; k < REQUESTS; k++)
			request(k, &form[i % forms],
				&form[(i + UNIC_QPS) % forms], 64);
		rig_ring(&a, 0, UNIC_DB_SQ, i + 1, REQUESTS);
		longest(&a, 16);
	}
	evict(&ma);
	a.port.now_ns += 21000000;
	report("deadline_of_all_dependents", longest(&a, 64));
}

/* Queue pair @row is to invalidate @form. */
static void invalidate(uint32_t row, const struct rig_mr *form)
{
	ring[0] = (struct unic_sq_slot){
		.opcode = UNIC_WR_LOCAL_INV,
		.flags = UNIC_WR_SIGNALED,
		.rkey = unic_to_le32(form->stag),
	};
	rig_ring(&a, 0, UNIC_DB_SQ, row, 1);
	longest(&a, 8);
}

/* T ends for @forms forms, each of which a queue pair of its own is to
 * invalidate, while @users queue pairs have full windows of requests that use
 * them. */
static void invalidations(const char *name, uint32_t forms, uint32_t users)
{
	static struct rig_mr form[LATE];
	uint32_t i, k;

	assert_true(all_qps(CQES) >= users + forms);
	for (i = 0; i < forms; i++)
		assert_true(make_form(UNIC_FORM_INDIRECT, &form[i]));
	for (k = 0; k < REQUESTS; k++)
		request(k, &form[k % forms], &form[k % forms], 64);
	for (i = 1; i <= users; i++)
		rig_ring(&a, 0, UNIC_DB_SQ, i, REQUESTS);
	longest(&a, 400);
	for (i = 0; i < forms; i++)
		invalidate(users + 1 + i, &form[i]);
	assert_int_equal(rig_count(&a, forms_invalidated), 0);
	a.port.now_ns += 21000000;
	report(name, longest(&a, 64));
	longest(&a, 400);
	assert_int_equal(rig_count(&a, forms_invalidated), forms);
}

/* The longest list that a work request can name, in memory. */
static void largest_list(void)
{
	struct unic_cmd_mr_alloc alloc = {
		.pd = unic_to_le32(pda),
		.kind = UNIC_FORM_INDIRECT,
		.n = unic_to_le32(UNIC_LIST_ELEMENTS),
	};
	struct unic_cpl_mr_reg cpl;
	struct unic_sge *list;
	uint32_t i;

	fresh();
	a.nic.rx_fault = UINT32_MAX;
	make_rings(CQES);
	assert_true(make_qp(1, ROWS));
	assert_int_equal(rig_cmd(&a, UNIC_CMD_MR_ALLOC, &alloc, &cpl), 0);
	list = (void *)ma.mem;
	for (i = 0; i < UNIC_LIST_ELEMENTS; i++)
		list[i] = (struct unic_sge){ .iova = unic_to_le64(ma.iova),
					     .len = unic_to_le32(16),
					     .lkey = unic_to_le32(ma.stag) };
	ring[0] = (struct unic_sq_slot){
		.opcode = UNIC_WR_REG_INDIRECT,
		.num_sge = 1,
		.imm = unic_to_le32(UNIC_MR_REMOTE_READ << 8),
		.rkey = cpl.stag,
		.ctrl_len = unic_to_le32(1),
		.sge[0].iova = unic_to_le64(ma.iova),
		.sge[0].len = unic_to_le32(16 * UNIC_LIST_ELEMENTS),
		.sge[0].lkey = unic_to_le32(ma.stag),
	};
	rig_ring(&a, 0, UNIC_DB_SQ, 1, 1);
	report("largest_list", longest(&a, 8));
	assert_int_equal(a.nic.derived.form[unic_from_le32(cpl.mr)].used,
			 UNIC_LIST_ELEMENTS);
}

/* -------------------------------------------------------------------- frames */

/* A port looks at the rings of others once in a while: ROUNDS are enough. */
#define ROUNDS 100u

/* Two frames for each of the rig's requests: a burst of them. */
static void burst_posted(uint8_t opcode)
{
	uint32_t i;

	two_nics_up(2);
	longest(&a, 4);
	longest(&b, 4);
	for (i = 0; i < RIG_SLOTS; i++)
		rig_send(&a, &qa, opcode, i, &ma, 0, 8192, mb.iova, mb.stag);
	longest(&a, ROUNDS);
}

static void bursts(void)
{
	burst_posted(UNIC_WR_WRITE);
	report("burst_of_writes_4096", longest(&b, ROUNDS));
	burst_posted(UNIC_WR_READ);
	report("reads_4096_asked_for", longest(&b, ROUNDS));
	report("burst_of_responses_4096", longest(&a, ROUNDS));
}

/* ------------------------------------------------------- several in one round */

/* Everything at the same clock: all requests are sent again, a heartbeat is due, four
 * of the longest dumps are asked for, doorbells have overrun. */
static void together(void)
{
	struct unic_cmd_dump dump[4];
	uint32_t n = all_busy(CQES), i;

	for (i = 0; i < 300; i++)
		rig_ring(&a, 0, UNIC_DB_SQ, 1 + i % n, REQUESTS);
	for (i = 0; i < 4; i++)
		dump[i] = (struct unic_cmd_dump){
			.hdr = { .opcode = UNIC_CMD_DUMP },
			.table = unic_to_le32(UNIC_TABLE_QP),
		};
	a.port.now_ns += 100000000000ull;
	report("several_at_once", commands(dump, 4));
}

static void all(void **state)
{
	(void)state;
	count_init();
	MEASURE(empty, );
	idle_ones();
	send_rounds();
	timers();
	cq_full();
	destroy();
	deadlines();
	dependents();
	invalidations("local_inv_beyond_t", 1, UNIC_QPS / 2 - 4);
	invalidations("local_invs_of_16_regions", LATE,
		      UNIC_QPS / 2 - 4 - LATE);
	largest_list();
	bursts();
	together();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_cq_resize.c - a completion queue that goes on in another ring: which record is in which
 * ring, how many fit, who is told, and what is refused without a trace.
 */
#include "unit.h"

#include "rig.h"

#define PAGES 2u /* of the new ring's region */

static struct rig r;
static struct rig_qp qp;
static struct rig_mr ring;
static uint32_t pd;

static int up(void **state)
{
	(void)state;
	rig_up(&r, 2);
	rig_attach(&r, 0, 1);
	rig_attach(&r, 1, 1);
	pd = rig_pd(&r, 0);
	rig_qp(&r, 0, pd, 2, &qp);
	assert_int_equal(rig_reg(&r, 0, pd, PAGES, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &ring),
			 0);
	memset(ring.mem, 0, PAGES * 4096);
	return 0;
}

static void post(uint32_t id)
{
	struct unic_cqe cqe = { .wr_id = unic_to_le64(id),
				.qpn = unic_to_le32(qp.qpn) };

	assert_true(unic_cq_post(&r.nic.transport, qp.cq, &cqe));
}

static void post_until(uint32_t from, uint32_t end)
{
	for (; from < end; from++)
		post(from);
}

static struct unic_db_tail *row(void)
{
	return (struct unic_db_tail *)&r.nic.procs.proc[0].db->tail[2];
}

static uint32_t announced(void)
{
	return unic_from_le32(r.nic.procs.proc[0].np->cq_events[2]);
}

static struct unic_cmd_cq_resize to(uint32_t entries)
{
	return (struct unic_cmd_cq_resize){
		.id = unic_to_le32(qp.cq),
		.stag = unic_to_le32(ring.stag),
		.iova = unic_to_le64(ring.iova),
		.entries = unic_to_le32(entries),
	};
}

static uint8_t send(struct unic_cmd_cq_resize cmd)
{
	return rig_cmd(&r, UNIC_CMD_CQ_RESIZE, &cmd, NULL);
}

/* Returns the number of the first record in the new ring. */
static uint32_t resize(uint32_t entries)
{
	struct unic_cmd_cq_resize cmd = to(entries);
	struct unic_cpl_cq_resize cpl;

	assert_int_equal(rig_cmd(&r, UNIC_CMD_CQ_RESIZE, &cmd, &cpl), 0);
	return unic_from_le32(cpl.records);
}

/* Record @n is at its place in @at, a ring of @entries. */
static void is_in(const void *at, uint32_t entries, uint32_t n)
{
	const struct unic_cqe *cqe = (const struct unic_cqe *)at + n % entries;

	assert_int_equal(unic_from_le32(cqe->seq), n + 1);
	assert_int_equal(unic_from_le64(cqe->wr_id), n);
}

static void goes_on_in_the_new_ring(void **state)
{
	uint32_t n;

	(void)state;
	post_until(0, 5);
	row()->cq_ci = unic_to_le32(2);
	assert_int_equal(resize(256), 5);
	post_until(5, 2 + 256); /* as many as fit, over a page of the region */
	assert_int_equal(rig_count(&r, cq_overflows), 0);
	for (n = 0; n < 5; n++)
		is_in(qp.cqe, RIG_SLOTS, n);
	for (n = 5; n < 258; n++)
		is_in(ring.mem, 256, n);
	assert_int_equal(unic_from_le32(qp.cqe[5].seq), 0);
	/* nothing is where unread records of before are to go */
	post(258);
	assert_int_equal(rig_count(&r, cq_overflows), 1);
}

static void fits_what_is_unread(void **state)
{
	(void)state;
	post_until(0, 6);
	row()->cq_ci = unic_to_le32(1);
	assert_int_equal(send(to(4)), UNIC_ST_BUSY);
	post(6);
	is_in(qp.cqe, RIG_SLOTS, 6);
	row()->cq_ci = unic_to_le32(4);
	assert_int_equal(resize(4), 7);
	post(7);
	is_in(ring.mem, 4, 7);
	assert_int_equal(rig_count(&r, cq_overflows), 0);
	row()->cq_ci = unic_to_le32(5);
	post(8);
	is_in(ring.mem, 4, 8);
	post(9);
	assert_int_equal(rig_count(&r, cq_overflows), 1);
	assert_int_equal(send(to(8)), UNIC_ST_STATE);
}

/* Full, to the last record, is not too many. */
static void full_fits(void **state)
{
	(void)state;
	post_until(0, 4);
	assert_int_equal(resize(4), 4);
	row()->cq_ci = unic_to_le32(1);
	post(4);
	is_in(ring.mem, 4, 4);
	assert_int_equal(rig_count(&r, cq_overflows), 0);
}

/* An index that was never reached is as if it had not moved. */
static void believes_no_wild_index(void **state)
{
	(void)state;
	post_until(0, 6);
	row()->cq_ci = unic_to_le32(100);
	assert_int_equal(send(to(4)), UNIC_ST_BUSY);
}

static void stays_armed(void **state)
{
	(void)state;
	post(0);
	unic_cq_arm(&r.nic.transport, qp.cq, 1);
	resize(8);
	assert_int_equal(announced(), 0);
	post(1);
	assert_int_equal(announced(), 1);
	resize(16);
	unic_cq_arm(&r.nic.transport, qp.cq, 1); /* record 1 is there */
	assert_int_equal(announced(), 2);
}

static void post_solicited(void)
{
	struct unic_cqe cqe = { .qpn = unic_to_le32(qp.qpn),
				.flags = UNIC_WC_SOLICITED };

	assert_true(unic_cq_post(&r.nic.transport, qp.cq, &cqe));
}

static void stays_armed_for_solicited_ones(void **state)
{
	(void)state;
	post(0);
	unic_cq_arm(&r.nic.transport, qp.cq, 1u << 31 | 1);
	resize(8);
	post(1);
	assert_int_equal(announced(), 0);
	post_solicited();
	assert_int_equal(announced(), 1);
	row()->cq_ci = unic_to_le32(1);
	resize(4);
	unic_cq_arm(&r.nic.transport, qp.cq, 1u << 31 | 2);
	assert_int_equal(announced(), 2); /* that one, in the ring before */
	unic_cq_arm(&r.nic.transport, qp.cq, 1u << 31 | 3);
	row()->cq_ci = unic_to_le32(3);
	resize(2);
	assert_int_equal(announced(), 2);
	post_solicited();
	assert_int_equal(announced(), 3);
}

/* The next notification is due as it was before a resize that is refused. */
static void refused_stays_armed(void **state)
{
	(void)state;
	post_until(0, 3);
	unic_cq_arm(&r.nic.transport, qp.cq, 3);
	assert_int_equal(send(to(2)), UNIC_ST_BUSY);
	assert_int_equal(announced(), 0);
	post(3);
	is_in(qp.cqe, RIG_SLOTS, 3);
	assert_int_equal(announced(), 1);
}

/* As many places in another ring: the numbers say which place. */
static void to_the_same_size(void **state)
{
	(void)state;
	post_until(0, 5);
	row()->cq_ci = unic_to_le32(5);
	assert_int_equal(resize(RIG_SLOTS), 5);
	post_until(5, 5 + RIG_SLOTS);
	is_in(ring.mem, RIG_SLOTS, 5);
	is_in(ring.mem, RIG_SLOTS, RIG_SLOTS + 4);
	assert_int_equal(unic_from_le32(qp.cqe[5].seq), 0);
	assert_int_equal(rig_count(&r, cq_overflows), 0);
}

/* Numbers go on over 2^32. */
static void numbers_go_round(void **state)
{
	struct unic_cq_ctx *cq = &r.nic.cqs.cq[qp.cq];
	uint32_t n = 0u - 3;

	(void)state;
	cq->tail = cq->ci = n;
	row()->cq_ci = unic_to_le32(n);
	post(n);
	post(n + 1);
	unic_cq_arm(&r.nic.transport, qp.cq, (n + 3) & 0x7fffffff);
	assert_int_equal(resize(4), n + 2);
	post(n + 2);
	assert_int_equal(announced(), 0);
	post(n + 3);
	assert_int_equal(announced(), 1);
	is_in(ring.mem, 4, UINT32_MAX);
	is_in(ring.mem, 4, 0);
	row()->cq_ci = unic_to_le32(1);
	assert_int_equal(resize(2), 1);
	post_until(1, 3);
	is_in(ring.mem, 2, 2);
	assert_int_equal(rig_count(&r, cq_overflows), 0);
}

/* A full queue that gets more room goes on; one whose record found none has failed before. */
static void more_room_in_time(void **state)
{
	struct unic_evt_obj evt;

	(void)state;
	post_until(0, RIG_SLOTS);
	assert_int_equal(resize(2 * RIG_SLOTS), RIG_SLOTS);
	post_until(RIG_SLOTS, 2 * RIG_SLOTS);
	assert_int_equal(rig_count(&r, cq_overflows), 0);
	unic_cq_arm(&r.nic.transport, qp.cq, 100);
	post(2 * RIG_SLOTS);
	assert_int_equal(rig_count(&r, cq_overflows), 1);
	assert_int_equal(announced(), 1);
	rig_expect(&r, UNIC_EVT_CQ_ERROR, &evt);
	assert_int_equal(send(to(4 * RIG_SLOTS)), UNIC_ST_STATE);
	assert_int_equal(r.nic.cqs.cq[qp.cq].mask, 2 * RIG_SLOTS - 1);
}

/* The bus refuses a record on its way to the old ring: the queue fails, in its new one. */
static void a_late_record_is_refused(void **state)
{
	struct unic_evt_obj evt;

	(void)state;
	r.port.late_dma = true;
	post(0);
	assert_int_equal(resize(8), 1);
	r.port.bad_dma = true;
	fake_dma_run(&r.port, 1);
	unic_dma_poll(&r.nic.transport);
	rig_expect(&r, UNIC_EVT_CQ_ERROR, &evt);
	assert_int_equal(unic_from_le32(evt.id), qp.cq);
	assert_int_equal(unic_from_le32(evt.detail), UNIC_CQ_BUS);
	assert_int_equal(r.nic.mrs.mr[qp.rings.mr].dmas, 0);
	assert_int_equal(send(to(16)), UNIC_ST_STATE);
}

/* A process that is gone takes its queue along, and both regions. */
static void goes_with_its_process(void **state)
{
	struct unic_cmd_obj gone = { 0 };

	(void)state;
	post(0);
	resize(8);
	assert_int_equal(rig_cmd(&r, UNIC_CMD_PROC_DETACH, &gone, NULL), 0);
	rig_run(&r, 10000000);
	assert_false(r.nic.cqs.cq[qp.cq].used);
	assert_int_equal(r.nic.mrs.mr[ring.mr].queues, 0);
	assert_int_equal(r.nic.mrs.mr[qp.rings.mr].queues, 0);
	rig_attach(&r, 0, 1);
	assert_int_equal(send(to(8)), UNIC_ST_NO_CQ);
}

/* After a reset there is neither the queue nor a ring of it. */
static void goes_with_a_reset(void **state)
{
	(void)state;
	post(0);
	resize(8);
	rig_reset(&r);
	rig_attach(&r, 0, 1);
	assert_int_equal(send(to(8)), UNIC_ST_NO_CQ);
	assert_int_equal(r.nic.cqs.cq[qp.cq].mr, 0);
}

/* A record on its way to the old ring gets there, and its region stays until then. */
static void late_records_keep_the_old_ring(void **state)
{
	(void)state;
	r.port.late_dma = true;
	post(0);
	assert_int_equal(resize(8), 1);
	unic_cq_arm(&r.nic.transport, qp.cq, 1);
	post(1);
	assert_int_equal(unic_from_le32(qp.cqe[0].seq), 0);
	assert_int_not_equal(r.nic.mrs.mr[qp.rings.mr].dmas, 0);
	fake_dma_run(&r.port, 2);
	unic_dma_poll(&r.nic.transport);
	is_in(qp.cqe, RIG_SLOTS, 0);
	is_in(ring.mem, 8, 1);
	assert_int_equal(announced(), 1);
	assert_int_equal(r.nic.mrs.mr[qp.rings.mr].dmas, 0);
}

/* The region of the ring in use cannot end; that of the old one can. */
static void lets_the_old_region_go(void **state)
{
	struct rig_mr other;
	struct unic_cmd_cq_resize cmd = to(8);

	(void)state;
	assert_int_equal(rig_reg(&r, 0, pd, 1, UNIC_CLASS_CONTROL,
				 UNIC_REG_LIST, 0, &other),
			 0);
	memset(other.mem, 0, 4096);
	resize(16);
	assert_int_equal(rig_dereg(&r, &ring), UNIC_ST_BUSY);
	cmd.stag = unic_to_le32(other.stag);
	cmd.iova = unic_to_le64(other.iova);
	assert_int_equal(send(cmd), 0);
	assert_int_equal(rig_dereg(&r, &ring), 0);
	assert_int_equal(rig_dereg(&r, &other), UNIC_ST_BUSY);
	post(0);
	is_in(other.mem, 8, 0);
}

static void refused(struct unic_cmd_cq_resize cmd, uint8_t status)
{
	uint32_t written = r.nic.cqs.cq[qp.cq].tail;

	assert_int_equal(send(cmd), status);
	post(written);
	is_in(qp.cqe, RIG_SLOTS, written);
	assert_int_equal(r.nic.cqs.cq[qp.cq].mr, qp.rings.mr);
}

static void sizes_are_checked(void **state)
{
	static const uint32_t wrong[] = {
		0, 1, 3, 17, 2u * UNIC_CQ_ENTRIES, UINT32_MAX
	};
	struct unic_cmd_cq_resize c;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		refused(to(wrong[i]), UNIC_ST_INVALID);
	refused(to(512), UNIC_ST_BOUNDS);
	c = to(8), c.iova = unic_to_le64(ring.iova + 32);
	refused(c, UNIC_ST_INVALID);
	c = to(8), c.rsvd[0] = unic_to_le32(1);
	refused(c, UNIC_ST_INVALID);
}

/* A region of class @class of process @proc and @domain is no ring. */
static void no_ring(uint32_t proc, uint32_t domain, uint8_t class,
		    uint8_t status)
{
	struct unic_cmd_cq_resize c = to(8);
	struct rig_mr mr;

	assert_int_equal(
		rig_reg(&r, proc, domain, 1, class, UNIC_REG_LIST, 0, &mr), 0);
	c.stag = unic_to_le32(mr.stag);
	c.iova = unic_to_le64(mr.iova);
	refused(c, status);
}

static void owners_are_checked(void **state)
{
	struct unic_cmd_cq_resize c;

	(void)state;
	no_ring(0, pd, UNIC_CLASS_RDMA, UNIC_ST_INVALID);
	no_ring(0, rig_pd(&r, 0), UNIC_CLASS_CONTROL, UNIC_ST_NO_PD);
	no_ring(1, rig_pd(&r, 1), UNIC_CLASS_CONTROL, UNIC_ST_NO_MR);
	c = to(8), c.stag ^= unic_to_le32(0x100);
	refused(c, UNIC_ST_NO_MR);
	c = to(8), c.proc = unic_to_le32(1);
	refused(c, UNIC_ST_NO_CQ);
	c = to(8), c.id = unic_to_le32(qp.cq + 1);
	refused(c, UNIC_ST_NO_CQ);
	c = to(8), c.id = unic_to_le32(UNIC_CQS);
	refused(c, UNIC_ST_NO_CQ);
}

static void is_said(void **state)
{
	const struct unic_info *info = (void *)r.port.bar;

	(void)state;
	assert_true(unic_from_le64(info->features) & UNIC_FEAT_CQ_RESIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(goes_on_in_the_new_ring, up),
		cmocka_unit_test_setup(fits_what_is_unread, up),
		cmocka_unit_test_setup(full_fits, up),
		cmocka_unit_test_setup(believes_no_wild_index, up),
		cmocka_unit_test_setup(stays_armed, up),
		cmocka_unit_test_setup(stays_armed_for_solicited_ones, up),
		cmocka_unit_test_setup(refused_stays_armed, up),
		cmocka_unit_test_setup(to_the_same_size, up),
		cmocka_unit_test_setup(numbers_go_round, up),
		cmocka_unit_test_setup(more_room_in_time, up),
		cmocka_unit_test_setup(a_late_record_is_refused, up),
		cmocka_unit_test_setup(goes_with_its_process, up),
		cmocka_unit_test_setup(goes_with_a_reset, up),
		cmocka_unit_test_setup(late_records_keep_the_old_ring, up),
		cmocka_unit_test_setup(lets_the_old_region_go, up),
		cmocka_unit_test_setup(sizes_are_checked, up),
		cmocka_unit_test_setup(owners_are_checked, up),
		cmocka_unit_test_setup(is_said, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

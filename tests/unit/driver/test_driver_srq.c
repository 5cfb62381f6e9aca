/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_srq.c - shared receive queues in the driver: ids of the host, numbers of the
 * NIC, what it is asked, who is refused, and what is left when a process or the NIC goes.
 */
#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "srq.h"

#define NUMBER 5u /* of the queue on the NIC */

static struct fake *f;
static uint32_t mr;

static int up(void **state)
{
	(void)state;
	f = fake_new();
	f->host->features |= UNIC_FEAT_SRQ;
	f->host->share[UNIC_OBJ_SRQ] = 2;
	mr = region(f, 4);
	return 0;
}

static int down(void **state)
{
	(void)state;
	fake_delete(f);
	return 0;
}

static int create_in(uint32_t region_id)
{
	struct unic_ctl_srq_create r = { .iova = unic_to_le64(VA),
					 .mr = unic_to_le32(region_id),
					 .slots = unic_to_le32(8),
					 .db_index = unic_to_le32(9),
					 .user = unic_to_le32(0x77) };
	struct unic_cpl_obj cpl = { .id = unic_to_le32(NUMBER) };

	memcpy(f->cpl[UNIC_CMD_SRQ_CREATE], &cpl, sizeof(cpl));
	return request(f, UNIC_CTL_SRQ_CREATE, &r);
}

/* Returns its id. */
static uint32_t create(void)
{
	assert_int_equal(create_in(mr), 0);
	assert_int_equal(reply_u32(f, 20), NUMBER);
	return reply_u32(f, 16);
}

static int destroy(uint32_t id)
{
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };

	return request(f, UNIC_CTL_SRQ_DESTROY, &r);
}

static int modify(uint32_t id, uint32_t limit)
{
	struct unic_ctl_srq_modify r = { .id = unic_to_le32(id),
					 .limit = unic_to_le32(limit) };

	return request(f, UNIC_CTL_SRQ_MODIFY, &r);
}

static void says(uint8_t type, uint32_t id, uint32_t detail)
{
	struct unic_evt_obj evt = { .hdr.type = type,
				    .id = unic_to_le32(id),
				    .detail = unic_to_le32(detail) };

	event(f, &evt);
}

static void made_changed_ended(void **state)
{
	uint32_t id = create();
	struct unic_cmd_srq_create c;
	struct unic_cmd_srq_modify m;
	struct unic_cmd_obj o;

	(void)state;
	memcpy(&c, f->last[UNIC_CMD_SRQ_CREATE], sizeof(c));
	assert_int_equal(unic_from_le64(c.iova), VA);
	assert_int_equal(unic_from_le32(c.slots), 8);
	assert_int_equal(unic_from_le32(c.db_index), 9);
	assert_int_equal(modify(id, 6), 0);
	memcpy(&m, f->last[UNIC_CMD_SRQ_MODIFY], sizeof(m));
	assert_int_equal(unic_from_le32(m.id), NUMBER);
	assert_int_equal(unic_from_le32(m.limit), 6);
	f->answer[UNIC_CMD_SRQ_DESTROY] = UNIC_ST_BUSY;
	assert_int_equal(destroy(id), UNIC_ST_BUSY);
	f->answer[UNIC_CMD_SRQ_DESTROY] = 0;
	assert_int_equal(destroy(id), 0);
	memcpy(&o, f->last[UNIC_CMD_SRQ_DESTROY], sizeof(o));
	assert_int_equal(unic_from_le32(o.id), NUMBER);
	assert_int_equal(destroy(id), UNIC_ST_NO_SRQ);
	assert_int_equal(modify(id, 6), UNIC_ST_NO_SRQ);
}

static void refused(void **state)
{
	uint32_t first = create();

	(void)state;
	assert_int_equal(create_in(mr + 1), UNIC_ST_NO_MR);
	f->answer[UNIC_CMD_SRQ_CREATE] = UNIC_ST_SRQ_FULL;
	assert_int_equal(create_in(mr), UNIC_ST_SRQ_FULL);
	f->answer[UNIC_CMD_SRQ_CREATE] = 0;
	create();
	assert_int_equal(create_in(mr), UNIC_ST_QUOTA);
	assert_int_equal(destroy(first), 0);
	f->host->features &= ~UNIC_FEAT_SRQ;
	assert_int_equal(create_in(mr), UNIC_CTL_ST_UNSUPPORTED);
	f->host->features |= UNIC_FEAT_SRQ;
	f->host->proc[0].keep = true;
	assert_int_equal(create_in(mr), UNIC_CTL_ST_UNSUPPORTED);
	f->host->proc[0].keep = false;
	assert_int_equal(destroy(mr), UNIC_ST_NO_SRQ); /* a region */
}

/* The driver has no memory for what the NIC made. */
static void no_memory(void **state)
{
	struct unic_cmd_obj o;

	(void)state;
	f->os.fail_alloc = 1;
	assert_int_equal(create_in(mr), UNIC_CTL_ST_NO_MEMORY);
	f->os.fail_alloc = 0;
	memcpy(&o, f->last[UNIC_CMD_SRQ_DESTROY], sizeof(o));
	assert_int_equal(unic_from_le32(o.id), NUMBER);
}

static int make_qp(uint8_t flags, uint64_t srq)
{
	struct unic_ctl_cq_create cq = { .mr = unic_to_le32(mr) };
	struct unic_ctl_qp_create qp = { .mr = unic_to_le32(mr),
					 .flags = flags,
					 .rq_iova = unic_to_le64(srq),
					 .user = unic_to_le32(0x66) };
	struct unic_hpd *pd;
	uint32_t at = 0;

	pd = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_PD, 0);
	assert_non_null(pd);
	assert_int_equal(request(f, UNIC_CTL_CQ_CREATE, &cq), 0);
	qp.send_cq = qp.recv_cq = unic_to_le32(reply_u32(f, 16));
	qp.pd = unic_to_le32(pd->obj.id);
	return request(f, UNIC_CTL_QP_CREATE, &qp);
}

static void shared(void **state)
{
	struct unic_cpl_obj cpl = { .id = unic_to_le32(0x4711) };
	uint32_t id = create();
	struct unic_cmd_qp_create c;

	(void)state;
	memcpy(f->cpl[UNIC_CMD_QP_CREATE], &cpl, sizeof(cpl));
	assert_int_equal(make_qp(2, 0), UNIC_ST_INVALID);
	assert_int_equal(make_qp(UNIC_CTL_QP_SRQ, id + 1), UNIC_ST_NO_SRQ);
	assert_int_equal(make_qp(UNIC_CTL_QP_SRQ, 1ull << 32 | id),
			 UNIC_ST_NO_SRQ);
	assert_int_equal(make_qp(UNIC_CTL_QP_SRQ, id), 0);
	memcpy(&c, f->last[UNIC_CMD_QP_CREATE], sizeof(c));
	assert_int_equal(unic_from_le32(c.srq), 1 + NUMBER);
	assert_int_equal(unic_from_le64(c.rq_iova), 0);
	assert_int_equal(make_qp(0, VA), 0);
	memcpy(&c, f->last[UNIC_CMD_QP_CREATE], sizeof(c));
	assert_int_equal(unic_from_le32(c.srq), 0);
	assert_int_equal(unic_from_le64(c.rq_iova), VA);
}

static void expect_upcall(uint32_t n, uint8_t type, uint32_t id, uint32_t user,
			  uint32_t detail)
{
	struct unic_upcall_obj up;

	memcpy(&up, upcall(f, n), sizeof(up));
	assert_int_equal(up.hdr.type, type);
	assert_int_equal(unic_from_le32(up.hdr.id), id);
	assert_int_equal(unic_from_le32(up.user), user);
	assert_int_equal(unic_from_le32(up.detail), detail);
}

static void events_are_told(void **state)
{
	struct unic_cpl_obj cpl = { .id = unic_to_le32(0x4711) };
	uint32_t id = create(), qp, before = f->os.upcalls;
	struct unic_ctl_object row = { 0 };
	struct unic_hsrq *srq;

	(void)state;
	memcpy(f->cpl[UNIC_CMD_QP_CREATE], &cpl, sizeof(cpl));
	assert_int_equal(make_qp(UNIC_CTL_QP_SRQ, id), 0);
	qp = reply_u32(f, 16);
	says(UNIC_EVT_SRQ_LIMIT, NUMBER + 1, 0); /* nobody's */
	says(UNIC_EVT_LAST_WQE, 0x4712, 0);
	assert_int_equal(f->os.upcalls, before);
	says(UNIC_EVT_SRQ_LIMIT, NUMBER, 0);
	expect_upcall(0, UNIC_UP_SRQ_LIMIT, id, 0x77, 0);
	says(UNIC_EVT_LAST_WQE, 0x4711, 0);
	expect_upcall(1, UNIC_UP_LAST_WQE, qp, 0x66, 0);
	says(UNIC_EVT_SRQ_ERROR, NUMBER, 2);
	expect_upcall(2, UNIC_UP_SRQ_ERROR, id, 0x77, 2);
	srq = unic_obj_get(&f->host->objects, id, UNIC_OBJ_SRQ, 0);
	unic_srq_row(&srq->obj, &row);
	assert_int_equal(unic_from_le32(row.state), 1);
	assert_int_equal(unic_from_le32(row.number), NUMBER);
	assert_int_equal(unic_from_le32(row.user), 0x77);
}

/* The row of queue @id that RESYNC answers with, which must be one. */
static struct unic_ctl_object row_told(uint32_t id)
{
	struct unic_ctl_resync r = { .what = unic_to_le32(
					     UNIC_CTL_RESYNC_OBJECTS) };
	struct unic_ctl_object row, found = { 0 };
	uint32_t i, rows = 0;

	assert_int_equal(request(f, UNIC_CTL_RESYNC, &r), 0);
	for (i = 0; i < reply_u32(f, 16); i++) {
		memcpy(&row, (uint8_t *)f->os.reply[0] + 64 + i * sizeof(row),
		       sizeof(row));
		if (unic_from_le32(row.type) != UNIC_CTL_O_SRQ)
			continue;
		found = row;
		rows++;
	}
	assert_int_equal(rows, 1);
	assert_int_equal(unic_from_le32(found.id), id);
	return found;
}

/* A process that has missed upcalls learns which queues it has, and that one is in error. */
static void resync_tells_of_it(void **state)
{
	uint32_t id = create();
	struct unic_ctl_object row = row_told(id);

	(void)state;
	assert_int_equal(unic_from_le32(row.number), NUMBER);
	assert_int_equal(unic_from_le32(row.user), 0x77);
	assert_int_equal(unic_from_le32(row.state), 0);
	says(UNIC_EVT_SRQ_LIMIT, NUMBER, 0);
	assert_int_equal(unic_from_le32(row_told(id).state), 0);
	says(UNIC_EVT_SRQ_ERROR, NUMBER, 1);
	assert_int_equal(unic_from_le32(row_told(id).state), 1);
}

/* A reset of the NIC ends it, without a word to the NIC of after the reset. */
static void ends_with_the_nic(void **state)
{
	uint32_t id = create();

	(void)state;
	fail_nic(f);
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	assert_null(unic_obj_get(&f->host->objects, id, UNIC_OBJ_SRQ,
				 UNIC_OBJ_ANYONE));
	assert_int_equal(f->given[UNIC_CMD_SRQ_CREATE], 1);
	assert_int_equal(f->given[UNIC_CMD_SRQ_DESTROY], 0);
}

/* The NIC is reset before it answers that the queue is destroyed. */
static void destroying_ends_with_the_nic(void **state)
{
	struct unic_ctl_obj r = { .hdr.op = unic_to_le16(UNIC_CTL_SRQ_DESTROY),
				  .id = unic_to_le32(create()) };

	(void)state;
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &r, sizeof(r)));
	assert_int_equal(f->os.replies, 0);
	fail_nic(f);
	settle(f);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(reply_status(f), UNIC_CTL_ST_RESET);
	assert_null(unic_obj_get(&f->host->objects, unic_from_le32(r.id),
				 UNIC_OBJ_SRQ, UNIC_OBJ_ANYONE));
}

/* Its process ends it, without a word to the NIC. */
static void ends_with_its_process(void **state)
{
	uint32_t id = create();

	(void)state;
	f->host->proc[0].keep = false;
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_null(unic_obj_get(&f->host->objects, id, UNIC_OBJ_SRQ,
				 UNIC_OBJ_ANYONE));
	assert_int_equal(f->given[UNIC_CMD_SRQ_DESTROY], 0);
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(made_changed_ended),
		HERE(refused),
		HERE(no_memory),
		HERE(shared),
		HERE(events_are_told),
		HERE(resync_tells_of_it),
		HERE(ends_with_the_nic),
		HERE(destroying_ends_with_the_nic),
		HERE(ends_with_its_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

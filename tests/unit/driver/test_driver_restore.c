/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_restore.c - what the host driver restores after a reset of the NIC,
 * and the upcalls to a process that missed some. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "unic_queue.h"

/* Found by tests/models/revoke.pml: a NIC that is not reset yet may still write
 * where it could (INV-14). */
static void frames_stay_pinned_till_the_end_of_a_reset(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 4);
	info(f)->state = unic_to_le32(UNIC_NIC_FAILED);
	unic_host_poll(f->host); /* asks for a reset */
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_STARTING);
	assert_int_equal(f->host->objects.live, 0);
	assert_int_equal(pinned(f), 4);
	settle(f);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

static void reset_nic(struct fake *f)
{
	fail_nic(f);
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
}

static void kept_region_is_restored_with_its_stag(void **state)
{
	struct fake *f = fake_new();
	struct unic_upcall_obj up;
	struct unic_cmd_mr_reg cmd;
	uint32_t id = region(f, 4);

	(void)state;
	reset_nic(f);
	cmd = last_reg(f);
	assert_int_equal(cmd.flags, UNIC_REG_RESTORE | UNIC_REG_LIST);
	assert_int_equal(unic_from_le32(cmd.stag), 0xabcd00);
	assert_int_equal(unic_from_le32(cmd.user), id);
	assert_int_equal(pinned(f), 4);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_RESET);
	assert_int_equal(unic_from_le32(up.detail), 0);
	memcpy(&up, upcall(f, 1), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_RESET);
	assert_int_equal(unic_from_le32(up.detail), 2);
	fake_delete(f);
}

static void notice_is_void_after_a_reset(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 2);
	struct unic_evt_mr evt = notice(id, UNIC_EVT_NOTICE);

	(void)state;
	event(f, &evt);
	assert_int_equal(region_state(f, id), R_NOTIFIED);
	reset_nic(f);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	/* events from before the reset are dropped */
	evt = notice(id, UNIC_EVT_NOTICE);
	event(f, &evt); /* generation 9 */
	assert_int_equal(region_state(f, id), R_ACTIVE);
	fake_delete(f);
}

static void region_that_cannot_be_restored_is_told(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_upcall_mr up;
	uint32_t id = region(f, 4);

	(void)state;
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_TLB_FULL;
	reset_nic(f);
	assert_int_equal(pinned(f), 0);
	memcpy(&up, upcall(f, 1), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_EVICTED);
	assert_int_equal(up.hdr.reason, UNIC_WHY_RESET);
	assert_int_equal(unic_from_le32(up.hdr.id), id);
	r.id = unic_to_le32(id);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_NO_MR;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(region_state(f, id), UINT32_MAX);
	fake_delete(f);
}

static void dereg_under_way_is_done_by_the_reset(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { 0 };
	struct unic_ctl_hdr hdr;
	uint32_t id = region(f, 4);

	(void)state;
	r.id = unic_to_le32(id);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), -1);
	reset_nic(f);
	assert_int_equal(f->os.replies, 1);
	memcpy(&hdr, f->os.reply[0], sizeof(hdr));
	assert_int_equal(unic_from_le16(hdr.status), 0);
	assert_int_equal(last_reg(f).hdr.opcode, 0);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

static void wait_is_queued_again_for_the_rest_of_its_time(void **state)
{
	struct fake *f = fake_new();
	struct unic_cpl_mr_reg cpl = { .wait = unic_to_le32(11) };
	struct unic_ctl_mr_reg reg = {
		.va = unic_to_le64(VA),
		.iova = unic_to_le64(VA),
		.length = unic_to_le64(4096),
		.flags = UNIC_CTL_REG_WAIT | UNIC_CTL_REG_ASYNC,
		.timeout_us = unic_to_le32(1000000),
	};
	struct unic_ctl_plain pd = { 0 };
	struct unic_cmd_mr_reg cmd;
	struct unic_evt_wait evt;
	uint32_t id;

	(void)state;
	f->host->waits = 64;
	region(f, 1);
	f->host->waits = 64;
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_PENDING);
	id = reply_u32(f, 16);
	f->os.now_ns += 400000000;
	reset_nic(f); /* both are answered PENDING: the last is the wait */
	cmd = last_reg(f);
	assert_int_equal(cmd.flags, UNIC_REG_WAIT);
	assert_int_equal(unic_from_le32(cmd.user), id);
	assert_in_range(unic_from_le32(cmd.timeout_us), 590000, 600001);
	assert_int_equal(region_state(f, id), R_WAITING);
	assert_int_equal(f->host->proc[0].waits, 1);
	evt = (struct unic_evt_wait){ .hdr = { .type = UNIC_EVT_WAIT_ENDED },
				      .status = unic_to_le32(UNIC_ST_TIMEOUT),
				      .user = unic_to_le32(id) };
	event(f, &evt);
	assert_int_equal(region_state(f, id), UINT32_MAX);
	assert_int_equal(f->host->proc[0].waits, 0);
	fake_delete(f);
}

static void reset_while_restoring_begins_again(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4), i;

	(void)state;
	for (i = 0; i < 12; i++) {
		uint32_t k;

		info(f)->state = unic_to_le32(UNIC_NIC_FAILED);
		unic_host_poll(f->host);
		for (k = 0; k < i; k++) { /* as far as it comes */
			nic_run(f);
			unic_host_poll(f->host);
		}
	}
	settle(f);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	assert_int_equal(pinned(f), 4);
	assert_null(f->host->reqs);
	assert_int_equal(f->host->audits, 0);
	fake_delete(f);
}

/* What was set, 0 included where it is meant, is set again; what was refused is not. */
static void parameters_outlive_a_reset(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_params r = {
		.grace_us = unic_to_le32(0),
		.residence_us = unic_to_le32(77),
		.flags = unic_to_le32(UNIC_PARAM_GRACE | UNIC_PARAM_WATERMARKS |
				      UNIC_PARAM_USES_REPORTED),
	};
	struct unic_cmd_set_params cmd;

	(void)state;
	hello(f);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), 0);
	f->answer[UNIC_CMD_SET_PARAMS] = UNIC_ST_INVALID;
	r = (struct unic_ctl_params){ .grace_us = unic_to_le32(1u << 30) };
	assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), UNIC_ST_INVALID);
	f->answer[UNIC_CMD_SET_PARAMS] = UNIC_ST_OK;
	r = (struct unic_ctl_params){
		.deliver_us = unic_to_le32(5),
		.flags = unic_to_le32(UNIC_PARAM_USES_COUNTED),
	};
	assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), 0);
	reset_nic(f);
	memcpy(&cmd, f->last[UNIC_CMD_SET_PARAMS], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.grace_us), 0);
	assert_int_equal(unic_from_le32(cmd.deliver_us), 5);
	assert_int_equal(unic_from_le32(cmd.residence_us), 77);
	assert_int_equal(unic_from_le32(cmd.flags),
			 UNIC_PARAM_GRACE | UNIC_PARAM_WATERMARKS |
				 UNIC_PARAM_USES_COUNTED);
	fake_delete(f);
}

/* Any of them alone is set again. */
static void one_parameter_outlives_a_reset(void **state)
{
	const struct unic_ctl_params one[] = {
		{ .residence_us = unic_to_le32(77) },
		{ .extend_us = unic_to_le32(77) },
	};
	struct unic_cmd_set_params cmd;
	uint32_t i, n;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct fake *f = fake_new();
		struct unic_ctl_params r = one[i];

		hello(f);
		f->client.privileged = true;
		assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), 0);
		n = f->given[UNIC_CMD_SET_PARAMS];
		reset_nic(f);
		assert_int_equal(f->given[UNIC_CMD_SET_PARAMS], n + 1);
		memcpy(&cmd, f->last[UNIC_CMD_SET_PARAMS], sizeof(cmd));
		assert_int_equal(unic_from_le32(cmd.residence_us),
				 i == 0 ? 77 : 0);
		assert_int_equal(unic_from_le32(cmd.extend_us), i ? 77 : 0);
		fake_delete(f);
	}
}

/* The time after which a region is idle goes to a NIC that knows of it, and only there,
 * and is kept like the others. */
static void idle_time_is_for_who_knows_it(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_params r = {
		.idle_us = unic_to_le32(5000),
	};
	struct unic_cmd_set_params cmd;
	uint32_t n;

	(void)state;
	hello(f);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), 0);
	memcpy(&cmd, f->last[UNIC_CMD_SET_PARAMS], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.idle_us), 5000);
	n = f->given[UNIC_CMD_SET_PARAMS];
	reset_nic(f);
	assert_int_equal(f->given[UNIC_CMD_SET_PARAMS], n);
	info(f)->features |= unic_to_le64(UNIC_FEAT_IDLE);
	reset_nic(f);
	assert_int_equal(f->given[UNIC_CMD_SET_PARAMS], n + 1);
	memcpy(&cmd, f->last[UNIC_CMD_SET_PARAMS], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.idle_us), 5000);
	r = (struct unic_ctl_params){ .flags = unic_to_le32(UNIC_PARAM_IDLE) };
	assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), 0);
	reset_nic(f);
	memcpy(&cmd, f->last[UNIC_CMD_SET_PARAMS], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.idle_us), 0);
	assert_int_equal(unic_from_le32(cmd.flags), UNIC_PARAM_IDLE);
	fake_delete(f);
}

/* So is what a miss of a TABLE region keeps. */
static void prefetch_is_for_who_knows_it(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_params r = { .prefetch = unic_to_le32(5) };
	struct unic_cmd_set_params cmd;
	uint32_t n;

	(void)state;
	hello(f);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), 0);
	memcpy(&cmd, f->last[UNIC_CMD_SET_PARAMS], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.prefetch), 5);
	n = f->given[UNIC_CMD_SET_PARAMS];
	info(f)->features &= unic_to_le64(~UNIC_FEAT_HOST_TABLE);
	reset_nic(f);
	assert_int_equal(f->given[UNIC_CMD_SET_PARAMS], n);
	info(f)->features |= unic_to_le64(UNIC_FEAT_HOST_TABLE);
	reset_nic(f);
	assert_int_equal(f->given[UNIC_CMD_SET_PARAMS], n + 1);
	memcpy(&cmd, f->last[UNIC_CMD_SET_PARAMS], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.prefetch), 5);
	r.rsvd = unic_to_le32(1);
	assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), UNIC_ST_INVALID);
	fake_delete(f);
}

/* So does the weight of pain; a NIC that knows of none is told nothing. */
static void weight_of_pain_is_for_who_knows_it(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_params r = {
		.pain_pct = unic_to_le32(50),
	};
	struct unic_cmd_set_params cmd;
	uint32_t n;

	(void)state;
	hello(f);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), 0);
	n = f->given[UNIC_CMD_SET_PARAMS];
	reset_nic(f);
	assert_int_equal(f->given[UNIC_CMD_SET_PARAMS], n);
	info(f)->features |= unic_to_le64(UNIC_FEAT_PAIN);
	reset_nic(f);
	assert_int_equal(f->given[UNIC_CMD_SET_PARAMS], n + 1);
	memcpy(&cmd, f->last[UNIC_CMD_SET_PARAMS], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.pain_pct), 50);
	r = (struct unic_ctl_params){ .flags = unic_to_le32(UNIC_PARAM_PAIN) };
	assert_int_equal(request(f, UNIC_CTL_PARAMS, &r), 0);
	reset_nic(f);
	memcpy(&cmd, f->last[UNIC_CMD_SET_PARAMS], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.pain_pct), 0);
	assert_int_equal(unic_from_le32(cmd.flags), UNIC_PARAM_PAIN);
	fake_delete(f);
}

/* Type, miss policy and Q_Key go to the NIC as they are, also after a reset;
 * datagrams are not connected, and their peer is not asked for. */
static void types_of_queue_pairs(void **state)
{
	struct unic_ctl_qp_create ud = { .sq_slots = unic_to_le16(16),
					 .db_index = 3,
					 .type = UNIC_QPT_UD,
					 .miss = UNIC_QPM_BOUNCE };
	struct unic_ctl_qp_modify mod = { .state = UNIC_QPS_INIT,
					  .qkey = unic_to_le32(0x1234) };
	struct unic_ctl_connect conn = { .ipv4 = unic_to_le32(2) };
	struct fake *f = fake_new();
	struct unic_cmd_qp_create made;
	struct unic_cmd_qp_modify modified;
	uint32_t mr = region(f, 4);

	(void)state;
	f->answer[UNIC_CMD_QP_CREATE] = UNIC_ST_BAD_OPCODE;
	assert_int_equal(queues_as(f, mr, ud), UNIC_CTL_ST_UNSUPPORTED);
	f->answer[UNIC_CMD_QP_CREATE] = 0;
	ud.flags = 2;
	assert_int_equal(queues_as(f, mr, ud), UNIC_ST_INVALID);
	ud.flags = 0;
	assert_int_equal(queues_as(f, mr, ud), 0);
	mod.id = conn.qp = unic_to_le32(reply_u32(f, 16));
	memcpy(&made, f->last[UNIC_CMD_QP_CREATE], sizeof(made));
	assert_int_equal(made.type, UNIC_QPT_UD);
	assert_int_equal(made.miss, UNIC_QPM_BOUNCE);
	assert_int_equal(unic_from_le32(made.db_index), 3);
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &conn), UNIC_ST_STATE);
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), 0);
	memcpy(&modified, f->last[UNIC_CMD_QP_MODIFY], sizeof(modified));
	assert_int_equal(unic_from_le32(modified.qkey), 0x1234);
	memset(f->last[UNIC_CMD_ARP_RESOLVE], 0, 64);
	mod.state = UNIC_QPS_RTR;
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), 0);
	assert_int_equal(f->last[UNIC_CMD_ARP_RESOLVE][0], 0);
	memset(f->last[UNIC_CMD_QP_CREATE], 0, 64);
	reset_nic(f);
	memcpy(&made, f->last[UNIC_CMD_QP_CREATE], sizeof(made));
	assert_int_equal(made.type, UNIC_QPT_UD);
	assert_int_equal(made.miss, UNIC_QPM_BOUNCE);
	fake_delete(f);
}

static void queues_come_back_in_error(void **state)
{
	struct fake *f = fake_new();
	struct unic_cpl_obj cpl = { .id = unic_to_le32(77) };
	struct unic_ctl_qp_modify mod = { .state = UNIC_QPS_INIT };
	struct unic_ctl_obj r = { 0 };
	uint32_t mr = region(f, 4), id = queues(f, mr);

	(void)state;
	memcpy(f->cpl[UNIC_CMD_QP_CREATE], &cpl, 64);
	reset_nic(f);
	r.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_QP_QUERY, &r), 0);
	assert_int_equal(reply_u32(f, 20), 77);
	assert_int_equal(reply_u32(f, 24), UNIC_QPS_ERR);
	mod.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), UNIC_ST_STATE);
	mod.state = UNIC_QPS_RESET;
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), 0);
	mod.state = UNIC_QPS_INIT;
	assert_int_equal(request(f, UNIC_CTL_QP_MODIFY, &mod), 0);
	fake_delete(f);
}

static uint32_t resets_of_token(struct fake *f, uint32_t index)
{
	struct unic_upcall_token up;
	uint32_t i, ends = 0;

	for (i = 0; i < f->host->proc[0].upcall_next; i++) {
		memcpy(&up, upcall(f, i), sizeof(up));
		ends += up.hdr.type == UNIC_UP_TOKEN_END &&
			unic_from_le32(up.end) == UNIC_TOKEN_RESET &&
			unic_from_le32(up.index) == index;
	}
	return ends;
}

/* The row of the only object of @type, or of the last one. */
static struct unic_ctl_object row_of(struct fake *f, uint32_t type)
{
	struct unic_ctl_resync r = { .what = unic_to_le32(
					     UNIC_CTL_RESYNC_OBJECTS) };
	struct unic_ctl_object row, found = { .id = unic_to_le32(0) };
	uint32_t i;

	assert_int_equal(request(f, UNIC_CTL_RESYNC, &r), 0);
	assert_int_equal(f->os.reply_bytes[0],
			 64 + reply_u32(f, 16) * sizeof(row));
	for (i = 0; i < reply_u32(f, 16); i++) {
		memcpy(&row, (uint8_t *)f->os.reply[0] + 64 + i * sizeof(row),
		       sizeof(row));
		if (unic_from_le32(row.type) == type)
			found = row;
	}
	return found;
}

/* 1,000 records while the process reads none, and the state that RESYNC reports
 * afterwards. */
static void resync_tells_of_everything(void **state)
{
	struct unic_evt_obj storm = { .hdr = { .type = UNIC_EVT_DB_ERROR } };
	struct unic_evt_obj full = { .hdr = { .type = UNIC_EVT_CQ_ERROR },
				     .id = unic_to_le32(5) };
	struct unic_ctl_resync bad = { .what = unic_to_le32(2) };
	struct unic_cm_msg msg;
	struct fake *f = requested(&msg);
	uint32_t mr = region(f, 4), i;
	struct unic_ctl_object row;

	(void)state;
	queues(f, mr);
	ask_token(f, mr, 99);
	settle(f);
	assert_int_equal(unic_from_le32(row_of(f, UNIC_CTL_O_CQ).state), 0);
	assert_int_equal(unic_from_le32(row_of(f, UNIC_CTL_O_QP).state),
			 UNIC_QPS_RESET);
	event(f, &full);
	full.hdr.type = UNIC_EVT_QP_ERROR;
	event(f, &full);
	for (i = 0; i < 1000; i++)
		event(f, &storm);
	assert_true(
		unic_from_le32(
			((struct unic_upcall_hdr *)(void *)upcall(f, 0))->seq) >
		UNIC_UPCALLS);
	assert_int_equal(unic_from_le32(row_of(f, UNIC_CTL_O_CQ).state), 1);
	row = row_of(f, UNIC_CTL_O_QP);
	assert_int_equal(unic_from_le32(row.state), UNIC_QPS_ERR);
	assert_int_equal(unic_from_le32(row.number), 5);
	row = row_of(f, UNIC_CTL_O_MR);
	assert_int_equal(unic_from_le32(row.id), mr);
	assert_int_equal(unic_from_le32(row.user), 55);
	assert_int_equal(unic_from_le32(row.state), UNIC_CTL_R_ACTIVE);
	assert_int_equal(unic_from_le32(row.of),
			 unic_from_le32(row_of(f, UNIC_CTL_O_PD).id));
	row = row_of(f, UNIC_CTL_O_TOKEN);
	assert_int_equal(unic_from_le32(row.user), 99);
	assert_int_equal(unic_from_le32(row.number), 6);
	row = row_of(f, UNIC_CTL_O_CONN);
	assert_int_equal(unic_from_le32(row.state), UNIC_CTL_CONN_REQUESTED);
	assert_int_equal(unic_from_le32(row.detail), PEER);
	assert_int_equal(unic_from_le32(row.of),
			 unic_from_le32(row_of(f, UNIC_CTL_O_LISTENER).id));
	assert_int_equal(reply_u32(f, 24), 1004); /* of the next upcall */
	assert_int_equal(request(f, UNIC_CTL_RESYNC, &bad), UNIC_ST_INVALID);
	fake_delete(f);
}

/* A request that waits has an id, and the number it was asked by. */
static void resync_tells_of_waits(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_ctl_object row = row_of(f, UNIC_CTL_O_MR);

	(void)state;
	assert_int_equal(unic_from_le32(row.id), id);
	assert_int_equal(unic_from_le32(row.state), UNIC_CTL_R_WAITING);
	fake_delete(f);
}

/* Not before the NIC has stopped: until then bytes may arrive. */
static void tokens_end_with_the_reset_once(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4);

	(void)state;
	ask_token(f, mr, 99);
	settle(f);
	fail_nic(f);
	assert_int_equal(resets_of_token(f, 6), 0);
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	assert_int_equal(resets_of_token(f, 6), 1);
	fake_delete(f);
}

/* MR_ALLOC of a form of @kind, which is region @mr of the NIC with @stag. */
static uint32_t form_of(struct fake *f, uint8_t kind, uint32_t mr,
			uint32_t stag)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(mr),
				       .gen = unic_to_le32(2),
				       .stag = unic_to_le32(stag) };
	struct unic_ctl_mr_alloc a = { .kind = kind };
	uint32_t at = 0;
	const struct unic_obj *pd = unic_obj_next(&f->host->objects, &at,
						  UNIC_OBJ_PD, UNIC_OBJ_ANYONE);

	memcpy(f->cpl[UNIC_CMD_MR_ALLOC], &cpl, 64);
	a.pd = unic_to_le32(pd->id);
	a.n = unic_to_le32(kind == UNIC_FORM_FAST);
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a), UNIC_ST_OK);
	return reply_u32(f, 16);
}

static struct unic_sge piece_of_region(void)
{
	return (struct unic_sge){ .iova = unic_to_le64(VA + 5),
				  .len = unic_to_le32(99),
				  .lkey = unic_to_le32(0xabcd00) };
}

/* MR_MAKE of form @id of that piece. It has @stag then. */
static void make_form(struct fake *f, uint32_t id, uint32_t mr, uint32_t stag)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(mr),
				       .gen = unic_to_le32(2),
				       .stag = unic_to_le32(stag) };
	struct {
		struct unic_ctl_mr_make m;
		struct unic_sge sge;
	} msg = { .m = { .hdr = { .op = unic_to_le16(UNIC_CTL_MR_MAKE),
				  .tail_bytes = unic_to_le32(16) },
			 .id = unic_to_le32(id),
			 .n = unic_to_le32(1),
			 .rights = UNIC_MR_REMOTE_READ,
			 .key = (uint8_t)stag,
			 .iova = unic_to_le64(VA + 5) },
		  .sge = piece_of_region() };

	memcpy(f->cpl[UNIC_CMD_MR_MAKE], &cpl, 64);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &msg, sizeof(msg)));
	settle(f);
	assert_int_equal(reply_status(f), 0);
}

static bool is_piece_listed(struct fake *f)
{
	struct unic_sge piece = piece_of_region();
	uint32_t i;

	for (i = 0; i < 64; i++)
		if (!memcmp(f->bar + UNIC_BAR_LIST_OFF + i * UNIC_LIST_BYTES,
			    &piece, sizeof(piece)))
			return true;
	return false;
}

/* How many times the process heard that @id has ended by the reset. */
static uint32_t ends_of(struct fake *f, uint32_t id)
{
	struct unic_upcall_mr up;
	uint32_t i, n = 0;

	for (i = 0; i < f->host->upcalls; i++) {
		memcpy(&up, upcall(f, i), sizeof(up));
		if (up.hdr.type == UNIC_UP_EVICTED &&
		    unic_from_le32(up.hdr.id) == id) {
			assert_int_equal(up.hdr.reason, UNIC_WHY_RESET);
			n++;
		}
	}
	return n;
}

/* What only MR_MAKE changes comes back as it was, behind what it is made of. Of what work
 * requests change the owner hears once that it is gone. */
static void forms_come_back_or_are_told(void **state)
{
	struct fake *f = fake_new();
	struct unic_cmd_mr_alloc a;
	struct unic_cmd_mr_make m;
	uint32_t id = region(f, 4), window, bare, fast;

	(void)state;
	info(f)->features |= unic_to_le64(UNIC_FEAT_RESTORE_FORMS);
	window = form_of(f, UNIC_FORM_WINDOW1, 5, 0x5500);
	fast = form_of(f, UNIC_FORM_FAST, 6, 0x6600);
	make_form(f, fast, 6, 0x6601);
	make_form(f, window, 5, 0x5507);
	memset(f->bar + UNIC_BAR_LIST_OFF, 0, 64 * UNIC_LIST_BYTES);
	memcpy(f->cpl[UNIC_CMD_MR_ALLOC],
	       &(struct unic_cpl_mr_reg){ .mr = unic_to_le32(7),
					  .gen = unic_to_le32(1),
					  .stag = unic_to_le32(0x5507) },
	       64);
	memset(f->given, 0, sizeof(f->given));
	reset_nic(f);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	assert_int_equal(f->given[UNIC_CMD_MR_ALLOC], 1);
	assert_int_equal(f->given[UNIC_CMD_MR_MAKE], 1);
	memcpy(&a, f->last[UNIC_CMD_MR_ALLOC], sizeof(a));
	assert_int_equal(a.kind, UNIC_FORM_WINDOW1);
	assert_int_equal(unic_from_le32(a.stag), 0x5507);
	assert_int_equal(a.key, 7);
	assert_int_equal(unic_from_le32(a.user), window);
	memcpy(&m, f->last[UNIC_CMD_MR_MAKE], sizeof(m));
	assert_int_equal(unic_from_le32(m.mr), 7);
	assert_int_equal(unic_from_le32(m.gen), 1);
	assert_int_equal(m.key, 7);
	assert_int_equal(m.rights, UNIC_MR_REMOTE_READ);
	assert_true(is_piece_listed(f));
	assert_int_equal(region_state(f, window), R_ACTIVE);
	assert_int_equal(ends_of(f, window), 0);
	assert_int_equal(region_state(f, fast), R_EVICTED);
	assert_int_equal(ends_of(f, fast), 1);
	/* its source is not there the next time */
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_TLB_FULL;
	bare = form_of(f, UNIC_FORM_SUB, 9, 0x9900);
	reset_nic(f);
	assert_int_equal(ends_of(f, id), 1);
	assert_int_equal(ends_of(f, window), 1);
	assert_int_equal(ends_of(f, fast), 1);
	assert_int_equal(ends_of(f, bare), 0); /* made of nothing yet */
	/* a NIC that cannot */
	info(f)->features &= ~unic_to_le64(UNIC_FEAT_RESTORE_FORMS);
	reset_nic(f);
	assert_int_equal(ends_of(f, bare), 1);
	fake_delete(f);
}

/* A region whose pages come when they are used is restored without any. */
static void demand_region_is_restored(void **state)
{
	struct fake *f = fake_new();
	uint32_t id;

	(void)state;
	residency = UNIC_DEMAND;
	id = region(f, 4);
	residency = UNIC_RESIDENT;
	reset_nic(f);
	assert_int_equal(last_reg(f).flags, UNIC_REG_RESTORE);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	fake_delete(f);
}

/* So is a window over it, behind it. */
static void window_over_demand_is_restored(void **state)
{
	struct fake *f = fake_new();
	struct unic_cmd_mr_make m;
	uint32_t id, window;

	(void)state;
	residency = UNIC_DEMAND;
	id = region(f, 4);
	residency = UNIC_RESIDENT;
	info(f)->features |= unic_to_le64(UNIC_FEAT_RESTORE_FORMS);
	window = form_of(f, UNIC_FORM_WINDOW1, 5, 0x5500);
	make_form(f, window, 5, 0x5507);
	memcpy(f->cpl[UNIC_CMD_MR_ALLOC],
	       &(struct unic_cpl_mr_reg){ .mr = unic_to_le32(7),
					  .gen = unic_to_le32(1),
					  .stag = unic_to_le32(0x5507) },
	       64);
	memset(f->given, 0, sizeof(f->given));
	reset_nic(f);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], 1);
	assert_int_equal(f->given[UNIC_CMD_MR_MAKE], 1);
	memcpy(&m, f->last[UNIC_CMD_MR_MAKE], sizeof(m));
	assert_int_equal(unic_from_le32(m.mr), 7);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	assert_int_equal(region_state(f, window), R_ACTIVE);
	assert_int_equal(ends_of(f, window), 0);
	fake_delete(f);
}

/* A domain cannot be restored: what is in it names none, the NIC refuses it, and its process
 * is told. */
static void domain_that_cannot_be_restored(void **state)
{
	struct fake *f = fake_new();
	struct unic_upcall_mr up;
	uint32_t id = region(f, 4), qp = queues(f, id), n;

	(void)state;
	f->answer[UNIC_CMD_PD_ALLOC] = UNIC_ST_PD_FULL;
	fail_nic(f);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_NO_PD;
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	assert_int_equal(unic_from_le32(last_reg(f).pd), UNIC_LOST);
	for (n = 0; upcall_type(f, n) != UNIC_UP_EVICTED; n++)
		assert_true(n < 8);
	memcpy(&up, upcall(f, n), sizeof(up));
	assert_int_equal(unic_from_le32(up.hdr.id), id);
	assert_null(unic_obj_get(&f->host->objects, qp, UNIC_OBJ_QP,
				 UNIC_OBJ_ANYONE));
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* Whichever request of the restoring finds no memory, the NIC is ready in the end, and a
 * region is there with its pages or evicted without. */
static void restoring_without_memory(void **state)
{
	uint32_t at;

	(void)state;
	for (at = 1; at <= 4; at++) {
		struct fake *f = fake_new();
		uint32_t id = region(f, 4), state_of;

		queues(f, id);
		fail_nic(f);
		no_spare(f);
		f->os.fail_alloc = at;
		settle(f);
		no_spare(f);
		pass(f, 1000);
		f->os.fail_alloc = 0;
		assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
		state_of = region_state(f, id);
		assert_true(state_of == R_ACTIVE || state_of == R_EVICTED);
		assert_int_equal(pinned(f), state_of == R_ACTIVE ? 4 : 0);
		fake_delete(f);
	}
}

/* A queue pair that is being destroyed when the NIC is reset: it is gone, and its process
 * is told so. */
static void destroying_ends_with_the_reset(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { .hdr.op = unic_to_le16(UNIC_CTL_QP_DESTROY) };
	uint32_t qp = queues(f, region(f, 4));

	(void)state;
	r.id = unic_to_le32(qp);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &r, sizeof(r)));
	reset_nic(f);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(reply_status(f), 0);
	assert_null(unic_obj_get(&f->host->objects, qp, UNIC_OBJ_QP,
				 UNIC_OBJ_ANYONE));
	fake_delete(f);
}

/* Slots that are being given up, and that all are given up. */
static void slots_that_leave(void **state)
{
	struct fake *f = fake_new();
	uint32_t slot;

	(void)state;
	hello(f);
	slot = f->client.slot;
	assert_false(unic_host_quiet(f->host));
	assert_false(unic_host_slot_leaves(f->host, slot));
	unic_host_client_gone(f->host, &f->client);
	assert_true(unic_host_slot_leaves(f->host, slot));
	assert_false(unic_host_quiet(f->host));
	settle(f);
	assert_false(unic_host_slot_leaves(f->host, slot));
	assert_true(unic_host_quiet(f->host));
	f->host->proc[slot].state = UNIC_HPROC_HELD; /* by somebody else */
	assert_true(unic_host_quiet(f->host));
	f->host->proc[slot].state = UNIC_HPROC_FREE;
	fake_delete(f);
}

/* A change of a region that the NIC did not answer before its reset: the region is as it
 * was. */
static void change_ends_with_the_reset(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_ctl_mr_rereg r = {
		.hdr.op = unic_to_le16(UNIC_CTL_MR_REREG),
		.id = unic_to_le32(id),
		.what = UNIC_REREG_RANGE,
		.va = unic_to_le64(VA + 2 * 4096),
		.iova = unic_to_le64(VA + 2 * 4096),
		.length = unic_to_le64(6 * 4096),
	};
	struct unic_cmd_mr_reg cmd;

	(void)state;
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &r, sizeof(r)));
	assert_int_equal(f->os.replies, 0);
	reset_nic(f);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(reply_status(f), UNIC_CTL_ST_RESET);
	cmd = last_reg(f);
	assert_true(unic_from_le64(cmd.iova) == VA);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	assert_int_equal(pinned(f), 4);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(change_ends_with_the_reset,
						keep, no_keep),
		cmocka_unit_test_setup_teardown(window_over_demand_is_restored,
						keep, no_keep),
		cmocka_unit_test_setup_teardown(demand_region_is_restored, keep,
						no_keep),
		cmocka_unit_test_setup_teardown(domain_that_cannot_be_restored,
						keep, no_keep),
		cmocka_unit_test_setup_teardown(restoring_without_memory, keep,
						no_keep),
		cmocka_unit_test_setup_teardown(destroying_ends_with_the_reset,
						keep, no_keep),
		cmocka_unit_test(slots_that_leave),
		cmocka_unit_test(frames_stay_pinned_till_the_end_of_a_reset),
		cmocka_unit_test_setup_teardown(
			kept_region_is_restored_with_its_stag, keep, no_keep),
		cmocka_unit_test_setup_teardown(notice_is_void_after_a_reset,
						keep, no_keep),
		cmocka_unit_test_setup_teardown(
			region_that_cannot_be_restored_is_told, keep, no_keep),
		cmocka_unit_test_setup_teardown(
			dereg_under_way_is_done_by_the_reset, keep, no_keep),
		cmocka_unit_test_setup_teardown(
			wait_is_queued_again_for_the_rest_of_its_time, keep,
			no_keep),
		cmocka_unit_test_setup_teardown(
			reset_while_restoring_begins_again, keep, no_keep),
		cmocka_unit_test_setup_teardown(queues_come_back_in_error, keep,
						no_keep),
		cmocka_unit_test_setup_teardown(types_of_queue_pairs, keep,
						no_keep),
		cmocka_unit_test(resync_tells_of_everything),
		cmocka_unit_test(resync_tells_of_waits),
		cmocka_unit_test_setup_teardown(tokens_end_with_the_reset_once,
						keep, no_keep),
		cmocka_unit_test_setup_teardown(forms_come_back_or_are_told,
						keep, no_keep),
		cmocka_unit_test(parameters_outlive_a_reset),
		cmocka_unit_test(one_parameter_outlives_a_reset),
		cmocka_unit_test(idle_time_is_for_who_knows_it),
		cmocka_unit_test(prefetch_is_for_who_knows_it),
		cmocka_unit_test(weight_of_pain_is_for_who_knows_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

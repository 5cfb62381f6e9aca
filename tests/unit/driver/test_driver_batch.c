/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_batch.c - several registrations in one request of the host
 * driver. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "unic_queue.h"

/* BATCH of @n records, which are at @recs. Its status, or -1: none yet. */
static int batch(struct fake *f, uint32_t n, const void *recs)
{
	struct unic_ctl_batch r = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_BATCH),
			 .tail_bytes = unic_to_le32(n * 64) },
		.count = unic_to_le32(n),
	};
	uint8_t msg[UNIC_CTL_BYTES + UNIC_LIST_BYTES];
	struct unic_ctl_hdr got;

	memcpy(msg, &r, sizeof(r));
	memcpy(msg + sizeof(r), recs, n * 64);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, msg,
				      sizeof(r) + n * 64));
	settle(f);
	if (!f->os.replies)
		return -1;
	memcpy(&got, f->os.reply[0], sizeof(got));
	return unic_from_le16(got.status);
}

/* The @i-th answer of the reply. */
static struct unic_ctl_mr_reg_reply nth(struct fake *f, uint32_t i)
{
	struct unic_ctl_mr_reg_reply r;

	memcpy(&r, (uint8_t *)f->os.reply[0] + 64 + 64 * i, sizeof(r));
	return r;
}

static uint32_t status_of_nth(struct fake *f, uint32_t i)
{
	return unic_from_le16(nth(f, i).hdr.status);
}

static void nic_batches(struct fake *f)
{
	f->host->features |= UNIC_FEAT_BATCH;
}

static struct unic_ctl_mr_reg batch_reg(uint32_t pd, uint32_t i)
{
	return (struct unic_ctl_mr_reg){
		.hdr = { .op = unic_to_le16(UNIC_CTL_MR_REG),
			 .seq = unic_to_le32(900 + i) },
		.va = unic_to_le64(VA + i * 4096),
		.iova = unic_to_le64(VA + i * 4096),
		.length = unic_to_le64(4096),
		.pd = unic_to_le32(pd),
	};
}

static uint32_t pd_of_region(struct fake *f, uint32_t mr)
{
	struct unic_region *r = unic_obj_get(&f->host->objects, mr, UNIC_OBJ_MR,
					     UNIC_OBJ_ANYONE);

	return r->pd;
}

/* Three regions, one wrong record and one refusal: one command, and each has an
 * answer of its own. What was refused is not pinned. */
static void a_batch_is_one_command(void **state)
{
	struct fake *f = fake_new();
	uint32_t pd = pd_of_region(f, region(f, 1)), i, before;
	struct unic_ctl_mr_reg recs[5];
	struct unic_cmd_batch cmd;

	(void)state;
	nic_batches(f);
	for (i = 0; i < 5; i++)
		recs[i] = batch_reg(pd, i + 1);
	recs[1].rsvd[0] = 1;
	before = f->commands;
	f->answer[UNIC_CMD_MR_BATCH] = UNIC_ST_OK;
	for (i = 0; i < 4; i++) {
		struct unic_cpl_mr_reg cpl = {
			.hdr = { .opcode = UNIC_CMD_MR_REG,
				 .status = i == 2 ? UNIC_ST_TLB_FULL : 0 },
			.mr = unic_to_le32(20 + i),
			.gen = unic_to_le32(1),
			.stag = unic_to_le32(0x1400 + i),
		};

		memcpy(f->listed + 64 * i, &cpl, 64);
	}
	f->lists = true;
	assert_int_equal(batch(f, 5, recs), UNIC_ST_OK);
	assert_int_equal(f->commands, before + 1);
	memcpy(&cmd, f->last[UNIC_CMD_MR_BATCH], 64);
	assert_int_equal(unic_from_le32(cmd.count), 4);
	assert_int_equal(reply_u32(f, 16), 3);
	for (i = 0; i < 5; i++)
		assert_int_equal(unic_from_le32(nth(f, i).hdr.seq), 901 + i);
	assert_int_equal(status_of_nth(f, 0), UNIC_ST_OK);
	assert_int_equal(unic_from_le32(nth(f, 0).stag), 0x1400);
	assert_int_equal(status_of_nth(f, 1), UNIC_ST_INVALID);
	assert_int_equal(status_of_nth(f, 2), UNIC_ST_OK);
	assert_int_equal(status_of_nth(f, 3), UNIC_ST_TLB_FULL);
	assert_int_equal(status_of_nth(f, 4), UNIC_ST_OK);
	assert_int_equal(pinned(f), 1 + 3);
	fake_delete(f);
}

/* A NIC without batches gets the commands one by one. */
static void a_batch_for_an_old_nic(void **state)
{
	struct fake *f = fake_new();
	uint32_t pd = pd_of_region(f, region(f, 1)), i, before;
	struct unic_ctl_mr_reg recs[3];

	(void)state;
	for (i = 0; i < 3; i++)
		recs[i] = batch_reg(pd, i + 1);
	before = f->commands;
	assert_int_equal(batch(f, 3, recs), UNIC_ST_OK);
	assert_int_equal(f->commands, before + 3);
	assert_int_equal(reply_u32(f, 16), 3);
	assert_int_equal(pinned(f), 4);
	fake_delete(f);
}

/* A NIC whose list pages are small gets in one command what fits, lists included, and
 * the rest one by one. */
static void a_batch_for_a_small_list_page(void **state)
{
	struct fake *f = fake_new();
	uint32_t pd = pd_of_region(f, region(f, 1)), i, before, kept;
	struct unic_ctl_mr_reg recs[12];
	struct unic_cmd_batch cmd;

	(void)state;
	nic_batches(f);
	unic_host_list_bytes(f->host, 512);
	for (i = 0; i < 12; i++)
		recs[i] = batch_reg(pd, i % 7 + 1);
	for (i = 0; i < 8; i++) {
		struct unic_cpl_mr_reg cpl = { .hdr.opcode = UNIC_CMD_MR_REG };

		memcpy(f->listed + 64 * i, &cpl, 64);
	}
	f->lists = true;
	before = f->commands;
	assert_int_equal(batch(f, 12, recs), UNIC_ST_OK);
	memcpy(&cmd, f->last[UNIC_CMD_MR_BATCH], 64);
	kept = unic_from_le32(cmd.count);
	assert_in_range(kept, 2, 7); /* of 64 bytes and a list of 8 */
	assert_int_equal(f->commands, before + 1 + 12 - kept);
	assert_int_equal(reply_u32(f, 16), 12);
	unic_host_list_bytes(f->host, UNIC_LIST_BYTES + 1);
	assert_int_equal(f->host->list_bytes, UNIC_LIST_BYTES);
	fake_delete(f);
}

static void each_wrong_batch(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj recs[3] = {
		{ .hdr = { .op = unic_to_le16(UNIC_CTL_PD_ALLOC) } },
		{ .hdr = { .op = unic_to_le16(UNIC_CTL_BATCH) } },
		{ .hdr = { .op = unic_to_le16(UNIC_CTL_MR_DEREG) },
		  .id = unic_to_le32(12345) },
	};
	struct unic_ctl_batch r = { .count = unic_to_le32(2) };

	(void)state;
	region(f, 1);
	nic_batches(f);
	assert_int_equal(batch(f, 0, recs), UNIC_ST_INVALID);
	assert_int_equal(request(f, UNIC_CTL_BATCH, &r), UNIC_ST_INVALID);
	assert_int_equal(batch(f, 3, recs), UNIC_ST_OK);
	assert_int_equal(reply_u32(f, 16), 0);
	assert_int_equal(status_of_nth(f, 0), UNIC_ST_BAD_OPCODE);
	assert_int_equal(status_of_nth(f, 1), UNIC_ST_BAD_OPCODE);
	assert_int_equal(status_of_nth(f, 2), UNIC_ST_NO_MR);
	fake_delete(f);
}

/* Without memory for any step each request has an answer, and none has a tail. */
static void a_batch_without_memory(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg recs[3];
	uint32_t pd = pd_of_region(f, region(f, 1)), i, k, none = 0;

	(void)state;
	nic_batches(f);
	for (i = 0; i < 3; i++) {
		recs[i] = batch_reg(pd, i + 1);
		recs[i].hdr.tail_bytes = unic_to_le32(8);
	}
	for (k = 1; k < 8; k++) {
		int status;

		no_spare(f);
		f->os.fail_alloc = k;
		status = batch(f, 3, recs);
		f->os.fail_alloc = 0;
		if (status == UNIC_CTL_ST_NO_MEMORY)
			continue;
		assert_int_equal(status, UNIC_ST_OK);
		for (i = 0; i < 3; i++) {
			assert_int_equal(unic_from_le32(nth(f, i).hdr.seq),
					 901 + i);
			assert_int_equal(
				unic_from_le32(nth(f, i).hdr.tail_bytes), 0);
			none += status_of_nth(f, i) == UNIC_CTL_ST_NO_MEMORY;
		}
	}
	assert_true(none);
	fake_delete(f);
}

/* The NIC refuses the batch, or is reset in the middle of it: each is answered,
 * nothing stays pinned, and what was allocated is free again. */
static void a_batch_that_is_cut(void **state)
{
	static const uint8_t how[] = { UNIC_ST_FAILED, UNIC_ST_INVALID };
	uint32_t i, k;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct fake *f = fake_new();
		uint32_t pd = pd_of_region(f, region(f, 1));
		struct unic_ctl_mr_reg recs[2] = { batch_reg(pd, 1),
						   batch_reg(pd, 2) };

		nic_batches(f);
		f->answer[UNIC_CMD_MR_BATCH] = how[i];
		assert_int_equal(batch(f, 2, recs), UNIC_ST_OK);
		assert_int_equal(reply_u32(f, 16), 0);
		for (k = 0; k < 2; k++)
			assert_int_equal(status_of_nth(f, k),
					 i ? UNIC_ST_INVALID
					   : UNIC_CTL_ST_RESET);
		assert_int_equal(pinned(f), 1);
		fake_delete(f);
	}
}

/* The client is gone before the answer: no reply is sent, and nothing is left. */
static void a_batch_of_somebody_who_left(void **state)
{
	struct fake *f = fake_new();
	uint32_t pd = pd_of_region(f, region(f, 1));
	struct unic_ctl_mr_reg recs[2] = { batch_reg(pd, 1), batch_reg(pd, 2) };
	struct unic_ctl_batch r = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_BATCH),
			 .tail_bytes = unic_to_le32(sizeof(recs)) },
		.count = unic_to_le32(2),
	};
	uint8_t msg[64 + sizeof(recs)];

	(void)state;
	nic_batches(f);
	memcpy(msg, &r, 64);
	memcpy(msg + 64, recs, sizeof(recs));
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, msg, sizeof(msg)));
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->os.replies, 0);
	assert_null(f->host->reqs);
	fake_delete(f);
}

/* A batch is answered when the last of its tokens has ended. */
static void a_batch_waits_for_a_token_under_way(void **state)
{
	struct fake *f = fake_new();
	struct unic_cpl_token cpl = {
		.hdr = { .opcode = UNIC_CMD_TOKEN_CANCEL,
			 .status = UNIC_ST_PENDING },
		.index = unic_to_le32(6),
	};
	struct unic_ctl_obj recs[2] = {
		{ .hdr.op = unic_to_le16(UNIC_CTL_TOKEN_CANCEL) },
		{ .hdr.op = unic_to_le16(UNIC_CTL_TOKEN_CANCEL),
		  .id = unic_to_le32(1) },
	};
	struct unic_evt_token evt = {
		.hdr = { .type = UNIC_EVT_TOKEN_END },
		.index = cpl.index,
		.end = unic_to_le32(UNIC_TOKEN_USED),
	};
	struct unic_ctl_token_reply r;

	(void)state;
	ask_token(f, region(f, 1), 1001);
	settle(f);
	recs[0].id = unic_to_le32(reply_u32(f, 24));
	evt.user = recs[0].id;
	nic_batches(f);
	memcpy(f->listed, &cpl, 64);
	f->lists = true;
	assert_int_equal(batch(f, 2, recs), -1);
	event(f, &evt);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(reply_u32(f, 16), 1);
	memcpy(&r, (uint8_t *)f->os.reply[0] + 64, sizeof(r));
	assert_int_equal(unic_from_le16(r.hdr.status), 0);
	assert_int_equal(unic_from_le32(r.end), UNIC_TOKEN_USED);
	assert_int_equal(status_of_nth(f, 1), UNIC_ST_NO_TOKEN);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_is_one_command),
		cmocka_unit_test(a_batch_for_an_old_nic),
		cmocka_unit_test(a_batch_for_a_small_list_page),
		cmocka_unit_test(each_wrong_batch),
		cmocka_unit_test(a_batch_without_memory),
		cmocka_unit_test(a_batch_that_is_cut),
		cmocka_unit_test(a_batch_of_somebody_who_left),
		cmocka_unit_test(a_batch_waits_for_a_token_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

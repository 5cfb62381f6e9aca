/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_held.c - registrations that may wait, where more of them are under way
 * than their process has places to wait. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "region/region.h"

#define PLACES 4u /* of each process */

static struct unic_ctl_mr_reg reg;

/* A process with PLACES places, frames and a PD, of which `reg` registers a page. */
static struct fake *with_places(void)
{
	struct fake *f = fake_new();
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(8),
				      .page_shift = 12 };
	struct unic_ctl_plain pd = { 0 };

	f->host->waits = PLACES * SLOTS;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg = (struct unic_ctl_mr_reg){ .pd = unic_to_le32(reply_u32(f, 16)),
					.va = unic_to_le64(VA),
					.iova = unic_to_le64(VA),
					.length = unic_to_le64(4096),
					.flags = UNIC_CTL_REG_WAIT };
	memset(f->given, 0, sizeof(f->given));
	f->os.replies = 0;
	return f;
}

/* Registers with number @seq; the NIC does not look. */
static void ask_reg(struct fake *f, uint32_t seq)
{
	struct unic_ctl_mr_reg r = reg;
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(UNIC_CTL_MR_REG),
				    .seq = unic_to_le32(seq) };

	memcpy(&r, &hdr, sizeof(hdr));
	assert_true(unic_host_request(f->host, &f->client, &r, sizeof(r)));
}

static struct unic_ctl_hdr reply(struct fake *f, uint32_t n)
{
	struct unic_ctl_hdr hdr;

	assert_true(n < f->os.replies);
	memcpy(&hdr, f->os.reply[n], sizeof(hdr));
	return hdr;
}

static void expect_reply(struct fake *f, uint32_t n, uint32_t seq,
			 uint16_t status)
{
	assert_int_equal(unic_from_le32(reply(f, n).seq), seq);
	assert_int_equal(unic_from_le16(reply(f, n).status), status);
}

/* Of @n under way, more than there are places, all are granted, in their order. */
static void none_waits(void **state)
{
	struct fake *f = with_places();
	uint32_t i;

	(void)state;
	for (i = 0; i < 10; i++)
		ask_reg(f, i + 1);
	assert_int_equal(f->os.replies, 0);
	nic_run(f);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], PLACES);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], 10);
	assert_int_equal(f->os.replies, 10);
	for (i = 0; i < 10; i++)
		expect_reply(f, i, i + 1, UNIC_ST_OK);
	assert_int_equal(f->host->proc[0].held, 0);
	assert_int_equal(f->host->proc[0].asked, 0);
	fake_delete(f);
}

/* Requests with the answer PENDING keep their places: later ones are refused,
 * also those that were held. */
static void those_with_places_wait(void **state)
{
	struct fake *f = with_places();
	uint32_t i;

	(void)state;
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	for (i = 0; i < PLACES + 2; i++)
		ask_reg(f, i + 1);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], PLACES);
	assert_int_equal(f->os.replies, 2);
	expect_reply(f, 0, PLACES + 1, UNIC_ST_WAIT_FULL);
	expect_reply(f, 1, PLACES + 2, UNIC_ST_WAIT_FULL);
	ask_reg(f, 20);
	expect_reply(f, 2, 20, UNIC_ST_WAIT_FULL);
	assert_int_equal(f->host->proc[0].waits, PLACES);
	fake_delete(f);
}

/* A request that may not wait needs no place; and none overtakes the held ones. */
static void only_what_may_wait_is_held(void **state)
{
	struct fake *f = with_places();
	uint32_t i;

	(void)state;
	for (i = 0; i < PLACES + 1; i++)
		ask_reg(f, i + 1);
	reg.flags = 0;
	ask_reg(f, 30);
	nic_run(f);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], PLACES + 1);
	unic_host_poll(f->host);
	reg.flags = UNIC_CTL_REG_WAIT;
	for (i = 0; i < PLACES; i++) /* the first of these has one before it */
		ask_reg(f, 40 + i);
	settle(f);
	assert_int_equal(f->os.replies, 2 * PLACES + 2);
	expect_reply(f, PLACES + 1, PLACES + 1, UNIC_ST_OK);
	expect_reply(f, PLACES + 2, 40, UNIC_ST_OK);
	fake_delete(f);
}

/* A wait ends while others are under way: a held request gets its place, not a
 * later one. */
static void place_is_for_who_is_held(void **state)
{
	struct fake *f = with_places();
	struct unic_cpl_mr_reg cpl = { .wait = unic_to_le32(4) };
	struct unic_evt_wait evt = { .hdr = { .type = UNIC_EVT_WAIT_ENDED },
				     .wait = unic_to_le32(4),
				     .status = unic_to_le32(UNIC_ST_TIMEOUT) };
	uint32_t i, at = 0;
	struct unic_region *mr;

	(void)state;
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	ask_reg(f, 1);
	settle(f);
	mr = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_MR, 0);
	evt.user = unic_to_le32(mr->obj.id);
	evt.hdr.epoch = unic_to_le32(f->epoch);
	for (i = 2; i <= PLACES + 1; i++)
		ask_reg(f, i);
	assert_int_equal(f->host->proc[0].held, 1);
	put_event(f, &evt);
	unic_host_poll(f->host);
	expect_reply(f, 0, 1, UNIC_ST_TIMEOUT);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_OK;
	ask_reg(f, PLACES + 2);
	assert_int_equal(f->host->proc[0].held, 2);
	settle(f);
	for (i = 1; i <= PLACES + 1; i++)
		expect_reply(f, i, i + 1, UNIC_ST_OK);
	fake_delete(f);
}

/* WAIT_CANCEL of one that is held ends it, and no other. */
static void held_one_is_cancelled(void **state)
{
	struct fake *f = with_places();
	struct unic_ctl_wait_cancel r = { .wait_seq = unic_to_le32(6) };
	uint32_t i;

	(void)state;
	for (i = 0; i < PLACES + 3; i++)
		ask_reg(f, i + 1);
	ask(f, UNIC_CTL_WAIT_CANCEL, &r);
	assert_int_equal(f->os.replies, 2);
	expect_reply(f, 0, 6, UNIC_ST_CANCELLED);
	assert_int_equal(unic_from_le16(reply(f, 1).status), UNIC_ST_OK);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], PLACES + 2);
	assert_int_equal(f->os.replies, PLACES + 4);
	fake_delete(f);
}

/* The process ends: held requests get no reply, and never reach the NIC. */
static void process_of_held_ones_ends(void **state)
{
	struct fake *f = with_places();
	uint32_t i;

	(void)state;
	for (i = 0; i < PLACES + 3; i++)
		ask_reg(f, i + 1);
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], PLACES);
	assert_int_equal(f->os.replies, 0);
	assert_int_equal(f->host->proc[0].held, 0);
	assert_int_equal(f->host->proc[0].asked, 0);
	fake_delete(f);
}

/* The NIC is reset: held requests fail as those do that the NIC has. */
static void nic_of_held_ones_is_reset(void **state)
{
	struct fake *f = with_places();
	uint32_t i;

	(void)state;
	for (i = 0; i < PLACES + 3; i++)
		ask_reg(f, i + 1);
	fail_nic(f);
	settle(f);
	assert_int_equal(f->os.replies, PLACES + 3);
	for (i = 0; i < PLACES + 3; i++) {
		const struct unic_ctl_hdr hdr = reply(f, i);

		assert_int_not_equal(unic_from_le16(hdr.status), UNIC_ST_OK);
		if (unic_from_le32(hdr.seq) > PLACES)
			expect_reply(f, i, unic_from_le32(hdr.seq),
				     UNIC_CTL_ST_RESET);
	}
	assert_int_equal(f->host->proc[0].held, 0);
	assert_int_equal(f->host->proc[0].asked, 0);
	assert_int_equal(f->host->proc[0].regions, 0);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_waits),
		cmocka_unit_test(those_with_places_wait),
		cmocka_unit_test(only_what_may_wait_is_held),
		cmocka_unit_test(place_is_for_who_is_held),
		cmocka_unit_test(held_one_is_cancelled),
		cmocka_unit_test(process_of_held_ones_ends),
		cmocka_unit_test(nic_of_held_ones_is_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_mailbox.c - commands and completions between the host driver and
 * a NIC that is hostile, silent or slow. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"

static void wild_indices_are_ignored(void **state)
{
	struct fake *f = fake_new();
	uint32_t bad = f->host->provider->bad_records;
	uint64_t evt[8];

	(void)state;
	(void)evt;
	idx(f)->cpl_tail = unic_to_le32(f->cpl_tail + 65);
	idx(f)->evt_tail = unic_to_le32(f->evt_tail + 513);
	idx(f)->mad_tail = unic_to_le32(0x80000000);
	unic_host_poll(f->host);
	assert_true(f->host->provider->bad_records >= bad + 3);
	idx(f)->cpl_tail = unic_to_le32(f->cpl_tail);
	idx(f)->evt_tail = unic_to_le32(f->evt_tail);
	idx(f)->mad_tail = unic_to_le32(0);
	hello(f); /* requests still work */
	fake_delete(f);
}

/* A NIC that is awake answers before a sleep would have begun. */
static void answers_that_are_due_come_without_interrupt(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_HELLO) };

	(void)state;
	memcpy(&r, &op, sizeof(op));
	unic_host_request(f->host, &f->client, &r, 64);
	idx(f)->asleep = unic_to_le32(1);
	assert_true(unic_host_rest(f->host, true));
	assert_int_equal(unic_from_le32(driver(f)->want_irq), 1);
	unic_host_rest(f->host, false); /* the driver polls */
	assert_int_equal(unic_from_le32(driver(f)->want_irq), 0);
	unic_host_poll(f->host);
	idx(f)->asleep = unic_to_le32(0);
	idx(f)->cpl_tail = unic_to_le32(f->cpl_tail + 65); /* wild */
	assert_true(unic_host_rest(f->host, true));
	unic_host_poll(f->host);
	nic_run(f);
	assert_false(unic_host_rest(f->host, true));
	assert_int_equal(unic_from_le32(driver(f)->want_irq), 0);
	unic_host_poll(f->host);
	assert_int_equal(f->os.replies, 1);
	fake_delete(f);
}

static void foreign_completions_are_ignored(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hello r = { .version = unic_to_le32(1) };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_HELLO) };
	struct unic_cmd_hdr hdr;
	uint64_t rec[8], bad[8];
	int k;

	(void)state;
	memcpy(&r, &op, sizeof(op));
	unic_host_request(f->host, &f->client, &r, 64);
	memcpy(rec, f->bar + UNIC_BAR_CMD_OFF + f->cmd_head % 64 * 64, 64);
	f->cmd_head++;
	for (k = 0; k < 3; k++) { /* wrong epoch, cookie, opcode */
		memcpy(bad, rec, 64);
		memcpy(&hdr, bad, sizeof(hdr));
		if (k == 0)
			hdr.epoch = unic_to_le32(f->epoch + 1);
		else if (k == 1)
			hdr.cookie =
				unic_to_le16(unic_from_le16(hdr.cookie) ^ 0x40);
		else
			hdr.opcode = UNIC_CMD_NOP;
		memcpy(bad, &hdr, sizeof(hdr));
		complete(f, bad);
		unic_host_poll(f->host);
		assert_int_equal(f->os.replies, 0);
	}
	assert_int_equal(f->host->provider->bad_records, 3);
	memset(rec + 1, 0, 56);
	complete(f, rec);
	unic_host_poll(f->host);
	assert_int_equal(f->os.replies, 1);
	complete(f, rec); /* the same completion again belongs to no command */
	unic_host_poll(f->host);
	assert_int_equal(f->os.replies, 1);
	fake_delete(f);
}

static void random_device_memory(void **state)
{
	struct fake *f = fake_new();
	uint32_t seed = 12345, i, k;

	(void)state;
	region(f, 4);
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 64; k++) {
			uint32_t off;

			seed = seed * 1664525 + 1013904223;
			off = seed >> 8 & 0x1ffff;
			f->bar[off] = (uint8_t)(seed >> 3);
		}
		idx(f)->evt_tail = unic_to_le32(seed >> 5 & 0x3ff);
		idx(f)->cpl_tail = unic_to_le32(seed >> 9 & 0x7f);
		unic_host_poll(f->host);
		f->os.now_ns += 1000000;
		f->os.replies = 0;
	}
	fake_delete(f);
}

/* Lets the driver poll every 100 ms, for @ms. */
static void look_for(struct fake *f, uint32_t ms)
{
	uint32_t i;

	for (i = 0; i < ms / 100; i++) {
		f->os.now_ns += 100000000;
		unic_host_poll(f->host);
	}
}

static void silence_is_death_and_heals(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_plain pd = { 0 };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_PD_ALLOC) }, got;

	(void)state;
	hello(f);
	f->os.replies = 0;
	memcpy(&pd, &op, sizeof(op));
	unic_host_request(f->host, &f->client, &pd, 64);
	look_for(f, 3000);
	assert_int_equal(f->os.replies, 0);
	look_for(f, 100);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_DEAD);
	assert_int_equal(f->os.replies, 1);
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.status), UNIC_CTL_ST_RESET);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd),
			 UNIC_CTL_ST_NO_NIC);
	f->os.now_ns += 2000000000ull;
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	fake_delete(f);
}

/* A driver that was away, and maybe the NIC with it, does not hold that against
 * the NIC; but a NIC that hangs is dead 3 s after the driver is back. */
static void absence_of_the_driver_is_no_silence(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_plain pd = { 0 };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_PD_ALLOC) };

	(void)state;
	hello(f);
	f->os.replies = 0;
	memcpy(&pd, &op, sizeof(op));
	unic_host_request(f->host, &f->client, &pd, 64);
	look_for(f, 2000);
	f->os.now_ns += 60000000000ull;
	unic_host_poll(f->host);
	look_for(f, 3000);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	look_for(f, 100);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_DEAD);
	assert_int_equal(f->os.replies, 1);
	fake_delete(f);
}

static void more_commands_than_slots(void **state)
{
	struct fake *f = fake_new();
	struct unic_client c[8];
	struct unic_ctl_dump d = { .table = unic_to_le32(1) };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_DUMP) };
	uint32_t i, k, before = f->commands;

	(void)state;
	memcpy(&d, &op, sizeof(op));
	for (i = 0; i < 8; i++) {
		c[i] = (struct unic_client){ .slot = UNIC_OS_NO_SLOT,
					     .privileged = true };
		for (k = 0; k < 20; k++)
			unic_host_request(f->host, &c[i], &d, 64);
	}
	for (i = 0; i < 20; i++) {
		f->os.replies = 0;
		nic_run(f);
		unic_host_poll(f->host);
	}
	assert_int_equal(f->commands - before, 160);
	for (i = 0; i < 8; i++)
		assert_int_equal(c[i].open, 0);
	fake_delete(f);
}

/* Whichever allocation fails while the NIC is set up: it is set up later, whole,
 * and not without its address. */
static void setup_goes_on_when_there_is_memory(void **state)
{
	struct fake *f = fake_new();
	uint32_t k, late = 0;

	(void)state;
	for (k = 1; k < 12; k++) {
		unic_host_delete(f->host); /* sends no upcall */
		memset(f->last, 0, sizeof(f->last));
		start_driver(f);
		f->os.fail_alloc = k;
		unic_host_plug(f->host, true);
		settle(f);
		f->os.fail_alloc = 0;
		late += unic_host_nic(f->host) != UNIC_CTL_NIC_READY;
		f->os.now_ns += 100000000;
		settle(f);
		assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
		assert_int_equal((uint8_t)f->last[UNIC_CMD_SET_ADDR][0],
				 UNIC_CMD_SET_ADDR);
		assert_int_equal((uint8_t)f->last[UNIC_CMD_ENTROPY][0],
				 UNIC_CMD_ENTROPY);
	}
	assert_in_range(late, 4, 10);
	fake_delete(f);
}

/* A NIC whose mailbox has another major version is looked at and not written to, nor
 * rung, whatever happens; one that joins in its place is served. */
static void nic_of_another_version_is_left_alone(void **state)
{
	struct fake *f = fake_new();
	uint8_t *before = malloc(UNIC_BAR_BYTES);
	uint32_t rings;

	(void)state;
	hello(f);
	unic_host_plug(f->host, false);
	memset(f->bar, 0x77, UNIC_BAR_BYTES);
	info(f)->magic = unic_to_le32(0); /* not powered on yet */
	info(f)->abi_major = unic_to_le16(UNIC_ABI_MAJOR + 1);
	memcpy(before, f->bar, UNIC_BAR_BYTES);
	rings = f->os.rings;
	unic_host_plug(f->host, true);
	look_for(f, 1000);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_STARTING);
	assert_memory_equal(before, f->bar, UNIC_BAR_BYTES);
	info(f)->magic = unic_to_le32(UNIC_MAGIC);
	memcpy(before, f->bar, UNIC_BAR_BYTES);
	look_for(f, 10000);
	unic_host_rest(f->host, true);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_DEAD);
	unic_host_fence(f->host);
	assert_true(unic_host_fenced(f->host));
	assert_memory_equal(before, f->bar, UNIC_BAR_BYTES);
	assert_int_equal(f->os.rings, rings);
	unic_host_plug(f->host, false);
	memset(f->bar, 0, UNIC_BAR_BYTES);
	free(before);
	info(f)->magic = unic_to_le32(UNIC_MAGIC);
	info(f)->abi_major = unic_to_le16(UNIC_ABI_MAJOR);
	info(f)->procs = unic_to_le32(SLOTS);
	unic_host_plug(f->host, true);
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	fake_delete(f);
}

/* The number of a reset is another than the NIC may still have to answer. */
static void reset_is_not_an_earlier_drivers(void **state)
{
	struct fake *f = fake_new();
	uint32_t ack = unic_from_le32(info(f)->reset_ack);

	(void)state;
	unic_host_plug(f->host, false);
	driver(f)->reset_req = unic_to_le32(ack + 1);
	unic_host_plug(f->host, true);
	assert_int_equal(unic_from_le32(driver(f)->reset_req), ack + 2);
	settle(f);
	assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wild_indices_are_ignored),
		cmocka_unit_test(answers_that_are_due_come_without_interrupt),
		cmocka_unit_test(foreign_completions_are_ignored),
		cmocka_unit_test(random_device_memory),
		cmocka_unit_test(silence_is_death_and_heals),
		cmocka_unit_test(absence_of_the_driver_is_no_silence),
		cmocka_unit_test(more_commands_than_slots),
		cmocka_unit_test(setup_goes_on_when_there_is_memory),
		cmocka_unit_test(nic_of_another_version_is_left_alone),
		cmocka_unit_test(reset_is_not_an_earlier_drivers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_notice.c - notices of the NIC, and the ring through which the host
 * driver sends upcalls to a process. Host only.
 */
#include <pthread.h>
#include <signal.h>

#include "unit.h"

#include "driver_rig.h"
#include "upcall.h"

static void notice_is_told_then_acknowledged(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4), told;
	struct unic_evt_mr evt = notice(id, UNIC_EVT_NOTICE);
	struct unic_cmd_notice_ack ack;
	struct unic_upcall_mr up;

	(void)state;
	info(f)->pair_host_ns = unic_to_le64(f->os.now_ns);
	event(f, &evt);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(unic_from_le32(up.hdr.seq), 1);
	assert_int_equal(up.hdr.type, UNIC_UP_NOTICE);
	assert_int_equal(unic_from_le32(up.hdr.id), id);
	assert_int_equal(unic_from_le32(up.user), 55);
	assert_int_equal(unic_from_le64(up.deadline_ns),
			 f->os.now_ns + 20000000);
	assert_int_equal(unic_from_le32(up.hdr.epoch), f->epoch);
	assert_int_equal(up.hdr.reason, UNIC_WHY_WAITER);
	assert_int_equal(unic_from_le32(up.notice_seq), 77);
	assert_int_equal(unic_from_le32(up.entries), 4);
	assert_int_equal(unic_from_le32(up.dependents), 6);
	assert_int_equal(unic_from_le32(up.rank), 2);
	assert_int_equal(unic_from_le32(up.grace_us), 20000);
	assert_int_equal(unic_from_le32(up.pain), 123);
	memcpy(&ack, f->last[UNIC_CMD_NOTICE_ACK], 64);
	assert_int_equal(unic_from_le32(ack.seq), 77);
	/* late duplicate: acknowledged again, without another upcall */
	told = f->host->upcalls;
	event(f, &evt);
	assert_int_equal(f->host->upcalls, told);
	/* EVICTED unpins; a second one has no effect */
	evt = notice(id, UNIC_EVT_EVICTED);
	event(f, &evt);
	assert_int_equal(pinned(f), 0);
	memcpy(&up, upcall(f, 1), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_EVICTED);
	assert_int_equal(unic_from_le64(up.deadline_ns), 0);
	told = f->host->upcalls;
	event(f, &evt);
	assert_int_equal(f->host->upcalls, told);
	fake_delete(f);
}

/* The question for an idle region binds nobody: it is told, not acknowledged, and
 * changes no state. A notice, or the region's end, overtakes it. */
static void idle_region_is_told(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4), told;
	struct unic_evt_mr evt = notice(id, UNIC_EVT_IDLE);
	struct unic_evt_mr hard = notice(id, UNIC_EVT_NOTICE);
	struct unic_ctl_obj dereg = { .id = unic_to_le32(id) };
	struct unic_upcall_mr up;

	(void)state;
	evt.hdr.reason = UNIC_WHY_IDLE;
	evt.seq = evt.grace_us = evt.rank = 0;
	event(f, &evt);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_IDLE);
	assert_int_equal(up.hdr.reason, UNIC_WHY_IDLE);
	assert_int_equal(unic_from_le32(up.hdr.id), id);
	assert_int_equal(unic_from_le32(up.user), 55);
	assert_int_equal(unic_from_le32(up.entries), 4);
	assert_int_equal(unic_from_le32(up.dependents), 6);
	assert_int_equal(unic_from_le32(up.pain), 123);
	assert_int_equal(unic_from_le64(up.deadline_ns), 0);
	assert_int_equal(f->given[UNIC_CMD_NOTICE_ACK], 0);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	assert_int_equal(f->host->audits, 0);
	event(f, &hard);
	told = f->host->upcalls;
	event(f, &evt); /* of before the notice */
	assert_int_equal(f->host->upcalls, told);
	assert_int_equal(region_state(f, id), R_NOTIFIED);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_PENDING;
	ask(f, UNIC_CTL_MR_DEREG, &dereg);
	event(f, &evt);
	assert_int_equal(f->host->upcalls, told);
	fake_delete(f);
}

static void an_ending_region_is_not_asked_for(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_evt_mr evt = notice(id, UNIC_EVT_IDLE);
	struct unic_ctl_obj dereg = { .id = unic_to_le32(id) };
	uint32_t told = f->host->upcalls;

	(void)state;
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_PENDING;
	ask(f, UNIC_CTL_MR_DEREG, &dereg);
	event(f, &evt);
	evt = notice(id + 1, UNIC_EVT_IDLE);
	event(f, &evt);
	assert_int_equal(f->host->upcalls, told);
	fake_delete(f);
}

static void pace_of_the_conversation_is_kept(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_proc row;
	struct unic_ctl_plain ps = { 0 };
	uint32_t id = region(f, 2);
	struct unic_ctl_obj dereg = { .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_NOTICE);

	(void)state;
	info(f)->pair_host_ns = unic_to_le64(f->os.now_ns - 500000);
	event(f, &evt); /* decided at NIC time 0, 500 us ago */
	event(f, &evt); /* one upcall, one count */
	f->os.now_ns += 3000000;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &dereg), 0);
	assert_int_equal(request(f, UNIC_CTL_PS, &ps), 0);
	memcpy(&row, (uint8_t *)f->os.reply[0] + 64, sizeof(row));
	assert_int_equal(unic_from_le32(row.notices), 1);
	assert_int_equal(unic_from_le32(row.deliver_max_us), 500);
	assert_int_equal(unic_from_le32(row.deliver_mean_us), 500);
	assert_int_equal(unic_from_le32(row.answers), 1);
	assert_int_equal(unic_from_le32(row.answer_max_us), 3000);
	assert_int_equal(unic_from_le32(row.deadlines), 0);
	fake_delete(f);
}

/* A region over the memory of region(), with number 4 on the NIC. */
static uint32_t another_region(struct fake *f)
{
	struct unic_ctl_plain pd = { 0 };
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(4),
				       .gen = unic_to_le32(9),
				       .stag = unic_to_le32(0xabce00) };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(4096) };

	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), 0);
	return reply_u32(f, 16);
}

/* NOTICE_ACK will be answered with a deadline at @ns, NIC time. */
static void grace_ends_at(struct fake *f, uint64_t ns)
{
	struct unic_cpl_notice cpl = { .deadline_ns = unic_to_le64(ns) };

	memcpy(f->cpl[UNIC_CMD_NOTICE_ACK], &cpl, 64);
}

/* What PS says of the graces of process 0. */
static struct unic_ctl_grace graces(struct fake *f)
{
	struct unic_ctl_ps ps = { .what = unic_to_le32(UNIC_CTL_PS_GRACES) };
	struct unic_ctl_grace row = { 0 };

	assert_int_equal(request(f, UNIC_CTL_PS, &ps), 0);
	assert_true(reply_u32(f, 16) <= 1);
	assert_int_equal(reply_u32(f, 12), reply_u32(f, 16) * sizeof(row));
	if (reply_u32(f, 16))
		memcpy(&row, (uint8_t *)f->os.reply[0] + 64, sizeof(row));
	return row;
}

static void graces_are_told(void **state)
{
	struct fake *f = fake_new();
	uint32_t first = region(f, 2), second = another_region(f);
	struct unic_ctl_obj dereg = { .id = unic_to_le32(first) };
	struct unic_evt_mr evt = notice(first, UNIC_EVT_NOTICE);
	struct unic_ctl_ps odd = { .what = unic_to_le32(2) };

	(void)state;
	info(f)->pair_host_ns = unic_to_le64(f->os.now_ns);
	assert_int_equal(unic_from_le32(graces(f).notices), 0);
	grace_ends_at(f, 20000000);
	event(f, &evt);
	f->os.now_ns += 5000000;
	assert_int_equal(unic_from_le32(graces(f).notices), 1);
	assert_int_equal(unic_from_le32(graces(f).left_us), 15000);
	evt = notice(second, UNIC_EVT_NOTICE);
	evt.mr = unic_to_le32(4);
	grace_ends_at(f, 40000000);
	event(f, &evt);
	assert_int_equal(unic_from_le32(graces(f).notices), 2);
	assert_int_equal(unic_from_le32(graces(f).left_us), 15000);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &dereg), 0);
	assert_int_equal(unic_from_le32(graces(f).notices), 1);
	assert_int_equal(unic_from_le32(graces(f).left_us), 35000);
	f->os.now_ns += 50000000; /* its EVICTED has not come yet */
	assert_int_equal(unic_from_le32(graces(f).notices), 1);
	assert_int_equal(unic_from_le32(graces(f).left_us), 0);
	assert_int_equal(request(f, UNIC_CTL_PS, &odd), UNIC_ST_INVALID);
	fake_delete(f);
}

static void notice_of_another_life(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	/* from before the last reset */
	evt.hdr.epoch = unic_to_le32(f->epoch - 1);
	nic_says(f, &evt);
	assert_int_equal(f->host->provider->bad_records, 1);
	assert_int_equal(pinned(f), 4);
	assert_int_equal(f->host->upcalls, 0);
	evt.gen = unic_to_le32(8); /* an older registration of the index */
	event(f, &evt);
	assert_int_equal(pinned(f), 4);
	evt = notice(id + 1, UNIC_EVT_EVICTED);
	event(f, &evt);
	assert_int_equal(pinned(f), 4);
	assert_int_equal(f->host->upcalls, 0);
	fake_delete(f);
}

static void upcall_storm_is_bounded_and_loss_shows(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_obj evt = { .hdr = { .type = UNIC_EVT_DB_ERROR } };
	struct unic_ctl_resync r = { 0 };
	unic_le32 seq;
	uint32_t i;

	(void)state;
	hello(f);
	for (i = 0; i < 200; i++)
		event(f, &evt);
	memcpy(&seq, upcall(f, 0), sizeof(seq));
	assert_int_equal(unic_from_le32(seq), 1 + 3 * UNIC_UPCALLS);
	assert_int_equal(request(f, UNIC_CTL_RESYNC, &r), 0);
	assert_int_equal(reply_u32(f, 24), 201);
	fake_delete(f);
}

#define LOOKS 5000u

static struct {
	const struct unic_upcall_ring *ring;
	pthread_t driver;
	volatile sig_atomic_t at; /* the record that is written now */
	volatile uint32_t looks, wrong;
} reader;

/* A reader between any two instructions of the driver. */
static void look_at_upcall(int sig)
{
	const void *at = reader.ring->record[reader.at % UNIC_UPCALLS];
	struct unic_upcall_obj up;
	uint32_t seq;

	(void)sig;
	reader.looks++;
	memcpy(&up, at, sizeof(up));
	seq = unic_from_le32(up.hdr.seq);
	reader.wrong += seq && (unic_from_le32(up.hdr.id) != seq ||
				unic_from_le32(up.user) != seq ||
				unic_from_le32(up.detail) != seq);
}

static void *interrupt_driver(void *arg)
{
	(void)arg;
	while (reader.looks < LOOKS)
		pthread_kill(reader.driver, SIGUSR1);
	return NULL;
}

/* A record that has a number is whole, at every moment. */
static void upcalls_are_read_whole(void **state)
{
	struct fake *f = fake_new();
	pthread_t thread;
	uint32_t i;

	(void)state;
	hello(f);
	reader.looks = reader.wrong = 0;
	reader.ring = f->host->proc[f->client.slot].ring;
	reader.driver = pthread_self();
	signal(SIGUSR1, look_at_upcall);
	assert_int_equal(pthread_create(&thread, NULL, interrupt_driver, NULL),
			 0);
	for (i = 1; reader.looks < LOOKS; i++) {
		reader.at = (sig_atomic_t)(i - 1);
		unic_upcall_send_obj(f->host, f->client.slot, UNIC_UP_DB_ERROR,
				     i, i, i);
	}
	pthread_join(thread, NULL);
	signal(SIGUSR1, SIG_DFL);
	assert_int_equal(reader.wrong, 0);
	fake_delete(f);
}

static void bad_doorbell_is_told_and_acknowledged(void **state)
{
	struct fake *f = fake_new();
	struct unic_evt_obj evt = { .hdr = { .type = UNIC_EVT_DB_ERROR },
				    .id = unic_to_le32(0x10203) };
	struct unic_upcall_obj up;
	struct unic_cmd_db_ack ack;

	(void)state;
	event(f, &evt); /* of no process */
	evt.hdr.proc = unic_to_le16(SLOTS);
	event(f, &evt);
	memcpy(&ack, f->last[UNIC_CMD_DB_ACK], sizeof(ack));
	assert_int_equal(ack.hdr.opcode, 0);
	hello(f);
	evt.hdr.proc = unic_to_le16((uint16_t)f->client.slot);
	event(f, &evt);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_DB_ERROR);
	assert_int_equal(unic_from_le32(up.detail), 0x10203);
	memcpy(&ack, f->last[UNIC_CMD_DB_ACK], sizeof(ack));
	assert_int_equal(ack.hdr.opcode, UNIC_CMD_DB_ACK);
	assert_int_equal(unic_from_le32(ack.proc), f->client.slot);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notice_is_told_then_acknowledged),
		cmocka_unit_test(idle_region_is_told),
		cmocka_unit_test(an_ending_region_is_not_asked_for),
		cmocka_unit_test(pace_of_the_conversation_is_kept),
		cmocka_unit_test(graces_are_told),
		cmocka_unit_test(notice_of_another_life),
		cmocka_unit_test(upcall_storm_is_bounded_and_loss_shows),
		cmocka_unit_test(upcalls_are_read_whole),
		cmocka_unit_test(bad_doorbell_is_told_and_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

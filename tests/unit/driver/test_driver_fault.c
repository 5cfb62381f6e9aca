/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_fault.c - pages of demand and table regions that the host driver
 * fills in when the NIC misses them. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "region/frames_slot.h"

static struct unic_evt_miss miss_record(struct fake *f, uint32_t id,
					uint32_t first, uint32_t count)
{
	return (struct unic_evt_miss){
		.hdr = { .type = UNIC_EVT_MISS,
			 .epoch = unic_to_le32(f->epoch) },
		.mr = unic_to_le32(3),
		.gen = unic_to_le32(9),
		.user = unic_to_le32(id),
		.first = unic_to_le32(first),
		.count = unic_to_le32(count),
		.seq = unic_to_le32(5),
	};
}

static void miss(struct fake *f, uint32_t id, uint32_t first, uint32_t count)
{
	struct unic_evt_miss evt = miss_record(f, id, first, count);

	event(f, &evt);
}

/* The driver reads the event of a miss, and the NIC executes no command yet. */
static void miss_alone(struct fake *f, uint32_t id, uint32_t first,
		       uint32_t count)
{
	struct unic_evt_miss evt = miss_record(f, id, first, count);

	put_event(f, &evt);
	unic_host_poll(f->host);
}

static void dropped(struct fake *f, uint32_t id, uint32_t page)
{
	struct unic_drop *ring = (void *)(f->bar + UNIC_BAR_DROP_OFF);
	uint32_t tail = unic_from_le32(idx(f)->drop_tail);

	ring[tail % UNIC_DROP_ENTRIES] =
		(struct unic_drop){ .mr = unic_to_le32(3),
				    .gen = unic_to_le32(9),
				    .page = unic_to_le32(page),
				    .user = unic_to_le32(id) };
	idx(f)->drop_tail = unic_to_le32(tail + 1);
}

/* The NIC's answer to MR_FAULT from now on. */
static void fault_answer(struct fake *f, uint8_t status, uint32_t done)
{
	struct unic_cpl_mr_pages cpl = { .done = unic_to_le32(done) };

	memcpy(f->cpl[UNIC_CMD_MR_FAULT], &cpl, 64);
	f->answer[UNIC_CMD_MR_FAULT] = status;
}

static struct unic_cmd_mr_fault last_fault(struct fake *f)
{
	struct unic_cmd_mr_fault cmd;

	memcpy(&cmd, f->last[UNIC_CMD_MR_FAULT], sizeof(cmd));
	return cmd;
}

static uint32_t demand_region(struct fake *f, uint32_t pages)
{
	uint32_t id;

	residency = UNIC_DEMAND;
	id = region(f, pages);
	residency = UNIC_RESIDENT;
	return id;
}

static void unmapped_pages_of_demand_go(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8), slot = f->client.slot;
	struct unic_cmd_mr_pages cmd;

	(void)state;
	unic_host_unmapped(f->host, slot, VA, 8 * 4096);
	settle(f);
	assert_int_equal(f->last[UNIC_CMD_MR_INVALIDATE][0], 0); /* not asked */
	fault_answer(f, 0, 4);
	miss(f, id, 2, 4);
	assert_int_equal(pinned(f), 4);
	f->answer[UNIC_CMD_MR_INVALIDATE] = UNIC_ST_BUSY;
	unic_host_unmapped(f->host, slot, VA + 3 * 4096, 2 * 4096);
	settle(f);
	assert_int_equal(pinned(f), 4);
	f->answer[UNIC_CMD_MR_INVALIDATE] = UNIC_ST_OK;
	unic_host_unmapped(f->host, slot, VA + 3 * 4096, 2 * 4096);
	settle(f);
	memcpy(&cmd, f->last[UNIC_CMD_MR_INVALIDATE], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.first), 3);
	assert_int_equal(unic_from_le32(cmd.count), 2);
	assert_int_equal(pinned(f), 2);
	fake_delete(f);
}

static void demand_pages_are_pinned_one_by_one(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8);
	struct unic_cmd_mr_fault cmd;
	struct unic_ctl_obj obj = { .id = unic_to_le32(id) };

	(void)state;
	assert_int_equal(pinned(f), 0);
	fault_answer(f, 0, 3);
	miss(f, id, 2, 3);
	cmd = last_fault(f);
	assert_int_equal(unic_from_le32(cmd.mr), 3);
	assert_int_equal(unic_from_le32(cmd.first), 2);
	assert_int_equal(unic_from_le32(cmd.count), 3);
	assert_int_equal(unic_from_le32(cmd.seq), 5);
	assert_int_equal(unic_from_le32(cmd.cannot), 0);
	assert_int_equal(pinned(f), 3);
	/* pages that the NIC has are not sent again: the answer ends before the
	 * first of them */
	fault_answer(f, 0, 2);
	miss(f, id, 0, 8);
	cmd = last_fault(f);
	assert_int_equal(unic_from_le32(cmd.count), 2);
	assert_int_equal(pinned(f), 5);
	/* dropped pages are unpinned; the drop record comes before the DEMAND of
	 * the same page */
	dropped(f, id, 3);
	fault_answer(f, 0, 1);
	miss(f, id, 3, 1);
	cmd = last_fault(f);
	assert_int_equal(unic_from_le32(cmd.first), 3);
	assert_int_equal(pinned(f), 5);
	dropped(f, id, 3);
	dropped(f, id, 0);
	settle(f);
	assert_int_equal(pinned(f), 3);
	assert_int_equal(f->host->audits, 0);
	dropped(f, id, 0); /* again */
	settle(f);
	assert_int_equal(f->host->audits, 1);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), 0);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

static void faults_without_room_are_tried_again(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8), before;

	(void)state;
	fault_answer(f, UNIC_ST_BUSY,
		     2); /* two of four: the rest another time */
	miss(f, id, 0, 4);
	assert_int_equal(pinned(f), 2);
	before = f->commands;
	f->os.now_ns += 1000000;
	settle(f);
	assert_int_equal(last_fault(f).first, unic_to_le32(0));
	fault_answer(f, UNIC_ST_BUSY, 0);
	miss(f, id, 2, 4);
	assert_int_equal(pinned(f), 2);
	before = f->commands;
	f->os.now_ns += 60000;
	settle(f);
	assert_true(f->commands > before);
	fault_answer(f, 0, 4);
	f->os.now_ns += 60000;
	settle(f);
	assert_int_equal(pinned(f), 6);
	fault_answer(f, UNIC_ST_STALE,
		     0); /* the NIC asks again, the driver does not */
	miss(f, id, 6, 2);
	before = f->commands;
	assert_int_equal(pinned(f), 6);
	f->os.now_ns += 60000;
	settle(f);
	assert_int_equal(f->commands, before);
	fake_delete(f);
}

static void pages_that_are_not_mapped(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8);
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA + 4 * 4096),
				      .pages = unic_to_le32(4) };

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_FRAMES_FREE, &fr), 0);
	fault_answer(f, 0, 2);
	miss(f, id, 2, 4);
	assert_int_equal(unic_from_le32(last_fault(f).count), 2);
	fault_answer(f, 0, 0);
	miss(f, id, 5, 2);
	assert_int_equal(unic_from_le32(last_fault(f).cannot), 1);
	assert_int_equal(unic_from_le32(last_fault(f).count), 1);
	assert_int_equal(pinned(f), 2);
	/* out of the region, or of a region that is gone */
	miss(f, id, 7, 2);
	assert_int_equal(f->host->audits, 1);
	miss(f, id + 1, 0, 1);
	assert_int_equal(pinned(f), 2);
	fake_delete(f);
}

static int register_table(struct fake *f)
{
	uint32_t at = 0;
	const struct unic_obj *pd = unic_obj_next(&f->host->objects, &at,
						  UNIC_OBJ_PD, UNIC_OBJ_ANYONE);
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(4096),
				       .pd = unic_to_le32(pd->id),
				       .residency = UNIC_TABLE };

	return request(f, UNIC_CTL_MR_REG, &reg);
}

static void lists_are_written_and_pinned(void **state)
{
	struct fake *f = fake_new();
	const struct unic_frames *frames = &f->host->proc[0].frames;
	uint32_t used = frames->used;
	struct unic_ctl_obj obj = { 0 };
	struct unic_cmd_mr_reg cmd;
	const unic_le64 *list;
	uint64_t bus;
	uint32_t i;

	(void)state;
	residency = UNIC_TABLE;
	obj.id = unic_to_le32(region(f, 8));
	residency = UNIC_RESIDENT;
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], 64);
	assert_int_equal(cmd.residency, UNIC_TABLE);
	assert_true(cmd.flags & UNIC_REG_HOST_TABLE);
	assert_int_equal(pinned(f), 8);
	bus = unic_from_le64(cmd.list) - frames->bus;
	assert_true(bus >> 12 < frames->frames && !(bus % 64));
	list = (void *)(frames->t->base + bus);
	for (i = 0; i < 8; i++) {
		assert_int_equal(unic_frames_list(frames, VA, 12, i, 1, &bus),
				 0);
		assert_int_equal(unic_from_le64(list[i]),
				 bus | UNIC_TABLE_VALID);
	}
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), 0);
	assert_int_equal(pinned(f), 0);
	/* nobody finds pages by what is left there */
	for (i = 0; i < 8; i++)
		assert_int_equal(unic_from_le64(list[i]), 0);
	assert_true(frames->used >= used);
	fake_delete(f);
}

/* A list comes of the memory of its process, and is bounded by nothing else. */
static void lists_run_out_with_memory(void **state)
{
	struct fake *f = fake_new();
	struct unic_frames *frames = &f->host->proc[0].frames;
	uint32_t list, n = 0;
	uint64_t bus;

	(void)state;
	residency = UNIC_TABLE;
	region(f, 1);
	residency = UNIC_RESIDENT;
	while (unic_frames_words(frames, 0x1000 + n, 1, &bus))
		n++;
	assert_true(n > 1);
	assert_int_equal(frames->used, frames->frames - UNIC_SLOT_FRAMES);
	assert_int_equal(register_table(f), UNIC_CTL_ST_NO_MEMORY);
	assert_int_equal(unic_frames_alloc(frames, 1ull << 40, 1, 12, &list),
			 -ENOSPC);
	unic_frames_words_free(frames, 0x1000);
	assert_int_equal(register_table(f), UNIC_ST_OK);
	fake_delete(f);
}

static uint32_t faults_of(const struct fake *f, uint32_t id)
{
	uint32_t i, n = 0;

	for (i = 0; i < UNIC_REGION_FAULTS; i++)
		n += f->host->fault[i].used && f->host->fault[i].user == id;
	return n;
}

/* Those that come twice, which is one, and those that are none. */
static void misses_without_number(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8), i, audits;

	(void)state;
	fault_answer(f, UNIC_ST_BUSY, 0);
	for (i = 0; i < 2 * UNIC_REGION_FAULTS; i++)
		miss(f, id, i % 8, 1);
	assert_int_equal(faults_of(f, id), 8);
	audits = f->host->audits;
	miss(f, id, 0, 0);
	miss(f, id, 8, 1);
	miss(f, id, 0, UNIC_LIST_MAX + 1);
	assert_int_equal(f->host->audits, audits + 3);
	/* given up at last: the NIC has dropped the fault */
	for (i = 0; i < 10; i++) {
		f->os.now_ns += 30000000;
		settle(f);
	}
	for (i = 0; i < UNIC_REGION_FAULTS; i++)
		assert_false(f->host->fault[i].used);
	assert_int_equal(pinned(f), 0);
	dropped(f, id, 9);
	settle(f);
	assert_int_equal(f->host->audits, audits + 4);
	fake_delete(f);
}

static void advice_becomes_pages(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_advise r = {
		.offset = unic_to_le64(4095),
		.length = unic_to_le64(2),
		.advice = unic_to_le32(UNIC_ADVISE_WILL_NEED),
	};
	struct unic_ctl_mr_advise bad;
	struct unic_cmd_mr_pages cmd;

	(void)state;
	r.id = unic_to_le32(demand_region(f, 8));
	bad = r;
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), 0);
	memcpy(&cmd, f->last[UNIC_CMD_MR_ADVISE], 64);
	assert_int_equal(unic_from_le32(cmd.first), 0);
	assert_int_equal(unic_from_le32(cmd.count), 2);
	bad = r;
	bad.length = unic_to_le64(0);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	bad = r;
	bad.length = unic_to_le64(~0ull);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	bad = r;
	bad.advice = unic_to_le32(3);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	bad = r;
	bad.id = unic_to_le32(unic_from_le32(r.id) + 1);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_NO_MR);
	bad = r;
	bad.offset = unic_to_le64(8 * 4096);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	bad = r;
	bad.advice = unic_to_le32(0);
	assert_int_equal(request(f, UNIC_CTL_MR_ADVISE, &bad), UNIC_ST_INVALID);
	fake_delete(f);
}

/* Pages of one process are slow, and the NIC does not wait for all that it asked
 * for: they take no place from another's, which are answered at once. */
static void slow_pages_of_another(void **state)
{
	struct fake *f = fake_new();
	uint32_t slow = demand_region(f, UNIC_REGION_FAULTS + 40), id, i,
		 audits;

	(void)state;
	fault_answer(f, UNIC_ST_BUSY, 0);
	audits = f->host->audits;
	for (i = 0; i < UNIC_REGION_FAULTS + 40; i++) {
		miss(f, slow, i, 1);
		assert_int_equal(last_fault(f).first, unic_to_le32(i));
		f->os.now_ns += 100; /* none is tried again yet */
	}
	assert_int_equal(faults_of(f, slow), UNIC_REGION_FAULTS);
	for (i = 0; i < UNIC_REGION_FAULTS; i++) /* the oldest gave way */
		assert_true(f->host->fault[i].first >= 40);
	f->client = (struct unic_client){ .slot = UNIC_OS_NO_SLOT };
	id = demand_region(f, 8);
	for (i = 0; i < 8; i++) {
		miss(f, id, i, 1);
		assert_int_equal(last_fault(f).first, unic_to_le32(i));
		assert_int_equal(faults_of(f, id), i + 1);
	}
	assert_int_equal(faults_of(f, slow), UNIC_REGION_FAULTS - 8);
	/* a process with few keeps them; the oldest of the process with most go */
	miss(f, slow, 0, 1);
	assert_int_equal(faults_of(f, id), 8);
	assert_int_equal(f->host->audits, audits);
	fault_answer(f, 0, 1);
	miss(f, id, 3, 1);
	assert_int_equal(pinned(f), 1);
	fake_delete(f);
}

/*
 * A page is dropped, missed and unmapped at once. The answer that was sent before the
 * NIC was told of the unmapping is stale; the page that is missed again is not pinned
 * before that answer is over, which would unpin it while the NIC has it.
 */
static void stale_answer_unpins_its_own_pages(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8);

	(void)state;
	fault_answer(f, 0, 1);
	miss(f, id, 2, 1);
	unic_host_unmapped(f->host, f->client.slot, VA + 2 * 4096, 4096);
	dropped(f, id, 2);
	miss_alone(f, id, 1, 2);
	nic_step(f); /* MR_INVALIDATE */
	miss_alone(f, id, 2, 1);
	fault_answer(f, UNIC_ST_STALE, 0);
	nic_step(f);
	fault_answer(f, 0, 1);
	settle(f);
	f->os.now_ns += 1000000;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 3);
	assert_int_equal(pinned(f), 1);
	fake_delete(f);
}

/* The driver reads that a region ended before it reads that the NIC did not take
 * the answer to its fault: the place of the fault is free again. */
static void region_ends_before_the_answer(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8);
	struct unic_evt_mr end = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	miss_alone(f, id, 0, 1);
	assert_int_equal(faults_of(f, id), 1);
	assert_int_equal(pinned(f), 1);
	end.hdr.epoch = unic_to_le32(f->epoch);
	put_event(f, &end);
	unic_host_poll(f->host);
	assert_int_equal(pinned(f), 0);
	fault_answer(f, UNIC_ST_NO_MR, 0);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 1);
	assert_int_equal(faults_of(f, id), 0);
	fake_delete(f);
}

/* There is no memory for the answer, or for its list: it is sent a little later. */
static void faults_without_memory(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 1; i <= 2; i++) {
		struct fake *f = fake_new();
		uint32_t id = demand_region(f, 8);

		fault_answer(f, 0, 2);
		no_spare(f);
		f->os.fail_alloc = i;
		miss_alone(f, id, 2, 2);
		assert_int_equal(f->os.fail_alloc, 0);
		settle(f);
		assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 0);
		assert_int_equal(pinned(f), 0);
		f->os.now_ns += 60000;
		settle(f);
		assert_int_equal(pinned(f), 2);
		fake_delete(f);
	}
}

/* What a fault waited for ends meanwhile, or its page comes with another answer. */
static void faults_that_end_while_they_wait(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8), given;
	struct unic_ctl_obj obj = { .id = unic_to_le32(id) };

	(void)state;
	fault_answer(f, UNIC_ST_BUSY, 0);
	miss(f, id, 2, 1);
	fault_answer(f, 0, 3);
	miss(f, id, 1, 3);
	assert_int_equal(pinned(f), 3);
	given = f->given[UNIC_CMD_MR_FAULT];
	f->os.now_ns += 60000;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], given);
	assert_int_equal(faults_of(f, id), 0);
	fault_answer(f, UNIC_ST_BUSY, 0);
	miss(f, id, 6, 1);
	assert_int_equal(faults_of(f, id), 1);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), 0);
	given = f->given[UNIC_CMD_MR_FAULT];
	f->os.now_ns += 60000;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], given);
	assert_int_equal(faults_of(f, id), 0);
	fake_delete(f);
}

/* Answers under way do not overlap; one that waits is sent while others are under way. */
static void faults_side_by_side(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8);

	(void)state;
	fault_answer(f, UNIC_ST_BUSY, 0);
	miss(f, id, 0, 1);
	fault_answer(f, 0, 2);
	miss_alone(f, id, 4, 2);
	assert_int_equal(f->host->fault[1].sent, 2);
	miss_alone(f, id, 2, 6); /* up to those */
	assert_int_equal(f->host->fault[2].sent, 2);
	f->os.now_ns += 60000;
	unic_host_poll(f->host);
	assert_int_equal(f->host->fault[0].sent, 1);
	settle(f);
	assert_true(pinned(f) >= 4);
	assert_int_equal(f->host->audits, 0);
	fake_delete(f);
}

/* A region whose pages are pinned from its start misses none. */
static void miss_of_a_resident_region(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 8);

	(void)state;
	miss(f, id, 0, 1);
	assert_int_equal(f->given[UNIC_CMD_MR_FAULT], 0);
	assert_int_equal(f->host->audits, 0);
	fake_delete(f);
}

/* Of unmapped pages those go that were there. */
static void some_unmapped_pages_were_there(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = demand_region(f, 8);

	(void)state;
	fault_answer(f, 0, 1);
	miss(f, id, 1, 1);
	miss(f, id, 7, 1);
	assert_int_equal(pinned(f), 2);
	unic_host_unmapped(f->host, f->client.slot, VA, 16 * 4096);
	settle(f);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(faults_without_memory),
		cmocka_unit_test(faults_that_end_while_they_wait),
		cmocka_unit_test(faults_side_by_side),
		cmocka_unit_test(miss_of_a_resident_region),
		cmocka_unit_test(some_unmapped_pages_were_there),
		cmocka_unit_test(lists_run_out_with_memory),
		cmocka_unit_test(misses_without_number),
		cmocka_unit_test(unmapped_pages_of_demand_go),
		cmocka_unit_test(demand_pages_are_pinned_one_by_one),
		cmocka_unit_test(faults_without_room_are_tried_again),
		cmocka_unit_test(pages_that_are_not_mapped),
		cmocka_unit_test(lists_are_written_and_pinned),
		cmocka_unit_test(advice_becomes_pages),
		cmocka_unit_test(slow_pages_of_another),
		cmocka_unit_test(region_ends_before_the_answer),
		cmocka_unit_test(stale_answer_unpins_its_own_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_region.c - regions of the host driver: their pages, their base,
 * and how they end. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "region/frames_slot.h"
#include "host.h"

static void list_has_our_frames(void **state)
{
	struct fake *f = fake_new();
	struct unic_cmd_mr_reg cmd;
	const unic_le64 *list;
	uint64_t bus;
	uint32_t i, k;

	(void)state;
	region(f, 8);
	assert_int_equal(pinned(f), 8);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], 64);
	assert_int_equal(unic_from_le32(cmd.n_pages), 8);
	/* the command before the last poll's HOST_TIME is somewhere: search */
	for (k = 0; k < 64; k++) {
		list = (void *)(f->bar + UNIC_BAR_LIST_OFF + k * 4096);
		if (unic_from_le64(list[0]))
			break;
	}
	assert_true(k < 64);
	for (i = 0; i < 8; i++) {
		assert_int_equal(unic_frames_list(&f->host->proc[0].frames, VA,
						  12, i, 1, &bus),
				 0);
		assert_int_equal(unic_from_le64(list[i]), bus);
	}
	fake_delete(f);
}

/* The list is allocated, but its runs are gone when it is written: the command has no
 * list, and the region is filled before the reply. */
static void list_without_names_is_filled_in(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg reg = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_MR_REG) },
		.va = unic_to_le64(VA),
		.iova = unic_to_le64(VA),
		.length = unic_to_le64(8 * 4096),
	};
	struct unic_cmd_mr_fill fill;
	struct unic_cmd_mr_reg cmd;
	uint32_t at = 0, *runs, was;
	const struct unic_obj *pd;

	(void)state;
	region(f, 4);
	pd = unic_obj_next(&f->host->objects, &at, UNIC_OBJ_PD,
			   UNIC_OBJ_ANYONE);
	reg.pd = unic_to_le32(pd->id);
	runs = &f->host->proc[f->client.slot].frames.t->runs;
	was = *runs;
	no_spare(f);
	f->os.hide = runs;
	f->os.hide_at = 8 * sizeof(unic_le64);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &reg, sizeof(reg)));
	f->os.hide = NULL;
	assert_int_equal(*runs, 0);
	*runs = was;
	settle(f);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], sizeof(cmd));
	assert_int_equal(unic_from_le32(cmd.n_pages), 8);
	assert_int_equal(cmd.flags & UNIC_REG_LIST, 0);
	memcpy(&fill, f->last[UNIC_CMD_MR_FILL], sizeof(fill));
	assert_int_equal(unic_from_le32(fill.count), 8);
	assert_int_equal(f->os.replies, 1);
	fake_delete(f);
}

/* The process unmapped memory under its regions: what reaches there ends. */
static void unmapped_regions_end(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 8), slot = f->client.slot;
	struct unic_ctl_obj obj = { .id = unic_to_le32(id) };
	struct unic_upcall_mr up;

	(void)state;
	unic_host_unmapped(f->host, slot, VA + 8 * 4096, 4096);
	settle(f);
	/* the region ends before */
	assert_int_equal(pinned(f), 8);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_BUSY; /* a queue */
	unic_host_unmapped(f->host, slot, VA + 7 * 4096, 8192);
	settle(f);
	assert_int_equal(pinned(f), 8);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_OK;
	unic_host_unmapped(f->host, slot, VA + 7 * 4096, 8192);
	unic_host_unmapped(f->host, slot, VA, 4096); /* under way */
	settle(f);
	assert_int_equal(pinned(f), 0);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_EVICTED);
	assert_int_equal(up.hdr.reason, UNIC_WHY_UNMAPPED);
	assert_int_equal(unic_from_le32(up.hdr.id), id);
	assert_int_equal(unic_from_le32(f->host->proc[slot].ring->next), 1);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_NO_MR;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), 0);
	fake_delete(f);
}

static struct unic_region *region_with(struct fake *f, uint32_t id)
{
	return unic_obj_get(&f->host->objects, id, UNIC_OBJ_MR,
			    UNIC_OBJ_ANYONE);
}

/* The driver is told that the process unmapped page @page, and nobody runs. */
static void unmapped(struct fake *f, uint32_t page)
{
	unic_host_unmapped(f->host, f->client.slot, VA + page * 4096ull, 4096);
}

/* Regions that end otherwise, have ended, or are none of the process's memory are not
 * asked for. */
static void unmapped_under_other_regions(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 8);
	struct unic_region *mr = region_with(f, id);
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	mr->kind = UNIC_FORM_FAST;
	unmapped(f, 1);
	mr->kind = UNIC_FORM_PLAIN;
	f->host->ready = false;
	unmapped(f, 1);
	f->host->ready = true;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 0);
	event(f, &evt);
	assert_int_equal(pinned(f), 0);
	unmapped(f, 1);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 0);
	fake_delete(f);
}

/* A region whose end the NIC has begun ends with its event. */
static void unmapped_region_ends_with_its_event(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 8);
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_PENDING;
	unmapped(f, 1);
	settle(f);
	assert_true(region_with(f, id)->revoked);
	assert_int_equal(pinned(f), 8);
	unmapped(f, 1); /* asked for already */
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 1);
	event(f, &evt);
	assert_int_equal(pinned(f), 0);
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_OK;
	fake_delete(f);
}

/* There is no memory for the request: who calls asks again. */
static void unmapped_without_memory(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	region(f, 8);
	no_spare(f);
	f->os.fail_alloc = 1;
	unmapped(f, 1);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 0);
	assert_int_equal(pinned(f), 8);
	unmapped(f, 1);
	settle(f);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* The process ends while its region is ended for what it unmapped. */
static void unmapped_by_a_process_that_ends(void **state)
{
	static const uint8_t modes[] = { UNIC_RESIDENT, UNIC_DEMAND };
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct fake *f = fake_new();
		struct unic_region *mr;
		uint32_t id;

		residency = modes[i];
		id = region(f, 8);
		residency = UNIC_RESIDENT;
		mr = region_with(f, id);
		if (mr->there)
			mr->there[0] |= 2;
		unmapped(f, 1);
		assert_true(mr->revoked);
		mr->obj.id ^= 1u << 31; /* nobody finds it any more */
		settle(f);
		mr->obj.id ^= 1u << 31;
		assert_true(mr->revoked);
		mr->revoked = false;
		if (mr->there)
			mr->there[0] = 0;
		fake_delete(f);
	}
}

/* The unmapped range ends at the last byte there is, whose end is 0. */
static void unmapped_up_to_2_to_the_64(void **state)
{
	struct fake *f = fake_new();
	uint32_t slot;

	(void)state;
	region(f, 8);
	slot = f->client.slot;
	unic_host_unmapped(f->host, slot, VA + 8 * 4096, 0 - (VA + 8 * 4096));
	unic_host_unmapped(f->host, slot, 0, 0);
	settle(f);
	assert_int_equal(pinned(f), 8);
	unic_host_unmapped(f->host, slot, VA + 7 * 4096, 0 - (VA + 7 * 4096));
	settle(f);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* Pages of a fenced NIC stay pinned until the NIC has acknowledged the fence, or
 * the bus has ended the NIC; meanwhile the NIC gets no commands. */
static void fenced_memory_goes_back_with_the_answer(void **state)
{
	uint32_t how;

	(void)state;
	for (how = 0; how < 2; how++) {
		struct fake *f = fake_new();

		region(f, 8);
		unic_host_fence(f->host);
		assert_int_not_equal(unic_from_le32(driver(f)->fence), 0);
		f->os.now_ns += 10000000000ull;
		unic_host_poll(f->host);
		assert_int_not_equal(unic_from_le32(driver(f)->fence), 0);
		assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_DEAD);
		assert_false(unic_host_fenced(f->host));
		assert_int_equal(pinned(f), 8);
		info(f)->magic =
			unic_to_le32(0xffffffff); /* not there at all */
		assert_false(unic_host_fenced(f->host));
		if (how)
			idx(f)->fenced = driver(f)->fence;
		info(f)->magic = unic_to_le32(how ? UNIC_MAGIC : 0);
		assert_true(unic_host_fenced(f->host));
		unic_host_plug(f->host, false);
		assert_int_equal(pinned(f), 0);
		assert_int_equal(unic_from_le32(driver(f)->fence), 0);
		fake_delete(f);
	}
}

/* Frames that lie together are one page of the device. */
static void contiguous_frames_are_large_pages(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(32),
				      .page_shift = 16 };
	struct unic_ctl_plain pd = { 0 };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(2 * 65536) };
	struct unic_cmd_mr_reg cmd;

	(void)state;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), 0);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], 64);
	assert_int_equal(cmd.page_shift, 16);
	assert_int_equal(unic_from_le32(cmd.n_pages), 2);
	assert_int_equal(pinned(f), 32);
	fake_delete(f);
}

static void dereg_waits_for_the_drain(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), -1);
	assert_int_equal(pinned(f), 4); /* DMA may still be under way */
	evt.hdr.reason = UNIC_WHY_DEREG;
	event(f, &evt);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(pinned(f), 0);
	assert_int_equal(f->host->proc[0].regions, 0);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), UNIC_ST_NO_MR);
	fake_delete(f);
}

/* The region ends by an event before its MR_DEREG is read. */
static void dereg_of_one_that_ends_just_now(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_ctl_obj r = { .hdr = { .op = unic_to_le16(
						   UNIC_CTL_MR_DEREG) },
				  .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);
	struct unic_ctl_hdr got;

	(void)state;
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_NO_MR;
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &r, 64));
	evt.hdr.reason = UNIC_WHY_DEREG;
	evt.hdr.epoch = unic_to_le32(f->epoch);
	put_event(f, &evt);
	unic_host_poll(f->host);
	assert_int_equal(f->os.replies, 0);
	settle(f);
	assert_int_equal(f->os.replies, 1);
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.status), UNIC_ST_OK);
	assert_int_equal(pinned(f), 0);
	assert_int_equal(f->host->audits, 0);
	fake_delete(f);
}

static bool frames_under_way; /* none can be pinned yet */

int __real_unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
			   bool write);

int __wrap_unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
			   bool write);

int __wrap_unic_frames_pin(struct unic_frames *f, uint64_t va, uint64_t length,
			   bool write)
{
	return frames_under_way ? -EAGAIN
				: __real_unic_frames_pin(f, va, length, write);
}

/* @id is granted, and its frames do not come for as long as its entries may be kept
 * from others. */
static void frames_do_not_come(struct fake *f, uint32_t id)
{
	struct unic_evt_wait evt = granted(id);

	frames_under_way = true;
	event(f, &evt);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 0);
	f->os.now_ns += 1000000000;
	settle(f);
	frames_under_way = false;
	assert_int_equal(f->given[UNIC_CMD_MR_FILL], 0);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 1);
}

/* Frames take longer than entries are kept from others: the entries go back, the wait
 * goes on, and ends well. */
static void late_frames_give_entries_back(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_evt_wait evt = granted(id);
	struct unic_upcall_wait up;

	(void)state;
	frames_do_not_come(f, id);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], 2);
	assert_int_equal(f->os.upcalls, 0);
	assert_int_equal(f->host->proc[0].waits, 1);
	event(f, &evt);
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_GRANTED);
	assert_int_equal(f->given[UNIC_CMD_MR_FILL], 1);
	assert_int_equal(pinned(f), 1);
	fake_delete(f);
}

/* The region is deregistered while the frames for its entries are being fetched:
 * all of it ends. */
static void late_frames_are_not_wanted(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_ctl_obj r = { .id = unic_to_le32(id) };

	(void)state;
	frames_do_not_come(f, id);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &r), 0);
	assert_int_equal(f->host->proc[0].regions, 0);
	assert_int_equal(f->host->objects.live, 1); /* the PD */
	fake_delete(f);
}

/* A request with the time @timeout_us that was granted at once; its status when its
 * frames have not come, -1: none. */
static int late_request(struct fake *f, uint32_t timeout_us)
{
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(8),
				      .page_shift = 12 };
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .gen = unic_to_le32(9) };
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(4096),
				       .timeout_us = unic_to_le32(timeout_us),
				       .flags = UNIC_CTL_REG_WAIT };
	struct unic_ctl_plain pd = { 0 };

	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	frames_under_way = true;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), -1);
	f->os.now_ns += 1000000000;
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 1);
	frames_under_way = false;
	return f->os.replies ? (int)reply_status(f) : -1;
}

/* The timeout of a wait ends it, not frames that are late. */
static void late_frames_and_the_time(void **state)
{
	struct fake *f = fake_new();
	struct unic_cmd_mr_reg again;

	(void)state;
	info(f)->waits = unic_to_le32(8);
	assert_int_equal(late_request(f, 1000), UNIC_ST_TIMEOUT);
	assert_int_equal(f->host->proc[0].regions, 0);
	fake_delete(f);

	f = fake_new();
	assert_int_equal(late_request(f, 1500000), -1);
	memcpy(&again, f->last[UNIC_CMD_MR_REG], sizeof(again));
	assert_in_range(unic_from_le32(again.timeout_us), 1, 500001);
	f->os.now_ns += 1000000; /* next time at which frames are looked for */
	settle(f);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(pinned(f), 1);
	fake_delete(f);
}

/* Meanwhile others of the process have its places to wait. */
static void late_frames_find_no_place_to_wait(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = waiting(f);
	struct unic_upcall_wait up;
	struct unic_evt_wait evt = granted(id);

	(void)state;
	evt.stag = unic_to_le32(0x1207);
	frames_under_way = true;
	event(f, &evt);
	f->host->proc[0].waits += 4;
	f->os.now_ns += 1000000000;
	nic_run(f);
	unic_host_poll(f->host);
	f->host->proc[0].waits -= 4;
	settle(f);
	frames_under_way = false;
	memcpy(&up, upcall(f, 0), sizeof(up));
	assert_int_equal(up.hdr.type, UNIC_UP_WAIT_ENDED);
	assert_int_equal(unic_from_le32(up.stag), 0);
	assert_int_equal(unic_from_le32(up.status), UNIC_ST_WAIT_FULL);
	assert_int_equal(f->host->proc[0].regions, 0);
	fake_delete(f);
}

/* The base of a region is random, and does not change. */
static void base_is_random(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg reg, r;
	struct unic_ctl_mr_reg_reply rep;
	const struct unic_region *mr;
	uint64_t base[2];
	uint32_t i;

	(void)state;
	mr = unic_obj_get(&f->host->objects, region(f, 1), UNIC_OBJ_MR,
			  UNIC_OBJ_ANYONE);
	memcpy(&reg, mr->made, sizeof(reg));
	reg.flags = UNIC_CTL_REG_RANDOM;
	r = reg;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &r), UNIC_ST_INVALID);
	reg.iova = unic_to_le64(0);
	for (i = 0; i < 2; i++) {
		r = reg;
		assert_int_equal(request(f, UNIC_CTL_MR_REG, &r), 0);
		memcpy(&rep, f->os.reply[0], sizeof(rep));
		base[i] = unic_from_le64(rep.iova);
		assert_true(base[i] == unic_from_le64(last_reg(f).iova));
		assert_int_equal(base[i] >> 63, 0);
		assert_int_equal((base[i] ^ VA) % (1 << 21), 0);
	}
	assert_true(base[0] != base[1]);
	fail_nic(f);
	settle(f);
	assert_true(base[1] == unic_from_le64(last_reg(f).iova));
	fake_delete(f);
}

/* None of the 42 bits stands still. */
static void bases_differ_in_all_their_bits(void **state)
{
	const uint64_t drawn = ((1ull << 42) - 1) << 21;
	uint64_t base, ones = 0, zeros = 0;
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg reg, r;
	struct unic_ctl_mr_reg_reply rep;
	const struct unic_region *mr;
	uint32_t i;

	(void)state;
	mr = unic_obj_get(&f->host->objects, region(f, 1), UNIC_OBJ_MR,
			  UNIC_OBJ_ANYONE);
	memcpy(&reg, mr->made, sizeof(reg));
	reg.flags = UNIC_CTL_REG_RANDOM;
	reg.iova = unic_to_le64(0);
	f->os.all_random = 1;
	for (i = 0; i < 1000; i++) {
		struct unic_ctl_obj end = { 0 };

		r = reg;
		assert_int_equal(request(f, UNIC_CTL_MR_REG, &r), 0);
		memcpy(&rep, f->os.reply[0], sizeof(rep));
		base = unic_from_le64(rep.iova);
		ones |= base;
		zeros |= ~base;
		end.id = rep.id;
		assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &end), 0);
	}
	assert_true((ones & zeros) == drawn);
	fake_delete(f);
}

/* The new range is pinned before the old one is released, and whatever the NIC
 * answers no page stays pinned without a region. */
static void rereg_pins_first(void **state)
{
	struct fake *f = fake_new();
	uint32_t mr = region(f, 4);
	struct unic_ctl_mr_rereg good = {
		.id = unic_to_le32(mr),
		.what = UNIC_REREG_RANGE,
		.va = unic_to_le64(VA + 2 * 4096),
		.iova = unic_to_le64(VA + 2 * 4096),
		.length = unic_to_le64(6 * 4096),
	};
	struct unic_ctl_mr_rereg r = good;
	struct unic_cmd_mr_rereg cmd;

	(void)state;
	f->answer[UNIC_CMD_MR_REREG] = UNIC_ST_BUSY;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_BUSY);
	assert_int_equal(pinned(f), 4);
	f->answer[UNIC_CMD_MR_REREG] = UNIC_ST_TLB_FULL;
	r = good;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_TLB_FULL);
	assert_int_equal(f->os.reply_bytes[0],
			 UNIC_CTL_BYTES + sizeof(struct unic_cpl_usage));
	assert_int_equal(pinned(f), 4);
	f->answer[UNIC_CMD_MR_REREG] = UNIC_ST_OK;
	r = good;
	r.length = unic_to_le64(7 * 4096); /* a frame it has not */
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r),
			 UNIC_CTL_ST_NOT_MAPPED);
	r = good;
	r.iova = unic_to_le64(VA + 2 * 4096 + 8); /* not congruent to va */
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r),
			 UNIC_CTL_ST_NOT_ALIGNED);
	r = good;
	r.length = unic_to_le64(0);
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_INVALID);
	r = good;
	r.va = unic_to_le64(UINT64_MAX);
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_INVALID);
	r = good;
	r.what = UNIC_REREG_HINT << 1;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_INVALID);
	r = good;
	r.what = UNIC_REREG_PD;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_NO_PD);
	r = good;
	r.id = unic_to_le32(mr + 1);
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_NO_MR);
	assert_int_equal(pinned(f), 4);
	r = good;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_OK);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REREG], 64);
	assert_int_equal(unic_from_le32(cmd.n_pages), 6);
	assert_int_equal(pinned(f), 6);
	fake_delete(f);
}

/* A region that holds no entries keeps its pages, as they were pinned. */
static void pages_on_demand_stay(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_rereg good, r;
	struct unic_ctl_mr_reg *made;

	(void)state;
	residency = UNIC_DEMAND;
	good = (struct unic_ctl_mr_rereg){
		.id = unic_to_le32(region(f, 4)), /* of no rights */
		.what = UNIC_REREG_RIGHTS,
		.rights = UNIC_MR_REMOTE_READ,
		.va = unic_to_le64(VA),
		.iova = unic_to_le64(VA),
		.length = unic_to_le64(4096),
	};
	residency = UNIC_RESIDENT;
	r = good;
	r.what |= UNIC_REREG_RANGE;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_STATE);
	r = good;
	r.rights = UNIC_MR_LOCAL_WRITE;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_STATE);
	r = good;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_OK);
	/* one whose pages were pinned to be written to */
	made = (void *)region_with(f, unic_from_le32(good.id))->made;
	made->rights = UNIC_MR_LOCAL_WRITE;
	r = good;
	r.rights = UNIC_MR_LOCAL_WRITE;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_OK);
	fake_delete(f);
}

/* Where a region is, for its own process. */
static void range_of_a_region(void **state)
{
	struct fake *f = fake_new();
	struct unic_client nobody = { .slot = UNIC_OS_NO_SLOT };
	uint32_t id = region(f, 4);
	uint64_t va, length;

	(void)state;
	assert_true(unic_host_region(f->host, &f->client, id, &va, &length));
	assert_true(va == VA && length == 4 * 4096);
	assert_false(
		unic_host_region(f->host, &f->client, id + 1, &va, &length));
	assert_false(unic_host_region(f->host, &nobody, id, &va, &length));
	fake_delete(f);
}

/* An importance for a NIC that asks nobody for any, and for a region that was taken
 * back. */
static void importance_of_no_use(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = region(f, 4);
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);
	struct unic_ctl_mr_rereg r = { .id = unic_to_le32(id),
				       .what = UNIC_REREG_HINT,
				       .importance = 7 };

	(void)state;
	f->host->features &= ~UNIC_FEAT_APP_POLICY;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r),
			 UNIC_CTL_ST_UNSUPPORTED);
	f->host->features |= UNIC_FEAT_APP_POLICY;
	event(f, &evt);
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_EVICTED);
	fake_delete(f);
}

/* A delay of more microseconds than there is a number for counts as the longest. */
static void delay_of_an_hour_and_more(void **state)
{
	struct unic_delay d = { 0 };

	(void)state;
	unic_delay_add(&d, 2000, 1000); /* a clock that goes back */
	assert_int_equal(d.max_us, 0);
	unic_delay_add(&d, 0, 1ull << 60);
	unic_delay_add(&d, 0, 5000);
	assert_int_equal(d.n, 3);
	assert_int_equal(d.max_us, UINT32_MAX);
	assert_true(d.total_us == UINT32_MAX + 5ull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(range_of_a_region),
		cmocka_unit_test(importance_of_no_use),
		cmocka_unit_test(delay_of_an_hour_and_more),
		cmocka_unit_test(list_has_our_frames),
		cmocka_unit_test(list_without_names_is_filled_in),
		cmocka_unit_test(unmapped_regions_end),
		cmocka_unit_test(unmapped_up_to_2_to_the_64),
		cmocka_unit_test(unmapped_under_other_regions),
		cmocka_unit_test(unmapped_region_ends_with_its_event),
		cmocka_unit_test(unmapped_without_memory),
		cmocka_unit_test(unmapped_by_a_process_that_ends),
		cmocka_unit_test(fenced_memory_goes_back_with_the_answer),
		cmocka_unit_test(contiguous_frames_are_large_pages),
		cmocka_unit_test(dereg_waits_for_the_drain),
		cmocka_unit_test(dereg_of_one_that_ends_just_now),
		cmocka_unit_test(late_frames_give_entries_back),
		cmocka_unit_test(late_frames_are_not_wanted),
		cmocka_unit_test(late_frames_and_the_time),
		cmocka_unit_test(late_frames_find_no_place_to_wait),
		cmocka_unit_test(rereg_pins_first),
		cmocka_unit_test(pages_on_demand_stay),
		cmocka_unit_test_setup_teardown(base_is_random, keep, no_keep),
		cmocka_unit_test(bases_differ_in_all_their_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

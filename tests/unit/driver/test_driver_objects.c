/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_objects.c - ids of objects, and the frames that memory is made
 * of. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "region/frames_slot.h"

/* --------------------------------------------------------------- objects */

static void ids_never_come_back(void **state)
{
	struct unic_os os = { 0 };
	struct unic_objects t;
	struct unic_obj *a, *b;
	uint32_t first, i;

	(void)state;
	assert_int_equal(unic_objects_init(&t, &os, NULL), 0);
	a = unic_obj_alloc(&t, UNIC_OBJ_PD, 1, sizeof(*a));
	first = a->id;
	assert_ptr_equal(unic_obj_get(&t, first, UNIC_OBJ_PD, 1), a);
	assert_null(unic_obj_get(&t, first, UNIC_OBJ_PD, 2));
	assert_null(unic_obj_get(&t, first, UNIC_OBJ_MR, 1));
	assert_null(unic_obj_get(&t, 0, UNIC_OBJ_PD, 1));
	unic_obj_free(&t, a);
	for (i = 0; i < 3 * UNIC_OBJ_MAX; i++) {
		b = unic_obj_alloc(&t, UNIC_OBJ_PD, 1, sizeof(*b));
		assert_int_not_equal(b->id, first);
		unic_obj_free(&t, b);
	}
	assert_null(unic_obj_get(&t, first, UNIC_OBJ_PD, 1));
	unic_objects_fini(&t);
	assert_int_equal(os.live, 0);
}

/* Ids that an earlier driver used are not used again, whether their objects
 * existed at its end or not. */
static void ids_that_were_used_up_do_not_come_back(void **state)
{
	const uint32_t last = UINT32_MAX << UNIC_OBJ_BITS;
	struct unic_obj_note *note = calloc(UNIC_OBJ_MAX, sizeof(*note));
	struct unic_os os = { 0 };
	struct unic_objects t;
	struct unic_obj *o;
	uint32_t n = 0;

	(void)state;
	note[5].id = last | 5;
	note[6].id = last | 6;
	note[6].live = 1;
	note[7].id = (last - UNIC_OBJ_MAX) | 7;
	assert_int_equal(unic_objects_init(&t, &os, NULL), 0);
	unic_objects_journal(&t, note);
	unic_objects_tidy(&t);
	while ((o = unic_obj_alloc(&t, UNIC_OBJ_PD, 1, sizeof(*o)))) {
		uint32_t i = o->id % UNIC_OBJ_MAX;

		assert_true(i != 5 && i != 6);
		assert_int_equal(o->id, i == 7 ? last | 7 : UNIC_OBJ_MAX + i);
		n++;
	}
	assert_int_equal(n, UNIC_OBJ_MAX - 2);
	unic_objects_fini(&t);
	free(note);
}

/* Marks what @t gives in @seen, by generation and index, until nothing is left or @n ids
 * are given; none may have been given before. Returns how many were given. */
static uint32_t take_ids(struct unic_objects *t, uint8_t *seen, uint32_t n)
{
	struct unic_obj *o;
	uint32_t i;

	for (i = 0; i < n; i++) {
		o = unic_obj_alloc(t, UNIC_OBJ_MR, 1, sizeof(*o));
		if (!o)
			break;
		assert_false(seen[o->id >> 3] >> (o->id & 7) & 1);
		seen[o->id >> 3] |= (uint8_t)(1u << (o->id & 7));
		unic_obj_free(t, o);
	}
	return i;
}

/* Two NICs of a host, each with its table, and then another driver of the same boot with
 * three of them: no id is given twice. After a boot they begin anew. */
static void ids_are_those_of_the_host(void **state)
{
	static const uint64_t boot[2] = { 1, 2 }, later[2] = { 1, 3 };
	uint8_t *seen = calloc(1, 1u << 29);
	struct unic_ids *ids = calloc(1, sizeof(*ids)), *other;
	struct unic_os os = { 0 };
	struct unic_objects t[3];
	uint32_t i, k, host_id;

	(void)state;
	unic_ids_init(ids, &os, boot);
	host_id = ids->host_id;
	for (k = 0; k < 2; k++)
		assert_int_equal(unic_objects_init(&t[k], &os, ids), 0);
	for (i = 0; i < 3 * UNIC_OBJ_MAX; i++)
		for (k = 0; k < 2; k++)
			assert_int_equal(take_ids(&t[k], seen, 1 + k), 1 + k);
	for (k = 0; k < 2; k++)
		unic_objects_fini(&t[k]);
	unic_ids_init(ids, &os, boot);
	assert_int_not_equal(ids->host_id, host_id);
	for (k = 0; k < 3; k++) {
		assert_int_equal(unic_objects_init(&t[k], &os, ids), 0);
		assert_int_equal(take_ids(&t[k], seen, 2 * UNIC_OBJ_MAX),
				 2 * UNIC_OBJ_MAX);
		unic_objects_fini(&t[k]);
	}
	assert_int_not_equal(ids->gen[0], 0);
	other = calloc(1, sizeof(*other));
	unic_ids_init(other, &os, boot);
	unic_ids_merge(other, ids);
	assert_memory_equal(other->gen, ids->gen, sizeof(ids->gen));
	memset(other->gen, 0, sizeof(other->gen));
	unic_ids_merge(ids, other); /* those of before stay */
	assert_int_not_equal(ids->gen[0], 0);
	unic_ids_init(other, &os, later);
	unic_ids_merge(other, ids);
	assert_int_equal(other->gen[0], 0);
	free(other);
	unic_ids_init(ids, &os, later);
	assert_int_equal(ids->gen[0], 0);
	free(ids);
	free(seen);
	assert_int_equal(os.live, 0);
}

/* What one NIC has used up the other one has not, either. */
static void ids_run_out_for_the_host(void **state)
{
	static const uint64_t boot[2];
	const uint32_t last = UINT32_MAX >> UNIC_OBJ_BITS;
	struct unic_ids *ids = calloc(1, sizeof(*ids));
	struct unic_os os = { 0 };
	struct unic_objects a, b;
	uint8_t *seen = calloc(1, 1u << 29);
	uint32_t i;

	(void)state;
	unic_ids_init(ids, &os, boot);
	for (i = 0; i < UNIC_OBJ_MAX; i++)
		unic_ids_given(ids, (last - 2) << UNIC_OBJ_BITS | i);
	unic_ids_given(ids, 1u << UNIC_OBJ_BITS | 7); /* long ago */
	assert_int_equal(unic_objects_init(&a, &os, ids), 0);
	assert_int_equal(unic_objects_init(&b, &os, ids), 0);
	assert_int_equal(take_ids(&a, seen, UNIC_OBJ_MAX), UNIC_OBJ_MAX);
	assert_int_equal(take_ids(&b, seen, 3 * UNIC_OBJ_MAX), UNIC_OBJ_MAX);
	assert_int_equal(take_ids(&a, seen, 1), 0);
	assert_int_equal(take_ids(&b, seen, 1), 0);
	ids->gen[7] = UINT32_MAX; /* a file may say anything */
	assert_int_equal(unic_ids_next(ids, 7), 0);
	assert_int_equal(ids->gen[7], UINT32_MAX);
	unic_objects_fini(&a);
	unic_objects_fini(&b);
	free(ids);
	free(seen);
	assert_int_equal(os.live, 0);
}

static void ids_run_out(void **state)
{
	struct unic_os os = { 0 };
	struct unic_objects t;
	uint32_t i;

	(void)state;
	assert_int_equal(unic_objects_init(&t, &os, NULL), 0);
	for (i = 0; i < UNIC_OBJ_MAX; i++)
		assert_non_null(unic_obj_alloc(&t, UNIC_OBJ_MR, 0,
					       sizeof(struct unic_obj)));
	assert_null(
		unic_obj_alloc(&t, UNIC_OBJ_MR, 0, sizeof(struct unic_obj)));
	unic_objects_fini(&t);
}

static void objects_are_counted_by_owner(void **state)
{
	struct unic_os os = { 0 };
	struct unic_objects t;
	struct unic_obj *a, *b;

	(void)state;
	assert_int_equal(unic_objects_init(&t, &os, NULL), 0);
	a = unic_obj_alloc(&t, UNIC_OBJ_MR, 3, sizeof(*a));
	b = unic_obj_alloc(&t, UNIC_OBJ_MR, 3, sizeof(*b));
	unic_obj_alloc(&t, UNIC_OBJ_PD, 3, sizeof(*a));
	unic_obj_alloc(&t, UNIC_OBJ_MR, 4, sizeof(*a));
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_MR, 3), 2);
	unic_obj_disown(&t, a);
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_MR, 3), 1);
	unic_obj_free(&t, a);
	unic_obj_free(&t, b);
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_MR, 3), 0);
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_MR, 4), 1);
	assert_int_equal(unic_obj_count(&t, UNIC_OBJ_PD, 3), 1);
	unic_objects_fini(&t);
}

/* ---------------------------------------------------------------- frames */

static void frames_fill_and_empty(void **state)
{
	static uint8_t mem[4 << 20];
	struct unic_os os = { 0 };
	struct unic_frames f;
	uint32_t list[1024];

	(void)state;
	assert_int_equal(unic_frames_init(&f, &os, mem, sizeof(mem), 0, 3), 0);
	assert_int_equal(unic_frames_alloc(&f, 0, 1021, 12, list), 0);
	assert_int_equal(unic_frames_alloc(&f, 1ull << 32, 1, 12, list),
			 -ENOSPC);
	assert_int_equal(unic_frames_free(&f, 0, 1021), 0);
	assert_int_equal(unic_frames_alloc(&f, 0, 512, 21, list), 0);
	assert_int_equal(list[0], 512); /* block 0 is never whole */
	assert_int_equal(unic_frames_alloc(&f, 1ull << 32, 512, 21, list),
			 -ENOSPC);
	assert_int_equal(unic_frames_free(&f, 0, 511), -ENOENT); /* half */
	assert_int_equal(unic_frames_pin(&f, 4096, 1, true), 0);
	assert_int_equal(unic_frames_free(&f, 0, 512), -EBUSY);
	unic_frames_unpin(&f, 4096, 1);
	assert_int_equal(unic_frames_free(&f, 0, 512), 0);
	assert_int_equal(f.used, 0);
	assert_int_equal(f.used, 0);
	/* the end of the address space */
	assert_int_equal(unic_frames_alloc(&f, -4096ull, 1, 12, list), 0);
	assert_int_equal(unic_frames_alloc(&f, -8192ull, 3, 12, list), -EINVAL);
	assert_int_equal(unic_frames_pin(&f, -1ull, 2, true), -ENOENT);
	assert_int_equal(unic_frames_shift(&f, -4096ull, 0, 4096, 21), 12);
	unic_frames_fini(&f);
}

/* Translation lists: runs that no process can name, contiguous, zeroed, found again by
 * a later driver, and taken back when all pins are. */
static void lists_are_runs_of_their_own(void **state)
{
	static uint8_t mem[4 << 20];
	static uint64_t journal[1024];
	struct unic_os os = { 0 };
	struct unic_frames f;
	uint64_t bus, again;
	uint32_t list[512];
	unic_le64 *w;

	(void)state;
	memset(mem, 0xee, sizeof(mem));
	assert_int_equal(
		unic_frames_init(&f, &os, mem, sizeof(mem), 1ull << 48, 3), 0);
	unic_frames_journal(&f, journal);
	w = unic_frames_words(&f, 7, 513, &bus);
	assert_non_null(w);
	assert_int_equal(f.used, 16);
	assert_int_equal(bus % 65536, 0);
	assert_int_equal((uint8_t *)w - mem, bus - (1ull << 48));
	assert_int_equal(unic_from_le64(w[512]), 0);
	w[0] = unic_to_le64(5);
	assert_ptr_equal(unic_frames_words(&f, 7, 513, &again), w);
	assert_true(again == bus);
	assert_int_equal(unic_from_le64(w[0]), 5);
	/* no process has these addresses */
	assert_int_equal(unic_frames_free(&f, 1ull << 63 | 7ull << 21, 16),
			 -EINVAL);
	assert_int_equal(unic_frames_alloc(&f, 1ull << 63, 1, 12, list),
			 -EINVAL);
	assert_int_equal(unic_frames_alloc(&f, (1ull << 63) - 4096, 2, 12,
					   list),
			 -EINVAL);
	assert_int_equal(
		unic_frames_shift(&f, 1ull << 63 | 7ull << 21, 0, 4096, 21), 0);
	/* a driver that starts anew finds it, until the NIC was reset */
	f.t->runs = 0;
	f.used = 0;
	memset(f.t->taken, 0, f.frames);
	assert_int_equal(unic_frames_recall(&f), 0);
	assert_ptr_equal(unic_frames_words(&f, 7, 513, &again), w);
	assert_non_null(unic_frames_words(&f, 8, 1, &bus));
	assert_int_equal(f.used, 17);
	unic_frames_words_free(&f, 7);
	assert_int_equal(f.used, 1);
	unic_frames_words_free(&f, 7); /* the next run is 8's */
	unic_frames_words_free(&f, 9); /* nor is there one after it */
	assert_int_equal(f.used, 1);
	assert_null(unic_frames_words(&f, 8, 513, &bus)); /* larger */
	assert_int_equal(unic_frames_alloc(&f, -4096ull, 1, 12, list), 0);
	unic_frames_unpin_all(&f);
	assert_int_equal(f.used, 1); /* that of the process */
	assert_non_null(unic_frames_words(&f, 9, 65536, &bus));
	assert_int_equal(bus % (2 << 20), 0);
	assert_null(unic_frames_words(&f, 10, 65536, &bus));
	assert_null(unic_frames_words(&f, 11, 1u << 19, &bus));
	unic_frames_fini(&f);
}

/* Single frames lie apart, so they never make a large page; a run does. */
static void page_sizes_follow_the_frames(void **state)
{
	static uint8_t mem[64 * 4096] __attribute__((aligned(65536)));
	struct unic_os os = { 0 };
	struct unic_frames f;
	uint32_t list[64], i;

	(void)state;
	for (i = 1; i <= 3; i++) {
		os.fail_alloc = i;
		assert_int_equal(unic_frames_init(&f, &os, mem, sizeof(mem), 0,
						  0),
				 -ENOMEM);
		unic_frames_fini(&f);
	}
	os.fail_alloc = 0;
	assert_int_equal(unic_frames_init(&f, &os, mem, sizeof(mem), 0, 0), 0);
	assert_int_equal(unic_frames_alloc(&f, VA, 16, 13, list), -EINVAL);
	assert_int_equal(unic_frames_alloc(&f, VA, 16, 12, list), 0);
	assert_int_equal(unic_frames_shift(&f, VA, VA, 65536, 21), 12);
	assert_int_equal(unic_frames_shift(&f, VA, VA, 65 * 4096, 21), 0);
	assert_int_equal(unic_frames_free(&f, VA, 16), 0);
	assert_int_equal(unic_frames_alloc(&f, VA, 16, 16, list), 0);
	assert_int_equal(unic_frames_shift(&f, VA, VA, 65536, 21), 16);
	assert_int_equal(unic_frames_shift(&f, VA, VA + 4096, 4096, 21), 12);
	assert_int_equal(unic_frames_shift(&f, VA, VA + 1, 4096, 21), 0);
	unic_frames_fini(&f);
	assert_int_equal(os.live, 0);
}

static void pins_count_overlaps_once(void **state)
{
	static uint8_t mem[1 << 20];
	struct unic_os os = { 0 };
	struct unic_frames f;
	uint32_t list[16], i;

	(void)state;
	assert_int_equal(unic_frames_init(&f, &os, mem, sizeof(mem), 0, 3), 0);
	assert_int_equal(unic_frames_alloc(&f, VA, 16, 12, list), 0);
	assert_int_equal(unic_frames_pin(&f, VA + 100, 2 * 4096, true), 0);
	assert_int_equal(f.pinned, 3);
	assert_int_equal(unic_frames_pin(&f, VA + 2 * 4096, 4096, true), 0);
	assert_int_equal(f.pinned, 3);
	unic_frames_unpin(&f, VA + 100, 2 * 4096);
	assert_int_equal(f.pinned, 1);
	unic_frames_unpin(&f, VA + 2 * 4096, 4096);
	assert_int_equal(f.pinned, 0);
	assert_int_equal(unic_frames_pin(&f, VA + 15 * 4096, 8192, true),
			 -ENOENT);
	assert_int_equal(f.pinned, 0);
	for (i = 0; i < 65535; i++)
		assert_int_equal(unic_frames_pin(&f, VA + 4096, 1, true), 0);
	assert_int_equal(unic_frames_pin(&f, VA, 8192, true), -EOVERFLOW);
	assert_int_equal(f.pinned, 1);
	unic_frames_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_never_come_back),
		cmocka_unit_test(ids_that_were_used_up_do_not_come_back),
		cmocka_unit_test(ids_are_those_of_the_host),
		cmocka_unit_test(ids_run_out_for_the_host),
		cmocka_unit_test(ids_run_out),
		cmocka_unit_test(objects_are_counted_by_owner),
		cmocka_unit_test(frames_fill_and_empty),
		cmocka_unit_test(lists_are_runs_of_their_own),
		cmocka_unit_test(page_sizes_follow_the_frames),
		cmocka_unit_test(pins_count_overlaps_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

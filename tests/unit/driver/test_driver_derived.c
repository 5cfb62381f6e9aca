/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_derived.c - sub-regions, windows and indirect regions as the
 * host driver passes them on. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "unic_queue.h"

/* Sends one request with a list behind it. Returns its status. */
static int request_list(struct fake *f, uint16_t op, void *rec, uint32_t tail)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op),
				    .tail_bytes = unic_to_le32(tail) };

	f->os.replies = 0;
	memcpy(rec, &hdr, sizeof(hdr));
	assert_true(unic_host_request(f->host, &f->client, rec,
				      UNIC_CTL_BYTES + tail));
	settle(f);
	if (!f->os.replies)
		return -1;
	memcpy(&hdr, f->os.reply[0], sizeof(hdr));
	return unic_from_le16(hdr.status);
}

static uint32_t window(struct fake *f)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(5),
				       .gen = unic_to_le32(2),
				       .stag = unic_to_le32(0x5500) };
	struct unic_ctl_mr_alloc a = { .kind = UNIC_FORM_WINDOW2 };
	uint32_t at = 0;
	const struct unic_obj *pd = unic_obj_next(&f->host->objects, &at,
						  UNIC_OBJ_PD, UNIC_OBJ_ANYONE);

	memcpy(f->cpl[UNIC_CMD_MR_ALLOC], &cpl, 64);
	a.pd = unic_to_le32(pd->id);
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a), UNIC_ST_OK);
	return reply_u32(f, 16);
}

/* The list goes to the device as it is; the STag of its answer is the form's. */
static void lists_of_forms_are_passed_on(void **state)
{
	struct fake *f = fake_new();
	uint32_t plain = region(f, 4), id = window(f);
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(5),
				       .gen = unic_to_le32(2),
				       .stag = unic_to_le32(0x5507) };
	struct {
		struct unic_ctl_mr_make m;
		struct unic_sge sge[2];
	} msg, good = { .m = { .id = unic_to_le32(id), .n = unic_to_le32(1) },
			.sge = { { .iova = unic_to_le64(VA),
				   .len = unic_to_le32(99),
				   .lkey = unic_to_le32(0xabcd00) } } };
	struct unic_cmd_mr_make cmd;

	(void)state;
	memcpy(f->cpl[UNIC_CMD_MR_MAKE], &cpl, 64);
	msg = good;
	msg.m.strided = 2;
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_INVALID);
	msg = good;
	msg.m.rsvd0 = 1;
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_INVALID);
	msg = good;
	msg.m.n = unic_to_le32(UNIC_FORM_ELEMENTS + 1);
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_INVALID);
	msg = good;
	msg.m.strided = 1; /* without strides */
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_INVALID);
	msg = good;
	msg.m.id = unic_to_le32(plain);
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_STATE);
	f->answer[UNIC_CMD_MR_MAKE] = UNIC_ST_BOUNDS;
	msg = good;
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_BOUNDS);
	f->answer[UNIC_CMD_MR_MAKE] = UNIC_ST_OK;
	msg = good;
	assert_int_equal(request_list(f, UNIC_CTL_MR_MAKE, &msg, 16),
			 UNIC_ST_OK);
	assert_int_equal(reply_u32(f, 20), 0x5507);
	memcpy(&cmd, f->last[UNIC_CMD_MR_MAKE], 64);
	assert_int_equal(unic_from_le32(cmd.mr), 5);
	assert_int_equal(unic_from_le32(cmd.gen), 2);
	fake_delete(f);
}

/* A device without derived regions; a process that names objects that it does not
 * have. */
static void forms_of_an_old_device(void **state)
{
	struct fake *f = fake_new();
	uint32_t id;
	struct unic_ctl_obj o = { 0 };
	struct unic_ctl_mr_rereg r = { .what = UNIC_REREG_RIGHTS };

	(void)state;
	region(f, 4);
	id = window(f);
	o.id = unic_to_le32(id + 1);
	assert_int_equal(request(f, UNIC_CTL_MR_INVAL, &o), UNIC_ST_NO_MR);
	o.id = unic_to_le32(id);
	f->answer[UNIC_CMD_MR_INVAL] = UNIC_ST_BAD_OPCODE;
	assert_int_equal(request(f, UNIC_CTL_MR_INVAL, &o),
			 UNIC_CTL_ST_UNSUPPORTED);
	r.id = unic_to_le32(id); /* a form is not registered anew */
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_STATE);
	r.rsvd0 = 1;
	assert_int_equal(request(f, UNIC_CTL_MR_REREG, &r), UNIC_ST_INVALID);
	fake_delete(f);
}

/* A window pins nothing; its end is an event as of any region. */
static void forms_pin_nothing(void **state)
{
	struct fake *f = fake_new();
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(5),
				       .gen = unic_to_le32(2),
				       .stag = unic_to_le32(0x5500) };
	struct unic_ctl_mr_alloc a = { .kind = UNIC_FORM_WINDOW2,
				       .user = unic_to_le32(66) };
	struct unic_ctl_mr_make m = { .n = unic_to_le32(1) };
	struct unic_evt_mr evt = { .hdr = { .type = UNIC_EVT_EVICTED,
					    .reason = UNIC_WHY_DEREG },
				   .mr = unic_to_le32(5),
				   .gen = unic_to_le32(2) };
	struct unic_ctl_obj o = { 0 };
	uint32_t live, id, upcalls;

	(void)state;
	region(f, 4);
	live = f->host->objects.live;
	memcpy(f->cpl[UNIC_CMD_MR_ALLOC], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a), UNIC_ST_NO_PD);
	a.pd = unic_to_le32(((struct unic_obj *)unic_obj_next(
				     &f->host->objects, &(uint32_t){ 0 },
				     UNIC_OBJ_PD, UNIC_OBJ_ANYONE))
				    ->id);
	f->answer[UNIC_CMD_MR_ALLOC] = UNIC_ST_ELEMENT_FULL;
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a),
			 UNIC_ST_ELEMENT_FULL);
	assert_int_equal(f->os.reply_bytes[0], 2 * UNIC_CTL_BYTES);
	assert_int_equal(f->host->objects.live, live);
	f->answer[UNIC_CMD_MR_ALLOC] = UNIC_ST_OK;
	assert_int_equal(request(f, UNIC_CTL_MR_ALLOC, &a), UNIC_ST_OK);
	id = reply_u32(f, 16);
	assert_int_equal(reply_u32(f, 20), 0x5500);
	assert_int_equal(pinned(f), 4);
	/* the list is missing */
	m.id = unic_to_le32(id);
	assert_int_equal(request(f, UNIC_CTL_MR_MAKE, &m), UNIC_ST_INVALID);
	o.id = unic_to_le32(id);
	f->answer[UNIC_CMD_MR_INVAL] = UNIC_ST_BUSY;
	assert_int_equal(request(f, UNIC_CTL_MR_INVAL, &o), UNIC_ST_BUSY);
	upcalls = f->os.upcalls;
	evt.user = unic_to_le32(id);
	event(f, &evt);
	settle(f);
	assert_int_equal(f->os.upcalls, upcalls + 1);
	assert_int_equal(request(f, UNIC_CTL_MR_INVAL, &o), UNIC_ST_EVICTED);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &o), UNIC_ST_OK);
	assert_int_equal(f->host->objects.live, live);
	assert_int_equal(pinned(f), 4);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_forms_are_passed_on),
		cmocka_unit_test(forms_of_an_old_device),
		cmocka_unit_test(forms_pin_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

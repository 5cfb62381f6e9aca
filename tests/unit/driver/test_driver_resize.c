/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_resize.c - another ring for a completion queue in the driver: what the NIC is
 * asked, what a process is told, and who is refused before the NIC is asked.
 */
#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "request.h"

#define NUMBER 5u /* of the queue on the NIC */

static struct fake *f;
static uint32_t mr, cq;

static int up(void **state)
{
	struct unic_ctl_cq_create r = { .iova = unic_to_le64(VA),
					.entries = unic_to_le32(8) };
	struct unic_cpl_obj cpl = { .id = unic_to_le32(NUMBER) };

	(void)state;
	f = fake_new();
	mr = region(f, 4);
	r.mr = unic_to_le32(mr);
	memcpy(f->cpl[UNIC_CMD_CQ_CREATE], &cpl, sizeof(cpl));
	assert_int_equal(request(f, UNIC_CTL_CQ_CREATE, &r), 0);
	cq = reply_u32(f, 16);
	return 0;
}

static int down(void **state)
{
	(void)state;
	fake_delete(f);
	return 0;
}

static struct unic_ctl_cq_resize record(uint32_t id, uint32_t to)
{
	return (struct unic_ctl_cq_resize){
		.hdr.op = unic_to_le16(UNIC_CTL_CQ_RESIZE),
		.iova = unic_to_le64(VA + 4096),
		.id = unic_to_le32(id),
		.mr = unic_to_le32(to),
		.entries = unic_to_le32(64),
	};
}

static int resize(uint32_t id, uint32_t to)
{
	struct unic_ctl_cq_resize r = record(id, to);

	return request(f, UNIC_CTL_CQ_RESIZE, &r);
}

/* The NIC has the command, and has not answered it. */
static void begin(void)
{
	struct unic_ctl_cq_resize r = record(cq, mr);

	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &r, sizeof(r)));
	assert_int_equal(f->os.replies, 0);
}

static void asks_the_nic(void **state)
{
	struct unic_cpl_cq_resize cpl = { .records = unic_to_le32(0x1234567) };
	struct unic_cmd_cq_resize c;
	struct unic_cmd_cq_create made;

	(void)state;
	memcpy(f->cpl[UNIC_CMD_CQ_RESIZE], &cpl, sizeof(cpl));
	assert_int_equal(resize(cq, mr), 0);
	assert_int_equal(reply_u32(f, 16), 0x1234567);
	memcpy(&c, f->last[UNIC_CMD_CQ_RESIZE], sizeof(c));
	memcpy(&made, f->last[UNIC_CMD_CQ_CREATE], sizeof(made));
	assert_int_equal(unic_from_le32(c.proc), 0);
	assert_int_equal(unic_from_le32(c.id), NUMBER);
	assert_int_equal(unic_from_le64(c.iova), VA + 4096);
	assert_int_equal(c.stag, made.stag);
	assert_int_equal(unic_from_le32(c.entries), 64);
}

static void passes_refusals_on(void **state)
{
	(void)state;
	f->answer[UNIC_CMD_CQ_RESIZE] = UNIC_ST_BUSY;
	assert_int_equal(resize(cq, mr), UNIC_ST_BUSY);
	f->answer[UNIC_CMD_CQ_RESIZE] = UNIC_ST_BAD_OPCODE;
	assert_int_equal(resize(cq, mr), UNIC_CTL_ST_UNSUPPORTED);
	assert_int_equal(f->given[UNIC_CMD_CQ_RESIZE], 2);
}

static void refuses_by_itself(void **state)
{
	struct unic_evt_obj evt = { .hdr.type = UNIC_EVT_CQ_ERROR,
				    .id = unic_to_le32(NUMBER) };

	(void)state;
	assert_int_equal(resize(cq + 1, mr), UNIC_ST_NO_CQ);
	assert_int_equal(resize(mr, mr), UNIC_ST_NO_CQ);
	assert_int_equal(resize(cq, cq), UNIC_ST_NO_MR);
	f->host->proc[0].keep = true;
	assert_int_equal(resize(cq, mr), UNIC_CTL_ST_UNSUPPORTED);
	f->host->proc[0].keep = false;
	event(f, &evt);
	assert_int_equal(resize(cq, mr), UNIC_ST_STATE);
	assert_int_equal(f->given[UNIC_CMD_CQ_RESIZE], 0);
}

/* The NIC is reset amid it: the process is told, and nothing of it is asked the next NIC. */
static void ends_with_the_nic(void **state)
{
	struct unic_ctl_hdr hdr;

	(void)state;
	begin();
	fail_nic(f);
	settle(f);
	assert_int_equal(f->os.replies, 1);
	memcpy(&hdr, f->os.reply[0], sizeof(hdr));
	assert_int_equal(unic_from_le16(hdr.status), UNIC_CTL_ST_RESET);
	assert_int_equal(f->given[UNIC_CMD_CQ_RESIZE], 0);
	assert_null(unic_obj_get(&f->host->objects, cq, UNIC_OBJ_CQ,
				 UNIC_OBJ_ANYONE));
}

/* The process ends amid it: nobody is answered, and its queue goes with it. */
static void ends_with_its_process(void **state)
{
	(void)state;
	begin();
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->os.replies, 0);
	assert_null(f->host->reqs);
	assert_int_equal(f->host->objects.live, 0);
}

/* Without memory it is refused, and nothing stays. */
static void needs_memory(void **state)
{
	int status;

	(void)state;
	no_spare(f);
	f->os.fail_alloc = 1;
	status = resize(cq, mr);
	f->os.fail_alloc = 0;
	assert_int_equal(status, UNIC_CTL_ST_NO_MEMORY);
	assert_int_equal(resize(cq, mr), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(asks_the_nic, up, down),
		cmocka_unit_test_setup_teardown(passes_refusals_on, up, down),
		cmocka_unit_test_setup_teardown(refuses_by_itself, up, down),
		cmocka_unit_test_setup_teardown(ends_with_the_nic, up, down),
		cmocka_unit_test_setup_teardown(ends_with_its_process, up,
						down),
		cmocka_unit_test_setup_teardown(needs_memory, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

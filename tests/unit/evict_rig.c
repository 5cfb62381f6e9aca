/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#include "unit.h"

#include "evict_rig.h"

struct rig er;

uint32_t er_pd[3];

void evict_params(uint32_t low, uint32_t high)
{
	struct unic_cmd_set_params p = {
		.flags = unic_to_le32(UNIC_PARAM_WATERMARKS),
		.low_entries = unic_to_le32(low),
		.high_entries = unic_to_le32(high),
	};

	assert_int_equal(rig_cmd(&er, UNIC_CMD_SET_PARAMS, &p, NULL), 0);
}

int evict_up(void **state)
{
	uint32_t i;

	(void)state;
	rig_up(&er, 1);
	evict_params(0, 0);
	for (i = 0; i < 3; i++) {
		rig_attach(&er, i, 1);
		er_pd[i] = rig_pd(&er, i);
	}
	rig_run(&er, 10 * RESIDENCE_NS);
	return 0;
}

uint8_t evict_reg(uint32_t proc, uint32_t pages, struct rig_mr *mr)
{
	return rig_reg(&er, proc, er_pd[proc], pages, UNIC_CLASS_RDMA,
		       UNIC_REG_LIST, 0, mr);
}

void evict_reg_ok(uint32_t proc, uint32_t pages, struct rig_mr *mr)
{
	assert_int_equal(evict_reg(proc, pages, mr), UNIC_ST_OK);
}

uint32_t evict_wait_for(uint32_t proc, uint32_t pages, uint32_t timeout_us)
{
	struct rig_mr mr;

	assert_int_equal(rig_reg(&er, proc, er_pd[proc], pages, UNIC_CLASS_RDMA,
				 UNIC_REG_WAIT, timeout_us, &mr),
			 UNIC_ST_PENDING);
	return mr.wait;
}

uint8_t evict_cancel(uint32_t wait)
{
	struct unic_cmd_wait_cancel c = { .wait = unic_to_le32(wait) };

	return rig_cmd(&er, UNIC_CMD_WAIT_CANCEL, &c, NULL);
}

void evict_set_proc(uint32_t proc, uint32_t weight, uint32_t quota,
		    uint32_t policy)
{
	struct unic_cmd_proc_set c = { .proc = unic_to_le32(proc),
				       .weight = unic_to_le32(weight),
				       .quota = unic_to_le32(quota),
				       .policy = unic_to_le32(policy) };

	assert_int_equal(rig_cmd(&er, UNIC_CMD_PROC_SET, &c, NULL), 0);
}

void evict_hoard(uint32_t proc, uint32_t n, uint32_t pages, struct rig_mr *mrs)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		evict_reg_ok(proc, pages, &mrs[i]);
}

void evict_none(void)
{
	uint8_t rec[64];

	assert_false(rig_event(&er, rec));
}

void evict_granted(uint32_t wait)
{
	struct unic_evt_wait evt;

	rig_expect(&er, UNIC_EVT_GRANTED, &evt);
	assert_int_equal(unic_from_le32(evt.wait), wait);
}

uint32_t evict_noticed(uint32_t proc, uint8_t why)
{
	struct unic_evt_mr evt;
	uint32_t sum = 0;

	rig_poll(&er);
	while (rig_event(&er, &evt)) {
		assert_int_equal(evt.hdr.type, UNIC_EVT_NOTICE);
		assert_int_equal(unic_from_le16(evt.hdr.proc), proc);
		assert_int_equal(evt.hdr.reason, why);
		assert_int_equal(rig_ack(&er, &evt), UNIC_ST_OK);
		sum += unic_from_le32(evt.entries);
	}
	return sum;
}

void evict_drop_events(uint8_t type)
{
	uint8_t rec[64];

	while (rig_event(&er, rec))
		assert_int_equal(rec[0], type);
}

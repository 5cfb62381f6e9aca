/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_attributes.c - QP_MODIFY: each attribute wrong by itself, all others
 * right, is refused and changes nothing; its bounds are taken. */
#include "rig.h"
#include "unit.h"

static struct rig a;
static struct rig_qp qp;

static struct unic_cmd_qp_modify to(uint8_t state)
{
	struct unic_cmd_qp_modify cmd = { .qpn = unic_to_le32(qp.qpn),
					  .state = state };

	if (state == UNIC_QPS_RTR) {
		cmd.mtu_shift = 10;
		cmd.max_dest_rd = 4;
		cmd.dest_qpn = unic_to_le32(2);
		cmd.dest_ipv4 = unic_to_le32(0x0a000002);
		cmd.dest_mac[0] = 2;
	}
	if (state == UNIC_QPS_RTS)
		cmd.timeout = 10;
	return cmd;
}

static uint8_t modify(struct unic_cmd_qp_modify cmd)
{
	return rig_cmd(&a, UNIC_CMD_QP_MODIFY, &cmd, NULL);
}

static int up(void **state)
{
	(void)state;
	rig_up(&a, 1);
	rig_attach(&a, 0, 1);
	rig_qp(&a, 0, rig_pd(&a, 0), 0, &qp);
	return modify(to(UNIC_QPS_INIT));
}

/* Modifies INIT to RTR (RTR to RTS) with @byte at offset @off. Returns the
 * status. */
static uint8_t with(uint8_t state, uint32_t off, uint8_t byte)
{
	struct unic_cmd_qp_modify cmd = to(state);

	((uint8_t *)&cmd)[off] = byte;
	return modify(cmd);
}

#define AT(field) offsetof(struct unic_cmd_qp_modify, field)

static void each_of_rtr(void **state)
{
	static const struct {
		uint32_t off;
		uint8_t byte;
	} wrong[] = {
		{ AT(mtu_shift), 7 },	 { AT(mtu_shift), 13 },
		{ AT(rnr_timer), 32 },	 { AT(max_dest_rd), 5 },
		{ AT(vendor), 2 },	 { AT(dest_qpn), 1 },
		{ AT(dest_qpn) + 3, 1 }, { AT(rq_psn) + 3, 1 },
		{ AT(dest_mac), 3 },
	};
	struct unic_cmd_qp_modify cmd = to(UNIC_QPS_RTR);
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(with(UNIC_QPS_RTR, wrong[i].off,
				      wrong[i].byte),
				 UNIC_ST_INVALID);
	cmd.dest_ipv4 = unic_to_le32(0);
	assert_int_equal(modify(cmd), UNIC_ST_INVALID);
	a.nic.ipv4 = 0; /* a NIC without an address sends nothing */
	assert_int_equal(modify(to(UNIC_QPS_RTR)), UNIC_ST_NO_ROUTE);
	a.nic.ipv4 = 0x0a000001;
	assert_int_equal(with(UNIC_QPS_RTR, AT(rnr_timer), 31), UNIC_ST_OK);
}

static void each_of_rts(void **state)
{
	static const struct {
		uint32_t off;
		uint8_t byte;
	} wrong[] = {
		{ AT(max_rd), 5 },    { AT(timeout), 0 },
		{ AT(timeout), 32 },  { AT(retry_cnt), 8 },
		{ AT(rnr_retry), 8 }, { AT(sq_psn) + 3, 1 },
	};
	uint32_t i;

	(void)state;
	assert_int_equal(modify(to(UNIC_QPS_RTR)), UNIC_ST_OK);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(with(UNIC_QPS_RTS, wrong[i].off,
				      wrong[i].byte),
				 UNIC_ST_INVALID);
	assert_int_equal(with(UNIC_QPS_RTS, AT(timeout), 31), UNIC_ST_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_of_rtr, up),
		cmocka_unit_test_setup(each_of_rts, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

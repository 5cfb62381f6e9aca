/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_attributes.c - QP_MODIFY refuses each wrong attribute by itself, all
 * others being right, and changes nothing; it takes the limits of each. */
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
		{ AT(rnr_timer), 32 },	 { AT(max_dest_rd), 17 },
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
		{ AT(max_rd), 17 },   { AT(timeout), 0 },
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

#define HAS(field, state)                                                   \
	{                                                                   \
		AT(field), sizeof(((struct unic_cmd_qp_modify *)0)->field), \
			state                                               \
	}

/* The transition that takes each attribute. */
static const struct {
	uint32_t off, bytes;
	uint8_t state;
} attributes[] = {
	HAS(mtu_shift, UNIC_QPS_RTR),	HAS(rnr_timer, UNIC_QPS_RTR),
	HAS(max_dest_rd, UNIC_QPS_RTR), HAS(dest_qpn, UNIC_QPS_RTR),
	HAS(rq_psn, UNIC_QPS_RTR),	HAS(dest_ipv4, UNIC_QPS_RTR),
	HAS(dest_mac, UNIC_QPS_RTR),	HAS(vendor, UNIC_QPS_RTR),
	HAS(max_rd, UNIC_QPS_RTS),	HAS(timeout, UNIC_QPS_RTS),
	HAS(retry_cnt, UNIC_QPS_RTS),	HAS(rnr_retry, UNIC_QPS_RTS),
	HAS(sq_psn, UNIC_QPS_RTS),	HAS(rights, UNIC_QPS_INIT),
	HAS(qkey, UNIC_QPS_INIT),
};

static uint8_t state_of(void)
{
	return a.nic.qps.qp[qp.qpn & 0xff].state;
}

/* Each byte of an attribute that transition @cmd does not take makes @cmd
 * INVALID. */
static void refuses_others(const struct unic_cmd_qp_modify *cmd)
{
	uint8_t before = state_of();
	uint32_t i, k;

	for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].state == cmd->state)
			continue;
		for (k = 0; k < attributes[i].bytes; k++) {
			struct unic_cmd_qp_modify c = *cmd;

			((uint8_t *)&c)[attributes[i].off + k] = 1;
			assert_int_equal(modify(c), UNIC_ST_INVALID);
			assert_int_equal(state_of(), before);
		}
	}
	assert_int_equal(modify(*cmd), UNIC_ST_OK);
	assert_int_equal(state_of(), cmd->state);
}

static void those_of_other_transitions(void **state)
{
	static const uint8_t way[] = { UNIC_QPS_RESET, UNIC_QPS_INIT,
				       UNIC_QPS_RTR,   UNIC_QPS_RTS,
				       UNIC_QPS_ERR,   UNIC_QPS_RESET };
	struct unic_cmd_qp_modify cmd;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(way); i++) {
		cmd = to(way[i]);
		refuses_others(&cmd);
	}
}

/* A UD queue pair has no peer: RTR takes the path MTU and no other
 * attribute. */
static void peer_of_a_datagram(void **state)
{
	struct unic_cmd_qp_modify cmd = { .state = UNIC_QPS_RTR,
					  .mtu_shift = 10 };
	uint32_t i, k;

	(void)state;
	rig_qp_of(&a, 0, qp.pd, 1, UNIC_QPT_UD, 0, 0, &qp);
	assert_int_equal(modify(to(UNIC_QPS_INIT)), UNIC_ST_OK);
	cmd.qpn = unic_to_le32(qp.qpn);
	for (i = 1; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		for (k = 0; k < attributes[i].bytes; k++) {
			struct unic_cmd_qp_modify c = cmd;

			((uint8_t *)&c)[attributes[i].off + k] = 1;
			assert_int_equal(modify(c), UNIC_ST_INVALID);
			assert_int_equal(state_of(), UNIC_QPS_INIT);
		}
	}
	assert_int_equal(modify(cmd), UNIC_ST_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_of_rtr, up),
		cmocka_unit_test_setup(each_of_rts, up),
		cmocka_unit_test_setup(those_of_other_transitions, up),
		cmocka_unit_test_setup(peer_of_a_datagram, up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_depth.c - how many READs and atomic operations a connection has under way,
 * and who may have the right of remote atomic: by what the NIC has, and by what the two
 * sides offer (IBTA 12.6.5, 12.6.8).
 */
#include "unit.h"

#include "cm/cm_mad.h"
#include "driver_rig.h"

#define REMOTE (UNIC_MR_REMOTE_READ | UNIC_MR_REMOTE_WRITE)

/* CONNECT of @wish, both ways; the REQ. */
static struct unic_cm_msg wishing(struct fake *f, uint8_t wish)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER),
				      .max_rd = wish,
				      .max_dest_rd = wish };

	r.qp = unic_to_le32(queues(f, region(f, 4)));
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
	return mad_sent(f);
}

static struct unic_cmd_qp_modify last_modify(struct fake *f)
{
	struct unic_cmd_qp_modify m;

	memcpy(&m, f->last[UNIC_CMD_QP_MODIFY], sizeof(m));
	return m;
}

/* What a wish becomes, on a NIC with and without atomic operations. */
static void wishes(void **state)
{
	static const struct {
		uint64_t feature;
		uint8_t wish, said;
	} t[] = {
		{ 0, 0, 4 },
		{ 0, 3, 3 },
		{ 0, 16, 4 },
		{ UNIC_FEAT_ATOMICS, 0, 4 },
		{ UNIC_FEAT_ATOMICS, 9, 9 },
		{ UNIC_FEAT_ATOMICS, 16, 16 },
		{ UNIC_FEAT_ATOMICS, 255, 16 },
	};
	struct unic_cm_msg req;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct fake *f = fake_new();

		f->host->features |= t[i].feature;
		req = wishing(f, t[i].wish);
		assert_int_equal(req.max_rd, t[i].said);
		assert_int_equal(req.max_dest_rd, t[i].said);
		fake_delete(f);
	}
}

/* The active side takes the lesser of its wish and the answer. */
static void active_side_takes_the_lesser(void **state)
{
	static const uint8_t said[] = { 0, 1, 7, 12, 255 },
			     got[] = { 0, 1, 7, 10, 10 };
	struct unic_cm_msg rep;
	uint32_t i;

	(void)state;
	for (i = 0; i < sizeof(said); i++) {
		struct fake *f = fake_new();

		f->host->features |= UNIC_FEAT_ATOMICS;
		rep = wishing(f, 10);
		rep.type = UNIC_CM_REP;
		rep.remote_comm = rep.local_comm;
		rep.max_dest_rd = said[i];
		rep.max_rd = 5;
		mad_from(f, PEER, &rep);
		assert_int_equal(last_modify(f).state, UNIC_QPS_RTS);
		assert_int_equal(last_modify(f).max_rd, got[i]);
		fake_delete(f);
	}
}

/* The passive side takes the lesser of its wish and the REQ, and says so in the REP. */
static void passive_side_takes_the_lesser(void **state)
{
	struct unic_cm_msg req = { .type = UNIC_CM_REQ,
				   .tid = 9,
				   .local_comm = 0x99,
				   .service = 4711,
				   .qpn = 6,
				   .mtu_shift = 10,
				   .max_rd = 12,
				   .max_dest_rd = 200,
				   .timeout = 17 };
	struct unic_ctl_connect a = { .max_rd = 15, .max_dest_rd = 14 };
	struct fake *f = fake_new();
	uint32_t mr;

	(void)state;
	f->host->features |= UNIC_FEAT_ATOMICS;
	listens(f, &mr);
	mad_from(f, PEER, &req);
	a.conn = unic_to_le32(conn_with(f, PEER)->obj.id);
	a.qp = unic_to_le32(queues(f, mr));
	assert_int_equal(request(f, UNIC_CTL_ACCEPT, &a), 0);
	assert_int_equal(last_modify(f).max_rd, 15);
	assert_int_equal(mad_sent(f).max_rd, 15);
	assert_int_equal(mad_sent(f).max_dest_rd, 12);
	fake_delete(f);
}

/* The right is the NIC's to give. */
static void right_needs_the_nic(void **state)
{
	struct unic_ctl_connect r = { .ipv4 = unic_to_le32(PEER),
				      .rights = REMOTE |
						UNIC_MR_REMOTE_ATOMIC };
	struct fake *f = fake_new();
	struct unic_cmd_qp_modify m;
	struct unic_cm_msg rep;

	(void)state;
	r.qp = unic_to_le32(queues(f, region(f, 4)));
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), UNIC_ST_INVALID);
	f->host->features |= UNIC_FEAT_ATOMICS;
	r.rights |= UNIC_MR_LOCAL_WRITE;
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), UNIC_ST_INVALID);
	r.rights = REMOTE | UNIC_MR_REMOTE_ATOMIC;
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &r), -1);
	rep = mad_sent(f);
	rep = reply_of(&rep);
	mad_from(f, PEER, &rep);
	memcpy(&m, f->modified[UNIC_QPS_INIT], sizeof(m));
	assert_int_equal(m.rights, REMOTE | UNIC_MR_REMOTE_ATOMIC);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wishes),
		cmocka_unit_test(active_side_takes_the_lesser),
		cmocka_unit_test(passive_side_takes_the_lesser),
		cmocka_unit_test(right_needs_the_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

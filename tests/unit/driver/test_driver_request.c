/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_request.c - which client may request what from the host driver, and
 * how much; answers without a client. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "provider/provider_nic.h"
#include "unic_stats.h"

static void too_many_requests(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_dump d = { .table = unic_to_le32(1) };
	struct unic_ctl_hdr op = { .op = unic_to_le16(UNIC_CTL_DUMP) }, got;
	uint32_t i;

	(void)state;
	memcpy(&d, &op, sizeof(op));
	for (i = 0; i <= UNIC_CTL_OPEN_MAX; i++)
		unic_host_request(f->host, &f->client, &d, 64);
	assert_int_equal(f->os.replies, 1);
	memcpy(&got, f->os.reply[0], sizeof(got));
	assert_int_equal(unic_from_le16(got.status), UNIC_CTL_ST_TOO_MANY);
	settle(f);
	fake_delete(f);
}

/* The log has a line for each request, with client, object and status. */
static void each_call_is_logged(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj dereg = { .id = unic_to_le32(0x1234) };
	struct unic_ctl_plain odd = { 0 };
	uint32_t before;

	(void)state;
	f->client.pid = 4711;
	hello(f);
	before = f->os.audited;
	assert_int_not_equal(request(f, UNIC_CTL_MR_DEREG, &dereg), 0);
	assert_int_equal(f->os.audited, before + 1);
	assert_string_equal(f->os.audit, "pid 4711 slot 0 mr-dereg id 1234: "
					 "status 7");
	assert_int_not_equal(request(f, 0x7777, &odd), 0);
	assert_int_equal(f->os.audited, before + 2);
	assert_non_null(strstr(f->os.audit, "pid 4711 slot 0 ? "));
	assert_int_equal(f->host->refused, 2);
	fake_delete(f);
}

/* A client that has not seen the reset changes nothing of the state after it. */
static void request_of_another_life(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(UNIC_CTL_PD_ALLOC) };
	struct unic_ctl_plain r = { 0 };
	uint32_t k;

	(void)state;
	hello(f);
	for (k = 0; k < 3; k++) { /* epoch of before; of now; none */
		hdr.epoch = unic_to_le32(k < 2 ? f->epoch - 1 + k : 0);
		memcpy(&r, &hdr, sizeof(hdr));
		f->os.replies = 0;
		assert_true(unic_host_request(f->host, &f->client, &r, 64));
		settle(f);
		memcpy(&hdr, f->os.reply[0], sizeof(hdr));
		assert_int_equal(unic_from_le16(hdr.status),
				 k ? UNIC_ST_OK : UNIC_ST_STALE_EPOCH);
		assert_int_equal(f->host->objects.live, k);
		hdr.status = unic_to_le16(0);
	}
	fake_delete(f);
}

static void client_leaves_while_waiting(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
				       .iova = unic_to_le64(VA),
				       .length = unic_to_le64(4096),
				       .flags = UNIC_CTL_REG_WAIT };
	struct unic_ctl_plain pd = { 0 };
	struct unic_ctl_frames fr = { .va = unic_to_le64(VA),
				      .pages = unic_to_le32(1),
				      .page_shift = 12 };
	struct unic_evt_obj gone = { .hdr = { .type = UNIC_EVT_PROC_GONE } };

	(void)state;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_FRAMES_ALLOC, &fr), 0);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	f->answer[UNIC_CMD_PROC_DETACH] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), -1);
	assert_int_equal(pinned(f), 0);
	unic_host_client_gone(f->host, &f->client);
	settle(f);
	assert_int_equal(f->os.replies, 0);
	assert_int_equal(f->os.quiet, 0); /* not before PROC_GONE */
	event(f, &gone);
	assert_int_equal(f->os.quiet, 1);
	assert_null(f->host->reqs);
	assert_int_equal(f->host->objects.live, 0);
	fake_delete(f);
}

/* Whichever allocation fails: an answer, no leak, no crash. */
static void every_allocation_fails(void **state)
{
	uint32_t k;

	(void)state;
	for (k = 1; k < 12; k++) {
		struct fake *f = fake_new();
		struct unic_ctl_mr_reg reg = { .va = unic_to_le64(VA),
					       .iova = unic_to_le64(VA),
					       .length = unic_to_le64(8192) };
		uint32_t id = region(f, 4);
		int status;

		(void)id;
		reg.pd = unic_to_le32(
			((struct unic_obj *)unic_obj_next(&f->host->objects,
							  &(uint32_t){ 0 },
							  UNIC_OBJ_PD, 0))
				->id);
		no_spare(f);
		f->os.fail_alloc = k;
		status = request(f, UNIC_CTL_MR_REG, &reg);
		assert_true(status == 0 || status == UNIC_CTL_ST_NO_MEMORY);
		f->os.fail_alloc = 0;
		fake_delete(f);
	}
}

/* A PD of physical regions, and one in it, is the driver's alone: it names memory by
 * bus address. */
static void bus_addresses_are_the_drivers_alone(void **state)
{
	struct unic_ctl_plain plain = { 0 };
	struct unic_ctl_mr_reg reg = { .iova = unic_to_le64(3 * 4096),
				       .length = unic_to_le64(4096),
				       .rights = UNIC_MR_LOCAL_WRITE,
				       .mr_class = UNIC_CLASS_CONTROL,
				       .residency = UNIC_PHYSICAL };
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .stag = unic_to_le32(0xabcd00) };
	struct fake *f = fake_new();
	struct unic_cmd_mr_reg cmd;
	struct unic_cmd_pd pd;

	(void)state;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &plain), 0);
	memcpy(&pd, f->last[UNIC_CMD_PD_ALLOC], sizeof(pd));
	assert_int_equal(unic_from_le32(pd.flags), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_INVALID);
	f->client.kernel = true;
	memset(&plain, 0, sizeof(plain));
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &plain), 0);
	memcpy(&pd, f->last[UNIC_CMD_PD_ALLOC], sizeof(pd));
	assert_int_equal(unic_from_le32(pd.flags), UNIC_PD_PHYSICAL);
	reg.pd = unic_to_le32(reply_u32(f, 16));
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), 0);
	assert_int_equal(reply_u32(f, 20), 0xabcd00);
	memcpy(&cmd, f->last[UNIC_CMD_MR_REG], sizeof(cmd));
	assert_int_equal(cmd.residency, UNIC_PHYSICAL);
	assert_int_equal(unic_from_le64(cmd.iova), 3 * 4096);
	assert_int_equal(unic_from_le32(cmd.n_pages), 0);
	assert_int_equal(pinned(f), 0);
	reg.pd = unic_to_le32(reply_u32(f, 16) + 1000); /* none */
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_NO_PD;
	assert_int_equal(request(f, UNIC_CTL_MR_REG, &reg), UNIC_ST_NO_PD);
	fake_delete(f);
}

/* A process may not listen as a service of the driver: peers would ask it for
 * files; nor connect to one, which would not ask for its identity. */
static void own_services_are_the_drivers(void **state)
{
	struct unic_ctl_listen l = { .service = unic_to_le64(
					     UNIC_CTL_SERVICE_OWN << 8 | 77) };
	struct unic_ctl_connect c = { .service = l.service,
				      .ipv4 = unic_to_le32(0x0a000002) };
	struct fake *f = fake_new();
	struct unic_hqp *qp;

	(void)state;
	f->client.privileged = false;
	hello(f);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l),
			 UNIC_CTL_ST_PERMISSION);
	qp = unic_obj_alloc(&f->host->objects, UNIC_OBJ_QP, f->client.slot,
			    sizeof(*qp));
	c.qp = unic_to_le32(qp->obj.id);
	assert_int_equal(request(f, UNIC_CTL_CONNECT, &c),
			 UNIC_CTL_ST_PERMISSION);
	assert_int_equal(qp->conn, 0);
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	fake_delete(f);
}

/* Tables with addresses, STags and bus addresses of all processes are for
 * administrators only. */
static void tables_are_for_the_administrator(void **state)
{
	static const uint8_t ops[] = { UNIC_CTL_DUMP, UNIC_CTL_TRACE,
				       UNIC_CTL_CRASH };
	struct fake *f = fake_new();
	uint64_t rec[UNIC_REC_WORDS] = { 0 };
	uint32_t i;

	(void)state;
	f->client.privileged = false;
	for (i = 0; i < sizeof(ops); i++)
		assert_int_equal(request(f, ops[i], rec),
				 UNIC_CTL_ST_PERMISSION);
	assert_int_equal(request(f, UNIC_CTL_PS, rec), 0);
	assert_int_equal(request(f, UNIC_CTL_INFO, rec), 0);
	fake_delete(f);
}

static bool shows_nothing(struct unic_provider *p, uint32_t off, void *buf,
			  uint32_t bytes)
{
	(void)p;
	(void)off;
	(void)buf;
	(void)bytes;
	return false;
}

/* A provider may have no record of a crash, as that of the loop. */
static void a_crash_may_not_be_shown(void **state)
{
	struct fake *f = fake_new();
	struct unic_provider *p = f->host->provider;
	const struct unic_provider_ops *had = p->ops;
	struct unic_provider_ops ops = *had;
	uint64_t rec[UNIC_REC_WORDS] = { 0 };
	struct unic_crash crash = { .magic = unic_to_le32(UNIC_CRASH_MAGIC) };

	(void)state;
	f->client.privileged = true;
	assert_int_equal(request(f, UNIC_CTL_CRASH, rec), UNIC_CTL_ST_NONE);
	memcpy(f->bar + UNIC_BAR_CRASH_OFF, &crash, sizeof(crash));
	assert_int_equal(request(f, UNIC_CTL_CRASH, rec), 0);
	ops.peek = shows_nothing;
	p->ops = &ops;
	assert_int_equal(request(f, UNIC_CTL_CRASH, rec), UNIC_CTL_ST_NONE);
	p->ops = had;
	fake_delete(f);
}

/* An owner may read the usage of its regions. */
static void uses_of_ones_own_regions(void **state)
{
	struct unic_ctl_uses u = { .first = unic_to_le32(2),
				   .count = unic_to_le32(4) };
	struct fake *f = fake_new();
	struct unic_use_row *row = (void *)(f->bar + UNIC_BAR_USE_OFF);
	const uint8_t *got = (const uint8_t *)f->os.reply[0] + UNIC_CTL_BYTES;
	uint32_t i;

	(void)state;
	region(f, 8); /* of index 3 */
	info(f)->mrs = unic_to_le32(64);
	for (i = 0; i < 64; i++)
		row[i].stag = unic_to_le32(i == 3 ? 0xabcd00 : 0x100 * i);
	assert_int_equal(request(f, UNIC_CTL_USES, &u), 0);
	assert_memory_equal(got, &row[2], 4 * sizeof(*row));
	f->client.privileged = false;
	assert_int_equal(request(f, UNIC_CTL_USES, &u), 0);
	assert_memory_equal(got + sizeof(*row), &row[3], sizeof(*row));
	row[0].stag = unic_to_le32(0);
	for (i = 2; i < 6; i++)
		if (i != 3)
			assert_memory_equal(got + (i - 2) * sizeof(*row), row,
					    sizeof(*row));
	for (i = 6; i < 32; i++) { /* behind the table, near and far */
		u.first = unic_to_le32(1u << i);
		assert_int_equal(request(f, UNIC_CTL_USES, &u), 0);
		assert_int_equal(reply_u32(f, 12), 0);
	}
	fake_delete(f);
}

/* Where each request names a region by its id. */
static const struct {
	uint16_t op, at;
} names_region[] = {
	{ UNIC_CTL_MR_DEREG, offsetof(struct unic_ctl_obj, id) },
	{ UNIC_CTL_MR_INVAL, offsetof(struct unic_ctl_obj, id) },
	{ UNIC_CTL_MR_MAKE, offsetof(struct unic_ctl_mr_make, id) },
	{ UNIC_CTL_MR_REREG, offsetof(struct unic_ctl_mr_rereg, id) },
	{ UNIC_CTL_MR_ADVISE, offsetof(struct unic_ctl_mr_advise, id) },
	{ UNIC_CTL_TOKEN_ALLOC, offsetof(struct unic_ctl_token_alloc, mr) },
	{ UNIC_CTL_CQ_CREATE, offsetof(struct unic_ctl_cq_create, mr) },
	{ UNIC_CTL_QP_CREATE, offsetof(struct unic_ctl_qp_create, mr) },
};

/* The status for @other, which names region @id in request @i. */
static uint32_t told_of(struct fake *f, struct unic_client *other, uint32_t i,
			uint32_t id)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(names_region[i].op) };
	unic_le32 named = unic_to_le32(id);
	uint8_t rec[64] = { 0 };

	memcpy(rec, &hdr, sizeof(hdr));
	memcpy(rec + names_region[i].at, &named, sizeof(named));
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, other, rec, sizeof(rec)));
	settle(f);
	assert_int_equal(f->os.replies, 1);
	memcpy(&hdr, f->os.reply[0], sizeof(hdr));
	return unic_from_le16(hdr.status);
}

/* INV-27: the NIC is asked about regions of the process only, so STags of others come
 * to it in MR_MAKE's list alone. */
static void ids_of_others_are_nobodys(void **state)
{
	struct unic_client other = { .pid = 8, .slot = UNIC_OS_NO_SLOT };
	struct unic_ctl_hello hi = { .hdr.op = unic_to_le16(UNIC_CTL_HELLO),
				     .version = unic_to_le32(1) };
	struct fake *f = fake_new();
	uint32_t i, told, asked, id = region(f, 4);

	(void)state;
	assert_true(unic_host_request(f->host, &other, &hi, sizeof(hi)));
	settle(f);
	asked = f->commands;
	for (i = 0; i < sizeof(names_region) / sizeof(*names_region); i++) {
		told = told_of(f, &other, i, id);
		assert_int_equal(told, told_of(f, &other, i, id + 1));
		assert_int_not_equal(told, 0);
	}
	assert_int_equal(f->commands, asked);
	fake_delete(f);
}

/* Giving back is possible with UNIC_CTL_OPEN_MAX requests open. */
static void giving_back_has_its_own_room(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_obj r = { .id = unic_to_le32(region(f, 4)) };
	struct unic_ctl_dump d = { .table = unic_to_le32(1) };
	uint32_t i;

	(void)state;
	for (i = 0; i < UNIC_CTL_OPEN_MAX; i++)
		ask(f, UNIC_CTL_DUMP, &d);
	assert_int_equal(f->os.replies, 0);
	ask(f, UNIC_CTL_MR_DEREG, &r);
	assert_int_equal(f->os.replies, 0); /* not TOO_MANY */
	settle(f);
	assert_int_equal(f->os.replies, UNIC_CTL_OPEN_MAX + 1);
	assert_int_equal(f->host->proc[0].regions, 0);
	fake_delete(f);
}

static void shares_are_kept(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_listen l = { 0 };
	struct unic_ctl_plain pd = { 0 };
	uint32_t i;

	(void)state;
	hello(f);
	f->host->share[UNIC_OBJ_PD] = 3;
	for (i = 0; i < 8; i++)
		ask(f, UNIC_CTL_PD_ALLOC, &pd); /* all under way at once */
	settle(f);
	assert_int_equal(f->host->objects.live, 3);
	for (i = 0; i < 64; i++) {
		l.service = unic_to_le64(i);
		assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), 0);
	}
	l.service = unic_to_le64(i);
	assert_int_equal(request(f, UNIC_CTL_LISTEN, &l), UNIC_ST_QUOTA);
	fake_delete(f);
}

/* Pieces have bus addresses: the driver's own client names them, no process. */
static void pieces_are_for_the_driver(void **state)
{
	struct {
		struct unic_ctl_token_alloc r;
		struct unic_token_piece piece[2];
	} m = { .r = { .length = unic_to_le32(8),
		       .flags = unic_to_le32(UNIC_TOKEN_F_PIECES) } };
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(UNIC_CTL_TOKEN_ALLOC),
				    .tail_bytes = unic_to_le32(32) };
	struct unic_cmd_token_alloc cmd;
	struct fake *f = fake_new();
	uint32_t i, sent;

	(void)state;
	m.r.mr = unic_to_le32(region(f, 4));
	for (i = 0; i < 3; i++) { /* a process; the driver; without the flag */
		f->client.kernel = i == 1;
		if (i == 2)
			m.r.flags = unic_to_le32(0);
		memset(f->last[UNIC_CMD_TOKEN_ALLOC], 0, 64);
		f->os.replies = 0;
		memcpy(&m.r.hdr, &hdr, sizeof(hdr));
		assert_true(
			unic_host_request(f->host, &f->client, &m, sizeof(m)));
		settle(f);
		memcpy(&cmd, f->last[UNIC_CMD_TOKEN_ALLOC], sizeof(cmd));
		sent = unic_from_le32(cmd.pieces);
		assert_int_equal(sent, i == 1 ? 2 : 0);
		assert_int_equal(reply_status(f), i == 1 ? 0 : UNIC_ST_INVALID);
	}
	fake_delete(f);
}

/* HELLO in another version is answered by that word and the driver's version, whatever
 * the rest of the message holds; the same connection can try again. */
static void another_version_is_told(void **state)
{
	struct unic_ctl_hello r = { .version = unic_to_le32(2),
				    .policy = unic_to_le32(99),
				    .rsvd = { [2] = unic_to_le32(5) } };
	struct unic_ctl_hdr cut = { .op = unic_to_le16(UNIC_CTL_HELLO) };
	struct fake *f = fake_new();

	(void)state;
	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), UNIC_CTL_ST_VERSION);
	assert_int_equal(reply_u32(f, 16), UNIC_CTL_VERSION);
	assert_int_equal(reply_u32(f, 20), 0);
	assert_int_equal(f->client.slot, UNIC_OS_NO_SLOT);
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, &f->client, &cut, sizeof(cut)));
	assert_int_equal(reply_status(f), UNIC_ST_INVALID);
	r = (struct unic_ctl_hello){ .version = unic_to_le32(1),
				     .policy = unic_to_le32(99) };
	assert_int_equal(request(f, UNIC_CTL_HELLO, &r), UNIC_ST_INVALID);
	assert_int_equal(reply_u32(f, 16), 0);
	hello(f);
	fake_delete(f);
}

/* There is no place for a slot beyond the last. */
static void no_driver_of_too_many_slots(void **state)
{
	struct fake *f = fake_new();
	struct unic_host_config config = f->host->config;
	struct unic_provider *p = unic_nic_provider(&f->os, f->bar);
	static const uint32_t slots[] = { 0, UNIC_HOST_SLOTS_MAX + 1,
					  UINT32_MAX };
	uint32_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		config.slots = slots[i];
		assert_null(unic_host_new(&f->os, p, &config));
	}
	if (p->ops->fini)
		p->ops->fini(p);
	unic_os_free(&f->os, p);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_requests),
		cmocka_unit_test(a_crash_may_not_be_shown),
		cmocka_unit_test(each_call_is_logged),
		cmocka_unit_test(request_of_another_life),
		cmocka_unit_test(bus_addresses_are_the_drivers_alone),
		cmocka_unit_test(own_services_are_the_drivers),
		cmocka_unit_test(tables_are_for_the_administrator),
		cmocka_unit_test(uses_of_ones_own_regions),
		cmocka_unit_test(client_leaves_while_waiting),
		cmocka_unit_test(every_allocation_fails),
		cmocka_unit_test(ids_of_others_are_nobodys),
		cmocka_unit_test(giving_back_has_its_own_room),
		cmocka_unit_test(shares_are_kept),
		cmocka_unit_test(pieces_are_for_the_driver),
		cmocka_unit_test(another_version_is_told),
		cmocka_unit_test(no_driver_of_too_many_slots),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_bus.c - regions of pages that the driver's own client names by bus
 * address, for one I/O: who may make one, what the NIC is told, and when the pages
 * are the client's again. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "host.h"

#define BUS    0x7000000000ull /* of the first page */
#define RIGHTS (UNIC_MR_LOCAL_WRITE | UNIC_MR_REMOTE_WRITE)
#define MANY   (UNIC_LIST_MAX + 1u)

struct pages {
	struct unic_ctl_mr_reg r;
	unic_le64 page[MANY];
};

/* A request for @length bytes from offset @off of the first of @n pages on, each a
 * page behind the one before. */
static struct pages pages(uint32_t pd, uint32_t off, uint32_t length,
			  uint32_t n)
{
	struct pages p = { .r = { .va = unic_to_le64(BUS + off),
				  .length = unic_to_le64(length),
				  .pd = unic_to_le32(pd),
				  .user = unic_to_le32(77),
				  .rights = RIGHTS,
				  .page_shift = 12,
				  .key = 9,
				  .flags = UNIC_CTL_REG_RANDOM } };
	uint32_t i;

	p.r.hdr.op = unic_to_le16(UNIC_CTL_MR_REG);
	p.r.hdr.tail_bytes = unic_to_le32(8 * n);
	for (i = 0; i < n; i++)
		p.page[i] = unic_to_le64(BUS + 8192ull * i);
	return p;
}

static void send_only(struct fake *f, struct pages *p)
{
	f->os.replies = 0;
	assert_true(unic_host_request(
		f->host, &f->client, p,
		UNIC_CTL_BYTES + unic_from_le32(p->r.hdr.tail_bytes)));
	settle(f);
}

static int send(struct fake *f, struct pages *p)
{
	send_only(f, p);
	return (int)reply_status(f);
}

/* HELLO and a PD, of the driver's client or of a process. Returns the PD's id. */
static uint32_t domain(struct fake *f, bool kernel)
{
	struct unic_cpl_mr_reg cpl = { .mr = unic_to_le32(3),
				       .gen = unic_to_le32(9),
				       .stag = unic_to_le32(0xabcd09) };
	struct unic_ctl_plain pd = { 0 };

	f->client.kernel = kernel;
	hello(f);
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	assert_int_equal(request(f, UNIC_CTL_PD_ALLOC, &pd), 0);
	return reply_u32(f, 16);
}

/* A region of 5,000 bytes. Returns its id. */
static uint32_t lent(struct fake *f)
{
	struct pages p = pages(domain(f, true), 100, 5000, 2);

	assert_int_equal(send(f, &p), 0);
	return reply_u32(f, 16);
}

/* Bus addresses are taken from the driver's own client: a process that could name
 * one would reach the memory of all. */
static void bus_pages_are_for_the_driver(void **state)
{
	static const uint8_t kinds[] = { UNIC_RESIDENT, UNIC_DEMAND, UNIC_TABLE,
					 UNIC_PHYSICAL };
	struct fake *f = fake_new();
	uint32_t pd = domain(f, false), i, given = f->given[UNIC_CMD_MR_REG];
	struct pages p;

	(void)state;
	for (i = 0; i < 4; i++) {
		p = pages(pd, 100, 5000, 2);
		p.r.residency = kinds[i];
		assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	}
	f->client.kernel = true; /* lists of the other kinds mean nothing */
	for (i = 1; i < 4; i++) {
		p = pages(pd, 100, 5000, 2);
		p.r.residency = kinds[i];
		assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	}
	assert_int_equal(f->given[UNIC_CMD_MR_REG], given);
	assert_int_equal(f->host->proc[f->client.slot].regions, 0);
	fake_delete(f);
}

/* The list that the NIC reads, wherever it lies. */
static const unic_le64 *list_of_nic(struct fake *f)
{
	const unic_le64 *list;
	uint32_t k;

	for (k = 0; k < 64; k++) {
		list = (void *)(f->bar + UNIC_BAR_LIST_OFF + k * 4096);
		if (unic_from_le64(list[0]) == BUS)
			return list;
	}
	fail();
	return NULL;
}

/* The NIC is told the bytes of the I/O, no more, under a base by chance. */
static void bus_list_is_exact(void **state)
{
	struct fake *f = fake_new();
	struct pages p = pages(domain(f, true), 100, 5000, 2);
	struct unic_ctl_mr_reg_reply r;
	struct unic_cmd_mr_reg cmd;
	const unic_le64 *list;

	(void)state;
	assert_int_equal(send(f, &p), 0);
	memcpy(&r, f->os.reply[0], sizeof(r));
	cmd = last_reg(f);
	assert_int_equal(cmd.flags, UNIC_REG_LIST);
	assert_int_equal(cmd.residency, UNIC_RESIDENT);
	assert_int_equal(cmd.rights, RIGHTS);
	assert_int_equal(cmd.mr_class, UNIC_CLASS_RDMA);
	assert_int_equal(cmd.page_shift, 12);
	assert_int_equal(cmd.key, 9);
	assert_int_equal(unic_from_le64(cmd.length), 5000);
	assert_int_equal(unic_from_le32(cmd.n_pages), 2);
	assert_int_equal(unic_from_le64(cmd.iova) % (1 << 21), 100);
	assert_true(unic_from_le64(cmd.iova) >> 21);
	assert_int_equal(unic_from_le64(r.iova), unic_from_le64(cmd.iova));
	assert_int_equal(unic_from_le32(r.stag), 0xabcd09);
	assert_int_equal(unic_from_le32(r.entries), 2);
	list = list_of_nic(f);
	assert_int_equal(unic_from_le64(list[1]), BUS + 8192);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

#define WRONG(field, value)                                     \
	do {                                                    \
		struct pages w = pages(pd, 100, 5000, 2);       \
                                                                \
		w.r.field = value;                              \
		assert_int_equal(send(f, &w), UNIC_ST_INVALID); \
	} while (0)

static void each_wrong_list(void **state)
{
	static const struct {
		uint32_t off, length, n;
	} wrong[] = { { 100, 5000, 1 },	 { 100, 5000, 3 },
		      { 0, 8193, 2 },	 { 4095, 1, 2 },
		      { 4095, 4098, 2 }, { 0, MANY * 4096, MANY },
		      { 0, 4096, 0 } };
	static const uint32_t right[][3] = { { 0, 8192, 2 },
					     { 4095, 1, 1 },
					     { 4095, 4097, 2 } };
	struct fake *f = fake_new();
	uint32_t pd = domain(f, true), i;
	struct pages p;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		p = pages(pd, wrong[i].off, wrong[i].length, wrong[i].n);
		assert_int_not_equal(send(f, &p), 0);
	}
	p = pages(pd, 100, 5000, 2);
	p.page[1] = unic_to_le64(BUS + 8191);
	assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	p = pages(pd, 100, 5000, 2);
	p.r.hdr.tail_bytes = unic_to_le32(12);
	assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	p = pages(pd, 0, MANY * 4096, 2); /* more than any list has */
	assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	WRONG(page_shift, 0);
	WRONG(page_shift, 13);
	WRONG(mr_class, UNIC_CLASS_CONTROL);
	WRONG(mr_class, UNIC_CLASS_MESSAGING);
	WRONG(flags, UNIC_CTL_REG_WAIT | UNIC_CTL_REG_ASYNC);
	WRONG(length, unic_to_le64(0));
	WRONG(length, unic_to_le64(UINT64_MAX));
	WRONG(iova, unic_to_le64(4096)); /* and one by chance */
	assert_int_equal(f->given[UNIC_CMD_MR_REG], 0);
	for (i = 0; i < 3; i++) {
		p = pages(pd, right[i][0], right[i][1], right[i][2]);
		assert_int_equal(send(f, &p), 0);
	}
	fake_delete(f);
}

/* Without memory, at each place that takes some: an answer, and nothing left. */
static void bus_pages_without_memory(void **state)
{
	struct fake *f = fake_new();
	struct pages p = pages(domain(f, true), 100, 5000, 2);
	uint32_t k, asked = 0, refused = 0;
	int status;

	(void)state;
	for (k = 0; k < 10; k++) {
		f->os.fail_alloc = 1 + k / 2;
		p.r.flags = UNIC_CTL_REG_RANDOM | (k & 1) * UNIC_CTL_REG_WAIT;
		f->os.replies = 0;
		if (!unic_host_request(f->host, &f->client, &p,
				       UNIC_CTL_BYTES + 16))
			continue; /* not even of the request */
		asked++;
		settle(f);
		status = (int)reply_status(f);
		assert_true(!status || status == UNIC_CTL_ST_NO_MEMORY);
		refused += status != 0;
		assert_int_equal(f->host->proc[f->client.slot].regions,
				 asked - refused);
	}
	assert_in_range(refused, 3, asked - 2);
	fake_delete(f);
}

/* The driver's part of the region table is as large as that of a process. */
static void bus_pages_have_a_share(void **state)
{
	struct fake *f = fake_new();
	struct pages p = pages(domain(f, true), 100, 5000, 2);

	(void)state;
	f->host->share[UNIC_OBJ_MR] = 1;
	assert_int_equal(send(f, &p), 0);
	assert_int_equal(send(f, &p), UNIC_ST_QUOTA);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_TLB_FULL;
	f->host->share[UNIC_OBJ_MR] = 2;
	assert_int_equal(send(f, &p), UNIC_ST_TLB_FULL);
	assert_int_equal(f->host->proc[f->client.slot].regions, 1);
	fake_delete(f);
}

/* A notice and an eviction are told like a process's; the pages are the client's
 * again when MR_DEREG is answered. */
static void bus_pages_are_asked_back(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = lent(f);
	struct unic_ctl_obj obj = { .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_NOTICE);

	(void)state;
	unic_host_unmapped(f->host, f->client.slot, BUS, 4096);
	settle(f); /* no address of a process */
	assert_int_equal(f->given[UNIC_CMD_MR_DEREG], 0);
	event(f, &evt);
	assert_int_equal(upcall_type(f, 0), UNIC_UP_NOTICE);
	assert_int_equal(f->given[UNIC_CMD_NOTICE_ACK], 1);
	evt = notice(id, UNIC_EVT_EVICTED);
	event(f, &evt);
	assert_int_equal(upcall_type(f, 1), UNIC_UP_EVICTED);
	assert_int_equal(region_state(f, id), R_EVICTED);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), 0);
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), UNIC_ST_NO_MR);
	fake_delete(f);
}

/* MR_DEREG of a region in use is answered when the NIC has let go of it. */
static void bus_pages_drain(void **state)
{
	struct fake *f = fake_new();
	uint32_t id = lent(f);
	struct unic_ctl_obj obj = { .id = unic_to_le32(id) };
	struct unic_evt_mr evt = notice(id, UNIC_EVT_EVICTED);

	(void)state;
	f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_PENDING;
	assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj), -1);
	evt.hdr.reason = UNIC_WHY_DEREG;
	event(f, &evt);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(f->host->proc[f->client.slot].regions, 0);
	fake_delete(f);
}

/* The NIC fails with an MR_DEREG under way, or with a region that drains: until its
 * reset it may write to the pages, so the answer is not OK. */
static void a_lost_nic_has_not_let_go(void **state)
{
	uint32_t id, drains;

	(void)state;
	for (drains = 0; drains < 2; drains++) {
		struct fake *f = fake_new();
		struct unic_ctl_obj obj;

		id = lent(f);
		obj = (struct unic_ctl_obj){ .id = unic_to_le32(id) };
		f->os.replies = 0;
		ask(f, UNIC_CTL_MR_DEREG, &obj);
		if (drains) {
			f->answer[UNIC_CMD_MR_DEREG] = UNIC_ST_PENDING;
			settle(f);
		}
		fail_nic(f);
		assert_int_equal(reply_status(f), UNIC_CTL_ST_RESET);
		f->os.replies = 0; /* and until then no question is answered */
		obj = (struct unic_ctl_obj){ .id = unic_to_le32(id) };
		ask(f, UNIC_CTL_MR_DEREG, &obj);
		assert_int_equal(reply_status(f), UNIC_CTL_ST_NO_NIC);
		settle(f);
		assert_int_equal(unic_host_nic(f->host), UNIC_CTL_NIC_READY);
		obj = (struct unic_ctl_obj){ .id = unic_to_le32(id) };
		assert_int_equal(request(f, UNIC_CTL_MR_DEREG, &obj),
				 UNIC_ST_NO_MR);
		assert_int_equal(f->given[UNIC_CMD_MR_REG], 1); /* not again */
		fake_delete(f);
	}
}

/* A list waits for entries like that of a process, and the NIC reads what the request
 * said, whatever the client sent since. */
static void bus_pages_may_wait(void **state)
{
	struct fake *f = fake_new();
	struct pages p = pages(domain(f, true), 100, 5000, 2), other;
	struct unic_cpl_mr_reg cpl = { .wait = unic_to_le32(4) };
	struct unic_evt_wait evt;
	struct unic_cmd_mr_reg cmd;
	struct unic_cmd_mr_fill fill;
	const unic_le64 *list;
	uint32_t id;

	(void)state;
	memcpy(f->cpl[UNIC_CMD_MR_REG], &cpl, 64);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	p.r.flags = UNIC_CTL_REG_RANDOM | UNIC_CTL_REG_WAIT;
	p.r.timeout_us = unic_to_le32(5000);
	send_only(f, &p);
	assert_int_equal(f->os.replies, 0);
	cmd = last_reg(f);
	assert_int_equal(cmd.flags, UNIC_REG_WAIT);
	assert_int_equal(unic_from_le32(cmd.timeout_us), 5000);
	id = unic_from_le32(cmd.user);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_TLB_FULL;
	other = pages(unic_from_le32(p.r.pd), 0, 4096, 1);
	other.page[0] = unic_to_le64(BUS + (1 << 20));
	assert_int_equal(send(f, &other), UNIC_ST_TLB_FULL);
	f->os.replies = 0;
	memset(f->bar + UNIC_BAR_LIST_OFF, 0, 64 * 4096);
	evt = granted(id);
	event(f, &evt);
	memcpy(&fill, f->last[UNIC_CMD_MR_FILL], sizeof(fill));
	assert_int_equal(unic_from_le32(fill.count), 2);
	list = list_of_nic(f);
	assert_int_equal(unic_from_le64(list[1]), BUS + 8192);
	assert_int_equal(reply_status(f), 0);
	assert_int_equal(reply_u32(f, 16), id);
	assert_int_equal(region_state(f, id), R_ACTIVE);
	assert_int_equal(pinned(f), 0);
	fake_delete(f);
}

/* One that need not wait has its pages, too. As of a process, more than may wait are held
 * until the NIC has answered others, and refused if those wait. */
static void bus_waits_have_places(void **state)
{
	struct fake *f = fake_new();
	struct pages p = pages(domain(f, true), 0, 4096, 1);
	uint32_t i;

	(void)state;
	f->host->waits = 2 * SLOTS; /* two of each slot */
	p.r.flags = UNIC_CTL_REG_RANDOM | UNIC_CTL_REG_WAIT;
	f->os.replies = 0;
	for (i = 0; i < 3; i++)
		assert_true(unic_host_request(f->host, &f->client, &p,
					      UNIC_CTL_BYTES + 8));
	nic_run(f);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], 2);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_MR_REG], 3);
	assert_int_equal(f->given[UNIC_CMD_MR_FILL], 3);
	assert_int_equal(unic_from_le64(list_of_nic(f)[0]), BUS);
	assert_int_equal(f->os.replies, 3);
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	send_only(f, &p);
	send_only(f, &p);
	assert_int_equal(f->os.replies, 0);
	assert_int_equal(send(f, &p), UNIC_ST_WAIT_FULL);
	fake_delete(f);
}

/* A wait that is cancelled leaves nothing. */
static void bus_waits_are_cancelled(void **state)
{
	struct fake *f = fake_new();
	struct pages p = pages(domain(f, true), 100, 5000, 2);
	struct unic_ctl_wait_cancel cancel = { .wait_seq = unic_to_le32(41) };

	(void)state;
	f->answer[UNIC_CMD_MR_REG] = UNIC_ST_PENDING;
	p.r.flags = UNIC_CTL_REG_RANDOM | UNIC_CTL_REG_WAIT;
	p.r.hdr.seq = cancel.wait_seq;
	send_only(f, &p);
	assert_int_equal(f->os.replies, 0);
	ask(f, UNIC_CTL_WAIT_CANCEL, &cancel);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_WAIT_CANCEL], 1);
	assert_int_equal(f->os.replies, 2);
	assert_int_equal(f->host->proc[f->client.slot].regions, 0);
	assert_int_equal(f->host->proc[f->client.slot].waits, 0);
	fake_delete(f);
}

/* ---------------------------------------------------------------- accounts */

static struct unic_client account; /* a second slot of the driver */

static int ask_as(struct fake *f, struct unic_client *client, void *rec,
		  uint16_t op)
{
	struct unic_ctl_hdr hdr = { .op = unic_to_le16(op) };

	memcpy(rec, &hdr, sizeof(hdr));
	f->os.replies = 0;
	assert_true(unic_host_request(f->host, client, rec, UNIC_CTL_BYTES));
	settle(f);
	return (int)reply_status(f);
}

/* A slot that is an account of the driver's own, if @keeper is that. */
static void open_account(struct fake *f, bool kernel, uint32_t keeper)
{
	struct unic_ctl_hello hello = { .version = unic_to_le32(
						UNIC_CTL_VERSION) };

	account = (struct unic_client){ .pid = 70,
					.privileged = true,
					.kernel = kernel,
					.keeper = keeper,
					.slot = UNIC_OS_NO_SLOT };
	assert_int_equal(ask_as(f, &account, &hello, UNIC_CTL_HELLO), 0);
	assert_int_not_equal(account.slot, f->client.slot);
}

static void lists_may_be_charged_to_an_account(void **state)
{
	struct fake *f = fake_new();
	struct unic_cmd_proc_attach attach;
	struct unic_cmd_mr_reg reg;
	struct pages p = pages(domain(f, true), 100, 5000, 2);

	(void)state;
	p.r.account = (uint8_t)(f->client.slot + 1); /* itself is none */
	assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	p.r.account = 2 - (uint8_t)f->client.slot; /* nobody is there */
	assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	p.r.account = 200;
	assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	open_account(f, true, f->client.slot + 1);
	memcpy(&attach, f->last[UNIC_CMD_PROC_ATTACH], sizeof(attach));
	assert_int_equal(unic_from_le32(attach.proc), account.slot);
	assert_int_equal(unic_from_le32(attach.keeper), f->client.slot + 1);
	p.r.account = (uint8_t)(account.slot + 1);
	assert_int_equal(send(f, &p), 0);
	memcpy(&reg, f->last[UNIC_CMD_MR_REG], sizeof(reg));
	assert_int_equal(reg.account, account.slot + 1);
	p.r.residency = UNIC_PHYSICAL;
	assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	p.r.residency = UNIC_RESIDENT;
	f->client.kernel = false; /* no process charges another */
	assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	p.r.hdr.tail_bytes = unic_to_le32(0);
	assert_int_equal(send(f, &p), UNIC_ST_INVALID);
	fake_delete(f);
}

/* A process says in vain that it is an account, and a slot of the driver that is none is
 * not charged. */
static void processes_are_no_accounts(void **state)
{
	uint32_t kernel;

	(void)state;
	for (kernel = 0; kernel < 2; kernel++) {
		struct fake *f = fake_new();
		struct unic_cmd_proc_attach attach;
		struct pages p = pages(domain(f, true), 100, 5000, 2);

		open_account(f, kernel, kernel ? 0 : f->client.slot + 1);
		memcpy(&attach, f->last[UNIC_CMD_PROC_ATTACH], sizeof(attach));
		assert_int_equal(unic_from_le32(attach.keeper), 0);
		p.r.account = (uint8_t)(account.slot + 1);
		assert_int_equal(send(f, &p), UNIC_ST_INVALID);
		fake_delete(f);
	}
}

static void accounts_outlive_a_reset(void **state)
{
	struct fake *f = fake_new();
	struct unic_cmd_proc_attach attach = { 0 };
	uint32_t given;

	(void)state;
	domain(f, true);
	open_account(f, true, f->client.slot + 1);
	given = f->given[UNIC_CMD_PROC_ATTACH];
	fail_nic(f);
	settle(f);
	assert_int_equal(f->given[UNIC_CMD_PROC_ATTACH], given + 2);
	memcpy(&attach, f->last[UNIC_CMD_PROC_ATTACH], sizeof(attach));
	if (unic_from_le32(attach.proc) == account.slot)
		assert_int_equal(unic_from_le32(attach.keeper),
				 f->client.slot + 1);
	else
		assert_int_equal(unic_from_le32(attach.keeper), 0);
	fake_delete(f);
}

static int claim(struct fake *f, struct unic_client *client, uint32_t n)
{
	struct unic_ctl_claim r = { .entries = unic_to_le32(n) };

	return ask_as(f, client, &r, UNIC_CTL_CLAIM);
}

static void the_driver_claims(void **state)
{
	struct fake *f = fake_new();
	struct unic_cmd_proc_set set;

	(void)state;
	domain(f, true);
	open_account(f, true, f->client.slot + 1);
	assert_int_equal(claim(f, &account, 40), UNIC_CTL_ST_UNSUPPORTED);
	assert_int_equal(f->given[UNIC_CMD_PROC_SET], 0);
	f->host->features |= UNIC_FEAT_ACCOUNTS;
	assert_int_equal(claim(f, &account, 40), 0);
	memcpy(&set, f->last[UNIC_CMD_PROC_SET], sizeof(set));
	assert_int_equal(unic_from_le32(set.proc), account.slot);
	assert_int_equal(unic_from_le32(set.keep), UNIC_PROC_KEEP_ALL);
	assert_int_equal(unic_from_le32(set.claim), 40);
	assert_int_equal(unic_from_le32(set.weight), 0);
	f->client.kernel = false;
	assert_int_equal(claim(f, &f->client, 40), UNIC_CTL_ST_PERMISSION);
	assert_int_equal(f->given[UNIC_CMD_PROC_SET], 1);
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bus_pages_are_for_the_driver),
		cmocka_unit_test(bus_list_is_exact),
		cmocka_unit_test(each_wrong_list),
		cmocka_unit_test(bus_pages_without_memory),
		cmocka_unit_test(bus_pages_have_a_share),
		cmocka_unit_test(bus_pages_are_asked_back),
		cmocka_unit_test(bus_pages_drain),
		cmocka_unit_test(a_lost_nic_has_not_let_go),
		cmocka_unit_test(bus_pages_may_wait),
		cmocka_unit_test(bus_waits_have_places),
		cmocka_unit_test(bus_waits_are_cancelled),
		cmocka_unit_test(lists_may_be_charged_to_an_account),
		cmocka_unit_test(processes_are_no_accounts),
		cmocka_unit_test(accounts_outlive_a_reset),
		cmocka_unit_test(the_driver_claims),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

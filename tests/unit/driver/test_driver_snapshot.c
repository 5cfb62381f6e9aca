/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_snapshot.c - all tables of the NIC as of one instant: the driver reads them
 * in one go, keeps them, and lets others wait meanwhile. Host only.
 */
#include "unit.h"

#include "driver_rig.h"
#include "host.h"
#include "unic_cmd_dump.h"

#define TABLES (UNIC_TABLE_HISTOGRAM + 1u)
#define MS     1000000ull

/* The NIC: rows of each table, the snapshot that it holds its tables for, and what it
 * does wrong. */
static struct {
	uint32_t rows[TABLES];
	uint32_t last, held;
	uint32_t
		evict_at; /* it ends the snapshot before its DUMP of this number */
	uint32_t refuse; /* TAKEs to come that it refuses */
	uint32_t status; /* ... with this status */
	uint32_t too_many, stuck, creeps, another;
	uint32_t takes, dumps; /* so far; of the last snapshot */
	uint8_t seen[256];     /* opcodes, in their order */
	uint32_t n;
	uint32_t behind_nop; /* commands in the ring when it came to the NOP */
} nic;

static uint32_t in_ring(struct fake *f)
{
	uint32_t n = unic_from_le32(driver(f)->cmd_tail) - f->cmd_head;

	return n <= 64 ? n : 0;
}

static uint8_t dump_status(const struct unic_cmd_dump *cmd)
{
	uint32_t number = unic_from_le32(cmd->snapshot);

	if (number != UNIC_SNAPSHOT_TAKE) {
		if (++nic.dumps == nic.evict_at)
			nic.held = 0;
		return number == nic.held ? UNIC_ST_OK : UNIC_ST_EVICTED;
	}
	nic.takes++;
	nic.dumps = 0;
	nic.held = 0;
	if (nic.refuse) {
		nic.refuse--;
		return (uint8_t)nic.status;
	}
	nic.held = nic.last += 1000;
	return UNIC_ST_OK;
}

/* Writes rows as the NIC would: each says its table and its place. */
static void dump(struct fake *f, const struct unic_cmd_dump *cmd)
{
	uint32_t table = unic_from_le32(cmd->table), i;
	uint32_t first = unic_from_le32(cmd->first),
		 n = nic.rows[table] - first;
	struct unic_cpl_dump cpl = { .snapshot = unic_to_le32(nic.held),
				     .time_ns = unic_to_le64(nic.takes) };
	unic_le32 row[2];

	f->answer[UNIC_CMD_DUMP] = dump_status(cmd);
	if (n > 64) {
		n = 64;
		cpl.next = unic_to_le32(first + n);
	}
	if (nic.stuck && first)
		cpl.next = unic_to_le32(first);
	if (nic.creeps) {
		n = 0;
		cpl.next = unic_to_le32(first + 1);
	}
	if (nic.another && nic.dumps == 2)
		nic.held++;
	for (i = 0; i < n; i++) {
		row[0] = unic_to_le32(table);
		row[1] = unic_to_le32(first + i);
		memcpy(f->listed + i * UNIC_ROW_BYTES, row, sizeof(row));
	}
	cpl.rows = unic_to_le32(nic.too_many ? nic.too_many : n);
	cpl.snapshot = unic_to_le32(nic.held);
	memcpy(f->cpl[UNIC_CMD_DUMP], &cpl, sizeof(cpl));
}

static void step(struct fake *f)
{
	const uint8_t *rec = f->bar + UNIC_BAR_CMD_OFF + f->cmd_head % 64 * 64;
	struct unic_cmd_dump cmd;

	memcpy(&cmd, rec, sizeof(cmd));
	if (cmd.hdr.opcode == UNIC_CMD_DUMP && cmd.snapshot)
		dump(f, &cmd);
	else
		nic.held = 0;
	if (cmd.hdr.opcode == UNIC_CMD_NOP)
		nic.behind_nop = in_ring(f) - 1;
	nic.seen[nic.n++ % 256] = cmd.hdr.opcode;
	nic_step(f);
	f->answer[UNIC_CMD_DUMP] = 0;
	memset(f->cpl[UNIC_CMD_DUMP], 0, 64);
}

static void run(struct fake *f)
{
	uint32_t i;

	for (i = 0; i < 80; i++) {
		while (in_ring(f))
			step(f);
		unic_host_poll(f->host);
	}
}

static struct fake *device(void)
{
	struct fake *f = fake_new();

	memset(&nic, 0, sizeof(nic));
	f->lists = true;
	f->host->features |= UNIC_FEAT_SNAPSHOT;
	info(f)->tlb_entries = unic_to_le32(1024);
	info(f)->mrs = unic_to_le32(256);
	nic.rows[UNIC_TABLE_TLB] = 130;
	nic.rows[UNIC_TABLE_MR] = 3;
	nic.rows[UNIC_TABLE_PROC] = 2;
	f->os.replies = 0;
	return f;
}

static void ask_of(struct fake *f, struct unic_client *c, uint32_t table,
		   uint32_t first, uint32_t snapshot)
{
	struct unic_ctl_dump d = { .hdr = { .op = unic_to_le16(UNIC_CTL_DUMP) },
				   .table = unic_to_le32(table),
				   .first = unic_to_le32(first),
				   .snapshot = unic_to_le32(snapshot) };

	assert_true(unic_host_request(f->host, c, &d, 64));
}

static uint32_t status_of(struct fake *f, uint32_t n)
{
	struct unic_ctl_hdr hdr;

	assert_true(n < f->os.replies);
	memcpy(&hdr, f->os.reply[n], sizeof(hdr));
	return unic_from_le16(hdr.status);
}

/* The status of a DUMP. */
static uint32_t dumped(struct fake *f, uint32_t table, uint32_t first,
		       uint32_t snapshot)
{
	f->os.replies = 0;
	ask_of(f, &f->client, table, first, snapshot);
	run(f);
	assert_int_equal(f->os.replies, 1);
	return status_of(f, 0);
}

static struct unic_ctl_dump_reply reply(struct fake *f)
{
	struct unic_ctl_dump_reply r;

	memcpy(&r, f->os.reply[0], sizeof(r));
	return r;
}

/* Takes a snapshot. Returns its number. */
static uint32_t taken(struct fake *f)
{
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE), 0);
	return unic_from_le32(reply(f).snapshot);
}

/* A plain DUMP of another client comes to the ring. */
static void other_asks(struct fake *f, struct unic_client *c)
{
	*c = (struct unic_client){ .slot = UNIC_OS_NO_SLOT,
				   .privileged = true };
	ask_of(f, c, UNIC_TABLE_QP, 0, 0);
}

/* --------------------------------------------------------------------- reading */

static void all_tables_in_one_go(void **state)
{
	struct fake *f = device();
	struct unic_ctl_dump_reply r;
	uint32_t number, i, commands;
	const unic_le32 *row;

	(void)state;
	assert_int_equal(dumped(f, UNIC_TABLE_TLB, 0, UNIC_SNAPSHOT_TAKE), 0);
	r = reply(f);
	number = unic_from_le32(r.snapshot);
	assert_true(number && number != UNIC_SNAPSHOT_TAKE);
	assert_int_equal(unic_from_le64(r.time_ns), 1);
	assert_int_equal(unic_from_le32(r.rows), 64);
	assert_int_equal(unic_from_le32(r.next), 64);
	assert_int_equal(f->os.reply_bytes[0], 64 + 64 * 64);
	assert_int_equal(nic.n, 3 + 6 + 1); /* six more tables, NOP */
	assert_int_equal(nic.seen[nic.n - 1], UNIC_CMD_NOP);
	commands = f->commands;
	assert_int_equal(dumped(f, UNIC_TABLE_TLB, 128, number), 0);
	r = reply(f);
	assert_int_equal(unic_from_le32(r.rows), 2);
	assert_int_equal(unic_from_le32(r.next), 0);
	assert_int_equal(unic_from_le32(r.snapshot), number);
	row = (const unic_le32 *)(f->os.reply[0] + 8);
	assert_int_equal(unic_from_le32(row[1]), 128);
	for (i = UNIC_TABLE_MR; i <= UNIC_TABLE_WAIT; i++) {
		assert_int_equal(dumped(f, i, 0, number), 0);
		r = reply(f);
		assert_int_equal(unic_from_le32(r.rows), nic.rows[i]);
		row = (const unic_le32 *)(f->os.reply[0] + 8);
		if (nic.rows[i])
			assert_int_equal(unic_from_le32(row[0]), i);
	}
	assert_int_equal(dumped(f, UNIC_TABLE_TLB, 130, number),
			 UNIC_ST_INVALID);
	assert_int_equal(dumped(f, UNIC_TABLE_CQ, 1, number), UNIC_ST_INVALID);
	assert_int_equal(dumped(f, UNIC_TABLE_CQ, 0, number + 1),
			 UNIC_ST_EVICTED);
	assert_int_equal(f->commands, commands); /* the NIC is not asked */
	fake_delete(f);
}

static void histograms_where_there_are_some(void **state)
{
	struct fake *f = device();
	uint32_t number = taken(f);

	(void)state;
	nic.rows[UNIC_TABLE_HISTOGRAM] = 6;
	assert_int_equal(dumped(f, UNIC_TABLE_HISTOGRAM, 0, number),
			 UNIC_ST_INVALID);
	f->host->features |= UNIC_FEAT_HISTOGRAMS;
	number = taken(f);
	assert_int_equal(dumped(f, UNIC_TABLE_HISTOGRAM, 0, number), 0);
	assert_int_equal(unic_from_le32(reply(f).rows), 6);
	/* another NIC, which has none, and then again this one */
	f->host->features &= ~UNIC_FEAT_HISTOGRAMS;
	nic.rows[UNIC_TABLE_TLB] = 0;
	number = taken(f);
	f->host->features |= UNIC_FEAT_HISTOGRAMS;
	assert_int_equal(dumped(f, UNIC_TABLE_HISTOGRAM, 0, number), 0);
	assert_int_equal(unic_from_le32(reply(f).rows), 0);
	fake_delete(f);
}

static void what_is_refused(void **state)
{
	struct fake *f = device();
	uint32_t commands = f->commands;

	(void)state;
	assert_int_equal(dumped(f, 0, 0, UNIC_SNAPSHOT_TAKE), UNIC_ST_INVALID);
	assert_int_equal(dumped(f, UNIC_TABLE_HISTOGRAM, 0, UNIC_SNAPSHOT_TAKE),
			 UNIC_ST_INVALID);
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 1, UNIC_SNAPSHOT_TAKE),
			 UNIC_ST_INVALID);
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, 1), UNIC_ST_EVICTED);
	f->host->features &= ~UNIC_FEAT_SNAPSHOT;
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE),
			 UNIC_CTL_ST_UNSUPPORTED);
	f->host->features |= UNIC_FEAT_SNAPSHOT;
	f->client.privileged = false;
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE),
			 UNIC_CTL_ST_PERMISSION);
	assert_int_equal(f->commands, commands);
	fake_delete(f);
}

static void numbers_begin_anew(void **state)
{
	struct fake *f = device();

	(void)state;
	assert_int_equal(taken(f), 1);
	f->host->snapshot.number = UNIC_SNAPSHOT_TAKE - 2;
	assert_int_equal(taken(f), UNIC_SNAPSHOT_TAKE - 1);
	assert_int_equal(taken(f), 1);
	fake_delete(f);
}

/* --------------------------------------------------------------- others wait */

/* From the first command to the last no other one is sent. They follow behind the last,
 * before the NIC can be done with it: answers of owners do not come late for that. */
static void others_wait_and_go(void **state)
{
	struct fake *f = device();
	struct unic_client c[3];
	uint32_t i, rings = f->os.rings;

	(void)state;
	idx(f)->asleep = unic_to_le32(1); /* it is rung each time */
	other_asks(f, &c[0]);		  /* before it: in its turn */
	ask_of(f, &f->client, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE);
	other_asks(f, &c[1]);
	assert_int_equal(in_ring(f), 2);
	step(f);
	step(f);
	unic_host_poll(f->host);
	assert_int_equal(in_ring(f), 1);
	other_asks(f, &c[2]);
	assert_int_equal(in_ring(f), 1);
	run(f);
	assert_int_equal(f->os.replies, 4);
	for (i = 0; i < 4; i++)
		assert_int_equal(status_of(f, i), 0);
	assert_int_equal(nic.takes, 1);
	assert_int_equal(nic.behind_nop, 2);
	assert_int_equal(f->os.rings - rings,
			 1 + 9 + 1); /* once for the last */
	fake_delete(f);
}

/* A NIC that answers TAKE before the commands in front of it: the next command finds no
 * room in the ring, and goes before those that wait when there is some. */
static void next_goes_before_those_that_wait(void **state)
{
	struct fake *f = device();
	struct unic_client c[6];
	struct unic_cpl_dump cpl = { .snapshot = unic_to_le32(1) };
	struct unic_cmd_hdr hdr;
	uint32_t i;

	(void)state;
	for (i = 0; i < 63; i++) {
		if (i % 16 == 0)
			other_asks(f, &c[i / 16]);
		else
			ask_of(f, &c[i / 16], UNIC_TABLE_QP, 0, 0);
	}
	ask_of(f, &f->client, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE);
	other_asks(f, &c[4]);
	other_asks(f, &c[5]);
	i = (f->cmd_head + 63) % 64;
	memcpy(&hdr, f->bar + UNIC_BAR_CMD_OFF + i * 64, sizeof(hdr));
	assert_int_equal(hdr.opcode, UNIC_CMD_DUMP);
	cpl.hdr = hdr;
	complete(f, (const uint64_t *)(const void *)&cpl);
	unic_host_poll(f->host);
	assert_int_equal(in_ring(f), 64);
	nic.held = 1;
	nic.last = 1;
	for (i = 0; i < 63; i++)
		nic_step(f);
	f->cmd_head++; /* TAKE is answered */
	unic_host_poll(f->host);
	assert_int_equal(f->os.replies, 63);
	assert_int_equal(in_ring(f), 1);
	f->os.replies = 0;
	run(f);
	assert_int_equal(f->os.replies, 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(status_of(f, i), 0);
	assert_int_equal(nic.takes, 0); /* it is not begun anew */
	fake_delete(f);
}

/* ------------------------------------------------------------------ its ends */

/* The NIC has ended it before all was read: others go on at once, and the driver begins
 * anew when the NIC may take another; three times. */
static void ended_in_between(void **state)
{
	struct fake *f = device();
	struct unic_client c;
	uint32_t tries;

	(void)state;
	nic.evict_at = 4;
	ask_of(f, &f->client, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE);
	other_asks(f, &c);
	run(f);
	assert_int_equal(f->os.replies, 1); /* the other one's */
	assert_int_equal(nic.takes, 1);
	assert_true(unic_host_poll(f->host) <= f->os.now_ns + 20 * MS);
	f->os.now_ns += 20 * MS - 1;
	run(f);
	assert_int_equal(nic.takes, 1);
	f->os.now_ns++;
	run(f);
	assert_int_equal(nic.takes, 2);
	nic.evict_at = 0;
	nic.refuse = 1; /* it took one for somebody else */
	nic.status = UNIC_ST_BUSY;
	f->os.replies = 0;
	f->os.now_ns += 20 * MS;
	run(f);
	assert_int_equal(nic.takes, 3);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(status_of(f, 0), UNIC_ST_EVICTED);
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, 1), UNIC_ST_EVICTED);
	/* the next one has three tries again */
	nic.refuse = 2;
	f->os.replies = 0;
	ask_of(f, &f->client, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE);
	for (tries = 0; tries < 3; tries++) {
		run(f);
		f->os.now_ns += 20 * MS;
	}
	assert_int_equal(status_of(f, 0), 0);
	fake_delete(f);
}

static void second_try(void **state)
{
	struct fake *f = device();

	(void)state;
	nic.refuse = 1;
	nic.status = UNIC_ST_BUSY;
	ask_of(f, &f->client, UNIC_TABLE_TLB, 0, UNIC_SNAPSHOT_TAKE);
	run(f);
	f->os.now_ns += 20 * MS;
	run(f);
	assert_int_equal(f->os.replies, 1);
	assert_int_equal(status_of(f, 0), 0);
	assert_int_equal(unic_from_le32(reply(f).rows), 64);
	fake_delete(f);
}

static void nic_that_refuses(void **state)
{
	struct fake *f = device();
	long live = f->os.live;

	(void)state;
	nic.refuse = 1;
	nic.status = UNIC_ST_INVALID;
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE),
			 UNIC_ST_INVALID);
	no_spare(f);
	assert_true(f->os.live <= live);
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, 0), 0);
	fake_delete(f);
}

/* What no NIC answers: the snapshot fails, and others go on. */
static void nic_that_is_wrong(void **state)
{
	struct unic_client c;
	uint32_t k;

	(void)state;
	for (k = 0; k < 7; k++) {
		struct fake *f = device();

		if (k == 0)
			nic.too_many = 65;
		else if (k == 3)
			nic.last = (uint32_t)-1000; /* number 0 */
		else if (k == 4)
			nic.last = UNIC_SNAPSHOT_TAKE - 1000;
		else if (k == 1)
			nic.stuck = 1;
		else if (k == 5) /* rows that never come */
			nic.creeps = 1;
		else if (k == 6) /* rows of two instants */
			nic.another = 1;
		else
			nic.rows[UNIC_TABLE_TLB] = 4000;
		ask_of(f, &f->client, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE);
		other_asks(f, &c);
		run(f);
		assert_int_equal(f->os.replies, 2);
		assert_int_equal(status_of(f, 0) + status_of(f, 1),
				 UNIC_CTL_ST_NO_NIC);
		assert_int_equal(nic.seen[nic.n - 2], UNIC_CMD_NOP);
		assert_true(k == 2 || nic.n < 8); /* as soon as it shows */
		assert_null(f->host->snapshot.row);
		fake_delete(f);
	}
}

/* The NIC is reset while it is read, or before it is tried again; or it is silent. */
static void reset_in_between(void **state)
{
	uint32_t k;

	(void)state;
	for (k = 0; k < 3; k++) {
		struct fake *f = device();
		struct unic_client c;

		if (k == 1)
			nic.evict_at = 1;
		ask_of(f, &f->client, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE);
		other_asks(f, &c);
		if (k == 1)
			run(f);
		else
			step(f);
		f->os.replies = 0;
		if (k == 2)
			for (f->os.replies = 0; f->os.replies < 2;
			     f->os.now_ns += 900 * MS)
				unic_host_poll(f->host);
		else
			f->host->provider->ops->start(f->host->provider);
		unic_host_poll(f->host);
		assert_true(f->os.replies >= 1);
		assert_int_equal(status_of(f, 0), UNIC_CTL_ST_RESET);
		assert_null(f->host->snapshot.fetch);
		assert_null(f->host->snapshot.row);
		f->os.now_ns += 3000 * MS;
		settle(f);
		f->host->features |= UNIC_FEAT_SNAPSHOT;
		nic.evict_at = 0;
		nic.held = 0;
		taken(f);
		fake_delete(f);
	}
}

static void second_one(void **state)
{
	struct fake *f = device();
	struct unic_client c = { .slot = UNIC_OS_NO_SLOT, .privileged = true };
	uint32_t number = taken(f);

	(void)state;
	f->os.replies = 0;
	ask_of(f, &f->client, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE);
	ask_of(f, &c, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE);
	ask_of(f, &c, UNIC_TABLE_MR, 0, number);
	assert_int_equal(status_of(f, 0), UNIC_ST_BUSY);
	assert_int_equal(status_of(f, 1), UNIC_ST_EVICTED);
	run(f);
	assert_int_equal(status_of(f, 2), 0);
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, number), UNIC_ST_EVICTED);
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, number + 1), 0);
	fake_delete(f);
}

static void kept_for_ten_seconds(void **state)
{
	struct fake *f = device();
	uint32_t number = taken(f);

	(void)state;
	f->os.now_ns += 10000 * MS - 1;
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, number), 0);
	assert_true(unic_host_poll(f->host) <= f->os.now_ns + 1);
	f->os.now_ns++;
	unic_host_poll(f->host);
	assert_null(f->host->snapshot.row);
	assert_int_equal(dumped(f, UNIC_TABLE_MR, 0, number), UNIC_ST_EVICTED);
	fake_delete(f);
}

/* Its client leaves: after it, amid it, while the driver waits to try again. */
static void client_leaves(void **state)
{
	uint32_t k;

	(void)state;
	for (k = 0; k < 4; k++) {
		struct fake *f = device();
		struct unic_client other = { .slot = UNIC_OS_NO_SLOT };

		if (k == 2)
			nic.evict_at = 2;
		if (k == 0)
			taken(f);
		else
			ask_of(f, &f->client, UNIC_TABLE_MR, 0,
			       UNIC_SNAPSHOT_TAKE);
		if (k == 2)
			run(f);
		f->os.replies = 0;
		unic_host_client_gone(f->host, &other);
		if (k == 0)
			assert_non_null(f->host->snapshot.row);
		unic_host_client_gone(f->host, &f->client);
		if (k < 3) {
			f->os.now_ns += 20 * MS;
			nic.evict_at = 0;
			run(f);
			assert_null(f->host->snapshot.row);
			assert_null(f->host->reqs);
		}
		assert_int_equal(f->os.replies, 0);
		fake_delete(f); /* k == 3: the driver ends, too */
	}
}

static void no_memory(void **state)
{
	uint32_t k;

	(void)state;
	for (k = 1; k < 5; k++) {
		struct fake *f = device();
		uint32_t status;

		no_spare(f);
		if (k < 4)
			f->os.fail_alloc = k;
		else
			info(f)->tokens = unic_to_le32(0x10000);
		status = dumped(f, UNIC_TABLE_MR, 0, UNIC_SNAPSHOT_TAKE);
		assert_int_equal(status, UNIC_CTL_ST_NO_MEMORY);
		f->os.fail_alloc = 0;
		info(f)->tokens = unic_to_le32(16);
		taken(f);
		fake_delete(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_tables_in_one_go),
		cmocka_unit_test(histograms_where_there_are_some),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(numbers_begin_anew),
		cmocka_unit_test(others_wait_and_go),
		cmocka_unit_test(next_goes_before_those_that_wait),
		cmocka_unit_test(ended_in_between),
		cmocka_unit_test(second_try),
		cmocka_unit_test(nic_that_refuses),
		cmocka_unit_test(nic_that_is_wrong),
		cmocka_unit_test(reset_in_between),
		cmocka_unit_test(second_one),
		cmocka_unit_test(kept_for_ten_seconds),
		cmocka_unit_test(client_leaves),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_driver_nics.c - several NICs in one host: which one the first request of a
 * connection chooses, and what the driver core of one of them says of all. Host only.
 */

#include "unit.h"

#include "driver_rig.h"
#include "nics.h"

static struct unic_ctl_nic_row nic_row(uint32_t number, const char *name)
{
	struct unic_ctl_nic_row r = { .number = unic_to_le32(number),
				      .state = unic_to_le32(
					      UNIC_CTL_NIC_READY) };

	memcpy(r.name, name, strlen(name));
	return r;
}

/* NIC 1 has gone. */
static uint32_t two_rows(struct unic_os *os, struct unic_ctl_nic_row *row)
{
	(void)os;
	row[0] = nic_row(0, "left");
	row[1] = nic_row(2, "right");
	return 2;
}

static struct unic_ctl_select naming(const char *name, uint32_t number)
{
	struct unic_ctl_select s = {
		.hdr = { .op = unic_to_le16(UNIC_CTL_SELECT) },
		.number = unic_to_le32(number),
	};

	memcpy(s.name, name, strlen(name));
	return s;
}

static int choose(const void *msg, size_t bytes)
{
	struct unic_ctl_nic_row row[UNIC_CTL_NICS_MAX];

	return unic_nics_choose(row, two_rows(NULL, row), msg, bytes);
}

static int choose_by(const char *name, uint32_t number)
{
	struct unic_ctl_select s = naming(name, number);

	return choose(&s, sizeof(s));
}

static void first_request_chooses(void **state)
{
	struct unic_ctl_plain other = { .hdr.op = unic_to_le16(UNIC_CTL_INFO) };
	struct unic_ctl_plain list = { .hdr.op = unic_to_le16(UNIC_CTL_NICS) };
	struct unic_ctl_select s = naming("right", 0);

	(void)state;
	assert_int_equal(choose_by("left", 0), 0);
	assert_int_equal(choose_by("right", 0), 1);
	assert_int_equal(choose_by("", 0), 0);
	assert_int_equal(choose_by("", 2), 1);
	assert_int_equal(choose_by("", 1), -ENOENT);
	assert_int_equal(choose_by("righ", 0), -ENOENT);
	assert_int_equal(choose_by("right2", 0), -ENOENT);
	assert_int_equal(choose_by("right", 2), -ENOENT);
	assert_int_equal(choose(&s, sizeof(s) - 1), -ENOENT);
	assert_int_equal(choose(&list, sizeof(list)), -ENOENT);
	assert_int_equal(choose(&other, sizeof(other)), 0);
	assert_int_equal(unic_nics_choose(NULL, 0, &other, 64), -ENOENT);
}

static void names_of_nics(void **state)
{
	(void)state;
	assert_true(unic_nics_name_ok("a"));
	assert_true(unic_nics_name_ok("unic0"));
	assert_true(unic_nics_name_ok("left-A_15_chars"));
	assert_false(unic_nics_name_ok("left-A_16_chars_"));
	assert_false(unic_nics_name_ok(""));
	assert_false(unic_nics_name_ok("0"));
	assert_false(unic_nics_name_ok("-a"));
	assert_false(unic_nics_name_ok("a,b"));
	assert_false(unic_nics_name_ok("a/b"));
}

static int select_by(struct fake *f, const char *name, uint32_t number)
{
	struct unic_ctl_select s = naming(name, number);

	return request(f, UNIC_CTL_SELECT, &s);
}

/* A connection stays with its NIC, whatever the process names afterwards. */
static void selection_is_for_life(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_select s = naming("right", 0);
	struct unic_ctl_select_reply got;
	uint32_t k;

	(void)state;
	f->host->config.number = 2;
	f->host->config.list_nics = two_rows;
	for (k = 0; k < 2; k++) { /* without and with a slot */
		assert_int_equal(select_by(f, "right", 0), UNIC_ST_OK);
		memcpy(&got, f->os.reply[0], sizeof(got));
		assert_int_equal(unic_from_le32(got.number), 2);
		assert_memory_equal(got.name, s.name, sizeof(s.name));
		assert_int_equal(select_by(f, "", 2), UNIC_ST_OK);
		assert_int_equal(select_by(f, "left", 0), UNIC_ST_BUSY);
		assert_int_equal(select_by(f, "", 0), UNIC_ST_BUSY);
		assert_int_equal(select_by(f, "", 1), UNIC_CTL_ST_NO_SUCH_NIC);
		assert_int_equal(select_by(f, "up", 0),
				 UNIC_CTL_ST_NO_SUCH_NIC);
		assert_int_equal(select_by(f, "right", 2), UNIC_ST_INVALID);
		s = naming("right", 0);
		s.rsvd0 = unic_to_le32(1);
		assert_int_equal(request(f, UNIC_CTL_SELECT, &s),
				 UNIC_ST_INVALID);
		s.rsvd0 = unic_to_le32(0);
		s.rsvd[5] = unic_to_le32(1);
		assert_int_equal(request(f, UNIC_CTL_SELECT, &s),
				 UNIC_ST_INVALID);
		hello(f);
	}
	fake_delete(f);
}

static void nics_are_listed(void **state)
{
	struct fake *f = fake_new();
	struct unic_ctl_plain list = { .hdr.op = unic_to_le16(0) };
	struct unic_ctl_nics_reply r;
	struct unic_ctl_nic_row row[2];

	(void)state;
	memcpy(f->host->config.name, "only", 4);
	assert_int_equal(request(f, UNIC_CTL_NICS, &list), UNIC_ST_OK);
	memcpy(&r, f->os.reply[0], sizeof(r));
	memcpy(row, f->os.reply[0] + 8, sizeof(row[0]));
	assert_int_equal(unic_from_le32(r.nics), 1);
	assert_int_equal(unic_from_le32(r.hdr.tail_bytes), sizeof(row[0]));
	assert_int_equal(unic_from_le32(r.features), UNIC_CTL_FEAT_NICS);
	assert_int_equal(unic_from_le32(row[0].ipv4), 0x0a000001);
	assert_int_equal(unic_from_le32(row[0].state), UNIC_CTL_NIC_READY);
	assert_string_equal((char *)row[0].name, "only");
	f->host->config.number = 2;
	f->host->config.list_nics = two_rows;
	memset(&list, 0, sizeof(list));
	assert_int_equal(request(f, UNIC_CTL_NICS, &list), UNIC_ST_OK);
	memcpy(&r, f->os.reply[0], sizeof(r));
	memcpy(row, f->os.reply[0] + 8, sizeof(row));
	assert_int_equal(unic_from_le32(r.nics), 2);
	assert_int_equal(unic_from_le32(r.mine), 2);
	assert_int_equal(unic_from_le32(row[1].number), 2);
	assert_string_equal((char *)row[1].name, "right");
	fake_delete(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_request_chooses),
		cmocka_unit_test(names_of_nics),
		cmocka_unit_test(selection_is_for_life),
		cmocka_unit_test(nics_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

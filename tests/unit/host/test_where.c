/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* test_where.c - PATH,NIC taken apart. Host only. */

#include "unit.h"

#include "where.h"

/* Takes @where apart: the path must be @path, and the NIC number @number or name @name;
 * neither: there is none. */
static void check_where(const char *where, const char *path, int number,
			const char *name)
{
	struct unic_ctl_select s;
	char text[UNIC_WHERE_MAX];

	assert_int_equal(unic_where_split(where, text, sizeof(text), &s),
			 number >= 0 || name);
	assert_string_equal(text, path);
	assert_int_equal(unic_from_le32(s.number), number < 0 ? 0 : number);
	assert_string_equal((char *)s.name, name ? name : "");
}

static void paths_and_nics(void **state)
{
	(void)state;
	check_where("/run/u.sock", "/run/u.sock", -1, NULL);
	check_where("/run/u.sock,0", "/run/u.sock", 0, NULL);
	check_where("/run/u.sock,12", "/run/u.sock", 12, NULL);
	check_where("/dev/unic,unic1", "/dev/unic", -1, "unic1");
	check_where("/a,b/u,left-2_x", "/a,b/u", -1, "left-2_x");
	check_where("u,abcdefghijklmno", "u", -1, "abcdefghijklmno");
}

/* What cannot be a NIC is a part of the path. */
static void commas_of_paths(void **state)
{
	(void)state;
	check_where("/a,b/u.sock", "/a,b/u.sock", -1, NULL);
	check_where("/a/u,", "/a/u,", -1, NULL);
	check_where("/a/u,1x", "/a/u,1x", -1, NULL);
	check_where("/a/u,1234", "/a/u,1234", -1, NULL);
	check_where("/a/u,-x", "/a/u,-x", -1, NULL);
	check_where("/a/u,x.y", "/a/u,x.y", -1, NULL);
	check_where("u,abcdefghijklmnop", "u,abcdefghijklmnop", -1, NULL);
}

static void long_paths_are_cut(void **state)
{
	struct unic_ctl_select s;
	char text[8];

	(void)state;
	assert_true(unic_where_split("/0123456789,x", text, sizeof(text), &s));
	assert_string_equal(text, "/012345");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_and_nics),
		cmocka_unit_test(commas_of_paths),
		cmocka_unit_test(long_paths_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

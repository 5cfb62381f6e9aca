/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_unicd_options.c - what the command line of unicd says of the driver and of each
 * NIC, and what makes no sense. Host only.
 */
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

#include "options.h"

#define ARGS_MAX 128

static struct unicd d;

/* Parse the words of @line behind "unicd". */
static int parse(const char *line)
{
	static char text[2048]; /* what the options point to */
	char *argv[ARGS_MAX] = { "unicd" }, *at = NULL;
	int n = 1;

	snprintf(text, sizeof(text), "%s", line);
	memset(&d, 0, sizeof(d));
	argv[n] = strtok_r(text, " ", &at);
	while (argv[n])
		argv[++n] = strtok_r(NULL, " ", &at);
	return unicd_options_parse(&d, n, argv);
}

static const struct unicd_options *nic(const char *line)
{
	assert_int_equal(parse(line), 0);
	return &d.nic[0].opt;
}

/* True if unicd ends with @words for the command line @line, and a usage error. */
static bool is_refused(const char *line, const char *words)
{
	char said[4096] = "";
	size_t n = 0;
	ssize_t got;
	int fd[2], status;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		dup2(fd[1], STDERR_FILENO);
		_exit(parse(line) ? 1 : 0);
	}
	close(fd[1]);
	while ((got = read(fd[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)got;
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 64 &&
	    strstr(said, words))
		return true;
	print_message("%s: status %#x, said %s\n", line, (unsigned int)status,
		      said);
	return false;
}

static void nothing_said_is_the_usual(void **state)
{
	const struct unicd_options *o = nic("--bus /b");

	(void)state;
	assert_int_equal(d.nics, 1);
	assert_string_equal(o->name, "unic0");
	assert_string_equal(o->bus, "/b");
	assert_string_equal(o->provider, "nic");
	assert_string_equal(d.socket, "/b/unicd.sock");
	assert_null(d.metrics);
	assert_false(d.audit);
	assert_int_equal(d.spin_us, 0);
	assert_int_equal(o->ipv4, 0x0a000001);
	assert_int_equal(o->baud, 921600);
	assert_int_equal(o->slots, 8);
	assert_int_equal(o->slot_bytes, 16 << 20);
	assert_int_equal(o->user_slots, 0);
	assert_int_equal(o->limit[UNIC_CTL_LIMIT_FAULTS], 100000);
	assert_int_equal(o->limit[UNIC_CTL_LIMIT_REGISTRATIONS], 250000);
	assert_int_equal(o->limit[UNIC_CTL_LIMIT_UPCALLS], 20000);
	assert_int_equal(unic_from_le32(o->params.idle_us), 1000000);
	assert_int_equal(unic_from_le32(o->params.deliver_us), 0);
	assert_int_equal(unic_from_le32(o->params.flags), 0);
	assert_null(o->kio_export);
	assert_null(o->link);
	assert_null(o->crash_file);
	assert_false(o->kio_writable);
	assert_true(o->kio_rdma);
	assert_int_equal(o->kio_max_bytes, INT64_MAX);
	assert_int_equal(o->kio_allows, 0);
	assert_int_equal(o->kio_users, 0);
	assert_int_equal(parse("--provider loop"), 0);
	assert_string_equal(d.socket, "/run/unic/unicd.sock");
}

static void each_option_has_its_field(void **state)
{
	const struct unicd_options *o = nic("-b /b -s /s -i 10.1.2.3 --metrics "
					    "/m --audit --spin-us 7 "
					    "--crash-file /c --grace-us 11 "
					    "--deliver-us 12 --reaper-us 113 "
					    "--low 14 --high 15 --residence-us "
					    "16 --extend-us 17 "
					    "--idle-us 1018 --prefetch 8 "
					    "--slots 3 --user-slots 2");

	(void)state;
	assert_string_equal(d.socket, "/s");
	assert_string_equal(d.metrics, "/m");
	assert_true(d.audit);
	assert_int_equal(d.spin_us, 7);
	assert_int_equal(o->ipv4, 0x0a010203);
	assert_string_equal(o->crash_file, "/c");
	assert_int_equal(unic_from_le32(o->params.grace_us), 11);
	assert_int_equal(unic_from_le32(o->params.deliver_us), 12);
	assert_int_equal(unic_from_le32(o->params.reaper_us), 113);
	assert_int_equal(unic_from_le32(o->params.low_entries), 14);
	assert_int_equal(unic_from_le32(o->params.high_entries), 15);
	assert_int_equal(unic_from_le32(o->params.residence_us), 16);
	assert_int_equal(unic_from_le32(o->params.extend_us), 17);
	assert_int_equal(unic_from_le32(o->params.idle_us), 1018);
	assert_int_equal(unic_from_le32(o->params.prefetch), 8);
	assert_int_equal(unic_from_le32(o->params.flags),
			 UNIC_PARAM_WATERMARKS);
	assert_int_equal(o->slots, 3);
	assert_int_equal(o->user_slots, 2);
	o = nic("-b /b --faults-per-s 21 --registrations-per-s 22 "
		"--upcalls-per-s 23 --slot-size 1048577 --grace-us 0 "
		"--idle-us 0 --link /l --baud 9600");
	assert_int_equal(o->limit[UNIC_CTL_LIMIT_FAULTS], 21);
	assert_int_equal(o->limit[UNIC_CTL_LIMIT_REGISTRATIONS], 22);
	assert_int_equal(o->limit[UNIC_CTL_LIMIT_UPCALLS], 23);
	assert_int_equal(o->slot_bytes, 1 << 20); /* whole pages */
	assert_int_equal(unic_from_le32(o->params.flags), UNIC_PARAM_GRACE);
	assert_int_equal(unic_from_le32(o->params.idle_us), 0);
	assert_string_equal(o->link, "/l");
	assert_int_equal(o->baud, 9600);
	/* H of a NIC on a UART, unless it is said */
	assert_int_equal(unic_from_le32(o->params.deliver_us), 1000000);
	o = nic("-b /b --link /l --deliver-us 5");
	assert_int_equal(unic_from_le32(o->params.deliver_us), 5);
	o = nic("-b /b --low 1 --high 1 --grace-us 0");
	assert_int_equal(unic_from_le32(o->params.flags),
			 UNIC_PARAM_WATERMARKS | UNIC_PARAM_GRACE);
	o = nic("-b /b --low 1 --high 1");
	assert_int_equal(unic_from_le32(o->params.flags),
			 UNIC_PARAM_WATERMARKS);
	assert_true(is_refused("-b /b --low 2 --high 1", "--low N asks"));
	o = nic("-b /b --low 0");
	assert_int_equal(unic_from_le32(o->params.flags),
			 UNIC_PARAM_WATERMARKS);
	o = nic("-b /b --high 1 --grace-us 1");
	assert_int_equal(unic_from_le32(o->params.flags),
			 UNIC_PARAM_WATERMARKS);
}

static void an_export_has_its_rules(void **state)
{
	const struct unicd_options *o = nic("-b /b --kio-export /e "
					    "--kio-writable --kio-max-bytes 4K "
					    "--kio-allow 10.0.0.0/8 "
					    "--kio-allow 192.168.1.2 "
					    "--kio-allow 0.0.0.0/0 --kio-user "
					    "nobody --kio-user 4711 "
					    "--data token");

	(void)state;
	assert_string_equal(o->kio_export, "/e");
	assert_true(o->kio_writable);
	assert_int_equal(o->kio_max_bytes, 4096);
	assert_int_equal(o->kio_allows, 3);
	assert_int_equal(o->kio_allow[0].ipv4, 0x0a000000);
	assert_int_equal(o->kio_allow[0].bits, 8);
	assert_int_equal(o->kio_allow[1].ipv4, 0xc0a80102);
	assert_int_equal(o->kio_allow[1].bits, 32);
	assert_int_equal(o->kio_allow[2].bits, 0);
	assert_int_equal(o->kio_users, 2);
	assert_int_equal(o->kio_user[0], getpwnam("nobody")->pw_uid);
	assert_int_equal(o->kio_user[1], 4711);
	assert_false(o->kio_rdma);
	assert_true(nic("-b /b --data token --data rdma")->kio_rdma);
}

/* As many rules as there is room for, and no more. */
static void rules_are_limited(void **state)
{
	char line[1024] = "-b /b --kio-export /e";
	unsigned int i;

	(void)state;
	for (i = 0; i < UNICD_KIO_RULES; i++)
		strcat(line, " --kio-user 5");
	assert_int_equal(nic(line)->kio_users, UNICD_KIO_RULES);
	strcat(line, " --kio-user 5");
	assert_true(is_refused(line, "--kio-user: 16 at most"));
	strcpy(line, "-b /b --kio-export /e");
	for (i = 0; i < UNICD_KIO_RULES; i++)
		strcat(line, " --kio-allow 1.2.3.4");
	assert_int_equal(nic(line)->kio_allows, UNICD_KIO_RULES);
	strcat(line, " --kio-allow 1.2.3.4");
	assert_true(is_refused(line, "--kio-allow: 16 at most"));
}

/* Before the first --nic they are of all, then of the one before them. */
static void options_are_of_a_nic(void **state)
{
	(void)state;
	assert_int_equal(parse("--grace-us 5 -i 10.0.0.9 -n a -b /a "
			       "--grace-us 6 -n b -b /b -i 10.0.0.2 -n c "
			       "-p loop -i 10.0.0.3 --audit"),
			 0);
	assert_int_equal(d.nics, 3);
	assert_true(d.audit);
	assert_string_equal(d.nic[0].opt.name, "a");
	assert_string_equal(d.nic[0].opt.bus, "/a");
	assert_int_equal(d.nic[0].opt.ipv4, 0x0a000009);
	assert_int_equal(unic_from_le32(d.nic[0].opt.params.grace_us), 6);
	assert_string_equal(d.nic[1].opt.name, "b");
	assert_int_equal(unic_from_le32(d.nic[1].opt.params.grace_us), 5);
	assert_int_equal(d.nic[1].opt.ipv4, 0x0a000002);
	assert_string_equal(d.nic[2].opt.provider, "loop");
	assert_null(d.nic[2].opt.bus);
	assert_string_equal(d.nic[1].opt.provider, "nic");
	assert_string_equal(d.socket, "/a/unicd.sock");
}

static void nics_have_nothing_in_common(void **state)
{
	(void)state;
	assert_true(is_refused("-n a -b /a -n b -b /b", "a and b have one "
							"--ip"));
	assert_true(is_refused("-n a -b /a -n b -b /a -i 10.0.0.2", "have one "
								    "--bus"));
	assert_true(is_refused("-n a -b /a --link /l -n b -b /b --link /l "
			       "-i 10.0.0.2",
			       "have one --link"));
	assert_true(is_refused("-n a -b /a -n a -b /b -i 10.0.0.2", "twice"));
	assert_true(is_refused("-n 1a -b /a", "a name is a letter"));
	/* a loop-back has no bus */
	assert_int_equal(parse("-b /b -n a -p loop -n b -p loop -i 10.0.0.2"),
			 0);
	assert_int_equal(parse("-b /b -n a -n b -p loop -i 10.0.0.2"), 0);
}

static void nics_are_limited(void **state)
{
	char line[1024] = "-p loop";
	unsigned int i;

	(void)state;
	for (i = 0; i < UNICD_NICS_MAX; i++)
		sprintf(line + strlen(line), " -n n%u -i 10.0.1.%u", i, i);
	assert_int_equal(parse(line), 0);
	assert_int_equal(d.nics, UNICD_NICS_MAX);
	strcat(line, " -n more -i 10.0.2.1");
	assert_true(is_refused(line, "--nic: "));
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const char *const all[][2] = {
		{ "", "--bus DIR says where" },
		{ "-b /b -p soft", "providers are nic and loop" },
		{ "-b /b -i 10.0.0", "not an IPv4 address" },
		{ "-b /b --data tokens", "--data is token or rdma" },
		{ "-b /b --idle-us 999", "--idle-us: 0, or 1000" },
		{ "-b /b --kio-writable", "--kio-writable says how" },
		{ "-b /b --kio-allow 1.2.3.4", "limit an export" },
		{ "-b /b --kio-max-bytes 5", "limit an export" },
		{ "-p loop --link /l", "not a loop-back" },
		{ "-b /b --kio-export /e --kio-allow 1.2.3.4/33", "`33'" },
		{ "-b /b --kio-export /e --kio-allow 1.2.3", "not an IPv4" },
		{ "-b /b --kio-export /e --kio-allow 1.2.3.4/", "`'" },
		{ "-b /b --kio-export /e --kio-allow "
		  "255.255.255.2551111111111",
		  "not an IPv4" },
		{ "-b /b --kio-user no-such-user", "no user is called" },
		{ "-b /b --kio-user 4294967295", "no user is called" },
		{ "-b /b --prefetch 0", "`0'" },
		{ "-b /b --prefetch 9", "`9'" },
		{ "-b /b --reaper-us 99", "`99'" },
		{ "-b /b --deliver-us 0", "`0'" },
		{ "-b /b --grace-us 10000001", "`10000001'" },
		{ "-b /b --spin-us 1000001", "`1000001'" },
		{ "-b /b --baud 9599", "`9599'" },
		{ "-b /b --slot-size 1048575", "`1048575'" },
		{ "-p loop --slots 0", "`0'" },
		{ "-b /b --user-slots 0", "`0'" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_true(is_refused(all[i][0], all[i][1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_said_is_the_usual),
		cmocka_unit_test(each_option_has_its_field),
		cmocka_unit_test(an_export_has_its_rules),
		cmocka_unit_test(rules_are_limited),
		cmocka_unit_test(options_are_of_a_nic),
		cmocka_unit_test(nics_have_nothing_in_common),
		cmocka_unit_test(nics_are_limited),
		cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

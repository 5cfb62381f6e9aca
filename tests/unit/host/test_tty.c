/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * test_tty.c - the line of the serial host link on a pseudo terminal: what is set on it,
 * who else may open it, and a driver that knows a short latency, which the test plays.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/serial.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tty.h"
#include "unit.h"

static int board; /* the other end */
static char path[64];
static int latency_err; /* of TIOCGSERIAL */
static uint32_t latency_sets, others;
static struct serial_struct serial;

int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	if (request != TIOCGSERIAL && request != TIOCSSERIAL)
		return __real_ioctl(fd, request, arg);
	if (latency_err) {
		errno = latency_err;
		return -1;
	}
	if (request == TIOCGSERIAL) {
		*(struct serial_struct *)arg = serial;
		return 0;
	}
	serial = *(struct serial_struct *)arg;
	latency_sets++;
	return 0;
}

/* Counts descriptors whose file is looked at, and is not in /dev. */
int __real_stat(const char *file, struct stat *st);
int __wrap_stat(const char *file, struct stat *st);
int __wrap_stat(const char *file, struct stat *st)
{
	char to[64] = "";

	if (!strncmp(file, "/proc/", 6) && readlink(file, to, sizeof(to)) > 0)
		others += !!strncmp(to, "/dev/", 5);
	return __real_stat(file, st);
}

static int up(void **state)
{
	(void)state;
	board = posix_openpt(O_RDWR | O_NOCTTY);
	if (board < 0 || grantpt(board) || unlockpt(board))
		return -1;
	latency_err = ENOTTY;
	latency_sets = others = 0;
	memset(&serial, 0, sizeof(serial));
	return ptsname_r(board, path, sizeof(path));
}

static int down(void **state)
{
	(void)state;
	return close(board);
}

/* As a program for modems leaves a terminal. */
static void leave_for_modem(int fd)
{
	struct termios t;

	assert_int_equal(tcgetattr(fd, &t), 0);
	t.c_iflag = ICRNL | IXON | IXOFF | IXANY | ISTRIP | PARMRK;
	t.c_oflag = OPOST | ONLCR;
	t.c_lflag = ICANON | ECHO | ISIG;
	t.c_cflag = CS7 | CSTOPB | CRTSCTS | HUPCL | CREAD;
	cfsetspeed(&t, B9600);
	assert_int_equal(tcsetattr(fd, TCSANOW, &t), 0);
}

static void every_byte_passes(void **state)
{
	uint8_t out[256], in[256];
	int fd, modem = open(path, O_RDWR | O_NOCTTY);
	uint32_t i, got;

	(void)state;
	assert_true(modem >= 0);
	leave_for_modem(modem);
	fd = tty_open(path, 921600);
	assert_true(fd >= 0);
	for (i = 0; i < 256; i++)
		out[i] = (uint8_t)i;
	assert_int_equal(write(board, out, 256), 256);
	for (got = 0; got < 256; got += (uint32_t)i) {
		i = (uint32_t)read(fd, in + got, 256 - got);
		assert_in_range(i, 1, 256);
	}
	assert_memory_equal(in, out, 256);
	assert_int_equal(write(fd, out, 256), 256);
	for (got = 0; got < 256; got += (uint32_t)i) {
		i = (uint32_t)read(board, in + got, 256 - got);
		assert_in_range(i, 1, 256);
	}
	assert_memory_equal(in, out, 256);
	tty_close(fd);
	close(modem);
}

static void it_is_set_as_the_boards_have_it(void **state)
{
	struct termios t;
	int fd, modem = open(path, O_RDWR | O_NOCTTY);

	(void)state;
	leave_for_modem(modem);
	fd = tty_open(path, 460800);
	assert_true(fd >= 0);
	assert_int_equal(tcgetattr(modem, &t), 0);
	assert_int_equal(cfgetospeed(&t), B460800);
	assert_int_equal(cfgetispeed(&t), B460800);
	assert_int_equal(t.c_cflag & (CSIZE | PARENB | CSTOPB | CRTSCTS), CS8);
	assert_int_equal(t.c_cflag & HUPCL, 0);
	assert_int_equal(t.c_cflag & (CLOCAL | CREAD), CLOCAL | CREAD);
	assert_int_equal(t.c_iflag & ~(tcflag_t)IGNBRK, 0);
	assert_int_equal(t.c_oflag & OPOST, 0);
	assert_int_equal(t.c_lflag & (ICANON | ECHO | ISIG | IEXTEN), 0);
	tty_close(fd);
	assert_int_equal(tcgetattr(modem, &t), 0);
	assert_int_equal(cfgetospeed(&t), B460800); /* nothing is put back */
	close(modem);
}

static int is_exclusive(int fd)
{
	int on = -1;

	assert_int_equal(__real_ioctl(fd, TIOCGEXCL, &on), 0);
	return on;
}

static void nobody_else_opens_it(void **state)
{
	int fd = tty_open(path, 921600), other;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(is_exclusive(fd), 1);
	assert_int_equal(tty_open(path, 921600), -EBUSY);
	assert_int_equal(is_exclusive(fd), 1); /* who was refused left it */
	tty_close(fd);
	other = tty_open(path, 921600);
	assert_true(other >= 0);
	tty_close(other);
	other = open(path, O_RDWR | O_NOCTTY);
	assert_int_equal(is_exclusive(other), 0);
	close(other);
}

static void errors_leave_it_free(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(tty_open("/nowhere/tty", 921600), -ENOENT);
	assert_int_equal(tty_open("/dev/null", 921600), -ENOTTY);
	assert_int_equal(tty_open(path, 12345), -EINVAL);
	fd = tty_open(path, 921600);
	assert_true(fd >= 0);
	tty_close(fd);
}

static void latency_is_short_where_it_can_be(void **state)
{
	int fd;

	(void)state;
	latency_err = 0;
	serial.flags = ASYNC_SKIP_TEST;
	fd = tty_open(path, 921600);
	assert_int_equal(latency_sets, 1);
	assert_int_equal(serial.flags, ASYNC_SKIP_TEST | ASYNC_LOW_LATENCY);
	tty_close(fd);
	fd = tty_open(path, 921600);
	assert_int_equal(latency_sets, 1); /* it was */
	tty_close(fd);
	latency_err = EPERM;
	fd = tty_open(path, 921600);
	assert_true(fd >= 0);
	tty_close(fd);
}

static void its_user_is_found(void **state)
{
	struct tty_user user = { 0 };
	char c;
	int ready[2], child;

	(void)state;
	assert_false(tty_find_user(path, &user));
	assert_false(tty_find_user("/nowhere/tty", &user));
	assert_false(tty_find_user("/proc/version", &user));
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		close(board);
		c = open(path, O_RDWR | O_NOCTTY) < 0;
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(c, 0);
	assert_true(tty_find_user(path, &user));
	assert_int_equal(user.pid, child);
	assert_string_equal(user.name, "test_tty");
	assert_int_equal(others, 0); /* their file systems may hang */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_false(tty_find_user(path, &user));
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_byte_passes, up, down),
		cmocka_unit_test_setup_teardown(it_is_set_as_the_boards_have_it,
						up, down),
		cmocka_unit_test_setup_teardown(nobody_else_opens_it, up, down),
		cmocka_unit_test_setup_teardown(errors_leave_it_free, up, down),
		cmocka_unit_test_setup_teardown(
			latency_is_short_where_it_can_be, up, down),
		cmocka_unit_test_setup_teardown(its_user_is_found, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

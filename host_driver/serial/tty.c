/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* tty.c - see tty.h. */
#define _GNU_SOURCE
#include "tty.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#define DEV "/dev/"

/* ---------------------------------------------------------------- settings */

static const struct {
	uint32_t baud;
	speed_t speed;
} speeds[] = {
	{ 115200, B115200 },   { 230400, B230400 },   { 460800, B460800 },
	{ 921600, B921600 },   { 1000000, B1000000 }, { 2000000, B2000000 },
	{ 3000000, B3000000 },
};

static speed_t speed_of_baud(uint32_t baud)
{
	for (uint32_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
		if (speeds[i].baud == baud)
			return speeds[i].speed;
	return B0;
}

/* cfmakeraw() leaves alone what a line to a modem had: flow control by bytes of
 * either direction and by wires, a second stop bit, and hanging up at the end. */
static void make_line(struct termios *t, speed_t speed)
{
	cfmakeraw(t);
	t->c_iflag &= ~(tcflag_t)(IXOFF | IXANY | INPCK | IGNPAR);
	t->c_iflag |= IGNBRK;
	t->c_cflag &= ~(tcflag_t)(CSTOPB | CRTSCTS | HUPCL | PARODD);
	t->c_cflag |= CLOCAL | CREAD;
	cfsetspeed(t, speed);
}

/* tcsetattr() succeeds if it could set anything at all. */
static bool is_line(const struct termios *t, speed_t speed)
{
	return cfgetospeed(t) == speed && cfgetispeed(t) == speed &&
	       !(t->c_iflag & (IXON | IXOFF | ICRNL)) &&
	       !(t->c_lflag & (ICANON | ECHO)) && !(t->c_oflag & OPOST) &&
	       (t->c_cflag & (CSIZE | PARENB | CSTOPB | CRTSCTS)) == CS8;
}

static int set_line(int fd, uint32_t baud)
{
	speed_t speed = speed_of_baud(baud);
	struct termios t;

	if (speed == B0)
		return -EINVAL;
	if (tcgetattr(fd, &t))
		return -errno;
	make_line(&t, speed);
	if (tcsetattr(fd, TCSAFLUSH, &t) || tcgetattr(fd, &t))
		return -errno;
	return is_line(&t, speed) ? 0 : -EINVAL;
}

/* An FTDI adapter hands bytes on every 16 ms, with this every millisecond. Drivers
 * that do not know it refuse, and lose nothing. */
static void shorten_latency(int fd)
{
	struct serial_struct s;

	if (ioctl(fd, TIOCGSERIAL, &s) || s.flags & ASYNC_LOW_LATENCY)
		return;
	s.flags |= ASYNC_LOW_LATENCY;
	(void)ioctl(fd, TIOCSSERIAL, &s);
}

/* ------------------------------------------------------------- open, close */

/* The lock is for those that look at it, root among them; TIOCEXCL for all others
 * that open it from now on. */
static int claim_tty(int fd)
{
	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return ioctl(fd, TIOCEXCL) ? -errno : 0;
}

int tty_open(const char *path, uint32_t baud)
{
	int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = isatty(fd) ? claim_tty(fd) : -ENOTTY;
	if (err) {
		close(fd);
		return err;
	}
	err = set_line(fd, baud);
	if (err) {
		tty_close(fd);
		return err;
	}
	shorten_latency(fd);
	return fd;
}

void tty_close(int fd)
{
	(void)ioctl(fd, TIOCNXCL);
	close(fd);
}

/* ------------------------------------------------------------------- users */

/* Is the descriptor that @path of /proc stands for one of @tty? Looks only at what is
 * open in /dev: stat() of a file elsewhere waits for its file system, which may hang. */
static bool is_open_tty(const char *path, dev_t tty)
{
	char to[sizeof(DEV) - 1];
	struct stat st;

	return readlink(path, to, sizeof(to)) == (ssize_t)sizeof(to) &&
	       !memcmp(to, DEV, sizeof(to)) && !stat(path, &st) &&
	       S_ISCHR(st.st_mode) && st.st_rdev == tty;
}

static bool has_open(int pid, dev_t tty)
{
	char path[32 + sizeof(((struct dirent *)0)->d_name)];
	struct dirent *entry;
	bool found = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	if (!fds)
		return false;
	while (!found && (entry = readdir(fds)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid,
			 entry->d_name);
		found = is_open_tty(path, tty);
	}
	closedir(fds);
	return found;
}

static void name_process(struct tty_user *user)
{
	char path[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", user->pid);
	f = fopen(path, "re");
	if (!f || !fgets(user->name, sizeof(user->name), f))
		snprintf(user->name, sizeof(user->name), "a process");
	user->name[strcspn(user->name, "\n")] = 0;
	if (f)
		fclose(f);
}

bool tty_find_user(const char *path, struct tty_user *user)
{
	struct dirent *entry;
	struct stat st;
	int pid, found = 0;
	DIR *proc;

	if (stat(path, &st) || !S_ISCHR(st.st_mode))
		return false;
	proc = opendir("/proc");
	if (!proc)
		return false;
	while (!found && (entry = readdir(proc)) != NULL) {
		pid = atoi(entry->d_name);
		if (pid > 0 && pid != getpid() && has_open(pid, st.st_rdev))
			found = pid;
	}
	closedir(proc);
	if (!found)
		return false;
	user->pid = found;
	name_process(user);
	return true;
}

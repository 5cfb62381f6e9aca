/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* calls.c - time, the environment, and what libunic calls only in situations that are not
 * simulated. */
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fiber.h"
#include "files.h"
#include "process.h"
#include "world.h"

int sys_clock_gettime(clockid_t clock, struct timespec *out)
{
	uint64_t ns =
		sim_now() + world->node[fiber_process()->node]->os->offset_ns;

	(void)clock;
	out->tv_sec = (time_t)(ns / 1000000000u);
	out->tv_nsec = (long)(ns % 1000000000u);
	return 0;
}

int sys_nanosleep(const struct timespec *ts, struct timespec *left)
{
	(void)left;
	fiber_pause((uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec +
		    1);
	return 0;
}

char *sys_getenv(const char *name)
{
	(void)name;
	return NULL;
}

pid_t sys_getpid(void)
{
	return (pid_t)fiber_process()->pid;
}

/* /proc/self/comm: libunic goes on without a name. */
FILE *sys_fopen(const char *path, const char *mode)
{
	(void)path;
	(void)mode;
	errno = ENOENT;
	return NULL;
}

void sys_abort(void)
{
	sim_fail("abort", "%s calls abort()", process_name(fiber_process()));
}

static void not_simulated(const char *what)
{
	sim_fail("sim", "%s calls %s, which is not simulated",
		 process_name(fiber_process()), what);
}

char *sys_fgets(char *out, int n, FILE *f)
{
	(void)n;
	(void)f;
	not_simulated("fgets()");
	return out;
}

int sys_fclose(FILE *f)
{
	(void)f;
	not_simulated("fclose()");
	return -1;
}

int sys_ioctl(int fd, unsigned long op, ...)
{
	(void)fd;
	(void)op;
	not_simulated("ioctl()");
	return -1;
}

int sys_mincore(void *at, size_t bytes, unsigned char *out)
{
	(void)at;
	(void)bytes;
	(void)out;
	not_simulated("mincore()");
	return -1;
}

int sys_dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *),
			void *ctx)
{
	(void)each;
	(void)ctx;
	not_simulated("dl_iterate_phdr()");
	return 0;
}

void *sys_mremap(void *at, size_t old, size_t bytes, int flags, ...)
{
	(void)old;
	(void)bytes;
	(void)flags;
	not_simulated("mremap()");
	return at;
}

struct mallinfo2 sys_mallinfo2(void)
{
	not_simulated("mallinfo2()");
	return (struct mallinfo2){ 0 };
}

int sys_sigaction(int sig, const struct sigaction *sa, struct sigaction *old)
{
	(void)sig;
	(void)sa;
	(void)old;
	not_simulated("sigaction()");
	return -1;
}

long sys_syscall(long number, ...)
{
	const void *buf;
	size_t bytes;
	va_list ap;
	int fd;

	if (number != SYS_write)
		not_simulated("syscall()");
	va_start(ap, number);
	fd = va_arg(ap, int);
	buf = va_arg(ap, const void *);
	bytes = va_arg(ap, size_t);
	va_end(ap);
	return sys_write(fd, buf, bytes);
}

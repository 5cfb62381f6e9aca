/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
#define _GNU_SOURCE /* the name of the program */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* Runs in exit(). */
static void check_output(int status, void *unused)
{
	int before = ferror(stdout);

	(void)unused;
	errno = 0;
	if (!fflush(stdout) && !before)
		return;
	fprintf(stderr, "%s: standard output: %s\n",
		program_invocation_short_name,
		errno ? strerror(errno) : "a part was not written");
	if (!status)
		_exit(EX_IOERR);
}

void output_watch(void)
{
	on_exit(check_output, NULL);
}
